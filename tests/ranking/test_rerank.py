"""Quotas in the first ranks of every query, against all rankings of small queries."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from sklearn.exceptions import ConvergenceWarning

from skfair._postprocessing import quotas
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.ranking import rerank


def draw_documents(seed, n_queries=3, n_documents=6, n_groups=3):
    """Scores, queries and groups in random order, with ties."""
    rng = np.random.default_rng(seed)
    query = rng.permutation(np.repeat(np.arange(n_queries), n_documents))
    scores = rng.integers(5, size=len(query)) - 2.0
    return scores, query, rng.choice(list("abc"[:n_groups]), size=len(query))


def keeps_minimum(ranks, groups, k, minimum):
    """Whether the first k ranks of one query have the minimum number of each group."""
    first = groups[ranks <= k]
    return all((first == name).sum() >= number for name, number in minimum.items())


def best_gain(scores, groups, attention, k, minimum):
    """The largest sum of score times attention within the quota of a query, or None."""
    gains = [
        scores @ attention[np.array(order)]
        for order in permutations(range(len(scores)))
        if keeps_minimum(np.array(order) + 1, groups, k, minimum)
    ]
    return max(gains, default=None)


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(8))
def test_no_ranking_within_the_quota_has_a_larger_gain(seed):
    rng = np.random.default_rng((1, seed))
    scores, query, groups = draw_documents(seed)
    k = int(rng.integers(2, 6))
    minimum = {"b": int(rng.integers(0, k)), "c": 1}
    attention = np.sort(rng.uniform(size=6))[::-1]
    rows = [np.flatnonzero(query == one) for one in range(3)]
    best = [best_gain(scores[one], groups[one], attention, k, minimum) for one in rows]
    columns = {"sensitive_features": groups, "k": k, "minimum": minimum}
    if None in best:
        with pytest.warns(InfeasibleConstraintWarning, match=f"{best.index(None)} has"):
            ranks = rerank(scores, query, **columns)
    else:
        ranks = rerank(scores, query, **columns)
    for one, largest in zip(rows, best, strict=True):
        np.testing.assert_array_equal(np.sort(ranks[one]), np.arange(1, 7))
        if largest is not None:
            assert keeps_minimum(ranks[one], groups[one], k, minimum)
            assert scores[one] @ attention[ranks[one] - 1] == pytest.approx(largest, abs=1e-12)
        else:  # all documents of the groups that lack are among the first k
            for name, number in minimum.items():
                of_group = groups[one] == name
                expected = min(number, of_group.sum())
                assert (ranks[one][of_group] <= k).sum() >= expected


RANKINGS = np.array(list(permutations(range(1, 9))))
"""All ranks of eight documents."""


def draw_bounds(seed, rng, k):
    """Bounds on three groups in prefixes, or on two attributes."""
    steps = np.arange(1, k + 1)
    prefixes = [int(one) for one in steps * rng.uniform(0.2, 0.6)]
    most = [int(one) for one in np.ceil(steps * rng.uniform(0.5, 0.9))]
    counts = rng.integers(0, k, 3)
    return [
        ({"b": counts[0]}, {"a": counts[1] + 1}),
        ({"b": prefixes}, {}),
        ({"b": prefixes}, {"a": most}),
        ({0: {"b": counts[0]}, 1: {"x": counts[1]}}, {0: {"a": counts[2] + 1}}),
    ][seed % 4]


def drop_absent(bounds, columns):
    """Bounds on the groups that occur: other names are errors."""
    if all(isinstance(value, dict) for value in bounds.values()):
        return {
            number: drop_absent(of_values, columns[:, number])
            for number, of_values in bounds.items()
        }
    return {name: value for name, value in bounds.items() if name in columns}


def count_misses(ranks, columns, k, minimum, maximum):
    """By how many documents each ranking misses the bounds in all prefixes together."""
    shortfalls = np.zeros(len(ranks), dtype=int)
    for bounds, sign in ((minimum, 1), (maximum, -1)):
        for attribute, of_groups in bounds.items():
            is_nested = isinstance(of_groups, dict)
            for name, value in of_groups.items() if is_nested else [(attribute, of_groups)]:
                members = columns[:, attribute if is_nested else 0] == name
                values = dict(enumerate(value, 1)) if isinstance(value, list) else {k: value}
                for last, number in values.items():
                    counts = ((ranks <= last) & members).sum(axis=1)
                    shortfalls += np.maximum(0, sign * (number - counts))
    return shortfalls


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore::skfair.exceptions.InfeasibleConstraintWarning")
@pytest.mark.parametrize("seeds", [range(first, first + 4) for first in range(0, 200, 4)])
def test_maxima_and_prefixes_are_kept_at_the_largest_gain_of_all_rankings(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=8) if seed % 2 else rng.integers(0, 9, 8) - 3.0
        columns = np.c_[rng.choice(list("abc"), 8, p=[0.5, 0.3, 0.2]), rng.choice(["x", "y"], 8)]
        k = int(rng.integers(2, 7))
        minimum, maximum = draw_bounds(seed, rng, k)
        groups = columns if seed % 4 == 3 else columns[:, 0]
        minimum, maximum = drop_absent(minimum, groups), drop_absent(maximum, groups)
        bounds = {"k": k, "minimum": minimum, "maximum": maximum}
        ranks = rerank(scores, np.zeros(8), sensitive_features=groups, **bounds)
        attention = np.where(np.arange(8) < k, 1.0 / np.log2(2.0 + np.arange(8)), 0.0)
        if seed % 4 == 0:  # whatever attention falls with the rank
            attention = np.sort(rng.uniform(size=8))[::-1]
        shortfalls = count_misses(RANKINGS, columns, k, minimum, maximum)
        gains = attention[RANKINGS - 1] @ scores
        assert count_misses(ranks[np.newaxis], columns, k, minimum, maximum) == shortfalls.min()
        largest = gains[shortfalls == shortfalls.min()].max()
        assert attention[ranks - 1] @ scores == pytest.approx(largest, abs=1e-9)


def sum_exactly(order, scores, attention):
    """The sum of score times attention without rounding."""
    gains = attention[: len(order)] * scores[order]
    return sum(Fraction(one) for one in gains.tolist())


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore::skfair.exceptions.InfeasibleConstraintWarning")
@pytest.mark.parametrize("max_states", [quotas._MAX_STATES, 0], ids=["search", "program"])
@pytest.mark.parametrize("mask", [-1e3, -1e6, -1e9, -1e12, -1e30, np.finfo(np.float32).min, 1e15])
@pytest.mark.parametrize("seed", range(5))
def test_scores_far_from_the_others_leave_their_order_exact(seed, mask, max_states, monkeypatch):
    monkeypatch.setattr(quotas, "_MAX_STATES", max_states)
    rng = np.random.default_rng((seed, 1))
    scores = rng.normal(size=7)
    scores[:2] = mask
    columns = np.c_[["a", "b"] * 3 + ["b"], rng.permutation(["x", "x", "x", "x", "y", "y", "y"])]
    minimum = {0: {"a": [0, 1, 1, 2]}, 1: {"x": [1, 1, 2, 3]}}
    ranks = rerank(scores, np.zeros(7), sensitive_features=columns, k=4, minimum=minimum)
    rankings = np.array(list(permutations(range(1, 8))))
    shortfalls = count_misses(rankings, columns, 4, minimum, {})
    fewest = rankings[shortfalls == shortfalls.min()]
    attention = 1.0 / np.log2(2.0 + np.arange(4))
    # Sums are exact: a sum with the score of a mask has too few digits for those of the others.
    orders = {tuple(order[:4]) for order in np.argsort(fewest, axis=1).tolist()}
    largest = max(sum_exactly(list(order), scores, attention) for order in orders)
    order = np.argsort(ranks)[:4]
    assert count_misses(ranks[np.newaxis], columns, 4, minimum, {}) == shortfalls.min()
    assert sum_exactly(order, scores, attention) == largest


@pytest.mark.parametrize("max_states", [quotas._MAX_STATES, 0], ids=["search", "program"])
def test_the_smallest_number_may_be_a_score(max_states, monkeypatch):
    monkeypatch.setattr(quotas, "_MAX_STATES", max_states)
    scores = [0.3, 0.9, 0.8, np.finfo(float).min, np.finfo(float).min]
    columns = {"sensitive_features": [*"babac"], "k": 4, "minimum": {"b": [1, 1, 2, 2], "c": 1}}
    ranks = rerank(scores, [0] * 5, **columns)
    # The first is of group b, and c is as late as its bound allows.
    assert ranks.tolist() == [3, 2, 1, 5, 4]


def test_infinite_scores_are_refused():
    with pytest.raises(ValueError, match="scores contains infinity"):
        rerank([1.0, -np.inf], [0] * 2, sensitive_features=[*"ab"], k=1)


def test_the_best_order_need_not_have_the_best_set():
    columns = {"sensitive_features": pd.DataFrame({"sex": [*"mffm"], "race": [*"wowo"]}), "k": 2}
    minimum = {"sex": {"f": 1}, "race": {"o": 1}}
    ranks = rerank([10.0, 1.0, 6.0, 6.0], [0] * 4, minimum=minimum, **columns)
    assert ranks.tolist() == [1, 2, 3, 4]


def test_the_order_by_score_stays_if_it_keeps_the_bounds():
    groups = [*"babaab"]
    ranks = rerank([1] * 6, [0] * 6, sensitive_features=groups, k=4, minimum={"b": [0, 0, 1, 2]})
    assert ranks.tolist() == [1, 2, 3, 4, 5, 6]


def draw_three_attributes(seed):
    """Arguments of a query of 30 documents with bounds on three attributes, and a masked one."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=30)
    scores[rng.integers(30)] = -1e9
    columns = np.c_[
        rng.choice(["a", "b"], 30), rng.choice(["x", "y"], 30), rng.integers(3, size=30)
    ]
    steps = np.arange(1, 7)
    minimum = {0: {"a": (0.4 * steps).astype(int)}, 1: {"x": 3}, 2: {"0": 2, "1": 2}}
    return {
        "scores": scores,
        "query_id": np.zeros(30),
        "sensitive_features": columns,
        "k": 6,
        "minimum": minimum,
    }


