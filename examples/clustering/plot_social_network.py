"""
The cost of balance in a social network
=======================================

This page plots the cost of clusters of a social network in which the groups are balanced, compared
with plain spectral clustering. A cut along the weakest links may return the groups themselves,
because people link to others of their group (homophily).
"""

# %%
# One graph, drawn twice
# ----------------------
# 80 people in two circles of friends, one above the other. Each circle has members of both groups,
# on the left and on the right. Plain spectral clustering, on the left, returns the groups. With
# ``min_balance=0.8``, the default, each cluster has members of both.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import SpectralClustering

from skfair.cluster import FairSpectralClustering, cluster_front
from skfair.datasets import make_fair_sbm
from skfair.metrics import balance_score, normalized_cut

settings = {"n_groups": 2, "probabilities": (0.9, 0.5, 0.35, 0.05), "random_state": 2}
links, circle, group = make_fair_sbm(80, n_clusters=2, average_degree=12, **settings)
clusterings = {
    "plain": SpectralClustering(2, affinity="precomputed", random_state=0).fit(links).labels_,
    "fair": FairSpectralClustering(2, affinity="precomputed", random_state=0).fit_predict(
        links, sensitive_features=group
    ),
}
places = np.column_stack([group, circle]) + np.random.default_rng(0).uniform(-0.4, 0.4, (80, 2))
figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
starts, ends = links.nonzero()
for ax, (name, labels) in zip(axes, clusterings.items(), strict=True):
    is_cut = labels[starts] != labels[ends]
    for cut, color in ((False, "0.85"), (True, "#CC79A7")):
        chosen = is_cut == cut
        ax.plot(
            *np.stack([places[starts[chosen]], places[ends[chosen]]]).transpose(2, 0, 1),
            color=color,
            linewidth=0.4,
            zorder=0,
        )
    for one, mark in zip(np.unique(group), "o^", strict=True):
        inside = group == one
        colors = np.array(["#0072B2", "#C77700"])[labels[inside]]
        ax.scatter(*places[inside].T, c=colors, marker=mark, s=42, edgecolors="white")
    balance = balance_score(labels, sensitive_features=group)
    ax.set_title(f"{name}: balance {balance:.2f}, cut {normalized_cut(labels, links):.2f}")
    ax.set_axis_off()
cuts = [normalized_cut(labels, links) for labels in clusterings.values()]
figure.suptitle(f"Both groups in each cluster, for a cut {cuts[1] / cuts[0] - 1:.0%} larger")
figure.supxlabel("colours are clusters, marks are groups, pink links are cut", fontsize=10)
plt.show()

# %%
# The network
# -----------
# 1,000 people, about 20 links each. A pair of people is most likely linked if they share their
# circle of friends and their group, less if they share the group alone, still less if they share
# the circle alone. So the groups separate more clearly than the circles.

network, circle, group = make_fair_sbm(
    1000,
    n_clusters=4,
    n_groups=2,
    probabilities=(0.9, 0.5, 0.35, 0.05),
    average_degree=20,
    random_state=0,
)
same_group = group[network.nonzero()[0]] == group[network.nonzero()[1]]
print(f"{np.bincount(group)} people, {same_group.mean():.0%} of the links within a group")

# %%
# Three methods
# -------------
# Plain spectral clustering returns clusters dominated by one group. The fair embedding, in which
# both groups have the same mean, clustered by plain k-means, returns more balanced
# clusters, but neither balance nor cut are controlled. The front has a clustering for every
# balance. It minimises the normalised cut, which sums over the clusters the proportion of their
# links that go to other clusters.

plain = SpectralClustering(4, affinity="precomputed", random_state=0).fit(network).labels_
papers = FairSpectralClustering(
    4, min_balance=None, affinity="precomputed", assign_labels="kmeans", random_state=0
).fit_predict(network, sensitive_features=group)
front = cluster_front(
    FairSpectralClustering(4, affinity="precomputed", random_state=0),
    network,
    sensitive_features=group,
)
four_fifths = front.select(min_balance=0.8)
front.to_frame().iloc[:: max(1, len(front) // 8)].round(3)

# %%
# The figure
# ----------
# In this network the first steps of balance cost most. The front begins below plain spectral
# clustering, because it minimises the cut itself.

display = front.plot(name="FairSpectralClustering", selected=four_fifths)
ax = display.ax_
for labels, mark, name in (
    (plain, "k*", "plain spectral clustering"),
    (papers, "kX", "fair embedding, plain k-means"),
):
    balance = balance_score(labels, sensitive_features=group)
    ax.plot(balance, normalized_cut(labels, network), mark, markersize=11, label=name)
ax.legend(loc="lower right", bbox_to_anchor=(0.94, 0.0))
extra_cut = front.cost[four_fifths] / normalized_cut(plain, network) - 1
above_minimum = front.cost[four_fifths] / front.cost[0] - 1
display.figure_.suptitle(
    f"Four fifths of the balance: a cut {above_minimum:.0%} above that of the first point,\n"
    f"{extra_cut:.0%} above that of plain spectral clustering"
)
