"""Reweighing, the correlation remover, and scores that take the place of a model."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline

from skfair.classification import ConstrainedClassifierCV
from skfair.exceptions import MissingSensitiveFeaturesError, MissingSensitiveFeaturesWarning
from skfair.metrics import demographic_parity_difference, get_scorer
from skfair.preprocessing import CorrelationRemover, ScoreColumn, reweighing_weights


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


@pytest.mark.slow
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
    groups = list("aaabbbb")
    y = [1, 1, 0, 1, 0, 0, 0]
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
    with pytest.raises(
        MissingSensitiveFeaturesError,
        match=r"as in transform\(X, sensitive_features=\.\.\.\)\. In a search.*\)\.$",
    ):
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


def draw_scores(n_samples, seed=0):
    """Probabilities of a vendor, features that show the group, classes and groups."""
    rng = np.random.default_rng(seed)
    group = rng.integers(2, size=n_samples)
    skill = rng.normal(size=n_samples)
    y = (skill + 0.6 * group + 0.7 * rng.normal(size=n_samples) > 0.3).astype(int)
    odds = skill + 0.6 * group + 0.3 * rng.normal(size=n_samples)
    frame = pd.DataFrame({"risk": 1.0 / (1.0 + np.exp(-odds)), "city": group.astype(str)})
    frame["age"] = 1.5 * group + rng.normal(size=n_samples)
    return frame, y, group


@pytest.mark.parametrize("scale", ["log_odds", "probability"])
def test_the_scores_are_those_of_the_column(scale):
    X = np.array(
        [[0.0, -2.0], [0.0, 0.5], [0.0, 1.0]]
        if scale == "log_odds"
        else [[0.0, 0.1], [0.0, 0.5], [0.0, 1.0]]
    )
    model = ScoreColumn(1, scale=scale).fit(X, ["no", "yes", "yes"])
    expected = 1.0 / (1.0 + np.exp(-X[:, 1])) if scale == "log_odds" else X[:, 1]
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert hasattr(model, "decision_function") == (scale == "log_odds")
    likelier = ["no", "yes", "yes"] if scale == "log_odds" else ["no", "no", "yes"]
    assert model.predict(X).tolist() == likelier


@pytest.mark.slow
def test_scores_of_a_frame_are_constrained_with_its_other_columns():
    X, y, group = draw_scores(6000)
    train, test = slice(0, 2000), slice(2000, None)
    X = X.assign(city=X["city"].astype("category"))
    alone = X[["risk"]]
    scores = {}
    for name, features in {"alone": alone, "all": X[["risk", "age"]]}.items():
        model = ConstrainedClassifierCV(ScoreColumn("risk", scale="probability"), tolerance=0.03)
        model.fit(features[train], y[train], sensitive_features=group[train])
        scores[name] = model.score(features[test], y[test])
        decisions = model.predict(features[test])
        gap = demographic_parity_difference(y[test], decisions, sensitive_features=group[test])
        assert gap < 0.08
    assert scores["all"] > scores["alone"] + 0.05


def test_the_column_is_found_by_a_search():
    X, y, group = draw_scores(600)
    columns = ["risk", "age"]
    grid = {"estimator__column": columns}
    model = ConstrainedClassifierCV(ScoreColumn(scale="probability"), None)
    X["age"] = (X["age"] - X["age"].min()) / np.ptp(X["age"])
    search = GridSearchCV(model, grid, cv=2).fit(X[columns], y)
    assert search.best_params_ == {"estimator__column": "risk"}


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"column": 7}, "column=7, and X has 3 columns named"),
        ({"column": "score"}, "column='score', and X has 3 columns named"),
        ({"column": "age", "scale": "probability"}, "must be between 0 and 1, but those of column"),
    ],
)
def test_scores_that_are_not_there_are_refused(settings, match):
    X, y, _ = draw_scores(50)
    with pytest.raises(ValueError, match=match):
        ScoreColumn(**settings).fit(X, y)


def test_missing_scores_are_refused_and_other_missing_values_are_not():
    X, y, _ = draw_scores(50)
    X.loc[3, "age"] = np.nan
    ScoreColumn("risk", scale="probability").fit(X, y)
    with pytest.raises(ValueError, match="column 'age' of X contains NaN"):
        ScoreColumn("age").fit(X, y)


def test_probabilities_taken_for_log_odds_warn():
    X, y, _ = draw_scores(50)
    with pytest.warns(UserWarning, match="Pass scale='probability' if they are"):
        ScoreColumn("risk").fit(X, y)


@pytest.mark.slow
def test_a_model_of_groups_that_gets_the_scores_alone_warns():
    X, y, group = draw_scores(600)
    chosen = ColumnTransformer([("risk", "passthrough", ["risk"])])
    pipeline = make_pipeline(chosen, LogisticRegression())
    model = ConstrainedClassifierCV(pipeline, tolerance=0.01)
    with pytest.warns(UserWarning, match="1 of the 3 columns of X"):
        model.fit(X, y, sensitive_features=group)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_reweighing_is_proportional_to_the_weights(factor):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 50)
    y = rng.integers(0, 2, 50)
    weights = rng.integers(1, 4, 50)
    expected = reweighing_weights(y, sensitive_features=groups, sample_weight=weights)
    scaled = reweighing_weights(y, sensitive_features=groups, sample_weight=weights * factor)
    np.testing.assert_allclose(scaled / factor, expected, rtol=1e-9)
