r"""Thresholds of nonconformity scores by which prediction sets cover every group equally often.

A set has all values whose score is at most t(x) = b + sum_g a_g P(g | x). There are as many
equations, "the coverage of group g is the level", as coefficients a_g. Where the group is known,
thresholds are quantiles of its scores. Else the equations are solved by Levenberg and Marquardt's
method: the shift that each group needs is a quantile too, of score less threshold. Every iterate
covers all samples together at the level, so that a search that ends early does too.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import expit, log_expit, softmax

from skfair.fitting._outcome import Subtask
from skfair.postprocessing._constrained_cv import begin_rule, features_of
from skfair.postprocessing._events import ConstraintEvents, group_codes
from skfair.postprocessing._out_of_fold_scores import cross_fit
from skfair.statistics._estimates import rate_limits
from skfair.utils._checks import join_names, warn

_NOISE_ERROR = 0.05
"""Error of the test whether one threshold covers all groups at the level."""

_N_STEPS = 60
"""Steps of Levenberg and Marquardt's method at most."""

_MAX_DAMPING = 1e6
"""Damping of steps that are too small to change the coverage of a group."""

_SOLVED, _UNEQUAL = 0.1, 1.0
"""Standard errors by which coverage may differ from the level: at the solution, and without a
warning."""

_NEAR = 0.2
"""Distance from a threshold at which samples count half, over the mean distance of the group."""

_MAX_ENLARGEMENT = 1.25
"""Largest mean size of blind sets, over that of pooled sets and of sets that know the group."""

_REPORTED_LEVEL = 0.975
"""Probability with which each of the two limits of a reported coverage holds."""

_TINY = np.finfo(float).tiny

_LEAST_SPREAD = 0.1
"""Smallest spread of a sample over the mean one."""


class ClassSets(NamedTuple):
    """Sets of classes by the score of each class, (n_samples, n_classes)."""

    scores: np.ndarray

    @classmethod
    def from_scores(cls, scores, classifier):
        """Scores 1 - P(class | x), of `estimator_scores`.

        Nothing is fitted to them: the true classes of samples that calibrate must not look
        likelier than those of new ones.
        """
        if scores.shape[1] == 1:
            return cls(expit(np.hstack((scores, -scores))))
        # A decision function has logarithms of probabilities, up to a constant; else log-odds.
        is_log = hasattr(classifier, "decision_function")
        return cls(1.0 - softmax(scores if is_log else log_expit(scores), axis=1))

    def contents(self, thresholds):
        """Whether each class is in the set; thresholds are of shape (n_samples, 1 or n_classes)."""
        return self.scores <= thresholds

    def sizes(self, thresholds):
        """Number of classes of each set, (n_samples,)."""
        return self.contents(thresholds).sum(axis=1)


class IntervalSets(NamedTuple):
    """Intervals from low to high, both moved outwards by threshold times spread."""

    low: np.ndarray
    high: np.ndarray
    spread: np.ndarray

    def contents(self, thresholds):
        """Ends of the intervals, (n_samples, 2); an empty one is a point."""
        half = self.sizes(thresholds) / 2.0
        middle = (self.low + self.high) / 2.0
        return np.column_stack((middle - half, middle + half))

    def sizes(self, thresholds):
        """Length of each interval, (n_samples,)."""
        return np.maximum(self.high - self.low + 2.0 * thresholds[:, 0] * self.spread, 0.0)

    def true_scores(self, target):
        """Threshold from which on each interval has the target, (n_samples,)."""
        return np.maximum(self.low - target, target - self.high) / self.spread


