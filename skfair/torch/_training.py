"""Training of all layers on the batches of a DataLoader, each sample read once per epoch."""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skfair.losses import Pointwise
from skfair.problems import Evaluation
from skfair.solvers import AdamPrimalDual, Progress, Result
from skfair.torch._model import as_float64, check_finite, require_torch
from skfair.utils._checks import warn

_NO_UNKNOWNS = np.empty(0)
"""Auxiliary unknowns of constraints with one row per gap."""


def train_epochs(estimator, solver, problem, start, random_state, callback):
    """The result of training the module of an estimator on batches in random order.

    It is `AdamPrimalDual` with an optimiser of PyTorch: loss and constraint share a batch, and gaps
    are those of the scores that the epoch's batches gave, since another pass would read all samples
    again. The last epoch is returned; Ctrl-C returns the last one that is complete.
    """
    if type(solver) is not AdamPrimalDual:
        raise ValueError(
            "A DataLoader, and an optimizer of one's own, are used by AdamPrimalDual alone, but "
            f"solver={solver!r}; pass an AdamPrimalDual, or the dataset of the DataLoader and "
            "optimizer=None."
        )
    problem = problem.single()  # no auxiliary unknowns
    network = problem.model.network.copy()
    network.load(start)
    steps, n_iter, latest = _Steps(estimator, solver, problem, network), 0, None
    try:
        while n_iter < solver.max_iter:
            scores = steps.run_epoch(random_state)
            evaluation = Evaluation(problem, network.parameters(network.module))
            evaluation.scores = scores  # those of the epoch: nothing is read again
            n_iter, latest = n_iter + 1, evaluation
            multipliers = steps.multipliers
            if callback(Progress(n_iter, latest, np.nan, multipliers, {}, latest)):
                break
    except KeyboardInterrupt:
        if latest is None:
            raise  # nothing was learned yet
        warn(
            f"Training interrupted after {n_iter} epochs: the last of them is kept, and its last "
            "layer enforced.",
            ConvergenceWarning,
        )
    return _result(latest, steps.multipliers, n_iter)


