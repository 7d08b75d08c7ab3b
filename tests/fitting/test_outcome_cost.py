"""Warning for constraints that cost most of what the model improves on a constant."""

import re
import warnings

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import GaussianNB

from skfair import regression
from skfair._fitting import outcome
from skfair._fitting.counting import TargetRanks
from skfair._fitting.outcome import (
    warn_of_cost,
    warn_of_moved_decisions,
    warn_of_worse_ranks,
)
from skfair.audit import fairness_front
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
    PartialParityClassifier,
    PartialParityPostprocessor,
    _constrained_cv,
)
from skfair.constraints import DemographicParity, MeanParity, PartialStatisticalParity
from skfair.exceptions import ConstraintCostWarning
from skfair.regression import (
    ConstrainedERMRegressor,
    ConstrainedRegressorCV,
    PartialParityRegressor,
)

COSTS, RARE = "The constraint costs more than half", "Decisions are nearly constant"
MOVED = "constraint and confidence_level move the decisions"


@pytest.fixture(scope="module")
def data():
    """Two large groups, and 11 samples with the smallest values of the only feature."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1))
    y = (X[:, 0] + 0.3 * rng.normal(size=2000) > 0.8).astype(int)
    groups = rng.choice(["a", "b"], size=2000).astype(object)
    groups[np.argsort(X[:, 0])[:11]] = "tiny"
    return X, y, groups


def cost_warning(model, X, y, groups):
    """The warning about the cost of a fit, or None."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sensitive_features=groups)
    messages = [str(one.message) for one in caught if COSTS in str(one.message)]
    assert len(messages) <= 1
    return messages[0] if messages else None


def accuracies_in(message):
    """Accuracies of the fit, of that without constraint and of the best constant prediction."""
    numbers = re.findall(r"(?:is|constraint|prediction) (0\.\d+)", message)
    return [float(one) for one in numbers[:3]]


def test_a_front_states_the_cost_and_does_not_warn_of_it(data):
    X, y, groups = data
    model = ConstrainedERMClassifier(DemographicParity(min_group_size=1), tolerance=0.03)
    with pytest.warns(ConstraintCostWarning):
        model.fit(X, y, sensitive_features=groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConstraintCostWarning)
        front = fairness_front(model, X, y, sensitive_features=groups, values=[0.03, 1.0], cv=2)
    accuracy = front.to_frame()["accuracy"]
    assert accuracy[0] < accuracy[1]


def test_a_tiny_group_that_costs_the_accuracy_is_named(data):
    X, y, groups = data
    model = ConstrainedERMClassifier(DemographicParity(min_group_size=1), tolerance=0.03)
    message = cost_warning(model, X, y, groups)
    assert "DemographicParity is farthest from its tolerance of 0.03" in message
    assert "np." not in message
    assert "with group 'tiny' (n=11) at 0 where" in message
    plain = ConstrainedERMClassifier(None).fit(X, y)
    accuracies = [model.score(X, y), plain.score(X, y), 1 - y.mean()]
    assert accuracies_in(message) == pytest.approx(accuracies, abs=6e-3)
    assert cost_warning(model.set_params(constraint="demographic_parity"), X, y, groups) is None


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "model",
    [
        ConstrainedClassifierCV(
            RandomForestClassifier(50, max_depth=5, random_state=0), tolerance=0.03, cv="oob"
        ),
        ConstrainedMLPClassifier(hidden_layer_sizes=(8,), tolerance=0.03, random_state=0),
    ],
    ids=["forest", "network"],
)
def test_other_models_warn_of_the_cost_of_a_constraint(model, data):
    X, y, _ = data
    signs = X + np.random.default_rng(2).normal(scale=0.5, size=X.shape)
    groups = np.where(signs[:, 0] > 0.5, "high", "low")
    message = cost_warning(model, np.hstack((X, signs)), y, groups)
    assert "with group 'high'" in message
    taken, plain, constant = accuracies_in(message)
    assert constant == pytest.approx(1 - y.mean(), abs=1e-3)
    assert plain - taken > taken - constant and plain > 0.9


def costly_samples(n=600):
    """A feature that tells the groups apart, classes that follow it, and uneven weights."""
    rng = np.random.default_rng(2)
    groups = rng.choice(["f", "m"], n)
    X = rng.normal(size=(n, 2))
    X[:, 0] += 3 * (groups == "m")
    y = (X[:, 0] + 0.3 * rng.normal(size=n) > 1.5).astype(int)
    return X, y, groups, rng.lognormal(0, 1.5, n)


