"""Settings of a monitor: its checked parameters, and what follows from them."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from skfair._statistics.estimates import check_level
from skfair._utils.checks import argument_error, check_tolerance, is_int
from skfair.audit._report_input import check_group_size
from skfair.constraints import (
    Constraint,
    LargestMean,
    RangeGap,
    RatioGap,
    Shortfall,
    resolve_constraints,
)
from skfair.constraints._constraint import (
    allowed_gap,
    check_whose_tolerance,
    fill_tolerance,
    refuse_tolerances_by_attribute,
)
from skfair.losses import LogisticLoss, step_function
from skfair.metrics._rates import is_share
from skfair.monitoring._state import (
    DifferenceHypotheses,
    MeanHypotheses,
    RatioHypotheses,
)

_HYPOTHESES: tuple[tuple[Any, type[DifferenceHypotheses | MeanHypotheses]], ...] = (
    (RangeGap, DifferenceHypotheses),
    (RatioGap, RatioHypotheses),
    (LargestMean, MeanHypotheses),
    (Shortfall, MeanHypotheses),
)
"""Gaps of all groups that a cell has, and what is tested about their means."""

_N_LEVELS = 60
"""Levels of the gap, besides the tolerance, at which intervals can end."""

_FIRST_SHARE = 0.9
"""Share of the error before the first restart, if there are any; all later ones have the rest."""


@dataclass(frozen=True, eq=False)
class Settings:
    """Checked parameters of a monitor; the constraint is a copy of what was passed."""

    constraint: Constraint
    tolerance: float
    confidence_level: float
    run_length: float | None
    pos_label: Any
    burden: bool
    delay: Any
    value_range: tuple
    max_weight: float
    windows: tuple
    min_group_size: int

    def changed_names(self, params: dict[str, Any]) -> list[str]:
        """Names of the parameters that have another value than these."""
        params = _resolve(params)
        return [name for name, value in params.items() if not _equal(getattr(self, name), value)]

    @property
    def smallest_size(self) -> int:
        """Samples of the smallest group that is compared; a constraint may have its own number."""
        number = getattr(self.constraint, "min_group_size", None)
        return self.min_group_size if number in (None, "auto") else number

    @cached_property
    def hypothesis(self) -> DifferenceHypotheses | MeanHypotheses:
        """What certificates and alarms are about."""
        return _list_hypotheses(self.constraint.gap)[0]()

    @cached_property
    def range(self) -> tuple[float, float]:
        """Smallest and largest value that is averaged."""
        if self.constraint.counts_decisions:
            return 0.0, self.constraint.largest_gap
        return self.value_range

    @cached_property
    def scaled_tolerance(self) -> float:
        """The tolerance as a level between 0 and 1."""
        if self.hypothesis.are_ratios:
            return self.tolerance
        low, high = self.range
        start = 0.0 if self.hypothesis.compares_group_pairs else low
        return (self.tolerance - start) / (high - low)

    @cached_property
    def levels(self) -> np.ndarray:
        """Ascending levels of the gap that are tested, denser near 0, where tolerances are."""
        levels = ((np.arange(_N_LEVELS) / _N_LEVELS) ** 2).tolist()
        return np.array(sorted({*levels, self.scaled_tolerance}))

    @cached_property
    def tolerance_position(self) -> int:
        """Position of the tolerance among the levels."""
        return int(np.searchsorted(self.levels, self.scaled_tolerance))

    def unscale(self, level: float) -> float:
        """A level between 0 and 1 in units of the mean; of ratios as it is."""
        if self.hypothesis.are_ratios:
            return float(level)
        low, high = self.range
        start = 0.0 if self.hypothesis.compares_group_pairs else low
        return float(start + level * (high - low))

    def log_evidence_needed(self, n_restarts: int, n_sides: int = 1) -> float:
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


def check_settings(params: dict[str, Any]) -> Settings:
    """Settings of the parameters of a monitor; raise if one is out of range."""
    low_high, weight, length = (
        params[name] for name in ("value_range", "max_weight", "run_length")
    )
    is_range = np.shape(low_high) == (2,) and all(map(_is_finite, low_high))
    is_range = is_range and low_high[0] < low_high[1]
    copies = _resolve(params)
    _check_compares_means(copies["constraint"])
    check_whose_tolerance(copies["constraint"], params["tolerance"])
    copies |= {"value_range": tuple(low_high)} if is_range else {}
    if is_range and copies["constraint"].gap.is_ratio and low_high[0] != 0.0:
        raise argument_error(
            "value_range must begin at 0 for a ratio of means, which compares values that are "
            f"never negative; got {low_high!r}. Pass a tolerance in place of the ratio, or the "
            "range from 0 to the largest value."
        )
    is_windows = np.ndim(params["windows"]) == 1 and all(map(is_int, params["windows"]))
    copies |= {"windows": tuple(sorted(set(params["windows"])))} if is_windows else {}
    settings = Settings(**params | copies)
    check_level(settings.confidence_level)
    check_group_size(settings.min_group_size)
    is_weight = _is_finite(weight) and weight > 0
    is_length = length is None or (_is_finite(length) and length > 1)
    if is_range and settings.hypothesis.compares_group_pairs and settings.value_range == (0, 1):
        if settings.constraint.unit == "score" and _is_finite(settings.tolerance):
            _check_tolerance_of_numbers(settings.tolerance, settings.constraint.name)
        check_tolerance(settings.tolerance, closed="left", of=settings.constraint.name)
    is_gap = is_range and _is_finite(settings.tolerance) and 0.0 <= settings.scaled_tolerance < 1.0
    for name, is_valid, requirement in (
        ("value_range", is_range, "two finite numbers, the smaller first"),
        ("max_weight", is_weight, "a positive number"),
        ("run_length", is_length, "a number of batches greater than 1"),
        ("windows", is_windows, "numbers of batches, integers of at least 1, or empty"),
        ("tolerance", is_gap, "a gap in units of the mean, less than the width of its range"),
    ):
        if not is_valid:
            raise argument_error(f"{name} must be {requirement}; got {getattr(settings, name)!r}.")
    return settings


def _resolve(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters with a copy of the constraint, and its tolerance if it has one."""
    tolerance = params["tolerance"]
    (constraint,) = resolve_constraints([params["constraint"]], takes_all=True)
    filled = fill_tolerance(constraint, tolerance)
    refuse_tolerances_by_attribute(filled, "a monitor")
    return params | {"constraint": copy(constraint), "tolerance": allowed_gap(filled)}


