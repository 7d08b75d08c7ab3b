"""Displays of clusterings and of their fronts: composition, balance against cost."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skfair._groups.groups import cluster_balances
from skfair._utils.api import Axes, Label, MatrixLike
from skfair._utils.checks import argument_error
from skfair._utils.parameters import make_constructor
from skfair.metrics import cluster_composition, non_dominated_mask
from skfair.plotting._display import (
    INK,
    Display,
    display_docs,
    strip_frame,
    style,
    to_text,
    write_legend,
)

# Display of the group composition of every cluster, compared with that of the data.


@display_docs
@make_constructor
class ClusterCompositionDisplay(Display):
    """Group composition of every cluster.

    Each cluster is one bar, divided by the shares of the groups. Dashed lines show the divisions of
    the whole data: those of a perfectly balanced clustering are all on these lines. Next to each
    bar are the size of its cluster, its balance (smallest over largest group), and its share ratio:
    the smallest over the largest share of a group that is in the cluster, which the four-fifths
    (80 %) rule requires to be at least 0.8.

    Read more in the :ref:`guide <fair_clustering>`.

    Parameters
    ----------
    table : DataFrame
        Number (or weight) of the samples of each group in each cluster: one row for each cluster
        and one column for each group, as :func:`skfair.metrics.cluster_composition` returns.

    Attributes
    ----------
    {ax_, figure_}

    See Also
    --------
    skfair.metrics.cluster_composition : The same numbers as a table.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfair.plotting import ClusterCompositionDisplay
    >>> table = pd.DataFrame({"men": [30, 20], "women": [10, 20]})
    >>> display = ClusterCompositionDisplay(table)
    >>> [label.get_text() for label in display.plot().ax_.get_yticklabels()]
    ['cluster 0', 'cluster 1']
    """

    table: pd.DataFrame

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, attribute: Label | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw the composition of a fitted clusterer on its training data.

        Parameters
        ----------
        estimator : estimator instance
            A fitted clusterer with `group_weights_` and `groups_`, such as
            :class:`skfair.cluster.FairKMeans`.
        attribute : label, default=None
            Attribute to draw of an estimator that balances each of several attributes separately.
        {ax}

        Returns
        -------
        {display}

        Raises
        ------
        {NotFittedError}
        ValueError
            If an attribute must be chosen, or there is none of that name.
        """
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise argument_error(
                "estimator must be a fitted clusterer of skfair.cluster, such as FairKMeans; got "
                f"{estimator!r}."
            )
        check_is_fitted(estimator, "group_weights_")
        names: list[Any] = estimator.groups_.names
        counts = estimator.group_weights_
        # Groups of single attributes: draw those of one attribute.
        if getattr(estimator, "attributes", None) == "each":
            known = list(dict.fromkeys(column for column, _ in names))
            if attribute not in known and (attribute is not None or len(known) > 1):
                raise ValueError(
                    f"attribute must be one of {known}, as the estimator balances each of them "
                    f"separately and a display shows one; got {attribute!r}."
                )
            attribute = known[0] if attribute is None else attribute
            drawn = [g for g, (column, _) in enumerate(names) if column == attribute]
            names = [names[g][1] for g in drawn]
            counts = counts[:, drawn]
        return cls(pd.DataFrame(counts, columns=to_text(names))).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        labels: ArrayLike,
        *,
        sensitive_features: MatrixLike,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the composition of any clustering.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            Cluster of each sample.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
            Group of each sample.
        {sample_weight, ax}

        Returns
        -------
        {display}

        Raises
        ------
        ValueError
            If `sensitive_features` does not name one group per sample.
        """
        table = cluster_composition(
            labels, sensitive_features=sensitive_features, sample_weight=sample_weight
        )
        return cls(table).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a new figure whose height follows the number of clusters.

        Returns
        -------
        {display}
        """
        counts = self.table.to_numpy(dtype=np.float64)
        ax = self._use_axes(ax, size=(6.4, 1.5 + 0.34 * len(counts)))
        self._draw_bars(counts)
        self._draw_reference(counts.sum(axis=0))
        self._annotate_statistics(counts)
        ax.set(xlim=(0, 1), ylim=(len(counts) - 0.5, -0.5), xlabel="share of the cluster")
        ax.xaxis.set_major_formatter("{x:.0%}")
        strip_frame(ax, has_vertical_scale=False)
        self._write_legend()
        return self

    def _draw_bars(self, counts: np.ndarray) -> None:
        """Draw a bar for each cluster, divided by the shares of the groups."""
        n_clusters = len(counts)
        # Stacked bars: each group starts where the one before ends.
        shares = counts / counts.sum(axis=1, keepdims=True)
        starts = np.cumsum(shares, axis=1) - shares
        for j, name in enumerate(to_text(self.table.columns)):
            self.ax_.barh(
                np.arange(n_clusters),
                shares[:, j],
                left=starts[:, j],
                height=0.7,
                edgecolor="white",
                label=name,
                **style(j, "color", "hatch"),
            )
        self.ax_.set_yticks(range(n_clusters), [f"cluster {name}" for name in self.table.index])

    def _draw_reference(self, group_sizes: np.ndarray) -> None:
        """Draw a dashed line at each division of the whole data."""
        from matplotlib.patheffects import withStroke

        # White outlines keep the lines visible on any colour.
        divisions = np.cumsum(group_sizes / group_sizes.sum())[:-1]
        for j, division in enumerate(divisions):
            self.ax_.axvline(
                division,
                color=INK,
                linewidth=1.4,
                linestyle=(0, (3, 2)),
                path_effects=[withStroke(linewidth=3.5, foreground="white")],
                label=None if j else "all data",
            )

    def _annotate_statistics(self, counts: np.ndarray) -> None:
        """Write the size, the balance and the share ratio of each cluster right of its bar."""
        ax = self.ax_
        sizes = [f"{size:,.6g}" for size in counts.sum(axis=1)]
        balances = [f"{balance:.3f}" for balance in cluster_balances(counts)]
        ratios = [f"{ratio:.3f}" for ratio in cluster_balances(counts / counts.sum(axis=0))]
        columns = [("samples", sizes, 52), ("balance", balances, 106), ("share ratio", ratios, 172)]
        # Columns right of the axes, at fixed distances in points.
        for heading, texts, points in columns:
            write = partial(ax.annotate, textcoords="offset points", ha="right")
            write(heading, (1, 1), xytext=(points, 0), xycoords="axes fraction", va="bottom")
            for row, text in enumerate(texts):
                coordinates = ax.get_yaxis_transform()
                write(text, (1, row), xytext=(points, 0), xycoords=coordinates, va="center")

    def _write_legend(self) -> None:
        """Put the legend below the axis' title, where it never covers a bar."""
        from matplotlib.transforms import ScaledTranslation

        bottom = ScaledTranslation(0, -0.53, self.figure_.dpi_scale_trans)
        # Bars first, lines last.
        write_legend(
            self.ax_,
            lambda handle, label: handle in self.ax_.lines,
            loc="upper left",
            bbox_to_anchor=(0, 0),
            bbox_transform=self.ax_.transAxes + bottom,
            borderaxespad=0,
            borderpad=0,
        )


