"""
Connected zones with a mix of groups
====================================

A town of 16 x 16 blocks is divided into six zones for six schools. Every zone gets a sixth of the
residents, up to 5 %, and both groups, which live apart. Without more, some blocks are cut off from
the rest of their zone. With a graph of neighbouring blocks as ``connectivity``,
:class:`~skfair.cluster.FairKMedoids` keeps every zone in one piece. The town is generated.
"""

# %%
# Blocks with one to five residents each. Group "b" lives in the east more often. The graph has an
# edge between blocks that share a side.

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.feature_extraction.image import grid_to_graph

from skfair.cluster import FairKMedoids

side, n_zones = 16, 6
rng = np.random.default_rng(0)
blocks = np.column_stack([np.arange(side**2) // side, np.arange(side**2) % side])
residents = rng.integers(1, 6, side**2)
group = np.where(rng.uniform(size=side**2) < 0.1 + 0.05 * blocks[:, 1], "b", "a")
neighbors = grid_to_graph(side, side)

# %%
# The same bounds without and with the graph.

mean = residents.sum() / n_zones
bounds = {
    "min_balance": 0.7,
    "min_cluster_size": int(np.ceil(0.95 * mean)),
    "max_cluster_size": int(1.05 * mean),
}
figure, axes = plt.subplots(1, 2, figsize=(8.5, 4.2), layout="constrained")
for axis, connectivity in zip(axes, (None, neighbors), strict=True):
    model = FairKMedoids(n_zones, random_state=0, **bounds)
    model.fit(blocks, sensitive_features=group, sample_weight=residents, connectivity=connectivity)
    labels = model.labels_
    parts = [
        connected_components(neighbors.tocsr()[labels == k][:, labels == k])[0]
        for k in range(n_zones)
    ]
    print(
        f"{sum(parts)} parts, mean distance {model.objective_:.3f}, sizes "
        f"{model.cluster_sizes_.astype(int).tolist()}, relative balance "
        f"{model.relative_balance_:.2f}"
    )
    axis.imshow(labels.reshape(side, side), cmap="Set2", vmin=0, vmax=7)
    lives = blocks[group == "b"]
    axis.scatter(lives[:, 1], lives[:, 0], 9, color="black", marker="^")
    axis.scatter(*model.cluster_centers_.T[::-1], 150, color="white", marker="*", edgecolor="black")
    title = "without connectivity" if connectivity is None else "with connectivity"
    axis.set(title=f"{title}: {sum(parts)} parts", xticks=[], yticks=[])

# %%
# Colours are zones, triangles blocks of group "b", and stars schools. Both divisions keep the
# bounds. The one on the left has blocks that are cut off from their zone, since these are what
# balances the groups at the least distance. Connected zones reach for the other group by arms along
# other zones, and the mean distance hardly grows.

plt.show()
