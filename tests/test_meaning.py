"""A number means one thing: gaps and bounds that clients state are those of ten lines of numpy.

Fits are plain ones, whose constraints are wide: what is tested is what the numbers are about.
"""

import dataclasses
import importlib
import inspect
import pkgutil
import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

import skfair
from skfair import classification, constraints, regression
from skfair.audit import Audit, fairness_front
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
)
from skfair.constraints import (
    BoundedGroupLoss,
    DemographicParity,
    EqualizedOdds,
    EqualizedOddsLossParity,
    EqualOpportunity,
    EqualOpportunityLossParity,
    ErrorRateParity,
    FalsePositiveRateParity,
    LossParity,
    MaximumRate,
    MeanErrorParity,
    MeanParity,
    MinimumRate,
    RateParity,
)
from skfair.constraints._rates import NamedRateParity
from skfair.metrics import make_scorer
from skfair.monitoring import GapMonitor
from skfair.regression import ConstrainedERMRegressor, ConstrainedRegressorCV
from skfair.statistics import required_sample_size

N_SAMPLES = 400


class Data(NamedTuple):
    """Samples as clients get them, and the positive class; None of numbers."""

    X: Any
    y: Any
    group: Any
    weights: np.ndarray
    positive: Any


@cache
def draw(weights="ones", unit=1.0, labels="text", container="array"):
    """Samples of two groups; a unit of None is of classes."""
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=N_SAMPLES)
    X = rng.normal(size=(N_SAMPLES, 2)) + 0.7 * group[:, np.newaxis]
    wage = 2000.0 + 300.0 * X.sum(axis=1) + 200.0 * (1 + group) * rng.normal(size=N_SAMPLES)
    y = (wage > 2200.0).astype(int)
    positive = 1
    if labels == "text":
        y = np.where(y, "yes", "no")
        positive = "yes"
    if unit is not None:
        y = unit * wage
        positive = None
    if container == "frame":
        X = pd.DataFrame(X, columns=["a", "b"])
        y = pd.Series(y)
        group = pd.Series(group)
    of_samples = {"ones": np.ones(N_SAMPLES), "twos": np.full(N_SAMPLES, 2.0)}
    of_samples["log-normal"] = rng.lognormal(size=N_SAMPLES)
    return Data(X, y, group, of_samples[weights], positive)


# By hand: what samples count in which cells, and how rates of groups become one number.


def compute_losses(scores, target):
    """Logistic loss of classes -1 and 1."""
    return np.logaddexp(0.0, -target * scores)


class Columns(NamedTuple):
    """Predictions of a model: numbers, or decisions, probabilities and scores of classes."""

    target: np.ndarray
    decisions: Any
    predictions: np.ndarray
    losses: np.ndarray


def all_samples(target):
    """One cell of all samples."""
    return [np.ones(len(target), dtype=bool)]


BY_HAND = {
    DemographicParity: (lambda c: c.decisions, all_samples),
    EqualOpportunity: (lambda c: c.decisions, lambda y: [y > 0]),
    FalsePositiveRateParity: (lambda c: c.decisions, lambda y: [y < 0]),
    EqualizedOdds: (lambda c: c.decisions, lambda y: [y > 0, y < 0]),
    ErrorRateParity: (lambda c: c.decisions != (c.target > 0), all_samples),
    MeanParity: (lambda c: c.predictions, all_samples),
    MeanErrorParity: (lambda c: c.predictions - c.target, all_samples),
    LossParity: (lambda c: c.losses, all_samples),
    EqualOpportunityLossParity: (lambda c: c.losses, lambda y: [y > 0]),
    EqualizedOddsLossParity: (lambda c: c.losses, lambda y: [y > 0, y < 0]),
    BoundedGroupLoss: (lambda c: c.losses, all_samples),
    MaximumRate: (lambda c: c.decisions, lambda y: [y < 0]),
    MinimumRate: (lambda c: c.decisions, lambda y: [y > 0]),
    RateParity: (lambda c: c.decisions, lambda y: [y > 0]),
}
"""What a sample counts, and in which cells, of every constraint on means."""

ON_RANKS = {"PartialStatisticalParity", "PartialDemographicParity", "PartialEqualOpportunity"}
ON_RANKS |= {"PartialEqualizedOdds", "PartialGroupAUC", "RankingParity", "ExposureParity"}
"""Constraints on ranks, whose metrics are transcribed in tests/metrics."""


