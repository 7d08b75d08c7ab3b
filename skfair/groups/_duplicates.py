"""Many people as the few different rows that they are, and how many have each."""

from functools import partial, reduce

import numpy as np

from skfair.groups._labels import check_one_label_type, has_codes, unique_inverse
from skfair.groups._samples import check_alignment
from skfair.partitions import BLOCK, InMemory, blocks, is_partitioned, partitions_of


def merge_duplicate_rows(sensitive_features, sample_weight, **columns):
    """Take each different row once, weighing as all who have it.

    A metric that adds up weights is the same of these rows, of which there are few where columns
    hold labels. People that lie in parts are counted there and brought here. Those in memory are
    counted in blocks, by threads if a `joblib.parallel_config` says so, with the same bits for any
    number of them. They stay as they are if they are few, or hardly ever equal, and where
    something is to be refused, which is for those who look at all of them.

    Parameters
    ----------
    sensitive_features, sample_weight
        As in `check_columns`; or collections of Dask, or blocks of files.
    **columns : array-like or collection of shape (n_samples,)
        What is known of the samples, by name.

    Returns
    -------
    sensitive_features : array-like
        Groups of the different rows; a DataFrame or Series if it was one.
    sample_weight : ndarray or None
        Weight of these rows; of people who stay as they are as it came.
    columns : dict
        The columns at these rows, by name.

    Raises
    ------
    TypeError, ValueError
        As `partitions_of`; of people in memory, if their pandas indexes differ.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from skfair.groups import merge_duplicate_rows
    >>> decided = da.from_array(np.array([1, 0, 1, 1]), chunks=2)
    >>> sex = da.from_array(np.array(["f", "f", "f", "m"]), chunks=2)
    >>> with Client(processes=False, dashboard_address=":0"):
    ...     groups, weights, columns = merge_duplicate_rows(sex, None, decided=decided)
    >>> groups.to_list(), weights, columns["decided"]
    (['f', 'f', 'm'], array([1., 2., 1.]), array([0, 1, 1]))
    """
    try:
        groups, sums, columns = _count(sensitive_features, sample_weight, columns)
    except _UncountedError:
        return sensitive_features, sample_weight, columns
    return groups, sums[:, 1], columns


def merge_duplicate_rows_with_sizes(sensitive_features, sample_weight, **columns):
    """Take each different row once, with what effective sample sizes are computed from.

    Parameters
    ----------
    sensitive_features, sample_weight, **columns
        As in `merge_duplicate_rows`.

    Returns
    -------
    sensitive_features, sample_weight, columns
        As in `merge_duplicate_rows`. Where rows were merged, the columns include ``n_samples``, the
        number of samples of positive weight with the values of a row, and ``squared_weight``, the
        sum of their squared weights.

    Raises
    ------
    TypeError, ValueError
        As in `merge_duplicate_rows`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from skfair.groups import merge_duplicate_rows_with_sizes
    >>> decided = da.from_array(np.array([1, 1, 1, 0]), chunks=2)
    >>> sex = da.from_array(np.array(["f", "f", "f", "m"]), chunks=2)
    >>> weights = da.from_array(np.array([1.0, 3.0, 0.0, 2.0]), chunks=2)
    >>> with Client(processes=False, dashboard_address=":0"):
    ...     _, totals, columns = merge_duplicate_rows_with_sizes(sex, weights, decided=decided)
    >>> totals, columns["n_samples"], columns["squared_weight"]
    (array([2., 4.]), array([1., 2.]), array([ 4., 10.]))
    """
    try:
        groups, sums, columns = _count(sensitive_features, sample_weight, columns)
    except _UncountedError:
        return sensitive_features, sample_weight, columns
    n_samples, totals, squares = sums.T
    return groups, totals, columns | {"n_samples": n_samples, "squared_weight": squares}


