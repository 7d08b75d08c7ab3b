"""The command ``python -m skfair certify``: a certificate of a file of predictions."""

from functools import partial

from skfair.commands._options import (
    FINDING_STATUS,
    UNCERTIFIED_STATUS,
    add_column_options,
    add_output_options,
    add_tolerance_options,
    check_column_options,
    output_results,
    resolve_output,
    translate_messages,
)
from skfair.commands._predictions import read_audit
from skfair.constraints import CONSTRAINTS, MaximumRate, MinimumRate
from skfair.utils._checks import check_tolerance, join_names


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
    bound = add_tolerance_options(certify)
    bound.add_argument("--minimum", type=float, help="smallest rate of a group allowed")
    bound.add_argument("--maximum", type=float, help="largest rate of a group allowed")
    add("--measure", default="selection_rate", help="rate of --minimum or --maximum, as recall")
    add("--loss", help="loss of a constraint on mean losses, such as squared")
    add(
        "--odds-ratio",
        type=float,
        default=1.0,
        help="with --missing at_random: factor by which odds of a group may differ (default 1)",
    )
    add("--ledger", help="file that counts certificates of the same data, which share the error")
    add_output_options(certify)
    certify.set_defaults(run=partial(_run_certify, certify), probability=None)


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
    audit = read_audit(options, {}, missing="error", odds_ratio=options.odds_ratio)
    with translate_messages():
        certificate = audit.certify(
            constraint,
            options.tolerance,
            confidence_level=options.confidence,
            loss=options.loss,
            ledger=options.ledger,
        )
    return certificate, audit.n_excluded


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
