"""Partial fairness metrics: groups compared on an interval of percentiles of the scores."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import is_in_intervals
from skfair.metrics._docstrings import partial_docs
from skfair.metrics._ranked import check_option, check_scored, largest_difference, warn_of_empty
from skfair.metrics._registry import metric
from skfair.utils._messages import warn
from skfair.utils._types import MatrixLike


@partial_docs
@metric("score", largest=1.0, interval=(0.0, 1.0))
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
    check_option("scale", scale, ("normalized", "raw"))
    scored, _ = check_scored(sensitive_features, sample_weight, interval, y_score=y_score)
    return statistical_parity_gap(scored, scale)


def statistical_parity_gap(scored, scale):
    """`partial_statistical_parity_difference` of checked members."""
    if scale == "normalized":
        return largest_difference(scored.selected_rates(), scored.names)
    # "raw": differences of whole groups where the rank of either is inside the interval.
    rates = scored.table().rates(scored.weights)
    inside = is_in_intervals(rates, scored.intervals)
    if len(scored.names) > 1 and not inside.any():
        warn(
            "No score has a rank in the interval in any group: the metric is nan. Widen the "
            "interval, or use scores with fewer ties.",
            UndefinedMetricWarning,
        )
        return float("nan")
    # The largest difference of a group to any other is that to the extremes.
    lowest, highest = rates.min(axis=0), rates.max(axis=0)
    return float(np.maximum(highest - rates, rates - lowest).max(where=inside, initial=0.0))


@partial_docs
@metric("decision", interval=(0.0, 1.0))
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
    check_option("scale", scale, ("normalized", "raw"))
    scored, _ = check_scored(sensitive_features, sample_weight, interval, y_score=y_score)
    return demographic_parity_gap(scored, threshold, scale)


def demographic_parity_gap(scored, threshold, scale):
    """`partial_demographic_parity_difference` of checked members."""
    rates = scored.rates_above(threshold, scored.select(), scale)
    return largest_difference(rates, scored.names)


@partial_docs
@metric("score", largest=1.0, interval=(0.0, 1.0))
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
    check_option("ties", ties, ("half", "full"))
    scored, _ = check_scored(sensitive_features, sample_weight, interval, y_score=y_score)
    return group_auc_gap(scored, {"half": 0.5, "full": 1.0}[ties])


def group_auc_gap(scored, tie=0.5):
    """`partial_group_auc_difference` of checked members, where a tie counts so much."""
    table = scored.table()
    selected = table.select(scored.intervals, scored.weights)
    weight_at = table.weight_at(scored.weights * selected)
    return _largest_auc_gap(weight_at, scored.names, tie)


def _largest_auc_gap(weight_at, names, tie):
    """Largest distance from 1/2, among pairs of groups, of the AUC of one against the other.

    `weight_at` is the weight of each group at each of the descending scores, `tie` what a tie
    counts.
    """
    totals = weight_at.sum(axis=1)
    known = warn_of_empty(totals > 0, names, "a rank in the interval")
    if known.sum() < 2:
        return 0.0 if len(names) == 1 else float("nan")
    weight_at, totals = weight_at[known], totals[known]
    # Share of pairs that each group wins, from its own weight at a score and the others' below it.
    below = totals[:, np.newaxis] - np.cumsum(weight_at, axis=1)
    wins = weight_at @ below.T + tie * weight_at @ weight_at.T
    # Distance from 1/2 of the AUC of every ordered pair of groups.
    distances = np.abs(wins / np.outer(totals, totals) - 0.5)
    np.fill_diagonal(distances, 0)
    return float(distances.max())