@dataclass(frozen=True, eq=False)
class Calibration:
    """Scores of true values, weights of the samples in groups, and the coverage to reach."""

    scores: np.ndarray  # (n_samples,)
    sets: Any  # ClassSets or IntervalSets
    members: np.ndarray  # weights of the samples in each group, and in all, (n_samples, n_groups+1)
    units: np.ndarray  # samples of equal code are not independent
    coverage: float
    confidence: float | None

    def take(self, rows):
        """Some of the samples, in as many groups."""
        sets = type(self.sets)(*(one[rows] for one in self.sets))
        taken = {"scores": self.scores[rows], "sets": sets, "members": self.members[rows]}
        return replace(self, **taken, units=self.units[rows])

    @cached_property
    def masses(self):
        """Weights of each group, and of all, (n_groups + 1,)."""
        return self.members.sum(axis=0)

    @cached_property
    def sizes(self):
        """Effective number of samples of each group, and of all (Kish), (n_groups + 1,)."""
        by_unit = np.array([np.bincount(self.units, column) for column in self.members.T])
        by_unit /= by_unit.max() or 1.0  # squares of any weights are finite
        totals = by_unit.sum(axis=1)
        squares = (by_unit**2).sum(axis=1)
        return np.divide(totals**2, squares, out=np.zeros(len(totals)), where=squares > 0)

    @cached_property
    def levels(self):
        """Share of the samples of each group, and of all, to cover; above 1 of too few.

        By default the (n + 1) rule. With a confidence, order statistics that are, for all groups at
        once, at least the quantile of the population.
        """
        n = np.floor(self.sizes + 1e-9)
        ranks = np.ceil((n + 1.0) * self.coverage - 1e-9)
        if self.confidence is not None:
            of_one = self.confidence ** (1.0 / max(len(n) - 1, 1))
            ranks = stats.binom.ppf(of_one, n, self.coverage) + 1.0
        return np.divide(ranks, n, out=np.full(len(n), np.inf), where=n > 0)

    def rates(self, values):
        """Weighted means of values over each group, and over all."""
        # A value may be infinite: it counts in the groups of its sample alone.
        is_infinite = np.isinf(values)
        means = self.members.T @ np.where(is_infinite, 0.0, values) / self.masses.clip(_TINY)
        return np.where(self.members.T @ is_infinite > 0, np.inf, means)

    def quantiles(self, scores):
        """Smallest scores up to which each group, and all, have their level of weight."""
        order = np.argsort(scores, kind="stable")
        masses = np.cumsum(self.members[order], axis=0)
        levels = self.levels.clip(max=2.0) * (1.0 - 1e-12) * masses[-1]
        places = [np.searchsorted(*one) for one in zip(masses.T, levels, strict=True)]
        return scores[order][np.minimum(places, len(order) - 1)]

    def keeps_level(self, coef):
        """Whether one threshold covers each group at the level, up to sampling noise."""
        level = 1.0 - _NOISE_ERROR / (2.0 * max(len(coef) - 1, 1))
        low, high = rate_limits(self.rates(self.scores <= coef[0]), self.sizes, level)
        return bool(((low <= self.coverage) & (self.coverage <= high))[:-1].all())

    def solve(self, probabilities, method):
        """Coefficients (b, a), and how far coverage is from the levels, in standard errors."""
        *of_groups, pooled = self.quantiles(self.scores)
        coef = np.append(pooled if self.levels[-1] <= 1.0 else np.inf, np.zeros(len(of_groups)))
        if method == "pooled" or np.isinf(coef[0]):
            return coef, coef[1:]
        if method == "sensitive_features":
            own = np.where(self.levels[:-1] <= 1.0, of_groups, pooled)  # of folds: with few samples
            return np.append(pooled, own - pooled), coef[1:]
        return self._solve_equations(coef, np.array(of_groups), probabilities)

    def _solve_equations(self, coef, quantiles, probabilities):
        """Coefficients of thresholds that do not know the group, and residuals of coverage."""
        sizes = self.sizes[:-1]
        levels = self.levels[:-1]
        members = self.members[:, :-1]
        errors = np.sqrt(self.coverage * (1.0 - self.coverage) / sizes)
        solved = np.maximum(_SOLVED, 1.0 / (sizes * errors))
        # Groups that X hardly tells apart would need sets without end: their size is bounded.
        shares = members / members.sum(axis=1, keepdims=True).clip(_TINY)
        known = np.where(members.any(axis=1), shares @ quantiles, coef[0])
        references = np.full(len(known), coef[0]), known
        largest = _MAX_ENLARGEMENT * max(map(self._mean_size, references))

        def evaluate(coef, lifts_groups=False):
            """Coefficients with b raised until all samples, or all groups, have their level."""
            thresholds = coef[0] + probabilities @ coef[1:]
            shifts = self.quantiles(self.scores - thresholds)
            lift = max(shifts.max() if lifts_groups else shifts[-1], 0.0)
            thresholds = thresholds + lift
            rates = self.rates(self.scores <= thresholds)[:-1]
            coef = np.append(coef[0] + lift, coef[1:])
            return coef, thresholds, shifts[:-1] - lift, (rates - levels) / errors

        damping, is_better = 1e-2, True
        coef, thresholds, shifts, residuals = evaluate(coef)
        for _ in range(_N_STEPS):
            if (np.abs(residuals) <= solved).all() or damping > _MAX_DAMPING:
                break
            # Step of the coefficients that shifts the thresholds of each group as it needs: the
            # coverage of samples near their shifted thresholds changes.
            if is_better:
                distance = np.abs((self.scores - thresholds)[:, np.newaxis] - shifts)
                scale = _NEAR * np.average(distance, axis=0, weights=members) + _TINY
                near = members / (1.0 + (distance / scale) ** 2)
                slopes = near.T @ probabilities / near.sum(axis=0)[:, np.newaxis]
                curvature = slopes.T @ (sizes[:, np.newaxis] * slopes)
            damped = damping * np.trace(curvature) / len(curvature) * np.eye(len(curvature))
            step = np.linalg.solve(curvature + damped, slopes.T @ (sizes * shifts))
            moved = evaluate(coef + np.append(0.0, step))
            is_better = moved[-1] @ moved[-1] < residuals @ residuals
            is_better = is_better and self._mean_size(moved[1]) <= largest
            if is_better:
                coef, thresholds, shifts, residuals = moved
            damping *= 0.2 if is_better else 5.0
        if self.confidence is not None:
            # A guarantee needs at least the level of each group.
            coef, *_, residuals = evaluate(coef, lifts_groups=True)
        return coef, residuals

    def _mean_size(self, thresholds):
        """Weighted mean size of the sets."""
        return self.rates(self.sets.sizes(thresholds[:, np.newaxis]))[-1]


