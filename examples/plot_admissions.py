"""
Admissions near the cut-off
===========================

A school turns away the applicants who are least likely to succeed. How many they are changes from
year to year, but not by much. Nearly everybody's answer is the same whatever the year; fairness
matters for those near the cut-off. :class:`~skfair.classification.PartialParityClassifier` treats
two groups alike there, wherever the cut-off falls in a given interval, and leaves the others free.
"""

# %%
# The applicants
# --------------
# 20,798 students of law schools in the United States, and whether they passed the bar examination
# [1]_. The model sees what is known when somebody applies; it does not see race. Without a copy of
# the data and without a network, invented applicants stand in.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from skfair.classification import PartialParityClassifier
from skfair.datasets import fetch_law_school
from skfair.metrics import partial_statistical_parity_difference
from skfair.plotting import GroupRateCurveDisplay, GroupScoreDisplay


def invented_applicants(n=20_000, seed=0):
    """Features, success and groups of people in whom test scores differ between the groups."""
    rng = np.random.default_rng(seed)
    race = rng.choice(["Non-White", "White"], size=n, p=[0.16, 0.84])
    ability = rng.normal(size=n)
    X = pd.DataFrame(
        {
            "lsat": 37 + 4 * ability + 5 * (race == "White") + rng.normal(scale=3, size=n),
            "ugpa": 3.2 + 0.2 * ability + rng.normal(scale=0.3, size=n),
            "fam_inc": rng.normal(3 + 0.4 * (race == "White"), 0.8),
        }
    )
    passed = 2.2 + 1.2 * ability + 0.7 * (race == "White") + rng.logistic(size=n) > 0
    return X, passed, race


try:
    people = fetch_law_school(drop_sensitive=True)
    known = ["lsat", "ugpa", "fulltime", "fam_inc", "sex", "tier"]
    X = pd.get_dummies(people.data[known], dtype=float)
    passed, race = people.target.to_numpy() == 1, people.sensitive_features.to_numpy()
except OSError as error:
    print(f"The data is not to be had, so invented applicants stand in for it: {error}")
    X, passed, race = invented_applicants()

X_train, X_new, y_train, y_new, race_train, race_new = train_test_split(
    X, passed, race, test_size=0.5, random_state=0
)

# %%
# Three models
# ------------
# In some years the school turns away a tenth, in others a quarter. Ranks count from the best, so
# that the cut-off falls between the ranks .75 and .9. With ``tolerance_scale="raw"`` the tolerance
# is in percentage points of whole groups: at every cut-off that admits between 75 % and 90 % of
# one of the groups, the admission rates of the two may differ by at most three points. The model
# called *full* keeps the same tolerance at all cut-offs.

INTERVAL, TOLERANCE = (0.75, 0.9), 0.03
asked = {"plain": ((0.0, 1.0), 1.0), "partial": (INTERVAL, TOLERANCE), "full": ((0, 1), TOLERANCE)}
models = {
    name: PartialParityClassifier(
        interval=interval, tolerance=tolerance, tolerance_scale="raw"
    ).fit(X_train, y_train, sensitive_features=race_train)
    for name, (interval, tolerance) in asked.items()
}

# %%
# What they do near the cut-off
# -----------------------------
# Each curve runs over all cut-offs of new applicants, from admitting nobody to admitting everybody.
# Bands mark the interval; in the grey square, and in the bands beside it, partial parity asks for
# the diagonal. The plain model admits White applicants far more often at every cut-off.

figure, axes = plt.subplots(1, 2, figsize=(9.6, 5), layout="constrained")
for ax, limits in zip(axes, [(0, 1), (0.6, 1)], strict=True):
    for name, model in models.items():
        GroupRateCurveDisplay.from_estimator(
            model, X_new, sensitive_features=race_new, interval=INTERVAL, name=name, ax=ax
        )
    ax.set(xlim=limits, ylim=limits)
axes[0].get_legend().remove()
figure.suptitle("Wherever the cut-off falls in the interval, the groups are admitted alike")

# %%
# The scores of the two groups, those in the interval shaded. A fair model does not have the same
# people in both shaded parts, but as many at every score.

figure, axes = plt.subplots(1, 2, sharey=True, figsize=(9.6, 3.6), layout="constrained")
for ax, name in zip(axes, ["plain", "partial"], strict=True):
    GroupScoreDisplay.from_estimator(
        models[name], X_new, sensitive_features=race_new, interval=INTERVAL, ax=ax
    )
    ax.set_title(name, loc="left", pad=24)
figure.suptitle("Partial parity brings the contested scores together")

# %%
# What it costs
# -------------
# The largest difference of admission rates over the cut-offs of the interval, and how well the
# scores foretell who passes, all on new applicants.

rows = {}
for name, model in models.items():
    scores = model.decision_function(X_new)
    rows[name] = {
        "largest difference": partial_statistical_parity_difference(
            scores, sensitive_features=race_new, interval=INTERVAL, scale="raw"
        ),
        "AUC": roc_auc_score(y_new, scores),
        "log loss": log_loss(y_new, model.predict_proba(X_new)),
        "pass, of the best 85 %": y_new[scores > np.quantile(scores, 0.15)].mean(),
    }
pd.DataFrame.from_dict(rows, orient="index").round(3)

# %%
# .. rubric:: References
#
# .. [1] L. F. Wightman, "LSAC national longitudinal bar passage study", 1998.
