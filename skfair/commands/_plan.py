"""The command ``python -m skfair plan``: the number of samples that a certificate requires."""

import json
from math import ceil

from skfair.commands._options import (
    add_output_options,
    add_tolerance_options,
    output_results,
    resolve_output,
)
from skfair.statistics import required_sample_size
from skfair.utils._parameters import CONFIDENCE_LEVEL


def add_plan_command(commands):
    """Add the command ``plan`` to the subparsers of ``python -m skfair``."""
    plan = commands.add_parser(
        "plan",
        help="number of samples that a certificate or a guaranteed fit requires",
        description="Number of samples of each group with which a model is certified, as by "
        "`certify`. The exit status is 0, and 2 after an error.",
    )
    bound = add_tolerance_options(plan)
    bound.add_argument("--minimum", type=float, help="smallest rate of a group allowed")
    bound.add_argument("--maximum", type=float, help="largest rate of a group allowed")
    add = plan.add_argument
    add("--groups", type=int, default=2, help="number of groups compared (default 2)")
    add("--rate", type=float, help="expected rate of the groups (default 0.5 for a tolerance)")
    add("--smallest-share", type=float, help="share of the smallest group (default: equal groups)")
    add("--confidence", type=float, default=CONFIDENCE_LEVEL, help="confidence level (default .95)")
    add("--power", type=float, default=0.8, help="probability of the certificate (default .8)")
    add(
        "--purpose",
        choices=["certificate", "fit"],
        default="certificate",
        help="held-out samples for certify, or training samples of a guaranteed fit",
    )
    add_output_options(plan)
    plan.set_defaults(run=_run_plan, parser=plan)


def _run_plan(options):
    """Print the number of samples that the options ask for; return the exit status."""
    resolve_output(options)
    results = _plan(options)
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
    plan |= {"confidence_level": options.confidence, "purpose": options.purpose}
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
    result = "certified" if plan["purpose"] == "certificate" else "guaranteed by a fit"
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
