"""PartialParityClassifier: tolerances, report, callbacks and input."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.callbacks import FitMonitor
from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.constraints import (
    PartialEqualizedOdds,
    PartialEqualOpportunity,
    PartialStatisticalParity,
)
from skfair.exceptions import InfeasibleConstraintWarning, MissingSensitiveFeaturesWarning
from skfair.metrics import (
    partial_demographic_parity_difference,
    partial_equal_opportunity_difference,
    partial_equalized_odds_difference,
    partial_group_auc_difference,
    partial_statistical_parity_difference,
)
from skfair.solvers import IDCA, SQP, AugmentedLagrangian, SwitchingSubgradient

INTERVAL = (0.1, 0.5)


@pytest.fixture(scope="module")
def data():
    """Two groups of 600, the second with higher values of the first of four features."""
    rng = np.random.default_rng(0)
    sex = rng.integers(2, size=1200)
    X = rng.normal(size=(1200, 4))
    X[:, 0] += sex
    y = X.sum(axis=1) + rng.logistic(size=1200) > 0.7
    return X, y, np.where(sex == 1, "man", "woman")


def fit_model(data, criterion="partial_statistical_parity", **settings):
    X, y, sex = data
    interval = INTERVAL if isinstance(criterion, str) else None
    settings = {"interval": interval, "tolerance": 0.1} | settings
    return PartialParityClassifier(criterion, **settings).fit(X, y, sensitive_features=sex)


def difference(model, data, interval=INTERVAL, **settings):
    X, y, sex = data
    scores = model.decision_function(X, sensitive_features=sex)
    known = {"sensitive_features": sex, "interval": interval} | settings
    return {
        "partial_statistical_parity": lambda: partial_statistical_parity_difference(
            scores, **known
        ),
        "partial_demographic_parity": lambda: partial_demographic_parity_difference(
            scores, **known
        ),
        "partial_group_auc": lambda: partial_group_auc_difference(scores, **known),
        "partial_equal_opportunity": lambda: partial_equal_opportunity_difference(
            y, scores, **known
        ),
        "partial_equalized_odds": lambda: partial_equalized_odds_difference(y, scores, **known),
        PartialStatisticalParity: lambda: partial_statistical_parity_difference(scores, **known),
        PartialEqualOpportunity: lambda: partial_equal_opportunity_difference(y, scores, **known),
        PartialEqualizedOdds: lambda: partial_equalized_odds_difference(y, scores, **known),
    }[model.constraint if isinstance(model.constraint, str) else type(model.constraint)]()


# Tolerances -------------------------------------------------------------------------


@pytest.mark.parametrize("tolerance", [0.1, 0.2])
@pytest.mark.parametrize("interactions", [False, True])
def test_the_difference_is_just_below_the_tolerance(data, tolerance, interactions):
    model = fit_model(data, tolerance=tolerance, group_interactions=interactions)
    assert tolerance - 0.01 <= difference(model, data) <= tolerance
    assert model.status_ == "optimal"
    assert model.constraint_violation_ == 0.0


@pytest.mark.filterwarnings("ignore:.* binds nothing")  # all positives in the interval are found
@pytest.mark.parametrize(
    ("criterion", "settings"),
    [
        ("partial_demographic_parity", {}),
        ("partial_group_auc", {}),
        ("partial_equal_opportunity", {}),
        (PartialEqualOpportunity(INTERVAL, rank_within="class"), {"rank_within": "class"}),
        ("partial_equalized_odds", {}),
        (PartialEqualizedOdds(INTERVAL, rank_within="class"), {"rank_within": "class"}),
    ],
)
def test_every_criterion_keeps_its_tolerance(data, criterion, settings):
    model = fit_model(data, criterion)
    assert difference(model, data, **settings) <= 0.1
    assert model.constraint_violation_ == 0.0


@pytest.mark.parametrize(
    "interval",
    [[(0.05, 0.2), (0.4, 0.6)], {"man": (0.2, 0.5), "woman": (0.1, 0.4)}, (0.0, 1.0)],
    ids=["union", "by group", "all ranks"],
)
def test_intervals_of_every_shape(data, interval):
    model = fit_model(data, interval=interval)
    assert difference(model, data, interval=interval) <= 0.1


def test_raw_tolerances_are_of_the_raw_difference(data):
    model = fit_model(data, PartialStatisticalParity(INTERVAL, scale="raw"), tolerance=0.05)
    assert 0.04 <= difference(model, data, scale="raw") <= 0.05


def test_a_looser_tolerance_costs_less(data):
    objectives = [fit_model(data, tolerance=t).objective_ for t in (0.05, 0.1, 0.2, 0.4)]
    assert (np.diff(objectives) < 0).all()


def test_a_plain_fit_within_the_tolerance_is_returned(data):
    X, y, _ = data
    model = fit_model(data, tolerance=1.0)
    plain = LogisticRegression(C=1e4 / 1200, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-4)
    np.testing.assert_allclose(model.intercept_, plain.intercept_, rtol=1e-3)
    assert not model.multipliers_.any() and not len(model.thresholds_)


def test_thresholds_are_those_of_every_estimator_with_the_constraint(data):
    X, y, sex = data
    constraint = PartialStatisticalParity(INTERVAL)
    one = fit_model(data, constraint, enforcement=None, tolerance=0.2)
    two = ConstrainedERMClassifier(constraint, enforcement=None, tolerance=0.2)
    two.fit(X, y, sensitive_features=sex)
    np.testing.assert_array_equal(one.thresholds_, two.thresholds_)
    assert len(two.thresholds_) == 10
    two.set_params(constraint="demographic_parity").fit(X, y, sensitive_features=sex)
    assert not hasattr(two, "thresholds_")


def test_without_enforcement_the_ramp_keeps_the_tolerance(data):
    X, y, sex = data
    model = fit_model(
        data, PartialStatisticalParity(INTERVAL, width=1.0), enforcement=None, tolerance=0.2
    )
    scores = model.decision_function(X)
    tau = 0.2 * 0.4
    for theta, p in zip(model.thresholds_, np.linspace(*INTERVAL, 10), strict=True):
        ramp = np.clip(scores - theta + 0.5, 0.0, 1.0)
        for group in ("man", "woman"):
            # The corners are rounded, over a tenth of the width.
            assert p - 0.002 <= ramp[sex == group].mean() <= p + tau + 0.002


@pytest.mark.slow
def test_from_paper_starts_feasible_and_the_default_solver_ends_no_worse(data):
    X, y, sex = data
    short = IDCA.from_paper(5e-3, inner_iter=50, max_iter=20)
    paper = PartialParityClassifier.from_paper(INTERVAL, 0.03, solver=short)
    paper.fit(X, y, sensitive_features=sex)
    default = PartialParityClassifier.from_paper(INTERVAL, 0.03, solver="sqp")
    default.fit(X, y, sensitive_features=sex)
    assert np.log(2) > paper.objective_ > default.objective_
    assert default.group_coef_.shape == (2, 4)
    assert (
        difference(default, data, scale="raw")
        < 0.1
        < difference(fit_model(data, tolerance=1.0), data, scale="raw")
    )


def test_interactions_are_one_model_per_group(data):
    X, y, sex = data
    model = fit_model(data, tolerance=1.0, group_interactions=True)
    for g, group in enumerate(("man", "woman")):
        inside = sex == group
        # The loss is a mean over all samples, so the penalty of each group has its share.
        plain = LogisticRegression(C=1e4 / 1200, tol=1e-8).fit(X[inside], y[inside])
        np.testing.assert_allclose(model.group_coef_[g], plain.coef_[0], rtol=1e-3)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_other_losses_keep_the_tolerance_and_have_no_probabilities(data, loss):
    model = fit_model(data, loss=loss)
    assert difference(model, data) <= 0.1
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(data[0])


def test_predictions_without_interactions_ignore_the_group(data):
    X, _, sex = data
    model = fit_model(data)
    np.testing.assert_array_equal(model.predict(X), model.predict(X, sensitive_features=sex))


def test_integer_weights_equal_repeated_samples(data):
    X, y, sex = (part[:400] for part in data)
    times = np.random.default_rng(1).integers(1, 4, 400)
    model = PartialParityClassifier(interval=INTERVAL, tolerance=0.1)
    weighted = clone(model).fit(X, y, sensitive_features=sex, sample_weight=times)
    rows = np.repeat(np.arange(400), times)
    repeated = clone(model).fit(X[rows], y[rows], sensitive_features=sex[rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-3)


def test_names_of_groups_do_not_matter(data):
    X, y, sex = data
    other = np.where(sex == "man", 1, 2)  # the order of the groups is the other one
    model = fit_model(data)
    renamed = clone(model).fit(X, y, sensitive_features=other)
    np.testing.assert_allclose(model.coef_, renamed.coef_, rtol=1e-3)


def test_the_scale_of_columns_does_not_matter(data):
    X, y, sex = data
    factors = np.array([1.0, 1000.0, 1e-3, 1.0])
    model = fit_model(data, alpha=0.0)
    scaled = clone(model).fit(X * factors, y, sensitive_features=sex)
    np.testing.assert_allclose(scaled.coef_ * factors, model.coef_, rtol=1e-4)


@pytest.mark.slow
def test_one_hot_csr_and_dense_agree(data):
    X, y, sex = data
    wide = (X[:, :, np.newaxis] > np.array([-0.5, 0.5])).reshape(len(X), -1).astype(float)
    # Solved to the end: rounding then changes the steps, not where they lead.
    dense = fit_model((wide, y, sex), solver=SQP(tol=1e-8))
    stored = fit_model((sparse.csr_array(wide), y, sex), solver=SQP(tol=1e-8))
    np.testing.assert_allclose(dense.coef_, stored.coef_, rtol=1e-6)


def test_overlapping_groups(data):
    X, y, sex = data
    membership = sparse.csr_array(np.column_stack((sex == "man", X[:, 1] > 0, X[:, 2] > 0)))
    model = PartialParityClassifier(interval=INTERVAL, tolerance=0.2)
    model.fit(X, y, sensitive_features=membership)
    reached = partial_statistical_parity_difference(
        model.decision_function(X), sensitive_features=membership, interval=INTERVAL
    )
    assert reached <= 0.2
    with pytest.raises(ValueError, match="may overlap"):
        model.set_params(group_interactions=True).fit(X, y, sensitive_features=membership)


@pytest.mark.covering(0)
@pytest.mark.parametrize("criterion", ["partial_statistical_parity", "partial_demographic_parity"])
@pytest.mark.parametrize(
    "solver", ["sqp", IDCA(tol=1e-3), AugmentedLagrangian(tol=1e-3), SQP(tol=1e-3)], ids=str
)
def test_every_solver_ends_just_below_the_tolerance(data, solver, criterion):
    model = fit_model(data, criterion, solver=solver)
    assert 0.09 <= difference(model, data) <= 0.1
    assert model.status_ == "optimal"


@pytest.mark.slow
def test_switching_subgradients_end_near_the_tolerance(data):
    solver = SwitchingSubgradient(max_iter=1000, tol=5e-3)
    with pytest.warns(ConvergenceWarning, match="try solver='sqp'"):
        model = fit_model(data, "partial_demographic_parity", enforcement=None, solver=solver)
    exact = fit_model(data, "partial_demographic_parity", enforcement=None)
    assert model.objective_ == pytest.approx(exact.objective_, abs=5e-3)
    assert difference(model, data) == pytest.approx(difference(exact, data), abs=0.05)


def test_the_report_shows_the_difference(data):
    X, y, sex = data
    model = fit_model(data, PartialStatisticalParity(INTERVAL, n_percentiles=25))
    report = model.constraint_report_
    assert report["n"].unique().tolist() == np.unique(sex, return_counts=True)[1].tolist()
    assert report["gap"].unique().tolist() == [difference(model, data)]
    assert report["tolerance"].unique().tolist() == [0.1]
    rates = report.pivot(index="threshold", columns="group", values="estimate")
    gaps = np.abs(rates["man"] - rates["woman"])
    assert difference(model, data) - 0.03 <= gaps.max() <= difference(model, data) + 1e-12
    scores = model.decision_function(X)[sex == "man"]
    threshold, rate = next(rates["man"].items())
    share = np.mean(scores > threshold)
    assert rate == pytest.approx(np.clip((share - 0.1) / 0.4, 0.0, 1.0))
    error = report.query("group == 'man' and threshold == @threshold")["standard_error"].item()
    assert error == pytest.approx(np.sqrt(share * (1 - share) / len(scores)) / 0.4)


def test_the_report_of_odds_has_both_classes_at_the_one_threshold(data):
    model = fit_model(data, "partial_equalized_odds")
    report = model.constraint_report_
    assert report["threshold"].tolist() == [0.0] * 4
    rates = report.pivot(index="event", columns="group", values="estimate")
    gaps = np.abs(rates["man"] - rates["woman"])
    assert gaps.max() == pytest.approx(difference(model, data))
    assert set(gaps.index) == {"positives", "negatives"}


def test_the_report_names_combinations_of_attributes(data):
    X, y, sex = data
    both = np.column_stack((sex, np.where(X[:, 3] > 0, "old", "young")))
    model = PartialParityClassifier(interval=INTERVAL, tolerance=0.2)
    report = model.fit(X, y, sensitive_features=both).constraint_report_
    assert ("man", "old") in report["group"].tolist()
    assert len(report) == 4 * 10


def test_an_iteration_limit_is_reported(data):
    with pytest.warns((ConvergenceWarning, InfeasibleConstraintWarning)):
        model = fit_model(data, solver=SQP(max_iter=1))
    assert model.status_ in ("max_iter", "infeasible")


def test_verbose_prints_iterations(data, capsys):
    model = fit_model(data, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("problem 1, iteration 1: objective 0.")


class Views:
    """A callback that scores the samples at every iteration, and stops after a number of them."""

    def __init__(self, data, n_iterations=np.inf):
        self.samples = data
        self.n_iterations = n_iterations
        self.scores = []

    def setup(self, estimator, context):
        pass

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.max_subtasks == 0:
            X, _, sex = self.samples
            self.scores.append(fitted_estimator.decision_function(X, sensitive_features=sex))
        return len(self.scores) >= self.n_iterations


@pytest.mark.callbacks
@pytest.mark.parametrize("interactions", [False, True])
def test_callbacks_get_a_fitted_classifier_at_every_iteration(data, interactions):
    X, y, sex = data
    monitor = FitMonitor()
    views = Views(data)
    model = PartialParityClassifier(
        interval=INTERVAL, tolerance=0.1, enforcement=None, group_interactions=interactions
    ).set_callbacks(monitor, views)
    model.fit(X, y, sensitive_features=sex)
    assert len(monitor.log) == len(views.scores) == model.n_iter_
    assert monitor.log["objective"].iloc[-1] == pytest.approx(model.objective_)
    last = model.decision_function(X, sensitive_features=sex)
    np.testing.assert_allclose(views.scores[-1], last)


@pytest.mark.callbacks
def test_a_callback_stops_the_fit(data):
    X, y, sex = data
    views = Views(data, n_iterations=6)
    model = PartialParityClassifier(interval=INTERVAL, tolerance=0.1).set_callbacks(views)
    with pytest.warns((ConvergenceWarning, InfeasibleConstraintWarning)):
        model.fit(X, y, sensitive_features=sex)
    assert model.n_iter_ == len(views.scores) == 6


# Input validation --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interval", "message"),
    [
        ((0.5, 0.2), "alpha < beta"),
        ((0.2, 0.2), "alpha < beta"),
        ((-0.1, 0.2), "0 <= alpha"),
        ((0.5, 1.2), "beta <= 1"),
        ([(0.1, 0.4), (0.3, 0.5)], "must not overlap"),
        ({"man": (0.1, 0.4)}, "'woman'"),
        ("top", "interval"),
    ],
)
def test_a_wrong_interval_is_refused(data, interval, message):
    with pytest.raises(ValueError, match=message):
        fit_model(data, interval=interval)


def test_small_groups_are_refused_by_name(data):
    X, y, _ = data
    group = np.where(np.arange(len(y)) < 60, "few", "many")
    with pytest.raises(ValueError, match=r"at least 20 samples .*'few' \(12\)"):
        PartialParityClassifier(interval=(0.1, 0.3)).fit(X, y, sensitive_features=group)


def test_five_groups_of_very_different_size(data):
    X, y, _ = data
    group = np.digitize(np.random.default_rng(2).random(len(y)), [0.6, 0.8, 0.9, 0.95])
    model = PartialParityClassifier(interval=(0.0, 0.8), tolerance=0.25)
    model.fit(X, y, sensitive_features=group)
    assert len(model.groups_.counts) == 5
    assert model.constraint_violation_ == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "n_features", "is_skewed"), [(9, 6, True), (2, 2, False), (9, 2, True), (9, 3, True)]
)
def test_a_tolerance_that_random_coefficients_keep_is_not_infeasible(seed, n_features, is_skewed):
    rng = np.random.default_rng(seed)
    n = 1000
    half = {"interval": (0.5, 1.0)}
    group = {"sensitive_features": rng.integers(2, size=n)}
    codes = group["sensitive_features"]
    X = rng.normal(size=(n, n_features))
    if is_skewed:
        X = np.where(rng.random(X.shape) < 0.5, np.round(X), np.exp(X))
        X[:, 0] += codes
    else:
        X = X * np.exp(0.5 * rng.normal(size=(2, n_features)))[codes]
        X += 0.5 * rng.normal(size=(2, n_features))[codes]
    y = X @ rng.normal(size=n_features) / 2 + codes + rng.logistic(size=n)
    drawn = [
        partial_statistical_parity_difference(X @ rng.normal(size=n_features), **group, **half)
        for _ in range(100)
    ]
    tolerance = 1.1 * min(drawn)  # feasible
    model = PartialParityClassifier(**half, tolerance=tolerance).fit(X, y > np.median(y), **group)
    scores = model.decision_function(X)
    assert model.status_ in ("optimal", "feasible")
    assert model.constraint_violation_ == 0.0
    assert partial_statistical_parity_difference(scores, **group, **half) <= tolerance


@pytest.mark.slow
def test_nearly_equal_scores_are_warned_of(data):
    _, y, sex = data
    X = np.column_stack((sex == "man", sex == "woman"))  # equal within each group
    X = X + 1e-9 * np.random.default_rng(0).normal(size=X.shape)
    with pytest.warns(InfeasibleConstraintWarning, match="scores are nearly equal"):
        PartialParityClassifier(interval=INTERVAL, alpha=1.0).fit(X, y, sensitive_features=sex)


@pytest.mark.slow
def test_equal_scores_cannot_be_measured(data):
    X, y, sex = data
    with pytest.warns(InfeasibleConstraintWarning, match="cannot be measured"):
        model = fit_model((np.ones((300, 1)), y[:300], sex[:300]))
    assert model.status_ == "infeasible"
    assert model.constraint_violation_ is None


def test_predictions_with_interactions_need_groups_of_the_fit(data):
    X, _, sex = data
    model = fit_model(data, group_interactions=True)
    with pytest.raises(ValueError, match="need sensitive_features"):
        model.predict(X)
    with pytest.raises(ValueError, match="not seen at fit: 'child'"):
        model.predict(X[:1], sensitive_features=["child"])
    assert model.predict(X[:3], sensitive_features=sex[:3]).shape == (3,)


def test_one_class_and_missing_values_are_refused(data):
    X, y, sex = data
    with pytest.raises(ValueError, match="one class"):
        fit_model((X, np.ones(len(y)), sex))
    with pytest.raises(ValueError, match="NaN"):
        fit_model((np.where(X > 2, np.nan, X), y, sex))
    with pytest.raises(NotFittedError):
        PartialParityClassifier().predict(X)


def test_another_pandas_index_is_refused(data):
    X, y, sex = data
    with pytest.raises(ValueError, match="same pandas index"):
        fit_model((pd.DataFrame(X), y, pd.Series(sex, index=np.arange(len(y))[::-1])))


def test_without_groups_the_fit_is_unconstrained_and_warns(data):
    X, y, _ = data
    with pytest.warns(
        MissingSensitiveFeaturesWarning, match="constraint='partial_statistical_parity'"
    ):
        model = PartialParityClassifier(interval={"man": (0.1, 0.2)}).fit(X, y)
    assert model.status_ == "unconstrained"
    assert model.constraint_violation_ is None


def test_a_failed_fit_leaves_the_earlier_one_unchanged(data):
    X, y, sex = data
    model = fit_model(data)
    before = model.predict(X)
    with pytest.raises(ValueError, match="interval"):
        model.set_params(interval=(0.5, 0.2)).fit(X[:, :2], y, sensitive_features=sex)
    np.testing.assert_array_equal(model.predict(X), before)


# Pipelines ----------------------------------------------------------------------------


def test_groups_are_routed_through_a_pipeline(data):
    X, y, sex = data
    with sklearn.config_context(enable_metadata_routing=True):
        model = PartialParityClassifier(interval=INTERVAL, tolerance=0.1, group_interactions=True)
        pipeline = make_pipeline(StandardScaler(), model)
        pipeline.fit(X, y, sensitive_features=sex)
        assert len(pipeline[-1].groups_.counts) == 2
        labels = pipeline.predict(X, sensitive_features=sex)
        proba = pipeline.predict_proba(X, sensitive_features=sex)
    np.testing.assert_array_equal(labels, proba[:, 1] > 0.5)
