"""What all fairness constraints share: hyper-parameters, and how they are bound to data."""

import inspect
import warnings
from abc import abstractmethod
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from skfair.constraints._aggregates import (
    Excess,
    MeanExcess,
    Range,
    SingleRow,
    TotalDifference,
    TotalRange,
)
from skfair.constraints._bound import BoundConstraint, EventTable
from skfair.constraints._cells import cell_events
from skfair.utils._events import Events
from skfair.utils._groups import Groups, Memberships
from skfair.utils._sklearn import Interval, StrOptions, validate_parameter_constraints


class People(NamedTuple):
    """Those whom a constraint is about.

    Attributes
    ----------
    target : ndarray of shape (n_samples,)
        Classes -1 and +1.
    groups : Groups or Memberships
        Who belongs to which group.
    weights : ndarray of shape (n_samples,)
        Positive sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import People
    >>> from skfair.utils._groups import check_groups
    >>> groups = check_groups(["a", "b", "a"], n_samples=3)
    >>> People(np.array([1.0, -1.0, 1.0]), groups, np.ones(3)).groups.counts
    array([2, 1])
    """

    target: np.ndarray
    groups: Groups | Memberships
    weights: np.ndarray


class Rates(NamedTuple):
    """What a constraint may take the means of.

    Attributes
    ----------
    surrogate : callable
        scores -> Pointwise, a smooth stand-in for the decision ``scores > 0``.
    loss : callable
        (scores, target) -> Pointwise, the loss of the model being trained.

    Examples
    --------
    >>> from skfair.constraints import Rates
    >>> from skfair.losses import LogisticLoss
    >>> from skfair.surrogates import Sigmoid
    >>> Rates(Sigmoid(temperature=0.5), LogisticLoss()).surrogate
    Sigmoid(temperature=0.5)
    """

    surrogate: object
    loss: object


