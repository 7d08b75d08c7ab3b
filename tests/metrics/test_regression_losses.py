"""Differences of mean losses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from skfair._groups import check_groups
from skfair.constraints import (
    BoundedGroupLoss,
    EqualizedOddsLossParity,
    EqualOpportunityLossParity,
    LossParity,
)
from skfair.groups import Samples
from skfair.losses import LOSSES, LogisticLoss, is_of_positive_numbers
from skfair.metrics import (
    equal_opportunity_loss_difference,
    equalized_odds_loss_difference,
    get_scorer,
    largest_group_loss,
    loss_parity_difference,
)
from skfair.surrogates import Sigmoid


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=60), rng.integers(2, size=60), rng.integers(3, size=60)


@pytest.mark.parametrize("loss", [one for one in LOSSES if not is_of_positive_numbers(one)])
def test_the_metric_equals_the_gap_of_the_constraint(loss, data):
    scores, y, groups = data
    target = np.where(y == 1, 1.0, -1.0)
    those = Samples(target, check_groups(groups, 60), np.ones(60))
    bound = LossParity(loss=loss).bind(those, Sigmoid(), LogisticLoss(), 0.1)
    difference = loss_parity_difference(y, scores, sensitive_features=groups, loss=loss)
    assert difference == pytest.approx(bound.value(scores), rel=1e-12)


def test_integer_weights_repeat_rows_and_zero_weights_are_absent(data):
    scores, y, groups = data
    weights = np.arange(60) % 3
    rows = np.repeat(np.arange(60), weights)
    assert_allclose(
        loss_parity_difference(y, scores, sensitive_features=groups, sample_weight=weights),
        loss_parity_difference(y[rows], scores[rows], sensitive_features=groups[rows]),
        rtol=1e-12,
    )


@pytest.mark.filterwarnings("ignore:There is one group")
def test_one_group_and_wrong_names():
    assert loss_parity_difference([0, 1], [0.0, 3.0], sensitive_features=["a", "a"]) == 0.0
    with pytest.raises(ValueError, match="must be one of .*squared_hinge.*got 'cubic'"):
        loss_parity_difference([0, 1], [0.0, 3.0], sensitive_features=["a", "b"], loss="cubic")
    with pytest.raises(ValueError, match="y_score"):
        loss_parity_difference([0, 1], [0.0, np.nan], sensitive_features=["a", "b"])


def test_the_scorer_takes_the_decision_function(data):
    scores, y, groups = data
    model = LogisticRegression().fit(scores[:, np.newaxis], y)
    difference = get_scorer("neg_loss_parity_difference")(
        model, scores[:, np.newaxis], y, sensitive_features=groups
    )
    decisions = model.decision_function(scores[:, np.newaxis])
    assert -difference == loss_parity_difference(y, decisions, sensitive_features=groups)


GAPS = {
    LossParity: loss_parity_difference,
    EqualOpportunityLossParity: equal_opportunity_loss_difference,
    EqualizedOddsLossParity: equalized_odds_loss_difference,
}
METHODS = {
    "groups": "between_groups",
    "overall": "to_overall",
    "above_overall": "above_overall",
}


@pytest.mark.parametrize("reference", METHODS)
@pytest.mark.parametrize("constraint", GAPS)
def test_every_comparison_is_that_of_the_constraint(constraint, reference, data):
    scores, y, groups = data
    target = np.where(y == 1, 1.0, -1.0)
    weights = np.arange(60) % 3 + 1.0
    those = Samples(target, check_groups(groups, 60), weights)
    spec = constraint(loss="hinge", reference=reference)
    bound = spec.bind(those, Sigmoid(), LogisticLoss(), 0.1)
    metadata = {"sensitive_features": groups, "sample_weight": weights}
    difference = GAPS[constraint](y, scores, loss="hinge", method=METHODS[reference], **metadata)
    assert difference == pytest.approx(bound.value(scores), rel=1e-12, abs=1e-14)


def test_the_largest_group_loss_is_that_of_the_constraint(data):
    scores, y, groups = data
    those = Samples(np.where(y == 1, 1.0, -1.0), check_groups(groups, 60), np.ones(60))
    bound = BoundedGroupLoss(0.5).bind(those, Sigmoid(), LogisticLoss(), 0.1)
    difference = largest_group_loss(y, scores, sensitive_features=groups)
    assert difference == pytest.approx(bound.value(scores), rel=1e-12)


def test_by_hand():
    # Squared hinge losses: a: positive (1 - 0)^2 = 1, negative (1 - 2)^2 = 0; b: 0 and 4.
    y = [1, 0, 1, 0]
    scores = [0.0, -2.0, 1.0, 1.0]
    group = list("aabb")
    metadata = {"sensitive_features": group, "loss": "squared_hinge"}
    scale = loss_parity_difference(y, scores, **metadata) / (4 / 2 - 1 / 2)  # 1, or 1/2 if halved
    assert equal_opportunity_loss_difference(y, scores, **metadata) == pytest.approx(scale * 1)
    assert equalized_odds_loss_difference(y, scores, **metadata) == pytest.approx(scale * 4)
    mean = equalized_odds_loss_difference(y, scores, agg="mean", **metadata)
    assert mean == pytest.approx(scale * (1 + 4) / 2)
    assert largest_group_loss(y, scores, **metadata) == pytest.approx(scale * 4 / 2)


def test_a_group_without_positives_is_named_and_left_out():
    y = [1, 0, 1, 0, 0, 0]
    scores = np.zeros(6)
    group = list("aabbcc")
    with pytest.warns(UserWarning, match="1 of 3 groups have no samples of a class.*'c'"):
        assert equal_opportunity_loss_difference(y, scores, sensitive_features=group) == 0
