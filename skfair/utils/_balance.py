"""Balance of a clustering, from its table of weighted counts per cluster and group."""

import numpy as np


def count_table(labels, codes, weights, n_clusters, n_groups):
    """Weight of every group in every cluster.

    The sum runs over the samples in order, so equal input gives the same bits on every machine
    and for any number of threads.

    Parameters
    ----------
    labels : ndarray of int, shape (n_samples,)
        Cluster of each sample, in [0, n_clusters).
    codes : ndarray of int, shape (n_samples,)
        Group of each sample, in [0, n_groups).
    weights : ndarray of shape (n_samples,) or None
        Sample weights; None counts every sample once.
    n_clusters, n_groups : int
        Shape of the table.

    Returns
    -------
    counts : ndarray of float64, shape (n_clusters, n_groups)
        ``counts[k, j]`` is the weight of group j in cluster k.
    """
    # Labels may come in a small integer type, in which the flat index would overflow.
    cells = np.asarray(labels, dtype=np.intp) * n_groups + codes
    counts = np.bincount(cells, weights, minlength=n_clusters * n_groups)
    return counts.reshape(n_clusters, n_groups).astype(np.float64, copy=False)


def cluster_balances(counts):
    """Balance of each cluster: its rarest group over its commonest, ``min_j n_kj / max_j n_kj``.

    Parameters
    ----------
    counts : ndarray of shape (n_clusters, n_groups)
        Weight of every group in every cluster.

    Returns
    -------
    balances : ndarray of float64, shape (n_clusters,)
        In [0, 1]: 0 where a group is missing or the cluster is empty, 1 where all groups are
        equally many.
    """
    commonest = counts.max(axis=1)
    rarest = counts.min(axis=1)
    return np.divide(rarest, commonest, out=np.zeros(len(counts)), where=commonest > 0)


def balance(counts):
    """Balance of a clustering: the least balance among its clusters, as a float."""
    return float(cluster_balances(counts).min())


def data_balance(counts_per_group):
    """Balance of the data as one cluster: its rarest group over its commonest, as a float.

    No clustering of all the data is better balanced than the data itself.
    """
    return float(np.min(counts_per_group) / np.max(counts_per_group))


def smallest_balances(tables):
    """Balance of each cluster, the least of its attributes, and that of the data as one cluster.

    Of several attributes only balances relative to the data's own can be compared: these are taken
    then, and that of the data is 1.

    Parameters
    ----------
    tables : list of ndarray, each of shape (n_clusters, n_groups)
        Weight of every group in every cluster, one table per attribute.

    Returns
    -------
    balances : ndarray of shape (n_clusters,)
    of_data : float
    """
    of_data = [data_balance(table.sum(axis=0)) for table in tables]
    balances = [cluster_balances(table) for table in tables]
    if len(tables) == 1:
        return balances[0], of_data[0]
    return np.min([b / r for b, r in zip(balances, of_data, strict=True)], axis=0), 1.0


def smallest_share_ratios(tables):
    """Least ratio of two groups' shares in each cluster, the least of its attributes.

    Parameters
    ----------
    tables : list of ndarray, each of shape (n_clusters, n_groups)
        Weight of every group in every cluster, one table per attribute.

    Returns
    -------
    ratios : ndarray of shape (n_clusters,)
    """
    return np.min([cluster_balances(table / table.sum(axis=0)) for table in tables], axis=0)
