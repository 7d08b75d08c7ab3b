"""Reports of changes: two models on the same samples, or two periods."""

from __future__ import annotations

import re
from collections.abc import Sized
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import pandas as pd
from sklearn.utils import check_consistent_length

from skfair._columns.reading import Folded, Reading, normalize_ids
from skfair._groups.groups import attribute_columns, attribute_names
from skfair._groups.samples import Samples, check_metric_input
from skfair._statistics.estimates import change_upper_limit, check_level, contrast_matrix
from skfair._statistics.group_estimates import estimate_means
from skfair._utils.checks import argument_error, check_column, join_names, refuse_clusters, warn
from skfair.audit._data import is_audit
from skfair.audit._formats import (
    Markup,
    PageReport,
    Picture,
    collect_facts,
    tabulate_facts,
    titled_facts,
)
from skfair.audit._front import (
    find_axis,
    primary_metrics,
    select_headline_gap,
)
from skfair.audit._known_outcomes import KnownOutcomes, find_known_outcomes
from skfair.audit._protection import check_minimum, protect_periods
from skfair.audit._sections import find_left_out
from skfair.audit._sentences import (
    confidence_text,
    describe_metric,
    describe_quantity,
    describe_unpublished,
    left_out_clause,
    read_limited,
    small_groups_note,
    value_cell,
)
from skfair.audit._tables import (
    OVERALL,
    compared_contrasts,
    differences_with_limits,
    group_text,
    groupings,
    missing_attribute_mask,
    needs_outcome,
)
from skfair.audit._task_metrics import find_positive_label, infer_task, metric_estimators
from skfair.metrics import Rate
from skfair.metrics._group_metrics import find_group_metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scipy import sparse

    from skfair._groups.groups import Groups
    from skfair._statistics.estimates import Estimates
    from skfair._utils.api import Label
    from skfair._utils.tables import Table, TableLike
    from skfair.audit._data import AuditData
    from skfair.audit._sentences import Quantity
    from skfair.metrics._group_report import Metrics


# The report of two models or two periods.


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Changes(PageReport):
    """Rates and gaps of two models, or of two periods, with their changes, as of `Audit.compare`.

    ``frame`` has a row for each metric of each group that both have, ``others`` of groups that one
    of them has and of all samples, ``gaps`` one for each metric of each
    attribute, and ``moves`` the numbers of decisions that changed, None for different samples. A
    change ``is_significant`` by Holm's procedure over all gaps, if that of a pair of its groups is
    by Holm's procedure over all pairs of all gaps, and its ``verdict`` is "larger", "smaller",
    "open" or, where no two groups are compared, empty. ``grown`` names the two groups whose
    difference grew most among the pairs that are shown, and is None without any; ``adjusted_low``
    and ``adjusted_high`` are the limits of a change that is not shown, at the level which Holm's
    procedures leave to it; ``pair_before``,
    ``pair_after``, ``pair_change``, ``pair_low`` and ``pair_high`` are of the first less the
    second, with limits that hold by themselves. ``uncompared`` has the groups of
    each attribute that have samples in one period only, with their numbers in both. ``readings``
    are what was read of both, or of the same samples, and ``n_shared`` are the numbers of samples
    that are in both by their ids, in the first alone and in the second alone. ``unpublished`` says
    what `min_published` keeps back, and ``known_outcomes`` which rates are left out since outcomes
    are missing by decision, or that it ``weighs_outcomes`` by decision. ``has_equal_rows``
    says whether both look like the same samples though they are compared as different ones.
    """

    frame: pd.DataFrame
    others: pd.DataFrame
    gaps: pd.DataFrame
    moves: pd.DataFrame | None
    names: tuple[str, str]
    is_paired: bool
    n_shared: list[int]
    confidence_level: float
    min_group_size: int
    source: dict[str, str]
    uncompared: dict[str, dict[str, list[int]]]
    readings: list[Reading]
    unpublished: str = ""
    known_outcomes: list[str] = field(default_factory=list)
    weighs_outcomes: bool = False
    has_equal_rows: bool = False

    title = "Change report"
    _settings = (
        *("title", "names", "is_paired", "has_equal_rows", "confidence_level", "min_group_size"),
        *("unpublished", "weighs_outcomes"),
    )
    _results = (
        "known_outcomes",
        "findings",
        "source",
        "frame",
        "others",
        "gaps",
        "moves",
        "uncompared",
        "readings",
        "n_shared",
    )

    @property
    def findings(self) -> list[str]:
        """The main results, one sentence each."""
        first, *others = change_findings(self)
        return [first, *filter(None, dict.fromkeys(self.known_outcomes)), *others]

    @property
    def has_finding(self) -> bool:
        """Whether a gap, or the difference of two groups, is shown to be larger than before."""
        is_larger = (self.gaps["verdict"] == "larger") | self.gaps["grown"].notna()
        return bool(is_larger.any())

    def to_frame(self) -> pd.DataFrame:
        """All rates before and after, with their changes, as a table."""
        return self.frame.copy()

    def _headline(self) -> str:
        """The finding that sets the exit status; else the change of the widest gap in outcomes."""
        gaps = self.gaps.dropna(subset=["change"])
        is_larger = (gaps["verdict"] == "larger") | gaps["grown"].notna()
        primary = gaps["metric"].isin(primary_metrics(gaps))
        gaps = (
            gaps[is_larger & (primary | ~(is_larger & primary).any())]
            if is_larger.any()
            else gaps[primary]
        )
        gap = select_headline_gap(gaps.assign(size=gaps["change"].abs()), "size")
        if gap is None:
            return self.title
        if gap["grown"] is not None and not gap["is_significant"]:
            return _describe_grown_difference(gap)
        return _describe_change(self, gap).partition(";")[0]

    def _sections(self) -> Iterator[tuple[str, list]]:
        return change_sections(self)

    def __repr__(self) -> str:
        before, after = self.names
        return f"<Changes from {before} to {after}: gaps compared: {len(self.gaps)}>"


