"""Input validation of ConstrainedERMClassifier, and fits to unusual data."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skfair._problems.model import MAX_DOUBLED
from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import (
    Constraint,
    DemographicParity,
    EqualizedOdds,
    LossParity,
    check_constraint,
)
from skfair.exceptions import MissingSensitiveFeaturesWarning
from skfair.losses import Pointwise
from skfair.metrics import demographic_parity_difference, equalized_odds_difference
from skfair.solvers import SQP

ROUNDING = 1e-12


def model(constraint="demographic_parity", **params):
    return ConstrainedERMClassifier(constraint, **{"tolerance": 0.02} | params)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=300)
    y = (rng.normal(size=300) + 0.8 * groups > 0.4).astype(int)
    return rng.normal(size=(300, 3)) + np.column_stack((groups, y, 0 * y)), y, groups


def keeps_tolerance(fitted, X, y, groups, tolerance=0.02):
    decisions = fitted.predict(X)
    gap = demographic_parity_difference(y, decisions, sensitive_features=groups)
    return gap <= tolerance + ROUNDING and fitted.constraint_violation_ == 0.0


# Features -----------------------------------------------------------------------------


@pytest.mark.slow
def test_storage_does_not_matter(data, tmp_path):
    X, y, groups = (column[:100] for column in data)
    X = np.where(np.abs(X) < 1, 0.0, np.round(X * 4) / 4)  # exact in float32
    expected = model().fit(X, y, sensitive_features=groups)
    np.save(tmp_path / "X.npy", X)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    kinds = [
        np.asfortranarray(X),
        X.astype(np.float32),
        X.tolist(),
        np.load(tmp_path / "X.npy", mmap_mode="r"),
        sparse.csr_array(X),
        sparse.csr_matrix(X),
        sparse.csc_array(X),
        sparse.coo_matrix(X),
        wide,
        pd.DataFrame(X).convert_dtypes(),
    ]
    for rows in kinds:
        fitted = model().fit(rows, y, sensitive_features=groups)
        np.testing.assert_allclose(fitted.coef_, expected.coef_, atol=1e-6)
        np.testing.assert_array_equal(fitted.predict(rows), expected.predict(X))
        assert keeps_tolerance(fitted, rows, y, groups)


@pytest.mark.slow
@pytest.mark.parametrize("mean", [0.0, 1e4])
def test_float32_features_of_very_many_samples_stay_as_they_are(mean):
    rng = np.random.default_rng(0)
    n_samples = MAX_DOUBLED + 1
    groups = rng.integers(2, size=n_samples)
    X = rng.normal(size=(n_samples, 20))
    X[:, 0] += groups
    X[:, 1] += mean  # the larger one is subtracted, in double precision
    y = X[:, 0] + rng.logistic(size=n_samples) > 0
    X = X.astype(np.float32)
    double = model().fit(X.astype(np.float64), y, sensitive_features=groups)
    model().fit(X, y, sensitive_features=groups)  # compiles, which takes memory
    tracemalloc.start()
    single = model().fit(X, y, sensitive_features=groups)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(single.predict(X), single.predict(X.astype(np.float64)))
    assert keeps_tolerance(single, X, y, groups)
    assert peak < X.nbytes + 80 * n_samples or mean > 0.0
    X[5, 3] = np.inf
    with pytest.raises(ValueError, match="X contains infinity"):
        model().fit(X, y, sensitive_features=groups)


def test_the_scale_of_columns_does_not_matter(data):
    X, y, groups = data
    expected = model(alpha=0.0).fit(X, y, sensitive_features=groups)
    scale = np.array([1e-6, 1.0, 1e6])
    scaled = model(alpha=0.0).fit(X * scale, y, sensitive_features=groups)
    np.testing.assert_allclose(scaled.coef_ * scale, expected.coef_, rtol=1e-4, atol=1e-5)
    assert keeps_tolerance(scaled, X * scale, y, groups)


def test_columns_far_from_0_keep_their_digits(data):
    X, y, groups = data
    far = X + [1e9, 0, -1e6]
    fitted = model().fit(far, y, sensitive_features=groups)
    near = model().fit(X, y, sensitive_features=groups)
    np.testing.assert_allclose(fitted.coef_, near.coef_, rtol=1e-4)
    assert keeps_tolerance(fitted, far, y, groups)


@pytest.mark.parametrize("seed", range(3))
def test_few_samples_with_an_intercept_per_group_keep_the_tolerance(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(2, size=300)
    X = rng.normal(size=(300, 3)) + 0.5 * groups[:, np.newaxis]
    y = (X.sum(axis=1) + rng.logistic(size=300) > 1).astype(int)
    model = ConstrainedERMClassifier(tolerance=0.05, group_interactions="intercept")
    model.fit(X, y, sensitive_features=groups)
    decided = model.predict(X, sensitive_features=groups)
    assert demographic_parity_difference(y, decided, sensitive_features=groups) <= 0.05


# The solver may not reach its own tolerance with so few digits.
@pytest.mark.filterwarnings("ignore:SQP stopped after:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("group_interactions", [False, "intercept", True])
def test_the_tolerance_holds_for_rounded_predictions(group_interactions):
    """At 1e13 deviations from 0 products have three digits left, and these decide."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        groups = rng.integers(0, 2, 600)
        X = rng.normal(size=(600, 3)) + 0.5 * groups[:, np.newaxis]
        y = (X.sum(axis=1) + rng.logistic(size=600) > 0.5).astype(int)
        X = 1e3 * X + 1e16
        fitted = ConstrainedERMClassifier(tolerance=0.03, group_interactions=group_interactions)
        decisions = fitted.fit(X, y, sensitive_features=groups).predict(
            X, sensitive_features=groups
        )
        rates = [decisions[groups == g].mean() for g in (0, 1)]
        assert fitted.constraint_violation_ == 0.0
        assert abs(rates[0] - rates[1]) <= 0.03
        assert fitted.constraint_report_["estimate"].tolist() == pytest.approx(rates, abs=1e-12)


