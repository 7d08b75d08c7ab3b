"""Call chains of five fits: ``python -m tests.call_chains`` prints what a reader has to follow.

Of each fit to 200 samples: distinct functions of the package (comprehensions and kernels, as plain
Python, included), files that they are in, and the deepest stack of them.
"""

import os

if __name__ == "__main__":  # other importers keep compiled kernels
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # kernels as plain Python; must come before numba

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

import skfair
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityClassifier,
)
from skfair.cluster import FairKMeans
from skfair.datasets import make_fair_blobs
from skfair.partitions import Blocks

PACKAGE = str(Path(skfair.__file__).parent)
N_SAMPLES = 200


class Tracer:
    """Notes every function of the package that is called, and how deep calls go."""

    def __init__(self):
        self.functions, self.depth, self.deepest = set(), 0, 0

    def __call__(self, frame, event, argument):
        if event not in ("call", "return") or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        self.depth += 1 if event == "call" else -1
        self.deepest = max(self.deepest, self.depth)
        code = frame.f_code
        self.functions.add((code.co_filename, code.co_qualname, code.co_firstlineno))

    @property
    def files(self):
        return {file for file, *_ in self.functions}


def trace(function):
    """A tracer that has seen a call of the function."""
    tracer = Tracer()
    sys.setprofile(tracer)
    try:
        function()
    finally:
        sys.setprofile(None)
    return tracer


def fits():
    """Names of the fits, and functions without arguments that make them."""
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=N_SAMPLES)
    X = rng.normal(size=(N_SAMPLES, 3)) + groups[:, np.newaxis]
    y = (X.sum(axis=1) + rng.logistic(size=N_SAMPLES) > 1).astype(int)
    for name, model in {
        "ConstrainedERMClassifier": ConstrainedERMClassifier(),
        "PartialParityClassifier": PartialParityClassifier(),
        "ConstrainedClassifierCV": ConstrainedClassifierCV(LogisticRegression()),
    }.items():
        yield name, lambda model=model: model.fit(X, y, sensitive_features=groups)
    X, _, groups = make_fair_blobs(N_SAMPLES, centers=3, random_state=0)
    model = FairKMeans(3, random_state=0)
    yield "FairKMeans", lambda: model.fit(X, sensitive_features=groups)
    table, size = np.column_stack((X, groups)), N_SAMPLES // 4
    rows = Blocks(lambda i, names: table[i * size : (i + 1) * size, names], [size] * 4, range(3))
    yield (
        "FairKMeans on partitions",
        lambda: model.fit(rows[[0, 1]], sensitive_features=rows[2]),
    )


def main():
    """Print a line for every fit."""
    warnings.simplefilter("ignore")
    print(f"{'fit':28}{'functions':>10}{'files':>7}{'deepest':>9}")
    for name, fit in fits():
        fit()  # imports, and what is computed once, are no part of the chain
        calls = trace(fit)
        print(f"{name:28}{len(calls.functions):10}{len(calls.files):7}{calls.deepest:9}")


if __name__ == "__main__":
    main()
