"""Checked input of fits, as training data, and warnings for dependent samples."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import check_X_y, compute_class_weight, get_tags

from skfair._bound.units import (
    DecisionFunction,
    LogOdds,
    LogScale,
    Unit,
    loss_in_unit,
)
from skfair._groups import Samples
from skfair._groups.groups import check_classes, check_one_label_type, unique_values
from skfair._groups.known import warn_of_missing_marks
from skfair._groups.samples import check_lengths, check_samples
from skfair._partitions.collections import is_partitioned
from skfair._partitions.partitions import SUBSAMPLE_SIZES, blocks, make_partitions
from skfair._problems.linear import LinearModel
from skfair._problems.partitioned import PartitionedProblem, PartitionedRankProblem
from skfair._problems.problem import draw_subsample
from skfair._statistics.hidden_groups import (
    ASSUMPTIONS,
    describe_missing_assumption,
    describe_probability_assumption,
    predict_group_probabilities,
    to_log_odds,
    unmix_group_probabilities,
)
from skfair._utils.checks import (
    argument_error,
    check_column,
    check_exact_labels,
    check_finite_squares,
    explain_conversion,
    join_names,
    positive_class,
    to_floats,
    warn,
)
from skfair._utils.copies import hash_rows, warn_of_clustered_samples
from skfair._utils.sklearn import safe_indexing
from skfair._utils.tables import is_sparse
from skfair.losses import LogisticLoss, gives_log_odds, is_pairwise, step_function
from skfair.solvers import SQP

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn.base import BaseEstimator

    from skfair._groups.arguments import FitArguments
    from skfair._groups.groups import Groups
    from skfair._partitions.partitions import Partitions
    from skfair._problems.problem import ConstrainedProblem, Problem
    from skfair._utils.api import Label
    from skfair._utils.tables import Table, TableLike
    from skfair.constraints import Constraint


# Checked input of fits, as training data.


class TrainingData(NamedTuple):
    """Samples of positive weight.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Features, float64.
    classes : ndarray of shape (n_classes,) or None
        Labels of the classes, ascending; None for real targets.
    samples : Samples
        Targets (-1 and +1 for the positive class; positions of more than two classes; or real
        numbers), groups and weights, and the features as they were passed.
    pos_label : label or None
        The positive class; None for real targets, and where there are more than two.
    unit : Unit
        Units that scores are trained in, in which the positive class has positive scores. (In the
        user's units the second of the ``classes`` has.)
    lacks_groups : bool
        Whether groups were to be compared, but there are no two: then nothing is constrained.
    is_bounded : bool
        Whether constraints are on this class, of several.
    """

    X: np.ndarray
    classes: np.ndarray | None
    samples: Samples
    pos_label: Any = None
    unit: Unit = Unit()
    lacks_groups: bool = False
    is_bounded: bool = True

    def score_unit(self, loss: BaseEstimator | Callable) -> Unit:
        """Units of the scores of a fit by a loss, and of a real target."""
        of_classes = LogOdds() if gives_log_odds(loss) else DecisionFunction()
        return self.unit if self.classes is None else of_classes

    def loss_unit(self, loss: BaseEstimator | Callable) -> float:
        """One unit of the mean loss of a fit in the user's."""
        return loss_in_unit(loss, self.score_unit(loss))[1]

    @property
    def labels(self) -> np.ndarray:
        """Class of each sample, or its real target, (n_samples,)."""
        if self.classes is None:
            return self.unit.target_unit.from_unit(self.samples.target)
        if len(self.classes) > 2:
            return self.classes[self.samples.target.astype(np.intp)]
        return to_class_labels(self.samples.target > 0, self.classes, self.pos_label)

    def one_vs_rest(self, bounded: Label | list[Label] | None = None) -> list[TrainingData]:
        """One binary problem per class, in which it is positive; the same data with two classes.

        Constraints are on the classes that are `bounded`; None is all.
        """
        if len(self.classes) == 2:  # type: ignore[arg-type]
            return [self]
        return [
            self._replace(
                samples=self.samples._replace(
                    target=np.where(self.samples.target == code, 1.0, -1.0)
                ),
                pos_label=label,
                is_bounded=bounded is None or label in bounded,
            )
            for code, label in enumerate(self.classes.tolist())  # type: ignore[union-attr]
        ]


def check_training_data(
    estimator: BaseEstimator, arguments: FitArguments, compares_groups: bool
) -> TrainingData:
    """Validated input of a ``fit``, as `TrainingData`.

    Where a constraint compares groups there is a warning if none were passed. Raises ValueError for
    what scikit-learn refuses in X and y, for rows that do not match, for negative weights, for a
    number of classes that a classifier does not support, and if groups are compared and the
    positive class is unknown.
    """
    X = arguments.X
    check_lengths(X=X, y=arguments.y)
    check_column("y", arguments.y)
    # Nothing is set on the estimator before the fit has succeeded: an earlier fit stays intact.
    converted, y = convert_features_and_target(estimator, X, arguments.y)
    features = X if hasattr(X, "columns") else converted  # constraints can name columns
    return encode_training_data(estimator, arguments, converted, y, features, compares_groups)


def encode_training_data(
    estimator: BaseEstimator,
    arguments: FitArguments,
    X: np.ndarray | sparse.csr_array,
    y: np.ndarray,
    features: TableLike,
    compares_groups: bool,
) -> TrainingData:
    """Encode groups, weights and classes of samples whose features and target were checked.

    `features` are the rows of X as constraints read them. The other parameters, the warning and
    the errors are those of `check_training_data`.
    """
    missing = _describe_lack_of_groups(estimator, arguments) if compares_groups else None
    # Samples of zero weight are left out of all that follows.
    missing_groups = getattr(estimator, "missing", "error")
    if arguments.group_probabilities is not None or missing_groups in ASSUMPTIONS:
        _check_group_arguments(estimator, arguments)
    samples, rows = check_samples(
        arguments, missing=missing, overlapping=True, missing_groups=missing_groups
    )
    if len(rows) < len(y):
        X = X[rows]
        y = y[rows]
        features = safe_indexing(features, rows)
    is_known = arguments.sensitive_features is not None or not samples.groups.is_disjoint
    lacks_groups = compares_groups and not is_known
    samples = samples._replace(X=features, min_group_size=find_min_group_size(estimator))
    samples = samples.largest_first()
    if compares_groups and not getattr(estimator, "group_interactions", False):
        warn_if_revealed(X, samples.groups, "with group_interactions")
    if is_classifier(estimator):
        is_compared = compares_groups and not lacks_groups
        training = _encode_classes(estimator, X, y, samples, is_compared)
        return training._replace(lacks_groups=lacks_groups)
    target = to_floats("y", y)
    check_finite_squares(target, "y")
    return TrainingData(X, None, samples._replace(target=target), lacks_groups=lacks_groups)


def _describe_lack_of_groups(estimator: BaseEstimator, arguments: FitArguments) -> str:
    """Return the warning of a fit that compares groups, but was passed none."""
    text = (
        f"constraint={estimator.constraint!r} compares groups, but fit got no sensitive_features: "
        "all samples are one group and the fit is unconstrained. Pass "
        "fit(X, y, sensitive_features=...)."
    )
    if arguments.groups is None:
        return text
    return f"{text} What groups names are clusters of dependent samples: they are not compared."


def convert_features_and_target(
    estimator: BaseEstimator, X: TableLike, y: TableLike
) -> tuple[np.ndarray | sparse.csr_array, np.ndarray]:
    """Return features and targets of all rows as arrays, as scikit-learn checks them."""
    # Models decide which dense float32 features become float64.
    dtype = np.float64 if is_sparse(X) else [np.float64, np.float32]
    settings = {"accept_sparse": "csr", "dtype": dtype, "estimator": estimator}
    with explain_conversion(X, estimator):
        X, y = check_X_y(X, y, **settings, ensure_all_finite=False)
    check_finite_squares(X, "X", estimator)  # which squares are if X is
    return sparse.csr_array(X) if is_sparse(X) else X, y


def _encode_classes(
    estimator: BaseEstimator, X: Table, y: np.ndarray, samples: Samples, is_compared: bool
) -> TrainingData:
    """Training data of classes, whose groups are compared or not."""
    is_object = y.dtype.kind == "O"  # labels of several types cannot be sorted
    if is_object:
        check_one_label_type(y, "y")
        check_classes(y, "y")
    classes = unique_values(y)
    if not is_object:
        check_exact_labels(classes, "y")
        # Two labels are classes if and only if all labels are.
        check_classes(classes if len(classes) <= 2 else y, "y")
    if len(classes) > 2:
        _check_many_classes(estimator, classes)
        warn_of_missing_marks(classes.tolist(), "y")
        target = np.searchsorted(classes, y).astype(float)
        return TrainingData(X, classes, samples._replace(target=target))
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs samples of at least 2 classes in the data, but the "
            f"data of positive sample_weight contains only one class: {classes[0]}."
        )
    if isinstance(estimator.pos_label, list):
        raise argument_error(
            "pos_label may list classes to compare of more than two, but there are two; got "
            f"{estimator.pos_label!r}. Pass one label."
        )
    positive = choose_positive(classes, estimator.pos_label, is_compared)
    target = 2.0 * (y == positive)
    target -= 1.0
    unit = Unit(spread=1.0 if positive == classes[1] else -1.0)
    return TrainingData(X, classes, samples._replace(target=target), positive, unit)


