"""The commands ``report``, ``certify`` and ``plan``, and what all commands share."""

import json
import os
import re
import sys
import tempfile
import warnings
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from math import ceil
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from skfair.audit._certify import Certificate
from skfair.audit._formats import (
    FACT_TITLES,
    check_complete_column,
    check_missing_marks,
    check_same_notation,
    file_digest,
    find_label,
    has_decimals,
    holds_numbers,
    read_columns,
)
from skfair.audit._report import FairnessReport
from skfair.constraints import CONSTRAINTS, MaximumRate, MinimumRate
from skfair.groups import MISSING, fill_missing, is_like_unknown
from skfair.inference import ASSUMPTIONS, check_level, required_sample_size
from skfair.metrics import Measure, Rate
from skfair.utils._checks import check_tolerance, join_names, warn
from skfair.utils._fit import write_text

# Options of several commands, and messages about them.


_OPTIONS = {
    'kind="classification"': "--kind classification",
    'kind="regression"': "--kind regression",
    'kind="clustering"': "--kind clustering",
    'missing="exclude"': "--missing exclude",
    'missing="group"': "--missing group",
    'missing="at_random"': "--missing at_random",
    "Without X": "Without --features",
    "Pass X": "Pass --features",
    "X is used": "--features is used",
    "group_probabilities": "--group-probability",
    "assume=": "--assume ",
    "pass assume.": "pass --assume.",
    "missing='error'": "--missing error",
    "missing='at_random'": "--missing at_random",
    "unknown=[...]": "--unknown",
    "min_share": "--min-share",
    "min_published": "--min-published",
    "provenance": "--provenance",
    "pos_label=...": "--positive",
    "pos_label": "--positive",
    "y_true": "--target",
    "y_pred": "--prediction",
    "y_proba or y_score": "--probability",
    "y_proba": "--probability",
    "sensitive_features": "--sensitive",
    "sample_weight": "--weight",
    "control_features": "--control",
    "measures": "--measure",
}
"""Parameters of reports -> options of the command line."""


def add_file_options(command):
    """Add the file of samples, and the class that means success in it."""
    add = command.add_argument
    add("file", type=Path, help="CSV (any separator), Parquet or a folder of it, a row per sample")
    add("--positive", help="the class that means success, as it is written in the file")


def add_column_options(command, kinds):
    """Add the file and the options that name its columns, groups and labels."""
    add_file_options(command)
    add = command.add_argument
    add("--target", help="column of the truth; left out if outcomes are not known")
    add(
        "--prediction",
        required=True,
        help=f"column of decisions, classes, scores{', values or clusters' * (len(kinds) > 2)}",
    )
    add(
        "--sensitive",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns of protected attributes (groups); left out if only probabilities are known",
    )
    add(
        "--group-probability",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns of the probability of each group; with --missing at_random they model it",
    )
    add(
        "--assume",
        choices=sorted(ASSUMPTIONS),
        help="what is assumed of --group-probability without --sensitive",
    )
    add(
        "--features",
        nargs="+",
        metavar="COLUMN",
        default=[],
        help="columns that --missing at_random models the groups by",
    )
    add("--weight", help="column of sample weights")
    add(
        "--kind",
        choices=kinds,
        help="what the predictions are (default: regression if the target has decimals)",
    )
    add(
        "--unknown",
        nargs="+",
        metavar="LABEL",
        help="labels of unknown groups, such as Unknown or 'Decline to state'",
    )
    add("--threshold", type=float, help="scores above it are positive (default .5)")
    add("--confidence", type=float, default=0.95, help="how often intervals hold (default .95)")


