"""Commands that audit files: report, subgroups, certify, alternatives, compare."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING

from skfair._commands.listing import list_file, names_no_column
from skfair._commands.options import (
    ERROR_STATUS,
    FINDING_STATUS,
    add_column_options,
    add_output_options,
    add_population_option,
    add_tolerance_options,
    check_column_options,
    check_output,
    output_results,
    read_population,
    refuse_without_predictions,
    resolve_output,
    take_probability,
    write_report,
)
from skfair._commands.predictions import read_audit
from skfair._utils.checks import Registry, check_choice, check_tolerance, join_names
from skfair.audit._certify_in_order import certify_in_order
from skfair.audit._formats import FACT_TITLES
from skfair.audit._ledger import check_salt
from skfair.audit._subgroups import CALIBRATION, MEANS
from skfair.audit._task_metrics import REPORTED_RATES, SCORING_RATE
from skfair.constraints import (
    AUDITED_CONSTRAINTS,
    CONSTRAINTS,
    MaximumRate,
    MinimumRate,
    RateParity,
)
from skfair.metrics import GroupMetric, Rate
from skfair.metrics._rates import RATES_BY_ANY_NAME
from skfair.metrics._synonyms import SYNONYMS, find_synonym

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable
    from typing import Any

    from skfair.audit import Alternatives, Audit, Claim, FairnessReport
    from skfair.constraints import Constraint


# The report.


_PAGES = {"summary": (".html", ".htm", ".md"), "interactive": (".html", ".htm")}
"""Options that ask for a page, and how the name of its file ends."""


def add_report_options(report: ArgumentParser) -> None:
    """Add the options of ``python -m skfair report`` to its parser."""
    report.description = (
        "Fairness report of a file of predictions, or of data without a model by --target alone. "
        "The exit status is 0 without a finding, 3 with a significant gap, with --subgroups a "
        "subgroup that departs, or with --population a share that differs by more than "
        "--tolerance, and 2 after an error."
    )
    kinds = ["classification", "regression", "clustering"]
    add_column_options(report, kinds, takes_outcomes=True)
    add = report.add_argument
    about = "column of the probability of the positive class"
    add("--probability", metavar="COLUMN", help=about)
    add("--subgroups", action="store_true", help="search subgroups that depart, too")
    about = "rates and gaps at every threshold of the scores, too; needs scores"
    add("--by-threshold", action="store_true", help=about)
    about = "further metrics: f1_score, or a function such as sklearn.metrics:cohen_kappa_score"
    add("--metric", nargs="+", default=[], metavar="NAME", help=about)
    add("--top", metavar="K", help="select the K highest scores: a number, or a share such as 0.1")
    about = "columns within whose values groups compare"
    add("--control", nargs="+", metavar="COLUMN", help=about)
    add("--summary", choices=["ll144"], help="the summary that New York's Local Law 144 requires")
    add_population_option(report)
    about = "largest difference of a share from --population, such as 0.05"
    add("--tolerance", type=float, help=about)
    add_salt_option(report, "the report states a digest of the samples")
    add("--min-share", type=float, default=0.02, help="groups below it have no impact ratio (.02)")
    add("--provenance", nargs="+", metavar="NAME=TEXT", default=[], help="facts for the page")
    about = "a page whose reader chooses rate, groups, order and threshold, by a script"
    add("--interactive", action="store_true", help=about)
    add("--title", help="heading of the page (default the widest gap)")
    add_output_options(report, "report.html", "page, .html, .md or .json")
    report.set_defaults(run=_run_report)


def _run_report(options: Namespace) -> int:
    """Write the report that the options ask for; return the exit status."""
    if names_no_column(options) and options.json is None:
        print(*list_file(options), sep="\n")
        return ERROR_STATUS
    refuse_without_predictions(options)
    check_column_options(options)
    resolve_output(options)
    for name, suffixes in _PAGES.items():
        if getattr(options, name) and Path(options.out or "").suffix.lower() not in suffixes:
            raise ValueError(f"--{name} is a page: --out must end in {join_names(suffixes)}.")
    report = build_report(options, read_population(options.population))
    missing = _write_report(report, options)
    page = [f"The whole report is in {options.out}."] if options.out is not None else []
    searched = [] if report.subgroups is None else report.subgroups.findings
    sentences = [report.reading, *report.findings, *searched, *page, *missing]
    status = FINDING_STATUS if report.has_finding else 0
    results = json.loads(report.to_json()) | {"status": status}
    output_results(options, sentences, json.dumps(results))
    return status


def _write_report(report: FairnessReport, options: Namespace) -> list[str]:
    """Write the report in the format of the file, and return what a summary lacks."""
    if options.out is None:
        return []
    missing = [] if options.summary is None else report.missing_fields(options.summary)
    settings = {"summary": options.summary}
    if options.interactive:  # then the file is HTML
        settings["interactive"] = True
    write_report(report, options.out, **settings)
    return [f"Missing in the summary: {sentence}" for sentence in missing]


def build_report(
    options: Namespace, population: dict[str, dict[str, float]] | None
) -> FairnessReport:
    """The report that the options ask for."""
    metrics = [_import_metric(name) for name in options.metric]
    audit = read_audit(options, {"command": _options_text(options)} | _stated_facts(options))
    if options.summary is not None and audit.task == "regression":
        metrics.append(SCORING_RATE)  # the law compares it
    level = options.confidence
    subgroups = audit.subgroups(confidence_level=level) if options.subgroups else None
    return audit.report(
        metrics=metrics,
        confidence_level=level,
        min_published=options.min_published,
        min_share=options.min_share,
        subgroups=subgroups,
        by_threshold=options.by_threshold,
        title=options.title,
        salt=read_salt(options.salt_file),
        population=population,
        tolerance=options.tolerance,
    )


def add_salt_option(command: ArgumentParser, use: str) -> None:
    """Add the file of a secret, which as an option would be in the list of processes."""
    about = f"file that holds a secret text of 16 characters or more, with which {use}"
    command.add_argument("--salt-file", type=Path, metavar="FILE", help=about)


def read_salt(path: Path | None) -> str | None:
    """The secret text of a file, without white space around it; None without a file."""
    if path is None:
        return None
    try:
        salt = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ValueError(
            f"--salt-file must name a file of text that can be read, but {path} is none."
        ) from None
    check_salt(salt, "--salt-file")
    return salt


def _import_metric(name: str) -> str | Callable[..., Any]:
    """The function of a name such as package.module:function; other names unchanged."""
    module, sign, attribute = name.partition(":")
    if not sign:
        return name
    # Modules of the working folder too, as `python -m` imports them and scripts do not.
    folder = os.getcwd()
    sys.path.insert(0, folder)
    try:
        metric = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"--metric must name a function as package.module:function, but {name!r} cannot "
            f"be imported ({error}). Check the spelling, and the folder the command runs in."
        ) from error
    finally:
        sys.path.remove(folder)
    if not callable(metric) and not isinstance(metric, Rate | GroupMetric):
        raise ValueError(
            f"--metric must name a function, a Rate or a GroupMetric, but {name} is {metric!r}."
        )
    return metric


def _stated_facts(options: Namespace) -> dict[str, Any]:
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


# The search of subgroups.


def add_subgroups_options(command: ArgumentParser) -> None:
    """Add the options of ``python -m skfair subgroups`` to its parser."""
    command.description = (
        "Search all conjunctions of conditions on columns for subgroups whose rate "
        "departs from the rest, with limits that hold for all of them together. The exit status "
        "is 3 if a subgroup departs, 0 if none is shown to, and 2 after an error."
    )
    add_column_options(command, ["classification", "regression"], takes_probability=True)
    add = command.add_argument
    rates = (*REPORTED_RATES, CALIBRATION, *MEANS)
    about = (
        f"one or several of {join_names(rates, 20)} (default selection_rate, of numbers "
        "mean_prediction); calibration_error is that of --probability"
    )
    default = ["selection_rate"]
    add("--metric", nargs="+", choices=rates, default=default, metavar="NAME", help=about)
    about = "column of the probability of the positive class"
    add("--probability", metavar="COLUMN", help=about)
    about = "rates above those of the rest, below them, or both (default both)"
    add("--direction", choices=["both", "above", "below"], default="both", help=about)
    add_output_options(command, formats="page, .html, .md or .json")
    command.set_defaults(run=_run_subgroups)


def _run_subgroups(options: Namespace) -> int:
    """Print or write the subgroups that the options ask for; return the exit status."""
    resolve_output(options)
    take_probability(options, options.probability)
    check_column_options(options)
    report = read_audit(options, {}).subgroups(
        options.metric,
        direction=options.direction,
        confidence_level=options.confidence,
        min_published=options.min_published,
    )
    if options.out is not None:
        write_report(report, options.out)
    output_results(options, [report.reading, str(report)], report.to_json())
    return FINDING_STATUS if report.searches["n_flagged"].any() else 0


# Claims.


def add_certify_options(certify: ArgumentParser) -> None:
    """Add the options of ``python -m skfair certify`` to its parser."""
    certify.description = (
        "Claim about a file of decisions on held-out data. The exit status is 0 if "
        "the bound is shown to be kept, 1 if not, 3 if it is shown to be broken, and 2 after an "
        "error. Of several --prediction the claim is that of the last one that is shown, in their "
        "order, up to the first that is not; of the first one if that is not shown."
    )
    kinds = ["classification", "regression"]
    repeated = "models from tight to loose, in an order fixed beforehand"
    add_column_options(
        certify, kinds, repeated=repeated, takes_probability=True, takes_outcomes=True
    )
    add = certify.add_argument
    _add_constraint_option(certify, AUDITED_CONSTRAINTS)
    about = "column of the probability of the positive class, of --constraint calibration"
    add("--probability", metavar="COLUMN", help=about)
    add_tolerance_options(certify)
    about = (
        "rate of --minimum or --maximum, as recall (default selection_rate, of --interval coverage)"
    )
    add("--metric", help=about)
    add_population_option(certify)
    add("--loss", help="loss of a constraint on mean losses, such as squared")
    about = "with --missing at_random: factor by which odds of a group may differ (default 1)"
    add("--odds-ratio", type=float, default=1.0, help=about)
    add_salt_option(certify, "claim and ledger state digests of the samples")
    add("--ledger", help="file that counts certificates of the same data, which share the error")
    add_output_options(certify, formats="page, .html, .md or .json")
    certify.set_defaults(run=_run_certify)


def _add_constraint_option(command: ArgumentParser, constraints: Registry) -> None:
    """Add the option of what is compared, by its name."""
    about = f"one of {join_names(sorted(constraints), 30)} (default demographic_parity)"
    command.add_argument("--constraint", default="demographic_parity", metavar="NAME", help=about)


def _run_certify(options: Namespace) -> int:
    """Print the claim that the options ask for; return the exit status."""
    take_probability(options, [options.probability], takes_outcomes=True)
    refuse_without_predictions(options)
    for model in list_models(options):
        check_column_options(model)
    resolve_output(options)
    claim = build_claim(options, read_population(options.population))
    if options.out is not None:
        write_report(claim, options.out)
    output_results(options, [claim.reading, str(claim)], claim.to_json())
    return claim.exit_status


_UNFILED_OPTIONS = {
    "arguments",
    "command",
    "file",
    "json",
    "out",
    "ledger",
    "page",
    "parser",
    "run",
}
_UNFILED_OPTIONS |= {"passed", "salt_file", "population"}
"""Options that say where results are written, and not what is claimed."""


def _options_text(options: Namespace) -> str:
    """The options of a claim as they are written in a shell."""
    words = []
    for name, value in vars(options).items():
        if name in _UNFILED_OPTIONS or value is None or value is False or value == []:
            continue
        if name in ("positive", "prediction") and isinstance(value, list):
            words += [word for one in value for word in (f"--{name}", one)]
            continue
        words.append(f"--{name.replace('_', '-')}")
        if value is not True:
            words += map(str, value if isinstance(value, list) else [value])
    return join(words)


def build_claim(
    options: Namespace,
    population: dict[str, dict[str, float]] | None = None,
) -> Claim:
    """The claim that the options ask for."""
    constraint: str | Constraint = "demographic_parity"
    if population is None:
        constraint = _read_constraint(options)
    else:
        _check_compares_shares(options)
    facts = {"command": _options_text(options)}
    audits = [
        read_audit(model, facts, odds_ratio=options.odds_ratio) for model in list_models(options)
    ]
    about = {
        "confidence_level": options.confidence,
        "ledger": options.ledger,
        "salt": read_salt(options.salt_file),
        "min_published": options.min_published,
    }
    if len(audits) == 1:
        return audits[0].certify(constraint, options.tolerance, population=population, **about)
    return certify_in_order(audits, constraint, options.tolerance, **about)[1]


def _check_compares_shares(options: Namespace) -> None:
    """Raise for options about predictions next to --population."""
    names = ("ratio", "minimum", "maximum", "metric", "loss")
    unused = [f"--{name}" for name in names if getattr(options, name) is not None]
    unused += ["--constraint"] * (options.constraint != "demographic_parity")
    unused += ["--prediction"] * (len(options.prediction or ()) > 1)
    if unused:
        raise ValueError(
            "--population compares shares of samples up to --tolerance; leave out "
            f"{join_names(unused)}, or make two claims. Several --prediction have the same shares."
        )


def list_models(options: Namespace) -> list[Namespace]:
    """The options of each column of --prediction, in their order; those of --interval alone."""
    names = options.prediction or [None]
    return [Namespace(**vars(options) | {"prediction": name}) for name in names]


def _read_constraint(options: Namespace) -> Constraint:
    """The constraint of --constraint, with the ratio of --ratio, or that of a floor or ceiling."""
    for name, bound in ((MinimumRate, options.minimum), (MaximumRate, options.maximum)):
        if bound is not None:
            if options.constraint != "demographic_parity":
                raise ValueError(
                    "--minimum and --maximum bound the rate that --metric names; leave out "
                    f"--constraint {options.constraint}."
                )
            rate = "coverage" if options.interval else "selection_rate"
            check_choice("--metric", options.metric or rate, RATES_BY_ANY_NAME)
            return name(options.metric or rate, bound)
    if options.metric is not None:
        meant = find_synonym(options.metric, SYNONYMS)
        named = None if meant is None else meant.constraint
        advice = named if named in AUDITED_CONSTRAINTS else "equal_opportunity"
        raise ValueError(
            "--metric names the rate of --minimum or --maximum; leave it out, and compare "
            f"{options.metric if advice == named else 'another rate'} by --constraint {advice}."
        )
    check_choice("--constraint", options.constraint, AUDITED_CONSTRAINTS)
    constraint = AUDITED_CONSTRAINTS[options.constraint]()
    if options.interval and options.constraint == "demographic_parity":
        constraint = RateParity("coverage")
    if options.loss is not None:
        if "loss" not in constraint.get_params():
            raise ValueError(
                "--loss is for constraints on mean losses, such as loss_parity, but --constraint "
                f"{options.constraint} compares none; leave it out."
            )
        constraint.set_params(loss=options.loss)
    if options.ratio is None:
        return constraint
    if "ratio" not in constraint.get_params():
        raise ValueError(
            f"--ratio compares rates of decisions, which --constraint {options.constraint} does "
            "not; pass --tolerance."
        )
    check_tolerance(options.ratio, closed="neither", name="--ratio")
    return constraint.set_params(ratio=options.ratio)


# Less discriminatory alternatives: several columns of predictions of one file.


def add_alternatives_options(command: ArgumentParser) -> None:
    """Add the options of ``python -m skfair alternatives`` to its parser."""
    command.description = (
        "Which of several models are shown to be less discriminatory alternatives of the model in "
        "use, the first --prediction: a smaller gap, and a performance that is worse by --margin "
        "at most, on the same held-out samples. The exit status is 3 if one is shown, 0 if none "
        "is, and 2 after an error."
    )
    repeated = "the model in use, then its alternatives"
    add_column_options(command, ["classification"], repeated=repeated)
    add = command.add_argument
    add("--margin", type=float, required=True, help="how much worse it may be, such as 0.01")
    _add_constraint_option(command, CONSTRAINTS)
    add("--ratios", action="store_true", help="compare ratios of rates, not their differences")
    about = "accuracy, another name, or a function such as mine:profit (default accuracy)"
    add("--performance", default="accuracy", metavar="NAME", help=about)
    about = "how much smaller the gap must be, at least (default 0: at all)"
    add("--min-reduction", type=float, default=0.0, help=about)
    about = "given: from the most promising on; front: from the tightest on (default: no order)"
    add("--order", choices=["given", "front"], help=about)
    about = "only the gap by which the first group is above the second; named without these data"
    add("--reference", action="append", metavar="ATTRIBUTE=FIRST,SECOND", help=about)
    add("--ledger", help="file that counts attempts on the same data, which share the error")
    add_salt_option(command, "the ledger states digests of the samples")
    add_output_options(command, formats="page, .html, .md or .json")
    command.set_defaults(run=_run_alternatives, probability=None)


def _run_alternatives(options: Namespace) -> int:
    """Print which models are alternatives; return the exit status."""
    for model in list_models(options):
        check_column_options(model)
    resolve_output(options)
    answer = build_alternatives(options)
    if options.out is not None:
        write_report(answer, options.out)
    output_results(options, [answer.reading, *answer.findings], answer.to_json())
    return answer.exit_status


def build_alternatives(options: Namespace) -> Alternatives:
    """The answer that the options ask for: which candidates are alternatives."""
    models = list_models(options)
    if len(models) < 2:
        raise ValueError(
            "--prediction must be repeated: first the column of the model in use, then one for "
            "each candidate."
        )
    check_choice("--constraint", options.constraint, CONSTRAINTS)
    constraint = CONSTRAINTS[options.constraint]()
    if options.ratios:
        if "ratio" not in constraint.get_params():
            raise ValueError(f"--ratios compares rates, which {options.constraint} does not.")
        constraint.set_params(ratio=0.8)  # any ratio: the tolerance is not tested
    if options.salt_file is not None and options.ledger is None:
        raise ValueError(
            "--salt-file must be passed with --ledger, whose digests it protects. Pass both, or "
            "leave --salt-file out."
        )
    facts = {"command": _options_text(options)}
    in_use, *candidates = _read_models(models, facts)
    return in_use.alternatives(
        dict(zip(options.prediction[1:], candidates, strict=True)),
        constraint,
        margin=options.margin,
        performance=_import_metric(options.performance),
        min_reduction=options.min_reduction,
        order=options.order,
        reference=_read_pair(options.reference),
        confidence_level=options.confidence,
        ledger=options.ledger,
        salt=read_salt(options.salt_file),
        min_published=options.min_published,
    )


def _read_pair(texts: list[str] | None) -> dict[str, tuple[str, str]] | None:
    """The two groups that ``--reference`` names by each attribute; None without one."""
    if texts is None:
        return None
    pair = {}
    for text in texts:
        attribute, _, labels = text.partition("=")
        first, comma, second = labels.partition(",")
        if not comma or not attribute:
            raise ValueError(
                f"--reference must name an attribute and two groups, as in race=white,black; got "
                f"{text!r}."
            )
        pair[attribute] = first, second
    return pair


# The comparison of two files.


def add_compare_options(command: ArgumentParser) -> None:
    """Add the options of ``python -m skfair compare`` to its parser."""
    command.description = (
        "Rates and gaps of two files, and limits of their changes. Samples are "
        "different ones; with --id those of equal ids are the same. Without a second file two "
        "--prediction are compared, columns of two models. The exit status is 3 if a gap, or the "
        "difference of two groups, is shown to be larger in the second file or model, 0 if none "
        "is, and 2 after an error."
    )
    kinds = ["classification", "regression"]
    usage = "BEFORE [AFTER]"
    repeated = "two models on the samples of one file"
    add_column_options(command, kinds, repeated=repeated, n_files=1, usage=usage)
    about = "the later file or folder, with the same columns"
    command.add_argument("after", type=Path, nargs="?", metavar="AFTER", help=about)
    add_output_options(command, formats="page, .html, .md or .json")
    command.set_defaults(run=_run_compare, probability=None)


def _read_models(models: list[Namespace], facts: dict[str, str]) -> list[Audit]:
    """Return the audits of a model in use and of others on the same outcomes.

    The decisions of the first say which outcomes are known, so that nothing is said of the outcomes
    of the others.
    """
    first, *others = models
    others = [Namespace(**vars(one) | {"missing_outcomes": None}) for one in others]
    return [read_audit(one, facts) for one in (first, *others)]


def _run_compare(options: Namespace) -> int:
    """Print or write the changes between files or models; return the exit status."""
    models = list_models(options)
    n_predictions = 2 if options.after is None else 1
    if len(models) != n_predictions:
        raise ValueError(
            "compare takes two files and one --prediction, or one file and two --prediction, but "
            f"{2 - (options.after is None)} and {len(models)} were passed."
        )
    for model in models:
        check_column_options(model)
    resolve_output(options)
    settings = {"confidence_level": options.confidence, "min_published": options.min_published}
    if options.after is None:
        before, other = _read_models(models, {})
        changes = before.compare(other.find_decisions(other.columns), **settings)
        changes = replace(changes, names=tuple(options.prediction))
    else:
        # Results must not overwrite the second file either.
        for out in {options.out, options.json} - {None, "-"}:
            check_output(Path(out), [options.after])
        files = [
            Namespace(**vars(models[0]) | {"file": one}) for one in (options.file, [options.after])
        ]
        before, after = (read_audit(one, {}) for one in files)
        changes = before.compare(after, **settings)
    if not changes.gaps["verdict"].any():
        raise ValueError(
            "Nothing can be compared: no two groups are in both files and have at least --min-size "
            f"{options.min_size} samples. {' '.join(changes.findings[1:])}"
        )
    if options.out is not None:
        write_report(changes, options.out)
    output_results(options, [*changes.readings, *changes.findings], changes.to_json())
    return FINDING_STATUS if changes.has_finding else 0
