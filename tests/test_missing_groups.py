"""Fits in which the group of some samples is missing, and is estimated from the others."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

from skfair._groups import Groups, check_groups
from skfair._groups.events import Events, cell_events
from skfair._groups.known import check_recorded_groups
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.constraints import DemographicParity, PartialStatisticalParity
from skfair.constraints._constraint import all_samples, each_class
from skfair.groups import Samples
from skfair.metrics import demographic_parity_difference, mean_score_difference
from skfair.regression import ConstrainedERMRegressor

LINEAR = ConstrainedERMClassifier(tolerance=0.05, missing="at_random")
ANY_MODEL = ConstrainedClassifierCV(
    LogisticRegression(),
    tolerance=0.05,
    group_estimator=LogisticRegression(),
    cv=3,
    missing="at_random",
)
REGRESSOR = ConstrainedERMRegressor(missing="at_random")
EVERY = [LINEAR, ANY_MODEL, REGRESSOR]
QUICK_AND_SLOW = [LINEAR, pytest.param(REGRESSOR, marks=pytest.mark.slow)]


def name_of(estimator):
    return type(estimator).__name__


@pytest.fixture(scope="module")
def data():
    """Groups that are recorded for a sixth or for half of the samples, by their class."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], size=6000, p=[0.4, 0.6])
    X = rng.normal(size=(6000, 3))
    X[:, :2] += (sex == "m")[:, np.newaxis] * [1.0, 0.6]
    y = (X.sum(axis=1) + rng.normal(size=6000) > 1).astype(int)
    is_recorded = rng.random(6000) < np.where(y == 1, 0.15, 0.5)
    return X, y, sex, np.where(is_recorded, sex, None)


def fit(estimator, X, y, groups, **params):
    target = X[:, 0] + y if isinstance(estimator, ConstrainedERMRegressor) else y
    return clone(estimator).fit(X, target, sensitive_features=groups, **params)


def gap(model, X, sex):
    predictions = model.predict(X)
    if isinstance(model, ConstrainedERMRegressor):
        return mean_score_difference(predictions, sensitive_features=sex) / 1.6  # of the target
    return demographic_parity_difference(predictions, predictions, sensitive_features=sex)


# Groups that are probabilities ----------------------------------------------------------


def partly_recorded(matrix):
    labels = np.array([[name] for name in "abc"[: matrix.shape[1]]], dtype=object)
    return Groups(labels, matrix=sparse.csr_array(matrix))


def test_expected_means_by_hand():
    groups = partly_recorded(np.array([[1.0, 0.0], [0.25, 0.75], [0.0, 1.0]]))
    samples = Samples(np.array([1.0, -1.0, 1.0]), groups, np.array([1.0, 2.0, 1.0]))
    actual = cell_events(all_samples(samples), samples, groups)
    # a: (1 + .25 * 2 * 4) / 1.5; b: (.75 * 2 * 4 + 7) / 2.5
    np.testing.assert_allclose(actual.events.means(np.array([1.0, 4.0, 7.0])), [2.0, 5.2])
    assert groups.counts.tolist() == [1, 2] and groups.is_partly_recorded
    assert groups.recorded_codes.tolist() == [0, -1, 1]


@pytest.mark.parametrize("cells", [all_samples, each_class])
@pytest.mark.parametrize("with_overall", [False, True])
def test_probabilities_equal_repeated_rows(cells, with_overall):
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.ones(3), size=50)
    values = rng.normal(size=50)
    shares[:10] = np.eye(3)[np.arange(10) % 3]
    target = np.where(rng.random(50) < 0.5, 1.0, -1.0)
    weights = rng.uniform(0.5, 2.0, 50)
    groups = partly_recorded(shares)
    samples = Samples(target, groups, weights)
    expected_rows = np.repeat(np.arange(50), 3)
    repeated = Samples(
        target[expected_rows],
        check_groups(np.tile(list("abc"), 50), 150),
        (weights[:, np.newaxis] * shares).ravel(),
    )
    actual = cell_events(cells(samples), samples, groups, with_overall)
    expected = cell_events(cells(repeated), repeated, repeated.groups, with_overall)
    assert actual.labels == expected.labels
    np.testing.assert_allclose(
        actual.events.means(values), expected.events.means(values[expected_rows])
    )