# The fit, from out-of-fold scores to what predictions need.


def fit_spread(estimator, cross, columns):
    """Fitted attributes of the spread, and the spread of each sample out of fold."""
    if estimator.spread_estimator is None:
        return {"spread_estimators_": []}, np.ones(len(columns))
    training = cross.training
    residuals = np.abs(training.labels - columns.mean(axis=1))
    data = estimator.spread_estimator, training.samples.X, residuals
    models, spread = cross_fit(*data, cross.folds, n_jobs=estimator.n_jobs)
    mean = np.average(residuals, weights=training.samples.weights)
    least = max(_LEAST_SPREAD * mean, _TINY)
    return {"spread_estimators_": models, "_least_spread_": least}, spread[:, 0].clip(least)


def fit_thresholds(estimator, cross):
    """Fitted attributes of an estimator of prediction sets, from out-of-fold scores."""
    fitted, columns, _ = begin_rule(cross, is_calibrated=False)
    of_sets, scored = estimator._score_sets(cross, columns)
    samples = cross.training.samples
    members = samples.groups.matrix.toarray() * samples.weights[:, np.newaxis]
    members = np.column_stack((members, samples.weights))
    units = np.arange(len(members)) if samples.clusters is None else samples.clusters
    settings = units, estimator.coverage, estimator.confidence_level
    calibrations = [
        Calibration(scores, sets, members * is_counted[:, np.newaxis], *settings)
        for scores, sets, is_counted in scored
    ]
    with Subtask(estimator, cross.context, "thresholds"):
        # All groups are compared but those too small for a finite threshold.
        is_large = np.all([one.levels[:-1] <= 1.0 for one in calibrations], axis=0)
        large = np.flatnonzero(is_large)
        compared = [replace(one, members=one.members[:, [*large, -1]]) for one in calibrations]
        probabilities = np.zeros((len(members), len(large)))
        method = "pooled"
        solved = [one.solve(probabilities, method) for one in compared]
        is_noise = [one.keeps_level(coef) for one, (coef, _) in zip(compared, solved, strict=True)]
        if (
            len(large)
            and len(is_large) > 1
            and not (all(is_noise) and estimator.confidence_level is None)
        ):
            events = _find_group_events(samples.groups, large)
            if estimator.group_estimator != "sensitive_features":
                events.check_folds(cross.folds, samples.groups)
            features, values, _ = features_of(estimator, cross, columns[:, :1], events)
            # The mean of the folds' models is surer than each, on which the coefficients rest: take
            # that of the fold of the first sample, which names of classes do not change.
            first = np.argmin([test.min() for _, test in cross.folds]) % len(features.models)
            fitted["_event_features"] = features._replace(models=[features.models[first]])
            probabilities = values[0, :, 1 : 1 + len(large)]
            method = estimator.group_estimator
            solved = [one.solve(probabilities, method) for one in compared]
        _warn_of_groups(samples.groups, is_large, solved)
        # The report judges each fold by thresholds of the others.
        thresholds = np.zeros((len(members), len(calibrations)))
        for train, test in cross.folds:
            for number, one in enumerate(compared):
                coef, _ = one.take(train).solve(probabilities[train], method)
                thresholds[test, number] = coef[0] + probabilities[test] @ coef[1:]
    coefficients = np.array([coef for coef, _ in solved])
    by_group = np.zeros((len(calibrations), len(is_large)))
    by_group[:, large] = coefficients[:, 1:]
    return (
        fitted
        | of_sets
        | {
            "rule_coef_": by_group[:, np.argsort(samples.groups.ranks)],
            "rule_intercept_": coefficients[:, 0],
            "_thresholds_": coefficients[:, : 1 if method == "pooled" else None],
            "_coverage_columns_": _report_coverage(cross.training, calibrations, thresholds),
        }
    )