def check_column_options(options):
    """Raise for columns, kinds and labels that contradict each other."""
    check_level(options.confidence, "--confidence")
    named = [options.target, *{options.prediction, options.probability}, *options.sensitive]
    named += [*(getattr(options, "control", None) or []), *options.group_probability]
    repeated = {name for name in named if name is not None and named.count(name) > 1}
    if repeated:
        raise ValueError(
            f"A column must have one role, but {join_names(map(repr, sorted(repeated)))} is named "
            "twice among --target, --prediction, --probability, --sensitive, --control and "
            "--group-probability."
        )
    if not options.sensitive and not options.group_probability:
        raise ValueError(
            "Groups are compared: name the columns of protected attributes by --sensitive, or of "
            "probabilities of groups by --group-probability."
        )
    if options.target is not None and options.kind == "clustering":
        raise ValueError("--kind clustering has no truth to compare with; leave out --target.")
    if options.target is None and options.threshold is not None and options.positive is not None:
        raise ValueError(
            "--positive names a class, but without --target --threshold makes the decisions: "
            "scores above it are positive. Leave one of the two out."
        )
    if options.kind == "regression":
        class_options = ("positive", "threshold", "probability")
        unused = [f"--{name}" for name in class_options if getattr(options, name) is not None]
        if unused:
            raise ValueError(f"--kind regression has no classes; leave out {join_names(unused)}.")


def _translate_message(message, phrases=MappingProxyType({})):
    """Rewrite a message about parameters as one about command-line options."""
    options = {**phrases, **_OPTIONS}
    names = "|".join(rf"(?<![\w-]){re.escape(name)}(?!\w)" for name in options)
    return re.sub(names, lambda match: options[match[0]], message)


@contextmanager
def translate_messages(phrases=MappingProxyType({})):
    """Turn errors and warnings about parameters of the library into some about options.

    `phrases` of the library and those of a command extend the names of the parameters.
    """
    with warnings.catch_warnings(record=True) as caught:
        try:
            yield
        except (ValueError, TypeError) as error:
            raise ValueError(_translate_message(str(error), phrases)) from error
    for warning in caught:
        warn(_translate_message(str(warning.message), phrases), warning.category)


# Results of a command: a page, JSON, sentences, and an exit status that says what was found.


_FORMATS = {".html": "a page", ".htm": "a page", ".md": "Markdown", ".json": "data"}
"""Endings of files that are written."""


def check_output(out, file, suffixes=tuple(_FORMATS), option="--out"):
    """Raise for an output that cannot be written, or that is one of the input files."""
    # The input must not be overwritten, whatever path names it.
    inputs = file.rglob("*") if file.is_dir() else [file]
    if out.exists() and any(out.samefile(one) for one in inputs if one.is_file()):
        raise ValueError(
            f"{option} must not be a file that is read, but {out} is: it would overwrite the "
            "predictions. Choose another name."
        )
    if out.suffix.lower() not in suffixes:
        raise ValueError(
            f"{option} must end in one of {join_names(suffixes)}, got {out}. "
            f"{join_names(f'{one} is {_FORMATS[one]}' for one in suffixes)}; a browser prints a "
            "page to PDF."
        )
    # Try to write, before the work of the report.
    folder = Path(os.path.realpath(out)).parent
    if not folder.is_dir():
        raise ValueError(
            f"{option} must be in a folder that exists, but {folder} does not; create it."
        )
    if out.exists() and not out.is_file():
        raise ValueError(f"{option} must be a file, but {out} is something else, such as a folder.")
    try:
        if out.exists():
            out.open("a").close()
        # A new file is written beside the old one, which it then replaces.
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OSError(f"{option} must be writable, but {out} is not ({error.strerror}).") from None


FINDING_STATUS, UNCERTIFIED_STATUS = 3, 1
"""Exit statuses: something was found that needs attention; what was asked for is not shown."""


def add_output_options(command, page=None, formats=""):
    """Add --json, and with a default page also --out, which ends in one of the formats."""
    if page is not None:
        command.add_argument(
            "--out", type=Path, help=f"{formats} (default {page}, with --json none)"
        )
    command.add_argument(
        "--json", metavar="FILE", help="write the results as JSON; - is standard output"
    )
    command.set_defaults(page=page)


