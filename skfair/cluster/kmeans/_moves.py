"""Integer repair of unequal weights: moves of single samples, chosen by linear programs.

The dual of the fair assignment leaves clusters that miss their limits by a few samples. Its
multipliers give the reduced cost of every move of a sample to another cluster. A program over the
cheapest moves brings all clusters within their limits at once, where moves one by one would repair
a cluster at the expense of the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from skfair._kernels.kmeans import squared_distances
from skfair._kernels.limits import list_rows
from skfair._utils.programs import Program, Solution, solve_program
from skfair.cluster.kmeans._tables import intersection_offsets

if TYPE_CHECKING:
    from skfair.cluster.kmeans._problem import ClusteringProblem, MeasuredPoint


MARGIN = 1e-10  # of a mean weight, by which limits are kept: more than the rounding of sums


class MoveProgram(NamedTuple):
    """Moves, what they cost, and what they change in the limits of all clusters.

    Weights are in units of the mean weight, and costs in units of the mean cost of a sample.
    """

    samples: np.ndarray  # (n_moves,)
    goals: np.ndarray  # (n_moves,) the clusters that they join
    costs: np.ndarray  # (n_moves,)
    changes: sparse.csr_array  # (n_moves, n_clusters * n_rows)
    excess: np.ndarray  # (n_clusters, n_rows) of the rows of each cluster before the moves
    residual_cost: float  # of a unit of weight that a cluster still misses


def repair_by_moves(problem: ClusteringProblem, point: MeasuredPoint, level: float) -> np.ndarray:
    """Labels near those of a point that keep the limits at little cost, for unequal weights.

    Limits that no choice of the listed moves keeps may still be missed.
    """
    labels = point.labels.copy()
    rows, bounds = list_rows(problem.limits._replace(level=float(level)))
    excess = point.counts @ rows.T - bounds  # weight by which each cluster exceeds its limits
    # There is no program of more than 2,000 limits of all clusters.
    if point.dual is None or excess.size > 2000 or not (excess > 0).any():
        return labels
    largest_multiplier = max(array.max(initial=0.0) for array in point.dual.multipliers)
    program = make_move_program(problem, point, rows, excess, largest_multiplier)
    is_made = choose_moves(program)
    labels[program.samples[is_made]] = program.goals[is_made]
    members = np.bincount(labels, minlength=len(excess))
    if problem.background is not None:
        members = members + problem.background.sums[1]
    # Nothing in the program keeps the last member of a cluster.
    return labels if members.all() else point.labels.copy()


def make_move_program(
    problem: ClusteringProblem,
    point: MeasuredPoint,
    rows: np.ndarray,
    excess: np.ndarray,
    largest_multiplier: float,
) -> MoveProgram:
    """The program of the cheapest moves from a point whose counts exceed the bounds of rows."""
    labels = point.labels
    everyone = np.arange(len(labels))
    distances = squared_distances(problem.X, point.centers)
    if problem.unit_costs is not None:
        distances *= problem.unit_costs[:, np.newaxis]
    distances -= distances[everyone, labels][:, np.newaxis].copy()
    # The reduced cost of a move: its change of squared distance, and of the dual's offset.
    offsets = intersection_offsets(problem, point, len(problem.limits.intersections))
    offsets = offsets[:, problem.codes].T
    reduced_costs = distances + offsets - offsets[everyone, labels][:, np.newaxis]
    positions, goals = list_cheapest_moves(reduced_costs, labels, problem.codes)
    # Units: the mean weight, and the mean cost of a sample.
    unit = point.sizes.sum() / problem.n_samples
    if problem.unit_costs is not None:
        unit = point.counts.sum() / (problem.n_attributes * problem.n_samples)
    mean_cost = point.cost / problem.n_samples or 1.0
    weights = problem.weights[positions] / unit
    changes = (
        weights[:, np.newaxis]
        * rows.T[problem.limits.intersections].sum(axis=1)[problem.codes[positions]]
    )
    return MoveProgram(
        samples=positions,
        goals=goals,
        costs=problem.weights[positions] * distances[positions, goals] / mean_cost,
        changes=spread_changes(changes, labels[positions], goals, len(excess)),
        excess=excess / unit,
        # Ten times the largest multiplier, so that weights are missed only where they must be.
        residual_cost=10.0 * max(largest_multiplier * unit / mean_cost, 1.0),
    )


def spread_changes(
    changes: np.ndarray, starts: np.ndarray, goals: np.ndarray, n_clusters: int
) -> sparse.csr_array:
    """Changes of the rows by moves: added where a sample joins, subtracted where it leaves."""
    n_moves, n_rows = changes.shape
    rows = np.arange(n_rows)
    joined = (goals[:, np.newaxis] * n_rows + rows).ravel()
    left = (starts[:, np.newaxis] * n_rows + rows).ravel()
    moves = np.repeat(np.arange(n_moves), n_rows)
    values = np.append(changes.ravel(), -changes.ravel())
    places = np.append(moves, moves), np.append(joined, left)
    return sparse.csr_array((values, places), (n_moves, n_clusters * n_rows))


def list_cheapest_moves(
    reduced_costs: np.ndarray, labels: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Samples and goals of the cheapest moves to, and from, each cluster and intersection."""
    n_clusters = reduced_costs.shape[1]
    reduced_costs = reduced_costs.copy()
    reduced_costs[np.arange(len(labels)), labels] = np.inf
    cheapest = reduced_costs.argmin(axis=1)
    present = np.unique(codes)
    # About 4,000 moves are listed: 10, or 3 at least, to and from each cluster and intersection.
    n_listed = 4000 // (2 * n_clusters * len(present))
    n_listed = int(np.clip(n_listed, 3, 10))
    moves = []
    for code in present:
        members = np.flatnonzero(codes == code)
        for cluster in range(n_clusters):
            is_here = labels[members] == cluster
            joining = take_least(
                members[~is_here], reduced_costs[members[~is_here], cluster], n_listed
            )
            leaving = members[is_here]
            leaving = take_least(leaving, reduced_costs[leaving, cheapest[leaving]], n_listed)
            moves.append(joining * n_clusters + cluster)
            moves.append(leaving * n_clusters + cheapest[leaving])
    return np.divmod(np.unique(np.concatenate(moves)), n_clusters)


