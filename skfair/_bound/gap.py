"""Gaps: functions of the rates of events, and the rows that keep them below a tolerance."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations, product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from skfair._groups.events import CellEvents
from skfair._statistics.estimates import (
    ComplementEstimates,
    Estimates,
    LogMeans,
    LogRates,
    Rates,
    RatesAgainstBound,
    pairwise_contrasts,
)
from skfair._statistics.gaps import Interval, interval_of_largest_contrast
from skfair._utils.api import Numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


_MAX_FORMS = 100_000
"""Linear forms up to which a sum or an average of gaps is written as the largest of them."""


_NEGLIGIBLE_RATE = 1e-12
"""Rates up to it count as 0 in a ratio: sums of decisions along a line are rounded."""


GapRow: TypeAlias = tuple[float, dict[int, float], dict[int, float], float]
"""Lower bound, factors by event, factors by unknown, and upper bound."""


class GapBase(ABC):
    """What clients may conclude from a gap, and its value.

    Subclasses do not inherit `form` and `is_range`, so that clients refuse what they do not know.
    """

    criterion: Any
    one_sample_change: Any

    name = "GapBase"
    """The name of the class, which messages state."""

    form = ""
    """What a bound on it says of the groups, as a key of the sentences of audits: "gap", "ratio",
    "floor", ...; empty if no sentence says it, so that audits refuse the gap."""

    is_range = False
    """Whether the largest and the smallest mean of each block decide if it is kept, alone."""

    is_ratio = False
    """Whether it is 1 minus a ratio, which messages state."""

    bounded = "tolerance"
    """What its bound is stated as: a "tolerance", "ratio" or "smallest value"."""

    compares = ""
    """What each mean is compared with: those of other "groups", the "overall" one, or a "bound" by
    itself; empty if it is none of these."""

    side = ""
    """Where the gap lies, to be added to its number in a sentence; empty between groups."""

    is_correctable: Any = True
    """Whether an offset by the residual makes rows count what the metric counts."""

    adds_up: Any = True
    """Whether rows follow from sums that partitions of the samples add up to."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        cls.name = cls.__name__
        cls.is_range, cls.form = vars(cls).get("is_range", False), vars(cls).get("form", "")
        # Methods without a description have that of the method that they replace.
        for name, member in vars(cls).items():
            function = getattr(member, "__func__", member)
            if callable(function) and function.__doc__ is None:
                function.__doc__ = getattr(getattr(super(cls, cls), name, None), "__doc__", None)

    @classmethod
    @abstractmethod
    def from_cells(cls, cells: CellEvents, constraint: Any) -> GapBase:
        """Make the gap of a constraint.

        Parameters
        ----------
        cells : CellEvents
            Its events: a group in each cell, and with `overall` all samples of the cell.
        constraint : Constraint
            Whose gap it is.

        Returns
        -------
        gap : GapBase
        """

    def state(self, value: Numbers) -> Numbers:
        """State a gap or tolerance as reports do: that of a ratio or floor is the number itself.

        Parameters
        ----------
        value : float or ndarray
            The gap or tolerance.

        Returns
        -------
        stated : float or ndarray
        """
        return value

    @abstractmethod
    def __call__(self, means: Any) -> np.ndarray | float:
        """The gap, of means of shape (n_events,) or of each column of (n_events, n_columns)."""


