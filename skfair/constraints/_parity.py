"""Parity of rates of decisions, and of mean scores, between groups."""

from collections.abc import Callable

import numpy as np

from skfair.constraints._cells import all_samples, each_class, negatives, positives
from skfair.constraints._constraint import Constraint
from skfair.constraints._docstrings import constraint_docs
from skfair.losses import Pointwise


class DecisionRateParity(Constraint):
    """Base of the constraints on how often the decision is positive."""

    applies_to = ("decisions",)
    unit = "rate"

    @constraint_docs
    def rate(self, surrogate: Callable, loss: Callable) -> Callable:
        """The surrogate of the decision.

        {rate_signature}
        """
        return lambda scores, target: surrogate(scores)


@constraint_docs
class DemographicParity(DecisionRateParity):
    r"""Equal selection rates: :math:`P(\hat y = 1 \mid g)` is the same for all groups g.

    Parameters
    ----------
    {tolerance, options}

    Examples
    --------
    >>> from skfair.constraints import DemographicParity
    >>> DemographicParity(tolerance=0.05)
    DemographicParity(tolerance=0.05)
    """

    metric = "demographic_parity_difference"
    cells = staticmethod(all_samples)


@constraint_docs
class EqualOpportunity(DecisionRateParity):
    r"""Equal true positive rates: :math:`P(\hat y = 1 \mid y = 1, g)` is the same for all g.

    Parameters
    ----------
    {tolerance, options}

    Examples
    --------
    >>> from skfair.constraints import EqualOpportunity
    >>> EqualOpportunity(min_group_size=100)
    EqualOpportunity(min_group_size=100)
    """

    metric = "equal_opportunity_difference"
    cells = staticmethod(positives)


@constraint_docs
class FalsePositiveRateParity(DecisionRateParity):
    r"""Equal false positive rates: :math:`P(\hat y = 1 \mid y = 0, g)` is the same for all g.

    Parameters
    ----------
    {tolerance, options}

    Examples
    --------
    >>> from skfair.constraints import FalsePositiveRateParity
    >>> FalsePositiveRateParity()
    FalsePositiveRateParity()
    """

    metric = "false_positive_rate_difference"
    cells = staticmethod(negatives)


@constraint_docs
class EqualizedOdds(DecisionRateParity):
    r"""Equal true and false positive rates; the larger of the two gaps counts, or their sum.

    Parameters
    ----------
    {tolerance}
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


@constraint_docs
class ErrorRateParity(Constraint):
    r"""Equal error rates: :math:`P(\hat y \ne y \mid g)` is the same for all groups g.

    Parameters
    ----------
    {tolerance, options}

    Examples
    --------
    >>> from skfair.constraints import ErrorRateParity
    >>> ErrorRateParity()
    ErrorRateParity()
    """

    metric = "accuracy_score_difference"
    applies_to = ("decisions",)
    unit = "rate"
    cells = staticmethod(all_samples)

    @constraint_docs
    def rate(self, surrogate: Callable, loss: Callable) -> Callable:
        """The surrogate of a wrong decision.

        {rate_signature}
        """

        def errors(scores, target):
            value, slope, curvature = surrogate(scores)
            # A positive decision is wrong for the negative class, and the other way round.
            wrong = np.where(target > 0, 1.0 - value, value)
            return Pointwise(wrong, -target * slope, -target * curvature)

        return errors


@constraint_docs
class MeanParity(Constraint):
    r"""Equal mean scores: :math:`E[s \mid g]` is the same for all groups g.

    For a real target the scores are predictions. Decisions and ranks may differ all the same.

    Parameters
    ----------
    tolerance : float or None, default=None
        Largest gap allowed; None takes the estimator's. In a fit of a classifier it is in units of
        the decision function, in that of a regressor in standard deviations of the training target
        (``target_scale_``). :func:`skfair.audit.certify` reads it in units of the target, and of a
        classifier in units of its predicted probability, if it has one.
    {options}

    Examples
    --------
    >>> from skfair.constraints import MeanParity
    >>> MeanParity(tolerance=0.1)
    MeanParity(tolerance=0.1)
    """

    metric = "mean_score_difference"
    cells = staticmethod(all_samples)

    @constraint_docs
    def rate(self, surrogate: Callable, loss: Callable) -> Callable:
        """The score of each sample.

        {rate_signature}
        """
        return lambda scores, target: Pointwise(scores, np.ones_like(scores), np.zeros_like(scores))