# Groups that are recorded for some samples only.


_MIN_RECORDED = 500
"""Recorded samples below which the model of the groups is a warning."""


def check_missing_group_settings(
    estimator: BaseEstimator, constraints: list[Constraint], without_groups: dict
) -> None:
    """Raise for settings with modelled groups that need the group of every sample.

    ``without_groups`` has parameters that can make predictions depend on the group, each with the
    value that does not.
    """
    if estimator.missing not in ("at_random", *ASSUMPTIONS):
        return
    ranked = [one for one in constraints if not one.terms(step_function, LogisticLoss())]
    remedies = {
        f"{name}={getattr(estimator, name)!r}, by which predictions depend on the group,": (
            f"{name}={value!r}"
        )
        for name, value in without_groups.items()
        if getattr(estimator, name) != value
    }
    if getattr(estimator, "confidence_level", None) is not None:
        remedies[f"confidence_level={estimator.confidence_level!r}"] = "confidence_level=None"
    if ranked:
        reason = f"constraint={type(ranked[0]).__name__}, which compares ranks,"
        remedies[reason] = "a constraint on rates, such as 'demographic_parity'"
    if remedies:
        reason, remedy = next(iter(remedies.items()))
        raise ValueError(
            f"missing={estimator.missing!r} estimates the groups that are not recorded, but "
            f"{reason} needs the group of every sample. Pass {remedy}, or fit the samples that "
            "have a recorded group."
        )


