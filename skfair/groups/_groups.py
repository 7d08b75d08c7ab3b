"""Groups of samples by sensitive attributes: codes, or a matrix where groups overlap."""

from __future__ import annotations

from functools import cached_property
from itertools import repeat
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skfair.groups._labels import attribute_columns, encode, unique_inverse
from skfair.utils._messages import join_names, warn
from skfair.utils._types import MatrixLike


class GroupSummary(NamedTuple):
    """Labels and sizes of groups. Fitted estimators store these, and no sample's group.

    Attributes
    ----------
    labels : ndarray of object, shape (n_groups, n_attributes)
        Labels of each group, one column per sensitive attribute.
    counts : ndarray of intp, shape (n_groups,)
        Number of samples of each group.

    Examples
    --------
    >>> from skfair.groups import check_groups
    >>> summary = check_groups(["b", "a", "b"], n_samples=3).summary
    >>> summary.labels.tolist(), summary.counts.tolist()
    ([['a'], ['b']], [1, 2])
    """

    labels: np.ndarray
    counts: np.ndarray


class Groups:
    """Groups of samples, by values of protected attributes; made by `check_groups`.

    Groups are disjoint, with each sample in exactly one, or may overlap: then a sample may be in
    several or in none.

    Parameters
    ----------
    labels : ndarray of object, shape (n_groups, n_attributes)
        Labels of each group, in ascending order; in fits the largest group comes first.
    codes : ndarray of intp, shape (n_samples,), default=None
        Group of each sample, in [0, n_groups), if groups are disjoint.
    matrix : csr_array of bool, shape (n_samples, n_groups), default=None
        Whether a sample belongs to a group, if they may overlap.
    attributes : list of length n_attributes, default=None
        Names of the attributes of disjoint groups.
    ranks : ndarray of int, shape (n_groups,), default=None
        Numbers that sort the groups by label; None if they are sorted.

    Attributes
    ----------
    is_disjoint : bool
        Whether each sample is in exactly one group, by the way in which groups were passed.

    Examples
    --------
    >>> from skfair.groups import check_groups
    >>> groups = check_groups(["b", "a", "b"], n_samples=3)
    >>> groups.names, groups.counts.tolist(), groups.codes.tolist()
    (['a', 'b'], [1, 2], [1, 0, 1])
    """

    def __init__(
        self,
        labels: np.ndarray,
        *,
        codes: np.ndarray | None = None,
        matrix: sparse.csr_array | None = None,
        attributes: list | None = None,
        ranks: np.ndarray | None = None,
    ):
        self.labels, self.attributes = labels, attributes or []
        # Position of each group when they are sorted by label.
        self.ranks = np.arange(len(labels)) if ranks is None else np.argsort(np.argsort(ranks))
        self._codes, self.is_disjoint = codes, codes is not None
        if matrix is not None:
            self.matrix = matrix

    @staticmethod
    def disjoint(
        codes: np.ndarray,
        labels: np.ndarray,
        attributes: list | None = None,
        ranks: np.ndarray | None = None,
    ) -> Groups:
        """Each sample in exactly one group.

        Parameters
        ----------
        codes : ndarray of intp, shape (n_samples,)
            Group of each sample, in [0, n_groups).
        labels : ndarray of object, shape (n_groups, n_attributes)
            Labels of each group.
        attributes : list of length n_attributes, default=None
            Names of the attributes; None numbers them.
        ranks : ndarray of int, shape (n_groups,), default=None
            Numbers that sort the groups by label; None if they are sorted.
        """
        attributes = attributes or list(range(labels.shape[1]))
        return Groups(labels, codes=codes, attributes=attributes, ranks=ranks)

    @staticmethod
    def overlapping(
        matrix: sparse.csr_array, labels: np.ndarray, ranks: np.ndarray | None = None
    ) -> Groups:
        """Groups that may share samples.

        Parameters
        ----------
        matrix : csr_array of bool, shape (n_samples, n_groups)
            Whether a sample belongs to a group; without stored zeros or duplicates.
        labels : ndarray of object, shape (n_groups, n_attributes)
            Labels of each group.
        ranks : ndarray of int, shape (n_groups,), default=None
            Numbers that sort the groups by label; None if they are sorted.
        """
        return Groups(labels, matrix=matrix, ranks=ranks)

    @staticmethod
    def single(n_samples: int, name: str = "all") -> Groups:
        """All samples in one group, as without sensitive features.

        Parameters
        ----------
        n_samples : int
            Number of samples.
        name : str, default="all"
            Name of the group.
        """
        return Groups.disjoint(np.zeros(n_samples, dtype=np.intp), _one_column([name]))

    @property
    def codes(self) -> np.ndarray:
        """Group of each sample, (n_samples,); a TypeError where groups may overlap."""
        if self._codes is None:
            raise TypeError(_OVERLAPPING)
        return self._codes

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """Whether a sample belongs to a group, (n_samples, n_groups)."""
        # Short integers, where they suffice, as the matrix is transposed and copied.
        n_samples = len(self.codes)
        integer = np.int32 if n_samples < np.iinfo(np.int32).max else np.int64
        ends = np.arange(n_samples + 1, dtype=integer)
        one_each = (np.ones(n_samples, dtype=bool), self.codes.astype(integer), ends)
        return sparse.csr_array(one_each, shape=(n_samples, len(self.labels)))

    @cached_property
    def memberships(self) -> tuple[np.ndarray, np.ndarray]:
        """Sample and group of every membership, sample by sample."""
        if self.is_disjoint:
            return np.arange(len(self.codes)), self.codes
        samples = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))
        return samples, self.matrix.indices.astype(np.intp)

    def take(self, rows: np.ndarray) -> Groups:
        """Groups of selected samples, without those that have no members there.

        Parameters
        ----------
        rows : ndarray of int or bool
            Positions of the samples, or a mask over all samples.
        """
        groups = self.subset(rows)
        present = np.flatnonzero(groups.counts)
        if not self.is_disjoint:
            return groups if len(present) == len(self.labels) else groups.select(present)
        codes = np.searchsorted(present, groups.codes)
        return Groups.disjoint(codes, self.labels[present], self.attributes, self.ranks[present])

    def subset(self, rows: slice | np.ndarray) -> Groups:
        """Groups of selected samples; groups without members there remain, empty.

        Parameters
        ----------
        rows : slice or ndarray of int
            Positions of the samples, which may repeat.
        """
        if self.is_disjoint:
            return Groups.disjoint(self.codes[rows], self.labels, self.attributes, self.ranks)
        return Groups.overlapping(self.matrix[rows], self.labels, self.ranks)

    def reorder(self, order: np.ndarray) -> Groups:
        """The same groups in another order.

        Parameters
        ----------
        order : ndarray of int, shape (n_groups,)
            Positions of the groups in the new order.
        """
        if not self.is_disjoint:
            return self.select(order)
        codes, ranks = np.argsort(order)[self.codes], self.ranks[order]
        groups = Groups.disjoint(codes, self.labels[order], self.attributes, ranks)
        vars(groups)["counts"] = self.counts[order]  # which need not be counted again
        return groups

    @cached_property
    def counts(self) -> np.ndarray:
        """Number of samples of each group, (n_groups,)."""
        codes = self.codes if self.is_disjoint else self.memberships[1]
        return np.bincount(codes, minlength=len(self.labels))

    @property
    def names(self) -> list:
        """Names of the groups, a list of length n_groups."""
        return group_names(self.labels)

    @property
    def summary(self) -> GroupSummary:
        """Labels and counts alone, sorted by label, as a `GroupSummary`."""
        order = np.argsort(self.ranks)
        return GroupSummary(self.labels[order], self.counts[order])

    def members(self) -> list[np.ndarray]:
        """Samples of each group, a list of n_groups arrays."""
        samples, groups = self.memberships
        # The stable sort of short integers is a radix sort, which is linear.
        order = np.argsort(groups.astype(np.min_scalar_type(len(self.labels))), kind="stable")
        return np.split(samples[order], np.cumsum(self.counts)[:-1])

    def single_attribute_groups(self) -> Groups:
        """One group per value of every single attribute; with several attributes they overlap.

        Their labels are pairs (attribute, value).
        """
        if self.labels.shape[1] == 1:
            return self
        codes, labels = self.single_attribute_codes()
        n_groups, n_attributes = codes.shape
        # Matrix that maps each combination to the groups of its values, one per attribute.
        ends = np.arange(0, codes.size + 1, n_attributes)
        one_each = np.ones(codes.size, dtype=bool), codes.ravel(), ends
        values = sparse.csr_array(one_each, shape=(n_groups, len(labels)))
        return Groups.overlapping(sparse.csr_array(self.matrix @ values), labels)

    def single_attribute_codes(self) -> tuple[np.ndarray, np.ndarray]:
        """Values of the single attributes in each group, which is a combination of them.

        Returns
        -------
        codes : ndarray of intp, shape (n_groups, n_attributes)
            Value of each attribute, as a row of `labels`.
        labels : ndarray of object, shape (n_values, 1)
            Pairs (attribute, value), those of the first attribute first.
        """
        labels: list = []
        columns = []
        for attribute, column in zip(self.attributes, self.labels.T, strict=True):
            values, codes = np.unique(column, return_inverse=True)
            # Values are numbered on from those of the attributes before.
            columns.append(len(labels) + codes)
            labels += zip(repeat(attribute), values)
        return np.column_stack(columns), _one_column(labels)

    def select(self, positions: np.ndarray) -> Groups:
        """Selected groups of all samples; those of other groups are then in none.

        Parameters
        ----------
        positions : ndarray of int
            Positions of the groups.
        """
        matrix, labels = self.matrix[:, positions], self.labels[positions]
        return Groups.overlapping(matrix, labels, self.ranks[positions])


