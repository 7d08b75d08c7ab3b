"""Floors and parity of rates around boosting: held-out rates and accuracy, beside OxonFair."""

import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from benchmarks.erm_cases import Split
from benchmarks.packages import is_installed
from benchmarks.peers import any_model
from benchmarks.peers.any_model import FIRST_SEED, CachedFit, base, splits
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report, join_reports
from benchmarks.timing import time_call
from skfair.classification import ConstrainedClassifierCV
from skfair.constraints import EqualizedOdds, MinimumRate, RateParity
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.metrics import equalized_odds_difference, group_report

FLOORS = {("recall", 0.75): 0.8642, ("precision", 0.85): 0.8681}
"""Floors of every group on Adult, and the mean held-out accuracy that fits should have."""

PARITIES = {
    "precision": [RateParity("precision", tolerance=0.03)],
    "precision and odds": [
        RateParity("precision", tolerance=0.03),
        EqualizedOdds(tolerance=0.05),
    ],
}

_FLOOR_OF_SELECTION = 0.25
"""Smallest selection rate of a group, relative to that of the plain model."""

_MAX_TIME = 7.5
"""Largest time of a fit, or of a refusal, in plain fits."""

_STEPS = (-0.01, 0.0, 0.01)
"""What is added to a floor to have fits at more and less held-out rate."""


@smallest(any_model, N_TREES=5)
@smallest(FLOORS={("recall", 0.75): 0.0}, _STEPS=(0.0, 0.01))
def rate_constraints(budget):
    """Floors of recall and precision on Adult, predictive parity on COMPAS and ACSIncome."""
    return join_reports([_compare_floors(budget), _fit_parities(budget)])


def _compare_floors(budget):
    """Floors of every group on Adult, beside OxonFair's thresholds on the same splits."""
    records, checks = [], []
    for (rate, floor), accuracy in FLOORS.items():
        outcomes = _fit_floors(budget, rate, floor)
        means = {
            key: {figure: np.mean([run[figure] for run in runs]) for figure in runs[0]}
            for key, runs in outcomes.items()
        }
        methods = {"ours": means[floor]}
        what = f"every group, {rate} >= {floor}"
        checks += [
            Check(
                f"out-of-fold, {what}", [run["out of fold"] for run in outcomes[floor]], ">=", floor
            ),
            Check(f"mean held-out accuracy, {what}", [means[floor]["accuracy"]], ">=", accuracy),
        ]
        if is_installed("oxonfair"):
            peer = methods["OxonFair"] = means.pop("OxonFair")
            ours = _interpolate([means[key] for key in sorted(means)], peer["held-out"])
            methods["ours, at its held-out rate"] = ours
            lead = ours["accuracy"] - peer["accuracy"]
            checks.append(Check(f"accuracy above OxonFair's at its rate, {what}", [lead], ">=", 0))
        records += [
            {"rate": rate, "floor": floor, "method": method} | figures
            for method, figures in methods.items()
        ]
    title = f"Floors on Adult, splits from seed {FIRST_SEED}: smallest rates and held-out accuracy"
    return Report(title, records, checks)


def _fit_floors(budget, rate, floor):
    """Outcomes of each split by floor, and of OxonFair; lower and higher floors are next to it."""
    outcomes = {}
    for split in splits("Adult", budget):
        for step in _STEPS if is_installed("oxonfair") else (0.0,):
            run = _fit_floor(split, MinimumRate(rate, floor + step))
            outcomes.setdefault(floor + step, []).append(run)
        if is_installed("oxonfair"):
            outcomes.setdefault("OxonFair", []).append(_fit_oxonfair(split, rate, floor))
        CachedFit.clear()
    return outcomes


def _interpolate(outcomes, held_out):
    """Figures at a held-out rate, between those of fits at several floors; nan outside of them."""
    rates = [one["held-out"] for one in outcomes]
    return {
        figure: np.interp(held_out, rates, [one[figure] for one in outcomes], np.nan, np.nan)
        for figure in outcomes[0]
    }


def _fit_floor(split, constraint):
    train, test = split.train, split.test
    model, _ = _fit(constraint, train, CachedFit(base()))
    inside = _rates(train, model.oof_decision_function_ > 0, constraint.rate)
    return {
        "out of fold": inside.min(),
        "held-out": _rates(test, model.predict(test.X), constraint.rate).min(),
        "accuracy": np.mean(model.predict(test.X) == test.y),
    }


