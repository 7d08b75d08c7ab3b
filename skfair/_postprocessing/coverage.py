r"""Thresholds of nonconformity scores by which prediction sets cover every group equally often.

A set has all values whose score is at most t(x) = b + sum_g a_g P(g | x). There are three kinds,
and those of groups that are known and overlap, in `overlapping_coverage`:

- pooled: b is an order statistic of all scores, and a is zero.
- by group: b + a_g is an order statistic of the scores of the group, which is known.
- blind: the group is not known. There are as many equations, "the coverage of group g is the
  level", as coefficients a_g. Levenberg and Marquardt's method solves them: the shift that each
  group needs is a quantile too, of score less threshold. Every iterate covers all samples together
  at the level, so that a search that ends early does too.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import expit, softmax

from skfair._fitting.outcome import Subtask
from skfair._postprocessing.constrained_cv import (
    find_checked_events,
    find_group_model,
    fit_score_columns,
    prediction_attributes,
)
from skfair._postprocessing.events import (
    ConstraintEvents,
    EventFeatures,
    group_codes,
    merge_rare_combinations,
)
from skfair._postprocessing.out_of_fold_scores import cross_fit
from skfair._postprocessing.overlapping_coverage import OverlappingThresholds
from skfair._statistics.limits_of_rates import rate_limits
from skfair._utils.checks import argument_error, join_names, warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn.base import BaseEstimator

    from skfair._fitting.input import TrainingData
    from skfair._groups.groups import Groups
    from skfair._postprocessing.constrained_cv import ConstrainedCV
    from skfair._postprocessing.scored_samples import ScoredSamples


_UNEQUAL = 1.0
"""Standard errors by which coverage may be below the level without a warning."""


_GAIN = 0.02
"""Gain in the coverage of the worst group, beside one threshold with sets of the same mean size,
from which on larger sets are worth it."""


_MIN_DIVISOR = np.finfo(float).tiny


class ClassSets(NamedTuple):
    """Sets of classes by the score of each class, (n_samples, n_classes)."""

    scores: np.ndarray

    @classmethod
    def from_scores(cls, scores: np.ndarray) -> ClassSets:
        """Scores 1 - softmax of `estimator_scores`: a decision function, or log-odds.

        Nothing is fitted to them: the true classes of samples that calibrate must not look
        likelier than those of new ones. Odds also tell apart classes of tied probabilities.
        """
        if scores.shape[1] == 1:
            return cls(expit(np.hstack((scores, -scores))))
        return cls(1.0 - softmax(scores, axis=1))

    def contents(self, thresholds: np.ndarray) -> np.ndarray:
        """Whether each class is in the set; thresholds are of shape (n_samples, 1 or n_classes)."""
        # Means over folds round in their last digits, and what is tied at a threshold must not be
        # lost by them.
        return self.scores <= thresholds + 1e-12

    def sizes(self, thresholds: np.ndarray) -> np.ndarray:
        """Number of classes of each set, (n_samples,)."""
        return self.contents(thresholds).sum(axis=1)


class IntervalSets(NamedTuple):
    """Intervals from low to high, both moved outwards by threshold times spread."""

    low: np.ndarray
    high: np.ndarray
    spread: np.ndarray

    def contents(self, thresholds: np.ndarray) -> np.ndarray:
        """Ends of the intervals, (n_samples, 2); an empty one is a point."""
        middle = (self.low + self.high) / 2.0
        half = self.sizes(thresholds) / 2.0
        half = half + 4.0 * np.finfo(float).eps * (np.abs(middle) + half)
        return np.column_stack((middle - half, middle + half))

    def sizes(self, thresholds: np.ndarray) -> np.ndarray:
        """Length of each interval, (n_samples,)."""
        return np.maximum(self.high - self.low + 2.0 * thresholds[:, 0] * self.spread, 0.0)

    def true_scores(self, target: np.ndarray) -> np.ndarray:
        """Threshold from which on each interval has the target, (n_samples,)."""
        return np.maximum(self.low - target, target - self.high) / self.spread


@dataclass(frozen=True, eq=False)
class CoverageData:
    """Scores of true values, weights of the samples in groups, and the coverage to reach."""

    scores: np.ndarray  # (n_samples,)
    sets: IntervalSets | ClassSets
    members: np.ndarray  # weights of the samples in each group, and in all, (n_samples, n_groups+1)
    units: np.ndarray  # samples of equal code are not independent
    coverage: float
    confidence: float | None
    n_rules: int = 1  # classes with thresholds of their own

    def take(self, rows: np.ndarray) -> CoverageData:
        """Some of the samples, in as many groups."""
        sets = type(self.sets)(*(one[rows] for one in self.sets))
        taken = {"scores": self.scores[rows], "sets": sets, "members": self.members[rows]}
        return replace(self, **taken, units=self.units[rows])

    @cached_property
    def masses(self) -> np.ndarray:
        """Weights of each group, and of all, (n_groups + 1,)."""
        return self.members.sum(axis=0)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Effective number of samples of each group, and of all (Kish), (n_groups + 1,)."""
        by_unit = np.array([np.bincount(self.units, column) for column in self.members.T])
        by_unit /= by_unit.max() or 1.0  # squares of any weights are finite
        totals = by_unit.sum(axis=1)
        squares = (by_unit**2).sum(axis=1)
        return np.divide(totals**2, squares, out=np.zeros(len(totals)), where=squares > 0)

    @cached_property
    def certainty(self) -> float | None:
        """Probability with which each threshold needs its level, so that all of them hold at once.

        None of coverage on average. Thresholds of different groups and classes have different
        samples, so that they are independent.
        """
        n_thresholds = max(len(self.sizes) - 1, 1) * self.n_rules
        return None if self.confidence is None else self.confidence ** (1.0 / n_thresholds)

    @cached_property
    def counts(self) -> np.ndarray:
        """Whole effective numbers of samples of each group, and of all, (n_groups + 1,)."""
        return np.floor(self.sizes + 1e-9)

    @property
    def needed_count(self) -> float:
        """Samples from which on the largest of their scores reaches the level."""
        if self.certainty is None:
            return np.ceil(self.coverage / (1.0 - self.coverage) - 1e-9)
        return np.ceil(np.log1p(-self.certainty) / np.log(self.coverage) - 1e-9)

    @cached_property
    def levels(self) -> np.ndarray:
        """Share of the samples of each group, and of all, to cover; above 1 of too few.

        By default the (n + 1) rule. With a confidence, order statistics that are, for all groups at
        once, at least the quantile of the population.
        """
        n = self.counts
        ranks = np.ceil((n + 1.0) * self.coverage - 1e-9)
        if self.confidence is not None:
            ranks = stats.binom.ppf(self.certainty, n, self.coverage) + 1.0
        return np.divide(ranks, n, out=np.full(len(n), np.inf), where=n > 0)

    def rates(self, values: np.ndarray) -> np.ndarray:
        """Weighted means of values over each group, and over all."""
        # A value may be infinite: it counts in the groups of its sample alone.
        is_infinite = np.isinf(values)
        means = self.members.T @ np.where(is_infinite, 0.0, values) / self.masses.clip(_MIN_DIVISOR)
        return np.where(self.members.T @ is_infinite > 0, np.inf, means)

    def quantiles(self, scores: np.ndarray) -> np.ndarray:
        """Smallest scores up to which each group, and all, have their level of weight.

        Of too few samples it is the largest score.
        """
        order = np.argsort(scores, kind="stable")
        masses = np.cumsum(self.members[order], axis=0)
        levels = self.levels.clip(max=1.0) * (1.0 - 1e-12) * masses[-1]
        places = [np.searchsorted(*one) for one in zip(masses.T, levels, strict=True)]
        return scores[order][np.minimum(places, len(order) - 1)]

    def residuals(self, thresholds: np.ndarray) -> np.ndarray:
        """How far the coverage of each group is from its level, in standard errors."""
        return self.excess(thresholds) / self.standard_errors

    def excess(self, thresholds: np.ndarray) -> np.ndarray:
        """Coverage of each group less its level, or less 1 of too few samples, (n_groups,)."""
        return (self.rates(self.scores <= thresholds) - self.levels.clip(max=1.0))[:-1]

    @cached_property
    def standard_errors(self) -> np.ndarray:
        """Standard errors of the coverage of each group at the level, (n_groups,)."""
        return np.sqrt(self.coverage * (1.0 - self.coverage) / self.sizes[:-1])

    def mean_size(self, thresholds: np.ndarray) -> float:
        """Weighted mean size of the sets."""
        return self.rates(self.sets.sizes(thresholds[:, np.newaxis]))[-1]


