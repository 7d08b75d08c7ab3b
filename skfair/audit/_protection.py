"""Small counts that are not published, and the groups that protect them."""

from __future__ import annotations

import heapq
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from skfair._statistics.rates_by_decision import RatesByDecision
from skfair._utils.checks import argument_error, is_int, join_names
from skfair.audit._sentences import UNCOUNTED
from skfair.audit._tables import OVERALL, group_text, missing_attribute_mask, name_as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from skfair._groups.groups import Groups
    from skfair._utils.api import Label


class Protection(NamedTuple):
    """What is kept back so that no count from 1 to ``min_published - 1`` can be computed.

    ``hidden`` has the groups that are not printed, as text by attribute, with their samples among
    those that are counted, and ``n_groups`` the number of all. ``left_out`` are names of groups by
    all attributes whose samples are in no number that is printed, each of which has fewer than
    ``min_published`` in each of ``n_periods``. Rates of ``decision_metrics`` count no outcomes, so
    that fewer groups are hidden in these: ``hidden_in_decisions``.
    """

    min_published: int
    hidden: dict[str, dict[str, int]]
    n_groups: dict[str, int]
    left_out: list[Any]
    n_periods: int = 1
    decision_metrics: tuple[str, ...] = ()
    hidden_in_decisions: dict[str, dict[str, int]] = {}

    def find_hidden(self, metric: str | None = None) -> dict[str, dict[str, int]]:
        """Return the groups that are hidden in a metric, or of None in those of decisions."""
        if self.decision_metrics and (metric is None or metric in self.decision_metrics):
            return self.hidden_in_decisions
        return self.hidden

    @property
    def clause(self) -> str:
        """Clause on the groups and samples that are kept back; empty without any."""
        listed = self._list_hidden(self.find_hidden())
        if self.hidden != self.find_hidden():
            further = self._list_hidden(self.hidden)
            listed.append(f"in rates that count outcomes {join_names(further, len(further))}")
        if self.left_out:
            bound = self.n_periods * len(self.left_out) * (self.min_published - 1) + 1
            listed.append(f"fewer than {bound:,} {UNCOUNTED}")
        return join_names(listed, len(listed))

    def _list_hidden(self, hidden: dict[str, dict[str, int]]) -> list[str]:
        """Return the numbers of hidden groups and of their samples, by attribute."""
        if OVERALL in hidden:
            return ["all groups and their total"]
        return [
            f"{len(one)} of {self.n_groups[name]} groups by {name}"
            + f" with {sum(one.values()):,} samples" * any(one.values())
            for name, one in hidden.items()
        ]

    @property
    def fact(self) -> str:
        """What is kept back, and why."""
        limit = f"counts from 1 to {self.min_published - 1} are not published"
        text = self.clause
        return f"{text}, so that {limit} and cannot be computed" if text else f"none; {limit}"

    def check_reference(self, reference: dict[str, Label] | None) -> None:
        """Raise for a reference group, by attribute, that is not published."""
        for name, group in (reference or {}).items():
            if group_text(group) in self.hidden.get(name_as_text(name), ()):
                raise argument_error(
                    f"reference names the group {group!r} of {name}, but min_published="
                    f"{self.min_published} keeps it back, with all differences from it. Name "
                    "another group, or leave out one of the two."
                )

    def find_counted(self, groups: Groups) -> np.ndarray:
        """Positions of the samples that printed numbers count."""
        names = {*self.left_out}
        is_counted = np.array([name not in names for name in groups.names])
        return np.flatnonzero(is_counted[groups.codes])

    def restrict(self, audit: Any) -> Any:
        """The audit of the samples that printed numbers count."""
        groups = audit.samples.groups
        return audit.restrict(self.find_counted(groups)) if self.left_out else audit

    def mask(self, frame: pd.DataFrame) -> np.ndarray:
        """Mask of the rows of a table that are about hidden groups."""
        rows = zip(frame["attribute"], frame["group"], frame["metric"], strict=True)
        is_hidden = [
            group in self.find_hidden(metric).get(name, ()) for name, group, metric in rows
        ]
        return np.array(is_hidden, dtype=bool)

    def hide_gaps(
        self,
        gaps: pd.DataFrame,
        all_rates: pd.DataFrame,
        all_gaps: pd.DataFrame,
        verdicts: list[str],
    ) -> tuple[pd.DataFrame, np.ndarray]:
        """Gaps of the counted samples, with the verdicts of a report of all samples.

        ``all_rates`` and ``all_gaps`` are the tables of that report. The numbers of gaps that
        compare a hidden group become nan.
        """
        both = ["attribute", "metric"]
        gaps = gaps.drop(columns=verdicts).merge(all_gaps[[*both, *verdicts]], on=both)
        gaps = gaps[[*all_gaps]]
        hidden = self.mask(all_rates) & ~all_rates["is_small"]
        at = is_about(gaps, all_rates[hidden])
        numbers = gaps.select_dtypes("float").columns
        gaps.loc[at, numbers] = np.nan
        return gaps, at


