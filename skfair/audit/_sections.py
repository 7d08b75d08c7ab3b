"""Sections of a report: sentences and tables."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from skfair._columns.reading import Folded
from skfair._groups.known import MISSING
from skfair._utils.checks import join_names
from skfair.audit._formats import (
    FACT_TITLES,
    Markup,
    draw_curves,
    render_strip,
    tabulate_facts,
    titled_facts,
)
from skfair.audit._front import (
    OF_ALL_OUTCOMES,
    OVERALL_METRICS,
    chance_clause,
    counts_outcomes,
    describe_front,
    describe_in_report,
    draw_limited,
    error_metric_mask,
    find_axis,
    find_ends,
    find_headline_gaps,
    find_rows,
    glance_table,
    is_zero_gap,
    largest_groups,
    list_main_numbers,
    metric_table,
    outcomes_clause,
    primary_metrics,
    rate_table,
    report_quantity,
    state_ratio,
    tabulate_rates,
)
from skfair.audit._population import describe_empty_groups, describe_shares, share_tables
from skfair.audit._sentences import (
    RATIO,
    Quantity,
    confidence_text,
    describe_metric,
    describe_quantity,
    describe_unpublished,
    end_sentence,
    left_out_clause,
    read_limited,
    samples_clause,
    small_groups_note,
    value_cell,
)
from skfair.audit._tables import (
    GROUPING,
    IMPACT_RATES,
    OUTCOME_SHARE,
    OVERALL,
    Grouping,
    find_spared,
    groups_like_unknown,
    has_impact_ratio,
    is_about_outcomes,
    is_missing_group,
    list_groupings,
    read_grouping,
    single_attributes,
)
from skfair.audit._thresholds import describe_thresholds, threshold_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from skfair.audit._formats import Axis, Picture
    from skfair.audit._report_data import ReportData


# Sentences of a report: findings, and what the data cannot decide.


FOUR_FIFTHS = 0.8
"""Four-fifths (80 %) rule: ratio of selection rates below which the Uniform Guidelines on Employee
Selection Procedures of the United States see evidence of adverse impact."""


def findings(report: ReportData) -> list[str]:
    """Sentences on the data, the largest gap in outcomes, and the largest gap in errors."""
    gaps = report.gaps.dropna(subset=["gap"])
    sentences = [_describe_sample(report)]
    if about_outcomes := report.known_outcomes.get("sentence"):
        sentences.append(about_outcomes)
    sentences += report.reading.describe_bins()
    sentences += _describe_hidden(report)
    sentences += describe_empty_groups(report)
    if report.shares is not None:
        sentences.append(describe_shares(report.shares, report.confidence_level))
    if report.assumption:
        listed = join_names(f"{n:,} by {name}" for name, n in report.n_missing.items() if n)
        known = (
            f"The group is missing for {listed or 'no samples'}"
            if report.n_missing
            else "Groups are known as probabilities alone"
        )
        sentences.append(end_sentence(f"{known}: numbers of groups are right {report.assumption}"))
    if clusters := report.provenance.get("clusters"):
        sentences.append(end_sentence(f"Limits count clusters of samples, not samples: {clusters}"))
    is_said = (
        report.known_outcomes.get("case") in ("by_decision", "of_one_decision")
        or report.known_outcomes.get("missing") == "by_decision"
    )
    if report.n_without_outcome and not is_said:
        sentences.append(_describe_outcomes(report))
    if not len(gaps) and report.gaps["four_fifths"].any():
        return sentences
    if not len(gaps):
        return [*sentences, "No two groups are large enough to be compared."]
    outcome, error = find_headline_gaps(report)
    if outcome is not None:
        sentences.append(_describe_gap(report, outcome))
    sentences += _describe_adjusted(report)
    if report.thresholds is not None:
        sentences += describe_thresholds(report.thresholds, report.reading.burden)
    if error is not None:
        sentences.append(_describe_gap(report, error))
    balance = report.balance
    if balance is not None:
        sentences.append(
            f"The least balanced cluster has a balance of {balance.estimate:.2f} (its smallest "
            f"group over its largest). In the population the least balanced of the clusters that "
            f"occur here has a balance of at least {balance.low:.2f}, if these are held-out data."
        )
    return sentences


def _describe_hidden(report: ReportData) -> Iterator[str]:
    """Yield sentences on groups that are not published, and on what is compared with them."""
    if not report.unpublished:
        return
    yield describe_unpublished(report.unpublished)
    gaps = _select_named_gaps(report.gaps)
    gaps = gaps[gaps["gap"].isna() & gaps["attribute"].isin([*report.hidden])]
    for gap in gaps.to_dict("records"):
        if gap["is_significant"] or gap["four_fifths"]:
            verdict = "differs" if gap["is_significant"] else "differs perhaps by chance alone"
            rule = f", with a ratio {gap['four_fifths']}" if gap["four_fifths"] else ""
            title, meaning = describe_metric(gap["metric"], report.reading.burden)
            yield (
                f"{title} ({meaning}) {verdict} by {gap['attribute']}{rule}; gap and ratio are not "
                "printed, since they compare groups that are not published."
            )


def has_finding(report: ReportData) -> bool:
    """Whether a gap in outcomes or errors is significant."""
    return bool(_select_named_gaps(report.gaps)["is_significant"].any())


def _select_named_gaps(gaps: pd.DataFrame) -> pd.DataFrame:
    """Gaps in outcomes and errors, which findings are about."""
    return gaps[gaps["metric"].isin(primary_metrics(gaps)) | error_metric_mask(gaps)]


def _describe_sample(report: ReportData) -> str:
    """Sentence on the number of samples and groups, and on overall rates."""
    overall = report.frame[report.frame["attribute"] == OVERALL].set_index("metric")["estimate"]
    names = dict.fromkeys([*report.attributes, *report.hidden])
    last = [*names][-1]
    n_groups = report.frame.loc[report.frame["attribute"] == last, "group"].nunique()
    n_groups += report.hidden.get(last, [0])[0]
    quantities = {
        name: report_quantity(report, name) for name in OVERALL_METRICS if name in overall
    }
    known = [
        f"{one.noun} {one.value(overall[name])}{outcomes_clause(report, name)}"
        for name, one in quantities.items()
    ]
    rates = f" ({join_names(known)})" if known else ""
    small = left_out_clause(_find_small_groups(report))
    n_unknown = _count_without_group(report, last)
    if not n_unknown:
        text = samples_clause(report.n_samples, {last: n_groups})
        return f"{text} were audited{rates}{small}."
    inside = samples_clause(report.n_samples - n_unknown, {last: n_groups})
    inside = inside.replace("samples", "of them", 1)
    by = f" by {last}" * (len(names) > 1)
    unknown = f"{n_unknown:,} have no recorded group{by}"
    return end_sentence(
        f"{report.n_samples:,} samples were audited{rates}, {inside}; {unknown}{small}"
    )


def _count_without_group(report: ReportData, attribute: str) -> int:
    """Number of samples that no group of an attribute counts, since theirs is unknown."""
    rows = report.frame[report.frame["attribute"] == attribute]
    if report.assumption or rows["group"].map(is_missing_group).any():
        return 0
    return report.n_missing.get(attribute, 0)


def _find_small_groups(report: ReportData) -> dict[str | tuple[str, str], None]:
    """The groups that are too small to be compared by any metric.

    They are labels, and pairs with the grouping where several groupings have the label.
    """
    frame = report.frame[report.frame["attribute"] != OVERALL]
    is_small = frame.groupby([*GROUPING, "group"], sort=False)["is_small"].all()
    counts = is_small.index.get_level_values("group").value_counts()
    small = ((str(Grouping(*by)), group) for *by, group in is_small.index[is_small])
    return {(by, group) if counts[group] > 1 else group: None for by, group in small}


def find_left_out(rows: pd.DataFrame, metric: str) -> list[str]:
    """Names of the groups in rows of one grouping of which a metric counts too few samples."""
    is_compared = (rows["metric"] == metric) & ~rows["is_small"]
    compared = {*rows.loc[is_compared, "group"]}
    return [group for group in dict.fromkeys(rows["group"]) if group not in compared]


OUTCOME_SELECTION = (
    "If that depends on the decision, as with applicants who were refused, the rates of the others "
    "are not those of all."
)
"""What unknown outcomes may do to rates."""


def _describe_outcomes(report: ReportData) -> str:
    """Sentence on the samples whose outcome is unknown, and on groups without any that is known."""
    n, frame = report.n_without_outcome, report.frame
    is_complete = frame["metric"].isin(OF_ALL_OUTCOMES)
    is_complete |= frame["metric"].str.startswith(OUTCOME_SHARE)
    known = frame.loc[is_complete, "group"]
    groups = dict.fromkeys(frame.loc[~frame["group"].isin(known), "group"])
    others = f", none of them in {join_names(map(repr, groups))}" if groups else ""
    return (
        f"The outcomes of {n:,} samples are unknown. Numbers that need an outcome count the other "
        f"{report.n_samples - n:,}{others}."
    )


def _describe_gap(report: ReportData, gap: pd.Series) -> str:
    """One gap as a sentence."""
    name = gap["metric"]
    ends = find_ends(report, gap)
    quantity = report_quantity(report, name)
    title, meaning = describe_in_report(report, name)
    if is_zero_gap(quantity, gap, ends):
        equal = f"{quantity.value(ends['estimate'].iloc[0])} for all groups"
        rounded = "" if gap["gap"] == 0.0 else " up to rounding"
        text = f"{title} ({meaning}) is equal{rounded} by {read_grouping(gap)}: {equal}"
        if gap["gap_high"] > 0.0:
            text += f"; in the population {_possible_gap_clause(quantity, gap)}"
        return f"{text}."
    if report.assumption:
        how = "of known group, estimated for all" if report.n_missing else "by their probabilities"
        quantity = quantity._replace(counted=f"{quantity.counted} {how}")
    if counts_outcomes(report, name) and "outcome" not in quantity.counted:
        quantity = quantity._replace(counted=f"{quantity.counted} whose outcome is known")
    values = quantity.values(ends["estimate"], ends.index, ends["n"])
    size = quantity.size(*read_limited(gap, "gap"))
    by = str(read_grouping(gap))
    text = f"{title} ({meaning}) differs most by {by}: {values}, {size}"
    text += state_ratio(report, gap)
    named = _find_small_groups(report)  # by the first finding
    frame = report.frame
    left_out = find_left_out(frame[(frame[GROUPING] == gap[GROUPING]).all(axis=1)], name)
    text += left_out_clause(one for one in left_out if not {one, (by, one)} & named.keys())
    if not gap["is_significant"]:
        text += f"; {chance_clause(report, gap)}"
    return f"{text}."


def _possible_gap_clause(quantity: Quantity, gap: pd.Series | dict[str, Any]) -> str:
    """Clause on the largest gap in the population that a gap of 0 leaves open."""
    return f"a gap of up to {quantity.limit(gap['gap_high'])} is possible"


def four_fifths_clause(gap: Any, frame: pd.DataFrame) -> str:
    """Clause on the four-fifths rule; empty where it does not apply.

    The verdict is that on the impact ratio of the group with the lowest rate.
    """
    if gap["metric"] not in IMPACT_RATES or np.isnan(gap["ratio"]):
        return ""
    if gap["ratio_high"] < FOUR_FIFTHS:
        return "below four fifths"
    if gap["ratio_low"] >= FOUR_FIFTHS:
        rows = find_rows(frame, read_grouping(gap), gap["metric"])
        rows = rows[~rows["is_small"] & (rows["impact_ratio_low"] < FOUR_FIFTHS)]
        others = join_names(map(repr, rows["group"]))
        return "not below four fifths" + f", which is undecided for {others}" * len(others[:1])
    side = "below" if gap["ratio"] < FOUR_FIFTHS else "above"
    exact = "" if _is_ratio_clear(gap["ratio"]) else f" ({gap['ratio']:.6f})"
    return f"{side} four fifths{exact} in these data, but undecided in the population"


def _is_ratio_clear(ratio: float) -> bool:
    """Whether a ratio to three digits is on the same side of four fifths."""
    return (round(ratio, 3) < FOUR_FIFTHS) == (ratio < FOUR_FIFTHS)


def open_questions(report: ReportData) -> list[str]:
    """What these data cannot decide, one sentence each."""
    questions = [*_describe_small_groups(report)]
    if report.assumption:
        assumed, other = "the assumption on groups holds", "missing='error'"
        if report.n_missing:
            assumed, other = "groups are missing at random", "odds_ratio=np.inf"
        questions.append(
            f"Whether {assumed}, which these data cannot confirm. A claim of SensitiveFeatures "
            f"with {other} has limits that hold whatever the groups are."
        )
    primary = primary_metrics(report.gaps)
    for gap in report.gaps.dropna(subset=["gap"]).to_dict("records"):
        name, by = gap["metric"], read_grouping(gap)
        quantity = report_quantity(report, name)
        if name in primary and is_zero_gap(quantity, gap, find_ends(report, gap)):
            possible = _possible_gap_clause(quantity, gap)
            questions.append(f"Whether the {quantity.noun} differs by {by}: {possible}.")
        elif name in primary and not gap["is_significant"]:
            size = quantity.size(*read_limited(gap, "gap"))
            questions.append(
                f"Whether the {quantity.noun} differs by {by} at all: {size} is observed, and "
                f"{chance_clause(report, gap)}."
            )
        if name in IMPACT_RATES and gap["ratio_low"] < FOUR_FIFTHS <= gap["ratio_high"]:
            ratio = RATIO.size(*read_limited(gap, "ratio"))
            name = name if report.reading.burden is None else "spared_rate"
            noun = report_quantity(report, name).noun
            questions.append(f"Whether the {noun} by {by} keeps four fifths: {ratio} is observed.")
    is_about_data = is_about_outcomes(report.frame)
    if is_about_data:
        questions.append("Whether the recorded outcomes are right, and those of all.")
    elif error_metric_mask(report.frame).any():
        questions.append(
            "Whether the recorded truth is fair itself: error rates are as good as the labels."
        )
        if report.n_without_outcome and report.known_outcomes.get("missing") == "by_decision":
            questions.append(
                "Whether anything but the group and the decision says if an outcome is known, "
                "which rates of all samples do not allow for."
            )
        elif report.n_without_outcome:
            questions.append(
                "Whether error rates are those of all samples, since some have no outcome. "
                f"{OUTCOME_SELECTION}"
            )
    elif report.task != "clustering":
        questions.append(
            "Whether the predictions are right: without recorded outcomes there are no error rates."
        )
    if is_about_data:
        questions.append("What is so of people who are not in the data, or of groups not recorded.")
    else:
        questions += [
            "How the model treats people who are not in the data, or groups that were not "
            "recorded.",
            "How the model treats people outside its training data, if these are its training "
            "data: intervals hold for held-out data.",
        ]
    return [
        *questions,
        "Whether a difference is justified: rates show that groups differ, not why.",
    ]


def _describe_small_groups(report: ReportData) -> Iterator[str]:
    """Sentences that name the small groups of each attribute."""
    small = report.frame[report.frame["is_small"]]
    for grouping, rows in small.groupby(GROUPING, sort=False):
        sizes = rows.groupby("group", sort=False)["n"].min()
        listed = join_names([f"{group} (as few as {n:.0f})" for group, n in sizes.items()], 8)
        about = f"groups by {Grouping(*grouping)} that are too small for some rates"
        verb = "What is so of" if is_about_outcomes(report.frame) else "How the model treats"
        yield f"{verb} {about}: {listed}."


# Sections of a report as text and tables, which every format of the page shows.
#
# A section is a heading and a list of elements. An element is a paragraph (a str), a list of bullet
# points, or a table: a tuple of its caption, a note, the titles of the columns, and the rows. A row
# is a pair of its cells and of whether it is marked. A cell is a str, or a tuple of its text, a
# smaller remark, or a picture.


def report_sections(report: ReportData) -> Iterator[tuple[Folded | str, list]]:
    """Yield the sections of a report: pairs of a heading and a list of elements."""
    gaps = find_headline_gaps(report)
    tables = tabulate_rates(report)
    groupings = list_groupings(report.frame)
    names = report.frame["metric"].unique()
    # By all attributes together, or where the widest gap is.
    last = Grouping(report.attributes[-1])
    main = next(key for key in tables if key[0] == last)
    if gaps[0] is not None:
        main = read_grouping(gaps[0]), gaps[0]["metric"]
    strip = render_strip(list_main_numbers(report, tables, main, gaps[0]))
    yield "", [*describe_front(report, gaps), strip]
    note = Markup(
        f"<p>A dot is the value of a group, the line its {100 * report.confidence_level:g}&nbsp;% "
        "interval, and the dashed line the value of all samples. The two groups that differ most "
        f"are marked. Open circles: fewer than {report.min_group_size} samples.</p>"
    )
    yield "Rates by group", [note, metric_table(report, tables, main, ())]
    yield "All rates at a glance", [glance_table(report, tables, main[0])]
    groups = [row["group"] for row in largest_groups(tables[main])]
    has_unknown = report.n_without_outcome > 0
    numbers = rate_table(tables, main[0], names, groups, has_unknown)
    yield "The numbers", [numbers]
    if len(adjusted := _adjusted_differences(report)):
        strata = list(_stratum_tables(report))
        yield "Adjusted for strata", [_adjusted_table(report, adjusted), *strata]
    if report.shares is not None:
        tables_of_shares = list(share_tables(report.shares, report.confidence_level))
        yield "Shares of the population", tables_of_shares
    if report.subgroups is not None:
        yield "Subgroups", [report.subgroups.findings, *subgroup_tables(report.subgroups)]
    yield "Findings", [report.findings]
    yield "What these data cannot decide", [report.open_questions]
    # Folded: the other tables, what was read, and how intervals are computed.
    within_strata = []
    for grouping in groupings:
        inside = [] if grouping == main[0] else [glance_table(report, tables, grouping)]
        inside += [metric_table(report, tables, key) for key in tables if key[0] == grouping]
        if grouping.stratum:
            within_strata += inside
        else:
            yield Folded(f"By {grouping}: differences and ratios"), inside
    if within_strata:
        yield Folded("Within strata: differences and ratios"), within_strata
    spared = find_spared(report)
    metrics = [*filter(has_impact_ratio, spared["metric"].unique())]
    if metrics:
        yield Folded("Impact ratios"), list(_impact_tables(report, spared, metrics))
    if metrics and report.counts_samples:
        yield Folded("Adverse impact"), list(_adverse_impact_tables(report))
    if report.reliability is not None:
        yield (
            Folded("Calibration"),
            list(_describe_reliability(report.reliability, report.confidence_level)),
        )
    if report.thresholds is not None:
        by_threshold = threshold_tables(report.thresholds, report.reading.burden)
        yield Folded("By threshold"), list(by_threshold)
    yield report.reading.section()
    yield Folded("How to read this"), [_reading_notes(report)]
    yield tabulate_facts(page_facts(report))


def page_facts(report: ReportData) -> list[tuple[str, str]]:
    """Facts on the page: what the report knows, and what the user stated."""
    missing = [f"{n:,} by {name}" for name, n in report.n_missing.items() if n]
    facts = [("Task", report.task), ("Samples", f"{report.n_samples:,}")]
    facts += [("Samples of unknown group", ", ".join(missing))] * bool(missing)
    suspect = [f"{name!r} by {by} ({n:,})" for by, name, n in groups_like_unknown(report.frame)]
    facts += [("Labels that look like an unknown group", "; ".join(suspect))] * bool(suspect)
    return facts + titled_facts(report.provenance)


def _impact_tables(
    report: ReportData, frame: pd.DataFrame, metrics: list[str]
) -> Iterator[tuple[str, str, tuple[str, ...], list[tuple]]]:
    """Tables of impact ratios with intervals: the four-fifths (80 %) rule on adverse impact."""
    for metric in metrics:
        title, meaning = describe_in_report(report, metric)
        name = (
            "Impact ratios"
            if len(metrics) == 1
            else f"Impact ratios of the {describe_quantity(metric).noun}"
        )
        note = (
            f"{title} ({meaning}) of a group over that of the group where it is largest, as in the "
            "four-fifths (80 %) rule on adverse impact (disparate impact). Kept: the whole "
            "interval is at least 0.8. Below: the whole interval is less. Undecided: the interval "
            "contains 0.8."
        )
        # Samples times a weighted or estimated rate is no number of samples.
        is_counted = not report.assumption and not report.reading.has_weights
        if not is_counted and not report.assumption:
            note += " Rates are weighted, so that no number of samples belongs to them."
        titles = ("Group", "Samples", count_title(metric), title, "Impact ratio", "Four fifths")
        for grouping in list_groupings(frame):
            if grouping.stratum and report.counts_samples:
                continue  # one table has all strata
            rows = find_rows(frame, grouping, metric).to_dict("records")
            cells = []
            for row in largest_groups(rows):
                line = (
                    row["group"],
                    f"{row['n']:,.0f}",
                    f"{row['n'] * row['estimate']:,.0f}" if is_counted else "–",
                    describe_quantity(metric).page_value(row["estimate"]),
                    value_cell(RATIO, row, "impact_ratio"),
                    _four_fifths_verdict(row),
                )
                cells.append((line, False))
            yield f"{name} by {grouping}", note, titles, cells
            note = ""  # of all tables of the metric


def count_title(metric: str) -> str:
    """Title of the number of samples that a rate with impact ratios counts."""
    titles = {"scoring_rate": "Above the median", "spared_rate": "Spared"}
    return titles.get(metric, "Selected")


def _format_number(value: float, form: str) -> str:
    """A number in a format, or a dash where it is unknown."""
    return format(value, form) if isfinite(value) else "–"


def _four_fifths_verdict(row: Any) -> str:
    """Whether the interval of an impact ratio is above, below or around four fifths."""
    if row["is_small"]:
        return "small group"
    if row["impact_ratio"] == 1.0 and not isfinite(row["impact_ratio_low"]):
        return "largest rate"
    if row["impact_ratio_high"] < FOUR_FIFTHS:
        return "below four fifths"
    return "kept" if row["impact_ratio_low"] >= FOUR_FIFTHS else "undecided"


def _adverse_impact_tables(
    report: ReportData,
) -> Iterator[tuple[str, str, tuple[str, ...], list[tuple]]]:
    """Tables of adverse impact: four fifths, significance and shortfall of each group."""
    note = (
        "Each group against that of the largest rate. Groups with less than "
        f"{100 * report.min_share:g} % of all samples are left out. Standard deviations: "
        "difference of the rates in standard errors of the pooled rate, of which more than two are "
        "held to be significant. P-value: Fisher's exact test, two-sided. Both are of a group by "
        "itself, and among several equal groups the largest rate is partly luck, so that they find "
        "differences too often. Adjusted: by Holm's procedure over all pairs of groups, which "
        "holds whichever has the largest rate, as verdicts of impact ratios and findings do. "
        "Shortfall, in these data: decisions about the group that must change for equal rates."
    )
    comparisons: tuple[str, ...] = ("Impact ratio", "Below four fifths in these data")
    comparisons += ("Standard deviations, by itself", "P-value, by itself", "P-value, adjusted")
    table = report.adverse_impact()
    outside = table[table["stratum"] == ""]  # one table has all strata
    for (metric, attribute), rows in outside.groupby(["metric", "attribute"], sort=False):
        caption = f"Adverse impact by {attribute}: {report_quantity(report, metric).noun}"
        titles = ("Group", "Samples", count_title(metric), *comparisons, "Shortfall")
        rows = largest_groups(rows.to_dict("records"))
        cells = [(_adverse_impact_cells(row), False) for row in rows]
        yield caption, note, titles, cells
        note = ""  # of all tables


def _stratum_tables(
    report: ReportData,
) -> Iterator[tuple[str, str, tuple[str, ...], list[tuple]]]:
    """Yield one table of all strata for each attribute and rate: rates, difference and p-value."""
    table = report.adverse_impact()
    note = (
        "Each group of a stratum against that of the largest rate there. Groups with less than "
        f"{100 * report.min_share:g} % of the samples of their stratum are left out. P-value: "
        "Fisher's exact test, two-sided, of a row by itself."
    )
    inside_strata = table[table["stratum"] != ""]
    for (metric, attribute), rows in inside_strata.groupby(["metric", "attribute"], sort=False):
        quantity = report_quantity(report, metric)
        titles: tuple[str, ...] = (
            "Stratum",
            "Group",
            f"{quantity.noun.capitalize()}",
            "Largest rate",
        )
        titles += ("Difference, points", "P-value, by itself")
        cells = []
        for stratum, inside in rows.groupby("stratum", sort=False):
            best = inside[inside["impact_ratio"] == 1.0]
            first = best.iloc[0] if len(best) else None
            if first is not None:
                others = inside[inside["group"] != first["group"]].to_dict("records")
                cells += [(_stratum_cells(quantity, stratum, row, first), False) for row in others]
        if cells:
            yield f"{quantity.noun.capitalize()} by {attribute} within strata", note, titles, cells
            note = ""  # of all tables


def _stratum_cells(quantity: Quantity, stratum: str, row: dict, best: pd.Series) -> tuple:
    """Cells of a group of a stratum beside the group of the largest rate there."""
    rates = [
        f"{quantity.value(one['estimate'])} ({one['n_selected']:,} of {one['n']:,})"
        for one in (row, best)
    ]
    difference = quantity.difference(row["estimate"] - best["estimate"])
    p_value = "left out" if row["is_excluded"] else _format_p_value(row["p_value"])
    return stratum, row["group"], rates[0], f"{best['group']}: {rates[1]}", difference, p_value


def _adjusted_differences(report: ReportData) -> Any:
    """Differences within strata; empty without strata, or where none are computed."""
    return report.adjusted_differences() if report.counts_samples else ()


def _adjusted_table(
    report: ReportData, adjusted: pd.DataFrame
) -> tuple[str, str, tuple[str, ...], list[tuple]]:
    """Table of the differences of groups in all samples and within strata."""
    note = (
        "Each group against the reference group. Mean: of the differences within strata, by their "
        "samples. Common: by the weights of Mantel and Haenszel, with limits that hold for all "
        "rows together, whichever group is the reference, if the difference is the same in all "
        "strata. Strata may themselves put a group at a disadvantage."
    )
    titles = ("Group", "Of", "By", "Samples", "Strata", "Difference", "Mean", "Common")
    rows = []
    for row in adjusted.to_dict("records"):
        quantity = report_quantity(report, row["metric"])
        unit = " points" * quantity.is_share
        cells = (
            f"{row['group']} against {row['reference']}",
            quantity.noun,
            row["attribute"],
            f"{row['n']:,}",
            f"{row['n_strata']}",
            quantity.decimal(row["difference"], sign="+") + unit,
            quantity.decimal(row["mean_difference"], sign="+") + unit,
            value_cell(quantity, row, "common_difference"),
        )
        rows.append((cells, False))
    return "Differences within strata", note, titles, rows


def _describe_adjusted(report: ReportData) -> Iterator[str]:
    """Yield a sentence on the largest difference within strata, for each rate or mean."""
    adjusted = _adjusted_differences(report)
    if not len(adjusted):
        return
    at = adjusted["difference"].abs().groupby(adjusted["metric"], sort=False).idxmax()
    for row in adjusted.loc[at].to_dict("records"):
        quantity = report_quantity(report, row["metric"])
        limits = quantity.interval(row["low"], row["high"])
        unit = f" {quantity.unit}" * bool(quantity.unit)
        yield (
            f"Within {row['n_strata']} strata the {quantity.noun} of {row['group']} differs from "
            f"that of {row['reference']} by {quantity.difference(row['mean_difference'])}"
            f"{unit} on average, and by {quantity.difference(row['common_difference'])} "
            f"({limits}) if the difference is the same in all of them (Mantel-Haenszel weights), "
            f"beside {quantity.difference(row['difference'])} in all samples."
        )


def _adverse_impact_cells(row: dict) -> tuple:
    """Cells of a group's comparison with the most selected one."""
    ratio = row["impact_ratio"]
    verdict = ("yes" if ratio < FOUR_FIFTHS else "no") if isfinite(ratio) else "–"
    digits = ".3f" if _is_ratio_clear(ratio) else ".6f"
    return (
        row["group"],
        f"{row['n']:,}",
        f"{row['n_selected']:,}",
        "left out" if row["is_excluded"] else _format_number(ratio, digits),
        verdict,
        _format_number(row["standard_deviations"], "+.2f"),
        _format_p_value(row["p_value"]),
        _format_p_value(row["adjusted_p_value"]),
        _format_number(row["shortfall"], ",.0f"),
    )


