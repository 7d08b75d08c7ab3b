"""Partial fairness metrics: groups compared on an interval of percentiles of the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from skfair._groups.events import intervals_by_group, is_in_intervals, rank_limits, tabulate_scores
from skfair._groups.samples import check_metric_input
from skfair._utils.api import Label, MatrixLike
from skfair._utils.checks import check_choice, to_floats, warn
from skfair.metrics._docstrings import partial_docs
from skfair.metrics._rates import find_positive, warn_of_unknown_rates
from skfair.metrics._registry import register_metric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skfair._groups.events import ScoreTable
    from skfair._groups.groups import Groups
    from skfair._utils.tables import TableLike


# Scores ranked within groups, which the partial metrics share.


@dataclass(frozen=True, eq=False)
class Members:
    """Members of groups, sorted by group: one for each group of a sample.

    ``rows`` are their samples, ``codes`` their groups and ``weights`` positive. `names` and
    `intervals` have one entry per group; an interval is an array of shape (n_pairs, 2).
    `positive` is a mask of the members of the positive class, of metrics that ask for it.
    """

    rows: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    names: list
    intervals: list
    positive: np.ndarray | None = None

    @cached_property
    def bounds(self) -> np.ndarray:
        """Where the members of each group begin, and where the last end, (n_groups + 1,)."""
        return np.searchsorted(self.codes, np.arange(len(self.names) + 1))

    @cached_property
    def have_equal_weights(self) -> list[bool]:
        """Whether the members of each group have equal weights, a list."""
        of_groups = np.split(self.weights, self.bounds[1:-1])
        return [len(of_group) == 0 or np.ptp(of_group) == 0 for of_group in of_groups]

    @cached_property
    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Limits of the ranks of all intervals, and where those of each group begin."""
        sizes = [len(pairs) for pairs in self.intervals]
        limits = np.concatenate([rank_limits(pairs) for pairs in self.intervals])
        return limits, np.append(0, np.cumsum(sizes))

    def take(self, chosen: np.ndarray) -> Members:
        """The chosen members, with all groups."""
        return replace(
            self, rows=self.rows[chosen], codes=self.codes[chosen], weights=self.weights[chosen]
        )

    def score(self, y_score: np.ndarray) -> ScoredMembers:
        """`ScoredMembers`, from scores of the samples."""
        return ScoredMembers(self, y_score[self.rows])


def collect_members(
    groups: Groups,
    weights: np.ndarray,
    intervals: list[np.ndarray],
    positive: np.ndarray | None = None,
) -> Members:
    """`Members` of the groups of samples, whose weights and classes are given."""
    # A sample in several groups becomes several members.
    rows, codes = groups.memberships
    # Small integers are sorted by radix, in linear time.
    order = np.argsort(codes.astype(np.min_scalar_type(len(groups.names))), kind="stable")
    rows = rows[order]
    return Members(
        rows=rows,
        codes=codes[order],
        weights=weights[rows],
        names=groups.names,
        intervals=intervals,
        positive=None if positive is None else positive[rows],
    )


