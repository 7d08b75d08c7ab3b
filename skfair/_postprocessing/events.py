"""Events that fair decisions depend on, their probabilities, and the final linear model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn import get_config
from sklearn.dummy import DummyClassifier
from sklearn.utils import column_or_1d
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from skfair._bound.bound import ConstraintSystem, decision_outcomes
from skfair._bound.ranks import refuse_small_intervals
from skfair._bound.rows import spread_over_samples
from skfair._bound.units import loss_in_unit
from skfair._fitting.counting import sort_key
from skfair._fitting.enforce import choose_loop, enforce_in_population
from skfair._fitting.fitter import FULL, Fitter, Slopes, search_intercept, search_lines
from skfair._fitting.guarantee import Guarantee, fit_with_guarantee
from skfair._fitting.input import (
    convert_features_and_target,
    encode_training_data,
    estimate_group_probabilities,
    fill_groups,
    warn_of_group_in_features,
)
from skfair._groups.samples import check_lengths
from skfair._partitions.collections import is_partitioned
from skfair._postprocessing.base_loss import RuleLoss
from skfair._postprocessing.costs import split_costs
from skfair._postprocessing.group_models import default_model_names, fit_classifier, pilot_rows
from skfair._postprocessing.group_thresholds import improve_thresholds, search_thresholds
from skfair._postprocessing.out_of_fold_scores import (
    final_step,
    final_step_features,
    free_columns,
    predict_label_probabilities,
)
from skfair._problems.linear import ArgmaxModel, LinearModel
from skfair._problems.problem import ConstrainedProblem
from skfair._utils.checks import check_column, join_names, mute_warnings, text_columns
from skfair._utils.sklearn import count_samples, safe_indexing
from skfair.constraints._constraint import bind_all
from skfair.losses import LogisticLoss, step_function
from skfair.solvers import SQP
from skfair.surrogates import Sigmoid

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn.base import BaseEstimator

    from skfair._bound.bound import BoundConstraint, Sums
    from skfair._bound.units import Unit
    from skfair._fitting.counting import Candidate
    from skfair._fitting.input import TrainingData
    from skfair._fitting.outcome import FitProgressCallback
    from skfair._groups import Samples
    from skfair._groups.arguments import FitArguments
    from skfair._groups.groups import Groups
    from skfair._utils.tables import Table, TableLike
    from skfair.constraints import Constraint
    from skfair.losses import Loss


# The events whose probabilities a constrained decision depends on, besides that of success.
#
# The best decisions under constraints on rates of groups threshold P(y = 1 | x) at a value shifted
# by a combination of the probabilities of the constraints' events given x: of a group, or of a
# group within a class. A linear model of the log-odds and of these probabilities contains them all.


@dataclass(frozen=True, eq=False)
class ConstraintEvents:
    """Events of constraints: subsets of the samples by groups, and the features made of these.

    ``subsets`` are masks of samples, such as the positives, and ``codes`` number disjoint groups.
    ``sources`` are pairs of a class, whose problem is one-vs-rest, and of what the probability of a
    subset follows from: "all" (it is 1), "positives" or "negatives" (that of the class), or
    "learned". ``table``, of shape (n_classes, n_subsets, n_codes, n_features), has the weight of
    each event in the features of each class. With ``compares_scores`` constraints compare
    ranks or losses: then each feature also comes multiplied with the log-odds. ``compared`` has the
    memberships of the codes in the groups that are compared, and ``codes_of_groups`` the code of
    each disjoint group; None where codes number the groups.
    """

    subsets: list
    sources: list
    codes: np.ndarray
    table: np.ndarray
    compares_scores: bool
    compared: ComparedMemberships | None = None
    codes_of_groups: np.ndarray | None = None

    def check_folds(self, folds: list, groups: Groups) -> None:
        """Raise for folds whose training rows lack an event."""
        nouns = {"all": "samples", "learned": "samples of the constraint's cell"}
        is_weighed = self.table.any(axis=(0, 3))  # (n_subsets, n_codes)
        columns = zip(self.subsets, self.sources, np.asarray(is_weighed), strict=True)
        for subset, (_, source), weighed in columns:
            # Only groups with a weight in some feature need a model.
            present = np.intersect1d(self.codes[subset], np.flatnonzero(weighed))
            for number, (train, _) in enumerate(folds):
                learned = np.unique(self.codes[train][subset[train]])
                missing = np.setdiff1d(present, learned)
                if len(missing):
                    names = self._name_missing(missing[0], learned, groups)
                    raise ValueError(
                        f"Fold {number} of {len(folds)} leaves no {nouns.get(source, source)} of "
                        f"group {names} to learn from. Pass fewer folds or another splitter, "
                        "merge small groups, or leave them out."
                    )

    def _name_missing(self, code: int, learned: np.ndarray, groups: Groups) -> str:
        """Return the names of the compared groups of a code without members among learned codes."""
        names: list = []
        if self.compared is not None:
            is_lost = self.compared.members[code] > self.compared.members[learned].any(axis=0)
            names = [self.compared.names[number] for number in np.flatnonzero(is_lost)]
        if not names:
            first = np.flatnonzero(self.codes == code)[0]
            names = [groups.names[number] for number in groups.matrix[[first]].indices]
        return join_names(map(repr, dict.fromkeys(names)))


class ComparedMemberships(NamedTuple):
    """Groups that constraints compare, by codes of disjoint combinations of groups."""

    members: np.ndarray  # bool, (n_codes, n_compared)
    names: list  # of the compared groups


_MIN_COMBINATION = 10
"""Samples of a combination of groups from which on a model of the group learns it by itself."""


def find_events(
    per_class: list[TrainingData],
    constraints: list[Constraint],
    folds: list[list[np.ndarray]] | None = None,
) -> ConstraintEvents:
    """The events that constraints compare in one-vs-rest training data of the same samples.

    Combinations that are rare, or that training rows of ``folds`` lack, count as similar ones in
    models of the group where each group that is compared has members in others.
    """
    groups = per_class[0].samples.groups
    compares_scores = not all(constraint.counts_decisions for constraint in constraints)
    comparisons = [
        (number, training, compared, effects)
        for number, training in enumerate(per_class)
        for constraint in (constraints if training.is_bounded else ())
        for compared in [constraint.compared_groups(training.samples)[0]]
        for cell in constraint.cells(training.samples).values()
        for effects in _decision_effects(constraint, cell, training)
    ]
    inside = [subset for *_, effects in comparisons for subset, _ in effects]
    compared_once = {id(compared): compared for _, _, compared, _ in comparisons}
    merged = merge_rare_combinations(
        group_codes(groups), list(compared_once.values()), inside, folds or []
    )
    subsets: list = []
    sources: list = []
    columns: list = [[] for _ in per_class]
    for number, training, compared, effects in comparisons:
        members = compared.matrix[merged.representatives].toarray().astype(float)
        # Share of each group within the subsets in the weight of all samples.
        is_inside = sum((one for one, _ in effects), np.zeros(len(merged.codes), dtype=bool))
        weights = training.samples.weights
        shares = compared.matrix.T @ (weights * is_inside) / weights.sum()
        columns[number] += _collect_contrasts(effects, members, shares, subsets, compares_scores)
        sources += [(number, _probability_source(one, training)) for one in subsets[len(sources) :]]
    tables = [_tabulate_features(one, len(subsets), len(merged.representatives)) for one in columns]
    # Classes with fewer features get columns of zeros.
    n_features = max(table.shape[2] for table in tables)
    tables = [np.pad(t, ((0, 0), (0, 0), (0, n_features - t.shape[2]))) for t in tables]
    return ConstraintEvents(
        subsets=subsets,
        sources=sources,
        codes=merged.codes,
        table=np.array(tables),
        compares_scores=compares_scores,
        compared=merged.compared,
        codes_of_groups=_codes_of_groups(groups, merged.codes),
    )


def _codes_of_groups(groups: Groups, codes: np.ndarray) -> np.ndarray | None:
    """Return the code of each group, (n_groups,); None of groups that are not disjoint."""
    if not groups.is_disjoint:
        return None
    of_groups = np.arange(len(groups.names))
    of_groups[groups.codes] = codes
    return of_groups


class MergedCombinations(NamedTuple):
    """Codes of combinations of groups, of which rare ones have the code of a similar one."""

    codes: np.ndarray  # (n_samples,), -1 where a group is missing
    representatives: np.ndarray  # (n_codes,), a sample of the combination that a code stands for
    compared: ComparedMemberships


def merge_rare_combinations(
    codes: np.ndarray,
    compared: list[Groups],
    subsets: list[np.ndarray],
    folds: list[list[np.ndarray]],
) -> MergedCombinations:
    """Give rare combinations the code of the nearest one, where no compared group loses its own.

    ``codes`` are those of `group_codes`, ``compared`` are groups of the same samples, and
    ``subsets`` masks of samples. Combinations differ by the compared groups in which one of both
    is a member; those of few samples count more.
    Example: of bounds by sex and by race, ("f", "Other") may count as ("m", "Other"), but not the
    only combination with "Other" as one without it.
    """
    numbers, first = np.unique(codes, return_index=True)
    first = first[numbers >= 0]
    names = [name for one in compared for name in one.names]
    patterns = [one.matrix[first].toarray() > 0 for one in compared]
    members = np.hstack([np.zeros((len(first), 0), dtype=bool), *patterns])
    as_they_are = MergedCombinations(codes, first, ComparedMemberships(members, names))
    is_rare = _find_rare(codes, len(first), subsets, folds)
    # Only a combination whose compared groups all have members elsewhere may count as another.
    is_alone = members[:, members.sum(axis=0) == 1].any(axis=1)
    is_merged = is_rare & ~is_alone
    sizes = np.bincount(codes[codes >= 0], minlength=len(first))
    # The largest combination of a compared group stays where all of them are rare.
    for column in members.T:
        if column.any() and is_merged[column].all():
            is_merged[np.flatnonzero(column)[np.argmax(sizes[column])]] = False
    hosts = np.flatnonzero(~is_merged)
    if not is_merged.any() or not len(hosts):
        return as_they_are
    costs = 1.0 / np.maximum(members.T @ sizes, 1)  # (n_compared,)
    differs = members[:, np.newaxis] != members[hosts]  # (n_codes, n_hosts, n_compared)
    distances = differs @ costs - 1e-9 * sizes[hosts] / sizes.sum()  # of equal ones the largest
    new_codes = np.where(
        is_merged, distances.argmin(axis=1), np.searchsorted(hosts, np.arange(len(first)))
    )
    merged = np.where(codes >= 0, new_codes[codes], -1)
    return MergedCombinations(merged, first[hosts], ComparedMemberships(members[hosts], names))


def _find_rare(
    codes: np.ndarray, n_codes: int, subsets: list[np.ndarray], folds: list[list[np.ndarray]]
) -> np.ndarray:
    """Return whether each code has few samples in a subset, or none in training rows, (n_codes,).

    Codes without samples in a subset are not rare there: no model learns them.
    """
    is_rare = np.zeros(n_codes, dtype=bool)
    unique_subsets = {subset.tobytes(): subset & (codes >= 0) for subset in subsets}
    for subset in unique_subsets.values():
        counts = np.bincount(codes[subset], minlength=n_codes)
        is_rare |= (counts > 0) & (counts < _MIN_COMBINATION)
        for train, _ in folds:
            learned = np.bincount(codes[train][subset[train]], minlength=n_codes)
            is_rare |= (counts > 0) & (learned == 0)
    return is_rare


def group_codes(groups: Groups) -> np.ndarray:
    """Codes of disjoint groups of which the groups, that may overlap, are unions, (n_samples,).

    They are -1 where a group is missing, of partly recorded groups.
    """
    if groups.is_disjoint or groups.is_partly_recorded:
        return groups.recorded_codes
    return np.unique(groups.matrix.toarray(), axis=0, return_inverse=True)[1].ravel()


def _decision_effects(
    constraint: Constraint, cell: np.ndarray, training: TrainingData
) -> list[list[tuple]]:
    """Of each term of the rate, the subsets of a cell with what a positive decision adds to it."""
    terms = constraint.terms(step_function, LogisticLoss())
    # Ranks and predictions of a real target: the cell is one event.
    if not terms or training.classes is None:
        return [[(cell, 1.0)]]
    return [_term_effects(one, cell, training.samples.target) for one in terms]


def _term_effects(
    rate: Callable, cell: np.ndarray, target: np.ndarray
) -> list[tuple[np.ndarray, float]]:
    """Subsets of a cell, each with what a positive decision about its samples adds to a term."""
    # Compare the rate of certain positive decisions with that of negative ones, in each class.
    # Scores count as certain if they are far from the threshold.
    negative, positive = (
        rate(np.full(2, score), np.array([-1.0, 1.0])).value for score in (-10.0, 10.0)
    )
    # What a decision adds per sample, relative to the largest effect; its sign decides the
    # direction.
    effects = positive - negative
    effects = effects / (np.abs(effects).max() or 1.0)
    inside = target[cell]
    # Equal effects in both classes, or one class: the cell is one event. Else one event per class.
    if effects[0] == effects[1] or len(np.unique(inside)) == 1:
        return [(cell, effects[int(inside[0] > 0)])] if len(inside) else []
    return [(cell & (target < 0), effects[0]), (cell & (target > 0), effects[1])]


def _collect_contrasts(
    effects: list[tuple[np.ndarray, float]],
    members: np.ndarray,
    share: np.ndarray,
    subsets: list[np.ndarray],
    compares_scores: bool,
) -> list[dict[int, np.ndarray]]:
    """Features of a cell: each group's event less that of the largest, as weights by subset.

    ``share`` has the groups' shares in all samples. Subsets that are new are appended to
    ``subsets``. Where decisions are compared, subsets of opposite effects have features of their
    own.
    """
    occupied = np.flatnonzero(share > 0)
    if len(occupied) < 2:
        return []
    # Differences of rates: every group against the largest. Those of other pairs are combinations.
    largest = occupied[np.argmax(share[occupied])]
    numbers = [(_find_or_append(subset, subsets), effect) for subset, effect in effects]
    has_one_sign = min(effect for _, effect in effects) * max(effect for _, effect in effects) >= 0
    columns = []
    for group in occupied[occupied != largest]:
        contrast = members[:, group] / share[group] - members[:, largest] / share[largest]
        if has_one_sign or compares_scores:
            columns.append({number: effect * contrast for number, effect in numbers})
        else:  # of both classes they would cancel
            columns += [{number: contrast} for number, _ in numbers]
    return columns


def _find_or_append(subset: np.ndarray, subsets: list[np.ndarray]) -> int:
    """Position of a subset among all, where it is appended if it is new."""
    for number, known in enumerate(subsets):
        if np.array_equal(subset, known):
            return number
    subsets.append(subset)
    return len(subsets) - 1


def _probability_source(subset: np.ndarray, training: TrainingData) -> str:
    """What the probability of a subset follows from."""
    target = training.samples.target
    if subset.all():
        return "all"
    if training.classes is None:  # no score gives the probability of a sign
        return "learned"
    if np.array_equal(subset, target > 0):
        return "positives"
    return "negatives" if np.array_equal(subset, target < 0) else "learned"


def _tabulate_features(
    features: list[dict[int, np.ndarray]], n_subsets: int, n_codes: int
) -> np.ndarray:
    """Features as an array of weights, (n_subsets, n_codes, n_features).

    Features that are multiples of others, as several constraints share, are left out.
    """
    table = np.zeros((n_subsets, n_codes, len(features)))
    for number, column in enumerate(features):
        for subset, weights in column.items():
            table[subset, :, number] = weights
    if not table.size:
        return table
    columns = table.reshape(-1, table.shape[2])
    # Scale to a largest entry of 1, so that multiples are equal up to rounding.
    columns = columns / np.abs(columns).max(axis=0, initial=1e-300)
    _, first = np.unique(columns.round(12), axis=1, return_index=True)
    return table[:, :, np.sort(first)]


def check_multiclass_support(
    n_classes: int, constraints: list[Constraint], confidence: float | None
) -> None:
    """Raise for several classes with what needs the one score of two classes."""
    if n_classes == 2:
        return
    if confidence is not None:
        raise ValueError(
            f"confidence_level needs 2 classes, but there are {n_classes}; pass None, or make "
            "two classes of them, as in y == label."
        )
    others = [constraint for constraint in constraints if not constraint.counts_decisions]
    if others:
        raise ValueError(
            f"{type(others[0]).__name__} compares ranks or losses of one score, but each of "
            f"{n_classes} classes has its own. Pass a constraint on rates of decisions, such "
            "as 'demographic_parity', or make two classes of them, as in y == label."
        )


def check_ranked_sizes(samples: Samples, constraints: list[Constraint]) -> None:
    """Raise, before folds are fitted, if too few samples rank in the interval of a constraint."""
    with mute_warnings():  # of small groups, which the fit warns of
        for constraint in constraints:
            if hasattr(constraint, "interval"):
                sums = constraint.bind(samples, None, None, None).sums
                if len(sums.samples.groups.names) > 1:
                    refuse_small_intervals(sums)


# Probabilities of events, estimated from X, and the features of the final linear model.


_ERROR_QUANTILES = (0.5, 0.8, 0.9, 0.95)
"""Quantiles of absolute errors: P(group | X, y) depends on the interval between two of them."""

N_PROBE = 50
"""Rows of X by which a model of the group is tried on text."""

MIN_CLASS_SIZE = 500
"""Samples of a class from which on groups are learned within it."""

_MIN_PROBABILITY = 1e-4
"""Smallest probability whose logarithm is taken."""

_AFFINE_COEFFICIENTS = {"positives": (0, 1), "negatives": (1, -1)}
"""Constant and slope of a subset's probability as a function of success; (1, 0) for all others."""


