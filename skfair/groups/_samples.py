"""Training samples of a fit, and the checked input of a metric."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from skfair.exceptions import MissingSensitiveFeaturesWarning
from skfair.groups._groups import (
    Groups,
    check_groups,
    refuse_continuous_attributes,
    warn_of_continuous_attributes,
)
from skfair.partitions import check_alignment, load_columns
from skfair.utils._features import check_finite_squares
from skfair.utils._messages import join_names, warn
from skfair.utils._sklearn import check_sample_weight

AUTO_MIN_GROUP_SIZE, AUTO_MIN_GROUP_SHARE = 30, 0.01
"""By default groups that have fewer samples, and a smaller share of all, are not compared."""


class Samples(NamedTuple):
    """Samples that a constraint is bound to: target, groups, weights and features.

    Attributes
    ----------
    target : ndarray of shape (n_samples,) or None
        Classes -1 and +1, or real numbers; None without a target.
    groups : Groups
        Groups of the samples.
    weights : ndarray of shape (n_samples,)
        Positive sample weights.
    X : DataFrame, ndarray or csr_array of shape (n_samples, n_features), or None
        Features, for constraints that use them, or None. A DataFrame stays one, so that columns
        can be named.
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

    def is_large(
        self, groups: Groups, min_group_size: int | Literal["auto"] | None = None
    ) -> np.ndarray:
        """Whether groups are large enough to be compared.

        "auto" means groups of at least 30 samples, or 1 % of all samples. Samples of
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
        # "auto": enough samples, or a large enough share of them.
        n_samples = len(self.weights) if self.multiplicity is None else self.multiplicity.sum()
        return (counts >= AUTO_MIN_GROUP_SIZE) | (counts >= AUTO_MIN_GROUP_SHARE * n_samples)

    def check_group_sizes(
        self, groups: Groups, min_group_size: int | Literal["auto"] | None = None
    ) -> np.ndarray:
        """As `is_large`, where at least one group must be.

        Parameters
        ----------
        groups : Groups
            Groups of these samples, or those of their single attributes.
        min_group_size : int, "auto" or None, default=None
            As in `is_large`.

        Returns
        -------
        is_large : ndarray of bool, shape (n_groups,)

        Raises
        ------
        ValueError
            If no group is large enough, or an attribute of more than 30 numbers looks like a
            measurement.
        """
        is_large = self.is_large(groups, min_group_size)
        is_compared = is_large
        if self.groups.is_disjoint and self.groups.labels.shape[1] > 1:
            # The values of each attribute count by themselves, not only in combinations.
            is_large_value = self.is_large(self.groups.single_attribute_groups(), min_group_size)
            is_compared = is_large_value[self.groups.single_attribute_codes()[0]]
        refuse_continuous_attributes(self.groups, is_compared)
        if not is_large.any():
            size = self.min_group_size if min_group_size is None else min_group_size
            raise ValueError(
                f"min_group_size={size!r} leaves no group: the largest has "
                f"{self.group_counts(groups).max()} samples; choose a smaller one, or merge groups."
            )
        return is_large

    def largest_first(self) -> Samples:
        """The same samples with groups by descending weight, equal ones by their first samples.

        Fits compute in this order, so that no decision depends on the names of groups.
        """
        return self._replace(groups=self._sort_groups(self.groups))

    def single_attribute_groups(self) -> Groups:
        """Groups of the values of every single attribute, in an order as those of the samples."""
        groups = self.groups.single_attribute_groups()
        is_sorted_by_label = (np.diff(self.groups.ranks) > 0).all()
        return groups if is_sorted_by_label else self._sort_groups(groups)

    def _sort_groups(self, groups):
        """Groups of these samples by descending weight, equal ones by their first samples."""
        samples, codes = groups.memberships
        n_groups = len(groups.labels)
        first = np.zeros(n_groups, dtype=np.intp)
        first[codes[::-1]] = samples[::-1]  # of equal codes the last one counts
        weights = np.bincount(codes, self.weights[samples], n_groups)
        return groups.reorder(np.lexsort((first, -weights)))

    def merge_small_groups(self) -> tuple[Groups, np.ndarray]:
        """Groups for models with parameters per group, small ones merged into the largest.

        If all groups are small, none is merged.

        Returns
        -------
        merged : Groups
            Disjoint, as the groups are.
        positions : ndarray of intp, shape (n_groups,)
            Merged group of each group, sorted by label.
        """
        groups, is_large = self.groups, self.is_large(self.groups)
        by_label = np.argsort(groups.ranks)
        if is_large.all() or not is_large.any():
            return groups, by_label
        # Number the large groups; the small ones get the code of the largest.
        positions = np.cumsum(is_large) - 1
        positions[~is_large] = positions[np.argmax(self.group_counts(groups))]
        labels = groups.labels[is_large]
        merged = Groups.disjoint(positions[groups.codes], labels, groups.attributes)
        return merged, positions[by_label]

    def take(self, rows: np.ndarray) -> Samples:
        """Selected samples, of which every group is compared.

        Parameters
        ----------
        rows : ndarray of int
            Their positions.
        """
        taken: Any = (None if x is None else x[rows] for x in (self.target, self.clusters))
        target, clusters = taken
        return Samples(target, self.groups.take(rows), self.weights[rows], clusters=clusters)

    def group_counts(self, groups: Groups) -> np.ndarray:
        """Number of training samples of each group, where a row may stand for several.

        Parameters
        ----------
        groups : Groups
            Groups of these samples.

        Returns
        -------
        counts : ndarray of int, shape (n_groups,)
        """
        return groups.counts if self.multiplicity is None else groups.matrix.T @ self.multiplicity


def check_samples(
    sensitive_features, sample_weight, groups=None, *, missing=None, overlapping=False, **data
):
    """Check the samples of a fit: (Samples without target, positions of those of positive weight).

    Samples of zero weight are left out. Without `sensitive_features` all samples are one group,
    and `missing` says in a MissingSensitiveFeaturesWarning what was requested of groups and what
    happens without them. `groups` are ids of samples that depend on one another, as in
    `GroupKFold`. `data` are X, y and so on by name; the first one has as many rows as there are
    samples. Warns of groups without any weight, and if most of many groups are tiny.
    """
    weights = _check_weights(sensitive_features, sample_weight, data)
    rows = np.flatnonzero(weights > 0)
    clusters = None if groups is None else _check_clusters(groups, len(weights))[rows]
    if sensitive_features is None:
        if missing is not None:
            warn(f"{missing} {_ROUTING}", MissingSensitiveFeaturesWarning)
        one_group = Groups.single(len(rows))
        return Samples(None, one_group, weights[rows], clusters=clusters), rows
    all_groups = check_groups(sensitive_features, len(weights), overlapping=overlapping)
    _check_number_of_groups(all_groups, len(weights))
    # Leave out samples of zero weight, and warn of groups that vanish with them.
    if len(rows) == len(weights):
        return Samples(None, all_groups, weights, clusters=clusters), rows
    present_groups = all_groups.take(rows)
    present = set(present_groups.names)
    dropped = [name for name in all_groups.names if name not in present]
    if dropped:
        warn(
            f"Groups without any sample weight count as absent: {join_names(map(repr, dropped))}. "
            "Leave their rows out, or give them a weight."
        )
    return Samples(None, present_groups, weights[rows], clusters=clusters), rows


def _check_clusters(groups, n_samples):
    """Code of the cluster of each sample, from ids of any type."""
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
            f"together and are never divided, but all are {labels[0]!r}. (The groups to compare "
            "are passed as sensitive_features.)"
        )
    return codes


def check_columns(sensitive_features, sample_weight, **columns):
    """Check the input of a metric: (Samples without target, list of the columns).

    Samples of zero weight are left out, and groups without members or weight too, silently. Groups
    may overlap. `columns` are such as y_true and y_pred by name, of shape (n_samples,); partitioned
    ones are gathered.
    """
    columns = load_columns(
        **columns, sensitive_features=sensitive_features, sample_weight=sample_weight
    )
    sensitive_features, sample_weight = map(columns.pop, ("sensitive_features", "sample_weight"))
    arrays = [
        column_or_1d(check_array(column, ensure_2d=False, dtype=None, input_name=name))
        for name, column in columns.items()
    ]
    check_consistent_length(*arrays)
    samples, rows = _present_samples(sensitive_features, sample_weight, columns)
    if len(rows) < len(arrays[0]):
        arrays = [array[rows] for array in arrays]
    return samples, arrays


def _present_samples(sensitive_features, sample_weight, data):
    """Samples of positive weight, in groups that may overlap, and their positions."""
    weights = _check_weights(sensitive_features, sample_weight, data)
    occurring = None
    if sparse.issparse(sensitive_features):
        # A column without members is like a label that does not occur: leave it out.
        occurring = np.unique(sensitive_features.nonzero()[1])
        sensitive_features = sparse.csc_array(sensitive_features)[:, occurring]
    groups = check_groups(sensitive_features, len(weights), overlapping=True)
    warn_of_continuous_attributes(groups)
    if occurring is not None:
        groups = Groups.overlapping(groups.matrix, occurring.astype(object)[:, np.newaxis])
    rows = np.flatnonzero(weights > 0)
    if len(rows) < len(weights):
        groups, weights = groups.take(rows), weights[rows]
    if len(groups.labels) == 0:
        raise ValueError(
            "sensitive_features puts no sample of positive weight into a group; a sparse matrix "
            "must hold True where a sample (row) is in a group (column)."
        )
    return Samples(None, groups, weights), rows


_MAX_UNCHECKED_GROUPS = 100
"""Number of groups up to which their sizes are not checked."""

_TINY_GROUP_SIZE = 5
"""Members below which the rates of a group are mostly chance."""


def _check_number_of_groups(groups, n_samples):
    """Refuse ids, and warn of tiny groups, before any table of groups is made."""
    n_groups = len(groups.labels)
    if n_groups <= _MAX_UNCHECKED_GROUPS:
        return
    if groups.is_disjoint and n_groups > n_samples / 2:
        raise ValueError(
            f"sensitive_features has {n_groups} groups for {n_samples} samples, which looks like "
            "an id of each sample, not like groups. Pass the column of the groups to compare; bin "
            "numbers, as in pd.cut(values, 5)."
        )
    tiny = int((groups.counts < _TINY_GROUP_SIZE).sum())
    if tiny > n_groups / 2:
        warn(
            f"{tiny} of {n_groups} groups have fewer than {_TINY_GROUP_SIZE} members: their rates "
            "are mostly chance, and so many groups take time and memory. Merge them, as in "
            "pd.cut(values, 5) for numbers, if they are not meant."
        )


_ROUTING = (
    "Inside a search or pipeline, turn on metadata routing: "
    "sklearn.set_config(enable_metadata_routing=True)."
)


def _check_weights(sensitive_features, sample_weight, data):
    """Non-negative weights of a finite sum, of inputs that are aligned."""
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
    # Kernels would be compiled once more for a read-only array.
    return np.require(weights, requirements="W")


def check_partition(partition, name):
    """Checked X, weights (None if all are 1) and Groups of a partition, for the estimator `name`.

    The partition is a dict of columns, as `skfair.partitions.partitions_of` makes them. X stays in
    its precision. All weights of a partition may be 0.
    """
    # Sums are computed in float64 either way. The layout is fixed, or they would depend on it.
    dtypes = [np.float64, np.float32]
    settings = {"dtype": dtypes, "order": "C", "ensure_min_samples": 0}
    X = check_array(partition["X"], **settings, estimator=name, input_name="X")
    check_finite_squares(X, "X")
    weights = partition.get("sample_weight")
    if weights is not None:
        weights = column_or_1d(weights).astype(np.float64)
        if not (np.isfinite(weights) & (weights >= 0.0)).all():
            raise ValueError("Sample weights must be finite and not negative numbers.")
    labels = partition.get("sensitive_features", np.full(len(X), "all"))
    return X, weights, check_groups(labels, len(X)) if len(X) else Groups.single(0)


def partition_error(error, number):
    """The TypeError or ValueError about samples of a partition, with the partition's number."""
    error_type = TypeError if isinstance(error, TypeError) else ValueError
    return error_type(f"Partition {number}: {error}")
