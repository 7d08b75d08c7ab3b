"""Orders of the documents of queries under bounds on group counts among the first ranks.

`read_bounds` turns the numbers and shares that users pass into a `PrefixBound` for each group.
`merge_lists` serves numbers of groups that do not overlap. Other bounds need `find_best_ranks`: the
documents of an intersection of the bounded groups rank by score, so that an order is a path of
counts by intersection. A dynamic program finds the best path, and an integer program serves where
there are too many counts.
"""

from __future__ import annotations

import math
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from skfair._kernels.prefix_counts import count_states, find_best_order
from skfair._utils.checks import argument_error, closest_name_hint, is_int, join_names, warn
from skfair.exceptions import InfeasibleConstraintWarning

if TYPE_CHECKING:
    from skfair._groups import Groups

_MAX_STATES = 5_000_000
"""Counts of documents by intersection that a search visits, in about .6 s."""

_PROGRAM_SECONDS = 60.0
"""Time for the integer programs of a query, before the best order so far is returned."""

_MAX_STEP_RATIO = 1e6
"""Largest step between two scores, relative to the sum of all smaller steps.

Larger steps are shortened, so that the digits of a sum tell the other scores apart.
"""

_INFEASIBLE = 2
"""Status of a program without a solution."""

_MAX_COST = 1e4
"""Largest cost of a program. HiGHS loses differences of costs below 1e-7."""


# Bounds: numbers and shares that users pass.


class PrefixBound(NamedTuple):
    """Bounds on the number of documents of one group in each prefix of the first k ranks."""

    attribute: Any  # None for a group
    name: Any
    is_member: np.ndarray  # (n_documents,)
    low: np.ndarray  # (k,)
    high: np.ndarray  # (k,)
    has_prefixes: bool

    def restrict(self, rows: np.ndarray) -> PrefixBound:
        """Return the bounds on the documents of one query."""
        return self._replace(is_member=self.is_member[rows])

    def keeps(self, ranks: np.ndarray, k: int) -> bool:
        """Return whether the first k ranks of one query keep the bounds."""
        counts = np.bincount(ranks[self.is_member] - 1, minlength=k)[:k].cumsum()
        return bool(((self.low[:k] <= counts) & (counts <= self.high[:k])).all())


class _Numbers(NamedTuple):
    """Minimum or maximum numbers of documents of one group."""

    by_prefix: np.ndarray  # (k,)
    are_listed: bool  # whether a list was passed


def read_bounds(groups: Groups, minimum: dict, maximum: dict, k: int) -> list[PrefixBound]:
    """Return the bounds of all groups that have any; raise for those that no ranking keeps."""
    low = _read_numbers("minimum", minimum, k)
    high = _read_numbers("maximum", maximum, k)
    bounds = []
    for key in dict.fromkeys([*low, *high]):
        attribute, name = key
        is_member = _find_members(groups, attribute, name)
        lows = low.get(key, _Numbers(np.zeros(k, dtype=int), False))
        highs = high.get(key, _Numbers(np.full(k, k), False))
        exceeds = lows.by_prefix > highs.by_prefix
        if exceeds.any():
            limit = "maximum" if key in high else f"k={k}"
            raise argument_error(
                f"minimum must not exceed {limit}, but does for {name!r}: "
                f"{lows.by_prefix[exceeds][0]} and {highs.by_prefix[exceeds][0]}. Lower the one, "
                "or raise the other."
            )
        bounds.append(
            PrefixBound(
                attribute=attribute,
                name=name,
                is_member=is_member,
                low=lows.by_prefix,
                high=highs.by_prefix,
                has_prefixes=lows.are_listed or highs.are_listed,
            )
        )
    _check_sums_of_minima(low, k)
    return bounds


def _find_members(groups: Groups, attribute: Any, name: Any) -> np.ndarray:
    """Return whether each document is of a group, (n_documents,); raise if none is.

    Without an attribute, the name is a group. With one, it is a value of the attribute.
    """
    attributes = groups.attributes or ()
    if attribute is None:
        what = "groups of sensitive_features"
        names: list[Any] = list(groups.names)
    elif attribute in attributes:
        what = f"values of {attribute!r}"
        names = groups.labels[:, [*attributes].index(attribute)].tolist()
    else:
        raise argument_error(
            f"minimum and maximum must name attributes of sensitive_features, {[*attributes]}, "
            f"where they hold dicts by group, but name {attribute!r}."
        )
    is_name = np.array([one == name for one in names], dtype=bool)
    if not is_name.any():
        known = list(dict.fromkeys(names))
        raise argument_error(
            f"minimum and maximum must name {what}, but no document has {name!r}; there are "
            f"{join_names(map(repr, known))}.{closest_name_hint(name, known)} Correct the name, or "
            "leave it out."
        )
    return is_name[groups.codes]


