"""
A tolerance that holds out of sample
====================================

This page shows how often models that meet a tolerance on their training data meet it in the
population, with and without ``confidence_level``. The population is known: models are fitted to
repeated samples, and the gap of each model is computed on the whole population.
"""

# %%
# The population
# --------------
# 40,000 generated samples in two groups that differ in one of five features.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from skfair.classification import ConstrainedERMClassifier
from skfair.metrics import demographic_parity_difference

rng = np.random.default_rng(0)
group = rng.integers(2, size=40_000)
X = rng.normal(size=(40_000, 5))
X[:, 0] += group
y = X.sum(axis=1) + 2.0 * rng.logistic(size=40_000) > 0.5

# %%
# Fifty training sets
# -------------------
# 800 rows are drawn fifty times. Two models are fitted to each draw: with the tolerance alone, and
# with a confidence level of 95 %.

warnings.filterwarnings("ignore", message="The constraint and confidence_level move")
TOLERANCE, N_DRAWS = 0.1, 50
models = {
    "tolerance .1": ConstrainedERMClassifier(tolerance=TOLERANCE),
    "tolerance .1, confidence_level .95": ConstrainedERMClassifier(
        tolerance=TOLERANCE, confidence_level=0.95
    ),
}
gaps = {name: [] for name in models}
accuracies = {name: [] for name in models}
for _ in range(N_DRAWS):
    rows = rng.integers(len(y), size=800)
    for name, model in models.items():
        decisions = model.fit(X[rows], y[rows], sensitive_features=group[rows]).predict(X)
        gap = demographic_parity_difference(y, decisions, sensitive_features=group)
        gaps[name].append(gap)
        accuracies[name].append(np.mean(decisions == y))

# %%
# The figure
# ----------
# One dot per training set: the gap in the population. Dots right of the line violate the tolerance,
# although each model meets it on its training data.

figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for height, (name, color, mark) in enumerate(zip(gaps, ("#C77700", "#0072B2"), "so", strict=True)):
    spread = height + np.linspace(-0.25, 0.25, N_DRAWS)[rng.permutation(N_DRAWS)]
    is_violated = np.array(gaps[name]) > TOLERANCE
    ax.scatter(gaps[name], spread, 30, color=color, marker=mark, alpha=0.8)
    text = f"{is_violated.sum()} of {N_DRAWS} violate it"
    ax.annotate(text, (0.99, height), xycoords=("axes fraction", "data"), ha="right", va="center")
ax.axvline(TOLERANCE, color="black", linewidth=0.8, linestyle="--")
ax.set(
    yticks=[0, 1],
    yticklabels=[name.replace(", ", ",\n") for name in gaps],
    xlabel="gap of selection rates in the population",
    xlim=(0.0, 1.35 * max(map(max, gaps.values()))),
    ylim=(-0.5, 1.5),
)
plain, guaranteed = (np.mean(values) for values in accuracies.values())
n_violated = [int(np.sum(np.array(values) > TOLERANCE)) for values in gaps.values()]
figure.suptitle(
    f"The tolerance is violated in the population {n_violated[1]} times\ninstead of "
    f"{n_violated[0]}, at {100 * (plain - guaranteed):.1f} points of accuracy"
)

# %%
# The tightened tolerance of the last fit, and the probability of its guarantee:

guaranteed = models["tolerance .1, confidence_level .95"]
probability = guaranteed.guarantee_probability_
tolerance = guaranteed.tightened_tolerances_[0]
print(f"tightened tolerance {tolerance:.3f}, probability {probability:.2f}")
