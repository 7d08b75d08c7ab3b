"""Limits of a gap, which is the largest of many differences."""

from typing import NamedTuple

import numpy as np

from skfair.groups import Events, check_columns
from skfair.inference._contrasts import all_pairs
from skfair.inference._estimates import LogRates, Rates, estimates_of
from skfair.inference._limits import check_level
from skfair.utils._messages import warn


class Interval(NamedTuple):
    """A number that a sample tells, and between which limits the population's lies.

    Attributes
    ----------
    estimate : float
        The number in the sample.
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
    """Upper limit of the largest of some linear forms, and of 0.

    The largest of the limits of single forms, each at the full level: the largest form is the only
    one that has to be covered ([1]_, intersection-union).

    Parameters
    ----------
    estimates : Estimates
        The numbers.
    contrasts : csr_array of shape (n_contrasts, n_events)
        The linear forms.
    level : float
        Probability with which the limit holds.

    Returns
    -------
    limit : float

    References
    ----------
    .. [1] R. L. Berger, "Multiparameter hypothesis testing and acceptance sampling", Technometrics
       24, 1982.
    """
    return float(estimates.upper(contrasts, level).max(initial=0.0))


def contrast_interval(estimates, contrasts, confidence_level):
    """Two-sided interval of the largest of some linear forms, and of 0.

    The upper limit has half of the error and needs no correction (`upper_limit`). For the lower one
    any form may err, so that the other half is divided among them.

    Parameters
    ----------
    estimates, contrasts
        As in `upper_limit`.
    confidence_level : float
        Probability with which both limits hold.

    Returns
    -------
    interval : Interval
    """
    if not contrasts.shape[0]:
        return Interval(0.0, 0.0, 0.0)
    _report_uncertain(estimates)
    tail = 1.0 - confidence_level
    lows = -estimates.upper(-contrasts, 1.0 - tail / contrasts.shape[0])
    return Interval(
        estimate=float((contrasts @ estimates.values).max(initial=0.0)),
        low=float(lows.max(initial=0.0)),
        high=upper_limit(estimates, contrasts, 1.0 - tail / 2.0),
    )


def _report_uncertain(estimates):
    """Warn of means of values that are too skewed for so few samples."""
    few = estimates.sizes[estimates.is_uncertain]
    if len(few):
        warn(
            f"Limits of means hold less often than confidence_level says where values are too "
            f"skewed for so few samples, or all equal: so they are in {len(few)} of "
            f"{len(estimates.sizes)} groups, of which the smallest has {few.min():.0f} samples. "
            "Collect more (four times the squared skewness), compare bounded values, such as "
            "errors 0 or 1, or leave small groups out."
        )


def _group_estimates(values, sensitive_features, sample_weight):
    people, (values,) = check_columns(sensitive_features, sample_weight, values=values)
    groups = people.groups
    if groups.is_disjoint:
        events = Events.disjoint(groups.codes, len(groups.labels), people.weights)
    else:
        events = Events.overlapping(groups.matrix, people.weights)
    return estimates_of(events, values.astype(np.float64))


def gap_interval(values, *, sensitive_features, sample_weight=None, confidence_level=0.95):
    r"""Interval of the largest difference between two groups' means, in the population.

    The gap of k groups is the largest of k (k - 1) differences. The largest upper limit of a
    difference, each at the full level, bounds it: only the pair that is truly furthest apart has to
    be covered. That is no bootstrap, whose intervals miss a gap near 0 nearly always.

    Of zeros and ones, such as decisions or errors, the means are rates and a difference has
    Newcombe's limits ([1]_, method 10), where those of a rate of up to three successes or failures
    are Clopper and Pearson's instead of Wilson's. Means of other values, such as losses, have
    Student's limits, or Hall's for skewed values where these are wider ([2]_), and the limits of a
    difference are made of both as Newcombe's are. Weighted samples count as the effective number of
    equal weight, with Student's quantiles. Groups may overlap: then the correlation of their means
    enters.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        A number for each person: a decision 0 or 1, an error, a loss, a score.
    sensitive_features : array-like or sparse matrix
        Group of each person, as in :func:`skfair.metrics.demographic_parity_difference`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a person of weight zero counts as absent.
    confidence_level : float, default=0.95
        How often such intervals hold, over samples of people drawn anew.

    Returns
    -------
    interval : Interval
        The gap in the sample, and the limits of that in the population. Its limits are as good for
        the people whom a model was fitted to only if the model does not depend on them.

    Raises
    ------
    ValueError
        If the confidence level is not between 0 and 1, the inputs differ in length or hold missing
        values, or there are more than a thousand groups.

    Warns
    -----
    UserWarning
        If weights are so uneven that limits promise too much (a design effect above 4), or values
        so skewed for their number that limits of means do (a skewness above half the root of
        the number of samples of a group), or all values of a group are equal.

    References
    ----------
    .. [1] R. G. Newcombe, "Interval estimation for the difference between independent
       proportions: comparison of eleven methods", Statistics in Medicine 17, 1998.
    .. [2] P. Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical
       Society B 54, 1992.

    Examples
    --------
    Of 70 women 56 were accepted, of 80 men 48 ([1]_, table II (a)):

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


def ratio_interval(values, *, sensitive_features, sample_weight=None, confidence_level=0.95):
    r"""Interval of the smallest over the largest rate of the groups, in the population.

    The same construction as in :func:`gap_interval` on logarithms: limits of the rates,
    their distances on the log scale added like standard errors are ([1]_).

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        0 or 1 for each person, such as decisions.
    sensitive_features, sample_weight, confidence_level
        As in :func:`gap_interval`.

    Returns
    -------
    interval : Interval
        In [0, 1]; 1 if all rates are 0.

    Raises
    ------
    ValueError
        As for :func:`gap_interval`, and if a value is neither 0 nor 1.

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
    0.75, between 0.60 and 0.93
    """
    confidence_level = check_level(confidence_level)
    rates = _group_estimates(values, sensitive_features, sample_weight)
    if not isinstance(rates, Rates):
        raise ValueError(
            "A ratio is one of rates, so values must be 0 or 1, such as decisions; compare means "
            "of other values by their difference, with gap_interval."
        )
    largest = rates.values.max()
    estimate = float(rates.values.min() / largest) if largest > 0 else 1.0
    gap = contrast_interval(LogRates(rates), all_pairs(len(rates.values)), confidence_level)
    return Interval(estimate, float(np.exp(-gap.high)), float(np.exp(-gap.low)))
