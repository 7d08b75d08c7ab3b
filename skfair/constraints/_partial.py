"""Partial parity: criteria on an interval of percentiles, at all thresholds or at one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Annotated, Literal

from sklearn.base import clone

from skfair._bound.bound import BoundConstraint
from skfair._bound.convex import CONVEX_MEANS
from skfair._bound.ranks import IntervalGap, RankSums, refuse_small_intervals
from skfair._groups.events import cell_events, intervals_by_group
from skfair._utils.api import Intervals
from skfair._utils.parameters import MinGroupSize, Positive, Share, make_constructor
from skfair._utils.sklearn import Interval, StrOptions
from skfair.constraints._constraint import (
    Constraint,
    all_samples,
    each_class,
    positives,
    tolerance_in_unit,
)
from skfair.constraints._docstrings import partial_docs
from skfair.losses import Loss
from skfair.metrics._partial import (
    partial_demographic_parity_gap,
    partial_equal_opportunity_gap,
    partial_equalized_odds_gap,
    partial_group_auc_gap,
    partial_statistical_parity_gap,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from skfair._bound.units import Unit
    from skfair._groups import Samples
    from skfair._groups.groups import Groups


Threshold = Annotated[float, Interval(Real, None, None, closed="neither")]
"""A threshold of scores, or of predicted numbers."""

Percentiles = Annotated[Intervals, "no_validation"]
"""An interval of percentiles, validated by `intervals_by_group`, which knows the groups."""


@partial_docs
class PartialParity(Constraint):
    """Base of criteria on an interval of percentiles ([1]_, Definitions 4.2, 4.3, A.1 to A.3)."""

    reference = "groups"
    aggregate = "max"
    attributes = "intersections"
    gap = IntervalGap
    unit = "rate"

    scale = "normalized"
    """Whether the tolerance is in units of the width of the interval, or of the whole group."""

    is_correctable = False
    """Whether an offset makes the rows count decisions, at one threshold."""

    adds_up = False
    """Whether rows are sums over samples, and the gap is one at all thresholds."""

    compares_pairs = False
    """Whether pairs of samples are compared, and not rates."""

    ranks_in_groups = False
    """Whether the interval is one of ranks in the whole group, though only a class is compared."""

    default_width = 2.0
    """Width of the ramp, of scores of a classifier and standard deviations of a real target."""

    surrogate = "ramp"
    """What stands for decisions, as a key of `CONVEX_MEANS`."""

    n_percentiles = 10
    """Percentiles at which shares are compared or reported."""

    def _bind(
        self,
        samples: Samples,
        groups: tuple[Groups, Groups | None],
        surrogate: Loss | None,
        loss: Loss | None,
        unit: Unit,
    ) -> BoundConstraint:
        """Bind to groups that are large enough, and to the others for the report alone.

        The criterion's own ramp stands for decisions; its width and a threshold are the user's.
        """
        large, small = groups
        # A dict of intervals may lack the name of the only group, which is compared with none.
        is_vacuous = len(large.names) == 1
        interval = (0.0, 1.0) if is_vacuous and isinstance(self.interval, dict) else self.interval
        tolerance = tolerance_in_unit(self)
        if small is not None and isinstance(interval, dict):  # nor of those that are too small
            small = small.select([g for g, name in enumerate(small.names) if name in interval])

        def sums_of(groups: Groups) -> RankSums:
            members = samples._replace(groups=groups)
            cells = cell_events(self.cells(members), members, groups)
            intervals = intervals_by_group(interval, groups.names)
            return RankSums(
                name=type(self).__name__,
                samples=members,
                cells=cells,
                find_cells=self.cells,
                group_intervals=intervals,
                ranks_in_groups=self.ranks_in_groups,
            )

        # Ranks in whole groups depend on scores, and so do the sizes: these are checked with the
        # rows.
        sums = sums_of(large)
        if not is_vacuous and not self.ranks_in_groups:
            refuse_small_intervals(sums)
        uncompared = None if small is None else sums_of(small)
        if uncompared is not None and samples.where is not None:
            sums.cells.empty.update(uncompared.cells.empty)
        if uncompared is not None and not uncompared.cells.labels:
            uncompared = None
        gap = self.gap.from_cells(sums.cells, self._convert_unit(unit))
        return BoundConstraint(sums, gap, tolerance, uncompared=uncompared)

    @property
    def decision_threshold(self) -> float:
        """Where decisions are made: 0 of a classifier, unless there is a threshold."""
        return 0.0 if self.threshold is None else self.threshold

    def _convert_unit(self, unit: Unit) -> PartialParity:
        """The same criterion with a ramp, and a threshold if it has one, of scores in a unit."""
        width = self.default_width if self.width is None else self.width / unit.spread
        params = {"width": width}
        if self.is_correctable:
            params["threshold"] = unit.to_unit(self.decision_threshold)
        return clone(self).set_params(**params)

    def _narrow(self, factor: float) -> PartialParity:
        """The same criterion with another ramp."""
        return clone(self).set_params(width=self.width * factor)

    def _refine(self) -> PartialParity:
        """The same criterion at more percentiles, where it is compared at some."""
        return self

    @abstractmethod
    def _metric(self) -> Callable[..., float]:
        """The public metric, of `ScoredMembers`."""


@partial_docs
@make_constructor
class PartialStatisticalParity(PartialParity):
    r"""Equal score distributions of the groups within an interval of percentiles.

    Within the interval, every threshold has equal shares of the groups above it. With
    :math:`F_k(h)` the share of group k that scores higher than h, and I the interval, the gap is
    ([1]_, Definition 4.2)

    .. math::

        \max_\theta \bigl| \Pr(h > \theta \mid k, F_k(h) \in I)
        - \Pr(h > \theta \mid k', F_{k'}(h) \in I) \bigr|

    for all groups. Its rows ([1]_, (15)) bound shares, counted by a ramp, at percentiles p on I,

    .. math::

        p \le S_k(\theta_p) \le p + \tau (\beta - \alpha), \qquad
        S_k(\theta) = \operatorname{mean}_{i \in k} \, ramp((h_i - \theta) / width),

    with thresholds :math:`\theta_p` shared by all groups as auxiliary unknowns, and :math:`\tau`
    in place of :math:`\tau (\beta - \alpha)` if the scale is "raw".

    Read more in the :ref:`guide <partial_parity>`.

    Parameters
    ----------
    {interval, tolerance}
    scale : {"normalized", "raw"}, default="normalized"
        Whether the tolerance is in units of the width of the interval, or of the whole group; the
        published experiments agree with "raw".
    n_percentiles : int, default=10
        Number of percentiles p, evenly spaced from one end of the interval to the other. (By Lemma
        5.1 of [1]_ those within the tolerance of its end can be left out if all others are there.)
    {wide_ramp}
    surrogate : {"ramp", "sigmoid"}, default="ramp"
        What stands for decisions: a ramp, or a logistic sigmoid as steep in the middle. With a
        ``width`` of 4 the latter is that of [1]_ (Examples D.3 and D.4).
    {min_group_size}

    {idca_paper}

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

    metric = "partial_statistical_parity_difference"
    cells = staticmethod(all_samples)
    adds_up = True

    interval: Percentiles = (0.0, 1.0)
    _: KW_ONLY
    tolerance: Share | None = None
    scale: Literal["normalized", "raw"] = "normalized"
    n_percentiles: Annotated[int, Interval(Integral, 2, None, closed="left")] = 10
    width: Positive | None = None
    surrogate: Annotated[str, StrOptions(CONVEX_MEANS)] = "ramp"
    min_group_size: MinGroupSize | None = None

    def _metric(self) -> Callable[..., float]:
        return partial(partial_statistical_parity_gap, scale=self.scale)

    def _refine(self) -> PartialParity:
        """The same criterion at twice as many percentiles, up to 20; with no fewer.

        Between two percentiles groups differ by more.
        """
        # A criterion that asks for more percentiles than this keeps its own number.
        # Beyond 20 percentiles quadratic programs cost more than the data.
        more = min(2 * self.n_percentiles, 20)
        return clone(self).set_params(n_percentiles=max(self.n_percentiles, more))