class Gap(GapBase):
    """A polyhedral function of event means: the gap that a tolerance bounds.

    Gaps are frozen dataclasses, so that equal ones share their rows. A gap of one's own says how it
    is computed, how it changes with the means, and which rows bound it. The attributes of its class
    say what clients may conclude from it; subclasses do not inherit `form` and `is_range`, so that
    clients refuse what they do not know.

    Read more in the :ref:`guide <which_constraint>`.

    Examples
    --------
    >>> from skfair.constraints import EqualizedOdds
    >>> EqualizedOdds(aggregate="sum").gap.name
    'TotalRangeGap'
    """

    @abstractmethod
    def subgradient(self, means: np.ndarray) -> np.ndarray:
        """Differentiate the gap by the means.

        Parameters
        ----------
        means : ndarray of shape (n_events,)
            Means of the events.

        Returns
        -------
        slope : ndarray of shape (n_events,)
            A subgradient.
        """

    def value_and_subgradient(self, means: np.ndarray) -> tuple[Any, np.ndarray]:
        """Compute the gap and a subgradient.

        Parameters
        ----------
        means : ndarray of shape (n_events,)
            Means of the events.

        Returns
        -------
        gap, slope : float, ndarray of shape (n_events,)
        """
        return self(means), self.subgradient(means)

    @abstractmethod
    def rescale_means(self, means: np.ndarray, factor: float) -> np.ndarray:
        """Change means so that their gap changes by a factor.

        Parameters
        ----------
        means : ndarray of shape (n_events,)
            Means of the events.
        factor : float
            Factor of the gap.

        Returns
        -------
        means : ndarray of shape (n_events,)
        """

    @abstractmethod
    def linear_forms(self, n_events: int) -> sparse.csr_array:
        """Linear forms of `estimates` by which the gap is found.

        Parameters
        ----------
        n_events : int
            Number of events.

        Returns
        -------
        forms : csr_array of shape (n_forms, n_events)
            Of the means the gap itself is the largest form, or 0.
        """

    def estimates(self, means: Estimates) -> Estimates:
        """Choose the estimates that `linear_forms` compares.

        Parameters
        ----------
        means : Estimates
            Estimates of the means.

        Returns
        -------
        estimates : Estimates
            The same, or those of their logarithms or complements.
        """
        return means

    def interval(self, means: Estimates, confidence_level: float) -> Interval:
        """Confidence interval of the gap in the population.

        Parameters
        ----------
        means : Estimates
            Estimates of the means.
        confidence_level : float
            Probability with which the interval contains the gap.

        Returns
        -------
        interval : Interval
        """
        forms = self.linear_forms(len(means.values))
        return interval_of_largest_contrast(self.estimates(means), forms, confidence_level)

    def mean_limits(self, tolerance: float, minimum: float) -> tuple[float, float]:
        """State limits of single means: between them all keep the gap.

        Parameters
        ----------
        tolerance : float
            Largest gap allowed.
        minimum : float
            The smallest of the means.

        Returns
        -------
        low, high : float
        """
        raise NotImplementedError(f"{self.name} states no limits of single means")

    def one_sample_change(self, means: np.ndarray, n_samples: float) -> float:
        """Bound the change of the gap if one sample of an event counts differently.

        Parameters
        ----------
        means : ndarray of shape (n_events,)
            Means of the events.
        n_samples : float
            Number of equal samples of the event.

        Returns
        -------
        change : float
        """
        return 1.0 / n_samples

    @abstractmethod
    def _rows(self, tolerance: float) -> Iterator[GapRow]:
        """Yield (lower, {event: factor}, {unknown: factor}, upper) for each row."""

    def aux_at(self, means: np.ndarray) -> np.ndarray:
        """Find auxiliary unknowns at which the rows hold if they can.

        Parameters
        ----------
        means : ndarray of shape (n_events,)
            Means of the events.

        Returns
        -------
        aux : ndarray of shape (n_aux,)
            Empty by default.
        """
        return np.empty(0)


@lru_cache(maxsize=128)
def make_rows(
    gap: Gap, n_events: int, tolerance: float, as_one_row: bool = False, by_pair: bool = False
) -> tuple:
    """Rows that hold for some unknowns if and only if a gap is at most its tolerance.

    They are attributes of `RateRows`: `gap`, `rates_to_rows`, `aux_jacobian`, `lower` and `upper`.
    Constraints on the same events, as on mini-batches, share them. `by_pair` asks for rows without
    unknowns, one for each ordered pair of means of a range, and for one row where there are none.
    """
    if isinstance(gap, RatioForm):
        tolerance, scale = gap.width_and_scale(tolerance)
        gap = gap.difference(gap.blocks, scale)
    rows = list(gap._rows(tolerance))
    if by_pair:
        rows = _rows_without_unknowns(gap, tolerance, rows)
        as_one_row = any(unknowns for _, _, unknowns, _ in rows)
    # Where nothing is compared there is no gap to bound by one row either.
    if as_one_row and rows:
        return gap, None, np.empty((1, 0)), np.array([-np.inf]), np.array([float(tolerance)])
    # Auxiliary unknowns are numbered from 0 in the order of the rows.
    bounds = np.array([(lower, upper) for lower, _, _, upper in rows], dtype=float)
    n_aux = 1 + max((unknown for _, _, unknowns, _ in rows for unknown in unknowns), default=-1)
    aux = np.zeros((len(rows), n_aux))
    for row, (_, _, unknowns, _) in zip(aux, rows, strict=True):
        row[list(unknowns)] = list(unknowns.values())
    combine = _to_matrix([means for _, means, _, _ in rows], n_events)
    return gap, combine, aux, *bounds.reshape(-1, 2).T


