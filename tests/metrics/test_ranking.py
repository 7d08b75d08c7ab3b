import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics import ranking_parity_difference


def brute_force(y, scores, groups, query, per_query, min_pairs):
    """Count pairs one by one."""
    tally = {}
    for i in range(len(y)):
        for j in range(len(y)):
            if query[i] == query[j] and y[i] > y[j]:
                key = (query[i] if per_query else "all", groups[i], groups[j])
                tally.setdefault(key, []).append(scores[i] > scores[j])
    gaps = [
        abs(np.mean(wins) - np.mean(tally[q, b, a]))
        for (q, a, b), wins in tally.items()
        if a != b and len(wins) >= min_pairs and len(tally.get((q, b, a), [])) >= min_pairs
    ]
    return max(gaps)


@pytest.mark.parametrize("per_query", [False, True])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_the_metric_equals_counts_of_pairs(per_query, n_groups):
    rng = np.random.default_rng(n_groups)
    y, scores = rng.integers(3, size=60), rng.integers(8, size=60)  # with ties
    groups, query = rng.integers(n_groups, size=60), rng.integers(4, size=60)
    difference = ranking_parity_difference(
        y, scores, sensitive_features=groups, query_id=query, per_query=per_query, min_pairs=3
    )
    assert difference == pytest.approx(
        brute_force(y, scores, groups, query, per_query, 3), abs=1e-12
    )


def test_without_queries_all_documents_are_one():
    y = [1, 1, 0, 0]
    groups = ["a", "b", "a", "b"]
    assert ranking_parity_difference(y, [4, 1, 2, 3], sensitive_features=groups) == 1.0


def test_a_single_group_is_fair():
    assert ranking_parity_difference([1, 0], [0, 1], sensitive_features=["a", "a"]) == 0.0


def test_groups_without_pairs_give_nan():
    with pytest.warns(UndefinedMetricWarning, match="No two groups have min_pairs=1"):
        difference = ranking_parity_difference([1, 0], [0, 1], sensitive_features=["a", "b"])
    assert np.isnan(difference)


@pytest.mark.parametrize("query", [[0, 1, 2, 3], [0, 0, 1, 1]])
def test_queries_without_pairs_give_nan_and_say_why(query):
    relevance = [1, 1, 0, 0]  # equal within each query
    with pytest.warns(UndefinedMetricWarning, match="No query has documents of different relev"):
        difference = ranking_parity_difference(
            relevance, [1, 2, 3, 4], sensitive_features=[*"abab"], query_id=query
        )
    assert np.isnan(difference)


def test_warnings_of_too_few_pairs_advise_what_helps():
    columns = {"sensitive_features": [*"abab"], "query_id": [0, 0, 1, 1]}
    relevance, scores = [1, 0, 0, 1], [4, 3, 2, 1]
    with pytest.warns(UndefinedMetricWarning, match=r"Lower min_pairs, or pass per_query=False\.$"):
        ranking_parity_difference(relevance, scores, per_query=True, min_pairs=2, **columns)
    with pytest.warns(UndefinedMetricWarning, match=r"nan\. Lower min_pairs\.$"):
        ranking_parity_difference(relevance, scores, min_pairs=2, **columns)
    with pytest.warns(UndefinedMetricWarning, match=r"nan\. Pass per_query=False\.$"):
        ranking_parity_difference(relevance, scores, per_query=True, **columns)
    # a above b: 1 of 1 pair, b above a: 0 of 1.
    assert ranking_parity_difference(relevance, scores, **columns) == 1.0
    with pytest.warns(UndefinedMetricWarning, match="Add queries in which the more relevant"):
        ranking_parity_difference(relevance[:2], [2, 1], sensitive_features=[*"ab"])
