"""The search for the surrogate's tolerance, on artificial metrics."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from skfair._bound.bound import ConstraintSystem
from skfair._bound.units import Unit
from skfair._fitting import calibration
from skfair._fitting.calibration import _is_final, calibrate_tolerances
from skfair._fitting.counting import Candidate
from skfair._fitting.fitter import FULL, Fitter
from skfair.solvers import SQP


@dataclass(frozen=True)
class Criterion:
    """The width of a ramp, and a number of rows."""

    width: float = 1.0
    n_rows: int = 1

    def _narrow(self, factor):
        return replace(self, width=self.width * factor)

    def _refine(self):
        return replace(self, n_rows=4 * self.n_rows)


@dataclass(frozen=True)
class Gap:
    """The gap of the criterion."""

    criterion: Criterion = Criterion()

    is_correctable = is_ratio = adds_up = False


@dataclass(frozen=True)
class BoundConstraint:
    """A constraint with a tolerance, on ranks."""

    tolerance: float
    gap: Gap = Gap()

    rows = SimpleNamespace(lower=np.zeros(1))
    sums = SimpleNamespace(metric_input="ranks", unit=Unit())

    def linearize_at(self, scores):
        return self


@pytest.fixture(autouse=True)
def subsamples(monkeypatch):
    """The subsample of a `Curve` is its attribute."""
    make = calibration.make_subsample_fitter

    def find(fitter, start):
        return fitter.subsample if isinstance(fitter, Curve) else make(fitter, start)

    monkeypatch.setattr(calibration, "make_subsample_fitter", find)


class Curve:
    """A fitter whose metric is a function of the surrogate's tolerance, and of its width."""

    earlier_fit = None

    def __init__(self, gap, tolerance, plain=1.0, rough=None, minimum=0.0, subsample=None):
        self.gap, self.plain_gap = gap, plain
        self.minimum = minimum  # smallest tolerance that a model keeps
        self.rough_gap = plain if rough is None else rough
        self.constraint = ConstraintSystem((BoundConstraint(tolerance),))
        self.tolerances = []
        self.widths = []
        self.n_rows = []
        self.solver = SQP(tol=1e-6)
        self.subsample = subsample

    def fit_unconstrained_roughly(self):
        return self._candidate(self.rough_gap, 0.0)

    def shrink_scores(self, candidate):
        return candidate

    def evaluate(self, parameters, result):
        return self._candidate(self.earlier_fit.gaps[0], 1.0)

    counter = SimpleNamespace(predict_scores=lambda parameters: np.empty(0))

    def fit_unconstrained(self, parameters, solver):
        return self._candidate(self.plain_gap, 0.0)

    converged_plain_fit = Fitter.converged_plain_fit

    def problem_with_constraint(self, constraint):
        return SimpleNamespace(
            constraint=constraint, n_unknowns=0, initial_point=lambda parameters: np.empty(0)
        )

    def fit(self, problem, x, solver=None):
        (bound,) = problem.constraint
        self.tolerances.append(bound.tolerance)
        self.widths.append(bound.gap.criterion.width)
        self.n_rows.append(bound.gap.criterion.n_rows)
        candidate = self._candidate(
            self.gap(bound.tolerance, bound.gap.criterion.width), 1.0 - bound.tolerance
        )
        candidate.result.evaluation = SimpleNamespace(problem=problem)
        return candidate

    def _candidate(self, gap, fun):
        (bound,) = self.constraint
        violation = np.inf if np.isnan(gap) else max(0.0, gap - bound.tolerance)
        status = "optimal" if 1.0 - fun >= self.minimum else "infeasible"
        nothing = np.empty(0)
        result = SimpleNamespace(
            fun=fun, x=nothing, multipliers=np.ones(1), status=status, residual=0.0
        )
        result.evaluation = SimpleNamespace(problem=None)
        return Candidate(nothing, nothing, 0.0, np.array([gap]), True, nothing, violation, result)


