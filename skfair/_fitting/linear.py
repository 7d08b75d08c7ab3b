"""Linear models trained under constraints, on data in memory or collections."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from skfair._bound.units import Unit
from skfair._fitting.enforce import enforce_in_population
from skfair._fitting.fitter import Fitter
from skfair._fitting.input import (
    TrainingData,
    assumption_attributes,
    check_missing_group_settings,
    check_training_data,
    choose_positive,
    estimate_missing_groups,
    find_min_group_size,
    make_partitioned,
    partition_problem,
    standardize_target,
)
from skfair._fitting.model import ConstrainedEstimator, check_loss, make_problem, make_solver
from skfair._fitting.outcome import FitTask
from skfair._groups import Groups, Samples
from skfair._groups.arguments import FitArguments
from skfair._groups.groups import (
    check_attribute_label_types,
    check_one_label_type,
    unique_inverse,
)
from skfair._groups.known import encode_groups_for_prediction, warn_of_unclear_labels
from skfair._groups.samples import (
    EncodedBlock,
    SampleSummary,
    check_alignment,
    check_partition,
    partition_error,
)
from skfair._partitions import partitions_of
from skfair._partitions.partitions import SUBSAMPLE_SIZES, sampling_rates
from skfair._problems.linear import (
    GroupInterceptsModel,
    GroupwiseModel,
    LinearModel,
    has_rough_gram,
)
from skfair._problems.model import times_vector
from skfair._problems.problem import needs_subsample
from skfair._utils.checks import (
    check_finite_squares,
    join_names,
    resolve_name,
    to_floats,
    validate_data,
)
from skfair._utils.fit import restore_on_failure
from skfair._utils.parameters import validate_params
from skfair._utils.sklearn import StrOptions, with_callbacks
from skfair.constraints import PARTIAL_CRITERIA, check_applies_to_numbers
from skfair.constraints._constraint import check_whose_tolerance, fill_tolerance
from skfair.losses import OBJECTIVES, LogisticLoss, is_pairwise, step_function
from skfair.solvers import SOLVERS, SQP
from skfair.solvers._solver import choose_rows

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator

    from skfair._partitions.collections import Block
    from skfair._partitions.partitions import Partitions
    from skfair._problems.problem import ConstrainedProblem, Problem
    from skfair._utils.api import MatrixLike
    from skfair._utils.tables import TableLike
    from skfair.constraints import Constraint
    from skfair.constraints._partial import PartialParity


# Base of linear estimators that are trained under constraints.


class ConstrainedLinearEstimator(ConstrainedEstimator):
    """Parameters and predictions of linear estimators that are trained under constraints."""

    __metadata_request__predict = {"sensitive_features": True}

    n_jobs: Any = None
    """Number of threads; a parameter of estimators that use several."""

    missing: Any = "error"
    """What happens to samples without a group; a parameter of some estimators."""

    @property
    def _shares_coefficients(self) -> bool:
        return not self.group_interactions or self.group_interactions == "intercept"

    @property
    def _group_parameters_name(self) -> str:
        """Name of the parameters that each group has for itself, in messages."""
        return "an intercept" if self._shares_coefficients else "coefficients"

    @property
    def _coefficient_names(self) -> tuple[str, str]:
        return (
            "coef_" if self._shares_coefficients else "group_coef_",
            "group_intercept_" if self.group_interactions else "intercept_",
        )

    @property
    def _compares_ranks_alone(self) -> bool:
        """Whether fits under a tighter tolerance are candidates of those under a looser one."""
        has_interval = hasattr(self, "interval")
        confidence = getattr(self, "confidence_level", None)
        return has_interval and self.enforcement is not None and confidence is None

    @restore_on_failure(one_blas_thread=True)
    @with_callbacks
    def _fit_from(self, X: MatrixLike, y: ArrayLike, tighter: Self, **fit_params: Any) -> Self:
        """Fit on percentiles, with the model of a fit at a tighter tolerance as a candidate."""
        return fit_percentiles(self, FitArguments(X=X, y=y, **fit_params), tighter)

    def _scores(self, X: TableLike, sensitive_features: TableLike | None) -> np.ndarray:
        """Score of each row, by the parameters of its group."""
        check_is_fitted(self)
        check_alignment(X=X, sensitive_features=sensitive_features)
        dtypes = [np.float64, np.float32]
        X = validate_data(self, X, accept_sparse="csr", dtype=dtypes, reset=False)
        if not self.group_interactions:
            return times_vector(X, np.ravel(self.coef_)) + np.ravel(self.intercept_)[0]
        reason = (
            f"With group_interactions={self.group_interactions!r} every group has "
            f"{self._group_parameters_name} of its own, so predictions need sensitive_features: "
            "they do not with group_interactions=False."
        )
        codes = encode_groups_for_prediction(
            sensitive_features, X.shape[0], self.groups_, reason, self.handle_unknown
        )
        intercepts = self._append_mean(self.group_intercept_)
        if self._shares_coefficients:
            return times_vector(X, np.ravel(self.coef_)) + intercepts[codes]
        scores = np.empty(X.shape[0])
        for code, coef in enumerate(self._append_mean(self.group_coef_)):
            rows = np.flatnonzero(codes == code)
            scores[rows] = X[rows] @ coef + intercepts[code]
        return scores

    def _append_mean(self, parameters: np.ndarray) -> np.ndarray:
        """Parameters of all groups, and those of an unknown one: their weighted mean."""
        return np.concatenate((parameters, [self._group_shares @ parameters]))


# A fit of a linear model, from its input to the task's end.


def fit_samples(
    estimator: BaseEstimator,
    arguments: FitArguments,
    constraints: list[Constraint],
    previous: ConstrainedLinearEstimator | None = None,
) -> ConstrainedLinearEstimator:
    """A linear classifier or regressor, fitted to samples in memory or partitions.

    Real targets are fitted in units of their standard deviation. The fit starts at the coefficients
    of a `previous` one; without it, at those of the estimator itself if ``warm_start`` is true.
    """
    # Partitioned samples are fitted by sums over partitions, or collected if they are few.
    if arguments.is_partitioned:
        return fit_partitioned(estimator, arguments, constraints, previous)
    # Samples of positive weight, whose missing groups become probabilities of groups.
    if estimator.missing != "error":
        check_missing_group_settings(estimator, constraints, {"group_interactions": False})
    training = check_training_data(estimator, arguments, bool(constraints))
    if training.samples.groups.is_partly_recorded:
        training = estimate_missing_groups(training, estimator.missing)
    check_loss(estimator, "numbers" if training.classes is None else "classes")
    # The penalty must not depend on the unit of y: fit it in standard deviations.
    if training.classes is None:
        training = standardize_target(training, estimator.fit_intercept)
    return fit_linear_model(estimator, arguments, training, constraints, previous=previous)


def fit_linear_model(
    estimator: BaseEstimator,
    arguments: FitArguments,
    training: TrainingData,
    constraints: list[Constraint],
    problem: Problem | None = None,
    previous: ConstrainedLinearEstimator | None = None,
) -> ConstrainedLinearEstimator:
    """A linear classifier, regressor or ranker, fitted to training data under constraints.

    A problem may be passed, such as that of partitioned samples, and a `previous` fit to start at.
    """
    # The problem of the model under constraints, in blocks for threads if samples are very many.
    solver = make_solver(estimator)
    if problem is None:
        model = _make_linear_model(estimator, training)
        problem = make_problem(estimator, model, training, constraints)
        problem = choose_rows(solver, problem)
        if estimator.confidence_level is None and needs_subsample(problem):
            problem = partition_problem(problem, solver, estimator.n_jobs)
    ranks = "ranks" in problem.constraint.metric_inputs
    if estimator.solver == "sqp" and not ranks and estimator.confidence_level is None:
        # Secants cost less than Hessians of many columns, for losses of similar curvature. Fits
        # without folds, for guarantees, start so near their answers that a Hessian costs less.
        if isinstance(problem.loss, LogisticLoss) and has_rough_gram(problem.model):
            solver.hessian = "secants"
    task = FitTask.begin(
        estimator, arguments.X, arguments.y, training, problem, _describe_coefficients
    )
    # From smooth rates to decisions, and on to the population if a confidence is requested.
    options = {"random_state": check_random_state(estimator.random_state), "callback": task.watch}
    if isinstance(estimator.solver, str) and ranks:
        # Residual at which a solver chosen by name stops, where gaps are differences of ranks.
        # Their problems are not convex, and another test ends at another model. So all linear
        # estimators have one.
        solver.tol = 1e-4
    if previous is None and estimator.warm_start:
        previous = estimator
    start = np.zeros(problem.model.n_parameters)
    if previous is not None and all(hasattr(previous, one) for one in previous._coefficient_names):
        start = _make_start(previous, problem.model, training)
    fitter = Fitter(problem, start, solver, options)
    guarantee = enforce_in_population(
        fitter, estimator.enforcement, task.confidence, clusters=training.samples.clusters
    )
    # What predictions need, and the shared thresholds of percentiles; then the outcome.
    candidate = guarantee.candidate
    fitted = _describe_coefficients(estimator, problem.model, candidate.parameters, training)
    if ranks and len(constraints) == 1:
        # The thresholds of percentiles are the auxiliary unknowns of a constraint on ranks.
        thresholds = candidate.result.x[problem.n_parameters :]
        of_groups = thresholds if constraints[0].adds_up else thresholds[:0]
        fitted |= {"thresholds_": training.unit.from_unit(of_groups)}
    return task.finish(fitter, guarantee, fitted)


def _make_linear_model(
    estimator: BaseEstimator, training: TrainingData
) -> GroupInterceptsModel | GroupwiseModel | LinearModel:
    """Make the linear model of an estimator: of features, or with terms for each group."""
    if not estimator.group_interactions:
        X = training.X
        weights = training.samples.weights
        return LinearModel.from_features(X, weights, estimator.fit_intercept, estimator.n_jobs)
    if not training.samples.groups.is_disjoint:
        raise ValueError(
            f"group_interactions={estimator.group_interactions!r} gives every group "
            f"{estimator._group_parameters_name} of its own, but the groups of a sparse "
            "sensitive_features may overlap; pass one label per sample."
        )
    # Small groups share the parameters of the largest one.
    merged, _ = training.samples.merge_small_groups()
    weights = training.samples.weights
    if not estimator._shares_coefficients:
        return GroupwiseModel.from_features(
            training.X, merged.codes, weights, estimator.fit_intercept
        )
    if not estimator.fit_intercept:
        raise ValueError(
            "group_interactions='intercept' gives every group an intercept of its own, but "
            "fit_intercept=False asks for none; leave fit_intercept=True, or pass "
            "group_interactions=False."
        )
    return GroupInterceptsModel.from_features(training.X, merged.codes, weights)


def _describe_coefficients(estimator, model, parameters, training):
    """Return the fitted attributes that predictions need."""
    unit = training.unit
    coef, intercept = model.coefficients(parameters)
    if estimator.group_interactions:
        coef, intercept = _expand_groups(estimator, (coef, intercept), training)
    coef = unit.spread * coef
    intercept = unit.center + unit.spread * intercept
    fitted = {"groups_": training.samples.groups.summary}
    if estimator.missing != "error":
        fitted |= assumption_attributes(training, estimator.missing)
    # In the shapes of scikit-learn's classifiers or regressors.
    if training.classes is not None:
        fitted |= {"classes_": training.classes, "pos_label_": training.pos_label}
        if estimator.group_interactions in (False, "intercept"):
            coef = coef[np.newaxis]
            intercept = np.atleast_1d(intercept)
    if not estimator.group_interactions:
        return {"coef_": coef, "intercept_": intercept} | fitted
    fitted |= {"_group_shares": training.samples.group_shares}
    return dict(zip(estimator._coefficient_names, (coef, intercept), strict=True)) | fitted


def _expand_groups(
    estimator: BaseEstimator,
    coefficients: tuple[np.ndarray, np.ndarray | float],
    training: TrainingData,
) -> tuple[np.ndarray, np.ndarray | float]:
    """Coefficients and intercepts of all groups; small groups share theirs."""
    if not estimator.group_interactions:
        return coefficients
    coef, intercept = coefficients
    _, positions = training.samples.merge_small_groups()
    expanded = np.asarray(intercept)[positions]
    return coef if estimator._shares_coefficients else coef[positions], expanded


def _make_start(
    previous: ConstrainedLinearEstimator,
    model: GroupInterceptsModel | GroupwiseModel | LinearModel,
    training: TrainingData,
) -> np.ndarray:
    """Model parameters to start from: the coefficients of a previous fit."""
    zero = np.zeros(model.n_parameters)
    unit = training.unit
    fitted = [getattr(previous, name) for name in previous._coefficient_names]
    # The previous coefficients must have the shapes that this fit's will have.
    zeros = _expand_groups(previous, model.coefficients(zero), training)
    if [np.size(values) for values in fitted] != [np.size(values) for values in zeros]:
        raise ValueError(
            f"warm_start=True starts from the previous fit's {fitted[0].size} coefficients"
            + (f" and {fitted[1].size} intercepts" if previous.group_interactions else "")
            + f", but X has {zeros[0].shape[-1]} columns"
            + (f" and {np.size(zeros[1])} groups" if previous.group_interactions else "")
            + "; pass warm_start=False."
        )
    coef, intercept = map(np.reshape, fitted, map(np.shape, zeros))
    if previous.group_interactions:  # merged groups share their parameters
        _, positions = training.samples.merge_small_groups()
        first = np.unique(positions, return_index=True)[1]
        coef = coef if previous._shares_coefficients else coef[first]
        intercept = intercept[first]
    return model.parameters(coef / unit.spread, unit.to_unit(intercept))


# What classifiers and regressors under a constraint on an interval of percentiles share.


_PERCENTILE_SOLVERS = {
    name for name, make in SOLVERS.items() if not {"batches", "decisions"} & set(make().requires)
}
"""Solvers of constraints that count no decisions, on all samples at once."""

PercentileSolver = Annotated[str, StrOptions(_PERCENTILE_SOLVERS)]


def fit_percentiles(
    estimator: BaseEstimator,
    arguments: FitArguments,
    previous: ConstrainedLinearEstimator | None = None,
) -> ConstrainedLinearEstimator:
    """An estimator under a constraint on its interval, fitted from a `previous` fit if passed."""
    validate_params(estimator)
    constraint = make_partial_parity(estimator)
    if is_regressor(estimator):
        check_applies_to_numbers(constraint, type(estimator).__name__)
    return fit_samples(estimator, arguments, [constraint], previous)


def make_partial_parity(estimator: BaseEstimator) -> PartialParity:
    """The constraint of an estimator on its interval, passed by name or as an object.

    It carries its tolerance.
    """
    constraint = estimator.constraint
    interval = estimator.interval
    check_whose_tolerance(constraint, estimator.tolerance)
    if isinstance(constraint, str):
        named = PARTIAL_CRITERIA[constraint]((0.0, 1.0) if interval is None else interval)
        return fill_tolerance(named, estimator.tolerance)
    if interval is not None:
        raise ValueError(
            f"interval can be set only for a constraint chosen by name, but constraint is "
            f"{constraint}, which has its own; set it there, or leave interval=None."
        )
    return fill_tolerance(constraint, estimator.tolerance)


# Representatives of partitioned samples: one sample per cell, to which constraints are bound.
#
# A cell is a group and a class; of a real target it is a group. Apart from scores and real targets,
# constraints compare nothing else, so one sample of each cell stands for all of its samples.


def encode_samples(block: Block, name: str, is_real: bool) -> EncodedBlock | TypeError | ValueError:
    """Samples of positive weight of a block with their cells, or what is wrong with the block.

    Errors are returned, so that all partitions are known when the first one is raised.
    """
    try:
        X, weights, groups = check_partition(block, name)
        y = _check_real_target(block["y"], name) if is_real else column_or_1d(block["y"])
        if len(y) and (y != y).any():
            raise ValueError("Input y contains NaN.")
    except (TypeError, ValueError) as error:
        return partition_error(error, block.partition_index)
    weights = np.ones(len(y)) if weights is None else weights
    present = weights > 0
    if not present.all():
        X = X[present]
        y = y[present]
        weights = weights[present]
        groups = groups.take(present)
    # Cells of the block: pairs of a group's labels and a class, 0 of real targets.
    classes, class_codes = unique_inverse(np.zeros(len(y)) if is_real else y)
    cells, codes = unique_inverse(groups.codes * len(classes) + class_codes)
    labels = map(tuple, groups.labels[cells // len(classes)].tolist())
    names: list[tuple[float | str | tuple, ...]] = list(
        zip(labels, classes[cells % len(classes)].tolist(), strict=True)
    )
    return EncodedBlock(
        X,
        names,
        codes,
        None if (weights == 1.0).all() else weights,
        (block.partition_index, block.first),
        target=y if is_real else None,
        attributes=groups.attributes if len(y) else (),
    )


def check_cell_label_types(cells: list[tuple[tuple, float | str]]) -> None:
    """Raise for labels of groups or classes that cannot be compared."""
    check_attribute_label_types([group for group, _ in cells])
    check_one_label_type([label for _, label in cells], "y")


def cell_sort_key(
    cell: tuple[tuple[float | str, ...], float | str],
) -> list[tuple[str, float | str]]:
    """Key that orders cells, whatever labels are."""
    group, label = cell
    return [(str(type(name)), name) for name in (*group, label)]


def make_representatives(summary, estimator, is_real, is_compared):
    """Training data with one sample per cell, which weighs as much as the cell.

    Real targets are 0, in units of their spread; classes need two, one of them positive if groups
    are compared.
    """
    number = {}
    codes = np.array([number.setdefault(group, len(number)) for group, _ in summary.cells])
    labels = np.array([*number], dtype=object)
    # Counts are those of all samples, not of their representatives.
    groups = Groups(
        labels, codes=codes, attributes=summary.attributes, multiplicity=np.asarray(summary.counts)
    )
    warn_of_unclear_labels(groups)
    samples = Samples(
        np.zeros(len(codes)), groups, summary.weights, min_group_size=find_min_group_size(estimator)
    ).largest_first()
    if is_real:
        center = float(summary.mean[-1]) * estimator.fit_intercept
        spread = float(np.sqrt(summary.variance[-1] + (summary.mean[-1] - center) ** 2))
        return TrainingData(None, None, samples, unit=Unit(center, spread or 1.0))
    class_labels = [label for _, label in summary.cells]
    classes = np.unique(class_labels)
    if len(classes) != 2:
        raise ValueError(
            f"{type(estimator).__name__} needs 2 classes among samples of positive sample_weight, "
            f"but partitions have {len(classes)}: {join_names(map(repr, classes.tolist()))}."
        )
    positive = choose_positive(classes, estimator.pos_label, is_compared)
    target = np.where(classes[np.searchsorted(classes, class_labels)] == positive, 1.0, -1.0)
    unit = Unit(spread=1.0 if positive == classes[1] else -1.0)
    return TrainingData(None, classes, samples._replace(target=target), positive, unit)


def _check_real_target(y: np.ndarray, name: str) -> np.ndarray:
    y = to_floats("y", column_or_1d(y))
    y = check_array(y, ensure_2d=False, ensure_min_samples=0, estimator=name, input_name="y")
    check_finite_squares(y, "y")
    return y


# Linear models of partitioned samples: collections of Dask, or files.
#
# Constraints are bound to one sample per group and class (`make_representatives`). Two
# passes come before those of the fit: a summary, and a subsample for the warm start.


_MAX_GATHERED_SAMPLES = SUBSAMPLE_SIZES["linear, partitions"][0]
"""Samples up to which all are gathered and fitted in memory."""


def fit_partitioned(
    estimator: BaseEstimator,
    arguments: FitArguments,
    constraints: list[Constraint],
    previous: ConstrainedLinearEstimator | None = None,
) -> ConstrainedLinearEstimator:
    """The linear classifier or regressor, fitted to partitioned samples.

    Probabilities of groups are refused. Target and scores of a regressor are in units of the
    target's spread. Raises ValueError for what is no sum over samples, or for what is refused in
    memory; the message names the partition.
    """
    _check_partitionable(estimator, constraints, make_solver(estimator), arguments)
    # Summary of all samples, and the problem of their representatives.
    rows = partitions_of(
        estimator.n_jobs,
        X=arguments.X,
        y=arguments.y,
        sensitive_features=arguments.sensitive_features,
        sample_weight=arguments.sample_weight,
    )
    is_real = is_regressor(estimator)
    check_loss(estimator, "numbers" if is_real else "classes")
    blocks = rows.map(encode_samples, type(estimator).__name__, is_real).persist()
    try:
        summary = SampleSummary(blocks, check_cell_label_types, cell_sort_key)
        training = make_representatives(summary, estimator, is_real, bool(constraints))
        # It has the model of all samples, but no scores.
        n_features = len(summary.mean) - is_real
        model = LinearModel.from_moments(
            mean=summary.mean[:n_features],
            variance=summary.variance[:n_features],
            fit_intercept=estimator.fit_intercept,
        )
        frame = make_problem(estimator, model, training, constraints)
        frame = replace(frame, total=float(frame.weights.sum()))
        # The problem on a subsample, which is everything if there are few samples.
        problem = _draw_partitioned_subsample(blocks, frame, training, summary)
        if summary.counts.sum() > _MAX_GATHERED_SAMPLES:
            make_block = partial(_make_block_problem, frame, training, summary.positions)
            # Made again in every pass: stored, it would need more memory than the samples.
            problem = make_partitioned(frame, blocks.map(make_block), problem)  # type: ignore[assignment]
        fit_linear_model(estimator, arguments, training, constraints, problem, previous)
        summary.check_unchanged(blocks)
        return estimator
    finally:
        blocks.release()


def _check_partitionable(
    estimator: BaseEstimator,
    constraints: list[Constraint],
    solver: BaseEstimator,
    arguments: FitArguments,
) -> None:
    """Raise for settings and constraints that are no sums over samples."""
    remedy = "; fit a subsample in memory, or change it."
    if is_pairwise(resolve_name(OBJECTIVES, estimator.loss, "loss")):
        raise ValueError(
            "Partitioned samples cannot be compared in pairs, as "
            f"loss={estimator.loss!r} does{remedy}"
        )
    if not isinstance(solver, SQP) or solver.hessian != "exact":
        raise ValueError(f"Partitioned samples need solver='sqp', got {estimator.solver!r}{remedy}")
    if estimator.confidence_level is not None or estimator.group_interactions:
        raise ValueError(
            "Partitioned samples need confidence_level=None and group_interactions=False, got "
            f"{estimator.confidence_level!r} and {estimator.group_interactions!r}{remedy}"
        )
    if estimator.missing != "error":
        raise ValueError(
            f"Partitioned samples need missing='error', got {estimator.missing!r}{remedy}"
        )
    if arguments.group_probabilities is not None:
        raise ValueError(f"Partitioned samples cannot have group_probabilities{remedy}")
    compare_ranks = [getattr(constraint, "adds_up", False) for constraint in constraints]
    if any(compare_ranks) and not all(compare_ranks):
        raise ValueError(
            "Percentiles of partitioned samples cannot be compared together with rates, but the "
            f"constraints are {constraints}{remedy}"
        )
    for constraint, compares_ranks in zip(constraints, compare_ranks, strict=True):
        # Rates whose cells depend on groups and classes alone.
        has_rates = constraint.terms(step_function, LogisticLoss()) != ()
        is_sum = compares_ranks or (has_rates and not constraint.uses_features)
        if not is_sum:
            raise ValueError(
                f"{constraint} cannot be fitted to partitioned samples: it is neither on means "
                "over groups and classes, nor on the shares of groups above all thresholds "
                "('statistical_parity' on an interval), which are sums over partitions"
                f"{constraint.partitioned_alternative}{remedy}"
            )
    if constraints and arguments.sensitive_features is None:
        raise ValueError(
            "Constraints on partitioned samples need sensitive_features, but none were passed; "
            "pass a collection with the same partitions, or fit without constraint, as "
            "ConstrainedERMClassifier(None) does."
        )


def _make_block_problem(
    frame: ConstrainedProblem,
    training: TrainingData,
    positions: dict[tuple[tuple, float], int],
    block: EncodedBlock,
) -> ConstrainedProblem:
    """Share of a block's samples in the problem of all."""
    return _make_contribution(frame, training, *_block_arrays(block, training, positions))