def _format_p_value(p_value: float) -> str:
    """A p-value to three digits, or a dash where it is unknown."""
    return "< .001" if p_value < 0.001 else _format_number(p_value, ".3f")


def _describe_reliability(
    reliability: pd.DataFrame, level: float
) -> Iterator[Markup | str | tuple]:
    """Yield pictures and tables of predicted and observed frequencies of groups."""
    note = (
        "Samples with a predicted probability above the lower end of a bin, up to its upper end. "
        "Probabilities of a group are calibrated in a bin if their mean is the share of positives, "
        "up to its interval."
    )
    titles = ("Group and probability", "", "Truly positive", "Mean probability", "Samples")
    for attribute, rows in reliability.groupby("attribute", sort=False):
        largest = rows.groupby("group")["n"].sum().nlargest(10).index
        shown = rows[rows["group"].isin(largest)]
        if "band_low" in shown:  # which reports that were filed before lack
            yield (
                "Curves: observed share of positives over the predicted probability, which are "
                "equal on the dashed line. The band of a group holds with "
                f"{confidence_text(level)} for all of its points together, so "
                "that it is miscalibrated where the line leaves it."
            )
            yield draw_curves(list(shown.groupby("group", sort=False)))
        cells = [(_reliability_cells(row), False) for row in shown.to_dict("records")]
        yield f"Reliability by {attribute}", note, titles, cells