def _check_group_arguments(estimator: BaseEstimator, arguments: FitArguments) -> None:
    """Raise for arguments about groups that contradict each other or the estimator."""
    groups = arguments.sensitive_features
    probabilities = arguments.group_probabilities
    missing = getattr(estimator, "missing", "error")
    assumes = missing in ASSUMPTIONS
    setting = f"missing={missing!r}"
    if assumes and probabilities is None:
        raise ValueError(
            f"{setting} is about probabilities of groups; pass fit(X, y, group_probabilities=...), "
            "or missing='error'."
        )
    if assumes and groups is not None:
        raise ValueError(
            f"{setting} is about probabilities alone, but sensitive_features was passed; leave one "
            "of the two out."
        )
    if assumes:
        return
    if groups is None:
        raise ValueError(
            "Groups that are known as probabilities alone need an assumption: pass "
            f"missing='sufficient' or 'independent', got {missing!r}. Bounds on a gap cannot be "
            "trained to."
        )
    if missing != "at_random":
        raise ValueError(
            "group_probabilities model groups that are missing from sensitive_features: pass "
            f"missing='at_random', got {missing!r}; or leave one of the two out."
        )


def estimate_missing_groups(training: TrainingData, missing: str) -> TrainingData:
    """The training data, with probabilities of groups in place of those that are missing.

    A decision that depends on X alone is independent of the group given X and y, so that rates of
    groups in which samples count by P(group | X, y) are those of the groups. `missing` says how
    these follow from probabilities, where no group is recorded.
    """
    samples = training.samples
    groups = samples.groups
    columns = [training.X, samples.target[:, np.newaxis]]
    if missing == "sufficient":
        return training
    if missing == "independent":
        probabilities = unmix_group_probabilities(_stack(columns), groups.matrix.toarray())
        return _replace_groups(training, groups.replace_memberships(probabilities))
    return fill_groups(training, estimate_group_probabilities(training, columns))


