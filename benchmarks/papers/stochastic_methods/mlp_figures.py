"""Pictures of the benchmark of stochastic methods, from the records of its runs."""

import numpy as np

from benchmarks.convergence import draw_quartiles
from benchmarks.papers.partial_fairness.figures import FOLDER
from benchmarks.papers.stochastic_methods.acs_income_problem import DELTA
from skfair.plotting._style import COLORS, LINES, cycle

EQUAL_STEPS = "SSw, equal steps"


def draw_all(by_method):
    """Figures 1 to 5 of the paper, from records by method."""
    FOLDER.mkdir(exist_ok=True)
    courses = {
        name: [record["points"] for record in records]
        for name, records in by_method.items()
        if "points" in records[0]
    }
    shown = {name: found for name, found in courses.items() if name != EQUAL_STEPS}
    _draw_courses(shown, "mlp_courses.png")
    if EQUAL_STEPS in courses:
        _draw_courses({EQUAL_STEPS: courses[EQUAL_STEPS]}, "mlp_equal_steps.png")
    compared = {name: found for name, found in by_method.items() if name != EQUAL_STEPS}
    _draw_scores(compared, "mlp_scores.png")
    _draw_spiders(compared, "mlp_spiders.png")


def _draw_courses(courses, file):
    """Loss and signed loss gap over time, training rows above, test rows below."""
    import matplotlib.pyplot as plt

    rows = [(whose, what) for whose in ("train", "test") for what in ("objective", "row 0")]
    shape = {"sharex": "col", "sharey": "row", "squeeze": False, "layout": "constrained"}
    size = (2 + 2.4 * len(courses), 8)
    figure, axes = plt.subplots(len(rows), len(courses), figsize=size, **shape)
    for (name, runs), column in zip(courses.items(), axes.T, strict=True):
        column[0].set_title(name)
        column[-1].set_xlabel("CPU s")
        for ax, (whose, what) in zip(column, rows, strict=True):
            draw_quartiles(ax, runs, f"{whose} {what}")
            if what == "row 0":
                ax.axhspan(-DELTA, DELTA, color=COLORS[2], alpha=0.3, linewidth=0)
    for ax, (whose, what) in zip(axes[:, 0], rows, strict=True):
        ax.set_ylabel(f"{whose}: {'loss' if what == 'objective' else 'loss gap'}")
    _save(figure, file)


def _draw_scores(by_method, file):
    """Shares of test people by predicted probability, one curve for each group."""
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
    axes[0, 0].set_ylabel("density, test people")
    axes[0, 0].legend()
    _save(figure, file)


def _draw_spiders(by_method, file):
    """Ind, Sp, Ina and Sf, mean over the runs that have them: the smaller the better."""
    import matplotlib.pyplot as plt

    measures = ("Ind", "Sp", "Ina", "Sf")
    angles = np.linspace(0, 2 * np.pi, len(measures) + 1)
    shape = {"subplot_kw": {"projection": "polar"}, "layout": "constrained"}
    figure, axes = plt.subplots(1, 2, figsize=(11, 5), **shape)
    for ax, whose in zip(axes, ("train", "test"), strict=True):
        for i, (name, records) in enumerate(by_method.items()):
            means = [np.nanmean([record[whose][m] for record in records]) for m in measures]
            style = {"color": cycle(COLORS, i), "linestyle": cycle(LINES, i // len(COLORS))}
            ax.plot(angles, [*means, means[0]], label=name if whose == "train" else None, **style)
        ax.set_xticks(angles[:-1], measures)
        ax.set_title(f"{whose} rows")
    figure.legend(loc="outside right center")
    _save(figure, file)


def _save(figure, file):
    import matplotlib.pyplot as plt

    figure.savefig(FOLDER / file, dpi=120)
    plt.close(figure)
