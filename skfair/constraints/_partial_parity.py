"""Partial fairness: criteria on an interval of percentiles, at all thresholds."""

import warnings
from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning

from skfair import metrics
from skfair.constraints._bound_partial import BoundPartialParity
from skfair.constraints._cells import everybody
from skfair.constraints._constraint import Constraint
from skfair.constraints._group_auc import GroupAUCConstraint
from skfair.constraints._percentile import SHAPES
from skfair.constraints._percentile_rows import at_percentiles
from skfair.constraints._sampled_partial import sampled_areas, sampled_curves
from skfair.groups import check_interval
from skfair.utils._sklearn import Interval, StrOptions

_MANY_PERCENTILES = 20
"""Beyond which rows are not refined: their quadratic programs would cost more than the data."""


class PartialParity(Constraint):
    """Base of the criteria on an interval of percentiles ([1]_, Definitions 4.2 to A.3).

    Parameters
    ----------
    interval : pair of floats, list of pairs, or dict of either by group, default=(0.0, 1.0)
        ``(alpha, beta)`` holds those with a rank in [alpha, beta), counted from the highest score:
        (0.0, 0.2) is the top fifth of each group. A list of pairs means their union.
    tolerance : float in [0, 1] or None, default=None
        Largest difference allowed; None takes the estimator's.
    width : float
        Width of the ramp that stands for decisions, in units of the score.
    min_group_size : int, "auto" or None, default=None
        Groups with fewer samples are not compared, as in `DemographicParity`; None takes the
        estimator's.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
    """

    _parameter_constraints = {
        "interval": "no_validation",  # by check_interval, which knows the groups
        "tolerance": [Interval(Real, 0, 1, closed="both"), None],
        "width": [Interval(Real, 0, None, closed="neither")],
        "min_group_size": Constraint._parameter_constraints["min_group_size"],
    }

    reference, aggregate, attributes = "groups", "max", "intersections"
    unit = "rate"

    is_correctable = False
    """Whether the rows count decisions, at one threshold, and can be told what they miss."""

    adds_up = False
    """Whether rows are sums over people, and the gap is one at all thresholds."""

    ranks_people_in_groups = False
    """Whether the interval is one of ranks in the whole group, though only a class is compared."""

    def _bind(self, people, groups, surrogate, loss, tolerance):
        """Make rows; a ramp of this constraint's own `width` stands for decisions."""
        large, small = groups
        # With nobody to compare, a dict of intervals may lack the name of the only group.
        vacuous = len(large.names) == 1
        interval = (0.0, 1.0) if vacuous and isinstance(self.interval, dict) else self.interval
        tolerance = tolerance if self.tolerance is None else self.tolerance
        if isinstance(interval, dict):  # which need not know groups that are not compared
            small = small.select([g for g, name in enumerate(small.names) if name in interval])
        own, others = (
            BoundPartialParity(
                constraint=self,
                people=people._replace(groups=some),
                intervals=check_interval(interval, some.summary),
                tolerance=tolerance,
            )
            for some in (large, small)
        )
        if not vacuous and not self.ranks_people_in_groups:
            own.check_sizes(own.positions)
        return replace(own, uncompared=others) if others.events.names else own

    def refined(self):
        """The same criterion, compared at more places where it is compared at some.

        Returns
        -------
        constraint : PartialParity
        """
        return self

    def difference(self, people, intervals, scores):
        """The public metric.

        Parameters
        ----------
        people : Samples
            Targets, groups and weights.
        intervals : list of ndarray, one per group, each of shape (n_pairs, 2)
            Percentiles.
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        difference : float
            nan if nobody ranks in an interval.
        """
        options = self.get_params(deep=False)
        options = {name: options[name] for name in self._metric_options if name in options}
        with warnings.catch_warnings():
            # Unknown rates give nan; the estimator's own message says what to do.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return getattr(metrics, self.metric)(
                *((people.target, scores) if self._is_by_class else (scores,)),
                sensitive_features=_columns(people.groups),
                interval=dict(enumerate(intervals)),
                sample_weight=people.weights,
                **options,
            )

    def sampled(self, bound, scores):
        """What people tell of the population's gap.

        Parameters
        ----------
        bound : BoundPartialParity
            This constraint, bound to them.
        scores : ndarray of shape (n_samples,)
            Scores that do not depend on them.

        Returns
        -------
        estimates : Estimates
            Numbers that are compared.
        contrasts : csr_array
            Linear forms of them, of which the gap is the largest.
        """
        return sampled_curves(bound, scores)

    _metric_options = ("scale", "threshold", "rank_within")
    _is_by_class = False

    def grid_positions(self, tolerances):
        """Positions in the interval of the percentiles at which shares are compared or reported.

        Parameters
        ----------
        tolerances : ndarray of shape (n_events,)
            Largest differences, in units of the intervals.

        Returns
        -------
        positions : ndarray of shape (n_percentiles,)
            0 where the interval begins, 1 where it ends.
        """
        return np.linspace(0.0, 1.0, 10)

    def interval_tolerances(self, tolerance, positions):
        """The tolerance in units of each interval, (n_events,)."""
        widths = np.array([position.width for position in positions])
        if getattr(self, "scale", "normalized") == "raw":
            return tolerance / widths
        return np.full(len(widths), tolerance)


