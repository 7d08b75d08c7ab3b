"""The graphs and kernels on which fair spectral clusterings are compared."""

from functools import cache
from typing import NamedTuple

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from skfair.datasets import (
    fetch_adult,
    fetch_facebook_net,
    fetch_lastfm_asia,
    fetch_thyroid,
    make_fair_sbm,
)


class Graph(NamedTuple):
    """An affinity with the groups of its nodes."""

    name: str
    affinity: object  # array or CSR, (n_nodes, n_nodes), float64
    codes: np.ndarray  # (n_nodes,) group of each node

    @property
    def n_nodes(self):
        return self.affinity.shape[0]


def dense_sbm(n_nodes=4000):
    """The dense m-SBM, 50 clusters and 5 groups, as an array."""
    adjacency, _, codes = make_fair_sbm(n_nodes, n_clusters=50, n_groups=5, random_state=0)
    return Graph("m-SBM", adjacency.toarray(), codes)


def sparse_sbm(n_nodes, n_clusters=20):
    """A stochastic block model of average degree 20, with two groups."""
    adjacency, _, codes = make_fair_sbm(
        n_nodes, n_clusters=n_clusters, average_degree=20, random_state=0
    )
    return Graph(f"SBM n={n_nodes}", adjacency, codes)


def adult_kernel(n_nodes=4000):
    """Adult's numeric columns, gamma 1/d; the groups are the seven marital states."""
    people = fetch_adult(sensitive="marital-status")
    drawn = np.random.RandomState(0).choice(len(people.data), n_nodes, replace=False)
    X = people.data.select_dtypes("number").to_numpy(np.float64)[drawn]
    codes = people.sensitive_features.cat.codes.to_numpy()[drawn]
    return Graph("Adult RBF", _kernel(X, 1.0), codes)


@cache
def thyroid_kernel():
    """Thyroid, gamma .01/d; the groups are the three classes."""
    patients = fetch_thyroid()
    X = patients.data.to_numpy(np.float64)
    return Graph("Thyroid RBF", _kernel(X, 0.01), patients.sensitive_features.cat.codes.to_numpy())


def lastfm():
    """LastFM Asia, users in six countries."""
    return _network("LastFM", fetch_lastfm_asia())


def facebook_net():
    """FacebookNet, the pupils of a school by gender."""
    return _network("FacebookNet", fetch_facebook_net())


def _network(name, graph):
    return Graph(name, graph.adjacency, graph.sensitive_features.cat.codes.to_numpy())


def _kernel(X, width):
    return rbf_kernel(scale(X), gamma=width / X.shape[1])
