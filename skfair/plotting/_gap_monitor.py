"""The gap of a monitored model over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from skfair._utils.parameters import make_constructor
from skfair.plotting._display import (
    COLORS,
    INK,
    Display,
    import_pyplot,
    strip_frame,
    style,
    write_legend,
)

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.axes import Axes


_STATE_COLORS = {"open": COLORS[8], "shown": COLORS[2], "contradicted": COLORS[4]}
"""Colours of the band of states."""

_WRITTEN_SHARE = 0.18
"""Share of the batches from which on the name of a state is written on the band."""

STATE_WORDS = {
    "open": "these data do not decide",
    "shown": "the tolerance is kept",
    "contradicted": "exceeded, from an alarm until it is shown to be kept again",
}
"""What the verdicts say."""


MAX_DRAWN_GROUPS = 8
"""Number of groups up to which their rates are drawn."""


def pool_rates(rates: pd.DataFrame) -> pd.DataFrame:
    """Rates of groups by time of the decisions, whose outcomes may come in several batches."""
    totals = rates.assign(sum=rates["estimate"] * rates["weight"])[rates["n"] > 0]
    keys = ["attribute", "event", "group", "time"]
    pooled = totals.groupby(keys, sort=False, as_index=False)[["n", "weight", "sum"]].sum()
    return pooled.assign(estimate=pooled["sum"] / pooled["weight"])


def rates_by_panel(rates: pd.DataFrame) -> dict[tuple[str, str], pd.DataFrame]:
    """Rates of pictures by attribute and event: a column for each group, a row for each time."""
    pooled = pool_rates(rates)
    panels = {}
    for names, table in pooled.groupby(["attribute", "event"], sort=False):
        if table["group"].nunique() <= MAX_DRAWN_GROUPS:
            by_group = {
                str(group): one.set_index("time")["estimate"]
                for group, one in table.groupby("group", sort=False)
            }
            panels[names] = pd.DataFrame(by_group)
    return panels


def number_groups(
    panels: dict[tuple[str, str], pd.DataFrame],
) -> dict[tuple[str, str], dict[str, int]]:
    """Number of each group of each panel: equal in all panels of an attribute, as its style is."""
    groups: dict[str, dict[str, None]] = {}
    for (attribute, _), table in panels.items():
        groups.setdefault(attribute, {}).update(dict.fromkeys(table))
    numbers = {name: {one: i for i, one in enumerate(names)} for name, names in groups.items()}
    return {panel: {group: numbers[panel[0]][group] for group in panels[panel]} for panel in panels}


@make_constructor
class GapMonitorDisplay(Display):
    """Rates of groups, the gap of each batch and since the last alarm, and what is known.

    Made by :meth:`skfair.monitoring.GapMonitor.plot`. A new figure has the rates of all groups of
    an attribute above the gap, where there are no more than eight and batches have times.

    Markers show batches alone, with a triangle where a batch's own gap exceeds the tolerance. Line
    and bars are the gap of all samples since the last alarm (or the start) and its interval, with
    an arrow where this leaves the axes. The band below is the state (green: shown, orange: exceeded
    since an alarm, grey: open), with a triangle below it at each alarm.
    """

    summary: pd.DataFrame
    _: KW_ONLY
    tolerance: float
    is_floor: bool = False  # the smallest mean of a group is bounded from below
    alarms: Sequence[int] = ()  # numbers of the batches of alarms
    rates: pd.DataFrame | None = None  # of groups in each batch

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the gap over time; afterwards `line_` has the gaps of the batches."""
        noun, bound, side = ("gap", "tolerance", "above")
        if self.is_floor:
            noun, bound, side = ("smallest rate", "bound", "below")
        summary = self.summary
        has_time = bool(summary["time"].notna().all())
        panels = {} if ax is not None or not has_time else self._panels()
        if panels:
            ax = self._draw_rates(panels)
        ax = self._use_axes(ax, size=(7.2, 4.0))
        x = summary["time" if has_time else "batch"].to_numpy()
        gaps = summary["batch_gap"].to_numpy()
        low, high = summary["low"].to_numpy(), summary["high"].to_numpy()
        # Interval limits far above all gaps leave the axes.
        top = 1.1 * np.nanmax([1.5 * self.tolerance, *gaps, *summary["gap"]]) or 1.0
        bottom = min(0.0, np.nanmin([0.0, *low]))
        edges = _edges(x)
        ax.fill_between(
            edges.repeat(2)[1:-1],
            low.repeat(2),
            np.minimum(high, top).repeat(2),
            color=COLORS[0],
            alpha=0.25,
            linewidth=0,
        )
        label = f"{noun} since start or last alarm, interval"
        ax.plot(x, summary["gap"], color=COLORS[0], linewidth=1.4, label=label)
        if (leaves := high > top).any():
            # An arrow where an interval goes on above the axes.
            at = np.full(leaves.sum(), bottom + 0.98 * (top - bottom))
            label = "the interval goes on above"
            ax.plot(x[leaves], at, "^", color=COLORS[0], markersize=4, label=label)
        # The markers are the batches alone, whatever the state is.
        (self.line_,) = ax.plot(x, gaps, ".", color=INK, markersize=5, label=f"{noun} of the batch")
        is_beyond = gaps < self.tolerance if self.is_floor else gaps > self.tolerance
        if is_beyond.any():
            ax.plot(
                *(x[is_beyond], gaps[is_beyond], "v" if self.is_floor else "^"),
                color=INK,
                markersize=5,
                label=f"{noun} {side} the {bound}",
            )
        ax.axhline(self.tolerance, color=INK, linewidth=0.8, linestyle="--", label=bound)
        label = f"{noun} of a group" if self.is_floor else "gap between groups"
        ax.set(xlabel="time" if has_time else "batch", ylabel=label)
        ax.set_ylim(bottom=self._draw_states(ax, x, edges, bottom, top), top=top)
        # Ticks at multiples of 1, 2 or 5, and none beside the band.
        ax.locator_params(axis="y", nbins=6, steps=[1, 2, 5, 10])
        ax.set_yticks([one for one in ax.get_yticks() if bottom <= one <= top])
        if has_time and summary["time"].dtype.kind == "M":
            ax.tick_params(axis="x", rotation=30)
        strip_frame(ax)
        write_legend(ax, ncols=2)
        return self

    def _panels(self) -> dict[tuple[str, str], pd.DataFrame]:
        """Rates of groups over time by attribute and event; empty without any."""
        return {} if self.rates is None else rates_by_panel(self.rates)

    def _draw_rates(self, panels: dict[tuple[str, str], pd.DataFrame]) -> Axes:
        """Draw the rates of groups in a new figure, and return the axes below, of the gap."""
        heights = [2.0] * len(panels) + [4.0]
        _, axes = import_pyplot().subplots(
            len(heights),
            figsize=(7.2, sum(heights)),
            height_ratios=heights,
            sharex=True,
            layout="constrained",
        )
        has_events = len({event for _, event in panels}) > 1
        numbers = number_groups(panels)
        for above, ((attribute, event), table) in zip(axes, panels.items(), strict=False):
            for group, number in numbers[attribute, event].items():
                curve = table[group].dropna()
                above.plot(
                    curve.index, curve, label=group, **style(number, "color", "linestyle", "marker")
                )
            above.set_ylabel(f"rate by {attribute}" + f"\n{event}" * has_events)
            above.locator_params(axis="y", nbins=5, steps=[1, 2, 5, 10])
            strip_frame(above)
            write_legend(above)
        last: Axes = axes[-1]
        return last

    def _draw_states(
        self, ax: Axes, x: np.ndarray, edges: np.ndarray, bottom: float, top: float
    ) -> float:
        """Draw the band of states below the gaps, and the alarms on it; return its lower end."""
        height = 0.09 * (top - bottom)
        start = bottom - 1.4 * height
        middle = start + height / 2.0
        states = self.summary["verdict"].to_numpy()
        for state, color in _STATE_COLORS.items():
            intervals = _find_true_intervals(states == state)
            if not intervals:
                continue
            # The name is written on the longest interval of a state, or in the legend.
            longest = max(intervals, key=lambda ends: ends[1] - ends[0])
            is_written = longest[1] - longest[0] >= _WRITTEN_SHARE * len(states)
            ax.broken_barh(
                [(edges[begin], edges[end] - edges[begin]) for begin, end in intervals],
                (start, height),
                color=color,
                linewidth=0,
                label=f"_{state}" if is_written else state,
            )
            if is_written:
                name = ax.text(edges[longest[0]], middle, f" {state}", size=9, weight="bold")
                name.set(color="white", verticalalignment="center")
        if len(self.alarms):
            at = x[self.summary["batch"].isin(self.alarms)]
            heights = np.full(len(at), start - 0.35 * height)
            color = _STATE_COLORS["contradicted"]
            ax.plot(at, heights, "^", color=color, markersize=6, label="alarm")
        return start - 0.7 * height


def _find_true_intervals(mask: np.ndarray) -> list[list[int]]:
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
