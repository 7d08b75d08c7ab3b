"""Kernels of the alternating front: children of the clusterings in a list (Algorithm 3)."""

from typing import NamedTuple

import numpy as np

from skfair._kernels import inlined, jit, part
from skfair._kernels.alternating import (
    State,
    bottleneck,
    cost,
    iterate,
    new_journal,
    recenter,
    tabulate,
)


class FrontList(NamedTuple):
    """The list of Algorithm 3, with room for S clusterings.

    The tables lie in slots that stay where they are; ``slot`` says which slot an entry of the list
    uses, and behind the ``length[0]`` entries it names the free ones.
    """

    labels: np.ndarray  # (S, N) by slot, as are the tables of `State`
    sums: np.ndarray  # (S, K, d)
    counts: np.ndarray  # (S, K, G)
    sizes: np.ndarray  # (S, K, G)
    cost: np.ndarray  # (S,) by entry
    balance: np.ndarray  # (S,) by entry
    slot: np.ndarray  # (S,) a permutation
    length: np.ndarray  # (1,)


@part
def is_dominated(members, f1, f2):
    """Whether a member of the list is strictly better in both cost and balance."""
    dominated = False
    for i in range(members.length[0]):  # without an early exit, so that it becomes vector code
        dominated |= (members.cost[i] < f1) & (members.balance[i] > f2)
    return dominated


@inlined
def view(members, slot, centers, seen):
    """The clustering in a slot, which shares its arrays."""
    return State(
        members.labels[slot],
        members.sums[slot],
        members.counts[slot],
        members.sizes[slot],
        centers,
        seen,
    )


@inlined
def copy_tables(source, target):
    for k in range(source.sums.shape[0]):
        for f in range(source.sums.shape[1]):
            target.sums[k, f] = source.sums[k, f]
        for g in range(source.counts.shape[1]):
            target.counts[k, g] = source.counts[k, g]
            target.sizes[k, g] = source.sizes[k, g]


@jit
def breed(points, members, parents, pairs, rule, rng):
    """Iterations of Algorithm 2 from each parent with each pair; good children join the list.

    A child is made in the labels of its parent, with tables of its own, and undone by its
    journal: only a child that joins is copied in full. One that no move tells from its parent,
    or that a member beats in both aims, would not outlive the iteration.
    """
    journal = new_journal(pairs, rule)
    shape = members.sums.shape[1:]
    sums, centers, seen = np.empty(shape), np.empty(shape), np.empty(shape[0])
    counts, sizes = np.empty_like(members.counts[0]), np.empty_like(members.sizes[0])
    for i in range(parents[0], parents[1]):
        parent = view(members, members.slot[i], centers, seen)
        child = State(parent.labels, sums, counts, sizes, centers, seen)
        for q in range(pairs.shape[0]):
            copy_tables(parent, child)
            recenter(points, child)
            n_moves = iterate(points, child, pairs[q], rule, rng, journal)
            f1, f2 = cost(points, child), bottleneck(points, child)[0]
            if n_moves > 0 and not is_dominated(members, f1, f2):
                join(members, child, f1, f2)
            for j in range(n_moves - 1, -1, -1):
                parent.labels[journal[j, 0]] = journal[j, 1]


@part
def join(members, child, f1, f2):
    """Copy a clustering into the next free slot."""
    i = members.length[0]
    member = view(members, members.slot[i], child.centers, child.seen)
    for p in range(child.labels.shape[0]):
        member.labels[p] = child.labels[p]
    copy_tables(child, member)
    members.cost[i] = f1
    members.balance[i] = f2
    members.length[0] = i + 1


@jit
def refresh(points, members):
    """Tables, cost and balance of every member from its labels, free of rounding drift."""
    shape = members.sums.shape[1:]
    centers, seen = np.empty(shape), np.empty(shape[0])
    for i in range(members.length[0]):
        member = view(members, members.slot[i], centers, seen)
        tabulate(points, member)
        members.cost[i] = cost(points, member)
        members.balance[i] = bottleneck(points, member)[0]
