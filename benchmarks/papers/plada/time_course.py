"""PLADA's Figures 1, 2 and 4 to 6: objective, violation, residual and multipliers over CPU time."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from benchmarks.convergence import Looks, course, draw_quartiles, state
from benchmarks.erm_cases import case
from benchmarks.papers.partial_fairness.figures import FOLDER
from benchmarks.peers.constrained_erm import TOLERANCE, smooth_problem
from benchmarks.peers.erm_methods import slsqp
from benchmarks.records import Run, recorded
from benchmarks.tables import Check, Report
from skfair.plotting._style import COLORS, cycle
from skfair.solvers import (
    GDA,
    IPPSSG,
    PLADA,
    SQP,
    AugmentedLagrangian,
    IPPConEx,
    SwitchingSubgradient,
)

STUDY = "erm-time-course"
SOLVERS = {
    "sqp": SQP(),
    "augmented-lagrangian": AugmentedLagrangian(),
    "plada": PLADA(),
    "plada, one row": PLADA(one_row=True, inner="exact"),
    "plada, paper": PLADA.from_paper(one_row=True),
    "gda": GDA(),
    "switching-subgradient": SwitchingSubgradient(),
    "ipp-ssg": IPPSSG(),
    "ipp-conex": IPPConEx(),
}
"""Of a gap, SSG, IPP-SSG and the second and third PLADA see the one row that (15) and (17) are."""

EXACT = {"one_row": True, "inner": "exact"}
SENSITIVITY = {  # Figures 4 and 5: one of the two moves, the other is the paper's
    "alpha": [PLADA(alpha=alpha, beta=0.1, **EXACT) for alpha in (1.0, 5.0, 10.0, 50.0)],
    "beta": [PLADA(alpha=10.0, beta=beta, **EXACT) for beta in (0.05, 0.1, 0.5, 0.9)],
}
FIGURES = {"demographic_parity": "figure_1", "equalized_odds": "figure_2"}
DATA = ("Adult", "Bank", "COMPAS")
SECONDS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
PRINTED = (0.03, 0.3, 3.0, 10.0)
NEAR = 1e-3
"""How near to the optimum the exact step of PLADA is to end, in objective and violation."""

QUANTITIES = {
    "objective": "train objective",
    "violation": "train violation",
    "near stationarity": "residual",
}
POSITIVE = ("train violation", "residual", "apart")
"""Quantities that go to 0, drawn on a logarithmic axis."""


def erm_time_course(budget):
    """Objective, violation and residual of every solver over CPU time, as PLADA's Figures 1, 2.

    The paper draws Adult, Bank and COMPAS under demographic parity (15) and equalised odds (17),
    in Figures 4 and 5 how much alpha and beta of PLADA matter, in Figure 6 its two multipliers. Its
    settings are of columns as they are; here they are standardised, on which its step of 0.001
    hardly moves, so that Figures 4 and 5 take the steps of its theorem. PLADA on one row takes the
    exact proximal step of Algorithm 1. "to optimum" is the objective less that of scipy's SLSQP,
    an independent solver, on the training data. All rows of the training data are looked at, and of
    the test data, by rows and by decisions; what a solver's course has after its last step is its
    end. Runs are kept in benchmarks/records, and the figures are drawn into benchmarks/figures.
    """
    seconds = SECONDS if budget.share == 1 else tuple(s for s in SECONDS if s <= 0.3)
    found = recorded(STUDY, _runs(seconds), budget)
    if found:
        FOLDER.mkdir(exist_ok=True)
        _draw_figures(found)
    optima = recorded(STUDY, _optima(), budget)
    records = [
        {"problem": problem, "solver": solver, **_row(point, _optimum(optima, problem))}
        for (problem, solver, _), record in found.items()
        for point in _at(record["points"], PRINTED)
    ]
    title = "CPU seconds; tolerance .02, residual of the KKT conditions"
    return Report(title, records, _checks(found, optima))


def _optima():
    """One run of scipy's SLSQP per problem, on smooth rows."""
    for name, constraint in product(DATA, FIGURES):
        make = partial(_slsqp_optimum, name, constraint)
        yield Run(f"{name}, {constraint}", "SLSQP", 0, "ftol=1e-12", make)


def _slsqp_optimum(name, constraint):
    problem = smooth_problem(case(name, 0).train, constraint, TOLERANCE)
    x = slsqp(problem, 1e-12).x
    return state({"train": problem}, x)


def _optimum(optima, problem):
    """The optimal objective of a problem; nan where its run is not recorded."""
    problem = "Adult, demographic_parity" if problem == "sensitivity" else problem
    return optima.get((problem, "SLSQP", 0), {}).get("train objective", np.nan)


