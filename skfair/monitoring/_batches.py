"""Batches of predictions: values, counts, times, and outcomes that come later."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from itertools import groupby
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils import check_consistent_length

from skfair._groups import Groups, Samples, check_groups
from skfair._groups.groups import (
    MAX_NUMERIC_GROUPS,
    check_attribute_label_types,
    sort_labels,
)
from skfair._groups.known import order_attributes
from skfair._statistics.known_shares import KnownSamples, differ_by_decision
from skfair._utils.checks import (
    CONVENTIONAL_LABELS,
    argument_error,
    check_exact_labels,
    join_names,
    refuse_clusters,
    warn,
)
from skfair._utils.sklearn import safe_indexing
from skfair.audit import Audit
from skfair.audit._bins import bin_groups
from skfair.audit._predictions import predict_for_metric
from skfair.audit._sections import OUTCOME_SELECTION
from skfair.audit._sensitive_features import as_sensitive_features
from skfair.constraints import check_task
from skfair.constraints._held_out import evaluate_cells, metric_kind, outcome_use
from skfair.losses import loss_targets
from skfair.metrics import find_positive
from skfair.metrics._group_metrics import to_numbers
from skfair.metrics._rates import refuse_sets_metric

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from pandas import Timedelta

    from skfair._utils.api import GroupName, Label, Time
    from skfair._utils.tables import Table, TableLike
    from skfair.audit import SensitiveFeatures
    from skfair.constraints import Constraint

    class MonitorSettings(Protocol):
        """What `Settings`, which lies above, states to the parts of a monitor."""

        @property
        def burden(self) -> bool:
            """As in `Settings`."""

        @property
        def confidence_level(self) -> float:
            """As in `Settings`."""

        @property
        def constraint(self) -> Constraint:
            """As in `Settings`."""

        @property
        def delay(self) -> Timedelta | int | str | None:
            """As in `Settings`."""

        @property
        def hypothesis(self) -> Any:
            """As in `Settings`."""

        @property
        def levels(self) -> np.ndarray:
            """As in `Settings`."""

        @property
        def max_weight(self) -> float:
            """As in `Settings`."""

        @property
        def min_group_size(self) -> int:
            """As in `Settings`."""

        @property
        def pos_label(self) -> Label | None:
            """As in `Settings`."""

        @property
        def range(self) -> tuple:
            """As in `Settings`."""

        @property
        def run_length(self) -> float | None:
            """As in `Settings`."""

        @property
        def scaled_tolerance(self) -> float:
            """As in `Settings`."""

        @property
        def smallest_size(self) -> int:
            """As in `Settings`."""

        @property
        def tolerance(self) -> float:
            """As in `Settings`."""

        @property
        def tolerance_position(self) -> int:
            """As in `Settings`."""

        @property
        def windows(self) -> tuple:
            """As in `Settings`."""

        def log_evidence_needed(self, n_restarts: int, n_sides: int = 1) -> float:
            """As in `Settings`."""

        def unscale(self, level: float) -> float:
            """As in `Settings`."""


# Times of batches: numbers, or points in time that are stored as text.


def check_time(
    time: Time | None, state: Any, delay: Timedelta | int | str | None
) -> float | str | None:
    """The time of a batch as it is stored; raise if it runs backwards or cannot have a delay."""
    time = normalize_time(time)
    if state.rows:
        check_order(time, state.time)
    if delay is not None:
        check_delay(delay, time)
    return time


def normalize_time(time: Time | None) -> float | str | None:
    """A time as a number, ISO text or None; text is what a file stores."""
    if time is None:
        return None
    if isinstance(time, Real) and not isinstance(time, bool):
        number = int(time) if isinstance(time, Integral) else float(time)
        if isfinite(number):
            return number
    try:
        point = pd.Timestamp(str(time) if isinstance(time, pd.Period) else time)
    except (TypeError, ValueError):
        point = pd.NaT
    if point is pd.NaT:
        raise argument_error(
            f"time must be a number or a date, such as '2026-03-01'; got {time!r}."
        )
    return point.isoformat()


def restore_time(time: Any) -> Any:
    """The time that text stands for, or the number."""
    return pd.Timestamp(time) if isinstance(time, str) else time


def warn_of_one_decision(cohorts: list[Cohort]) -> None:
    """Warn of cohorts in which all samples are selected, as in a table of the accepted only."""
    decisions = [one.scores > 0.0 for one in cohorts]
    n = sum(map(len, decisions))
    if n >= _MIN_SELECTED and all(one.all() for one in decisions):
        warn(
            "All samples of a batch are selected: if samples of another decision are missing from "
            "the data, rates that count both decisions are not known. Pass all samples, or monitor "
            "selection rates or the precision."
        )


_MIN_SELECTED = 30
"""Samples of a batch from which on it is strange that all are selected."""


def describe_time(time: float | str) -> str:
    """Return a stored time as text: a number with its noun, a day without its hours at midnight."""
    return time.removesuffix("T00:00:00") if isinstance(time, str) else f"time {time}"


def check_order(time: float | str | None, latest: float | str | None) -> None:
    """Raise for a time before the latest one, of another type, or in some batches only."""
    if (time is None) != (latest is None):
        raise argument_error(
            f"time must be passed with every batch or with none; got {time!r} after {latest!r}."
        )
    try:
        runs_backwards = time is not None and restore_time(time) < restore_time(latest)
    except TypeError:
        raise argument_error(
            f"time must be of one type in all batches, but {time!r} came after {latest!r}."
        ) from None
    if runs_backwards:
        raise argument_error(
            f"time must not run backwards, but {time!r} came after {latest!r}. Nothing was "
            "counted: evidence depends on the order of batches. Sort them by time."
        )


def end_of_delay(time: float | str, delay: Timedelta | int | str) -> Any:
    """The point in time or the number at which a delay is over."""
    return restore_time(time) + (pd.Timedelta(delay) if isinstance(time, str) else delay)


def check_delay(delay: Timedelta | int | str, time: float | str | None) -> None:
    """Raise for a delay that cannot be added to a time, or is negative."""
    try:
        is_valid = time is not None and end_of_delay(time, delay) >= restore_time(time)
    except (TypeError, ValueError):
        is_valid = False
    if not is_valid:
        raise argument_error(
            "delay must be a time span in units of time, such as 90 for numbers or '90 days' for "
            f"dates, and every batch needs a time; got delay={delay!r} and time={time!r}."
        )


def restore_times(column: pd.Series) -> pd.Series:
    """A column of stored times with points in time in place of text."""
    return column.map(restore_time) if len(column) else column


# Samples whose outcome is not known yet, or whose cohort is not complete.


_TIME_POSITION, _SCORE_POSITION, _TARGET_POSITION, _LABELS_POSITION = 0, 1, 3, 4
"""Positions in the record of a sample: time, score, weight, target (None: not known) and labels."""

_MIN_OUTCOMES = 20
"""Outcomes that come together from which their decisions are compared with those outstanding."""


class Cohort(NamedTuple):
    """Samples that were decided on at one time and are counted together."""

    time: Any
    samples: Samples
    scores: np.ndarray


def check_identifiers(values: TableLike, name: str) -> np.ndarray:
    """Ids or late outcomes as an array, without missing values."""
    column = np.asarray(values)
    if column.ndim != 1 or pd.isna(column).any():
        raise ValueError(
            f"{name} must be one number or string per sample, but are of shape {column.shape} and "
            f"type {column.dtype}, or hold missing values."
        )
    return column


class OutstandingSamples:
    """Records of samples that are counted later, by id, in the order of their times.

    Changes make a new table, which shares the records.
    """

    records: dict

    def __init__(self, records: dict[int | str, Any] | None = None) -> None:
        self.records = records or {}

    def __len__(self) -> int:
        return len(self.records)

    def add_samples(
        self, ids: list[int | str], cohort: Cohort, is_known: bool
    ) -> OutstandingSamples:
        """The table with a cohort; raise if an id occurs twice or is outstanding already."""
        counts = Counter(ids)
        repeated = [one for one, count in counts.items() if count > 1 or one in self.records]
        if repeated:
            raise argument_error(
                "ids must be different for all samples whose outcome is outstanding, but "
                f"{join_names(map(repr, repeated))} came twice. Nothing of this batch was counted."
            )
        samples = cohort.samples
        scores = cohort.scores.tolist()
        weights = samples.weights.tolist()
        targets = samples.target.tolist() if is_known else [None] * len(ids)
        labels = samples.groups.labels[samples.groups.codes].tolist()
        added = {
            one: [cohort.time, *record]
            for one, *record in zip(ids, scores, weights, targets, labels, strict=True)
        }
        return OutstandingSamples(self.records | added)

    def add_outcomes(self, ids: list[int | str], target: list[float]) -> OutstandingSamples:
        """The table with outcomes of samples that it holds."""
        records = dict(self.records)
        for one, value in zip(ids, target, strict=True):
            records[one] = [*records[one]]
            records[one][_TARGET_POSITION] = value
        return OutstandingSamples(records)

    def check_ids(self, ids: list[int | str]) -> None:
        """Raise unless these are different samples whose outcome has not come."""
        unknown = [one for one in ids if one not in self.records]
        if unknown:
            raise argument_error(
                "ids must be of samples whose outcome is outstanding, but "
                f"{join_names(map(repr, unknown))} are not: they were never passed, or their "
                "outcome has come before. Nothing was counted; leave them out."
            )
        counts = Counter(ids)
        repeated = [
            one
            for one, count in counts.items()
            if count > 1 or self.records[one][_TARGET_POSITION] is not None
        ]
        if repeated:
            raise ValueError(
                f"Each outcome must come once, but that of {join_names(map(repr, repeated))} came "
                "twice. Nothing was counted; leave the repetition out."
            )

    def cohorts(self, ids: list[int | str], attributes: Any) -> Iterator[Cohort]:
        """Samples whose outcome has come, as cohorts by the time of their decisions."""
        records = [self.records[one] for one in ids]
        if records and records[0][_TIME_POSITION] is not None:
            records.sort(key=lambda one: restore_time(one[_TIME_POSITION]))
        for time, of_time in groupby(records, key=lambda one: one[_TIME_POSITION]):
            _, scores, weights, target, rows = zip(*of_time, strict=True)
            labels = np.empty((len(rows), len(attributes)), dtype=object)
            for label, row in zip(labels, rows, strict=True):
                label[:] = row
            groups = check_groups(labels, len(rows))
            groups = Groups(groups.labels, codes=groups.codes, attributes=attributes)
            yield Cohort(
                time, Samples(np.array(target), groups, np.array(weights)), np.array(scores)
            )

    def check_both_decisions(self, ids: list[int | str]) -> None:
        """Raise if outcomes of cohorts are known less often after one decision, beyond chance.

        Cohorts are the outstanding samples of the times of `ids`, of which some are known.
        """
        known = {one for one in ids if self.records[one][_TARGET_POSITION] is not None}
        if len(known) < _MIN_OUTCOMES:
            return
        times = {self.records[one][_TIME_POSITION] for one in ids}
        cohorts = {
            one: record for one, record in self.records.items() if record[_TIME_POSITION] in times
        }
        records = list(cohorts.values())
        is_positive = np.array([one[_SCORE_POSITION] > 0.0 for one in records])
        has_outcome = np.array([one in known for one in cohorts])
        samples = KnownSamples(
            groups=np.unique([str(one[_LABELS_POSITION]) for one in records], return_inverse=True)[
                1
            ],
            periods=np.unique([str(one[_TIME_POSITION]) for one in records], return_inverse=True)[
                1
            ],
            decisions=is_positive.astype(int),
            has_outcome=has_outcome,
            counts=np.ones(len(cohorts)),
        )
        if not differ_by_decision(samples):
            return
        n_positive, n_negative = is_positive.sum(), (~is_positive).sum()
        known_positive, known_negative = (
            (has_outcome & mask).sum() for mask in (is_positive, ~is_positive)
        )
        raise argument_error(
            f"y_true has the outcomes of {known_positive:,} of {n_positive:,} positive decisions "
            f"and of {known_negative:,} of {n_negative:,} negative ones of the same time. Rates "
            "that need both are not known from these. Pass delay= to GapMonitor if the others come "
            "later; else monitor selection rates or, with delay=, the precision. Nothing was "
            "counted."
        )

    def drop(self, ids: list[int | str]) -> OutstandingSamples:
        """The table without some samples."""
        records = dict(self.records)
        for one in ids:
            del records[one]
        return OutstandingSamples(records)

    def overdue_ids(self, delay: Timedelta | int | str, now: float | str) -> list:
        """Ids of the samples whose delay is over; at its last moment only of complete cohorts."""
        ids: list = []
        for time, items in groupby(self.records.items(), key=lambda item: item[1][_TIME_POSITION]):
            cohort = dict(items)
            end = end_of_delay(time, delay)
            is_complete = all(one[_TARGET_POSITION] is not None for one in cohort.values())
            if end > restore_time(now) or (end == restore_time(now) and not is_complete):
                break
            ids += cohort
        return ids

    def ids_without_outcome(self) -> list[int | str]:
        """Ids of the samples whose outcome has not come."""
        return [one for one, record in self.records.items() if record[_TARGET_POSITION] is None]

    def ids_with_outcome(self, ids: list[int | str]) -> list[int | str]:
        """Those of the samples whose outcome has come; warn that the others are left out."""
        known = [one for one in ids if self.records[one][_TARGET_POSITION] is not None]
        if len(known) < len(ids):
            times = dict.fromkeys(self.records[one][_TIME_POSITION] for one in ids)
            warn(
                f"{len(ids) - len(known)} samples of {join_names(map(describe_time, times), 6)} "
                "have no outcome although the longest delay has passed. They are left out. "
                f"{OUTCOME_SELECTION}"
            )
        return known


# From predictions to the values that are averaged, and to counts by cell and group.


MIN_BLOCK = 20
"""Samples of a block at least: one of m samples has 1 - 1 / m of their evidence on a difference."""


def is_empty(
    y_pred: Any,
    sensitive_features: TableLike | SensitiveFeatures,
    sample_weight: Table | None,
) -> bool:
    """Whether a batch has no samples, or none of positive weight."""
    has_weight = sample_weight is None or np.any(np.asarray(sample_weight))
    if np.shape(y_pred)[:1] != (0,) and has_weight:
        return False
    check_consistent_length(y_pred, sensitive_features, sample_weight)
    return True


class Batch(NamedTuple):
    """Predictions as the constraint uses them.

    `late_ids` are those of samples that are counted later, or None. `has_outcomes` is whether the
    cohort has its outcomes.
    """

    late_ids: list | None
    cohort: Cohort
    has_outcomes: bool


def make_audit(
    settings: MonitorSettings,
    y_true: TableLike | None,
    y_pred: TableLike | None,
    sensitive_features: TableLike | SensitiveFeatures,
    sample_weight: TableLike | None,
) -> Audit:
    """The audit of a batch, of which at least one sample has a positive weight."""
    return Audit.from_columns(
        {"y_pred": y_pred, "y_true": y_true, "sample_weight": sample_weight},
        as_sensitive_features(sensitive_features),
        task="classification" if settings.constraint.counts_decisions else "regression",
        pos_label=settings.pos_label if settings.constraint.counts_decisions else None,
        burden=settings.burden,
        min_group_size=settings.min_group_size,
    )


def check_audit(settings: MonitorSettings, audit: Audit) -> None:
    """Raise for an audit of which a monitor with these settings would answer another question."""
    refuse_clusters(audit.clusters, "a monitor")
    positive = 1 if settings.pos_label is None else settings.pos_label
    named = audit.pos_label if "y_pred" in audit.columns else None
    pairs = {
        "min_group_size": (audit.min_group_size, settings.min_group_size),
        "pos_label": (positive if named is None else named, positive),
        "burden": (audit.burden is not None, settings.burden),
    }
    for name, (passed, required) in pairs.items():
        if passed != required:
            raise ValueError(
                f"{name} of an audit must be that of the monitor, which is {required!r}, but is "
                f"{passed!r}. Pass {name}={passed!r} to the monitor before its first batch, or "
                "make the audit again."
            )
    if audit.known.is_modelled:
        raise ValueError(
            f"A monitor counts samples of known groups, but {audit.known.argument} models them. "
            "Pass missing='exclude' or 'group' to SensitiveFeatures."
        )


def read_batch(
    settings: MonitorSettings,
    row: Any,
    state: Any,
    audit: Audit,
    ids: TableLike | None,
    X: TableLike | None,
) -> Batch:
    """The batch of an audit; `ids` are of all rows that were passed, `X` of its samples.

    Of attributes the state has the names, in the order of the first batch, and the bins.
    """
    if not audit.samples.groups.is_disjoint:
        raise argument_error(
            "sensitive_features must have one column per attribute, but a sparse matrix of "
            "overlapping groups was passed. To compare the values of each attribute, pass the "
            'columns and attributes="each" to the constraint.'
        )
    if audit.n_without_outcome:
        raise argument_error(
            "y_true must hold the outcomes of all samples of a batch, or be None, but "
            f"{audit.n_without_outcome} are missing. Pass None with ids, and the outcomes that are "
            "known to update_labels."
        )
    audit.warn_of_integers()
    groups = audit.unbinned
    if state.attributes is not None:
        groups = order_attributes(groups, state.attributes, "the first batch")
    samples, columns, rows = audit.regroup(bin_groups(groups, state.bins)).list_samples()
    ids = _select_ids(audit, ids, rows)
    # Scores and target of the present samples, in groups by the attributes of the first batch.
    constraint = settings.constraint
    check_task(constraint, audit.task == "regression")
    y_true = columns.get("y_true")
    if y_true is not None:
        refuse_sets_metric(constraint.compared_rate)
    y_pred = None if constraint.counts_decisions else columns.get("y_score")
    y_pred = audit.find_decisions(columns) if y_pred is None else y_pred
    # Losses are of the decision function, where an audit has probabilities.
    if metric_kind(constraint) == "labelled_margin" and audit.model and "y_score" in columns:
        model = audit.model
        (((_, y_pred), _),) = predict_for_metric(
            model.estimator, constraint, model.X, model.y, model.sensitive_features, audit.pos_label
        )
        y_pred = y_pred[audit.is_used][rows]
    scores = to_scores(constraint, y_pred, y_true, settings.pos_label)
    is_known = y_true is not None
    target = np.ones(len(scores))
    if y_true is not None:
        target = to_target(constraint, y_true, settings.pos_label)
    samples = samples._replace(
        target=target,
        weights=_scale_weights(samples.weights, settings.max_weight),
        X=None if X is None else safe_indexing(X, rows),
    )
    cohort = Cohort(row.time, samples, scores)
    late_ids = None
    if not (is_known and settings.delay is None):
        use = outcome_use(constraint, samples)
        if use != "nothing":
            _check_late_outcomes(settings, use, ids, X, is_known)
            # Outcomes may be known of a cohort that is not complete.
            numbered = (f"batch {row.number}, sample {i}" for i in range(len(scores)))
            late_ids = [*numbered] if ids is None else ids
    if late_ids is not None and is_known:
        evaluate_cohort(settings, cohort)  # raises if a value is out of range
    return Batch(late_ids, cohort, is_known)


def _select_ids(audit: Audit, ids: TableLike | None, rows: np.ndarray) -> list[int | str] | None:
    """The ids of the samples that are counted, which are those of all rows that were passed."""
    if ids is None:
        return None
    if audit.samples.groups.multiplicity is not None:
        raise argument_error(
            "ids name single samples, but this audit is of a table of counts. Pass the samples one "
            "by one, to Audit.from_predictions, or outcomes with the counts."
        )
    ids = check_identifiers(ids, "ids")
    check_exact_labels(ids, "ids")
    check_consistent_length(audit.is_used, ids)
    return ids[audit.is_used][rows].tolist()


def _scale_weights(weights: np.ndarray, max_weight: float) -> np.ndarray:
    """Weights as probabilities of being drawn."""
    if (weights > max_weight).any():
        raise argument_error(
            "max_weight must be the largest weight that can occur, since weights are compared with "
            f"it, but it is {max_weight:g} and one in sample_weight is {weights.max():g}. Create "
            "the monitor with a larger one."
        )
    return weights / max_weight


def _check_late_outcomes(
    settings: MonitorSettings,
    use: str,
    ids: list[int | str] | None,
    X: TableLike | None,
    is_known: bool,
) -> None:
    """Raise for samples that are to be counted later, if there is no way to count them."""
    name = type(settings.constraint).__name__
    if ids is None and not is_known:
        raise argument_error(
            f"y_true must hold the outcomes, on which {name} depends. If they come later, pass ids "
            "now and call update_labels then, or to a command --delay or --outcome-date."
        )
    if use == "values" and settings.delay is None:
        raise argument_error(
            f"delay must be the longest time until an outcome is known: {name} averages a function "
            "of the outcome, outcomes that come early are no random sample of all, and with it "
            "whole cohorts are counted. Create the monitor with it."
        )
    if X is not None:
        raise argument_error(
            "X cannot be passed with outcomes that come later, since features are not kept; "
            "call update when the outcomes are known."
        )


def evaluate_cohort(
    settings: MonitorSettings, cohort: Cohort
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Cells of a cohort, and the values that are averaged, as numbers between 0 and 1."""
    cells, values = evaluate_cells(settings.constraint, cohort.samples, cohort.scores)
    inside = np.any(list(cells.values()), axis=0)
    # What is outside of all cells is not averaged, and need not be in range.
    scaled = np.zeros(len(values))
    scaled[inside] = scale_values(settings, values[inside])
    return cells, scaled


