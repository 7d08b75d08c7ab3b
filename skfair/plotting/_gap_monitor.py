"""Display of a monitored gap over time, with its anytime-valid interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skfair.plotting._docstrings import display_docs
from skfair.plotting._style import COLORS, INK, legend_above, new_axes, strip_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@display_docs
class GapMonitorDisplay:
    """Gap of each batch, interval of the gap so far, tolerance, certificate and alarms.

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
        limits = summary["low"].to_numpy(), summary["high"].to_numpy()
        ax.fill_between(
            x, *limits, step="mid", color=COLORS[0], alpha=0.2, linewidth=0, label="interval so far"
        )
        ax.plot(x, summary["estimate"], color=COLORS[0], linewidth=1.4, label="gap so far")
        (self.line_,) = ax.plot(  # type: ignore[var-annotated]
            x, summary["gap"], ".", color=INK, markersize=4, label="gap of the batch"
        )
        ax.axhline(self.tolerance, color=INK, linewidth=0.8, linestyle="--", label="tolerance")
        for status, color, marker in (("certified", COLORS[2], "o"), ("alarm", COLORS[4], "v")):
            at = np.flatnonzero(first_of_runs(summary["status"] == status))
            if len(at):
                y = np.full(len(at), self.tolerance)
                ax.plot(x[at], y, marker, color=color, markersize=8, label=status)
        ax.set(xlabel="time" if has_time else "batch", ylabel="gap between groups")
        ax.set_ylim(bottom=min(0.0, np.nanmin([0.0, *limits[0]])))
        if has_time and summary["time"].dtype.kind == "M":
            ax.tick_params(axis="x", rotation=30)
        strip_frame(ax, "top", "right")
        legend_above(ax)
        return self


def first_of_runs(mask):
    """Whether each True is the first of consecutive ones."""
    mask = np.asarray(mask)
    return mask & ~np.concatenate(([False], mask[:-1]))
