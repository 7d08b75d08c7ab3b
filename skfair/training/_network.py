"""Networks, trained under constraints."""

from abc import abstractmethod
from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from skfair.constraints import ConstraintSystem
from skfair.enforcement import Fitter, Guarantee, enforce_in_population
from skfair.models import LinearModel
from skfair.solvers import SQP
from skfair.training._cost import warn_of_cost_to
from skfair.training._dependence import warn_of_dependence
from skfair.training._model import ConstrainedModel, feature_attributes
from skfair.training._outcome import FitProgress, store_fit, warn_of_outcome
from skfair.utils._messages import warn
from skfair.utils._sklearn import Interval

_EXACT = SQP(max_iter=1000, tol=1e-4)
"""Solver of the last layer, whose problem is small and smooth, if often badly conditioned."""


class ConstrainedNetwork(ConstrainedModel):
    """Base of networks that are trained under constraints.

    The solver trains all layers on smooth rates, in single precision. Scores are linear in the last
    layer: this one is then fitted again as a linear model, in double precision, and enforced as
    one, also where a callback or Ctrl-C has ended the training. As for networks of scikit-learn,
    Ctrl-C keeps the best epoch so far; before the first one is over it leaves the earlier fit.

    A subclass has the parameters named below beside those of `ConstrainedModel`. It makes the
    network and keeps what predictions need of it; it checks the input of its ``fit``, and hands it
    to `_fit` with its constraints.
    """

    _parameter_constraints = {
        **ConstrainedModel._parameter_constraints,
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    }

    @abstractmethod
    def _start(self, model, random_state):
        """Model parameters to start from."""

    @abstractmethod
    def _predictor(self, model, parameters, training):
        """The fitted attributes that predictions need."""

    @abstractmethod
    def _scores(self, X):
        """Score of each row."""

    def _prediction_model(self, model, parameters):
        """The trained model as it predicts; networks with batch norms estimate their statistics."""
        return model

    def _fit(self, X, y, training, constraints, weights=None):
        """Train on checked input, and store the fitted attributes."""
        model = self._model(training)
        problem = self._problem_of(model, training, constraints, weights)
        confidence = None if training.lacks_groups else self.confidence_level
        if confidence is not None:
            warn_of_dependence(training.X, training)
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        watch = FitProgress(
            self,
            context,
            lambda evaluation: self._predictor(problem.model, evaluation.parameters, training),
        )
        # Train all layers on smooth rates.
        to_train, strata = problem, _strata(training)
        trained, result, curves = self._train(to_train, strata, watch)
        problem = replace(problem, model=self._prediction_model(problem.model, trained))

        def train_layers(rows):
            """Fitter of the last layer for all samples, with other layers trained on these rows."""
            parameters, _, _ = self._train(to_train.take(rows), strata[rows], watch)
            model = self._prediction_model(to_train.model, parameters)
            return _last_layer_fitter(replace(to_train, model=model), parameters)

        # Enforce the constraint in the last layer.

        if self.enforcement is None and confidence is None:
            fitter, parameters = Fitter(problem, None, self._chosen_solver()), trained
            guarantee = Guarantee(fitter.evaluate(trained, result), problem.constraint.tolerances)
        else:
            fitter = _last_layer_fitter(problem, trained)
            strategy, clusters = self.enforcement, training.samples.clusters
            guarantee = enforce_in_population(fitter, strategy, confidence, train_layers, clusters)
            parameters = _join_layers(fitter, trained, guarantee.candidate)
        fitted = self._outcome(fitter.problem, guarantee, training) | curves
        fitted |= self._predictor(problem.model, parameters, training) | feature_attributes(X)
        fitted["objective_"] = problem.evaluate(problem.initial_point(parameters)).fun
        store_fit(self, fitted | {"n_iter_": watch.n_iter})
        warn_of_outcome(self, fitter.constraint, guarantee)
        if fitter.start is not None and not (training.lacks_groups or watch.is_stopped):
            warn_of_cost_to(fitter, guarantee.candidate, False, confidence is not None)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _train(self, problem, strata, watch):
        """Parameters of all layers, the solver's result, and curves.

        Training is in single precision where batches are drawn, whose noise is larger than its
        errors. A share of each stratum is held out for early stopping.
        """
        solver, random_state = self._chosen_solver(), check_random_state(self.random_state)
        n_parameters, epochs = problem.n_parameters, _Epochs(watch, self.n_iter_no_change)
        start = self._start(problem.model, random_state)
        is_drawn = getattr(solver, "batch_size", np.inf) < len(problem.target)
        problem = replace(
            problem,
            model=problem.model.astype(np.float32 if is_drawn else np.float64),
            constraint=self._batch_constraints(problem.constraint, solver),
        )
        if self.early_stopping:
            rows, held_out = _split(strata, self.validation_fraction, random_state)
            plain = replace(problem, constraint=ConstraintSystem(()))
            problem, epochs.held_out = problem.take(rows), plain.take(held_out)
        x = problem.initial_point(start)
        result = _solve(solver, problem, x, random_state, epochs)
        trained = epochs.best if self.early_stopping else result.x[:n_parameters]
        return trained, result, epochs.curves

    def _batch_constraints(self, constraint, solver):
        """The constraints that the solver can see on mini-batches, which show few ranks."""
        if "majorant" in solver.requires:
            # Rows at one threshold exist only near given scores, which training moves far.
            free = [
                one for one in constraint if one.statistic == "ranks" and not one.is_correctable
            ]
            drawn = [one for one in free if one.rows.draws_majorant]
        else:
            drawn = [one for one in constraint if one.statistic != "ranks"]
        others = [one.name for one in constraint if one not in drawn]
        if others and self.enforcement is None:
            raise ValueError(
                f"enforcement=None trains all layers on mini-batches, but {others[0]} compares "
                "ranks, which batches do not show; pass enforcement='auto', which keeps it in the "
                "last layer."
            )
        return ConstraintSystem(tuple(drawn))


