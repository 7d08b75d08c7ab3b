"""
Admissions near the cut-off
===========================

This page bounds the difference of two groups' admission rates at all cut-offs of a given interval,
by :class:`~skfair.classification.PartialParityClassifier`. A training programme rejects the
applicants who are least likely to succeed. How many it rejects changes from year to year, but not
by much. For most people the decision is the same in every year. Fairness matters for those near the
cut-off.
"""

# %%
# The applicants
# --------------
# 20,798 students of law schools in the United States, their grades, and whether they passed the bar
# examination [1]_. Race is the protected attribute and not a feature. Without a copy of the data
# and a network connection, generated applicants are used.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from skfair.classification import PartialParityClassifier
from skfair.constraints import PartialStatisticalParity
from skfair.datasets import fetch_law_school
from skfair.metrics import partial_statistical_parity_difference
from skfair.plotting import GroupRateCurveDisplay, ScoreDistributionDisplay


def generate_applicants(n=20_000, seed=0):
    """Features, success and groups of applicants, with test scores that differ between groups."""
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
    students = fetch_law_school(drop_sensitive=True)
    X = pd.get_dummies(students.data, dtype=float)
    passed = students.target.to_numpy() == 1
    race = students.sensitive_features.to_numpy()
except OSError as error:
    print(f"The data are not available, so generated applicants are used instead: {error}")
    X, passed, race = generate_applicants()

X_train, X_test, y_train, y_test, race_train, race_test = train_test_split(
    X, passed, race, test_size=0.5, random_state=0
)

# %%
# The models
# ----------
# In some years the programme rejects a tenth, in others a quarter. Ranks count from the best, so
# the cut-off is between the ranks .75 and .9. With ``scale="raw"`` the tolerance is in percentage
# points of whole groups: at every cut-off that admits between 75 % and 90 % of one of the groups,
# the admission rates of the two may differ by at most five points. The model called *full* has this
# constraint at all cut-offs. The first three models use features alone. The last one has
# coefficients for each group, and requires the group to predict.

INTERVAL = (0.75, 0.9)
TOLERANCE = 0.05
settings = {
    "plain": {"tolerance": 1.0},
    "full": {"tolerance": TOLERANCE},
    "partial": {"tolerance": TOLERANCE, "constraint__interval": INTERVAL},
    "partial, by group": {
        "tolerance": TOLERANCE,
        "constraint__interval": INTERVAL,
        "group_interactions": True,
    },
}
scores = {}
for name, params in settings.items():
    model = PartialParityClassifier(PartialStatisticalParity(scale="raw")).set_params(**params)
    model.fit(X_train, y_train, sensitive_features=race_train)
    scores[name] = model.decision_function(X_test, sensitive_features=race_test)

# %%
# Admission rates near the cut-off
# --------------------------------
# The curves cover all cut-offs of the test set, from no admission to admission of all. Bands mark
# the interval, in which partial parity keeps the curve near the diagonal. The plain model
# admits White applicants far more often at every cut-off. At higher cut-offs, which admit fewer,
# partial parity allows a larger difference than full parity.

figure, axes = plt.subplots(1, 2, figsize=(9.6, 5.2), layout="constrained")
for ax, limits in zip(axes, [(0, 1), (0.6, 1)], strict=True):
    for name in ("plain", "full", "partial"):
        GroupRateCurveDisplay.from_predictions(
            scores[name],
            sensitive_features=race_test,
            interval=INTERVAL,
            reference="White",
            name=name,
            ax=ax,
        )
    ax.set(xlim=limits, ylim=limits)
    ax.get_legend().remove()
largest = {
    name: partial_statistical_parity_difference(
        score, sensitive_features=race_test, interval=INTERVAL, scale="raw"
    )
    for name, score in scores.items()
}
figure.legend(
    *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
)
figure.suptitle(
    "Largest difference of admission rates within the bands, test set:\n"
    + ", ".join(f"{name} {100 * largest[name]:.0f}" for name in ("plain", "full", "partial"))
    + " points"
)

# %%
# Score densities of the two groups; the interval is shaded. Under partial parity both shaded parts
# are at nearly the same scores.

figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
for ax, name in zip(axes, ["plain", "partial"], strict=True):
    ScoreDistributionDisplay.from_predictions(
        scores[name], sensitive_features=race_test, interval=INTERVAL, ax=ax
    )
    ax.get_legend().remove()
    auc = roc_auc_score(y_test, scores[name])
    ax.set_title(f"{name}: AUC {auc:.2f}", loc="left")
figure.legend(
    *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
)
figure.suptitle("Partial parity aligns scores near the cut-off; they predict success less well")

# %%
# Cost
# ----
# The largest difference of admission rates over the cut-offs of the interval, and the AUC of the
# scores, on the test set. Without the group a linear model can shift one group relative to the
# other only by correlated features (proxies), and loses much of their information. Partial parity
# loses a little less than full parity. If the model may use the group, most of the cost vanishes.
# Whether it may is a question of law, not of statistics.

rows = {
    name: {
        "largest difference": largest[name],
        "AUC": roc_auc_score(y_test, score),
        "pass, of the best 85 %": y_test[score > np.quantile(score, 0.15)].mean(),
    }
    for name, score in scores.items()
}
pd.DataFrame.from_dict(rows, orient="index").round(3)

# %%
# .. rubric:: References
#
# .. [1] L. F. Wightman, "LSAC national longitudinal bar passage study", 1998.
