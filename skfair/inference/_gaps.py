"""Confidence intervals of a gap, the largest of many differences."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skfair.groups import Events, check_columns
from skfair.inference._contrasts import all_pairs
from skfair.inference._estimates import LogRates, Rates, estimates_of
from skfair.inference._limits import check_level
from skfair.utils._messages import warn
from skfair.utils._types import MatrixLike


class Interval(NamedTuple):
    """Estimate from a sample, with confidence limits of the value in the population.

    Attributes
    ----------
    estimate : float
        The value in the sample.
    low, high : float
        The limits.

    Examples
    --------
    >>> from skfair.inference import Interval
    >>> Interval(0.1, 0.05, 0.15).high
    0.15
    """

    estimate: float
    low: float
    high: float


def upper_limit(estimates, contrasts, level):
    """Upper limit, at the level, of the gap: of the largest of the forms `contrasts`, and of 0.

    It is the largest of the limits of single forms, each at the full level: only the largest form
    has to be covered (intersection-union: R. L. Berger, Technometrics 24, 1982).
    """
    return float(estimates.gap(estimates.upper(contrasts, level).max(initial=0.0)))


def contrast_interval(estimates, contrasts, confidence_level):
    """Two-sided `Interval` of the gap: of the largest of the forms `contrasts`, and of 0.

    The upper limit takes half of the error and needs no correction (`upper_limit`). For the lower
    one any form may err, so the other half is divided among them.
    """
    if not contrasts.shape[0]:
        return Interval(0.0, 0.0, 0.0)
    _warn_of_uncertain(estimates)
    tail = 1.0 - confidence_level
    lows = -estimates.upper(-contrasts, 1.0 - tail / contrasts.shape[0])
    return Interval(
        estimate=float(estimates.gap((contrasts @ estimates.values).max(initial=0.0))),
        low=float(estimates.gap(lows.max(initial=0.0))),
        high=upper_limit(estimates, contrasts, 1.0 - tail / 2.0),
    )


def _warn_of_uncertain(estimates):
    """Warn of means of values that are too skewed for so few samples."""
    sizes = estimates.sizes[estimates.is_uncertain]
    if len(sizes):
        warn(
            f"Limits of means hold less often than confidence_level says if values are too skewed "
            f"for so few samples, or all equal: so they are in {len(sizes)} of "
            f"{len(estimates.sizes)} groups, of which the smallest has {sizes.min():.0f} samples. "
            "Collect more (four times the squared skewness), compare bounded values, such as "
            "errors 0 or 1, or leave small groups out."
        )


def _group_estimates(values, sensitive_features, sample_weight):
    """`Rates` or `Means` of the groups."""
    samples, (values,) = check_columns(sensitive_features, sample_weight, values=values)
    groups = samples.groups
    if groups.is_disjoint:
        events = Events.disjoint(groups.codes, len(groups.labels), samples.weights)
    else:
        events = Events.overlapping(groups.matrix, samples.weights)
    return estimates_of(events, values.astype(np.float64))


def gap_interval(
    values: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    r"""Interval of the largest difference between two groups' means, in the population.

    The gap of k groups is the largest of k (k - 1) differences. The largest upper limit of a
    difference, each at the full level, bounds it: only the pair of the largest true difference has
    to be covered. Bootstrap intervals, in contrast, nearly always miss a gap near 0.

    Means of zeros and ones, such as decisions or errors, are rates, and a difference has Newcombe's
    limits ([1]_, method 10). For a rate of up to three successes or failures, and for errors below
    .01, such as those that are divided among many pairs of groups, these use Clopper and Pearson's
    limits where they are wider than Wilson's. A difference of means of other values, such as
    losses, has Student's limits, or Hall's if these are wider ([2]_), because of values with a long
    tail. Weighted samples count with their effective sample size and
    Student's quantiles. If groups overlap, the correlation of their means enters.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Value of each sample: a decision 0 or 1, an error, a loss, a score.
    sensitive_features : array-like or sparse matrix
        Group of each sample, as in :func:`skfair.metrics.demographic_parity_difference`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights. A sample of weight zero counts as absent.
    confidence_level : float, default=0.95
        Probability, over random samples, with which the interval contains the population's value.

    Returns
    -------
    interval : Interval
        The gap in the sample, and the limits of that in the population. They are valid for the
        training data of a model only if the model does not depend on these data.

    Raises
    ------
    ValueError
        If the confidence level is not between 0 and 1, the inputs differ in length or hold missing
        values, or there are more than a thousand groups.

    Warns
    -----
    UserWarning
        If limits are too narrow: the weights are so uneven that the design effect is above 4, the
        skewness of the values is above half the root of the number of samples of a group, or all
        values of a group are equal.

    References
    ----------
    .. [1] R. G. Newcombe, "Interval estimation for the difference between independent
       proportions: comparison of eleven methods", Statistics in Medicine 17, 1998.
    .. [2] P. Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical
       Society B 54, 1992.

    Examples
    --------
    56 of 70 women and 48 of 80 men were accepted ([1]_, table II (a)):

    >>> from skfair.inference import gap_interval
    >>> accepted = [1] * 56 + [0] * 14 + [1] * 48 + [0] * 32
    >>> sex = ["f"] * 70 + ["m"] * 80
    >>> gap = gap_interval(accepted, sensitive_features=sex)
    >>> print(f"{gap.estimate:.2f}, between {gap.low:.4f} and {gap.high:.4f}")
    0.20, between 0.0524 and 0.3339
    """
    confidence_level = check_level(confidence_level)
    estimates = _group_estimates(values, sensitive_features, sample_weight)
    return contrast_interval(estimates, all_pairs(len(estimates.values)), confidence_level)


def ratio_interval(
    values: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    r"""Interval of the smallest over the largest rate of the groups (disparate impact ratio).

    The construction of :func:`gap_interval` on logarithms: the margins of the rates on the log
    scale add up like standard errors ([1]_). Limits of the rates are Clopper and Pearson's, or
    Wilson's where these are wider.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        0 or 1 for each sample, such as decisions.
    sensitive_features, sample_weight, confidence_level
        As in :func:`gap_interval`.

    Returns
    -------
    interval : Interval
        In [0, 1]; 1 if all rates are 0.

    Raises
    ------
    ValueError
        As in :func:`gap_interval`, and if a value is neither 0 nor 1.

    References
    ----------
    .. [1] G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a
       general approach", Statistics in Medicine 27, 2008.

    Examples
    --------
    >>> from skfair.inference import ratio_interval
    >>> accepted = [1] * 56 + [0] * 14 + [1] * 48 + [0] * 32
    >>> sex = ["f"] * 70 + ["m"] * 80
    >>> ratio = ratio_interval(accepted, sensitive_features=sex)
    >>> print(f"{ratio.estimate:.2f}, between {ratio.low:.2f} and {ratio.high:.2f}")
    0.75, between 0.59 and 0.94
    """
    confidence_level = check_level(confidence_level)
    rates = _group_estimates(values, sensitive_features, sample_weight)
    if not isinstance(rates, Rates):
        raise ValueError(
            "values must be 0 or 1, such as decisions, for the ratio of rates. Compare means of "
            "other values by their difference, with gap_interval."
        )
    largest = rates.values.max()
    estimate = float(rates.values.min() / largest) if largest > 0 else 1.0
    gap = contrast_interval(LogRates(rates), all_pairs(len(rates.values)), confidence_level)
    return Interval(estimate, 1.0 - gap.high, 1.0 - gap.low)
