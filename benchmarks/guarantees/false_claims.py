"""How often a report claims a gap that does not exist, and how often one that does."""

import warnings

import numpy as np
import pandas as pd

from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.audit import Audit
from skfair.audit._tables import OVERALL

N_REPORTS = {5: 1000, 1: 50}  # reports of each case, by the runs of the budget
LEVEL = 0.95
N_GROUPS = (2, 4, 10)
N_ATTRIBUTES = (1, 2)
N_SAMPLES = (500, 5000)
GAP, PER_GROUP = 0.1, 1000
"""A true gap of the selection rate, and the samples of each group."""

_COMPARISONS = {"difference": 0.0, "ratio": 1.0, "impact_ratio": 1.0}
"""Comparisons with a group, and their values for equal groups."""


def draw_report(rng, n_groups, n_attributes, n_samples, gap=0.0):
    """Draw samples with calibrated probabilities and random groups, and report on them.

    Parameters
    ----------
    rng : Generator
        Source of the samples.
    n_groups, n_attributes, n_samples : int
        Groups of each attribute, attributes, and samples.
    gap : float, default=0.0
        Excess of the selection rate of the last group of the first attribute. With 0 nothing
        depends on the groups.

    Returns
    -------
    report : FairnessReport
    """
    groups = rng.integers(n_groups, size=(n_samples, n_attributes))
    probability = rng.beta(2.0, 2.0, size=n_samples)
    truth = (rng.random(n_samples) < probability).astype(int)
    # Select probabilities above a half, and as many below it in the last group as the gap needs.
    is_raised = (groups[:, 0] == n_groups - 1) & (rng.random(n_samples) < 2.0 * gap)
    decisions = ((probability > 0.5) | is_raised).astype(int)
    names = [f"attribute {number}" for number in range(n_attributes)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of skewed values
        audit = Audit.from_predictions(
            truth,
            decisions,
            y_score=probability,
            sensitive_features=pd.DataFrame(groups, columns=names),
        )
        return audit.report(confidence_level=LEVEL)


def claims_a_gap(report):
    """Whether a sentence states a gap without adding that it may be chance."""
    return any("differs most" in text and "may be chance" not in text for text in report.findings)


def excludes_equality(report):
    """Whether any interval against a reference chosen from the data excludes equal groups."""
    frame = report.frame[report.frame["attribute"] != OVERALL]
    return any(
        ((frame[f"{name}_low"] > equal) | (frame[f"{name}_high"] < equal)).any()
        for name, equal in _COMPARISONS.items()
    )


@smallest(N_REPORTS={1: 1}, N_GROUPS=(2,), N_ATTRIBUTES=(2,), N_SAMPLES=(500,))
def reports(budget):
    """Reports of fair models: false claims in sentences and intervals; power at a true gap."""
    n_reports = N_REPORTS.get(budget.n_runs, 50)
    records = []
    for n_groups in N_GROUPS:
        for n_attributes in N_ATTRIBUTES:
            for n_samples in N_SAMPLES:
                case = {"groups": n_groups, "attributes": n_attributes, "n": n_samples}
                records.append({"gap": 0.0} | case | _claim_rates(case, 0.0, n_reports))
            case = case | {"n": n_groups * PER_GROUP}
            rates = _claim_rates(case, GAP, max(1, n_reports // 10))
            records.append({"gap": GAP} | case | rates)
    fair = [record for record in records if not record["gap"]]
    checks = [
        Check("fair: rate of claims", [one["claim"] for one in fair], "<=", 1.0 - LEVEL),
        Check("fair: rate of intervals", [one["interval"] for one in fair], "<=", 1.0 - LEVEL),
        Check("gap: rate of claims", [one["claim"] for one in records if one["gap"]], ">=", 0.5),
    ]
    title = (
        f"{n_reports} reports of a fair model at {LEVEL:g} (a tenth as many of a gap of {GAP:g}): "
        "proportion with a sentence that claims a gap, and with an interval against a reference "
        "chosen from the data that excludes equal groups"
    )
    return Report(title, records, checks)


def _claim_rates(case, gap, n_reports):
    """How often reports claim a gap in a sentence, and have an interval that excludes equality."""
    rng = np.random.default_rng(tuple(case.values()))
    reports = (
        draw_report(rng, case["groups"], case["attributes"], case["n"], gap)
        for _ in range(n_reports)
    )
    claim, interval = np.mean(
        [(claims_a_gap(one), excludes_equality(one)) for one in reports], axis=0
    )
    return {"claim": claim, "interval": interval}