def _columns(groups):
    """Groups as the metrics take them, each called by its number."""
    return groups.codes if groups.is_disjoint else groups.matrix


class PartialStatisticalParity(PartialParity):
    r"""Within an interval of percentiles, equal shares of the groups above every threshold.

    With :math:`F_k(h)` the share of group k that scores higher than h, and I the interval, the gap
    is ([1]_, Definition 4.2)

    .. math::

        \max_\theta \bigl| \Pr(h > \theta \mid k, F_k(h) \in I)
        - \Pr(h > \theta \mid k', F_{k'}(h) \in I) \bigr|

    for all groups. Its rows ([1]_, (15)) hold shares, counted by a ramp, at percentiles p on I,

    .. math::

        p \le S_k(\theta_p) \le p + \tau, \qquad
        S_k(\theta) = \operatorname{mean}_{i \in k} \, ramp((h_i - \theta) / width),

    with thresholds :math:`\theta_p` shared by all groups as auxiliary unknowns.

    Parameters
    ----------
    interval : pair of floats, list of pairs, or dict of either by group, default=(0.0, 1.0)
        ``(alpha, beta)`` holds those with a rank in [alpha, beta), counted from the highest score:
        (0.0, 0.2) is the top fifth of each group. A list of pairs means their union.
    tolerance : float in [0, 1] or None, default=None
        Largest difference allowed; None takes the estimator's.
    scale : {"normalized", "raw"}, default="normalized"
        Whether the tolerance is in units of the width of the interval, or of the whole group; the
        published experiments agree with "raw".
    n_percentiles : int, default=10
        Number of percentiles p.
    grid : {"inclusive", "lemma"}, default="inclusive"
        Whether they reach both ends of the interval, or stop short of its end by the tolerance as
        in Lemma 5.1 of [1]_, which leaves a gap next to that end.
    width : float, default=2.0
        Width of the ramp, in units of the score.
    surrogate : {"ramp", "sigmoid"}, default="ramp"
        What stands for decisions: a ramp, or a logistic sigmoid as steep in the middle ([1]_,
        Examples D.3 and D.4).
    min_group_size : int, "auto" or None, default=None
        Groups with fewer samples are not compared, as in `DemographicParity`; None takes the
        estimator's.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.

    Examples
    --------
    Fair among those ranked near a cut-off, and not too unequal decisions:

    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.constraints import DemographicParity, PartialStatisticalParity
    >>> ConstrainedERMClassifier(
    ...     [PartialStatisticalParity((0.1, 0.3)), DemographicParity(tolerance=0.1)]
    ... ).constraint[0]
    PartialStatisticalParity(interval=(0.1, 0.3))
    """

    _parameter_constraints = {
        **PartialParity._parameter_constraints,
        "scale": [StrOptions({"normalized", "raw"})],
        "n_percentiles": [Interval(Integral, 2, None, closed="left")],
        "grid": [StrOptions({"inclusive", "lemma"})],
        "surrogate": [StrOptions(SHAPES)],
    }

    metric = "partial_statistical_parity_difference"
    cells = staticmethod(everybody)
    adds_up = True

    def __init__(
        self,
        interval=(0.0, 1.0),
        *,
        tolerance=None,
        scale="normalized",
        n_percentiles=10,
        grid="inclusive",
        width=2.0,
        surrogate="ramp",
        min_group_size=None,
    ):
        self.interval = interval
        self.tolerance = tolerance
        self.scale = scale
        self.surrogate = surrogate
        self.n_percentiles = n_percentiles
        self.grid = grid
        self.width = width
        self.min_group_size = min_group_size

    def rows(self, compared, scores):
        """Shares between percentiles, at free thresholds.

        Parameters
        ----------
        compared : Compared
            The events.
        scores : ndarray of shape (n_samples,)
            Not used: these rows suit all scores.

        Returns
        -------
        rows : PercentileConstraint
        """
        at, shape = self.grid_positions(compared.tolerances), SHAPES[self.surrogate]
        return at_percentiles(compared, at, self.width, shape)

    def refined(self):
        """The same criterion at more percentiles: between two of them groups differ by more.

        Returns
        -------
        constraint : PartialStatisticalParity
            With twice as many, up to 20; with no fewer.
        """
        more = min(2 * self.n_percentiles, _MANY_PERCENTILES)
        return clone(self).set_params(n_percentiles=max(self.n_percentiles, more))

    def grid_positions(self, tolerances):
        """Positions of the percentiles in their interval.

        Parameters
        ----------
        tolerances : ndarray of shape (n_events,)
            Largest differences, in units of the intervals.

        Returns
        -------
        positions : ndarray of shape (n_percentiles,)
            0 where the interval begins, 1 where it ends.
        """
        if self.grid == "inclusive":
            return np.linspace(0.0, 1.0, self.n_percentiles)
        end = max(0.0, 1.0 - tolerances.max())
        return np.linspace(0.0, end, self.n_percentiles, endpoint=False)


