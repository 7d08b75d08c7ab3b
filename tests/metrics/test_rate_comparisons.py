"""Differences and ratios of rates under fairlearn's names, with its values."""

import inspect
import warnings

import numpy as np
import pytest

from skfair import metrics

# Three groups; of every one [[true negatives, false positives], [false negatives, true positives]].
TABLE = np.array([[[4, 1], [2, 3]], [[2, 0], [1, 2]], [[3, 2], [2, 1]]])
GROUP, Y_TRUE, Y_PRED = (
    np.repeat(cell, TABLE.ravel()) for cell in np.indices(TABLE.shape).reshape(3, -1)
)

BY_HAND = {
    "selection_rate_difference": 2 / 5 - 3 / 8,
    "selection_rate_ratio": (3 / 8) / (2 / 5),
    "true_positive_rate_difference": 2 / 3 - 1 / 3,
    "true_positive_rate_ratio": (1 / 3) / (2 / 3),
    "true_negative_rate_difference": 1 - 3 / 5,
    "true_negative_rate_ratio": (3 / 5) / 1,
    "false_negative_rate_difference": 2 / 3 - 1 / 3,
    "false_negative_rate_ratio": (1 / 3) / (2 / 3),
    "accuracy_score_ratio": (1 / 2) / (4 / 5),
    "zero_one_loss_difference": 1 / 2 - 1 / 5,
    "zero_one_loss_ratio": (1 / 5) / (1 / 2),
}
OF_CONSTRAINTS = [
    *("demographic_parity_difference", "demographic_parity_ratio"),
    *("equal_opportunity_difference", "equal_opportunity_ratio"),
    *("equalized_odds_difference", "equalized_odds_ratio"),
    *("false_positive_rate_difference", "false_positive_rate_ratio"),
    "accuracy_score_difference",
]
"""Names of fairlearn that metrics with scorers have."""


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name):
    value = getattr(metrics, name)(Y_TRUE, Y_PRED, sensitive_features=GROUP)
    assert value == pytest.approx(BY_HAND[name], rel=1e-14) and type(value) is float


@pytest.mark.parametrize("name", BY_HAND)
def test_arguments_have_their_effect(name):
    function = getattr(metrics, name)
    repeated = [np.repeat(column, 1 + GROUP) for column in (Y_TRUE, Y_PRED, GROUP)]
    weighted = function(Y_TRUE, Y_PRED, sensitive_features=GROUP, sample_weight=1 + GROUP)
    assert weighted == pytest.approx(function(*repeated[:2], sensitive_features=repeated[2]))
    to_overall = function(Y_TRUE, Y_PRED, sensitive_features=GROUP, method="to_overall")
    assert to_overall != BY_HAND[name]
    labels = np.array(["no", "yes"])
    named = function(labels[Y_TRUE], labels[Y_PRED], sensitive_features=GROUP, pos_label="yes")
    assert named == pytest.approx(BY_HAND[name])


def draw_table(seed):
    """Outcomes, decisions, groups and weights; each group has decisions of both classes."""
    rng = np.random.default_rng(seed)
    y_true, y_pred = rng.integers(2, size=(2, 120))
    return y_true, y_pred, rng.integers(2 + seed % 3, size=120), rng.random(120)


def test_fairlearn_has_twenty_names_all_of_which_are_here():
    theirs = dir(pytest.importorskip("fairlearn.metrics"))
    names = {name for name in theirs if name.endswith(("_difference", "_ratio"))}
    assert names == {*BY_HAND, *OF_CONSTRAINTS} and len(names) == 20
    for name in names:
        arguments = {"method", "sample_weight"} | ({"agg"} if "odds" in name else set())
        assert arguments <= inspect.signature(getattr(metrics, name)).parameters.keys()


@pytest.mark.parametrize("method", ["between_groups", "to_overall"])
@pytest.mark.parametrize("name", [*BY_HAND, *OF_CONSTRAINTS])
def test_values_of_fairlearn_on_drawn_tables(name, method):
    theirs = getattr(pytest.importorskip("fairlearn.metrics"), name)
    ours = getattr(metrics, name)
    for seed in range(30):
        y_true, y_pred, group, weights = draw_table(seed)
        settings = {"method": method, "sample_weight": weights if seed % 2 else None}
        settings |= {"agg": ["worst_case", "mean"][seed % 2]} if "odds" in name else {}
        if "rate" in name:
            settings["pos_label"] = 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = theirs(y_true, y_pred, sensitive_features=group, **settings)
        value = ours(y_true, y_pred, sensitive_features=group, **settings)
        assert value == pytest.approx(expected, rel=1e-12), seed
