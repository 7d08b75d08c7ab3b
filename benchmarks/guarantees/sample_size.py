"""Power of certificates and of guaranteed fits at the planned sample size."""

import warnings
from itertools import product

import numpy as np

from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report, join_reports
from skfair.audit import Audit
from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import DemographicParity
from skfair.statistics import required_sample_size

N_CERTIFICATES = {5: 2000, 1: 200}
N_FITS = {5: 20, 1: 4}
"""Draws of each case, by the runs of the budget."""

RATES = (0.001, 0.005, 0.02, 0.1, 0.2, 0.5)
TOLERANCES = (0.01, 0.05, 0.1, 0.2, 0.5)
RATIOS = (0.6, 0.8)
EXPECTED = {"tolerance": 0.1, "expected": 0.05}
"""A bound of models that have a gap."""
N_GROUPS = (2, 4, 10)
MANY = 3000  # samples of a group above which the exact tests would take minutes

SIZES = (1_000, 5_000, 30_000, 200_000)
GROUPS = (2, 4, 6, 10)
MANY_OF_FIT = 30_000  # samples above which redraws of a fit would take minutes
USEFUL = (0.05, 0.95)
"""Selection rates between which the guarantee of a fit is counted: others are nearly constant."""

COLUMNS = 15
OTHER_FITS = (
    (1_000, 2, "demographic_parity", 5),
    (1_000, 2, "demographic_parity", 40),
    (2_000, 2, "equal_opportunity", 15),
    (4_000, 4, "equal_opportunity", 15),
)
"""Further fits: samples, groups, constraint and columns."""


def certified_share(n, rate, constraint, n_groups, n_draws, rng):
    """Proportion of samples that are certified, drawn with one rate, or with one of each group."""
    groups = np.repeat(np.arange(n_groups), n)
    # The certificate depends on the counts alone: compute it once for each set of counts.
    draws = np.sort(rng.binomial(n, rate, size=(n_draws, n_groups)), axis=1)
    draws, times = np.unique(draws[:, [0, -1]], axis=0, return_counts=True)
    share = 0
    for (least, most), repeats in zip(draws, times, strict=True):
        counts = np.repeat([least, most], [n_groups - 1, 1])
        decisions = (np.tile(np.arange(n), n_groups) < np.repeat(counts, n)).astype(int)
        audit = Audit.from_predictions(None, decisions, sensitive_features=groups, min_group_size=1)
        certificate = audit.certify(constraint)
        share += repeats * certificate.is_shown
    return share / n_draws


@smallest(
    N_CERTIFICATES={1: 2},
    N_FITS={1: 1},
    RATES=(0.2,),
    TOLERANCES=(0.2,),
    N_GROUPS=(2,),
    SIZES=SIZES[:1],
    GROUPS=(2,),
    OTHER_FITS=(),
)
def sample_size(budget):
    """Power of certificates and of guaranteed fits at the planned size.

    Fits: the tolerance that is guaranteed with a probability of .80 at confidence .95, by samples
    and groups of equal size, for rates of one half, and the proportion of draws in which it is.
    """
    return join_reports([_plan_certificates(budget), _plan_fits(budget)])


def _plan_certificates(budget):
    """Power of certificates by rates, tolerances or ratios, and groups."""
    n_draws = N_CERTIFICATES[1 if budget.n_runs == 1 else 5]
    bounds = [{"tolerance": one} for one in TOLERANCES] + [{"ratio": one} for one in RATIOS]
    bounds.append(EXPECTED)
    records, powers = [], []
    for rate, bound, n_groups in product(RATES, bounds, N_GROUPS):
        gap = bound.get("expected", 0.0)
        if rate <= gap / 2.0:
            continue
        n = required_sample_size(**bound, n_groups=n_groups, rate=rate)
        record = {"rate": rate, "tolerance": None, "ratio": None, "expected": None}
        record |= {"groups": n_groups, "n": n}
        record |= bound
        if n <= MANY:
            rng = np.random.default_rng(len(records))
            bound_alone = {name: one for name, one in bound.items() if name != "expected"}
            constraint = DemographicParity(**bound_alone)
            rates = rate + gap * (np.arange(n_groups) % 2 - 0.5)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # small groups
                power = certified_share(n, rates, constraint, n_groups, n_draws, rng)
            record["power"] = power
            powers.append(power)
        records.append(record)
    title = (
        f"Planned for a power of .80 at confidence .95: proportion certified of {n_draws} samples "
        f"(sizes up to {MANY:,})"
    )
    return Report(title, records, [Check("power", powers, ">=", 0.78)])


def guaranteed_tolerance(n_samples, n_groups):
    """The tolerance that a fit to groups of equal size is planned to be guaranteed at."""
    # Four times as many samples halve it.
    at_one_percent = n_groups * required_sample_size(0.01, n_groups=n_groups, purpose="fit")
    return 0.01 * np.sqrt(at_one_percent / n_samples)


def draw_groups(n_samples, n_groups, n_columns, rng):
    """Features, classes and groups of equal size, whose means differ in four columns.

    Without constraint the gap is about .6, more than any tolerance of the table.
    """
    groups = np.arange(n_samples) % n_groups
    X = rng.normal(size=(n_samples, n_columns))
    X[:, :4] += 0.8 * np.linspace(-1.0, 1.0, n_groups)[groups][:, np.newaxis]
    scores = X.sum(axis=1) * np.sqrt(0.6 / n_columns)
    return X, (scores + rng.logistic(size=n_samples) > 0).astype(int), groups


def guaranteed_share(n_samples, n_groups, constraint, n_columns, tolerance, n_draws):
    """Proportion of fits that are guaranteed at a level of .95 and not nearly constant."""
    count = 0
    for seed in range(n_draws):
        X, y, groups = draw_groups(n_samples, n_groups, n_columns, np.random.default_rng(seed))
        model = ConstrainedERMClassifier(constraint, tolerance=tolerance, confidence_level=0.95)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y, sensitive_features=groups)
        is_useful = USEFUL[0] <= model.predict(X).mean() <= USEFUL[1]
        count += is_useful and (model.guarantee_probability_ or 0.0) >= 0.95
    return count / n_draws


def _plan_fits(budget):
    """Tolerances that fits are guaranteed at, by samples and groups, and other fits."""
    table = [(n, k, "demographic_parity", COLUMNS) for n in SIZES for k in GROUPS]
    records, shares = [], []
    n_draws = N_FITS[1 if budget.n_runs == 1 else 5]
    for n, k, constraint, n_columns in [*table, *OTHER_FITS]:
        # Half of the samples are positive: equal opportunity counts these.
        n_counted = n / 2 if constraint == "equal_opportunity" else n
        tolerance = guaranteed_tolerance(n_counted, k)
        record = {"samples": n, "groups": k, "constraint": constraint, "columns": n_columns}
        record["tolerance"] = round(float(tolerance), 3)
        if n <= MANY_OF_FIT:
            share = guaranteed_share(n, k, constraint, n_columns, tolerance, n_draws)
            record["guaranteed"] = share
            shares.append(share)
        records.append(record)
    title = f"Fits planned for a probability of .80: proportion guaranteed of {n_draws} draws"
    # Two standard errors of a proportion of .80.
    bound = round(0.8 - 2.0 * np.sqrt(0.16 / n_draws), 3)
    return Report(title, records, [Check("guaranteed fits", shares, ">=", bound)])
