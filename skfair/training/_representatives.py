"""People who lie in parts: who there is, and by whom each is represented.

What is compared of people is their group, and their class where the target is one, beside scores
and real targets: everybody is represented by one person of the same group and class. Workers keep,
of every part, the features, the targets, and who represents whom.
"""

from collections import Counter

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d

from skfair.people import Groups, People, check_groups
from skfair.training._input import Training, Unit, positive_of
from skfair.utils._messages import listing


class Representatives:
    """Who stands for everybody in all parts, by a census of them.

    Parameters
    ----------
    parts : Parts
        As `parts_of` makes them.
    estimator : estimator instance
        Named in messages; of classifiers ``pos_label`` is the positive class.
    is_real : bool
        Whether the target is a real number and no class.
    is_compared : bool
        Whether groups are.

    Attributes
    ----------
    training : Training
        One person of every group and class, weighing as all of them; of a real target, which is 0
        for them, one of every group.
    labels : ndarray of object, shape (n_groups, n_attributes)
        What groups are called.
    kinds : ndarray of shape (n_kinds,)
        What is told apart in a group: the labels of the classes; 0 alone of a real target.
    places : ndarray of int, shape (n_groups, n_kinds)
        Who represents a group and class; -1 where there is nobody.
    counts : ndarray of int, shape (n_represented,)
        How many each of them represents.
    center : ndarray of shape (n_features,)
        Weighted means of the features.

    Raises
    ------
    ValueError
        For what is refused of people in memory, with the number of the part; if there is nobody;
        if there are not two classes.
    """

    def __init__(self, parts, estimator, is_real, is_compared):
        people, sums, attributes = _counted(parts, type(estimator).__name__, is_real)
        counts, weights = Counter(), Counter()
        for one in people:
            for cell, number, weight in zip(*one, strict=True):
                counts[cell] += number
                weights[cell] += weight
        if not counts:
            raise ValueError("There is nobody of positive sample_weight in any part.")
        cells = sorted(counts, key=_order)
        labels = list(dict.fromkeys(group for group, _ in cells))
        self.kinds = np.unique([kind for _, kind in cells])
        codes = np.array([labels.index(group) for group, _ in cells])
        own = np.searchsorted(self.kinds, [kind for _, kind in cells])
        self.labels = np.array(labels, dtype=object)
        self.places = np.full((len(labels), len(self.kinds)), -1)
        self.places[codes, own] = np.arange(len(cells))
        self.counts = np.array([counts[cell] for cell in cells])
        weights = np.array([weights[cell] for cell in cells])
        self.center = sum(features for *_, features in sums) / weights.sum()
        groups = Groups.disjoint(codes, self.labels, next(filter(None, attributes)))
        # Those of everybody, not of their representatives.
        vars(groups)["counts"] = np.bincount(codes, self.counts).astype(np.intp)
        people = People(np.zeros(len(codes)), groups, weights, numbers=self.counts)
        if is_real:
            unit = _unit([moments for *moments, _ in sums], estimator.fit_intercept)
            self.training = Training(None, None, people, unit=unit)
        else:
            self.training = _of_classes(self.kinds, own, people, estimator, is_compared)


def _of_classes(classes, own, people, estimator, is_compared):
    """Training of representatives, each with a class of its own."""
    if len(classes) != 2:
        raise ValueError(
            f"{type(estimator).__name__} needs 2 classes among people in parts, but there are "
            f"{len(classes)}: {listing(classes.tolist())}."
        )
    positive = positive_of(classes, estimator.pos_label, is_compared)
    target = np.where(classes[own] == positive, 1.0, -1.0)
    unit = Unit(spread=1.0 if positive == classes[1] else -1.0)
    return Training(None, classes, people._replace(target=target), positive, unit)


def _unit(moments, is_centered):
    """Units of a real target, from weight, mean and sum of squared deviations of every part."""
    weights, means, squares = np.array(moments).T
    center = float(np.average(means, weights=weights)) * is_centered
    variance = (squares + weights * (means - center) ** 2).sum() / weights.sum()
    return Unit(center, float(np.sqrt(variance)) or 1.0)


def _order(cell):
    """Key by which groups and classes are put in order, whatever labels are."""
    group, kind = cell
    return [(str(type(name)), name) for name in (*group, kind)]