class EventModel(NamedTuple):
    """Classifiers of the events, on features preprocessed by a fitted estimator, if not None.

    ``group_models`` has a classifier of group codes within each subset, by X or, where groups are
    known, by their shares; ``subset_models`` one of membership in each subset, or None where that
    needs none.
    """

    base: Any
    group_estimator: Any
    group_models: list
    subset_models: list
    columns: Any = None  # positions of those that show the group; None is all

    @classmethod
    def fit(
        cls,
        base: BaseEstimator,
        group_estimator: BaseEstimator | str,
        training: TrainingData,
        constraint_events: ConstraintEvents,
        rows: np.ndarray,
    ) -> EventModel:
        """Fit to some rows of the training data."""
        if not constraint_events.subsets:
            return cls(base, group_estimator, [], [])
        codes = constraint_events.codes[rows]
        weights = training.samples.weights[rows]
        knows_groups = group_estimator == "sensitive_features"
        is_learned = any(source == "learned" for _, source in constraint_events.sources)
        columns = None
        if knows_groups and not is_learned:
            # Where groups are known their shares are for unknown ones, which no feature shows.
            features = np.zeros((len(rows), 1))
        else:
            # Groups are learned from what the classifier's last step gets: preprocessing is not
            # repeated, unless the model of groups reads text itself.
            X = safe_indexing(training.samples.X, rows)
            base = None if _reads_text(base, group_estimator, X) else base
            features = final_step_features(base, X)
            # Of a monotone model the decisions stay monotone: its columns do not show the group.
            keeps_all = hasattr(group_estimator, "fit") or knows_groups
            columns = None if keeps_all else free_columns(base, features)
            features = select_columns(features, columns)
        classifier = default_model_names(features)[0] if knows_groups else group_estimator
        group_classifier = DummyClassifier() if knows_groups else classifier
        group_models = []
        subset_models = []
        for subset, (_, source) in zip(
            constraint_events.subsets, constraint_events.sources, strict=True
        ):
            inside = subset[rows]
            # Group given the subset, and membership in the subset where nothing else gives it.
            # A class of few samples says less of its groups than all samples say of them.
            is_small = source in _AFFINE_COEFFICIENTS and inside.sum() < MIN_CLASS_SIZE
            recorded = np.flatnonzero((inside | is_small) & (codes >= 0))
            model = fit_classifier(
                group_classifier,
                safe_indexing(features, recorded),
                codes[recorded],
                weights[recorded],
            )
            group_models.append(model)
            is_learned = source == "learned"
            subset_models.append(
                fit_classifier(classifier, features, inside, weights) if is_learned else None
            )
        return cls(base, group_estimator, group_models, subset_models, columns)

    def probabilities(
        self, X: TableLike, n_codes: int, codes: np.ndarray | None = None
    ) -> np.ndarray:
        """Probability of each code within each subset, (n_samples, n_subsets, n_codes).

        It is multiplied with that of a subset that is learned. ``codes`` are the groups where they
        are known, -1 for a sample whose group is not.
        """
        is_learned = any(model is not None for model in self.subset_models)
        if codes is not None and codes.min(initial=0) >= 0 and not is_learned:
            # Known groups are members with certainty: nothing is estimated from X.
            members = codes[:, np.newaxis, np.newaxis] == np.arange(n_codes)
            return np.repeat(members.astype(float), len(self.group_models), axis=1)
        features = select_columns(final_step_features(self.base, X), self.columns)
        probabilities = np.zeros((count_samples(features), len(self.group_models), n_codes))
        pairs = zip(self.group_models, self.subset_models, strict=True)
        for number, (group_model, subset_model) in enumerate(pairs):
            # Groups without a training sample in the subset have probability 0.
            of_groups = predict_label_probabilities(group_model, features, n_codes)
            if codes is not None:
                is_known = codes >= 0
                of_groups[is_known] = codes[is_known, np.newaxis] == np.arange(n_codes)
            if subset_model is not None:
                of_groups *= predict_label_probabilities(subset_model, features, 2)[:, 1:]
            probabilities[:, number] = of_groups
        return probabilities


