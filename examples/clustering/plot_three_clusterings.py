"""
Three clusterings of the same points
====================================

This page shows the clusterings of Figure 7 of Liu and Vicente [1]_, computed by one call of
:func:`~skfair.cluster.cluster_front`. Without a balance bound, k-means separates two groups
that are far apart. With a higher balance, clusters divide both groups.
"""

# %%
# 300 samples of one group are in the lower blob and 100 of the other in the upper one. Hence the
# balance of the data is 100 / 300, and no two clusters can both exceed it. The paper's "balance
# 0.17" is a plain ratio here, about 1 : 6 in the worse cluster, half of that of the data. Its
# "perfect balance" can only be 1 *relative to the data*. The titles below give both numbers.

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from skfair.cluster import FairKMeans, cluster_front

X, groups = make_blobs(
    [300, 100], centers=[(1, 1), (2.1, 3.5)], cluster_std=0.3, shuffle=False, random_state=1
)
front = cluster_front(FairKMeans(2, random_state=0), X, sensitive_features=groups)
selected = [front.select(min_balance=relative) for relative in (0, 0.5, 1)]
front.to_frame().iloc[selected].round(3)

# %%
# Colours are clusters, marks are groups, and a cross is the mean of its cluster.

colors = ("#0072B2", "#C77700")
marks = ("o", "^")
figure, axes = plt.subplots(1, 3, sharex=True, sharey=True, figsize=(8.6, 4), layout="constrained")
for ax, i in zip(axes, selected, strict=True):
    labels = front.labels(i)
    centers = front.centers(i)
    for k, color in enumerate(colors):
        for group, mark in enumerate(marks):
            members = X[(labels == k) & (groups == group)]
            ax.scatter(*members.T, s=14, c=color, marker=mark, alpha=0.7, linewidths=0)
        ax.plot(*centers[k], "X", color=color, markersize=13, markeredgecolor="black")
    ax.set_title(
        f"balance {front.balance[i]:.2f}, cost {front.cost[i]:.2f}\n"
        f"({front.relative_balance[i]:.0%} of the data's)",
        fontsize="medium",
    )
    ax.set(aspect="equal", xlabel="feature 0")
axes[0].set_ylabel("feature 1")
figure.suptitle("With a higher balance, clusters divide both groups")

# %%
# On the right both clusters have the proportions of the data, three of one group to one of the
# other, which is the maximum balance. Balance measures the group composition of clusters, and cost
# their compactness. The choice between the two is up to the user.

# %%
# .. rubric:: References
#
# .. [1] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
#    clustering", LION 2022, arXiv:2105.14172.
