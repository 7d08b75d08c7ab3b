"""The command ``python -m skfair plan``: the number of samples that a certificate requires."""

import json
from math import ceil

from skfair.commands._options import (
    add_output_options,
    add_tolerance_options,
    output_results,
    resolve_output,
)
from skfair.statistics._planning import required_sample_size
from skfair.utils._parameters import CONFIDENCE_LEVEL


def add_plan_options(plan):
    """Add the options of ``python -m skfair plan`` to its parser."""
    plan.description = (
        "Number of samples of each group with which a bound is shown, as by "
        "`certify`. The exit status is 0, and 2 after an error."
    )
    add_tolerance_options(plan)
    add = plan.add_argument
    add("--groups", type=int, default=2, help="number of groups compared (default 2)")
    about = "gap (default 0), ratio (default 1) or rate that a model is expected to have"
    add("--expected", type=float, help=about)
    about = "middle of the smallest and the largest expected rate (default 0.5 for a tolerance)"
    add("--rate", type=float, help=about)
    add("--smallest-share", type=float, help="share of the smallest group (default: equal groups)")
    add("--confidence", type=float, default=CONFIDENCE_LEVEL, help="confidence level (default .95)")
    add("--power", type=float, default=0.8, help="probability of the certificate (default .8)")
    about = "held-out samples for certify, or training samples of a guaranteed fit"
    add("--purpose", choices=["certificate", "fit"], default="certificate", help=about)
    add_output_options(plan)
    plan.set_defaults(run=_run_plan)


def _run_plan(options):
    """Print the number of samples that the options ask for; return the exit status."""
    resolve_output(options)
    results = _plan(options)
    output_results(options, [results["text"], results["assumption"]], json.dumps(results))
    return 0


def _plan(options):
    """The number of samples of each group and in all, and its assumption, by name."""
    if options.ratio is not None and options.rate is None:
        raise ValueError(
            "--ratio needs --rate, the expected rate of the groups: the smaller it is, the more "
            "samples are required."
        )
    share = 1.0 / options.groups if options.smallest_share is None else options.smallest_share
    if not 0.0 < share * options.groups <= 1.0:
        raise ValueError(
            f"--smallest-share must be above 0, and at most {1.0 / options.groups:.3g} of "
            f"{options.groups} groups; got {share:g}."
        )
    names = (*_TEXTS, "expected", "rate", "power", "purpose")
    plan = {name: getattr(options, name) for name in names}
    plan |= {"n_groups": options.groups, "confidence_level": options.confidence}
    n = required_sample_size(**plan)
    sizes = {"required_sample_size": n, "n_samples": ceil(n / share)}
    return plan | sizes | _describe_plan(plan, *sizes.values())


_TEXTS = {
    "tolerance": "a gap of at most",
    "ratio": "a ratio of at least",
    "minimum": "a rate of each group of at least",
    "maximum": "a rate of each group of at most",
}
"""What is shown, by the argument of the bound."""


def _describe_plan(plan, n, n_samples):
    """Sentences on the number of samples, and on what it assumes, by name."""
    name = next(name for name in _TEXTS if plan[name] is not None)
    expected = plan["expected"]
    rate = 0.5 if plan["rate"] is None else plan["rate"]
    if name in ("minimum", "maximum"):
        assumption = f"all groups have the rate {expected:g}"
    elif expected is None:
        assumption = f"all groups have the rate {rate:g}"
    else:
        quantity = "gap" if name == "tolerance" else name
        assumption = (
            f"groups have rates about {rate:g} with a {quantity} of {expected:g}, half of them the "
            "smallest and half the largest rate"
        )
    result = "shown" if plan["purpose"] == "certificate" else "guaranteed by a fit"
    return {
        "text": f"{n:,} samples of each of {plan['n_groups']} groups are required, {n_samples:,} "
        f"in all, so that {_TEXTS[name]} {plan[name]} is {result} with "
        f"{100 * plan['confidence_level']:g} % confidence.",
        "assumption": f"It assumes that {assumption}; then {100 * plan['power']:g} % of all "
        "samples of this size suffice." + (_ADVICE if expected is None else ""),
    }


_ADVICE = " There is then no gap in the population. Pass --expected for a model that has one."
