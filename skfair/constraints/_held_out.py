"""Constraints bound to predictions that were made, and limits of their gaps as metrics."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_consistent_length

from skfair._groups.samples import check_metric_input
from skfair._statistics.estimates import check_level
from skfair._statistics.gaps import gap_upper_limit
from skfair._utils.checks import join_names, warn
from skfair._utils.sklearn import safe_indexing
from skfair.constraints._constraint import (
    Constraint,
    bind_all,
    fill_tolerance,
    refuse_tolerances_by_attribute,
)
from skfair.losses import LogisticLoss, step_function
from skfair.metrics import METRICS, Rate, find_positive
from skfair.metrics._calibration import check_unit_range
from skfair.metrics._group_metrics import to_numbers
from skfair.metrics._rates import counted_values, is_share
from skfair.metrics._registry import Metric
from skfair.metrics._scoring import make_limit_metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skfair._bound.bound import BoundConstraint
    from skfair._groups import Samples
    from skfair._groups.groups import Groups
    from skfair._utils.tables import TableLike


def metric_kind(constraint: Constraint) -> str:
    """The predictions that the constraint's metric takes, as `Metric.kind`.

    A constraint without a public metric takes classes and values of the decision function, and one
    on attention takes that.
    """
    if constraint.counts_decisions:
        return "classification"
    if constraint.unit == "attention":
        return "score"
    if constraint.unit == "probability":
        return "labelled_probability"
    if constraint.applies_to == ("numbers",):
        return "regression"
    return METRICS[constraint.metric].kind if constraint.metric else "labelled_margin"


def target_and_scores(
    kind: str,
    columns: Sequence[Any],
    *,
    pos_label: int | str | None = None,
    threshold: float = 0.0,
    is_real: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Targets and scores that a constraint can be bound to, both (n_samples,).

    `columns` are the positional arguments of a metric of this `Metric.kind`. Scores are shifted by
    the threshold, so that decisions are made at 0. With `is_real` these are real targets and
    predictions of them.
    """
    if is_real or kind == "regression":
        truth, predicted = columns
        return to_numbers(truth, "y"), to_numbers(predicted, "predictions")
    if kind == "classification":
        truth, predicted = columns
        positive = find_positive(truth, predicted, pos_label=pos_label)
        return np.where(truth == positive, 1.0, -1.0), np.where(predicted == positive, 1.0, -1.0)
    if kind == "labelled_probability":
        check_unit_range(to_numbers(columns[-1], "y_score"), "y_score")
    # Move the threshold to 0, where constraints decide.
    scores = np.asarray(columns[-1], dtype=float) - threshold
    if len(columns) == 1:
        return np.ones(len(scores)), scores
    positive = find_positive(columns[0], pos_label=pos_label)
    return np.where(columns[0] == positive, 1.0, -1.0), scores


def bind_constraint(
    constraint: Constraint,
    predictions: np.ndarray | tuple[np.ndarray, ...],
    sensitive_features: TableLike | Groups,
    sample_weight: np.ndarray | None,
    X: TableLike | None = None,
    clusters: np.ndarray | None = None,
    **params: Any,
) -> tuple[BoundConstraint, np.ndarray]:
    """The constraint bound to the held-out samples, and their scores.

    `predictions` are the positional arguments of the constraint's metric, `params` those of
    `target_and_scores`. X is for constraints that use features. Limits count samples of equal code
    in `clusters` as one.
    """
    rows = np.arange(len(predictions[0]))
    # Samples of zero weight are left out; `rows` shows which are kept, to select those of X.
    by_name = {f"prediction {i}": column for i, column in enumerate(predictions)}
    samples, (*columns, rows) = check_metric_input(
        sensitive_features, sample_weight, **by_name, rows=rows
    )
    if samples.groups.multiplicity is not None and not constraint.counts_decisions:
        raise ValueError(
            f"{constraint} compares scores of single samples, but these are counts of samples. "
            "Pass a constraint on decisions, or the samples one by one."
        )
    target, scores = target_and_scores(metric_kind(constraint), columns, **params)
    if X is not None:
        check_consistent_length(predictions[0], X)
        if len(rows) < len(predictions[0]):
            X = safe_indexing(X, rows)
    if clusters is not None:
        samples = samples._replace(clusters=clusters[rows])
    return bind_decisions(constraint, samples._replace(target=target, X=X), scores), scores


