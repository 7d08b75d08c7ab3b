"""Fairness on intervals of percentiles: the paper's tables compared with ours, and speed."""

from functools import partial

import numpy as np

from benchmarks import data
from benchmarks.packages import is_installed
from benchmarks.papers.partial_fairness.baselines import (
    KAPPAS,
    LAMBDAS,
    PAIRWISE,
    fairlearn_decisions,
    fit_pairwise,
)
from benchmarks.papers.partial_fairness.cases import (
    INTERVALS,
    NAMES,
    RIDGE,
    TABLE_3,
    TABLE_4,
    UNCONSTRAINED,
    CountedSQP,
    accuracy_at,
    case,
    evaluate,
    fit_as_printed,
    shift_ranks,
)
from benchmarks.papers.partial_fairness.compiled_idca import descend, scores_of, solve_idca
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report, half_width, join_reports, save_figure
from benchmarks.timing import time_call
from skfair.classification import PartialParityClassifier
from skfair.metrics import (
    partial_demographic_parity_difference,
    partial_equal_opportunity_difference,
    partial_equalized_odds_difference,
)
from skfair.plotting._display import COLORS, pick_cyclic

N_PERCENTILES = 10
N_STEPS = 2000  # of the regularised problem, for the 15,000 to 80,000 of the paper (T K)
ALPHA = 1e-4
AS_PRINTED = {"width": 1.0, "alpha": 0.0}
"""Problem (15); ours has a wider ramp and a penalty."""
OURS = "width 2, penalty 1e-4"

FRONT = {  # raw tolerances that cover the fairness of the paper
    "a9a": (1.0, 0.36, 0.28, 0.2, 0.1, 0.05, 0.02, 0.01, 0.004),
    "bank": (1.0, 0.36, 0.3, 0.22, 0.08, 0.03, 0.01, 0.004, 0.001, 0.0),
    "law school": (1.0, 0.26, 0.2, 0.15, 0.1, 0.08, 0.03, 0.005, 0.0),
}
LARGEST_LOSS = {"a9a": 0.001, "bank": 0.004}  # of the paper's accuracy, that a check allows
LAW_SCHOOL = (0.8985, 0.8965, 0.8945, 0.8940, 0.8925)  # bounds of the accuracy instead
FULL_PARITY = (1.0, 0.32, 0.2, 0.12, 0.06, 0.03, 0.01, 0.0)
RATIOS = {"law school": (0.005, 50.0), "a9a": (0.05, 40.0), "bank": (0.01, 100.0)}
POSTPROCESSOR_BOUNDS = (
    (0.8732, 0.846),
    (0.9310, 0.840),
    (0.9752, 0.833),
)  # a9a: fairness, accuracy
GAPS = (0.16, 0.14, 0.13, 0.12, 0.08, 0.07, 0.06, 0.03, 0.025, 0.02, 0.015)


_ONE = {name: dict([*rows.items()][:1]) for name, rows in TABLE_4.items()}


@smallest(data, MAX_SAMPLES=3000)
@smallest(
    TABLE_4=_ONE,
    FRONT={name: tuple(rows) for name, rows in _ONE.items()},
    LAW_SCHOOL=LAW_SCHOOL[:1],
    NAMES=("a9a", "law school"),
    N_STEPS=20,
    FULL_PARITY=(1.0, 0.12),
    GAPS=(0.16, 0.08),
    KAPPAS={
        name: {data: values[:1] for data, values in rows.items()} for name, rows in KAPPAS.items()
    },
    LAMBDAS={name: weights[:1] for name, weights in LAMBDAS.items()},
)
def partial_parity(budget):
    """Accuracy, speed and calibration of partial fairness, and other methods.

    ``--cells speed`` prints this table alone, and ``--cells "noise floor"`` that one.
    """
    alone = {"noise floor": noise_floor, "speed": partial(speed, budget)}
    if budget.cells and (names := budget.select(alone)):
        return join_reports([alone[name]() for name in names])
    fronts = {name: _front(name, budget.n_runs) for name in NAMES}
    printed = {name: _front(name, budget.n_runs, **AS_PRINTED) for name in NAMES}
    return join_reports(
        [
            accuracies(fronts, printed),
            noise_floor(),
            table_4(fronts, printed, budget),
            table_3(budget),
            speed(budget),
            calibration(budget),
            postprocessor(budget),
            baselines(fronts, printed, budget),
        ]
    )


