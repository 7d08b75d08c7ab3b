"""Display of the score distribution of each group, with an interval of percentiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter1d
from sklearn.utils.validation import check_is_fitted

from skfair.groups import is_in_intervals
from skfair.metrics import PREDICTIONS, check_scored
from skfair.plotting._docstrings import display_docs
from skfair.plotting._style import (
    COLORS,
    HATCHES,
    INK,
    LINES,
    cycle,
    legend_above,
    new_axes,
    strip_frame,
    to_text,
)
from skfair.utils._balance import count_table
from skfair.utils._types import Label, MatrixLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator


_N_POINTS = 512


@display_docs
class GroupScoreDisplay:
    """Distribution of the scores in each group.

    An interval of percentiles is shaded under the curve of each group: partial parity requires
    equal curves only there.

    Parameters
    ----------
    scores : array-like of shape (n_points,)
        Scores at which the densities are evaluated, ascending.
    densities : array-like of shape (n_groups, n_points)
        Density of the scores of each group.
    inside : array-like of bool, shape (n_groups, n_points), default=None
        Mask of the scores to shade under the curve of each group. None shades nothing.
    {group_names}
    score_name : str, default="score"
        Label of the score axis.

    Attributes
    ----------
    {ax_, figure_}

    See Also
    --------
    skfair.metrics.partial_statistical_parity_difference : The distance of the shaded areas.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.plotting import GroupScoreDisplay
    >>> score = np.random.default_rng(0).normal(size=100)
    >>> display = GroupScoreDisplay.from_predictions(
    ...     score, sensitive_features=["men", "women"] * 50, interval=(0.0, 0.2)
    ... )
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['men', 'women', 'in the interval']
    """

    def __init__(
        self,
        scores: ArrayLike,
        densities: Sequence[ArrayLike] | np.ndarray,
        *,
        inside: Sequence[ArrayLike] | np.ndarray | None = None,
        group_names: Sequence[str] | None = None,
        score_name: str = "score",
    ):
        self.scores = scores
        self.densities = densities
        self.inside = inside
        self.group_names = group_names
        self.score_name = score_name

    @classmethod
    @display_docs
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        *,
        sensitive_features: MatrixLike,
        interval: Sequence | dict | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the scores of a classifier.

        Parameters
        ----------
        {estimator}
            Its decision_function is drawn or, if it has none, its predict_proba.
        {X, sensitive_features, interval, sample_weight, pos_label, ax}

        Returns
        -------
        {display}

        Raises
        ------
        {NotFittedError}
        """
        check_is_fitted(estimator)
        (y_score,), _ = PREDICTIONS["decision"](estimator, X, None, sensitive_features, pos_label)
        has_decision = hasattr(estimator, "decision_function")
        return cls.from_predictions(
            y_score,
            sensitive_features=sensitive_features,
            interval=interval,
            sample_weight=sample_weight,
            score_name="decision function" if has_decision else "probability of the positive class",
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
        sample_weight: ArrayLike | None = None,
        score_name: str = "score",
        ax: Axes | None = None,
    ) -> Self:
        """Draw any scores.

        The densities are Gaussian kernel estimates, with a bandwidth by Silverman's rule for each
        group, reflected at the lowest and the highest of all scores.

        Parameters
        ----------
        {y_score, sensitive_features, interval, sample_weight}
        score_name : str, default="score"
            Label of the score axis.
        {ax}

        Returns
        -------
        {display}

        Raises
        ------
        ValueError
            If the inputs differ in length or hold missing values, or the interval is invalid.
        """
        # Without an interval all ranks are selected.
        ranks = (0.0, 1.0) if interval is None else interval
        scored, _ = check_scored(sensitive_features, sample_weight, ranks, y_score=y_score)
        scores, densities, above = _estimate(scored)
        display = cls(
            scores,
            densities,
            inside=None if interval is None else is_in_intervals(above, scored.intervals),
            group_names=to_text(scored.names),
            score_name=score_name,
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
        self.ax_ = ax = new_axes(ax, size=(6.4, 3.8))
        self.figure_ = ax.figure
        names = self.group_names or [f"group {k}" for k in range(len(self.densities))]
        for k, (name, density) in enumerate(zip(names, self.densities, strict=True)):
            color = cycle(COLORS, k)
            ax.plot(self.scores, density, color=color, linestyle=cycle(LINES, k), label=name)
            # Shade the scores inside the interval below the curve.
            if self.inside is not None:
                ax.fill_between(
                    self.scores,
                    density,
                    where=self.inside[k],
                    facecolor=(color, 0.25),
                    edgecolor=(color, 0.6),
                    linewidth=0,
                    hatch=cycle(HATCHES, k),
                )
        if self.inside is not None:
            # An entry of the legend for the shading of all groups.
            ax.fill_between([], [], facecolor=(INK, 0.25), linewidth=0, label="in the interval")
        ax.set_ylim(bottom=0)
        ax.margins(x=0)
        ax.set_xlabel(self.score_name)
        ax.set_ylabel("density")
        strip_frame(ax, "top", "right")
        legend_above(ax)
        return self


def _estimate(scored):
    """Grid of scores, density of each group on it, and share of each group above its points."""
    lowest, highest = scored.y_score.min(), scored.y_score.max()
    # A single value gets a grid of width 1 around it.
    if lowest == highest:
        lowest, highest = lowest - 0.5, highest + 0.5
    # Histogram of every group on the grid, smoothed by a Gaussian kernel.
    width = (highest - lowest) / _N_POINTS
    cells = np.minimum(((scored.y_score - lowest) / width).astype(np.intp), _N_POINTS - 1)
    counts = count_table(scored.codes, cells, scored.weights, len(scored.names), _N_POINTS)
    shares = counts / counts.sum(axis=1, keepdims=True)
    bandwidths = _bandwidths(shares, np.bincount(scored.codes, minlength=len(shares)))
    # A kernel of less than one cell would leave the steps of the grid visible.
    densities = [
        gaussian_filter1d(share, max(bandwidth, 1.0), mode="reflect") / width
        for share, bandwidth in zip(shares, bandwidths, strict=True)
    ]
    scores = lowest + width * (np.arange(_N_POINTS) + 0.5)
    return scores, np.array(densities), 1 - np.cumsum(shares, axis=1)


def _bandwidths(shares, n_samples):
    """Bandwidth of each group in cells, by Silverman's rule: 0.9 min(sd, iqr / 1.34) n^(-1/5)."""
    cells = np.arange(_N_POINTS)
    mean = shares @ cells
    deviation = np.sqrt(np.maximum(shares @ cells**2 - mean**2, 0))
    lower, upper = (np.argmax(np.cumsum(shares, axis=1) >= q, axis=1) for q in (0.25, 0.75))
    # The interquartile range may be 0 on the grid: then the standard deviation alone.
    iqr = (upper - lower) / 1.34
    spread = np.where(iqr > 0, np.minimum(deviation, iqr), deviation)
    return 0.9 * spread * n_samples**-0.2
