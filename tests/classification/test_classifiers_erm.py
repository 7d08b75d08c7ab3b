"""ConstrainedERMClassifier: tolerances, attributes, weights, labels and settings of a fit."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import (
    CONSTRAINTS,
    BoundedGroupLoss,
    Constraint,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    LossParity,
)
from skfair.datasets import (
    fetch_acs_income,
    fetch_adult,
    fetch_bank_marketing,
    fetch_compas,
    fetch_law_school,
)
from skfair.exceptions import InfeasibleConstraintWarning, MissingSensitiveFeaturesWarning
from skfair.metrics import (
    METRICS,
    accuracy_score_difference,
    demographic_parity_difference,
)
from skfair.solvers import SQP, SwitchingSubgradient

GAPS = {
    name: METRICS[CONSTRAINTS[name]().metric]
    for name in ("demographic_parity", "equal_opportunity", "equalized_odds")
}
ROUNDING = 1e-12


def model(constraint="demographic_parity", **params):
    return ConstrainedERMClassifier(constraint, **{"tolerance": 0.02} | params)


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


def fit_and_record(estimator, *args, **kwargs):
    """Fit, and return the categories and messages of the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(*args, **kwargs)
    return estimator, {one.category for one in caught}, [str(one.message) for one in caught]


# The tolerance ------------------------------------------------------------------------


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    n_samples=st.integers(0, 60),
    n_groups=st.sampled_from([2, 2, 2, 3, 5]),
    name=st.sampled_from(sorted(GAPS)),
    tolerance=st.sampled_from([0.0, 0.02, 0.1, 0.3]),
    alpha=st.sampled_from([1e-4, 1e-1]),
    ties=st.booleans(),
    weighted=st.booleans(),
)
def test_decisions_keep_the_tolerance_on_any_data(
    seed, n_samples, n_groups, name, tolerance, alpha, ties, weighted
):
    X, y, groups = draw(seed, n_samples, n_groups, ties)
    metadata = {"sensitive_features": groups}
    if weighted:
        metadata["sample_weight"] = np.random.default_rng(seed).uniform(0.1, 2.0, len(y))
    fitted, categories, messages = fit_and_record(
        model(name, tolerance=tolerance, alpha=alpha), X, y, **metadata
    )
    decisions = fitted.predict(X)
    assert GAPS[name](y, decisions, **metadata) <= tolerance + ROUNDING
    assert fitted.constraint_violation_ == 0.0
    assert fitted.status_ in ("optimal", "feasible", "max_iter")
    assert (ConvergenceWarning in categories) == (fitted.status_ == "max_iter")
    assert InfeasibleConstraintWarning not in categories
    forced = any("Every training sample" in message for message in messages)
    assert len(set(decisions)) == (1 if forced else len(set(decisions)))
    if fitted.multipliers_.any():
        assert forced == (len(set(decisions)) == 1)
        weights = metadata.get("sample_weight", np.ones(len(y)))
        positive = weights @ y / weights.sum()
        assert fitted.score(X, y, weights) >= max(positive, 1 - positive) - ROUNDING


@pytest.mark.parametrize("name", GAPS)
def test_the_report_is_of_the_decisions(name, data):
    X, y, groups = data
    fitted, categories, _ = fit_and_record(model(name), X, y, sensitive_features=groups)
    gap = GAPS[name](y, fitted.predict(X), sensitive_features=groups)
    assert fitted.constraint_report_["gap"].max() == pytest.approx(gap, abs=ROUNDING)
    assert fitted.constraint_violation_ == pytest.approx(max(0.0, gap - 0.02), abs=ROUNDING)
    assert (fitted.status_ == "infeasible") == (fitted.constraint_violation_ > 0)
    assert (InfeasibleConstraintWarning in categories) == (fitted.status_ == "infeasible")
    assert fitted.status_ in ("optimal", "feasible")


def test_a_point_moved_by_a_search_is_feasible_and_not_optimal(data):
    """The solver certifies the point where it stopped, and no other one."""
    X, y, groups = data
    smooth = model("demographic_parity", enforcement=None).fit(X, y, sensitive_features=groups)
    fitted = model("demographic_parity").fit(X, y, sensitive_features=groups)
    assert smooth.status_ == "optimal"
    assert not np.allclose(fitted.coef_, smooth.coef_)
    assert fitted.status_ == "feasible"


