"""Whether any decisions keep a list of constraints, by out-of-fold probabilities.

For decisions d(x) in [0, 1] the expected counts of groups are linear in d. So are bounds on rates
whose denominators do not depend on decisions, and bounds ``low <= N / D <= high`` on other rates
are ``low D <= N <= high D``. The smallest violation of a list is a linear program, whose
multipliers are positive where its bounds conflict. Parity of quotients is linear once the smallest
of them is fixed: it is searched for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag

from skfair._bound.bound import ConstraintSystem
from skfair._fitting.fitter import search_lines
from skfair._fitting.guarantee import Guarantee
from skfair._postprocessing.events import (
    fit_final_model,
    fit_group_thresholds,
    make_fitter,
    sums_and_changes,
)
from skfair._utils.checks import join_names, limit_text, number_text, warn
from skfair._utils.programs import Program, solve_program
from skfair.exceptions import InfeasibleConstraintWarning

if TYPE_CHECKING:
    from skfair._bound.bound import BoundConstraint, RateRows
    from skfair._postprocessing.events import EventFeatures, RuleRequest
    from skfair._problems.problem import ConstrainedProblem


_MAX_SAMPLES = 10_000
"""Samples of the program; of more, as many are drawn."""


_EXCESS_TOLERANCE = 1e-3
"""Accuracy of an excess, in units of the rates."""


class Conflict(NamedTuple):
    """Bounds of which no decisions keep all.

    ``excess`` is the smallest one that decisions can have, in units of the rates. ``relaxations``
    maps the name of each bound that conflicts to its smallest excess where all others are kept,
    infinite where there is none. ``compares_quotients`` says whether a parity of quotients is among
    them, for which denominators were bounded too.
    """

    excess: float
    relaxations: dict
    compares_quotients: bool

    def describe(self) -> str:
        """Sentences that name the bounds, and by how much each would have to be relaxed."""
        relaxations = {name: by for name, by in self.relaxations.items() if by < np.inf}
        ways = [f"{name} by {limit_text(by, n_digits=2)}" for name, by in relaxations.items()]
        one = "it" if len(self.relaxations) == 1 else "one of them"
        condition = (
            ", unless denominators of the compared quotients fall below a quarter of the usual ones"
            if self.compares_quotients
            else ""
        )
        remedy = f" To keep all, relax {one}: {', or '.join(ways)}." if ways else ""
        return (
            f"By the out-of-fold probabilities no decisions keep {join_names(self.relaxations)}"
            f"{condition}: some rate exceeds its bound by about "
            f"{number_text(self.excess, 2)}.{remedy}"
        )


def find_conflict(
    constraints: ConstraintSystem, weights: np.ndarray, outcomes: np.ndarray, chances: np.ndarray
) -> Conflict | None:
    """The `Conflict` of bound constraints; None where decisions may keep all of them.

    ``outcomes`` number the groups of negatives first, then those of positives; ``chances`` are
    their out-of-fold probabilities, (n_samples, n_outcomes), and ``weights`` have sum 1.
    """
    constraints = _select_linear(constraints)
    # Constant decisions keep every parity of ordinary rates.
    constants = (np.full(len(weights), sign) for sign in (-1.0, 1.0))
    if any((constraints.gaps(one) <= constraints.tolerances).all() for one in constants):
        return None
    program = _LinearProgram.make(constraints, weights, outcomes, chances)
    level, excess, multipliers = program.search_smallest_quotient()
    # An infinite excess says that a denominator has no samples, and nothing of the bounds.
    if excess <= program.slack or np.isinf(excess):
        return None
    # Bounds with a multiplier conflict: each alone may be relaxed until the others are kept.
    # Smaller multipliers are rounding.
    owners = np.unique(program.row_constraint_indices(level)[multipliers > 1e-6])
    relaxations = {constraints[k].name: program.minimize(level, relaxed=k)[0] for k in owners}
    return Conflict(excess, relaxations, bool(np.isfinite(level)))


def check_feasibility_and_fit(
    features: EventFeatures,
    request: RuleRequest,
    chances: np.ndarray | None,
    confidence: float | None,
) -> tuple[ConstrainedProblem, Guarantee]:
    """The solved problem and the guarantee of a rule, without a search for what cannot be kept.

    ``request`` is a `RuleRequest`. ``chances`` are those of
    `group_class_probabilities` of the features, or None. Where no decisions keep the constraints,
    the rule is the one nearest to them around that without constraint.
    """
    fitter = make_fitter(request)
    codes = features.known_codes(request)
    if codes is not None and confidence is None:
        by_group = fit_group_thresholds(fitter, request, codes)
        if by_group is not None:
            return by_group
    # Conflicts of quotients take many linear programs: they are looked for after a fit that fails.
    solution = None
    of_decisions = [one for one in fitter.constraint if one.sums.metric_input == "decisions"]
    if any(one.sums.is_quotient and one.gap.is_range for one in of_decisions):
        solution = fit_final_model(fitter, request, confidence, codes)
        if solution[1].candidate.keeps_bound:
            return solution
    conflict = None
    outcomes = request.codes
    # Probabilities of the outcome of one score, of samples whose groups are all recorded.
    is_single = len(request.per_class) == 1
    are_recorded = is_single and (outcomes >= 0).all()
    if chances is not None and are_recorded and confidence is None:
        problem = fitter.problem
        outcomes = outcomes + (problem.target > 0) * (chances.shape[1] // 2)
        conflict = find_conflict(fitter.constraint, problem.mean_weights, outcomes, chances)
    if conflict is None:
        return solution or fit_final_model(fitter, request, confidence, codes)
    warn(conflict.describe(), InfeasibleConstraintWarning)
    candidate = search_lines(fitter, fitter.fit_unconstrained())
    # The solution is certified for no constraint.
    multipliers = np.zeros(len(problem.constraint.rows.upper))
    result = replace(candidate.result, multipliers=multipliers)
    candidate = candidate._replace(result=result)
    return problem, Guarantee(candidate, fitter.constraint.tolerances)


class _Rows(NamedTuple):
    """Rows ``constant + changes @ e + unknowns @ u <= excess * (size + excess_scale_changes @ e)``.

    Here e are the expected positive decisions about each outcome. Sizes are 1 for bounds on rates,
    the denominator for bounds on quotients, and 0 where no excess is allowed.
    """

    constant: np.ndarray  # (n_rows,)
    changes: np.ndarray  # (n_rows, n_outcomes)
    unknown_coefficients: np.ndarray  # (n_rows, n_unknowns)
    size: np.ndarray  # (n_rows,)
    excess_scale_changes: np.ndarray  # (n_rows, n_outcomes)


class _LinearProgram(NamedTuple):
    """The smallest excess of constraints in expectation, over decisions between 0 and 1."""

    constraints: ConstraintSystem
    sums: list  # of each constraint, as `sums_and_changes` returns them
    plain: np.ndarray  # (n_outcomes,), expected decisions without constraint
    weighted: np.ndarray  # (n_outcomes, n_samples), probabilities times weights
    largest: np.ndarray  # (n_outcomes,), expected decisions that are all positive
    slack: float

    @classmethod
    def make(
        cls,
        constraints: ConstraintSystem,
        weights: np.ndarray,
        outcomes: np.ndarray,
        chances: np.ndarray,
    ) -> _LinearProgram:
        """The program of some samples, drawn if there are too many."""
        n_samples, n_outcomes = chances.shape
        sums = [sums_and_changes(one, outcomes, n_outcomes, weights) for one in constraints]
        # One sample more or less moves a rate, and so does the draw of samples.
        slack = max(1.0 / one.sums.cells.counts.min() for one in constraints)
        if n_samples > _MAX_SAMPLES:
            rows = np.random.default_rng(0).choice(n_samples, _MAX_SAMPLES, replace=False)
            chances = chances[rows]
            weights = weights[rows] / weights[rows].sum()
            slack = max(slack, 1.0 / np.sqrt(_MAX_SAMPLES))
        weighted = (chances * weights[:, np.newaxis]).T
        success = chances[:, n_outcomes // 2 :].sum(axis=1)
        return cls(
            constraints=constraints,
            sums=sums,
            plain=weighted @ (success > 0.5),
            weighted=weighted,
            largest=weighted.sum(axis=1),
            slack=slack,
        )

    def search_smallest_quotient(self) -> tuple[float, float, np.ndarray]:
        """The smallest quotient where parity of quotients is exceeded least, and the solution.

        The quotient is nan where none are compared. The solution is that of `minimize`; the search
        ends at an excess within the slack.
        """
        parities = [
            [one.sums.rates(constant + changes @ decided) for decided in (self.plain, self.largest)]
            for one, (constant, changes) in zip(self.constraints, self.sums, strict=True)
            if one.sums.is_quotient and one.gap.is_range
        ]
        if not parities:
            return np.nan, *self.minimize(np.nan)
        # Around the usual quotients first, then around the best level.
        levels = np.linspace(0.5 * np.nanmin(parities), 1.5 * np.nanmax(parities), 12)
        step = levels[1] - levels[0]
        best = levels[0], *self.minimize(levels[0])
        for _ in range(7):
            for level in levels:
                if best[1] <= self.slack:
                    return best
                solution = self.minimize(level, below=best[1])
                if solution[0] < best[1]:
                    best = level, *solution
            step /= 2.0
            levels = np.array([best[0] - step, best[0] + step])
        return best

    def row_constraint_indices(self, level: float) -> np.ndarray:
        """Number of the constraint of each row."""
        return np.repeat(np.arange(len(self.sums)), [len(one.size) for one in self._rows(level)])

    def minimize(
        self, level: float, relaxed: int | None = None, below: float = np.inf
    ) -> tuple[float, np.ndarray]:
        """The smallest excess, at least 0, and the multipliers of the rows.

        Only the constraint with the number ``relaxed`` may be exceeded; of None all may. The excess
        is infinite if the others cannot be kept, or if none ``below`` a value is possible.
        """
        rows = self._rows(level)
        constant, changes, unknowns, size, size_changes = zip(*rows, strict=True)
        unknowns = block_diag(*unknowns)
        constant, changes, size, size_changes = map(
            np.concatenate, (constant, changes, size, size_changes)
        )
        if relaxed is not None:
            may_exceed = self.row_constraint_indices(level) == relaxed
            size = size * may_exceed
            size_changes = size_changes * may_exceed[:, np.newaxis]
        # Quotients of linear functions by Dinkelbach's method: at each excess the one of a linear
        # program, in units of the latest sizes, is below 0 if a smaller one is possible.
        excess = 0.0 if np.isinf(below) else max(0.0, below - _EXCESS_TOLERANCE)
        scale = np.maximum(size, size + size_changes @ self.largest)
        multipliers = np.zeros(len(size))
        # Two to five programs are usual.
        for _ in range(10):
            rest, dual_values, (decided, free) = self._solve(
                constant - excess * size,
                changes - excess * size_changes,
                unknowns,
                scale,
            )
            if dual_values is None or (rest > 0 and below < np.inf):
                return np.inf, np.zeros(len(size))
            multipliers = dual_values
            if excess == 0.0 and rest <= 0.0 or abs(rest) <= _EXCESS_TOLERANCE:
                break
            below = np.inf
            scale = size + size_changes @ decided
            values = constant + changes @ decided + unknowns @ free
            excess = max(0.0, (values[scale > 0] / scale[scale > 0]).max())
        return excess, multipliers

    def _solve(
        self, constant: np.ndarray, changes: np.ndarray, unknowns: np.ndarray, scale: np.ndarray
    ) -> tuple:
        """The linear program ``constant + changes @ e + unknowns @ u <= rest * scale``.

        Returns the smallest rest, at least -1, the multipliers of the rows, None if there is no
        solution, and a pair of the expected decisions e and the unknowns u.
        """
        by_sample = changes @ self.weighted
        matrix = np.hstack((by_sample, unknowns, -scale[:, np.newaxis]))
        n_samples, n_columns = by_sample.shape[1], matrix.shape[1]
        smallest, largest = np.zeros(n_columns), np.ones(n_columns)
        smallest[n_samples:], largest[n_samples:] = -np.inf, np.inf
        smallest[-1] = -1.0
        cost = np.append(np.zeros(n_columns - 1), 1.0)
        rows = sparse.csr_array(matrix)
        solution = solve_program(Program(cost, rows, -np.inf, -constant, smallest, largest))
        if solution.unknowns is None:
            return np.inf, None, (None, None)
        decided = self.weighted @ solution.unknowns[:n_samples]
        multipliers = -solution.row_multipliers
        return solution.cost, multipliers, (decided, solution.unknowns[n_samples:-1])

    def _rows(self, level: float) -> list[_Rows]:
        """Rows of every constraint, with the smallest quotient at a level."""
        pairs = zip(self.constraints, self.sums, strict=True)
        return [
            _quotient_rows(one, sums, (self.plain, self.largest), level)
            if one.sums.is_quotient
            else _rate_rows(one, sums)
            for one, sums in pairs
        ]


def _rate_rows(bound: BoundConstraint, sums: tuple) -> _Rows:
    """Rows of rates whose denominators do not depend on decisions."""
    rows: RateRows = bound.sums.make_rows(bound)
    values, changes = (rows.rates_to_rows @ one for one in sums)
    sides = []
    for sign, bounds in ((1.0, rows.upper), (-1.0, rows.lower)):
        is_bound = np.isfinite(bounds)
        # Above a free smallest rate, the largest one alone may be exceeded.
        is_smallest = (sign < 0) & rows.aux_jacobian.any(axis=1)
        columns = values - bounds, changes, rows.aux_jacobian, sign * ~is_smallest
        sides.append([sign * one[is_bound] for one in columns])
    constant, changes, unknowns, sizes = map(np.concatenate, zip(*sides, strict=True))
    return _Rows(constant, changes, unknowns, sizes, 0.0 * changes)


def _quotient_rows(bound, sums, decisions, level):
    """Rows ``low D <= N <= high D`` of quotients, and the smallest denominators.

    ``decisions`` are the expected ones without constraint, and those that are all positive.
    """
    (counts, sizes), (count_changes, size_changes) = (np.split(one, 2) for one in sums)
    plain, positive = (sizes + size_changes @ one for one in decisions)
    # Denominators are largest where all decisions are positive, or all negative.
    # A denominator is at least a hundredth of that of constant decisions.
    smallest = 0.01 * np.maximum(sizes, positive)
    if bound.gap.is_range:
        # One that is compared is at least a quarter of that without constraint: precision must not
        # be equal because hardly any sample is accepted.
        smallest = np.maximum(smallest, 0.25 * plain)
    # Rows without an excess: denominators are not below the smallest ones.
    no_sizes = 0.0 * sizes, 0.0 * size_changes
    sides = [(smallest - sizes, -size_changes, *no_sizes)]
    low, high = bound.gap.mean_limits(bound.tolerance, level)
    for sign, limit in ((-1.0, low), (1.0, high)):
        if np.isfinite(limit):
            values = counts - limit * sizes
            changes = count_changes - limit * size_changes
            # Above the level, the largest quotient alone may be exceeded.
            may_exceed = sign > 0 or np.isinf(high)
            excess = (sizes, size_changes) if may_exceed else no_sizes
            sides.append((sign * values, sign * changes, *excess))
    constant, changes, sizes, size_changes = map(np.concatenate, zip(*sides, strict=True))
    return _Rows(constant, changes, np.empty((len(constant), 0)), sizes, size_changes)


def _select_linear(constraints: ConstraintSystem) -> ConstraintSystem:
    """The constraints that are linear in decisions once the smallest quotient of one is fixed."""
    selected = []
    n_levels = 0
    for one in constraints:
        if one.sums.metric_input != "decisions":
            continue
        gap = one.gap
        if one.sums.is_quotient and gap.compares != "bound":
            # One parity of quotients, of one block of groups.
            if n_levels or not gap.is_range or len(gap.blocks) != 1:
                continue
            n_levels += 1
        elif one.rows.rates_to_rows is None:
            continue
        selected.append(one)
    return ConstraintSystem(tuple(selected))
