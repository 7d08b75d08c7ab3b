"""
Cost and balance of alternating swaps
=====================================

The algorithm of Liu and Vicente [1]_ alternates k-means updates, which reduce the cost, with swaps
of two samples, which raise the balance of the least balanced cluster. They state that every swap
raises the balance of the clustering. It can fall as well, if the other cluster becomes the least
balanced one (:ref:`fair_clustering` has an example). The ratio of the two kinds of updates
determines the result. This page reproduces their Figure 4 on their data.
"""

# %%
# The data are 400 points in the plane, in four blobs. The two lower blobs are one group, the two
# upper ones the other, so that the best two clusters are the two groups.
#
# An iteration makes :math:`n_a` k-means updates and :math:`n_b` swap updates, and a run 3,000
# updates in all. The paper does not print its three pairs; those below show its three cases. With
# the same seed a short run is the beginning of a longer one, so a curve consists of several runs.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from skfair.cluster import AlternatingSwaps, FairKMeans

centers = [(1, 1), (2.1, 1), (1, 5), (2.1, 5)]
X, blobs = make_blobs([100] * 4, centers=centers, cluster_std=0.1, shuffle=False, random_state=1)
groups = blobs // 2


def run(pair, n_iter):
    """Cluster by ``n_iter`` iterations of Algorithm 2."""
    algorithm = AlternatingSwaps.from_paper(*pair).set_params(n_iter=n_iter)
    model = FairKMeans(n_clusters=2, min_balance=None, algorithm=algorithm, random_state=0)
    return model.fit(X, sensitive_features=groups)


def curves(pair):
    """Cost and balance after some numbers of updates."""
    last = AlternatingSwaps.from_paper(*pair).n_iter
    n_iters = np.unique(np.linspace(1, last, 50, dtype=int))
    models = [run(pair, n_iter) for n_iter in n_iters]
    return n_iters * sum(pair), [m.objective_ for m in models], [m.balance_ for m in models]


# %%
# k-means updates alone separate the groups, with minimum cost and no balance. With as many swaps as
# k-means updates the clusters are balanced at once and remain so, at a higher cost. Between these
# extremes a run fluctuates around a trade-off.

figure, axes = plt.subplot_mosaic(
    [["points", "cost"], ["points", "balance"]],
    width_ratios=[1, 3],
    figsize=(9, 5.2),
    layout="constrained",
)
for group, (color, mark) in enumerate(zip(("#D55E00", "#2E96D0"), "os", strict=True)):
    members = X[groups == group]
    axes["points"].scatter(*members.T, s=9, c=color, marker=mark)
    axes["points"].text(1.55, 1.6 if group == 0 else 4.3, f"group {group}", ha="center")
axes["points"].set(xlabel="feature 0", ylabel="feature 1")

runs = {
    "k-means only": ((2, 0), "#0072B2", "-"),
    "mostly k-means": ((10, 1), "#C77700", "--"),
    "as many swaps": ((1, 1), "#009E73", "-."),
}
for name, (pair, color, line) in runs.items():
    updates, cost, balance = curves(pair)
    label = rf"{name}: $n_a$ = {pair[0]}, $n_b$ = {pair[1]}"
    axes["cost"].plot(updates, cost, line, color=color, label=label)
    axes["balance"].plot(updates, balance, line, color=color)
axes["cost"].set(ylabel="cost (mean squared\ndistance to centre)", ylim=(0, None))
axes["cost"].tick_params(labelbottom=False)
axes["balance"].set(ylabel="balance (smallest /\nlargest group)", ylim=(0, 1.05))
axes["balance"].set_xlabel("number of updates of both kinds")
figure.legend(*axes["cost"].get_legend_handles_labels(), loc="outside lower center", ncols=3)
figure.suptitle("The proportion of swaps determines cost and balance")

# %%
# The result of a pair is not known beforehand. Therefore :class:`~skfair.cluster.FairKMeans` has a
# balance as its parameter, and :class:`~skfair.cluster.AlternatingFront` runs several pairs.
plt.show()

# %%
# .. rubric:: References
#
# .. [1] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
#    clustering", LION 2022, arXiv:2105.14172.
