"""Training samples of a wrapper, with scores by estimators that were not fitted to them.

`score_samples` has four steps, each with a record: what is scored and by whom (`ScoringPlan`),
scores out of fold (`FoldScores`), the samples that have scores (`TestedSamples`), and what rules
are fitted to (`ScoredSamples`).
"""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import joblib
import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.utils import column_or_1d, indexable

from skfair._fitting.input import (
    loss_weights,
    refuse_partitioned,
    standardize_target,
    warn_of_dependence,
)
from skfair._fitting.outcome import Subtask
from skfair._postprocessing.costs import read_cost_matrix, to_class_weight
from skfair._postprocessing.events import (
    N_PROBE,
    check_multiclass_support,
    check_ranked_sizes,
    check_training_without_features,
    fill_missing_groups,
    find_events,
    group_codes,
    route_metadata,
    stratify_by_class_and_group,
)
from skfair._postprocessing.folds import check_out_of_bag, make_folds
from skfair._postprocessing.group_models import MAX_NARROW_COLUMNS, fit_classifier
from skfair._postprocessing.out_of_fold_scores import (
    EqualRows,
    check_held_out,
    code_equal_rows,
    cross_fit,
    estimator_noun,
    final_step,
    find_changed_parameter,
    find_operating_point,
    fit_rows,
    score_out_of_fold,
    warn_if_training_data,
)
from skfair._utils.checks import argument_error, explain_conversion, is_int, text_columns, warn
from skfair._utils.copies import hash_rows, key_rows, scramble_bits
from skfair._utils.sklearn import check_method_params, count_samples, safe_indexing
from skfair._utils.tables import to_pandas_table
from skfair.losses import LogisticLoss, step_function

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from sklearn.base import BaseEstimator
    from sklearn.callback import CallbackContext
    from sklearn.utils import Bunch

    from skfair._fitting.input import TrainingData
    from skfair._groups.arguments import FitArguments
    from skfair._groups.groups import Groups
    from skfair._utils.api import CrossValidation
    from skfair._utils.tables import Table, TableLike
    from skfair.constraints import Constraint


# Records of the steps.


class ErrorCosts(NamedTuple):
    """What errors cost in the loss of a rule. Rates of groups keep the sample weights.

    Costs of two classes are in the weights.
    """

    weights: np.ndarray  # of each sample's loss, (n_samples,)
    matrix: np.ndarray | None  # by true and predicted class; None where no parameter states it


class ScoringPlan(NamedTuple):
    """What is scored, and by which estimators.

    The training data are the samples of positive weight, with the rows of X as they were passed.
    Their order is that of their contents, unless a splitter of the user reads the order of rows.
    """

    base: BaseEstimator  # the wrapped one, of which clones are fitted
    arguments: FitArguments
    training: TrainingData
    rows: np.ndarray  # positions of the training samples among those passed, (n_samples,)
    costs: ErrorCosts
    fit_params: dict[str, np.ndarray]  # of the fit of the base, a value for each training sample
    folds: list[list[np.ndarray]]  # training and test positions, among the training samples
    context: CallbackContext

    @property
    def tested_samples(self) -> np.ndarray:
        """Positions of the training samples that a fold tests, ascending."""
        return np.sort(np.concatenate([test for _, test in self.folds]))

    @property
    def tests_all(self) -> bool:
        """Whether each training sample is tested by a fold."""
        return len(self.tested_samples) == len(self.rows)


class FoldScores(NamedTuple):
    """Scores of the training samples, and the estimators that score them."""

    estimators: list[BaseEstimator]  # one for each fold, or one
    scores: np.ndarray  # (n_samples, n_scores); nan where no fold tests a sample


class TestedSamples(NamedTuple):
    """The training samples that have scores out of fold. Models of groups get folds of them."""

    training: TrainingData
    rows: np.ndarray  # positions among the samples that were passed
    costs: ErrorCosts
    scores: np.ndarray  # (n_samples, n_scores)
    tests: list[np.ndarray]  # positions of the samples that each estimator scores
    folds: list[list[np.ndarray]]


