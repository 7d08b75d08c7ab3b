"""
Equalised odds with and without the group as a feature
======================================================

This page shows how much accuracy a model loses under equalised odds if it may not use a person's
group when it decides, on the COMPAS data [1]_. Equalised odds ask for equal true and false positive
rates of two groups. :ref:`group_access` discusses when the group may be used.
"""

# %%
# The data
# --------
# Who is arrested again within two years? 5,278 people of two groups. Race is the protected
# attribute and not a feature. Without a copy of the data and a network connection, generated data
# are used.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

from skfair.classification import ConstrainedERMClassifier
from skfair.datasets import fetch_compas
from skfair.exceptions import ConstraintCostWarning
from skfair.metrics import equalized_odds_difference

warnings.simplefilter("ignore", ConstraintCostWarning)  # the figure shows this cost

try:
    compas = fetch_compas(drop_sensitive=True)
    rows = compas.sensitive_features.isin(["African-American", "Caucasian"])
    X = pd.get_dummies(compas.data[rows], dtype=float).to_numpy()
    y = compas.target[rows].to_numpy()
    race = compas.sensitive_features[rows].to_numpy()
except OSError as error:
    print(f"COMPAS is not available, so generated data are used instead: {error}")
    rng = np.random.default_rng(0)
    race = rng.choice(["a", "b"], size=5000, p=[0.4, 0.6])
    risk = rng.normal(size=5000)
    X = np.column_stack((risk + (race == "b") + rng.normal(size=5000), rng.normal(size=5000)))
    y = (risk + rng.logistic(size=5000) > 0).astype(int)

# %%
# Four models
# -----------
# All are linear. Three of them have equalised odds up to two percentage points: one with the
# features alone, one with an intercept for each group (``group_interactions="intercept"``), and one
# with coefficients for each group as well (``group_interactions=True``). There are ten random
# splits into 70 % training and 30 % test data.

MODELS = {
    "no constraint": LogisticRegression(),
    "without the group": ConstrainedERMClassifier("equalized_odds", tolerance=0.02),
    "intercept by group": ConstrainedERMClassifier(
        "equalized_odds", tolerance=0.02, group_interactions="intercept"
    ),
    "coefficients by group": ConstrainedERMClassifier(
        "equalized_odds", tolerance=0.02, group_interactions=True
    ),
}


def evaluate(name, model, train, test):
    """Test accuracy and gap of one model."""
    (X, y, race), (test_X, test_y, test_race) = train, test
    if name == "no constraint":
        decisions = model.fit(X, y).predict(test_X)
    else:
        model = model.fit(X, y, sensitive_features=race)
        decisions = model.predict(test_X, sensitive_features=test_race)  # not used by the first
    gap = equalized_odds_difference(test_y, decisions, sensitive_features=test_race)
    return {"model": name, "accuracy": accuracy_score(test_y, decisions), "gap": gap}


rows = []
for seed in range(10):
    split = train_test_split(scale(X), y, race, test_size=0.3, random_state=seed)
    for name, model in MODELS.items():
        rows.append(evaluate(name, model, split[::2], split[1::2]))
table = pd.DataFrame(rows)
means = table.groupby("model", sort=False).mean()
constant = max(y.mean(), 1 - y.mean())
print(f"A constant prediction has an accuracy of {constant:.1%}.")
means.round(3)

# %%
# The figure
# ----------
# A faint marker is one split, a solid one the mean of all ten. The model without the group meets
# its bound as well as the others do, and is hardly better than a constant prediction.

colors = ("#333333", "#0072B2", "#C77700", "#009E73")
marks = "os^D"
figure, ax = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
for (name, points), color, mark in zip(
    table.groupby("model", sort=False), colors, marks, strict=True
):
    ax.plot(points["gap"], points["accuracy"], mark, color=color, alpha=0.25, ms=5)
    ax.plot(*means.loc[name, ["gap", "accuracy"]], mark, color=color, ms=11, label=name)
ax.axhline(constant, color="black", linewidth=0.8, linestyle=":", label="constant prediction")
ax.axvline(0.02, color="black", linewidth=0.8, linestyle="--", label="training tolerance")
ax.set(xlabel="equalised odds difference, test set", ylabel="test accuracy")
ax.set_xlim(0, None)
ax.yaxis.set_major_formatter("{x:.0%}")
figure.legend(loc="outside lower center", ncols=3, frameon=False)
without, aware = means.loc[["without the group", "coefficients by group"], "accuracy"]
figure.suptitle(
    f"Equalised odds: test accuracy of {without:.0%} without the group, {aware:.0%} with it"
)

# %%
# .. rubric:: References
#
# .. [1] J. Angwin, J. Larson, S. Mattu and L. Kirchner, "Machine bias", ProPublica, 2016.
