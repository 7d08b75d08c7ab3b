"""The command ``python -m skfair report``: audit a file of predictions of any tool."""

import os
import sys
from contextlib import contextmanager
from importlib import import_module

from skfair.audit._formats import FACT_TITLES
from skfair.commands._options import (
    FINDING_STATUS,
    add_column_options,
    add_output_options,
    add_published_option,
    check_column_options,
    output_results,
    resolve_output,
    write_report,
)
from skfair.commands._predictions import read_audit
from skfair.metrics import GroupMetric, Rate
from skfair.utils._checks import join_names


def add_report_options(report):
    """Add the options of ``python -m skfair report`` to its parser."""
    report.description = (
        "Fairness report of a file of predictions. The exit status is 0 without a "
        "finding, 3 with a significant gap or, with --subgroups, a subgroup that departs, and 2 "
        "after an error."
    )
    add_column_options(report, ["classification", "regression", "clustering"])
    add = report.add_argument
    add("--probability", help="column of the probability of the positive class")
    add("--subgroups", action="store_true", help="search subgroups that depart, too")
    about = "further metrics: f1_score, or a function such as sklearn.metrics:cohen_kappa_score"
    add("--metric", nargs="+", default=[], metavar="NAME", help=about)
    add("--top", metavar="K", help="select the K highest scores: a number, or a share such as 0.1")
    add("--control", nargs="+", metavar="COLUMN", help="columns within whose values groups compare")
    add("--summary", choices=["ll144"], help="the summary that New York's Local Law 144 requires")
    add("--salt", help="secret text with which the report states a digest of the samples")
    add("--min-share", type=float, default=0.02, help="groups below it have no impact ratio (.02)")
    add("--provenance", nargs="+", metavar="NAME=TEXT", default=[], help="facts for the page")
    add_published_option(report)
    add("--title", default="Fairness report", help="heading of the page")
    add_output_options(report, "report.html", "page, .html, .md or .json")
    report.set_defaults(run=_run_report)


def _run_report(options):
    """Write the report that the options ask for; return the exit status."""
    check_column_options(options)
    resolve_output(options)
    if options.summary is not None and (
        options.out is None or options.out.suffix.lower() == ".json"
    ):
        raise ValueError("--summary is a page: --out must end in .html, .htm or .md.")
    report = _build_report(options)
    missing = _write_report(report, options)
    page = [f"The whole report is in {options.out}."] if options.out is not None else []
    sentences = [report.reading, *report.findings, *page, *missing]
    output_results(options, sentences, report.to_json())
    return FINDING_STATUS if report.has_finding else 0


def _write_report(report, options):
    """Write the report in the format of the file, and return what a summary lacks."""
    if options.out is None:
        return []
    missing = [] if options.summary is None else report.missing_fields(options.summary)
    write_report(report, options.out, summary=options.summary)
    return [f"Missing in the summary: {sentence}" for sentence in missing]


def _build_report(options):
    """The report that the options ask for."""
    metrics = [_import_metric(name) for name in options.metric]
    # What suits the page; of probabilities alone nothing is missing.
    missing = "group" if options.summary is None else "exclude"
    missing = missing if options.sensitive else "error"
    audit = read_audit(options, _stated_facts(options), missing=missing)
    level = options.confidence
    subgroups = audit.subgroups(confidence_level=level) if options.subgroups else None
    return audit.report(
        metrics=metrics,
        confidence_level=level,
        min_published=options.min_published,
        min_share=options.min_share,
        subgroups=subgroups,
        title=options.title,
        salt=options.salt,
    )


def _import_metric(name):
    """The function of a name such as package.module:function; other names unchanged."""
    module, sign, attribute = name.partition(":")
    if not sign:
        return name
    with _extend_import_path():
        try:
            metric = getattr(import_module(module), attribute)
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(
                f"--metric must name a function as package.module:function, but {name!r} cannot "
                f"be imported ({error}). Check the spelling, and the folder the command runs in."
            ) from error
    if not callable(metric) and not isinstance(metric, Rate | GroupMetric):
        raise ValueError(
            f"--metric must name a function, a Rate or a GroupMetric, but {name} is {metric!r}."
        )
    return metric


@contextmanager
def _extend_import_path():
    """Import modules of the working folder too, as ``python -m`` does and scripts do not."""
    folder = os.getcwd()
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _stated_facts(options):
    """What the user states about the data, by name."""
    facts = {}
    for text in options.provenance:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise ValueError(
                f"--provenance must be NAME=TEXT, with a name such as source; got {text!r}. "
                f"Known names are {join_names(FACT_TITLES, len(FACT_TITLES))}."
            )
        facts[name.strip()] = value.strip()
    return facts