IMPOSSIBLE = {"minimum": {0: {"a": 5}, 1: {"x": [1] * 6}}, "maximum": {0: {"a": 5, "b": [0] * 6}}}
"""Five of the first six documents are of group a, and none is of group b."""


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.filterwarnings("ignore::skfair.exceptions.InfeasibleConstraintWarning")
@pytest.mark.parametrize("changes", [{}, IMPOSSIBLE], ids=["possible", "impossible"])
def test_the_program_of_many_intersections_agrees_with_the_search(seed, changes, monkeypatch):
    arguments = draw_three_attributes(seed) | changes
    expected = rerank(**arguments)
    monkeypatch.setattr(quotas, "_MAX_STATES", 0)
    np.testing.assert_array_equal(rerank(**arguments), expected)


@pytest.mark.filterwarnings("ignore::skfair.exceptions.InfeasibleConstraintWarning")
@pytest.mark.parametrize("changes", [{}, IMPOSSIBLE], ids=["possible", "impossible"])
def test_the_program_misses_bounds_least_for_equal_scores(changes, monkeypatch):
    arguments = draw_three_attributes(0) | {"scores": np.zeros(30)} | changes
    columns, k = arguments["sensitive_features"], arguments["k"]
    bounds = arguments["minimum"], arguments.get("maximum", {})
    bounds = [
        {
            number: {name: np.array(value).tolist() for name, value in of_values.items()}
            for number, of_values in bound.items()
        }
        for bound in bounds
    ]
    fewest = count_misses(rerank(**arguments)[np.newaxis], columns, k, *bounds)
    monkeypatch.setattr(quotas, "_MAX_STATES", 0)
    np.testing.assert_array_equal(
        count_misses(rerank(**arguments)[np.newaxis], columns, k, *bounds), fewest
    )
    assert (fewest == 0) == (changes != IMPOSSIBLE)


