"""Default rules around a linear model: other folds, and what their guarantee costs."""

from copy import copy
from itertools import combinations, product
from statistics import median

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from benchmarks.erm_cases import Case, Split
from benchmarks.peers.any_model import FIRST_SEED, fit_final_model, outcome
from benchmarks.peers.libraries import linear_post_weights
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report


def separate_models():
    """A group model of its own, as it was the default before: 30 trees of 4 leaves."""
    return HistGradientBoostingClassifier(
        learning_rate=0.2,
        max_iter=30,
        max_leaf_nodes=4,
        min_samples_leaf=50,
        early_stopping=False,
        random_state=0,
    )


# Stability: the same samples in other folds.


def _two_groups(rng, n_samples):
    group = (rng.random(n_samples) < 0.4).astype(int)
    X = rng.normal(size=(n_samples, 5))
    X[:, 0] += 0.8 * group
    X[:, 1] += 0.5 * group
    return X, X @ [1.0, 0.0, 0.7, -0.5, 0.0] - 0.4, group


def _three_groups(rng, n_samples):
    group = rng.choice(3, p=[0.5, 0.3, 0.2], size=n_samples)
    X = rng.normal(size=(n_samples, 4))
    X[:, 0] += group == 1
    X[:, 1] -= group == 2
    return X, X[:, 0] + X[:, 1] - 0.3, group


def _strong_groups(rng, n_samples):
    group = (rng.random(n_samples) < 0.5).astype(int)
    X = rng.normal(size=(n_samples, 6))
    X[:, :3] += 0.7 * group[:, np.newaxis]
    return X, X @ [1.0, 0.8, 0.3, 0.6, -0.5, 0.2] - 0.8, group


LINEAR_DATA = {
    "two groups": _two_groups,
    "three groups": _three_groups,
    "groups in three columns": _strong_groups,
}
"""Populations in which classes and groups depend on X linearly, by name."""

N_LINEAR = 4000, 10_000
"""Training and test samples of these populations."""


def _draw(name, seed, n_train, n_test):
    rng = np.random.default_rng(seed)
    X, odds, groups = LINEAR_DATA[name](rng, n_train + n_test)
    y = (odds + rng.logistic(size=len(odds)) > 0).astype(int)
    columns = X, y, groups.astype(str)
    return Case(name, *(Split(*(one[half] for one in columns)) for half in _halves(n_train)))


def _halves(n_train):
    return slice(None, n_train), slice(n_train, None)


STABILITY_TOLERANCES = (0.02, 0.05)