def test_a_plain_fit_within_the_tolerance_is_returned():
    fitter = Curve(lambda t, width: t, 0.05, plain=0.04)
    assert calibrate_tolerances(fitter).gaps == 0.04
    assert not fitter.tolerances


def test_a_rough_fit_is_polished_before_it_is_returned():
    for rough in (0.04, 0.055):
        fitter = Curve(lambda t, width: t, 0.05, plain=0.045, rough=rough)
        assert calibrate_tolerances(fitter).gaps == 0.045
    fitter = Curve(lambda t, width: t, 0.05, plain=0.06, rough=0.04)
    assert 0.04 <= calibrate_tolerances(fitter).gaps <= 0.05
    assert fitter.tolerances


def test_a_problem_is_refined_once():
    """To all digits no solution keeps the tolerance, so that a rough fit is the best one."""

    class Rough(Curve):
        refined = ()

        def fit(self, problem, x, solver=None):
            candidate = super().fit(problem, x, solver)
            candidate.result.residual = 1.0
            if solver.tol > self.solver.tol:
                return candidate
            self.refined += (problem,)
            return candidate._replace(violation=1.0)

    fitter = Rough(lambda t, width: t, 0.05)
    assert calibrate_tolerances(fitter).violation == 0.0
    assert len(fitter.refined) == len({id(problem) for problem in fitter.refined}) >= 1


@pytest.mark.parametrize("tolerance", [0.02, 0.05, 0.1, 0.2, 0.5])
@pytest.mark.parametrize(
    "gap",
    [
        lambda t: t,
        lambda t: 3.0 * t,
        lambda t: t / 4,
        lambda t: min(0.9, 0.01 + t**2),
        lambda t: np.sqrt(t) / 2,
        lambda t: np.round(1.2 * t, 2),
    ],
)
def test_the_metric_ends_just_below_its_tolerance(gap, tolerance):
    fitter = Curve(lambda t, width: gap(t), tolerance)
    candidate = calibrate_tolerances(fitter)
    assert tolerance - 0.01 <= candidate.gaps <= tolerance
    assert len(fitter.tolerances) <= FULL.solves


@pytest.mark.parametrize("noise", [1.5, 2.0, 3.0])
def test_a_noisy_subsample_costs_a_second_fit_to_the_full_data(noise):
    """In a subsample groups also differ by chance, and gaps grow about as tolerances do."""
    subsample = Curve(lambda t, width: noise * t, 0.05)
    fitter = Curve(lambda t, width: 0.002 + 1.1 * t, 0.05, subsample=subsample)
    assert 0.04 <= calibrate_tolerances(fitter).gaps <= 0.05
    assert len(fitter.tolerances) == 2
    subsample = Curve(lambda t, width: 1.1 * t, 0.05)
    fitter = Curve(lambda t, width: 1.1 * t, 0.05, subsample=subsample)
    assert 0.04 <= calibrate_tolerances(fitter).gaps <= 0.05
    assert len(fitter.tolerances) == 1


def test_an_unreachable_tolerance_gives_the_fairest():
    fitter = Curve(lambda t, width: 0.3 + t, 0.1)
    candidate = calibrate_tolerances(fitter)
    assert candidate.gaps == pytest.approx(0.3)
    assert min(fitter.tolerances) == 0.0


def test_the_best_feasible_fit_of_a_discontinuous_metric_is_returned():
    fitter = Curve(lambda t, width: 0.02 if t < 0.07 else 0.3, 0.1)
    candidate = calibrate_tolerances(fitter)
    assert candidate.gaps == 0.02
    feasible = [t for t in fitter.tolerances if t < 0.07]
    assert candidate.result.fun == 1.0 - max(feasible)


def test_a_metric_of_nan_counts_as_a_violation():
    fitter = Curve(lambda t, width: np.nan, 0.1, plain=np.nan)
    assert np.isnan(calibrate_tolerances(fitter).gaps)
    assert len(fitter.tolerances) <= FULL.solves


def test_a_ramp_without_a_difference_is_made_narrower():
    fitter = Curve(lambda t, width: t + 0.3 * (width > 0.1), 0.1)
    candidate = calibrate_tolerances(fitter)
    assert 0.09 <= candidate.gaps <= 0.1
    assert sorted(set(fitter.widths)) == [0.0625, 0.25, 1.0]


