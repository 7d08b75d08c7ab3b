"""Linear models of partitioned samples: collections of Dask, or files.

Constraints are bound to one sample per group and class (`skfair.training._representatives`). Two
passes come before those of the fit: a summary, and a subsample for the warm start.
"""

from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.base import is_regressor

from skfair.constraints import PartialDemographicParity, PartialStatisticalParity
from skfair.groups import Summary
from skfair.losses import OBJECTIVES, LogisticLoss, over_pairs
from skfair.models import LinearModel
from skfair.partitions import SUBSAMPLE_SIZES, partitions_of, sampling_rates
from skfair.solvers import SQP
from skfair.surrogates import Step
from skfair.training._input import loss_weights
from skfair.training._partitioned import make_partitioned
from skfair.training._representatives import check_cells, encode_cells, represent, sort_key
from skfair.utils._messages import resolve_name

_SHARE = 1 / 256
"""Share of the samples in the subsample, between the limits of its size."""

_SMALL = SUBSAMPLE_SIZES["linear, partitions"][0]
"""Samples up to which all are gathered and fitted in memory."""

_ALTERNATIVES = {
    PartialDemographicParity: "; 'statistical_parity' bounds the same difference at every "
    "threshold, that of decisions among them"
}
"""What can be fitted to partitioned samples in place of a constraint."""


def fit_collected(estimator, X, y, columns, constraints):
    """The linear classifier or regressor, fitted to partitioned samples.

    Columns are ``sensitive_features`` and ``sample_weight``. Target and scores of a regressor are
    in units of the target's spread. Raises ValueError for what is no sum over samples, or for what
    is refused in memory; the message names the partition.
    """
    solver = estimator._chosen_solver()
    _check_is_sum(estimator, constraints, solver, columns)
    # Summary of all samples, and the problem of their representatives.
    rows = partitions_of(estimator.n_jobs, X=X, y=y, **columns)
    is_real = is_regressor(estimator)
    blocks = rows.map(encode_cells, type(estimator).__name__, is_real).persist()
    try:
        summary = Summary(blocks, check_cells, sort_key)
        training = represent(summary, estimator, is_real, bool(constraints))
        frame = _problem_of_representatives(estimator, constraints, training, summary)
        # The problem on a subsample, which is everything if there are few samples.
        problem = _draw_subsample(blocks, frame, training, summary)
        if summary.counts.sum() > _SMALL:
            make_block = partial(_make_problem, frame, training, summary.positions)
            # Made again in every pass: stored, it would need more memory than the samples.
            problem = make_partitioned(frame, blocks.map(make_block), problem)
        fitted = estimator._fit(X, y, training, constraints, problem=problem)
        summary.check_unchanged(blocks)
        return fitted
    finally:
        blocks.release()


def _check_is_sum(estimator, constraints, solver, columns):
    """Refuse settings and constraints that are no sums over samples."""
    remedy = "; fit a subsample in memory, or change it."
    if over_pairs(resolve_name(OBJECTIVES, estimator.loss, "loss")):
        raise ValueError(
            "Partitioned samples cannot be compared in pairs, as "
            f"loss={estimator.loss!r} does{remedy}"
        )
    if not isinstance(solver, SQP) or solver.hessian != "exact":
        raise ValueError(f"Partitioned samples need solver='sqp', got {estimator.solver!r}{remedy}")
    if estimator.enforcement not in estimator._partitioned_enforcements:
        raise ValueError(
            "Partitioned samples need enforcement='auto' or None, got "
            f"{estimator.enforcement!r}{remedy}"
        )
    if estimator.confidence_level is not None or estimator.group_interactions:
        raise ValueError(
            "Partitioned samples need confidence_level=None and group_interactions=False, got "
            f"{estimator.confidence_level!r} and {estimator.group_interactions!r}{remedy}"
        )
    compare_ranks = [type(constraint) is PartialStatisticalParity for constraint in constraints]
    if any(compare_ranks) and not all(compare_ranks):
        raise ValueError(
            "Percentiles of partitioned samples cannot be compared together with rates, but the "
            f"constraints are {constraints}{remedy}"
        )
    for constraint, compares_ranks in zip(constraints, compare_ranks, strict=True):
        if not compares_ranks and not _is_by_group_and_class(constraint):
            raise ValueError(
                f"{constraint} cannot be fitted to partitioned samples: it is neither on means "
                "over groups and classes, nor on the shares of groups above all thresholds "
                "('statistical_parity' on an interval), which are sums over partitions"
                f"{_ALTERNATIVES.get(type(constraint), '')}{remedy}"
            )
    if constraints and columns["sensitive_features"] is None:
        raise ValueError(
            "Constraints on partitioned samples need sensitive_features, but none were passed; "
            "pass a collection with the same partitions, or fit without constraint, as "
            "ConstrainedERMClassifier(None) does."
        )