def _find_group_events(groups, large):
    """The events of being in a group, of which the features are the probabilities."""
    codes = group_codes(groups)
    numbers, first = np.unique(codes, return_index=True)
    table = groups.matrix[first[numbers >= 0]].toarray()[:, large].astype(float)
    everyone = np.ones(len(codes), dtype=bool)
    return ConstraintEvents([everyone], [(0, "all")], codes, table[np.newaxis, np.newaxis], True)


def _report_coverage(training, calibrations, thresholds):
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
        low, high = rate_limits(rates, one.sizes, _REPORTED_LEVEL)
        counts = np.rint((one.members / training.samples.weights[:, np.newaxis]).sum(axis=0))
        table = {"group": names, "n": counts.astype(int), "coverage": rates}
        table |= {"lower": low, "upper": high, "mean_size": one.rates(sizes)}
        if len(calibrations) > 1:
            table = {"class": np.repeat(training.classes[number], len(names))} | table
        tables.append({name: column[order] for name, column in table.items()})
    return {name: np.concatenate([one[name] for one in tables]) for name in tables[0]}


def _warn_of_groups(groups, is_large, solved):
    """Warn of groups without thresholds of their own, and of coverage clearly below the level."""
    small = [repr(name) for name, one in zip(groups.names, is_large, strict=True) if not one]
    if small:
        warn(
            f"Groups {join_names(small)} have too few samples for a finite threshold: they get the "
            "pooled one, which is infinite where all samples are too few. Merge small groups, or "
            "pass a smaller coverage or confidence_level."
        )
    worst = np.zeros(len(is_large))
    worst[is_large] = np.min([residuals for _, residuals in solved], axis=0)
    short = [repr(name) for name, one in zip(groups.names, worst, strict=True) if one < -_UNEQUAL]
    if short:
        warn(
            f"X tells too little about groups {join_names(short)}, whose coverage stays below the "
            "level: sets would be much larger. Pass group_estimator='sensitive_features'."
        )
