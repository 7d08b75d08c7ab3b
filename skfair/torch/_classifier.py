"""Networks of PyTorch, trained under fairness constraints that their decisions keep."""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Never, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair._fitting.input import check_training_data, warn_if_revealed
from skfair._fitting.model import ConstrainedEstimator, check_loss, estimator_docs
from skfair._fitting.network import (
    fit_network,
    make_network_problem,
    solve_or_interrupt,
    warn_of_interrupt,
)
from skfair._fitting.outcome import FitTask
from skfair._groups.arguments import FitArguments
from skfair._utils.api import Label, MatrixLike, RandomState
from skfair._utils.checks import number_text, warn
from skfair._utils.fit import restore_on_failure
from skfair._utils.parameters import (
    ClassWeight,
    NonNegative,
    OpenShare,
    PositiveInt,
    Verbose,
    make_constructor,
    validate_params,
)
from skfair._utils.sklearn import safe_indexing, with_callbacks
from skfair.classification._classifiers import BinaryClassifier
from skfair.constraints import ConstraintLike, resolve_constraints
from skfair.losses import LogisticLoss, Loss, LossName, Pointwise
from skfair.solvers import AdamPrimalDual, Solver, SolverName
from skfair.solvers._solver import Progress, Result, choose_rows
from skfair.torch._cells import BatchRows, FollowedRows
from skfair.torch._model import (
    FlatModule,
    RandomStream,
    TorchModel,
    check_finite,
    freeze_body,
    make_perceptron,
    scores_of_two_columns,
    to_float64_array,
)
from skfair.torch._samples import (
    LoaderSamples,
    check_device,
    count_lazy,
    make_samples,
    reads_lazily,
    require_torch,
    split_into_slices,
    take_lazy,
    to_array,
)

if TYPE_CHECKING:
    from sklearn.utils import Tags
    from torch import Tensor
    from torch.nn import Module
    from torch.optim import Optimizer

    from skfair._bound.bound import BoundConstraint
    from skfair._fitting.input import TrainingData
    from skfair._fitting.network import _EpochCallback
    from skfair.losses import Loss


_DTYPES = [np.float32, np.float64, np.float16, *map(np.dtype, "bhilqBHI")]
"""Dtypes of numpy that PyTorch has: numbers of others become float32."""


# Steps of a fit.


def _check_samples(
    estimator: ConstrainedTorchClassifier, arguments: FitArguments, compares_groups: bool
) -> TrainingData:
    """`check_training_data` for samples of any shape."""
    X = arguments.X
    if estimator.solver is None and estimator.enforcement is None:
        raise ValueError(
            "solver=None trains no layer and enforcement=None enforces none, so that nothing "
            "is fitted; pass a solver, or enforcement='auto'."
        )
    if reads_lazily(X):
        n_samples = count_lazy(X)
    else:
        samples = check_array(X, dtype=_DTYPES, allow_nd=True, estimator=estimator)
        n_samples = len(samples)
    # Classes, groups and weights are checked with row numbers in place of features.
    positions = np.arange(n_samples)[:, np.newaxis]
    training = check_training_data(estimator, replace(arguments, X=positions), compares_groups)
    rows = training.X[:, 0].astype(np.intp)
    if reads_lazily(X):
        subset = take_lazy(X, rows.tolist())
        return training._replace(X=subset, samples=training.samples._replace(X=None))
    if compares_groups and samples.ndim == 2:
        groups = training.samples.groups
        warn_if_revealed(samples[rows], groups, "where they are a column of X")
    features = safe_indexing(X if hasattr(X, "columns") else samples, rows)
    return training._replace(X=samples[rows], samples=training.samples._replace(X=features))


