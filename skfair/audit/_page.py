"""A report as one page of HTML: pictures inside, no scripts, nothing loaded from elsewhere."""

from html import escape
from math import isfinite

from skfair import __version__
from skfair.audit._measures import words
from skfair.audit._style import STYLE
from skfair.audit._words import FOUR_FIFTHS, RATIOS, gap_text, is_share, number, points, span

_MANY_ROWS = 40
"""Groups of one attribute that the page shows; all are in the table of the report."""


def page(report):
    """The whole page.

    Parameters
    ----------
    report : FairnessReport
        What it shows.

    Returns
    -------
    html : str
    """
    title = escape(report.title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{title}</title>\n</head>\n<body style="margin:0">\n'
        f"<main>\n{fragment(report)}\n</main>\n</body>\n</html>\n"
    )


def fragment(report):
    """The report as a part of a page, with its style: what notebooks show.

    Parameters
    ----------
    report : FairnessReport
        What it shows.

    Returns
    -------
    html : str
    """
    parts = [
        f"<style>{STYLE}</style>",
        '<article class="skfair-report">',
        f"<h1>{escape(report.title)}</h1>",
        *_summary(report),
        *_overview(report),
        *_four_fifths(report),
        *(part for by in report.attributes for part in _attribute(report, by)),
        *_method(report),
        "</article>",
    ]
    return "\n".join(parts)


def _summary(report):
    yield "<section><h2>What was found</h2>"
    yield from (f'<p class="finding">{escape(text)}</p>' for text in report.findings)
    yield "<h2>What these data cannot decide</h2><ul>"
    yield from (f"<li>{escape(text)}</li>" for text in report.undecided)
    yield "</ul></section>"


def _table(caption, head, rows, note=""):
    """A table that scrolls within its own frame, by keyboard too, where the page is narrow."""
    yield f'<div class="frame" role="region" aria-label="{escape(caption)}" tabindex="0"><table>'
    small = f"<small>{escape(note)}</small>" if note else ""
    yield f"<caption><span>{escape(caption)}</span>{small}</caption><thead><tr>"
    yield "".join(f'<th scope="col">{escape(title)}</th>' for title in head)
    yield "</tr></thead><tbody>"
    for (first, *cells), is_marked in rows:
        marked = ' class="marked"' if is_marked else ""
        yield f'<tr{marked}><th scope="row">{escape(first)}</th>'
        yield "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    yield "</tbody></table></div>"


def _overview(report):
    gaps = report.gaps
    if not len(gaps):
        return
    names = gaps["measure"].unique()
    by = gaps.set_index(["measure", "attribute"])
    yield "<section><h2>Gaps at a glance</h2>"

    def row(name):
        yield words(name)[0] + (", percentage points" if is_share(name) else "")
        for attribute in report.attributes:
            found = by.loc[(name, attribute)] if (name, attribute) in by.index else None
            known = found is not None and isfinite(found["gap"])
            yield gap_text(found, name, unit="") if known else "–"

    note = "Largest difference between two groups that are not small, with its interval."
    rows = ((tuple(row(name)), False) for name in names)
    heads = ("Measure", *(f"by {attribute}" for attribute in report.attributes))
    yield from _table("Gaps between groups", heads, rows, note)
    yield "</section>"


def _four_fifths(report):
    rates = report.frame[report.frame["measure"].isin(RATIOS)]
    if not len(rates):
        return
    measure = rates["measure"].iloc[0]
    title, meaning = words(measure)
    yield "<section><h2>Impact ratios</h2>"
    note = (
        f"{title} ({meaning}) of a group over that of the group where it is largest, as the "
        "four-fifths rule and New York City's Local Law 144 have it. Kept: the whole interval is "
        "at least 0.8; below: the whole interval is less; else these data leave it undecided."
    )
    for attribute in report.attributes:
        own = rates[rates["attribute"] == attribute]
        rows = [(_impact(row), row["is_reference"]) for _, row in _first(own).iterrows()]
        head = ("Group", "People", "Of these", title, "Impact ratio", "Four fifths")
        yield from _table(f"Impact ratios by {attribute}", head, rows, note)
    yield "</section>"


def _impact(row):
    selected = f"{row['n'] * row['value']:,.0f}"
    rate, ratio = number(row["value"], row["measure"]), row["impact_ratio"]
    low, high = row["impact_ratio_low"], row["impact_ratio_high"]
    shown = f"{ratio:.2f}" if isfinite(ratio) else "–"
    if isfinite(low):
        shown += f" <small>{low:.2f} to {high:.2f}</small>"
    return row["group"], f"{row['n']:,.0f}", selected, rate, shown, _verdict(row)


def _verdict(row):
    """Whether a group is shown to keep four fifths of the largest rate."""
    if row["is_small"]:
        return "small group"
    if row["impact_ratio"] == 1.0 and not isfinite(row["impact_ratio_low"]):
        return "largest rate"
    if row["impact_ratio_high"] < FOUR_FIFTHS:
        return "below four fifths"
    return "kept" if row["impact_ratio_low"] >= FOUR_FIFTHS else "undecided"


