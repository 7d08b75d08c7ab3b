"""
Selecting the best model within a fairness bound
================================================

This page selects a tolerance, together with the other parameters, by cross-validation with
:func:`~skfair.model_selection.best_subject_to`, so that the gap stays below a bound out of sample.
A tolerance alone is enforced on the training data.
"""

# %%
# The data
# --------
# Who is arrested again within two years? On the data of COMPAS [1]_ models give false alarms far
# more often for one group than for the other, and a false alarm harms. There are 5,278 people of
# two groups. Without a copy of the data and a network connection, generated data are used.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sklearn
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.classification import ConstrainedERMClassifier
from skfair.datasets import fetch_compas
from skfair.metrics import get_scorer, group_report
from skfair.model_selection import best_subject_to

sklearn.set_config(enable_metadata_routing=True)
warnings.filterwarnings("ignore", message="X reveals the group")  # it has a column of it

try:
    compas = fetch_compas()
    rows = compas.sensitive_features.isin(["African-American", "Caucasian"])
    X = pd.get_dummies(compas.data[rows], dtype=float).to_numpy()
    y = compas.target[rows].to_numpy()
    groups = compas.sensitive_features[rows].to_numpy()
except OSError as error:
    print(f"COMPAS is not available, so generated data are used instead: {error}")
    X, y = make_classification(5000, n_informative=8, flip_y=0.3, random_state=0)
    groups = np.where(X[:, 13] > 0, "a", "b")

X_train, X_test, y_train, y_test, groups_train, groups_test = train_test_split(
    X, y, groups, test_size=0.3, random_state=0
)

# %%
# The search
# ----------
# Every candidate has two cross-validated scores: accuracy, and minus the gap of false positive
# rates, since greater is better for scikit-learn. ``best_subject_to`` selects the most accurate
# candidate with a mean gap of at most .1.

BOUND = 0.1
gap = "neg_false_positive_rate_difference"
search = GridSearchCV(
    make_pipeline(StandardScaler(), ConstrainedERMClassifier("false_positive_rate_parity")),
    {
        "constrainedermclassifier__tolerance": [0.02, 0.06, 0.1, 0.15, 1.0],
        "constrainedermclassifier__alpha": [1e-4, 1e-1],
    },
    scoring={"accuracy": "accuracy", gap: get_scorer(gap)},
    refit=best_subject_to(gap, BOUND),
    cv=5,
)
search.fit(X_train, y_train, sensitive_features=groups_train)
print(search.best_params_)

# %%
# The figure
# ----------
# One mark per candidate, and the tolerance of the selected one. Bars are standard errors over the
# five folds.
# The gap on held-out folds is mostly larger than on the training data, so the selected tolerance
# may be smaller than the bound. The cross is the selected model, refitted, on a separate test set,
# which has sampling noise too.

results = pd.DataFrame(search.cv_results_).rename(columns=lambda name: name.split("__")[-1])
report = group_report(y_test, search.predict(X_test), sensitive_features=groups_test)
test_gap = np.ptp(report["false_positive_rate"].iloc[:-1])
test_accuracy = report.loc["overall", "accuracy"]

figure, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
for (alpha, rows), (color, mark) in zip(
    results.groupby("alpha"), [("#0072B2", "o"), ("#C77700", "s")], strict=True
):
    ax.errorbar(
        -rows[f"mean_test_{gap}"],
        rows["mean_test_accuracy"],
        xerr=rows[f"std_test_{gap}"] / np.sqrt(5),
        fmt=mark,
        color=color,
        elinewidth=0.7,
        label=f"alpha={alpha:g}",
    )
best = results.loc[search.best_index_]
place = (-best[f"mean_test_{gap}"], best["mean_test_accuracy"])
label = f"selected, tolerance of {100 * best['tolerance']:g} points"
ax.plot(*place, "o", ms=15, mfc="none", mec="black", label=label)
ax.plot(test_gap, test_accuracy, "X", color="black", ms=10, label="the same on the test set")
ax.axvline(BOUND, color="black", linewidth=0.8, linestyle="--", label="bound")
ax.set(xlabel="gap of false positive rates, in points", ylabel="accuracy", xlim=(0, None))
ax.xaxis.set_major_formatter(lambda gap, _: f"{100 * gap:g}")
ax.margins(y=0.08)
ax.yaxis.set_major_formatter("{x:.1%}")
ax.legend(frameon=False, loc="lower right")
ax.spines[["top", "right"]].set_visible(False)
figure.suptitle(
    f"For a gap of {100 * BOUND:g} points: a tolerance of {100 * best['tolerance']:g}, and a "
    f"gap of {100 * test_gap:.0f} on the test set",
    x=0.01,
    ha="left",
)

# %%
# Rates of each group under the selected model, on the test set:

report[["n", "selection_rate", "false_positive_rate", "true_positive_rate", "accuracy"]].round(3)

# %%
# .. rubric:: References
#
# .. [1] J. Angwin, J. Larson, S. Mattu and L. Kirchner, "Machine bias", ProPublica, 2016.
