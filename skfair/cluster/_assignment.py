"""The cheapest assignment of samples to clusters within limits, by an integer program.

Samples of one intersection and one weight are of one type. The numbers of samples of each type
decide what a cluster keeps of its limits, so that they alone are integers in the program: with
these numbers the assignment is a transportation problem, whose vertices are integers.

Of many samples only those are decided on that the dual of the assignment leaves near a tie.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from skfair._groups.groups import count_table
from skfair._kernels.limits import allow_slack, find_memberships, list_rows
from skfair._utils.programs import Program, Solution, solve_program

if TYPE_CHECKING:
    from skfair._kernels.limits import Limits


N_PAIRS = 600, 6000  # of a sample and a cluster, among which programs choose: then more
MAX_NODES = 100  # of branch and bound
MAX_GAP = 1e-4  # of the costs above the cheapest clusters, up to which programs are solved
MAX_NUMBERS = 2000  # of types in clusters, up to which tables are searched
MAX_TABLE_NODES = 1000  # of branch and bound: without costs and pairs a node takes little time
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
    """Return the best assignment found: first by what it misses of the limits, then by its cost.

    ``offsets`` (n_clusters, n_intersections) are those of the dual.
    """
    nearest = problem.measure(problem.costs.argmin(axis=1))
    if nearest.keeps_limits and not nearest.uses_slack:
        return nearest
    reduced = problem.costs + offsets.T[problem.codes]
    reduced = problem.weights[:, np.newaxis] * (reduced - reduced.min(axis=1, keepdims=True))
    candidates = [nearest, problem.measure(reduced.argmin(axis=1))]
    # The limits; where nothing keeps them, a level up to its slack.
    loose = problem._replace(limits=problem.loose_limits)
    problems = (problem, loose) if problem.limits.level > 0 else (problem,)
    for one in problems:
        labels = keep_limits(one, reduced)
        if labels is not None:
            break
    else:
        labels = miss_least(make_pair_program(loose, reduced, N_PAIRS[-1]))
    if labels is not None:
        candidates.append(problem.measure(labels))
    return min(candidates, key=attrgetter("rank"))


def keep_limits(problem: AssignmentProblem, reduced: np.ndarray) -> np.ndarray | None:
    """Return labels of an assignment within the limits, (n_samples,); None if none is found.

    ``reduced`` (n_samples, n_clusters) are the reduced costs of pairs, at least 0.
    """
    # Pairs near a tie are enough where the dual is solved.
    labels = choose_pairs(make_pair_program(problem, reduced, N_PAIRS[0]))
    if labels is not None:
        return labels
    types, _ = find_types(problem.codes, problem.weights)
    table = find_table(problem.limits, types, problem.n_clusters)
    if table.status == "infeasible":
        return None
    if reduced.size > N_PAIRS[0]:
        labels = choose_pairs(make_pair_program(problem, reduced, N_PAIRS[1]))
    if labels is None and table.unknowns is not None:
        labels = assign_to_table(problem, np.round(table.unknowns))
    return labels


# The types of samples, and what their numbers have to keep.


class SampleTypes(NamedTuple):
    """The types of some samples, and how many there are of each."""

    codes: np.ndarray  # (n_types,) intp, intersections
    weights: np.ndarray  # (n_types,)
    numbers: np.ndarray  # (n_types,)

    @property
    def n_types(self) -> int:
        return len(self.codes)


class TypeRows(NamedTuple):
    """What the numbers of free samples of each type have to keep in every cluster."""

    loads: np.ndarray  # (n_rows, n_types) what a sample adds to each row, in a unit of weight
    bounds: np.ndarray  # (n_clusters, n_rows) of the rows, less what samples that stay add
    members: np.ndarray  # (1 + n_required, n_types) whether a sample is one of all, of each group
    least: np.ndarray  # (n_clusters, 1 + n_required) of such samples, besides those that stay


def find_types(codes: np.ndarray, weights: np.ndarray) -> tuple[SampleTypes, np.ndarray]:
    """Return the types of samples, and the type of each, (n_samples,)."""
    table, of_samples = np.unique(np.column_stack([codes, weights]), axis=0, return_inverse=True)
    of_samples = of_samples.ravel()
    numbers = np.bincount(of_samples, minlength=len(table))
    return SampleTypes(table[:, 0].astype(np.intp), table[:, 1], numbers), of_samples


def make_type_rows(
    limits: Limits, types: SampleTypes, unit: float, staying: np.ndarray, n_staying: np.ndarray
) -> TypeRows:
    """Return the limits as rows over numbers of types.

    ``staying`` and ``n_staying`` (n_clusters, n_intersections) are the weight and the number of
    samples that stay in every cluster.
    """
    memberships = find_memberships(limits)
    rows, bounds = list_rows(limits)
    required = limits.required & (limits.level > 0)
    is_member = np.column_stack([np.ones(len(memberships)), memberships[:, required] > 0])
    return TypeRows(
        loads=(rows @ memberships[types.codes].T) * (types.weights / unit),
        bounds=(bounds - staying @ memberships @ rows.T) / unit,
        members=is_member[types.codes].T,
        least=1.0 - n_staying @ is_member,
    )


# Tables of numbers, whatever they cost: they say whether limits can be kept.


def find_table(limits: Limits, types: SampleTypes, n_clusters: int) -> Solution:
    """Return numbers of every type in every cluster that keep the limits, (n_clusters * n_types,).

    "infeasible" shows that no assignment keeps the limits. Of many types nothing is searched.
    """
    n_numbers = n_clusters * types.n_types
    if n_numbers > MAX_NUMBERS:
        return Solution(None, "stopped", np.inf, np.inf)
    unit = types.numbers @ types.weights / types.numbers.sum()
    no_samples = np.zeros((n_clusters, len(limits.intersections)))
    of_types = make_type_rows(limits, types, unit, no_samples, no_samples)
    each = sparse.eye_array(n_clusters)
    by_type = sparse.kron(np.ones((1, n_clusters)), sparse.eye_array(types.n_types))
    rows = [by_type, sparse.kron(each, of_types.loads), sparse.kron(each, of_types.members)]
    n_bounds, n_least = of_types.bounds.size, of_types.least.size
    program = Program(
        costs=np.zeros(n_numbers),
        rows=sparse.vstack(rows, format="csr"),
        low=np.concatenate([types.numbers, np.full(n_bounds, -np.inf), of_types.least.ravel()]),
        high=np.concatenate([types.numbers, of_types.bounds.ravel(), np.full(n_least, np.inf)]),
        largest=np.tile(types.numbers, n_clusters),
        is_integer=True,
    )
    return solve_program(program, max_nodes=MAX_TABLE_NODES)


def are_infeasible(limits: Limits, slack: float, types: SampleTypes, n_clusters: int) -> bool:
    """Return whether it is shown that no clusters keep the limits, a level up to its slack."""
    loose = allow_slack(limits, slack, 0.0)
    return find_table(loose, types, n_clusters).status == "infeasible"


def assign_to_table(problem: AssignmentProblem, table: np.ndarray) -> np.ndarray:
    """Return the labels of least cost with such numbers of types, (n_samples,)."""
    types, of_samples = find_types(problem.codes, problem.weights)
    table = table.reshape(problem.n_clusters, types.n_types)
    labels = np.empty(len(problem.costs), dtype=np.int32)
    for number in range(types.n_types):
        samples = np.flatnonzero(of_samples == number)
        labels[samples] = transport(problem.costs[samples], table[:, number])
    return labels


def transport(costs: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return labels of least cost, ``costs`` (n_samples, n_clusters), that fill all places."""
    n_samples, n_clusters = costs.shape
    by_sample = sparse.kron(sparse.eye_array(n_samples), np.ones((1, n_clusters)))
    by_cluster = sparse.kron(np.ones((1, n_samples)), sparse.eye_array(n_clusters))
    totals = np.append(np.ones(n_samples), places)
    rows = sparse.vstack([by_sample, by_cluster], format="csr")
    rises = costs - costs.min(axis=1, keepdims=True)
    solution = solve_program(Program(rises.ravel(), rows, totals, totals))
    return solution.require_unknowns().reshape(costs.shape).argmax(axis=1)


