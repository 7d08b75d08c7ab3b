"""Displays of trade-offs: clustering cost against balance, accuracy against gap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skfair.metrics import non_dominated
from skfair.plotting._docstrings import display_docs
from skfair.plotting._style import INK, Display, strip_frame, style, write_legend

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_MAX_MARKERS = 25
_LABELS = {
    "balance": "balance (smallest / largest group, worst cluster)",
    "share_ratio": "share ratio (smallest / largest share of a group, worst cluster)",
}


@display_docs
class ParetoFrontDisplay(Display):
    """Pareto front of clustering cost against balance.

    The front is a step function: the smallest cost at which each balance is reached. Dominated
    points are not drawn. To compare several fronts on the same axes, pass ``ax=display.ax_`` to the
    next call: colours, lines and markers advance automatically.

    Parameters
    ----------
    cost : array-like of shape (n_points,)
        Clustering cost of each point, such as the mean squared distance to the cluster's centre or
        the normalised cut.
    balance : array-like of shape (n_points,)
        Balance of each point, in [0, 1]: smallest over largest group, in the worst cluster. Or the
        values of ``criterion``.
    data_balance : float, default=None
        Balance of the data, drawn as a vertical line. No clustering exceeds it by more than
        rounding.
    selected : int, default=None
        Index of the point to mark.
    name : str, default=None
        Name of the front in the legend.
    cost_name : str, default="cost"
        Label of the cost axis.
    criterion : {"balance", "share_ratio"}, default="balance"
        What ``balance`` is: "share_ratio" is the smallest ratio of two groups' shares in a cluster.

    Attributes
    ----------
    {ax_, figure_}
    line_ : matplotlib.lines.Line2D
        The front, once drawn.

    See Also
    --------
    skfair.cluster.fair_kmeans_front : Compute a front of k-means clusterings.
    skfair.cluster.fair_spectral_front : Compute a front of spectral clusterings.

    Examples
    --------
    >>> from skfair.plotting import ParetoFrontDisplay
    >>> display = ParetoFrontDisplay([1.0, 1.1, 1.5], [0.1, 0.3, 0.4], name="by hand")
    >>> display.plot().ax_.get_xlabel()
    'balance (smallest / largest group, worst cluster)'
    """

    _gid = "skfair-pareto-front"

    def __init__(
        self,
        cost: ArrayLike,
        balance: ArrayLike,
        *,
        data_balance: float | None = None,
        selected: int | None = None,
        name: str | None = None,
        cost_name: str = "cost",
        criterion: str = "balance",
    ):
        self.cost = cost
        self.balance = balance
        self.data_balance = data_balance
        self.selected = selected
        self.name = name
        self.cost_name = cost_name
        self.criterion = criterion

    @classmethod
    def from_front(
        cls,
        front: Any,
        *,
        selected: int | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a front.

        Parameters
        ----------
        front : ParetoFront
            The front, for instance from :func:`skfair.cluster.fair_kmeans_front`: its `cost` and
            `balance`, or `share_ratio`, are drawn, its `cost_name` labels the axis.
        selected : int, default=None
            Index of the point to mark, such as ``front.select(min_balance=0.8)``.
        name : str, default=None
            Name of the front in the legend.
        {ax}

        Returns
        -------
        {display}
        """
        display = cls(
            front.cost,
            getattr(front, front.criterion),
            data_balance=front.data_balance if front.criterion == "balance" else None,
            selected=selected,
            name=name,
            cost_name=front.cost_name,
            criterion=front.criterion,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the front.

        Parameters
        ----------
        {ax}

        Returns
        -------
        display : ParetoFrontDisplay
            This display, with `ax_`, `figure_` and `line_`.
        """
        ax = self._use_axes(ax, size=(6.4, 4.2))
        # Colours and markers continue after the fronts that are on the axes.
        self._draw_front(n_before=self._count_drawn())
        self._draw_limit()
        self._draw_selected()
        ax.set_xlabel(_LABELS[self.criterion])
        ax.set_ylabel(self.cost_name)
        strip_frame(ax, "top", "right")
        write_legend(ax, lambda handle, label: handle.get_gid() != self._gid, ncols=2)
        return self

    def _draw_front(self, n_before):
        """Draw the points that are not dominated as steps."""
        cost, balance = np.asarray(self.cost), np.asarray(self.balance)
        # Steps by ascending balance, without dominated points.
        front = np.flatnonzero(non_dominated(cost, balance))
        front = front[np.argsort(balance[front])]
        (self.line_,) = self.ax_.plot(
            balance[front],
            cost[front],
            drawstyle="steps-pre",
            markersize=4.5,
            markevery=max(1, len(front) // _MAX_MARKERS),
            label=self.name,
            gid=self._gid,
            **style(n_before, "color", "linestyle", "marker"),
        )

    def _draw_limit(self):
        """Mark the balance of the data, once for all fronts of the axes."""
        label = "balance of the data"
        if self.data_balance is None or label in self.ax_.get_legend_handles_labels()[1]:
            return
        self.ax_.axvline(self.data_balance, color=INK, linewidth=0.8, linestyle=":", label=label)

    def _draw_selected(self):
        """Mark the selected point."""
        if self.selected is None:
            return
        balance, cost = self.balance[self.selected], self.cost[self.selected]
        self.ax_.plot(
            balance,
            cost,
            linestyle="none",
            marker="o",
            markersize=12,
            markerfacecolor="none",
            markeredgecolor=INK,
            markeredgewidth=1.6,
            zorder=3,
            label=f"selected: {self.criterion.replace('_', ' ')} {balance:.3g}, cost {cost:.4g}",
        )


@display_docs
class TradeoffDisplay(Display):
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

    _gid = "skfair-tradeoff"

    def __init__(
        self, front: pd.DataFrame, *, name: str | None = None, gap_name: str = "gap between groups"
    ):
        self.front = front
        self.name = name
        self.gap_name = gap_name

    @classmethod
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
        ax = self._use_axes(ax, size=(6.4, 4.2))
        front = self.front.sort_values("tolerance")
        # Colours and markers continue after the models that are on the axes.
        marks = style(self._count_drawn(), "color", "marker")
        # Confidence intervals of both coordinates, if the front has them.
        points = front["gap"], front["accuracy"]
        for column, side in (("gap", "xerr"), ("accuracy", "yerr")):
            if f"{column}_low" not in front:
                continue
            limits = front[[f"{column}_low", f"{column}_high"]].to_numpy().T
            margins = np.abs(limits - front[column].to_numpy())
            ax.errorbar(
                *points, **{side: margins}, fmt="none", ecolor=marks["color"], elinewidth=0.8
            )
        (self.line_,) = ax.plot(
            *points,
            markersize=6,
            linewidth=1.0,
            label=self.name,
            gid=self._gid,
            **marks,
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
        write_legend(ax)
        return self
