"""Gaps between the rates of groups and the overall one, and the rows that keep them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from skfair.constraints._gap import Gap, RangeGap, TotalRangeGap, check_forms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@dataclass(frozen=True)
class ExcessOverOverall(Gap):
    """Excess of a group's mean over the overall mean; the largest over the groups, at least 0.

    `pairs` hold the event of a group, and the event of all samples of its cell.

    Parameters
    ----------
    pairs : tuple of pairs of int
        Positions of the event of a group, and of that of all samples of its cell.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import ExcessOverOverall
    >>> float(ExcessOverOverall(((0, 2), (1, 2)))(np.array([0.75, 0.25, 0.5])))
    0.25
    """

    pairs: tuple

    compares = "overall"
    side = "above the overall value"
    form = "above overall"

    below = 0.0
    """Factor of an excess below 0 in the gap: 0 leaves it out, -1 counts it as one above."""

    @classmethod
    def from_cells(cls, cells: Any, constraint: Any) -> Gap:
        # The gap between each group and all samples of its cell.
        pairs = tuple(
            (event, overall)
            for block, overall in zip(cells.blocks, cells.overall, strict=True)
            for event in block
        )
        # Where each cell has one group, which is all of it, nothing is compared.
        is_compared = any(cells.counts[event] != cells.counts[overall] for event, overall in pairs)
        return cls(pairs) if is_compared else RangeGap(())

    @cached_property
    def _group_and_overall_events(self) -> np.ndarray:
        return np.array(self.pairs).T

    def _excesses(self, means: np.ndarray) -> np.ndarray:
        """Excess of each pair, (n_pairs,) or (n_pairs, n_columns)."""
        group, overall = self._group_and_overall_events
        return means[group] - means[overall]

    def _sizes(self, means: np.ndarray) -> np.ndarray:
        """What each pair adds to the gap, at least 0, with the shape of the excesses."""
        excesses = self._excesses(means)
        return np.maximum(excesses, self.below * excesses) + 0.0  # not -0.0

    def _signs(self, means: np.ndarray) -> np.ndarray:
        """Derivative of what each pair adds to the gap by its excess, (n_pairs,)."""
        excesses = self._excesses(means)
        return (excesses > 0) + self.below * (excesses < 0)

    def __call__(self, means: np.ndarray) -> Any:
        return self._sizes(means).max(axis=0, initial=0.0)

    def subgradient(self, means: np.ndarray) -> np.ndarray:
        # Of the group that is farthest off; 0 if none is.
        is_farthest = np.arange(len(self.pairs)) == self._sizes(means).argmax()
        return self._slope(self._signs(means) * is_farthest, means)

    def _slope(self, weights: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Derivative of ``weights @ excesses`` by the means."""
        slope = np.zeros_like(means)
        group, overall = self._group_and_overall_events
        np.add.at(slope, group, weights)
        np.subtract.at(slope, overall, weights)
        return slope

    def rescale_means(self, means: np.ndarray, factor: float) -> np.ndarray:
        # Groups move toward the overall mean.
        shrunk = np.array(means)
        group, overall = self._group_and_overall_events
        shrunk[group] = means[overall] + factor * self._excesses(means)
        return shrunk

    def linear_forms(self, n_events: int) -> Any:
        excesses = self._excess_forms(n_events)
        return sparse.vstack((excesses, self.below * excesses), "csr") if self.below else excesses

    def _excess_forms(self, n_events: int) -> sparse.csr_array:
        """The excess of each pair as a linear form, (n_pairs, n_events)."""
        rows = np.arange(len(self.pairs))
        group, overall = self._group_and_overall_events
        # A row of +1 for each group, with -1 for the mean of all samples of its cell.
        signs = np.repeat([1.0, -1.0], len(rows))
        positions = np.tile(rows, 2), np.concatenate((group, overall))
        return sparse.csr_array((signs, positions), shape=(len(rows), n_events))

    def _rows(self, tolerance: float) -> Any:
        smallest = -tolerance if self.below else -np.inf
        for group, overall in self.pairs:
            yield smallest, {group: 1.0, overall: -1.0}, {}, tolerance


