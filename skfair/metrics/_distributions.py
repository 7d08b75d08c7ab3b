"""How much the scores of a classifier differ between groups."""

import itertools

import numpy as np
from sklearn.utils import check_array

from skfair.groups import check_columns
from skfair.metrics._gaps import gap
from skfair.metrics._registry import metric


@metric("score")
def mean_score_difference(
    y_score, *, sensitive_features, reference="groups", aggregate="max", sample_weight=None
):
    r"""Largest minus smallest mean score of a group.

    .. math:: \max_{g, g'} \bigl( E[s \mid g] - E[s \mid g'] \bigr)

    This is what :class:`skfair.constraints.MeanParity` bounds. For predictions of a real target it
    says how unequal they are on average.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Predictions, or scores.
    sensitive_features : array-like or sparse matrix
        Group of each sample, as in :func:`demographic_parity_difference`.
    reference, aggregate
        As in :func:`demographic_parity_difference`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a sample of weight zero counts as absent.

    Returns
    -------
    difference : float
        In the unit of the scores, 0 is fair; 0 with a single group.

    Raises
    ------
    ValueError
        If the inputs differ in length or in their pandas index, or are not finite.

    Examples
    --------
    >>> from skfair.metrics import mean_score_difference
    >>> mean_score_difference([1.0, 2.0, 3.0, 5.0], sensitive_features=["a", "a", "b", "b"])
    2.5
    """
    people, (scores,) = check_columns(sensitive_features, sample_weight, y_score=y_score)
    scores = check_array(scores, ensure_2d=False, dtype=np.float64, input_name="y_score")
    means = [
        np.average(scores[own], weights=people.weights[own]) for own in people.groups.members()
    ]
    overall = float(np.average(scores, weights=people.weights))
    return gap([(np.array(means), overall)], reference, aggregate)


@metric("score")
def wasserstein_distance_between_groups(
    y_score, *, sensitive_features, order=1.0, sample_weight=None
):
    r"""Largest Wasserstein distance between the score distributions of two groups.

    .. math:: \max_{g, g'} \Bigl( \int_0^1 |Q_g(t) - Q_{g'}(t)|^p \, dt \Bigr)^{1/p}

    with :math:`Q_g` the quantiles of the scores in group g, without any binning. Of order 1, for
    two groups and scores in [0, 1], it is the mean of :func:`demographic_parity_difference` over
    all thresholds.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Score of each sample: a probability, or a value of the decision function.
    sensitive_features : array-like or sparse matrix
        Group of each sample, as in :func:`demographic_parity_difference`.
    order : float, default=1.0
        The exponent p, at least 1: the larger, the more the people count whose scores would have to
        move far.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a sample of weight zero counts as absent.

    Returns
    -------
    distance : float
        In the unit of the scores, 0 is fair; in [0, 1] for probabilities; 0 with a single group.

    Raises
    ------
    ValueError
        If the inputs differ in length or in their pandas index, or are not finite, or if ``order``
        is below 1.

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
    people, (scores,) = check_columns(sensitive_features, sample_weight, y_score=y_score)
    scores = check_array(scores, ensure_2d=False, dtype=np.float64, input_name="y_score")
    distributions = [_distribution(scores[m], people.weights[m]) for m in people.groups.members()]
    pairs = itertools.combinations(distributions, 2)
    return float(max((_distance(*pair, order) for pair in pairs), default=0.0))


def _distribution(scores, weights):
    """Ascending scores, and the share of people up to each of them."""
    by_score = np.argsort(scores)
    shares = np.cumsum(weights[by_score])
    return scores[by_score], shares / shares[-1]


def _distance(one, other, order):
    """Mean distance of the quantiles, which are constant between the shares of either group."""
    levels = np.concatenate((one[1], other[1]))
    levels.sort(kind="stable")  # merges the two runs in linear time
    middles = (levels + np.concatenate(([0.0], levels[:-1]))) / 2.0
    apart = _quantiles(one, middles) - _quantiles(other, middles)
    return (np.diff(levels, prepend=0.0) @ np.abs(apart) ** order) ** (1.0 / order)


def _quantiles(distribution, levels):
    scores, shares = distribution
    return scores[np.searchsorted(shares, levels)]
