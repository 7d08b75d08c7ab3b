"""Partial parity: the definitions in exact fractions, with heavy ties, and what else must hold."""

from fractions import Fraction
from itertools import combinations, permutations
from math import ceil
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import ks_2samp
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import roc_auc_score

from skfair.metrics import (
    partial_demographic_parity_difference,
    partial_group_auc_difference,
    partial_statistical_parity_difference,
)
from skfair.metrics._partial import check_scored_members

FUNCTIONS = [
    partial_statistical_parity_difference,
    partial_demographic_parity_difference,
    partial_group_auc_difference,
]
SCORE = [8, 6, 4, 2, 7, 5, 1, 0]
GROUP = list("aaaabbbb")


# The definitions, word by word ---------------------------------------------------------


class Case(NamedTuple):
    """Scores of the members of each group, and the pairs (alpha, beta) in twentieths."""

    scores: list
    pairs: list

    @property
    def interval(self):
        return [(alpha / 20, beta / 20) for alpha, beta in self.pairs]

    def call(self, function, **options):
        y_score = np.concatenate(self.scores)
        groups = np.repeat(np.arange(len(self.scores)), [len(scores) for scores in self.scores])
        return function(y_score, sensitive_features=groups, interval=self.interval, **options)


def random_case(rng):
    sizes = rng.integers(2, 11, size=rng.integers(2, 4))
    n_levels = rng.integers(2, 12)
    ends = sorted(rng.choice(21, size=2 * rng.integers(1, 3), replace=False).tolist())
    scores = [rng.integers(-n_levels // 2, n_levels, size=size).tolist() for size in sizes]
    return Case(scores, list(zip(ends[::2], ends[1::2], strict=True)))


def share(count, total):
    return Fraction(count, total)


def rank(score, members):
    return share(sum(other > score for other in members), len(members))


def is_in_interval(score, members, pairs):
    n_higher = sum(other > score for other in members)
    return any(
        ceil(Fraction(alpha * len(members), 20)) <= n_higher
        and (n_higher < ceil(Fraction(beta * len(members), 20)) or beta == 20)
        for alpha, beta in pairs
    )


def select_members(case):
    return [
        [s for s in members if is_in_interval(s, members, case.pairs)] for members in case.scores
    ]


def thresholds(case):
    """Every observed score, a point between each two, and points beyond both ends."""
    observed = sorted({s for members in case.scores for s in members})
    between = [Fraction(a + b, 2) for a, b in zip(observed, observed[1:], strict=False)]
    return [observed[0] - 1, *observed, *between, observed[-1] + 1]


def largest(gaps):
    gaps = list(gaps)
    return max(gaps) if gaps else None


def statistical_parity(case):
    known = [chosen for chosen in select_members(case) if chosen]
    return largest(
        abs(rank(theta, a) - rank(theta, b))
        for a, b in combinations(known, 2)
        for theta in thresholds(case)
    )


def raw_statistical_parity(case):
    return largest(
        abs(rank(theta, a) - rank(theta, b))
        for a, b in combinations(case.scores, 2)
        for theta in thresholds(case)
        if is_in_interval(theta, a, case.pairs) or is_in_interval(theta, b, case.pairs)
    )


def demographic_parity(case):
    known = [chosen for chosen in select_members(case) if chosen]
    return largest(abs(rank(0, a) - rank(0, b)) for a, b in combinations(known, 2))


def raw_demographic_parity(case):
    rates = [
        share(sum(s > 0 for s in chosen), len(members))
        for chosen, members in zip(select_members(case), case.scores, strict=True)
        if chosen
    ]
    return largest(abs(a - b) for a, b in combinations(rates, 2))


def group_auc(case, tie=Fraction(1, 2)):
    known = [chosen for chosen in select_members(case) if chosen]
    return largest(
        abs(Fraction(sum((s > t) + tie * (s == t) for s in a for t in b), len(a) * len(b)) - half)
        for half in [Fraction(1, 2)]
        for a, b in permutations(known, 2)
    )


def group_auc_of_full_ties(case):
    return group_auc(case, tie=1)


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize(
    "definition, function, options",
    [
        (statistical_parity, partial_statistical_parity_difference, {}),
        (raw_statistical_parity, partial_statistical_parity_difference, {"scale": "raw"}),
        (demographic_parity, partial_demographic_parity_difference, {}),
        (raw_demographic_parity, partial_demographic_parity_difference, {"scale": "raw"}),
        (group_auc, partial_group_auc_difference, {}),
        (group_auc_of_full_ties, partial_group_auc_difference, {"ties": "full"}),
    ],
)
def test_equals_the_definition_in_exact_fractions(definition, function, options):
    rng = np.random.default_rng(0)
    n_known = 0
    for _ in range(200):
        case = random_case(rng)
        expected = definition(case)
        value = case.call(function, **options)
        if expected is None:
            assert np.isnan(value), case
        else:
            assert value == pytest.approx(float(expected), rel=0, abs=1e-14), case
            n_known += 1
    assert 100 < n_known < 200  # both kinds of case have been seen


# By hand -------------------------------------------------------------------------------


def test_statistical_parity_by_hand():
    """The top halves are {8, 6} and {7, 5}: above 7 are half of the first, none of the second."""

    def difference(interval, **options):
        return partial_statistical_parity_difference(
            SCORE, sensitive_features=GROUP, interval=interval, **options
        )

    assert difference((0, 0.5)) == 0.5
    assert difference((0, 0.5), scale="raw") == 0.25
    assert difference((0.5, 1)) == 1.0  # {4, 2} against {1, 0}
    assert difference((0, 1)) == 0.5
    # One member each, 8 against 7: apart wherever the threshold falls between them.
    assert difference((0, 0.25)) == 1.0
    assert difference([(0, 0.25), (0.25, 0.5)]) == difference((0, 0.5))
    assert difference({"a": (0, 0.25), "b": (0, 0.25)}) == 1.0
    assert difference({"a": (0.25, 0.5), "b": (0, 0.25)}) == 1.0  # 6 against 7


def test_the_raw_difference_may_exceed_the_width_of_the_interval():
    scores = np.r_[np.arange(100.0), np.arange(100.0) - 50.25]
    difference = partial_statistical_parity_difference(
        scores, sensitive_features=np.repeat([0, 1], 100), interval=(0.4, 0.6), scale="raw"
    )
    assert difference == pytest.approx(0.51)


def test_thresholds_of_ranks_do_not_depend_on_rounding():
    """0.3 * 10 exceeds 3 in floating point by nothing that may matter."""
    scores = np.arange(20)[::-1]
    group = np.tile(["a", "b"], 10)
    top_three = partial_demographic_parity_difference(
        scores, sensitive_features=group, interval=(0.0, 0.1 + 0.2), threshold=13.5
    )
    assert top_three == 0  # 19 17 15 against 18 16 14: all of them are above
    seven_of_ten = partial_demographic_parity_difference(
        scores, sensitive_features=group, interval=(0.1 + 0.2, 1.0), threshold=12.5
    )
    assert seven_of_ten == pytest.approx(1 / 7)  # 13 is above, 12 is not


def test_full_ties_make_equal_scores_unfair():
    params = {"sensitive_features": ["a", "b"], "interval": (0, 1)}
    assert partial_group_auc_difference([1, 1], **params) == 0
    assert partial_group_auc_difference([1, 1], **params, ties="full") == 0.5


# Other implementations -----------------------------------------------------------------


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    group = rng.random(400) < 0.4
    return np.round(rng.normal(size=400) + 0.5 * group, 1), group


def test_on_all_samples_statistical_parity_is_the_kolmogorov_smirnov_distance(data):
    score, group = data
    expected = ks_2samp(score[group], score[~group]).statistic
    for scale in ("normalized", "raw"):
        assert partial_statistical_parity_difference(
            score, sensitive_features=group, interval=(0, 1), scale=scale
        ) == pytest.approx(expected)


def test_on_all_samples_the_auc_is_that_of_predicting_the_group(data):
    score, group = data
    value = partial_group_auc_difference(score, sensitive_features=group, interval=(0, 1))
    assert value == pytest.approx(abs(roc_auc_score(group, score) - 0.5))


# Properties ----------------------------------------------------------------------------

scored_samples = st.lists(
    st.tuples(st.integers(-3, 3), st.sampled_from("abc"), st.integers(0, 3)),
    min_size=1,
    max_size=15,
)
intervals = st.lists(st.integers(0, 20), min_size=2, max_size=2, unique=True).map(
    lambda ends: (min(ends) / 20, max(ends) / 20)
)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("function", FUNCTIONS)
@given(scored_samples, intervals, st.randoms(use_true_random=False))
def test_integer_weights_are_repeated_rows_in_any_order(function, rows, interval, random):
    present = [row for row in rows if row[2] > 0]
    if not present:
        return
    repeated = [row for row in rows for _ in range(row[2])]
    random.shuffle(repeated)
    score, group, weight = zip(*rows, strict=True)
    each_score, each_group, _ = zip(*repeated, strict=True)
    expected = function(each_score, sensitive_features=each_group, interval=interval)
    for scaled in (np.array(weight), 0.1 * np.array(weight)):
        value = function(score, sensitive_features=group, interval=interval, sample_weight=scaled)
        assert value == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_containers_and_names_of_groups_do_not_matter(function, data):
    score, group = data
    expected = function(score, sensitive_features=group, interval=(0.1, 0.6))
    renamed = pd.Series(np.where(group, "z", "y"), index=np.arange(400) + 7)
    one_hot = sparse.csr_array(np.column_stack((group, ~group)))
    for same in (renamed, group.tolist(), ~group, one_hot):
        value = function(score, sensitive_features=same, interval=(0.1, 0.6))
        assert value == pytest.approx(expected, abs=1e-14)


def test_only_the_order_of_scores_matters(data):
    score, group = data
    for function in (partial_statistical_parity_difference, partial_group_auc_difference):
        expected = function(score, sensitive_features=group, interval=(0.1, 0.6))
        stretched = function(np.exp(score), sensitive_features=group, interval=(0.1, 0.6))
        assert stretched == pytest.approx(expected)


def test_adjacent_intervals_partition_the_samples(data):
    """Where groups have their own intervals, a group is compared only inside its own."""
    score, group = data
    thirds = [(0, 0.3), (0.3, 0.6), (0.6, 1)]
    assert partial_statistical_parity_difference(
        score, sensitive_features=group, interval=thirds
    ) == partial_statistical_parity_difference(score, sensitive_features=group, interval=(0, 1))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_group_has_no_difference(function):
    assert function([1, 2, 2], sensitive_features=["a"] * 3, interval=(0.4, 0.5)) == 0


# What cannot be known ------------------------------------------------------------------


@pytest.mark.parametrize("function", FUNCTIONS)
def test_constant_scores_miss_an_interval_below_the_top(function):
    with pytest.warns(UndefinedMetricWarning, match="2 of 2 groups"):
        value = function(np.ones(8), sensitive_features=GROUP, interval=(0.05, 0.3))
    assert np.isnan(value)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_group_outside_the_interval_is_named_and_excluded(function):
    score = [*SCORE, 3, 3]
    group = [*GROUP, "tied", "tied"]
    expected = function(SCORE, sensitive_features=GROUP, interval=(0.25, 0.75))
    with pytest.warns(UndefinedMetricWarning, match="1 of 3 groups .* 'tied'"):
        assert function(score, sensitive_features=group, interval=(0.25, 0.75)) == expected


def test_raw_parity_is_finite_if_one_group_reaches_the_interval():
    score = [4, 3, 2, 1, 5, 5]
    group = list("aaaabb")
    value = partial_statistical_parity_difference(
        score, sensitive_features=group, interval=(0.25, 0.5), scale="raw"
    )
    assert value == 0.75  # at 3: a quarter of a, and all of b
    with pytest.warns(UndefinedMetricWarning, match="No score has a rank"):
        value = partial_statistical_parity_difference(
            [1, 1], sensitive_features=["a", "b"], interval=(0.2, 0.5), scale="raw"
        )
    assert np.isnan(value)


# Bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "interval, message",
    [
        ((0.3, 0.3), "0 <= alpha < beta <= 1"),
        ((0.5, 0.2), "0 <= alpha < beta <= 1"),
        ((-0.1, 0.2), "0 <= alpha < beta <= 1"),
        ((5, 30), "0 <= alpha < beta <= 1"),
        ((0.1, float("nan")), "0 <= alpha < beta <= 1"),
        ([(0.1, 0.4), (0.3, 0.6)], "must not overlap"),
        (0.3, "a pair"),
        ([], "a pair"),
        ((0.1, 0.2, 0.3), "a pair"),
        ([(0.1, 0.2), (0.3,)], "a pair"),
        ("top", "a pair"),
        (None, "a pair"),
        ({"a": (0, 0.5)}, r"\['b'\] have none"),
    ],
)
def test_invalid_intervals_are_refused(interval, message):
    with pytest.raises(ValueError, match=message):
        partial_statistical_parity_difference(SCORE, sensitive_features=GROUP, interval=interval)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_scores_must_be_finite_numbers_one_per_sample(function):
    with pytest.raises(ValueError, match="NaN"):
        function([1.0, np.nan], sensitive_features=["a", "b"], interval=(0, 1))
    with pytest.raises(ValueError, match="holds None in row 1"):
        function([1.0, None], sensitive_features=["a", "b"], interval=(0, 1))
    with pytest.raises(ValueError, match="infinity"):
        function([1.0, np.inf], sensitive_features=["a", "b"], interval=(0, 1))
    with pytest.raises(ValueError, match="rows"):
        function([1.0, 2.0], sensitive_features=["a"], interval=(0, 1))
    with pytest.raises(ValueError, match="shape"):
        function(np.ones((4, 2)), sensitive_features=list("aabb"), interval=(0, 1))


def test_options_are_checked():
    params = {"sensitive_features": GROUP, "interval": (0, 1)}
    with pytest.raises(ValueError, match="scale must be one of 'normalized', 'raw'"):
        partial_statistical_parity_difference(SCORE, **params, scale="absolute")
    with pytest.raises(ValueError, match="ties must be one of 'half', 'full'"):
        partial_group_auc_difference(SCORE, **params, ties=0.5)


@pytest.mark.parametrize("interval", [(0.1, 0.4), [(0.0, 0.2), (0.5, 1.0)], (0.95, 0.96)])
@pytest.mark.parametrize("n_scores", [5, 10**6])
@pytest.mark.parametrize("weighted", [False, True])
def test_ranks_by_group_select_as_the_table_of_all_scores(interval, n_scores, weighted):
    rng = np.random.default_rng(0)
    scores, groups = rng.integers(n_scores, size=400), rng.integers(3, size=400)
    weights = rng.integers(1, 4, size=400) / 2 if weighted else None
    scored, _ = check_scored_members(groups, weights, interval, y_score=scores)
    for scored_subset in (scored, scored.take(scored.members.codes < 2)):
        expected = scored_subset.table().is_inside(
            scored_subset.members.intervals, scored_subset.weights
        )
        assert expected.any() == (n_scores > 5 or interval != (0.95, 0.96))
        np.testing.assert_array_equal(scored_subset.is_inside(), expected)
