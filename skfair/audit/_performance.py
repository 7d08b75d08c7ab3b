"""What candidates achieve, and whether it is worse than that of a model in use by a margin at most.

A performance is a mean of gains of samples, or the area under the ROC curve.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import metrics

from skfair._groups.events import Events
from skfair._statistics.areas import PairedAreas
from skfair._statistics.bounded_means import make_estimates
from skfair._utils.checks import argument_error, join_names, warn
from skfair._utils.sklearn import read_scorer
from skfair.metrics import RATES
from skfair.metrics._group_metrics import to_numbers

if TYPE_CHECKING:
    from skfair._statistics.estimates import Estimates
    from skfair._utils.api import Label
    from skfair.audit._data import AuditData
    from skfair.audit._known_outcomes import KnownOutcomes


class ChangeTest(NamedTuple):
    """A test of a change against the model in use, and what is allowed.

    `limits` returns the lower and the upper limit of the change, each at a level. The change is
    shown to be good where the upper one is at most `allowed`, and bad where the lower one is more.
    """

    change: float
    limits: Callable[[float], tuple[float, float]]
    allowed: float

    def is_shown(self, level: float) -> bool:
        """Whether the change is shown to be as good as is asked for."""
        _, high = self.limits(level)
        return bool(high <= self.allowed and (high < 0.0 or self.allowed > 0.0))

    def is_refuted(self, level: float) -> bool:
        """Whether the change is shown not to be as good as is asked for."""
        low, _ = self.limits(level)
        return bool(low > self.allowed)

    def cache_limits(self) -> ChangeTest:
        """The test with limits that are computed once for each level."""
        return self._replace(limits=cache(self.limits))


class PairedSamples(NamedTuple):
    """Samples with known outcomes, and what two models predict of them: in use, and a candidate."""

    truth: Any
    columns: tuple[dict[str, np.ndarray], dict[str, np.ndarray]]
    weights: np.ndarray
    units: np.ndarray
    pos_label: Label | None

    @property
    def is_positive(self) -> np.ndarray:
        """Mask of the positive class."""
        return np.asarray(self.truth == self.pos_label)

    def list_scores(self) -> list[np.ndarray]:
        """Scores of both models as numbers."""
        return [to_numbers(one["y_score"], "y_score") for one in self.columns]

    def list_probabilities(self) -> list[np.ndarray]:
        """Scores of both models; raise if they are no probabilities."""
        for scores in self.list_scores():
            if scores.min() < 0.0 or scores.max() > 1.0:
                raise argument_error(
                    "performance must be 'accuracy', 'roc_auc' or a function, since the scores of "
                    f"a candidate are no probabilities: they are from {scores.min():g} to "
                    f"{scores.max():g}."
                )
        return self.list_scores()


def pair_samples(in_use: AuditData, candidate: AuditData) -> PairedSamples:
    """The samples of two audits whose outcome is known and whose weight is positive."""
    known = in_use.columns.get("has_outcome", np.ones(len(in_use.samples.weights), dtype=bool))
    rows = np.flatnonzero(in_use.samples.weights * known > 0.0)
    truths = in_use.columns.get("y_true")
    clusters = in_use.cluster_codes
    first, second = (
        {name: one[rows] for name, one in audit.columns.items()} for audit in (in_use, candidate)
    )
    return PairedSamples(
        truth=None if truths is None else truths[rows],
        columns=(first, second),
        weights=in_use.samples.weights[rows],
        units=np.arange(len(rows)) if clusters is None else pd.factorize(clusters[rows])[0],
        pos_label=in_use.pos_label,
    )


class Comparison(NamedTuple):
    """The test of a loss of performance, and what both models achieve."""

    test: ChangeTest
    in_use: float
    candidate: float


# Means of gains.


def _compare_gains(
    pairs: PairedSamples, margin: float, name: str, gains_of: Callable
) -> Comparison:
    """Compare means of a gain of each sample, by differences of the same sample."""
    gains = _list_gains(pairs, gains_of)
    values = np.unique(np.concatenate(gains))
    events = Events.disjoint(np.zeros(len(gains[0]), dtype=int), 1, pairs.weights)
    differences = None
    if len(values) <= _MAX_KNOWN_GAINS:
        differences = np.unique(np.subtract.outer(values, values))
    estimates = make_estimates(events, gains[0] - gains[1], pairs.units, differences)
    if estimates.has_unreliable_limits.any():
        warn(
            f"Differences of {name} are too skewed for so few samples. A candidate may be shown "
            "wrongly more often than confidence_level says. Use more held-out samples, or a "
            "bounded performance, such as 'accuracy'."
        )
    form = sparse.csr_array(np.array([[1.0]]))
    return _compare_means(pairs, margin, gains, partial(_limit_form, estimates, form))


def _compare_shares(pairs: PairedSamples, margin: float) -> Comparison:
    """Compare shares of right decisions, of the same samples."""
    gains = _list_gains(pairs, lambda truth, decisions: decisions == truth)
    n = len(pairs.weights)
    both = Events.disjoint(np.repeat([0, 1], n), 2, np.tile(pairs.weights, 2))
    estimates = make_estimates(both, np.concatenate(gains), np.tile(pairs.units, 2))
    form = sparse.csr_array(np.array([[1.0, -1.0]]))
    return _compare_means(pairs, margin, gains, partial(_limit_form, estimates, form))


def _compare_means(
    pairs: PairedSamples, margin: float, gains: list[np.ndarray], limits: Callable
) -> Comparison:
    """The comparison of two weighted means by limits of their difference."""
    first, second = (float(np.average(one, weights=pairs.weights)) for one in gains)
    return Comparison(ChangeTest(first - second, limits, margin), first, second)


def compare_weighed_shares(in_use: AuditData, candidate: AuditData, margin: float) -> Comparison:
    """Compare shares of right decisions of all samples, of outcomes that are known by decision."""
    outcomes = cast("KnownOutcomes", in_use.known_outcomes)
    estimates, _ = outcomes.estimate_models(
        RATES["accuracy"],
        in_use.pos_label,
        in_use.samples.groups.merge(),
        candidate.columns["y_pred"],
        in_use.cluster_codes,
    )
    if estimates is None:
        raise argument_error(
            "y_true must have outcomes of every decision that was made in each group, to weigh "
            f"them by decision, but {outcomes.shares_clause} have one. Pass larger groups."
        )
    first, second = map(float, estimates.values)
    form = sparse.csr_array(np.array([[1.0, -1.0]]))
    test = ChangeTest(first - second, partial(_limit_form, estimates, form), margin)
    return Comparison(test, first, second)


def _limit_form(estimates: Estimates, form: sparse.csr_array, level: float) -> tuple[float, float]:
    """Lower and upper limit of a linear form, each at the level."""
    low, high = (sign * estimates.upper(sign * form, level)[0] for sign in (-1.0, 1.0))
    return float(low), float(high)


def _list_gains(pairs: PairedSamples, gains_of: Callable) -> list[np.ndarray]:
    """The gain of each sample by both models; raise for what is not one number for each."""
    gains = []
    for one in pairs.columns:
        gain = np.asarray(gains_of(pairs.truth, one["y_pred"]), dtype=float)
        if gain.shape != pairs.weights.shape or not np.isfinite(gain).all():
            raise argument_error(
                "performance must return one finite number for each sample that is passed, here "
                f"{len(pairs.weights)}, but returned an array of shape {gain.shape}"
                f"{' with values that are not finite' * (gain.shape == pairs.weights.shape)}."
            )
        gains.append(gain)
    return gains


_MAX_KNOWN_GAINS = 8
"""Gains of decisions that are taken for all that there are, so that limits allow for rare ones."""


def _compare_probabilities(
    pairs: PairedSamples, margin: float, name: str, gain_of: Callable
) -> Comparison:
    """Compare means of a gain of the probability of the positive class."""
    positive = pairs.is_positive
    columns = [{"y_pred": gain_of(positive, one)} for one in pairs.list_probabilities()]
    gained = pairs._replace(columns=(columns[0], columns[1]))
    return _compare_gains(gained, margin, name, lambda _, gains: gains)


def _log_likelihood(positive: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    of_truth = np.where(positive, probabilities, 1.0 - probabilities)
    return np.log(np.maximum(of_truth, np.finfo(float).eps))


def _minus_brier(positive: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    return -((probabilities - positive) ** 2)


def _minus_squared_error(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return -((np.asarray(truth, dtype=float) - predicted) ** 2)


def _minus_absolute_error(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return -np.abs(np.asarray(truth, dtype=float) - predicted)


# Areas under ROC curves.


def _compare_areas(pairs: PairedSamples, margin: float) -> Comparison:
    """Compare two areas under ROC curves of the same samples.

    DeLong's covariance enters the limit of their difference, which combines logit limits of both.
    """
    areas = PairedAreas(pairs.is_positive, pairs.list_scores(), pairs.weights, pairs.units)
    form = sparse.csr_array(np.array([[1.0, -1.0]]))
    first, second = map(float, areas.values)
    return Comparison(
        ChangeTest(first - second, partial(_limit_form, areas, form), margin), first, second
    )


# Performances by name, and functions.


class Performance(NamedTuple):
    """What a model achieves: a name, the column that it needs, and the comparison of two models."""

    name: str
    column: str
    compare: Callable[[PairedSamples, float], Comparison]
    is_share: bool = False
    needs_outcomes: bool = True


def _average_numbers(name: str, gains_of: Callable) -> Performance:
    return Performance(name, "y_pred", partial(_compare_gains, name=name, gains_of=gains_of))


def _average_probabilities(name: str, gain_of: Callable) -> Performance:
    compare = partial(_compare_probabilities, name=name, gain_of=gain_of)
    return Performance(name, "y_score", compare)


PERFORMANCES = {
    "accuracy": Performance("accuracy", "y_pred", _compare_shares, is_share=True),
    "roc_auc": Performance("area under the ROC curve", "y_score", _compare_areas),
    "neg_log_loss": _average_probabilities("mean log-likelihood", _log_likelihood),
    "neg_brier_score": _average_probabilities("negative Brier score", _minus_brier),
    "neg_mean_squared_error": _average_numbers("negative mean squared error", _minus_squared_error),
    "neg_mean_absolute_error": _average_numbers(
        "negative mean absolute error", _minus_absolute_error
    ),
}
"""Performances by the names that scikit-learn's scorers have; larger ones are better."""