class _Periods(NamedTuple):
    """Samples of both periods, their columns, the period of each, its unit and cluster or None."""

    samples: Samples
    columns: dict
    period: np.ndarray
    units: np.ndarray | None
    clusters: np.ndarray | None = None

    def restrict(self, rows: np.ndarray) -> _Periods:
        """The samples at some positions."""
        samples, columns, period, units, _ = self
        groups = samples.groups.take(rows)
        weights = samples.weights[rows]
        samples = samples._replace(groups=groups, weights=weights)
        columns = {name: column[rows] for name, column in columns.items()}
        return _Periods(samples, columns, period[rows], None if units is None else units[rows])


def compare_audits(
    before: AuditData,
    after: Table | AuditData,
    metrics: Metrics,
    confidence_level: float,
    ids: tuple | list[np.ndarray] | None = None,
    min_published: int | None = None,
) -> Changes:
    """The changes between two audits, or of an audit and predictions of another model."""
    level = check_level(confidence_level)
    if before.known.is_modelled:
        raise ValueError(
            f"Changes are of known groups, but {before.known.argument} models them. Pass "
            "missing='exclude' or missing='group', or compare reports of both."
        )
    other = after if is_audit(after) else before
    is_one_audit = not is_audit(after)
    is_empty = isinstance(metrics, Sized) and not len(metrics)
    further = {} if is_empty else find_group_metrics(metrics)
    others = [name for name, one in further.items() if not isinstance(one, Rate)]
    if others:
        raise argument_error(
            f"metrics of a change must be rates, but {join_names(others)} is none; pass a "
            "skfair.metrics.Rate, or report each model by itself (FairnessReport)."
        )
    if ids is None:
        ids_before = before.ids
        ids_after = getattr(after, "ids", None)
    else:
        ids_before, ids_after = _check_ids((before, after), ids)
    if is_one_audit:
        both = [before.samples] * 2
        tables = _paired_columns(before, after)
        units: np.ndarray | None = np.tile(np.arange(len(before.samples.weights)), 2)
    else:
        before.check_same_burden(other)
        other = other.rebin(before)
        units = _match_ids(ids_before, ids_after)
        merged = [
            (one.samples, one.columns) if units is not None else one.rows()[:2]
            for one in (before, other)
        ]
        both = [samples for samples, _ in merged]
        tables = _period_columns((before, other), [columns for _, columns in merged])
    audits = [before] if is_one_audit else [before, other]
    clusters = _match_clusters(before, other)
    periods = _stack_periods(both, tables, units)._replace(clusters=clusters)
    report = _report_changes(audits, periods, metrics, level)
    labels = (before.cluster_labels, other.cluster_labels)
    has_units = units is not None or not any(one is None for one in labels)
    if not has_units and _have_equal_rows(before, other):
        warn(
            "Both look like the same samples, since outcomes, groups and weights are equal row by "
            "row. If they are, pass the decisions of the second in place of its audit, or ids of "
            "both (in a shell --id): limits of changes of the same samples are narrower."
        )
        report = replace(report, has_equal_rows=True)
    if min_published is None:
        return report
    return _protect_changes(report, audits, periods, metrics, check_minimum(min_published))


_MIN_RUNS = 20
"""Runs of equal rows from which it is no chance that two audits have equal rows: files that are
sorted by group and outcome may have them."""


def _have_equal_rows(before: AuditData, after: AuditData) -> bool:
    """Return whether outcomes, groups and weights of two audits are equal row by row."""
    samples = [before.samples, after.samples]
    if any(one.groups.multiplicity is not None for one in samples):
        return False
    if len(samples[0].weights) != len(samples[1].weights):
        return False
    tables = []
    for audit in (before, after):
        table = _attribute_table(audit.samples.groups).astype(object)
        table["sample_weight"] = audit.samples.weights
        for name in ("y_true", "has_outcome"):
            if name in audit.columns:
                table[name] = audit.columns[name]
        tables.append(table)
    first, second = tables
    if {*first} != {*second} or not first.equals(second[[*first]].astype(first.dtypes)):
        return False
    is_other = (first != first.shift()).any(axis=1)  # than the row before
    return int(is_other.sum()) >= _MIN_RUNS


def _report_changes(
    audits: list[AuditData], periods: _Periods, metrics: Metrics, level: float
) -> Changes:
    """The changes between the samples of two periods."""
    samples, columns, period, units, clusters = periods
    estimators, positive = _find_estimators(audits[0], columns, metrics)
    outcomes = [one.known_outcomes for one in audits if one.known_outcomes is not None]
    weighs_outcomes = _can_weigh(outcomes)
    if weighs_outcomes:
        further = find_group_metrics(metrics) if len(metrics) else {}
        estimators = _weigh_outcomes(audits, periods, estimators, further)
    else:
        for one in outcomes:
            estimators = one.leave_out(estimators, decides_otherwise=len(audits) == 1)
    by = groupings(samples.groups)
    min_size = audits[0].min_group_size
    takes_missing = audits[0].known.treatment == "group"
    frame, gaps = tabulate_changes(
        estimators,
        by | {OVERALL: next(iter(by.values())).merge(OVERALL)},
        period,
        samples.weights,
        units=units if clusters is None else clusters,
        level=level,
        min_group_size=min_size,
        takes_missing=takes_missing,
    )
    is_other = (frame["attribute"] == OVERALL) | (frame[["n_before", "n_after"]] == 0).any(axis=1)
    moves = None
    if units is not None and positive is not None:
        moves = count_changed_decisions(by, columns["y_pred"] == positive, period, units)
        moves = moves if moves["n"].any() else None  # no sample is shared
    return Changes(
        frame=frame[~is_other].reset_index(drop=True),
        others=frame[is_other].reset_index(drop=True),
        gaps=gaps,
        moves=moves,
        names=("before", "after"),
        is_paired=units is not None,
        n_shared=_count_shared(period, units),
        confidence_level=level,
        min_group_size=min_size,
        source=_collect_sources(audits, positive),
        uncompared=_list_uncompared(by, period, takes_missing),
        readings=[one.reading for one in audits],
        known_outcomes=[
            one.describe_left_out()
            if one.are_weighted and not weighs_outcomes
            else one.describe_report()
            for one in outcomes
        ],
        weighs_outcomes=weighs_outcomes,
    )