class Constraint(BaseEstimator):
    """Base of all constraints on means of a rate over groups.

    A constraint holds hyper-parameters only; `bind` makes a function of the scores of it. A
    constraint of one's own needs two methods: `cells`, the sets of samples whose rates are
    compared, and `rate`, what is averaged over them.

    Parameters
    ----------
    tolerance : float or None, default=None
        Largest gap allowed; None takes the estimator's.
    reference : {"groups", "overall"}, default="groups"
        "groups": the gap is the largest minus the smallest rate of all groups. "overall": it is
        the largest excess of a group over everybody in the same cell, one-sided.
    aggregate : {"max", "sum", "mean"}, default="max"
        The largest gap over the cells counts, or their sum (with ``reference="groups"``), or the
        mean excess of all groups and cells (with ``reference="overall"``).
    attributes : {"intersections", "each"}, default="intersections"
        With several sensitive attributes, groups are the combinations that occur; "each" compares
        the (overlapping) groups of every single attribute instead.
    min_group_size : int or None, default=None
        Groups with fewer samples are left out, with a warning that names them.
    form : {"signed", "single"}, default="signed"
        "signed": the tolerance becomes linear rows on the rates, two-sided where it can, with
        auxiliary unknowns where it needs them; solvers can follow each row. "single": the one
        row ``gap <= tolerance``, which has kinks (equation (17) of [1]_); it is the cheaper one
        for the mean excess of hundreds of groups, which would need one unknown for each.

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
    ...     def cells(self, target):
    ...         return {"all": np.ones(len(target), dtype=bool)}
    ...
    ...     def rate(self, target, rates):
    ...         return lambda scores: rates.surrogate(scores - 2.0)
    >>> check_constraint(HighScoreParity(tolerance=0.05))
    """

    _parameter_constraints = {
        "tolerance": [Interval(Real, 0, None, closed="left"), None],
        "reference": [StrOptions({"groups", "overall"})],
        "aggregate": [StrOptions({"max", "sum", "mean"})],
        "attributes": [StrOptions({"intersections", "each"})],
        "min_group_size": [Interval(Integral, 1, None, closed="left"), None],
        "form": [StrOptions({"signed", "single"})],
    }

    counts_decisions = False
    """Whether the public metric sees of a score only whether it is positive."""

    def __init__(
        self,
        *,
        tolerance=None,
        reference="groups",
        aggregate="max",
        attributes="intersections",
        min_group_size=None,
        form="signed",
    ):
        self.tolerance = tolerance
        self.reference = reference
        self.aggregate = aggregate
        self.attributes = attributes
        self.min_group_size = min_group_size
        self.form = form

    @abstractmethod
    def cells(self, target):
        """Sets of samples whose rates are compared between groups.

        Parameters
        ----------
        target : ndarray of shape (n_samples,)
            Classes -1 and +1.

        Returns
        -------
        cells : dict of str to ndarray of bool, shape (n_samples,)
            Name of a cell -> who is in it.
        """

    @abstractmethod
    def rate(self, target, rates):
        """What is averaged over a cell.

        Parameters
        ----------
        target : ndarray of shape (n_samples,)
            Classes -1 and +1.
        rates : Rates
            The surrogate of the decision, and the loss.

        Returns
        -------
        rate : callable
            scores -> Pointwise.
        """

    def bind(self, people, rates, decision_rates, tolerance):
        """Make a function of the scores of the people given.

        Parameters
        ----------
        people : People
            Targets, groups and weights.
        rates : Rates
            What the optimiser sees; smooth.
        decision_rates : Rates
            What the public metric counts.
        tolerance : float
            Used if the constraint has none of its own.

        Returns
        -------
        bound : BoundConstraint

        Raises
        ------
        ValueError
            If a parameter is out of range, or no group has anyone in any cell.

        Warns
        -----
        UserWarning
            If groups are smaller than ``min_group_size``, or cells are empty: they are left out.
        """
        self._check_parameters()
        groups = self._large_groups(people.groups)
        events = cell_events(self.cells(people.target), groups, self.reference == "overall")
        self._report_empty_cells(events)
        aggregate = self._compare(events)
        return BoundConstraint(
            name=type(self).__name__,
            events=Events.overlapping(events.members.T, people.weights),
            rate=self.rate(people.target, rates),
            decision_rate=self.rate(people.target, decision_rates),
            aggregate=SingleRow(aggregate) if self.form == "single" else aggregate,
            tolerance=tolerance if self.tolerance is None else self.tolerance,
            table=EventTable(events.names, events.counts),
            counts_decisions=self.counts_decisions,
        )

    def _check_parameters(self):
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        needed = {"sum": "groups", "mean": "overall"}.get(self.aggregate, self.reference)
        if needed != self.reference:
            raise ValueError(
                f"aggregate={self.aggregate!r} needs reference={needed!r}, but {self} has "
                f"reference={self.reference!r}; change one of them."
            )

    def _large_groups(self, groups):
        """Groups as memberships, without those that are too small."""
        if isinstance(groups, Groups):
            groups = groups.memberships(self.attributes)
        if self.min_group_size is None:
            return groups
        small = np.flatnonzero(groups.counts < self.min_group_size)
        if not len(small):
            return groups
        if len(small) == len(groups.names):
            raise ValueError(
                f"min_group_size={self.min_group_size} leaves no group: the largest has "
                f"{groups.counts.max()} samples; choose a smaller one."
            )
        named = [f"{groups.names[g]!r} ({groups.counts[g]})" for g in small]
        _warn(
            f"{type(self).__name__} leaves out {len(small)} group(s) of fewer than "
            f"min_group_size={self.min_group_size} samples: {_listing(named)}."
        )
        kept = np.setdiff1d(np.arange(len(groups.names)), small)
        return Memberships(groups.matrix[:, kept], [groups.names[g] for g in kept])

    def _report_empty_cells(self, events):
        if not events.empty:
            return
        named = [f"{cell} of group {group!r}" for cell, group in events.empty]
        if not events.names:
            raise ValueError(
                f"{type(self).__name__} has no rate to compare, for there are no {_listing(named)}."
                " Drop the constraint, or fit on data that has such samples."
            )
        _warn(
            f"{type(self).__name__} cannot hold a rate of nobody: there are no {_listing(named)}; "
            f"{len(named)} empty cell(s) are left out of the constraint."
        )

    def _compare(self, events):
        """The aggregate of the events; a `Range` of nothing if there is nobody to compare with."""
        if self.reference == "groups":
            blocks = tuple(block for block in events.blocks if len(block) > 1)
            if self.aggregate != "sum" or len(blocks) < 2:
                return Range(blocks)
            few_pairs = len(blocks) <= 4 and all(len(block) == 2 for block in blocks)
            return TotalDifference(blocks) if few_pairs else TotalRange(blocks)
        pairs = tuple(
            (event, everybody)
            for block, everybody in zip(events.blocks, events.overall, strict=True)
            for event in block
        )
        if all(events.counts[event] == events.counts[everybody] for event, everybody in pairs):
            return Range(())
        return MeanExcess(pairs) if self.aggregate == "mean" else Excess(pairs)


def _listing(named, limit=10):
    """Names for a message, cut off where the list would drown it."""
    more = f" and {len(named) - limit} more" if len(named) > limit else ""
    return ", ".join(named[:limit]) + more


def _warn(message):
    """Warn at the line that called the estimator, however deep below it a constraint is bound."""
    frame, level = inspect.currentframe(), 1
    while frame.f_back is not None and _is_ours(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)


def _is_ours(frame):
    return frame.f_globals.get("__name__", "").split(".")[0] in ("skfair", "sklearn")
