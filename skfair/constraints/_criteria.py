"""Criteria on decisions, scores, losses and rankings, and the check of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone

from skfair._bound.gap import LargestDistance, LargestMean, MutualOrderGap
from skfair._groups import Groups, Samples, check_groups
from skfair._utils.api import Direction, MatrixLike, RandomState, Reference
from skfair._utils.checks import join_names, resolve_name
from skfair._utils.parameters import (
    MinGroupSize,
    NonNegative,
    PositiveInt,
    PositiveShare,
    Tolerance,
    make_constructor,
)
from skfair._utils.sklearn import safe_indexing
from skfair._utils.tables import to_pandas_table
from skfair.constraints._constraint import (
    Aggregate,
    Constraint,
    all_samples,
    check_cells,
    each_class,
    negatives,
    positives,
)
from skfair.constraints._docstrings import constraint_docs
from skfair.losses import (
    ERROR_RATE_TABLE,
    LOSSES,
    SELECTION_RATE_TABLE,
    CalibrationError,
    LogisticLoss,
    Loss,
    LossName,
    Pointwise,
    SignedError,
    averaged_loss,
    is_of_numbers,
    pointwise_score,
    step_function,
)
from skfair.surrogates import Sigmoid

if TYPE_CHECKING:
    import pandas as pd

    from skfair._bound.bound import BoundConstraint, RateRows
    from skfair._utils.tables import TableLike


# Parity of rates of decisions, and of mean scores, between groups.


class DecisionRateParity(Constraint):
    """Base of the constraints on rates of decisions, by their difference or their ratio."""

    applies_to = ("decisions",)
    unit = "rate"
    table = SELECTION_RATE_TABLE

    ratio_metric: Any = None
    """Name of the public metric that the ratio is."""


@constraint_docs
@make_constructor
class DemographicParity(DecisionRateParity):
    r"""Equal selection rates: every group is selected equally often (statistical parity).

    :math:`P(\hat y = 1 \mid g)` is the same for all groups g, up to a difference, the tolerance, or
    up to a ratio r:

    .. math:: \min_g P(\hat y = 1 \mid g) \ge r \max_g P(\hat y = 1 \mid g),

    for r = 0.8 the four-fifths rule of employment law. Without positive decisions
    the inequality holds, while :func:`skfair.metrics.demographic_parity_ratio` is nan. Reports and
    certificates state the ratio and r themselves. The smaller the rates are, the larger is the
    sampling noise of their ratio.

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    {tolerance}
    ratio : float or None, default=None
        Smallest ratio allowed, in (0, 1], in place of a tolerance, including the estimator's. None
        bounds the difference.
    control_features : str, int, list of these, callable or None, default=None
        Columns of the X given to ``fit``, such as the education that a post asks for, within whose
        values samples are compared [1]_: names if X is a DataFrame, or positions. Of several
        columns, strata are the combinations that occur. The largest gap of all strata counts, or
        their sum. A callable maps X to one label per row, as in
        ``lambda X: pandas.cut(X["income"], [0, 1000, 2000, 5000], labels=False)``. It receives
        only the rows that are fitted: those of the fold, of positive weight. In a pipeline X is the
        output of the steps before. None compares all samples.
    {one_sided_options}

    References
    ----------
    .. [1] F. Kamiran, I. Žliobaitė and T. Calders, "Quantifying explainable discrimination and
       removing illegal discrimination in automated decision making", Knowledge and Information
       Systems 35, 2013.

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
    >>> print(f"{demographic_parity_ratio(y, decisions, sensitive_features=group):.2f}")
    0.80

    Among samples of the same degree:

    >>> X[:, 0] = rng.integers(2, size=500)
    >>> within = DemographicParity(control_features=0)
    >>> report = ConstrainedERMClassifier(within).fit(X, y, sensitive_features=group)
    >>> report.constraint_report_["event"].unique().tolist()
    ['stratum 0.0', 'stratum 1.0']
    """

    rate_name = "selection_rate"
    metric = "demographic_parity_difference"
    ratio_metric = "demographic_parity_ratio"

    _: KW_ONLY
    tolerance: Tolerance | None = None
    ratio: PositiveShare | None = None
    control_features: (
        str | int | np.integer | list[Any] | Callable[[MatrixLike], ArrayLike] | None
    ) = None
    reference: Reference | dict[Any, Any] = "groups"
    aggregate: Aggregate = "max"
    attributes: Literal["intersections", "each"] = "intersections"
    min_group_size: MinGroupSize | None = None
    direction: Direction | None = None

    @property
    def uses_features(self) -> bool:
        """Whether the cells depend on X."""
        return self.control_features is not None

    def cells(self, samples: Samples) -> dict[str, np.ndarray]:
        """All samples, or one cell for each stratum of the control features that occurs.

        Parameters
        ----------
        samples : Samples
            With the features X that define the strata.

        Returns
        -------
        cells : dict of str to ndarray of bool, shape (n_samples,)
            Name of a cell -> mask of its samples.

        Raises
        ------
        ValueError
            If there is no such column, a label is missing, or there are more strata than a
            tenth of the samples, and more than 10.
        """
        if self.control_features is None:
            return all_samples(samples)
        n_samples = len(samples.target)
        try:
            # Strata are encoded as groups are, so that labels of any container will do.
            labels = self._stratum_labels(samples.X)
            strata = check_groups(labels, n_samples, name="control_features")
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self} finds no strata. {error}") from error
        # A continuous column would give each sample a stratum of its own, and nothing to compare.
        if len(strata.names) > max(10, n_samples / 10):
            raise ValueError(
                f"{self} finds {len(strata.names)} strata among {n_samples} samples, too few in "
                "each to compare groups. Pass bands instead, as in "
                'control_features=lambda X: pandas.qcut(X["income"], 5, labels=False).'
            )
        return {f"stratum {name}": strata.codes == code for code, name in enumerate(strata.names)}

    def _stratum_labels(self, X: TableLike | None) -> np.ndarray | pd.DataFrame | pd.Series:
        """One label, or several, for each row of X."""
        if X is None:
            raise ValueError("The samples have no X; pass Samples(target, groups, weights, X).")
        if callable(self.control_features):
            return self.control_features(X)
        X = to_pandas_table(X)
        X = X if hasattr(X, "shape") else np.asarray(X)
        columns = self.control_features
        columns = columns if isinstance(columns, list) else [columns]
        if any(isinstance(one, str) for one in columns) and not hasattr(X, "columns"):
            raise ValueError(
                "Columns are named, but X is not a DataFrame; name their positions. In a pipeline "
                'the steps before pass a DataFrame on after set_output(transform="pandas").'
            )
        names = list(getattr(X, "columns", ()))
        positions = range(X.shape[1])
        absent = [
            one for one in columns if one not in (names if isinstance(one, str) else positions)
        ]
        if absent:
            raise ValueError(
                f"X has no column {join_names(map(repr, absent))}; its {len(positions)} columns "
                f"are {join_names(map(repr, names or positions))}."
            )
        # Several columns make up one stratum per combination of their values.
        labels = safe_indexing(X, columns, axis=1)
        return labels.toarray() if sparse.issparse(labels) else labels


@constraint_docs
class EqualOpportunity(DecisionRateParity):
    r"""Equal true positive rates: positives are accepted equally often in every group.

    :math:`P(\hat y = 1 \mid y = 1, g)` is the same for all groups g.

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    {tolerance, ratio, one_sided_options}

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.constraints import EqualOpportunity
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=500)
    >>> X = rng.normal(size=(500, 2)) + np.outer(group, [1, 0])
    >>> y = X.sum(axis=1) + rng.normal(size=500) > 1
    >>> model = ConstrainedERMClassifier(EqualOpportunity(), tolerance=0.05)
    >>> model = model.fit(X, y, sensitive_features=group)
    >>> model.constraint_report_[["event", "group", "estimate", "gap"]].round(2)
           event  group  estimate   gap
    0  positives      0      0.84  0.04
    1  positives      1      0.88  0.04
    """

    metric = "equal_opportunity_difference"
    ratio_metric = "equal_opportunity_ratio"
    rate_name = "true_positive_rate"
    cells = staticmethod(positives)


class FalsePositiveRateParity(DecisionRateParity):
    """Equal false positive rates, "false_positive_rate_parity": as `RateParity` of this rate."""

    metric = "false_positive_rate_difference"
    ratio_metric = "false_positive_rate_ratio"
    rate_name = "false_positive_rate"
    cells = staticmethod(negatives)


@constraint_docs
class EqualizedOdds(DecisionRateParity):
    r"""Equal true positive rates and equal false positive rates in every group.

    The larger of the two gaps counts, or their sum.

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    {tolerance, ratio}
    reference, aggregate, attributes, min_group_size, direction
        See :class:`Constraint`; ``aggregate="sum"`` bounds the sum of the two gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.constraints import EqualizedOdds
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=500)
    >>> X = rng.normal(size=(500, 2)) + np.outer(group, [1, 0])
    >>> y = X.sum(axis=1) + rng.normal(size=500) > 1
    >>> model = ConstrainedERMClassifier(EqualizedOdds(), tolerance=0.05)
    >>> model = model.fit(X, y, sensitive_features=group)
    >>> model.constraint_report_[["event", "group", "estimate", "gap"]].round(2)
           event  group  estimate   gap
    0  positives      0      0.73  0.05
    1  positives      1      0.78  0.05
    2  negatives      0      0.20  0.05
    3  negatives      1      0.24  0.05
    """

    metric = "equalized_odds_difference"
    ratio_metric = "equalized_odds_ratio"
    rates_by_cell = {"positives": "true_positive_rate", "negatives": "false_positive_rate"}
    cells = staticmethod(each_class)


class ErrorRateParity(DecisionRateParity):
    """Equal error rates, "error_rate_parity": decisions are wrong equally often in every group.

    A ratio of small error rates is hard to keep, and more errors in all groups raise it: prefer a
    tolerance.
    """

    metric = "accuracy_score_difference"
    ratio_metric = "error_rate_ratio"
    rate_name = "error_rate"
    table = ERROR_RATE_TABLE
    cells = staticmethod(all_samples)


@constraint_docs
@make_constructor
class MeanParity(Constraint):
    r"""Equal mean predictions of all groups: numbers, or probabilities of the positive class.

    :math:`E[s \mid g]` is the same for all groups g, with s what a regressor predicts, or
    ``predict_proba`` of the positive class. Of a classifier without probabilities, such as one of
    another loss than the logistic, s is the decision function. Decisions and ranks may differ.

    Read more in the :ref:`guide <mean_errors>`.

    Parameters
    ----------
    tolerance : float or None, default=None
        Largest gap allowed; None takes the estimator's. It is in units of s: those of the target,
        a probability, or values of the decision function, which need a number.
    ratio : float or None, default=None
        Smallest ratio allowed of two groups' means, in (0, 1], in place of a tolerance: .95 says
        that the smallest mean is at least .95 of the largest. It is for numbers that are never
        negative, such as premiums, and for probabilities.
    {options}

    Examples
    --------
    >>> from skfair.constraints import MeanParity
    >>> MeanParity(tolerance=0.1)
    MeanParity(tolerance=0.1)
    """

    metric = "mean_score_difference"
    cells = staticmethod(all_samples)

    _: KW_ONLY
    tolerance: Tolerance | None = None
    ratio: PositiveShare | None = None
    reference: Reference = "groups"
    aggregate: Aggregate = "max"
    attributes: Literal["intersections", "each"] = "intersections"
    min_group_size: MinGroupSize | None = None

    def terms(self, surrogate: Loss, loss: Loss) -> tuple[Loss, ...]:
        """The score of each sample.

        {terms_signature}
        """
        return (pointwise_score,)


@constraint_docs
@make_constructor
class MeanErrorParity(MeanParity):
    r"""Equal mean errors of predicted numbers: no group is overrated more than another.

    :math:`E[\hat y - y \mid g]` is the same for all groups g, with :math:`\hat y` what a regressor
    predicts. The mean error of a group is its prediction minus its target on average. Where groups
    have equal mean errors, differences of their mean predictions are those of their targets. It is
    for regressors, and for audits and monitors of numbers with outcomes, and not for plans.
    ``make_scorer("mean_error", transform="difference")`` is minus its gap.

    Read more in the :ref:`guide <mean_errors>`.

    Parameters
    ----------
    tolerance : float or None, default=None
        Largest gap allowed, in units of the target; None takes the estimator's.
    {one_sided_options}

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import MeanErrorParity
    >>> from skfair.regression import ConstrainedERMRegressor
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=500)
    >>> X = rng.normal(size=(500, 2)) + np.outer(group, [1, 0])
    >>> y = X.sum(axis=1) - 2 * group + rng.normal(size=500)
    >>> model = ConstrainedERMRegressor(MeanErrorParity(tolerance=0.1))
    >>> errors = model.fit(X, y, sensitive_features=group).predict(X) - y
    >>> round(float(errors[group == 1].mean() - errors[group == 0].mean()), 3)
    0.1
    """

    applies_to = ("numbers",)
    metric = None
    rate_name = "mean_error"

    _: KW_ONLY
    tolerance: Tolerance | None = None
    reference: Reference | dict[Any, Any] = "groups"
    aggregate: Aggregate = "max"
    attributes: Literal["intersections", "each"] = "intersections"
    min_group_size: MinGroupSize | None = None
    direction: Direction | None = None

    def terms(self, surrogate: Loss, loss: Loss) -> tuple[Loss, ...]:
        """The error of each sample.

        {terms_signature}
        """
        return (SignedError(),)


# Calibration: probabilities of groups against their outcomes.


@make_constructor
class Calibration(Constraint):
    r"""Calibrated probabilities of every group on average: for claims, not for fits or monitors.

    :math:`|E[y - p \mid g]|` is at most the tolerance for all groups g, where p are predicted
    probabilities: as many samples of a group are positive as predicted. The gap is the largest of
    these distances, so that it binds a single group too. :meth:`skfair.audit.Audit.subgroups`
    searches groups within ranges of p, too.

    The expectation is over new samples, whose probabilities vary too. Limits of a claim allow for
    this variation, and for rare outcomes that are missing in the sample ([2]_). Limits of subgroups
    are those of the samples in the audit: given their probabilities.

    Where base rates differ, groups that are calibrated have different error rates unless
    predictions are perfect ([1]_), so that fits keep constraints on errors or calibration. To
    calibrate, fit a sigmoid to each group (:ref:`calibrated_probabilities`).

    Read more in the :ref:`guide <audit_calibration>`.

    Parameters
    ----------
    tolerance : float or None, default=None
        Largest distance allowed, in (0, 1); 0.02 are two percentage points.
    attributes, min_group_size
        See :class:`Constraint`.

    References
    ----------
    .. [1] J. Kleinberg, S. Mullainathan and M. Raghavan, "Inherent trade-offs in the fair
       determination of risk scores", ITCS 2017.
    .. [2] N. Gaffke, "Three test statistics for a nonparametric one-sided hypothesis on the mean of
       a nonnegative variable", Mathematical Methods of Statistics 14, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.audit import Audit
    >>> rng = np.random.default_rng(0)
    >>> p, sex = rng.beta(2, 3, size=8000), rng.choice(["f", "m"], size=8000)
    >>> y = rng.random(8000) < np.where(sex == "f", p + 0.06, p)
    >>> audit = Audit.from_predictions(y, None, y_score=p, sensitive_features=sex)
    >>> print(audit.certify("calibration", tolerance=0.02).worst_group)
    The probabilities of f are too low by 3.3 to 6.6 percentage points.
    """

    applies_to = ("probabilities",)
    unit = "probability"
    gap = LargestDistance
    cells = staticmethod(all_samples)

    # Groups are not compared with one another, so these are no parameters here.
    reference = "groups"
    aggregate = "max"

    _: KW_ONLY
    tolerance: Tolerance | None = None
    attributes: Literal["intersections", "each"] = "intersections"
    min_group_size: MinGroupSize | None = None

    def terms(self, surrogate: Loss, loss: Loss) -> tuple[Loss, ...]:
        """Whether a sample is positive, less its probability.

        Parameters
        ----------
        surrogate, loss : callable
            Not used.

        Returns
        -------
        terms : tuple of callables
            (probabilities, target) -> Pointwise, with targets -1 and +1.
        """
        return (CalibrationError(),)


# Constraints on the mean loss of groups.


@constraint_docs
@make_constructor
class ConstraintOnLoss(Constraint):
    """Base of the constraints on mean losses; None is the loss that the estimator minimises."""

    unit = "loss"

    @property
    def applies_to(self) -> tuple[str, ...]:
        """Kinds of predictions: losses of the classes -1 and +1 do not apply to numbers."""
        # None may be any loss, so it is not refused here.
        has_numbers = self.loss is None or is_of_numbers(self.loss)
        return ("scores", "numbers") if has_numbers else ("scores",)

    _: KW_ONLY
    loss: LossName | Loss | None = None
    tolerance: Tolerance | None = None
    reference: Reference = "groups"
    aggregate: Aggregate = "max"
    attributes: Literal["intersections", "each"] = "intersections"
    min_group_size: MinGroupSize | None = None

    def terms(self, surrogate: Loss, loss: Loss) -> tuple[Loss, ...]:
        """The loss of each sample.

        {terms_signature}
        """
        loss = loss if self.loss is None else resolve_name(LOSSES, self.loss, "loss")
        return (averaged_loss(loss, is_smooth=surrogate is not step_function),)


@constraint_docs
class LossParity(ConstraintOnLoss):
    r"""Equal mean losses: scores fit the target equally well in every group.

    :math:`E[\ell(s, y) \mid g]` is the same for all groups g. With
    ``reference="above_overall"`` no group's mean loss may exceed that of all samples by more than
    the tolerance, and any may be below it (see :class:`Constraint`).

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    {loss}
    tolerance : float or None, default=None
        Largest gap allowed, in units of the loss; None takes the estimator's.
    {options}

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.constraints import LossParity
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=500)
    >>> X = rng.normal(size=(500, 2)) + np.outer(group, [1, 0])
    >>> y = X.sum(axis=1) + rng.normal(size=500) > 1
    >>> model = ConstrainedERMClassifier(LossParity(), tolerance=0.02)
    >>> model = model.fit(X, y, sensitive_features=group)
    >>> model.constraint_report_[["event", "group", "estimate", "gap"]].round(2)
      event  group  estimate   gap
    0   all      0      0.41  0.02
    1   all      1      0.43  0.02
    """

    metric = "loss_parity_difference"
    cells = staticmethod(all_samples)


@constraint_docs
class EqualOpportunityLossParity(ConstraintOnLoss):
    r"""Equal mean losses of all groups within the positive class.

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    {loss, loss_tolerance, options}

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.constraints import EqualOpportunityLossParity
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=500)
    >>> X = rng.normal(size=(500, 2)) + np.outer(group, [1, 0])
    >>> y = X.sum(axis=1) + rng.normal(size=500) > 1
    >>> model = ConstrainedERMClassifier(EqualOpportunityLossParity(), tolerance=0.02)
    >>> model = model.fit(X, y, sensitive_features=group)
    >>> model.constraint_report_[["event", "group", "estimate", "gap"]].round(2)
           event  group  estimate   gap
    0  positives      0      0.69  0.02
    1  positives      1      0.67  0.02
    """

    metric = "equal_opportunity_loss_difference"
    applies_to = ("scores",)
    cells = staticmethod(positives)


@constraint_docs
class EqualizedOddsLossParity(ConstraintOnLoss):
    r"""Equal mean losses of all groups within each class.

    The larger of the two gaps counts, or their sum.

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    {loss, loss_tolerance, options}

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.constraints import EqualizedOddsLossParity
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=500)
    >>> X = rng.normal(size=(500, 2)) + np.outer(group, [1, 0])
    >>> y = X.sum(axis=1) + rng.normal(size=500) > 1
    >>> model = ConstrainedERMClassifier(EqualizedOddsLossParity(), tolerance=0.02)
    >>> model = model.fit(X, y, sensitive_features=group)
    >>> model.constraint_report_[["event", "group", "estimate", "gap"]].round(2)
           event  group  estimate   gap
    0  positives      0      0.76  0.02
    1  positives      1      0.74  0.02
    2  negatives      0      0.46  0.02
    3  negatives      1      0.44  0.02
    """

    metric = "equalized_odds_loss_difference"
    applies_to = ("scores",)
    cells = staticmethod(each_class)


@constraint_docs
@make_constructor
class BoundedGroupLoss(ConstraintOnLoss):
    r"""Upper bound on the mean loss of every group, and so of the worst-off one.

    :math:`E[\ell(s, y) \mid g] \le upper\_bound` for all groups g. The gap of this constraint is
    the largest mean loss itself, so it binds a single group too.

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    upper_bound : float
        Largest mean loss allowed, in units of the loss: of a regressor's squared loss the largest
        mean squared error.
    {loss}
    attributes, min_group_size
        See :class:`Constraint`.

    Examples
    --------
    >>> from skfair.constraints import BoundedGroupLoss
    >>> BoundedGroupLoss(0.6)
    BoundedGroupLoss(upper_bound=0.6)
    """

    metric = "largest_group_loss"
    gap = LargestMean

    # No rate is compared with another one, so these are no parameters here.
    reference = "groups"
    aggregate = "max"

    upper_bound: NonNegative
    _: KW_ONLY
    loss: LossName | Loss | None = None
    attributes: Literal["intersections", "each"] = "intersections"
    min_group_size: MinGroupSize | None = None

    @property  # type: ignore[misc]
    def tolerance(self) -> float:
        """The bound, under the name that all constraints share."""
        return self.upper_bound

    cells = staticmethod(all_samples)


# Parity between groups of the order of documents of different relevance.


@make_constructor
class RankingParity(DecisionRateParity):
    r"""Equal chances of two groups that their more relevant documents are ranked above the other's.

    Over pairs of documents i, j of one query with relevance :math:`y_i > y_j`,

    .. math::

        r_{ab} = P(h_i > h_j \mid i \in a, \, j \in b), \qquad |r_{ab} - r_{ba}| \le tolerance

    for all groups :math:`a \ne b` ([1]_, "pairwise equal opportunity"; [2]_, appendix D.3). It is
    bound to pairs, as :class:`skfair.ranking.ConstrainedRanker` makes them: a sample is a pair, its
    score the difference :math:`h_i - h_j`, and its group the query and the groups of the two.

    Read more in the :ref:`guide <fair_ranking>`.

    Parameters
    ----------
    tolerance : float or None, default=None
        Largest gap allowed; None takes the estimator's.
    per_query : bool, default=False
        Whether rates are compared within every query, of which the largest gap counts, or over the
        pairs of all queries together.
    min_pairs : int, default=1
        Two groups are compared, in a query or in all, where there are so many pairs of either
        order.

    References
    ----------
    .. [1] H. Narasimhan, A. Cotter, M. Gupta and S. Wang, "Pairwise fairness for ranking and
       regression", AAAI 2020.
    .. [2] "A modified proximal-perturbed Lagrangian for non-convex non-smooth representatives of
       fairness constraints", under review.

    Examples
    --------
    >>> from skfair.constraints import RankingParity
    >>> RankingParity(tolerance=0.05, per_query=True)
    RankingParity(per_query=True, tolerance=0.05)
    """

    metric = "ranking_parity_difference"
    gap = MutualOrderGap
    cells = staticmethod(all_samples)
    reference = "groups"
    aggregate = "max"

    _: KW_ONLY
    tolerance: NonNegative | None = None
    per_query: bool = False
    min_pairs: PositiveInt = 1

    def compared_groups(self, samples: Samples) -> tuple[Groups, None]:
        """Pairs of groups with enough pairs of documents of either order; None is too small.

        Parameters
        ----------
        samples : Samples
            Pairs of documents, by query and groups; those of small groups are in no group.

        Returns
        -------
        large : Groups
            Of the same pairs of documents.
        small : None
        """
        return self._crossed_groups(samples.groups), None

    def _crossed_groups(self, groups: Groups) -> Groups:
        """Pairs of two different groups, with enough pairs of documents of either order."""
        if groups.labels.shape[1] != 3:
            raise ValueError(
                f"{self} compares pairs of documents, whose group is (query, group of the more "
                "relevant, group of the less relevant), but groups have "
                f"{groups.labels.shape[1]} attribute(s); pass it to "
                "skfair.ranking.ConstrainedRanker."
            )
        groups = groups if self.per_query else _merge_queries(groups)
        # Pairs of documents of one and the same group are not compared.
        is_crossed = np.array([a != b for _, a, b in groups.labels], dtype=bool)
        if not is_crossed.any():
            return groups  # all documents are of one group
        # Each pair of groups counts as often as the rarer of its two orders.
        number = {tuple(label): code for code, label in enumerate(groups.labels)}
        partners = np.array([number.get((q, b, a), -1) for q, a, b in groups.labels])
        counts = np.append(groups.counts, 0)
        is_large = is_crossed & (np.minimum(counts[:-1], counts[partners]) >= self.min_pairs)
        if not is_large.any():
            raise ValueError(
                f"{self} has nothing to compare: no two groups have {self.min_pairs} pair(s) of "
                "documents of one query of either order. Lower min_pairs, pass per_query=False, or "
                "drop the constraint."
            )
        return groups.select(np.flatnonzero(is_large))


def _merge_queries(groups: Groups) -> Groups:
    """Merge the groups of document pairs of all queries into one group per pair of groups."""
    # Number the pairs of groups in the order in which they occur, and merge those of all queries.
    number: dict[Any, int] = {}
    merged = [number.setdefault((a, b), len(number)) for _, a, b in groups.labels]
    by_label = dict.fromkeys((a, b) for _, a, b in groups.labels[np.argsort(groups.ranks)])
    ranks = {pair: rank for rank, pair in enumerate(by_label)}
    labels = np.empty((len(number), 3), dtype=object)
    for row, (a, b) in zip(labels, number, strict=True):
        row[:] = ["all", a, b]
    ones = np.ones(len(merged), dtype=bool)
    ends = np.arange(len(merged) + 1)
    unions = sparse.csr_array((ones, merged, ends), shape=(len(merged), len(number)))
    unions = sparse.csr_array(groups.matrix @ unions)
    return Groups(labels, matrix=unions, ranks=np.array([ranks[pair] for pair in number]))


# A check for constraints of one's own: what the tests of registered ones ask of them.


_MIN_CHECKED = 60
"""Samples of a check of a constraint: those of a group and class are enough for rates."""

_CHECKED_GROUPS = np.repeat(np.arange(3), (5, 3, 2))
"""Groups of ten samples of a check: a gap may depend on their sizes."""


def check_constraint(
    constraint: Constraint, *, X: MatrixLike | None = None, random_state: RandomState = 0
) -> None:
    """Check a constraint's cells, derivatives and counts on random data.

    Terms and rows are compared with finite differences. The gap of a subset, in which groups have
    other shares, is compared with that of the constraint bound to it, and the sums of blocks with
    those of all samples, on which fits of very many samples and of partitioned data rely.

    Parameters
    ----------
    constraint : Constraint
        The constraint, for instance of a class of one's own.
    X : array-like of shape (n_samples, n_features), default=None
        Features that the constraint uses, of at least a few dozen samples; groups and classes are
        drawn for them.
    random_state : int, default=0
        Seed of the data.

    Returns
    -------
    None
        If no check fails.

    Raises
    ------
    TypeError
        If it is no constraint, or a class of constraints.
    ValueError
        If a cell is not a boolean mask over the samples, a slope or curvature differs from finite
        differences, a gap depends on the sizes of groups or on other samples than those it is
        bound to, blocks do not add up, or samples of one group raise an error; the message says by
        how much, and where.

    Examples
    --------
    >>> from skfair.constraints import EqualizedOdds, check_constraint
    >>> check_constraint(EqualizedOdds())
    """
    if not isinstance(constraint, Constraint):
        name = constraint.__name__ if isinstance(constraint, type) else type(constraint).__name__
        raise TypeError(
            f"constraint must be an instance of a Constraint, such as EqualizedOdds(); got {name}."
        )
    # Random classes in three groups of unequal size; X only serves the cells.
    rng = np.random.default_rng(random_state)
    n_samples = 1200 if X is None else np.shape(X)[0]
    if n_samples < _MIN_CHECKED:
        raise ValueError(
            f"X must have at least {_MIN_CHECKED} samples, which are divided into three groups of "
            f"two classes, but it has {n_samples}; pass more samples."
        )
    target = np.where(rng.random(n_samples) < 0.5, 1.0, -1.0)
    groups = check_groups(np.resize(_CHECKED_GROUPS, n_samples), n_samples)
    samples = Samples(target, groups, np.ones(n_samples), X)
    check_cells(constraint.cells(samples), samples, constraint)
    # The pointwise rate: slope and curvature against central differences.
    scores = rng.normal(size=n_samples)
    surrogate = Sigmoid()
    loss = LogisticLoss()
    step = 1e-6
    constraint._check_parameters()
    for term in constraint.terms(surrogate, loss):
        _, slope, curvature = term(scores, target)
        above = term(scores + step, target)
        below = term(scores - step, target)
        _check_derivative(constraint, "slope", slope, (above.value - below.value) / (2 * step))
        _check_derivative(
            constraint, "curvature", curvature, (above.slope - below.slope) / (2 * step)
        )
    # The bound rows: their derivative along a random move, with all groups compared.
    of_all_groups = clone(constraint).set_params(min_group_size=None)
    bound = of_all_groups.bind(samples, surrogate, loss, tolerance=0.1)
    _check_row_derivatives(constraint, bound.linearize_at(scores).rows, scores, rng)
    if bound.sums.metric_input != "ranks":
        _check_second_derivatives(constraint, bound, scores, rng)
        _check_blocks(constraint, bound, scores)
        bound.estimates(scores)  # which raise if limits do not follow from linear forms
    # The same constraint on a seventh of the largest group and the others, and on one group alone.
    rows = np.flatnonzero((groups.codes > 0) | (np.arange(n_samples) % 7 == 0))
    features = None if X is None else safe_indexing(X, rows)
    subset = samples.take(rows)._replace(X=features)
    of_subset = of_all_groups.bind(subset, surrogate, loss, tolerance=0.1)
    taken, expected = (one.value(scores[rows]) for one in (bound.take(rows), of_subset))
    if not np.isclose(taken, expected, rtol=1e-9, atol=1e-12, equal_nan=True):
        raise ValueError(
            f"The gap of {constraint} on a subset of samples is {taken:.6g} by its method take, "
            f"but {expected:.6g} if it is bound to these samples alone. cells and terms must "
            "depend on the samples that they are passed, and on nothing else, and the gap on the "
            f"means of groups, not on their sizes: check {constraint.gap.name}."
        )
    one_group = samples._replace(groups=Groups.single(n_samples))
    try:
        alone = of_all_groups.bind(one_group, surrogate, loss, tolerance=0.1).linearize_at(scores)
        alone.rows(scores, alone.rows.initial_aux(scores))
    except (ValueError, IndexError, TypeError) as error:
        raise ValueError(
            f"{constraint} fails where all samples are in one group, as in a fold or a block: "
            f"{error}. Its cells and its gap must be made of the groups that are there."
        ) from error


def _check_row_derivatives(
    constraint: Constraint, rows: RateRows, scores: np.ndarray, rng: np.random.Generator
) -> None:
    """Compare the change of all rows along a random move of the scores with their derivative."""
    move = rng.normal(size=len(scores))
    step = 1e-6
    aux = rows.initial_aux(scores)
    jacobian = rows(scores, aux).jacobian
    expected = rows(scores + step * move, aux).values - rows(scores - step * move, aux).values
    slopes = jacobian.means_to_rows @ (jacobian.basis @ move)
    wrong = np.abs(slopes - expected / (2 * step)) > 1e-4 * (1.0 + np.abs(slopes))
    if wrong.any():
        row = np.argmax(wrong)
        raise ValueError(
            f"The derivative of row {row} of {constraint} by the scores is wrong: along a random "
            f"move it gives {slopes[row]:.6g}, finite differences {expected[row] / (2 * step):.6g}."
        )


def _check_second_derivatives(
    constraint: Constraint, bound: BoundConstraint, scores: np.ndarray, rng: np.random.Generator
) -> None:
    """Compare the change of the rows' gradient along a random move with second derivatives."""
    move = rng.normal(size=len(scores))
    step = 1e-6
    aux = bound.rows.initial_aux(scores)
    v = rng.normal(size=len(bound.rows.lower))
    rows = bound.rows(scores, aux)
    above, below = (
        bound.rows(scores + sign * step * move, aux).jacobian.adjoint(v) for sign in (1.0, -1.0)
    )
    change = rows.curvature(v) * move
    if rows.means_curvature is not None:
        basis = rows.jacobian.basis
        change = change + basis.T @ (rows.means_curvature(v) @ (basis @ move))
    wrong = np.abs(change - (above - below) / (2 * step))
    sample = np.argmax(wrong)
    if not wrong[sample] <= 1e-5 * (1.0 + np.abs(change).max()):
        raise ValueError(
            f"The second derivative of the rows of {constraint} is wrong by {wrong[sample]:.3g} at "
            f"sample {sample}: check the curvature of its terms."
        )


