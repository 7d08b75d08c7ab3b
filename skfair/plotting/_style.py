"""Colours, markers, hatches, axes and legends that the displays share."""

# Okabe and Ito's palette, which is distinct for colour-blind readers, then three colours of Tol's.
# Neighbours in this order also differ in lightness, so that they are distinct in grey. Ten groups
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
    """Import matplotlib.pyplot; raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Displays require matplotlib, which is not installed: "
            'pip install "skfair[plot]", or pip install matplotlib.'
        ) from error
    return plt


def new_axes(ax, size):
    """Return `ax`, or the axes of a new figure of `size` (width, height) in inches.

    A new figure reserves space for legends and labels outside its axes.
    """
    if ax is None:
        _, ax = import_pyplot().subplots(figsize=size, layout="constrained")
    return ax


def legend_above(ax, is_last=lambda handle, label: False, n_columns=None):
    """Put the legend above the axes, in the order of drawing, some entries after all others."""
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        # A stable sort, so that entries keep their order otherwise.
        order = sorted(range(len(labels)), key=lambda i: is_last(handles[i], labels[i]))
        ax.legend(
            [handles[i] for i in order],
            [labels[i] for i in order],
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=n_columns or max(1, 64 // (8 + max(map(len, labels)))),
            frameon=False,
        )


def to_text(names):
    """Convert names to text; tuples, the names of intersections, are joined by commas."""
    return [", ".join(map(str, n)) if isinstance(n, tuple) else str(n) for n in names]


def strip_frame(ax, *sides):
    """Remove the sides of the frame that carry no scale."""
    for side in sides:
        ax.spines[side].set_visible(False)