@pytest.mark.parametrize("other", ["equal_opportunity", "equalized_odds", "loss_parity"])
def test_decisions_keep_all_constraints_of_a_list(other, data):
    X, y, groups = data
    fitted = model(["demographic_parity", other], tolerance=0.03)
    fitted.fit(X, y, sensitive_features=groups)
    decisions = fitted.predict(X)
    assert demographic_parity_difference(y, decisions, sensitive_features=groups) <= 0.03
    if other == "loss_parity":
        losses = np.logaddexp(0, np.where(y > 0, -1, 1) * fitted.decision_function(X))
        means = [losses[groups == g].mean() for g in (0, 1)]
        assert abs(means[0] - means[1]) <= 0.03 + 1e-6
    else:
        assert GAPS[other](y, decisions, sensitive_features=groups) <= 0.03 + ROUNDING
    assert fitted.status_ in ("optimal", "feasible")
    assert len(set(decisions)) == 2
    assert fitted.constraint_report_["constraint"].nunique() == 2


def test_constraints_of_a_list_have_their_tolerances(data):
    X, y, groups = data
    specs = [DemographicParity(tolerance=0.1), EqualOpportunity()]
    fitted = model(specs, tolerance=0.01).fit(X, y, sensitive_features=groups)
    gaps = fitted.constraint_report_.groupby("constraint")[["gap", "tolerance"]].max()
    assert gaps["tolerance"].tolist() == [0.1, 0.01]
    assert (gaps["gap"] <= gaps["tolerance"] + ROUNDING).all()


def test_error_rates_and_losses(data):
    X, y, groups = data
    fitted = model("error_rate_parity", tolerance=0.01).fit(X, y, sensitive_features=groups)
    gap = accuracy_score_difference(y, fitted.predict(X), sensitive_features=groups)
    assert gap <= 0.01 + ROUNDING
    bounded = model(BoundedGroupLoss(0.6), tolerance=None).fit(X, y, sensitive_features=groups)
    losses = np.logaddexp(0, np.where(y > 0, -1, 1) * bounded.decision_function(X))
    assert max(losses[groups == g].mean() for g in (0, 1)) <= 0.6 + 1e-6


@pytest.mark.slow
def test_contradictory_constraints_are_reported(data):
    X, y, groups = data
    contradiction = [DemographicParity(), BoundedGroupLoss(0.01)]
    with pytest.warns(
        InfeasibleConstraintWarning, match="BoundedGroupLoss is .*its tolerance 0.01"
    ):
        fitted = model(contradiction).fit(X, y, sensitive_features=groups)
    assert fitted.status_ == "infeasible"
    gaps = fitted.constraint_report_.groupby("constraint")[["gap", "tolerance"]].max()
    excess = (gaps["gap"] - gaps["tolerance"]).max()
    assert fitted.constraint_violation_ == pytest.approx(excess)
    assert excess > 0.1


def test_a_tighter_tolerance_costs_more(data):
    X, y, groups = data
    fits = [
        model(tolerance=t, enforcement=None).fit(X, y, sensitive_features=groups)
        for t in (0.2, 0.1, 0.05, 0.0)
    ]
    costs = [fitted.objective_ for fitted in fits]
    # A tolerance that does not bind leaves the plain objective up to rounding.
    assert np.diff(costs).min() >= -1e-12
    assert costs[-1] > costs[0]
    # A multiplier is the derivative of the objective in the tolerance.
    nearby = model(tolerance=0.0501, enforcement=None).fit(X, y, sensitive_features=groups)
    slope = (fits[2].objective_ - nearby.objective_) / 1e-4
    assert np.abs(fits[2].multipliers_).max() == pytest.approx(slope, rel=1e-2)


