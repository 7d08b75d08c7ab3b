"""Figures 10 and 11 of the paper on partial fairness: IDCA against its inner method alone.

Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of percentiles by
difference-of-convex constraints", arXiv:2505.12530. The figures have no numbers. The statements of
the text are checked. A run of 50,000 oracle calls takes minutes. Each is stored in `FOLDER`, so
that a stopped command can be resumed.
"""

import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from benchmarks import data
from benchmarks.papers.partial_fairness import figures
from benchmarks.papers.partial_fairness.cases import PRINTED_NAMES, case, printed_bounds
from benchmarks.papers.partial_fairness.figures import make_axes
from benchmarks.papers.partial_fairness.problem_21 import PrintedDemographicParity
from benchmarks.sizes import smallest
from benchmarks.tables import FOLDER, Check, Report, save_figure
from skfair._bound.convex import MeanExcess
from skfair._groups import check_groups
from skfair._groups.events import Events
from skfair._problems.linear import LinearModel
from skfair._problems.problem import ConstrainedProblem
from skfair.constraints import PartialStatisticalParity
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.plotting._display import COLORS
from skfair.solvers import IDCA, SwitchingSubgradient


class HarmonicDecay(BaseEstimator):
    """The schedule ``scale / (k + 1)`` of a tolerance."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, k):
        """Value at iteration k."""
        return self.scale / (k + 1)


PROBLEMS = {  # (15) as in the comparison of speed; (21) with the second smallest kappa of G.2.1
    "(15)": ("statistical_parity", dict(zip(PRINTED_NAMES, (0.05, 0.01, 0.005), strict=True))),
    "(21)": ("demographic_parity", dict(zip(PRINTED_NAMES, (0.03, 0.03, 0.04), strict=True))),
}
LAW_SCHOOL = PRINTED_NAMES[-1]
N_CALLS = 50_000
N_QUICK = 2000  # --quick
N_SELECTION = 10_000  # calls after which the tolerance of the direct method is chosen
IDCA_NAME, DIRECT = "IDCA", "SSG, best epsilon"
CANDIDATES = {f"SSG, epsilon {epsilon:g}": epsilon for epsilon in (1e-4, 2e-4, 5e-4, 1e-3)} | {
    f"SSG, epsilon {c:g} / (t + 1)": HarmonicDecay(c) for c in (0.2, 0.5, 1.0, 2.0)
}
"""Candidate tolerances of the direct method in the paper (section G.7)."""


def _solver(method, n_calls):
    """A method with a limit on its oracle calls."""
    if method == IDCA_NAME:
        return IDCA.from_paper(5e-3, max_iter=n_calls // 200)
    return SwitchingSubgradient.from_paper(
        "partial_fairness", epsilon=CANDIDATES[method], max_iter=n_calls
    )


def _select_candidate(number, name, n_calls):
    """The candidate whose output has the smallest objective after `n_calls`, as in the paper."""
    return min(
        CANDIDATES,
        key=lambda method: _best_objective(method, _load_or_solve(method, number, name, n_calls)),
    )


def _best_objective(method, curve):
    """Objective of the output of Algorithm 3: the smallest of its nearly feasible iterates."""
    epsilon = CANDIDATES[method]
    return min(
        step.objective
        for step in curve
        if step.infeasibility <= (epsilon(step.n_calls) if callable(epsilon) else epsilon)
    )


class Step(NamedTuple):
    """State of a method after a number of calls."""

    n_calls: int  # of the oracle: subgradients of convex subproblems or of the problem
    objective: float
    infeasibility: float


@smallest(data, MAX_SAMPLES=3000)
@smallest(figures, NAMES=("a9a", LAW_SCHOOL))
@smallest(
    N_QUICK=800, CANDIDATES=dict([*CANDIDATES.items()][:1]), PRINTED_NAMES=("a9a", LAW_SCHOOL)
)
def idca_convergence(budget):
    """Figures 10, 11: 50,000 calls of IDCA and of its inner method; can be stopped and resumed."""
    FOLDER.mkdir(exist_ok=True)
    n_calls = N_CALLS if budget.fraction == 1 else N_QUICK
    curves = {
        (number, name): _curves(number, name, n_calls)
        for number in PROBLEMS
        for name in PRINTED_NAMES
    }
    records = [
        {"problem": f"{number} {name}", "method": method, **_row(curve, n_calls)}
        for (number, name), methods in curves.items()
        for method, curve in methods.items()
    ]
    for number, file in zip(PROBLEMS, ("figure_10.png", "figure_11.png"), strict=True):
        _draw_curves({name: curves[number, name] for name in PRINTED_NAMES}, n_calls, file)
    infeasibilities = [methods[IDCA_NAME][-1].infeasibility for methods in curves.values()]
    idca, direct = (curves["(15)", LAW_SCHOOL][method][-1] for method in (IDCA_NAME, DIRECT))
    excess = [max(direct.objective - idca.objective, direct.infeasibility - 5e-3)]
    checks = [
        Check("Figures 10 and 11, infeasibility of IDCA", infeasibilities, "<=", 5e-3 + 1e-9),
        Check("Figure 10, law school, SSG worse than IDCA in either", excess, ">=", 0.0),
    ]
    title = (
        f"Figures 10 and 11: (15) and (21), ramp of width 1, from coefficients 0, {n_calls:,} "
        "oracle calls:\nobjective, infeasibility. IDCA has epsilon 0.005 and 200 steps per convex "
        "problem. The tolerance of the\ndirect method is the best of "
        f"{len(CANDIDATES)} after a fifth of the calls. Columns are the paper's. In its\n"
        "Figure 10 the direct method is far from feasible on law school, and both tie elsewhere."
    )
    return Report(title, records, checks)


def _curves(number, name, n_calls):
    """Curves of the figures on one problem, by method."""
    candidate = _select_candidate(number, name, n_calls * N_SELECTION // N_CALLS)
    return {
        IDCA_NAME: _load_or_solve(IDCA_NAME, number, name, n_calls),
        DIRECT: _load_or_solve(candidate, number, name, n_calls),
    }


def _load_or_solve(method, number, name, n_calls):
    """Load the steps of a method on a problem, or compute and store them."""
    words = re.findall("[A-Za-z0-9]+", f"curve {number} {name} {method} {n_calls} as printed")
    path = FOLDER / f"{'_'.join(words)}.npz"
    if not path.exists():
        criterion, kappas = PROBLEMS[number]
        solver = _solver(method, n_calls)
        problem = case(name, 0)
        bounds = printed_bounds(problem.interval, kappas[name])
        problem = sharp_problem(problem, criterion, bounds)
        np.savez_compressed(path, steps=np.array(_solve(solver, problem)))
    with np.load(path) as arrays:
        return [Step(int(n_calls), *heights) for n_calls, *heights in arrays["steps"].tolist()]


class SharpExcess(MeanExcess):
    """Mean excess whose corners are not rounded."""

    rounding = 0.0


def sharp_problem(problem, criterion, bounds):
    """Problem (15) or (21), with a ramp of width 1 without rounding, and a start.

    Columns are those of the paper, (1, x, gamma, gamma x), as they are.
    """
    rows, (levels, tau) = problem.train, bounds
    target = np.where(rows.y, 1.0, -1.0)
    weights = np.ones(len(rows.y))
    X = rows.add_cross_terms(problem.printed_codes).X
    model = LinearModel(X, np.zeros(X.shape[1]), np.ones(X.shape[1]), fit_intercept=True)
    start = np.zeros(model.n_parameters)
    if criterion == "demographic_parity":
        groups = Events.disjoint(rows.groups, rows.groups.max() + 1)
        constraint = PrintedDemographicParity(groups, problem.interval, tau)
    else:
        parity = PartialStatisticalParity(problem.interval, scale="raw", width=1.0)
        samples = Samples(target, check_groups(rows.groups, len(target)), weights)
        thresholds = 0.5 - levels - tau / 2  # feasible with coefficients of 0
        lower = np.tile(levels, rows.groups.max() + 1)
        constraint = replace(
            parity.bind(samples, None, None, tau).rows,
            lower=lower,
            upper=lower + tau,
            initial_aux=lambda scores: thresholds,
            convex_means=SharpExcess,
        )
        start = np.append(start, thresholds)
    return ConstrainedProblem(model, LogisticLoss(), target, weights, 0.0, constraint), start


def _solve(solver, problem):
    """Steps of a solver, a list of Step."""
    bound, start = problem
    steps = []

    def record_step(progress):
        n_calls = progress.details.get("n_oracle", progress.n_iter)
        steps.append(Step(n_calls, progress.evaluation.fun, progress.evaluation.violation))

    solver.solve(bound, start, callback=record_step)
    return steps


def _row(curve, n_calls):
    """Objective and infeasibility after a quarter, a half and all of the calls."""
    row = {}
    for n in (n_calls // 4, n_calls // 2, n_calls):
        step = [step for step in curve if step.n_calls <= n][-1]
        row[f"after {n}"] = f"{step.objective:.4f}, {step.infeasibility:.4f}"
    return row


def _draw_curves(curves, last, file):
    """Draw objective above and infeasibility below, to the last call, one column per data set."""
    figure, axes = make_axes(2)
    for (name, methods), column in zip(curves.items(), axes.T, strict=True):
        for (method, curve), color in zip(methods.items(), COLORS, strict=False):
            n_calls, *heights = np.transpose([*curve, curve[-1]._replace(n_calls=last)])
            for ax, height in zip(column, heights, strict=True):
                label = method if ax is axes[0, 0] else None
                ax.plot(n_calls, height, color=color, linewidth=1, label=label)
        column[0].set(title=name, ylabel="objective", ylim=(0.2, 1.0))
        column[1].set(xlabel="oracle calls", ylabel="infeasibility", yscale="log", ylim=(1e-4, 1))
    figure.legend(loc="outside upper center", ncols=2)
    save_figure(figure, file)
