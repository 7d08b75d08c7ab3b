"""Warnings for constraints that cost most of what the model improves on a constant."""

from dataclasses import replace

import numpy as np

from skfair.constraints import ConstraintSystem
from skfair.losses import over_pairs
from skfair.solvers import SQP
from skfair.utils._messages import warn

_RARE, _NOT_RARE, _MULTIPLE = 0.01, 0.02, 10.0
"""A class is rare if the model gives it to less than the first share of the samples, and a fit
without constraint to at least the second; or a fit without constraint to ten times as many."""

_PLAIN = SQP(max_iter=10, tol=1e-3)
_MAX_SAMPLES = 1 << 13
"""The fit without constraint is a few Newton steps on a subsample of this size, which determines
its accuracy to two digits in a small share of the time of a fit."""


def warn_of_cost_to(task, candidate, is_real, is_guaranteed=False):
    """`warn_of_cost` for the task of a linear model, with a fit without constraint made here.

    It is fitted to a subsample, and both are judged on all samples, or on the subsample of the warm
    start where there are very many. Where the population is to keep the tolerance, rare decisions
    are warned of, too.
    """
    if candidate.is_plain or not len(task.constraint) or over_pairs(task.problem.loss):
        return
    problem = task.problem.subsample
    free = replace(problem, constraint=ConstraintSystem(()))
    if len(free.target) > _MAX_SAMPLES:
        # The seed is fixed: fits of the same samples give the same warning.
        free = free.take(np.random.default_rng(0).integers(len(free.target), size=_MAX_SAMPLES))
    plain = _PLAIN.solve(free, task.start).x
    warn_of_cost(problem, candidate.parameters, plain, is_real)
    if is_guaranteed:
        scores = (problem.predict_scores(one) for one in (candidate.parameters, plain))
        warn_of_rare_decisions(problem.mean_weights, *scores)


def warn_of_rare_decisions(weights, scores, plain_scores):
    """Warn if decisions are nearly constant, and those without constraint are not.

    Their rates are nearly equal in all groups of any population, so that a guarantee of them says
    little. Constant decisions have a warning of their own.
    """
    rate, plain = (weights @ (one > 0) / weights.sum() for one in (scores, plain_scores))
    is_positive_rare = _is_rare(rate, plain)
    if not is_positive_rare and not _is_rare(1.0 - rate, 1.0 - plain):
        return
    which = "positive" if is_positive_rare else "negative"
    share, without = (one if is_positive_rare else 1.0 - one for one in (rate, plain))
    warn(
        f"Decisions are nearly constant: the model gives {share:.2%} of the training samples the "
        f"{which} class, and without constraint {without:.2%}. Rates of nearly constant decisions "
        "are equal in any population, so that the guarantee of confidence_level says little here. "
        "Raise the tolerance, pass more samples, lower confidence_level, or merge or leave out "
        "small groups (min_group_size)."
    )


def _is_rare(share, plain):
    """Whether a class is rare, and far more so than without constraint."""
    return (0.0 < share < _RARE and plain >= _NOT_RARE) or 0.0 < _MULTIPLE * share < plain


def warn_of_cost(problem, parameters, plain, is_real=False):
    """Warn if a model is nearer to a constant prediction than to the fit without constraint.

    A constant prediction is not warned of, nor a fit without constraint that is better than one by
    less than two standard errors. With ``is_real`` losses are compared, as for real targets, and
    not accuracies.
    """
    # Error or loss of the model, of the fit without constraint, and of the best constant.
    scores, free = problem.predict_scores(parameters), problem.predict_scores(plain)
    measure = _loss if is_real else _error
    taken, unconstrained = measure(problem, scores), measure(problem, free)
    constant = min(measure(problem, one) for one in _constants(problem, is_real))
    # Standard deviation of the constant's errors; that of losses is about their mean.
    spread = constant if is_real else np.sqrt(constant * max(0.0, 1.0 - constant))
    noise = 2.0 * spread * np.sqrt((problem.mean_weights**2).sum())
    is_constant = np.ptp(scores) == 0 if is_real else taken == constant
    if is_constant or constant - unconstrained <= noise:
        return
    # Half of the improvement on a constant is left: not worth a warning.
    if taken - unconstrained <= (constant - unconstrained) / 2:
        return
    names = "mean loss" if is_real else "accuracy"
    shown = [one if is_real else 1.0 - one for one in (taken, unconstrained, constant)]
    warn(
        "The constraint costs more than half of what the model improves on a constant: its "
        f"{names} is {shown[0]:.3g} on the training data, that without constraint {shown[1]:.3g}, "
        f"that of the best constant prediction {shown[2]:.3g}. "
        f"{_costly_group(problem.constraint, free)}, merge groups, or leave small ones out "
        "(min_group_size)."
    )


def _error(problem, scores):
    """Weighted share of wrong decisions; of several classes each has a score per sample."""
    wrong = (scores > 0) != (problem.target > 0)
    n_classes = max(2, len(problem.model.constants()))
    # A wrong class is two wrong decisions.
    return float(problem.mean_weights @ wrong) * n_classes / 2


def _loss(problem, scores):
    """Weighted mean loss."""
    return float(problem.mean_weights @ problem.losses(scores).value)


def _constants(problem, is_real):
    """Scores of constant predictions, the best of them among them."""
    if not is_real:
        return [problem.predict_scores(one) for one in problem.model.constants()]
    n_scores = len(problem.target)
    if problem.model.intercept_direction() is None:
        return [np.zeros(n_scores)]
    # The best constant is the mean for squared, the median for absolute losses.
    order = np.argsort(problem.target)
    median = order[np.searchsorted(np.cumsum(problem.mean_weights[order]), 0.5)]
    levels = problem.mean_weights @ problem.target, problem.target[median]
    return [np.full(n_scores, level) for level in levels]


def _costly_group(constraint, scores):
    """Constraint and group that the fit without constraint violates most, and first advice."""
    # The constraint that is violated most.
    excess = np.nan_to_num(constraint.gaps(scores) - constraint.tolerances)
    part = constraint[int(np.argmax(excess))]
    report = part.report(scores).dropna(subset="tolerance").reset_index(drop=True)
    # The group whose rate is farthest from the mean rate of its cell.
    report["total"] = report["rate"] * report["n"]
    sums = report.groupby(["cell", "threshold"], dropna=False)[["total", "n"]].transform("sum")
    mean = sums["total"] / sums["n"]
    row = int((report["rate"] - mean).abs().to_numpy().argmax())
    cell, group, n, rate = (report[name].tolist()[row] for name in ("cell", "group", "n", "rate"))
    where = "" if cell == "all" else f"{cell} of "
    bound, advice = f"tolerance of {part.tolerance:g}", "Raise the tolerance"
    if part.is_ratio:
        bound, advice = f"ratio of {1.0 - part.tolerance:g}", "Lower the ratio"
    return (
        f"Without constraint, {part.name} is farthest from its {bound}, "
        f"with {where}group {group!r} (n={n}) at {rate:.3g} where the mean of all groups is "
        f"{mean[row]:.3g}. {advice}"
    )