def _block_arrays(
    block: EncodedBlock, training: TrainingData, positions: dict[tuple[tuple, float], int]
) -> tuple:
    """Features in float64, targets, positions of representatives, and weights of a block."""
    X = np.require(block.X, np.float64, "A")  # aligned, as models expect
    codes = block.recode(positions)
    if block.target is None:  # of classes
        target = training.samples.target[codes]
    else:
        target = training.unit.to_unit(block.target)
    weights = np.ones(len(codes)) if block.weights is None else block.weights
    return X, target, codes, weights


def _make_contribution(
    frame: ConstrainedProblem,
    training: TrainingData,
    X: np.ndarray,
    target: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray,
) -> ConstrainedProblem:
    """Share of samples, given their representatives, in the problem of all."""
    factors = weights / training.samples.weights[codes]
    return replace(
        frame,
        model=frame.model.replace_features(X),
        target=target,
        weights=frame.weights[codes] * factors,
        alpha=0.0,
        constraint=frame.constraint.contribution(codes, factors, target),
    )


def _draw_partitioned_subsample(
    blocks: Partitions, frame: ConstrainedProblem, training: TrainingData, summary: SampleSummary
) -> ConstrainedProblem:
    """The problem on a subsample, with enough samples of every cell."""
    # Every 256th sample, between the limits of the size.
    size = np.clip(summary.counts.sum() / 256, *SUBSAMPLE_SIZES["linear, partitions"])
    rates = sampling_rates(summary.counts, size)
    drawn = blocks.gather(_draw_from_block, training, summary.positions, rates)
    X, *columns = (np.concatenate(column) for column in zip(*drawn, strict=True))
    problem = _make_contribution(frame, training, X.astype(float, copy=False), *columns)
    problem = problem.take(np.arange(len(problem.target)))  # weights of events add up to 1 again
    return replace(problem, alpha=frame.alpha, total=None)


def _draw_from_block(
    block: EncodedBlock,
    training: TrainingData,
    positions: dict[tuple[tuple, float], int],
    rates: np.ndarray,
) -> tuple:
    """Samples of a block, with features as stored, weighted up to those that they are drawn from.

    A block draws the same samples whatever blocks there are besides it.
    """
    X, target, codes, weights = _block_arrays(block, training, positions)
    if not len(X):
        return block.X, target, codes, weights
    seed = [len(X), *X[0].view(np.uint32).tolist()]
    rates = rates[codes]
    rows = np.flatnonzero(np.random.default_rng(seed).uniform(size=len(X)) < rates)
    return block.X[rows], target[rows], codes[rows], weights[rows] / rates[rows]
