"""Display of the calibration of probabilities by group."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skfair._utils.api import Axes, Label, MatrixLike
from skfair._utils.checks import check_model
from skfair._utils.parameters import CONFIDENCE_LEVEL, make_constructor
from skfair.metrics import reliability_table
from skfair.metrics._scoring import ARGUMENTS_BY_METRIC_KIND
from skfair.plotting._display import (
    INK,
    Display,
    display_docs,
    name_interval,
    strip_frame,
    style,
    to_text,
    write_legend,
)

_CALIBRATED = "calibrated"


@display_docs
@make_constructor
class GroupCalibrationDisplay(Display):
    """Observed against predicted frequency of the positive class, for each group.

    Each mark is a bin of probabilities that holds samples of the group, with a confidence interval
    of the observed frequency. Marks of calibrated probabilities are on the diagonal, up to these
    intervals. Marks above it mean that the probabilities of the group are too low, marks below it
    that they are too high.

    Read more in the :ref:`guide <audit_calibration>`.

    Parameters
    ----------
    table : DataFrame
        As :func:`skfair.metrics.reliability_table` returns it. Bins of all samples, "overall", are
        not drawn.

    Attributes
    ----------
    {ax_, figure_}

    See Also
    --------
    skfair.metrics.reliability_table : Computes the table.
    skfair.metrics.expected_calibration_error : Mean distance of both frequencies.
    sklearn.calibration.CalibrationDisplay : The curve of all samples, without intervals.

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
        confidence_level: float = CONFIDENCE_LEVEL,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the calibration of a classifier's probabilities.

        Parameters
        ----------
        {estimator}
            It has predict_proba.
        {X}
        y : array-like of shape (n_samples,)
            True class of each sample.
        {sensitive_features, n_bins, strategy, sample_weight, pos_label, confidence_level, ax}

        Returns
        -------
        {display}

        Raises
        ------
        {NotFittedError}
        ValueError
            If the estimator has no predict_proba, or as in
            :func:`skfair.metrics.reliability_table`.
        """
        check_model(estimator)
        check_is_fitted(estimator)
        if hasattr(estimator, "classes_") and not hasattr(estimator, "predict_proba"):
            raise ValueError(
                "The classifier must have predict_proba, since calibration is about probabilities, "
                f"but this {type(estimator).__name__} has none. Wrap it in "
                "sklearn.calibration.CalibratedClassifierCV."
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
            confidence_level=confidence_level,
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
        confidence_level: float = CONFIDENCE_LEVEL,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the calibration of any probabilities.

        Parameters
        ----------
        {y_true}
        y_proba : array-like of shape (n_samples,)
            Probability of the positive class.
        {sensitive_features, n_bins, strategy, sample_weight}
        pos_label : int, float, bool or str, default=None
            The positive class, as in :func:`skfair.metrics.group_report`.
        {confidence_level, ax}

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
            confidence_level=confidence_level,
        )
        return cls(table).plot(ax=ax)

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
        for k, (name, bins) in enumerate(self._split_by_group()):
            observed = bins["estimate"].to_numpy()
            # Bars reach to the ends of the intervals, which are not symmetric.
            margins = np.abs(bins[["low", "high"]].to_numpy().T - observed)
            ax.errorbar(
                bins["mean_probability"],
                observed,
                yerr=margins,
                markersize=5,
                capsize=2.5,
                linewidth=1,
                label=name,
                **style(k, "color", "marker", "linestyle"),
            )
        ax.plot([0, 1], [0, 1], color=INK, linestyle=":", linewidth=1, label=_CALIBRATED)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="mean predicted probability")
        ax.set_ylabel(f"observed frequency, with {name_interval(self.table)}")
        strip_frame(ax)
        write_legend(ax, lambda handle, label: label == _CALIBRATED)
        return self

    def _split_by_group(self) -> list[tuple[str, pd.DataFrame]]:
        """Pairs of the name of each group and its bins, without those of all samples."""
        index = self.table.index
        groups = index.droplevel(-1)
        codes, _ = groups.factorize()
        bins = index.get_level_values(-1)
        # Bins ascend within a group, so that a group may be called "overall", too.
        starts = np.flatnonzero((np.diff(codes) != 0) | (np.diff(bins) <= 0)) + 1
        blocks = np.split(np.arange(len(index)), starts)
        if index.get_level_values(0)[-1] == "overall":
            blocks.pop()
        names = to_text(groups)
        return [(names[rows[0]], self.table.iloc[rows]) for rows in blocks]
