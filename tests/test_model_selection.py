import pickle

import numpy as np
import pytest
import sklearn
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

from benchmarks.guarantees.selection import accepted_share
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.metrics import demographic_parity_difference, get_scorer
from skfair.model_selection import best_subject_to

PARITY = "neg_demographic_parity_difference"


def results(**scores):
    return {f"mean_test_{name}": np.array(values) for name, values in scores.items()}


FRONT = results(
    accuracy=[0.9, 0.8, 0.7, 0.6], recall=[0.1, 0.2, 0.3, 0.4], **{PARITY: [-0.3, -0.2, -0.1, -0.2]}
)


@pytest.mark.parametrize(
    "bound, index", [(0.5, 0), (0.3, 0), (0.25, 1), (0.2, 1), (0.15, 2), (0.1, 2)]
)
def test_the_best_candidate_within_an_upper_bound_is_selected(bound, index):
    assert best_subject_to(PARITY, bound)(FRONT) == index


def test_the_bound_of_a_metric_to_maximise_is_a_lower_bound():
    ratios = results(demographic_parity_ratio=[0.5, 0.8, 0.9], accuracy=[0.9, 0.8, 0.7])
    assert best_subject_to("demographic_parity_ratio", 0.8)(ratios) == 1
    assert best_subject_to("demographic_parity_ratio", 0.81)(ratios) == 2


def test_a_bound_follows_the_direction_of_a_scorer_of_another_name():
    scores = {"mean_test_accuracy": np.array([0.7, 0.8, 0.9])}
    scores["mean_test_gap"] = -np.array([0.05, 0.08, 0.2])
    with pytest.warns(UserWarning, match="minus a metric that must be at most 0.1. .* neg_gap"):
        assert best_subject_to("gap", 0.1)(scores) == 1
    infeasible = pytest.warns(InfeasibleConstraintWarning, match="at most 0.01 .* with 0.05")
    with infeasible, pytest.warns(UserWarning, match="All scores of 'gap'"):
        assert best_subject_to("gap", 0.01)(scores) == 0
    # A score of which more is better, and that no candidate has.
    scores["mean_test_gap"] = np.zeros(3)
    with pytest.warns(UserWarning, match="mean gap of at least 0.1"):
        assert best_subject_to("gap", 0.1)(scores) == 2


def test_the_objective_is_the_first_other_scorer_unless_named():
    assert best_subject_to(PARITY, 0.2)(FRONT) == 1
    assert best_subject_to(PARITY, 0.2, objective="recall")(FRONT) == 3
    assert best_subject_to("recall", 0.3, objective=PARITY)(FRONT) == 2


def test_a_margin_is_counted_in_standard_errors():
    folds = {
        f"split0_test_{PARITY}": np.array([-0.08, -0.03]),
        f"split1_test_{PARITY}": np.array([0.0, -0.05]),
    }
    both = results(accuracy=[0.9, 0.8], **{PARITY: [-0.04, -0.04]}) | folds
    assert best_subject_to(PARITY, 0.05)(both) == 0
    # Standard errors are .04 and .01.
    assert best_subject_to(PARITY, 0.05, margin=1)(both) == 1
    with pytest.warns(InfeasibleConstraintWarning, match="with a margin of 2 standard errors"):
        assert best_subject_to(PARITY, 0.05, margin=2)(both) == 1
    with pytest.raises(ValueError, match="margin must be"):
        best_subject_to(PARITY, 0.05, margin=-1)


@pytest.mark.parametrize("objective", [None, "accuracy"])
def test_the_score_of_a_search_is_that_of_its_objective(objective):
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=300)
    X = np.column_stack((rng.normal(size=300), groups + rng.normal(size=300)))
    y = X @ [1.0, 1.0] > 0.5
    refit = best_subject_to(PARITY, 0.9, objective=objective)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            LogisticRegression(),
            {"C": [1e-3, 1.0]},
            scoring={"accuracy": "accuracy", PARITY: get_scorer(PARITY)},
            refit=refit,
        ).fit(X, y, sensitive_features=groups)
        assert search.score(X, y) == search.best_estimator_.score(X, y)


