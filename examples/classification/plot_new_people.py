"""
A tolerance promised to people not yet seen
===========================================

A fit keeps its tolerance among its own people. How often does the population that they were drawn
from keep it too? Here the population is known: sample after sample is drawn from it, and the gap of
each model is counted among all.
"""

# %%
# The population
# --------------
# 40,000 invented people in two groups that differ in one of five columns.

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
# Fifty samples
# -------------
# Each sample of 800 people is fitted twice: as it is, and with a confidence level of 95 %.

TOLERANCE, N_SAMPLES = 0.1, 50
models = {
    "tolerance .1": ConstrainedERMClassifier(tolerance=TOLERANCE),
    "tolerance .1, confidence_level .95": ConstrainedERMClassifier(
        tolerance=TOLERANCE, confidence_level=0.95
    ),
}
gaps = {name: [] for name in models}
accuracies = {name: [] for name in models}
for _ in range(N_SAMPLES):
    rows = rng.integers(len(y), size=800)
    for name, model in models.items():
        decisions = model.fit(X[rows], y[rows], sensitive_features=group[rows]).predict(X)
        gap = demographic_parity_difference(y, decisions, sensitive_features=group)
        gaps[name].append(gap)
        accuracies[name].append(np.mean(decisions == y))

# %%
# The picture
# -----------
# A dot per sample: the gap among all people. Those right of the line break the tolerance, although
# each of the models keeps it among the people of its fit.

figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for height, (name, color, mark) in enumerate(zip(gaps, ("#E69F00", "#0072B2"), "so", strict=True)):
    spread = height + np.linspace(-0.25, 0.25, N_SAMPLES)[rng.permutation(N_SAMPLES)]
    is_broken = np.array(gaps[name]) > TOLERANCE
    ax.scatter(gaps[name], spread, 30, color=color, marker=mark, alpha=0.8)
    said = f"{is_broken.sum()} of {N_SAMPLES} break it"
    ax.annotate(said, (0.99, height), xycoords=("axes fraction", "data"), ha="right", va="center")
ax.axvline(TOLERANCE, color="black", linewidth=0.8, linestyle="--")
ax.set(
    yticks=[0, 1],
    yticklabels=[name.replace(", ", ",\n") for name in gaps],
    xlabel="gap of selection rates in the population",
    xlim=(0.0, 1.35 * max(map(max, gaps.values()))),
    ylim=(-0.5, 1.5),
)
plain, certain = (np.mean(of_name) for of_name in accuracies.values())
broken = [int(np.sum(np.array(of_name) > TOLERANCE)) for of_name in gaps.values()]
figure.suptitle(
    f"The population breaks the tolerance {broken[1]} times instead of {broken[0]}, "
    f"with {plain - certain:.1%} fewer right"
)

# %%
# What the last fit was held to, and how certain it is:

certain = models["tolerance .1, confidence_level .95"]
probability = certain.guarantee_probability_
print(f"tightened tolerance {certain.tightened_tolerances_[0]:.3f}, probability {probability:.2f}")
