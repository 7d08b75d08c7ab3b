"""Fairness on an interval of percentiles: groups compared where it matters, and nowhere else."""

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import is_in_intervals
from skfair.metrics._ranked import check_option, check_scored, known_groups, largest_difference
from skfair.metrics._registry import metric
from skfair.utils._messages import warn


@metric("score", interval=(0.0, 1.0))
def partial_statistical_parity_difference(
    y_score, *, sensitive_features, interval, scale="normalized", sample_weight=None
):
    r"""Largest difference of positive rates over all thresholds, on an interval of percentiles.

    With :math:`F_k(s)` the rank of a score in group k, that is the share of the group with a
    strictly higher score, and I the interval, this is the maximum over all pairs of groups of

    .. math::

        \max_\theta \, \bigl| \Pr(s > \theta \mid k, F_k(s) \in I)
        - \Pr(s > \theta \mid k', F_{k'}(s) \in I) \bigr|

    (Definition 4.2 of [1]_). On [0, 1] it is the Kolmogorov-Smirnov distance of the groups' scores.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Scores; the higher, the more positive. Only their order matters.
    sensitive_features : array-like or sparse matrix
        Group of each sample, of shape (n_samples,); or (n_samples, n_attributes), which means the
        combinations that occur. A sparse matrix of booleans of shape (n_samples, n_groups) says
        for each group who belongs to it: these groups may overlap.
    interval : pair of floats, list of pairs, or dict of either by group
        ``(alpha, beta)`` selects the samples with a rank in [alpha, beta), counted from the highest
        score: (0.0, 0.2) is the top fifth. If beta is 1 it is included. A list of pairs means
        their union.
    scale : {"normalized", "raw"}, default="normalized"
        "raw" compares whole groups instead: the largest
        :math:`|F_k(\theta) - F_{k'}(\theta)|` over the thresholds with
        :math:`F_k(\theta) \in I` or :math:`F_{k'}(\theta) \in I`. It may exceed the width of the
        interval. The published experiments agree with this reading, not with the definition.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a sample of weight zero counts as absent.

    Returns
    -------
    difference : float
        In [0, 1], 0 is fair; 0 with a single group.

    Raises
    ------
    ValueError
        If the inputs differ in length or in their pandas index, hold missing or infinite values,
        or the interval is not of pairs 0 <= alpha < beta <= 1 that do not overlap.

    See Also
    --------
    partial_demographic_parity_difference : The same at one threshold.
    partial_group_auc_difference : Whether the selected of one group tend to score higher.

    Notes
    -----
    All partial metrics share some rules. Tied scores have one rank, so they are selected together
    or not at all. A group of which nobody is selected cannot be compared: it is left out with an
    `sklearn.exceptions.UndefinedMetricWarning` that names it, and where fewer than two groups are
    left the metric is nan. Ranks are shares of weight; with integer weights the metric equals that
    of repeated samples.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.

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
    if scale == "normalized":
        return largest_difference(scored.selected_rates(), scored.names)
    rates = scored.table().rates(scored.weights)
    inside = is_in_intervals(rates, scored.intervals)
    if len(scored.names) > 1 and not inside.any():
        warn(
            "No score has a rank in the interval in any group, so there is nothing to compare: "
            "nan. Widen the interval, or use scores with fewer ties.",
            UndefinedMetricWarning,
        )
        return float("nan")
    lowest, highest = rates.min(axis=0), rates.max(axis=0)
    return float(np.maximum(highest - rates, rates - lowest).max(where=inside, initial=0.0))


@metric("decision", interval=(0.0, 1.0))
def partial_demographic_parity_difference(
    y_score,
    *,
    sensitive_features,
    interval,
    threshold=0.0,
    scale="normalized",
    sample_weight=None,
):
    r"""Largest difference of positive rates at one threshold, on an interval of percentiles.

    With :math:`F_k(s)` the rank of a score in group k and I the interval, this is the maximum over
    all pairs of groups of

    .. math::

        \bigl| \Pr(s > \theta \mid k, F_k(s) \in I)
        - \Pr(s > \theta \mid k', F_{k'}(s) \in I) \bigr|

    (Definition 4.3 of [1]_).

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Scores; the higher, the more positive.
    sensitive_features : array-like or sparse matrix
        Group of each sample, as in `partial_statistical_parity_difference`.
    interval : pair of floats, list of pairs, or dict of either by group
        Ranks to compare, as in `partial_statistical_parity_difference`.
    threshold : float, default=0.0
        Decision threshold; 0.5 for probabilities.
    scale : {"normalized", "raw"}, default="normalized"
        "raw" does not divide by the width of the interval: it compares
        :math:`\Pr(s > \theta, F_k(s) \in I \mid k)`, as the left-hand side of (20) in [1]_.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a sample of weight zero counts as absent.

    Returns
    -------
    difference : float
        In [0, 1], 0 is fair; 0 with a single group.

    Raises
    ------
    ValueError
        For what `partial_statistical_parity_difference` refuses.

    See Also
    --------
    partial_statistical_parity_difference : The same at all thresholds; its notes hold here too.
    partial_equal_opportunity_difference : The same among the truly positive.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.

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
    rates = scored.rates_above(threshold, scored.selected(), scale)
    return largest_difference(rates, scored.names)


