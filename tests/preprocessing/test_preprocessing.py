"""Reweighing and the correlation remover."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline

from skfair.exceptions import MissingSensitiveFeaturesError, MissingSensitiveFeaturesWarning
from skfair.metrics import get_scorer
from skfair.preprocessing import CorrelationRemover, reweighing_weights


def make_groups(n_samples, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.choice(["a", "b", "c"], n_samples)
    X = rng.normal(size=(n_samples, 3)) + (groups == "b")[:, np.newaxis] * [1.0, 0.0, -2.0]
    return X, groups, rng.uniform(0.5, 2.0, n_samples)


def test_weights_worked_out_by_hand():
    # Half of the samples are in each group and half in each class: 1/4 of each pair is expected,
    # and 2/6, 1/6 are there.
    weights = reweighing_weights([1, 1, 0, 1, 0, 0], sensitive_features=list("aaabbb"))
    np.testing.assert_allclose(weights, [0.75, 0.75, 1.5, 1.5, 0.75, 0.75])


@given(st.integers(0, 10**6))
def test_reweighed_classes_are_independent_of_groups_and_totals_stay(seed):
    rng = np.random.default_rng(seed)
    groups = rng.choice(["a", "b", "c"], 200)
    y = rng.choice(["no", "maybe", "yes"], 200)
    before = rng.integers(0, 4, 200).astype(float)
    frame = pd.DataFrame({"group": groups, "y": y, "before": before})
    frame["after"] = reweighing_weights(y, sensitive_features=groups, sample_weight=before)
    for column in ("group", "y"):
        totals = frame.groupby(column)[["before", "after"]].sum()
        np.testing.assert_allclose(totals["after"], totals["before"])
    table = frame.pivot_table(index="group", columns="y", values="after", aggfunc="sum")
    shares = table.div(table.sum(axis=1), axis=0)
    np.testing.assert_allclose(shares, np.tile(shares.iloc[0], (3, 1)))
    assert (frame["after"][before == 0] == 0).all()


def test_weights_are_those_of_integer_copies():
    groups, y = list("aaabbbb"), [1, 1, 0, 1, 0, 0, 0]
    counts = np.array([1, 2, 1, 3, 1, 1, 2])
    weights = reweighing_weights(y, sensitive_features=groups, sample_weight=counts)
    repeated = reweighing_weights(
        np.repeat(y, counts), sensitive_features=np.repeat(groups, counts)
    )
    np.testing.assert_allclose(np.repeat(weights / counts, counts), repeated)


def test_a_group_without_a_class_is_named():
    with pytest.warns(UserWarning, match="'b' lacks one"):
        weights = reweighing_weights([0, 1, 1, 1], sensitive_features=list("aabb"))
    assert np.isfinite(weights).all()


@pytest.mark.parametrize(
    "y, groups, message",
    [
        ([0.5, 1.7, 2.2], list("aab"), "continuous"),
        ([0, 1], list("aab"), "sensitive_features"),
        ([0, 1, 1], ["a", None, "b"], "missing value"),
        ([0, np.nan, 1], list("aab"), "NaN|continuous"),
    ],
)
def test_bad_input_is_refused(y, groups, message):
    with pytest.raises(ValueError, match=message):
        reweighing_weights(y, sensitive_features=groups)


def test_features_are_residuals_of_a_least_squares_fit():
    X, groups, weights = make_groups(300)
    data = {"sensitive_features": groups, "sample_weight": weights}
    transformed = CorrelationRemover().fit_transform(X, **data)
    indicators = pd.get_dummies(groups).to_numpy(float)
    plain = LinearRegression(fit_intercept=False).fit(indicators, X, sample_weight=weights)
    residuals = X - plain.predict(indicators) + np.average(X, axis=0, weights=weights)
    np.testing.assert_allclose(transformed, residuals, atol=1e-12)
    half = CorrelationRemover(alpha=0.5).fit_transform(X, **data)
    np.testing.assert_allclose(half, (X + residuals) / 2, atol=1e-12)


def test_new_data_is_shifted_by_the_means_of_the_training_data():
    X, groups, _ = make_groups(300)
    remover = CorrelationRemover().fit(X, sensitive_features=groups)
    new = remover.transform([[0.0, 0.0, 0.0]], sensitive_features=["b"])
    np.testing.assert_allclose(new[0], X.mean(axis=0) - X[groups == "b"].mean(axis=0))
    with pytest.raises(ValueError, match="not seen at fit: 'z'"):
        remover.transform(X[:1], sensitive_features=["z"])
    remover.set_params(handle_unknown="overall")
    with pytest.warns(UserWarning, match="not seen at fit: 'z'"):
        unknown = remover.transform(X[:2], sensitive_features=["z", groups[1]])
    np.testing.assert_array_equal(unknown[0], X[0])
    np.testing.assert_array_equal(
        unknown[1:], remover.transform(X[1:2], sensitive_features=groups[1:2])
    )
    with pytest.raises(MissingSensitiveFeaturesError, match="transform"):
        remover.transform(X)


def test_without_groups_there_is_a_warning_and_features_stay():
    X, _, _ = make_groups(30)
    with pytest.warns(MissingSensitiveFeaturesWarning, match="features stay"):
        remover = CorrelationRemover().fit(X)
    np.testing.assert_array_equal(remover.transform(X), X)


def test_single_precision_and_names_of_features_stay():
    X, groups, _ = make_groups(30)
    frame = pd.DataFrame(X.astype(np.float32), columns=["x", "y", "z"])
    remover = CorrelationRemover().set_output(transform="pandas")
    transformed = remover.fit_transform(frame, sensitive_features=groups)
    assert list(transformed.columns) == ["x", "y", "z"]
    assert set(transformed.dtypes) == {np.dtype(np.float32)}


def test_groups_reach_it_in_pipelines_and_cross_validation():
    X, groups, _ = make_groups(120)
    y = (X.sum(axis=1) > 0).astype(int)
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_validate(
            make_pipeline(CorrelationRemover(), LogisticRegression()),
            X,
            y,
            scoring=get_scorer("accuracy"),
            params={"sensitive_features": groups},
            error_score="raise",
        )
    assert scores["test_score"].min() > 0.6


def test_alpha_is_a_share():
    X, groups, _ = make_groups(30)
    with pytest.raises(ValueError, match="alpha"):
        CorrelationRemover(alpha=1.5).fit(X, sensitive_features=groups)
