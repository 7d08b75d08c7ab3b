"""Prediction sets that cover each of many overlapping groups, which are known."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.linear_model import LinearRegression, LogisticRegression

from skfair._postprocessing import overlapping_coverage
from skfair._postprocessing.overlapping_coverage import OverlappingThresholds
from skfair.conformal import ConformalClassifier, ConformalRegressor
from skfair.exceptions import MissingSensitiveFeaturesError


def regress(scores, design, level):
    """Coefficients of the quantile regression of scores, by a linear program."""
    n, d = design.shape
    # Positive and negative parts of the residuals follow the coefficients.
    costs = np.concatenate((np.zeros(d), np.full(n, level), np.full(n, 1.0 - level)))
    equations = np.hstack((design, np.eye(n), -np.eye(n)))
    bounds = [(None, None)] * d + [(0.0, None)] * (2 * n)
    return linprog(costs, A_eq=equations, b_eq=scores, bounds=bounds).x[:d]


def draw_scores(seed, n_groups=3, n_samples=40):
    rng = np.random.default_rng(seed)
    members = rng.random((n_samples, n_groups)) < 0.5
    return rng.exponential(size=n_samples) * (1.0 + members.sum(axis=1)), members


@pytest.mark.parametrize("level", [0.6, 0.83])
@pytest.mark.parametrize("seed", range(3))
def test_the_threshold_is_the_largest_score_below_its_own_regression(seed, level):
    scores, members = draw_scores(seed)
    design = np.column_stack((np.ones(len(members)), members))
    thresholds = OverlappingThresholds.fit(scores, members, level)
    for new in ([0, 0, 0], [1, 0, 1]):
        (threshold,) = thresholds.find(np.array([new], dtype=bool))
        point = np.append(1.0, new)

        def keeps(score, point=point):
            coef = regress(np.append(scores, score), np.vstack((design, point)), level)
            return score <= point @ coef + 1e-9

        assert keeps(threshold - 1e-4)
        assert not keeps(threshold + 1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_the_threshold_is_that_of_the_program_with_an_infinite_score(seed):
    scores, members = draw_scores(seed, n_groups=6, n_samples=150)
    scores = scores.round(1) if seed % 2 else scores  # ties
    one = OverlappingThresholds.fit(scores, members, 0.8)
    design = np.column_stack((np.ones(len(members)), members))
    patterns = np.random.default_rng(seed).random((10, 6)) < 0.5
    expected = []
    for point in np.column_stack((np.ones(10), patterns)):
        solution = linprog(
            -1e3 * one.scores,
            A_eq=design.T,
            b_eq=-one.levels.min() * point,
            bounds=np.column_stack((one.levels - 1.0, one.levels)),
            options={"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10},
        )
        expected.append(-point @ solution.eqlin.marginals / 1e3)
    np.testing.assert_allclose(one.find(patterns), expected)


def sum_losses(one, coefficients):
    """The loss of the regression of scores whose ties are broken, at given coefficients."""
    design = np.column_stack((np.ones(len(one.members)), one.members))
    residuals = one.scores - design @ coefficients
    return (np.where(residuals > 0.0, one.levels, one.levels - 1.0) * residuals).sum()


@pytest.mark.parametrize("unit", [1.0, 0.1])
@pytest.mark.parametrize("n_samples", [100, 300])
def test_the_regression_of_tied_scores_has_the_loss_of_a_linear_program(n_samples, unit):
    for seed in range(10):
        rng = np.random.default_rng([9850, n_samples, seed])
        first = rng.choice([0, 1], n_samples, p=[0.7, 0.3])
        second = rng.integers(2, size=n_samples)
        members = np.column_stack((first == 0, first == 1, second == 0, second == 1))
        scores = np.abs(np.round(rng.normal(size=n_samples) * (1.0 + first) / unit) * unit)
        one = OverlappingThresholds.fit(scores, members, 0.9)
        design = np.column_stack((np.ones(n_samples), members))[:, one.columns]
        # The program may lose digits: no coefficients have a smaller loss than its bound.
        dual = linprog(
            np.median(one.scores) - one.scores,
            A_eq=design.T,
            b_eq=np.zeros(design.shape[1]),
            bounds=np.column_stack((one.levels - 1.0, one.levels)),
        )
        assert dual.status == 0
        assert sum_losses(one, one.coefficients) == pytest.approx(-dual.fun, rel=1e-7)


@pytest.mark.parametrize("n_samples", [1, 2, 3, 12])
@pytest.mark.parametrize("scale", [0.0, 1.0], ids=["equal", "drawn"])
def test_few_samples_and_equal_scores_have_thresholds(n_samples, scale):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        members = rng.random((n_samples, 5)) < 0.5
        scores = 2.0 + scale * rng.integers(2, size=n_samples)
        one = OverlappingThresholds.fit(scores, members, 0.9)
        thresholds = one.find(members)
        # Sets with all values, or with the score of at least one calibration sample.
        assert (thresholds >= scores.min()).all()
        # A plane through k samples has at most a tenth of the others above it.
        design = np.column_stack((np.ones(n_samples), members))
        is_above = scores > design @ one.coefficients + 1e-6
        assert is_above.sum() <= 0.1 * n_samples


def test_a_regression_without_end_raises_and_says_what_to_change(monkeypatch):
    scores, members = draw_scores(0, n_groups=6, n_samples=200)
    monkeypatch.setattr(overlapping_coverage, "_MAX_STEPS", 3)
    message = r"6 overlapping groups were not found in 3 steps from 200 scores. Pass fewer groups"
    with pytest.raises(RuntimeError, match=message):
        OverlappingThresholds.fit(scores, members, 0.8)
    # Fewer groups need fewer steps.
    assert OverlappingThresholds.fit(scores, members[:, :0], 0.8).find(members[:1, :0])[0] > 0.0


@pytest.mark.parametrize("seed", range(4))
def test_intervals_of_whole_targets_cover_values_of_two_attributes(seed):
    rng = np.random.default_rng(seed)
    n_samples = 400
    groups = pd.DataFrame(
        {"a": rng.choice(["p", "q"], n_samples), "b": rng.choice(["u", "v"], n_samples)}
    )
    X = rng.normal(size=(n_samples, 1))
    y = np.round(X[:, 0] + rng.normal(size=n_samples) * np.where(groups["a"] == "q", 2.0, 1.0))
    model = ConformalRegressor(
        LinearRegression(), 0.9, attributes="each", group_estimator="sensitive_features"
    )
    model.fit(X, y, sensitive_features=groups)
    low, high = model.predict_interval(X, sensitive_features=groups).T
    is_covered = (low <= y) & (y <= high)
    for name in ("a", "b"):
        assert pd.Series(is_covered).groupby(groups[name]).mean().min() >= 0.87


def test_without_a_group_it_is_an_order_statistic():
    scores = np.random.default_rng(0).permutation(99) + 1.0
    one = OverlappingThresholds.fit(scores, np.empty((99, 0), dtype=bool), 0.9)
    np.testing.assert_allclose(one.find(np.empty((2, 0), dtype=bool)), 90.0, atol=1e-4)
    smaller = OverlappingThresholds.fit(scores[:8], np.empty((8, 0), dtype=bool), 0.9)
    assert smaller.find(np.empty((1, 0), dtype=bool)) == np.inf


def draw(n_samples=900, seed=0):
    rng = np.random.default_rng(seed)
    members = rng.random((n_samples, 4)) < [0.3, 0.5, 0.4, 0.2]
    X = np.column_stack((rng.normal(size=(n_samples, 2)), members))
    noise = 1.0 + members @ [2.0, 1.0, 0.5, 0.0]
    return X, X[:, :2].sum(axis=1) + noise * rng.normal(size=n_samples), members


KNOWN = {"group_estimator": "sensitive_features"}


def test_disjoint_columns_have_the_thresholds_of_disjoint_groups():
    X, y, members = draw()
    base = LinearRegression().fit(X, y)
    labels = np.where(members[:, 0], "a", "b")
    columns = sparse.csr_array(labels[:, np.newaxis] == ["a", "b"])
    intervals = [
        ConformalRegressor(base, cv="prefit", **KNOWN)
        .fit(X, y, sensitive_features=groups)
        .predict_interval(X, sensitive_features=groups)
        for groups in (labels, columns)
    ]
    np.testing.assert_allclose(*intervals, atol=1e-5)


def test_each_group_of_the_calibration_samples_is_covered_at_the_level():
    X, y, members = draw()
    base = LinearRegression().fit(*draw(seed=1)[:2])
    groups = sparse.csr_array(members)
    model = ConformalRegressor(base, cv="prefit", **KNOWN).fit(X, y, sensitive_features=groups)
    low, high = model.predict_interval(X, sensitive_features=groups).T
    covered = (low <= y) & (y <= high)
    rates = np.array([covered[column].mean() for column in members.T])
    # Each threshold allows for its own sample: at least the level, by the samples on the planes.
    assert (rates >= 0.9).all()
    assert (rates <= 0.9 + 10 / members.sum(axis=0)).all()


@pytest.mark.slow
def test_new_samples_are_covered_on_average():
    """Means over draws are within four standard errors of the level and its upper limit."""
    shares = np.array([0.3, 0.5, 0.4])
    rates = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        members = rng.random((700, 3)) < shares
        scores = rng.exponential(size=700) * (1.0 + members @ [3.0, 1.0, 0.0])
        one = OverlappingThresholds.fit(scores[:200], members[:200], 0.9)
        covered = scores[200:] <= one.find(members[200:])
        rates.append([covered[column].mean() for column in members[200:].T])
    mean, error = np.mean(rates, axis=0), np.std(rates, axis=0) / np.sqrt(60)
    assert (mean >= 0.9 - 4 * error).all()
    assert (mean <= 0.9 + 4 / (201 * shares) + 4 * error).all()


@pytest.fixture(scope="module")
def tables():
    X, y, members = draw()
    age = np.where(members[:, 1], "old", np.where(members[:, 2], "middle", "young"))
    table = pd.DataFrame({"sex": np.where(members[:, 0], "f", "m"), "age": age})
    return X, y, table


def test_each_attribute_has_its_groups(tables):
    X, y, table = tables
    model = ConformalRegressor(LinearRegression(), attributes="each", **KNOWN)
    model.fit(X, y, sensitive_features=table)
    names = [("sex", "f"), ("sex", "m"), ("age", "middle"), ("age", "old"), ("age", "young")]
    assert model.coverage_report_["group"].tolist() == names == model.groups_.names
    assert model.coverage_report_["coverage"].between(0.88, 0.93).all()
    assert model.rule_coef_.shape == (1, 5)
    reordered = table[["age", "sex"]]
    intervals = model.predict_interval(X, sensitive_features=table)
    np.testing.assert_array_equal(
        intervals, model.predict_interval(X, sensitive_features=reordered)
    )
    stored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(intervals, stored.predict_interval(X, sensitive_features=table))


@pytest.mark.slow
def test_groups_of_each_attribute_need_not_be_known(tables):
    X, y, table = tables
    model = ConformalRegressor(LinearRegression(), attributes="each")
    with pytest.warns(UserWarning, match="X reveals the group"):
        model.fit(X, y, sensitive_features=table)
    assert len(model.coverage_report_) == 5
    assert model.predict_interval(X).shape == (900, 2)


@pytest.mark.slow
@pytest.mark.parametrize("per_class", [False, True])
def test_sets_of_classes_cover_each_group(tables, per_class):
    X, y, table = tables
    classes = np.digitize(y, [-1.0, 1.5])
    base = LogisticRegression().fit(X, classes)
    model = ConformalClassifier(
        base, 0.8, cv="prefit", attributes="each", per_class=per_class, **KNOWN
    ).fit(X, classes, sensitive_features=table)
    covered = model.predict_set(X, sensitive_features=table)[np.arange(len(y)), classes]
    for attribute in table:
        rates = pd.Series(covered).groupby([classes * per_class, table[attribute]]).mean()
        assert (rates >= 0.8).all()


def test_unknown_values_have_no_column(tables):
    X, y, table = tables
    model = ConformalRegressor(
        LinearRegression(), attributes="each", handle_unknown="overall", **KNOWN
    ).fit(X, y, sensitive_features=table)
    new = table.assign(age="ageless")
    with pytest.warns(UserWarning, match="groups of attribute 'age' not seen at fit: 'ageless'"):
        new_widths = np.diff(model.predict_interval(X, sensitive_features=new)).ravel()
    widths = np.diff(model.predict_interval(X, sensitive_features=table)).ravel()
    # Between those of the known values.
    for sex in ("f", "m"):
        known = widths[table["sex"] == sex]
        assert known.min() < new_widths[table["sex"] == sex][0] < known.max()
    with pytest.raises(ValueError, match="not seen at fit"):
        model.set_params(handle_unknown="error").predict_interval(X, sensitive_features=new)


def test_a_group_that_is_too_small_has_unbounded_intervals():
    X, y, members = draw()
    members[:, 3] = np.arange(len(y)) < 5
    groups = sparse.csr_array(members)
    base = LinearRegression().fit(X, y)
    model = ConformalRegressor(base, cv="prefit", **KNOWN)
    with pytest.warns(UserWarning, match=r"Groups 3 \(5 samples\) have fewer than the 9 samples"):
        model.fit(X, y, sensitive_features=groups)
    width = np.diff(model.predict_interval(X, sensitive_features=groups)).ravel()
    np.testing.assert_array_equal(np.isinf(width), members[:, 3])


@pytest.mark.parametrize(
    ("params", "passed", "message"),
    [
        ({"confidence_level": 0.9}, {}, "but got confidence_level=0.9. Leave it out"),
        ({}, {"sample_weight": np.arange(900) % 3 + 1.0}, "got different sample_weight"),
        ({}, {"groups": np.arange(900) // 2}, r"got fit\(..., groups=\)"),
        ({"attributes": "each"}, {}, "whose columns are groups already"),
    ],
)
def test_what_has_no_theorem_is_refused(params, passed, message):
    X, y, members = draw()
    model = ConformalRegressor(LinearRegression(), **KNOWN | params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sensitive_features=sparse.csr_array(members), **passed)


def test_predictions_need_the_columns_of_the_fit():
    X, y, members = draw()
    groups = sparse.csr_array(members)
    model = ConformalRegressor(LinearRegression(), **KNOWN).fit(X, y, sensitive_features=groups)
    with pytest.raises(MissingSensitiveFeaturesError, match="pass sensitive_features"):
        model.predict_interval(X)
    with pytest.raises(ValueError, match="sparse matrix of booleans with 4 columns"):
        model.predict_interval(X, sensitive_features=groups[:, :2])
