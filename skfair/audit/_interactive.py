"""Script of the page of a report, with which a reader chooses what is shown."""

import re
from importlib.resources import files

from skfair._utils.checks import argument_error
from skfair.audit._formats import encode_document
from skfair.audit._sentences import describe_metric, describe_quantity
from skfair.audit._tables import OVERALL, Grouping, list_groupings, read_grouping

_COLUMNS = ["grouping", "group", "metric", "n", "estimate", "low", "high", "is_small"]


def add_script(page, report, summary=None):
    """The page of a report with a script, and with the numbers that it shows by choice."""
    if summary is not None or "suppressed" in report.provenance:
        raise argument_error(
            "interactive puts unrounded rates and counts by score in the page, which min_published "
            "does not protect and a summary does not show. Leave it out, for a page without them, "
            "or leave out min_published and summary, for the whole report."
        )
    words = {
        name: [*describe_metric(name, report.reading.burden), describe_quantity(name).is_share]
        for name in report.frame["metric"].unique()
    }
    groupings = [Grouping(OVERALL), *list_groupings(report.frame)]
    scores = None
    if report.counts_samples and report.reliability is not None:
        scores = _number_groupings(report.reliability.assign(stratum=""), groupings)
        scores = scores[["grouping", "group", "bin_low", "bin_high", "n", "estimate"]]
    gaps = _number_groupings(report.gaps, groupings)
    content = {
        "groupings": [*map(str, groupings)],
        "rates": _number_groupings(report.frame, groupings)[_COLUMNS],
        "gaps": gaps[["grouping", "metric", "gap", "gap_low", "gap_high"]],
        "words": words,
        "scores": scores,
        "min_group_size": report.min_group_size,
        "counts_samples": report.counts_samples,
    }
    # Names must not end the element, and lines need no indentation.
    document = encode_document("ReportPage", content).replace("<", "\\u003c")
    document = re.sub("\n *", "", document)
    script = files("skfair.audit").joinpath("_interactive.js").read_text("utf-8")
    scripts = (
        f'<script type="application/json" id="skfair-data">{document}</script>\n'
        f"<script>{script}</script>\n</main>"
    )
    return page.replace("</main>", scripts)


def _number_groupings(frame, groupings):
    """A table with the place of the grouping of each row, as names may look equal."""
    places = {grouping: place for place, grouping in enumerate(groupings)}
    rows = frame[["attribute", "stratum"]].to_dict("records")
    return frame.assign(grouping=[places[read_grouping(row)] for row in rows])
