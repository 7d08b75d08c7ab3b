"""The command ``python -m skfair monitor``: a gap over time, from a file of predictions."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from datetime import date
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from skfair._columns.reading import find_label
from skfair._commands.decision_log import (
    DEFAULT_MISSING,
    PERIODS,
    decide_two_classes,
    feed,
    parse_delay,
    read_log,
)
from skfair._commands.monitor_page import monitor_findings, monitor_results, render_monitor
from skfair._commands.options import (
    FINDING_STATUS,
    OPEN_STATUS,
    add_file_options,
    add_output_options,
    add_row_options,
    check_output,
    describe_file,
    find_option,
    output_results,
    resolve_output,
)
from skfair._statistics.estimates import check_level
from skfair._utils.checks import check_choice, join_names, mute_warnings
from skfair._utils.fit import lock_file, write_text
from skfair.audit._bins import Bins
from skfair.audit._protection import check_minimum
from skfair.constraints import CONSTRAINTS_ON_DECISIONS
from skfair.monitoring import GapMonitor
from skfair.monitoring._monitor import rename_attributes, seal

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from skfair._columns.reading import Reading
    from skfair._commands.decision_log import DecisionLog


def add_monitor_options(monitor: ArgumentParser) -> None:
    """Add the options of ``python -m skfair monitor`` to its parser."""
    monitor.description = (
        "Gap of a file of decisions over time. The exit status is 3 if the verdict is "
        '"contradicted", 0 otherwise, 1 with --require-shown if it is "open", and 2 after an error.'
        " An alarm contradicts the tolerance until it is shown to be kept again."
    )
    add_file_options(monitor)
    add = monitor.add_argument
    about = "column of predicted classes"
    add("--prediction", required=True, metavar="COLUMN", help=about)
    about = "column of dates of the decisions"
    add("--time", required=True, metavar="COLUMN", help=about)
    about = "format of the dates, such as %%m/%%d/%%Y (default ISO 8601)"
    add("--date-format", metavar="FORMAT", help=about)
    add("--by", choices=list(PERIODS), default="month", help="length of a batch (default month)")
    about = "column of outcomes, for constraints that need them; empty: outstanding"
    add("--target", metavar="COLUMN", help=about)
    about = "column of the dates when outcomes were known"
    add("--outcome-date", metavar="COLUMN", help=about)
    add("--delay", help="longest time until an outcome is known, such as '90 days'")
    about = "columns of protected attributes"
    add("--sensitive", nargs="+", required=True, metavar="COLUMN", help=about)
    treatments = ("exclude", "group", "error")
    about = "what happens to empty groups (default exclude)"
    add("--missing", choices=treatments, help=about)
    add_row_options(monitor)
    add("--constraint", help="default demographic_parity, with a target equalized_odds")
    add("--tolerance", type=float, default=0.05, help="largest gap allowed (default .05)")
    about = "batches until a false alarm if the gap is just the tolerance (default 300, or that of "
    about += "--state), or none: one alarm at most"
    add("--run-length", type=parse_run_length, help=about)
    about = "numbers of the last batches that are judged by themselves (default 1 3 6 12)"
    add("--windows", type=int, nargs="+", metavar="N", help=about)
    about = "JSON file to resume from and to write; a period is read once, so it should be over"
    add("--state", type=Path, help=about)
    about = "columns of --state that have another name in this file"
    add("--renamed", nargs="+", default=[], metavar="OLD=NEW", help=about)
    add("--late", action="store_true", help="count periods that come late, in windows alone")
    add("--require-shown", action="store_true", help="exit with 1 unless the tolerance is shown")
    add("--title", default="Fairness monitor", help="heading of the page")
    add_output_options(monitor, "monitor.html", "the page, .html, or its figures, .json")
    monitor.set_defaults(run=_run)


def parse_run_length(text: str) -> float:
    """Number of batches, infinite for none."""
    return float("inf" if text.lower() == "none" else text)


def _run(options: Namespace) -> int:
    """Write the page of a monitor; return the exit status."""
    resolve_output(options, (".html", ".htm", ".json"))
    _check_state(options)
    if options.min_published is not None:
        check_minimum(options.min_published)
    # What was read is written before another process reads: no batch is lost.
    lock = nullcontext() if options.state is None else lock_file(options.state)
    # Warnings state numbers of samples, which are not published.
    mute = nullcontext() if options.min_published is None else mute_warnings(UserWarning)
    with lock, mute:
        series = _feed_file(options)
        if options.min_published is not None:
            reading = series.reading
            groups = {one.name: one.labels for one in reading.columns if one.role == "group"}
            series = series._replace(reading=reading.protect(None, groups))
        monitor, reading = series.monitor, series.reading
        results = monitor_results(monitor, options, reading)
        _write(series, options, results)
    state, *findings = monitor_findings(monitor, options.by, options.min_published)
    sentences = [state, reading, *findings]
    if options.out is not None:
        sentences.append(f"The whole report is in {options.out}.")
    output_results(options, sentences, json.dumps(results))
    if monitor.verdict_ == "contradicted":
        return FINDING_STATUS
    return OPEN_STATUS if options.require_shown and monitor.verdict_ == "open" else 0


def _check_state(options: Namespace) -> None:
    """Raise if the file of the state is no JSON, or another file of the command."""
    if options.state is None:
        if options.renamed:
            raise ValueError("--renamed is for columns of --state; leave it out without a state.")
        return
    check_output(options.state, options.file, (".json",), "--state")
    if options.renamed and not options.state.exists():
        raise ValueError(f"--renamed is for columns of --state, but there is no {options.state}.")
    for option, path in {"--out": options.out, "--json": options.json}.items():
        if path is not None and options.state.resolve() == Path(path).resolve():
            raise ValueError(f"--state and {option} must be two files, but both are {path}.")


class _Series(NamedTuple):
    """A monitor that has read the files of a command, and what their pages and states say of them.

    ``bins`` are those of numbers by place of the attribute, and ``renamed`` all texts that were
    passed to --renamed.
    """

    monitor: GapMonitor
    reading: Reading
    bins: dict[int, Bins]
    renamed: list[str]


def _feed_file(options: Namespace) -> _Series:
    """Feed the file to a monitor, which is new or that of the state."""
    check_level(options.confidence, "--confidence")
    if options.constraint is not None:
        check_choice("--constraint", options.constraint, CONSTRAINTS_ON_DECISIONS)
    stored = None
    renamed: list[str] = []
    if options.state is not None and options.state.exists():
        stored = _read_state(options.state)
        _check_columns(options, stored)
        renamed = [*dict.fromkeys([*stored["renamed"], *options.renamed])]
    log, reading, bins = read_log(options, None if stored is None else stored["bins"])
    monitor = _start(options, log) if stored is None else _resume(options, log, stored)
    log = decide_two_classes(log, monitor.pos_label)
    if n_read_before := feed(monitor, log, options.by, options.late):
        reason = "decisions of periods that were read before are not read again"
        reading = replace(reading, left_out=reading.left_out | {reason: n_read_before})
    return _Series(monitor, reading, bins, renamed)


def _list_stored(options: Namespace) -> dict[str, Any]:
    """Options that are the same for all files, beside the parameters of the monitor, by name."""
    return {
        "by": options.by,
        "missing": options.missing or DEFAULT_MISSING,
        "threshold": options.threshold,
    }


_SERIES_COLUMNS = (
    "prediction",
    "sensitive",
    "target",
    "time",
    "id",
    "weight",
    "count",
    "outcome_date",
)
"""Options that name the columns of a series; all files of a state have the same."""


def _list_columns(options: Namespace) -> dict[str, Any]:
    """Names of the columns that identify a series, by option."""
    return {role: getattr(options, role) for role in _SERIES_COLUMNS}


def _check_columns(options: Namespace, stored: dict[str, Any]) -> None:
    """Raise for a column that is not that of the state, unless --renamed says that it is."""
    requested = _list_columns(options)
    columns = stored["columns"]
    # A job may keep an option by which the state has the new name already.
    texts = [one for one in options.renamed if one not in stored["renamed"]]
    renamed = _parse_renamed(texts, _list_names(columns), _list_names(requested))
    for role, names in columns.items():
        current = [renamed.get(name, name) for name in _as_list(names)]
        passed = _as_list(requested[role])
        if current == passed:
            continue
        option = find_option(role)
        known, other = (" ".join(one) or "no column" for one in (_as_list(names), passed))
        changes = zip(_as_list(names), passed, strict=False)
        pairs = [f"{old}={new}" for old, new in changes if old != new]
        advice = f" if only the name is another, pass --renamed {' '.join(pairs)}; else"
        raise ValueError(
            f"{option} must name the column of {options.state}, {known}, but names {other}:"
            f"{advice * (len(_as_list(names)) == len(passed))} begin another monitor by another "
            "file as --state, since a monitor is about one model, its groups and outcomes."
        )


def _as_list(names: list[str] | str | None) -> list[str]:
    """Names of columns of an option that takes one or several."""
    if names is None:
        return []
    return [names] if isinstance(names, str) else names


def _list_names(columns: dict[str, Any]) -> list[str]:
    """All names of columns."""
    return [name for names in columns.values() for name in _as_list(names)]


def _parse_renamed(texts: list[str], stored: list[str], requested: list[str]) -> dict[str, str]:
    """The new name of each column of --renamed, which are texts OLD=NEW."""
    renamed: dict[str, str] = {}
    for text in texts:
        # Names may contain the sign, too.
        ends = [place for place, sign in enumerate(text) if sign == "="]
        pairs = [(text[:end], text[end + 1 :]) for end in ends]
        pairs = [(old, new) for old, new in pairs if old in stored and new in requested]
        if not pairs:
            raise ValueError(
                "--renamed must be OLD=NEW, a column of the state and its name in this file, but "
                f"is {text!r}. The state has {join_names(map(repr, stored), 12)}, and the options "
                f"name {join_names(map(repr, requested), 12)}."
            )
        renamed |= dict(pairs[:1])
    return renamed


def _read_state(path: Path) -> dict[str, Any]:
    """What the file --state holds: the monitor, bins of numbers by place, and options."""
    text = path.read_text(encoding="utf-8")
    try:
        monitor = GapMonitor.from_json(text)
    except ValueError as error:
        raise ValueError(f"--state {path} cannot be read: {error}") from error
    content = json.loads(text)
    if "columns" not in content:
        raise ValueError(f"--state {path} must be written by this command, which names columns.")
    bins = {int(place): Bins(**one) for place, one in content.get("bins", {}).items()}
    return content | {"monitor": monitor, "bins": bins}


_RUN_LENGTH = 300.0
"""Batches until a false alarm by default, as of a GapMonitor."""

_WINDOWS = (1, 3, 6, 12)
"""Numbers of the last batches that a monitor judges by default."""


def _find_params(options: Namespace, log: DecisionLog) -> dict[str, Any]:
    """Parameters of the monitor that the options name."""
    return {
        "constraint": options.constraint
        or ("demographic_parity" if log.y_true is None else "equalized_odds"),
        "tolerance": options.tolerance,
        "confidence_level": options.confidence,
        "burden": options.burden,
        "run_length": _find_run_length(options),
        "windows": _WINDOWS if options.windows is None else tuple(sorted({*options.windows})),
        "delay": parse_delay(options.delay, options.by),
    }


def _find_run_length(options: Namespace) -> float | None:
    """The run length that the options name, or the default; None for none."""
    if options.run_length is None:
        return _RUN_LENGTH
    return options.run_length if isfinite(options.run_length) else None


def _start(options: Namespace, log: DecisionLog) -> GapMonitor:
    """A monitor that has read nothing."""
    params = _find_params(options, log)
    params["max_weight"] = 1.0 if log.weights is None else float(log.weights.max())
    has_outcomes = log.y_true is not None and log.y_true.notna().any()
    labels = log.y_true.dropna() if has_outcomes else log.y_pred  # type: ignore[union-attr]
    return GapMonitor(**params, pos_label=find_label(options.positive, labels))


def _resume(options: Namespace, log: DecisionLog, content: dict[str, Any]) -> GapMonitor:
    """The monitor of an earlier file; raise if its parameters or the options differ."""
    monitor = content["monitor"]
    params = _find_params(options, log)
    if log.weights is not None and log.weights.max() > monitor.max_weight:
        raise ValueError(
            "Weights must be at most the largest one of the months with which --state began, "
            f"{monitor.max_weight:g}, since a monitor compares weights with it, but the largest in "
            f"--weight {options.weight} is {log.weights.max():g}. Read a file of all months with a "
            "new --state."
        )
    if options.windows is None:
        params["windows"] = monitor.windows
    if options.run_length is None:
        params["run_length"] = monitor.run_length
    requested = _list_stored(options)
    stored = {name: content.get(name, value) for name, value in requested.items()}
    stored["positive"] = str(monitor.pos_label)
    requested["positive"] = options.positive or stored["positive"]
    for name, value in params.items():
        option = find_option(name)[2:]
        stored[option], requested[option] = getattr(monitor, name), value
    for option, value in requested.items():
        if stored[option] != value:
            raise ValueError(
                f"--{option} must be that of {options.state}, {stored[option]}; got {value}. A "
                "monitor keeps its parameters; leave out --state to begin another."
            )
    return rename_attributes(monitor, options.sensitive)


def _write(series: _Series, options: Namespace, results: dict[str, Any]) -> None:
    """Write the page or its figures, then the state, so that an error leaves the earlier state."""
    if options.out is not None and options.out.suffix.lower() == ".json":
        write_text(json.dumps(results, ensure_ascii=False, indent=1), options.out)
    elif options.out is not None:
        facts = describe_file(options, date=date.today().isoformat())
        page = render_monitor(
            series.monitor,
            options.title,
            period=options.by,
            facts=facts,
            reading=series.reading,
            min_published=options.min_published,
        )
        write_text(page, options.out)
    if options.state is not None:
        stored = _list_stored(options) | {"columns": _list_columns(options)}
        stored["renamed"] = series.renamed
        stored["bins"] = {place: vars(one) for place, one in series.bins.items()}
        state = seal(json.loads(series.monitor.to_json()) | stored)
        write_text(json.dumps(state), options.state)