def _check_compares_means(resolved: Constraint) -> None:
    """Raise for a constraint that is no difference of means and no bound on them."""
    resolved._check_parameters()
    if not _list_hypotheses(resolved.gap) or not _has_mean_rates(resolved):
        raise argument_error(
            "constraint must be the largest difference between the means of two groups, or their "
            'smallest ratio (reference="groups", aggregate="max"; a rate must be a mean, or the '
            "share that its numerator has in the samples of its denominator, unlike F1 and "
            "treatment equality), BoundedGroupLoss, MaximumRate or MinimumRate; got "
            f"{resolved}, whose gap is {resolved.gap.name}. Other criteria can be certified once, "
            "by skfair.audit.Audit.certify."
        )


def _list_hypotheses(gap: Any) -> list[type[DifferenceHypotheses | MeanHypotheses]]:
    """The class of hypotheses on means that a gap bounds; empty for gaps that are not known.

    A gap may have another form than its parent, or compare other events.
    """
    return [
        hypotheses
        for known, hypotheses in _HYPOTHESES
        if gap.form == known.form and gap.from_cells.__func__ is known.from_cells.__func__
    ]


def _has_mean_rates(constraint: Constraint) -> bool:
    """Whether rates are means, or shares of samples that all count the same."""
    terms = constraint.terms(step_function, LogisticLoss())
    if len(terms) == 1:
        return True
    # What the four outcomes count: decisions and targets -1 and +1.
    decisions, targets = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]])
    counts, sizes = (term(decisions, targets).value for term in terms)
    return is_share(counts, sizes) and np.ptp(sizes[sizes > 0]) == 0.0


def _check_tolerance_of_numbers(tolerance: float, name: str) -> None:
    """Raise for a tolerance of means that no gap of numbers from 0 to 1 can exceed."""
    if tolerance > 1.0:
        raise argument_error(
            f"tolerance must be at most 1 for {name} of numbers in value_range=(0, 1), but is "
            f"{tolerance!r}. Pass value_range=(smallest, largest), between which predictions lie."
        )


def _is_finite(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def _equal(first: Any, second: Any) -> bool:
    """Whether two values of a parameter are equal; constraints are if their parameters are."""
    if isinstance(first, Constraint) and type(first) is type(second):
        first, second = vars(first), vars(second)
        return first.keys() == second.keys() and all(_equal(first[k], second[k]) for k in first)
    return first is second or bool(np.array_equal(first, second))
