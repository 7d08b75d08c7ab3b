"""Estimators around any model take every kind of column that the model takes."""

import importlib

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier

from skfair.classification import ConstrainedClassifierCV, PartialParityPostprocessor

N = 900
RNG = np.random.default_rng(0)
GROUPS = RNG.integers(2, size=N)
NUMBERS = RNG.normal(size=(N, 2)) + 0.7 * GROUPS[:, np.newaxis]
Y = (NUMBERS.sum(axis=1) + RNG.normal(size=N) > 0.7).astype(int)
LEVELS = np.clip(np.round(NUMBERS[:, 0]), -1, 1).astype(int)
NAMES = np.array(["low", "middle", "high"])[LEVELS + 1]
IS_MISSING = RNG.random(N) < 0.05
MANY = np.array([f"town {i}" for i in range(600)])[RNG.permutation(np.arange(N) % 600)]
SENTENCES = [f"a {name} house, number {i}" for i, name in enumerate(NAMES)]

COLUMNS = {
    "str": pd.Series(NAMES, dtype="str"),
    "string": pd.Series(NAMES, dtype="string"),
    "object": pd.Series(NAMES, dtype=object),
    "category": pd.Series(pd.Categorical(NAMES)),
    "category with NA": pd.Series(pd.Categorical(NAMES)).mask(IS_MISSING),
    "category of 600": pd.Series(pd.Categorical(MANY)),
    "category of numbers": pd.Series(pd.Categorical(LEVELS)),
    "text": pd.Series(SENTENCES, dtype="str"),
    "Int64 with NA": pd.Series(LEVELS, dtype="Int64").mask(IS_MISSING),
    "boolean with NA": pd.Series(LEVELS > 0, dtype="boolean").mask(IS_MISSING),
    "infinite": pd.Series(np.where(IS_MISSING, np.inf, NUMBERS[:, 1])),
}


def make_catboost(column):
    name = "text_features" if column == "text" else "cat_features"
    is_text = COLUMNS[column].dtype.kind not in "biuf"
    # A tuple: clone refuses a list, which CatBoost copies.
    settings = {name: ("column",)} if is_text else {}
    settings |= {"iterations": 10, "verbose": False, "thread_count": 1}
    module = importlib.import_module("catboost")
    return module.CatBoostClassifier(**settings, allow_writing_files=False)


def make_lightgbm(column):
    module = importlib.import_module("lightgbm")
    return module.LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1)


def make_xgboost(column):
    module = importlib.import_module("xgboost")
    return module.XGBClassifier(n_estimators=10, n_jobs=1, enable_categorical=True)


def make_sklearn(column):
    return HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype")


TEXT = {"str", "string", "object", "text"}
REFUSED = {
    make_catboost: {"category with NA", "boolean with NA"},
    make_lightgbm: TEXT,
    make_xgboost: TEXT | {"infinite"},
    make_sklearn: TEXT | {"category of 600"},
}
"""Kinds of columns that a model does not take by itself."""

WRAPPERS = {
    "default": lambda model: ConstrainedClassifierCV(model, cv=2, tolerance=0.15),
    "guaranteed": lambda model: ConstrainedClassifierCV(
        model, cv=2, tolerance=0.3, confidence_level=0.5
    ),
    "known": lambda model: ConstrainedClassifierCV(
        model, cv=2, tolerance=0.03, group_estimator="sensitive_features"
    ),
    "ranks": lambda model: PartialParityPostprocessor(model, cv=2),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("make_model", REFUSED)
def test_a_wrapper_takes_the_columns_that_its_model_takes(make_model, column):
    pytest.importorskip(make_model.__name__.removeprefix("make_"))
    X = pd.DataFrame({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1], "column": COLUMNS[column]})
    model = make_model(column)
    if column in REFUSED[make_model]:
        with pytest.raises(Exception):  # noqa: B017, PT011, each package has its own
            clone(model).fit(X, Y)
        return
    clone(model).fit(X, Y)
    for make in WRAPPERS.values():
        fair = make(model).fit(X, Y, sensitive_features=GROUPS)
        decisions = fair.predict(X, sensitive_features=GROUPS)
        assert np.mean(decisions == Y) > 0.55
        np.testing.assert_array_equal(
            fair.predict(X[:5], sensitive_features=GROUPS[:5]), decisions[:5]
        )