def test_accuracies_are_by_the_weights_of_samples_and_not_by_those_of_errors():
    # The thresholds of a fitted model say what errors cost, other than by the weights.
    X, y, groups, weights = costly_samples()
    base = GaussianNB().fit(X, y)
    model = ConstrainedClassifierCV(
        FrozenEstimator(base), tolerance=0.01, group_estimator="sensitive_features"
    )
    with pytest.warns(ConstraintCostWarning) as caught:
        model.fit(X, y, sensitive_features=groups, sample_weight=weights)
    taken, plain, constant = accuracies_in(str(caught[0].message))
    decisions = model.oof_decision_function_ > 0
    assert taken == pytest.approx(np.average(decisions == y, weights=weights), abs=6e-4)
    assert plain == pytest.approx(np.average(base.predict(X) == y, weights=weights), abs=0.01)
    share = np.average(y, weights=weights)
    assert constant == pytest.approx(max(share, 1 - share), abs=6e-4)


@pytest.mark.parametrize(("threshold", "names_costs"), [(0.3, False), (0.1, True)])
def test_costs_are_named_where_accuracies_do_not_show_them(threshold, names_costs):
    # A low threshold accepts many: what it improves on a constant are costs, and no accuracies.
    rng = np.random.default_rng(2)
    groups = rng.choice(["f", "m"], 600)
    X = rng.normal(size=(600, 2))
    X[:, 0] += 3 * (groups == "m")
    y = (X[:, 0] + rng.normal(size=600) > 3.5).astype(int)
    base = FixedThresholdClassifier(GaussianNB(), threshold=threshold).fit(X, y)
    model = ConstrainedClassifierCV(
        FrozenEstimator(base), tolerance=0.01, group_estimator="sensitive_features"
    )
    with pytest.warns(ConstraintCostWarning) as caught:
        model.fit(X, y, sensitive_features=groups)
    message = str(caught[0].message)
    _, plain, constant = accuracies_in(message)
    assert (plain < constant) == names_costs
    assert ("by the costs of errors that the estimator's own decisions imply" in message) == (
        names_costs
    )


def test_with_class_weight_the_cost_of_errors_is_stated_and_no_accuracy():
    X, y, groups, _ = costly_samples()
    rare = X[:, 0] > 3.5
    costs = np.where(rare, 0.5 / rare.mean(), 0.5 / (1 - rare.mean()))
    model = ConstrainedERMClassifier(tolerance=0.01, class_weight="balanced")
    message = cost_warning(model, X, rare, groups)
    assert "accuracy" not in message
    # The best constant errs about one class, which is half of all costs.
    plain = ConstrainedERMClassifier(None, class_weight="balanced").fit(X, rare)
    lost, free = (np.average(one.predict(X) != rare, weights=costs) for one in (model, plain))
    share = int(re.search(r"decisions save (\d+)% of", message)[1])
    assert share == pytest.approx(100 * (0.5 - lost) / (0.5 - free), abs=1.5)


def test_cheap_constraints_give_no_warning(data):
    X, y, groups = data
    halves = np.where(np.arange(len(y)) % 2, "a", "b")
    assert cost_warning(ConstrainedERMClassifier(tolerance=0.03), X, y, halves) is None
    assert cost_warning(ConstrainedERMClassifier(None), X, y, groups) is None
    # The plain fit is no better than a constant.
    noise = np.random.default_rng(1).integers(2, size=len(y))
    model = ConstrainedERMClassifier(DemographicParity(min_group_size=1), tolerance=0.001)
    assert cost_warning(model, X, noise, groups) is None


def test_the_cost_is_that_of_the_plain_fit_where_there_is_one(data, monkeypatch):
    X, y, groups = (np.tile(values.T, 5).T for values in data)
    monkeypatch.setattr(outcome, "_UNCONSTRAINED_SOLVER", None)  # of a fit of a subsample
    model = ConstrainedERMClassifier(DemographicParity(min_group_size=1), tolerance=0.03)
    assert COSTS in cost_warning(model, X, y, groups)