def test_constant_and_repeated_columns_add_no_information(data):
    X, y, groups = data
    more = np.column_stack((X, np.full(len(X), 7.0), np.zeros(len(X)), X[:, 0]))
    fitted = model().fit(more, y, sensitive_features=groups)
    assert keeps_tolerance(fitted, more, y, groups)
    np.testing.assert_allclose(fitted.coef_[0, 3:5], 0.0, atol=1e-6)
    assert fitted.coef_[0, 5] == pytest.approx(fitted.coef_[0, 0], rel=1e-3)


def test_searches_move_coefficients_of_repeated_columns_together():
    rng = np.random.default_rng(6)
    groups = rng.integers(2, size=300)
    y = (rng.normal(size=300) + 0.8 * groups > 0.4).astype(int)
    X = rng.normal(size=(300, 3)) + np.column_stack((groups, y, 0 * y))
    more = np.column_stack((X, np.full(len(X), 7.0), np.zeros(len(X)), X[:, 0]))
    coef = model().fit(more, y, sensitive_features=groups).coef_[0]
    assert coef[5] == pytest.approx(coef[0], rel=1e-3)


def test_constant_columns_alone_give_constant_decisions(data):
    _, y, groups = data
    X = np.ones((len(y), 2))
    fitted = model().fit(X, y, sensitive_features=groups)
    assert len(set(fitted.predict(X))) == 1
    assert fitted.score(X, y) == max(y.mean(), 1 - y.mean())


