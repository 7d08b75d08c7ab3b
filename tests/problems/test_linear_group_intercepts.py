"""Linear models of shared coefficients with an intercept for each group."""

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import logit
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.constraints import CONSTRAINTS
from skfair.metrics import (
    METRICS,
    get_scorer,
    mean_score_difference,
    partial_statistical_parity_difference,
)
from skfair.regression import ConstrainedERMRegressor, PartialParityRegressor

# A column of the group stands for its intercepts here.
pytestmark = pytest.mark.filterwarnings(
    "ignore:X reveals the group of nearly all samples:UserWarning"
)

GAPS = {
    name: METRICS[CONSTRAINTS[name]().metric]
    for name in ("demographic_parity", "equal_opportunity", "equalized_odds")
}
ROUNDING = 1e-12
EVERY = [
    ConstrainedERMClassifier,
    ConstrainedERMRegressor,
    PartialParityClassifier,
    PartialParityRegressor,
]


def draw(seed=0, n_samples=400, n_groups=2, ties=False):
    """Features that depend on the group, and labels that depend on both."""
    rng = np.random.default_rng(seed)
    groups = np.r_[np.arange(n_groups).repeat(2), rng.integers(n_groups, size=n_samples)]
    y = rng.normal(size=len(groups)) + 0.8 * groups > 0.4 * n_groups
    y[: 2 * n_groups] = np.tile([False, True], n_groups)  # no (group, class) is empty
    X = rng.normal(size=(len(groups), 3)) + np.column_stack((groups, y, 0 * y))
    return (np.round(X) if ties else X), y.astype(int), groups


@pytest.fixture(scope="module")
def data():
    return draw()


def model(constraint="demographic_parity", **params):
    return ConstrainedERMClassifier(constraint, group_interactions="intercept", **params)


# Tolerances -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Every training sample")
@pytest.mark.filterwarnings("ignore:SQP stopped after")  # which its status says too
@given(
    seed=st.integers(0, 10**6),
    n_samples=st.integers(0, 80),
    n_groups=st.sampled_from([2, 3, 5]),
    name=st.sampled_from(sorted(GAPS)),
    tolerance=st.sampled_from([0.0, 0.02, 0.1]),
    ties=st.booleans(),
    weighted=st.booleans(),
)
def test_decisions_keep_the_tolerance(seed, n_samples, n_groups, name, tolerance, ties, weighted):
    X, y, groups = draw(seed, n_samples, n_groups, ties)
    metadata = {"sensitive_features": groups}
    if weighted:
        metadata["sample_weight"] = np.random.default_rng(seed).uniform(0.1, 2.0, len(y))
    fitted = model(name, tolerance=tolerance).fit(X, y, **metadata)
    decisions = fitted.predict(X, sensitive_features=groups)
    assert GAPS[name](y, decisions, **metadata) <= tolerance + ROUNDING
    assert fitted.constraint_violation_ == 0.0


def test_without_features_intercepts_are_the_log_odds_of_each_group():
    y = np.array([1, 0, 0, 0, 1, 1, 0, 1, 1, 1])
    groups = np.array(["a"] * 4 + ["b"] * 6)
    fitted = model(None).fit(np.zeros((10, 1)), y, sensitive_features=groups)
    np.testing.assert_allclose(fitted.group_intercept_, logit([1 / 4, 5 / 6]), atol=1e-6)
    probabilities = fitted.predict_proba(np.zeros((2, 1)), sensitive_features=["b", "a"])
    np.testing.assert_allclose(probabilities[:, 1], [5 / 6, 1 / 4], atol=1e-6)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", sorted(GAPS))
def test_intercepts_equal_the_coefficients_of_one_column_per_group(name, container):
    X, y, groups = draw(n_groups=3)
    # Columns so large that their coefficients are small: the penalty does not feel them.
    columns = 1e3 * np.eye(3)[groups]
    together = container(np.column_stack((X, columns)))
    other = ConstrainedERMClassifier(name, enforcement=None)
    other.fit(together, y, sensitive_features=groups)
    fitted = model(name, enforcement=None).fit(container(X), y, sensitive_features=groups)
    assert fitted.objective_ == pytest.approx(other.objective_, abs=1e-8)
    np.testing.assert_allclose(fitted.coef_, other.coef_[:, :3], atol=1e-6)
    intercepts = other.intercept_ + 1e3 * other.coef_[0, 3:]
    np.testing.assert_allclose(fitted.group_intercept_, intercepts, atol=1e-6)
    np.testing.assert_allclose(
        fitted.decision_function(container(X), sensitive_features=groups),
        other.decision_function(together),
        atol=1e-5,
    )


def test_enforcement_is_as_good_as_with_a_column():
    X, y, groups = draw(n_samples=2000)
    together = np.column_stack((X, 1e3 * groups))
    for name in GAPS:
        other = ConstrainedERMClassifier(name).fit(together, y, sensitive_features=groups)
        fitted = model(name).fit(X, y, sensitive_features=groups)
        decisions = fitted.predict(X, sensitive_features=groups)
        assert (decisions == y).mean() == pytest.approx(other.score(together, y), abs=1e-3)


