"""What all fairness constraints share: hyper-parameters, and how they are bound to data."""

from abc import abstractmethod
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator

from skfair.constraints._aggregates import AGGREGATES
from skfair.constraints._bound import BoundConstraint
from skfair.constraints._cells import cell_events, check_cells
from skfair.groups import AUTO_MIN_GROUP_SIZE
from skfair.surrogates import Step
from skfair.utils._messages import join_names, warn
from skfair.utils._sklearn import Interval, StrOptions, validate_parameter_constraints

MIN_GROUP_SIZES = [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})]
"""Values of a parameter ``min_group_size``."""


class Constraint(BaseEstimator):
    """Base of all constraints on means of a rate over groups.

    A constraint holds hyper-parameters only; `bind` makes a function of the scores of it. A
    constraint of one's own needs two methods: `cells`, the sets of samples whose rates are
    compared, and `rate`, what is averaged over them. It declares in ``applies_to`` which
    predictions it is about.

    Parameters
    ----------
    tolerance : float or None, default=None
        Largest gap allowed; None takes the estimator's.
    reference : {"groups", "overall"}, default="groups"
        "groups": the gap is the largest minus the smallest rate of all groups. "overall": it is
        the largest excess of a group over everybody in the same cell, one-sided.
    aggregate : {"max", "sum", "mean", "signed_mean"}, default="max"
        The largest gap over the cells counts, or their sum (with ``reference="groups"``). With
        ``reference="overall"`` it may be a mean over all groups and cells: "mean" of the positive
        parts of the excesses, so that no group makes up for another, or "signed_mean" of the
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
    ...     def cells(self, people):
    ...         return {"all": np.ones(len(people.target), dtype=bool)}
    ...
    ...     def rate(self, surrogate, loss):
    ...         return lambda scores, target: surrogate(scores - 2.0)
    >>> check_constraint(HighScoreParity(tolerance=0.05))
    """

    _parameter_constraints = {
        "tolerance": [Interval(Real, 0, None, closed="left"), None],
        "reference": [StrOptions({"groups", "overall"})],
        "aggregate": [StrOptions({aggregate for _, aggregate in AGGREGATES})],
        "attributes": [StrOptions({"intersections", "each"})],
        "min_group_size": [*MIN_GROUP_SIZES, None],
    }

    metric = None
    """Name of the public metric that the gap is, in :data:`skfair.metrics.METRICS`."""

    applies_to = ("scores", "numbers")
    """Kinds of predictions that are compared: "decisions" or "scores" of a classifier, or the
    "numbers" that a regressor predicts."""

    unit = "score"
    """What the gap is measured in: "rate", "score", "loss" or "area" (under an ROC curve)."""

    def __init__(
        self,
        *,
        tolerance=None,
        reference="groups",
        aggregate="max",
        attributes="intersections",
        min_group_size=None,
    ):
        self.tolerance = tolerance
        self.reference = reference
        self.aggregate = aggregate
        self.attributes = attributes
        self.min_group_size = min_group_size

    @property
    def counts_decisions(self):
        """Whether the public metric sees of a score only whether it is positive."""
        return "decisions" in self.applies_to

    @abstractmethod
    def cells(self, people):
        """Sets of samples whose rates are compared between groups.

        Parameters
        ----------
        people : Samples
            Targets (classes -1 and +1), groups and weights.

        Returns
        -------
        cells : dict of str to ndarray of bool, shape (n_samples,)
            Name of a cell -> who is in it.
        """

    @abstractmethod
    def rate(self, surrogate, loss):
        """What is averaged over a cell.

        Parameters
        ----------
        surrogate : callable
            scores -> Pointwise: a smooth stand-in for the decision ``scores > 0``, or the decision
            itself where the rate is the public metric's.
        loss : callable
            (scores, target) -> Pointwise: the loss of the model being trained.

        Returns
        -------
        rate : callable
            (scores, target) -> Pointwise, for any samples, with targets -1 and +1.
        """

    def bind(self, people, surrogate, loss, tolerance):
        """Make a function of the scores of the people given.

        Parameters
        ----------
        people : Samples
            Targets, groups and weights.
        surrogate : callable
            scores -> Pointwise: what the optimiser sees of a decision; smooth. The public metric
            counts decisions themselves (:class:`skfair.surrogates.Step`).
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
            If a parameter is out of range, a tolerance of rates of decisions is above 1, a cell is
            no boolean mask of the people, no group has anyone in any cell, or an attribute is a
            measurement of more than 30 numbers.

        Warns
        -----
        UserWarning
            If groups are smaller than ``min_group_size``, or cells are empty: they are not
            compared.
        """
        return bind_all([self], [people], surrogate, loss, tolerance)[0][0]

    def _bind(self, people, groups, surrogate, loss, tolerance):
        """Bind to groups that are large enough, and to the others for the report alone."""
        large, small = groups
        tolerance = self._own_tolerance(tolerance)
        cells = check_cells(self.cells(people), people, self)
        events = cell_events(cells, large, self.reference == "overall")
        self._report_empty_cells(events)
        bound = BoundConstraint(
            name=type(self).__name__,
            events=events.weighted(people.weights),
            rate=self.rate(surrogate, loss),
            decision_rate=self.rate(Step(), loss),
            target=people.target,
            aggregate=self._aggregate(events),
            tolerance=tolerance,
            names=events.names,
            counts=events.counted(people),
            counts_decisions=self.counts_decisions,
        )
        events = cell_events(cells, small, False)
        return bound.with_uncompared(events, people) if events.names else bound

    def _check_parameters(self):
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        if (self.reference, self.aggregate) not in AGGREGATES:
            needed = next(reference for reference, one in AGGREGATES if one == self.aggregate)
            raise ValueError(
                f"aggregate={self.aggregate!r} needs reference={needed!r}, but {self} has "
                f"reference={self.reference!r}; change one of them."
            )

    def _own_tolerance(self, tolerance):
        """The tolerance of this constraint, else the estimator's."""
        tolerance = tolerance if self.tolerance is None else self.tolerance
        largest = 2.0 if self.aggregate == "sum" else 1.0
        if self.counts_decisions and tolerance > largest:
            raise ValueError(
                f"tolerance={tolerance:g} is more than any gap between rates of decisions can be, "
                f"which is {largest:g} for {self}: nothing would be asked. Rates are shares; "
                "tolerance=0.05 is five percentage points."
            )
        return tolerance

    def compared_groups(self, people):
        """The groups that are compared, and those that are too small for it.

        Parameters
        ----------
        people : Samples
            Groups and weights; their ``min_group_size`` counts where this constraint has none.

        Returns
        -------
        large, small : Groups
            Of the same samples, who may be in none of them.

        Raises
        ------
        ValueError
            If no group is large enough, or an attribute is a measurement and not a group.
        """
        groups = people.groups
        if self.attributes == "each":
            groups = groups.single_attribute_groups()
        is_large = people.check_group_sizes(groups, self.min_group_size)
        if is_large.all():
            return groups, groups.select(np.empty(0, dtype=np.intp))
        return groups.select(np.flatnonzero(is_large)), groups.select(np.flatnonzero(~is_large))

    def _report_empty_cells(self, events):
        if not events.empty:
            return
        named = [f"{cell} of group {group!r}" for cell, group in events.empty]
        if not events.names:
            raise ValueError(
                f"{type(self).__name__} has no rate to compare, for there are no "
                f"{join_names(named)}. Drop the constraint, or fit on data that has such samples."
            )
        warn(
            f"{type(self).__name__} cannot hold a rate of nobody: there are no "
            f"{join_names(named)}; {len(named)} empty cell(s) are left out of the constraint."
        )

    def _aggregate(self, events):
        """How the means of the events become one gap."""
        return AGGREGATES[self.reference, self.aggregate](events)


