"""PLADA's Figures 1, 2 and 4 to 6, and the rate of its Theorem 1.

Objective, violation, residual and multipliers over CPU time.
"""

from dataclasses import replace
from functools import cache, partial
from itertools import islice, product

import numpy as np
import pandas as pd
from sklearn.base import clone

from benchmarks.convergence import Schedule, convergence_curve, draw_quartiles, state
from benchmarks.data import fetch_a9a, fetch_bank_marketing, fetch_compas
from benchmarks.erm_cases import Split, one_hot, split_case
from benchmarks.peers.constrained_erm import TOLERANCE, smooth_problem
from benchmarks.peers.erm_methods import slsqp
from benchmarks.record_tables import store_of
from benchmarks.records import Run, load_or_run
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report, join_reports, save_figure
from skfair._bound.bound import ConstraintSystem
from skfair.plotting._display import COLORS, pick_cyclic
from skfair.solvers import (
    IPPSSG,
    PLADA,
    SQP,
    IPPConEx,
    SwitchingSubgradient,
)


class OneRowConEx(IPPConEx):
    """IPP-ConEx with one row for all gaps."""

    one_row = True


STUDY, STUDY_RATE = "erm-time-course", "erm-time-course-rate"
SOLVERS = {
    "sqp": SQP(),
    "plada, row per gap": PLADA(one_row=True, theta_update="exact"),
    "plada, paper": PLADA.from_paper(one_row=True),
    "switching-subgradient": SwitchingSubgradient(),
    "ipp-ssg": IPPSSG(),
    "ipp-conex": OneRowConEx(),
}
"""SSG, IPP-SSG and IPP-ConEx have one row, as in (15) and (17), and so has PLADA in (15). In (17)
it has a row with multipliers of its own for each of the two gaps, as in section 5.2."""

GAPS = {
    "demographic_parity": ("demographic_parity",),
    "equalized_odds": ("equal_opportunity", "false_positive_rate_parity"),
}
"""The gaps that a constraint of `FIGURES` bounds by one tolerance."""

VARIED = {"alpha": (1.0, 5.0, 10.0, 50.0), "beta": (0.05, 0.1, 0.5, 0.9)}
"""Figures 4 and 5: one of the two varies, the other is that of Table 2."""

STEPS = {
    "steps of Table 2": PLADA.from_paper(one_row=True),
    "steps of the theorem": PLADA(alpha=10.0, beta=0.1, one_row=True, theta_update="exact"),
}
"""Solvers whose alpha or beta is varied in Figures 4 and 5, and whose rate is measured."""
FIGURES = {"demographic_parity": "figure_1", "equalized_odds": "figure_2"}
ADULT = "a9a"
"""The paper's Adult: 48,842 samples of 123 columns."""

RAW = f"{ADULT}, raw columns, demographic_parity"
"""The panel of Figure 1 on columns that are not standardised."""

DATA = (ADULT, "Bank", "COMPAS")
"""Data with the numbers of samples and columns of the paper's Table 1."""

SECONDS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
PRINTED = (0.03, 0.3, 3.0, 10.0)
RATE_STEPS = (100, 1000, 3000)
"""Numbers of steps T after which the mean of Theorem 1 is taken."""

NEAR = 1e-3
"""Maximum distance of PLADA's exact step from the optimum, in objective and violation."""

QUANTITIES = {
    "objective": "train objective",
    "violation": "train violation",
    "near stationarity": "residual",
}
POSITIVE = ("train violation", "residual", "distance")
"""Quantities that converge to 0, drawn on a logarithmic axis."""