def _read_numbers(
    argument: Literal["minimum", "maximum"], numbers: dict, k: int
) -> dict[tuple[Any, Any], _Numbers]:
    """Return the numbers for every prefix by attribute (None for groups) and group."""
    if not isinstance(numbers, dict):
        raise argument_error(
            f"{argument} must be a dict of numbers or shares of documents by group, such as "
            f"{{'b': 1}} or {{'b': 0.4}}; got {numbers!r}."
        )
    by_group = {}
    for name, value in numbers.items():
        if not isinstance(value, dict):
            by_group[None, name] = _read_number(argument, name, value, k)
            continue
        for label, number in value.items():
            by_group[name, label] = _read_number(argument, label, number, k)
    return by_group


def _read_number(
    argument: Literal["minimum", "maximum"], name: Any, value: Any, k: int
) -> _Numbers:
    """Return the numbers of one group: from one for all first k ranks, a share, or a list.

    For k = 10 a minimum share of .25 is 3 documents, and a maximum share of .25 is 2.
    """
    # What bounds no prefix but the last one.
    absent = {"minimum": 0, "maximum": k}[argument]
    if is_int(value, 0):
        return _Numbers(np.append(np.full(k - 1, absent), value), False)
    if isinstance(value, float) and 0.0 <= value <= 1.0:
        # A product such as .55 * 20 = 11.000000000000002 is a whole number.
        number = round(value * k, 9)
        n_documents = math.ceil(number) if argument == "minimum" else math.floor(number)
        return _Numbers(np.append(np.full(k - 1, absent), n_documents), False)
    is_list = isinstance(value, list | tuple | np.ndarray) and len(value) == k
    if not is_list or not all(is_int(one, 0) for one in value):
        raise argument_error(
            f"{argument} must be a dict by group of numbers of documents, such as {{'b': 1}}, of "
            "shares of the first k ranks from 0.0 to 1.0, such as {'b': 0.4}, or of lists of a "
            f"number for each of the first k={k} prefixes; got {value!r} for {name!r}."
        )
    return _Numbers(np.array(value, dtype=int), True)


def _check_sums_of_minima(low: dict[tuple[Any, Any], _Numbers], k: int) -> None:
    """Raise if the minimum numbers of the groups of an attribute exceed a prefix together."""
    for attribute in {attribute for attribute, _ in low}:
        of_groups = [numbers for (one, _), numbers in low.items() if one == attribute]
        total = np.sum([numbers.by_prefix for numbers in of_groups], axis=0)  # (k,)
        are_listed = any(numbers.are_listed for numbers in of_groups)
        limits = np.arange(1, k + 1) if are_listed else np.full(k, k)
        if (total > limits).any():
            at = np.flatnonzero(total > limits)[0]
            raise argument_error(
                "minimum must be numbers of which the sum is at most that of the ranks, but there "
                f"is a sum of {total[at]} for {limits[at]} ranks; the sum is at most k={k}, and "
                "shares are rounded up. Lower them, or raise k."
            )


# Orders.


def rank_within(codes: tuple[np.ndarray, ...], *keys: np.ndarray) -> np.ndarray:
    """Return the rank of each document among those of equal codes, from 1 on.

    The last key comes first, and documents of equal keys rank in the order of the rows.
    """
    order = np.lexsort((*keys, *codes))
    is_first = np.any([np.diff(one[order], prepend=-1) != 0 for one in codes], axis=0)
    positions = np.arange(len(order))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = 1 + positions - np.maximum.accumulate(positions * is_first)
    return ranks


def are_disjoint(bounds: list[PrefixBound]) -> bool:
    """Return whether all bounds are numbers for all first k ranks, of groups without overlap."""
    attributes = {one.attribute for one in bounds}
    return len(attributes) <= 1 and not any(one.has_prefixes for one in bounds)


