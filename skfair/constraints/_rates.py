"""Constraints on any rate of decisions: parity, floors and ceilings."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from skfair._bound.gap import LargestMean, Shortfall
from skfair._groups import Samples
from skfair._utils.api import Direction, Reference
from skfair._utils.parameters import (
    MinGroupSize,
    NonNegative,
    PositiveShare,
    Tolerance,
    make_constructor,
    validate_params,
)
from skfair.constraints._constraint import (
    Aggregate,
    Constraint,
    all_samples,
    join_name,
    negatives,
    positives,
)
from skfair.constraints._docstrings import constraint_docs
from skfair.metrics import Rate
from skfair.metrics._rates import find_rate

if TYPE_CHECKING:
    from collections.abc import Callable


class ConstraintOnRate(Constraint):
    """Base of the constraints on a rate of decisions, which is their parameter ``rate``.

    Where the denominator depends on the target alone, the numerator is averaged over the samples
    that it counts. Otherwise the rate is a quotient of two counts.
    """

    applies_to = ("decisions",)
    unit = "rate"

    rate: Any

    @property
    def name(self) -> str:
        """What reports and messages call the constraint."""
        return join_name(self, f"{type(self).__name__}({find_rate(self.rate).name!r})")

    @property
    def table(self) -> tuple[Any, ...]:
        """What is averaged, or numerator and denominator of a quotient."""
        rate = find_rate(self.rate)
        if _denominator_cells(rate) is None:
            return rate.numerator, rate.denominator
        return tuple(count / max(rate.denominator) for count in rate.numerator)

    @property
    def compared_rate(self) -> Rate:
        """The rate that is compared or bounded."""
        return find_rate(self.rate)

    @property
    def largest_gap(self) -> float:
        """Largest possible gap: the largest value of the rate, or 1 of a ratio."""
        return 1.0 if self.gap.is_ratio else find_rate(self.rate).largest

    def cells(self, samples: Samples) -> dict[str, np.ndarray]:
        """The samples that are averaged over, or all.

        Parameters
        ----------
        samples : Samples
            Targets (classes -1 and +1), groups and weights.

        Returns
        -------
        cells : dict of str to ndarray of bool, shape (n_samples,)
            One cell.
        """
        return (_denominator_cells(find_rate(self.rate)) or all_samples)(samples)

    def _check_parameters(self) -> None:
        find_rate(self.rate)  # before anything else asks for it
        super()._check_parameters()


def _denominator_cells(rate: Rate) -> Callable[[Samples], dict[str, np.ndarray]] | None:
    """The function of the samples that a denominator counts; None if it depends on decisions."""
    true_positive, false_positive, false_negative, true_negative = rate.denominator
    if true_positive != false_negative or false_positive != true_negative:
        return None  # it depends on decisions
    if true_positive == false_positive:
        return all_samples
    if not false_positive:
        return positives
    return None if true_positive else negatives


@constraint_docs
@make_constructor
class RateParity(ConstraintOnRate):
    r"""Equal rates of any kind in every group, such as equal precision (predictive parity).

    A rate is a quotient, and :math:`r_g = N_g / D_g` is the same for all groups g. Of accuracy this
    is overall accuracy equality, of the ratio of false negatives to false positives treatment
    equality. The tolerance is in units of the rate.

    A group without positive decisions has no precision: with a denominator of 0 no constraint is
    kept. A fit that ends so is "infeasible", and its ``constraint_violation_`` is None.

    Read more in the :ref:`guide <own_rates>`.

    Parameters
    ----------
    rate : str or Rate
        Name of a rate, such as "precision", "f1_score" or "false_discovery_rate", or a
        :class:`skfair.metrics.Rate` of one's own. "coverage" is the rate of prediction sets, of
        which audits and monitors compare groups; no fit bounds it.
    {tolerance, ratio, one_sided_options}

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.constraints import RateParity
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=1000)
    >>> X = rng.normal(size=(1000, 2)) + np.outer(group, [0.5, 0])
    >>> y = X.sum(axis=1) - group + 2 * rng.normal(size=1000) > 0
    >>> model = ConstrainedERMClassifier(RateParity("precision"), tolerance=0.02)
    >>> report = model.fit(X, y, sensitive_features=group).constraint_report_
    >>> report[["group", "estimate", "gap"]].round(2)
       group  estimate   gap
    0      0      0.74  0.02
    1      1      0.72  0.02
    """

    rate: str | Rate
    _: KW_ONLY
    tolerance: Tolerance | None = None
    ratio: PositiveShare | None = None
    reference: Reference | dict[Any, Any] = "groups"
    aggregate: Aggregate = "max"
    attributes: Literal["intersections", "each"] = "intersections"
    min_group_size: MinGroupSize | None = None
    direction: Direction | None = None


class NamedRateParity(ConstraintOnRate):
    """Base of parities of a fixed rate, which have a name: as `RateParity` of the rate."""

    @property
    def name(self) -> str:
        """What reports and messages call the constraint."""
        return join_name(self, type(self).__name__)


class PrecisionParity(NamedRateParity):
    """Equal precision (predictive parity), "precision_parity"."""

    rate = "positive_predictive_value"


class NegativePredictiveValueParity(NamedRateParity):
    """Equal negative predictive values, "negative_predictive_value_parity"."""

    rate = "negative_predictive_value"


class F1ScoreParity(NamedRateParity):
    """Equal F1 scores, "f1_score_parity"."""

    rate = "f1_score"


class JaccardScoreParity(NamedRateParity):
    """Equal Jaccard scores, "jaccard_score_parity"."""

    rate = "jaccard_score"


class TreatmentEquality(NamedRateParity):
    """Equal ratios of false negatives to false positives, "treatment_equality"."""

    rate = "treatment_equality"


@make_constructor
class BoundedRate(ConstraintOnRate):
    """Base of the bounds on the rate of every group, which bind a single group too."""

    # No rate is compared with another one, so these are no parameters here.
    reference = "groups"
    aggregate = "max"

    rate: str | Rate
    bound: NonNegative
    _: KW_ONLY
    attributes: Literal["intersections", "each"] = "intersections"
    min_group_size: MinGroupSize | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        largest = find_rate(self.rate).largest
        if self.bound > largest:
            raise ValueError(
                f"bound must be at most {largest:g}, the largest value of a rate of this kind; got "
                f"{self}. Rates are fractions: 0.75 is 75 %."
            )


@constraint_docs
class MaximumRate(BoundedRate):
    r"""Upper bound on a rate of every group, such as a false positive rate of at most .1.

    :math:`r_g \le bound` for all groups g. The gap of this constraint is the largest rate itself,
    and its tolerance the bound. Groups below ``min_group_size`` are not covered.

    Read more in the :ref:`guide <own_rates>`.

    Parameters
    ----------
    rate : str or Rate
        As in :class:`RateParity`.
    bound : float
        Largest rate allowed.
    attributes, min_group_size
        See :class:`Constraint`.

    Examples
    --------
    >>> from skfair.constraints import MaximumRate
    >>> MaximumRate("false_positive_rate", 0.1)
    MaximumRate(bound=0.1, rate='false_positive_rate')
    """

    gap = LargestMean

    @property
    def tolerance(self) -> float:
        """The bound, under the name that all constraints share."""
        return self.bound


@constraint_docs
class MinimumRate(BoundedRate):
    r"""Lower bound on a rate of every group, such as a true positive rate of at least .8.

    :math:`r_g \ge bound` for all groups g. With m the largest value of the rate, 1 for most, the
    gap of this constraint is m less the smallest rate, and its tolerance m less the floor, so that
    an excess is in units of the rate. Groups below ``min_group_size`` are not covered. A list of a
    parity and of floors at the rates of a plain model asks for equality by raising rates alone.

    Read more in the :ref:`guide <own_rates>`.

    Parameters
    ----------
    rate : str or Rate
        As in :class:`RateParity`; a rate without a largest value, such as treatment equality, has
        no floor.
    bound : float
        Smallest rate allowed.
    attributes, min_group_size
        See :class:`Constraint`.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.constraints import MinimumRate
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=1000)
    >>> X = rng.normal(size=(1000, 2)) + np.outer(group, [1, 0])
    >>> y = X.sum(axis=1) + rng.normal(size=1000) > 1
    >>> model = ConstrainedERMClassifier(MinimumRate("recall", 0.75))
    >>> report = model.fit(X, y, sensitive_features=group).constraint_report_
    >>> report[["group", "estimate"]].round(2)
       group  estimate
    0      0      0.76
    1      1      0.93
    """

    gap = Shortfall

    @property
    def tolerance(self) -> float:
        """The largest value of the rate less the floor."""
        validate_params(self)  # it is read before the constraint is bound
        return find_rate(self.rate).largest - self.bound

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if np.isinf(self.tolerance):
            raise ValueError(
                f"{self} sets a floor to a rate without a largest value. Bound the inverse rate by "
                "MaximumRate instead."
            )
