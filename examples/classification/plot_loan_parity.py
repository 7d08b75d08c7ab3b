"""
A loan model under demographic parity
=====================================

This page compares a loan model without constraint and one with demographic parity, and shows what
each tolerance costs. The bank wants to lend to women and men equally often, up to a few percentage
points.
"""

# %%
# The applicants
# --------------
# Generated data: income, debt, years with the employer and weekly hours of 20,000 applicants, and
# whether they paid back. Men earn more and stay longer, hence they pay back more often. Hours have
# no effect on that.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from skfair.classification import ConstrainedERMClassifier
from skfair.datasets import make_loans
from skfair.metrics import group_report
from skfair.plotting import GroupRateDisplay

applicants, repaid, sex = make_loans(20_000, random_state=0)
X_train, X_test, y_train, y_test, sex_train, sex_test = train_test_split(
    applicants, repaid, sex, test_size=0.5, random_state=0
)
pd.Series(repaid).groupby(sex).agg(["size", "mean"]).round(3)

# %%
# Two models
# ----------
# The first is unconstrained: a tolerance of 1 has no effect. In the second the shares of women and
# of men who get a loan may differ by five percentage points. Its two selection rates, the upper
# pair of dots, are nearly equal on the test set. The true positive rates become more equal too,
# although they are not constrained. Of those who would not pay back, women now get a loan more
# often than men.


def fit(tolerance):
    """A loan model whose selection rates differ by at most the tolerance."""
    model = ConstrainedERMClassifier("demographic_parity", tolerance=tolerance)
    return model.fit(X_train, y_train, sensitive_features=sex_train)


figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 5.4), layout="constrained")
for ax, (name, tolerance) in zip(
    axes, {"without constraint": 1.0, "tolerance of 5 points": 0.05}.items(), strict=True
):
    model = fit(tolerance)
    GroupRateDisplay.from_estimator(model, X_test, y_test, sensitive_features=sex_test, ax=ax)
    rates = group_report(y_test, model.predict(X_test), sensitive_features=sex_test)
    gap = 100 * (rates.loc["male"] - rates.loc["female"])["selection_rate"]
    accuracy = 100 * model.score(X_test, y_test)
    ax.set_title(f"{name}: gap of {gap:.0f} points, accuracy {accuracy:.1f} %", loc="left")
    ax.get_legend().remove()
axes[0].set_xlabel("")
figure.legend(
    *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
)

# %%
# What a tolerance costs
# ----------------------
# The same fit for a sequence of tolerances. The training gap, of counted decisions, never exceeds
# the tolerance (dashed), and may be smaller for the most accurate model. The test gap differs by
# sampling noise. All bars are for one test set, so their errors are correlated.

tolerances = np.array([0.01, 0.02, 0.03, 0.05, 0.07, 0.09, 0.11, 0.13, 0.15])
rows = []
for tolerance in tolerances:
    model = fit(tolerance)
    report = group_report(
        y_test, model.predict(X_test), sensitive_features=sex_test, confidence_level=0.95
    )
    rates = report.loc[["female", "male"]]
    rows.append(
        {
            "tolerance": tolerance,
            "training gap": model.constraint_report_["gap"].iloc[0],
            "gap": np.ptp(rates["selection_rate"]),
            "standard error": np.sqrt((rates["selection_rate_standard_error"] ** 2).sum()),
            "accuracy": report.loc["overall", "accuracy"],
        }
    )
table = pd.DataFrame(rows).set_index("tolerance")
table.round(3)

# %%
# Here the cost of parity is about linear. In other data the first points may be free.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
points = 100 * tolerances
left.plot(points, points, "--", color="black", linewidth=0.8, label="tolerance")
left.plot(points, 100 * table["training gap"], "o-", color="#0072B2", label="training data")
left.errorbar(
    points,
    100 * table["gap"],
    yerr=200 * table["standard error"],
    fmt="s",
    color="#C77700",
    capsize=2.5,
    label="test data, ± 2 s.e.",
)
left.set(ylim=(0, None))
left.set_title("gap of selection rates, in points", loc="left", fontsize="medium")
left.legend(loc="upper left", frameon=False)
plain = fit(1.0).score(X_test, y_test)
right.plot(points, 100 * table["accuracy"], "o-", color="#0072B2", label="within the tolerance")
right.axhline(100 * plain, color="black", linewidth=0.8, linestyle=":", label="without constraint")
right.legend(loc="lower right", frameon=False)
right.set_title("test accuracy, in %", loc="left", fontsize="medium")
for ax in (left, right):
    ax.set_xlabel("tolerance, in points")
    ax.spines[["top", "right"]].set_visible(False)
cost = plain - table.loc[0.05, "accuracy"]
figure.suptitle(
    f"A tolerance of 5 points costs {100 * cost:.1f} points of accuracy", x=0.01, ha="left"
)

# %%
# What did the constraint do to the coefficients? It counts short hours in an applicant's favour,
# because women work shorter hours here, although hours have nothing to do with paying back. So a
# woman with long hours is disadvantaged, and a man with short hours benefits. A model without
# access to the group reaches parity through correlated features (proxies). Whether that is fair to
# these two people is a question that no rate answers.

coefficients = {tolerance: fit(tolerance).coef_[0] for tolerance in (1.0, 0.1, 0.05, 0.02)}
pd.DataFrame(coefficients, index=applicants.columns).rename_axis(columns="tolerance").round(3)
