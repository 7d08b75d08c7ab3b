"""Partial opportunity and odds: the definitions in exact fractions, and what else must hold."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import ceil

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import cross_validate
from sklearn.tree import DecisionTreeClassifier

from skfair.metrics import (
    METRICS,
    get_scorer,
    make_scorer,
    partial_demographic_parity_difference,
    partial_equal_opportunity_difference,
    partial_equalized_odds_difference,
)

FUNCTIONS = [partial_equal_opportunity_difference, partial_equalized_odds_difference]
TRUE = [1, 1, 0, 1, 1, 0, 0, 1]
SCORE = [3, 1, -1, -2, 4, 1, -2, -3]
GROUP = list("aaaabbbb")


# The definitions, word by word ---------------------------------------------------------


def draw_samples(rng):
    """Members of each group as (score, class), and the ends of the interval in twentieths."""
    sizes = rng.integers(5, 14, size=rng.integers(2, 4))
    spread = rng.integers(1, 6)
    alpha = int(rng.integers(13))
    beta = int(rng.integers(alpha + 6, 21))
    groups = [
        list(
            zip(
                rng.integers(-spread, spread + 2, size=size).tolist(),
                rng.integers(2, size=size).tolist(),
                strict=True,
            )
        )
        for size in sizes
    ]
    return groups, alpha, beta


def is_in_interval(score, peers, alpha, beta):
    n_higher = sum(other > score for other, _ in peers)
    first, last = (ceil(Fraction(end * len(peers), 20)) for end in (alpha, beta))
    return first <= n_higher and (n_higher < last or beta == 20)


def rate(members, label, rank_within, scale, interval):
    """Positive rate of a group in a class, None if no sample is selected."""
    of_class = [member for member in members if member[1] == label]
    peers = of_class if rank_within == "class" else members
    chosen = [score for score, _ in of_class if is_in_interval(score, peers, *interval)]
    total = len(chosen) if scale == "normalized" else len(of_class)
    return Fraction(sum(score > 0 for score in chosen), total) if chosen else None


def opportunity(groups, label, rank_within, scale, interval):
    rates = [rate(members, label, rank_within, scale, interval) for members in groups]
    known = [r for r in rates if r is not None]
    return max((abs(a - b) for a, b in combinations(known, 2)), default=None)


def odds(groups, rank_within, scale, interval):
    gaps = [opportunity(groups, label, rank_within, scale, interval) for label in (0, 1)]
    return None if None in gaps else max(gaps)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("rank_within", ["group", pytest.param("class", marks=pytest.mark.slow)])
def test_both_equal_their_definitions_in_exact_fractions(rank_within):
    rng = np.random.default_rng(0)
    n_known = 0
    for repetition in range(200):
        groups, *interval = draw_samples(rng)
        score, y_true = np.concatenate(groups).T
        scale = ["normalized", "raw"][repetition % 2]
        values = [
            function(
                y_true,
                score,
                sensitive_features=np.repeat(np.arange(len(groups)), list(map(len, groups))),
                interval=tuple(end / 20 for end in interval),
                rank_within=rank_within,
                scale=scale,
            )
            for function in FUNCTIONS
        ]
        expected = [
            opportunity(groups, 1, rank_within, scale, interval),
            odds(groups, rank_within, scale, interval),
        ]
        exact = [np.nan if gap is None else float(gap) for gap in expected]
        np.testing.assert_allclose(values, exact, rtol=0, atol=1e-14, err_msg=f"{groups, interval}")
        n_known += not np.isnan(exact).any()
    assert 100 < n_known < 200  # both kinds of case have been seen


# By hand -------------------------------------------------------------------------------


def test_by_hand_within_the_group():
    """The top halves are 3+ 1+ and 4+ 1-: among the positive all are above 2, or half are."""
    data = {"sensitive_features": GROUP, "interval": (0, 0.5), "threshold": 2}
    assert partial_equal_opportunity_difference(TRUE, SCORE, **data) == 0.5
    # Of the three and two positive, one each is selected and above 2.
    raw = partial_equal_opportunity_difference(TRUE, SCORE, **data, scale="raw")
    assert raw == pytest.approx(1 / 2 - 1 / 3)
    with pytest.warns(UndefinedMetricWarning, match="1 of 2 groups .* 'a'"):
        assert np.isnan(partial_equalized_odds_difference(TRUE, SCORE, **data))


def test_by_hand_within_the_class():
    """Upper halves of the positive are 3 1 and 4, of the negative -1 and 1."""
    data = {"sensitive_features": GROUP, "interval": (0, 0.5), "rank_within": "class"}
    opportunity = partial_equal_opportunity_difference(TRUE, SCORE, threshold=2, **data)
    assert opportunity == 0.5
    assert partial_equalized_odds_difference(TRUE, SCORE, threshold=2, **data) == 0.5
    assert partial_equalized_odds_difference(TRUE, SCORE, threshold=0, **data) == 1


# Properties ----------------------------------------------------------------------------


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    group = rng.random(300) < 0.4
    score = np.round(rng.normal(size=300) + 0.4 * group, 1)
    return (rng.random(300) < 1 / (1 + np.exp(-score))).astype(int), score, group


def test_opportunity_on_all_ranks_is_parity_among_the_positives(data):
    y_true, score, group = data
    positive = y_true == 1
    assert partial_equal_opportunity_difference(
        y_true, score, sensitive_features=group, interval=(0, 1)
    ) == partial_demographic_parity_difference(
        score[positive], sensitive_features=group[positive], interval=(0, 1)
    )


@pytest.mark.parametrize("rank_within", ["group", "class"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_integer_weights_are_repeated_rows(function, rank_within, data):
    weights = np.random.default_rng(2).integers(0, 3, size=300)
    options = {"interval": (0.1, 0.6), "threshold": 0.3, "rank_within": rank_within}
    y_true, score, group = data
    repeated = [np.repeat(column, weights) for column in data]
    assert function(
        y_true, score, sensitive_features=group, sample_weight=weights, **options
    ) == pytest.approx(function(*repeated[:2], sensitive_features=repeated[2], **options))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_classes_may_have_any_name(function, data):
    y_true, score, group = data
    expected = function(y_true, score, sensitive_features=group, interval=(0.1, 0.6))
    metadata = {"sensitive_features": group, "interval": (0.1, 0.6)}
    for labels in (np.array([-1, 1]), np.array([False, True])):
        assert function(labels[y_true], score, **metadata) == expected
    words = np.array(["no", "yes"])[y_true]
    assert function(words, score, **metadata, pos_label="yes") == expected
    with pytest.raises(ValueError, match="pos_label must name"):
        function(words, score, **metadata)


def test_opportunity_is_that_of_the_positive_class(data):
    y_true, score, group = data
    metadata = {"sensitive_features": group, "interval": (0.1, 0.6)}
    assert partial_equal_opportunity_difference(
        y_true, score, **metadata, pos_label=0
    ) == partial_equal_opportunity_difference(1 - y_true, score, **metadata)
    # Odds compare both classes.
    assert partial_equalized_odds_difference(
        y_true, score, **metadata, pos_label=0
    ) == partial_equalized_odds_difference(y_true, score, **metadata)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_group_has_no_difference(function):
    assert function([1, 0], [2.0, 1.0], sensitive_features=["a", "a"], interval=(0, 1)) == 0


# Bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize("function", FUNCTIONS)
def test_bad_input_is_refused(function):
    data = {"sensitive_features": GROUP, "interval": (0, 1)}
    with pytest.raises(ValueError, match="rank_within must be one of 'group', 'class'"):
        function(TRUE, SCORE, **data, rank_within="all samples")
    with pytest.raises(ValueError, match="scale must be one of 'normalized', 'raw'"):
        function(TRUE, SCORE, **data, scale=1)
    with pytest.raises(ValueError, match="two classes"):
        function(range(8), SCORE, **data)
    with pytest.raises(ValueError, match="inconsistent"):
        function(TRUE[:-1], SCORE, **data)


# Scorers -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in METRICS if name.startswith("partial_")])
@pytest.mark.parametrize(
    "estimator, method, threshold",
    [
        (RidgeClassifier(), "decision_function", 0.0),
        (DecisionTreeClassifier(max_depth=4, random_state=0), "predict_proba", 0.5),
    ],
)
def test_scorers_use_the_threshold_of_the_estimator(data, name, estimator, method, threshold):
    y_true, score, group = data
    y_true = np.array(["no", "yes"])[y_true]
    X = score[:, np.newaxis]
    model = clone(estimator).fit(X, y_true)
    response = getattr(model, method)(X)
    response = response[:, 1] if method == "predict_proba" else response
    metric = replace(METRICS[name], params={"interval": (0.0, 0.8)})
    inputs = [response]
    options = {}
    if metric.kind == "labelled_decision":
        inputs = [y_true, response]
        options = {"pos_label": "yes"}
    if metric.kind != "score":
        options["threshold"] = threshold
    expected = metric(*inputs, sensitive_features=group, **options)
    scorer = make_scorer(name, interval=(0.0, 0.8), pos_label="yes")
    assert scorer(model, X, y_true, sensitive_features=group) == -expected
    assert 0 < expected < 1


def test_parameters_of_a_metric_prevail_over_the_estimators(data):
    y_true, score, group = data
    X = score[:, np.newaxis]
    model = RidgeClassifier().fit(X, y_true)
    params = {"interval": (0, 1), "threshold": 0.4}
    expected = partial_demographic_parity_difference(
        model.decision_function(X), sensitive_features=group, **params
    )
    scorer = make_scorer("partial_demographic_parity_difference", **params)
    assert scorer(model, X, y_true, sensitive_features=group) == -expected


def test_scorers_work_in_cross_validation(data):
    y_true, score, group = data
    scoring = {name: get_scorer(f"neg_{name}") for name in METRICS if name.startswith("partial_")}
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_validate(
            RidgeClassifier(),
            score[:, np.newaxis],
            y_true,
            scoring=scoring,
            params={"sensitive_features": group},
            cv=3,
            error_score="raise",
        )
    assert all(np.all(scores[f"test_{name}"] <= 0) for name in scoring)
