"""Exposure of groups in rankings: by hand, by enumeration of ties, and by pandas."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics import exposure_difference, exposure_ratio
from skfair.metrics._ranking import document_exposure

LOG = 1 / np.log2(np.arange(2, 8))
GROUP = ["m", "m", "m", "f", "f", "f"]


def draw_documents(seed, n=60):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 8, n) / 4.0
    return scores, rng.choice(["a", "b", "c"], n), rng.choice(["x", "y", "z"], n), rng.random(n)


def test_the_example_of_singh_and_joachims_by_hand():
    relevance = [0.82, 0.81, 0.80, 0.79, 0.78, 0.77]
    high = LOG[:3].mean()
    low = LOG[3:].mean()
    assert exposure_difference(relevance, sensitive_features=GROUP) == pytest.approx(
        high - low, abs=1e-12
    )
    assert exposure_ratio(relevance, sensitive_features=GROUP) == pytest.approx(
        low / high, abs=1e-12
    )
    # In proportion to relevance the first group gets .71 / (.81 / .795), the second .39 / ...
    by_merit = [high / (0.81 / 0.795), low / (0.78 / 0.795)]
    assert exposure_difference(
        relevance, sensitive_features=GROUP, merit=relevance
    ) == pytest.approx(by_merit[0] - by_merit[1], abs=1e-12)


def test_alternating_groups_of_two_queries_by_hand():
    scores = [2, 1, 1, 2]
    query = ["q", "q", "r", "r"]
    # a: ranks 1 and 2, b: ranks 2 and 1.
    assert exposure_difference(scores, sensitive_features=[*"abab"], query_id=query) == 0.0
    assert exposure_ratio(scores, sensitive_features=[*"abab"], query_id=query) == 1.0
    # One query of four: a has ranks 1 and 3.5 at most.
    shared = (LOG[0] + LOG[1]) / 2, (LOG[2] + LOG[3]) / 2
    assert document_exposure(np.array(scores), np.zeros(4), None, "log").tolist() == pytest.approx(
        [shared[0], shared[1], shared[1], shared[0]], abs=1e-12
    )


def test_ties_share_the_attention_of_all_orders():
    scores = np.array([3.0, 1.0, 1.0, 1.0, 0.0])
    orders = [(0, *middle, 4) for middle in permutations((1, 2, 3))]
    expected = np.mean([LOG[np.argsort(order)] for order in orders], axis=0)
    of_all = np.zeros(5), None, "log"
    assert document_exposure(scores, *of_all) == pytest.approx(expected, abs=1e-12)
    assert document_exposure(scores, np.zeros(5), 2, "log")[1:4] == pytest.approx(
        LOG[1] / 3, abs=1e-12
    )


@pytest.mark.parametrize("seed", range(3))
def test_exposures_are_those_of_pandas(seed):
    scores, group, query, merit = draw_documents(seed)
    table = pd.DataFrame({"score": scores, "group": group, "query": query, "merit": merit})
    table["low"] = table.groupby("query")["score"].rank(ascending=False, method="min")
    table["high"] = table.groupby("query")["score"].rank(ascending=False, method="max")
    mean = [
        np.mean([1 / np.log2(1 + r) * (r <= 7) for r in np.arange(row.low, row.high + 1)])
        for row in table.itertuples()
    ]
    exposed = document_exposure(scores, query, 7, "log")
    assert exposed == pytest.approx(np.array(mean), abs=1e-12)
    means = pd.Series(exposed).groupby(group).mean()
    merits = table.groupby("group")["merit"].mean() / merit.mean()
    columns = {"sensitive_features": group, "query_id": query, "k": 7}
    assert exposure_difference(scores, **columns) == pytest.approx(np.ptp(means))
    assert exposure_ratio(scores, **columns) == pytest.approx(means.min() / means.max())
    by_merit = means / merits
    assert exposure_ratio(scores, **columns, merit=merit) == pytest.approx(
        by_merit.min() / by_merit.max()
    )
    shuffled = np.random.default_rng(seed).permutation(len(scores))
    assert exposure_difference(
        scores[shuffled], sensitive_features=group[shuffled], query_id=query[shuffled], k=7
    ) == pytest.approx(exposure_difference(scores, **columns))


def test_documents_of_weight_zero_are_absent():
    scores, group, query, weights = draw_documents(4)
    weights[::3] = 0.0
    counted = weights > 0
    rest = {"sensitive_features": group[counted], "query_id": query[counted]}
    assert exposure_difference(
        scores, sensitive_features=group, query_id=query, sample_weight=weights
    ) == pytest.approx(exposure_difference(scores[counted], **rest, sample_weight=weights[counted]))


@pytest.mark.filterwarnings("ignore:There is one group")
def test_other_discounts_and_methods():
    scores = [5, 4, 3, 2]
    pairs = {"sensitive_features": [*"aabb"], "discount": lambda rank: 0.5 ** (rank - 1.0)}
    assert exposure_difference(scores, **pairs) == pytest.approx(0.75 - 0.1875)
    assert exposure_difference(scores, **pairs, method="to_overall") == pytest.approx(
        0.75 - 0.46875
    )
    assert exposure_difference(scores, sensitive_features=[*"aaaa"]) == 0.0


def test_no_attention_is_no_ratio():
    with pytest.warns(UndefinedMetricWarning, match="exposure of every group is 0"):
        value = exposure_ratio(
            [1, 2], sensitive_features=["a", "b"], discount=lambda rank: 0 * rank
        )
    assert np.isnan(value)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"k": 0}, "k must be a number of ranks"),
        ({"k": 2.5}, "k must be a number of ranks"),
        ({"discount": "linear"}, "discount must be 'log'"),
        ({"discount": lambda rank: 2.0 * rank}, "numbers from 0 to 1"),
        ({"discount": lambda rank: 1.0}, "returns an array of as many numbers"),
        ({"merit": [1, 1, 0, 0]}, "positive for some documents of each group"),
        ({"merit": [1, -1, 1, 1]}, "must not be negative"),
        ({"query_id": [1, 2, 3]}, "inconsistent numbers of samples"),
    ],
)
def test_what_cannot_be_exposure_is_refused(argument, message):
    with pytest.raises((ValueError, TypeError), match=message):
        exposure_difference([4, 3, 2, 1], sensitive_features=[*"aabb"], **argument)


def test_scores_must_be_numbers():
    with pytest.raises(ValueError, match="y_score"):
        exposure_difference(["high", "low"], sensitive_features=["a", "b"])


def test_means_over_queries_are_means_of_means():
    rng = np.random.default_rng(0)
    query = rng.permutation(np.repeat(np.arange(20), rng.integers(3, 30, 20)))
    scores = rng.normal(size=len(query))
    groups = rng.choice(["a", "b"], len(query))
    table = pd.DataFrame({"query": query, "group": groups})
    ranks = pd.Series(-scores).groupby(query).rank(method="first")
    table["exposure"] = 1.0 / np.log2(1.0 + ranks)
    means = table.groupby(["query", "group"]).exposure.mean().groupby("group").mean()
    columns = {"sensitive_features": groups, "query_id": query, "average": "queries"}
    assert exposure_difference(scores, **columns) == pytest.approx(np.ptp(means))
    assert exposure_ratio(scores, **columns) == pytest.approx(means.min() / means.max())
    assert exposure_difference(scores, **columns) != exposure_difference(
        scores, **columns | {"average": "documents"}
    )
    with pytest.raises(ValueError, match="average must be one of 'documents', 'queries'"):
        exposure_ratio(scores, **columns | {"average": "query"})
