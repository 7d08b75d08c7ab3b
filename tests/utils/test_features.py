import numpy as np
import pytest
from scipy import sparse

from skfair.classification import ConstrainedERMClassifier
from skfair.cluster import FairKMeans
from skfair.datasets import open_blocks
from skfair.regression import ConstrainedERMRegressor
from skfair.utils._features import check_finite_squares

X = np.random.default_rng(0).normal(size=(60, 3))
LARGE = X.copy()
LARGE[5, 1] = -1e160
OF_X = r"squares of X .* holds -1e\+160 in row 5 of column 1\. Divide it by a constant"
OF_Y = r"squares of y .* holds -1e\+160 in row 5\. Divide it by a constant"
GROUPS = np.arange(60) // 2 % 2


@pytest.mark.parametrize(
    "kind", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
)
def test_squares_that_overflow(kind):
    check_finite_squares(kind(X), "X")
    with pytest.raises(ValueError, match=OF_X):
        check_finite_squares(kind(LARGE), "X")


def test_one_column():
    check_finite_squares(X[:, 1], "y")
    with pytest.raises(ValueError, match=OF_Y):
        check_finite_squares(LARGE[:, 1], "y")


def test_what_is_not_refused():
    check_finite_squares(np.full((3, 2), 1e38, dtype=np.float32), "X")
    check_finite_squares(np.empty((0, 2)), "X")


FITS = {
    "classifier": (ConstrainedERMClassifier(tolerance=0.1), LARGE, np.arange(60) % 2, OF_X),
    "regressor": (ConstrainedERMRegressor("mean_parity"), LARGE, X[:, 0], OF_X),
    "target": (ConstrainedERMRegressor("mean_parity"), X, LARGE[:, 1], OF_Y),
    "clusterer": (FairKMeans(2), LARGE, np.zeros(60), OF_X),
}


@pytest.mark.parametrize("in_files", [False, True], ids=["memory", "files"])
@pytest.mark.parametrize("case", FITS)
def test_fits_name_the_value(case, in_files, tmp_path):
    estimator, features, y, message = FITS[case]
    groups = GROUPS
    if in_files:
        np.save(tmp_path / "table.npy", np.column_stack((features, y, groups)))
        table = open_blocks(tmp_path / "table.npy")
        features, y, groups = table[[0, 1, 2]], table[3], table[4]
    with pytest.raises(ValueError, match=message):
        estimator.fit(features, y, sensitive_features=groups)