def _checks(found, optima):
    """How far from the optimum PLADA ends with the exact step of Algorithm 1."""
    checks = []
    for name, constraint in product(DATA, FIGURES):
        problem = f"{name}, {constraint}"
        record = found.get((problem, "plada, one row", 0))
        ends = [] if record is None else record["points"][-1:]
        best = _optimum(optima, problem)
        away = [abs(point["train objective"] - best) for point in ends if np.isfinite(best)]
        checks.append(Check(f"exact step, distance to optimum, {problem}", away, "<=", NEAR))
        over = [point["train violation"] for point in ends]
        checks.append(Check(f"exact step, violation, {problem}", over, "<=", NEAR))
    return checks


def _runs(seconds):
    looks = Looks("CPU s", seconds)
    for name, constraint in product(DATA, FIGURES):
        problem = f"{name}, {constraint}"
        for solver, method in SOLVERS.items():
            make = partial(_course, name, constraint, method, looks)
            yield Run(problem, solver, 0, f"{method}, {looks}", make)
    for parameter, solvers in SENSITIVITY.items():
        for method in solvers:
            label = f"{parameter} = {getattr(method, parameter):g}"
            make = partial(_course, "Adult", "demographic_parity", method, looks)
            yield Run("sensitivity", label, 0, f"{method}, {looks}", make)


def _course(name, constraint, solver, looks):
    """Points of one run."""
    split = case(name, 0)
    train = smooth_problem(split.train, constraint, TOLERANCE)
    problems = {"train": train, "test": _unseen(split.test, constraint, train.model)}
    SQP(max_iter=1).solve(train)  # compiles
    points, _ = course(solver, problems, train.initial_point(), 0, looks)
    return {"points": points}


def _unseen(rows, constraint, model):
    """The problem of the test rows, in the parameters of a model of the training rows."""
    problem = smooth_problem(rows, constraint, TOLERANCE)
    return replace(problem, model=replace(model, X=rows.X - model.origin))


def _row(point, optimum):
    """What the table has of a point."""
    columns = ("CPU s", "train objective", "train violation", "residual")
    others = ("train gap", "test objective", "test gap")
    away = {"to optimum": point["train objective"] - optimum}
    return {column: point[column] for column in columns} | away | {c: point[c] for c in others}


def _at(points, seconds):
    """The points at some of the looks, and the last one where the run ended before."""
    found = {}
    for second in seconds:
        later = [point for point in points if point["CPU s"] >= second] or points[-1:]
        found[later[0]["CPU s"]] = later[0]
    return found.values()


def _draw_figures(found):
    """Figures 1, 2, 4, 5 and 6, as far as their runs are recorded."""
    for constraint, figure in FIGURES.items():
        courses = {
            name: {
                solver: found[key]["points"]
                for solver in SOLVERS
                if (key := (f"{name}, {constraint}", solver, 0)) in found
            }
            for name in DATA
        }
        _draw(courses, QUANTITIES, f"plada_{figure}.png")
    for parameter, figure in (("alpha", "figure_4"), ("beta", "figure_5")):
        runs = {
            method: record["points"]
            for (problem, method, _), record in found.items()
            if problem == "sensitivity" and method.startswith(parameter)
        }
        _draw({"Adult": runs}, QUANTITIES, f"plada_{figure}.png")
    duals = {
        name: {"plada, one row": [point | _apart(point) for point in found[key]["points"]]}
        for name in DATA
        if (key := (f"{name}, demographic_parity", "plada, one row", 0)) in found
    }
    quantities = {"|lambda - mu|": "apart", "lambda": "lambda 0", "mu": "mu 0"}
    _draw(duals, quantities, "plada_figure_6.png")


def _apart(point):
    return {"apart": abs(point["lambda 0"] - point["mu 0"])}


def _draw(courses, quantities, file):
    """One column of axes per data set, one row per quantity, one line per method."""
    import matplotlib.pyplot as plt

    courses = {name: runs for name, runs in courses.items() if runs}
    if not courses:
        return
    shape = {"sharex": True, "squeeze": False, "layout": "constrained"}
    size = (4.5 * len(courses) + 2, 3 * len(quantities))
    figure, axes = plt.subplots(len(quantities), len(courses), figsize=size, **shape)
    for column, (name, runs) in zip(axes.T, courses.items(), strict=True):
        column[0].set_title(name)
        column[-1].set(xscale="log", xlabel="CPU s")
        for ax, (label, what) in zip(column, quantities.items(), strict=True):
            ax.set_ylabel(label)
            if what in POSITIVE:
                ax.set_yscale("symlog", linthresh=1e-6)
            for i, (method, points) in enumerate(runs.items()):
                later = [point for point in points if point["CPU s"] > 0]
                shown = method if ax is axes[0, 0] else None
                draw_quartiles(ax, [later], what, label=shown, color=cycle(COLORS, i))
    figure.legend(loc="outside upper center", ncols=5)
    figure.savefig(FOLDER / file, dpi=110)
    plt.close(figure)
