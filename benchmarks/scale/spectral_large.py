"""Fair spectral clustering of many people: time and peak memory, each case in its own process."""

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from benchmarks import ROOT
from benchmarks.papers.dc_admm.printed_numbers import DC_ADMM, S_FSC
from benchmarks.papers.dc_admm.spectral_tables import DEFAULT, FAST, embedding_of, quality
from benchmarks.peers.embedding import TUNED, tuned_arpack
from benchmarks.spectral_cases import Graph, adult_kernel, adult_rows, dense_sbm, sparse_sbm
from benchmarks.tables import Check, Report
from benchmarks.timing import in_turns, median_seconds, timed
from skfair.cluster import FairSpectralClustering, RBFAffinity, fair_embedding
from skfair.cluster.spectral._normalized_affinity import NormalizedAffinity
from skfair.datasets import make_fair_blobs
from skfair.groups import check_groups
from skfair.metrics import normalized_cut

N_CLUSTERS = 20  # of the random graphs
SEPARATED = (0.9, 0.05, 0.5, 0.01)  # link probabilities that let sparse graphs show their clusters
N_LANDMARKS = 500
N_COMPARED = 5000  # people of those who go through landmarks, compared with one another
TILED = 2**26  # bytes that the kernel of Adult may take: far too few to store it
DENSE_BOUNDS = {TUNED: 2.5, S_FSC: 4.0, DC_ADMM: 10.0}


def spectral_large(budget):
    """Fits and embeddings of up to a million people, and dense affinities of 10,000, once each.

    The random graphs have degree 20 on average and 20 clusters. In the separated ones the clusters
    can be found; in the others, with the link probabilities of the papers' dense graphs, the degree
    is too small for that, and all eigenvalues but the first form the edge of a continuous bulk: the
    hardest case for an eigen-solver, which takes the default minutes at a million people. Blobs and
    moons go through landmarks; of 5,000 of their people the cut is set beside that of a fit that
    compares these with one another. --quick takes a tenth of the people, and checks nothing.
    """
    records, checks = [], []
    for name, case in CASES.items():
        record = _in_a_process(name, round(case.n_people * budget.share))
        records.append(record)
        checks += [
            Check(f"{key}, {record['what']}, {record['problem']}", [record[key]], "<=", bound)
            for key, bound in case.bounds.items()
        ]
    for graph, k in _dense(round(10_000 * max(budget.share, 0.2))):
        rows = compare_dense(graph, k)
        records += rows
        checks += [
            Check(f"{row['what']} / default, {graph.name}", [row["ratio"]], ">=", bound)
            for row in rows
            if (bound := DENSE_BOUNDS.get(row["what"]))
        ]
    title = "Many people (peak GB: of the process; GB before: when the data are made)"
    return Report(title, records, checks if budget.share == 1 else [])


# Each case in a process of its own ----------------------------------------------------


class Case(NamedTuple):
    """Something large to do, and what it may cost."""

    run: Callable  # of a number of people, returns a record
    n_people: int
    bounds: dict  # of columns of the record