def select_columns(features: Table, columns: np.ndarray | None) -> Table:
    """Some columns of features; a constant one where there are none."""
    if columns is None:
        return features
    if not len(columns):
        return np.zeros((count_samples(features), 1))
    return safe_indexing(features, columns, axis=1)


def _reads_text(base: BaseEstimator, group_estimator: BaseEstimator | str, X: TableLike) -> bool:
    """Whether a model of groups, tried on a few rows, reads text in X and no other features."""
    if not hasattr(group_estimator, "fit") or final_step(base) is base:
        return False
    rows = np.arange(min(count_samples(X), N_PROBE))
    probe = safe_indexing(X, rows)
    if np.ndim(probe) > 1 and not text_columns(probe):
        return False
    for features in (final_step_features(base, probe), probe):
        try:
            fit_classifier(group_estimator, features, rows % 2, np.ones(len(rows)))
        except (AttributeError, IndexError, TypeError, ValueError):
            continue
        return features is probe
    return False  # the error is about the features


def out_of_fold_probabilities(
    models: list[EventModel],
    constraint_events: ConstraintEvents,
    X: TableLike,
    folds: list[list[np.ndarray]],
    knows_groups: bool,
) -> np.ndarray:
    """Probabilities of the events by the models of the folds, (n_samples, n_subsets, n_codes)."""
    probabilities = np.zeros((len(constraint_events.codes), *constraint_events.table.shape[1:3]))
    if not constraint_events.subsets:
        return probabilities
    for model, (_, test) in zip(models, folds, strict=True):
        rows = safe_indexing(X, test)
        codes = constraint_events.codes[test] if knows_groups else None
        probabilities[test] = model.probabilities(rows, probabilities.shape[2], codes)
    return probabilities


