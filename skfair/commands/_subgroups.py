"""The command ``python -m skfair subgroups``: search a file of decisions of any tool."""

import warnings
from functools import partial
from types import MappingProxyType

from skfair.audit import (
    REPORTED_RATES,
    Audit,
    SensitiveFeatures,
    check_complete_column,
    check_counts,
    check_missing_marks,
    check_same_notation,
    find_label,
    parse_column,
)
from skfair.commands._options import (
    FINDING_STATUS,
    add_count_option,
    add_file_options,
    add_output_options,
    output_results,
    read_table,
    resolve_output,
    translate_messages,
)
from skfair.statistics import check_level
from skfair.utils._checks import join_names

_SUBGROUP_OPTIONS = MappingProxyType(
    {
        "min_group_size": "--min-size",
        "max_conditions": "--max-conditions",
        "max_listed": "--max-listed",
        "n_bins": "--bins",
        "metrics": "--measure",
        "missing='exclude'": "--missing exclude",
        "missing='group'": "--missing group",
    }
)
"""Parameters of searches -> options of the command."""


def add_subgroups_command(commands):
    """Add the command ``subgroups`` to the subparsers of ``python -m skfair``."""
    command = commands.add_parser(
        "subgroups",
        help="search decisions in CSV or Parquet files for the subgroups that depart most",
        description="Search all conjunctions of conditions on columns for subgroups whose rate "
        "departs from the rest, with limits that hold for all of them together. The exit status "
        "is 3 if a subgroup departs, 0 if none is shown to, and 2 after an error.",
    )
    add_file_options(command)
    add = command.add_argument
    add("--target", help="column of the truth; left out if outcomes are not known")
    add("--prediction", required=True, help="column of decisions between two classes")
    add(
        "--sensitive",
        nargs="+",
        required=True,
        metavar="COLUMN",
        help="columns whose conditions are searched; numbers are divided into bins",
    )
    add(
        "--measure",
        nargs="+",
        choices=REPORTED_RATES,
        default=["selection_rate"],
        help="rates to compare",
    )
    add("--max-conditions", type=int, default=2, help="conditions of a subgroup, 1 to 3 (2)")
    add("--direction", choices=["both", "above", "below"], default="both", help="(both)")
    add("--min-size", type=int, default=30, help="samples of the smallest subgroup (30)")
    add("--bins", type=int, default=4, help="bins of a column of numbers (4)")
    add("--max-listed", type=int, default=10, help="subgroups that are listed, of a rate (10)")
    add(
        "--missing",
        choices=["exclude", "group", "error"],
        default="group",
        help="whether being missing is a condition (default: group)",
    )
    add("--confidence", type=float, default=0.95, help="how often all limits hold (default .95)")
    add_count_option(command)
    add_output_options(command)
    command.set_defaults(run=partial(_run_subgroups, command))


def _run_subgroups(parser, options):
    """Print or write the subgroups that the options ask for; return the exit status."""
    try:
        resolve_output(options)
        report = _search_file(options)
    except (OSError, ValueError, TypeError, ImportError) as error:
        parser.error(str(error))
    output_results(options, [str(report)], report.to_json())
    return FINDING_STATUS if len(report.subgroups) else 0


def _search_file(options):
    """The report on subgroups that the options ask for."""
    check_level(options.confidence, "--confidence")
    roles = [options.target, options.prediction, options.count]
    names = [name for name in (*roles, *options.sensitive) if name is not None]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(
            f"A column must have one role, but {join_names(map(repr, repeated))} is named twice "
            "among --target, --prediction, --sensitive and --count."
        )
    table = read_table(options, names)
    counts = check_complete_column(table, options.count)
    if counts is not None:
        counts = check_counts(counts, options.count)
    y_true, y_pred = (check_complete_column(table, name) for name in roles[:2])
    check_missing_marks(y_true, y_pred)
    check_same_notation(y_true, y_pred)
    columns = table[options.sensitive].apply(parse_column)
    with translate_messages(_SUBGROUP_OPTIONS):
        with warnings.catch_warnings():
            # Numbers are divided into bins.
            warnings.filterwarnings("ignore", "Attribute .* different numbers", UserWarning)
            audit = Audit.from_columns(
                {"y_pred": y_pred, "y_true": y_true},
                SensitiveFeatures(columns, missing=options.missing),
                sample_weight=counts,
                kind="classification",
                pos_label=find_label(options.positive, y_pred if y_true is None else y_true),
                min_group_size=options.min_size,
                are_counts=counts is not None,
            )
        return audit.subgroups(
            options.measure,
            max_conditions=options.max_conditions,
            direction=options.direction,
            confidence_level=options.confidence,
            n_bins=options.bins,
            max_listed=options.max_listed,
        )