# The program over pairs of a sample and a cluster.


class PairProgram(NamedTuple):
    """Pairs to choose from, numbers of samples of each type in every cluster, and what is missed.

    The unknowns are, in this order, the pairs, the numbers, the weights by which every cluster
    misses its rows, and which members it lacks.
    """

    labels: np.ndarray  # (n_samples,) of samples that stay, and the first ones of others
    samples: np.ndarray  # (n_pairs,)
    clusters: np.ndarray  # (n_pairs,)
    program: Program  # of least cost
    misses: np.ndarray  # (n_unknowns,) 1 of what is missed, 0 of pairs and numbers


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


def make_pair_program(problem: AssignmentProblem, reduced: np.ndarray, n_pairs: int) -> PairProgram:
    """Return the program over so many pairs of least reduced cost."""
    labels = reduced.argmin(axis=1)
    samples, clusters = list_free_pairs(reduced, labels, n_pairs)
    free, positions = np.unique(samples, return_inverse=True)
    types, of_free = find_types(problem.codes[free], problem.weights[free])
    staying = np.setdiff1d(np.arange(len(labels)), free)
    size = problem.n_clusters, len(problem.limits.intersections)
    weight_staying, n_staying = (
        count_table(labels[staying], problem.codes[staying], one, *size)
        for one in (problem.weights[staying], None)
    )
    unit = problem.weights.mean()
    of_types = make_type_rows(problem.limits, types, unit, weight_staying, n_staying)
    costs = problem.costs[free]
    rises = (costs - costs.min(axis=1, keepdims=True))[positions, clusters]
    rises = problem.weights[samples] * rises
    n_numbers = problem.n_clusters * types.n_types
    n_misses = of_types.bounds.size + of_types.least.size
    n_by_kind = [len(samples), n_numbers, n_misses]
    fixed = np.append(np.ones(len(free)), np.zeros(n_numbers))
    program = Program(
        costs=np.append(rises, np.zeros(n_numbers + n_misses)),
        rows=make_pair_rows(positions, clusters, of_free, of_types),
        low=np.concatenate([fixed, np.full_like(of_types.bounds, -np.inf), of_types.least], None),
        high=np.concatenate([fixed, of_types.bounds, np.full_like(of_types.least, np.inf)], None),
        largest=np.repeat([1.0, len(free), np.inf], n_by_kind),
        is_integer=np.repeat([False, True, False], n_by_kind),
    )
    misses = np.repeat([0.0, 0.0, 1.0], n_by_kind)
    return PairProgram(labels, samples, clusters, program, misses)