def _in_a_process(name, n_people):
    """The record of a case."""
    command = [sys.executable, "-m", "benchmarks.scale.spectral_large", name, str(n_people)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def peak_gigabytes():
    """Most memory that this process has had at a time."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def embed_separated(n_people):
    """The embedding of a sparse graph with clusters."""
    return _embed(sparse_sbm(n_people, N_CLUSTERS, SEPARATED), N_CLUSTERS, "separated SBM")


def embed_bulk(n_people):
    """The embedding of a sparse graph whose clusters no eigenvector shows."""
    return _embed(sparse_sbm(n_people, N_CLUSTERS), N_CLUSTERS, "SBM")


def embed_adult(n_people):
    """The embedding of Adult's training rows by the seven marital states, in tiles."""
    rows = adult_rows(n_people)
    graph = Graph("Adult", RBFAffinity(rows.X, rows.gamma), rows.codes)
    return _embed(graph, 25, "Adult RBF in tiles")


def _embed(graph, n_components, name):
    before = peak_gigabytes()
    run = timed(
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


def fit_separated(n_people):
    """A whole fit of a sparse graph with clusters."""
    return _fit_graph(sparse_sbm(n_people, N_CLUSTERS, SEPARATED), "separated SBM")


def fit_bulk(n_people):
    """A whole fit of a sparse graph whose clusters no eigenvector shows."""
    return _fit_graph(sparse_sbm(n_people, N_CLUSTERS), "SBM")


def _fit_graph(graph, name):
    model = FairSpectralClustering(N_CLUSTERS, affinity="precomputed", random_state=0)
    return _fit(model, graph.affinity, graph.codes, name)


def fit_adult(n_people):
    """A whole fit of Adult's training rows by sex, in tiles.

    The rarest marital state has 23 members, too few for 25 clusters.
    """
    rows = adult_rows(n_people, sensitive="sex")
    model = FairSpectralClustering(25, gamma=rows.gamma, memory_limit=TILED, random_state=0)
    return _fit(model, rows.X, rows.codes, "Adult RBF in tiles")


def _fit(model, X, codes, name):
    small = sparse_sbm(2000)
    FairSpectralClustering(5, affinity="precomputed").fit(  # loads the kernels
        small.affinity, sensitive_features=small.codes
    )
    before = peak_gigabytes()
    run = timed(lambda: model.fit(X, sensitive_features=codes))
    return {
        "problem": name,
        "n": X.shape[0],
        "k": model.n_clusters,
        "what": "whole fit",
        "CPU s": run.seconds,
        "GB before": before,
        "peak GB": peak_gigabytes(),
        "|C'H|": model.embedding_violation_,
        "status": model.status_,
        "relative balance": model.relative_balance_,
        "cut": model.objective_,
    }


def fit_blobs(n_people):
    """A whole fit of blobs through landmarks, by a kernel."""
    X, _, groups = make_fair_blobs(
        n_people, n_features=10, centers=10, cluster_std=2.0, random_state=1
    )
    return _fit_through_landmarks(X, groups, "blobs", n_clusters=10, gamma=0.05)


def fit_moons(n_people):
    """A whole fit of two moons through landmarks, by nearest neighbours."""
    X, moon = make_moons(n_people, noise=0.05, random_state=1)
    groups = np.random.default_rng(1).choice(2, n_people, p=(0.6, 0.4))
    return _fit_through_landmarks(
        X, groups, "moons", moon, n_clusters=2, affinity="nearest_neighbors"
    )


def _fit_through_landmarks(X, groups, name, truth=None, **settings):
    """The record of a fit, with cuts among some of the people, and whether it is what is true."""
    model = FairSpectralClustering(n_landmarks=N_LANDMARKS, random_state=0, **settings)
    clone(model).fit(X[:3000], sensitive_features=groups[:3000])  # loads the kernels
    record = _fit(model, X, groups, name) | {"what": f"whole fit, {N_LANDMARKS} landmarks"}
    some = np.random.default_rng(0).choice(len(X), N_COMPARED, replace=False)
    exact = clone(model).set_params(n_landmarks=None)
    run = timed(lambda: exact.fit(X[some], sensitive_features=groups[some]))
    own = normalized_cut(model.labels_[some], exact.affinity_matrix_)
    found = {"CPU s of some": run.seconds, "cut of some": own, "exact cut": exact.objective_}
    if truth is None:
        return record | found | {"cut / exact": own / exact.objective_}
    return record | found | {"1 - Rand index": 1 - adjusted_rand_score(truth, model.labels_)}


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


def _dense(n_people):
    yield dense_sbm(n_people), 50
    yield adult_kernel(n_people), 25


def compare_dense(graph, n_components):
    """A record of each method: its time from the affinity on, and balances of its clusters.

    The default and ARPACK are run in turns, and medians count; the slow methods run once.
    """
    groups = check_groups(graph.codes, graph.n_nodes)

    def arpack(seed):
        operator = NormalizedAffinity(graph.affinity)
        return tuned_arpack(operator, groups, n_components, np.random.RandomState(seed))

    def default(_):
        return embedding_of(graph, n_components, DEFAULT)

    runs = in_turns({TUNED: arpack, DEFAULT: default}, 3)
    seconds = {method: median_seconds(of_method) for method, of_method in runs.items()}
    reached = {}
    for method in FAST:
        run = timed(embedding_of, graph, n_components, method)
        seconds.setdefault(method, run.seconds)
        reached[method] = quality(graph, run.result)
    return [
        {
            "problem": graph.name,
            "n": graph.n_nodes,
            "k": n_components,
            "what": method,
            "CPU s": spent,
            "ratio": spent / seconds[DEFAULT],
            **reached.get(method, {}),
        }
        for method, spent in seconds.items()
    ]


if __name__ == "__main__":
    print(json.dumps(CASES[sys.argv[1]].run(int(sys.argv[2]))))
