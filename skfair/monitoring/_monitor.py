"""Monitor of a gap over time, valid at every look."""

from __future__ import annotations

import hashlib
import inspect
import json
from dataclasses import KW_ONLY, fields, is_dataclass, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_consistent_length

from skfair import constraints
from skfair._partitions.collections import load_columns
from skfair._statistics.gaps import Interval
from skfair._utils.api import Axes, Label, MatrixLike, Time
from skfair._utils.checks import argument_error, check_exact_labels, join_names
from skfair._utils.parameters import CONFIDENCE_LEVEL, MIN_AUDITED_GROUP, make_constructor
from skfair._utils.sklearn import safe_indexing
from skfair.audit import Audit
from skfair.audit._bins import Bins
from skfair.audit._formats import add_header, load_content
from skfair.audit._sentences import name_left_out
from skfair.constraints import Constraint
from skfair.monitoring._batches import (
    OutstandingSamples,
    check_audit,
    check_identifiers,
    check_time,
    is_empty,
    is_floor,
    make_audit,
    normalize_time,
    read_batch,
    restore_time,
    restore_times,
    state_gaps,
)
from skfair.monitoring._recent import Window, find_delay
from skfair.monitoring._settings import Settings, check_settings
from skfair.monitoring._state import (
    CellEvidence,
    Comparison,
    DifferenceHypotheses,
    GapEvidence,
    MeanHypotheses,
    RatioHypotheses,
    Row,
    State,
    Statement,
    add_late_cohort,
    advance_state,
)
from skfair.plotting._gap_monitor import GapMonitorDisplay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from skfair._utils.tables import TableLike

# Monitors as text in JSON.


_VERSION = 10
"""Version of the format; others are refused."""

_STORABLE_CLASSES = {
    one.__name__: one
    for one in (
        *(Bins, CellEvidence, Comparison, DifferenceHypotheses, GapEvidence, OutstandingSamples),
        *(MeanHypotheses, RatioHypotheses, Row, Settings, State, Statement, Window),
    )
}
"""Classes that a file may name, besides the public constraints."""


class _TextForm(NamedTuple):
    """How values of a type become text, and are read from it."""

    type: type
    write: Callable[[Any], str]
    read: Callable[[str], Any]


_TEXT_FORMS = {
    "float": _TextForm(float, str, float),
    "date": _TextForm(date, date.isoformat, date.fromisoformat),
    "datetime": _TextForm(datetime, datetime.isoformat, datetime.fromisoformat),
    "time": _TextForm(pd.Timestamp, pd.Timestamp.isoformat, pd.Timestamp),
    "datetime64": _TextForm(np.datetime64, str, np.datetime64),
    "timedelta": _TextForm(
        timedelta,
        lambda value: pd.Timedelta(value).isoformat(),
        lambda text: pd.Timedelta(text).to_pytimedelta(),
    ),
    "timedelta64": _TextForm(
        np.timedelta64,
        lambda value: pd.Timedelta(value).isoformat(),
        lambda text: pd.Timedelta(text).to_timedelta64(),
    ),
    "duration": _TextForm(pd.Timedelta, pd.Timedelta.isoformat, pd.Timedelta),
    "period": _TextForm(
        pd.Period,
        lambda value: f"{value.freqstr} {value}",
        lambda text: pd.Period(text.split(" ", 1)[1], freq=text.split(" ", 1)[0]),
    ),
}
"""Forms of dates, times and infinite numbers, which labels of groups may be, by name."""

_FORM_NAMES = {one.type: name for name, one in _TEXT_FORMS.items()}
"""Names of these forms by the type, which must be the same."""


def seal(stored: dict[str, Any]) -> dict[str, Any]:
    """What is stored, with the digest of everything else in it."""
    stored = {name: value for name, value in stored.items() if name != "sha256"}
    text = json.dumps(stored, sort_keys=True)
    return stored | {"sha256": hashlib.sha256(text.encode("utf-8")).hexdigest()}


def encode_content(content: dict[str, Any]) -> str:
    """Text in JSON of the attributes of a monitor by name."""
    content = {name: _encode_state(value) for name, value in content.items()}
    return json.dumps(seal(add_header("GapMonitor", _VERSION, {"content": content})))


