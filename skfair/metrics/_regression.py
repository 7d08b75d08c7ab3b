"""Metrics of predictions that are no decisions: errors, losses, distributions, rankings."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skfair._groups.samples import check_metric_input
from skfair._utils.api import ComparisonMethod, Label, MatrixLike
from skfair._utils.checks import resolve_name, to_floats
from skfair.losses import LOSSES, as_pointwise, averaged_loss
from skfair.metrics._docstrings import loss_docs, regression_docs, score_docs
from skfair.metrics._rates import find_positive, gap, warn_of_unknown_rates
from skfair.metrics._registry import register_metric

if TYPE_CHECKING:
    from skfair._groups import Samples
    from skfair._utils.tables import TableLike
    from skfair.losses import Loss, LossName


# Differences of the mean losses of a classifier between groups.


@loss_docs
@register_metric("labelled_margin")
def loss_parity_difference(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    loss: str | Callable = "logistic",
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest minus smallest mean loss of a group.

    .. math:: \max_{g, g'} \bigl( E[\ell(s, y) \mid g] - E[\ell(s, y) \mid g'] \bigr)

    This is what :class:`skfair.constraints.LossParity` bounds.

    Read more in the :ref:`guide <fair_regression>`.

    Parameters
    ----------
    {y_true, y_score, sensitive_features, loss, method, sample_weight, pos_label}

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
    1.0
    """
    samples, target, losses = _check_losses(
        y_true, y_score, sensitive_features, loss, sample_weight, pos_label
    )
    return gap([mean_losses(samples, losses, np.ones(len(target)))], method)


@loss_docs
@register_metric("labelled_margin")
def equal_opportunity_loss_difference(
    y_true,
    y_score,
    *,
    sensitive_features,
    loss="logistic",
    method="between_groups",
    sample_weight=None,
    pos_label=None,
):
    r"""Largest minus smallest mean loss of a group's positive class.

    .. math::

        \max_{g, g'} \bigl( E[\ell(s, y) \mid g, y = 1] - E[\ell(s, y) \mid g', y = 1] \bigr)

    This is what :class:`skfair.constraints.EqualOpportunityLossParity` bounds.

    Parameters
    ----------
    {y_true, y_score, sensitive_features, loss, method, sample_weight, pos_label}

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
    1.0
    """
    samples, target, losses = _check_losses(
        y_true, y_score, sensitive_features, loss, sample_weight, pos_label
    )
    return gap([mean_losses(samples, losses, target > 0)], method)


@loss_docs
@register_metric("labelled_margin")
def equalized_odds_loss_difference(
    y_true,
    y_score,
    *,
    sensitive_features,
    loss="logistic",
    method="between_groups",
    agg="worst_case",
    sample_weight=None,
    pos_label=None,
):
    r"""Larger of the differences of mean losses of the positive and of the negative class.

    .. math::

        \max_{t = \pm 1} \max_{g, g'}
        \bigl( E[\ell(s, y) \mid g, y = t] - E[\ell(s, y) \mid g', y = t] \bigr)

    This is what :class:`skfair.constraints.EqualizedOddsLossParity` bounds.

    Parameters
    ----------
    {y_true, y_score, sensitive_features, loss, method, agg, sample_weight, pos_label}

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
    3.0
    """
    samples, target, losses = _check_losses(
        y_true, y_score, sensitive_features, loss, sample_weight, pos_label
    )
    cells = [mean_losses(samples, losses, inside) for inside in (target > 0, target < 0)]
    return gap(cells, method, agg)