def _rows_without_unknowns(
    gap: Any, tolerance: float, rows: list[tuple[float, dict, dict, float]]
) -> list[tuple[float, dict, dict, float]]:
    """Rows of the differences of ordered pairs of means, if a gap is a range and they are few."""
    # A sum of ranges, or a range of one's own, may have other rows.
    if type(gap)._rows is not RangeGap._rows:
        return rows
    if sum(len(block) * (len(block) - 1) for block in gap.blocks) > _MAX_FORMS:
        return rows
    pairs = (pair for block in gap.blocks for pair in permutations(block, 2))
    return [(-np.inf, {high: gap.scale, low: -1.0}, {}, tolerance) for high, low in pairs]


def _to_matrix(rows: list[dict[int, float]], n_columns: int) -> np.ndarray:
    """The matrix whose rows map a column to a factor; sparse if it is large."""
    columns = [column for row in rows for column in row]
    factors = [factor for row in rows for factor in row.values()]
    indptr = np.cumsum([0, *map(len, rows)])
    shape = (len(rows), n_columns)
    matrix = sparse.csr_array((factors, columns, indptr), shape=shape, dtype=float)
    # Products with a small dense matrix are much faster.
    return matrix.toarray() if len(rows) * n_columns <= 4096 else matrix


@dataclass(frozen=True)
class RangeGap(Gap):
    """Largest minus smallest mean of each block of events; the largest over the blocks counts.

    `blocks` are tuples of at least two events that are compared with one another: for instance the
    groups' true positive rates in one block, their false positive rates in another. The largest
    mean is multiplied by the `scale`, which is 1 but in the rows of a ratio. A scaled range is
    negative where the ratio exceeds its bound.

    Parameters
    ----------
    blocks : tuple of tuples of int
        Positions of the events that are compared with one another.
    scale : float, default=1.0
        Factor of the largest mean, other than 1 in the rows of a ratio alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import RangeGap
    >>> float(RangeGap(((0, 1), (2, 3)))(np.array([0.5, 0.75, 0.25, 0.25])))
    0.25
    """

    blocks: tuple
    scale: float = 1.0

    is_range = True
    form = "gap"
    compares = "groups"

    @classmethod
    def from_cells(cls, cells: CellEvents, constraint: Any) -> RangeGap:
        # The gap between the groups of each cell; one with a single group compares nothing.
        return cls(tuple(block for block in cells.blocks if len(block) > 1))

    @cached_property
    def _positions(self) -> list[np.ndarray]:
        """Events of each block, as indices."""
        return [np.array(block, dtype=np.intp) for block in self.blocks]

    def _ranges(self, means: np.ndarray) -> np.ndarray:
        """Range of each block, (n_blocks,) or (n_blocks, n_columns)."""
        blocks = [means[block] for block in self._positions]
        ranges = [self.scale * block.max(axis=0) - block.min(axis=0) for block in blocks]
        return np.reshape(ranges, (len(self.blocks), *means.shape[1:]))

    @property
    def _smallest(self) -> float:
        """The smallest value of the gap."""
        return 0.0 if self.scale == 1.0 else -np.inf

    def __call__(self, means: np.ndarray) -> np.ndarray | float:
        return self._ranges(means).max(axis=0, initial=self._smallest)

    def subgradient(self, means: np.ndarray) -> np.ndarray:
        # Of the block with the largest range; 0 if none is positive.
        ranges = self._ranges(means)
        if not ranges.max() > self._smallest:
            return np.zeros_like(means)
        return _range_slope([self.blocks[ranges.argmax()]], means, self.scale)

    def value_and_subgradient(self, means: np.ndarray) -> tuple[Any, np.ndarray]:
        numbers = means.tolist()
        slope = np.zeros(len(means))
        if math.isnan(sum(numbers)):  # a rate is unknown
            return super().value_and_subgradient(means)
        # A few numbers of Python are faster than arrays of them.
        gap = self._smallest
        pair = None
        for block in self.blocks:
            rates = [numbers[event] for event in block]
            largest = max(rates)
            smallest = min(rates)
            if self.scale * largest - smallest > gap:
                gap = self.scale * largest - smallest
                pair = block[rates.index(largest)], block[rates.index(smallest)]
        if pair is not None:
            slope[pair[0]] += self.scale
            slope[pair[1]] -= 1.0
        return gap, slope

    def rescale_means(self, means: np.ndarray, factor: float) -> np.ndarray:
        # Means move toward the middle of their block, or to 0 where a scaled range has its zero.
        shrunk = np.array(means)
        for block in map(list, self.blocks):
            middle = (means[block].max() + means[block].min()) / 2 * (self.scale == 1.0)
            shrunk[block] = middle + factor * (means[block] - middle)
        return shrunk

    def linear_forms(self, n_events: int) -> sparse.csr_array:
        # A range is the largest difference of an ordered pair of its events.
        blocks = [_differences(block, n_events) for block in self.blocks]
        forms = sparse.vstack([sparse.csr_array((0, n_events)), *blocks], format="csr")
        forms.data[forms.data > 0] = self.scale
        return forms

    def width_and_scale(self, tolerance: float) -> tuple[float, float]:
        """Numbers w and s: the gap is kept where ``s * largest <= smallest + w`` in each block.

        Parameters
        ----------
        tolerance : float
            Largest gap allowed.

        Returns
        -------
        width, scale : float
        """
        return tolerance, self.scale

    def mean_limits(self, tolerance: float, minimum: float) -> tuple[float, float]:
        width, scale = self.width_and_scale(tolerance)
        return minimum, (minimum + width) / scale

    def aux_at(self, means: np.ndarray) -> np.ndarray:
        # A block of three events or more has a free centre: its smallest mean.
        return np.array([means[list(block)].min() for block in self.blocks if len(block) > 2])

    def _rows(self, tolerance: float) -> Iterator[GapRow]:
        if self.scale != 1.0:
            yield from self._scaled_rows(tolerance)
            return
        n_centers = 0
        for block in self.blocks:
            # Two means need one two-sided row, more of them an interval above a free centre.
            if len(block) == 2:
                first, second = block
                yield -tolerance, {second: 1.0, first: -1.0}, {}, tolerance
                continue
            for event in block:
                yield 0.0, {event: 1.0}, {n_centers: -1.0}, tolerance
            n_centers += 1

    def _scaled_rows(self, tolerance: float) -> Iterator[tuple]:
        """Yield two rows for each pair of means, or for each mean and a free centre below it."""
        n_centers = 0
        for block in self.blocks:
            if len(block) == 2:
                for first, second in (block, block[::-1]):
                    yield -np.inf, {first: self.scale, second: -1.0}, {}, tolerance
                continue
            for event in block:
                yield 0.0, {event: 1.0}, {n_centers: -1.0}, np.inf
                yield -np.inf, {event: self.scale}, {n_centers: -1.0}, tolerance
            n_centers += 1