def resolve_output(options, suffixes=tuple(_FORMATS)):
    """Set the default page, and check that page and JSON can be written."""
    if options.page is not None and options.out is None and options.json is None:
        options.out = Path(options.page)
    file = getattr(options, "file", Path(os.devnull))
    if options.page is not None and options.out is not None:
        check_output(options.out, file, suffixes)
    if options.json not in (None, "-"):
        check_output(Path(options.json), file, (".json",), "--json")


def output_results(options, sentences, text):
    """Print sentences, and write JSON if it was requested; on standard output it is alone.

    JSON on standard output is ASCII, so that no encoding of a console changes it.
    """
    if options.json == "-":
        print(json.dumps(json.loads(text), indent=1))
        return
    if options.json is not None:
        write_text(text, options.json)
        sentences = [*sentences, f"The results are in {options.json}."]
    print(*sentences, sep="\n")


# Predictions of a file, as arguments of reports and certificates.


def read_predictions(options):
    """The columns of the file as arguments of `from_predictions`, and the threshold of scores."""
    roles = [options.target, options.prediction, options.probability, options.weight]
    control = getattr(options, "control", None) or []
    groups = *options.sensitive, *options.group_probability
    names = [name for name in (*roles, *groups, *control) if name is not None]
    # Read the columns as numbers, booleans or text, and check what each must hold.
    table = read_columns(options.file, list(dict.fromkeys(names)))
    y_true, y_pred, y_proba, weights = (check_complete_column(table, name) for name in roles)
    check_missing_marks(y_true, y_pred)
    _check_numbers(options, y_true, y_pred, y_proba, weights)
    positive = find_label(options.positive, y_true if y_true is not None else y_pred)
    columns = {"sample_weight": weights, "pos_label": positive}
    columns |= {} if y_proba is None else {"y_proba": y_proba}
    columns |= {"control_features": table[control]} if control else {}
    # Turn scores into decisions, if the predictions are scores.
    k = _parse_top_k(options)
    threshold = _threshold(options, y_true, y_pred) if k is None else None
    if k is not None:
        name = "y_proba" if y_pred.between(0.0, 1.0).all() else "y_score"
        columns |= {name: y_pred, "k": k}
        y_pred = None
    if threshold is not None:
        name = "y_proba" if y_pred.between(0.0, 1.0).all() else "y_score"
        columns[name], y_pred = y_pred, _apply_threshold(y_pred, y_true, threshold, positive)
    if y_pred is not None:
        check_same_notation(y_true, y_pred)
    columns |= {"y_true": y_true, "y_pred": y_pred} | _read_groups(table, options)
    return columns, threshold


def _read_groups(table, options):
    """What the file has of groups: labels, and probabilities with what is assumed of them."""
    known = {"sensitive_features": None, "X": _read_features(options), "assume": options.assume}
    if options.sensitive:
        groups = table[options.sensitive].astype(object)
        known["sensitive_features"] = groups.map(str).where(groups.notna(), None)
    if options.group_probability:
        names = options.group_probability
        by_name = {name: check_complete_column(table, name) for name in names}
        _check_are_numbers(by_name.values())
        known["group_probabilities"] = pd.DataFrame(by_name)
    return known


def _parse_top_k(options):
    """The number of places, or their share, of --top; None without it."""
    text = getattr(options, "top", None)
    if text is None:
        return None
    unused = [name for name in ("threshold", "probability") if getattr(options, name) is not None]
    if unused:
        raise ValueError(
            f"--top makes decisions of the scores in --prediction; leave out --{unused[0]}."
        )
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise ValueError(
            f"--top must be a number of places, such as 100, or a share, such as 0.1; got {text!r}."
        ) from None