@smallest(
    SECONDS=(0.0, 0.01), DATA=(ADULT,), VARIED={"alpha": (1.0,), "beta": (0.1,)}, RATE_STEPS=(2, 4)
)
def erm_time_course(budget):
    """Objective, violation and residual of solvers over CPU time, as PLADA's Figures 1, 2.

    The paper draws Adult, Bank and COMPAS under demographic parity (15) and equalised odds (17).
    Its Adult is a9a. Figures 4 and 5 show the effect of alpha and beta of PLADA, Figure 6 its two
    multipliers. The paper's step of 0.001 makes little progress, on standardised columns as on raw
    ones ("raw columns"). So Figures 4 to 6 are drawn with the steps of its Table 2 and with those
    of its theorem. PLADA with a row per gap takes the exact proximal step of Algorithm 1. All
    samples are fitted, and 70 % of them to measure the rate. "to optimum" is the objective minus
    that of scipy's SLSQP, an independent solver. A solver that stops keeps its last point. Runs are
    kept in benchmarks/papers/recorded, and figures written to benchmarks/figures.

    Theorem 1 states that the mean over T steps of the squared residual falls as log(T) / T, and
    Remark 1 the same of the squared change of the parameters and the slack, which is measured.
    """
    seconds = SECONDS if budget.fraction == 1 else tuple(s for s in SECONDS if s <= 0.3)
    store = store_of(budget)
    stored = load_or_run(STUDY, _runs(seconds), budget, store)
    _draw_figures(stored)
    optima = load_or_run(STUDY, _optima(), budget, store)
    records = [
        {"problem": problem, "solver": solver, **_row(point, _optimum(optima, problem))}
        for (problem, solver, _), record in stored.items()
        for point in _select_points(record["points"], PRINTED)
    ]
    title = "CPU seconds; tolerance .02, residual of the KKT conditions"
    return join_reports([Report(title, records, _checks(stored, optima)), _rates(budget, store)])


def _rates(budget, store):
    """The rate of Theorem 1: means of Remark 1 and the exponent of T between the last two."""
    n_steps = tuple(max(i + 2, round(budget.fraction * n)) for i, n in enumerate(RATE_STEPS))
    runs = [
        Run(name, steps, 0, f"{solver}, {n_steps}", partial(_measure_rate, name, solver, n_steps))
        for name, (steps, solver) in product(DATA, STEPS.items())
    ]
    stored = load_or_run(STUDY_RATE, runs, budget, store)
    records = [
        {"problem": name, "solver": steps, **record, "exponent": _exponent(record)}
        for (name, steps, _), record in stored.items()
    ]
    title = (
        "Theorem 1: mean over T steps of the squared change of parameters and slack, demographic "
        "parity, and\nthe exponent of T between the last two. log(T) / T has -.87 from 1,000 to "
        "3,000 steps"
    )
    return Report(title, records, [])


def _measure_rate(name, solver, n_steps):
    """Means of Remark 1 on a data set."""
    samples = split_case(name, *_all_samples(name), 0).train
    problem = smooth_problem(samples, "demographic_parity", TOLERANCE)
    return _mean_changes(problem.join_rows(), solver, n_steps)


def _mean_changes(problem, solver, n_steps):
    """Means of Remark 1 after the given numbers of steps."""
    rho = solver.alpha / (1.0 + solver.alpha * solver.beta)
    one_sided = problem.one_sided
    squares = []
    last = None
    for iterate in islice(solver._iterate(problem, problem.initial_point(), None), n_steps[-1] + 1):
        multipliers = iterate.details
        # lambda = mu + rho (G + u), from which the slack u follows.
        slack = (multipliers["lambda"] - multipliers["mu"]) / rho - one_sided.values(
            iterate.evaluation.values
        )
        point = np.concatenate((iterate.evaluation.x, slack))
        squares += [] if last is None else [float(np.sum((point - last) ** 2))]
        last = point
    return {f"T = {n}": float(np.mean(squares[:n])) for n in n_steps}


def _exponent(record):
    """Slope of the logarithm of the mean against that of T between the last two numbers."""
    (first, earlier), (second, later) = [
        (int(key.removeprefix("T = ")), value) for key, value in record.items()
    ][-2:]
    return float(np.log(later / earlier) / np.log(second / first))