class RatioForm(Gap):
    """1 minus ratios in place of differences, of a gap whose `blocks` are compared.

    A block without positive rates keeps every bound: its gap is 0. The gap is at most t where
    ``(1 - t) * largest <= smallest``, which is linear in the rates: solvers see the rows of the
    `difference`, scaled. Limits compare logarithms of the rates.
    """

    blocks: tuple[tuple[int, ...], ...]
    difference: Any

    is_ratio = True
    bounded = "ratio"

    value_and_subgradient = Gap.value_and_subgradient

    def _ranges(self, means: np.ndarray) -> np.ndarray:
        by_block = [means[list(block)].max(axis=0) for block in self.blocks]
        largest = np.reshape(by_block, (len(self.blocks), *means.shape[1:]))
        ranges = super()._ranges(means)  # type: ignore[misc]
        no_ratio = 0.0 * ranges  # nan where a rate is unknown
        return np.divide(ranges, largest, out=no_ratio, where=largest > _NEGLIGIBLE_RATE)

    def subgradient(self, means: np.ndarray) -> np.ndarray:
        # Of the block with the smallest ratio r: r / largest and -1 / largest.
        slope = super().subgradient(means)  # type: ignore[safe-super]
        if slope.any():
            largest = means[slope > 0]
            smallest = means[slope < 0]
            slope[slope > 0] = smallest / largest
            slope /= largest
        return slope

    def state(self, value: Numbers) -> Numbers:
        return 1.0 - value

    def estimates(self, means: Estimates) -> LogMeans:
        return LogRates(means) if means.are_rates else LogMeans(means)

    def one_sample_change(self, means: np.ndarray, n_samples: float) -> float:
        # One sample changes a rate by 1 / n_samples, and the ratio by so much of the largest rate.
        largest = min((means[list(block)].max() for block in self.blocks), default=1.0)
        return min(1.0, 1.0 / (n_samples * max(largest, _NEGLIGIBLE_RATE)))

    def rescale_means(self, means: np.ndarray, factor: float) -> np.ndarray:
        shrunk = np.array(means)
        for block in map(list, self.blocks):
            largest = means[block].max()
            smallest = means[block].min()
            shrunk[block] = largest + factor * (means[block] - largest)
            # Rates that become more equal keep their middle, on which their precision depends.
            if factor < 1.0 and largest > _NEGLIGIBLE_RATE:
                shrunk[block] *= (largest + smallest) / (largest + shrunk[block].min())
        return shrunk

    def width_and_scale(self, tolerance: float) -> tuple[float, float]:
        return 0.0, 1.0 - tolerance


