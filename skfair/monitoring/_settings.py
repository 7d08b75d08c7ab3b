"""Parameters of a monitor, as its first batch fixes them, and what follows from them."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from skfair.constraints import (
    CONSTRAINTS,
    PARTIAL_CRITERIA,
    BoundedGroupLoss,
    Constraint,
    RankingParity,
)
from skfair.inference import check_level
from skfair.losses import LogisticLoss
from skfair.monitoring._hypotheses import Differences, UpperBounds
from skfair.surrogates import Step
from skfair.utils._messages import resolve_name
from skfair.utils._tolerance import check_tolerance

_N_LEVELS = 60
"""Levels of the gap, besides the tolerance, at which intervals can end."""

_FIRST_SHARE = 0.9
"""Share of the error before the first restart, if there are any; all later ones have the rest."""


@dataclass(frozen=True, eq=False)
class Settings:
    """Checked parameters of a monitor; the constraint is a copy of what was passed."""

    constraint: Any
    tolerance: float
    confidence_level: float
    run_length: float | None
    pos_label: Any
    delay: Any
    value_range: tuple
    max_weight: float

    def changes(self, params):
        """Names of the parameters that have another value than these."""
        params = params | {"constraint": _resolve_constraint(params["constraint"])}
        return [name for name, value in params.items() if not _equal(getattr(self, name), value)]

    @cached_property
    def hypothesis(self):
        """What certificates and alarms are about."""
        is_bound = isinstance(self.constraint, BoundedGroupLoss)
        return UpperBounds() if is_bound else Differences()

    @cached_property
    def range(self):
        """Smallest and largest value that is averaged."""
        return (0.0, 1.0) if self.constraint.counts_decisions else self.value_range

    @cached_property
    def scaled_tolerance(self):
        """The tolerance as a level between 0 and 1."""
        low, high = self.range
        return (self.tolerance - (0.0 if self.hypothesis.is_paired else low)) / (high - low)

    @cached_property
    def levels(self):
        """Ascending levels of the gap that are tested, denser near 0, where tolerances are."""
        levels = ((np.arange(_N_LEVELS) / _N_LEVELS) ** 2).tolist()
        return np.array(sorted({*levels, self.scaled_tolerance}))

    @cached_property
    def tolerance_position(self):
        """Position of the tolerance among the levels."""
        return int(np.searchsorted(self.levels, self.scaled_tolerance))

    def unscale(self, level):
        """A level between 0 and 1 in units of the mean."""
        low, high = self.range
        return float((0.0 if self.hypothesis.is_paired else low) + level * (high - low))

    def log_evidence_needed(self, n_restarts, n_sides=1):
        """Logarithm of the e-value that a statement needs after so many restarts.

        The k-th restart may err with the share w_k of the error: w_0 = .9, then .1 / (k (k + 1)).
        They add up to 1, so that the error bounds all statements of a kind. Without `run_length`
        nothing restarts. The error is divided among `n_sides` of an interval.
        """
        share = 1.0
        if self.run_length is not None:
            later = (1.0 - _FIRST_SHARE) / max(n_restarts * (n_restarts + 1), 1)
            share = later if n_restarts else _FIRST_SHARE
        return float(np.log(n_sides / share) - np.log1p(-self.confidence_level))


def parameters(monitor):
    """Parameters of a monitor by name."""
    return {one.name: getattr(monitor, one.name) for one in fields(Settings)}


def check_settings(params):
    """Settings of the parameters of a monitor; raise if one is out of range."""
    low_high, weight, length = (
        params[name] for name in ("value_range", "max_weight", "run_length")
    )
    is_range = np.shape(low_high) == (2,) and all(map(_is_number, low_high))
    is_range = is_range and low_high[0] < low_high[1]
    copies = {"constraint": _check_constraint(params["constraint"])}
    copies |= {"value_range": tuple(low_high)} if is_range else {}
    settings = Settings(**params | copies)
    check_level(settings.confidence_level)
    is_weight = _is_number(weight) and weight > 0
    is_length = length is None or (_is_number(length) and length > 1)
    if is_range and settings.hypothesis.is_paired and settings.value_range == (0, 1):
        check_tolerance(settings.tolerance, closed="left", of=settings.constraint)
    is_gap = is_range and _is_number(settings.tolerance) and 0.0 <= settings.scaled_tolerance < 1.0
    for name, is_valid, requirement in (
        ("value_range", is_range, "two finite numbers, the smaller first"),
        ("max_weight", is_weight, "a positive number"),
        ("run_length", is_length, "a number of batches greater than 1"),
        ("tolerance", is_gap, "a gap in units of the mean, less than the width of its range"),
    ):
        if not is_valid:
            raise ValueError(f"{name} must be {requirement}; got {getattr(settings, name)!r}.")
    return settings


def _resolve_constraint(constraint):
    """A copy of the constraint, or the one of this name."""
    resolved = copy(resolve_name(CONSTRAINTS, constraint, "constraint", Constraint))
    if isinstance(constraint, str):
        # A mistyped group must not end a certificate of thousands of samples.
        resolved.min_group_size = "auto"
    return resolved


def _check_constraint(constraint):
    """A copy of the constraint, if it is a difference of means or a bound on them."""
    resolved = _resolve_constraint(constraint)
    is_supported = (
        not isinstance(resolved, (*PARTIAL_CRITERIA.values(), RankingParity))
        and resolved.reference == "groups"
        and resolved.aggregate == "max"
        and resolved.ratio is None
        and not isinstance(resolved.rate(Step(), LogisticLoss()), tuple)  # a quotient
    )
    if not is_supported:
        raise ValueError(
            "constraint must be the largest difference between the means of two groups "
            '(reference="groups", aggregate="max", no ratio, no quotient) or BoundedGroupLoss; got '
            f"{constraint}. Other criteria can be certified once, by skfair.audit.certify."
        )
    resolved._check_parameters()
    return resolved


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(value))


def _equal(first, second):
    """Whether two values of a parameter are equal; constraints are if their parameters are."""
    if isinstance(first, Constraint) and type(first) is type(second):
        first, second = vars(first), vars(second)
        return first.keys() == second.keys() and all(_equal(first[k], second[k]) for k in first)
    return first is second or bool(np.array_equal(first, second))