def _check_numbers(options, y_true, y_pred, y_proba, weights):
    """Raise for text where numbers are needed, and numbers with decimals where classes are."""
    is_regression = options.kind == "regression"
    numeric = [y_proba, weights]
    are_scores = options.threshold is not None or getattr(options, "top", None) is not None
    numeric += [y_true, y_pred] if is_regression else [y_pred] * are_scores
    _check_are_numbers(column for column in numeric if column is not None)
    if y_true is None or options.kind == "regression":
        return
    if options.kind == "classification" and has_decimals(y_true):
        raise ValueError(
            f"--kind classification needs classes, but the target {options.target!r} has numbers "
            "with decimals; pass --kind regression."
        )
    if not has_decimals(y_true) and has_decimals(y_pred) and y_true.nunique() != 2:
        raise ValueError(
            f"The prediction {options.prediction!r} has decimals, but the target "
            f"{options.target!r} holds {y_true.nunique()} classes or integers. Pass --kind "
            "regression if both are quantities; else pass the predicted classes as --prediction."
        )


def _check_are_numbers(columns):
    """Raise for a column that holds text."""
    for column in columns:
        if not holds_numbers(column):
            numbers = pd.to_numeric(column, errors="coerce")
            wrong = column[numbers.isna()].iloc[0] if numbers.isna().any() else column.iloc[0]
            raise ValueError(
                f"The column {column.name!r} must hold numbers, but it holds {wrong!r}. Write "
                "decimals with a point, and no separators of thousands."
            )


def _threshold(options, y_true, y_pred):
    """Threshold of scores; None if the predictions are not scores."""
    if options.kind == "regression":
        return None
    if options.threshold is not None or y_true is None or y_true.nunique() != 2:
        return options.threshold
    if not pd.api.types.is_float_dtype(y_pred) or set(y_pred.unique()) <= {0.0, 1.0, -1.0}:
        return None
    if not y_pred.between(0.0, 1.0).all():
        raise ValueError(
            f"{options.target} has two classes, but {options.prediction} holds numbers from "
            f"{y_pred.min():g} to {y_pred.max():g}; pass --threshold, above which scores count as "
            "positive."
        )
    print(
        f"{options.prediction} holds probabilities: those above 0.5 count as positive; "
        "--threshold changes that.",
        file=sys.stderr if options.json == "-" else sys.stdout,
    )
    return 0.5


def _apply_threshold(scores, y_true, threshold, positive):
    """Classes of scores: positive above the threshold; booleans without a target."""
    if y_true is None:
        return scores > threshold
    labels = sorted(y_true.unique().tolist(), key=str)
    if len(labels) != 2:
        raise ValueError(
            "--threshold turns scores into decisions between two classes, but the target has "
            f"{len(labels)}; leave it out."
        )
    positive = labels[1] if positive is None else positive
    other = next(label for label in labels if label != positive)
    return (scores > threshold).map({True: positive, False: other})


# The command ``python -m skfair report``: audit a file of predictions of any tool.


def add_report_command(commands):
    """Add the command ``report`` to the subparsers of ``python -m skfair``."""
    report = commands.add_parser(
        "report",
        help="audit predictions in CSV or Parquet files",
        description="Fairness report of a file of predictions. The exit status is 0 without a "
        "finding, 3 with a significant gap or, with --subgroups, a subgroup that departs, and 2 "
        "after an error.",
    )
    add_column_options(report, ["classification", "regression", "clustering"])
    add = report.add_argument
    add("--probability", help="column of the probability of the positive class")
    add("--subgroups", action="store_true", help="search subgroups that depart, too")
    add(
        "--missing",
        choices=["exclude", "group", "error", "at_random"],
        help="what happens to empty groups (default: group, or exclude for a summary); at_random "
        "estimates them",
    )
    add(
        "--measure",
        nargs="+",
        default=[],
        metavar="NAME",
        help="further measures: f1_score, or a function such as sklearn.metrics:cohen_kappa_score",
    )
    add("--top", metavar="K", help="select the K highest scores: a number, or a share such as 0.1")
    add("--control", nargs="+", metavar="COLUMN", help="columns within whose values groups compare")
    add("--summary", choices=["ll144"], help="the summary that New York's Local Law 144 requires")
    add("--min-share", type=float, default=0.02, help="groups below it have no impact ratio (.02)")
    add("--provenance", nargs="+", metavar="NAME=TEXT", default=[], help="facts for the page")
    add("--min-published", type=int, help="smallest count that is published, such as 10")
    add("--title", default="Fairness report", help="heading of the page")
    add_output_options(report, "report.html", "page, .html, .md or .json")
    report.set_defaults(run=partial(_run_report, report))


