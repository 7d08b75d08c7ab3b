"""Tables of polars, pyarrow, and of all that export a stream of Arrow, at every public door."""

import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from skfair._utils.tables import to_pandas_table
from skfair.audit import Audit, fairness_front
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.cluster import FairKMeans
from skfair.conformal import ConformalClassifier
from skfair.constraints import DemographicParity
from skfair.metrics import demographic_parity_difference, group_report, make_scorer
from skfair.monitoring import GapMonitor
from skfair.preprocessing import CorrelationRemover, reweighing_weights

N_SAMPLES = 240
RNG = np.random.default_rng(0)
SEX = RNG.choice(["f", "m"], N_SAMPLES)
RACE = RNG.choice(["x", "y"], N_SAMPLES)
X = RNG.normal(size=(N_SAMPLES, 2))
y = (X[:, 0] + RNG.normal(size=N_SAMPLES) > 0.5).astype(int)
DECISIONS = (X[:, 0] > 0).astype(int)
GROUPS = {"sex": SEX, "race": RACE}


class Stream:
    """A table of which nothing is known but how to export it."""

    def __init__(self, columns):
        self.table = pytest.importorskip("pyarrow").table(columns)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


TABLES = {
    "polars": lambda columns: pytest.importorskip("polars").DataFrame(columns),
    "pyarrow": lambda columns: pytest.importorskip("pyarrow").table(columns),
    "stream": Stream,
}


def audit_counts(make):
    counts = pd.DataFrame(GROUPS | {"d": DECISIONS}).value_counts().rename("n").reset_index()
    table = make({name: counts[name].to_numpy() for name in counts})
    audit = Audit.from_counts(table, counts="n", sensitive_features=[*GROUPS], y_pred="d")
    return audit.report().frame


def fit_within_race(make):
    features = {"a": X[:, 0], "b": X[:, 1], "race": (RACE == "x").astype(float)}
    model = ConstrainedERMClassifier(DemographicParity(control_features="race"))
    features = pd.DataFrame(features) if make is Stream else make(features)
    return model.fit(features, y, sensitive_features=make({"sex": SEX})).coef_


def update_monitor(make):
    monitor = GapMonitor("demographic_parity", tolerance=0.05)
    return monitor.update(y, DECISIONS, sensitive_features=make({"sex": SEX})).to_frame()


def fit_with_groups(estimator, make):
    return estimator.fit(X, y, sensitive_features=make({"sex": SEX}))


DOORS = {
    "counts": audit_counts,
    "report": lambda make: (
        Audit.from_predictions(y, DECISIONS, sensitive_features=make(GROUPS)).report().frame
    ),
    "control features of an audit": lambda make: (
        Audit.from_predictions(
            y,
            DECISIONS,
            sensitive_features=make({"sex": SEX}),
            control_features=make({"race": RACE}),
        )
        .report()
        .frame
    ),
    "subgroups": lambda make: (
        Audit.from_predictions(y, DECISIONS, sensitive_features=make({**GROUPS, "age": X[:, 1]}))
        .subgroups()
        .subgroups
    ),
    "metric": lambda make: demographic_parity_difference(
        y, DECISIONS, sensitive_features=make(GROUPS)
    ),
    "control features of a metric": lambda make: demographic_parity_difference(
        y,
        DECISIONS,
        sensitive_features=make({"sex": SEX}),
        control_features=make({"race": RACE}),
    ),
    "table of groups": lambda make: group_report(
        y,
        DECISIONS,
        sensitive_features=make({"sex": SEX}),
        control_features=make({"race": RACE}),
    ),
    "prediction sets": lambda make: group_report(
        y,
        make({"0": DECISIONS == 0, "1": DECISIONS == 1}),
        sensitive_features=SEX,
        metrics="coverage",
    ),
    "scorer": lambda make: make_scorer("recall", transform="difference")(
        LogisticRegression().fit(X, y), X, y, sensitive_features=make({"sex": SEX})
    ),
    "monitor": update_monitor,
    "linear classifier": lambda make: fit_with_groups(ConstrainedERMClassifier(), make).coef_,
    "strata of X": fit_within_race,
    "classifier of any model": lambda make: fit_with_groups(
        ConstrainedClassifierCV(LogisticRegression(), group_estimator="sensitive_features", cv=3),
        make,
    ).predict(X, sensitive_features=make({"sex": SEX})),
    "prediction sets of a fit": lambda make: fit_with_groups(
        ConformalClassifier(
            LogisticRegression(), group_estimator="sensitive_features", cv=3, coverage=0.7
        ),
        make,
    ).predict_set(X, sensitive_features=make({"sex": SEX})),
    "clustering": lambda make: fit_with_groups(FairKMeans(3, random_state=0), make).labels_,
    "front": lambda make: (
        fairness_front(
            ConstrainedERMClassifier(), X, y, values=[0.1], sensitive_features=make({"s": SEX})
        )
        .to_frame()
        .select_dtypes("number")
    ),
    "remover": lambda make: CorrelationRemover().fit_transform(
        X, sensitive_features=make({"sex": SEX})
    ),
    "weights": lambda make: reweighing_weights(y, sensitive_features=make({"sex": SEX})),
}
"""Calls with a table that a function makes of columns by name."""


@cache
def call_with_pandas(door):
    return DOORS[door](pd.DataFrame)


@pytest.mark.covering(1)
@pytest.mark.filterwarnings("ignore:.*samples")
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("door", DOORS)
def test_tables_of_others_are_read_as_those_of_pandas(door, kind):
    expected = call_with_pandas(door)
    got = DOORS[door](TABLES[kind])
    if isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(got, expected, check_dtype=False)
    else:
        np.testing.assert_array_equal(got, expected)


def test_a_column_of_rows_is_a_table_of_attributes():
    polars = pytest.importorskip("polars")
    column = polars.DataFrame(GROUPS).to_struct("people")
    assert demographic_parity_difference(
        y, DECISIONS, sensitive_features=column
    ) == demographic_parity_difference(y, DECISIONS, sensitive_features=pd.DataFrame(GROUPS))


def test_a_stream_needs_a_reader(monkeypatch):
    stream = Stream(GROUPS)
    monkeypatch.delattr(pd.DataFrame, "from_arrow", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="Stream.*needs pandas 3 or pyarrow"):
        to_pandas_table(stream)


def test_what_is_no_table_stays():
    for one in ([1, 2], np.ones(3), pd.Series([1, 2]), None, {"a": [1]}):
        assert to_pandas_table(one) is one
