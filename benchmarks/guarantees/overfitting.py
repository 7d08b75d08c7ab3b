"""Rank shifts of an overfitted forest by training, out-of-fold, out-of-bag or held-out scores."""

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from benchmarks.erm_cases import Split, case
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.classification import PartialParityPostprocessor
from skfair.metrics import demographic_parity_difference

FOREST = RandomForestClassifier(100, random_state=0, oob_score=True)
TOLERANCE = 0.05
TRAINING, HELD_OUT = "training", "held-out half"


@smallest(FOREST=RandomForestClassifier(20, random_state=0, oob_score=True))
def overfitted_forest(budget):
    """Rank shifts of an overfitted forest by training, out-of-fold, OOB or held-out scores."""
    records = []
    for seed in range(budget.n_runs):
        problem = case("Adult", seed)
        for scores, model in _models(problem.train):
            decisions = model.predict(problem.test.X, sensitive_features=problem.test.groups)
            records.append(
                {
                    "scores": scores,
                    "seed": seed,
                    "gap of these scores": model.constraint_report_["gap"].max(),
                    "held-out gap": demographic_parity_difference(
                        problem.test.y, decisions, sensitive_features=problem.test.groups
                    ),
                    "accuracy": np.mean(decisions == problem.test.y),
                    "plain accuracy": _accuracy(model.estimator_, problem.test),
                }
            )
    title = f"PartialParityPostprocessor on a forest, Adult by sex, tolerance {TOLERANCE}"
    return Report(title, records, _checks(records))


def _checks(records):
    """Out-of-fold and out-of-bag scores give gaps nearer to those of held-out scores."""
    training, held_out = (_gaps(records, scores) for scores in (TRAINING, HELD_OUT))
    return [
        Check(
            f"distance to the gap with held-out scores, {cv} / training scores",
            list(np.abs(_gaps(records, cv) - held_out) / np.abs(training - held_out)),
            "<=",
            1.0,
        )
        for cv in ("cv=5", "cv='oob'")
    ]


def _gaps(records, scores):
    return np.array([one["held-out gap"] for one in records if one["scores"] == scores])


def _models(split):
    """Yield kinds of scores, and the postprocessor fitted to them."""
    for cv in (5, "oob"):
        yield f"cv={cv!r}", _fit(FOREST, split, cv)
    is_even = np.arange(len(split.y)) % 2 == 0
    halves = [Split(*(column[rows] for column in split)) for rows in (is_even, ~is_even)]
    forest = clone(FOREST).fit(halves[0].X, halves[0].y)
    yield HELD_OUT, _fit(forest, halves[1], "prefit")
    forest = clone(FOREST).fit(split.X, split.y)
    yield TRAINING, _fit(forest, split, "prefit")


def _fit(forest, split, cv):
    model = PartialParityPostprocessor(
        forest, constraint="partial_demographic_parity", tolerance=TOLERANCE, cv=cv
    )
    return model.fit(split.X, split.y, sensitive_features=split.groups)


def _accuracy(forest, split):
    return np.mean(forest.predict(split.X) == split.y)
