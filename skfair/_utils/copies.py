"""Copies of rows: exact ones, training rows among held-out ones, and near copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import gen_batches

from skfair._utils.checks import warn
from skfair._utils.tables import is_sparse, to_pandas_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from skfair._utils.tables import Table, TableLike


# Tables, and a number for each of their rows.


def _as_table(X: TableLike) -> np.ndarray | sparse.csr_array | pd.DataFrame | None:
    """X with two axes, from which both can be selected; None for what is no table."""
    if is_sparse(X):
        return sparse.csr_array(X)
    if isinstance(X, pd.DataFrame):
        return X
    if not isinstance(X, np.ndarray) or X.ndim < 2:
        return None
    X = X.reshape(len(X), np.prod(X.shape[1:], dtype=np.intp))
    return X if X.dtype.kind in "biuf" else pd.DataFrame(X)


def hash_rows(X: TableLike) -> np.ndarray | None:
    """Return a number for each row, equal for equal rows; None if they cannot be compared.

    That is what is no table, or has values without a hash, such as lists.
    """
    table = _as_table(X)
    try:
        return None if table is None else hash_table(table)
    except TypeError:
        return None


def hash_table(X: np.ndarray | sparse.csr_array | pd.DataFrame) -> np.ndarray:
    """Return a number for each row of a table, equal for equal rows."""
    if is_sparse(X):
        if not X.has_canonical_format:
            X = X.copy()  # the arrays may be the user's
            X.sum_duplicates()
        # The hash of 0 is 0, so that columns are numbered from 1 on.
        columns, values = (pd.util.hash_array(part) for part in (X.indices + 1, X.data))
        # Sums wrap around, so that they are the same in any order.
        sums = np.concatenate(([np.uint64(0)], np.cumsum(columns * values, dtype=np.uint64)))
        return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    if isinstance(X, np.ndarray):
        return _project_rows(X)
    return pd.util.hash_pandas_object(X, index=False).to_numpy()


def _project_rows(X: np.ndarray) -> np.ndarray:
    """A random combination of the columns, added in the same order for all rows."""
    return _project_columns(X.T)


def _projection_factors(n_columns: int) -> np.ndarray:
    """Random factors of columns, and what stands for their missing values, (2, n_columns)."""
    return np.random.default_rng(0).standard_normal((2, n_columns))


def _project_columns(columns: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """A random combination of columns, added in the same order for all rows, (n_samples,)."""
    projection = np.zeros(len(columns[0]) if len(columns) else 0)
    factors = _projection_factors(len(columns))
    for column, factor, of_missing in zip(columns, *factors, strict=True):
        projection += np.where(np.isnan(column), of_missing, factor * column)
    return projection


def key_rows(X: TableLike) -> np.ndarray | None:
    """Return a number of 64 bits for each row, by its values only, whatever container has them.

    The order of columns has no part in it. None if values cannot be compared, as of lists of
    several lengths. Numbers are bits of random combinations of the columns, (n_samples,), text
    counts by its hash.
    """
    if is_sparse(X):
        X = sparse.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()  # the arrays may be the user's
            X.sum_duplicates()
        X = X[:, np.argsort(_sum_bits_of_sparse(X), kind="stable")]
        X.sort_indices()  # products are added in this order
        return scramble_bits((X @ _projection_factors(X.shape[1])[0]).view(np.uint64))
    try:
        columns = _columns(X)
        numbers = [_number_values(column) for column in columns.values()]
    except (TypeError, ValueError):
        return None
    if not numbers:
        return None
    numbers.sort(key=_sum_bits)
    return scramble_bits(_project_columns(numbers).view(np.uint64))


def _sum_bits(column: np.ndarray) -> int:
    """Return a number that depends on the values of a column, and not on their order."""
    bits = (column + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    return int(scramble_bits(bits).sum())


def _sum_bits_of_sparse(X: sparse.csr_array) -> np.ndarray:
    """Return the numbers of `_sum_bits` of the columns, (n_columns,)."""
    n_samples, n_columns = X.shape
    bits = scramble_bits((X.data.astype(float) + 0.0).view(np.uint64))
    sums = np.zeros(n_columns, dtype=np.uint64)
    np.add.at(sums, X.indices, bits)
    n_absent = n_samples - np.bincount(X.indices, minlength=n_columns)
    zero = scramble_bits(np.zeros(1).view(np.uint64))
    return sums + n_absent.astype(np.uint64) * zero


def _number_values(column: np.ndarray) -> np.ndarray:
    """Return the values of a column as float64: numbers as they are, others by their hash."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    numbers = _numeric_values(column)
    if numbers is not None:
        return numbers
    texts = pd.Series(column, dtype=object).map(str).to_numpy()
    return pd.util.hash_array(texts) / 2.0**64