@pytest.mark.parametrize(
    ("changes", "n_solved", "has_order", "message"),
    [
        ({}, 0, True, "another order may lose 1.2 % less of score times attention"),
        # No order keeps the bounds: the second program counts misses.
        (IMPOSSIBLE, 1, True, "bounds may be missed by less, and orders were not compared"),
        (IMPOSSIBLE, 2, False, "some orders were not compared by score"),
        (IMPOSSIBLE, 2, True, "another order may lose 1.2 % less of score times attention"),
    ],
)
@pytest.mark.filterwarnings("ignore::skfair.exceptions.InfeasibleConstraintWarning")
def test_a_program_that_is_stopped_says_what_may_be_missing(
    changes, n_solved, has_order, message, monkeypatch
):
    solutions = []

    def stop(*args, **options):
        solved = milp(*args, **options)
        if len(solutions) == n_solved:
            solved.status, solved.mip_gap = 1, 0.0123
            solved.x = solved.x if has_order else None
        solutions.append(solved)
        return solved

    milp = optimize.milp
    monkeypatch.setattr(optimize, "milp", stop)
    monkeypatch.setattr(quotas, "_MAX_STATES", 0)
    with pytest.warns(ConvergenceWarning, match=message):
        ranks = rerank(**draw_three_attributes(0) | changes)
    assert len(solutions) == n_solved + 1
    np.testing.assert_array_equal(np.sort(ranks), np.arange(1, 31))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_without_time_for_any_order_a_program_raises(monkeypatch):
    monkeypatch.setattr(quotas, "_MAX_STATES", 0)
    monkeypatch.setattr(quotas, "_PROGRAM_SECONDS", 0.0)
    with pytest.raises(RuntimeError, match="No ranking of 30 documents was found in 0 s"):
        rerank(**draw_three_attributes(0))


