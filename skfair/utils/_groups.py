"""Groups of people: the only encoding of them that the package knows."""

import itertools
import numbers
from typing import NamedTuple

import numpy as np
from scipy import sparse


class GroupSummary(NamedTuple):
    """What an estimator keeps of the groups it was fitted on: never anyone's own group.

    Attributes
    ----------
    labels : ndarray of object, shape (n_groups, n_attributes)
        What each group is called, one column per sensitive attribute.
    counts : ndarray of intp, shape (n_groups,)
        How many samples each group has.
    """

    labels: np.ndarray
    counts: np.ndarray


class Groups(NamedTuple):
    """Disjoint groups of samples, made by `check_groups`.

    Attributes
    ----------
    codes : ndarray of intp, shape (n_samples,)
        Group of each sample, in [0, n_groups).
    labels : ndarray of object, shape (n_groups, n_attributes)
        What each group is called, in ascending order.
    counts : ndarray of intp, shape (n_groups,)
        How many samples each group has; all positive.
    """

    codes: np.ndarray
    labels: np.ndarray
    counts: np.ndarray

    @classmethod
    def single(cls, n_samples):
        """Everybody in one group called "all": what no sensitive features mean."""
        codes = np.zeros(n_samples, dtype=np.intp)
        return cls(codes, np.array([["all"]], dtype=object), np.array([n_samples], dtype=np.intp))

    @property
    def summary(self):
        """Labels and counts alone, as a `GroupSummary`."""
        return GroupSummary(self.labels, self.counts)

    def memberships(self, attributes="intersections"):
        """Who belongs to which group, as a `Memberships`.

        Parameters
        ----------
        attributes : {"intersections", "each"}, default="intersections"
            "each" makes one group per value of every single attribute: they overlap.
        """
        n_samples, n_groups = len(self.codes), len(self.labels)
        one_hot = sparse.csr_array(
            (np.ones(n_samples, dtype=bool), self.codes, np.arange(n_samples + 1)),
            shape=(n_samples, n_groups),
        )
        if attributes == "intersections" or self.labels.shape[1] == 1:
            return Memberships(one_hot, group_names(self.labels))
        names, columns = [], []
        for attribute, column in enumerate(self.labels.T):
            for value in sorted(set(column)):
                names.append((attribute, value))
                columns.append(column == value)
        unions = sparse.csr_array(np.column_stack(columns))
        return Memberships(sparse.csr_array(one_hot @ unions), names)

    def take(self, rows):
        """Keep some of the samples; a group that no longer occurs vanishes.

        Parameters
        ----------
        rows : ndarray of int or bool
            Positions of the samples to keep, or a mask over all samples.
        """
        codes = self.codes[rows]
        counts = np.bincount(codes, minlength=len(self.labels))
        present = np.flatnonzero(counts)
        return Groups(np.searchsorted(present, codes), self.labels[present], counts[present])


class Memberships(NamedTuple):
    """Groups that may overlap, made by `check_memberships` or `Groups.memberships`.

    Attributes
    ----------
    matrix : csr_array of bool, shape (n_samples, n_groups)
        Whether a sample belongs to a group.
    names : list of length n_groups
        What each group is called.
    """

    matrix: sparse.csr_array
    names: list

    @property
    def summary(self):
        """Names and counts alone, as a `GroupSummary`."""
        labels = np.fromiter(self.names, dtype=object, count=len(self.names))
        return GroupSummary(labels[:, np.newaxis], self.counts)

    @property
    def counts(self):
        """Members of each group, (n_groups,)."""
        return np.bincount(self.matrix.indices, minlength=len(self.names))

    def take(self, rows):
        """Keep some of the samples; a group that no longer has members vanishes.

        Parameters
        ----------
        rows : ndarray of int or bool
            Positions of the samples to keep, or a mask over all samples.
        """
        kept = Memberships(self.matrix[rows], self.names)
        present = np.flatnonzero(kept.counts)
        return Memberships(kept.matrix[:, present], [self.names[g] for g in present])


def check_memberships(sensitive_features, n_samples):
    """Encode overlapping groups given as a sparse matrix.

    Parameters
    ----------
    sensitive_features : sparse array or matrix of bool, shape (n_samples, n_groups)
        Whether a sample belongs to a group; any stored value that is not 0 or 1 is refused.
    n_samples : int
        Number of samples of X.

    Returns
    -------
    memberships : Memberships
        Groups called by the number of their column.

    Raises
    ------
    ValueError
        If the number of rows is wrong, a value is not 0 or 1, or a group has no member.
    """
    matrix = sparse.csr_array(sensitive_features)
    if matrix.shape[0] != n_samples:
        raise ValueError(
            f"sensitive_features has {matrix.shape[0]} rows but there are {n_samples} samples; "
            "pass one row per sample, in the same order."
        )
    if not np.isin(matrix.data, (0, 1)).all():
        wrong = matrix.data[~np.isin(matrix.data, (0, 1))][0]
        raise ValueError(
            "A sparse sensitive_features must be boolean (0 or 1), one column per group, but it "
            f"holds {wrong}."
        )
    matrix = matrix.astype(bool)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    found = Memberships(matrix, list(range(matrix.shape[1])))
    empty = np.flatnonzero(found.counts == 0)
    if len(empty):
        raise ValueError(
            f"Every group needs members, but column(s) {_listing(empty.tolist())} of "
            "sensitive_features are empty; leave them out."
        )
    return found