class Scorers(NamedTuple):
    """Estimators that score samples."""

    training: list[BaseEstimator]  # by which training samples are scored, out of fold
    new: list[BaseEstimator]  # by which new samples are scored
    digests: dict[str, str]  # of the samples and folds; empty if fold models are not kept


class SharedGroupModel:
    """The `GroupModel` of scored samples, once a rule needed it.

    Rules of one ladder compare the same events, so that they share it.
    """

    model: Any = None


class ScoredSamples(NamedTuple):
    """Samples of positive weight, scored by estimators that were not fitted to them.

    But for ``constraints`` it does not depend on tolerances and levels.
    """

    training: TrainingData
    rows: np.ndarray  # positions among the samples that were passed
    per_class: list[TrainingData]  # of each score: of each class, of two classes, or a real target
    costs: ErrorCosts
    constraints: list[Constraint]  # none without groups
    scores: np.ndarray  # (n_samples, n_scores), equal for many rows of equal features
    equal_rows: EqualRows  # rows of equal features, which no rule may tell apart
    folds: list[list[np.ndarray]]  # training and test positions
    scorers: Scorers
    context: CallbackContext
    group_model: SharedGroupModel
    operating_point: float | None  # score from which on the positive class is predicted

    def replace_request(
        self, estimator: BaseEstimator, constraints: list[Constraint]
    ) -> ScoredSamples:
        """Return the same samples and folds for an estimator of another tolerance or level."""
        check_request(estimator, self.training, constraints)
        constraints = [] if self.training.lacks_groups else constraints
        return self._replace(constraints=constraints, context=begin_fit(estimator))

    def replace_groups(self, groups: Groups) -> ScoredSamples:
        """Return the same samples and folds with other groups."""
        training, *per_class = (
            one._replace(samples=one.samples._replace(groups=groups))
            for one in (self.training, *self.per_class)
        )
        return self._replace(training=training, per_class=per_class)


# The steps.


def score_samples(
    estimator: BaseEstimator,
    arguments: FitArguments,
    constraints: list[Constraint],
    params: dict[str, np.ndarray],
    *,
    X_fit: Table | None = None,
    keeps_models: bool = False,
) -> ScoredSamples:
    """Score the samples that ``fit`` was passed by estimators that were not fitted to them.

    ``params`` are further arguments of the wrapped estimator's ``fit``. With ``keeps_models`` its
    models of the last fit score the samples, which must be those of that fit.
    """
    plan = _plan_scores(estimator, arguments, constraints, params, X_fit)
    digests = _digest_fit(plan)
    if keeps_models:
        _check_same_fit(estimator, digests)
        fitted = _score_by_last_fit(estimator, plan)
    else:
        fitted = _fit_folds(estimator, plan)
    _check_columns(estimator, plan, fitted.scores)
    if X_fit is None and not keeps_models:
        # Trees and stored samples show the order in which they were fitted.
        passed = np.argsort(plan.rows)
        X = safe_indexing(plan.training.samples.X, passed)
        labels = plan.training.labels[passed]
        warn_if_training_data(plan.base, estimator.cv, X, labels, fitted.scores[passed])
    new = _estimators_of_new_samples(estimator, plan, fitted)
    keeps_folds = new is fitted.estimators
    scorers = Scorers(fitted.estimators, new, digests if keeps_folds else {})
    tested = _select_tested(estimator, plan, fitted)
    return _prepare_for_rules(estimator, plan, tested, scorers, constraints)


