"""Parity of rates of decisions, and of mean scores, between groups."""

from collections.abc import Callable
from typing import Literal

from skfair.constraints._cells import all_samples, each_class, negatives, positives
from skfair.constraints._constraint import Constraint
from skfair.constraints._docstrings import constraint_docs
from skfair.losses import SELECTED, WRONG, mean_score


class DecisionRateParity(Constraint):
    """Base of the constraints on rates of decisions, by their difference or their ratio."""

    applies_to = ("decisions",)
    unit = "rate"
    table = SELECTED


@constraint_docs
class DemographicParity(DecisionRateParity):
    r"""Equal selection rates: :math:`P(\hat y = 1 \mid g)` is the same for all groups g.

    Up to a difference, the tolerance, or up to a ratio r:

    .. math:: \min_g P(\hat y = 1 \mid g) \ge r \max_g P(\hat y = 1 \mid g),

    for r = 0.8 the four-fifths rule of employment law. If no decision is positive the ratio is 1,
    as in :func:`skfair.metrics.demographic_parity_ratio`. In reports and certificates, and for
    ``confidence_level``, the gap of a ratio is 1 minus it, and its tolerance 1 - r. The smaller the
    rates are, the larger is the sampling noise of their ratio.

    Parameters
    ----------
    {tolerance}
    ratio : float or None, default=None
        Smallest ratio allowed, in (0, 1], in place of a tolerance, including the estimator's. None
        bounds the difference.
    {options}

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.constraints import DemographicParity
    >>> from skfair.metrics import demographic_parity_ratio
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=500)
    >>> X = rng.normal(size=(500, 2)) + np.outer(group, [1, 0])
    >>> y = X.sum(axis=1) + rng.normal(size=500) > 1
    >>> model = ConstrainedERMClassifier(DemographicParity(ratio=0.8))
    >>> decisions = model.fit(X, y, sensitive_features=group).predict(X)
    >>> bool(demographic_parity_ratio(y, decisions, sensitive_features=group) >= 0.8)
    True
    """

    metric = "demographic_parity_difference"
    ratio_metric = "demographic_parity_ratio"
    cells = staticmethod(all_samples)


@constraint_docs
class EqualOpportunity(DecisionRateParity):
    r"""Equal true positive rates: :math:`P(\hat y = 1 \mid y = 1, g)` is the same for all g.

    Parameters
    ----------
    {tolerance, ratio, options}

    Examples
    --------
    >>> from skfair.constraints import EqualOpportunity
    >>> EqualOpportunity(min_group_size=100)
    EqualOpportunity(min_group_size=100)
    """

    metric = "equal_opportunity_difference"
    ratio_metric = "equal_opportunity_ratio"
    cells = staticmethod(positives)


@constraint_docs
class FalsePositiveRateParity(DecisionRateParity):
    r"""Equal false positive rates: :math:`P(\hat y = 1 \mid y = 0, g)` is the same for all g.

    Parameters
    ----------
    {tolerance, ratio, options}

    Examples
    --------
    >>> from skfair.constraints import FalsePositiveRateParity
    >>> FalsePositiveRateParity()
    FalsePositiveRateParity()
    """

    metric = "false_positive_rate_difference"
    ratio_metric = "false_positive_rate_ratio"
    cells = staticmethod(negatives)


@constraint_docs
class EqualizedOdds(DecisionRateParity):
    r"""Equal true and false positive rates; the larger of the two gaps counts, or their sum.

    Parameters
    ----------
    {tolerance, ratio}
    reference, aggregate, attributes, min_group_size
        See :class:`Constraint`; ``aggregate="sum"`` bounds the sum of the two gaps.

    Examples
    --------
    >>> from skfair.constraints import EqualizedOdds
    >>> EqualizedOdds(aggregate="sum")
    EqualizedOdds(aggregate='sum')
    """

    metric = "equalized_odds_difference"
    ratio_metric = "equalized_odds_ratio"
    cells = staticmethod(each_class)


@constraint_docs
class ErrorRateParity(DecisionRateParity):
    r"""Equal error rates: :math:`P(\hat y \ne y \mid g)` is the same for all groups g.

    A ratio of small error rates is hard to keep, and more errors in all groups raise it: prefer a
    tolerance.

    Parameters
    ----------
    {tolerance, ratio, options}

    Examples
    --------
    >>> from skfair.constraints import ErrorRateParity
    >>> ErrorRateParity()
    ErrorRateParity()
    """

    metric = "accuracy_score_difference"
    ratio_metric = "error_rate_ratio"
    table = WRONG
    cells = staticmethod(all_samples)


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

    def __init__(
        self,
        *,
        tolerance: float | None = None,
        reference: Literal["groups", "overall"] = "groups",
        aggregate: str = "max",
        attributes: Literal["intersections", "each"] = "intersections",
        min_group_size: int | Literal["auto"] | None = None,
    ):
        self.tolerance = tolerance
        self.reference = reference
        self.aggregate = aggregate
        self.attributes = attributes
        self.min_group_size = min_group_size

    def rate(self, surrogate: Callable, loss: Callable) -> Callable:
        """The score of each sample.

        {rate_signature}
        """
        return mean_score
