"""Enforcement on partitioned samples: tolerances are kept, equal bits on any number of threads."""

from functools import partial

import numpy as np
import pytest

from skfair._fitting import counting, input
from skfair._fitting.counting import LineStart
from skfair._fitting.fitter import Fitter
from skfair._partitions.partitions import SUBSAMPLE_SIZES, blocks, make_partitions
from skfair._problems import problem as problem_module
from skfair._problems.partitioned import PartitionedProblem
from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.constraints import CONSTRAINTS, BoundedGroupLoss, EqualizedOdds, FalsePositiveRateParity
from skfair.metrics import METRICS
from skfair.regression import ConstrainedERMRegressor
from skfair.solvers import SQP
from tests.fitting.test_enforce import draw as draw_few
from tests.fitting.test_enforce import make_fitter

N_SAMPLES = 6000


def draw(n_groups=2, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=N_SAMPLES)
    X = rng.normal(size=(N_SAMPLES, 3)) + 0.6 * groups[:, np.newaxis]
    y = X @ [1.0, -0.5, 0.3] + 0.4 * groups + rng.logistic(size=N_SAMPLES) > 0.8
    return X, y.astype(int), groups


@pytest.fixture
def partitioned_fits(monkeypatch):
    """Divide six thousand samples into a dozen blocks."""
    monkeypatch.setattr(problem_module, "MAX_WITHOUT_SUBSAMPLE", 5000)
    monkeypatch.setitem(SUBSAMPLE_SIZES, "linear, blocks", 1500)
    monkeypatch.setattr(input, "blocks", partial(blocks, size=512))


def fit_model(constraint, n_groups=2, **settings):
    X, y, groups = draw(n_groups)
    model = ConstrainedERMClassifier(
        constraint, tolerance=0.03 if isinstance(constraint, str) else None, **settings
    )
    return model.fit(X, y, sensitive_features=groups)


@pytest.mark.covering(1)
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize(
    "constraint", ["demographic_parity", "equal_opportunity", "equalized_odds", "error_rate_parity"]
)
def test_decisions_keep_the_tolerance_with_nearly_the_errors_of_one_block(
    constraint, n_groups, partitioned_fits
):
    X, y, groups = draw(n_groups)
    model = fit_model(constraint, n_groups)
    metric = METRICS[CONSTRAINTS[constraint]().metric]
    gap = metric(y, model.predict(X), sensitive_features=groups)
    assert gap <= 0.03 and model.constraint_violation_ == 0.0
    assert model.constraint_report_["gap"].iat[0] == pytest.approx(gap, abs=1e-12)
    problem_module.MAX_WITHOUT_SUBSAMPLE = N_SAMPLES  # the fixture puts it back
    assert model.score(X, y) >= fit_model(constraint, n_groups).score(X, y) - 0.004


@pytest.mark.parametrize("make", [EqualizedOdds, FalsePositiveRateParity])
def test_decisions_keep_a_ratio(make, partitioned_fits):
    X, y, groups = draw(3)
    parity = make(ratio=0.8)
    model = fit_model(parity, 3)
    ratio = METRICS[parity.ratio_metric](y, model.predict(X), sensitive_features=groups)
    assert ratio >= 0.8 and model.constraint_violation_ == 0.0
    assert model.constraint_report_["gap"].iat[0] == pytest.approx(ratio, abs=1e-12)
    problem_module.MAX_WITHOUT_SUBSAMPLE = N_SAMPLES  # the fixture puts it back
    assert model.score(X, y) >= fit_model(parity, 3).score(X, y) - 0.01