def _plan_scores(
    estimator: BaseEstimator,
    arguments: FitArguments,
    constraints: list[Constraint],
    params: dict[str, np.ndarray],
    X_fit: Table | None,
) -> ScoringPlan:
    """Check the input of a fit, and divide its samples into folds."""
    base = estimator._base
    training, rows = _check_training(estimator, arguments, constraints)
    check_request(estimator, training, constraints)
    costs = _read_costs(estimator, training)
    check_held_out(base, estimator.cv, arguments.X, X_fit, rows)
    context = begin_fit(estimator, X=arguments.X, y=arguments.y)
    fit_params, split_params = route_metadata(estimator, base, arguments, params)
    _warn_of_unrouted_weights(estimator, base, arguments, fit_params)
    y = column_or_1d(arguments.y)
    cv = _choose_cv(estimator.cv, arguments, training)
    if isinstance(cv, Integral):
        order = order_by_content(training, arguments.groups, rows)
        training = _reorder(training, order)
        rows = rows[order]
        costs = _read_costs(estimator, training)
    fit_params = check_method_params(y, fit_params, indices=rows)
    folds = _divide(estimator, arguments, training, rows, cv, split_params)
    return ScoringPlan(base, arguments, training, rows, costs, fit_params, folds, context)


def _divide(
    estimator: BaseEstimator,
    arguments: FitArguments,
    training: TrainingData,
    rows: np.ndarray,
    cv: CrossValidation,
    split_params: Bunch | dict | None = None,
) -> list[list[np.ndarray]]:
    """Return folds of the training samples, in the strata of their classes and groups."""
    y = column_or_1d(arguments.y)
    X = arguments.X
    groups = arguments.groups
    if isinstance(cv, Integral):  # divide the training samples in the order in which they are
        X = training.samples.X
        y = y[rows]
        groups = None if groups is None else np.asarray(groups)[rows]
        rows = np.arange(len(rows))
    strata = stratify_by_class_and_group(training, rows, len(y))
    # A fitted classifier learns no class in the folds.
    is_fitted = estimator.cv == "prefit" or isinstance(estimator._base, FrozenEstimator)
    return make_folds(
        cv,
        X,
        y,
        strata,
        split_params,
        groups,
        is_real=training.classes is None or is_fitted,
        covers_all=not estimator.may_leave_out_samples,
    )


def order_by_content(
    training: TrainingData, groups: TableLike | None, rows: np.ndarray
) -> np.ndarray:
    """Return the order of training samples that does not depend on that of the rows, (n_samples,).

    Numbers of 64 bits that look random, made of features, target, group, weight and ``groups``,
    sort the samples: models that learn in the order of rows see no trend. Samples of equal numbers
    are equal. Names of classes and groups have no part in it: labels count by their numbers of
    samples. Features that cannot be compared leave the order as it is.
    """
    keys = key_rows(training.samples.X)
    if keys is None:
        return np.arange(len(rows))
    # Ranks, which have no unit.
    labels = training.labels
    columns = [
        _rank_values(labels) if training.classes is None else _rank_by_content(labels, keys),
        _rank_by_content(group_codes(training.samples.groups), keys),
        _rank_values(training.samples.weights),
    ]
    if groups is not None:
        columns.append(_rank_by_content(np.asarray(groups)[rows], keys))
    for column in columns:
        keys = scramble_bits(keys ^ column.astype(np.uint64))
    return np.argsort(keys, kind="stable")


def _rank_values(values: np.ndarray) -> np.ndarray:
    """Return the rank of each number among the distinct ones, (n_samples,)."""
    return np.unique(values, return_inverse=True)[1]