def merge_lists(
    costs: np.ndarray, query: np.ndarray, bounds: list[PrefixBound], k: int
) -> np.ndarray:
    """Return whether each document is among the first k of its query, under disjoint bounds.

    The lists of the groups, each by cost, are merged: at first as many documents of each group as
    it requires, at last those above a maximum.
    """
    group = np.zeros(len(costs), dtype=int)  # 0 for all groups without bounds
    required = np.zeros(len(costs), dtype=int)
    allowed = np.full(len(costs), len(costs))
    for number, one in enumerate(bounds, 1):
        group[one.is_member] = number
        required[one.is_member] = one.low[-1]
        allowed[one.is_member] = one.high[-1]
    place = rank_within((query, group), costs)
    return rank_within((query,), costs, place > allowed, place > required) <= k


def find_best_ranks(costs: np.ndarray, bounds: list[PrefixBound], k: int) -> np.ndarray:
    """Return the ranks of the documents of one query, (n_documents,), from 1 on.

    The first k have the fewest misses of the bounds, and then the largest sum of score times
    attention. `costs` are negative scores.
    """
    n_ranks = min(k, len(costs))
    one_query = (np.zeros(len(costs), dtype=int),)
    by_score = rank_within(one_query, costs)
    if all(one.keeps(by_score, n_ranks) for one in bounds):
        return by_score
    lists = _IntersectionLists.make(costs, bounds, n_ranks)
    attention = 1.0 / np.log2(2.0 + np.arange(n_ranks))
    n_states = count_states(lists.sizes, n_ranks)[0].sum()
    if n_states <= _MAX_STATES:
        intersections = find_best_order(
            lists.scores, lists.sizes, attention, lists.is_member, lists.low, lists.high
        )
    else:
        intersections = _solve_programs(lists, attention)
    # The documents of each intersection take its ranks by score.
    places = rank_within((intersections,), np.arange(n_ranks)) - 1
    first = np.full(len(costs), n_ranks)
    first[lists.rows[intersections, places]] = np.arange(n_ranks)
    return rank_within(one_query, costs, first)


class _IntersectionLists(NamedTuple):
    """Documents of one query by intersection of the bounded groups.

    Documents of an intersection count in the same bounds. They rank by score, those of equal scores
    by row. Only its first k can be among the first k of the query.
    """

    rows: np.ndarray  # (n_intersections, k) row of the 1st, 2nd, ... document
    scores: np.ndarray  # (n_intersections, k), without large steps
    sizes: np.ndarray  # (n_intersections,) number of documents, at most k
    is_member: np.ndarray  # (n_bounds, n_intersections)
    low: np.ndarray  # (n_bounds, k)
    high: np.ndarray  # (n_bounds, k)

    @classmethod
    def make(cls, costs: np.ndarray, bounds: list[PrefixBound], k: int) -> _IntersectionLists:
        """Return the lists of the documents of a query under bounds."""
        of_documents = np.array([one.is_member for one in bounds])
        is_member, codes = np.unique(of_documents, axis=1, return_inverse=True)
        codes = codes.ravel()
        places = rank_within((codes,), costs) - 1
        candidates = np.flatnonzero(places < k)
        at = codes[candidates], places[candidates]
        rows = np.zeros((is_member.shape[1], k), dtype=np.int64)
        rows[at] = candidates
        scores = np.zeros(rows.shape)
        scores[at] = _shorten_steps(-costs[candidates])
        return cls(
            rows=rows,
            scores=scores,
            sizes=np.bincount(codes[candidates]),
            is_member=is_member,
            low=np.array([one.low[:k] for one in bounds]),
            high=np.array([one.high[:k] for one in bounds]),
        )


def _shorten_steps(scores: np.ndarray) -> np.ndarray:
    """Return scores without large steps between neighbours, and unchanged if there are none.

    A step that exceeds the sum of all smaller ones by far decides between two orders before the
    others do, however large it is: the scores 1, .5 and -1e12 become 0, -.5 and -5e5.
    """
    if np.abs(scores).max() > 1e280:
        scores = np.ldexp(scores, -64)  # the range must be a number, too
    values, codes = np.unique(scores, return_inverse=True)
    steps = np.diff(values)
    order = np.argsort(steps)
    smaller = np.cumsum(steps[order]) - steps[order]
    if not (steps[order] > _MAX_STEP_RATIO * smaller)[1:].any():
        return scores
    total = 0.0
    for step in order:
        if total > 0.0:
            steps[step] = min(steps[step], _MAX_STEP_RATIO * total)
        total += steps[step]
    # Sums from the best score downwards, since the best ones are among the first k.
    below_best = np.append(np.cumsum(steps[::-1])[::-1], 0.0)
    return -below_best[codes]


