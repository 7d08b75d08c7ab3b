import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from skfair._utils.copies import refuse_training_data

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