def fill_missing_groups(training, scores, bases, group_estimator, folds, n_jobs=None):
    """The training data, with probabilities of missing groups given X, and the class or error.

    They are those of `fit_event_features`, whose further arguments these are. The error is the
    distance of a real target from out-of-fold scores.
    """
    codes = training.labels
    names = training.classes
    groups = training.samples.groups
    is_real = names is None
    if is_real:
        errors = np.abs(codes - scores.mean(axis=1))
        names = range(len(_ERROR_QUANTILES) + 1)
        codes = np.digitize(errors, np.quantile(errors, _ERROR_QUANTILES))
    masks = [codes == name for name in names]
    subsets = [np.ones(len(codes), dtype=bool)] if is_real else masks
    sources = [(0, "all") for _ in subsets]
    table = np.ones((1, len(subsets), len(groups.labels), 1))
    constraint_events = ConstraintEvents(subsets, sources, groups.recorded_codes, table, False)
    constraint_events.check_folds(folds, groups)
    _, probabilities = fit_event_features(
        bases, group_estimator, training, constraint_events, folds, n_jobs
    )
    filled = np.einsum("ci,icg->ig", np.array(subsets, dtype=float), probabilities)
    if is_real or training.samples.group_probabilities is not None:
        # A second model combines the first one with errors, or the probabilities that were passed.
        log = np.log(filled.clip(_MIN_PROBABILITY))
        filled = estimate_group_probabilities(training, [log, np.array(masks, dtype=float).T])
    return fill_groups(training, filled)


def warn_if_groups_predictable(
    constraint_events: ConstraintEvents, probabilities: np.ndarray
) -> None:
    """Warn if nearly all members of every compared group are recognised from X."""
    if not constraint_events.subsets:
        return
    inside = constraint_events.subsets[0] & (constraint_events.codes >= 0)
    codes = constraint_events.codes[inside]
    # Share of each group that is recognised out of fold.
    is_right = probabilities[inside].argmax(axis=1) == codes
    counts = np.bincount(codes, minlength=constraint_events.table.shape[2])
    compared = (counts > 0) & constraint_events.table[:, 0].any(axis=(0, 2))
    shares = np.bincount(codes, is_right, len(counts))[compared] / counts[compared]
    # X reveals the groups of which .99 of the members are recognised.
    if len(shares) and (shares >= 0.99).all():
        warn_of_group_in_features("with group_estimator='sensitive_features'")


