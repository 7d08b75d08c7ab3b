"""Joint probabilities of group and class, and the decisions of the dual."""

import itertools
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from skfair._fitting.input import TrainingData
from skfair._groups import check_groups
from skfair._postprocessing.base_loss import RuleLoss
from skfair._postprocessing.events import RuleRequest, group_codes, make_fitter
from skfair._postprocessing.joint import JointProbabilities, WeightProgram, _fit_stack
from skfair.classification import ConstrainedClassifierCV
from skfair.constraints import DemographicParity, EqualizedOdds, MinimumRate
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.metrics import METRICS

BASE = LogisticRegression()


def draw(n_samples=1200, seed=0, names="abc"):
    rng = np.random.default_rng(seed)
    code = rng.choice(3, p=[0.5, 0.3, 0.2], size=n_samples)
    X = rng.normal(size=(n_samples, 4))
    X[:, 0] += code == 1
    X[:, 1] -= code == 2
    y = (X[:, 0] + X[:, 1] + rng.logistic(size=n_samples) > 0.3).astype(int)
    return X, y, np.array(list(names))[code]


def fit(data, constraint="demographic_parity", estimator=BASE, **params):
    X, y, group = data
    model = ConstrainedClassifierCV(estimator, constraint, **params)
    return model.fit(X, y, sensitive_features=group)


@pytest.fixture(scope="module")
def data():
    return draw()


# Probabilities ------------------------------------------------------------------------


@pytest.mark.parametrize("is_weighted", [False, True])
def test_expected_counts_of_outcomes_equal_counted_ones(is_weighted):
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(500, 3)) * [1.0, 100.0, 0.01]
    outcomes = rng.choice([0, 1, 3, 4, 5], size=500)  # outcome 2 does not occur
    weights = rng.uniform(0.5, 2.0, 500) if is_weighted else np.ones(500)
    joint = JointProbabilities([], *_fit_stack(columns, outcomes, weights))
    probabilities = joint.predict(columns)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    counted = np.bincount(outcomes, weights, 6)
    np.testing.assert_allclose(weights @ probabilities, counted, atol=1e-3 * weights.sum())
    assert not probabilities[:, 2].any()


def test_two_outcomes_are_one_logistic_regression():
    rng = np.random.default_rng(0)
    column = rng.normal(size=(300, 1))
    outcomes = np.where(column[:, 0] + rng.logistic(size=300) > 0, 3, 0)
    joint = JointProbabilities([], *_fit_stack(column, outcomes, np.ones(300)))
    alone = LogisticRegression(C=np.inf).fit(column, outcomes).predict_proba(column)[:, 1]
    np.testing.assert_allclose(joint.predict(column)[:, 3], alone, atol=1e-2)
    odds, by_class = joint.split(joint.predict(column))
    assert by_class.shape == (300, 2, 2)
    np.testing.assert_allclose(expit(odds[:, 0]), by_class[:, 1].sum(axis=1), atol=1e-8)


@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.slow
def test_probabilities_of_group_and_class_are_calibrated(data):
    X, y, group = draw(20_000, 1)
    model = fit(data, "equal_opportunity")
    _, probabilities = model.rule_inputs(X)
    assert probabilities.shape == (20_000, 2, 3)
    np.testing.assert_allclose(probabilities.sum(axis=(1, 2)), 1.0)
    order = [list("abc")[code] for code in np.argsort(-np.unique(data[2], return_counts=True)[1])]
    for label, (position, name) in itertools.product((0, 1), enumerate(order)):
        share = np.mean((y == label) & (group == name))
        assert probabilities[:, label, position].mean() == pytest.approx(share, abs=0.03)


# Weights of outcomes --------------------------------------------------------------------


def make_program(constraint, seed, tolerance, n_groups, n_samples=300, strength=0.0):
    """The program of random probabilities; the sizes of groups and classes are counted."""
    rng = np.random.default_rng(seed)
    target = rng.choice([-1.0, 1.0], size=n_samples)
    codes = rng.integers(n_groups, size=n_samples)
    groups = check_groups(codes.astype(str), n_samples)
    logits = rng.normal(size=(n_samples, 2 * n_groups))
    logits[:, group_codes(groups).max() + 1] += strength * rng.normal(size=n_samples)
    joint = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    training = TrainingData(
        joint[:, 1:], np.array([0, 1]), Samples(target, groups, np.ones(n_samples))
    )
    request = RuleRequest(
        per_class=[training],
        loss=RuleLoss(LogisticLoss()),
        weights=training.samples.weights,
        constraints=[constraint],
        tolerance=tolerance,
        callback=None,
    )
    fitter = make_fitter(request)
    codes = group_codes(groups)
    sizes = np.array(
        [[np.sum((codes == g) & (target == t)) for g in range(n_groups)] for t in (-1, 1)]
    )
    program = WeightProgram.from_fitter(fitter, training)
    return program, joint.reshape(-1, 2, n_groups), sizes


