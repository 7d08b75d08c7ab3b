"""Fair spectral clustering of many samples: time and peak memory, each case in its own process."""

import json
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from benchmarks.papers.dc_admm.printed_numbers import DC_ADMM, S_FSC
from benchmarks.papers.dc_admm.spectral_tables import (
    DEFAULT,
    FAST,
    LAGGED,
    embedding_of,
    quality,
)
from benchmarks.peers.embedding import TUNED, tuned_arpack
from benchmarks.sizes import smallest
from benchmarks.spectral_cases import Graph, adult_kernel, adult_rows, dense_sbm, sparse_sbm
from benchmarks.subprocesses import peak_gigabytes, run_module
from benchmarks.tables import Check, Report
from benchmarks.timing import median_seconds, run_alternately, time_call
from skfair._groups import check_groups
from skfair.cluster import FairSpectralClustering, RBFAffinity, fair_embedding
from skfair.cluster.spectral._eigen_solvers import NormalizedAffinity
from skfair.datasets import make_fair_blobs
from skfair.metrics import normalized_cut

N_CLUSTERS = 20  # of the random graphs
SEPARATED = (0.9, 0.05, 0.5, 0.01)  # link probabilities of graphs with detectable clusters
N_LANDMARKS = 500
N_DENSE = 10_000  # samples of the dense affinities
N_COMPARED = 5000  # samples of a landmark fit that are also clustered exactly
TILED = 64  # working memory in MiB, far too small to store the kernel of Adult
DENSE_BOUNDS = {TUNED: 2.5, S_FSC: 4.0, DC_ADMM: 10.0, LAGGED: 10.0}


# Each case in a process of its own ----------------------------------------------------


class Case(NamedTuple):
    """A large computation and the bounds of its cost."""

    run: Callable  # of a number of samples, returns a record
    n_samples: int
    bounds: dict  # of columns of the record


def embed_separated(n_samples):
    """Embed a sparse graph with detectable clusters."""
    return _embed(sparse_sbm(n_samples, N_CLUSTERS, SEPARATED), N_CLUSTERS, "separated SBM")


def embed_bulk(n_samples):
    """Embed a sparse graph whose clusters cannot be detected."""
    return _embed(sparse_sbm(n_samples, N_CLUSTERS), N_CLUSTERS, "SBM")


def embed_adult(n_samples):
    """Embed Adult's training rows in tiles; the groups are the seven marital states."""
    rows = adult_rows(n_samples)
    graph = Graph("Adult", RBFAffinity(rows.X, rows.gamma), rows.codes)
    return _embed(graph, 25, "Adult RBF in tiles")


def _embed(graph, n_components, name):
    before = peak_gigabytes()
    run = time_call(
        lambda: fair_embedding(
            graph.affinity,
            sensitive_features=graph.codes,
            n_components=n_components,
            random_state=0,
        )
    )
    return {
        "problem": name,
        "n": graph.n_nodes,
        "k": n_components,
        "what": "embedding",
        "CPU s": run.seconds,
        "GB before": before,
        "peak GB": peak_gigabytes(),
        "|C'H|": run.result.violation,
        "status": "converged" if run.result.converged else "not converged",
    }


def fit_separated(n_samples):
    """Cluster a sparse graph with detectable clusters."""
    return _fit_graph(sparse_sbm(n_samples, N_CLUSTERS, SEPARATED), "separated SBM")


def fit_bulk(n_samples):
    """Cluster a sparse graph whose clusters cannot be detected."""
    return _fit_graph(sparse_sbm(n_samples, N_CLUSTERS), "SBM")


def _fit_graph(graph, name):
    model = FairSpectralClustering(N_CLUSTERS, affinity="precomputed", random_state=0)
    return _fit(model, graph.affinity, graph.codes, name)


def fit_adult(n_samples):
    """Cluster Adult's training rows in tiles, by sex.

    The smallest marital state has 23 members, too few for 25 clusters.
    """
    rows = adult_rows(n_samples, sensitive="sex")
    model = FairSpectralClustering(25, gamma=rows.gamma, random_state=0)
    with config_context(working_memory=TILED):
        return _fit(model, rows.X, rows.codes, "Adult RBF in tiles")


def _fit(model, X, codes, name):
    small = sparse_sbm(2000)
    FairSpectralClustering(5, affinity="precomputed").fit(  # loads the kernels
        small.affinity, sensitive_features=small.codes
    )
    before = peak_gigabytes()
    run = time_call(lambda: model.fit(X, sensitive_features=codes))
    return {
        "problem": name,
        "n": X.shape[0],
        "k": model.n_clusters,
        "what": "fit",
        "CPU s": run.seconds,
        "GB before": before,
        "peak GB": peak_gigabytes(),
        "|C'H|": model.embedding_violation_,
        "status": model.status_,
        "relative balance": model.relative_balance_,
        "cut": model.objective_,
    }


def fit_blobs(n_samples):
    """Cluster blobs with landmarks and a kernel."""
    X, _, groups = make_fair_blobs(
        n_samples, n_features=10, centers=10, cluster_std=2.0, random_state=1
    )
    return _fit_landmarks(X, groups, "blobs", n_clusters=10, gamma=0.05)