def _covers_all_groups(calibration: CoverageData) -> bool:
    """Whether one threshold covers each group at the level, up to sampling noise."""
    # A test with an error of .05.
    level = 1.0 - 0.05 / (2.0 * (len(calibration.levels) - 1))
    rates = calibration.rates(calibration.scores <= pooled_coefficients(calibration)[0])
    low, high = rate_limits(rates, calibration.sizes, level)
    return bool(((low <= calibration.coverage) & (calibration.coverage <= high))[:-1].all())


def pooled_coefficients(
    calibration: CoverageData, probabilities: np.ndarray | None = None
) -> np.ndarray:
    """Coefficients (b, a) of one threshold for all samples; b is infinite of too few."""
    coef = np.zeros(len(calibration.levels))
    coef[0] = (
        calibration.quantiles(calibration.scores)[-1] if calibration.levels[-1] <= 1.0 else np.inf
    )
    return coef


def group_coefficients(
    calibration: CoverageData, probabilities: np.ndarray | None = None
) -> np.ndarray:
    """Coefficients (b, a) of thresholds b + a_g of each group, and b of unknown groups.

    A group of too few samples gets its largest score, or b if that is larger.
    """
    coef = pooled_coefficients(calibration)
    if np.isfinite(coef[0]):
        of_groups = calibration.quantiles(calibration.scores)[:-1]
        is_small = calibration.levels[:-1] > 1.0
        coef[1:] = np.where(is_small, np.maximum(of_groups, coef[0]), of_groups) - coef[0]
    return coef