class EventFeatures(NamedTuple):
    """Features of the final linear model, from scores and probabilities of events.

    New samples get the mean of the probabilities by ``models``; the other attributes are those of
    `ConstraintEvents`.
    """

    models: list
    table: np.ndarray
    sources: list
    compares_scores: bool
    codes_of_groups: np.ndarray | None = None

    @classmethod
    def make_empty(cls, constraint_events: ConstraintEvents) -> EventFeatures:
        """Return features that are the scores alone."""
        no_events = constraint_events.table[:, :0, :, :0]
        codes = constraint_events.codes_of_groups
        return cls([], no_events, [], constraint_events.compares_scores, codes)

    def probabilities(self, X: TableLike, codes: np.ndarray | None) -> np.ndarray | None:
        """Probabilities of events of new samples, (n_samples, n_subsets, n_codes), or None."""
        if not self.sources:
            return None
        n_codes = self.table.shape[2]
        return np.mean([model.probabilities(X, n_codes, codes) for model in self.models], axis=0)

    def refit_as_one_model(
        self, base: BaseEstimator, training: TrainingData, constraint_events: ConstraintEvents
    ) -> EventFeatures:
        """The same features with one model of all samples."""
        rows = np.arange(len(constraint_events.codes))
        models = [
            EventModel.fit(base, self.models[0].group_estimator, training, constraint_events, rows)
        ]
        return self._replace(models=models)

    def features(self, odds: np.ndarray, probabilities: np.ndarray | None) -> np.ndarray:
        """Features of each problem, (n_problems, n_samples, 1 + n_features).

        The first is the log-odds of the problem's positive class, in a column of ``odds``, or the
        prediction of a real target.
        """
        log_odds = odds.T[:, :, np.newaxis]
        if not self.sources:
            return log_odds
        # P(subset, group | x) = P(group | x, subset) P(subset | x), of which the last follows from
        # the probabilities of success.
        success = expit(odds)
        # Decisions must rise with the log-odds where probabilities of groups are equal.
        known = {"positives": success, "negatives": 1.0 - success} if self.compares_scores else {}
        ones = np.ones_like(success)
        columns = [known.get(source, ones)[:, problem] for problem, source in self.sources]
        by_subset = np.column_stack(columns)
        n_scores, *_, n_features = self.table.shape
        events = (by_subset[:, :, np.newaxis] * probabilities).reshape(len(odds), -1)
        features = events @ self.table.reshape(n_scores, -1, n_features)
        # Ranks and losses depend on the size of scores: the weight of an event varies with the
        # log-odds.
        products = [log_odds * features] if self.compares_scores else []
        return np.concatenate((log_odds, features, *products), axis=2)

    def score_slopes(self) -> np.ndarray:
        """Slopes of decisions in each score, as forms of its coefficients.

        They have shape (n_scores, n_forms, 1 + n_features). Where weights of events vary with the
        score, there is a form for each subset and group. The slope of a sample is a mixture of
        these, by its probabilities, whatever they are.
        """
        n_scores, n_subsets, n_codes, n_features = self.table.shape
        n_features *= bool(self.sources)
        n_coefficients = 1 + n_features * (1 + self.compares_scores)
        slopes = np.eye(1, n_coefficients)[np.newaxis].repeat(n_scores, axis=0)
        if not self.compares_scores or not n_features:
            return slopes
        # A sample is in all subsets at once, but its outcome is positive or negative.
        n_at_once = n_subsets - min(
            sum(source == one for _, source in self.sources) for one in ("positives", "negatives")
        )
        of_events = np.zeros((n_scores, n_subsets * n_codes, n_coefficients))
        of_events[:, :, 0] = 1.0
        products = n_at_once * self.table.reshape(n_scores, -1, n_features)
        of_events[:, :, 1 + n_features :] = products
        return np.concatenate((slopes, of_events), axis=1)

    def group_class_probabilities(
        self, odds: np.ndarray, probabilities: np.ndarray
    ) -> np.ndarray | None:
        """Probabilities of groups with the negative class, then with the positive one.

        They have shape (n_samples, 2 * n_codes). None where a subset is neither a class nor all
        samples, or nothing is compared.
        """
        names = [source for _, source in self.sources]
        if not names or "learned" in names:
            return None
        success = expit(odds[:, :1])
        negatives, positives = (probabilities[:, subset] for subset in self.class_subsets)
        return np.hstack((negatives * (1.0 - success), positives * success))

    @property
    def class_subsets(self) -> list[int]:
        """Positions of the subsets that show the groups of negatives, and of positives."""
        names = [source for _, source in self.sources]
        # Where neither a class nor all samples are a subset, the class has no part in any rate.
        other = names.index("all") if "all" in names else 0
        return [names.index(one) if one in names else other for one in _AFFINE_COEFFICIENTS][::-1]

    def scale(self, coef: np.ndarray) -> float:
        """Factor of scores with which the log-odds have coefficient 1, if that is possible.

        Decisions do not depend on the scale of scores; ranks and losses do.
        """
        return 1.0 / coef[0] if coef[0] > 0 and not self.compares_scores else 1.0

    def sample_thresholds(
        self, odds: np.ndarray, scores: np.ndarray, coef: np.ndarray
    ) -> np.ndarray | None:
        """Probability of success from which on samples are accepted, (n_samples,).

        None where higher log-odds do not lead to acceptance.
        """
        return expit(odds - scores / coef[0]) if coef[0] > 0 else None

    def weights(self, coef: np.ndarray, intercept: float) -> tuple[float, float, np.ndarray]:
        """The coefficient of the log-odds, the intercept, and weights of probabilities of events.

        The last have shape (4, n_subsets, n_codes). The factors of an event's probability are 1,
        the probability of success, the log-odds, and the product of both.
        """
        log_odds = float(coef[0])
        coef = coef[1:]
        if not self.sources:
            return log_odds, intercept, np.zeros((4, 1, 1))
        sources = [source for _, source in self.sources]
        constant, slope = np.transpose(
            [
                _AFFINE_COEFFICIENTS.get(source, (1, 0)) if self.compares_scores else (1, 0)
                for source in sources
            ]
        )
        weights = []
        # Features are linear in the events' probabilities: collect the coefficient of each event.
        for block in np.split(coef, 1 + self.compares_scores):
            per_event = self.table[0] @ block
            weights += [constant[:, np.newaxis] * per_event, slope[:, np.newaxis] * per_event]
        weights += [np.zeros_like(per_event)] * (4 - len(weights))
        return log_odds, intercept, np.array(weights)

    def convert_coefficients(
        self, coef: np.ndarray, intercept: float, unit: Unit
    ) -> tuple[np.ndarray, float]:
        """Coefficients and intercept of predictions in a unit, for such in the user's."""
        constant, *slopes = np.split(coef[1:], 1 + self.compares_scores)
        constant = unit.spread * constant - unit.center * sum(slopes)
        coef = np.concatenate((coef[:1], constant, *slopes))
        return coef, float(unit.from_unit(intercept) - unit.center * coef[0])

    @staticmethod
    def unconstrained_parameters(
        model: ArgmaxModel | LinearModel, intercepts: np.ndarray | list
    ) -> np.ndarray:
        """Parameters by which the first column of each score decides alone, above its intercept."""
        coef, _ = model.coefficients(np.zeros(model.n_parameters))
        first = [np.eye(1, len(one))[0] for one in np.atleast_2d(coef)]
        if len(first) == 1:
            return model.parameters(first[0], intercepts[0])
        return model.parameters(first, intercepts)  # type: ignore[arg-type]

    def known_codes(self, request: RuleRequest) -> np.ndarray | None:
        """Codes of the groups of the samples where the features show them, else None."""
        sees_groups = self.models[0].group_estimator == "sensitive_features"
        return request.codes if sees_groups else None