def _is_by_group_and_class(constraint):
    """Whether a constraint is on rates whose cells depend on groups and classes alone."""
    return constraint.rate(Step(), LogisticLoss()) is not None and not constraint.uses_features


def _problem_of_representatives(estimator, constraints, training, summary):
    """The problem of the representatives; it has the model of all samples, but no scores."""
    n_features = len(summary.mean) - (training.classes is None)
    moments = summary.mean[:n_features], summary.variance[:n_features]
    model = LinearModel.from_moments(*moments, estimator.fit_intercept)
    weights = loss_weights(estimator.class_weight, training)
    problem = estimator._problem_of(model, training, constraints, weights)
    return replace(problem, total=float(problem.weights.sum()))


def _make_problem(frame, training, positions, block):
    """Share of a block's samples in the problem of all."""
    return _share_of(frame, training, *_columns(block, training, positions))


def _columns(block, training, positions):
    """Features in float64, targets, positions of representatives, and weights of a block."""
    X = np.require(block.X, np.float64, "A")  # aligned, as models expect
    codes = block.codes_among(positions)
    is_real = block.target is not None
    target = training.unit.to_unit(block.target) if is_real else training.samples.target[codes]
    weights = np.ones(len(codes)) if block.weights is None else block.weights
    return X, target, codes, weights


def _share_of(frame, training, X, target, codes, weights):
    """Share of samples, given their representatives, in the problem of all."""
    factors = weights / training.samples.weights[codes]
    return replace(
        frame,
        model=frame.model.replace_features(X),
        target=target,
        weights=frame.weights[codes] * factors,
        alpha=0.0,
        constraint=frame.constraint.subset(codes, factors, target),
    )


def _draw_subsample(blocks, frame, training, summary):
    """The problem on a subsample, with enough samples of every cell."""
    size = np.clip(_SHARE * summary.counts.sum(), *SUBSAMPLE_SIZES["linear, partitions"])
    rates = sampling_rates(summary.counts, size)
    drawn = blocks.gather(_draw, training, summary.positions, rates)
    X, *columns = (np.concatenate(column) for column in zip(*drawn, strict=True))
    problem = _share_of(frame, training, X.astype(np.float64, copy=False), *columns)
    problem = problem.take(np.arange(len(problem.target)))  # weights of events add up to 1 again
    return replace(problem, alpha=frame.alpha, total=None)


def _draw(block, training, positions, rates):
    """Samples of a block, with features as stored, weighted up to those that they are drawn from.

    A block draws the same samples whatever blocks there are besides it.
    """
    X, target, codes, weights = _columns(block, training, positions)
    if not len(X):
        return block.X, target, codes, weights
    seed = [len(X), *X[0].view(np.uint32).tolist()]
    rates = rates[codes]
    rows = np.flatnonzero(np.random.default_rng(seed).uniform(size=len(X)) < rates)
    return block.X[rows], target[rows], codes[rows], weights[rows] / rates[rows]