def test_without_a_candidate_within_the_bound_the_closest_is_selected():
    with pytest.warns(
        InfeasibleConstraintWarning,
        match="mean demographic_parity_difference of at most 0.05 .* closest, with 0.1, is",
    ):
        assert best_subject_to(PARITY, 0.05)(FRONT) == 2
    with pytest.warns(InfeasibleConstraintWarning, match="mean recall of at least 0.5 .* 0.4"):
        assert best_subject_to("recall", 0.5)(FRONT) == 3


def test_among_equally_close_candidates_the_objective_decides():
    equal = results(balance=[0, 0, 0], accuracy=[0.5, 0.7, 0.6])
    with pytest.warns(InfeasibleConstraintWarning):
        assert best_subject_to("balance", 0.5)(equal) == 1


def test_candidates_with_a_score_of_nan_are_never_selected():
    holes = results(accuracy=[np.nan, 0.9, 0.8, 0.7], **{PARITY: [0, np.nan, -0.4, -0.1]})
    assert best_subject_to(PARITY, 0.2)(holes) == 3
    with pytest.warns(InfeasibleConstraintWarning, match="closest, with 0.1"):
        assert best_subject_to(PARITY, 0.05)(holes) == 3
    nothing = results(accuracy=[np.nan, 1], **{PARITY: [0, np.nan]})
    with pytest.raises(ValueError, match='A candidate must have .* error_score="raise"'):
        best_subject_to(PARITY, 0.2)(nothing)


@pytest.mark.parametrize(
    "metric, objective, scores, missing",
    [
        ("neg_separation_gap", None, FRONT, "'neg_separation_gap'"),
        (PARITY, "precision", FRONT, "precision"),
        ("score", None, results(score=[1, 2]), "an objective"),
    ],
)
def test_missing_scorers_are_named(metric, objective, scores, missing):
    with pytest.raises(ValueError, match=rf"must have the scorers .*{missing}.* but has \["):
        best_subject_to(metric, 0.1, objective=objective)(scores)


def test_the_refit_function_can_be_pickled_compared_and_printed():
    refit = best_subject_to(PARITY, 0.2, objective="recall")
    assert pickle.loads(pickle.dumps(refit)) == refit
    settings = "bound=0.2, objective='recall', margin=0.0, confidence_level=None"
    assert repr(refit) == f"BestSubjectTo(metric='{PARITY}', {settings})"


@pytest.mark.parametrize("bound", ["0.2", None, np.nan, [0.2]])
def test_a_bound_must_be_a_number(bound):
    with pytest.raises(ValueError, match="bound must be a finite number"):
        best_subject_to(PARITY, bound)


# In a search --------------------------------------------------------------------------


@pytest.fixture
def applicants():
    """The more regularisation, the less weight on the feature that depends on the group."""
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=600)
    X = np.column_stack((rng.normal(size=600), 0.5 * group + 0.1 * rng.normal(size=600)))
    y = (X @ [0.5, 2.0] + 0.2 * rng.normal(size=600) > 0.5).astype(int)
    return X, y, group


def search_for(bound, search=GridSearchCV, **kwargs):
    return search(
        LogisticRegression(),
        {"C": [10.0, 0.1, 0.01]},
        scoring={"accuracy": "accuracy", PARITY: get_scorer(PARITY)},
        refit=best_subject_to(PARITY, bound),
        **kwargs,
    )


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("kind", [{}, {"search": RandomizedSearchCV, "n_iter": 3}])
def test_a_search_refits_the_best_fair_candidate(applicants, kind):
    X, y, group = applicants
    with sklearn.config_context(enable_metadata_routing=True):
        plain = search_for(1.0, **kind).fit(X, y, sensitive_features=group)
        accuracy = plain.cv_results_["mean_test_accuracy"]
        gaps = -plain.cv_results_[f"mean_test_{PARITY}"]
        bound = np.median(gaps)
        fair = clone(plain).set_params(refit=best_subject_to(PARITY, bound))
        fair.fit(X, y, sensitive_features=group)
    assert plain.best_index_ == accuracy.argmax()
    assert gaps[plain.best_index_] > bound >= gaps[fair.best_index_]
    assert accuracy[fair.best_index_] == accuracy[gaps <= bound].max()
    assert (
        fair.best_estimator_.C
        == fair.best_params_["C"]
        == fair.cv_results_["params"][fair.best_index_]["C"]
    )
    value = demographic_parity_difference(y, fair.predict(X), sensitive_features=group)
    assert value < demographic_parity_difference(y, plain.predict(X), sensitive_features=group)


