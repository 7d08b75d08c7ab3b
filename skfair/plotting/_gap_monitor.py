"""Display of a monitored gap over time, with its anytime-valid interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skfair.plotting._docstrings import display_docs
from skfair.plotting._style import COLORS, INK, legend_above, new_axes, strip_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_STATUS_COLORS = {"monitoring": COLORS[0], "certified": COLORS[2], "alarm": COLORS[4]}
"""Colours of the band by status."""


@display_docs
class GapMonitorDisplay:
    """Gap of each batch and tolerance, and what is stated: interval of the gap so far and status.

    Markers show batches alone, with a triangle where a batch's own gap exceeds the tolerance. The
    band shows the statement on all batches so far: its height is the interval, its colour the
    status (green: certified, orange: alarm, blue: monitoring).

    Parameters
    ----------
    summary : DataFrame
        Output of :meth:`skfair.monitoring.GapMonitor.summary`.
    tolerance : float
        Largest gap allowed, drawn as a horizontal line.

    Attributes
    ----------
    {ax_, figure_}
    line_ : matplotlib.lines.Line2D
        The gaps of the batches, once drawn.

    See Also
    --------
    skfair.monitoring.GapMonitor : The monitor.

    Examples
    --------
    >>> from skfair.monitoring import GapMonitor
    >>> from skfair.plotting import GapMonitorDisplay
    >>> monitor = GapMonitor("demographic_parity", tolerance=0.1)
    >>> for month in range(3):
    ...     _ = monitor.update([1, 0, 1, 0], sensitive_features=["a", "a", "b", "b"], time=month)
    >>> GapMonitorDisplay.from_monitor(monitor).ax_.get_ylabel()
    'gap between groups'
    """

    def __init__(self, summary: pd.DataFrame, *, tolerance: float):
        self.summary = summary
        self.tolerance = tolerance

    @classmethod
    @display_docs
    def from_monitor(cls, monitor: Any, *, ax: Axes | None = None) -> Self:
        """Draw what a monitor has read so far.

        Parameters
        ----------
        monitor : GapMonitor
            The monitor, after its first batch.
        {ax}

        Returns
        -------
        {display}
        """
        return cls(monitor.summary(), tolerance=monitor.tolerance).plot(ax=ax)

    @display_docs
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the gap over time.

        Parameters
        ----------
        {ax}

        Returns
        -------
        display : GapMonitorDisplay
            This display, with `ax_`, `figure_` and `line_`.
        """
        self.ax_ = ax = new_axes(ax, size=(7.2, 4.0))
        self.figure_ = ax.figure
        summary = self.summary
        has_time = summary["time"].notna().all()
        x = summary["time" if has_time else "batch"].to_numpy()
        # The band is the statement after each batch: interval and status.
        low, high = summary["low"].to_numpy(), summary["high"].to_numpy()
        edges = _edges(x).repeat(2)[1:-1]
        for status, color in _STATUS_COLORS.items():
            for number, (start, stop) in enumerate(_runs(summary["status"] == status)):
                steps = slice(2 * start, 2 * stop)
                band = low.repeat(2)[steps], high.repeat(2)[steps]
                label = f"interval: {status}" if number == 0 else None
                ax.fill_between(
                    edges[steps], *band, color=color, alpha=0.25, linewidth=0, label=label
                )
        ax.plot(x, summary["estimate"], color=COLORS[0], linewidth=1.4, label="gap so far")
        # The markers are the batches alone, whatever the statement is.
        gaps = summary["gap"].to_numpy()
        (self.line_,) = ax.plot(  # type: ignore[var-annotated]
            x, gaps, ".", color=INK, markersize=5, label="gap of the batch"
        )
        if (is_above := gaps > self.tolerance).any():
            above = "gap above the tolerance"
            ax.plot(x[is_above], gaps[is_above], "^", color=_STATUS_COLORS["alarm"], label=above)
        ax.axhline(self.tolerance, color=INK, linewidth=0.8, linestyle="--", label="tolerance")
        ax.set(xlabel="time" if has_time else "batch", ylabel="gap between groups")
        # Interval limits far above all gaps leave the axes.
        top = 1.1 * np.nanmax([1.5 * self.tolerance, *gaps, *summary["estimate"]])
        ax.set_ylim(bottom=min(0.0, np.nanmin([0.0, *low])), top=top or None)
        if has_time and summary["time"].dtype.kind == "M":
            ax.tick_params(axis="x", rotation=30)
        strip_frame(ax, "top", "right")
        legend_above(ax)
        return self


def _runs(mask):
    """Start and end of each run of consecutive True."""
    steps = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False]))))
    return steps.reshape(-1, 2).tolist()


def _edges(x):
    """Ends of the steps around ascending positions: their middles, and half a step outside."""
    if len(x) == 1:
        half = np.timedelta64(12, "h") if x.dtype.kind == "M" else 0.5
        return np.array([x[0] - half, x[0] + half])
    middles = x[:-1] + (x[1:] - x[:-1]) / 2
    return np.concatenate(([x[0] - (middles[0] - x[0])], middles, [x[-1] + (x[-1] - middles[-1])]))