def test_one_group_of_probabilities_is_no_set():
    """Each sample is a member of one group at most, but not as a whole."""
    groups = partly_recorded(np.array([[0.5, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    samples = Samples(None, groups, np.ones(3))
    events = cell_events({"all": np.ones(3, dtype=bool)}, samples, groups).events
    np.testing.assert_allclose(events.means(np.array([3.0, 0.0, 1.0])), [1.0, 1.0])


@pytest.mark.parametrize("wrong", [-0.1, 1.5, np.nan])
def test_memberships_are_probabilities(wrong):
    with pytest.raises(ValueError, match="must be boolean .* or a probability"):
        Events.overlapping(sparse.csr_array([[1.0], [wrong]]))


def test_largest_groups_come_first_by_expected_weight():
    groups = partly_recorded(np.array([[1.0, 0.0, 0.0], [0.0, 0.3, 0.7], [0.0, 0.4, 0.6]]))
    first = Samples(None, groups, np.array([0.1, 1.0, 1.0])).largest_first().groups
    assert first.names == ["c", "b", "a"] and first.is_partly_recorded
    assert first.summary.names == ["a", "b", "c"]
    assert first.recorded_codes.tolist() == [2, -1, -1]


def test_values_of_single_attributes_are_probabilities_too():
    columns = pd.DataFrame({"sex": ["f", "m", None, "f"], "old": [True, True, False, False]})
    groups = check_recorded_groups(columns, 4)
    assert groups.names == [("f", False), ("f", True), ("m", True)]
    filled = groups.fill_missing(np.full((4, 3), [0.5, 0.3, 0.2]))
    single = filled.single_attribute_groups()
    assert single.names == [("sex", "f"), ("sex", "m"), ("old", False), ("old", True)]
    np.testing.assert_allclose(single.matrix.toarray()[2], [0.8, 0.2, 0.5, 0.5])


# Fits -----------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", EVERY, ids=name_of)
def test_fits_of_recorded_groups_are_the_same(estimator, data):
    X, y, sex, _ = data
    known = clone(estimator).set_params(missing="error")
    model, expected = fit(estimator, X, y, sex), fit(known, X, y, sex)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    assert model.assumption_ == "" and not hasattr(expected, "assumption_")


@pytest.mark.covering(0)
@pytest.mark.parametrize("estimator", EVERY, ids=name_of)
def test_the_gap_of_all_samples_is_kept(estimator, data):
    """The recorded samples alone have other shares of classes, so that their gap says little."""
    X, y, sex, recorded = data
    model = fit(estimator, X, y, recorded)
    assert model.assumption_ == "if groups are missing at random given X and y"
    assert gap(model, X, sex) < 0.1
    plain = clone(estimator).set_params(constraint=None)
    assert gap(fit(plain, X, y, recorded), X, sex) > 0.3
    # What the report says of expected groups is near what is true of the groups.
    report = model.constraint_report_.set_index("group")
    predictions = model.predict(X)
    for group in "fm":
        of_group = predictions[sex == group]
        if isinstance(model, ConstrainedERMRegressor):
            continue  # means in units of the target
        expected_rate = report.loc[group, "estimate"]
        if isinstance(model, ConstrainedERMClassifier):
            assert expected_rate == pytest.approx(of_group.mean(), abs=0.05)
        assert report.loc[group, "n"] == pytest.approx((sex == group).sum(), rel=0.1)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).predict(X[:50]), predictions[:50]
    )


def test_names_of_groups_do_not_change_decisions(data):
    X, y, _, recorded = data
    renamed = pd.Series(recorded).map({"f": "z", "m": "a"})
    expected, actual = fit(LINEAR, X, y, recorded), fit(LINEAR, X, y, renamed)
    np.testing.assert_allclose(actual.coef_, expected.coef_, rtol=1e-6)


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "container",
    [
        list,
        lambda groups: pd.Series(groups, name="sex"),
        lambda groups: pd.Series(groups).astype("category"),
        lambda groups: pd.Series(groups).map({"f": 1.0, "m": 2.0}),
        lambda groups: pd.Series(groups).map({"f": 1, "m": 2}).astype("Int64"),
    ],
    ids=["list", "Series", "Categorical", "floats", "Int64"],
)
def test_missing_values_of_any_container(container, data):
    X, y, _, recorded = data
    expected = fit(LINEAR, X, y, recorded)
    np.testing.assert_array_equal(fit(LINEAR, X, y, container(recorded)).coef_, expected.coef_)


def test_labels_keep_their_type(data):
    X, y, _, recorded = data
    model = fit(LINEAR, X, y, pd.Series(recorded).map({"f": 1.0, "m": 2.0}))
    assert model.groups_.names == [1.0, 2.0]


def test_sparse_features_and_weights(data):
    X, y, sex, recorded = data
    weights = np.where(np.arange(6000) % 3 == 0, 0.0, 1.0)
    model = clone(LINEAR).fit(
        sparse.csr_array(X), y, sensitive_features=recorded, sample_weight=weights
    )
    assert gap(model, X[weights > 0], sex[weights > 0]) < 0.1
    present = weights > 0
    expected = fit(LINEAR, X[present], y[present], recorded[present])
    np.testing.assert_array_equal(
        fit(LINEAR, X, y, recorded, sample_weight=weights).coef_, expected.coef_
    )


def test_several_attributes_and_constraints(data):
    X, y, _, recorded = data
    both = pd.DataFrame({"sex": recorded, "old": np.where(X[:, 2] > 0, "yes", "no")})
    constraints = [DemographicParity(attributes="each"), "equal_opportunity"]
    model = clone(LINEAR).set_params(constraint=constraints, tolerance=0.1)
    model = model.fit(X, y, sensitive_features=both)
    names = set(model.constraint_report_["group"])
    assert ("sex", "f") in names and ("f", "yes") in names
    assert model.constraint_violation_ == 0


@pytest.mark.slow
def test_more_than_two_classes(data):
    X, _, sex, recorded = data
    y = np.digitize(X.sum(axis=1), [0.0, 2.0])
    model = clone(ANY_MODEL).set_params(tolerance=0.1).fit(X, y, sensitive_features=recorded)
    rates = [[(model.predict(X)[sex == group] == c).mean() for c in range(3)] for group in "fm"]
    assert np.ptp(rates, axis=0).max() < 0.17


@pytest.mark.slow
def test_features_that_only_the_classifier_understands(data):
    """Missing values and categories are left to the models of the groups."""
    X, y, sex, recorded = data
    frame = pd.DataFrame(X, columns=list("abc")).assign(
        d=pd.Categorical(np.where(X[:, 2] > 0, "high", "low"))
    )
    frame.loc[:20, "a"] = np.nan
    model = ConstrainedClassifierCV(tolerance=0.05, cv=2, missing="at_random")
    model.estimator = make_boosting()
    model.fit(frame, y, sensitive_features=recorded)
    assert gap(model, frame, sex) < 0.2


def make_boosting():
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=20, categorical_features="from_dtype", random_state=0
    )


