"""Any classifier under constraints: what its decisions keep, and on whom."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from skfair.classification import ConstrainedClassifierCV
from skfair.constraints import (
    CONSTRAINTS,
    BoundedGroupLoss,
    ConditionalDemographicParity,
    DemographicParity,
    EqualizedOdds,
    PartialStatisticalParity,
)
from skfair.metrics import METRICS, demographic_parity_difference

BASE = LogisticRegression()
DECISIONS = [
    "demographic_parity",
    "equal_opportunity",
    "false_positive_rate_parity",
    "equalized_odds",
    "error_rate_parity",
]


def draw(n_samples, seed):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], p=[0.5, 0.3, 0.2], size=n_samples)
    X = rng.normal(size=(n_samples, 4))
    X[:, 0] += group == "b"
    X[:, 1] -= group == "c"
    y = (X[:, 0] + X[:, 1] + X[:, 2] * X[:, 3] + rng.logistic(size=n_samples) > 0.3).astype(int)
    return X, y, group


@pytest.fixture(scope="module")
def people():
    return draw(1500, 0)


@pytest.fixture(scope="module")
def strangers():
    return draw(6000, 1)


def fit(people, constraint="demographic_parity", estimator=BASE, **params):
    X, y, group = people
    params = {"tolerance": 0.05, "cv": 3} | params
    return ConstrainedClassifierCV(estimator, constraint, **params).fit(
        X, y, sensitive_features=group
    )


def gap(metric, people, scores):
    _, y, group = people
    return METRICS[metric](y, (scores > 0).astype(int), sensitive_features=group)


# What is kept -------------------------------------------------------------------------


@pytest.mark.parametrize("constraint", DECISIONS)
def test_decisions_about_unseen_people_keep_the_tolerance(people, constraint):
    model = fit(people, constraint, tolerance=0.03)
    metric = CONSTRAINTS[constraint].metric
    assert gap(metric, people, model.oof_scores_) <= 0.03
    plain = fit(people, None)
    assert gap(metric, people, plain.oof_scores_) > 0.03
    assert model.multipliers_.any()
    assert model.status_ in ("optimal", "feasible")
    assert model.constraint_violation_ == 0.0
    report = model.constraint_report_
    assert report["gap"].iloc[0] == pytest.approx(gap(metric, people, model.oof_scores_))
    assert set(report["group"]) == {"a", "b", "c"}


@pytest.mark.slow
@pytest.mark.parametrize("constraint", sorted(set(CONSTRAINTS) - set(DECISIONS)))
def test_every_other_constraint_is_kept(people, constraint):
    model = fit(people, constraint, tolerance=0.1)
    plain = fit(people, None)
    assert model.constraint_violation_ == 0.0
    kept = model.constraint_report_["gap"].iloc[0]
    assert kept <= 0.1 + 1e-6
    metric = METRICS[CONSTRAINTS[constraint].metric]
    if metric.kind == "score":
        group = people[2]
        assert metric(model.oof_scores_, sensitive_features=group) == pytest.approx(kept)
        assert metric(plain.oof_scores_, sensitive_features=group) > 0.1


def test_bounded_group_loss(people):
    plain = fit(people, BoundedGroupLoss(10.0)).constraint_report_["rate"]
    bound = 0.9 * plain.max() + 0.1 * plain.median()
    model = fit(people, BoundedGroupLoss(bound))
    assert model.constraint_report_["rate"].max() <= bound + 1e-6


@pytest.mark.slow
def test_several_constraints_each_keep_their_own_tolerance(people):
    parity = DemographicParity(tolerance=0.1)
    model = fit(people, [parity, EqualizedOdds(tolerance=0.06)])
    assert gap("demographic_parity_difference", people, model.oof_scores_) <= 0.1
    assert gap("equalized_odds_difference", people, model.oof_scores_) <= 0.06
    both = fit(people, [parity, PartialStatisticalParity((0.1, 0.5), tolerance=0.2)])
    assert both.constraint_violation_ == 0.0
    # Both look at the probabilities of two groups; where ranks are compared, scores are stretched.
    assert len(fit(people, parity).coef_) == 1 + 2
    assert len(both.coef_) == 1 + 2 + 2


def test_people_are_compared_within_strata(people):
    X, y, group = people
    frame = pd.DataFrame(X, columns=list("pqrs"))
    constraint = ConditionalDemographicParity(lambda X: X["r"] > 0)
    model = fit((frame, y, group), constraint)
    for stratum in (False, True):
        own = (X[:, 2] > 0) == stratum
        found = demographic_parity_difference(
            y[own], model.oof_scores_[own] > 0, sensitive_features=group[own]
        )
        assert found <= 0.05
    assert len(model.coef_) == 1 + 2 * 2  # groups in strata, whose probabilities are learned


def test_groups_may_overlap(people):
    X, y, group = people
    members = sparse.csr_array(np.column_stack((group == "b", X[:, 3] > 0)))
    model = fit((X, y, members))
    assert (
        demographic_parity_difference(y, model.oof_scores_ > 0, sensitive_features=members) <= 0.05
    )


def test_groups_of_every_attribute(people):
    X, y, group = people
    two = np.column_stack((group, np.where(X[:, 3] > 0, "m", "f")))
    model = fit((X, y, two), DemographicParity(attributes="each"))
    for attribute in two.T:
        found = demographic_parity_difference(
            y, model.oof_scores_ > 0, sensitive_features=attribute
        )
        assert found <= 0.05


@pytest.mark.slow
def test_new_people_are_treated_alike_too(strangers):
    boosting = HistGradientBoostingClassifier(max_iter=30, random_state=0)
    new = draw(30000, 2)
    X, y, _ = new
    model = fit(strangers, estimator=boosting)
    # Of 1,200 people of the smallest group a rate has a standard error of .014 at the fit.
    assert gap("demographic_parity_difference", new, model.decision_function(X)) <= 0.05 + 0.02
    plain = clone(boosting).fit(*strangers[:2])
    assert gap("demographic_parity_difference", new, plain.predict(X)) > 0.3
    # What is lost of accuracy is less than by giving everybody the same answer.
    assert np.mean(model.predict(X) == y) > max(y.mean(), 1 - y.mean()) + 0.09


def test_scores_of_those_who_were_learned_by_heart_promise_nothing(people, strangers):
    X, y, group = people
    tree = DecisionTreeClassifier(random_state=0)
    by_heart = fit(people, "equalized_odds", FrozenEstimator(clone(tree).fit(X, y)))
    unseen = fit(people, "equalized_odds", tree, cv=5, ensemble=False)
    excess = [
        gap("equalized_odds_difference", strangers, model.decision_function(strangers[0]))
        for model in (by_heart, unseen)
    ]
    assert excess[0] > 1.5 * excess[1]


def test_the_head_is_better_than_other_thresholds(people):
    """Decisions look at who may be of which group: that errs less than one threshold for all."""
    X, y, group = people
    model = fit(people, "demographic_parity", tolerance=0.02)
    odds = fit(people, None).oof_scores_
    order = np.sort(odds)
    alone = [
        np.mean((odds > t) == y)
        for t in order[::5]
        if demographic_parity_difference(y, odds > t, sensitive_features=group) <= 0.02
    ]
    assert np.mean((model.oof_scores_ > 0) == y) > max(alone) + 0.015


# Who decides --------------------------------------------------------------------------


def test_decisions_do_not_ask_for_the_group(people, strangers):
    model = fit(people)
    X, _, group = strangers
    np.testing.assert_array_equal(model.predict(X), model.predict(X, sensitive_features=group))
    # One by one as all together.
    np.testing.assert_allclose(
        [model.decision_function(row[np.newaxis])[0] for row in X[:5]],
        model.decision_function(X)[:5],
    )
    again = fit(people)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_a_group_that_is_given_is_used(people, strangers):
    model = fit(people, "equalized_odds", group_estimator="sensitive_features", tolerance=0.02)
    X, y, group = strangers
    scores = model.decision_function(X, sensitive_features=group)
    assert gap("equalized_odds_difference", people, model.oof_scores_) <= 0.02
    swapped = np.where(group == "a", "b", "a")
    assert (model.predict(X, sensitive_features=swapped) != (scores > 0)).any()
    with pytest.raises(ValueError, match=r"as in predict\(X, sensitive_features=\.\.\.\)"):
        model.predict(X)
    blind = fit(people, "equalized_odds", tolerance=0.02)
    assert np.mean((model.oof_scores_ > 0) == people[1]) >= np.mean(
        (blind.oof_scores_ > 0) == people[1]
    )


def test_a_group_estimator_of_ones_own(people):
    model = fit(people, group_estimator=LogisticRegression())
    assert model.constraint_violation_ == 0.0
    learned = model._event_features.models[0].group_models[0]
    assert isinstance(learned, LogisticRegression)


def test_probabilities_agree_with_decisions_and_stay_calibrated(people, strangers):
    X, y, _ = strangers
    model, plain = fit(people), fit(people, None)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probability.argmax(axis=1), model.predict(X))
    shifted = log_loss(y, expit(model.decision_function(X)))
    assert log_loss(y, probability) < shifted
    assert log_loss(y, plain.predict_proba(X)) < log_loss(y, probability)
    np.testing.assert_allclose(plain.predict_proba(X)[:, 1].mean(), y.mean(), atol=0.03)


def test_scores_are_log_odds_less_those_of_the_threshold(people):
    model = fit(people)
    assert model.coef_[0] == 1.0
    decided = model.predict(people[0]) == 1
    assert ((model.decision_function(people[0]) > 0) == decided).all()


def test_the_positive_class_may_be_the_first(people):
    X, y, group = people
    words = np.array(["yes", "no"])[y]
    success = ConstrainedClassifierCV(BASE, "equal_opportunity", cv=3, pos_label="no")
    success.fit(X, words, sensitive_features=group)
    model = fit(people, "equal_opportunity", tolerance=0.02)
    np.testing.assert_array_equal(success.predict(X) == "no", model.predict(X) == 1)
    assert success.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(success.decision_function(X), -model.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(success.oof_scores_, -model.oof_scores_, atol=1e-6)
    np.testing.assert_allclose(
        success.predict_proba(X)[:, 0], model.predict_proba(X)[:, 1], atol=1e-6
    )


# Whose scores -------------------------------------------------------------------------


def test_a_frozen_classifier_stays_as_it_is(people, strangers):
    boosting = HistGradientBoostingClassifier(max_iter=20).fit(*strangers[:2])
    model = fit(people, estimator=FrozenEstimator(boosting), cv=5)
    assert model.estimators_[0].estimator is boosting
    calibrated = fit(people, None, FrozenEstimator(boosting)).oof_scores_
    assert np.corrcoef(boosting.decision_function(people[0]), calibrated)[0, 1] > 1 - 1e-9
    prefit = fit(people, estimator=boosting, cv="prefit")
    X = strangers[0]
    assert prefit.estimators_ == [boosting]
    np.testing.assert_array_equal(prefit.predict(X), model.predict(X))  # by the same folds


def test_a_forest_is_fitted_once_and_scores_those_out_of_its_bags(people, strangers):
    class Counted(RandomForestClassifier):
        fits = 0

        def fit(self, X, y, sample_weight=None):
            Counted.fits += 1
            return super().fit(X, y, sample_weight)

    model = fit(people, estimator=Counted(n_estimators=60, random_state=0), cv="oob")
    assert Counted.fits == 1
    assert gap("demographic_parity_difference", people, model.oof_scores_) <= 0.05
    # Its training samples are memorised: their scores show nothing.
    assert np.mean(model.estimators_[0].predict(people[0]) == people[1]) > 0.99
    assert np.mean((model.oof_scores_ > 0) == people[1]) < 0.8


@pytest.mark.parametrize("cv", [4, StratifiedKFold(4, shuffle=True, random_state=0)], ids=str)
def test_one_classifier_per_fold_or_one_of_all(people, cv):
    X = people[0]
    ensemble = fit(people, cv=cv)
    assert len(ensemble.estimators_) == 4
    mean = np.mean([one.decision_function(X) for one in ensemble.estimators_], axis=0)
    single = fit(people, cv=cv, ensemble=False)
    assert len(single.estimators_) == 1
    np.testing.assert_array_equal(single.oof_scores_, ensemble.oof_scores_)
    np.testing.assert_array_equal(single.estimators_[0].coef_, clone(BASE).fit(X, people[1]).coef_)
    np.testing.assert_allclose(mean, single.estimators_[0].decision_function(X), atol=0.2)


# Weights ------------------------------------------------------------------------------


def test_people_without_weight_are_absent(people):
    X, y, group = people
    weights = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0 + (np.arange(len(y)) % 3))
    model = ConstrainedClassifierCV(BASE, tolerance=0.05, cv=3)
    model.fit(X, y, sensitive_features=group, sample_weight=weights)
    assert np.isnan(model.oof_scores_).tolist() == (weights == 0).tolist()
    there = weights > 0
    found = demographic_parity_difference(
        y[there],
        model.oof_scores_[there] > 0,
        sensitive_features=group[there],
        sample_weight=weights[there],
    )
    assert found <= 0.05
    others = clone(model).fit(
        X[there], y[there], sensitive_features=group[there], sample_weight=weights[there]
    )
    np.testing.assert_array_equal(others.predict(X), model.predict(X))
