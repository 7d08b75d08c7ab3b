"""
Fair spectral clustering: exact and published embeddings
========================================================

This page shows clusterings of two sets of points in the plane, similar to Figures 2 and 9 of Tonin
et al. [1]_: two flat ellipses, each of which is one group, and two moons, with a group in each
half. Fair spectral clustering balances the groups, and should recover shapes that are balanced.
"""

# %%
# The points
# ----------
# One ellipse is one group, and the other ellipse the other group. The left half of a moon is one
# group, the right half the other one: the moons are balanced clusters.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from skfair.cluster import DCADMM, SFSC, FairSpectralClustering
from skfair.metrics import balance_score

rng = np.random.default_rng(0)
# Uniform points in the halves of two discs, stretched and moved up or down.
half, ellipse = np.divmod(np.arange(400) % 4, 2)
radius = np.sqrt(rng.uniform(size=400))
angle = np.pi * (rng.uniform(-0.5, 0.5, size=400) + half)
points = np.column_stack([4 * radius * np.cos(angle), radius * np.sin(angle) + 3 * ellipse])
moons, moon = make_moons(600, noise=0.08, random_state=0)
# The middle of the upper moon is at 0, that of the lower one at 1.
shapes = {
    "ellipses": (points, ellipse, ellipse == 0),
    "moons": (moons, moon, moons[:, 0] > moon),
}

# %%
# Four embeddings
# ---------------
# Without groups, by the two published methods with the settings of their papers and k-means, and by
# the defaults: the exact embedding, and a clustering with the group proportions of the data. The
# affinity links each point with its 20 nearest neighbours. DC-ADMM stops after ten steps, with a
# warning, since the accuracy of its embedding is then unknown.

warnings.filterwarnings("ignore", category=ConvergenceWarning)

published = {"assign_labels": "kmeans", "min_balance": None}
methods = {
    "without groups": {"min_balance": None},
    "s-FSC": {"eigen_solver": SFSC.from_paper(), **published},
    "DC-ADMM": {"eigen_solver": DCADMM.from_paper(), **published},
    "default, min_balance=1": {"min_balance": 1},
}


def cluster(X, groups, n_clusters, name):
    """Labels by one of the methods."""
    model = FairSpectralClustering(
        n_clusters, affinity="nearest_neighbors", n_neighbors=20, random_state=0, **methods[name]
    )
    return model.fit_predict(X, sensitive_features=None if name == "without groups" else groups)


# %%
# The figures
# -----------
# Colours are clusters, marks are groups. Balance is 1 where every cluster has the groups in the
# proportions of the data; the other number is the agreement with the true clusters (adjusted Rand).
# The ellipses *are* the groups: without groups each cluster is one group, a balance of 0, and only
# ``min_balance=1`` mixes them, so that the clusters are no ellipses any more. The moons have both
# groups already. All methods recover them, except DC-ADMM.

figure, axes = plt.subplots(2, 4, figsize=(12, 6.6), layout="constrained")
for (shape, (X, truth, groups)), row in zip(shapes.items(), axes, strict=True):
    for name, ax in zip(methods, row, strict=True):
        labels = cluster(X, groups, len(np.unique(truth)), name)
        balance = balance_score(labels, sensitive_features=groups, relative=True)
        agreement = round(adjusted_rand_score(truth, labels), 2) + 0.0  # not -0.0
        for group, mark in zip(np.unique(groups), "o^", strict=True):
            inside = np.asarray(groups) == group
            colors = np.array(["#0072B2", "#D55E00"])[labels[inside]]
            ax.scatter(*X[inside].T, c=colors, marker=mark, s=14)
        ax.set_title(f"{name}\nbalance {balance:.2f}, agreement {agreement:.2f}", fontsize=10)
        ax.set_xticks([])
        ax.set_yticks([])
    row[0].set_ylabel(shape)
figure.suptitle(
    "Where groups are shapes, balance costs the shapes; where shapes are mixed, it costs nothing",
    x=0.01,
    ha="left",
)
plt.show()

# %%
# .. rubric:: References
#
# .. [1] F. Tonin, A. Lambert, J. A. K. Suykens and V. Cevher, "Accelerating spectral clustering
#    under fairness constraints", ICML 2025.