def _reliability_cells(row: dict[str, Any]) -> tuple:
    """Cells of a bin of a group, with a picture of the interval around the mean probability."""
    share = Quantity("share", "percent")
    predicted = row["mean_probability"]
    return (
        (row["group"], f"{row['bin_low']:g} to {row['bin_high']:g}"),
        draw_limited(find_axis(share, ()), row, reference=predicted),
        value_cell(share, row),
        share.page_value(predicted),
        f"{row['n']:,.0f}",
    )


def subgroup_tables(
    report: Any,
) -> Iterator[tuple[str, str, tuple[str, ...], list[tuple]]]:
    """Tables of the listed subgroups of each metric, with their departures from the rest."""
    level = confidence_text(report.confidence_level)
    burden = report.reading.burden
    for metric, rows in report.subgroups.groupby("metric", sort=False):
        title, meaning = describe_metric(metric, burden)
        other = " minus that of all other samples"
        titles = ("Subgroup", "", "Difference", title, "Rest", "Samples")
        if metric == "calibration_error":
            other = ""
            titles = ("Subgroup", "", "Difference", "Truly positive", "Mean probability", "Samples")
        note = (
            f"{title} ({meaning}) of a subgroup{other}, with limits that "
            f"hold with {level} for all subgroups searched together. Listed are subgroups that "
            "overlap little."
        )
        reach = rows[["low", "high"]].abs().to_numpy().max()
        is_share = describe_quantity(metric).is_share
        axis = find_axis(describe_quantity(metric), [-1.0 if is_share else -reach])
        cells = [(_subgroup_cells(row, axis), False) for row in rows.to_dict("records")]
        noun = describe_quantity(metric, burden=burden).noun
        yield f"Subgroups that depart most: {noun}", note, titles, cells


