"""The base of displays: axes, legends, colours, and docstring entries that they share."""

from skfair.utils._api import make_docstring_decorator

# What the displays share: colours, markers, hatches, legends, and their base class.


# Okabe and Ito's palette, which is distinct for colour-blind readers, then three colours of Tol's.
# Neighbours in this order also differ in lightness, so that they are distinct in grey. Ten groups
# have ten colours, ten markers and ten hatches.
COLORS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442"),
    *("#882255", "#999999", "#332288"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "*", "p")
LINE_STYLES = ("-", "--", "-.", ":")
HATCHES = ("", "////", "....", "xxxx", "----", "\\\\\\\\", "++++", "oo", "||||", "**")
INK = "#333333"
_STYLES = {"color": COLORS, "marker": MARKERS, "linestyle": LINE_STYLES, "hatch": HATCHES}


def pick_cyclic(values, index):
    """Take the value at `index`, starting over at the end."""
    return values[index % len(values)]


def style(index, *properties):
    """Keyword arguments of matplotlib, such as color and marker, for the group or model `index`."""
    return {name: pick_cyclic(_STYLES[name], index) for name in properties}


def import_pyplot():
    """Import matplotlib.pyplot; raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Displays require matplotlib, which is not installed: pip install matplotlib."
        ) from error
    return plt


def write_legend(
    ax,
    is_last=lambda handle, label: False,
    *,
    loc="lower left",
    bbox_to_anchor=(0, 1),
    ncols=None,
    **options,
):
    """Write the legend in the order of drawing, some entries last, by default above the axes."""
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        # A stable sort, so that entries keep their order otherwise.
        order = sorted(range(len(labels)), key=lambda i: is_last(handles[i], labels[i]))
        ax.legend(
            [handles[i] for i in order],
            [labels[i] for i in order],
            loc=loc,
            bbox_to_anchor=bbox_to_anchor,
            ncols=ncols or max(1, 64 // (8 + max(map(len, labels)))),
            frameon=False,
            **options,
        )


def to_text(names):
    """Convert names to text; tuples, the names of intersections, are joined by commas."""
    return [", ".join(map(str, n)) if isinstance(n, tuple) else str(n) for n in names]


def strip_frame(ax, *sides):
    """Remove the sides of the frame that carry no scale."""
    for side in sides:
        ax.spines[side].set_visible(False)


class Display:
    """Base of the displays: its axes, and what is on its axes already."""

    _gid = ""
    """Mark of the lines that displays of a class draw."""

    def _use_axes(self, ax, size):
        """Store the axes, or those of a new figure of `size` (width, height) in inches.

        A new figure reserves space for legends and labels outside its axes.
        """
        if ax is None:
            _, ax = import_pyplot().subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _count_drawn(self):
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