_BIT_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
"""Odd numbers of the generator SplitMix64, which spread each bit over all."""


def scramble_bits(bits: np.ndarray) -> np.ndarray:
    """Return bits that look random, equal for equal ones: those of SplitMix64."""
    scrambled = bits + np.uint64(0x9E3779B97F4A7C15)
    for factor, shift in zip(_BIT_FACTORS, (30, 27), strict=True):
        scrambled = (scrambled ^ (scrambled >> np.uint64(shift))) * factor
    return scrambled ^ (scrambled >> np.uint64(31))


# Checks for leakage: training rows that are used again as held-out or test rows.


def refuse_training_data(X: TableLike, X_fit: TableLike | None) -> None:
    """Raise for an X of which most rows are training rows, and warn if some are.

    Rows are equal if their values are: numbers count as numbers, whatever their dtype and
    container, and at the lower of both precisions. Frames are compared by the names of their
    columns, if both have the same ones. None for `X_fit` compares nothing. With few distinct
    values, equal rows may be different samples.
    """
    if X_fit is None:
        return
    rows, fitted = _hash_both(_columns(X), _columns(X_fit))
    n_reused = int(np.isin(rows, fitted).sum())
    if n_reused > len(rows) / 2:
        raise ValueError(
            f"X must be held-out data, but {n_reused} of the {len(rows)} rows of X are in X_fit: "
            "the model was fitted to them and treats them better than others. Pass data that was "
            "not used for the fit, such as a test set."
        )
    if n_reused:
        warn(
            f"{n_reused} of the {len(rows)} rows of X are in X_fit too. If these are the same "
            "samples, leave them out: a model treats its training data better than others."
        )


def share_of_rows(rows: np.ndarray, table: np.ndarray) -> float:
    """Share of the rows that are rows of a table too, compared as in `refuse_training_data`."""
    hashes, known = _hash_both(_columns(rows), _columns(table))
    return float(np.isin(hashes, known).mean())


def check_disjoint_folds(folds: Iterable[Sequence[np.ndarray]]) -> None:
    """Raise for folds, as (train, test) positions, whose training rows contain test rows."""
    for number, (train, test) in enumerate(folds):
        n_reused = int(np.isin(test, train).sum())
        if n_reused:
            raise ValueError(
                "Each sample must be scored by a model that was not fitted to it, but "
                f"{n_reused} of the {len(test)} test rows of fold {number} of cv are among its "
                "training rows. Pass an int, or a splitter such as StratifiedKFold; an iterable "
                "must yield disjoint train and test rows."
            )


def _columns(X: TableLike) -> dict[int | str, np.ndarray]:
    """Columns as arrays by name; by position where they have no names."""
    if is_sparse(X):
        X = X.toarray()
    X = to_pandas_table(X)
    if hasattr(X, "columns"):
        return {name: X[name].to_numpy() for name in X.columns}
    # A list of rows becomes an array of objects, so that text does not turn numbers into text.
    array = X if hasattr(X, "dtype") else np.asarray(X, dtype=object)
    array = np.asarray(array)
    return dict(enumerate(array.reshape(len(array), -1).T))


def _hash_both(
    columns: dict[int | str, np.ndarray], fitted: dict[int | str, np.ndarray]
) -> list[np.ndarray]:
    """Hashes of the rows of both tables, of columns by name."""
    if len(columns) != len(fitted):
        raise ValueError(
            f"X and X_fit must have the same columns, but they have {len(columns)} and "
            f"{len(fitted)}; pass the features of the fit as X_fit."
        )
    # Match columns by name if both have the same ones, else by position.
    if set(columns) == set(fitted):
        fitted = {name: fitted[name] for name in columns}
    pairs = map(_align_dtypes, columns.values(), fitted.values())
    tables = (pd.DataFrame(dict(enumerate(table))) for table in zip(*pairs, strict=True))
    return [hash_table(table) for table in tables]


