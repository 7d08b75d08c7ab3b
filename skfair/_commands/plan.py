"""The command ``python -m skfair plan``: the number of samples that a certificate requires."""

from __future__ import annotations

import json
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from skfair._commands.options import (
    add_output_options,
    add_tolerance_options,
    output_results,
    resolve_output,
)
from skfair._statistics.estimates import check_level
from skfair._statistics.planned_draws import (
    follow_up_size,
    total_pair_size,
)
from skfair._statistics.planning import required_sample_size
from skfair._utils.checks import join_names
from skfair._utils.parameters import CONFIDENCE_LEVEL

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_plan_options(plan: ArgumentParser) -> None:
    """Add the options of ``python -m skfair plan`` to its parser."""
    plan.description = (
        "Number of samples of each group with which a bound is shown, as by "
        "`certify`. The exit status is 0, and 2 after an error."
    )
    add_tolerance_options(plan)
    add = plan.add_argument
    about = "number of groups compared (default 2)"
    add("--groups", type=int, default=2, help=about)
    about = "gap (default 0), ratio (default 1) or rate that a model is expected to have"
    add("--expected", type=float, help=about)
    about = "middle of the smallest and the largest expected rate (default 0.5 for a tolerance)"
    add("--rate", type=float, help=about)
    about = "shares of all groups, which add up to 1 (default: equal groups)"
    add("--shares", type=float, nargs="+", metavar="SHARE", help=about)
    about = "pairs of two versions of a prompt: the share of them whose answers differ"
    add("--pairs", type=float, metavar="SHARE", dest="flips", help=about)
    about = (
        "share of positive decisions, where outcomes of the others are missing: the number is then "
        "of refused samples whose outcome must be learnt, for a --tolerance of true positive rates"
    )
    add("--selected", type=float, metavar="SHARE", help=about)
    about = "with --selected, the share of positive outcomes among positive decisions"
    add("--precision", type=float, help=about)
    about = "confidence level (default .95)"
    add("--confidence", type=float, default=CONFIDENCE_LEVEL, help=about)
    add("--power", type=float, default=0.8, help="probability of the certificate (default .8)")
    about = (
        "held-out samples for certify, also for its --constraint calibration of probabilities, or "
        "training samples of a guaranteed fit (default certificate)"
    )
    purposes = ["certificate", "fit", "calibration"]
    add("--purpose", choices=purposes, default="certificate", help=about)
    add_output_options(plan)
    plan.set_defaults(run=_run_plan)


def _run_plan(options: Namespace) -> int:
    """Print the number of samples that the options ask for; return the exit status."""
    resolve_output(options)
    results = _plan(options)
    output_results(options, [results["text"], results["assumption"]], json.dumps(results))
    return 0


def _require_sample_size(bounds: dict[str, Any], options: Namespace) -> int:
    """The required sample size; errors about shares of groups name their option."""
    if options.shares is not None and not (
        all(share > 0.0 for share in options.shares) and abs(sum(options.shares) - 1.0) < 1e-6
    ):
        raise ValueError(
            "--shares must be positive and add up to 1, but are "
            f"{join_names([f'{share:g}' for share in options.shares])}, with the sum "
            f"{sum(options.shares):g}."
        )
    return required_sample_size(**bounds, purpose=options.purpose)


def _plan(options: Namespace) -> dict[str, Any]:
    """The number of samples of each group and in all, and its assumption, by name."""
    if options.ratio is not None and options.rate is None:
        raise ValueError(
            "--ratio needs --rate, the expected rate of the groups: the smaller it is, the more "
            "samples are required."
        )
    names = (*_TEXTS, "expected", "rate", "power", "flips")
    plan = {name: getattr(options, name) for name in names}
    plan["n_groups"] = options.shares or options.groups
    plan["confidence_level"] = options.confidence
    level = check_level(options.confidence, "--confidence")
    if options.selected is not None:
        return _plan_follow_up(options, level)
    if options.flips is not None:
        if options.tolerance is None or options.groups != 2 or options.shares is not None:
            raise ValueError("--pairs plans a --tolerance of two versions; leave out other groups.")
        n = total_pair_size(
            options.tolerance, options.flips, options.expected or 0.0, level, options.power
        )
    else:
        bounds = {name: plan[name] for name in plan if name != "flips"}
        n = _require_sample_size(bounds, options)
    plan["purpose"] = options.purpose
    if options.flips is not None:
        return plan | {"n_pairs": n, "n_samples": 2 * n} | _describe_plan(plan, f"{n:,} pairs")
    if options.shares is None:
        n_samples = n * options.groups
        text = (
            f"{n:,} samples of each of {options.groups} groups are required, {n_samples:,} in all"
        )
    else:
        n_samples = n
        n = ceil(n * min(options.shares))
        text = f"{n_samples:,} samples in all are required, {n:,} of the smallest group"
    sizes = {"required_sample_size": n, "n_samples": n_samples}
    return plan | sizes | _describe_plan(plan, text)