def number_by_hand(constraint, columns, group, weights):
    """The gap, ratio, largest or smallest rate."""
    values, cells = BY_HAND[type(constraint)]
    values = values(columns)
    rates = [
        [
            np.average(values[cell & (group == g)], weights=weights[cell & (group == g)])
            for g in (0, 1)
        ]
        for cell in cells(columns.target)
    ]
    if isinstance(constraint, MinimumRate):
        return np.min(rates)
    if isinstance(constraint, MaximumRate | BoundedGroupLoss):
        return np.max(rates)
    if getattr(constraint, "ratio", None):
        return min(min(of_cell) / max(of_cell) for of_cell in rates)
    return max(np.ptp(of_cell) for of_cell in rates)


def bound_by_hand(constraint):
    """The bound as it was passed."""
    named = ("ratio", "bound", "upper_bound", "tolerance")
    return next(b for b in (getattr(constraint, name, None) for name in named) if b is not None)


CRITERIA = (
    DemographicParity(tolerance=0.9),
    DemographicParity(ratio=0.05),
    EqualOpportunity(tolerance=0.9),
    EqualOpportunity(ratio=0.05),
    FalsePositiveRateParity(tolerance=0.9),
    EqualizedOdds(tolerance=0.9),
    ErrorRateParity(tolerance=0.9),
    MeanParity(tolerance=0.9),
    LossParity(tolerance=0.9, loss="logistic"),
    EqualOpportunityLossParity(tolerance=0.9, loss="logistic"),
    EqualizedOddsLossParity(tolerance=0.9, loss="logistic"),
    BoundedGroupLoss(5.0, loss="logistic"),
    MaximumRate("false_positive_rate", 0.9),
    MinimumRate("recall", 0.05),
    RateParity("recall", tolerance=0.9),
)


def criteria_of_numbers(unit):
    """Constraints on predicted numbers, in units of the target and of its square."""
    return (
        MeanParity(tolerance=900.0 * unit),
        MeanErrorParity(tolerance=900.0 * unit),
        LossParity(tolerance=1e6 * unit**2, loss="squared"),
        LossParity(tolerance=900.0 * unit, loss="absolute"),
        BoundedGroupLoss(1e6 * unit**2, loss="squared"),
        BoundedGroupLoss(900.0 * unit, loss="absolute"),
    )


# Models of the estimators of every kind.


CLASSIFIERS = {
    ConstrainedERMClassifier: lambda data: {},
    ConstrainedClassifierCV: lambda data: {
        "estimator": LogisticRegression().fit(data.X, data.y),
        "cv": "prefit",
    },
    ConstrainedMLPClassifier: lambda data: {"hidden_layer_sizes": (4,), "random_state": 0},
}

REGRESSORS = {
    ConstrainedERMRegressor: lambda data: {},
    ConstrainedRegressorCV: lambda data: {
        "estimator": LinearRegression().fit(data.X, data.y),
        "cv": "prefit",
    },
}

ESTIMATORS_ON_RANKS = {"PartialParityClassifier", "PartialParityRegressor"}
ESTIMATORS_ON_RANKS |= {"PartialParityPostprocessor"}


def fit(kind, data, constraint):
    """A model under a constraint, and what it predicts of its training samples."""
    settings = ({**CLASSIFIERS, **REGRESSORS})[kind](data)
    if data.positive is not None:
        settings["pos_label"] = data.positive
    model = kind(constraint=constraint, **settings)
    columns = {"sensitive_features": data.group, "sample_weight": data.weights}
    model.fit(data.X, data.y, **columns)
    return model, predict(model, data, constraint)


def predict(model, data, constraint):
    """Columns of what a model predicts, computed from its methods alone."""
    y = np.asarray(data.y)
    if data.positive is None:
        predicted = model.predict(data.X)
        error = np.abs(predicted - y)
        losses = error if getattr(constraint, "loss", None) == "absolute" else error**2
        return Columns(y, None, predicted, losses)
    target = np.where(y == data.positive, 1.0, -1.0)
    column = list(model.classes_).index(data.positive)
    sign = 1.0 if column == 1 else -1.0
    losses = compute_losses(sign * model.decision_function(data.X), target)
    probabilities = model.predict_proba(data.X)[:, column]
    return Columns(target, model.predict(data.X) == data.positive, probabilities, losses)


# Clients: each returns the gap that it states, and the bound; None where it states none.


def audit_of(model, data):
    """The audit of a model and its samples."""
    columns = {"sensitive_features": data.group, "sample_weight": data.weights}
    settings = {} if data.positive is None else {"pos_label": data.positive}
    return Audit.from_estimator(model, data.X, data.y, **columns, **settings)


