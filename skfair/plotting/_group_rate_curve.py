"""How the positive rates of two groups rise together as the threshold falls."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skfair.metrics import PREDICTIONS, check_scored
from skfair.plotting._style import COLORS, INK, LINES, cycle, legend_above, new_axes, readable

_GID = "skfair-group-rate-curve"
_MOST_POINTS = 2000


class GroupRateCurveDisplay:
    """Picture of the positive rate of one group against another's, over all thresholds.

    It is the ROC curve of telling the groups apart by the score: where groups are treated alike it
    runs along the diagonal. Bands mark an interval of percentiles on both axes; partial parity
    asks for the diagonal only where they cross. Draw several models on the same axes to compare
    them: pass ``ax=display.ax_`` to the next call; colours and lines advance by themselves.

    Parameters
    ----------
    rates : array-like of shape (n_groups, n_thresholds)
        Share of each group strictly above each threshold.
    reference : int, default=0
        Group of the horizontal axis.
    intervals : list of array-like, one per group, each of shape (n_pairs, 2), default=None
        Pairs (alpha, beta) to mark on the axis of each group; None marks nothing.
    group_names : sequence of str, default=None
        Names of the groups; None numbers them.
    name : str, default=None
        Name of the model in the legend.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes with the curves, once drawn.
    figure_ : matplotlib.figure.Figure
        The figure with the axes, once drawn.

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

    def __init__(self, rates, *, reference=0, intervals=None, group_names=None, name=None):
        self.rates = rates
        self.reference = reference
        self.intervals = intervals
        self.group_names = group_names
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        *,
        sensitive_features,
        interval=None,
        reference=None,
        sample_weight=None,
        pos_label=None,
        name=None,
        ax=None,
    ):
        """Draw the scores that a classifier gives to samples.

        Parameters
        ----------
        estimator : estimator instance
            A fitted classifier of two classes with predict_proba or decision_function.
        X : array-like of shape (n_samples, n_features)
            Samples to score.
        sensitive_features : array-like or sparse matrix
            Group of each sample.
        interval : pair of floats, list of pairs, or dict of either by group, default=None
            Ranks to mark, counted from the highest score: (0.0, 0.2) is the top fifth.
        reference : label, default=None
            Group of the horizontal axis; None takes the largest.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each sample; None counts each once.
        pos_label : int, float, bool or str, default=None
            The class that means success; None asks the classifier for its parameter of this name,
            and takes 1 if that has none and the classes are 0 and 1, -1 and 1 or booleans.
        name : str, default=None
            Name of the model in the legend; None takes that of its class.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        display : GroupRateCurveDisplay
            The drawn display.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
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
    def from_predictions(
        cls,
        y_score,
        *,
        sensitive_features,
        interval=None,
        reference=None,
        sample_weight=None,
        name=None,
        ax=None,
    ):
        """Draw any scores.

        Parameters
        ----------
        y_score : array-like of shape (n_samples,)
            Score of each sample; the higher, the more positive.
        sensitive_features : array-like or sparse matrix
            Group of each sample; at least two groups.
        interval : pair of floats, list of pairs, or dict of either by group, default=None
            Ranks to mark, counted from the highest score: (0.0, 0.2) is the top fifth.
        reference : label, default=None
            Group of the horizontal axis; None takes the largest.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each sample; None counts each once.
        name : str, default=None
            Name of the model in the legend.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        display : GroupRateCurveDisplay
            The drawn display.

        Raises
        ------
        ValueError
            If there is one group only, `reference` is none of them, the inputs differ in length,
            hold missing values, or the interval is not one.
        """
        ranks = (0.0, 1.0) if interval is None else interval
        scored, _ = check_scored(sensitive_features, sample_weight, ranks, y_score=y_score)
        if len(scored.names) < 2:
            raise ValueError(
                "sensitive_features must hold at least two groups, one for each axis; got only "
                f"{scored.names[0]!r}."
            )
        display = cls(
            scored.table().rates(scored.weights),
            reference=_position(reference, scored),
            intervals=None if interval is None else scored.intervals,
            group_names=readable(scored.names),
            name=name,
        )
        return display.plot(ax=ax)

    def plot(self, ax=None):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        display : GroupRateCurveDisplay
            This display, with `ax_` and `figure_`.
        """
        self.ax_ = ax = new_axes(ax, size=(4.8, 5.2))
        self.figure_ = ax.figure
        rates = np.asarray(self.rates)
        names = self.group_names or [f"group {k}" for k in range(len(rates))]
        others = [k for k in range(len(rates)) if k != self.reference]
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
        """Draw the diagonal, and the intervals as bands; once for all curves of the axes."""
        self.ax_.axline((0, 0), slope=1, color=INK, linewidth=0.8, linestyle=":")
        if self.intervals is None:
            return
        band = {"facecolor": (INK, 0.1), "linewidth": 0}
        for pair in self.intervals[self.reference]:
            self.ax_.axvspan(*pair, **band)
        for pair in np.unique(np.vstack([self.intervals[k] for k in others]), axis=0):
            self.ax_.axhspan(*pair, **band)

    def _draw_curves(self, rates, names, others):
        n_before = sum(line.get_gid() == _GID for line in self.ax_.lines)
        # No eye can tell more points, but a file would hold all of them.
        points = np.unique(np.linspace(0, rates.shape[1] - 1, _MOST_POINTS).astype(int))
        for index, k in enumerate(others, start=n_before):
            parts = [self.name, names[k] if len(others) > 1 else None]
            self.ax_.plot(
                rates[self.reference, points],
                rates[k, points],
                color=cycle(COLORS, index),
                linestyle=cycle(LINES, index),
                label=": ".join(filter(None, parts)) or None,
                gid=_GID,
            )


def _position(reference, scored):
    """Position of the group of the horizontal axis."""
    if reference is None:
        return int(np.argmax(np.bincount(scored.codes, scored.weights)))
    if reference not in scored.names:
        raise ValueError(f"reference must be one of the groups {scored.names}; got {reference!r}.")
    return scored.names.index(reference)