def solve(program, tolerance):
    tolerances = np.full(len(program.problem.constraint), tolerance)
    return program.solve(np.zeros(len(program.units)), tolerances)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("constraint", [DemographicParity(), EqualizedOdds()], ids=["dp", "eo"])
def test_decisions_keep_bounds_and_no_others_gain_more(constraint, seed, n_groups):
    program, joint, sizes = make_program(constraint, seed, 0.1, n_groups)
    gains = joint[:, 1].sum(axis=1) - joint[:, 0].sum(axis=1)
    logs, _ = solve(program, 0.1)
    if isinstance(constraint, DemographicParity):
        blocks = [joint.sum(axis=1) / sizes.sum(axis=0)]
    else:
        blocks = [joint[:, label] / sizes[label] for label in (0, 1)]
    pairs = list(itertools.permutations(range(n_groups), 2))
    rows = np.array([rates[:, k] - rates[:, i] for rates in blocks for k, i in pairs])
    best = linprog(-gains, A_ub=rows, b_ub=np.full(len(rows), 0.1), bounds=(0, 1))
    expected, _ = program.expect(logs)
    gain = program.gains @ expected
    assert program.gaps(logs).max() <= 0.1 + 1e-5
    # All decisions in [0, 1] may gain more: those of negative weights, and sharp ones.
    assert gain <= -best.fun / len(gains) + 1e-6
    # The first point of many starts is the best of all.
    rng = np.random.default_rng(seed)
    for start in rng.normal(size=(5, len(logs))):
        other, _ = program.solve(start, np.array([0.1]))
        if program.gaps(other).max() <= 0.1 + 1e-6:
            assert program.gains @ program.expect(other)[0] <= gain + 2e-3


def test_where_all_weights_are_positive_decisions_are_those_of_the_linear_program():
    program, joint, sizes = make_program(DemographicParity(), 0, 0.02, 2, 2000)
    gains = joint[:, 1].sum(axis=1) - joint[:, 0].sum(axis=1)
    row = (joint.sum(axis=1) / sizes.sum(axis=0)) @ [1.0, -1.0]
    plain = row @ (gains > 0)
    tolerance = 0.8 * abs(plain)
    logs, multipliers = solve(program, tolerance)
    assert np.abs(logs).max() < 4.0
    best = linprog(-gains, A_ub=[row, -row], b_ub=[tolerance, tolerance], bounds=(0, 1))
    decided = joint.reshape(len(gains), -1) @ (program.gains * np.exp(logs)) > 0
    assert np.mean(decided == (best.x > 0.5)) >= 0.99
    expected = program.gains @ program.expect(logs)[0]
    assert expected == pytest.approx(-best.fun / len(gains), rel=0.05)  # smooth decisions
    # The multiplier is the derivative of the gain.
    assert np.abs(multipliers).sum() > 0
    nearby = [solve(program, factor * tolerance)[0] for factor in (0.97, 1.03)]
    gained = [program.gains @ program.expect(one)[0] for one in nearby]
    slope = (gained[1] - gained[0]) / (0.06 * tolerance)
    assert np.abs(multipliers).sum() == pytest.approx(slope, rel=0.1)


def test_derivatives_are_those_of_differences():
    program, _, _ = make_program(EqualizedOdds(), 0, 0.02, 3)
    logs = np.random.default_rng(0).normal(size=6)
    _, slopes = program.expect(logs)
    for k, unit in enumerate(1e-6 * np.eye(6)):
        above, below = (program.expect(logs + step)[0] for step in (unit, -unit))
        np.testing.assert_allclose(slopes[:, k], (above - below) / 2e-6, atol=1e-6)


# Fits ---------------------------------------------------------------------------------


CONSTRAINTS = [
    "demographic_parity",
    "equal_opportunity",
    "false_positive_rate_parity",
    "equalized_odds",
    "error_rate_parity",
    MinimumRate("true_positive_rate", 0.7),
    DemographicParity(ratio=0.8),
    ["demographic_parity", "equal_opportunity"],
]


@pytest.mark.filterwarnings("ignore:.*hardly any positives")
@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=str)
def test_counted_decisions_keep_the_tolerance(data, constraint):
    model = fit(data, constraint)
    assert model.constraint_violation_ == 0.0
    assert model.status_ in ("optimal", "feasible")
    X, y, _ = data
    constant = max(y.mean(), 1.0 - y.mean())
    assert np.mean((model.oof_decision_function_ > 0) == y) > constant


