"""Summary of a bias audit under New York City's Local Law 144 (6 RCNY 5-300 to 5-304).

Section 5-301 requires selection or scoring rates and impact ratios by sex, by race/ethnicity and by
their intersections, against the most selected category, and the number of applicants of unknown
category. Categories of less than 2 % may be left out of impact ratios, with the auditor's
justification, their number and their rate. Section 5-303 requires the date of the audit, the source
and explanation of the data, the number of applicants, and the distribution date of the tool.
"""

from skfair.audit._measures import describe_measure
from skfair.audit._provenance import FACTS
from skfair.audit._sections import audited_facts, count_title, facts_table
from skfair.audit._tables import groups_like_unknown
from skfair.groups import MISSING
from skfair.utils._messages import join_names

_REQUIRED = ("date", "distribution_date", "source", "explanation")
"""Facts that only the auditor can state."""


def summary_sections(report):
    """Sections of the summary: pairs of a heading and a list of elements."""
    table = _categories(report)
    missing = missing_fields(report)
    heading = "Summary of results of the bias audit (New York City Local Law 144)"
    sections = [(heading, [facts_table(_audit_facts(report, table))])]
    if missing:
        sections.append(("Missing in this summary", [missing]))
    for (measure, attribute), rows in table.groupby(["measure", "attribute"], sort=False):
        sections.append((f"By {attribute}", [_table(report, measure, attribute, rows)]))
    return [*sections, ("What was audited", [facts_table(audited_facts(report))])]


def missing_fields(report):
    """Sentences on what the rules require and the report does not have."""
    missing = [
        f"{FACTS[name]}: state it in provenance, under the name {name!r}."
        for name in _REQUIRED
        if not report.provenance.get(name, "").strip()
    ]
    for attribute, label, n in groups_like_unknown(report.frame):
        missing.append(
            f"Applicants of unknown category by {attribute}: the category {label!r} of {n:,} "
            f"applicants looks like one; make the report with unknown=[...] that names it, or "
            "rename it."
        )
    if _categories(report)["is_excluded"].any() and not report.provenance.get("justification"):
        missing.append(
            f"{FACTS['justification']}: state it in provenance, under the name 'justification'."
        )
    if len(report.attributes) != 3:
        missing.append(
            "Categories by sex, by race/ethnicity and by their intersections: pass these two "
            f"attributes as sensitive_features; the report is by {join_names(report.attributes)}."
        )
    return missing


def _categories(report):
    """Comparisons of all categories; refused for reports that the rules do not know."""
    table = report.adverse_impact()
    if not len(table):
        raise ValueError(
            "A summary under Local Law 144 needs selection rates of decisions or scoring rates of "
            f"scores, but this report of a {report.kind} has none. Pass decisions or scores as "
            'y_pred, and no kind="clustering".'
        )
    if any(report.n_missing.values()) and table["group"].str.contains(MISSING, regex=False).any():
        raise ValueError(
            "Local Law 144 leaves samples of unknown category out of impact ratios, but this "
            f'report has the group {MISSING!r}; make it with missing="exclude".'
        )
    return table


def _audit_facts(report, table):
    """Facts of the summary, as pairs of a title and a text."""
    facts = [(FACTS[name], report.provenance.get(name) or "not stated") for name in _REQUIRED]
    facts.append(("Number of applicants", f"{report.n_samples:,}"))
    suspect = groups_like_unknown(report.frame)
    for attribute in report.attributes:
        text = f"{report.n_missing[attribute]:,}"
        for _, label, n in (one for one in suspect if one[0] == attribute):
            text += f", and {n:,} more if {label!r} means unknown"
        facts.append((f"Applicants of unknown category by {attribute}", text))
    excluded = [
        f"{row['group']} ({row['n']:,} applicants, {_percent(row['n_selected'], row['n'])})"
        for _, row in table[table["is_excluded"]].iterrows()
    ]
    if excluded:
        title = f"Categories of less than {100 * report.min_share:g} %, without impact ratio"
        facts.append((title, "; ".join(excluded)))
        facts.append(
            (FACTS["justification"], report.provenance.get("justification") or "not stated")
        )
    return facts


def _table(report, measure, attribute, rows):
    """Table of the rates and impact ratios of the categories of one attribute."""
    title, meaning = describe_measure(measure)
    best = rows[rows["impact_ratio"] == 1.0]
    note = f"{title}: {meaning}. Impact ratio: {title.lower()} over that of the category where it "
    note += f"is highest. {report.n_missing[attribute]:,} applicants of unknown category are left "
    note += "out."
    titles = ("Category", "Applicants", count_title(measure), title, "Impact ratio")
    cells = [(_cells(row, best), row["impact_ratio"] == 1.0) for _, row in rows.iterrows()]
    return f"{title} and impact ratio by {attribute}", note, titles, cells


def _cells(row, best):
    """Cells of a category, with fractions of counts rounded half up."""
    n, selected = row["n"], row["n_selected"]
    ratio = "left out" if row["is_excluded"] else "–"
    if row["impact_ratio"] >= 0.0:
        most = best.iloc[0]
        ratio = _round_half_up(selected * most["n"], n * most["n_selected"], 3)
    return row["group"], f"{n:,}", f"{selected:,}", _percent(selected, n), ratio


def _percent(numerator, denominator):
    """A share as text in percent."""
    return f"{_round_half_up(100 * numerator, denominator, 1)} %"


def _round_half_up(numerator, denominator, digits):
    """A fraction of integers as a decimal, as by hand: halves are rounded up."""
    numerator, denominator = int(numerator), int(denominator)
    scaled = (2 * numerator * 10**digits + denominator) // (2 * denominator)
    return f"{scaled // 10**digits}.{scaled % 10**digits:0{digits}d}"