def _check_blocks(constraint: Constraint, bound: BoundConstraint, scores: np.ndarray) -> None:
    """Compare the sums of two blocks of samples with those of all."""
    half = len(scores) // 2
    halves = [slice(0, half), slice(half, len(scores))]
    for of in ("smooth_means", "exact_means"):
        total = getattr(bound.sums, of)(scores)
        blocks = sum(getattr(bound.sums.contribution(rows), of)(scores[rows]) for rows in halves)
        wrong = np.abs(total - blocks)
        if not wrong.max(initial=0.0) <= 1e-9 * (1.0 + np.abs(total).max(initial=0.0)):
            raise ValueError(
                f"The sums of {constraint} over two blocks of samples differ from those over all "
                f"by {wrong.max():.3g}: terms must be functions of one score and one target."
            )


def _check_derivative(
    constraint: Constraint, what: str, derivative: np.ndarray, expected: np.ndarray
) -> None:
    """Raise for a derivative of a term that differs from finite differences."""
    derivative = np.asarray(derivative, dtype=float)
    if derivative.shape != expected.shape:
        raise ValueError(
            f"The {what} of a term of {constraint} must have shape {expected.shape}, one number "
            f"per sample, but it has shape {derivative.shape}."
        )
    wrong = np.argmax(np.abs(derivative - expected))
    # Written such that nan fails as well.
    if not abs(derivative[wrong] - expected[wrong]) <= 1e-5 * (1.0 + abs(expected[wrong])):
        raise ValueError(
            f"The {what} of a term of {constraint} is wrong: sample {wrong} has "
            f"{derivative[wrong]:.6g}, finite differences give {expected[wrong]:.6g}. Check the "
            "derivative."
        )


