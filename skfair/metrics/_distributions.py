"""How much the scores of a classifier differ between groups."""

import itertools

import numpy as np
from sklearn.utils import check_array

from skfair.metrics._gaps import gap
from skfair.metrics._registry import metric
from skfair.people import check_columns


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
def wasserstein_distance_between_groups(y_score, *, sensitive_features, sample_weight=None):
    r"""Largest Wasserstein-1 distance between the score distributions of two groups.

    .. math:: \max_{g, g'} \int |F_g(s) - F_{g'}(s)| \, ds

    with :math:`F_g` the distribution function of the scores in group g, without any binning. For
    two groups and scores in [0, 1] it is the mean of :func:`demographic_parity_difference` over
    all thresholds.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Score of each sample: a probability, or a value of the decision function.
    sensitive_features : array-like or sparse matrix
        Group of each sample, as in :func:`demographic_parity_difference`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a sample of weight zero counts as absent.

    Returns
    -------
    distance : float
        In the unit of the scores, 0 is fair; in [0, 1] for probabilities; 0 with a single group.

    Raises
    ------
    ValueError
        If the inputs differ in length or in their pandas index, or are not finite.

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
    people, (scores,) = check_columns(sensitive_features, sample_weight, y_score=y_score)
    scores = check_array(scores, ensure_2d=False, dtype=np.float64, input_name="y_score")
    distributions = [_distribution(scores[m], people.weights[m]) for m in people.groups.members()]
    pairs = itertools.combinations(distributions, 2)
    return float(max(itertools.starmap(_distance, pairs), default=0.0))


def _distribution(scores, weights):
    """Ascending scores, and the share that each of them has."""
    order = np.argsort(scores)
    return scores[order], weights[order] / weights.sum()


def _distance(one, other):
    """Area between two distribution functions."""
    scores = np.concatenate((one[0], other[0]))
    order = np.argsort(scores, kind="stable")  # merges the two runs in linear time
    gap = np.cumsum(np.concatenate((one[1], -other[1]))[order])
    return np.abs(gap[:-1]) @ np.diff(scores[order])