def is_about(frame: pd.DataFrame, rows: pd.DataFrame) -> np.ndarray:
    """Mask of the rows of a table with attribute and metric of one of some other rows."""
    both = ["attribute", "metric"]
    known = pd.MultiIndex.from_frame(rows[both])
    return pd.MultiIndex.from_frame(frame[both]).isin(known)


# Groups of small counts, and others that protect them.


def check_minimum(min_published: int) -> int:
    """The smallest count that may be published; raise for others than whole numbers."""
    if not is_int(min_published, 2):
        raise argument_error(
            "min_published must be a whole number of samples from 2 on, such as 10; got "
            f"{min_published!r}."
        )
    return min_published


def protect_groups(
    estimators: dict[str, Callable],
    by_name: dict[str, Groups],
    min_published: int,
    may_leave_out: bool,
) -> Protection:
    """The protection that keeps the fewest samples back.

    A count from 1 to ``min_published - 1`` of samples, of samples that a metric is over, or of
    these with or without its event, is small, without weights. Groups with a small count are
    hidden, and as many others, smallest first, as keep any of them from being computed from the
    rest, and any sum of counts of hidden groups from being small, or 0 unless it is 0 of all.
    Instead of these others, samples of small groups may be left out of all numbers. Groups may also
    be hidden only in rates that count outcomes, whose counts are smaller than those of decisions.
    """
    first = next(iter(by_name.values()))
    last = [*by_name.values()][-1]
    overall = _counts_by_group(estimators, first.merge(OVERALL))[:, 0]
    counts = _counts_by_group(estimators, last)
    removable = counts[:1] if may_leave_out else counts[:0]
    decisions = tuple(name for name in estimators if name in _DECISION_METRICS)
    # Numbers of unknown outcomes are stated in other places than the rates that count outcomes.
    if len(decisions) == len(estimators) or "has_outcome" in estimators:
        decisions = ()
    protection = _protect_counts(
        overall, counts, by_name, min_published, removable, estimators, decisions
    )
    if protection is None:
        raise ValueError(
            f"min_published={min_published} allows no report: "
            f"{_describe_small_counts(estimators, overall, counts, last, min_published)}"
        )
    return protection


_DECISION_METRICS = ("selection_rate",)
"""Metrics whose counts are samples and decisions, whatever the outcomes."""


