"""Audits of outcomes that only some decisions have, in populations whose truth is known."""

import warnings
from typing import NamedTuple

import numpy as np

from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report, join_reports
from skfair.audit import Audit, Outcomes

N_DRAWS, N_FALSE_ALARMS, N_LARGE = 400, 1000, 200_000

BASE_RATE, FALSE_POSITIVE_RATE = 0.6, 0.08

TRUE_POSITIVE_RATES = {"equal": (0.65, 0.65), "edge": (0.6, 0.7), "unequal": (0.4, 0.9)}
"""Of both groups; of "edge" the gap is just the tolerance of claims."""

TOLERANCE = 0.1

KNOWN_SHARES = {"of one decision": (0.0, 1.0), "5 % refused": (0.05, 1.0), "by chance": (0.7, 0.7)}
"""Share of known outcomes after a negative and after a positive decision."""


class Lender(NamedTuple):
    """Applicants, decisions and outcomes, (n_samples,) each."""

    groups: np.ndarray
    granted: np.ndarray
    repays: np.ndarray
    has_outcome: np.ndarray

    @property
    def outcomes(self):
        """Outcomes, nan where they are not known."""
        return np.where(self.has_outcome, self.repays, np.nan)

    def audit(self, missing=None, decisions=None):
        """The audit of the decisions, or of other ones on the same outcomes."""
        made = None if decisions is None else self.granted
        return Audit.from_predictions(
            Outcomes(self.outcomes, missing=missing, decided=made),
            self.granted if decisions is None else decisions,
            sensitive_features=self.groups,
        )


