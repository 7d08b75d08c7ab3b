"""Opportunity and odds on an interval of percentiles: groups compared class by class."""

import numpy as np

from skfair.metrics._ranked import check_option, check_scored, largest_difference
from skfair.metrics._rates import find_positive
from skfair.metrics._registry import metric

_CONDITION = "this true class and a rank in the interval"


@metric("labelled_decision", interval=(0.0, 1.0))
def partial_equal_opportunity_difference(
    y_true,
    y_score,
    *,
    sensitive_features,
    interval,
    threshold=0.0,
    rank_within="group",
    scale="normalized",
    sample_weight=None,
    pos_label=None,
):
    r"""Largest difference of true positive rates, on an interval of percentiles.

    With :math:`F_k(s)` the rank of a score in group k and I the interval, this is the maximum over
    all pairs of groups of

    .. math::

        \bigl| \Pr(s > \theta \mid k, y = 1, F_k(s) \in I)
        - \Pr(s > \theta \mid k', y = 1, F_{k'}(s) \in I) \bigr|

    (Definition A.2 of [1]_).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True class of each sample, of two classes.
    y_score : array-like of shape (n_samples,)
        Scores; the higher, the more positive.
    sensitive_features : array-like or sparse matrix
        Group of each sample, as in `partial_statistical_parity_difference`.
    interval : pair of floats, list of pairs, or dict of either by group
        Ranks to compare, as in `partial_statistical_parity_difference`.
    threshold : float, default=0.0
        Decision threshold; 0.5 for probabilities.
    rank_within : {"group", "class"}, default="group"
        Rank the samples within their group, as in the definition, or within those of their group
        that have the same true class, as problem (50) of [1]_ ranks.
    scale : {"normalized", "raw"}, default="normalized"
        "raw" compares :math:`\Pr(s > \theta, F_k(s) \in I \mid k, y = 1)`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a sample of weight zero counts as absent.
    pos_label : int, float, bool or str, default=None
        The positive class. None takes 1 if the labels are 0 and 1, -1 and 1 or booleans, and
        asks for it if they are others.

    Returns
    -------
    difference : float
        In [0, 1], 0 is fair; 0 with a single group.

    Raises
    ------
    ValueError
        For what `partial_statistical_parity_difference` refuses, for more than two classes, or if
        None leaves open which class is positive.

    See Also
    --------
    partial_equalized_odds_difference : The larger of this and the same among the negative.
    partial_statistical_parity_difference : Its notes hold here too.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.

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
    check_option("scale", scale, ("normalized", "raw"))
    check_option("rank_within", rank_within, ("group", "class"))
    scored, (y_true,) = check_scored(
        sensitive_features, sample_weight, interval, y_score=y_score, y_true=y_true
    )
    positive = y_true == find_positive(y_true, pos_label=pos_label)
    (rates,) = _rates_by_class(scored, [positive], threshold, rank_within, scale)
    return largest_difference(rates, scored.names, _CONDITION)


@metric("labelled_decision", interval=(0.0, 1.0))
def partial_equalized_odds_difference(
    y_true,
    y_score,
    *,
    sensitive_features,
    interval,
    threshold=0.0,
    rank_within="group",
    scale="normalized",
    sample_weight=None,
    pos_label=None,
):
    r"""Largest difference of true or of false positive rates, on an interval of percentiles.

    With :math:`F_k(s)` the rank of a score in group k and I the interval, this is the maximum over
    all pairs of groups and both classes c of

    .. math::

        \bigl| \Pr(s > \theta \mid k, y = c, F_k(s) \in I)
        - \Pr(s > \theta \mid k', y = c, F_{k'}(s) \in I) \bigr|

    (Definition A.3 of [1]_). If either class cannot be compared it is nan.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True class of each sample, of two classes.
    y_score : array-like of shape (n_samples,)
        Scores; the higher, the more positive.
    sensitive_features : array-like or sparse matrix
        Group of each sample, as in `partial_statistical_parity_difference`.
    interval : pair of floats, list of pairs, or dict of either by group
        Ranks to compare, as in `partial_statistical_parity_difference`.
    threshold : float, default=0.0
        Decision threshold; 0.5 for probabilities.
    rank_within : {"group", "class"}, default="group"
        Rank the samples within their group, as in the definition, or within those of their group
        that have the same true class, as problem (56) of [1]_ ranks.
    scale : {"normalized", "raw"}, default="normalized"
        "raw" compares :math:`\Pr(s > \theta, F_k(s) \in I \mid k, y = c)`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a sample of weight zero counts as absent.
    pos_label : int, float, bool or str, default=None
        The positive class, as in `partial_equal_opportunity_difference`. Either of the
        two gives the same.

    Returns
    -------
    difference : float
        In [0, 1], 0 is fair; 0 with a single group.

    Raises
    ------
    ValueError
        For what `partial_equal_opportunity_difference` refuses.

    See Also
    --------
    partial_equal_opportunity_difference : The same for the positive class alone.
    partial_statistical_parity_difference : Its notes hold here too.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.

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
    check_option("scale", scale, ("normalized", "raw"))
    check_option("rank_within", rank_within, ("group", "class"))
    scored, (y_true,) = check_scored(
        sensitive_features, sample_weight, interval, y_score=y_score, y_true=y_true
    )
    positive = y_true == find_positive(y_true, pos_label=pos_label)
    classes = [positive, ~positive]
    by_class = _rates_by_class(scored, classes, threshold, rank_within, scale)
    return float(np.max([largest_difference(r, scored.names, _CONDITION) for r in by_class]))


def _rates_by_class(scored, classes, threshold, rank_within, scale):
    """Positive rates of the groups inside their intervals, for each class, a mask of members."""
    if rank_within == "group":
        selected = scored.selected()
    for members in classes:
        among = scored.take(members)
        inside = among.selected() if rank_within == "class" else selected[members]
        yield among.rates_above(threshold, inside, scale)
