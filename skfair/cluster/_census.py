"""A census of people who lie in parts: how many there are of every group, and where they lie."""

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d

from skfair.parts import is_in_parts
from skfair.people import Groups, check_groups


class Shard:
    """People of a part.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        In the precision in which it came.
    weights : ndarray of shape (n_rows,) or None
        None if all are 1.
    codes : ndarray of unsigned int, shape (n_rows,)
        Group of each row.
    first : int
        Number of the first row among all.
    """

    def __init__(self, X, weights, codes, first):
        self.X, self.weights, self.codes, self.first = X, weights, codes, first

    def __sizeof__(self):
        return self.X.nbytes + self.codes.nbytes + (0 if self.weights is None else 8 * len(self.X))


class Census:
    """Who there is in all parts.

    Attributes
    ----------
    labels : ndarray of object, shape (n_groups, n_attributes)
        What groups are called, in ascending order.
    numbers, weights : ndarray of shape (n_groups,)
        How many people of positive weight are in a group, and their weight.
    mean : ndarray of shape (n_features,)
        Weighted mean of the rows.
    lengths : list of int
        Rows of every part.
    weight_range : tuple of float
        Least and largest weight of a person.
    """

    def __init__(self, parts, name):
        counted = parts.collect(_count, name)
        for number, (trouble, *_) in enumerate(counted):
            if trouble:
                raise ValueError(f"Part {number}: {trouble}")
        _, self.lengths, labels, numbers, weights, sums, ranges = zip(*counted, strict=True)
        known = sorted({tuple(group) for own in labels for group in own})
        if not known:
            raise ValueError("There is nobody of positive sample_weight in any part.")
        self.labels = np.empty((len(known), len(known[0])), dtype=object)
        self.labels[:] = known
        places = {group: code for code, group in enumerate(known)}
        own = [places[tuple(group)] for of_part in labels for group in of_part]
        self.numbers = np.bincount(own, np.concatenate(numbers)).astype(np.intp)
        self.weights = np.bincount(own, np.concatenate(weights))
        self.mean = np.sum(sums, axis=0) / self.weights.sum()
        least, largest = zip(*ranges, strict=True)
        self.weight_range = min(least), max(largest)

    def shards(self, parts):
        """The people, encoded; parts of `Shard`."""
        first = parts.beside(np.cumsum([0, *self.lengths[:-1]]).tolist())
        return parts.each(_encode, {tuple(group): c for c, group in enumerate(self.labels)}, first)


def columns_of(part, name):
    """Rows, weights (None if all are 1) and groups of a part.

    Raises
    ------
    ValueError, TypeError
        For what is refused of people in memory.
    """
    X = check_array(
        part["X"],
        dtype=[np.float64, np.float32],
        order="C",
        ensure_min_samples=0,
        estimator=name,
        input_name="X",
    )
    weights = part.get("sample_weight")
    if weights is not None:
        weights = column_or_1d(weights).astype(np.float64)
        if not (np.isfinite(weights) & (weights >= 0.0)).all():
            raise ValueError("Sample weights must be finite and not negative numbers.")
    given = part.get("sensitive_features", np.full(len(X), "all"))
    groups = check_groups(given, len(X)) if len(X) else Groups.single(0)
    return X, weights, groups


def header(X):
    """No rows of a collection, but with the names of its columns; rows in memory as they are."""
    if not is_in_parts(X):
        return X
    import pandas as pd

    names = getattr(X, "columns", None)
    return np.empty((0, X.shape[1])) if names is None else pd.DataFrame(columns=list(names))


def _count(part, name):
    """What is wrong with a part, or nothing and then how many of whom there are."""
    try:
        X, weights, groups = columns_of(part, name)
    except (TypeError, ValueError) as error:
        return str(error), 0, [], [], [], 0.0, (np.inf, 0.0)
    weights = np.ones(len(X)) if weights is None else weights
    present = weights > 0
    numbers = np.bincount(groups.codes[present], minlength=len(groups.labels))
    by_group = np.bincount(groups.codes, weights, len(groups.labels))
    there = numbers > 0
    range_ = (weights[present].min(), weights.max()) if present.any() else (np.inf, 0.0)
    labels = groups.labels[there].tolist()
    return "", len(X), labels, numbers[there], by_group[there], weights @ X, range_


def _encode(part, codes, first):
    X, weights, groups = columns_of(part, None)
    of_part = [codes.get(tuple(group), 0) for group in groups.labels.tolist()]
    of_part = np.array(of_part, dtype=np.min_scalar_type(len(codes)))
    return Shard(X, weights, of_part[groups.codes], first)
