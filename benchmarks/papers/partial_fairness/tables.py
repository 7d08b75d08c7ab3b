"""Fairness on intervals of percentiles: the paper's tables and figures beside ours, speed."""

import numpy as np
from sklearn.linear_model import LogisticRegression

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
    TABLE_3,
    TABLE_4,
    UNCONSTRAINED,
    CountedSQP,
    accuracy_at,
    case,
    fit_as_printed,
    judge,
)
from benchmarks.papers.partial_fairness.compiled_idca import descend, scores_of, solve_idca
from benchmarks.tables import Check, Report, half_width, show
from benchmarks.timing import timed
from skfair.classification import PartialParityClassifier, PartialParityPostprocessor
from skfair.constraints import PartialStatisticalParity
from skfair.metrics import (
    partial_demographic_parity_difference,
    partial_equal_opportunity_difference,
    partial_equalized_odds_difference,
)

N_PERCENTILES = 10
ALPHA = 1e-4
AS_PRINTED = {"width": 1.0, "alpha": 0.0}
"""Problem (15) as it stands; ours has a wider ramp and a penalty."""

FRONTIER = {  # raw tolerances whose models are as fair as the paper's, and a little less and more
    "a9a": (1.0, 0.36, 0.28, 0.2, 0.1, 0.05, 0.02, 0.01, 0.004),
    "bank": (1.0, 0.36, 0.3, 0.22, 0.08, 0.03, 0.01, 0.004, 0.001, 0.0),
    "law school": (1.0, 0.26, 0.2, 0.15, 0.1, 0.08, 0.03, 0.005, 0.0),
}
LARGEST_LOSS = {"a9a": 0.001, "bank": 0.004}  # of accuracy, against the paper
LAW_SCHOOL = (0.8985, 0.8965, 0.8945, 0.8940, 0.8925)  # to be reached instead
FULL_PARITY = (1.0, 0.32, 0.2, 0.12, 0.06, 0.03, 0.01, 0.0)
RATIOS = {"law school": (0.005, 50.0), "a9a": (0.05, 40.0), "bank": (0.01, 100.0)}
POSTPROCESSED = ((0.8732, 0.846), (0.9310, 0.840), (0.9752, 0.833))  # a9a: fairness, accuracy
RIDGE = 0.03
GAPS = (0.16, 0.14, 0.13, 0.12, 0.08, 0.07, 0.06, 0.03, 0.025, 0.02, 0.015)


def partial_parity(budget):
    """Accuracy, speed and calibration of partial fairness, and what else there is."""
    frontiers = {name: _frontier(name, budget.n_runs) for name in NAMES}
    printed = {name: _frontier(name, budget.n_runs, **AS_PRINTED) for name in NAMES}
    parts = [
        accuracies(frontiers, printed),
        noise_floor(),
        table_4(frontiers, printed, budget),
        table_3(budget),
        speed(budget),
        calibration(budget),
        postprocessor(budget),
        baselines(frontiers, budget),
    ]
    checks = [check for part in parts for check in part.checks]
    *others, last = [part._replace(checks=[]) for part in parts]
    return Report("\n\n".join([*map(show, others), last.title]), last.records, checks)


def _classifier(problem, kappa, *, interval=None, alpha=ALPHA, width=2.0, **settings):
    """The paper's model and reading of the tolerance, on a wider ramp and with a penalty."""
    settings = {"width": width} | settings
    return fit_as_printed(problem, kappa, interval=interval, settings=settings, alpha=alpha)


def _point(model, problem, interval=None):
    """What a fitted classifier reaches on the test rows."""
    rows = problem.test
    scores = model.decision_function(rows.X, sensitive_features=rows.groups)
    return judge(scores, rows, problem.interval if interval is None else interval)


def _frontier(name, n_runs, **changes):
    """Points on the test rows, by tolerance and seed: dict of list."""
    problems = [case(name, seed) for seed in range(n_runs)]
    return {
        kappa: [_point(_classifier(one, kappa, **changes), one) for one in problems]
        for kappa in FRONTIER[name]
    }


# The paper's tables -------------------------------------------------------------------