# Parity between groups of the attention that documents get at their ranks.


@make_constructor
class ExposureParity(Constraint):
    r"""Equal exposure of all groups of documents in the rankings of queries.

    The attention of the document at rank r is :math:`1 / \log_2(1 + r)`, and the exposure
    :math:`e_g` of a group the mean attention of its documents. All queries count together ([1]_).
    The largest difference of two exposures is bounded, or the smallest ratio. For
    :class:`skfair.ranking.ConstrainedRankerCV`.

    Read more in the :ref:`guide <fair_ranking>`.

    Parameters
    ----------
    tolerance : float or None, default=None
        Largest difference allowed, in units of the attention of the first rank; None takes the
        estimator's.
    ratio : float or None, default=None
        Smallest ratio allowed of two groups' exposures, in (0, 1], in place of a tolerance.
    merit : "relevance" or None, default=None
        "relevance" compares exposure in proportion to the mean relevance y of a group:
        :math:`e_g / (E[y \mid g] / E[y])`. None compares exposure by itself.
    k : int or None, default=None
        Ranks that get attention; None is all.
    min_group_size : int, "auto" or None, default=None
        Groups with fewer documents are not compared. None is "auto": fewer than 30 that are also
        less than 1 % of all.

    See Also
    --------
    skfair.metrics.exposure_difference, skfair.metrics.exposure_ratio : What is bounded.

    References
    ----------
    .. [1] A. Singh and T. Joachims, "Fairness of exposure in rankings", KDD 2018.

    Examples
    --------
    >>> from skfair.constraints import ExposureParity
    >>> ExposureParity(ratio=0.9)
    ExposureParity(ratio=0.9)
    """

    applies_to = ("rankings",)
    unit = "attention"
    cells = staticmethod(all_samples)
    reference = "groups"
    aggregate = "max"
    attributes = "intersections"

    _: KW_ONLY
    tolerance: NonNegative | None = None
    ratio: PositiveShare | None = None
    merit: Literal["relevance"] | None = None
    k: PositiveInt | None = None
    min_group_size: MinGroupSize | None = None

    def terms(self, surrogate: Loss, loss: Loss) -> tuple[Loss, ...]:
        """The attention that a document gets, and its merit.

        Parameters
        ----------
        surrogate, loss : callable
            Not used.

        Returns
        -------
        terms : tuple of callables
            (attention, merit) -> Pointwise, where the merit is relative to the mean.
        """
        return (pointwise_score,) if self.merit is None else (pointwise_score, _pointwise_merit)


def _pointwise_merit(attention: np.ndarray, merit: np.ndarray) -> Pointwise:
    """The merit of each document, which does not depend on its attention."""
    slope, curvature = np.zeros((2, len(merit)))
    return Pointwise(np.maximum(merit, 0.0), slope, curvature)
