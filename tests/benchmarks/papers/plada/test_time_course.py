"""Pictures of PLADA's figures and the rate of its theorem, on numbers made up here."""

from itertools import islice

import numpy as np
import pytest

from benchmarks.papers.plada import time_course
from skfair._problems.problem import example_problem
from skfair.solvers import PLADA


def points(*heights):
    return [{"CPU s": i + 1.0, "residual": height} for i, height in enumerate(heights)]


@pytest.fixture
def draw(monkeypatch):
    figures = []
    monkeypatch.setattr(time_course, "save_figure", lambda figure, name: figures.append(figure))

    def draw_curves(curves):
        time_course._draw(curves, {"residual": "residual"}, "figure.png")
        return figures[0]

    return draw_curves


def test_a_method_has_one_colour_in_all_panels_and_one_place_in_the_legend(draw):
    curves = {"a9a": {"sqp": points(1, 2), "plada": points(2, 3)}, "Bank": {"plada": points(3, 4)}}
    first, second = (ax.get_lines() for ax in draw(curves).axes)
    assert [line.get_label() for line in first] == ["sqp", "plada"]
    assert second[0].get_color() == first[1].get_color() != first[0].get_color()


def test_the_legend_has_every_method_once(draw):
    curves = {"a9a": {"sqp": points(1, 2)}, "Bank": {"plada": points(3, 4), "sqp": points(1, 2)}}
    (legend,) = draw(curves).legends
    assert [text.get_text() for text in legend.get_texts()] == ["sqp", "plada"]


@pytest.mark.parametrize(("heights", "scale"), [((1e-5, 1e-1), "symlog"), ((0.2, 0.9), "linear")])
def test_an_axis_of_less_than_a_decade_is_linear(draw, heights, scale):
    (ax,) = draw({"a9a": {"plada": points(*heights)}}).axes
    assert ax.get_yscale() == scale


def test_the_exponent_is_that_of_the_last_two_means():
    record = {"T = 10": 5.0, "T = 100": 1.0, "T = 1000": 0.1}
    assert time_course._exponent(record) == pytest.approx(-1.0)
    law = {f"T = {n}": np.log(n) / n for n in (100, 1000, 3000)}
    assert time_course._exponent(law) == pytest.approx(-0.866, abs=1e-3)


def test_changes_are_those_of_parameters_and_slack():
    problem = example_problem().join_rows()
    solver = PLADA(alpha=2.0, beta=0.5, tau=0.1, u_max=1.0, one_row=True, theta_update="exact")
    iterates = list(islice(solver._iterate(problem, problem.initial_point(), None), 4))
    one_sided = problem.one_sided
    # The slack by its own recursion: from the start, a step against lambda within [0, u_max].
    u = np.clip(-one_sided.values(iterates[0].evaluation.values), 0.0, 1.0)
    changes = []
    for before, after in zip(iterates, iterates[1:], strict=False):
        u_next = np.clip(u - 0.1 * before.details["lambda"], 0.0, 1.0)
        step = after.evaluation.x - before.evaluation.x
        changes.append(np.sum(step**2) + np.sum((u_next - u) ** 2))
        u = u_next
    means = time_course._mean_changes(problem, solver, (1, 3))
    assert means == pytest.approx({"T = 1": changes[0], "T = 3": np.mean(changes)}, rel=1e-6)