def _describe_small_counts(
    estimators: dict[str, Callable],
    overall: np.ndarray,
    counts: np.ndarray,
    groups: Groups,
    min_published: int,
) -> str:
    """Return which counts let no group be published, and what to leave out.

    `overall` are the counts of all samples, and `counts` (n_counts, n_groups) those of groups, in
    the order of `_counts_by_group`.
    """
    metrics: list[str | None] = [None, *(name for name in estimators for _ in range(3))]
    whats = ["samples", *("samples in the rate", "events", "samples without it") * len(estimators)]

    def describe(row: int, n: float, whose: str) -> str:
        metric = "" if metrics[row] is None else f" of {metrics[row]}"
        return f"{whose} have {n:,.0f} {whats[row]}{metric}"

    small = np.flatnonzero(_is_small(overall, min_published))
    if len(small):
        rows = small[:1].tolist()
        causes = [describe(rows[0], overall[rows[0]], "all samples together")]
    else:
        places = np.argwhere(_is_small(counts, min_published)).tolist()
        rows = [row for row, _ in places]
        causes = [
            describe(row, counts[row, group], f"those of {group_text(groups.names[group])}")
            for row, group in places[:3]
        ]
    named = dict.fromkeys(metrics[row] for row in rows if metrics[row] is not None)
    ways = ["pass more samples or fewer attributes", "merge groups"]
    if named and not {*named} & {*_DECISION_METRICS} and len(named) < len(estimators):
        ways.append("leave out the outcomes (y_true)")
    else:
        ways.append("pass a smaller min_published")
    return (
        f"{'; '.join(causes)}, and no group can be published without showing such a count, which "
        f"is below {min_published}. {ways[0].capitalize()}, {ways[1]}, or {ways[2]}."
    )


def protect_periods(
    estimators: dict[str, Callable],
    by_name: dict[str, Groups],
    min_published: int,
    parts: np.ndarray,
    may_add: bool,
) -> Protection:
    """As `protect_groups`, of the samples of two periods, whose counts are printed side by side.

    `parts` are 0 and 1 for samples of one period alone, 2 and 3 for those of samples in both. If
    one period `may_add` samples or events to those of the other, and to no group fewer, differences
    of their counts are counts too.
    """
    groups = [*by_name.values()][-1]
    n_groups = len(groups.labels)
    labels = np.tile(groups.labels, (4, 1))
    counts = _counts_by_group(estimators, groups.regroup(groups.codes + n_groups * parts, labels))
    counts = counts.reshape(len(counts), 4, n_groups)
    changes = counts[:, 1] + counts[:, 3] - counts[:, 0] - counts[:, 2]
    is_nested = (changes >= 0).all(axis=1) | (changes <= 0).all(axis=1)
    added = np.abs(changes[is_nested & is_nested[0] & may_add])
    n_samples = counts[0, :3].sum(axis=0)
    by_period = counts[0, :2] + counts[0, 2:]
    counts = np.vstack((n_samples, counts.reshape(-1, n_groups), added))
    protection = _protect_counts(counts.sum(axis=1), counts, by_name, min_published, by_period)
    if protection is None:
        raise ValueError(
            f"min_published={min_published} allows no report: all samples together have a count "
            f"from 1 to {min_published - 1}, such as that of those selected, or no group can be "
            "published without showing one. Pass more samples, fewer attributes, or merge groups."
        )
    return protection


