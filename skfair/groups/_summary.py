"""Summary of partitioned samples: counts, weights and moments, from one pass over the data."""

import zlib
from copy import copy

import numpy as np

from skfair.groups._labels import check_equal_label_types
from skfair.groups._samples import check_partition, partition_error
from skfair.partitions import changed_partition_message, warn_of_small_partitions


class EncodedBlock:
    """Rows of a block, and the cell (group, or group and class) that each belongs to.

    X is in the precision in which it came. Codes are positions in ``cells``, a list of tuples.
    Weights are None if all are 1. The place is the number of the partition, and the position of
    the first row in it. Real targets are None where classes are part of the cells. Attributes are
    the names of the sensitive attributes, where they are known.
    """

    unit_costs = None  # (n_rows,) cost of a squared distance by weight; None if all are 1

    def __init__(self, X, cells, codes, weights=None, place=(0, 0), target=None, attributes=()):
        self.X, self.cells, self.weights, self.place = X, cells, weights, place
        self.target, self.attributes = target, attributes
        self.codes = codes.astype(np.min_scalar_type(len(cells)))

    def codes_among(self, positions):
        """Code of each row by the positions of cells; any for cells without weight."""
        codes = np.array([positions.get(cell, 0) for cell in self.cells], dtype=np.intp)
        return codes[self.codes]

    def row_numbers(self, first):
        """Numbers of the rows in the data, from the number of each partition's first row."""
        partition, start = self.place
        return first[partition] + start + np.arange(len(self.X))

    def replace_features(self, X, unit_costs=None):
        """The same rows with other features."""
        changed = copy(self)
        changed.X, changed.unit_costs = X, unit_costs
        return changed

    def __sizeof__(self):
        arrays = self.X, self.codes, self.weights, self.unit_costs, self.target
        return sum(array.nbytes for array in arrays if array is not None)


def encode_block(block, name):
    """The encoded block of the rows that an estimator of this name is fitted to, or an error.

    Errors are returned, so that all partitions are known when the first one is raised.
    """
    try:
        X, weights, groups = check_partition(block, name)
    except (TypeError, ValueError) as error:
        return partition_error(error, block.number)
    cells = [*map(tuple, groups.labels.tolist())]
    return EncodedBlock(X, cells, groups.codes, weights, (block.number, block.start))