def bind_decisions(constraint: Constraint, samples: Samples, scores: np.ndarray) -> BoundConstraint:
    """The constraint bound to held-out samples, without a surrogate.

    Groups are compared by rates whose denominator counts enough samples.
    """
    refuse_tolerances_by_attribute(constraint, "scorers and fronts")
    loss = LogisticLoss()
    counted = np.ones(len(scores), dtype=bool)
    for denominator in constraint.terms(step_function, loss)[1:]:
        counted &= denominator(scores, samples.target).value > 0
    size = getattr(constraint, "min_group_size", None) or 1
    samples = samples._replace(min_group_size=size, where=counted)
    bound = bind_all([fill_tolerance(constraint, 1.0)], [samples], step_function, loss)[0][0]
    if left_out := bound.sums.cells.empty:
        named = join_names(
            f"{' × '.join(group) if isinstance(group, tuple) else group!r} "
            f"({'' if cell == 'all' else cell + ': '}{n})"
            for (cell, group), n in left_out.items()
        )
        warn(
            f"{len(left_out)} rate(s) of groups count fewer than min_group_size={size} samples, "
            f"and nothing is said of them: {named}. Pass min_group_size=1 to compare all groups."
        )
    return bound


# The upper limit of a gap as a metric, for scorers.


@make_limit_metric.register(Constraint)
def _make_limit_metric(constraint: Constraint, confidence_level: float) -> Metric:
    """The metric whose value is the upper confidence limit of the gap of a constraint."""
    function = partial(_gap_upper_limit, constraint=constraint, level=check_level(confidence_level))
    return Metric(function, metric_kind(constraint), greater_is_better=False, best=0.0)


def _gap_upper_limit(
    *predictions: np.ndarray,
    sensitive_features: TableLike,
    constraint: Constraint,
    level: float,
    sample_weight: np.ndarray | None = None,
    **params: Any,
) -> float:
    """Upper limit of the gap of predictions, as a metric computes it."""
    bound, scores = bind_constraint(
        constraint, predictions, sensitive_features, sample_weight, **params
    )
    return gap_upper_limit(*bound.estimates(scores), level)


# What a constraint averages of predictions, and whether that depends on the outcome.


def evaluate_cells(constraint: Constraint, samples: Samples, scores: np.ndarray) -> tuple[Any, ...]:
    """Masks of the constraint's cells, and the value that it averages for each sample.

    A share is averaged over the samples that its denominator counts: these are the cells then.
    """
    cells = {name: np.asarray(mask) for name, mask in constraint.cells(samples).items()}
    if np.sum([*cells.values()], axis=0, dtype=int).max(initial=0) > 1:
        raise ValueError(
            f"The cells of {constraint} must be disjoint to be monitored together, but one sample "
            "is in several of them. Use one monitor per cell."
        )
    values, *sizes = (
        np.broadcast_to(np.asarray(term(scores, samples.target).value, np.float64), scores.shape)
        for term in constraint.terms(step_function, LogisticLoss())
    )
    if not sizes or not is_share(values, sizes[0]):
        return cells, values
    cells = {name: mask & (sizes[0] > 0) for name, mask in cells.items()}
    return cells, counted_values(values, sizes[0])


def outcome_use(constraint: Constraint, samples: Samples) -> str:
    """What of a constraint depends on the outcome: "nothing", its "cells" or its "values"."""
    scores = np.linspace(-1.3, 1.7, len(samples.weights))  # 0 may have equal losses
    (cells, values), (other_cells, other_values) = (
        evaluate_cells(constraint, samples._replace(target=np.full(len(scores), outcome)), scores)
        for outcome in (1.0, -1.0)
    )
    if not np.array_equal(values, other_values):
        return "values"
    same = cells.keys() == other_cells.keys() and all(
        np.array_equal(cells[name], other_cells[name]) for name in cells
    )
    return "nothing" if same else "cells"


def compares_both_decisions(constraint: Constraint) -> bool:
    """Whether a constraint on outcomes compares rates that count samples of both decisions."""
    rate = constraint.compared_rate
    is_of_one = isinstance(rate, Rate) and (rate.decision is not None or not rate.needs_target)
    return constraint.counts_decisions and not is_of_one
