"""Tolerances that hold for the population with a given probability, and not only in training.

The training data says little about the population's gap, because the fit has moved the training gap
to the tolerance. Decisions about samples that a fit has not seen say more. The probability that is
reported comes from such decisions at the tolerance that is returned:

1. Score each sample by the plain model of the others. The posterior of the gap of these scores
   gives the probability that the population keeps the requested tolerance. If it is too small, move
   decisions within planes (`Plane`), to the point of fewest errors at the smallest margin that is
   certain enough: all smoothed over each plane, as single points are fair by chance. Of several
   points that are certain enough that with the fewest errors about samples left out is returned.
   The next steps are left to data on which no such point is certain, and to losses and ranks.
2. Fit at the requested tolerance, and score each sample by the model fitted to the others. If the
   probability is large enough, the search ends.
3. Else lower the tolerance by as much as this gap must fall, and fit again. The fall of the gap per
   unit of the training gap is assumed once and then measured between two rounds. Losses that are
   equal at a score of 0 are brought together by smaller scores instead, as a lower tolerance would
   overfit the training data. All rounds have the same search: a more thorough one would find models
   that are fairer by chance.
4. Return the most certain fit of all samples.

A linear model is fitted to all samples but one by a step of Newton's method, which costs no fit
(`LeaveOneOut`). Other models, ranks and large clusters need five folds: the fits without each fold
in turn begin at that of all samples, except for ranks: of their many local solutions that one has
seen the fold. As folds are slow, the noise of the first fit alone lowers their first tolerance.

The choice of the tolerance hardly biases its own check. Write e for the error of the training
data's gap at a fixed model. Each sample is used for a test once and for training otherwise. So, to
first order, the population's gap of the last fit exceeds the measured gap by the same e at every
tolerance, and a guarantee is false only if e is too large, whichever tolerance or point of a plane
was chosen. The difference between the models is an error of second order: `_ERROR_FACTORS` allow
for it. Over the points of planes e differs more, and the chosen point has a large one:
`_SELECTION_SHARE` allows for that.

This is calibrated and no theorem: ``python -m benchmarks redraw-levels`` counts how often it fails.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import ndtri

from skfair._bound.bound import ConstraintSystem, make_posterior
from skfair._bound.units import MEANS_OF_PREDICTIONS
from skfair._fitting.planes import PlainFit, find_planes

if TYPE_CHECKING:
    from skfair._bound.bound import BoundConstraint
    from skfair._fitting.counting import Candidate
    from skfair._fitting.fitter import Fitter
    from skfair._fitting.leave_one_out import LeaveOneOut
    from skfair._fitting.planes import Plane


N_FOLDS = 5
"""Folds without which models of a guarantee are fitted."""


_ERROR_FACTORS = {"decisions": 1.05, "ranks": 1.05, "values": 1.1}
"""Factor of standard errors, for the difference between the models of the folds and the last."""

_REFUSED_ERROR_FACTOR = 1.3
"""Further factor of standard errors where the level is not reached: the search has then chosen the
luckiest of fits, none of which has the margin that allows for it."""

_SELECTION_SHARE = 0.4
"""Share of a risk that is left to a point that is chosen in planes: of thousands of points, one is
chosen whose samples are favourable."""

_AIMED_RISK_SHARE = 0.5
"""Share of the risk that the next tolerance aims at, so that its check is likely to succeed."""


_MIN_SLOPES = {"decisions": 0.5, "ranks": 0.5, "values": 0.1}
"""Smallest fall that is believed: less is noise, and would lead to far too small a tolerance."""


_MIN_STEP = 1e-4
"""Fall of a training gap below which no slope is measured."""


_FACTOR_TOLERANCE = 2e-3
"""Accuracy of factors of a gap, which are lowered by it."""

_TINY = 1e-12
"""Smallest risk that is distinguished from none."""


class Guarantee(NamedTuple):
    """A fit, and the probability that the population keeps the tolerances.

    Attributes
    ----------
    candidate : object
        What the fit returns.
    training_tolerances : ndarray of shape (n_constraints,)
        Tolerance that the training data was held to, of each constraint.
    probability : float
        That the population keeps all requested tolerances, at least; nan where none was requested.
    size_factor : float
        Sample size that would be enough, in multiples of the training data's; 1 if it is enough.
    limits : ndarray of shape (n_constraints,) or None
        The smallest tolerances that this fit keeps with the requested probability; None where none
        was requested.
    tolerances : ndarray of shape (n_constraints,) or None
        Requested tolerances as reports state them; None before they are in the user's units.
    """

    candidate: Any
    training_tolerances: np.ndarray
    probability: float = np.nan
    size_factor: float = 1.0
    limits: np.ndarray | None = None
    tolerances: np.ndarray | None = None


def fit_with_guarantee(
    system: ConstraintSystem,
    confidence: float,
    make_fit: Callable,
    clusters: np.ndarray | None = None,
    fitter: Fitter | None = None,
    leave_one_out: LeaveOneOut | None = None,
) -> Guarantee:
    """Fit such that the population keeps the tolerances of a system with probability `confidence`.

    Several constraints have equal shares of the risk. ``make_fit(rows)`` returns a function
    ``fit(tolerances, latest)`` of these rows, or of all samples where rows are None. It may start
    from its own last fit, or from ``latest``, that of all samples at these tolerances. It returns a
    candidate with the ``scores`` of all samples. The `fitter` evaluates models that are moved
    within planes, and `leave_one_out` scores samples by models that need no folds. Samples of equal
    code in `clusters` are in one fold, and their errors are correlated. Where the training data is
    too small, the guarantee is that of the most certain fit.
    """
    requested = system.tolerances
    risk = (1.0 - confidence) / max(1, len(requested))
    aim = 1.0 - _AIMED_RISK_SHARE * risk
    if fitter is None:
        refits = _Refits(system, make_fit, clusters)
    else:
        refits = _FitterRefits(system, make_fit, clusters, fitter, leave_one_out)
    rounds = refits.search_planes(confidence, aim)
    if not any(one.probability >= confidence for one in rounds):
        rounds = rounds + _fit_rounds(refits, confidence, aim)
    # Step 4: the most certain fit of all samples.
    best = refits.choose(rounds, confidence)
    training = system.gaps(best.candidate.scores)
    probability = best.probability_of_fit(training)
    limits = best.limits(training, 1.0 - risk)
    size_factor = 1.0
    if probability < confidence:
        probability = min(probability, best.probability_of_fit(training, _REFUSED_ERROR_FACTOR))
        size_factor = best.required_size_factor(training, 1.0 - risk)
    elif (limits > requested).any():  # one constraint needs more than its share of the risk
        limits = requested
    return Guarantee(best.candidate, best.tolerances, probability, size_factor, limits)


def _fit_rounds(refits: _Refits, confidence: float, aim: float) -> list[_Evidence]:
    """Evidence of fits at lower and lower tolerances, until one is certain enough or none can be.

    Lower tolerances are those at which the probability is expected to be `aim`.
    """
    # Step 2: fit at the requested tolerances. Before folds sampling noise alone lowers them, unless
    # the plain fit may be certain enough.
    tolerances = refits.system.tolerances
    if refits.leave_one_out is None:
        noise = refits.evaluate_training()
        if noise.probability < confidence or not noise.candidate.is_unconstrained:
            tolerances = noise.lower(noise.excess(aim))
    # Step 3: leave samples out, and lower the tolerances.
    rounds = [refits.evaluate(tolerances)]
    # Models are fitted at three tolerances at most.
    while not rounds[-1].is_final(confidence) and len(rounds) < 3:
        latest = rounds[-1]
        excess = latest.excess(aim)
        shrunk = refits.shrink(latest, excess)
        if shrunk is not None and shrunk.probability >= confidence:
            # Smaller scores vary less: what this leaves of the tolerances is used.
            unused = refits.system.tolerances - shrunk.limits(shrunk.training, aim)
            # Try larger scores, with all, half and a quarter of what small ones leave.
            for share in (1.0, 0.5, 0.25):
                wider = refits.shrink(latest, excess - share * np.maximum(0.0, unused))
                if wider is not None and wider.probability >= confidence:
                    return [*rounds, wider]
            return [*rounds, shrunk]
        tolerances = latest.lower(excess, _slopes(rounds))
        is_lowest = not (latest.tolerances - tolerances > _MIN_STEP).any()
        # An excess would remain if a gap fell by as much as the training gap can. Nothing is out of
        # reach of decisions and ranks: their gaps do not fall smoothly.
        is_out_of_reach = (excess > latest.training - latest.floors)[latest.is_smooth].any()
        if is_lowest or (len(rounds) > 1 and is_out_of_reach):
            break
        rounds.append(refits.evaluate(tolerances))
    return rounds


def _slopes(rounds: list[_Evidence]) -> np.ndarray:
    """Fall of each out-of-fold gap per unit of the training gap, between the last two rounds."""
    slopes = rounds[0].first_slopes
    for before, after in zip(rounds[:-1], rounds[1:], strict=True):
        steps = before.training - after.training
        is_measured = steps > _MIN_STEP
        falls = (before.gaps - after.gaps) / np.where(is_measured, steps, 1.0)
        slopes = np.where(is_measured, np.clip(falls, after.min_slopes, 1.0), slopes)
    return slopes


def _first_slope(sums: Any) -> float:
    """Fall of an out-of-fold gap of such sums per unit of the training gap, before it is known."""
    # Means of predictions fall by as much as those in training.
    is_loss = sums.metric_input == "values" and sums.exact[0] not in MEANS_OF_PREDICTIONS
    # Before it is measured: gaps of losses fall by .6 per unit of the training gap. Those of
    # decisions, ranks and means of scores fall by as much as the training gap.
    return 0.6 if is_loss else 1.0


class _Evidence:
    """Posteriors of the population's gaps, from decisions about samples left out.

    The candidate is fitted to all samples at these tolerances, and `scores` are those of samples by
    models without them. `training` are the mean gaps of the fits on their own training data, and
    `hidden` is by how much pooling makes gaps smaller. Apart from sampling noise, which the
    posteriors have, the population's gaps are taken to be the sum of those of the decisions and the
    hidden ones, and no less than in training. Of many models, the chosen one may have no more than
    a `share` of the risk.
    """

    def __init__(
        self,
        system: ConstraintSystem,
        fit: tuple,
        scores: np.ndarray,
        training: np.ndarray,
        clusters: np.ndarray | None,
        hidden: np.ndarray | float = 0.0,
        share: float = 1.0,
    ) -> None:
        self.system = system
        (self.tolerances, self.candidate) = fit
        self.scores = scores
        self.training = training
        self.share = share
        self.posteriors = [make_posterior(one, scores, clusters) for one in system]
        # Unknown gaps, such as that of precision without an accepted sample, are beyond others.
        self.pooled = np.nan_to_num(system.gaps(scores), nan=np.inf)
        self.gaps = np.maximum(self.pooled + hidden, training)
        self.is_ratio = [one.gap.is_ratio for one in system]
        self.is_smooth = np.array([one.sums.metric_input == "values" for one in system], dtype=bool)
        # Sample sizes that have the larger standard errors, in multiples of the effective sizes.
        self.multiples = [_ERROR_FACTORS[one.sums.metric_input] ** -2 for one in system]
        self.first_slopes = np.array([_first_slope(one.sums) for one in system])
        self.min_slopes = np.array([_MIN_SLOPES[one.sums.metric_input] for one in system])
        pairs = zip(system, self.posteriors, strict=True)
        self.floors = np.array([_smallest_tolerance(*pair) for pair in pairs])
        self.probability = self.probability_of_fit(training)

    def excess(self, level: float) -> np.ndarray:
        """By how much gaps exceed the largest that keep each tolerance with a probability.

        It is -inf where the gap itself is certain enough.
        """
        factors = self._gap_factors(self.training)
        rows = zip(self.posteriors, self.pooled, factors, self.multiples, strict=True)
        largest = np.array([_largest_certain_gap(*row, level) for row in rows])
        return np.subtract(
            self.gaps, largest, out=np.full(len(largest), -np.inf), where=np.isfinite(largest)
        )

    def lower(self, excess: np.ndarray, slopes: np.ndarray | float = 1.0) -> np.ndarray:
        """The tolerances at which gaps are expected to fall by their excess, (n_constraints,).

        They are unchanged where there is no excess, and where fits violate them: no fit has smaller
        gaps. `slopes` are the falls of out-of-fold gaps per unit of the training gaps.
        """
        lowest = np.maximum(self.floors, self.training - excess / slopes)
        # Fits that exceed a tolerance by a good part of the way to the lowest cannot reach it.
        # A training gap violates a tolerance that it exceeds by more than a twentieth of the way
        # from the requested one to the lowest.
        margin = np.maximum(self.floors, 0.05 * (self.system.tolerances - lowest))
        is_violated = self.training - self.tolerances > margin
        return np.minimum(self.tolerances, np.where(is_violated, np.inf, lowest))

    def is_final(self, level: float) -> bool:
        """Whether the probability reaches a level, or a lower tolerance would not help.

        A lower tolerance is tried once even if the level is out of reach: it is more certain.
        """
        if self.probability >= level:
            return True
        if np.array_equal(self.tolerances, self.system.tolerances):
            return False
        return not self.can_reach(level)

    def can_reach(self, level: float) -> bool:
        """Whether gaps of 0 would be certain enough."""
        rows = zip(self.posteriors, self.multiples, strict=True)
        risks = [1.0 - one.probability(0.0, multiple) for one, multiple in rows]
        return level <= 1.0 - sum(risks)

    def probability_of_fit(self, training: np.ndarray, error_factor: float = 1.0) -> float:
        """Probability that all requested tolerances are kept by a fit of these training gaps.

        Standard errors are multiplied by the factor.
        """
        multiples = np.divide(self.multiples, error_factor**2)
        rows = zip(self.posteriors, self._gap_factors(training), multiples, strict=True)
        risks = [1.0 - one.probability(factor, multiple) for one, factor, multiple in rows]
        return max(0.0, 1.0 - float(np.sum(risks)) / self.share)

    def limits(self, training: np.ndarray, level: float) -> np.ndarray:
        """Smallest tolerances that such a fit keeps with a probability each, (n_constraints,)."""
        factors = self._gap_factors(training)
        rows = zip(self.posteriors, factors, self.multiples, self.is_ratio, strict=True)
        counted = _counted_level(level, self.share)
        return np.array([_find_limit(*row, counted) for row in rows])

    def _gap_factors(self, training: np.ndarray) -> np.ndarray:
        """Gaps of a fit of these training gaps, relative to pooled ones, (n_constraints,).

        Smaller training gaps guarantee nothing. An excess over violated tolerances counts.
        """
        excess = np.maximum(0.0, training - np.maximum(self.tolerances, self.training))
        expected = np.maximum(self.gaps + excess, training)
        ones = np.ones(len(self.gaps))
        is_known = (self.pooled > 0) & np.isfinite(self.pooled)
        return np.divide(expected, self.pooled, out=ones, where=is_known)

    def required_size_factor(self, training: np.ndarray, level: float) -> float:
        """Multiple of the sample size at which the gap of such a fit is certain enough.

        The gap is assumed to be optimism, which is inversely proportional to the size.
        """
        rows = list(zip(self.posteriors, self._gap_factors(training), self.multiples, strict=True))
        counted = _counted_level(level, self.share)

        def are_certain(multiple: float) -> bool:
            return all(
                posterior.probability(factor / multiple, multiple * effective) >= counted
                for posterior, factor, effective in rows
            )

        too_small = 1.0
        enough = 2.0
        while not are_certain(enough):
            too_small = enough
            enough = 2.0 * enough
            # No larger size is named.
            if enough > 1e6:
                return np.inf
        # Bisect the size to a tenth of it.
        while enough > 1.1 * too_small:
            middle = np.sqrt(too_small * enough)
            too_small, enough = (too_small, middle) if are_certain(middle) else (middle, enough)
        return float(enough)


def _counted_level(level: float, share: float) -> float:
    """The probability of a counted gap whose risk is a share of that at the level."""
    return 1.0 - share * (1.0 - level)


def _largest_certain_gap(
    posterior: Any, pooled: float, expected: float, multiple: float, level: float
) -> float:
    """The largest gap that keeps the tolerance with a probability, or nearly if there is none.

    It is infinite where the expected multiple of the pooled gap is certain enough.
    """
    if posterior.probability(expected, multiple) >= level:
        return np.inf
    of_no_gap = posterior.probability(0.0, multiple)
    if of_no_gap < level:  # nearly as certain as a gap of 0
        # Accept a tenth more of the risk at a gap of 0.
        nearly = 1.0 - 1.1 * (1.0 - of_no_gap)
        return _largest_certain_gap(posterior, pooled, expected, multiple, nearly)
    factor = _find_level(
        lambda factor: posterior.probability(factor, multiple),
        level,
        (0.0, expected),
        _FACTOR_TOLERANCE,
    )
    return max(0.0, factor - _FACTOR_TOLERANCE) * pooled


def _find_limit(
    posterior: Any, factor: float, multiple: float, is_ratio: bool, level: float
) -> float:
    """The smallest tolerance that is kept with a probability, by a multiple of the gap."""

    def probability(tolerance: float) -> float:
        return posterior.probability(factor, multiple, tolerance)

    # A ratio cannot be less than 0, the tolerance 1.
    highest = 1.0 - _FACTOR_TOLERANCE if is_ratio else np.inf
    largest = min(highest, max(posterior.tolerance, _FACTOR_TOLERANCE))
    while probability(largest) < level and largest < highest:
        largest = min(highest, 2.0 * largest)
    if probability(largest) < level:
        return 1.0
    if probability(0.0) >= level:
        return 0.0
    precision = _FACTOR_TOLERANCE * largest
    return min(largest, _find_level(probability, level, (0.0, largest), precision) + precision)


def _find_level(
    probability: Callable, level: float, ends: tuple[float, float], precision: float
) -> float:
    """The argument between two ends at which a probability has a level.

    On the scale of normal quantiles it is nearly a line, which the root of few values is found of.
    """
    sought = ndtri(level)

    def excess(argument: float) -> float:
        return ndtri(np.clip(probability(argument), _TINY, 1.0 - _TINY)) - sought

    return brentq(cache(excess), *ends, xtol=precision)


class _Refits:
    """Fits of all samples, and what they tell about samples that they were not fitted to."""

    leave_one_out: LeaveOneOut | None = None

    def __init__(
        self, system: ConstraintSystem, make_fit: Callable, clusters: np.ndarray | None
    ) -> None:
        self.system = system
        self.make_fit = make_fit
        self.clusters = clusters
        self.ranks = np.array([one.sums.metric_input == "ranks" for one in system], dtype=bool)
        self.fit = make_fit(None)

    @cached_property
    def first(self) -> Candidate:
        """The fit at the requested tolerances."""
        return self.fit(self.system.tolerances)

    @cached_property
    def fold(self) -> np.ndarray:
        """Fold of each sample, (n_samples,)."""
        return _assign_folds(self.system, len(self.first.scores), self.clusters)

    @cached_property
    def fits(self) -> list[tuple]:
        """Training rows, fit and constraint of each fold; none if an event needs a whole fold."""
        training = [np.flatnonzero(self.fold != number) for number in range(N_FOLDS)]
        # If one fold has all samples of an event, nothing can be learned without it.
        if not all(_all_occur(self.system, rows) for rows in training):
            return []
        try:
            return [(rows, self.make_fit(rows), self.system.take(rows)) for rows in training]
        except ValueError as error:
            raise ValueError(
                f"confidence_level needs fits to {N_FOLDS - 1} of {N_FOLDS} folds of the samples. "
                f"{error} Or pass confidence_level=None."
            ) from error

    def evaluate_training(self) -> _Evidence:
        """The evidence of the first fit, as far as sampling noise alone goes, as `_Evidence`."""
        return self._make_evidence(self.first, self.first.scores, self.system.tolerances)

    def evaluate(self, tolerances: np.ndarray) -> _Evidence:
        """The evidence of fits at these tolerances, as `_Evidence`."""
        candidate = self.first
        if not np.array_equal(tolerances, self.system.tolerances):
            candidate = self.fit(tolerances, self.first)
        outside, inside, training = self._score(tolerances, candidate)
        # The scores of several models have fewer ties and smoother ranks than those of one. The
        # gap that this hides is measured on scores that the same models give training samples.
        hidden = np.zeros(len(training))
        if self.ranks.any():
            lost = training - self.system.gaps(inside)
            hidden = np.where(self.ranks, np.maximum(0.0, lost), 0.0)
        fit = tolerances, candidate
        return _Evidence(self.system, fit, outside, training, self.clusters, hidden)

    def shrink(self, evidence: _Evidence, excess: np.ndarray) -> _Evidence | None:
        """No evidence: what smaller scores would show is not known."""
        return None

    def search_planes(self, confidence: float, aim: float) -> list[_Evidence]:
        """No evidence: there are no planes."""
        return []

    def choose(self, rounds: list[_Evidence], confidence: float) -> _Evidence:
        """The most certain fit of all samples."""
        return max(reversed(rounds), key=attrgetter("probability"))

    def _certain_gaps(self, evidence: _Evidence, excess: np.ndarray) -> np.ndarray:
        """Largest gaps of samples left out that are certain enough, (n_constraints,)."""
        return np.clip(evidence.pooled - excess, 0.0, self.system.tolerances)

    def _make_evidence(
        self, candidate: Candidate, scores: np.ndarray, tolerances: np.ndarray, *selection: Any
    ) -> _Evidence:
        """The evidence of one candidate and its scores of samples left out."""
        training = self.system.gaps(candidate.scores)
        fit = tolerances, candidate
        return _Evidence(self.system, fit, scores, training, self.clusters, *selection)

    def _score(
        self, tolerances: np.ndarray, candidate: Candidate
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores of samples left out, and of training samples, and mean gaps in training.

        Those of the candidate itself if there are no fits without a fold.
        """
        scores = candidate.scores
        system = self.system
        if not self.fits:
            return scores, scores, system.gaps(scores)
        # Pool the scores of fits without each fold, which start at the candidate of all samples.
        outside = np.array(scores)
        inside = np.array(scores)
        gaps = []
        for number, (rows, fit, of_fold) in enumerate(self.fits):
            scores = fit(tolerances, candidate).scores
            is_outside = self.fold == number
            is_next = self.fold == (number + 1) % N_FOLDS
            outside[is_outside] = scores[is_outside]
            inside[is_next] = scores[is_next]
            gaps.append(of_fold.gaps(scores[rows]))
        return outside, inside, np.mean(gaps, axis=0)