class BlindPoint(NamedTuple):
    """Coefficients (b, a) of blind thresholds, and what follows from them."""

    coef: np.ndarray
    thresholds: np.ndarray  # (n_samples,)
    shifts: np.ndarray  # of its thresholds, with which a group has its level, (n_groups,)
    residuals: np.ndarray  # (n_groups,)

    @property
    def loss(self) -> float:
        """Sum of the squared residuals."""
        return self.residuals @ self.residuals


@dataclass(frozen=True, eq=False)
class BlindSearch:
    """Search of thresholds that do not know the group, and cover each group at its level."""

    calibration: CoverageData
    probabilities: np.ndarray  # of each group, (n_samples, n_groups)

    def run(self, pooled: np.ndarray) -> np.ndarray:
        """Coefficients that solve the equations, from those of one threshold for all samples."""
        blind = self._evaluate(pooled)
        end = self._solve_equations(blind, self._find_largest_size(pooled[0]))
        if self.calibration.confidence is not None:
            # A guarantee needs at least the level of each group, in the smaller sets.
            lifted = [self._evaluate(one.coef, lifts_groups=True) for one in (end, blind)]
            return min(lifted, key=self._mean_size).coef
        if (end.residuals >= -_UNEQUAL).all():
            return end.coef
        # A group stays below its level. Where one threshold with sets of the same size covers the
        # worst group as well, larger sets are worth nothing.
        error = self.calibration.standard_errors.max()
        margin = max(_GAIN, error)
        # Try fractions of the blind coefficients.
        for fraction in (1.0, 0.75, 0.5, 0.25):
            point = self._evaluate(pooled + fraction * (end.coef - pooled))
            if self._find_gain(point) >= margin:
                return point.coef
            margin = _GAIN + error  # the best of several looks better than it is
        return pooled

    def _mean_size(self, point: BlindPoint) -> float:
        """Mean size of the sets of a point."""
        return self.calibration.mean_size(point.thresholds)

    def _find_gain(self, point: BlindPoint) -> float:
        """Coverage of the worst group, less that by one threshold with sets of the same size."""
        calibration = self.calibration
        size = self._mean_size(point)
        # Bisect the scores for the largest threshold whose sets are no larger.
        scores = np.unique(calibration.scores)
        constants = np.broadcast_to(scores[:, np.newaxis], (len(scores), len(point.thresholds)))
        single = constants[bisect_right(constants, size, key=calibration.mean_size) - 1]
        return calibration.excess(point.thresholds).min() - calibration.excess(single).min()

    def _evaluate(self, coef: np.ndarray, lifts_groups: bool = False) -> BlindPoint:
        """The point with b raised until all samples, or all groups, have their level."""
        calibration = self.calibration
        thresholds = coef[0] + self.probabilities @ coef[1:]
        shifts = calibration.quantiles(calibration.scores - thresholds)
        lift = max(shifts.max() if lifts_groups else shifts[-1], 0.0)
        thresholds = thresholds + lift
        coef = np.append(coef[0] + lift, coef[1:])
        return BlindPoint(coef, thresholds, shifts[:-1] - lift, calibration.residuals(thresholds))

    def _solve_equations(self, point: BlindPoint, largest: float) -> BlindPoint:
        """The last point of Levenberg and Marquardt's method whose sets are no larger."""
        calibration = self.calibration
        solved = 1.0 / (calibration.sizes[:-1] * calibration.standard_errors)
        solved = np.maximum(0.1, solved)  # one sample of a small group
        damping = 1e-2
        slopes = self._find_slopes(point)
        # At most 60 steps.
        for _ in range(60):
            # Steps of more damping are too small to change the coverage of a group.
            if (np.abs(point.residuals) <= solved).all() or damping > 1e6:
                break
            step = self._find_step(slopes, point.shifts, damping)
            moved = self._evaluate(point.coef + np.append(0.0, step))
            is_better = moved.loss < point.loss
            is_better = is_better and calibration.mean_size(moved.thresholds) <= largest
            if is_better:
                point = moved
                slopes = self._find_slopes(point)
            damping *= 0.2 if is_better else 5.0
        return point

    def _find_slopes(self, point: BlindPoint) -> np.ndarray:
        """Mean probabilities of samples near their shifted thresholds, whose coverage changes."""
        scores = self.calibration.scores
        members = self.calibration.members[:, :-1]
        distance = np.abs((scores - point.thresholds)[:, np.newaxis] - point.shifts)
        # Samples at a fifth of the mean distance of the group from a threshold count half.
        scale = 0.2 * np.average(distance, axis=0, weights=members) + _MIN_DIVISOR
        near = members / (1.0 + (distance / scale) ** 2)
        return near.T @ self.probabilities / near.sum(axis=0)[:, np.newaxis]

    def _find_step(self, slopes: np.ndarray, shifts: np.ndarray, damping: float) -> np.ndarray:
        """Damped step of the coefficients a, by which thresholds of groups shift as they need."""
        sizes = self.calibration.sizes[:-1]
        curvature = slopes.T @ (sizes[:, np.newaxis] * slopes)
        damped = damping * np.trace(curvature) / len(curvature) * np.eye(len(curvature))
        return np.linalg.solve(curvature + damped, slopes.T @ (sizes * shifts))

    def _find_largest_size(self, pooled: float) -> float:
        """Largest mean size of the sets: groups that X hardly tells apart need unbounded ones."""
        calibration = self.calibration
        of_groups = calibration.quantiles(calibration.scores)[:-1]
        members = calibration.members[:, :-1]
        shares = members / members.sum(axis=1, keepdims=True).clip(_MIN_DIVISOR)
        by_group = np.where(members.any(axis=1), shares @ of_groups, pooled)
        references = np.full(len(by_group), pooled), by_group
        # Blind sets may be a quarter larger than pooled sets, or sets that know the group.
        return 1.25 * max(map(calibration.mean_size, references))