def _count(sensitive_features, sample_weight, columns):
    """Groups of the different rows, their `_sums`, and the columns at these rows."""
    if is_partitioned(sensitive_features, sample_weight, *columns.values()):
        return _count_there(sensitive_features, sample_weight, columns)
    rows, sums = _count_here(sensitive_features, sample_weight, columns)
    columns = {name: _at(rows, column) for name, column in columns.items()}
    return _at(rows, sensitive_features), sums, columns


def _sums(weights):
    """What is added up of each sample: presence, weight and squared weight, (n_samples, 3)."""
    with np.errstate(over="ignore"):
        return np.column_stack((weights > 0.0, weights, weights**2))


_NEAR = 256
"""Integers that lie so near one another are numbers already, but for the lowest."""


class _UncountedError(Exception):
    """People who are to be looked at one by one."""


def _count_here(sensitive_features, sample_weight, columns):
    """One row for all who are equal, and the total of their `_sums`."""
    arrays = [_one_array(column) for column in columns.values()] + _arrays_of(sensitive_features)
    weights = None if sample_weight is None else _one_array(sample_weight)
    if weights is not None and (has_codes(weights) or weights.dtype.kind not in "biuf"):
        raise _UncountedError
    lengths = {len(array) for array in (*arrays, arrays[0] if weights is None else weights)}
    if len(lengths) > 1 or max(lengths) <= BLOCK:
        raise _UncountedError
    check_alignment(**columns, sensitive_features=sensitive_features, sample_weight=sample_weight)
    of_blocks = InMemory(blocks(len(arrays[0]))).collect(partial(_of_block, arrays, weights))
    rows, sums = map(np.concatenate, zip(*of_blocks, strict=True))
    few, sums = _different([_at(rows, array) for array in arrays], sums)
    # Totals or squares that overflow, or squares that vanish.
    with np.errstate(over="ignore"):
        if not np.isfinite(sums.sum()) or ((sums[:, 1] > 0.0) & (sums[:, 2] == 0.0)).any():
            raise _UncountedError
    return rows[few], sums


def _arrays_of(sensitive_features):
    """Columns of groups, one for each attribute."""
    if getattr(sensitive_features, "ndim", 1) != 2:
        columns = [sensitive_features]
    elif hasattr(sensitive_features, "iloc"):
        columns = [sensitive_features.iloc[:, j] for j in range(sensitive_features.shape[1])]
    else:
        columns = sensitive_features.T
    return [_one_array(column) for column in columns]


def _one_array(column):
    """A column as an array of numpy, or of pandas where that has codes."""
    if has_codes(column):
        return getattr(column, "array", column)
    array = column.to_numpy() if hasattr(column, "iloc") else column
    is_plain = type(array) in (np.ndarray, np.memmap) and array.ndim == 1
    if not is_plain or array.dtype.kind not in "biufUS":
        raise _UncountedError
    return array


def _of_block(arrays, weights, block):
    """As `_different`, of a block of rows."""
    sums = None if weights is None else _sums(np.asarray(weights[block], dtype=np.float64))
    rows, sums = _different([array[block] for array in arrays], sums)
    if len(rows) > BLOCK / 8:
        raise _UncountedError
    return block.start + rows, sums


def _different(arrays, sums):
    """One row for all who are equal, and the total of their `_sums`; None where all weigh 1."""
    if not len(arrays[0]) or (sums is not None and not (sums >= 0.0).all()):
        raise _UncountedError
    codes, n_codes = reduce(_paired, map(_numbered, arrays))
    if sums is None:
        totals = np.repeat(np.bincount(codes, minlength=n_codes)[:, np.newaxis], 3, axis=1)
    else:
        totals = np.column_stack([np.bincount(codes, column, n_codes) for column in sums.T])
    rows = np.full(n_codes, -1)
    rows[codes] = np.arange(len(codes))
    present = np.flatnonzero(rows >= 0)
    return rows[present], totals[present].astype(np.float64)