def accuracies(frontiers, as_printed):
    """Accuracy at the fairness that the paper reaches (Table 3, right; Figure 1)."""
    records, checks = [], []
    for name in NAMES:
        ours = [accuracy_at(frontiers[name].values(), row[0]) for row in TABLE_4[name].values()]
        printed = [row[1] for row in TABLE_4[name].values()]
        asked = LAW_SCHOOL if name == "law school" else np.array(printed) - LARGEST_LOSS[name]
        exact = [accuracy_at(as_printed[name].values(), row[0]) for row in TABLE_4[name].values()]
        rows = zip(TABLE_4[name].items(), ours, exact, printed, asked, strict=True)
        records += [
            {
                "data": f"{name} {INTERVALS[name]}",
                "kappa": kappa,
                "fairness": row[0],
                "paper": theirs,
                "asked": least,
                "ours": reached,
                "ours, (15)": of_15,
            }
            for (kappa, row), reached, of_15, theirs, least in rows
        ]
        margins = np.nan_to_num(np.array(ours) - asked, nan=-1.0).tolist()
        checks.append(Check(f"accuracy beyond what is asked, {name}", margins, ">=", -5e-5))
    title = (
        "Test accuracy at the paper's fairness (1 - difference relative to whole groups); ours is "
        "on a wider\nramp with a penalty, (15) is the problem as printed: width 1, no penalty"
    )
    return Report(title, records, checks)


def noise_floor():
    """What Definition 4.2 measures of scores without any unfairness, on the test sets."""
    rng, records = np.random.default_rng(0), []
    for name in NAMES:
        problem = case(name, 0)
        draws = [_random_difference(problem, rng) for _ in range(20)]
        records.append(
            {
                "data": name,
                "test people": len(problem.test.y),
                "interval": problem.interval,
                "mean difference": np.mean(draws),
            }
        )
    title = "Noise floor: normalized difference of the same random scores for everybody, 20 draws"
    return Report(title, records, [])


def _random_difference(problem, rng):
    scores = rng.normal(size=len(problem.test.y))
    return 1 - judge(scores, problem.test, problem.interval).definition


def table_4(frontiers, as_printed, budget):
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
            ten = np.mean(frontiers[name][kappa], axis=0)
            spread = [half_width(values) for values in np.transpose(frontiers[name][kappa])]
            twenty = np.mean(twenty, axis=0)
            of_15 = np.mean(as_printed[name][kappa], axis=0)
            records.append(
                {
                    "data": name,
                    "kappa": kappa,
                    "paper, 20": _pair(*printed[2:]),
                    "ours, 20": _pair(twenty[0], twenty[2]),
                    "paper, 10": _pair(*printed[:2]),
                    "ours, 10": _pair(ten[0], ten[2]),
                    "(15), 10": _pair(of_15[0], of_15[2]),
                    "+-": _pair(spread[0], spread[2]),
                    "ours, Definition 4.2": f"{ten[1]:.4f}",
                }
            )
    title = (
        "Table 4: fairness / accuracy with 20 and with 10 percentiles, these with half-widths of "
        "95 %\nintervals over splits; (15) is the problem as printed. Twenty change little, as in "
        "the paper. The paper's\nfairness is that of whole groups; by Definition 4.2 it is less."
    )
    return Report(title, records, [])


def table_3(budget):
    """Table 3: accuracy under full parity at the paper's fairness."""
    names = NAMES if budget.n_runs > 1 else ("law school",)
    records = []
    for name in names:
        width = np.diff(INTERVALS[name])[0]
        n_percentiles = round((N_PERCENTILES - 1) / width) + 1  # spaced as on the interval
        problems = [case(name, seed) for seed in range(min(2, budget.n_runs))]
        whole = {"interval": (0.0, 1.0), "n_percentiles": n_percentiles}
        ours, of_15 = (
            [
                [_point(_classifier(one, kappa, **settings), one, (0.0, 1.0)) for one in problems]
                for kappa in FULL_PARITY
            ]
            for settings in (whole, whole | AS_PRINTED)
        )
        records += [
            {
                "data": name,
                "fairness": fair,
                "paper": paper,
                "ours": accuracy_at(ours, fair),
                "ours, (15)": accuracy_at(of_15, fair),
            }
            for fair, paper in TABLE_3[name]
        ]
    title = "Table 3: test accuracy under full parity, on [0, 1]; empty if no tolerance is as fair"
    return Report(title, records, [])


def _pair(fairness, accuracy):
    return f"{fairness:.4f} / {accuracy:.4f}"


# Speed and calibration ----------------------------------------------------------------


