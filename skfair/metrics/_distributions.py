"""Differences of the score distributions between groups."""

import itertools
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from skfair.groups import check_columns
from skfair.metrics._docstrings import score_docs
from skfair.metrics._gaps import gap
from skfair.metrics._registry import metric
from skfair.utils._types import MatrixLike


@score_docs
@metric("score")
def mean_score_difference(
    y_score: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    reference: Literal["groups", "overall"] = "groups",
    aggregate: str = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest minus smallest mean score of a group.

    .. math:: \max_{g, g'} \bigl( E[s \mid g] - E[s \mid g'] \bigr)

    This is what :class:`skfair.constraints.MeanParity` bounds. The scores may be predictions of a
    real target.

    Parameters
    ----------
    {y_score}
        A prediction of a regressor, a probability, or a value of the decision function.
    {sensitive_features, reference, aggregate, sample_weight}

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
    samples, (scores,) = check_columns(sensitive_features, sample_weight, y_score=y_score)
    scores = check_array(scores, ensure_2d=False, dtype=np.float64, input_name="y_score")
    means = [
        np.average(scores[members], weights=samples.weights[members])
        for members in samples.groups.members()
    ]
    overall = float(np.average(scores, weights=samples.weights))
    return gap([(np.array(means), overall)], reference, aggregate)


@score_docs
@metric("score")
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
    samples, (scores,) = check_columns(sensitive_features, sample_weight, y_score=y_score)
    scores = check_array(scores, ensure_2d=False, dtype=np.float64, input_name="y_score")
    distributions = [_distribution(scores[m], samples.weights[m]) for m in samples.groups.members()]
    # The largest distance of two groups.
    pairs = itertools.combinations(distributions, 2)
    return float(max((_distance(*pair, order) for pair in pairs), default=0.0))


def _distribution(scores, weights):
    """Ascending scores, and the share of the weight up to each of them."""
    by_score = np.argsort(scores)
    shares = np.cumsum(weights[by_score])
    return scores[by_score], shares / shares[-1]


def _distance(one, other, order):
    """Wasserstein distance of two distributions, from the differences of their quantiles."""
    # Shares at which the quantiles of either group jump; between them both are constant.
    levels = np.concatenate((one[1], other[1]))
    levels.sort(kind="stable")  # merges the two runs in linear time
    # Quantiles halfway between two jumps, where rounding cannot select the wrong side.
    middles = (levels + np.concatenate(([0.0], levels[:-1]))) / 2.0
    differences = _quantiles(one, middles) - _quantiles(other, middles)
    return (np.diff(levels, prepend=0.0) @ np.abs(differences) ** order) ** (1.0 / order)


def _quantiles(distribution, levels):
    """Scores at these levels."""
    scores, shares = distribution
    return scores[np.searchsorted(shares, levels)]
