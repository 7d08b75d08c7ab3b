"""Tolerances that people not yet seen keep too, with a given probability.

The gap of the people of a fit says little of that of others: the fit has led it to the tolerance,
so that chance alone takes every other sample beyond. A margin is needed, and the people of the fit
tell how large it must be:

1. of a fit at the tolerance, the posterior of the population's gap: the gap shrinks until it keeps
   the tolerance with the probability asked for;
2. fits at this smaller tolerance, each without a fifth of the people: their decisions about those
   left out do not have what a fit gains on its own people, and their gap shrinks in the same way
   (these fits search the intercept alone: nobody is decided about by them in earnest);
3. a last fit of everybody, whose own posterior must promise as much.

It is calibrated, and no theorem: ``python -m benchmarks redraws`` counts how often it is broken.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

N_FOLDS = 5

_LEFT_OUT = 1.0 / 1.2**2
"""What people left out count for: standard errors a fifth larger, as folds share their people, and
as their fits gain a little less on these than the last one does on everybody."""

_MAX_LAST = 3
"""Fits of everybody at the end: rates move with the tolerance, and their errors with them."""

_MOST = 1e6
"""Times of the people of a fit beyond which no number is named."""

_PRECISION = 2e-3
"""To which factors are found; they are taken that much smaller."""


class Promise(NamedTuple):
    """What was found, and how likely new people keep the tolerances.

    Attributes
    ----------
    found : object
        What the fit returns.
    tolerances : ndarray of shape (n_parts,)
        What each part of the constraint was held to among the people of the fit.
    probability : float
        That the population keeps all tolerances asked for; nan where nobody asked.
    people : float
        How many would do, in times those of the fit; 1 if they do.
    """

    found: object
    tolerances: np.ndarray
    probability: float = np.nan
    people: float = 1.0


def promise(constraint, confidence, fit):
    """Fit such that new people keep the tolerances with a given probability.

    Parameters
    ----------
    constraint : JointConstraint
        Of all people, with the tolerances asked for.
    confidence : float
        The probability, between 0 and 1. Of several parts each has an equal share of the risk.
    fit : callable
        (tolerances, rows, start) -> what was found, with the ``scores`` of everybody: by a fit of
        these rows alone, or of everybody where they are None, that may start from an earlier one.

    Returns
    -------
    promise : Promise
        Where the people are too few, the most certain fit that there is.
    """
    asked = constraint.tolerances
    level = 1.0 - (1.0 - confidence) / max(1, len(asked))
    first = fit(asked, None, None)
    at_first = _Evidence(constraint, first.scores)
    inner = at_first.tighter(asked, level)
    reached = np.minimum(inner, at_first.gaps)  # by the fits without a fold, on their own people
    unseen = _Evidence(constraint, _scores_left_out(constraint, fit, inner, first), _LEFT_OUT)
    final = unseen.tighter(inner, level, reached)
    found = first if np.array_equal(final, asked) else fit(final, None, first)
    for _ in range(_MAX_LAST):
        seen = _Evidence(constraint, found.scores)
        less = seen.tighter(final, level)
        if np.array_equal(less, final):
            break
        final, found = less, fit(less, None, found)
    kept = np.minimum(seen.kept(), unseen.kept(_ratio(final, reached)))
    probability = max(0.0, 1.0 - float((1.0 - kept).sum()))
    is_kept = probability >= confidence
    return Promise(found, final, probability, 1.0 if is_kept else at_first.people_needed(level))


class _Evidence:
    """What the decisions about people tell of the gaps in their population.

    Parameters
    ----------
    constraint : JointConstraint
        Of these people.
    scores : ndarray of shape (n_samples,)
        Theirs.
    people : float, default=1.0
        How many each of them counts for.
    """

    def __init__(self, constraint, scores, people=1.0):
        self.posteriors = [part.posterior(scores) for part in constraint.parts]
        self.gaps = np.array([part.gap(scores) for part in constraint.parts])
        # A gap of decisions that is smaller than one person is no gap that can be asked for.
        persons = [part.jumps / one.sizes.min() for part, one in self._pairs(constraint)]
        self.floors = np.array(persons)
        self.people = people

    def _pairs(self, constraint):
        return zip(constraint.parts, self.posteriors, strict=True)

    def kept(self, factors=None):
        """Probability that each tolerance is kept, were the gaps so many times as large."""
        factors = np.ones(len(self.posteriors)) if factors is None else factors
        pairs = zip(self.posteriors, factors, strict=True)
        return np.array([one.probability(factor, self.people) for one, factor in pairs])

    def tighter(self, tolerances, level, reached=None):
        """Tolerances at which each is kept with a probability; the same ones where it is already.

        They are so much smaller than the gaps that the fits have reached on their own people, those
        counted here unless others are given.
        """
        reached = np.minimum(tolerances, self.gaps) if reached is None else reached
        factors = np.array([self._largest_factor(one, level) for one in self.posteriors])
        shrunk = np.maximum(self.floors, factors * reached)
        return np.where(factors < 1.0, np.minimum(shrunk, tolerances), tolerances)

    def _largest_factor(self, posterior, level):
        """The largest factor of a gap, 1 at most, that is as certain as asked; 0 if none is."""

        def excess(factor):
            return posterior.probability(factor, self.people) - level

        if excess(1.0) >= 0.0:
            return 1.0
        if excess(0.0) < 0.0:
            return 0.0
        return max(0.0, brentq(excess, 0.0, 1.0, xtol=_PRECISION) - _PRECISION)

    def people_needed(self, level):
        """Times of these people of whom half of each gap is as certain as asked."""

        def are_certain(times):
            pairs = [one.probability(0.5, _LEFT_OUT * times) for one in self.posteriors]
            return min(pairs) >= level

        times = 1.0
        while not are_certain(times) and times < _MOST:
            times *= 1.1
        return times if times < _MOST else np.inf


def _ratio(less, more):
    """Part of ``more`` that is left, 1 at most; there is nothing to shrink where it is 0."""
    return np.minimum(1.0, np.divide(less, more, out=np.ones_like(more), where=more > 0))


def _scores_left_out(constraint, fit, tolerances, first):
    """Score of everybody by a fit without them; those of the first fit if there is no such fit."""
    scores = np.empty(len(first.scores))
    fold = _folds(constraint, len(scores))
    inside = [np.flatnonzero(fold != number) for number in range(N_FOLDS)]
    if not all(_all_occur(constraint, rows) for rows in inside):
        return first.scores
    for number, rows in enumerate(inside):
        others = fold == number
        scores[others] = fit(tolerances, rows, first).scores[others]
    return scores


def _folds(constraint, n_samples):
    """Fold of each sample: those who are drawn alike are dealt out evenly, at random.

    Where rates of everybody are compared, the classes are left to chance, as they are among new
    people: the strata are those of the part that looks at most people and divides them least.
    """
    if not constraint.parts:
        return np.arange(n_samples) % N_FOLDS
    everyone = [part.strata for part in constraint.parts]
    strata = min(everyone, key=lambda codes: ((codes < 0).sum(), codes.max()))
    lots = np.random.default_rng(0).permutation(n_samples)  # equal people, equal folds
    fold = np.empty(n_samples, dtype=np.intp)
    fold[lots[np.argsort(strata[lots], kind="stable")]] = np.arange(n_samples) % N_FOLDS
    return fold


def _all_occur(constraint, rows):
    """Whether whatever is compared is to be seen among some of the people too."""
    return all(np.isin(part.strata, part.strata[rows]).all() for part in constraint.parts)