def _protect_counts(
    overall: np.ndarray,
    counts: np.ndarray,
    by_name: dict[str, Groups],
    min_published: int,
    removable: np.ndarray,
    estimators: Iterable[str] = (),
    decision_metrics: tuple[str, ...] = (),
) -> Protection | None:
    """The protection of counts of all samples, and of groups by all attributes: samples first.

    Rows of `removable` are samples by period, and groups that are small in each may be left out.
    Counts are those of `estimators`, in their order; `decision_metrics` may have fewer groups
    hidden. None if no group can be published.
    """
    first = next(iter(by_name.values()))
    last = [*by_name.values()][-1]
    n_groups = {name: len(groups.labels) for name, groups in by_name.items()}
    # Rows of counts of samples and of decisions: the first, and three of each metric.
    is_decision = np.array(
        [True, *(name in decision_metrics for name in estimators for _ in range(3))]
    )
    # Samples that are kept back in rates of decisions, and in all others, and the protection.
    plans: list[tuple[float, float, int, Protection]] = []
    is_small = (removable < min_published).all(axis=0) & (counts[0] > 0) & first.is_disjoint
    small = np.flatnonzero(is_small & (len(removable) > 0))
    for left_out in [small[:0], small] if len(small) else [small[:0]]:
        counted = counts.copy()
        counted[:, left_out] = 0.0
        total = overall - counts[:, left_out].sum(axis=1)
        if not total[0]:
            continue
        # A sample is kept back once from each table that does not count it.
        cost = (1 + len(by_name)) * counts[0, left_out].sum()
        names = [last.names[i] for i in left_out]
        every = Protection(min_published, {}, n_groups, names, max(1, len(removable)))
        if not _is_small(total, min_published).any():
            hidden = _find_hidden(by_name, counted, total > 0, min_published)
            if hidden is not None:
                n_hidden = cost + _count_hidden(hidden)
                plans.append((n_hidden, n_hidden, len(plans), every._replace(hidden=hidden)))
        if decision_metrics and not _is_small(total[is_decision], min_published).any():
            protection = _hide_by_metric(every, by_name, counted, total, is_decision)
            if protection is not None:
                protection = protection._replace(decision_metrics=decision_metrics)
                both = (protection.hidden_in_decisions, protection.hidden)
                n_hidden_by_kind = [cost + _count_hidden(one) for one in both]
                plans.append((*n_hidden_by_kind, len(plans), protection))
    return min(plans)[-1] if plans else None


def _count_hidden(hidden: dict[str, dict[str, int]]) -> int:
    """Return how often samples are in hidden groups of tables."""
    return sum(sum(one.values()) for one in hidden.values())


def _hide_by_metric(
    every: Protection,
    by_name: dict[str, Groups],
    counts: np.ndarray,
    overall: np.ndarray,
    is_decision: np.ndarray,
) -> Protection | None:
    """Return the protection that hides fewer groups in metrics of decisions; None without any.

    Groups that are hidden there are hidden in all metrics. `counts` are (n_counts, n_groups),
    `overall` (n_counts,), and `is_decision` says which rows are counts of decisions.
    """
    min_published = every.min_published
    is_known = is_decision & (overall > 0)
    fewer = _find_hidden(by_name, counts, is_known, min_published)
    if fewer is None:
        return None
    names = {(name, group) for name, one in fewer.items() for group in one}
    hidden = None
    if not _is_small(overall, min_published).any():
        hidden = _find_hidden(by_name, counts, overall > 0, min_published, names)
    if hidden is None:  # no rate that counts outcomes is published, not even of all samples
        hidden = {
            name: dict.fromkeys(map(group_text, groups.names), 0)
            for name, groups in by_name.items()
        }
        hidden[OVERALL] = {OVERALL: int(overall[0]) * (1 + len(by_name))}
    return every._replace(hidden=hidden, hidden_in_decisions=fewer)


def _find_hidden(by_name, counts, is_known, min_published, hidden_before=()):
    """Hidden groups by attribute with their counted samples; None if no known group is shown.

    `counts` are those of groups by all attributes, and `is_known` says which are not 0 of all.
    Groups of `hidden_before`, pairs of attribute and group, are hidden in any case.
    """
    *single, last = by_name.values()
    # Combinations that a group of one attribute consists of; their counts add up to its counts.
    parts = [last.labels[:, i] == groups.labels[:, :1] for i, groups in enumerate(single)]
    parts = np.vstack((*parts, np.eye(len(last.labels)))).astype(float)
    table = counts[is_known] @ parts.T
    margins = _margin_equations(by_name, parts) if last.is_disjoint else _cover_equations(last)
    names = [(name, one) for name, groups in by_name.items() for one in groups.names]
    is_small = _is_small(table, min_published).any(axis=0)
    is_small |= [(name, group_text(group)) in hidden_before for name, group in names]
    sizes = parts @ counts[0]
    # Groups without counted samples are known to be empty, and protect no other.
    is_hidden = sizes == 0
    present = np.flatnonzero(sizes)
    is_hidden[present] = _suppress_secondary(
        margins[:, present], table[:, present], is_small[present], min_published
    )
    is_missing = np.concatenate([missing_attribute_mask(groups) for groups in by_name.values()])
    if (is_hidden | is_missing).all():
        return None
    hidden = {}
    for i in np.flatnonzero(is_hidden):
        name, group = names[i]
        hidden.setdefault(name, {})[group_text(group)] = int(sizes[i])
    return hidden