def _numbered(array):
    """A number from 0 on for every entry, equal where entries are; and how many numbers at most."""
    if has_codes(array):
        codes, values = array.factorize()
        if codes.min() < 0:
            raise _UncountedError
        return codes, len(values)
    if array.dtype.kind == "b":
        return array.astype(np.intp), 2
    if array.dtype.kind in "iu":
        n_numbers = int(array.max()) - int(array.min()) + 1
        if n_numbers <= min(_NEAR, len(array)):
            return np.subtract(array, array.min(), dtype=np.intp, casting="unsafe"), n_numbers
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise _UncountedError
    values, codes = unique_inverse(array)
    return codes, len(values)


def _paired(one, other):
    """Numbers of pairs, from those of either side; no more than there are entries."""
    (codes, n_codes), (others, n_others) = one, other
    codes *= n_others
    codes += others
    if n_codes * n_others <= len(codes):
        return codes, n_codes * n_others
    values, codes = unique_inverse(codes)
    return codes, len(values)


def _at(rows, table):
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def _count_there(sensitive_features, sample_weight, columns):
    """Different rows of collections, and the totals of their `_sums`, brought here."""
    parts = partitions_of(
        sensitive_features=sensitive_features, sample_weight=sample_weight, **columns
    )
    tables = parts.collect(partial(_count_part, tuple(columns)))
    table = _added([table for table in tables if len(table)] or tables[:1])
    attributes = [name for name in table if name[0] == "attribute"]
    groups = table[attributes].set_axis([name for _, name in attributes], axis=1)
    if groups.shape[1] == 1:
        groups = groups.iloc[:, 0]
    found = {name: table["column", name].to_numpy() for name in columns}
    return groups, table[_SUMS].to_numpy(), found


_SUMS = [("sum", 0), ("sum", 1), ("sum", 2)]
"""Columns of a table that hold `_sums`."""


def _count_part(names, part):
    """Different rows of a part, each with the total of its `_sums`."""
    given = part["sensitive_features"]
    weights = np.asarray(part.get("sample_weight", np.ones(len(given))), dtype=np.float64)
    if not (weights >= 0.0).all():
        raise ValueError(
            "Sample weights must be non-negative numbers, but one of them is "
            f"{weights[~(weights >= 0.0)][0]}."
        )
    try:
        arrays = [_one_array(part[name]) for name in names] + _arrays_of(given)
        rows, sums = _different(arrays, _sums(weights))
    except _UncountedError:  # then pandas tells them apart
        return _added([_table(names, part, slice(None), _sums(weights))])
    return _table(names, part, rows, sums)


def _table(names, part, rows, sums):
    """Some rows of a part, with their `_sums`."""
    import pandas as pd

    table = {("column", name): np.asarray(_at(rows, part[name])) for name in names}
    given = part["sensitive_features"]
    groups = pd.DataFrame(given if hasattr(given, "iloc") else np.asarray(given)).iloc[rows]
    table.update({("attribute", name): groups[name].to_numpy() for name in groups})
    table.update(zip(_SUMS, sums.T, strict=True))
    return pd.DataFrame(table)


def _added(tables):
    """The rows of all tables, equal ones made one; missing values stay, to be refused."""
    import pandas as pd

    keys = [key for key in tables[0].columns if key not in _SUMS]
    attributes = [key for key in keys if key[0] == "attribute"]
    for number, attribute in enumerate(attributes):  # to pandas 1 equals True
        labels = [label for table in tables for label in _examples(table[attribute])]
        check_one_label_type(labels, f"attribute {number} of sensitive_features")
    table = pd.concat(tables)
    return table.groupby(keys, dropna=False, observed=True)[_SUMS].sum().reset_index()


def _examples(column):
    """Labels of every type that a column holds: all of Python's objects, else one."""
    return column.tolist() if column.dtype == object else column.dropna()[:1].tolist()
