"""Call chains of fits: ``python -m tests.call_chains`` prints what a reader has to follow.

A line for each of five fits, of which each is the second of its process, and whose constraint
binds: the gap of the same fit without groups is at least twice the tolerance. A class counts if
one of its methods runs, so that records that are only made do not. Comprehensions and the
subpackage of kernels are not counted. ``-v`` lists classes and files.
"""

import argparse
import functools
import inspect
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import skfair
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityClassifier,
)
from skfair.cluster import FairKMeans
from skfair.datasets import make_fair_blobs
from skfair.metrics import (
    balance_score,
    demographic_parity_difference,
    partial_statistical_parity_difference,
)
from skfair.partitions._blocks import Blocks

PACKAGE = Path(skfair.__file__).parent
KERNELS = PACKAGE / "_kernels"
COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
N_SAMPLES = 2000


class Calls:
    """Functions of the package that a call passes through, and their deepest stack."""

    def __init__(self):
        self.functions = set()
        self.depth = 0
        self._stack = 0

    def __call__(self, frame, event, argument):
        code = frame.f_code
        if event not in ("call", "return") or not _is_counted(code):
            return
        self._stack += 1 if event == "call" else -1
        self.depth = max(self.depth, self._stack)
        self.functions.add(code)

    @property
    def files(self):
        """Files of the functions, relative to the package."""
        paths = {Path(code.co_filename) for code in self.functions}
        return sorted(path.relative_to(PACKAGE).as_posix() for path in paths)

    @property
    def classes(self):
        """Files and names of the classes of which a method runs."""
        return sorted({one for code in self.functions if (one := class_of(code))})


@functools.cache
def _is_counted(code):
    file = Path(code.co_filename)
    is_function = code.co_flags & inspect.CO_OPTIMIZED  # and not the body of a class or module
    left_out = file.is_relative_to(KERNELS) or code.co_name in COMPREHENSIONS
    return is_function and file.is_relative_to(PACKAGE) and not left_out


def class_of(code):
    """File and name of the class that defines a method; None for a function."""
    name = code.co_qualname.rpartition("<locals>.")[2]
    owner = name.rpartition(".")[0]
    return (Path(code.co_filename).relative_to(PACKAGE).as_posix(), owner) if owner else None


def trace(function):
    """The calls within a call of the function."""
    calls = Calls()
    sys.setprofile(calls)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


class Fit(NamedTuple):
    """An estimator and its data, the same without a constraint, and a measure of unfairness."""

    name: str
    estimator: BaseEstimator
    plain: BaseEstimator
    data: tuple
    groups: Any
    gap: Callable
    tolerance: float

    def run(self):
        """Fit the estimator with its groups."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.estimator.fit(*self.data, sensitive_features=self.groups)

    def check_binding(self):
        """Fail unless the plain gap is at least twice the tolerance, and the fit halves it."""
        plain = self.gap(self.plain.fit(*self.data))
        fair = self.gap(self.run())
        assert plain >= 2 * self.tolerance, f"{self.name} does not bind: {plain=}"
        assert fair <= plain / 2, f"{self.name} is not enforced: {plain=}, {fair=}"


def trace_second(fit):
    """The calls of a second fit: imports, and what is computed once, are no part of the chain."""
    fit.check_binding()
    return trace(fit.run)


def fits():
    """The five fits."""
    return [*_classifications(), *_clusterings()]


def _classifications():
    X, y = make_classification(N_SAMPLES, random_state=0)
    groups = (np.random.default_rng(0).random(N_SAMPLES) < np.where(y, 0.85, 0.2)).astype(int)
    interval = [0.25, 0.75]
    tolerance = 0.05

    def rate_gap(model):
        return demographic_parity_difference(y, model.predict(X), sensitive_features=groups)

    def partial_gap(model):
        scores = model.decision_function(X)
        return partial_statistical_parity_difference(
            scores, sensitive_features=groups, interval=interval
        )

    percentiles = PartialParityClassifier(interval=interval, tolerance=tolerance)
    plain = LogisticRegression()
    for name, model, gap in (
        ("linear", ConstrainedERMClassifier(tolerance=tolerance), rate_gap),
        ("percentiles", percentiles, partial_gap),
        ("any model", ConstrainedClassifierCV(plain, tolerance=tolerance), rate_gap),
    ):
        yield Fit(name, model, plain, (X, y), groups, gap, tolerance)


def _clusterings():
    X, _, groups = make_fair_blobs(N_SAMPLES, centers=3, group_separation=0.8, random_state=0)
    table = np.column_stack((X, groups))
    size = N_SAMPLES // 4
    rows = Blocks(lambda i, names: table[i * size : (i + 1) * size, names], [size] * 4, range(3))

    def imbalance(model):
        return 1 - balance_score(model.labels_, sensitive_features=groups, relative=True)

    min_balance = 0.8
    model = FairKMeans(3, min_balance=min_balance, random_state=0)
    plain = FairKMeans(3, min_balance=None, random_state=0)
    for name, data, members in (
        ("FairKMeans", X, groups),
        ("FairKMeans on partitions", rows[[0, 1]], rows[2]),
    ):
        yield Fit(name, model, plain, (data,), members, imbalance, 1 - min_balance)


def entered_classes():
    """Files and names of the classes that one of the fits enters, estimators excepted."""
    entered = {one for fit in fits() for one in trace_second(fit).classes}
    return {one for one in entered if not issubclass(_load(*one), BaseEstimator)}


def _load(file, name):
    """Return the class of a name in a file of the package; object if a function defines it."""
    module = ".".join([skfair.__name__, *Path(file).with_suffix("").parts])
    return getattr(import_module(module), name, object)


def main(verbose):
    """Print a line for every fit."""
    print(f"{'fit':26}{'classes':>8}{'files':>7}{'depth':>7}{'functions':>11}")
    for fit in fits():
        calls = trace_second(fit)
        counts = len(calls.classes), len(calls.files), calls.depth, len(calls.functions)
        print("{:26}{:8}{:7}{:7}{:11}".format(fit.name, *counts))
        if verbose:
            print("\n".join(f"    {name} ({file})" for file, name in calls.classes))
            print("\n".join(f"    {file}" for file in calls.files))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-v", "--verbose", action="store_true", help="list classes and files")
    main(parser.parse_args().verbose)
