"""Fair spectral clustering with pairs that must be, or must not be, in one cluster."""

from functools import partial

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import median_seconds, run_alternately
from skfair.cluster import FairSpectralClustering
from skfair.datasets import make_fair_sbm

N_NODES, N_CLUSTERS, N_PAIRS = 2000, 4, 100
DEGREES = (14, 20)  # mean degrees; the lower, the harder the communities are to find
WITH, WITHOUT = "with pairs", "without"


@smallest(N_NODES=200, DEGREES=(20,))
def link_pairs(budget):
    """Fair spectral clustering with 100 pairs drawn from the communities, and without: agreement.

    The agreement with the communities is the adjusted Rand index. Means over graphs.
    """
    records, checks = [], []
    for degree in DEGREES:
        graphs = [_draw(degree, seed) for seed in range(budget.n_runs)]
        contenders = {method: partial(_fit, graphs, method) for method in (WITHOUT, WITH)}
        runs = run_alternately(contenders, len(graphs))
        labels = {method: [run.result for run in of_method] for method, of_method in runs.items()}
        rows = {
            method: {
                "mean degree": degree,
                "method": method,
                "pairs kept": np.mean([*map(_share_satisfied, graphs, labels[method])]),
                "agreement": np.mean([*map(_agreement, graphs, labels[method])]),
                "CPU s": median_seconds(runs[method]),
            }
            for method in runs
        }
        records += rows.values()
        gain = rows[WITH]["agreement"] - rows[WITHOUT]["agreement"]
        ratio = rows[WITH]["CPU s"] / rows[WITHOUT]["CPU s"]
        checks += [
            Check(f"pairs kept, degree {degree}", [rows[WITH]["pairs kept"]], ">=", 0.99),
            Check(f"gain in agreement, degree {degree}", [gain], ">=", 0.0),
            Check(f"time / without, degree {degree}", [ratio], "<=", 1.5),
        ]
    title = f"{N_NODES:,} nodes, {N_CLUSTERS} communities, 2 groups, {N_PAIRS} pairs"
    return Report(title, records, checks)


def _draw(degree, seed):
    """A graph, its communities and groups, and pairs of one and of two communities."""
    graph, communities, groups = make_fair_sbm(
        N_NODES, n_clusters=N_CLUSTERS, n_groups=2, average_degree=degree, random_state=seed
    )
    pairs = np.random.default_rng(seed).integers(N_NODES, size=(2 * N_PAIRS, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]][:N_PAIRS]
    same = communities[pairs[:, 0]] == communities[pairs[:, 1]]
    return graph, communities, groups, pairs[same], pairs[~same]


def _fit(graphs, method, seed):
    """Labels of a fit."""
    graph, _, groups, must_link, cannot_link = graphs[seed]
    model = FairSpectralClustering(N_CLUSTERS, affinity="precomputed", random_state=0)
    pairs = {"must_link": must_link, "cannot_link": cannot_link} if method == WITH else {}
    return model.fit(graph, sensitive_features=groups, **pairs).labels_


def _agreement(graph, labels):
    return adjusted_rand_score(graph[1], labels)


def _share_satisfied(graph, labels):
    """Share of the pairs that labels keep."""
    together, apart = (labels[pairs[:, 0]] == labels[pairs[:, 1]] for pairs in graph[3:])
    return np.mean(np.concatenate([together, ~apart]))