def _subgroup_cells(
    row: dict[str, float | str], axis: Axis
) -> tuple[Picture | str | tuple[str, str], ...]:
    """Cells of a subgroup: a picture around 0, departure with limits, and rates."""
    quantity = describe_quantity(row["metric"])
    return (
        row["subgroup"],
        draw_limited(axis, row, "difference", reference=0.0),
        value_cell(quantity, row, "difference"),
        *map(quantity.page_value, (row["estimate"], row["rest_estimate"])),
        f"{row['n']:,}",
    )


def _reading_notes(report: ReportData) -> list[str]:
    """How intervals and claims are to be read."""
    level = f"{100 * report.confidence_level:g} %"
    modelled = (
        "Samples whose group is missing count by a model of the group and one of the record "
        "(augmented inverse probability weighting). Rates of groups are right if one of the two "
        f"models is, {report.assumption}. Numbers of samples in groups are those of recorded ones."
    )
    if not report.n_missing:
        modelled = (
            "Each sample counts in every group by its probability. Rates of groups are right "
            f"{report.assumption}. Numbers of samples in groups are sums of probabilities."
        )
    return [modelled] * bool(report.assumption) + [
        f"Every interval contains the value of the population in {level} of samples, or in more "
        "where several hold together. Intervals are Wilson's for rates (exact ones for up to three "
        "successes or failures, for ratios, and where the level is divided among many "
        "comparisons), Student's for means (Hall's where values are skewed), DeLong's for areas, "
        "and Newcombe's combinations for differences (exact ones of small groups, if wider) and "
        "balanced accuracy. Weighted samples count as the effective number of equal weight.",
        f"Intervals of single groups hold in {level} of samples one at a time. The interval of a "
        "gap holds for all groups of one attribute and metric together. Differences, ratios and "
        "impact ratios are relative to a group that was chosen because of its value in these "
        "data. Their intervals hold for all groups, metrics and attributes together "
        "(Bonferroni), so they are wider. Impact ratios hold for all groups that are not small, of "
        "all attributes, and a verdict on four fifths is that of their interval, here and in "
        "findings. "
        "Differences from a reference group that was named in advance, and ratios to it that are "
        "no impact ratios, hold one at a time.",
        "A sentence under “Findings” claims a gap without “may be chance” only if Holm’s "
        "procedure over the gaps of all metrics and attributes finds it above 0. For a model "
        f"without gaps, at most {100 * (1 - report.confidence_level):.3g} % of reports claim one. "
        "A gap in the tables can have an interval above 0 and still be one of many due to chance.",
        *_describe_bootstrap(report.frame),
        small_groups_note(report.min_group_size),
    ]


