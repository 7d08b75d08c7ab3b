"""Ranks of a forest that knows its people by heart, shifted by scores of different people."""

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from benchmarks.erm_cases import Split, case
from benchmarks.tables import Check, Report
from skfair.classification import PartialParityPostprocessor
from skfair.metrics import partial_statistical_parity_difference

FOREST = RandomForestClassifier(100, random_state=0, oob_score=True)
TOLERANCE = 0.05
INTERVAL = (0.0, 1.0)
MUST_REACH = 0.06, 0.84
"""Gap and accuracy of new people where the scores are those of people not seen."""


def learned_by_heart(budget):
    """An over-fitted forest whose ranks are shifted by scores of people it has seen, or has not."""
    records = []
    for seed in range(budget.n_runs):
        problem = case("Adult", seed)
        for scored_by, fitted in _models(problem.train):
            scores = fitted.decision_function(
                problem.test.X, sensitive_features=problem.test.groups
            )
            records.append(
                {
                    "scores": scored_by,
                    "seed": seed,
                    "gap of new people": partial_statistical_parity_difference(
                        scores, sensitive_features=problem.test.groups, interval=INTERVAL
                    ),
                    "accuracy": np.mean((scores > 0) == problem.test.y),
                    "plain accuracy": _accuracy(fitted.estimator_, problem.test),
                }
            )
    unseen = [record for record in records if record["scores"] != "of its own people"]
    gap, accuracy = MUST_REACH
    checks = [
        Check("gap of new people, unseen scores", _of(unseen, "gap of new people"), "<=", gap),
        Check("accuracy, unseen scores", _of(unseen, "accuracy"), ">=", accuracy),
    ]
    title = f"PartialParityPostprocessor on a forest, Adult by sex, tolerance {TOLERANCE}"
    return Report(title, records, checks)


def _models(people):
    """Every way to come by scores, with the model that is fitted so."""
    for cv in (5, "oob"):
        yield f"cv={cv!r}", _fit(FOREST, people, cv)
    first, others = np.arange(len(people.y)) % 2 == 0, np.arange(len(people.y)) % 2 == 1
    halves = [Split(*(column[rows] for column in people)) for rows in (first, others)]
    forest = clone(FOREST).fit(halves[0].X, halves[0].y)
    yield "of others, half of all", _fit(forest, halves[1], "prefit")
    forest = clone(FOREST).fit(people.X, people.y)
    yield "of its own people", _fit(forest, people, "prefit")


def _fit(forest, people, cv):
    model = PartialParityPostprocessor(forest, interval=INTERVAL, tolerance=TOLERANCE, cv=cv)
    return model.fit(people.X, people.y, sensitive_features=people.groups)


def _accuracy(forest, people):
    return np.mean(forest.predict(people.X) == people.y)


def _of(records, name):
    return [record[name] for record in records]
