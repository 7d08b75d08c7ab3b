"""Gaps of the population next to the tolerance of a fit: the figures of the README.

The population is that of the guide: loan applicants with four features. Each of several samples is
fitted with and without a guarantee, and the gap of the fit is computed on the population.
"""

import warnings
from itertools import product

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.metrics import group_report

TOLERANCE = 0.05
N_SAMPLES = 20
POPULATION_SIZE, POPULATION_SEED = 200_000, 10_000

MODELS = {
    "linear classifier": lambda level: ConstrainedERMClassifier(
        tolerance=TOLERANCE, confidence_level=level
    ),
    "around logistic regression": lambda level: ConstrainedClassifierCV(
        LogisticRegression(max_iter=1000), tolerance=TOLERANCE, confidence_level=level
    ),
}
CASES = (
    ("around logistic regression", 1_500),
    ("linear classifier", 1_500),
    ("linear classifier", 6_000),
)
"""Models and sample sizes."""


def draw_applicants(n, seed):
    """Features of applicants, whether they paid back, and whether they are men."""
    rng = np.random.default_rng(seed)
    male = rng.random(n) < 0.6
    X = np.column_stack(
        (
            rng.lognormal(np.where(male, 3.7, 3.5), 0.4),
            rng.gamma(2.0, 5.0, size=n),
            rng.exponential(np.where(male, 8.0, 6.0)),
            rng.normal(np.where(male, 39.0, 33.0), 4.0),
        )
    )
    repaid = X @ [0.08, -0.15, 0.1, 0.0] - 2.0 + rng.logistic(size=n) > 0
    return X, repaid, male


@smallest(POPULATION_SIZE=2000, CASES=CASES[:2])
def new_data(budget):
    """Gaps of the population, of fits to samples of two sizes, with and without a guarantee.

    "s.e. of a gap" is the standard error of the gap that held-out data of the size of the sample
    show: gaps of two groups are differences of two rates, and their variances add up.
    """
    n_samples = max(2, round(N_SAMPLES * budget.fraction))
    population = draw_applicants(POPULATION_SIZE, POPULATION_SEED)
    records, checks = [], []
    for (name, size), level in product(CASES, (None, 0.95)):
        fits = [_fit(MODELS[name](level), size, seed, population) for seed in range(n_samples)]
        row = {key: np.array([one[key] for one in fits]) for key in fits[0]}
        broken = float(np.mean(row["is_guaranteed"] & (row["gap"] > TOLERANCE)))
        records.append(
            {
                "model": name,
                "samples": size,
                "level": level or "none",
                "mean gap": row["gap"].mean(),
                "largest gap": row["gap"].max(),
                "above": np.mean(row["gap"] > TOLERANCE),
                "guaranteed": row["is_guaranteed"].mean(),
                "guaranteed and above": broken,
                "s.e. of a gap": row["error"].mean(),
                "selected": row["rate"].mean(),
            }
        )
        if level is not None:
            allowed = 1.0 - level + 2.0 * np.sqrt(level * (1.0 - level) / n_samples)
            what = f"guaranteed and above, {name}, {size:,} samples"
            checks.append(Check(what, [broken], "<=", round(allowed, 4)))
    title = f"Population gaps of fits to {n_samples} samples each, tolerance {TOLERANCE}"
    return Report(title, records, checks)


def _fit(model, size, seed, population):
    """Gap and rate of a fit in the population, and the standard error of a gap of its size."""
    X, repaid, male = draw_applicants(size, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, repaid, sensitive_features=male)
    X, repaid, male = population
    report = group_report(repaid, model.predict(X), sensitive_features=male)
    rates = report["selection_rate"].drop("overall").to_numpy()
    sizes = report["n"].drop("overall").to_numpy() * size / len(repaid)
    level = model.confidence_level
    return {
        "gap": float(np.ptp(rates)),
        "rate": float(report.loc["overall", "selection_rate"]),
        "error": float(np.sqrt((rates * (1.0 - rates) / sizes).sum())),
        "is_guaranteed": level is not None and model.guarantee_probability_ >= level,
    }
