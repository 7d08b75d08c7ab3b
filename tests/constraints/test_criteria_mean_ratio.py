"""MeanParity(ratio=...): ratios of mean predictions, such as premiums."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, PoissonRegressor

from skfair.audit import Audit
from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import MeanErrorParity, MeanParity
from skfair.regression import ConstrainedERMRegressor, ConstrainedRegressorCV


def draw(n_samples=600, seed=0, n_groups=2):
    rng = np.random.default_rng(seed)
    group = rng.integers(n_groups, size=n_samples)
    X = np.column_stack((rng.normal(size=(n_samples, 2)), group + 0.5 * rng.normal(size=n_samples)))
    premium = 100.0 * rng.gamma(4.0, np.exp(0.2 * X[:, 0] + 0.3 * group) / 4.0)
    return X, premium, np.array(["a", "b", "c"])[group]


def mean_ratio(predictions, group):
    means = [predictions[group == one].mean() for one in np.unique(group)]
    return min(means) / max(means)


@pytest.mark.parametrize("ratio", [0.9, 1.0])
def test_the_linear_fit_is_the_projection_onto_the_bound(ratio):
    X, y, group = draw()
    model = ConstrainedERMRegressor(MeanParity(ratio=ratio), alpha=0.0)
    predictions = model.fit(X, y, sensitive_features=group).predict(X)
    # Least squares under the equation mean_a = ratio * mean_b, by its normal equations.
    design = np.column_stack((np.ones(len(X)), X))
    row = design[group == "a"].mean(axis=0) - ratio * design[group == "b"].mean(axis=0)
    matrix = np.block([[design.T @ design, row[:, np.newaxis]], [row, np.zeros(1)]])
    coef = np.linalg.solve(matrix, np.append(design.T @ y, 0.0))[:-1]
    np.testing.assert_allclose(predictions, design @ coef, rtol=1e-3)
    assert mean_ratio(predictions, group) >= ratio - 1e-9
    assert model.constraint_report_["gap"][0] == pytest.approx(ratio, abs=1e-5)


@pytest.mark.parametrize("base", [LinearRegression(), PoissonRegressor()])
def test_out_of_fold_predictions_of_any_regressor_keep_the_ratio(base):
    X, y, group = draw(n_groups=3)
    model = ConstrainedRegressorCV(base, MeanParity(ratio=0.95))
    model.fit(X, y, sensitive_features=group)
    assert mean_ratio(model.oof_prediction_, group) >= 0.95 - 1e-9
    plain = ConstrainedRegressorCV(base, None).fit(X, y, sensitive_features=group)
    assert mean_ratio(plain.oof_prediction_, group) < 0.9
    report = model.constraint_report_
    assert report["tolerance"].tolist() == [0.95] * 3
    assert report["gap"][0] == pytest.approx(mean_ratio(model.oof_prediction_, group))


def test_the_ratio_does_not_depend_on_the_currency():
    X, y, group = draw()
    predictions = [
        ConstrainedERMRegressor(MeanParity(ratio=0.9)).fit(X, c * y, sensitive_features=group)
        for c in (1.0, 1000.0)
    ]
    first, second = (one.predict(X) for one in predictions)
    np.testing.assert_allclose(1000.0 * first, second, rtol=1e-4)


def test_ratios_of_mean_probabilities():
    X, y, group = draw()
    model = ConstrainedERMClassifier(MeanParity(ratio=0.9))
    probabilities = model.fit(X, y > 100.0, sensitive_features=group).predict_proba(X)[:, 1]
    assert mean_ratio(probabilities, group) >= 0.9 - 1e-6


def audit_of(ratio, seed, n_samples=800):
    rng = np.random.default_rng(seed)
    group = np.where(rng.random(n_samples) < 0.4, "a", "b")
    premium = rng.gamma(4.0, 25.0, size=n_samples) * np.where(group == "a", ratio, 1.0)
    return Audit.from_predictions(premium + 1.0, premium, sensitive_features=group)


def test_claims_state_the_ratio():
    claim = audit_of(1.0, 0, 5000).certify(MeanParity(ratio=0.95))
    assert claim.findings[0] == (
        "Shown: the smallest mean prediction of a group is at least 0.95 times the largest."
    )
    assert claim.unit == "ratio"


@pytest.mark.slow
def test_claims_are_rarely_wrong_at_the_bound():
    verdicts = [audit_of(0.95, seed).certify(MeanParity(ratio=0.95)).verdict for seed in range(40)]
    # 5 % of 40 and three standard errors.
    assert verdicts.count("shown") <= 6
    assert verdicts.count("contradicted") <= 6
    shown = [audit_of(1.0, seed).certify(MeanParity(ratio=0.9)).verdict for seed in range(10)]
    assert shown.count("shown") >= 7


def test_negative_numbers_have_no_ratio():
    X, y, group = draw()
    for model in (ConstrainedERMRegressor, ConstrainedRegressorCV):
        with pytest.raises(ValueError, match="never negative, but the smallest target is -"):
            model(constraint=MeanParity(ratio=0.9)).fit(X, y - 100.0, sensitive_features=group)
    audit = Audit.from_predictions(y, -y, sensitive_features=group)
    with pytest.raises(ValueError, match="means above 0, such as those of losses or premiums"):
        audit.certify(MeanParity(ratio=0.9))
    hinge = ConstrainedERMClassifier(MeanParity(ratio=0.9), loss="hinge")
    with pytest.raises(ValueError, match="this loss gives no probabilities"):
        hinge.fit(X, y > 100.0, sensitive_features=group)


def test_a_ratio_stands_in_place_of_a_tolerance_and_of_all_groups():
    X, y, group = draw()
    for constraint, message in (
        (MeanParity(ratio=0.9, tolerance=1.0), "has both; pass one of them"),
        (MeanParity(ratio=0.9, reference="overall"), "with\n? ?reference="),
    ):
        with pytest.raises(ValueError, match=message):
            ConstrainedERMRegressor(constraint).fit(X, y, sensitive_features=group)
    with pytest.raises(TypeError, match="ratio"):
        MeanErrorParity(ratio=0.9)