def _align_dtypes(column: np.ndarray, fitted: np.ndarray) -> tuple[np.ndarray, ...]:
    """Two columns as numbers of the lower of their precisions, or as text if one is not numeric."""
    numbers = [one for one in map(_numeric_values, (column, fitted)) if one is not None]
    if len(numbers) < 2:
        return tuple(pd.Series(one, dtype=object).map(str).to_numpy() for one in (column, fitted))
    dtype = min(map(_precision, (column, fitted), numbers), key=np.dtype.itemsize.__get__)
    # Numbers that overflow in the lower precision are infinite in both. Adding 0 turns -0 into 0.
    with np.errstate(over="ignore"):
        return tuple(one.astype(dtype).astype(np.float64) + 0.0 for one in numbers)


def _numeric_values(column: np.ndarray) -> np.ndarray | None:
    """A column as float64, nan where a value is missing; None if it is not numeric."""
    if getattr(column.dtype, "kind", "O") in "mM":
        return None
    try:
        numbers = pd.to_numeric(pd.Series(column), errors="raise")
        return numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return None


def _precision(column: np.ndarray, numbers: np.ndarray) -> np.dtype:
    """The precision of a column: that of its dtype, or the lowest that holds all values."""
    if column.dtype.kind == "f" and column.dtype.itemsize < 8:
        return column.dtype
    with np.errstate(over="ignore"):
        is_single = np.array_equal(numbers.astype(np.float32), numbers, equal_nan=True)
    return np.dtype(np.float32 if is_single else np.float64)


# Signs that samples belong together, as members of a household or visits of a person do.
#
# There are two. Consecutive samples are similar in most columns, and samples twenty positions apart
# are not. Or, in any order, many samples have a near copy: another sample that differs in one or
# two columns, or that is far nearer than all others, where so many equal or similar values are no
# chance.


_MAX_COLUMNS = 100
"""Columns that are examined, at equal distances, if there are more."""

_N_EXAMINED = 1000
"""Samples that are compared with their neighbours, or for which near copies are sought."""

_LAG = 20
"""Distance of samples that are taken to belong to different households."""

_MIN_COLUMNS = 3
"""Columns below which nothing is said: one or two columns may be sorted, or have few values."""

_MIN_SHARE = 0.05
"""Share of samples with a near copy up to which standard errors are hardly affected."""

_N_CANDIDATES = 4000
"""Samples among which nearest neighbours are sought."""

_N_NEIGHBOURS = 2 * _LAG - 1
"""Nearest neighbours of a sample that show how near others are by chance."""

_N_LEADING = 10
"""Nearest neighbours that may be members of the same household."""

_MIN_LEAD = 8.0
"""Lead of the nearest neighbour over the last of the leading ones, in multiples of the mean lead
over the next sample. By chance the largest of nine exponential variables exceeds it in 9 exp(-8) =
.3 % of the samples, and in about 1 % where the mean is an estimate. More than `_MIN_SHARE` of
200 independent samples do so with probability 1e-5, by the binomial distribution."""

_PRIME = 65521
"""Divisor of remainders that distinguish most combinations of columns."""


def warn_of_clustered_samples(X: TableLike, advice: str) -> None:
    """Warn, with advice, where samples seem to belong together."""
    clause = describe_clustered_samples(X)
    if clause is not None:
        warn(f"Samples seem to belong together, such as members of a household: {clause}. {advice}")


def describe_clustered_samples(X: TableLike) -> str | None:
    """How samples seem to belong together, as a clause; None where there is no sign of it.

    X is ignored if it is neither an array, a DataFrame nor a sparse matrix.
    """
    X = _as_table(X)
    if X is None or X.shape[0] < 2 * _LAG or X.shape[1] < _MIN_COLUMNS:
        return None
    columns: slice | np.ndarray = slice(None)
    if X.shape[1] > _MAX_COLUMNS:
        columns = np.linspace(0, X.shape[1] - 1, _MAX_COLUMNS).astype(np.intp)
    examined = _draw_positions(X.shape[0])
    values = _to_numbers(X, examined, columns)
    information, n_values = _column_information(values)
    if np.count_nonzero(information) < _MIN_COLUMNS:
        return None
    if _are_neighbours_similar(X, columns, information):
        return "consecutive samples are similar in most columns, and distant ones are not"
    # A column of two values may be one of several that code a label.
    weights = np.where(n_values == 2, 0.5, 1.0)
    share = _share_of_near_copies(X, columns, examined, information, weights * (information > 0))
    if share > _MIN_SHARE:
        return f"{share:.0%} of the samples equal another one in all but one or two columns"
    # A few samples clear most data whose samples are independent.
    ranks = _draw_ranks(X, columns, information)
    if _share_of_near_neighbours(ranks, 50) <= _MIN_SHARE / 2:
        return None
    share = _share_of_near_neighbours(ranks, 200)
    if share > _MIN_SHARE:
        return f"{share:.0%} of the samples have a neighbour that is far nearer than all others"
    return None


