"""Display of a Pareto front of clustering cost against balance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skfair.metrics import non_dominated
from skfair.plotting._docstrings import display_docs
from skfair.plotting._style import (
    COLORS,
    INK,
    LINES,
    MARKERS,
    cycle,
    legend_above,
    new_axes,
    strip_frame,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_GID = "skfair-pareto-front"
_MAX_MARKERS = 25
_LABELS = {
    "balance": "balance (smallest / largest group, worst cluster)",
    "share_ratio": "share ratio (smallest / largest share of a group, worst cluster)",
}


@display_docs
class ParetoFrontDisplay:
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
    @display_docs
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

    @display_docs
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
        self.ax_ = ax = new_axes(ax, size=(6.4, 4.2))
        self.figure_ = ax.figure
        # Colours and markers continue after the fronts that are on the axes.
        self._draw_front(n_before=sum(line.get_gid() == _GID for line in ax.lines))
        self._draw_limit()
        self._draw_selected()
        ax.set_xlabel(_LABELS[self.criterion])
        ax.set_ylabel(self.cost_name)
        strip_frame(ax, "top", "right")
        legend_above(ax, lambda handle, label: handle.get_gid() != _GID, n_columns=2)
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
            color=cycle(COLORS, n_before),
            linestyle=cycle(LINES, n_before),
            marker=cycle(MARKERS, n_before),
            markersize=4.5,
            markevery=max(1, len(front) // _MAX_MARKERS),
            label=self.name,
            gid=_GID,
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
