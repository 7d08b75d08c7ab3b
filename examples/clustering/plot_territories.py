"""
Territories of clinics by travel time
=====================================

Three of eight clinics stay open in a generated town with a river and two bridges. Each clinic takes
up to 45 % of the residents, two groups live apart, and families stay together.
:class:`~skfair.cluster.FairKMedoids` chooses the clinics and assigns residents to them. The town is
a grid: streets lead to the four neighbours of a crossing, and nothing in it is real.
"""

# %%
# Streets of a grid of 20 x 20 crossings. A river runs between two columns, and bridges cross it in
# two rows. Every street takes a minute, and a quarter of them is slow.

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from skfair.cluster import FairKMedoids

side, river, bridges = 20, 9, (4, 15)
rng = np.random.default_rng(0)
numbers = np.arange(side**2).reshape(side, side)  # row, column
streets = [(numbers[:-1], numbers[1:]), (numbers[:, :-1], numbers[:, 1:])]
first, second = (np.concatenate([pair[i].ravel() for pair in streets]) for i in (0, 1))
rows, columns = first // side, first % side
crosses = (second == first + 1) & (columns == river) & ~np.isin(rows, bridges)
first, second = first[~crosses], second[~crosses]
minutes = np.where(rng.uniform(size=len(first)) < 0.25, 3.0, 1.0)
roads = csr_array((minutes, (first, second)), shape=(side**2, side**2))

# %%
# Families of one to four live at the crossings. Group "b" lives in the east more often. Clinics are
# at eight crossings.

homes = np.repeat(rng.choice(side**2, 200), rng.integers(1, 5, 200))
changes = np.flatnonzero(np.diff(homes, prepend=-1))
family = np.repeat(np.arange(len(changes)), np.diff(changes, append=len(homes)))
group = np.where(rng.uniform(size=len(homes)) < 0.1 + 0.6 * (homes % side > river), "b", "a")
clinics = rng.choice(side**2, 8, replace=False)
table = dijkstra(roads, directed=False, indices=clinics).T[homes]  # residents x clinics
print(
    f"{len(homes)} residents in {family.max() + 1} families, {table.mean():.1f} minutes on average"
)

# %%
# Without bounds, with capacities, and with a mix of groups.

capacity = {"min_balance": None, "max_cluster_size": 0.45}
settings = {
    "nearest": {"min_balance": None},
    "capacities": capacity,
    "capacities, balance .6": capacity | {"min_balance": 0.6},
}
figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.4), layout="constrained")
for axis, (name, bounds) in zip(axes, settings.items(), strict=True):
    model = FairKMedoids(3, metric="precomputed", random_state=0, **bounds)
    model.fit(table, sensitive_features=group, together=family)
    sizes = model.cluster_sizes_.astype(int)
    print(
        f"{name}: {model.objective_:.2f} minutes, sizes {sizes.tolist()}, "
        f"relative balance {model.relative_balance_:.2f}"
    )
    jitter = rng.normal(0, 0.15, (len(homes), 2))
    x, y = homes % side + jitter[:, 0], homes // side + jitter[:, 1]
    for k, color in enumerate(("#0072B2", "#C77700", "#009E73")):
        for one, marker in (("a", "o"), ("b", "^")):
            shown = (model.labels_ == k) & (group == one)
            axis.scatter(x[shown], y[shown], 9, color=color, marker=marker)
        site = clinics[model.medoid_indices_[k]]
        axis.scatter(site % side, site // side, 170, color=color, marker="*", edgecolor="black")
    axis.axvline(river + 0.5, color="#99CCEE", linewidth=4, zorder=0)
    axis.scatter([river + 0.5] * 2, bridges, 60, color="white", marker="s", zorder=0)
    axis.set(title=f"{name}: {model.objective_:.2f} min", xticks=[], yticks=[])

# %%
# Stars are clinics, triangles residents of group "b", and colours territories. Capacities and a mix
# of groups each cost some travel, and families are whole in all three.

plt.show()
