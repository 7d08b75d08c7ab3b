"""Constraints on tensors, for training loops of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from skfair._utils.api import Tensor
from skfair._utils.checks import resolve_name
from skfair._utils.tables import TableLike
from skfair.constraints import ConstraintLike
from skfair.losses import Loss
from skfair.solvers import SOLVERS, Solver, StochasticGhost
from skfair.solvers._stochastic import LoopSolver
from skfair.torch._cells import ConstraintSettings, encode_cells
from skfair.torch._model import join_entries, to_float64_array
from skfair.torch._samples import disable_autocast, require_torch

# Constraints as differentiable functions of scores.


def constraint_values(
    constraint: ConstraintLike,
    scores: Any,
    target: Any,
    sensitive_features: Any,
    *,
    tolerance: float | None = None,
    surrogate: str | Loss = "sigmoid",
    by_pair: bool = False,
) -> Tensor:
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
    by_pair : bool, default=False
        Whether a gap has a value for each ordered pair of groups (and each class that it compares),
        :math:`r_a - r_b - \mathrm{tolerance}`, in place of the largest one. The methods of papers
        take these upper and lower rows. Sums of many gaps have one value.

    Returns
    -------
    values : torch.Tensor of shape (n_constraints,), or with `by_pair` (n_pairs,)
        In the dtype of the scores, float32 if that has fewer digits. A constraint that has nothing
        to compare among the samples, for example because they are of one group, has the value
        minus its tolerance and the gradient 0.

    Raises
    ------
    ValueError
        If lengths differ, there is no sample, the target is not binary, a constraint is on ranks,
        or a group or a class of it is missing where the constraint needs it, or with `by_pair`
        nothing is compared.

    See Also
    --------
    ConstrainedObjective : Methods of papers, whose multipliers of the values move by steps.
    ConstraintTerm : A term of the loss, with multipliers that samples of all batches move.

    Notes
    -----
    The maximum of noisy rates is too large on average: gaps on mini-batches exceed those on all
    samples, the more the smaller the groups are. `ConstraintTerm` compares each pair of groups in
    both orders, by differences that have no bias.

    Examples
    --------
    >>> import torch
    >>> from skfair.torch import constraint_values
    >>> scores = torch.tensor([2.0, -1.0, 0.5, -2.0], requires_grad=True)
    >>> sex, paid_back = ["f", "f", "m", "m"], [1, 0, 1, 0]
    >>> values = constraint_values("demographic_parity", scores, paid_back, sex, tolerance=0.1)
    >>> values.relu().sum().backward()
    >>> [round(slope, 2) for slope in scores.grad.tolist()]
    [0.05, 0.1, -0.12, -0.05]
    """
    setting = ConstraintSettings(constraint, tolerance, surrogate, by_pair)
    # It is asked here, not in a function that torch.compile may leave, where nothing is compiled.
    is_compiling = require_torch().compiler.is_compiling()
    evaluate = disable_compilation(_evaluate_constraints) if is_compiling else _evaluate_constraints
    return evaluate(setting, scores.reshape(-1), target, sensitive_features)


def _evaluate_constraints(
    setting: Any, scores: Tensor, target: Tensor, sensitive_features: TableLike
) -> Tensor:
    """The values of constraints, (n_values,), as a tensor."""
    cells = encode_cells(target, sensitive_features)
    check_batch_lengths(scores, cells)
    at = to_float64_array(scores)
    bound = setting.bind_to_batch(cells)
    values, slopes = zip(*[evaluate(at, cells) for evaluate in bound], strict=True)
    return linear_function(scores, np.concatenate(slopes), np.concatenate(values))


def check_batch_lengths(scores, cells):
    """Raise for a batch without samples, or of several lengths."""
    if not len(scores):
        raise ValueError(
            "scores must have at least one sample, but there is none; leave empty batches out."
        )
    if len(scores) != len(cells.codes):
        raise ValueError(
            "scores, target and sensitive_features must have one entry per sample, but there are "
            f"{len(scores)} scores and {len(cells.codes)} targets."
        )


def linear_function(scores: Tensor, slopes: Tensor, values: Tensor) -> Tensor:
    """Values with these slopes by the scores, (n_values, n_samples), as a tensor."""
    torch = require_torch()
    device = scores.device
    dtype = torch.promote_types(scores.dtype, torch.float32)
    with disable_autocast(device.type):
        linear = torch.mv(torch.from_numpy(slopes).to(device, dtype), scores.to(dtype))
    # Another constant has the same slopes.
    linear.detach().copy_(torch.from_numpy(values))
    if linear.requires_grad:
        linear.register_hook(_check_first_order)
    return linear


def _check_first_order(gradient: Tensor) -> None:
    """Hook of values: raise where a second derivative, which they do not have, could follow."""
    if require_torch().is_grad_enabled():
        raise RuntimeError(
            "Values of constraints have first derivatives alone, but their gradient was requested "
            "with create_graph=True; differentiate them without it, and other losses in a call of "
            "their own."
        )


