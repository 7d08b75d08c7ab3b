"""Ranks of a forest that knows its people by heart, shifted by scores of different people."""

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from benchmarks.erm_cases import Split, case
from benchmarks.tables import Check, Report
from skfair.classification import PartialParityPostprocessor
from skfair.metrics import demographic_parity_difference

FOREST = RandomForestClassifier(100, random_state=0, oob_score=True)
TOLERANCE = 0.05
OWN, OTHERS = "of its own people", "of others, half of all"


def overfitting(budget):
    """An over-fitted forest whose ranks are shifted by scores of people it has seen, or has not."""
    records = []
    for seed in range(budget.n_runs):
        problem = case("Adult", seed)
        for scored_by, fitted in _models(problem.train):
            decisions = fitted.predict(problem.test.X, sensitive_features=problem.test.groups)
            records.append(
                {
                    "scores": scored_by,
                    "seed": seed,
                    "gap of these scores": fitted.constraint_report_["gap"].max(),
                    "gap of new people": demographic_parity_difference(
                        problem.test.y, decisions, sensitive_features=problem.test.groups
                    ),
                    "accuracy": np.mean(decisions == problem.test.y),
                    "plain accuracy": _accuracy(fitted.estimator_, problem.test),
                }
            )
    title = f"PartialParityPostprocessor on a forest, Adult by sex, tolerance {TOLERANCE}"
    return Report(title, records, _checks(records))


def _checks(records):
    """Scores of folds or out of bag are nearer to those of others than those of its own people."""
    own, others = (_new_gaps(records, scores) for scores in (OWN, OTHERS))
    return [
        Check(
            f"distance to the gap of scores of others, {unseen} over own people",
            list(np.abs(_new_gaps(records, unseen) - others) / np.abs(own - others)),
            "<=",
            1.0,
        )
        for unseen in ("cv=5", "cv='oob'")
    ]


def _new_gaps(records, scores):
    return np.array([one["gap of new people"] for one in records if one["scores"] == scores])


def _models(people):
    """Every way to come by scores, with the model that is fitted so."""
    for cv in (5, "oob"):
        yield f"cv={cv!r}", _fit(FOREST, people, cv)
    first, others = np.arange(len(people.y)) % 2 == 0, np.arange(len(people.y)) % 2 == 1
    halves = [Split(*(column[rows] for column in people)) for rows in (first, others)]
    forest = clone(FOREST).fit(halves[0].X, halves[0].y)
    yield OTHERS, _fit(forest, halves[1], "prefit")
    forest = clone(FOREST).fit(people.X, people.y)
    yield OWN, _fit(forest, people, "prefit")


def _fit(forest, people, cv):
    model = PartialParityPostprocessor(
        forest, criterion="demographic_parity", tolerance=TOLERANCE, cv=cv
    )
    return model.fit(people.X, people.y, sensitive_features=people.groups)


def _accuracy(forest, people):
    return np.mean(forest.predict(people.X) == people.y)
