"""Ladders of fits: equal to the fits one by one, with folds that are fitted once."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair._fitting import enforce
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityClassifier,
)
from skfair.model_selection import fit_ladder
from skfair.ranking import ConstrainedRankerCV
from skfair.regression import ConstrainedRegressorCV, PartialParityRegressor


class CountedRegression(LogisticRegression):
    """Counts its fits."""

    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        """Fit, and count."""
        type(self).n_fits += 1
        return super().fit(X, y, sample_weight)


def draw(seed, n=600):
    """Features, binary target and groups with a gap."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    X = np.column_stack([rng.normal(size=n), rng.normal(size=n) + (sex == "m")])
    return X, X.sum(axis=1) + rng.logistic(size=n), sex


def assert_same_fits(ladder, estimator, parameter, values, X, y, **fit_params):
    """The fits of a ladder are those of clones, one by one."""
    for fitted, value in zip(ladder, values, strict=True):
        alone = type(estimator)(**estimator.get_params(deep=False)).set_params(**{parameter: value})
        alone.fit(X, y, **fit_params)
        np.testing.assert_array_equal(fitted.rule_coef_, alone.rule_coef_)
        np.testing.assert_array_equal(fitted.rule_intercept_, alone.rule_intercept_)
        np.testing.assert_array_equal(fitted.predict(X), alone.predict(X))
        assert fitted.status_ == alone.status_
        assert getattr(fitted, parameter) == value


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("parameter", "values"), [("confidence_level", (0.9, 0.5, None)), ("tolerance", (0.02, 0.1))]
)
def test_folds_are_fitted_once(parameter, values):
    X, score, sex = draw(0, 300)
    model = ConstrainedClassifierCV(
        CountedRegression(), tolerance=0.05, group_estimator=LogisticRegression()
    )
    CountedRegression.n_fits = 0
    options = {"parameter": parameter, "values": values}
    ladder = fit_ladder(model, X, score > 0.5, sensitive_features=sex, **options)
    assert CountedRegression.n_fits == 5
    assert_same_fits(ladder, model, parameter, values, X, score > 0.5, sensitive_features=sex)
    assert not hasattr(model, "classes_")


def test_regressors_and_weights():
    X, target, sex = draw(1, 300)
    base = HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=4, random_state=0)
    model = ConstrainedRegressorCV(base, group_estimator="sensitive_features", cv=2)
    data = {"sensitive_features": sex, "sample_weight": np.arange(len(sex)) % 3}
    values = (0.05, 0.3)
    options = {"parameter": "tolerance", "values": values}
    ladder = fit_ladder(model, X, target, **options, **data)
    for fitted, value in zip(ladder, values, strict=True):
        alone = ConstrainedRegressorCV(
            base, tolerance=value, group_estimator="sensitive_features", cv=2
        ).fit(X, target, **data)
        predictions = fitted.predict(X, sensitive_features=sex)
        np.testing.assert_array_equal(predictions, alone.predict(X, sensitive_features=sex))


def test_pipelines_are_fitted_one_by_one():
    X, score, sex = draw(2, 300)
    model = make_pipeline(StandardScaler(), ConstrainedERMClassifier())
    name = "constrainedermclassifier"
    groups = {f"{name}__sensitive_features": sex}
    options = {"parameter": f"{name}__tolerance", "values": (0.05, 0.5)}
    tight, loose = fit_ladder(model, X, score > 0.5, **options, **groups)
    assert tight[-1].tolerance == 0.05
    assert (tight.score(X, score > 0.5), loose.score(X, score > 0.5)) == pytest.approx(
        (0.68, 0.72), abs=0.06
    )


def test_what_is_refused():
    X, score, sex = draw(3, 100)
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.1)
    groups = {"sensitive_features": sex}
    with pytest.raises(ValueError, match="parameter must be one of ConstrainedClassifierCV"):
        fit_ladder(model, X, score > 0.5, parameter="level", **groups)
    with pytest.raises(ValueError, match="values must hold a value"):
        fit_ladder(model, X, score > 0.5, values=(), **groups)
    with pytest.raises(ValueError, match="confidence_level"):
        fit_ladder(model, X, score > 0.5, values=(None, 2.0), **groups)


