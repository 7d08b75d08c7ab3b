r"""Offsets of groups that bound the exposure of groups in rankings.

Rankings that sort by score plus an offset of the group maximise the mean of score times attention
(the discounted cumulative gain by the scores) plus multiples of the groups' exposures, by the
rearrangement inequality in each query. So offsets maximise the Lagrangian of bounds on exposures,
and follow from the multipliers of its dual problem. Where the group is not known, an offset is the
mean over its probabilities given x.
"""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from skfair.constraints._bound import ConstraintSystem
from skfair.constraints._gap import RangeGap
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.fitting._outcome import (
    REPORT_ATTRIBUTE,
    Subtask,
    describe_violation,
    unconstrained_fit_attributes,
    warn_of_one_group,
)
from skfair.losses import LogisticLoss, step_function
from skfair.metrics._ranking import document_exposure, relative_merit
from skfair.postprocessing._constrained_cv import begin_rule, features_of
from skfair.utils._checks import warn

_ROUNDING = 1e-12
"""Excesses below it are rounding."""

_N_PLACES, _N_ZOOMS = 25, 5
"""Points of the path of offsets that are tried at a time, and how often with smaller distances."""

_N_PROBLEMS = 1, 3
"""Dual problems that are solved, each with the exposures of the ranking by the last one. The second
number is for the case that the first one leads to no ranking within the tolerance."""

_LIMITS = {"maxiter": 50, "maxfun": 100}
"""Iterations and evaluations of a dual problem."""

_MAX_MULTIPLIER = 10.0
"""Multipliers up to which a dual problem is searched, in standard deviations of the scores."""


class RankedDocuments(NamedTuple):
    """Documents with out-of-fold scores, and features whose coefficients are offsets of groups."""

    scores: np.ndarray  # (n_documents,)
    features: np.ndarray  # (n_documents, n_offsets)
    query: np.ndarray  # codes
    weights: np.ndarray  # mean weights
    shares: np.ndarray  # weights of the groups that are compared
    bound: Any  # the constraint on attention
    k: int | None  # ranks that get attention

    def attention(self, offsets):
        """Attention of each document in the ranking by score and offset."""
        return document_exposure(self.scores + self.features @ offsets, self.query, self.k, "log")

    def violation(self, offsets):
        """By how much the gap exceeds the tolerance; infinite if it is unknown."""
        excess = self.bound.value(self.attention(offsets)) - self.bound.tolerance
        if np.isnan(excess):
            return np.inf
        return float(excess) if excess > _ROUNDING else 0.0


def search_offsets(documents):
    """The smallest offsets on a path that keep the tolerance, or those that exceed it least.

    And how often places on a path were searched.
    """
    results = []
    for n_problems in _N_PROBLEMS:
        # From no offsets to the multipliers of the bound, then to equal exposures and beyond.
        tolerances = documents.bound.tolerance, 0.0
        optimal, equal = (_solve_dual(documents, one, n_problems) for one in tolerances)
        path = np.array([0.0 * equal, optimal, equal, 2.0 * equal])
        results.append(_search_path(documents, path))
        if not results[-1][0]:
            break
    _, offsets = min(results, key=lambda result: result[0])
    return offsets, _N_ZOOMS * len(results)


def _search_path(documents, path):
    """Smallest violation on a path between offsets, and where it is reached first."""
    knots = np.arange(len(path))
    low, high = knots[[0, -1]]
    for _ in range(_N_ZOOMS):
        places = np.linspace(low, high, _N_PLACES)
        candidates = np.column_stack([np.interp(places, knots, column) for column in path.T])
        violations = [documents.violation(offsets) for offsets in candidates]
        best = int(np.argmin(violations))
        # Look between its neighbours, or after the last one that exceeds the tolerance.
        after = best + (violations[best] > 0.0)
        low, high = places[max(best - 1, 0)], places[min(after, _N_PLACES - 1)]
    return violations[best], candidates[best]