_UNCOMPILED_FUNCTIONS: dict[Any, Any] = {}
"""Functions, and what torch.compile leaves as it is of them; no lru_cache, of which it warns."""


def disable_compilation(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which torch.compile calls between two graphs and does not trace."""
    if function not in _UNCOMPILED_FUNCTIONS:
        _UNCOMPILED_FUNCTIONS[function] = require_torch().compiler.disable(function)
    return _UNCOMPILED_FUNCTIONS[function]


# Samples of other processes.


def gather_samples(
    scores: Tensor, target: Tensor, sensitive_features: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
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
    batches: list[Any] = [None] * n_processes
    distributed.all_gather_object(batches, local)
    columns = [[one.to(scores.device) for one in column] for column in zip(*batches, strict=True)]
    # The same values, with a gradient that is multiplied by the number of processes.
    columns[0][rank] = scores.detach() + n_processes * (scores - scores.detach())
    gathered = [torch.cat(column) for column in columns]
    return gathered[0], gathered[1], gathered[2]


# Objectives of a step, with multipliers that move from step to step.


class ConstrainedObjective:
    r"""Loss of a training loop under constraints, which works beside any optimiser of PyTorch.

    It is that of one of the published solvers on mini-batches. Called with the mean loss f of a
    mini-batch and the values v of `constraint_values`, or values of one's own that are at most 0
    where the constraints hold, it returns a tensor without axes, and the optimiser takes its
    gradient:

    ======================  ====================================================================
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
    step length of the solver takes the solver's steps if the values are those of
    ``constraint_values(..., by_pair=True)``, except that all values are those of one mini-batch.
    SSL-ALM itself draws two, one for each factor of a product. Batches must have samples of each
    group. `ConstraintTerm` needs none of this.

    Read more in the :ref:`guide <networks>`.

    Parameters
    ----------
    solver : str or Solver
        One of the above, or its name in :data:`skfair.solvers.SOLVERS`, with the settings of the
        multipliers. Its epochs, batches and learning rate are not used.
    parameters : iterable of torch.Tensor
        Parameters that the optimiser trains.

    Attributes
    ----------
    multipliers : ndarray of shape (n_values,) or None
        Multipliers of the values, at least 0; None before the first call, and for methods without.

    Raises
    ------
    ValueError
        If the solver is another one.

    Examples
    --------
    >>> import torch
    >>> from skfair.solvers import SSLALM
    >>> from skfair.torch import ConstrainedObjective, constraint_values
    >>> _ = torch.manual_seed(0)
    >>> sex = torch.arange(200) % 2
    >>> X = torch.randn(200, 2) + sex[:, None]
    >>> y = (X.sum(dim=1) > 1).float()
    >>> module = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    >>> alm = SSLALM(mu=0.0, rho=1.0, eta=0.1, tau=0.5)
    >>> objective = ConstrainedObjective(alm, module.parameters())
    >>> for _ in range(200):
    ...     scores = module(X)[:, 0]
    ...     loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, y)
    ...     values = constraint_values(
    ...         "demographic_parity", scores, y, sex, tolerance=0.05, by_pair=True
    ...     )
    ...     optimizer.zero_grad()
    ...     objective(loss, values).backward()
    ...     optimizer.step()
    ...     objective.step()
    >>> bool((values < 0.02).all()), int((objective.multipliers > 0.1).sum())
    (True, 1)
    """

    def __init__(self, solver: str | Solver, parameters: Iterable[Tensor]):
        resolved: Any = resolve_name(SOLVERS, solver, "solver", Solver)
        # An entry of the registry may be a function that makes a solver.
        self.solver: Any = resolved if isinstance(resolved, Solver) else resolved()
        if not isinstance(self.solver, LoopSolver | StochasticGhost):
            raise ValueError(
                "solver must be one of SGD, SSLALM, StochasticGhost, StochasticSwitching or "
                "'spbm', whose steps are those of an optimiser of PyTorch with another objective, "
                f"but solver={solver!r}; for the multipliers of AdamPrimalDual add a "
                "ConstraintTerm to the loss."
            )
        self.parameters = [one for one in parameters if one.requires_grad]
        smooths = getattr(self.solver, "mu", 0.0) > 0
        self._smooth = [one.detach().clone() for one in self.parameters] if smooths else []
        self._state: Any = {} if isinstance(self.solver, StochasticGhost) else None
        self._total: np.ndarray | float = 0.0  # values since the last step
        self._n_calls = 0

    @property
    def multipliers(self) -> np.ndarray | None:
        """Multipliers of the values, at least 0; None for methods without."""
        return (self._state or {}).get("multipliers")

    def __call__(self, loss: Any, values: Any) -> Tensor:
        """The objective of a step, from a mean loss and the values of constraints.

        Each step must have the same number of values. Where gradients are disabled, as in
        validation, nothing moves.
        """
        moves = require_torch().is_grad_enabled()
        if isinstance(self.solver, StochasticGhost):
            return self._follow_ghost_direction(loss, values) if moves else loss
        G = to_float64_array(values)
        state = self.solver._start_state(G) if self._state is None else self._state
        _check_number_of_values(state, G)
        # Values of held-out samples, without gradients, move nothing.
        if moves:
            self._state = state
            self._total = self._total + G
            self._n_calls += 1
        takes_loss, duals, _ = self.solver._weigh(state, G, G)
        objective = loss if takes_loss else 0.0
        if duals.any():
            objective = objective + _as_tensor(duals, values) @ values
        # The distance from smoothed parameters, which follow those before the step.
        for x, z in zip(self.parameters, self._smooth, strict=bool(self._smooth)):
            objective = objective + self.solver.mu / 2 * ((x - z) ** 2).sum()
            if moves:
                z.lerp_(x.detach(), self.solver.beta)
        return objective

    def _follow_ghost_direction(self, loss, values):
        """A linear function whose gradient is the negative direction of the ghost method."""
        torch = require_torch()
        by_number = [
            torch.autograd.grad(one, self.parameters, retain_graph=True, materialize_grads=True)
            for one in (loss, *values)
        ]
        gradient, *jacobian = [to_float64_array(join_entries(one)) for one in by_number]
        jacobian = np.reshape(jacobian, (len(values), len(gradient)))
        move = self.solver._find_direction(gradient, to_float64_array(values), jacobian)
        parameters = join_entries(self.parameters)
        return -(_as_tensor(move, parameters) @ parameters)

    def step(self) -> None:
        """Move the multipliers; call it after the optimiser's step, or less often."""
        if self._n_calls:
            mean = self._total / self._n_calls
            _, _, self._state = self.solver._weigh(self._state, mean, mean)
            self._total, self._n_calls = 0.0, 0

    def state_dict(self) -> dict[str, Any]:
        """State between two steps, for ``torch.save``, beside those of module and optimiser.

        Returns
        -------
        state_dict : dict
            Copies of the multipliers and of what else the method stores: numbers and tensors on
            the CPU, or on the device of the parameters.
        """
        return {name: _save_value(value) for name, value in self._moving().items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state, with the parameters that were passed to this object.

        Parameters
        ----------
        state_dict : dict
            What `state_dict` of an object with the same solver returned.

        Raises
        ------
        ValueError
            If it is the state of another method, of an earlier version, or of other parameters.
            A state of another number of values raises at the next call.
        """
        names = sorted(self._moving())
        saved_names = sorted(state_dict)
        if names != saved_names:
            raise ValueError(
                f"state_dict must have the entries {names} of {type(self.solver).__name__}, but it "
                f"has {saved_names}; pass a state that this version of skfair saved with it."
            )
        shapes = [tuple(one.shape) for one in state_dict["_smooth"]]
        expected_shapes = [tuple(one.shape) for one in self._smooth]
        if shapes != expected_shapes:
            raise ValueError(
                f"state_dict must be that of parameters of shapes {expected_shapes}, but it has "
                f"those of shapes {shapes}; pass the parameters of the same module to this object."
            )
        loaded = {k: _load_value(value, self.parameters) for k, value in state_dict.items()}
        self._smooth, self._total, self._n_calls = map(loaded.pop, _BETWEEN_STEPS)
        self._state = None if any(one is None for one in loaded.values()) else loaded

    def _moving(self) -> dict[str, Any]:
        """What moves from step to step, by name."""
        state = self._state
        if state is None:  # before the first call
            state = dict.fromkeys(self.solver._start_state(np.empty(0)))
        return state | {name: getattr(self, name) for name in _BETWEEN_STEPS}


def _check_number_of_values(state: dict[str, Any], G: np.ndarray) -> None:
    """Raise for values of another number than the multipliers of a state."""
    n_multipliers = len(state.get("multipliers", G))
    if n_multipliers != len(G):
        raise ValueError(
            f"values must have one entry for each of the {n_multipliers} multipliers, but they "
            f"have {len(G)}; pass the values of the same constraints and groups in each step, and "
            "load a state of these."
        )


_BETWEEN_STEPS = "_smooth", "_total", "_n_calls"
"""Attributes of an objective that change beside the state of its method."""


def _save_value(value: np.ndarray | list[Tensor] | float) -> Tensor | list[Tensor] | float:
    """A number, array or list of tensors as `torch.load` takes it, copied."""
    if isinstance(value, np.ndarray):
        return require_torch().tensor(value)
    return [one.clone() for one in value] if isinstance(value, list) else value


def _load_value(value, parameters):
    """What `_save_value` has saved, on the devices of the parameters; copied."""
    if isinstance(value, list):
        return [one.to(like, copy=True) for one, like in zip(value, parameters, strict=bool(value))]
    return value.cpu().numpy().copy() if isinstance(value, require_torch().Tensor) else value


def _as_tensor(values: TableLike, like: Tensor) -> Tensor:
    """An array as a tensor of the dtype and device of another one."""
    return require_torch().as_tensor(values, dtype=like.dtype, device=like.device)
