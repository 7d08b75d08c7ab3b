"""Figures 10 and 11 of the paper on partial fairness: IDCA against its inner method alone.

Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of percentiles by
difference-of-convex constraints", arXiv:2505.12530. It prints no numbers beside these figures, so
that what it says of them is checked. A course of 50,000 oracle calls takes minutes; each is kept in
`FOLDER` when it is done, and a second call of the command goes on from there.
"""

import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from benchmarks.papers.partial_fairness.cases import NAMES, case
from benchmarks.papers.partial_fairness.figures import rows_of_axes, save
from benchmarks.papers.partial_fairness.problem_21 import PrintedDemographicParity
from benchmarks.tables import FOLDER, Check, Report
from skfair.constraints import PartialStatisticalParity
from skfair.groups import Events, Samples, check_groups
from skfair.losses import LogisticLoss
from skfair.models import GroupwiseModel
from skfair.plotting._style import COLORS
from skfair.problems import ConstrainedProblem
from skfair.solvers import IDCA, Harmonic, SwitchingSubgradient

N_PERCENTILES = 10
PROBLEMS = {  # (15) as where speed is measured; (21) with the second smallest kappa of G.2.1
    "(15)": ("statistical_parity", {"a9a": 0.05, "bank": 0.01, "law school": 0.005}),
    "(21)": ("demographic_parity", {"a9a": 0.03, "bank": 0.03, "law school": 0.04}),
}
N_CALLS = 50_000
FEW = 2000  # --quick
N_TRIED = 10_000  # calls after which the tolerance of the direct method is chosen
IDCA_NAME, DIRECT = "IDCA", "SSG, chosen epsilon"
CANDIDATES = {f"SSG, epsilon {epsilon:g}": epsilon for epsilon in (1e-4, 2e-4, 5e-4, 1e-3)} | {
    f"SSG, epsilon {c:g} / (t + 1)": Harmonic(c) for c in (0.2, 0.5, 1.0, 2.0)
}
"""Tolerances of the direct method that the paper chooses from (appendix H)."""


