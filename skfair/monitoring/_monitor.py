"""Monitor of a gap over time, valid at every look."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from skfair.constraints import (
    CONSTRAINTS,
    PARTIAL_CRITERIA,
    BoundedGroupLoss,
    Constraint,
    RankingParity,
)
from skfair.inference import Interval, check_level
from skfair.monitoring._batches import (
    attribute_codes,
    check_batch,
    check_names,
    evaluate,
    is_empty,
    outcome_use,
    scale_values,
    to_scores,
    to_target,
)
from skfair.monitoring._comparison import Comparison
from skfair.monitoring._evidence import change_evidence, gap_limits, log_evidence_against
from skfair.monitoring._hypotheses import Differences, UpperBounds
from skfair.monitoring._outstanding import Outstanding, check_column, known_outcomes
from skfair.monitoring._state import read_state, write_state
from skfair.monitoring._times import (
    check_delay,
    check_order,
    normalize_time,
    restore_times,
    to_point,
)
from skfair.utils._messages import join_names, resolve_name, warn
from skfair.utils._types import Label, MatrixLike

if TYPE_CHECKING:
    import pandas as pd


_N_LEVELS = 60
"""Levels of the gap, besides the tolerance, at which intervals can end."""

_LARGEST_LOG = 700.0
"""Logarithm of the largest e-value that is reported."""

_RATE_COLUMNS = ("batch", "time", "attribute", "cell", "group", "n", "weight", "rate")
_SUMMARY_COLUMNS = (
    *("batch", "time", "n", "gap", "estimate", "low", "high", "evidence_for"),
    *("evidence_against", "change_evidence", "status", "n_outstanding"),
)


class GapMonitor(BaseEstimator):
    r"""Monitor whether a deployed model keeps a tolerance, with statements valid at every look.

    A fixed-sample test or interval errs more and more often the more often it is read: of 24
    monthly certificates of a model on the edge of its tolerance at least one is false in 71 % of
    cases at a level of 95 %. This monitor reads batches of any size, as they come, and may be read
    after each of them (sequential testing, anytime-valid inference). It answers three questions:

    - *Is the tolerance kept?* A certificate: for every ordered pair of groups an e-process
      against :math:`p_i - p_j \ge \epsilon`, each at the full level (intersection-union). It
      assumes that the groups' means do not change.
    - *Was the tolerance ever exceeded?* An e-process against "the gap was always at most the
      tolerance", for all groups at once and a mixture over all starts of an excess. It remains
      valid where rates change, as by season. Without `run_length` it raises the alarm.
    - *Is it exceeded since some time?* Shiryaev and Roberts' e-detector, which restarts after each
      alarm ([3]_). With `run_length` it raises the alarm.

    Small batches are joined to blocks of at least 20 samples of a cell, such as a class, since a
    sample alone says nothing about a difference. For a block with :math:`n_g` samples of group g,
    whose values in [0, 1] add up to :math:`x_g`,

    .. math:: e_t = \prod_g \left(\frac{q_g}{p_g^*}\right)^{x_g}
        \left(\frac{1 - q_g}{1 - p_g^*}\right)^{n_g - x_g},
        \qquad p^* = \arg\min_{p \in H_0} \sum_g n_g \mathrm{KL}(q_g \| p_g),

    with q estimated from earlier blocks ([1]_, [2]_). Its expectation is at most 1 under the
    hypothesis whatever the group sizes, if these do not depend on the outcomes. By Ville's
    inequality [4]_ the product of such e-values ever exceeds :math:`1 / \alpha` with
    probability at most :math:`\alpha`.

    Parameters
    ----------
    constraint : str or Constraint
        Name in :data:`skfair.constraints.CONSTRAINTS`, or an instance: a difference of rates or
        means between groups (``reference="groups"``, ``aggregate="max"``), or
        :class:`~skfair.constraints.BoundedGroupLoss`. Its own tolerance is not used. With
        ``attributes="each"`` the values of each attribute are compared with one another, not with
        those of other attributes. Groups below its ``min_group_size`` are not compared until they
        have so many samples.
    tolerance : float
        Largest gap allowed: a fraction for rates, else in units of the mean. With 0 there is no
        certificate, only alarms.
    confidence_level : float, default=0.95
        A certificate is false, the tolerance is said to have been exceeded falsely, and an interval
        ever fails with probability at most ``1 - confidence_level`` each, over all time.
    run_length : float, default=None
        Mean number of batches until a false alarm, at least, from the start or an earlier alarm;
        greater than 1. None raises an alarm at most once, with the error of `confidence_level`.
    pos_label : label, default=None
        The class that means success; None takes 1 of the classes 0 and 1 or -1 and 1.
    delay : number, str or timedelta, default=None
        Longest time until an outcome is known, in units of `time`. Then samples are counted by
        cohorts: all those of a batch at once, when the delay has passed. Error rates and losses
        with late outcomes need it: outcomes that come early are not a random sample of all. None
        counts a sample when its outcome comes, which is right for rates within a class if the delay
        depends on the class alone.
    value_range : tuple of two floats, default=(0.0, 1.0)
        Smallest and largest value that is averaged, for constraints on scores, predicted numbers
        and losses. Rates of decisions do not use it.
    max_weight : float, default=1.0
        Largest `sample_weight` that can occur.

    Attributes
    ----------
    status_ : {"certified", "monitoring", "alarm"}
        State after the last batch. An alarm takes precedence over a certificate.
    evidence_for_ : float
        E-value for the tolerance: the smallest of those of all pairs. It is certified from
        ``1 / (1 - confidence_level)`` on.
    evidence_against_ : float
        E-value against "the tolerance was never exceeded".
    change_evidence_ : float
        Statistic of the e-detector, to be compared with `run_length`.
    was_exceeded_ : bool
        Whether the evidence against was ever as large as ``1 / (1 - confidence_level)``.
    since_ : int, float, Timestamp or None
        Time (else number) of the batch since which, at the last alarm, the tolerance was most
        likely exceeded; None without an alarm.
    n_batches_ : int
        Number of batches, those of late outcomes included.
    n_outstanding_ : int
        Samples that are not counted yet, because their outcome or the end of their cohort's delay
        is outstanding.

    References
    ----------
    .. [1] R. Turner, A. Ly and P. Grünwald, "Generic E-variables for exact sequential k-sample
       tests that allow for optional stopping", Journal of Statistical Planning and Inference 230,
       2024.
    .. [2] P. Grünwald, R. de Heide and W. Koolen, "Safe testing", Journal of the Royal Statistical
       Society B 86, 2024.
    .. [3] J. Shin, A. Ramdas and A. Rinaldo, "E-detectors: a nonparametric framework for sequential
       change detection", New England Journal of Statistics in Data Science 2, 2024.
    .. [4] J. Ville, "Étude critique de la notion de collectif", 1939.

    See Also
    --------
    skfair.audit.certify : A certificate that is read once.
    skfair.plotting.GapMonitorDisplay : The gap over time.

    Examples
    --------
    The model treats both groups equally for six months, and then no longer does:

    >>> import numpy as np
    >>> from skfair.monitoring import GapMonitor
    >>> rng = np.random.default_rng(0)
    >>> monitor = GapMonitor("demographic_parity", tolerance=0.1)
    >>> for month in range(1, 13):
    ...     group = rng.choice(["a", "b"], size=1000)
    ...     rate = np.where((group == "b") & (month > 6), 0.2, 0.4)
    ...     decisions = (rng.random(1000) < rate).astype(int)
    ...     status = monitor.update(decisions, sensitive_features=group, time=month).status_
    ...     print(month, status, end="; " if month % 4 else "\n")
    1 monitoring; 2 monitoring; 3 certified; 4 certified
    5 certified; 6 certified; 7 certified; 8 alarm
    9 alarm; 10 alarm; 11 alarm; 12 alarm
    >>> monitor.since_
    7
    """

    def __init__(
        self,
        constraint: str | Constraint,
        tolerance: float,
        *,
        confidence_level: float = 0.95,
        run_length: float | None = None,
        pos_label: Label | None = None,
        delay: Any = None,
        value_range: tuple[float, float] = (0.0, 1.0),
        max_weight: float = 1.0,
    ):
        self.constraint = constraint
        self.tolerance = tolerance
        self.confidence_level = confidence_level
        self.run_length = run_length
        self.pos_label = pos_label
        self.delay = delay
        self.value_range = value_range
        self.max_weight = max_weight

    def update(
        self,
        y_pred: Any,
        y_true: ArrayLike | None = None,
        *,
        sensitive_features: MatrixLike,
        sample_weight: ArrayLike | None = None,
        time: Any = None,
        ids: ArrayLike | None = None,
        X: MatrixLike | None = None,
    ) -> GapMonitor:
        """Read a batch of predictions.

        Parameters
        ----------
        y_pred : array-like of shape (n_samples,)
            Decisions of a classifier as its constraint compares them, or scores or predicted
            numbers; of any number of samples.
        y_true : array-like of shape (n_samples,), default=None
            Outcomes. Constraints on predictions alone need none; of others outcomes may come later,
            by `update_labels`, if `ids` are passed.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
            Groups, with the same attributes in all batches. A group that was not in earlier
            batches joins with a warning.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights between 0 and `max_weight`, such as inverse probabilities of having been drawn.
            Samples are drawn at random in proportion to them, reproducibly: uneven weights cost
            samples.
        time : number, str or datetime, default=None
            Time of the batch, not before that of the last one; of all batches or of none.
        ids : array-like of shape (n_samples,), default=None
            Names of the samples, numbers or strings, for `update_labels`.
        X : array-like of shape (n_samples, n_features), default=None
            Features, for :class:`~skfair.constraints.ConditionalDemographicParity`.

        Returns
        -------
        self : GapMonitor

        Raises
        ------
        ValueError
            If a parameter is out of range or has changed since the first batch, the constraint is
            not a difference of means, inputs differ in length, time runs backwards, ids are
            repeated, outcomes are missing and cannot come later, or values or weights are out of
            range. The state is then unchanged.

        Warns
        -----
        UserWarning
            If groups join, or outcomes are missing when the delay of their cohort has passed.
        """
        constraint = self._check_parameters()
        time = self._check_time(time)
        outstanding = getattr(self, "_outstanding", Outstanding())
        outstanding, counted = self._complete_cohorts(time, outstanding)
        if is_empty(y_pred, sensitive_features, sample_weight):
            return self._count(constraint, counted, time, outstanding)
        columns = {"y_true": y_true, "ids": ids}
        columns = {name: column for name, column in columns.items() if column is not None}
        columns = {"y_pred": y_pred} | columns
        samples, columns = check_batch(
            columns, sensitive_features, sample_weight, X, getattr(self, "_attributes", None)
        )
        samples = samples._replace(weights=self._check_weights(samples.weights))
        y_true = columns.get("y_true")
        scores = to_scores(constraint, columns["y_pred"], y_true, self.pos_label)
        target = None if y_true is None else to_target(constraint, y_true, self.pos_label)
        unknown = samples._replace(target=np.ones(len(scores)))
        use = getattr(self, "_outcome_use", None) or outcome_use(constraint, unknown, scores)
        if use == "nothing" or (target is not None and self.delay is None):
            samples = unknown if target is None else unknown._replace(target=target)
            counted = [*counted, (time, samples, scores)]
        else:
            # Late outcomes: keep the samples until these come, or until the delay has passed.
            ids = self._check_late(use, columns.get("ids"), X, target)
            if target is not None:
                self._evaluate(constraint, samples._replace(target=target), scores)
            outstanding.check_new(ids)
            outstanding = outstanding.add_samples(ids, time, samples, scores, target)
        self._count(constraint, counted, time, outstanding, samples.groups.attributes)
        self._outcome_use = use
        return self

    def update_labels(self, ids: Any, y_true: ArrayLike, *, time: Any = None) -> GapMonitor:
        """Read late outcomes of samples that `update` has been passed with their ids.

        Parameters
        ----------
        ids : array-like of shape (n_outcomes,)
            Their ids.
        y_true : array-like of shape (n_outcomes,)
            Their outcomes.
        time : number, str or datetime, default=None
            Time at which the outcomes come; None takes that of the last batch.

        Returns
        -------
        self : GapMonitor

        Raises
        ------
        ValueError
            If an id is unknown or repeated, or its outcome has come before, or as for `update`. The
            state is then unchanged.
        """
        constraint = self._check_parameters()
        self._check_updated()
        time = self._check_time(self._time if time is None else time)
        ids, outcomes = check_column(ids, "ids").tolist(), check_column(y_true, "y_true")
        if len(ids) != len(outcomes):
            raise ValueError(
                f"ids and y_true must have equal lengths; got {len(ids)} and {len(outcomes)}."
            )
        positions = self._outstanding.positions(ids)
        counted, outstanding = [], self._outstanding
        if positions:
            target = to_target(constraint, outcomes, self.pos_label)
            outstanding = outstanding.add_targets(positions, target.tolist())
            samples, scores = outstanding.samples(positions, self._attributes)
            self._evaluate(constraint, samples, scores)
            if self.delay is None:
                outstanding = outstanding.remove(positions)
                counted = [(time, samples, scores)]
        outstanding, matured = self._complete_cohorts(time, outstanding)
        return self._count(constraint, [*counted, *matured], time, outstanding)

    def interval(self) -> Interval:
        """The gap so far, with an interval that holds at all times simultaneously.

        Returns
        -------
        interval : Interval
            Gap in all samples so far, and limits that contain the population's at every look with
            probability `confidence_level`, if the groups' means do not change. They end at one of
            60 levels or at the tolerance. A certificate errs on one side only, so that it may come
            before the upper limit has reached the tolerance.

        Raises
        ------
        NotFittedError
            Before the first batch.
        """
        self._check_updated()
        return Interval(*(self._summaries[name][-1] for name in ("estimate", "low", "high")))

    def to_frame(self) -> pd.DataFrame:
        """Counts and rates by batch and group.

        Returns
        -------
        frame : DataFrame
            One row per batch, attribute, cell and group that was compared, with the columns
            "batch", "time", "attribute", "cell", "group", "n" (samples), "weight" and "rate" (mean,
            weighted).
        """
        import pandas as pd

        self._check_updated()
        frame = pd.DataFrame(self._rates)
        frame["time"] = restore_times(frame["time"])
        return frame

    def summary(self) -> pd.DataFrame:
        """Gap, evidence and status after each batch.

        Returns
        -------
        frame : DataFrame
            One row per batch with the columns "batch", "time", "n" (samples of the batch that
            count), "gap" (of the batch), "estimate", "low", "high" (of `interval`),
            "evidence_for", "evidence_against", "change_evidence", "status" and "n_outstanding".
        """
        import pandas as pd

        self._check_updated()
        frame = pd.DataFrame(self._summaries)
        frame["time"] = restore_times(frame["time"])
        return frame

    def to_json(self) -> str:
        """The whole monitor as text in JSON, from which `from_json` resumes it.

        Returns
        -------
        text : str

        Raises
        ------
        ValueError
            If the constraint or a label has no form in JSON, as a callable has none; pickle does.
        """
        return write_state(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Resume a monitor from what `to_json` returned.

        Parameters
        ----------
        text : str
            Text in JSON.

        Returns
        -------
        monitor : GapMonitor
        """
        return read_state(cls, text)

    def _check_parameters(self):
        """The constraint, if parameters are in range, or as they were with the first batch."""
        constraint = self._constraint()
        if hasattr(self, "status_"):
            first = self._first_parameters
            if any(getattr(self, name) != value for name, value in first.items()):
                raise ValueError(
                    "The parameters of a GapMonitor must not change after its first batch, on "
                    f"which they were {first}. Create another monitor."
                )
            return constraint
        constraint._check_parameters()
        check_level(self.confidence_level)
        low_high, weight, length = self.value_range, self.max_weight, self.run_length
        is_range = np.shape(low_high) == (2,) and all(map(_is_number, low_high))
        is_range = is_range and low_high[0] < low_high[1]
        is_weight = _is_number(weight) and weight > 0
        is_length = length is None or (_is_number(length) and length > 1)
        is_gap = is_range and _is_number(self.tolerance) and 0.0 <= self._scaled_tolerance() < 1.0
        for name, is_valid, requirement in (
            ("value_range", is_range, "two finite numbers, the smaller first"),
            ("max_weight", is_weight, "a positive number"),
            ("run_length", is_length, "a number of batches greater than 1"),
            ("tolerance", is_gap, "a gap in units of the mean, less than the width of its range"),
        ):
            if not is_valid:
                raise ValueError(f"{name} must be {requirement}; got {getattr(self, name)!r}.")
        return constraint

    def _constraint(self):
        """The constraint, if it is a difference of means or a bound on them."""
        if hasattr(self, "_resolved"):
            return self._resolved
        constraint = resolve_name(CONSTRAINTS, self.constraint, "constraint", Constraint)
        is_supported = (
            not isinstance(constraint, (*PARTIAL_CRITERIA.values(), RankingParity))
            and constraint.reference == "groups"
            and constraint.aggregate == "max"
            and constraint.ratio is None
        )
        if not is_supported:
            raise ValueError(
                "constraint must be the largest difference between the means of two groups "
                '(reference="groups", aggregate="max", and no ratio) or BoundedGroupLoss; got '
                f"{constraint}. Other criteria can be certified once, by skfair.audit.certify."
            )
        return constraint

    def _hypothesis(self):
        return UpperBounds() if isinstance(self._constraint(), BoundedGroupLoss) else Differences()

    def _range(self):
        """Smallest and largest value that is averaged."""
        return (0.0, 1.0) if self._constraint().counts_decisions else self.value_range

    def _scaled_tolerance(self):
        """The tolerance as a level between 0 and 1."""
        low, high = self._range()
        return (self.tolerance - (0.0 if self._hypothesis().is_paired else low)) / (high - low)

    def _unscale(self, level):
        """A level between 0 and 1 in units of the mean."""
        low, high = self._range()
        return float((0.0 if self._hypothesis().is_paired else low) + level * (high - low))

    def _check_updated(self):
        if not hasattr(self, "status_"):
            raise NotFittedError("This GapMonitor has read no batch; call update first.")

    def _check_time(self, time):
        """The time of a batch as it is stored."""
        time = normalize_time(time)
        if hasattr(self, "status_"):
            check_order(time, self._time)
        if self.delay is not None:
            check_delay(self.delay, time)
        return time

    def _check_weights(self, weights):
        """Weights as probabilities of being drawn."""
        if (weights > self.max_weight).any():
            raise ValueError(
                f"sample_weight must be at most max_weight={self.max_weight:g}, since weights are "
                f"compared with the largest that can occur, but one is {weights.max():g}. Create "
                "the monitor with a larger max_weight."
            )
        return weights / self.max_weight

    def _check_late(self, use, ids, X, target):
        """The ids of samples that are counted later; without a way to count them, an error."""
        if ids is None and target is None:
            raise ValueError(
                f"{self.constraint} depends on the outcome, so that y_true is needed. If outcomes "
                "come later, pass ids now and call update_labels then."
            )
        if use == "values" and self.delay is None:
            raise ValueError(
                f"{self.constraint} averages a function of the outcome, and outcomes that come "
                "early are not a random sample of all. Create the monitor with delay, the longest "
                "time until an outcome is known: then whole cohorts are counted."
            )
        if X is not None:
            raise ValueError(
                "X cannot be passed with outcomes that come later, since features are not kept; "
                "call update when the outcomes are known."
            )
        if ids is None:  # outcomes are known, but the cohort is not complete
            n_batches = getattr(self, "n_batches_", 0)
            return [f"batch {n_batches + 1}, sample {i}" for i in range(len(target))]
        return check_column(ids, "ids").tolist()

    def _evaluate(self, constraint, samples, scores):
        """Cells, and values between 0 and 1."""
        cells, values = evaluate(constraint, samples, scores)
        inside = np.any(list(cells.values()), axis=0)
        # What is outside of all cells is not averaged, and need not be in range.
        scaled = np.zeros(len(values))
        scaled[inside] = scale_values(values[inside], self._range())
        return cells, scaled

    def _complete_cohorts(self, time, outstanding):
        """The table without cohorts whose delay is over, and these as (time, samples, scores)."""
        counted, gone = [], []
        if self.delay is not None:
            for start, positions in outstanding.cohorts_over(self.delay, time):
                gone += positions
                if known := known_outcomes(outstanding, positions):
                    counted.append((start, *outstanding.samples(known, self._attributes)))
        return outstanding.remove(gone) if gone else outstanding, counted

    def _count(self, constraint, counted, time, outstanding, attributes=None):
        """Count samples, bet on them, and report; nothing fails after the state has changed."""
        prepared = []
        for start, samples, scores in counted:
            compared = list(attribute_codes(samples.groups, constraint.attributes))
            cells, values = self._evaluate(constraint, samples, scores)
            prepared.append((start, compared, cells, values, samples.weights))
            attributes = attributes or samples.groups.attributes
        self._check_groups([one for _, compared, *_ in prepared for one in compared])
        if not hasattr(self, "status_"):
            self._start()
        self._attributes = self._attributes or attributes
        self._time, self._outstanding = time, outstanding
        if self._is_new_alarm:
            for comparison in self._comparisons.values():
                comparison.restart(is_detector=self.run_length is not None)
        self.n_batches_ += 1
        tables = {}
        for columns in prepared:
            self._bet(*columns, tables)
        logs = [one.log_certificates() for one in self._comparisons.values()]
        log_certificates = np.min([np.full(len(self._levels), np.inf), *logs], axis=0)
        # Without a pair of groups there is no evidence.
        log_certificates[np.isinf(log_certificates)] = 0.0
        self._judge(log_certificates[self._tolerance])
        self._report(tables, self._limits(log_certificates))
        return self

    def _check_groups(self, compared):
        """Refuse labels of another type than before, and name groups that join."""
        joined = {}
        for name, _, names in compared:
            comparison = getattr(self, "_comparisons", {}).get(name)
            known = comparison.groups if comparison else []
            check_names(known, names)
            joined |= {repr(one): None for one in names if known and one not in known}
        if joined:
            warn(
                f"{join_names(joined)} did not occur in earlier batches and is compared "
                f"from this batch on. A certificate needs evidence on every group."
            )

    def _start(self):
        """The state before the first batch."""
        # Levels are denser near 0, where tolerances are.
        self._resolved, params = self._constraint(), self.get_params(deep=False)
        self._first_parameters = {
            name: value for name, value in params.items() if not isinstance(value, Constraint)
        }
        tolerance = self._scaled_tolerance()
        levels = {*((np.arange(_N_LEVELS) / _N_LEVELS) ** 2).tolist(), tolerance}
        self._levels = np.array(sorted(levels))
        self._tolerance = int(np.searchsorted(self._levels, tolerance))
        self._attributes, self._comparisons = None, {}
        self._rates = {name: [] for name in _RATE_COLUMNS}
        self._summaries = {name: [] for name in _SUMMARY_COLUMNS}
        self.n_batches_, self.since_ = 0, None
        self.was_exceeded_ = self._is_new_alarm = False

    def _bet(self, start, compared, cells, values, weights, tables):
        """Let the groups of each attribute bet on samples, and add their counts to the tables."""
        time = self.n_batches_ if start is None else start
        for name, codes, names in compared:
            if name not in self._comparisons:
                size = self._constraint().min_group_size
                self._comparisons[name] = Comparison(
                    self._hypothesis(), self._levels, self._tolerance, size
                )
            columns = codes, names, cells, values, weights, time
            added = self._comparisons[name].update(*columns, self.n_batches_)
            for cell, table in added.items():
                before = tables.get((name, cell), np.zeros((3, 0)))
                table[:, : before.shape[1]] += before
                tables[name, cell] = table

    def _judge(self, log_for):
        """Status and evidence after a batch; `log_for` is that for the tolerance."""
        gaps = [one.gap for one in self._comparisons.values()]
        log_against = log_evidence_against(gaps) if gaps else 0.0
        self.evidence_for_ = _to_e_value(log_for)
        self.evidence_against_ = _to_e_value(log_against)
        self.change_evidence_ = float(change_evidence(gaps)) if gaps else 0.0
        threshold = -np.log1p(-self.confidence_level)
        self.was_exceeded_ = bool(self.was_exceeded_ or log_against >= threshold)
        is_alarm = self.was_exceeded_
        self._is_new_alarm = is_alarm and self.since_ is None
        if self.run_length is not None:
            is_alarm = self._is_new_alarm = self.change_evidence_ >= self.run_length
        if self._is_new_alarm:
            best = max(self._comparisons.values(), key=lambda one: one.gap.log_best.max())
            # The first bet that paid was prompted by the batch before it.
            start = max(best.gap.starts[best.gap.log_best.argmax()] - 1, 0)
            self.since_ = to_point(best.times[start])
        is_certified = log_for >= threshold
        self.status_ = "alarm" if is_alarm else "certified" if is_certified else "monitoring"
        self.n_outstanding_ = len(self._outstanding)

    def _limits(self, log_certificates):
        """The gap so far and its limits."""
        comparisons = self._comparisons.values()
        estimate = max((one.estimate() for one in comparisons), default=0.0)
        # Each side has half of the error; that of the lower limit is shared by the attributes.
        logs = [one.gap.log_max - np.log(len(comparisons)) for one in comparisons]
        log_against = np.max([np.zeros(len(self._levels)), *logs], axis=0)
        threshold = np.log(2.0 / (1.0 - self.confidence_level))
        limits = gap_limits(self._levels, log_certificates, log_against, threshold)
        return [self._unscale(value) for value in (estimate, *limits)]

    def _report(self, tables, limits):
        """Append the batch to the columns of both frames."""
        gaps, n_samples = [], dict.fromkeys(self._comparisons, 0)
        low, high = self._range()
        for (name, cell), table in sorted(tables.items()):
            present = np.flatnonzero(table[1] > 0)
            counts, weights, sums = table[:, present]
            means, groups = sums / weights, self._comparisons[name].groups
            gaps.append(self._unscale(self._hypothesis().gap(means)))
            n_samples[name] += int(counts.sum())
            columns = [[one] * len(present) for one in (self.n_batches_, self._time, name, cell)]
            columns += [[groups[i] for i in present], counts.astype(int).tolist()]
            columns += [(weights * self.max_weight).tolist(), (low + means * (high - low)).tolist()]
            for column, values in zip(_RATE_COLUMNS, columns, strict=True):
                self._rates[column].extend(values)
        row = (self.n_batches_, self._time, max(n_samples.values(), default=0))
        row += (max(gaps, default=float("nan")), *limits, self.evidence_for_)
        row += (self.evidence_against_, self.change_evidence_, self.status_, self.n_outstanding_)
        for column, value in zip(_SUMMARY_COLUMNS, row, strict=True):
            self._summaries[column].append(value)


def _to_e_value(log_e):
    return float(np.exp(min(log_e, _LARGEST_LOG)))


def _is_number(value):
    return isinstance(value, Real) and bool(np.isfinite(value))
