"""Labels of people: one sorted code per attribute, whatever container they come in."""

import numbers
from itertools import islice

import numpy as np

from skfair.utils._messages import join_names

_FEW = 4
"""Values that are looked for one after the other, as groups and classes have; more are sorted."""


def attribute_columns(sensitive_features):
    """One column per sensitive attribute; no conversion may merge values that differ.

    They are arrays of numpy, or of pandas where that knows its own codes.
    """
    if hasattr(sensitive_features, "get_columns"):  # polars
        columns = [column.to_numpy() for column in sensitive_features.get_columns()]
    elif hasattr(sensitive_features, "iloc") and sensitive_features.ndim == 2:
        n_columns = sensitive_features.shape[1]
        columns = [_values_of(sensitive_features.iloc[:, j]) for j in range(n_columns)]
    else:
        columns = _array_columns(sensitive_features)
    if not columns:
        raise ValueError("sensitive_features has no columns; pass at least one attribute.")
    return columns


def _array_columns(sensitive_features):
    if np.ma.isMaskedArray(sensitive_features):
        values = sensitive_features.astype(object).filled(np.nan)
    elif hasattr(sensitive_features, "to_pylist") and hasattr(sensitive_features, "buffers"):
        values = sensitive_features.to_numpy(zero_copy_only=False)  # an array of pyarrow
    elif hasattr(sensitive_features, "to_numpy"):
        values = _values_of(sensitive_features)
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


def _values_of(column):
    """The values of a column of pandas, polars or arrow, as numpy has them unless it has codes."""
    return getattr(column, "array", column) if has_codes(column) else column.to_numpy()


def has_codes(column):
    """Whether pandas tells the values of a column apart faster than numpy does.

    So it is of its own strings and categories; of its decimals it takes nan for a value.

    Parameters
    ----------
    column : object
        A column, in whatever container.

    Returns
    -------
    has_codes : bool
    """
    dtype = getattr(column, "dtype", None)
    return hasattr(column, "factorize") and not isinstance(dtype, np.dtype) and dtype.kind in "biuO"


def encode(column, attribute):
    """Sorted distinct values of an attribute, and the position of each sample's among them."""
    if not isinstance(column, np.ndarray):
        codes, own = column.factorize()
        if (codes >= 0).all():
            values, positions = encode(own.to_numpy(), attribute)
            return values, positions[codes]
        column = column.to_numpy()
    if column.dtype.kind in "mM" and not np.isnat(column).any():
        values, codes = unique_inverse(column)
        values = _times(values)
        return np.fromiter(values, dtype=object, count=len(values)), codes
    if column.dtype.kind in "mM":
        column = column.astype(f"{column.dtype.kind}8[us]").astype(object)
    elif column.dtype.kind in "cV" or (column.dtype.kind == "f" and np.isnan(column).any()):
        column = column.astype(object)  # the path that finds the words of a refusal
    if column.dtype.kind == "O":
        values, codes = _encode_objects(column.tolist(), attribute)
    else:
        values, codes = unique_inverse(column)
        values = values.tolist()
    # fromiter, because numpy would unpack labels that are sequences themselves.
    return np.fromiter(values, dtype=object, count=len(values)), codes


def _times(values):
    """Dates or durations as Python's own, where these tell microseconds and more apart."""
    rounded = values.astype(f"{values.dtype.kind}8[us]")
    return rounded.astype(object) if (rounded == values).all() else list(values)


def unique_inverse(column):
    """Sorted distinct values, and the position of each entry among them.

    Parameters
    ----------
    column : ndarray of shape (n_samples,)
        Labels of one kind.

    Returns
    -------
    values : ndarray of shape (n_values,)
    positions : ndarray of int, shape (n_samples,)
    """
    firsts, found, left = _first_values(column)
    if not left.any():
        by_value = np.argsort(column[firsts])
        positions, above = np.zeros((2, len(column)), dtype=np.uint8)
        for number in by_value[:0:-1]:
            above |= found[number]
            positions += above
        return column[firsts][by_value], positions.astype(np.intp)
    values = _many_values(column, firsts, left)
    if not _is_narrow(column):
        return values, np.searchsorted(values, column)
    positions = np.empty(int(values[-1]) - int(values[0]) + 1, dtype=np.intp)
    positions[_above(values, values[0])] = np.arange(len(values))
    return values, positions[_above(column, values[0])]


