"""What scorers raise becomes nan in searches of scikit-learn, which warn with the advice."""

import numpy as np
import pytest
import sklearn
from sklearn.cluster import KMeans
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.robustness.scorers import ESTIMATORS, SITUATIONS, outcomes
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityPostprocessor,
)
from skfair.exceptions import MissingSensitiveFeaturesError
from skfair.metrics import get_scorer
from skfair.model_selection import best_subject_to
from skfair.regression import ConstrainedERMRegressor

PARITY = get_scorer("neg_demographic_parity_difference")
GRID = {"C": [0.1, 1.0]}
MODEL = LogisticRegression()
RNG = np.random.default_rng(0)
GROUPS = RNG.integers(2, size=120)
X = RNG.normal(size=(120, 2)) + 0.5 * GROUPS[:, np.newaxis]
Y = (X[:, 0] + RNG.normal(size=120) > 0.2).astype(int)


def make_search(search, **settings):
    def run(model, grid, scoring, params, **more):
        refit = isinstance(scoring, dict) and next(iter(scoring))
        refit = {"refit": refit} if refit else {}
        return search(model, grid, scoring=scoring, cv=2, **refit, **settings, **more).fit(
            X, Y, **params
        )

    return run


def make_validation(function, **settings):
    def run(model, grid, scoring, params, **more):
        return function(model, X, Y, scoring=scoring, cv=2, params=params, **settings, **more)

    return run


HALVING = {"min_resources": 60, "random_state": 0}
ONE_SCORER = {
    "halving": make_search(HalvingGridSearchCV, **HALVING),
    "halving at random": make_search(HalvingRandomSearchCV, n_candidates=2, **HALVING),
    "cross_val_score": make_validation(cross_val_score),
    "learning_curve": make_validation(learning_curve, train_sizes=[0.9]),
    "validation_curve": make_validation(validation_curve, param_name="C", param_range=[0.1, 1.0]),
}
ANY_SCORERS = {
    "grid": make_search(GridSearchCV),
    "random": make_search(RandomizedSearchCV, n_iter=2),
    "cross_validate": make_validation(cross_validate),
}
SCORINGS = {
    "one": PARITY,
    "several": {"parity": PARITY, "again": PARITY},
    "with accuracy": {"accuracy": "accuracy", "parity": PARITY},
}
CASES = [
    *((run, PARITY) for run in ONE_SCORER.values()),
    *((run, scoring) for run in ANY_SCORERS.values() for scoring in SCORINGS.values()),
]
NAMES = [
    *ONE_SCORER,
    *(f"{run}, {scoring}" for run in ANY_SCORERS for scoring in SCORINGS),
]


@pytest.mark.filterwarnings("ignore:One or more of the (test|train) scores are non-finite")
@pytest.mark.parametrize("routing", [False, True], ids=["routing off", "params forgotten"])
def test_missing_groups_are_scores_of_nan_and_a_warning_with_the_advice(routing):
    search = GridSearchCV(MODEL, GRID, scoring=PARITY, cv=2)
    with (
        sklearn.config_context(enable_metadata_routing=routing),
        pytest.warns(UserWarning, match=r"(?s)Scoring failed.*set_config\(enable_metadata_routing"),
    ):
        search.fit(X, Y)
    assert np.isnan(search.cv_results_["mean_test_score"]).all()


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_a_search_goes_on_where_one_candidate_cannot_be_scored():
    def score(model, X, y):
        if model.C < 1:
            raise FloatingPointError("no score")
        return 1.0

    search = GridSearchCV(MODEL, GRID, scoring=score, cv=2, error_score=-9.0)
    with pytest.warns(UserWarning, match="(?s)Scoring failed.*no score"):
        search.fit(X, Y)
    assert search.cv_results_["mean_test_score"].tolist() == [-9.0, 1.0]


@pytest.mark.covering(1)
@pytest.mark.parametrize("routing", [False, True], ids=["routing off", "params forgotten"])
@pytest.mark.parametrize("run, scoring", CASES, ids=NAMES)
def test_searches_that_raise_errors_raise_the_error_itself(run, scoring, routing):
    with (
        sklearn.config_context(enable_metadata_routing=routing),
        pytest.raises(MissingSensitiveFeaturesError, match="sensitive_features is missing"),
    ):
        run(MODEL, GRID, scoring, {}, error_score="raise")


