"""Kernels of the alternating front: descendants of the clusterings in a list (Algorithm 3)."""

from typing import NamedTuple

import numpy as np

from skfair._kernels import helper, inline_helper, jit
from skfair._kernels.alternating import (
    ClusteringState,
    allocate_journal,
    bottleneck,
    cost,
    iterate,
    recenter,
    recompute_sums,
)


class FrontList(NamedTuple):
    """The list of Algorithm 3, allocated for S clusterings.

    The tables are in slots that are never moved. ``slot[i]`` is the slot of entry i of the list,
    and after the ``length[0]`` entries it has the free slots.
    """

    labels: np.ndarray  # (S, N) by slot, as are the tables of `ClusteringState`
    sums: np.ndarray  # (S, K, d)
    counts: np.ndarray  # (S, K, G)
    sizes: np.ndarray  # (S, K, G)
    cost: np.ndarray  # (S,) by entry
    balance: np.ndarray  # (S,) by entry
    slot: np.ndarray  # (S,) a permutation
    length: np.ndarray  # (1,)


@helper
def is_dominated(members, f1, f2):
    """Whether a member of the list is strictly better in both cost and balance."""
    dominated = False
    for i in range(members.length[0]):  # no early exit, so that it vectorises
        dominated |= (members.cost[i] < f1) & (members.balance[i] > f2)
    return dominated


@inline_helper
def get_clustering(members, slot, centers, absorbed):
    """The clustering in a slot, as views of its arrays."""
    return ClusteringState(
        members.labels[slot],
        members.sums[slot],
        members.counts[slot],
        members.sizes[slot],
        centers,
        absorbed,
    )


@inline_helper
def copy_tables(source, target):
    for k in range(source.sums.shape[0]):
        for f in range(source.sums.shape[1]):
            target.sums[k, f] = source.sums[k, f]
        for g in range(source.counts.shape[1]):
            target.counts[k, g] = source.counts[k, g]
            target.sizes[k, g] = source.sizes[k, g]


@jit
def add_children(samples, members, parents, pairs, rule, rng):
    """Iterations of Algorithm 2 from each parent with each pair; good children are appended.

    A child is built in the labels of its parent, with separate tables, and undone by its journal,
    so only an appended child is copied in full. A child without a move, or one that a member of
    the list dominates, would not survive the iteration.
    """
    journal = allocate_journal(pairs, rule)
    shape = members.sums.shape[1:]
    sums, centers, absorbed = np.empty(shape), np.empty(shape), np.empty(shape[0])
    counts, sizes = np.empty_like(members.counts[0]), np.empty_like(members.sizes[0])
    for i in range(parents[0], parents[1]):
        parent = get_clustering(members, members.slot[i], centers, absorbed)
        child = ClusteringState(parent.labels, sums, counts, sizes, centers, absorbed)
        for q in range(pairs.shape[0]):
            # Build the child in place.
            copy_tables(parent, child)
            recenter(samples, child)
            n_moves = iterate(samples, child, pairs[q], rule, rng, journal)
            f1, f2 = cost(samples, child), bottleneck(samples, child)[0]
            if n_moves > 0 and not is_dominated(members, f1, f2):
                append_child(members, child, f1, f2)
            # Undo its moves, last one first.
            for j in range(n_moves - 1, -1, -1):
                parent.labels[journal[j, 0]] = journal[j, 1]


@helper
def append_child(members, child, f1, f2):
    """Copy a clustering into the next free slot and append it to the list."""
    i = members.length[0]
    member = get_clustering(members, members.slot[i], child.centers, child.absorbed)
    for p in range(child.labels.shape[0]):
        member.labels[p] = child.labels[p]
    copy_tables(child, member)
    members.cost[i] = f1
    members.balance[i] = f2
    members.length[0] = i + 1


@jit
def recompute(samples, members):
    """Recompute tables, cost and balance of all members from labels, against rounding drift."""
    shape = members.sums.shape[1:]
    centers, absorbed = np.empty(shape), np.empty(shape[0])
    for i in range(members.length[0]):
        member = get_clustering(members, members.slot[i], centers, absorbed)
        recompute_sums(samples, member)
        members.cost[i] = cost(samples, member)
        members.balance[i] = bottleneck(samples, member)[0]
