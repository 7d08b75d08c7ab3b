"""Parity of decision rates between groups."""

import numpy as np

from skfair.constraints._cells import each_class, everybody, negatives, positives
from skfair.constraints._constraint import Constraint
from skfair.losses import Pointwise


class DecisionRateParity(Constraint):
    """Base of the constraints on how often the decision is positive."""

    applies_to = ("decisions",)
    unit = "rate"

    def rate(self, surrogate, loss):
        """The decision's surrogate, whatever the target.

        Parameters
        ----------
        surrogate, loss : callable
            As in :meth:`Constraint.rate`.

        Returns
        -------
        rate : callable
            (scores, target) -> Pointwise.
        """
        return lambda scores, target: surrogate(scores)


class DemographicParity(DecisionRateParity):
    r"""Equal selection rates: :math:`P(\hat y = 1 \mid g)` is the same for all groups g.

    Parameters
    ----------
    tolerance : float or None, default=None
        Largest gap allowed; None takes the estimator's.
    reference, aggregate, attributes, min_group_size
        See :class:`Constraint`.

    Examples
    --------
    >>> from skfair.constraints import DemographicParity
    >>> DemographicParity(tolerance=0.05)
    DemographicParity(tolerance=0.05)
    """

    metric = "demographic_parity_difference"
    cells = staticmethod(everybody)


class EqualOpportunity(DecisionRateParity):
    r"""Equal true positive rates: :math:`P(\hat y = 1 \mid y = 1, g)` is the same for all g.

    Parameters
    ----------
    tolerance : float or None, default=None
        Largest gap allowed; None takes the estimator's.
    reference, aggregate, attributes, min_group_size
        See :class:`Constraint`.

    Examples
    --------
    >>> from skfair.constraints import EqualOpportunity
    >>> EqualOpportunity(min_group_size=100)
    EqualOpportunity(min_group_size=100)
    """

    metric = "equal_opportunity_difference"
    cells = staticmethod(positives)


class FalsePositiveRateParity(DecisionRateParity):
    r"""Equal false positive rates: :math:`P(\hat y = 1 \mid y = 0, g)` is the same for all g.

    Parameters
    ----------
    tolerance : float or None, default=None
        Largest gap allowed; None takes the estimator's.
    reference, aggregate, attributes, min_group_size
        See :class:`Constraint`.

    Examples
    --------
    >>> from skfair.constraints import FalsePositiveRateParity
    >>> FalsePositiveRateParity()
    FalsePositiveRateParity()
    """

    metric = "false_positive_rate_difference"
    cells = staticmethod(negatives)


class EqualizedOdds(DecisionRateParity):
    r"""Equal true and false positive rates; the larger of the two gaps counts, or their sum.

    Parameters
    ----------
    tolerance : float or None, default=None
        Largest gap allowed; None takes the estimator's.
    reference, aggregate, attributes, min_group_size
        See :class:`Constraint`; ``aggregate="sum"`` bounds the sum of the two gaps.

    Examples
    --------
    >>> from skfair.constraints import EqualizedOdds
    >>> EqualizedOdds(aggregate="sum")
    EqualizedOdds(aggregate='sum')
    """

    metric = "equalized_odds_difference"
    cells = staticmethod(each_class)


class ErrorRateParity(Constraint):
    r"""Equal error rates: :math:`P(\hat y \ne y \mid g)` is the same for all groups g.

    Parameters
    ----------
    tolerance : float or None, default=None
        Largest gap allowed; None takes the estimator's.
    reference, aggregate, attributes, min_group_size
        See :class:`Constraint`.

    Examples
    --------
    >>> from skfair.constraints import ErrorRateParity
    >>> ErrorRateParity()
    ErrorRateParity()
    """

    metric = "accuracy_score_difference"
    applies_to = ("decisions",)
    unit = "rate"
    cells = staticmethod(everybody)

    def rate(self, surrogate, loss):
        """The decision's surrogate where it is wrong, its complement where it is right.

        Parameters
        ----------
        surrogate, loss : callable
            As in :meth:`Constraint.rate`.

        Returns
        -------
        rate : callable
            (scores, target) -> Pointwise.
        """

        def errors(scores, target):
            value, slope, curvature = surrogate(scores)
            missed = np.where(target > 0, 1.0 - value, value)
            return Pointwise(missed, -target * slope, -target * curvature)

        return errors