def test_cross_validation_passes_missing_groups_on(data):
    X, y, _, recorded = data
    with config_context(enable_metadata_routing=True):
        scores = cross_validate(
            LINEAR, X, y, cv=2, params={"sensitive_features": recorded}, error_score="raise"
        )
    assert (scores["test_score"] > 0.5).all()


# What is refused ------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", EVERY, ids=name_of)
def test_missing_groups_are_an_error_by_default(estimator, data):
    X, y, _, recorded = data
    with pytest.raises(ValueError, match=r"missing value\(s\).*with missing='at_random'"):
        fit(clone(estimator).set_params(missing="error"), X, y, recorded)
    with pytest.raises(ValueError, match="'missing' parameter"):
        fit(clone(estimator).set_params(missing="group"), X, y, recorded)


@pytest.mark.parametrize(
    "estimator, params, remedy",
    [
        (LINEAR, {"group_interactions": True}, "group_interactions=False"),
        (REGRESSOR, {"group_interactions": "intercept"}, "group_interactions=False"),
        (ANY_MODEL, {"group_estimator": "sensitive_features"}, "group_estimator=None"),
        (LINEAR, {"confidence_level": 0.9}, "confidence_level=None"),
        (ANY_MODEL, {"confidence_level": 0.9}, "confidence_level=None"),
        (LINEAR, {"constraint": PartialStatisticalParity((0.0, 0.2))}, "a constraint on rates"),
        (REGRESSOR, {"constraint": "partial_statistical_parity"}, "a constraint on rates"),
    ],
    ids=str,
)
def test_settings_that_need_every_group_are_refused(estimator, params, remedy, data):
    X, y, _, recorded = data
    ((name, value),) = params.items()
    setting = f"{name}=" if name == "constraint" else f"{name}={value!r}"
    message = rf"missing='at_random' .*{setting}.* needs the group of every sample. Pass {remedy}"
    with pytest.raises(ValueError, match=message):
        fit(clone(estimator).set_params(**params), X, y, recorded)


