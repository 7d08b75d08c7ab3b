"""Columns, keys and attributes of results have the names that docstrings state."""

import importlib
import inspect
import pkgutil
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import skfair
from skfair.audit import Audit, fairness_front
from skfair.callbacks import FitMonitor
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityClassifier,
    suggest_interval,
)
from skfair.cluster import FairKMeans
from skfair.conformal import ConformalClassifier, ConformalRegressor
from skfair.datasets import load_patients, make_loans
from skfair.metrics import flip_rate, group_report, reliability_table
from skfair.monitoring import GapMonitor
from skfair.regression import (
    ConstrainedERMRegressor,
    ConstrainedRegressorCV,
    PartialParityRegressor,
)

N = 400
RNG = np.random.default_rng(0)
GROUPS = RNG.choice(["a", "b"], size=N)
X = RNG.normal(size=(N, 3)) + (GROUPS == "b")[:, np.newaxis]
TARGET = X[:, 0] + RNG.normal(size=N)
Y = (TARGET > 0.5).astype(int)
SCORES = 1.0 / (1.0 + np.exp(-X[:, 0]))
DECISIONS = (SCORES > 0.5).astype(int)


def make_report():
    return Audit.from_predictions(Y, DECISIONS, sensitive_features=GROUPS).report()


def fit(model, target=Y):
    return model.fit(X, target, sensitive_features=GROUPS)


def make_monitor():
    return GapMonitor("demographic_parity", tolerance=0.05, windows=(1,)).update(
        None, DECISIONS, sensitive_features=GROUPS
    )


def log_iterations():
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    log = FitMonitor()
    fit(FairKMeans(2, random_state=0).set_callbacks(log))
    return log.log


REGRESSOR = ConstrainedRegressorCV(LinearRegression(), tolerance=0.5)
CLASSIFIER = ConstrainedClassifierCV(
    LogisticRegression(), tolerance=0.1, group_estimator=LogisticRegression()
)
RESULTS = {
    "make_loans": lambda: make_loans(20, random_state=0)[0],
    "FairnessReport.to_frame": lambda: make_report().to_frame(),
    "FairnessReport.adverse_impact": lambda: make_report().adverse_impact(),
    "FairnessReport.adjusted_differences": lambda: (
        Audit.from_predictions(
            None, DECISIONS, sensitive_features=GROUPS, control_features=SCORES > 0.4
        )
        .report()
        .adjusted_differences()
    ),
    "FairnessFront.to_frame": lambda: fairness_front(
        ConstrainedERMClassifier(), X, Y, sensitive_features=GROUPS, values=[0.1]
    ).to_frame(),
    "FitMonitor.log": log_iterations,
    "ConformalClassifier.coverage_report_": lambda: (
        fit(ConformalClassifier(LogisticRegression(), cv=2, per_class=True)).coverage_report_
    ),
    "ConformalRegressor.coverage_report_": lambda: (
        fit(ConformalRegressor(LinearRegression(), cv=2), TARGET).coverage_report_
    ),
    "ConstrainedClassifierCV.constraint_report_": lambda: fit(CLASSIFIER).constraint_report_,
    "ConstrainedClassifierCV.export_rule": lambda: fit(CLASSIFIER).export_rule(),
    "ConstrainedERMClassifier.constraint_report_": lambda: (
        fit(ConstrainedERMClassifier()).constraint_report_
    ),
    "ConstrainedERMRegressor.constraint_report_": lambda: (
        fit(ConstrainedERMRegressor(), TARGET).constraint_report_
    ),
    "ConstrainedRegressorCV.export_rule": lambda: fit(REGRESSOR, TARGET).export_rule(),
    "PartialParityClassifier.constraint_report_": lambda: (
        fit(PartialParityClassifier(tolerance=0.3)).constraint_report_
    ),
    "PartialParityRegressor.constraint_report_": lambda: (
        fit(PartialParityRegressor(tolerance=0.3), TARGET).constraint_report_
    ),
    "suggest_interval": lambda: suggest_interval(SCORES, sensitive_features=GROUPS),
    "load_patients": load_patients,
    "group_report": lambda: group_report(
        Y, DECISIONS, sensitive_features=GROUPS, confidence_level=0.9
    ),
    "flip_rate": lambda: flip_rate(
        LogisticRegression().fit(X, Y), np.round(X), column=0, confidence_level=0.9
    ),
    "reliability_table": lambda: reliability_table(Y, SCORES, sensitive_features=GROUPS),
    "GapMonitor.windows_": lambda: make_monitor().windows_,
    "GapMonitor.alarms_": lambda: make_monitor().alarms_,
    "GapMonitor.summary": lambda: make_monitor().summary(),
    "GapMonitor.to_frame": lambda: make_monitor().to_frame(),
}
"""What returns the results, by the name of the function, or of class and attribute."""