def _rank_by_content(labels: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return ranks of labels by their number of samples, then by the sum of the samples' keys."""
    codes = pd.factorize(labels)[0]
    counts = np.bincount(codes)
    sums = np.zeros(len(counts), dtype=np.uint64)
    np.add.at(sums, codes, keys)  # integers, whose sum does not depend on the order
    ranks = np.empty(len(counts), dtype=np.intp)
    ranks[np.lexsort((sums, counts))] = np.arange(len(counts))
    return ranks[codes]


def _reorder(training: TrainingData, order: np.ndarray) -> TrainingData:
    """Return the training samples in another order."""
    samples = training.samples
    names = ("target", "weights", "X", "clusters", "group_probabilities")
    columns = {name: getattr(samples, name) for name in names}
    moved = {name: safe_indexing(one, order) for name, one in columns.items() if one is not None}
    samples = samples._replace(groups=samples.groups.subset(order), **moved)
    return training._replace(X=training.X[order], samples=samples)


def _fit_folds(estimator: BaseEstimator, plan: ScoringPlan) -> FoldScores:
    """Fit an estimator for each fold, and score the samples that it was not fitted to."""
    # "prefit" and "oob" fit the estimator once at most.
    is_named = isinstance(estimator.cv, str)
    cv, n_fits = (estimator.cv, None) if is_named else (plan.folds, len(plan.folds))
    name = f"{estimator_noun(plan.base)}s"
    with Subtask(estimator, plan.context, name, max_subtasks=n_fits) as step:
        estimators, scores = cross_fit(
            plan.base,
            plan.training.samples.X,
            plan.training.labels,
            cv,
            params=plan.fit_params,
            n_jobs=estimator.n_jobs,
            subtask=step.subtask,
            memory=estimator.memory,
        )
    return FoldScores(estimators, scores)


def _score_by_last_fit(estimator: BaseEstimator, plan: ScoringPlan) -> FoldScores:
    """Score the samples of the last fit again, by its models."""
    folds = estimator.cv if isinstance(estimator.cv, str) else plan.folds
    scores = score_out_of_fold(estimator.estimators_, plan.training.samples.X, folds)
    return FoldScores(estimator.estimators_, scores)


def _check_columns(estimator: BaseEstimator, plan: ScoringPlan, scores: np.ndarray) -> None:
    """Raise for a regressor that predicts more columns than a rule reads."""
    if plan.training.classes is None and scores.shape[1] > estimator.max_columns:
        raise ValueError(
            f"A regressor must predict one number for each sample, but {type(plan.base).__name__} "
            f"predicts {scores.shape[1]}. Pass a 1-D target y."
        )


def _estimators_of_new_samples(
    estimator: BaseEstimator, plan: ScoringPlan, fitted: FoldScores
) -> list[BaseEstimator]:
    """Return the estimators of the folds, or one that is fitted to all samples."""
    is_cross_fitted = len(fitted.estimators) > 1 or not plan.tests_all
    if estimator.ensemble or not is_cross_fitted:
        return fitted.estimators
    training = plan.training
    rows = np.arange(len(training.labels))
    task = Subtask(estimator, plan.context, f"{estimator_noun(plan.base)} of all samples")
    of_all = fit_rows(
        plan.base,
        training.samples.X,
        training.labels,
        plan.fit_params,
        rows,
        task,
        estimator.memory,
    )
    return [of_all]


def _select_tested(
    estimator: BaseEstimator, plan: ScoringPlan, fitted: FoldScores
) -> TestedSamples:
    """Return the samples that a fold tests, to which rules are fitted."""
    tested = plan.tested_samples
    n_estimators = len(fitted.estimators)
    tests = [test for _, test in plan.folds]
    if plan.tests_all:
        tests = tests if n_estimators > 1 else [tested]
        return TestedSamples(plan.training, plan.rows, plan.costs, fitted.scores, tests, plan.folds)
    training = _take(plan.training, tested)
    # Models of groups are fitted to folds of these samples.
    of_groups = n_estimators if n_estimators > 1 else _choose_cv(None, plan.arguments, training)
    order = order_by_content(training, plan.arguments.groups, plan.rows[tested])
    training = _reorder(training, order)
    rows = plan.rows[tested[order]]
    position = np.argsort(order)
    return TestedSamples(
        training=training,
        rows=rows,
        costs=_read_costs(estimator, training),
        scores=fitted.scores[tested[order]],
        tests=[position[np.searchsorted(tested, test)] for test in tests],
        folds=_divide(estimator, plan.arguments, training, rows, of_groups),
    )


def _prepare_for_rules(
    estimator: BaseEstimator,
    plan: ScoringPlan,
    tested: TestedSamples,
    scorers: Scorers,
    constraints: list[Constraint],
) -> ScoredSamples:
    """Complete the groups, and make equal the scores of rows that no rule may tell apart."""
    training = _fill_groups(estimator, tested, scorers)
    # New samples of equal features get equal predictions.
    equal_rows = EqualRows(code_equal_rows(scorers.training, training.samples.X), tested.folds)
    per_class = _divide_by_score(estimator, training)
    operating_point = None
    if _has_operating_point(estimator, per_class):
        operating_point = find_operating_point(
            scorers.training, training.samples.X, tested.tests, tested.scores[:, 0]
        )
    return ScoredSamples(
        training=training,
        rows=tested.rows,
        per_class=per_class,
        costs=tested.costs,
        constraints=[] if training.lacks_groups else constraints,
        scores=equal_rows.average(tested.scores),
        equal_rows=equal_rows,
        folds=tested.folds,
        scorers=scorers,
        context=plan.context,
        group_model=SharedGroupModel(),
        operating_point=operating_point,
    )


def _fill_groups(estimator: BaseEstimator, tested: TestedSamples, scorers: Scorers) -> TrainingData:
    """Return the training data, where a missing group counts by its probabilities."""
    training = tested.training
    if not training.samples.groups.is_partly_recorded:
        return training
    return fill_missing_groups(
        training,
        tested.scores,
        bases=scorers.training,
        group_estimator=estimator.group_estimator,
        folds=tested.folds,
        n_jobs=estimator.n_jobs,
    )


def _divide_by_score(estimator: BaseEstimator, training: TrainingData) -> list[TrainingData]:
    """Return the training data of each score: one, or one for each of several classes."""
    if training.classes is None:
        # The penalty must not depend on the unit of a real target: fit it in standard deviations.
        return [standardize_target(training, True)]
    return training.one_vs_rest(estimator.pos_label)


def _has_operating_point(estimator: BaseEstimator, per_class: list[TrainingData]) -> bool:
    """Return whether decisions of the estimator itself show what errors cost."""
    is_binary = per_class[0].classes is not None and len(per_class) == 1
    # Out of a bag, samples were scored by other trees than predict.
    is_out_of_bag = isinstance(estimator.cv, str) and estimator.cv == "oob"
    return is_binary and not states_costs(estimator) and not is_out_of_bag


# Checks and facts of the steps.


def states_costs(estimator: BaseEstimator) -> bool:
    """Whether a parameter says what errors cost, in place of the estimator's own decisions."""
    return estimator.class_weight is not None or estimator.cost_matrix is not None


def _read_costs(estimator: BaseEstimator, training: TrainingData) -> ErrorCosts:
    """Return what errors cost by the parameters of the estimator."""
    classes = training.classes
    class_weight = estimator.class_weight
    if classes is None or not states_costs(estimator):
        return ErrorCosts(loss_weights(None, training), None)
    costs = None
    if estimator.cost_matrix is not None:
        if class_weight is not None:
            raise argument_error(
                f"cost_matrix has the costs of all errors, so that class_weight={class_weight!r} "
                "must be None: multiply the row of each class by its weight."
            )
        costs = read_cost_matrix(estimator.cost_matrix, classes)
    if len(classes) == 2:
        class_weight = class_weight if costs is None else to_class_weight(costs, classes)
        return ErrorCosts(loss_weights(class_weight, training), None)
    weights = training.samples.weights
    if costs is None:
        # An error about a sample costs the weight of its class, whatever is predicted.
        first = np.unique(training.labels, return_index=True)[1]
        by_class = (loss_weights(class_weight, training) / weights)[first]
        costs = by_class[:, np.newaxis] * (1.0 - np.eye(len(classes)))
    return ErrorCosts(weights, costs)


def _digest_fit(plan: ScoringPlan) -> dict[str, str]:
    """Return digests by argument of ``fit``: of rows of X, targets, groups, weights and folds."""
    passed = np.argsort(plan.rows)  # the order in which samples were passed
    training = _reorder(plan.training, passed)
    samples = training.samples
    groups = samples.groups
    members = groups.codes if groups.is_disjoint else [*sparse.find(groups.matrix)]
    contents = {
        "X": hash_rows(to_pandas_table(samples.X)),
        "y": hash_rows(pd.DataFrame({"y": training.labels})),
        "sensitive_features": [groups.labels.tolist(), members],
        "group_probabilities": samples.group_probabilities,
        "sample_weight": [plan.rows[passed], samples.weights],
        "cv": [[plan.rows[rows] for rows in fold] for fold in plan.folds],
    }
    return {name: joblib.hash(content) for name, content in contents.items()}


def _check_same_fit(estimator: BaseEstimator, digests: dict[str, str]) -> None:
    """Raise unless the estimator's models are those of the folds, and were fitted to these samples.

    The parameters of the wrapped estimator must be those of the fit, too.
    """
    loses_models = len(estimator.estimators_) > 1 and not estimator.ensemble
    if loses_models or not estimator._fit_digests:
        raise argument_error(
            "ensemble must be True for refit_rule, since ensemble=False does not keep the models "
            "that score the training samples. Call fit: with memory= it fits no fold again."
        )
    if digests["X"] == joblib.hash(None):
        raise argument_error(
            "X must be an array, a DataFrame or a sparse matrix of numbers or texts for "
            "refit_rule, which compares it with the rows of the fit. Call fit."
        )
    for name, digest in digests.items():
        if digest != estimator._fit_digests[name]:
            advice = "Pass what fit was passed, with rows in the same order"
            if name == "cv":
                advice = "Pass the same groups, and a splitter with a fixed random_state"
            raise argument_error(
                f"{name} must be as in the last fit, whose models score its samples again, but "
                f"differs from it. {advice}, or call fit."
            )
    changed = find_changed_parameter(estimator._base, estimator.cv, estimator.estimators_[0])
    if changed is not None:
        raise argument_error(
            f"estimator must have the parameters of the last fit, whose models are kept, but "
            f"{changed} is another one. Call fit."
        )


def _take(training: TrainingData, rows: np.ndarray) -> TrainingData:
    """Some of the training samples."""
    samples = training.samples.take(rows)._replace(X=safe_indexing(training.samples.X, rows))
    return training._replace(samples=samples)


def begin_fit(estimator: BaseEstimator, **columns: Any) -> CallbackContext:
    """The context of a fit's callbacks, which have been called."""
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, **columns)
    return context