def _describe_bootstrap(frame: pd.DataFrame) -> Iterator:
    """Yield a sentence that names the metrics with bootstrap intervals, if there are any."""
    names = frame.loc[frame["interval"] == "bootstrap", "metric"].unique()
    if len(names):
        yield (
            f"Intervals of {join_names(describe_metric(name)[0] for name in names)} are "
            "bias-corrected bootstrap intervals within each group. Those of differences and gaps "
            "combine the intervals of two groups, as for rates."
        )


# Section of a model card (M. Mitchell et al., "Model cards for model reporting", FAT* 2019).


def model_card_sections(report: ReportData) -> Iterator[tuple[str, list[list | tuple]]]:
    """Yield the sections of a model card that a report can fill: headings and elements."""
    facts = report.provenance
    single = single_attributes(report.attributes)
    recorded = facts.get("groups", "how they were recorded is not stated")
    listed = []
    for attribute in single:
        rows = report.frame[report.frame["attribute"] == attribute]
        listed.append(f"{attribute}: {join_names(rows['group'].unique(), 20)}")
    unknown = [f"{n:,} samples of unknown {name}" for name, n in report.n_missing.items() if n]
    unknown += [f"{FACT_TITLES[name]}: {facts[name]}." for name in ("suppressed",) if name in facts]
    yield "Factors", [[*listed, *unknown, f"{FACT_TITLES['groups']}: {recorded}."]]
    rule = facts.get("threshold", "as predicted by the model")
    names = report.frame["metric"].unique()
    metrics = [": ".join(describe_metric(name, report.reading.burden)) for name in names]
    decision = [f"Decision rule: {rule}."] if "positive_label" in facts else []
    level = confidence_text(report.confidence_level)
    yield "Metrics", [[*metrics, *decision, f"Intervals hold with {level}."]]
    known = ("source", "explanation", "file", "sha256", "date")
    sources = [f"{FACT_TITLES[name]}: {facts[name]}." for name in known if name in facts]
    yield "Evaluation data", [[f"{report.n_samples:,} samples.", *sources]]
    rates = tabulate_rates(report)
    tables = []
    has_unknown = report.n_without_outcome > 0
    for grouping, rows in report.frame.groupby(GROUPING, sort=False):
        if grouping[0] != OVERALL:
            groups = rows["group"].unique()
            tables.append(rate_table(rates, Grouping(*grouping), names, groups, has_unknown))
    yield "Quantitative analyses", [report.findings, *tables]
    yield "Caveats and recommendations", [report.open_questions]


