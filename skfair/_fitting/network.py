"""Networks trained under constraints: all layers on smooth rates, then the last one enforced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from skfair._bound.bound import ConstraintSystem
from skfair._fitting.enforce import enforce_in_population
from skfair._fitting.fitter import Fitter
from skfair._fitting.guarantee import Guarantee
from skfair._fitting.model import make_problem, make_solver
from skfair._fitting.outcome import FitProgressCallback
from skfair._problems.linear import LinearModel
from skfair._utils.checks import warn
from skfair.solvers import SQP

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn.base import BaseEstimator

    from skfair._fitting.input import TrainingData
    from skfair._fitting.outcome import FitTask
    from skfair._problems.evaluation import Evaluation
    from skfair._problems.model import Model
    from skfair._problems.problem import ConstrainedProblem
    from skfair.constraints import Constraint
    from skfair.losses import Loss
    from skfair.solvers import Solver
    from skfair.solvers._solver import Progress, Result


_LAST_LAYER_SOLVER = SQP(max_iter=1000, tol=1e-4)
"""Solver of the last layer, whose problem is small and smooth, if often badly conditioned."""


def make_network_problem(
    estimator: BaseEstimator,
    model: Model,
    training: TrainingData,
    constraints: list[Constraint],
    loss: Loss,
    least_alpha: float,
) -> ConstrainedProblem:
    """The problem of a network with smooth rates; ``alpha=None`` is at least the last argument."""
    problem = make_problem(estimator, model, training, constraints, loss)
    if estimator.alpha is not None:
        return problem
    # Few samples are memorised. They are counted by weights, as if the lightest were one sample.
    weights = training.samples.weights
    return replace(problem, alpha=max(least_alpha, 5.0 * weights.min() / weights.sum()))


def fit_network(
    task: FitTask, to_train: ConstrainedProblem, start: np.ndarray | None, solve: Callable
) -> BaseEstimator:
    """The estimator of a task, with a network that is fitted under the constraints of a problem.

    The solver trains all layers on smooth rates, in single precision unless the model has its own
    dtype; ``solve`` calls it. Scores are linear in the last layer: this one is then fitted again as
    a linear model, in double precision, and enforced as one, also where a callback or Ctrl-C has
    ended the training. As for networks of scikit-learn, Ctrl-C keeps the epochs so far; before the
    first one is over it leaves the earlier fit. ``start`` has the parameters to start from, None
    for those that the model draws.
    """
    estimator = task.estimator
    training = task.training
    # Strata are classes, of groups if these are disjoint.
    groups = training.samples.groups
    strata = (training.samples.target > 0).astype(int)
    if groups.is_disjoint:
        strata += 2 * groups.codes

    def train(part: ConstrainedProblem, strata: np.ndarray) -> tuple:
        """The problem of the trained network as it predicts, its parameters; result and curves."""
        parameters, *outcome = _train(task, part, strata, start, solve)
        model, parameters = to_train.model.finish(parameters)
        return replace(to_train, model=model), parameters, *outcome

    # Train all layers on smooth rates.
    problem, parameters, result, curves = train(to_train, strata)
    # Enforce the constraint in the last layer.
    if estimator.enforcement is None and task.confidence is None:
        fitter = Fitter(problem, None, make_solver(estimator))  # type: ignore[arg-type]
        candidate = fitter.evaluate(parameters, result)
        guarantee = Guarantee(candidate, problem.constraint.tolerances)
    else:
        fitter = _last_layer_fitter(problem, parameters)
        guarantee = enforce_in_population(
            fitter,
            estimator.enforcement,
            task.confidence,
            # Other layers are trained on these rows, the last one has all samples.
            lambda rows: _last_layer_fitter(*train(to_train.take(rows), strata[rows])[:2]),
            training.samples.clusters,
        )
        # The last layer of the trained parameters becomes that of the candidate.
        coef, intercept = fitter.problem.model.coefficients(guarantee.candidate.parameters)
        parameters = np.concatenate((parameters[: -len(coef) - 1], coef, [intercept]))
    evaluation = problem.evaluate(problem.initial_point(parameters))
    _check_enforced(evaluation.scores, guarantee.candidate.scores)
    # What predictions need; then the outcome, but the objective is that of all layers.
    fitted = task.describe(estimator, problem.model, parameters, training)
    return task.finish(fitter, guarantee, curves | fitted | {"objective_": evaluation.fun})


def _train(task, problem, strata, start, solve):
    """Parameters of all layers, the solver's result, and curves.

    Training is in single precision where batches are drawn, whose noise is larger than its
    errors. A share of each stratum is held out for early stopping. Without a solver the parameters
    are those to start from.
    """
    estimator = task.estimator
    solver = make_solver(estimator)
    random_state = check_random_state(estimator.random_state)
    if start is None:
        start = problem.model.initial(random_state)
    if solver is None:
        return start, None, {"loss_curve_": []}
    n_parameters = problem.n_parameters
    epochs = _EpochCallback(task.watch, estimator.n_iter_no_change)
    is_drawn = getattr(solver, "batch_size", np.inf) < len(problem.target)
    model = problem.model
    if hasattr(model, "astype"):  # else its precision is the user's choice
        model = model.astype(np.float32 if is_drawn else np.float64)
    system = _batch_constraints(problem.constraint, solver, estimator.enforcement)
    problem = replace(problem, model=model, constraint=system)
    if estimator.early_stopping:
        rows, held_out = _split_held_out(strata, estimator.validation_fraction, random_state)
        plain = replace(problem, constraint=ConstraintSystem(()))
        problem = problem.take(rows)
        epochs.held_out = plain.take(held_out)
    result = solve(solver, problem, start, random_state, epochs)
    trained = epochs.best if estimator.early_stopping else result.x[:n_parameters]
    return trained, result, epochs.curves


def _batch_constraints(
    system: ConstraintSystem, solver: Solver, enforcement: str | None
) -> ConstraintSystem:
    """The constraints that the solver can see on mini-batches, which show few ranks."""
    if "majorant" in solver.requires:
        # Rows at one threshold exist only near given scores, which training moves far.
        free = [
            one for one in system if one.sums.metric_input == "ranks" and not one.gap.is_correctable
        ]
        drawn = [one for one in free if one.rows.has_batch_majorant]
    else:
        drawn = [one for one in system if one.sums.metric_input != "ranks"]
    others = [one.name for one in system if one not in drawn]
    if others and enforcement is None:
        raise ValueError(
            f"enforcement=None trains all layers on mini-batches, but {others[0]} compares "
            "ranks, which batches do not show; pass enforcement='auto', which keeps it in the "
            "last layer."
        )
    return ConstraintSystem(tuple(drawn))


class _EpochCallback:
    """Callback of a training: its losses, and the best epoch for held-out samples."""

    def __init__(self, watch: FitProgressCallback, patience: int) -> None:
        self.watch = watch
        self.patience = patience
        self.held_out = None  # the objective of held-out samples
        self.latest: Evaluation | None = None  # what the solver would return, once an epoch is over
        self.best = None
        self._smallest = np.full(3, np.inf)
        self._waited = 0
        self.curves: dict[str, list[float]] = {"loss_curve_": []}

    def __call__(self, progress: Progress) -> bool:
        """Record an epoch; True if the training shall stop."""
        is_stopped = self.watch(progress)
        if progress.n_iter > 0:
            self.curves["loss_curve_"].append(progress.evaluation.fun)
            self.latest = progress.best
        if self.held_out is None:
            return is_stopped
        loss = self.held_out.evaluate(progress.evaluation.parameters).fun
        if progress.n_iter > 0:
            self.curves.setdefault("validation_loss_curve_", []).append(loss)
        # Progress is a smaller loss or a smaller violation; the best epoch has the least sum.
        violation = progress.evaluation.violation
        figures = np.array([loss, violation, loss + violation])
        if progress.n_iter <= 1:  # the start counts only until there is an epoch
            self._smallest = np.full(3, np.inf)
        self._waited = 0 if (figures < self._smallest).any() else self._waited + 1
        if figures[-1] < self._smallest[-1]:
            self.best = progress.evaluation.parameters
        self._smallest = np.minimum(self._smallest, figures)
        return is_stopped or self._waited >= self.patience


def solve_or_interrupt(
    solver: Solver,
    problem: ConstrainedProblem,
    start: np.ndarray,
    random_state: np.random.RandomState,
    epochs: _EpochCallback,
) -> Result:
    """The result of a training; Ctrl-C ends it with the epoch that the solver would return."""
    x = problem.initial_point(start)
    try:
        return solver.solve(problem, x, random_state=random_state, callback=epochs)
    except KeyboardInterrupt:
        if epochs.latest is None:
            raise  # nothing was learned yet
        is_last = getattr(solver, "takes_last", False) and epochs.held_out is None
        warn_of_interrupt(len(epochs.curves["loss_curve_"]), "last" if is_last else "best")
        return solver.solve(problem, epochs.latest.x, callback=lambda progress: True)


def warn_of_interrupt(n_epochs: int, rank: str) -> None:
    """Warn that Ctrl-C ended a training, and name the epoch that is kept."""
    warn(
        f"Training interrupted after {n_epochs} epochs: the {rank} of them is kept, and its last "
        "layer enforced.",
        ConvergenceWarning,
    )


def _last_layer_fitter(problem: ConstrainedProblem, parameters: np.ndarray) -> Fitter:
    """Fitter of the last layer, a linear model of the outputs of the others."""
    last = problem.model.last_layer(parameters)
    *coef, intercept = parameters[-last.n_parameters :]
    last = LinearModel.from_features(last.X, problem.weights)
    return Fitter(
        replace(problem, model=last),
        last.parameters(np.array(coef), intercept),
        _LAST_LAYER_SOLVER,
    )


def _check_enforced(scores: np.ndarray, enforced: np.ndarray) -> None:
    """Raise if the network does not decide as the last layer for which the constraint was kept."""
    is_equal = (scores > 0) == (enforced > 0)
    is_equal &= np.isclose(scores, enforced, rtol=1e-6, atol=1e-6 * np.abs(enforced).max())
    if not is_equal.all():
        worst = np.argmin(is_equal)
        raise ValueError(
            "The network must give the scores for which its last layer keeps the constraint, but "
            f"that of training sample {worst} is {scores[worst]:.6g} instead of "
            f"{enforced[worst]:.6g}. Scores must depend on the sample alone, and be the same in "
            "each evaluation: remove random numbers and running statistics of evaluation mode, or "
            "reduce the learning rate if scores have grown without bound."
        )


def _split_held_out(
    strata: np.ndarray, fraction: float, random_state: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and rows held out, the same share of each stratum."""
    held_out = np.zeros(len(strata), dtype=bool)
    for stratum in np.unique(strata):
        rows = random_state.permutation(np.flatnonzero(strata == stratum))
        held_out[rows[: min(len(rows) - 1, round(fraction * len(rows)))]] = True
    if not held_out.any():
        raise ValueError(
            f"early_stopping=True holds out validation_fraction={fraction} of each class of each "
            "group, but that is less than one sample of each; raise it, or pass "
            "early_stopping=False."
        )
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)
