"""
What balance costs in a social network
======================================

Whoever cuts a network along its weakest links may well return its groups, because people know their
like. This page draws what it costs to have clusters in which the groups mix instead, and where
plain spectral clustering lies.
"""

# %%
# The network
# -----------
# 1,000 people, about 20 links each. A pair of people is most likely linked if they share their
# circle of friends and their group, less if they share the group alone, still less if they share
# the circle alone: the groups show more clearly than the circles do.

import numpy as np
from sklearn.cluster import SpectralClustering

from skfair.cluster import FairSpectralClustering, fair_spectral_front
from skfair.datasets import make_fair_sbm
from skfair.metrics import balance_score, normalized_cut
from skfair.plotting import ParetoFrontDisplay

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
# Three answers
# -------------
# Plain spectral clustering gives clusters with far more of one group. The fair embedding, in which
# both groups have the same mean, clustered by k-means as in the papers, gives mixed clusters, at
# whatever balance and cut these happen to have. The front holds a clustering for every balance:
# the normalised cut, the share of its links that a cluster has with the others, is summed over the
# clusters and kept as small as the search can make it.

plain = SpectralClustering(4, affinity="precomputed", random_state=0).fit(network).labels_
papers = FairSpectralClustering(
    4, min_balance=None, affinity="precomputed", rounding="kmeans", random_state=0
).fit_predict(network, sensitive_features=group)
front = fair_spectral_front(
    network, sensitive_features=group, n_clusters=4, affinity="precomputed", random_state=0
)
four_fifths = front.select(min_balance=0.8)
front.to_frame().iloc[:: max(1, len(front) // 8)].round(3)

# %%
# The picture
# -----------
# In this network mixing costs something at once, and ever less the more there is of it. The front
# begins below plain spectral clustering, as it searches for the cut itself.

display = ParetoFrontDisplay.from_front(front, name="fair_spectral_front", selected=four_fifths)
ax = display.ax_
for labels, mark, name in (
    (plain, "k*", "plain spectral clustering"),
    (papers, "kX", "fair embedding, plain k-means"),
):
    balance = balance_score(labels, sensitive_features=group)
    ax.plot(balance, normalized_cut(labels, network), mark, markersize=11, label=name)
ax.legend(loc="lower right")
extra_cut = front.cost[four_fifths] / normalized_cut(plain, network) - 1
of_least = front.cost[four_fifths] / front.cost[0] - 1
display.figure_.suptitle(
    f"Four fifths of the balance: a cut {of_least:.0%} above the least one found,\n"
    f"{extra_cut:.0%} above that of plain spectral clustering"
)
