"""Signs that samples belong together, as members of a household or visits of a person do.

There are two. Consecutive samples are similar in most columns, and samples twenty positions apart
are not. Or, in any order, many samples have a near copy: another sample that differs in one or two
columns, where so many equal values are no chance.
"""

import numpy as np
from scipy import sparse

from skfair.utils._messages import warn

_MAX_COLUMNS = 100
"""Columns that are examined, at equal distances, if there are more."""

_N_EXAMINED = 1000
"""Samples that are compared with their neighbours, or for which near copies are sought."""

_LAG = 20
"""Distance of samples that are taken to belong to different households."""

_MIN_CORRELATION = 0.1
"""Correlation of consecutive samples, in excess of that of distant ones and of noise, up to which
standard errors are hardly affected."""

_MIN_COLUMNS = 3
"""Columns below which nothing is said: one or two columns may be sorted, or have few values."""

_MAX_DIFFERENCES = 2
"""Columns in which members of a household differ; two columns of two values count as one."""

_MIN_SHARE = 0.05
"""Share of samples with a near copy up to which standard errors are hardly affected."""

_MIN_CERTAIN = 0.5
"""Of the samples that equal another one in a third of the columns, at least this share must have a
near copy. Otherwise samples are equal by chance, because the columns depend on one another."""

_PRIME = 65521
"""Divisor of remainders that distinguish most combinations of columns."""

_BLOCK = 1 << 16
"""Samples that are converted to numbers at a time."""


def warn_of_clustered_samples(X, advice):
    """Warn, with advice, where samples seem to belong together."""
    clause = describe_clustered_samples(X)
    if clause is not None:
        warn(f"Samples seem to belong together, such as members of a household: {clause}. {advice}")


def describe_clustered_samples(X):
    """How samples seem to belong together, as a clause; None where there is no sign of it.

    X is ignored if it is neither an array, a DataFrame nor a sparse matrix.
    """
    X = _as_table(X)
    if X is None or X.shape[0] < 2 * _LAG or X.shape[1] < _MIN_COLUMNS:
        return None
    columns = slice(None)
    if X.shape[1] > _MAX_COLUMNS:
        columns = np.linspace(0, X.shape[1] - 1, _MAX_COLUMNS).astype(np.intp)
    examined = _draw_positions(X.shape[0])
    values = _to_numbers(X, examined, columns)
    information, n_values = _describe_columns(values)
    if np.count_nonzero(information) < _MIN_COLUMNS:
        return None
    if _are_neighbours_similar(X, columns, information):
        return "consecutive samples are similar in most columns, and distant ones are not"
    # A column of two values may be one of several that code a label.
    weights = np.where(n_values == 2, 0.5, 1.0)
    share = _share_of_near_copies(X, columns, examined, information, weights * (information > 0))
    if share > _MIN_SHARE:
        return f"{share:.0%} of the samples equal another one in all but one or two columns"
    return None


def _as_table(X):
    """X with two axes, from which both can be selected; None for what is no table."""
    import pandas as pd

    if sparse.issparse(X):
        return sparse.csr_array(X)
    if isinstance(X, pd.DataFrame):
        return X
    if not isinstance(X, np.ndarray) or X.ndim < 2:
        return None
    X = X.reshape(len(X), np.prod(X.shape[1:], dtype=np.intp))
    return X if X.dtype.kind in "biuf" else pd.DataFrame(X)


def _to_numbers(X, positions, columns):
    """Selected samples and columns as finite numbers; labels are hashed to numbers below 1."""
    import pandas as pd

    if sparse.issparse(X):
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


def _draw_positions(n_samples):
    """Positions of all samples, or of a random subsample."""
    if n_samples <= _N_EXAMINED:
        return np.arange(n_samples)
    return np.random.default_rng(0).choice(n_samples, _N_EXAMINED, replace=False)


def _describe_columns(values):
    """Information of each column, and its number of distinct values.

    The information is minus the logarithm of the probability that two samples are equal.
    """
    values = np.sort(values, axis=0).T
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


def _are_neighbours_similar(X, columns, information):
    """Whether consecutive samples are correlated in half of the columns, and distant ones less.

    A sorted column correlates distant samples, too, so that it shows nothing. Columns count by
    their information, 1 at most: those that code one label together count about as much as another.
    """
    first = _draw_positions(X.shape[0] - _LAG)
    values = _to_numbers(X, np.concatenate((first, first + 1, first + _LAG)), columns)
    # Few outliers would decide about correlations.
    values = values.clip(*np.quantile(values[: len(first)], [0.01, 0.99], axis=0))
    values = (values - values.mean(axis=0)).reshape(3, len(first), -1)
    limit = _MIN_CORRELATION + 2.5 / np.sqrt(len(first))
    excess = (values[0] * (values[1] - values[2])).mean(axis=0)
    is_similar = excess > limit * (values**2).mean(axis=(0, 1))
    weights = np.minimum(information, 1.0)
    return weights @ is_similar > 0.5 * weights.sum()


def _share_of_near_copies(X, columns, examined, information, weights):
    """Share of samples that have a near copy, where chance cannot explain it; else 0."""
    shares = [0.0]
    for first, second in _find_partners(X, columns, examined, information):
        if len(first) <= _MIN_SHARE * len(examined):
            continue
        equal = _to_numbers(X, first, columns) == _to_numbers(X, second, columns)
        # No two of n independent samples are equal by chance in columns of so much information.
        is_certain = equal @ information > 2.0 * np.log(X.shape[0])
        is_near = np.ceil(~equal @ weights) <= _MAX_DIFFERENCES
        n_copies = np.count_nonzero(is_certain & is_near)
        if n_copies >= _MIN_CERTAIN * len(first):
            shares.append(n_copies / len(examined))
    return max(shares)


def _find_partners(X, columns, examined, information):
    """Examined samples and another one that equals each in a block of columns, for three blocks.

    Samples that differ in two columns are equal in one of the blocks at least.
    """
    # Neighbouring columns, which may code one label, are in the same block.
    middle = np.cumsum(information) - information / 2
    block = (3 * middle / information.sum()).astype(np.intp)
    factors = np.random.default_rng(0).standard_normal(len(block))
    factors = np.where(block[:, np.newaxis] == np.arange(3), factors[:, np.newaxis], 0.0)
    # Samples that are equal in a block have equal combinations of its columns.
    slices = [slice(start, start + _BLOCK) for start in range(0, X.shape[0], _BLOCK)]
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