def _plan_follow_up(options: Namespace, level: float) -> dict[str, Any]:
    """The number of refused samples of each group whose outcome must be learnt, by name."""
    if options.tolerance is None or options.rate is None or options.precision is None:
        raise ValueError(
            "--selected plans a --tolerance of true positive rates. Pass also --rate, the expected "
            "true positive rate, and --precision, the share of positive outcomes among positive "
            "decisions."
        )
    if options.shares is not None or options.flips is not None:
        raise ValueError("--selected plans groups of equal size; leave out --shares and --pairs.")
    gap = options.expected or 0.0
    half = options.groups // 2
    rates = np.repeat([options.rate - gap / 2.0, options.rate + gap / 2.0], [half, options.groups])
    rates = rates[: options.groups]
    _check_gap(rates, gap, options.tolerance)
    n = follow_up_size(
        options.tolerance, rates, options.selected, options.precision, level, options.power
    )
    text = (
        f"The outcomes of {n:,} refused samples of each of {options.groups} groups are required, "
        f"{n * options.groups:,} in all, so that a gap of at most {options.tolerance} in true "
        f"positive rates is shown with {100 * level:g} % confidence."
    )
    assumption = (
        f"It assumes that {100 * options.selected:g} % of each group are selected, and of these "
        f"{100 * options.precision:g} % have the positive outcome, true positive rates about "
        f"{options.rate:g} with a gap of {gap:g}, refused samples drawn at random, and groups that "
        f"are much larger; then {100 * options.power:g} % of all samples of this size suffice."
    )
    names = ("tolerance", "expected", "rate", "power", "selected", "precision")
    plan = {name: getattr(options, name) for name in names}
    sizes = {"required_sample_size": n, "n_samples": n * options.groups}
    return plan | sizes | {"text": text, "assumption": assumption}


def _check_gap(rates: np.ndarray, gap: float, tolerance: float) -> None:
    """Raise unless expected rates are shares, and their gap keeps the tolerance."""
    if not ((rates > 0.0) & (rates < 1.0)).all() or not 0.0 <= gap < tolerance:
        raise ValueError(
            "--rate must be a share, and --expected a gap from 0 to less than the --tolerance "
            f"about it, but rates from {rates[0]:g} to {rates[-1]:g} are planned for a tolerance "
            f"of {tolerance:g}. Pass a smaller --expected."
        )


_TEXTS = {
    "tolerance": "a gap of at most",
    "ratio": "a ratio of at least",
    "minimum": "a rate of each group of at least",
    "maximum": "a rate of each group of at most",
}
"""What is shown, by the argument of the bound."""


def _describe_plan(plan, text):
    """Sentences on the number of samples, and on what it assumes, by name.

    `text` says which number of samples is required.
    """
    name = next(name for name in _TEXTS if plan[name] is not None)
    expected = plan["expected"]
    rate = 0.5 if plan["rate"] is None else plan["rate"]
    if plan["flips"] is not None:
        text += f" of two versions are required, {100 * plan['flips']:g} % of which differ"
        assumption = f"answers of {100 * plan['flips']:g} % of all pairs differ"
        if expected is not None:
            assumption += f", with a gap of {expected:g}"
    elif plan["purpose"] == "calibration":
        assumption = f"all samples have the probability {rate:g}"
        if expected is not None:
            assumption += f", and {expected:g} more are positive"
    elif name in ("minimum", "maximum"):
        assumption = f"all groups have the rate {expected:g}"
    elif expected is None:
        assumption = f"all groups have the rate {rate:g}"
    else:
        quantity = "gap" if name == "tolerance" else name
        assumption = (
            f"groups have rates about {rate:g} with a {quantity} of {expected:g}, half of them the "
            "smallest and half the largest rate"
        )
    result = "guaranteed by a fit" if plan["purpose"] == "fit" else "shown"
    bounded = _TEXTS[name]
    if plan["purpose"] == "calibration":
        bounded = "a calibration error of each group of at most"
    return {
        "text": f"{text}, so that {bounded} {plan[name]} is {result} with "
        f"{100 * plan['confidence_level']:g} % confidence.",
        "assumption": f"It assumes that {assumption}; then {100 * plan['power']:g} % of all "
        "samples of this size suffice." + _ADVICE * (expected is None and plan["flips"] is None),
    }


_ADVICE = " There is then no gap in the population. Pass --expected for a model that has one."
