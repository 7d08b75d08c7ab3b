"""Linear classifiers of people who lie in parts: collections of Dask, or of files.

What is compared of people is their group and class alone, beside their scores, so that everybody is
represented by one person of the same group and class, whom the constraints are bound to. Workers
keep, of every part, the features, and who represents whom. Two looks at everybody come before those
of the fit: a census of groups and classes, and the moments of the columns.
"""

from collections import Counter
from dataclasses import replace

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_array, column_or_1d

from skfair.constraints import CONSTRAINTS, BoundedGroupLoss, PartialStatisticalParity
from skfair.losses import OBJECTIVES, over_pairs
from skfair.models import LinearModel
from skfair.parts import parts_of
from skfair.people import Groups, People, check_groups
from skfair.solvers import SQP
from skfair.training._in_parts import problem_of_parts
from skfair.training._input import Training, Unit, positive_of
from skfair.utils._messages import by_name, listing

_REHEARSED = 1 << 15
"""How many people the client tries solutions on."""

_LEAST = 200
"""How many it asks for of every group and class, or all of them."""

_BY_GROUP_AND_CLASS = (
    *(one for name, one in CONSTRAINTS.items() if not name.startswith("partial_")),
    BoundedGroupLoss,
)
"""Constraints whose rates are means over those of a group and class."""


def fit_collected(estimator, X, y, people, constraints):
    """Fit a linear classifier to people who lie in parts.

    Parameters
    ----------
    estimator : ConstrainedERMClassifier or PartialParityClassifier
        To be fitted.
    X, y : collection
        As `parts_of` takes them.
    people : dict
        ``sensitive_features`` and ``sample_weight``.
    constraints : list of Constraint
        What is asked for.

    Returns
    -------
    estimator : estimator instance
        Fitted.

    Raises
    ------
    ValueError
        If what is asked for is no sum over parts, or for what is refused of people in memory; the
        message names the part.
    """
    solver = estimator._chosen_solver()
    _refuse_what_is_no_sum(estimator, constraints, solver, people)
    parts = parts_of(estimator.n_jobs, X=X, y=y, **people)
    name = type(estimator).__name__
    census = _Census(parts.collect(_count, name), estimator, bool(constraints))
    shards = parts.each(_encode, census.labels, census.classes, census.places)
    frame = _frame(estimator, constraints, census, _model(estimator, shards, census))
    few = _some(shards, frame, census)
    everybody = shards.each(_problem, frame, census.training.weights)
    problem = problem_of_parts(frame, everybody, few)
    return estimator._fit_problem(X, y, census.training, problem, solver)


def _refuse_what_is_no_sum(estimator, constraints, solver, people):
    remedy = "; fit a sample of the people in memory, or change it."
    if over_pairs(by_name(OBJECTIVES, estimator.loss, "loss")):
        raise ValueError(
            f"Pairs of people in parts cannot be compared, as loss={estimator.loss!r} does{remedy}"
        )
    if not isinstance(solver, SQP) or solver.hessian != "exact":
        raise ValueError(f"People in parts need solver='sqp', got {estimator.solver!r}{remedy}")
    if estimator.enforcement not in estimator._enforced_in_parts:
        raise ValueError(
            "People in parts need enforcement='auto' or None, got "
            f"{estimator.enforcement!r}{remedy}"
        )
    if estimator.confidence_level is not None or estimator.group_interactions:
        raise ValueError(
            "People in parts need confidence_level=None and group_interactions=False, got "
            f"{estimator.confidence_level!r} and {estimator.group_interactions!r}{remedy}"
        )
    are_ranks = [type(constraint) is PartialStatisticalParity for constraint in constraints]
    if any(are_ranks) and not all(are_ranks):
        raise ValueError(
            "Percentiles of people in parts cannot be compared together with rates, but the "
            f"constraints are {constraints}{remedy}"
        )
    for constraint, is_ranked in zip(constraints, are_ranks, strict=True):
        if not is_ranked and type(constraint) not in _BY_GROUP_AND_CLASS:
            raise ValueError(
                "What is compared of people in parts must be a mean over those of a group and "
                "class, or the shares of groups above all thresholds ('statistical_parity' on an "
                f"interval), so that parts add up, which that of {constraint} is not{remedy}"
            )
    if constraints and people["sensitive_features"] is None:
        raise ValueError(
            "People in parts are compared by sensitive_features, but none came; pass a collection "
            "with the same parts; ConstrainedERMClassifier(None) compares nobody."
        )


