"""Networks under constraints: tolerances kept, and the published table of stochastic methods."""

import warnings
from itertools import product
from statistics import mean

import numpy as np
from scipy.special import expit
from sklearn.model_selection import train_test_split

from benchmarks.constrained_erm import GAPS, TOLERANCE
from benchmarks.erm_cases import Split, case
from benchmarks.tables import Check, Report
from benchmarks.timing import timed
from skfair.classification import ConstrainedERMClassifier, ConstrainedMLPClassifier
from skfair.constraints import JointConstraint, LossParity, People
from skfair.datasets import fetch_acs_income
from skfair.losses import LogisticLoss
from skfair.metrics import (
    independence_gap,
    separation_gap,
    sufficiency_gap,
    wasserstein_distance_between_groups,
)
from skfair.models import MLPModel
from skfair.people import check_groups
from skfair.problems import ConstrainedProblem
from skfair.solvers import SGD, SSLALM, StochasticGhost, StochasticSwitching
from skfair.surrogates import Sigmoid

DELTA = 0.005
"""Tolerance of the loss gap; the paper prints none, its figures and code have this one."""

METHODS = {
    "SGD": SGD.from_benchmark(max_iter=10),
    "StGh": StochasticGhost(max_iter=2),
    "ALM": SSLALM.from_benchmark(mu=0.0, max_iter=10),
    "SSL-ALM": SSLALM.from_benchmark(max_iter=10),
    "SSw": StochasticSwitching.from_benchmark(max_iter=10),
}
"""The paper's settings; its numbers of epochs are not printed."""

PUBLISHED = {  # test: mean and standard deviation of Ind, Sp, Ina, Sf (Table 3)
    "SGD": ((0.097, 0.176, 0.215, 0.171), (0.006, 0.016, 0.002, 0.008)),
    "StGh": ((0.049, 0.096, 0.276, 0.211), (0.012, 0.020, 0.022, 0.033)),
    "ALM": ((0.058, 0.114, 0.244, 0.221), (0.012, 0.014, 0.007, 0.017)),
    "SSL-ALM": ((0.066, 0.117, 0.240, 0.215), (0.011, 0.023, 0.012, 0.022)),
    "SSw": ((0.080, 0.144, 0.229, 0.175), (0.029, 0.050, 0.013, 0.031)),
}
MEASURES = ("Ind", "Sp", "Ina", "Sf")
PUBLISHED_WD = {"SGD": 0.008, "StGh": 0.003, "ALM": 0.003, "SSL-ALM": 0.004, "SSw": 0.002}
N_BINS = 50  # of the probabilities from which Wd is computed


def mlp_tolerance(budget):
    """Perceptrons asked for a tolerance of .02: what the decisions keep, accuracies, time."""
    records = []
    for name, constraint in product(("Adult", "COMPAS", "Bank"), GAPS):
        if constraint == "equal_opportunity":
            continue
        runs = [_kept(case(name, seed), constraint, seed) for seed in range(min(3, budget.n_runs))]
        columns = ("s", "train", "train gap", "test", "test gap", "train linear", "test linear")
        figures = dict(zip(columns, np.mean(runs, axis=0), strict=True))
        worst = max(run[2] for run in runs)
        records.append(
            {"data": name, "constraint": constraint, **figures, "worst train gap": worst}
        )
    adult = records[0]
    checks = [
        Check("train gap", [r["worst train gap"] for r in records], "<=", TOLERANCE),
        Check("Adult, parity: test accuracy", [adult["test"]], ">=", 0.8435),
        Check("Adult, parity: test gap", [adult["test gap"]], "<=", 0.03),
        Check("Adult: CPU s", [r["s"] for r in records[:2]], "<=", 1.0),
    ]
    return Report("Perceptrons (64-32), tolerance .02, means over seeds", records, checks)


def _kept(problem, constraint, seed):
    """Seconds, accuracy and gap on training and test rows, and a linear model's accuracies."""
    train, gap = problem.train, GAPS[constraint]
    model = ConstrainedMLPClassifier(constraint, tolerance=TOLERANCE, random_state=seed)
    found = timed(_fit, model, train)
    figures = [found.seconds]
    for part in (train, problem.test):
        decisions = model.predict(part.X)
        figures.append(np.mean(decisions == part.y))
        figures.append(gap(part.y, decisions, sensitive_features=part.groups))
    linear = _fit(ConstrainedERMClassifier(constraint, tolerance=TOLERANCE), train)
    return [*figures, *(linear.score(part.X, part.y) for part in (train, problem.test))]


def _fit(model, train):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what it says is counted instead
        return model.fit(train.X, train.y, sensitive_features=train.groups)


