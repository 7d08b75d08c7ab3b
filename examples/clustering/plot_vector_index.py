"""
A vector index with bounded cells
=================================

This page bounds the cells of a flat vector index (inverted file, IVF) by
:class:`~skfair.cluster.FairKMeans`; no groups are needed. Such an index divides vectors into cells
by k-means, and a query scans the cells of the nearest centres only. Cells of k-means differ in
size, and the largest ones determine the slowest queries.
"""

# %%
# 20,000 vectors of topics that differ in size and in spread, as embeddings do, and 500 queries from
# the same topics.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from skfair.cluster import FairKMeans

n, n_queries, n_features, n_topics, n_cells = 20_000, 500, 32, 200, 100
rng = np.random.default_rng(0)
weights = 1 / np.arange(1, n_topics + 1)
topics = rng.choice(n_topics, n + n_queries, p=weights / weights.sum())
spreads = rng.lognormal(-0.5, 1.0, n_topics) / np.sqrt(8)
axes = rng.normal(size=(n_topics, 8, n_features))
coordinates = spreads[topics, np.newaxis] * rng.normal(size=(n + n_queries, 8))
vectors = np.einsum("ij,ijk->ik", coordinates, axes[topics])
vectors = (vectors + rng.normal(size=(n_topics, n_features))[topics]).astype(np.float32)
X, queries = vectors[:n], vectors[n:]
distances = (X**2).sum(axis=1) - 2 * queries @ X.T
neighbors = np.argsort(distances, axis=1)[:, :10]

# %%
# Three indexes: cells of KMeans, and cells of at most 4 and 1.1 times the mean size.

settings = {"n_clusters": n_cells, "n_init": 1, "random_state": 0}
models = {"KMeans": KMeans(**settings).fit(X)}
for cap in (4, 1.1):
    largest = int(cap * n / n_cells)
    model = FairKMeans(min_balance=None, max_cluster_size=largest, **settings)
    models[f"cap of {cap} x the mean"] = model.fit(X)
for name, model in models.items():
    print(f"{name}: {np.bincount(model.labels_).max()} vectors in the largest cell")

# %%
# Recall\@10 is the share of the ten nearest vectors that are in the scanned cells. Scan one cell
# per query, then two, and so on.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
for (name, model), color in zip(models.items(), ("#8F8F8F", "#C77700", "#0072B2"), strict=True):
    sizes = np.bincount(model.labels_)
    centers = model.cluster_centers_
    left.plot(np.sort(sizes)[::-1], color=color, label=name)
    order = np.argsort((centers**2).sum(axis=1) - 2 * queries @ centers.T, axis=1)
    is_hit = model.labels_[neighbors][:, :, np.newaxis] == order[:, np.newaxis]
    recall = is_hit.mean(axis=(0, 1)).cumsum()
    scanned = sizes[order].cumsum(axis=1)
    right.plot(scanned.mean(axis=0)[:12], recall[:12], ".-", color=color, label=name)
    right.plot(scanned.max(axis=0)[:12], recall[:12], ".:", color=color)
left.set(xlabel="cell, largest first", ylabel="vectors in the cell")
right.set(xlabel="scanned vectors", ylabel="recall@10", xscale="log")
right.set_xticks([300, 1000, 3000], ["300", "1,000", "3,000"])
right.minorticks_off()
right.plot([], [], "-", color="black", label="mean of the queries")
right.plot([], [], ":", color="black", label="slowest query")
figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3)
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
largest = [np.bincount(model.labels_).max() for model in models.values()]
figure.suptitle(
    f"The largest cell has {largest[-1]} vectors with a cap and {largest[0]} without, at less cost "
    "for the slowest query"
)

# %%
# With cells of at most 1.1 times the mean, the slowest query scans hardly more vectors than the
# mean one. :ref:`balanced_clusters` has the figures of larger data.
#
# A vector that arrives later goes to the nearest centre, or to a cell with a place left:

last = models["cap of 1.1 x the mean"]
labels = last.predict(queries, respect_sizes=True)
print((last.cluster_sizes_ + np.bincount(labels, minlength=n_cells)).max())
