"""Search for the groups' rates with the fewest errors among those whose scores keep a tolerance."""

from typing import NamedTuple

import numpy as np

from skfair.constraints import (
    ConstraintSystem,
    PartialDemographicParity,
    PartialEqualOpportunity,
)
from skfair.enforcement import Guarantee, fit_with_guarantee
from skfair.postprocessing._rank_shift import best_rates, ranks_in_groups, shift_ranks
from skfair.utils._messages import join_names

_N_HALVINGS = 14
"""The widest gap between rates is found to 2 ** -14 of all samples."""

N_TRIES = 1 + _N_HALVINGS
"""Gaps that a whole search tries, unless the first one keeps the tolerance."""

_ROUNDING = 1e-12
"""Excesses below it are rounding."""

_MIN_SAMPLES = 20
"""Samples in the interval that show the distribution of a group's scores."""


class ShiftedRates(NamedTuple):
    """Rates of the groups, and the scores that they lead to.

    ``zeros`` has the rank of each group that scores 0, on the common scale, and ``center`` the rank
    that scores 0 without a shift. ``error`` is the share of wrong decisions, ``excess`` that of the
    criterion over the tolerance, and ``n_tries`` the number of gaps tried.
    """

    zeros: np.ndarray
    center: float
    scores: np.ndarray
    error: float
    excess: float
    n_tries: int = 1

    def attributes(self, samples, positions):
        """Fitted attributes; ``positions`` has the compared group whose rate each group takes."""
        return {
            "rates_": samples.positive_rates(self.scores)[positions],
            "center_": self.center,
            "objective_": self.error,
            "constraint_violation_": self.excess,
            "n_iter_": self.n_tries,
            "_zeros": self.zeros[positions],
        }


def search_rates(samples, criterion, tolerance, callback):
    """The `ShiftedRates` with the fewest errors that keep the tolerance of a criterion.

    ``callback`` sees the best after every try, and ends the search by returning True.
    """
    if not isinstance(criterion, PartialDemographicParity | PartialEqualOpportunity):
        return _narrow_gap(samples, criterion, tolerance, callback)
    # At one threshold the criterion itself is what may differ by the tolerance.
    total = _eligible(samples, criterion)
    compared = samples.is_inside & total
    base = compared if criterion.scale == "normalized" else total
    positions = samples.shares_above(compared, base)
    best = _evaluate_gap(samples, criterion, tolerance, positions, tolerance)
    callback(best)
    return best


def _narrow_gap(samples, criterion, tolerance, callback):
    """Bisect for the widest gap between the groups' rates whose scores keep the tolerance."""
    # First without any limit on the gap: if that keeps the tolerance, nothing has fewer errors.
    best = _evaluate_gap(samples, criterion, tolerance, samples.rates, 1.0)
    if callback(best) or not best.excess:
        return best
    feasible, infeasible = 0.0, 1.0
    for n_tries in range(2, N_TRIES + 1):
        gap = (feasible + infeasible) / 2
        latest = _evaluate_gap(samples, criterion, tolerance, samples.rates, gap)
        # Prefer what keeps the tolerance, then fewer errors.
        best = min((best, latest), key=lambda rates: (rates.excess, rates.error))
        best = best._replace(n_tries=n_tries)
        if callback(best):
            break
        feasible, infeasible = (feasible, gap) if latest.excess else (gap, infeasible)
    return best


def _evaluate_gap(samples, criterion, tolerance, positions, gap):
    """The best rates with positions at most a gap apart, as `ShiftedRates`."""
    # Rates with the fewest errors within the gap, then scores that are 0 at these ranks.
    zeros = best_rates(samples.rates, positions, samples.gain, gap)
    center = (zeros.min() + zeros.max()) / 2
    scores = shift_ranks(samples.ranks, zeros[samples.groups.codes], center)
    excess = max(0.0, samples.gap(criterion, scores) - tolerance)
    return ShiftedRates(zeros, center, scores, samples.error(scores), excess * (excess > _ROUNDING))


def search_with_guarantee(samples, bound, confidence, search, clusters=None):
    """Guarantee of the `ShiftedRates` of a search (samples, tolerance).

    A confidence of None keeps the tolerance of the bound constraint on the training data alone.
    """

    def make_fit(rows, start):
        subset, codes = samples if rows is None else samples.take(rows), samples.groups.codes
        ranks = ranks_in_groups(subset.curves, samples.y_score, codes)

        def fit(tolerances, optimism=None):  # ranks have none
            # Rates are searched on the rows, and all samples are scored by them, ranked among the
            # rows.
            best = search(subset, float(tolerances[0]))
            return best._replace(scores=shift_ranks(ranks, best.zeros[codes], best.center))

        return fit

    constraint = ConstraintSystem((bound,))
    if confidence is None:
        return Guarantee(make_fit(None, None)(constraint.tolerances), constraint.tolerances)
    return fit_with_guarantee(constraint, confidence, make_fit, clusters)


def check_sizes(samples, criterion, name):
    """Refuse groups with fewer than 20 samples whose rank is in the interval."""
    groups = samples.groups
    compared = samples.is_inside & _eligible(samples, criterion)
    n_compared = np.bincount(groups.codes[compared], minlength=len(groups.labels))
    small = np.flatnonzero(n_compared < _MIN_SAMPLES)
    if len(small) and len(groups.labels) > 1:
        listed = join_names(f"{groups.names[code]!r} ({n_compared[code]})" for code in small)
        raise ValueError(
            f"criterion={name!r} needs at least {_MIN_SAMPLES} samples of every group with a rank "
            f"in the interval, but some groups have fewer: {listed}. Widen the interval, merge or "
            "leave out small groups, or use a classifier whose scores have fewer ties: tied "
            "samples share the rank of the first."
        )


def _eligible(samples, criterion):
    """Samples that a criterion compares if their rank is in the interval, (n_samples,)."""
    is_by_class = isinstance(criterion, PartialEqualOpportunity)
    return samples.positive if is_by_class else np.full_like(samples.positive, True)