def test_one_group_is_the_plain_model(data):
    X, y, _ = data
    one_group = np.zeros(len(y))
    fitted = model(None).fit(X, y, sensitive_features=one_group)
    plain = ConstrainedERMClassifier(None).fit(X, y, sensitive_features=one_group)
    np.testing.assert_allclose(fitted.coef_, plain.coef_, atol=1e-6)
    np.testing.assert_allclose(fitted.predict_proba(X), plain.predict_proba(X), atol=1e-6)


@pytest.mark.slow
def test_scores_of_all_linear_models_keep_their_tolerance(data):
    X, y, groups = data
    metadata = {"sensitive_features": groups}
    amount = X[:, 1] + 0.5 * groups + np.random.default_rng(0).normal(size=len(y))
    for estimator, target in ((PartialParityClassifier, y), (PartialParityRegressor, amount)):
        fitted = estimator(interval=(0.2, 0.5), tolerance=0.1, group_interactions="intercept")
        fitted.fit(X, target, **metadata)
        scores = getattr(fitted, "decision_function", fitted.predict)(X, **metadata)
        gap = partial_statistical_parity_difference(scores, interval=(0.2, 0.5), **metadata)
        assert gap <= 0.1 + ROUNDING
        assert fitted.coef_.size == 3
        assert fitted.group_intercept_.shape == (2,)
    fitted = ConstrainedERMRegressor(tolerance=0.1, group_interactions="intercept")
    fitted.fit(X, amount, **metadata)
    gap = mean_score_difference(fitted.predict(X, **metadata), **metadata)
    assert gap == pytest.approx(0.1, rel=1e-3)


# Warm starts --------------------------------------------------------------------------


def test_warm_starts(data):
    X, y, groups = data
    fitted = model(warm_start=True).fit(X, y, sensitive_features=groups)
    first = fitted.n_iter_
    assert fitted.fit(X, y, sensitive_features=groups).n_iter_ < first
    with pytest.raises(ValueError, match="3 coefficients and 2 intercepts, .* and 3 groups"):
        fitted.fit(X, y, sensitive_features=np.arange(len(y)) % 3)
    fitted.set_params(group_interactions=False).fit(X, y, sensitive_features=groups)
    assert not hasattr(fitted, "group_intercept_")  # nothing of the other model is taken over
    fitted.set_params(group_interactions="intercept").fit(X, y, sensitive_features=groups)
    assert not hasattr(fitted, "intercept_")


# Bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", EVERY)
def test_predictions_need_known_groups(estimator, data):
    X, y, groups = data
    fitted = estimator(tolerance=0.2, group_interactions="intercept")
    fitted.fit(X, y, sensitive_features=groups)
    with pytest.raises(ValueError, match="an intercept .*need sensitive_features: .*=False"):
        fitted.predict(X)
    with pytest.raises(ValueError, match="not seen at fit: 2; the known groups are 0, 1. Map"):
        fitted.predict(X, sensitive_features=groups + 1)
    with pytest.raises(ValueError, match="403 rows but there are 404 samples"):
        fitted.predict(X, sensitive_features=groups[1:])


def test_fits_without_one_intercept_per_group_are_refused(data):
    X, y, groups = data
    with pytest.raises(ValueError, match="fit_intercept=False asks for none"):
        model(fit_intercept=False).fit(X, y, sensitive_features=groups)
    overlapping = sparse.csr_array(np.column_stack((groups == 1, X[:, 2] > 0)))
    with pytest.raises(ValueError, match="an intercept of its own, .* may overlap; pass one"):
        model().fit(X, y, sensitive_features=overlapping)
    with pytest.raises(ValueError, match="'group_interactions' parameter .*intercept"):
        model().set_params(group_interactions="slope").fit(X, y, sensitive_features=groups)
    with pytest.raises(ValueError, match="an intercept of its own, .* has one set"):
        model().fit(X, y, sensitive_features=groups).to_sklearn()


# Routing ------------------------------------------------------------------------------


def test_groups_are_routed_through_pipelines_and_searches(data):
    X, y, groups = data
    metadata = {"sensitive_features": groups}
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), model()).fit(X, y, **metadata)
        alone = model().fit(StandardScaler().fit_transform(X), y, **metadata)
        decisions = pipeline.predict(X, **metadata)
        np.testing.assert_array_equal(pipeline[-1].coef_, alone.coef_)
        assert GAPS["demographic_parity"](y, decisions, **metadata) <= 0.05 + ROUNDING
        grid = {"constrainedermclassifier__tolerance": [0.01, 0.3]}
        search = GridSearchCV(
            pipeline,
            grid,
            scoring=get_scorer("neg_demographic_parity_difference"),
            cv=StratifiedKFold(3),
            error_score="raise",
        ).fit(X, y, **metadata)
        assert search.best_params_ == {"constrainedermclassifier__tolerance": 0.01}
        decisions = search.best_estimator_.predict(X, **metadata)
    assert GAPS["demographic_parity"](y, decisions, **metadata) <= 0.01 + ROUNDING