@pytest.mark.parametrize("constraint", ["demographic_parity", "equalized_odds"])
def test_any_number_of_threads_gives_the_same_bits(constraint, partitioned_fits):
    one, two = (fit_model(constraint, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert np.array_equal(one.coef_, two.coef_) and one.intercept_ == two.intercept_
    assert one.objective_ == two.objective_
    assert one.constraint_report_.equals(two.constraint_report_)


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_percentiles(partitioned_fits):
    X, y, groups = draw()
    one, two = (
        PartialParityClassifier(interval=(0.1, 0.4), n_jobs=n_jobs).fit(
            X, y, sensitive_features=groups
        )
        for n_jobs in (1, 2)
    )
    assert np.array_equal(one.coef_, two.coef_) and one.intercept_ == two.intercept_
    assert one.objective_ == two.objective_
    assert np.array_equal(one.thresholds_, two.thresholds_)


@pytest.mark.parametrize(
    "constraint", [None, "loss_parity", [EqualizedOdds(), BoundedGroupLoss(0.9)]]
)
def test_smooth_fits_are_those_of_one_block(constraint, partitioned_fits):
    settings = {"enforcement": None, "solver": SQP(tol=1e-10)}
    partitioned = fit_model(constraint, **settings)
    problem_module.MAX_WITHOUT_SUBSAMPLE = N_SAMPLES
    one_block = fit_model(constraint, **settings)
    np.testing.assert_allclose(partitioned.coef_, one_block.coef_, rtol=1e-7)
    np.testing.assert_allclose(partitioned.multipliers_, one_block.multipliers_, atol=1e-6)
    assert partitioned.objective_ == pytest.approx(one_block.objective_, rel=1e-10)


def test_mean_parity_on_partitions(partitioned_fits):
    X, _, groups = draw()
    y = X.sum(axis=1)
    partitioned = ConstrainedERMRegressor(n_jobs=2).fit(X, y, sensitive_features=groups)
    problem_module.MAX_WITHOUT_SUBSAMPLE = N_SAMPLES
    one_block = ConstrainedERMRegressor().fit(X, y, sensitive_features=groups)
    np.testing.assert_allclose(partitioned.coef_, one_block.coef_, rtol=1e-5)


def test_a_plain_fit_within_the_tolerance_is_returned(partitioned_fits):
    X, y, groups = draw()
    loose = ConstrainedERMClassifier(tolerance=0.9).fit(X, y, sensitive_features=groups)
    plain = ConstrainedERMClassifier(None).fit(X, y)
    np.testing.assert_allclose(loose.coef_, plain.coef_, rtol=1e-5)
    assert loose.status_ == "optimal" and not loose.multipliers_.any()


def test_weighted_decisions_keep_the_tolerance(partitioned_fits):
    X, y, groups = draw()
    weights = np.random.default_rng(1).integers(1, 3, size=N_SAMPLES).astype(float)
    model = ConstrainedERMClassifier(tolerance=0.02)
    model.fit(X, y, sensitive_features=groups, sample_weight=weights)
    gap = METRICS["demographic_parity_difference"](
        y, model.predict(X), sensitive_features=groups, sample_weight=weights
    )
    assert gap <= 0.02


@pytest.mark.parametrize("settings", [{"group_interactions": True}, {"confidence_level": 0.6}])
def test_settings_that_are_no_sum_over_samples_are_fitted_as_one_block(
    settings, partitioned_fits, monkeypatch
):
    monkeypatch.delattr(PartitionedProblem, "from_problem")  # not called
    assert fit_model("demographic_parity", **settings).constraint_violation_ == 0.0


def test_flips_along_a_line_are_those_of_brute_force():
    fitter = make_fitter(*draw_few(3, n_samples=300), [EqualizedOdds()])
    block = fitter.problem
    rng = np.random.default_rng(0)
    start, direction = rng.normal(size=(2, block.n_parameters))
    errors, (means,), (negative,) = counting.count_along_lines(
        block, start, direction[np.newaxis], np.array([0.25])
    )
    lengths = counting.round_midpoints(*counting.intervals_around_edges(0.25, counting.N_BINS))
    (constraint,) = block.constraint
    for number in range(0, counting.N_BINS + 1, 64):
        scores = block.predict_scores(start + lengths[number] * direction)
        wrong = block.mean_weights @ ((scores > 0) != (block.target > 0))
        assert errors[0, : number + 1].sum() == pytest.approx(wrong)
        values = negative + means[0, :, : number + 1].sum(axis=1)
        np.testing.assert_allclose(values, constraint.sums.exact_means(scores))


@pytest.mark.parametrize("spec", [EqualizedOdds(), BoundedGroupLoss(0.9)])
def test_counts_of_partitions_are_those_in_memory(spec):
    problem = make_fitter(*draw_few(3, n_samples=300), [spec]).problem
    rng = np.random.default_rng(0)
    partitions = make_partitions(
        [problem.contribution(rows) for rows in blocks(len(problem.target), 50)]
    )
    partitioned = PartitionedProblem.from_problem(problem, partitions, problem)
    points = rng.normal(size=(3, problem.n_parameters))
    counters = [Fitter(one, None, SQP()).counter for one in (problem, partitioned)]
    for expected, counts in zip(*(one.measure_models(points) for one in counters), strict=True):
        assert counts[1] == pytest.approx(expected[1])
        np.testing.assert_allclose(counts[2], expected[2], atol=1e-12)
        np.testing.assert_array_equal(counts[4], expected[4])
    offsets = [one.correct(problem.constraint, points[0])[0].offset for one in counters]
    np.testing.assert_allclose(*offsets, atol=1e-12)


def test_exact_counts_and_bins_of_a_line_have_the_same_least_error():
    problem = make_fitter(*draw_few(3, n_samples=300), [EqualizedOdds()]).problem
    partitions = make_partitions(
        [problem.contribution(rows) for rows in blocks(len(problem.target), 50)]
    )
    partitioned = PartitionedProblem.from_problem(problem, partitions, problem)
    parameters = np.array([0.5, 1.0, 0.0])
    direction = np.array([0.0, 0.0, 1.0])
    scores = problem.predict_scores(parameters)
    lines = [(direction, np.ones(len(problem.target)))]
    least = []
    for one in (problem, partitioned):
        start = LineStart(parameters, scores, lines, np.inf)
        numbers, lengths, errors, excess = Fitter(one, None, SQP()).counter.evaluate_along_lines(
            problem.model, [start]
        )
        assert len(numbers) == len(lengths) == len(errors) == len(excess)
        least.append(errors[excess <= 0.0].min())
        for length, error in list(zip(lengths, errors, strict=True))[::40]:
            ((_, expected, *_),) = Fitter(problem, None, SQP()).counter.measure_models(
                [parameters + length * direction]
            )
            assert error == pytest.approx(expected)
    assert least[0] == pytest.approx(least[1])