@smallest(LINEAR_DATA={"two groups": _two_groups}, N_LINEAR=(400, 400))
def fold_stability(budget):
    """Share of held-out decisions that change when the samples are divided into other folds.

    4,000 samples, LogisticRegression as the base, demographic parity. Accuracies are compared with
    those of ``group_estimator=LogisticRegression()`` at the same held-out gap, along the line
    through the default fits of both tolerances.
    """
    group_models = {"default": None, "linear": LogisticRegression(), "trees": separate_models()}
    seeds = range(FIRST_SEED, FIRST_SEED + max(1, budget.n_runs // 2))
    records, checks = [], []
    for name in LINEAR_DATA:
        judged = {}
        for (key, model), tolerance in product(group_models.items(), STABILITY_TOLERANCES):
            runs = [
                _compare_foldings(_draw(name, seed, *N_LINEAR), model, tolerance) for seed in seeds
            ]
            changes = sum((run[0] for run in runs), [])
            accuracy, gap = judged[key, tolerance] = np.mean([run[1] for run in runs], axis=0)
            record = {"data": name, "group model": key, "tolerance": tolerance}
            figures = {"median change": median(changes), "worst": max(changes)}
            records.append(record | {"accuracy": accuracy, "gap": gap} | figures)
            if key == "default":
                what = f"{name}, {tolerance}"
                checks.append(Check(f"median change, {what}", [median(changes)], "<=", 0.05))
                checks.append(Check(f"worst change, {what}", [max(changes)], "<=", 0.10))
        first, last = (judged["default", tolerance] for tolerance in STABILITY_TOLERANCES)
        slope = (last[0] - first[0]) / (last[1] - first[1])
        for tolerance in STABILITY_TOLERANCES:
            accuracy, gap = judged["linear", tolerance]
            lead = first[0] + slope * (gap - first[1]) - accuracy
            what = f"accuracy above a linear model's at its gap, {name}, {tolerance}"
            checks.append(Check(what, [lead], ">=", 0.0))
    return Report("Decisions of the same samples in other folds", records, checks)


def _compare_foldings(split, group_model, tolerance, n_foldings=4):
    """Shares of decisions that differ between two foldings, and mean accuracy and gap."""
    decisions = []
    for folding in range(n_foldings):
        settings = {"estimator": LogisticRegression(), "group_estimator": group_model}
        settings["cv"] = StratifiedKFold(5, shuffle=True, random_state=folding)
        model = fit_final_model(split.train, "demographic_parity", tolerance, **settings)
        decisions.append(model.predict(split.test.X))
    changes = [float(np.mean(one != other)) for one, other in combinations(decisions, 2)]
    outcomes = [outcome(one, split.test, "demographic_parity") for one in decisions]
    return changes, np.mean(outcomes, axis=0)


# The cost of a rule that never refuses the better of two samples of equal groups.


RULES = (
    ("two groups", "demographic_parity", 0.02),
    ("three groups", "demographic_parity", 0.02),
    ("three groups", "equal_opportunity", 0.02),
    ("groups in three columns", "demographic_parity", 0.02),
    ("groups in three columns", "equal_opportunity", 0.02),
)
"""Population, constraint and tolerance."""


@smallest(RULES=RULES[:1], LINEAR_DATA={"two groups": _two_groups}, N_LINEAR=(400, 400))
def rule_costs(budget):
    """Held-out accuracy, gap and share accepted of default fits, and of decisions of any form.

    LogisticRegression as the base, and 4,000 samples. A default rule accepts the higher of two
    scores where their groups are equally likely. LinearPost takes the best decisions by the same
    probabilities, which may refuse it. Figures are means over draws, "s.e." is the standard
    error of the difference of accuracies.
    """
    seeds = range(FIRST_SEED, FIRST_SEED + max(2, budget.n_runs))
    records, checks = [], []
    for name, constraint, tolerance in RULES:
        runs = [
            _compare_rules(_draw(name, seed, *N_LINEAR), constraint, tolerance) for seed in seeds
        ]
        runs = [run for run in runs if run is not None]
        if not runs:
            continue
        plain, rule, any_form = np.transpose(runs, (1, 0, 2))
        lost = any_form[:, 0] - rule[:, 0]
        record = {"data": name, "constraint": constraint, "tolerance": tolerance}
        record |= {"draws": len(runs), "plain accuracy": plain[:, 0].mean()}
        for label, values in (("rule", rule), ("any form", any_form)):
            means = values.mean(axis=0)
            record |= dict(zip([f"{label} {one}" for one in _JUDGED], means, strict=True))
        error = lost.std(ddof=1) / len(lost) ** 0.5 if len(lost) > 1 else np.nan
        records.append(record | {"lost": lost.mean(), "s.e.": error})
        label = f"gap of the rule, {name}, {constraint}"
        checks.append(Check(label, [rule[:, 1].mean()], "<=", tolerance + 0.03))
    return Report("Default rules and decisions of any form", records, checks)


_JUDGED = ("accuracy", "gap", "accepted")
"""What is judged of decisions."""


def _compare_rules(split, constraint, tolerance):
    """Accuracy, gap and share accepted: of the base, the default rule and LinearPost.

    None where the default fit decides by the scores alone.
    """
    strata = np.char.add(split.train.groups.astype(str), split.train.y.astype(str))
    folds = list(StratifiedKFold(5).split(strata, strata))
    settings = {"estimator": LogisticRegression(), "cv": folds}
    model = fit_final_model(split.train, constraint, tolerance, **settings)
    if not model._event_features.models:
        return None
    joint = _out_of_fold_probabilities(model, split.train.X, folds)
    held_out = _probabilities(model, split.test.X)
    base_model = LogisticRegression().fit(split.train.X, split.train.y)
    decisions = [
        base_model.predict(split.test.X),
        model.predict(split.test.X),
        _decide_linear_post(joint, held_out, constraint, tolerance),
    ]
    return [(*outcome(one, split.test, constraint), np.mean(one)) for one in decisions]


def _decide_linear_post(joint, held_out, constraint, tolerance):
    """LinearPost's decisions on held-out samples, by joint probabilities of class and group."""
    weights = linear_post_weights(_accuracy_gains(joint), _events(joint, constraint), tolerance)
    limits = np.hstack(_events(held_out, constraint)) @ weights
    return (_accuracy_gains(held_out) > limits).astype(int)


def _out_of_fold_probabilities(model, X, folds):
    """Probabilities of class and group by the models of other folds, (n_samples, 2, n_groups)."""
    joint = np.empty((len(X), 2, len(model.groups_.labels)))
    features = model._event_features
    for number, (_, test) in enumerate(folds):
        of_fold = copy(model)
        of_fold.estimators_ = [model.estimators_[number]]
        of_fold._event_features = features._replace(models=[features.models[number]])
        joint[test] = _probabilities(of_fold, X[test])
    return joint


def _probabilities(model, X):
    """Probabilities of class and group of new samples, (n_samples, 2, n_groups)."""
    rule = model.export_rule()
    scores, probabilities = model.rule_inputs(X)
    odds = (rule["slope"] * scores + rule["offset"])[:, np.newaxis]
    chances = model._event_features.group_class_probabilities(odds, probabilities)
    return chances.reshape(len(chances), 2, -1)


def _accuracy_gains(joint):
    """What a positive decision adds to the expected number of right ones, (n_samples,)."""
    negative, positive = joint.sum(axis=2).T
    return positive - negative


def _events(joint, constraint):
    """Blocks of events of nearly equal rates: groups, or the groups of each class."""
    if constraint == "demographic_parity":
        return [joint.sum(axis=1)]
    if constraint == "equal_opportunity":
        return [joint[:, 1]]
    return [joint[:, 0], joint[:, 1]]
