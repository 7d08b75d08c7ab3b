"""Labels of groups: sorted values and codes of each attribute, for any container."""

import numbers
from itertools import islice

import numpy as np

from skfair.utils._messages import join_names

_MAX_SCANNED = 4
"""Number of values that are found by scanning, one pass for each; more are sorted."""


def attribute_columns(sensitive_features):
    """One column per sensitive attribute; no conversion may merge values that differ.

    They are arrays of numpy, or of pandas where that has codes of its own.
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
    """Columns of anything but a table of pandas or polars."""
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
            f"{values.ndim} dimensions was passed. Pass a list, array, Series or DataFrame."
        )
    return [values] if values.ndim == 1 else list(values.T)


def _values_of(column):
    """The values of a column of pandas, polars or arrow, as numpy has them unless it has codes."""
    return getattr(column, "array", column) if has_codes(column) else column.to_numpy()


def has_codes(column):
    """Whether pandas finds the distinct values of a column faster than numpy does.

    That holds for its strings and categories. Its decimals are excluded: there nan is a value.
    """
    dtype = getattr(column, "dtype", None)
    return hasattr(column, "factorize") and not isinstance(dtype, np.dtype) and dtype.kind in "biuO"


def encode(column, attribute):
    """Sorted distinct values of an attribute, and the position of each sample's among them."""
    # pandas has codes already; only its categories are sorted.
    if not isinstance(column, np.ndarray):
        codes, categories = column.factorize()
        if (codes >= 0).all():
            values, positions = encode(categories.to_numpy(), attribute)
            return values, positions[codes]
        column = column.to_numpy()
    # Dates and durations become Python objects; missing ones are left to the check of objects.
    if column.dtype.kind in "mM" and not np.isnat(column).any():
        values, codes = unique_inverse(column)
        values = _to_python_times(values)
        return np.fromiter(values, dtype=object, count=len(values)), codes
    if column.dtype.kind in "mM":
        column = column.astype(f"{column.dtype.kind}8[us]").astype(object)
    elif column.dtype.kind in "cV" or (column.dtype.kind == "f" and np.isnan(column).any()):
        column = column.astype(object)  # checked, and refused, as objects
    if column.dtype.kind == "O":
        values, codes = _encode_objects(column.tolist(), attribute)
    else:
        values, codes = unique_inverse(column)
        values = values.tolist()
    # fromiter, because numpy would unpack labels that are sequences themselves.
    return np.fromiter(values, dtype=object, count=len(values)), codes


def _to_python_times(values):
    """Dates or durations as Python's own types, unless they are finer than microseconds."""
    rounded = values.astype(f"{values.dtype.kind}8[us]")
    return rounded.astype(object) if (rounded == values).all() else list(values)


def unique_inverse(column):
    """Sorted distinct values of a column, and the position of each entry among them."""
    firsts, masks, rest = _scan_values(column)
    if not rest.any():
        # Few values: the position of an entry is the number of smaller values.
        ascending = np.argsort(column[firsts])
        positions, is_greater = np.zeros((2, len(column)), dtype=np.uint8)
        for number in ascending[:0:-1]:
            is_greater |= masks[number]
            positions += is_greater
        return column[firsts][ascending], positions.astype(np.intp)
    values = _count_or_sort_values(column, firsts, rest)
    if not _is_narrow(column):
        return values, np.searchsorted(values, column)
    # Integers of a narrow range: look positions up in a table.
    positions = np.empty(int(values[-1]) - int(values[0]) + 1, dtype=np.intp)
    positions[_offsets(values, values[0])] = np.arange(len(values))
    return values, positions[_offsets(column, values[0])]


def unique_values(column):
    """Sorted distinct values of a column; a few are found by scanning, without sorting."""
    firsts, _, rest = _scan_values(column)
    return _count_or_sort_values(column, firsts, rest) if rest.any() else np.sort(column[firsts])