def read_fit(model, constraint, data):
    """The report of a fit, and its attributes."""
    first = model.constraint_report_.iloc[0]
    assert model.constraint_violation_ == 0.0
    assert model.tolerances_ == pytest.approx(first["tolerance"])
    assert model.tightened_tolerances_ == pytest.approx(first["tolerance"])
    return first["gap"], first["tolerance"]


def read_claim(model, constraint, data):
    """A claim."""
    claim = audit_of(model, data).certify(constraint)
    return claim.estimate, claim.threshold


SCORERS_OF_ERRORS = {
    (LossParity, "squared"): "mean_squared_error_difference",
    (LossParity, "absolute"): "mean_absolute_error_difference",
    (BoundedGroupLoss, "squared"): "largest_mean_squared_error",
}
"""Metrics of the errors of predicted numbers."""


def read_scorer(model, constraint, data):
    """The scorer of the metric of a constraint."""
    name = constraint.ratio_metric if constraint.ratio else constraint.metric
    params = {"loss": constraint.loss} if getattr(constraint, "loss", None) else {}
    if params and data.positive is None:
        name = SCORERS_OF_ERRORS.get((type(constraint), constraint.loss))
        params = {}
    if name is None:
        return None, None
    settings = {} if data.positive is None else {"pos_label": data.positive}
    score = make_scorer(name, **params, **settings)(
        model, data.X, data.y, sensitive_features=data.group, sample_weight=data.weights
    )
    return abs(score), None


def read_monitor(model, constraint, data):
    """A monitor of one batch."""
    if constraint.ratio:
        return None, None  # refused: it is no difference of means
    size = 1.0 if data.positive is not None else 1e10
    monitor = GapMonitor(
        constraint,
        value_range=(0.0 if data.positive is not None else -size, 10.0 * size),
        max_weight=float(data.weights.max()),
        pos_label=data.positive,
    )
    monitor.update_from(audit_of(model, data))
    return monitor.summary()["gap"].iloc[-1], None


METRICS_OF_REPORTS = {
    "demographic_parity_difference": ("selection_rate", "gap"),
    "demographic_parity_ratio": ("selection_rate", "ratio"),
    "equal_opportunity_difference": ("true_positive_rate", "gap"),
    "equal_opportunity_ratio": ("true_positive_rate", "ratio"),
    "recall_difference": ("true_positive_rate", "gap"),
    "false_positive_rate_difference": ("false_positive_rate", "gap"),
    "error_rate_difference": ("accuracy", "gap"),
    "mean_score_difference": ("mean_probability", "gap"),
    "mean_absolute_error_difference": ("mean_absolute_error", "gap"),
}
"""Rates and columns of reports that state the metrics of constraints."""


def find_reported(constraint, data):
    """The rate and column of a report that state the metric of a constraint; None of others."""
    name = constraint.ratio_metric if constraint.ratio else constraint.metric
    if data.positive is None:
        loss = getattr(constraint, "loss", None)
        name = SCORERS_OF_ERRORS.get((type(constraint), loss), name)
    rate, column = METRICS_OF_REPORTS.get(name, (None, None))
    is_mean = rate == "mean_probability" and data.positive is None
    return "mean_prediction" if is_mean else rate, column


def read_report(model, constraint, data):
    """The page of a report, which has the gaps of rates, means and absolute errors."""
    rate, column = find_reported(constraint, data)
    if rate is None:
        return None, None
    return audit_of(model, data).report().gaps.set_index("metric")[column][rate], None


def read_subgroups(model, constraint, data):
    """The departure of one group of two from the other, if it is listed."""
    rate, column = find_reported(constraint, data)
    if column != "gap" or data.positive is None or np.ptp(data.weights):
        return None, None
    if rate == "mean_probability":
        return None, None
    flagged = audit_of(model, data).subgroups(rate, max_conditions=1).flagged["difference"].abs()
    assert len(flagged) or rate != "selection_rate"
    return flagged.max() if len(flagged) else None, None


def read_front(model, constraint, data):
    """A front whose folds all have the decisions of the model."""
    if data.positive is None or not constraint.counts_decisions:
        return None, None  # refused
    front = fairness_front(
        *(FrozenEstimator(model), data.X, data.y),
        sensitive_features=data.group,
        sample_weight=data.weights,
        constraint=constraint,
        cv=2,
        pos_label=data.positive,
    )
    return front.to_frame()["gap"].iloc[0], None


