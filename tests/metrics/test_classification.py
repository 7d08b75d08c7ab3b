import warnings

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics import (
    METRICS,
    demographic_parity_difference,
    demographic_parity_ratio,
    equalized_odds_difference,
    equalized_odds_ratio,
)

CLASSIFICATION = {name: m for name, m in METRICS.items() if m.kind == "classification"}
every_metric = pytest.mark.parametrize("metric", CLASSIFICATION.values(), ids=CLASSIFICATION)

# Three groups; of every one [[true negatives, false positives], [false negatives, true positives]].
TABLE = np.array([[[4, 1], [2, 3]], [[2, 0], [1, 2]], [[3, 2], [2, 1]]])
GROUP, Y_TRUE, Y_PRED = (
    np.repeat(cell, TABLE.ravel()) for cell in np.indices(TABLE.shape).reshape(3, -1)
)


BY_HAND = {
    "demographic_parity_difference": 2 / 5 - 3 / 8,
    "demographic_parity_ratio": (3 / 8) / (2 / 5),
    "equal_opportunity_difference": 2 / 3 - 1 / 3,
    "equal_opportunity_ratio": (1 / 3) / (2 / 3),
    "false_positive_rate_difference": 2 / 5,
    "equalized_odds_difference": 2 / 5,
    "equalized_odds_ratio": 0,
    "false_positive_rate_ratio": 0,
    "accuracy_score_difference": 4 / 5 - 1 / 2,
    "error_rate_ratio": (1 / 5) / (4 / 8),
    "separation_gap": 1 / 3 + 2 / 5,
    "sufficiency_gap": (1 - 1 / 3) + (2 / 5 - 1 / 3),
}


@every_metric
def test_by_hand(metric):
    value = metric(Y_TRUE, Y_PRED, sensitive_features=GROUP)
    assert value == pytest.approx(BY_HAND[metric.function.__name__], rel=1e-14)
    assert isinstance(value, float)


@pytest.fixture
def peer():
    return pytest.importorskip("fairlearn.metrics")


UNKNOWN_TO_FAIRLEARN = {name for name in CLASSIFICATION if name.endswith("_gap")}
NAMES_OF_FAIRLEARN = [name for name in CLASSIFICATION if name not in UNKNOWN_TO_FAIRLEARN]


def value_of_fairlearn(peer, name, *args, **kwargs):
    name = name.replace("error_rate", "zero_one_loss")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(peer, name)(*args, **kwargs)


