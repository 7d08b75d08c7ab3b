"""Maxima of many ranges of one array."""

import numpy as np

from skfair._utils.arrays import RangeMaxima


def test_maxima_are_those_of_slices():
    values = np.random.default_rng(0).integers(5, size=37).astype(float)
    starts, ends = np.array([(i, j) for i in range(37) for j in range(i, 38)]).T
    positions, largest = RangeMaxima(values)(starts, ends)
    for i, j, position, value in zip(starts, ends, positions, largest, strict=True):
        if i == j:
            assert value == -np.inf
        else:
            assert i <= position < j and values[position] == value == values[i:j].max()