def _scan_values(column):
    """First position and mask of each of a few values, and the mask of all other entries."""
    firsts, masks, rest = [], [], np.ones(len(column), dtype=bool)
    while rest.any() and len(firsts) < _MAX_SCANNED:
        firsts.append(rest.argmax())
        masks.append(column == column[firsts[-1]])
        rest &= ~masks[-1]
    return firsts, masks, rest


def _count_or_sort_values(column, firsts, rest):
    """Sorted distinct values: by counting in linear time where integers allow it."""
    if _is_narrow(column):
        occurs = np.bincount(_offsets(column, column.min())) > 0
        return (np.flatnonzero(occurs) + int(column.min())).astype(column.dtype)
    return np.unique(np.concatenate((column[firsts], column[rest])))


def _is_narrow(column):
    """Whether these are integers of a range not wider than their number."""
    if column.dtype.kind not in "iu":
        return False
    lowest, highest = int(column.min()), int(column.max())
    # Within 62 bits the differences of two values fit into a signed integer.
    return highest - lowest < len(column) and -(2**62) < lowest and highest < 2**62


def _offsets(column, lowest):
    """Differences of integers to the lowest, also where their own type cannot hold them."""
    return np.subtract(column, int(lowest), dtype=np.intp, casting="unsafe")


def _encode_objects(column, attribute):
    """As `encode`, of a list of Python objects."""
    name = f"attribute {attribute!r} of sensitive_features"
    try:
        labels = set(column)
    except TypeError as error:
        raise TypeError(
            f"A value in {name} is not a label ({error}); pass one number, string or boolean per "
            "sample and attribute."
        ) from error
    if any(map(_is_missing, labels)):
        rows = [row for row, value in enumerate(column) if _is_missing(value)]
        raise ValueError(
            f"Every sample needs a group, but {name} has {len(rows)} missing value(s), the first "
            f'in row {rows[0]}. Give these samples a group of their own, as in fillna("unknown"), '
            "or leave their rows out of all inputs."
        )
    check_one_label_type(column, name)
    try:
        values = sorted(labels)
    except TypeError as error:
        raise TypeError(
            f"The labels in {name} cannot be sorted ({error}); convert them to strings or numbers."
        ) from error
    position = {value: code for code, value in enumerate(values)}
    codes = np.fromiter(map(position.__getitem__, column), dtype=np.intp, count=len(column))
    return [v.item() if isinstance(v, np.number | np.bool_ | np.str_) else v for v in values], codes


def check_one_label_type(labels, name):
    """Refuse labels of different types: to Python 1 equals True, to a reader 1 equals "1".

    Missing values have no type. `name` says in the message what the labels are. Complex numbers
    raise a ValueError, several types a TypeError that names them with an example of each.
    """
    examples = {}
    for type_ in dict.fromkeys(map(type, labels)):
        present = (one for one in labels if type(one) is type_ and not _is_missing(one))
        examples.update({_label_type(type_): example for example in islice(present, 1)})
    if "complex" in examples:
        raise ValueError(f"Labels must be numbers, strings or booleans, but {name} is complex.")
    if len(examples) > 1:
        raise TypeError(
            f"The labels in {name} must be of one type, but it mixes "
            f"{' and '.join(sorted(examples))} (such as "
            f"{join_names(sorted(map(repr, examples.values())))}). "
            "Convert it to one type, as in [str(label) for label in labels]."
        )


def check_equal_label_types(labels):
    """Refuse groups, as tuples of labels, whose types differ within an attribute."""
    for attribute, column in enumerate(zip(*labels, strict=True)):
        check_one_label_type(column, f"attribute {attribute} of sensitive_features")


def _is_missing(value):
    # pandas.NA is recognised by name, so that pandas is not imported; nan and NaT differ from
    # themselves.
    return value is None or type(value).__name__ == "NAType" or value != value


def _label_type(type_):
    """What a type is called in messages; values of two such types are never the same label."""
    if issubclass(type_, bool | np.bool_):
        return "booleans"
    if issubclass(type_, numbers.Complex) and not issubclass(type_, numbers.Real):
        return "complex"
    if issubclass(type_, numbers.Number):
        return "numbers"
    if issubclass(type_, str):
        return "strings"
    return f"values of type {type_.__name__}"
