"""Clustering problems: eight of the alternating algorithm's paper, four of them real data.

Real data are prepared as in the paper's public code: columns are standardised, rows are scaled to
length 1, and 5,000 rows are drawn. Fronts of other methods on the same problems are read from the
file ``safairkm/reference_fronts.npz`` in the folder named by the environment variable
``SKFAIR_DATA``, or else from the file that ``python -m benchmarks table-1`` writes.
"""

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.preprocessing import normalize, scale

from benchmarks.data import fetch_adult, fetch_bank_marketing
from benchmarks.datasets import load_benchmark
from benchmarks.tables import FOLDER
from skfair.metrics import balance_score

REAL = ("Adult_K10", "Adult_K5", "Bank_K10", "Bank_K5")
SYNTHETIC = ("Syn_equal_ds1", "Syn_unequal_ds1", "Syn_equal_ds2", "Syn_unequal_ds2")
MADE_HERE = FOLDER / "kmeans_fronts.npz"
OTHER_METHODS = ("authors_capped", "alg3_global", "alg3_local", "vfairkm")
FILED_AS = {  # names of the synthetic problems in the file of other methods' fronts
    "Syn_equal_ds1": "Synthetic-equal_K2",
    "Syn_unequal_ds1": "Synthetic-unequal_K2",
    "Syn_equal_ds2": "Synthetic2-equal_K2",
    "Syn_unequal_ds2": "Synthetic2-unequal_K2",
}

# Lowest cost known, and 1.25 times that: the box in which hypervolumes are computed.
COST_RANGES = {
    "Adult_K10": (0.288856, 0.36107),
    "Adult_K5": (0.43883492, 0.54854365),
    "Bank_K10": (0.20518708, 0.25648385),
    "Bank_K5": (0.34378734, 0.42973418),
}


class Problem(NamedTuple):
    """Rows to cluster, with groups."""

    name: str
    X: np.ndarray  # (n_samples, n_features)
    codes: np.ndarray  # (n_samples,) group of each row, 0, 1, ...
    n_clusters: int

    @property
    def balance(self):
        """Balance of the data: size of the smallest group over that of the largest."""
        counts = np.bincount(self.codes)
        return counts.min() / counts.max()

    @property
    def box(self):
        """Worst and best pair of cost and balance in which hypervolumes are computed."""
        lowest, highest = COST_RANGES[self.name]
        return (highest, 0.0), (lowest, self.balance)

    def objectives(self, labels):
        """Cost and balance of a clustering, from their definitions."""
        cost = 0.0
        for k in np.unique(labels):
            members = self.X[labels == k]
            cost += ((members - members.mean(axis=0)) ** 2).sum()
        return cost / len(self.X), balance_score(labels, sensitive_features=self.codes)


def problem(name, n_rows=5000):
    """A problem by its name.

    Parameters
    ----------
    name : str
        One of `REAL` or `SYNTHETIC`.
    n_rows : int or None, default=5000
        Number of rows of real data to draw; None takes all.

    Returns
    -------
    problem : Problem

    Raises
    ------
    OSError
        If real data are neither on disk nor available from the network.
    """
    if name in SYNTHETIC:
        X, _, codes = load_benchmark("fair_synthetic", variant=name.removeprefix("Syn_"))
        return Problem(name, X, codes, 2)
    dataset, n_clusters = name.split("_K")
    X, codes = _all_rows(dataset)
    if n_rows is not None:
        drawn = np.random.RandomState(1).choice(len(X), min(n_rows, len(X)), replace=False)
        X = X[drawn]
        codes = codes[drawn]
    return Problem(name, X, codes, int(n_clusters))


@cache
def _all_rows(dataset):
    """All rows and groups of Adult or Bank, in the order of the published arrays."""
    if dataset == "Adult":
        bunch = fetch_adult(columns="clustering")
        codes = (bunch.sensitive_features == "Female").to_numpy(np.intp)
        order = np.arange(len(codes))
    else:
        bunch = fetch_bank_marketing(columns="clustering")
        is_known = bunch.sensitive_features != "unknown"
        bunch.data = bunch.data[is_known]
        position = {"divorced": 0, "single": 1, "married": 2}
        codes = bunch.sensitive_features[is_known].map(position).to_numpy(np.intp)
        order = np.argsort(codes, kind="stable")
    X = normalize(scale(bunch.data.to_numpy(np.float64)))
    return X[order], codes[order]


def reference_fronts(name):
    """Fronts of other methods on a problem; real data have 5,000 rows.

    Parameters
    ----------
    name : str
        One of `REAL` or `SYNTHETIC`.

    Returns
    -------
    fronts : dict of str to ndarray of shape (n_points, 2)
        Cost and balance of each point, by method; empty if there is no file.
    """
    path = Path(os.environ.get("SKFAIR_DATA", ""), "safairkm", "reference_fronts.npz")
    path = path if path.is_file() else MADE_HERE
    if not path.is_file():
        return {}
    with np.load(path) as arrays:
        keys = {method: f"{FILED_AS.get(name, name)}/{method}" for method in OTHER_METHODS}
        return {method: arrays[key] for method, key in keys.items() if key in arrays}