class DistanceToOverall(ExcessOverOverall):
    """Distance of a group's mean from the overall mean, in either direction; the largest counts.

    Parameters
    ----------
    pairs : tuple of pairs of int
        Positions of the event of a group, and of that of all samples of its cell.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import DistanceToOverall
    >>> float(DistanceToOverall(((0, 2), (1, 2)))(np.array([0.5, 0.0, 0.375])))
    0.375
    """

    side = "from the overall value"
    below = -1.0
    form = "distance to overall"


class MeanPositiveExcess(ExcessOverOverall):
    """Excess of a group's mean over the overall mean, averaged over the groups.

    Groups below the overall mean count as 0.
    """

    side = "above the overall value on average"
    form = "mean excess"

    def __call__(self, means: np.ndarray) -> Any:
        return self._sizes(means).mean(axis=0)

    def subgradient(self, means: np.ndarray) -> np.ndarray:
        return self._slope(self._signs(means) / len(self.pairs), means)

    def linear_forms(self, n_events: int) -> Any:
        # The excesses of every set of groups and, times `below`, of the others, averaged.
        n_pairs = len(self.pairs)
        check_forms(2.0**n_pairs)
        # Bit p of the number of a set says whether it contains group p.
        is_inside = (np.arange(2**n_pairs)[:, np.newaxis] >> np.arange(n_pairs)) & 1
        factors = sparse.csr_array(np.where(is_inside, 1.0, self.below) / n_pairs)
        return factors[not self.below :] @ self._excess_forms(n_events)

    def aux_at(self, means: np.ndarray) -> np.ndarray:
        # What each group adds to the gap.
        return self._sizes(means)

    def _rows(self, tolerance: float) -> Any:
        # An unknown for what each group adds, the mean of which is bounded.
        n_pairs = len(self.pairs)
        for p, (group, overall) in enumerate(self.pairs):
            yield -np.inf, {group: 1.0, overall: -1.0}, {p: -1.0}, 0.0
            if self.below:
                yield -np.inf, {group: self.below, overall: -self.below}, {p: -1.0}, 0.0
            else:
                yield 0.0, {}, {p: 1.0}, np.inf
        yield -np.inf, {}, dict.fromkeys(range(n_pairs), 1.0 / n_pairs), tolerance


class MeanDistanceToOverall(MeanPositiveExcess):
    """Distance of a group's mean from the overall mean, averaged over the groups."""

    side = "from the overall value on average"
    below = -1.0
    form = "mean distance"


class SignedMeanExcess(ExcessOverOverall):
    """The same average with its sign: a group below the overall mean offsets one above."""

    side = "above the overall value on average, where groups offset each other"
    form = "signed mean excess"

    def __call__(self, means: np.ndarray) -> Any:
        return self._excesses(means).mean(axis=0)

    def subgradient(self, means: np.ndarray) -> np.ndarray:
        return self._slope(np.full(len(self.pairs), 1.0 / len(self.pairs)), means)

    def linear_forms(self, n_events: int) -> Any:
        # The gap itself is linear.
        return sparse.csr_array(self.subgradient(np.zeros(n_events))[np.newaxis])

    def _rows(self, tolerance: float) -> Iterator:
        n_events = 1 + max(map(max, self.pairs))
        yield -np.inf, dict(enumerate(self.subgradient(np.zeros(n_events)))), {}, tolerance


AGGREGATES: dict[tuple[str, str], type[Gap]] = {
    ("groups", "max"): RangeGap,
    ("groups", "sum"): TotalRangeGap,
    ("overall", "max"): DistanceToOverall,
    ("overall", "mean"): MeanDistanceToOverall,
    ("above_overall", "max"): ExcessOverOverall,
    ("above_overall", "mean"): MeanPositiveExcess,
    ("above_overall", "signed_mean"): SignedMeanExcess,
}
"""Gaps by the reference and aggregate of a constraint."""