@pytest.mark.covering(1)
@pytest.mark.parametrize("run, scoring", CASES, ids=NAMES)
def test_with_groups_every_search_has_scores(run, scoring):
    with sklearn.config_context(enable_metadata_routing=True):
        result = run(MODEL, GRID, scoring, {"sensitive_features": GROUPS})
    if isinstance(result, GridSearchCV | RandomizedSearchCV | HalvingGridSearchCV):
        assert np.isfinite(result.best_score_)
    elif isinstance(result, dict):
        assert all(np.isfinite(scores).all() for scores in result.values())
    elif isinstance(result, np.ndarray):
        assert np.isfinite(result).all()


def test_a_search_inside_a_search_that_raises_errors_fails_to_fit():
    inner = GridSearchCV(MODEL, GRID, scoring=PARITY, cv=2, error_score="raise")
    with pytest.raises(ValueError, match="All the 2 fits failed(.|\n)*enable_metadata_routing"):
        cross_validate(inner, X, Y, cv=2)


def test_outside_of_searches_errors_are_ordinary():
    model = MODEL.fit(X, Y)
    with pytest.raises(MissingSensitiveFeaturesError, match="In a direct call pass"):
        PARITY(model, X, Y)
    search = GridSearchCV(MODEL, GRID, scoring=PARITY, cv=2)
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(X, Y, sensitive_features=GROUPS)
        assert search.score(X, Y, sensitive_features=GROUPS) <= 0
        with pytest.raises(MissingSensitiveFeaturesError):
            search.score(X, Y)


@pytest.mark.filterwarnings("ignore:Scoring failed")
@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_best_subject_to_says_how_to_see_why_all_scores_are_nan():
    scoring = {"accuracy": "accuracy", "neg_gap": PARITY}
    search = GridSearchCV(MODEL, GRID, scoring=scoring, refit=best_subject_to("neg_gap", 0.1), cv=2)
    with pytest.raises(ValueError, match='error_score="raise" to see why'):
        search.fit(X, Y)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.filterwarnings("ignore:The selection_rate of every group is 0")
def test_a_search_over_ratios_ranks_undefined_ratios_last():
    name = "demographic_parity_ratio"
    accepted = (Y == 1) & (X[:, 0] > 0)
    scoring = {name: get_scorer(name), "accuracy": "accuracy"}
    search = GridSearchCV(MODEL, {"C": [1e-6, 1.0]}, scoring=scoring, refit=name, cv=2)
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(X, accepted, sensitive_features=GROUPS)
        assert np.isnan(search.cv_results_[f"mean_test_{name}"][0])
        assert search.best_params_ == {"C": 1.0}
        search.set_params(param_grid={"C": [1e-7, 1e-6]}, refit=best_subject_to(name, 0.8))
        with pytest.raises(ValueError, match="one of them is nan for each"):
            search.fit(X, accepted, sensitive_features=GROUPS)


# Models with sensitive_features -----------------------------------------------------------

BY_GROUP = ConstrainedClassifierCV(LogisticRegression(), cv=2, group_estimator="sensitive_features")
WITH_GROUPS = {
    "group_interactions": ConstrainedERMClassifier(group_interactions=True),
    "group intercepts": ConstrainedERMClassifier(group_interactions="intercept"),
    "group_estimator": BY_GROUP,
    "postprocessor": PartialParityPostprocessor(LogisticRegression(), cv=2),
    "pipeline": make_pipeline(StandardScaler(), ConstrainedERMClassifier(group_interactions=True)),
}
PERFORMANCE = ["accuracy", "balanced_accuracy", "f1", "roc_auc", "average_precision"]


def scores_of(model, target, scoring):
    with sklearn.config_context(enable_metadata_routing=True):
        params = {"sensitive_features": GROUPS}
        return cross_validate(model, X, target, scoring=scoring, params=params, cv=2)


@pytest.mark.covering(0)
@pytest.mark.parametrize("model", WITH_GROUPS.values(), ids=WITH_GROUPS)
def test_a_classifier_with_sensitive_features_is_scored_with_routing(model):
    names = PERFORMANCE
    if hasattr(model, "predict_proba"):
        names = [*names, "neg_log_loss", "neg_brier_score"]
    result = scores_of(model, Y, {name: get_scorer(name) for name in names})
    assert all(np.isfinite(result[f"test_{name}"]).all() for name in names)
    default = scores_of(model, Y, None)["test_score"]
    np.testing.assert_array_equal(default, result["test_accuracy"])