OTHERS = {
    "Claim.n_missing": "its keys are what is unknown in the data",
    "class_report": "its columns are those of group_report",
    "cluster_composition": "its columns are groups",
}
"""Results without names of their own. Data sets that are downloaded have tests of their own."""
VALUES = {"overall", "shown", "open", "contradicted", "scoring_rate", "selection_rate"}
VALUES |= {"is_excluded", "decision_function", "all"}
"""Words in quotes that are values of a column, or names of other things."""

_SECTION = re.compile(r"^(Returns|Attributes)\n-+\n(.*?)(?=^\w[\w ]*\n-+$|\Z)", re.M | re.S)
_ENTRY = re.compile(r"^(\w+) : (.*)\n((?:(?:    .*)?\n)*)", re.M)
_NAME = re.compile(r'``(\w+)``|"(\w+)"|`(\w+)`:|^    (\w+) : ', re.M)


def public_callables():
    """Public functions, classes and methods of the package by name."""
    for module in pkgutil.iter_modules(skfair.__path__):
        if module.name.startswith("_") or module.name == "torch":
            continue
        public = importlib.import_module(f"skfair.{module.name}")
        for name in getattr(public, "__all__", ()):
            entry = getattr(public, name)
            yield name, entry
            if inspect.isclass(entry):
                methods = inspect.getmembers(entry, inspect.isfunction)
                yield from ((f"{name}.{one}", method) for one, method in methods if one[0] != "_")


def documented_results():
    """Names in the entries of tables, dicts and bunches, by what returns them."""
    results = {}
    for name, entry in public_callables():
        for section, text in _SECTION.findall(inspect.getdoc(entry) or ""):
            for attribute, kind, description in _ENTRY.findall(f"{text.rstrip()}\n"):
                names = {"".join(match) for match in _NAME.findall(description)} - VALUES
                names = {one for one in names if not one.endswith("_")}  # attributes
                if re.search(r"DataFrame|\bdict\b|Bunch", kind) and names:
                    results[f"{name}.{attribute}" if section == "Attributes" else name] = names
    return results


DOCUMENTED = {
    name: names
    for name, names in documented_results().items()
    if name not in OTHERS and not name.startswith("fetch_")
}


def names_of(result):
    """Names of the columns and of the index of a table, or keys, those of tables within too."""
    if isinstance(result, pd.DataFrame):
        return {*result.columns, *result.index.names}
    tables = [table for table in result.values() if isinstance(table, pd.DataFrame)]
    return set(result).union(*map(names_of, tables))


def test_all_documented_names_are_tested():
    assert set(DOCUMENTED) == set(RESULTS)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", RESULTS)
def test_documented_names_are_those_of_the_result(name):
    names = names_of(RESULTS[name]())
    suffixes = {one for one in DOCUMENTED[name] if one.startswith("_")}  # of every metric
    for suffix in suffixes:
        assert any(one.endswith(suffix) for one in names if one), suffix
    assert DOCUMENTED[name] - suffixes <= names
