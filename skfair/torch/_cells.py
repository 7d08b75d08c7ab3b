"""Constraints of training loops, bound to the groups and classes of samples."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from skfair._bound.bound import RateRows
from skfair._bound.rows import OneSidedRows
from skfair._bound.units import LogOdds
from skfair._groups import Samples, check_groups
from skfair._utils.checks import collect_warnings, resolve_name, warn
from skfair.constraints import Constraint, resolve_constraints
from skfair.constraints._constraint import (
    EmptyCellsWarning,
    NothingToCompareError,
    bind_all,
    refuse_tolerances_by_attribute,
    tolerance_in_unit,
)
from skfair.losses import LogisticLoss, as_pointwise
from skfair.solvers._stochastic import move_multipliers
from skfair.surrogates import SURROGATES
from skfair.torch._samples import to_array

if TYPE_CHECKING:
    from skfair._utils.tables import TableLike
    from skfair.losses import Loss


# Samples by group and class.


class Cells(NamedTuple):
    """Samples by group and class: all that constraints know of them, except for their scores.

    Cell 2 g is the negative class of group g, and cell 2 g + 1 its positive class. The label of a
    group is a tuple with an entry per attribute.
    """

    codes: np.ndarray  # (n_samples,)
    counts: np.ndarray  # (n_cells,)
    labels: tuple[tuple[Any, ...], ...]

    @property
    def target(self) -> np.ndarray:
        """Classes -1 and +1 of the samples, (n_samples,)."""
        return _SIGNS[self.codes & 1]


_SIGNS = np.array([-1.0, 1.0])


def encode_cells(target: TableLike, sensitive_features: TableLike) -> Cells:
    """The `Cells` of samples."""
    is_positive = _is_positive(to_array(target))
    groups = to_array(sensitive_features)
    codes = _integer_group_codes(groups, len(is_positive))
    if codes is not None:
        labels = tuple(zip(range(int(np.maximum.reduce(codes)) + 1)))
    else:
        checked = check_groups(groups, len(is_positive))
        codes = checked.codes
        labels = tuple(map(tuple, checked.labels.tolist()))
    codes = 2 * codes + is_positive
    return Cells(codes, np.bincount(codes, minlength=2 * len(labels)), labels)


def _integer_group_codes(groups: TableLike, n_samples: int) -> np.ndarray | None:
    """Groups that are small numbers, as integers; None for others, which `check_groups` encodes."""
    if not isinstance(groups, np.ndarray) or groups.shape != (n_samples,) or not n_samples:
        return None
    if groups.dtype.kind not in "biu":
        return None
    codes = groups.astype(np.intp, copy=False)
    # Negative numbers are large ones without a sign.
    return codes if np.maximum.reduce(codes.view(np.uintp)) < 1024 else None


def _is_positive(target: np.ndarray) -> np.ndarray:
    """Whether each sample is of the positive class."""
    target = np.asarray(target).reshape(-1)
    if target.dtype == bool:
        return target
    is_positive = target == 1
    others = target[~is_positive]
    if (others != 0).any() and (others != -1).any():
        raise ValueError(
            "target must have the classes 0 and 1, -1 and 1, or booleans, but it has "
            f"{np.unique(target)[:5].tolist()}; compare the labels with the positive class, "
            "(y == label)."
        )
    return is_positive


# Constraints, bound to these samples once for each pattern of cells.


class ConstraintSettings:
    """Constraints with tolerance and surrogate: equal ones are bound once.

    `by_pair` asks for the rows of ordered pairs of groups in place of one row per gap.
    """

    def __init__(self, constraint, tolerance, surrogate, by_pair):
        self.constraint = constraint
        self.tolerance = tolerance
        self.surrogate = surrogate
        self.by_pair = by_pair
        each = constraint if isinstance(constraint, list | tuple) else [constraint]
        # Constraints may be changed between two calls: they are compared by their parameters.
        self.key = (tolerance, surrogate, by_pair, *map(_constraint_key, each))
        self.is_hashable = _is_hashable(self.key)
        self.needs_group_sizes = any(_needs_group_sizes(one) for one in each)

    def __eq__(self, other):
        return self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def bind_to_batch(self, cells):
        """The function of scores and cells of each constraint, for a batch in these cells."""
        # Which cells are compared, or how, may depend on their sizes.
        occupied = cells.counts if self.needs_group_sizes else cells.counts > 0
        bind = _bind_to_batch if self.is_hashable else _bind_to_batch.__wrapped__
        return bind(self, cells.labels, occupied.astype(np.intp).tobytes())

    def resolve(self) -> list[Constraint]:
        """The constraints, without those that samples of a loop do not show."""
        resolved = resolve_constraints(self.constraint, self.tolerance)
        for one in resolved:
            refuse_tolerances_by_attribute(one, "training loops")
            if one.uses_features:
                raise ValueError(
                    f"{one} takes its strata from columns of X, which a loop does not pass; pass "
                    'the samples of each stratum, with constraint="demographic_parity", in a call '
                    "of its own."
                )
            if not one.terms(resolve_surrogate(self.surrogate), LogisticLoss()):
                raise ValueError(
                    f"{one.name} compares ranks, which few samples do not show; train without it, "
                    "and enforce it in the last layer: ConstrainedTorchClassifier(solver=None)."
                )
        return resolved

    def bind(self, constraint, cells):
        """The `CellConstraint` of one of the constraints, for all samples that it will get."""
        # One sample stands for those of a cell.
        present = np.flatnonzero(cells.counts)
        groups = check_groups([cells.labels[group] for group in present // 2], len(present))
        groups = groups.copy_with_multiplicity(cells.counts[present])
        weights = cells.counts[present].astype(np.float64)
        samples = Samples(_SIGNS[present & 1], groups, weights)
        surrogate = resolve_surrogate(self.surrogate)
        ((bound,),) = bind_all([constraint], [samples], surrogate, LogisticLoss(), LogOdds())
        bound = replace(bound, by_pair=self.by_pair, one_row=not self.by_pair)
        return CellConstraint(bound, present, len(cells.counts))


def resolve_surrogate(surrogate: str | Loss | None) -> Loss:
    """The surrogate of a name."""
    return resolve_name(SURROGATES, surrogate, "surrogate")


def _constraint_key(constraint):
    """What makes two constraints equal."""
    if not isinstance(constraint, Constraint):
        return constraint
    return type(constraint), *vars(constraint).items()


def _is_hashable(key):
    """Whether all entries of a tuple can be hashed."""
    try:
        hash(key)
    except TypeError:
        return False
    return True


def _needs_group_sizes(constraint):
    """Whether a constraint compares groups of some size alone, or may weigh them by size."""
    # Gaps of this package weigh no group by its size; a gap of a user may.
    gap = getattr(constraint, "gap", None)
    is_custom = gap is not None and gap.__module__.partition(".")[0] != "skfair"
    return is_custom or getattr(constraint, "min_group_size", None) not in (None, 1)


@lru_cache(maxsize=256)
def _bind_to_batch(setting, labels, occupied):
    """The functions of `bind_to_batch`; `occupied` are the bytes of a count per cell."""
    counts = np.frombuffer(occupied, dtype=np.intp)
    cells = Cells(np.empty(0, dtype=np.intp), counts, labels)
    n_present = len(np.unique(np.flatnonzero(counts) // 2))
    if n_present < max(2, len(labels)):
        _warn_of_small_batch()
    # Each pattern of empty cells has a message of its own, but the batch is warned of once.
    with collect_warnings(EmptyCellsWarning) as of_empty_cells:
        values = [_bind_if_compared(setting, one, cells) for one in setting.resolve()]
    if of_empty_cells:
        _warn_of_small_batch()
    return values


def _bind_if_compared(setting, constraint, cells):
    """The function of scores and cells that gives the rows of a constraint, and their slopes."""
    try:
        bound = setting.bind(constraint, cells)
    except NothingToCompareError:
        bound = None
    if bound is not None and len(bound.one_sided.rows):
        return bound
    if setting.by_pair:
        raise ValueError(
            f"by_pair=True returns a value for each ordered pair of groups, but in this batch "
            f"{constraint.name} compares none; draw batches with samples of each group and class."
        )
    _warn_of_small_batch()
    return partial(_evaluate_empty, tolerance_in_unit(constraint))


_MIN_SAMPLES = 5
"""Samples of an event in a batch below which its rate is noise."""


@cache
def _warn_of_small_batch() -> None:
    """Warn of a batch with few samples, once in a process."""
    warn(
        f"A batch has fewer than {_MIN_SAMPLES} samples, or none, of a group (or of a class of a "
        "group) that the constraint compares. Gaps between such small samples are mostly noise, "
        "and the training may end in a constant classifier; use larger batches, or "
        "skfair.torch.ConstraintTerm."
    )


def _evaluate_empty(tolerance, scores, cells):
    """Value and slopes of a constraint that compares nothing in a batch, and so is kept by all."""
    return np.array([-tolerance]), np.zeros((1, len(scores)))


class BatchRows:
    """Rows G <= 0 of a constraint as functions of the scores of a batch.

    Its means are sums by the weights of samples in each event, (n_batch, n_events).
    """

    def __init__(self, rows: RateRows) -> None:
        self.rows = rows
        self.one_sided = OneSidedRows(rows.lower, rows.upper)

    def weigh(
        self, weights: np.ndarray, scores: np.ndarray, target: np.ndarray, multipliers: np.ndarray
    ) -> WeighedRows:
        """The `WeighedRows` of multipliers, (n_bounds,)."""
        exact = [one(scores, target).value @ weights for one in self.rows.sums.exact]
        counted, combine = self.rows.rows_at(np.concatenate(exact))
        by_mean = combine.T @ self.one_sided.multipliers(multipliers)
        means, slopes = self._evaluate_smooth(weights, scores, target)
        by_score = _spread(weights, by_mean, slopes)
        return WeighedRows(by_mean @ means, by_score, self.one_sided.values(counted))

    def _evaluate_smooth(
        self, weights: np.ndarray, scores: np.ndarray, target: np.ndarray
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Means of the smooth terms, (n_means,), and the slope of each term."""
        sums = self.rows.sums
        terms = [as_pointwise(one(scores, target), len(scores), sums.name) for one in sums.smooth]
        means = np.concatenate([one.value @ weights for one in terms])
        return means, [one.slope for one in terms]


