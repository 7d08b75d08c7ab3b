"""Kernels of k-medoids: what every exchange of one site for another would cost."""

import numpy as np

from skfair._kernels import jit

BLOCK = 256  # sites at a time: their sums stay in the cache


def exchange_values(costs, codes, weights, offsets, labels, least):
    """Sum of the cheapest costs after each exchange of a cluster's site, (n_clusters, n_sites).

    ``costs`` are (n_samples, n_sites), and ``offsets`` (n_clusters, n_intersections) are added to
    them; a new site takes over those of its cluster. ``labels`` are the cheapest cluster of every
    sample, and ``least`` (n_samples, 2) what it and the next cheapest one cost, with offsets.
    """
    values = np.zeros((len(offsets), costs.shape[1]))
    _add_exchange_values(costs, codes, weights, offsets, labels, least, values)
    return values


@jit
def _add_exchange_values(costs, codes, weights, offsets, labels, least, values):
    """Add the costs of all samples after each exchange to `values`, (n_clusters, n_sites)."""
    n_clusters, n_sites = values.shape
    for start in range(0, n_sites, BLOCK):
        end = min(start + BLOCK, n_sites)
        for i in range(len(labels)):
            row = costs[i, start:end]
            w = weights[i]
            for k in range(n_clusters):
                # What the sample costs elsewhere, if the site of this cluster is given up.
                most = least[i, 1] if labels[i] == k else least[i, 0]
                offset = offsets[k, codes[i]]
                sums = values[k, start:end]
                for j in range(len(row)):
                    cost = row[j] + offset
                    sums[j] += w * (cost if cost < most else most)