def _fit_oxonfair(split, rate, floor):
    """OxonFair's thresholds by inferred groups, chosen on 30 % of the training samples."""
    from oxonfair import FairPredictor
    from oxonfair.utils import group_metrics

    rows = np.arange(len(split.train.y))
    rows = train_test_split(rows, test_size=0.3, random_state=0, stratify=split.train.y)
    fitted, rest = (Split(*(column[half] for column in split.train)) for half in rows)
    groups = HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=4, random_state=0)
    predictor = FairPredictor(
        base().fit(fitted.X, fitted.y),
        {"data": rest.X, "target": rest.y, "groups": rest.groups},
        inferred_groups=groups.fit(fitted.X, fitted.groups),
    )
    predictor.fit(group_metrics.accuracy, getattr(group_metrics, rate).min, floor)

    def decide(part):
        data = {"data": part.X, "target": part.y, "groups": part.groups}
        return np.asarray(predictor.predict(data))

    return {
        "out of fold": _rates(rest, decide(rest), rate).min(),
        "held-out": _rates(split.test, decide(split.test), rate).min(),
        "accuracy": np.mean(decide(split.test) == split.test.y),
    }


def _fit_parities(budget):
    """Predictive parity alone and with equalised odds: kept, or infeasible and quickly said so."""
    records = []
    for name in ("COMPAS", "ACSIncome"):
        for what, constraints in PARITIES.items():
            for seed, split in enumerate(splits(name, budget), start=FIRST_SEED):
                known = {"data": name, "parity": what, "split": seed}
                records.append(known | _fit_parity(split, constraints))
    feasible = [one for one in records if one["status"] != "infeasible"]
    checks = [
        Check(
            "out-of-fold gap of precision", [one["precision gap"] for one in feasible], "<=", 0.03
        ),
        Check(
            "selection rate / plain, smallest group",
            [one["selection / plain"] for one in feasible],
            ">=",
            _FLOOR_OF_SELECTION,
        ),
        Check("infeasible without a reason", [_count_unexplained(records)], "<=", 0),
        Check(
            "time / plain where infeasible",
            [one["x"] for one in records if one["status"] == "infeasible"],
            "<=",
            _MAX_TIME,
        ),
    ]
    odds = [one["odds gap"] for one in feasible if one["parity"] != "precision"]
    checks.append(Check("out-of-fold gap of odds", odds, "<=", 0.05))
    return Report("Predictive parity within .03, with equalised odds within .05", records, checks)


def _fit_parity(split, constraints):
    train, test = split.train, split.test
    plain = time_call(base().fit, train.X, train.y)
    run = time_call(_fit, constraints, train)
    model, conflicts = run.result
    decisions, usual = (one.predict(test.X) for one in (model, plain.result))
    precision = _rates(train, model.oof_decision_function_ > 0, "precision")
    odds = equalized_odds_difference(
        train.y, model.oof_decision_function_ > 0, sensitive_features=train.groups
    )
    selection, of_plain = (_rates(test, one, "selection_rate") for one in (decisions, usual))
    return {
        "status": model.status_,
        "precision gap": precision.max() - precision.min(),
        "odds gap": odds,
        "selection / plain": (selection / of_plain).min(),
        "accuracy": np.mean(decisions == test.y),
        "plain accuracy": np.mean(usual == test.y),
        "x": run.seconds / plain.seconds,
        "conflicts": len(conflicts),
    }


def _count_unexplained(records):
    return sum(one["status"] == "infeasible" and not one["conflicts"] for one in records)


def _fit(constraint, train, estimator=None):
    """The fitted model, and the messages that name a conflict."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ConstrainedClassifierCV(estimator or base(), constraint)
        model.fit(train.X, train.y, sensitive_features=train.groups)
    messages = [str(one.message) for one in caught if one.category is InfeasibleConstraintWarning]
    return model, [one for one in messages if "no decisions keep" in one]


def _rates(part, decisions, rate):
    """The rate of each group."""
    decisions = np.asarray(decisions).astype(int)
    report = group_report(part.y, decisions, sensitive_features=part.groups, metrics=[rate])
    return report.drop("overall")[rate].to_numpy()
