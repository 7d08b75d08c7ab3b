"""
Choosing a point of the front
=============================

A front leaves the choice to people. A demand, a bend in the curve and the wish for the best balance
lead to three different clusterings, and the composition of their clusters shows what each of them
means for the groups.
"""

# %%
# The front of the patients
# -------------------------
# 442 patients with diabetes come with scikit-learn; their sex is the group and not a feature.

import matplotlib.pyplot as plt
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import confusion_matrix
from sklearn.preprocessing import StandardScaler

from skfair.cluster import fair_kmeans_front
from skfair.datasets import load_patients
from skfair.plotting import ClusterCompositionDisplay, ParetoFrontDisplay

patients = load_patients(drop_sensitive=True)
X = StandardScaler().fit_transform(patients.data)
sex = patients.sensitive_features

front = fair_kmeans_front(X, sensitive_features=sex, n_clusters=5, random_state=0)
table = front.to_frame()
table.iloc[:: len(table) // 8].round(3)

# %%
# Three ways to choose
# --------------------
# The knee is the point farthest below the straight line between the ends of the front: before it
# balance is cheap, after it dear. Cost and balance have no common unit, so both are first taken as
# shares of the way from one end to the other. Another unit could bend the curve elsewhere: the knee
# is a hint, a demand and a budget are decisions.

gained = (front.balance - front.balance[0]) / (front.balance[-1] - front.balance[0])
paid = (front.cost - front.cost[0]) / (front.cost[-1] - front.cost[0])

chosen = {
    "knee of the curve": int((gained - paid).argmax()),
    "four fifths of the balance": front.select(min_balance=0.8),
    "best balance": len(front) - 1,
}
table.iloc[list(chosen.values())].set_index([list(chosen)]).round(3)

# %%
# Where they lie
# --------------

display = ParetoFrontDisplay.from_front(front, name="front of 5 clusters")
for (name, i), mark in zip(chosen.items(), "D^*", strict=True):
    label = f"{name}: {table.extra_cost[i]:+.1%} cost"
    display.ax_.plot(front.balance[i], front.cost[i], mark, color="black", ms=11, label=label)
display.ax_.legend(loc="upper left")
display.figure_.suptitle("Three points, three answers to what balance is worth")

# %%
# Who is in the clusters
# ----------------------
# At the cheapest point one cluster is nearly three quarters of one sex. The more balance is asked
# for, the closer all bars divide to the dashed line; there every cluster would mirror the data. The
# clusters of all pictures are numbered alike: those that share most people have one number.


def numbered_as(first, labels):
    """The labels, each cluster with the number of the one in `first` that it shares most with."""
    shared = confusion_matrix(first, labels)
    return linear_sum_assignment(-shared.T)[1][labels]


shown = {"cheapest": 0, **chosen}
figure, axes = plt.subplots(2, 2, figsize=(11, 6.8), layout="constrained")
figure.get_layout_engine().set(hspace=0.1, wspace=0.06)
for ax, (name, i) in zip(axes.flat, shown.items(), strict=True):
    labels = numbered_as(front.labels(0), front.labels(i))
    ClusterCompositionDisplay.from_predictions(labels, sensitive_features=sex, ax=ax)
    ax.get_legend().remove()
    ax.set_title(
        f"{name}: {front.relative_balance[i]:.0%} of the data's balance", loc="left", pad=24
    )
figure.legend(
    *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
)
figure.suptitle("The balance of a clustering is that of its worst cluster")

# %%
# A point becomes a fitted estimator by :meth:`~skfair.cluster.ParetoFront.to_estimator`.

model = front.to_estimator(chosen["four fifths of the balance"])
print(model.cluster_centers_.shape, round(model.relative_balance_, 3))