def _optima():
    """Runs of scipy's SLSQP, one per problem, on smooth rows."""
    for name, constraint in product(DATA, FIGURES):
        problem = f"{name}, {constraint}"
        yield Run(
            problem,
            "SLSQP",
            0,
            "ftol=1e-12, all samples",
            partial(_slsqp_optimum, name, constraint),
        )
    raw = partial(_slsqp_optimum, ADULT, "demographic_parity", _use_raw_columns)
    yield Run(RAW, "SLSQP", 0, "ftol=1e-12, all samples", raw)


def _slsqp_optimum(name, constraint, change=lambda problem: problem):
    problem = change(smooth_problem(_all_samples(name), constraint, TOLERANCE))
    x = slsqp(problem, 1e-12).x
    return state({"train": problem}, x)


@cache
def _all_samples(name):
    """All samples of one of `DATA`.

    The paper prints neither the encodings of its columns nor the two groups of COMPAS. The
    encodings here have its numbers of columns, each with one for the groups.
    """
    if name == "Bank":
        bunch = fetch_bank_marketing(sensitive="age", columns="all")
        bunch.data = pd.get_dummies(bunch.data, drop_first=True, dtype=float)
        X, y, groups = one_hot(bunch)
        return Split(np.column_stack((X, groups == groups[0])), y, groups)
    if name == "COMPAS":
        X, y, races = one_hot(fetch_compas(sensitive="race"))
        labels, counts = np.unique(races, return_counts=True)
        groups = races == labels[np.argmax(counts)]  # the largest race and the others
        return Split(np.column_stack((X, groups)), y, groups)
    bunch = fetch_a9a(subset="all", sensitive="sex")
    target = (bunch.target == ">50K").astype(int)
    return Split(bunch.data, target, np.asarray(bunch.sensitive_features))


def _use_raw_columns(problem):
    """The problem with a parameter for each column as it is, neither centred nor scaled."""
    model = problem.model
    raw = replace(model, center=np.zeros_like(model.center), scale=np.ones_like(model.scale))
    return replace(problem, model=raw)


def _optimum(optima, problem):
    """The optimal objective of a problem; nan where its run is not stored."""
    return optima.get((problem, "SLSQP", 0), {}).get("train objective", np.nan)


def _checks(stored, optima):
    """Checks of PLADA's distance from the optimum with the exact step of Algorithm 1."""
    checks = []
    for name, constraint in product(DATA, FIGURES):
        problem = f"{name}, {constraint}"
        record = stored.get((problem, "plada, row per gap", 0))
        ends = [] if record is None else record["points"][-1:]
        best = _optimum(optima, problem)
        distances = [abs(point["train objective"] - best) for point in ends if np.isfinite(best)]
        checks.append(Check(f"exact step, distance to optimum, {problem}", distances, "<=", NEAR))
        violations = [point["train violation"] for point in ends]
        checks.append(Check(f"exact step, violation, {problem}", violations, "<=", NEAR))
    return checks


def _runs(seconds):
    schedule = Schedule("CPU s", seconds)
    for name, constraint in product(DATA, FIGURES):
        problem = f"{name}, {constraint}"
        for solver, method in SOLVERS.items():
            make = partial(_solve, name, constraint, method, schedule)
            yield Run(problem, solver, 0, f"{method}, {schedule}, all samples", make)
    for solver in ("plada, row per gap", "plada, paper"):
        raw = {"change": _use_raw_columns}
        make = partial(_solve, ADULT, "demographic_parity", SOLVERS[solver], schedule, **raw)
        yield Run(RAW, solver, 0, f"{SOLVERS[solver]}, {schedule}, all samples", make)
    for (steps, solver), (parameter, values) in product(STEPS.items(), VARIED.items()):
        for value in values:
            method = clone(solver).set_params(**{parameter: value})
            make = partial(_solve, ADULT, "demographic_parity", method, schedule)
            label = f"{parameter} = {value:g}"
            settings = f"{method}, {schedule}, all samples"
            yield Run(f"sensitivity, {steps}", label, 0, settings, make)