class _Epochs:
    """Callback of a training: its losses, and the best epoch for held-out samples."""

    def __init__(self, watch, patience):
        self.watch = watch
        self.patience = patience
        self.held_out = None  # the objective of held-out samples
        self.latest = None  # what the solver would return, once an epoch is over
        self.best, self._smallest, self._waited = None, (np.inf, np.inf), 0
        self.curves = {"loss_curve_": []}

    def __call__(self, progress):
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
        self._waited += 1
        # As in the solver, the start counts only until there is an epoch.
        if (progress.evaluation.violation, loss) < self._smallest or progress.n_iter == 1:
            self._smallest, self._waited = (progress.evaluation.violation, loss), 0
            self.best = progress.evaluation.parameters
        return is_stopped or self._waited >= self.patience


def _solve(solver, problem, x, random_state, epochs):
    """The result of a training; Ctrl-C ends it with the best epoch so far."""
    try:
        return solver.solve(problem, x, random_state=random_state, callback=epochs)
    except KeyboardInterrupt:
        if epochs.latest is None:
            raise  # nothing was learned yet
        n_epochs = len(epochs.curves["loss_curve_"])
        warn(
            f"Training interrupted after {n_epochs} epochs: the best of them is kept, and its "
            "last layer enforced.",
            ConvergenceWarning,
        )
        return solver.solve(problem, epochs.latest.x, callback=lambda progress: True)


def _last_layer_fitter(problem, parameters):
    """Fitter of the last layer, a linear model of the outputs of the others."""
    last = problem.model.last_layer(parameters)
    *coef, intercept = parameters[-last.n_parameters :]
    last = LinearModel.from_features(last.X, problem.weights)
    return Fitter(replace(problem, model=last), last.parameters(np.array(coef), intercept), _EXACT)


def _join_layers(fitter, trained, candidate):
    """Parameters of the trained layers, with the candidate as the last one."""
    coef, intercept = fitter.problem.model.coefficients(candidate.parameters)
    return np.concatenate((trained[: -len(coef) - 1], coef, [intercept]))


def _strata(training):
    """Class, and group if groups are disjoint, of each sample."""
    positive, groups = training.samples.target > 0, training.samples.groups
    return 2 * groups.codes + positive if groups.is_disjoint else positive.astype(int)


def _split(strata, fraction, random_state):
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
