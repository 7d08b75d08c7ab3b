"""Predictions for groups that a fit has not seen, over all estimators whose predictions use groups.

The estimators and their settings are found by walking the public modules, so that one that is added
later is tested too.
"""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_clusterer
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skfair.classification
import skfair.cluster
import skfair.ranking
import skfair.regression
from skfair._groups import check_groups
from skfair._groups.known import encode_known_groups
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityPostprocessor,
)
from skfair.cluster import FairKMeans
from skfair.constraints import DemographicParity
from skfair.metrics import get_scorer
from skfair.ranking import ConstrainedRankerCV
from skfair.regression import ConstrainedERMRegressor

MODULES = (skfair.classification, skfair.cluster, skfair.ranking, skfair.regression)
ESTIMATORS = [
    thing
    for module in MODULES
    for name in module.__all__
    if hasattr(thing := getattr(module, name), "fit") and hasattr(thing, "predict")
]
SWITCHES = {
    "group_interactions": [True, "intercept"],
    "group_estimator": ["sensitive_features"],
    "attributes": ["each"],
}
"""Parameters that make predictions depend on the group, or on groups of another kind."""
QUICK = {"n_clusters": 3, "random_state": 0, "tolerance": 0.3, "estimator": LogisticRegression()}

pytestmark = [
    pytest.mark.filterwarnings("ignore:Got no query_id"),
    pytest.mark.filterwarnings("ignore::skfair.exceptions.InfeasibleConstraintWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def settings_of(estimator):
    """Instances of an estimator with which predictions may depend on the group."""
    known = inspect.signature(estimator).parameters
    quick = {name: value for name, value in QUICK.items() if name in known}
    if "estimator" in known and not is_classifier(estimator()):
        quick["estimator"] = LinearRegression()
    if estimator is ConstrainedRankerCV:
        quick["tolerance"] = 0.01  # which exposure in a single query exceeds
    changes = [{}] + [
        {name: value} for name, values in SWITCHES.items() if name in known for value in values
    ]
    return [estimator(**quick, **change) for change in changes]


INSTANCES = [one for estimator in ESTIMATORS for one in settings_of(estimator)]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    groups = np.where(rng.random(240) < 0.4, "a", "b")
    X = rng.normal(size=(240, 2)) + (groups == "b")[:, np.newaxis]
    return X, (X[:, 0] + rng.normal(size=240) > 0.5).astype(int), groups


def fit(estimator, data, **params):
    X, y, groups = data
    target = y if is_classifier(estimator) else X[:, 0] + y
    return clone(estimator).fit(X, target, sensitive_features=groups, **params)


def predict(model, X, groups):
    """What depends on the group: scores where the model has them, else predictions."""
    score = getattr(model, "decision_function", model.predict)
    return score(X, sensitive_features=groups)


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("estimator", INSTANCES, ids=repr)
def test_every_estimator_handles_unknown_groups_or_uses_none(estimator, data):
    X, _, groups = data
    model = fit(estimator, data)
    swapped = np.where(groups == "a", "b", "a")
    unseen = groups.astype(object)
    unseen[:3] = ["c", None, np.nan]
    if "handle_unknown" not in model.get_params():
        for other in (swapped, unseen):
            np.testing.assert_array_equal(predict(model, X, other), predict(model, X, groups))
        return
    depends_on_group = (predict(model, X, swapped) != predict(model, X, groups)).any()
    if not depends_on_group:  # as without group_interactions
        np.testing.assert_array_equal(predict(model, X, unseen), predict(model, X, groups))
        return
    expected = r"not seen at fit: 'c', '\(missing\)'; the known .*pass handle_unknown='overall'"
    with pytest.raises(ValueError, match=expected):
        predict(model, X, unseen)
    model.set_params(handle_unknown="overall")
    with pytest.warns(UserWarning, match=r"3 of 240 samples have groups.* not seen at fit: 'c'"):
        actual = predict(model, X, unseen)
    np.testing.assert_array_equal(actual[3:], predict(model, X, groups)[3:])
    assert np.isfinite(actual).all()
    # A score is between those of the known groups; shifts of ranks are not linear in rates.
    if not (is_clusterer(model) or isinstance(model, PartialParityPostprocessor)):
        ends = np.sort([predict(model, X, np.full(240, group)) for group in "ab"], axis=0)
        assert (ends[0, :3] - 1e-9 <= actual[:3]).all()
        assert (actual[:3] <= ends[1, :3] + 1e-9).all()
    with pytest.warns(UserWarning, match="not seen at fit"):
        np.testing.assert_array_equal(predict(pickle.loads(pickle.dumps(model)), X, unseen), actual)


@pytest.mark.parametrize("estimator", INSTANCES, ids=repr)
def test_values_of_handle_unknown_are_checked(estimator, data):
    if "handle_unknown" in estimator.get_params():
        with pytest.raises(ValueError, match="handle_unknown"):
            fit(clone(estimator).set_params(handle_unknown="ignore"), data)


def test_an_unknown_group_has_the_weighted_mean_of_the_intercepts(data):
    X, _, groups = data
    weights = np.where(groups == "a", 3.0, 0.5)
    model = ConstrainedERMClassifier(
        tolerance=0.3, group_interactions="intercept", handle_unknown="overall"
    )
    model = fit(model, data, sample_weight=weights)
    share = weights[groups == "a"].sum() / weights.sum()
    intercept = np.array([share, 1.0 - share]) @ model.group_intercept_
    with pytest.warns(UserWarning, match="240 of 240 samples"):
        scores = model.decision_function(X, sensitive_features=np.full(240, "c"))
    np.testing.assert_allclose(scores, X @ model.coef_[0] + intercept)


def test_an_unknown_group_has_the_weighted_mean_of_the_coefficients(data):
    X, _, groups = data
    model = fit(ConstrainedERMRegressor(tolerance=0.3, group_interactions=True), data)
    model.set_params(handle_unknown="overall")
    share = (groups == "a").mean()
    of_groups = [model.predict(X, sensitive_features=np.full(240, group)) for group in "ab"]
    with pytest.warns(UserWarning, match="not seen at fit"):
        actual = model.predict(X, sensitive_features=[None] * 240)
    np.testing.assert_allclose(actual, share * of_groups[0] + (1.0 - share) * of_groups[1])


@pytest.mark.parametrize("constraint", ["demographic_parity", "equalized_odds"])
def test_an_unknown_group_has_the_mean_of_the_scores_of_any_model(data, constraint):
    X, _, groups = data
    model = ConstrainedClassifierCV(
        LogisticRegression(),
        constraint,
        tolerance=0.05,
        group_estimator="sensitive_features",
        handle_unknown="overall",
        cv=4,
    )
    model = fit(model, data)
    share = (groups == "a").mean()
    of_groups = [model.decision_function(X, sensitive_features=np.full(240, g)) for g in "ab"]
    assert np.abs(of_groups[0] - of_groups[1]).max() > 0.1
    with pytest.warns(UserWarning, match="not seen at fit"):
        actual = model.decision_function(X, sensitive_features=["c"] * 240)
        np.testing.assert_array_equal(
            model.predict_proba(X, sensitive_features=["c"] * 240)[:, 1] > 0.5, actual > 0
        )
    if constraint == "demographic_parity":  # folds have nearly the shares of all samples
        mean = share * of_groups[0] + (1.0 - share) * of_groups[1]
        np.testing.assert_allclose(actual, mean, atol=0.01)


def test_an_unknown_group_has_ranks_among_all_samples(data):
    X, y, groups = data
    plain = LogisticRegression().fit(X[:100], y[:100])
    model = PartialParityPostprocessor(plain, tolerance=0.3, cv="prefit", handle_unknown="overall")
    model = model.fit(X[100:], y[100:], sensitive_features=groups[100:])
    with pytest.warns(UserWarning, match="not seen at fit"):
        scores = model.decision_function(X[100:], sensitive_features=["c"] * 140)
    # The order of all samples is kept, and the sign changes at the mean of the groups' rates.
    order = np.argsort(plain.decision_function(X[100:]), kind="stable")
    assert (np.diff(scores[order]) > 0).all()
    shares = np.bincount(groups[100:] == "b") / 140
    assert (scores > 0).mean() == pytest.approx(shares @ model.rates_, abs=0.01)


@pytest.mark.parametrize("attributes", ["intersections", "each"])
def test_unknown_groups_go_to_the_nearest_centre(data, attributes):
    X, _, groups = data
    both = pd.DataFrame({"sex": groups, "old": np.arange(240) % 2 == 0})
    model = FairKMeans(3, min_balance=0.5, attributes=attributes, random_state=0)
    model = model.set_params(handle_unknown="overall").fit(X, sensitive_features=both)
    unseen = both.astype(object)
    unseen[:] = "neither"
    unseen["old"] = None
    with pytest.warns(UserWarning, match="not seen at fit"):
        labels = model.predict(X, sensitive_features=unseen)
    np.testing.assert_array_equal(labels, model.predict(X))


def test_other_attributes_of_a_sample_keep_their_offsets(data):
    X, _, groups = data
    both = pd.DataFrame({"sex": groups, "old": np.where(np.arange(240) % 2, "yes", "no")})
    model = FairKMeans(3, attributes="each", random_state=0, handle_unknown="overall")
    model = model.fit(X, sensitive_features=both)
    with pytest.warns(UserWarning, match=r"240 of 240 samples have groups of attribute 'old'"):
        labels = model.predict(X, sensitive_features=both.assign(old="perhaps"))
    distances = ((X[:, np.newaxis] - model.cluster_centers_) ** 2).sum(axis=2)
    names = model.groups_.names
    codes = [names.index(("sex", group)) for group in groups]
    np.testing.assert_array_equal(labels, np.argmin(distances + model.offsets_.T[codes], axis=1))


@pytest.mark.parametrize(
    "missing",
    [
        np.array([1.0, np.nan, 2.0]),
        [1, None, 2],
        pd.Series([1, None, 2]),
        pd.Series([1, pd.NA, 2], dtype="Int64"),
        np.ma.array([1, 7, 2], mask=[False, True, False]),
    ],
    ids=str,
)
def test_missing_values_of_any_container_are_unknown(missing):
    summary = check_groups([1, 2, 1], 3).summary
    with pytest.warns(UserWarning, match=r"1 of 3 samples .*: '\(missing\)'\. With"):
        assert encode_known_groups(missing, 3, summary, "overall").tolist() == [0, 2, 1]
    with pytest.raises(ValueError, match=r"'\(missing\)'; the known groups are 1, 2"):
        encode_known_groups(missing, 3, summary)


def test_a_combination_of_known_values_may_be_unknown():
    summary = check_groups([["f", 30], ["m", 40]], 2).summary
    with pytest.warns(UserWarning, match=r"1 of 2 samples .*: \('f', 40\)\. With"):
        assert encode_known_groups([["f", 40], ["m", 40]], 2, summary, "overall").tolist() == [2, 1]


def test_labels_of_another_type_are_no_unknown_groups():
    summary = check_groups([1, 2], 2).summary
    with (
        pytest.warns(UserWarning, match="not seen"),
        pytest.raises(TypeError, match="mixes numbers and strings"),
    ):
        encode_known_groups(["1", "2"], 2, summary, "overall")


def test_known_groups_are_not_warned_of(data, recwarn):
    model = ConstrainedERMClassifier(
        tolerance=0.3, group_interactions=True, handle_unknown="overall"
    )
    fit(model, data).predict(data[0], sensitive_features=data[2])
    assert not [one for one in recwarn if "not seen" in str(one.message)]


def test_unknown_groups_of_folds_and_pipelines(data):
    """A group with one sample is unknown in the fold that tests it."""
    X, y, groups = data
    groups = groups.copy()
    groups[17] = "c"
    model = ConstrainedERMClassifier(
        DemographicParity(min_group_size=1),
        tolerance=0.3,
        group_interactions="intercept",
        handle_unknown="overall",
    )
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), model)
        with pytest.warns(UserWarning, match="1 of 80 samples have groups not seen at fit: 'c'"):
            scores = cross_validate(
                pipeline,
                X,
                y,
                cv=3,
                scoring=get_scorer("accuracy"),  # scoring=None passes no groups before 1.8
                params={"sensitive_features": groups},
                error_score="raise",
            )
    assert (scores["test_score"] > 0.5).all()


def test_group_estimators_need_no_length(data):
    """An ensemble that is not fitted has no length, and so no truth value."""
    model = ConstrainedClassifierCV(
        LogisticRegression(), group_estimator=BaggingClassifier(random_state=0), cv=2
    )
    assert fit(model, data).predict(data[0]).shape == (240,)