def _run_report(parser, options):
    """Write the report that the options ask for; return the exit status."""
    try:
        _check_options(options)
        resolve_output(options)
        report = _build_report(options)
        missing = _write_report(report, options)
    except (OSError, ValueError, TypeError, ImportError) as error:
        parser.error(str(error))
    page = [f"The whole report is in {options.out}."] if options.out is not None else []
    output_results(options, [*report.findings, *page, *missing], report.to_json())
    return FINDING_STATUS if report.has_finding else 0


def _write_report(report, options):
    """Write the report in the format of the file, and return what a summary lacks."""
    missing = []
    if options.summary is not None:
        with translate_messages():
            missing = report.missing_fields(options.summary)
    if options.out is None:
        return missing
    if options.out.suffix.lower() == ".json":
        report.to_json(options.out)
    elif options.out.suffix.lower() == ".md":
        report.to_markdown(options.out, summary=options.summary)
    else:
        report.to_html(options.out, summary=options.summary)
    return [f"Missing in the summary: {_translate_message(sentence)}" for sentence in missing]


def _check_options(options):
    """Raise for options of a report that contradict each other, before anything is read."""
    if options.summary is not None and _writes_only_json(options):
        raise ValueError("--summary is a page: --out must end in .html, .htm or .md.")
    check_column_options(options)


def _writes_only_json(options):
    """Whether the report is written as JSON alone."""
    if options.out is None:
        return options.json is not None
    return options.out.suffix.lower() == ".json"


def _build_report(options):
    """The report that the options ask for."""
    columns, threshold = read_predictions(options)
    with translate_messages():
        return FairnessReport.from_predictions(
            kind=options.kind,
            unknown=options.unknown,
            missing=_choose_missing(options),
            min_share=options.min_share,
            confidence_level=options.confidence,
            title=options.title,
            min_published=options.min_published,
            measures=[_import_measure(name) for name in options.measure],
            provenance=_provenance(options, _count_samples(columns), threshold),
            subgroups=options.subgroups,
            **columns,
        )


def _choose_missing(options):
    """What happens to empty groups: --missing, or what suits the page."""
    if options.missing is not None or not options.sensitive:
        return options.missing or "error"
    return "group" if options.summary is None else "exclude"


def _count_samples(columns):
    """Number of samples of the file."""
    groups = columns["sensitive_features"]
    return len(columns["group_probabilities"] if groups is None else groups)


def _import_measure(name):
    """The function of a name such as package.module:function; other names unchanged."""
    module, sign, attribute = name.partition(":")
    if not sign:
        return name
    with _extend_import_path():
        try:
            measure = getattr(import_module(module), attribute)
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(
                f"--measure must name a function as package.module:function, but {name!r} cannot "
                f"be imported ({error}). Check the spelling, and the folder the command runs in."
            ) from error
    if not callable(measure) and not isinstance(measure, Rate | Measure):
        raise ValueError(
            f"--measure must name a function, a Rate or a Measure, but {name} is {measure!r}."
        )
    return measure


@contextmanager
def _extend_import_path():
    """Import modules of the working folder too, as ``python -m`` does and scripts do not."""
    folder = os.getcwd()
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _read_features(options):
    """The columns of --features, as numbers or categories; None without any."""
    if not options.features:
        return None
    table = read_columns(options.file, options.features)
    return pd.DataFrame({name: check_complete_column(table, name) for name in options.features})