def _make_torch_model(estimator: ConstrainedTorchClassifier, training: TrainingData) -> TorchModel:
    """The module as a model of the training data."""
    # Initial weights and dropout are drawn from PyTorch's own generators.
    seed = int(check_random_state(estimator.random_state).randint(2**31 - 1))
    with RandomStream(seed, check_device(estimator.device)):
        network = _make_network(estimator, training)
    model = TorchModel(network, training.X, estimator.device, random_state=seed)
    if estimator.solver is None:  # batch norms keep the statistics of their own training
        model.network.freeze_modes()
        if not (estimator.warm_start and hasattr(estimator, "module_")):
            model = freeze_body(model)  # else the body is that of the earlier fit
    start = model.initial()
    if estimator.warm_start and getattr(estimator, "_has_new_layer", False):
        model = model.append_layer(start)
        start = model.initial()
    # Scores of a trained module are of the second class, those of a fit of the positive class.
    if isinstance(estimator.module, require_torch().nn.Module):
        start[-model.network.n_last :] *= training.unit.spread
        model.network.load(start)
    # A module that overflows at its start would fail later, with a message about the solver.
    is_loader = isinstance(training.X, require_torch().utils.data.DataLoader)
    if estimator.solver is not None and not is_loader:  # samples are read once more
        check_finite(model.evaluate(start).scores)
    return model


def _make_network(estimator: ConstrainedTorchClassifier, training: TrainingData) -> Module:
    """The initial module."""
    nn = require_torch().nn
    if estimator.module is None:
        return make_perceptron(make_samples(training.X, "cpu").read(slice(0, 1)))
    module = estimator.module if isinstance(estimator.module, nn.Module) else estimator.module()
    if not isinstance(module, nn.Module):
        raise TypeError(
            "module must be a torch.nn.Module, a callable that returns one, or None, but "
            f"module={estimator.module!r} returns a {type(module).__name__}."
        )
    return module


def _make_loss(estimator: ConstrainedTorchClassifier) -> Loss:
    """The loss of a name, a function or a module."""
    if isinstance(estimator.loss, require_torch().nn.Module):
        return partial(_evaluate_loss, estimator.loss)
    return check_loss(estimator, "classes")


def _find_module(estimator: ConstrainedTorchClassifier, model: TorchModel) -> np.ndarray | None:
    """Model parameters to start from: those of an earlier fit, or None for those of the module."""
    if not (estimator.warm_start and hasattr(estimator, "module_")):
        return None
    start = model.parameters(estimator.module_)
    # Stored scores are of the second class, those of a fit of the positive class.
    if estimator.pos_label_ != estimator.classes_[1]:
        start[-model.network.n_last :] *= -1.0
    return start


def _solve(
    solver: Solver,
    problem: Any,
    start: np.ndarray,
    random_state: np.random.RandomState,
    epochs: _EpochCallback,
) -> Result:
    """The result of a training, by the loop of this module where it reads each sample once."""
    if type(solver) is AdamPrimalDual or isinstance(problem.model.samples, LoaderSamples):
        return train_epochs(solver, problem, start, random_state, epochs)
    return solve_or_interrupt(solver, problem, start, random_state, epochs)


def _describe_module(
    estimator: ConstrainedTorchClassifier,
    model: TorchModel,
    parameters: np.ndarray,
    training: TrainingData,
) -> dict[str, Any]:
    """The fitted attributes that predictions need."""
    if estimator.solver is None:
        _warn_of_two_targets(scores_of_two_columns(model), training.samples)
    # Rescale the last layer, which is linear: stored scores are of the second class.
    parameters = parameters.copy()
    parameters[-model.network.n_last :] *= training.unit.spread
    return {
        "module_": model.module_at(parameters),
        "_has_new_layer": model.has_new_layer,
        "classes_": training.classes,
        "pos_label_": training.pos_label,
        "groups_": training.samples.groups.summary,
    }


def _warn_of_two_targets(scores, samples):
    """Warn where the difference of two columns predicts the classes worse than a constant does."""
    if scores is None:
        return
    weights = samples.weights / samples.weights.sum()
    mean_loss = weights @ LogisticLoss()(scores, samples.target).value
    share = weights @ (samples.target > 0)
    if mean_loss > -xlogy(share, share) - xlogy(1.0 - share, 1.0 - share):
        warn(
            "The two columns that the module returns are taken for the logits of the two classes, "
            "but their difference predicts these worse than a constant does, so that they may be "
            "scores for two targets; pass the layers and the head of one target as the module."
        )