def mlp_methods(budget):
    """The benchmark's stochastic methods and our default, on ACSIncome, Oklahoma (its Table 3).

    The loss gap between white and other people is held below .005; network 64-32, features scaled,
    race dropped, 80/20 splits. Ind, Sp, Ina, Sf are independence, separation, inaccuracy and
    sufficiency on the test rows. The published methods return their best feasible epoch (SGD its
    last, SSw one drawn). The paper prints neither learning rate of SGD nor number of steps, so that
    a method may stand elsewhere between loss and gap than in its table: ALM and SSL-ALM, after the
    epochs run here, err less and are further from independence. Nor does it say how its Wd is
    computed; here it is the squared Wasserstein distance of order 2 of probabilities in 50 bins,
    and W1 beside it the exact one of order 1.
    """
    records, checks = [], []
    splits = [_oklahoma(seed) for seed in range(2 * budget.n_runs)]  # ten in full, as the paper
    for name, solver in METHODS.items():
        outcomes = [_solved(solver, train, test, seed) for seed, (train, test) in enumerate(splits)]
        records.append(_summary(name, outcomes))
        means, deviations = PUBLISHED[name]
        for measure, published, deviation in zip(MEASURES, means, deviations, strict=True):
            distance = abs(records[-1][measure] - published) / deviation
            checks.append(Check(f"{name}, {measure}: deviations off", [distance], "<=", 2.0))
        printed = dict(zip(MEASURES, means, strict=True)) | {"Wd": PUBLISHED_WD[name]}
        records.append({"method": f"{name}, paper", **printed})
    outcomes = [_ours(train, test, seed) for seed, (train, test) in enumerate(splits)]
    records.append(_summary("ConstrainedMLPClassifier", outcomes))
    checks += [
        Check("ours, loss gap on the training rows", [o["gap"] for o in outcomes], "<=", DELTA),
        Check("ours, Ina", [records[-1]["Ina"]], "<=", 0.240),
        Check("ours, Sp", [records[-1]["Sp"]], "<=", 0.117),
    ]
    return Report(
        "ACSIncome, Oklahoma: loss gap <= .005, network 64-32, test rows", records, checks
    )


def _summary(name, outcomes):
    return {"method": name, **{key: mean(o[key] for o in outcomes) for key in outcomes[0]}}


def _oklahoma(seed):
    """Training and test rows."""
    bunch = fetch_acs_income(sensitive="race", drop_sensitive=True)
    X, y = bunch.data.to_numpy(dtype=float), np.asarray(bunch.target, dtype=int)
    groups = np.asarray(bunch.sensitive_features).astype(str)
    rows = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed, stratify=groups)
    return tuple(Split(X[part], y[part], groups[part]) for part in rows)


def _solved(solver, train, test, seed):
    """A published method on the smooth problem, in single precision."""
    problem = _problem(train)
    single = _in_single_precision(problem)
    found = timed(lambda: solver.solve(single, random_state=seed))
    here = problem.evaluate(found.result.x)
    scaled = MLPModel(test.X)
    layers = problem.model.coefficients(found.result.x)
    scores = scaled.at(scaled.parameters(*layers)).scores
    n_steps = found.result.n_iter * -(-len(train.y) // solver.batch_size)
    return _figures(test, scores, abs(here.values[0]), here.fun) | {
        "ms a step": 1e3 * found.seconds / n_steps
    }


def _problem(train):
    target, weights, loss = np.where(train.y > 0, 1.0, -1.0), np.ones(len(train.y)), LogisticLoss()
    people = People(target, check_groups(train.groups, len(target)), weights)
    bound = LossParity().bind(people, Sigmoid(), loss, DELTA)
    model = MLPModel.standardized(train.X, weights)
    return ConstrainedProblem(model, loss, target, weights, 0.0, JointConstraint((bound,)))


def _in_single_precision(problem):
    model = problem.model.astype(np.float32)
    parts = (model, problem.loss, problem.target, problem.weights, 0.0, problem.constraint)
    return ConstrainedProblem(*parts)


def _ours(train, test, seed):
    model = ConstrainedMLPClassifier("loss_parity", tolerance=DELTA, random_state=seed)
    _fit(model, train)
    gap = model.constraint_report_["gap"].iloc[0]
    return _figures(test, model.decision_function(test.X), gap, model.loss_curve_[-1])


def _figures(test, scores, gap, objective):
    decisions = (scores > 0).astype(int)
    measured = (
        independence_gap(test.y, decisions, sensitive_features=test.groups),
        separation_gap(test.y, decisions, sensitive_features=test.groups),
        np.mean(decisions != test.y),
        sufficiency_gap(test.y, decisions, sensitive_features=test.groups),
    )
    figures = dict(zip(MEASURES, measured, strict=True)) | _distances(expit(scores), test.groups)
    return figures | {"gap": gap, "objective": objective}


def _distances(probabilities, groups):
    """How far the probabilities of the groups are from each other, binned and squared, and not."""
    people = {"sensitive_features": groups}
    centres = (np.minimum(np.floor(probabilities * N_BINS), N_BINS - 1) + 0.5) / N_BINS
    return {
        "Wd": wasserstein_distance_between_groups(centres, **people, order=2) ** 2,
        "W1": wasserstein_distance_between_groups(probabilities, **people),
    }