def _solver(method, n_calls):
    """A method that ends after so many calls."""
    if method == IDCA_NAME:
        return IDCA.from_paper(5e-3, max_iter=n_calls // 200)
    return SwitchingSubgradient.from_partial_fairness_paper(CANDIDATES[method], max_iter=n_calls)


def _chosen(number, name, n_calls):
    """The candidate whose objective is least after `n_calls`, as the paper chooses it."""
    return min(CANDIDATES, key=lambda method: _ends_at(method, number, name, n_calls))


def _ends_at(method, number, name, n_calls):
    return _kept_course(method, number, name, n_calls)[-1].objective


class Step(NamedTuple):
    """A method on its way."""

    n_calls: int  # of the oracle: convex subproblems' or the problem's own subgradients
    objective: float
    infeasibility: float


def idca_convergence(budget):
    """Figures 10, 11: 50,000 calls of IDCA and of its inner method; goes on where it ended."""
    FOLDER.mkdir(exist_ok=True)
    n_calls = N_CALLS if budget.share == 1 else FEW
    courses = {
        (number, name): _of_problem(number, name, n_calls) for number in PROBLEMS for name in NAMES
    }
    records = [
        {"problem": f"{number} {name}", "method": method, **_at(course, n_calls)}
        for (number, name), of_methods in courses.items()
        for method, course in of_methods.items()
    ]
    for number, file in zip(PROBLEMS, ("figure_10.png", "figure_11.png"), strict=True):
        _draw_courses({name: courses[number, name] for name in NAMES}, n_calls, file)
    kept = [of_methods["IDCA"][-1].infeasibility for of_methods in courses.values()]
    law = courses["(15)", "law school"]
    behind = law[DIRECT][-1]
    better = [max(behind.objective - law["IDCA"][-1].objective, behind.infeasibility - 5e-3)]
    checks = [
        Check("Figures 10 and 11, infeasibility of IDCA", kept, "<=", 5e-3 + 1e-9),
        Check("Figure 10, law school, SSG behind IDCA in either", better, ">=", 0.0),
    ]
    title = (
        f"Figures 10 and 11: problems (15) and (21) as printed, from coefficients 0, {n_calls:,} "
        "oracle calls:\nobjective, infeasibility; IDCA with epsilon 0.005 and 200 steps per convex "
        "problem; the tolerance of the\ndirect method is chosen after a fifth of the calls, of "
        f"{len(CANDIDATES)}; standardised columns. Figure 10\nhas the direct method far from "
        "feasible on law school, and a tie on a9a."
    )
    return Report(title, records, checks)


def _of_problem(number, name, n_calls):
    """The courses that the figures show."""
    chosen = _chosen(number, name, n_calls * N_TRIED // N_CALLS)
    return {
        IDCA_NAME: _kept_course(IDCA_NAME, number, name, n_calls),
        DIRECT: _kept_course(chosen, number, name, n_calls),
    }


def _kept_course(method, number, name, n_calls):
    """The steps of a method on a problem, computed once."""
    words = re.findall("[A-Za-z0-9]+", f"course {number} {name} {method} {n_calls}")
    path = FOLDER / f"{'_'.join(words)}.npz"
    if not path.exists():
        criterion, kappas = PROBLEMS[number]
        solver, problem = _solver(method, n_calls), _problem(name, criterion, kappas[name])
        np.savez_compressed(path, steps=np.array(_course(solver, problem)))
    with np.load(path) as arrays:
        return [Step(int(n_calls), *heights) for n_calls, *heights in arrays["steps"].tolist()]


def _problem(name, criterion, kappa):
    """Problem (15) or (21) as printed, on the sharp ramp of width 1, and the paper's start."""
    problem = case(name, 0)
    rows = problem.train
    target, weights = np.where(rows.y, 1.0, -1.0), np.ones(len(rows.y))
    model = GroupwiseModel.from_features(rows.X, rows.groups, weights)
    start = np.zeros(model.n_parameters)
    if criterion == "demographic_parity":
        groups = Events.disjoint(rows.groups, rows.groups.max() + 1)
        constraint = PrintedDemographicParity(groups, problem.interval, kappa)
    else:
        parity = PartialStatisticalParity(problem.interval, scale="raw", width=1.0)
        people = Samples(target, check_groups(rows.groups, len(target)), weights)
        constraint = replace(parity.bind(people, None, None, kappa).rows, rounding=0.0)
        levels = np.linspace(*problem.interval, N_PERCENTILES)
        start = np.append(start, 0.5 - levels - kappa / 2)  # feasible, unlike thresholds of 0
    return ConstrainedProblem(model, LogisticLoss(), target, weights, 0.0, constraint), start


def _course(solver, problem):
    """The steps of a solver, a list of Step."""
    bound, start = problem
    steps = []

    def watch(progress):
        n_calls = progress.details.get("n_oracle", progress.n_iter)
        steps.append(Step(n_calls, progress.evaluation.fun, progress.evaluation.violation))

    solver.solve(bound, start, callback=watch)
    return steps


def _at(course, n_calls):
    """Objective and infeasibility after a quarter, a half and all of the calls."""
    found = {}
    for n in (n_calls // 4, n_calls // 2, n_calls):
        step = [step for step in course if step.n_calls <= n][-1]
        found[f"after {n}"] = f"{step.objective:.4f}, {step.infeasibility:.4f}"
    return found


def _draw_courses(courses, last, file):
    """Objective above, infeasibility below, to the last call; one column per data set."""
    figure, axes = rows_of_axes(2)
    for (name, of_methods), column in zip(courses.items(), axes.T, strict=True):
        for (method, course), color in zip(of_methods.items(), COLORS, strict=False):
            n_calls, *heights = np.transpose([*course, course[-1]._replace(n_calls=last)])
            for ax, height in zip(column, heights, strict=True):
                label = method if ax is axes[0, 0] else None
                ax.plot(n_calls, height, color=color, linewidth=1, label=label)
        column[0].set(title=name, ylabel="objective", ylim=(0.2, 1.0))
        column[1].set(xlabel="oracle calls", ylabel="infeasibility", yscale="log", ylim=(1e-4, 1))
    figure.legend(loc="outside upper center", ncols=2)
    save(figure, file)
