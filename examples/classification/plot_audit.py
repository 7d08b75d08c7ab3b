"""
Audit a model that you have
===========================

Nothing is trained under a constraint here: a model of boosted trees is looked at, with
:class:`~skfair.audit.FairnessReport`. The page at the end is what ``to_html`` writes.
"""

# %%
# The people
# ----------
# Invented applicants for a loan. Women have lower incomes and shorter careers here, and the model
# is not told who is one.

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from skfair.audit import FairnessReport, certify
from skfair.inference import required_sample_size
from skfair.plotting import GroupRateDisplay

rng, n = np.random.default_rng(0), 6000
people = pd.DataFrame(
    {
        "sex": rng.choice(["female", "male"], size=n, p=[0.4, 0.6]),
        "age": rng.choice(["under 30", "30 to 50", "over 50"], size=n, p=[0.25, 0.6, 0.15]),
    }
)
male, young = people["sex"] == "male", people["age"] == "under 30"
applicants = pd.DataFrame(
    {
        "income": rng.lognormal(np.where(male, 3.7, 3.5), 0.4),
        "debt": rng.gamma(2.0, 5.0, size=n),
        "years_employed": rng.exponential(np.where(young, 3.0, 8.0)),
    }
)
log_odds = applicants @ [0.08, -0.15, 0.1] - 2.0
repaid = (log_odds + rng.logistic(size=n) > 0).astype(int)
X_train, X, y_train, y, _, people = train_test_split(
    applicants, repaid, people, test_size=0.5, random_state=0
)
model = HistGradientBoostingClassifier(max_depth=3, max_iter=50, random_state=0)
model.fit(X_train, y_train)

# %%
# What was found
# --------------
# The report begins with three sentences, and says what its data cannot decide.

report = FairnessReport.from_estimator(
    model, X, y, sensitive_features=people, title="Loans, on people whom the model has not seen"
)
print(*report.findings, sep="\n")
print("\nUndecided:", *report.undecided[:2], sep="\n")

# %%
# As a picture
# ------------
# Selection and errors by sex, each with its interval.

display = GroupRateDisplay.from_predictions(
    y,
    model.predict(X),
    sensitive_features=people["sex"],
    rates=["selection_rate", "true_positive_rate", "false_positive_rate"],
)
gaps = report.gaps[report.gaps["attribute"] == "sex"].set_index("measure")
true_positives = gaps.loc["true_positive_rate"]
display.ax_.set_title(
    f"Of those who would pay back, {true_positives['lowest']}s are recognised\n"
    f"{100 * true_positives['gap_low']:.0f} to {100 * true_positives['gap_high']:.0f} percentage "
    "points less often",
    pad=42,
)

# %%
# A certificate
# -------------
# Whether the gap of true positive rates is below a tolerance in the population, fresh people can
# show. How many that takes can be planned. Those here are enough for a tolerance of .1 if the model
# treats the sexes alike; it does not, and the answer is no.

fresh = {"sensitive_features": people["sex"], "X_fit": X_train}
certificate = certify(model, X, y, constraint="equal_opportunity", tolerance=0.1, **fresh)
print(certificate)
print(f"A tolerance of .1 takes {required_sample_size(0.1, rate=0.8)} people of each group,")
print(f"one of .02 takes {required_sample_size(0.02, rate=0.8)}.")

# %%
# The whole report
# ----------------
# As a notebook shows it; ``report.to_html("report.html")`` writes the same as a page of its own.

report
