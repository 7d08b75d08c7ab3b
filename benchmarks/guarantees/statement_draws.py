"""Draws of samples in which a statement about held-out data may be false.

Each function here returns a function of a random generator that draws one sample and says whether
the statement about it is false: a `Draw`. Bounds are just missed, or just kept, in the population,
where a statement is false most often.
"""

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from skfair.audit import Audit, certify_in_order, fairness_front
from skfair.constraints import ExposureParity
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.metrics import flip_rate
from skfair.model_selection import best_subject_to

SHIFT = 1e-9
"""Distance of a bound from the population's value."""


class Draw(NamedTuple):
    """What became of a statement about one sample.

    `needed` is the share of the margin of a limit that was needed for it to hold: above 1 the limit
    is wrong. `lost` is what the stated probability costs, in a unit of the statement. They are nan
    where there is nothing like it.
    """

    is_false: bool
    needed: float = np.nan
    lost: float = np.nan


def find_needed_share(truth, estimate, limit, *, is_upper):
    """Return the share of the distance from the estimate to a limit up to which the truth lies.

    It is 0 if the truth lies on the other side of the estimate.
    """
    sign = 1.0 if is_upper else -1.0
    distance, margin = sign * (truth - estimate), sign * (limit - estimate)
    if distance <= 0.0:
        return 0.0
    return distance / margin if margin > 0.0 else np.inf


def judge_interval(truth, estimate, low, high):
    """Return the `Draw` of an interval."""
    needed = max(
        find_needed_share(truth, estimate, low, is_upper=False),
        find_needed_share(truth, estimate, high, is_upper=True),
    )
    return Draw(not low - SHIFT <= truth <= high + SHIFT, needed)


# Claims.


def draw_claim(population, sizes, state, *, verdict="shown", is_floor=False, truth=None):
    """Draw claims whose verdict is false.

    `state` maps a bound to the constraint and the tolerance that state it. `is_floor` tells whether
    the bound is a smallest ratio or rate, and not a largest gap or rate. `truth` is the value of
    the population; None computes the gap.
    """
    truth = population.find_gap(state(0.5)[0]) if truth is None else truth
    # "shown" is false if the bound is missed, "contradicted" if it is kept.
    is_above = (verdict == "shown") != is_floor
    bound = truth - SHIFT if is_above else truth + SHIFT

    def draw(rng):
        claim = population.draw(sizes, rng).audit().certify(*state(bound))
        limit = claim.high if is_above else claim.low
        needed = find_needed_share(truth, claim.estimate, limit, is_upper=is_above)
        return Draw(claim.verdict == verdict, needed)

    return draw


def draw_claim_of_shares(shares, n, verdict="shown"):
    """Draw claims that shares of samples are those of a population, up to a tolerance."""
    names = list("abcdefgh")[: len(shares)]
    stated = np.array(shares)
    # The shares of samples are off by a tolerance of .1 in the first and the last group.
    tolerance = 0.1
    moved = stated.copy()
    moved[0] += tolerance
    moved[-1] -= tolerance
    bound = tolerance + (SHIFT if verdict == "contradicted" else -SHIFT)

    def draw(rng):
        group = np.repeat(names, rng.multinomial(n, moved))
        audit = Audit.from_predictions(None, np.zeros(n), sensitive_features=group)
        attributes = {"attribute 1": dict(zip(names, stated.tolist(), strict=True))}
        claim = audit.certify(population=attributes, tolerance=bound)
        is_upper = verdict == "shown"
        limit = claim.high if is_upper else claim.low
        needed = find_needed_share(tolerance, claim.estimate, limit, is_upper=is_upper)
        return Draw(claim.verdict == verdict, needed)

    return draw


def draw_shares_of_report(shares, n):
    """Draw reports of shares that equal those of the population: none may be found to differ."""
    names = list("abcdefgh")[: len(shares)]
    attributes = {"attribute 1": dict(zip(names, shares, strict=True))}

    def draw(rng):
        group = np.repeat(names, rng.multinomial(n, shares))
        audit = Audit.from_predictions(None, np.arange(n) % 2, sensitive_features=group)
        table = audit.report(population=attributes).shares
        return Draw(bool((table["verdict_of_all"] == "contradicted").any()))

    return draw


def draw_exposure(sizes):
    """Draw claims about exposure in rankings, of groups whose documents score equally on average.

    `sizes` are the numbers of rankings and of the documents of each group in each. Documents of the
    second group have scores that are lower by half a standard deviation.
    """
    n_rankings, *n_documents = sizes

    def rank(rng, n):
        group = np.tile(np.repeat(["a", "b"], n_documents), n)
        query = np.repeat(np.arange(n), sum(n_documents))
        score = rng.normal(size=len(group)) - 0.5 * (group == "b")
        return Audit.from_predictions(
            None, None, y_score=score, groups=query, sensitive_features=group, min_group_size=2
        )

    truth = rank(np.random.default_rng(0), 20_000).certify(ExposureParity(), 0.5).estimate

    def draw(rng):
        claim = rank(rng, n_rankings).certify(ExposureParity(), truth - SHIFT)
        needed = find_needed_share(truth, claim.estimate, claim.high, is_upper=True)
        return Draw(claim.verdict == "shown", needed)

    return draw


def draw_order(rates, sizes):
    """Draw models that are certified in order, from tight to loose; the last one is too loose.

    `rates` are the selection rates of both groups by the models. All gaps but the last are kept.
    """
    tolerance = abs(rates[-1][0] - rates[-1][1]) - SHIFT
    group = np.repeat(["a", "b"], sizes)

    def draw(rng):
        merit = rng.random(sum(sizes))
        decisions = [(merit < np.repeat(pair, sizes)).astype(int) for pair in rates]
        audits = [Audit.from_predictions(None, one, sensitive_features=group) for one in decisions]
        position, _ = certify_in_order(audits, tolerance=tolerance)
        return Draw(position == len(rates) - 1)

    return draw


