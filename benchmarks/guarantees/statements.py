"""Statements with a stated probability, drawn again: how often each is false.

``python -m benchmarks redraws`` draws samples of known populations, and counts the samples about
which a statement is false. A row of the table is one statement in one population. A new statement
needs an entry in `STATEMENTS`: a test compares these with the public names that take a confidence
level, a coverage or a run length.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple
from zlib import crc32

import numpy as np
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

from benchmarks.guarantees import statement_populations
from benchmarks.guarantees.statement_draws import (
    draw_change,
    draw_claim,
    draw_claim_of_shares,
    draw_departures,
    draw_exposure,
    draw_flips,
    draw_front,
    draw_interval,
    draw_limit_of_scorer,
    draw_order,
    draw_plan,
    draw_search,
    draw_shares_of_report,
    draw_table,
)
from benchmarks.guarantees.statement_draws_of_models import (
    draw_alternative,
    draw_fit,
    draw_monitor,
    draw_regression,
    draw_sets,
    has_alarm,
    has_shown_window,
    is_shown,
    make_costly_rival,
    make_rivals,
    misses_interval,
)
from benchmarks.guarantees.statement_populations import (
    Population,
    add_weights,
    cluster_probabilities,
    make_decisions,
    make_errors,
    make_households,
    make_numbers,
    make_probabilities,
)
from benchmarks.packages import is_installed
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair._statistics.gaps import balance_limit
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
    PartialParityClassifier,
    PartialParityPostprocessor,
)
from skfair.conformal import ConformalClassifier, ConformalRegressor
from skfair.constraints import (
    CONSTRAINTS,
    BoundedGroupLoss,
    DemographicParity,
    MaximumRate,
    MinimumRate,
    PartialEqualizedOdds,
    PartialEqualOpportunity,
    PartialStatisticalParity,
    RateParity,
)
from skfair.metrics import Rate, class_report, group_report, reliability_table
from skfair.metrics._scoring import make_limit_metric
from skfair.regression import ConstrainedRegressorCV
from skfair.solvers import AdamPrimalDual
from skfair.statistics import gap_interval, ratio_interval, required_sample_size

LEVEL = 0.95
COVERAGE = 0.9
POWER = 0.8
RUN_LENGTH = 20.0

N_DRAWS = {5: 1.0, 1: 0.1}
"""Share of the draws of each statement, by the runs of the budget."""

LIMIT_LEVEL = 0.99
"""Level of the limits of an error. One of 200 correct statements is called broken by chance."""

CAUTIOUS = 5.0
"""Factor by which the error of a cautious statement is below the stated one."""


class Statement(NamedTuple):
    """A statement with a stated probability about samples of one population.

    `name` is the public name that makes it. `make` returns the function that draws it; it runs only
    if the statement is drawn. `lost` says in words what the stated probability costs.
    """

    name: str
    kind: str
    n: int
    make: Callable
    error: float = 1.0 - LEVEL
    n_draws: int = 400
    lost: str = ""

    @property
    def title(self):
        """Name and kind, by which ``--cells`` selects."""
        return f"{self.name}: {self.kind}"


SAME = {
    "Alternatives": "Audit.alternatives",
    "Claim": "Audit.certify",
    "FairnessReport": "Audit.report",
    "Gap.interval": "gap_interval",
    "GroupCalibrationDisplay.from_estimator": "reliability_table",
    "GroupCalibrationDisplay.from_predictions": "reliability_table",
    "RatioGap.interval": "ratio_interval",
}
"""Public names whose statements are made by another one."""


def find_name(kind):
    """Name of a class of constraints among `CONSTRAINTS`."""
    return next(name for name, one in CONSTRAINTS.items() if one is kind)


def state_gap(constraint):
    """A bound on the gap of a constraint."""
    return lambda bound: (constraint, bound)


def state_ratio(bound):
    """A bound on the smallest ratio of selection rates."""
    return DemographicParity(ratio=bound), None


# Claims.

_APART = (0.2, 0.6)
_LOW, _HIGH = (0.01, 0.15), (0.99, 0.85)
_THREE, _SIX = (0.2, 0.4, 0.6), (0.2, 0.35, 0.4, 0.45, 0.5, 0.7)
_ERRORS = (0.1, 0.45)
"""Rates whose differences are larger than the limits of so few samples: else none is shown."""


def claim(kind, make_population, sizes, state, **settings):
    """A statement of claims."""
    n_draws = settings.pop("n_draws", 300)

    def make():
        return draw_claim(make_population(), sizes, state, **settings)

    return Statement("Audit.certify", kind, sum(sizes), make, n_draws=n_draws)


_state_parity = state_gap("demographic_parity")


def claim_of_rates(kind, rates, sizes, state=_state_parity, **settings):
    """A statement of claims on selection rates."""
    return claim(kind, partial(make_decisions, rates), sizes, state, **settings)


def _weigh_decisions(rates):
    return add_weights(make_decisions(rates)._replace(outcome=None, score=None))


def _list_claims():
    """Claims about every metric, at few samples, far rates, weights, clusters and many groups."""
    of_scores = (
        *("demographic_parity", "mean_parity", "partial_statistical_parity"),
        *("partial_demographic_parity", "partial_group_auc"),
    )
    yield from (claim_of_rates(name, _APART, [80, 80], state_gap(name)) for name in of_scores)
    of_errors = (
        *("equal_opportunity", "false_positive_rate_parity", "error_rate_parity"),
        *("loss_parity", "equal_opportunity_loss", "precision_parity", "f1_score_parity"),
        *("jaccard_score_parity", "negative_predictive_value_parity"),
    )
    errors = partial(make_errors, _ERRORS)
    yield from (claim(name, errors, [80, 80], state_gap(name)) for name in of_errors)
    # Only the positives are at the edge: else both of two limits would have to err.
    of_positives = partial(make_errors, _ERRORS, (0.25, 0.25))
    unequal = "equalized_odds", "equalized_odds_loss", "treatment_equality"
    yield from (claim(name, of_positives, [80, 80], state_gap(name)) for name in unequal)
    for kind in (PartialEqualOpportunity, PartialEqualizedOdds):
        within_class = kind((0.1, 0.9), rank_within="class")
        yield claim(find_name(kind), of_positives, [140, 140], state_gap(within_class))
    numbers = partial(make_numbers, (0.0, 0.2))
    yield claim("mean_error_parity", numbers, [60, 60], state_gap("mean_error_parity"))
    yield claim_of_rates("demographic_parity, few", (0.1, 0.8), [15, 15])
    yield claim_of_rates("demographic_parity, unequal groups", (0.1, 0.7), [20, 180])
    yield claim_of_rates("demographic_parity, rates near 0", _LOW, [60, 60])
    yield claim_of_rates("demographic_parity, rates near 1", _HIGH, [60, 60])
    yield claim_of_rates("demographic_parity, three groups", _THREE, [60] * 3)
    yield claim_of_rates("demographic_parity, six groups", _SIX, [33] * 6)
    weighted, weighted_low = (partial(_weigh_decisions, one) for one in (_APART, _LOW))
    yield claim("demographic_parity, weights", weighted, [100, 100], _state_parity)
    yield claim(
        "demographic_parity, weights, rates near 0", weighted_low, [100, 100], _state_parity
    )
    households = partial(make_households, _APART)
    yield claim("demographic_parity, clusters", households, [100, 100], _state_parity)
    low_households = partial(make_households, _LOW)
    yield claim(
        "demographic_parity, clusters, rates near 0", low_households, [100, 100], _state_parity
    )
    yield claim_of_rates("ratio", (0.25, 0.5), [40, 40], state_ratio, is_floor=True)
    below = DemographicParity(reference={0: "b"}, direction="below")
    yield claim_of_rates("below a reference group", _THREE[::-1], [60] * 3, state_gap(below))
    yield claim_of_rates("largest rate", _LOW, [60, 60], _state_largest_rate, truth=max(_LOW))
    yield claim_of_rates(
        "smallest rate", _HIGH, [60, 60], _state_smallest_rate, truth=min(_HIGH), is_floor=True
    )
    cost = RateParity(Rate("cost", {"fp": 1, "fn": 5}))
    yield claim("costs of errors", errors, [60, 60], state_gap(cost))
    rare = partial(make_errors, (0.002, 0.1))
    yield claim("rare costs", rare, [60, 60], state_gap(cost))
    largest_loss = _find_largest_loss()
    yield claim("largest group loss", errors, [80, 80], _state_largest_loss, truth=largest_loss)
    yield claim_of_rates("contradicted", _APART, [60, 60], verdict="contradicted")
    yield claim_of_rates("contradicted, rates near 0", _LOW, [60, 60], verdict="contradicted")
    yield claim_of_rates("contradicted, six groups", _SIX, [33] * 6, verdict="contradicted")
    for verdict in ("shown", "contradicted"):
        shares = partial(draw_claim_of_shares, (0.4, 0.35, 0.25), 150, verdict)
        yield Statement("Audit.certify", f"shares of groups, {verdict}", 150, shares)
    yield Statement("Audit.certify", "exposure", 150, partial(draw_exposure, (30, 3, 2)))


def _state_largest_rate(bound):
    return MaximumRate("selection_rate", bound), None


def _state_smallest_rate(bound):
    return MinimumRate("selection_rate", bound), None


def _state_largest_loss(bound):
    return BoundedGroupLoss(bound), None


def _find_largest_loss():
    """The largest mean loss of the population of claims about losses."""
    return make_errors(_ERRORS).find_gap(BoundedGroupLoss(0.5))


# Calibration.


def _draw_unrelated(rng, n):
    """Probabilities of .6 for three in ten at random and .001 else, for a rate of .05."""
    return np.where(rng.random(n) < 0.3, 0.6, 0.001), np.full(n, 0.05)


def _draw_extreme(rng, n):
    """Probabilities of .05 or .99 at random, for a rate of .05."""
    return np.where(rng.random(n) < 0.05, 0.99, 0.001), np.full(n, 0.05)


def _draw_overconfident(rng, n):
    """A third with probabilities of .9, of which half are positive; the others have .1."""
    is_high = rng.random(n) < 1.0 / 3.0
    return np.where(is_high, 0.9, 0.1), np.where(is_high, 0.5, 0.1)


def _draw_constant(rng, n):
    """A right probability of .1."""
    return np.full(n, 0.1), np.full(n, 0.1)


def _draw_rare(rng, n):
    """Probabilities from .01 to .05, of which each is .06 too low."""
    stated = rng.uniform(0.01, 0.05, n)
    return stated, stated + 0.06


def _draw_shifted(rng, n):
    """Probabilities from .1 to .7 that are .25 too low."""
    stated = rng.uniform(0.1, 0.7, n)
    return stated, stated + 0.25


def _draw_calibrated(rng, n):
    """Calibrated probabilities of Beta(2, 3)."""
    stated = rng.beta(2.0, 3.0, n)
    return stated, stated


CALIBRATION = {
    "unrelated probabilities": (_draw_unrelated, 150),
    "unrelated probabilities, more": (_draw_unrelated, 600),
    "extreme probabilities": (_draw_extreme, 200),
    "overconfident third": (_draw_overconfident, 200),
    "rare outcomes": (_draw_rare, 150),
    "frequent outcomes": (_draw_shifted, 60),
}
"""Probabilities of the group that is not calibrated, and its samples, by kind of population."""


def _find_calibration_error(population):
    """The largest distance of the share of positives of a group and its mean probability."""
    errors = [
        np.mean((population.outcome - population.score)[population.group == name])
        for name in np.unique(population.group)
    ]
    return float(np.max(np.abs(errors)))


def _claim_of_calibration(kind, draw_group, sizes, change=None, **settings):
    """A statement of claims about calibration; `change` adds weights or clusters."""

    def make():
        population = make_probabilities(draw_group, _draw_constant)
        population = population if change is None else change(population)
        state = state_gap("calibration")
        truth = _find_calibration_error(population)
        return draw_claim(population, sizes, state, truth=truth, **settings)

    return Statement("Audit.certify", f"calibration, {kind}", sum(sizes), make, n_draws=1_000)


def _list_claims_of_calibration():
    """Claims about calibration, and what plans and comparisons say of it."""
    for kind, (draw_group, n) in CALIBRATION.items():
        yield _claim_of_calibration(kind, draw_group, [n, 400])
    yield _claim_of_calibration("weights", _draw_shifted, [150, 400], add_weights)
    yield _claim_of_calibration("clusters", _draw_shifted, [160, 400], cluster_probabilities)
    yield _claim_of_calibration("contradicted", _draw_shifted, [150, 400], verdict="contradicted")
    calibrated = partial(make_probabilities, _draw_calibrated, _draw_calibrated)
    size = partial(required_sample_size, 0.05, rate=0.4, purpose="calibration")
    state = "calibration", 0.05
    plan = partial(draw_plan, size, calibrated, state)
    yield Statement("required_sample_size", "calibration", 0, plan, 1.0 - POWER)
    yield Statement(
        "Audit.subgroups", "calibration_error", 200, partial(draw_departures, 200, calibration=True)
    )


# Intervals.


def _list_intervals():
    """Intervals and limits of gaps, ratios, balances, reports, comparisons, subgroups, scorers."""
    for kind, rates, sizes in (
        ("few", (0.1, 0.8), [15, 15]),
        ("rates near 0", _LOW, [60, 60]),
        ("equal rates", (0.3, 0.3), [60, 60]),
        ("six groups", _SIX, [33] * 6),
    ):
        make = partial(_make_interval, rates, sizes, _find_gap_interval, np.ptp(rates))
        yield Statement("gap_interval", kind, sum(sizes), make, n_draws=2_000)
    weighted = partial(_make_weighted_interval, _APART, [100, 100])
    yield Statement("gap_interval", "weights", 200, weighted, n_draws=2_000)
    make = partial(_make_interval, _APART, [60, 60], _find_ratio_interval, 1.0 / 3.0)
    yield Statement("ratio_interval", "two groups", 120, make, n_draws=2_000)
    make = partial(_make_interval, (0.05, 0.15), [60, 60], _find_ratio_interval, 1.0 / 3.0)
    yield Statement("ratio_interval", "rates near 0", 120, make, n_draws=2_000)
    yield Statement("Audit.report", "balance of three clusters", 150, _make_balance, n_draws=2_000)
    yield Statement("Audit.report", "gap", 120, _make_report, n_draws=150)
    shares = partial(draw_shares_of_report, (0.4, 0.35, 0.25), 150)
    yield Statement("Audit.report", "shares of groups", 150, shares, n_draws=150)
    yield Statement(
        "group_report", "rate of a group", 60, partial(_make_group_report, 0.3, 30), n_draws=1_000
    )
    yield Statement(
        "group_report", "rate near 0", 60, partial(_make_group_report, 0.03, 30), n_draws=1_000
    )
    yield Statement("class_report", "rate of a class", 60, _make_class_report)
    yield Statement("reliability_table", "bands of all bins", 200, _make_reliability, n_draws=1_000)
    equal = partial(_make_change, (0.2, 0.6), (0.25, 0.65))
    fall = partial(_make_change, (0.2, 0.7), (0.35, 0.45))
    yield Statement("Audit.compare", "gap that stays", 240, equal, n_draws=150)
    yield Statement("Audit.compare", "gap that falls", 240, fall, n_draws=150)
    yield Statement("Audit.subgroups", "selection_rate", 200, partial(draw_departures, 200))
    yield Statement("fairness_front", "gap", 160, partial(draw_front, _APART, [80, 80]))
    yield Statement("flip_rate", "two groups", 100, partial(draw_flips, 100))
    yield Statement("make_scorer", "limit of a gap", 120, _make_scorer, n_draws=1_000)
    yield Statement("best_subject_to", "one candidate", 0, partial(draw_search, 1), n_draws=2_000)
    yield Statement("best_subject_to", "20 candidates", 0, partial(draw_search, 20), n_draws=2_000)
    models = ((0.45, 0.4), (0.45, 0.38), (0.6, 0.2))
    yield Statement("certify_in_order", "three", 120, partial(draw_order, models, [60, 60]))
    size = partial(required_sample_size, 0.2, rate=0.3)
    plan = partial(
        draw_plan, size, partial(make_decisions, (0.3, 0.3)), ("demographic_parity", 0.2)
    )
    yield Statement("required_sample_size", "two groups", 0, plan, 1.0 - POWER)
    six = partial(required_sample_size, 0.25, rate=0.3, n_groups=6)
    equal = partial(make_decisions, (0.3,) * 6)
    plan = partial(draw_plan, six, equal, ("demographic_parity", 0.25))
    yield Statement("required_sample_size", "six groups", 0, plan, 1.0 - POWER, 150)


def _find_gap_interval(sample):
    return gap_interval(
        sample.decision, sensitive_features=sample.group, sample_weight=sample.weight
    )


def _find_ratio_interval(sample):
    return ratio_interval(sample.decision, sensitive_features=sample.group)


def _make_interval(rates, sizes, find, truth):
    return draw_interval(make_decisions(rates), sizes, truth, find)


def _make_weighted_interval(rates, sizes):
    return draw_interval(_weigh_decisions(rates), sizes, np.ptp(rates), _find_gap_interval)


def _make_balance():
    """Three clusters of two groups, whose smallest ratio is 2 / 3."""
    group = np.repeat(["a", "b"], 300)
    cluster = np.concatenate([np.repeat([0, 1, 2], [100, 80, 120]), np.repeat([0, 1, 2], 100)])
    population = Population(group, decision=cluster)

    def find(sample):
        limit = balance_limit(sample.decision, sensitive_features=sample.group)
        return limit._replace(high=np.inf)

    return draw_interval(population, [75, 75], 0.8, find)


def _make_report():
    def find(sample):
        row = sample.audit().report().gaps.set_index("metric").loc[["selection_rate"]]
        return row[["gap", "gap_low", "gap_high"]]

    population = make_decisions(_APART)._replace(score=None)
    names = "gap", "gap_low", "gap_high"
    return draw_table(population, [60, 60], np.array([np.ptp(_APART)]), find, names)


def _rate_columns(*stems):
    return [f"selection_rate{stem}" for stem in stems]


def _make_group_report(rate, size):
    """The limits of the rate of one of two groups."""
    names = _rate_columns("", "_low", "_high")

    def find(sample):
        report = group_report(
            None,
            sample.decision,
            sensitive_features=sample.group,
            metrics=["selection_rate"],
            confidence_level=LEVEL,
        )
        return report.loc[["a"]]

    return draw_table(make_decisions((rate, rate)), [size, size], np.array([rate]), find, names)


def _make_class_report():
    """The limits of the selection rate of a class in one of two groups."""
    names = _rate_columns("", "_low", "_high")

    def find(sample):
        report = class_report(
            sample.outcome,
            sample.decision,
            sensitive_features=sample.group,
            confidence_level=LEVEL,
        )
        return report.loc[[(1, "a")]]

    return draw_table(make_decisions(_APART), [30, 30], np.array([_APART[0]]), find, names)


def _make_reliability():
    """The bands of two bins of one group, whose probabilities are .2 and .7 and rates .3 and .6."""
    score = np.repeat([0.2, 0.7], 5_000)
    ranks = np.tile(np.arange(5_000), 2)
    outcome = (ranks < np.repeat([1_500, 3_000], 5_000)).astype(int)
    population = Population(np.repeat("a", 10_000), outcome, score=score)

    def find(sample):
        table = reliability_table(
            sample.outcome, sample.score, sensitive_features=sample.group, n_bins=2
        )
        return table.loc["a"]

    truths = np.array([0.3, 0.6])
    return draw_table(population, [200], truths, find, ("estimate", "band_low", "band_high"))


def _make_change(before, after):
    first, second = (make_decisions(one)._replace(score=None) for one in (before, after))
    return draw_change(first, second, [60, 60])


def _make_scorer():
    metric = make_limit_metric(DemographicParity(), LEVEL).function
    return draw_limit_of_scorer(make_decisions(_APART), [60, 60], metric, np.ptp(_APART))


# Alternatives, monitors, prediction sets and fits.


def alternative(kind, rates, sizes, **settings):
    """A statement of less discriminatory alternatives."""
    population = settings.pop("population", partial(make_rivals, rates))

    def make():
        return draw_alternative(population(), sizes, **settings)

    return Statement("Audit.alternatives", kind, sum(sizes), make, n_draws=300)


def _list_alternatives():
    """Candidates that are not better, or too bad, in two, three and six groups."""
    yield alternative("gap", (0.25, 0.45), [75, 75])
    yield alternative("gap, few", (0.2, 0.6), [20, 20])
    yield alternative("gap, rates near 0", (0.01, 0.1), [100, 100])
    yield alternative("gap, three groups", (0.2, 0.4, 0.6), [60] * 3)
    yield alternative("gap, six groups", (0.2, 0.3, 0.35, 0.4, 0.45, 0.6), [33] * 6)
    pair = {"reference": {"attribute 1": ("c", "a")}}
    yield alternative("gap, named pair of three groups", (0.2, 0.4, 0.6), [60] * 3, **pair)
    ratio = DemographicParity(ratio=0.8)
    yield alternative("ratio", (0.25, 0.45), [75, 75], state=ratio)
    costly = partial(make_costly_rival, (0.1, 0.7))
    yield alternative("performance", (0.1, 0.7), [75, 75], of="performance", population=costly)


def monitor(kind, find, rates, n_batches, error, constraint="demographic_parity", **settings):
    """A statement of monitors of streams; `rates` may be a function that makes the population."""
    size = settings.pop("size", 60)
    n_draws = settings.pop("n_draws", 200)

    def make():
        population = rates() if callable(rates) else make_decisions(rates)._replace(score=None)
        sizes = [size] * len(np.unique(population.group))
        return draw_monitor(population, sizes, n_batches, find, constraint, **settings)

    return Statement("GapMonitor", kind, size, make, error, n_draws)


def _list_monitors():
    """Alarms, certificates, windows and intervals of streams just at the tolerance."""
    error = 1.0 - LEVEL
    for kind, rates in (("", _APART), (", rates near 0", _LOW), (", six groups", _SIX)):
        yield monitor(f"alarm in a year{kind}", has_alarm, rates, 12, error, run_length=None)
    pages = 6
    alarms = pages / RUN_LENGTH
    windows = pages / (2.0 * RUN_LENGTH)
    settings = {"run_length": RUN_LENGTH}
    for kind, rates in (("", _APART), (", rates near 1", _HIGH), (", three groups", _THREE)):
        yield monitor(f"alarm by run length{kind}", has_alarm, rates, pages, alarms, **settings)
        yield monitor(
            f"window shown{kind}",
            has_shown_window,
            rates,
            pages,
            windows,
            is_within=False,
            **settings,
        )
    plain = {"run_length": None}
    yield monitor("certificate", is_shown, _APART, 12, error, is_within=False, **plain)
    yield monitor("interval", misses_interval, _APART, 12, error, **plain)
    names = "equal_opportunity", "error_rate_parity"
    errors = partial(make_errors, _ERRORS)
    for name in names:
        yield monitor(f"alarm, {name}", has_alarm, errors, 12, error, constraint=name, **plain)
    means = partial(make_decisions, _APART)
    yield monitor("alarm, mean_parity", has_alarm, means, 12, error, "mean_parity", **plain)


def _list_sets():
    """Prediction sets of known groups, on average and at a confidence level."""
    known = {"group_estimator": "sensitive_features"}
    of_classes = ConformalClassifier(None, **known)
    of_numbers = ConformalRegressor(None, **known)
    lost = "coverage above the level"
    for name, model, is_regression in (
        ("ConformalClassifier", of_classes, False),
        ("ConformalRegressor", of_numbers, True),
    ):
        for kind, sizes in (("two groups", [60, 40]), ("four groups", [30] * 4)):
            make = partial(draw_sets, model, sizes, is_regression=is_regression)
            yield Statement(name, kind, sum(sizes), make, 1.0 - COVERAGE, 300, lost)
        certain = clone(model).set_params(confidence_level=LEVEL)
        make = partial(draw_sets, certain, [100, 100], is_regression=is_regression, n_new=20_000)
        yield Statement(name, "level, two groups", 200, make, 1.0 - LEVEL, 200, lost)


def fit(name, kind, model, *, n_draws=40, n=200, tolerance=0.12, level=LEVEL, **settings):
    """A statement of fits with a confidence level."""
    constraint = settings.pop("constraint", "demographic_parity")
    make = partial(draw_fit, model, n, constraint, tolerance, level=level, **settings)
    return Statement(name, kind, n, make, 1.0 - level, n_draws, "accuracy")


def _list_fits():
    """Fits near the gap of plain fits, where a guarantee is hardest."""
    linear = ConstrainedERMClassifier()
    name, parity = "ConstrainedERMClassifier", "demographic_parity"
    yield fit(name, parity, linear, n_draws=60)
    yield fit(name, f"{parity}, level .8", linear, n_draws=60, level=0.8)
    yield fit(name, "equal_opportunity", linear, constraint="equal_opportunity")
    yield fit(name, "three groups", linear, n_groups=3)
    any_model = ConstrainedClassifierCV(LogisticRegression(), cv=3)
    yield fit("ConstrainedClassifierCV", parity, any_model)
    small = {"solver": AdamPrimalDual(max_iter=30), "random_state": 0}
    perceptron = ConstrainedMLPClassifier(hidden_layer_sizes=8, **small)
    yield fit("ConstrainedMLPClassifier", parity, perceptron, n_draws=10)
    if is_installed("torch"):
        from skfair.torch import ConstrainedTorchClassifier  # needs PyTorch, an extra

        network = ConstrainedTorchClassifier(**small)
        yield fit("ConstrainedTorchClassifier", parity, network, n_draws=10)
    ranks = PartialStatisticalParity((0.2, 0.7))
    settings = {"constraint": ranks, "n_draws": 10}
    ranker = PartialParityPostprocessor(LogisticRegression())
    yield fit("PartialParityClassifier", ranks.name, PartialParityClassifier(), **settings)
    yield fit("PartialParityPostprocessor", ranks.name, ranker, **settings)
    regressor = ConstrainedRegressorCV(LinearRegression(), tolerance=0.25, confidence_level=LEVEL)
    make = partial(draw_regression, regressor, 200)
    yield Statement("ConstrainedRegressorCV", "mean_parity", 200, make, n_draws=40)


STATEMENTS = [
    *_list_claims(),
    *_list_claims_of_calibration(),
    *_list_intervals(),
    *_list_alternatives(),
    *_list_monitors(),
    *_list_sets(),
    *_list_fits(),
]
"""Every statement that is drawn again. A new one needs an entry in a list above."""


# The table.


@smallest(STATEMENTS=STATEMENTS[:1] + STATEMENTS[-1:], N_DRAWS={1: 0.02})
@smallest(statement_populations, N_OF_GROUP=400)
def redraws(budget):
    """Statements with a stated probability on samples drawn again: how often each is false.

    A statement is broken if the lower limit of its error is above the stated one, and cautious if
    its error is a fifth of it at most. Limits of errors are exact, at `LIMIT_LEVEL`.
    """
    share = N_DRAWS[1 if budget.n_runs == 1 else 5]
    chosen = budget.select([one.title for one in STATEMENTS])
    rows = [judge(one, share) for one in STATEMENTS if one.title in chosen]
    broken = [float(row["verdict"] == "broken") for row in rows]
    title = (
        f"{len(rows)} statements drawn again: the share of draws in which each is false, its "
        f"limits at {LIMIT_LEVEL:g}, and the stated one"
    )
    return Report(title, rows, [Check("statements that are broken", broken, "<=", 0.0)])


def judge(statement, share=1.0):
    """One row of the table: the error of a statement, with its limits, and what it costs."""
    n_draws = max(2, round(share * statement.n_draws))
    draw = statement.make()
    rng = np.random.default_rng(crc32(statement.title.encode()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of small groups and uneven weights
        draws = [draw(rng) for _ in range(n_draws)]
    n_false = sum(one.is_false for one in draws)
    low, high = limit_error(n_false, n_draws)
    verdict = find_verdict(n_false / n_draws, low, statement.error)
    return {
        "statement": statement.name,
        "kind": statement.kind,
        "n": statement.n,
        "draws": n_draws,
        "error": n_false / n_draws,
        "low": low,
        "high": high,
        "stated": statement.error,
        "verdict": verdict,
        "cost": describe_cost(statement, draws) if verdict == "cautious" else "",
    }


def limit_error(n_false, n_draws):
    """Clopper and Pearson's limits of an error at `LIMIT_LEVEL`."""
    limits = binomtest(n_false, n_draws).proportion_ci(LIMIT_LEVEL)
    return float(limits.low), float(limits.high)


def find_verdict(error, low, stated):
    """Whether a statement of a stated error is broken, cautious or holds."""
    if low > stated:
        return "broken"
    return "cautious" if CAUTIOUS * error <= stated else "holds"


def describe_cost(statement, draws):
    """What a cautious statement costs: how much wider its limits are than needed, or what is lost.

    Limits are as wide as needed if the error is the stated one: their margins are divided by the
    quantile of the shares that were needed.
    """
    needed = np.array([one.needed for one in draws])
    if np.isfinite(needed).any():
        largest = np.quantile(needed[~np.isnan(needed)], 1.0 - statement.error)
        return f"limits {1.0 / largest:.2f} times as wide as needed" if largest > 0 else "limits"
    lost = np.array([one.lost for one in draws])
    return f"{np.nanmean(lost):.3f} of {statement.lost}" if np.isfinite(lost).any() else ""
