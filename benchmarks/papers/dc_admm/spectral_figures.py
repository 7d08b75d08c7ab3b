"""Pictures of Figures 3 to 8 of the DC-ADMM paper, from the records of its tables."""

import numpy as np

from benchmarks.tables import save_figure
from skfair.plotting._display import COLORS, pick_cyclic

BY_CLUSTERS = {  # problems of the figures of time and balance by the number of clusters
    3: ("LastFM", "4area RBF"),
    5: ("LastFM",),
    6: ("Thyroid RBF",),
    7: ("4area RBF",),
    8: ("Adult RBF",),
}
SECONDS, BALANCE = "CPU s", "balance"
FIVE_GROUPS = "RandLaplace h=5"


def draw_by_clusters(records):
    """Draw Figures 3 and 5 to 8: for each problem time at the left and balance at the right."""
    import matplotlib.pyplot as plt

    for number, problems in BY_CLUSTERS.items():
        rows = [row for row in records if row["problem"] in problems]
        if not rows:
            continue
        shape = {"squeeze": False, "layout": "constrained"}
        size = (4 * 2 * len(problems), 3.6)
        figure, axes = plt.subplots(1, 2 * len(problems), figsize=size, **shape)
        panels = [(problem, what) for problem in problems for what in (SECONDS, BALANCE)]
        for (problem, what), ax in zip(panels, axes[0], strict=True):
            _draw_lines(ax, [row for row in rows if row["problem"] == problem], "k", what)
            ax.set(title=problem, xlabel="clusters", ylabel=what)
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
        save_figure(figure, f"spectral_figure_{number}.png")


def draw_by_nodes(records):
    """Draw Figure 4: time by the number of nodes of RandLaplace with five groups, by clusters."""
    import matplotlib.pyplot as plt

    rows = [row for row in records if row["problem"] == FIVE_GROUPS]
    numbers = sorted({row["k"] for row in rows})
    if not rows:
        return
    shape = {"squeeze": False, "sharey": True, "layout": "constrained"}
    figure, axes = plt.subplots(1, len(numbers), figsize=(4 * len(numbers), 3.6), **shape)
    for k, ax in zip(numbers, axes[0], strict=True):
        _draw_lines(ax, [row for row in rows if row["k"] == k], "n", SECONDS)
        ax.set(title=f"{k} clusters", xlabel="nodes", yscale="log")
    axes[0, 0].set_ylabel(SECONDS)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    save_figure(figure, "spectral_figure_4.png")


def _draw_lines(ax, rows, column, what):
    """Draw one line per method."""
    for i, method in enumerate(dict.fromkeys(row["method"] for row in rows)):
        points = sorted((row[column], row[what]) for row in rows if row["method"] == method)
        places, heights = np.transpose(points)
        # Equal lines lie on each other, so that the later ones are thinner.
        style = {"linewidth": 4 - i, "markersize": 10 - 2 * i, "color": pick_cyclic(COLORS, i)}
        ax.plot(places, heights, "o-", label=method, **style)
    ax.set_xticks(sorted({row[column] for row in rows}))