# The fit, from out-of-fold scores to what predictions need.


def fit_spread(
    estimator: BaseEstimator, scored: ScoredSamples, columns: np.ndarray
) -> tuple[dict[str, float | list], np.ndarray]:
    """Fitted attributes of the spread, and the spread of each sample out of fold."""
    if estimator.spread_estimator is None:
        return {"spread_estimators_": []}, np.ones(len(columns))
    training = scored.training
    residuals = np.abs(training.labels - columns.mean(axis=1))
    models, spread = cross_fit(
        estimator.spread_estimator,
        training.samples.X,
        residuals,
        scored.folds,
        n_jobs=estimator.n_jobs,
    )
    mean = np.average(residuals, weights=training.samples.weights)
    # No spread is below a tenth of the mean one.
    least = max(0.1 * mean, _MIN_DIVISOR)
    return {"spread_estimators_": models, "_least_spread_": least}, spread[:, 0].clip(least)


def fit_thresholds(estimator: BaseEstimator, scored: ScoredSamples) -> dict[str, Any]:
    """Fitted attributes of an estimator of prediction sets, from out-of-fold scores."""
    columns = fit_score_columns(scored, calibrates=False)
    features = EventFeatures.make_empty(find_checked_events(scored))
    fitted = prediction_attributes(scored, columns, features)
    of_sets, by_rule = estimator._score_sets(scored, columns.values)
    calibrations = _make_calibrations(estimator, scored, by_rule)
    with Subtask(estimator, scored.context, "thresholds"):
        if knows_groups(estimator) and not scored.training.samples.groups.is_disjoint:
            return fitted | of_sets | _fit_overlapping(estimator, scored, calibrations)
        if _suits_one_threshold(estimator, calibrations):
            thresholds = _fit_pooled(scored, calibrations)
        else:
            fit = _fit_by_group if knows_groups(estimator) else _fit_blind
            thresholds = fit(estimator, scored, columns.values[:, :1], calibrations)
    ranks = np.argsort(scored.training.samples.groups.ranks)
    outcome = {
        "rule_coef_": thresholds.coefficients[:, 1:][:, ranks],
        "rule_intercept_": thresholds.coefficients[:, 0],
        "_thresholds_": thresholds.coefficients,
        "_overlapping_": None,
        "_coverage_columns_": _report_coverage(
            scored.training, calibrations, thresholds.out_of_fold
        ),
    }
    return fitted | thresholds.fitted | of_sets | outcome


