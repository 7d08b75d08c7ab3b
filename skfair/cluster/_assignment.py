"""The cheapest assignment of samples to clusters within limits, by an integer program.

Samples of one intersection and one weight are of one type. The numbers of samples of each type
decide what a cluster keeps of its limits, so that they alone are integers in the program: with
these numbers the assignment is a transportation problem, whose vertices are integers.

Of many samples only those are decided on that the dual of the assignment leaves near a tie.
"""

from __future__ import annotations

from itertools import product
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import optimize, sparse

from skfair._groups.groups import count_table
from skfair._kernels.limits import allow_slack, find_memberships, list_rows

if TYPE_CHECKING:
    from skfair._kernels.limits import Limits


N_PAIRS = 600, 6000  # of a sample and a cluster, among which programs choose: then more
MAX_NODES = 50  # of branch and bound
MAX_GAP = 1e-4  # of the costs above the cheapest clusters, up to which programs are solved
ROUNDING = 1e-9  # of the total weight, in sums of weights


class Assignment(NamedTuple):
    """Labels, and what they are judged by: first what they miss, then what they cost."""

    labels: np.ndarray  # (n_samples,) int32
    n_empty: int  # number of clusters without a sample, or without a required group
    violation: float  # weight by which limits are missed, beyond the slack of a level
    uses_slack: bool  # whether a level is missed by any weight
    cost: float

    @property
    def rank(self) -> tuple[float, ...]:
        """The smaller of two assignments is the better one."""
        return self[1:]

    @property
    def keeps_limits(self) -> bool:
        """Whether all limits are kept, a level up to its slack."""
        return self.n_empty == 0 and self.violation == 0


class AssignmentProblem(NamedTuple):
    """Samples, what a unit of their weight costs in every cluster, and limits on the clusters."""

    costs: np.ndarray  # (n_samples, n_clusters)
    weights: np.ndarray  # (n_samples,) positive
    codes: np.ndarray  # (n_samples,) intp, intersections of the limits
    limits: Limits
    slack: float  # weight of the lightest member, by which the level may be missed

    @property
    def n_clusters(self) -> int:
        return self.costs.shape[1]

    @property
    def loose_limits(self) -> Limits:
        """The limits, whose level may be missed by the slack."""
        return allow_slack(self.limits, self.slack, 0.0)

    def measure(self, labels: np.ndarray) -> Assignment:
        """The labels with what they miss and cost."""
        limits = self.limits
        n_codes = len(limits.intersections)
        by_code = count_table(labels, self.codes, self.weights, self.n_clusters, n_codes)
        counts = by_code @ find_memberships(limits)
        total = by_code.sum()
        violation, exactly = (
            _cut_rounding(counts @ rows.T - bounds, total).sum()
            for rows, bounds in (list_rows(self.loose_limits), list_rows(limits))
        )
        is_empty = by_code.sum(axis=1) == 0
        if limits.level > 0:
            is_empty |= (counts[:, limits.required] == 0).any(axis=1)
        cost = self.weights @ self.costs[np.arange(len(labels)), labels]
        labels = labels.astype(np.int32)
        return Assignment(labels, int(is_empty.sum()), float(violation), bool(exactly), float(cost))


def _cut_rounding(excess: np.ndarray, total: float) -> np.ndarray:
    """Excesses that are positive and no rounding of sums; 0 for others."""
    return np.where(excess > ROUNDING * total, excess, 0.0)