def _first(rows):
    """As many rows as the page shows: the largest groups, in their order."""
    if len(rows) <= _MANY_ROWS:
        return rows
    return rows.loc[rows["n"].nlargest(_MANY_ROWS).index].sort_index()


def _attribute(report, attribute):
    own = report.frame[report.frame["attribute"] == attribute]
    yield f"<section><h2>By {escape(attribute)}</h2>"
    for name in own["measure"].unique():
        rows = own[own["measure"] == name]
        yield from _measure(_first(rows), attribute, name, len(rows))
    yield "</section>"


def _measure(rows, attribute, name, n_groups):
    title, meaning = words(name)
    scale = _scale(rows)
    head = ["Group", "People", title]
    has_ratio = bool(rows["ratio"].notna().any())
    head += ["Difference, points" if is_share(name) else "Difference"] + ["Ratio"] * has_ratio
    reference = rows.loc[rows["is_reference"], "value"]
    at = reference.iloc[0] if len(reference) else None
    note = f"{meaning}; pictures from {number(scale[0], name)} to {number(scale[1], name)}"
    if len(rows) < n_groups:
        note += f"; the {len(rows)} largest of {n_groups} groups"
    cells = [
        (_cells(row, name, scale, at, has_ratio), row["is_reference"]) for _, row in rows.iterrows()
    ]
    yield from _table(f"{title} by {attribute}", head, cells, note)


def _cells(row, name, scale, reference, has_ratio):
    group = row["group"] + (" (reference)" if row["is_reference"] else "")
    few = ' <abbr title="few people: mostly chance">small</abbr>' if row["is_small"] else ""
    value, reach = number(row["value"], name), span(row["low"], row["high"], name)
    cells = [
        group,
        f"{row['n']:,.0f}{few}",
        f"<div><span>{value} <small>{reach}</small></span>{_strip(row, scale, reference)}</div>",
    ]
    difference = points(row["difference"], name)
    if isfinite(row["difference"]):
        reach = span(row["difference_low"], row["difference_high"], name)
        difference = f"{difference} <small>{reach}</small>"
    cells.append(difference)
    if has_ratio:
        reach = f"<small>{row['ratio_low']:.2f} to {row['ratio_high']:.2f}</small>"
        cells.append(f"{row['ratio']:.2f} {reach}" if isfinite(row["ratio"]) else "–")
    return cells


def _scale(rows):
    """Ends of the pictures of one table; from 0, unless something is below."""
    values = [x for name in ("low", "value", "high") for x in rows[name] if isfinite(x)]
    low, high = min([0.0, *values]), max([0.0, *values])
    return (low, high) if high > low else (low, low + 1.0)


def _strip(row, scale, reference):
    """Interval, value and, dashed, the value of the reference: 100 units wide."""

    def x(value):
        return f"{100 * (value - scale[0]) / (scale[1] - scale[0]):.1f}"

    def line(kind, start, end, top, bottom):
        return f'<line class="{kind}" x1="{x(start)}" x2="{x(end)}" y1="{top}" y2="{bottom}"/>'

    shapes = []
    if reference is not None:
        shapes.append(line("ref", reference, reference, 0, 20))
    if isfinite(row["low"]) and isfinite(row["high"]):
        shapes.append(line("span", row["low"], row["high"], 10, 10))
    shapes.append(line("at", row["value"], row["value"], 4, 16))
    return (
        '<svg viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        f"{''.join(shapes)}</svg>"
    )


def _method(report):
    level = f"{100 * report.confidence_level:g} %"
    yield "<section><h2>How to read this</h2><ul>"
    for text in (
        f"Every interval holds the number of the population in {level} of samples: of rates "
        "Wilson's (exact ones of up to three successes or failures), of means Student's (Hall's "
        "where values are skewed), of areas DeLong's, of differences Newcombe's combination of "
        "both. Weighted samples count as the effective number of equal weight.",
        f"Intervals of single groups hold in {level} of samples one at a time. The interval of a "
        "gap holds for all groups of one attribute and measure together. Differences, ratios and "
        "impact ratios are relative to a group that was chosen because its value is the largest in "
        "these data. Their intervals hold for all groups, measures and attributes together "
        "(Bonferroni), so they are wider. Differences from a reference group that was named in "
        "advance, and ratios to it, hold one at a time.",
        "A sentence under “What was found” claims a gap without “may be chance” only if Holm’s "
        "procedure over the gaps of all measures and attributes finds it above 0. Of a model "
        f"without gaps, {100 * (1 - report.confidence_level):.3g} % of reports at most claim one. "
        "A gap in the tables can have an interval above 0 and yet be one of many that are chance.",
        "A bar is an interval, the stroke in it the value of the group, the dashed line that of "
        "the reference group, which is marked in the table.",
        f"Groups of fewer than {report.min_group_size} people are marked as small; no gap is "
        "measured on them.",
        f"Made by skfair {__version__} of {report.n_samples:,} people; "
        "FairnessReport.to_frame() has every number.",
    ):
        yield f"<li>{escape(text)}</li>"
    yield "</ul></section>"
