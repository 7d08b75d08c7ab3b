"""Lower confidence limit of the balance of clusters in the population."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d

from skfair.groups import check_columns
from skfair.inference._estimates import Rates
from skfair.inference._gaps import Interval
from skfair.inference._limits import check_level, clopper_pearson
from skfair.utils._balance import balance, count_table
from skfair.utils._types import MatrixLike


def balance_limit(
    labels: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    r"""Lower limit of the balance of fixed clusters in the population.

    Among the :math:`m` samples of groups i and j in a cluster, the number of i is binomial with the
    probability :math:`\theta = p_i / (p_i + p_j)`, and the ratio of the groups is :math:`\theta /
    (1 - \theta)`. Clopper and Pearson's lower limit of each :math:`\theta` is exact, and the
    smallest of the ratios, each at the full level, bounds the balance: only the pair of the
    smallest true ratio has to be covered.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each held-out sample, by ``predict`` of a clustering fitted to *other* samples.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
        Group of each sample. With several attributes, the intersections that occur.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights. A sample of weight zero counts as absent.
    confidence_level : float, default=0.95
        Probability, over random samples, with which the limit is at most the population's balance.

    Returns
    -------
    interval : Interval
        The balance of these samples, the limit of that of the population as ``low``, and 1 as
        ``high``, as there is no upper limit.

    Raises
    ------
    ValueError
        If the confidence level is not between 0 and 1, or the inputs differ in length or hold
        missing values.

    Warns
    -----
    UserWarning
        If weights are so uneven that the limit is too high (a design effect above 4).

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.inference import balance_limit
    >>> labels, group = np.repeat([0, 1], 200), np.tile(["a", "b"], 200)
    >>> balance_limit(labels, sensitive_features=group).low > 0.75
    True
    """
    confidence_level = check_level(confidence_level)
    samples, (labels,) = check_columns(
        sensitive_features, sample_weight, labels=column_or_1d(labels)
    )
    clusters, codes = np.unique(labels, return_inverse=True)
    groups, weights = samples.groups, samples.weights / samples.weights.max()
    shape = len(clusters), len(groups.labels)
    # Samples, weight and squared weight of every group in every cluster.
    sums = np.dstack(
        [count_table(codes, groups.codes, weights**power, *shape) for power in (0, 1, 2)]
    )
    if shape[1] == 1:
        return Interval(1.0, 1.0, 1.0)
    # Share of the first of every ordered pair of groups in every cluster.
    i, j = np.nonzero(~np.eye(shape[1], dtype=bool))
    first, second = sums[:, i].reshape(-1, 3), sums[:, j].reshape(-1, 3)
    known = (first + second)[:, 0] > 0
    shares, low = Rates.from_sums(first[known], second[known]), np.zeros(len(first))
    low[known], _ = clopper_pearson(shares.values * shares.sizes, shares.sizes, confidence_level)
    ratio = (low / (1.0 - low)).min()
    return Interval(balance(sums[..., 1]), float(min(1.0, ratio)), 1.0)