def _solve_overlapping(
    estimator: ConstrainedCV, scored: ScoredSamples, calibrations: list[CoverageData]
) -> tuple[list[OverlappingThresholds], np.ndarray]:
    """The `OverlappingThresholds` of each rule, and out-of-fold thresholds, (n_samples, n_rules).

    Groups are in the order of their names, as in ``groups_``.
    """
    groups = scored.training.samples.groups
    members = groups.matrix.toarray()[:, np.argsort(groups.ranks)] > 0
    counted = [one.members[:, -1] > 0.0 for one in calibrations]
    _warn_of_unbounded_sets(groups, calibrations)

    def fit(one: CoverageData, rows: np.ndarray) -> OverlappingThresholds:
        return OverlappingThresholds.fit(one.scores[rows], members[rows], estimator.coverage)

    rules = [fit(*pair) for pair in zip(calibrations, counted, strict=True)]
    out_of_fold = np.zeros((len(members), len(calibrations)))
    for train, test in scored.folds:
        for number, (one, mask) in enumerate(zip(calibrations, counted, strict=True)):
            rows = train[mask[train]]
            out_of_fold[test, number] = fit(one, rows).find(members[test])
    return rules, out_of_fold


def _check_overlapping(estimator: BaseEstimator, scored: ScoredSamples) -> None:
    """Raise for what has no theorem where groups that are known overlap."""
    weights = scored.training.samples.weights
    if estimator.missing != "error":
        raise argument_error(
            "group_estimator='sensitive_features' needs the group of every sample, but got "
            f"missing={estimator.missing!r} and samples without one. Leave their rows out of all "
            "inputs, or pass group_estimator=None."
        )
    obstacles = {
        f"confidence_level={estimator.confidence_level!r}": estimator.confidence_level is not None,
        "different sample_weight": bool(np.ptp(weights) > 0.0),
        "fit(..., groups=)": scored.training.samples.clusters is not None,
    }
    for obstacle, stands_in_the_way in obstacles.items():
        if stands_in_the_way:
            raise argument_error(
                "group_estimator='sensitive_features' covers overlapping groups on average over "
                f"independent samples of equal weight, but got {obstacle}. Leave it out, or pass "
                "disjoint groups."
            )


def _fit_overlapping(
    estimator: ConstrainedCV, scored: ScoredSamples, calibrations: list[CoverageData]
) -> dict[str, Any]:
    """Fitted attributes of thresholds of groups that are known and overlap."""
    _check_overlapping(estimator, scored)
    rules, out_of_fold = _solve_overlapping(estimator, scored, calibrations)
    coefficients = np.array([one.coefficients for one in rules])
    return {
        "rule_coef_": coefficients[:, 1:],
        "rule_intercept_": coefficients[:, 0],
        "_overlapping_": rules,
        "_coverage_columns_": _report_coverage(scored.training, calibrations, out_of_fold),
    }