def test_the_surrogate_is_the_problem_as_written(data):
    X, y, groups = data
    fitted = model(enforcement=None).fit(X, y, sensitive_features=groups)
    rates = expit(fitted.decision_function(X))
    gap = abs(rates[groups == 0].mean() - rates[groups == 1].mean())
    assert gap == pytest.approx(0.02, abs=1e-6)
    assert fitted.status_ == "optimal"
    assert fitted.constraint_violation_ == pytest.approx(
        demographic_parity_difference(y, fitted.predict(X), sensitive_features=groups) - 0.02
    )
    with pytest.warns(InfeasibleConstraintWarning, match="smooth rates exceed their bounds"):
        model(BoundedGroupLoss(0.01), tolerance=None, enforcement=None).fit(
            X, y, sensitive_features=groups
        )


def test_a_forced_constant_warns():
    # The only feature is the group, so that any decision but a constant one is a gap of 1.
    groups = np.repeat([0, 1], 20)
    y = np.r_[np.tile([0, 0, 0, 1], 5), np.tile([1, 1, 1, 0], 5)]
    with (
        pytest.warns(UserWarning, match="X reveals the group"),
        pytest.warns(UserWarning, match="Every training sample is given the class"),
    ):
        fitted = model().fit(groups[:, None].astype(float), y, sensitive_features=groups)
    assert fitted.constraint_violation_ == 0.0
    assert len(set(fitted.predict(groups[:, None].astype(float)))) == 1


# The plain fit ------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-3, 1e-1])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("constraint", [None, [], "demographic_parity", EqualizedOdds()])
def test_one_group_or_no_constraint_is_logistic_regression(alpha, fit_intercept, constraint, data):
    X, y, _ = data
    fitted = model(constraint, alpha=alpha, fit_intercept=fit_intercept)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingSensitiveFeaturesWarning)
        fitted.fit(X, y, sensitive_features=np.zeros(len(y)))
    expected = LogisticRegression(C=1 / (alpha * len(y)), tol=1e-10, fit_intercept=fit_intercept)
    expected.fit(X, y)
    np.testing.assert_allclose(fitted.coef_, expected.coef_, atol=1e-5)
    np.testing.assert_allclose(fitted.intercept_, expected.intercept_, atol=1e-5)
    np.testing.assert_allclose(fitted.predict_proba(X), expected.predict_proba(X), atol=1e-5)
    assert fitted.status_ == ("unconstrained" if constraint else "optimal")
    assert not fitted.multipliers_.any()


def test_a_loose_tolerance_leaves_the_plain_fit(data):
    X, y, groups = data
    free = model(None).fit(X, y)
    loose = model(tolerance=1.0).fit(X, y, sensitive_features=groups)
    np.testing.assert_allclose(free.coef_, loose.coef_, rtol=1e-9)
    assert loose.multipliers_.tolist() == [0.0]  # one row; its tolerance is worth nothing
    assert loose.constraint_report_["gap"].max() > 0.1


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "squared"])
def test_every_loss_keeps_the_tolerance(loss, data):
    X, y, groups = data
    fitted, _, _ = fit_and_record(model(loss=loss, tolerance=0.05), X, y, sensitive_features=groups)
    gap = demographic_parity_difference(y, fitted.predict(X), sensitive_features=groups)
    assert gap <= 0.05 + ROUNDING
    assert hasattr(fitted, "predict_proba") == (loss == "logistic")


def test_probabilities_need_the_logistic_loss(data):
    X, y, groups = data
    fitted = model(loss="squared").fit(X, y, sensitive_features=groups)
    with pytest.raises(AttributeError, match="predict_proba") as raised:
        fitted.predict_proba(X)
    assert "needs loss='logistic'" in str(raised.value.__cause__)


# Weights ------------------------------------------------------------------------------


