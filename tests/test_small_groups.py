"""Groups that are too small to be compared, in every estimator."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB

from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
    PartialParityClassifier,
    PartialParityPostprocessor,
)
from skfair.constraints import (
    BoundedGroupLoss,
    DemographicParity,
    EqualOpportunity,
    PartialStatisticalParity,
)
from skfair.datasets import make_ranking, open_blocks
from skfair.exceptions import MissingSensitiveFeaturesWarning
from skfair.metrics import demographic_parity_difference
from skfair.ranking import ConstrainedRanker
from skfair.regression import (
    ConstrainedERMRegressor,
    ConstrainedRegressorCV,
    PartialParityRegressor,
)
from skfair.solvers import AdamPrimalDual

SIZES = {"a": 1990, "b": 1200, "tiny": 13}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat([*SIZES], [*SIZES.values()]))
    X = rng.normal(size=(len(groups), 3))
    X[:, 0] += 0.3 * (groups == "a")
    y = (X.sum(axis=1) + rng.normal(size=len(groups)) > 0.5).astype(int)
    return X, y, groups


def fit(model, X, y, groups, **params):
    """The fitted model, and the messages about groups that are not compared."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sensitive_features=groups, **params)
    return model, [str(one.message) for one in caught if "not compared" in str(one.message)]


ESTIMATORS = [
    ConstrainedERMClassifier(tolerance=0.05),
    ConstrainedERMClassifier(["demographic_parity", "equal_opportunity"], tolerance=0.05),
    PartialParityClassifier(interval=(0.0, 0.5), tolerance=0.1),
    PartialParityPostprocessor(GaussianNB(), interval=(0.0, 0.5), tolerance=0.1),
    ConstrainedMLPClassifier(
        hidden_layer_sizes=(4,),
        tolerance=0.05,
        solver=AdamPrimalDual(max_iter=10),
        random_state=0,
    ),
    ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05, cv=2),
    ConstrainedERMRegressor(tolerance=0.05),
    ConstrainedRegressorCV(LinearRegression(), tolerance=0.05, cv=2),
    PartialParityRegressor(interval=(0.0, 0.5), tolerance=0.1),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_one_warning_names_the_groups_that_are_not_compared(model, data):
    X, y, groups = data
    fitted, messages = fit(model, X, y, groups)
    assert len(messages) == 1
    assert "1 group(s) with fewer than 30 samples and less than 1 % of all" in messages[0]
    assert "'tiny' (13)" in messages[0] and "min_group_size=1" in messages[0]
    report = fitted.constraint_report_
    assert set(report.dropna(subset="tolerance")["group"]) == {"a", "b"}
    assert set(report.loc[report["tolerance"].isna(), "group"]) == {"tiny"}
    assert report["estimate"].notna().all() and report["gap"].isna().sum() < len(report)
    assert fitted.groups_.counts == [*SIZES.values()]
    assert len(fitted.predict(X[:5], sensitive_features=groups[:5])) == 5


def test_the_report_has_the_rates_of_small_groups(data):
    X, y, groups = data
    fitted, _ = fit(ConstrainedERMClassifier(tolerance=0.05), X, y, groups)
    decisions = fitted.predict(X)
    for row in fitted.constraint_report_.itertuples():
        assert row.estimate == pytest.approx(decisions[groups == row.group].mean())
        assert row.n == SIZES[row.group]
    large = groups != "tiny"
    gap = demographic_parity_difference(
        y[large], decisions[large], sensitive_features=groups[large]
    )
    assert gap <= 0.05 and fitted.constraint_violation_ == 0
    assert fitted.constraint_report_["gap"].max() == pytest.approx(gap)