class ScoredMembers(NamedTuple):
    """`Members`, and the score of each."""

    members: Members
    y_score: np.ndarray

    @property
    def names(self) -> list:
        """Names of the groups."""
        return self.members.names

    @property
    def weights(self) -> np.ndarray:
        """Weight of each member."""
        return self.members.weights

    def take(self, chosen: np.ndarray) -> ScoredMembers:
        """The chosen members, with all groups."""
        return ScoredMembers(self.members.take(chosen), self.y_score[chosen])

    def table(self) -> ScoreTable:
        """`ScoreTable` of the members at the distinct scores."""
        return tabulate_scores(self.y_score, self.members.codes, len(self.names))

    def is_inside(self) -> np.ndarray:
        """Mask of the members with a rank in the interval of the group, (n_members,)."""
        selected = np.zeros(len(self.y_score), dtype=bool)
        of_groups = zip(pairwise(self.members.bounds), self.members.intervals, strict=True)
        for (begin, end), pairs in of_groups:
            if begin < end:
                scores = self.y_score[begin:end]
                values, ranks = _tabulate_ranks(scores, self.weights[begin:end])
                limits = rank_limits(pairs)
                chosen = (values[(low <= ranks) & (ranks < high)] for low, high in limits)
                # Each pair selects a range of scores, from its highest to its lowest value.
                masks = [(v[-1] <= scores) & (scores <= v[0]) for v in chosen if len(v)]
                selected[begin:end] = np.any(masks, axis=0)
        return selected

    def rates_at_thresholds(self) -> np.ndarray:
        """Share of the selected of each group above every selected score, (n_groups, n_thresholds).

        The last threshold is -inf. The shares of a group without selected members are nan.
        """
        from skfair._kernels.ranks import trace_share_curves

        scores = self.y_score.copy()
        weights = self.weights
        if not all(self.members.have_equal_weights):
            weights = weights.copy()
        bounds = self.members.bounds
        of_groups = zip(pairwise(bounds), self.members.have_equal_weights, strict=True)
        for (begin, end), is_equal in of_groups:
            # Equal weights need no argsort, which is slower than a sort.
            if is_equal:
                scores[begin:end] = -np.sort(-scores[begin:end])
                continue
            descending = begin + np.argsort(-scores[begin:end])
            scores[begin:end] = scores[descending]
            weights[begin:end] = weights[descending]
        return trace_share_curves(scores, weights, bounds, *self.members.limits)

    def rates_above(self, threshold: float, selected: np.ndarray, scale: str) -> np.ndarray:
        """Share of each group that is selected and above a threshold, (n_groups,).

        It is a share of the selected members or, with ``scale="raw"``, of all members; nan for a
        group without selected members.
        """
        n_groups = len(self.names)
        codes = self.members.codes
        # Weights of the selected members: above the threshold, and all.
        chosen = self.weights * selected
        above = np.bincount(codes, chosen * (self.y_score > threshold), n_groups)
        present = np.bincount(codes, chosen, n_groups)
        sizes = np.bincount(codes, self.weights, n_groups)
        totals = present if scale == "normalized" else sizes
        return np.divide(above, totals, out=np.full(n_groups, np.nan), where=present > 0)