def fit_event_features(bases, group_estimator, training, constraint_events, folds, n_jobs):
    """The `EventFeatures` of the folds' models, and out-of-fold probabilities of the events.

    Without a ``group_estimator`` the first fold chooses among the default ones.
    """
    bases = bases if len(bases) == len(folds) else bases * len(folds)
    models = []
    if group_estimator is None:
        models.append(_fit_default(bases[0], training, constraint_events, folds[0]))
        group_estimator = models[0].group_estimator
    pairs = list(zip(bases, folds, strict=True))[len(models) :]
    models += Parallel(n_jobs=n_jobs)(
        delayed(EventModel.fit)(base, group_estimator, training, constraint_events, train)
        for base, (train, _) in pairs
    )
    knows_groups = group_estimator == "sensitive_features"
    probabilities = out_of_fold_probabilities(
        models, constraint_events, training.samples.X, folds, knows_groups
    )
    features = EventFeatures(
        models,
        constraint_events.table,
        constraint_events.sources,
        constraint_events.compares_scores,
        constraint_events.codes_of_groups,
    )
    return features, probabilities


def _fit_default(
    base: BaseEstimator,
    training: TrainingData,
    constraint_events: ConstraintEvents,
    fold: list[np.ndarray],
) -> EventModel:
    """The default model of the group with the least log-loss on the test rows of a fold."""
    train, test = fold
    test = test[constraint_events.codes[test] >= 0]  # recorded groups
    features = final_step_features(base, safe_indexing(training.samples.X, test))
    kinds = default_model_names(features)
    if len(kinds) == 1 or not constraint_events.subsets:
        return EventModel.fit(base, kinds[0], training, constraint_events, train)
    # Of many columns a subsample decides.
    sampled, test = (pilot_rows(rows, np.shape(features)[1]) for rows in (train, test))
    rows = safe_indexing(training.samples.X, test)
    models = [EventModel.fit(base, kind, training, constraint_events, sampled) for kind in kinds]
    losses = []
    for model in models:
        # Probabilities of the sample's group within every subset that it is in.
        by_subset = model.probabilities(rows, constraint_events.table.shape[2])
        likelihoods = by_subset[np.arange(len(test)), :, constraint_events.codes[test]]
        inside = np.column_stack(constraint_events.subsets)[test]
        logs = np.log(np.maximum(likelihoods, _MIN_PROBABILITY)) * inside
        losses.append(-(training.samples.weights[test] @ logs).sum())
    best = models[np.argmin(losses)]
    if len(sampled) == len(train):
        return best
    return EventModel.fit(base, best.group_estimator, training, constraint_events, train)


# The final linear model: few features, under constraints that its decisions keep exactly.


_TEMPERATURES = (1.0, 0.25)
"""Of the sigmoid surrogate. A wide sigmoid moves all samples, where few are near the threshold; a
narrow one moves those that change their decision."""

_SOLVER = SQP()
_RANKS_SOLVER = SQP(tol=1e-4)
"""Rows of percentiles have breakpoints, at which no solver reaches the last digit."""

_ARGMAX_SOLVER = SQP(max_iter=30, tol=1e-3, hessian="lbfgs")
"""Leads of classes have breakpoints wherever two other classes overtake one another: a Hessian does
not show these, and no solver ends in a point that it could certify. The exact searches follow."""


class RuleRequest(NamedTuple):
    """What the final linear model has to fit and to keep.

    Of a real target or of two classes there is one score, that decides by its sign; of several
    classes there is one for each, the largest of which decides, and each keeps the constraints.
    """

    per_class: list  # training data of each score, whose X are the features
    loss: RuleLoss
    weights: np.ndarray  # of each sample's loss
    constraints: list
    callback: FitProgressCallback  # sees every iteration
    codes: np.ndarray  # of the samples in models of the group, (n_samples,)
    share: float | None = None  # of samples to select by the highest scores
    intercept: float = 0.0  # of the log-odds of two classes, without constraint
    costs: np.ndarray | None = None  # by true and predicted class, of more than two classes
    slopes: np.ndarray | None = None  # of decisions in each score, as `score_slopes`; None: any

    def replace_features(self, features: np.ndarray) -> RuleRequest:
        """The same with other features, (n_scores, n_samples, n_features)."""
        pairs = zip(self.per_class, features, strict=True)
        return self._replace(per_class=[one._replace(X=columns) for one, columns in pairs])


def fit_plain_model(
    request: RuleRequest, confidence: float | None = None
) -> tuple[ConstrainedProblem, Guarantee] | None:
    """The solved problem and the guarantee, as `fit_final_model` returns them, of the plain fit.

    None if the plain fit does not keep the constraints, or not with the confidence.
    """
    fitter = _make_fitter(request)
    clusters = request.per_class[0].samples.clusters
    keeps_scores = request.loss.keeps_scores
    plain = keep_scores(fitter, request) if keeps_scores else fitter.fit_unconstrained()
    if not plain.keeps_bound:
        return None
    if keeps_scores and confidence is not None:  # without any fit sampling noise alone counts
        guarantee = fit_with_guarantee(
            fitter.constraint, confidence, lambda rows: lambda *tolerances: plain, clusters
        )
    else:
        guarantee = _guarantee(fitter, plain, confidence, clusters)
    is_certain = confidence is None or guarantee.probability >= confidence
    is_plain = is_certain and guarantee.candidate.is_unconstrained
    return linearize_solution(fitter, guarantee) if is_plain else None