def fit_moons(n_samples):
    """Cluster two moons with landmarks and nearest neighbours."""
    X, moon = make_moons(n_samples, noise=0.05, random_state=1)
    groups = np.random.default_rng(1).choice(2, n_samples, p=(0.6, 0.4))
    return _fit_landmarks(X, groups, "moons", moon, n_clusters=2, affinity="nearest_neighbors")


def _fit_landmarks(X, groups, name, truth=None, **settings):
    """Record of a landmark fit, with its cut of a subsample, or its distance from the truth."""
    model = FairSpectralClustering(n_landmarks=N_LANDMARKS, random_state=0, **settings)
    clone(model).fit(X[:3000], sensitive_features=groups[:3000])  # loads the kernels
    record = _fit(model, X, groups, name) | {"what": f"fit, {N_LANDMARKS} landmarks"}
    rows = np.random.default_rng(0).choice(len(X), N_COMPARED, replace=False)
    exact = clone(model).set_params(n_landmarks=None)
    run = time_call(lambda: exact.fit(X[rows], sensitive_features=groups[rows]))
    cut = normalized_cut(model.labels_[rows], exact.affinity_matrix_)
    record |= {"exact CPU s": run.seconds, "subsample cut": cut, "exact cut": exact.objective_}
    if truth is None:
        return record | {"cut / exact": cut / exact.objective_}
    return record | {"1 - Rand index": 1 - adjusted_rand_score(truth, model.labels_)}


CASES = {
    "fit": Case(fit_separated, 100_000, {"CPU s": 60}),
    "fit-bulk": Case(fit_bulk, 100_000, {"CPU s": 60}),
    "embedding": Case(embed_separated, 1_000_000, {"CPU s": 120, "peak GB": 2.5}),
    "embedding-bulk": Case(embed_bulk, 1_000_000, {"CPU s": 120, "peak GB": 2.5}),
    "adult-embedding": Case(embed_adult, 32_561, {"CPU s": 120, "peak GB": 2.0}),
    "adult-fit": Case(fit_adult, 32_561, {"CPU s": 120, "peak GB": 2.0}),
    "blobs": Case(fit_blobs, 1_000_000, {"CPU s": 120, "peak GB": 1.5, "cut / exact": 1.1}),
    "moons": Case(fit_moons, 1_000_000, {"CPU s": 60, "peak GB": 1.5, "1 - Rand index": 0.01}),
}


# Dense affinities ---------------------------------------------------------------------


def _dense(n_samples):
    yield dense_sbm(n_samples), 50
    yield adult_kernel(n_samples), 25


def compare_dense(graph, n_components):
    """Record of each method: its time after the affinity, and balances of its clusters.

    The default and ARPACK run alternately, three times each, and medians are reported. The slow
    methods run once.
    """
    groups = check_groups(graph.codes, graph.n_nodes)

    def arpack(seed):
        operator = NormalizedAffinity(graph.affinity)
        return tuned_arpack(operator, groups, n_components, np.random.RandomState(seed))

    def default(_):
        return embedding_of(graph, n_components, DEFAULT)

    runs = run_alternately({TUNED: arpack, DEFAULT: default}, 3)
    seconds = {method: median_seconds(of_method) for method, of_method in runs.items()}
    qualities = {}
    for method in FAST:
        run = time_call(embedding_of, graph, n_components, method)
        seconds.setdefault(method, run.seconds)
        qualities[method] = quality(graph, run.result)
    return [
        {
            "problem": graph.name,
            "n": graph.n_nodes,
            "k": n_components,
            "what": method,
            "CPU s": cpu_seconds,
            "ratio": cpu_seconds / seconds[DEFAULT],
            **qualities.get(method, {}),
        }
        for method, cpu_seconds in seconds.items()
    ]


# The benchmark ------------------------------------------------------------------------


@smallest(N_DENSE=1500, CASES={"embedding": CASES["embedding"]})
def spectral_large(budget):
    """Fits and embeddings of up to a million samples, and dense affinities of 10,000, once each.

    The random graphs have average degree 20 and 20 clusters. In the separated graphs the clusters
    can be detected. The others have link probabilities in the ratios of the dense m-SBM. There the
    degree is too small for detection, and all eigenvalues but the first lie at the edge of a
    continuous bulk. This is the hardest case for an eigen-solver: the default takes minutes at a
    million samples. Blobs and moons are fitted with landmarks, and the cut of 5,000 of their
    samples is compared with that of an exact fit to these. --quick takes a tenth of the samples and
    checks nothing.
    """
    records, checks = [], []
    for name, case in CASES.items():
        record = run_module(__name__, name, round(case.n_samples * budget.fraction))
        records.append(record)
        checks += [
            Check(f"{key}, {record['what']}, {record['problem']}", [record[key]], "<=", bound)
            for key, bound in case.bounds.items()
        ]
    for graph, k in _dense(round(N_DENSE * max(budget.fraction, 0.2))):
        rows = compare_dense(graph, k)
        records += rows
        checks += [
            Check(f"{row['what']} / default, {graph.name}", [row["ratio"]], ">=", bound)
            for row in rows
            if (bound := DENSE_BOUNDS.get(row["what"]))
        ]
    title = "Many samples (peak GB: of the process; GB before: before the fit)"
    return Report(title, records, checks if budget.fraction == 1 else [])


if __name__ == "__main__":
    print(json.dumps(CASES[sys.argv[1]].run(int(sys.argv[2]))))