def test_a_constant_prediction_is_warned_of_once():
    X = np.repeat([[0.0], [1.0]], 200, axis=0)
    y = np.repeat([0, 1], 200)
    model = ConstrainedERMClassifier(tolerance=0.0)
    groups = np.where(X[:, 0] + np.arange(400) % 7 // 6 > 0, "a", "b")
    with pytest.warns(UserWarning, match="Every training sample is given the class"):
        message = cost_warning(model, X, y, groups)
        model.fit(X, y, sensitive_features=groups)
    assert message is None and len(set(model.predict(X))) == 1


def test_regressors_compare_losses(data):
    X, _, groups = data
    target = 10.0 * X[:, 0]
    wide = ConstrainedERMRegressor(MeanParity(min_group_size=1), tolerance=0.5)
    message = cost_warning(wide, X, target, groups)
    assert "% of that of the best constant prediction" in message
    assert "MeanParity is farthest from its tolerance of 0.5" in message
    assert cost_warning(ConstrainedERMRegressor(tolerance=0.5), X, target, groups) is None
    assert cost_warning(ConstrainedERMRegressor(None), X, target, groups) is None


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    ("module", "model"),
    [
        (outcome, PartialParityClassifier(tolerance=0.1)),
        (outcome, PartialParityClassifier(tolerance=0.1, loss="auc")),
        (outcome, PartialParityRegressor(tolerance=0.1)),
        (
            _constrained_cv,
            ConstrainedClassifierCV(LogisticRegression(), PartialStatisticalParity(tolerance=0.1)),
        ),
        (
            regression,
            ConstrainedRegressorCV(LinearRegression(), PartialStatisticalParity(tolerance=0.1)),
        ),
    ],
    ids=["linear", "auc", "linear regressor", "any", "any regressor"],
)
def test_random_ranks_are_warned_of(module, model, monkeypatch):
    """The losses and accuracies of vanishing scores hardly differ from those without constraint."""
    calls = []
    monkeypatch.setattr(
        module, "warn_of_cost", lambda *args, **kwargs: calls.append((args, kwargs))
    )
    rng = np.random.default_rng(3)
    groups = rng.integers(2, size=400)
    X = rng.normal(size=(400, 2))
    X[:, 0] += 0.5 * groups
    signal = 0.4 * X[:, 0] + rng.logistic(size=400)
    target = signal if "Regressor" in type(model).__name__ else (signal > 2.5).astype(int)
    model.fit(X, target, sensitive_features=groups)
    (((problem, _, plain, *is_real), options),) = calls
    with pytest.warns(
        ConstraintCostWarning, match="improves on random ranks: its (.*) is"
    ) as caught:
        warn_of_cost(problem, -1e-3 * plain, plain, *is_real, **options)
    message = str(caught[0].message)
    assert "on the training data, worse than random ranks, that without constraint" in message
    if target.dtype == float:
        assert "its rank correlation with the target is -0." in message
    else:
        # A wrapper has the samples in another order.
        area = roc_auc_score(problem.target > 0, problem.predict_scores(plain))
        numbers = re.findall(r"is (0\.\d+) .* constraint (0\.\d+)", message)[0]
        assert [*map(float, numbers)] == pytest.approx([1.0 - area, area], abs=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_cost(problem, 0.5 * plain, plain, *is_real, **options)
        warn_of_cost(problem, 0.0 * plain, plain, *is_real, **options)  # has another warning


def test_correlations_of_ranks_agree_with_areas_and_spearman():
    rng = np.random.default_rng(0)
    target = rng.normal(size=200)
    scores = np.round(rng.normal(size=200), 1)
    weights = rng.integers(1, 4, size=200)

    def correlations(target, scores):
        ranks = TargetRanks(target, weights / weights.sum())
        return [ranks.correlate(one) for one in scores]

    labels = np.where(target > 0.5, 1.0, -1.0)
    area = roc_auc_score(labels, scores, sample_weight=weights)
    reached = correlations(labels, [scores, -scores, np.zeros(200)])
    np.testing.assert_allclose(reached, [2 * area - 1, 1 - 2 * area, 0.0], atol=1e-12)
    distinct = rng.normal(size=200)
    repeated = spearmanr(np.repeat(target, weights), np.repeat(distinct, weights)).statistic
    assert correlations(target, [distinct])[0] == pytest.approx(repeated, abs=1e-3)


def test_deviation_of_random_ranks():
    rng = np.random.default_rng(0)
    labels = np.where(np.arange(200) < 40, 1.0, -1.0)
    weights = rng.uniform(0.5, 2.0, size=200)
    scores = rng.normal(size=(500, 200))
    ranks = TargetRanks(labels, weights / weights.sum())
    values = [ranks.correlate(one) for one in scores]
    assert ranks.deviation == pytest.approx(np.std(values), rel=0.1)


def test_the_postprocessor_does_not_compare_tiny_groups(data):
    X, y, groups = data
    model = PartialParityPostprocessor(interval=(0.0, 0.5), tolerance=0.1)
    with pytest.warns(UserWarning, match=r"are not compared: 'tiny' \(11\)"):
        model.fit(X, y, sensitive_features=groups)
    report = model.constraint_report_
    assert set(report.dropna()["group"]) == {"a", "b"}
    tiny = report[report["group"] == "tiny"]
    assert len(tiny) and tiny["n"].eq(11).all() and tiny["gap"].isna().all()
    assert report["gap"].dtype == report["tolerance"].dtype == np.float64
    largest = max("ab", key=lambda one: (groups == one).sum())
    as_largest = np.where(groups == "tiny", largest, groups)
    np.testing.assert_array_equal(
        model.decision_function(X, sensitive_features=groups),
        model.decision_function(X, sensitive_features=as_largest),
    )


def six_groups(seed, n=5000):
    """Six groups whose rates a tolerance of .06 cannot be shown to keep, except constant ones."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(6, size=n)
    X = rng.normal(size=(n, 15))
    X[:, :4] += 0.4 * np.linspace(-1.0, 1.0, 6)[groups][:, np.newaxis]
    y = (0.2 * X.sum(axis=1) + rng.logistic(size=n) > 0).astype(int)
    return X, y, groups


def rarity_warning(model, X, y, groups):
    """The warning about nearly constant decisions, or None."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sensitive_features=groups)
    messages = [str(one.message) for one in caught if RARE in str(one.message)]
    assert len(messages) <= 1
    return messages[0] if messages else None


def test_a_guarantee_of_nearly_constant_decisions_is_warned_of():
    X, y, groups = six_groups(5)
    model = ConstrainedERMClassifier(tolerance=0.06, confidence_level=0.95)
    message = rarity_warning(model, X, y, groups)
    rate = model.predict(X).mean()
    assert not 0.01 < rate < 0.99
    which, share = ("positive", rate) if rate < 0.5 else ("negative", 1.0 - rate)
    assert f"gives {share:.2%} of the training samples the {which} class" in message
    plain = ConstrainedERMClassifier(None).fit(X, y).predict(X).mean()
    without = float(re.search(r"without constraint ([\d.]+)%", message)[1]) / 100
    assert without == pytest.approx(plain if rate < 0.5 else 1.0 - plain, abs=0.01)


def test_useful_guarantees_and_fits_without_one_are_not_warned_of():
    X, y, groups = six_groups(4)
    model = ConstrainedERMClassifier(tolerance=0.3, confidence_level=0.95)
    assert rarity_warning(model, X, y, groups) is None
    assert 0.1 < model.predict(X).mean() < 0.9
    model = ConstrainedERMClassifier(tolerance=0.05)
    assert rarity_warning(model, X, y, groups) is None


@pytest.mark.parametrize("base", [4.0, 6.0, 7.0])
@pytest.mark.parametrize(
    ("tolerance", "name"), [(0.02, "demographic_parity"), (0.3, "loss_parity")]
)
def test_rare_decisions_of_a_rare_class_are_not_warned_of(base, tolerance, name):
    """Without constraint as few samples are accepted."""
    rng = np.random.default_rng(5)
    n = 3000
    groups = rng.integers(2, size=n)
    X = rng.normal(size=(n, 4))
    y = (X @ [2.0, 1.5, 1.0, 0.5] + rng.logistic(size=n) > base).astype(int)
    for labels in (y, 1 - y):
        model = ConstrainedERMClassifier(name, tolerance=tolerance, confidence_level=0.8)
        assert rarity_warning(model, X, labels, groups) is None
    assert min(y.mean(), model.predict(X).mean(), 1 - model.predict(X).mean()) < 0.12


@pytest.mark.parametrize(
    ("rate", "plain", "expected"),
    [
        (0.009, 0.02, RARE),
        (0.009, 0.019, None),  # without constraint decisions are rare, too
        (0.0101, 0.09, None),
        (0.019, 0.2, RARE),  # less than a tenth
        (0.021, 0.2, MOVED),
        (0.991, 0.98, RARE),
        (0.991, 0.985, None),
        (0.981, 0.8, RARE),
        (0.0, 0.5, None),  # constant decisions have their own warning
        (1.0, 0.5, None),
        (0.001, 0.0101, RARE),
        (0.4, 0.5, None),
        (0.399, 0.5, MOVED),
        (0.7, 0.5, MOVED),
    ],
)
def test_rare_and_moved_decisions_at_the_edge(rate, plain, expected):
    """Exact shares of 10,000 samples, the first of which has no weight."""
    scores = [
        np.where(np.arange(10_001) <= round(10_000 * one), 1.0, -1.0) for one in (rate, plain)
    ]
    weights = np.r_[0.0, np.full(10_000, 0.5)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_moved_decisions(weights, *scores)
    messages = [str(one.message) for one in caught]
    assert [expected in one for one in messages] == [True] * (expected is not None)
    if expected == MOVED:
        assert f"gives {rate:.1%} of" in messages[0] and f"constraint {plain:.1%}." in messages[0]


def test_a_guarantee_that_moves_the_selected_share_says_so():
    rng = np.random.default_rng(1)
    groups = (rng.random(600) < 0.4).astype(int)
    X = rng.normal(size=(600, 30))
    X[:, :4] += 0.4 * groups[:, np.newaxis]
    y = X[:, :6].sum(axis=1) * 0.4 + rng.logistic(size=600) > 0
    model = ConstrainedERMClassifier(tolerance=0.15, confidence_level=0.95)
    with pytest.warns(UserWarning, match=MOVED) as caught:
        model.fit(X, y, sensitive_features=groups)
    message = next(str(one.message) for one in caught if MOVED in str(one.message))
    plain = ConstrainedERMClassifier(None).fit(X, y).predict(X).mean()
    assert model.verdict_ == "shown" and abs(model.predict(X).mean() - plain) > 0.1
    shares = [float(one) / 100 for one in re.findall(r"([.\d]+)%", message)]
    assert shares == pytest.approx([model.predict(X).mean(), plain], abs=0.01)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=f".*{MOVED}")
        model.set_params(confidence_level=None).fit(X, y, sensitive_features=groups)


@pytest.mark.parametrize(
    "model",
    [
        ConstrainedClassifierCV(LogisticRegression(), tolerance=0.3, confidence_level=0.8),
        pytest.param(
            ConstrainedMLPClassifier(tolerance=0.05, confidence_level=0.8, random_state=0),
            marks=pytest.mark.slow,
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_models_warn_of_nearly_constant_decisions(model, monkeypatch):
    """Each model hands over its scores, those without constraint, and its weights."""
    calls = []
    for module in (outcome, _constrained_cv):
        monkeypatch.setattr(
            module, "warn_of_moved_decisions", lambda *arguments: calls.append(arguments)
        )
    X, y, groups = six_groups(0, n=1200)
    groups = groups // 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, sensitive_features=groups)
    ((weights, scores, plain_scores),) = calls
    assert len(weights) == len(scores) == len(plain_scores) == 1200
    oof = (
        model.oof_decision_function_
        if hasattr(model, "oof_decision_function_")
        else model.decision_function(X)
    )
    # Wrappers have an order of samples of their own.
    np.testing.assert_array_equal(np.sort(scores > 0), np.sort(oof > 0))
    assert np.count_nonzero(plain_scores > 0) == pytest.approx(np.count_nonzero(y == 1), rel=0.5)


def test_ranks_worse_than_random_are_warned_of():
    rng = np.random.default_rng(0)
    target = np.where(np.arange(200) < 100, 1.0, -1.0)
    weights = np.full(200, 1.0 / 200.0)
    free = target + rng.normal(size=200)
    with pytest.warns(ConstraintCostWarning, match="worse than random ranks") as caught:
        warn_of_worse_ranks(target, weights, -free, free)
    area = roc_auc_score(target, -free)
    assert f"is {area:.3g} on the training data" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_worse_ranks(target, weights, free, free)
        # Nothing is lost where ranks without constraint are random, too.
        warn_of_worse_ranks(target, weights, -free, rng.normal(size=200))