# Summary of a bias audit under New York City's Local Law 144 (6 RCNY 5-300 to 5-304).
#
# Section 5-301 requires selection or scoring rates and impact ratios by sex, by race/ethnicity and
# by their intersections, against the most selected category, and the number of applicants of
# unknown category. Categories of less than 2 % may be left out of impact ratios, with the auditor's
# justification, their number and their rate. Section 5-303 requires the date of the audit, the
# source and explanation of the data, the number of applicants, and the distribution date of the
# tool.


_REQUIRED_FACTS = ("date", "distribution_date", "source", "explanation")
"""Facts that only the auditor can state."""


def summary_sections(report):
    """Sections of the summary: pairs of a heading and a list of elements."""
    table = _compare_categories(report)
    missing = missing_fields(report)
    heading = "Summary of results of the bias audit (New York City Local Law 144)"
    sections = [(heading, tabulate_facts(_summary_facts(report, table))[1])]
    if missing:
        sections.append(("Missing in this summary", [missing]))
    for (metric, *by), rows in table.groupby(["metric", *GROUPING], sort=False):
        grouping = Grouping(*by)
        sections.append((f"By {grouping}", [_summary_table(report, metric, grouping, rows)]))
    return [*sections, tabulate_facts(page_facts(report))]


def missing_fields(report: ReportData) -> list[str]:
    """Sentences on what the rules require and the report does not have."""
    missing = [
        f"{FACT_TITLES[name]}: state it in provenance, under the name {name!r}."
        for name in _REQUIRED_FACTS
        if not report.provenance.get(name, "").strip()
    ]
    for attribute, label, n in groups_like_unknown(report.frame):
        missing.append(
            f"Applicants of unknown category by {attribute}: the category {label!r} of {n:,} "
            "applicants looks like one; name it as unknown, or rename it."
        )
    if _compare_categories(report)["is_excluded"].any() and not report.provenance.get(
        "justification"
    ):
        missing.append(
            f"{FACT_TITLES['justification']}: state it in provenance, under the name "
            "'justification'."
        )
    if len(report.attributes) != 3:
        missing.append(
            "Categories by sex, by race/ethnicity and by their intersections: pass these two "
            f"attributes as sensitive_features; the report is by {join_names(report.attributes)}."
        )
    return missing


