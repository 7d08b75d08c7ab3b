"""Displays of groups: their rates, those of subgroups, and the rate of one against another's."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skfair._groups.events import intervals_by_group
from skfair._utils.api import Axes, Intervals, Label, MatrixLike
from skfair._utils.checks import argument_error, check_model, join_names
from skfair._utils.parameters import CONFIDENCE_LEVEL, make_constructor
from skfair.metrics import group_report
from skfair.metrics._group_metrics import RESPONSES, find_group_metrics
from skfair.metrics._group_report import Metrics
from skfair.metrics._partial import check_scored_members
from skfair.metrics._rates import find_positive_multiclass
from skfair.metrics._scoring import ARGUMENTS_BY_METRIC_KIND, find_positive_class
from skfair.plotting._display import (
    INK,
    Display,
    check_scores,
    display_docs,
    name_interval,
    predict_scores,
    strip_frame,
    style,
    tabulate_groups,
    to_text,
    write_at_right,
    write_legend,
)

if TYPE_CHECKING:
    from skfair._utils.tables import TableLike


_RATES = ("selection_rate", "true_positive_rate", "false_positive_rate")
_OVERALL = "all samples"


@display_docs
@make_constructor
class GroupRateDisplay(Display):
    """Rates of each group, with their confidence intervals.

    Each rate is one row with a mark for every group. The bars are intervals, and a line marks
    the rate of all samples. Next to each mark is the number of samples that it is a share of. A
    difference between marks may be sampling noise if the bars overlap by much.

    Read more in the :ref:`guide <audit>`.

    Parameters
    ----------
    table : DataFrame
        As :func:`skfair.metrics.group_report` returns it with a ``confidence_level`` and without
        control features. The last row is that of all samples.

    Attributes
    ----------
    {ax_, figure_}

    See Also
    --------
    skfair.metrics.group_report : Computes the table.

    Examples
    --------
    >>> from skfair.plotting import GroupRateDisplay
    >>> display = GroupRateDisplay.from_predictions(
    ...     [1, 1, 0, 0, 1, 1, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0], sensitive_features=[*"aaaabbbb"]
    ... )
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['selection rate', 'true positive rate', 'false positive rate']
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
        metrics: Metrics = _RATES,
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
        metrics : list or dict
            Metrics to draw, as in :func:`skfair.metrics.group_report`.
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
        check_model(estimator)
        check_is_fitted(estimator)
        (y_true, y_pred), params = ARGUMENTS_BY_METRIC_KIND["classification"](
            estimator, X, y, sensitive_features, pos_label
        )
        scores = _find_scores(estimator, X, y, sensitive_features, metrics, pos_label)
        return cls.from_predictions(
            y_true,
            y_pred,
            sensitive_features=sensitive_features,
            metrics=metrics,
            sample_weight=sample_weight,
            ax=ax,
            **scores,  # type: ignore[arg-type]
            **params,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        sensitive_features: MatrixLike,
        metrics: Metrics = _RATES,
        y_proba: ArrayLike | None = None,
        y_score: ArrayLike | None = None,
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
        metrics : list or dict
            Metrics to draw, as in :func:`skfair.metrics.group_report`.
        y_proba, y_score : array-like of shape (n_samples,), default=None
            Probabilities or scores, for metrics of them.
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
            If a metric is unknown, or as in :func:`skfair.metrics.group_report`.
        """
        report = group_report(
            y_true,
            y_pred,
            sensitive_features=sensitive_features,
            metrics=metrics,
            y_proba=y_proba,
            y_score=y_score,
            sample_weight=sample_weight,
            pos_label=pos_label,
            confidence_level=CONFIDENCE_LEVEL,
        )
        return cls(report).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the rates; one that is nan is not drawn.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a new figure whose height follows the number of marks.

        Returns
        -------
        {display}

        Raises
        ------
        ValueError
            If the table has no intervals, or its last row is not that of all samples.
        """
        columns = self._check_columns()
        # The last row of the table is that of all samples.
        groups, overall = self.table.iloc[:-1], self.table.iloc[-1]
        rates, low, high, counts = (
            groups[[column + ending for column in columns]].to_numpy(dtype=np.float64)
            for ending in ("", "_low", "_high", "_n")
        )
        n_groups, n_rates = rates.shape
        ax = self._use_axes(ax, size=(6.4, 1.3 + n_rates * (0.3 + 0.16 * n_groups)))
        rows = np.arange(n_rates)
        # The groups of a rate are drawn below each other, on the inner 60 % of its row.
        offsets = 0.6 * ((np.arange(n_groups) + 0.5) / n_groups - 0.5)
        for k, (name, offset) in enumerate(zip(to_text(groups.index), offsets, strict=True)):
            # Bars reach to the ends of the intervals, which are not symmetric.
            margins = np.abs(np.stack((low[k], high[k])) - rates[k])
            ax.errorbar(
                rates[k],
                rows + offset,
                xerr=margins,
                linestyle="none",
                markersize=5.5,
                capsize=2.5,
                label=name,
                **style(k, "color", "marker"),
            )
            self._write_counts(rows + offset, counts[k])
        # Rates of all samples, across the row of each rate.
        all_rates = overall[columns].to_numpy(dtype=np.float64)
        ax.vlines(all_rates, rows - 0.42, rows + 0.42, color=INK, linestyle=":", label=_OVERALL)
        ax.set_yticks(rows, [column.replace("_", " ") for column in columns])
        ax.set_ylim(n_rates - 0.5, -0.5)
        drawn = np.concatenate((rates, low, high), axis=None)
        are_rates = np.nanmin(drawn, initial=0.0) >= 0.0 and np.nanmax(drawn, initial=1.0) <= 1.0
        if are_rates:
            ax.set_xlim(-0.02, 1.02)
            ax.xaxis.set_major_formatter("{x:.0%}")
        ax.set_xlabel(f"{'rate' if are_rates else 'value'}, with {name_interval(self.table)}")
        strip_frame(ax, has_vertical_scale=False)
        write_legend(ax, lambda handle, label: label == _OVERALL)
        return self

    def _check_columns(self) -> list[str]:
        """Names of the rates, which have intervals."""
        columns = [name for name in self.table if f"{name}_low" in self.table]
        if not columns:
            raise ValueError(
                "table must have intervals; pass one of "
                f"group_report(..., confidence_level={CONFIDENCE_LEVEL}). Its columns are "
                f"{list(self.table)}."
            )
        names = to_text(self.table.index)
        if not names[-1].startswith("overall"):
            raise ValueError(
                "The last row of the table must be that of all samples, 'overall', as group_report "
                f"returns it; the rows are {names}. Of a report with control features, pass the "
                "rows of one stratum."
            )
        return columns

    def _write_counts(self, heights: np.ndarray, counts: np.ndarray) -> None:
        """Write the number of samples next to each mark of a group."""
        texts = [
            f"of {count:,.0f}" if count.is_integer() else f"of {count:,.1f}"
            for count in counts.tolist()
        ]
        write_at_right(self.ax_, heights, texts, size=7)


def _find_scores(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: TableLike,
    sensitive_features: TableLike,
    metrics: Metrics,
    pos_label: Label | None,
) -> dict[str, np.ndarray]:
    """Probabilities and scores of an estimator by their arguments, those that metrics take."""
    responses = {one.response for one in find_group_metrics(metrics).values()}
    scores = {}
    for response, kind in (("probabilities", "labelled_probability"), ("scores", "labelled_score")):
        if response in responses:
            respond = ARGUMENTS_BY_METRIC_KIND[kind]
            (_, values), _ = respond(estimator, X, y, sensitive_features, pos_label)
            scores[RESPONSES[response]] = values
    return scores


_SIDES = {1: "higher", -1: "lower"}
_LARGEST = "largest possible"


@make_constructor
class SubgroupDisplay(Display):
    """Forest plot of subgroups: the departure of each from what it is compared with, with limits.

    Made by the method ``plot`` of what :meth:`skfair.audit.Audit.subgroups` returns. `table` has
    the listed subgroups of one metric.

    The limits hold for all subgroups that were searched together. Next to each one are its rate,
    that of the rest, and its number of samples. Dashed lines mark the largest departure that any
    subgroup searched can have; they hold as a statement of their own, so that limits may cross
    them.
    """

    table: pd.DataFrame
    _: KW_ONLY
    metric: str
    largest_possible: float
    confidence_level: float = CONFIDENCE_LEVEL

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the departures; a new figure has a height that follows the number of subgroups."""
        table = self.table
        n_rows = len(self.table)
        ax = self._use_axes(ax, size=(8.0, 1.5 + 0.36 * max(n_rows, 1)))
        rows = np.arange(n_rows)
        if n_rows:
            ax.axvline(0.0, color=INK, linewidth=0.8)
        for index, (sign, label) in enumerate(_SIDES.items()):
            at = np.flatnonzero(np.sign(table["difference"]) == sign)
            # Bars reach to the limits, which are not symmetric.
            low, departure, high = (
                100.0 * table[name].to_numpy(dtype=np.float64)[at]
                for name in ("low", "difference", "high")
            )
            if len(at):
                ax.errorbar(
                    departure,
                    rows[at],
                    xerr=np.stack((departure - low, high - departure)),
                    linestyle="none",
                    markersize=6,
                    capsize=2.5,
                    label=label,
                    **style(index, "color", "marker"),
                )
        bound = 100.0 * self.largest_possible
        ax.axvline(bound, color=INK, linestyle="--", linewidth=0.8, label=_LARGEST)
        ax.axvline(-bound, color=INK, linestyle="--", linewidth=0.8)
        self._write_rates(rows)
        ax.set_yticks(rows, table["subgroup"] if n_rows else [])
        ax.set_ylim(max(n_rows, 1) - 0.5, -0.5)
        ax.xaxis.set_major_formatter(
            lambda x, _: f"{x:+.0f}".replace("-", "\N{MINUS SIGN}") if x else "0"
        )
        name = f"{self.metric.replace('_', ' ')} minus that of the rest"
        if self.metric == "calibration_error":
            name = "observed minus predicted share of positives"
        level = f"{100.0 * self.confidence_level:g} %"
        ax.set_xlabel(f"{name}, percentage points (all limits {level})")
        strip_frame(ax, has_vertical_scale=False)
        if not n_rows:
            ax.text(0.5, 0.5, "no subgroup is shown to depart", transform=ax.transAxes, ha="center")
        write_legend(ax, lambda handle, label: label == _LARGEST, ncols=3)
        return self

    def _write_rates(self, rows: np.ndarray) -> None:
        """Write the rate of each subgroup, that of the rest and the number of samples at right."""
        columns = (self.table[name] for name in ("estimate", "rest_estimate", "n"))
        other = "predicted" if self.metric == "calibration_error" else "rest"
        texts = [
            f"{rate:.0%}, {other} {rest:.0%} (n = {n:,})"
            for rate, rest, n in zip(*columns, strict=True)
        ]
        write_at_right(self.ax_, rows, texts, size=8)


@display_docs
@make_constructor
class GroupRateCurveDisplay(Display):
    """Positive rate of one group against another's, or ROC curves by group, over all thresholds.

    It is the ROC curve of the group as predicted by the score: for equal score distributions it is
    the diagonal. Bands mark an interval of percentiles on both axes. Partial parity requires the
    diagonal only where they cross. To compare several models on the same axes, pass
    ``ax=display.ax_`` to the next call: colours and lines advance automatically.

    With outcomes, `y_true`, each group has its own ROC curve: its true positive rate against its
    false positive rate at every threshold. One threshold for each group gives equal odds where
    their curves meet, and only there.

    Read more in the :ref:`guide <partial_parity>`.

    Parameters
    ----------
    table : DataFrame
        Share of each group strictly above each threshold: one row for each threshold, from the
        highest, and one column for each group.
    reference : label, default=None
        Group of the horizontal axis. None takes the first.
    {interval, name}
    negatives : DataFrame, default=None
        Of ROC curves the share of the negatives of each group above each threshold, where `table`
        has that of the positives.

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
    >>> display = GroupRateCurveDisplay.from_predictions(
    ...     [4, 3, 2, 1, 4, 2, 1, 0],
    ...     y_true=[1, 1, 0, 0, 1, 0, 1, 0],
    ...     sensitive_features=[*"aaaabbbb"],
    ... )
    >>> display.ax_.get_ylabel()
    'true positive rate'
    """

    _gid = "skfair-group-rate-curve"

    table: pd.DataFrame
    _: KW_ONLY
    reference: Label | None = None
    interval: Intervals | None = None
    name: str | None = None
    negatives: pd.DataFrame | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        sensitive_features: MatrixLike,
        interval: Intervals | None = None,
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
        {X}
        y : array-like of shape (n_samples,), default=None
            True classes, for ROC curves by group.
        {sensitive_features, interval}
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
        y_score, _ = predict_scores(estimator, X, sensitive_features, pos_label)
        pos_label = None if y is None else find_positive_class(estimator, pos_label)[0]
        return cls.from_predictions(
            y_score,
            y_true=y,
            sensitive_features=sensitive_features,
            interval=interval,
            reference=reference,
            sample_weight=sample_weight,
            pos_label=pos_label,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_score: ArrayLike,
        *,
        y_true: ArrayLike | None = None,
        sensitive_features: MatrixLike,
        interval: Intervals | None = None,
        reference: Label | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw any scores.

        Parameters
        ----------
        {y_score}
        y_true : array-like of shape (n_samples,), default=None
            True classes, for ROC curves by group, which take neither interval nor reference.
        sensitive_features : array-like or sparse matrix
            Group of each sample, at least two groups.
        {interval}
        reference : label, default=None
            Group of the horizontal axis. None takes the largest.
        {sample_weight, pos_label, name, ax}

        Returns
        -------
        {display}

        Raises
        ------
        ValueError
            If there is only one group, `reference` is not a group, the inputs differ in length or
            hold missing values, or the interval is invalid; or a group of ROC curves has outcomes
            of one class alone.
        """
        if y_true is not None:
            if interval is not None or reference is not None:
                raise argument_error(
                    "y_true must be left out with interval or reference, which are of the curve of "
                    "one group against another; ROC curves of groups have neither."
                )
            positives, negatives = _tabulate_roc(
                y_score, y_true, sensitive_features, sample_weight, pos_label
            )
            return cls(positives, name=name, negatives=negatives).plot(ax=ax)
        if pos_label is not None:
            raise argument_error(
                f"pos_label names a class of y_true, which was not passed, but is {pos_label!r}. "
                "Pass y_true for ROC curves, or leave pos_label out."
            )
        scored = check_scores(y_score, sensitive_features, sample_weight, interval)
        if len(scored.names) < 2:
            raise ValueError(
                "sensitive_features must have at least two groups, one for each axis; got only "
                f"{scored.names[0]!r}."
            )
        if reference is None:
            reference = scored.names[np.argmax(np.bincount(scored.members.codes, scored.weights))]
        rates = scored.table().rates(scored.weights)
        table = tabulate_groups(rates, scored.names)
        return cls(table, reference=reference, interval=interval, name=name).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        {ax}

        Returns
        -------
        {display}

        Raises
        ------
        ValueError
            If `reference` is not a group, or the interval is invalid.
        """
        groups = list(self.table.columns)
        reference = groups[0] if self.reference is None else self.reference
        if reference not in groups:
            raise ValueError(f"reference must be one of the groups {groups}; got {reference!r}.")
        ax = self._use_axes(ax, size=(4.8, 5.2))
        names = to_text(groups)
        if self.negatives is not None:
            return self._plot_roc(names, self.negatives)
        horizontal = groups.index(reference)
        others = [k for k in range(len(groups)) if k != horizontal]
        # The background is drawn once, by the first curve on the axes.
        if not self._count_drawn():
            self._draw_background(groups, horizontal)
        others_against = [(k, self.table.iloc[:, horizontal]) for k in others]
        self._draw_curves(names, others_against)
        vertical = names[others[0]] if len(others) == 1 else "the other group"
        return self._finish(
            f"share of {names[horizontal]} above the threshold",
            f"share of {vertical} above the threshold",
        )

    def _plot_roc(self, names: list[str], negatives: pd.DataFrame) -> Self:
        """Draw the ROC curve of each group."""
        if not self._count_drawn():
            self.ax_.axline((0, 0), slope=1, color=INK, linewidth=0.8, linestyle=":")
        self._draw_curves(names, [(k, negatives.iloc[:, k]) for k in range(len(names))])
        return self._finish("false positive rate", "true positive rate")

    def _finish(self, horizontal: str, vertical: str) -> Self:
        """Write what the axes are, and the legend."""
        ax = self.ax_
        ax.set_xlabel(horizontal)
        ax.set_ylabel(vertical)
        ax.xaxis.set_major_formatter("{x:.0%}")
        ax.yaxis.set_major_formatter("{x:.0%}")
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        write_legend(ax)
        return self

    def _draw_background(self, groups, horizontal):
        """Draw the diagonal and the bands of the intervals, once for all curves of the axes."""
        self.ax_.axline((0, 0), slope=1, color=INK, linewidth=0.8, linestyle=":")
        if self.interval is None:
            return
        band = {"facecolor": (INK, 0.1), "linewidth": 0}
        intervals = intervals_by_group(self.interval, groups)
        for pair in intervals.pop(horizontal):
            self.ax_.axvspan(*pair, **band)
        for pair in np.unique(np.vstack(intervals), axis=0):
            self.ax_.axhspan(*pair, **band)

    def _draw_curves(self, names: list[str], against: list[tuple[int, pd.Series]]) -> None:
        """Draw the curve of groups against horizontal values, in the next colours of the axes."""
        # More points are not visible, but would enlarge a file.
        points = np.unique(np.linspace(0, len(self.table) - 1, 2000).astype(int))
        rates = self.table.to_numpy(dtype=np.float64)[points]
        for index, (k, horizontal) in enumerate(against, start=self._count_drawn()):
            labels = [self.name, names[k] if len(against) > 1 else None]
            self.ax_.plot(
                horizontal.to_numpy(dtype=np.float64)[points],
                rates[:, k],
                label=": ".join(filter(None, labels)) or None,
                gid=self._gid,
                **style(index, "color", "linestyle"),
            )


def _tabulate_roc(
    y_score: ArrayLike,
    y_true: ArrayLike,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None,
    pos_label: Label | None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Shares of the positives and of the negatives of each group above each threshold."""
    scored, (y_true,) = check_scored_members(
        sensitive_features, sample_weight, (0.0, 1.0), y_score=y_score, y_true=y_true
    )
    is_true = y_true == find_positive_multiclass(y_true, pos_label=pos_label)
    table = scored.table()
    tables = []
    for outcome, mask in (("positives", is_true), ("negatives", ~is_true)):
        rates = table.rates(scored.weights * mask)
        if len(absent := np.flatnonzero(np.isnan(rates[:, -1]))):
            named = join_names(repr(scored.names[group]) for group in absent)
            raise ValueError(
                f"A ROC curve needs positives and negatives of its group, but {named} has no "
                f"{outcome} in y_true. Leave the samples of this group out."
            )
        tables.append(tabulate_groups(rates, scored.names))
    return tables[0], tables[1]
