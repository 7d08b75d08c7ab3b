"""Gaps of pairs of events: between groups and the overall rate, and a reference group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from skfair._bound.gap import Gap, RangeGap, RatioForm, TotalRangeGap, check_forms
from skfair._groups.events import CellEvents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skfair._bound.gap import GapRow


@dataclass(frozen=True)
class PairGap(Gap):
    """Excess of the first event's mean over the second's, of pairs; the largest counts, or 0.

    `pairs` hold the positions of the events. The first mean is multiplied by the `scale`, which is
    1 but in the rows of a ratio. A scaled excess may be negative.
    """

    pairs: tuple
    scale: float = 1.0

    below = 0.0
    """Factor of an excess below 0 in the gap: 0 leaves it out, -1 counts it as one above."""

    fixed = 1
    """Which event of a pair has a mean that the other's is moved to, where gaps are rescaled."""

    @property
    def blocks(self) -> tuple:
        """The pairs, as events that are compared with one another."""
        return self.pairs

    @cached_property
    def _events(self) -> np.ndarray:
        """Events of the pairs, (2, n_pairs)."""
        return np.array(self.pairs, dtype=np.intp).reshape(-1, 2).T

    @property
    def _smallest(self) -> float:
        """The smallest value of the gap."""
        return 0.0 if self.scale == 1.0 else -np.inf

    def _ranges(self, means: np.ndarray) -> np.ndarray:
        """Excess of each pair, (n_pairs,) or (n_pairs, n_columns)."""
        first, second = self._events
        return self.scale * means[first] - means[second]

    def _sizes(self, means: np.ndarray) -> np.ndarray:
        """What each pair adds to the gap, with the shape of the excesses."""
        excesses = self._ranges(means)
        if self.below:
            excesses = np.maximum(excesses, self.below * excesses)
        return np.maximum(excesses, self._smallest) + 0.0  # not -0.0

    def _signs(self, means: np.ndarray) -> np.ndarray:
        """Derivative of what each pair adds to the gap by its excess, (n_pairs,)."""
        excesses = self._ranges(means)
        return (excesses > self._smallest) + self.below * (excesses < 0)

    def __call__(self, means: np.ndarray) -> np.ndarray | float:
        return self._sizes(means).max(axis=0, initial=self._smallest)

    def subgradient(self, means: np.ndarray) -> np.ndarray:
        # Of the pair that differs most; 0 if none does.
        sizes = self._sizes(means)
        is_largest = np.arange(len(sizes)) == (sizes.argmax() if len(sizes) else -1)
        return self._slope(self._signs(means) * is_largest, means)

    def _slope(self, weights: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Derivative of ``weights @ excesses`` by the means."""
        slope = np.zeros_like(means)
        first, second = self._events
        np.add.at(slope, first, self.scale * weights)
        np.subtract.at(slope, second, weights)
        return slope

    def rescale_means(self, means: np.ndarray, factor: float) -> np.ndarray:
        # One event of each pair moves toward the other.
        shrunk = np.array(means)
        fixed = self._events[self.fixed]
        moved = self._events[1 - self.fixed]
        shrunk[moved] = means[fixed] + factor * (means[moved] - means[fixed])
        return shrunk

    def linear_forms(self, n_events: int) -> sparse.csr_array:
        excesses = self._excess_forms(n_events)
        return sparse.vstack((excesses, self.below * excesses), "csr") if self.below else excesses

    def _excess_forms(self, n_events: int) -> sparse.csr_array:
        """The excess of each pair as a linear form, (n_pairs, n_events)."""
        n_pairs = len(self.pairs)
        signs = np.repeat([self.scale, -1.0], n_pairs)
        positions = np.tile(np.arange(n_pairs), 2), self._events.ravel()
        return sparse.csr_array((signs, positions), shape=(n_pairs, n_events))

    def _rows(self, tolerance: float) -> Iterator[GapRow]:
        smallest = -tolerance if self.below else -np.inf
        for first, second in self.pairs:
            yield smallest, {first: self.scale, second: -1.0}, {}, tolerance


class AboveReference(PairGap):
    """Excess of a group's mean over that of the reference group of its cell; the largest counts."""

    form = "above reference"
    side = "above the reference"
    compares = "groups"
    width_and_scale = RangeGap.width_and_scale
    mean_limits = RangeGap.mean_limits

    @classmethod
    def from_cells(cls, cells: CellEvents, constraint: Any) -> Gap:
        # The pairs of a reference group and another group of its cell, and of its attribute.
        references = constraint.reference_groups
        groups: list[Any] = [group for _, group in cells.labels]
        pairs = [
            (event, reference)
            for block in cells.blocks
            for reference in block
            for event in block
            if groups[reference] in references and event != reference
            # Of several references each is that of an attribute, which groups name first.
            if len(references) < 2 or groups[event][0] == groups[reference][0]
        ]
        return cls(tuple(pair if cls.fixed else pair[::-1] for pair in pairs))


class BelowReference(AboveReference):
    """By how much a group's mean is below that of the reference group; the largest counts."""

    form = "below reference"
    side = "below the reference"
    fixed = 0


class RatioAboveReference(RatioForm, AboveReference):
    """1 minus the smallest ratio of the reference group's rate to that of another group."""

    form = "ratio above reference"
    side = AboveReference.side
    difference = AboveReference
    rescale_means = AboveReference.rescale_means


class RatioBelowReference(RatioForm, BelowReference):
    """1 minus the smallest ratio of a group's rate to that of the reference group."""

    form = "ratio below reference"
    side = BelowReference.side
    difference = BelowReference
    rescale_means = BelowReference.rescale_means


REFERENCE_GAPS = {
    ("above", False): AboveReference,
    ("above", True): RatioAboveReference,
    ("below", False): BelowReference,
    ("below", True): RatioBelowReference,
}
"""Gaps by the direction of a constraint, and whether it bounds a ratio."""


class ExcessOverOverall(PairGap):
    """Excess of a group's mean over the overall mean; the largest over the groups, at least 0.

    `pairs` hold the event of a group, and the event of all samples of its cell.

    Parameters
    ----------
    pairs : tuple of pairs of int
        Positions of the event of a group, and of that of all samples of its cell.
    scale : float, default=1.0
        Factor of the mean of a group, other than 1 in the rows of a ratio alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import ExcessOverOverall
    >>> float(ExcessOverOverall(((0, 2), (1, 2)))(np.array([0.75, 0.25, 0.5])))
    0.25
    """

    compares = "overall"
    side = "above the overall value"
    form = "above overall"

    @classmethod
    def from_cells(cls, cells: CellEvents, constraint: Any) -> Gap:
        # The gap between each group and all samples of its cell.
        pairs = tuple(
            (event, overall)
            for block, overall in zip(cells.blocks, cells.overall, strict=True)
            for event in block
        )
        # Where each cell has one group, which is all of it, nothing is compared.
        is_compared = any(cells.counts[event] != cells.counts[overall] for event, overall in pairs)
        return cls(pairs) if is_compared else RangeGap(())


class DistanceToOverall(ExcessOverOverall):
    """Distance of a group's mean from the overall mean, in either direction; the largest counts.

    Parameters
    ----------
    pairs : tuple of pairs of int
        Positions of the event of a group, and of that of all samples of its cell.
    scale : float, default=1.0
        Factor of the mean of a group, other than 1 in the rows of a ratio alone.

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

    def __call__(self, means: np.ndarray) -> np.ndarray | float:
        return self._sizes(means).mean(axis=0)

    def subgradient(self, means: np.ndarray) -> np.ndarray:
        return self._slope(self._signs(means) / len(self.pairs), means)

    def linear_forms(self, n_events: int) -> sparse.csr_array:
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

    def _rows(self, tolerance: float) -> Iterator[GapRow]:
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

    def __call__(self, means: np.ndarray) -> np.ndarray | float:
        return self._ranges(means).mean(axis=0)

    def subgradient(self, means: np.ndarray) -> np.ndarray:
        return self._slope(np.full(len(self.pairs), 1.0 / len(self.pairs)), means)

    def linear_forms(self, n_events: int) -> sparse.csr_array:
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
