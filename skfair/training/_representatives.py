"""People who lie in parts: who there is, and by whom each is represented.

What is compared of people is their group, and their class where the target is one, beside scores
and real targets: everybody is represented by one person of the same group and class. Workers keep,
of every block, the features, the real targets, and who is of which group and class.
"""

from collections import Counter

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d

from skfair.groups import (
    Groups,
    Samples,
    check_equal_label_types,
    check_one_label_type,
    check_partition,
    partition_error,
    unique_inverse,
)
from skfair.models import moments
from skfair.training._input import Training, Unit, positive_of
from skfair.utils._features import check_finite_squares
from skfair.utils._messages import join_names


class Representatives:
    """Who stands for everybody in all parts, by a census of them.

    Parameters
    ----------
    parts : Parts
        Of `Represented`, as `by_cells` makes them.
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
    places : dict
        From a cell, that is a group and a class, or 0 of a real target, to who represents it.
    counts : ndarray of int, shape (n_represented,)
        How many each of them represents.
    moments : tuple of two ndarray, each of shape (n_features,)
        Weighted means and variances of the features.

    Raises
    ------
    ValueError
        For what is refused of people in memory, with the number of the part; if there is nobody;
        if there are not two classes.
    """

    def __init__(self, parts, estimator, is_real, is_compared):
        found = parts.gather(_count)
        for error in (one for one in found if isinstance(one, Exception)):
            raise error
        people, totals, features, targets, attributes = zip(*found, strict=True)
        # Before labels are compared: to Python 1 equals True, and numpy makes text of 1 and "1".
        cells = [cell for one in people for cell in one[0]]
        check_equal_label_types([group for group, _ in cells])
        check_one_label_type([kind for _, kind in cells], "y")
        counts, weights = Counter(), Counter()
        for one in people:
            for cell, number, weight in zip(*one, strict=True):
                counts[cell] += number
                weights[cell] += weight
        if not counts:
            raise ValueError("There is nobody of positive sample_weight in any part.")
        cells = sorted(counts, key=_order)
        number = {}
        codes = np.array([number.setdefault(group, len(number)) for group, _ in cells])
        kinds = np.unique([kind for _, kind in cells])
        self.places = {cell: place for place, cell in enumerate(cells)}
        self.counts = np.array([counts[cell] for cell in cells])
        self.moments = _pooled(np.array(totals), features)
        groups = Groups.disjoint(
            codes, np.array([*number], dtype=object), next(filter(None, attributes))
        )
        # Those of everybody, not of their representatives.
        vars(groups)["counts"] = np.bincount(codes, self.counts).astype(np.intp)
        weights = np.array([weights[cell] for cell in cells])
        people = Samples(
            np.zeros(len(codes)),
            groups,
            weights,
            multiplicity=self.counts,
            min_group_size=estimator.min_group_size,
        )
        if is_real:
            unit = _unit(*_pooled(np.array(totals), targets), estimator.fit_intercept)
            self.training = Training(None, None, people, unit=unit)
        else:
            own = np.searchsorted(kinds, [kind for _, kind in cells])
            self.training = _of_classes(kinds, own, people, estimator, is_compared)


def _of_classes(classes, own, people, estimator, is_compared):
    """Training of representatives, each with a class of its own."""
    if len(classes) != 2:
        raise ValueError(
            f"{type(estimator).__name__} needs 2 classes among people in parts, but there are "
            f"{len(classes)}: {join_names(classes.tolist())}."
        )
    positive = positive_of(classes, estimator.pos_label, is_compared)
    target = np.where(classes[own] == positive, 1.0, -1.0)
    unit = Unit(spread=1.0 if positive == classes[1] else -1.0)
    return Training(None, classes, people._replace(target=target), positive, unit)


def _unit(mean, variance, is_centered):
    """Units of a real target."""
    center = float(mean[0]) * is_centered
    return Unit(center, float(np.sqrt(variance[0] + (mean[0] - center) ** 2)) or 1.0)


def _order(cell):
    """Key by which groups and classes are put in order, whatever labels are."""
    group, kind = cell
    return [(str(type(name)), name) for name in (*group, kind)]