def _counted(parts, name, is_real):
    """What `_count` tells of every part; an error that names the first one with any trouble."""
    found = parts.collect(_count, name, is_real)
    for number, (trouble, *_) in enumerate(found):
        if trouble:
            raise ValueError(f"Part {number}: {trouble}")
    _, people, sums, attributes = zip(*found, strict=True)
    return people, sums, attributes


def _count(part, name, is_real):
    """Census of a part: what is wrong with it, or how many of whom there are.

    Returns
    -------
    trouble : str
        Empty if nothing is.
    people : tuple
        Every cell of people, that is group and class; number and weight of each.
    sums : tuple
        Weight of all, mean of a real target and sum of its squared deviations from that; weighted
        sum of the features.
    attributes : list
        What the sensitive attributes are called; empty where there is nobody.
    """
    try:
        X, y, kinds, weights, groups = _columns(part, name, is_real)
    except (TypeError, ValueError) as error:
        return str(error), (), (), []
    known, codes = np.unique(kinds, return_inverse=True)
    found, own = np.unique(groups.codes * len(known) + codes, return_inverse=True)
    of_group = map(tuple, groups.labels[found // len(known)].tolist())
    cells = list(zip(of_group, known[found % len(known)].tolist(), strict=True))
    numbers = np.bincount(own, minlength=len(cells)).tolist()
    people = cells, numbers, np.bincount(own, weights, len(cells))
    moments = _moments(y, weights) if is_real and len(y) else (0.0, 0.0, 0.0)
    return "", people, (*moments, weights @ X), groups.attributes if len(y) else []


def _moments(y, weights):
    """Weight, mean, and sum of squared deviations."""
    mean = np.average(y, weights=weights)
    return weights.sum(), mean, weights @ (y - mean) ** 2


def _columns(part, name, is_real):
    """Features, targets, what kind each is of, weights and groups of those who have a weight."""
    X = part["X"]
    kept = [np.float64, np.float32]  # sums are of float64 either way
    X = check_array(X, dtype=kept, ensure_min_samples=0, estimator=name, input_name="X")
    X = np.ascontiguousarray(X)  # or sums would depend on where the rows came from
    y = _numbers(part["y"], name) if is_real else _labels(part["y"])
    weights = _weights(part.get("sample_weight"), len(y))
    given = part.get("sensitive_features", np.full(len(y), "all"))
    groups = check_groups(given, len(y)) if len(y) else Groups.single(0)
    present = weights > 0
    if not present.all():
        X, y, weights, groups = X[present], y[present], weights[present], groups.take(present)
    return X, y, np.zeros(len(y)) if is_real else y, weights, groups


def _numbers(y, name):
    y = check_array(
        y, dtype=np.float64, ensure_2d=False, ensure_min_samples=0, estimator=name, input_name="y"
    )
    return column_or_1d(y)


def _labels(y):
    y = column_or_1d(y)
    if len(y) and (y != y).any():
        raise ValueError("Input y contains NaN.")
    return y


def _weights(given, n_samples):
    """Weights of a part, of whose people none need have any."""
    weights = np.ones(n_samples) if given is None else column_or_1d(given).astype(np.float64)
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise ValueError("Sample weights must be finite and not negative numbers.")
    return weights


class Represented:
    """People of a part: features, targets in units of the training, representatives, weights."""

    def __init__(self, X, target, places, weights):
        self.X, self.target, self.places, self.weights = X, target, places, weights

    def __sizeof__(self):
        return sum(own.nbytes for own in vars(self).values())


def by_representatives(part, labels, kinds, places, training):
    """People of a part by who represents them.

    Parameters
    ----------
    part : dict
        As `parts_of` makes it.
    labels, kinds, places, training
        Of the `Representatives`.

    Returns
    -------
    represented : Represented
    """
    is_real = training.classes is None
    X, y, own, weights, groups = _columns(part, None, is_real)
    if not len(y):
        return Represented(X, np.empty(0), np.empty(0, dtype=np.intp), weights)
    known = {tuple(label): code for code, label in enumerate(labels.tolist())}
    codes = np.array([known[tuple(label)] for label in groups.labels.tolist()], dtype=np.intp)
    places = places[codes[groups.codes], np.searchsorted(kinds, own)]
    target = training.unit.to_unit(y) if is_real else training.target[places]
    return Represented(X, target, places, weights)