def _provenance(options, n_rows, threshold):
    """Collect the facts of the report: file, columns, rows, threshold, and what the user states."""
    roles = ("target", "prediction", "probability", "weight")
    named = [f"{role} {name}" for role in roles if (name := getattr(options, role)) is not None]
    lists = {"sensitive": options.sensitive, "control": options.control}
    lists["probabilities of groups"] = options.group_probability
    named += [f"{role} {', '.join(names)}" for role, names in lists.items() if names]
    # Facts about the file come first; those that the user states may replace them.
    facts = {"file": options.file.name, "sha256": file_digest(options.file)}
    facts |= {"columns": "; ".join(named), "rows": f"{n_rows:,}"}
    if threshold is not None:
        facts["threshold"] = f"{threshold:g}: scores above it are positive"
    for text in options.provenance:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise ValueError(
                f"--provenance must be NAME=TEXT, such as source='applications of 2025'; got "
                f"{text!r}. Known names are {join_names(FACT_TITLES, len(FACT_TITLES))}."
            )
        facts[name.strip()] = value.strip()
    return facts


# The command ``python -m skfair certify``: a certificate of a file of predictions.


def add_certify_command(commands):
    """Add the command ``certify`` to the subparsers of ``python -m skfair``."""
    certify = commands.add_parser(
        "certify",
        help="certify that decisions in a file keep a tolerance in the population",
        description="Certificate of a file of decisions on held-out data. The exit status is 0 if "
        "the tolerance is certified, 1 if not, 3 if the data show that it is exceeded, and 2 after "
        "an error.",
    )
    add_column_options(certify, ["classification", "regression"])
    add = certify.add_argument
    add(
        "--constraint",
        default="demographic_parity",
        choices=sorted(CONSTRAINTS),
        metavar="NAME",
        help=f"one of {join_names(sorted(CONSTRAINTS), 20)} (default demographic_parity)",
    )
    bound = _add_tolerance_options(certify)
    bound.add_argument("--minimum", type=float, help="smallest rate of a group allowed")
    bound.add_argument("--maximum", type=float, help="largest rate of a group allowed")
    add("--measure", default="selection_rate", help="rate of --minimum or --maximum, as recall")
    add("--loss", help="loss of a constraint on mean losses, such as squared")
    add(
        "--missing",
        choices=["exclude", "group", "error", "at_random"],
        default="error",
        help="what happens to empty groups (default error); at_random estimates them",
    )
    add(
        "--odds-ratio",
        type=float,
        default=1.0,
        help="with --missing at_random: factor by which odds of a group may differ (default 1)",
    )
    add_output_options(certify)
    certify.set_defaults(run=partial(_run_certify, certify), probability=None)


def _add_tolerance_options(command):
    """Add --tolerance and --ratio, of which one is required; return their group of options."""
    bound = command.add_mutually_exclusive_group(required=True)
    bound.add_argument("--tolerance", type=float, help="largest gap allowed, such as 0.05")
    bound.add_argument("--ratio", type=float, help="smallest ratio allowed, such as 0.8")
    return bound


def _run_certify(parser, options):
    """Print the certificate that the options ask for; return the exit status."""
    try:
        check_column_options(options)
        resolve_output(options)
        certificate, n_left_out = _build_certificate(options)
    except (OSError, ValueError, TypeError, ImportError) as error:
        parser.error(str(error))
    sentences = [str(certificate)]
    if options.minimum is not None:
        sentences.append(
            f"The gap is 1 minus the smallest {options.measure} of a group: the statement is that "
            f"every group has at least {options.minimum:g}."
        )
    if options.maximum is not None:
        sentences.append(
            f"The gap is the largest {options.measure} of a group: the statement is that every "
            f"group has at most {options.maximum:g}."
        )
    if n_left_out:
        sentences.append(
            f"{n_left_out:,} samples of unknown group are left out; the statement is about the "
            "others."
        )
    output_results(options, sentences, certificate.to_json())
    if certificate.certified:
        return 0
    return FINDING_STATUS if certificate.exceeded else UNCERTIFIED_STATUS


