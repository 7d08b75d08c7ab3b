"""Tables of a report: its metrics, their estimates, and every gap with its limits."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse, special, stats

from skfair._groups import Groups
from skfair._groups.groups import sort_labels
from skfair._groups.known import MISSING, is_like_unknown
from skfair._statistics.common_differences import common_difference, common_mean_difference
from skfair._statistics.estimates import LogRates, contrast_matrix, pairwise_contrasts
from skfair._statistics.gaps import Interval, gap_lower_limit
from skfair._utils.checks import argument_error
from skfair.constraints import RangeGap, RatioGap

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from skfair._statistics.estimates import Estimates
    from skfair._utils.api import AttributeName, GroupName
    from skfair.audit._report_data import ReportData


# Tables of a report: every metric of every group, with limits, and the gaps.


OVERALL = "overall"
"""Name of the grouping of all samples."""


class Grouping(NamedTuple):
    """What a table divides samples by: an attribute or all of them, perhaps within a stratum.

    Its text is such as "sex" or "sex | region = north".
    """

    attribute: str
    stratum: str = ""

    def __str__(self) -> str:
        return f"{self.attribute} | {self.stratum}" if self.stratum else self.attribute


GROUPING = [*Grouping._fields]
"""Columns of a table that name the grouping of a row."""


def read_grouping(row: Any) -> Grouping:
    """Return the grouping of a row of a table."""
    return Grouping(row["attribute"], row["stratum"])


def list_groupings(frame: pd.DataFrame) -> list[Grouping]:
    """Return the groupings of a table in their order, but for that of all samples."""
    rows = frame.loc[frame["attribute"] != OVERALL, GROUPING].drop_duplicates()
    return [Grouping(*row) for row in rows.itertuples(index=False)]


OUTCOME_METRICS = ("selection_rate", "mean_prediction", "scoring_rate", "coverage")
"""Metrics of outcomes; the first that a report has is its main metric."""

_METRICS_OF_ALL = (*OUTCOME_METRICS, "mean_probability")
"""Metrics that need no outcome."""


def needs_outcome(name: str) -> bool:
    """Return whether a metric of a report, by its name, counts samples with an outcome."""
    return name.partition(" of class ")[0] not in _METRICS_OF_ALL


OUTCOME_SHARE = "share of rows with outcome "
"""What the names of shares of outcomes begin with, which data without a model have."""

MAX_GROUPS = 1000
"""Maximum number of groups of one grouping in a report."""


def groupings(groups: Groups) -> dict[str, Groups]:
    """Groups by every single attribute, and by all of them together: name -> Groups."""
    if not groups.is_disjoint:
        return {"group": groups}
    # Names as text; they must remain distinct.
    names = [attribute_name(name, number) for number, name in enumerate(groups.attributes)]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise ValueError(
            f"Attributes of sensitive_features must differ in name as text, but {len(repeated)} of "
            f"{list(groups.attributes)} are called {repeated[0]!r}; rename the columns."
        )
    # Groups by each attribute, then by the combinations of all.
    by_name = {}
    for name, column in zip(names, groups.labels.T, strict=True):
        values, codes = sort_labels(column)
        by_name[name] = groups.regroup(codes[groups.codes], values[:, np.newaxis])
    if len(names) > 1:
        by_name[group_text(tuple(names))] = groups
    for name, one in by_name.items():
        if len(one.labels) > MAX_GROUPS:
            raise ValueError(
                f"A report shows every group, but by {name} there are {len(one.labels)}, more than "
                f"{MAX_GROUPS}. Leave the column out if it is an id; bin numbers, as in "
                "pd.cut(values, 5)."
            )
    return by_name


def exclude_missing(by_name: dict[str, Groups]) -> dict[str, Groups]:
    """The same groupings without the groups of missing values."""
    return {name: _select_known(name, groups) for name, groups in by_name.items()}


def _select_known(name: str, groups: Groups) -> Groups:
    """Groups whose attributes are all known; other samples are in none."""
    is_known = ~missing_attribute_mask(groups)
    if is_known.all():
        return groups
    if not is_known.any():
        raise ValueError(
            f"No sample has a known group by {name}, so there is nothing to report. Leave the "
            'attribute out, or pass missing="group".'
        )
    return groups.select(np.flatnonzero(is_known))


def missing_attribute_mask(groups: Groups) -> np.ndarray:
    """Mask of the groups with a missing value of an attribute."""
    return (groups.labels == MISSING).any(axis=1)


def is_missing_group(name: str) -> bool:
    """Whether a group, as text, has a missing value of an attribute."""
    return MISSING in name.split(_INTERSECTION_SEPARATOR)


def count_missing(by_name: dict[str, Groups]) -> dict[str, int]:
    """Number of samples with a missing value, by grouping."""
    return {
        name: int(groups.counts[missing_attribute_mask(groups)].sum())
        for name, groups in by_name.items()
    }


def groups_like_unknown(frame: pd.DataFrame) -> list:
    """Attribute, group and number of samples of labels that look like an unknown group.

    Combinations of attributes are left out, because they repeat the labels.
    """
    attributes = [name for name in frame["attribute"].unique() if name != OVERALL]
    single = single_attributes(attributes)
    rows = frame[frame["attribute"].isin(single) & frame["group"].map(is_like_unknown)]
    sizes = rows.groupby(["attribute", "group"], sort=False)["n"].max()
    return [(attribute, group, int(n)) for (attribute, group), n in sizes.items()]


def stratify_groupings(
    by_name: dict[str, Groups], codes: np.ndarray, strata: Groups
) -> dict[Grouping, Groups]:
    """The groupings within each stratum.

    `codes` are the strata of the samples, `strata` the groups with their labels.
    """
    within = {}
    for code in np.unique(codes):
        text = _stratum_text(strata, code)
        inside = sparse.diags_array((codes == code).astype(float))
        for name, groups in by_name.items():
            matrix = sparse.csr_array(inside @ groups.matrix)
            matrix.eliminate_zeros()
            members = Groups(
                groups.labels,
                matrix=matrix.astype(bool),
                ranks=groups.ranks,
                multiplicity=groups.multiplicity,
            )
            within[Grouping(name, text)] = members.select(np.flatnonzero(members.counts))
    return within


def _stratum_text(strata: Groups, code: int) -> str:
    """A stratum as text, such as "region = north"; without names of features the labels alone."""
    labels = strata.labels[code]
    names = strata.attributes or range(len(labels))
    return ", ".join(
        f"{name} = {label}" if isinstance(name, str) else str(label)
        for name, label in zip(names, labels, strict=True)
    )


def is_about_outcomes(frame: pd.DataFrame) -> bool:
    """Whether a table is about the outcomes of data without a model."""
    return bool(frame["metric"].str.startswith((OUTCOME_SHARE, "mean_target")).all())


def single_attributes(attributes: list[str]) -> list[str]:
    """Names of groupings by one attribute, without that of the combinations of all."""
    *single, last = attributes
    is_combined = len(single) > 1 and last == group_text(tuple(single))
    return single if is_combined else attributes


def attribute_name(name: AttributeName, number: int) -> str:
    """An attribute as text: columns without names are numbered from 1 on."""
    return f"attribute {number + 1}" if isinstance(name, (int, np.integer)) else name_as_text(name)


def name_as_text(name: Any) -> str:
    """Name of an attribute as text, in quotes if it is that of all samples."""
    return repr(name) if name == OVERALL else str(name)


def group_text(group: GroupName) -> str:
    """A group as text, as in "f × old"; other groups of the same attributes have other texts.

    Of several labels, those with the sign × or an initial quotation mark are in quotes.
    """
    return (
        _INTERSECTION_SEPARATOR.join(map(_quote_label, group))
        if isinstance(group, tuple)
        else str(group) or "''"
    )


_INTERSECTION_SEPARATOR = " × "


def _quote_label(label: int | str) -> str:
    text = str(label)
    is_clear = _INTERSECTION_SEPARATOR.strip() not in text and text[:1] not in ("'", '"', "")
    return text if is_clear else repr(text)


def bonferroni_level(level: float, n_groups: int, n_tables: int) -> float:
    """Level of each comparison at which those of any two groups in all tables hold together.

    Whichever group the data choose as reference, its comparisons are among these.
    """
    return 1.0 - (1.0 - level) / (max(1, n_tables) * max(1, n_groups * (n_groups - 1) // 2))


def comparison_columns(
    estimates: Estimates, level: float, reference: int | None, comparison_level: float
) -> dict[str, np.ndarray]:
    """Values of groups with limits, and differences and ratios to a reference, or nan, by name."""
    n = len(estimates.values)
    # Values and their limits, each at the level by itself.
    low, high = estimates.limits((1.0 + level) / 2.0)
    end = (1.0 + comparison_level) / 2.0
    nothing = np.full(n, np.nan)
    columns = {"estimate": estimates.values, "low": low, "high": high}
    names = ("difference", "difference_low", "difference_high", "ratio", "ratio_low", "ratio_high")
    columns |= dict.fromkeys(names, nothing)
    if reference is None or n < 2:
        return columns
    # Differences and ratios of the other groups to the reference.
    others, against = _reference_contrasts(n, reference)
    comparisons: tuple[np.ndarray, ...] = differences_with_limits(estimates, against, end)
    if estimates.are_rates:
        comparisons += _ratios_with_limits(estimates.favourable, against, end, others, reference)
    for name, values in zip(names, comparisons, strict=False):
        columns[name] = nothing.copy()
        columns[name][others] = values
    return columns


def _reference_contrasts(n: int, reference: int | np.intp) -> tuple[np.ndarray, sparse.csr_array]:
    """All groups but the reference, and contrasts of +1 and -1 of each to it."""
    others = np.delete(np.arange(n), reference)
    return others, contrast_matrix(others, np.full(n - 1, reference), n)


def impact_ratios(
    estimates: Estimates, level: float, is_left_out: np.ndarray
) -> dict[str, np.ndarray]:
    """Ratios of rates to the largest of a group that is not left out, with limits.

    They are nan where there are no rates, or all are 0, and so are the limits of the group with
    the largest rate. If all groups are left out, the largest rate of all counts.
    """
    n = len(estimates.values)
    names = ("impact_ratio", "impact_ratio_low", "impact_ratio_high")
    columns = {name: np.full(n, np.nan) for name in names}
    if not estimates.are_rates:
        return columns
    # The denominator: the largest rate among groups that are known and not small.
    eligible = np.where(is_left_out & ~is_left_out.all(), -np.inf, estimates.values)
    largest = np.round(eligible, 12).argmax()  # the first of equal ones, despite rounding
    columns["impact_ratio"][largest] = 1.0 if estimates.values[largest] > 0 else np.nan
    if n > 1 and estimates.values[largest] > 0:
        others, against = _reference_contrasts(n, largest)
        ratios = _ratios_with_limits(estimates, against, (1.0 + level) / 2.0, others, largest)
        for name, values in zip(names, ratios, strict=True):
            columns[name][others] = values
    return columns


def _use_impact_ratios(columns: dict[str, np.ndarray], is_reference: np.ndarray) -> None:
    """Let ratios to a reference be impact ratios, if the reference has the largest rate."""
    if (columns["impact_ratio"][is_reference] == 1.0).any():
        for name in ("ratio", "ratio_low", "ratio_high"):
            columns[name] = np.where(is_reference, np.nan, columns[f"impact_{name}"])


def _find_impact_ratio(
    columns: dict[str, np.ndarray], names: np.ndarray, gap: dict
) -> dict[str, float]:
    """The ratio of a gap and its limits, by name: the lower impact ratio of its two groups.

    {} where the other one has no impact ratio of 1, as that of missing values.
    """
    ends = np.flatnonzero(np.isin(names, [gap["lowest"], gap["highest"]]))
    at, best = ends[columns["impact_ratio"][ends].argsort()]
    if columns["impact_ratio"][best] != 1.0:
        return {}
    return {name: columns[f"impact_{name}"][at] for name in ("ratio", "ratio_low", "ratio_high")}


def differences_with_limits(
    estimates: Estimates, against: sparse.csr_array, end: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Differences to the reference and their limits."""
    return (
        against @ estimates.values,
        -estimates.upper(-against, end),
        estimates.upper(against, end),
    )