def test_a_ramp_under_which_less_tolerance_harms_is_made_narrower_at_once():
    fitter = Curve(lambda t, width: t if width < 1.0 else 0.3 - t, 0.1)
    candidate = calibrate_tolerances(fitter)
    assert 0.09 <= candidate.gaps <= 0.1
    assert fitter.widths.count(1.0) == 2
    assert min(fitter.tolerances) > 0.0


def test_the_search_stops_below_a_tolerance_that_no_model_keeps():
    """A narrower ramp confirms that no model keeps the tolerance."""
    fitter = Curve(lambda t, width: 0.3 + t, 0.1, minimum=0.05)
    candidate = calibrate_tolerances(fitter)
    for width in (1.0, 0.25):
        *feasible, last = [
            t for t, w in zip(fitter.tolerances, fitter.widths, strict=True) if w == width
        ]
        assert min(feasible) >= 0.05 > last > 0.0
    assert min(fitter.widths) == 0.25
    assert candidate.gaps == 0.3 + min(fitter.tolerances)


def test_rows_are_refined_where_a_narrower_ramp_does_not_help():
    fitter = Curve(lambda t, width: t + 0.2 * (width > 0.1), 0.1)
    assert 0.09 <= calibrate_tolerances(fitter).gaps <= 0.1
    ramps = dict(zip(fitter.widths, fitter.n_rows, strict=True))
    assert ramps == {1.0: 1, 0.25: 1, 0.0625: 4}


def test_a_gap_that_jumps_over_the_tolerance_ends_the_search():
    """Many samples of one score change their rank at once."""
    fitter = Curve(lambda t, width: 0.03 if t < 0.07 else 0.12, 0.1)
    assert calibrate_tolerances(fitter).gaps == 0.03
    assert len(fitter.tolerances) < FULL.solves
    below = [tolerance for tolerance in fitter.tolerances if tolerance < 0.07]
    assert max(below) > 0.0699


def test_the_tolerance_of_rows_that_are_not_active_is_halved():
    """The plain fit violates the metric by .02, and rows bind from a tolerance of .06 on."""

    class Inactive(Curve):
        def _candidate(self, gap, fun):
            candidate = super()._candidate(gap, fun)
            candidate.result.multipliers = np.array([float(gap < 0.12)])
            return candidate

    fitter = Inactive(lambda t, width: min(0.12, 2.0 * t), 0.1, plain=0.12)
    assert 0.09 <= calibrate_tolerances(fitter).gaps <= 0.1
    assert fitter.tolerances[:2] == [0.1, 0.05]
    assert len(fitter.tolerances) <= 3


def test_rows_active_by_rounding_alone_end_the_search():
    """An interior point leaves next to nothing of a multiplier, but not 0."""
    constraint = ConstraintSystem((BoundConstraint(0.1), BoundConstraint(0.5)))
    fitter = SimpleNamespace(constraint=constraint, solver=SQP(tol=1e-6))
    multipliers = np.array([0.3, -1e-9])
    gaps = np.array([0.099, 0.01])
    result = SimpleNamespace(multipliers=multipliers)
    candidate = SimpleNamespace(gaps=gaps, result=result, keeps_bound=True)
    assert _is_final(fitter, constraint, candidate)
    multipliers[1] = -1e-3
    assert not _is_final(fitter, constraint, candidate)


def test_a_warm_start_begins_at_the_tolerance_of_the_earlier_fit():
    # The metric is twice the surrogate's tolerance; the earlier fit keeps .2.
    first, second = (Curve(lambda t, w: 2.0 * t, tolerance) for tolerance in (0.2, 0.1))
    second.earlier_fit = calibrate_tolerances(first)
    candidate = calibrate_tolerances(second)
    assert candidate.keeps_bound
    assert 0.09 <= candidate.gaps[0] <= 0.1
    assert len(second.tolerances) < len(first.tolerances)