def _build_certificate(options):
    """The certificate that the options ask for, and the number of samples that are left out."""
    constraint = _make_constraint(options)
    columns, _ = read_predictions(options)
    # Constraints on scores take these and not the decisions made of them.
    scores = [columns.pop(name) for name in ("y_proba", "y_score") if name in columns]
    if scores and not constraint.counts_decisions:
        columns["y_pred"] = scores[0]
    n_left_out, is_modelled = 0, options.missing == "at_random"
    if options.features and not is_modelled:
        raise ValueError(
            "--features is used with --missing at_random only, to model groups that are not "
            "recorded; leave it out."
        )
    if options.sensitive:
        columns, n_left_out = _handle_unknown_groups(columns, options)
    with translate_messages(_CERTIFY_OPTIONS):
        certificate = Certificate.from_predictions(
            constraint=constraint,
            missing="at_random" if is_modelled else "error",
            odds_ratio=options.odds_ratio,
            tolerance=options.tolerance,
            confidence_level=options.confidence,
            kind=options.kind,
            loss=options.loss,
            **columns,
        )
    return certificate, n_left_out


_CERTIFY_OPTIONS = MappingProxyType({"odds_ratio": "--odds-ratio"})
"""Parameters of certificates -> options of the command."""


def _make_constraint(options):
    """The constraint of --constraint, with the ratio of --ratio, or that of a floor or ceiling."""
    for name, bound in ((MinimumRate, options.minimum), (MaximumRate, options.maximum)):
        if bound is not None:
            if options.constraint != "demographic_parity":
                raise ValueError(
                    "--minimum and --maximum bound the rate that --measure names; leave out "
                    f"--constraint {options.constraint}."
                )
            return name(options.measure, bound)
    constraint = CONSTRAINTS[options.constraint]()
    if options.ratio is None:
        return constraint
    if "ratio" not in constraint.get_params():
        raise ValueError(
            f"--ratio compares rates of decisions, which --constraint {options.constraint} does "
            "not; pass --tolerance."
        )
    check_tolerance(options.ratio, closed="neither", name="--ratio")
    return constraint.set_params(ratio=options.ratio)


def _handle_unknown_groups(columns, options):
    """Columns of the samples that are certified, and the number of those of unknown group."""
    groups = fill_missing(columns["sensitive_features"], options.unknown)
    suspect = [
        label for name in groups for label in groups[name].unique() if is_like_unknown(label)
    ]
    if suspect:
        warn(
            f"These labels look like unknown groups, but count as groups: "
            f"{join_names(map(repr, suspect))}. Name them in --unknown, or rename them."
        )
    is_unknown = (groups == MISSING).any(axis=1)
    if options.missing == "at_random":
        groups = groups.mask(groups == MISSING, None)
    columns = columns | {"sensitive_features": groups}
    if options.missing in ("group", "at_random") or not is_unknown.any():
        return columns, 0
    if options.missing == "error":
        raise ValueError(
            f"{is_unknown.sum():,} of {len(groups):,} samples have no known group. Pass --missing "
            "exclude to certify the others, --missing group to compare them as a group, or "
            "--missing at_random to estimate it."
        )
    known = {
        name: column[~is_unknown] if isinstance(column, pd.Series | pd.DataFrame) else column
        for name, column in columns.items()
    }
    return known, int(is_unknown.sum())


# The command ``python -m skfair plan``: the number of samples that a certificate requires.


def add_plan_command(commands):
    """Add the command ``plan`` to the subparsers of ``python -m skfair``."""
    plan = commands.add_parser(
        "plan",
        help="number of samples that a certificate or a guaranteed fit requires",
        description="Number of samples of each group with which a model is certified, as by "
        "`certify`. The exit status is 0, and 2 after an error.",
    )
    bound = _add_tolerance_options(plan)
    bound.add_argument("--minimum", type=float, help="smallest rate of a group allowed")
    bound.add_argument("--maximum", type=float, help="largest rate of a group allowed")
    add = plan.add_argument
    add("--groups", type=int, default=2, help="number of groups compared (default 2)")
    add("--rate", type=float, help="expected rate of the groups (default 0.5 for a tolerance)")
    add("--smallest-share", type=float, help="share of the smallest group (default: equal groups)")
    add("--confidence", type=float, default=0.95, help="confidence level (default .95)")
    add("--power", type=float, default=0.8, help="probability of the certificate (default .8)")
    add(
        "--kind",
        choices=["certificate", "fit"],
        default="certificate",
        help="held-out samples for certify, or training samples of a guaranteed fit",
    )
    add_output_options(plan)
    plan.set_defaults(run=partial(_run_plan, plan))


