"""The price of balance: a Pareto front of clustering cost against balance."""

import numpy as np

from skfair.metrics import non_dominated
from skfair.plotting._style import COLORS, INK, LINES, MARKERS, cycle, new_axes, strip_frame

_GID = "skfair-pareto-front"
_MOST_MARKERS = 25
_LABELS = {
    "balance": "balance (rarest / commonest group, worst cluster)",
    "share_ratio": "share ratio (least / largest share of a group, worst cluster)",
}


class ParetoFrontDisplay:
    """Picture of a Pareto front: what each balance costs.

    The front is drawn as the staircase it is: the least cost at which each balance can be had.
    Points that another one beats in both are left out.
    Draw several fronts on the same axes to compare them: pass ``ax=display.ax_`` to the next
    call; colours, lines and markers advance by themselves.

    Parameters
    ----------
    cost : array-like of shape (n_points,)
        Clustering cost of each point, such as the mean squared distance to the cluster's centre or
        the normalised cut.
    balance : array-like of shape (n_points,)
        Balance of each point, in [0, 1]: rarest over commonest group, in the worst cluster; or what
        ``criterion`` names.
    data_balance : float, default=None
        Balance of the data, which no clustering exceeds by more than rounding; drawn as a
        vertical line.
    selected : int, default=None
        Index of the point to mark.
    name : str, default=None
        Name of the front in the legend.
    cost_name : str, default="cost"
        Label of the cost axis.
    criterion : {"balance", "share_ratio"}, default="balance"
        What ``balance`` holds: with "share_ratio" the least ratio of two groups' shares in a
        cluster.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes with the front, once drawn.
    figure_ : matplotlib.figure.Figure
        The figure with the axes, once drawn.
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
    'balance (rarest / commonest group, worst cluster)'
    """

    def __init__(
        self,
        cost,
        balance,
        *,
        data_balance=None,
        selected=None,
        name=None,
        cost_name="cost",
        criterion="balance",
    ):
        self.cost = cost
        self.balance = balance
        self.data_balance = data_balance
        self.selected = selected
        self.name = name
        self.cost_name = cost_name
        self.criterion = criterion

    @classmethod
    def from_front(cls, front, *, selected=None, name=None, ax=None):
        """Draw a front.

        Parameters
        ----------
        front : ParetoFront
            The front, for instance from :func:`skfair.cluster.fair_kmeans_front`: its `cost` and
            `balance`, or `share_ratio`, are drawn, its `cost_name` labels the axis.
        selected : int, default=None
            Index of the point to mark, for instance ``front.select(min_balance=0.8)``.
        name : str, default=None
            Name of the front in the legend.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        display : ParetoFrontDisplay
            The drawn display.
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

    def plot(self, ax=None):
        """Draw the front.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        display : ParetoFrontDisplay
            This display, with `ax_`, `figure_` and `line_`.
        """
        self.ax_ = ax = new_axes(ax, size=(6.4, 4.2))
        self.figure_ = ax.figure
        self._draw_front(n_before=sum(line.get_gid() == _GID for line in ax.lines))
        self._draw_limit()
        self._draw_selected()
        ax.set_xlabel(_LABELS[self.criterion])
        ax.set_ylabel(self.cost_name)
        strip_frame(ax, "top", "right")
        self._write_legend()
        return self

    def _draw_front(self, n_before):
        cost, balance = np.asarray(self.cost), np.asarray(self.balance)
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
            markevery=max(1, len(front) // _MOST_MARKERS),
            label=self.name,
            gid=_GID,
        )

    def _draw_limit(self):
        label = "balance of the data"
        if self.data_balance is None or label in self.ax_.get_legend_handles_labels()[1]:
            return
        self.ax_.axvline(self.data_balance, color=INK, linewidth=0.8, linestyle=":", label=label)

    def _draw_selected(self):
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

    def _write_legend(self):
        """Put the legend above the axes, where it can never cover a point."""
        handles, labels = self.ax_.get_legend_handles_labels()
        if not handles:
            return
        fronts_first = sorted(range(len(handles)), key=lambda i: handles[i].get_gid() != _GID)
        self.ax_.legend(
            [handles[i] for i in fronts_first],
            [labels[i] for i in fronts_first],
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=2,
            frameon=False,
        )
