"""How a fit ended, by the words of `status_`, and whether a warning says so."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from skfair._fitting.fitter import Fitter
from skfair._fitting.outcome import status_of
from skfair.classification import (
    ConstrainedERMClassifier,
    PartialParityClassifier,
)
from skfair.regression import (
    ConstrainedERMRegressor,
    ConstrainedRegressorCV,
    PartialParityRegressor,
)
from skfair.solvers import SQP


def draw(n_samples=700, n_groups=3):
    """Three groups with different means of a feature, and a target that depends on all features."""
    rng = np.random.default_rng(0)
    groups = rng.integers(n_groups, size=n_samples)
    X = rng.normal(size=(n_samples, 4))
    X[:, 0] += groups
    return X, X.sum(axis=1) + rng.logistic(size=n_samples), groups


def make_candidate(status, violation=0.02, is_cut_short=False, tolerances=(0.06, 0.06), **changes):
    """What `status_of` reads of a candidate whose rows have a tolerance of .06, and are missed."""
    problem = SimpleNamespace(constraint=SimpleNamespace(tolerances=np.array(tolerances)))
    result = SimpleNamespace(
        status=status,
        violation=violation,
        is_cut_short=is_cut_short,
        evaluation=SimpleNamespace(problem=problem),
    )
    candidate = {"keeps_bound": True, "is_solver_result": True, "is_local": False} | changes
    return SimpleNamespace(result=result, **candidate)


@pytest.mark.parametrize(
    ("candidate", "status"),
    [
        (make_candidate("optimal"), "optimal"),
        (make_candidate("optimal", is_solver_result=False), "feasible"),
        (make_candidate("optimal", is_local=True), "feasible"),
        (make_candidate("max_iter"), "max_iter"),
        (make_candidate("max_iter", tolerances=()), "max_iter"),  # of the plain fit
        # Rows at .06 may be missed by up to .04 where .1 was requested and is kept.
        (make_candidate("infeasible"), "feasible"),
        (make_candidate("infeasible", violation=0.05), "max_iter"),
        (make_candidate("infeasible", is_cut_short=True), "max_iter"),
        (make_candidate("infeasible", keeps_bound=False), "infeasible"),
        (make_candidate("optimal", keeps_bound=False), "infeasible"),
    ],
)
def test_the_status_is_about_the_bound_that_was_requested(candidate, status):
    requested = np.array([0.1, 0.1])
    assert status_of(candidate, requested, "auto", False) == status
    stopped = status if status == "infeasible" else "stopped"
    assert status_of(candidate, requested, "auto", True) == stopped


def test_without_enforcement_rows_are_the_bound():
    assert status_of(make_candidate("infeasible"), np.array([0.1]), None, False) == "infeasible"


@pytest.mark.slow
def test_a_fit_that_misses_its_own_tighter_bound_is_feasible_without_a_warning():
    X, score, groups = draw()
    model = PartialParityClassifier(interval=(0, 0.2), tolerance=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(X, score > np.median(score), sensitive_features=groups)
    assert model.status_ == "feasible"
    assert model.constraint_violation_ == 0.0


@pytest.mark.slow
def test_a_limit_of_the_user_is_named_where_it_ends_the_solver():
    X, score, groups = draw()
    model = PartialParityClassifier(interval=(0, 0.2), tolerance=0.1, solver=SQP(max_iter=8))
    with pytest.warns(ConvergenceWarning, match="8 iterations with violation 0.011.*max_iter"):
        model.fit(X, score > np.median(score), sensitive_features=groups)
    assert model.status_ == "max_iter"
    assert model.constraint_violation_ == 0.0


@pytest.mark.parametrize(
    "estimator",
    [
        ConstrainedERMClassifier(tolerance=0.1),
        ConstrainedERMRegressor(tolerance=0.1),
        ConstrainedRegressorCV(LinearRegression(), tolerance=0.1),
        PartialParityClassifier(interval=(0.1, 0.5), tolerance=0.2),
        PartialParityRegressor(interval=(0.1, 0.5), tolerance=0.1),
    ],
    ids=lambda one: type(one).__name__,
)
def test_all_estimators_use_one_word_for_missed_rows_of_a_kept_bound(estimator, monkeypatch):
    fit = Fitter.fit

    def miss_rows(self, problem, *args, **kwargs):
        if not len(problem.constraint):
            return fit(self, problem, *args, **kwargs)
        tighter = problem.constraint.replace_tolerances(0.9 * problem.constraint.tolerances)
        candidate = fit(self, replace(problem, constraint=tighter), *args, **kwargs)
        return candidate._replace(result=replace(candidate.result, status="infeasible"))

    monkeypatch.setattr(Fitter, "fit", miss_rows)
    X, score, groups = draw(300, 2)
    y = score if is_regressor(estimator) else score > 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        estimator.fit(X, y, sensitive_features=groups)
    assert estimator.status_ == "feasible"
    assert estimator.constraint_violation_ == 0.0
