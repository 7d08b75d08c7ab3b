"""Whether any decisions keep a list of constraints."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from skfair._bound.bound import ConstraintSystem
from skfair._groups import check_groups
from skfair._postprocessing.events import sums_and_changes
from skfair._postprocessing.feasibility import find_conflict
from skfair.classification import ConstrainedClassifierCV
from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    MaximumRate,
    MinimumRate,
    RateParity,
)
from skfair.constraints._constraint import bind_all, fill_tolerance
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid


def _bind(constraints, y, group, tolerance=0.0):
    samples = Samples(2.0 * y - 1.0, check_groups(group, len(y)), np.ones(len(y)))
    filled = [fill_tolerance(one, tolerance) for one in constraints]
    bound = bind_all(filled, [samples], Sigmoid(), LogisticLoss())
    return ConstraintSystem(tuple(bound[0]))


def _share_successes(shares, n_per_group):
    """Samples whose out-of-fold probabilities are the exact shares of their groups.

    Returns classes, groups, weights, outcomes and the probabilities of these.
    """
    y = np.concatenate([np.arange(n_per_group) < share * n_per_group for share in shares])
    group = np.repeat(np.arange(len(shares)), n_per_group)
    success = np.asarray(shares)[group][:, np.newaxis]
    one_hot = np.eye(len(shares))[group]
    chances = np.hstack((one_hot * (1.0 - success), one_hot * success))
    outcomes = group + len(shares) * y
    return y.astype(float), group, np.full(len(y), 1.0 / len(y)), outcomes, chances


def test_floors_of_recall_and_specificity_without_information():
    # Accepting a share p at random gives recall p and specificity 1 - p: the best excess of two
    # floors of .9 is .4, and either floor must be lowered by .8 to keep the other.
    y, group, weights, outcomes, chances = _share_successes([0.5, 0.5], 100)
    floors = [MinimumRate("recall", 0.9), MinimumRate("specificity", 0.9)]
    conflict = find_conflict(_bind(floors, y, group), weights, outcomes, chances)
    assert conflict.excess == pytest.approx(0.4, abs=1e-6)
    assert list(conflict.relaxations.values()) == pytest.approx([0.8, 0.8], abs=1e-6)
    assert "recall" not in conflict.describe()  # constraints go by their own names
    assert "MinimumRate('true_positive_rate') by 0.8" in conflict.describe()
    assert "denominators" not in conflict.describe()


@pytest.mark.parametrize("floor", [0.4, 0.5])
def test_floors_that_chance_keeps_are_no_conflict(floor):
    y, group, weights, outcomes, chances = _share_successes([0.5, 0.5], 100)
    floors = [MinimumRate("recall", floor), MinimumRate("specificity", floor)]
    assert find_conflict(_bind(floors, y, group), weights, outcomes, chances) is None


@pytest.mark.slow
def test_precision_of_each_group_is_its_share():
    # Features say nothing beyond the group, so precision is the share of successes: .3 and .6.
    y, group, weights, outcomes, chances = _share_successes([0.3, 0.6], 100)
    parity = _bind([RateParity("precision", tolerance=0.1)], y, group)
    conflict = find_conflict(parity, weights, outcomes, chances)
    assert conflict.excess == pytest.approx(0.2, abs=5e-3)  # the gap is .3
    assert "denominators of the compared quotients" in conflict.describe()
    floor = _bind([MinimumRate("precision", 0.5)], y, group)
    conflict = find_conflict(floor, weights, outcomes, chances)
    assert conflict.excess == pytest.approx(0.2, abs=1e-3)
    assert conflict.relaxations == {floor[0].name: pytest.approx(0.2, abs=1e-3)}
    for bound in (RateParity("precision", tolerance=0.3), RateParity("precision", ratio=0.5)):
        assert find_conflict(_bind([bound], y, group), weights, outcomes, chances) is None
    bound = _bind([RateParity("precision", ratio=0.8)], y, group)
    assert find_conflict(bound, weights, outcomes, chances) is not None


def test_excess_of_three_groups_is_that_of_their_gap():
    y, group, weights, outcomes, chances = _share_successes([0.5, 0.5, 0.5], 100)
    # Selection rates are equal to recall: at least .9 in all, at most .2 in all.
    bounds = [MinimumRate("recall", 0.9), MaximumRate("selection_rate", 0.2), DemographicParity()]
    conflict = find_conflict(_bind(bounds, y, group), weights, outcomes, chances)
    assert conflict.excess == pytest.approx(0.35, abs=1e-6)
    assert len(conflict.relaxations) == 2  # parity is kept by equal rates


@pytest.mark.parametrize("constraint", [DemographicParity(), EqualizedOdds()], ids=["dp", "eo"])
def test_parity_is_always_possible(constraint):
    y, group, weights, outcomes, chances = _share_successes([0.3, 0.6], 50)
    bound = _bind([constraint], y, group)
    assert find_conflict(bound, weights, outcomes, chances) is None


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(8))
def test_smallest_excess_is_that_of_a_search_over_decisions(seed):
    """Three kinds of samples per group: a fine grid of decisions has the same smallest excess."""
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1], 60)
    kind = np.tile(np.repeat(np.arange(3), 20), 2)
    success = rng.uniform(0.1, 0.9, (2, 3))
    # Exact shares: classes agree with the probabilities.
    y = np.concatenate([np.arange(20) < round(20 * p) for p in success.ravel()]).astype(float)
    success = (np.round(20 * success) / 20)[group, kind][:, np.newaxis]
    one_hot = np.eye(2)[group]
    chances = np.hstack((one_hot * (1.0 - success), one_hot * success))
    outcomes = group + 2 * y.astype(int)
    weights = np.full(120, 1.0 / 120)
    bounds = [MinimumRate("recall", 0.9), MaximumRate("selection_rate", 0.3)]
    conflict = find_conflict(_bind(bounds, y, group), weights, outcomes, chances)

    # Groups are separate here, so each is searched alone.
    steps = np.linspace(0.0, 1.0, 41)
    decisions = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    excesses = []
    for g in (0, 1):
        p = np.array([y[(group == g) & (kind == k)].mean() for k in range(3)])
        recall = decisions @ p / p.sum()
        selection = decisions.mean(axis=1)
        excesses.append(np.maximum(0.9 - recall, selection - 0.3).min())
    assert conflict.excess == pytest.approx(max(excesses), abs=0.02)
    assert conflict.excess <= max(excesses) + 1e-6


def test_expected_sums_of_certain_outcomes_are_counts():
    rng = np.random.default_rng(0)
    y = (rng.random(200) < 0.4).astype(float)
    group = rng.integers(3, size=200)
    outcomes = group + 3 * y.astype(int)
    decisions = rng.integers(2, size=200)
    bounds = [MinimumRate("f1_score", 0.3), EqualizedOdds(), RateParity("accuracy")]
    weights = np.full(200, 1.0 / 200)
    for bound in _bind(bounds, y, group):
        constant, changes = sums_and_changes(bound, outcomes, 6, weights)
        counts = constant + changes @ np.bincount(outcomes, weights * decisions, 6)
        np.testing.assert_allclose(
            counts, bound.sums.exact_means(2.0 * decisions - 1.0), atol=1e-12
        )


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=1200)
    X = rng.normal(size=(1200, 4)) + 0.5 * group[:, np.newaxis]
    y = (X.sum(axis=1) + 2.0 * rng.normal(size=1200) > 1).astype(int)
    return X, y, group


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("group_estimator", [None, LogisticRegression()], ids=["default", "linear"])
def test_conflict_is_named_by_one_warning(noisy, group_estimator):
    X, y, group = noisy
    floors = [MinimumRate("recall", 0.9), MinimumRate("specificity", 0.9)]
    trees = HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=4, random_state=0)
    model = ConstrainedClassifierCV(trees, floors, group_estimator=group_estimator)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sensitive_features=group)
    messages = [str(one.message) for one in caught if one.category is InfeasibleConstraintWarning]
    assert sum("no decisions keep" in message for message in messages) == 1
    assert model.status_ == "infeasible"
    # The model is near the smallest excess: no rate is far from the others.
    report = model.constraint_report_
    assert model.constraint_violation_ == pytest.approx(0.9 - report["estimate"].min())
    assert report["estimate"].min() > 0.6
    assert model.multipliers_.shape == (4,)
    assert set(model.predict(X)) == {0, 1}


@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.slow
def test_list_that_decisions_keep_is_fitted_as_before(noisy):
    X, y, group = noisy
    floors = [MinimumRate("recall", 0.6), MinimumRate("specificity", 0.6)]
    trees = HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", InfeasibleConstraintWarning)
        model = ConstrainedClassifierCV(trees, floors).fit(X, y, sensitive_features=group)
    assert model.constraint_report_["estimate"].min() >= 0.6


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"missing": "at_random"}, {"confidence_level": 0.9}], ids=str)
def test_missing_groups_and_guarantees_skip_the_check_of_conflicts(noisy, settings):
    X, y, group = noisy
    if "missing" in settings:
        group = np.where(np.arange(len(y)) % 4 == 0, None, group.astype(object))
    floors = [MinimumRate("recall", 0.9), MinimumRate("specificity", 0.9)]
    model = ConstrainedClassifierCV(LogisticRegression(), floors, **settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sensitive_features=group)
    assert model.status_ == "infeasible"
    assert not any("no decisions keep" in str(one.message) for one in caught)


def test_groups_of_a_floor_that_are_too_small_do_not_count(noisy):
    X, y, group = noisy
    group = np.where(np.arange(len(y)) < 5, 2, group)  # a group of five samples
    floor = MinimumRate("recall", 0.6, min_group_size=30)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ConstrainedClassifierCV(LogisticRegression(), floor).fit(X, y, sensitive_features=group)
    assert not [one for one in caught if one.category is InfeasibleConstraintWarning]
