"""Constraints on the mean loss of groups."""

from collections.abc import Callable
from numbers import Real
from typing import Literal

from skfair.constraints._cells import all_samples, each_class, positives
from skfair.constraints._constraint import Constraint
from skfair.constraints._docstrings import constraint_docs
from skfair.constraints._gap import Largest
from skfair.losses import LOSSES, HingeLoss, LogisticLoss, SquaredHingeLoss
from skfair.utils._messages import resolve_name
from skfair.utils._sklearn import Interval, StrOptions

_CLASS_LOSSES = (LogisticLoss, HingeLoss, SquaredHingeLoss)


@constraint_docs
class GroupLoss(Constraint):
    """Base of the constraints on mean losses; None is the loss that the estimator minimises."""

    unit = "loss"

    @property
    def applies_to(self) -> tuple[str, ...]:
        """Kinds of predictions: losses of the classes -1 and +1 do not apply to numbers."""
        # None may be any loss, so it is not refused here.
        loss = resolve_name(LOSSES, self.loss, "loss") if isinstance(self.loss, str) else self.loss
        return ("scores",) if isinstance(loss, _CLASS_LOSSES) else ("scores", "numbers")

    _parameter_constraints = {
        **Constraint._parameter_constraints,
        "loss": [StrOptions(LOSSES), callable, None],
    }

    def __init__(
        self,
        *,
        loss: Callable | None = None,
        tolerance: float | None = None,
        reference: Literal["groups", "overall"] = "groups",
        aggregate: str = "max",
        attributes: Literal["intersections", "each"] = "intersections",
        min_group_size: int | Literal["auto"] | None = None,
    ):
        self.loss = loss
        self.tolerance = tolerance
        self.reference = reference
        self.aggregate = aggregate
        self.attributes = attributes
        self.min_group_size = min_group_size

    def rate(self, surrogate: Callable, loss: Callable) -> Callable:
        """The loss of each sample.

        {rate_signature}
        """
        return loss if self.loss is None else resolve_name(LOSSES, self.loss, "loss")


@constraint_docs
class LossParity(GroupLoss):
    r"""Equal mean losses: :math:`E[\ell(s, y) \mid g]` is the same for all groups g.

    With ``reference="overall"`` no group's mean loss may exceed that of all samples by more than
    the tolerance, one-sided.

    Parameters
    ----------
    {loss}
    tolerance : float or None, default=None
        Largest gap allowed, in units of the loss; None takes the estimator's. A regressor's fit
        takes losses of target and predictions over the standard deviation of the training target
        (``target_scale_``), :func:`skfair.audit.certify` losses in units of the target: of the
        squared loss its tolerance is ``target_scale_ ** 2`` times that of the fit.
    {options}

    Examples
    --------
    >>> from skfair.constraints import LossParity
    >>> LossParity(loss="hinge", reference="overall")
    LossParity(loss='hinge', reference='overall')
    """

    metric = "loss_parity_difference"
    cells = staticmethod(all_samples)


@constraint_docs
class EqualOpportunityLoss(GroupLoss):
    r"""Equal mean losses of the positive class.

    Parameters
    ----------
    {loss, loss_tolerance, options}

    Examples
    --------
    >>> from skfair.constraints import EqualOpportunityLoss
    >>> EqualOpportunityLoss()
    EqualOpportunityLoss()
    """

    metric = "equal_opportunity_loss_difference"
    applies_to = ("scores",)
    cells = staticmethod(positives)


@constraint_docs
class EqualizedOddsLoss(GroupLoss):
    r"""Equal mean losses of each class; the larger of the two gaps counts, or their sum.

    Parameters
    ----------
    {loss, loss_tolerance, options}

    Examples
    --------
    >>> from skfair.constraints import EqualizedOddsLoss
    >>> EqualizedOddsLoss(aggregate="sum")
    EqualizedOddsLoss(aggregate='sum')
    """

    metric = "equalized_odds_loss_difference"
    applies_to = ("scores",)
    cells = staticmethod(each_class)


@constraint_docs
class BoundedGroupLoss(GroupLoss):
    r"""No group's mean loss exceeds a bound: :math:`E[\ell(s, y) \mid g] \le upper\_bound`.

    The gap of this constraint is the largest mean loss itself, so it binds a single group too.

    Parameters
    ----------
    upper_bound : float
        Largest mean loss allowed, in units of the loss; those of regressors as in
        :class:`LossParity`.
    {loss}
    attributes, min_group_size
        See :class:`Constraint`.

    Examples
    --------
    >>> from skfair.constraints import BoundedGroupLoss
    >>> BoundedGroupLoss(0.6)
    BoundedGroupLoss(upper_bound=0.6)
    """

    _parameter_constraints = {
        "upper_bound": [Interval(Real, 0, None, closed="left")],
        **{
            name: GroupLoss._parameter_constraints[name]
            for name in ("loss", "attributes", "min_group_size")
        },
    }

    metric = "largest_group_loss"

    # No rate is compared with another one, so these are no parameters here.
    reference, aggregate = "groups", "max"

    def __init__(
        self,
        upper_bound: float,
        *,
        loss: str | Callable | None = None,
        attributes: Literal["intersections", "each"] = "intersections",
        min_group_size: int | Literal["auto"] | None = None,
    ):
        self.upper_bound = upper_bound
        self.loss = loss
        self.attributes = attributes
        self.min_group_size = min_group_size

    @property
    def tolerance(self) -> float:
        """The bound, under the name that all constraints share."""
        return self.upper_bound

    cells = staticmethod(all_samples)

    def _gap(self, events):
        # The tolerance bounds the mean losses themselves, not their differences.
        return Largest(tuple(range(len(events.labels))))