@metric("score", interval=(0.0, 1.0))
def partial_group_auc_difference(
    y_score, *, sensitive_features, interval, ties="half", sample_weight=None
):
    r"""How far one group tends to score above another, on an interval of percentiles.

    With s and s' drawn from the members of two groups whose rank in their group lies in the
    interval I, this is the maximum over all ordered pairs of groups of

    .. math::

        \bigl| \Pr(s > s' \mid F_k(s) \in I, F_{k'}(s') \in I)
        + \tfrac{1}{2} \Pr(s = s' \mid F_k(s) \in I, F_{k'}(s') \in I) - \tfrac{1}{2} \bigr|

    (Definition A.1 of [1]_, which counts a tie as a whole, ``ties="full"``).

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Scores; the higher, the more positive. Only their order matters.
    sensitive_features : array-like or sparse matrix
        Group of each sample, as in `partial_statistical_parity_difference`.
    interval : pair of floats, list of pairs, or dict of either by group
        Ranks to compare, as in `partial_statistical_parity_difference`.
    ties : {"half", "full"}, default="half"
        What a tie between two groups counts. As a whole, groups of equal scores are unfair to each
        other.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a sample of weight zero counts as absent.

    Returns
    -------
    difference : float
        In [0, 0.5], 0 is fair; 0 with a single group.

    Raises
    ------
    ValueError
        For what `partial_statistical_parity_difference` refuses.

    See Also
    --------
    partial_statistical_parity_difference : At every threshold; its notes hold here too.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.

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
    table = scored.table()
    selected = table.select(scored.intervals, scored.weights)
    weight_at = table.weight_at(scored.weights * selected)
    return _largest_auc_gap(weight_at, scored.names, {"half": 0.5, "full": 1.0}[ties])


def _largest_auc_gap(weight_at, names, tie):
    """Largest departure from 1/2, among pairs of groups, of the AUC of one against the other.

    `weight_at` is the weight of each group on each of the descending scores, `tie` what a tie
    counts.
    """
    totals = weight_at.sum(axis=1)
    known = known_groups(totals > 0, names, "a rank in the interval")
    if known.sum() < 2:
        return 0.0 if len(names) == 1 else float("nan")
    weight_at, totals = weight_at[known], totals[known]
    below = totals[:, np.newaxis] - np.cumsum(weight_at, axis=1)
    wins = weight_at @ below.T + tie * weight_at @ weight_at.T
    departures = np.abs(wins / np.outer(totals, totals) - 0.5)
    np.fill_diagonal(departures, 0)
    return float(departures.max())
