"""Generators of loans, clusters, graphs and rankings with groups."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array
from sklearn.datasets import make_blobs
from sklearn.utils import check_random_state

from skfair._utils.api import RandomState
from skfair._utils.checks import to_floats
from skfair._utils.sklearn import Interval, validate_parameter_constraints
from skfair.datasets._fetch import dataset_docs

if TYPE_CHECKING:
    from scipy import sparse

    from skfair._utils.tables import Table, TableLike


_IS_COUNT = [Interval(Integral, 1, None, closed="left")]
_SETTINGS = {
    **dict.fromkeys(["n_samples", "n_features", "n_clusters", "n_groups"], _IS_COUNT),
    **dict.fromkeys(["n_queries", "n_documents"], _IS_COUNT),
    "group_separation": [Interval(Real, 0, 1, closed="both")],
    "average_degree": [Interval(Real, 0, None, closed="neither"), None],
    "bias": [Real],
    "random_state": [Interval(Integral, 0, None, closed="left"), None],
}
"""What arguments of generators must be, by name."""


def _check_settings(caller: str, **settings: Any) -> None:
    """Raise for arguments of a generator that are not what they must be."""
    allowed = {name: _SETTINGS[name] for name in settings}
    validate_parameter_constraints(allowed, settings, caller)


# Applicants for loans.


def make_loans(
    n_samples: int = 6000, *, random_state: int | None = None
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    r"""Applicants for loans, whose incomes, years in a job and hours depend on the sex.

    An applicant repays if :math:`.08\, income - .15\, debt + .1\, years\_employed - 2` plus noise
    of the standard logistic distribution is positive. The hours worked reveal the sex, and do not
    matter for repayment. 40 % of the applicants are women.

    Parameters
    ----------
    n_samples : int, default=6000
        Number of applicants.
    random_state : int or None, default=None
        Seed of :func:`numpy.random.default_rng`.

    Returns
    -------
    X : DataFrame of shape (n_samples, 4)
        Columns "income" and "debt" in thousands, "years_employed", and "hours" a week.
    y : ndarray of bool, shape (n_samples,)
        Whether the loan is repaid.
    sensitive_features : ndarray of str, shape (n_samples,)
        "female" or "male".

    Examples
    --------
    >>> from skfair.datasets import make_loans
    >>> X, y, sex = make_loans(random_state=0)
    >>> print(f"{y[sex == 'female'].mean():.2f}, {y[sex == 'male'].mean():.2f}")
    0.50, 0.62
    """
    _check_settings("make_loans", n_samples=n_samples, random_state=random_state)
    rng = np.random.default_rng(random_state)
    sex = rng.choice(["female", "male"], size=n_samples, p=[0.4, 0.6])
    male = sex == "male"
    applicants = pd.DataFrame(
        {
            "income": rng.lognormal(np.where(male, 3.7, 3.5), 0.4),
            "debt": rng.gamma(2.0, 5.0, size=n_samples),
            "years_employed": rng.exponential(np.where(male, 8.0, 6.0)),
            "hours": rng.normal(np.where(male, 39.0, 33.0), 4.0),
        }
    )
    log_odds = applicants @ [0.08, -0.15, 0.1, 0.0] - 2.0
    repaid = (log_odds + rng.logistic(size=n_samples) > 0).to_numpy()
    return applicants, repaid, sex


# Random points and graphs with groups, and with clusters that are known.


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
    _check_settings("make_fair_blobs", n_samples=n_samples, group_separation=group_separation)
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


def check_shares(shares: ArrayLike) -> np.ndarray:
    """Return the shares of the groups as an array, positive and with sum 1."""
    shares = np.asarray(shares, dtype=float)
    if shares.ndim != 1 or not np.all(shares > 0) or not np.isclose(shares.sum(), 1):
        raise ValueError(
            f"group_shares must be positive numbers with sum 1, one per group; got {shares}."
        )
    return shares


def _group_counts(shares: ArrayLike, n_samples: int) -> np.ndarray:
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


@dataset_docs
def make_fair_sbm(
    n_samples: int = 1000,
    *,
    n_clusters: int = 5,
    n_groups: int = 2,
    probabilities: Sequence[float] = (0.9, 0.35, 0.5, 0.05),
    average_degree: float | None = None,
    random_state: RandomState = None,
) -> tuple[csr_array, np.ndarray, np.ndarray]:
    r"""Random graph with balanced clusters that are masked by homophilous groups (m-SBM).

    Every cluster has the same number of nodes of every group. Two nodes are linked, independently
    of all others, with a probability that depends on whether they share

    ========================  ========
    cluster and group         s a
    group only                s b
    cluster only              s c
    neither                   s d
    ========================  ========

    where (a, b, c, d) are ``probabilities``. Their defaults are chosen here, as [2]_ states none:
    groups are nearly as dense as clusters, so that plain spectral clustering may return the groups,
    while fair spectral clustering finds the clusters [1]_. In dense graphs

    .. math:: s = \left(\frac{\log n}{n}\right)^{1/10} / 0.528,

    of which [2]_ states the power alone. s is 1 at n = 5,000, and probabilities above 1 (n below
    1,500) are clipped. With ``average_degree``, s is such that the expected mean degree is this
    number.

    Time and memory grow with the number of edges, not with n squared.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of nodes n.
    n_clusters : int, default=5
        Number of clusters.
    n_groups : int, default=2
        Number of groups. The numbers of nodes of two pairs of a cluster and a group differ by at
        most one.
    probabilities : tuple of four floats, default=(0.9, 0.35, 0.5, 0.05)
        a, b, c and d of the table, up to the factor s.
    average_degree : float, default=None
        Expected mean number of links per node. None makes dense graphs.
    {random_state}

    Returns
    -------
    adjacency : csr_array of float64, shape (n_samples, n_samples)
        1 if two nodes are linked. Symmetric, zero diagonal, nodes in random order.
    y : ndarray of shape (n_samples,)
        The cluster of each node, 0, ..., n_clusters - 1: a perfectly fair clustering.
    sensitive_features : ndarray of shape (n_samples,)
        The group of each node, 0, ..., n_groups - 1.

    Raises
    ------
    ValueError
        If a group would be missing from a cluster (fewer nodes than n_clusters n_groups), if
        ``probabilities`` are not four numbers in [0, 1], or if ``average_degree`` would require one
        above 1.

    References
    ----------
    .. [1] M. Kleindessner, S. Samadi, P. Awasthi and J. Morgenstern, "Guarantees for spectral
       clustering with fairness constraints", ICML 2019, Section 4.
    .. [2] F. Tonin, A. Lambert, J. A. K. Suykens and V. Cevher, "Accelerating spectral clustering
       under fairness constraints", ICML 2025, Section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.datasets import make_fair_sbm
    >>> adjacency, y, groups = make_fair_sbm(
    ...     600, n_clusters=3, n_groups=2, average_degree=20, random_state=0
    ... )
    >>> adjacency.shape
    (600, 600)
    >>> [np.bincount(groups[y == k]).tolist() for k in range(3)]
    [[100, 100], [100, 100], [100, 100]]
    >>> round(float(adjacency.sum() / 600))
    20
    """
    _check_settings(
        "make_fair_sbm",
        n_samples=n_samples,
        n_clusters=n_clusters,
        n_groups=n_groups,
        average_degree=average_degree,
    )
    n_blocks = n_clusters * n_groups
    if not 1 <= n_blocks <= n_samples:
        raise ValueError(
            "Every cluster must have every group: n_clusters * n_groups must be at least 1 and at "
            f"most n_samples; got {n_clusters} * {n_groups} and n_samples={n_samples}."
        )
    rng = check_random_state(random_state)
    # A block is a pair of a cluster and a group. Sizes differ by at most one.
    cluster, group = np.divmod(np.arange(n_blocks), n_groups)
    sizes = n_samples // n_blocks + (np.arange(n_blocks) < n_samples % n_blocks)
    links = _link_probabilities(cluster, group, probabilities)
    # The factor s of the probabilities, or the requested mean degree.
    if average_degree is None:
        links = np.minimum(links * (np.log(n_samples) / n_samples) ** 0.1 / 0.528, 1)
    else:
        links = _scale_to_average_degree(links, sizes, average_degree)
    # The nodes are numbered block by block, then moved to random positions.
    position = rng.permutation(n_samples)
    rows, cols = draw_edges(sizes, links, rng)
    block = np.empty(n_samples, dtype=int)
    block[position] = np.repeat(np.arange(n_blocks), sizes)
    adjacency = adjacency_matrix(position[rows], position[cols], n_samples)
    return adjacency, cluster[block], group[block]


def _link_probabilities(
    cluster: np.ndarray, group: np.ndarray, probabilities: TableLike
) -> np.ndarray:
    """Matrix (n_blocks, n_blocks) of the table in `make_fair_sbm`, without the factor s."""
    values = to_floats("probabilities", probabilities)
    if values.shape != (4,) or not np.all((values >= 0) & (values <= 1)) or not values.any():
        raise ValueError(
            f"probabilities must be four numbers in [0, 1], not all 0; got {probabilities!r}."
        )
    a, b, c, d = values
    same_cluster = cluster[:, None] == cluster
    same_group = group[:, None] == group
    return np.where(same_cluster, np.where(same_group, a, c), np.where(same_group, b, d))


def _scale_to_average_degree(
    links: np.ndarray, sizes: np.ndarray, average_degree: float
) -> np.ndarray:
    """Scale the probabilities so that the expected mean degree is `average_degree`."""
    # Mean degree expected from the unscaled probabilities, without loops.
    expected = (sizes @ links @ sizes - sizes @ np.diag(links)) / sizes.sum()
    largest = expected / links.max()
    if not 0 < average_degree <= largest:
        raise ValueError(
            f"average_degree must be positive and at most {largest:.6g}, where the largest "
            f"probability is 1; got {average_degree!r}. Pass more samples, or probabilities that "
            "differ less."
        )
    # Rounding may exceed 1.
    return np.minimum(links * (average_degree / expected), 1)


def draw_edges(
    sizes: np.ndarray, links: np.ndarray, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the links of a block model in time proportional to their number: rows < cols.

    `sizes` are the numbers of nodes in the blocks, `links` the symmetric matrix of probabilities.
    """
    starts = np.cumsum(sizes) - sizes
    first, second = np.triu_indices(len(sizes))
    areas = sizes[first] * sizes[second]
    edges = []
    for p in np.unique(links[first, second]):
        # All pairs of nodes with this probability in one line, block pair by block pair.
        pair = np.flatnonzero(links[first, second] == p)
        ends = np.cumsum(areas[pair])
        hits = _draw_success_positions(ends[-1], p, rng)
        # Block pair of each link, and its row and column within the blocks.
        index = np.searchsorted(ends, hits, side="right")
        a = first[pair[index]]
        b = second[pair[index]]
        row, col = np.divmod(hits - (ends - areas[pair])[index], sizes[b])
        edges.append((starts[a] + row, starts[b] + col))
    rows, cols = np.concatenate(edges, axis=1)
    # Within a block every pair was drawn twice, and every node with itself.
    is_upper = rows < cols
    return rows[is_upper], cols[is_upper]


