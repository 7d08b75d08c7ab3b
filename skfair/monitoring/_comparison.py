"""The groups of one attribute: their totals, their evidence, and what it says of the gap."""

import numpy as np

from skfair.groups import AUTO_MIN_GROUP_SIZE
from skfair.monitoring._batches import MIN_BLOCK, draw_blocks, generator_of, sort_samples, tabulate
from skfair.monitoring._evidence import WINDOWS, CellEvidence, GapEvidence


class Comparison:
    """Groups of one attribute (or of combinations of attributes), compared within cells.

    Groups with fewer samples so far than `min_group_size` do not enter bets.

    Attributes
    ----------
    groups : list
        Names of the groups in the order in which they joined.
    totals : dict of str to ndarray of shape (3, n_groups)
        Samples, weight and weighted sum of values of each group in each cell.
    blocks : dict of str to ndarray of shape (2, n_groups)
        Samples and sums of values that wait for others, until a block is large enough for a bet.
    cells : dict of str to CellEvidence
        Evidence of each cell.
    gap : GapEvidence
        Evidence of all cells together, which hold different samples.
    times : list
        Times of the bets.
    """

    def __init__(self, hypothesis, levels, tolerance, min_group_size):
        self.hypothesis, self.levels, self.tolerance = hypothesis, levels, tolerance
        self.min_group_size = min_group_size
        self.groups, self.times, self.totals, self.blocks, self.cells = [], [], {}, {}, {}
        self.gap = GapEvidence(len(levels), tolerance)

    def update(self, codes, names, cells, values, weights, time, batch):
        """Count a batch, bet on it, and return what was added to the totals.

        `codes` are positions in `names`, `cells` masks of the samples by name, and values and
        weights between 0 and 1. `time` is that of the batch, and `batch` its number.
        """
        self._add_groups([name for name in names if name not in self.groups], cells)
        position = {name: code for code, name in enumerate(self.groups)}
        codes = np.array([position[name] for name in names], dtype=np.intp)[codes]
        n_groups, tables, columns = len(self.groups), {}, {}
        for cell, mask in cells.items():
            columns[cell] = *sort_samples(codes[mask], values[mask], weights[mask]), n_groups
            tables[cell] = tabulate(*columns[cell])
            self.totals[cell] = self.totals[cell] + tables[cell]
        # Sizes do not depend on outcomes, so that e-values remain valid if small groups are left
        # out, and if samples wait until there are enough for a bet.
        is_large, has_bet = self.is_large(), False
        log_e, log_e_windows = np.zeros(len(self.levels)), np.zeros(len(WINDOWS))
        for cell in sorted(cells):
            evidence = self.cells[cell]
            rng = generator_of(batch, time, cell, *columns[cell][:3])
            for block in draw_blocks(*columns[cell], int(evidence.counts[0].sum()), rng):
                self.blocks[cell] = self.blocks[cell] + block
                if self.blocks[cell][0].sum() >= MIN_BLOCK:
                    increments = evidence.update(*self.blocks[cell] * is_large)
                    log_e, log_e_windows = log_e + increments[0], log_e_windows + increments[1]
                    self.blocks[cell], has_bet = np.zeros_like(self.blocks[cell]), True
        if has_bet:
            self.gap.update(log_e, log_e_windows)
            self.times.append(time)
        return tables

    def restart(self, is_detector):
        """Forget the past after an alarm: the totals and certificates, or the detector too."""
        for cell in self.cells:
            self.cells[cell].restart()
            self.totals[cell] = np.zeros_like(self.totals[cell])
            self.blocks[cell] = np.zeros_like(self.blocks[cell])
        self.gap.restart(is_detector)

    def _add_groups(self, names, cells):
        """Let groups and cells join that have not occurred before."""
        self.groups = self.groups + names
        for cell in cells:
            if cell not in self.cells:
                self.cells[cell] = CellEvidence(self.hypothesis, self.levels, self.tolerance)
                self.totals[cell], self.blocks[cell] = np.zeros((3, 0)), np.zeros((2, 0))
        for cell, evidence in self.cells.items():
            if n_new := len(self.groups) - self.totals[cell].shape[1]:
                evidence.add_groups(n_new)
                for tables in (self.totals, self.blocks):
                    tables[cell] = np.pad(tables[cell], ((0, 0), (0, n_new)))

    def is_large(self):
        """Whether each group has enough samples so far to be compared."""
        counts = sum(total[0] for total in self.totals.values())
        if self.min_group_size == "auto":
            return counts >= min(AUTO_MIN_GROUP_SIZE, 0.01 * counts.sum())
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
        return np.min(
            [one.log_certificates(self.compared_groups(cell)) for cell, one in self.cells.items()],
            axis=0,
            initial=np.inf,
        )
