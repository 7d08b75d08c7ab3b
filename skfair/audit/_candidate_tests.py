"""Tests of a change of the gap against a model in use, and which of several are shown."""

from __future__ import annotations

from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy import sparse

from skfair._bound.bound import sample_values
from skfair._groups.events import Events
from skfair._statistics.bounded_means import make_estimates
from skfair._statistics.estimates import (
    LogRates,
    change_upper_limit,
    limit_against_fixed_pairs,
)
from skfair._statistics.gaps import gap_lower_limit, gap_upper_limit
from skfair._utils.checks import argument_error
from skfair.audit._certify import BoundByDecision
from skfair.audit._named_pair import select_direction
from skfair.audit._performance import ChangeTest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skfair._bound.gap import Gap
    from skfair._statistics.estimates import Estimates
    from skfair.audit._certify import BoundAudit


# The change of a gap.


def compare_gaps(
    in_use: list[BoundAudit],
    candidate: list[BoundAudit],
    min_reduction: float,
    pair: dict[str, list[str]] | None,
) -> ChangeTest:
    """The test that the gap is smaller by more than 0, and by `min_reduction` at least.

    Each list has the constraint bound to every class whose rates are compared, to one by outcomes
    that are known by decision. Of a `pair` that was named beforehand the gap is how far the rate of
    the first group is above the other one. Of ratios the change is that of the smallest one, with
    the sign reversed.
    """
    first = in_use[0].bound
    compared = cast("Gap", first.gap)
    for one, other in zip(in_use, candidate, strict=True):
        if one.bound.sums.cells.labels != other.bound.sums.cells.labels:
            raise argument_error(
                "constraint must compare the same groups of all models, but a rate that counts "
                "decisions, such as precision, has too few samples of a group by one of them. Pass "
                "a constraint whose denominator no decision changes, or a smaller min_group_size."
            )
    # Events of all classes by the model in use, then those by the candidate.
    bounds = [one for model in (in_use, candidate) for one in model]
    if isinstance(first, BoundByDecision):
        decisions = cast("BoundByDecision", candidate[0].bound).outcomes.y_pred
        means: Estimates = first.estimate(cast("np.ndarray", decisions))
    else:
        means = _stack([_count_values(one) for one in bounds])
    estimates = compared.estimates(means)
    if isinstance(estimates, LogRates):
        estimates = LogRates(means, are_exact=False)
    sizes = [one.bound.sums.events.n_events for one in in_use]
    if max(sizes) < 2:
        raise argument_error(
            "sensitive_features must have two groups that are large enough to be compared by "
            f"{first.name}, but these samples have one at most. Pass others, or a smaller "
            "min_group_size."
        )
    by_class = [compared.linear_forms(n) for n in sizes]
    if pair is not None:
        by_class = [
            select_direction(rows, one.bound.sums.cells.labels, pair)
            for rows, one in zip(by_class, in_use, strict=True)
        ]
    forms = sparse.csr_array(sparse.block_diag(by_class))
    limit_change: Callable = _limit_change
    if not _has_both_directions(forms):
        limit_change = _limit_change_against_fixed_pairs
        forms = sparse.csr_array(sparse.vstack((forms, np.zeros((1, forms.shape[1])))))
    nothing = sparse.csr_array(forms.shape)
    before, after = (
        sparse.csr_array(sparse.hstack(both)) for both in ((forms, nothing), (nothing, forms))
    )
    gaps = [(one @ estimates.values).max(initial=0.0) for one in (before, after)]
    limits = partial(limit_change, estimates, before, after)
    if compared.is_ratio:
        ratios = np.exp(-np.array(gaps))
        limits = partial(_limit_change_of_ratio, estimates, before, limits)
        return ChangeTest(float(ratios[0] - ratios[1]), limits, -min_reduction)
    return ChangeTest(float(gaps[1] - gaps[0]), limits, -min_reduction)


def count_pairs(in_use: list[BoundAudit]) -> int:
    """Number of pairs of groups that a gap compares, in both directions or in one."""
    bounds = [one.bound for one in in_use]
    compared = cast("Gap", bounds[0].gap)
    forms = (compared.linear_forms(one.sums.events.n_events).toarray() for one in bounds)
    return sum(len({frozenset([tuple(row), tuple(-row)]) for row in rows}) for rows in forms)


def _count_values(one: BoundAudit) -> Any:
    """What is averaged of each sample, over the groups that are compared."""
    sums = one.bound.sums
    return sample_values(sums, one.scores, sums.cells.clusters)


def _stack(counted: list[Any]) -> Estimates:
    """Estimates of several means of the same samples, one after the other."""
    averaging = sparse.csr_array(
        sparse.block_diag([one.events.averaging_matrix for one in counted])
    )
    events = Events(averaging.shape[0], averaging.shape[1], averaging_matrix=averaging)
    values = np.concatenate([one.values for one in counted])
    units = np.concatenate([one.clusters for one in counted])
    known = None
    if all(one.known is not None for one in counted):
        known = np.unique(np.concatenate([one.known for one in counted]))
    return make_estimates(events, values, units, known)


