"""How groups of people are spread over clusters."""

import numpy as np

from skfair.groups import check_columns, merge_duplicate_rows, to_pandas_index
from skfair.metrics._registry import metric
from skfair.utils._balance import count_table, smallest_balances, smallest_share_ratios


def _compose(labels, sensitive_features, sample_weight, attributes):
    """Check the input of a clustering metric and count; samples of zero weight are absent.

    Returns
    -------
    clusters : ndarray of shape (n_clusters,)
        The labels that occur, ascending.
    group_labels : ndarray of object, shape (n_groups, n_columns)
        What the groups are called.
    tables : list of ndarray, each of shape (n_clusters, n_groups of the attribute)
        Weight of every group in every cluster; with ``attributes="each"`` one table for each
        attribute, else one for the combinations.
    """
    if attributes not in ("intersections", "each"):
        raise ValueError(f'attributes must be "intersections" or "each"; got {attributes!r}.')
    given, weights, columns = merge_duplicate_rows(sensitive_features, sample_weight, labels=labels)
    people, (labels,) = check_columns(given, weights, **columns)
    groups = people.groups
    clusters, codes = np.unique(labels, return_inverse=True)
    shape = len(clusters), len(groups.labels)
    counts = count_table(codes, groups.codes, people.weights, *shape)
    if attributes == "intersections":
        return clusters, groups.labels, [counts]
    values, group_labels = groups.single_attribute_codes()
    columns = [column[:, np.newaxis] - column.min() for column in values.T]
    tables = [counts @ (column == np.arange(column.max() + 1)) for column in columns]
    return clusters, group_labels, tables


@metric("clustering", best=1.0, name="attribute_balance", attributes="each")
@metric("clustering", best=1.0, name="mean_balance", aggregate="mean")
@metric("clustering", best=1.0, name="relative_balance", relative=True)
@metric("clustering", best=1.0, name="balance")
def balance_score(
    labels,
    *,
    sensitive_features,
    sample_weight=None,
    aggregate="min",
    relative=False,
    attributes="intersections",
):
    """Balance of a clustering: how equally the groups are represented in its clusters.

    The balance of a cluster is its rarest group over its commonest, ::

        b_k = min_{j != j'} n_kj / n_kj',

    with n_kj the weight of group j in cluster k. The balance of the clustering is the least b_k.
    No clustering can have a larger one than the data itself (all samples as one cluster).

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each sample. Every distinct label is a cluster, so is the -1 with which some
        estimators mark noise. Clusters without samples cannot be seen here and do not count.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
        Group of each sample; of several attributes see ``attributes``. Groups that do not occur
        in these samples cannot be seen here and do not count.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a sample of weight zero counts as absent.
    aggregate : {"min", "mean"}, default="min"
        Take the least balanced cluster, or the unweighted mean over the clusters (for reports:
        it may hide a cluster without any member of a group).
    relative : bool, default=False
        Divide by the balance of the data: 1 is then the best that the minimum can be.
    attributes : {"intersections", "each"}, default="intersections"
        With several attributes, groups are the combinations that occur; "each" takes the balance of
        every single attribute instead, relative to the data's own as only so they can be compared,
        and of these the least.

    Returns
    -------
    balance : float
        In [0, 1], more is fairer; 1 with a single group. The relative mean may exceed 1.

    Raises
    ------
    ValueError
        If the inputs differ in length or in their pandas index, or hold missing values.

    See Also
    --------
    additive_violation : The largest departure from proportion, in samples.
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
    if aggregate not in ("min", "mean"):
        raise ValueError(f'aggregate must be "min" or "mean"; got {aggregate!r}.')
    _, _, tables = _compose(labels, sensitive_features, sample_weight, attributes)
    balances, of_data = smallest_balances(tables)
    value = float(balances.min() if aggregate == "min" else balances.mean())
    return value / of_data if relative else value


@metric("clustering", best=1.0, name="attribute_share_ratio", attributes="each")
@metric("clustering", best=1.0, name="mean_share_ratio", aggregate="mean")
@metric("clustering", best=1.0, name="share_ratio")
def share_ratio_score(
    labels,
    *,
    sensitive_features,
    sample_weight=None,
    aggregate="min",
    attributes="intersections",
):
    """Ratio of the shares of the groups that are in a cluster: the four-fifths rule asks for 0.8.

    A group has the share P(k | j) = n_kj / N_j of its members in cluster k, with n_kj their weight
    and N_j that of the group. The ratio of a cluster is the least share over the largest, ::

        s_k = min_{j != j'} P(k | j) / P(k | j'),

    and that of the clustering is the least s_k. Unlike the balance it sees a group that is rare in
    the data and common in a cluster: a ratio of s implies a relative balance of s, not the reverse.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each sample, as in `balance_score`.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
        Group of each sample; of several attributes see ``attributes``.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a sample of weight zero counts as absent.
    aggregate : {"min", "mean"}, default="min"
        Take the cluster of the least ratio, or the unweighted mean over the clusters.
    attributes : {"intersections", "each"}, default="intersections"
        With several attributes, groups are the combinations that occur; "each" compares the values
        of every single attribute instead.

    Returns
    -------
    ratio : float
        In [0, 1], more is fairer; 1 if every cluster mirrors the data, or with a single group.

    Raises
    ------
    ValueError
        If the inputs differ in length or in their pandas index, or hold missing values.

    See Also
    --------
    cluster_share_ratios : The ratio of every cluster.
    balance_score : The rarest over the commonest group.

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
    if aggregate not in ("min", "mean"):
        raise ValueError(f'aggregate must be "min" or "mean"; got {aggregate!r}.')
    ratios = cluster_share_ratios(
        labels,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        attributes=attributes,
    )
    return float(ratios.min() if aggregate == "min" else ratios.mean())


