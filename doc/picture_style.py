"""One style of pictures of guide and gallery: titles at the left, no frame, enough contrast."""

from skfair.plotting._display import COLORS

SETTINGS = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "axes.titleweight": "bold",
    "figure.titlesize": "medium",
    "figure.titleweight": "bold",
    "font.size": 11,
    "legend.frameon": False,
}


def color_cycle():
    """Colours in the order in which lines take them."""
    from cycler import cycler

    return cycler(color=COLORS)


def apply_style(gallery_conf=None, file=None):
    """Set the style, before each example of the gallery."""
    from matplotlib import rcParams

    rcParams.update(SETTINGS | {"axes.prop_cycle": color_cycle()})
