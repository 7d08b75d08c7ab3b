"""The people whom a fit or a metric is about."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from skfair.exceptions import MissingSensitiveFeaturesWarning
from skfair.groups._groups import Groups, check_groups, refuse_continuous_attributes
from skfair.partitions import in_memory, is_lazy
from skfair.utils._features import check_finite_squares
from skfair.utils._messages import join_names, warn
from skfair.utils._sklearn import check_sample_weight

AUTO_MIN_GROUP_SIZE, AUTO_MIN_GROUP_SHARE = 30, 0.01
"""Groups that have fewer samples, and a smaller share of all, are not compared by default."""


class Samples(NamedTuple):
    """Who is in which group, with which weight and which target.

    Attributes
    ----------
    target : ndarray of shape (n_samples,) or None
        Classes -1 and +1, or real numbers; None where there is nothing to predict.
    groups : Groups
        Who belongs to which group.
    weights : ndarray of shape (n_samples,)
        Positive sample weights.
    X : DataFrame, ndarray or csr_array of shape (n_samples, n_features), or None
        What is known of them, for constraints that look at it; None where nothing is. A DataFrame
        stays one, so that columns can be named.
    multiplicity : ndarray of int, shape (n_samples,), or None
        Number of training samples that each row stands for; None means one each.
    min_group_size : int or "auto"
        Samples that a group needs to be compared, see `is_large`; of constraints that have a
        ``min_group_size`` of their own this is not used.
    clusters : ndarray of int, shape (n_samples,), or None
        Samples of equal code are not independent of one another; None where all are independent.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.groups import Samples, check_groups
    >>> groups = check_groups(["a", "b", "a"], n_samples=3)
    >>> Samples(np.array([1.0, -1.0, 1.0]), groups, np.ones(3)).groups.counts
    array([2, 1])
    """

    target: np.ndarray
    groups: Groups
    weights: np.ndarray
    X: object = None
    multiplicity: np.ndarray | None = None
    min_group_size: int | str = 1
    clusters: np.ndarray | None = None

    def is_large(self, groups, min_group_size=None):
        """Whether groups are large enough to be compared.

        "auto" takes groups for large that have 30 samples, or 1 % of all samples. Samples of
        positive weight are counted, whatever their weight.

        Parameters
        ----------
        groups : Groups
            Groups of these samples.
        min_group_size : int, "auto" or None, default=None
            Samples that a group needs; None takes the attribute.

        Returns
        -------
        is_large : ndarray of bool, shape (n_groups,)
        """
        size = self.min_group_size if min_group_size is None else min_group_size
        counts = self.group_counts(groups)
        if size != "auto":
            return counts >= size
        n_samples = len(self.weights) if self.multiplicity is None else self.multiplicity.sum()
        return (counts >= AUTO_MIN_GROUP_SIZE) | (counts >= AUTO_MIN_GROUP_SHARE * n_samples)

    def check_group_sizes(self, groups, min_group_size=None):
        """Whether groups are large enough to be compared, where some must be.

        Parameters
        ----------
        groups : Groups
            These people's own, or those of their single attributes.
        min_group_size : int, "auto" or None, default=None
            As in `is_large`.

        Returns
        -------
        is_large : ndarray of bool, shape (n_groups,)

        Raises
        ------
        ValueError
            If no group is large enough, or for what `refuse_continuous_attributes` refuses.
        """
        is_large = self.is_large(groups, min_group_size)
        values = is_large
        if self.groups.is_disjoint and self.groups.labels.shape[1] > 1:  # each attribute alone
            of_values = self.is_large(self.groups.single_attribute_groups(), min_group_size)
            values = of_values[self.groups.single_attribute_codes()[0]]
        refuse_continuous_attributes(self.groups, values)
        if not is_large.any():
            size = self.min_group_size if min_group_size is None else min_group_size
            raise ValueError(
                f"min_group_size={size!r} leaves no group: the largest has "
                f"{self.group_counts(groups).max()} samples; choose a smaller one, or merge groups."
            )
        return is_large

    def merge_small_groups(self):
        """Groups for models that know the groups, where small ones have no parameters of their own.

        A small group is merged into the largest one; if all are small, none is.

        Returns
        -------
        merged : Groups
            Disjoint, as the groups are.
        positions : ndarray of intp, shape (n_groups,)
            Where each group is among the merged ones.
        """
        groups, is_large = self.groups, self.is_large(self.groups)
        if is_large.all() or not is_large.any():
            return groups, np.arange(len(groups.labels))
        positions = np.cumsum(is_large) - 1
        positions[~is_large] = positions[np.argmax(self.group_counts(groups))]
        labels = groups.labels[is_large]
        return Groups.disjoint(positions[groups.codes], labels, groups.attributes), positions

    def take(self, rows):
        """Some of the samples, of whom every group is compared.

        Parameters
        ----------
        rows : ndarray of int
            Their positions.
        """
        target, clusters = (None if x is None else x[rows] for x in (self.target, self.clusters))
        return Samples(target, self.groups.take(rows), self.weights[rows], clusters=clusters)

    def group_counts(self, groups):
        """How many of them each of some groups has, of whom one may stand for many.

        Parameters
        ----------
        groups : Groups
            Groups of these people.

        Returns
        -------
        counts : ndarray of int, shape (n_groups,)
        """
        return groups.counts if self.multiplicity is None else groups.matrix.T @ self.multiplicity


def check_samples(
    sensitive_features, sample_weight, groups=None, *, missing=None, overlapping=False, **data
):
    """Check the people of a fit; those of zero weight are absent.

    Parameters
    ----------
    sensitive_features : array-like, sparse matrix or None
        As in `check_groups`; None makes one group of everybody.
    sample_weight : array-like of shape (n_samples,) or None
        Non-negative weights.
    groups : array-like of shape (n_samples,) or None, default=None
        Samples of equal value are not independent of one another, as in scikit-learn's
        `GroupKFold`.
    missing : str or None, default=None
        What was asked of groups and what happens without them, for the warning that none came;
        None if nothing was asked.
    overlapping : bool, default=False
        Whether groups may overlap.
    **data : array-like
        What is known of the samples, such as ``X`` and ``y``, by name; the first one tells how
        many there are.

    Returns
    -------
    people : Samples
        Those of positive weight, without target.
    rows : ndarray of intp, shape (n_present,)
        Their positions among the samples.

    Raises
    ------
    ValueError
        If inputs differ in length or in their pandas index, or for what `check_groups` and
        scikit-learn refuse of groups and weights; if groups are too many to be groups.

    Warns
    -----
    MissingSensitiveFeaturesWarning
        If no groups came though something was asked of them.
    UserWarning
        If a group has no weight: it counts as absent; if most of many groups are tiny.
    """
    weights = _check_weights(sensitive_features, sample_weight, data)
    rows = np.flatnonzero(weights > 0)
    clusters = None if groups is None else _check_clusters(groups, len(weights))[rows]
    if sensitive_features is None:
        if missing is not None:
            warn(f"{missing} {_ROUTING}", MissingSensitiveFeaturesWarning)
        everyone = Groups.single(len(rows))
        return Samples(None, everyone, weights[rows], clusters=clusters), rows
    everyone = check_groups(sensitive_features, len(weights), overlapping=overlapping)
    _check_sizes(everyone, len(weights))
    if len(rows) == len(weights):
        return Samples(None, everyone, weights, clusters=clusters), rows
    groups = everyone.take(rows)
    kept = set(groups.names)
    dropped = [name for name in everyone.names if name not in kept]
    if dropped:
        warn(
            f"Groups without any sample weight count as absent: {join_names(map(repr, dropped))}. "
            "Leave their rows out, or give them a weight."
        )
    return Samples(None, groups, weights[rows], clusters=clusters), rows


def _check_clusters(groups, n_samples):
    """Code of the cluster of each sample, by labels of any kind."""
    import pandas as pd

    groups = column_or_1d(groups, dtype=None if hasattr(groups, "dtype") else object)
    if len(groups) != n_samples:
        raise ValueError(
            f"groups must have one value per sample, but there are {len(groups)} values for "
            f"{n_samples} samples; pass the id of the person or household of each row."
        )
    codes, labels = pd.factorize(groups)
    if (codes < 0).any():
        raise ValueError(
            f"groups must not hold missing values, but {np.sum(codes < 0)} of {n_samples} are "
            "missing; give samples that belong to no other an id of their own."
        )
    if len(labels) < 2:
        raise ValueError(
            "groups must have at least two different values, because samples of equal value belong "
            f"together and are never divided, but all are {labels[0]!r}. (Who is to be compared "
            "with whom is said by sensitive_features.)"
        )
    return codes


def check_columns(sensitive_features, sample_weight, **columns):
    """Check the input of a metric; samples of zero weight are absent.

    Parameters
    ----------
    sensitive_features, sample_weight
        As in `check_samples`; groups may overlap.
    **columns : array-like of shape (n_samples,)
        What is known of the samples, such as ``y_true`` and ``y_pred``, by name.

    Returns
    -------
    people : Samples
        Those who are present, without target. Groups without anybody, or without weight, are left
        out silently.
    columns : list of ndarray
        The columns at these samples, in the order given.

    Raises
    ------
    ValueError
        If the inputs differ in length or in their pandas index, hold missing values, or if nobody
        is in any group.
    """
    sensitive_features, sample_weight = in_memory(sensitive_features), in_memory(sample_weight)
    columns = {name: in_memory(column) for name, column in columns.items()}
    arrays = [
        column_or_1d(check_array(column, ensure_2d=False, dtype=None, input_name=name))
        for name, column in columns.items()
    ]
    check_consistent_length(*arrays)
    people, rows = _present_people(sensitive_features, sample_weight, columns)
    if len(rows) < len(arrays[0]):
        arrays = [array[rows] for array in arrays]
    return people, arrays


def _present_people(sensitive_features, sample_weight, data):
    """Whoever is there, in whatever groups."""
    weights = _check_weights(sensitive_features, sample_weight, data)
    occurring = None
    if sparse.issparse(sensitive_features):
        # A group without members is like a label that does not occur: nothing is to be seen of it.
        occurring = np.unique(sensitive_features.nonzero()[1])
        sensitive_features = sparse.csc_array(sensitive_features)[:, occurring]
    groups = check_groups(sensitive_features, len(weights), overlapping=True)
    if occurring is not None:
        groups = Groups.overlapping(groups.matrix, occurring.astype(object)[:, np.newaxis])
    rows = np.flatnonzero(weights > 0)
    if len(rows) < len(weights):
        groups, weights = groups.take(rows), weights[rows]
    if len(groups.labels) == 0:
        raise ValueError(
            "sensitive_features puts nobody into a group, or nobody of positive weight; a sparse "
            "matrix must hold True where a sample (row) is in a group (column)."
        )
    return Samples(None, groups, weights), rows


_MANY = 100
"""Groups up to which nobody asks whether they are meant."""

_TINY = 5
"""Members below which a group's rates say next to nothing."""