def _can_weigh(outcomes: list[KnownOutcomes]) -> bool:
    """Return whether some outcomes are weighed by decision, and those of no period are not known.

    Outcomes that count as they are may be weighed, too, unless the user says that they must not.
    """
    may_be = [one.missing is None and one.are_counted_as_they_are for one in outcomes]
    are_weighted = [one.are_weighted for one in outcomes]
    return any(are_weighted) and all(np.logical_or(may_be, are_weighted))


def _weigh_outcomes(
    audits: list[AuditData], periods: _Periods, estimators: dict[str, Callable], further: dict
) -> dict[str, Callable]:
    """Return the estimators of both periods that weigh outcomes by the decision that was made."""
    both = _find_both(audits[0], periods)
    if len(audits) == 2:
        return both.select(estimators, further)
    # Two models of the same samples, which are the first half of the rows, and the second.
    rows = np.arange(len(periods.period) // 2)
    one = _find_both(audits[0], periods.restrict(rows))
    other = periods.columns["y_pred"][len(rows) :]

    def weigh(rate: Rate, label: Label | None) -> Callable | None:
        if label is None:  # the decisions of both models between more than two classes
            return None
        return partial(_estimate_pair, one, rate, label, other, periods.clusters)

    return both.select(estimators, further, weigh)


def _find_both(audit: AuditData, periods: _Periods) -> KnownOutcomes:
    """Return which samples of periods have an outcome, by the decision that was made."""
    columns = dict(periods.columns)
    if audit.task != "classification":  # predictions are no decisions
        del columns["y_pred"]
    known = find_known_outcomes(periods.samples, columns, audit.pos_label, "by_decision")
    return cast("KnownOutcomes", known)  # some outcomes are missing


def _estimate_pair(
    outcomes: KnownOutcomes,
    rate: Rate,
    label: Label,
    other: np.ndarray,
    clusters: np.ndarray | None,
    groups: Groups,
    weights: np.ndarray,
    units: np.ndarray,
) -> tuple[Estimates | None, np.ndarray]:
    """Return rates of groups by two models of the same samples, and the codes of these groups.

    `groups` are of the rows of both models, with as many groups of each.
    """
    rows = np.arange(len(other))
    labels = groups.labels[: len(groups.labels) // 2]  # of groups by the first model
    first = groups.regroup(groups.codes, labels).subset(rows)
    within = None if clusters is None else clusters[rows]
    return outcomes.estimate_models(rate, label, first, other, within)


def _find_estimators(
    audit: AuditData, columns: dict[str, np.ndarray], metrics: Metrics
) -> tuple[dict[str, Callable], Label | None]:
    """Estimators of the rates of two periods by name, and the positive label."""
    task = infer_task(audit.task, columns)
    positive = find_positive_label(task, columns, audit.pos_label)
    return metric_estimators(task, columns, positive, metrics), positive


def _protect_changes(
    every: Changes,
    audits: list[AuditData],
    periods: _Periods,
    metrics: Metrics,
    min_published: int,
) -> Changes:
    """The changes of all samples, without numbers that show small counts."""
    samples, columns, period, units, clusters = periods
    refuse_clusters(clusters, "min_published")
    estimators, _ = _find_estimators(audits[0], columns, metrics)
    if "has_outcome" in columns:  # numbers of unknown outcomes are counts, too
        estimators["has_outcome"] = partial(estimate_means, columns["has_outcome"], None)
        if every.weighs_outcomes and len(audits) == 1:
            raise argument_error(
                "min_published must be left out where outcomes are weighed by the decisions of two "
                "models, whose counts it does not protect. Report each model by itself."
            )
        if every.weighs_outcomes:
            estimators |= _find_both(audits[0], periods).list_counts()
    # Samples in both periods are counted by themselves.
    parts = period if units is None else period + 2 * (np.bincount(units)[units] > 1)
    by = groupings(samples.groups)
    hides_moves = bool(parts.max() > 1)
    may_add = units is None
    if hides_moves and every.moves is not None:
        may_add = 0 in every.moves[["n_gained", "n_lost"]].sum().tolist()
    protection = protect_periods(estimators, by, min_published, parts, may_add)
    counted = periods.restrict(protection.find_counted(samples.groups))
    report = _report_changes(audits, counted, metrics, every.confidence_level)
    verdicts = ["is_significant", "verdict"]
    gaps, _ = protection.hide_gaps(report.gaps, every.frame, every.gaps, verdicts)
    frame = report.frame[~protection.mask(report.frame)].reset_index(drop=True)
    # Totals would show the groups that are hidden.
    is_hidden = protection.mask(report.others) | (report.others["attribute"] == OVERALL)
    others = report.others[~is_hidden].reset_index(drop=True)
    unpublished = [protection.clause] * bool(protection.clause)
    if hides_moves:
        # Limits of changes depend on how many decisions of a group changed.
        for table in (frame, others, gaps):
            limits = ["change_low", "change_high", "pair_low", "pair_high", *_ADJUSTED_COLUMNS]
            table[table.columns.intersection(limits)] = np.nan
        unpublished.append("numbers of changed decisions, with the limits of changes")
    hidden, counts = protection.hidden, counted.samples.groups.row_counts
    n_samples = np.bincount(counted.period, counts, 2).astype(int).tolist()
    pairs = zip(audits, n_samples, strict=False)
    readings = [one.reading.protect(n, hidden) for one, n in pairs]
    for name, groups in hidden.items():
        listed = report.uncompared.pop(name, {})
        if listed := {group: sizes for group, sizes in listed.items() if group not in groups}:
            report.uncompared[name] = listed
    source = {name: one for name, one in report.source.items() if name != "sha256"}
    changed = {
        "frame": frame,
        "others": others,
        "gaps": gaps,
        "moves": None,
        "source": source,
        "readings": readings,
    }
    return replace(report, **changed, unpublished=join_names(unpublished, len(unpublished)))


def _check_ids(
    audits: Sequence[AuditData | Table], ids: tuple | list[np.ndarray]
) -> list[np.ndarray]:
    """The ids of the samples that count, of two audits of single samples; raise for others."""
    used = [
        one.is_used
        for one in audits
        if is_audit(one) and hasattr(one, "is_used") and one.samples.groups.multiplicity is None
    ]
    n_rows = [len(mask) for mask in used]
    if isinstance(ids, str) or any(np.ndim(one) != 1 for one in ids):
        raise argument_error(
            "ids must be a pair of lists: the names of the rows of both audits, or None; got "
            f"{ids!r}."
        )
    sizes = [len(one) for one in ids]
    if len(n_rows) != 2 or sizes != n_rows:
        raise argument_error(
            "ids must hold a name for each row of two audits of single samples, but has "
            f"{join_names(map(str, sizes))} names, where these audits have "
            f"{join_names(map(str, n_rows))} rows. Pass the names of all rows, or leave ids out."
        )
    return [np.asarray(one)[mask] for mask, one in zip(used, ids, strict=True)]


def _match_ids(before: np.ndarray | None, after: np.ndarray | None) -> np.ndarray | None:
    """Numbers of the samples of two audits, equal where both have an id once; None without ids.

    Raise if no id is in both, and warn if more ids were without the zeros that they begin with.
    """
    if before is None or after is None:
        return None
    both = [normalize_ids(pd.Series(one)) for one in (before, after)]
    units = _number_ids(*both)
    stripped = _number_ids(*(one.str.replace(r"^0+(?=\d)", "", regex=True) for one in both))
    n_lost = len(np.unique(units)) - len(np.unique(stripped))
    hint = (
        f"{n_lost:,} more ids would be in both without the zeros that they begin with, which some "
        "programs drop, as in 7 for 007. Store ids as text."
    )
    if len(np.unique(units)) == len(units):
        examples = " and ".join(repr(one.get(one.first_valid_index())) for one in both)
        raise argument_error(
            f"ids must name samples of both audits, but none, such as {examples}, occurs once in "
            f"both. {hint if n_lost > 0 else 'Different samples are compared without ids.'}"
        )
    if n_lost > 0:
        warn(hint)
    return units


def _number_ids(first: pd.Series, second: pd.Series) -> np.ndarray:
    """Numbers of the samples of two columns of ids, equal where both have an id once."""
    is_once = ~first.duplicated(keep=False) & first.notna()
    once = pd.Series(np.arange(len(first)), first)[is_once.to_numpy()]
    shared = once.reindex(second).where(~second.duplicated(keep=False).to_numpy()).to_numpy()
    others = len(first) + np.arange(len(second))
    units = np.where(np.isnan(shared), others, shared)
    return np.append(np.arange(len(first)), units.astype(np.intp))


def _match_clusters(before: AuditData, after: AuditData) -> np.ndarray | None:
    """Codes of the clusters of the samples of two audits, of equal labels equal.

    None if all samples of both are in clusters of their own.
    """
    audits = (before, after)
    has_clusters = any(one.clusters is not None for one in audits)
    labels = [one.cluster_labels for one in audits if one.cluster_labels is not None]
    if len(labels) < 2:
        if has_clusters:
            refuse_clusters(labels, "one of two audits alone")
        return None
    codes, distinct = pd.factorize(np.concatenate(labels))
    return codes if has_clusters or len(distinct) < len(codes) else None


def _count_shared(period: np.ndarray, units: np.ndarray | None) -> list[int]:
    """Numbers of samples in both, in the first alone and in the second; [] without units."""
    if units is None:
        return []
    sizes = np.bincount(period, minlength=2)
    n_shared = len(units) - len(np.unique(units))
    return [n_shared, *(sizes - n_shared).tolist()]


def _list_uncompared(
    by: dict[str, Groups], period: np.ndarray, takes_missing: bool
) -> dict[str, dict[str, list]]:
    """Groups by attribute that one of two periods lacks, or that are unknown, with their sizes."""
    listed: dict = {}
    for attribute, groups in by.items():
        counts = groups.row_counts * np.ones(len(period))
        is_unknown = missing_attribute_mask(groups) & (not takes_missing)
        for code, name in enumerate(groups.names):
            inside = groups.codes == code
            sizes = [int(counts[inside & (period == one)].sum()) for one in (0, 1)]
            if 0 in sizes or is_unknown[code]:
                listed.setdefault(attribute, {})[group_text(name)] = sizes
    return listed


def _collect_sources(audits: list[AuditData], pos_label: Label | None) -> dict[str, str]:
    """Facts about both audits, where they differ one after the other."""
    sources = [one.source or {} for one in audits]
    joined = {
        name: "; ".join(dict.fromkeys(one[name] for one in sources if name in one))
        for name in dict.fromkeys(name for one in sources for name in one)
    }
    return collect_facts(joined, positive_label=pos_label)


def _paired_columns(audit: AuditData, y_pred: TableLike) -> list[dict[str, np.ndarray]]:
    """Predictions and outcomes of an audit, and the same with predictions of another model."""
    if audit.samples.groups.multiplicity is not None:
        raise ValueError(
            "Predictions of another model are compared sample by sample, but this is an audit of "
            "counts. Pass the Audit of the other counts, or audit the samples one by one."
        )
    check_column("after", y_pred)
    audit.check_index(after=y_pred)
    decisions = audit.find_decisions(audit.columns)
    after = np.asarray(y_pred).ravel()
    if len(after) == len(audit.is_used):  # rows of zero weight are left out
        after = after[audit.is_used]
    check_consistent_length(decisions, after)
    outcomes = audit.outcomes
    if "has_outcome" in outcomes:
        outcomes["decided"] = audit.columns.get("decided", decisions)
    return [outcomes | {"y_pred": one} for one in (decisions, after)]


def _period_columns(
    audits: tuple[AuditData, ...], columns: list[dict[str, np.ndarray]]
) -> list[dict[str, np.ndarray]]:
    """Predictions of each audit among its columns, and outcomes where both have them."""
    names = ["y_true", "has_outcome"] * all("y_true" in one for one in columns)
    if names and any(not one["has_outcome"].all() for one in columns if "has_outcome" in one):
        names.append("decided")
    tables = []
    for audit, one in zip(audits, columns, strict=True):
        decisions = audit.find_decisions(one)
        complete = {"has_outcome": np.ones(len(decisions), dtype=bool), "decided": decisions}
        known = complete | one
        tables.append({name: known[name] for name in names} | {"y_pred": decisions})
    return tables


def _stack_periods(
    both: list[Samples], tables: list[dict[str, np.ndarray]], units: np.ndarray | None
) -> _Periods:
    """The samples of both periods, one after the other."""
    sizes = [len(samples.weights) for samples in both]
    groups = stack_groups([_attribute_table(samples.groups) for samples in both])
    columns = {name: np.concatenate([one[name] for one in tables]) for name in tables[0]}
    columns["period"] = np.repeat([0, 1], sizes)
    if units is not None:
        columns["unit"] = units
    counts = np.concatenate(
        [samples.groups.row_counts * np.ones(n) for samples, n in zip(both, sizes, strict=True)]
    )
    weights = np.concatenate([samples.weights for samples in both])
    samples, arrays = check_metric_input(groups, weights, **columns)  # type: ignore[arg-type]
    columns = dict(zip(columns, arrays, strict=True))
    if (counts != 1.0).any():
        samples = samples._replace(groups=samples.groups.copy_with_multiplicity(counts))
    return _Periods(samples, columns, columns.pop("period"), columns.pop("unit", None))


def _attribute_table(groups: Groups) -> pd.DataFrame:
    """DataFrame of the attributes of samples, or of rows that stand for several."""
    names = attribute_names(groups)
    table = pd.DataFrame(dict(enumerate(attribute_columns(groups))))
    return table if names is None else table.set_axis(names, axis=1)


# Tables of both periods, and of the changes of gaps.


def tabulate_changes(
    estimators: dict[str, Callable],
    groupings: dict[str, Groups],
    period: np.ndarray,
    weights: np.ndarray,
    units: np.ndarray | None,
    level: float,
    min_group_size: int,
    takes_missing: bool,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """DataFrames of the rates of all groups in two periods, and of the changes of all gaps.

    `period` is 0 or 1 for each sample. Samples of equal code in `units` are the same in both; None
    if all are different. Samples with a missing attribute are a group if it `takes_missing`.
    """
    rows = []
    gaps = []
    compared_gaps = []
    compared_names = []
    for attribute, groups in groupings.items():
        n_groups = len(groups.labels)
        names = [group_text(name) for name in groups.names]
        is_known = ~missing_attribute_mask(groups) | takes_missing
        # Each group in each period is a group of its own.
        labels = np.vstack((groups.labels, groups.labels))
        both = groups.regroup(groups.codes + n_groups * period, labels)
        for metric, estimator in estimators.items():
            estimates, present = estimator(both, weights, units)
            if estimates is None:
                continue
            place = np.full(2 * n_groups, -1)
            place[present] = np.arange(len(present))
            places = place.reshape(2, n_groups)
            known = np.flatnonzero((places >= 0).all(axis=0) & is_known)
            columns = _change_columns(estimates, places[:, known], level)
            columns["is_small"] = columns[["n_before", "n_after"]].min(axis=1) < min_group_size
            is_small = columns["is_small"].to_numpy()
            # Groups of one period have values, and no change.
            alone = np.flatnonzero((places >= 0).any(axis=0) & (places < 0).any(axis=0) & is_known)
            if len(alone):
                further = _describe_groups_alone(estimates, places[:, alone], level)
                sizes = further[["n_before", "n_after"]].max(axis=1)
                further["is_small"] = sizes < min_group_size
                tables = [one for one in (columns, further) if len(one)]
                columns = pd.concat(tables, ignore_index=True)
            listed = [names[g] for g in (*known, *alone)]
            about = {"attribute": attribute, "group": listed, "metric": metric}
            rows.append(pd.DataFrame(about).join(columns))
            if attribute == OVERALL:
                continue
            compared = places[:, known[~is_small]]
            compared_gaps.append((estimates, compared))
            compared_names.append([names[g] for g in known[~is_small]])
            gap = _gap_change(estimates, compared, level)
            gaps.append({"attribute": attribute, "metric": metric} | gap)
    shown, n_pairs = _shown_pairs(compared_gaps, level)
    pairs = [
        _describe_grown_pair(*gap, names, one, level)
        for gap, names, one in zip(compared_gaps, compared_names, shown, strict=True)
    ]
    has_pair = np.array([one.any() for one in shown])
    gaps = pd.DataFrame(gaps).join(pd.DataFrame(pairs, columns=_PAIR_COLUMNS))
    gaps["grown"] = gaps["grown"].astype(object).where(gaps["grown"].notna(), None)
    has_change, n_gaps = _significant_changes(compared_gaps, level)
    gaps["is_significant"] = has_change & has_pair
    adjusted = [
        {} if is_significant else _adjust_limits(*gap, level, (n_gaps, n_pairs))
        for gap, is_significant in zip(compared_gaps, gaps["is_significant"], strict=True)
    ]
    gaps = gaps.join(pd.DataFrame(adjusted, columns=_ADJUSTED_COLUMNS, dtype=float))
    gaps["verdict"] = np.where(gaps["change"].isna(), "", "open")
    shown = gaps["is_significant"]
    gaps.loc[shown, "verdict"] = np.where(gaps["change"] > 0.0, "larger", "smaller")[shown]
    return pd.concat(rows, ignore_index=True), gaps


_PAIR_COLUMNS = ("grown", "pair_before", "pair_after", "pair_change", "pair_low", "pair_high")
"""Columns on the pair of groups whose difference grew most, of those that are shown."""

_ADJUSTED_COLUMNS = ("adjusted_low", "adjusted_high")
"""Columns of the limits of changes that are not shown, at the level which decided so."""


def _shown_pairs(
    compared_gaps: list[tuple[Estimates, np.ndarray]], level: float
) -> tuple[list[np.ndarray], int]:
    """Masks of the ordered pairs of each gap whose difference rose, by Holm's procedure over all.

    A difference that rose is one of the other order that fell: both orders are one hypothesis.
    The second result is the number of pairs that are not shown, among which the error is divided.
    """
    forms = [
        None if compared.shape[1] < 2 else np.subtract(*_pair_contrasts(estimates, compared))
        for estimates, compared in compared_gaps
    ]
    shown = [np.zeros(0 if one is None else one.shape[0], dtype=bool) for one in forms]
    n_pairs = n_remaining = sum(len(one) for one in shown) // 2
    while n_remaining:
        end = 1.0 - (1.0 - level) / (2.0 * n_remaining)
        for number, (estimates, _) in enumerate(compared_gaps):
            if len(shown[number]):
                shown[number] |= -estimates.upper(-forms[number], end) > 0.0  # type: ignore[operator]
        n_left = n_pairs - sum(int(one.sum()) for one in shown)
        if n_left == n_remaining:
            break
        n_remaining = n_left
    return shown, n_remaining


def _pair_contrasts(estimates: Estimates, compared: np.ndarray) -> list[sparse.csr_array]:
    """Differences of all ordered pairs of compared groups after and before."""
    return [compared_contrasts(estimates, at) for at in compared[::-1]]


def _describe_grown_pair(
    estimates: Estimates, compared: np.ndarray, names: list[str], is_shown: np.ndarray, level: float
) -> dict[str, float | tuple[str, str]]:
    """The shown pair whose difference grew most and is larger now, by name; {} without one."""
    if not is_shown.any():
        return {}
    after, before = _pair_contrasts(estimates, compared)
    differences = [form @ estimates.values for form in (before, after)]
    change = differences[1] - differences[0]
    is_grown = is_shown & (differences[1] > np.abs(differences[0]))
    if not is_grown.any():
        return {}
    at = np.where(is_grown, change, -np.inf).argmax()
    first, second = np.argwhere(~np.eye(len(names), dtype=bool))[at]
    end = (1.0 + level) / 2.0
    form = after[[at]] - before[[at]]
    low = -estimates.upper(-form, end)[0]
    high = estimates.upper(form, end)[0]
    grown = (names[first], names[second])
    values = (*(one[at] for one in differences), change[at], low, high)
    return dict(zip(_PAIR_COLUMNS, (grown, *map(float, values)), strict=True))


def _significant_changes(
    compared_gaps: list[tuple[Estimates, np.ndarray]], level: float
) -> tuple[np.ndarray, int]:
    """Mask of the changes of gaps whose limits exclude 0, by Holm's step-down procedure.

    The second result is the number of the other gaps, among which the error is divided.
    """
    is_significant = np.zeros(len(compared_gaps), dtype=bool)
    remaining = {n for n, (_, compared) in enumerate(compared_gaps) if compared.shape[1] > 1}
    while remaining:
        each = 1.0 - (1.0 - level) / len(remaining)
        excluded = set()
        for number in remaining:
            change = _gap_change(*compared_gaps[number], each)
            if change["change_low"] > 0.0 or change["change_high"] < 0.0:
                excluded.add(number)
        if not excluded:
            break
        is_significant[list(excluded)] = True
        remaining -= excluded
    return is_significant, len(remaining)


def _adjust_limits(
    estimates: Estimates, compared: np.ndarray, level: float, n_tests: tuple[int, int]
) -> dict[str, float]:
    """Return limits that contain 0 of a change which is not shown, as adjusted for many tests.

    `n_tests` are the gaps and the pairs of groups that are not shown. A change is not shown if
    limits at the level of the one or the other contain 0.
    """
    for n in filter(None, n_tests):
        change = _gap_change(estimates, compared, 1.0 - (1.0 - level) / n)
        low, high = change["change_low"], change["change_high"]
        if not (low > 0.0 or high < 0.0):
            break
    else:
        return {}
    return dict(zip(_ADJUSTED_COLUMNS, (low, high), strict=True))


def stack_groups(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """DataFrame of the attributes of two periods, which must be the same."""
    first, second = tables
    if first.shape[1] != second.shape[1] or set(first) != set(second):
        raise ValueError(
            "Both periods must have the same sensitive features, but one has "
            f"{list(first)} and the other {list(second)}; pass the same columns."
        )
    return pd.concat([first, second[list(first)]], ignore_index=True)


def count_changed_decisions(
    groupings: dict[str, Groups], is_positive: np.ndarray, period: np.ndarray, units: np.ndarray
) -> pd.DataFrame:
    """DataFrame of the numbers of samples of each group, of those in both, that changed."""
    numbers = [np.flatnonzero(period == one) for one in (0, 1)]
    before, after = (units[one] for one in numbers)
    _, *places = np.intersect1d(before, after, return_indices=True)
    first, second = (one[place] for one, place in zip(numbers, places, strict=True))
    before, after = is_positive[first], is_positive[second]
    rows = []
    for attribute, groups in groupings.items():
        codes = groups.codes[first]
        for code, name in enumerate(groups.names):
            inside = codes == code
            gained, lost = (int((inside & one).sum()) for one in (after & ~before, before & ~after))
            moved = {"n": int(inside.sum()), "n_gained": gained, "n_lost": lost}
            rows.append({"attribute": attribute, "group": group_text(name)} | moved)
    return pd.DataFrame(rows)


def _change_columns(estimates: Estimates, places: np.ndarray, level: float) -> pd.DataFrame:
    """DataFrame of the values of groups before and after, and of their changes, with limits."""
    end = (1.0 + level) / 2.0
    columns: dict = {}
    lows, highs = estimates.limits(end)
    for name, at in zip(("before", "after"), places, strict=True):
        values = np.asarray(getattr(estimates, "counts", estimates.sizes)), estimates.values
        names = f"n_{name}", name, f"{name}_low", f"{name}_high"
        columns |= dict(zip(names, (one[at] for one in (*values, lows, highs)), strict=True))
    change = contrast_matrix(places[1], places[0], len(estimates.values))
    of_change = ("change", "change_low", "change_high")
    return pd.DataFrame(
        columns | dict(zip(of_change, differences_with_limits(estimates, change, end), strict=True))
    )


def _describe_groups_alone(estimates: Estimates, places: np.ndarray, level: float) -> pd.DataFrame:
    """DataFrame as of `_change_columns`, of groups that have samples in one period only.

    Their size in the other period is 0; its value, and the change, are nan.
    """
    table = _change_columns(estimates, np.maximum(places, 0), level).astype(float)
    for name, is_absent in zip(("before", "after"), places < 0, strict=True):
        table.loc[is_absent, [name, f"{name}_low", f"{name}_high"]] = np.nan
        table.loc[is_absent, f"n_{name}"] = 0.0
    table[["change", "change_low", "change_high"]] = np.nan
    return table


def _gap_change(estimates: Estimates, compared: np.ndarray, level: float) -> dict[str, float]:
    """The gaps among the compared groups before and after, and the change with limits, by name."""
    names = ("before", "after", "change", "change_low", "change_high")
    if compared.shape[1] < 2:
        return dict.fromkeys(names, np.nan)
    before, after = (compared_contrasts(estimates, at) for at in compared)
    gaps = [float((pairs @ estimates.values).max()) for pairs in (before, after)]
    end = (1.0 + level) / 2.0
    low = -change_upper_limit(estimates, after, before, end)
    high = change_upper_limit(estimates, before, after, end)
    return dict(zip(names, (*gaps, gaps[1] - gaps[0], low, high), strict=True))


# Sentences and sections of a report of changes.


def change_findings(report: Changes) -> Iterator[str]:
    """Sentences on the samples, on decisions that changed, and on the changes of gaps."""
    before, after = report.names
    yield f"This report compares {after} with {before}, on {_describe_samples(report)}."
    if report.unpublished:
        yield describe_unpublished(report.unpublished)
    if report.moves is not None:
        moves = report.moves[report.moves["attribute"] == report.moves["attribute"].iloc[0]]
        gained, lost, n = (int(moves[name].sum()) for name in ("n_gained", "n_lost", "n"))
        yield (
            f"{gained + lost:,} of {n:,} decisions differ: {gained:,} became positive and {lost:,} "
            "negative."
        )
    for attribute, groups in report.uncompared.items():
        listed = join_names(f"{name!r} ({m:,} and {n:,})" for name, (m, n) in groups.items())
        yield f"Not compared by {attribute}, with their samples in {before} and {after}: {listed}."
    gaps = report.gaps[report.gaps["verdict"] != ""]
    if not len(gaps):
        yield "No two groups are in both, known and large enough, so that no gap is compared."
    is_stated = gaps["metric"].isin(primary_metrics(gaps)) | gaps["is_significant"]
    is_stated |= gaps["grown"].notna()
    for _, gap in gaps[is_stated].iterrows():
        rows = report.frame[report.frame["attribute"] == gap["attribute"]]
        left_out = left_out_clause(find_left_out(rows, gap["metric"]))
        yield f"{_describe_change(report, gap)}{left_out}."
    yield from _describe_overall(report)


def _describe_overall(report: Changes) -> Iterator[str]:
    """Yield the sentence on the accuracy of all samples, if outcomes are known."""
    rows = report.others[report.others["attribute"] == OVERALL].set_index("metric")
    if "accuracy" in rows.index:
        row = rows.loc["accuracy"]
        quantity = describe_quantity("accuracy")
        before, after = map(quantity.value, row[["before", "after"]])
        low, high = row[["change_low", "change_high"]]
        limits = "" if np.isnan(low) else f" ({quantity.interval(low, high)})"
        whose = _name_accuracy_samples(report, row)
        yield (
            f"The accuracy of {whose} was {before} and is {after}, a change of "
            f"{quantity.difference(row['change'])}{limits}."
        )


def _name_accuracy_samples(report: Changes, row: pd.Series) -> str:
    """The samples whose decisions an accuracy counts: all, or the ones whose outcome is known."""
    before, after = (f"{row[name]:,.0f}" for name in ("n_before", "n_after"))
    n = before if report.is_paired else f"{before} and {after}"
    if report.weighs_outcomes:
        return f"all samples, from {n} known outcomes,"
    if not _lacks_outcomes(report):
        return "all samples"
    return f"the {n} samples whose outcome is known"


def _lacks_outcomes(report: Changes) -> bool:
    """Return whether some samples have no outcome."""
    return any("samples have no outcome" in one.left_out for one in report.readings)


def _describe_samples(report: Changes) -> str:
    """The samples of both: the same, different ones, or how many of each."""
    n_shared, *alone = report.n_shared or [0]
    if report.has_equal_rows:
        return "different samples, although outcomes, groups and weights are equal row by row"
    if not n_shared:
        return "different samples"
    if not any(alone):
        return "the same samples"
    first, second = (f"{n:,} of {name} alone" for n, name in zip(alone, report.names, strict=True))
    return f"{n_shared:,} samples of both by their ids, {first} and {second}"


def _describe_change(report: Changes, gap: pd.Series) -> str:
    """Sentence on the change of one gap, without its end."""
    change, low, high = read_limited(gap, "change")
    is_open = gap["grown"] is not None
    verdict = "whether it is larger is open" if is_open else "the change may be chance"
    if gap["is_significant"]:
        verdict = f"it is {gap['verdict']} in the population"
    burden = report.readings[0].burden
    quantity = describe_quantity(gap["metric"], burden=burden)
    start = f"The gap of the {quantity.noun} by {gap['attribute']}"
    if _has_groups_alone(report, gap["attribute"]):
        both = "periods" if len(report.readings) > 1 else "models"
        start += f" among the groups of both {both}"
    if np.isnan(change):
        return f"{start} is not printed, since it compares groups that are not published: {verdict}"
    before, after = map(quantity.gap, gap[["before", "after"]])
    limits = "" if np.isnan(low) else f" ({quantity.interval(low, high)})"
    if not gap["is_significant"] and (low > 0.0 or high < 0.0):
        limits = _describe_adjusted_limits(quantity, gap, len(report.gaps["change"].dropna()))
    size = f"{quantity.difference(change)}{limits}"
    return f"{start} was {before} and is {after}, a change of {size}: {verdict}{_grown_clause(gap)}"


def _describe_adjusted_limits(quantity: Quantity, gap: pd.Series, n_gaps: int) -> str:
    """Return the limits by which a change is not shown as one of many; empty if unpublished."""
    low, high = gap[[*_ADJUSTED_COLUMNS]]
    # With min_published the verdict is about more samples than the limits.
    if not low <= 0.0 <= high:
        return ""
    return f" ({quantity.interval(low, high)}, as one of {n_gaps} gaps)"


def _has_groups_alone(report: Changes, attribute: str) -> bool:
    """Whether some group has samples in only one of the two."""
    return any(0 in sizes for sizes in report.uncompared.get(attribute, {}).values())


def _grown_clause(gap: pd.Series) -> str:
    """Clause on the pair of groups whose difference is shown to have grown; empty without one."""
    if gap["grown"] is None:
        return ""
    quantity = describe_quantity(gap["metric"])
    first, second = map(repr, gap["grown"])
    values = gap[["pair_before", "pair_after", "pair_change"]]
    before, after, change = map(quantity.difference, values)
    low, high = gap[["pair_low", "pair_high"]]
    limits = "" if np.isnan(low) else f" ({quantity.interval(low, high)})"
    size = f"from {before} to {after}, by {change}{limits}"
    return f"; the difference of {first} to {second} is shown to have grown, {size}"


def _describe_grown_difference(gap: pd.Series) -> str:
    """The pair of groups whose difference is shown to have grown, as a heading."""
    quantity = describe_quantity(gap["metric"])
    first, second = map(repr, gap["grown"])
    before, after = map(quantity.difference, gap[["pair_before", "pair_after"]])
    return (
        f"The difference of {first} to {second} by {gap['attribute']} in {quantity.noun} is shown "
        f"to have grown, from {before} to {after}"
    )


def change_sections(report: Changes) -> Iterator[tuple]:
    """Yield the sections of a report of changes, as `report_sections` does."""
    legend = Markup("<p>Open circles: the earlier value. Dots: the later one.</p>")
    yield "Changes of gaps", [legend, _gap_change_table(report)]
    yield "Findings", [report.findings]
    if report.moves is not None:
        titles = ("Group", "Attribute", "Samples", "Became positive", "Became negative")
        rows = [
            ((row.group, row.attribute, *(f"{n:,}" for n in (row.n, row.n_gained, row.n_lost))), 0)
            for row in report.moves.itertuples()
        ]
        yield "Changed decisions", [("Changed decisions by group", "", titles, rows)]
    every = pd.concat([one for one in (report.frame, report.others) if len(one)])
    for attribute, frame in every.groupby("attribute", sort=False):
        tables = frame.groupby("metric", sort=False)
        tables = [_change_table(report, name, rows) for name, rows in tables]
        yield Folded("All samples" if attribute == OVERALL else f"By {attribute}"), tables
    level = confidence_text(report.confidence_level)
    is_stated = report.is_paired and report.frame["change_low"].notna().any()
    correlation = "The correlation of decisions on the same sample enters the intervals of changes."
    yield (
        Folded("How to read this"),
        [
            [
                f"Every interval holds with {level}, one at a time. The interval of the change of "
                "a gap holds for all groups of one attribute and metric together. The change of a "
                "difference of two groups is shown if Holm's procedure over all pairs of groups of "
                "all gaps finds it. That of a gap is shown if Holm's procedure over the changes of "
                "all gaps finds it, and one of its pairs is shown.",
                *([correlation] if is_stated else []),
                small_groups_note(report.min_group_size),
            ]
        ],
    )
    for name, reading in zip(report.names, report.readings, strict=False):
        yield reading.section(f"What was read {name}")
    yield tabulate_facts(titled_facts(report.source))


def _gap_change_table(report: Changes) -> tuple:
    """Table of the gaps of all metrics and attributes, before and after."""
    titles = ("Rate", "", "Change", *report.names)
    rows = []
    for _, gap in report.gaps.dropna(subset=["change"]).iterrows():
        quantity = describe_quantity(gap["metric"])
        sizes = map(quantity.decimal, gap[["before", "after"]])
        change = value_cell(quantity, gap, "change")
        name = describe_metric(gap["metric"], report.readings[0].burden)[0]
        title = name, f"by {gap['attribute']}"
        picture = _draw_change(quantity, gap)
        rows.append(((title, picture, change, *sizes), gap["is_significant"]))
    note = "Largest difference between two groups that are not small. Marked: the change is shown."
    return "Gaps between groups", note, titles, rows


def _draw_change(quantity: Quantity, row: pd.Series) -> Picture:
    """Picture of a value before, an open circle, and after, a dot."""
    marks = zip(row[["before", "after"]], ("small", "near"), strict=True)
    dots = [(value, mark) for value, mark in marks if not np.isnan(value)]
    return Picture(find_axis(quantity, [value for value, _ in dots]), dots)


def _change_table(
    report: Changes, name: str, rows: pd.DataFrame
) -> tuple[str, str, tuple[str, ...], list[tuple]]:
    """Table of one metric by one attribute, before and after."""
    title, meaning = describe_metric(name, report.readings[0].burden)
    counted = "Samples"
    if needs_outcome(name) and _lacks_outcomes(report):
        counted = "With outcome"
        if not report.weighs_outcomes:
            meaning = re.sub(r", of all\b", ", of all whose outcome is known", meaning)
    quantity = describe_quantity(name)
    titles = ("Group", "", "Change", *report.names, counted)
    cells = []
    for _, row in rows.iterrows():
        sizes = " and ".join(dict.fromkeys(f"{row[end]:,.0f}" for end in ("n_before", "n_after")))
        values = [value_cell(quantity, row, end) for end in ("before", "after")]
        size = sizes, "small" if row["is_small"] else ""
        change = value_cell(quantity, row, "change")
        picture = _draw_change(quantity, row)
        cells.append(((row["group"], picture, change, *values, size), False))
    attribute = rows["attribute"].iloc[0]
    of = "of all samples" if attribute == OVERALL else f"by {attribute}"
    return f"{title} {of}", meaning, titles, cells
