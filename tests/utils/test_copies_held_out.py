import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from skfair._utils.copies import count_sketched_rows, refuse_training_data, sketch_rows
from skfair.audit import Audit
from skfair.classification import ConstrainedERMClassifier

RNG = np.random.default_rng(0)
TRAINING_ROWS = RNG.integers(0, 1000, size=(200, 4))
REAL = RNG.normal(size=(200, 3))
WORDS = RNG.choice(["x", "y"], size=200)
MIXED = pd.DataFrame({"number": REAL[:, 0], "word": WORDS})

SAME = {
    "int64 and float64": (TRAINING_ROWS, TRAINING_ROWS.astype(float)),
    "int32 and int64": (TRAINING_ROWS.astype(np.int32), TRAINING_ROWS),
    "lists of ints and float32": (TRAINING_ROWS.tolist(), TRAINING_ROWS.astype(np.float32)),
    "nullable integers": (pd.DataFrame(TRAINING_ROWS).astype("Int64"), TRAINING_ROWS),
    "objects": (TRAINING_ROWS.astype(object), TRAINING_ROWS),
    "booleans": (TRAINING_ROWS[:, :1] > 500, (TRAINING_ROWS[:, :1] > 500).astype(float)),
    "float32 and float64": (REAL.astype(np.float32), REAL),
    "float64 and float16": (REAL, REAL.astype(np.float16)),
    "float64 that was rounded to float32": (REAL.astype(np.float32).astype(float), REAL),
    "missing values": (np.where(REAL > 1, np.nan, REAL), np.where(REAL > 1, np.nan, REAL)),
    "signs of 0": (np.zeros((3, 2)), -np.zeros((3, 2))),
    "sparse": (sparse.csr_array(TRAINING_ROWS.astype(float)), TRAINING_ROWS),
    "columns in another order": (pd.DataFrame(REAL), pd.DataFrame(REAL)[[2, 0, 1]]),
    "mixed dtypes": (MIXED, MIXED.astype({"number": np.float32, "word": "category"})),
    "lists of mixed rows": (MIXED.to_numpy().tolist(), MIXED),
    "polars": (pl.DataFrame({"number": REAL[:, 0], "word": WORDS}), MIXED),
}


@pytest.mark.parametrize("name", SAME)
def test_rows_of_the_fit_are_recognised_for_any_dtype(name):
    for X, X_fit in (SAME[name], SAME[name][::-1]):
        with pytest.raises(ValueError, match="rows of X are in X_fit"):
            refuse_training_data(X, X_fit)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_other_rows_are_no_rows_of_the_fit(dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refuse_training_data(REAL, RNG.normal(size=(200, 3)).astype(dtype))
        refuse_training_data(MIXED, MIXED.assign(word="z"))


def test_other_columns_are_refused():
    with pytest.raises(ValueError, match="same columns, but they have 3 and 2"):
        refuse_training_data(REAL, REAL[:, :2])


def fit_rows(rows):
    """A classifier of four numbers, and its training data as an array."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4))
    y = (X.sum(axis=1) + rng.normal(size=rows) > 0).astype(int)
    groups = rng.integers(2, size=rows)
    model = ConstrainedERMClassifier(tolerance=0.5).fit(X, y, sensitive_features=groups)
    return model, X, groups


CONTAINERS = {
    "array": lambda X: X,
    "single precision": lambda X: X.astype(np.float32),
    "frame": pd.DataFrame,
    "other order": lambda X: X[::-1],
    "a part": lambda X: X[100:900],
    "a few": lambda X: X[:80],
}


@pytest.mark.parametrize("rows", [150, 2000])
@pytest.mark.parametrize("name", CONTAINERS)
def test_an_audit_of_training_rows_says_so(name, rows):
    model, X, _ = fit_rows(rows)
    X = CONTAINERS[name](X)
    with pytest.warns(UserWarning, match="X looks like the training data of the model"):
        Audit.from_estimator(model, X, sensitive_features=np.arange(len(X)) % 2)


def test_an_audit_of_other_rows_says_nothing_of_training():
    model, X, groups = fit_rows(600)
    rng = np.random.default_rng(1)
    for others in (rng.normal(size=(600, 4)), np.vstack([X[:200], rng.normal(size=(400, 4))])):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Audit.from_estimator(model, others, sensitive_features=groups)
    # Rows of few distinct values are equal by chance.
    assert sketch_rows(rng.integers(3, size=(500, 3))) is None
    assert len(model._training_rows) == 256
    assert len(pickle.dumps(model)) < len(pickle.dumps(model._training_rows)) + 4000


def test_rows_of_text_and_numbers_are_known_again():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=400), "b": rng.choice([*"xyz"], 400)})
    sketch = sketch_rows(table)
    assert count_sketched_rows(table.to_numpy(dtype=object), sketch)[0] == 256
    changed = table.assign(b=table["b"] + "'")
    assert count_sketched_rows(changed, sketch)[0] == 0