def check_request(
    estimator: BaseEstimator, training: TrainingData, constraints: list[Constraint]
) -> None:
    """Raise for constraints and levels that the classes and groups do not allow."""
    if training.classes is not None:
        confidence = None if estimator.guarantees_many_classes else estimator.confidence_level
        check_multiclass_support(len(training.classes), constraints, confidence)
    if estimator.k is not None:
        _check_selection(estimator, training, constraints)
    if not (training.lacks_groups or training.samples.groups.is_partly_recorded):
        check_ranked_sizes(training.samples, constraints)


def _check_training(
    estimator: BaseEstimator, arguments: FitArguments, constraints: list[Constraint]
) -> tuple[TrainingData, np.ndarray]:
    """Training data of positive weight, with the rows of X as they were passed; positions."""
    X = arguments.X
    refuse_partitioned(estimator, X)
    check_out_of_bag(estimator.cv, arguments.groups)
    training, rows = check_training_without_features(estimator, arguments, bool(constraints))
    if (
        estimator.group_estimator == "sensitive_features"
        and not estimator.knows_overlapping_groups
        and not training.samples.groups.is_disjoint
    ):
        raise ValueError(
            "group_estimator='sensitive_features' needs one group per sample, but the groups "
            "passed may overlap or be missing; pass one label per sample."
        )
    (X,) = indexable(X)
    X = X if len(rows) == count_samples(X) else safe_indexing(X, rows)
    training = training._replace(samples=training.samples._replace(X=X))
    _check_reads_text(estimator._base, estimator.group_estimator, X)
    if estimator.confidence_level is not None:
        warn_of_dependence(training.samples.X, training)
    return training, rows


