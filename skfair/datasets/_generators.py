"""Random points with groups and known clusters."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.datasets import make_blobs
from sklearn.utils import check_random_state

from skfair.utils._types import RandomState

from ._bunch import check_choice
from ._docstrings import dataset_docs


@dataset_docs
def make_fair_blobs(
    n_samples: int = 300,
    *,
    n_features: int = 2,
    centers: int | ArrayLike = 3,
    cluster_std: float = 1.0,
    group_shares: ArrayLike = (0.5, 0.5),
    group_separation: float = 0.5,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Gaussian blobs with groups that are balanced, separated, or anything between.

    The blobs are those of :func:`sklearn.datasets.make_blobs`. With :math:`n_k` points in blob k
    and :math:`n^g` in group g, the table of counts has, up to one point, the expectation

    .. math:: E[n_{kg}] = (1 - s)\, \frac{n_k n^g}{n} + s\, t_{kg},

    where s is ``group_separation`` and the table t, of the same margins, fills one blob after
    another with one group after another (the north-west corner rule), so that at most
    n_groups - 1 blobs have more than one group. At s = 0 the blobs are balanced up to chance and
    k-means is nearly fair. At s = 1 a fair clustering must cut across the blobs.

    Parameters
    ----------
    n_samples : int, default=300
        Number of points n. Blob sizes differ by at most one.
    n_features : int, default=2
        Dimension of the points; ignored if ``centers`` is an array.
    centers : int or array-like of shape (n_clusters, n_features), default=3
        Number of blobs, with centers drawn uniformly from [-10, 10], or the centers themselves.
    cluster_std : float, default=1.0
        Standard deviation of a blob in every direction, in the unit of the centers.
    group_shares : array-like of shape (n_groups,), default=(0.5, 0.5)
        Share of the points in each group, positive with sum 1. The counts
        :math:`n^g` are exact, up to rounding.
    group_separation : float, default=0.5
        Share s of the points whose group follows from their blob, in [0, 1]. The groups of the
        others are shuffled among them.
    {random_state}

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The points, in random order.
    y : ndarray of shape (n_samples,)
        The blob of each point, 0, ..., n_clusters - 1: the clusters that ignore the groups.
    sensitive_features : ndarray of shape (n_samples,)
        The group of each point, 0, ..., n_groups - 1.

    Raises
    ------
    ValueError
        If ``group_shares`` are not positive with sum 1, leave a group without any point, or
        ``group_separation`` is outside [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.datasets import make_fair_blobs
    >>> X, y, groups = make_fair_blobs(
    ...     120, centers=3, group_shares=[0.75, 0.25], group_separation=1.0, random_state=0
    ... )
    >>> X.shape
    (120, 2)
    >>> [np.bincount(groups[y == k], minlength=2).tolist() for k in range(3)]
    [[40, 0], [40, 0], [10, 30]]
    """
    if not 0 <= group_separation <= 1:
        raise ValueError(f"group_separation must lie in [0, 1]; got {group_separation!r}.")
    rng = check_random_state(random_state)
    X, y = make_blobs(
        n_samples,
        n_features,
        centers=centers,
        cluster_std=cluster_std,
        shuffle=False,
        random_state=rng,
    )
    counts = _group_counts(group_shares, n_samples)
    # Next to the sorted y the sorted groups make the table t. Shuffle a share 1 - s of them.
    groups = np.repeat(np.arange(len(counts)), counts)
    shuffled = rng.permutation(n_samples)[: round((1 - group_separation) * n_samples)]
    groups[shuffled] = groups[rng.permutation(shuffled)]
    order = rng.permutation(n_samples)
    return X[order], y[order], groups[order]


def check_shares(shares):
    """Return the shares of the groups as an array, positive and with sum 1."""
    shares = np.asarray(shares, dtype=float)
    if shares.ndim != 1 or not np.all(shares > 0) or not np.isclose(shares.sum(), 1):
        raise ValueError(
            f"group_shares must be positive numbers with sum 1, one per group; got {shares}."
        )
    return shares


def _group_counts(shares, n_samples):
    """Integers with sum n_samples, each less than one away from its share."""
    shares = check_shares(shares)
    # Rounding cumulative sums keeps the total.
    bounds = np.rint(n_samples * np.cumsum(shares)).astype(int)
    counts = np.diff(bounds, prepend=0)
    if not counts.all():
        raise ValueError(
            f"Every group must have a point, but group_shares={shares} of n_samples={n_samples} "
            "leave a group empty; pass more points or a larger share."
        )
    return counts


_SYNTHETIC = {
    "equal_ds1": ([100] * 4, [(1, 1), (2.1, 1), (1, 5), (2.1, 5)], 0.1),
    "unequal_ds1": ([150, 150, 50, 50], [(1, 1), (2.1, 1), (1, 3.5), (2.1, 3.5)], 0.13),
    "equal_ds2": ([200, 200], [(1, 1), (2.1, 3.5)], 0.3),
    "unequal_ds2": ([300, 100], [(1, 1), (2.1, 3.5)], 0.3),
}
"""Points per blob, centers and standard deviation of each set; the groups are separate at y = 2."""


def make_fair_synthetic(
    name: str = "equal_ds1", *, random_state: RandomState = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One of the four synthetic sets of Liu and Vicente: 400 points in the plane, two groups.

    In each set the blobs of one group lie below those of the other, so that the best two clusters
    and fair clusters contradict each other.

    ==============  ==============================================  =====  ============
    name            centers: points                                 s.d.   groups
    ==============  ==============================================  =====  ============
    "equal_ds1"     (1, 1), (2.1, 1) | (1, 5), (2.1, 5): 100 each   0.1    200 and 200
    "unequal_ds1"   (1, 1), (2.1, 1): 150 each |                    0.13   300 and 100
                    (1, 3.5), (2.1, 3.5): 50 each
    "equal_ds2"     (1, 1): 200 | (2.1, 3.5): 200                   0.3    200 and 200
    "unequal_ds2"   (1, 1): 300 | (2.1, 3.5): 100                   0.3    300 and 100
    ==============  ==============================================  =====  ============

    The bar separates the two groups. The paper clusters with K = 2.

    Parameters
    ----------
    name : {"equal_ds1", "unequal_ds1", "equal_ds2", "unequal_ds2"}, default="equal_ds1"
        Name of the set.
    random_state : int, RandomState instance or None, default=1
        Seed of the random draws. 1 reproduces the points of the authors' public code.

    Returns
    -------
    X : ndarray of shape (400, 2)
        The points, blob after blob.
    y : ndarray of shape (400,)
        The blob of each point, 0, 1, ... in the order of the table.
    sensitive_features : ndarray of shape (400,)
        The group of each point, 0 or 1.

    Raises
    ------
    ValueError
        If ``name`` is not one of the four.

    References
    ----------
    .. [1] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
       clustering", LION 2022, Figure 2.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.datasets import make_fair_synthetic
    >>> X, y, groups = make_fair_synthetic("unequal_ds1")
    >>> np.bincount(y).tolist(), np.bincount(groups).tolist()
    ([150, 150, 50, 50], [300, 100])
    """
    check_choice("name", name, tuple(_SYNTHETIC))
    sizes, centers, std = _SYNTHETIC[name]
    X, y = make_blobs(
        sizes, centers=centers, cluster_std=std, shuffle=False, random_state=random_state
    )
    # The first half of the blobs lies below the second: these are the groups.
    return X, y, (y >= len(sizes) // 2).astype(int)
