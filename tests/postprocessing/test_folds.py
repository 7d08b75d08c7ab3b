"""Folds of a cross-fit."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from skfair._postprocessing.folds import make_folds

X = np.random.default_rng(0).normal(size=(60, 2))
Y = (X[:, 0] + np.random.default_rng(1).normal(size=60) > 0).astype(int)


def test_folds_have_equal_shares_and_leave_out_samples_without_weight():
    strata = Y.copy()
    strata[:10] = -1
    splits = make_folds(4, X, Y, strata)
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), range(50))
    shares = [Y[10:][test].sum() for _, test in splits]
    assert max(shares) - min(shares) <= 1
    by_splitter = make_folds(KFold(6), X, Y, strata)
    assert [len(test) for _, test in by_splitter] == [10] * 5


def test_folds_may_be_masks():
    first = np.arange(60) % 2 == 0
    (train, test), _ = make_folds([(~first, first), (first, ~first)], X, Y, Y)
    np.testing.assert_array_equal(test, np.flatnonzero(first))
    np.testing.assert_array_equal(train, np.flatnonzero(~first))


@pytest.mark.parametrize("overlap", [slice(None), [-1]], ids=["all", "one"])
def test_training_rows_exclude_test_rows(overlap):
    rows = np.arange(60)
    halves = [(rows[30:], rows[:30]), (np.append(rows[:30], rows[30:][overlap]), rows[30:])]
    n_overlapping = len(rows[30:][overlap])
    with pytest.raises(
        ValueError, match=f"{n_overlapping} of the 30 test rows of fold 1 of cv are among"
    ):
        make_folds(halves, X, Y, Y)
    absent = np.where(rows < 59, Y, -1)  # a row without weight is in no fold
    if n_overlapping == 1:
        assert [len(test) for _, test in make_folds(halves, X, Y, absent)] == [30, 29]