CLIENTS = {
    "fit": read_fit,
    "Audit.certify": read_claim,
    "make_scorer": read_scorer,
    "GapMonitor": read_monitor,
    "Audit.report": read_report,
    "Audit.subgroups": read_subgroups,
    "fairness_front": read_front,
}
"""Clients of one model, by the public name; fits are those of the estimators above."""

TESTED_ELSEWHERE = {
    "check_constraint": "tests/constraints/test_constraint_check.py",
    "certify_in_order": "tests/audit/test_certify_in_order.py",  # claims of Audit.certify
    "Audit.alternatives": "tests/audit/test_alternatives.py",
    "ConstraintTerm": "tests/torch/test_term.py",
    "constraint_values": "tests/torch/test_loop.py",
    "required_sample_size": "below",
    "PartialParityClassifier.from_paper": "tests/classification/test_classifiers_partial_parity.py",
}
"""Other public callables that take constraints or bounds, and the tests of their numbers."""


def check_clients(kind, data, constraint):
    """Every client states the numbers that are computed by hand."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, columns = fit(kind, data, constraint)
        number = number_by_hand(constraint, columns, np.asarray(data.group), data.weights)
        for name, read in CLIENTS.items():
            gap, bound = read(model, constraint, data)
            assert gap is None or gap == pytest.approx(number, rel=1e-6), name
            assert bound is None or bound == pytest.approx(bound_by_hand(constraint)), name


def identify(value):
    """Name of a case."""
    return getattr(value, "__name__", None) or str(value).replace(" ", "")


@pytest.mark.covering(0)
@pytest.mark.parametrize("constraint", CRITERIA, ids=identify)
def test_clients_of_a_classifier_state_numbers_by_hand(constraint):
    check_clients(ConstrainedERMClassifier, draw("log-normal", None), constraint)


@pytest.mark.covering(1)
@pytest.mark.parametrize("position", range(len(criteria_of_numbers(1.0))))
@pytest.mark.parametrize("unit", [1.0, 100.0])
def test_clients_of_a_regressor_state_numbers_by_hand(unit, position):
    constraint = criteria_of_numbers(unit)[position]
    check_clients(ConstrainedERMRegressor, draw("log-normal", unit), constraint)


@pytest.mark.slow
@pytest.mark.parametrize("constraint", CRITERIA, ids=identify)
@pytest.mark.parametrize("kind", CLASSIFIERS, ids=identify)
def test_estimators_samples_and_labels_change_no_meaning(kind, constraint):
    for weights in ("ones", "twos", "log-normal"):
        check_clients(kind, draw(weights, None), constraint)
    check_clients(kind, draw("ones", None, "codes", "frame"), constraint)


@pytest.mark.slow
@pytest.mark.parametrize("position", range(len(criteria_of_numbers(1.0))))
@pytest.mark.parametrize("kind", REGRESSORS, ids=identify)
def test_pounds_pence_and_frames_change_nothing_but_the_unit(kind, position):
    for weights in ("ones", "twos", "log-normal"):
        for unit in (1.0, 100.0):
            data = draw(weights, unit, container="frame" if weights == "twos" else "array")
            check_clients(kind, data, criteria_of_numbers(unit)[position])


@pytest.mark.parametrize("unit", [1.0, 100.0])
@pytest.mark.parametrize("kind", REGRESSORS, ids=identify)
def test_default_tolerances_are_stated_in_units_of_the_target(kind, unit):
    data = draw("ones", unit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, _ = fit(kind, data, ["mean_parity", LossParity(loss="squared")])
    assert model.tolerances_ == pytest.approx([0.05 * data.y.std(), 0.05 * data.y.var()])


def test_tolerances_of_ranks_and_decisions_are_stated():
    data = draw("ones", None)
    both = [DemographicParity(ratio=0.7), EqualOpportunity()]
    models = {
        ConstrainedERMClassifier(both, pos_label="yes"): [0.7, 0.05],
        classification.PartialParityPostprocessor(pos_label="yes", tolerance=0.2): [0.2],
        classification.PartialParityClassifier(pos_label="yes", tolerance=0.3): [0.3],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, tolerances in models.items():
            model.fit(data.X, data.y, sensitive_features=data.group)
            assert model.tolerances_ == pytest.approx(tolerances)


def test_each_constraint_of_a_list_states_its_own_number():
    data = draw("log-normal", None)
    both = [DemographicParity(ratio=0.05), EqualOpportunity(tolerance=0.9)]
    both += [BoundedGroupLoss(5.0, loss="logistic"), MinimumRate("recall", 0.05)]
    numbers = draw("log-normal", 100.0)
    for kind, of, listed in (
        (ConstrainedERMClassifier, data, both),
        (ConstrainedERMRegressor, numbers, list(criteria_of_numbers(100.0))),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, _ = fit(kind, of, listed)
        gaps = model.constraint_report_.drop_duplicates(["constraint", "gap"])["gap"]
        expected = [
            number_by_hand(one, predict(model, of, one), of.group, of.weights) for one in listed
        ]
        assert gaps.tolist() == pytest.approx(expected, rel=1e-6)
        assert model.tolerances_ == pytest.approx([bound_by_hand(one) for one in listed])


@pytest.mark.parametrize(
    ("constraint", "bound", "expected", "rates"),
    [
        (DemographicParity(tolerance=0.05), {"tolerance": 0.05}, 0.03, (0.485, 0.515)),
        (DemographicParity(ratio=0.8), {"ratio": 0.8}, 0.9, (0.9 / 1.9, 1.0 / 1.9)),
        (MinimumRate("selection_rate", 0.75), {"minimum": 0.75}, 0.8, (0.8, 0.8)),
        (MaximumRate("selection_rate", 0.2), {"maximum": 0.2}, 0.15, (0.15, 0.15)),
    ],
    ids=identify,
)
def test_a_planned_sample_shows_what_is_expected(constraint, bound, expected, rates):
    """Expected rates are shown by a sample of the planned size, and not by a quarter of it."""
    planned = required_sample_size(**bound, expected=expected)
    for n, verdict in ((planned, "shown"), (planned // 4, "open")):
        selected = [round(n * rate) for rate in rates]
        decisions = np.concatenate([np.arange(n) < count for count in selected]).astype(int)
        audit = Audit.from_predictions(None, decisions, sensitive_features=np.repeat([0, 1], n))
        claim = audit.certify(constraint)
        assert claim.verdict == verdict
        assert claim.threshold == pytest.approx(bound_by_hand(constraint))
        assert claim.estimate == pytest.approx(expected, abs=0.01)


def test_every_constraint_and_estimator_is_in_a_table():
    exported = (getattr(constraints, name) for name in constraints.__all__)
    kinds = {one for one in exported if isinstance(one, type)}
    kinds = {one.__name__ for one in kinds if issubclass(one, constraints.Constraint)}
    # Parities of a fixed rate equal RateParity of it: tests/constraints has their test.
    named = constraints.CONSTRAINTS.values()
    kinds |= {one.__name__ for one in named if not issubclass(one, NamedRateParity)}
    tested = {type(one) for one in (*CRITERIA, *criteria_of_numbers(1.0))}
    assert tested == set(BY_HAND)
    # No fit is constrained to be calibrated: tests/audit has its claims and monitors.
    assert {one.__name__ for one in tested} | ON_RANKS | {"Constraint", "Calibration"} == kinds
    estimators = {
        name
        for module in (classification, regression)
        for name in module.__all__
        if "constraint" in getattr(getattr(module, name), "_get_param_names", list)()
    }
    known = {one.__name__ for one in (*CLASSIFIERS, *REGRESSORS)}
    assert known | ESTIMATORS_ON_RANKS == estimators


def test_every_public_callable_that_takes_a_constraint_is_a_client():
    clients = set()
    for module in pkgutil.iter_modules(skfair.__path__, "skfair."):
        if module.name.startswith("skfair._") or module.name in (
            "skfair.constraints",
            "skfair.torch",
        ):
            continue  # what makes constraints; PyTorch may not be installed
        public = importlib.import_module(module.name)
        for name in getattr(public, "__all__", ()):
            one = getattr(public, name)
            if inspect.isclass(one) and issubclass(one, Exception):
                continue
            # Results are made by others: their fields are no arguments of a user's.
            is_result = dataclasses.is_dataclass(one) and inspect.isclass(one)
            members = inspect.getmembers(one, callable) if inspect.isclass(one) else ()
            named = [(f"{name}.{member}", of) for member, of in members if member[0] != "_"]
            clients |= {
                label
                for label, of in [*([] if is_result else [(name, one)]), *named]
                if callable(of) and "constraint" in inspect.signature(of).parameters
            }
    fits = {kind.__name__ for kind in (*CLASSIFIERS, *REGRESSORS)} | ESTIMATORS_ON_RANKS
    fits |= {"ConstrainedRanker", "ConstrainedRankerCV"}  # on ranks, too
    without = {"make_scorer", "Audit.report", "Audit.subgroups", "fit"}  # take metrics
    assert clients - fits - set(TESTED_ELSEWHERE) == set(CLIENTS) - without
