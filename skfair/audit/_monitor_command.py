"""The command ``python -m skfair monitor``: a gap over time, from a file of predictions."""

import json
import sys
import warnings
from functools import partial
from pathlib import Path

from skfair.audit._command_line import check_output, explain_options, find_label
from skfair.audit._decision_log import PERIODS, feed, find_delay, read_log
from skfair.audit._monitor_page import monitor_findings, monitor_results, render_monitor
from skfair.constraints import constraints_on
from skfair.inference import check_level
from skfair.monitoring import GapMonitor
from skfair.utils._files import write_text

_OPTIONS = {
    "constraint": "--constraint",
    "tolerance": "--tolerance",
    "confidence_level": "--confidence",
    "run_length": "--run-length",
    "pos_label": "--positive",
    "delay": "--delay",
    "max_weight": "--max-weight",
}
"""Parameters of a monitor -> options of the command."""

_PHRASES = {
    "pass ids now and call update_labels then": "leave their entries empty and pass --delay or "
    "--outcome-date",
    "Create the monitor with delay": "Pass --delay",
    "Create the monitor with a larger max_weight": "Pass a larger --max-weight with the first file",
    **{f"{name} must": f"{option} must" for name, option in _OPTIONS.items()},
}
"""What messages of monitors advise -> what it is for the command."""


def add_monitor_command(commands):
    """Add the command ``monitor`` to the subparsers of ``python -m skfair``."""
    monitor = commands.add_parser(
        "monitor", help="monitor a gap over time, valid at every look", description=__doc__
    )
    add = monitor.add_argument
    add("file", type=Path, help="CSV (any separator), Parquet or a folder of it, a row per sample")
    add("--prediction", required=True, help="column of predicted classes")
    add("--time", required=True, help="column of dates of the decisions")
    add("--by", choices=list(PERIODS), default="month", help="batches (default month)")
    add("--target", help="column of outcomes, for constraints that need them; empty: outstanding")
    add("--outcome-date", help="column of the dates when outcomes were known")
    add("--delay", help="longest time until an outcome is known, such as '90 days'")
    add("--id", help="column that names each sample, for outcomes that come in a later file")
    add("--sensitive", nargs="+", required=True, metavar="COLUMN", help="protected attributes")
    add("--weight", help="column of sample weights")
    add("--max-weight", type=float, help="largest weight that can occur (default that of the file)")
    add("--constraint", help="default demographic_parity, with a target equalized_odds")
    add("--tolerance", type=float, default=0.05, help="largest gap allowed (default .05)")
    add("--positive", help="the class that means success, as it is written in the file")
    add("--confidence", type=float, default=0.95, help="1 less the probability of false statements")
    add(
        "--run-length",
        type=run_length,
        default=100.0,
        help="mean number of batches until a false alarm (default 100), or none: one alarm at "
        "most, false with the error of --confidence",
    )
    add(
        "--state",
        type=Path,
        help="JSON file to resume from, and to write for the next file; a period is read once, so "
        "it should be over",
    )
    add("--title", default="Fairness monitor", help="heading of the page")
    add(
        "--out",
        type=Path,
        default=Path("monitor.html"),
        help="the page, .html, or its figures, .json (default monitor.html)",
    )
    monitor.set_defaults(run=partial(_run, monitor))


def run_length(text):
    """Number of batches, or None."""
    return None if text.lower() == "none" else float(text)


def _run(parser, options):
    """Write the page of a monitor; return the exit status."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            monitor, n_left_out = _read(options)
        _write(monitor, options)
    except (OSError, ValueError, TypeError) as error:
        parser.error(str(error))
    for message in dict.fromkeys(str(one.message) for one in caught):
        print(f"{parser.prog}: warning: {message}", file=sys.stderr)
    print(*monitor_findings(monitor, options.by), sep="\n")
    if n_left_out:
        print(f"{n_left_out:,} decisions of periods that were read before are not read again.")
    print(f"The whole report is in {options.out}.")
    return 0


def _read(options):
    """A monitor that has read the file, and the number of samples that are left out."""
    check_level(options.confidence, "--confidence")
    check_output(options.out, options.file, (".html", ".htm", ".json"))
    if options.state is not None:
        check_output(options.state, options.file, (".json",), "--state")
        if options.state.resolve() == options.out.resolve():
            raise ValueError(f"--state and --out must be two files, but both are {options.out}.")
    if options.constraint not in (None, *constraints_on("decisions")):
        raise ValueError(
            f"--constraint must be one of {constraints_on('decisions')}; got "
            f"{options.constraint!r}."
        )
    log = read_log(options)
    with explain_options(_PHRASES):
        monitor = _resume_or_start(options, log)
        return monitor, feed(monitor, log)


def _resume_or_start(options, log):
    """The monitor of the file --state, if there is one and the options are the same."""
    params = {
        "constraint": options.constraint
        or ("demographic_parity" if log.y_true is None else "equalized_odds"),
        "tolerance": options.tolerance,
        "confidence_level": options.confidence,
        "run_length": options.run_length,
        "delay": find_delay(options.delay, options.by),
        "max_weight": options.max_weight,
    }
    if options.state is not None and options.state.exists():
        return _resume(options, params)
    if options.max_weight is None:
        params["max_weight"] = 1.0 if log.weights is None else float(log.weights.max())
    has_outcomes = log.y_true is not None and log.y_true.notna().any()
    labels = log.y_true.dropna() if has_outcomes else log.y_pred
    return GapMonitor(**params, pos_label=find_label(options.positive, labels))


def _resume(options, params):
    """The monitor that the file --state holds, if it has these parameters."""
    text = options.state.read_text(encoding="utf-8")
    try:
        monitor = GapMonitor.from_json(text)
    except ValueError as error:
        raise ValueError(f"--state {options.state} cannot be read: {error}") from error
    if options.max_weight is None:
        params["max_weight"] = monitor.max_weight
    stored = {"by": json.loads(text).get("by", options.by), "positive": monitor.pos_label}
    requested = {"by": options.by, "positive": options.positive}
    if options.positive in (None, str(monitor.pos_label)):
        requested["positive"] = monitor.pos_label
    for name, value in params.items():
        stored[_OPTIONS[name][2:]], requested[_OPTIONS[name][2:]] = getattr(monitor, name), value
    for option, value in requested.items():
        if stored[option] != value:
            raise ValueError(
                f"--{option} must be that of {options.state}, {stored[option]}; got {value}. A "
                "monitor keeps its parameters; leave out --state to begin another."
            )
    return monitor


def _write(monitor, options):
    """Write the page or its figures, then the state, so that an error leaves the earlier state."""
    if options.out.suffix.lower() == ".json":
        content = json.dumps(monitor_results(monitor, options), ensure_ascii=False, indent=1)
    else:
        content = render_monitor(monitor, options.title, options.by)
    write_text(content, options.out)
    if options.state is not None:
        state = json.loads(monitor.to_json()) | {"by": options.by}
        write_text(json.dumps(state), options.state)