def keep_scores(fitter: Fitter, request: RuleRequest) -> Candidate:
    """The candidate of the scores as they are, above the threshold without constraint."""
    intercepts = np.full(len(request.per_class), request.intercept)
    parameters = EventFeatures.unconstrained_parameters(fitter.problem.model, intercepts)
    free = fitter.problem_with_constraint(ConstraintSystem(()))
    candidate = fitter.fit(free, parameters, is_finished=lambda progress: True)
    return candidate._replace(result=replace(candidate.result, status="optimal"))


def fit_final_model(
    fitter: Fitter,
    request: RuleRequest,
    confidence: float | None = None,
    codes: np.ndarray | None = None,
) -> tuple[ConstrainedProblem, Guarantee]:
    """The solved problem, linearised at its solution, and the guarantee of the enforced model.

    ``fitter`` is what `make_fitter` makes of the request. ``codes`` are the groups of samples where
    the features show them.
    """
    per_class = request.per_class
    fitters = make_fitters(fitter, request)
    # Of several temperatures the enforced model with the fewest errors is taken.
    fitter, candidate = enforce_and_select(fitters)
    if request.loss.keeps_scores and fitter.constraint.metric_inputs == {"decisions"}:
        # Scores alone, above another threshold, where folds say little of events.
        shifted = search_intercept(fitter, keep_scores(fitter, request))
        candidate = min(candidate, shifted, key=sort_key)
    if codes is not None and len(per_class) == 1 and confidence is None:
        candidate = improve_thresholds(fitter, candidate, per_class[0].X, codes)
    clusters = per_class[0].samples.clusters
    return linearize_solution(fitter, _guarantee(fitter, candidate, confidence, clusters))


def fit_group_thresholds(
    fitter: Fitter, request: RuleRequest, codes: np.ndarray
) -> tuple[ConstrainedProblem, Guarantee] | None:
    """The solved problem and the guarantee of the best thresholds by group, from an exact search.

    Arguments are those of `fit_final_model`. None where that search finds none.
    """
    if len(request.per_class) > 1 or request.per_class[0].classes is None:
        return None
    features = request.per_class[0].X
    candidate = search_thresholds(fitter, keep_scores(fitter, request), features, codes)
    if candidate is None:
        return None
    return linearize_solution(fitter, Guarantee(candidate, fitter.constraint.tolerances))


def _guarantee(
    fitter: Fitter, candidate: Candidate, confidence: float | None, clusters: np.ndarray | None
) -> Guarantee:
    """The guarantee of a candidate: on the training data alone, unless a confidence is requested.

    With a confidence it is that of a fit with a margin, which starts at the candidate.
    """
    if confidence is None:
        return Guarantee(candidate, fitter.constraint.tolerances)
    started = replace(fitter, start=candidate.parameters)
    return enforce_in_population(started, "auto", confidence, clusters=clusters)


def linearize_solution(fitter: Fitter, guarantee: Guarantee) -> tuple:
    """The problem linearised at the enforced model, where its report is read, and the guarantee."""
    system = fitter.constraint.linearize_at(guarantee.candidate.scores)
    return fitter.problem_with_constraint(system), guarantee


def make_fitters(first: Fitter, request: RuleRequest) -> list[Fitter]:
    """The first fitter, and those of its request at further temperatures where these are used."""
    statistics = first.constraint.metric_inputs
    if "ranks" in statistics or "decisions" not in statistics:
        return [first]
    return [first, *(make_fitter(request, one) for one in _TEMPERATURES[1:])]


def make_fitter(*request: Any) -> Fitter:
    """The constrained problem at the widest temperature, or one that is passed as well.

    Nothing warns of small groups: the plain fit, which is tried before, has done so.
    """
    with mute_warnings():
        return _make_fitter(*request)


def _make_fitter(request: RuleRequest, temperature: float = _TEMPERATURES[0]) -> Fitter:
    """The constrained problem of a request at one temperature of the surrogate."""
    per_class = request.per_class
    loss = request.loss.loss
    features = [one.X for one in per_class]
    of_samples = per_class[0].samples.weights
    if len(per_class) == 1:
        model = LinearModel.from_features(features[0], of_samples)
    else:
        model = ArgmaxModel.from_features(features, of_samples)  # type: ignore[assignment]
    system = _bind(per_class, request.constraints, Sigmoid(temperature), loss)
    solver = _RANKS_SOLVER if "ranks" in system.metric_inputs else _SOLVER
    solver = _ARGMAX_SOLVER if len(per_class) > 1 else solver
    target = np.concatenate([one.samples.target for one in per_class])
    if not request.loss.is_known:
        target = features[0][:, 0]
    weights = np.tile(request.weights, len(per_class))
    if request.costs is not None:
        codes = target.reshape(len(per_class), -1).argmax(axis=0)
        targets, factors = split_costs(codes, request.costs)
        target, weights = targets.T.ravel(), weights * factors.T.ravel()
    loss, _ = loss_in_unit(loss, per_class[0].score_unit(loss))
    problem = ConstrainedProblem(model, loss, target, weights, alpha=1e-5, constraint=system)
    options = {"callback": request.callback}
    slopes = None if request.slopes is None else _make_slopes(model, request.slopes)
    return Fitter(problem, model.initial(), solver, options, share=request.share, slopes=slopes)


def _make_slopes(model: ArgmaxModel | LinearModel, slopes: np.ndarray) -> Slopes:
    """Slopes as forms of the model's parameters, for such of the coefficients of each score."""
    # Coefficients of each score by parameter, (n_parameters, n_scores, n_features).
    units = np.eye(model.n_parameters)
    coefficients = np.stack([np.atleast_2d(model.coefficients(one)[0]) for one in units])
    forms = np.einsum("psf,skf->skp", coefficients, slopes)
    leads = np.abs(coefficients[:, :, 0]).argmax(axis=0)
    return Slopes(forms.reshape(-1, len(units)), np.repeat(leads, slopes.shape[1]))


_STRICTER = 0.5
"""Tolerances, relative to those requested, of a rule at which a search begins, too."""

_PARITY_FORMS = {"gap", "ratio", "total gap"}
"""Forms of gaps that are near 0 for some rules, so that stricter bounds can be kept."""


_EFFORT = FULL._replace(planes=1 << 14)
"""Of a final linear model, whose few parameters make lines beside its best point cheap."""