def make_pair_rows(
    positions: np.ndarray, clusters: np.ndarray, of_free: np.ndarray, of_types: TypeRows
) -> sparse.csr_array:
    """Return the rows of the program: one cluster per sample, numbers, limits, members.

    Pairs are those of the free samples at ``positions``, whose types are ``of_free`` (n_free,), and
    of ``clusters``, (n_pairs,) each.
    """
    n_clusters, n_types = len(of_types.bounds), of_types.loads.shape[1]
    n_pairs, n_free = len(positions), len(of_free)
    n_numbers = n_clusters * n_types
    pairs = np.arange(n_pairs)
    numbers = clusters * n_types + of_free[positions]
    ones = np.ones(n_pairs)
    by_sample = sparse.csr_array((ones, (positions, pairs)), (n_free, n_pairs))
    by_number = sparse.csr_array((ones, (numbers, pairs)), (n_numbers, n_pairs))
    each = sparse.eye_array(n_clusters)
    n_bounds, n_least = of_types.bounds.size, of_types.least.size
    return sparse.block_array(
        [
            [by_sample, None, None, None],
            [by_number, -sparse.eye_array(n_numbers), None, None],
            [None, sparse.kron(each, of_types.loads), -sparse.eye_array(n_bounds), None],
            [None, sparse.kron(each, of_types.members), None, sparse.eye_array(n_least)],
        ],
        format="csr",
    )


def choose_pairs(pairs: PairProgram, largest_violation: float = 0.0) -> np.ndarray | None:
    """Return labels of least cost that miss no more than so much, in mean weights; None: none."""
    program = pairs.program
    total = sparse.csr_array(pairs.misses[np.newaxis])
    program = program._replace(
        rows=sparse.vstack([program.rows, total], format="csr"),
        low=np.append(program.low, 0.0),
        high=np.append(program.high, largest_violation),
    )
    solution = solve_program(program, max_nodes=MAX_NODES, max_gap=MAX_GAP)
    return None if solution.unknowns is None else read_labels(pairs, solution.unknowns)


def miss_least(pairs: PairProgram) -> np.ndarray | None:
    """Return labels of the least cost among those that miss least of the limits; None: none."""
    program = pairs.program._replace(costs=pairs.misses)
    least = solve_program(program, max_nodes=MAX_NODES, max_gap=MAX_GAP)
    if least.unknowns is None:
        return None
    largest_violation = least.cost * (1 + 1e-6) + 1e-6  # what HiGHS allows for rounding
    cheapest = choose_pairs(pairs, largest_violation)
    return read_labels(pairs, least.unknowns) if cheapest is None else cheapest


def read_labels(pairs: PairProgram, unknowns: np.ndarray) -> np.ndarray:
    """Labels of all samples, from the unknowns."""
    labels = pairs.labels.copy()
    is_chosen = unknowns[: len(pairs.samples)] > 0.5
    labels[pairs.samples[is_chosen]] = pairs.clusters[is_chosen]
    return labels