UP_TO_ONE = {PERFORMANCES[name].name for name in ("accuracy", "roc_auc", "neg_brier_score")}
"""Performances of which no two models differ by more than 1."""

_SCORED = {
    metrics.accuracy_score: "accuracy",
    metrics.roc_auc_score: "roc_auc",
    metrics.log_loss: "neg_log_loss",
    metrics.brier_score_loss: "neg_brier_score",
    metrics.mean_squared_error: "neg_mean_squared_error",
    metrics.mean_absolute_error: "neg_mean_absolute_error",
}
"""Performances of functions of scikit-learn, which its scorers compute."""


def resolve_performance(performance: Any) -> Performance:
    """The performance of a name, of a scorer of scikit-learn, or of a function of the gain."""
    scorer = read_scorer(performance)
    if scorer is not None and scorer.function in _SCORED:
        return PERFORMANCES[_SCORED[scorer.function]]
    if scorer is not None:
        if scorer.response_method != "predict":
            raise argument_error(
                "performance must be a scorer of decisions, or of "
                f"{join_names([one.__name__ for one in _SCORED], 9)}; got {performance!r}. Pass a "
                "function of y_true and y_pred that returns the gain of each sample."
            )
        name = getattr(scorer.function, "__name__", "score")
        return _average_numbers(name, partial(_score_each, scorer.sign, scorer.function))
    if callable(performance):
        name = getattr(performance, "__name__", "performance")
        return _average_numbers(name, performance)._replace(needs_outcomes=False)
    if performance not in PERFORMANCES:
        raise argument_error(
            f"performance must be one of {join_names(PERFORMANCES, 9)}, a scorer of scikit-learn, "
            "or a function of y_true and y_pred that returns the gain of each decision, such as a "
            f"profit; got {performance!r}."
        )
    return PERFORMANCES[performance]