class _Steps:
    """Steps on the Lagrangian, and multipliers that follow the gaps of the latest scores."""

    def __init__(self, estimator, solver, problem, network):
        self.solver = solver
        self.problem = problem
        self.network = network
        self.multipliers = np.zeros(len(problem.lower))
        self.tensors = list(network.tensors.values())
        self.scores = np.full(len(problem.target), np.nan)
        self._event_weights = [None] * len(problem.constraint)
        self.after_step, self.after_epoch = None, None
        if estimator.optimizer is None:
            self._make_adam()
        else:
            self.optimizer = estimator.optimizer(self.tensors)
        if estimator.scheduler is not None:
            self.after_epoch = estimator.scheduler(self.optimizer)

    def _make_adam(self):
        """Adam, whose step decreases linearly to 0 at the last one, as that of AdamPrimalDual."""
        optim, solver = require_torch().optim, self.solver
        self.optimizer = optim.Adam(self.tensors, lr=solver.learning_rate)
        n_steps = solver.max_iter * -(-len(self.scores) // solver.batch_size)
        self.after_step = optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda k: max(0.0, 1.0 - k / n_steps)
        )

    def run_epoch(self, random_state):
        """Train on all samples once, and return the scores that their batches gave."""
        order = random_state.permutation(len(self.scores))
        batches = np.split(order, range(self.solver.batch_size, len(order), self.solver.batch_size))
        due = np.linspace(0, len(batches), self.solver.dual_updates + 1).astype(int)[1:]
        for k, (rows, inputs) in enumerate(self.problem.model.iter_batches(batches), start=1):
            self._step(rows, self.network.outputs(inputs, is_training=True))
            if k in due:
                self._update_multipliers()
        if self.after_epoch is not None:
            self.after_epoch.step()
        return self.scores.copy()

    def _step(self, rows, outputs):
        """One step from the scores of a batch, with their graph."""
        torch, problem = require_torch(), self.problem
        scores = self.scores[rows] = check_finite(as_float64(outputs))
        losses = problem.loss(scores, problem.target[rows])
        # Mean over the batch, by weights of all samples: unbiased for the mean over these.
        weights = problem.mean_weights[rows] * (len(self.scores) / len(rows))
        slopes = weights * losses.slope + self._constraint_slopes(rows, scores)
        self.optimizer.zero_grad(set_to_none=True)
        outputs.backward(torch.as_tensor(slopes, dtype=outputs.dtype, device=outputs.device))
        for tensor in self.tensors:  # the penalty, as in TorchModel.ridge
            if tensor.ndim > 1 and tensor.grad is not None:
                tensor.grad.add_(tensor.detach(), alpha=problem.alpha)
        self.optimizer.step()
        if self.after_step is not None:
            self.after_step.step()

    def _constraint_slopes(self, rows, scores):
        """Slope of the constraints by each score of a batch, at the present multipliers."""
        slopes = np.zeros(len(rows))
        for one, weights in zip(self.problem.constraint, self._event_weights, strict=True):
            if weights is None or not weights.any():
                continue
            try:
                batch = one.take(rows)
            except ValueError:
                continue  # an event has no sample in the batch
            combine = weights[np.newaxis, :]
            jacobian = batch(scores, _NO_UNKNOWNS).jacobian
            slopes += type(jacobian)(combine, jacobian._cells, jacobian._spread).adjoint(np.ones(1))
        return slopes

    def _update_multipliers(self):
        """Move the multipliers by the gaps of the latest scores, and the weights of events."""
        known = np.flatnonzero(np.isfinite(self.scores))
        for i, one in enumerate(self.problem.constraint):
            if not len(one.lower):
                continue
            try:
                one = one if len(known) == len(self.scores) else one.take(known)
            except ValueError:
                continue  # an event has no sample among them yet
            scores = self.scores[known]
            if self.solver.count_decisions:
                one = one.correct(scores)
            rows = one(scores, _NO_UNKNOWNS)
            excess = float(rows.values[0] - one.upper[0])
            multiplier = max(0.0, self.multipliers[i] + self.solver.dual_step * excess)
            self.multipliers[i] = multiplier
            self._event_weights[i] = np.ravel(rows.jacobian.combine) * multiplier


def _result(evaluation, multipliers, n_iter):
    """The `Result` of a training, which no certificate is known of."""
    status = "infeasible" if evaluation.violation > 0 else "max_iter"
    message = (
        f"The training ended after {n_iter} epochs, whose scores have violation "
        f"{evaluation.violation:.2g}. Raise max_iter or batch_size, or take shorter steps."
    )
    answer = evaluation.x, evaluation.fun, evaluation.violation, evaluation
    return Result(*answer, np.nan, multipliers, n_iter, status, message)


# Losses of PyTorch.


class TorchLoss:
    """A loss of PyTorch with ``reduction="none"``, as a loss of numpy arrays with derivatives."""

    def __init__(self, loss):
        self.loss = loss

    def __call__(self, scores, target):
        """Losses of samples with their first and second derivative by the score."""
        torch = require_torch()
        at = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
        # Classes are 0 and 1, as losses of PyTorch take them.
        values = self.loss(at, torch.as_tensor((target > 0).astype(np.float64)))
        if values.shape != at.shape:
            raise ValueError(
                f"loss must return one number per sample, {tuple(at.shape)}, but {self.loss} "
                f"returns shape {tuple(values.shape)}; pass it with reduction='none'."
            )
        (slope,) = torch.autograd.grad(values.sum(), at, create_graph=True)
        curvature = torch.zeros_like(at)
        if slope.requires_grad:  # a loss that is linear in the score has no second derivative
            (curvature,) = torch.autograd.grad(slope.sum(), at, materialize_grads=True)
        return Pointwise(*(as_float64(one) for one in (values, slope, curvature)))
