"""The command ``python -m skfair monitor``: a gap over time, from a file of predictions."""

from functools import partial
from pathlib import Path

import pandas as pd

from skfair.audit._command_line import (
    check_missing_classes,
    check_output,
    check_same_notation,
    complete_column,
    explain_options,
    find_label,
)
from skfair.audit._monitor_page import monitor_findings, render_monitor
from skfair.audit._prediction_file import read_columns
from skfair.constraints import constraints_on
from skfair.groups import fill_missing
from skfair.inference import check_level
from skfair.monitoring import GapMonitor

_PERIODS = {"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}
"""Lengths of batches, and their pandas aliases."""


def add_monitor_command(commands):
    """Add the command ``monitor`` to the subparsers of ``python -m skfair``."""
    monitor = commands.add_parser(
        "monitor", help="monitor a gap over time, valid at every look", description=__doc__
    )
    add = monitor.add_argument
    add("file", type=Path, help="CSV (any separator), Parquet or a folder of it, a row per sample")
    add("--prediction", required=True, help="column of predicted classes")
    add("--time", required=True, help="column of dates")
    add("--by", choices=list(_PERIODS), default="month", help="batches (default month)")
    add("--target", help="column of the truth, for constraints that need it")
    add("--sensitive", nargs="+", required=True, metavar="COLUMN", help="protected attributes")
    add("--weight", help="column of sample weights")
    add("--constraint", help="default demographic_parity, with a target equalized_odds")
    add("--tolerance", type=float, default=0.05, help="largest gap allowed (default .05)")
    add("--positive", help="the class that means success, as it is written in the file")
    add("--confidence", type=float, default=0.95, help="1 less the probability of false statements")
    add("--run-length", type=float, help="mean number of batches until a false alarm")
    add("--title", default="Fairness monitor", help="heading of the page")
    add("--out", type=Path, default=Path("monitor.html"), help="the page (default monitor.html)")
    monitor.set_defaults(run=partial(_run, monitor))


def _run(parser, options):
    """Write the page of a monitor; return the exit status."""
    try:
        check_level(options.confidence, "--confidence")
        check_output(options.out, options.file, (".html", ".htm"))
        monitor = _monitor(options)
        options.out.write_text(render_monitor(monitor, options.title), encoding="utf-8")
    except (OSError, ValueError, TypeError) as error:
        parser.error(str(error))
    print(*monitor_findings(monitor), f"The whole report is in {options.out}.", sep="\n")
    return 0


def _monitor(options):
    """A monitor that has read the file batch by batch."""
    roles = [options.prediction, options.time, options.target, options.weight]
    names = [name for name in (*roles, *options.sensitive) if name is not None]
    table = read_columns(options.file, list(dict.fromkeys(names)))
    y_pred, y_true, weights = (
        complete_column(table, name)
        for name in (options.prediction, options.target, options.weight)
    )
    check_missing_classes(y_true, y_pred)
    check_same_notation(y_true, y_pred)
    periods = _periods(table[options.time], options.by)
    groups = table[options.sensitive].astype(object)
    default = "demographic_parity" if y_true is None else "equalized_odds"
    if options.constraint not in (None, *constraints_on("decisions")):
        raise ValueError(
            f"--constraint must be one of {constraints_on('decisions')}; got "
            f"{options.constraint!r}."
        )
    with explain_options():
        groups = fill_missing(groups.map(str).where(groups.notna(), None))
        monitor = GapMonitor(
            options.constraint or default,
            options.tolerance,
            confidence_level=options.confidence,
            run_length=options.run_length,
            pos_label=find_label(options.positive, y_pred if y_true is None else y_true),
            max_weight=1.0 if weights is None else float(weights.max()),
        )
        for start, rows in groups.groupby(periods).groups.items():
            monitor.update(
                y_pred[rows],
                None if y_true is None else y_true[rows],
                sensitive_features=groups.loc[rows],
                sample_weight=None if weights is None else weights[rows],
                time=start,
            )
    return monitor


def _periods(column, by):
    """The first day of the batch of each row."""
    times = pd.to_datetime(column, errors="coerce", format="ISO8601")
    if times.isna().any():
        first = int(times.isna().to_numpy().argmax())
        raise ValueError(
            f"--time must name a column of dates such as 2026-03-01, but row {first + 1} of "
            f"{column.name!r} holds {column.iloc[first]!r}."
        )
    return times.dt.tz_localize(None).dt.to_period(_PERIODS[by]).dt.start_time