def test_bounds_that_a_query_cannot_keep_are_named_with_their_prefix():
    columns = {"sensitive_features": ["a", "a", "b", "c"], "k": 2}
    message = "'q' has 0 of 'c' among the first 1, where at least 1 are required"
    with pytest.warns(InfeasibleConstraintWarning, match=message):
        rerank([3, 2, 1, 0], [*"qqqr"], minimum={"c": [1, 1]}, **columns)
    with pytest.warns(InfeasibleConstraintWarning, match="'q' has 1 of 'a' .*2, where at most 0"):
        rerank([3, 2, 1, 0], [*"qqqr"], maximum={"a": 0}, **columns)


def test_equal_scores_of_a_group_rank_in_the_order_of_the_rows():
    groups = np.array([*"abababab"])
    columns = {"sensitive_features": groups, "k": 4, "minimum": {"b": [1, 1, 2, 2]}}
    ranks = rerank(np.ones(8), np.zeros(8), **columns)
    for one in "ab":
        assert (np.diff(ranks[groups == one]) > 0).all()


def test_documents_of_queries_shorter_than_k_keep_prefixes():
    ranks = rerank([3, 2, 1], [0] * 3, sensitive_features=["a", "a", "b"], k=5,
                   minimum={"b": [0, 1, 1, 1, 1]})  # fmt: skip
    assert ranks.tolist() == [1, 3, 2]


def test_without_a_quota_documents_rank_by_score_and_row():
    scores, query, groups = draw_documents(3, n_queries=40)
    ranks = rerank(scores, query, sensitive_features=groups, k=4, minimum={})
    expected = pd.Series(-scores).groupby(query).rank(method="first")
    np.testing.assert_array_equal(ranks, expected)
    assert ranks.dtype == np.int64


def test_order_of_rows_names_and_read_only_inputs_do_not_matter():
    rng = np.random.default_rng(0)
    scores = rng.permutation(600) / 7.0
    query = rng.integers(30, size=600)
    groups = rng.choice(["a", "b"], size=600, p=[0.9, 0.1])
    columns = {"k": 10, "minimum": {"b": 1}}
    with pytest.warns(InfeasibleConstraintWarning):
        ranks = rerank(scores, query, sensitive_features=groups, **columns)
    order = rng.permutation(600)
    passed = [one[order] for one in (scores, query, np.where(groups == "b", 7, 3))]
    for one in passed:
        one.setflags(write=False)
    names = [f"q{one}" for one in passed[1]]
    columns |= {"minimum": {7: 1}}
    with pytest.warns(InfeasibleConstraintWarning):
        moved = rerank(passed[0], names, sensitive_features=passed[2], **columns)
    np.testing.assert_array_equal(moved, ranks[order])


def test_intersections_of_attributes_are_tuples():
    scores = [5.0, 4.0, 3.0, 2.0]
    documents = pd.DataFrame({"sex": ["m", "m", "f", "f"], "old": [True, False, False, True]})
    columns = {"sensitive_features": documents, "k": 1}
    ranks = rerank(scores, [0] * 4, minimum={("f", True): 1}, **columns)
    assert ranks.tolist() == [2, 3, 4, 1]