def _solve_dual(documents, tolerance, n_problems):
    """Offsets of the largest gain whose exposures keep a tolerance."""
    sums, shares = documents.bound.sums, documents.shares
    merits = sums.exact_means(documents.scores)[len(shares) :] if sums.is_quotient else 1.0
    # All rankings have one mean exposure: differences from the first group, which features
    # average, change the exposures of groups by these multiples.
    changes = ((np.eye(len(shares)) - shares) / np.reshape(merits, (-1, 1)))[:, 1:]
    # Rows and upper bounds: scale * largest <= smallest + width.
    width, scale = documents.bound.gap.width_and_scale(tolerance)
    forms = RangeGap(documents.bound.gap.blocks, scale).linear_forms(len(shares))
    rows = forms @ changes
    offsets = np.zeros(len(shares) - 1)
    for _ in range(n_problems):
        # What groups get differs from what their probabilities let expect: as in this ranking.
        attention = documents.attention(offsets)
        differences = documents.features.T @ (documents.weights * attention)
        upper = width - forms @ (sums.measure(attention) - changes @ differences)
        offsets = -_find_multipliers(documents, rows, upper) @ rows
    return offsets


def _find_multipliers(documents, rows, upper):
    """Multipliers of rows of the differences of exposures that features average."""
    unit = documents.scores.std() or 1.0

    def dual(multipliers):
        offsets = -unit * (multipliers @ rows)
        attention = documents.weights * documents.attention(offsets)
        differences = documents.features.T @ attention
        gain = (documents.scores @ attention + offsets @ differences) / unit
        return gain + upper @ multipliers, upper - rows @ differences

    start = np.zeros(len(rows))
    bounds = [(0.0, _MAX_MULTIPLIER)] * len(rows)
    return unit * minimize(dual, start, jac=True, bounds=bounds, options=_LIMITS).x


# The fit, from out-of-fold scores to what predictions need.


def fit_exposure_rule(estimator, cross, query):
    """Fitted attributes of offsets by which out-of-fold scores keep a bound on exposure."""
    with Subtask(estimator, cross.context, "offsets of groups"):
        fitted, columns, events = begin_rule(cross)
        documents = _rank_documents(estimator, cross, columns[:, 0], query)
        # Where rankings by the scores alone keep the bound, no group is estimated.
        if cross.constraints and documents.violation(np.empty(0)):
            events = replace(events, compares_scores=False)  # offsets do not depend on the score
            fitted["_event_features"], values, _ = features_of(estimator, cross, columns, events)
            documents = documents._replace(features=values[0, :, 1:])
            offsets, n_iter = search_offsets(documents)
        else:
            offsets = np.empty(0)
            n_iter = 0
    predictions = documents.scores + documents.features @ offsets
    fitted |= {
        "rule_coef_": np.append(1.0, offsets),
        "rule_intercept_": 0.0,
        "n_iter_": n_iter,
        "oof_prediction_": fitted["_unit"].from_unit(predictions),
    }
    if not cross.constraints:
        return fitted | unconstrained_fit_attributes({})
    return fitted | _describe_exposure(cross.training, documents, offsets)


def _rank_documents(estimator, cross, scores, query):
    """The documents, with no features, and with the constraint bound to their attention."""
    samples, bound, k, shares = cross.training.samples, None, None, None
    weights = samples.weights / samples.weights.sum()
    for constraint in cross.constraints:  # one at most
        merit = np.ones(len(query))
        if constraint.merit is not None:
            merit = relative_merit("y", samples.target, samples)
        bound = constraint.bind(
            samples._replace(target=merit),
            surrogate=step_function,  # not used, as the loss
            loss=LogisticLoss(),
            tolerance=estimator.tolerance,
        )
        shares = constraint.compared_groups(samples)[0].matrix.T @ weights
        shares = shares / shares.sum()
        k = constraint.k
    return RankedDocuments(
        scores=scores,
        features=np.empty((len(query), 0)),
        query=query,
        weights=weights,
        shares=shares,
        bound=bound,
        k=k,
    )


def _describe_exposure(training, documents, offsets):
    """Fitted attributes of the report, the violation and the status; warn of a violation."""
    system = ConstraintSystem((documents.bound,))
    attention = documents.attention(offsets)
    report = system.report_columns(attention)
    violation = documents.violation(offsets)
    if len(documents.shares) < 2:
        warn_of_one_group(training, system)
        return unconstrained_fit_attributes(report)
    status = "optimal" if len(offsets) < 2 else "feasible"  # of two groups all offsets are searched
    if violation:
        outcome = SimpleNamespace(gaps=system.gaps(attention), violation=violation, scores=None)
        warn(describe_violation(system, outcome), InfeasibleConstraintWarning)
        status = "infeasible"
    return {REPORT_ATTRIBUTE: report, "constraint_violation_": violation, "status_": status}
