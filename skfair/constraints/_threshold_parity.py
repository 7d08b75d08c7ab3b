"""Partial fairness of decisions: criteria on an interval of percentiles, at one threshold."""

from numbers import Real

from skfair.constraints._cells import each_class, everybody, positives
from skfair.constraints._partial_parity import PartialParity
from skfair.constraints._percentile import SHAPES
from skfair.constraints._percentile_rows import at_threshold
from skfair.utils._sklearn import Interval, StrOptions


class ThresholdParity(PartialParity):
    """Base of the criteria that compare decisions at one threshold ([1]_, (20)).

    Problem (21) of [1]_ counts shares by a ramp and takes the minimum of each and the two ends of
    the interval. The rows here hold one case of these minima, the one nearest to the scores that
    they are linearised at, and are smooth in it; so do those of problems (50) and (56).

    Parameters
    ----------
    interval, tolerance, width, min_group_size
        As in `PartialParity`.
    threshold : float, default=0.0
        Where decisions are made.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
    """

    _parameter_constraints = {
        **PartialParity._parameter_constraints,
        "scale": [StrOptions({"normalized", "raw"})],
        "threshold": [Interval(Real, None, None, closed="neither")],
    }

    is_correctable = True

    surrogate = "ramp"

    def rows(self, compared, scores):
        """Shares at the threshold, between levels that suit the scores given.

        Parameters
        ----------
        compared : Compared
            The events.
        scores : ndarray of shape (n_samples,)
            Scores near those to come.

        Returns
        -------
        rows : PercentileConstraint
        """
        return at_threshold(compared, self.threshold, self.width, SHAPES[self.surrogate], scores)


class PartialDemographicParity(ThresholdParity):
    r"""Within an interval of percentiles, equal shares of the groups above the threshold.

    The gap is, with ranks F and the interval I as in :class:`PartialStatisticalParity`,

    .. math::

        \bigl| \Pr(h > \theta \mid k, F_k(h) \in I)
        - \Pr(h > \theta \mid k', F_{k'}(h) \in I) \bigr|

    for the threshold :math:`\theta` at which decisions are made ([1]_, Definition 4.3).

    Parameters
    ----------
    interval : pair of floats, list of pairs, or dict of either by group, default=(0.0, 1.0)
        Ranks compared, as in :class:`PartialStatisticalParity`.
    tolerance : float in [0, 1] or None, default=None
        Largest difference allowed; None takes the estimator's.
    scale : {"normalized", "raw"}, default="normalized"
        Whether the tolerance is in units of the width of the interval, or of the whole group.
    threshold : float, default=0.0
        Where decisions are made.
    width : float, default=0.5
        Width of the ramp, in units of the score; a wide one mistakes decisions.
    surrogate : {"ramp", "sigmoid"}, default="ramp"
        What stands for decisions: a ramp, or a logistic sigmoid as steep in the middle ([1]_,
        Examples D.5 and D.6).
    min_group_size : int, "auto" or None, default=None
        Groups with fewer samples are not compared, as in `DemographicParity`; None takes the
        estimator's.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.

    Examples
    --------
    >>> from skfair.constraints import PartialDemographicParity
    >>> PartialDemographicParity((0.2, 0.6), tolerance=0.05)
    PartialDemographicParity(interval=(0.2, 0.6), tolerance=0.05)
    """

    _parameter_constraints = {
        **ThresholdParity._parameter_constraints,
        "surrogate": [StrOptions(SHAPES)],
    }

    metric = "partial_demographic_parity_difference"
    cells = staticmethod(everybody)

    def __init__(
        self,
        interval=(0.0, 1.0),
        *,
        tolerance=None,
        scale="normalized",
        threshold=0.0,
        width=0.5,
        surrogate="ramp",
        min_group_size=None,
    ):
        self.interval = interval
        self.tolerance = tolerance
        self.scale = scale
        self.threshold = threshold
        self.width = width
        self.surrogate = surrogate
        self.min_group_size = min_group_size


class PartialEqualOpportunity(ThresholdParity):
    r"""Within an interval of percentiles, equal true positive rates.

    As :class:`PartialDemographicParity`, among the positive class ([1]_, Definition A.2).

    Parameters
    ----------
    interval : pair of floats, list of pairs, or dict of either by group, default=(0.0, 1.0)
        Ranks compared, as in :class:`PartialStatisticalParity`.
    tolerance : float in [0, 1] or None, default=None
        Largest difference allowed; None takes the estimator's.
    scale : {"normalized", "raw"}, default="normalized"
        Whether the tolerance is in units of the width of the interval, or of the whole group.
    rank_within : {"group", "class"}, default="group"
        Rank among one's group, as in Definition A.2 of [1]_, or among those of one's group and
        class, as its problem (50) ranks.
    threshold : float, default=0.0
        Where decisions are made.
    width : float, default=0.5
        Width of the ramp, in units of the score; a wide one mistakes decisions.
    min_group_size : int, "auto" or None, default=None
        Groups with fewer samples are not compared, as in `DemographicParity`; None takes the
        estimator's.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.

    Examples
    --------
    >>> from skfair.constraints import PartialEqualOpportunity
    >>> PartialEqualOpportunity((0.2, 0.6), rank_within="class")
    PartialEqualOpportunity(interval=(0.2, 0.6), rank_within='class')
    """

    _parameter_constraints = {
        **ThresholdParity._parameter_constraints,
        "rank_within": [StrOptions({"group", "class"})],
    }

    metric = "partial_equal_opportunity_difference"
    applies_to = ("scores",)
    cells = staticmethod(positives)
    _is_by_class = True

    def __init__(
        self,
        interval=(0.0, 1.0),
        *,
        tolerance=None,
        scale="normalized",
        rank_within="group",
        threshold=0.0,
        width=0.5,
        min_group_size=None,
    ):
        self.interval = interval
        self.tolerance = tolerance
        self.scale = scale
        self.rank_within = rank_within
        self.threshold = threshold
        self.width = width
        self.min_group_size = min_group_size

    @property
    def ranks_people_in_groups(self):
        """Whether the interval is one of ranks in the whole group."""
        return self.rank_within == "group"


class PartialEqualizedOdds(PartialEqualOpportunity):
    r"""Within an interval of percentiles, equal true and equal false positive rates.

    As :class:`PartialEqualOpportunity`, in both classes; the larger of the two gaps counts ([1]_,
    Definition A.3).

    Parameters
    ----------
    interval : pair of floats, list of pairs, or dict of either by group, default=(0.0, 1.0)
        Ranks compared, as in :class:`PartialStatisticalParity`.
    tolerance : float in [0, 1] or None, default=None
        Largest difference allowed; None takes the estimator's.
    scale : {"normalized", "raw"}, default="normalized"
        Whether the tolerance is in units of the width of the interval, or of the whole group.
    rank_within : {"group", "class"}, default="group"
        Rank among one's group, as in Definition A.3 of [1]_, or among those of one's group and
        class, as its problem (56) ranks.
    threshold : float, default=0.0
        Where decisions are made.
    width : float, default=0.5
        Width of the ramp, in units of the score; a wide one mistakes decisions.
    min_group_size : int, "auto" or None, default=None
        Groups with fewer samples are not compared, as in `DemographicParity`; None takes the
        estimator's.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.

    Examples
    --------
    >>> from skfair.constraints import PartialEqualizedOdds
    >>> PartialEqualizedOdds((0.2, 0.6), scale="raw")
    PartialEqualizedOdds(interval=(0.2, 0.6), scale='raw')
    """

    metric = "partial_equalized_odds_difference"
    cells = staticmethod(each_class)
