"""Enforcement among very many people: rehearsed by some, and the same to the bit on all cores."""

from functools import partial

import numpy as np
import pytest

from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import CONSTRAINTS, BoundedGroupLoss, EqualizedOdds
from skfair.enforcement import _counts
from skfair.enforcement._stops import between, place_stops
from skfair.metrics import METRICS
from skfair.partitions import blocks
from skfair.problems import PartitionedProblem
from skfair.regression import ConstrainedERMRegressor
from skfair.training import _partitioned
from tests.enforcement.test_enforcement import draw as draw_few
from tests.enforcement.test_enforcement import make_task

N_PEOPLE = 6000


def draw(n_groups=2, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=N_PEOPLE)
    X = rng.normal(size=(N_PEOPLE, 3)) + 0.6 * groups[:, np.newaxis]
    y = X @ [1.0, -0.5, 0.3] + 0.4 * groups + rng.logistic(size=N_PEOPLE) > 0.8
    return X, y.astype(int), groups


@pytest.fixture
def many(monkeypatch):
    """Six thousand people are very many, and lie in a dozen parts."""
    monkeypatch.setattr(_partitioned, "_MANY", 5000)
    monkeypatch.setattr(_partitioned, "_REHEARSED", 1500)
    monkeypatch.setattr(_partitioned, "blocks", partial(blocks, size=512))


def fitted(constraint, n_groups=2, **settings):
    X, y, groups = draw(n_groups)
    model = ConstrainedERMClassifier(constraint, tolerance=0.03, **settings)
    return model.fit(X, y, sensitive_features=groups)


@pytest.mark.covering(1)
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize(
    "constraint", ["demographic_parity", "equal_opportunity", "equalized_odds", "error_rate_parity"]
)
def test_decisions_keep_the_tolerance_and_err_little_more_than_in_one_piece(
    constraint, n_groups, many
):
    X, y, groups = draw(n_groups)
    model = fitted(constraint, n_groups)
    metric = METRICS[CONSTRAINTS[constraint].metric]
    gap = metric(y, model.predict(X), sensitive_features=groups)
    assert gap <= 0.03 and model.constraint_violation_ == 0.0
    assert model.constraint_report_["gap"].iat[0] == pytest.approx(gap, abs=1e-12)
    _partitioned._MANY = N_PEOPLE  # the fixture puts it back
    assert model.score(X, y) >= fitted(constraint, n_groups).score(X, y) - 0.004


@pytest.mark.parametrize("constraint", ["demographic_parity", "equalized_odds"])
def test_any_number_of_threads_gives_the_same_bits(constraint, many):
    one, two = (fitted(constraint, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert np.array_equal(one.coef_, two.coef_) and one.intercept_ == two.intercept_
    assert one.objective_ == two.objective_
    assert one.constraint_report_.equals(two.constraint_report_)


@pytest.mark.parametrize(
    "constraint", [None, "loss_parity", [EqualizedOdds(), BoundedGroupLoss(0.9)]]
)
def test_smooth_fits_are_those_in_one_piece(constraint, many):
    settings = {"enforcement": None, "tol": 1e-10}
    parts = fitted(constraint, **settings)
    _partitioned._MANY = N_PEOPLE
    whole = fitted(constraint, **settings)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-7)
    np.testing.assert_allclose(parts.multipliers_, whole.multipliers_, atol=1e-6)
    assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-10)


def test_means_of_predictions_are_kept_in_parts_too(many):
    X, _, groups = draw()
    y = X.sum(axis=1)
    parts = ConstrainedERMRegressor(n_jobs=2).fit(X, y, sensitive_features=groups)
    _partitioned._MANY = N_PEOPLE
    whole = ConstrainedERMRegressor().fit(X, y, sensitive_features=groups)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-5)


def test_a_plain_fit_that_keeps_the_bound_is_taken(many):
    X, y, groups = draw()
    loose = ConstrainedERMClassifier(tolerance=0.9).fit(X, y, sensitive_features=groups)
    plain = ConstrainedERMClassifier(None).fit(X, y)
    np.testing.assert_allclose(loose.coef_, plain.coef_, rtol=1e-5)
    assert loose.status_ == "optimal" and not loose.multipliers_.any()


def test_weights_count_as_people_do(many):
    X, y, groups = draw()
    weights = np.random.default_rng(1).integers(1, 3, size=N_PEOPLE).astype(float)
    model = ConstrainedERMClassifier().fit(X, y, sensitive_features=groups, sample_weight=weights)
    gap = METRICS["demographic_parity_difference"](
        y, model.predict(X), sensitive_features=groups, sample_weight=weights
    )
    assert gap <= 0.02


@pytest.mark.parametrize(
    "settings", [{"group_interactions": True}, {"confidence_level": 0.6}, {"enforcement": "path"}]
)
def test_what_is_no_sum_over_parts_is_fitted_in_one_piece(settings, many, monkeypatch):
    monkeypatch.delattr(PartitionedProblem, "of")  # is not asked for
    assert fitted("demographic_parity", **settings).constraint_violation_ == 0.0


def test_flips_along_a_line_are_those_of_brute_force():
    task = make_task(*draw_few(3, n_samples=300), [EqualizedOdds()])
    part, rng = task.problem, np.random.default_rng(0)
    start, direction = rng.normal(size=(2, part.n_parameters))
    errors, (means,), (negative,) = _counts.flips(
        part, start, direction[np.newaxis], np.array([0.25])
    )
    low, high = place_stops(0.25, _counts.N_TURNS)
    for stop in range(0, _counts.N_TURNS + 1, 64):
        at = start + between(low[stop], high[stop]) * direction
        wrong, _, _, (expected,) = _counts.decide(part, at[np.newaxis])
        assert errors[0, : stop + 1].sum() == pytest.approx(wrong[0])
        np.testing.assert_allclose(negative + means[0, :, : stop + 1].sum(axis=1), expected[0])