@pytest.mark.parametrize("alpha", [0.0, 1e-6, 1e-4])
def test_separable_classes(alpha):
    x = np.r_[np.linspace(-3, -1, 20), np.linspace(1, 3, 20)]
    y = (x > 0).astype(int)
    groups = np.r_[np.zeros(15), np.ones(25)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model(alpha=alpha, tolerance=0.1, solver=SQP(max_iter=20))
        fitted.fit(x[:, None], y, sensitive_features=groups)
    assert np.isfinite(fitted.coef_).all()
    assert keeps_tolerance(fitted, x[:, None], y, groups, tolerance=0.1)


# Groups and classes -------------------------------------------------------------------


def test_tolerance_0_gives_equal_counts(data):
    X, y, groups = data
    rows = np.r_[np.flatnonzero(groups == 0)[:100], np.flatnonzero(groups == 1)[:100]]
    X = X[rows]
    y = y[rows]
    groups = groups[rows]
    fitted = model(tolerance=0.0).fit(X, y, sensitive_features=groups)
    counts = [fitted.predict(X)[groups == g].sum() for g in (0, 1)]
    assert counts[0] == counts[1] > 0


def test_tolerance_0_between_groups_of_coprime_sizes_leaves_constant_decisions(data):
    X, y, groups = data
    rows = np.r_[np.flatnonzero(groups == 0)[:101], np.flatnonzero(groups == 1)[:100]]
    with pytest.warns(UserWarning, match="Every training sample is given the class"):
        fitted = model(tolerance=0.0).fit(X[rows], y[rows], sensitive_features=groups[rows])
    assert len(set(fitted.predict(X[rows]))) == 1
    assert fitted.constraint_violation_ == 0.0


def test_groups_of_one_sample_count_unless_min_group_size_excludes_them(data):
    X, y, groups = data
    names = np.array(["a", "b"])[groups].astype(object)
    names[:2] = ["c", "d"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model(DemographicParity(min_group_size=1)).fit(X, y, sensitive_features=names)
    # A group of one has a rate of 0 or 1, and all rates must be near it.
    assert not 0.02 < fitted.predict(X).mean() < 0.98
    assert fitted.constraint_violation_ == 0.0
    with pytest.warns(UserWarning, match=r"2 group\(s\) .*'c' \(1\), 'd' \(1\)"):
        fitted = model(DemographicParity(min_group_size=2)).fit(X, y, sensitive_features=names)
    assert len(set(fitted.predict(X))) == 2
    assert keeps_tolerance(fitted, X[2:], y[2:], names[2:])


def test_empty_cells_are_left_out_by_name(data):
    X, y, groups = data
    rows = (groups == 0) | (y == 0)
    with pytest.warns(UserWarning, match="no positives of group 1"):
        fitted = model("equalized_odds").fit(X[rows], y[rows], sensitive_features=groups[rows])
    assert fitted.constraint_violation_ == 0.0
    report = fitted.constraint_report_
    cells = set(zip(report["event"], report["group"], strict=True))
    assert cells == {("positives", 0), ("negatives", 0), ("negatives", 1)}


def test_overlapping_groups(data):
    X, y, groups = data
    members = np.column_stack((groups == 0, groups == 1, X[:, 2] > 0, np.ones(len(y), bool)))
    fitted = model().fit(X, y, sensitive_features=sparse.csr_array(members))
    decisions = fitted.predict(X)
    rates = [decisions[inside].mean() for inside in members.T]
    assert max(rates) - min(rates) <= 0.02 + ROUNDING
    assert fitted.constraint_report_["n"].tolist() == members.sum(axis=0).tolist()


def test_missing_groups_are_warned_of(data):
    X, y, _ = data
    with pytest.warns(MissingSensitiveFeaturesWarning, match="unconstrained"):
        fitted = model().fit(X, y)
    assert fitted.groups_.counts == [300]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(None).fit(X, y)


def test_clusters_passed_as_groups_are_said_not_to_be_compared(data):
    X, y, groups = data
    with pytest.warns(MissingSensitiveFeaturesWarning, match="clusters .* not compared"):
        fitted = model().fit(X, y, groups=groups)
    assert fitted.groups_.counts == [300]


def test_one_class_and_three_are_refused(data):
    X, y, groups = data
    with pytest.raises(ValueError, match="at least 2 classes"):
        model().fit(X, np.zeros(300), sensitive_features=groups)
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        model().fit(X, np.arange(300) % 3, sensitive_features=groups)


@pytest.mark.filterwarnings("ignore:X reveals the group")
def test_decisions_without_an_intercept_keep_the_tolerance(data):
    X, y, groups = data
    fitted = model(fit_intercept=False).fit(X, y, sensitive_features=groups)
    assert keeps_tolerance(fitted, X, y, groups)
    assert fitted.intercept_[0] == 0.0
    # The only feature selects one of the groups, and coefficients of 0 select no sample.
    X = np.where(groups == 1, 1.0, -1.0)[:, None]
    with pytest.warns(UserWarning, match="Every training sample is given the class 0"):
        constant = model(fit_intercept=False).fit(X, groups, sensitive_features=groups)
    assert constant.status_ == "feasible"
    assert constant.constraint_violation_ == 0.0
    smooth = model(fit_intercept=False, enforcement=None).fit(X, groups, sensitive_features=groups)
    assert smooth.constraint_violation_ == pytest.approx(0.98)


# Parameters ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"constraint": "parity"}, "'constraint' parameter .*'equalized_odds'"),
        ({"constraint": ["parity"]}, r"must be one of \['demographic_parity'.*got 'parity'"),
        ({"constraint": DemographicParity}, "'constraint' parameter"),
        ({"constraint": DemographicParity(tolerance=-1)}, "'tolerance' parameter of Demographic"),
        ({"constraint": EqualizedOdds(aggregate="most")}, "'aggregate' parameter .*'sum'"),
        ({"tolerance": -0.1}, "'tolerance' parameter"),
        ({"enforcement": "maybe"}, "'enforcement' parameter .*'auto'"),
        ({"enforcement": "force"}, "'enforcement' parameter .*'auto'"),
        ({"loss": "log"}, "'loss' parameter .*'logistic'"),
        ({"solver": "newton"}, "'solver' parameter .*'plada'.*'sqp'|'solver' .*'sqp'.*'plada'"),
        ({"alpha": -1}, "'alpha' parameter"),
        ({"solver": SQP(max_iter=0)}, "'max_iter' parameter"),
        ({"solver": SQP(tol=-1.0)}, "'tol' parameter"),
        ({"class_weight": "even"}, "'class_weight' parameter"),
        ({"fit_intercept": 2}, "'fit_intercept' parameter"),
    ],
)
def test_the_error_about_a_bad_parameter_lists_the_valid_values(params, message, data):
    X, y, groups = data
    with pytest.raises(ValueError, match=message):
        ConstrainedERMClassifier(**params).fit(X, y, sensitive_features=groups)