def _classifier(problem, kappa, *, interval=None, alpha=ALPHA, width=2.0, **settings):
    """Fit the paper's model and tolerance with a wider ramp and a penalty."""
    settings = {"width": width} | settings
    return fit_as_printed(problem, kappa, interval=interval, settings=settings, alpha=alpha)


def _point(model, problem, interval=None):
    """Fairness and accuracy of a fitted classifier on the test rows."""
    rows = problem.test
    scores = model.decision_function(rows.X, sensitive_features=rows.groups)
    return evaluate(scores, rows, problem.interval if interval is None else interval)


def _front(name, n_runs, **changes):
    """Points on the test rows, by tolerance and seed: dict of list."""
    problems = [case(name, seed) for seed in range(n_runs)]
    return {
        kappa: [_point(_classifier(one, kappa, **changes), one) for one in problems]
        for kappa in FRONT[name]
    }


# The paper's tables -------------------------------------------------------------------


def accuracies(fronts, as_printed):
    """Accuracy at the paper's fairness (Table 3, right; Figure 1)."""
    records, checks = [], []
    for name in NAMES:
        ours = [accuracy_at(fronts[name].values(), row[0]) for row in TABLE_4[name].values()]
        printed = [row[1] for row in TABLE_4[name].values()]
        bounds = LAW_SCHOOL if name == "law school" else np.array(printed) - LARGEST_LOSS[name]
        exact = [accuracy_at(as_printed[name].values(), row[0]) for row in TABLE_4[name].values()]
        rows = zip(TABLE_4[name].items(), ours, exact, printed, bounds, strict=True)
        records += [
            {
                "data": f"{name} {INTERVALS[name]}",
                "kappa": kappa,
                "fairness": row[0],
                "paper": theirs,
                "bound": bound,
                "ours": accuracy,
                "ours, (15)": exact_accuracy,
            }
            for (kappa, row), accuracy, exact_accuracy, theirs, bound in rows
        ]
        margins = np.nan_to_num(np.array(ours) - bounds, nan=-1.0).tolist()
        checks.append(Check(f"accuracy above its bound, {name}", margins, ">=", -5e-5))
    title = (
        "Test accuracy at the paper's fairness (1 - difference in units of whole groups). Ours has "
        "a wider\nramp and a penalty; (15) has width 1, no penalty, kappa in units of whole groups"
    )
    return Report(title, records, checks)


def noise_floor():
    """Definition 4.2 of random scores, which are fair, on the test rows."""
    rng = np.random.default_rng(0)
    records = []
    for name in NAMES:
        problem = case(name, 0)
        draws = [_random_difference(problem, rng) for _ in range(20)]
        records.append(
            {
                "data": name,
                "test samples": len(problem.test.y),
                "interval": problem.interval,
                "mean difference": np.mean(draws),
            }
        )
    title = "Noise floor: normalized difference of random scores with one distribution, 20 draws"
    return Report(title, records, [])


def _random_difference(problem, rng):
    scores = rng.normal(size=len(problem.test.y))
    return 1 - evaluate(scores, problem.test, problem.interval).definition


def table_4(fronts, as_printed, budget):
    """Table 4: ten percentiles against twenty."""
    n_runs = min(3, budget.n_runs)
    records = []
    for name in NAMES:
        problems = [case(name, seed) for seed in range(n_runs)]
        for kappa, printed in TABLE_4[name].items():
            twenty = [
                _point(_classifier(problem, kappa, n_percentiles=20), problem)
                for problem in problems
            ]
            ten = np.mean(fronts[name][kappa], axis=0)
            widths = [half_width(values) for values in np.transpose(fronts[name][kappa])]
            twenty = np.mean(twenty, axis=0)
            exact = np.mean(as_printed[name][kappa], axis=0)
            records.append(
                {
                    "data": name,
                    "kappa": kappa,
                    "paper, 20": _pair(*printed[2:]),
                    "ours, 20": _pair(twenty[0], twenty[2]),
                    "paper, 10": _pair(*printed[:2]),
                    "ours, 10": _pair(ten[0], ten[2]),
                    "(15), 10": _pair(exact[0], exact[2]),
                    "+-": _pair(widths[0], widths[2]),
                    "ours, Definition 4.2": f"{ten[1]:.4f}",
                }
            )
    title = (
        "Table 4: fairness / accuracy with 20 and with 10 percentiles, and half-widths of 95 % "
        "intervals over\nsplits for 10; (15) has width 1 and no penalty. With twenty percentiles "
        "the paper finds no\nsignificant improvement except on law school. Its fairness agrees "
        "with shares of whole groups. By\nDefinition 4.2 it would be lower."
    )
    return Report(title, records, [])


