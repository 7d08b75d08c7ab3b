"""Subsamples of partitioned rows: how many rows are drawn, and which, by random keys."""

from typing import Any

import numpy as np

SUBSAMPLE_SIZES: dict[str, Any] = {
    "k-means": 100_000,
    "landmarks": 20,
    "linear": 1 << 16,
    "linear, blocks": 1 << 15,
    "linear, partitions": (1 << 15, 1 << 17),
}
"""Rows drawn for the warm start of a fit.

"landmarks" is the number per landmark. A linear fit in memory is warm-started in one block or, if
all it needs are sums, in several. On partitions the subsample is 1/256 of the rows, between two
limits: four times as many halve the distance to the solution of all, which saves one pass."""

MIN_SHARE = 1 / 4
"""Share of an even division among cells (groups, or groups and classes) that each is drawn with."""


def sampling_rates(counts, size):
    """Shares of the cells that make a subsample of about ``size`` rows.

    A cell is drawn at the common rate, or at a higher one if it would have less than a quarter of
    an even division.

    Parameters
    ----------
    counts : ndarray of shape (n_cells,)
        Rows of each cell.
    size : int

    Returns
    -------
    rates : ndarray of shape (n_cells,)

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.partitions import sampling_rates
    >>> sampling_rates(np.array([9_000, 990, 10]), 1_200)
    array([0.12, 0.12, 1.  ])
    """
    per_cell = MIN_SHARE * size / len(counts)
    return np.minimum(np.maximum(size / counts.sum(), per_cell / counts), 1.0)


def random_keys(numbers):
    """A number in [0, 1) for every row, by its row number alone.

    So a row is drawn or not wherever partitions begin, and on any number of workers (SplitMix64,
    Steele et al. 2014).

    Parameters
    ----------
    numbers : ndarray of int
        Row numbers.

    Returns
    -------
    keys : ndarray of float

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.partitions import random_keys
    >>> random_keys(np.arange(3)).round(3)
    array([0.883, 0.432, 0.026])
    """
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return (z ^ (z >> np.uint64(31))) / 2.0**64