def check_groups(
    sensitive_features: MatrixLike, n_samples: int, *, overlapping: bool = False
) -> Groups:
    """Encode sensitive features (protected attributes) in any container.

    Equal labels get equal codes whatever the container: groups are sorted by label (numbers as
    numbers, strings by code point, several attributes lexicographically).

    Parameters
    ----------
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
        List, array, Series, Categorical, DataFrame (pandas or polars) of numbers, strings,
        booleans, dates or anything else that can be hashed and sorted. With several attributes
        the groups are the combinations that occur. Where overlapping groups are allowed, also a
        sparse matrix of booleans, of shape (n_samples, n_groups): whether a sample belongs to a
        group. The label of such a group is the number of its column.
    n_samples : int
        Number of samples of X.
    overlapping : bool, default=False
        Whether groups may overlap.

    Returns
    -------
    groups : Groups

    Raises
    ------
    ValueError
        If the number of rows is wrong, a value is missing or complex, or the input is a scalar,
        a mapping or of more than two dimensions; if a sparse matrix is not boolean, or one of its
        columns is empty.
    TypeError
        If the input is sparse and groups may not overlap, or one attribute mixes types of values.

    Examples
    --------
    >>> from skfair.groups import check_groups
    >>> groups = check_groups([["f", "old"], ["m", "old"], ["f", "old"]], n_samples=3)
    >>> groups.names
    [('f', 'old'), ('m', 'old')]
    """
    if sparse.issparse(sensitive_features):
        if not overlapping:
            raise TypeError(_OVERLAPPING)
        return _check_matrix(sensitive_features, n_samples)
    # Codes of the first attribute, then of its combinations with the others.
    columns = attribute_columns(sensitive_features)
    _check_length(len(columns[0]), n_samples)
    names = attribute_names(sensitive_features) or list(range(len(columns)))
    values, codes = encode(columns[0], names[0])
    labels = values[:, np.newaxis]
    for name, column in zip(names[1:], columns[1:], strict=True):
        values, inverse = encode(column, name)
        # Encode only the combinations that occur, so that the codes stay small for any number of
        # attributes. The order is lexicographic.
        combined, codes = unique_inverse(codes * len(values) + inverse)
        earlier, latest = np.divmod(combined, len(values))
        labels = np.column_stack((labels[earlier], values[latest]))
    return Groups.disjoint(codes, labels, names)