def to_scores(
    constraint: Constraint, y_pred: np.ndarray, y_true: np.ndarray | None, pos_label: Label | None
) -> np.ndarray:
    """Scores that the constraint decides on: -1 and +1 for classes, else the numbers themselves."""
    if not constraint.counts_decisions:
        return to_numbers(y_pred, "y_pred")
    columns = [y_pred] if y_true is None else [y_pred, y_true]
    positive = find_positive(*columns, pos_label=pos_label)
    return np.where(y_pred == positive, 1.0, -1.0)


def to_target(constraint: Constraint, y_true: np.ndarray, pos_label: Label | None) -> np.ndarray:
    """Classes as -1 and +1; real targets as they are."""
    if pos_label is None and _takes_numbers(constraint, y_true):
        return to_numbers(y_true, "y_true")
    return np.where(y_true == find_positive(y_true, pos_label=pos_label), 1.0, -1.0)


def _takes_numbers(constraint: Constraint, y_true: np.ndarray) -> bool:
    """Whether a constraint takes outcomes as numbers, and not as classes.

    Losses of numbers alone and functions of one's own do. Means and the squared error take -1 and
    1, 0 and 1, and text as classes, as fits do.
    """
    loss = getattr(constraint, "loss", None)
    if constraint.applies_to == ("numbers",):
        return True
    if "numbers" not in constraint.applies_to or (hasattr(constraint, "loss") and loss is None):
        return False
    if callable(loss) or (loss is not None and "classes" not in loss_targets(loss)):
        return True
    values = set(np.unique(y_true).tolist())
    is_number = all(isinstance(one, Real) for one in values)
    return is_number and not any(values <= pair for pair in CONVENTIONAL_LABELS)


