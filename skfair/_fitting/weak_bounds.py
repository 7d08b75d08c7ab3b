"""Warnings of bounds that a fit keeps without effect, or only by chance.

A fit that keeps its bound need not be fair by it: the bound may hold for any decisions like those
of the model, or the training data may be too few to tell. Each sentence states the numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skfair._utils.checks import bound_text, limit_text, number_text, warn
from skfair.exceptions import ConstraintCostWarning

if TYPE_CHECKING:
    from skfair._bound.bound import BoundConstraint, ConstraintSystem


_RECALL_NAMES = {"EqualOpportunity", "EqualizedOdds", "RateParity('true_positive_rate')"}
"""Names of constraints on true positive rates."""


class _ComparedRates(NamedTuple):
    """The lines of a report that a constraint compares: arrays of shape (n_rates,), and labels."""

    event_names: np.ndarray
    groups: list
    estimates: np.ndarray
    counts: np.ndarray


def warn_of_weak_bounds(
    constraints: ConstraintSystem | list[BoundConstraint],
    columns: dict[str, Any],
    scores: np.ndarray | None,
    is_binding: bool,
) -> None:
    """Warn of bounds that cannot bind, and of bounds that only chance keeps.

    `columns` are those of the report. `scores` are those of the model; None if they are not in
    memory. `is_binding` is whether the constraints have changed the model and are kept: else no
    sentence is about chance.
    """
    is_bound = ~np.isnan(np.asarray(columns["tolerance"], dtype=float))
    for one in {bound.name: bound for bound in constraints}.values():
        # The lines of the report that the constraint compares.
        rows = np.flatnonzero(is_bound & (np.asarray(columns["constraint"]) == one.name))
        rates = _ComparedRates(
            event_names=np.asarray(columns["event"])[rows],
            groups=[columns["group"][row] for row in rows],
            estimates=np.asarray(columns["estimate"])[rows],
            counts=np.asarray(columns["n"])[rows],
        )
        if not len(rates.estimates):
            continue
        # Sentences are empty where they do not apply.
        sentences = []
        if one.sums.metric_input == "ranks" and one.gap.is_correctable:
            sentences.append((_describe_empty_interval(one, rates, scores), UserWarning))
        if one.name in _RECALL_NAMES and one.gap.compares != "bound":
            sentences.append((_describe_low_recall(one, rates), UserWarning))
        if is_binding and one.sums.metric_input == "decisions" and one.gap.compares != "bound":
            sentences.append((_describe_sample_effect(one, rates), ConstraintCostWarning))
            if scores is not None and len(scores) and one.sums.is_quotient:
                sentences.append((_describe_small_denominator(one, scores), ConstraintCostWarning))
        for sentence, category in sentences:
            if sentence:
                warn(sentence, category)


def _describe_empty_interval(
    one: BoundConstraint, rates: _ComparedRates, scores: np.ndarray | None
) -> str:
    """The sentence for an interval of percentiles without a decision; empty if there is one."""
    is_same = [
        np.ptp(rates.estimates[rates.event_names == event]) == 0 for event in set(rates.event_names)
    ]
    if not (all(is_same) and np.isin(rates.estimates, (0.0, 1.0)).all()):
        return ""
    share = ""
    if scores is not None and len(scores):
        weights = one.sums.samples.weights
        accepted = weights @ (scores > one.gap.criterion.threshold) / weights.sum()
        if accepted in (0.0, 1.0):  # constant decisions have a warning of their own
            return ""
        share = f", as the model accepts {accepted:.1%} of the training samples"
    values = " or ".join(number_text(value) for value in np.unique(rates.estimates))
    return (
        f"The {_state_bound(one)} of {one.name} binds nothing: its interval holds no decision, so "
        f"that every estimate is {values}{share}; pass an interval that contains the share that is "
        "accepted."
    )


def _describe_low_recall(one: BoundConstraint, rates: _ComparedRates) -> str:
    """The sentence for a gap that is small as hardly any positives are found; empty otherwise."""
    estimates = np.where(rates.event_names == "positives", rates.estimates, -np.inf)
    highest = np.argmax(estimates)
    # Hardly any positives are found at true positive rates up to .1.
    limit = 0.0 if one.gap.is_ratio else min(one.tolerance, 0.1)
    if not 0.0 <= estimates[highest] <= limit:
        return ""
    return (
        f"The {_state_bound(one)} of {one.name} is kept as hardly any positives are found: the "
        f"largest true positive rate of a group is {limit_text(estimates[highest])} (group "
        f"{rates.groups[highest]!r}, n={rates.counts[highest]}), and "
        "rates up to the tolerance differ by no more; pass class_weight='balanced', or add a lower "
        "bound such as MinimumRate('true_positive_rate', 0.5)."
    )


def _describe_sample_effect(one: BoundConstraint, rates: _ComparedRates) -> str:
    """The sentence for a tolerance below what one sample changes; empty if it is above."""
    smallest = np.argmin(rates.counts)
    n = rates.counts[smallest]
    effect = 1.0 / max(n, 1)
    if one.gap.is_ratio:  # relative to the largest rate
        effect /= max(np.nanmax(rates.estimates), 1e-12)
    # A change below .001 is no reason to warn.
    if one.sums.is_quotient or effect < 1e-3 or one.tolerance >= effect:
        return ""
    event = rates.event_names[smallest]
    where = "" if event == "all" else f"{event} of "
    return (
        f"The {_state_bound(one)} of {one.name} is finer than one sample: in {where}group "
        f"{rates.groups[smallest]!r} (n={n}) a single sample changes the "
        f"{'ratio' if one.gap.is_ratio else 'rate'} by {number_text(effect)}, so that chance "
        "decides which models keep the bound and what it costs; pass a "
        f"{'lower ratio' if one.gap.is_ratio else 'larger tolerance'}, or leave small groups out "
        "(min_group_size)."
    )


def _describe_small_denominator(one: BoundConstraint, scores: np.ndarray) -> str:
    """The sentence for a quotient over few samples, such as a precision; empty otherwise."""
    rates = one.sums.measure(scores)
    shares = np.split(one.sums.exact_means(scores), 2)[1]
    labels = one.sums.cells.labels
    n = np.asarray(one.sums.cells.counts)[: len(labels)]
    counts = n * shares[: len(labels)]
    # All groups are taken to have one rate, neither 0 nor 1: that of few samples may be by chance.
    pooled = (np.nansum(counts * rates[: len(labels)]) + 1.0) / (counts.sum() + 2.0)
    pooled = min(max(pooled, 0.0), 1.0)
    errors = np.sqrt(pooled * (1.0 - pooled) / np.maximum(counts, 1.0))
    if one.gap.is_ratio:
        errors /= max(pooled, 1e-12)
    # More than a tenth of a group in the denominator are not few samples.
    errors[shares[: len(labels)] > 0.1] = 0.0
    worst = np.argmax(errors)
    if errors[worst] <= one.tolerance:
        return ""
    return (
        f"The {_state_bound(one)} of {one.name} is less than chance: in group "
        f"{labels[worst][1]!r} the rate is one of {counts[worst]:.0f} samples of {n[worst]}, with "
        f"a standard error of {number_text(errors[worst])}, so that new data will show larger "
        "differences; raise the tolerance, or add a lower bound such as "
        "MinimumRate('selection_rate', 0.2)."
    )


def _state_bound(one: BoundConstraint) -> str:
    """The bound of a constraint and what it is called."""
    return f"{one.gap.bounded} of {bound_text(one.gap.state(one.tolerance))}"
