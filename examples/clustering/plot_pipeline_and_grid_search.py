"""
Balance in a pipeline and a grid search
=======================================

This page selects the number of clusters by a grid search under a constraint on held-out data: the
least balanced cluster must have at least four fifths of their balance. Sensitive features are
routed with the samples through scikit-learn's pipelines, cross-validation and searches.
"""

# %%
# A pipeline
# ----------
# 6,000 samples in six blobs, in two groups that are not distributed evenly. With metadata
# routing switched on, ``sensitive_features`` reaches every step that requests it;
# :class:`~skfair.cluster.FairKMeans` requests it by default, in ``fit`` and in ``predict``.

from importlib.util import find_spec

import matplotlib.pyplot as plt
import pandas as pd
import sklearn
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.callbacks import FitMonitor
from skfair.cluster import FairKMeans
from skfair.datasets import make_fair_blobs
from skfair.metrics import cluster_composition, get_scorer

sklearn.set_config(enable_metadata_routing=True)

X, _, groups = make_fair_blobs(
    6000,
    n_features=4,
    centers=6,
    cluster_std=2.0,
    group_shares=(0.6, 0.4),
    group_separation=0.4,
    random_state=1,
)
pipeline = make_pipeline(StandardScaler(), FairKMeans(n_clusters=6, random_state=0))
labels = pipeline.fit_predict(X, sensitive_features=groups)
cluster_composition(labels, sensitive_features=groups, normalize="cluster").round(3)

# %%
# A search
# --------
# Every candidate has two scores on held-out data: the relative balance, for which the scorer passes
# the groups to ``predict``, and the distance to the nearest centre, which needs no groups.
# ``refit`` selects the candidate of smallest distance among those that meet the constraint.

MIN_BALANCE = 0.8


def closeness(pipeline, X, y=None):
    """Minus the mean squared distance to the nearest centre, in squared standard deviations."""
    return pipeline.score(X) / len(X)


def select_candidate(results):
    """Position of the candidate with the smallest distance among those that meet the bound."""
    table = pd.DataFrame(results)
    return table["mean_test_closeness"].where(table["mean_test_balance"] >= MIN_BALANCE).idxmax()


search = GridSearchCV(
    pipeline,
    {"fairkmeans__n_clusters": range(2, 13, 2), "fairkmeans__min_balance": [0.0, 0.8, 1.0]},
    scoring={"balance": get_scorer("relative_balance"), "closeness": closeness},
    refit=select_candidate,
    cv=3,
)
search.fit(X, sensitive_features=groups)
print(search.best_params_)

# %%
# The figure
# ----------
# With four fifths in the fit, held-out data have a little less. Group proportions differ between
# training and held-out data, and most in the worst of many small clusters. A fit with full balance
# leaves a margin.

results = pd.DataFrame(search.cv_results_).rename(columns=lambda name: name.split("__")[-1])
best = results.loc[search.best_index_]

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
styles = {0.0: ("#C77700", "s:"), 0.8: ("#0072B2", "^--"), 1.0: ("#009E73", "o-")}
for min_balance, rows in results.groupby("min_balance"):
    color, line = styles[min_balance]
    label = f"min_balance={min_balance}"
    left.plot(rows["n_clusters"], rows["mean_test_balance"], line, color=color, label=label)
    right.plot(rows["n_clusters"], -rows["mean_test_closeness"], line, color=color)
left.plot(best["n_clusters"], best["mean_test_balance"], "ko", ms=14, mfc="none", label="selected")
right.plot(best["n_clusters"], -best["mean_test_closeness"], "ko", ms=14, mfc="none")
left.axhline(MIN_BALANCE, color="black", linewidth=0.8, label="bound")
left.set(ylim=(0, 1), ylabel="relative balance of held-out data")
left.legend(loc="lower left", frameon=False)
right.set(ylabel="mean squared distance of\nheld-out data to the nearest centre")
for ax in (left, right):
    ax.set_xlabel("number of clusters")
figure.suptitle(f"Smallest distance within the balance bound: {best['n_clusters']} clusters")

# %%
# Monitoring the fit
# ------------------
# :class:`~skfair.callbacks.FitMonitor` records cost and balance after every round, here of the
# fit that the search selected. scikit-learn's ``ProgressBar``, where rich is installed, is set on
# the outermost estimator and shows all its steps.

monitor = FitMonitor()
selected = clone(search.best_estimator_)
selected[-1].set_callbacks(monitor)
if find_spec("rich"):
    selected.set_callbacks(ProgressBar())
selected.fit(X, sensitive_features=groups)
monitor.log[["iteration", "objective", "balance"]].round(4)