def attribute_codes(
    groups: Groups, attributes: str
) -> Iterator[tuple[str, np.ndarray, list[GroupName]]]:
    """For each comparison its name, and the code of each sample with the names of the groups.

    `attributes` is the constraint's: "each" compares the values of every attribute separately.
    """
    if attributes == "intersections" or groups.labels.shape[1] == 1:
        name = ", ".join(map(str, groups.attributes)) if groups.attributes != [0] else "group"
        yield name, groups.codes, groups.names
        return
    for attribute, column in zip(groups.attributes, groups.labels.T, strict=True):
        values, codes = sort_labels(column)
        yield str(attribute), codes[groups.codes], values.tolist()


def refuse_many_decimals(groups: list[GroupName]) -> None:
    """Raise for a measurement that the first batch has not divided into bins."""
    labels = [one if isinstance(one, tuple) else (one,) for one in groups]
    for column in zip(*labels, strict=True):
        numbers = {one for one in column if isinstance(one, Real)}
        if len(numbers) > MAX_NUMERIC_GROUPS and any(one % 1 for one in numbers):
            raise argument_error(
                f"sensitive_features must have at most {MAX_NUMERIC_GROUPS} numbers with decimals "
                f"in all batches, but has {len(numbers)}, from {min(numbers):g} to "
                f"{max(numbers):g}. The first batch had so few that they are no bins, and a "
                "monitor keeps its first ones. Begin another with a larger batch, or pass "
                "SensitiveFeatures with bins, such as bins={'age': [40, 65]}."
            )


