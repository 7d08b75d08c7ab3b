"""The gap of a monitored model over time."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from skfair._utils.parameters import make_constructor
from skfair.plotting._display import COLORS, INK, Display, strip_frame, write_legend

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.axes import Axes


_VERDICT_COLORS = {"open": COLORS[0], "shown": COLORS[2], "contradicted": COLORS[4]}
"""Colours of the band by verdict."""


@make_constructor
class GapMonitorDisplay(Display):
    """Gap of each batch and tolerance, and what is stated: interval of the gap so far and verdict.

    Made by :meth:`skfair.monitoring.GapMonitor.plot`.

    Markers show batches alone, with a triangle where a batch's own gap exceeds the tolerance. The
    band shows the statement on all batches so far: its height is the interval, its colour the
    verdict (green: shown, orange: contradicted, blue: open).
    """

    summary: pd.DataFrame
    _: KW_ONLY
    tolerance: float
    is_floor: bool = False  # the smallest mean of a group is bounded from below

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the gap over time; afterwards `line_` has the gaps of the batches."""
        noun, bound, side = ("gap", "tolerance", "above")
        if self.is_floor:
            noun, bound, side = ("smallest rate", "bound", "below")
        ax = self._use_axes(ax, size=(7.2, 4.0))
        summary = self.summary
        has_time = summary["time"].notna().all()
        x = summary["time" if has_time else "batch"].to_numpy()
        # The band is the statement after each batch: interval and verdict.
        low = summary["low"].to_numpy()
        high = summary["high"].to_numpy()
        edges = _edges(x).repeat(2)[1:-1]
        for verdict, color in _VERDICT_COLORS.items():
            for number, (start, stop) in enumerate(
                _find_true_intervals(summary["verdict"] == verdict)
            ):
                steps = slice(2 * start, 2 * stop)
                label = f"interval: {verdict}" if number == 0 else None
                ax.fill_between(
                    edges[steps],
                    low.repeat(2)[steps],
                    high.repeat(2)[steps],
                    color=color,
                    alpha=0.25,
                    linewidth=0,
                    label=label,
                )
        ax.plot(
            x,
            summary["gap"],
            color=COLORS[0],
            linewidth=1.4,
            label=f"{noun} since the last alarm (or start)",
        )
        # The markers are the batches alone, whatever the statement is.
        gaps = summary["batch_gap"].to_numpy()
        (self.line_,) = ax.plot(x, gaps, ".", color=INK, markersize=5, label=f"{noun} of the batch")
        is_beyond = gaps < self.tolerance if self.is_floor else gaps > self.tolerance
        if is_beyond.any():
            ax.plot(
                *(x[is_beyond], gaps[is_beyond], "v" if self.is_floor else "^"),
                color=_VERDICT_COLORS["contradicted"],
                label=f"{noun} {side} the {bound}",
            )
        ax.axhline(self.tolerance, color=INK, linewidth=0.8, linestyle="--", label=bound)
        label = f"{noun} of a group" if self.is_floor else "gap between groups"
        ax.set(xlabel="time" if has_time else "batch", ylabel=label)
        # Interval limits far above all gaps leave the axes.
        top = 1.1 * np.nanmax([1.5 * self.tolerance, *gaps, *summary["gap"]])
        bottom = min(0.0, np.nanmin([0.0, *low]))
        ax.set_ylim(bottom=bottom, top=top or None)
        if (leaves := high > top).any():
            # An arrow where an interval goes on above the axes.
            at = np.full(leaves.sum(), bottom + 0.98 * (top - bottom))
            ax.plot(x[leaves], at, "^", color=INK, markersize=3, label="interval goes on above")
        if has_time and summary["time"].dtype.kind == "M":
            ax.tick_params(axis="x", rotation=30)
        strip_frame(ax)
        write_legend(ax)
        return self


def _find_true_intervals(mask: pd.Series) -> list[list[int]]:
    """Start and end of each run of consecutive True."""
    steps = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False]))))
    return steps.reshape(-1, 2).tolist()


def _edges(x: np.ndarray) -> np.ndarray:
    """Ends of the steps around ascending positions: their middles, and half a step outside."""
    if len(x) == 1:
        half = np.timedelta64(12, "h") if x.dtype.kind == "M" else 0.5
        return np.array([x[0] - half, x[0] + half])
    middles = x[:-1] + (x[1:] - x[:-1]) / 2
    return np.concatenate(([x[0] - (middles[0] - x[0])], middles, [x[-1] + (x[-1] - middles[-1])]))
