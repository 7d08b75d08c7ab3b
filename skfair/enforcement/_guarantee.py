"""Tolerances that hold for the population with a given probability, and not only in training.

The training data says little about the population's gap, because the fit has moved the training gap
to the tolerance. A margin is needed:

1. Fit at the requested tolerance. Where the constraint is active, the posterior of the population's
   gap, as far as sampling noise alone goes, gives a first, smaller tolerance.
2. Fit at this tolerance without each of five folds in turn. The gap of the pooled out-of-fold
   decisions exceeds that of the fits on their own training data by the optimism. This difference
   does not shrink with the tolerance, so the next tolerance is the largest gap that is certain
   enough, less the optimism.
3. Where the constraint is active, repeat step 2 at the lower tolerance, unless nothing was lowered.
   The mean probability by all rounds is reported.
4. Fit all samples at the final tolerance, with exactly the search of the folds: a more thorough
   search would find models that are fairer by chance.

This is calibrated and no theorem: ``python -m benchmarks redraws`` counts how often it fails.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

N_FOLDS = 5

_MAX_ROUNDS = 2
"""Rounds of folds where the constraint is active."""

_MIN_SHARE_OF_RANKS = 0.33
"""Share of a requested tolerance on ranks below which none is tried."""

_VIOLATED = 0.05
"""Share of the way from a requested tolerance to its limit: training gaps that exceed a tolerance
by more violate it."""

_MAX_MULTIPLE = 1e6
"""Multiple of the sample size beyond which no required size is named."""

_PRECISION = 2e-3
"""Accuracy of factors of a gap, which are lowered by it."""


class Guarantee(NamedTuple):
    """A fit, and the probability that the population keeps the tolerances.

    Attributes
    ----------
    candidate : object
        What the fit returns.
    tolerances : ndarray of shape (n_constraints,)
        Tolerance that the training data was held to, of each constraint.
    probability : float
        That the population keeps all requested tolerances; nan where none was requested.
    size_factor : float
        Sample size that would be enough, in multiples of the training data's; 1 if it is enough.
    """

    candidate: object
    tolerances: np.ndarray
    probability: float = np.nan
    size_factor: float = 1.0


def fit_with_guarantee(constraint, confidence, make_fit, clusters=None):
    """Fit such that the population keeps the tolerances of a system with probability `confidence`.

    Several constraints have equal shares of the risk. ``make_fit(rows, start)`` returns a function
    of tolerances, which fits these rows, or all samples where rows are None. It may start from its
    own last fit, the first time from ``start``, and returns a candidate with the ``scores`` of all
    samples, which ``is_plain`` where no constraint has moved it. Samples of equal code in
    `clusters` are in one fold, and their errors are correlated. Where the training data is too
    small, the guarantee is that of the most certain fit.
    """
    requested = constraint.tolerances
    level = 1.0 - (1.0 - confidence) / max(1, len(requested))
    # Step 1: fit at the requested tolerances. An inactive constraint leaves the plain fit, whose
    # training gap has little optimism: one round of folds at the requested tolerances is enough.
    fit = make_fit(None, None)
    first = fit(requested)
    training = constraint.gaps(first.scores)
    tolerances, max_rounds = requested, 1
    if not first.is_plain:
        noise = _Evidence(constraint, first.scores, training, clusters)
        tolerances, max_rounds = noise.lower(requested, training, level), _MAX_ROUNDS
    # Steps 2 and 3, rounds of folds: the optimism of training gaps lowers the tolerances further.
    folds = _Folds(constraint, make_fit, first, clusters)
    rounds = []
    while len(rounds) < max_rounds:
        rounds.append(_Evidence(constraint, *folds.predict(tolerances), clusters))
        reached = training if np.array_equal(tolerances, requested) else tolerances
        last, tolerances = tolerances, rounds[-1].lower(tolerances, reached, level)
        if np.array_equal(last, tolerances):
            break
    # Step 4: fit all samples. The tolerances are the smallest of all rounds, so the probability is
    # the mean of all rounds: that of the last one alone would be too optimistic.
    candidate = first if np.array_equal(tolerances, requested) else fit(tolerances)
    training = constraint.gaps(candidate.scores)
    probability = float(np.mean([one.joint_probability(training) for one in rounds]))
    if probability >= confidence:
        return Guarantee(candidate, tolerances, probability)
    size_factor = rounds[-1].required_size_factor(training, level)
    return Guarantee(candidate, tolerances, probability, size_factor)


class _Evidence:
    """Posteriors of the population's gaps, from out-of-fold decisions.

    With L the gap of the decisions and T that of the fits on their own training data, L - T is the
    optimism of the training data. A fit of training gap t is assumed to have the gap t + L - T in
    the population, apart from sampling noise, which the posterior has.
    """

    def __init__(self, constraint, scores, training, clusters):
        self.posteriors = [one.posterior(scores, clusters) for one in constraint]
        self.gaps = constraint.gaps(scores)
        self.training = training
        pairs = zip(constraint, self.posteriors, strict=True)
        self.floors = np.array([_smallest_tolerance(*pair) for pair in pairs])

    def lower(self, tolerances, reached, level):
        """Tolerances lowered to training gaps at which each requested one is kept at the level.

        They are unchanged where the gaps reached by the fit of all samples, or the largest that it
        may reach, are certain enough, and where fits violate them: no fit has smaller gaps.
        """
        # The largest certain gaps, less the optimism, which does not shrink with the training gap.
        rows = zip(self.posteriors, self.gaps, self._factors(reached), strict=True)
        certain = np.array([_largest_certain(*row, level) for row in rows])
        limits = certain - (self.gaps - self.training)
        lowest = np.maximum(self.floors, limits)
        # Fits that exceed a tolerance by a good part of the way to the limit cannot reach it.
        requested = np.array([one.tolerance for one in self.posteriors])
        excess = np.maximum(self.floors, _VIOLATED * (requested - lowest))
        is_final = (reached <= limits) | (self.training - tolerances > excess)
        return np.where(is_final, tolerances, np.minimum(tolerances, lowest))

    def joint_probability(self, training):
        """Probability that all requested tolerances are kept by a fit of these training gaps."""
        pairs = zip(self.posteriors, self._factors(training), strict=True)
        return max(0.0, 1.0 - sum(1.0 - one.probability(factor) for one, factor in pairs))

    def _factors(self, training):
        """Gaps of a fit of these training gaps, relative to out-of-fold ones, (n_constraints,)."""
        expected = np.maximum(0.0, training + self.gaps - self.training)
        return np.divide(expected, self.gaps, out=np.ones_like(expected), where=self.gaps > 0)

    def required_size_factor(self, training, level):
        """Multiple of the sample size at which the gap of such a fit is certain enough.

        The gap is assumed to be optimism, which is inversely proportional to the size.
        """
        pairs = list(zip(self.posteriors, self._factors(training), strict=True))

        def are_certain(multiple):
            return all(
                posterior.probability(factor / multiple, multiple) >= level
                for posterior, factor in pairs
            )

        multiple = 1.0
        while not are_certain(multiple) and multiple < _MAX_MULTIPLE:
            multiple *= 1.1
        return multiple if multiple < _MAX_MULTIPLE else np.inf


def _largest_certain(posterior, gap, expected, level):
    """The largest gap that keeps the tolerance with a probability; negative if there is none.

    It is infinite where the expected multiple of the gap is certain enough: no limit is needed.
    """
    largest = 2.0 * max(1.0, posterior.tolerance / gap) if gap > 0.0 else 1.0
    precision = _PRECISION * largest
    largest = max(largest, expected + precision)

    @cache  # the search begins at its ends once more
    def excess(factor):
        return posterior.probability(factor) - level

    if excess(expected + precision) >= 0.0:
        return np.inf
    if excess(0.0) < 0.0:
        return -1.0
    # The root, less its error: each evaluation costs an integral or thousands of draws.
    return max(0.0, brentq(excess, 0.0, largest, xtol=precision) - precision) * gap


class _Folds:
    """Fits without one fold each."""

    def __init__(self, constraint, make_fit, first, clusters):
        self.constraint, self.first = constraint, first
        self.fold = _assign_folds(constraint, len(first.scores), clusters)
        training = [np.flatnonzero(self.fold != number) for number in range(N_FOLDS)]
        # If one fold has all samples of an event, nothing can be learned without it.
        if not all(_all_occur(constraint, rows) for rows in training):
            training = []
        self.fits = [(rows, make_fit(rows, first), constraint.take(rows)) for rows in training]

    def predict(self, tolerances):
        """Out-of-fold scores of fits at given tolerances, and their mean training gaps.

        Those of the first fit if there are no fits without a fold.
        """
        scores = np.array(self.first.scores)
        if not self.fits:
            return scores, self.constraint.gaps(scores)
        gaps = []
        for number, (rows, fit, constraint) in enumerate(self.fits):
            candidate, is_outside = fit(tolerances), self.fold == number
            scores[is_outside] = candidate.scores[is_outside]
            gaps.append(constraint.gaps(candidate.scores[rows]))
        return scores, np.mean(gaps, axis=0)


def _smallest_tolerance(constraint, posterior):
    """The smallest tolerance that is tried: a gap of decisions cannot be less than one sample.

    Ranks are compared at many thresholds. A gap far below the requested one costs hundreds of
    iterations, and overfits the training data.
    """
    if constraint.statistic == "values":
        return 0.0
    size = posterior.sizes.min()
    if constraint.statistic == "ranks":
        return max(1.0 / size, _MIN_SHARE_OF_RANKS * constraint.tolerance)
    return constraint.aggregate.change_by_one(posterior.means, size)


def _assign_folds(constraint, n_samples, clusters=None):
    """Fold of each sample: the members of a stratum are distributed evenly, at random.

    Where rates of all samples are compared, classes are left to chance, as in new data: the strata
    are those of the constraint that compares most samples and divides them least.
    """
    rng = np.random.default_rng(0)  # equal data, equal folds
    if clusters is not None:
        # Clusters are distributed by the stratum of their first member.
        _, first, codes = np.unique(clusters, return_index=True, return_inverse=True)
        return _distribute(_strata(constraint, n_samples)[first], rng)[codes]
    return _distribute(_strata(constraint, n_samples), rng)


def _strata(constraint, n_samples):
    if not len(constraint):
        return np.zeros(n_samples, dtype=np.intp)
    candidates = [one.events.membership_codes for one in constraint]
    return min(candidates, key=lambda codes: ((codes < 0).sum(), codes.max()))


def _distribute(strata, rng):
    """A fold of each item, such that the members of a stratum are spread evenly."""
    order = rng.permutation(len(strata))
    fold = np.empty(len(strata), dtype=np.intp)
    fold[order[np.argsort(strata[order], kind="stable")]] = np.arange(len(strata)) % N_FOLDS
    return fold


def _all_occur(constraint, rows):
    """Whether each event that is compared occurs among these rows."""
    strata = [one.events.membership_codes for one in constraint]
    return all(np.isin(codes, codes[rows]).all() for codes in strata)
