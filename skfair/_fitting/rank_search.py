"""Search for ranks that agree with the target, of models that keep constraints on ranks.

Many models keep a tolerance that none of the solver's fits keeps, and most of them rank at random.
Neither the violation nor the objective tells them apart: scores that are nearly equal have the
objective of a constant, however they rank. So the correlation of their ranks with those of the
target, less a penalty for the violation, is maximised here by an evolution strategy with covariance
matrix adaptation (CMA-ES [1]_). A search starts at the plain fit, and a series of searches, each at
a smaller tolerance than the one before, starts where that ended.

References
----------
.. [1] N. Hansen, "The CMA evolution strategy: a tutorial", arXiv:1604.00772, 2016.
"""

from collections.abc import Callable

import numpy as np

from skfair._bound.bound import ConstraintSystem
from skfair._fitting.calibration import SLACK, calibrate_tolerances
from skfair._fitting.counting import Candidate, TargetRanks
from skfair._fitting.fitter import MAX_SEARCHED, Fitter, optimize_scale_intercept

_PENALTY = 20.0
"""Correlation that an excess of 1 over a tolerance costs in searches."""

_MIN_SIGNAL = 0.1
"""Correlation up to which ranks are hardly better than random; further searches are made then."""


def loses_ranks(fitter: Fitter, candidate: Candidate) -> bool:
    """Whether ranks in memory agree with the target far less than those of the plain fit do.

    Only of constraints on ranks alone: else decisions are compared.
    """
    problem = fitter.problem
    is_searched = fitter.constraint.is_on_ranks_alone and not problem.is_partitioned
    if not is_searched or candidate.is_unconstrained or len(problem.target) > MAX_SEARCHED:
        return False
    # Covariances grow with the square of the number of parameters.
    if problem.model.last_layer(candidate.parameters).n_parameters > 256:
        return False
    ranks = TargetRanks(problem.target, problem.mean_weights)
    taken = ranks.correlate(candidate.scores)
    unconstrained = ranks.correlate(fitter.converged_plain_fit.scores)
    # A plain fit that ranks at random has nothing to lose.
    # Search ranks if more than .6 of the correlation of the plain fit is lost. Searches use a
    # tolerance to the last sample, so that gaps of held-out data are larger: from a smaller share
    # on they would be made where ranks are useful as they are.
    return unconstrained > 2.0 * ranks.deviation and taken < 0.4 * unconstrained


def search_ranks(fitter: Fitter, candidate: Candidate) -> Candidate:
    """The candidate of best ranks that keeps the bound, by searches of the last layer.

    The candidate itself is returned if none that keeps the bound ranks better.
    """
    search = _RankSearch(fitter, candidate)
    plain = fitter.converged_plain_fit.parameters
    search.run(plain, _PENALTY)
    last = search.follow(plain)
    # Where ranks are hardly better than random, start at the fit of larger tolerances. A high
    # penalty finds models where a low one does not keep the tolerances.
    if search.highest < _MIN_SIGNAL:
        looser = _fit_looser(fitter)
        if looser is not None:
            search.run(looser.parameters, _PENALTY)
            last = search.follow(looser.parameters)
    if search.highest < _MIN_SIGNAL:
        for start in (last, candidate.parameters):
            search.run(start, 80.0)
    # Equal scores, which keep most parities of ranks, are better than opposite ranks.
    if candidate.keeps_bound and search.highest < 0.0:
        for constant in search.layer.constants():
            search.measure(constant, 0.0, search.aims)
    if search.best is None:
        return candidate
    return search.rescale(search.best)


def _fit_looser(fitter: Fitter) -> Candidate | None:
    """The fit of larger tolerances that keeps them; None without one."""
    for factor in (2.0, 4.0, 8.0):
        looser = fitter.replace_tolerances(factor * fitter.constraint.tolerances)
        candidate = calibrate_tolerances(looser)
        if candidate.keeps_bound:
            return candidate
    return None


