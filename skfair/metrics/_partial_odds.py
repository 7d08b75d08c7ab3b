"""Equal opportunity and equalised odds on an interval of percentiles of the scores."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from skfair.metrics._docstrings import partial_docs
from skfair.metrics._ranked import check_option, check_scored, largest_difference
from skfair.metrics._rates import find_positive
from skfair.metrics._registry import metric
from skfair.utils._types import Label, MatrixLike

_CONDITION = "this true class and a rank in the interval"


@partial_docs
@metric("labelled_decision", interval=(0.0, 1.0))
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
    check_option("scale", scale, ("normalized", "raw"))
    check_option("rank_within", rank_within, ("group", "class"))
    scored, (y_true,) = check_scored(
        sensitive_features, sample_weight, interval, y_score=y_score, y_true=y_true
    )
    positive = y_true == find_positive(y_true, pos_label=pos_label)
    return equal_opportunity_gap(scored, positive, threshold, rank_within, scale)


def equal_opportunity_gap(scored, positive, threshold, rank_within, scale):
    """`partial_equal_opportunity_difference` of checked members, by the mask of the positives."""
    (rates,) = _rates_by_class(scored, [positive], threshold, rank_within, scale)
    return largest_difference(rates, scored.names, _CONDITION)


@partial_docs
@metric("labelled_decision", interval=(0.0, 1.0))
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
    check_option("scale", scale, ("normalized", "raw"))
    check_option("rank_within", rank_within, ("group", "class"))
    scored, (y_true,) = check_scored(
        sensitive_features, sample_weight, interval, y_score=y_score, y_true=y_true
    )
    positive = y_true == find_positive(y_true, pos_label=pos_label)
    return equalized_odds_gap(scored, positive, threshold, rank_within, scale)


def equalized_odds_gap(scored, positive, threshold, rank_within, scale):
    """`partial_equalized_odds_difference` of checked members, by the mask of the positives."""
    classes = [positive, ~positive]
    by_class = _rates_by_class(scored, classes, threshold, rank_within, scale)
    return float(np.max([largest_difference(r, scored.names, _CONDITION) for r in by_class]))


def _rates_by_class(scored, classes, threshold, rank_within, scale):
    """Yield the positive rates of the groups inside their intervals, for each mask of a class."""
    # Ranks within the whole group are those of all of its members, of both classes.
    if rank_within == "group":
        selected = scored.select()
    for members in classes:
        # Ranks within the group and class are computed among the members of the class alone.
        of_class = scored.take(members)
        inside = of_class.select() if rank_within == "class" else selected[members]
        yield of_class.rates_above(threshold, inside, scale)
