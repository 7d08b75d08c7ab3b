"""ConstrainedMLPClassifier: tolerances, attributes, input and callbacks."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from skfair.classification import ConstrainedERMClassifier, ConstrainedMLPClassifier
from skfair.constraints import PartialStatisticalParity
from skfair.metrics import METRICS, partial_statistical_parity_difference
from skfair.solvers import SSLALM, AdamPrimalDual


@pytest.fixture(scope="module")
def data():
    """Exclusive-or of two features, of which one depends on the group."""
    rng = np.random.default_rng(0)
    groups = np.where(rng.random(600) < 0.4, "a", "b")
    X = rng.normal(size=(600, 4)) * [1.0, 1.0, 5.0, 0.1]
    X[:, 0] += groups == "a"
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=600) > 0.2).astype(int)
    return X, y, groups


def make(constraint="demographic_parity", **settings):
    fast = {"hidden_layer_sizes": (16, 8), "solver": AdamPrimalDual(max_iter=12), "random_state": 0}
    return ConstrainedMLPClassifier(constraint, **(fast | settings))


def fit(data, constraint="demographic_parity", **settings):
    X, y, groups = data
    return make(constraint, **settings).fit(X, y, sensitive_features=groups)


@pytest.fixture(scope="module")
def default_model(data):
    """The default fit, which tests do not change."""
    return fit(data)


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("constraint", "metric"),
    [
        ("demographic_parity", "demographic_parity_difference"),
        ("equalized_odds", "equalized_odds_difference"),
        ("equal_opportunity", "equal_opportunity_difference"),
    ],
)
@pytest.mark.parametrize("tolerance", [0.01, 0.05])
def test_the_decisions_keep_the_tolerance(constraint, metric, tolerance, data):
    X, y, groups = data
    model = fit(data, constraint, tolerance=tolerance)
    gap = METRICS[metric](y, model.predict(X), sensitive_features=groups)
    assert gap <= tolerance
    assert model.constraint_violation_ == 0.0
    assert model.constraint_report_["gap"].max() == pytest.approx(gap)
    assert model.score(X, y) > 0.75


def test_a_network_is_more_accurate_than_a_linear_model(data, default_model):
    X, y, groups = data
    linear = ConstrainedERMClassifier().fit(X, y, sensitive_features=groups)
    assert default_model.score(X, y) > linear.score(X, y) + 0.1


@pytest.mark.slow
def test_the_last_layer_keeps_a_constraint_on_an_interval(data):
    X, y, groups = data
    interval = [0.2, 0.6]
    model = fit(data, PartialStatisticalParity(interval), tolerance=0.1)
    gap = partial_statistical_parity_difference(
        model.decision_function(X), sensitive_features=groups, interval=interval
    )
    assert gap <= 0.1 + 1e-12


def test_constraints_on_ranks_need_enforcement(data):
    with pytest.raises(ValueError, match=r"PartialStatisticalParity compares ranks.*'auto'"):
        fit(data, PartialStatisticalParity([0.2, 0.6]), enforcement=None)


@pytest.mark.slow
def test_without_constraint_the_accuracy_is_that_of_scikit_learn(data):
    X, y, groups = data
    plain = MLPClassifier((16, 8), max_iter=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain.fit(X, y)
    assert fit(data, None).score(X, y) >= plain.score(X, y) - 0.02


def test_layers_have_the_shapes_of_scikit_learn(data, default_model):
    X = data[0]
    model = default_model
    assert [coef.shape for coef in model.coefs_] == [(4, 16), (16, 8), (8, 1)]
    assert [bias.shape for bias in model.intercepts_] == [(16,), (8,), (1,)]
    hidden = X
    for coef, bias in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        hidden = np.maximum(0, hidden @ coef + bias)
    scores = (hidden @ model.coefs_[-1] + model.intercepts_[-1])[:, 0]
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-scores)), atol=1e-12)
    assert len(model.loss_curve_) == model.n_iter_ == 12
    assert model.loss_curve_[-1] < model.loss_curve_[0]


def test_the_objective_counts_the_weights_of_all_layers(data):
    X, y, groups = data
    model = fit(data, None, alpha=0.01)
    scores = model.decision_function(X)
    loss = np.logaddexp(0, -np.where(y > 0, 1, -1) * scores).mean()
    scaled = [model.coefs_[0] * X.std(axis=0)[:, np.newaxis], *model.coefs_[1:]]
    penalty = 0.01 / 2 * sum((coef**2).sum() for coef in scaled)
    assert model.objective_ == pytest.approx(loss + penalty)


def test_without_enforcement_the_status_is_the_solvers(data):
    solver = AdamPrimalDual(max_iter=3, tol=1e-3, dual_step=0.0, epoch_steps=1)
    with pytest.warns(UserWarning, match="smooth rates exceed their bounds"):
        model = fit(data, enforcement=None, solver=solver)
    assert model.status_ == "infeasible"
    solver.set_params(max_iter=30, dual_step=0.5, tol=0.02)
    with pytest.warns(ConvergenceWarning, match="AdamPrimalDual stopped after 30 iterations"):
        model = fit(data, enforcement=None, solver=solver)
    assert model.status_ == "max_iter"


@pytest.mark.slow
def test_other_stochastic_solvers_keep_the_tolerance(data):
    X, y, groups = data
    model = fit(data, solver=SSLALM(max_iter=50, tau=0.05))
    assert model.constraint_violation_ == 0.0


def test_a_solver_that_needs_a_linear_model_is_refused(data):
    with pytest.raises(ValueError, match=r"SQP needs a model that gives Gram matrices"):
        fit(data, solver="sqp")


@pytest.mark.slow
def test_early_stopping_holds_out_samples_of_each_class_and_group(data):
    X, y, groups = data
    model = fit(data, early_stopping=True, n_iter_no_change=3, solver=AdamPrimalDual(max_iter=200))
    assert model.n_iter_ < 200
    assert len(model.validation_loss_curve_) == len(model.loss_curve_) == model.n_iter_
    assert model.constraint_violation_ == 0.0


def nearly_separable(n_samples, seed):
    """Classes that a linear model nearly separates, one feature depends on the group."""
    rng = np.random.default_rng(seed)
    groups = rng.random(n_samples) < 0.4
    X = rng.normal(size=(n_samples, 5))
    X[:, 0] += 2.0 * groups
    return X, X @ np.ones(5) + 0.1 * rng.logistic(size=n_samples) > 0, groups


@pytest.mark.parametrize("early_stopping", [False, True])
def test_few_samples_train_as_far_as_a_linear_model(early_stopping):
    X, y, groups = nearly_separable(10_800, seed=0)
    train = X[:800], y[:800]
    settings = {"tolerance": 0.1}
    linear = ConstrainedERMClassifier(**settings).fit(*train, sensitive_features=groups[:800])
    model = ConstrainedMLPClassifier(
        **settings, early_stopping=early_stopping, n_iter_no_change=2, random_state=0
    ).fit(*train, sensitive_features=groups[:800])
    assert model.score(X[800:], y[800:]) > linear.score(X[800:], y[800:]) - 0.01


def test_the_default_penalty_falls_with_the_samples(data):
    X, y, groups = data
    model = fit(data, solver=AdamPrimalDual(max_iter=1))
    explicit = fit(data, solver=AdamPrimalDual(max_iter=1), alpha=5 / 600)
    np.testing.assert_array_equal(model.decision_function(X), explicit.decision_function(X))


def test_an_empty_validation_set_is_refused(data):
    with pytest.raises(ValueError, match="holds out validation_fraction"):
        fit(data, early_stopping=True, validation_fraction=1e-4)


def test_same_seed_same_model(data):
    X, _, _ = data
    first, second, other = (
        fit(data, random_state=seed, solver=AdamPrimalDual(max_iter=5)) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    assert (first.decision_function(X) != other.decision_function(X)).any()


@pytest.mark.slow
def test_a_warm_start_continues_the_last_fit(data):
    X, y, groups = data
    model = fit(data, None, warm_start=True, solver=AdamPrimalDual(max_iter=12))
    first = model.loss_curve_
    model.fit(X, y, sensitive_features=groups)
    assert model.loss_curve_[0] < first[10]
    model.set_params(hidden_layer_sizes=(16, 7))
    with pytest.raises(ValueError, match=r"layers of shapes .*warm_start=False"):
        model.fit(X, y, sensitive_features=groups)


@pytest.mark.slow
def test_the_first_class_may_be_the_positive_one(data, default_model):
    X, y, groups = data
    turned = np.where(y == 1, "hired", "rejected")
    model = make(pos_label="hired").fit(X, turned, sensitive_features=groups)
    np.testing.assert_array_equal(model.predict(X) == "hired", default_model.predict(X) == 1)
    model.set_params(warm_start=True, solver=AdamPrimalDual(max_iter=1)).fit(
        X, turned, sensitive_features=groups
    )
    assert model.loss_curve_[0] < 0.5


def test_sparse_columns_give_the_same_model(data, default_model):
    X, y, groups = data
    model = make().fit(sparse.csr_array(X), y, sensitive_features=groups)
    np.testing.assert_allclose(
        model.decision_function(sparse.csr_array(X)), default_model.decision_function(X), atol=0.05
    )


def test_weights_count_samples(data):
    X, y, groups = data
    weights = np.random.default_rng(1).integers(0, 4, size=len(y))
    model = make(tolerance=0.03).fit(X, y, sensitive_features=groups, sample_weight=weights)
    gap = METRICS["demographic_parity_difference"](
        y, model.predict(X), sensitive_features=groups, sample_weight=weights
    )
    assert gap <= 0.03


def test_probabilities_need_the_logistic_loss(data):
    model = fit(data, loss="hinge", solver=AdamPrimalDual(max_iter=3))
    assert not hasattr(model, "predict_proba")


@pytest.mark.callbacks
def test_a_fit_stopped_by_a_callback_keeps_the_tolerance(data):
    X, y, groups = data

    class Stop:
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, **kwargs):
            pass

        def on_fit_task_end(self, estimator, context, **kwargs):
            return context.task_name == "iteration" and context.task_id >= 2

        def teardown(self, estimator, context):
            pass

    model = make().set_callbacks(Stop()).fit(X, y, sensitive_features=groups)
    assert model.n_iter_ < 60
    assert model.constraint_violation_ == 0.0


class Interrupted(AdamPrimalDual):
    """A solver that is interrupted at its hundredth step."""

    def _steps(self, problem, x, random_state):
        for k, step in enumerate(super()._steps(problem, x, random_state)):
            if k == 100:
                raise KeyboardInterrupt
            yield step


@pytest.mark.parametrize("early_stopping", [False, True])
def test_an_interrupt_returns_the_last_epoch_or_the_best_held_out(early_stopping, data):
    X, y, groups = data
    solver = Interrupted(max_iter=60, tol=1e-3, epoch_steps=1)
    rank = "best" if early_stopping else "last"
    with pytest.warns(ConvergenceWarning, match=rf"interrupted after 20 epochs: the {rank}"):
        model = fit(data, solver=solver, early_stopping=early_stopping)
    assert model.n_iter_ == len(model.loss_curve_) < 60
    assert model.constraint_violation_ == 0.0
    assert model.score(X, y) > 0.75


def test_an_interrupt_before_the_first_epoch_leaves_the_earlier_fit(data):
    X, y, groups = data
    model = fit(data, solver=AdamPrimalDual(max_iter=5))
    before = model.decision_function(X)
    model.set_params(solver=Interrupted(batch_size=1))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, sensitive_features=groups)
    np.testing.assert_array_equal(model.decision_function(X), before)
