"""What solvers reach by when: objective, violation and residual of the smooth problem over time."""

import warnings
from itertools import product
from time import process_time

from benchmarks.constrained_erm import TOLERANCE, smooth_problem
from benchmarks.erm_cases import case
from benchmarks.tables import Report
from skfair.solvers import GDA, PLADA, SQP, AugmentedLagrangian, IPPConEx, SwitchingSubgradient

SOLVERS = {
    "sqp": SQP(),
    "augmented-lagrangian": AugmentedLagrangian(max_iter=10**6),
    "plada": PLADA(max_iter=10**6),
    "plada, paper": PLADA.from_paper().set_params(max_iter=10**6),
    "gda": GDA(max_iter=10**6),
    "switching-subgradient": SwitchingSubgradient(max_iter=10**6),
    "ipp-conex": IPPConEx(max_iter=10**6),
}
SECONDS = (0.03, 0.1, 0.3, 1.0, 3.0)


def erm_time_course(budget):
    """Objective, violation and residual of every solver over CPU time, as PLADA's Figures 1 and 2.

    The paper draws Adult, Bank and COMPAS under demographic parity and equalised odds. Its settings
    are of columns as they are; here they are standardised, on which its step of 0.001 hardly moves.
    """
    seconds = SECONDS if budget.share == 1 else SECONDS[:3]
    records = []
    for name, constraint in product(
        ("Adult", "Bank", "COMPAS"), ("demographic_parity", "equalized_odds")
    ):
        problem = smooth_problem(case(name, 0).train, constraint, TOLERANCE)
        SQP().solve(problem)  # compiles
        for solver, method in SOLVERS.items():
            records += [
                {"data": name, "constraint": constraint, "solver": solver, **row}
                for row in _course(method, problem, seconds)
            ]
    return Report("CPU seconds; tolerance .02, residual of the KKT conditions", records, [])


def _course(method, problem, seconds):
    """State of a run at the given times, and at its end if that is sooner."""
    start, rows = process_time(), []
    residual = float("nan")

    def watch(progress):
        nonlocal residual
        # The residual is measured now and then; its latest value stands.
        residual = progress.residual if progress.residual == progress.residual else residual
        now = process_time() - start
        if now >= seconds[len(rows)]:
            rows.append(_row(now, progress.evaluation, residual))
        return len(rows) == len(seconds)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the paper's steps are beyond its theorem
        result = method.solve(problem, random_state=0, callback=watch)
    if len(rows) < len(seconds):
        last = problem.evaluate(result.x)
        rows.append(_row(process_time() - start, last, result.residual))
    return rows


def _row(now, evaluation, residual):
    return {
        "CPU s": now,
        "objective": evaluation.fun,
        "violation": evaluation.violation,
        "residual": residual,
    }
