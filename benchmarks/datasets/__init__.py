"""Data sets on which papers compare methods, by name. The package itself has those of users."""

from collections.abc import Callable
from typing import Any

from benchmarks.datasets.adult import fetch_a9a
from benchmarks.datasets.communities import communities_crime_groups, fetch_communities_crime
from benchmarks.datasets.graphs import fetch_facebook_net, fetch_lastfm_asia, make_rand_laplace
from benchmarks.datasets.points import (
    fetch_ds577,
    fetch_four_area,
    fetch_thyroid,
    make_elliptical,
    make_fair_synthetic,
)
from benchmarks.datasets.search_results import fetch_mslr
from skfair._utils.checks import check_choice

__all__ = ["BENCHMARKS", "communities_crime_groups", "load_benchmark", "make_rand_laplace"]

BENCHMARKS: dict[str, Callable] = {
    "a9a": fetch_a9a,
    "communities_crime": fetch_communities_crime,
    "ds577": fetch_ds577,
    "elliptical": make_elliptical,
    "facebook_net": fetch_facebook_net,
    "fair_synthetic": make_fair_synthetic,
    "four_area": fetch_four_area,
    "lastfm_asia": fetch_lastfm_asia,
    "mslr": fetch_mslr,
    "thyroid": fetch_thyroid,
}


def load_benchmark(name: str, **options: Any) -> Any:
    """Load a data set on which papers compare methods.

    Data for use beyond these comparisons have functions of their own, such as
    :func:`~skfair.datasets.fetch_adult`.

    ===================  ==============================================  =========================
    name                 data                                            options
    ===================  ==============================================  =========================
    "a9a"                Adult as 123 columns of 0 and 1                 subset, sensitive,
                                                                         drop_sensitive
    "communities_crime"  communities of the USA and their crime rates    threshold, sensitive,
                                                                         drop_sensitive, missing
    "ds577"              577 points in three clusters of the plane
    "elliptical"         generated points in two elongated clusters      n_samples, random_state
    "facebook_net"       friendships of a French high school             subset
    "fair_synthetic"     400 generated points, two groups                variant, random_state
    "four_area"          researchers of four areas
    "lastfm_asia"        users of a music service and their links        subset
    "mslr"               search results of MSLR-WEB10K, which the user   subset, fold, low_quality,
                         downloads                                       n_queries
    "thyroid"            patients with three diagnoses                   sensitive, drop_sensitive
    ===================  ==============================================  =========================

    Parameters
    ----------
    name : str
        One of the table.
    **options
        Those of the table, by keyword. All data that are not generated take ``data_home`` and,
        but for "mslr", ``download_if_missing``; tables also ``as_frame`` and ``return_X_y``.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch` or tuple
        A bunch with ``data`` or ``adjacency``, ``target``, ``sensitive_features`` and ``DESCR``,
        or ``(data, target)`` with ``return_X_y=True``. Generated points are a tuple
        ``(X, y, sensitive_features)``.

    Raises
    ------
    ValueError
        If there is no data set of this name, or an option has no such value.
    TypeError
        If the data set has no such option.
    OSError
        If a file is neither on disk nor available from the network, or its digest is wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.datasets import load_benchmark
    >>> X, y, groups = load_benchmark("fair_synthetic", variant="unequal_ds1")
    >>> np.bincount(y).tolist(), np.bincount(groups).tolist()
    ([150, 150, 50, 50], [300, 100])
    """
    check_choice("name", name, tuple(BENCHMARKS))
    return BENCHMARKS[name](**options)