def speed(budget):
    """The default solver against IDCA with a switching subgradient inside, on problem (15)."""
    names = RATIOS if budget.n_runs > 1 else ("law school",)
    warm = case("law school", 0)
    solve_idca(warm.train, np.linspace(0.7, 1.0, N_PERCENTILES), 0.005, max_iter=1)
    _classifier(warm, 0.005)
    records, checks = [], []
    for name in names:
        kappa, least = RATIOS[name]
        problem = case(name, 0)
        levels = np.linspace(*problem.interval, N_PERCENTILES)
        theirs = timed(solve_idca, problem.train, levels, kappa)
        ours = min((timed(fit_as_printed, problem, kappa) for _ in range(3)), key=_seconds)
        violation = _violation(ours.result, problem.train, levels, kappa)
        # What the infeasibility of the reference may have saved it, by the multipliers.
        worth = np.abs(ours.result.multipliers_).sum() * theirs.result.infeasibility
        gain = ours.result.objective_ - theirs.result.objective
        records.append(
            {
                "data": f"{name} kappa {kappa}",
                "IDCA passes": theirs.result.n_passes,
                "IDCA s": theirs.seconds,
                "IDCA objective": theirs.result.objective,
                "IDCA infeasibility": theirs.result.infeasibility,
                "worth up to": worth,
                "sqp passes": ours.result.n_iter_,
                "sqp s": ours.seconds,
                "sqp objective": ours.result.objective_,
                "sqp infeasibility": violation,
                "time ratio": theirs.seconds / ours.seconds,
            }
        )
        checks += [
            Check(f"time of IDCA / time of sqp, {name}", [records[-1]["time ratio"]], ">=", least),
            Check(f"objective beyond IDCA's, {name}", [gain], "<=", 0.0),
            Check(f"the same at IDCA's infeasibility, {name}", [gain - worth], "<=", 0.0),
            Check(f"infeasibility of sqp, {name}", [violation], "<=", 1e-4),
            Check(f"passes of sqp, {name}", [ours.result.n_iter_], "<=", 70),
        ]
    title = "Problem (15), width 1, no penalty: CPU seconds of the whole fit"
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
    """The public metric on the training data, for every tolerance and criterion."""
    tolerances = (0.05, 0.1, 0.2) if budget.n_runs > 1 else (0.1,)
    plans = [("statistical_parity", name, t) for name in NAMES for t in tolerances]
    others = ("demographic_parity", "equal_opportunity", "equalized_odds")
    plans += [(criterion, "a9a", t) for criterion in others for t in tolerances]
    records = []
    for criterion, name, tolerance in plans:
        problem = case(name, 0)
        plain = _calibrated(problem, criterion, 1.0)
        solver = CountedSQP(tol=1e-4)
        fair = timed(_calibrated, problem, criterion, tolerance, solver)
        records.append(
            {
                "criterion": criterion,
                "data": name,
                "tolerance": tolerance,
                "plain fit": _difference(criterion, plain, problem),
                "reached": _difference(criterion, fair.result, problem),
                "CPU s": fair.seconds,
                "solves": solver.n_solves,
                "passes": fair.result.n_iter_,
                "status": fair.result.status_,
            }
        )
    # A plain fit that keeps the tolerance is the answer, however far below it is.
    asked = [row for row in records if row["plain fit"] > row["tolerance"]]
    slack = [row["tolerance"] - row["reached"] for row in asked]
    checks = [
        Check("tolerance - training difference", slack, ">=", 0.0),
        Check("tolerance - training difference, not wasted", slack, "<=", 0.01),
        Check("problems solved after the plain fit", [row["solves"] for row in asked], "<=", 8),
    ]
    return Report("Training differences by Definition 4.2 and the like", records, checks)


def _calibrated(problem, criterion, tolerance, solver="sqp"):
    """A group-blind model whose training scores keep a tolerance by the public metric."""
    settings = {"interval": problem.interval, "tolerance": tolerance, "solver": solver}
    model, rows = PartialParityClassifier(criterion, **settings), problem.train
    return model.fit(rows.X, rows.y, sensitive_features=rows.groups)


def _difference(criterion, model, problem):
    """The public metric on the training rows."""
    rows, interval = problem.train, problem.interval
    people = {"sensitive_features": rows.groups, "interval": interval}
    scores = model.decision_function(rows.X)
    if criterion == "statistical_parity":
        return 1 - judge(scores, rows, interval).definition
    if criterion == "demographic_parity":
        return partial_demographic_parity_difference(scores, **people)
    if criterion == "equal_opportunity":
        return partial_equal_opportunity_difference(rows.y, scores, **people)
    return partial_equalized_odds_difference(rows.y, scores, **people)


# Other methods ------------------------------------------------------------------------