def _count(part, name):
    """Census of a part: what is wrong with it, or how many of whom there are.

    Returns
    -------
    trouble : str
        Empty if nothing is.
    counted : tuple
        Every kind of people, that is group and class; number and weight of each kind; and the
        weighted sum of the features.
    """
    try:
        X, y, weights, groups = _columns(part, name)
    except (TypeError, ValueError) as error:
        return str(error), ()
    classes, class_codes = np.unique(y, return_inverse=True)
    labels, group_codes = groups.labels, groups.codes
    cells, own = np.unique(group_codes * len(classes) + class_codes, return_inverse=True)
    of_group = map(tuple, labels[cells // len(classes)].tolist())
    kinds = list(zip(of_group, classes[cells % len(classes)].tolist(), strict=True))
    numbers = np.bincount(own, minlength=len(kinds)).tolist()
    return "", (kinds, numbers, np.bincount(own, weights, len(kinds)), weights @ X)


def _columns(part, name):
    """Features, classes, weights and groups of the people of a part who have a weight."""
    X = part["X"]
    kept = [np.float64, np.float32]  # sums are of float64 either way
    X = check_array(X, dtype=kept, ensure_min_samples=0, estimator=name, input_name="X")
    X = np.ascontiguousarray(X)  # or sums would depend on where the rows came from
    y = column_or_1d(part["y"])
    if len(y) and (y != y).any():
        raise ValueError("Input y contains NaN.")
    weights = _weights(part.get("sample_weight"), len(y))
    given = part.get("sensitive_features", np.full(len(y), "all"))
    groups = check_groups(given, len(y)) if len(y) else Groups.single(0)
    present = weights > 0
    if present.all():
        return X, y, weights, groups
    return X[present], y[present], weights[present], groups.take(present)


def _weights(given, n_samples):
    """Weights of a part, of whose people none need have any."""
    weights = np.ones(n_samples) if given is None else column_or_1d(given).astype(np.float64)
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise ValueError("Sample weights must be finite and not negative numbers.")
    return weights


class _Census:
    """Who there is in all parts.

    Attributes
    ----------
    training : Training
        One person of every group and class, weighing as all of them.
    labels : ndarray of object, shape (n_groups, n_attributes)
        What groups are called.
    classes : ndarray of shape (2,)
        Labels of the classes.
    places : ndarray of int, shape (n_groups, 2)
        Who represents a group and class; -1 where there is nobody.
    counts : ndarray of int, shape (n_represented,)
        How many each of them represents.
    center : ndarray of shape (n_features,)
        Weighted means of the features.
    """

    def __init__(self, found, estimator, is_compared):
        for number, (trouble, _) in enumerate(found):
            if trouble:
                raise ValueError(f"Part {number}: {trouble}")
        counts, weights, features = Counter(), Counter(), 0.0
        for kinds, numbers, totals, sums in (counted for _, counted in found):
            features = features + sums
            for kind, number, total in zip(kinds, numbers, totals, strict=True):
                counts[kind] += number
                weights[kind] += total
        if not counts:
            raise ValueError("There is nobody of positive sample_weight in any part.")
        kinds = sorted(counts, key=_order)
        groups = list(dict.fromkeys(group for group, _ in kinds))
        self.classes = np.unique([label for _, label in kinds])
        if len(self.classes) != 2:
            raise ValueError(
                f"{type(estimator).__name__} needs 2 classes among people in parts, but there are "
                f"{len(self.classes)}: {listing(self.classes.tolist())}."
            )
        codes = np.array([groups.index(group) for group, _ in kinds])
        own_class = np.searchsorted(self.classes, [label for _, label in kinds])
        self.labels = np.array(groups, dtype=object)
        self.places = np.full((len(groups), 2), -1)
        self.places[codes, own_class] = np.arange(len(kinds))
        self.counts = np.array([counts[kind] for kind in kinds])
        weights = np.array([weights[kind] for kind in kinds])
        self.center = features / weights.sum()
        self.training = self._training(codes, own_class, weights, estimator, is_compared)

    def _training(self, codes, own_class, weights, estimator, is_compared):
        groups = Groups.disjoint(codes, self.labels)
        # Those of everybody, not of their representatives.
        vars(groups)["counts"] = np.bincount(codes, self.counts).astype(np.intp)
        positive = positive_of(self.classes, estimator.pos_label, is_compared)
        target = np.where(self.classes[own_class] == positive, 1.0, -1.0)
        unit = Unit(spread=1.0 if positive == self.classes[1] else -1.0)
        people = People(target, groups, weights, numbers=self.counts)
        return Training(None, self.classes, people, positive, unit)


def _order(kind):
    """Key by which groups and classes are put in order, whatever labels are."""
    group, label = kind
    return [(str(type(name)), name) for name in (*group, label)]


class _Shard:
    """People of a part: features, who represents each, and weights."""

    def __init__(self, X, places, weights):
        self.X, self.places, self.weights = X, places, weights

    def __sizeof__(self):
        return self.X.nbytes + self.places.nbytes + self.weights.nbytes


def _encode(part, labels, classes, places):
    """People of a part by who represents them."""
    X, y, weights, groups = _columns(part, None)
    if not len(y):
        return _Shard(X, np.empty(0, dtype=np.intp), weights)
    known = {tuple(label): code for code, label in enumerate(labels.tolist())}
    codes = np.array([known[tuple(label)] for label in groups.labels.tolist()], dtype=np.intp)
    return _Shard(X, places[codes[groups.codes], np.searchsorted(classes, y)], weights)


def _model(estimator, shards, census):
    """The model of nobody that everybody's columns are standardised by."""
    total = census.training.weights.sum()
    missed, squares = shards.total(_deviations, census.center)
    missed, squares = missed / total, squares / total
    variance = np.maximum(0.0, squares - missed**2)
    return LinearModel.of_moments(census.center + missed, variance, estimator.fit_intercept)


def _deviations(shard, center):
    deviations = shard.X - center
    return shard.weights @ deviations, shard.weights @ deviations**2


def _frame(estimator, constraints, census, model):
    """The problem of the representatives, whose scores are not asked for."""
    training = census.training
    factors = compute_class_weight(
        estimator.class_weight,
        classes=census.classes,
        y=training.labels,
        sample_weight=training.weights,
    )
    factors = factors[(training.labels == census.classes[1]).astype(int)]
    problem = estimator._problem_of(model, training, constraints, factors)
    return replace(problem, total=float(problem.weights.sum()))


def _problem(shard, frame, represented):
    """People of a part as a part of the problem of all."""
    factors = shard.weights / represented[shard.places]
    return replace(
        frame,
        model=frame.model.on(shard.X),
        target=frame.target[shard.places],
        weights=frame.weights[shard.places] * factors,
        alpha=0.0,
        constraint=frame.constraint.part(shard.places, factors),
    )


def _some(shards, frame, census):
    """The problem among some people, of whom there are enough of every group and class."""
    rate = min(1.0, _REHEARSED / census.counts.sum())
    rates = np.maximum(rate, np.minimum(1.0, _LEAST / census.counts))
    drawn = shards.collect(_draw, rates)
    some = _Shard(*(np.concatenate(own) for own in zip(*drawn, strict=True)))
    problem = _problem(some, frame, census.training.weights)
    everybody = problem.take(np.arange(len(some.weights)))
    return replace(everybody, alpha=frame.alpha, total=None)


def _draw(shard, rates):
    """Some people of a part, who weigh as many as they were drawn from."""
    if not len(shard.X):
        return shard.X, shard.places, shard.weights
    # A part draws the same people whatever lies beside it, and not those at the same places.
    first = np.ascontiguousarray(shard.X[0], dtype=np.float64).view(np.uint32)
    lots = np.random.default_rng([len(shard.X), *first.tolist()]).uniform(size=len(shard.X))
    own = rates[shard.places]
    rows = np.flatnonzero(lots < own)
    return shard.X[rows], shard.places[rows], shard.weights[rows] / own[rows]
