"""Figures 2 and 9 of the DC-ADMM paper: clusters of points in the plane."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from benchmarks.datasets import load_benchmark
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report, save_figure
from skfair.cluster import DCADMM, SFSC, FairSpectralClustering
from skfair.metrics import balance_score

_PUBLISHED = {"assign_labels": "kmeans", "min_balance": None}
METHODS = {
    "without groups": {"min_balance": None},
    "s-FSC": {"eigen_solver": SFSC.from_paper(), **_PUBLISHED},
    "DC-ADMM": {"eigen_solver": DCADMM.from_paper(), **_PUBLISHED},
    "default, min_balance=1": {"min_balance": 1},
}
N_ELLIPTICAL = 400


@smallest(N_ELLIPTICAL=100)
def spectral_shapes(budget):
    """Figures 2 and 9 on DC-ADMM: clusters of Elliptical and DS-577, drawn."""
    import matplotlib.pyplot as plt

    ellipses = load_benchmark("elliptical", n_samples=N_ELLIPTICAL, random_state=0)
    shapes = {"Elliptical": ellipses, "DS-577": _ds577()}
    figure, axes = plt.subplots(2, len(METHODS), figsize=(14, 7), layout="constrained")
    records = []
    for (shape, (X, truth, groups)), row in zip(shapes.items(), axes, strict=True):
        for (name, settings), ax in zip(METHODS.items(), row, strict=True):
            labels = _cluster(X, len(np.unique(truth)), groups, settings)
            balance = balance_score(labels, sensitive_features=groups, relative=True)
            agreement = adjusted_rand_score(truth, labels)
            for group, mark in zip(np.unique(groups), "o^s", strict=False):
                inside = groups == group
                ax.scatter(*X[inside].T, c=labels[inside], marker=mark, s=14, vmin=0, vmax=2)
            ax.set(title=f"{shape}: {name}", xticks=[], yticks=[])
            record = {"data": shape, "method": name, "balance": balance, "agreement": agreement}
            records.append(record)
    save_figure(figure, "spectral_figure_2.png")
    title = (
        "Figures 2 and 9: balance relative to the data, agreement with the shapes (adjusted Rand)"
    )
    exact = [row["agreement"] for row in records if row["method"] != "DC-ADMM"]
    return Report(title, records, [Check("agreement, all but DC-ADMM", exact, ">=", 0.97)])


def _ds577():
    """Points, clusters and groups of DS-577."""
    bunch = load_benchmark("ds577")
    return bunch.data.to_numpy(), bunch.target.to_numpy(), bunch.sensitive_features.to_numpy()


def _cluster(X, n_clusters, groups, settings):
    """Labels by one of the methods. DC-ADMM stops after ten steps, which warns."""
    model = FairSpectralClustering(
        n_clusters, affinity="nearest_neighbors", n_neighbors=20, random_state=0, **settings
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit_predict(X, sensitive_features=groups)
