"""Figures of the benchmark of stochastic methods, from the records of its runs."""

import numpy as np

from benchmarks.convergence import draw_quartiles
from benchmarks.papers.stochastic_methods.acs_income_problem import DELTA
from benchmarks.tables import save_figure
from skfair.plotting._display import COLORS, LINE_STYLES, pick_cyclic

EQUAL_STEPS = "SSw, equal steps"
CURVES = [(part, what) for part in ("train", "test") for what in ("objective", "row 0")]
COLUMNS = ("CPU s", *(f"{part} {what}" for part, what in CURVES))


def draw_all(by_method):
    """Draw Figures 1 to 5 of the paper from records by method."""
    curves = {
        name: [_list_points(record["curve"]) for record in records]
        for name, records in by_method.items()
        if "curve" in records[0]
    }
    equal_steps = curves.pop(EQUAL_STEPS, None)
    _draw_curves(curves, "mlp_curves.png")
    if equal_steps:
        _draw_curves({EQUAL_STEPS: equal_steps}, "mlp_equal_steps.png")
    others = {name: records for name, records in by_method.items() if name != EQUAL_STEPS}
    _draw_scores(others, "mlp_scores.png")
    _draw_spiders(others, "mlp_spiders.png")


def _list_points(curve):
    """The points of a curve that is stored by columns."""
    return [dict(zip(curve, point, strict=True)) for point in zip(*curve.values(), strict=True)]


def _draw_curves(curves, file):
    """Draw loss and signed loss gap over time, training rows above, test rows below."""
    import matplotlib.pyplot as plt

    shape = {"sharex": "col", "sharey": "row", "squeeze": False, "layout": "constrained"}
    size = (2 + 2.4 * len(curves), 8)
    figure, axes = plt.subplots(len(CURVES), len(curves), figsize=size, **shape)
    for (name, runs), column in zip(curves.items(), axes.T, strict=True):
        column[0].set_title(name)
        column[-1].set_xlabel("CPU s")
        for ax, (part, what) in zip(column, CURVES, strict=True):
            draw_quartiles(ax, runs, f"{part} {what}")
            if what == "row 0":
                ax.axhspan(-DELTA, DELTA, color=COLORS[2], alpha=0.3, linewidth=0)
    for ax, (part, what) in zip(axes[:, 0], CURVES, strict=True):
        ax.set_ylabel(f"{part}: {'loss' if what == 'objective' else 'loss gap'}")
    save_figure(figure, file)


def _draw_scores(by_method, file):
    """Draw densities of the predicted probabilities on the test data, one curve per group."""
    import matplotlib.pyplot as plt

    shape = {"sharex": True, "sharey": True, "squeeze": False, "layout": "constrained"}
    figure, axes = plt.subplots(1, len(by_method), figsize=(2.4 * len(by_method), 3), **shape)
    for ax, (name, records) in zip(axes[0], by_method.items(), strict=True):
        for color, group in zip(COLORS, records[0]["test scores"], strict=False):
            counts = np.sum([record["test scores"][group] for record in records], axis=0)
            edges = np.linspace(0, 1, len(counts) + 1)
            ax.stairs(counts * len(counts) / counts.sum(), edges, color=color, label=group)
        ax.set_title(name, fontsize=8)
        ax.set_xlabel("probability")
    axes[0, 0].set_ylabel("density, test data")
    axes[0, 0].legend()
    save_figure(figure, file)


def _draw_spiders(by_method, file):
    """Draw Ind, Sp, Ina and Sf, means over the runs in which they are defined; less is better."""
    import matplotlib.pyplot as plt

    measures = ("Ind", "Sp", "Ina", "Sf")
    angles = np.linspace(0, 2 * np.pi, len(measures) + 1)
    shape = {"subplot_kw": {"projection": "polar"}, "layout": "constrained"}
    figure, axes = plt.subplots(1, 2, figsize=(11, 5), **shape)
    for ax, part in zip(axes, ("train", "test"), strict=True):
        for i, (name, records) in enumerate(by_method.items()):
            means = [np.nanmean([record[part][m] for record in records]) for m in measures]
            style = {
                "color": pick_cyclic(COLORS, i),
                "linestyle": pick_cyclic(LINE_STYLES, i // len(COLORS)),
            }
            ax.plot(angles, [*means, means[0]], label=name if part == "train" else None, **style)
        ax.set_xticks(angles[:-1], measures)
        ax.set_title(f"{part} data")
    figure.legend(loc="outside right center")
    save_figure(figure, file)