def _compare_categories(report: ReportData) -> pd.DataFrame:
    """Comparisons of all categories; refused for reports that the rules do not know."""
    table = report.adverse_impact()
    if not len(table) or report.reading.burden is not None:
        raise ValueError(
            "A summary under Local Law 144 needs selection rates of decisions or scoring rates of "
            f"scores, but this report of a {report.task} has none. Pass decisions as y_pred, or "
            'scores and metrics=["scoring_rate"] to Audit.report, no task="clustering" and no '
            "burden."
        )
    if any(report.n_missing.values()) and table["group"].str.contains(MISSING, regex=False).any():
        raise ValueError(
            "Local Law 144 leaves samples of unknown category out of impact ratios, but this "
            f'report has the group {MISSING!r}; make it with missing="exclude".'
        )
    return table


def _summary_facts(report: ReportData, table: pd.DataFrame) -> list[tuple[str, str]]:
    """Facts of the summary, as pairs of a title and a text."""
    facts = [
        (FACT_TITLES[name], report.provenance.get(name) or "not stated") for name in _REQUIRED_FACTS
    ]
    facts.append(("Number of applicants", f"{report.n_samples:,}"))
    suspect = groups_like_unknown(report.frame)
    for attribute in report.attributes:
        text = _missing_count_text(report, attribute)
        for _, label, n in (one for one in suspect if one[0] == attribute):
            text += f", and {n:,} more if {label!r} means unknown"
        facts.append((f"Applicants of unknown category by {attribute}", text))
    excluded = [
        f"{row['group']} ({row['n']:,} applicants, {describe_quantity(row['metric']).noun} "
        f"{_exact_percent_text(row['n_selected'], row['n'])})"
        for row in table[table["is_excluded"]].to_dict("records")
    ]
    if excluded:
        title = f"Categories of less than {100 * report.min_share:g} %, without impact ratio"
        facts.append((title, "; ".join(excluded)))
        facts.append(
            (FACT_TITLES["justification"], report.provenance.get("justification") or "not stated")
        )
    return facts