@pytest.mark.parametrize("estimator", EVERY, ids=name_of)
def test_what_cannot_be_estimated_is_refused(estimator, data):
    X, y, sex, recorded = data
    one = np.where(recorded == "f", "f", None)
    with pytest.raises(ValueError, match="recorded samples of two groups or more, but .* has 1"):
        fit(estimator, X, y, one)
    with pytest.raises(ValueError, match="recorded samples of two groups or more, but .* has 0"):
        fit(estimator, X, y, np.full(6000, None))
    with pytest.raises(TypeError, match="needs one label per sample"):
        fit(estimator, X, y, sparse.csr_array(np.column_stack((sex == "f", sex == "m"))))
    with pytest.raises(ValueError, match="5999 rows but there are 6000"):
        fit(estimator, X, y, recorded[1:])
    age = np.where(recorded == "f", np.arange(6000.0), np.nan)
    with pytest.raises(ValueError, match="at most 30"):
        fit(estimator, X, y, age)


def test_few_recorded_samples_are_a_warning(data):
    X, y, sex, _ = data
    short = np.where(np.arange(6000) < 120, sex, None)
    with pytest.warns(UserWarning, match=r"Only 120 samples have a recorded group.*5880 others"):
        fit(LINEAR, X, y, short)


def test_a_fold_without_recorded_samples_of_a_group_is_refused(data):
    X, y, _, recorded = data
    rare = recorded.astype(object).copy()
    rare[np.flatnonzero((recorded == "f") & (y == 1))] = None
    rare[np.flatnonzero((recorded == "f") & (y == 1))[0]] = "f"
    with pytest.raises(ValueError, match="leaves no samples of group 'f' to learn from"):
        fit(ANY_MODEL, X, y, rare)


def test_partitioned_samples_are_refused(data):
    dask = pytest.importorskip("dask.array")
    X, y, _, recorded = data
    X, y = (dask.from_array(one, chunks=3000) for one in (X, y))
    with pytest.raises(ValueError, match="Partitioned samples need missing='error'"):
        LINEAR.fit(X, y, sensitive_features=dask.from_array(recorded, chunks=3000))


# Probabilities of groups ----------------------------------------------------------------


@pytest.fixture(scope="module")
def proxies(data):
    """Probabilities by a number that depends on sex alone."""
    _, _, sex, _ = data
    z = np.random.default_rng(1).normal(size=6000) + 1.5 * (sex == "m")
    male = 1.0 / (1.0 + np.exp(-1.5 * (z - 0.75) - np.log(1.5)))
    return pd.DataFrame({"f": 1.0 - male, "m": male})


