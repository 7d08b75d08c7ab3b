"""Constrained linear classifiers: time and accuracy against peers, training gaps, solvers."""

import warnings
from itertools import product
from statistics import mean

import numpy as np

from benchmarks.erm_cases import CASES, case
from benchmarks.packages import is_installed
from benchmarks.peers.erm_methods import (
    covariance_classifier,
    exponentiated_gradient,
    logistic_regression,
    slsqp,
)
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import median_seconds, run_alternately, time_call
from skfair._groups import check_groups
from skfair._problems.linear import LinearModel
from skfair._problems.problem import ConstrainedProblem
from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import CONSTRAINTS, Constraint
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.metrics import METRICS
from skfair.solvers import PLADA, SQP
from skfair.solvers._solver import Iterate, estimate_multipliers, kkt_residual
from skfair.surrogates import Sigmoid

GAPS = {
    name: METRICS[CONSTRAINTS[name]().metric]
    for name in ("demographic_parity", "equal_opportunity", "equalized_odds")
}
TOLERANCE = 0.02

AGAINST_REDUCTIONS = {  # (data, constraint): minimum speed-up; data of the accuracies compared
    ("Adult", "demographic_parity"): (40.0, "test"),
    ("Adult", "equalized_odds"): (20.0, "train"),
    ("COMPAS", "demographic_parity"): (10.0, "test"),
    ("Bank", "demographic_parity"): (8.0, "test"),
}


@smallest(AGAINST_REDUCTIONS={("COMPAS", "demographic_parity"): (10.0, "test")})
def erm_peers(budget):
    """A constrained fit against the reductions approach and the plain fit.

    The reductions approach (fairlearn, default settings) gets columns scaled to variance 1 and a
    tolerance of 0.02. The tolerance of ours is then the training gap of the reductions. Accuracies
    are means over the splits.
    """
    records, checks = [], []
    reductions = AGAINST_REDUCTIONS if is_installed("fairlearn") else {}
    for (name, constraint), (bound, part) in reductions.items():
        record = _compare_with_reductions(name, constraint, budget.n_runs)
        records.append(record)
        checks += [
            Check(f"reductions / ours, {name}, {constraint}", [record["EG / ours"]], ">=", bound),
            Check(
                f"{part} accuracy above the reductions', {name}, {constraint}",
                [record[f"{part} ours"] - record[f"{part} EG"]],
                ">=",
                -0.001 if part == "test" else 0.0,
            ),
        ]
        if name == "Adult":
            ratio = record["ours / LR"]
            checks.append(Check(f"ours / plain fit, {constraint}", [ratio], "<=", 1.0))
    for name in ("COMPAS", "law school") if is_installed("sklego") else ():
        records.append(record := _compare_with_covariance(name))
        checks.append(Check(f"scikit-lego / ours, {name}", [record["lego / ours"]], ">=", 30.0))
    title = "Medians of CPU s, means of accuracies and gaps; EG: fairlearn's ExponentiatedGradient"
    return Report(title, records, checks)


def _compare_with_reductions(name, constraint, n_splits):
    """Times, accuracies and gaps on one data set with one constraint, over splits."""
    runs, outcomes = [], []
    for seed in range(max(1, min(3, n_splits))):
        raw = case(name, seed)
        scaled = raw.scale()
        gap = GAPS[constraint]
        reductions = time_call(exponentiated_gradient, scaled.train, constraint, TOLERANCE)

        def decide(X, model=reductions.result):
            return model.predict(X, random_state=0)

        tolerance = max(_outcome(decide, scaled.train, gap)[1], 1e-3)
        contenders = {
            "ours": lambda _, tolerance=tolerance, raw=raw: _fit(raw.train, constraint, tolerance),
            "LR": lambda _, scaled=scaled: logistic_regression(scaled.train),
        }
        timings = run_alternately(contenders, 3)
        runs.append((reductions.seconds, *(median_seconds(timings[k]) for k in contenders)))
        ours = timings["ours"][0].result.predict
        outcomes.append(
            [
                *_outcome(decide, scaled.train, gap),
                *_outcome(decide, scaled.test, gap),
                *_outcome(ours, raw.train, gap),
                *_outcome(ours, raw.test, gap),
            ]
        )
    reductions, ours, plain = np.median(runs, axis=0)
    means = np.mean(outcomes, axis=0)
    columns = ("train EG", "gap", "test EG", "gap ", "train ours", "gap  ", "test ours", "gap   ")
    return {
        "data": name,
        "constraint": constraint,
        "EG s": reductions,
        "LR s": plain,
        "ours s": ours,
        "EG / ours": reductions / ours,
        "ours / LR": ours / plain,
        **dict(zip(columns, means, strict=True)),
    }


def _compare_with_covariance(name):
    """scikit-lego's classifier on the first split, and ours with its training gap as tolerance."""
    raw = case(name, 0)
    scaled = case(name, 0).scale()
    covariance = time_call(covariance_classifier, scaled.train, 0.01)
    gap = GAPS["demographic_parity"]
    train = raw.train
    tolerance = gap(train.y, covariance.result, sensitive_features=train.groups)
    contenders = {"ours": lambda _: _fit(train, "demographic_parity", tolerance)}
    ours = run_alternately(contenders, 3)["ours"]
    accuracy, our_gap = _outcome(ours[0].result.predict, train, gap)
    seconds = median_seconds(ours)
    return {
        "data": name,
        "constraint": "demographic_parity",
        "ours s": seconds,
        "lego s": covariance.seconds,
        "lego / ours": covariance.seconds / seconds,
        "train lego": np.mean(covariance.result == train.y),
        "gap lego": tolerance,
        "train ours": accuracy,
        "gap  ": our_gap,
    }