def check_groups(sensitive_features, n_samples):
    """Encode sensitive features of any kind as disjoint groups.

    The same people get the same codes whatever the container: groups are sorted by label (numbers
    as numbers, strings by code point, several attributes one after the other).

    Parameters
    ----------
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
        List, array, Series, Categorical, DataFrame (pandas or polars) of numbers, strings,
        booleans, dates or anything else that can be hashed and sorted. With several attributes
        the groups are the combinations that occur.
    n_samples : int
        Number of samples of X.

    Returns
    -------
    groups : Groups
        Codes, labels and counts.

    Raises
    ------
    ValueError
        If the number of rows is wrong, a value is missing or complex, or the input is a scalar,
        a mapping or of more than two dimensions.
    TypeError
        If the input is sparse (overlapping groups), or one attribute mixes kinds of values.
    """
    columns = _columns(sensitive_features)
    n_rows = len(columns[0])
    if n_rows != n_samples:
        raise ValueError(
            f"sensitive_features has {n_rows} rows but there are {n_samples} samples; pass one "
            "row per sample, in the same order."
        )
    values, codes = _encode(columns[0], 0)
    labels = values[:, np.newaxis]
    for attribute, column in enumerate(columns[1:], start=1):
        values, inverse = _encode(column, attribute)
        # Keep only the combinations that occur, so that the codes stay small for any number of
        # attributes; the earlier attributes lead the order.
        pairs, codes = _distinct(codes * len(values) + inverse)
        earlier, latest = np.divmod(pairs, len(values))
        labels = np.column_stack((labels[earlier], values[latest]))
    return Groups(codes, labels, np.bincount(codes, minlength=len(labels)))


def match_groups(sensitive_features, n_samples, summary):
    """Encode sensitive features by the groups seen at fit.

    Parameters
    ----------
    sensitive_features, n_samples
        As in `check_groups`.
    summary : GroupSummary
        The groups seen at fit.

    Returns
    -------
    codes : ndarray of intp, shape (n_samples,)
        Group of each sample, as a row of ``summary.labels``.

    Raises
    ------
    ValueError
        If a group was not seen at fit, or for what `check_groups` refuses.
    """
    groups = check_groups(sensitive_features, n_samples)
    given, expected = groups.labels.shape[1], summary.labels.shape[1]
    if given != expected:
        raise ValueError(
            f"sensitive_features has {given} attribute(s) but the estimator was fitted with "
            f"{expected}; pass the same attributes as at fit, in the same order."
        )
    known = {name: code for code, name in enumerate(group_names(summary.labels))}
    unseen = [name for name in group_names(groups.labels) if name not in known]
    if unseen:
        raise ValueError(
            f"sensitive_features has groups not seen at fit: {_listing(unseen)}; the known groups "
            f"are {_listing(known)}. Map these people to a known group, or fit on data that has "
            "theirs."
        )
    matched = [known[name] for name in group_names(groups.labels)]
    return np.array(matched, dtype=np.intp)[groups.codes]


def group_names(labels):
    """Names of groups: their label, or the tuple of their labels for several attributes.

    Parameters
    ----------
    labels : ndarray of shape (n_groups, n_attributes)
        As in `Groups`.

    Returns
    -------
    names : list of length n_groups
    """
    if labels.shape[1] == 1:
        return labels[:, 0].tolist()
    return [tuple(row) for row in labels]


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
    indexed = {name: value.index for name, value in named.items() if hasattr(value, "iloc")}
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


def _columns(sensitive_features):
    """One array per sensitive attribute; no conversion may merge values that differ."""
    if sparse.issparse(sensitive_features):
        raise TypeError(
            "sensitive_features is a sparse matrix, which means overlapping groups; these are for "
            "classifiers. Here everyone belongs to exactly one group: pass one label per sample, "
            "or one dense column per attribute to use the combinations that occur."
        )
    if hasattr(sensitive_features, "get_columns"):  # polars
        columns = [column.to_numpy() for column in sensitive_features.get_columns()]
    elif hasattr(sensitive_features, "iloc") and sensitive_features.ndim == 2:
        n_columns = sensitive_features.shape[1]
        columns = [sensitive_features.iloc[:, j].to_numpy() for j in range(n_columns)]
    else:
        columns = _array_columns(sensitive_features)
    if not columns:
        raise ValueError("sensitive_features has no columns; pass at least one attribute.")
    return columns