class RatioGap(RatioForm, RangeGap):
    """1 minus the smallest over the largest rate of each block; the largest over the blocks counts.

    A block without positive rates keeps every bound: its gap is 0. The gap is at most t where
    ``(1 - t) * largest <= smallest``, which is linear in the rates: solvers see the rows of a
    scaled `RangeGap`. Limits compare logarithms of the rates.

    Read more in the :ref:`guide <ratios>`.

    Parameters
    ----------
    blocks : tuple of tuples of int
        Positions of the events that are compared with one another.
    scale : float, default=1.0
        Factor of the largest mean, other than 1 in the rows of a ratio alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import RatioGap
    >>> float(RatioGap(((0, 1),))(np.array([0.5, 0.25])))  # 1 - .25 / .5
    0.5
    """

    is_range = True
    form = "ratio"
    difference = RangeGap  # whose rows, scaled, bound the ratio


class TotalRangeGap(RangeGap):
    """Largest minus smallest mean of each block of events, added over the blocks.

    Parameters
    ----------
    blocks : tuple of tuples of int
        Positions of the events that are compared with one another.
    scale : float, default=1.0
        Factor of the largest mean, other than 1 in the rows of a ratio alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import TotalRangeGap
    >>> float(TotalRangeGap(((0, 1), (2, 3)))(np.array([0.5, 0.75, 0.25, 0.5])))
    0.5
    """

    form = "total gap"
    value_and_subgradient = Gap.value_and_subgradient

    @classmethod
    def from_cells(cls, cells: CellEvents, constraint: Any) -> RangeGap:
        # The sum over the cells; one cell alone needs none.
        gap = super().from_cells(cells, constraint)
        return gap if len(gap.blocks) > 1 else RangeGap(gap.blocks)

    def __call__(self, means: np.ndarray) -> np.ndarray | float:
        return self._ranges(means).sum(axis=0)

    def subgradient(self, means: np.ndarray) -> np.ndarray:
        return _range_slope(self.blocks, means)

    def linear_forms(self, n_events: int) -> sparse.csr_array:
        # One difference of each block, added, in all combinations.
        check_forms(math.prod(len(block) * (len(block) - 1.0) for block in self.blocks))
        total = sparse.csr_array((1, n_events))
        for block in self.blocks:
            differences = _differences(block, n_events)
            first = np.repeat(np.arange(total.shape[0]), differences.shape[0])
            second = np.tile(np.arange(differences.shape[0]), total.shape[0])
            total = total[first] + differences[second]
        return total

    def aux_at(self, means: np.ndarray) -> np.ndarray:
        # Smallest mean and range of each block.
        lowest = [means[list(block)].min() for block in self.blocks]
        return np.column_stack((lowest, self._ranges(means))).ravel()

    def _rows(self, tolerance: float) -> Iterator[GapRow]:
        n_blocks = len(self.blocks)
        # The sum of a few ranges of two events is written with signs, without unknowns.
        if 0 < n_blocks <= 4 and all(len(block) == 2 for block in self.blocks):
            yield from self._signed_rows(tolerance)
            return
        # Each block lies between a free lower end and a free width; the widths add up.
        for b, block in enumerate(self.blocks):
            low = 2 * b
            width = 2 * b + 1
            for event in block:
                yield 0.0, {event: 1.0}, {low: -1.0}, np.inf
                yield -np.inf, {event: 1.0}, {low: -1.0, width: -1.0}, 0.0
        yield -np.inf, {}, dict.fromkeys(range(1, 2 * n_blocks, 2), 1.0), tolerance

    def _signed_rows(
        self, tolerance: float
    ) -> Iterator[tuple[float, dict[int, float], dict, float]]:
        """Yield one row per choice of signs: |a| + |b| is the larger of |a + b| and |a - b|."""
        # The sign of the first block is fixed, because rows are two-sided.
        for signs in product((1.0, -1.0), repeat=len(self.blocks) - 1):
            factors: dict = {}
            for sign, (first, second) in zip((1.0, *signs), self.blocks, strict=True):
                factors |= {second: sign, first: -sign}
            yield -tolerance, factors, {}, tolerance