def _to_numbers(X: Table, positions: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
    """Selected samples and columns as finite numbers; labels are hashed to numbers below 1."""
    if is_sparse(X):
        numbers = X[positions][:, columns].toarray()
    elif isinstance(X, np.ndarray):
        numbers = X[positions][:, columns]
    else:
        table = X.iloc[positions, columns]
        numbers = np.empty(table.shape)
        for place, (_, column) in enumerate(table.items()):
            if pd.api.types.is_numeric_dtype(column.dtype):
                numbers[:, place] = column.to_numpy(dtype=np.float64, na_value=np.nan)
            else:
                numbers[:, place] = pd.util.hash_pandas_object(column, index=False) / 2.0**64
    numbers = numbers.astype(np.float64, copy=False)
    # A number that hardly occurs stands for missing and infinite values.
    is_finite = np.isfinite(numbers)
    return numbers if is_finite.all() else np.where(is_finite, numbers, -np.pi)


def _draw_positions(n_samples: int) -> np.ndarray:
    """Positions of all samples, or of a random subsample."""
    if n_samples <= _N_EXAMINED:
        return np.arange(n_samples)
    return np.random.default_rng(0).choice(n_samples, _N_EXAMINED, replace=False)


def _column_information(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Information of each column, and its number of distinct values.

    The information is minus the logarithm of the probability that two samples are equal.
    """
    values = np.sort(np.ascontiguousarray(values.T))
    is_first = np.ones(values.shape, dtype=bool)
    is_first[:, 1:] = values[:, 1:] != values[:, :-1]
    # Numbers of equal values, column by column.
    starts = np.flatnonzero(is_first)
    counts = np.diff(starts, append=values.size).astype(np.float64)
    n_equal = np.bincount(starts // values.shape[1], counts * (counts - 1.0), len(values))
    n_pairs = values.shape[1] * (values.shape[1] - 1.0)
    # One pair is added: where no two values are equal, the probability is not 0.
    information = np.maximum(0.0, -np.log((n_equal + 2.0) / (n_pairs + 2.0)))
    return information, is_first.sum(axis=1)


def _are_neighbours_similar(X: Table, columns: np.ndarray | slice, information: np.ndarray) -> bool:
    """Whether consecutive samples are correlated in half of the columns, and distant ones less.

    A sorted column correlates distant samples, too, so that it shows nothing. Columns count by
    their information, 1 at most: those that code one label together count about as much as another.
    """
    first = _draw_positions(X.shape[0] - _LAG)
    values = _to_numbers(X, np.concatenate((first, first + 1, first + _LAG)), columns)
    # Few outliers would decide about correlations.
    columns_of_first = np.ascontiguousarray(values[: len(first)].T)
    values = values.clip(*np.quantile(columns_of_first, [0.01, 0.99], axis=1))
    values = (values - values.mean(axis=0)).reshape(3, len(first), -1)
    # A correlation up to .1, in excess of noise, hardly affects standard errors.
    limit = 0.1 + 2.5 / np.sqrt(len(first))
    excess = (values[0] * (values[1] - values[2])).mean(axis=0)
    is_similar = excess > limit * (values**2).mean(axis=(0, 1))
    weights = np.minimum(information, 1.0)
    return weights @ is_similar > 0.5 * weights.sum()


def _share_of_near_copies(
    X: Table,
    columns: np.ndarray | slice,
    examined: np.ndarray,
    information: np.ndarray,
    weights: np.ndarray,
) -> float:
    """Share of samples that have a near copy, where chance cannot explain it; else 0."""
    shares = [0.0]
    for first, second in _find_partners(X, columns, examined, information):
        if len(first) <= _MIN_SHARE * len(examined):
            continue
        equal = _to_numbers(X, first, columns) == _to_numbers(X, second, columns)
        # No two of n independent samples are equal by chance in columns of so much information.
        is_certain = equal @ information > 2.0 * np.log(X.shape[0])
        # Members of a household differ in two columns; two columns of two values count as one.
        is_near = np.ceil(~equal @ weights) <= 2
        n_copies = np.count_nonzero(is_certain & is_near)
        # Otherwise samples are equal by chance, because the columns depend on one another.
        if n_copies >= 0.5 * len(first):
            shares.append(n_copies / len(examined))
    return max(shares)


def _share_of_near_neighbours(ranks: np.ndarray, n_compared: int) -> float:
    """Share of the first samples whose nearest neighbour is far nearer than the others let expect.

    Two samples are as close as minus the logarithm of the probability that independent columns are
    as similar. The largest of many independent values have exponential spacings.
    """
    closest = np.empty((min(n_compared, ranks.shape[1]), _N_NEIGHBOURS))
    for sample, neighbours in enumerate(closest):
        differences = np.abs(ranks - ranks[:, [sample]]) + 1e-9
        closeness = -np.log(differences.prod(axis=0))
        closeness[sample] = -np.inf
        neighbours[:] = np.sort(np.partition(closeness, -_N_NEIGHBOURS)[-_N_NEIGHBOURS:])
    # The mean lead is estimated from the neighbours that do not lead, over the last of them.
    expected = np.cumsum(1.0 / np.arange(_N_NEIGHBOURS - 1, _N_LEADING - 1, -1)).mean()
    leads = closest - closest[:, :1]
    mean_lead = leads[:, 1 : 1 - _N_LEADING].mean(axis=1) / expected
    return np.mean(leads[:, -1] - leads[:, -_N_LEADING] > _MIN_LEAD * mean_lead)


def _draw_ranks(X: Table, columns: slice | np.ndarray, information: np.ndarray) -> np.ndarray:
    """Ranks within up to 20 columns of most information, from 0 to 1, (n_columns, n_candidates).

    Equal values have random ranks: chance makes independent samples equal no more often than it
    makes them similar.
    """
    from scipy.stats import rankdata  # takes long to import

    rng = np.random.default_rng(0)
    n_samples = X.shape[0]
    n_informative = min(20, np.count_nonzero(information))
    numbers = np.arange(X.shape[1])[columns][np.argsort(-information)[:n_informative]]
    positions = np.arange(n_samples)
    if n_samples > _N_CANDIDATES:
        # Near copies of a sample are among those most similar in any column.
        values = _to_numbers(X, slice(None), numbers[:1])[:, 0]
        distances = np.abs(values - values[rng.integers(n_samples)])
        positions = np.argpartition(distances, _N_CANDIDATES)[:_N_CANDIDATES]
    values = _to_numbers(X, rng.permutation(positions), numbers).T
    # The first and last rank of each value, and one between them.
    first, last = (rankdata(values, method, axis=1) for method in ("min", "max"))
    return (first + rng.random(values.shape) * (last - first + 1.0)) / values.shape[1]


def _find_partners(
    X: Table, columns: np.ndarray | slice, examined: np.ndarray, information: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Examined samples and another one that equals each in a block of columns, for three blocks.

    Samples that differ in two columns are equal in one of the blocks at least.
    """
    # Neighbouring columns, which may code one label, are in the same block.
    middle = np.cumsum(information) - information / 2
    block = (3 * middle / information.sum()).astype(np.intp)
    factors = np.random.default_rng(0).standard_normal(len(block))
    factors = np.where(block[:, np.newaxis] == np.arange(3), factors[:, np.newaxis], 0.0)
    # Samples that are equal in a block have equal combinations of its columns.
    # Samples are converted to numbers in batches, which bounds the memory.
    slices = gen_batches(X.shape[0], 1 << 16)
    combinations = np.concatenate([_to_numbers(X, one, columns) @ factors for one in slices])
    for combination in np.ascontiguousarray(combinations.T + 0.0):
        # All that are sought pass this comparison of remainders, and few others.
        remainders = combination.view(np.uint64) % _PRIME
        is_sought = np.zeros(_PRIME, dtype=bool)
        is_sought[remainders[examined]] = True
        passed = np.flatnonzero(is_sought[remainders])
        # Of each combination sought, the first examined sample and any other sample.
        sought, first, inverse = np.unique(
            combination[examined], return_index=True, return_inverse=True
        )
        place = np.searchsorted(sought, combination[passed]).clip(max=len(sought) - 1)
        is_other = (sought[place] == combination[passed]) & (examined[first[place]] != passed)
        other = np.full(len(sought), -1)
        other[place[is_other]] = passed[is_other]
        # No sample is its own partner.
        partner = other[inverse]
        partner = np.where(partner == examined, examined[first[inverse]], partner)
        yield examined[partner >= 0], partner[partner >= 0]


# A digest of training rows, by which a fitted model knows them again.


_N_SKETCHED = 256
"""Number of hashes of training rows that a model keeps."""

_MIN_DISTINCT = 0.9
"""Share of training rows that must differ: where rows are often equal, so are held-out ones."""


def sketch_rows(X: TableLike) -> np.ndarray | None:
    """The smallest hashes of the rows of a table in memory; None if many rows are equal.

    Numbers count at single precision, so that rows are equal in any container.
    """
    hashes = _hash_table(X)
    if hashes is None or not len(hashes):
        return None
    distinct = np.unique(hashes)
    return distinct[:_N_SKETCHED] if len(distinct) >= _MIN_DISTINCT * len(hashes) else None


def count_sketched_rows(X: TableLike, sketch: np.ndarray) -> tuple[int, int]:
    """Rows of a table that are in a sketch, and those that would be if all were training rows."""
    hashes = _hash_table(X)
    if hashes is None:
        return 0, 0
    if len(sketch) == _N_SKETCHED:
        hashes = hashes[hashes <= sketch[-1]]
    return int(np.isin(hashes, sketch).sum()), len(hashes)


def warn_of_training_rows(X: TableLike, sketch: np.ndarray | None) -> None:
    """Warn if most rows of X are training rows of the model that keeps a sketch of these."""
    if sketch is None:
        return
    n_known, n_comparable = count_sketched_rows(X, sketch)
    if n_known > max(_MIN_KNOWN, n_comparable / 2):
        warn(
            f"X looks like the training data of the model: {n_known} of the {n_comparable} rows "
            "that its digest can compare are training rows. A model treats them better than "
            "others, so nothing is said of new data. Pass data that was not used for the fit."
        )


_MIN_KNOWN = 9
"""Number of equal rows up to which nothing is said."""


_N_HASHED = 8192
"""Number of rows of an array that are hashed at a time."""


def _hash_table(X: TableLike) -> np.ndarray | None:
    """A number for each row of a frame of pandas or an array, the same in both; None for others."""
    if not isinstance(X, (pd.DataFrame, np.ndarray)) or X.ndim != 2:
        return None
    is_numeric = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
    if is_numeric and len(X) > _N_HASHED:  # rows that a cache holds
        parts = [_hash_columns(_columns(X[rows])) for rows in gen_batches(len(X), _N_HASHED)]
        return np.concatenate(parts)
    return _hash_columns(_columns(X))


def _hash_columns(columns: dict[int | str, np.ndarray]) -> np.ndarray:
    """A number for each row of columns of numbers and text."""
    n_rows = len(next(iter(columns.values()), ()))
    factors = np.random.default_rng(0).standard_normal((2, len(columns)))
    projection = np.zeros(n_rows)
    hashes = np.zeros(n_rows, dtype=np.uint64)
    for number, column in enumerate(columns.values()):
        is_number = getattr(column.dtype, "kind", "O") in "biuf"
        numbers = column if is_number else _numeric_values(column)
        if numbers is None:
            texts = pd.Series(column, dtype=object).map(str).to_numpy()
            hashes = hashes * np.uint64(1_000_003) + pd.util.hash_array(texts)
            continue
        factor, of_missing = factors[:, number]
        with np.errstate(over="ignore", invalid="ignore"):
            numbers = numbers.astype(np.float32).astype(np.float64)
            projection += np.where(np.isnan(numbers), of_missing, factor * numbers)
    return hashes + pd.util.hash_array(projection)