def _check_selection(
    estimator: BaseEstimator, training: TrainingData, constraints: list[Constraint]
) -> None:
    """Raise, before folds are fitted, if the highest scores cannot be selected with a bound."""
    count_places(estimator.k, len(training.labels))
    n_classes = len(training.classes)  # type: ignore[arg-type]
    # What stands in the way -> what to pass instead.
    obstacles = {
        f"{n_classes} classes": n_classes > 2 and "2 classes, as in y == label",
        f"{len(constraints)} constraints": len(constraints) > 1 and "one constraint",
    }
    for name, default in {"confidence_level": None, "missing": "error"}.items():
        value = getattr(estimator, name)
        obstacles[f"{name}={value!r}"] = value != default and f"{name}={default!r}"
    if not any(obstacles.values()) and constraints and not training.lacks_groups:
        constraint_events = find_events([training], constraints)
        n_terms = len(constraints[0].terms(step_function, LogisticLoss()))
        is_learned = any(source == "learned" for _, source in constraint_events.sources)
        obstacles[constraints[0].name] = (
            n_terms != 1 or is_learned or constraint_events.compares_scores
        ) and ("one on selection, true positive or false positive rates")
    for obstacle, remedy in obstacles.items():
        if remedy:
            raise argument_error(
                f"k selects the highest of one score, not with {obstacle}; pass {remedy}."
            )