def _array_columns(sensitive_features):
    if np.ma.isMaskedArray(sensitive_features):
        values = sensitive_features.astype(object).filled(np.nan)
    elif hasattr(sensitive_features, "to_numpy"):
        values = sensitive_features.to_numpy()
    elif hasattr(sensitive_features, "__array__"):
        values = np.asarray(sensitive_features)
    else:  # a list: numpy would turn [1, "1"] into two equal strings, so labels stay objects
        values = np.asarray(sensitive_features, dtype=object)
    if values.ndim not in (1, 2):
        raise ValueError(
            "sensitive_features must have one row per sample and be of shape (n_samples,) or "
            f"(n_samples, n_attributes), but a {type(sensitive_features).__name__} of "
            f"{values.ndim} dimensions came. Pass a list, array, Series or DataFrame."
        )
    return [values] if values.ndim == 1 else list(values.T)


def _encode(column, attribute):
    """Sorted distinct values of an attribute, and the position of each sample's among them."""
    if column.dtype.kind in "mM":
        column = column.astype(f"{column.dtype.kind}8[us]").astype(object)
    elif column.dtype.kind in "cV" or (column.dtype.kind == "f" and np.isnan(column).any()):
        column = column.astype(object)  # the path that finds the words of a refusal
    if column.dtype.kind == "O":
        values, codes = _encode_objects(column.tolist(), attribute)
    else:
        values, codes = _distinct(column)
        values = values.tolist()
    # fromiter, because numpy would unpack labels that are sequences themselves.
    return np.fromiter(values, dtype=object, count=len(values)), codes


def _distinct(column):
    # Faster than the inverse of np.unique, which sorts the positions too.
    values = np.unique(column)
    return values, np.searchsorted(values, column)


def _encode_objects(column, attribute):
    name = f"attribute {attribute} of sensitive_features"
    try:
        distinct = set(column)
    except TypeError as error:
        raise TypeError(
            f"A value in {name} is not a label ({error}); pass one number, string or boolean per "
            "sample and attribute."
        ) from error
    if any(map(_is_missing, distinct)):
        rows = [row for row, value in enumerate(column) if _is_missing(value)]
        raise ValueError(
            f"Everyone needs a group, but {name} has {len(rows)} missing value(s), the first in "
            f'row {rows[0]}. Give these people a group of their own, as in fillna("unknown"), or '
            "leave their rows out of all inputs."
        )
    _check_kind(column, name)
    try:
        values = sorted(distinct)
    except TypeError as error:
        raise TypeError(
            f"The labels in {name} cannot be sorted ({error}); convert them to strings or numbers."
        ) from error
    position = {value: code for code, value in enumerate(values)}
    codes = np.fromiter(map(position.__getitem__, column), dtype=np.intp, count=len(column))
    return [v.item() if isinstance(v, np.number | np.bool_ | np.str_) else v for v in values], codes


def _check_kind(column, name):
    """Refuse values of different kinds: to Python 1 equals True, to a reader 1 equals "1"."""
    examples = {_kind(kind): kind for kind in set(map(type, column))}
    if "complex" in examples:
        raise ValueError(f"Labels must be numbers, strings or booleans, but {name} is complex.")
    if len(examples) > 1:
        shown = [next(v for v in column if type(v) is kind) for kind in examples.values()]
        raise TypeError(
            f"The labels in {name} must be of one kind, but it mixes "
            f"{' and '.join(sorted(examples))} (such as {_listing(sorted(shown, key=repr))}). "
            "Convert it to one type, as in [str(label) for label in labels]."
        )


def _is_missing(value):
    # pandas.NA is told by name, so that pandas need not be there; nan and NaT by value != value.
    return value is None or type(value).__name__ == "NAType" or value != value


def _kind(kind):
    """Kind of a type: values of different kinds never mean the same label."""
    if issubclass(kind, bool | np.bool_):
        return "booleans"
    if issubclass(kind, numbers.Complex) and not issubclass(kind, numbers.Real):
        return "complex"
    if issubclass(kind, numbers.Number):
        return "numbers"
    if issubclass(kind, str):
        return "strings"
    return f"values of type {kind.__name__}"


def _listing(names, limit=20):
    """Names for an error message, cut off where the list would drown it."""
    shown = [repr(name) for name in itertools.islice(names, limit)]
    return ", ".join(shown) + (f" and {len(names) - limit} more" if len(names) > limit else "")