# The integer program of documents and ranks, where there are too many counts to visit.


class _Program(NamedTuple):
    """Documents at ranks: 0 or 1 for each pair, then what each prefix of a bound misses."""

    intersection: np.ndarray  # (n_pairs,)
    place: np.ndarray  # (n_pairs,) in the list of the intersection
    rank: np.ndarray  # (n_pairs,) from 0 on
    constraints: list[optimize.LinearConstraint]
    n_misses: int  # variables of what counts lack, and of what is too much

    def minimize(
        self, costs: np.ndarray, reached: list[optimize.LinearConstraint], seconds: float
    ) -> optimize.OptimizeResult:
        """Solve the program for costs of all variables, at objectives that are reached already."""
        is_pair = np.arange(len(costs)) < len(self.rank)
        return optimize.milp(
            costs,
            integrality=is_pair,
            bounds=optimize.Bounds(0.0, np.where(is_pair, 1.0, np.inf)),
            constraints=[*self.constraints, *reached],
            options={"mip_rel_gap": 0.0, "time_limit": seconds},
        )


def _make_program(lists: _IntersectionLists) -> _Program:
    """Return the constraints: one rank for a document, one document for a rank, and the bounds."""
    n_lists, k = lists.rows.shape
    # A pair is a document that may have a rank: the i-th of a list cannot rank above i.
    is_document = np.arange(k) < lists.sizes[:, np.newaxis]  # (n_lists, k)
    is_pair = is_document[..., np.newaxis] & np.tri(k, dtype=bool).T  # (n_lists, k, k)
    intersection, place, rank = np.nonzero(is_pair)
    pairs = np.arange(len(rank))
    ones = np.ones(len(rank))
    one_document = sparse.csr_array(
        (ones, (intersection * k + place, pairs)), shape=(n_lists * k, len(rank))
    )
    one_rank = sparse.csr_array((ones, (rank, pairs)), shape=(k, len(rank)))
    # The counts of a prefix, plus what they lack, minus the excess, keep its bounds.
    in_prefixes = sparse.csr_array(np.tri(k)) @ one_rank  # (k, n_pairs)
    counts = sparse.vstack([in_prefixes.multiply(row[intersection]) for row in lists.is_member])
    lacking = sparse.eye_array(lists.low.size)
    n_misses = 2 * lists.low.size
    assignment = sparse.hstack(
        (sparse.vstack((one_document, one_rank)), sparse.csr_array((n_lists * k + k, n_misses)))
    )
    return _Program(
        intersection=intersection,
        place=place,
        rank=rank,
        constraints=[
            optimize.LinearConstraint(assignment, np.repeat([0.0, 1.0], [n_lists * k, k]), 1.0),
            optimize.LinearConstraint(
                sparse.hstack((counts, lacking, -lacking)), lists.low.ravel(), lists.high.ravel()
            ),
        ],
        n_misses=n_misses,
    )


def _solve_programs(lists: _IntersectionLists, attention: np.ndarray) -> np.ndarray:
    """Return the intersection of the document at each rank, (k,), by integer programs.

    Each of them finds the smallest loss by steps of scores of one magnitude, among the orders that
    the programs before leave. If no order keeps the bounds, one program before them finds the
    fewest misses.
    """
    program = _make_program(lists)
    misses = np.append(np.zeros(len(program.rank)), np.ones(program.n_misses))
    losses = [
        np.append(
            of_documents[program.intersection, program.place] * attention[program.rank],
            np.zeros(program.n_misses),
        )
        for of_documents in _split_losses(lists)
    ]
    deadline = monotonic() + _PROGRAM_SECONDS
    objectives = losses
    reached = [_limit_costs(misses, 0.0)]
    keeps_bounds = True
    best = None
    while objectives:
        costs, *objectives = objectives
        solved = program.minimize(costs, reached, max(deadline - monotonic(), 0.0))
        if keeps_bounds and solved.status == _INFEASIBLE:
            objectives = [misses, *losses]
            reached = []
            keeps_bounds = False
            continue
        if solved.x is not None:
            best = solved.x[: len(program.rank)] > 0.5
        if solved.status != 0:
            _warn_of_stopped_program(solved, costs is misses)
            break
        reached.append(_limit_costs(costs, np.rint(solved.fun) if costs is misses else solved.fun))
    if best is None:
        raise RuntimeError(
            f"No ranking of {lists.sizes.sum()} documents was found in {_PROGRAM_SECONDS:g} s. "
            "Bound fewer groups, or pass a smaller k."
        )
    intersections = np.empty(len(attention), dtype=np.int64)
    intersections[program.rank[best]] = program.intersection[best]
    return intersections


