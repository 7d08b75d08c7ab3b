"""Quotas in the first ranks of every query, against all rankings of small queries."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

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
    with pytest.warns(InfeasibleConstraintWarning, match="'second' has 0 of 'b', where") as caught:
        ranks = rerank([3, 1, 2], ["first", "first", "second"], minimum={"b": 1}, **columns)
    assert ranks.tolist() == [1, 2, 1]
    assert "'first'" not in str(caught[0].message)
    # One query at a time may have no document of a group at all.
    with pytest.warns(InfeasibleConstraintWarning, match="'x' has 0 of 'c'"):
        rerank([3, 1, 2], ["x"] * 3, minimum={"c": 1}, **columns)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 0}, "k must be a number of ranks of at least 1; got 0"),
        ({"k": True}, "k must be a number of ranks"),
        ({"minimum": 1}, "minimum must be a dict"),
        ({"minimum": {"a": -1}}, "minimum must be a dict"),
        ({"minimum": {"a": 0.5}}, "minimum must be a dict"),
        ({"minimum": {"a": 2, "b": 1}}, "the sum is at most k=2"),
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
