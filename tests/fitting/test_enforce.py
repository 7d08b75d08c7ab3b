"""From smooth rates to decisions: searches against brute force, and what each loop keeps."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from skfair._bound.bound import ConstraintSystem
from skfair._fitting import counting, linear
from skfair._fitting import enforce as enforce_module
from skfair._fitting.enforce import (
    choose_loop,
    enforce_losses,
    fit_corrections,
    fit_from_starts,
    tighten_tolerances,
)
from skfair._fitting.fitter import (
    FULL,
    SHORT,
    Fitter,
    Slopes,
    _LineSearch,
    limit_iterations,
    search_intercept,
    search_lines,
)
from skfair._groups import check_groups
from skfair._partitions.partitions import SUBSAMPLE_SIZES
from skfair._problems import problem as problem_module
from skfair._problems.linear import LinearModel
from skfair._problems.problem import ConstrainedProblem
from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.constraints import (
    BoundedGroupLoss,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    LossParity,
)
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.solvers import GDA, SQP
from skfair.surrogates import Sigmoid
from tests.network import network_problem

LOSS = LogisticLoss()
SPECS = [DemographicParity(), EqualOpportunity(), EqualizedOdds(), EqualizedOdds(ratio=0.95)]


def make_fitter(X, target, groups, specs, tolerance=0.05, weights=None, fit_intercept=True):
    weights = np.ones(len(target)) if weights is None else weights
    samples = Samples(target, check_groups(groups, len(target)), weights)
    bound = [spec.bind(samples, Sigmoid(), LOSS, tolerance) for spec in specs]
    model = LinearModel.from_features(X, weights, fit_intercept)
    constraint = ConstraintSystem(tuple(bound))
    problem = ConstrainedProblem(model, LOSS, target, weights, 1e-3, constraint)
    return Fitter(problem, np.zeros(model.n_parameters), SQP(tol=1e-6))


def enforce(fitter, effort=FULL):
    return choose_loop(fitter)(fitter, effort)


LOOPS = {
    "full": enforce,
    "short": lambda fitter: enforce(fitter, SHORT),
    # Of decisions, too: those of a subsample are not searched.
    "corrections": lambda fitter: enforce_losses(fitter, FULL),
}


def draw(seed, n_samples=60, n_groups=2, ties=False):
    """Features that depend on the group, and labels that depend on both."""
    rng = np.random.default_rng(seed)
    groups = np.r_[np.arange(n_groups).repeat(2), rng.integers(n_groups, size=n_samples)]
    target = np.where(rng.normal(size=len(groups)) + 0.8 * groups > 0.4, 1.0, -1.0)
    target[: 2 * n_groups] = np.tile([-1.0, 1.0], n_groups)  # no (group, class) is empty
    X = rng.normal(size=(len(groups), 2)) + np.column_stack((groups, target))
    return (np.round(X) if ties else X), target, groups


def best_by_brute_force(fitter, candidate, lengths, direction):
    """Smallest (violation, error) over the points of a line, each of which is evaluated."""
    evaluated = [
        fitter.evaluate(candidate.parameters + t * direction, candidate.result) for t in lengths
    ]
    return min((round(best.violation, 10), best.error) for best in evaluated)


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    spec=st.sampled_from(SPECS),
    tolerance=st.sampled_from([0.0, 0.05, 0.2]),
    ties=st.booleans(),
    weighted=st.booleans(),
)
def test_the_sweep_finds_the_best_of_all_thresholds(seed, spec, tolerance, ties, weighted):
    X, target, groups = draw(seed, n_groups=3, ties=ties)
    weights = np.random.default_rng(seed).uniform(0.1, 2.0, len(X)) if weighted else None
    fitter = make_fitter(X, target, groups, [spec], tolerance, weights)
    parameters = np.append(np.random.default_rng(seed).normal(size=2), 0.3)
    candidate = fitter.evaluate(parameters, fitter.fit_unconstrained().result)
    best = search_intercept(fitter, candidate)
    scores = np.unique(np.round(candidate.scores, 9))
    between = np.r_[scores[0] - 1, (scores[:-1] + scores[1:]) / 2, scores[-1] + 1]
    up = fitter.problem.model.intercept_direction()
    violation, error = best_by_brute_force(fitter, candidate, -between, up)
    assert best.violation == violation == 0.0  # constant decisions keep these constraints
    assert best.error == pytest.approx(error, abs=1e-12)
    np.testing.assert_array_equal(best.parameters[:-1], parameters[:-1])


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), ties=st.booleans())
def test_a_search_along_any_line_finds_its_best_point(seed, ties):
    X, target, groups = draw(seed, ties=ties)
    fitter = make_fitter(X, target, groups, [DemographicParity()])
    rng = np.random.default_rng(seed)
    candidate = fitter.evaluate(rng.normal(size=3), fitter.fit_unconstrained().result)
    direction = rng.normal(size=3)
    slopes = fitter.problem.model.scores(direction)
    flips = np.unique(np.round(-candidate.scores / slopes, 9))
    between = np.r_[flips[0] - 1, (flips[:-1] + flips[1:]) / 2, flips[-1] + 1]
    best = min(
        best_by_brute_force(fitter, candidate, between, direction),
        (round(candidate.violation, 10), candidate.error),
    )
    lines = _LineSearch(fitter, candidate)
    result, _ = next(lines.improve([(candidate, lines.scale([direction]))]), (candidate, None))
    assert (result.violation, result.error) == pytest.approx(best, abs=1e-10)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("seed", range(3))
def test_polish_never_makes_a_candidate_worse(spec, seed):
    fitter = make_fitter(*draw(seed, n_groups=3), [spec])
    for candidate in fit_corrections(fitter, fitter.fit_smooth(), 1):
        swept = search_intercept(fitter, candidate)
        polished = search_lines(fitter, swept)
        assert swept.sort_key <= candidate.sort_key
        assert polished.sort_key <= swept.sort_key
        assert polished.keeps_bound
        assert polished.has_stable_decisions
        # Its attributes are those of its scores.
        excess = fitter.constraint.gaps(polished.scores) - fitter.constraint.tolerances
        assert polished.violation == max(0.0, excess.max())
        np.testing.assert_array_equal(
            polished.scores, fitter.problem.model.scores(polished.parameters)
        )


@pytest.mark.parametrize(
    ("loop", "spec"),
    [
        *product(["full", "short"], SPECS),
        *product(["corrections"], SPECS[:2]),  # they cannot enforce equalized odds
    ],
)
def test_every_loop_keeps_the_tolerance(loop, spec):
    X, target, groups = draw(5, n_samples=600)
    fitter = make_fitter(X, target, groups, [spec], tolerance=0.03)
    assert fitter.fit_unconstrained().violation > 0.05
    best = LOOPS[loop](fitter)
    assert best.keeps_bound
    assert best.has_stable_decisions
    (one,) = fitter.constraint
    assert one.value(best.scores) <= one.tolerance
    assert len(np.unique(best.scores > 0)) == 2
    assert best.error <= 0.33  # constant decisions: 0.5


@pytest.mark.parametrize("loop", LOOPS)
def test_the_plain_fit_is_returned_unchanged_where_it_keeps_the_bound(loop):
    fitter = make_fitter(*draw(0), [DemographicParity()], tolerance=1.0)
    best = LOOPS[loop](fitter)
    unconstrained = fitter.fit_unconstrained()
    np.testing.assert_allclose(best.parameters, unconstrained.parameters, rtol=1e-9)
    assert best.result.status == "optimal"
    assert not best.result.multipliers.any()


def test_the_plain_fit_is_rough_where_it_is_far_from_the_bound():
    far = make_fitter(*draw(0), [DemographicParity()], tolerance=0.0).plain_fit
    assert far.violation > 0.1 and 1e-6 < far.result.residual <= 5e-3
    tolerance = far.violation - 1e-3
    near = make_fitter(*draw(0), [DemographicParity()], tolerance=tolerance).plain_fit
    assert 0.0 < near.violation < 0.05 and near.result.residual <= 1e-6


def test_fits_start_from_a_plain_fit_of_three_digits():
    rough = make_fitter(*draw(0), [DemographicParity()]).fit_unconstrained_roughly()
    assert 1e-6 < rough.result.residual <= 1e-3


def test_the_line_to_a_point_is_not_searched_from_there():
    fitter = make_fitter(*draw(0), [DemographicParity()])
    lines = _LineSearch(fitter, fitter.plain_fit)
    candidate, direction = next(
        lines.improve([(fitter.plain_fit, lines.find_lines(fitter.plain_fit))])
    )
    after = lines.find_lines(candidate, direction)
    assert [line[0] is direction for line in lines.directions[0]].count(True) == 1
    assert not any(line[0] is direction for line in after)


def test_scores_of_0_by_rounding_are_moved_away_from_0():
    # Symmetric samples: the plain fit is 0 everywhere, but for rounding.
    X = np.array([[0.1], [0.2], [0.3]] * 2)
    target = np.repeat([1.0, -1.0], 3)
    groups = np.arange(6) % 2
    fitter = make_fitter(X, target, groups, [DemographicParity()], tolerance=1.0)
    parameters = np.array([1e-17, 0.0])
    unclear = fitter.evaluate(parameters, fitter.fit_unconstrained().result)
    assert unclear.keeps_bound
    assert not unclear.has_stable_decisions
    best = search_intercept(fitter, unclear)
    assert best.has_stable_decisions
    assert np.abs(best.scores).min() > 1e-9
    # An exact 0 is a decision like any other, and so is anything that no constraint counts.
    assert fitter.evaluate(np.zeros(2), unclear.result).has_stable_decisions
    losses = make_fitter(X, target, groups, [LossParity()])
    assert losses.evaluate(parameters, unclear.result).has_stable_decisions


def test_a_row_of_zeros_without_an_intercept_is_searched():
    X, target, groups = draw(3, n_samples=200)
    X[7] = 0.0
    fitter = make_fitter(X, target, groups, [DemographicParity()], fit_intercept=False)
    first = fitter.fit_unconstrained()
    assert search_intercept(fitter, first) is first
    assert search_lines(fitter, first).sort_key < first.sort_key


def test_candidates_are_ranked_by_violation_then_rounding_then_error():
    fitter = make_fitter(*draw(0), [DemographicParity()])
    one = fitter.fit_unconstrained()._replace(violation=0.0, has_stable_decisions=True, error=0.5)
    assert one.sort_key < one._replace(has_stable_decisions=False, error=0.1).sort_key
    assert one.sort_key < one._replace(violation=0.1, error=0.1).sort_key
    assert one._replace(error=0.4).sort_key < one.sort_key


def test_smooth_rates_suffice_where_they_are_the_metric():
    fitter = make_fitter(*draw(2, n_samples=300), [LossParity(tolerance=0.01)])
    best = enforce(fitter)
    assert best.keeps_bound
    assert fitter.constraint[0].value(best.scores) == pytest.approx(0.01, abs=1e-6)
    assert best.result.status == "optimal"


def test_a_fit_that_other_starts_reach_is_no_local_one():
    fitter = make_fitter(*draw(2, n_samples=200), [LossParity(tolerance=0.01)])
    first = fitter.fit_smooth()
    same = fit_from_starts(fitter, first, FULL.starts)
    assert same.scores is first.scores and not same.is_local
    worse = first._replace(result=replace(first.result, fun=first.result.fun + 0.1))
    better = fit_from_starts(fitter, worse, FULL.starts)
    assert better.is_local and better.result.fun == pytest.approx(first.result.fun)


@pytest.mark.parametrize("solver", [SQP(), SQP(tol=1e-3), GDA(max_iter=2000)])
def test_mean_losses_keep_their_tolerance_at_any_tol_of_the_solver(solver):
    """A solver may exceed a bound by ``tol``, and the fit may not."""
    fitter = make_fitter(*draw(2, n_samples=300), [LossParity(tolerance=0.01)])
    best = enforce(replace(fitter, solver=solver))
    assert best.violation == 0.0
    assert 0.005 < fitter.constraint[0].value(best.scores) <= 0.01


@pytest.mark.parametrize("seed", range(6))
def test_decisions_and_losses_keep_their_tolerances_together(seed):
    X, target, groups = draw(seed, n_samples=400)
    fitter = make_fitter(X, target, groups, [DemographicParity(), LossParity()], tolerance=0.02)
    assert not fitter.fit_unconstrained().keeps_bound
    best = enforce(fitter)
    parity, loss_parity = fitter.constraint
    assert best.keeps_bound
    assert parity.value(best.scores) <= 0.02
    assert loss_parity.value(best.scores) <= 0.02
    assert best.error < min((target > 0).mean(), (target < 0).mean())


def test_tightening_leaves_a_margin_for_the_excess_of_decisions():
    specs = [DemographicParity(), LossParity()]
    fitter = make_fitter(*draw(0, n_samples=400), specs, tolerance=0.02)
    start = fitter.fit_smooth()
    missing = [
        best for best in fit_corrections(fitter, start, FULL.corrections) if not best.keeps_bound
    ]
    assert missing
    tightened = tighten_tolerances(fitter, missing[0])
    assert tightened.sort_key < missing[0].sort_key
    assert tightened.keeps_bound
    assert tighten_tolerances(fitter, tightened) is tightened


@pytest.mark.slow
def test_contradictory_constraints_end_soon_and_are_reported():
    # No model has a loss that small, and the constraint on decisions counts too.
    specs = [DemographicParity(), BoundedGroupLoss(0.05)]
    fitter = make_fitter(*draw(1, n_samples=300), specs, tolerance=0.02)
    best = enforce(fitter)
    assert not best.keeps_bound
    assert best.result.status == "infeasible"
    assert best.result.n_iter < 60
    excesses = np.maximum(0.0, fitter.constraint.gaps(best.scores) - fitter.constraint.tolerances)
    assert best.violation == max(excesses) > 0.1


def test_without_constraint_the_plain_fit_keeps_the_bound():
    X, target, groups = draw(0)
    fitter = make_fitter(X, target, groups, [])
    best = enforce(fitter)
    assert best.keeps_bound
    model = fitter.problem.model
    with_weights = replace(fitter.problem, weights=2 * fitter.problem.weights)
    np.testing.assert_allclose(
        best.scores, model.scores(fitter.fit(with_weights, fitter.start).parameters), atol=1e-9
    )


@pytest.mark.covering(0)
@pytest.mark.parametrize("loop", LOOPS)
def test_a_network_keeps_the_bound_by_searches_in_its_last_layer(loop):
    problem = network_problem()
    solver = SQP(max_iter=1000, tol=1e-4, hessian="lbfgs")
    start = problem.model.initial(0)
    fitter = Fitter(problem, start, solver)
    plain = fitter.fit_unconstrained()
    best = LOOPS[loop](fitter)
    assert plain.violation > 0.05
    assert best.keeps_bound
    assert best.error <= plain.error + 0.15
    again = problem.model.evaluate(best.parameters).scores
    np.testing.assert_array_equal(again, best.scores)


def test_many_samples_start_from_a_subsample_and_are_counted_in_bins(monkeypatch):
    X, target, groups = draw(0, n_samples=3000)
    exact = enforce(make_fitter(X, target, groups, [EqualizedOdds()], tolerance=0.02))
    monkeypatch.setattr(problem_module, "MAX_WITHOUT_SUBSAMPLE", 1000)
    monkeypatch.setitem(SUBSAMPLE_SIZES, "linear", 500)
    monkeypatch.setattr(counting, "MAX_ENTRIES", 4000)
    fitter = make_fitter(X, target, groups, [EqualizedOdds()], tolerance=0.02)
    assert len(fitter.problem.subsample.target) <= 500
    best = enforce(fitter)
    assert best.keeps_bound
    assert fitter.constraint[0].value(fitter.problem.model.scores(best.parameters)) <= 0.02
    assert best.error <= exact.error + 0.01


@pytest.mark.parametrize("criterion", ["partial_statistical_parity", "partial_demographic_parity"])
def test_ranks_of_many_samples_start_from_a_subsample(monkeypatch, criterion):
    def fit(n_many):
        monkeypatch.setattr(problem_module, "MAX_WITHOUT_SUBSAMPLE", n_many)
        return PartialParityClassifier(criterion, interval=(0.1, 0.6), tolerance=0.1).fit(
            X, target, sensitive_features=groups
        )

    X, target, groups = draw(0, n_samples=6000)
    exact = fit(10_000)
    monkeypatch.setattr(linear, "partition_problem", lambda problem, *_: problem)  # one block
    monkeypatch.setitem(SUBSAMPLE_SIZES, "linear", 2000)
    sizes = []
    iterate = SQP.iterate

    def record_size(self, problem, *arguments):
        sizes.append(len(problem.target))
        return iterate(self, problem, *arguments)

    monkeypatch.setattr(SQP, "iterate", record_size)
    best = fit(5000)
    assert best.constraint_violation_ == 0.0
    assert best.constraint_report_["gap"][0] >= 0.09
    assert best.objective_ == pytest.approx(exact.objective_, rel=5e-3)
    assert 1 <= sizes.count(len(X)) <= 3
    assert min(sizes) < 2000


def test_an_event_that_the_subsample_lacks_leaves_the_fit_to_all_samples(monkeypatch):
    monkeypatch.setattr(problem_module, "MAX_WITHOUT_SUBSAMPLE", 100)
    monkeypatch.setitem(SUBSAMPLE_SIZES, "linear", 20)
    X, target, groups = draw(0, n_samples=300)
    groups[:] = 0
    groups[:2] = 1
    fitter = make_fitter(X, target, groups, [DemographicParity()])
    assert fitter.problem.subsample is fitter.problem
    assert enforce(fitter).keeps_bound


@pytest.mark.covering(1)
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("seed", range(4))
def test_the_last_digits_of_the_features_do_not_matter(spec, seed):
    X, target, groups = draw(seed, n_samples=250)
    rng = np.random.default_rng(seed)
    errors = [
        enforce(make_fitter(X * noise, target, groups, [spec], 0.02)).error
        for noise in (1.0, 1.0 + 1e-15 * rng.normal(size=X.shape))
    ]
    assert errors[0] == errors[1]


@pytest.mark.covering(2)
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_decisions_are_constant_as_a_last_resort(loop, spec, fit_intercept):
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 2, 100)
    X = np.round(rng.normal(size=(100, 1)) + groups[:, np.newaxis])
    target = np.where(X[:, 0] + rng.logistic(size=100) > 0.5, 1.0, -1.0)
    fitter = make_fitter(X, target, groups, [spec], 0.001, fit_intercept=fit_intercept)
    assert LOOPS[loop](fitter).keeps_bound


def test_a_limit_of_a_search_is_not_called_one_of_the_user():
    fitter = make_fitter(*draw(0), SPECS[:1], 0.01)
    x = fitter.problem.initial_point(fitter.start)
    limited = fitter.fit(fitter.problem, x, limit_iterations(fitter.solver, 1)).result
    assert limited.status != "optimal" and "max_iter" not in limited.message
    of_user = replace(fitter, solver=SQP(max_iter=1, tol=1e-6))
    assert "Raise max_iter" in of_user.fit(fitter.problem, x, of_user.solver).result.message


def test_no_fit_returns_a_negative_slope_where_scores_must_rise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    groups = rng.integers(2, size=300)
    target = np.where(-X[:, 0] + 0.5 * groups + rng.logistic(size=300) > 0, 1.0, -1.0)
    fitter = make_fitter(X, target, groups, SPECS[:1])
    assert fitter.plain_fit.parameters[0] < 0.0
    slopes = Slopes(np.eye(1, len(fitter.plain_fit.parameters)), np.array([0]))
    rising = replace(fitter, slopes=slopes)
    assert rising.plain_fit.parameters[0] == 0.0
    assert search_lines(rising, rising.plain_fit).parameters[0] >= 0.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_corrections_make_guaranteed_fits_more_accurate(monkeypatch):
    """Under the tight tolerances of a guarantee that few samples cannot reach."""

    def draw(seed, n):
        rng = np.random.default_rng(seed)
        groups = rng.choice(3, n, p=[0.5, 0.3, 0.2])
        X = rng.normal(size=(n, 5)) + np.outer(groups, [0.8, -0.5, 0.2, 0.3, 0.0])
        log_odds = X @ [0.9, 0.9, -0.4, 0.3, 0.0] - 0.4 - 0.3 * groups
        return X, (log_odds + rng.logistic(size=n) > 0.0).astype(int), groups

    plain = SHORT._replace(decision_corrections=0)
    gains = []
    for seed in range(40):
        X, y, groups = draw(seed, 200)
        X_new, y_new, _ = draw(1000 + seed, 4000)
        fair = ConstrainedERMClassifier("equalized_odds", tolerance=0.03, confidence_level=0.99)
        scores = []
        for effort in (SHORT, plain):
            with monkeypatch.context() as patch:
                patch.setattr(enforce_module, "SHORT", effort)
                fitted = clone(fair).fit(X, y, sensitive_features=groups)
            scores.append(fitted.score(X_new, y_new))
        gains.append(scores[0] - scores[1])
    assert np.mean(gains) > 0.003
    assert np.min(gains) > -0.02