def _ratios_with_limits(
    rates: Estimates,
    against: sparse.csr_array,
    end: float,
    others: np.ndarray,
    reference: int | np.intp,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ratios to the reference and their limits; nan where its rate is 0."""
    base = rates.values[reference]
    ratios = rates.values[others] / base if base > 0 else np.full(len(others), np.nan)
    # Limits of a ratio are those of the difference of log rates.
    _, low, high = differences_with_limits(LogRates(rates), against, end)
    return ratios, np.exp(low), np.exp(high)


def gap_row(
    estimates: Estimates, level: float, compared: np.ndarray, names: np.ndarray
) -> dict[str, float | str | None]:
    """The gap among the compared groups, the ratio of their rates and their limits, as a dict.

    ``lowest`` and ``highest`` name the groups, and are None where all are equal.
    """
    gap = ratio = Interval(np.nan, np.nan, np.nan)
    row: dict[str, float | str | None] = {"lowest": None, "highest": None}
    if len(compared) > 1:
        blocks = (tuple(compared.tolist()),)
        gap = RangeGap(blocks).interval(estimates, level)
        values = estimates.values[compared]
        if not values.min() == values.max():
            lowest, highest = names[compared[[values.argmin(), values.argmax()]]]
            row = {"lowest": lowest, "highest": highest}
        if estimates.are_rates:
            # 1 minus the ratio
            rates = estimates.favourable
            values = rates.values[compared]
            shortfall = RatioGap(blocks).interval(rates, level)
            smallest = values.min() / values.max() if values.max() > 0 else 1.0
            ratio = Interval(smallest, 1.0 - shortfall.high, 1.0 - shortfall.low)
    row |= {"gap": gap.estimate, "gap_low": gap.low, "gap_high": gap.high}
    return row | {"ratio": ratio.estimate, "ratio_low": ratio.low, "ratio_high": ratio.high}


def compared_contrasts(estimates: Estimates, compared: np.ndarray) -> sparse.csr_array:
    """Build one row per ordered pair of compared groups, +1 at one and -1 at the other."""
    pairs = pairwise_contrasts(len(compared))
    entries = pairs.data, compared[pairs.indices], pairs.indptr
    return sparse.csr_array(entries, shape=(pairs.shape[0], len(estimates.values)))


def significance_mask(compared: list[tuple[Estimates, np.ndarray]], level: float) -> np.ndarray:
    """Mask of the gaps that are above 0, by Holm's step-down procedure.

    Each gap is a pair of estimates and of the groups that are large enough. With the level as
    probability, no gap that is 0 in the population is among them.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6, 1979.
    """
    remaining = {
        number: (estimates, compared_contrasts(estimates, groups))
        for number, (estimates, groups) in enumerate(compared)
        if len(groups) > 1
    }
    is_significant = np.zeros(len(compared), dtype=bool)
    while remaining:
        # The error is divided among the gaps that are not yet shown to be above 0.
        each = 1.0 - (1.0 - level) / len(remaining)
        above = [n for n, one in remaining.items() if gap_lower_limit(*one, each) > 0.0]
        if not above:
            break
        is_significant[above] = True
        remaining = {n: one for n, one in remaining.items() if not is_significant[n]}
    return is_significant


def tabulate_report(
    estimators: dict[str, Callable],
    groupings: dict[Grouping, Groups],
    weights: np.ndarray,
    level: float,
    min_group_size: int,
    chosen: dict,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """DataFrames of all rows and all gaps of a report.

    `estimators` maps metrics to functions of groups and weights that return estimates and the
    groups they are of. `chosen` maps groupings to reference groups that the user named; other
    comparisons, and impact ratios, hold for all tables together.
    """
    # Estimate each metric for each grouping, and count the tables that share the error.
    estimated = {
        grouping: {name: estimator(groups, weights) for name, estimator in estimators.items()}
        for grouping, groups in groupings.items()
    }
    tables = [
        (grouping.attribute, name)
        for grouping, metrics in estimated.items()
        for name, (_, present) in metrics.items()
        if len(present) > 1
    ]
    # Impact ratios are a family by themselves: the only one with a verdict on ratios.
    n_ratio_tables = sum(one != OVERALL and has_impact_ratio(name) for one, name in tables)
    rows = []
    gaps = []
    compared = []
    for grouping, groups in groupings.items():
        names = np.array([group_text(name) for name in groups.names], dtype=object)
        metrics = estimated[grouping]
        reference = _reference_group(names, metrics, grouping, min_group_size, chosen)
        for name, (estimates, present) in metrics.items():
            if estimates is None:
                continue
            # Rows of one metric: values, comparisons with the reference, impact ratios.
            n = _group_sizes(estimates)
            at = np.flatnonzero(present == reference)
            joint = bonferroni_level(level, len(present), len(tables))
            reference_level = level if grouping in chosen else joint
            columns = comparison_columns(
                estimates, level, at[0] if len(at) else None, reference_level
            )
            by, stratum, metric = (
                np.full(len(n), text, dtype=object) for text in (*grouping, name)
            )
            about = {"attribute": by, "stratum": stratum, "group": names[present]}
            about |= {"metric": metric, "n": n}
            about["interval"] = np.full(len(n), estimates.interval, dtype=object)
            marks = {"is_small": n < min_group_size, "is_reference": present == reference}
            is_missing = np.array([is_missing_group(group) for group in names[present]])
            ratio_level = joint
            if has_impact_ratio(name):
                n_judged = (~marks["is_small"]).sum() or len(present)
                ratio_level = bonferroni_level(level, n_judged, n_ratio_tables)
            columns |= impact_ratios(
                estimates.favourable, ratio_level, marks["is_small"] | is_missing
            )
            if has_impact_ratio(name):
                _use_impact_ratios(columns, marks["is_reference"])
            rows.append(about | columns | marks)
            if grouping.attribute == OVERALL:
                continue
            # Its gap, among the groups that are large enough.
            compared.append((estimates, np.flatnonzero(n >= min_group_size)))
            gap = gap_row(estimates, level, compared[-1][1], names[present])
            if has_impact_ratio(name) and gap["lowest"] is not None:
                gap |= _find_impact_ratio(columns, names[present], gap)
            gaps.append({**grouping._asdict(), "metric": name, **gap})
    gap_names = [*GROUPING, "metric", "lowest", "highest", "gap", "gap_low", "gap_high"]
    gap_names += ["ratio", "ratio_low", "ratio_high"]
    gaps = pd.DataFrame(gaps, columns=gap_names)
    gaps["is_significant"] = significance_mask(compared, level)
    # Concatenate columns, not frames, which would take longer than all estimates.
    frame = {column: np.concatenate([row[column] for row in rows]) for column in rows[0]}
    return pd.DataFrame(frame), gaps


def _reference_group(
    names: np.ndarray,
    metrics: dict[str, tuple[Estimates | None, np.ndarray]],
    grouping: Grouping,
    min_group_size: int,
    chosen: dict,
) -> int:
    """The chosen group, else that of the highest selection rate, prediction or number."""
    if grouping in chosen:
        at = np.flatnonzero(names == group_text(chosen[grouping]))
        if not len(at):
            raise argument_error(
                f"reference names the group {chosen[grouping]!r} of {grouping}, but its groups "
                f"are {names.tolist()}."
            )
        return at[0]
    # The group with the best outcome, if the report has one.
    known = {
        metric: (estimates, present)
        for metric, (estimates, present) in metrics.items()
        if estimates is not None
    }
    for metric in OUTCOME_METRICS:
        if metric in known:
            estimates, present = known[metric]
            # A group that is known and not small, if there is one.
            is_missing = np.array([is_missing_group(group) for group in names[present]])
            eligible = (_group_sizes(estimates) >= min_group_size) & ~is_missing
            eligible |= ~eligible.any()
            return present[
                np.where(eligible, np.round(estimates.favourable.values, 12), -np.inf).argmax()
            ]
    estimates, present = next(iter(known.values()))
    return present[_group_sizes(estimates).argmax()]


def _group_sizes(estimates: Estimates) -> np.ndarray:
    """Number of samples of each group; shares of samples that add up to a whole number are one."""
    return np.round(getattr(estimates, "counts", estimates.sizes), 9)


# Adverse impact of selections: four-fifths rule, significance and shortfall of each group.
#
# 29 CFR 1607.4(D), the Uniform Guidelines on Employee Selection Procedures of the United States.


IMPACT_RATES = ("selection_rate", "scoring_rate", "spared_rate")
"""Rates that the law compares by ratios: of decisions, of scores above the median, and of samples
that a decision spares which is a burden."""


def has_impact_ratio(metric: str) -> bool:
    """Whether a metric is a rate that the law compares by ratios, perhaps of one class."""
    return metric.split(" of class ")[0] in IMPACT_RATES


def find_spared(report: ReportData) -> pd.DataFrame:
    """The table of a report; of a burden that of the shares of samples that are spared."""
    frame = report.frame
    if report.reading.burden is None:
        return frame
    rows = frame[frame["metric"] == "selection_rate"]
    return rows.assign(metric="spared_rate", estimate=1.0 - rows["estimate"])


def adverse_impact(
    frame: pd.DataFrame,
    n_samples: int,
    min_share: float,
    hidden: Collection[str] = (),
) -> pd.DataFrame:
    """DataFrame of the comparisons with the most selected group, from the rows of a report.

    They are nan by the attributes `hidden` if the most selected group is not published.
    """
    rows = frame[(frame["attribute"] != OVERALL) & frame["metric"].map(has_impact_ratio)]
    tables = []
    for (_, attribute, stratum), group_rows in rows.groupby(["metric", *GROUPING], sort=False):
        table = group_rows[[*GROUPING, "group", "metric", "n"]].reset_index(drop=True)
        table["n"] = table["n"].astype(int)
        table["n_selected"] = (
            (group_rows["n"] * group_rows["estimate"]).round().astype(int).to_numpy()
        )
        table["estimate"] = table["n_selected"] / table["n"]
        # A stratum is judged by its own samples.
        n_all = table["n"].sum() if stratum else n_samples
        table["is_excluded"] = table["n"] < min_share * n_all
        is_best_hidden = group_rows["impact_ratio"].isna().all() and attribute in hidden
        compared = _compare_groups(table.assign(is_excluded=True) if is_best_hidden else table)
        tables.append(table.join(compared))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _compare_groups(table: pd.DataFrame) -> pd.DataFrame:
    """Columns of all groups against the most selected one; nan for excluded groups."""
    included = table[~table["is_excluded"]]
    rows = []
    if len(included):
        # The most selected of the known groups, if there are any.
        known = included[~included["group"].map(is_missing_group)]
        best = (known if len(known) else included)["estimate"].idxmax()
        counts = table[["n", "n_selected"]].to_numpy().tolist()
        adjusted = _adjust_p_values(
            [counts[row] for row in included.index], included.index.get_loc(best)
        )
        rows = [
            (*_compare_counts(*counts[row], *counts[best]), p_value)
            for row, p_value in zip(included.index, adjusted, strict=True)
        ]
    columns = (
        *("impact_ratio", "standard_deviations", "p_value", "shortfall"),
        "adjusted_p_value",
    )
    return pd.DataFrame(rows, included.index, columns).reindex(table.index).astype(float)


def _compare_counts(n: int, selected: int, n_best: int, selected_best: int) -> tuple[float, ...]:
    """Comparisons of a group with the most selected one, in the order of their columns."""
    # Ratio of the rates, rounded once.
    ratio = selected * n_best / (n * selected_best) if selected_best else np.nan
    # Difference of the rates in standard errors of the pooled rate.
    pooled = (selected + selected_best) / (n + n_best)
    error = np.sqrt(pooled * (1.0 - pooled) * (1.0 / n + 1.0 / n_best))
    deviations = (selected / n - selected_best / n_best) / error if error > 0 else np.nan
    p_value = _test_equal_rates(n, selected, n_best, selected_best)
    # Smallest number of further selections that makes the rate equal or larger, in integers.
    shortfall = -(-n * selected_best // n_best) - selected
    return ratio, deviations, p_value, shortfall


def _test_equal_rates(n: int, selected: int, n_other: int, selected_other: int) -> float:
    """P-value of Fisher's exact test of equal rates, two-sided."""
    table = [[selected, n - selected], [selected_other, n_other - selected_other]]
    return float(stats.fisher_exact(table).pvalue)


_MAX_HOLM_GROUPS = 16
"""Number of groups up to which all pairs are tested; of more, Bonferroni's bound is as valid."""


def _adjust_p_values(counts: Sequence[Sequence[int]], best: int) -> np.ndarray:
    """P-values of all groups against the one at `best`, adjusted for all pairs by Holm's procedure.

    They hold whichever group is the best. `counts` are numbers of samples and of selected ones.
    """
    n_groups = len(counts)
    n_pairs = n_groups * (n_groups - 1) // 2
    tests_all_pairs = n_groups <= _MAX_HOLM_GROUPS
    pairs = [pair for pair in combinations(range(n_groups), 2) if tests_all_pairs or best in pair]
    p_values = np.array([_test_equal_rates(*counts[a], *counts[b]) for a, b in pairs])
    order = np.argsort(p_values, kind="stable")
    steps = n_pairs - np.arange(len(pairs)) if tests_all_pairs else np.full(len(pairs), n_pairs)
    holm = np.empty(len(pairs))
    holm[order] = np.minimum(np.maximum.accumulate(steps * p_values[order]), 1.0)
    adjusted = np.ones(n_groups)
    for pair, p_value in zip(pairs, holm, strict=True):
        if best in pair:
            adjusted[sum(pair) - best] = p_value
    return adjusted


# Differences adjusted for strata.


ADJUSTED_MEANS = ("mean_target", "mean_prediction", "mean_error")
"""Means of numbers that are compared within strata, in their own units."""


def adjust_differences(
    frame: pd.DataFrame, level: float, named_references: tuple[str, ...]
) -> pd.DataFrame:
    """DataFrame of the differences of groups within strata, from the rows of a report.

    `level` is that of the frame's limits. Limits of differences hold for all rows together. A
    reference that the data chose, and not the user for one of the attributes `named_references`,
    may be any group, so all pairs of groups share the error.
    """
    rows = []
    cells = []
    n_comparisons = 0
    if not frame["stratum"].any():
        return pd.DataFrame()
    is_mean = frame["metric"].isin(ADJUSTED_MEANS)
    adjusted = frame[is_mean | frame["metric"].map(has_impact_ratio)]
    for (attribute, metric), table in adjusted.groupby(["attribute", "metric"], sort=False):
        is_stratum = table["stratum"] != ""
        marginal = table[~is_stratum].set_index("group")
        within = table[is_stratum].pivot(index="group", columns="stratum")
        references = marginal.index[marginal["is_reference"]]
        groups = marginal.index[~marginal["is_reference"] & ~marginal["is_small"]]
        n = len(groups)
        n_comparisons += n if attribute in named_references else n * (n + 1) // 2
        for group, reference in product(groups, references):
            # The two groups in the strata that have both, one row for each.
            pair = within.reindex([group, reference])
            sizes = pair["n"].dropna(axis=1)
            if not sizes.size:
                continue
            columns = ("estimate", "low", "high")
            means, low, high = (pair[name][sizes.columns].to_numpy() for name in columns)
            sizes = sizes.to_numpy()
            errors = _standard_errors(means, low, high, sizes, level)
            cells.append((sizes, means, errors))
            rows.append(
                {
                    "attribute": attribute,
                    "metric": metric,
                    "group": group,
                    "reference": reference,
                    "n_strata": sizes.shape[1],
                    "n": int(sizes.sum()),
                    "difference": marginal["estimate"][group] - marginal["estimate"][reference],
                    "mean_difference": np.average(means[0] - means[1], weights=sizes.sum(axis=0)),
                }
            )
    for row, (sizes, means, errors) in zip(rows, cells, strict=True):
        each = 1.0 - (1.0 - level) / n_comparisons
        if row["metric"] in ADJUSTED_MEANS:
            limits = common_mean_difference(sizes, means, errors, each)
        else:
            limits = common_difference(sizes, np.round(sizes * means), each)
        row |= dict(zip(("common_difference", "low", "high"), limits, strict=True))
    return pd.DataFrame(rows)


def _standard_errors(
    means: np.ndarray, low: np.ndarray, high: np.ndarray, sizes: np.ndarray, level: float
) -> np.ndarray:
    """Standard errors of means from their limits, the closer of which is Student's; nan of one."""
    quantiles = special.stdtrit(np.where(sizes > 1, sizes - 1.0, np.nan), (1.0 + level) / 2.0)
    return np.minimum(high - means, means - low) / quantiles