def _missing_count_text(report: ReportData, attribute: str) -> str:
    """Number of samples of unknown group as text, which may be too small to be published."""
    n = report.n_missing.get(attribute)
    return "too few to be published:" if n is None else f"{n:,}"


def _summary_table(
    report: ReportData, metric: str, grouping: Grouping, rows: pd.DataFrame
) -> tuple:
    """Table of the rates and impact ratios of the categories of one grouping."""
    title, meaning = describe_metric(metric)
    noun = describe_quantity(metric).noun
    best = rows[rows["impact_ratio"] == 1.0]
    note = f"{title}: {meaning}. Impact ratio: {noun} over that of the category where it "
    missing = _missing_count_text(report, grouping.attribute)
    note += f"is highest. {missing} applicants of unknown category are left out."
    titles = ("Category", "Applicants", count_title(metric), title, "Impact ratio")
    cells = [
        (_summary_cells(row, best), row["impact_ratio"] == 1.0) for row in rows.to_dict("records")
    ]
    return f"{title} and impact ratio by {grouping}", note, titles, cells


def _summary_cells(row: dict, best: pd.DataFrame) -> tuple:
    """Cells of a category, with fractions of counts rounded half up."""
    n, selected = row["n"], row["n_selected"]
    ratio = "left out" if row["is_excluded"] else "–"
    if row["impact_ratio"] >= 0.0:
        most = best.iloc[0]
        ratio = _fraction_text_half_up(selected * most["n"], n * most["n_selected"], 3)
    return row["group"], f"{n:,}", f"{selected:,}", _exact_percent_text(selected, n), ratio


def _exact_percent_text(numerator: int, denominator: int) -> str:
    """A share as text in percent."""
    return f"{_fraction_text_half_up(100 * numerator, denominator, 1)} %"


def _fraction_text_half_up(numerator: int, denominator: int, digits: int) -> str:
    """A fraction of integers as a decimal, as by hand: halves are rounded up."""
    numerator, denominator = int(numerator), int(denominator)
    scaled = (2 * numerator * 10**digits + denominator) // (2 * denominator)
    return f"{scaled // 10**digits}.{scaled % 10**digits:0{digits}d}"
