"""The base of displays: axes, legends, colours, scores, and docstring entries that they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from skfair._utils.api import make_docstring_decorator
from skfair._utils.checks import check_model
from skfair.metrics import check_scored_members
from skfair.metrics._scoring import ARGUMENTS_BY_METRIC_KIND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

    import numpy as np
    from matplotlib.axes import Axes
    from pandas import Index

    from skfair._utils.api import Intervals
    from skfair._utils.tables import TableLike
    from skfair.metrics._partial import ScoredMembers


# What the displays share: colours, markers, hatches, legends, and their base class.


# Okabe and Ito's palette, which is distinct for colour-blind readers, then three colours of Tol's.
# Light colours are darker here, so that all have a contrast of 3 on white. Neighbours in this order
# also differ in lightness, so that they are distinct in grey. Ten groups have ten colours, ten
# markers and ten hatches.
COLORS = (
    *("#0072B2", "#C77700", "#007A5A", "#CC79A7", "#D55E00", "#2E96D0", "#9C8A00"),
    *("#882255", "#8F8F8F", "#332288"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "*", "p")
LINE_STYLES = ("-", "--", "-.", ":")
HATCHES = ("", "////", "....", "xxxx", "----", "\\\\\\\\", "++++", "oo", "||||", "**")
INK = "#333333"
_STYLES = {"color": COLORS, "marker": MARKERS, "linestyle": LINE_STYLES, "hatch": HATCHES}


def pick_cyclic(values: tuple[str, ...], index: int) -> str:
    """Take the value at `index`, starting over at the end."""
    return values[index % len(values)]


def style(index: int, *properties: str) -> dict[str, Any]:
    """Keyword arguments of matplotlib, such as color and marker, for the group or model `index`."""
    return {name: pick_cyclic(_STYLES[name], index) for name in properties}


def import_pyplot() -> ModuleType:
    """Import matplotlib.pyplot; raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Displays require matplotlib, which is not installed: pip install matplotlib."
        ) from error
    return plt


def write_legend(
    ax: Axes,
    is_last: Callable[[Any, str], bool] = lambda handle, label: False,
    *,
    ncols: int | None = None,
    **options: Any,
) -> None:
    """Write the legend in the order of drawing, some entries last.

    There are `ncols` columns (the default depends on the longest entry), or fewer where the legend
    would be wider than the axes. `options` are those of `Axes.legend`, by default above the axes.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    # A stable sort, so that entries keep their order otherwise.
    order = sorted(range(len(labels)), key=lambda i: is_last(handles[i], labels[i]))
    handles, labels = [handles[i] for i in order], [labels[i] for i in order]
    options = {"loc": "lower left", "bbox_to_anchor": (0, 1), "frameon": False, **options}
    most = ncols or max(1, 64 // (8 + max(map(len, labels))))
    for columns in range(most, 0, -1):
        legend = ax.legend(handles, labels, ncols=columns, **options)
        if legend.get_window_extent().width <= ax.get_window_extent().width:
            return


def to_text(names: Iterable[Any]) -> list[str]:
    """Convert names to text; tuples, the names of intersections, are joined by commas."""
    return [", ".join(map(str, n)) if isinstance(n, tuple) else str(n) for n in names]


def strip_frame(ax: Axes, has_vertical_scale: bool = True) -> None:
    """Remove the sides of the frame that carry no scale."""
    ax.spines[["top", "right"]].set_visible(False)
    if not has_vertical_scale:
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)


def write_at_right(ax: Axes, heights: np.ndarray, texts: list[str], size: int) -> None:
    """Write texts right of the axes, at heights in units of the data."""
    # x is a share of the width of the axes, y a value of the data.
    transform = ax.get_yaxis_transform()
    for height, text in zip(heights, texts, strict=True):
        ax.text(1.01, height, text, transform=transform, va="center", size=size, color=INK)


def name_interval(table: pd.DataFrame) -> str:
    """What the bars of a table are: confidence intervals, of the level that the table states."""
    level = table.attrs.get("confidence_level")
    return "confidence interval" if level is None else f"{100 * level:g} % confidence interval"


def predict_scores(estimator, X, sensitive_features, pos_label):
    """Scores of a fitted classifier of two classes, and the threshold that such scores have."""
    check_model(estimator)
    check_is_fitted(estimator)
    (y_score,), params = ARGUMENTS_BY_METRIC_KIND["decision"](
        estimator, X, None, sensitive_features, pos_label
    )
    return y_score, params["threshold"]


def check_scores(
    y_score: TableLike,
    sensitive_features: TableLike,
    sample_weight: TableLike | None,
    interval: Intervals | None,
) -> ScoredMembers:
    """`ScoredMembers`; without an interval all ranks are in it."""
    ranks = (0.0, 1.0) if interval is None else interval
    return check_scored_members(sensitive_features, sample_weight, ranks, y_score=y_score)[0]


def tabulate_groups(
    values: np.ndarray, names: TableLike, index: Index | None = None
) -> pd.DataFrame:
    """Table of an array (n_groups, n_rows), with a column for each group."""
    return pd.DataFrame(values.T, index, columns=pd.Index(names, tupleize_cols=False))


class Display:
    """Base of the displays: its axes, and what is on its axes already."""

    _gid = ""
    """Mark of the lines that displays of a class draw."""

    def _use_axes(self, ax: Axes | None, size: tuple[float, ...]) -> Axes:
        """Store the axes, or those of a new figure of `size` (width, height) in inches.

        A new figure reserves space for legends and labels outside its axes.
        """
        if ax is None:
            _, ax = import_pyplot().subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _count_drawn(self) -> int:
        """Count the lines on the axes that displays of this class drew before."""
        return sum(line.get_gid() == self._gid for line in self.ax_.lines)


# Docstring entries that the displays share.


_DISPLAY_ENTRIES = """
estimator : estimator instance
    A fitted classifier of two classes.
X : array-like of shape (n_samples, n_features)
    Samples to predict.
y_true : array-like of shape (n_samples,)
    True class of each sample, of two classes.
y_score : array-like of shape (n_samples,)
    Score of each sample. The higher, the more positive.
sensitive_features : array-like or sparse matrix
    Group of each sample.
interval : pair of floats, list of pairs, or dict of either by group, default=None
    Ranks to mark, counted from the highest score: (0.0, 0.2) is the top fifth.
n_bins : int, default=10
    Number of bins.
strategy : {"uniform", "quantile"}, default="uniform"
    Bins of equal width in [0, 1], or of equal weight among all samples. Groups have the same bins.
confidence_level : float, default=0.95
    Probability with which each interval contains the frequency of the population.
sample_weight : array-like of shape (n_samples,), default=None
    Weight of each sample. None gives all samples the same weight.
pos_label : int, float, bool or str, default=None
    The positive class. None takes the classifier's parameter of this name, and 1 if it has none
    and the classes are 0 and 1, -1 and 1 or booleans.
name : str, default=None
    Name of the model in the legend.
ax : matplotlib.axes.Axes, default=None
    Axes to draw on. None makes a new figure.
ax_ : matplotlib.axes.Axes
    The axes, once drawn.
figure_ : matplotlib.figure.Figure
    The figure with the axes, once drawn.
display : instance of this class
    The drawn display.
NotFittedError
    If the estimator is not fitted.
"""

display_docs = make_docstring_decorator(_DISPLAY_ENTRIES)
