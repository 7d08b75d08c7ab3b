"""Graphs and kernels on which fair spectral clusterings are compared."""

from functools import cache
from typing import NamedTuple

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from benchmarks.data import fetch_adult, fetch_four_area, fetch_lastfm_asia, fetch_thyroid
from benchmarks.datasets import load_benchmark, make_rand_laplace
from skfair.cluster import RBFAffinity
from skfair.datasets import make_fair_sbm

LARGEST_STORED = 12_000
"""Largest number of rows of a kernel that is stored; its array takes 1.2 GB."""


class Graph(NamedTuple):
    """An affinity with the groups of its nodes."""

    name: str
    affinity: object  # array, CSR or `RBFAffinity`, (n_nodes, n_nodes), float64
    codes: np.ndarray  # (n_nodes,) group of each node

    @property
    def n_nodes(self):
        return self.affinity.shape[0]


def dense_sbm(n_nodes=4000):
    """The dense m-SBM, 50 clusters and 5 groups, as an array."""
    adjacency, _, codes = make_fair_sbm(n_nodes, n_clusters=50, n_groups=5, random_state=0)
    return Graph("m-SBM", adjacency.toarray(), codes)


def sparse_sbm(n_nodes, n_clusters=20, probabilities=None):
    """A stochastic block model of average degree 20, with two groups.

    The default probabilities are those of the m-SBM, scaled to the degree.
    """
    settings = {} if probabilities is None else {"probabilities": probabilities}
    adjacency, _, codes = make_fair_sbm(
        n_nodes, n_clusters=n_clusters, average_degree=20, random_state=0, **settings
    )
    return Graph(f"SBM n={n_nodes}", adjacency, codes)


def rand_laplace(n_nodes, group_shares=(0.7, 0.3)):
    """RandLaplace: a random weighted graph without clusters."""
    adjacency, codes = make_rand_laplace(n_nodes, group_shares=group_shares, random_state=0)
    return Graph(f"RandLaplace h={len(group_shares)}", adjacency, codes)


class Rows(NamedTuple):
    """Standardised rows with their groups, and the width of their kernel."""

    X: np.ndarray  # (n_rows, n_features)
    codes: np.ndarray  # (n_rows,) group of each row
    gamma: float


def adult_rows(n_rows=None, sensitive="marital-status"):
    """Adult's numeric columns, gamma 1/d; the groups are the seven marital states, or the sexes."""
    bunch = fetch_adult(sensitive=sensitive)
    return _rows(bunch.data.select_dtypes("number"), bunch.sensitive_features, 1.0, n_rows)


def adult_kernel(n_nodes=4000):
    """The kernel of `adult_rows`."""
    return _kernel("Adult RBF", adult_rows(n_nodes))


def coded_adult_rows(n_rows=None):
    """Adult in twelve columns, gamma 1/d; the groups are the seven marital states.

    That is an inference: these are the fourteen columns without the groups, and without the names
    of the levels of education, which are in education-num. Categories are numbered in the order of
    their names, and a missing value is a category.
    """
    bunch = fetch_adult(sensitive="marital-status")
    columns = bunch.data.drop(columns=["marital-status", "education"])
    categories = columns.select_dtypes("category").apply(lambda column: column.cat.codes)
    return _rows(columns.assign(**categories), bunch.sensitive_features, 1.0, n_rows)


def coded_adult_kernel(n_nodes=4000):
    """The kernel of `coded_adult_rows`."""
    return _kernel("Adult RBF", coded_adult_rows(n_nodes))


@cache
def thyroid_kernel(n_nodes=None):
    """Thyroid, gamma .01/d; the groups are the three classes."""
    patients = fetch_thyroid()
    rows = _rows(patients.data, patients.sensitive_features, 0.01, n_nodes)
    return _kernel("Thyroid RBF", rows)


def four_area_rows(n_rows=None):
    """Four areas, gamma 1/d; the groups are the areas."""
    researchers = fetch_four_area()
    return _rows(researchers.data, researchers.sensitive_features, 1.0, n_rows)


def four_area_kernel(n_nodes=4000):
    """The kernel of `four_area_rows`."""
    return _kernel("4area RBF", four_area_rows(n_nodes))


def lastfm():
    """LastFM Asia, users in six countries."""
    return _network("LastFM", fetch_lastfm_asia())


def facebook_net():
    """FacebookNet, the pupils of a school by gender."""
    return _network("FacebookNet", load_benchmark("facebook_net"))


def _network(name, graph):
    return Graph(name, graph.adjacency, graph.sensitive_features.cat.codes.to_numpy())


def _rows(data, groups, width, n_rows):
    """A random sample of `n_rows` rows, or all rows, with gamma = width / d."""
    X = data.to_numpy(np.float64)
    codes = groups.cat.codes.to_numpy()
    if n_rows is not None:
        drawn = np.random.RandomState(0).choice(len(X), min(n_rows, len(X)), replace=False)
        X = X[drawn]
        codes = codes[drawn]
    return Rows(scale(X), codes, width / X.shape[1])


def _kernel(name, rows):
    """The kernel of rows: an array up to `LARGEST_STORED` rows, else computed in tiles."""
    if len(rows.X) > LARGEST_STORED:
        return Graph(name, RBFAffinity(rows.X, rows.gamma), rows.codes)
    return Graph(name, rbf_kernel(rows.X, gamma=rows.gamma), rows.codes)
