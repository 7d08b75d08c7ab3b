"""Draws of streams, candidates and training samples about which a statement may be false.

Functions are as in `statement_draws`.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyRegressor

from benchmarks.guarantees.populations import population_of
from benchmarks.guarantees.redraws import bind_all
from benchmarks.guarantees.statement_draws import SHIFT, Draw, find_needed_share
from benchmarks.guarantees.statement_populations import Population
from skfair.classification import PartialParityPostprocessor
from skfair.monitoring import GapMonitor

# Alternatives.


def make_rivals(rates, *, changed=0.3, size=4_000, seed=3):
    """A population of a model in use (`decision`) and a candidate (`score`) with equal rates.

    The candidate decides about `changed` of the samples again, at random.
    """
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(rates)), size)
    in_use = (rng.random(len(codes)) < np.asarray(rates)[codes]).astype(int)
    # Exchange decisions within each group, so that its rate stays.
    candidate = in_use.copy()
    for code in range(len(rates)):
        rows = np.flatnonzero((codes == code) & (rng.random(len(codes)) < changed))
        candidate[rows] = in_use[rng.permutation(rows)]
    outcome = rng.integers(2, size=len(codes))
    return Population(np.array(list("abcdef"))[codes], outcome, in_use, candidate)


def make_costly_rival(rates, *, loss=0.05, size=4_000, seed=3):
    """A population of a model in use with these rates and a candidate without a gap.

    The accuracy of the candidate is lower by about `loss`.
    """
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(rates)), size)
    in_use = (rng.random(len(codes)) < np.asarray(rates)[codes]).astype(int)
    candidate = (rng.random(len(codes)) < np.mean(rates)).astype(int)
    # Where both differ, the model in use is right a little more often than the candidate.
    chance = 0.5 + loss / (2.0 * np.mean(in_use != candidate))
    outcome = np.where(rng.random(len(codes)) < chance, in_use, 1 - in_use)
    return Population(np.array(list("abcdef"))[codes], outcome, in_use, candidate)


def draw_alternative(population, sizes, *, state="demographic_parity", of="gap", **settings):
    """Draw candidates that are shown to be alternatives although one of both conditions is missed.

    Of the "gap" the candidate is not better; of the "performance" it is worse by just more than the
    margin.
    """
    settings = {"margin": 0.5 if of == "gap" else _find_loss(population) - SHIFT} | settings

    def draw(rng):
        sample = population.draw(sizes, rng)
        audit = sample._replace(score=None).audit()
        answer = audit.alternatives({"candidate": sample.score}, state, **settings)
        row = answer.frame.iloc[0]
        if of == "gap":
            needed = find_needed_share(0.0, row["reduction"], row["reduction_low"], is_upper=False)
        else:
            needed = find_needed_share(
                _find_loss(population), row["loss"], row["loss_high"], is_upper=True
            )
        return Draw(row["verdict"] == "shown", needed)

    return draw


def _find_loss(population):
    """Return the accuracy of the model in use minus that of the candidate."""
    is_right = population.outcome == np.array([population.decision, population.score])
    return float(is_right[0].mean() - is_right[1].mean())


# Monitors.


def draw_monitor(population, sizes, n_batches, find, constraint, *, is_within=True, **settings):
    """Draw streams of batches of which a monitor says something false.

    The tolerance is the gap of the population, a little more if it `is_within`, or a little less.
    `find` maps a monitor, and the truth, to whether its statement after a batch is false.
    """
    truth = population.find_gap(constraint)
    tolerance = truth + (SHIFT if is_within else -SHIFT)
    is_of_scores = constraint == "mean_parity"

    def draw(rng):
        monitor = GapMonitor(constraint, tolerance, min_group_size=2, **settings)
        for number in range(n_batches):
            sample = population.draw(sizes, rng)
            predictions = sample.score if is_of_scores else sample.decision
            monitor.update(
                sample.outcome,
                predictions,
                sensitive_features=sample.group,
                sample_weight=sample.weight,
                time=number,
            )
            if find(monitor, truth):
                return Draw(True)
        return Draw(False)

    return draw


def has_alarm(monitor, truth):
    """Whether a monitor has raised an alarm."""
    return len(monitor.alarms_) > 0


def is_shown(monitor, truth):
    """Whether the certificate of the mean since the start says that the tolerance is kept."""
    return monitor.summary().iloc[-1]["verdict"] == "shown"


def has_shown_window(monitor, truth):
    """Whether a window is said to keep the tolerance."""
    windows = monitor.windows_
    return len(windows) > 0 and bool((windows["verdict"] == "shown").any())


def misses_interval(monitor, truth):
    """Whether the interval of the gap does not contain it."""
    interval = monitor.interval()
    return not interval.low - SHIFT <= truth <= interval.high + SHIFT


# Prediction sets.


class _OneMinusScore(ClassifierMixin, BaseEstimator):
    """Classifier of three classes whose probabilities are the columns."""

    def fit(self, X, y):
        """Store the classes."""
        self.classes_ = np.arange(3)
        self.n_features_in_ = 3
        return self

    def predict_proba(self, X):
        """Return the columns, which sum to 1."""
        return np.asarray(X)

    def predict(self, X):
        """Return the class of the largest column."""
        return np.asarray(X).argmax(axis=1)


def _draw_classes(rng, groups):
    """Probabilities of three classes, (n_samples, 3), and classes; group b is less certain."""
    logits = rng.normal(size=(len(groups), 3)) * np.where(groups == "b", 0.7, 2.0)[:, np.newaxis]
    shares = np.exp(logits)
    shares /= shares.sum(axis=1, keepdims=True)
    classes = (rng.random((len(groups), 1)) > shares.cumsum(axis=1)).sum(axis=1)
    # Group b has classes at random in a fifth of its samples.
    is_random = (groups == "b") & (rng.random(len(groups)) < 0.2)
    return shares, np.where(is_random, rng.integers(3, size=len(groups)), classes).clip(max=2)


def _draw_numbers(rng, groups):
    """A column of zeros, (n_samples, 1), and targets whose spread is larger in group b."""
    y = rng.standard_t(4, size=len(groups)) * np.where(groups == "b", 2.0, 1.0)
    return np.zeros((len(groups), 1)), y


def draw_sets(model, sizes, *, is_regression=False, n_new=1, coverage=0.9):
    """Draw calibration samples after which new samples are not covered.

    With a single new sample of a group, the one that is not covered counts. With more the statement
    is that each group is covered at the level, and false if one is not.
    """
    groups = np.repeat(["a", "b", "c", "d"][: len(sizes)], sizes)
    new = np.repeat(np.unique(groups), n_new)
    draw_columns = _draw_numbers if is_regression else _draw_classes
    base = DummyRegressor(strategy="constant", constant=0.0)
    fitted = base.fit([[0.0]], [0.0]) if is_regression else _OneMinusScore().fit(None, None)

    def draw(rng):
        X, y = draw_columns(rng, groups)
        one = clone(model).set_params(estimator=fitted, cv="prefit", coverage=coverage)
        one.fit(X, y, sensitive_features=groups)
        X_new, y_new = draw_columns(rng, new)
        if is_regression:
            ends = one.predict_interval(X_new, sensitive_features=new)
            is_covered = (ends[:, 0] <= y_new) & (y_new <= ends[:, 1])
        else:
            sets = one.predict_set(X_new, sensitive_features=new)
            is_covered = sets[np.arange(len(new)), y_new]
        if n_new == 1:
            return Draw(not is_covered[-1], lost=float(is_covered[-1]) - coverage)
        shares = pd.Series(is_covered).groupby(new).mean()
        return Draw(bool((shares < coverage).any()), lost=float(shares.min()) - coverage)

    return draw


# Fits.


def make_training_population(n_samples=20_000, n_groups=2, seed=5):
    """Features, classes and groups whose plain fits have gaps of about .2: `Samples`."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_groups, size=n_samples)
    X = rng.normal(size=(n_samples, 3)) + 0.3 * codes[:, np.newaxis] / (n_groups - 1)
    scores = X @ [1.0, 0.5, -0.4] + rng.logistic(size=n_samples)
    return population_of(X, (scores > np.median(scores)).astype(int), codes)