def unique_values(column):
    """Sorted distinct values; few are found by looking for one after the other.

    Parameters
    ----------
    column : ndarray of shape (n_samples,)
        Labels of one kind.

    Returns
    -------
    values : ndarray of shape (n_values,)
    """
    firsts, _, left = _first_values(column)
    return _many_values(column, firsts, left) if left.any() else np.sort(column[firsts])


def _first_values(column):
    """Where each of a few values is first, who has it, and who has none of them."""
    firsts, found, left = [], [], np.ones(len(column), dtype=bool)
    while left.any() and len(firsts) < _FEW:
        firsts.append(left.argmax())
        found.append(column == column[firsts[-1]])
        left &= ~found[-1]
    return firsts, found, left


def _many_values(column, firsts, left):
    if _is_narrow(column):  # counting is linear
        occurs = np.bincount(_above(column, column.min())) > 0
        return (np.flatnonzero(occurs) + int(column.min())).astype(column.dtype)
    return np.unique(np.concatenate((column[firsts], column[left])))


def _is_narrow(column):
    """Whether these are integers, of which the largest is near the smallest for so many."""
    if column.dtype.kind not in "iu":
        return False
    lowest, highest = int(column.min()), int(column.max())
    return highest - lowest < len(column) and -(2**62) < lowest and highest < 2**62


def _above(column, lowest):
    """How far integers lie above the lowest, also where their own type could not hold that."""
    return np.subtract(column, int(lowest), dtype=np.intp, casting="unsafe")


def _encode_objects(column, attribute):
    name = f"attribute {attribute!r} of sensitive_features"
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
    check_one_label_type(column, name)
    try:
        values = sorted(distinct)
    except TypeError as error:
        raise TypeError(
            f"The labels in {name} cannot be sorted ({error}); convert them to strings or numbers."
        ) from error
    position = {value: code for code, value in enumerate(values)}
    codes = np.fromiter(map(position.__getitem__, column), dtype=np.intp, count=len(column))
    return [v.item() if isinstance(v, np.number | np.bool_ | np.str_) else v for v in values], codes


def check_one_label_type(labels, name):
    """Refuse labels of different kinds: to Python 1 equals True, to a reader 1 equals "1".

    Missing values are of no kind.

    Parameters
    ----------
    labels : sequence
        Of one attribute or target, from all partitions that have it.
    name : str
        What they are, for the message.

    Raises
    ------
    ValueError
        If labels are complex numbers.
    TypeError
        If there are labels of several kinds; it names them and an example of each.
    """
    kinds = {}
    for type_ in dict.fromkeys(map(type, labels)):
        present = (one for one in labels if type(one) is type_ and not _is_missing(one))
        kinds.update({_kind(type_): example for example in islice(present, 1)})
    if "complex" in kinds:
        raise ValueError(f"Labels must be numbers, strings or booleans, but {name} is complex.")
    if len(kinds) > 1:
        raise TypeError(
            f"The labels in {name} must be of one kind, but it mixes "
            f"{' and '.join(sorted(kinds))} (such as "
            f"{join_names(sorted(map(repr, kinds.values())))}). "
            "Convert it to one type, as in [str(label) for label in labels]."
        )


def check_equal_label_types(labels):
    """Refuse group labels from several partitions whose kinds differ within an attribute.

    Parameters
    ----------
    labels : iterable of tuple
        Labels of the groups of every partition, one for each attribute.

    Raises
    ------
    TypeError
        As `check_one_label_type`.
    """
    for attribute, column in enumerate(zip(*labels, strict=True)):
        check_one_label_type(column, f"attribute {attribute} of sensitive_features")


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