@pytest.mark.parametrize("interactions", [True, "intercept"])
def test_a_regressor_with_sensitive_features_is_scored_with_routing(interactions):
    model = ConstrainedERMRegressor(group_interactions=interactions)
    names = ["r2", "neg_mean_squared_error", "neg_mean_absolute_error", "neg_max_error"]
    result = scores_of(model, X[:, 0] ** 2, {name: get_scorer(name) for name in names})
    assert all(np.isfinite(result[f"test_{name}"]).all() for name in names)
    default = scores_of(model, X[:, 0] ** 2, None)["test_score"]
    np.testing.assert_array_equal(default, result["test_r2"])


@pytest.mark.covering(1)
@pytest.mark.parametrize("scoring", [None, "accuracy", get_scorer("accuracy")], ids=str)
@pytest.mark.parametrize("model", WITH_GROUPS.values(), ids=WITH_GROUPS)
def test_without_routing_the_error_of_a_search_names_the_remedy(model, scoring):
    step = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
    search = GridSearchCV(
        model, {f"{step}tolerance": [0.1, 0.2]}, scoring=scoring, cv=2, error_score="raise"
    )
    with pytest.raises(MissingSensitiveFeaturesError, match=r"get_scorer\(\"accuracy\"\)"):
        search.fit(X, Y, **{f"{step}sensitive_features": GROUPS})


@pytest.mark.parametrize("model", WITH_GROUPS.values(), ids=WITH_GROUPS)
def test_score_takes_groups(model):
    with sklearn.config_context(enable_metadata_routing=True):
        fitted = sklearn.clone(model).fit(X, Y, sensitive_features=GROUPS)
        right = fitted.predict(X, sensitive_features=GROUPS) == Y
        assert fitted.score(X, Y, sensitive_features=GROUPS) == right.mean()
        with pytest.raises(MissingSensitiveFeaturesError, match="score"):
            fitted.score(X, Y)
    weights = np.arange(120) % 3
    if not hasattr(fitted, "steps"):
        weighted = fitted.score(X, Y, weights, sensitive_features=GROUPS)
        assert weighted == pytest.approx(np.average(right, weights=weights))


def test_a_scorer_of_probabilities_refuses_a_classifier_without_them():
    model = WITH_GROUPS["postprocessor"]
    with pytest.raises(ValueError, match="'neg_log_loss' cannot score this PartialParity"):
        get_scorer("neg_log_loss")(
            sklearn.clone(model).fit(X, Y, sensitive_features=GROUPS),
            X,
            Y,
            sensitive_features=GROUPS,
        )


# Metrics of other tasks ----------------------------------------------------------------


@pytest.mark.parametrize(
    "model, target, name, advice",
    [
        (
            LinearRegression(),
            X[:, 0],
            "neg_demographic_parity_difference",
            "neg_mean_squared_error",
        ),
        (LinearRegression(), X[:, 0], "balance", "neg_mean_sq"),
        (MODEL, Y, "neg_mean_absolute_error_difference", "neg_demographic_parity_difference"),
        (MODEL, Y, "balance", "neg_demographic_parity_difference"),
        (KMeans(2, n_init=1), None, "neg_demographic_parity_difference", "'balance'"),
        (
            MODEL,
            Y.astype(str),
            "neg_demographic_parity_difference",
            "pos_label must name .*'0', '1'",
        ),
    ],
    ids=str,
)
def test_a_metric_of_another_task_is_refused_in_a_search(model, target, name, advice):
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match=advice),
    ):
        GridSearchCV(model, {}, scoring=get_scorer(name), cv=2, error_score="raise").fit(
            X, target, sensitive_features=GROUPS
        )


N_ERRORS = {
    "ConstrainedERMClassifier": 0,
    "ConstrainedERMClassifier, group_interactions": 1,
    "pipeline of it": 1,
    "ConstrainedClassifierCV, group_estimator='sensitive_features'": 1,
    "the same, three classes": 1,
    "PartialParityPostprocessor": 2,
    "ConstrainedERMRegressor, group_interactions": 2,
    "FairKMeans": 1,
}
"""Errors with groups: of a scorer of scikit-learn, which passes none to the six models that need
them, of parity of a regressor or a clustering, and of probabilities that ranks do not have."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_each_of_six_scorers_gives_a_number_or_an_error_that_names_the_remedy(name):
    table = outcomes(name)
    assert len(table) == 6
    assert set(table[list(SITUATIONS)].to_numpy().ravel()) <= {"number", "error"}
    assert (table["routing and groups"] == "error").sum() == N_ERRORS[name]