def assign_samples(problem: AssignmentProblem, offsets: np.ndarray) -> Assignment:
    """The best assignment found: first by what it misses of the limits, then by its cost.

    ``offsets`` (n_clusters, n_intersections) are those of the dual.
    """
    nearest = problem.measure(problem.costs.argmin(axis=1))
    if nearest.keeps_limits and not nearest.uses_slack:
        return nearest
    reduced = problem.costs + offsets.T[problem.codes]
    reduced = problem.weights[:, np.newaxis] * (reduced - reduced.min(axis=1, keepdims=True))
    best = min(nearest, problem.measure(reduced.argmin(axis=1)), key=attrgetter("rank"))
    # The limits, then a level up to its slack; of few pairs, then of more.
    loose = problem._replace(limits=problem.loose_limits)
    problems = (problem, loose) if problem.limits.level > 0 else (problem,)
    numbers = N_PAIRS if reduced.size > N_PAIRS[0] else N_PAIRS[:1]
    for n_pairs, one in product(numbers, problems):
        program = make_program(one, reduced, n_pairs)
        unknowns = solve_program(program, program.costs, 0.0)
        if unknowns is not None:
            break
    else:
        unknowns = miss_least(program)
    if unknowns is None:
        return best
    return min(best, problem.measure(read_labels(program, unknowns)), key=attrgetter("rank"))


# The program.


class TypeRows(NamedTuple):
    """What the numbers of free samples of each type have to keep in every cluster."""

    loads: np.ndarray  # (n_rows, n_types) what a sample adds to each row, in mean weights
    bounds: np.ndarray  # (n_clusters, n_rows) of the rows, less what samples that stay add
    members: np.ndarray  # (1 + n_required, n_types) whether a sample is one of all, of each group
    least: np.ndarray  # (n_clusters, 1 + n_required) of such samples, besides those that stay


class Program(NamedTuple):
    """Pairs to choose from, numbers of samples of each type in every cluster, and what is missed.

    Its unknowns are, in this order, the pairs, the numbers, the weights by which every cluster
    misses its rows, and which members it lacks.
    """

    labels: np.ndarray  # (n_samples,) of samples that stay, and the first ones of others
    samples: np.ndarray  # (n_pairs,)
    clusters: np.ndarray  # (n_pairs,)
    costs: np.ndarray  # (n_unknowns,) of pairs, in units of their median
    misses: np.ndarray  # (n_unknowns,) 1 of what is missed, 0 of pairs and numbers
    most: np.ndarray  # (n_unknowns,) upper bounds
    integrality: np.ndarray  # (n_unknowns,) 1 of the numbers
    matrix: sparse.csr_array  # (n_constraints, n_unknowns)
    low: np.ndarray  # (n_constraints,)
    high: np.ndarray  # (n_constraints,)


