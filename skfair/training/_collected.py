"""Linear models of people who lie in parts: collections of Dask, or of files.

Constraints are bound to those who represent everybody, as `skfair.training._representatives` has
it. Two looks at everybody come before those of the fit: a census, and a draw of who rehearses it.
"""

from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.base import is_regressor

from skfair.constraints import (
    CONSTRAINTS,
    BoundedGroupLoss,
    PartialDemographicParity,
    PartialStatisticalParity,
)
from skfair.losses import OBJECTIVES, over_pairs
from skfair.models import LinearModel
from skfair.partitions import partitions_of
from skfair.solvers import SQP
from skfair.training._input import class_weights
from skfair.training._partitioned import make_partitioned
from skfair.training._representatives import Representatives, by_cells
from skfair.utils._messages import resolve_name

_REHEARSED = (1 << 15, 1 << 17)
_SHARE = 1 / 256
"""How many people the client tries solutions on, at least and at most, and which share of all.

Four times as many have a solution twice as near to everybody's, from where it is a look less.
"""

_FEW = _REHEARSED[0]
"""People up to whom there is nothing to rehearse: all come to the client, who fits them."""

_LEAST = 200
"""How many it asks for of every group and class, or all of them."""

_BY_GROUP_AND_CLASS = (
    *(one for name, one in CONSTRAINTS.items() if not name.startswith("partial_")),
    BoundedGroupLoss,
)
"""Constraints whose rates are means over those of a group and class."""

_INSTEAD = {
    PartialDemographicParity: "; 'statistical_parity' bounds the same difference at every "
    "threshold, that of decisions among them"
}
"""What may be asked of people in parts in place of some constraints."""


def fit_collected(estimator, X, y, people, constraints):
    """Fit a linear classifier or regressor to people who lie in parts.

    Parameters
    ----------
    estimator : ConstrainedLinearModel
        To be fitted; of a regressor target and scores are in units of the target's spread.
    X, y : collection
        As `partitions_of` takes them.
    people : dict
        ``sensitive_features`` and ``sample_weight``.
    constraints : list of Constraint
        What is asked for.

    Returns
    -------
    estimator : estimator instance
        Fitted.

    Raises
    ------
    ValueError
        If what is asked for is no sum over parts, or for what is refused of people in memory; the
        message names the part.
    """
    solver = estimator._chosen_solver()
    _refuse_what_is_no_sum(estimator, constraints, solver, people)
    parts = partitions_of(estimator.n_jobs, X=X, y=y, **people)
    is_real = is_regressor(estimator)
    people = parts.map(by_cells, type(estimator).__name__, is_real).persist()
    chosen = Representatives(people, estimator, is_real, bool(constraints))
    training = chosen.training
    frame = _frame(estimator, constraints, training, chosen.moments)
    problem = _some(people, frame, chosen)
    if chosen.counts.sum() > _FEW:
        of_block = partial(_problem, frame, chosen.places, training)
        # Made for every look anew: kept, it would take more room than the people, and saves little.
        problem = make_partitioned(frame, people.map(of_block), problem)
    return estimator._fit_problem(X, y, training, problem, solver)


def _refuse_what_is_no_sum(estimator, constraints, solver, people):
    remedy = "; fit a sample of the people in memory, or change it."
    if over_pairs(resolve_name(OBJECTIVES, estimator.loss, "loss")):
        raise ValueError(
            f"Pairs of people in parts cannot be compared, as loss={estimator.loss!r} does{remedy}"
        )
    if not isinstance(solver, SQP) or solver.hessian != "exact":
        raise ValueError(f"People in parts need solver='sqp', got {estimator.solver!r}{remedy}")
    if estimator.enforcement not in estimator._enforced_in_parts:
        raise ValueError(
            "People in parts need enforcement='auto' or None, got "
            f"{estimator.enforcement!r}{remedy}"
        )
    if estimator.confidence_level is not None or estimator.group_interactions:
        raise ValueError(
            "People in parts need confidence_level=None and group_interactions=False, got "
            f"{estimator.confidence_level!r} and {estimator.group_interactions!r}{remedy}"
        )
    are_ranks = [type(constraint) is PartialStatisticalParity for constraint in constraints]
    if any(are_ranks) and not all(are_ranks):
        raise ValueError(
            "Percentiles of people in parts cannot be compared together with rates, but the "
            f"constraints are {constraints}{remedy}"
        )
    for constraint, is_ranked in zip(constraints, are_ranks, strict=True):
        if not is_ranked and type(constraint) not in _BY_GROUP_AND_CLASS:
            raise ValueError(
                "What is compared of people in parts must be a mean over those of a group and "
                "class, or the shares of groups above all thresholds ('statistical_parity' on an "
                f"interval), so that parts add up, which that of {constraint} is not"
                f"{_INSTEAD.get(type(constraint), '')}{remedy}"
            )
    if constraints and people["sensitive_features"] is None:
        raise ValueError(
            "People in parts are compared by sensitive_features, but none came; pass a collection "
            "with the same parts; ConstrainedERMClassifier(None) and its like compare nobody."
        )


def _frame(estimator, constraints, training, moments):
    """The problem of the representatives, whose scores are not asked for."""
    model = LinearModel.from_moments(*moments, estimator.fit_intercept)
    factors = class_weights(estimator.class_weight, training)
    problem = estimator._problem_of(model, training, constraints, factors)
    return replace(problem, total=float(problem.weights.sum()))


def _problem(frame, known, training, people):
    """People of a block as a part of the problem of all."""
    return _among(frame, training, *people.columns(known, training))


def _among(frame, training, X, target, places, weights):
    """Some people, by who represents them, as a part of the problem of all."""
    factors = weights / training.weights[places]
    return replace(
        frame,
        model=frame.model.replace_features(X),
        target=target,
        weights=frame.weights[places] * factors,
        alpha=0.0,
        constraint=frame.constraint.subset(places, factors, target),
    )


def _some(people, frame, chosen):
    """The problem among some people, of whom there are enough of every group and class."""
    everybody = chosen.counts.sum()
    rate = min(1.0, np.clip(_SHARE * everybody, *_REHEARSED) / everybody)
    rates = np.maximum(rate, np.minimum(1.0, _LEAST / chosen.counts))
    drawn = people.gather(_draw, chosen.places, chosen.training, rates)
    X, *others = (np.concatenate(own) for own in zip(*drawn, strict=True))
    problem = _among(frame, chosen.training, X.astype(np.float64, copy=False), *others)
    whole = problem.take(np.arange(len(problem.target)))
    return replace(whole, alpha=frame.alpha, total=None)


def _draw(people, known, training, rates):
    """Some people of a block, with features as stored, who weigh as many as they are drawn from."""
    X, target, places, weights = people.columns(known, training)
    if not len(X):
        return people.X, target, places, weights
    # A block draws the same people whatever lies beside it, and not those at the same places.
    lots = np.random.default_rng([len(X), *X[0].view(np.uint32).tolist()]).uniform(size=len(X))
    own = rates[places]
    rows = np.flatnonzero(lots < own)
    return people.X[rows], target[rows], places[rows], weights[rows] / own[rows]