@partial_docs
@make_constructor
class PartialGroupAUC(PartialParity):
    r"""Even odds that one group scores above another within an interval of percentiles.

    The gap is :math:`|AUC_{kk'} - \tfrac12|`, with :math:`AUC_{kk'}` the probability that a
    member of group k scores above a member of group k', both from the interval of their group
    ([1]_, Definition A.1 and problem (49)).

    Read more in the :ref:`guide <partial_parity>`.

    Parameters
    ----------
    {interval, tolerance, wide_ramp, min_group_size}

    {idca_paper}

    Examples
    --------
    >>> from skfair.constraints import PartialGroupAUC
    >>> PartialGroupAUC((0.0, 0.5))
    PartialGroupAUC(interval=(0.0, 0.5))
    """

    metric = "partial_group_auc_difference"
    unit = "area"
    cells = staticmethod(all_samples)
    compares_pairs = True

    interval: Percentiles = (0.0, 1.0)
    _: KW_ONLY
    tolerance: Share | None = None
    width: Positive | None = None
    min_group_size: MinGroupSize | None = None

    def _metric(self) -> Callable[..., float]:
        return partial_group_auc_gap


@partial_docs
@make_constructor
class PartialDemographicParity(PartialParity):
    r"""Equal selection rates of the groups within an interval of percentiles.

    The gap is, with ranks F and the interval I as in :class:`PartialStatisticalParity`,

    .. math::

        \bigl| \Pr(h > \theta \mid k, F_k(h) \in I)
        - \Pr(h > \theta \mid k', F_{k'}(h) \in I) \bigr|

    for the threshold :math:`\theta` at which decisions are made ([1]_, Definition 4.3).

    Read more in the :ref:`guide <partial_parity>`.

    Parameters
    ----------
    {interval, tolerance, scale, threshold, narrow_ramp}
    surrogate : {"ramp", "sigmoid"}, default="ramp"
        What stands for decisions: a ramp, or a logistic sigmoid as steep in the middle. With a
        ``width`` of 4 the latter is that of [1]_ (Examples D.5 and D.6).
    {min_group_size}

    {idca_paper}

    Examples
    --------
    >>> from skfair.constraints import PartialDemographicParity
    >>> PartialDemographicParity((0.2, 0.6), tolerance=0.05)
    PartialDemographicParity(interval=(0.2, 0.6), tolerance=0.05)
    """

    metric = "partial_demographic_parity_difference"
    rate_name = "selection_rate"
    partitioned_alternative = (
        "; 'statistical_parity' bounds the same difference at every threshold, that of decisions "
        "among them"
    )
    cells = staticmethod(all_samples)
    is_correctable = True
    default_width = 0.5

    interval: Percentiles = (0.0, 1.0)
    _: KW_ONLY
    tolerance: Share | None = None
    scale: Literal["normalized", "raw"] = "normalized"
    threshold: Threshold | None = None
    width: Positive | None = None
    surrogate: Annotated[str, StrOptions(CONVEX_MEANS)] = "ramp"
    min_group_size: MinGroupSize | None = None

    def _metric(self) -> Callable[..., float]:
        return partial(
            partial_demographic_parity_gap, threshold=self.decision_threshold, scale=self.scale
        )