def estimate_group_probabilities(training: TrainingData, columns: list[np.ndarray]) -> np.ndarray:
    """Probabilities of groups given columns, and probabilities that were passed, if there are."""
    samples = training.samples
    if samples.group_probabilities is not None:
        columns = [*columns, to_log_odds(samples.group_probabilities)]
    groups = samples.groups
    return predict_group_probabilities(_stack(columns), groups.recorded_codes, len(groups.labels))


def _stack(columns: list[np.ndarray]) -> np.ndarray:
    """Matrices of columns side by side, of which the first may be sparse."""
    if is_sparse(columns[0]):
        return sparse.hstack(columns).tocsr()
    return np.hstack(columns)


def fill_groups(training: TrainingData, probabilities: np.ndarray) -> TrainingData:
    """The training data, with these probabilities of the groups that are missing."""
    groups = training.samples.groups
    n_recorded = int((groups.recorded_codes >= 0).sum())
    if n_recorded < _MIN_RECORDED:
        warn(
            f"Only {n_recorded} samples have a recorded group, from which those of "
            f"{len(training.samples.target) - n_recorded} others are estimated. The rates of "
            f"groups may then be far from those of the fit: record {_MIN_RECORDED} groups or more, "
            "of samples drawn at random, and certify on held-out samples whose group is recorded."
        )
    return _replace_groups(training, groups.fill_missing(probabilities))


def _replace_groups(training: TrainingData, groups: Groups) -> TrainingData:
    """The training data with other groups."""
    samples = training.samples._replace(groups=groups)
    return training._replace(samples=samples.largest_first())


def assumption_attributes(training: TrainingData, missing: str) -> dict[str, str]:
    """What the fit assumes of samples whose group is not known; empty if there are none."""
    if not training.samples.groups.is_partly_recorded:
        return {"assumption_": ""}
    known = (
        describe_missing_assumption(1.0, "X and y")
        if missing == "at_random"
        else describe_probability_assumption(missing)
    )
    return {"assumption_": known}


def _check_many_classes(estimator: BaseEstimator, classes: np.ndarray) -> None:
    """Raise for more than two classes where they are not supported, and a positive one of them."""
    if not get_tags(estimator).classifier_tags.multi_class:
        raise ValueError(
            f"Only binary classification is supported. The type of the target has {len(classes)} "
            f"classes: {classes[:5].tolist()}. ConstrainedClassifierCV(LogisticRegression()) holds "
            "the constraints for each of more than two classes, with linear scores, and so it does "
            "around any classifier; sklearn.multiclass.OneVsRestClassifier fits a "
            f"{type(estimator).__name__} for each, without a guarantee for their joint decisions."
        )
    bounded = estimator.pos_label
    if isinstance(bounded, list):
        if not bounded or {*bounded} - {*classes.tolist()} or len({*bounded}) < len(bounded):
            raise argument_error(
                "pos_label must list different classes, each of which is compared with the rest, "
                f"among {join_names(map(repr, classes.tolist()))}; got {bounded!r}."
            )
    elif bounded is not None:
        raise ValueError(
            f"pos_label={bounded!r} names the one class that means success, but of "
            f"{len(classes)} classes each is compared between groups; pass pos_label=None, or a "
            f"list of the classes to compare, as in pos_label=[{bounded!r}]."
        )


def choose_positive(classes: np.ndarray, pos_label: int | str | None, is_compared: bool) -> Label:
    """The positive class; by default the second one where no groups are compared."""
    warn_of_missing_marks(classes.tolist(), "y")
    if pos_label is None and not is_compared:
        return classes.tolist()[1]
    positive = positive_class(set(classes.tolist()), pos_label)
    return next(label for label in classes.tolist() if label == positive)


