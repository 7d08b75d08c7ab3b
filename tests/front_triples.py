"""All triples of settings of a front of accuracy and gaps; see `tests.triples`."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from skfair.audit import fairness_front
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.constraints import DemographicParity, EqualizedOdds, MinimumRate
from tests.changes import change_samples, name_row, pack
from tests.covering import make_rows
from tests.triples import SLACK, accuracy, draw, rate

FACTORS = {
    "estimator": ["plain", "linear", "folds", "known"],
    "constraint": ["parity", "ratio", "odds", "recall"],
    "change": ["names", "container", "scale", "again", "counted"],
    "groups": ["two", "five", "attributes", "each", "numbers"],
    "weights": ["none", "uneven", "zeros"],
    "container": ["numpy", "pandas", "polars", "pyarrow", "read-only"],
    "outcome": ["text", "rare", "three"],
}
FORBIDDEN = [
    (("estimator", "linear"), ("outcome", "three")),
    (("change", "container"), ("container", "numpy")),
]
"""Values that no row has together."""

ROWS = make_rows(FACTORS, FORBIDDEN)

VALUES = [0.05, 0.2]


def make_model(row):
    """The estimator of a row, with a tolerance left open."""
    if row["estimator"] == "plain":
        return GaussianNB()
    settings = {"pos_label": "b" if row["outcome"] == "text" else None}
    constraint = DemographicParity(
        attributes="each" if row["groups"] == "each" else "intersections"
    )
    if row["estimator"] == "linear":
        return ConstrainedERMClassifier(constraint, **settings)
    group_estimator = "sensitive_features" if row["estimator"] == "known" else GaussianNB()
    return ConstrainedClassifierCV(
        GaussianNB(), constraint, group_estimator=group_estimator, cv=2, **settings
    )


def make_front(row, data, container):
    """The table of a front."""
    settings = {"attributes": "each"} if row["groups"] == "each" else {}
    constraint = {
        "parity": lambda: DemographicParity(**settings),
        "ratio": lambda: DemographicParity(ratio=0.8, **settings),
        "odds": lambda: EqualizedOdds(**settings),
        "recall": lambda: MinimumRate("recall", 0.6, **settings),
    }[row["constraint"]]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fairness_front(
            make_model(row),
            pack(data.X, container),
            data.y,
            sensitive_features=data.groups,
            sample_weight=data.weights,
            values=None if row["estimator"] == "plain" else VALUES,
            constraint=constraint,
            pos_label="b" if row["outcome"] == "text" else None,
            cv=2,
        ).to_frame()


def predict_out_of_fold(row, data, tolerance):
    """The decision about each sample by a model that was fitted without its fold."""
    decisions = np.empty_like(data.y)
    model = make_model(row)
    if row["estimator"] != "plain":
        model.set_params(tolerance=tolerance)
    for train, test in StratifiedKFold(2).split(data.X, data.y):
        columns = {"sensitive_features": data.groups, "sample_weight": data.weights}
        columns = {name: take_rows(one, train) for name, one in columns.items() if one is not None}
        if row["estimator"] == "plain":
            del columns["sensitive_features"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = clone(model).fit(data.X[train], data.y[train], **columns)
        groups = {}
        if row["estimator"] == "known":
            groups = {"sensitive_features": take_rows(data.groups, test)}
        decisions[test] = fitted.predict(data.X[test], **groups)
    return decisions


def take_rows(column, rows):
    return column.iloc[rows] if hasattr(column, "iloc") else column[rows]


def count_gap(row, data, decisions):
    """The largest gap of all classes, or the smallest ratio or rate, counted by numpy."""
    names = {"odds": ["recall", "fall-out"], "recall": ["recall"]}.get(
        row["constraint"], ["selection"]
    )
    classes = np.unique(data.y)
    gaps = []
    for positive in classes[1:] if len(classes) == 2 else classes:
        for name in names:
            columns = decisions == positive, data.y == positive
            rates = np.array([rate(*columns, one, data.sizes, name) for one in data.members])
            if row["constraint"] == "ratio":
                gaps.append(rates.min() / rates.max() if rates.max() > 0 else 1.0)
            else:
                gaps.append(rates.min() if row["constraint"] == "recall" else np.ptp(rates))
    return min(gaps) if row["constraint"] in ("ratio", "recall") else max(gaps)


def check_row(row):
    """Raise unless a front counts right, and is the same after a change."""
    data = draw(row)
    first = make_front(row, data, row["container"])
    change = row["change"]
    if change == "counted":
        for tolerance, number, gap in zip(
            [None] if row["estimator"] == "plain" else VALUES,
            first["accuracy"],
            first["gap"],
            strict=True,
        ):
            decisions = predict_out_of_fold(row, data, tolerance)
            assert number == pytest.approx(accuracy(data, decisions))
            assert gap == pytest.approx(count_gap(row, data, decisions))
        return
    changed = change_samples(row, data)
    again = make_front(row, changed.data, changed.container)
    if change in ("again", "container"):
        pd.testing.assert_frame_equal(again, first)
    else:
        # Searches may end at other optima, which are as accurate; see `tests.triples`.
        difference = again["accuracy"] - first["accuracy"]
        assert (difference.abs() <= SLACK).all()


@pytest.mark.parametrize("row", ROWS, ids=name_row)
def test_rows_of_all_triples(row):
    check_row(row)