def _range_slope(
    blocks: Iterable[Sequence[int]], means: np.ndarray, scale: float = 1.0
) -> np.ndarray:
    """Derivative of the sum of the ranges of some blocks by the means."""
    slope = np.zeros_like(means)
    for block in map(list, blocks):
        slope[block[means[block].argmax()]] += scale
        slope[block[means[block].argmin()]] -= 1.0
    return slope


def _differences(block: tuple[int, ...], n_events: int) -> sparse.csr_array:
    """Differences of all ordered pairs of a block, (n_pairs, n_events)."""
    positions = (np.ones(len(block)), (np.arange(len(block)), list(block)))
    return pairwise_contrasts(len(block)) @ sparse.csr_array(
        positions, shape=(len(block), n_events)
    )


def check_forms(n_forms: float) -> None:
    """Raise for a gap that is the largest of too many forms."""
    if n_forms > _MAX_FORMS:
        raise ValueError(
            f"A gap that adds up or averages over these cells and groups is the largest of "
            f"{n_forms:.2g} linear forms, too many for a limit of it; use the largest gap, with "
            'aggregate="max".'
        )


@dataclass(frozen=True)
class LargestMean(Gap):
    """The largest mean of some events.

    Parameters
    ----------
    events : tuple of int
        Positions of the events.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import LargestMean
    >>> float(LargestMean((0, 1))(np.array([0.5, 0.25])))
    0.5
    """

    events: tuple

    compares = "bound"
    form = "ceiling"

    @classmethod
    def from_cells(cls, cells: CellEvents, constraint: Any) -> Gap:
        # The largest mean of all events.
        return cls(tuple(range(len(cells.labels))))

    def __call__(self, means: np.ndarray) -> np.ndarray | float:
        return means[list(self.events)].max(axis=0)

    def subgradient(self, means: np.ndarray) -> np.ndarray:
        slope = np.zeros_like(means)
        slope[self.events[means[list(self.events)].argmax()]] = 1.0
        return slope

    def mean_limits(self, tolerance: float, minimum: float) -> tuple[float, float]:
        return -np.inf, tolerance

    def rescale_means(self, means: np.ndarray, factor: float) -> np.ndarray:
        # The means are losses or rates, at least 0, and shrink towards that.
        return factor * means

    def linear_forms(self, n_events: int) -> sparse.csr_array:
        return sparse.eye_array(n_events, format="csr")[list(self.events)]

    def estimates(self, means: Estimates) -> Estimates:
        return RatesAgainstBound(means) if isinstance(means, Rates) else means

    def _rows(self, tolerance: float) -> Iterator[GapRow]:
        for event in self.events:
            yield -np.inf, {event: 1.0}, {}, tolerance