def table_3(budget):
    """Table 3: accuracy under full parity at the paper's fairness."""
    names = NAMES if budget.n_runs > 1 else ("law school",)
    records = []
    for name in names:
        width = np.diff(INTERVALS[name])[0]
        n_percentiles = round((N_PERCENTILES - 1) / width) + 1  # with the spacing of the interval
        problems = [case(name, seed) for seed in range(min(2, budget.n_runs))]
        full = {"interval": (0.0, 1.0), "n_percentiles": n_percentiles}
        ours, exact = (
            [
                [_point(_classifier(one, kappa, **settings), one, (0.0, 1.0)) for one in problems]
                for kappa in FULL_PARITY
            ]
            for settings in (full, full | AS_PRINTED)
        )
        records += [
            {
                "data": name,
                "fairness": fair,
                "paper": paper,
                "ours": accuracy_at(ours, fair),
                "ours, (15)": accuracy_at(exact, fair),
            }
            for fair, paper in TABLE_3[name]
        ]
    title = "Table 3: test accuracy under full parity, on [0, 1]; empty outside the range of fits"
    return Report(title, records, [])


def _pair(fairness, accuracy):
    return f"{fairness:.4f} / {accuracy:.4f}"


# Speed and calibration ----------------------------------------------------------------


def speed(budget):
    """The default solver against IDCA with switching subgradients, on problem (15)."""
    names = RATIOS if budget.n_runs > 1 else ("law school",)
    warm = case("law school", 0)
    solve_idca(warm.train, np.linspace(0.7, 1.0, N_PERCENTILES), 0.005, max_iter=1)
    _classifier(warm, 0.005)
    records, checks = [], []
    for name in names:
        kappa, min_ratio = RATIOS[name]
        problem = case(name, 0)
        levels = np.linspace(*problem.interval, N_PERCENTILES)
        theirs = time_call(solve_idca, problem.train, levels, kappa)
        ours = min((time_call(fit_as_printed, problem, kappa) for _ in range(3)), key=_seconds)
        violation = _violation(ours.result, problem.train, levels, kappa)
        # Bound of the reference's advantage by its infeasibility, from the multipliers.
        advantage = np.abs(ours.result.multipliers_).sum() * theirs.result.infeasibility
        gain = ours.result.objective_ - theirs.result.objective
        records.append(
            {
                "data": f"{name} kappa {kappa}",
                "IDCA passes": theirs.result.n_passes,
                "IDCA s": theirs.seconds,
                "IDCA objective": theirs.result.objective,
                "IDCA infeasibility": theirs.result.infeasibility,
                "advantage by it": advantage,
                "sqp passes": ours.result.n_iter_,
                "sqp s": ours.seconds,
                "sqp objective": ours.result.objective_,
                "sqp infeasibility": violation,
                "time ratio": theirs.seconds / ours.seconds,
            }
        )
        checks += [
            Check(f"CPU s, IDCA / sqp, {name}", [records[-1]["time ratio"]], ">=", min_ratio),
            Check(f"objective above IDCA's, {name}", [gain], "<=", 0.0),
            Check(f"the same at IDCA's infeasibility, {name}", [gain - advantage], "<=", 0.0),
            Check(f"infeasibility of sqp, {name}", [violation], "<=", 1e-4),
            Check(f"passes of sqp, {name}", [ours.result.n_iter_], "<=", 70),
        ]
    title = "Problem (15), width 1, no penalty: CPU seconds of the complete fit"
    return Report(title, records, checks)


def _seconds(run):
    return run.seconds


def _violation(model, rows, levels, kappa):
    """The largest excess of a row of (15), from its definition."""
    scores = model.decision_function(rows.X, sensitive_features=rows.groups)
    ramps = np.clip(scores[:, np.newaxis] - model.thresholds_ + 0.5, 0.0, 1.0)
    shares = np.array([ramps[rows.groups == k].mean(axis=0) for k in (0, 1)])
    return float(max(0.0, (shares - levels - kappa).max(), (levels - shares).max()))


