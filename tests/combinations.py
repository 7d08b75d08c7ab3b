"""Estimators x constraints x data: how each fit is judged, and what numpy says of it.

A `Combination` fits an estimator at a tolerance, and measures the fit without skfair: the gap that
is bounded, the number by which fits are judged (smaller is better), and the same two numbers of
models that are cheap to know. Tests choose tolerances relative to the gap of the plain model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityClassifier,
    PartialParityPostprocessor,
)
from skfair.cluster import FairKMeans
from skfair.constraints import (
    BoundedGroupLoss,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorRateParity,
    FalsePositiveRateParity,
    LossParity,
    MaximumRate,
    MeanErrorParity,
    MeanParity,
    MinimumRate,
    PartialDemographicParity,
    PartialGroupAUC,
    PartialStatisticalParity,
)
from skfair.model_selection import fit_ladder
from skfair.regression import (
    ConstrainedERMRegressor,
    ConstrainedRegressorCV,
    PartialParityRegressor,
)

N_SAMPLES = 240

# Data.


class Data(NamedTuple):
    """Samples: features, classes 0 and 1, numbers, groups as users pass them, and weights.

    ``members`` are the masks of the groups that are compared, ``classes`` the labels of classes,
    and ``n_blocks`` the number of blocks in which samples are passed.
    """

    X: Any
    y: np.ndarray
    numbers: np.ndarray
    groups: np.ndarray
    members: list
    weights: np.ndarray
    attributes: str = "intersections"
    classes: tuple = (0, 1)
    n_blocks: int = 1

    @property
    def labels(self):
        """The label of each sample's class."""
        return np.array(self.classes)[self.y]

    def pass_columns(self, **columns):
        """Columns beside weights and groups as arguments of ``fit``, perhaps in blocks."""
        columns |= {"sample_weight": self.weights, "sensitive_features": self.groups}
        if self.n_blocks == 1:
            return columns
        size = -(-len(self.y) // self.n_blocks)
        from_array = pytest.importorskip("dask.array").from_array
        return {
            name: from_array(column, chunks=(size, *column.shape[1:]))
            for name, column in columns.items()
        }


KINDS = (
    "plain",
    "weights",
    "group of 1 %",
    "three groups",
    "two attributes",
    "each attribute",
    "few distinct rows",
    "rare outcome",
    "many columns",
    "sparse",
    "partitions",
)
"""Kinds of data that are drawn."""


@cache
def draw(kind, seed, n_samples=N_SAMPLES):
    """Samples of which features and outcomes depend on the group."""
    rng = np.random.default_rng((seed, KINDS.index(kind)))
    n_samples = 400 if kind == "group of 1 %" else n_samples
    groups = rng.integers(3 if kind == "three groups" else 2, size=n_samples)
    if kind == "group of 1 %":
        groups = (rng.permutation(n_samples) < n_samples // 100).astype(int)
    X = rng.normal(size=(n_samples, 16 if kind == "many columns" else 3))
    X[:, 0] += 0.8 * groups
    if kind == "few distinct rows":
        X = np.round(X[:, :2])
    if kind == "sparse":
        X *= X > 0.3
    signal = X[:, :3].sum(axis=1) + rng.logistic(size=n_samples)
    y = (signal > (4.0 if kind == "rare outcome" else 0.6)).astype(int)
    weights = rng.lognormal(size=n_samples) if kind == "weights" else np.ones(n_samples)
    attributes = "intersections"
    members = [groups == one for one in np.unique(groups)]
    if kind in ("two attributes", "each attribute"):
        other = rng.integers(2, size=n_samples)
        X[:, 1] += 0.5 * other
        others = [other == one for one in (0, 1)]
        if kind == "two attributes":
            members = [one & two for one in members for two in others]
        else:  # overlapping groups
            members = members + others
            attributes = "each"
        groups = np.column_stack((groups, other))
    numbers = 3.0 * X[:, :2].sum(axis=1) + rng.normal(size=n_samples)
    return Data(
        X=sparse.csr_array(X) if kind == "sparse" else X,
        y=y,
        numbers=numbers,
        groups=groups,
        members=members,
        weights=weights,
        attributes=attributes,
        n_blocks=4 if kind == "partitions" else 1,
    )


# Gaps by hand.


def group_means(values, cell, data):
    """Weighted mean of the values of each group within a cell; nan without members."""
    means = []
    for of_group in data.members:
        chosen = cell & of_group
        weight = data.weights[chosen].sum()
        means.append((data.weights[chosen] @ values[chosen]) / weight if weight else np.nan)
    return np.array(means)


def largest_range(means):
    """Largest minus smallest mean."""
    return np.ptp(means)


def lack_of_ratio(means):
    """How much the smallest mean lacks to the largest, relative to it."""
    return 1.0 - means.min() / means.max() if means.max() > 0.0 else 0.0


def lack_of_floor(means):
    """How much the smallest mean lacks to 1."""
    return 1.0 - means.min()


def largest_mean(means):
    """The largest mean."""
    return means.max()


def cells_of(name, data):
    """Masks of the samples whose means are compared."""
    of_classes = {"positive": data.y == 1, "negative": data.y == 0}
    return {
        "all": [np.ones(len(data.y), dtype=bool)],
        "positive": [of_classes["positive"]],
        "negative": [of_classes["negative"]],
        "both": [*of_classes.values()],
    }[name]


@dataclass(frozen=True)
class Criterion:
    """A constraint and its gap by hand.

    ``make`` takes a tolerance and settings, ``cells`` names the cells whose means are compared, and
    ``summarize`` makes the gap of the means of a cell.
    """

    make: Callable
    cells: str = "all"
    summarize: Callable = largest_range
    are_errors: bool = False
    has_reference: bool = False

    def settings(self, data):
        """Settings of the constraint that depend on the data."""
        settings = {"min_group_size": 1, "attributes": data.attributes}
        if self.has_reference:
            labels = np.atleast_2d(data.groups.T)[:, np.flatnonzero(data.members[0])[0]]
            settings["reference"] = dict(enumerate(labels.tolist()))
        return settings

    def gap(self, data, values):
        """The gap of values of the samples."""
        return max(
            self.summarize(group_means(values, cell, data)) for cell in cells_of(self.cells, data)
        )

    def gap_of_decisions(self, data, decisions):
        """The gap of decisions."""
        values = decisions != (data.y == 1) if self.are_errors else decisions
        return self.gap(data, values.astype(float))


def _parity(constraint):
    """A function from a tolerance to the constraint."""
    return lambda tolerance, **settings: constraint(tolerance=tolerance, **settings)


DECISIONS = {
    "demographic parity": Criterion(_parity(DemographicParity)),
    "equal opportunity": Criterion(_parity(EqualOpportunity), "positive"),
    "false positive rates": Criterion(_parity(FalsePositiveRateParity), "negative"),
    "equalized odds": Criterion(_parity(EqualizedOdds), "both"),
    "error rates": Criterion(_parity(ErrorRateParity), are_errors=True),
    "ratio": Criterion(
        lambda tolerance, **settings: DemographicParity(ratio=1.0 - tolerance, **settings),
        summarize=lack_of_ratio,
    ),
    "floor": Criterion(
        lambda tolerance, **settings: MinimumRate("recall", 1.0 - tolerance, **settings),
        "positive",
        lack_of_floor,
    ),
    "ceiling": Criterion(
        lambda tolerance, **settings: MaximumRate("fpr", tolerance, **settings),
        "negative",
        largest_mean,
    ),
}
"""Constraints on rates of decisions."""


def largest_range_of_attributes(means):
    """The larger range of the means of two attributes of two groups each."""
    return max(np.ptp(means[:2]), np.ptp(means[2:]))


BY_ATTRIBUTE = Criterion(
    lambda tolerance, **settings: DemographicParity(
        tolerance={0: tolerance, 1: tolerance}, **settings
    ),
    summarize=largest_range_of_attributes,
)
"""A tolerance for each attribute."""


def shortfall_of_groups(means):
    """By how much the smallest mean is below that of the first group, at least 0."""
    return means[0] - means.min()


BELOW_REFERENCE = Criterion(
    lambda tolerance, **settings: DemographicParity(
        tolerance=tolerance, direction="below", **settings
    ),
    summarize=shortfall_of_groups,
    has_reference=True,
)
"""No group is below the first one."""

LOSSES = {
    "loss parity": Criterion(_parity(LossParity)),
    "bounded loss": Criterion(BoundedGroupLoss, summarize=largest_mean),
}
"""Constraints on mean losses."""


def shares_inside(data, scores, members, interval):
    """Scores of a group whose rank lies in an interval, and their shares of the weight."""
    of_group = scores[members]
    weights = data.weights[members]
    above = np.array([weights[of_group > one].sum() for one in of_group]) / weights.sum()
    is_inside = (above >= interval[0] - 1e-9) & (above < interval[1] - 1e-9)
    return of_group[is_inside], weights[is_inside] / weights[is_inside].sum()


def gap_of_ranks(data, scores, interval=(0.0, 0.5)):
    """Largest difference of the shares of two groups in an interval above any score."""
    ranked = [shares_inside(data, scores, members, interval) for members in data.members]
    thresholds = np.concatenate([values for values, _ in ranked])
    rates = [
        [shares[values > threshold].sum() for threshold in thresholds] for values, shares in ranked
    ]
    return float(np.ptp(rates, axis=0).max())


def gap_at_threshold(data, scores, interval=(0.0, 0.5), threshold=0.0):
    """Largest difference of the shares of two groups in an interval above one score."""
    ranked = [shares_inside(data, scores, members, interval) for members in data.members]
    return float(np.ptp([shares[values > threshold].sum() for values, shares in ranked]))


def gap_of_areas(data, scores, interval=(0.0, 0.5)):
    """Largest distance from 1/2 of the share of pairs of two groups, the first of which is higher.

    Ties count one half.
    """
    ranked = [shares_inside(data, scores, members, interval) for members in data.members]
    gaps = []
    for i, (values, shares) in enumerate(ranked):
        for others, other_shares in ranked[:i]:
            signs = np.sign(values[:, np.newaxis] - others)
            gaps.append(abs(shares @ signs @ other_shares) / 2.0)
    return max(gaps)


RANKS = {
    "percentiles": (PartialStatisticalParity, gap_of_ranks),
    "percentiles at 0": (PartialDemographicParity, gap_at_threshold),
    "areas": (PartialGroupAUC, gap_of_areas),
}
"""Constraints on ranks in the upper half, and their gaps by hand."""


# Measures by which fits are judged: smaller is better.


def error_rate(data, decisions):
    """Weighted share of wrong decisions."""
    return float(np.average(decisions != (data.y == 1), weights=data.weights))


def rank_loss(target, scores, weights):
    """Weighted share of the pairs of different targets that are ranked the wrong way.

    Ties count one half. Of two classes this is 1 less the area under the ROC curve.
    """
    order = np.sign(target[:, np.newaxis] - target) > 0
    pairs = np.outer(weights, weights) * order
    wrong = 0.5 - 0.5 * np.sign(scores[:, np.newaxis] - scores)
    return float((pairs * wrong).sum() / pairs.sum())


# Combinations.


class Fit(NamedTuple):
    """A fitted estimator with what is judged: the measure, the gap, and predictions."""

    estimator: Any
    measure: float
    gap: float
    output: np.ndarray


TWO_SIDED = (0.3, 0.7, 1.05)
ONE_SIDED = (0.95, 0.98, 1.05)
"""Tolerances of fits as shares of the gap of the plain model.

Bounds on every group cannot be moved as far as those on differences.
"""


@dataclass(frozen=True)
class Combination:
    """An estimator and a constraint.

    ``shares`` are the tolerances of its fits as shares of the gap of the plain model.

    ``fit`` takes data and a tolerance, or None for the plain model, and returns a `Fit`.
    ``alternatives`` takes data and the plain fit, and yields measure and gap of models that are
    cheap to know. ``noise`` takes the same, and says how much worse than these a fit may be.
    """

    name: str
    fit: Callable
    alternatives: Callable
    noise: Callable
    kinds: tuple = KINDS
    shares: tuple = TWO_SIDED


def two_samples(data, plain):
    """Two samples of mean weight, as a share of all weight."""
    return 2.0 / len(data.y)


# Decisions.


def fit_decisions(make, criterion, is_out_of_fold, needs_groups, data, tolerance):
    """Fit a classifier, and judge its decisions on the training samples."""
    constraint = None
    if tolerance is not None:
        constraint = criterion.make(tolerance, **criterion.settings(data))
    model = make(data, constraint).set_params(pos_label=data.classes[1])
    model.fit(**data.pass_columns(X=data.X, y=data.labels))
    if is_out_of_fold:
        scores = model.oof_decision_function_
    elif needs_groups:
        scores = model.decision_function(data.X, sensitive_features=data.groups)
    else:
        scores = model.decision_function(data.X)
    # Positive scores lead to the second of the sorted classes.
    scores = scores if model.classes_[1] == data.classes[1] else -scores
    decisions = scores > 0
    gap = criterion.gap_of_decisions(data, decisions)
    return Fit(model, error_rate(data, decisions), gap, scores)


def fit_with_intercepts(criterion, data, tolerance):
    """A linear classifier with an intercept for each group, which its predictions know."""

    def make(data, constraint):
        return ConstrainedERMClassifier(constraint, group_interactions="intercept")

    return fit_decisions(make, criterion, False, True, data, tolerance)


def shift_decisions(criterion, data, plain):
    """Measures and gaps of the plain scores with any threshold, among them both constants."""
    for threshold in np.unique(np.append(plain.output, [-np.inf, np.inf])):
        decisions = plain.output > threshold
        yield error_rate(data, decisions), criterion.gap_of_decisions(data, decisions)


def _linear(data, constraint):
    return ConstrainedERMClassifier(constraint)


def wrap(base, knows_groups, data, constraint):
    # Fits are judged by all errors: without class_weight these cost what they cost for the base.
    return ConstrainedClassifierCV(
        FrozenEstimator(base().fit(data.X, data.labels, sample_weight=data.weights)),
        constraint,
        group_estimator="sensitive_features" if knows_groups else LogisticRegression(),
        class_weight=dict.fromkeys(np.unique(data.labels), 1.0),
    )


def _tree():
    return DecisionTreeClassifier(max_leaf_nodes=8, random_state=0)


ON_ARRAYS = tuple(kind for kind in KINDS if kind not in ("sparse", "partitions"))

BASES = {"logistic": LogisticRegression, "tree": _tree}


ONE_SIDED_KINDS = ("plain", "weights", "three groups", "two attributes")
"""Kinds of data for constraints on one side."""


WRAPPERS = tuple(product(BASES, (True, False)))
"""Bases that are wrapped, each with rules by the group and by its estimate."""


def two_of_three(kinds, number):
    """Two thirds of many kinds of data, others for each number.

    Of constraints, bases and kinds of data all pairs occur together, and two thirds of the triples.
    """
    if len(kinds) < 6:
        return tuple(kinds)
    return tuple(kind for position, kind in enumerate(kinds) if (position + number) % 3)


def combine_decisions(criteria=DECISIONS, kinds=KINDS):
    """Yield the combinations of classifiers and constraints on rates."""
    for number, (name, criterion) in enumerate(criteria.items()):
        alternatives = partial(shift_decisions, criterion)
        shares = _shares_of(name)
        yield Combination(
            f"linear, {name}",
            partial(fit_decisions, _linear, criterion, False, False),
            alternatives,
            two_samples,
            kinds,
            shares,
        )
        for wrapper, (base, knows_groups) in enumerate(WRAPPERS):
            make = BASES[base]
            yield Combination(
                f"{base}, {'known' if knows_groups else 'blind'}, {name}",
                partial(fit_decisions, partial(wrap, make, knows_groups), criterion, True, False),
                alternatives,
                two_samples,
                two_of_three([kind for kind in kinds if kind in ON_ARRAYS], number + wrapper),
                shares,
            )


# Some of several classes.


COMPARED_CLASSES = ["first", "second"]
"""Classes of three that are compared."""


def make_classes(data):
    """Three classes of equal size, by the numbers."""
    ends = np.quantile(data.numbers, [1.0 / 3.0, 2.0 / 3.0])
    return np.array(["first", "second", "third"])[np.digitize(data.numbers, ends)]


def fit_classes(knows_groups, data, tolerance):
    """Fit a classifier of three classes, and judge its decisions."""
    target = make_classes(data)
    criterion = DECISIONS["demographic parity"]
    constraint = None
    if tolerance is not None:
        constraint = criterion.make(tolerance, **criterion.settings(data))
    base = LogisticRegression().fit(data.X, target, sample_weight=data.weights)
    model = ConstrainedClassifierCV(
        FrozenEstimator(base),
        constraint,
        pos_label=COMPARED_CLASSES,
        group_estimator="sensitive_features" if knows_groups else LogisticRegression(),
    )
    model.fit(data.X, target, sample_weight=data.weights, sensitive_features=data.groups)
    decisions = model.classes_[model.oof_decision_function_.argmax(axis=1)]
    gaps = [criterion.gap(data, (decisions == one).astype(float)) for one in COMPARED_CLASSES]
    error = float(np.average(decisions != target, weights=data.weights))
    return Fit(model, error, max(gaps), decisions == COMPARED_CLASSES[0])


def constant_classes(data, plain):
    """Measures and gaps of the plain model and of each constant."""
    yield plain.measure, plain.gap
    target = make_classes(data)
    for one in np.unique(target):
        yield float(np.average(target != one, weights=data.weights)), 0.0


def combine_classes():
    """Yield the combinations of several classes."""
    for knows_groups in (True, False):
        yield Combination(
            f"logistic of three classes, {'known' if knows_groups else 'blind'}, parity",
            partial(fit_classes, knows_groups),
            constant_classes,
            two_samples,
            ("plain", "weights", "three groups"),
        )


# One of several tolerances.


def fit_step(criterion, knows_groups, data, tolerance):
    """Fit a classifier at a tighter and a looser tolerance, too, and judge the one between."""
    constraint = None
    if tolerance is not None:
        constraint = criterion.make(None, **criterion.settings(data))
    model = wrap(LogisticRegression, knows_groups, data, constraint)
    model.set_params(pos_label=data.classes[1])
    values = [1.0] if tolerance is None else [0.5 * tolerance, tolerance, min(1.0, 2.0 * tolerance)]
    columns = data.pass_columns(X=data.X, y=data.labels)
    ladder = fit_ladder(model, parameter="tolerance", values=values, **columns)
    model = ladder[len(ladder) // 2]
    scores = model.oof_decision_function_
    scores = scores if model.classes_[1] == data.classes[1] else -scores
    gap = criterion.gap_of_decisions(data, scores > 0)
    return Fit(model, error_rate(data, scores > 0), gap, scores)


def combine_ladders():
    """Yield the combinations of ladders of fits."""
    criterion = DECISIONS["demographic parity"]
    for knows_groups in (True, False):
        yield Combination(
            f"ladder of logistic, {'known' if knows_groups else 'blind'}, demographic parity",
            partial(fit_step, criterion, knows_groups),
            partial(shift_decisions, criterion),
            two_samples,
            ("plain", "weights", "three groups", "two attributes"),
        )


# The k highest scores.


def fit_places(criterion, knows_groups, data, tolerance):
    """Fit a classifier with k, and judge the expected errors among the samples that it selects."""
    constraint = None
    if tolerance is not None:
        constraint = criterion.make(tolerance, min_group_size=1, attributes=data.attributes)
    model = wrap(LogisticRegression, knows_groups, data, constraint)
    model.set_params(k=0.2, pos_label=data.classes[1])
    model.fit(data.X, data.labels, sample_weight=data.weights, sensitive_features=data.groups)
    unit = model._unit
    scores = unit.to_unit(model.oof_decision_function_)  # of the positive class
    selected = scores > 0
    slope, offset = model.calibration_
    chances = expit(slope * unit.to_unit(model.estimators_[0].decision_function(data.X)) + offset)
    errors = float(np.average(selected * (1.0 - 2.0 * chances), weights=data.weights))
    gap = criterion.gap_of_decisions(data, selected)
    return Fit(model, errors, gap, scores)


def keep_plain(data, plain):
    """The plain fit alone: constants do not select k samples."""
    yield plain.measure, plain.gap


PLACES = ("demographic parity", "equal opportunity", "false positive rates", "ratio")
"""Constraints of the k highest scores."""


def combine_places():
    """Yield the combinations of classifiers with k and constraints on rates."""
    for name in PLACES:
        for knows_groups in (True, False):
            yield Combination(
                f"k highest, {'known' if knows_groups else 'blind'}, {name}",
                partial(fit_places, DECISIONS[name], knows_groups),
                keep_plain,
                two_samples,
                tuple(kind for kind in ON_ARRAYS if kind != "few distinct rows"),
            )


# Losses and numbers.


def fit_losses(criterion, data, tolerance):
    """Fit a linear classifier, and judge its mean logistic loss."""
    constraint = None
    if tolerance is not None:
        constraint = criterion.make(tolerance, min_group_size=1, attributes=data.attributes)
    model = ConstrainedERMClassifier(constraint)
    model.fit(**data.pass_columns(X=data.X, y=data.y))
    scores = model.decision_function(data.X)
    losses = np.logaddexp(0.0, -np.where(data.y, 1.0, -1.0) * scores)
    return Fit(
        model, float(np.average(losses, weights=data.weights)), criterion.gap(data, losses), scores
    )


def shift_losses(criterion, data, plain):
    """Measures and gaps of the plain scores with other intercepts, and of constants."""
    for scores in (plain.output, 0.0 * plain.output):
        for shift in np.linspace(-3.0, 3.0, 61):
            losses = np.logaddexp(0.0, -np.where(data.y, 1.0, -1.0) * (scores + shift))
            yield float(np.average(losses, weights=data.weights)), criterion.gap(data, losses)


NUMBERS = {
    "mean parity": (Criterion(_parity(MeanParity)), lambda data, values: values),
    "mean errors": (
        Criterion(_parity(MeanErrorParity)),
        lambda data, values: values - data.numbers,
    ),
    "loss parity": (
        Criterion(_parity(LossParity)),
        lambda data, values: (data.numbers - values) ** 2,
    ),
    "bounded loss": (
        Criterion(BoundedGroupLoss, summarize=largest_mean),
        lambda data, values: (data.numbers - values) ** 2,
    ),
}
"""Constraints of regressors, and the values whose means are compared."""


def fit_numbers(make, name, is_out_of_fold, data, tolerance):
    """Fit a regressor, and judge its mean squared error."""
    criterion, compared = NUMBERS[name]
    constraint = None
    if tolerance is not None:
        constraint = criterion.make(tolerance, min_group_size=1, attributes=data.attributes)
    model = make(data, constraint)
    model.fit(**data.pass_columns(X=data.X, y=data.numbers))
    values = model.oof_prediction_ if is_out_of_fold else model.predict(data.X)
    error = float(np.average((data.numbers - values) ** 2, weights=data.weights))
    return Fit(model, error, criterion.gap(data, compared(data, values)), values)


def shift_numbers(name, data, plain):
    """Measures and gaps of the plain predictions plus a constant, and of the mean plus one."""
    criterion, compared = NUMBERS[name]
    center = np.average(data.numbers, weights=data.weights)
    spread = data.numbers.std()
    for values in (plain.output, np.full(len(data.y), center)):
        for shift in np.linspace(-1.0, 1.0, 41) * spread:
            error = np.average((data.numbers - values - shift) ** 2, weights=data.weights)
            yield float(error), criterion.gap(data, compared(data, values + shift))


def one_percent_of_variance(data, plain):
    """One per cent of the variance of the numbers."""
    return 0.01 * float(np.cov(data.numbers, aweights=data.weights))


def _linear_regressor(data, constraint):
    return ConstrainedERMRegressor(constraint)


def _wrap_regressor(base, knows_groups, data, constraint):
    return ConstrainedRegressorCV(
        FrozenEstimator(base().fit(data.X, data.numbers, sample_weight=data.weights)),
        constraint,
        group_estimator="sensitive_features" if knows_groups else LogisticRegression(),
    )


def _regression_tree():
    return DecisionTreeRegressor(max_leaf_nodes=8, random_state=0)


FOR_INFEASIBLE = ("plain", "group of 1 %", "two attributes", "rare outcome")
"""Kinds of data for bounds that no model may keep, since searches for one take long."""


def _kinds_of(name, kinds):
    """Kinds of data that suit a constraint."""
    return FOR_INFEASIBLE if name == "bounded loss" else kinds


def _shares_of(name):
    """Shares of the plain model's gap that suit a constraint."""
    return ONE_SIDED if name in ("bounded loss", "floor", "ceiling") else TWO_SIDED


def combine_losses():
    """Yield the combinations on mean losses of classifiers."""
    for name, criterion in LOSSES.items():
        yield Combination(
            f"linear, {name}",
            partial(fit_losses, criterion),
            partial(shift_losses, criterion),
            lambda data, plain: 0.005,
            _kinds_of(name, KINDS),
            _shares_of(name),
        )


REGRESSORS = {"line": LinearRegression, "tree": _regression_tree}


def combine_numbers(names):
    """Yield the combinations on numbers."""
    for number, name in enumerate(names):
        alternatives = partial(shift_numbers, name)
        yield Combination(
            f"linear regression, {name}",
            partial(fit_numbers, _linear_regressor, name, False),
            alternatives,
            one_percent_of_variance,
            _kinds_of(name, KINDS),
            _shares_of(name),
        )
        for wrapper, (base, knows_groups) in enumerate(product(REGRESSORS, (True, False))):
            make = partial(_wrap_regressor, REGRESSORS[base], knows_groups)
            yield Combination(
                f"regression {base}, {'known' if knows_groups else 'blind'}, {name}",
                partial(fit_numbers, make, name, True),
                alternatives,
                one_percent_of_variance,
                two_of_three(_kinds_of(name, ON_ARRAYS), number + wrapper),
                _shares_of(name),
            )


# Ranks.


def fit_ranks(make, name, is_real, needs_groups, data, tolerance):
    """Fit an estimator under a constraint on ranks, and judge the ranks of its scores."""
    criterion, gap = RANKS[name]
    constraint = None if tolerance is None else criterion((0.0, 0.5), tolerance=tolerance)
    target = data.numbers if is_real else data.y
    model = make(data, constraint)
    model.fit(**data.pass_columns(X=data.X, y=target))
    method = model.predict if is_real else model.decision_function
    scores = method(data.X, **({"sensitive_features": data.groups} if needs_groups else {}))
    loss = rank_loss(target, scores, data.weights)
    # A postprocessor chooses decisions first: where the bound is on these, they are its measure.
    if needs_groups and name == "percentiles at 0":
        loss = error_rate(data, scores > 0.0)
    return Fit(model, loss, gap(data, scores), scores)


def no_alternatives(data, plain):
    """None: neither a shift nor a scale changes ranks."""
    return []


def one_percent(data, plain):
    """One per cent of all pairs."""
    return 0.01


def _linear_ranks(data, constraint):
    if constraint is None:
        return ConstrainedERMClassifier(None)
    return PartialParityClassifier(constraint)


def _linear_real_ranks(data, constraint):
    if constraint is None:
        return ConstrainedERMRegressor(None)
    return PartialParityRegressor(constraint)


def _postprocess(data, constraint):
    base = FrozenEstimator(GaussianNB().fit(data.X, data.y, sample_weight=data.weights))
    if constraint is None:
        constraint = PartialStatisticalParity((0.0, 0.5), tolerance=1.0)
    return PartialParityPostprocessor(base, constraint=constraint)


LARGE_GROUPS = ("plain", "weights", "three groups", "few distinct rows", "many columns")
IN_BLOCKS = (*LARGE_GROUPS, "partitions")


def combine_ranks():
    """Yield the combinations on ranks."""
    for name in RANKS:
        yield Combination(
            f"linear, {name}",
            partial(fit_ranks, _linear_ranks, name, False, False),
            no_alternatives,
            one_percent,
            IN_BLOCKS if name == "percentiles" else LARGE_GROUPS,
        )
        if name != "areas":
            yield Combination(
                f"postprocessor, {name}",
                partial(fit_ranks, _postprocess, name, False, True),
                no_alternatives,
                one_percent,
                LARGE_GROUPS,
            )
    yield Combination(
        "linear regression, percentiles",
        partial(fit_ranks, _linear_real_ranks, "percentiles", True, False),
        no_alternatives,
        one_percent,
        IN_BLOCKS,
    )


# Clusters.

N_CLUSTERS = 4


def smallest_balance(data, labels):
    """Smallest ratio of two groups' weights in a cluster, relative to that in all samples."""
    sizes = np.array(
        [
            [data.weights[members & (labels == k)].sum() for members in data.members]
            for k in range(N_CLUSTERS)
        ]
    )
    totals = sizes.sum(axis=0)
    return float(np.min(sizes.min(axis=1) / sizes.max(axis=1)) * totals.max() / totals.min())


def fit_clusters(data, tolerance):
    """Fit k-means under a bound on the balance, and judge its cost."""
    bound = None if tolerance is None else 1.0 - tolerance
    model = FairKMeans(N_CLUSTERS, min_balance=bound, random_state=0)
    model.fit(**data.pass_columns(X=data.X))
    # Clusters are numbered by their first member.
    _, first, labels = np.unique(model.labels_, return_index=True, return_inverse=True)
    labels = np.argsort(np.argsort(first))[labels]
    cost = model.inertia_ / data.weights.sum()
    return Fit(model, cost, 1.0 - smallest_balance(data, labels), labels)


def combine_clusters():
    """Yield the combinations of k-means."""
    yield Combination(
        "k-means, balance",
        fit_clusters,
        no_alternatives,
        lambda data, plain: 0.01 * plain.measure,
        (
            "plain",
            "weights",
            "group of 1 %",
            "three groups",
            "few distinct rows",
            "sparse",
            "partitions",
        ),
    )


COMBINATIONS = [
    *combine_decisions(),
    *combine_losses(),
    *combine_numbers(("mean parity", "loss parity", "bounded loss")),
    *combine_ranks(),
    *combine_clusters(),
    *combine_numbers(("mean errors",)),
    *combine_decisions({"tolerances by attribute": BY_ATTRIBUTE}, ("each attribute",)),
    *combine_decisions({"below the reference": BELOW_REFERENCE}, ONE_SIDED_KINDS),
    *combine_classes(),
    *combine_places(),
    *combine_ladders(),
]


# Data that say the same in other words.


def take_rows(data, rows):
    """Some rows of the data, which may repeat."""
    return data._replace(
        X=data.X[rows],
        y=data.y[rows],
        numbers=data.numbers[rows],
        groups=data.groups[rows],
        members=[one[rows] for one in data.members],
        weights=data.weights[rows],
    )


def permute_rows(data):
    """The rows in another order."""
    return take_rows(data, np.random.default_rng(0).permutation(len(data.y)))


def repeat_rows(data):
    """All samples twice."""
    return take_rows(data, np.tile(np.arange(len(data.y)), 2))


def double_weights(data):
    """All weights doubled."""
    return data._replace(weights=2.0 * data.weights)


def rename_groups(data):
    """Groups as text, in the opposite order."""
    return data._replace(groups=np.array(["c", "b", "a"])[data.groups])


def permute_columns(data):
    """The features in the opposite order."""
    order = np.arange(data.X.shape[1])[::-1]
    return data._replace(X=data.X[:, order])


def rename_classes(data):
    """Classes as text, of which the first one in the alphabet is positive."""
    return data._replace(classes=("refused", "accepted"))


def rescale_columns(data):
    """The features in smaller units, so that some numbers are a million times as large."""
    return data._replace(X=data.X * 1000.0 ** (np.arange(data.X.shape[1]) % 3))