def _tabulate_ranks(scores: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct scores of a group, descending, and the share of its weight above each."""
    # Equal weights need no argsort, which is slower than a sort.
    if np.ptp(weights) > 0:
        descending = np.argsort(-scores)
        scores = scores[descending]
        weights = weights[descending]
    else:
        scores = -np.sort(-scores)
    # Tied scores are one value with one rank: the share of the group strictly above it.
    starts = np.flatnonzero(np.append(True, scores[1:] != scores[:-1]))
    up_to = np.cumsum(np.add.reduceat(weights, starts))
    return scores[starts], np.append(0.0, up_to[:-1]) / up_to[-1]


def check_scored_members(
    sensitive_features: TableLike,
    sample_weight: TableLike | None,
    interval: Sequence | dict,
    **columns: Any,
) -> tuple[ScoredMembers, list[np.ndarray]]:
    """Check the input of a partial metric: `ScoredMembers`, and the columns other than y_score."""
    samples, arrays = check_metric_input(sensitive_features, sample_weight, **columns)
    intervals = intervals_by_group(interval, samples.groups.names)
    members = collect_members(samples.groups, samples.weights, intervals)
    by_name = dict(zip(columns, arrays, strict=True))
    scored = members.score(to_floats("y_score", by_name.pop("y_score")))
    return scored, [array[members.rows] for array in by_name.values()]


def largest_difference(
    rates: np.ndarray,
    names: list[int | str | tuple[int | str, int | str]],
    condition: str = "a rank in the interval",
) -> float:
    """Largest difference between two groups' rates, at any threshold.

    `rates` has one row per group, nan where they are unknown because no member has the `condition`.
    """
    rates = rates.reshape(len(names), -1)
    # The lowest threshold is -inf, so a group without samples in the interval has nan there.
    known = ~np.isnan(rates[:, -1])
    if not known.all():
        known = warn_of_empty_groups(known, names, condition)
        rates = rates[known]
    if len(rates) < 2:
        return 0.0 if len(names) == 1 else float("nan")
    return float((rates.max(axis=0) - rates.min(axis=0)).max())


def warn_of_empty_groups(known: np.ndarray, names: list, condition: str) -> np.ndarray:
    """Pass on the mask of the groups that can be compared, with a warning that names the others."""
    if len(names) > 1:
        warn_of_unknown_rates(
            known,
            names,
            f"{(~known).sum()} of {len(known)} groups have no samples with {condition}",
            " Tied scores have one rank, so an interval may miss a whole group: widen it, or use "
            "scores with fewer ties.",
        )
    return known


# Partial fairness metrics: groups compared on an interval of percentiles of the scores.


@partial_docs
@register_metric("score", largest=1.0, interval=(0.0, 1.0))
def partial_statistical_parity_difference(
    y_score: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    interval: Sequence | dict,
    scale: Literal["normalized", "raw"] = "normalized",
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest difference of positive rates over all thresholds, on an interval of percentiles.

    With :math:`F_k(s)` the rank of a score in group k, that is the share of the group with a
    strictly higher score, and I the interval, this is the maximum over all pairs of groups of

    .. math::

        \max_\theta \, \bigl| \Pr(s > \theta \mid k, F_k(s) \in I)
        - \Pr(s > \theta \mid k', F_{k'}(s) \in I) \bigr|

    (Definition 4.2 of [1]_). On [0, 1] it is the Kolmogorov-Smirnov distance of the groups' scores.

    Read more in the :ref:`guide <partial_parity>`.

    Parameters
    ----------
    {y_score}
        Only their order matters.
    {sensitive_features, interval}
    scale : {"normalized", "raw"}, default="normalized"
        "raw" compares whole groups instead: the largest
        :math:`|F_k(\theta) - F_{k'}(\theta)|` over the thresholds with
        :math:`F_k(\theta) \in I` or :math:`F_{k'}(\theta) \in I`. It may exceed the width of the
        interval. The published experiments agree with this reading, not with the definition.
    {sample_weight}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    See Also
    --------
    partial_demographic_parity_difference : The same at one threshold.
    partial_group_auc_difference : Whether the selected samples of one group tend to score higher.

    Notes
    -----
    All partial metrics share some rules. Tied scores have one rank, so they are selected together
    or not at all. A group without selected samples cannot be compared: it is left out with an
    `sklearn.exceptions.UndefinedMetricWarning` that names it, and where fewer than two groups are
    left the metric is nan. Ranks are shares of weight; with integer weights the metric equals that
    of repeated samples.

    References
    ----------
    {he2026}

    Examples
    --------
    >>> from skfair.metrics import partial_statistical_parity_difference
    >>> score = [8, 6, 4, 2, 7, 5, 1, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> partial_statistical_parity_difference(
    ...     score, sensitive_features=group, interval=(0.0, 0.5)
    ... )
    0.5
    >>> partial_statistical_parity_difference(
    ...     score, sensitive_features=group, interval=(0.0, 0.5), scale="raw"
    ... )
    0.25
    """
    check_choice("scale", scale, ("normalized", "raw"))
    scored, _ = check_scored_members(sensitive_features, sample_weight, interval, y_score=y_score)
    return partial_statistical_parity_gap(scored, scale)


def partial_statistical_parity_gap(scored: ScoredMembers, scale: str) -> float:
    """`partial_statistical_parity_difference` of checked members."""
    if scale == "normalized":
        return largest_difference(scored.rates_at_thresholds(), scored.names)
    # "raw": differences of whole groups where the rank of either is inside the interval.
    rates = scored.table().rates(scored.weights)
    inside = is_in_intervals(rates, scored.members.intervals)
    if len(scored.names) > 1 and not inside.any():
        warn(
            "No score has a rank in the interval in any group: the metric is nan. Widen the "
            "interval, or use scores with fewer ties.",
            UndefinedMetricWarning,
        )
        return float("nan")
    # The largest difference of a group to any other is that to the extremes.
    lowest = rates.min(axis=0)
    highest = rates.max(axis=0)
    return float(np.maximum(highest - rates, rates - lowest).max(where=inside, initial=0.0))


@partial_docs
@register_metric("decision", interval=(0.0, 1.0))
def partial_demographic_parity_difference(
    y_score: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    interval: Sequence | dict,
    threshold: float = 0.0,
    scale: Literal["normalized", "raw"] = "normalized",
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest difference of positive rates at one threshold, on an interval of percentiles.

    With :math:`F_k(s)` the rank of a score in group k and I the interval, this is the maximum over
    all pairs of groups of

    .. math::

        \bigl| \Pr(s > \theta \mid k, F_k(s) \in I)
        - \Pr(s > \theta \mid k', F_{k'}(s) \in I) \bigr|

    (Definition 4.3 of [1]_).

    Read more in the :ref:`guide <partial_parity>`.

    Parameters
    ----------
    {y_score, sensitive_features, interval, threshold}
    scale : {"normalized", "raw"}, default="normalized"
        "raw" does not divide by the width of the interval: it compares
        :math:`\Pr(s > \theta, F_k(s) \in I \mid k)`, as the left-hand side of (20) in [1]_.
    {sample_weight}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    See Also
    --------
    partial_statistical_parity_difference : The same at all thresholds; its notes hold here too.
    partial_equal_opportunity_difference : The same among the positives.

    References
    ----------
    {he2026}

    Examples
    --------
    >>> from skfair.metrics import partial_demographic_parity_difference
    >>> score = [3, 1, -1, -2, 4, -1, -2, -3]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> partial_demographic_parity_difference(
    ...     score, sensitive_features=group, interval=(0.0, 0.5)
    ... )
    0.5
    >>> partial_demographic_parity_difference(
    ...     score, sensitive_features=group, interval=(0.0, 0.5), scale="raw"
    ... )
    0.25
    """
    check_choice("scale", scale, ("normalized", "raw"))
    scored, _ = check_scored_members(sensitive_features, sample_weight, interval, y_score=y_score)
    return partial_demographic_parity_gap(scored, threshold, scale)


def partial_demographic_parity_gap(scored: ScoredMembers, threshold: float, scale: str) -> float:
    """`partial_demographic_parity_difference` of checked members."""
    rates = scored.rates_above(threshold, scored.is_inside(), scale)
    return largest_difference(rates, scored.names)


@partial_docs
@register_metric("score", largest=1.0, interval=(0.0, 1.0))
def partial_group_auc_difference(
    y_score: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    interval: Sequence | dict,
    ties: Literal["half", "full"] = "half",
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest distance of two groups' AUC against each other from 1/2, on a percentile interval.

    With s and s' drawn from the members of two groups whose rank in their group lies in the
    interval I, this is the maximum over all ordered pairs of groups of

    .. math::

        \bigl| \Pr(s > s' \mid F_k(s) \in I, F_{k'}(s') \in I)
        + \tfrac{1}{2} \Pr(s = s' \mid F_k(s) \in I, F_{k'}(s') \in I) - \tfrac{1}{2} \bigr|

    (Definition A.1 of [1]_, which counts a tie as 1, ``ties="full"``).

    Read more in the :ref:`guide <partial_parity>`.

    Parameters
    ----------
    {y_score}
        Only their order matters.
    {sensitive_features, interval}
    ties : {"half", "full"}, default="half"
        What a tie between two groups counts: 1/2 or 1. With "full", groups of equal scores are
        unfair to each other.
    {sample_weight}

    Returns
    -------
    difference : float
        In [0, 0.5], 0 is fair. 0 with a single group, nan where fewer than two groups can be
        compared.

    Raises
    ------
    {ValueError}

    See Also
    --------
    partial_statistical_parity_difference : At every threshold; its notes hold here too.

    References
    ----------
    {he2026}

    Examples
    --------
    >>> from skfair.metrics import partial_group_auc_difference
    >>> score = [8, 6, 4, 2, 7, 5, 1, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> partial_group_auc_difference(score, sensitive_features=group, interval=(0.0, 0.5))
    0.25
    """
    check_choice("ties", ties, ("half", "full"))
    scored, _ = check_scored_members(sensitive_features, sample_weight, interval, y_score=y_score)
    return partial_group_auc_gap(scored, {"half": 0.5, "full": 1.0}[ties])


def partial_group_auc_gap(scored: ScoredMembers, tie: float = 0.5) -> float:
    """`partial_group_auc_difference` of checked members, where a tie counts so much."""
    table = scored.table()
    selected = table.is_inside(scored.members.intervals, scored.weights)
    weight_at = table.weight_at(scored.weights * selected)
    return _largest_auc_gap(weight_at, scored.names, tie)


def _largest_auc_gap(weight_at: np.ndarray, names: list, tie: float) -> float:
    """Largest distance from 1/2, among pairs of groups, of the AUC of one against the other.

    `weight_at` is the weight of each group at each of the descending scores, `tie` what a tie
    counts.
    """
    totals = weight_at.sum(axis=1)
    known = warn_of_empty_groups(totals > 0, names, "a rank in the interval")
    if known.sum() < 2:
        return 0.0 if len(names) == 1 else float("nan")
    weight_at = weight_at[known]
    totals = totals[known]
    # Share of pairs that each group wins, from its own weight at a score and the others' below it.
    below = totals[:, np.newaxis] - np.cumsum(weight_at, axis=1)
    wins = weight_at @ below.T + tie * weight_at @ weight_at.T
    # Distance from 1/2 of the AUC of every ordered pair of groups.
    distances = np.abs(wins / np.outer(totals, totals) - 0.5)
    np.fill_diagonal(distances, 0)
    return float(distances.max())


# Equal opportunity and equalised odds on an interval of percentiles of the scores.


_CONDITION = "this true class and a rank in the interval"


@partial_docs
@register_metric("labelled_decision", interval=(0.0, 1.0))
def partial_equal_opportunity_difference(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    interval: Sequence | dict,
    threshold: float = 0.0,
    rank_within: Literal["group", "class"] = "group",
    scale: Literal["normalized", "raw"] = "normalized",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest difference of true positive rates, on an interval of percentiles.

    With :math:`F_k(s)` the rank of a score in group k and I the interval, this is the maximum over
    all pairs of groups of

    .. math::

        \bigl| \Pr(s > \theta \mid k, y = 1, F_k(s) \in I)
        - \Pr(s > \theta \mid k', y = 1, F_{k'}(s) \in I) \bigr|

    (Definition A.2 of [1]_).

    Read more in the :ref:`guide <partial_parity>`.

    Parameters
    ----------
    {y_true, y_score, sensitive_features, interval, threshold}
    rank_within : {"group", "class"}, default="group"
        Rank the samples within their group, as in the definition, or within their group and true
        class, as in problem (50) of [1]_.
    scale : {"normalized", "raw"}, default="normalized"
        "raw" compares :math:`\Pr(s > \theta, F_k(s) \in I \mid k, y = 1)`.
    {sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}
        Also for more than two classes, or if ``pos_label=None`` leaves open which is positive.

    See Also
    --------
    partial_equalized_odds_difference : The larger of this and the same among the negatives.
    partial_statistical_parity_difference : Its notes hold here too.

    References
    ----------
    {he2026}

    Examples
    --------
    >>> from skfair.metrics import partial_equal_opportunity_difference
    >>> y_true = [1, 1, 0, 1, 1, 1, 0, 1]
    >>> score = [3, 1, -1, -2, 4, -1, -2, -3]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> partial_equal_opportunity_difference(
    ...     y_true, score, sensitive_features=group, interval=(0.0, 0.5)
    ... )
    0.5
    """
    check_choice("rank_within", rank_within, ("group", "class"))
    members = sensitive_features, sample_weight, interval
    scored = _check_scored_classes(y_true, y_score, members, pos_label, scale)
    return partial_equal_opportunity_gap(scored, threshold, rank_within, scale)


def _check_scored_classes(
    y_true: TableLike, y_score: TableLike, members: tuple, pos_label: Label | None, scale: int | str
) -> ScoredMembers:
    """Checked members of the groups, with the mask of the positives."""
    check_choice("scale", scale, ("normalized", "raw"))
    scored, (y_true,) = check_scored_members(*members, y_score=y_score, y_true=y_true)
    positive = y_true == find_positive(y_true, pos_label=pos_label)
    return scored._replace(members=replace(scored.members, positive=positive))


def partial_equal_opportunity_gap(
    scored: ScoredMembers, threshold: float, rank_within: str, scale: str
) -> float:
    """`partial_equal_opportunity_difference` of checked members."""
    (rates,) = _rates_by_class(scored, [scored.members.positive], threshold, rank_within, scale)
    return largest_difference(rates, scored.names, _CONDITION)


@partial_docs
@register_metric("labelled_decision", interval=(0.0, 1.0))
def partial_equalized_odds_difference(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    interval: Sequence | dict,
    threshold: float = 0.0,
    rank_within: Literal["group", "class"] = "group",
    scale: Literal["normalized", "raw"] = "normalized",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest difference of true or of false positive rates, on an interval of percentiles.

    With :math:`F_k(s)` the rank of a score in group k and I the interval, this is the maximum over
    all pairs of groups and both classes c of

    .. math::

        \bigl| \Pr(s > \theta \mid k, y = c, F_k(s) \in I)
        - \Pr(s > \theta \mid k', y = c, F_{k'}(s) \in I) \bigr|

    (Definition A.3 of [1]_). If either class cannot be compared it is nan.

    Read more in the :ref:`guide <partial_parity>`.

    Parameters
    ----------
    {y_true, y_score, sensitive_features, interval, threshold}
    rank_within : {"group", "class"}, default="group"
        Rank the samples within their group, as in the definition, or within their group and true
        class, as in problem (56) of [1]_.
    scale : {"normalized", "raw"}, default="normalized"
        "raw" compares :math:`\Pr(s > \theta, F_k(s) \in I \mid k, y = c)`.
    {sample_weight, pos_label}
        Either class gives the same value.

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}
        Also for more than two classes, or if ``pos_label=None`` leaves open which is positive.

    See Also
    --------
    partial_equal_opportunity_difference : The same for the positive class alone.
    partial_statistical_parity_difference : Its notes hold here too.

    References
    ----------
    {he2026}

    Examples
    --------
    >>> from skfair.metrics import partial_equalized_odds_difference
    >>> y_true = [1, 1, 0, 1, 1, 0, 0, 1]
    >>> score = [3, 1, -1, -2, 4, 1, -2, -3]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> partial_equalized_odds_difference(
    ...     y_true, score, sensitive_features=group, interval=(0.0, 0.75)
    ... )
    0.5
    """
    check_choice("rank_within", rank_within, ("group", "class"))
    members = sensitive_features, sample_weight, interval
    scored = _check_scored_classes(y_true, y_score, members, pos_label, scale)
    return partial_equalized_odds_gap(scored, threshold, rank_within, scale)


def partial_equalized_odds_gap(
    scored: ScoredMembers, threshold: float, rank_within: str, scale: str
) -> float:
    """`partial_equalized_odds_difference` of checked members."""
    classes = [scored.members.positive, ~scored.members.positive]  # type: ignore[operator]
    by_class = _rates_by_class(scored, classes, threshold, rank_within, scale)
    return float(np.max([largest_difference(r, scored.names, _CONDITION) for r in by_class]))


def _rates_by_class(
    scored: ScoredMembers, classes: list, threshold: float, rank_within: str, scale: str
) -> Iterator[np.ndarray]:
    """Yield the positive rates of the groups inside their intervals, for each mask of a class."""
    # Ranks within the whole group are those of all of its members, of both classes.
    if rank_within == "group":
        selected = scored.is_inside()
    for members in classes:
        # Ranks within the group and class are computed among the members of the class alone.
        of_class = scored.take(members)
        inside = of_class.is_inside() if rank_within == "class" else selected[members]
        yield of_class.rates_above(threshold, inside, scale)
