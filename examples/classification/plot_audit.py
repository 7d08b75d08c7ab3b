"""
Fairness audit of an existing model
===================================

This page audits an unconstrained model of boosted trees with
:class:`~skfair.audit.FairnessReport`. The page at the end is the output of ``to_html``, which can
be attached to a model card.
"""

# %%
# The data
# --------
# Generated applicants for a loan. Women have lower incomes and young people shorter careers.
# Neither sex nor age is a feature of the model.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from skfair.audit import Audit
from skfair.plotting import (
    GroupCalibrationDisplay,
    GroupRateDisplay,
    ScoreDistributionDisplay,
)
from skfair.statistics import required_sample_size

rng = np.random.default_rng(0)
n = 6000
attributes = pd.DataFrame(
    {
        "sex": rng.choice(["female", "male"], size=n, p=[0.4, 0.6]),
        "age": rng.choice(["under 30", "30 to 50", "over 50"], size=n, p=[0.25, 0.6, 0.15]),
    }
)
male = attributes["sex"] == "male"
young = attributes["age"] == "under 30"
applicants = pd.DataFrame(
    {
        "income": rng.lognormal(np.where(male, 3.7, 3.5), 0.4),
        "debt": rng.gamma(2.0, 5.0, size=n),
        "years_employed": rng.exponential(np.where(young, 3.0, 8.0)),
    }
)
log_odds = applicants @ [0.08, -0.15, 0.1] - 2.0
repaid = (log_odds + rng.logistic(size=n) > 0).astype(int)
X_train, X, y_train, y, _, attributes = train_test_split(
    applicants, repaid, attributes, test_size=0.5, random_state=0
)
model = HistGradientBoostingClassifier(max_depth=3, max_iter=50, random_state=0)
model.fit(X_train, y_train)

# %%
# Findings
# --------
# The report begins with three sentences, and lists what the data cannot decide.

audit = Audit.from_estimator(model, X, y, sensitive_features=attributes, X_fit=X_train)
report = audit.report(title="Loans, on held-out applicants")
print(*report.findings, sep="\n")
print("\nOpen questions:", *report.open_questions[:2], sep="\n")

# %%
# Rates by group
# --------------
# Selection and error rates by sex, with confidence intervals.

display = GroupRateDisplay.from_predictions(
    y,
    model.predict(X),
    sensitive_features=attributes["sex"],
    metrics=["selection_rate", "true_positive_rate", "false_positive_rate"],
)
gaps = report.gaps[report.gaps["attribute"] == "sex"].set_index("metric")
true_positives = gaps.loc["true_positive_rate"]
display.figure_.suptitle(
    "Women who would pay back are accepted "
    f"{100 * true_positives['gap_low']:.0f} to {100 * true_positives['gap_high']:.0f}\n"
    "points less often than men who would",
    x=0.01,
    ha="left",
)

# %%
# Scores by group
# ---------------
# The model does not know the sex, and its probabilities are calibrated for both: the frequencies of
# repayment are near the diagonal, up to their intervals. The scores themselves differ, so that the
# same threshold selects fewer women.

figure, axes = plt.subplots(1, 2, figsize=(10.4, 4.6), layout="constrained")
GroupCalibrationDisplay.from_estimator(
    model, X, y, sensitive_features=attributes["sex"], n_bins=5, ax=axes[0]
)
ScoreDistributionDisplay.from_estimator(model, X, sensitive_features=attributes["sex"], ax=axes[1])
figure.suptitle("Equal probabilities mean equal frequencies, but those of women are lower")

# %%
# Subgroups
# ---------
# All combinations of conditions on the attributes are searched for selection rates that depart from
# the rest. The limits hold for all of them together.

subgroups = audit.subgroups()
subgroups.plot().figure_.suptitle(
    "Women, and people under 30, are selected less often than all others", x=0.01, ha="left"
)

# %%
# A certificate
# -------------
# Held-out data can certify that the gap of true positive rates in the population is below a
# tolerance, and the required sample size can be planned. This sample would suffice for a tolerance
# of .1 if the true positive rates were equal. They differ, so the gap is not certified.

by_sex = Audit.from_estimator(model, X, y, sensitive_features=attributes["sex"])
certificate = by_sex.certify("equal_opportunity", tolerance=0.1)
print(certificate)
print(f"A tolerance of .1 requires {required_sample_size(0.1, rate=0.8)} samples of each group,")
print(f"one of .02 requires {required_sample_size(0.02, rate=0.8)}.")

# %%
# The full report
# ---------------
# As in a notebook; ``report.to_html("report.html")`` writes the same to a file.

report
