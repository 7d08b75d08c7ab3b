"""Search for the subgroups that depart most from the rest, or from their probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from skfair._columns.reading import UNREAD, Reading
from skfair._groups.groups import attribute_columns, attribute_names
from skfair._groups.known import MISSING
from skfair._partitions.partitions import blocks
from skfair._statistics.estimates import check_level
from skfair._utils.checks import argument_error, check_choice, is_int, refuse_clusters
from skfair.audit._bins import N_BINS, cut_numbers, range_text
from skfair.audit._departures import FromProbabilities, FromRest, MeansFromRest
from skfair.audit._formats import (
    PageReport,
    collect_facts,
    tabulate_facts,
    titled_facts,
    write_kicker,
)
from skfair.audit._protection import check_minimum, select_published
from skfair.audit._sections import subgroup_tables
from skfair.audit._sentences import (
    confidence_text,
    describe_metric,
    describe_miscalibration,
    describe_quantity,
    describe_unpublished,
    left_out_clause,
    state_rates,
)
from skfair.audit._tables import name_as_text, needs_outcome
from skfair.audit._task_metrics import (
    REPORTED_RATES,
    binary_metrics,
    regression_metrics,
    select_known_outcomes,
)
from skfair.metrics import RATES
from skfair.metrics._calibration import check_unit_range
from skfair.metrics._group_metrics import to_numbers
from skfair.metrics._rates import find_positive_multiclass
from skfair.plotting._groups import SubgroupDisplay

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes

    from skfair._utils.tables import TableLike
    from skfair.audit._data import AuditData
    from skfair.metrics._group_report import Metrics

# Conditions on single columns, from the columns alone.


_MAX_LEVELS = 50
"""Labels of a column up to which each of them is a condition."""


class _EncodedColumn(NamedTuple):
    """A column as levels: labels, or bins of a number.

    ``codes`` has the level of each sample, ``conditions`` whether a condition holds at a level,
    (n_conditions, n_levels), ``texts`` the conditions in words, and ``groups`` the positions of
    those that are groups, and not ranges of numbers.
    """

    codes: np.ndarray
    conditions: np.ndarray
    texts: list
    groups: range


def _encode_columns(columns: TableLike, missing: str, counts: np.ndarray) -> list[_EncodedColumn]:
    """The columns of a table, as levels; `counts` are the numbers of samples of its rows."""
    names = attribute_names(columns)
    arrays = attribute_columns(columns)
    names = [f"column {number}" for number in range(1, len(arrays) + 1)] if names is None else names
    series = [pd.Series(array).infer_objects() for array in arrays]
    return [
        _encode_levels(name_as_text(name), column, missing, counts)
        for name, column in zip(names, series, strict=True)
    ]


def _encode_levels(
    name: str, column: pd.Series, missing: str, counts: np.ndarray
) -> _EncodedColumn:
    """A column as levels; missing values are the last level."""
    is_missing = (column.isna() | (column.astype(object) == MISSING)).to_numpy()
    is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    known = column[~is_missing]
    if is_number:
        levels, conditions, texts = _encode_numbers(name, known, counts[~is_missing])
    else:
        levels, conditions, texts = _encode_labels(name, known)
    n_ranges = len(texts) if is_number else 0
    # The last level has no condition, or one of its own.
    codes = np.full(len(column), conditions.shape[1])
    codes[~is_missing] = levels
    conditions = np.pad(conditions, ((0, 0), (0, 1)))
    if missing == "group" and is_missing.any():
        last = np.arange(conditions.shape[1]) == conditions.shape[1] - 1
        conditions = np.vstack([conditions, last])
        texts = [*texts, f"{name} is missing"]
    return _EncodedColumn(codes, conditions, texts, range(n_ranges, len(texts)))


def _encode_labels(name: str, column: pd.Series) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Levels, conditions and their texts of a column of labels: each label is a condition."""
    codes, labels = pd.factorize(column, sort=True)
    if len(labels) > _MAX_LEVELS:
        raise ValueError(
            f"Columns to search must have at most {_MAX_LEVELS} labels, but {name!r} has "
            f"{len(labels)}. Leave the column out if it is an id; merge labels, or pass numbers as "
            "numbers, which are divided into bins."
        )
    conditions = np.eye(len(labels), dtype=bool)
    texts = [f"{name} = {label}" for label in labels]
    # A single label is true of all samples, which is no condition.
    return (codes, conditions, texts) if len(labels) > 1 else (codes, conditions[:0], [])