MAX_NUMERIC_GROUPS = 30
"""Different numbers up to which a numeric attribute is accepted as groups."""


def refuse_continuous_attributes(groups, is_compared=None):
    """Refuse numeric attributes of more than 30 values, such as an age: these are not groups.

    `is_compared` says which groups, or groups of single attributes (n_groups, n_attributes), are
    large enough to be compared. An attribute passes if at most 30 of its numbers, and not none of
    them, are those of compared groups. None compares all groups. A sparse matrix passes.
    """
    if not groups.is_disjoint:
        return
    # Which labels are in groups that are compared; all unless a mask is passed.
    masks = True if is_compared is None else is_compared.T
    masks = np.broadcast_to(masks, groups.labels.T.shape)
    for name, column, mask in zip(groups.attributes, groups.labels.T, masks, strict=True):
        numbers = _numbers_among(column)
        n_compared = len(numbers.intersection(column[mask]))
        if len(numbers) > MAX_NUMERIC_GROUPS and not 0 < n_compared <= MAX_NUMERIC_GROUPS:
            remedy = (
                ""
                if is_compared is None
                else " Or choose min_group_size such that 1 to 30 of them are left, now "
                f"{n_compared} are."
            )
            raise ValueError(
                f"Attribute {name!r} of sensitive_features has {len(numbers)} different numbers, "
                f"from {min(numbers):g} to {max(numbers):g}, but at most {MAX_NUMERIC_GROUPS} "
                "numbers can be groups: more look like a measurement. Bin it, as in "
                "pd.cut(age, [0, 25, 45, 65, 120]) or KBinsDiscretizer(4, encode='ordinal')."
                f"fit_transform(age); or pass strings, as in age.astype(str), if the "
                f"numbers are names of groups.{remedy}"
            )


