"""The command that recomputes claims, reports and answers of alternatives from the data."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from math import isclose
from pathlib import Path
from shlex import split
from typing import TYPE_CHECKING, Any, NamedTuple

from skfair._commands.audit import (
    add_alternatives_options,
    add_certify_options,
    add_report_options,
    add_salt_option,
    build_alternatives,
    build_claim,
    build_report,
    read_salt,
)
from skfair._commands.options import (
    FINDING_STATUS,
    add_output_options,
    output_results,
    resolve_output,
)
from skfair._commands.parser import Parser
from skfair._utils.checks import join_names
from skfair.audit import FairnessReport
from skfair.audit._claims import check_states_digest, read_filed_claim
from skfair.audit._formats import read_document
from skfair.audit._ledger import divide_level

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Iterator

    from skfair.audit import Alternatives, Claim


def add_verify_options(verify: ArgumentParser) -> None:
    """Add the options of ``python -m skfair verify`` to its parser."""
    verify.description = (
        "Recompute what `certify`, `report` or `alternatives` wrote as JSON. The exit status is 0 "
        "if the file has the same claim, report or answer, 3 if it has another one, and 2 after "
        "an error."
    )
    verify.usage = "%(prog)s RESULT FILE [options]"
    verify.add_argument("claim", type=Path, metavar="RESULT", help="JSON that a command wrote")
    verify.add_argument("file", type=Path, nargs=1, metavar="FILE", help="file or folder of them")
    add_salt_option(verify, "the claim or report was made")
    add_output_options(verify)
    verify.set_defaults(run=_run_verify)


# What can be verified: the command that made it, and how it is made again.


def _repeat_claim(options: Namespace, content: dict[str, Any]) -> Claim:
    """Return the claim of the filed options, which has the shares of its population itself."""
    claim = build_claim(
        _divide_confidence(options, content["attempt"]),
        content["constraint"]["params"].get("population"),
    )
    return replace(claim, attempt=content["attempt"])


def _repeat_report(options: Namespace, content: dict[str, Any]) -> FairnessReport:
    """Return the report of the filed options, which has the shares of its population itself."""
    population: dict[str, dict[str, float]] | None = None
    if (shares := content["shares"]) is not None:
        population = {}
        columns = (shares[name] for name in ("attribute", "group", "population"))
        for attribute, group, share in zip(*columns, strict=True):
            population.setdefault(attribute, {})[group] = share
    return build_report(options, population)


def _repeat_alternatives(options: Namespace, content: dict[str, Any]) -> Alternatives:
    """Return the answer of the filed options at the level of its attempt."""
    options.salt_file = None  # of the ledger, which only counts attempts
    answer = build_alternatives(_divide_confidence(options, content["attempt"]))
    return replace(answer, attempt=content["attempt"])


def _divide_confidence(options: Namespace, attempt: int | None) -> Namespace:
    """Return the options with the confidence of one attempt among those of a ledger."""
    if attempt is None:
        return options
    return Namespace(**vars(options) | {"confidence": divide_level(options.confidence, attempt)})


class _Kind(NamedTuple):
    """A kind of result: its name, its command, and the function that makes it again."""

    noun: str
    command: str
    source: str
    add_options: Callable[[ArgumentParser], None]
    repeat: Callable[[Namespace, dict[str, Any]], Claim | FairnessReport | Alternatives]


_KINDS = {
    "Claim": _Kind("claim", "certify", "source", add_certify_options, _repeat_claim),
    "FairnessReport": _Kind("report", "report", "provenance", add_report_options, _repeat_report),
    "Alternatives": _Kind(
        "answer", "alternatives", "source", add_alternatives_options, _repeat_alternatives
    ),
}
"""Class whose JSON is verified -> how."""


def _read_filed(path: Path) -> tuple[_Kind, dict[str, Any]]:
    """Return the kind and the content of a filed result; raise for other versions and damage."""
    try:
        form = json.loads(path.read_text(encoding="utf-8"))["format"].removeprefix("skfair.")
    except (ValueError, TypeError, KeyError, AttributeError):
        form = "Claim"
    kind = _KINDS.get(form, _KINDS["Claim"])
    if kind.noun == "claim":
        read_filed_claim(path)  # which names damaged fields
    content = read_document(path, "Claim" if form not in _KINDS else form, {kind.source})
    source = content[kind.source]
    if not isinstance(source, dict) or not isinstance(source.get("command"), str):
        raise ValueError(
            f"{path} must be a {kind.noun} of `python -m skfair {kind.command}`, but it does not "
            "state the options. Pass claims and answers that Python made to skfair.audit.verify."
        )
    return kind, _refer_to_facts(kind, content)


def _refer_to_facts(kind: _Kind, content: dict[str, Any]) -> dict[str, Any]:
    """Return the content, in which a search within a report refers to facts that both state."""
    search = content.get("subgroups")
    if not isinstance(search, dict) or not isinstance(search.get("source"), dict):
        return content
    facts = content[kind.source]
    shared = {
        name: "as the report" if facts.get(name) == fact else fact
        for name, fact in search["source"].items()
    }
    return content | {"subgroups": search | {"source": shared}}


def _parse_filed_options(kind: _Kind, file: Path, text: str) -> Namespace:
    """Return the options that a result names; those that write files are left out."""
    parser = Parser()
    parser.set_defaults(arguments=[kind.command, str(file), *split(text)])
    kind.add_options(parser)
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            options = parser.parse_args([str(file), *split(text)])
    except (SystemExit, ValueError):
        raise ValueError(
            f"The field {kind.source}.command of a {kind.noun} must be options of `python -m "
            f"skfair {kind.command}`, but it is {text!r}. Run the command again."
        ) from None
    options.ledger = options.out = options.json = None
    _refuse_functions(options)
    return options


def _refuse_functions(options: Namespace) -> None:
    """Raise for functions that a filed result names, since importing them runs their module."""
    metrics = getattr(options, "metric", None)
    names = [*(metrics if isinstance(metrics, list) else []), getattr(options, "performance", "")]
    for name in names:
        if ":" in name and not name.startswith("sklearn.metrics:"):
            raise ValueError(
                f"verify calls no function that a file names, but this one was made with {name!r}. "
                "If you trust it, run the command again, and compare the two files."
            )


# What is compared.


_UNCHECKED_FACTS = ("date", "versions")
"""Facts that nothing else states, so that data cannot contradict them."""


class _Comparison(NamedTuple):
    """Fields that differ, the places of some, and facts that the data do not tell."""

    differences: list[str]
    places: list[str]
    unchecked: list[str]


def _compare(
    kind: _Kind, filed: dict[str, Any], now: dict[str, Any], options: Namespace
) -> _Comparison:
    """Return what differs between a filed result and the one that the data have now."""
    differences: list[str] = []
    places: list[str] = []
    for name, value in now.items():
        if name == kind.source or _is_equal(filed[name], value):
            continue
        differences.append(name)
        places += _find_places(name, filed[name], value)
    source, source_now = filed[kind.source], now[kind.source]
    unchecked = [*_UNCHECKED_FACTS, *(one.partition("=")[0] for one in _list_provenance(options))]
    if filed.get("attempt") is not None:
        unchecked.append("attempt")
    skipped = {*unchecked, "file", "sha256", "command"}
    if options.salt_file is None and "salted_sha256" in source:
        skipped.add("salted_sha256")
    names = {*source, *source_now} - skipped
    # A digest of the file must be stated where it can be, but other files may have the same data.
    if ("sha256" in source) != ("sha256" in source_now):
        names.add("sha256")
    differences += sorted(one for one in names if source.get(one) != source_now.get(one))
    return _Comparison(differences, places, unchecked)


def _list_provenance(options: Namespace) -> list[str]:
    """Return the facts that the user stated, as NAME=TEXT."""
    return getattr(options, "provenance", [])


def _is_equal(first: Any, second: Any) -> bool:
    """Return whether two values of JSON are equal, numbers up to rounding."""
    if isinstance(first, dict) and isinstance(second, dict):
        return {*first} == {*second} and all(_is_equal(first[k], second[k]) for k in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_is_equal, first, second))
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, int | float) and isinstance(second, int | float):
        return isclose(first, second, rel_tol=1e-9, abs_tol=1e-9)
    return bool(first == second)


_KEYS = ("attribute", "group", "subgroup", "metric", "candidate")
"""Columns that say what a row of a table is about."""


def _find_places(name: str, filed: Any, now: Any) -> Iterator[str]:
    """Yield the entries of tables that differ, with what their rows are about, and both values."""
    if not isinstance(now, dict) or not isinstance(filed, dict) or {*filed} != {*now}:
        return
    for column, values in now.items():
        yield from _find_places(f"{name}.{column}", filed[column], values)
        is_table = isinstance(values, list) and isinstance(filed[column], list)
        if not is_table or len(filed[column]) != len(values):
            continue
        for row, (was, value) in enumerate(zip(filed[column], values, strict=True)):
            if not _is_equal(was, value):
                keys = [str(now[key][row]) for key in _KEYS if key in now]
                about = f" ({', '.join(keys)})" if keys else ""
                yield f"{name}.{column}{about} is filed as {was}, now {value}"


def _run_verify(options: Namespace) -> int:
    """Print whether the file has the result that was filed; return the exit status."""
    resolve_output(options)
    kind, filed = _read_filed(options.claim)
    source = filed[kind.source]
    salt = read_salt(options.salt_file)
    check_states_digest(source, salt)
    repeated = _parse_filed_options(kind, options.file[0], source["command"])
    repeated.salt_file = options.salt_file
    report = _repeat(kind, repeated, filed, options.claim)
    now = _refer_to_facts(kind, json.loads(report.to_json()))
    if "status" in filed and isinstance(report, FairnessReport):
        now["status"] = FINDING_STATUS if report.has_finding else 0
    _check_fields(kind, filed, now, options.claim)
    compared = _compare(kind, filed, now, repeated)
    sentences = _describe(kind, filed, now, compared)
    is_salt_open = salt is None and "salted_sha256" in source
    if is_salt_open and not compared.differences:
        sentences[0] += " Its salted digest of the samples is not checked; pass --salt-file."
    results = {
        "is_same": not compared.differences,
        "is_same_file": source.get("sha256") == now[kind.source].get("sha256"),
        "differences": compared.differences,
        "not_compared": compared.unchecked + ["salted_sha256"] * is_salt_open,
        "text": " ".join(sentences),
    }
    output_results(options, [report.reading, *sentences], json.dumps(results))
    return FINDING_STATUS if compared.differences else 0


def _repeat(
    kind: _Kind, options: Namespace, filed: dict[str, Any], path: Path
) -> Claim | FairnessReport | Alternatives:
    """Return the result of the filed options; raise where a field that they need is damaged."""
    try:
        return kind.repeat(options, filed)
    except (KeyError, TypeError, AttributeError):
        raise ValueError(
            f"{path} must be the JSON that `python -m skfair {kind.command}` wrote, but a field "
            "that is needed to make it again is damaged or missing. Run the command again."
        ) from None


def _check_fields(kind: _Kind, filed: dict[str, Any], now: dict[str, Any], path: Path) -> None:
    """Raise for fields that a result of this version does not have, or lacks."""
    unknown = [repr(name) for name in filed if name not in now]
    absent = [repr(name) for name in now if name not in filed]
    if unknown or absent:
        wrong = [f"has the unknown field {join_names(unknown)}"] * bool(unknown)
        wrong += [f"lacks {join_names(absent)}"] * bool(absent)
        raise ValueError(
            f"{path} must have the fields that `python -m skfair {kind.command}` writes, but it "
            f"{' and '.join(wrong)}. Nothing can be said of fields that no command wrote."
        )


# Sentences.


def _describe(
    kind: _Kind, filed: dict[str, Any], now: dict[str, Any], compared: _Comparison
) -> list[str]:
    """Return the verdict, what is not checked, and the filed text or both."""
    texts = [
        one["text"] if "text" in one else " ".join(map(str, one["findings"]))
        for one in (filed, now)
    ]
    if compared.differences:
        names = join_names(compared.differences, len(compared.differences))
        verdict = f"Another {kind.noun}, by {names}."
        if filed[kind.source].get("sha256") != now[kind.source].get("sha256"):
            verdict += f" These data are not the file of the {kind.noun}."
        if compared.places:
            verdict += f" The entry {'; '.join(compared.places[:3])}."
        return [verdict, f"Filed: {texts[0]}", f"Now: {texts[1]}"]
    unchecked = join_names(compared.unchecked, len(compared.unchecked))
    return [
        f"The same {kind.noun}: {_describe_file(kind, filed, now)}. Not checked, since the data do "
        f"not tell them: {unchecked}. {texts[0]}"
    ]


def _describe_file(kind: _Kind, filed: dict[str, Any], now: dict[str, Any]) -> str:
    """Return a clause on whether the data are the file that the result states."""
    source, source_now = filed[kind.source], now[kind.source]
    agrees = "it agrees with these data"
    if "sha256" not in source:
        return f"{agrees}, and states no digest of its file"
    if source["sha256"] != source_now["sha256"]:
        return (
            f"{agrees}, which are not the file of the {kind.noun} (another SHA-256 digest): rows "
            "may be in another order, or other samples with the same counts"
        )
    if source.get("file") != source_now.get("file"):
        return f"{agrees}, which are the file of the {kind.noun}, there named {source.get('file')}"
    return f"{agrees}, which are the file of the {kind.noun}"
