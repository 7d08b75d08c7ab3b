"""Display of the calibration of probabilities by group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skfair.metrics import reliability_table
from skfair.metrics._scoring import ARGUMENTS_BY_METRIC_KIND
from skfair.plotting._display import (
    INK,
    Display,
    display_docs,
    strip_frame,
    style,
    to_text,
    write_legend,
)
from skfair.utils._api import Label, MatrixLike
from skfair.utils._parameters import make_constructor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator


@display_docs
@make_constructor
class GroupCalibrationDisplay(Display):
    """Observed against predicted frequency of the positive class, for each group.

    Each mark is a bin of probabilities, with a 95 % interval of the frequency. Marks of calibrated
    probabilities lie on the diagonal, up to these intervals. Above it the probabilities of a group
    are too low, below it too high.

    Parameters
    ----------
    table : DataFrame
        As returned by :func:`skfair.metrics.reliability_table`, with one group or more.

    Attributes
    ----------
    {ax_, figure_}

    See Also
    --------
    skfair.metrics.reliability_table : The same numbers as a table.

    Examples
    --------
    >>> from skfair.plotting import GroupCalibrationDisplay
    >>> display = GroupCalibrationDisplay.from_predictions(
    ...     [0, 1, 1, 1, 0, 0, 1, 0],
    ...     [0.2, 0.2, 0.9, 0.9, 0.2, 0.2, 0.9, 0.9],
    ...     sensitive_features=[*"aaaabbbb"],
    ...     n_bins=2,
    ... )
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['a', 'b', 'calibrated']
    """

    table: pd.DataFrame

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        sensitive_features: MatrixLike,
        n_bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the calibration of a classifier's probabilities.

        Parameters
        ----------
        {estimator, X}
        y : array-like of shape (n_samples,)
            True class of each sample.
        {sensitive_features}
        n_bins : int, default=10
            Number of bins.
        strategy : {"uniform", "quantile"}, default="uniform"
            As in :func:`skfair.metrics.reliability_table`.
        {sample_weight, pos_label, ax}

        Returns
        -------
        {display}

        Raises
        ------
        {NotFittedError}
        ValueError
            As in :func:`skfair.metrics.reliability_table`, or if the classifier has no
            ``predict_proba``.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"Calibration is that of probabilities, but this {type(estimator).__name__} has no "
                "predict_proba. Wrap it in sklearn.calibration.CalibratedClassifierCV."
            )
        (y_true, y_proba), params = ARGUMENTS_BY_METRIC_KIND["labelled_probability"](
            estimator, X, y, sensitive_features, pos_label
        )
        return cls.from_predictions(
            y_true,
            y_proba,
            sensitive_features=sensitive_features,
            n_bins=n_bins,
            strategy=strategy,
            sample_weight=sample_weight,
            ax=ax,
            **params,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        *,
        sensitive_features: MatrixLike,
        n_bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the calibration of any probabilities.

        Parameters
        ----------
        {y_true}
        y_proba : array-like of shape (n_samples,)
            Probability of the positive class.
        {sensitive_features}
        n_bins : int, default=10
            Number of bins.
        strategy : {"uniform", "quantile"}, default="uniform"
            As in :func:`skfair.metrics.reliability_table`.
        {sample_weight}
        pos_label : int, float, bool or str, default=None
            The positive class, as in :func:`skfair.metrics.group_report`.
        {ax}

        Returns
        -------
        {display}

        Raises
        ------
        ValueError
            As in :func:`skfair.metrics.reliability_table`.
        """
        table = reliability_table(
            y_true,
            y_proba,
            sensitive_features=sensitive_features,
            n_bins=n_bins,
            strategy=strategy,
            sample_weight=sample_weight,
            pos_label=pos_label,
        )
        # The bins of all samples come last, and are left out.
        is_group = table.index.get_level_values(0) != "overall"
        return cls(table[is_group]).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the marks.

        Parameters
        ----------
        {ax}

        Returns
        -------
        {display}
        """
        ax = self._use_axes(ax, size=(5.2, 4.8))
        codes, groups = self.table.index.droplevel(-1).factorize()
        for k, name in enumerate(to_text(groups)):
            bins = self.table[codes == k]
            observed, low, high = bins[["estimate", "low", "high"]].to_numpy().T
            ax.errorbar(
                bins["mean_probability"],
                observed,
                yerr=[observed - low, high - observed],
                markersize=5,
                capsize=2.5,
                linewidth=1,
                label=name,
                **style(k, "color", "marker", "linestyle"),
            )
        ax.plot([0, 1], [0, 1], color=INK, linestyle=":", linewidth=1, label="calibrated")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="mean predicted probability")
        ax.set_ylabel("observed frequency, with 95 % interval")
        strip_frame(ax, "top", "right")
        write_legend(ax, lambda handle, label: label == "calibrated")
        return self
