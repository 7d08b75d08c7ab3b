"""Constraints on tensors, for training loops of one's own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from skfair.constraints import Constraint, resolve_constraints
from skfair.constraints._constraint import NothingToCompareError, bind_all, resolve_tolerance
from skfair.constraints._gap import RangeGap
from skfair.constraints._units import LogOdds
from skfair.groups import Samples, check_groups
from skfair.losses import LogisticLoss, as_pointwise, evaluate_value_and_slope, step_function
from skfair.solvers import SOLVERS, Solver, StochasticGhost
from skfair.solvers._stochastic import LoopSolver
from skfair.surrogates import SURROGATES
from skfair.torch._model import to_float64_array
from skfair.torch._samples import require_torch, to_array
from skfair.utils._checks import resolve_name, warn

# Constraints as differentiable functions of scores.


def constraint_values(
    constraint: str | Constraint | list,
    scores: Any,
    target: Any,
    sensitive_features: Any,
    *,
    tolerance: float | None = None,
    surrogate: str | Callable = "sigmoid",
    count_decisions: bool = False,
) -> Any:
    r"""Excess of smooth gaps between groups over their tolerances, as a tensor.

    With the smooth rate :math:`r_e` of each event e (a group, or a group and a class), the value
    of a constraint is

    .. math::

        v(s) = \mathrm{gap}(r_1(s), \dots, r_E(s)) - \mathrm{tolerance},
        \qquad r_e(s) = \sum_{i \in e} \omega_i \sigma(s_i),

    with the surrogate :math:`\sigma` in place of the decision. It is at most 0 where the constraint
    holds. That of a ratio is (1 - tolerance) times the largest rate, less the smallest. It is
    computed on the CPU in double precision. Its gradient, one number per sample, is a tensor on the
    device of the scores. Decisions are not smooth: where the bound must hold, end the training with
    ``ConstrainedTorchClassifier(module, constraint, solver=None)``.

    Parameters
    ----------
    constraint : str, Constraint or list of these
        What must be fair, as in :class:`~skfair.classification.ConstrainedERMClassifier`, except
        for criteria on ranks.
    scores : torch.Tensor of shape (n_samples,) or (n_samples, 1)
        Scores of samples, for example of a mini-batch, on any device and in any real dtype.
    target : torch.Tensor or array-like of shape (n_samples,)
        Classes, 0 and 1, -1 and 1 or booleans.
    sensitive_features : torch.Tensor or array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each sample.
    tolerance : float or None, default=None
        Tolerance of constraints that have none of their own; None is .05.
    surrogate : {"sigmoid", "ramp"} or callable, default="sigmoid"
        Smooth surrogate of the decision, see :mod:`skfair.surrogates`.
    count_decisions : bool, default=False
        Whether values are those of decisions, with :math:`1[s_i > 0]` in place of
        :math:`\sigma(s_i)`. Their gradient stays that of the surrogate. Multipliers then follow the
        gaps that metrics count, as those of :class:`~skfair.solvers.AdamPrimalDual` do in fits.
        Mean losses have no decisions and stay as they are.

    Returns
    -------
    values : torch.Tensor of shape (n_constraints,)
        In the dtype of the scores, float32 if that has fewer digits. A constraint that has nothing
        to compare among the samples, for example because they are of one group, has the value
        minus its tolerance and the gradient 0.

    Raises
    ------
    ValueError
        If lengths differ, there is no sample, the target is not binary, a constraint is on ranks,
        or a group or a class of it is missing where the constraint needs it.

    See Also
    --------
    ConstrainedObjective : Multipliers of the values, which move from step to step.
    RecentScores : Values over more samples than those of a mini-batch.

    Notes
    -----
    The maximum of noisy rates is too large on average: gaps on mini-batches exceed those on all
    samples, the more the smaller the groups are. See `RecentScores`.

    Examples
    --------
    >>> import torch
    >>> from skfair.torch import constraint_values
    >>> scores = torch.tensor([2.0, -1.0, 0.5, -2.0], requires_grad=True)
    >>> sex, paid_back = ["f", "f", "m", "m"], [1, 0, 1, 0]
    >>> values = constraint_values("demographic_parity", scores, paid_back, sex, tolerance=0.1)
    >>> values.relu().sum().backward()
    >>> bool((scores.grad[:2] > 0).all()), bool((scores.grad[2:] < 0).all())
    (True, True)
    """
    setting = _ConstraintSettings(constraint, tolerance, surrogate, count_decisions)
    is_compiling = require_torch().compiler.is_compiling()
    evaluate = _uncompiled_evaluate() if is_compiling else _evaluate_constraints
    return evaluate(setting, scores.reshape(-1), target, sensitive_features)


def _evaluate_constraints(setting, scores, target, sensitive_features):
    """The values of constraints, (n_constraints,), as a tensor."""
    if not len(scores):
        raise ValueError(
            "scores must have at least one sample, but there is none; leave empty batches out."
        )
    cells = _encode_cells(target, sensitive_features)
    if len(scores) != len(cells.codes):
        raise ValueError(
            "scores, target and sensitive_features must have one entry per sample, but there are "
            f"{len(scores)} scores and {len(cells.codes)} targets."
        )
    at = to_float64_array(scores)
    values, slopes = zip(*[rate(at, cells) for rate in setting.bind(cells)], strict=True)
    return _linear_function(scores, np.array(slopes), np.array(values))


def _linear_function(scores, slopes, values):
    """Values with these slopes by the scores, (n_values, n_samples), as a tensor."""
    torch = require_torch()
    device = scores.device
    dtype = torch.promote_types(scores.dtype, torch.float32)
    with _disable_autocast(device.type):
        linear = torch.mv(torch.from_numpy(slopes).to(device, dtype), scores.to(dtype))
    # Another constant has the same slopes.
    linear.detach().copy_(torch.from_numpy(values))
    if linear.requires_grad:
        linear.register_hook(_check_first_order)
    return linear


def _disable_autocast(device_type):
    """Context in which PyTorch computes in the dtypes of its tensors."""
    torch = require_torch()
    if not torch.is_autocast_enabled(device_type):
        return nullcontext()
    return torch.autocast(device_type, enabled=False)


def _check_first_order(gradient):
    """Hook of values: raise where a second derivative, which they do not have, could follow."""
    if require_torch().is_grad_enabled():
        raise RuntimeError(
            "constraint_values have first derivatives alone, but their gradient was requested with "
            "create_graph=True; differentiate them without it, and other losses in a call of their "
            "own."
        )


_UNCOMPILED_FUNCTIONS: dict = {}
"""`_evaluate_constraints` as torch.compile leaves it; no lru_cache, of which it warns."""


def _uncompiled_evaluate():
    """`_evaluate_constraints`, which torch.compile calls between two graphs and does not trace."""
    if not _UNCOMPILED_FUNCTIONS:
        _UNCOMPILED_FUNCTIONS["evaluate"] = require_torch().compiler.disable(_evaluate_constraints)
    return _UNCOMPILED_FUNCTIONS["evaluate"]


class _Cells(NamedTuple):
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


_SIGNS = np.array([-1.0, 1.0])

_MAX_CODE = 1 << 10
"""Groups that are integers below it are their own codes."""


def _encode_cells(target, sensitive_features):
    """The `_Cells` of samples."""
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
    return _Cells(codes, np.bincount(codes, minlength=2 * n_groups), labels)


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


class _ConstraintSettings:
    """Constraints with tolerance and surrogate: equal ones are bound once."""

    def __init__(self, constraint, tolerance, surrogate, count_decisions):
        self.arguments = constraint, tolerance, surrogate, count_decisions
        each = constraint if isinstance(constraint, list | tuple) else [constraint]
        # Constraints may be changed between two calls: they are compared by their parameters.
        self.key = (tolerance, surrogate, count_decisions, *map(_constraint_key, each))
        self.needs_group_sizes = any(_needs_group_sizes(one) for one in each)

    def __eq__(self, other):
        return self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def bind(self, cells):
        """The function of scores and cells of each constraint, for samples in these cells."""
        # Which cells are compared, or how, may depend on their sizes.
        occupied = cells.counts if self.needs_group_sizes else cells.counts > 0
        arguments = self, cells.labels, occupied.astype(np.intp).tobytes()
        try:
            return _bind_constraints(*arguments)
        except TypeError as error:
            if "unhashable" not in str(error):
                raise
            return _bind_constraints.__wrapped__(*arguments)


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


def _count_decisions(surrogate, scores):
    """Values of decisions, with the slopes of a smooth surrogate."""
    smooth = as_pointwise(surrogate(scores), len(scores), "surrogate")
    return smooth._replace(value=step_function(scores).value)


@lru_cache(maxsize=256)
def _bind_constraints(setting, labels, occupied):
    """The functions of `bind`; `occupied` are the bytes of a count per cell."""
    counts = np.frombuffer(occupied, dtype=np.intp)
    constraint, tolerance, surrogate, count_decisions = setting.arguments
    # One sample stands for those of a cell.
    present = np.flatnonzero(counts)
    names = [(group,) for group in range(labels)] if isinstance(labels, int) else labels
    groups = check_groups([names[group] for group in present // 2], len(present))
    groups = groups.copy_with_multiplicity(counts[present])
    samples = Samples(_SIGNS[present & 1], groups, counts[present].astype(np.float64))
    if len(np.unique(present // 2)) < max(2, len(names)):
        _warn_of_small_batch()
    surrogate = resolve_name(SURROGATES, surrogate, "surrogate")
    surrogate = partial(_count_decisions, surrogate) if count_decisions else surrogate
    resolved = resolve_constraints(constraint, tolerance)
    for one in resolved:
        if one.uses_features:
            raise ValueError(
                f"{one} takes its strata from columns of X, which constraint_values does not get; "
                'pass the samples of each stratum, with constraint="demographic_parity", in a call '
                "of its own."
            )
        if not one.terms(surrogate, LogisticLoss()):
            raise ValueError(
                f"{one.name} compares ranks, which few samples do not show; train without it, and "
                "enforce it in the last layer: ConstrainedTorchClassifier(solver=None)."
            )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = [
            _bind_to_cells(one, samples, surrogate, tolerance, present, len(counts))
            for one in resolved
        ]
    for text in {str(one.message) for one in caught}:
        # Each pattern of empty cells has a text of its own.
        _warn_of_small_batch() if "empty group" in text else warn(text)
    return values


def _bind_to_cells(constraint, samples, surrogate, tolerance, present, n_cells):
    """The function of scores and cells that gives the value of a constraint, and its slopes."""
    try:
        settings = surrogate, LogisticLoss(), tolerance, LogOdds()
        ((bound,),) = bind_all([constraint], [samples], *settings)
    except NothingToCompareError:
        _warn_of_small_batch()
        return partial(_empty_constraint_value, resolve_tolerance(constraint, tolerance))
    if not len(bound.rows.lower):
        return partial(_empty_constraint_value, bound.tolerance)
    return _CellConstraint(replace(bound, one_row=True), present, n_cells)


_MIN_SAMPLES = 5
"""Samples of an event in a batch below which its rate is noise."""


@cache
def _warn_of_small_batch():
    """Warn of a batch with few samples, once in a process."""
    warn(
        f"A batch has fewer than {_MIN_SAMPLES} samples, or none, of a group (or of a class of a "
        "group) that the constraint compares. Gaps between such small samples are mostly noise, "
        "and the training may end in a constant classifier; use larger batches, or "
        "skfair.torch.RecentScores."
    )


def _empty_constraint_value(tolerance, scores, cells):
    """Value and slopes of a constraint that compares nothing in a batch, and so is kept by all."""
    return -tolerance, np.zeros(len(scores))


class _CellConstraint:
    """A constraint on means over unions of cells."""

    def __init__(self, constraint, present, n_cells):
        self.constraint = constraint
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
        """Value, and its slopes by the scores, (n_samples,)."""
        one = self.constraint
        counts = cells.counts.astype(np.float64)
        sizes = self.members @ counts
        if np.minimum.reduce(sizes) < _MIN_SAMPLES:
            _warn_of_small_batch()
        # Means over events from sums over cells.
        totals = self.negatives @ counts
        slopes = 0.0
        terms = self._evaluate_terms(scores, cells)
        for steps, (value, _) in zip(self.steps, terms, strict=True):
            totals += steps @ np.bincount(cells.codes, value, len(counts))
        values, slope_by_mean = one.rows.rows_at(totals / sizes)
        # Chain rule: the row by the means, these by cells, and cells by samples.
        by_event = slope_by_mean[0] / sizes
        for steps, (_, slope) in zip(self.steps, terms, strict=True):
            slopes = slopes + (by_event @ steps)[cells.codes] * slope
        return values[0] - one.rows.upper[0], slopes

    def _evaluate_terms(self, scores, cells):
        """Value and slope of each term at scores."""
        terms, name = self.constraint.sums.smooth, self.constraint.name
        if self.counts_decisions:
            return [evaluate_value_and_slope(terms[0].surrogate, scores, name)]
        return [as_pointwise(one(scores, cells.target), len(scores), name)[:2] for one in terms]


# A constraint of a training loop, with multipliers of its own.


class ConstraintTerm:
    r"""Constraint of a training loop: a term to be added to the loss of each mini-batch.

    For groups a and b (and each class that the constraint compares) the term is
    :math:`\sum_{a \ne b} \lambda_{ab} (r_a - r_b)`, with smooth rates of the batch. Each call with
    gradients then moves the multipliers by the decisions that it counts,

    .. math::

        \lambda_{ab} \leftarrow \bigl[\lambda_{ab} + \sigma \tfrac{n_\text{batch}}{n}
        (\hat r_a - \hat r_b - \text{tolerance})\bigr]_+ .

    Rates of a batch are sums over it by the shares of groups among all samples: over an epoch the
    steps add up to one on all samples, whatever groups its batches have. The largest difference of
    a batch would be positive by chance. Decisions end near the tolerance; end the training with
    ``ConstrainedTorchClassifier(module, constraint, solver=None)``, which keeps it.

    Parameters
    ----------
    constraint : str, Constraint or list of these
        As in `constraint_values`.
    target : torch.Tensor or array-like of shape (n_samples,)
        Classes of all training samples.
    sensitive_features : torch.Tensor or array-like of shape (n_samples,)
        Groups of all training samples, as integers from 0 on.
    tolerance : float or None, default=None
        Tolerance of constraints that have none of their own; None is .05.
    surrogate : {"sigmoid", "ramp"} or callable, default="sigmoid"
        Smooth surrogate of the decision.
    dual_step : float, default=1.0
        Dual step :math:`\sigma`: what a violation of 1 adds to a multiplier in an epoch.

    Attributes
    ----------
    multipliers : list of ndarray of shape (n_pairs,)
        Multipliers of each constraint, at least 0.
    """

    def __init__(
        self,
        constraint: str | Constraint | list,
        target: Any,
        sensitive_features: Any,
        *,
        tolerance: float | None = None,
        surrogate: str | Callable = "sigmoid",
        dual_step: float = 1.0,
    ):
        cells = _encode_cells(target, sensitive_features)
        settings = _ConstraintSettings(constraint, tolerance, surrogate, False)
        self.dual_step, self.n_samples = dual_step, len(cells.codes)
        self._n_cells = len(cells.counts)
        self._cell_counts = cells.counts
        self._constraints = settings.bind(cells)
        self._pairs = [_pair_rows(one.constraint.rows) for one in self._constraints]
        self.multipliers = [np.zeros(len(rows)) for rows, _ in self._pairs]

    def __call__(self, scores: Any, target: Any, sensitive_features: Any) -> Any:
        """The term, from the scores of a mini-batch."""
        torch = require_torch()
        scores = scores.reshape(-1)
        cells = _encode_cells(target, sensitive_features)
        at = to_float64_array(scores)
        counts = np.bincount(cells.codes, minlength=self._n_cells).astype(np.float64)
        value = 0.0
        slopes = np.zeros(len(at))
        share = len(at) / self.n_samples
        moves = torch.is_grad_enabled() and scores.requires_grad
        for i, one in enumerate(self._constraints):
            rows, bounds = self._pairs[i]
            # Expected sizes in a batch: rates have no bias, whatever groups it has.
            sizes = one.members @ self._cell_counts * share
            by_event = (self.multipliers[i] @ rows) / sizes
            totals = one.negatives @ counts
            for steps, (smooth, slope) in zip(
                one.steps, one._evaluate_terms(at, cells), strict=True
            ):
                weights = (by_event @ steps)[cells.codes]
                value = value + weights @ smooth
                slopes = slopes + weights * slope
                counted = at > 0 if one.counts_decisions else smooth
                totals = totals + steps @ np.bincount(cells.codes, counted, self._n_cells)
            if moves:
                step = self.dual_step * share * (rows @ (totals / sizes) - bounds)
                self.multipliers[i] = np.maximum(0.0, self.multipliers[i] + step)
        return _linear_function(scores, slopes[np.newaxis], np.array([value]))[0]

    def state_dict(self) -> dict:
        """Copies of the multipliers, for ``torch.save``."""
        return {"multipliers": [require_torch().tensor(one) for one in self.multipliers]}

    def load_state_dict(self, state_dict: dict) -> None:
        """Continue from the multipliers of a term with the same constraints and groups."""
        loaded = [one.numpy().copy() for one in state_dict["multipliers"]]
        if [one.shape for one in loaded] != [one.shape for one in self.multipliers]:
            raise ValueError(
                "state_dict must be that of a term with the same constraints and groups, but it "
                f"has {[len(one) for one in loaded]} multipliers in place of "
                f"{[len(one) for one in self.multipliers]}."
            )
        self.multipliers = loaded


def _pair_rows(rows):
    """Rows (n_pairs, n_events) on rates, and their bounds: each ordered pair of a range gap."""
    gap = rows.gap
    bound = float(rows.upper[0])
    if rows.bound.sums.is_quotient or not isinstance(gap, RangeGap):
        raise ValueError(
            f"ConstraintTerm compares rates of pairs of groups, which {rows.bound.name} does not; "
            "use constraint_values."
        )
    pairs = [pair for block in gap.blocks for pair in permutations(block, 2)]
    matrix = np.zeros((len(pairs), rows.n_events))
    for row, (high, low) in zip(matrix, pairs, strict=True):
        row[high], row[low] = gap.scale, -1.0
    return matrix, np.full(len(pairs), bound)


# More samples than those of a mini-batch: earlier ones, and those of other processes.


class RecentScores:
    """Memory of the last samples of a training loop, where mini-batches are too small for groups.

    Called with the tensors of scores, targets and groups (as numbers) of a mini-batch, of shape
    (n_batch,) each, it returns those of the last `n_samples` samples, this batch at the end, for
    `constraint_values`. Only the scores of the batch have gradients. They are multiplied by the
    ratio of both numbers of samples, so that they estimate the gradient over all samples, as those
    of a large batch do.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of samples, if the batch itself has fewer.

    Notes
    -----
    Rates over n samples have a standard deviation of at most ``0.5 / sqrt(n)``, and the upward bias
    of a gap, which is of that order, falls with n likewise. In return the scores of earlier batches
    are those of earlier parameters: values lag behind by up to ``n / batch_size`` steps, and while
    the gap falls they are too large. Keep `n_samples` below the samples of an epoch, and lower the
    learning rate towards the end.

    Examples
    --------
    >>> import torch
    >>> from skfair.torch import RecentScores, constraint_values
    >>> recent = RecentScores(n_samples=4)
    >>> early = recent(torch.tensor([1.0, -1.0]), torch.tensor([1, 0]), torch.tensor([0, 0]))
    >>> scores = torch.tensor([-1.0, -1.0], requires_grad=True)
    >>> samples = recent(scores, torch.tensor([0, 1]), torch.tensor([1, 1]))
    >>> values = constraint_values("demographic_parity", *samples)
    >>> values.backward()
    >>> values.shape, bool((scores.grad < 0).all())
    (torch.Size([1]), True)
    """

    def __init__(self, n_samples: int = 2000):
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, but n_samples={n_samples}.")
        self.n_samples = n_samples
        self._earlier_samples: tuple | None = None

    def __call__(self, scores: Any, target: Any, sensitive_features: Any) -> tuple:
        """Scores, targets and groups of the last samples, those of this batch included."""
        torch = require_torch()
        batch = scores.reshape(-1), target, sensitive_features
        n_earlier = max(0, self.n_samples - len(batch[0]))
        earlier = self._earlier_samples or tuple(one[:0].detach() for one in batch)
        earlier = tuple(
            one[len(one) - min(len(one), n_earlier) :].to(scores.device) for one in earlier
        )
        self._earlier_samples = tuple(
            torch.cat([old, new.detach()]) for old, new in zip(earlier, batch, strict=True)
        )
        factor = len(self._earlier_samples[0]) / max(1, len(batch[0]))
        scaled = _scale_gradient(batch[0], factor)
        return torch.cat([earlier[0], scaled]), *self._earlier_samples[1:]

    def state_dict(self) -> dict:
        """The samples of the memory, for ``torch.save``; see `ConstrainedObjective.state_dict`.

        Returns
        -------
        state_dict : dict
            Copies of the tensors.
        """
        return {"samples": [one.clone() for one in self._earlier_samples or ()]}

    def load_state_dict(self, state_dict: dict) -> None:
        """Continue from the samples of a memory.

        Parameters
        ----------
        state_dict : dict
            What `state_dict` returned.
        """
        self._earlier_samples = tuple(one.clone() for one in state_dict["samples"])


def _scale_gradient(tensor, factor):
    """The same values, with a gradient that is multiplied by a factor."""
    return tensor.detach() + factor * (tensor - tensor.detach())


def gather_samples(scores: Any, target: Any, sensitive_features: Any) -> tuple:
    """Collect the samples of all processes of ``torch.distributed``, for `constraint_values`.

    Gaps are no means over samples: the mean of the gaps of several processes is not the gap of
    their samples. Each process gets all samples, so that rates are those of sums over processes.
    Only its own scores have gradients. They are multiplied by the number of processes, of which
    ``DistributedDataParallel`` takes the mean.

    Parameters
    ----------
    scores : torch.Tensor of shape (n_batch,) or (n_batch, 1)
        Scores of the batch of this process.
    target : torch.Tensor of shape (n_batch,)
        Classes.
    sensitive_features : torch.Tensor of shape (n_batch,) or (n_batch, n_columns)
        Groups, as numbers.

    Returns
    -------
    scores, target, sensitive_features : torch.Tensor
        Of all processes, in the order of their ranks; those passed if ``torch.distributed`` is not
        initialised.

    Examples
    --------
    >>> import torch
    >>> from skfair.torch import gather_samples
    >>> gather_samples(torch.tensor([0.5]), torch.tensor([1]), torch.tensor([0]))[0]
    tensor([0.5000])
    """
    torch = require_torch()
    scores = scores.reshape(-1)
    distributed = torch.distributed
    if not (distributed.is_available() and distributed.is_initialized()):
        return scores, target, sensitive_features
    rank = distributed.get_rank()
    n_processes = distributed.get_world_size()
    local = tuple(one.detach().cpu() for one in (scores, target, sensitive_features))
    batches: list = [None] * n_processes
    distributed.all_gather_object(batches, local)
    columns = [[one.to(scores.device) for one in column] for column in zip(*batches, strict=True)]
    columns[0][rank] = _scale_gradient(scores, n_processes)
    return tuple(torch.cat(column) for column in columns)


# Objectives of a step, with multipliers that move from step to step.


class ConstrainedObjective:
    r"""Loss of a training loop under constraints, which works beside any optimiser of PyTorch.

    It is that of one of the solvers on mini-batches. Called with the mean loss f of a mini-batch
    and the values v of `constraint_values`, or values of one's own that are at most 0 where the
    constraints hold, it returns a tensor without axes, whose gradient the optimiser takes:

    ======================  ====================================================================
    `AdamPrimalDual`        :math:`f + \lambda^T v`; ``step()`` moves the multipliers to
                            :math:`[\lambda + \sigma \bar v]_+`, with the mean of the values since
                            the step before
    `SGD`                   :math:`f + \rho \sum_r [v_r]_+`, a penalty without multipliers
    `SSLALM`                :math:`f + y^T c + \frac{\rho}{2} |c|^2 + \frac{\mu}{2} |x - z|^2` with
                            slack, :math:`c = v + u`; ``mu=0.0`` is ALM
    "spbm"                  :math:`f + \sum_r \lambda_r \pi_r \varphi(v_r / \pi_r) +
                            \frac{\mu}{2} |x - z|^2`; ``step()`` moves multipliers and widths
    `StochasticGhost`       :math:`-d^T x`, with the direction d of the mini-batch, which is biased:
                            `StochasticGhost` itself draws batches of several sizes
    `StochasticSwitching`   f where all values are at most :math:`\epsilon`, else the largest value,
                            times the ratio of the step lengths; ``step()`` counts the "epochs" of
                            which :math:`\epsilon` may be a function
    ======================  ====================================================================

    Learning rate, momentum and schedule are those of the optimiser; ``torch.optim.SGD`` with the
    step length of the solver takes the solver's steps, except that all values are those of one
    mini-batch. SSL-ALM itself draws two, one for each factor of a product.

    Parameters
    ----------
    solver : str or Solver
        One of the above, or its name in :data:`skfair.solvers.SOLVERS`, with the settings of the
        multipliers. Its epochs, batches and learning rate are not used.
    parameters : iterable of torch.Tensor
        Parameters that the optimiser trains.

    Attributes
    ----------
    multipliers : ndarray of shape (n_constraints,) or None
        Multipliers of the values, at least 0; None before the first call, and for methods without.

    Raises
    ------
    ValueError
        If the solver is another one.

    Examples
    --------
    >>> import torch
    >>> from skfair.solvers import AdamPrimalDual
    >>> from skfair.torch import ConstrainedObjective, constraint_values
    >>> _ = torch.manual_seed(0)
    >>> sex = torch.arange(200) % 2
    >>> X = torch.randn(200, 2) + sex[:, None]
    >>> y = (X.sum(dim=1) > 1).float()
    >>> module = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.Adam(module.parameters(), lr=0.05)
    >>> objective = ConstrainedObjective(AdamPrimalDual(dual_step=0.1), module.parameters())
    >>> for _ in range(200):
    ...     scores = module(X)[:, 0]
    ...     loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, y)
    ...     values = constraint_values("demographic_parity", scores, y, sex, tolerance=0.05)
    ...     optimizer.zero_grad()
    ...     objective(loss, values).backward()
    ...     optimizer.step()
    ...     objective.step()
    >>> bool(values < 0.02), bool(objective.multipliers > 0)
    (True, True)
    """

    def __init__(self, solver: str | Solver, parameters: Iterable):
        resolved: Any = resolve_name(SOLVERS, solver, "solver", Solver)
        # An entry of the registry may be a function that makes a solver.
        self.solver: Any = resolved if isinstance(resolved, Solver) else resolved()
        if not isinstance(self.solver, LoopSolver | StochasticGhost):
            raise ValueError(
                "solver must be one of AdamPrimalDual, SGD, SSLALM, StochasticGhost, "
                "StochasticSwitching or 'spbm', whose steps are those of an optimiser of PyTorch "
                f"with another objective, but solver={solver!r}."
            )
        self.parameters = [one for one in parameters if one.requires_grad]
        smooths = getattr(self.solver, "mu", 0.0) > 0
        self._smooth = [one.detach().clone() for one in self.parameters] if smooths else []
        self._state: Any = {} if isinstance(self.solver, StochasticGhost) else None
        self._total, self._n_calls = 0.0, 0  # values since the last step

    @property
    def multipliers(self) -> np.ndarray | None:
        """Multipliers of the values, at least 0; None for methods without."""
        return (self._state or {}).get("multipliers")

    def __call__(self, loss: Any, values: Any) -> Any:
        """The objective of a step, from a mean loss and the values of constraints."""
        if isinstance(self.solver, StochasticGhost):
            return self._follow_ghost_direction(loss, values)
        G = to_float64_array(values)
        if self._state is None:
            self._state = self.solver._start_state(G)
        self._total = self._total + G
        self._n_calls = self._n_calls + 1
        takes_loss, duals, _ = self.solver._weigh(self._state, G, G)
        objective = loss if takes_loss else 0.0
        if duals.any():
            objective = objective + _as_tensor(duals, values) @ values
        # The distance from smoothed parameters, which follow those before the step.
        for x, z in zip(self.parameters, self._smooth, strict=bool(self._smooth)):
            objective = objective + self.solver.mu / 2 * ((x - z) ** 2).sum()
            z.lerp_(x.detach(), self.solver.beta)
        return objective

    def _follow_ghost_direction(self, loss, values):
        """A linear function whose gradient is the negative direction of the ghost method."""
        torch = require_torch()
        gradient, *jacobian = [
            np.concatenate(
                [
                    to_float64_array(one).ravel()
                    for one in torch.autograd.grad(
                        number, self.parameters, retain_graph=True, materialize_grads=True
                    )
                ]
            )
            for number in (loss, *values)
        ]
        jacobian = np.reshape(jacobian, (len(values), len(gradient)))
        move = self.solver._find_direction(gradient, to_float64_array(values), jacobian)
        blocks = np.split(move, np.cumsum([one.numel() for one in self.parameters])[:-1])
        return -sum(
            (_as_tensor(block.reshape(one.shape), one) * one).sum()
            for block, one in zip(blocks, self.parameters, strict=True)
        )

    def step(self) -> None:
        """Move the multipliers; call it after the optimiser's step, or less often."""
        if self._n_calls:
            mean = self._total / self._n_calls
            _, _, self._state = self.solver._weigh(self._state, mean, mean)
            self._total, self._n_calls = 0.0, 0

    def state_dict(self) -> dict:
        """State between two steps, for ``torch.save``, beside those of module and optimiser.

        Returns
        -------
        state_dict : dict
            Copies of the multipliers and of what else the method stores: numbers and tensors on
            the CPU, or on the device of the parameters.
        """
        return {name: _save_value(value) for name, value in self._moving().items()}

    def load_state_dict(self, state_dict: dict) -> None:
        """Continue from a state, with the parameters that were passed to this object.

        Parameters
        ----------
        state_dict : dict
            What `state_dict` of an object with the same solver returned.

        Raises
        ------
        ValueError
            If it is the state of another method, or of an earlier version.
        """
        names = sorted(self._moving())
        saved_names = sorted(state_dict)
        if names != saved_names:
            raise ValueError(
                f"state_dict must have the entries {names} of {type(self.solver).__name__}, but it "
                f"has {saved_names}; pass a state that this version of skfair saved with it."
            )
        loaded = {k: _load_value(value, self.parameters) for k, value in state_dict.items()}
        self._smooth, self._total, self._n_calls = map(loaded.pop, _BETWEEN_STEPS)
        self._state = None if None in loaded.values() else loaded

    def _moving(self):
        """What moves from step to step, by name."""
        state = self._state
        if state is None:  # before the first call
            state = dict.fromkeys(self.solver._start_state(np.empty(0)))
        return state | {name: getattr(self, name) for name in _BETWEEN_STEPS}


_BETWEEN_STEPS = "_smooth", "_total", "_n_calls"
"""Attributes of an objective that change beside the state of its method."""


def _save_value(value):
    """A number, array or list of tensors as `torch.load` takes it, copied."""
    if isinstance(value, np.ndarray):
        return require_torch().tensor(value)
    return [one.clone() for one in value] if isinstance(value, list) else value


def _load_value(value, parameters):
    """What `_save_value` has saved, on the devices of the parameters; copied."""
    if isinstance(value, list):
        return [one.to(like, copy=True) for one, like in zip(value, parameters, strict=bool(value))]
    return value.cpu().numpy().copy() if isinstance(value, require_torch().Tensor) else value


def _as_tensor(values, like):
    """An array as a tensor of the dtype and device of another one."""
    return require_torch().as_tensor(values, dtype=like.dtype, device=like.device)