def test_the_error_about_a_loss_that_returns_its_mean_names_the_remedy(data):
    X, y, groups = data

    def mean_loss(scores, target):
        return np.logaddexp(0, -target * scores).mean()

    with pytest.raises(ValueError, match=r"The loss must return .* it returned .* type float64"):
        model(loss=mean_loss).fit(X, y, sensitive_features=groups)
    with pytest.raises(ValueError, match="The rate of LossParity must return one value"):
        model(LossParity(loss=mean_loss)).fit(X, y, sensitive_features=groups)


def test_a_wrong_derivative_fails_the_check_and_is_warned_of(data):
    class Wrong(Constraint):
        def cells(self, samples):
            return {"all": np.ones(len(samples.target), dtype=bool)}

        def terms(self, surrogate, loss):
            def backwards(scores, target):
                value, slope, curvature = surrogate(scores)
                return Pointwise(value, -slope, curvature)

            return (backwards,)

    with pytest.raises(ValueError, match="slope of a term of .* is wrong"):
        check_constraint(Wrong())
    X, y, groups = data
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = model(Wrong(), solver=SQP(max_iter=20)).fit(X, y, sensitive_features=groups)
    assert fitted.status_ != "optimal"
    assert caught
    gap = demographic_parity_difference(y, fitted.predict(X), sensitive_features=groups)
    assert fitted.constraint_violation_ == pytest.approx(max(0.0, gap - 0.02))


def test_equalized_odds_of_eight_samples():
    rng = np.random.default_rng(0)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(8, 2))
        y = np.tile([0, 1], 4)
        groups = np.repeat([0, 1], 4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = model("equalized_odds").fit(X, y, sensitive_features=groups)
        gap = equalized_odds_difference(y, fitted.predict(X), sensitive_features=groups)
        assert gap <= 0.02 + ROUNDING
