"""The rates of groups that make the fewest errors among those whose scores keep a tolerance."""

from typing import NamedTuple

import numpy as np

from skfair.classification._rank_shift import ranks_in_groups, shifted
from skfair.constraints import PARTIAL_CRITERIA, ConstraintSystem
from skfair.enforcement import Guarantee, promise
from skfair.metrics import (
    partial_demographic_parity_difference,
    partial_equal_opportunity_difference,
    partial_group_auc_difference,
    partial_statistical_parity_difference,
)
from skfair.utils._messages import join_names

_N_HALVINGS = 14
"""The widest gap between rates is found to 2 ** -14 of everybody."""

N_TRIES = 1 + _N_HALVINGS
"""How many gaps a search tries that ends by itself, and not at the first."""

_TIE = 1e-12
"""Excesses below it are rounding."""

_FEWEST = 20
"""Fewer people in the interval do not tell one distribution of scores from another."""

_AT_ONE_THRESHOLD = ("demographic_parity", "equal_opportunity")


def _statistical_parity(positive, y_score, scale, people):
    return partial_statistical_parity_difference(y_score, scale=scale, **people)


def _demographic_parity(positive, y_score, scale, people):
    return partial_demographic_parity_difference(y_score, scale=scale, **people)


def _equal_opportunity(positive, y_score, scale, people):
    return partial_equal_opportunity_difference(positive, y_score, scale=scale, **people)


def _group_auc(positive, y_score, scale, people):
    return partial_group_auc_difference(y_score, **people)


CRITERIA = {
    "statistical_parity": _statistical_parity,
    "demographic_parity": _demographic_parity,
    "equal_opportunity": _equal_opportunity,
    "group_auc": _group_auc,
}
"""Metrics as functions of (positive, y_score, scale, people), by the name of the criterion."""


class Found(NamedTuple):
    """Rates of the groups, and what they lead to.

    Attributes
    ----------
    zeros : ndarray of shape (n_groups,)
        Rank that scores 0, on the common scale.
    center : float
        The rank that scores 0 without a shift.
    scores : ndarray of shape (n_samples,)
        Scores of the training samples.
    error : float
        Share of wrong decisions.
    excess : float
        Excess over the tolerance.
    """

    zeros: np.ndarray
    center: float
    scores: np.ndarray
    error: float
    excess: float


def search(members, criterion, tolerance, scale, watch):
    """Find rates that keep a tolerance, with few errors.

    Parameters
    ----------
    members : RankedMembers
        The training samples.
    criterion : str
        Name in ``CRITERIA``.
    tolerance : float
        Largest value of the criterion's metric.
    scale : {"normalized", "raw"}
        ``scale`` of the metric.
    watch : callable
        Called with the list of all tried so far; True ends the search.

    Returns
    -------
    tried : list of Found
        All that were tried. The only one is the best there is.
    """

    def judge(candidates, gap):
        zeros = candidates.best(gap)
        center = (zeros.min() + zeros.max()) / 2
        scores = shifted(members.ranks, zeros[members.groups.codes], center)
        difference = CRITERIA[criterion](members.positive, scores, scale, members.people)
        excess = max(0.0, difference - tolerance)
        return Found(zeros, center, scores, members.error(scores), excess * (excess > _TIE))

    if criterion not in _AT_ONE_THRESHOLD:
        return _narrow(lambda gap: judge(members.candidates, gap), watch)
    # What may differ by the tolerance is the metric itself.
    total = eligible(criterion, members)
    compared = members.inside & total
    positions = members.shares_above(compared, compared if scale == "normalized" else total)
    tried = [judge(members.candidates._replace(positions=positions), tolerance)]
    watch(tried)
    return tried


class Tried(list):
    """All rates that were tried, with the scores of everybody by the best of them."""

    def __init__(self, tried, scores):
        super().__init__(tried)
        self.scores = scores


def promised_search(members, bound, confidence, search, clusters=None):
    """Rates that keep a tolerance, among people not yet seen too if that is asked for.

    Parameters
    ----------
    members : RankedMembers
        The training samples.
    bound : BoundPartialParity
        What is to be kept.
    confidence : float or None
        Probability with which new people shall keep it; None asks nothing of them.
    search : callable
        (members, tolerance) -> list of Found.
    clusters : ndarray of int, shape (n_samples,), default=None
        Samples of equal code belong together.

    Returns
    -------
    promise : Guarantee
        What it found is `Tried`.
    """

    def make_fit(rows, start):
        some, codes = members if rows is None else members.take(rows), members.groups.codes
        ranks = ranks_in_groups(some.curves, members.y_score, codes)

        def fit(tolerances):
            tried = search(some, float(tolerances[0]))
            found = best(tried)
            return Tried(tried, shifted(ranks, found.zeros[codes], found.center))

        return fit

    constraint = ConstraintSystem((bound,))
    if confidence is None:
        return Guarantee(make_fit(None, None)(constraint.tolerances), constraint.tolerances)
    return promise(constraint, confidence, make_fit, clusters)


def constraint_of(criterion, interval, scale):
    """What a tolerance bounds, as a constraint."""
    constraint = PARTIAL_CRITERIA[criterion](interval)
    known = constraint.get_params()
    return constraint.set_params(scale=scale) if "scale" in known else constraint


def best(tried):
    """The best of those tried: the one that misses the tolerance least, and errs least."""
    return min(tried, key=lambda one: (one.excess, one.error))


def check_enough(members, criterion):
    """Refuse groups of whom too few are compared.

    Parameters
    ----------
    members : RankedMembers
        The training samples.
    criterion : str
        Name in ``CRITERIA``.

    Raises
    ------
    ValueError
        If a group has fewer than 20 samples with a rank in its interval.
    """
    groups = members.groups
    compared = members.inside & eligible(criterion, members)
    n_compared = np.bincount(groups.codes[compared], minlength=len(groups.labels))
    small = np.flatnonzero(n_compared < _FEWEST)
    if len(small) and len(groups.labels) > 1:
        listed = join_names(f"{groups.names[code]!r} ({n_compared[code]})" for code in small)
        raise ValueError(
            f"criterion={criterion!r} needs at least {_FEWEST} samples of every group with a rank "
            f"in the interval, but some groups have fewer: {listed}. Widen the interval, merge or "
            "leave out small groups, or use a classifier whose scores have fewer ties: tied "
            "samples share the rank of the first."
        )


def eligible(criterion, members):
    """Whom a criterion compares if their rank lies in the interval, (n_samples,)."""
    positive = members.positive
    return positive if criterion == "equal_opportunity" else np.full_like(positive, True)


def _narrow(judge, watch):
    """All rates judged on the way to the widest gap between rates that keeps the tolerance."""
    tried = [judge(1.0)]
    if watch(tried) or not tried[0].excess:
        return tried
    kept, missed = 0.0, 1.0
    for _ in range(_N_HALVINGS):
        gap = (kept + missed) / 2
        tried.append(judge(gap))
        if watch(tried):
            break
        kept, missed = (kept, gap) if tried[-1].excess else (gap, missed)
    return tried