def to_class_labels(
    is_positive: np.ndarray, classes: np.ndarray, pos_label: str | float
) -> np.ndarray:
    """Classes of decisions, from whether each is the positive one of two classes."""
    return classes[np.where(is_positive == (pos_label == classes[1]), 1, 0)]


def standardize_target(
    training: TrainingData, is_centered: bool, is_log: bool = False
) -> TrainingData:
    """The same data with real targets in units of their spread, so that a penalty fits any scale.

    They are centered if there is an intercept, unless scores are logarithms of predictions.
    """
    target = training.samples.target
    weights = training.samples.weights
    center = np.average(target, weights=weights) * is_centered
    spread = np.sqrt(np.average((target - center) ** 2, weights=weights))
    spread = float(spread) or 1.0
    unit = LogScale(0.0, spread) if is_log else Unit(float(center), spread)
    samples = training.samples._replace(target=unit.target_unit.to_unit(target))
    return training._replace(samples=samples, unit=unit)


def warn_if_revealed(X: Table, groups: Groups, setting: str) -> None:
    """Warn if sensitive attributes are columns of X, as they are or one-hot encoded.

    Groups that overlap are not looked for.
    """
    if not groups.is_disjoint:
        return
    for column in groups.labels.T:
        of_group, _ = pd.factorize(column)
        n_values = len(np.unique(of_group[groups.counts > 0]))
        is_known = 1 < n_values <= X.shape[0] / 2  # in groups of one sample nothing varies
        if is_known and _is_revealed(X, of_group, groups.codes):
            warn_of_group_in_features(setting)
            return


def _is_revealed(X: Table, of_group: np.ndarray, codes: np.ndarray) -> bool:
    """Whether columns that are constant within every value of an attribute identify all values.

    ``of_group`` is the value of each group, and ``codes`` the group of each sample.
    """
    # Columns that are constant within every group.
    columns = np.arange(X.shape[1])
    # Most columns vary within a group, as few samples show.
    for rows in (slice(200), slice(None)):
        _, first, numbers = np.unique(of_group[codes[rows]], return_index=True, return_inverse=True)
        values = X[rows][:, columns]
        values = values.toarray() if is_sparse(values) else values
        is_constant = (values == values[first][numbers]).all(axis=0)
        columns = columns[is_constant]
        if not len(columns):
            return False
    return len(np.unique(values[first][:, is_constant], axis=0)) == len(first)


def warn_of_group_in_features(setting: str) -> None:
    """Warn that X reveals the group, so that decisions depend on it as with a setting."""
    warn(
        f"X reveals the group of nearly all samples, so that decisions depend on the group as "
        f"{setting}. If they must not, leave out the columns that reveal it, such as the sensitive "
        "feature itself."
    )


def refuse_partitioned(estimator: BaseEstimator, X: TableLike | None) -> None:
    """Raise for partitioned samples, which a fit in memory would gather without being asked."""
    if is_partitioned(X):
        raise TypeError(
            f"{type(estimator).__name__} is fitted to samples in memory, but these are "
            "partitioned. Fit a subsample in memory, and predict(X) for all: it computes one "
            "partition at a time. Classifiers and regressors called ConstrainedERM... and "
            "PartialParity..., and FairKMeans, are fitted to partitioned samples."
        )


def loss_weights(class_weight: str | dict | None, training: TrainingData) -> np.ndarray:
    """Weight of each sample's loss, (n_samples,): its own times that of its class."""
    if class_weight is None:
        return training.samples.weights
    if isinstance(class_weight, dict):
        wrong = {
            k: v for k, v in class_weight.items() if not (isinstance(v, Real) and 0.0 < v < np.inf)
        }
        if wrong:
            raise ValueError(
                f"The weights in class_weight must be positive and finite, but got {wrong}. To "
                "leave out a class, leave out its samples."
            )
    labels = training.labels
    weights = training.samples.weights
    codes = np.searchsorted(training.classes, labels)  # type: ignore[arg-type]
    if isinstance(class_weight, str):  # "balanced": all classes have the same weight
        by_class = np.bincount(codes, weights)
        per_class = weights.sum() / (len(by_class) * by_class)
    else:
        per_class = compute_class_weight(class_weight, classes=training.classes, y=labels)
    return weights * per_class[codes]


