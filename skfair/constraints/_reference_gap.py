"""Gaps between groups and a reference group, in one direction."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skfair.constraints._gap import Gap, RangeGap, RatioGap


@dataclass(frozen=True)
class AboveReference(RangeGap):
    """Excess of a group's mean over that of the reference group of its cell; the largest counts.

    `blocks` are pairs of events, of which the first must not exceed the second.
    """

    form = "above reference"
    side = "above the reference"
    reference_position = 1
    value_and_subgradient = Gap.value_and_subgradient

    @classmethod
    def from_cells(cls, cells: Any, constraint: Any) -> RangeGap:
        # The pairs of a reference group and another group of its cell, and of its attribute.
        references = constraint.reference_groups
        groups = [group for _, group in cells.labels]
        pairs = [
            (event, reference)
            for block in cells.blocks
            for reference in block
            for event in block
            if groups[reference] in references and event != reference
            # Of several references each is that of an attribute, which groups name first.
            if len(references) < 2 or groups[event][0] == groups[reference][0]
        ]
        return cls(tuple(pair if cls.reference_position else pair[::-1] for pair in pairs))

    def _ranges(self, means: np.ndarray) -> np.ndarray:
        high, low = np.reshape(np.array(self.blocks, dtype=np.intp), (-1, 2)).T
        return self.scale * means[high] - means[low]

    def subgradient(self, means: np.ndarray) -> np.ndarray:
        slope = np.zeros_like(means)
        ranges = self._ranges(means)
        if ranges.max(initial=self._smallest) > self._smallest:
            high, low = self.blocks[ranges.argmax()]
            slope[high] = self.scale
            slope[low] = -1.0
        return slope

    def rescale_means(self, means: np.ndarray, factor: float) -> np.ndarray:
        # Groups move toward the reference.
        shrunk = np.array(means)
        for pair in self.blocks:
            reference = pair[self.reference_position]
            event = pair[1 - self.reference_position]
            shrunk[event] = means[reference] + factor * (means[event] - means[reference])
        return shrunk

    def linear_forms(self, n_events: int) -> Any:
        n_pairs = len(self.blocks)
        signs = np.tile([self.scale, -1.0], n_pairs)
        others = np.array(self.blocks, dtype=np.intp).ravel()
        return sparse.csr_array(
            (signs, (np.repeat(np.arange(n_pairs), 2), others)), shape=(n_pairs, n_events)
        )

    def aux_at(self, means: np.ndarray) -> np.ndarray:
        return np.empty(0)

    def _rows(self, tolerance: float) -> Any:
        for high, low in self.blocks:
            yield -np.inf, {high: self.scale, low: -1.0}, {}, tolerance


class BelowReference(AboveReference):
    """By how much a group's mean is below that of the reference group; the largest counts."""

    form = "below reference"
    side = "below the reference"
    reference_position = 0


class RatioAboveReference(RatioGap, AboveReference):
    """1 minus the smallest ratio of the reference group's rate to that of another group."""

    form = "ratio above reference"
    side = AboveReference.side
    difference = AboveReference
    rescale_means = AboveReference.rescale_means


class RatioBelowReference(RatioGap, BelowReference):
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