def calibration(budget):
    """The public metric on the training data, by tolerance and criterion."""
    tolerances = (0.05, 0.1, 0.2) if budget.n_runs > 1 else (0.1,)
    settings = [("statistical_parity", name, t) for name in NAMES for t in tolerances]
    others = ("demographic_parity", "equal_opportunity", "equalized_odds")
    settings += [(criterion, "a9a", t) for criterion in others for t in tolerances]
    records = []
    for criterion, name, tolerance in settings:
        problem = case(name, 0)
        plain = _fit_blind(problem, criterion, 1.0)
        solver = CountedSQP(tol=1e-4)
        fair = time_call(_fit_blind, problem, criterion, tolerance, solver)
        records.append(
            {
                "criterion": criterion,
                "data": name,
                "tolerance": tolerance,
                "plain fit": _difference(criterion, plain, problem),
                "difference": _difference(criterion, fair.result, problem),
                "CPU s": fair.seconds,
                "solves": solver.n_solves,
                "passes": fair.result.n_iter_,
                "status": fair.result.status_,
            }
        )
    # A plain fit that meets the tolerance is the solution, with any slack.
    active = [row for row in records if row["plain fit"] > row["tolerance"]]
    slack = [row["tolerance"] - row["difference"] for row in active]
    checks = [
        Check("tolerance - training difference", slack, ">=", 0.0),
        Check("tolerance - training difference, from above", slack, "<=", 0.01),
        Check("problems solved after the plain fit", [row["solves"] for row in active], "<=", 8),
    ]
    return Report("Training differences by Definitions 4.2, 4.3, A.2 and A.3", records, checks)


def _fit_blind(problem, criterion, tolerance, solver="sqp"):
    """Fit a group-blind model whose training scores meet a tolerance of the public metric."""
    settings = {"interval": problem.interval, "tolerance": tolerance, "solver": solver}
    model = PartialParityClassifier(f"partial_{criterion}", **settings)
    rows = problem.train
    return model.fit(rows.X, rows.y, sensitive_features=rows.groups)


def _difference(criterion, model, problem):
    """The public metric on the training rows."""
    rows, interval = problem.train, problem.interval
    arguments = {"sensitive_features": rows.groups, "interval": interval}
    scores = model.decision_function(rows.X)
    if criterion == "statistical_parity":
        return 1 - evaluate(scores, rows, interval).definition
    if criterion == "demographic_parity":
        return partial_demographic_parity_difference(scores, **arguments)
    if criterion == "equal_opportunity":
        return partial_equal_opportunity_difference(rows.y, scores, **arguments)
    return partial_equalized_odds_difference(rows.y, scores, **arguments)


# Other methods ------------------------------------------------------------------------


def postprocessor(budget):
    """Rank shifts of a logistic regression on the paper's columns, a9a."""
    problems = [_add_cross_terms(case("a9a", seed)) for seed in range(budget.n_runs)]
    points, seconds = [], []
    for gap in GAPS:
        runs = [time_call(_postprocessor_point, problem, gap) for problem in problems]
        points.append([run.result for run in runs])
        seconds += [run.seconds for run in runs]
    ours = [accuracy_at(points, fairness) for fairness, _ in POSTPROCESSOR_BOUNDS]
    by_definition = [[p._replace(fairness=p.definition) for p in seeds] for seeds in points]
    ours.append(accuracy_at(by_definition, 0.90))
    bounds = [*(bound for _, bound in POSTPROCESSOR_BOUNDS), 0.8342]
    definitions = [
        *(f"whole groups {fairness}" for fairness, _ in POSTPROCESSOR_BOUNDS),
        "Definition 4.2 0.9",
    ]
    records = [
        {"fairness": name, "bound": bound, "ours": accuracy, "CPU s, median": np.median(seconds)}
        for name, bound, accuracy in zip(definitions, bounds, ours, strict=True)
    ]
    margins = np.nan_to_num(np.array(ours) - bounds, nan=-1.0).tolist()
    checks = [Check("accuracy above its bound, postprocessor", margins, ">=", -5e-5)]
    title = (
        f"PartialParityPostprocessor on LogisticRegression(C={RIDGE}) with cross terms, a9a. "
        "Without cross\nterms, or with C between 0.03 and 0.3, accuracies differ by up to 0.001."
    )
    return Report(title, records, checks)


