"""
Accuracy against tolerance
==========================

This page shows what demographic parity costs on the census data Adult. It plots accuracy against
the statistical parity difference, for :class:`~skfair.classification.ConstrainedERMClassifier` and,
where fairlearn is installed, for its reductions ``ExponentiatedGradient`` and ``GridSearch`` [1]_.
All three are linear and use the same data.
"""

# %%
# The data
# --------
# Who earns more than 50,000 dollars a year, and are women and men predicted to do so equally often?
# Half of 10,000 people are training data, half are test data. Without a copy of Adult and a network
# connection, generated data are used.

import time
import warnings
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from skfair.classification import ConstrainedERMClassifier
from skfair.datasets import fetch_adult
from skfair.metrics import demographic_parity_difference

warnings.filterwarnings("ignore", message="X reveals the group")  # it has a column of it

try:
    adult = fetch_adult()
    X = pd.get_dummies(adult.data, dtype=float).to_numpy()
    y = adult.target.to_numpy() == ">50K"
    groups = adult.sensitive_features.to_numpy()
except OSError as error:
    print(f"Adult is not available, so generated data are used instead: {error}")
    X, y = make_classification(10_000, n_informative=8, flip_y=0.1, random_state=0)
    groups = np.where(X[:, 13] > 0, "a", "b")

splits = train_test_split(
    X, y, groups, train_size=5_000, test_size=5_000, random_state=0, stratify=groups
)
X_train, X_test, y_train, y_test, groups_train, groups_test = splits
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)


def evaluate(predict):
    """Gap and accuracy, on training and test data."""
    figures = {}
    for part, (X, y, groups) in {
        "training": (X_train, y_train, groups_train),
        "test": (X_test, y_test, groups_test),
    }.items():
        decisions = predict(X)
        figures[f"{part} gap"] = demographic_parity_difference(
            y, decisions, sensitive_features=groups
        )
        figures[f"{part} accuracy"] = accuracy_score(y, decisions)
    return figures


def fit(method, model):
    """Fit a model; the beginning of its row in the table, with the CPU time, and the model."""
    start = time.process_time()
    model.fit(X_train, y_train, sensitive_features=groups_train)
    return {"method": method, "seconds": time.process_time() - start}, model


# %%
# Constrained fits
# ----------------
# The first fit has no effective bound. Then there is one fit per tolerance, each a fraction of the
# first gap.

_, plain = fit("plain", ConstrainedERMClassifier(tolerance=1.0))
plain_gap = evaluate(plain.predict)["training gap"]
rows = []
for tolerance in plain_gap * np.array([1.0, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1]):
    model = ConstrainedERMClassifier(tolerance=tolerance)
    row, model = fit("ConstrainedERMClassifier", model)
    rows.append(row | {"tolerance": tolerance} | evaluate(model.predict))

# %%
# Reductions
# ----------
# ``ExponentiatedGradient`` fits many reweighted logistic regressions and draws one of them at
# random for each decision. Its tolerances have another meaning: each group is compared with all
# samples, so two groups may differ by up to twice as much, plus ``eps`` and the noise of the draws.
# ``GridSearch`` fits one regression per multiplier on a grid, and each of them is a point. The
# column of seconds is CPU time per model.

if find_spec("fairlearn"):
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient, GridSearch

    for tolerance in plain_gap * np.array([0.5, 0.2, 0.1]):
        parity = DemographicParity(difference_bound=tolerance)
        reduction = ExponentiatedGradient(LogisticRegression(max_iter=1000), parity, eps=0.01)
        row, model = fit("ExponentiatedGradient", reduction)
        figures = evaluate(lambda X, model=model: model.predict(X, random_state=0))
        rows.append(row | {"tolerance": tolerance} | figures)

    reduction = GridSearch(
        LogisticRegression(max_iter=1000), DemographicParity(), grid_size=12, grid_limit=0.8
    )
    row, search = fit("GridSearch", reduction)
    row["seconds"] /= len(search.predictors_)
    rows += [row | evaluate(model.predict) for model in search.predictors_]

table = pd.DataFrame(rows)
table.round(3)

# %%
# The figure
# ----------
# Training data on the left, test data on the right. At the same gap the three methods are about
# equally accurate. They differ in their guarantees and in CPU time. A tolerance is enforced on the
# training data. The test set has the sampling noise of 5,000 samples, up to a percentage point of
# accuracy and two of gap in either direction.

figure, axes = plt.subplots(1, 2, sharey=True, figsize=(9.5, 4.2), layout="constrained")
styles = {
    "ConstrainedERMClassifier": ("#0072B2", "o-"),
    "ExponentiatedGradient": ("#C77700", "s--"),
    "GridSearch": ("#009E73", "^"),
}
for ax, part in zip(axes, ("training", "test"), strict=True):
    for method, points in table.groupby("method"):
        color, line = styles[method]
        points = points.sort_values(f"{part} gap")
        ax.plot(points[f"{part} gap"], points[f"{part} accuracy"], line, color=color, label=method)
    ax.set(xlabel="gap between the rates of the groups", xlim=(0, 1.3 * plain_gap))
    ax.set_title(f"{part} data")
axes[0].yaxis.set_major_formatter("{x:.1%}")
axes[0].set_ylabel("accuracy")
axes[1].legend(loc="lower right", frameon=False)
half = table[np.isclose(table["tolerance"], plain_gap / 2)].iloc[0]
cost = evaluate(plain.predict)["test accuracy"] - half["test accuracy"]
figure.suptitle(f"Half of the gap costs {100 * cost:.1f} points of test accuracy")

# %%
# .. rubric:: References
#
# .. [1] A. Agarwal, A. Beygelzimer, M. Dudík, J. Langford and H. Wallach, "A reductions approach to
#    fair classification", ICML 2018.