@dataclass(frozen=True)
class LargestDistance(LargestMean):
    """The largest distance of a mean of some `events` from 0, in either direction."""

    compares = "bound"
    form = "calibration"

    def __call__(self, means: np.ndarray) -> np.ndarray:
        return np.abs(means[list(self.events)]).max(axis=0)

    def subgradient(self, means: np.ndarray) -> np.ndarray:
        event = self.events[np.abs(means[list(self.events)]).argmax()]
        slope = np.zeros_like(means)
        slope[event] = np.sign(means[event])
        return slope

    def mean_limits(self, tolerance: float, minimum: float) -> tuple[float, float]:
        return -tolerance, tolerance

    def linear_forms(self, n_events: int) -> sparse.csr_array:
        forms = super().linear_forms(n_events)
        return sparse.vstack([forms, -forms], format="csr")

    def estimates(self, means: Estimates) -> Estimates:
        return means

    def _rows(self, tolerance: float) -> Iterator[GapRow]:
        for event in self.events:
            yield -tolerance, {event: 1.0}, {}, tolerance


@dataclass(frozen=True)
class Shortfall(Gap):
    """By how much the smallest mean of some events is below the largest value of a mean.

    Parameters
    ----------
    events : tuple of int
        Positions of the events.
    largest : float, default=1.0
        Largest value of a mean.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import Shortfall
    >>> float(Shortfall((0, 1))(np.array([0.5, 0.25])))  # 1 - .25
    0.75
    """

    events: tuple
    largest: float = 1.0

    compares = "bound"
    form = "floor"
    bounded = "smallest value"

    @classmethod
    def from_cells(cls, cells: CellEvents, constraint: Any) -> Gap:
        # The shortfall of all events, below the largest gap of the constraint.
        return cls(tuple(range(len(cells.labels))), constraint.largest_gap)

    def __call__(self, means: np.ndarray) -> np.ndarray | float:
        return self.largest - means[list(self.events)].min(axis=0)

    def state(self, value: Numbers) -> Numbers:
        return self.largest - value

    def subgradient(self, means: np.ndarray) -> np.ndarray:
        slope = np.zeros_like(means)
        slope[self.events[means[list(self.events)].argmin()]] = -1.0
        return slope

    def mean_limits(self, tolerance: float, minimum: float) -> tuple[float, float]:
        return self.largest - tolerance, np.inf

    def rescale_means(self, means: np.ndarray, factor: float) -> np.ndarray:
        return self.largest + factor * (means - self.largest)

    def linear_forms(self, n_events: int) -> sparse.csr_array:
        return sparse.eye_array(n_events, format="csr")[list(self.events)]

    def estimates(self, means: Estimates) -> ComplementEstimates:
        bounded = RatesAgainstBound(means) if isinstance(means, Rates) else means
        return ComplementEstimates(bounded, self.largest)

    def _rows(self, tolerance: float) -> Iterator[GapRow]:
        for event in self.events:
            yield self.largest - tolerance, {event: 1.0}, {}, np.inf


class MutualOrderGap(RangeGap):
    """Difference between the rates of each order of two groups, whose pairs are events."""

    is_range = True
    form = "gap"

    @classmethod
    def from_cells(cls, cells: CellEvents, constraint: Any) -> RangeGap:
        # The gap of events whose groups are a query, and those of two documents.
        number: dict[Any, int] = {label: code for code, (_, label) in enumerate(cells.labels)}
        # Each order of a pair of groups is compared with the other one.
        blocks = ((code, number[q, b, a]) for (q, a, b), code in number.items())
        return cls(tuple(block for block in blocks if block[0] < block[1]))