def _is_small(counts: np.ndarray, min_published: int) -> np.ndarray:
    """Mask of the counts that are small."""
    return (counts > 0) & (counts < min_published)


def _counts_by_group(estimators: dict[str, Callable], groups: Groups) -> np.ndarray:
    """Samples of groups, and those that metrics are over, with and without their events.

    An array of shape (n_counts, n_groups), of samples without their weights.
    """
    multiplicity = groups.multiplicity
    ones = np.ones(groups.n_samples) if multiplicity is None else multiplicity
    rows = [groups.counts]
    for estimator in estimators.values():
        estimates, present = estimator(groups, ones)
        counted, hits = np.zeros((2, len(groups.counts)))
        if estimates is not None:
            counted[present] = estimates.counts
            # Rates by decision are no shares of the samples that they count.
            is_share = estimates.are_rates and not isinstance(estimates, RatesByDecision)
            hits[present] = estimates.values * estimates.counts if is_share else 0.0
        rows += [counted, np.rint(hits), counted - np.rint(hits)]
    return np.array(rows)


def _cover_equations(groups: Groups) -> np.ndarray:
    """The equation that groups of a matrix add up to all samples, if each sample is in one."""
    is_cover = bool((np.asarray(groups.matrix.sum(axis=1)) == 1).all())
    return np.ones((int(is_cover), len(groups.counts)))


def _margin_equations(by_name: dict[str, Groups], parts: Sequence[int] | np.ndarray) -> np.ndarray:
    """Equations between the counts of all groups, one per row; all samples together are known.

    The groups of an attribute add up to all samples, and the combinations with a value of an
    attribute to the group of this value.
    """
    n_groups = [len(groups.labels) for groups in by_name.values()]
    n_single = len(parts) - n_groups[-1]
    number = np.repeat(np.arange(len(n_groups)), n_groups)
    totals = [number == i for i in range(max(1, len(n_groups) - 1))]
    values = np.hstack((-np.eye(n_single), parts[:n_single]))
    return np.vstack((*totals, values)).astype(float)


_MAX_TRIALS = 1000
"""Number of sets of groups that are tried for one with fewer samples."""


def _suppress_secondary(
    margins: np.ndarray, counts: np.ndarray, is_small: np.ndarray, min_published: int
) -> np.ndarray:
    """Mask of suppressed groups with few samples, none of which follows from the others."""
    greedy = _suppress_one_by_one(margins, counts, is_small, min_published)
    # Look for a set with fewer samples, in the order of these.
    sizes = counts[0]
    free = np.flatnonzero(~is_small)
    cheaper = _list_subsets(sizes[free], sizes[greedy & ~is_small].sum())
    for places in islice(cheaper, _MAX_TRIALS):
        trial = is_small.copy()
        trial[free[places]] = True
        if not _disclosing_equations(margins, counts, trial, min_published).any():
            return trial
    # Publish each group that the greedy choice hides without need, from the largest on.
    needless = np.flatnonzero(greedy & ~is_small)
    for place in needless[np.argsort(-sizes[needless], kind="stable")]:
        trial = greedy.copy()
        trial[place] = False
        if not _disclosing_equations(margins, counts, trial, min_published).any():
            greedy = trial
    return greedy


