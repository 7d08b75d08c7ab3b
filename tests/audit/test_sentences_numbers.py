"""Sentences of two data sets, with numbers computed by pandas and SciPy alone."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from skfair._commands.monitor_page import monitor_findings
from skfair._statistics import limits_of_rates
from skfair.audit import Audit, SensitiveFeatures
from skfair.constraints import DemographicParity, MinimumRate
from skfair.monitoring import GapMonitor

SMALL, UNKNOWN = "tiny", None


def draw_table(rates, n, seed):
    """Decisions by sex, of which some samples have an unknown one and few another."""
    rng = np.random.default_rng(seed)
    sex = rng.choice([*rates], n)
    table = pd.DataFrame({"sex": sex, "y": rng.integers(2, size=n)})
    table["d"] = (rng.random(n) < table["sex"].map(rates)).astype(int)
    order = rng.permutation(n)
    table.loc[order[:20], "sex"] = SMALL
    table.loc[order[20 : 60 + seed], "sex"] = UNKNOWN
    return table


TABLES = {
    "unequal": draw_table({"f": 0.3, "m": 0.6}, 800, 1),
    "equal": draw_table({"f": 0.5, "m": 0.48}, 1000, 2),
}


def audit(table):
    known = SensitiveFeatures(table[["sex"]].reset_index(drop=True), missing="exclude")
    columns = table["y"].to_numpy(), table["d"].to_numpy()
    return Audit.from_predictions(*columns, sensitive_features=known)


# Numbers as they are written: three digits, and limits rounded outwards.


def percent(number):
    return f"{100 * number:.3g} %"


def write_points(number):
    return f"{100 * number:.3g} percentage points"


def round_out(number, is_upper):
    """A limit with three digits, on its side of the number."""
    scale = 10.0 ** (2 - math.floor(math.log10(abs(number))))
    return f"{(math.ceil if is_upper else math.floor)(number * scale) / scale:.3g}"


def compare_rates(table):
    """The groups that are large, by rate from above: name, rate, samples and positives."""
    groups = table[table["sex"].isin(["f", "m"])].groupby("sex")["d"].agg(["mean", "size", "sum"])
    return groups.sort_values("mean", ascending=False).reset_index()


def limit_difference(groups, level, is_upper):
    """The exact limit of the difference of two rates."""
    (_, _, n, hits), (_, _, m, misses) = groups.itertuples(index=False)
    pair, sizes, end = (int(hits), int(misses)), (int(n), int(m)), (1 + level) / 2
    if is_upper:
        return limits_of_rates.limit_difference(pair, sizes, end)
    return -limits_of_rates.limit_difference(pair[::-1], sizes[::-1], end)


def write_gap_limits(groups):
    """Both limits of a gap, at the level of a report."""
    low, high = (limit_difference(groups, 0.95, is_upper) for is_upper in (False, True))
    start = "0" if low <= 0 else round_out(100 * low, False)
    return f"{start} to {round_out(100 * high, True)}"


# What must be said of a table: who, which side, which unit and bound, and who is left out.


def expect_report(table):
    n_unknown = int(table["sex"].isna().sum())
    groups = compare_rates(table)
    (high, p, n, _), (low, q, m, _) = groups.itertuples(index=False)
    yield (
        f"{len(table):,} samples were audited (selection rate {percent(table['d'].mean())}, "
        f"accuracy {percent((table['d'] == table['y']).mean())}), {len(table) - n_unknown} of them "
        f"in 3 groups by sex; {n_unknown} have no recorded group; left out as too small: '{SMALL}'."
    )
    yield (
        f"Selection rate (selected, of all) differs most by sex: {percent(p)} for {high}, "
        f"{percent(q)} for {low} (of {n} and {m} samples), a gap of {write_points(p - q)} "
        f"({write_gap_limits(groups)}), and a ratio of {q / p:.3g} "
    )
    yield f"), {'below' if q / p < 0.8 else 'not below'} four fifths"
    # The error rate whose gap is at least the largest one; the first of two that may be 0.
    words = {1: ("True", "with"), 0: ("False", "without")}
    rates = {one: compare_rates(table[table["y"] == one]) for one in words}
    worst = max(words, key=lambda one: max(0.0, limit_difference(rates[one], 0.95, False)))
    (high, p, n, _), (low, q, m, _) = rates[worst].itertuples(index=False)
    rate, preposition = words[worst]
    yield (
        f"{rate} positive rate (selected, of those truly {'positive' if worst else 'negative'}) "
        f"differs most by sex: {percent(p)} for {high}, {percent(q)} for {low} (of {n} and {m} "
        f"samples {preposition} the outcome '1'), a gap of {write_points(p - q)} "
        f"({write_gap_limits(rates[worst])})"
    )


def expect_claims(table):
    groups = compare_rates(table)
    n_unknown = int(table["sex"].isna().sum())
    (_, p, *_), (_, q, *_) = groups.itertuples(index=False)
    pair = " and ".join(sorted(groups["sex"]))
    low, high = limit_difference(groups, 0.95, False), limit_difference(groups, 0.9, True)
    is_broken = low > 0.15
    limit = f"at {'least' if is_broken else 'most'} " + round_out(
        100 * (low if is_broken else high), not is_broken
    )
    yield (
        f"{'Contradicted' if is_broken else 'Shown'}: selection rates of {pair} "
        f"differ by at most 15 points; left out as too small: '{SMALL}'. Here they differ by "
        f"{write_points(p - q).split()[0]}, and with 95 % confidence by {limit} in the population."
    )
    yield f"{n_unknown} samples of unknown group are left out; the claim is about the others."
    is_broken = q < 0.4
    yield (
        f"{'Contradicted' if is_broken else 'Shown'}: every group by sex has a selection rate of "
        f"at least 40 %; left out as too small: '{SMALL}'. Here the smallest is "
        f"{percent(q)}, and with 95 % confidence at {'most' if is_broken else 'least'} "
    )
    is_broken = q / p < 0.8
    yield (
        f"{'Contradicted' if is_broken else 'Shown'}: the smallest selection rate of a group "
        f"by sex is at least 0.8 times the largest; left out as too small: '{SMALL}'. Here it is "
        f"{q / p:.3g}, and with 95 % confidence at {'most' if is_broken else 'least'} "
    )


def expect_changes(before, after):
    sizes = [
        tuple(int((one["sex"].fillna("(missing)") == label).sum()) for one in (before, after))
        for label in ("(missing)", SMALL)
    ]
    first, second = (np.ptp(compare_rates(one)["mean"]) for one in (before, after))
    yield f"'(missing)' ({sizes[0][0]} and {sizes[0][1]})"
    yield (
        f"The gap of the selection rate by sex was {write_points(first)} and is "
        f"{write_points(second)}, a change of {100 * (second - first):+.3g} ("
    )


def expect_subgroups(table):
    known = table.fillna({"sex": "unknown"}).groupby("sex")["d"].agg(["sum", "size"])
    rest = known.sum() - known
    p = known["sum"] / known["size"]
    q = rest["sum"] / rest["size"]
    difference = (p - q)[["f", "m"]]
    # The one whose limit is furthest from 0 is listed.
    error = np.sqrt(p * (1 - p) / known["size"] + q * (1 - q) / rest["size"])
    name = (difference.abs() - 2.2 * error).idxmax()
    p = p[name]
    q = q[name]
    is_shown = abs(difference[name]) > 0.15
    yield f"{2 * is_shown} of 2 subgroups searched are shown to differ from the rest in the "
    if is_shown:
        yield (
            f"Selection rate: {percent(p)} for sex = {name}, {percent(q)} for the rest (of "
            f"{known.loc[name, 'size']} and {rest.loc[name, 'size']} samples), a difference of "
            f"{100 * (p - q):.3g} percentage points ("
        )


def expect_monitor(table):
    groups = compare_rates(table)
    yield f"{groups['size'].sum()} samples in 2 groups by sex were counted in 4 batches"
    yield f"a gap of {write_points(np.ptp(groups['mean']))} ("


def print_answers(table):
    """All that reports, claims, changes, searches and monitors say of a table."""
    complete = audit(table)
    half = len(table) // 2
    parts = [audit(one) for one in (table[:half], table[half:])]
    monitor = GapMonitor("demographic_parity", 0.1)
    known = table[table["sex"].isin(["f", "m"])]
    for month in range(4):
        batch = known[month::4]
        monitor.update(
            None, batch["d"], sensitive_features=batch[["sex"]], time=f"2026-{month + 1:02d}-01"
        )
    bounds = [DemographicParity(ratio=0.8), MinimumRate("selection_rate", 0.4)]
    answers = [
        *complete.report().findings,
        complete.certify(tolerance=0.15),
        *(complete.certify(one) for one in bounds),
        *parts[0].compare(parts[1]).findings,
        complete.subgroups(),
        *monitor_findings(monitor, "month", None),
    ]
    return "\n".join(map(str, answers))


def expect_sentences(table):
    half = len(table) // 2
    return [
        *expect_report(table),
        *expect_claims(table),
        *expect_changes(table[:half], table[half:]),
        *expect_subgroups(table),
        *expect_monitor(table),
    ]


@pytest.mark.filterwarnings("ignore:.*rate.s. of groups count fewer:UserWarning")
def test_sentences_have_the_numbers_of_their_data():
    printed = {name: print_answers(table) for name, table in TABLES.items()}
    sentences = {name: expect_sentences(table) for name, table in TABLES.items()}
    for name, other in (("unequal", "equal"), ("equal", "unequal")):
        for sentence in sentences[name]:
            assert sentence in printed[name]
            assert sentence not in printed[other]


@pytest.mark.parametrize("seed", range(3))
def test_printed_limits_are_never_narrower_than_the_computed_ones(seed):
    """Each "(a to b)" of page and sentences has limits of a table, rounded by a digit at most."""
    rng = np.random.default_rng(seed)
    n = 700
    groups = rng.choice([*"abc"], n)
    y_pred = (rng.random(n) < np.where(groups == "a", 0.3, 0.5)).astype(int)
    y_true = (rng.random(n) < 0.4).astype(int)
    strata = pd.DataFrame({"s": rng.choice(["x", "y"], n)})
    report = Audit.from_predictions(
        y_true, y_pred, sensitive_features=groups, control_features=strata
    ).report()
    tables = (report.frame, report.gaps, report.adjusted_differences())
    pairs = [
        table[[name.replace("high", "low"), name]].to_numpy()
        for table in tables
        for name in table
        if name.endswith("high")
    ]
    pairs = np.vstack([np.vstack(pairs), 100 * np.vstack(pairs)])
    text = report.to_markdown() + "\n".join(report.findings)
    printed = re.findall(r"(-?[\d.]+) to (-?[\d.]+)\)", text)
    assert len(printed) > 100
    for ends in printed:
        low, high = map(float, ends)
        steps = [10.0 ** -len(one.partition(".")[2]) for one in ends]
        distances = np.column_stack((pairs[:, 0] - low, high - pairs[:, 1]))
        fits = (distances > -1e-6) & (distances < np.array(steps) + 1e-6)
        assert fits.all(axis=1).any(), ends