def draw_lender(rng, n, rates, shares):
    """Draw applicants of two groups that repay equally often."""
    groups = np.tile(["F", "M"], n // 2)
    repays = rng.random(n) < BASE_RATE
    rate = np.where(groups == "F", *rates)
    granted = rng.random(n) < np.where(repays, rate, FALSE_POSITIVE_RATE)
    known = rng.random(n) < np.where(granted, shares[1], shares[0])
    return Lender(groups, granted.astype(int), repays.astype(int), known)


def claim(audit, constraint="equal_opportunity"):
    """The verdict of a claim, "refused" where the audit raises an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return audit.certify(constraint, TOLERANCE).verdict
        except ValueError:
            return "refused"


def count_claims(n_draws):
    """Shares of verdicts by case, rates and number of samples."""
    records = []
    for case, shares in KNOWN_SHARES.items():
        for name, rates in TRUE_POSITIVE_RATES.items():
            for n in (600, 6000):
                rng = np.random.default_rng(n)
                lenders = [draw_lender(rng, n, rates, shares) for _ in range(n_draws)]
                said = [claim(one.audit()) for one in lenders]
                record = {"case": f"{case}, {name} rates", "n": n}
                record |= _share_verdicts(said)
                if case == "5 % refused":
                    weighed = [claim(one.audit("by_decision")) for one in lenders]
                    record["shown, by_decision"] = np.mean([one == "shown" for one in weighed])
                records.append(record)
    names = ("shown", "shown, by_decision")
    false = [
        (name, one)
        for one in records
        if not one["case"].endswith("equal rates") or one["case"].endswith("unequal rates")
        for name in names
        if name in one
    ]
    checks = [
        Check(
            f"false claims, {name}, {one['case']}, n = {one['n']}",
            [one[name]],
            "<=",
            round(0.05 + 2.0 * np.sqrt(0.05 * 0.95 / n_draws), 4),
        )
        for name, one in false
    ]
    return Report("Claims that true positive rates differ by at most .1", records, checks)


def _share_verdicts(said):
    names = ("shown", "open", "contradicted", "refused")
    return {name: float(np.mean([one == name for one in said])) for name in names}


def cover_rates(n_draws):
    """How often limits of rates contain the truth, with five or more known refused samples."""
    truths = {
        "true_positive_rate": lambda rates: np.array(rates),
        "false_positive_rate": lambda _: np.full(2, FALSE_POSITIVE_RATE),
        "accuracy": lambda rates: (
            BASE_RATE * np.array(rates) + (1 - BASE_RATE) * (1 - FALSE_POSITIVE_RATE)
        ),
    }
    records = []
    for n, share in ((600, 0.1), (6000, 0.02), (6000, 0.2)):
        rng = np.random.default_rng(n)
        hits = {name: [] for name in truths}
        rates = TRUE_POSITIVE_RATES["unequal"]
        for _ in range(n_draws):
            lender = draw_lender(rng, n, rates, (share, 1.0))
            is_refused = lender.has_outcome & (lender.granted == 0)
            n_refused = [(is_refused & (lender.groups == one)).sum() for one in ("F", "M")]
            if min(n_refused) < 5:
                continue
            frame = lender.audit("by_decision").report().frame
            for name, find in truths.items():
                rows = frame[(frame["metric"] == name) & (frame["group"] != "overall")]
                rows = rows.set_index("group").loc[["F", "M"]]
                truth = find(rates)
                hits[name] += ((rows["low"] <= truth) & (truth <= rows["high"])).tolist()
        shares = {name: float(np.mean(one)) for name, one in hits.items()}
        records.append({"n": n, "known refused": share, "limits": len(hits["accuracy"])} | shares)
    checks = [
        Check(
            f"limits of {name} that contain it, n = {one['n']}, {one['known refused']:g} known",
            [one[name]],
            ">=",
            round(0.95 - 2.0 * np.sqrt(0.95 * 0.05 / one["limits"]), 4),
        )
        for one in records
        for name in truths
    ]
    return Report("Limits by decision at .95", records, checks)


def cover_changes(n_draws):
    """How often limits contain the truth with clusters, and by how much another model is better."""
    records = []
    for question, size in (("rates of clusters of three", 3), ("changes by another model", 1)):
        rng = np.random.default_rng(size)
        truth = _ask_population(rng, 600_000, size)
        covered = []
        for _ in range(n_draws):
            frame = _ask_sample(rng, 1500, size)
            rows = [frame.loc[key] for key in truth]
            covered.append(
                [
                    row.iloc[0] <= value <= row.iloc[1]
                    for row, value in zip(rows, truth.values(), strict=True)
                ]
            )
        names = [" of ".join(key) for key in truth]
        shares = dict(zip(names, np.mean(covered, axis=0).tolist(), strict=True))
        records.append({"question": question} | shares)
    checks = [
        Check(
            f"limits of {one['question']}, {name}",
            [share],
            ">=",
            round(0.95 - 2.0 * np.sqrt(0.95 * 0.05 / n_draws), 4),
        )
        for one in records
        for name, share in one.items()
        if name != "question"
    ]
    return Report("Clusters and another model, limits at .95, 10 % of the refused", records, checks)


_NUMBERS = tuple(
    (metric, group) for metric in ("true_positive_rate", "accuracy") for group in ("F", "M")
)
"""Metrics and groups whose limits are counted."""


def _draw_applicants(rng, n, size):
    """Draw groups, outcomes, decisions made, decisions of another model, and clusters."""
    cluster = np.arange(n) // size
    effect = 0.7 * rng.normal(size=n)[cluster] * (size > 1)
    groups = rng.choice(["F", "M"], n)
    repays = rng.normal(size=n) + effect > -0.25
    merit = np.where(groups == "M", 1.3, 0.6) * repays + 0.5 * effect + rng.normal(size=n)
    other = merit + 0.5 * rng.normal(size=n) - 0.2 * (groups == "M")
    return groups, repays, merit > 0.8, other > 0.8, cluster


def _ask_population(rng, n, size):
    """Rates by metric and group: of the decisions made in clusters, else their changes."""
    groups, repays, made, other, _ = _draw_applicants(rng, n, size)
    truth = {}
    for metric, group in _NUMBERS:
        inside = (groups == group) & (repays | (metric == "accuracy"))
        rates = [(one == repays)[inside].mean() for one in (made, other)]
        truth[metric, group] = rates[0] if size > 1 else rates[1] - rates[0]
    return truth


def _ask_sample(rng, n, size):
    """Low and high limits of the same numbers, by metric and group."""
    groups, repays, made, other, cluster = _draw_applicants(rng, n, size)
    known = made | (rng.random(n) < 0.1)
    audit = Audit.from_predictions(
        Outcomes(np.where(known, repays, np.nan), missing="by_decision"),
        made.astype(int),
        sensitive_features=groups,
        groups=cluster if size > 1 else None,
        min_group_size=1,
    )
    if size > 1:
        return audit.report().frame.set_index(["metric", "group"])[["low", "high"]]
    frame = audit.compare(other.astype(int)).to_frame().set_index(["metric", "group"])
    return frame[["change_low", "change_high"]]


def audit_new_models(n):
    """Rates of a new model on old outcomes, weighed by its own decisions and by the made ones."""
    rng = np.random.default_rng(7)
    merit = rng.normal(size=n)
    repays = merit + rng.normal(size=n) > -0.3
    granted = merit + 0.3 * rng.normal(size=n) > 0.2
    known = granted | (rng.random(n) < 0.05)
    groups = np.tile(["F", "M"], n // 2)
    lender = Lender(groups, granted.astype(int), repays.astype(int), known)
    records = []
    for agreement in (0.97, 0.94, 0.76):
        decisions = np.where(rng.random(n) < agreement, granted, ~granted).astype(int)
        truth = {
            "true_positive_rate": decisions[repays].mean(),
            "accuracy": (decisions == repays).mean(),
        }
        by_new = Audit.from_predictions(
            Outcomes(lender.outcomes, missing="by_decision"), decisions, sensitive_features=groups
        )
        reports = {"by its own": by_new, "by the made": lender.audit("by_decision", decisions)}
        for name, value in truth.items():
            record = {"agreement": agreement, "rate": name, "truth": value}
            for how, audit in reports.items():
                frame = audit.report().frame
                row = frame[(frame["metric"] == name) & (frame["group"] == "overall")]
                record[how] = row["estimate"].item()
            records.append(record)
    checks = [
        Check(
            "error of rates of a new model, weighed by the decision that was made",
            [abs(one["by the made"] - one["truth"]) for one in records],
            "<=",
            0.01,
        )
    ]
    return Report(f"A new model on old outcomes, n = {n:,}, 5 % of the refused", records, checks)


def count_false_alarms(n_draws):
    """How often an audit takes outcomes for missing by decision that are missing otherwise."""
    records = []
    for case in ("missing at random", "late by date", "clusters of ten"):
        for n, share in ((10, 0.3), (40, 0.3), (600, 0.01), (600, 0.3), (6000, 0.1)):
            if n == 10 and case == "clusters of ten":
                continue  # a single cluster
            rng = np.random.default_rng(n)
            alarms = [_is_alarm(rng, n, share, case) for _ in range(n_draws)]
            records.append(
                {"case": case, "n": n, "missing": share, "alarms": float(np.mean(alarms))}
            )
    checks = [
        Check(f"false alarms, {one['case']}, n = {one['n']}", [one["alarms"]], "<=", 0.005)
        for one in records
    ]
    return Report("False alarms", records, checks)


def _is_alarm(rng, n, share, case):
    """Whether outcomes that are missing otherwise are taken for missing by decision."""
    month = np.sort(rng.integers(12, size=n))
    size = 10 if case == "clusters of ten" else 1
    cluster = np.arange(n) // size
    granted = rng.random(n // size)[cluster] < 0.4 - 0.015 * month * (case == "late by date")
    known = rng.random(n // size)[cluster] >= share
    if case == "late by date":
        known = month < 12 * (1.0 - share)
    outcomes = Outcomes(
        np.where(known, rng.integers(2, size=n), np.nan),
        time=month if case == "late by date" else None,
    )
    audit = Audit.from_predictions(
        outcomes,
        granted.astype(int),
        sensitive_features=rng.choice(["F", "M"], n),
        groups=cluster if size > 1 else None,
    )
    known_outcomes = audit.known_outcomes
    return known_outcomes is not None and known_outcomes.case in ("by_decision", "of_one_decision")


@smallest(N_DRAWS=2, N_FALSE_ALARMS=2, N_LARGE=2000)
def known_outcomes(budget):
    """Claims and limits of audits whose outcomes are known by decision."""
    n_draws = max(2, round(N_DRAWS * budget.fraction))
    n_alarms = max(2, round(N_FALSE_ALARMS * budget.fraction))
    reports = [
        count_claims(n_draws),
        cover_rates(n_draws),
        cover_changes(max(2, n_draws // 2)),
        audit_new_models(N_LARGE),
        count_false_alarms(n_alarms),
    ]
    return join_reports(reports)