def warn_of_continuous_attributes(groups):
    """Warn of numeric attributes of more than 30 values, such as an age, where groups are counted.

    A sparse matrix passes.
    """
    if not groups.is_disjoint:
        return
    for name, column in zip(groups.attributes, groups.labels.T, strict=True):
        numbers = _numbers_among(column)
        if len(numbers) > MAX_NUMERIC_GROUPS:
            warn(
                f"Attribute {name!r} of sensitive_features has {len(numbers)} different numbers, "
                f"from {min(numbers):g} to {max(numbers):g}, and each is a group of its own. More "
                f"than {MAX_NUMERIC_GROUPS} look like a measurement: bin it, as in "
                "pd.cut(age, [0, 25, 45, 65, 120]). If the numbers are names of groups, pass "
                "strings, as in age.astype(str)."
            )


def _numbers_among(labels):
    """Set of the labels that are numbers."""
    return {one for one in labels if isinstance(one, Real) and not isinstance(one, bool)}


def attribute_names(sensitive_features):
    """Names of the columns of a table, or the name of a Series; None where there is none."""
    if hasattr(sensitive_features, "column_names"):  # pyarrow, whose columns are the data
        names = list(sensitive_features.column_names)
    elif hasattr(sensitive_features, "columns"):
        names = list(sensitive_features.columns)
    else:
        name = getattr(sensitive_features, "name", None)
        names = [] if name is None or name == "" else [name]  # polars has "" for none
    if len(set(names)) < len(names):
        repeated = [name for name in names if names.count(name) > 1]
        raise ValueError(
            f"Attributes of sensitive_features need names of their own, but {len(repeated)} are "
            f"called {repeated[0]!r}; rename the columns, or leave all but one of them out."
        )
    return names or None


_OVERLAPPING = (
    "sensitive_features is a sparse matrix, which means overlapping groups; these are for "
    "classifiers. Here every sample belongs to exactly one group: pass one label per sample, "
    "or one dense column per attribute to use the combinations that occur."
)


def _check_length(n_rows, n_samples):
    """Refuse sensitive features with another number of rows than X."""
    if n_rows != n_samples:
        raise ValueError(
            f"sensitive_features has {n_rows} rows but there are {n_samples} samples; pass one "
            "row per sample, in the same order."
        )


def _check_matrix(sensitive_features, n_samples):
    """Overlapping groups of a sparse matrix of booleans."""
    matrix = sparse.csr_array(sensitive_features)
    _check_length(matrix.shape[0], n_samples)
    if not np.isin(matrix.data, (0, 1)).all():
        wrong = matrix.data[~np.isin(matrix.data, (0, 1))][0]
        raise ValueError(
            "A sparse sensitive_features must be boolean (0 or 1), one column per group, but it "
            f"holds {wrong}."
        )
    matrix = matrix.astype(bool)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    groups = Groups.overlapping(matrix, _one_column(range(matrix.shape[1])))
    empty = np.flatnonzero(groups.counts == 0)
    if len(empty):
        raise ValueError(
            f"Every group needs members, but column(s) {join_names(map(str, empty))} of "
            "sensitive_features are empty; leave them out."
        )
    return groups


def _one_column(labels):
    """Labels of one attribute, (n_groups, 1); numpy would unpack those that are tuples."""
    return np.fromiter(labels, dtype=object, count=len(labels))[:, np.newaxis]


def group_names(labels):
    """Names of groups: their label, or the tuple of their labels for several attributes."""
    if labels.shape[1] == 1:
        return labels[:, 0].tolist()
    return [tuple(row) for row in labels]


def to_pandas_index(labels, sensitive_features):
    """Groups as an index of a DataFrame, named as the attributes of sensitive_features are."""
    import pandas as pd

    names = attribute_names(sensitive_features) or [None] * labels.shape[1]
    index = pd.MultiIndex.from_arrays(list(labels.T), names=names)
    return index.get_level_values(0) if index.nlevels == 1 else index
