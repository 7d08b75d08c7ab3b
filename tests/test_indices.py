"""Columns whose pandas indices have other labels, or the same in another order, are refused.

A default index (0, 1, ...) meets any other as an array would, but not one that it reorders.
"""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_clusterer

from skfair._partitions.collections import check_alignment
from skfair.audit import Audit
from skfair.monitoring import GapMonitor
from tests.test_refusals import (
    COLUMNS,
    IGNORES_GROUPS,
    fit_aware,
    list_fits,
    list_functions,
    list_methods,
)

N = 60
LABELS = np.arange(100, 100 + N)
ORDER = np.random.default_rng(0).permutation(N)


def audit(**columns):
    y_true, y_pred = columns.pop("y_true"), columns.pop("y_pred")
    return Audit.from_predictions(y_true, y_pred, **columns).report().frame


def monitor(y_true, y_pred, sensitive_features):
    one = GapMonitor("equal_opportunity", 0.5)
    one.update(y_true, y_pred, sensitive_features=sensitive_features)
    return one.estimate_ if hasattr(one, "estimate_") else one.summary().to_numpy().tolist()


CALLS = [
    *(pytest.param(*one[1:], id=one[0]) for one in list_functions()),
    pytest.param(
        audit,
        {name: COLUMNS[name] for name in ("y_true", "y_pred", "y_score", "sensitive_features")},
        id="Audit",
    ),
    pytest.param(
        monitor,
        {name: COLUMNS[name] for name in ("y_true", "y_pred", "sensitive_features")},
        id="GapMonitor",
    ),
]


def index_by(column, labels):
    make = pd.DataFrame if np.ndim(column) == 2 else pd.Series
    return make(np.asarray(column), index=labels)


def index_all(columns):
    return {name: index_by(column, LABELS) for name, column in columns.items()}


def reorder_each(columns):
    """Columns of one index, of which one after the other is in another order."""
    for name, column in columns.items():
        reordered = index_by(np.asarray(column)[ORDER], LABELS[ORDER])
        yield index_all(columns) | {name: reordered}


quiet = pytest.mark.filterwarnings("ignore")


@quiet
@pytest.mark.parametrize("call, columns", CALLS)
def test_columns_in_another_order_are_refused(call, columns):
    expected = call(**index_all(columns))
    for reordered in reorder_each(columns):
        with pytest.raises(ValueError, match="same pandas index"):
            call(**reordered)
    for name, column in columns.items():
        got = call(**index_all(columns) | {name: index_by(column, None)})
        assert repr(got) == repr(expected)


@quiet
@pytest.mark.parametrize("fit, columns", [pytest.param(*one[1:], id=one[0]) for one in list_fits()])
def test_fits_refuse_columns_in_another_order(fit, columns):
    for reordered in reorder_each(columns):
        with pytest.raises(ValueError, match="same pandas index"):
            fit(**reordered)


@pytest.mark.covering(0)
@quiet
@pytest.mark.parametrize("cls, method", list_methods())
def test_methods_refuse_columns_in_another_order(cls, method):
    model, columns = fit_aware(cls)
    call = getattr(model, method)
    names = set(inspect.signature(call).parameters) & columns.keys()
    names -= {"sensitive_features"} if cls.__name__ in IGNORES_GROUPS else set()
    names -= {"y"} if method == "score" and is_clusterer(model) else set()  # which ignore it
    for reordered in reorder_each({name: columns[name] for name in names}):
        if len(names) > 1:
            with pytest.raises(ValueError, match="same pandas index"):
                call(**reordered)


def test_a_default_index_does_not_meet_one_that_reorders_it():
    y = pd.Series(range(N))
    with pytest.raises(ValueError, match="same pandas index"):
        check_alignment(X=y.iloc[ORDER], y=y)
    with pytest.raises(ValueError, match="same pandas index"):
        check_alignment(y=y, X=y.iloc[ORDER])
    check_alignment(X=pd.Series(0, index=LABELS[ORDER]), y=y)
    check_alignment(y=y, X=pd.Series(0, index=np.repeat([3, 4], N // 2)))


def test_predictions_that_an_audit_compares_have_its_index():
    columns = {name: index_by(COLUMNS[name], LABELS) for name in ("y_true", "y_pred")}
    audit = Audit.from_predictions(**columns, sensitive_features=COLUMNS["sensitive_features"])
    y_pred = columns["y_pred"]
    compared = audit.compare(y_pred).gaps
    assert (compared["change"].dropna() == 0.0).all()
    for other in (y_pred.to_numpy(), y_pred.reset_index(drop=True)):
        pd.testing.assert_frame_equal(audit.compare(other).gaps, compared)
        audit.alternatives({"same": other}, margin=0.2)
    with pytest.raises(ValueError, match=r"after\.loc\[audit\.index\]"):
        audit.compare(y_pred.iloc[ORDER])
    with pytest.raises(ValueError, match="same pandas index"):
        audit.alternatives({"same": y_pred.iloc[ORDER]}, margin=0.2)


def test_rows_of_zero_weight_are_left_out_of_predictions_that_are_compared():
    weights = np.where(np.arange(N) < 10, 0.0, 1.0)
    audit = Audit.from_predictions(
        COLUMNS["y_true"],
        COLUMNS["y_pred"],
        sensitive_features=COLUMNS["sensitive_features"],
        sample_weight=weights,
    )
    gaps = audit.compare(COLUMNS["y_true"]).gaps
    rows = weights > 0
    of_rows = Audit.from_predictions(
        COLUMNS["y_true"][rows],
        COLUMNS["y_pred"][rows],
        sensitive_features=COLUMNS["sensitive_features"][rows],
    )
    pd.testing.assert_frame_equal(gaps, of_rows.compare(COLUMNS["y_true"][rows]).gaps)
