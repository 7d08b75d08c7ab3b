"""Cells of bounded size beside fast k-means whose cells a greedy pass caps."""

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.packages import is_installed, name_versions
from benchmarks.peers import vector_index
from benchmarks.peers.vector_index import make_vectors
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import median_seconds, time_call
from skfair.cluster import FairKMeans

SIZE = 30_000, 96, 300  # numbers of vectors, features and cells
CAP = 1.1  # times the mean size
N_ROUNDS = 25  # of faiss and SuperKMeans
MAX_RUNS = 3

FIRST_SEED = 400
"""First seed of the vectors; none of them was used for any choice."""


@smallest(SIZE=(500, 8, 20), N_ROUNDS=3)
@smallest(vector_index, N_TOPICS=20)
def bounded_cells(budget):
    """Cells of at most 1.1 times the mean size beside faiss and SuperKMeans with a greedy cap.

    A greedy cap takes the vectors in the order of the distance to their nearest centre, and gives
    each the nearest cell that has a place. Costs are sums of squared distances from the means of
    the cells. CPU seconds are medians of runs in turns, on one thread.
    """
    contenders = {"KMeans": _fit_plain}
    if is_installed("faiss"):
        contenders |= {
            "faiss": _fit_faiss,
            "faiss, greedy cap": lambda X, k: _cap(X, *_train_faiss(X, k)),
        }
    if is_installed("superkmeans"):
        contenders |= {
            "SuperKMeans": _fit_superkmeans,
            "SuperKMeans, greedy cap": lambda X, k: _cap(X, *_train_superkmeans(X, k)),
        }
    contenders |= {"FairKMeans, cap": _fit_capped, "FairKMeans, floor to ceil": _fit_equal}
    n_samples, n_features, n_cells = SIZE
    runs = {name: [] for name in contenders}
    figures = {name: [] for name in contenders}
    small = make_vectors(min(n_samples, 4000), n_features, np.random.default_rng(0))
    for fit in contenders.values():
        fit(small, min(n_cells, 60))  # compiles kernels
    for seed in range(FIRST_SEED, FIRST_SEED + min(budget.n_runs, MAX_RUNS)):
        X = make_vectors(n_samples, n_features, np.random.default_rng(seed))
        for name, fit in contenders.items():
            runs[name].append(time_call(fit, X, n_cells))
            figures[name].append(_judge(X, runs[name][-1].result, n_cells))
    seconds = {name: median_seconds(runs[name]) for name in runs}
    costs = {name: np.array([cost for cost, _ in figures[name]]) for name in figures}
    records = [
        {
            "cells": name,
            "CPU s": seconds[name],
            "/ KMeans": seconds[name] / seconds["KMeans"],
            "cost above KMeans %": 100 * np.median(costs[name] / costs["KMeans"] - 1),
            "smallest": min(sizes.min() for _, sizes in figures[name]),
            "largest": max(sizes.max() for _, sizes in figures[name]),
        }
        for name in contenders
    ]
    largest = records[-2]["largest"] / (n_samples / n_cells)
    checks = [Check("largest cell of FairKMeans / mean", [largest], "<=", CAP)]
    title = f"{n_samples:,} x {n_features} vectors in {n_cells} cells, cap {CAP} x the mean"
    title += name_versions("faiss", "superkmeans")
    return Report(title, records, checks)


def _fit_plain(X, n_cells):
    return KMeans(n_cells, n_init=1, random_state=0).fit(X).labels_


def _train_faiss(X, n_cells):
    """Return labels and centres of faiss."""
    import faiss

    faiss.omp_set_num_threads(1)
    settings = {"niter": N_ROUNDS, "seed": 0, "max_points_per_centroid": len(X)}
    model = faiss.Kmeans(X.shape[1], n_cells, **settings)
    model.train(X)
    return model.index.search(X, 1)[1].ravel(), model.centroids


def _fit_faiss(X, n_cells):
    return _train_faiss(X, n_cells)[0]


def _train_superkmeans(X, n_cells):
    """Return labels and centres of SuperKMeans, trained on all vectors."""
    from superkmeans import SuperKMeans

    settings = {"n_threads": 1, "iters": N_ROUNDS, "sampling_fraction": 1.0}
    model = SuperKMeans(n_cells, X.shape[1], hierarchical=False, **settings)
    centers = model.train(X)
    return np.asarray(model.assign(X, centers)), np.asarray(centers)


def _fit_superkmeans(X, n_cells):
    return _train_superkmeans(X, n_cells)[0]


def _cap(X, labels, centers):
    """Return labels within the cap: vectors near their centre choose first."""
    largest = int(CAP * len(X) / len(centers))
    distances = (centers**2).sum(axis=1) - 2 * X @ centers.T  # but for a constant of each vector
    nearest = np.argsort(distances, axis=1)
    order = np.argsort(distances.min(axis=1) + (X**2).sum(axis=1))
    places = np.full(len(centers), largest)
    capped = np.empty_like(labels)
    for sample in order:
        cell = next(cell for cell in nearest[sample] if places[cell])
        capped[sample] = cell
        places[cell] -= 1
    return capped


def _fit_capped(X, n_cells):
    largest = int(CAP * len(X) / n_cells)
    return _fit_bounded(X, n_cells, max_cluster_size=largest)


def _fit_equal(X, n_cells):
    floor = len(X) // n_cells
    return _fit_bounded(X, n_cells, min_cluster_size=floor, max_cluster_size=-(-len(X) // n_cells))


def _fit_bounded(X, n_cells, **sizes):
    model = FairKMeans(n_cells, min_balance=None, n_init=1, random_state=0, **sizes)
    return model.fit(X).labels_


def _judge(X, labels, n_cells):
    """Return the cost of cells, and their sizes."""
    sizes = np.bincount(labels, minlength=n_cells)
    sums = np.zeros((n_cells, X.shape[1]))
    np.add.at(sums, labels, X)
    centers = sums / np.maximum(sizes, 1)[:, np.newaxis]
    return ((X - centers[labels]) ** 2).sum(dtype=np.float64), sizes
