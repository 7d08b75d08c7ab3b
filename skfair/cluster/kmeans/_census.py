"""A census of people who lie in parts: how many there are of every group, and where they lie."""

from copy import copy

import numpy as np

from skfair.groups import (
    Groups,
    check_equal_label_types,
    check_partition,
    partition_error,
    refuse_continuous_attributes,
)
from skfair.partitions import is_partitioned, partitions_of


class Shard:
    """People of a block.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        In the precision in which it came.
    weights : ndarray of shape (n_rows,) or None
        None if all are 1.
    unit_costs : ndarray of shape (n_rows,) or None
        What a squared distance costs, by weight; None if all are 1.
    codes : ndarray of unsigned int, shape (n_rows,)
        Group of each row, among those of the block.
    labels : list of tuple
        What these groups are called.
    place : tuple of int
        Number of the part, and place of the first row in it.
    """

    def __init__(self, X, weights, groups, place):
        self.X, self.weights, self.place, self.unit_costs = X, weights, place, None
        self.labels = [*map(tuple, groups.labels.tolist())]
        self.codes = groups.codes.astype(np.min_scalar_type(len(self.labels)))

    def codes_among(self, known):
        """Group of each row by its position in a census; of those without a weight any."""
        own = np.array([known.get(label, 0) for label in self.labels], dtype=np.intp)
        return own[self.codes]

    def number(self, first):
        """Number of the first row among all, by those of the parts."""
        part, start = self.place
        return first[part] + start

    def but(self, X, unit_costs=None):
        """The same people with other features."""
        changed = copy(self)
        changed.X, changed.unit_costs = X, unit_costs
        return changed

    def __sizeof__(self):
        columns = self.X, self.codes, self.weights, self.unit_costs
        return sum(column.nbytes for column in columns if column is not None)


class Census:
    """Who there is in all parts.

    Parameters
    ----------
    shards : Parts
        Of `Shard`, as `encode` makes them.

    Attributes
    ----------
    labels : ndarray of object, shape (n_groups, n_attributes)
        What groups are called, in ascending order.
    codes : dict
        From what a group is called to its position among them.
    numbers, weights : ndarray of shape (n_groups,)
        How many people of positive weight are in a group, and their weight.
    mean : ndarray of shape (n_features,)
        Weighted mean of the rows.
    scatter : float
        Weighted sum of squared distances to the mean.
    lengths : list of int
        Rows of every block.
    first : ndarray of int, shape (n_parts,)
        Number of the first row of every part among all.
    weight_range : tuple of float
        Least and largest weight of a person.
    """

    def __init__(self, shards):
        found = shards.collect(_count)
        for error in (one for one in found if isinstance(one, Exception)):
            raise error
        parts, self.lengths, labels, numbers, weights, *moments, ranges = zip(*found, strict=True)
        rows = np.bincount(parts, self.lengths).astype(np.intp)
        self.first = np.cumsum([0, *rows[:-1]])
        check_equal_label_types([group for own in labels for group in own])
        known = sorted({group for own in labels for group in own})
        if not known:
            raise ValueError("There is nobody of positive sample_weight in any part.")
        self.labels = np.empty((len(known), len(known[0])), dtype=object)
        self.labels[:] = known
        self.codes = {group: code for code, group in enumerate(known)}
        own = [self.codes[group] for of_block in labels for group in of_block]
        self.numbers = np.bincount(own, np.concatenate(numbers)).astype(np.intp)
        self.weights = np.bincount(own, np.concatenate(weights))
        self.mean, self.scatter = _pooled(*moments, np.array([own.sum() for own in weights]))
        least, largest = zip(*ranges, strict=True)
        self.weight_range = min(least), max(largest)

    def but(self, mean, scatter):
        """The same samples with features of another mean and scatter."""
        changed = copy(self)
        changed.mean, changed.scatter = mean, scatter
        return changed


def take_census(estimator, X, sensitive_features, sample_weight=None):
    """Who there is in collections that a clusterer is fitted to.

    Returns
    -------
    shards : Parts
        Of `Shard`.
    census : Census

    Raises
    ------
    ValueError
        For what is refused of people in memory, with the number of the part; if groups are to be
        mixed, but none came; if there are fewer people than clusters.
    """
    if sensitive_features is None and (estimator.min_balance or estimator.min_share_ratio):
        raise ValueError(
            "The groups of people in parts are mixed by sensitive_features, but none came; pass a "
            "collection with the same parts, or min_balance=None."
        )
    people = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
    parts = partitions_of(estimator.n_jobs, X=X, **people)
    shards = parts.each(encode, type(estimator).__name__)
    census = Census(shards)
    refuse_continuous_attributes(Groups.disjoint(np.arange(len(census.labels)), census.labels))
    n_samples = census.numbers.sum()
    if n_samples < estimator.n_clusters:
        raise ValueError(
            f"n_samples={n_samples} should be >= n_clusters={estimator.n_clusters}; ask for fewer "
            "clusters."
        )
    return shards, census


def header(X):
    """No rows of a collection, but with the names of its columns; rows in memory as they are."""
    if not is_partitioned(X):
        return X
    import pandas as pd

    names = getattr(X, "columns", None)
    return np.empty((0, X.shape[1])) if names is None else pd.DataFrame(columns=list(names))


def encode(rows, name):
    """The people of a block, or what is wrong with them.

    Parameters
    ----------
    rows : Block
        As `partitions_of` has them.
    name : str
        Of the estimator.

    Returns
    -------
    shard : Shard, TypeError or ValueError
    """
    try:
        return Shard(*check_partition(rows, name), (rows.number, rows.start))
    except (TypeError, ValueError) as error:
        return partition_error(error, rows.number)


def _count(shard):
    """How many of whom there are in which part, or what is wrong."""
    if isinstance(shard, Exception):
        return shard
    X, labels = shard.X, shard.labels
    weights = np.ones(len(X)) if shard.weights is None else shard.weights
    present = weights > 0
    numbers = np.bincount(shard.codes[present], minlength=len(labels))
    by_group = np.bincount(shard.codes, weights, len(labels))
    there = np.flatnonzero(numbers)
    range_ = (weights[present].min(), weights.max()) if len(there) else (np.inf, 0.0)
    known = [labels[code] for code in there]
    sums = weights @ X
    scatter = _scatter_about(X, weights, sums / max(weights.sum(), 1e-300))
    return shard.place[0], len(X), known, numbers[there], by_group[there], sums, scatter, range_


def _scatter_about(X, weights, center):
    """Weighted sum of squared distances to a point, in double precision."""
    deviations = X - center
    return weights @ np.einsum("ij,ij->i", deviations, deviations)


def _pooled(sums, scatters, weights):
    """Mean and scatter of all blocks, from their sums, scatters about their means, and weights."""
    mean = np.sum(sums, axis=0) / weights.sum()
    present = weights > 0
    means = np.array(sums)[present] / weights[present, np.newaxis]
    return mean, np.sum(scatters) + _scatter_about(means, weights[present], mean)