def _solve(name, constraint, solver, schedule, change=lambda problem: problem):
    """Convergence curve of one run."""
    samples = _all_samples(name)
    problem = smooth_problem(samples, constraint, TOLERANCE)
    if isinstance(solver, PLADA) and solver.one_row:
        gaps = [smooth_problem(samples, gap, TOLERANCE) for gap in GAPS[constraint]]
        problem = replace(problem, constraint=ConstraintSystem(one.constraint for one in gaps))
    problem = change(problem)
    SQP(max_iter=1).solve(problem)  # compiles
    start = problem.initial_point()
    points, _ = convergence_curve(solver, {"train": problem}, start, 0, schedule)
    return {"points": points}


def _row(point, optimum):
    """Row of the table for a point."""
    columns = ("CPU s", "train objective", "train violation", "residual")
    distance = {"to optimum": point["train objective"] - optimum}
    return {c: point[c] for c in columns} | distance | {"train gap": point["train gap"]}


def _select_points(points, seconds):
    """The points at the given times; the last one where the run ended before."""
    selected = {}
    for second in seconds:
        later = [point for point in points if point["CPU s"] >= second] or points[-1:]
        selected[later[0]["CPU s"]] = later[0]
    return selected.values()


def _draw_figures(stored):
    """Draw Figures 1, 2, 4, 5 and 6 from the stored runs."""
    for constraint, figure in FIGURES.items():
        curves = {
            name: {
                solver: stored[key]["points"]
                for solver in SOLVERS
                if (key := (f"{name}, {constraint}", solver, 0)) in stored
            }
            for name in DATA
        }
        _draw(curves, QUANTITIES, f"plada_{figure}.png")
    for parameter, figure in (("alpha", "figure_4"), ("beta", "figure_5")):
        runs = {
            f"{ADULT}, {steps}": {
                method: record["points"]
                for (problem, method, _), record in stored.items()
                if problem == f"sensitivity, {steps}" and method.startswith(parameter)
            }
            for steps in STEPS
        }
        _draw(runs, QUANTITIES, f"plada_{figure}.png")
    duals = {
        name: {
            solver: [point | _distance(point) for point in stored[key]["points"]]
            for solver in ("plada, row per gap", "plada, paper")
            if (key := (f"{name}, demographic_parity", solver, 0)) in stored
        }
        for name in DATA
    }
    quantities = {"|lambda - mu|": "distance", "lambda": "lambda 0", "mu": "mu 0"}
    _draw(duals, quantities, "plada_figure_6.png")


def _distance(point):
    return {"distance": abs(point["lambda 0"] - point["mu 0"])}


def _draw(curves, quantities, file):
    """Draw one column of axes per data set, one row per quantity, one line per method."""
    import matplotlib.pyplot as plt

    curves = {name: runs for name, runs in curves.items() if runs}
    if not curves:
        return
    methods = list(dict.fromkeys(method for runs in curves.values() for method in runs))
    shape = {"sharex": True, "squeeze": False, "layout": "constrained"}
    size = (4.5 * len(curves) + 2, 3 * len(quantities))
    figure, axes = plt.subplots(len(quantities), len(curves), figsize=size, **shape)
    for column, (name, runs) in zip(axes.T, curves.items(), strict=True):
        column[0].set_title(name)
        column[-1].set(xscale="log", xlabel="CPU s")
        for ax, (label, what) in zip(column, quantities.items(), strict=True):
            ax.set_ylabel(label)
            heights = [point[what] for points in runs.values() for point in points]
            # A logarithmic axis of less than a decade has no numbers.
            if what in POSITIVE and max(heights) > 10 * min(heights):
                ax.set_yscale("symlog", linthresh=1e-6)
            for method, points in runs.items():
                later = [point for point in points if point["CPU s"] > 0]
                color = pick_cyclic(COLORS, methods.index(method))
                draw_quartiles(ax, [later], what, label=method, color=color)
    legend = {
        label: handle
        for ax in axes[0]
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    place = {"loc": "outside upper center", "ncols": 5 if axes.shape[1] > 1 else 3}
    figure.legend([legend[method] for method in methods], methods, **place)
    save_figure(figure, file)