class Summary:
    """Counts, weights and moments of partitioned samples.

    Attributes
    ----------
    cells : list of tuple
        Cells that have a weight, in ascending order.
    positions : dict
        From a cell to its position among them.
    counts, weights : ndarray of shape (n_cells,)
        Number and total weight of the samples of positive weight, by cell.
    mean, variance : ndarray of shape (n_features,)
        Weighted, of the features; those of real targets come last.
    attributes : sequence of str
        Names of the sensitive attributes, where blocks have them.
    scatter : float
        Weighted sum of squared distances to the mean.
    first_rows : ndarray of int, shape (n_cells,)
        Number of the first row of every cell.
    lengths : list of int
        Rows of every partition.
    first : ndarray of int, shape (n_partitions,)
        Number of the first row of every partition.
    weight_range : tuple of float
        Minimum and maximum weight of a sample.
    """

    def __init__(self, blocks, check=check_equal_label_types, key=None):
        counted = blocks.gather(_count_block)
        for error in (one for one in counted if isinstance(one, Exception)):
            raise error
        places, cells, begins, counts, weights, sums, squares, ranges = zip(*counted, strict=True)
        partitions, lengths, attributes = zip(*places, strict=True)
        self._checksums = [_checksum(one) for one in counted]
        self.attributes = next(filter(len, attributes), ())
        # Row numbers: where each partition begins.
        rows = np.bincount(partitions, lengths).astype(np.intp)
        self.lengths, self.first = rows.tolist(), np.cumsum([0, *rows[:-1]])
        warn_of_small_partitions(blocks, self.lengths)
        # Before cells are compared: to Python 1 equals True, and numpy makes text of 1 and "1".
        check([cell for of_block in cells for cell in of_block])
        self.cells = sorted({cell for of_block in cells for cell in of_block}, key=key)
        if not self.cells:
            raise ValueError(
                "Some samples must have a positive sample_weight, but none has."
                if any(self.lengths)
                else "At least one sample is required, but all partitions are empty. Check the "
                "filter or the files that they are made from."
            )
        self.positions = {cell: position for position, cell in enumerate(self.cells)}
        # Counts and weights of cells and moments of features, from those of blocks.
        codes = [self.positions[cell] for of_block in cells for cell in of_block]
        self.counts = np.bincount(codes, np.concatenate(counts)).astype(np.intp)
        self.weights = np.bincount(codes, np.concatenate(weights))
        begins = [self.first[place] + rows for place, rows in zip(partitions, begins, strict=True)]
        self.first_rows = np.full(len(self.cells), np.iinfo(np.intp).max)
        np.minimum.at(self.first_rows, codes, np.concatenate(begins))
        totals = np.array([of_block.sum() for of_block in weights])
        self.mean, self.variance = _pool_moments(totals, np.array(sums), np.array(squares))
        self.scatter = float(totals.sum() * self.variance.sum())
        smallest, largest = zip(*ranges, strict=True)
        self.weight_range = min(smallest), max(largest)

    def check_unchanged(self, blocks):
        """Refuse blocks whose samples changed when they were computed again after a lost worker."""
        if not blocks.may_have_changed():
            return
        again = blocks.gather(_count_block)
        for counted, checksum in zip(again, self._checksums, strict=True):
            if isinstance(counted, Exception):
                raise counted
            if _checksum(counted) != checksum:
                raise ValueError(changed_partition_message(counted[0][0]))

    def reorder_cells(self, order):
        """The same samples with cells in another order."""
        changed = copy(self)
        changed.cells = [self.cells[position] for position in order]
        changed.positions = {cell: position for position, cell in enumerate(changed.cells)}
        for name in ("counts", "weights", "first_rows"):
            setattr(changed, name, getattr(self, name)[order])
        return changed

    def replace_moments(self, mean, scatter):
        """The same samples with features of another mean and scatter."""
        changed = copy(self)
        changed.mean, changed.scatter = mean, scatter
        return changed


def _count_block(block):
    """Partition, length, attributes; cells, first rows, counts, weights, moments; or the error."""
    if isinstance(block, Exception):
        return block
    X, n_cells = block.X, len(block.cells)
    weights = np.ones(len(X)) if block.weights is None else block.weights
    present = weights > 0
    counts = np.bincount(block.codes[present], minlength=n_cells)
    by_cell = np.bincount(block.codes, weights, n_cells)
    occupied = np.flatnonzero(counts)
    cells = [block.cells[code] for code in occupied]
    first = np.flatnonzero(present)[find_first_rows(block.codes[present], n_cells)[occupied]]
    sums, squares = _sum_moments(X, weights)
    if block.target is not None:
        of_target = _sum_moments(block.target[:, np.newaxis], weights)
        sums, squares = map(np.append, (sums, squares), of_target)
    range_ = (weights[present].min(), weights.max()) if len(occupied) else (np.inf, 0.0)
    place = block.place[0], len(X), block.attributes
    begins = block.place[1] + first
    return place, cells, begins, counts[occupied], by_cell[occupied], sums, squares, range_


def find_first_rows(codes, n_codes):
    """Position of the first sample of each code; the number of samples where there is none."""
    first = np.full(n_codes, len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # the last value that is assigned stays
    return first


def _checksum(counted):
    """A number that differs where cells, weights or moments of a block do."""
    _, cells, *arrays = counted
    return zlib.crc32(
        b"".join([repr(cells).encode(), *(np.array(one).tobytes() for one in arrays)])
    )


def _sum_moments(X, weights):
    """Weighted sums of columns, and of squares about their means."""
    sums = weights @ X
    deviations = X - sums / max(weights.sum(), 1e-300)
    return sums, weights @ (deviations * deviations)


def _pool_moments(weights, sums, squares):
    """Mean and variance of all blocks, from their weights, sums, and squares about their means."""
    total, present = weights.sum(), weights > 0
    mean = sums.sum(axis=0) / total
    deviations = sums[present] / weights[present, np.newaxis] - mean
    return mean, (squares.sum(axis=0) + weights[present] @ deviations**2) / total