# Display of trade-offs: clustering cost against balance.


_METRIC_LABELS = {
    "balance": "balance (smallest / largest group, worst cluster)",
    "relative_balance": "relative balance (share of the data's balance, worst cluster)",
    "share_ratio": "share ratio (smallest / largest share of a group, worst cluster)",
}


@display_docs
@make_constructor
class ParetoFrontDisplay(Display):
    """Pareto front of clustering cost against balance, or of accuracy against the gap of decisions.

    The front is a step function: the smallest cost at which each balance is reached. Dominated
    points are not drawn. To compare several fronts on the same axes, pass ``ax=display.ax_`` to the
    next call: colours, lines and markers advance automatically.

    :meth:`skfair.cluster.ParetoFront.plot` and :meth:`skfair.audit.FairnessFront.plot` draw fronts
    that were computed.

    Of classifiers, whose accuracies and gaps are estimates, all points are drawn and connected by
    ascending gap, with their intervals.

    Read more in the :ref:`guide <fair_clustering>`.

    Parameters
    ----------
    table : DataFrame
        The points, one in each row, as :meth:`skfair.cluster.ParetoFront.to_frame` returns them.
        The column ``cost`` has the clustering cost of each point, such as the mean squared distance
        to the cluster's centre or the normalised cut. The column of the name ``metric`` has its
        balance, in [0, 1]. Or the table of :meth:`skfair.audit.FairnessFront.to_frame`, with the
        columns ``accuracy`` and ``gap``, and perhaps ``tolerance``, which is written at each point.
    selected : int, default=None
        Position of the point to mark.
    name : str, default=None
        Name of the front in the legend.
    metric : {"balance", "relative_balance", "share_ratio"}, default="balance"
        Column of the table to draw. "balance" is smallest over largest group, in the worst cluster,
        "relative_balance" its share of the balance of the data, and "share_ratio" the smallest
        ratio of two groups' shares in a cluster.

    Attributes
    ----------
    {ax_, figure_}
    line_ : matplotlib.lines.Line2D
        The front, once drawn.

    See Also
    --------
    skfair.cluster.cluster_front : Compute a front of clusterings.
    skfair.audit.fairness_front : Compute a front of classifiers.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfair.plotting import ParetoFrontDisplay
    >>> points = pd.DataFrame({"cost": [1.0, 1.1, 1.5], "balance": [0.1, 0.3, 0.4]})
    >>> display = ParetoFrontDisplay(points, name="by hand")
    >>> display.plot().ax_.get_xlabel()
    'balance (smallest / largest group, worst cluster)'
    """

    _gid = "skfair-pareto-front"

    table: pd.DataFrame
    _: KW_ONLY
    selected: int | None = None
    name: str | None = None
    metric: str = "balance"

    def plot(self, ax: Axes | None = None, *, bound: float | None = None) -> Self:
        """Draw the front.

        Parameters
        ----------
        {ax}
        bound : float, default=None
            The balance of the data, to mark by a vertical line. No clustering exceeds it by more
            than rounding.

        Returns
        -------
        display : ParetoFrontDisplay
            This display, with `ax_`, `figure_` and `line_`.
        """
        ax = self._use_axes(ax, size=(6.4, 4.2))
        # Colours and markers continue after the fronts that are on the axes.
        self._draw_front(n_before=self._count_drawn())
        self._draw_bound(bound)
        self._draw_selected()
        y, x = self._names()
        ax.set(xlabel=_METRIC_LABELS.get(x, x), ylabel=y)
        strip_frame(ax)
        write_legend(ax, lambda handle, label: handle.get_gid() != self._gid, ncols=2)
        return self

    def _names(self) -> tuple[str, str]:
        """Columns of cost and balance, or of accuracy and gap."""
        names = ("cost", self.metric), ("accuracy", "gap")
        known = next((pair for pair in names if {*pair} <= {*self.table}), None)
        if known is None:
            raise ValueError(
                f"table must have the columns 'cost' and {self.metric!r} of clusterings, or "
                f"'accuracy' and 'gap' of classifiers, but has {[*self.table]}."
            )
        return known

    def _coordinates(self) -> list[np.ndarray]:
        """Cost and balance of the points, or accuracy and gap."""
        return [self.table[name].to_numpy() for name in self._names()]

    def _draw_front(self, n_before):
        """Draw the points that are not dominated as steps, or all of classifiers as a line."""
        cost, balance = self._coordinates()
        is_step = "cost" in self._names()
        # By ascending balance or gap, without dominated clusterings.
        is_drawn = non_dominated_mask(cost, balance) if is_step else ~np.isnan(balance)
        front = np.flatnonzero(is_drawn)
        front = front[np.argsort(balance[front])]
        (self.line_,) = self.ax_.plot(
            balance[front],
            cost[front],
            drawstyle="steps-pre" if is_step else "default",
            markersize=4.5,
            markevery=max(1, len(front) // 25),  # about 25 markers are distinct
            label=self.name,
            gid=self._gid,
            **style(n_before, "color", "linestyle", "marker"),
        )
        if "tolerance" in self.table:
            color = self.line_.get_color()
            points = self.table[["tolerance", *self._names()[::-1]]].dropna()
            # The first front has its tolerances above the line, and others below it.
            place = (4, -13) if n_before else (4, 5)
            for value, *point in points.to_numpy():
                self.ax_.annotate(str(value), point, place, textcoords="offset points", color=color)
        limits = [f"{name}_{end}" for name in self._names() for end in ("low", "high")]
        if {*limits} <= {*self.table}:
            low, high, left, right = self.table[limits].to_numpy()[front].T
            lines = {"colors": self.line_.get_color(), "linewidth": 0.8, "alpha": 0.6}
            self.ax_.vlines(balance[front], low, high, **lines)
            self.ax_.hlines(cost[front], left, right, **lines)

    def _draw_bound(self, bound: float | None) -> None:
        """Mark the balance of the data, once for all fronts of the axes."""
        label = "balance of the data"
        if bound is None or label in self.ax_.get_legend_handles_labels()[1]:
            return
        self.ax_.axvline(bound, color=INK, linewidth=0.8, linestyle=":", label=label)

    def _draw_selected(self) -> None:
        """Mark the selected point."""
        if self.selected is None:
            return
        cost, balance = (values[self.selected] for values in self._coordinates())
        y, x = self._names()
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
            label=f"selected: {x.replace('_', ' ')} {balance:.3g}, {y} {cost:.4g}",
        )