def _check_sizes(groups, n_samples):
    """Count before any table of groups is made: they may be an id, or a measurement."""
    n_groups = len(groups.labels)
    if n_groups <= _MANY:
        return
    if groups.is_disjoint and n_groups > n_samples / 2:
        raise ValueError(
            f"sensitive_features has {n_groups} groups for {n_samples} samples, which looks like "
            "an id of each person, not like groups. Pass the column that says who shall be treated "
            "alike; make bands of numbers, as in pd.cut(values, 5)."
        )
    tiny = int((groups.counts < _TINY).sum())
    if tiny > n_groups / 2:
        warn(
            f"{tiny} of {n_groups} groups have fewer than {_TINY} members: their rates are mostly "
            "chance, and so many groups take time and memory. Merge them, as in "
            "pd.cut(values, 5) for numbers, if they are not meant."
        )


_ROUTING = (
    "Inside a search or pipeline, turn on metadata routing: "
    "sklearn.set_config(enable_metadata_routing=True)."
)


def _check_weights(sensitive_features, sample_weight, data):
    check_alignment(**data, sensitive_features=sensitive_features, sample_weight=sample_weight)
    weights = check_sample_weight(
        sample_weight, next(iter(data.values())), dtype=np.float64, ensure_non_negative=True
    )
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total):
        raise ValueError(
            "The sum of sample_weight must be finite, but it overflows: the largest weight is "
            f"{weights.max():g}. Only their ratios count, so divide them by the largest."
        )
    # Kernels would be compiled once more for weights that nobody may write to.
    return np.require(weights, requirements="W")