def _limit_costs(costs: np.ndarray, limit: float) -> optimize.LinearConstraint:
    """Return the row that bounds the costs of a solution from above."""
    return optimize.LinearConstraint(costs[np.newaxis], -np.inf, limit)


def _split_losses(lists: _IntersectionLists) -> list[np.ndarray]:
    """Return losses against the best score by steps of one magnitude, the largest steps first.

    Each of the arrays is (n_intersections, k), and its largest loss is `_MAX_COST`. The scores 0,
    -.5 and -5e5 have two: 0, 0 and 1e4 by the large step, 0, 1e4 and 1e4 by the small one.
    """
    is_document = np.arange(lists.scores.shape[1]) < lists.sizes[:, np.newaxis]
    values, codes = np.unique(lists.scores[is_document], return_inverse=True)
    steps = np.diff(values)
    order = np.argsort(steps)
    smaller = np.cumsum(steps[order]) - steps[order]
    begins = (steps[order] > _MAX_COST * smaller) & (smaller > 0.0)
    magnitude = np.empty(len(steps), dtype=int)
    magnitude[order] = np.cumsum(begins)
    if not len(steps):  # all scores are equal
        return [np.zeros(lists.scores.shape)]
    losses = []
    for one in range(magnitude.max(), -1, -1):
        of_magnitude = np.where(magnitude == one, steps, 0.0)
        below_best = np.append(np.cumsum(of_magnitude[::-1])[::-1], 0.0)
        by_list = np.zeros(lists.scores.shape)
        by_list[is_document] = below_best[codes] * (_MAX_COST / below_best[0])
        losses.append(by_list)
    return losses


def _warn_of_stopped_program(solved: optimize.OptimizeResult, counts_misses: bool) -> None:
    """Warn that a program was stopped, which minimises misses of bounds or a loss."""
    if solved.x is None:
        state = "some orders were not compared by score"
    elif counts_misses:
        state = "bounds may be missed by less, and orders were not compared by score"
    else:
        state = (
            f"another order may lose {100 * solved.mip_gap:.2g} % less of score times attention, "
            "compared with the best score at all ranks"
        )
    warn(
        f"The best ranking within the bounds was not found in {_PROGRAM_SECONDS:g} s: {state}. "
        "Bound fewer groups, or pass a smaller k.",
        ConvergenceWarning,
    )


# Warnings of bounds that are missed.


def warn_of_infeasible_queries(query: Groups, ranks: np.ndarray, bounds: list[PrefixBound]) -> None:
    """Warn of queries whose documents cannot keep the bounds, once for each of the groups."""
    statements: dict[Any, str] = {}
    for one in bounds:
        prefixes = np.arange(len(one.low)) if one.has_prefixes else [len(one.low) - 1]
        for prefix in prefixes:
            inside = one.is_member & (ranks <= prefix + 1)
            counts = np.bincount(query.codes[inside], minlength=len(query.names))
            is_outside = (counts < one.low[prefix]) | (counts > one.high[prefix])
            for q in np.flatnonzero(is_outside).tolist():
                side = "at least" if counts[q] < one.low[prefix] else "at most"
                limit = one.low[prefix] if side == "at least" else one.high[prefix]
                statements.setdefault(
                    (q, one.attribute, one.name),
                    f"{query.names[q]!r} has {counts[q]} of {one.name!r} among the first "
                    f"{prefix + 1}, where {side} {limit} are required",
                )
    if statements:
        warn(
            "minimum and maximum cannot be kept by the documents of all queries: "
            f"{join_names(statements.values())}. They are missed by as little as possible.",
            InfeasibleConstraintWarning,
        )