def _score_each(sign: float, function: Callable, truth: Any, decisions: np.ndarray) -> np.ndarray:
    """The score of each sample by itself; raise unless the score of all is the mean of these."""
    codes, distinct = pd.MultiIndex.from_arrays([truth, decisions]).factorize()
    n, name = len(codes), getattr(function, "__name__", "this scorer")
    advice = (
        "Pass a function of y_true and y_pred that returns the gain of each sample, such as a "
        f"profit, or one of {join_names(PERFORMANCES, 9)}."
    )
    if len(distinct) > _MAX_SCORED_PAIRS:
        raise argument_error(
            f"performance must be a scorer of decisions between few classes, but {name} has "
            f"{len(distinct):,} different pairs of outcome and prediction here. {advice}"
        )
    every = float(function(truth, decisions))
    # A mean of n + 1 samples tells the value of the last one, and with it that of n + 2.
    values = np.empty(len(distinct))
    errors = np.empty(len(distinct))
    for number, pair in enumerate(distinct):
        once, twice = (
            float(function(*(np.append(column, [one] * times) for column, one in columns)))
            for times in (1, 2)
            for columns in [list(zip((truth, decisions), pair, strict=True))]
        )
        values[number] = (n + 1) * once - n * every
        errors[number] = (n + 2) * twice - n * every - 2.0 * values[number]
    scale = 1e-7 * max(1.0, np.abs(values).max())
    if np.abs(errors).max() > scale or abs(values[codes].mean() - every) > scale:
        raise argument_error(
            f"performance must be a mean over samples, which the score of {name} is not, so that "
            f"its limits are not known. {advice}"
        )
    return sign * values[codes]


_MAX_SCORED_PAIRS = 100
"""Different pairs of outcome and decision that a scorer is asked about."""
