"""Display of the positive rate of one group against that of another, over all thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skfair.metrics import PREDICTIONS, check_scored
from skfair.plotting._docstrings import display_docs
from skfair.plotting._style import COLORS, INK, LINES, cycle, legend_above, new_axes, to_text
from skfair.utils._types import Label, MatrixLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator


_GID = "skfair-group-rate-curve"
_MAX_POINTS = 2000


@display_docs
class GroupRateCurveDisplay:
    """Positive rate of one group against another's, over all thresholds.

    It is the ROC curve of the group as predicted by the score: for equal score distributions it is
    the diagonal. Bands mark an interval of percentiles on both axes. Partial parity requires the
    diagonal only where they cross. To compare several models on the same axes, pass
    ``ax=display.ax_`` to the next call: colours and lines advance automatically.

    Parameters
    ----------
    rates : array-like of shape (n_groups, n_thresholds)
        Share of each group strictly above each threshold.
    reference : int, default=0
        Group of the horizontal axis.
    intervals : list of array-like, one per group, each of shape (n_pairs, 2), default=None
        Pairs (alpha, beta) to mark on the axis of each group; None marks none.
    {group_names, name}

    Attributes
    ----------
    {ax_, figure_}

    See Also
    --------
    skfair.metrics.partial_statistical_parity_difference : With ``scale="raw"``, how far a curve
        is from the diagonal within the bands.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026, Figure 2.

    Examples
    --------
    >>> from skfair.plotting import GroupRateCurveDisplay
    >>> display = GroupRateCurveDisplay.from_predictions(
    ...     [4, 3, 2, 1, 4, 2, 1, 0], sensitive_features=[*"aaaabbbb"], interval=(0.0, 0.5)
    ... )
    >>> display.ax_.get_ylabel()
    'share of b above the threshold'
    """

    def __init__(
        self,
        rates: ArrayLike,
        *,
        reference: int = 0,
        intervals: Sequence[ArrayLike] | None = None,
        group_names: Sequence[str] | None = None,
        name: str | None = None,
    ):
        self.rates = rates
        self.reference = reference
        self.intervals = intervals
        self.group_names = group_names
        self.name = name

    @classmethod
    @display_docs
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        *,
        sensitive_features: MatrixLike,
        interval: Sequence | dict | None = None,
        reference: Label | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the scores of a classifier.

        Parameters
        ----------
        {estimator}
            It has predict_proba or decision_function.
        {X, sensitive_features, interval}
        reference : label, default=None
            Group of the horizontal axis. None takes the largest.
        {sample_weight, pos_label}
        name : str, default=None
            Name of the model in the legend. None takes that of its class.
        {ax}

        Returns
        -------
        {display}

        Raises
        ------
        {NotFittedError}
        """
        check_is_fitted(estimator)
        (y_score,), _ = PREDICTIONS["decision"](estimator, X, None, sensitive_features, pos_label)
        return cls.from_predictions(
            y_score,
            sensitive_features=sensitive_features,
            interval=interval,
            reference=reference,
            sample_weight=sample_weight,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
        )

    @classmethod
    @display_docs
    def from_predictions(
        cls,
        y_score: ArrayLike,
        *,
        sensitive_features: MatrixLike,
        interval: Sequence | dict | None = None,
        reference: Label | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw any scores.

        Parameters
        ----------
        {y_score}
        sensitive_features : array-like or sparse matrix
            Group of each sample, at least two groups.
        {interval}
        reference : label, default=None
            Group of the horizontal axis. None takes the largest.
        {sample_weight, name, ax}

        Returns
        -------
        {display}

        Raises
        ------
        ValueError
            If there is only one group, `reference` is not a group, the inputs differ in length or
            hold missing values, or the interval is invalid.
        """
        # Without an interval all ranks are selected.
        ranks = (0.0, 1.0) if interval is None else interval
        scored, _ = check_scored(sensitive_features, sample_weight, ranks, y_score=y_score)
        if len(scored.names) < 2:
            raise ValueError(
                "sensitive_features must have at least two groups, one for each axis; got only "
                f"{scored.names[0]!r}."
            )
        display = cls(
            scored.table().rates(scored.weights),
            reference=_position(reference, scored),
            intervals=None if interval is None else scored.intervals,
            group_names=to_text(scored.names),
            name=name,
        )
        return display.plot(ax=ax)

    @display_docs
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        {ax}

        Returns
        -------
        {display}
        """
        self.ax_ = ax = new_axes(ax, size=(4.8, 5.2))
        self.figure_ = ax.figure
        rates = np.asarray(self.rates)
        names = self.group_names or [f"group {k}" for k in range(len(rates))]
        others = [k for k in range(len(rates)) if k != self.reference]
        # The background is drawn once, by the first curve on the axes.
        if not any(line.get_gid() == _GID for line in ax.lines):
            self._draw_background(others)
        self._draw_curves(rates, names, others)
        vertical = names[others[0]] if len(others) == 1 else "the other group"
        ax.set_xlabel(f"share of {names[self.reference]} above the threshold")
        ax.set_ylabel(f"share of {vertical} above the threshold")
        ax.xaxis.set_major_formatter("{x:.0%}")
        ax.yaxis.set_major_formatter("{x:.0%}")
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        legend_above(ax)
        return self

    def _draw_background(self, others):
        """Draw the diagonal and the bands of the intervals, once for all curves of the axes."""
        self.ax_.axline((0, 0), slope=1, color=INK, linewidth=0.8, linestyle=":")
        if self.intervals is None:
            return
        band = {"facecolor": (INK, 0.1), "linewidth": 0}
        for pair in self.intervals[self.reference]:
            self.ax_.axvspan(*pair, **band)
        for pair in np.unique(np.vstack([self.intervals[k] for k in others]), axis=0):
            self.ax_.axhspan(*pair, **band)

    def _draw_curves(self, rates, names, others):
        """Draw the curve of every other group, in the next colours of the axes."""
        n_before = sum(line.get_gid() == _GID for line in self.ax_.lines)
        # More points are not visible, but would enlarge a file.
        points = np.unique(np.linspace(0, rates.shape[1] - 1, _MAX_POINTS).astype(int))
        for index, k in enumerate(others, start=n_before):
            labels = [self.name, names[k] if len(others) > 1 else None]
            self.ax_.plot(
                rates[self.reference, points],
                rates[k, points],
                color=cycle(COLORS, index),
                linestyle=cycle(LINES, index),
                label=": ".join(filter(None, labels)) or None,
                gid=_GID,
            )


def _position(reference, scored):
    """Position of the group of the horizontal axis."""
    if reference is None:
        return int(np.argmax(np.bincount(scored.codes, scored.weights)))
    if reference not in scored.names:
        raise ValueError(f"reference must be one of the groups {scored.names}; got {reference!r}.")
    return scored.names.index(reference)