def _encode_numbers(
    name: str, column: pd.Series, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """As `_encode_labels`, of numbers: ranges of quantile bins, but not that of all bins."""
    values = column.to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"The numbers in the column {name!r} must be finite; replace infinities.")
    cuts, distinct = cut_numbers(values, counts, N_BINS)
    n_levels = len(cuts) + 1
    level = np.arange(n_levels)
    ranges = [(low, high) for low in level for high in level[low:] if high - low < n_levels - 1]
    conditions = [(low <= level) & (level <= high) for low, high in ranges]
    texts = [range_text(name, cuts, distinct, low, high) for low, high in ranges]
    return np.searchsorted(cuts, values), np.array(conditions).reshape(-1, n_levels), texts


# All conjunctions of conditions on different columns, with their counts.


_MAX_CONDITIONS, _MAX_SUBGROUPS, _MAX_VISITS = 3, 5_000_000, 5_000_000_000
"""Limits of a search: conditions of a subgroup, subgroups, and samples times sets of columns."""


Comparison = FromRest | MeansFromRest | FromProbabilities
"""What subgroups are compared with."""


class _SearchedSubgroups(NamedTuple):
    """All subgroups that are large enough, and of which the rest is.

    ``column_sets`` are the sets of columns. A subgroup has the number of its set,
    ``column_set_numbers``, and its ``table_indices`` in the table of all conjunctions of that set.
    ``n_conditions`` is its number of conditions, and ``sums``, (n_terms, n_subgroups), what its
    samples add up to. ``comparison`` says what it is compared with. ``min_size`` is the smallest
    number of samples. ``left_out`` are groups that are too small, as text.
    """

    columns: list
    comparison: Comparison
    min_size: int
    column_sets: list
    column_set_numbers: np.ndarray
    table_indices: np.ndarray
    n_conditions: np.ndarray
    sums: np.ndarray
    left_out: list

    @property
    def n(self) -> np.ndarray:
        """Number of samples of each subgroup."""
        return self.sums[0]

    @property
    def hits(self) -> np.ndarray:
        """Number of samples of each subgroup whose value is true."""
        return self.sums[1]

    @property
    def total(self) -> np.ndarray:
        """Sums of all samples."""
        return self.comparison.terms.sum(axis=1)

    def conditions(self, subgroup: int) -> list[tuple[_EncodedColumn, int]]:
        """Pairs of a column and the number of its condition that a subgroup meets."""
        subset = self.column_sets[self.column_set_numbers[subgroup]]
        shape = [len(self.columns[j].texts) for j in subset]
        numbers = np.unravel_index(self.table_indices[subgroup], shape)
        return [(self.columns[j], number) for j, number in zip(subset, numbers, strict=True)]

    def mask(self, subgroup: int) -> np.ndarray:
        """Mask of the samples in a subgroup."""
        mask = np.ones(len(self.columns[0].codes), dtype=bool)
        for column, number in self.conditions(subgroup):
            mask &= column.conditions[number][column.codes]
        return mask

    def text(self, subgroup: int) -> str:
        """A subgroup in words."""
        texts = [column.texts[i] for column, i in self.conditions(subgroup)]
        return " and ".join(texts) or "all samples"


def _count_subgroups(columns, comparison, max_conditions, min_size):
    """Count all conjunctions of up to so many conditions; keep those that are large enough.

    All samples are one where there need be no rest.
    """
    depths = range(1 if comparison.needs_rest else 0, max_conditions + 1)
    subsets = [subset for d in depths for subset in combinations(range(len(columns)), d)]
    largest = comparison.terms[0].sum() - (min_size if comparison.needs_rest else 0)
    subset = []
    place = []
    sums = []
    left_out = []
    for number, chosen in enumerate(subsets):
        table = _sum_conjunctions([columns[j] for j in chosen], comparison.terms)
        sizes = table[0]
        at = np.flatnonzero((sizes >= min_size) & (sizes <= largest))
        if len(chosen) == 1:
            column = columns[chosen[0]]
            left_out += [column.texts[i] for i in column.groups if sizes[i] < min_size]
        subset.append(np.full(len(at), number))
        place.append(at)
        sums.append(table[:, at])
    subset, place = map(np.concatenate, (subset, place))
    depth = np.array([len(one) for one in subsets])[subset]
    return _SearchedSubgroups(
        columns=columns,
        comparison=comparison,
        min_size=min_size,
        column_sets=subsets,
        column_set_numbers=subset,
        table_indices=place,
        n_conditions=depth,
        sums=np.concatenate(sums, axis=1),
        left_out=left_out,
    )


def _sum_conjunctions(columns: list[_EncodedColumn], terms: np.ndarray) -> np.ndarray:
    """Sums of each term over each conjunction of one condition of each column."""
    # One pass over the samples sums over the joint levels; conditions sum over levels.
    joint = np.zeros(terms.shape[1], dtype=np.intp)
    for column in columns:
        joint = joint * column.conditions.shape[1] + column.codes
    shape = [column.conditions.shape[1] for column in columns]
    table = np.stack([np.bincount(joint, term, np.prod(shape, dtype=int)) for term in terms])
    table = table.reshape(len(terms), *shape)
    for axis, column in enumerate(columns, 1):
        summed = np.tensordot(column.conditions.astype(np.float64), table, (1, axis))
        table = np.moveaxis(summed, 0, axis)
    return table.reshape(len(terms), -1)