def _warn_of_scaled_scores(module: Module | Callable[..., Module] | None, trained: Module) -> None:
    """Warn where the layer that is enforced only scales and shifts the scores of the module."""
    is_new = hasattr(trained, "module_in_front") and not hasattr(module, "module_in_front")
    if is_new and trained[-1].in_features == 1:
        warn(
            "The last linear layer is fitted again to keep the bound, but the scores are no linear "
            "function of the outputs of one, or it shares its weight with another layer, so that "
            "they are only scaled and shifted: few decisions may remain that keep the bound. End "
            "the module in torch.nn.Linear whose parameters require gradients and are its own, or "
            "pass the layers before its output."
        )


# The network as an estimator.


@estimator_docs
@make_constructor
class ConstrainedTorchClassifier(BinaryClassifier, ConstrainedEstimator):
    r"""Network of PyTorch trained under fairness constraints.

    Minimises, over the parameters of the module that require gradients, the mean loss subject to
    bounds on gaps between groups, as :class:`~skfair.classification.ConstrainedERMClassifier` does
    for linear scores. The module is trained on mini-batches with smooth rates. Then its last linear
    layer is fitted again, all before it held fixed, so that the decisions on the training data keep
    the tolerance exactly. It needs the package ``torch``.

    Read more in the :ref:`guide <networks>`.

    Parameters
    ----------
    module : torch.nn.Module, callable or None, default=None
        The network, which gives one score per sample, or several features that a new last layer
        weighs. Two columns of one linear layer are the logits of the two classes, and never scores
        for two targets. A module starts from the parameters that it has, trains those that require
        gradients in the modes in which its parts are, and is not changed. A callable without
        arguments makes one, ``random_state`` its seed. None is a perceptron with 64 and 32 hidden
        units, in single precision. A module computes in its own dtype; only its last layer is
        enforced in double precision. Columns and images are not standardised: put that into the
        module, or before it in a pipeline.
    constraint : str, Constraint, list of these, or None, default="demographic_parity"
        What must be fair, as in :class:`~skfair.classification.ConstrainedERMClassifier`.
        Constraints on intervals of percentiles compare ranks, which batches do not show: the last
        layer alone keeps them, but with ``solver="stochastic-idca"`` all layers learn them.
    {tolerance}
    confidence_level : float between 0 and 1, or None, default=None
        Level of a guarantee that the population keeps the tolerance too, as in
        :class:`~skfair.classification.ConstrainedMLPClassifier`: five more networks are trained.
        Samples must be independent: where several belong to one person or household, pass
        ``groups``.
    enforcement : {"auto"} or None, default="auto"
        "auto": the last layer is moved until the public metric on the training data keeps the
        bound. None: the network as the solver leaves it, for comparisons.
    loss : str, callable or torch.nn.Module, default="logistic"
        Loss of a score, as in :class:`~skfair.classification.ConstrainedERMClassifier`, or a loss
        of PyTorch with ``reduction="none"``, which gets scores and classes 0 and 1 in double
        precision. The last layer is fitted to it as well, which needs two derivatives.
    alpha : float or None, default=None
        Strength of the l2 penalty on the weights of layers, relative to a mean loss. None is 5 over
        the number of samples, since few samples are memorised, at least 1e-4; with weights it is 5
        times the smallest one over their sum. This minimum is
        smaller than that of :class:`~skfair.classification.ConstrainedMLPClassifier`, because a
        module may be pretrained, or have dropout or normalisation.
    solver : str, Solver or None, default="adam-pd"
        A name in :data:`skfair.solvers.SOLVERS`, which takes its default settings, or an object,
        such as ``AdamPrimalDual(max_iter=20, batch_size=64)`` of :mod:`skfair.solvers`. Iterations
        are epochs, and an epoch is feasible if its violation is at most the solver's ``tol``. None
        trains nothing: the module was trained elsewhere, and its last layer alone is enforced.
    {early_stopping, validation_fraction, n_iter_no_change, class_weight, pos_label}
    device : str or torch.device, default="cpu"
        Where to compute, such as "cuda". Arrays are moved there whole, batches of a dataset as they
        are read. Decisions are judged in double precision, which the device must know.
    warm_start : bool, default=False
        Whether to start from the network of the previous fit.
    random_state : int, RandomState instance or None, default=None
        Seed of new parameters, of the batches, of dropout and of who is held out. On the CPU the
        same seed gives the same network, also in threads; PyTorch's own generators are left as
        they are.
    verbose : int, default=0
        Print every epoch if positive.

    Attributes
    ----------
    module_ : torch.nn.Module
        The trained network in evaluation mode, its last layer in double precision. Its scores are
        positive for the second of the ``classes_``, also where ``pos_label`` is the first, and
        passing it as `module` continues from them. A linear layer with one number as its input is
        appended if the scores are not linear in the parameters of the last one: where it is shared,
        parametrised (weight norm), or not the output for all samples.
    {classes_, pos_label_}
    loss_curve_ : list of float
        Objective of each epoch on the samples trained on: with `AdamPrimalDual` that of the scores
        that its batches gave, before their steps and with dropout; else after the epoch.
    validation_loss_curve_ : list of float
        The same on the samples held out, with ``early_stopping=True``.
    {multipliers_, objective_, constraint_violation_}
    constraint_report_ : DataFrame
        One row per rate that is compared, as in
        :class:`~skfair.classification.ConstrainedERMClassifier`.
    {tolerances_, verdict_, guarantee_probability_, tightened_tolerances_, guaranteed_tolerances_}
    status_ : {"optimal", "feasible", "stopped", "max_iter", "infeasible", "unconstrained"}
        As in :class:`~skfair.classification.ConstrainedMLPClassifier`.
    n_iter_ : int
        Epochs.
    {groups_}
    n_features_in_ : int
        Length of the second axis of X, where it is an array.
    {feature_names_in_}

    See Also
    --------
    skfair.classification.ConstrainedMLPClassifier : A perceptron that needs no PyTorch.
    TorchModel : The module as a model for the solvers.

    Notes
    -----
    X may be an array or a tensor of any shape whose first axis counts the samples, or a
    ``torch.utils.data.Dataset`` that gives a sample by its number, alone or as the first of a
    tuple. A sample with several inputs is a tuple or dict, passed to the module by position or by
    name. A ``DataLoader`` reads its dataset by its workers and its ``collate_fn``; the fit chooses
    batches and their order. `AdamPrimalDual` reads each sample once per epoch, or several times
    where that would be fewer steps than its ``epoch_steps``, and twice or, with batch norm, three
    times afterwards: loss and constraint share a batch, which has its share of every group and
    moves the multipliers. Other solvers evaluate all samples after each epoch. The first two
    samples are read once more. The inputs of the last layer are kept in memory, 8 bytes each. A
    sample without weight is not read. A dataset must give the same sample each time for its
    decision to be kept.

    Integers, such as those of tokens, are passed to the module as they are, unless it computes with
    real numbers alone.

    The scores of the returned module are compared with those that were enforced, on all training
    samples: the fit raises a ValueError if they differ.

    `AdamPrimalDual` trains to the last epoch, other solvers keep the best one. Ctrl-C ends the
    training after the last complete epoch, whose last layer is enforced; with other solvers after
    the best one.

    Scores are evaluated outside ``torch.autocast``, in the fit and in predictions. Called under
    autocast, ``module_`` has other scores, of fewer digits, and near 0 other decisions. Steps of
    the training may be under autocast.

    In training, dropout drops and batch norm normalises by mini-batches. Decisions are those in
    evaluation mode, and the last layer is fitted to that: the means and variances of batch norm are
    measured on all samples first.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> from skfair.metrics import demographic_parity_difference
    >>> from skfair.torch import ConstrainedTorchClassifier
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=400)
    >>> X = rng.normal(size=(400, 2)) + 0.5 * sex[:, np.newaxis]
    >>> y = X[:, 0] * X[:, 1] > 0.2
    >>> def network():
    ...     return nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    >>> model = ConstrainedTorchClassifier(network, tolerance=0.05, random_state=0)
    >>> decisions = model.fit(X, y, sensitive_features=sex).predict(X)
    >>> print(f"{demographic_parity_difference(y, decisions, sensitive_features=sex):.2f}")
    0.03
    """

    module: Callable[..., Any] | None = None
    constraint: ConstraintLike | None = "demographic_parity"
    _: KW_ONLY
    tolerance: NonNegative | None = None
    confidence_level: OpenShare | None = None
    enforcement: Literal["auto"] | None = "auto"
    loss: LossName | Loss = "logistic"
    alpha: NonNegative | None = None
    solver: SolverName | Solver | None = "adam-pd"
    early_stopping: bool = False
    validation_fraction: OpenShare = 0.1
    n_iter_no_change: PositiveInt = 10
    class_weight: ClassWeight | None = None
    pos_label: Label | None = None
    device: Any = "cpu"
    warm_start: bool = False
    random_state: RandomState = None
    verbose: Verbose = 0

    @restore_on_failure(one_blas_thread=False)
    @with_callbacks
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X : array, tensor, Dataset or DataLoader
            Samples of any shape, as in the notes.
        {y, sensitive_features, sample_weight, groups}

        Returns
        -------
        self : ConstrainedTorchClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, or the positive class is ambiguous; the message
            says what must hold.
        """
        validate_params(self)
        constraints = resolve_constraints(self.constraint, self.tolerance)
        arguments = FitArguments(
            X=to_array(X),  # of an accelerator, a copy
            y=y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            groups=groups,
        )
        training = _check_samples(self, arguments, bool(constraints))
        model = _make_torch_model(self, training)
        loss = _make_loss(self)
        # The penalty of many samples, where alpha=None, is 1e-4.
        problem = make_network_problem(self, model, training, constraints, loss, 1e-4)
        task = FitTask.begin(self, X, y, training, problem, _describe_module)
        fit_network(task, problem, _find_module(self, model), _solve)
        if self.enforcement is not None:
            _warn_of_scaled_scores(self.module, self.module_)
        return self

    def _scores(self, X, sensitive_features=None):
        check_is_fitted(self)
        if not reads_lazily(X):
            X = validate_data(self, to_array(X), dtype=_DTYPES, allow_nd=True, reset=False)
        model = TorchModel(self.module_, X, self.device)
        return check_finite(model.evaluate(model.initial()).scores)

    def __reduce_ex__(self, protocol):
        # For pickle, joblib and copies, as of any object.
        return copyreg.__newobj__, (type(self),), self.__getstate__()

    def __reduce__(self) -> Never:
        # For skops, which cannot store tensors.
        raise TypeError(
            "skops cannot store modules of PyTorch. Store the estimator with joblib or pickle, or "
            "the weights alone: torch.save(model.module_.state_dict(), path)."
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.three_d_array = True
        return tags


# Training of all layers by an optimiser of PyTorch, each sample read once per epoch.


def train_epochs(
    solver: AdamPrimalDual,
    problem: Any,
    start: np.ndarray,
    random_state: np.random.RandomState,
    callback: _EpochCallback,
) -> Result:
    """The result of training a module on batches in random order.

    It is `AdamPrimalDual` with an optimiser of PyTorch. Loss and constraint share a batch. The last
    epoch is returned; Ctrl-C returns the last one that is complete.
    """
    if type(solver) is not AdamPrimalDual:
        raise ValueError(
            f"A DataLoader is used by AdamPrimalDual alone, but solver={solver!r}; pass an "
            "AdamPrimalDual, or the dataset of the DataLoader."
        )
    if solver.scheduler is not None and solver.optimizer is None:
        raise ValueError(
            f"scheduler={solver.scheduler!r} changes the learning rate of an optimizer, but "
            "optimizer=None; pass one, such as torch.optim.Adam."
        )
    problem = choose_rows(solver, problem)
    network = problem.model.network.copy()
    network.load(start)
    steps = _EpochTrainer(solver, problem, network)
    n_iter = 0
    latest = None
    try:
        while n_iter < solver.max_iter:
            scores = steps.run_epoch(random_state)
            evaluation = problem.evaluate(network.parameters(network.module))
            evaluation.scores = scores  # those of the epoch: nothing is read again
            n_iter = n_iter + 1
            latest = evaluation
            multipliers = steps.multipliers
            if callback(Progress(n_iter, latest, np.nan, multipliers, {}, latest)):
                break
    except KeyboardInterrupt:
        if latest is None:
            raise  # nothing was learned yet
        warn_of_interrupt(n_iter, "last")
    return _result(latest, steps.multipliers, n_iter)


class _EpochTrainer:
    """Steps on the Lagrangian, and multipliers that each batch moves."""

    def __init__(self, solver: AdamPrimalDual, problem: Any, network: FlatModule) -> None:
        self.solver = solver
        self.problem = problem
        self.network = network
        self.tensors = list(network.tensors.values())
        self.scores = np.full(len(problem.target), np.nan)
        compared = [one for one in problem.constraint if len(one.rows.lower)]
        tables = [_weigh_samples(one) for one in compared]
        self._rows = FollowedRows([BatchRows(one.rows) for one in compared], tables)
        self.duals = self._rows.start()
        self._strata = _find_strata(problem)
        self.step_scheduler = self.epoch_scheduler = None
        # Few samples are passed over several times in an epoch.
        n_samples = len(self.scores)
        size = min(solver.batch_size, len(self.scores))
        self._batches = split_into_slices(max(n_samples, solver.epoch_steps * size), size)
        # Of a multiplier, for each sample of a batch: those of an epoch add up to the dual step.
        self._dual_step = solver.dual_step / self._batches[-1].stop
        if solver.optimizer is None:
            self.optimizer = _make_adam(self.tensors, solver.learning_rate)
            # Its step decreases linearly to 0 at the last one, as that of AdamPrimalDual.
            n_steps = solver.max_iter * len(self._batches)
            schedule = require_torch().optim.lr_scheduler.LambdaLR
            self.step_scheduler = schedule(self.optimizer, lambda k: 1.0 - k / n_steps)
        else:
            self.optimizer = solver.optimizer(self.tensors)
        if solver.scheduler is not None:
            self.epoch_scheduler = solver.scheduler(self.optimizer)

    @property
    def multipliers(self) -> np.ndarray:
        """Multipliers of the rows, (n_rows,), positive at upper and negative at lower bounds."""
        pairs = zip(self._rows.rows, self.duals, strict=True)
        by_constraint = [rows.one_sided.multipliers(duals) for rows, duals in pairs]
        return np.concatenate([np.empty(0), *by_constraint])

    def run_epoch(self, random_state: np.random.RandomState) -> np.ndarray:
        """Train on all samples, and return the scores that their latest batches gave."""
        n_passes = -(-self._batches[-1].stop // len(self.scores))
        passes = [_spread_strata(self._strata, random_state) for _ in range(n_passes)]
        order = np.concatenate(passes)
        batches = [order[rows] for rows in self._batches]
        for rows, inputs in self.problem.model.iter_batches(batches):
            self._step(rows, self.network.outputs(inputs, is_training=True))
        if self.epoch_scheduler is not None:
            self.epoch_scheduler.step()
        return self.scores.copy()

    def _step(self, rows: np.ndarray, outputs: Tensor) -> None:
        """One step from the scores of a batch, with their graph."""
        torch = require_torch()
        problem = self.problem
        scores = self.scores[rows] = check_finite(to_float64_array(outputs))
        target = problem.target[rows]
        losses = problem.loss(scores, target)
        # Mean over the batch, by weights of all samples: unbiased for the mean over these.
        share = len(rows) / len(self.scores)
        slopes = problem.mean_weights[rows] / share * losses.slope
        step = self._dual_step * len(rows)
        slopes += self._rows.follow(self.duals, scores, target, rows, share, step)[1]
        self.optimizer.zero_grad(set_to_none=True)
        outputs.backward(torch.as_tensor(slopes, dtype=outputs.dtype, device=outputs.device))
        for tensor in self.tensors:  # the penalty, as in TorchModel.ridge
            if tensor.ndim > 1 and tensor.grad is not None:
                tensor.grad.add_(tensor.detach(), alpha=problem.alpha)
        self.optimizer.step()
        if self.step_scheduler is not None:
            self.step_scheduler.step()


def _weigh_samples(bound: BoundConstraint) -> np.ndarray:
    """Weights of all samples in each mean of a constraint, (n_samples, n_events)."""
    averaging = bound.sums.events.averaging_matrix.T.tocsr()
    # Dense weights are read faster.
    return averaging.toarray() if averaging.shape[1] <= 16 else averaging


def _find_strata(problem: Any) -> np.ndarray:
    """Code of the events that each sample is in, over all constraints, (n_samples,)."""
    codes = [one.sums.events.membership_codes for one in problem.constraint]
    columns = np.column_stack([np.zeros(len(problem.target), dtype=np.intp), *codes])
    return np.unique(columns, axis=0, return_inverse=True)[1].reshape(-1)


def _spread_strata(strata: np.ndarray, random_state: np.random.RandomState) -> np.ndarray:
    """A random order of samples in which those of every stratum are spread evenly, (n_samples,)."""
    order = random_state.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    sizes = np.bincount(strata)
    starts = np.cumsum(sizes) - sizes
    ranks = np.arange(len(order)) - np.repeat(starts, sizes)
    # Each stratum begins at a random place of its first gap.
    places = (ranks + np.repeat(random_state.uniform(size=len(sizes)), sizes)) / np.repeat(
        sizes, sizes
    )
    return order[np.argsort(places)]


def _make_adam(tensors: list[Tensor | Module], learning_rate: float) -> Optimizer:
    """Adam, in one operation for all tensors where PyTorch has it."""
    torch = require_torch()
    is_fused = all(
        one.device.type in ("cpu", "cuda") and one.dtype in (torch.float32, torch.float64)
        for one in tensors
    )
    return torch.optim.Adam(tensors, lr=learning_rate, fused=is_fused)


def _result(evaluation: Any, multipliers: np.ndarray, n_iter: int) -> Result:
    """The `Result` of a training, which no certificate is known of."""
    status = "infeasible" if evaluation.violation > 0 else "max_iter"
    message = (
        f"The training ended after {n_iter} epochs, whose scores have violation "
        f"{number_text(evaluation.violation, 2)}. "
        "Raise max_iter or batch_size, or take shorter steps."
    )
    answer = evaluation.x, evaluation.fun, evaluation.violation, evaluation
    return Result(*answer, np.nan, multipliers, n_iter, status, message, is_cut_short=True)


# Losses of PyTorch.


def _evaluate_loss(loss: Callable[..., Tensor], scores: Tensor, target: Tensor) -> Pointwise:
    """A loss of PyTorch with ``reduction="none"``, with its derivatives by each sample's score."""
    torch = require_torch()
    at = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
    # Classes are 0 and 1, as losses of PyTorch take them.
    values = loss(at, torch.as_tensor((target > 0).astype(np.float64)))
    if values.shape != at.shape:
        raise ValueError(
            f"loss must return one number per sample, {tuple(at.shape)}, but {loss} "
            f"returns shape {tuple(values.shape)}; pass it with reduction='none'."
        )
    (slope,) = torch.autograd.grad(values.sum(), at, create_graph=True)
    curvature = torch.zeros_like(at)
    if slope.requires_grad:  # a loss that is linear in the score has no second derivative
        (curvature,) = torch.autograd.grad(slope.sum(), at, materialize_grads=True)
    return Pointwise(*(to_float64_array(one) for one in (values, slope, curvature)))
