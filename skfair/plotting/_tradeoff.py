"""Accuracy against gap of several models, on people not used for the fit."""

import numpy as np

from skfair.plotting._style import COLORS, INK, MARKERS, cycle, legend_above, new_axes, strip_frame

_GID = "skfair-tradeoff"


class TradeoffDisplay:
    """Picture of what a smaller gap costs in accuracy, with intervals.

    Draw several models on the same axes to compare them: pass ``ax=display.ax_`` to the next call;
    colours and markers advance by themselves.

    Parameters
    ----------
    front : DataFrame
        As :func:`skfair.audit.fairness_front` makes it: columns ``tolerance``, ``accuracy`` and
        ``gap``, and for intervals the last two with ``_low`` and ``_high``.
    name : str, default=None
        Name of the model in the legend.
    gap_name : str, default="gap between groups"
        Label of the horizontal axis.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes, once drawn.
    figure_ : matplotlib.figure.Figure
        The figure with the axes, once drawn.
    line_ : matplotlib.lines.Line2D
        The points, once drawn, by ascending tolerance.

    See Also
    --------
    skfair.audit.fairness_front : Fits the models and counts.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfair.plotting import TradeoffDisplay
    >>> front = pd.DataFrame(
    ...     {"tolerance": [0.02, 0.1], "accuracy": [0.8, 0.85], "gap": [0.03, 0.11]}
    ... )
    >>> TradeoffDisplay.from_front(front, name="by hand").ax_.get_ylabel()
    'accuracy'
    """

    def __init__(self, front, *, name=None, gap_name="gap between groups"):
        self.front = front
        self.name = name
        self.gap_name = gap_name

    @classmethod
    def from_front(cls, front, *, name=None, gap_name="gap between groups", ax=None):
        """Draw a front.

        Parameters
        ----------
        front : DataFrame
            As :func:`skfair.audit.fairness_front` makes it.
        name : str, default=None
            Name of the model in the legend.
        gap_name : str, default="gap between groups"
            Label of the horizontal axis.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        display : TradeoffDisplay
            The drawn display.
        """
        return cls(front, name=name, gap_name=gap_name).plot(ax=ax)

    def plot(self, ax=None, *, bound=None):
        """Draw the points, with their intervals and tolerances.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a new figure.
        bound : float, default=None
            A gap to mark by a vertical line.

        Returns
        -------
        display : TradeoffDisplay
            This display, with `ax_`, `figure_` and `line_`.
        """
        self.ax_ = ax = new_axes(ax, size=(6.4, 4.2))
        self.figure_ = ax.figure
        front = self.front.sort_values("tolerance")
        n_before = sum(line.get_gid() == _GID for line in ax.lines)
        color = cycle(COLORS, n_before)
        for across, reach in (("gap", "xerr"), ("accuracy", "yerr")):
            if f"{across}_low" not in front:
                continue
            ends = front[[f"{across}_low", f"{across}_high"]].to_numpy().T
            lengths = np.abs(ends - front[across].to_numpy())
            place = front["gap"], front["accuracy"]
            ax.errorbar(*place, **{reach: lengths}, fmt="none", ecolor=color, elinewidth=0.8)
        (self.line_,) = ax.plot(
            front["gap"],
            front["accuracy"],
            color=color,
            marker=cycle(MARKERS, n_before),
            markersize=6,
            linewidth=1.0,
            label=self.name,
            gid=_GID,
        )
        for _, row in front[front["tolerance"].notna()].iterrows():
            place = row["gap"], row["accuracy"]
            said = f"{row['tolerance']:g}"
            ax.annotate(said, place, (4, 5), textcoords="offset points", color=INK, fontsize=8)
        if bound is not None:
            ax.axvline(bound, color=INK, linewidth=0.8, linestyle="--")
        ax.set(xlabel=self.gap_name, ylabel="accuracy")
        ax.autoscale(axis="x")
        ax.set_xlim(left=0.0)
        strip_frame(ax, "top", "right")
        legend_above(ax)
        return self