def draw_fit(model, n, constraint, tolerance, *, level=0.95, n_groups=2):
    """Draw training samples whose fit is said to keep a tolerance that the population breaks."""
    population = make_training_population(n_groups=n_groups)
    (bound,) = bind_all(constraint, tolerance, population)
    is_positive = population.target > 0

    def draw(rng):
        rows = rng.integers(len(is_positive), size=n)
        settings = {"constraint": constraint, "tolerance": tolerance}
        fits = [
            _fit(model.set_params(**settings, confidence_level=one), population, rows)
            for one in (None, level)
        ]
        columns = {}
        if isinstance(model, PartialParityPostprocessor):  # its scores are ranks within groups
            columns = {"sensitive_features": population.groups.codes}
        plain, certain = (
            np.mean(one.predict(population.X, **columns) == is_positive) for one in fits
        )
        is_broken = bound.value(fits[1].decision_function(population.X, **columns)) > tolerance
        is_false = fits[1].verdict_ == "shown" and is_broken
        return Draw(bool(is_false), lost=float(plain - certain))

    return draw


def _fit(model, population, rows):
    """Fit a model to rows of a population; warnings of what cannot be guaranteed are muted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(
            population.X[rows],
            population.target[rows] > 0,
            sensitive_features=population.groups.codes[rows],
        )


def draw_regression(model, n):
    """Draw fits of a regressor whose mean predictions differ by more than is stated."""
    rng = np.random.default_rng(6)
    codes = rng.integers(2, size=20_000)
    X = rng.normal(size=(len(codes), 3)) + 0.3 * codes[:, np.newaxis]
    y = X @ [1.0, 0.5, -0.4] + rng.normal(size=len(codes))

    def draw(rng):
        rows = rng.integers(len(codes), size=n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = clone(model).fit(X[rows], y[rows], sensitive_features=codes[rows])
        predicted = fitted.predict(X)
        gap = abs(predicted[codes == 1].mean() - predicted[codes == 0].mean())
        return Draw(fitted.verdict_ == "shown" and bool(gap > model.tolerance))

    return draw