class Represented:
    """People of a block who have a weight, by who represents each.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        In the precision in which it came.
    target : ndarray of shape (n_rows,) or None
        Real targets; None of classes.
    cells : list of tuple
        Groups and classes of the block.
    codes : ndarray of int, shape (n_rows,)
        To which of them each belongs.
    weights : ndarray of shape (n_rows,) or None
        None if all are 1.
    attributes : list
        What the sensitive attributes are called; empty where there is nobody.
    """

    def __init__(self, X, target, cells, codes, weights, attributes):
        self.X, self.target, self.cells, self.weights = X, target, cells, weights
        self.attributes = attributes
        self.codes = codes.astype(np.min_scalar_type(len(cells)))

    def __sizeof__(self):
        return sum(own.nbytes for own in vars(self).values() if hasattr(own, "nbytes"))

    @property
    def features(self):
        """Features in float64, where a processor likes them to begin, as `LinearModel.on`."""
        return np.require(self.X, np.float64, "A")

    def columns(self, known, training):
        """What is known of each.

        Parameters
        ----------
        known : dict
            Who represents a cell.
        training : Training
            Of those who represent.

        Returns
        -------
        X : ndarray of shape (n_rows, n_features)
            Features, float64.
        target : ndarray of shape (n_rows,)
            In units of the training.
        places : ndarray of int, shape (n_rows,)
            Who represents each.
        weights : ndarray of shape (n_rows,)
        """
        places = np.array([known[cell] for cell in self.cells], dtype=np.intp)[self.codes]
        is_real = self.target is not None
        target = training.unit.to_unit(self.target) if is_real else training.target[places]
        weights = np.ones(len(places)) if self.weights is None else self.weights
        return self.features, target, places, weights


def by_cells(part, name, is_real):
    """People of a block by their cell, that is group and class, or what is wrong with them.

    Parameters
    ----------
    part : Block
        As `partitions_of` makes it.
    name : str
        Of the estimator.
    is_real : bool
        Whether the target is a real number and no class.

    Returns
    -------
    people : Represented, TypeError or ValueError
        An error if something is wrong.
    """
    try:
        X, y, kinds, weights, groups = _columns(part, name, is_real)
    except (TypeError, ValueError) as error:
        return partition_error(error, part.number)
    known, codes = unique_inverse(kinds)
    found, own = unique_inverse(groups.codes * len(known) + codes)
    of_group = map(tuple, groups.labels[found // len(known)].tolist())
    cells = list(zip(of_group, known[found % len(known)].tolist(), strict=True))
    weights = None if (weights == 1.0).all() else weights
    attributes = groups.attributes if len(y) else []
    return Represented(X, y if is_real else None, cells, own, weights, attributes)


def _count(people):
    """Census of a block: what is wrong with it, or how many of whom there are.

    Returns
    -------
    cells : tuple
        Every cell, number and weight of its people.
    weight : float
        Of all.
    features, target : tuple of ndarray
        Weighted means, and variances; of a real target, else 0.
    attributes : list
        Of the people.
    """
    if isinstance(people, Exception):
        return people
    X, n_cells = people.features, len(people.cells)
    weights = np.ones(len(X)) if people.weights is None else people.weights
    numbers = np.bincount(people.codes, minlength=n_cells)
    cells = people.cells, numbers, np.bincount(people.codes, weights, n_cells)
    y = np.zeros(len(X)) if people.target is None else people.target
    of_columns = np.zeros((2, X.shape[1])), np.zeros((2, 1))
    if total := weights.sum():
        shares = weights / total
        of_columns = moments(X, shares), moments(y[:, np.newaxis], shares)
    return cells, total, *of_columns, people.attributes


def _pooled(weights, found):
    """Moments of all from those of blocks that have these weights."""
    means, variances = map(np.array, zip(*found, strict=True))
    shares = weights / weights.sum()
    mean, apart = moments(means, shares)
    return mean, shares @ variances + apart


def _columns(part, name, is_real):
    """Features, targets, what kind each is of, weights and groups of those who have a weight."""
    X, weights, groups = check_partition(part, name)
    y = _numbers(part["y"], name) if is_real else _labels(part["y"])
    weights = np.ones(len(y)) if weights is None else weights
    present = weights > 0
    if not present.all():
        X, y, weights, groups = X[present], y[present], weights[present], groups.take(present)
    return X, y, np.zeros(len(y)) if is_real else y, weights, groups


def _numbers(y, name):
    y = check_array(
        y, dtype=np.float64, ensure_2d=False, ensure_min_samples=0, estimator=name, input_name="y"
    )
    y = column_or_1d(y)
    check_finite_squares(y, "y")
    return y


def _labels(y):
    y = column_or_1d(y)
    if len(y) and (y != y).any():
        raise ValueError("Input y contains NaN.")
    return y
