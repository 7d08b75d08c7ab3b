"""What all pictures share: colours, markers, hatches, and a clean pair of axes."""

# Okabe and Ito's palette, which stays apart for colour-blind eyes, and three of Tol's after it.
# Neighbours in this order also differ in lightness, so that they stay apart in grey. Ten groups
# have ten colours, ten markers and ten hatches.
COLORS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442"),
    *("#882255", "#999999", "#332288"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "*", "p")
LINES = ("-", "--", "-.", ":")
HATCHES = ("", "////", "....", "xxxx", "----", "\\\\\\\\", "++++", "oo", "||||", "**")
INK = "#333333"


def cycle(values, index):
    """Take the value at `index`, starting over at the end."""
    return values[index % len(values)]


def import_pyplot():
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Pictures are drawn by matplotlib, which is not installed: "
            'pip install "skfair[plot]", or pip install matplotlib.'
        ) from error
    return plt


def new_axes(ax, size):
    """Return `ax`, or without one the axes of a new figure of `size` (width, height) in inches.

    A new figure keeps room for legends and labels outside its axes.
    """
    if ax is None:
        _, ax = import_pyplot().subplots(figsize=size, layout="constrained")
    return ax


def legend_above(ax, last=None):
    """Name what is drawn above the axes, where the legend can never cover it.

    Groups and models come in the order of drawing, the label `last` after them.
    """
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        order = sorted(range(len(labels)), key=lambda i: labels[i] == last)
        ax.legend(
            [handles[i] for i in order],
            [labels[i] for i in order],
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=max(1, 64 // (8 + max(map(len, labels)))),
            frameon=False,
        )


def readable(names):
    """Names as text; those of several attributes, which come as tuples, joined by commas."""
    return [", ".join(map(str, n)) if isinstance(n, tuple) else str(n) for n in names]


def strip_frame(ax, *sides):
    """Remove the sides of the frame that carry no scale."""
    for side in sides:
        ax.spines[side].set_visible(False)
