"""The command ``python -m skfair certify``: a claim about a file of predictions."""

import json
from argparse import ArgumentParser
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from shlex import join, split

from skfair.audit._claims import UNCOMPARED_FACTS, check_states_digest, read_filed_claim
from skfair.commands._options import (
    FINDING_STATUS,
    add_column_options,
    add_output_options,
    add_published_option,
    add_tolerance_options,
    check_column_options,
    output_results,
    resolve_output,
    write_report,
)
from skfair.commands._predictions import read_audit
from skfair.constraints import CONSTRAINTS, MaximumRate, MinimumRate
from skfair.utils._checks import check_tolerance, join_names


def add_certify_options(certify):
    """Add the options of ``python -m skfair certify`` to its parser."""
    certify.description = (
        "Claim about a file of decisions on held-out data. The exit status is 0 if "
        "the bound is shown to be kept, 1 if not, 3 if it is shown to be broken, and 2 after an "
        "error."
    )
    add_column_options(certify, ["classification", "regression"])
    add_published_option(certify)
    add = certify.add_argument
    names = sorted(CONSTRAINTS)
    about = f"one of {join_names(names, 20)} (default demographic_parity)"
    add("--constraint", default="demographic_parity", choices=names, metavar="NAME", help=about)
    bound = add_tolerance_options(certify)
    bound.add_argument("--minimum", type=float, help="smallest rate of a group allowed")
    bound.add_argument("--maximum", type=float, help="largest rate of a group allowed")
    add("--metric", default="selection_rate", help="rate of --minimum or --maximum, as recall")
    add("--loss", help="loss of a constraint on mean losses, such as squared")
    about = "with --missing at_random: factor by which odds of a group may differ (default 1)"
    add("--odds-ratio", type=float, default=1.0, help=about)
    add("--salt", help="secret text with which the claim states a digest of the samples")
    add("--ledger", help="file that counts certificates of the same data, which share the error")
    add_output_options(certify, formats="page, .html, .md or .json")
    certify.set_defaults(run=_run_certify, probability=None)


def add_verify_options(verify):
    """Add the options of ``python -m skfair verify`` to its parser."""
    verify.description = (
        "Recompute a claim that `certify` wrote as JSON. The exit status is 0 if the "
        "file has the same claim, 3 if it has another one, and 2 after an error."
    )
    verify.add_argument("claim", type=Path, help="JSON that certify wrote")
    verify.add_argument("file", type=Path, help="file of the decisions")
    verify.add_argument("--salt", help="secret text with which the claim was made")
    add_output_options(verify)
    verify.set_defaults(run=_run_verify)


def _run_certify(options):
    """Print the claim that the options ask for; return the exit status."""
    check_column_options(options)
    resolve_output(options)
    claim = _build_claim(options)
    if options.out is not None:
        write_report(claim, options.out)
    output_results(options, [claim.reading, str(claim)], claim.to_json())
    return claim.exit_status


def _run_verify(options):
    """Print whether the file has the claim that was filed; return the exit status."""
    resolve_output(options)
    filed, edited = read_filed_claim(options.claim)
    if "command" not in filed.source:
        raise ValueError(
            f"{options.claim} must be a claim of `python -m skfair certify`, but it does not "
            "state the options. Pass others to skfair.audit.verify."
        )
    check_states_digest(filed, options.salt)
    repeated = _parse_filed_options(options.file, filed.source["command"])
    repeated.confidence, repeated.salt = filed.confidence_level, options.salt
    claim = _build_claim(repeated)
    differences = list(dict.fromkeys(edited + filed.find_differences(claim)))
    sentences, filed_facts = [f"The same claim. {filed}"], filed.source
    changed = [one for one in UNCOMPARED_FACTS if filed_facts.get(one) != claim.source.get(one)]
    if changed:
        sentences[0] += f" Facts that differ, and are not compared: {join_names(changed)}."
    if differences:
        names = join_names(differences, len(differences))
        sentences = [f"Another claim, by {names}.", f"Filed: {filed}", f"Now: {claim}"]
    results = {"is_same": not differences, "differences": differences, "not_compared": changed}
    results["text"] = " ".join(sentences)
    output_results(options, [claim.reading, *sentences], json.dumps(results))
    return FINDING_STATUS if differences else 0


def _parse_filed_options(file, text):
    """The options that a claim names; those that write files are left out."""
    certify = ArgumentParser()
    add_certify_options(certify)
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            options = certify.parse_args([str(file), *split(text)])
    except (SystemExit, ValueError):
        raise ValueError(
            "The field source.command of a claim must be options of `python -m skfair certify`, "
            f"but it is {text!r}. Certify again."
        ) from None
    options.ledger = options.out = options.json = None
    return options


_UNFILED_OPTIONS = ("command", "file", "json", "out", "ledger", "page", "parser", "run", "salt")
"""Options that say where results are written, and not what is claimed."""


def _options_text(options):
    """The options of a claim as they are written in a shell."""
    words = []
    for name, value in vars(options).items():
        if name in _UNFILED_OPTIONS or value is None or value is False or value == []:
            continue
        words.append(f"--{name.replace('_', '-')}")
        if value is not True:
            words += map(str, value if isinstance(value, list) else [value])
    return join(words)


def _build_claim(options):
    """The claim that the options ask for."""
    constraint = _read_constraint(options)
    facts = {"command": _options_text(options)}
    audit = read_audit(options, facts, missing="error", odds_ratio=options.odds_ratio)
    return audit.certify(
        constraint,
        options.tolerance,
        confidence_level=options.confidence,
        ledger=options.ledger,
        salt=options.salt,
        min_published=options.min_published,
    )


def _read_constraint(options):
    """The constraint of --constraint, with the ratio of --ratio, or that of a floor or ceiling."""
    for name, bound in ((MinimumRate, options.minimum), (MaximumRate, options.maximum)):
        if bound is not None:
            if options.constraint != "demographic_parity":
                raise ValueError(
                    "--minimum and --maximum bound the rate that --metric names; leave out "
                    f"--constraint {options.constraint}."
                )
            return name(options.metric, bound)
    constraint = CONSTRAINTS[options.constraint]()
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
