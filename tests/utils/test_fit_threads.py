"""Contexts in which BLAS has one thread may overlap."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from skfair._utils.fit import single_threaded_blas


def n_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_the_last_context_that_ends_lifts_the_limit():
    with threadpool_limits(2, user_api="blas"):
        if n_threads() != {2}:
            pytest.skip("BLAS has one thread only")
        first, second = single_threaded_blas(), single_threaded_blas()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert n_threads() == {1}
        second.__exit__(None, None, None)
        assert n_threads() == {2}
        with pytest.raises(ZeroDivisionError), single_threaded_blas():
            raise ZeroDivisionError
        assert n_threads() == {2}
