"""Constraints of training loops, bound to the groups and classes of samples."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skfair.constraints import Constraint, resolve_constraints
from skfair.constraints._constraint import NothingToCompareError, bind_all, resolve_tolerance
from skfair.constraints._units import LogOdds
from skfair.groups import Samples, check_groups
from skfair.losses import LogisticLoss, as_pointwise, evaluate_value_and_slope
from skfair.solvers._sqp import OneSidedRows
from skfair.surrogates import SURROGATES
from skfair.torch._samples import to_array
from skfair.utils._checks import resolve_name, warn

# Samples by group and class.


class Cells(NamedTuple):
    """Samples by group and class: all that constraints know of them, except for their scores.

    Cell 2 g is the negative class of group g, and cell 2 g + 1 its positive class. `labels` are the
    groups, an integer k for the numbers below k, or a tuple of one tuple per group.
    """

    codes: np.ndarray  # (n_samples,)
    counts: np.ndarray  # (n_cells,)
    labels: Any

    @property
    def target(self):
        """Classes -1 and +1 of the samples, (n_samples,)."""
        return _SIGNS[self.codes & 1]

    @property
    def group_names(self):
        """Label of each group, as a tuple with an entry per attribute."""
        is_number = isinstance(self.labels, int)
        return [(group,) for group in range(self.labels)] if is_number else self.labels


_SIGNS = np.array([-1.0, 1.0])

_MAX_CODE = 1 << 10
"""Groups that are integers below it are their own codes."""


def encode_cells(target, sensitive_features):
    """The `Cells` of samples."""
    is_positive = _is_positive(to_array(target))
    groups = to_array(sensitive_features)
    codes = _integer_group_codes(groups, len(is_positive))
    if codes is not None:
        n_groups = labels = int(np.maximum.reduce(codes)) + 1
    else:
        checked = check_groups(groups, len(is_positive))
        codes = checked.codes
        labels = tuple(map(tuple, checked.labels.tolist()))
        n_groups = len(labels)
    codes = 2 * codes + is_positive
    return Cells(codes, np.bincount(codes, minlength=2 * n_groups), labels)


def _integer_group_codes(groups, n_samples):
    """Groups that are small numbers, as integers; None for others, which `check_groups` encodes."""
    if not isinstance(groups, np.ndarray) or groups.shape != (n_samples,) or not n_samples:
        return None
    if groups.dtype.kind not in "biu":
        return None
    codes = groups.astype(np.intp, copy=False)
    return (
        codes if np.maximum.reduce(codes.view(np.uintp)) < _MAX_CODE else None
    )  # negative ones are large


def _is_positive(target):
    """Whether each sample is of the positive class."""
    target = np.asarray(target).reshape(-1)
    if target.dtype == bool:
        return target
    if target.dtype == np.int64 and target.view(np.uint64).max(initial=0) <= 1:
        return target  # 0 and 1
    is_positive = target == 1
    n_positive = np.count_nonzero(is_positive)
    # Every other entry must be 0, or every other one -1.
    if n_positive != np.count_nonzero(target) and n_positive + np.count_nonzero(
        target == -1
    ) != len(target):
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
        self.needs_group_sizes = any(_needs_group_sizes(one) for one in each)

    def __eq__(self, other):
        return self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def bind_to_batch(self, cells):
        """The function of scores and cells of each constraint, for a batch in these cells."""
        # Which cells are compared, or how, may depend on their sizes.
        occupied = cells.counts if self.needs_group_sizes else cells.counts > 0
        arguments = self, cells.labels, occupied.astype(np.intp).tobytes()
        try:
            return _bind_to_batch(*arguments)
        except TypeError as error:
            if "unhashable" not in str(error):
                raise
            return _bind_to_batch.__wrapped__(*arguments)

    def resolve(self):
        """The constraints, without those that samples of a loop do not show."""
        resolved = resolve_constraints(self.constraint, self.tolerance)
        for one in resolved:
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
        names = cells.group_names
        groups = check_groups([names[group] for group in present // 2], len(present))
        groups = groups.copy_with_multiplicity(cells.counts[present])
        weights = cells.counts[present].astype(np.float64)
        samples = Samples(_SIGNS[present & 1], groups, weights)
        surrogate = resolve_surrogate(self.surrogate)
        settings = surrogate, LogisticLoss(), self.tolerance, LogOdds()
        ((bound,),) = bind_all([constraint], [samples], *settings)
        form = {"by_pair": True} if self.by_pair else {"one_row": True}
        return CellConstraint(replace(bound, **form), present, len(cells.counts))


def resolve_surrogate(surrogate):
    """The surrogate of a name."""
    return resolve_name(SURROGATES, surrogate, "surrogate")


def _constraint_key(constraint):
    """What makes two constraints equal."""
    if not isinstance(constraint, Constraint):
        return constraint
    return type(constraint), *vars(constraint).items()


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
    if n_present < max(2, len(cells.group_names)):
        _warn_of_small_batch()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = [_bind_if_compared(setting, one, cells) for one in setting.resolve()]
    for text in {str(one.message) for one in caught}:
        # Each pattern of empty cells has a text of its own.
        _warn_of_small_batch() if "empty group" in text else warn(text)
    return values


def _bind_if_compared(setting, constraint, cells):
    """The function of scores and cells that gives the rows of a constraint, and their slopes."""
    try:
        bound = setting.bind(constraint, cells)
    except NothingToCompareError:
        bound = None
    if bound is not None and bound.n_rows:
        return bound
    if setting.by_pair:
        raise ValueError(
            f"by_pair=True returns a value for each ordered pair of groups, but in this batch "
            f"{constraint.name} compares none; draw batches with samples of each group and class."
        )
    _warn_of_small_batch()
    return partial(_evaluate_empty, resolve_tolerance(constraint, setting.tolerance))


_MIN_SAMPLES = 5
"""Samples of an event in a batch below which its rate is noise."""


@cache
def _warn_of_small_batch():
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


class CellConstraint:
    """A constraint on means over unions of cells.

    `members`, (n_sums, n_cells), says which cells each sum is taken over. A sum is that of what
    negative decisions count, plus `steps` times the sums over cells of the values of the terms.
    """

    def __init__(self, constraint, present, n_cells):
        self.constraint = constraint
        self.one_sided = OneSidedRows(constraint.rows.lower, constraint.rows.upper)
        self.n_rows = len(constraint.rows.lower)
        n_events = constraint.sums.events.n_events
        n_terms = len(constraint.sums.smooth)
        members = np.zeros((n_events, n_cells))
        members[:, present] = constraint.sums.events.averaging_matrix.toarray() > 0
        self.members = np.tile(members, (n_terms, 1))
        self.counts_decisions = all(
            hasattr(one, "count_decisions") for one in constraint.sums.smooth
        )
        # Sums over events: those of negative decisions, and what each term of a sample adds.
        self.negatives = 0.0 * self.members
        self.steps = [self.members]
        if self.counts_decisions:
            classes = np.resize(_SIGNS, n_cells)
            counted = [np.array(one.count_decisions(classes)) for one in constraint.sums.smooth]
            # The only term is the surrogate.
            self.negatives, steps = self.members * np.hstack(
                [np.repeat(one[:, np.newaxis], n_events, axis=1) for one in counted]
            )
            self.steps = [steps]
        elif n_terms > 1:
            of_term = np.repeat(np.eye(n_terms), n_events, axis=1)
            self.steps = [one[:, np.newaxis] * self.members for one in of_term]

    def __call__(self, scores, cells):
        """Rows as G <= 0, (n_bounds,), and their slopes by the scores, (n_bounds, n_samples)."""
        sizes = self.members @ cells.counts
        if np.minimum.reduce(sizes) < _MIN_SAMPLES:
            _warn_of_small_batch()
        values, slopes = zip(*self.evaluate_terms(scores, cells), strict=True)
        # Means over events from sums over cells.
        means = self.sum_over_events(values, cells) / sizes
        rows, combine = self.constraint.rows.rows_at(means)
        combine = combine.toarray() if sparse.issparse(combine) else combine
        # Chain rule: the rows by the means, these by cells, and cells by samples.
        by_event = self.one_sided.jacobian(combine) / sizes
        return self.one_sided.values(rows), self.spread_over_samples(by_event, slopes, cells)

    def evaluate_terms(self, scores, cells):
        """Value and slope of each term at scores."""
        terms, name = self.constraint.sums.smooth, self.constraint.name
        if self.counts_decisions:
            return [evaluate_value_and_slope(terms[0].surrogate, scores, name)]
        return [as_pointwise(one(scores, cells.target), len(scores), name)[:2] for one in terms]

    def sum_over_events(self, values, cells):
        """Sums over events, (n_sums,), from the values of each term, (n_samples,)."""
        n_cells = len(cells.counts)
        totals = self.negatives @ cells.counts
        for steps, value in zip(self.steps, values, strict=True):
            totals = totals + steps @ np.bincount(cells.codes, value, n_cells)
        return totals

    def spread_over_samples(self, by_event, slopes, cells):
        """Weights of sums, (..., n_sums), times the slopes of terms, as (..., n_samples)."""
        spread = 0.0
        for steps, slope in zip(self.steps, slopes, strict=True):
            spread = spread + (by_event @ steps)[..., cells.codes] * slope
        return spread
