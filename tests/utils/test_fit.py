"""A fit that raises leaves no trace; BLAS has one thread in a fit."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from skfair._utils.fit import restore_on_failure
from skfair.classification import ConstrainedERMClassifier
from skfair.cluster import FairKMeans
from skfair.losses import LOSSES


class Model:
    @restore_on_failure(one_blas_thread=False)
    def fit(self, value, error=None):
        """Set two attributes, and raise between them on request."""
        self.first_ = value
        if error is not None:
            raise error
        self.second_ = value
        return self


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_leaves_the_earlier_fit(error):
    model = Model()
    with pytest.raises(error):
        model.fit(1, error)
    assert vars(model) == {}
    assert model.fit(2) is model
    with pytest.raises(error):
        model.fit(3, error)
    assert vars(model) == {"first_": 2, "second_": 2}


def test_the_decorated_method_has_its_signature():
    assert Model.fit.__doc__.startswith("Set two")
    assert Model.fit.__name__ == "fit"


def blas_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS has no two threads")
        yield


class Counter:
    @restore_on_failure(one_blas_thread=True)
    def fit(self, X):
        """Count the threads of BLAS."""
        self.n_threads_ = blas_threads()
        return self


def test_blas_has_one_thread_in_a_fit_of_any_size(two_threads):
    for X in (np.zeros((3, 1)), [[0.0], [1.0]]):
        assert Counter().fit(X).n_threads_ == {1}
    assert Counter().fit(X=np.zeros((3, 1))).n_threads_ == {1}
    assert blas_threads() == {2}


def test_an_error_in_a_fit_lifts_the_limit(two_threads):
    class Model:
        @restore_on_failure(one_blas_thread=True)
        def fit(self, X):
            raise ValueError("no fit")

    with pytest.raises(ValueError, match="no fit"):
        Model().fit(np.zeros(3))
    assert blas_threads() == {2}


def test_fits_of_this_package_are_limited(two_threads):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    groups = np.arange(60) % 2
    inside = []

    def loss(scores, y):
        inside.append(blas_threads())
        return LOSSES["logistic"]()(scores, y)

    ConstrainedERMClassifier(loss=loss).fit(X, X[:, 0] > 0, sensitive_features=groups)
    assert inside and all(threads == {1} for threads in inside)
    assert FairKMeans(2).fit(X, sensitive_features=groups).labels_.shape == (60,)
