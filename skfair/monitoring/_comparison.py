"""The groups of one attribute: their totals, their evidence, and what it says of the gap."""

from copy import copy

import numpy as np

from skfair.groups import AUTO_MIN_GROUP_SHARE, AUTO_MIN_GROUP_SIZE
from skfair.monitoring._batches import (
    MIN_BLOCK,
    check_names,
    draw_blocks,
    generator_of,
    sort_samples,
    tabulate,
)
from skfair.monitoring._evidence import WINDOWS, CellEvidence, GapEvidence
from skfair.monitoring._hypotheses import Differences, UpperBounds


class Comparison:
    """Groups of one attribute (or of combinations of attributes), compared within cells.

    Groups with fewer samples so far than `min_group_size` do not enter bets. Arrays are replaced,
    never written in place, so that a copy shares them.

    Attributes
    ----------
    name : str
        Name of the attribute.
    groups : list
        Names of the groups in the order in which they joined.
    totals : dict of str to ndarray of shape (3, n_groups)
        Samples, weight and weighted sum of values of each group in each cell, since a restart.
    blocks : dict of str to ndarray of shape (2, n_groups)
        Samples and sums of values that wait for others, until a block is large enough for a bet.
    cells : dict of str to CellEvidence
        Evidence of each cell.
    gap : GapEvidence
        Evidence of all cells together, which hold different samples.
    times : list
        Times of the decisions that were bet on, one per bet.
    last_batch : int
        Number of the batch of the last bet.
    """

    name: str
    hypothesis: Differences | UpperBounds
    levels: np.ndarray
    tolerance: int
    min_group_size: int | str | None
    groups: list
    totals: dict
    blocks: dict
    cells: dict
    gap: GapEvidence
    times: list
    last_batch: int

    def __init__(self, name, hypothesis, levels, tolerance, min_group_size):
        self.name, self.hypothesis, self.levels = name, hypothesis, levels
        self.tolerance, self.min_group_size = tolerance, min_group_size
        self.groups, self.times, self.totals, self.blocks, self.cells = [], [], {}, {}, {}
        self.gap, self.last_batch = GapEvidence(len(levels), tolerance), 0

    def copy(self):
        """A comparison of equal state, which may change while this one stays as it is."""
        other = copy(self)
        other.totals, other.blocks, other.times = (
            dict(self.totals),
            dict(self.blocks),
            [*self.times],
        )
        other.cells = {name: copy(cell) for name, cell in self.cells.items()}
        other.gap = copy(self.gap)
        return other

    def with_groups(self, names):
        """Let groups join that have not occurred before; raise if labels are of other types."""
        check_names(self.groups, names)
        joined = [name for name in names if name not in self.groups]
        if not joined:
            return self
        other = self.copy()
        other.groups = self.groups + joined
        for cell in other.cells:
            other._widen(cell)
        return other

    def count(self, batch, time, codes, names, cells, values, weights):
        """Count samples of known groups, bet on them, and return tables of what was counted.

        `batch` is the number of the batch, `time` that of the decisions. `codes` are positions in
        `names`, `cells` masks of the samples by name, values and weights are between 0 and 1. A
        table holds samples, weight and weighted sum of values of each group, (3, n_groups).
        """
        position = {name: code for code, name in enumerate(self.groups)}
        codes = np.array([position[name] for name in names], dtype=np.intp)[codes]
        n_groups, tables, columns = len(self.groups), {}, {}
        for cell, mask in cells.items():
            if cell not in self.cells:
                self._add_cell(cell)
            columns[cell] = sort_samples(codes[mask], values[mask], weights[mask])
            tables[cell] = tabulate(*columns[cell], n_groups)
            self.totals[cell] = self.totals[cell] + tables[cell]
        # Sizes do not depend on outcomes, so that e-values remain valid if small groups are left
        # out, and if samples wait until there are enough for a bet.
        is_large, has_bet = self.is_large(), False
        log_e, log_e_windows = np.zeros(len(self.levels)), np.zeros(len(WINDOWS))
        for cell in sorted(cells):
            evidence = self.cells[cell]
            rng = generator_of(batch, time, self.name, cell, *columns[cell])
            n_known = int(evidence.counts[0].sum())
            for block in draw_blocks(*columns[cell], n_groups, n_known, rng):
                self.blocks[cell] = self.blocks[cell] + block
                if self.blocks[cell][0].sum() >= MIN_BLOCK:
                    increments = evidence.update(*self.blocks[cell] * is_large)
                    log_e, log_e_windows = log_e + increments[0], log_e_windows + increments[1]
                    self.blocks[cell], has_bet = np.zeros_like(self.blocks[cell]), True
        if has_bet:
            self.gap.update(log_e, log_e_windows, is_start=batch > self.last_batch)
            self.times.append(time)
            self.last_batch = batch
        return tables

    def restart(self):
        """Forget totals, certificates and the detector after an alarm."""
        for cell in self.cells:
            self.cells[cell].restart()
            self.totals[cell] = np.zeros_like(self.totals[cell])
            self.blocks[cell] = np.zeros_like(self.blocks[cell])
        self.gap.restart()

    def _add_cell(self, cell):
        """Let a cell join that has not occurred before."""
        self.cells[cell] = CellEvidence(self.hypothesis, self.levels, self.tolerance)
        self.totals[cell], self.blocks[cell] = np.zeros((3, 0)), np.zeros((2, 0))
        self._widen(cell)

    def _widen(self, cell):
        """Let the groups that have joined join the tables of a cell."""
        n_new = len(self.groups) - self.totals[cell].shape[1]
        self.cells[cell].add_groups(n_new)
        for tables in (self.totals, self.blocks):
            tables[cell] = np.pad(tables[cell], ((0, 0), (0, n_new)))

    def is_large(self):
        """Whether each group has enough samples so far to be compared."""
        counts = sum((total[0] for total in self.totals.values()), np.zeros(len(self.groups)))
        if self.min_group_size == "auto":
            return counts >= min(AUTO_MIN_GROUP_SIZE, AUTO_MIN_GROUP_SHARE * counts.sum())
        return counts >= (self.min_group_size or 1)

    def compared_groups(self, cell):
        """Whether each group is compared within a cell."""
        return self.is_large() & (self.totals[cell][1] > 0)

    def estimate(self):
        """The largest gap of a cell in all samples so far, between 0 and 1."""
        gaps = [0.0]
        for cell, (_, weight, weighted_sum) in self.totals.items():
            compared = self.compared_groups(cell)
            gaps.append(self.hypothesis.gap(weighted_sum[compared] / weight[compared]))
        return max(gaps)

    def log_certificates(self):
        """Evidence that the gap is below each level, (n_levels,); inf without a contrast."""
        logs = [
            one.log_certificates(self.compared_groups(cell)) for cell, one in self.cells.items()
        ]
        return np.min([np.full(len(self.levels), np.inf), *logs], axis=0)

    def start_of_excess(self):
        """Time of the decisions since which the tolerance is most likely exceeded."""
        # The first bet that paid was prompted by the one before it.
        best = self.gap.starts[self.gap.log_best.argmax()]
        return self.times[max(best - 1, 0)]
