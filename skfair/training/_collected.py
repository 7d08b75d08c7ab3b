"""Linear models of people who lie in parts: collections of Dask, or of files.

Constraints are bound to those who represent everybody, as `skfair.training._representatives` has
it. Two looks at everybody come before those of the fit: a census, and the moments of the columns.
"""

from dataclasses import replace

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
from skfair.parts import parts_of
from skfair.solvers import SQP
from skfair.training._in_parts import problem_of_parts
from skfair.training._input import class_weights
from skfair.training._representatives import Representatives, Represented, by_representatives
from skfair.utils._messages import by_name

_REHEARSED = 1 << 15
"""How many people the client tries solutions on."""

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
        As `parts_of` takes them.
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
    parts = parts_of(estimator.n_jobs, X=X, y=y, **people)
    chosen = Representatives(parts, estimator, is_regressor(estimator), bool(constraints))
    training = chosen.training
    shards = parts.each(by_representatives, chosen.labels, chosen.kinds, chosen.places, training)
    frame = _frame(estimator, constraints, training, _model(estimator, shards, chosen))
    few = _some(shards, frame, chosen)
    problem = problem_of_parts(frame, shards.each(_problem, frame, training.weights), few)
    return estimator._fit_problem(X, y, training, problem, solver)


def _refuse_what_is_no_sum(estimator, constraints, solver, people):
    remedy = "; fit a sample of the people in memory, or change it."
    if over_pairs(by_name(OBJECTIVES, estimator.loss, "loss")):
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


def _model(estimator, shards, chosen):
    """The model of nobody that everybody's columns are standardised by."""
    total = chosen.training.weights.sum()
    missed, squares = shards.total(_deviations, chosen.center)
    missed, squares = missed / total, squares / total
    variance = np.maximum(0.0, squares - missed**2)
    return LinearModel.of_moments(chosen.center + missed, variance, estimator.fit_intercept)


def _deviations(shard, center):
    deviations = shard.X - center
    return shard.weights @ deviations, shard.weights @ deviations**2


def _frame(estimator, constraints, training, model):
    """The problem of the representatives, whose scores are not asked for."""
    factors = class_weights(estimator.class_weight, training)
    problem = estimator._problem_of(model, training, constraints, factors)
    return replace(problem, total=float(problem.weights.sum()))


def _problem(shard, frame, totals):
    """People of a part as a part of the problem of all."""
    factors = shard.weights / totals[shard.places]
    return replace(
        frame,
        model=frame.model.on(shard.X),
        target=shard.target,
        weights=frame.weights[shard.places] * factors,
        alpha=0.0,
        constraint=frame.constraint.part(shard.places, factors, shard.target),
    )


def _some(shards, frame, chosen):
    """The problem among some people, of whom there are enough of every group and class."""
    rate = min(1.0, _REHEARSED / chosen.counts.sum())
    rates = np.maximum(rate, np.minimum(1.0, _LEAST / chosen.counts))
    drawn = shards.collect(_draw, rates)
    some = Represented(*(np.concatenate(own) for own in zip(*drawn, strict=True)))
    problem = _problem(some, frame, chosen.training.weights)
    everybody = problem.take(np.arange(len(some.weights)))
    return replace(everybody, alpha=frame.alpha, total=None)


def _draw(shard, rates):
    """Some people of a part, who weigh as many as they were drawn from."""
    if not len(shard.X):
        return shard.X, shard.target, shard.places, shard.weights
    # A part draws the same people whatever lies beside it, and not those at the same places.
    first = np.ascontiguousarray(shard.X[0], dtype=np.float64).view(np.uint32)
    lots = np.random.default_rng([len(shard.X), *first.tolist()]).uniform(size=len(shard.X))
    own = rates[shard.places]
    rows = np.flatnonzero(lots < own)
    weights = shard.weights[rows] / own[rows]
    return shard.X[rows], shard.target[rows], shard.places[rows], weights
