"""Hints held against the values that calls really pass and return."""

import ast
import functools
import importlib
import inspect
import pkgutil
import sys
import types
import typing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import skfair
from skfair.audit import Audit
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityClassifier,
    PartialParityPostprocessor,
)
from skfair.cluster import FairKMeans, FairKMedoids, FairSpectralClustering
from skfair.metrics import class_report, group_report
from skfair.monitoring import GapMonitor
from skfair.regression import ConstrainedERMRegressor, ConstrainedRegressorCV

PACKAGE = Path(skfair.__file__).parent
NUMBERS = {float: (float, int, np.number), int: (int, np.integer), bool: (bool, np.bool_)}
"""What passes for Python's numbers, as it does in arithmetic."""


def hold_hint(value, hint):
    """Whether a value is what a hint says; of containers, the first few entries are looked at."""
    origin, members = typing.get_origin(hint), typing.get_args(hint)
    if hint is typing.Any or hint is typing.Self:
        return True
    if hint is None:
        return value is None
    if origin in (typing.Union, types.UnionType):
        return any(hold_hint(value, one) for one in members)
    if origin is typing.Annotated:
        return hold_hint(value, members[0])
    if origin is typing.Literal:
        return value in members
    # Protocols, type variables and functions say too little to be judged here.
    cls = origin or hint
    if not isinstance(cls, type) or getattr(cls, "_is_protocol", False):
        return True
    if not isinstance(value, NUMBERS.get(cls, cls)):
        return False
    if cls is tuple and members and members[-1] is not Ellipsis:
        return len(value) == len(members) and all(map(hold_hint, value, members))
    if cls in (list, tuple, set) and members:
        return all(hold_hint(one, members[0]) for one in [*value][:5])
    if cls is dict and members:
        pairs = [*value.items()][:5]
        return all(hold_hint(k, members[0]) and hold_hint(v, members[1]) for k, v in pairs)
    return True


def read_names(module):
    """The names that hints of a module may use, with those for type checkers alone."""
    names = dict(vars(module))
    for statement in ast.parse(inspect.getsource(module)).body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            for one in statement.body:
                try:
                    exec(compile(ast.Module([one], []), module.__file__, "exec"), names)
                except (ImportError, NameError):  # a package that is not installed
                    continue
    return names


def list_functions(owner, module, visited):
    """Functions and methods that are written in a module."""
    for value in list(vars(owner).values()):
        for one in (value.fget, value.fset) if isinstance(value, property) else (value,):
            function = getattr(one, "__func__", getattr(one, "func", one))
            function = inspect.unwrap(function) if callable(function) else function
            if isinstance(function, type) and function.__module__ == module.__name__:
                if function not in visited:
                    visited.add(function)
                    yield from list_functions(function, module, visited)
            elif isinstance(function, types.FunctionType):
                if function.__code__.co_filename == module.__file__:
                    yield function


@functools.cache
def read_hints():
    """Hints of all functions by their code: name -> hint, where it can be read."""
    hints = {}
    for member in pkgutil.walk_packages([str(PACKAGE)], "skfair."):
        if "._kernels" in member.name or member.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(member.name)
        except ImportError:  # PyTorch
            continue
        names = read_names(module)
        for function in list_functions(module, module, set()):
            hints[function.__code__] = {}
            for argument, hint in function.__annotations__.items():
                try:
                    hint = eval(hint, names) if isinstance(hint, str) else hint
                except (NameError, AttributeError, TypeError):
                    continue
                hints[function.__code__][argument] = hint
    return hints


def find_false_hints(call, hints):
    """Call a function; what was passed and returned against hints, as sentences."""
    false = set()

    def compare(code, name, value):
        if name in hints[code] and not hold_hint(value, hints[code][name]):
            said = hints[code][name]
            false.add(f"{code.co_qualname}: {name} is a {type(value).__name__}, and not {said}")

    def compare_call(frame, event, result):
        code = frame.f_code
        if code not in hints or event not in ("call", "return"):
            return
        if event == "call":
            n_arguments = code.co_argcount + code.co_kwonlyargcount
            for name in code.co_varnames[:n_arguments]:
                compare(code, name, frame.f_locals.get(name))
        # A function that raises, or yields, returns nothing.
        elif code.co_code[frame.f_lasti] == RETURN and not code.co_flags & inspect.CO_GENERATOR:
            compare(code, "return", result)

    sys.setprofile(compare_call)
    try:
        call()
    finally:
        sys.setprofile(None)
    return sorted(false)


