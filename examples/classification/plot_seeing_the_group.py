"""
What it costs not to see the group
==================================

Two groups shall be given false alarms and true ones equally often. May the model look at a person's
group when it decides? If not, it has to give up what the features tell about people. This page
draws how much, on the data of COMPAS [1]_; :ref:`group_access` says what to think of first.
"""

# %%
# The people
# ----------
# Who is arrested again within two years? 5,278 people of two groups; their race is the group and no
# feature. Without a copy of the data and without a network generated people stand in.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

from skfair.classification import ConstrainedERMClassifier
from skfair.datasets import fetch_compas
from skfair.metrics import equalized_odds_difference

try:
    people = fetch_compas(drop_sensitive=True)
    rows = people.sensitive_features.isin(["African-American", "Caucasian"])
    X = pd.get_dummies(people.data[rows], dtype=float).to_numpy()
    y, race = people.target[rows].to_numpy(), people.sensitive_features[rows].to_numpy()
except OSError as error:
    print(f"COMPAS is not to be had, so generated people stand in for it: {error}")
    rng = np.random.default_rng(0)
    race = rng.choice(["a", "b"], size=5000, p=[0.4, 0.6])
    risk = rng.normal(size=5000)
    X = np.column_stack((risk + (race == "b") + rng.normal(size=5000), rng.normal(size=5000)))
    y = (risk + rng.logistic(size=5000) > 0).astype(int)

# %%
# Four models
# -----------
# All are linear. Three of them are asked for equalised odds up to two percentage points: one that
# sees the features alone, one with an intercept of its own for each group
# (``group_interactions="intercept"``), and one with coefficients of its own as well
# (``group_interactions=True``). Ten times 70 % of the people are for the fit and the others are
# new.

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


def judge(name, model, train, new):
    """Accuracy and gap on new people of one model."""
    (X, y, race), (new_X, new_y, new_race) = train, new
    if name == "no constraint":
        decisions = model.fit(X, y).predict(new_X)
    else:
        model = model.fit(X, y, sensitive_features=race)
        decisions = model.predict(new_X, sensitive_features=new_race)  # the blind one ignores it
    gap = equalized_odds_difference(new_y, decisions, sensitive_features=new_race)
    return {"model": name, "accuracy": accuracy_score(new_y, decisions), "gap": gap}


rows = []
for seed in range(10):
    split = train_test_split(scale(X), y, race, test_size=0.3, random_state=seed)
    for name, model in MODELS.items():
        rows.append(judge(name, model, split[::2], split[1::2]))
table = pd.DataFrame(rows)
means = table.groupby("model", sort=False).mean()
constant = max(y.mean(), 1 - y.mean())
print(f"Always the same answer would be right for {constant:.1%}.")
means.round(3)

# %%
# The picture
# -----------
# A faint mark is one split, a full one the mean of all ten. The model without the group keeps its
# bound as well as the others do, and is hardly better than the same answer for everybody.

colors, marks = ("#333333", "#0072B2", "#E69F00", "#009E73"), "os^D"
figure, ax = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
for (name, points), color, mark in zip(
    table.groupby("model", sort=False), colors, marks, strict=True
):
    ax.plot(points["gap"], points["accuracy"], mark, color=color, alpha=0.25, ms=5)
    ax.plot(*means.loc[name, ["gap", "accuracy"]], mark, color=color, ms=11, label=name)
ax.axhline(constant, color="black", linewidth=0.8, linestyle=":", label="always the same answer")
ax.axvline(0.02, color="black", linewidth=0.8, linestyle="--", label="tolerance of the fit")
ax.set(xlabel="gap of equalised odds on new people", ylabel="accuracy on new people")
ax.set_xlim(0, None)
ax.yaxis.set_major_formatter("{x:.0%}")
figure.legend(loc="outside lower center", ncols=3, frameon=False)
blind, seeing = means.loc[["without the group", "coefficients by group"], "accuracy"]
figure.suptitle(
    f"Equalised odds on new people: {blind:.0%} right without the group, {seeing:.0%} with it"
)

# %%
# .. rubric:: References
#
# .. [1] J. Angwin, J. Larson, S. Mattu and L. Kirchner, "Machine bias", ProPublica, 2016.
