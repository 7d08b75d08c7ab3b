"""Base of all fairness constraints: parameters, samples that are compared, binding to data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from skfair._bound.bound import BoundConstraint, Sums
from skfair._bound.gap import Gap, RangeGap, RatioGap
from skfair._bound.pair_gap import AGGREGATES, REFERENCE_GAPS
from skfair._bound.units import USER_UNIT, DecisionFunction, LogOdds, make_terms
from skfair._groups import Groups, Samples
from skfair._groups.events import cell_events
from skfair._groups.samples import AUTO_MIN_GROUP_SIZE
from skfair._utils.api import Direction, GroupName, Reference
from skfair._utils.checks import (
    argument_error,
    check_tolerance,
    closest_name_hint,
    join_names,
    warn,
)
from skfair._utils.parameters import MinGroupSize, PositiveShare, Tolerance, validate_params
from skfair._utils.sklearn import StrOptions
from skfair.constraints._docstrings import constraint_docs
from skfair.losses import DecisionRate, LogisticLoss, Loss, step_function
from skfair.metrics import METRICS, RATES
from skfair.metrics._rates import Rate
from skfair.metrics._registry import Metric
from skfair.metrics._synonyms import SYNONYMS, find_synonym

if TYPE_CHECKING:
    from types import SimpleNamespace

    from skfair._bound.units import Unit
    from skfair._groups.events import CellEvents
    from skfair._utils.checks import Registry


# Cells: the samples that a constraint compares.


@constraint_docs
def all_samples(samples: Any) -> dict[str, np.ndarray]:
    """One cell with all samples.

    {cell_signature}
    """
    return {"all": np.ones(len(samples.target), dtype=bool)}


@constraint_docs
def positives(samples: Samples) -> dict[str, np.ndarray]:
    """One cell with the positive class.

    {cell_signature}
    """
    return {"positives": samples.target > 0}


@constraint_docs
def negatives(samples: Samples) -> dict[str, np.ndarray]:
    """One cell with the negative class.

    {cell_signature}
    """
    return {"negatives": samples.target < 0}


@constraint_docs
def each_class(samples: Samples) -> dict[str, np.ndarray]:
    """The positive and the negative class as cells.

    {cell_signature}
    """
    return positives(samples) | negatives(samples)


def check_cells(
    cells: dict[str, np.ndarray], samples: Samples, constraint: Constraint
) -> dict[str, np.ndarray]:
    """The cells of a constraint as boolean masks; others are refused."""
    if not isinstance(cells, Mapping):
        raise TypeError(
            "cells must return masks of the samples that are compared, as a dict by name, but "
            f"{type(constraint).__name__}.cells returned {cells!r}. Define cells(self, samples)."
        )
    cells = {name: np.asarray(inside) for name, inside in cells.items()}
    shape = samples.target.shape
    for name, inside in cells.items():
        if inside.dtype != bool or inside.shape != shape:
            raise ValueError(
                f"cells must be boolean masks of shape {shape}, one entry per sample that is "
                f"passed to cells, but the cell {name!r} of {constraint} is of type "
                f"{inside.dtype} and shape {inside.shape}. Make it from the argument of cells: a "
                "fit passes only the samples of its own fold, and of those only the ones of "
                "positive weight."
            )
    return cells


# Base of all fairness constraints: hyper-parameters, and how they are bound to samples.


Aggregate = Annotated[str, StrOptions({aggregate for _, aggregate in AGGREGATES})]
"""How the gaps of the groups become one number."""


class ComparedGroups(BaseEstimator):
    """Which of the groups of samples a constraint compares, set when it is bound to them."""

    direction: Any = None  # of constraints without this parameter

    attribute: Any = None
    """The only attribute whose groups are compared, where each has a tolerance; or None."""

    reference_groups: tuple[GroupName, ...] = ()
    """Names of the reference groups, where there are some."""


def join_name(constraint: Constraint, criterion: str) -> str:
    """What messages call a constraint on a criterion: where its gap lies, and of what groups."""
    by = "" if constraint.attribute is None else f" by {constraint.attribute}"
    return f"{criterion} {constraint.gap.side}".rstrip() + by


class Constraint(ComparedGroups):
    """Base class of all constraints, and of constraints of one's own.

    It bounds gaps between means over groups. A constraint holds hyper-parameters only; `bind` makes
    it a function of the scores of samples. A constraint of one's own needs `cells`, the sets of
    samples whose rates are compared, and what is averaged over them: a `table`, if decisions are
    counted, or else a method `terms`. It declares in ``applies_to`` which predictions it is about.

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    tolerance : float, dict or None, default=None
        Largest gap allowed; None takes the estimator's. A dict has one for each attribute by its
        name, as in ``{"sex": 0.03, "race": 0.05}``, and needs ``attributes="each"``: groups are
        then compared with those of the same attribute alone, and reports have a gap of each.
    ratio : float or None, default=None
        Smallest ratio allowed of two groups' rates, in (0, 1], in place of a tolerance, including
        the estimator's; for rates of decisions and mean predictions. None bounds their difference.
    reference : {"groups", "overall", "above_overall"} or dict, default="groups"
        "groups": the gap is the largest minus the smallest rate of all groups. "overall": it is
        the largest distance of a group's rate from that of all samples of the same cell, in either
        direction. "above_overall": it is the largest excess of a group's rate over that of all
        samples, as in [1]_. A rate may then be any amount below: of selection rates a group that
        is never selected has no gap. A dict names a reference group by the label of every
        attribute, as in ``{"sex": "male"}``, and needs a `direction`; it is for rates of decisions
        and mean errors, with ``aggregate="max"``.
    aggregate : {"max", "sum", "mean", "signed_mean"}, default="max"
        The largest gap over the cells counts, or their sum (with ``reference="groups"``). Against
        all samples it may be a mean over all groups and cells: "mean" with ``reference="overall"``
        of the distances, with ``reference="above_overall"`` of the positive parts of the excesses,
        so that no group offsets another. "signed_mean" is that of the excesses themselves, as
        equation (18) of [1]_ is printed, with ``reference="above_overall"`` alone.
    attributes : {"intersections", "each"}, default="intersections"
        With several sensitive attributes, groups are the combinations that occur; "each" compares
        the overlapping groups of all single attributes instead, also between attributes. For gaps
        within each attribute alone pass a dict as `tolerance`.
    min_group_size : int, "auto" or None, default=None
        Groups with fewer samples (of positive weight) are not compared, with a warning that names
        them. "auto": groups of fewer than 30 samples that are also less than 1 % of all samples.
        None takes the estimator's; where there is no estimator all groups are compared.
    direction : {"below", "above"} or None, default=None
        With a reference group: on which side of it a rate may not be far off. "below": no group's
        rate is below that of the reference by more than the tolerance, or below `ratio` times it.
        "above": none is above it, and the reference has at least `ratio` times the rate of every
        group. The other side is free. With ``attributes="each"`` groups are compared with the
        reference of their attribute.

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
    ...     def terms(self, surrogate, loss):
    ...         return (lambda scores, target: surrogate(scores - 2.0),)
    >>> check_constraint(HighScoreParity(tolerance=0.05))

    A bound on the ratio of the groups' mean losses, whose gap is 1 minus the ratio:

    >>> from skfair.constraints import LossParity, RatioGap
    >>> class LossRatio(LossParity):
    ...     gap, metric = RatioGap, None
    >>> check_constraint(LossRatio(tolerance=0.2))

    Equal shares of false alarms among the positive decisions, a quotient of two counts:

    >>> class FalseDiscoveryRateParity(Constraint):
    ...     applies_to = ("decisions",)
    ...     table = (0, 1, 0, 0), (1, 1, 0, 0)
    ...
    ...     def cells(self, samples):
    ...         return {"all": np.ones(len(samples.target), dtype=bool)}
    >>> check_constraint(FalseDiscoveryRateParity(tolerance=0.05))
    """

    metric: Any = None
    """Name of the public metric that the gap is, which a scorer is named after."""

    ratio: Any = None  # of constraints without this parameter

    table: Any = None
    """What a true positive, a false positive, a false negative and a true negative count, if the
    rate is a mean of these counts. A pair of such tables is the numerator and the denominator of a
    quotient. None if `terms` says what is averaged."""

    rate_name: Any = None
    """Name of the rate of decisions in :data:`skfair.metrics.RATES` that is compared, if it is."""

    uses_features = False
    """Whether cells depend on the features X of samples, besides their groups and targets.

    Partitioned data are bound by one sample of each group and class, so that such constraints
    cannot be fitted to them."""

    partitioned_alternative = ""
    """What can be fitted to partitioned samples in its place, to end a message with."""

    applies_to: tuple[str, ...] = ("scores", "numbers")
    """Kinds of predictions that are compared: "decisions", "scores" or "probabilities" of a
    classifier, or the "numbers" that a regressor predicts; or "rankings" of documents."""

    unit = "score"
    """What the gap is measured in: "rate", "score", "loss", "area" (under an ROC curve),
    "probability", or "attention" that documents get."""

    def __init__(
        self,
        *,
        tolerance: Tolerance | None = None,
        ratio: PositiveShare | None = None,
        reference: Reference | dict[Any, Any] = "groups",
        aggregate: Aggregate = "max",
        attributes: Literal["intersections", "each"] = "intersections",
        min_group_size: MinGroupSize | None = None,
        direction: Direction | None = None,
    ):
        self.tolerance = tolerance
        self.ratio = ratio
        self.reference = reference
        self.aggregate = aggregate
        self.attributes = attributes
        self.min_group_size = min_group_size
        self.direction = direction

    @property
    def name(self) -> str:
        """What reports and messages call the constraint."""
        return join_name(self, type(self).__name__)

    @property
    def gap(self) -> type[Gap]:
        """How rates become one gap: a class of gaps, such as `RangeGap`.

        A constraint of one's own may set it, as in ``gap = RatioGap``.
        """
        return _requested_gap(self)

    rates_by_cell: Mapping[str, str] = {}
    """Names of the rates that are compared in each cell, of a constraint on several rates."""

    @property
    def compared_rate(self) -> Rate | Metric | None:
        """What is compared: a :class:`skfair.metrics.Rate`, else a public metric, or None."""
        return RATES.get(self.rate_name) or METRICS.get(self.metric)

    @property
    def counts_decisions(self) -> bool:
        """Whether the public metric depends on the signs of the scores alone."""
        return "decisions" in self.applies_to

    @property
    def compares_means(self) -> bool:
        """Whether mean predictions are compared: numbers, or probabilities of a classifier."""
        return self.metric == "mean_score_difference"

    @property
    def _metric_input(self) -> str:
        """What the public metric depends on, as in `Sums`."""
        if self.unit == "probability":
            return "probabilities"
        return "decisions" if self.counts_decisions else "values"

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

    def terms(self, surrogate: Loss, loss: Loss) -> tuple[Loss, ...]:
        """What is averaged over a cell: by default what `table` counts.

        Parameters
        ----------
        surrogate : callable
            scores -> Pointwise: a smooth stand-in for the decision ``scores > 0``, or the decision
            itself where the terms are the public metric's.
        loss : callable
            (scores, target) -> Pointwise: the loss of the model being trained.

        Returns
        -------
        terms : tuple of callables
            (scores, target) -> Pointwise, for any samples, with targets -1 and +1, or for a
            regressor with predictions and targets in units of the target. Two are the numerator and
            the denominator of a quotient; none is there for criteria on ranks.
        """
        if self.table is None:
            return ()
        tables = self.table if isinstance(self.table[0], tuple) else (self.table,)
        return tuple(DecisionRate(table, surrogate) for table in tables)

    def bind(
        self,
        samples: Samples,
        surrogate: Loss | None,
        loss: Loss | None,
        tolerance: float | dict[Any, float] | None,
    ) -> BoundConstraint:
        """Make a function of the scores of the given samples.

        Parameters
        ----------
        samples : Samples
            Targets, groups and weights.
        surrogate : callable
            scores -> Pointwise: the smooth stand-in for decisions that solvers see. The public
            metric counts decisions themselves (`skfair.losses.step_function`).
        loss : callable
            (scores, target) -> Pointwise: the loss of the model being trained.
        tolerance : float
            Used if the constraint has none of its own.

        Returns
        -------
        bound : BoundConstraint

        Raises
        ------
        ValueError
            If a parameter is out of range, a tolerance of rates is above 1, the public metric is
            not registered, there are no terms, a cell is no boolean mask of the samples, all cells
            of all groups are empty, or an attribute is a measurement of more than 30 numbers.
        TypeError
            If `terms` is no tuple.

        Warns
        -----
        UserWarning
            If groups are smaller than ``min_group_size``, or cells are empty: they are not
            compared.
        """
        constraint = fill_tolerance(self, tolerance)
        refuse_tolerances_by_attribute(constraint, "bind")
        return bind_all([constraint], [samples], surrogate, loss)[0][0]

    def _bind(
        self,
        samples: Samples,
        groups: tuple[Groups, Groups | None],
        surrogate: Loss | None,
        loss: Loss | None,
        unit: Unit,
    ) -> BoundConstraint:
        """Bind to groups that are large enough, and to the others for the report alone.

        Scores and targets of samples are in a unit, in which the bound constraint is, too.
        """
        # Events of the groups within the cells, and of all samples of a cell if that is the
        # reference.
        large, small = groups
        smooth, exact, unit_of_rates = make_terms(self, surrogate, loss, samples, unit)
        tolerance = tolerance_in_unit(self, unit_of_rates)
        of_user = samples._replace(target=unit.target_unit.from_unit(samples.target))
        if self.ratio is not None and self.compares_means:
            _check_ratio_of_means(self, of_user.target, unit)
        masks = check_cells(self.cells(of_user), samples, self)
        cells = cell_events(masks, samples, large, self.gap.compares == "overall")
        others = None if small is None else cell_events(masks, samples, small)
        if others and samples.where is not None:
            cells.empty.update(others.empty)
        if cells.empty:
            _report_empty_cells(self.name, cells, samples)
        if not smooth:
            raise ValueError(
                f"{self} must say what is averaged over its cells, but it has neither a table "
                "nor a method terms(surrogate, loss); define one of them."
            )
        # Of the smooth rate for solvers, and of the exact one of the metric.
        sums = Sums(
            name=self.name,
            cells=cells,
            target=samples.target,
            smooth=smooth,
            exact=exact,
            metric_input=self._metric_input,
            unit=unit_of_rates,
        )
        of_others = replace(sums, cells=others) if others and others.labels else None
        gap = self.gap.from_cells(cells, self)
        return BoundConstraint(sums, gap, tolerance, uncompared=of_others)

    def _check_parameters(self) -> None:
        """Raise for parameters that are out of range, or do not fit one another."""
        validate_params(self)
        if self.direction is not None or isinstance(self.reference, Mapping):
            _check_side(self)
        elif (self.reference, self.aggregate) not in AGGREGATES:
            needed = next(reference for reference, one in AGGREGATES if one == self.aggregate)
            raise ValueError(
                f"aggregate={self.aggregate!r} needs reference={needed!r}, but {self} has "
                f"reference={self.reference!r}; change one of them."
            )
        _check_declarations(self)
        if self.ratio is None:
            return
        if not (self.counts_decisions or self.unit == "attention" or self.compares_means):
            raise argument_error(
                f"ratio compares rates of decisions or mean predictions, but {self} is about "
                f"{self.applies_to[0]}; pass a tolerance instead."
            )
        if self.tolerance is not None:
            raise argument_error(
                f"ratio bounds a quotient of rates and tolerance their difference, but {self} has "
                "both; pass one of them, or a list of two constraints."
            )
        is_one_sided = isinstance(self.reference, Mapping)
        if not is_one_sided and (self.reference, self.aggregate) != ("groups", "max"):
            raise ValueError(
                "A ratio compares the smallest rate of a group with the largest, with "
                f'reference="groups" and aggregate="max"; got {self}. Change them, or pass a '
                "tolerance instead."
            )

    @property
    def largest_gap(self) -> float:
        """Largest possible gap: 1 of rates and areas, 2 of a sum over classes, else infinity."""
        if self.gap.is_ratio:
            return 1.0
        shares = ("rate", "area", "attention", "probability")
        if not self.counts_decisions and self.unit not in shares:
            return np.inf
        return 2.0 if self.aggregate == "sum" else 1.0

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
        if self.attribute is not None and len(samples.groups.attributes) > 1:
            is_compared = [attribute == self.attribute for ((attribute, _),) in groups.labels]
            groups = groups.select(np.flatnonzero(is_compared))
        is_large = samples.check_group_sizes(groups, self.min_group_size)
        if is_large.all():
            return groups, None
        return groups.select(np.flatnonzero(is_large)), groups.select(np.flatnonzero(~is_large))


def _check_side(constraint: Constraint) -> None:
    """Raise for a reference group or a direction that do not fit the constraint."""
    is_group = isinstance(constraint.reference, Mapping)
    if not is_group or constraint.direction is None:
        raise argument_error(
            "reference must be a group, as in {'sex': 'male'}, where direction is 'below' or "
            f"'above', and has no direction by itself; got {constraint}. Pass both or neither."
        )
    if not (constraint.counts_decisions or constraint.rate_name == "mean_error"):
        raise argument_error(
            "reference may be a group for rates of decisions and mean errors, but "
            f"{constraint.name} compares others; pass reference='groups'."
        )
    if constraint.aggregate != "max":
        raise argument_error(
            f"aggregate must be 'max' with a reference group; got {constraint.aggregate!r}."
        )


def set_reference_groups(constraint: Constraint, groups: Groups) -> Constraint:
    """The constraint with the names of its reference groups, where it has some."""
    reference = constraint.reference
    if not isinstance(reference, Mapping) or len(groups.names) < 2:
        return constraint
    attributes = groups.attributes
    if {*reference} != {*attributes}:
        raise argument_error(
            "reference must have one label for each attribute, which are "
            f"{join_names(map(repr, attributes))}; got {reference!r}."
        )
    constraint = copy(constraint)
    labels = [reference[one] for one in attributes]
    names = [labels[0]] if len(labels) == 1 else [tuple(labels)]
    if len(labels) > 1 and constraint.attributes == "each":
        names = [(one, reference[one]) for one in attributes if constraint.attribute in (None, one)]
    constraint.reference_groups = tuple(names)
    return constraint


def _requested_gap(constraint: Constraint) -> type[Gap]:
    """The class of gaps that the parameters of a constraint ask for."""
    if isinstance(constraint.reference, Mapping):
        return REFERENCE_GAPS[constraint.direction, constraint.ratio is not None]
    if constraint.ratio is not None:
        return RatioGap
    return AGGREGATES[constraint.reference, constraint.aggregate]


def _check_ratio_of_means(constraint: Constraint, target: np.ndarray, unit: Unit) -> None:
    """Raise where predictions may be negative, whose means have no ratio."""
    if isinstance(unit, DecisionFunction):
        raise argument_error(
            f"ratio of {constraint.name} compares probabilities, or numbers that are never "
            "negative, but this loss gives no probabilities. Pass loss='logistic', or a tolerance "
            "instead."
        )
    # Of classes the numbers -1 and +1 are no target to predict.
    is_real = not isinstance(unit, LogOdds) and unit != USER_UNIT
    if is_real and target.min(initial=0.0) < 0.0:
        raise argument_error(
            f"ratio of {constraint.name} compares means of numbers that are never negative, but "
            f"the smallest target is {target.min():g}. Pass a tolerance instead."
        )


def _check_declarations(constraint: Constraint) -> None:
    """Raise for terms, a metric and a gap of a constraint that clients cannot use."""
    terms = constraint.terms(step_function, LogisticLoss())
    if not isinstance(terms, tuple):
        raise TypeError(
            f"terms of {constraint} must return a tuple of functions (scores, target) -> "
            f"Pointwise, one for a mean and two for a quotient, but it returns {terms!r}; return "
            "(function,)."
        )
    # A denominator is tried at both classes and decisions.
    scores, target = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]])
    sizes = [np.min(term(scores, target).value) for term in terms[1:]]
    if len(sizes) > 1 or min(sizes, default=0.0) < 0.0:
        raise ValueError(
            f"Two terms of {constraint} are the numerator and the denominator of a quotient, which "
            f"must be at least 0, but there are {len(terms)} terms, or the second one is "
            "negative for some scores. A variance, a mean square less a squared mean, is no "
            "quotient: return the square alone, and pass MeanParity beside it in a list."
        )
    # Of decisions, metrics may take strata or pairs, and are not asked for their predictions.
    metric = constraint.metric
    gap = constraint.gap
    if not constraint.counts_decisions and metric and metric not in METRICS:
        raise ValueError(
            f"metric of {constraint} must be a name in skfair.metrics.METRICS, but {metric!r} "
            "is not registered; register it, or leave metric = None."
        )
    if _requested_gap(constraint) not in (RangeGap, gap):
        raise ValueError(
            f"The gap of {type(constraint).__name__} is always {gap.name}, but {constraint} asks "
            "for another one; leave out ratio, reference and aggregate."
        )


DEFAULT_TOLERANCE = 0.05
"""Tolerance in units of a fit, where neither a constraint nor its estimator has one."""


def check_whose_tolerance(
    constraint: Constraint | str | list[str | Constraint] | None,
    tolerance: float | dict[Any, float] | None,
) -> None:
    """Raise if a tolerance fills in no constraint's, and differs from all that they have.

    `constraint` is one, by name or as an object, or several; their own tolerances are their bounds.
    """
    constraints = constraint if isinstance(constraint, list | tuple) else [constraint]
    # That of a ratio is no tolerance.
    bounds = [
        np.nan if getattr(one, "ratio", None) is not None else getattr(one, "tolerance", None)
        for one in constraints
        if one is not None
    ]
    if tolerance is None or not bounds or None in bounds or tolerance in bounds:
        return
    raise ValueError(
        f"tolerance={tolerance!r} must be the bound of a constraint without its own, but "
        f"{join_names(map(str, constraints))} has another bound of its own. Leave out one of them."
    )


def fill_tolerance(constraint: Constraint, tolerance: Tolerance | None) -> Constraint:
    """Return the constraint with this tolerance, or as it is if it has a bound of its own."""
    if tolerance is None or allowed_gap(constraint) is not None:
        return constraint
    filled = copy(constraint)
    filled.tolerance = tolerance
    return filled


def allowed_gap(constraint: Constraint) -> Tolerance | None:
    """Return the largest gap that a constraint allows; None if it has neither bound.

    The gap of a ratio is 1 minus the ratio: at least 0.8 allows 0.2.
    """
    if constraint.ratio is not None:
        return 1.0 - constraint.ratio
    return constraint.tolerance


def split_by_attribute(constraint: Constraint, groups: Groups) -> list[Constraint]:
    """Return the constraint, or one for each attribute that has a tolerance of its own."""
    tolerances = constraint.tolerance
    if not isinstance(tolerances, Mapping):
        return [constraint]
    if getattr(constraint, "attributes", None) != "each":
        raise argument_error(
            f"tolerance may have one number for each attribute with attributes='each', but "
            f"{constraint} does not compare the groups of each; pass attributes='each', or one "
            "number."
        )
    attributes = groups.attributes
    if len(groups.names) < 2:  # as without sensitive_features, where nothing is compared
        attributes = tolerances
    if {*tolerances} != {*attributes}:
        unnamed = " (by position, unless sensitive_features has names)"
        raise argument_error(
            "tolerance must have one number for each attribute: "
            f"{join_names(map(repr, attributes))}{unnamed if 0 in attributes else ''}; got "
            f"{tolerances!r}."
        )
    parts = []
    for attribute in attributes:
        parts.append(copy(constraint))
        parts[-1].tolerance = tolerances[attribute]
        parts[-1].attribute = attribute
    return parts


def refuse_tolerances_by_attribute(constraint: Constraint, where: str) -> None:
    """Raise for a tolerance of each attribute where there must be one."""
    if isinstance(constraint.tolerance, Mapping):
        raise argument_error(
            f"tolerance must be one number for {where}, but {constraint.name} has one for each "
            "attribute; pass the groups of one attribute at a time."
        )


def tolerance_in_unit(constraint: Constraint, unit: Unit = USER_UNIT) -> float:
    """Return the checked tolerance of a constraint in a unit of its rates.

    Without a bound it is `DEFAULT_TOLERANCE`, which is in units of a fit already.
    """
    tolerance = allowed_gap(constraint)
    if tolerance is None and isinstance(unit, DecisionFunction):
        raise argument_error(
            f"tolerance of {constraint.name} must be a number in units of the decision function, "
            "since this loss gives no probabilities; got None. Pass one, or loss='logistic'."
        )
    if tolerance is None:
        return DEFAULT_TOLERANCE
    size = 1.0 if constraint.gap.is_ratio else unit.spread
    largest = 1.0 if isinstance(unit, LogOdds) else constraint.largest_gap
    return check_tolerance(tolerance, largest, of=constraint.name) / size


class NothingToCompareError(ValueError):
    """Data without a sample of which a constraint compares the rate."""


class EmptyCellsWarning(UserWarning):
    """Cells of some groups have no samples, so that their rates are not compared."""


def _report_empty_cells(
    name: str, cells: CellEvents | SimpleNamespace, samples: Samples | None
) -> None:
    """Warn of cells without members, or with too few; raise for data in which all are such."""
    named = join_names(
        f"{cell} of group {group!r}" + f" ({n})" * (n > 0)
        for (cell, group), n in cells.empty.items()
    )
    if not cells.labels:
        number, advice = "no", ""
        if any(cells.empty.values()):
            number, advice = "too few", ", or lower min_group_size"
        raise NothingToCompareError(
            f"{name} has no rate to compare, for there are {number} {named}. Drop the constraint, "
            f"pass data that has such samples{advice}."
        )
    if samples.where is None:  # type: ignore[union-attr]
        warn(
            f"{name} cannot bound the rate of an empty group: there are no {named}; "
            f"{len(cells.empty)} empty cell(s) are left out of the constraint.",
            EmptyCellsWarning,
        )


def bind_all(
    constraints: list[Constraint],
    per_class: list[Samples],
    surrogate: Loss | None,
    loss: Loss | None,
    unit: Unit = USER_UNIT,
) -> list[list[BoundConstraint]]:
    """Bound constraints of each class, with one warning that names all uncompared groups.

    `per_class` are the same samples with the target of each decision: one, or one per class. Real
    targets are in a unit.
    """
    bound: list[list[BoundConstraint]] = [[] for _ in per_class]
    sizes: dict[Any, dict[GroupName, int]] = {}
    is_one_left = False
    for constraint in constraints:
        constraint._check_parameters()
    groups_of_all = per_class[0].groups
    for constraint in chain.from_iterable(
        split_by_attribute(one, groups_of_all) for one in constraints
    ):
        # Groups are the same in each class; only targets differ.
        if isinstance(constraint.reference, Mapping):
            constraint = set_reference_groups(constraint, groups_of_all)
        large, small = groups = constraint.compared_groups(per_class[0])
        absent = [one for one in constraint.reference_groups if one not in large.names]
        if absent:
            raise argument_error(
                f"reference must be a group that is compared, but "
                f"{join_names(map(repr, absent))} is none of {join_names(map(repr, large.names))}, "
                "or has too few samples."
            )
        # One warning for each group size that is required, whichever constraints share it.
        if small is not None and per_class[0].where is None:
            size = getattr(constraint, "min_group_size", None) or per_class[0].min_group_size
            names = small.names
            counts = small.counts
            by_label = {names[group]: counts[group] for group in np.argsort(small.ranks)}
            sizes.setdefault(size, {}).update(by_label)
            is_one_left |= len(large.names) == 1
        for samples, of_class in zip(per_class, bound, strict=True):
            of_class.append(constraint._bind(samples, groups, surrogate, loss, unit))
    for min_group_size, group_sizes in sizes.items():
        warn_of_small_groups(min_group_size, group_sizes, is_one_left)
    return bound


def warn_of_small_groups(
    min_group_size: Any, sizes: dict[GroupName, int], is_one_left: bool
) -> None:
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
        f"is kept for them, and the model treats their samples like all others.{nothing} Set "
        "min_group_size=1 of the constraint to compare all groups."
    )


# What unknown constraints may mean: names of other libraries, and fairlearn's objects.


def constraint_hint(what: Any, registry: Registry) -> str:
    """What an unknown constraint may mean, to end an error with: by meaning, then by spelling.

    `what` is the name or object that was passed, and the registry has the constraints by name.
    """
    if isinstance(what, type) and what in registry.values():
        return f" Pass an instance, as in {what.__name__}()."
    # Classes, objects and functions of other libraries have names of criteria.
    name = what if isinstance(what, str) else getattr(what, "__name__", type(what).__name__)
    synonym = None if "partial" in name else find_synonym(name, SYNONYMS)
    if synonym is None:
        # The spelling must be similar where no criterion has the name.
        return closest_name_hint(what, registry, 0.8)
    if synonym.explanation:
        return f" {synonym.explanation[0].upper()}{synonym.explanation[1:]}"
    if synonym.constraint is None:
        return f" No such criterion is offered: no constraint is on {synonym.not_offered}."
    meant = synonym.constraint
    likely = (meant, f"partial_{name}", f"partial_{meant}")
    named = next((one for one in likely if one in registry), None)
    if named is None and "(" not in meant:
        return ""  # of another registry
    shown = repr(named) if named else f"skfair.constraints.{meant}"
    kind = registry[named].__name__ if named else ""
    asks_for_ratio = synonym.is_ratio and named == meant
    return f" Did you mean {shown}?" + (
        _translate_bound(what, kind) or (_advise_ratio(kind) if asks_for_ratio else "")
    )


def _advise_ratio(kind: str, ratio: float = 0.8) -> str:
    """How the ratio of rates is bounded."""
    return f" skfair.constraints.{kind}(ratio={ratio:g}) bounds the ratio of rates."


def _translate_bound(what: Any, kind: str) -> str:
    """How the bound of one of fairlearn's constraints is passed here; empty for other objects."""
    if isinstance(what, type) or type(what).__module__.split(".")[0] != "fairlearn":
        return ""
    if hasattr(what, "upper_bound"):
        return f" Its upper_bound is {what.upper_bound!r}."
    if getattr(what, "ratio", 1.0) != 1.0:
        return _advise_ratio(kind, what.ratio)
    if getattr(what, "eps", None) is None:
        return ""
    return (
        f" fairlearn's difference_bound={what.eps:g} is from each group to all samples: pass an "
        f"instance with reference='overall' and tolerance={what.eps:g}."
    )