class WeighedRows(NamedTuple):
    """Multipliers times the smooth rows of a batch, and the rows that count its decisions."""

    value: float  # up to a constant
    slopes: np.ndarray  # by the scores, (n_batch,)
    counted: np.ndarray  # (n_bounds,)


class CellConstraint(BatchRows):
    """A constraint on means over unions of cells; `members`, (n_cells, n_events), are these."""

    def __init__(self, bound, present, n_cells):
        super().__init__(bound.rows)
        events = bound.sums.events
        self.members = np.zeros((n_cells, events.n_events))
        self.members[present] = events.averaging_matrix.toarray().T > 0

    def __call__(self, scores, cells):
        """Rows as G <= 0, (n_bounds,), and their slopes by the scores, (n_bounds, n_samples)."""
        sizes = cells.counts @ self.members
        if np.minimum.reduce(sizes) < _MIN_SAMPLES:
            _warn_of_small_batch()
        members = self.members[cells.codes]
        sums, slopes = self._evaluate_smooth(members, scores, cells.target)
        sizes = np.resize(sizes, len(sums))
        rows, combine = self.rows.rows_at(sums / sizes)
        combine = combine.toarray() if sparse.issparse(combine) else combine
        by_sum = self.one_sided.jacobian(combine) / sizes
        return self.one_sided.values(rows), _spread(members, by_sum, slopes)