def _return_code():
    """The number by which the interpreter returns a value."""
    import dis

    return dis.opmap["RETURN_VALUE"]


RETURN = _return_code()

rng = np.random.default_rng(0)
X = rng.normal(size=(240, 3))
sex = np.where(rng.random(240) < 0.4, "f", "m")
region = rng.integers(3, size=240)
y = (X[:, 0] + 0.8 * (sex == "m") + rng.normal(size=240) > 0).astype(int)
number = X[:, 0] + (sex == "m") + rng.normal(size=240)
groups = pd.DataFrame({"sex": sex, "region": region})


def fit(model, target=y, **columns):
    columns = {"sensitive_features": sex} | columns
    return model.fit(X, target, **columns) if target is not None else model.fit(X, **columns)


def watch_decisions():
    monitor = GapMonitor("demographic_parity", tolerance=0.3)
    for rows in np.array_split(np.arange(240), 3):
        monitor.update(None, y[rows], sensitive_features=sex[rows])
    return monitor


CALLS = {
    "linear": lambda: fit(ConstrainedERMClassifier(tolerance=0.05)).predict(X),
    "list": lambda: fit(
        ConstrainedERMClassifier(["demographic_parity", "equal_opportunity"], tolerance=0.1),
        sensitive_features=groups,
        sample_weight=rng.random(240),
    ).predict_proba(X),
    "percentiles": lambda: fit(PartialParityClassifier(tolerance=0.1)).predict(X),
    "ranks": lambda: fit(PartialParityPostprocessor(LogisticRegression())).predict(
        X, sensitive_features=sex
    ),
    "any": lambda: fit(ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05, cv=3)),
    "limit": lambda: fit(
        ConstrainedClassifierCV(
            LogisticRegression(), tolerance=0.3, confidence_level=0.8, cv=3, ensemble=False
        )
    ),
    "regression": lambda: fit(ConstrainedERMRegressor(tolerance=0.1), number).predict(X),
    "any regression": lambda: fit(
        ConstrainedRegressorCV(LinearRegression(), tolerance=0.1, cv=3), number
    ),
    "k-means": lambda: fit(FairKMeans(3, min_balance=0.8, random_state=0, n_init=1), None).predict(
        X
    ),
    "medoids": lambda: fit(FairKMedoids(3, max_cluster_size=100, random_state=0), None),
    "spectral": lambda: fit(FairSpectralClustering(3, min_balance=0.5, random_state=0), None),
    "report": lambda: Audit.from_predictions(y, 1 - y, sensitive_features=groups).report(),
    "metrics": lambda: group_report(y, 1 - y, sensitive_features=groups),
    "classes": lambda: class_report(region, region, sensitive_features=sex),
    "claim": lambda: Audit.from_predictions(None, y, sensitive_features=sex).certify(
        "demographic_parity", tolerance=0.9
    ),
    "monitor": lambda: watch_decisions().verdict_,
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_hints_are_true_of_what_calls_pass_and_return(name):
    assert find_false_hints(CALLS[name], read_hints()) == []


def test_a_false_hint_is_found():
    def double(value: float, names: list[str]) -> int | None:
        return value + value

    hints = {double.__code__: {"value": float, "names": list[str], "return": int | None}}
    assert find_false_hints(lambda: double(2.0, ["a"]), hints) == [
        f"{double.__qualname__}: return is a float, and not int | None"
    ]
    assert find_false_hints(lambda: double(np.int64(2), [1]), hints) == [
        f"{double.__qualname__}: names is a list, and not list[str]"
    ]