def test_queries_that_lack_documents_are_named():
    columns = {"sensitive_features": ["a", "b", "a"], "k": 2}
    with pytest.warns(InfeasibleConstraintWarning, match="'second' has 0 of 'b' among") as caught:
        ranks = rerank([3, 1, 2], ["first", "first", "second"], minimum={"b": 1}, **columns)
    assert ranks.tolist() == [1, 2, 1]
    assert "'first'" not in str(caught[0].message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 0}, "k must be a number of ranks of at least 1; got 0"),
        ({"k": True}, "k must be a number of ranks"),
        ({"minimum": 1}, "minimum must be a dict"),
        ({"minimum": {"a": -1}}, "minimum must be a dict"),
        ({"minimum": {"a": 1.5}}, "shares of the first k ranks from 0.0 to 1.0.*got 1.5 for 'a'"),
        ({"minimum": {"a": -0.5}}, "minimum must be a dict"),
        ({"minimum": {"a": [0.5, 0.5]}}, "minimum must be a dict"),
        ({"minimum": {"a": 0.4, "b": 0.6}}, "a sum of 3 for 2 ranks.*shares are rounded up"),
        ({"minimum": {"a": 2, "b": 1}}, "the sum is at most k=2"),
        ({"minimum": {"a": [1, 1], "b": [1, 1]}}, "a sum of 2 for 1 ranks"),
        ({"minimum": {"b": [1]}}, "a number for each of the first k=2 prefixes"),
        ({"maximum": {"b": 0}}, "must not exceed maximum, but does for 'b': 1 and 0"),
        ({"maximum": [1]}, "maximum must be a dict"),
        ({"maximum": {"sex": {"b": 1}}}, "must name attributes of sensitive_features"),
        ({"scores": [1.0, np.nan, 2.0]}, "NaN"),
        ({"query_id": [0, 0, np.nan]}, "query_id contains NaN"),
        ({"query_id": [0, 0]}, "inconsistent numbers of samples"),
    ],
)
def test_invalid_arguments_are_refused(changes, message):
    arguments = {
        "scores": [1.0, 3.0, 2.0],
        "query_id": [0, 0, 0],
        "sensitive_features": ["a", "b", "a"],
        "k": 2,
        "minimum": {"b": 1},
    }
    assert rerank(**arguments).tolist() == [3, 1, 2]
    with pytest.raises(ValueError, match=message):
        rerank(**arguments | changes)


def test_a_group_of_no_document_is_an_error_with_the_known_names():
    documents = pd.DataFrame({"sex": [*"mmff"], "age": ["old", "young"] * 2})
    columns = {"scores": [4.0, 3.0, 2.0, 1.0], "query_id": [0] * 4, "k": 2}
    by_attribute = columns | {"sensitive_features": documents}
    message = "groups of sensitive_features, but no document has 'F'; there are 'f', 'm'. Correct"
    with pytest.raises(ValueError, match=message):
        rerank(sensitive_features=documents["sex"], minimum={"F": 1}, **columns)
    message = "values of 'age', but no document has 'yung'; .* Did you mean 'young'?"
    with pytest.raises(ValueError, match=message):
        rerank(maximum={"age": {"yung": 1}}, **by_attribute)
    assert rerank(maximum={"age": {"young": 0}}, **by_attribute).tolist() == [1, 3, 2, 4]
    with pytest.raises(
        ValueError, match=r"no document has \('f', 'odd'\); there are \('f', 'old'\)"
    ):
        rerank(minimum={("f", "odd"): 1}, **by_attribute)


@pytest.mark.parametrize(
    ("share", "k", "least", "most"),
    [(0.4, 10, 4, 4), (0.25, 10, 3, 2), (0.55, 20, 11, 11), (1.0, 3, 3, 3), (0.0, 3, 0, 0)],
)
def test_shares_are_numbers_among_the_first_k(share, k, least, most):
    groups = np.array([*"ab" * 20])
    b_last = np.where(groups == "b", 0.0, 1.0) - np.arange(40) / 100.0
    columns = {"query_id": np.zeros(40), "sensitive_features": groups, "k": k}
    ranks = rerank(b_last, minimum={"b": share}, **columns)
    np.testing.assert_array_equal(ranks, rerank(b_last, minimum={"b": least}, **columns))
    assert (groups[ranks <= k] == "b").sum() == least
    ranks = rerank(-b_last, maximum={"b": share}, **columns)
    assert (groups[ranks <= k] == "b").sum() == most


def test_shares_by_attribute_equal_numbers():
    rng = np.random.default_rng(0)
    documents = pd.DataFrame({"sex": rng.choice([*"fm"], 60), "age": rng.choice([*"oy"], 60)})
    columns = {"query_id": np.repeat([0, 1], 30), "sensitive_features": documents, "k": 10}
    scores = rng.normal(size=60) - (documents["sex"] == "f") - (documents["age"] == "o")
    shares = rerank(scores, minimum={"sex": {"f": 0.35}, "age": {"o": 0.5}}, **columns)
    numbers = rerank(scores, minimum={"sex": {"f": 4}, "age": {"o": 5}}, **columns)
    np.testing.assert_array_equal(shares, numbers)
    for query in (0, 1):
        is_first = (shares <= 10) & (columns["query_id"] == query)
        assert (documents["sex"][is_first] == "f").sum() >= 4
        assert (documents["age"][is_first] == "o").sum() >= 5