@pytest.mark.covering(0)
@pytest.mark.parametrize("name", NAMES_OF_FAIRLEARN)
@pytest.mark.parametrize("n_groups", [2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_fairlearn_gives_the_same(peer, name, n_groups, weighted):
    rng = np.random.default_rng(n_groups)
    for _ in range(3):
        y_true, y_pred = rng.integers(0, 2, (2, 200))
        group = rng.integers(0, n_groups, 200)
        weights = rng.random(200) if weighted else None
        metadata = {"sensitive_features": group, "sample_weight": weights}
        ours = CLASSIFICATION[name](y_true, y_pred, **metadata)
        assert 0 < ours < 1
        theirs = value_of_fairlearn(peer, name, y_true, y_pred, **metadata)
        assert ours == pytest.approx(theirs, rel=1e-12)


def test_undefined_rates_differ_from_fairlearn(peer):
    group = list("aabb")
    # Group b has no positives: fairlearn takes the unknown rate to be zero.
    unknown = [1, 0, 0, 0], [1, 0, 1, 0]
    metadata = {"sensitive_features": group}
    assert value_of_fairlearn(peer, "equal_opportunity_difference", *unknown, **metadata) == 1
    with pytest.warns(UndefinedMetricWarning, match="no samples of the positive class: 'b'"):
        ours = CLASSIFICATION["equal_opportunity_difference"](*unknown, **metadata)
    assert np.isnan(ours)
    # No sample is selected: 0 / 0 is nan in both, and a warning says so here.
    none_selected = [1, 0, 1, 0], [0, 0, 0, 0]
    theirs = value_of_fairlearn(peer, "demographic_parity_ratio", *none_selected, **metadata)
    with pytest.warns(UndefinedMetricWarning, match="selection_rate of every group is 0"):
        ours = CLASSIFICATION["demographic_parity_ratio"](*none_selected, **metadata)
    assert np.isnan(ours) and np.isnan(theirs)
    one_selected = [1, 0, 1, 0], [1, 1, 0, 0]
    assert CLASSIFICATION["demographic_parity_ratio"](*one_selected, **metadata) == 0


# Properties ---------------------------------------------------------------------------

classes = hnp.arrays(np.intp, 15, elements=st.integers(0, 1))
groups = hnp.arrays(np.intp, 15, elements=st.integers(0, 2))
repeats = hnp.arrays(np.intp, 15, elements=st.integers(0, 3)).filter(np.any)


def ignore_warnings(metric, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return metric(*args, **kwargs)


def same(expected):
    return pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.mark.covering(0)
@every_metric
@given(y_true=classes, y_pred=classes, group=groups, repeats=repeats)
def test_integer_weights_equal_repeated_rows(metric, y_true, y_pred, group, repeats):
    weighted = ignore_warnings(
        metric, y_true, y_pred, sensitive_features=group, sample_weight=repeats
    )
    y_true, y_pred, group = (np.repeat(a, repeats) for a in (y_true, y_pred, group))
    assert weighted == same(ignore_warnings(metric, y_true, y_pred, sensitive_features=group))


@pytest.mark.covering(0)
@every_metric
@given(y_true=classes, y_pred=classes, group=groups, order=st.permutations(range(15)))
def test_order_and_names_do_not_matter(metric, y_true, y_pred, group, order):
    expected = ignore_warnings(metric, y_true, y_pred, sensitive_features=group)
    words = np.array(["reject", "select"])
    names = np.array([30.0, -1.0, 2.0])
    renamed = ignore_warnings(
        metric,
        words[y_true][order],
        words[y_pred][order],
        sensitive_features=names[group][order],
        pos_label="select",
    )
    assert renamed == same(expected)


@pytest.mark.covering(0)
@every_metric
@given(y_true=classes, y_pred=classes, group=groups)
def test_memberships_are_the_same_as_labels(metric, y_true, y_pred, group):
    members = sparse.csr_array(group[:, np.newaxis] == np.arange(3))
    expected = ignore_warnings(metric, y_true, y_pred, sensitive_features=group)
    assert ignore_warnings(metric, y_true, y_pred, sensitive_features=members) == same(expected)


@pytest.mark.covering(0)
@every_metric
@given(y_true=classes, y_pred=classes, group=groups)
def test_values_are_between_fair_and_unfair(metric, y_true, y_pred, group):
    value = ignore_warnings(metric, y_true, y_pred, sensitive_features=group)
    worst = 2 if metric.function.__name__ in ("separation_gap", "sufficiency_gap") else 1
    assert np.isnan(value) or 0 <= value <= worst


@pytest.mark.filterwarnings("ignore:There is one group")
@every_metric
def test_the_best_value_is_reached(metric):
    equal = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (2, 1))
    assert metric(*equal.T, sensitive_features=np.repeat(["a", "b"], 4)) == metric.best
    assert metric(*equal.T, sensitive_features=["a"] * 8) == metric.best


# Input --------------------------------------------------------------------------------


def test_overlapping_groups():
    # Columns: the first four group, the last four, and one sample in both.
    members = np.zeros((7, 3), dtype=bool)
    members[:4, 0] = members[3:, 1] = members[3, 2] = True
    y_pred = [0, 0, 0, 1, 1, 1, 0]
    value = demographic_parity_difference(
        y_pred, y_pred, sensitive_features=sparse.csr_array(members)
    )
    assert value == 1 - 1 / 4


def test_several_attributes_mean_their_combinations():
    group = pd.DataFrame({"sex": list("ffmm"), "age": [1, 2, 1, 2]})
    y_pred = [1, 0, 0, 1]
    for attribute in group:
        assert (
            demographic_parity_difference(y_pred, y_pred, sensitive_features=group[attribute]) == 0
        )
    assert demographic_parity_difference(y_pred, y_pred, sensitive_features=group) == 1


def test_warnings_point_to_the_caller():
    with pytest.warns(UndefinedMetricWarning) as caught:
        value = equalized_odds_difference([1, 0, 0], [1, 0, 1], sensitive_features=list("aab"))
    assert np.isnan(value)
    assert {warning.filename for warning in caught} == {__file__}


@every_metric
def test_misaligned_input_is_refused(metric):
    y = pd.Series([0, 1])
    group = pd.Series(["a", "b"], index=[1, 0])
    with pytest.raises(ValueError, match="y_true and sensitive_features must have the same pandas"):
        metric(y, [0, 1], sensitive_features=group)


@every_metric
def test_more_than_two_classes_are_refused(metric):
    with pytest.raises(ValueError, match="at most two classes"):
        metric([0, 1, 2], [0, 1, 2], sensitive_features=list("aab"))


# The overall rate, and the mean of two rates -------------------------------------------------


GAPS = [name for name in CLASSIFICATION if name.endswith("difference")]
RATES_BY_HAND = {  # of the three groups, and of all samples
    "demographic_parity_difference": [([4 / 10, 2 / 5, 3 / 8], 9 / 23)],
    "equal_opportunity_difference": [([3 / 5, 2 / 3, 1 / 3], 6 / 11)],
    "false_positive_rate_difference": [([1 / 5, 0, 2 / 5], 3 / 12)],
    "accuracy_score_difference": [([3 / 10, 1 / 5, 4 / 8], 8 / 23)],
    "equalized_odds_difference": [
        ([3 / 5, 2 / 3, 1 / 3], 6 / 11),
        ([1 / 5, 0, 2 / 5], 3 / 12),
    ],
}


@pytest.mark.parametrize("name", GAPS)
def test_gaps_to_the_overall_rate_by_hand(name):
    excesses = np.array([np.subtract(*cell) for cell in RATES_BY_HAND[name]]).ravel()
    for method, expected in (
        ("to_overall", np.abs(excesses).max()),
        ("above_overall", excesses.max()),
    ):
        value = CLASSIFICATION[name](Y_TRUE, Y_PRED, sensitive_features=GROUP, method=method)
        assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_distance_from_the_overall_rate_is_that_of_fairlearn(seed):
    # fairlearn's method="to_overall" is max_g |r_g - r|, of equalized odds the larger of the two.
    rng = np.random.default_rng(seed)
    y, decisions, groups = rng.random((3, 500)) < [[0.4], [0.5], [0.1]]
    decisions &= ~groups | (rng.random(500) < 0.2)
    cells = {
        "demographic_parity_difference": [np.ones(500, bool)],
        "equal_opportunity_difference": [y],
        "false_positive_rate_difference": [~y],
        "equalized_odds_difference": [y, ~y],
    }
    for name, masks in cells.items():
        expected = max(
            abs(decisions[mask & (groups == g)].mean() - decisions[mask].mean())
            for mask in masks
            for g in (True, False)
        )
        values = [
            CLASSIFICATION[name](y, decisions, sensitive_features=groups, method=method)
            for method in ("to_overall", "above_overall")
        ]
        assert values[0] == pytest.approx(expected, rel=1e-12)
        assert values[1] < values[0] / 2  # the minority is far below, and the majority just above


FAIRLEARN = [
    f"{name}_{form}"
    for name in ("demographic_parity", "equal_opportunity", "equalized_odds")
    for form in ("difference", "ratio")
]


@pytest.mark.covering(1)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", ["between_groups", "to_overall"])
@pytest.mark.parametrize("name", FAIRLEARN)
def test_the_keywords_of_fairlearn_have_its_values(name, method, seed, peer):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=200)
    decisions = rng.integers(2, size=200)
    groups = rng.integers(4, size=200)
    keywords = {
        "sensitive_features": groups,
        "method": method,
        "sample_weight": rng.uniform(0.5, 2, 200),
    }
    choices = [{}]
    if name.startswith("equalized"):
        choices += [{"agg": "worst_case"}, {"agg": "mean"}]
    for choice in choices:
        theirs = getattr(peer, name)(y, decisions, **keywords, **choice)
        ours = CLASSIFICATION[name](y, decisions, **keywords, **choice)
        assert ours == pytest.approx(theirs, rel=1e-12)


def test_the_mean_of_two_rates_by_hand():
    params = {"sensitive_features": GROUP, "agg": "mean"}
    odds = equalized_odds_difference(Y_TRUE, Y_PRED, **params)
    assert odds == pytest.approx((1 / 3 + 2 / 5) / 2)
    assert equalized_odds_ratio(Y_TRUE, Y_PRED, **params) == pytest.approx((1 / 2 + 0) / 2)


@pytest.mark.parametrize("method", ["to_overall", "above_overall"])
def test_one_group_is_the_overall_rate(method):
    alone = {"sensitive_features": ["a"] * 3, "method": method}
    assert demographic_parity_difference([0, 1, 1], [1, 0, 1], **alone) == 0
    assert demographic_parity_ratio([0, 1, 1], [1, 0, 1], **alone) == 1


@pytest.mark.parametrize(
    "params, match",
    [
        ({"method": "to_overal"}, "method must be one of .*; got 'to_overal'.*to_overall"),
        ({"agg": "max"}, "agg must be one of 'worst_case', 'mean'; got 'max'"),
    ],
)
def test_unknown_comparisons_are_refused(params, match):
    with pytest.raises(ValueError, match=match):
        equalized_odds_difference(Y_TRUE, Y_PRED, sensitive_features=GROUP, **params)