def check_alignment(**named):
    """Refuse inputs whose pandas indexes differ: their rows would be other people.

    Parameters
    ----------
    **named : object
        The inputs by name; those without a pandas index are taken to be in order.

    Raises
    ------
    ValueError
        If two of the inputs carry a pandas index and these are not equal.
    """
    indexed = {
        name: value.index
        for name, value in named.items()
        if hasattr(value, "iloc") and not is_lazy(value)
    }
    if len(indexed) < 2:
        return
    (reference, index), *others = indexed.items()
    for name, other in others:
        if not index.equals(other):
            raise ValueError(
                f"{reference} and {name} must have the same pandas index, but the index of "
                f"{reference} starts {index[:3].tolist()} (length {len(index)}) and that of {name} "
                f"{other[:3].tolist()} (length {len(other)}). Align them, as in "
                f"{name}.loc[{reference}.index], or pass {name}.to_numpy() if the rows already "
                "are in the same order."
            )


def check_partition(part, name):
    """Rows, weights and groups of the people of a part.

    Parameters
    ----------
    part : dict
        Their columns, as `skfair.partitions.partitions_of` makes them.
    name : str
        Of the estimator.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
        In the precision in which it came.
    weights : ndarray of shape (n_rows,) or None
        None if all are 1. Nobody in a part needs to have any.
    groups : Groups

    Raises
    ------
    ValueError, TypeError
        For what is refused of people in memory.
    """
    kept = [np.float64, np.float32]  # sums are of float64 either way
    # Contiguous, or sums would depend on where the rows came from.
    settings = {"dtype": kept, "order": "C", "ensure_min_samples": 0}
    X = check_array(part["X"], **settings, estimator=name, input_name="X")
    check_finite_squares(X, "X")
    weights = part.get("sample_weight")
    if weights is not None:
        weights = column_or_1d(weights).astype(np.float64)
        if not (np.isfinite(weights) & (weights >= 0.0)).all():
            raise ValueError("Sample weights must be finite and not negative numbers.")
    given = part.get("sensitive_features", np.full(len(X), "all"))
    return X, weights, check_groups(given, len(X)) if len(X) else Groups.single(0)


def partition_error(error, number):
    """An error about the samples of a partition, with its number.

    Parameters
    ----------
    error : TypeError or ValueError
        What was raised.
    number : int
        Of the partition.

    Returns
    -------
    error : TypeError or ValueError
        Of the same kind, to be raised where all partitions are known.
    """
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(f"Part {number}: {error}")