@pytest.mark.slow
@pytest.mark.parametrize("estimator", QUICK_AND_SLOW, ids=name_of)
def test_certain_probabilities_are_groups(estimator, data):
    X, y, sex, _ = data
    certain = pd.DataFrame({"f": (sex == "f") * 1.0, "m": (sex == "m") * 1.0})
    model = clone(estimator).set_params(missing="error")
    expected = fit(model, X, y, sex)
    for missing in ("sufficient", "independent"):
        actual = fit(model.set_params(missing=missing), X, y, None, group_probabilities=certain)
        assert gap(actual, X, sex) == pytest.approx(gap(expected, X, sex), abs=0.03)
        assert actual.groups_.names == ["f", "m"]


def test_sufficient_probabilities_equal_repeated_rows(data, proxies):
    X, y, _, _ = data
    model = ConstrainedERMClassifier(tolerance=0.05, missing="sufficient")
    actual = fit(model, X[:2000], y[:2000], None, group_probabilities=proxies[:2000])
    report = actual.constraint_report_.set_index("group")
    decisions = actual.predict(X[:2000])
    for group in "fm":
        expected = np.average(decisions, weights=proxies[group][:2000])
        assert report.loc[group, "estimate"] == pytest.approx(expected)
    assert report["estimate"].max() - report["estimate"].min() <= 0.05 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("estimator", QUICK_AND_SLOW, ids=name_of)
def test_each_assumption_is_right_where_it_holds(estimator, data, proxies):
    """A number that depends on the group alone, and probabilities given X and y."""
    X, y, sex, _ = data
    target = X[:, 0] + y
    model = clone(estimator).set_params(missing="error", tolerance=0.05)
    known = np.column_stack([X, y, target])
    male = LogisticRegression().fit(known, sex).predict_proba(known)[:, 1]
    by_inputs = pd.DataFrame({"f": 1.0 - male, "m": male})
    for missing, probabilities in {"independent": proxies, "sufficient": by_inputs}.items():
        fair = clone(model).set_params(missing=missing)
        fair = fit(fair, X, y, None, group_probabilities=probabilities)
        assert gap(fair, X, sex) < 0.09 and fair.assumption_.startswith("if ")
    # Probabilities that do not have what the decisions are made of say too little.
    wrong = clone(model).set_params(missing="sufficient")
    assert gap(fit(wrong, X, y, None, group_probabilities=proxies), X, sex) > 0.05


@pytest.mark.parametrize("estimator", EVERY, ids=name_of)
def test_probabilities_help_to_estimate_missing_groups(estimator, data, proxies):
    X, y, sex, _ = data
    recorded = np.where(np.arange(6000) % 10 == 0, sex, None)
    model = fit(estimator, X, y, recorded, group_probabilities=proxies)
    assert gap(model, X, sex) < 0.1
    assert model.assumption_ == "if groups are missing at random given X and y"
    # The number of samples of a group is nearly that of all its members.
    report = model.constraint_report_.set_index("group")
    if not isinstance(estimator, ConstrainedERMRegressor):
        assert report.loc["f", "n"] == pytest.approx((sex == "f").sum(), rel=0.05)


@pytest.mark.slow
def test_sparse_features_and_weights_of_zero(data, proxies):
    X, y, sex, _ = data
    model = ConstrainedERMClassifier(tolerance=0.05, missing="independent")
    weights = (np.arange(6000) % 2).astype(float)
    dense = fit(model, X[1::2], y[1::2], None, group_probabilities=proxies[1::2].to_numpy())
    params = {"group_probabilities": proxies.to_numpy(), "sample_weight": weights}
    halved = fit(model, X, y, None, **params)
    np.testing.assert_allclose(halved.coef_, dense.coef_, rtol=1e-6)
    model = fit(model, sparse.csr_array(X), y, None, group_probabilities=proxies)
    assert gap(model, sparse.csr_array(X), sex) < 0.1