def decode_content(text: str, names: list[str]) -> dict[str, Any]:
    """The attributes, with these names, that `encode_content` wrote."""
    advice = " Of a file pass the content, as in Path('monitor.json').read_text()."
    stored = load_content(text, "GapMonitor", _VERSION, advice=advice)
    if seal(stored) != stored:
        raise ValueError(
            "The text of a monitor must be as GapMonitor.to_json wrote it, but its SHA-256 digest "
            "is another one: it is damaged, or was edited. Take a copy of it, or begin another "
            "monitor."
        )
    content = stored.get("content")
    return _decode_fields(content, names, "content")


def _encode_state(value: Any) -> Any:
    """A value as JSON knows it; other types become objects that name their type."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        value = value.item()
    name = _FORM_NAMES.get(type(value))
    if name is not None and not (name == "float" and np.isfinite(value)):
        return {"type": name, "value": _TEXT_FORMS[name].write(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [_encode_state(one) for one in value]
    if isinstance(value, tuple):
        return {"type": "tuple", "value": [_encode_state(one) for one in value]}
    if isinstance(value, dict):
        pairs = [[_encode_state(key), _encode_state(one)] for key, one in value.items()]
        return {"type": "dict", "value": pairs}
    if isinstance(value, np.ndarray):
        layout = {"dtype": str(value.dtype), "shape": list(value.shape)}
        return {"type": "array", **layout, "value": _encode_state(value.ravel().tolist())}
    name = type(value).__name__
    content = None
    if name in _STORABLE_CLASSES:
        content = {one: getattr(value, one) for one in _field_names(type(value))}
    elif type(value) is constraints.find_constraint_class(name):
        content = value.get_params(deep=False)
    if content is None:
        raise ValueError(
            f"A monitor can be written as JSON if its parameters and labels are numbers, text, "
            f"dates or constraints of skfair.constraints, but one is {value!r}. Pass a name or "
            "text instead, or store the monitor by pickle."
        )
    return {"type": name, "value": {one: _encode_state(content[one]) for one in content}}


def _field_names(cls: type) -> Iterable[str]:
    """Names of the attributes that are the state of an object."""
    return [one.name for one in fields(cls)] if is_dataclass(cls) else inspect.get_annotations(cls)


class _DamagedTextError(ValueError):
    """A field is missing, or is not what was written."""


def _decode_fields(content: Any, names: Iterable[str], path: str) -> dict[str, Any]:
    """Values of fields by name; raise if one is missing or damaged."""
    absent = [name for name in names if not isinstance(content, dict) or name not in content]
    if absent:
        raise _DamagedTextError(
            f"The text of a monitor must have the fields {join_names(absent)} in {path}, but they "
            "are missing: it is damaged. Write it again by GapMonitor.to_json."
        )
    values = {}
    for name in names:
        try:
            values[name] = _decode(content[name], f"{path}.{name}")
        except _DamagedTextError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _DamagedTextError(
                f"The field {path}.{name} of the text of a monitor is damaged ({error}). Write it "
                "again by GapMonitor.to_json."
            ) from error
    return values


def _decode(value: Any, path: str) -> Any:
    """The value that `_encode_state` wrote; `path` names it in errors."""
    if isinstance(value, list):
        return [_decode(one, path) for one in value]
    if not isinstance(value, dict):
        return value
    kind, content = value["type"], value["value"]
    if kind == "array":
        return np.array(_decode(content, path), dtype=value["dtype"]).reshape(value["shape"])
    if kind in _TEXT_FORMS:
        return _TEXT_FORMS[kind].read(content)
    if kind == "tuple":
        return tuple(_decode(content, path))
    if kind == "dict":
        return {_decode(key, path): _decode(one, path) for key, one in content}
    if kind in _STORABLE_CLASSES:
        restored = _STORABLE_CLASSES[kind].__new__(_STORABLE_CLASSES[kind])
        vars(restored).update(_decode_fields(content, _field_names(_STORABLE_CLASSES[kind]), path))
        return restored
    constraint = constraints.find_constraint_class(kind)
    if constraint is None:
        raise ValueError(f"text must name classes of skfair.constraints; got {kind!r}")
    return constraint(**_decode_fields(content, constraint._get_param_names(), path))


# Monitor of a gap over time, valid at every look.


_WINDOW_COLUMNS = (
    *("batch", "n_batches", "start", "end"),
    *("gap", "low", "high", "is_above", "verdict", "extremes"),
)

_RATE_COLUMNS = ("batch", "time", "attribute", "event", "group", "n", "weight", "estimate")


@make_constructor
class GapMonitor(BaseEstimator):
    r"""Monitor whether a deployed model keeps a tolerance, with statements valid at every look.

    A fixed-sample test or interval errs more and more often the more often it is read: of 24
    monthly certificates of a model on the edge of its tolerance at least one is false in 71 % of
    cases at a level of 95 %. This monitor reads batches of any size, as they come, and may be read
    after each of them (sequential testing, anytime-valid inference). It answers three questions:

    - *Is the tolerance kept?* The pooled rates of the last batches (`windows`), and a certificate
      of the mean since the start: for every ordered pair of groups an e-process against
      :math:`p_i - p_j \ge \epsilon`, each at the full level (intersection-union). A certificate
      assumes that the groups' means do not change since the start or the last restart.
    - *Was the tolerance ever exceeded?* An e-process against "the gap was always at most the
      tolerance", for all groups at once and a mixture over all starts of an excess. It remains
      valid where rates change, as by season. With ``run_length=None`` it raises the alarm.
    - *Is it exceeded since some time?* Shiryaev and Roberts' e-detector ([3]_), and the pooled
      rates of the last batches (`windows`), which assume no rate to be constant ([5]_). Either of
      them raises the alarm.

    Everything but the second question restarts after an alarm: certificate,
    interval and detector are then about the samples since that alarm, and only windows since it
    raise another. The k-th restart may err with
    a share :math:`w_k` of the error, :math:`w_0 = .9` and :math:`w_k = .1 / (k (k + 1))`. These add
    up to 1, so that in the whole life of a monitor a certificate is ever false with probability
    :math:`\alpha` at most, and an interval ever wrong with probability :math:`\alpha` at most.

    Small batches are joined to blocks of at least 20 samples of a cell, such as a class, since a
    sample alone says nothing about a difference. For a block with :math:`n_g` samples of group g,
    whose values in [0, 1] add up to :math:`x_g`,

    .. math:: e_t = \prod_g \left(\frac{q_g}{p_g^*}\right)^{x_g}
        \left(\frac{1 - q_g}{1 - p_g^*}\right)^{n_g - x_g},
        \qquad p^* = \arg\min_{p \in H_0} \sum_g n_g \mathrm{KL}(q_g \| p_g),

    with q estimated from earlier blocks ([1]_, [2]_). Its expectation is at most 1 under the
    hypothesis whatever the group sizes, if these do not depend on the outcomes. By Ville's
    inequality [4]_ the product of such e-values ever exceeds :math:`1 / \alpha` with
    probability at most :math:`\alpha`. A batch of more than 20 samples is divided into blocks at
    random. The order is computed from the data, so that it repeats with them and does not depend on
    the order in which they are passed. Names of groups decide nothing, except between groups that
    have equal samples in every batch from the first on.

    Read more in the :ref:`guide <monitoring>`.

    Parameters
    ----------
    constraint : str or Constraint
        Name in :data:`skfair.constraints.CONSTRAINTS`, or an instance: a difference of rates or
        means between groups (``reference="groups"``, ``aggregate="max"``) or their ``ratio``, whose
        gap is 1 minus the smallest ratio of two groups, or
        :class:`~skfair.constraints.BoundedGroupLoss`, :class:`~skfair.constraints.MaximumRate` or
        :class:`~skfair.constraints.MinimumRate`. With ``attributes="each"`` the values of each
        attribute are compared with one another, not with the values of other attributes. Its
        ``min_group_size``, if it has a number, counts in place of that of the monitor.
    tolerance : float, default=None
        Largest gap allowed: a fraction for rates, else in units of the mean. (A ratio r of the
        constraint is a gap of 1 - r.) With 0 there is no
        certificate, only alarms. None takes that of the constraint, which must have one.
    confidence_level : float, default=0.95
        ``1 - confidence_level`` bounds the probability that a certificate is ever false, that an
        interval ever fails, and that the tolerance is ever said to have been exceeded although it
        never was: each of them over all looks and restarts.
    run_length : float, default=300.0
        A false alarm comes about once in so many batches if the gap is just the tolerance, and less
        often if it is smaller; greater than 1. Without `windows` it is so many on average at least,
        from the start or an earlier alarm. A row of `summary` is a batch. Where outcomes come later
        and there is no `delay`, windows are judged again as they come, and false alarms of windows
        are up to half more frequent. None raises an alarm at most once, with the error of
        `confidence_level`, restarts nothing and judges no windows, so that a gap that begins after
        some good years may be missed for years.
    pos_label : label, default=None
        The class that means success; None takes 1 of the classes 0 and 1 or -1 and 1. Mean losses
        and predictions are of these classes, too, and of other outcomes as numbers, as are absolute
        losses and callables.
    burden : bool, default=False
        Whether the decision `pos_label` is bad for people, as in
        :meth:`skfair.audit.Audit.from_predictions`: pages say so, and audits must agree.
    delay : number, str or timedelta, default=None
        Longest time until an outcome is known, in units of `time`. Then samples are counted by
        cohorts: all those of a batch at once, when the delay has passed. Error rates and losses
        with late outcomes need it: outcomes that come early are not a random sample of all. At the
        very time at which the delay ends, a cohort is counted if its outcomes are complete. None
        counts a sample when its outcome comes, which is right for rates within a class if the delay
        depends on the class alone.
    value_range : tuple of two floats, default=(0.0, 1.0)
        Smallest and largest value that is averaged, for constraints on scores, predicted numbers
        and losses. Rates of decisions, whose largest value is known, do not use it. With a ratio it
        begins at 0.
    max_weight : float, default=1.0
        Largest `sample_weight` that can occur.
    windows : tuple of int, default=(1, 3, 6, 12)
        Numbers of the last batches whose pooled rates are judged after each batch. They are
        batches of decisions, up to the last of which a decision is counted: where outcomes come
        later, batches whose decisions all wait are not among them. Needs `run_length`, whose false
        alarms windows and detector share: the limits of windows have the errors with which three
        quarters of them come from windows, in simulated batches of equal size and normal means. A
        page says falsely that a window is within the tolerance with probability
        ``1 / (2 * run_length)`` at most.
        Windows with unequal weights, or without two groups of sufficient size, are not judged.
    min_group_size : int, default=30
        Samples that the rate of a group must count, so far or in a window or batch, to be compared
        in it, so that a mistyped group does not end a certificate.

    Attributes
    ----------
    verdict_ : {"shown", "open", "contradicted"}
        Whether the tolerance is kept now, in the words of a claim: the worst of what holds after
        the last batch, which is the "state" of `summary`. "contradicted": an alarm was raised, and
        the verdict has not been "shown" since, or a window contradicts the tolerance. "shown": no
        window has a gap above the tolerance, and one shows that it is kept, or a certificate does
        so for the mean since the start or the last alarm. "open": neither. A "shown" of windows
        has their error on each page (`windows`), and a certificate that of all pages together.
    windows_ : DataFrame
        One row per window of the last batch: "batch" (its number), "n_batches" (length of the
        window), "start" and "end" (times of decisions in its first and its last batch), "gap",
        "low", "high" (limits of the gap), "is_above" (whether the gap is above the tolerance,
        perhaps by chance), "verdict" and "extremes" (names, means and samples of the two groups
        that differ most, or of the one with the largest mean).
    alarms_ : DataFrame
        One row per alarm: "batch" (number of the row of `summary`), "time" (of the latest decisions
        that were counted then) and "since" (time of the decisions since which the tolerance was
        most likely exceeded).
    since_ : int, float, Timestamp or None
        "since" of the first alarm after the last verdict "shown", which does not move with later
        alarms; None without an alarm.
    batches_to_alarm_ : int or None
        About how many batches windows take to show a gap of twice the tolerance in half of all
        cases; None if they never do. Batches have the mean size so far, all groups were equal, and
        the smallest one with recent decisions changes. Known for differences of all groups only.
    left_out_ : list of str
        Names of the groups that have too few samples so far to be compared, with their attribute
        if several are compared.
    bins_ : dict
        Bins of numbers by attribute, named by their ends: those of the first batch.
    outstanding_ids_ : list
        Ids of the samples whose outcome has not come.

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
    .. [5] W. Hoeffding, "On the distribution of the number of successes in independent trials",
       Annals of Mathematical Statistics 27, 1956.

    See Also
    --------
    skfair.audit.Audit.certify : A certificate that is read once.

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
    ...     monitor = monitor.update(None, decisions, sensitive_features=group, time=month)
    ...     print(month, monitor.verdict_, end="; " if month % 4 else "\n")
    1 open; 2 open; 3 shown; 4 shown
    5 shown; 6 shown; 7 contradicted; 8 contradicted
    9 contradicted; 10 contradicted; 11 contradicted; 12 contradicted
    >>> monitor.since_
    7
    """

    constraint: str | Constraint
    tolerance: float | None = None
    _: KW_ONLY
    confidence_level: float = CONFIDENCE_LEVEL
    run_length: float | None = 300.0
    pos_label: Label | None = None
    burden: bool = False
    delay: Any = None
    value_range: tuple[float, float] = (0.0, 1.0)
    max_weight: float = 1.0
    windows: tuple[int, ...] = (1, 3, 6, 12)
    min_group_size: int = MIN_AUDITED_GROUP

    def update(
        self,
        y_true: ArrayLike | None,
        y_pred: ArrayLike,
        *,
        sensitive_features: MatrixLike,
        sample_weight: ArrayLike | None = None,
        time: Time | None = None,
        ids: ArrayLike | None = None,
        X: MatrixLike | None = None,
    ) -> GapMonitor:
        """Read a batch of predictions.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            Outcomes. Constraints on predictions alone need none; of others outcomes may come later,
            by `update_labels`, if `ids` are passed.
        y_pred : array-like of shape (n_samples,)
            Decisions of a classifier as its constraint compares them, or scores or predicted
            numbers; of any number of samples. Data of Dask are loaded. For the rate "coverage" it
            holds prediction sets (:ref:`prediction_sets`).
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
            Features, for the ``control_features`` of a constraint.

        Returns
        -------
        self : GapMonitor

        Raises
        ------
        ValueError
            If a parameter is out of range or has changed since the first batch, the constraint is
            not a difference of means, inputs differ in length, time runs backwards, ids are
            repeated, outcomes are missing and cannot come later, values or weights are out of
            range, or labels of groups are of another type than before. The state is then unchanged,
            as after any other error.

        Warns
        -----
        UserWarning
            If groups join, outcomes are missing when the delay of their cohort has passed, or all
            of 30 samples or more are selected and rates count both decisions.
        """
        settings = _check_settings(self)
        y_true, y_pred, sensitive_features, sample_weight, ids, X = load_columns(
            y_true=y_true,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            ids=ids,
            X=X,
        ).values()
        if is_empty(y_pred, sensitive_features, sample_weight):
            return self._read(settings, None, None, None, time)
        audit = make_audit(settings, y_true, y_pred, sensitive_features, sample_weight)
        if X is not None:
            check_consistent_length(audit.is_used, X)
            X = safe_indexing(X, np.flatnonzero(audit.is_used))
        return self._read(settings, audit, ids, X, time)

    def update_from(
        self,
        audit: Audit,
        *,
        time: Time | None = None,
        ids: ArrayLike | None = None,
    ) -> Self:
        """Read the samples of an audit as a batch; each row of a table of counts is many samples.

        Parameters
        ----------
        audit : Audit
            Predictions and groups, with the `min_group_size` and the `pos_label` of the monitor.
            Samples of unknown group are left out where it excludes them. Of a fitted model its
            features are used too, unless outcomes come later.
        time : number, str or datetime, default=None
            As in `update`.
        ids : array-like of shape (n_samples,), default=None
            Names of the samples that the audit was made of, for `update_labels`.

        Returns
        -------
        self : GapMonitor

        Raises
        ------
        ValueError
            If the audit has other settings or models its groups, or ids are passed for counts, or
            as for `update`. The state is then unchanged.

        Examples
        --------
        >>> import pandas as pd
        >>> from skfair.audit import Audit
        >>> from skfair.monitoring import GapMonitor
        >>> month = pd.DataFrame({"sex": [*"ffmm"], "hired": [0, 1, 0, 1], "n": [60, 40, 55, 45]})
        >>> audit = Audit.from_counts(month, counts="n", sensitive_features="sex", y_pred="hired")
        >>> monitor = GapMonitor("demographic_parity", 0.2).update_from(audit, time="2026-01")
        >>> round(monitor.interval().estimate, 3)
        0.05
        """
        settings = _check_settings(self)
        check_audit(settings, audit)
        is_late = ids is not None or settings.delay is not None
        X = None if audit.model is None or is_late else audit.model.X
        return self._read(settings, audit, ids, X, time)

    def _read(
        self,
        settings: Settings,
        audit: Audit | None,
        ids: TableLike | None,
        X: TableLike | None,
        time: Time | None,
    ) -> Self:
        """Read a batch; `audit` is None for one without samples."""
        state = getattr(self, "_state", State())
        time = check_time(time, state, settings.delay)
        row = state.begin_row(time, has_decisions=True)
        state, cohorts = state.split_complete(settings, time)
        if audit is not None:
            if state.attributes is None:
                state = replace(state, bins=audit.bins)
            batch = read_batch(settings, row, state, audit, ids, X)
            state = state.with_groups(settings, batch.cohort.samples.groups, row.time)
            if batch.late_ids is None:
                cohorts.append(batch.cohort)
            else:
                outstanding = state.outstanding.add_samples(
                    batch.late_ids, batch.cohort, batch.has_outcomes
                )
                state = replace(state, outstanding=outstanding)
        return self._set_state(settings, advance_state(settings, state, row, cohorts))

    def update_late(
        self,
        y_true: ArrayLike | None,
        y_pred: ArrayLike,
        *,
        sensitive_features: MatrixLike,
        sample_weight: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        time: Time,
    ) -> GapMonitor:
        """Count decisions of a time before the last batch in the windows, and nowhere else.

        Evidence cannot be added to the past: e-values, alarms and the interval stay as they are.
        The verdict may change, as windows do.

        Parameters
        ----------
        y_true, y_pred, sensitive_features, sample_weight
            As in `update`; outcomes that the constraint needs must be known.
        ids : None
            Late decisions do not wait for outcomes.
        time : number, str or datetime
            Time of the decisions, at most that of the last batch.

        Returns
        -------
        self : GapMonitor

        Raises
        ------
        ValueError
            If the time is after the last batch, outcomes come later (ids or a delay), or as for
            `update`. The state is then unchanged.
        """
        self._check_updated()
        settings = _check_settings(self)
        state = self._state
        stored = normalize_time(time)
        can_wait = ids is not None or settings.delay is not None
        if can_wait or restore_time(state.time) < restore_time(stored):
            raise ValueError(
                "Late decisions must be of a time before the last batch and have their outcomes, "
                f"without delay and ids; got time={stored!r}, delay={settings.delay!r}, and the "
                f"last batch has {state.time!r}. Pass others to update."
            )
        columns = load_columns(
            y_true=y_true,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        ).values()
        row = replace(state.rows[-1], time=stored)
        audit = make_audit(settings, *columns)
        batch = read_batch(settings, row, state, audit, None, None)
        state = state.with_groups(settings, batch.cohort.samples.groups, row.time)
        return self._set_state(settings, add_late_cohort(settings, state, batch.cohort))

    def update_labels(
        self, ids: ArrayLike, y_true: ArrayLike, *, time: Time | None = None
    ) -> GapMonitor:
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
        self._check_updated()
        settings = _check_settings(self)
        state = self._state
        time = check_time(state.time if time is None else time, state, settings.delay)
        ids, y_true = load_columns(ids=ids, y_true=y_true).values()
        ids = check_identifiers(ids, "ids")
        check_exact_labels(ids, "ids")
        outcomes = check_identifiers(y_true, "y_true")
        if len(ids) != len(outcomes):
            raise argument_error(
                f"ids and y_true must have equal lengths; got {len(ids)} and {len(outcomes)}."
            )
        row = state.begin_row(time, has_decisions=False)
        state, cohorts = state.add_outcomes(settings, ids.tolist(), outcomes)
        state, complete = state.split_complete(settings, time)
        return self._set_state(settings, advance_state(settings, state, row, cohorts + complete))

    def interval(self) -> Interval:
        """The gap so far, with an interval that holds at all times simultaneously.

        Returns
        -------
        interval : Interval
            Gap in all samples since the start, or with `run_length` since the last alarm, and
            limits. With probability `confidence_level` they contain the population's gap at every
            look, restarts included, if the groups' means do not change between restarts. They end
            at one of 60 levels or at the tolerance. A certificate errs on one side only, so that it
            may come before the upper limit has reached the tolerance. If an alarm, or limits that
            exclude the gap so far or contradict one another, show that the means have changed, the
            upper limit is the largest possible gap. The lower one remains true of the largest gap
            since the start or restart.

        Raises
        ------
        NotFittedError
            Before the first batch.
        """
        last = self.summary().iloc[-1]
        return Interval(
            estimate=float(last["gap"]), low=float(last["low"]), high=float(last["high"])
        )

    @property
    def outstanding_ids_(self) -> list:
        """Ids of the samples whose outcome has not come."""
        self._check_updated()
        return self._state.outstanding.ids_without_outcome()

    @property
    def left_out_(self) -> list[str]:
        """Names of the groups of which a rate counts too few samples so far to be compared."""
        frame = self.to_frame()
        names = []
        counts = frame.groupby(["attribute", "event", "group"], sort=False)["n"].sum()
        for attribute, one in self._state.comparisons.items():
            sizes = {
                (cell, group): counts.get((attribute, cell, group), 0)
                for cell in one.cells
                for group in one.groups
            }
            small = [event for event, n in sizes.items() if n < self._settings.smallest_size]
            by = f" by {attribute}" * (len(self._state.comparisons) > 1)
            names += [f"{name}{by}" for name in name_left_out(small, sizes.keys() - small)]
        return names

    @property
    def alarms_(self) -> pd.DataFrame:
        """One row per alarm, see the class."""
        self._check_updated()
        frame = pd.DataFrame(self._state.alarms, columns=["batch", "time", "since"])
        return frame.assign(time=restore_times(frame["time"]), since=restore_times(frame["since"]))

    @property
    def batches_to_alarm_(self) -> int | None:
        """Batches until windows show twice the tolerance, see the class."""
        self._check_updated()
        state = self._state
        return find_delay(self._settings, state.counted_batches, 2.0 * self._settings.tolerance)

    @property
    def windows_(self) -> pd.DataFrame:
        """One row per window of the last batch, see the class."""
        self._check_updated()
        return self._tabulate_windows(self._state.rows[-1:])

    def to_frame(self) -> pd.DataFrame:
        """Counts and rates by batch and group.

        Returns
        -------
        frame : DataFrame
            One row per batch, time of decisions, attribute, event and group, with the columns
            "batch" (that counted them), "time" (of the decisions, also where outcomes came later),
            "attribute",
            "event", "group", "n" (samples), "weight" and "estimate" (mean, weighted).
        """
        self._check_updated()
        state = self._state
        rates = [
            rate for row in state.rows for rate in row.rates(self._settings, state.comparisons)
        ]
        frame = pd.DataFrame(rates, columns=_RATE_COLUMNS)
        return frame.assign(time=restore_times(frame["time"]))

    def summary(self, *, by_window: bool = False) -> pd.DataFrame:
        """Gap, evidence and verdict after each batch, or of each window.

        Parameters
        ----------
        by_window : bool, default=False
            True: one row per batch and window. False: one row per batch.

        Returns
        -------
        frame : DataFrame
            One row per batch with the columns "batch", "time", "counted_until", "n", "batch_gap",
            "gap", "low", "high" (of `interval`), "evidence_for" (e-value for the tolerance: the
            smallest of all pairs), "evidence_needed" (by a certificate), "evidence_against"
            (e-value against "the tolerance was never exceeded"), "change_evidence" (statistic of
            the e-detector, to be compared with ``4 * run_length``, or without windows with
            `run_length`), "was_exceeded" (whether the evidence against was ever as large as
            ``1 / (1 - confidence_level)``), "state", "verdict" and "n_outstanding" (samples that
            are not counted yet, because their outcome or the end of their cohort's delay is
            outstanding). "n" and "batch_gap" are of the decisions of this time that are counted by
            now, also where outcomes came later. The others say what was known after the batch was
            read, of decisions up to "counted_until".

            With `by_window` the columns are those of `windows_`. Of a `MinimumRate` gaps are the
            smallest rates, here and in `interval`.
        """
        self._check_updated()
        if by_window:
            return self._tabulate_windows(self._state.rows)
        rows = self._state.summarize(self._settings)
        frame = state_gaps(self._settings, pd.DataFrame(rows))
        times = {name: restore_times(frame[name]) for name in ("time", "counted_until")}
        return frame.assign(**times)

    def _tabulate_windows(self, rows: list) -> pd.DataFrame:
        """Return a row for each window of some batches."""
        lines = [{"batch": row.number} | vars(one) for row in rows for one in row.statement.windows]
        frame = state_gaps(self._settings, pd.DataFrame(lines, columns=_WINDOW_COLUMNS))
        ends = {name: restore_times(frame[name]) for name in ("start", "end")}
        return frame.assign(**ends)

    def plot(self, ax: Axes | None = None) -> GapMonitorDisplay:
        """Draw rates, gap, interval and verdict over time.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes of the gap. None makes a new figure, with the rates of groups above the gap.

        Returns
        -------
        display : instance of a display
            The drawn display, with ``ax_``, ``figure_`` and ``line_``.

        Examples
        --------
        >>> from skfair.monitoring import GapMonitor
        >>> monitor = GapMonitor("demographic_parity", tolerance=0.1)
        >>> monitor = monitor.update(None, [1, 0, 1, 0], sensitive_features=[*"aabb"])
        >>> monitor.plot().ax_.get_ylabel()
        'gap between groups'
        """
        settings = self._settings
        has_floor = is_floor(self._settings)
        bound = settings.tolerance
        # The tolerance of a floor is the largest value less the floor.
        bound = settings.constraint.largest_gap - bound if has_floor else bound
        alarms = self.alarms_["batch"].tolist()
        display = GapMonitorDisplay(
            self.summary(),
            tolerance=bound,
            is_floor=has_floor,
            alarms=alarms,
            rates=self.to_frame(),
        )
        return display.plot(ax)

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
        results = {name: getattr(self, f"_{name}", None) for name in ("settings", "state")}
        return encode_content(self.get_params(deep=False) | results)

    @classmethod
    def from_json(cls, source: str) -> Self:
        """Resume a monitor from what `to_json` returned.

        Parameters
        ----------
        source : str
            Text in JSON.

        Returns
        -------
        monitor : GapMonitor

        Raises
        ------
        ValueError
            If the text is not what `to_json` returned, or a field is missing or damaged.
        """
        content = decode_content(source, [*cls._get_param_names(), "settings", "state"])
        settings, state = content.pop("settings"), content.pop("state")
        monitor = cls(**content)
        if state is None:
            return monitor
        try:
            return monitor._set_state(settings, state)
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise ValueError(
                f"The state in the text of a monitor is damaged ({error}). Write it again by "
                "GapMonitor.to_json."
            ) from error

    def _check_updated(self) -> None:
        """Raise before the first batch."""
        if not hasattr(self, "verdict_"):
            raise NotFittedError("This GapMonitor has read no batch; call update first.")

    def _set_state(self, settings, state):
        """Replace the state and all attributes at once; whatever fails before leaves them as is."""
        vars(self).update(
            _settings=settings,
            _state=state,
            verdict_=state.rows[-1].statement.verdict,
            since_=restore_time(state.since),
            bins_={state.attributes[place]: one.texts for place, one in state.bins.items()},
        )
        return self


def _check_settings(monitor: GapMonitor) -> Settings:
    """The parameters, if they are in range, and as they were with the first batch."""
    params = monitor.get_params(deep=False)
    if not hasattr(monitor, "verdict_"):
        return check_settings(params)
    settings = monitor._settings
    if names := settings.changed_names(params):
        first = [f"{name}={getattr(settings, name)!r}" for name in names]
        raise ValueError(
            "The parameters of a GapMonitor must not change after its first batch, which had "
            f"{join_names(first)}. Set them back, or create another monitor."
        )
    return settings


def rename_attributes(monitor: GapMonitor, names: list) -> GapMonitor:
    """Give the attributes of a monitor these names, in the same order; return the monitor."""
    state = monitor._state
    if state.attributes in (None, names):
        return monitor
    return monitor._set_state(monitor._settings, state.rename_attributes(names))


def list_decision_times(monitor: GapMonitor) -> list:
    """Return the times of the decisions that a monitor has read; none before the first batch."""
    if not hasattr(monitor, "verdict_"):
        return []
    times = dict.fromkeys(row.time for row in monitor._state.rows if row.has_decisions)
    return [*map(restore_time, times), *list_late_times(monitor)]


def list_late_times(monitor: GapMonitor) -> list:
    """Return the times of decisions that came after later ones, and that only windows count."""
    rows = monitor._state.rows
    read = {row.time for row in rows if row.has_decisions}
    times = dict.fromkeys(table[0] for row in rows for table in row.tables)
    return [restore_time(time) for time in times if time not in read]


def has_upper_limit(monitor: GapMonitor) -> bool:
    """Return whether the gap so far has an upper limit below the largest possible gap."""
    return bool(monitor._state.rows[-1].statement.high < monitor._settings.unscale(1.0))


def find_last_decisions(monitor: GapMonitor) -> dict:
    """Return when the last decisions about each group were made that has none any more.

    Keys are pairs of attribute and name. Values are times, or numbers of batches without times.
    Groups that are too small to be compared are left out.
    """
    frame = monitor.to_frame()
    counted = frame[frame["n"] > 0]
    column = "batch" if counted["time"].isna().all() else "time"
    keys = ["attribute", "group"]
    last = counted.groupby(keys, sort=False)[column].max()
    n = counted.groupby([*keys, "event"], sort=False)["n"].sum().groupby(keys, sort=False).max()
    is_gone = (last < counted[column].max()) & (n >= monitor._settings.smallest_size)
    return last[is_gone].to_dict()
