"""What all fairness constraints share: hyper-parameters, and how they are bound to data."""

from abc import abstractmethod
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator

from skfair.constraints._aggregates import AGGREGATES
from skfair.constraints._bound import BoundConstraint
from skfair.constraints._cells import cell_events, check_cells
from skfair.surrogates import Step
from skfair.utils._messages import listing, warn
from skfair.utils._sklearn import Interval, StrOptions, validate_parameter_constraints


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
    min_group_size : int or None, default=None
        Groups with fewer samples are left out, with a warning that names them.

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
        "min_group_size": [Interval(Integral, 1, None, closed="left"), None],
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
        people : People
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
        people : People
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
        bound : AuditedConstraint

        Raises
        ------
        ValueError
            If a parameter is out of range, a tolerance of rates of decisions is above 1, a cell is
            no boolean mask of the people, or no group has anyone in any cell.

        Warns
        -----
        UserWarning
            If groups are smaller than ``min_group_size``, or cells are empty: they are left out.
        """
        self._check_parameters()
        tolerance = self._own_tolerance(tolerance)
        groups = self._large_groups(people)
        cells = check_cells(self.cells(people), people, self)
        events = cell_events(cells, groups, self.reference == "overall")
        self._report_empty_cells(events)
        return BoundConstraint(
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

    def _large_groups(self, people):
        """The groups to compare, without those that are too small."""
        groups = people.groups
        if self.attributes == "each":
            groups = groups.each_attribute()
        if self.min_group_size is None:
            return groups
        counts = people.counted(groups)
        small = np.flatnonzero(counts < self.min_group_size)
        if not len(small):
            return groups
        if len(small) == len(groups.names):
            raise ValueError(
                f"min_group_size={self.min_group_size} leaves no group: the largest has "
                f"{counts.max()} samples; choose a smaller one."
            )
        named = [f"{groups.names[g]!r} ({counts[g]})" for g in small]
        warn(
            f"{type(self).__name__} leaves out {len(small)} group(s) of fewer than "
            f"min_group_size={self.min_group_size} samples: {listing(named)}."
        )
        kept = np.setdiff1d(np.arange(len(groups.names)), small)
        return groups.only(kept)

    def _report_empty_cells(self, events):
        if not events.empty:
            return
        named = [f"{cell} of group {group!r}" for cell, group in events.empty]
        if not events.names:
            raise ValueError(
                f"{type(self).__name__} has no rate to compare, for there are no {listing(named)}."
                " Drop the constraint, or fit on data that has such samples."
            )
        warn(
            f"{type(self).__name__} cannot hold a rate of nobody: there are no {listing(named)}; "
            f"{len(named)} empty cell(s) are left out of the constraint."
        )

    def _aggregate(self, events):
        """How the means of the events become one gap."""
        return AGGREGATES[self.reference, self.aggregate](events)
