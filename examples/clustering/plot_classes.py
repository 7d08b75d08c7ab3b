"""
Classes of pupils with friends together
=======================================

A school divides 120 pupils into five classes of 24. Girls and boys, and pupils with low, middle and
high marks, should be spread evenly, and ten pairs of friends stay together.
:class:`~skfair.cluster.FairKMeans` takes marks as bands of a second attribute, and friends as
``together``. Clusters group pupils who live near one another. The pupils are generated.
"""

# %%
# Numbers such as marks are no groups: bands of them are.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skfair.cluster import FairKMeans

rng = np.random.default_rng(0)
n_pupils, n_classes = 120, 5
homes = rng.normal(size=(n_pupils, 2))
pupils = pd.DataFrame(
    {
        "sex": rng.permutation(["boy"] * 60 + ["girl"] * 60),
        "marks": pd.qcut(
            rng.normal(size=n_pupils) + homes[:, 0], 3, labels=["low", "middle", "high"]
        ),
    }
).astype(str)

# %%
# Every pupil has an id of a group of friends. Pupils without friends have an empty one, and go
# anywhere.

friends = np.full(n_pupils, "", dtype=object)
pairs = rng.permutation(n_pupils)[:20].reshape(10, 2)
for number, pair in enumerate(pairs):
    friends[pair] = f"pair {number}"

# %%
# With ``attributes="each"`` the classes mirror each column, sexes and marks, and not only their
# combinations.

model = FairKMeans(
    n_classes,
    min_balance=0.9,
    attributes="each",
    min_cluster_size=24,
    max_cluster_size=24,
    random_state=0,
)
model.fit(homes, sensitive_features=pupils, together=friends)
print(f"status {model.status_}, sizes {model.cluster_sizes_.astype(int).tolist()}")
counts = pd.DataFrame(
    model.group_counts_.astype(int), columns=[name for _, name in model.groups_.names]
)
print(counts.to_string())
print("pairs apart:", sum(model.labels_[one] != model.labels_[other] for one, other in pairs))

# %%
# Without bounds the pupils of a class live nearer, but classes differ in size and marks.

plain = FairKMeans(n_classes, min_balance=None, random_state=0).fit(homes)
bands = pd.crosstab(plain.labels_, pupils["marks"])[["low", "middle", "high"]]
print(bands.to_string())
print(f"mean squared distance {plain.objective_:.2f}, within the bounds {model.objective_:.2f}")

figure, axes = plt.subplots(1, 2, figsize=(8.5, 3.6), layout="constrained", sharey=True)
for axis, table, title in zip(
    axes, (bands, counts[["low", "middle", "high"]]), ("plain k-means", "FairKMeans"), strict=True
):
    table.plot.bar(stacked=True, ax=axis, rot=0, legend=axis is axes[0])
    axis.set(title=title, xlabel="class", ylabel="pupils by marks")

# %%
# Where friends, sizes and marks cannot all be kept, the fit warns, and ``status_`` is "infeasible"
# if no classes keep them, or "not_found" if the fit found none.
