"""Splitters that leave samples without a prediction: these train classifiers alone."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, PredefinedSplit, TimeSeriesSplit

from skfair.classification import ConstrainedClassifierCV
from skfair.conformal import ConformalClassifier
from skfair.metrics import demographic_parity_difference, mean_score_difference
from skfair.regression import ConstrainedRegressorCV


def draw(n_samples=600, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.integers(2, size=n_samples)
    X = rng.normal(size=(n_samples, 3))
    X[:, 0] += groups
    y = (X[:, 0] + X[:, 1] + rng.logistic(size=n_samples) > 0.5).astype(int)
    return X, y, groups


X, Y, GROUPS = draw()
PREDEFINED = PredefinedSplit(np.repeat([-1, 0, 1], 200))
HOLD_OUT = PredefinedSplit(np.repeat([-1, 0], [350, 250]))
SPLITTERS = {
    "time": (TimeSeriesSplit(4), np.arange(600) >= 120),
    "predefined": (PREDEFINED, np.arange(600) >= 200),
    "hold-out": (HOLD_OUT, np.arange(600) >= 350),
}
"""Splitters, and the samples that a fold predicts."""

every_splitter = pytest.mark.parametrize("cv, is_tested", SPLITTERS.values(), ids=SPLITTERS)


@every_splitter
@pytest.mark.parametrize("group_estimator", [None, "sensitive_features"])
def test_the_bound_is_kept_on_the_samples_that_a_fold_predicts(cv, is_tested, group_estimator):
    model = ConstrainedClassifierCV(
        LogisticRegression(), tolerance=0.05, cv=cv, group_estimator=group_estimator
    ).fit(X, Y, sensitive_features=GROUPS)
    assert np.array_equal(np.isfinite(model.oof_decision_function_), is_tested)
    decisions = model.oof_decision_function_[is_tested] > 0
    gap = demographic_parity_difference(
        Y[is_tested], decisions, sensitive_features=GROUPS[is_tested]
    )
    assert gap <= 0.05 + 1e-12 and model.status_ in ("optimal", "feasible")
    assert model.groups_.counts == np.bincount(GROUPS[is_tested]).tolist()
    assert len(model.estimators_) == cv.get_n_splits(X)


@every_splitter
def test_scores_are_those_of_the_classifiers_of_the_folds(cv, is_tested):
    model = ConstrainedClassifierCV(LogisticRegression(), constraint=None, cv=cv)
    model.fit(X, Y)
    slope, intercept = model.calibration_
    for (train, test), fitted in zip(cv.split(X), model.estimators_, strict=True):
        by_hand = LogisticRegression().fit(X[train], Y[train])
        np.testing.assert_allclose(fitted.coef_, by_hand.coef_)
        odds = slope * by_hand.decision_function(X[test]) + intercept
        # Without a constraint the rule is the calibrated log-odds, above the base's own threshold.
        difference = model.oof_decision_function_[test] - odds
        assert np.ptp(difference) < 1e-9


def test_one_model_of_all_samples_is_fitted_to_those_that_no_fold_predicts_too():
    for cv, _ in SPLITTERS.values():
        model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.1, cv=cv, ensemble=False)
        model.fit(X, Y, sensitive_features=GROUPS)
        (fitted,) = model.estimators_
        np.testing.assert_allclose(fitted.coef_, LogisticRegression().fit(X, Y).coef_)


def test_a_partition_in_another_order_is_as_before():
    folds = list(KFold(3).split(X))
    models = [
        ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05, cv=cv).fit(
            X, Y, sensitive_features=GROUPS
        )
        for cv in (KFold(3), folds)
    ]
    scores = [model.oof_decision_function_ for model in models]
    np.testing.assert_array_equal(*scores)


def test_weights_of_zero_and_samples_without_prediction_are_left_out_together():
    weights = (np.arange(600) % 5 > 0).astype(float)
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05, cv=TimeSeriesSplit(4))
    model.fit(X, Y, sensitive_features=GROUPS, sample_weight=weights)
    expected = (np.arange(600) >= 120) & (weights > 0)
    assert np.array_equal(np.isfinite(model.oof_decision_function_), expected)


def test_a_regressor_keeps_its_bound_on_predicted_samples():
    target = X.sum(axis=1)
    model = ConstrainedRegressorCV(LinearRegression(), tolerance=0.2, cv=TimeSeriesSplit(4))
    model.fit(X, target, sensitive_features=GROUPS)
    is_tested = np.arange(600) >= 120
    assert np.array_equal(np.isfinite(model.oof_prediction_), is_tested)
    gap = mean_score_difference(
        model.oof_prediction_[is_tested], sensitive_features=GROUPS[is_tested]
    )
    assert gap <= 0.2 + 1e-6


@pytest.mark.parametrize("n_classes", [2, 3])
def test_several_classes(n_classes):
    y = Y if n_classes == 2 else Y + (X[:, 2] > 0.5)
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.2, cv=TimeSeriesSplit(3))
    model.fit(X, y, sensitive_features=GROUPS)
    assert np.isfinite(model.oof_decision_function_[150:]).all()
    assert np.isnan(model.oof_decision_function_[:150]).all()


def test_conformal_sets_need_a_partition():
    with pytest.raises(ValueError, match="no partition of the samples"):
        ConformalClassifier(LogisticRegression(), coverage=0.5, cv=TimeSeriesSplit(3)).fit(
            X, Y, sensitive_features=GROUPS
        )


def test_the_frozen_model_of_the_guide_is_the_same_rule():
    """A model of the first months, in folds or frozen: one hold-out set gives one rule."""
    early, late = np.arange(350), np.arange(350, 600)
    frozen = LogisticRegression().fit(X[early], Y[early])
    alone = ConstrainedClassifierCV(frozen, tolerance=0.05, cv="prefit")
    alone.fit(X[late], Y[late], sensitive_features=GROUPS[late], X_fit=X[early])
    split = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05, cv=HOLD_OUT)
    split.fit(X, Y, sensitive_features=GROUPS)
    np.testing.assert_allclose(
        split.oof_decision_function_[late], alone.oof_decision_function_, atol=1e-9
    )