def _list_subsets(sizes: np.ndarray, limit: float) -> Iterator[list[int]]:
    """Yield the places of subsets whose sum of positive sizes is below a limit, smallest first."""
    order = np.argsort(sizes, kind="stable").tolist()
    heap: list[tuple[float, list[int]]] = [(0.0, [])]  # sums, and ranks in ascending order
    while heap:
        total, ranks = heapq.heappop(heap)
        if total >= limit:
            return
        yield [order[rank] for rank in ranks]
        # Each subset follows from one other: by the next rank, beside the last one or in its place.
        following = ranks[-1] + 1 if ranks else 0
        if following == len(order):
            continue
        added = total + sizes[order[following]]
        heapq.heappush(heap, (added, [*ranks, following]))
        if ranks:
            heapq.heappush(heap, (added - sizes[order[ranks[-1]]], [*ranks[:-1], following]))


def _suppress_one_by_one(
    margins: np.ndarray, counts: np.ndarray, is_suppressed: np.ndarray, min_published: int
) -> np.ndarray:
    """Mask of suppressed groups, none of which can be computed from the others."""
    sizes = counts[0]
    while True:
        is_open = _disclosing_equations(margins, counts, is_suppressed, min_published)
        candidates = np.flatnonzero((margins[is_open] != 0).any(axis=0) & ~is_suppressed)
        if not len(candidates):
            return is_suppressed
        # Suppress the group that leaves the fewest equations open, the smallest of several.
        # Groups that are tried as the next one to suppress, the smallest ones.
        candidates = candidates[np.argsort(sizes[candidates], kind="stable")][:20]
        trials = [is_suppressed | (np.arange(len(sizes)) == one) for one in candidates]
        n_open = [
            _disclosing_equations(margins, counts, one, min_published).sum() for one in trials
        ]
        is_suppressed = trials[int(np.argmin(n_open))]


def _disclosing_equations(
    margins: np.ndarray, counts: np.ndarray, is_suppressed: np.ndarray, min_published: int
) -> np.ndarray:
    """Mask of the equations that show a suppressed group, or a sum of too few samples or events."""
    hidden = margins[:, is_suppressed]
    # A group is determined if no change of suppressed counts that keeps all sums changes it.
    _, singular, axes = np.linalg.svd(hidden)
    is_determined = np.zeros(counts.shape[1], dtype=bool)
    is_determined[is_suppressed] = (np.abs(axes[(singular > 1e-9).sum() :]) < 1e-9).all(axis=0)
    # Sums of suppressed combinations, of which suppressed values are sums, too.
    is_of_value = np.asarray((hidden < 0).any(axis=1))
    sums = hidden + (hidden @ (hidden[is_of_value] < 0).T) @ hidden[is_of_value]
    sums = np.vstack((np.where(is_of_value[:, np.newaxis], 0.0, sums), np.zeros(sums.shape[1])))
    # Each sum, and what one has beside another, must not be small.
    rests = sums[:, np.newaxis] - sums
    is_rest = (rests >= 0).all(axis=2) & rests.any(axis=2)
    is_weak = is_rest & (rests @ counts[:, is_suppressed].T < min_published).any(axis=2)
    is_open = (is_weak.any(axis=1) | is_weak.any(axis=0))[:-1]
    return is_open | (margins[:, is_determined] != 0).any(axis=1)


# Subgroups that overlap.


def select_published(
    members: list[np.ndarray], outcome: np.ndarray, counts: np.ndarray, min_published: int
) -> np.ndarray:
    """Mask of the subgroups whose counts are published, of masks of their samples, best first.

    What follows from counts of subgroups are counts of regions, which their borders divide the
    samples into, and of unions of regions. So each region must have no sample of an outcome, or
    `min_published` at least. `counts` are the numbers of samples of each row.
    """
    region = np.unique(outcome, return_inverse=True)[1]
    is_published = []
    if _is_small(np.bincount(region, counts), min_published).any():
        raise ValueError(
            f"min_published={min_published} allows no search: all samples together have an outcome "
            f"from 1 to {min_published - 1} times. Pass more samples, or leave it out."
        )
    for is_member in members:
        divided = 2 * region + is_member
        is_published.append(not _is_small(np.bincount(divided, counts), min_published).any())
        if is_published[-1]:
            region = np.unique(divided, return_inverse=True)[1]
    return np.array(is_published, dtype=bool)
