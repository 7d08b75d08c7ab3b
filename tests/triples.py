"""All triples of settings of a fit under constraints, each with one change that may not matter.

``make test-triples`` runs all rows, and ``tests/test_triples.py`` a few of them. Each row is fitted
to generated data. Gaps are counted again by numpy, and the fit is repeated with other names,
another order of rows, another container, another scale of weights, a looser bound, or as it is.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB

from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorRateParity,
    MaximumRate,
    MinimumRate,
)
from skfair.model_selection import fit_ladder
from skfair.preprocessing import ScoreColumn
from tests.changes import change_samples, deal_folds, draw_groups, find_reference, name_row, pack
from tests.covering import make_rows

SLACK = 0.05
"""Accuracy by which a fit may be behind another: it minimises log-losses, which decisions need not
follow in so few samples. Exact searches over thresholds of known groups have none."""

FACTORS = {
    "estimator": ["linear", "folds", "fitted", "known", "column"],
    "call": ["fit", "ladder"],
    "constraint": ["parity", "ratio", "odds", "opportunity", "side", "recall", "several", "errors"],
    "change": ["names", "order", "container", "scale", "looser", "again"],
    "groups": ["two", "five", "attributes", "each", "numbers", "unknown"],
    "weights": ["none", "uneven", "zeros"],
    "container": ["numpy", "pandas", "polars", "pyarrow", "read-only"],
    "level": [None, 0.9],
    "outcome": ["text", "rare", "three"],
}
FORBIDDEN = [
    *((("estimator", one), ("outcome", "three")) for one in ("linear", "column")),
    (("level", 0.9), ("outcome", "three")),
    *((("estimator", one), ("groups", "unknown")) for one in ("known",)),
    (("estimator", "folds"), ("change", "order")),  # rows in another order are in other folds
    (("constraint", "side"), ("groups", "each")),
    (("change", "container"), ("container", "numpy")),
    (("level", 0.9), ("change", "looser")),  # a guarantee may fail for the one and not the other
]
"""Values that no row has together."""

ROWS = make_rows(FACTORS, FORBIDDEN)


class Fit(NamedTuple):
    """What is compared of two fits."""

    decisions: np.ndarray
    status: str
    violation: float
    messages: list[str]
    plain: Any = None  # decisions without constraint
    is_plain: bool = False  # whether the fit says that no constraint has changed them


def draw(row, seed=0):
    """Samples of which features and classes depend on the group."""
    rng = np.random.default_rng(seed)
    data = draw_groups(row, rng)
    X = data.X
    signal = X[:, 0] + 0.7 * X[:, 1] + 0.4 * X[:, 2] + rng.logistic(size=len(X))
    cuts = {"text": [0.5], "rare": [0.85], "three": [0.4, 0.75]}[row["outcome"]]
    classes = np.digitize(signal, np.quantile(signal, cuts))
    y = classes if row["outcome"] == "rare" else np.array(["a", "b", "c"])[classes]
    strata = np.vstack([classes, *data.members]).T @ 3.0 ** np.arange(1 + len(data.members))
    return data._replace(y=y, folds=deal_folds(strata))


TOLERANCES = {"parity": 0.05, "odds": 0.08, "opportunity": 0.06, "side": 0.05, "errors": 0.05}
"""Those of constraints that a tolerance of the estimator may replace."""


def make_constraint(row, data, factor):
    """The constraint of a row, with its bound made looser by a factor; None leaves it open."""
    settings = {"attributes": "each"} if row["groups"] == "each" else {}
    if row["constraint"] == "side":
        settings |= {"reference": find_reference(row), "direction": "below"}
    tolerance = None  # that of the estimator
    if factor is not None and row["constraint"] in TOLERANCES:
        tolerance = factor * TOLERANCES[row["constraint"]]
    return {
        "parity": lambda: DemographicParity(tolerance=tolerance, **settings),
        "ratio": lambda: DemographicParity(ratio=0.8 / factor, **settings),
        "odds": lambda: EqualizedOdds(tolerance=tolerance, **settings),
        "opportunity": lambda: EqualOpportunity(tolerance=tolerance, **settings),
        "side": lambda: DemographicParity(tolerance=tolerance, **settings),
        "recall": lambda: MinimumRate("recall", 0.6 / factor, **settings),
        "several": lambda: [
            DemographicParity(tolerance=0.1 * factor, **settings),
            MaximumRate("false_positive_rate", 0.4 * factor, **settings),
        ],
        "errors": lambda: ErrorRateParity(tolerance=tolerance, **settings),
    }[row["constraint"]]()


def fit(row, data, container, factor=1.0, n_fits=1, position=0):
    """The last of some fits of a row to samples, or one of a ladder, and what they warn of."""
    settings = {"confidence_level": row["level"]}
    settings["missing"] = "exclude" if row["groups"] == "unknown" else "error"
    settings["pos_label"] = "b" if row["outcome"] == "text" else None
    constraint = make_constraint(row, data, factor)
    X = pack(data.X, container)
    base = None
    if row["estimator"] == "linear":
        model = ConstrainedERMClassifier(constraint, **settings)
        free = ConstrainedERMClassifier([], **settings)
    else:
        base = GaussianNB() if row["estimator"] == "folds" else ScoreColumn(0)
        cv = folds = data.folds if row["change"] == "order" else 3
        if row["estimator"] in ("fitted", "known"):
            other = draw(row, 1)
            base, cv = GaussianNB().fit(pack(other.X, container), other.y), "prefit"
            if row["call"] == "ladder":  # fits clones
                base, cv = FrozenEstimator(base), folds
        group_estimator = GaussianNB()  # which knows no scale of weights
        if row["estimator"] == "known":
            group_estimator = "sensitive_features"
        model = ConstrainedClassifierCV(
            base, constraint, cv=cv, group_estimator=group_estimator, **settings
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        columns = {"sensitive_features": data.groups, "sample_weight": data.weights}
        if row["call"] == "ladder" and n_fits == 1:
            parameter, values = "constraint", [constraint, make_constraint(row, data, 1.5 * factor)]
            if row["level"] is not None:
                parameter, values = "confidence_level", [row["level"], 0.5]
            elif row["constraint"] in TOLERANCES:
                # Wrappers share the folds of all tolerances.
                tolerance = factor * TOLERANCES[row["constraint"]]
                model.constraint = make_constraint(row, data, None)
                parameter, values = "tolerance", [tolerance, 1.5 * tolerance]
            ladder = fit_ladder(model, X, data.y, parameter=parameter, values=values, **columns)
            model = ladder[position]
        else:
            for _ in range(n_fits):
                model.fit(X, data.y, **columns)
    messages = [str(one.message) for one in caught]
    if row["estimator"] == "linear":
        decisions = model.predict(X)
    else:
        scores = np.nan_to_num(model.oof_decision_function_)
        codes = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
        decisions = model.classes_[codes]
    plain = None
    if row["estimator"] == "linear":
        plain = free.fit(X, data.y, sample_weight=data.weights).predict(X)
        is_plain = model.status_ == "optimal" and not model.multipliers_.any()
    else:
        if row["estimator"] in ("fitted", "known"):
            plain = base.predict(X)
        is_plain = model.status_ == "optimal" and model.rule_coef_.shape[-1] == 1
    violation = model.constraint_violation_
    return Fit(decisions, model.status_, violation, messages, plain, is_plain)


def rate(decided, truth, inside, weights, name):
    """A rate of the samples of one group, counted by numpy."""
    event = {"all": inside, "positive": inside & truth, "negative": inside & ~truth}
    hits, of = {
        "selection": (decided, "all"),
        "recall": (decided, "positive"),
        "fall-out": (decided, "negative"),
        "error": (decided != truth, "all"),
    }[name]
    total = weights[event[of]].sum()
    return weights[event[of]] @ hits[event[of]] / total if total > 0 else np.nan


def count_excess(row, data, decisions):
    """By how much the largest gap exceeds its bound, counted by numpy; nan if a rate is unknown."""
    names = {
        "odds": ["recall", "fall-out"],
        "opportunity": ["recall"],
        "recall": ["recall"],
        "several": ["selection", "fall-out"],
        "errors": ["error"],
    }.get(row["constraint"], ["selection"])
    bound = (TOLERANCES | {"ratio": 0.8, "recall": 0.6, "several": 0.1})[row["constraint"]]
    classes = np.unique(data.y)
    excess = []
    for positive in classes[1:] if len(classes) == 2 else classes:
        for name in names:
            columns = decisions == positive, data.y == positive
            rates = [rate(*columns, one, data.sizes, name) for one in data.members]
            low, high = min(rates), max(rates)
            if row["constraint"] == "ratio":
                excess.append(0.8 - (low / high if high > 0 else 1.0))
            elif row["constraint"] == "recall":
                excess.append(0.6 - low)
            elif name == "fall-out" and row["constraint"] == "several":
                excess.append(high - 0.4)
            elif row["constraint"] == "side":
                first = 1 if row["groups"] == "numbers" else 0
                excess.append(rates[first] - low - bound)
            else:
                excess.append(high - low - bound)
    return float(np.max(excess))


def accuracy(data, decisions):
    return np.average(decisions == data.y, weights=data.sizes)


def check_row(row):
    """Raise unless a fit is what its attributes say, and the same after a change."""
    data = draw(row)
    try:
        first = fit(row, data, row["container"])
    except ValueError as error:  # a group without any positive in a fold, which is named
        if "leaves no positives of group 'z' to learn from" not in str(error):
            raise
        return
    excess = count_excess(row, data, first.decisions)
    assert first.violation == pytest.approx(max(excess, 0.0), abs=1e-6, nan_ok=True)
    assert (first.status == "infeasible") == (not excess <= 1e-8), (first.status, excess)
    # What keeps its bounds is not behind a constant, or the plain model, without a warning.
    if row["level"] is None and not first.messages:
        others = [np.full(len(data.y), one) for one in np.unique(data.y)]
        others += [] if first.plain is None else [first.plain]
        feasible = [one for one in others if count_excess(row, data, one) <= 0.0]
        best = max((accuracy(data, one) for one in feasible), default=0.0)
        assert accuracy(data, first.decisions) >= best - SLACK
    is_exact = row["estimator"] == "known" and row["outcome"] != "three" and row["level"] is None
    change = row["change"]
    if change == "looser":
        again = fit(row, data, row["container"], 1.5)
        if first.status != "infeasible":
            assert again.status != "infeasible"
            # Decisions without constraint that keep the looser bound are left as they are: they
            # minimise a loss, and decisions under the tighter bound may be right more often.
            if again.is_plain:
                is_counted = data.sizes > 0
                expected = again.decisions if again.plain is None else again.plain
                assert (again.decisions == expected)[is_counted].all()
                return
            least = accuracy(data, first.decisions) - (1e-9 if is_exact else SLACK)
            assert accuracy(data, again.decisions) >= least
        return
    changed = change_samples(row, data)
    data = changed.data
    again = fit(row, data, changed.container, n_fits=changed.n_fits)
    assert (again.status == "infeasible") == (first.status == "infeasible")
    expected = first.decisions[changed.order]
    # Other sums of the same numbers differ in their last digits. Where a search has one answer it
    # is the same. Searches with models of groups or for three classes may end at other optima,
    # which are as accurate, and those for guarantees at others that keep the bound.
    if change in ("again", "container") or is_exact:
        assert (again.decisions == expected).all()
    elif row["level"] is None:
        difference = accuracy(data, again.decisions) - accuracy(data, expected)
        assert abs(difference) <= SLACK


@pytest.mark.parametrize("row", ROWS, ids=name_row)
def test_rows_of_all_triples(row):
    check_row(row)
