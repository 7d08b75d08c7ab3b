"""Display of accuracy against gap of several models on held-out data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skfair.plotting._docstrings import display_docs
from skfair.plotting._style import COLORS, INK, MARKERS, cycle, legend_above, new_axes, strip_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_GID = "skfair-tradeoff"


@display_docs
class TradeoffDisplay:
    """Accuracy against the gap between groups, with confidence intervals.

    To compare several models on the same axes, pass ``ax=display.ax_`` to the next call: colours
    and markers advance automatically.

    Parameters
    ----------
    front : DataFrame
        Output of :func:`skfair.audit.fairness_front`: columns ``tolerance``, ``accuracy`` and
        ``gap``, and for intervals the last two with ``_low`` and ``_high``.
    {name}
    gap_name : str, default="gap between groups"
        Label of the horizontal axis.

    Attributes
    ----------
    {ax_, figure_}
    line_ : matplotlib.lines.Line2D
        The points, once drawn, by ascending tolerance.

    See Also
    --------
    skfair.audit.fairness_front : Fits and evaluates the models.

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

    def __init__(
        self, front: pd.DataFrame, *, name: str | None = None, gap_name: str = "gap between groups"
    ):
        self.front = front
        self.name = name
        self.gap_name = gap_name

    @classmethod
    @display_docs
    def from_front(
        cls,
        front: pd.DataFrame,
        *,
        name: str | None = None,
        gap_name: str = "gap between groups",
        ax: Axes | None = None,
    ) -> Self:
        """Draw a front.

        Parameters
        ----------
        front : DataFrame
            Output of :func:`skfair.audit.fairness_front`.
        {name}
        gap_name : str, default="gap between groups"
            Label of the horizontal axis.
        {ax}

        Returns
        -------
        {display}
        """
        return cls(front, name=name, gap_name=gap_name).plot(ax=ax)

    @display_docs
    def plot(self, ax: Any = None, *, bound: float | None = None) -> Self:
        """Draw the points, with their intervals and tolerances.

        Parameters
        ----------
        {ax}
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
        # Colours and markers continue after the models that are on the axes.
        n_before = sum(line.get_gid() == _GID for line in ax.lines)
        color = cycle(COLORS, n_before)
        # Confidence intervals of both coordinates, if the front has them.
        points = front["gap"], front["accuracy"]
        for column, side in (("gap", "xerr"), ("accuracy", "yerr")):
            if f"{column}_low" not in front:
                continue
            limits = front[[f"{column}_low", f"{column}_high"]].to_numpy().T
            margins = np.abs(limits - front[column].to_numpy())
            ax.errorbar(*points, **{side: margins}, fmt="none", ecolor=color, elinewidth=0.8)
        (self.line_,) = ax.plot(
            *points,
            color=color,
            marker=cycle(MARKERS, n_before),
            markersize=6,
            linewidth=1.0,
            label=self.name,
            gid=_GID,
        )
        # Write the tolerance next to each point.
        for _, row in front[front["tolerance"].notna()].iterrows():
            point, tolerance = (row["gap"], row["accuracy"]), f"{row['tolerance']:g}"
            ax.annotate(tolerance, point, (4, 5), textcoords="offset points", color=INK, fontsize=8)
        if bound is not None:
            ax.axvline(bound, color=INK, linewidth=0.8, linestyle="--")
        ax.set(xlabel=self.gap_name, ylabel="accuracy")
        ax.autoscale(axis="x")
        ax.set_xlim(left=0.0)
        strip_frame(ax, "top", "right")
        legend_above(ax)
        return self
