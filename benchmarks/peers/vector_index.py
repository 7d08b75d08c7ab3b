"""A flat vector index (inverted file, IVF) with cells of bounded size, compared with KMeans."""

from typing import NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import time_call
from skfair.cluster import FairKMeans

SIZE = 100_000, 64, 300  # numbers of vectors, features and cells
LARGE_SIZE = 1_000_000, 128, 1000  # the same with --large
N_QUERIES = 1000
N_NEIGHBORS = 10
N_TOPICS, TOPIC_RANK = 500, 8  # of the generated vectors
MAX_ITER = 20  # of all fits
CAPS = (4.0, 1.1)  # times the mean size
BUDGETS = (0.01, 0.02, 0.05)  # shares of the vectors that a query scans on average
RECALL = 0.9  # at which the slowest cells are compared


class Index(NamedTuple):
    """Vectors in cells. A query scans the cells of the nearest centres."""

    centers: np.ndarray
    labels: np.ndarray  # cell of each vector


class Probes(NamedTuple):
    """What each query scans and finds if it scans 1, 2, ... cells, (n_queries, n_cells)."""

    sizes: np.ndarray  # of the cell that is added
    recalls: np.ndarray

    def recall_at(self, budget):
        """Mean recall where queries scan a number of vectors on average."""
        scanned = self.sizes.cumsum(axis=1).mean(axis=0)
        recalls = self.recalls.mean(axis=0)
        return np.interp(budget, np.append(0, scanned), np.append(0, recalls))


@smallest(SIZE=(2000, 8, 20), N_QUERIES=50, N_TOPICS=20)
def vector_index(budget):
    """Recall@10 of a flat vector index with bounded cells, and its slowest cells."""
    n_samples, n_features, n_cells = LARGE_SIZE if budget.is_large else SIZE
    vectors = make_vectors(n_samples + N_QUERIES, n_features, np.random.default_rng(0))
    X, queries = vectors[:n_samples], vectors[n_samples:]
    neighbors = find_neighbors(X, queries)
    records = []
    for cap in (None, *CAPS):
        index, seconds = time_call(build_index, X, n_cells, cap)
        name = "KMeans" if cap is None else f"cap of {cap:g} x the mean"
        probes = probe(index, queries, neighbors)
        records.append({"cells": name, "CPU s": seconds} | describe(index, probes))
    *others, bounded = records
    checks = [
        Check(f"{figure}, {other['cells']} / {bounded['cells']}", [ratio], ">=", 1.0)
        for figure in ("slowest cell", "most vectors")
        for other in others
        for ratio in [other[figure] / bounded[figure]]
    ]
    title = (
        f"{n_samples:,} x {n_features} generated vectors in {n_cells} cells: recall@{N_NEIGHBORS} "
        f"of {N_QUERIES} queries; numbers of cells and vectors that they scan at recall {RECALL}"
    )
    return Report(title, records, checks)


def make_vectors(n_samples, n_features, rng):
    """Vectors of topics that differ in size and in spread, as embeddings do; float32.

    Sizes fall as 1 / rank. A topic lies about its centre in a subspace of few dimensions.
    """
    weights = 1 / np.arange(1, N_TOPICS + 1)
    topics = np.sort(rng.choice(N_TOPICS, n_samples, p=weights / weights.sum()))
    ends = np.searchsorted(topics, np.arange(N_TOPICS + 1))
    X = np.empty((n_samples, n_features), dtype=np.float32)
    for begin, end in zip(ends, ends[1:], strict=False):
        spread = rng.lognormal(-0.5, 0.8) / np.sqrt(TOPIC_RANK)
        axes = spread * rng.normal(size=(TOPIC_RANK, n_features))
        center = rng.normal(size=n_features)
        X[begin:end] = rng.normal(size=(end - begin, TOPIC_RANK)) @ axes + center
    return X[rng.permutation(n_samples)]


def find_neighbors(X, queries):
    """Exact nearest vectors of each query, (n_queries, N_NEIGHBORS)."""
    squares = np.einsum("ij,ij->i", X, X)
    blocks = [
        np.argpartition(squares - 2 * (block @ X.T), N_NEIGHBORS, axis=1)[:, :N_NEIGHBORS]
        for block in np.array_split(queries, max(1, len(queries) // 50))
    ]
    return np.concatenate(blocks)


def build_index(X, n_cells, cap):
    """An index whose cells have at most ``cap`` times the mean size; None: those of KMeans."""
    settings = {"n_init": 1, "max_iter": MAX_ITER, "random_state": 0}
    if cap is None:
        model = KMeans(n_cells, **settings).fit(X)
    else:
        largest = int(cap * len(X) / n_cells)
        model = FairKMeans(n_cells, min_balance=None, max_cluster_size=largest, **settings).fit(X)
        assert model.cluster_sizes_.max() <= largest
    return Index(model.cluster_centers_, model.labels_)


def probe(index, queries, neighbors):
    """Scan the cells in the order of the distances of their centres to each query."""
    squares = (index.centers**2).sum(axis=1)
    order = np.argsort(squares - 2 * (queries @ index.centers.T), axis=1)
    sizes = np.bincount(index.labels, minlength=len(index.centers))
    positions = np.argsort(order, axis=1)  # of each cell in the order of a query
    n_hits = np.zeros(order.shape)
    rows = np.arange(len(queries))[:, np.newaxis]
    np.add.at(n_hits, (rows, positions[rows, index.labels[neighbors]]), 1 / N_NEIGHBORS)
    return Probes(sizes[order], n_hits.cumsum(axis=1))


def describe(index, probes):
    """Figures of an index: sizes of its cells, recalls at equal budgets, work at equal recall."""
    n_probes = int(np.argmax(probes.recalls.mean(axis=0) >= RECALL)) + 1
    scanned = probes.sizes[:, :n_probes]
    sizes = np.bincount(index.labels)
    recalls = {
        f"recall at {share:.0%}": probes.recall_at(share * len(index.labels)) for share in BUDGETS
    }
    return {
        "largest / mean": sizes.max() / sizes.mean(),
        **recalls,
        "cells scanned": n_probes,
        "vectors scanned": scanned.sum(axis=1).mean(),
        "most vectors": scanned.sum(axis=1).max(),
        "slowest cell": scanned.max(),
        "slowest cell, mean": scanned.max(axis=1).mean(),
    }