def find_costly_pairs(ladder):
    """Pairs of a model that keeps its tolerance, and one of a larger objective behind it."""
    return [
        (tight.tolerance, loose.tolerance)
        for position, tight in enumerate(ladder)
        for loose in ladder[position + 1 :]
        if tight.status_ != "infeasible" and loose.objective_ > tight.objective_ * (1 + 1e-6)
    ]


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", range(4))
def test_a_looser_tolerance_never_ends_with_a_larger_objective(seed):
    """Percentiles of two groups, one of a quarter of the samples."""
    rng = np.random.default_rng(seed)
    groups = (rng.random(400) < 0.25).astype(int)
    X = rng.normal(size=(400, 3)) + np.outer(groups, rng.normal(size=3))
    score = X @ rng.normal(size=3) + rng.logistic(size=400)
    interval = [(0.1, 0.5), (0.7, 1.0)][seed % 2]
    models = (
        (PartialParityClassifier(interval=interval), score > 0.5),
        (PartialParityRegressor(interval=interval), score),
    )
    estimator, y = models[seed // 2]
    ladder = fit_ladder(
        estimator, X, y, parameter="tolerance", values=(0.05, 0.1, 0.2), sensitive_features=groups
    )
    assert [one.tolerance for one in ladder] == [0.05, 0.1, 0.2]
    assert [one.warm_start for one in ladder] == 3 * [False]
    assert find_costly_pairs(ladder) == []


@pytest.fixture
def nearly_constant(monkeypatch):
    """Fits at a tolerance of .2 whose search ends at a model that is nearly constant."""
    search = enforce.calibrate_tolerances

    def end_early(fitter, *args):
        candidate = search(fitter, *args)
        if fitter.constraint.tolerances[0] < 0.2:
            return candidate
        return fitter.evaluate(1e-3 * candidate.parameters, candidate.result)

    monkeypatch.setattr(enforce, "calibrate_tolerances", end_early)


@pytest.mark.covering(0)
@pytest.mark.usefixtures("nearly_constant")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("tolerance", [0.1, 0.15])
def test_a_model_of_a_tighter_tolerance_is_a_candidate(tolerance, monkeypatch):
    X, score, sex = draw(0, 300)
    y = score > 0.5
    tight, loose = (
        PartialParityClassifier(interval=(0.1, 0.5), tolerance=one) for one in (tolerance, 0.2)
    )
    tight.fit(X, y, sensitive_features=sex)
    # Other candidates are fits at .7 of the tolerance: here one that is nearly constant, too.
    monkeypatch.setattr(enforce, "_TIGHTER", 1.0)
    monkeypatch.setattr(
        enforce, "fit_calibrations", lambda fitter: [enforce.calibrate_tolerances(fitter)]
    )
    loose._fit_from(X, y, tight, sensitive_features=sex)
    np.testing.assert_allclose(loose.coef_, tight.coef_)
    assert loose.status_ == "feasible"
    assert not loose.warm_start


@pytest.mark.usefixtures("nearly_constant")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_fit_that_is_no_solution_is_compared_with_all_under_a_tighter_tolerance(monkeypatch):
    fits = []
    search = enforce.fit_calibrations

    def record(fitter):
        fits.extend(search(fitter))
        return fits

    monkeypatch.setattr(enforce, "fit_calibrations", record)
    X, score, sex = draw(0, 300)
    model = PartialParityClassifier(interval=(0.1, 0.5), tolerance=0.2)
    model.fit(X, score > 0.5, sensitive_features=sex)
    # The best one exceeds the tighter tolerance of .14, and keeps the requested one.
    feasible = [one for one in fits if one.gaps[0] <= 0.2]
    best = min(feasible, key=lambda one: one.result.fun)
    assert 0.14 < best.gaps[0]
    assert best.result.fun < min(one.result.fun for one in feasible if one.gaps[0] <= 0.14)
    # It was a rough fit, and is refined.
    np.testing.assert_allclose(model.decision_function(X), best.scores, atol=1e-2)
    assert model.constraint_violation_ == 0.0
    assert model.status_ == "optimal"


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_fits_under_a_tighter_tolerance_come_before_a_random_search(monkeypatch):
    calibrate = enforce.calibrate_tolerances
    searched = []

    def exceed(fitter, *args):
        return calibrate(fitter, *args)._replace(violation=0.1)

    def search(fitter, candidate):
        searched.append(candidate)
        return candidate

    monkeypatch.setattr(enforce, "calibrate_tolerances", exceed)
    monkeypatch.setattr(enforce, "search_metric", search)
    X, score, sex = draw(0, 300)
    model = PartialParityClassifier(interval=(0.1, 0.5), tolerance=0.2)
    model.fit(X, score > 0.5, sensitive_features=sex)
    assert model.constraint_violation_ == 0.0
    assert not searched
    # Without such a fit the search starts at the smallest violation.
    monkeypatch.setattr(enforce, "fit_calibrations", lambda fitter: [exceed(fitter)])
    monkeypatch.setattr(
        enforce, "choose_calibration", lambda fitter, fits: fits[0]._replace(violation=0.05)
    )
    model.fit(X, score > 0.5, sensitive_features=sex)
    assert [one.violation for one in searched] == [0.05]


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("constraint", ["demographic_parity", "equal_opportunity"])
def test_a_looser_tolerance_makes_no_more_errors_out_of_fold(constraint):
    """One of four columns shows the group, two show the class; groups are not known.

    Decisions of the classifier itself, which are returned where they keep a tolerance, minimise
    a loss: they are left out.
    """
    rng = np.random.default_rng(100)
    sex = rng.choice(["f", "m"], 6000, p=[0.4, 0.6])
    X = rng.normal(size=(6000, 4))
    X[:, 0] += 0.8 * (sex == "m")
    y = (X[:, 0] + X[:, 1] + rng.normal(size=6000) > 0.8).astype(int)
    train, test = slice(0, 2000), slice(2000, 6000)
    ladder = fit_ladder(
        ConstrainedClassifierCV(LogisticRegression(), constraint),
        X[train],
        y[train],
        parameter="tolerance",
        values=(0.02, 0.03, 0.05, 0.07, 0.1),
        sensitive_features=sex[train],
    )
    free = ConstrainedClassifierCV(LogisticRegression(), None)
    free.fit(X[train], y[train], sensitive_features=sex[train])
    # The folds are the same, and so are decisions that no bound moves.
    unmoved = free.oof_decision_function_ > 0
    decisions = [one.oof_decision_function_ > 0 for one in ladder]
    moved = [one for one in decisions if not np.array_equal(one, unmoved)]
    assert len(moved) >= 3
    errors = [np.sum(one != y[train]) for one in moved]
    assert (np.diff(errors) <= 0).all()
    # Held out, accuracies fall by no more than noise, and none is near that of a constant.
    accuracies = [one.score(X[test], y[test]) for one in ladder]
    assert np.diff(accuracies).min() > -0.02
    assert min(accuracies) > 0.68


TOLERANCES = (0.01, 0.02, 0.04, 0.08, 0.15)
EQUAL_COSTS = ((0.0, 1.0), (1.0, 0.0))
UNEQUAL_COSTS = ((0.0, 1.0), (3.0, 0.0))


def draw_groups(seed, n_samples, n_groups=2):
    """Four columns, of which the first shows the group; a score of two of them, and the groups."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=n_samples)
    X = rng.normal(size=(n_samples, 4))
    X[:, 0] += 0.8 * groups
    return X, X[:, 0] + X[:, 1] + rng.normal(size=n_samples), groups


def measure_moved(estimator, unconstrained, measure, name, *data, **fit_params):
    """Measures of the fits of a ladder that move the model's own output and keep the bound.

    ``name`` is that of the out-of-fold output. A model that keeps its bound is left as it is, and
    minimises no measure of decisions.
    """
    ladder = fit_ladder(estimator, *data, values=TOLERANCES, parameter="tolerance", **fit_params)
    unmoved = getattr(unconstrained.fit(*data, **fit_params), name)
    outputs = [getattr(one, name) for one in ladder if one.constraint_violation_ == 0.0]
    return [
        measure(output)
        for output in outputs
        if not np.array_equal(output > 0, unmoved > 0) and not np.allclose(output, unmoved)
    ]


def find_increases(measures):
    """Measures that exceed one of a stricter tolerance by more than rounding."""
    smallest = np.minimum.accumulate(measures)
    return [value for value, least in zip(measures, smallest, strict=True) if value > least + 1e-9]


def list_ladders():
    """Seeds, numbers of samples and of groups; those of three seeds are quick."""
    cases = [(0, 400, 2), (1, 1000, 2), (2, 3000, 2)]
    more = [(seed, (400, 1000, 3000)[seed % 3], 2) for seed in (4, 5, 6, 8, 9, 10)]
    more += [(7, 1000, 3), (11, 3000, 3)]
    return [*cases, *(pytest.param(*one, marks=pytest.mark.slow) for one in more)]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("costs", [EQUAL_COSTS, UNEQUAL_COSTS], ids=["errors", "costs"])
@pytest.mark.parametrize(
    "constraint", ["demographic_parity", "equal_opportunity", "equalized_odds"]
)
@pytest.mark.parametrize(("seed", "n_samples", "n_groups"), list_ladders())
def test_a_looser_tolerance_costs_no_more_out_of_fold(seed, n_samples, n_groups, constraint, costs):
    X, score, groups = draw_groups(seed, n_samples, n_groups)
    y = (score > 0.4 * n_groups).astype(int)
    measures = measure_moved(
        ConstrainedClassifierCV(LogisticRegression(), constraint, cost_matrix=costs),
        ConstrainedClassifierCV(LogisticRegression(), None, cost_matrix=costs),
        lambda scores: np.array(costs)[y, (scores > 0).astype(int)].sum(),
        "oof_decision_function_",
        X,
        y,
        sensitive_features=groups,
    )
    assert len(measures) >= 2
    assert find_increases(measures) == []


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("constraint", ["mean_parity", "loss_parity"])
@pytest.mark.parametrize("seed", range(4))
def test_predictions_under_a_looser_tolerance_have_no_larger_loss(seed, constraint):
    X, score, groups = draw_groups(seed, 600, 2 + seed % 2)
    measures = measure_moved(
        ConstrainedRegressorCV(LinearRegression(), constraint),
        ConstrainedRegressorCV(LinearRegression(), None),
        lambda predictions: np.mean((predictions - score) ** 2),
        "oof_prediction_",
        X,
        score,
        sensitive_features=groups,
    )
    assert len(measures) >= 2
    assert find_increases(measures) == []


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("group_estimator", [None, "sensitive_features"])
@pytest.mark.parametrize("seed", range(4))
def test_rankings_under_a_looser_tolerance_move_scores_no_farther(seed, group_estimator):
    X, score, groups = draw_groups(seed, 600)
    settings = {"sensitive_features": groups, "query_id": np.arange(600) // 10}
    ladder = fit_ladder(
        ConstrainedRankerCV(LinearRegression(), group_estimator=group_estimator),
        X,
        score,
        values=(*TOLERANCES, 1.0),
        parameter="tolerance",
        **settings,
    )
    # No bound moves the last one.
    *outputs, unmoved = (one.oof_prediction_ for one in ladder)
    distances = [np.mean((output - unmoved) ** 2) for output in outputs]
    assert distances[0] > 0.0
    assert find_increases(distances) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_decisions_that_are_left_as_they_are_err_no_more_on_new_data():
    """Rules for stricter tolerances may make fewer errors, but only out of fold."""
    gains = []
    for seed in range(30):
        X, score, groups = draw_groups(seed, 8000)
        y = (score > 0.8).astype(int)
        train, test = slice(0, 1000), slice(1000, 8000)
        ladder = fit_ladder(
            ConstrainedClassifierCV(LogisticRegression(), "equal_opportunity"),
            X[train],
            y[train],
            parameter="tolerance",
            values=(0.05, 0.1, 0.5),
            sensitive_features=groups[train],
        )
        *stricter, plain = ladder
        errors = [np.sum((one.oof_decision_function_ > 0) != y[train]) for one in ladder]
        best = int(np.argmin(errors[:-1]))
        if errors[best] < errors[-1]:
            accuracy = plain.score(X[test], y[test])
            gains.append(accuracy - stricter[best].score(X[test], y[test]))
    assert len(gains) >= 8
    assert np.mean(gains) > 0.0
