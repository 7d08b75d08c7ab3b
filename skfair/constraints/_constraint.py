"""Base of all fairness constraints: hyper-parameters, and how they are bound to samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from skfair.constraints._bound import BoundConstraint
from skfair.constraints._cells import cell_events, check_cells
from skfair.constraints._gap import AGGREGATES, Range, RatioGap, compare_groups
from skfair.groups import AUTO_MIN_GROUP_SIZE
from skfair.losses import count_decisions
from skfair.surrogates import Step
from skfair.utils._arguments import explain_arguments
from skfair.utils._messages import join_names, warn
from skfair.utils._sklearn import Interval, StrOptions, validate_parameter_constraints
from skfair.utils._tolerance import check_tolerance

if TYPE_CHECKING:
    from skfair.constraints._protocols import MetricConstraint
    from skfair.groups import Groups, Samples


MIN_GROUP_SIZES = [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})]
"""Values of a parameter ``min_group_size``."""


class Constraint(BaseEstimator):
    """Base of all constraints on means of a rate over groups.

    A constraint holds hyper-parameters only; `bind` makes it a function of the scores of samples. A
    constraint of one's own needs `cells`, the sets of samples whose rates are compared, and what is
    averaged over them: a `table`, if decisions are counted, or else a method `rate`. It declares in
    ``applies_to`` which predictions it is about.

    Parameters
    ----------
    tolerance : float or None, default=None
        Largest gap allowed; None takes the estimator's.
    ratio : float or None, default=None
        Smallest ratio allowed of two groups' rates, in (0, 1], in place of a tolerance, including
        the estimator's; for rates of decisions. None bounds their difference.
    reference : {"groups", "overall"}, default="groups"
        "groups": the gap is the largest minus the smallest rate of all groups. "overall": it is
        the largest excess of a group over all samples of the same cell, one-sided.
    aggregate : {"max", "sum", "mean", "signed_mean"}, default="max"
        The largest gap over the cells counts, or their sum (with ``reference="groups"``). With
        ``reference="overall"`` it may be a mean over all groups and cells: "mean" of the positive
        parts of the excesses, so that no group offsets another, or "signed_mean" of the
        excesses themselves, as equation (18) of [1]_ is printed.
    attributes : {"intersections", "each"}, default="intersections"
        With several sensitive attributes, groups are the combinations that occur; "each" compares
        the (overlapping) groups of every single attribute instead.
    min_group_size : int, "auto" or None, default=None
        Groups with fewer samples (of positive weight) are not compared, with a warning that names
        them. "auto": groups of fewer than 30 samples that are also less than 1 % of all samples.
        None takes the estimator's; where there is no estimator all groups are compared.

    References
    ----------
    .. [1] "A modified proximal-perturbed Lagrangian for non-convex non-smooth representatives of
       fairness constraints", under review.

    Examples
    --------
    Equal rates of scores above 2, as a constraint of one's own:

    >>> import numpy as np
    >>> from skfair.constraints import Constraint, check_constraint
    >>> class HighScoreParity(Constraint):
    ...     def cells(self, samples):
    ...         return {"all": np.ones(len(samples.target), dtype=bool)}
    ...
    ...     def rate(self, surrogate, loss):
    ...         return lambda scores, target: surrogate(scores - 2.0)
    >>> check_constraint(HighScoreParity(tolerance=0.05))

    Equal shares of false alarms among the positive decisions, a quotient of two counts:

    >>> class FalseDiscoveryRateParity(Constraint):
    ...     applies_to = ("decisions",)
    ...     table = (0, 1, 0, 0), (1, 1, 0, 0)
    ...
    ...     def cells(self, samples):
    ...         return {"all": np.ones(len(samples.target), dtype=bool)}
    >>> check_constraint(FalseDiscoveryRateParity(tolerance=0.05))
    """

    _parameter_constraints = {
        "tolerance": [Interval(Real, 0, None, closed="left"), None],
        "ratio": [Interval(Real, 0, 1, closed="right"), None],
        "reference": [StrOptions({"groups", "overall"})],
        "aggregate": [StrOptions({aggregate for _, aggregate in AGGREGATES})],
        "attributes": [StrOptions({"intersections", "each"})],
        "min_group_size": [*MIN_GROUP_SIZES, None],
    }

    metric: Any = None
    """Name of the public metric that the gap is, in :data:`skfair.metrics.METRICS`."""

    ratio_metric: Any = None
    """Name of the public metric that the ratio is, of rates of decisions."""

    ratio: Any = None  # of constraints without this parameter

    table: Any = None
    """What a true positive, a false positive, a false negative and a true negative count, if the
    rate is a mean of these counts. A pair of such tables is the numerator and the denominator of a
    quotient. None if `rate` says what is averaged."""

    uses_features = False
    """Whether cells depend on the features X of samples, besides their groups and targets.

    Partitioned data are bound by one sample of each group and class, so that such constraints
    cannot be fitted to them."""

    applies_to = ("scores", "numbers")
    """Kinds of predictions that are compared: "decisions" or "scores" of a classifier, or the
    "numbers" that a regressor predicts."""

    unit = "score"
    """What the gap is measured in: "rate", "score", "loss" or "area" (under an ROC curve)."""

    def __new__(cls, *args, **kwargs):
        """Explain arguments of other places before ``__init__`` refuses them."""
        explain_arguments(cls, kwargs)
        return super().__new__(cls)

    def __init__(
        self,
        *,
        tolerance: float | None = None,
        ratio: float | None = None,
        reference: Literal["groups", "overall"] = "groups",
        aggregate: str = "max",
        attributes: Literal["intersections", "each"] = "intersections",
        min_group_size: int | Literal["auto"] | None = None,
    ):
        self.tolerance = tolerance
        self.ratio = ratio
        self.reference = reference
        self.aggregate = aggregate
        self.attributes = attributes
        self.min_group_size = min_group_size

    @property
    def counts_decisions(self) -> bool:
        """Whether the public metric depends on the signs of the scores alone."""
        return "decisions" in self.applies_to

    @abstractmethod
    def cells(self, samples: Samples) -> dict[str, np.ndarray]:
        """Sets of samples whose rates are compared between groups.

        Parameters
        ----------
        samples : Samples
            Targets (classes -1 and +1), groups and weights.

        Returns
        -------
        cells : dict of str to ndarray of bool, shape (n_samples,)
            Name of a cell -> mask of its samples.
        """

    def rate(self, surrogate: Callable, loss: Callable) -> Any:
        """What is averaged over a cell: by default what `table` counts.

        Parameters
        ----------
        surrogate : callable
            scores -> Pointwise: a smooth stand-in for the decision ``scores > 0``, or the decision
            itself where the rate is the public metric's.
        loss : callable
            (scores, target) -> Pointwise: the loss of the model being trained.

        Returns
        -------
        rate : callable, pair of callables, or None
            (scores, target) -> Pointwise, for any samples, with targets -1 and +1. A pair is the
            numerator and the denominator of a quotient. None for criteria on ranks.
        """
        if self.table is None:
            return None
        tables = self.table if isinstance(self.table[0], tuple) else (self.table,)
        terms = tuple(partial(count_decisions, table, surrogate) for table in tables)
        return terms if len(terms) > 1 else terms[0]

    def bind(
        self, samples: Samples, surrogate: Callable, loss: Callable, tolerance: float
    ) -> MetricConstraint:
        """Make a function of the scores of the given samples.

        Parameters
        ----------
        samples : Samples
            Targets, groups and weights.
        surrogate : callable
            scores -> Pointwise: the smooth stand-in for decisions that solvers see. The public
            metric counts decisions themselves (`skfair.surrogates.Step`).
        loss : callable
            (scores, target) -> Pointwise: the loss of the model being trained.
        tolerance : float
            Used if the constraint has none of its own.

        Returns
        -------
        bound : MetricConstraint

        Raises
        ------
        ValueError
            If a parameter is out of range, a tolerance of rates is above 1, a cell is
            no boolean mask of the samples, all cells of all groups are empty, or an attribute is a
            measurement of more than 30 numbers.

        Warns
        -----
        UserWarning
            If groups are smaller than ``min_group_size``, or cells are empty: they are not
            compared.
        """
        return bind_all([self], [samples], surrogate, loss, tolerance)[0][0]

    def _bind(self, samples, groups, surrogate, loss, tolerance):
        """Bind to groups that are large enough, and to the others for the report alone."""
        # Events of the groups within the cells, and of all samples of a cell if that is the
        # reference.
        large, small = groups
        tolerance = self._resolve_tolerance(tolerance)
        cells = check_cells(self.cells(samples), samples, self)
        events = cell_events(cells, samples, large, self.reference == "overall")
        if events.empty:
            self._report_empty_cells(events)

        others = None if small is None else cell_events(cells, samples, small)
        uncompared = None
        if others and others.labels:
            uncompared = self._bind_events(others, samples, surrogate, loss, Range(()), np.inf)
        return self._bind_events(
            events, samples, surrogate, loss, self._gap(events), tolerance, uncompared
        )

    def _bind_events(self, events, samples, surrogate, loss, gap, tolerance, uncompared=None):
        """Bind to events: the smooth rate for solvers, and the exact one for the metric."""
        return BoundConstraint(
            type(self).__name__,
            events.events,
            events.labels,
            events.order,
            events.counts,
            samples.target,
            smooth=as_terms(self.rate(surrogate, loss)),
            exact=as_terms(self.rate(Step(), loss)),
            aggregate=gap,
            tolerance=tolerance,
            statistic="decisions" if self.counts_decisions else "values",
            uncompared=uncompared,
            is_ratio=self.ratio is not None,
        )

    def _check_parameters(self):
        """Refuse parameters that are out of range, or do not fit one another."""
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        if (self.reference, self.aggregate) not in AGGREGATES:
            needed = next(reference for reference, one in AGGREGATES if one == self.aggregate)
            raise ValueError(
                f"aggregate={self.aggregate!r} needs reference={needed!r}, but {self} has "
                f"reference={self.reference!r}; change one of them."
            )
        if self.ratio is None:
            return
        if not self.counts_decisions:
            raise ValueError(
                f"ratio compares rates of decisions, but {self} is about {self.applies_to[0]}; "
                "pass a tolerance instead."
            )
        if self.tolerance is not None:
            raise ValueError(
                f"ratio bounds a quotient of rates and tolerance their difference, but {self} has "
                "both; pass one of them, or a list of two constraints."
            )
        if (self.reference, self.aggregate) != ("groups", "max"):
            raise ValueError(
                "A ratio compares the smallest rate of a group with the largest, with "
                f'reference="groups" and aggregate="max"; got {self}. Change them, or pass a '
                "tolerance instead."
            )

    @property
    def largest_gap(self) -> float:
        """Largest possible gap: 1 of rates and areas, 2 of a sum over classes, else infinity."""
        if not self.counts_decisions and self.unit not in ("rate", "area"):
            return np.inf
        return 2.0 if self.aggregate == "sum" else 1.0

    def _resolve_tolerance(self, tolerance):
        """The tolerance of this constraint, or the one passed if it has none, checked."""
        # The gap of a ratio is 1 minus it.
        if self.ratio is not None:
            return 1.0 - self.ratio
        tolerance = tolerance if self.tolerance is None else self.tolerance
        return check_tolerance(tolerance, self.largest_gap, of=self)

    def compared_groups(self, samples: Samples) -> tuple[Groups, Groups | None]:
        """The groups that are compared, and those that are too small for it.

        Parameters
        ----------
        samples : Samples
            Groups and weights; their ``min_group_size`` counts where this constraint has none.

        Returns
        -------
        large : Groups
            Of the same samples, which may be in none of them.
        small : Groups or None
            None if no group is too small.

        Raises
        ------
        ValueError
            If no group is large enough, or an attribute is a measurement and not a group.
        """
        groups = samples.groups
        if self.attributes == "each":
            groups = samples.single_attribute_groups()
        is_large = samples.check_group_sizes(groups, self.min_group_size)
        if is_large.all():
            return groups, None
        return groups.select(np.flatnonzero(is_large)), groups.select(np.flatnonzero(~is_large))

    def _report_empty_cells(self, events):
        """Warn of cells without members; refuse data in which all are empty."""
        named = [f"{cell} of group {group!r}" for cell, group in events.empty]
        if not events.labels:
            raise ValueError(
                f"{type(self).__name__} has no rate to compare, for there are no "
                f"{join_names(named)}. Drop the constraint, or fit on data that has such samples."
            )
        warn(
            f"{type(self).__name__} cannot bound the rate of an empty group: there are no "
            f"{join_names(named)}; {len(named)} empty cell(s) are left out of the constraint."
        )

    def _gap(self, events):
        """How the means of the events become one gap."""
        gap = compare_groups(events, self.reference, self.aggregate)
        return gap if self.ratio is None else RatioGap(gap.blocks)


def as_terms(rate):
    """The terms of a rate: itself, or numerator and denominator of a quotient; () for None."""
    if rate is None:
        return ()
    return rate if isinstance(rate, tuple) else (rate,)


def bind_all(constraints, problems, surrogate, loss, tolerance):
    """Bound constraints of each problem, with one warning that names all uncompared groups.

    `problems` are the same samples with the target of each decision: one, or one per class.
    """
    bound, sizes, is_one_left = [[] for _ in problems], {}, False
    for constraint in constraints:
        constraint._check_parameters()
        # Groups are the same in each problem; only targets differ.
        large, small = groups = constraint.compared_groups(problems[0])
        # One warning for each group size that is required, whichever constraints share it.
        if small is not None:
            size = getattr(constraint, "min_group_size", None) or problems[0].min_group_size
            names, counts = small.names, problems[0].group_counts(small)
            by_label = {names[group]: counts[group] for group in np.argsort(small.ranks)}
            sizes.setdefault(size, {}).update(by_label)
            is_one_left |= len(large.names) == 1
        for samples, of_problem in zip(problems, bound, strict=True):
            of_problem.append(constraint._bind(samples, groups, surrogate, loss, tolerance))
    for min_group_size, group_sizes in sizes.items():
        report_small_groups(min_group_size, group_sizes, is_one_left)
    return bound


def report_small_groups(min_group_size, sizes, is_one_left=False):
    """Warn of groups that are not compared, with their sizes by name."""
    if not sizes:
        return
    reason = (
        f"fewer than {AUTO_MIN_GROUP_SIZE} samples and less than 1 % of all samples"
        if min_group_size == "auto"
        else f"fewer than min_group_size={min_group_size} samples"
    )
    named = [f"{name!r} ({size})" for name, size in sizes.items()]
    nothing = " Only one group is left, so that nothing is compared." if is_one_left else ""
    warn(
        f"{len(named)} group(s) with {reason} are not compared: {join_names(named)}. No tolerance "
        f"is kept for them, and the model treats their samples like all others.{nothing} Pass "
        "min_group_size=1 to compare all groups."
    )
