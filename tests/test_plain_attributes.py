"""What a fit stores is plain: a record of a model, such as one of MLflow, takes it as it is."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.losses import SquaredLoss
from tests.test_common import FITTED
from tests.test_refusals import GROUPS, LABELS, X, list_fits

FITS = {name: (call, columns) for name, call, columns in list_fits()}
SCALARS = (type(None), bool, int, float, str)
"""Types of single values: Python's own, and not their subclasses of numpy."""


def fitted_attributes(model):
    """Public fitted attributes by name, properties included."""
    names = {*vars(model), *dir(type(model))}
    names = sorted(name for name in names if name[0] != "_" and name[-1] == "_")
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def is_plain(value):
    """Whether json takes a value, or it is what scikit-learn's estimators store."""
    if isinstance(value, (BaseEstimator, SquaredLoss, pd.DataFrame)):
        return True
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufSU"
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    return type(value) in SCALARS and value == value  # which nan is not


def check_plain(model):
    attributes = fitted_attributes(model)
    assert [name for name, value in attributes.items() if not is_plain(value)] == []
    records = [attributes[name] for name in ("groups_", "tolerances_") if name in attributes]
    records += [one.to_dict() for one in attributes.values() if isinstance(one, pd.DataFrame)]
    assert json.loads(json.dumps(records)) is not None


def test_values_of_numpy_and_nan_are_not_plain():
    values = [np.float64(1.0), np.int64(1), np.bool_(True), float("nan"), [np.int64(1)]]
    assert not any(map(is_plain, [*values, np.array([None]), {1}]))


@pytest.mark.covering(1)
@pytest.mark.parametrize("has_groups", [True, False])
@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore")
def test_attributes_are_plain(name, has_groups):
    fit, columns = FITS[name]
    if not has_groups and name in ("ConstrainedRankerCV", "CorrelationRemover"):
        pytest.skip("needs groups")
    check_plain(fit(**columns if has_groups else columns | {"sensitive_features": None}))


def test_all_estimators_are_fitted():
    assert {one.__name__ for one in FITTED} - FITS.keys() <= {
        *("ScoreColumn", "ConstrainedTorchClassifier")
    }


@pytest.mark.filterwarnings("ignore")
def test_attributes_of_a_guarantee_are_plain():
    model = ConstrainedERMClassifier(tolerance=0.3, confidence_level=0.8)
    model.fit(X, LABELS, sensitive_features=GROUPS)
    check_plain(model)
    assert type(model.guarantee_probability_) is float
    assert type(model.guaranteed_tolerances_[0]) is float
    assert model.set_params(confidence_level=None).fit(X, LABELS).guarantee_probability_ is None


@pytest.mark.parametrize("label", ["no", True])
def test_the_positive_class_is_a_label_of_python(label):
    y = np.where(LABELS, "yes", "no") if label == "no" else LABELS.astype(bool)
    model = ConstrainedERMClassifier("demographic_parity", pos_label=label)
    model.fit(X, y, sensitive_features=GROUPS)
    assert type(model.pos_label_) is type(label) and model.pos_label_ == label


def test_attributes_of_several_classes_are_plain():
    y = LABELS + (X[:, 1] > 0.5)
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.5, cv=3)
    check_plain(model.fit(X, y, sensitive_features=GROUPS))
    assert model.refused_at_any_score_ is None and model.pos_label_ is None