class PartialGroupAUC(PartialParity):
    r"""Within an interval of percentiles, even odds that one group scores above another.

    The gap is :math:`|AUC_{kk'} - \tfrac12|`, with :math:`AUC_{kk'}` the probability that somebody
    of group k scores above somebody of group k', both from the interval of their group ([1]_,
    Definition A.1 and problem (49)).

    Parameters
    ----------
    interval : pair of floats, list of pairs, or dict of either by group, default=(0.0, 1.0)
        Ranks compared, as in :class:`PartialStatisticalParity`.
    tolerance : float in [0, 1] or None, default=None
        Largest difference allowed; None takes the estimator's.
    width : float, default=2.0
        Width of the ramp, in units of the score.
    min_group_size : int, "auto" or None, default=None
        Groups with fewer samples are not compared, as in `DemographicParity`; None takes the
        estimator's.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.

    Examples
    --------
    >>> from skfair.constraints import PartialGroupAUC
    >>> PartialGroupAUC((0.0, 0.5))
    PartialGroupAUC(interval=(0.0, 0.5))
    """

    metric = "partial_group_auc_difference"
    unit = "area"
    cells = staticmethod(everybody)
    sampled = staticmethod(sampled_areas)

    def __init__(self, interval=(0.0, 1.0), *, tolerance=None, width=2.0, min_group_size=None):
        self.interval = interval
        self.tolerance = tolerance
        self.width = width
        self.min_group_size = min_group_size

    def rows(self, compared, scores):
        """One row per pair of groups.

        Parameters
        ----------
        compared : Compared
            The events.
        scores : ndarray of shape (n_samples,)
            Not used: these rows suit all scores.

        Returns
        -------
        rows : GroupAUCConstraint
        """
        intervals = [position.pairs for position in compared.positions]
        return GroupAUCConstraint(
            compared.members, intervals, self.width, float(compared.tolerances[0])
        )