def knows_groups(estimator: BaseEstimator) -> bool:
    """Whether thresholds are those of the groups themselves, which predictions are passed."""
    return estimator.group_estimator == "sensitive_features"


def thresholds_at(coefficients: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Thresholds of samples, (n_samples, n_rules), from coefficients (b, a) of each rule."""
    return coefficients[:, 0] + probabilities @ coefficients[:, 1:].T


class Thresholds(NamedTuple):
    """Coefficients (b, a) of each rule, (n_rules, 1 + n_groups), and what was fitted with them."""

    coefficients: np.ndarray
    out_of_fold: np.ndarray  # thresholds of the other folds, (n_samples, n_rules)
    fitted: dict  # further fitted attributes

    @classmethod
    def fit(
        cls,
        fit: Callable,
        calibrations: list[CoverageData],
        folds: list[list[np.ndarray]],
        probabilities: np.ndarray,
        fitted: dict[str, EventFeatures],
    ) -> Thresholds:
        """Coefficients of all samples, and out-of-fold thresholds, which the report judges.

        ``fit`` makes coefficients of a calibration and of the probabilities of groups.
        """
        coefficients = np.array([fit(one, probabilities) for one in calibrations])
        out_of_fold = np.zeros((len(probabilities), len(calibrations)))
        for train, test in folds:
            coefs = [fit(one.take(train), probabilities[train]) for one in calibrations]
            out_of_fold[test] = thresholds_at(np.array(coefs), probabilities[test])
        return cls(coefficients, out_of_fold, fitted)


def _make_calibrations(
    estimator: BaseEstimator, scored: ScoredSamples, by_rule: list[tuple]
) -> list[CoverageData]:
    """The `CoverageData` of each rule: one, or one for each class."""
    samples = scored.training.samples
    members = samples.groups.matrix.toarray() * samples.weights[:, np.newaxis]
    members = np.column_stack((members, samples.weights))
    units = np.arange(len(members)) if samples.clusters is None else samples.clusters
    return [
        CoverageData(
            scores=scores,
            sets=sets,
            members=members * is_counted[:, np.newaxis],
            units=units,
            coverage=estimator.coverage,
            confidence=estimator.confidence_level,
            n_rules=len(by_rule),
        )
        for scores, sets, is_counted in by_rule
    ]


def _suits_one_threshold(estimator: BaseEstimator, calibrations: list[CoverageData]) -> bool:
    """Whether there is one group, or one threshold covers all groups up to sampling noise."""
    n_groups = len(calibrations[0].levels) - 1
    if n_groups == 1:
        return True
    if knows_groups(estimator) or estimator.confidence_level is not None:
        return False
    return all(map(_covers_all_groups, calibrations))


def _fit_pooled(scored: ScoredSamples, calibrations: list[CoverageData]) -> Thresholds:
    """One threshold for all samples."""
    groups = scored.training.samples.groups
    _warn_of_group_sizes(groups, calibrations, np.empty(0, dtype=np.intp))
    probabilities = np.zeros(groups.matrix.shape)
    return Thresholds.fit(pooled_coefficients, calibrations, scored.folds, probabilities, {})


def _fit_by_group(
    estimator: ConstrainedCV,
    scored: ScoredSamples,
    column: np.ndarray,
    calibrations: list[CoverageData],
) -> Thresholds:
    """Thresholds of the groups themselves."""
    groups = scored.training.samples.groups
    everyone = np.arange(len(groups.names))
    _warn_of_group_sizes(groups, calibrations, everyone)
    probabilities, fitted = _estimate_groups(estimator, scored, column, everyone)
    fit = group_coefficients
    return Thresholds.fit(fit, calibrations, scored.folds, probabilities, fitted)


def _fit_blind(
    estimator: ConstrainedCV,
    scored: ScoredSamples,
    column: np.ndarray,
    calibrations: list[CoverageData],
) -> Thresholds:
    """Thresholds that do not know the group, by models of the groups that are large enough."""
    groups = scored.training.samples.groups
    # Groups that would have a finite threshold on average. A guarantee may need more samples.
    on_average = [replace(one, confidence=None).levels[:-1] for one in calibrations]
    large = np.flatnonzero(np.max(on_average, axis=0) <= 1.0)
    if not len(large):
        return _fit_pooled(scored, calibrations)
    _warn_of_group_sizes(groups, calibrations, large)
    probabilities, fitted = _estimate_groups(estimator, scored, column, large)
    fit = partial(_fit_blind_to_groups, large)
    thresholds = Thresholds.fit(fit, calibrations, scored.folds, probabilities, fitted)
    _warn_of_low_coverage(groups, calibrations, large, thresholds, probabilities)
    return thresholds


def _fit_blind_to_groups(
    large: np.ndarray, calibration: CoverageData, probabilities: np.ndarray
) -> np.ndarray:
    """Blind coefficients, which are 0 of all groups but the large ones."""
    coef = np.zeros(len(calibration.levels))
    compared = replace(calibration, members=calibration.members[:, [*large, -1]])
    of_large = pooled_coefficients(compared)
    if np.isfinite(of_large[0]):
        of_large = BlindSearch(compared, probabilities[:, large]).run(of_large)
    coef[[0, *(1 + large)]] = of_large
    return coef


def _estimate_groups(
    estimator: ConstrainedCV, scored: ScoredSamples, column: np.ndarray, compared: np.ndarray
) -> tuple[np.ndarray, dict[str, EventFeatures]]:
    """Out-of-fold probabilities of groups, (n_samples, n_groups), and the fitted models.

    Those of groups that are not compared are 0.
    """
    groups = scored.training.samples.groups
    constraint_events = _find_group_events(groups, compared, scored.folds)
    if not knows_groups(estimator):
        constraint_events.check_folds(scored.folds, groups)
    # The order of the folds decides nothing: the first one has the first sample.
    order = np.argsort([test.min() for _, test in scored.folds])
    folds = [scored.folds[number] for number in order]
    fitted = scored.scorers.training
    scorers = scored.scorers._replace(training=[fitted[number % len(fitted)] for number in order])
    reordered = scored._replace(folds=folds, scorers=scorers)
    features, probabilities = find_group_model(estimator, reordered, constraint_events)
    values = features.features(column, probabilities)
    # The mean of the folds' models is surer than each, on which the coefficients rest: take one.
    attributes = {"_event_features": features._replace(models=features.models[:1])}
    return values[0, :, 1 : 1 + len(groups.names)], attributes


def _find_group_events(
    groups: Groups, compared: np.ndarray, folds: list[list[np.ndarray]]
) -> ConstraintEvents:
    """The events of being in a group, of which the features are the probabilities.

    Groups that are not compared have features of 0.
    """
    everyone = np.ones(len(groups), dtype=bool)
    of_compared = groups.select(np.arange(len(groups.names))[compared])
    merged = merge_rare_combinations(group_codes(groups), [of_compared], [everyone], folds)
    table = np.zeros((len(merged.representatives), len(groups.names)))
    table[:, compared] = merged.compared.members
    table = table[np.newaxis, np.newaxis]
    return ConstraintEvents([everyone], [(0, "all")], merged.codes, table, True, merged.compared)


def _report_coverage(
    training: TrainingData, calibrations: list[CoverageData], thresholds: np.ndarray
) -> dict[str, np.ndarray]:
    """Columns of the report: coverage and mean size of every group, by class where rules are."""
    groups = training.samples.groups
    tables = []
    pairs = list(zip(calibrations, thresholds.T, strict=True))
    order = np.argsort(groups.ranks)
    names = np.empty(len(groups.names), dtype=object)
    names[:] = groups.names
    sizes = np.sum([one.sets.sizes(of_one[:, np.newaxis]) for one, of_one in pairs], axis=0)
    for number, (one, of_one) in enumerate(pairs):
        rates = one.rates(one.scores <= of_one).clip(0.0, 1.0)
        # Each of the two limits holds with a probability of .975.
        low, high = rate_limits(rates, one.sizes, 0.975)
        counts = np.rint((one.members / training.samples.weights[:, np.newaxis]).sum(axis=0))
        table = {"group": names, "n": counts.astype(int), "coverage": rates}
        table |= {"lower": low, "upper": high, "mean_size": one.rates(sizes)}
        if len(calibrations) > 1:
            table = {"class": np.repeat(training.classes[number], len(names))} | table  # type: ignore[index]
        tables.append({name: column[order] for name, column in table.items()})
    return {name: np.concatenate([one[name] for one in tables]) for name in tables[0]}


def _warn_of_group_sizes(
    groups: Groups, calibrations: list[CoverageData], modelled: np.ndarray
) -> None:
    """Warn of samples that are too few for the level, and of what remains of it.

    Groups that are modelled have a threshold of their own, or a coefficient.
    """
    needed = calibrations[0].needed_count
    advice = "pass a smaller coverage or confidence_level."
    finite = [one for one in calibrations if one.counts[-1] >= needed]
    if len(finite) < len(calibrations):
        minimum = min(one.counts[-1] for one in calibrations)
        what = "of a class, which is then in every set" if len(calibrations) > 1 else "in all"
        warn(
            f"A finite threshold needs {needed:.0f} samples, but there are {minimum:.0f} {what}: "
            f"the threshold is infinite. Pass more samples, or {advice}"
        )
    if not finite:
        return
    counts = np.min([one.counts for one in finite], axis=0)
    small = np.flatnonzero(counts[:-1] < needed)
    partly = np.intersect1d(small, modelled)
    if len(partly):
        levels = _remaining_levels(finite[0], counts)
        names = join_names(
            f"{groups.names[one]!r} ({counts[one]:.0f} samples, {levels[one]:.3g})"
            for one in partly
        )
        is_sure = finite[0].confidence is not None
        remains = "probability of the coverage" if is_sure else "mean coverage"
        warn(
            f"Groups {names} have fewer than the {needed:.0f} samples that the level needs. Their "
            f"thresholds cover all of these, so that the {remains} is at least the last number. "
            f"Merge small groups, or {advice}"
        )
    others = np.setdiff1d(small, modelled)
    if len(others):
        names = join_names(f"{groups.names[one]!r} ({counts[one]:.0f} samples)" for one in others)
        warn(
            f"Groups {names} have too few samples for a model of their own: no threshold is "
            f"theirs alone, but they count among all samples. Merge small groups, or {advice}"
        )


def _warn_of_unbounded_sets(groups: Groups, calibrations: list[CoverageData]) -> None:
    """Warn of groups that are too small for a finite threshold."""
    needed = calibrations[0].needed_count
    counts = np.min([one.counts for one in calibrations], axis=0)[:-1]
    small = np.flatnonzero(counts < needed)
    if len(small):
        names = join_names(f"{groups.names[one]!r} ({counts[one]:.0f} samples)" for one in small)
        warn(
            f"Groups {names} have fewer than the {needed:.0f} samples that the level needs, in "
            "each class with per_class: sets of their members have every value. Leave small groups "
            "out, merge them, or pass a smaller coverage."
        )


def _remaining_levels(calibration: CoverageData, counts: np.ndarray) -> np.ndarray:
    """Level of the largest score of each group: the mean coverage, or the probability of it."""
    if calibration.confidence is None:
        return counts / (counts + 1.0)
    return 1.0 - calibration.coverage**counts


def _warn_of_low_coverage(
    groups: Groups,
    calibrations: list[CoverageData],
    large: np.ndarray,
    thresholds: Thresholds,
    probabilities: np.ndarray,
) -> None:
    """Warn of groups whose coverage by blind thresholds is clearly below the level."""
    by_rule = thresholds_at(thresholds.coefficients, probabilities).T
    pairs = list(zip(calibrations, by_rule, strict=True))
    rates = np.min([one.rates(one.scores <= of_rule) for one, of_rule in pairs], axis=0)
    worst = np.min([one.residuals(of_rule)[large] for one, of_rule in pairs], axis=0)
    short = large[worst < -_UNEQUAL]
    if len(short):
        names = join_names(f"{groups.names[one]!r} ({rates[one]:.3g})" for one in short)
        warn(
            f"X tells too little about groups {names}, whose coverage, in parentheses, stays below "
            f"the level; all samples are covered at {rates[-1]:.3g}. Sets that cover these groups "
            "would be much larger. Pass group_estimator='sensitive_features'."
        )