def _add_cross_terms(problem):
    train = problem.train.add_cross_terms()
    test = problem.test.add_cross_terms()
    return problem._replace(train=train, test=test)


def _postprocessor_point(problem, gap):
    return _point(shift_ranks(problem.train, problem.interval, gap), problem)


def baselines(fronts, as_printed, budget):
    """Figure 1: other constraints on the same model, compared with ours at the same fairness."""
    records = []
    for name in NAMES:
        problems = [case(name, seed) for seed in range(min(2, budget.n_runs))]
        for method in PAIRWISE:
            for kappa in KAPPAS[method][name]:
                coefs = [fit_pairwise(one.train, method, kappa) for one in problems]
                points = [_linear_point(*pair) for pair in zip(coefs, problems, strict=True)]
                records.append(_comparison(name, method, kappa, points, fronts))
        if budget.n_runs > 1 or name == "law school":
            levels = np.linspace(*problems[0].interval, N_PERCENTILES)
            for weight in LAMBDAS[name]:
                coef = descend(problems[0].train, levels, weight, step=0.05, n_iter=N_STEPS)
                points = [_linear_point(coef, problems[0])]
                records.append(_comparison(name, "regularised (114)", weight, points, fronts))
    if is_installed("fairlearn"):
        records += _fairlearn(fronts, budget)
    _draw_fronts({OURS: fronts, "(15)": as_printed}, records)
    title = (
        "Baselines, means over two splits (regularised and fairlearn: one). Unconstrained, the "
        f"paper has\n{UNCONSTRAINED}.\nThe regularised problem takes 2,000 steps of .05; the paper "
        "has 15,000 to 80,000 of at most .005.\nOurs is empty outside the range of our fits."
    )
    return Report(title, records, [])


def _draw_fronts(fronts, records):
    """Draw the first row of Figure 1: accuracy against fairness, one line per method."""
    import matplotlib.pyplot as plt

    names = list(fronts[OURS])
    figure, axes = plt.subplots(
        1, len(names), figsize=(5 * len(names), 4.5), squeeze=False, layout="constrained"
    )
    for name, ax in zip(names, axes[0], strict=True):
        lines = {
            method: [np.mean(seeds, axis=0)[[0, 2]] for seeds in by_name[name].values()]
            for method, by_name in fronts.items()
        }
        for row in records:
            if row["data"] == name:
                lines.setdefault(row["method"], []).append((row["fairness"], row["accuracy"]))
        for i, (method, points) in enumerate(lines.items()):
            fairness, accuracy = np.transpose(sorted(map(tuple, points)))
            ax.plot(
                fairness, accuracy, "o-", markersize=3, color=pick_cyclic(COLORS, i), label=method
            )
        ax.set(title=name, xlabel="fairness", ylabel="accuracy")
        ax.legend(fontsize="x-small")
    save_figure(figure, "figure_1_statistical.png")


def _linear_point(coef, problem):
    return evaluate(scores_of(coef, problem.test), problem.test, problem.interval)


def _comparison(name, method, parameter, points, fronts):
    """Record of a baseline, with our accuracy at its fairness."""
    fairness, definition, accuracy = np.mean(points, axis=0)
    return {
        "data": name,
        "method": method,
        "kappa or lambda": parameter,
        "fairness": fairness,
        "Definition 4.2": definition,
        "accuracy": accuracy,
        "ours, as fair": accuracy_at(fronts[name].values(), fairness),
    }


def _fairlearn(fronts, budget):
    """Records of fairlearn's methods on a9a, with decisions as scores."""
    problem = case("a9a", 0)
    bounds = (0.1, 0.02) if budget.n_runs > 1 else ()
    records = []
    for method, bound, decisions in fairlearn_decisions(problem, bounds):
        rates = [np.mean(decisions[problem.test.groups == group]) for group in (0, 1)]
        accuracy = np.mean((decisions > 0) == problem.test.y)
        points = [(1 - abs(rates[0] - rates[1]), np.nan, accuracy)]
        records.append(_comparison(problem.name, method, bound, points, fronts))
    return records