def test_integer_weights_are_repeated_rows(data):
    X, y, groups = data
    counts = np.random.default_rng(0).integers(0, 4, size=len(y))
    weighted = model(EqualizedOdds(), enforcement=None, solver=SQP(tol=1e-10))
    weighted.fit(X, y, sensitive_features=groups, sample_weight=counts)
    rows = np.repeat(np.arange(len(y)), counts)
    repeated = model(EqualizedOdds(), enforcement=None, solver=SQP(tol=1e-10))
    repeated.fit(X[rows], y[rows], sensitive_features=groups[rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-8)


@pytest.mark.parametrize("constraint, seed", [(EqualizedOdds, 16), (EqualOpportunity, 2)])
def test_integer_weights_are_repeated_rows_where_decisions_are_counted(constraint, seed):
    # 800 rows of 400 samples: searches that few samples allow are those of distinct rows.
    rng = np.random.default_rng(seed)
    groups = np.array(["f", "m"])[(rng.random(400) < 0.4).astype(int)]
    X = rng.normal(size=(400, 4))
    X[:, 0] += 0.8 * (groups == "m")
    y = (X[:, 0] + 0.7 * X[:, 1] + rng.logistic(size=400) > 0.3).astype(int)
    counts = rng.integers(1, 4, 400)
    weighted = ConstrainedERMClassifier(constraint(tolerance=0.05))
    weighted.fit(X, y, sensitive_features=groups, sample_weight=counts)
    rows = np.repeat(np.arange(400), counts)
    repeated = ConstrainedERMClassifier(constraint(tolerance=0.05))
    repeated.fit(X[rows], y[rows], sensitive_features=groups[rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)


def test_weight_zero_is_absence(data):
    X, y, groups = data
    present = np.arange(len(y)) % 3 > 0
    weighted = model().fit(X, y, sensitive_features=groups, sample_weight=present)
    alone = model().fit(X[present], y[present], sensitive_features=groups[present])
    np.testing.assert_array_equal(weighted.coef_, alone.coef_)
    np.testing.assert_array_equal(weighted.intercept_, alone.intercept_)


def test_class_weight_weighs_the_loss_alone(data):
    X, y, groups = data
    balanced = model(None, class_weight={0: 3.0, 1: 1.0}).fit(X, y)
    weights = np.where(y == 0, 3.0, 1.0)
    same = model(None).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(balanced.coef_, same.coef_, atol=1e-5)
    fair = model(class_weight="balanced").fit(X, y, sensitive_features=groups)
    gap = demographic_parity_difference(y, fair.predict(X), sensitive_features=groups)
    assert gap <= 0.02 + ROUNDING


# Groups -------------------------------------------------------------------------------


def test_attributes_may_be_crossed_or_taken_one_by_one(data):
    X, y, groups = data
    other = (X[:, 2] > 0).astype(int)
    both = np.column_stack((groups, other))
    crossed = model(DemographicParity()).fit(X, y, sensitive_features=both)
    assert len(crossed.constraint_report_) == 4
    each = model(DemographicParity(attributes="each")).fit(X, y, sensitive_features=both)
    assert len(each.constraint_report_) == 4
    for attribute in (groups, other):
        gap = demographic_parity_difference(y, each.predict(X), sensitive_features=attribute)
        assert gap <= 0.02 + ROUNDING
    assert crossed.constraint_report_["n"].sum() == len(y)
    assert each.constraint_report_["n"].sum() == 2 * len(y)


def test_a_user_defined_constraint(data):
    class HighScoreParity(Constraint):
        def cells(self, samples):
            return {"all": np.ones(len(samples.target), dtype=bool)}

        def terms(self, surrogate, loss):
            return (lambda scores, target: surrogate(scores - 1.0),)

    X, y, groups = data
    fitted = model(HighScoreParity(tolerance=0.05), tolerance=None).fit(
        X, y, sensitive_features=groups
    )
    assert fitted.constraint_report_["constraint"].unique().tolist() == ["HighScoreParity"]
    high = fitted.decision_function(X) > 1.0
    gap = demographic_parity_difference(y, high, sensitive_features=groups, pos_label=True)
    assert fitted.constraint_report_["gap"].tolist() == [pytest.approx(gap)] * 2
    assert 0 < gap <= 0.05


# Settings -----------------------------------------------------------------------------


def test_a_limit_of_iterations_is_warned_of_and_the_tolerance_holds(data):
    X, y, groups = data
    with pytest.warns(ConvergenceWarning, match="Raise max_iter or tol"):
        fitted = model(solver=SQP(max_iter=1)).fit(X, y, sensitive_features=groups)
    assert fitted.status_ == "max_iter"
    assert fitted.constraint_violation_ == 0.0
    gap = demographic_parity_difference(y, fitted.predict(X), sensitive_features=groups)
    assert gap <= 0.02 + ROUNDING


def test_a_warm_start_begins_at_the_previous_fit(data):
    X, y, groups = data
    again = model(LossParity(), warm_start=True).fit(X, y, sensitive_features=groups)
    cold = again.n_iter_
    coef = again.coef_
    again.set_params(constraint=None).fit(X, y)
    again.fit(X, y)
    assert again.n_iter_ < cold
    assert np.abs(again.coef_ - coef).max() > 1e-3
    with pytest.raises(ValueError, match="3 coefficients, but X has 2 columns"):
        again.fit(X[:, :2], y)


def test_labels_of_any_kind(data):
    X, y, groups = data
    numbers = model().fit(X, y, sensitive_features=groups)
    for labels in (np.array(["no", "yes"]), np.array([False, True]), np.array([-1, 1])):
        fitted = model(pos_label=labels[1]).fit(
            X, labels[y], sensitive_features=np.array(["f", "m"])[groups]
        )
        np.testing.assert_array_equal(fitted.classes_, labels)
        np.testing.assert_array_equal(fitted.predict(X), labels[numbers.predict(X)])


def test_the_positive_class_is_pos_label(data):
    X, y, groups = data
    expected = model("equal_opportunity").fit(X, y, sensitive_features=groups)
    named = np.where(y == 1, "approved", "denied")
    with pytest.raises(ValueError, match=r"pos_label must name .* \['approved', 'denied'\]"):
        model("equal_opportunity").fit(X, named, sensitive_features=groups)
    fitted = model("equal_opportunity", pos_label="approved").fit(
        X, named, sensitive_features=groups
    )
    assert fitted.classes_.tolist() == ["approved", "denied"]
    np.testing.assert_array_equal(fitted.predict(X) == "approved", expected.predict(X) == 1)
    # Scores, probabilities and coefficients are those of the second class, as in scikit-learn.
    np.testing.assert_array_equal(fitted.coef_, -expected.coef_)
    np.testing.assert_array_equal(fitted.intercept_, -expected.intercept_)
    np.testing.assert_allclose(fitted.predict_proba(X), expected.predict_proba(X)[:, ::-1])
    pd.testing.assert_frame_equal(fitted.constraint_report_, expected.constraint_report_)


def test_scores_at_the_threshold_are_negative(data):
    X, y, groups = data
    named = np.where(y == 1, "approved", "denied")
    fitted = model(pos_label="approved").fit(X, named, sensitive_features=groups)
    fitted.coef_[:], fitted.intercept_[:] = 0.0, 0.0
    assert set(fitted.predict(X)) == {"denied"}


def test_a_warm_start_keeps_the_sign_of_the_positive_class(data):
    X, y, groups = data
    named = np.where(y == 1, "approved", "denied")
    fitted = model(pos_label="approved", warm_start=True)
    first = fitted.fit(X, named, sensitive_features=groups).n_iter_
    assert fitted.fit(X, named, sensitive_features=groups).n_iter_ < first


def test_without_groups_a_bound_on_losses_is_not_enforced(data):
    X, y, _ = data
    with pytest.warns(MissingSensitiveFeaturesWarning, match="the fit is unconstrained"):
        fitted = model(BoundedGroupLoss(0.01), tolerance=None).fit(X, y)
    plain = model(None).fit(X, y)
    assert (plain.status_, fitted.status_) == ("optimal", "unconstrained")
    np.testing.assert_allclose(fitted.coef_, plain.coef_, rtol=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared"])
@pytest.mark.parametrize("pos_label", ["yes", "no"])
def test_to_sklearn_gives_an_equal_classifier(data, loss, pos_label):
    X, y, groups = data
    X = pd.DataFrame(X, columns=list("abc"))
    named = np.array(["no", "yes"])[y]
    fitted = model(loss=loss, pos_label=pos_label).fit(X, named, sensitive_features=groups)
    equal = fitted.to_sklearn()
    np.testing.assert_array_equal(equal.predict(X), fitted.predict(X))
    np.testing.assert_allclose(equal.decision_function(X), fitted.decision_function(X))
    assert equal.feature_names_in_.tolist() == list("abc")
    assert equal.classes_.tolist() == ["no", "yes"]
    if loss == "logistic":
        np.testing.assert_allclose(equal.predict_proba(X), fitted.predict_proba(X))
    else:
        assert not hasattr(equal, "predict_proba")
    equal.coef_[:] = 0.0  # it is a copy
    assert fitted.coef_.any()


def test_coefficients_by_group_have_no_equal_classifier_in_scikit_learn(data):
    X, y, groups = data
    fitted = model(group_interactions=True, alpha=0.01).fit(X, y, sensitive_features=groups)
    with pytest.raises(ValueError, match="one set; fit with group_interactions=False"):
        fitted.to_sklearn()


# Real data ----------------------------------------------------------------------------


DATASETS = {
    "adult": (fetch_adult, "sex"),
    "bank": (fetch_bank_marketing, "age"),
    "compas": (fetch_compas, "race"),
    "law school": (fetch_law_school, "race"),
    "acs income": (fetch_acs_income, "race"),
}


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    ("name", "constraint", "tolerance"),
    [
        ("adult", "demographic_parity", 0.005),
        ("adult", "equalized_odds", 0.02),
        pytest.param("bank", "equal_opportunity", 0.01, marks=pytest.mark.slow),
        pytest.param("compas", "equalized_odds", 0.05, marks=pytest.mark.slow),
        pytest.param("law school", "demographic_parity", 0.02, marks=pytest.mark.slow),
        ("acs income", "demographic_parity", 0.01),
    ],
)
def test_decisions_on_real_data_keep_the_tolerance(name, constraint, tolerance):
    import pandas as pd

    fetch, sensitive = DATASETS[name]
    try:
        bunch = fetch(sensitive=sensitive, download_if_missing=False)
    except OSError:
        pytest.skip("the data are not on this disk")
    rows = np.random.default_rng(0).choice(len(bunch.target), 2500, replace=False)
    X = pd.get_dummies(bunch.data.iloc[rows], dtype=float)
    y = bunch.target.iloc[rows]
    groups = bunch.sensitive_features.iloc[rows]
    success = np.unique(y)[1]  # as text, income above 50K, and "yes" to an offer
    fitted, categories, _ = fit_and_record(
        model(CONSTRAINTS[constraint](min_group_size=1), tolerance=tolerance, pos_label=success),
        X,
        y,
        sensitive_features=groups,
    )
    metadata = {"sensitive_features": groups, "pos_label": success}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of groups without a positive or negative sample
        gap = GAPS[constraint](y, fitted.predict(X), **metadata)
    assert gap <= tolerance + ROUNDING
    assert fitted.constraint_violation_ == 0.0
    assert InfeasibleConstraintWarning not in categories
    if groups.nunique() == 2:
        assert len(set(fitted.predict(X))) == 2


@pytest.mark.slow
def test_solvers_of_one_constraint_row_keep_the_tolerance_of_three_groups():
    X, y, groups = draw(n_groups=3)
    fitted, _, _ = fit_and_record(
        model(
            solver=SwitchingSubgradient(max_iter=300),
            tolerance=0.05,
        ),
        X,
        y,
        sensitive_features=groups,
    )
    assert fitted.multipliers_.shape == (1,)
    gap = demographic_parity_difference(y, fitted.predict(X), sensitive_features=groups)
    assert fitted.constraint_violation_ == 0 and gap <= 0.05 + ROUNDING


def test_the_report_is_a_table_made_when_it_is_read():
    model = ConstrainedERMClassifier(tolerance=0.1)
    assert not hasattr(model, "constraint_report_")
    with pytest.raises(AttributeError, match="no constraint_report_ before it is fitted"):
        _ = model.constraint_report_
    rng = np.random.default_rng(0)
    groups = np.arange(200) % 2
    X = rng.normal(size=(200, 2)) + groups[:, np.newaxis]
    model.fit(X, X.sum(axis=1) > 1, sensitive_features=groups)
    report = model.constraint_report_
    report["estimate"] = 0.0  # a copy: the model keeps its own
    assert (model.constraint_report_["estimate"] > 0.0).all()
    restored = pickle.loads(pickle.dumps(model))
    pd.testing.assert_frame_equal(restored.constraint_report_, model.constraint_report_)