def _outcome(predict, part, gap):
    """Accuracy and gap of decisions."""
    decisions = predict(part.X)
    return np.mean(decisions == part.y), gap(part.y, decisions, sensitive_features=part.groups)


def _fit(train, constraint, tolerance, **settings):
    model = ConstrainedERMClassifier(constraint, tolerance=tolerance, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the gaps are reported instead
        return model.fit(train.X, train.y, sensitive_features=train.groups)


SMOOTH_DATA = ("Adult", "Bank", "COMPAS")
N_FIRST_ORDER = 20_000
"""Data of the smooth problems, and the iterations of plada."""


@smallest(SMOOTH_DATA=("COMPAS",), N_FIRST_ORDER=20)
def erm_solvers(budget):
    """The sqp solver against scipy's SLSQP and plada on the smooth problem; its certificate."""
    records = []
    iterations = []
    residuals = []
    for name, constraint in product(SMOOTH_DATA, ("demographic_parity", "equalized_odds")):
        problem = smooth_problem(case(name, 0).train, constraint, TOLERANCE)
        contenders = {"sqp": lambda _, problem=problem: SQP().solve(problem)}
        timings = run_alternately(contenders, min(3, budget.n_runs))["sqp"]
        best = timings[0].result
        seconds = median_seconds(timings)
        iterations.append(best.n_iter)
        residuals.append(best.residual)
        reference = time_call(slsqp, problem, 1e-12)
        first_order = time_call(PLADA(max_iter=N_FIRST_ORDER, tol=1e-3).solve, problem)
        records.append(
            {
                "data": name,
                "constraint": constraint,
                "sqp s": seconds,
                "iterations": best.n_iter,
                "residual": best.residual,
                "objective": best.fun,
                "SLSQP / sqp": reference.seconds / seconds,
                "SLSQP residual": _residual(problem, reference.result.x),
                "plada / sqp": first_order.seconds / seconds,
                "plada residual": first_order.result.residual,
                "plada objective": first_order.result.fun,
            }
        )
    checks = [
        Check("sqp, iterations to 1e-6", iterations, "<=", 10),
        Check("sqp, residual", residuals, "<=", 1e-6),
        Check("SLSQP / sqp, Adult", [r["SLSQP / sqp"] for r in records[:2]], ">=", 20.0),
        Check("plada to 1e-3 / sqp, Adult", [r["plada / sqp"] for r in records[:2]], ">=", 20.0),
    ]
    return Report("The smooth problem (sigmoid rates, tolerance .02), CPU s", records, checks)


def _residual(problem, x):
    """Residual of the optimality conditions with estimated multipliers."""
    evaluation = problem.evaluate(x)
    return kkt_residual(Iterate(evaluation, estimate_multipliers(evaluation, 1e-6)))


def smooth_problem(train, constraint, tolerance):
    """First problem that `ConstrainedERMClassifier` passes to its solver, with smooth rates."""
    loss = LogisticLoss()
    weights = np.ones(len(train.y))
    target = np.where(train.y > 0, 1.0, -1.0)
    samples = Samples(target, check_groups(train.groups, len(target)), weights)
    spec = constraint if isinstance(constraint, Constraint) else CONSTRAINTS[constraint]()
    bound = spec.bind(samples, Sigmoid(), loss, tolerance)
    model = LinearModel.from_features(train.X, weights)
    return ConstrainedProblem(model, loss, target, weights, 1e-4, bound)


@smallest(CASES={"COMPAS": None, "Adult, 5 races": None})
def erm_tolerance(budget):
    """Excess of training gaps over their tolerances, recomputed from predictions."""
    tolerances = (0.005, 0.01, 0.02, 0.05)
    records = []
    for name, constraint in product(CASES, GAPS):
        excess = []
        constant = 0
        losses = []
        for seed, tolerance in product(range(min(3, budget.n_runs)), tolerances):
            train = case(name, seed).train
            decisions = _fit(train, constraint, tolerance).predict(train.X)
            gap = GAPS[constraint](train.y, decisions, sensitive_features=train.groups)
            excess.append(gap - tolerance)
            constant += len(np.unique(decisions)) == 1
            losses.append(np.mean(decisions != train.y))
        records.append(
            {
                "data": name,
                "constraint": constraint,
                "fits": len(excess),
                "largest gap - tolerance": max(excess),
                "constant": constant,
                "mean error": mean(losses),
            }
        )
    two = [r["constant"] for r in records if "races" not in r["data"]]
    checks = [
        Check("gap - tolerance", [r["largest gap - tolerance"] for r in records], "<=", 1e-12),
        Check("constant predictions, two groups", two, "<=", 0),
    ]
    return Report("Training gaps of the decisions, tolerances .005 .01 .02 .05", records, checks)
