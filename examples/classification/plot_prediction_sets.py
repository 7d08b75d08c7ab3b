"""
Prediction intervals that cover every group
===========================================

An interval of 90 % coverage should contain the truth for 90 % of each group. One width for all
patients covers the group with larger errors less often. :ref:`prediction_sets` explains the method.
"""

# %%
# The data
# --------
# A laboratory value of 6,000 generated patients in two clinics. Clinic B has a fifth of them, is
# somewhat different in its features, and measures less exactly.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

from skfair.conformal import ConformalRegressor

rng = np.random.default_rng(0)
clinic = rng.choice(["A", "B"], size=6000, p=[0.8, 0.2])
X = rng.normal(size=(6000, 3)) + 1.2 * (clinic == "B")[:, np.newaxis]
y = 100 + 5 * X.sum(axis=1) + np.where(clinic == "B", 10.0, 5.0) * rng.normal(size=6000)
train = np.arange(6000) < 3000
test = np.arange(6000) >= 3000

# %%
# Three rules
# -----------
# One width for all, a width for each clinic, and a width from the features alone. The last one
# needs the clinic only in ``fit``: a small model of the clinic given the features is part of it.

models = {
    "one width": (ConformalRegressor(LinearRegression()), np.full(3000, "all")),
    "features only": (ConformalRegressor(LinearRegression()), clinic[train]),
    "width by clinic": (
        ConformalRegressor(LinearRegression(), group_estimator="sensitive_features"),
        clinic[train],
    ),
}
tables = []
for name, (model, groups) in models.items():
    model.fit(X[train], y[train], sensitive_features=groups)
    known = {"sensitive_features": clinic[test]} if name == "width by clinic" else {}
    low, high = model.predict_interval(X[test], **known).T
    frame = pd.DataFrame({"coverage": (low <= y[test]) & (y[test] <= high), "width": high - low})
    tables.append(frame.groupby(clinic[test]).mean().assign(rule=name))
table = pd.concat(tables).rename_axis("clinic").reset_index()
table.round(3)

# %%
# The figure
# ----------
# Both equal rules cover each clinic at the level. Patients of clinic B get wider intervals, as
# their values are less certain, and those of clinic A narrower ones than by one width.

STYLES = [("#767676", "o"), ("#0072B2", "s"), ("#A86400", "^")]
PANELS = {"coverage": "patients covered, in %", "width": "mean width of the interval"}
figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained", sharey=True)
for ax, (column, title) in zip(axes, PANELS.items(), strict=True):
    values = table.pivot(index="clinic", columns="rule", values=column)[list(models)]
    values = 100 * values if column == "coverage" else values
    for shift, rule, (color, mark) in zip((0.22, 0, -0.22), models, STYLES, strict=True):
        heights = np.arange(len(values))[::-1] + shift
        ax.plot(values[rule], heights, mark, color=color, ms=8, label=rule)
        for value, height in zip(values[rule], heights, strict=True):
            text = f"{value:.0f}" if column == "coverage" else f"{value:.1f}"
            ax.annotate(
                text, (value, height), (8, 0), textcoords="offset points", va="center", color=color
            )
    ax.set_title(title, loc="left", fontsize="medium", fontweight="normal")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(left=False)
    ax.margins(x=0.15, y=0.2)
axes[0].set_yticks(np.arange(len(values))[::-1], [f"clinic {name}" for name in values.index])
axes[0].axvline(90, color="black", linewidth=1, linestyle="--")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=3)
worst = table[table["rule"] == "one width"]["coverage"].min()
figure.suptitle(
    f"Asked for 90 %: one width covers {100 * worst:.0f} % of clinic B", x=0.01, ha="left"
)
plt.show()