class _RankSearch:
    """Searches of the last layer for ranks that agree with the target.

    Of all evaluated models that keep the bound and rank clearly better than the candidate, ``best``
    has the largest correlation; None without one.
    """

    def __init__(self, fitter: Fitter, candidate: Candidate) -> None:
        self.fitter = fitter
        self.ranks = TargetRanks(fitter.problem.target, fitter.problem.mean_weights)
        self.layer = fitter.problem.model.last_layer(candidate.parameters)
        self.before = candidate.parameters[: -self.layer.n_parameters]
        # Gaps are led as near to their tolerances as calibration leads them.
        tolerances = fitter.constraint.tolerances
        self.aims = tolerances - np.minimum(SLACK, tolerances) / 2.0
        self.best: Candidate | None = None
        self.highest = -np.inf
        if candidate.keeps_bound:
            # A gain of .01 is worth another model than the solver's.
            self.highest = self.ranks.correlate(candidate.scores) + 0.01

    def evaluate(self, parameters: np.ndarray) -> Candidate:
        """The candidate with these parameters of the last layer."""
        result = self.fitter.converged_plain_fit.result
        return self.fitter.evaluate(np.append(self.before, parameters), result)

    def measure(self, parameters: np.ndarray, penalty: float, aims: np.ndarray) -> float:
        """The correlation less a penalty for the largest excess of a gap over its aim."""
        problem = self.fitter.problem
        scores = problem.predict_scores(self.fitter.project(np.append(self.before, parameters)))
        correlation = self.ranks.correlate(scores)
        gaps = problem.constraint.gaps(scores)
        excess = np.max(np.nan_to_num(gaps - aims, nan=1.0), initial=0.0)
        # Few models are worth a candidate, which counts decisions, too.
        if correlation > self.highest and (gaps <= problem.constraint.tolerances).all():
            candidate = self.evaluate(parameters)
            if candidate.keeps_bound:
                self.best = candidate
                self.highest = correlation
        return correlation - penalty * float(excess)

    def run(
        self,
        start: np.ndarray,
        penalty: float,
        factor: float = 1.0,
        step: float = 0.3,
        n_evaluations: int = 400,
    ) -> np.ndarray:
        """Search from parameters at so many times the tolerances, and return the best ones."""
        parameters = start[len(self.before) :]
        intercept = self.layer.intercept_direction()
        if intercept is not None:  # ranks do not depend on it
            intercept = intercept / np.linalg.norm(intercept)
            parameters = parameters - (parameters @ intercept) * intercept
        norm = np.linalg.norm(parameters)
        if norm == 0.0:
            return start
        rng = np.random.default_rng(0)  # the same search for the same samples
        aims = factor * self.aims
        last = evolve(
            lambda one: self.measure(one, penalty, aims),
            parameters / norm,
            step,
            rng,
            n_evaluations,
        )
        return np.append(self.before, last)

    def follow(self, parameters: np.ndarray) -> np.ndarray:
        """Search at smaller and smaller tolerances, each time from where the last search ended.

        Models that keep tolerances smaller than the requested ones keep these, too.
        """
        for factor in (4.0, 2.8, 2.0, 1.4, 1.0, 0.8):
            parameters = self.run(parameters, _PENALTY, factor, step=0.2, n_evaluations=150)
        return parameters

    def rescale(self, candidate: Candidate) -> Candidate:
        """The candidate with scale and intercept of least objective, on which no rank depends."""
        if np.ptp(candidate.scores) == 0.0:
            return candidate
        free = self.fitter.problem_with_constraint(ConstraintSystem(()))
        parameters = optimize_scale_intercept(
            candidate.parameters[len(self.before) :],
            self.layer,
            lambda last: free.evaluate(np.append(self.before, last)).fun,
        )
        # Scores that are nearly equal lose digits.
        return min(self.evaluate(parameters), candidate, key=lambda one: one.violation)


def evolve(
    function: Callable,
    start: np.ndarray,
    step: float,
    rng: np.random.Generator,
    n_evaluations: int = 400,
) -> np.ndarray:
    """The point of largest value that an evolution strategy (CMA-ES) finds; names are Hansen's."""
    n = len(start)
    n_points = max(8, 4 + int(3.0 * np.log(n)))
    n_parents = n_points // 2
    weights = np.log(n_parents + 0.5) - np.log(np.arange(1, n_parents + 1))
    weights = weights / weights.sum()
    mu = 1.0 / (weights**2).sum()  # effective number of parents
    # Rates at which paths and the covariance are learned.
    c_step = (mu + 2.0) / (n + mu + 5.0)
    damping = 1.0 + c_step + 2.0 * max(0.0, np.sqrt((mu - 1.0) / (n + 1.0)) - 1.0)
    c_path = (4.0 + mu / n) / (n + 4.0 + 2.0 * mu / n)
    c_one = 2.0 / ((n + 1.3) ** 2 + mu)
    c_mu = min(1.0 - c_one, 2.0 * (mu - 2.0 + 1.0 / mu) / ((n + 2.0) ** 2 + mu))
    expected = np.sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n**2))  # length of a normal
    mean = start
    covariance = np.eye(n) / n
    step_path = np.zeros(n)
    path = np.zeros(n)
    best = (function(start), start)
    for generation in range(1, n_evaluations // n_points + 1):
        # Draw points, and sort them by value.
        eigenvalues, axes = np.linalg.eigh(covariance)
        lengths = np.sqrt(np.maximum(eigenvalues, 1e-20))
        moves = rng.normal(size=(n_points, n)) * lengths @ axes.T
        values = np.array([function(mean + step * move) for move in moves])
        order = np.argsort(-values)
        if values[order[0]] > best[0]:
            best = (values[order[0]], mean + step * moves[order[0]])
        # Move the mean to the best ones, and remember where to.
        parents = moves[order[:n_parents]]
        move = weights @ parents
        mean = mean + step * move
        white = axes @ (axes.T @ move / lengths)
        step_path = (1.0 - c_step) * step_path + np.sqrt(c_step * (2.0 - c_step) * mu) * white
        length = np.linalg.norm(step_path)
        decay = np.sqrt(1.0 - (1.0 - c_step) ** (2 * generation))
        is_short = length / decay < (1.4 + 2.0 / (n + 1.0)) * expected
        path = (1.0 - c_path) * path + is_short * np.sqrt(c_path * (2.0 - c_path) * mu) * move
        # Learn the covariance and the length of steps.
        covariance = (1.0 - c_one - c_mu) * covariance + c_one * np.outer(path, path)
        covariance = covariance + c_mu * (parents.T * weights) @ parents
        step = step * np.exp(c_step / damping * (length / expected - 1.0))
    return best[1]
