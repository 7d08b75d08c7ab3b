"""Displays over time: convergence of a fit, and the gap of a model that is monitored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skfair.plotting._display import (
    COLORS,
    INK,
    Display,
    display_docs,
    import_pyplot,
    strip_frame,
    style,
    write_legend,
)
from skfair.utils._checks import check_choice
from skfair.utils._parameters import make_constructor

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_QUANTITIES = {
    "objective": "objective",
    "violation": "excess over the tolerance",
    "residual": "residual of the stop test",
    "balance": "balance",
}
"""Label of the axis of each column of a log."""
_SYMLOG_QUANTITIES = ("violation", "residual")
"""Quantities that converge to zero, drawn on a logarithmic axis."""


@display_docs
@make_constructor
class ConvergenceDisplay:
    """Convergence of fits as recorded by :class:`skfair.callbacks.FitMonitor`.

    The method ``plot`` of a monitor makes it. Made of several logs, it compares fits.
    The quantities have separate axes in one row. Every fit, or every start of a fit, is one line,
    and lines of one name have the same colour. Violation and residual have a logarithmic scale that
    is linear below the smallest positive value, so that zero is visible.

    Parameters
    ----------
    tables : dict of str to DataFrame
        Logs by their name in the legend, with the columns of ``FitMonitor.log``.
    quantities : sequence of str, default=None
        Columns to draw: "objective", "violation", "residual", "balance". None draws those that were
        recorded.
    against : {"iteration", "seconds"}, default="iteration"
        Column of the horizontal axis; seconds are wall-clock time since the start of the fit.

    Attributes
    ----------
    ax_ : ndarray of matplotlib.axes.Axes, shape (n_quantities,)
        The axes, once drawn.
    {figure_}

    See Also
    --------
    skfair.callbacks.FitMonitor : The callback that records.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.callbacks import FitMonitor
    >>> from skfair.cluster import FairKMeans
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> monitor = FitMonitor()
    >>> model = FairKMeans(n_clusters=3, random_state=0).set_callbacks(monitor)
    >>> _ = model.fit(X, sensitive_features=X.sum(axis=1) > 0)
    >>> display = monitor.plot(quantities=["objective", "balance"])
    >>> [ax.get_ylabel() for ax in display.ax_]
    ['objective', 'balance']
    """

    tables: dict[str, pd.DataFrame]
    _: KW_ONLY
    quantities: Sequence[str] | None = None
    against: str = "iteration"

    def plot(self, ax: Any = None) -> Self:
        """Draw the quantities side by side.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or array of them, default=None
            One axes for each quantity. None makes a new figure.

        Returns
        -------
        {display}

        Raises
        ------
        ValueError
            If nothing was recorded, `quantities` or `against` are not columns of a log, or `ax`
            does not have one axes for each quantity.
        """
        quantities = self._check_quantities()
        self.ax_ = _make_axes(ax, len(quantities))
        self.figure_ = self.ax_[0].figure
        for axes, quantity in zip(self.ax_, quantities, strict=True):
            for index, (name, log) in enumerate(self.tables.items()):
                self._draw_runs(axes, log, quantity, name, index)
            if quantity in _SYMLOG_QUANTITIES:
                _set_symlog_scale(axes, [log[quantity] for log in self.tables.values()])
            axes.set(xlabel=self.against, ylabel=_QUANTITIES[quantity])
            strip_frame(axes, "top", "right")
        self._write_legend()
        return self

    def _check_quantities(self):
        """Quantities to draw: the requested ones, or those that were recorded."""
        check_choice("against", self.against, ("iteration", "seconds"))
        if self.quantities is not None:
            unknown = [name for name in self.quantities if name not in _QUANTITIES]
            if unknown or not len(self.quantities):
                raise ValueError(
                    f"quantities must be among {list(_QUANTITIES)}; got {list(self.quantities)}."
                )
            return list(self.quantities)
        # Quantities that any log recorded.
        recorded = [
            q for q in _QUANTITIES if any(log[q].notna().any() for log in self.tables.values())
        ]
        if not recorded:
            raise ValueError(
                "Nothing was recorded. Pass the monitor to the estimator before the fit, as in "
                "estimator.set_callbacks(monitor).fit(X, ...)."
            )
        return recorded

    def _draw_runs(self, axes, log, quantity, name, index):
        """Draw one line for each run of a log."""
        # Runs without values of the quantity are not drawn.
        runs = [run for _, run in log.dropna(subset=quantity).groupby("run")]
        for number, run in enumerate(runs):
            axes.plot(
                run[self.against],
                run[quantity],
                linewidth=1.5 if len(runs) == 1 else 0.9,
                marker="." if len(run) < 30 else None,
                label=name if name and not number else None,
                **style(index, "color", "linestyle"),
            )

    def _write_legend(self):
        """Name each log once, above all axes."""
        handle_of = {}
        for axes in self.ax_:
            handles, labels = axes.get_legend_handles_labels()
            handle_of |= dict(zip(labels, handles, strict=True))
        if handle_of:
            self.figure_.legend(
                handle_of.values(),
                handle_of.keys(),
                loc="outside upper left",
                ncols=4,
                frameon=False,
            )


def _make_axes(ax, n_axes):
    """Array of axes: `ax`, or those of a new figure in one row."""
    if ax is None:
        size = (max(3.2 * n_axes, 4.8), 3.2)
        _, ax = import_pyplot().subplots(1, n_axes, figsize=size, layout="constrained")
    axes = np.atleast_1d(ax)
    if axes.shape != (n_axes,):
        raise ValueError(
            f"ax must have one axes for each of the {n_axes} quantities, such as "
            f"plt.subplots(1, {n_axes})[1]; got an array of shape {np.shape(ax)}."
        )
    return axes


def _set_symlog_scale(axes, columns):
    """Set a logarithmic scale that is linear below the smallest positive value."""
    values = np.concatenate(columns)
    # Linear below the smallest positive value, so that zero is on the axis.
    positive = values[values > 0]
    if len(positive):
        axes.set_yscale("symlog", linthresh=positive.min())
        axes.set_ylim(bottom=0)


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
        low, high = summary["low"].to_numpy(), summary["high"].to_numpy()
        edges = _edges(x).repeat(2)[1:-1]
        for verdict, color in _VERDICT_COLORS.items():
            for number, (start, stop) in enumerate(
                _find_true_intervals(summary["verdict"] == verdict)
            ):
                steps = slice(2 * start, 2 * stop)
                band = low.repeat(2)[steps], high.repeat(2)[steps]
                label = f"interval: {verdict}" if number == 0 else None
                ax.fill_between(
                    edges[steps], *band, color=color, alpha=0.25, linewidth=0, label=label
                )
        ax.plot(x, summary["gap"], color=COLORS[0], linewidth=1.4, label=f"{noun} so far")
        # The markers are the batches alone, whatever the statement is.
        gaps = summary["batch_gap"].to_numpy()
        (self.line_,) = ax.plot(  # type: ignore[var-annotated]
            x, gaps, ".", color=INK, markersize=5, label=f"{noun} of the batch"
        )
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
        ax.set_ylim(bottom=min(0.0, np.nanmin([0.0, *low])), top=top or None)
        if has_time and summary["time"].dtype.kind == "M":
            ax.tick_params(axis="x", rotation=30)
        strip_frame(ax, "top", "right")
        write_legend(ax)
        return self


def _find_true_intervals(mask):
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