def _spread(weights: np.ndarray, by_mean: np.ndarray, slopes: list[np.ndarray]) -> np.ndarray:
    """Slopes by the scores, (..., n_batch), from slopes by the means, (..., n_means)."""
    parts = np.split(by_mean, len(slopes), axis=-1)
    return sum((part @ weights.T) * slope for part, slope in zip(parts, slopes, strict=True))


class FollowedRows:
    """Rows of constraints whose multipliers each batch moves by the decisions that it shows.

    The rates of a batch are sums by weights among all samples, so that they have no bias, whatever
    groups the batch has. `tables` have these weights for each constraint: (n_cells, n_events), or
    (n_samples, n_events).
    """

    def __init__(self, rows: list[BatchRows], tables: list[np.ndarray]) -> None:
        self.rows = rows
        self.tables = tables

    def start(self) -> list[np.ndarray]:
        """Multipliers of 0, (n_bounds,) for each constraint."""
        return [np.zeros(len(one.one_sided.rows)) for one in self.rows]

    def follow(
        self,
        multipliers: list[np.ndarray],
        scores: np.ndarray,
        target: np.ndarray,
        positions: np.ndarray,
        share: float,
        step: float,
    ) -> tuple[float, np.ndarray]:
        """Return the Lagrangian term of a batch and its slopes, then move the multipliers in place.

        `positions` are those of its samples in the tables, and `share` is its share of all samples.
        """
        value = 0.0
        slopes = np.zeros(len(scores))
        for i, (rows, table) in enumerate(zip(self.rows, self.tables, strict=True)):
            weighed = rows.weigh(table[positions] / share, scores, target, multipliers[i])
            value += weighed.value
            slopes += weighed.slopes
            multipliers[i] = move_multipliers(multipliers[i], weighed.counted, step)
        return value, slopes