def draw_plan(find_size, make_population, state):
    """Draw samples of a planned size whose claim is not shown."""
    size = find_size()
    population = make_population()
    n_groups = len(np.unique(population.group))

    def draw(rng):
        claim = population.draw([size] * n_groups, rng).audit().certify(*state)
        return Draw(claim.verdict != "shown")

    return draw


# Intervals and limits.


def draw_interval(population, sizes, truth, find):
    """Draw intervals of a value of the population; `find` maps a sample to an `Interval`."""

    def draw(rng):
        interval = find(population.draw(sizes, rng))
        return judge_interval(truth, interval.estimate, interval.low, interval.high)

    return draw


def draw_table(population, sizes, truths, find, names=("estimate", "low", "high")):
    """Draw tables of intervals that hold together, or that have a single row.

    `find` maps a sample to a table with columns of these `names`; `truths` has the value of the
    population in each row.
    """

    def draw(rng):
        table = find(population.draw(sizes, rng))[[*names]].to_numpy(dtype=float)
        rows = [judge_interval(truth, *row) for truth, row in zip(truths, table, strict=True)]
        return Draw(any(one.is_false for one in rows), max(one.needed for one in rows))

    return draw


def draw_change(first, second, sizes, metric="selection_rate"):
    """Draw intervals of the change of a gap between two periods."""
    truth = _find_gap_of_rates(second) - _find_gap_of_rates(first)

    def draw(rng):
        before, after = (one.draw(sizes, rng).audit() for one in (first, second))
        row = before.compare(after).gaps.set_index("metric").loc[metric]
        return judge_interval(truth, row["change"], row["change_low"], row["change_high"])

    return draw


def _find_gap_of_rates(population):
    """Return the largest difference of two groups' selection rates."""
    return np.ptp(pd.Series(population.decision).groupby(population.group).mean())


def draw_departures(n, *, calibration=False):
    """Draw searches of subgroups in samples where no subgroup departs."""

    def draw(rng):
        attributes = pd.DataFrame(
            {
                "sex": rng.choice(["f", "m"], n),
                "race": rng.choice(["u", "v", "w"], n),
                "age": rng.integers(20, 70, n),
            }
        )
        score = rng.uniform(0.05, 0.9, n)
        outcome = (rng.random(n) < score).astype(int)
        audit = Audit.from_predictions(
            outcome, rng.integers(2, size=n), y_score=score, sensitive_features=attributes
        )
        metric = "calibration_error" if calibration else "selection_rate"
        table = audit.subgroups(metric).subgroups
        return Draw(bool(((table["low"] > SHIFT) | (table["high"] < -SHIFT)).any()))

    return draw


class _FirstColumn(ClassifierMixin, BaseEstimator):
    """Classifier that decides by the sign of the first column, whatever it is fitted to."""

    def fit(self, X, y):
        """Store the classes."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        """Return whether the first column is positive."""
        return (X[:, 0] > 0).astype(int)


def draw_front(rates, sizes):
    """Draw fronts of a model whose gap is known: intervals of its pooled gap."""
    group = np.repeat(["a", "b"], sizes)
    truth = abs(rates[0] - rates[1])

    def draw(rng):
        decision = rng.random(len(group)) < np.repeat(rates, sizes)
        X = np.where(decision, 1.0, -1.0)[:, np.newaxis]
        y = rng.integers(2, size=len(group))
        front = fairness_front(_FirstColumn(), X, y, sensitive_features=group, cv=3)
        row = front.to_frame().iloc[0]
        return judge_interval(truth, row["gap"], row["gap_low"], row["gap_high"])

    return draw


def draw_flips(n):
    """Draw samples whose decisions may change with the group, with limits of the share that do."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"points": rng.normal(size=8_000), "male": rng.integers(2, size=8_000)})
    model = LogisticRegression().fit(X, X["points"] + X["male"] > 0)
    truth = flip_rate(model, X, column="male").set_index("value")["flip_rate"]

    def draw(rng):
        rows = rng.integers(len(X), size=n)
        row = flip_rate(model, X.iloc[rows], column="male").set_index("value").loc[1]
        return judge_interval(truth[1], row["flip_rate"], row["low"], row["high"])

    return draw


def draw_limit_of_scorer(population, sizes, metric, truth):
    """Draw scores that are limits of a gap."""

    def draw(rng):
        sample = population.draw(sizes, rng)
        limit = metric(sample.outcome, sample.decision, sensitive_features=sample.group)
        estimate = _find_gap_of_rates(sample)
        needed = find_needed_share(truth, estimate, limit, is_upper=True)
        return Draw(bool(limit < truth - SHIFT), needed)

    return draw


def draw_search(n_candidates, *, gap=0.055, bound=0.05, n_folds=5):
    """Draw searches whose candidates all miss a bound: none may be selected without a warning."""
    metric = "neg_demographic_parity_difference"
    refit = best_subject_to(metric, bound, confidence_level=0.95)

    def draw(rng):
        gaps = np.abs(gap + 0.03 * rng.normal(size=(n_folds, n_candidates)))
        results = {f"split{fold}_test_{metric}": -one for fold, one in enumerate(gaps)}
        results |= {f"mean_test_{metric}": -gaps.mean(axis=0)}
        results |= {"mean_test_accuracy": rng.random(n_candidates)}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InfeasibleConstraintWarning)
            refit(results)
        return Draw(not caught)

    return draw