def take_least(positions: np.ndarray, reduced_costs: np.ndarray, n_taken: int) -> np.ndarray:
    """So many samples of least reduced cost, or all there are."""
    if len(positions) <= n_taken:
        return positions
    return positions[np.argpartition(reduced_costs, n_taken)[:n_taken]]


def choose_moves(program: MoveProgram) -> np.ndarray:
    """Which moves are made, (n_moves,) bool: the linear program, then searches near it.

    Branch and bound would take several times as long.
    """
    solved = solve_relaxation(program)
    if solved.unknowns is None:
        return np.zeros(len(program.samples), dtype=bool)
    n_moves = len(program.samples)
    # Fractions have no reduced cost. The other moves that cost little to change come next.
    reduced = np.abs(solved.reduced_costs)[:n_moves]
    # A search may change the 120 moves that cost least to change.
    near = take_least(np.arange(n_moves), reduced, 120)
    return search_patterns(program, solved.unknowns[:n_moves] > 0.5, near)


def solve_relaxation(program: MoveProgram) -> Solution:
    """Solve the linear program, of moves that may be made in part."""
    n_moves = len(program.samples)
    n_clusters, n_rows = program.excess.shape
    # Further unknowns: the weight that each cluster still misses, at a high cost.
    residual = sparse.kron(sparse.eye_array(n_clusters), np.full((n_rows, 1), -1.0))
    rows = sparse.hstack([program.changes.T, residual], format="csr")
    # Each sample moves once.
    moved, number = np.unique(program.samples, return_inverse=True)
    once = (np.ones(n_moves), (number, np.arange(n_moves)))
    once = sparse.csr_array(once, (len(moved), n_moves + n_clusters))
    return solve_program(
        Program(
            costs=np.append(program.costs, np.full(n_clusters, program.residual_cost)),
            rows=sparse.vstack([rows, once], format="csr"),
            low=-np.inf,
            high=np.append(-program.excess.ravel() - MARGIN, np.ones(len(moved))),
            largest=np.repeat([1.0, np.inf], [n_moves, n_clusters]),
        )
    )


def search_patterns(program: MoveProgram, is_made: np.ndarray, near: np.ndarray) -> np.ndarray:
    """The moves made after a search: all changes of a few moves at a time are compared."""
    is_made = is_made.copy()
    shape = program.excess.shape
    excess = program.excess + (program.changes.T @ is_made).reshape(shape)
    # All patterns of 11 moves are compared at once, of fewer moves where limits are many.
    n_patterns = max(200_000 // excess.size, 2)
    n_changed = min(11, int(np.log2(n_patterns)), len(near))
    patterns = (np.arange(2**n_changed)[:, np.newaxis] >> np.arange(n_changed)) & 1
    patterns = patterns.astype(np.float64)
    is_of_cluster = abs(program.changes[near]).toarray().reshape(-1, *shape).any(axis=2).T
    random_state = np.random.RandomState(0)
    n_failures = 0
    has_residual = True
    # A search ends after failures in a row, of more if it has not found moves that keep all limits.
    while n_failures < (60 if has_residual else 30):
        # All patterns of some moves that cost little to change, first those of one cluster.
        cluster = random_state.randint(shape[0])
        keys = random_state.uniform(size=len(near)) + ~is_of_cluster[cluster]
        changed = near[np.argsort(keys)[:n_changed]]
        signs = np.where(is_made[changed], -1.0, 1.0)
        changes = program.changes[changed].toarray() * signs[:, np.newaxis]
        is_touched = changes.any(axis=0).reshape(shape).any(axis=1)
        changes = changes.reshape(-1, *shape)[:, is_touched].reshape(n_changed, -1)
        after = (patterns @ changes).reshape(len(patterns), -1, shape[1]) + excess[is_touched]
        # What the worst row of each cluster still exceeds has a cost, and a fixed one in addition:
        # it takes a sample to repair it later.
        residual = np.maximum(after.max(axis=2) + MARGIN, 0.0)
        residual = (residual + (residual > 0.0)).sum(axis=1)
        costs = patterns @ (signs * program.costs[changed]) + program.residual_cost * residual
        # No sample moves twice.
        positions = program.samples[changed]
        n_moves = np.bincount(program.samples, is_made, minlength=positions.max() + 1)[positions]
        n_moves = n_moves + patterns @ (
            signs[:, np.newaxis] * (positions[:, np.newaxis] == positions)
        )
        costs[(n_moves > 1).any(axis=1)] = np.inf
        best = int(costs.argmin())
        n_failures += 1
        # Costs are in units of the mean cost of a sample.
        if costs[best] < costs[0] - 1e-6:
            n_failures = 0
            is_made[changed[patterns[best] > 0]] ^= True
            excess[is_touched] = after[best]
        has_residual = excess.max() + MARGIN > 0
    return is_made