@pytest.mark.filterwarnings("ignore:.*hardly any positives")
@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.slow
def test_the_rule_that_is_exported_decides_as_predict_does(data):
    X, _, _ = data
    kinds = []
    for params in ({}, {"constraint": "equalized_odds"}, {"pos_label": 0}, {"ensemble": False}):
        model = fit(data, **params)
        kinds.append(type(model._event_features))
        rule = json.loads(json.dumps(model.export_rule()))
        scores, probabilities = model.rule_inputs(X)
        # The formula of the documentation.
        z = rule["slope"] * scores + rule["offset"]
        terms = np.stack([np.ones_like(z), expit(z), z, z * expit(z)])
        moved = np.einsum("ti,ieg,teg->i", terms, probabilities, rule["weights"])
        total = rule["log_odds"] * z + rule["intercept"] + moved
        np.testing.assert_array_equal(total > 0, model.predict(X) == rule["pos_label"])
    assert JointProbabilities in kinds


@pytest.mark.filterwarnings("ignore:.*hardly any positives")
@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.slow
def test_probabilities_agree_with_decisions(data):
    X, y, _ = data
    for constraint in ("demographic_parity", "equalized_odds"):
        model = fit(data, constraint)
        probability = model.predict_proba(X)
        np.testing.assert_allclose(probability.sum(axis=1), 1.0)
        np.testing.assert_array_equal(probability.argmax(axis=1), model.predict(X))


@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.slow
def test_names_of_groups_do_not_matter(data):
    X = data[0]
    first, second = (fit(draw(names=names)).decision_function(X) for names in ("abc", "zxy"))
    np.testing.assert_array_equal(first, second)


@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.slow
def test_other_folds_change_few_decisions():
    sample = draw(4000, 2)
    X = draw(10_000, 3)[0]
    decisions = [
        fit(sample, cv=StratifiedKFold(5, shuffle=True, random_state=seed)).predict(X)
        for seed in range(3)
    ]
    for one, other in itertools.combinations(decisions, 2):
        assert np.mean(one != other) <= 0.05


@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.slow
def test_weights_count_as_repeated_samples(data):
    X, y, group = data
    weights = np.where(np.arange(len(y)) % 4 == 0, 2.0, 1.0)
    model = ConstrainedClassifierCV(BASE, tolerance=0.05)
    model.fit(X, y, sensitive_features=group, sample_weight=weights)
    gap = METRICS["demographic_parity_difference"](
        y,
        (model.oof_decision_function_ > 0).astype(int),
        sensitive_features=group,
        sample_weight=weights,
    )
    assert gap <= 0.05


@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.slow
def test_input_of_any_kind():
    X, y, group = draw(600)
    frame = pd.DataFrame(X, columns=list("pqrs"))
    plain = fit((X, y, group)).predict(X)
    with_names = fit((frame, y, group))
    np.testing.assert_array_equal(with_names.predict(frame), plain)
    labels = fit((X, np.array(["no", "yes"])[y], group), pos_label="yes")
    np.testing.assert_array_equal(labels.predict(X) == "yes", plain == 1)
    thin = sparse.csr_array(X)
    assert fit((thin, y, group)).predict(thin).shape == (600,)
    # Missing values and categories are left to the trees.
    boosting = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    missing = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    assert fit((missing, y, group), estimator=boosting).constraint_violation_ == 0.0
    frame["t"] = pd.Categorical(np.where(X[:, 0] > 0, "high", "low"))
    assert fit((frame, y, group), estimator=boosting).constraint_violation_ == 0.0
    again = pickle.loads(pickle.dumps(with_names))
    np.testing.assert_array_equal(again.predict(frame.drop(columns="t")), plain)


@pytest.mark.filterwarnings("ignore:The rule :skfair.exceptions.ConstraintCostWarning")
@pytest.mark.filterwarnings("ignore:.*hardly any positives")
@pytest.mark.slow
@pytest.mark.parametrize(
    "constraint", ["demographic_parity", "equal_opportunity", "equalized_odds"]
)
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_sums_in_memory_decides_nothing(constraint, seed):
    X, y, group = draw(800, seed)
    plain = fit((X, y, group), constraint, tolerance=0.05).predict(X)
    by_column = np.asfortranarray(X)
    moved = fit((by_column, y, group), constraint, tolerance=0.05).predict(by_column)
    np.testing.assert_array_equal(moved, plain)
