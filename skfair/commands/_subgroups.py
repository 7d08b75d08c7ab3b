"""The command ``python -m skfair subgroups``: search a file of decisions of any tool."""

from skfair.audit._estimators import REPORTED_RATES
from skfair.commands._options import (
    FINDING_STATUS,
    add_column_options,
    add_output_options,
    add_published_option,
    check_column_options,
    output_results,
    resolve_output,
)
from skfair.commands._predictions import read_audit


def add_subgroups_options(command):
    """Add the options of ``python -m skfair subgroups`` to its parser."""
    command.description = (
        "Search all conjunctions of conditions on columns for subgroups whose rate "
        "departs from the rest, with limits that hold for all of them together. The exit status "
        "is 3 if a subgroup departs, 0 if none is shown to, and 2 after an error."
    )
    add_column_options(command, ["classification"])
    add = command.add_argument
    rates = {"choices": REPORTED_RATES, "default": ["selection_rate"]}
    add("--metric", nargs="+", help="rates to compare", **rates)
    add("--max-conditions", type=int, default=2, help="conditions of a subgroup, 1 to 3 (2)")
    add("--direction", choices=["both", "above", "below"], default="both", help="(both)")
    add("--bins", type=int, default=4, help="bins of a column of numbers (4)")
    add("--max-listed", type=int, default=10, help="subgroups that are listed, of a rate (10)")
    add_published_option(command)
    add_output_options(command)
    command.set_defaults(run=_run_subgroups, probability=None)


def _run_subgroups(options):
    """Print or write the subgroups that the options ask for; return the exit status."""
    resolve_output(options)
    check_column_options(options)
    report = read_audit(options, {}, missing="group").subgroups(
        options.metric,
        max_conditions=options.max_conditions,
        direction=options.direction,
        confidence_level=options.confidence,
        n_bins=options.bins,
        max_listed=options.max_listed,
        min_published=options.min_published,
    )
    output_results(options, [report.reading, str(report)], report.to_json())
    return FINDING_STATUS if report.searches["n_flagged"].any() else 0