def cluster_share_ratios(
    labels, *, sensitive_features, sample_weight=None, attributes="intersections"
):
    """Ratio of the shares of the groups in every cluster, see `share_ratio_score`.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each sample.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
        Group of each sample; of several attributes see ``attributes``.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a sample of weight zero counts as absent.
    attributes : {"intersections", "each"}, default="intersections"
        With several attributes, groups are the combinations that occur; "each" compares the values
        of every single attribute instead.

    Returns
    -------
    ratios : pandas.Series of shape (n_clusters,)
        One value per cluster label, ascending.

    Raises
    ------
    ValueError
        If the inputs differ in length or in their pandas index, or hold missing values.

    See Also
    --------
    cluster_composition : With ``normalize="group"`` the shares themselves.

    Examples
    --------
    >>> from skfair.metrics import cluster_share_ratios
    >>> group = ["a", "a", "b", "a", "a", "b"]
    >>> cluster_share_ratios([0, 0, 0, 0, 1, 1], sensitive_features=group).to_dict()
    {0: 0.6666666666666666, 1: 0.5}
    """
    import pandas as pd

    clusters, _, tables = _compose(labels, sensitive_features, sample_weight, attributes)
    return pd.Series(
        smallest_share_ratios(tables), index=pd.Index(clusters, name="cluster"), name="share_ratio"
    )


@metric("clustering", name="normalized_additive_violation", normalize=True)
@metric("clustering")
def additive_violation(
    labels,
    *,
    sensitive_features,
    sample_weight=None,
    normalize=False,
    attributes="intersections",
):
    """Largest departure of a group's size in a cluster from its proportional share.

    With n_kj the weight of group j in cluster k, n_k that of the cluster, n_j that of the group
    and n that of all samples, this is ::

        max_kj |n_kj - n_k n_j / n|        (in samples),

    or ``max_kj |n_kj / n_k - n_j / n|`` with ``normalize=True``. Unlike the balance, which compares
    the rarest group with the commonest, it sees every group.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each sample.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
        Group of each sample; of several attributes see ``attributes``.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a sample of weight zero counts as absent.
    normalize : bool, default=False
        Divide the departures in a cluster by its size: the difference between the group's share
        of the cluster and its share of the data, in [0, 1].
    attributes : {"intersections", "each"}, default="intersections"
        With several attributes, groups are the combinations that occur; "each" compares the values
        of every single attribute instead.

    Returns
    -------
    violation : float
        Non-negative, 0 if every cluster mirrors the data.

    Raises
    ------
    ValueError
        If the inputs differ in length or in their pandas index, or hold missing values.

    See Also
    --------
    balance_score : The ratio of the rarest to the commonest group.

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
    _, _, tables = _compose(labels, sensitive_features, sample_weight, attributes)
    counts, sizes = np.hstack(tables), tables[0].sum(axis=1, keepdims=True)
    departures = np.abs(counts - sizes * counts.sum(axis=0) / sizes.sum())
    return float((departures / sizes if normalize else departures).max())


def cluster_composition(
    labels,
    *,
    sensitive_features,
    sample_weight=None,
    normalize=None,
    attributes="intersections",
):
    """Table of the groups in every cluster.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each sample.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
        Group of each sample; of several attributes see ``attributes``.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a sample of weight zero counts as absent.
    normalize : {None, "cluster", "group"}, default=None
        None counts samples (sums their weights). "cluster" divides each row by its sum: what the
        cluster is made of. "group" divides each column by its sum: where the group went.
    attributes : {"intersections", "each"}, default="intersections"
        With several attributes, groups are the combinations that occur; "each" counts the values
        of every single attribute instead.

    Returns
    -------
    composition : pandas.DataFrame of shape (n_clusters, n_groups)
        One row per cluster label and one column per group, both ascending; with several
        attributes the columns have one level for each, or, counted each, the levels attribute and
        value.

    Raises
    ------
    ValueError
        If the inputs differ in length or in their pandas index, or hold missing values.

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
    import pandas as pd

    if normalize not in (None, "cluster", "group"):
        raise ValueError(f'normalize must be None, "cluster" or "group"; got {normalize!r}.')
    clusters, names, tables = _compose(labels, sensitive_features, sample_weight, attributes)
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
