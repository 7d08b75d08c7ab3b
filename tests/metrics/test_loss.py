"""Differences of mean losses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from skfair.constraints import LossParity, People, Rates
from skfair.losses import LOSSES, LogisticLoss
from skfair.metrics import get_scorer, loss_parity_difference
from skfair.surrogates import Sigmoid, Step
from skfair.utils._groups import check_groups


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    return rng.normal(size=60), rng.integers(2, size=60), rng.integers(3, size=60)


@pytest.mark.parametrize("loss", LOSSES)
def test_it_is_what_the_constraint_bounds(loss, people):
    scores, y, groups = people
    target, rates = np.where(y == 1, 1.0, -1.0), Rates(Sigmoid(), LogisticLoss())
    those = People(target, check_groups(groups, 60), np.ones(60))
    bound = LossParity(loss=loss).bind(those, rates, Rates(Step(), rates.loss), 0.1)
    found = loss_parity_difference(y, scores, sensitive_features=groups, loss=loss)
    assert found == pytest.approx(bound.gap(scores), rel=1e-12)


def test_integer_weights_repeat_rows_and_zero_weights_are_absent(people):
    scores, y, groups = people
    weights = np.arange(60) % 3
    rows = np.repeat(np.arange(60), weights)
    assert_allclose(
        loss_parity_difference(y, scores, sensitive_features=groups, sample_weight=weights),
        loss_parity_difference(y[rows], scores[rows], sensitive_features=groups[rows]),
        rtol=1e-12,
    )


def test_one_group_and_wrong_names():
    assert loss_parity_difference([0, 1], [0.0, 3.0], sensitive_features=["a", "a"]) == 0.0
    with pytest.raises(ValueError, match="must be one of .*squared_hinge.* but 'cubic' came"):
        loss_parity_difference([0, 1], [0.0, 3.0], sensitive_features=["a", "b"], loss="cubic")
    with pytest.raises(ValueError, match="y_score"):
        loss_parity_difference([0, 1], [0.0, np.nan], sensitive_features=["a", "b"])


def test_the_scorer_takes_the_decision_function(people):
    scores, y, groups = people
    model = LogisticRegression().fit(scores[:, np.newaxis], y)
    found = get_scorer("neg_loss_parity_difference")(
        model, scores[:, np.newaxis], y, sensitive_features=groups
    )
    decisions = model.decision_function(scores[:, np.newaxis])
    assert -found == loss_parity_difference(y, decisions, sensitive_features=groups)
