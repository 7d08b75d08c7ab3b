"""Display of the rates of each group with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skfair.metrics import PREDICTIONS, group_report
from skfair.plotting._docstrings import display_docs
from skfair.plotting._style import (
    COLORS,
    INK,
    MARKERS,
    cycle,
    legend_above,
    new_axes,
    strip_frame,
    to_text,
)
from skfair.utils._types import Label, MatrixLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator


_RATES = ("selection_rate", "true_positive_rate", "false_positive_rate")
_OVERALL = "all samples"


@display_docs
class GroupRateDisplay:
    """Rates of each group, with 95 % confidence intervals.

    Each rate is one row with a mark for every group. The bars are 95 % intervals, and a line marks
    the rate of all samples. Next to each mark is the number of samples that it is a share of. A
    difference between marks may be sampling noise if the bars overlap by much.

    Parameters
    ----------
    rates : array-like of shape (n_groups, n_rates)
        Rates of the groups, in [0, 1]; nan is not drawn.
    intervals : array-like of shape (n_groups, n_rates, 2)
        Lower and upper ends of their confidence intervals.
    overall : array-like of shape (n_rates,)
        Rates of all samples.
    rate_names : sequence of str
        Names of the rates.
    {group_names}
    counts : array-like of shape (n_groups, n_rates), default=None
        Number of samples that each rate is a share of, the effective number if they are weighted.
        None writes nothing.

    Attributes
    ----------
    {ax_, figure_}

    See Also
    --------
    skfair.metrics.group_report : The same numbers as a table.

    Examples
    --------
    >>> from skfair.plotting import GroupRateDisplay
    >>> display = GroupRateDisplay.from_predictions(
    ...     [1, 1, 0, 0, 1, 1, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0], sensitive_features=[*"aaaabbbb"]
    ... )
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['selection rate', 'true positive rate', 'false positive rate']
    """

    def __init__(
        self,
        rates: Sequence[ArrayLike] | np.ndarray,
        intervals: ArrayLike,
        overall: ArrayLike,
        *,
        rate_names: Sequence[str],
        group_names: Sequence[str] | None = None,
        counts: Sequence[ArrayLike] | np.ndarray | None = None,
    ):
        self.rates = rates
        self.intervals = intervals
        self.overall = overall
        self.rate_names = rate_names
        self.group_names = group_names
        self.counts = counts

    @classmethod
    @display_docs
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        sensitive_features: MatrixLike,
        rates: Sequence[str] = _RATES,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the rates of a classifier's predictions.

        Parameters
        ----------
        {estimator, X}
        y : array-like of shape (n_samples,)
            True class of each sample.
        {sensitive_features}
        rates : sequence of str
            Rates to draw, columns of :func:`skfair.metrics.group_report`.
        sample_weight : array-like of shape (n_samples,), default=None
            Sampling weights, as in :func:`skfair.metrics.group_report`. None: equal weights.
        {pos_label, ax}

        Returns
        -------
        {display}

        Raises
        ------
        {NotFittedError}
        """
        check_is_fitted(estimator)
        (y_true, y_pred), params = PREDICTIONS["classification"](
            estimator, X, y, sensitive_features, pos_label
        )
        return cls.from_predictions(
            y_true,
            y_pred,
            sensitive_features=sensitive_features,
            rates=rates,
            sample_weight=sample_weight,
            ax=ax,
            **params,
        )

    @classmethod
    @display_docs
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        sensitive_features: MatrixLike,
        rates: Sequence[str] = _RATES,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the rates of any predictions.

        Parameters
        ----------
        {y_true}
        y_pred : array-like of shape (n_samples,)
            Predicted class of each sample.
        {sensitive_features}
        rates : sequence of str
            Rates to draw, columns of :func:`skfair.metrics.group_report`.
        sample_weight : array-like of shape (n_samples,), default=None
            Sampling weights, as in :func:`skfair.metrics.group_report`. None: equal weights.
        pos_label : int, float, bool or str, default=None
            The positive class, as in :func:`skfair.metrics.group_report`.
        {ax}

        Returns
        -------
        {display}

        Raises
        ------
        ValueError
            If a rate is unknown, or as in :func:`skfair.metrics.group_report`.
        """
        report = group_report(
            y_true,
            y_pred,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            pos_label=pos_label,
        )
        rates = list(rates)
        # Every rate of the report has a standard error.
        known = [name.removesuffix("_se") for name in report if name.endswith("_se")]
        unknown = sorted(set(rates) - set(known))
        if unknown:
            raise ValueError(f"rates must be among {known}; got {unknown}.")
        # The last row of the report is that of all samples.
        groups, overall = report.iloc[:-1], report.iloc[-1]
        ends = [groups[[f"{rate}_{end}" for rate in rates]] for end in ("low", "high")]
        display = cls(
            groups[rates].to_numpy(),
            np.stack(ends, axis=-1),
            overall[rates].to_numpy(dtype=np.float64),
            rate_names=[rate.replace("_", " ") for rate in rates],
            group_names=to_text(groups.index),
            counts=groups[[f"{rate}_n" for rate in rates]].to_numpy(),
        )
        return display.plot(ax=ax)

    @display_docs
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the rates.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a new figure whose height follows the number of marks.

        Returns
        -------
        {display}
        """
        rates, intervals = np.asarray(self.rates), np.asarray(self.intervals)
        n_groups, n_rates = rates.shape
        self.ax_ = ax = new_axes(ax, size=(6.4, 1.3 + n_rates * (0.3 + 0.16 * n_groups)))
        self.figure_ = ax.figure
        rows = np.arange(n_rates)
        names = self.group_names or [f"group {k}" for k in range(n_groups)]
        # The groups of a rate are drawn below each other, on the inner 60 % of its row.
        offsets = 0.6 * ((np.arange(n_groups) + 0.5) / n_groups - 0.5)
        for k, (name, offset) in enumerate(zip(names, offsets, strict=True)):
            # Bars reach to the ends of the intervals, which are not symmetric.
            margins = np.abs(intervals[k].T - rates[k])
            ax.errorbar(
                rates[k],
                rows + offset,
                xerr=margins,
                linestyle="none",
                color=cycle(COLORS, k),
                marker=cycle(MARKERS, k),
                markersize=5.5,
                capsize=2.5,
                label=name,
            )
            if self.counts is not None:
                self._write_counts(rows + offset, self.counts[k])
        # Rates of all samples, across the row of each rate.
        ax.vlines(self.overall, rows - 0.42, rows + 0.42, color=INK, linestyle=":", label=_OVERALL)
        ax.set_yticks(rows, self.rate_names)
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(n_rates - 0.5, -0.5)
        ax.xaxis.set_major_formatter("{x:.0%}")
        ax.set_xlabel("rate, with 95 % confidence interval")
        ax.tick_params(axis="y", length=0)
        strip_frame(ax, "top", "right", "left")
        legend_above(ax, lambda handle, label: label == _OVERALL)
        return self

    def _write_counts(self, heights, counts):
        """Write the number of samples next to each mark of a group."""
        # x is a share of the width of the axes, y a value of the data.
        transform = self.ax_.get_yaxis_transform()
        for height, count in zip(heights, counts, strict=True):
            text = f"of {count:,.0f}" if float(count).is_integer() else f"of {count:,.1f}"
            self.ax_.text(1.01, height, text, transform=transform, va="center", size=7, color=INK)