def bind_all(constraints, contests, surrogate, loss, tolerance):
    """Bind several constraints, with one warning that names all groups that are not compared.

    Parameters
    ----------
    constraints : list of Constraint
        What must be fair.
    contests : list of Samples
        The same samples with the target of each decision about them: one, or one per class.
    surrogate, loss, tolerance
        As in `Constraint.bind`.

    Returns
    -------
    bound : list of lists of MetricConstraint
        For each contest one bound constraint per constraint.
    """
    bound, sizes, are_alone = [[] for _ in contests], {}, False
    for constraint in constraints:
        constraint._check_parameters()
        large, small = groups = constraint.compared_groups(contests[0])
        own = getattr(constraint, "min_group_size", None) or contests[0].min_group_size
        counts = contests[0].group_counts(small)
        sizes.setdefault(own, {}).update(zip(small.names, counts, strict=True))
        are_alone |= len(large.names) == 1
        for people, of_contest in zip(contests, bound, strict=True):
            of_contest.append(constraint._bind(people, groups, surrogate, loss, tolerance))
    for own, found in sizes.items():
        report_small_groups(own, found, are_alone)
    return bound


def report_small_groups(min_group_size, sizes, is_one_left=False):
    """Warn of groups that are not compared.

    Parameters
    ----------
    min_group_size : int or "auto"
        Samples that they lack.
    sizes : dict
        How many they have, by their names; nothing is said if there are none.
    is_one_left : bool, default=False
        Whether only one group is large enough, which has none to be compared with.
    """
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
