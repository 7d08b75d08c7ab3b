import numpy as np
import pytest
from scipy import sparse

from skfair.classification import ConstrainedERMClassifier
from skfair.cluster import FairKMeans
from skfair.datasets import open_blocks
from skfair.utils._features import check_squares

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
LARGE = X.copy()
LARGE[5, 1] = -1e160
MESSAGE = r"X holds -1e\+160 in row 5 of column 1\. Divide the column"


@pytest.mark.parametrize(
    "kind", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
)
def test_squares_that_overflow(kind):
    check_squares(kind(X))
    with pytest.raises(ValueError, match=MESSAGE):
        check_squares(kind(LARGE))


def test_float32_is_added_in_float64():
    check_squares(np.full((3, 2), 1e38, dtype=np.float32))
    check_squares(np.empty((0, 2)))


@pytest.mark.parametrize("in_files", [False, True], ids=["memory", "files"])
@pytest.mark.parametrize("estimator", [ConstrainedERMClassifier(tolerance=0.1), FairKMeans(2)])
def test_fits_name_the_value(estimator, in_files, tmp_path):
    columns = np.column_stack((LARGE, np.arange(60) % 2, np.arange(60) // 2 % 2))
    features, y, groups = columns[:, :3], columns[:, 3], columns[:, 4]
    if in_files:
        np.save(tmp_path / "table.npy", columns)
        table = open_blocks(tmp_path / "table.npy")
        features, y, groups = table[[0, 1, 2]], table[3], table[4]
    with pytest.raises(ValueError, match=MESSAGE):
        estimator.fit(features, y, sensitive_features=groups)
