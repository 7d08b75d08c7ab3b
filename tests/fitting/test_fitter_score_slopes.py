"""Around classifiers, decisions and ranks rise with the score, whatever groups are probable."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skfair._fitting.fitter import SlopeRows, Slopes
from skfair._problems.linear import LinearModel
from skfair.classification import ConstrainedClassifierCV
from skfair.constraints import BoundedGroupLoss, LossParity, PartialStatisticalParity


def test_slopes_are_raised_by_the_least_that_suffices():
    # Slopes a + b and a - b of one score, and c of another.
    slopes = Slopes(np.array([[1.0, 1, 0], [1, -1, 0], [0, 0, 2]]), np.array([0, 0, 2]))
    assert slopes.are_allowed(np.array([1.0, -1.0, 0.0]))
    assert not slopes.are_allowed(np.array([1.0, -1.5, 0.0]))
    np.testing.assert_array_equal(slopes.raise_slopes(np.array([1.0, -1.5, -3.0])), [1.5, -1.5, 0])
    np.testing.assert_array_equal(slopes.raise_slopes(np.array([-1.0, 0.0, 4.0])), [0, 0, 4])


def test_rows_of_slopes_are_forms_of_the_parameters():
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 3)) * [1.0, 10.0, 0.1] + [5.0, 0.0, 1.0]
    model = LinearModel.from_features(np.column_stack((X, X[:, 0])), np.ones(50))
    forms = np.array([[1.0, 0, 0, 1, 0], [0, -4, 2, 0, 0]])
    rows = SlopeRows(forms, model)
    # Parameters of equal scores have equal slopes: two columns are equal.
    parameters = random.normal(size=5)
    values = rows(model.scores(parameters), rows.initial_aux(None))
    expected = [parameters[0] + parameters[3], parameters[2] / 2 - parameters[1]]
    np.testing.assert_allclose(values.values, expected, rtol=1e-9)
    by_parameters = values.jacobian.means_to_rows @ (values.jacobian.basis @ rows.columns.T)
    np.testing.assert_allclose(by_parameters @ parameters, expected, rtol=1e-9)


def draw(seed, n_samples=300):
    """Samples whose outcome and group the same feature predicts, so that bounds cost much."""
    random = np.random.default_rng(seed)
    groups = random.choice(["a", "b", "c"][: 2 + seed % 2], n_samples)
    X = random.normal(size=(n_samples, 2)) + 2.0 * (groups == "a")[:, np.newaxis]
    y = X[:, 0] + random.normal(size=n_samples) > 0.5 + 0.5 * (groups == "b")
    return X, y, groups


@pytest.mark.parametrize("knows_groups", [False, True])
@pytest.mark.parametrize(
    "constraint, tolerance",
    [
        (PartialStatisticalParity((0.1, 0.5)), 0.02),
        (LossParity(), 0.02),
        (BoundedGroupLoss(0.3), None),
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_scores_of_equal_probabilities_of_groups_keep_their_order(
    constraint, tolerance, knows_groups, seed
):
    X, y, groups = draw(seed)
    settings = {"group_estimator": "sensitive_features"} if knows_groups else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ConstrainedClassifierCV(
            LogisticRegression(), constraint, tolerance=tolerance, cv=3, **settings
        ).fit(X, y, sensitive_features=groups)
    # Log-odds from -4 to 4 with the same probabilities of groups, of all pure and mixed ones.
    features = model._event_features
    n_subsets, n_codes = features.table.shape[1:3]
    odds = np.linspace(-4, 4, 9)[:, np.newaxis]
    random = np.random.default_rng(0)
    for share in [*np.eye(n_codes), *random.dirichlet(np.ones(n_codes), 5)]:
        probabilities = np.broadcast_to(share, (len(odds), n_subsets, n_codes))
        rows = features.features(odds, probabilities)[0]
        if "positives" in [source for _, source in features.sources]:
            continue  # weights of events vary with the odds: slopes are tested below
        assert (np.diff(rows @ model.rule_coef_) >= -1e-9).all()
    slopes = features.score_slopes()[0] @ model.rule_coef_
    assert (slopes >= -1e-9 * np.abs(model.rule_coef_).max()).all()


@pytest.mark.parametrize("seed", [0, 1])
def test_bounds_are_kept_where_the_solver_alone_would_reverse_a_score(seed):
    random = np.random.default_rng(seed)
    groups = random.choice(["a", "b", "c"], 500, p=[0.5, 0.3, 0.2])
    X = random.normal(size=(500, 4))
    X[:, 0] += groups == "b"
    X[:, 1] -= groups == "c"
    y = X[:, 0] + X[:, 1] + X[:, 2] * X[:, 3] + random.logistic(size=500) > 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ConstrainedClassifierCV(
            LogisticRegression(), LossParity(), tolerance=0.015, cv=3
        ).fit(X, y, sensitive_features=groups)
    assert model.constraint_violation_ == 0.0
    odds = model.oof_decision_function_
    losses = np.logaddexp(0.0, np.where(y, -odds, odds))
    means = [losses[groups == one].mean() for one in "abc"]
    assert max(means) - min(means) <= 0.015 + 1e-6