def enforce_and_select(fitters: list[Fitter]) -> tuple[Fitter, Candidate]:
    """Return the fitter whose enforced model has the best rank, and this model.

    ``fitters`` are of one request at several temperatures. Where decisions are compared, searches
    also begin at a rule for stricter tolerances, and at the fit without constraint: a looser
    tolerance should not cost more.
    """
    first, *narrower = fitters
    candidate = choose_loop(first)(first, _EFFORT)
    can_be_stricter = _can_be_stricter(first)
    if candidate.keeps_bound and candidate.is_unconstrained and not can_be_stricter:
        return first, candidate
    # The first fitter has searched intercepts of the plain fit, which has no temperature.
    narrower = [replace(one, is_constraint_active=True) for one in narrower]
    enforced = [(one, choose_loop(one)(one, _EFFORT)) for one in narrower]
    fitter, best = min([(first, candidate), *enforced], key=lambda pair: pair[1].sort_key)
    if not can_be_stricter:
        return fitter, best
    others = [search_lines(fitter, _find_stricter_rule(fitter), _EFFORT)]
    if first.plain_fit is not None:
        # A plain fit may have ended early, so it is no result of the solver.
        moved = search_lines(fitter, first.plain_fit, _EFFORT)
        others.append(moved._replace(result=best.result))
    return fitter, min([best, *others], key=sort_key)


def _can_be_stricter(fitter: Fitter) -> bool:
    """Return whether decisions are compared, by gaps that rules can keep at half the tolerance."""
    system = fitter.constraint
    is_counted = system.metric_inputs == {"decisions"}
    return is_counted and all(one.gap.form in _PARITY_FORMS for one in system)


def _find_stricter_rule(fitter: Fitter) -> Candidate:
    """Return the rule for stricter tolerances, as a candidate for the requested ones."""
    stricter = fitter.replace_tolerances(_STRICTER * fitter.constraint.tolerances)
    stricter = replace(stricter, is_constraint_active=True)
    rule = choose_loop(stricter)(stricter, _EFFORT)
    return fitter.evaluate(rule.parameters, rule.result)


def _bind(
    per_class: list[TrainingData], constraints: list[Constraint], surrogate: Sigmoid, loss: Loss
) -> ConstraintSystem:
    """Bind every constraint to each of the training data, as a function of the scores of all."""
    n_samples = len(per_class[0].samples.target)
    n_scores = len(per_class) * n_samples
    samples = [one.samples for one in per_class]
    unit = per_class[0].score_unit(loss)
    bound = bind_all(constraints, samples, surrogate, loss, unit)
    if len(per_class) == 1:
        return ConstraintSystem(tuple(bound[0]))
    embedded = [
        _embed_constraint(one, slice(number * n_samples, (number + 1) * n_samples), n_scores)
        for number, of_class in enumerate(bound)
        for one in of_class
        if per_class[number].is_bounded
    ]
    return ConstraintSystem(tuple(embedded))


def _embed_constraint(bound: BoundConstraint, rows: slice, n_scores: int) -> BoundConstraint:
    """A constraint as a function of more scores, of which `rows` are its own."""
    uncompared = bound.uncompared and _embed_sums(bound.uncompared, rows, n_scores)
    sums = _embed_sums(bound.sums, rows, n_scores)
    return replace(bound, sums=sums, uncompared=uncompared)


def _embed_sums(sums: Sums, rows: slice, n_scores: int) -> Sums:
    """Sums as functions of more scores, of which `rows` are their own."""
    target = np.ones(n_scores)
    target[rows] = sums.target
    cells = sums.cells._replace(events=sums.events.embed(rows, n_scores))
    return replace(sums, cells=cells, target=target)


def sums_and_changes(
    bound: BoundConstraint, outcomes: np.ndarray, n_outcomes: int, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of a constraint where all decisions are negative, and the change by positive ones.

    The change, (n_sums, n_outcomes), is that per weight of a sample of each outcome, which numbers
    groups and classes; a sum changes by ``changes @ probabilities`` times the sample's weight.
    """
    factors = [change for _, change in decision_outcomes(bound.sums)]
    sums = bound.sums.exact_means(np.full(len(outcomes), -1.0))
    mass = np.maximum(np.bincount(outcomes, weights, n_outcomes), np.finfo(float).tiny)
    by_sample = (spread_over_samples(bound.sums.events, factors, row) for row in np.eye(len(sums)))
    changes = [np.bincount(outcomes, row, n_outcomes) / mass for row in by_sample]
    return sums, np.array(changes).reshape(-1, n_outcomes)


# Input of estimators that wrap another one, whose features only that one checks.


def check_training_without_features(
    estimator: BaseEstimator, arguments: FitArguments, compares_groups: bool
) -> tuple[TrainingData, np.ndarray]:
    """Training data whose features are left out, and the positions of positive weight.

    ``compares_groups`` is as in `check_training_data`.
    """
    y = arguments.y
    check_column("y", y)
    if not is_partitioned(arguments.X):
        check_lengths(X=arguments.X, y=y)
    # Positions stand for the rows of X.
    positions = np.arange(len(column_or_1d(y)))[:, np.newaxis]
    X, target = convert_features_and_target(estimator, positions, y)
    training = encode_training_data(estimator, arguments, X, target, X, compares_groups)
    return training, training.X[:, 0].astype(np.intp)


def stratify_by_class_and_group(
    training: TrainingData, rows: np.ndarray, n_samples: int
) -> np.ndarray:
    """Code of class and group of each sample; -1 without weight.

    Samples of a real target have no class. Classes, and groups, are in the order of their counts,
    those of equal counts in the order of their first samples: names decide nothing.
    """
    codes = _rank_by_count(group_codes(training.samples.groups))
    labels: np.ndarray | int = 0
    if training.classes is not None:
        labels = _rank_by_count(training.labels)
    # Class first, then group: strata of one class are neighbours when they are dealt out.
    # Samples whose group is missing are a stratum of their own.
    strata = np.full(n_samples, -1)
    strata[rows] = (codes.max() + 1) * labels + codes
    return strata


def _rank_by_count(labels: np.ndarray) -> np.ndarray:
    """Codes of labels, ascending with their count, then with their first sample."""
    codes = pd.factorize(labels)[0]
    counts = np.bincount(codes)
    return np.argsort(np.argsort(counts, kind="stable"))[codes]


def route_metadata(
    estimator: BaseEstimator,
    base: BaseEstimator,
    arguments: FitArguments,
    params: dict[str, np.ndarray],
) -> tuple:
    """Keyword arguments for the ``fit`` of the base estimator, and for the splitter.

    Without metadata routing the base gets all params, and the metadata that its ``fit`` names.
    """
    passed = arguments.metadata
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(estimator, "fit", **passed, **params)
        # Not `"splitter" in routed`, which never ends where scikit-learn routes no metadata at all.
        return routed.estimator.fit, routed.get("splitter", {}).get("split", {})
    accepted = {name: value for name, value in passed.items() if has_fit_parameter(base, name)}
    return accepted | params, {}