def count_places(k: float, n_samples: int) -> int:
    """Number of samples that k selects of some: an int, or a share, rounded down."""
    is_share = isinstance(k, float) and 0.0 < k < 1.0
    if not is_share and not is_int(k, 1, n_samples):
        raise argument_error(
            f"k must be a number of samples from 1 to {n_samples}, or a share of them strictly "
            f"between 0 and 1; got {k!r}."
        )
    return max(1, int(k * n_samples * (1.0 + 1e-12))) if is_share else int(k)


def _check_reads_text(
    base: BaseEstimator, group_estimator: BaseEstimator | str | None, X: TableLike
) -> None:
    """Raise, before folds are fitted, if X has text that the model of the group cannot read."""
    rows = np.arange(min(count_samples(X), N_PROBE))
    probe = safe_indexing(X, rows)
    is_raw = final_step(base) is base and not hasattr(base, "estimator")  # no search, not frozen
    if is_raw and hasattr(group_estimator, "fit") and text_columns(probe):
        with explain_conversion(probe, group_estimator):
            fit_classifier(group_estimator, probe, rows % 2, np.ones(len(rows)))


def _warn_of_unrouted_weights(
    estimator: BaseEstimator,
    base: BaseEstimator,
    arguments: FitArguments,
    fit_params: Bunch | dict[str, np.ndarray],
) -> None:
    """Warn of weights that reach the constraint but not the fit of the wrapped estimator."""
    is_refitted = estimator.cv != "prefit" and not isinstance(base, FrozenEstimator)
    is_routed = get_config()["enable_metadata_routing"]
    has_weights = arguments.sample_weight is not None
    if is_refitted and not is_routed and has_weights and "sample_weight" not in fit_params:
        warn(
            f"The fit of {type(base).__name__} takes no sample_weight, so that weights "
            "count in the final linear model and its constraint alone. Turn on metadata "
            "routing to pass them through a pipeline: "
            "sklearn.set_config(enable_metadata_routing=True) and "
            "set_fit_request(sample_weight=True) of its last step."
        )


def _choose_cv(
    cv: CrossValidation, arguments: FitArguments, training: TrainingData
) -> CrossValidation:
    """The folds that ``cv`` asks for; by default fewer for classes of many samples or columns.

    By default there are no more folds than sets of samples that belong together. Models of events
    are cross-fitted in folds even if the estimator itself is not.
    """
    if not (cv is None or isinstance(cv, str)):
        return cv
    X = arguments.X
    # Two thirds of many samples are enough, and wide data take long.
    shape = (count_samples(X), *getattr(X, "shape", ())[1:])
    is_wide = not sparse.issparse(X) and len(shape) == 2 and shape[1] > MAX_NARROW_COLUMNS
    is_large = training.classes is not None and (is_wide or shape[0] >= 3_000)
    n_folds = 3 if is_large else 5
    if arguments.groups is None:
        return n_folds
    n_sets = len(set(cast("Iterable[Hashable]", arguments.groups)))
    return min(n_folds, max(n_sets, 2))
