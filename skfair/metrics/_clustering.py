"""Metrics of clusterings and of Pareto fronts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_array, column_or_1d

from skfair._groups.duplicates import merge_duplicate_rows
from skfair._groups.groups import balances_and_data_balance, count_table, smallest_share_ratios
from skfair._groups.samples import check_lengths, check_metric_input, to_pandas_index
from skfair._utils.api import Agg, MatrixLike
from skfair._utils.arrays import cluster_links
from skfair._utils.checks import argument_error, check_choice, check_in_memory
from skfair.metrics._docstrings import clustering_docs
from skfair.metrics._rates import find_aggregate
from skfair.metrics._registry import register_metric

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

    from skfair._utils.tables import Table, TableLike


# Balance and composition of clusterings: how groups are distributed over clusters.


def _composition_tables(
    labels: TableLike,
    sensitive_features: TableLike,
    sample_weight: TableLike | None,
    attributes: str,
) -> tuple:
    """Check the input and count: cluster labels, group labels, tables of weights.

    A table has one row per cluster and one column per group. With ``attributes="each"`` there is
    one for each attribute, else one for their intersections.
    """
    check_choice("attributes", attributes, ("intersections", "each"))
    group_columns, weights, columns = merge_duplicate_rows(
        sensitive_features, sample_weight, labels=labels
    )
    samples, (labels,) = check_metric_input(group_columns, weights, **columns)
    groups = samples.groups
    # Table of weights by cluster and group.
    clusters, codes = np.unique(labels, return_inverse=True)
    counts = count_table(
        codes,
        groups.codes,
        samples.weights,
        n_clusters=len(clusters),
        n_groups=len(groups.labels),
    )
    if attributes == "intersections":
        return clusters, groups.labels, [counts]
    # Add the intersections up to the values of each attribute.
    values, group_labels = groups.attribute_codes_of_groups()
    tables = []
    for column in values.T:
        positions = column[:, np.newaxis] - column.min()
        tables.append(counts @ (positions == np.arange(positions.max() + 1)))
    return clusters, group_labels, tables


@clustering_docs
@register_metric("clustering", best=1.0, name="attribute_balance", attributes="each")
@register_metric("clustering", best=1.0, name="mean_balance", agg="mean")
@register_metric("clustering", best=1.0, name="relative_balance", relative=True)
@register_metric("clustering", best=1.0, name="balance")
def balance_score(
    labels: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    agg: Agg = "worst_case",
    relative: bool = False,
    attributes: Literal["intersections", "each"] = "intersections",
) -> float:
    """Balance of a clustering: how equally the groups are represented in its clusters.

    The balance of a cluster is the ratio of its smallest to its largest group, ::

        b_k = min_{j != j'} n_kj / n_kj',

    with n_kj the weight of group j in cluster k. The balance of the clustering is the smallest b_k.
    No clustering can have a larger one than the data itself (all samples as one cluster).

    Read more in the :ref:`guide <fair_clustering>`.

    Parameters
    ----------
    {labels, sensitive_features, sample_weight, agg}
    relative : bool, default=False
        Divide by the balance of the data: 1 is then the best that the minimum can be.
    {attributes}
        The smallest balance counts, or the smallest that is relative to that of the data.

    Returns
    -------
    balance : float
        In [0, 1], more is fairer; 1 with a single group. The relative mean may exceed 1.

    Raises
    ------
    {ValueError}

    See Also
    --------
    cluster_composition : The table behind these numbers.

    References
    ----------
    .. [1] F. Chierichetti, R. Kumar, S. Lattanzi and S. Vassilvitskii, "Fair clustering through
       fairlets", NeurIPS 2017.
    .. [2] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
       clustering", LION 2022, Section 3.1.

    Examples
    --------
    >>> from skfair.metrics import balance_score
    >>> labels = [0, 0, 0, 1, 1, 1]
    >>> group = ["a", "a", "b", "a", "a", "b"]
    >>> balance_score(labels, sensitive_features=group)
    0.5
    >>> balance_score(labels, sensitive_features=group, relative=True)
    1.0
    """
    aggregate = find_aggregate(agg, np.min)
    _, _, tables = _composition_tables(labels, sensitive_features, sample_weight, attributes)
    balances, relative_balances, _ = balances_and_data_balance(tables)
    return float(aggregate(relative_balances if relative else balances))


@clustering_docs
@register_metric("clustering", best=1.0, name="attribute_share_ratio", attributes="each")
@register_metric("clustering", best=1.0, name="mean_share_ratio", agg="mean")
@register_metric("clustering", best=1.0, name="share_ratio")
def share_ratio_score(
    labels: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    agg: Agg = "worst_case",
    attributes: Literal["intersections", "each"] = "intersections",
) -> float:
    """Smallest ratio of two groups' shares in a cluster (disparate impact ratio of a clustering).

    A group has the share P(k | j) = n_kj / N_j of its members in cluster k, with n_kj their weight
    and N_j that of the group. The ratio of a cluster is the smallest share over the largest, ::

        s_k = min_{j != j'} P(k | j) / P(k | j'),

    and that of the clustering is the smallest s_k. The four-fifths (80 %) rule requires at least
    0.8. Unlike the balance it detects a group that is rare in the data and common in a cluster: a
    ratio of s implies a relative balance of s, not the reverse.

    Read more in the :ref:`guide <fair_clustering>`.

    Parameters
    ----------
    {labels, sensitive_features, sample_weight, agg, attributes}

    Returns
    -------
    ratio : float
        In [0, 1], more is fairer; 1 if every cluster mirrors the data, or with a single group.

    Raises
    ------
    {ValueError}

    See Also
    --------
    balance_score : The smallest over the largest group of a cluster.
    cluster_composition : With ``normalize="group"`` the shares themselves.

    References
    ----------
    .. [1] S. Bera, D. Chakrabarty, N. Flores and M. Negahbani, "Fair algorithms for clustering",
       NeurIPS 2019.

    Examples
    --------
    >>> from skfair.metrics import share_ratio_score
    >>> labels = [0, 0, 0, 1, 1, 1]
    >>> group = ["a", "a", "b", "a", "a", "b"]
    >>> share_ratio_score(labels, sensitive_features=group)
    1.0
    >>> share_ratio_score([0, 0, 0, 0, 1, 1], sensitive_features=group)
    0.5
    """
    aggregate = find_aggregate(agg, np.min)
    ratios = cluster_share_ratios(
        labels,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        attributes=attributes,
    )
    return float(aggregate(ratios))


def cluster_share_ratios(
    labels: ArrayLike,
    *,
    sensitive_features: TableLike,
    sample_weight: TableLike | None = None,
    attributes: str = "intersections",
) -> pd.Series:
    """Ratio of the smallest to the largest share of a group in a cluster, by cluster label."""
    clusters, _, tables = _composition_tables(labels, sensitive_features, sample_weight, attributes)
    return pd.Series(
        smallest_share_ratios(tables), index=pd.Index(clusters, name="cluster"), name="share_ratio"
    )


@clustering_docs
@register_metric("clustering", name="normalized_additive_violation", normalize=True)
@register_metric("clustering")
def additive_violation(
    labels: ArrayLike,
    *,
    sensitive_features: TableLike,
    sample_weight: TableLike | None = None,
    normalize: bool = False,
    attributes: str = "intersections",
) -> float:
    """Largest departure of a group's size in a cluster from its proportional share.

    With n_kj the weight of group j in cluster k, n_k that of the cluster, n_j that of the group
    and n that of all samples, this is ::

        max_kj |n_kj - n_k n_j / n|        (in samples),

    or ``max_kj |n_kj / n_k - n_j / n|`` with ``normalize=True``. Unlike the balance, which compares
    the smallest group of a cluster with the largest, it depends on every group.

    Parameters
    ----------
    {labels, sensitive_features, sample_weight}
    normalize : bool, default=False
        Divide the departures in a cluster by its size: the difference between the group's share
        of the cluster and its share of the data, in [0, 1].
    {attributes}

    Returns
    -------
    violation : float
        Non-negative, 0 if every cluster mirrors the data.

    Raises
    ------
    {ValueError}

    See Also
    --------
    balance_score : The ratio of the smallest to the largest group of a cluster.

    References
    ----------
    .. [1] I. O. Bercea, M. Gross, S. Khuller, A. Kumar, C. Rösner, D. R. Schmidt and M. Schmidt,
       "On the cost of essentially fair clusterings", APPROX 2019.

    Examples
    --------
    >>> from skfair.metrics import additive_violation
    >>> labels = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> group = ["a", "a", "a", "b", "a", "b", "b", "b"]
    >>> additive_violation(labels, sensitive_features=group)
    1.0
    >>> additive_violation(labels, sensitive_features=group, normalize=True)
    0.25
    """
    _, _, tables = _composition_tables(labels, sensitive_features, sample_weight, attributes)
    # Departures of the counts from those of independent clusters and groups.
    counts = np.hstack(tables)
    sizes = tables[0].sum(axis=1, keepdims=True)
    departures = np.abs(counts - sizes * counts.sum(axis=0) / sizes.sum())
    return float((departures / sizes if normalize else departures).max())


@clustering_docs
def cluster_composition(
    labels: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    normalize: Literal["cluster", "group"] | None = None,
    attributes: Literal["intersections", "each"] = "intersections",
) -> pd.DataFrame:
    """Table of the groups in every cluster.

    Read more in the :ref:`guide <fair_clustering>`.

    Parameters
    ----------
    {labels, sensitive_features, sample_weight}
    normalize : {None, "cluster", "group"}, default=None
        None counts samples (sums their weights). "cluster" divides each row by its sum: the group
        composition of the cluster. "group" divides each column by its sum: the distribution of the
        group over the clusters.
    {attributes}

    Returns
    -------
    composition : pandas.DataFrame of shape (n_clusters, n_groups)
        One row per cluster label and one column per group, both ascending; with several
        attributes the columns have one level for each, or with ``attributes="each"`` the levels
        attribute and value.

    Raises
    ------
    {ValueError}

    See Also
    --------
    balance_score : The least balanced row of this table as a number.

    Examples
    --------
    >>> from skfair.metrics import cluster_composition
    >>> labels = [0, 0, 0, 1]
    >>> cluster_composition(labels, sensitive_features=["a", "a", "b", "b"])
               a    b
    cluster
    0        2.0  1.0
    1        0.0  1.0
    """
    check_choice("normalize", normalize, (None, "cluster", "group"))
    clusters, names, tables = _composition_tables(
        labels, sensitive_features, sample_weight, attributes
    )
    counts = np.hstack(tables)
    if normalize == "cluster":
        counts = counts / tables[0].sum(axis=1, keepdims=True)
    elif normalize == "group":
        counts = counts / counts.sum(axis=0)
    if attributes == "each":
        columns = pd.MultiIndex.from_tuples(names[:, 0], names=["attribute", "value"])
    else:
        columns = to_pandas_index(names, sensitive_features)
    return pd.DataFrame(counts, index=pd.Index(clusters, name="cluster"), columns=columns)


# Objectives of spectral clustering, and the residual of its group constraint.


def normalized_cut(labels: ArrayLike, affinity: Any) -> float:
    r"""Normalised cut of a clustering of a graph's nodes.

    .. math:: \sum_k \frac{\mathrm{cut}(C_k)}{\mathrm{vol}(C_k)}, \quad
        \mathrm{cut}(C) = \sum_{i \in C, j \notin C} K_{ij}, \quad
        \mathrm{vol}(C) = \sum_{i \in C} \sum_j K_{ij}

    Read more in the :ref:`guide <fair_clustering>`.

    Parameters
    ----------
    labels : array-like of shape (n_nodes,)
        Cluster of each node; every distinct label is a cluster.
    affinity : array-like or sparse matrix of shape (n_nodes, n_nodes), or RBFAffinity
        Symmetric (not checked) and non-negative: a graph or a kernel. The diagonal counts as part
        of the volume, though never of a cut.

    Returns
    -------
    cut : float
        Between 0 (nothing connects the clusters) and the number of clusters. A cluster of isolated
        nodes, whose volume is zero, counts 0.

    Raises
    ------
    ValueError
        If the affinity is not square or is negative, or has not one row per label.

    References
    ----------
    .. [1] J. Shi and J. Malik, "Normalized cuts and image segmentation", IEEE Transactions on
       Pattern Analysis and Machine Intelligence 22 (8), 2000.
    .. [2] F. Tonin, A. Lambert, J. Suykens and V. Cevher, "Accelerating spectral clustering under
       fairness constraints", ICML 2025.

    Examples
    --------
    >>> from skfair.metrics import normalized_cut
    >>> path = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> round(normalized_cut([0, 0, 1, 1], path), 3)  # 1/3 + 1/3
    0.667
    """
    check_in_memory(labels=labels, affinity=affinity)
    affinity = _check_square(affinity)
    labels = column_or_1d(check_array(labels, ensure_2d=False, dtype=None, input_name="labels"))
    check_lengths(labels=labels, affinity=affinity)
    # The cut of a cluster is its volume minus the affinity within it.
    clusters, codes = np.unique(labels, return_inverse=True)
    _, within, volumes = cluster_links(affinity, codes, len(clusters))
    cut = np.maximum(volumes - within, 0.0)
    return float(np.divide(cut, volumes, out=np.zeros(len(volumes)), where=volumes > 0).sum())


def _check_square(
    affinity: Table | LinearOperator,
) -> np.ndarray | sparse.sparray | sparse.spmatrix | LinearOperator:
    """Check that an affinity is square, not negative, and multiplies matrices."""
    if not hasattr(affinity, "__matmul__") or hasattr(affinity, "__array__"):
        affinity = check_array(affinity, input_name="affinity")
    if affinity.shape[0] != affinity.shape[1]:
        raise ValueError(
            f"affinity must have one row and one column per node; got shape {affinity.shape}. "
            "Pass a square array, or a kernel's matrix instead of the features."
        )
    is_stored = isinstance(affinity, np.ndarray) or sparse.issparse(affinity)
    if is_stored and (least := affinity.min()) < 0:
        raise argument_error(
            f"affinity must not be negative, but its minimum is {least:g}. Clip it at 0, or use "
            "another kernel."
        )
    return affinity


# Indicators that compare Pareto fronts of cost (less is better) and balance (more is better).


def hypervolume(cost: ArrayLike, balance: ArrayLike, *, reference: tuple[float, float]) -> float:
    """Area that a front dominates up to the `reference`, a just not acceptable (cost, balance).

    See E. Zitzler and L. Thiele, PPSN 1998.
    """
    if np.shape(cost) != np.shape(balance):
        raise ValueError(
            "cost and balance must have one entry per point of the front; got shapes "
            f"{np.shape(cost)} and {np.shape(balance)}."
        )
    cost = np.asarray(cost, dtype=float)
    balance = np.asarray(balance, dtype=float)
    if not (np.isfinite(cost) & np.isfinite(balance)).all():
        raise ValueError("cost and balance must be finite; got nan or inf. Leave these points out.")
    worst_cost, worst_balance = reference
    # Steps of the front by ascending cost, clipped at the reference: between two neighbouring costs
    # the area is as high as the best balance so far.
    order = np.argsort(cost)
    edges = np.append(np.minimum(cost[order], worst_cost), worst_cost)
    heights = np.maximum.accumulate(np.maximum(balance[order], worst_balance)) - worst_balance
    return float(np.diff(edges) @ heights)


def non_dominated_mask(cost: np.ndarray, balance: np.ndarray) -> np.ndarray:
    """Mask of the strict Pareto front of points: less cost is better, and more balance.

    A point belongs to it if no other is at least as good in both and better in one; of exact
    duplicates the first does.
    """
    cost = np.asarray(cost)
    balance = np.asarray(balance)
    # By ascending cost, the better balanced first among equals (lexsort is stable, so the first
    # of duplicates leads): a point is on the front when it beats every balance before it.
    order = np.lexsort((-balance, cost))
    best_before = np.maximum.accumulate(np.r_[-np.inf, balance[order]])[:-1]
    mask = np.zeros(len(cost), dtype=bool)
    mask[order] = balance[order] > best_before
    return mask
