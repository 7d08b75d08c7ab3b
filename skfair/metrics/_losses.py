"""Differences of the mean losses of a classifier between groups."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from skfair.groups import check_columns
from skfair.losses import LOSSES, as_pointwise
from skfair.metrics._docstrings import loss_docs
from skfair.metrics._gaps import gap, warn_of_unknown
from skfair.metrics._rates import find_positive
from skfair.metrics._registry import metric
from skfair.utils._messages import resolve_name
from skfair.utils._types import Label, MatrixLike


@loss_docs
@metric("labelled_margin")
def loss_parity_difference(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    loss: str | Callable = "logistic",
    reference: Literal["groups", "overall"] = "groups",
    aggregate: str = "max",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest minus smallest mean loss of a group.

    .. math:: \max_{g, g'} \bigl( E[\ell(s, y) \mid g] - E[\ell(s, y) \mid g'] \bigr)

    This is what :class:`skfair.constraints.LossParity` bounds.

    Parameters
    ----------
    {y_true, y_score, sensitive_features, loss, reference, aggregate, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from skfair.metrics import loss_parity_difference
    >>> group = ["a", "a", "b", "b"]
    >>> loss_parity_difference(
    ...     [1, 0, 1, 0], [2.0, -2.0, 0.0, 0.0], sensitive_features=group, loss="squared_hinge"
    ... )
    0.5
    """
    samples, target, losses = _check(
        y_true, y_score, sensitive_features, loss, sample_weight, pos_label
    )
    return gap([mean_losses(samples, losses, np.ones(len(target)))], reference, aggregate)


@loss_docs
@metric("labelled_margin")
def equal_opportunity_loss_difference(
    y_true,
    y_score,
    *,
    sensitive_features,
    loss="logistic",
    reference="groups",
    aggregate="max",
    sample_weight=None,
    pos_label=None,
):
    r"""Largest minus smallest mean loss of a group's positive class.

    .. math::

        \max_{g, g'} \bigl( E[\ell(s, y) \mid g, y = 1] - E[\ell(s, y) \mid g', y = 1] \bigr)

    This is what :class:`skfair.constraints.EqualOpportunityLoss` bounds.

    Parameters
    ----------
    {y_true, y_score, sensitive_features, loss, reference, aggregate, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from skfair.metrics import equal_opportunity_loss_difference
    >>> group = ["a", "a", "b", "b"]
    >>> equal_opportunity_loss_difference(
    ...     [1, 0, 1, 0], [2.0, 9.0, 0.0, 0.0], sensitive_features=group, loss="squared_hinge"
    ... )
    0.5
    """
    samples, target, losses = _check(
        y_true, y_score, sensitive_features, loss, sample_weight, pos_label
    )
    return gap([mean_losses(samples, losses, target > 0)], reference, aggregate)


@loss_docs
@metric("labelled_margin")
def equalized_odds_loss_difference(
    y_true,
    y_score,
    *,
    sensitive_features,
    loss="logistic",
    reference="groups",
    aggregate="max",
    sample_weight=None,
    pos_label=None,
):
    r"""Larger of the differences of mean losses of the positive and of the negative class.

    .. math::

        \max_{t = \pm 1} \max_{g, g'}
        \bigl( E[\ell(s, y) \mid g, y = t] - E[\ell(s, y) \mid g', y = t] \bigr)

    This is what :class:`skfair.constraints.EqualizedOddsLoss` bounds.

    Parameters
    ----------
    {y_true, y_score, sensitive_features, loss, reference, aggregate, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from skfair.metrics import equalized_odds_loss_difference
    >>> group = ["a", "a", "b", "b"]
    >>> equalized_odds_loss_difference(
    ...     [1, 0, 1, 0], [2.0, 1.0, 0.0, 0.0], sensitive_features=group, loss="squared_hinge"
    ... )
    1.5
    """
    samples, target, losses = _check(
        y_true, y_score, sensitive_features, loss, sample_weight, pos_label
    )
    cells = [mean_losses(samples, losses, inside) for inside in (target > 0, target < 0)]
    return gap(cells, reference, aggregate)


@loss_docs
@metric("labelled_margin")
def largest_group_loss(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    loss: str | Callable = "logistic",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest mean loss of a group: that of the worst-off group.

    .. math:: \max_g E[\ell(s, y) \mid g]

    This is what :class:`skfair.constraints.BoundedGroupLoss` bounds ([1]_, Definition 2).

    Parameters
    ----------
    {y_true, y_score, sensitive_features, loss, sample_weight, pos_label}

    Returns
    -------
    loss : float
        In the unit of the loss; less is better.

    Raises
    ------
    {ValueError}

    References
    ----------
    .. [1] A. Agarwal, M. Dudík and Z. S. Wu, "Fair regression: quantitative definitions and
       reduction-based algorithms", ICML 2019.

    Examples
    --------
    >>> from skfair.metrics import largest_group_loss
    >>> group = ["a", "a", "b", "b"]
    >>> largest_group_loss(
    ...     [1, 0, 1, 0], [2.0, -2.0, 0.0, 0.0], sensitive_features=group, loss="squared_hinge"
    ... )
    0.5
    """
    samples, target, losses = _check(
        y_true, y_score, sensitive_features, loss, sample_weight, pos_label
    )
    means, _ = mean_losses(samples, losses, np.ones(len(target)))
    return float(means.max())


def _check(y_true, y_score, sensitive_features, loss, sample_weight, pos_label):
    """Check the input: samples, their target -1 and +1, and their losses."""
    loss = resolve_name(LOSSES, loss, "loss")
    samples, (truth, scores) = check_columns(
        sensitive_features, sample_weight, y_true=y_true, y_score=y_score
    )
    scores = check_array(scores, ensure_2d=False, dtype=np.float64, input_name="y_score")
    # Losses are functions of a target -1 or +1.
    target = np.where(truth == find_positive(truth, pos_label=pos_label), 1.0, -1.0)
    return samples, target, as_pointwise(loss(scores, target), len(scores), "The loss").value


def mean_losses(samples, losses, inside):
    """Mean loss within a cell: of each group (nan without samples there) and of all samples."""
    # Sums of weights and of weighted losses by group.
    rows, codes = samples.groups.memberships
    weights, n_groups = samples.weights * inside, len(samples.groups.labels)
    totals = np.bincount(codes, weights[rows], n_groups)
    sums = np.bincount(codes, (weights * losses)[rows], n_groups)
    means = np.divide(sums, totals, out=np.full(n_groups, np.nan), where=totals > 0)
    if n_groups > 1:
        known = totals > 0
        message = f"{(~known).sum()} of {n_groups} groups have no samples of a class to compare"
        warn_of_unknown(known, samples.groups.names, message)
    total = weights.sum()
    return means, float(weights @ losses / total) if total > 0 else np.nan