_PLAN_OPTIONS = {"tolerance": "--tolerance", "ratio": "--ratio", "n_groups": "--groups"} | {
    "minimum": "--minimum",
    "maximum": "--maximum",
    "rate": "--rate",
    "power": "--power",
    "confidence_level": "--confidence",
    "kind='fit'": "--kind fit",
}
"""Parameters of `required_sample_size` -> options of the command."""


def _run_plan(parser, options):
    """Print the number of samples that the options ask for; return the exit status."""
    try:
        resolve_output(options)
        results = _plan(options)
    except (OSError, ValueError, TypeError) as error:
        parser.error(str(error))
    output_results(options, [results["text"], results["assumption"]], json.dumps(results))
    return 0


def _plan(options):
    """The number of samples of each group and in all, and its assumption, by name."""
    needs_rate = {name: getattr(options, name) for name in ("ratio", "minimum", "maximum")}
    for name, bound in needs_rate.items():
        if bound is not None and options.rate is None:
            raise ValueError(
                f"--{name} needs --rate, the expected rate of the groups: the smaller it is, or "
                "the closer to a minimum or maximum, the more samples are required."
            )
    share = 1.0 / options.groups if options.smallest_share is None else options.smallest_share
    if not 0.0 < share * options.groups <= 1.0:
        raise ValueError(
            f"--smallest-share must be above 0, and at most {1.0 / options.groups:.3g} of "
            f"{options.groups} groups; got {share:g}."
        )
    plan = {"tolerance": options.tolerance, "n_groups": options.groups} | needs_rate
    plan |= {"rate": 0.5 if options.rate is None else options.rate, "power": options.power}
    plan |= {"confidence_level": options.confidence, "kind": options.kind}
    with translate_messages(_PLAN_OPTIONS):
        n = required_sample_size(**plan)
    return (
        plan
        | {"required_sample_size": n, "n_samples": ceil(n / share)}
        | _describe_plan(plan, n, ceil(n / share))
    )


def _describe_plan(plan, n, n_samples):
    """Sentences on the number of samples, and on what it assumes, by name."""
    texts = {
        "tolerance": "a gap of at most",
        "ratio": "a ratio of at least",
        "minimum": "a rate of each group of at least",
        "maximum": "a rate of each group of at most",
    }
    name = next(name for name in texts if plan[name] is not None)
    bound = f"{texts[name]} {plan[name]}"
    result = "certified" if plan["kind"] == "certificate" else "guaranteed by a fit"
    return {
        "text": f"{n:,} samples of each of {plan['n_groups']} groups are required, {n_samples:,} "
        f"in all, so that {bound} is {result} with {100 * plan['confidence_level']:g} % "
        "confidence.",
        "assumption": f"It assumes that all groups have the rate {plan['rate']:g}; then "
        f"{100 * plan['power']:g} % of samples succeed. {_ADVICE[name]}",
    }


_NO_GAP_SENTENCE = "There is then no gap in the population. "
_ADVICE = {
    "tolerance": _NO_GAP_SENTENCE + "Subtract an expected gap from the tolerance.",
    "ratio": _NO_GAP_SENTENCE + "Divide the ratio by the expected one.",
    "minimum": "Pass the smallest rate that is expected of a group.",
    "maximum": "Pass the largest rate that is expected of a group.",
}
"""What to do where a plan's assumption fails, by its bound."""
