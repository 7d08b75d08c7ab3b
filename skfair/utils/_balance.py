"""Balance of a clustering, from its table of weighted counts per cluster and group."""

import numpy as np


def count_table(labels, codes, weights, n_clusters, n_groups):
    """Weight of every group in every cluster, (n_clusters, n_groups) of float64.

    Labels and codes are in [0, n_clusters) and [0, n_groups). Without weights every sample counts
    once. The sum runs over the samples in order, so equal input gives the same bits on every
    machine and for any number of threads.
    """
    # In a small integer type of labels the flat index would overflow.
    cells = np.asarray(labels, dtype=np.intp) * n_groups + codes
    counts = np.bincount(cells, weights, minlength=n_clusters * n_groups)
    return counts.reshape(n_clusters, n_groups).astype(np.float64, copy=False)


def cluster_balances(counts):
    """Balance of each cluster: smallest over largest group, ``min_j n_kj / max_j n_kj``.

    It is in [0, 1]: 0 where a group is missing or the cluster is empty, 1 where all groups have
    equal weight.
    """
    largest = counts.max(axis=1)
    return np.divide(counts.min(axis=1), largest, out=np.zeros(len(counts)), where=largest > 0)


def balance(counts):
    """Balance of a clustering: the minimum of its clusters' balances, as a float."""
    return float(cluster_balances(counts).min())


def data_balance(counts_per_group):
    """Balance of the data as one cluster: smallest over largest group, as a float.

    No clustering of all data has a higher balance.
    """
    return float(np.min(counts_per_group) / np.max(counts_per_group))


def smallest_balances(tables):
    """Minimum over attributes of the balance of each cluster, and that of the data as one cluster.

    Balances of several attributes are comparable only relative to those of the data: then these
    ratios are taken, and that of the data is 1. `tables` has a table of counts per attribute.
    """
    data_balances = [data_balance(table.sum(axis=0)) for table in tables]
    balances = [cluster_balances(table) for table in tables]
    if len(tables) == 1:
        return balances[0], data_balances[0]
    # Balances of different attributes compare as shares of what the data itself has.
    ratios = [
        of_clusters / of_data for of_clusters, of_data in zip(balances, data_balances, strict=True)
    ]
    return np.min(ratios, axis=0), 1.0


def smallest_share_ratios(tables):
    """Minimum over attributes of the smallest ratio of two groups' shares in each cluster."""
    return np.min([cluster_balances(table / table.sum(axis=0)) for table in tables], axis=0)