def check_label_types(
    known: list[GroupName],
    names: list[GroupName],
) -> None:
    """Raise for groups whose labels are of another type than those of earlier batches."""
    labels = [name if isinstance(name, tuple) else (name,) for name in (*known, *names)]
    check_attribute_label_types(labels)


def sort_samples(
    codes: np.ndarray, values: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The columns in an order that does not depend on that of the batch."""
    order = np.lexsort((weights, values, codes))
    return codes[order], values[order], weights[order]


def make_generator_from_key(*key: Any) -> np.random.Generator:
    """Random generator of samples: any data have an order of their own, which repeats with them.

    A seed that depended on sizes alone would give all data of equal sizes one order, and the blocks
    of sorted samples would be functions of one count.
    """
    digest = blake2b(digest_size=16)
    for part in key:
        is_array = isinstance(part, np.ndarray)
        digest.update((part + 0.0).astype("<f8").tobytes() if is_array else f"{part!r};".encode())
    return np.random.default_rng(int.from_bytes(digest.digest()))


def count_by_group(
    codes: np.ndarray, values: np.ndarray, weights: np.ndarray, n_groups: int
) -> np.ndarray:
    """Counts, weights and weighted sums of values by group, (3, n_groups)."""
    columns = (None, weights, weights * values)
    return np.array([np.bincount(codes, one, n_groups) for one in columns], dtype=float)


def draw_blocks(
    codes: np.ndarray,
    values: np.ndarray,
    weights: np.ndarray,
    n_groups: int,
    n_known: int,
    rng: np.random.Generator,
) -> Iterator[np.ndarray]:
    """Counts and sums by group, (2, n_groups), of random blocks of sorted samples.

    A sample of weight w is drawn with probability w: those drawn are a sample without weights of
    the weighted population. The order is random, and no block is larger than the number of samples
    that are known before it, so that a large batch is not spent on the first predictions.
    """
    rows = np.arange(len(codes))
    if not (weights == 1.0).all():
        rows = rows[rng.random(len(rows)) < weights]
    edges = []
    size = max(n_known, MIN_BLOCK)
    if size < len(rows):
        rows = rng.permutation(rows)
    while size < len(rows):
        edges.append(size)
        size += n_known + size
    for block in np.split(rows, edges):
        columns = (None, values[block])
        yield np.array([np.bincount(codes[block], one, n_groups) for one in columns], dtype=float)


# Values that are averaged, as numbers between 0 and 1.


def is_floor(settings: MonitorSettings) -> bool:
    """Whether values are counted from the largest one, since the bound is from below."""
    return settings.constraint.gap.form == "floor"


def state_gaps(settings: MonitorSettings, table: pd.DataFrame) -> pd.DataFrame:
    """A table of gaps and limits as they are stated: of a floor the smallest mean."""
    if not is_floor(settings):
        return table
    columns = table.columns.intersection(["batch_gap", "gap", "low", "high"])
    stated = settings.constraint.largest_gap - table[columns]
    return table.assign(**stated.rename(columns={"low": "high", "high": "low"}))


def scale_values(settings: MonitorSettings, values: np.ndarray) -> np.ndarray:
    """Values that are averaged, as numbers between 0 and 1; those of a floor from the top."""
    low, high = settings.range
    if not ((values >= low) & (values <= high)).all():
        wrong = values[~((values >= low) & (values <= high))][0]
        raise ValueError(
            f"Values that are averaged must be in value_range={low, high}, since a mean of "
            f"unbounded values cannot be monitored, but one is {wrong:g}. Pass a wider range, "
            "a bounded loss, or clip the predictions."
        )
    scaled = (values - low) / (high - low)
    return 1.0 - scaled if is_floor(settings) else scaled


def unscale_mean(settings: MonitorSettings, mean: float) -> float:
    """A mean of scaled values in units of the values."""
    low, high = settings.range
    return float(low + (1.0 - mean if is_floor(settings) else mean) * (high - low))
