"""Display of the distribution of scores by group."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter1d
from sklearn.base import BaseEstimator

from skfair._groups.events import intervals_by_group, is_in_intervals
from skfair._utils.api import Axes, Intervals, Label, MatrixLike
from skfair._utils.parameters import make_constructor
from skfair.metrics._scoring import ARGUMENTS_BY_METRIC_KIND
from skfair.plotting._display import (
    INK,
    Display,
    check_scores,
    display_docs,
    predict_scores,
    strip_frame,
    style,
    tabulate_groups,
    to_text,
    write_legend,
)

if TYPE_CHECKING:
    from skfair.metrics._partial import ScoredMembers


@display_docs
@make_constructor
class ScoreDistributionDisplay(Display):
    r"""Density of the scores in each group, with the threshold of the decisions.

    The curve of a group is a Gaussian kernel estimate [1]_. With weights :math:`w_i` that add up to
    1 in the group, and scores :math:`s_i` of its samples, it is

    .. math:: \sum_i \frac{w_i}{h} \varphi\left(\frac{s - s_i}{h}\right), \qquad
        h = 0.9 \, \sigma \Bigl(\sum_i w_i^2\Bigr)^{1/5}

    with the standard deviation :math:`\sigma`, reflected at the lowest and the highest of all
    scores. The bandwidth h is at least half of that of all samples together, so that a group of
    equal scores is a peak next to which other curves remain visible.

    An interval of percentiles is shaded under the curve of each group. The area that is shaded is
    the share of the group in the interval. Partial parity requires equal curves only there.

    Read more in the :ref:`guide <partial_parity>`.

    Parameters
    ----------
    table : DataFrame
        Density of the scores of each group: one row for each score of an equally spaced grid, which
        is the index, ascending, and one column for each group. The name of the index is the label
        of the axis.
    {interval}
    threshold : float, default=None
        Scores above it are positive decisions. None draws none.

    Attributes
    ----------
    {ax_, figure_}

    See Also
    --------
    GroupRateCurveDisplay : Shares above every threshold, one group against another.
    skfair.metrics.partial_statistical_parity_difference : The distance of the shaded areas.

    References
    ----------
    .. [1] B. W. Silverman, "Density estimation for statistics and data analysis", Chapman and
       Hall, 1986, section 3.4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.plotting import ScoreDistributionDisplay
    >>> score = np.random.default_rng(0).normal(size=100)
    >>> display = ScoreDistributionDisplay.from_predictions(
    ...     score, sensitive_features=["men", "women"] * 50, interval=(0.0, 0.2), threshold=0.5
    ... )
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['men', 'women', 'in the interval', 'threshold']
    """

    table: pd.DataFrame
    _: KW_ONLY
    interval: Intervals | None = None
    threshold: float | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        *,
        sensitive_features: MatrixLike,
        interval: Intervals | None = None,
        threshold: float | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the scores of a classifier.

        Parameters
        ----------
        {estimator}
            Its decision_function is drawn or, if it has none, its predict_proba.
        {X, sensitive_features, interval}
        threshold : float, default=None
            Scores above it are positive decisions. None draws 0 for a decision_function and 0.5 for
            probabilities, if `predict` decides so for all samples of X.
        {sample_weight, pos_label, ax}

        Returns
        -------
        {display}

        Raises
        ------
        {NotFittedError}
        """
        y_score, usual_threshold = predict_scores(estimator, X, sensitive_features, pos_label)
        if threshold is None:
            (_, y_pred), params = ARGUMENTS_BY_METRIC_KIND["classification"](
                estimator, X, None, sensitive_features, pos_label
            )
            is_positive = np.asarray(y_pred) == params["pos_label"]
            # Some classifiers have another threshold, or one for each group.
            if _decides_by(usual_threshold, np.asarray(y_score), is_positive):
                threshold = usual_threshold
        display = cls.from_predictions(
            y_score,
            sensitive_features=sensitive_features,
            interval=interval,
            threshold=threshold,
            sample_weight=sample_weight,
            ax=ax,
        )
        label = "probability of the positive class" if usual_threshold else "decision function"
        display.table.index.name = label
        display.ax_.set_xlabel(label)
        return display

    @classmethod
    def from_predictions(
        cls,
        y_score: ArrayLike,
        *,
        sensitive_features: MatrixLike,
        interval: Intervals | None = None,
        threshold: float | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw any scores.

        Parameters
        ----------
        {y_score, sensitive_features, interval}
        threshold : float, default=None
            Scores above it are positive decisions. None draws none.
        {sample_weight, ax}

        Returns
        -------
        {display}

        Raises
        ------
        ValueError
            If the inputs differ in length or hold missing values, or the interval is invalid.
        """
        scored = check_scores(y_score, sensitive_features, sample_weight, interval)
        return cls(_tabulate_densities(scored), interval=interval, threshold=threshold).plot(ax=ax)

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
            If the interval is invalid.
        """
        ax = self._use_axes(ax, size=(6.4, 3.8))
        scores = self.table.index.to_numpy()
        for k, name in enumerate(to_text(self.table.columns)):
            ax.plot(scores, self.table.iloc[:, k], label=name, **style(k, "color", "linestyle"))
        if self.interval is not None:
            self._shade_interval(scores)
        if self.threshold is not None:
            ax.axvline(self.threshold, color=INK, linestyle="--", linewidth=0.8, label="threshold")
        ax.set_ylim(bottom=0)
        ax.margins(x=0)
        ax.set(xlabel=self.table.index.name or "score", ylabel="density")
        strip_frame(ax)
        write_legend(ax)
        return self

    def _shade_interval(self, scores: np.ndarray) -> None:
        """Shade the scores of each group whose rank is in the interval, below its curve."""
        densities = self.table.to_numpy(dtype=np.float64).T
        shares = densities / densities.sum(axis=1, keepdims=True)
        # A point of the grid is the middle of a cell.
        ranks = 1.0 - np.cumsum(shares, axis=1) + shares / 2.0
        inside = is_in_intervals(ranks, intervals_by_group(self.interval, [*self.table.columns]))
        for k, density in enumerate(densities):
            color = style(k, "color")["color"]
            self.ax_.fill_between(
                scores,
                density,
                where=inside[k],
                facecolor=(color, 0.25),
                edgecolor=(color, 0.6),
                linewidth=0,
                **style(k, "hatch"),
            )
        # An entry of the legend for the shading of all groups.
        shading: dict[str, Any] = {"facecolor": (INK, 0.25), "linewidth": 0}
        self.ax_.fill_between([], [], label="in the interval", **shading)


def _decides_by(threshold: float, y_score: np.ndarray, is_positive: np.ndarray) -> bool:
    """Whether the decisions are those of a threshold; samples at the threshold may be either."""
    return bool(np.all((y_score > threshold) == is_positive, where=y_score != threshold))


_N_POINTS = 512  # of a drawn density; more are not seen


def _tabulate_densities(scored: ScoredMembers) -> pd.DataFrame:
    """Density of the scores of each group on a grid over all scores."""
    lowest = scored.y_score.min()
    highest = scored.y_score.max()
    size = max(abs(lowest), abs(highest))
    # Scores that differ by rounding alone get a grid around them.
    if highest - lowest <= 1e-9 * size:
        margin = 0.5 * max(size, 1.0)
        lowest -= margin
        highest += margin
    edges = np.linspace(lowest, highest, _N_POINTS + 1)
    width = (highest - lowest) / _N_POINTS
    # A narrower kernel would leave the steps of the grid visible, or one peak alone.
    smallest = max(0.5 * _find_bandwidth(scored.y_score, scored.weights), width)
    densities = []
    for code in range(len(scored.names)):
        members = scored.members.codes == code
        scores = scored.y_score[members]
        weights = scored.weights[members]
        # Histogram on the grid, smoothed by a Gaussian kernel.
        counts, _ = np.histogram(scores, edges, weights=weights)
        bandwidth = max(_find_bandwidth(scores, weights), smallest)
        shares = counts / counts.sum()
        densities.append(gaussian_filter1d(shares, bandwidth / width, mode="reflect") / width)
    middles = pd.Index(edges[:-1] + width / 2.0, name="score")
    return tabulate_groups(np.array(densities), scored.names, middles)


def _find_bandwidth(scores: np.ndarray, weights: np.ndarray) -> float:
    """Bandwidth by Silverman's rule, with the effective number of samples of the weights."""
    mean = np.average(scores, weights=weights)
    variance = np.average((scores - mean) ** 2, weights=weights)
    n_effective = weights.sum() ** 2 / np.sum(weights**2)
    return float(0.9 * variance**0.5 * n_effective**-0.2)