@partial_docs
@make_constructor
class PartialEqualOpportunity(PartialParity):
    r"""Equal true positive rates of the groups within an interval of percentiles.

    As :class:`PartialDemographicParity`, among the positive class ([1]_, Definition A.2).

    Read more in the :ref:`guide <partial_parity>`.

    Parameters
    ----------
    {interval, tolerance, scale}
    rank_within : {"group", "class"}, default="group"
        Rank among one's group, as in Definition A.2 of [1]_, or among those of one's group and
        class, as its problem (50) ranks.
    {threshold, narrow_ramp, min_group_size}

    {idca_paper}

    Examples
    --------
    >>> from skfair.constraints import PartialEqualOpportunity
    >>> PartialEqualOpportunity((0.2, 0.6), rank_within="class")
    PartialEqualOpportunity(interval=(0.2, 0.6), rank_within='class')
    """

    metric = "partial_equal_opportunity_difference"
    rate_name = "true_positive_rate"
    applies_to = ("scores",)
    cells = staticmethod(positives)
    is_correctable = True
    default_width = 0.5
    _measure = staticmethod(partial_equal_opportunity_gap)

    interval: Percentiles = (0.0, 1.0)
    _: KW_ONLY
    tolerance: Share | None = None
    scale: Literal["normalized", "raw"] = "normalized"
    rank_within: Literal["group", "class"] = "group"
    threshold: Threshold | None = None
    width: Positive | None = None
    min_group_size: MinGroupSize | None = None

    def _metric(self) -> Callable[..., float]:
        return partial(
            self._measure,
            threshold=self.decision_threshold,
            rank_within=self.rank_within,
            scale=self.scale,
        )

    @property
    def ranks_in_groups(self) -> bool:
        """Whether the interval is one of ranks in the whole group."""
        return self.rank_within == "group"


@partial_docs
class PartialEqualizedOdds(PartialEqualOpportunity):
    r"""Equal true and equal false positive rates within an interval of percentiles.

    As :class:`PartialEqualOpportunity`, in both classes; the larger of the two gaps counts ([1]_,
    Definition A.3).

    Read more in the :ref:`guide <partial_parity>`.

    Parameters
    ----------
    {interval, tolerance, scale}
    rank_within : {"group", "class"}, default="group"
        Rank among one's group, as in Definition A.3 of [1]_, or among those of one's group and
        class, as its problem (56) ranks.
    {threshold, narrow_ramp, min_group_size}

    {idca_paper}

    Examples
    --------
    >>> from skfair.constraints import PartialEqualizedOdds
    >>> PartialEqualizedOdds((0.2, 0.6), scale="raw")
    PartialEqualizedOdds(interval=(0.2, 0.6), scale='raw')
    """

    metric = "partial_equalized_odds_difference"
    rate_name = None
    cells = staticmethod(each_class)

    _measure = staticmethod(partial_equalized_odds_gap)