# From what users call a constraint to objects.


def find_min_group_size(estimator: BaseEstimator) -> int | str:
    """The size that all constraints of an estimator require of groups; "auto" if they differ."""
    constraint = estimator.constraint
    constraints = constraint if isinstance(constraint, list | tuple) else [constraint]
    sizes = {getattr(one, "min_group_size", None) for one in constraints}
    return (len(sizes) == 1 and sizes.pop()) or "auto"


# Warning for samples that depend on one another: copies, and members of one household.


def warn_of_dependence(X: TableLike, training: TrainingData) -> None:
    """Warn if samples seem to belong together: ``confidence_level`` needs independent ones.

    X is ignored if it is neither an array, a DataFrame nor a sparse matrix.
    """
    if training.samples.clusters is not None:
        return
    share = _share_of_copies(X, training)
    if share > 0.0:
        warn(
            f"{share:.0%} of the samples repeat another one exactly (features, target and "
            "sensitive features), but confidence_level takes samples for independent: folds then "
            "test on samples that they were trained on, and the probability is too high. Pass "
            "fit(..., groups=ids), with equal ids for samples that belong together, or leave the "
            "copies out and pass sample_weight."
        )
        return
    warn_of_clustered_samples(
        X,
        "But confidence_level takes samples for independent, and the probability is too high if "
        "they are not. Pass fit(..., groups=ids), with equal ids for samples that belong together, "
        "and with different ids if all are independent.",
    )


def _share_of_copies(X: TableLike, training: TrainingData) -> float:
    """Share of samples that repeat another one, if it is large and no chance; else 0."""
    features = hash_rows(X)
    if features is None or len(features) != len(training.samples.target):
        return 0.0
    codes = training.samples.groups.codes if training.samples.groups.is_disjoint else 0
    outcome = (
        np.unique(training.samples.target, return_inverse=True)[1] * (np.max(codes) + 1) + codes
    )
    _, features = np.unique(features, return_inverse=True)
    both = np.unique(features * (outcome.max() + 1) + outcome, return_counts=True)[1]
    share = 1.0 - len(both) / len(outcome)
    # Few repeated samples hardly affect the guarantee.
    if share <= 0.03:
        return 0.0
    # How often do pairs with equal features, and any pairs, have equal target and group?
    among_equal = _count_ordered_pairs(both) / _count_ordered_pairs(np.bincount(features))
    among_all = _count_ordered_pairs(np.bincount(outcome)) / _count_ordered_pairs(
        np.array([len(outcome)])
    )
    # Pairs of equal features that differ in target or group at least a tenth as often as any two
    # samples are equal by chance: their features have few values.
    return 0.0 if 1.0 - among_equal > 0.1 * (1.0 - among_all) else share


def _count_ordered_pairs(counts: np.ndarray) -> float:
    """Twice the number of pairs within sets of equal samples."""
    counts = counts.astype(float)
    return float(counts @ (counts - 1.0))


# Problems of very many samples, in blocks of rows that threads process at the same time.


def partition_problem(
    problem: ConstrainedProblem, solver: BaseEstimator, n_jobs: int | None
) -> Problem:
    """A problem of very many samples in blocks of rows for threads.

    The problem itself if it is not a sum over its samples.
    """
    is_exact = isinstance(solver, SQP) and solver.hessian == "exact"
    is_linear = isinstance(problem.model, LinearModel)
    if not (is_exact and is_linear and problem.constraint.adds_up) or is_pairwise(problem.loss):
        return problem
    subsample = draw_subsample(problem, SUBSAMPLE_SIZES["linear, blocks"])
    if subsample is problem:
        return problem
    partitions = make_partitions(blocks(len(problem.target)), n_jobs).map(problem.contribution)
    return make_partitioned(problem, partitions, subsample)


def make_partitioned(
    problem: ConstrainedProblem, partitions: Partitions, subsample: ConstrainedProblem
) -> PartitionedProblem:
    """A problem's settings, with partitions in place of its samples."""
    compares_ranks = "ranks" in problem.constraint.metric_inputs
    make = PartitionedRankProblem if compares_ranks else PartitionedProblem
    return make.from_problem(problem, partitions, subsample)