@loss_docs
@register_metric("labelled_margin")
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

    Read more in the :ref:`guide <fair_regression>`.

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
    1.0
    """
    samples, target, losses = _check_losses(
        y_true, y_score, sensitive_features, loss, sample_weight, pos_label
    )
    means, _ = mean_losses(samples, losses, np.ones(len(target)))
    return float(means.max())


def _check_losses(
    y_true: TableLike,
    y_score: TableLike,
    sensitive_features: TableLike,
    loss: LossName | Loss,
    sample_weight: TableLike | None,
    pos_label: Label | None,
) -> tuple[Samples, np.ndarray, np.ndarray]:
    """Check the input: samples, their target -1 and +1, and their losses."""
    loss = averaged_loss(resolve_name(LOSSES, loss, "loss"))
    samples, (truth, scores) = check_metric_input(
        sensitive_features, sample_weight, y_true=y_true, y_score=y_score
    )
    scores = to_floats("y_score", scores)
    # Losses are functions of a target -1 or +1.
    target = np.where(truth == find_positive(truth, pos_label=pos_label), 1.0, -1.0)
    return samples, target, as_pointwise(loss(scores, target), len(scores), "The loss").value


def mean_losses(
    samples: Samples, losses: np.ndarray, inside: np.ndarray
) -> tuple[np.ndarray, float]:
    """Mean loss within a cell: of each group (nan without samples there) and of all samples."""
    # Sums of weights and of weighted losses by group.
    rows, codes = samples.groups.memberships
    weights = samples.weights * inside
    n_groups = len(samples.groups.labels)
    totals = np.bincount(codes, weights[rows], n_groups)
    sums = np.bincount(codes, (weights * losses)[rows], n_groups)
    means = np.divide(sums, totals, out=np.full(n_groups, np.nan), where=totals > 0)
    if n_groups > 1:
        known = totals > 0
        message = f"{(~known).sum()} of {n_groups} groups have no samples of a class to compare"
        warn_of_unknown_rates(known, samples.groups.names, message)
    total = weights.sum()
    return means, float(weights @ losses / total) if total > 0 else np.nan


# Differences of the errors of a regressor between groups.


@regression_docs
@register_metric("regression")
def mean_squared_error_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest minus smallest mean squared error of a group.

    .. math:: \max_{g, g'} \bigl( E[(\hat y - y)^2 \mid g] - E[(\hat y - y)^2 \mid g'] \bigr)

    Read more in the :ref:`guide <fair_regression>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, sample_weight}

    Returns
    -------
    difference : float
        In the squared unit of the target, 0 is fair; 0 with a single group.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from skfair.metrics import mean_squared_error_difference
    >>> group = ["a", "a", "b", "b"]
    >>> mean_squared_error_difference([1, 2, 3, 4], [2, 3, 1, 2], sensitive_features=group)
    3.0
    """
    means = _group_means(y_true, y_pred, sensitive_features, sample_weight, np.square)
    return gap([means], method)


@regression_docs
@register_metric("regression")
def mean_absolute_error_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest minus smallest mean absolute error of a group.

    .. math:: \max_{g, g'} \bigl( E[|\hat y - y| \mid g] - E[|\hat y - y| \mid g'] \bigr)

    Read more in the :ref:`guide <fair_regression>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, sample_weight}

    Returns
    -------
    difference : float
        In the unit of the target, 0 is fair; 0 with a single group.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from skfair.metrics import mean_absolute_error_difference
    >>> group = ["a", "a", "b", "b"]
    >>> mean_absolute_error_difference([1, 2, 3, 4], [2, 3, 1, 2], sensitive_features=group)
    1.0
    """
    means = _group_means(y_true, y_pred, sensitive_features, sample_weight, np.abs)
    return gap([means], method)


@regression_docs
@register_metric("regression")
def largest_mean_squared_error(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest mean squared error of a group: that of the group with the worst predictions.

    .. math:: \max_g E[(\hat y - y)^2 \mid g]

    Read more in the :ref:`guide <fair_regression>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight}

    Returns
    -------
    error : float
        In the squared unit of the target; less is better.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from skfair.metrics import largest_mean_squared_error
    >>> group = ["a", "a", "b", "b"]
    >>> largest_mean_squared_error([1, 2, 3, 4], [2, 3, 1, 2], sensitive_features=group)
    4.0
    """
    means, _ = _group_means(y_true, y_pred, sensitive_features, sample_weight, np.square)
    return float(means.max())


def _group_means(
    y_true: TableLike,
    y_pred: TableLike,
    sensitive_features: TableLike,
    sample_weight: TableLike | None,
    measure: Callable[[np.ndarray], np.ndarray],
) -> tuple[np.ndarray, float]:
    """Mean of a function of the errors, in each group and over all samples."""
    samples, columns = check_metric_input(
        sensitive_features, sample_weight, y_true=y_true, y_pred=y_pred
    )
    truth, predicted = (
        to_floats(name, column) for name, column in zip(("y_true", "y_pred"), columns, strict=True)
    )
    return mean_losses(samples, measure(predicted - truth), np.ones(len(truth)))


# Differences of the score distributions between groups.


@score_docs
@register_metric("score")
def mean_score_difference(
    y_score: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest minus smallest mean score of a group.

    .. math:: \max_{g, g'} \bigl( E[s \mid g] - E[s \mid g'] \bigr)

    This is what :class:`skfair.constraints.MeanParity` bounds. The scores may be predictions of a
    real target.

    Read more in the :ref:`guide <fair_regression>`.

    Parameters
    ----------
    {y_score}
        A prediction of a regressor, a probability, or a value of the decision function.
    {sensitive_features, method, sample_weight}

    Returns
    -------
    difference : float
        In the unit of the scores, 0 is fair; 0 with a single group.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from skfair.metrics import mean_score_difference
    >>> mean_score_difference([1.0, 2.0, 3.0, 5.0], sensitive_features=["a", "a", "b", "b"])
    2.5
    """
    samples, (scores,) = check_metric_input(sensitive_features, sample_weight, y_score=y_score)
    scores = to_floats("y_score", scores)
    return gap([mean_losses(samples, scores, np.ones(len(scores)))], method)