def list_free_pairs(
    reduced: np.ndarray, labels: np.ndarray, n_pairs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Samples and clusters of the pairs of least reduced cost; samples with a single one stay."""
    everyone = np.arange(len(labels))
    others = reduced.copy()
    others[everyone, labels] = np.inf
    is_free = np.isfinite(others)
    if others.size > n_pairs:
        is_free &= others <= np.partition(others, n_pairs, axis=None)[n_pairs]
    is_free[everyone, labels] = is_free.any(axis=1)
    samples, clusters = np.nonzero(is_free)
    return samples, clusters


def make_type_rows(
    problem: AssignmentProblem, types: np.ndarray, labels: np.ndarray, staying: np.ndarray
) -> TypeRows:
    """The limits as rows over numbers of types (n_types, 2): their intersections and weights."""
    limits = problem.limits
    memberships = find_memberships(limits)
    weights, members = (
        count_table(
            labels[staying], problem.codes[staying], one, problem.n_clusters, len(memberships)
        )
        for one in (problem.weights[staying], None)
    )
    rows, bounds = list_rows(limits)
    unit = problem.weights.mean()
    required = limits.required & (limits.level > 0)
    is_member = np.column_stack([np.ones(len(memberships)), memberships[:, required] > 0])
    codes = types[:, 0].astype(np.intp)
    return TypeRows(
        loads=(rows @ memberships[codes].T) * (types[:, 1] / unit),
        bounds=(bounds - weights @ memberships @ rows.T) / unit,
        members=is_member[codes].T,
        least=1.0 - members @ is_member,
    )


def make_program(problem: AssignmentProblem, reduced: np.ndarray, most: int) -> Program:
    """The program over so many pairs of least reduced cost."""
    labels = reduced.argmin(axis=1)
    samples, clusters = list_free_pairs(reduced, labels, most)
    free, positions = np.unique(samples, return_inverse=True)
    staying = np.setdiff1d(np.arange(len(labels)), free)
    types, type_of = np.unique(
        np.column_stack([problem.codes[free], problem.weights[free]]), axis=0, return_inverse=True
    )
    of_types = make_type_rows(problem, types, labels, staying)
    # Every free sample has one cluster; pairs add up to numbers, and numbers keep the rows.
    n_pairs, n_numbers = len(samples), problem.n_clusters * len(types)
    pairs = np.arange(n_pairs)
    numbers = clusters * len(types) + type_of[positions]
    by_sample, by_number = (
        sparse.csr_array((np.ones(n_pairs), (rows, pairs)), (n_rows, n_pairs))
        for rows, n_rows in ((positions, len(free)), (numbers, n_numbers))
    )
    each = sparse.eye_array(problem.n_clusters)
    n_bounds, n_least = of_types.bounds.size, of_types.least.size
    matrix = sparse.block_array(
        [
            [by_sample, None, None, None],
            [by_number, -sparse.eye_array(n_numbers), None, None],
            [None, sparse.kron(each, of_types.loads), -sparse.eye_array(n_bounds), None],
            [None, sparse.kron(each, of_types.members), None, sparse.eye_array(n_least)],
        ],
        format="csr",
    )
    fixed = np.append(np.ones(len(free)), np.zeros(n_numbers))
    costs = problem.costs[free]
    rises = (costs - costs.min(axis=1, keepdims=True))[positions, clusters]
    rises = problem.weights[samples] * rises
    n_misses = n_bounds + n_least
    n_by_kind = [n_pairs, n_numbers, n_misses]
    return Program(
        labels=labels,
        samples=samples,
        clusters=clusters,
        costs=np.append(rises / _median_of_positive(rises), np.zeros(n_numbers + n_misses)),
        misses=np.repeat([0.0, 0.0, 1.0], n_by_kind),
        most=np.repeat([1.0, len(free), np.inf], n_by_kind),
        integrality=np.repeat([0, 1, 0], n_by_kind),
        matrix=matrix,
        low=np.concatenate([fixed, np.full(n_bounds, -np.inf), of_types.least.ravel()]),
        high=np.concatenate([fixed, of_types.bounds.ravel(), np.full(n_least, np.inf)]),
    )


def _median_of_positive(values: np.ndarray) -> float:
    """Median of the positive values; 1 without any."""
    return float(np.median(values[values > 0])) if (values > 0).any() else 1.0


def solve_program(
    program: Program, objective: np.ndarray, largest_violation: float
) -> np.ndarray | None:
    """Unknowns of the least objective that miss no more than so much; None if not found."""
    rows = sparse.vstack([program.matrix, sparse.csr_array(program.misses[np.newaxis])])
    low = np.append(program.low, 0.0)
    high = np.append(program.high, largest_violation)
    return optimize.milp(
        objective,
        integrality=program.integrality,
        bounds=optimize.Bounds(0, program.most),
        constraints=optimize.LinearConstraint(rows, low, high),
        options={"node_limit": MAX_NODES, "mip_rel_gap": MAX_GAP},
    ).x


def read_labels(program: Program, unknowns: np.ndarray) -> np.ndarray:
    """Labels of all samples, from the unknowns."""
    labels = program.labels.copy()
    is_chosen = unknowns[: len(program.samples)] > 0.5
    labels[program.samples[is_chosen]] = program.clusters[is_chosen]
    return labels


def miss_least(program: Program) -> np.ndarray | None:
    """Unknowns of the least cost among those that miss least of the limits; None if not found."""
    least = solve_program(program, program.misses, np.inf)
    if least is None:
        return None
    violation = program.misses @ least
    largest_violation = violation * (1 + 1e-6) + 1e-6  # what HiGHS allows for rounding
    cheapest = solve_program(program, program.costs, largest_violation)
    return least if cheapest is None else cheapest
