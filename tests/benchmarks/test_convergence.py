import numpy as np
import pytest

from benchmarks.convergence import Schedule, convergence_curve, draw_quartiles
from benchmarks.erm_cases import Split
from benchmarks.papers.stochastic_methods.mlp_methods import _figures
from skfair._bound.bound import ConstraintSystem
from skfair._groups import check_groups
from skfair._problems.linear import LinearModel
from skfair._problems.problem import ConstrainedProblem
from skfair.constraints import DemographicParity
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.solvers import PLADA, SGD, SQP, SwitchingSubgradient
from skfair.surrogates import Sigmoid


@pytest.fixture(scope="module")
def problem():
    """Forty samples with one feature that determines the group."""
    X = np.linspace(-1, 1, 40)[:, np.newaxis]
    groups = np.repeat(["a", "b"], 20)
    target = np.where(np.arange(40) % 3 > 0, 1.0, -1.0)
    weights = np.ones(40)
    samples = Samples(target, check_groups(groups, 40), weights)
    bound = DemographicParity().bind(samples, Sigmoid(), LogisticLoss(), 0.01)
    model = LinearModel.from_features(X, weights)
    joint = ConstraintSystem((bound,))
    return ConstrainedProblem(model, LogisticLoss(), target, weights, 0.01, joint)


def test_steps_of_a_course_are_those_of_the_solver(problem):
    solver = SGD(batch_size=8)
    start = np.array([1.0, 0.5])
    problems = {"train": problem, "test": problem}
    points, x = convergence_curve(solver, problems, start, 3, Schedule("steps", (0, 5, 10)))
    assert [point["steps"] for point in points] == [0, 5, 10]
    steps = solver._steps(problem, start, np.random.RandomState(3))
    for _ in range(10):
        expected, _ = next(steps)
    assert np.array_equal(x, expected)
    last = problem.evaluate(x)
    assert points[-1]["train objective"] == points[-1]["test objective"] == last.fun
    assert points[-1]["train violation"] == last.violation
    assert points[-1]["train gap"] == problem.constraint[0].value(last.scores)


@pytest.mark.parametrize(
    "solver", [PLADA(), PLADA(one_row=True), SwitchingSubgradient()], ids=["two", "one", "ssg"]
)
def test_rows_of_every_form_are_measured_by_one_problem(problem, solver):
    schedule = Schedule("steps", (0, 3))
    points, _ = convergence_curve(solver, {"train": problem}, problem.initial_point(), 0, schedule)
    assert {"train row 0", "residual"} <= set(points[0]) & set(points[-1])
    assert "train row 1" not in points[0]


def test_a_certified_answer_has_no_residual(problem):
    schedule = Schedule("steps", (0, 30))
    points, _ = convergence_curve(SQP(), {"train": problem}, problem.initial_point(), 0, schedule)
    assert points[-1]["residual"] < 1e-6 < points[0]["residual"]


def test_quartiles_of_courses():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    courses = [[{"CPU s": 1.0, "loss": loss}, {"CPU s": 2.0, "loss": loss}] for loss in (0, 1, 5)]
    draw_quartiles(ax, courses, "loss")
    median, average = (line.get_ydata().tolist() for line in ax.lines)
    assert median == [1, 1] and average == [2, 2]
    low, high = ax.collections[0].get_paths()[0].get_extents().get_points()
    assert (low[1], high[1]) == (0.5, 3.0)


def test_figures_of_decisions_by_hand():
    rows = Split(None, np.array([1, 0, 1, 0, 0]), np.array(["a", "a", "b", "b", "b"]))
    figures = _figures(rows, np.array([1.0, -1.0, 1.0, 1.0, -1.0]))
    expected = {"Ind": 1 / 6, "Sp": 1 / 2, "Ina": 1 / 5, "Sf": 1 / 2}
    assert {name: figures[name] for name in expected} == pytest.approx(expected)