def postprocessor(budget):
    """Shifted ranks on a plain logistic regression of the paper's columns, a9a."""
    problems = [_crossed(case("a9a", seed)) for seed in range(budget.n_runs)]
    points, seconds = [], []
    for gap in GAPS:
        runs = [timed(_postprocessed, problem, gap) for problem in problems]
        points.append([run.result for run in runs])
        seconds += [run.seconds for run in runs]
    reached = [accuracy_at(points, fairness) for fairness, _ in POSTPROCESSED]
    strict = [[p._replace(fairness=p.definition) for p in of_seeds] for of_seeds in points]
    reached.append(accuracy_at(strict, 0.90))
    asked = [*(least for _, least in POSTPROCESSED), 0.8342]
    readings = [
        *(f"whole groups {fairness}" for fairness, _ in POSTPROCESSED),
        "Definition 4.2 0.9",
    ]
    records = [
        {"fairness": reading, "asked": least, "ours": accuracy, "CPU s, median": np.median(seconds)}
        for reading, least, accuracy in zip(readings, asked, reached, strict=True)
    ]
    margins = np.nan_to_num(np.array(reached) - asked, nan=-1.0).tolist()
    checks = [Check("accuracy beyond what is asked, postprocessor", margins, ">=", -5e-5)]
    title = (
        f"PartialParityPostprocessor on LogisticRegression(C={RIDGE}) with cross terms, a9a. "
        "Without cross\nterms, or with C between 0.03 and 0.3, accuracies differ by up to 0.001."
    )
    return Report(title, records, checks)


def _crossed(problem):
    return problem._replace(train=problem.train.crossed(), test=problem.test.crossed())


def _postprocessed(problem, gap):
    rows = problem.train
    model = PartialParityPostprocessor(
        LogisticRegression(C=RIDGE, max_iter=1000).fit(rows.X, rows.y),
        criterion=PartialStatisticalParity(problem.interval, scale="raw"),
        tolerance=gap,
        cv="prefit",
    )
    return _point(model.fit(rows.X, rows.y, sensitive_features=rows.groups), problem)


def baselines(frontiers, budget):
    """Figure 1: other constraints on the same model, each beside ours at the same fairness."""
    records = []
    for name in NAMES:
        problems = [case(name, seed) for seed in range(min(2, budget.n_runs))]
        for method in PAIRWISE:
            for kappa in KAPPAS[method][name]:
                found = [_of_coef(fit_pairwise(one.train, method, kappa), one) for one in problems]
                records.append(_beside(name, method, kappa, found, frontiers))
        if budget.n_runs > 1 or name == "law school":
            levels = np.linspace(*problems[0].interval, N_PERCENTILES)
            for weight in LAMBDAS[name]:
                coef = descend(problems[0].train, levels, weight, step=0.05, n_iter=2000)
                found = [_of_coef(coef, problems[0])]
                records.append(_beside(name, "regularised (114)", weight, found, frontiers))
    records += _fairlearn(frontiers, budget)
    title = (
        "Baselines, means over two splits (regularised and fairlearn: one). Unconstrained, the "
        f"paper has\n{UNCONSTRAINED}.\nThe regularised problem takes a tenth of the paper's steps, "
        "ten times as long.\nOurs is empty where no tolerance is as fair, or as unfair."
    )
    return Report(title, records, [])


def _of_coef(coef, problem):
    return judge(scores_of(coef, problem.test), problem.test, problem.interval)


def _beside(name, method, parameter, found, frontiers):
    """A baseline's record, with our accuracy where it is as fair."""
    fairness, definition, accuracy = np.mean(found, axis=0)
    return {
        "data": name,
        "method": method,
        "kappa or lambda": parameter,
        "fairness": fairness,
        "Definition 4.2": definition,
        "accuracy": accuracy,
        "ours, as fair": accuracy_at(frontiers[name].values(), fairness),
    }


def _fairlearn(frontiers, budget):
    """Records of fairlearn's methods on a9a, whose decisions are taken for scores."""
    problem = case("a9a", 0)
    bounds = (0.1, 0.02) if budget.n_runs > 1 else ()
    records = []
    for method, bound, decisions in fairlearn_decisions(problem, bounds):
        rates = [np.mean(decisions[problem.test.groups == group]) for group in (0, 1)]
        accuracy = np.mean((decisions > 0) == problem.test.y)
        found = [(1 - abs(rates[0] - rates[1]), np.nan, accuracy)]
        records.append(_beside(problem.name, method, bound, found, frontiers))
    return records
