"""Display of the group composition of every cluster, compared with that of the data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skfair.groups import group_names
from skfair.metrics import cluster_composition
from skfair.plotting._docstrings import display_docs
from skfair.plotting._style import INK, Display, strip_frame, style, to_text, write_legend
from skfair.utils._balance import cluster_balances
from skfair.utils._types import Label, MatrixLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator


@display_docs
class ClusterCompositionDisplay(Display):
    """Group composition of every cluster.

    Each cluster is one bar, divided by the shares of the groups. Dashed lines show the divisions of
    the whole data: those of a perfectly balanced clustering are all on these lines. Next to each
    bar are the size of its cluster, its balance (smallest over largest group), and its share ratio:
    the smallest over the largest share of a group that is in the cluster, which the four-fifths
    (80 %) rule requires to be at least 0.8.

    Parameters
    ----------
    counts : array-like of shape (n_clusters, n_groups)
        Number (or weight) of the samples of each group in each cluster.
    {group_names}
    cluster_names : sequence of str, default=None
        Names of the clusters. None numbers them.

    Attributes
    ----------
    {ax_, figure_}

    See Also
    --------
    skfair.metrics.cluster_composition : The same numbers as a table.

    Examples
    --------
    >>> from skfair.plotting import ClusterCompositionDisplay
    >>> display = ClusterCompositionDisplay([[30, 10], [20, 20]], group_names=["men", "women"])
    >>> [label.get_text() for label in display.plot().ax_.get_yticklabels()]
    ['cluster 0', 'cluster 1']
    """

    def __init__(
        self,
        counts: ArrayLike,
        *,
        group_names: Sequence[str] | None = None,
        cluster_names: Sequence[str] | None = None,
    ):
        self.counts = counts
        self.group_names = group_names
        self.cluster_names = cluster_names

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, attribute: Label | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw the composition of a fitted clusterer on its training data.

        Parameters
        ----------
        estimator : estimator instance
            A fitted clusterer with `group_counts_` and `groups_`, such as
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
        check_is_fitted(estimator, "group_counts_")
        names, counts = group_names(estimator.groups_.labels), estimator.group_counts_
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
            names, counts = [names[g][1] for g in drawn], counts[:, drawn]
        return cls(counts, group_names=to_text(names)).plot(ax=ax)

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
        display = cls(
            table.to_numpy(), group_names=to_text(table.columns), cluster_names=table.index
        )
        return display.plot(ax=ax)

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
        counts = np.asarray(self.counts, dtype=float)
        ax = self._use_axes(ax, size=(6.4, 1.5 + 0.34 * len(counts)))
        self._draw_bars(counts)
        self._draw_reference(counts.sum(axis=0))
        self._write_numbers(counts)
        ax.set_xlim(0, 1)
        ax.set_ylim(len(counts) - 0.5, -0.5)
        ax.xaxis.set_major_formatter("{x:.0%}")
        ax.set_xlabel("share of the cluster")
        ax.tick_params(axis="y", length=0)
        strip_frame(ax, "top", "right", "left")
        self._write_legend()
        return self

    def _draw_bars(self, counts):
        """Draw a bar for each cluster, divided by the shares of the groups."""
        n_clusters, n_groups = counts.shape
        clusters = range(n_clusters) if self.cluster_names is None else self.cluster_names
        groups = self._name_groups(n_groups)
        # Stacked bars: each group starts where the one before ends.
        shares = counts / counts.sum(axis=1, keepdims=True)
        starts = np.cumsum(shares, axis=1) - shares
        for j, name in enumerate(groups):
            self.ax_.barh(
                np.arange(n_clusters),
                shares[:, j],
                left=starts[:, j],
                height=0.7,
                edgecolor="white",
                label=name,
                **style(j, "color", "hatch"),
            )
        self.ax_.set_yticks(range(n_clusters), [f"cluster {name}" for name in clusters])

    def _draw_reference(self, group_sizes):
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

    def _write_numbers(self, counts):
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

    def _write_legend(self):
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