def test_a_search_warns_where_no_candidate_is_fair_enough(applicants):
    X, y, group = applicants
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.warns(InfeasibleConstraintWarning, match="at most 0.001"),
    ):
        search = search_for(0.001).fit(X, y, sensitive_features=group)
    assert search.best_index_ == search.cv_results_[f"mean_test_{PARITY}"].argmax()


def test_a_confidence_level_lowers_the_bound_on_the_mean():
    folds = np.array([[0.04, 0.02], [0.02, 0.02], [0.06, 0.03]])
    cv_results = {
        "mean_test_accuracy": np.array([0.9, 0.8]),
        f"mean_test_{PARITY}": -folds.mean(axis=0),
        **{f"split{k}_test_{PARITY}": -fold for k, fold in enumerate(folds)},
    }
    assert best_subject_to(PARITY, 0.05)(cv_results) == 0
    # Variances are .0004 and .0000333, in the mean .000217, with 4 degrees of freedom. Student's
    # quantile is 2.132 at .95, which is .9 divided between two candidates. Times the root of
    # 1/3 + 1/2 the limits are .04 + .0389 = .0789 and .0233 + .0287 = .0520.
    assert best_subject_to(PARITY, 0.0525, confidence_level=0.9)(cv_results) == 1
    assert best_subject_to(PARITY, 0.0790, confidence_level=0.9)(cv_results) == 0
    with pytest.warns(InfeasibleConstraintWarning, match=r"with a confidence of 0\.9"):
        assert best_subject_to(PARITY, 0.0515, confidence_level=0.9)(cv_results) == 1


def test_confidence_of_one_candidate_is_that_of_its_limit():
    folds = np.array([0.02, 0.02, 0.03])
    cv_results = {
        "mean_test_accuracy": np.array([0.8]),
        f"mean_test_{PARITY}": -folds.mean(keepdims=1),
    }
    cv_results |= {f"split{k}_test_{PARITY}": np.array([-fold]) for k, fold in enumerate(folds)}
    limit = folds.mean() + stats.t.ppf(0.9, 2) * folds.std(ddof=1) * np.sqrt(1 / 3 + 1 / 2)
    best_subject_to(PARITY, limit + 1e-9, confidence_level=0.9)(cv_results)
    with pytest.warns(InfeasibleConstraintWarning):
        best_subject_to(PARITY, limit - 1e-9, confidence_level=0.9)(cv_results)


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_confidence_holds_for_the_selected_candidate(correlation):
    """All candidates break the bound; at .95 at most 5 % of searches accept one of them."""
    accepted = accepted_share(20, correlation, n_searches=300, rng=np.random.default_rng(0))
    assert accepted <= stats.binom.isf(0.001, 300, 0.05) / 300
    assert accepted_share(20, correlation, 100, np.random.default_rng(0), gap=0.0) > 0.3


def test_confidence_needs_several_folds():
    cv_results = {"mean_test_accuracy": np.array([0.8]), f"mean_test_{PARITY}": np.array([-0.02])}
    cv_results |= {f"split0_test_{PARITY}": np.array([-0.02])}
    with pytest.raises(ValueError, match="at least 2 test folds, but the search has 1"):
        best_subject_to(PARITY, 0.1, confidence_level=0.9)(cv_results)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1, "high"])
def test_confidence_is_between_0_and_1(confidence):
    with pytest.raises(ValueError, match="confidence_level must be a number between 0 and 1"):
        best_subject_to(PARITY, 0.1, confidence_level=confidence)


def test_a_margin_and_a_confidence_level_exclude_each_other():
    with pytest.raises(ValueError, match="pass one of them"):
        best_subject_to(PARITY, 0.1, margin=1.0, confidence_level=0.9)