def test_several_classes_report_small_groups_of_each(data):
    X, y, groups = data
    three = y + (X[:, 1] > 1)
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.1, cv=2)
    fitted, messages = fit(model, X, three, groups)
    assert len(messages) == 1
    report = fitted.constraint_report_
    assert report["class"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert report["group"].tolist() == ["a", "b", "tiny"] * 3
    assert report["tolerance"].isna().tolist() == [False, False, True] * 3


def test_min_group_size_of_constraints(data):
    X, y, groups = data
    rare = groups.astype(object)
    rare[np.flatnonzero(groups == "b")[:25]] = "rare"

    def compared_groups(constraint="demographic_parity"):
        model = ConstrainedERMClassifier(constraint, tolerance=0.2)
        report = fit(model, X, y, rare)[0].constraint_report_
        return set(report.dropna(subset="tolerance")["group"])

    assert compared_groups() == {"a", "b"}
    assert compared_groups(DemographicParity(min_group_size=20)) == {"a", "b", "rare"}
    assert compared_groups(DemographicParity(min_group_size=1)) == {"a", "b", "rare", "tiny"}
    assert compared_groups(DemographicParity(min_group_size="auto")) == {"a", "b"}
    both = [DemographicParity(min_group_size=20), EqualOpportunity()]
    _, messages = fit(ConstrainedERMClassifier(both, tolerance=0.2), X, y, rare)
    assert len(messages) == 2  # two limits, two reasons
    with pytest.raises(ValueError, match="min_group_size=5000 leaves no group"):
        compared_groups(DemographicParity(min_group_size=5000))
    with pytest.raises(ValueError, match="'min_group_size' parameter"):
        compared_groups(DemographicParity(min_group_size=0))


def test_samples_without_weight_do_not_count(data):
    X, y, groups = data
    weights = np.ones(len(y))
    weights[np.flatnonzero(groups == "b")[10:]] = 0.0
    model, messages = fit(ConstrainedERMClassifier(), X, y, groups, sample_weight=weights)
    assert "'b' (10), 'tiny' (13)" in messages[0] and "nothing is compared" in messages[0]
    assert model.status_ == "unconstrained"
    heavy = np.where(groups == "tiny", 1000.0, 1.0)
    assert "'tiny' (13)" in fit(ConstrainedERMClassifier(), X, y, groups, sample_weight=heavy)[1][0]


# Models with sensitive_features -------------------------------------------------------------


@pytest.mark.parametrize("interactions", [True, "intercept"])
def test_small_groups_share_the_coefficients_of_the_largest_group(data, interactions):
    X, y, groups = data
    model = ConstrainedERMClassifier(tolerance=0.05, group_interactions=interactions)
    fitted, _ = fit(model, X, y, groups)
    assert fitted.group_intercept_.shape == (3,)
    assert fitted.group_intercept_[2] == fitted.group_intercept_[0] != fitted.group_intercept_[1]
    if interactions is True:
        np.testing.assert_array_equal(fitted.group_coef_[2], fitted.group_coef_[0])
    np.testing.assert_array_equal(
        fitted.predict(X, sensitive_features=groups),
        fitted.predict(X, sensitive_features=np.where(groups == "tiny", "a", groups)),
    )
    again, _ = fit(model.set_params(warm_start=True), X, y, groups)
    assert again.constraint_violation_ == 0
    model.set_params(constraint=DemographicParity(min_group_size=1), warm_start=False)
    every, _ = fit(model, X, y, groups)
    assert len(set(every.group_intercept_)) == 3


def test_small_groups_get_a_shift_between_those_of_the_compared_groups(data):
    X, y, groups = data
    base = LogisticRegression()
    model = ConstrainedClassifierCV(
        base, tolerance=0.001, cv=2, group_estimator="sensitive_features"
    )
    fitted, _ = fit(model, X, y, groups)
    tiny = groups == "tiny"
    scores = fitted.decision_function(X, sensitive_features=groups)[tiny]
    odds = fitted._columns_and_scores(X, groups)[0][tiny, 0]
    shifts = scores - odds
    np.testing.assert_allclose(shifts, shifts[0])
    # Between the shifts of the two groups that are compared.
    of_others = []
    for name in ("a", "b"):
        one = np.full(len(y), name)
        moved = fitted.decision_function(X, sensitive_features=one)
        of_others.append(float(moved[0] - fitted._columns_and_scores(X, one)[0][0, 0]))
    assert min(of_others) < shifts[0] < max(of_others)


# Rankers -------------------------------------------------------------------------------


def test_documents_of_small_groups_are_not_compared():
    X, y, query, group = make_ranking(200, random_state=0)
    with_tiny = np.array(group, dtype=object)
    with_tiny[:9] = "tiny"
    model, messages = fit(ConstrainedRanker(tolerance=0.05), X, y, with_tiny, query_id=query)
    assert len(messages) == 1 and "'tiny' (9)" in messages[0]
    assert not any("tiny" in label for label in model.constraint_report_["group"])
    every, messages = fit(ConstrainedRanker(min_group_size=1), X, y, with_tiny, query_id=query)
    assert not messages
    assert any("tiny" in label for label in every.constraint_report_["group"])


# Numbers that are no groups --------------------------------------------------------------


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_an_age_is_no_group(model, data):
    X, y, _ = data
    age = 20 + np.arange(len(y)) % 70
    with pytest.raises(ValueError, match=r"70 different numbers, from 20 to 89.*pd\.cut\(age"):
        model.fit(X, y, sensitive_features=age)
    with pytest.raises(ValueError, match="70 different numbers, from 20.5 to 89.5"):
        model.fit(X, y, sensitive_features=np.column_stack((y, age + 0.5)))


def test_ages_of_many_samples_may_be_groups(data):
    X, y, _ = data
    age = np.where(np.arange(len(y)) % 3, np.arange(len(y)) % 70, 5)
    model = ConstrainedERMClassifier(DemographicParity(min_group_size=100), tolerance=0.5)
    assert "nothing is compared" in fit(model, X, y, age)[1][0]
    constraint = PartialStatisticalParity((0.0, 1.0), tolerance=0.9, min_group_size=100)
    fit(ConstrainedERMClassifier(constraint), X, y, age)
    fit(ConstrainedERMClassifier(None), X, y, age)  # compares no groups


def test_an_age_in_files_is_no_group(data, tmp_path):
    X, y, groups = data
    age = np.arange(len(y)) % 70
    np.save(tmp_path / "samples.npy", np.column_stack((X, y, age, groups == "a")))
    samples = open_blocks(tmp_path / "samples.npy")
    model = ConstrainedERMClassifier()
    with pytest.raises(ValueError, match="Attribute 0 .* has 70 different numbers"):
        model.fit(samples[[0, 1, 2]], samples[3], sensitive_features=samples[[4, 5]])


# Columns that reveal the group ------------------------------------------------------------


@pytest.mark.parametrize("model", ESTIMATORS[:2] + ESTIMATORS[5:7], ids=lambda m: type(m).__name__)
def test_columns_of_X_that_reveal_the_group_are_warned_of(model, data):
    X, y, groups = data
    is_large = groups != "tiny"
    X = X[is_large]
    y = y[is_large]
    groups = groups[is_large]
    revealing = np.column_stack((X, groups == "a"))
    with pytest.warns(UserWarning, match="X reveals the group of nearly all samples"):
        # Models of the group are learned where the plain fit does not keep the tolerance.
        clone(model).set_params(tolerance=0.001).fit(revealing, y, sensitive_features=groups)
    model.fit(X, y, sensitive_features=groups)  # no warning


def test_one_column_per_value_reveals_the_group(data):
    X, y, _ = data
    codes = np.arange(len(y)) % 3
    revealing = np.column_stack((X, codes == 1, codes == 2))
    both = np.column_stack((codes, np.arange(len(y)) // 5 % 2))
    with pytest.warns(UserWarning, match="X reveals the group"):
        ConstrainedERMClassifier(tolerance=0.5).fit(revealing, y, sensitive_features=both)
    aware = ConstrainedERMClassifier(tolerance=0.5, group_interactions=True)
    aware.fit(revealing, y, sensitive_features=both)  # no warning: it is meant to use the group
    # Only one of three groups is revealed.
    ConstrainedERMClassifier(tolerance=0.5).fit(revealing[:, :4], y, sensitive_features=codes)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_samples_of_one_group_are_unconstrained_with_a_warning(model, data):
    X, y, _ = data
    with pytest.warns(MissingSensitiveFeaturesWarning, match="All samples are in the group 'a'"):
        model.fit(X, y, sensitive_features=np.full(len(y), "a"))
    assert model.status_ == "unconstrained"
    assert model.constraint_violation_ is None and not len(model.constraint_report_)


def test_a_bound_of_one_groups_loss_is_a_constraint(data):
    X, y, _ = data
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingSensitiveFeaturesWarning)
        model = ConstrainedERMClassifier(BoundedGroupLoss(1.0)).fit(
            X, y, sensitive_features=np.full(len(y), "a")
        )
    assert model.status_ == "optimal" and len(model.constraint_report_) == 1


def test_a_fit_is_unconstrained_where_small_groups_leave_one(data):
    X, y, groups = data
    model, messages = fit(ConstrainedERMClassifier(), X, y, np.where(groups == "tiny", "b", "a"))
    assert len(messages) == 1 and "Only one group is left" in messages[0]
    assert model.status_ == "unconstrained"