# Which subgroups depart, and by how much.


def _limit_nearest_zero(
    comparison: Comparison,
    sums: np.ndarray,
    total: np.ndarray,
    error: np.ndarray | float,
) -> np.ndarray:
    """The limit nearer to 0 of each departure; 0 where the limits enclose 0."""
    departure, low, high = comparison.limits(sums, total, error)
    return np.where(departure > 0, np.maximum(low, 0.0), np.minimum(high, 0.0))


_SCREENING_SHARE = 0.6
"""Share of the normal quantile below which a score statistic never goes with limits beyond 0."""


def _flag_subgroups(
    family: _SearchedSubgroups, error: np.ndarray, sides: tuple[float, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Subgroups whose limits exclude 0, and the limit nearer to 0 of each.

    `error` is that of one limit of a subgroup by its number of conditions, and `sides` the signs of
    departures that count.
    """
    errors = error[family.n_conditions]
    total = family.total
    score = family.comparison.scores(family.sums, total)
    is_far = np.abs(score) > -_SCREENING_SHARE * special.ndtri(error)[family.n_conditions]
    at = np.flatnonzero(is_far & np.isin(np.sign(score), sides))
    limits = _limit_nearest_zero(family.comparison, family.sums[:, at], total, errors[at])
    return at[limits != 0.0], limits[limits != 0.0]


_SMALLEST_ERROR, _N_HALVINGS = 1e-14, 50
"""Error of one limit below which a p-value is not refined, and steps of the search for it."""


def _p_values(
    family: _SearchedSubgroups, subgroups: np.ndarray, n_limits: np.ndarray
) -> np.ndarray:
    """Smallest error of all limits together at which the limits of each subgroup exclude 0.

    `n_limits` is the number of limits that share the error.
    """
    sums = family.sums[:, subgroups]
    total = family.total
    # Bisect the logarithm of the error of one limit, for all subgroups at once.
    low, high = np.full((2, len(subgroups)), np.log([[_SMALLEST_ERROR], [0.5]]))
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2.0
        limits = _limit_nearest_zero(family.comparison, sums, total, np.exp(middle))
        excludes = limits != 0.0
        low, high = np.where(excludes, low, middle), np.where(excludes, middle, high)
    return np.minimum(1.0, n_limits * np.exp(high))


def _largest_possible_departure(
    family: _SearchedSubgroups, error: float, sides: tuple[float, ...]
) -> float:
    """Largest departure that any subgroup may have, from limits of this error each.

    It needs no correction for the number of subgroups: only the limit of the one that departs most
    has to hold (intersection-union: R. L. Berger, Technometrics 24, 1982).
    """
    # Hoeffding's margins are wider: after them, most subgroups cannot have the largest limit.
    comparison = family.comparison
    total = family.total
    departure = family.hits / family.n - comparison.other_shares(family.sums, total)
    reach = comparison.largest_margins(family.sums, total, error)
    widest = np.max([side * departure for side in sides], axis=0) + reach
    order = np.argsort(-widest)
    largest = 0.0
    # Blocks bound the memory. Limits are computed up to the block that cannot have the largest.
    for block in blocks(len(order), 2000):
        at = order[block]
        if widest[at[0]] <= largest:
            break
        _, low, high = comparison.limits(family.sums[:, at], total, error)
        ends = [high if side > 0 else -low for side in sides]
        largest = max(largest, float(np.max(ends)))
    return min(1.0, largest)


# A short list: subgroups that depart, and of which most lies outside those listed before.


_MAX_LISTED = 10
"""Listed subgroups of each metric, which a reader takes in at once."""


def _select_listed_subgroups(
    family: _SearchedSubgroups,
    candidates: np.ndarray,
    limits: np.ndarray,
    errors: np.ndarray,
) -> list[int]:
    """Numbers of the candidates to list, chosen greedily."""
    listed: list = []
    is_free = np.ones(family.comparison.terms.shape[1], dtype=bool)
    for number, (subgroup, limit) in enumerate(zip(candidates, limits, strict=True)):
        if len(listed) == _MAX_LISTED:
            break
        mask = family.mask(subgroup)
        part = mask & is_free
        error = errors[family.n_conditions[subgroup]]
        if listed and not _departs_outside_listed(
            family, mask, part, is_free, np.sign(limit), error
        ):
            continue
        listed.append(number)
        is_free &= ~mask
    return listed


def _departs_outside_listed(
    family: _SearchedSubgroups,
    mask: np.ndarray,
    part: np.ndarray,
    is_free: np.ndarray,
    sign: float,
    error: float,
) -> bool:
    """Whether most of a subgroup is outside those listed, and departs there from the rest."""
    sums, all_of_subgroup, total = (
        family.comparison.terms[:, rows].sum(axis=1) for rows in (part, mask, is_free)
    )
    has_rest = sums[0] < total[0] or not family.comparison.needs_rest
    if sums[0] < max(all_of_subgroup[0], family.min_size) / 2.0 or not has_rest:
        return False
    (limit,) = _limit_nearest_zero(family.comparison, sums[:, np.newaxis], total, error)
    return limit * sign > 0.0


# The search of one metric, and the report.


CALIBRATION = "calibration_error"
"""Metric whose subgroups are compared with their predicted probabilities."""

_PROBABILITY = "predicted probability"
"""What a condition on the probabilities calls them."""


_SIDES = {"both": (1.0, -1.0), "above": (1.0,), "below": (-1.0,)}
"""Directions of a search -> signs of the departures that count."""


def _search_metric(
    name: str,
    family: _SearchedSubgroups,
    level: float,
    direction: str,
    n_metrics: int,
) -> tuple:
    """Table of the flagged subgroups of one metric, numbers of the listed ones, and a summary."""
    # The limits of all metrics, depths that occur, sides and subgroups share the error.
    sides = _SIDES[direction]
    n_searched = np.bincount(family.n_conditions, minlength=_MAX_CONDITIONS + 1)
    n_depths = np.count_nonzero(n_searched)
    n_limits = n_metrics * n_depths * len(sides) * np.maximum(n_searched, 1)
    errors = (1.0 - level) / n_limits
    at, limits = _flag_subgroups(family, errors, sides)
    # Sort by the limit nearer to 0; of equal ones the shorter first, in the order of the columns.
    # Flagged subgroups that are considered for the list, those of the largest limits.
    order = np.lexsort((at, family.n_conditions[at], -np.abs(limits)))[:500]
    flagged = at[order]
    limits = limits[order]
    table = _tabulate_flagged(name, family, flagged, errors, n_limits)
    table["is_listed"] = np.isin(
        np.arange(len(flagged)),
        _select_listed_subgroups(family, flagged, limits, errors),
    )
    summary = {
        "metric": name,
        "n": int(family.total[0]),
        "estimate": family.total[1] / family.total[0],
        "n_searched": len(family.n),
        "n_flagged": len(at),
        "largest_possible": _largest_possible_departure(family, 1.0 - level, sides),
        "left_out": family.left_out,
    }
    if isinstance(family.comparison, MeansFromRest):
        table, summary = _restore_units(family.comparison, table, summary)
    return table, flagged[table["is_listed"]], summary


def _restore_units(
    comparison: MeansFromRest, table: pd.DataFrame, summary: dict[str, Any]
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The results of a search of means, in the units of the values and not of their range."""
    means, differences = ["estimate", "rest_estimate"], ["difference", "low", "high"]
    table[means] = comparison.smallest + comparison.width * table[means]
    table[differences] *= comparison.width
    mean = comparison.smallest + comparison.width * summary["estimate"]
    largest = comparison.width * summary["largest_possible"]
    return table, summary | {"estimate": mean, "largest_possible": largest}


def _tabulate_flagged(
    name: str,
    family: _SearchedSubgroups,
    flagged: np.ndarray,
    errors: np.ndarray,
    n_limits: np.ndarray,
) -> pd.DataFrame:
    """Table of flagged subgroups: one row each."""
    sums = family.sums[:, flagged]
    n, hits = sums[:2]
    depth = family.n_conditions[flagged]
    departure, low, high = family.comparison.limits(sums, family.total, errors[depth])
    columns = {
        "metric": np.full(len(n), name, dtype=object),
        "subgroup": np.array([family.text(one) for one in flagged], dtype=object),
        "n_conditions": depth,
        "n": n.astype(np.intp),
        "share": n / family.total[0],
        "estimate": hits / n,
        "rest_estimate": family.comparison.other_shares(sums, family.total),
        "difference": departure,
        "low": np.maximum(low, -1.0),
        "high": np.minimum(high, 1.0),
        "p_value": _p_values(family, flagged, n_limits[depth]),
    }
    return pd.DataFrame(columns)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SubgroupReport(PageReport):
    """Subgroups whose rates differ from the rest, with limits that hold for all of them.

    Made by :meth:`Audit.subgroups`, which describes the statements.

    Attributes
    ----------
    flagged : DataFrame
        One row for each subgroup whose limits exclude 0, of each measure the 500 of the largest
        limits at most, in descending order of the limit nearer to 0: ``metric``, ``subgroup`` (its
        conditions), ``n_conditions``, ``n``, ``share`` of the samples that the metric is a
        mean over, ``estimate``, ``rest_estimate`` (of "calibration_error" the share of positives,
        and the mean probability of the subgroup), their signed ``difference``, its limits
        ``low`` and ``high``, the adjusted ``p_value``, and whether it ``is_listed``.
    searches : DataFrame
        One row for each metric: ``n``, ``estimate`` of all of them, the number of subgroups
        searched and flagged (``n_searched``, ``n_flagged``), ``largest_possible``, which no
        subgroup searched departs by more than, and ``left_out``, the groups of single columns that
        are too small to be searched.
    confidence_level : float
        Probability with which all limits hold together, and with which ``largest_possible`` does.
    direction : {"both", "above", "below"}
        Departures that were searched.
    assumption : str
        What rates assume of outcomes that are missing; empty if nothing.
    source : dict of str to str
        Facts about the data, the date and the versions.
    subgroups : DataFrame
        The short list: rows of `flagged` that are listed.
    findings : list of str
        The result as sentences.

    Examples
    --------
    >>> from skfair.audit import Audit
    >>> audit = Audit.from_predictions(
    ...     None, [1, 0] * 200 + [1, 1] * 200, sensitive_features=["f"] * 400 + ["m"] * 400
    ... )
    >>> audit.subgroups().subgroups[["n", "estimate", "rest_estimate"]].round(2).to_numpy().tolist()
    [[400.0, 0.5, 1.0]]
    """

    flagged: pd.DataFrame
    searches: pd.DataFrame
    confidence_level: float
    direction: str
    source: dict[str, str]
    reading: Reading = UNREAD
    assumption: str = ""

    _settings = (
        *("confidence_level", "direction", "source", "reading", "flagged", "searches"),
        "assumption",
    )

    @property
    def subgroups(self) -> pd.DataFrame:
        """The short list of subgroups that overlap little."""
        listed = self.flagged[self.flagged["is_listed"]]
        return listed.drop(columns="is_listed").reset_index(drop=True)

    def plot(self, *, metric: str | None = None, ax: Axes | None = None) -> SubgroupDisplay:
        """Draw the listed subgroups with their limits, as a forest plot.

        Parameters
        ----------
        metric : str, default=None
            Metric to draw; needed where several were searched.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on. None makes a new figure.

        Returns
        -------
        display : instance of a display
            The drawn display, with ``ax_`` and ``figure_``.

        Raises
        ------
        ValueError
            If the metric was not searched, or several were and none is chosen.
        """
        searches = self.searches.set_index("metric")
        searched = searches.index.tolist()
        chosen = searched[0] if metric is None and len(searched) == 1 else metric
        if chosen is None or chosen not in searched:
            raise ValueError(f"metric must be one of those searched, {searched}; got {metric!r}.")
        table = self.subgroups
        return SubgroupDisplay(
            table[table["metric"] == chosen].reset_index(drop=True),
            metric=chosen,
            largest_possible=searches.loc[chosen, "largest_possible"],
            confidence_level=self.confidence_level,
        ).plot(ax)

    @property
    def findings(self) -> list[str]:
        """Sentences on each metric: how many subgroups differ, which, and the largest possible."""
        texts = [text for _, search in self.searches.iterrows() for text in self._describe(search)]
        if hidden := self.source.get("suppressed"):
            texts.insert(0, describe_unpublished(hidden))
        if self.assumption:
            texts.append(f"This holds {self.assumption}.")
        return texts

    def _sections(self) -> Iterator[tuple[str, list]]:
        yield "", [self.findings, *subgroup_tables(self)]
        yield self.reading.section()
        yield tabulate_facts(titled_facts(self.source))

    def _kicker(self) -> str:
        return write_kicker("Subgroups", self.source)

    def _headline(self) -> str:
        """The rates of the subgroup that departs most, and of the rest."""
        if not len(self.subgroups):
            return "No subgroup is shown to depart"
        row = self.subgroups.iloc[0]
        rates = row[["estimate", "rest_estimate"]]
        if row["metric"] == CALIBRATION:
            observed, predicted = map(describe_quantity(CALIBRATION).page_value, rates)
            return f"{observed} of {row['subgroup']} are positive, {predicted} are predicted"
        groups = row["subgroup"], "the rest"
        return state_rates(row["metric"], rates, groups, self.reading.burden)

    def _describe(self, search: pd.Series) -> Iterator[str]:
        """Yield the sentences on one metric."""
        metric = search["metric"]
        burden = self.reading.burden
        quantity = describe_quantity(metric, self.source.get("positive_label"), burden)
        level = confidence_text(self.confidence_level)
        noun = quantity.noun
        title = describe_metric(metric, burden)[0]
        is_calibration = metric == CALIBRATION
        verdict = "be miscalibrated" if is_calibration else f"differ from the rest in the {noun}"
        yield (
            f"{search['n_flagged']:,} of {search['n_searched']:,} subgroups searched are shown to "
            f"{verdict}, with {level} in all limits nearer to 0 together; listed are those "
            f"that overlap little{left_out_clause(search['left_out'])}."
        )
        listed = self.subgroups[self.subgroups["metric"] == search["metric"]]
        for row in listed.itertuples():
            names = (row.subgroup, "the rest")
            rates = (row.estimate, row.rest_estimate)
            values = quantity.values(rates, names, (row.n, search["n"] - row.n))
            if is_calibration:
                observed, predicted = map(quantity.value, rates)
                yield (
                    f"{describe_miscalibration(row.subgroup, row.low, row.high)} Of its {row.n:,} "
                    f"samples {observed} are positive, {predicted} are predicted."
                )
                continue
            difference = quantity._replace(form="difference")
            size = difference.size(row.difference, row.low, row.high)
            yield f"{title}: {values}, {size}."
        side = {"both": "differs", "above": "is higher", "below": "is lower"}[self.direction]
        if is_calibration:
            noun = "share of positives"
            side = f"{side} {'from' if side == 'differs' else 'than'} its mean probability"
        yield (
            f"The {noun} of no subgroup searched {side} by more than "
            f"{quantity.limit(search['largest_possible'])}, with {level} in this sentence alone."
        )

    def to_frame(self, *, all: bool = False) -> pd.DataFrame:
        """The subgroups as a table.

        Parameters
        ----------
        all : bool, default=False
            Whether to return all flagged subgroups, and not only those of the short list.

        Returns
        -------
        frame : DataFrame
            As `flagged`, or as `subgroups`.
        """
        return self.flagged.copy() if all else self.subgroups

    def __repr__(self) -> str:
        n_searched = self.searches["n_searched"].sum()
        return f"<SubgroupReport of {n_searched:,} subgroups: {len(self.subgroups)} listed>"


def search_audit(
    audit: AuditData,
    metrics: str | Sequence[str],
    *,
    max_conditions: int,
    direction: str,
    confidence_level: float,
    min_published: int | None,
) -> SubgroupReport:
    """The subgroups of an audit, as :meth:`Audit.subgroups`."""
    level = check_level(confidence_level)
    missing = audit.known.treatment
    if not is_int(max_conditions, 1, _MAX_CONDITIONS):
        raise argument_error(
            f"max_conditions must be a whole number from 1 to {_MAX_CONDITIONS}; got "
            f"{max_conditions!r}."
        )
    check_choice("direction", direction, _SIDES)
    check_choice("missing", missing, _MISSING_OPTIONS)
    _check_can_search(audit)
    refuse_clusters(audit.clusters, "a search of subgroups")
    is_of_numbers = audit.task == "regression"
    if is_of_numbers:
        names = _check_means(metrics, audit.columns)
    else:
        names = _check_metrics(metrics, audit.columns)
    for name in names:
        audit.check_known_outcomes(RATES.get(name), name)
    columns = audit.list_attributes()
    counts = audit.samples.groups.row_counts
    outcomes = {name: one for name, one in audit.outcomes.items() if name == "y_true"}
    if names != [CALIBRATION]:
        outcomes = {"y_pred": audit.find_decisions(audit.columns)} | outcomes
    _refuse_outcomes(columns, outcomes)
    encoded = _encode_columns(columns, missing, counts)
    masks: dict[str, Any] = {}
    counted: dict[str, Any]
    if is_of_numbers:
        numbers = {name: to_numbers(one, name) for name, one in outcomes.items()}
        counted = regression_metrics(numbers.get("y_true"), numbers["y_pred"])
    else:
        positive = find_positive_multiclass(*outcomes.values(), pos_label=audit.pos_label)
        masks = {name: one == positive for name, one in outcomes.items()}
        counted = {CALIBRATION: (masks.get("y_true"), None)}
        if "y_pred" in masks:
            counted |= binary_metrics(masks.get("y_true"), masks["y_pred"], None)
    counted = select_known_outcomes(counted, audit.columns)
    searches, members = [], []
    for name in names:
        values, mask = counted[name]
        rows = np.arange(len(values)) if mask is None else np.flatnonzero(mask)
        conditioned = encoded
        compare = MeansFromRest if is_of_numbers else FromRest
        comparison: Comparison = compare(values[rows], counts[rows])
        if name == CALIBRATION:
            probabilities = _find_probabilities(audit)
            one = pd.Series(probabilities)
            conditioned = [*encoded, _encode_levels(_PROBABILITY, one, "error", counts)]
            comparison = FromProbabilities(values[rows], counts[rows], probabilities[rows])
        _check_effort(conditioned, max_conditions, len(counts))
        restricted = [column._replace(codes=column.codes[rows]) for column in conditioned]
        family = _count_subgroups(restricted, comparison, max_conditions, audit.min_group_size)
        _check_any_subgroup(family, name)
        search = _search_metric(name, family, level, direction, len(names))
        searches.append(search)
        family = family._replace(columns=conditioned)
        members += [family.mask(subgroup) for subgroup in search[1]]
    tables, _, summaries = zip(*searches, strict=True)
    flagged = pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True)
    source = collect_facts(audit.source, positive_label=audit.pos_label)
    report = SubgroupReport(
        flagged=flagged,
        searches=pd.DataFrame(summaries),
        confidence_level=level,
        direction=direction,
        source=source,
        reading=_read_bins_of_search(_read_unknown(audit.reading), encoded, counts),
        assumption=_describe_assumption(audit, names),
    )
    if min_published is None:
        return report
    if is_of_numbers:
        raise argument_error(
            "min_published protects counts of decisions, not means of numbers. Leave it out, or "
            "search decisions, such as whether a number is above a threshold."
        )
    outcome = sum(2 * number * mask for number, mask in enumerate(masks.values(), 1))
    if "has_outcome" in audit.columns:
        outcome = np.where(audit.columns["has_outcome"], outcome, 1 + outcome)
    is_shown = select_published(members, outcome, counts, check_minimum(min_published))
    return _protect_search(report, is_shown, audit.n_samples)


def _describe_assumption(audit: AuditData, names: list[str]) -> str:
    """Return what rates of both decisions assume of outcomes that are missing; empty if nothing."""
    rates = [RATES.get(one) for one in filter(needs_outcome, names)]
    of_both = [one is None or (one.needs_target and one.decision is None) for one in rates]
    outcomes = audit.known_outcomes
    return outcomes.assumption if outcomes is not None and any(of_both) else ""


def _read_bins_of_search(
    reading: Reading, columns: list[_EncodedColumn], counts: np.ndarray
) -> Reading:
    """The reading of a search, which lists the bins of numbers with their samples."""
    read = [*reading.columns]
    places = [place for place, one in enumerate(read) if one.role == "group"]
    for place, column in zip(places, columns, strict=False):
        ranges = column.texts[: column.groups.start]
        # Ranges of one level are bins, which all ranges consist of.
        bins = {
            text: int(counts[condition[column.codes]].sum())
            for text, condition in zip(ranges, column.conditions, strict=False)
            if condition.sum() == 1
        }
        if bins:
            read[place] = read[place]._replace(notation="numbers", labels=bins)
    return replace(reading, columns=tuple(read))


def _read_unknown(reading: Reading) -> Reading:
    """The reading of a search, in which samples of unknown group are part of the rest."""
    unknown = "samples of unknown group are left out"
    reasons = [one for one in reading.left_out if one.startswith(unknown)]
    left_out = {one: n for one, n in reading.left_out.items() if one not in reasons}
    for reason in reasons[: max(1, len(reasons) - 1)]:  # the last of several is of all of them
        name = reason.removeprefix(unknown).removeprefix(" by ") or "group"
        left_out[f"samples of unknown {name} meet no condition on it"] = reading.left_out[reason]
    return replace(reading, left_out=left_out)


def _protect_search(report: SubgroupReport, is_shown: np.ndarray, n_samples: int) -> SubgroupReport:
    """The report of some listed subgroups, without numbers that show the others."""
    listed = report.flagged[report.flagged["is_listed"]]
    searches = report.searches.copy()
    # A limit of two decimals is that of many counts.
    searches["largest_possible"] = np.ceil(100.0 * searches["largest_possible"]) / 100.0
    source = {name: one for name, one in report.source.items() if name != "sha256"}
    n_hidden = len(listed) - sum(is_shown)
    text = f"{n_hidden} of {len(listed)} listed subgroups, and " * bool(n_hidden)
    return replace(
        report,
        flagged=listed[is_shown].reset_index(drop=True),
        searches=searches,
        source=source | {"suppressed": f"{text}the subgroups that are not listed"},
        reading=report.reading.protect(n_samples, {}),
    )


# Checks of the arguments of a search.


_MISSING_OPTIONS = ("error", "group", "exclude")


def _check_metrics(metrics: Metrics, columns: dict[str, np.ndarray]) -> list:
    """Names of the metrics, without repetition; of prediction sets it is their coverage."""
    is_list = np.iterable(metrics) and not isinstance(metrics, str)
    names = list(dict.fromkeys(metrics)) if is_list else [metrics]
    if "covered" in columns and names in (["coverage"], ["selection_rate"]):
        return ["coverage"]
    for name in names or [metrics]:
        if name not in (*REPORTED_RATES, CALIBRATION):
            raise argument_error(
                f"metrics must be one of {[*REPORTED_RATES, CALIBRATION]}, or several; got "
                f"{name!r}. Search "
                "another quantity as decisions, such as Audit.from_predictions(None, losses > 1, "
                "...) for a share of large losses; certify its gap between known groups."
            )
        if "y_true" not in columns and name != "selection_rate":
            raise argument_error(
                f"y_true must hold true classes, with which metrics={name!r} compares. "
                "Pass them, or leave metrics out to compare selection rates."
            )
    return names


def _check_means(metrics: Metrics, columns: dict[str, np.ndarray]) -> list:
    """Names of the means that are compared, without repetition; by default the mean prediction."""
    is_list = np.iterable(metrics) and not isinstance(metrics, str)
    names = list(dict.fromkeys(metrics)) if is_list else [metrics]
    if names == ["selection_rate"]:
        return ["mean_prediction"]
    known = [*MEANS] if "y_true" in columns else ["mean_prediction"]
    for name in names or [metrics]:
        if name not in known:
            raise argument_error(
                f"metrics must be one of {known} for predicted numbers"
                f"{' without outcomes' * (len(known) == 1)}, or several; got {name!r}."
            )
    return names


MEANS = ("mean_prediction", "mean_error", "mean_absolute_error", "mean_target")
"""Means of numbers that are searched."""


def _find_probabilities(audit: AuditData) -> np.ndarray:
    """The scores of an audit as probabilities; a ValueError where they are none."""
    if "y_score" not in audit.columns:
        raise argument_error(
            f"{CALIBRATION} compares outcomes with probabilities, so pass these as y_score=."
        )
    return check_unit_range(to_numbers(audit.columns["y_score"], "y_score"), "y_score")


def _check_can_search(audit: AuditData) -> None:
    """Raise for an audit of something else than decisions about samples of equal weight."""
    if audit.task == "clustering":
        raise ValueError(
            "A search of subgroups compares decisions between two classes, or means of predicted "
            "numbers, but these are clusters."
        )
    if not audit.samples.groups.is_disjoint or audit.known.labels is None:
        raise argument_error(
            "sensitive_features must be columns whose conditions are searched, but a sparse matrix "
            "of overlapping groups or probabilities were passed; pass a DataFrame of attributes."
        )
    if not audit.samples.is_equally_weighted:
        raise ValueError(
            "A search of subgroups counts samples of equal weight, but these have sample_weight. "
            "Its limits hold for all subgroups together, and so far in the tails those of weighted "
            "samples err several times as often as stated (python -m benchmarks tails). Draw "
            "samples without weights, each with probability w / w.max(); or leave sample_weight "
            "out, to search the samples as they are."
        )


def _refuse_outcomes(columns: TableLike, outcomes: dict[str, np.ndarray]) -> None:
    """Raise for a column of outcomes, which would be the worst subgroup by construction."""
    names = attribute_names(columns) or []
    for number, column in enumerate(attribute_columns(columns)):
        for outcome, values in outcomes.items():
            if np.array_equal(np.asarray(column, dtype=object), values.astype(object)):
                name = names[number] if names else number
                raise ValueError(
                    f"The column {name!r} of sensitive_features equals {outcome}, so that it says "
                    "nothing about subgroups; leave it out."
                )


def _check_effort(columns: list[_EncodedColumn], max_conditions: int, n_samples: int) -> None:
    """Raise for a search that would take hours."""
    # Sums of products of the numbers of conditions over all sets of columns.
    sums = [1, *[0] * max_conditions]
    for column in columns:
        for depth in range(max_conditions, 0, -1):
            sums[depth] += sums[depth - 1] * len(column.texts)
    n_sets = sum(comb(len(columns), depth) for depth in range(1, max_conditions + 1))
    if sum(sums[1:]) > _MAX_SUBGROUPS or n_sets * n_samples > _MAX_VISITS:
        raise ValueError(
            f"A search must have at most {_MAX_SUBGROUPS:,} subgroups, and {_MAX_VISITS:,} samples "
            f"times sets of columns, but this one has {sum(sums[1:]):,} and "
            f"{n_sets * n_samples:,}. Pass fewer columns, or a smaller max_conditions."
        )


def _check_any_subgroup(family: _SearchedSubgroups, metric: str) -> None:
    """Raise if no subgroup is large enough to be searched."""
    if not len(family.n):
        rest = ", with as many in the rest" * family.comparison.needs_rest
        raise ValueError(
            f"No subgroup has {family.min_size:,} of the {int(family.total[0]):,} samples of the "
            f"{metric}{rest}. Pass a smaller min_group_size, more samples, or columns with several "
            "levels."
        )