def _draw_success_positions(n_trials: int, p: float, rng: np.random.RandomState) -> np.ndarray:
    """Ascending positions of the successes among independent trials: their gaps are geometric."""
    if p == 0:
        return np.empty(0, dtype=int)
    batches = []
    last = -1
    while last < n_trials - 1:
        # A batch of gaps that almost always covers the remaining trials.
        expected = (n_trials - 1 - last) * p
        gaps = rng.geometric(p, size=int(expected + 5 * np.sqrt(expected)) + 1)
        batches.append(last + np.cumsum(gaps))
        last = batches[-1][-1]
    positions = np.concatenate(batches)
    return positions[: np.searchsorted(positions, n_trials)]


# Learning to rank with two groups of documents.


@dataset_docs
def make_ranking(
    n_queries: int = 100,
    *,
    n_documents: int = 20,
    n_features: int = 10,
    bias: float = 1.0,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    r"""Queries with documents of two groups, one of which appears more relevant than it is.

    A document has features x from a standard normal distribution, and a utility :math:`x \cdot w +
    \varepsilon` with w of unit length and standard normal noise. Its relevance, 0 to 4, is the
    quintile of its utility among all documents. For documents of group "high" the observed feature
    of largest weight has ``bias`` added, so that a ranker that uses it ranks them too high.

    Parameters
    ----------
    n_queries : int, default=100
        Number of queries.
    n_documents : int, default=20
        Documents of each query, half of them of either group on average.
    n_features : int, default=10
        Number of features.
    bias : float, default=1.0
        Bias of the feature in group "high", in its standard deviations.
    {random_state}

    Returns
    -------
    X : ndarray of shape (n_queries * n_documents, n_features)
        The documents, query after query.
    y : ndarray of int, shape (n_queries * n_documents,)
        Relevance.
    query_id : ndarray of int, shape (n_queries * n_documents,)
        Query of each document.
    sensitive_features : ndarray of str, shape (n_queries * n_documents,)
        Group of each document, "high" or "low".

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.datasets import make_ranking
    >>> X, y, query_id, groups = make_ranking(3, n_documents=5, random_state=0)
    >>> X.shape, np.bincount(y).tolist(), np.bincount(query_id).tolist()
    ((15, 10), [3, 3, 3, 3, 3], [5, 5, 5])
    """
    _check_settings(
        "make_ranking",
        n_queries=n_queries,
        n_documents=n_documents,
        n_features=n_features,
        bias=bias,
    )
    rng = check_random_state(random_state)
    n = n_queries * n_documents
    X = rng.normal(size=(n, n_features))
    weights = np.sqrt(0.5 ** np.arange(1.0, n_features + 1))
    # Relevance is the quintile of the utility, which group and bias do not change.
    utility = X @ (weights / np.linalg.norm(weights)) + rng.normal(size=n)
    y = np.empty(n, dtype=int)
    y[np.argsort(utility)] = 5 * np.arange(n) // n
    groups = np.where(rng.uniform(size=n) < 0.5, "high", "low")
    # Only the observed feature is biased.
    X[:, 0] += bias * (groups == "high")
    return X, y, np.repeat(np.arange(n_queries), n_documents), groups


def adjacency_matrix(
    rows: Table, cols: np.ndarray | list[int], n_nodes: int, weights: np.ndarray | None = None
) -> sparse.csr_array:
    """Make the symmetric adjacency matrix of the edges (row, column), each given once, no loops."""
    weights = np.ones(len(rows)) if weights is None else weights
    # 32 bits halve the memory, and some scikit-learn estimators take no wider indices.
    rows, cols = np.asarray(rows, dtype=np.int32), np.asarray(cols, dtype=np.int32)
    ends = np.concatenate([rows, cols]), np.concatenate([cols, rows])
    return coo_array((np.tile(weights, 2), ends), shape=(n_nodes, n_nodes)).tocsr()