def _has_both_directions(forms: sparse.csr_array) -> bool:
    """Whether a gap compares every pair of groups in both directions."""
    rows = {tuple(row) for row in forms.toarray().tolist()}
    return all(tuple(-x for x in row) in rows for row in rows)


def _limit_change(
    estimates: Estimates, before: sparse.csr_array, after: sparse.csr_array, level: float
) -> tuple[float, float]:
    """Limits of the change of a gap, each at the level."""
    high = change_upper_limit(estimates, before, after, level)
    return -change_upper_limit(estimates, after, before, level), high


def _limit_change_against_fixed_pairs(
    estimates: Estimates, before: sparse.csr_array, after: sparse.csr_array, level: float
) -> tuple[float, float]:
    """The same of a gap in one direction, with a last form that is 0 where no group is worse."""
    high = limit_against_fixed_pairs(estimates, before, after, 1.0 - level)
    return -limit_against_fixed_pairs(estimates, after, before, 1.0 - level), high


_RATIO_ERROR_SHARE = 0.02
"""Share of an error that the limits of the ratio in use take, where a difference is limited."""


def _limit_change_of_ratio(
    estimates: Estimates, before: sparse.csr_array, limit_logarithm: Callable, level: float
) -> tuple[float, float]:
    r"""Limits of the fall of the smallest ratio, :math:`r_1 - r_2 = r_1 (1 - e^{-h})`.

    The logarithm h of the quotient has limits, and so has the ratio in use. Both are at their worst
    in the limits of the product.
    """
    error = 1.0 - level
    low, high = limit_logarithm(1.0 - (1.0 - _RATIO_ERROR_SHARE) * error)
    apart = 1.0 - _RATIO_ERROR_SHARE * error
    # The gap of ratios is 1 less the smallest one.
    least = 1.0 - gap_upper_limit(estimates, before, apart)
    most = 1.0 - gap_lower_limit(estimates, before, apart)
    falls = -np.expm1(-np.array([low, high]))
    return (
        float(falls[0] * (most if falls[0] < 0.0 else least)),
        float(falls[1] * (least if falls[1] < 0.0 else most)),
    )


# Which candidates are shown, with an error for all of them together.


ORDERS = {
    None: "with the error divided among the candidates (Holm)",
    "given": "tested in an order that is stated to have been fixed before these data were seen, up "
    "to the first that is not shown",
    "front": "with half of the error for gaps, tested from the first candidate on, and half for "
    "performances, from the last one on, each up to the first that is not shown, in an order that "
    "is stated to have been fixed before these data were seen",
}
"""Orders in which candidates are tested, and what is said of them."""


def _count_first(are_shown: Iterator[bool]) -> int:
    """How many are shown before the first that is not."""
    return sum(1 for _ in takewhile(bool, are_shown))


def decide(
    candidates: list[tuple[ChangeTest, ChangeTest]], level: float, order: str | None
) -> tuple[list[str], list[float]]:
    """Verdict of each candidate, and the level of the limits that decide it."""
    error = 1.0 - level
    n = len(candidates)
    shown, levels = [], [level] * n
    if order == "given":
        shown = [*range(_count_first(all(t.is_shown(level) for t in one) for one in candidates))]
    elif order == "front":  # a wrong candidate is the first wrong one of either sequence
        half = 1.0 - error / 2.0
        levels = [half] * n
        end = _count_first(gap.is_shown(half) for gap, _ in candidates)
        start = n - _count_first(gain.is_shown(half) for _, gain in reversed(candidates))
        shown = [*range(start, end)]
    else:  # Holm: as long as one more is shown
        remaining = list(range(len(candidates)))
        while remaining:
            each = 1.0 - error / len(remaining)
            for number in remaining:
                levels[number] = each
            further = [n for n in remaining if all(t.is_shown(each) for t in candidates[n])]
            if not further:
                break
            shown += further
            remaining = [n for n in remaining if n not in further]
    # Either of the two tests may refute wrongly, of any candidate.
    refuted: list[int] = []
    remaining = [n for n in range(len(candidates)) if n not in shown]
    while remaining:
        each = 1.0 - error / (2.0 * (len(remaining) + len(shown)))
        further = [n for n in remaining if any(t.is_refuted(each) for t in candidates[n])]
        if not further:
            break
        refuted += further
        remaining = [n for n in remaining if n not in further]
    verdicts = [
        "shown" if n in shown else "contradicted" if n in refuted else "open"
        for n in range(len(candidates))
    ]
    return verdicts, levels


def find_times_more(tests: tuple[ChangeTest, ChangeTest], level: float) -> float:
    """Factor of samples with which both tests would succeed, were the population as observed."""
    factor = 1.0
    for one in tests:
        reach = one.limits(level)[1] - one.change
        slack = one.allowed - one.change
        if slack <= 0.0:
            return np.inf
        factor = max(factor, (reach / slack) ** 2)
    return factor
