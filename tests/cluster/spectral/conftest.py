"""Data of the tests of fair spectral clustering."""

import numpy as np
import pytest

from skfair.datasets import make_fair_blobs


@pytest.fixture(scope="module")
def blobs():
    """Three blobs with a mix of two groups each; every cut that follows the blobs is unfair."""
    X, _, groups = make_fair_blobs(120, centers=3, group_separation=0.7, random_state=0)
    return X, np.array(["a", "b"])[groups]
