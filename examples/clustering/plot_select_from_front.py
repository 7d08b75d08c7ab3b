"""
Selecting a clustering from a Pareto front
==========================================

This page selects three clusterings from one Pareto front, by a bound on the balance, by the knee
of the curve and by the maximum balance. The composition of their clusters shows the effect on the
groups.
"""

# %%
# The front of the patients
# -------------------------
# 442 patients with diabetes, from scikit-learn. Sex is the protected attribute and not a feature.

import matplotlib.pyplot as plt
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import confusion_matrix
from sklearn.preprocessing import StandardScaler

from skfair.cluster import FairKMeans, cluster_front
from skfair.datasets import load_patients
from skfair.plotting import ClusterCompositionDisplay

patients = load_patients(drop_sensitive=True)
X = StandardScaler().fit_transform(patients.data)
sex = patients.sensitive_features

front = cluster_front(FairKMeans(5, random_state=0), X, sensitive_features=sex)
table = front.to_frame()
table.iloc[:: len(table) // 8].round(3)

# %%
# Three criteria
# --------------
# The knee is the point farthest below the straight line between the ends of the front. Before it
# balance costs little, after it much. Cost and balance have different units, so both are first
# scaled to [0, 1]. The knee depends on this scaling. It is a heuristic, whereas a bound on balance
# or cost is a decision.

balance = (front.balance - front.balance[0]) / (front.balance[-1] - front.balance[0])
cost = (front.cost - front.cost[0]) / (front.cost[-1] - front.cost[0])

selected = {
    "knee of the curve": int((balance - cost).argmax()),
    "four fifths of the balance": front.select(min_balance=0.8),
    "best balance": len(front) - 1,
}
table.iloc[list(selected.values())].set_index([list(selected)]).round(3)

# %%
# The figure
# ----------

display = front.plot(name="front of 5 clusters")
for (name, i), mark in zip(selected.items(), "D^*", strict=True):
    label = f"{name}: {table.extra_cost[i]:+.1%} cost"
    display.ax_.plot(front.balance[i], front.cost[i], mark, color="black", ms=11, label=label)
display.ax_.legend(loc="upper left")
display.figure_.suptitle("Knee, bound and maximum balance select different points")

# %%
# Composition of the clusters
# ---------------------------
# At the lowest cost one cluster is nearly three quarters of one sex. With a higher balance, the
# shares in all clusters approach the dashed line, which is the share in the data. Clusters of
# different panels with the largest overlap have the same number.


def match_numbers(first, labels):
    """Renumber clusters by their largest overlap with those of `first`."""
    overlap = confusion_matrix(first, labels)
    return linear_sum_assignment(-overlap.T)[1][labels]


panels = {"lowest cost": 0, **selected}
figure, axes = plt.subplots(2, 2, figsize=(11, 6.8), layout="constrained")
figure.get_layout_engine().set(hspace=0.1, wspace=0.06)
for ax, (name, i) in zip(axes.flat, panels.items(), strict=True):
    labels = match_numbers(front.labels(0), front.labels(i))
    ClusterCompositionDisplay.from_predictions(labels, sensitive_features=sex, ax=ax)
    ax.get_legend().remove()
    ax.set_title(
        f"{name}: {front.relative_balance[i]:.0%} of the data's balance", loc="left", pad=24
    )
figure.legend(
    *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
)
figure.suptitle("The balance of a clustering is that of its least balanced cluster")

# %%
# :meth:`~skfair.cluster.ParetoFront.to_estimator` turns a point into a fitted estimator.

model = front.to_estimator(selected["four fifths of the balance"])
print(model.cluster_centers_.shape, round(model.relative_balance_, 3))