def test_probabilities_are_routed_in_cross_validation(data, proxies):
    X, y, _, _ = data
    model = ConstrainedERMClassifier(tolerance=0.05, missing="sufficient")
    with config_context(enable_metadata_routing=True):
        scores = cross_validate(
            model, X, y, cv=2, params={"group_probabilities": proxies}, error_score="raise"
        )
    assert (scores["test_score"] > 0.5).all()


@pytest.mark.parametrize(
    ("settings", "params", "message"),
    [
        ({}, {}, "alone need an assumption: .* got 'error'"),
        ({"missing": "group"}, {}, "missing"),
        ({"missing": "sufficient"}, {"sensitive_features": True}, "leave one of the two out"),
        ({"missing": "sufficient"}, {"group_probabilities": None}, "group_probabilities=...\\)"),
        ({"missing": "independent", "confidence_level": 0.9}, {}, "confidence_level=0.9"),
        ({"missing": "sufficient", "group_interactions": True}, {}, "depend on the group"),
        ({"missing": "sufficient", "constraint": PartialStatisticalParity()}, {}, "ranks"),
        ({}, {"sensitive_features": True}, "pass missing='at_random', got 'error'"),
        ({"missing": "at_random"}, {}, "alone need an assumption: .* got 'at_random'"),
        ({"missing": "sufficient"}, {"group_probabilities": np.ones((6000, 2))}, "sum to 1"),
        ({"missing": "sufficient"}, {"group_probabilities": np.full((9, 2), 0.5)}, "inconsistent"),
        (
            {"missing": "independent"},
            {"group_probabilities": np.full((6000, 2), 0.5)},
            "nearly collinear",
        ),
    ],
    ids=str,
)
def test_fits_refuse_what_does_not_go_together(settings, params, message, data, proxies):
    X, y, sex, _ = data
    params = {"group_probabilities": proxies} | params
    if "sensitive_features" in params:
        params["sensitive_features"] = sex
    with pytest.raises(ValueError, match=message):
        ConstrainedERMClassifier(**settings).fit(X, y, **params)


def test_models_of_groups_need_recorded_ones(data, proxies):
    X, y, _, _ = data
    with pytest.raises(ValueError, match="learns the group from samples that have one"):
        clone(ANY_MODEL).fit(X, y, group_probabilities=proxies)


def test_partitioned_samples_have_no_probabilities(data, proxies):
    from skfair._partitions.collections import is_partitioned

    da = pytest.importorskip("dask.array")
    X, y, sex, _ = data
    columns = [da.from_array(one, chunks=(3000, *one.shape[1:])) for one in (X, y, sex)]
    assert is_partitioned(*columns)
    with pytest.raises(ValueError, match="cannot have group_probabilities"):
        ConstrainedERMClassifier().fit(
            *columns[:2], sensitive_features=columns[2], group_probabilities=proxies
        )
    with pytest.raises(ValueError, match="need missing='error', got 'sufficient'"):
        ConstrainedERMClassifier(missing="sufficient").fit(
            *columns[:2], group_probabilities=proxies
        )


@pytest.mark.parametrize("estimator", EVERY, ids=name_of)
def test_excluded_samples_count_in_the_loss_and_in_no_group(estimator, data):
    X, y, _, recorded = data
    groups = check_recorded_groups(recorded, len(y), "exclude")
    actual = fit(clone(estimator).set_params(missing="exclude"), X, y, recorded)
    expected = fit(clone(estimator).set_params(missing="error"), X, y, groups.matrix)
    name = "coef_" if hasattr(actual, "coef_") else "rule_coef_"
    np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name))
    report = actual.constraint_report_.set_index("group")
    assert report.loc["f", "n"] == (recorded == "f").sum() and actual.assumption_ == ""
    assert np.ptp(report["estimate"]) <= report["tolerance"].iloc[0] + 1e-6
