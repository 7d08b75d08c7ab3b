"""Kernel of iterated local search: clusterings of few samples, from distances of all pairs.

The squared distances of the members of cluster k to their mean sum to ``within[k] / sizes[k]``,
with ``within[k]`` the sum over pairs of members of their masses times their squared distance. With
``sums[k, p]``, the sum of masses times squared distances of sample p to the members of k, it
changes by ``masses[p] sums[k, p]`` when p joins, so that no step needs centres or features.

All limits are rows over the counts of a cluster, also those of pairs (`pair_rows`). What a row
exceeds its bound by tells what a cluster lacks, and whether a step is allowed.
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import NO_INDEX, helper, jit
from skfair._kernels.limits import largest_values, pair_rows

MIN_GAIN = 1e-9  # share of the cost that is more than rounding
MAX_ITERATED_SAMPLES = 100  # samples, up to which a local optimum is left by random moves


class SamplesWithDistances(NamedTuple):
    """Samples of which the squared distances of all pairs are known."""

    distances: np.ndarray  # (n_samples, n_samples) squared
    masses: np.ndarray  # (n_samples,)
    rows: np.ndarray  # (n_samples, n_rows) what a sample adds to the rows of its cluster
    bounds: np.ndarray  # (n_clusters, n_rows)
    rounding: float  # of sums of weights


class PairClustering(NamedTuple):
    """A clustering of paired samples that steps change in place."""

    labels: np.ndarray  # (n_samples,) int32
    sums: np.ndarray  # (n_clusters, n_samples)
    within: np.ndarray  # (n_clusters,)
    sizes: np.ndarray  # (n_clusters,) mass of the members
    inverses: np.ndarray  # (n_clusters,) of the sizes
    members: np.ndarray  # (n_clusters,) int64, number of the members
    excess: np.ndarray  # (n_clusters, n_rows) of rows over their bounds


def pair_samples(distances, masses, weights, codes, counts, limits, is_repair=False):
    """Paired samples, with rows of the limits that a clustering of such counts keeps.

    A clustering that misses a limit may be replaced by any cheaper one that misses it by no more;
    or only by one that misses it by less, for a repair.
    """
    columns = [pair_rows(limits), (limits.rows, limits.bounds + limits.rounding)]
    if limits.level > 0:  # no cluster may lack a required group
        present = -np.eye(counts.shape[1])[limits.required]
        columns.append((present, np.full(len(present), -weights.min())))
    rows, bounds = zip(*columns, strict=True)
    bounds = np.hstack([np.broadcast_to(one, (len(counts), one.shape[-1])) for one in bounds])
    rows = np.concatenate(rows)
    rounding = 1e-12 * weights.sum()
    added = rows.T[limits.intersections].sum(axis=1)[codes] * weights[:, np.newaxis]
    if not is_repair:
        bounds = np.maximum(bounds, largest_values(counts, rows, limits))
    elif limits.level > 0:  # groups that are missing come first, whatever members weigh
        is_present = np.arange(len(rows)) >= len(rows) - len(present)
        added[:, is_present] *= (weights.sum() / weights)[:, np.newaxis]
        bounds[:, is_present] = -weights.sum()
    return SamplesWithDistances(distances, masses, added, bounds + rounding, rounding)


def iterate_search(samples, labels, n_clusters, random_state):
    """Labels of the cheapest clustering found by random moves and searches after them."""
    labels = labels.copy()
    n_failures = 0
    # Less patience with many groups, whose pairs are rows that every step has to look at.
    # Failures in a row after which the search ends.
    patience = max(300 // (1 + samples.rows.shape[1] // 100), 30)
    if len(labels) > MAX_ITERATED_SAMPLES:
        # Searches of many samples take long.
        patience = min(patience, 1 + 6000 // len(labels))
    while n_failures < patience:
        # Kicks: two to four random samples go to random clusters.
        kicked = random_state.randint(len(labels), size=(patience, 4))
        kicked[np.arange(4) >= random_state.randint(2, 5, size=(patience, 1))] = NO_INDEX
        kicks = kicked, random_state.randint(n_clusters, size=kicked.shape)
        n_failures = search_from_kicks(samples, labels, n_clusters, kicks, n_failures, patience)
    return labels


def search_from_kicks(samples, labels, n_clusters, kicks, n_failures, patience):
    """Replace labels by those of the cheapest clustering found by searches after kicks, in place.

    A kick moves ``samples`` of a row of the kicks to the ``clusters`` of the same row; -1 is no
    sample. The search after it makes the limits hold, then lowers the cost by moves and exchanges.
    Returns the number of failures in a row, ``n_failures`` of which came before; ends when there
    are as many as the patience, or after the last kick.
    """
    clustering = PairClustering(
        labels=labels.copy(),
        sums=np.empty((n_clusters, len(labels))),
        within=np.empty(n_clusters),
        sizes=np.empty(n_clusters),
        inverses=np.empty(n_clusters),
        members=np.empty(n_clusters, np.int64),
        excess=np.empty((n_clusters, samples.rows.shape[1])),
    )
    return _search_from_kicks(samples, clustering, labels, *kicks, n_failures, patience)


@jit
def _search_from_kicks(samples, clustering, labels, kicked, targets, n_failures, patience):
    """Search from each kick, a row of `kicked` samples (-1 for none) and their `targets`.

    Labels are changed in place where a search ends lower. The search ends after `patience` kicks in
    a row without gain, of which `n_failures` came before.
    """
    _sum_over_pairs(samples, clustering)
    lowest = _cost(clustering)
    least = _sum_excess(clustering)
    for i in range(kicked.shape[0]):
        if n_failures >= patience:
            break
        n_failures += 1
        # Kick. Sums are recomputed: rounding would add up.
        _copy(labels, clustering.labels)
        for j in range(kicked.shape[1]):
            if kicked[i, j] >= 0:
                clustering.labels[kicked[i, j]] = targets[i, j]
        _sum_over_pairs(samples, clustering)
        # Moves, then exchanges, until there are none or the search is back at the cost from which
        # it started. They make the limits hold first, and lower the cost then. There is a limit as
        # rounding might keep a search from its end.
        is_valid = not _has_empty(clustering)
        is_exchange = False
        for _ in range(1000 if is_valid else 0):
            is_repair = _sum_excess(clustering) > 0.0
            if _take_steps(samples, clustering, is_exchange, is_repair):
                is_exchange = False
            elif is_exchange or (
                not is_repair and abs(_cost(clustering) - lowest) <= MIN_GAIN * lowest
            ):
                break
            else:
                is_exchange = True
        # The least excess comes first, then the cost.
        cost = _cost(clustering)
        excess = _sum_excess(clustering)
        is_better = cost < lowest * (1.0 - MIN_GAIN) and excess <= least
        if is_valid and (is_better or excess < least):
            _copy(clustering.labels, labels)
            lowest, least, n_failures = cost, excess, 0
    return n_failures


# Loops, as numpy's functions on arrays would take a second to compile.


@helper
def _copy(source, target):
    """Write an array into another."""
    for i in range(source.size):
        target[i] = source[i]


@helper
def _has_empty(clustering):
    """Whether there is an empty cluster."""
    is_empty = False
    for number in clustering.members:
        is_empty |= number == 0
    return is_empty


@helper
def _sum_excess(clustering):
    """Sum of what clusters miss limits by."""
    total = 0.0
    for k in range(clustering.excess.shape[0]):
        for r in range(clustering.excess.shape[1]):
            total += max(clustering.excess[k, r], 0.0)
    return total


@helper
def _sum_over_pairs(samples, clustering):
    """Compute everything else from the labels."""
    labels, sums, within, sizes, inverses, members, excess = clustering
    for k in range(sizes.size):
        within[k], sizes[k], inverses[k], members[k] = 0.0, 0.0, 0.0, 0
        for p in range(labels.size):
            sums[k, p] = 0.0
        for r in range(samples.rows.shape[1]):
            excess[k, r] = -samples.bounds[k, r]
    for p in range(labels.size):
        _add_to_cluster(samples, clustering, p, np.int64(labels[p]), 1.0)


@helper
def _add_to_cluster(samples, clustering, p, k, sign):
    """Add sample p to the sums of cluster k, or remove it where the sign is -1."""
    _, sums, within, sizes, inverses, members, excess = clustering
    mass = sign * samples.masses[p]
    row = sums[k]
    distances = samples.distances[p]
    within[k] += mass * row[p]
    sizes[k] += mass
    inverses[k] = 1.0 / sizes[k]
    members[k] += 1 if sign > 0.0 else -1
    for i in range(row.size):
        row[i] += mass * distances[i]
    for r in range(samples.rows.shape[1]):
        excess[k, r] += sign * samples.rows[p, r]


@helper
def _cost(clustering):
    """The k-means cost; samples at one point have none, although their sums may be rounded."""
    cost = 0.0
    for k in range(clustering.sizes.size):
        cost += max(clustering.within[k], 0.0) / clustering.sizes[k]
    return cost


@helper
def _take_steps(samples, clustering, is_exchange, is_repair):
    """Whether moves, or exchanges, were made: the best one of all, or of each sample in a pass.

    A repair makes the one that costs least per unit by which it lowers the excess. A pass makes
    those that keep the limits and lower the cost.
    """
    sample, cluster, partner, least = NO_INDEX, NO_INDEX, NO_INDEX, np.inf
    is_changed = False
    min_gain = 1e-12 * _cost(clustering)
    for p in range(samples.masses.size):
        k, q, cost = _find_step(samples, clustering, p, is_exchange, is_repair)
        if is_repair and cost < least:
            sample = np.int64(p)
            cluster = k
            partner = q
            least = cost
        last = is_repair and p == samples.masses.size - 1 and sample >= 0
        if last:
            p, k, q = sample, cluster, partner
        if last or (not is_repair and k >= 0 and cost < -min_gain):
            is_changed = True
            _make_step(samples, clustering, p, k, q)
    return is_changed


@helper
def _make_step(samples, clustering, p, k, partner):
    """Move sample p to cluster k, in exchange for its partner if that is not -1."""
    a = clustering.labels[p]
    for i in range(4 if partner >= 0 else 2):
        sample = p if i < 2 else partner
        sign = 2.0 * (i % 2) - 1.0
        goal = k if (i == 1 or i == 2) else a
        _add_to_cluster(samples, clustering, sample, goal, sign)
        clustering.labels[sample] = goal


@helper
def _find_step(samples, clustering, p, is_exchange, is_repair):
    """Cluster, partner (-1 in a move) and cost of the best step of sample p.

    The cost of a repair is per unit of excess; other steps must keep the limits.
    """
    labels = clustering.labels
    members = clustering.members
    a = np.int64(clustering.labels[p])
    cluster = NO_INDEX
    partner = NO_INDEX
    least = np.inf if is_repair else 0.0
    for i in range(p + 1 if is_exchange else 0, labels.size if is_exchange else members.size):
        k, q = (np.int64(labels[i]), np.int64(i)) if is_exchange else (np.int64(i), NO_INDEX)
        if k == a or (q < 0 and members[a] == 1):
            continue
        cost = _step_cost(samples, clustering, p, k, q)
        if is_repair or cost < least:
            rise = _excess_change(samples, clustering, p, a, q, k)
            if is_repair:
                cost = -cost / rise if rise < -samples.rounding else np.inf
            if cost < least and (is_repair or rise <= 0.0):
                cluster, partner, least = k, q, cost
    return cluster, partner, least


@helper
def _step_cost(samples, clustering, p, k, q):
    """Change of the cost by sample p going to cluster k, in exchange for q if that is not -1."""
    _, sums, within, sizes, inverses, _, _ = clustering
    a = clustering.labels[p]
    mass = samples.masses[p]
    gain, loss = mass * sums[a, p], mass * sums[k, p]
    if q < 0:
        left = (within[a] - gain) / (sizes[a] - mass)
        joined = (within[k] + loss) / (sizes[k] + mass)
        return left - within[a] * inverses[a] + joined - within[k] * inverses[k]
    other = samples.masses[q]
    both = mass * other * samples.distances[p, q]
    gain = gain - other * sums[a, q] + both
    loss = loss - other * sums[k, q] - both
    if mass == other:  # most exchanges; divisions would take most of the time
        return loss * inverses[k] - gain * inverses[a]
    left = (within[a] - gain) / (sizes[a] - mass + other)
    joined = (within[k] + loss) / (sizes[k] + mass - other)
    return left - within[a] * inverses[a] + joined - within[k] * inverses[k]


@helper
def _excess_change(samples, clustering, p, a, q, k):
    """Change of the summed excess if p goes from cluster a to k, in exchange for q if not -1."""
    change = 0.0
    for r in range(samples.rows.shape[1]):
        joining = samples.rows[p, r] - (samples.rows[q, r] if q >= 0 else 0.0)
        excess_a, excess_k = clustering.excess[a, r], clustering.excess[k, r]
        change += max(excess_a - joining, 0.0) - max(excess_a, 0.0)
        change += max(excess_k + joining, 0.0) - max(excess_k, 0.0)
    return change