class _FitterRefits(_Refits):
    """Refits of a fitter, whose models can be moved within planes, or leave single samples out."""

    def __init__(
        self,
        system: ConstraintSystem,
        make_fit: Callable,
        clusters: np.ndarray | None,
        fitter: Fitter,
        leave_one_out: LeaveOneOut | None,
    ) -> None:
        super().__init__(system, make_fit, clusters)
        self.fitter = fitter
        self.leave_one_out = leave_one_out

    @cached_property
    def _has_decisions(self) -> bool:
        """Whether scores decide between two classes by their sign."""
        return bool(np.isin(self.fitter.problem.target, (-1.0, 1.0)).all())

    @property
    def _can_move(self) -> bool:
        """Whether decisions alone are compared, of models that can be moved within planes."""
        return self.system.metric_inputs == {"decisions"} and self._has_decisions

    def choose(self, rounds: list[_Evidence], confidence: float) -> _Evidence:
        """Of models that can be moved, the certain one of fewest errors; else the most certain."""
        certain = [one for one in rounds if one.probability >= confidence]
        if certain and self._can_move:
            return min(certain, key=self._count_errors)
        return super().choose(rounds, confidence)

    @cached_property
    def fold(self) -> np.ndarray:
        """Fold of each sample, (n_samples,)."""
        return _assign_folds(self.system, len(self.fitter.problem.target), self.clusters)

    def shrink(self, evidence: _Evidence, excess: np.ndarray) -> _Evidence | None:
        """The evidence of a candidate whose scores are so small that gaps fall by their excess.

        None where there is no excess, and where not all gaps are those of losses that are equal at
        scores of 0. Unlike a lower tolerance, smaller scores do not overfit the training data.
        """
        if self.leave_one_out is None or self.system.metric_inputs != {"values"}:
            return None
        if not self._has_decisions:  # smaller predictions are others
            return None
        limits = self._certain_gaps(evidence, excess)
        scores = evidence.scores
        if (excess == -np.inf).all() or (self.system.gaps(0.0 * scores) > limits).any():
            return None
        small = 0.0
        large = 1.0
        while large - small > _FACTOR_TOLERANCE:
            middle = (small + large) / 2
            is_within = (self.system.gaps(middle * scores) <= limits).all()
            small, large = (middle, large) if is_within else (small, middle)
        candidate = self.leave_one_out.shrink(evidence.candidate, small)
        tolerances = np.maximum(evidence.tolerances, self.system.gaps(candidate.scores))
        return self._make_evidence(candidate, small * scores, tolerances)

    def search_planes(self, confidence: float, aim: float) -> list[_Evidence]:
        """Evidence of points of planes through the plain fit, or of this if it is certain enough.

        None where not even equal rates would be certain enough.
        """
        plain_fit = self._fit_plain() if self._can_move else None
        if plain_fit is None:
            return []
        tolerances = self.system.tolerances
        plain = self._make_evidence(plain_fit.candidate, plain_fit.scores, tolerances)
        if plain.probability >= confidence and plain.candidate.keeps_bound:
            return [plain]
        if not plain.can_reach(confidence):
            return []
        planes = list(find_planes(self.fitter.problem, plain_fit))
        excess = plain.excess(_counted_level(aim, _SELECTION_SHARE))
        margins = tolerances - self._certain_gaps(plain, excess)
        # A margin is at least a fiftieth of the tolerance.
        margins = np.maximum(margins, 0.02 * tolerances)
        # All planes at once, and each plane where none of the points so found is certain enough.
        moves = []
        for searched in (planes, *([plane] for plane in planes)):
            moves += self._bisect_margins(plain, searched, margins, confidence)
            if any(move.probability >= confidence for move in moves):
                break
        return moves

    def _bisect_margins(
        self, plain: _Evidence, planes: list[Plane], margins: np.ndarray, confidence: float
    ) -> list[_Evidence]:
        """Evidence of the points of fewest errors at multiples of the margins of the tolerances."""
        if not planes:
            return []
        order = np.argsort(np.concatenate([plane.errors for plane in planes]), kind="stable")
        slack = self.system.tolerances - np.hstack([plane.gaps for plane in planes]).T
        multiples = (slack / margins).min(axis=1)[order]
        moves = {}
        ends = [0.0, multiples.max()]
        # Bisect the margin; seven points are evaluated at most.
        for _ in range(7):
            middle = sum(ends) / 2.0
            k = int(order[(multiples >= middle).argmax()])
            if k not in moves:
                n_points = len(planes[0].errors)
                moves[k] = self._evaluate_point(plain, planes[k // n_points], k % n_points)
            is_certain = moves[k].candidate.keeps_bound and moves[k].probability >= confidence
            ends[int(is_certain)] = middle
        return [move for move in moves.values() if move.candidate.keeps_bound]

    def _fit_plain(self) -> PlainFit | None:
        """The plain fit, as `PlainFit`; None if an event needs a whole fold."""
        if self.leave_one_out is not None:
            return self.leave_one_out.plain
        candidate = self.fitter.fit_unconstrained()
        models = []
        scores = np.array(candidate.scores)
        folds = []
        for number, (_, fit, _) in enumerate(self.fits):
            model, parameters = fit.fit_plain()
            rows = np.flatnonzero(self.fold == number)
            scores[rows] = model.take(rows).scores(parameters)
            models.append(model)
            folds.append(rows)
        return PlainFit(candidate, scores, folds, models) if folds else None

    def _evaluate_point(self, evidence: _Evidence, plane: Plane, k: int) -> _Evidence:
        """The evidence of a point of a plane."""
        parameters, scores = plane.point(k)
        candidate = self.fitter.evaluate(parameters, evidence.candidate.result)
        training = self.system.gaps(candidate.scores)
        # Counts at single points are fair by chance, or unfair: the smoothed gap is expected.
        hidden = plane.gaps[:, k] - self.system.gaps(scores)
        # The point keeps these tolerances however its gaps are computed: a ratio is 1 minus a gap.
        # Errors of gaps by rounding.
        tolerances = training + 1e-12
        return self._make_evidence(candidate, scores, tolerances, hidden, _SELECTION_SHARE)

    def _count_errors(self, evidence: _Evidence) -> float:
        """The weighted share of wrong decisions about samples left out."""
        problem = self.fitter.problem
        return float(problem.mean_weights @ ((evidence.scores > 0) != (problem.target > 0)))

    def _score(
        self, tolerances: np.ndarray, candidate: Candidate
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self.leave_one_out is None:
            return super()._score(tolerances, candidate)
        scores = candidate.scores
        tighter = self.system.replace_tolerances(tolerances)
        return self.leave_one_out.scores(candidate, tighter), scores, self.system.gaps(scores)


def _smallest_tolerance(bound: BoundConstraint, posterior: Any) -> float:
    """The smallest tolerance that is tried: a gap of decisions cannot be less than one sample.

    Ranks are compared at many thresholds. A gap far below the requested one costs hundreds of
    iterations, and overfits the training data.
    """
    if bound.sums.metric_input == "values":
        return 0.0
    size = posterior.sizes.min()
    if bound.sums.metric_input == "ranks":
        # Tolerances on ranks are lowered to a third of the requested one at most.
        return max(1.0 / size, 0.33 * bound.tolerance)
    return bound.gap.one_sample_change(posterior.means, size)


def _assign_folds(
    system: ConstraintSystem, n_samples: int, clusters: np.ndarray | None = None
) -> np.ndarray:
    """Fold of each sample: the members of a stratum are distributed evenly, at random.

    Where rates of all samples are compared, classes are left to chance, as in new data: the strata
    are those of the constraint that compares most samples and divides them least. Their codes
    follow the sizes of groups and the order of samples, so that names decide nothing.
    """
    rng = np.random.default_rng(0)  # equal data, equal folds
    if clusters is not None:
        # Clusters, in the order of their first members, are distributed by the strata of these.
        codes = pd.factorize(clusters)[0]
        first = np.unique(codes, return_index=True)[1]
        return _distribute(_strata(system, n_samples)[first], rng)[codes]
    return _distribute(_strata(system, n_samples), rng)


def _strata(system: ConstraintSystem, n_samples: int) -> np.ndarray:
    if not len(system):
        return np.zeros(n_samples, dtype=np.intp)
    candidates = [one.sums.events.membership_codes for one in system]
    return min(candidates, key=lambda codes: ((codes < 0).sum(), codes.max()))


def _distribute(strata: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A fold of each item, such that the members of a stratum are spread evenly."""
    order = rng.permutation(len(strata))
    fold = np.empty(len(strata), dtype=np.intp)
    fold[order[np.argsort(strata[order], kind="stable")]] = np.arange(len(strata)) % N_FOLDS
    return fold


def _all_occur(system: ConstraintSystem, rows: np.ndarray) -> bool:
    """Whether each event that is compared occurs among these rows."""
    strata = [one.sums.events.membership_codes for one in system]
    return all(np.isin(codes, codes[rows]).all() for codes in strata)