@score_docs
@register_metric("score")
def wasserstein_distance_between_groups(
    y_score: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    order: float = 1.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest Wasserstein distance between the score distributions of two groups.

    .. math:: \max_{g, g'} \Bigl( \int_0^1 |Q_g(t) - Q_{g'}(t)|^p \, dt \Bigr)^{1/p}

    with :math:`Q_g` the quantiles of the scores in group g, without any binning. Of order 1, for
    two groups and scores in [0, 1], it is the mean of :func:`demographic_parity_difference` over
    all thresholds.

    Read more in the :ref:`guide <fair_regression>`.

    Parameters
    ----------
    {y_score}
        A probability, or a value of the decision function.
    {sensitive_features}
    order : float, default=1.0
        The exponent p, at least 1: the larger, the more the largest differences of quantiles count.
    {sample_weight}

    Returns
    -------
    distance : float
        In the unit of the scores, 0 is fair; in [0, 1] for probabilities; 0 with a single group.

    Raises
    ------
    {ValueError}
        Also if ``order`` is below 1.

    References
    ----------
    .. [1] R. Jiang, A. Pacchiano, T. Stepleton, H. Jiang and S. Chiappa, "Wasserstein fair
       classification", UAI 2019.

    Examples
    --------
    >>> from skfair.metrics import wasserstein_distance_between_groups
    >>> group = ["a", "a", "b", "b"]
    >>> wasserstein_distance_between_groups([0.25, 0.5, 0.5, 1.0], sensitive_features=group)
    0.375
    """
    if not 1.0 <= order < np.inf:
        raise ValueError(f"order must be finite and at least 1, got {order!r}; 1 is the usual one.")
    samples, (scores,) = check_metric_input(sensitive_features, sample_weight, y_score=y_score)
    scores = to_floats("y_score", scores)
    distributions = [_distribution(scores[m], samples.weights[m]) for m in samples.groups.members()]
    # The largest distance of two groups.
    pairs = itertools.combinations(distributions, 2)
    return float(max((_wasserstein_distance(*pair, order) for pair in pairs), default=0.0))


def _distribution(scores: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ascending scores, and the share of the weight up to each of them."""
    by_score = np.argsort(scores)
    shares = np.cumsum(weights[by_score])
    return scores[by_score], shares / shares[-1]


def _wasserstein_distance(
    one: tuple[np.ndarray, ...], other: tuple[np.ndarray, ...], order: float
) -> float:
    """Wasserstein distance of two distributions, from the differences of their quantiles."""
    # Shares at which the quantiles of either group jump; between them both are constant.
    levels = np.concatenate((one[1], other[1]))
    levels.sort(kind="stable")  # merges the two runs in linear time
    # Quantiles halfway between two jumps, where rounding cannot select the wrong side.
    middles = (levels + np.concatenate(([0.0], levels[:-1]))) / 2.0
    differences = _quantiles(one, middles) - _quantiles(other, middles)
    return (np.diff(levels, prepend=0.0) @ np.abs(differences) ** order) ** (1.0 / order)


def _quantiles(distribution: tuple[np.ndarray, ...], levels: np.ndarray) -> np.ndarray:
    """Scores at these levels."""
    scores, shares = distribution
    return scores[np.searchsorted(shares, levels)]
