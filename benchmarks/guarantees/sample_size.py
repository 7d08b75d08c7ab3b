"""Power of certificates at the planned sample size."""

import warnings

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.tables import Check, Report
from skfair.audit import certify
from skfair.inference import required_sample_size

RATES = (0.001, 0.005, 0.02, 0.1, 0.2, 0.5)
TOLERANCES = (0.01, 0.05, 0.1, 0.2, 0.5)
N_GROUPS = (2, 4, 10)
MANY = 3000  # samples of a group above which the exact tests would take minutes


IDENTITY = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
"""A classifier whose decision is its only feature."""


def certified_share(n, rate, tolerance, n_groups, n_draws, rng):
    """Proportion of samples in which groups with equal rates are certified."""
    groups = np.repeat(np.arange(n_groups), n)
    # The certificate depends on the counts alone: compute it once for each set of counts.
    draws = np.sort(rng.binomial(n, rate, size=(n_draws, n_groups)), axis=1)
    draws, times = np.unique(draws[:, [0, -1]], axis=0, return_counts=True)
    share = 0
    for (smallest, largest), repeats in zip(draws, times, strict=True):
        counts = np.repeat([smallest, largest], [n_groups - 1, 1])
        decisions = (np.tile(np.arange(n), n_groups) < np.repeat(counts, n)).astype(float)
        certificate = certify(
            IDENTITY,
            decisions[:, np.newaxis],
            decisions.astype(int),
            sensitive_features=groups,
            tolerance=tolerance,
        )
        share += repeats * certificate.certified
    return share / n_draws


def sample_size(budget):
    """Power of certificates at the planned size, by rates, tolerances and groups."""
    n_draws = 2000 if budget.n_runs > 1 else 200
    records, powers = [], []
    for rate in RATES:
        for tolerance in TOLERANCES:
            for n_groups in N_GROUPS:
                n = required_sample_size(tolerance, n_groups=n_groups, rate=rate)
                record = {"rate": rate, "tolerance": tolerance, "groups": n_groups, "n": n}
                if n <= MANY:
                    rng = np.random.default_rng(len(records))
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", UserWarning)  # small groups
                        power = certified_share(n, rate, tolerance, n_groups, n_draws, rng)
                    record["power"] = power
                    powers.append(power)
                records.append(record)
    title = (
        f"Planned for a power of .80 at confidence .95: proportion certified of {n_draws} samples "
        f"(sizes up to {MANY:,})"
    )
    return Report(title, records, [Check("power", powers, ">=", 0.78)])
