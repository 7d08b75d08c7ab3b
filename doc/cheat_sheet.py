"""Write the cheat sheet, one page with a question, a line of code and a picture in each cell.

``python doc/cheat_sheet.py`` writes ``cheat_sheet.svg`` and ``cheat_sheet.pdf`` beside this file.
The build of the documentation does so too. Pictures are sketches: their numbers are made up.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

HOME = Path(__file__).parent
A4 = 11.69, 8.27  # inches, landscape
N_COLUMNS = 4
FIRST, SECOND, GREY = "#0072b2", "#c77700", "#888888"
"""Colours of two groups, and of what is neither."""


class Cell(NamedTuple):
    """One question with its answer."""

    question: str
    module: str
    code: str
    draw: Callable


def draw_rates(axes):
    """Rates of two groups with intervals."""
    axes.bar([0, 1], [0.48, 0.66], yerr=[0.04, 0.03], color=[FIRST, SECOND], capsize=4, width=0.6)
    axes.set(xticks=[0, 1], xticklabels=["women", "men"], ylabel="selected", ylim=(0, 0.8))


def draw_claim(axes):
    """An observed gap with its upper limit, below the tolerance."""
    axes.axvline(0.05, color="black", ls="--", lw=1)
    axes.errorbar(0.025, 0, xerr=[[0.025], [0.015]], fmt="o", color=FIRST, capsize=4)
    axes.text(0.051, 0.6, "tolerance", fontsize=7)
    axes.set(xlim=(0, 0.08), ylim=(-1, 1), yticks=[], xlabel="gap")


def draw_subgroups(axes):
    """A forest plot."""
    differences = np.array([-0.25, -0.17, 0.02, 0.05])
    axes.axvline(0, color=GREY, lw=1)
    axes.errorbar(differences, range(4), xerr=0.08, fmt="s", color=FIRST, capsize=3, ms=4)
    names = ["women, new", "new", "men", "others"]
    axes.set(yticks=range(4), yticklabels=names, xlabel="difference from the rest")
    axes.invert_yaxis()


def draw_monitor(axes):
    """A gap over months, with limits that shrink, and an alarm."""
    months = np.arange(1, 13)
    gap = np.where(months < 8, 0.03, 0.03 + 0.012 * (months - 7))
    width = 0.05 / np.sqrt(months)
    lowest = np.clip(gap - width, 0, None)
    axes.fill_between(months, lowest, gap + width, color=FIRST, alpha=0.25, lw=0)
    axes.plot(months, gap, color=FIRST)
    axes.axhline(0.05, color="black", ls="--", lw=1)
    axes.plot(12, gap[-1], "v", color="black")
    axes.set(xlabel="month", ylabel="gap", xticks=[1, 6, 12])


def draw_before_and_after(axes):
    """Rates of a plain model and of a constrained one."""
    axes.bar([0, 2.5], [0.48, 0.57], color=FIRST, label="women")
    axes.bar([1, 3.5], [0.66, 0.6], color=SECOND, label="men")
    axes.set(
        xticks=[0.5, 3], xticklabels=["plain", "constrained"], ylabel="selected", ylim=(0, 0.8)
    )


def draw_linear(axes):
    """Samples of two groups, and a line of decision that was turned."""
    rng = np.random.default_rng(0)
    for color, shift in ((FIRST, -0.6), (SECOND, 0.6)):
        axes.scatter(*rng.normal([[shift], [0]], 0.8, (2, 40)), s=6, color=color)
    ends = np.array([-2.5, 2.5])
    axes.plot(ends, -2 * ends, color=GREY, ls=":", lw=1.5, label="plain")
    axes.plot(ends, -0.4 * ends, color="black", lw=1.5, label="constrained")
    axes.set(xlim=(-2.5, 2.5), ylim=(-2.5, 2.5), xticks=[], yticks=[])
    axes.legend(fontsize=6, loc="upper right", frameon=False)


def draw_partial(axes):
    """Shares above each threshold, equal within a range."""
    share = np.linspace(0, 1, 101)
    outside = np.clip(0.2 - share, 0, None) * share + np.clip(share - 0.5, 0, None) * (1 - share)
    difference = 2 * outside
    axes.axvspan(0.2, 0.5, color=GREY, alpha=0.2, lw=0)
    axes.plot(share, share - difference, color=FIRST)
    axes.plot(share, share + difference, color=SECOND)
    axes.set(xlabel="selected of all", ylabel="of the group")


def draw_front(axes):
    """Accuracy that a smaller tolerance costs."""
    gap = np.array([0.01, 0.03, 0.05, 0.08, 0.12, 0.17])
    axes.plot(gap, 0.872 - 0.03 * (1 - gap / 0.17) ** 2, "o-", color=FIRST, ms=4)
    axes.set(xlabel="gap", ylabel="accuracy", xticks=[0, 0.1, 0.2])


def draw_ranking(axes):
    """Exposure by position, of two groups."""
    position = np.arange(1, 9)
    colors = [SECOND, FIRST] * 4
    axes.bar(position, 1 / np.log2(1 + position), color=colors)
    axes.set(xlabel="position", ylabel="exposure", xticks=[1, 4, 8])


def draw_coverage(axes):
    """Coverage of two groups at the level that is asked for."""
    for group, (share, color, mark) in enumerate([(0.9, FIRST, "o"), (0.91, SECOND, "s")]):
        axes.plot(group, share, mark, color=color, ms=7)
        axes.annotate(
            f"{share:.0%}", (group, share), (0, 9), textcoords="offset points", ha="center"
        )
    axes.axhline(0.9, color="black", ls="--", lw=1)
    axes.set(xticks=[0, 1], xticklabels=["women", "men"], ylabel="truth in the set")
    axes.set(xlim=(-0.5, 1.5), ylim=(0.8, 1))


def draw_clusters(axes):
    """Three clusters, each with both groups."""
    rng = np.random.default_rng(1)
    for center in ((0, 0), (3, 0.5), (1.4, 2.6)):
        for color in (FIRST, SECOND):
            points = rng.normal(center, 0.45, (16, 2)).T
            axes.scatter(*points, s=7, color=color)
        axes.plot(*center, "x", color="black")
    axes.set(xticks=[], yticks=[])


def draw_graph(axes):
    """The matrix of a graph with blocks."""
    rng = np.random.default_rng(2)
    block = np.arange(40) // 10
    probability = np.where(block[:, np.newaxis] == block, 0.6, 0.08)
    axes.spy(rng.random((40, 40)) < probability, markersize=1.6, color=FIRST)
    axes.set(xticks=[], yticks=[])


CELLS = (
    Cell(
        "How does a model treat groups?",
        "skfair.audit",
        "audit = Audit.from_predictions(\n  y, decisions, sensitive_features=sex)\naudit.report()",
        draw_rates,
    ),
    Cell(
        "Is a tolerance kept for new data?",
        "skfair.audit",
        'audit.certify(\n  "demographic_parity", tolerance=0.05)',
        draw_claim,
    ),
    Cell(
        "Which subgroups depart most?",
        "skfair.audit",
        'audit.subgroups("true_positive_rate")',
        draw_subgroups,
    ),
    Cell(
        "Does a deployed model keep it?",
        "skfair.monitoring",
        'monitor = GapMonitor(\n  "demographic_parity", tolerance=0.05)\n'
        "monitor.update(\n  y, decisions, sensitive_features=sex)",
        draw_monitor,
    ),
    Cell(
        "Can I keep the model I have?",
        "skfair.classification, skfair.regression",
        'ConstrainedClassifierCV(\n  model, "demographic_parity",\n  tolerance=0.05)\n'
        "ConstrainedRegressorCV(model)",
        draw_before_and_after,
    ),
    Cell(
        "Can a linear classifier keep it?",
        "skfair.classification",
        'ConstrainedERMClassifier(\n  "equalized_odds", tolerance=0.05,\n  confidence_level=0.95)',
        draw_linear,
    ),
    Cell(
        "Wherever the threshold will be?",
        "skfair.classification, skfair.constraints",
        "PartialParityClassifier(\n  PartialStatisticalParity((0.2, 0.5)),\n  tolerance=0.1)",
        draw_partial,
    ),
    Cell(
        "What does a smaller gap cost?",
        "skfair.audit",
        "fairness_front(\n  model, X, y, sensitive_features=sex)",
        draw_front,
    ),
    Cell(
        "Equal exposure in rankings?",
        "skfair.ranking",
        "ConstrainedRankerCV(\n  ranker, tolerance=0.05)",
        draw_ranking,
    ),
    Cell(
        "Sets that cover every group?",
        "skfair.conformal",
        "ConformalClassifier(model)\nConformalRegressor(model)",
        draw_coverage,
    ),
    Cell(
        "Clusters or territories with bounds?",
        "skfair.cluster",
        "FairKMeans(5, min_balance=0.8,\n  max_cluster_size=120)\n"
        'FairKMedoids(5,\n  metric="precomputed")',
        draw_clusters,
    ),
    Cell(
        "The same of a graph or kernel?",
        "skfair.cluster",
        'FairSpectralClustering(\n  n_clusters=4, affinity="precomputed")',
        draw_graph,
    ),
)


def draw_cell(figure, cell, left, top, width, height):
    """Draw one cell below and right of a corner, in shares of the page."""
    figure.text(left, top, cell.question, fontsize=8.5, weight="bold", va="top")
    code = {"family": "monospace", "fontsize": 7, "va": "top", "linespacing": 1.25}
    figure.text(left, top - 0.023, cell.module, color=GREY, fontsize=7, va="top")
    figure.text(left, top - 0.044, cell.code, color="#333333", **code)
    axes = figure.add_axes((left + 0.038, top - height + 0.06, width - 0.07, height - 0.18))
    axes.tick_params(labelsize=6, length=2)
    cell.draw(axes)
    axes.xaxis.label.set_fontsize(7)
    axes.yaxis.label.set_fontsize(7)
    axes.spines[["top", "right"]].set_visible(False)


def draw_sheet():
    """Return the page."""
    figure = Figure(figsize=A4)
    figure.text(0.03, 0.965, "skfair", fontsize=20, weight="bold", va="top")
    figure.text(
        0.13,
        0.955,
        "fit(X, y, sensitive_features=sex) for all estimators. X need not have the group. "
        "The tolerance is the largest difference between groups that you allow.",
        fontsize=9,
        va="top",
    )
    width = 0.95 / N_COLUMNS
    height = 0.89 / (len(CELLS) // N_COLUMNS)
    for number, cell in enumerate(CELLS):
        row, column = divmod(number, N_COLUMNS)
        draw_cell(figure, cell, 0.03 + column * width, 0.91 - row * height, width, height)
    note = "The pictures are sketches with made-up numbers."
    figure.text(0.03, 0.012, note, fontsize=7, color=GREY)
    return figure


def write_sheet(folder=HOME):
    """Write the page as SVG and PDF, without a date."""
    with mpl.rc_context({"svg.hashsalt": "skfair", "pdf.fonttype": 42}):
        figure = draw_sheet()
        figure.savefig(Path(folder, "cheat_sheet.svg"), metadata={"Date": None})
        figure.savefig(Path(folder, "cheat_sheet.pdf"), metadata={"CreationDate": None})


if __name__ == "__main__":
    write_sheet()
