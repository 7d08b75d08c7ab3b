"""Differences within strata: their mean, and that of Mantel and Haenszel with its limits."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit
from skfair.audit._tables import common_difference

BERKELEY = {
    "A": ((825, 512), (108, 89)),
    "B": ((560, 353), (25, 17)),
    "C": ((325, 120), (593, 202)),
    "D": ((417, 138), (375, 131)),
    "E": ((191, 53), (393, 94)),
    "F": ((373, 22), (341, 24)),
}
"""Applicants and admissions of men and women by department, Berkeley 1973."""


def make_berkeley():
    """Counts of applicants by department, sex and decision."""
    rows = []
    for department, groups in BERKELEY.items():
        for sex, (n, admitted) in zip(("man", "woman"), groups, strict=True):
            rows.append((department, sex, 1, admitted))
            rows.append((department, sex, 0, n - admitted))
    return pd.DataFrame(rows, columns=["department", "sex", "admitted", "n"])


def audit_berkeley():
    return Audit.from_counts(
        make_berkeley(),
        counts="n",
        sensitive_features="sex",
        y_pred="admitted",
        control_features="department",
    )


def adjust_by_fractions(tables):
    """The common difference and Sato's variance in exact fractions, stratum by stratum.

    `tables` has n, x, m, y of each stratum. Written from products of the four cells.
    """
    above = below = 0
    for n, x, m, y in tables:
        above += Fraction(x * (m - y) - y * (n - x), n + m)
        below += Fraction(n * m, n + m)
    common = above / below
    variance = 0
    for n, x, m, y in tables:
        total = Fraction(n + m)
        skewed = n * (n * y) - m * (m * x) + Fraction(n * m * (m - n), 2)
        variance += common * skewed / total**2
        variance += (x * (m - y) + y * (n - x)) / (2 * total)
    return float(common), float(variance / below**2)


def test_forty_drawn_tables_by_exact_fractions():
    rng = np.random.default_rng(0)
    for _ in range(40):
        n_strata = rng.integers(1, 9)
        sizes = rng.integers(1, 60, (2, n_strata))
        counts = rng.binomial(sizes, rng.uniform(0.1, 0.9, (2, n_strata)))
        tables = np.stack([sizes[0], counts[0], sizes[1], counts[1]], axis=1).tolist()
        common, variance = adjust_by_fractions(tables)
        result = common_difference(sizes, counts, 0.95)
        assert result.estimate == pytest.approx(common, abs=1e-12)
        margin = 1.959963984540054 * variance**0.5
        ends = max(-1.0, common - margin), min(1.0, common + margin)
        assert (result.low, result.high) == pytest.approx(ends, abs=1e-9)


@pytest.mark.parametrize("n, m, p, difference", [(3, 5, 0.3, 0.2), (6, 2, 0.7, -0.4), (1, 1, 0, 1)])
def test_the_variance_is_unbiased_where_strata_share_the_difference(n, m, p, difference):
    """Over all outcomes of one stratum, with the true difference in place of the estimate."""
    q = p + difference
    expected = exact = 0.0
    for x, y in product(range(n + 1), range(m + 1)):
        probability = comb(n, x) * q**x * (1 - q) ** (n - x)
        probability *= comb(m, y) * p**y * (1 - p) ** (m - y)
        total = n + m
        skewed = (n**2 * y - m**2 * x + n * m * (m - n) / 2) / total**2
        expected += probability * (difference * skewed + (x * (m - y) + y * (n - x)) / (2 * total))
        exact += probability * ((m * x - n * y) / total - n * m / total * difference) ** 2
    assert expected == pytest.approx(exact, abs=1e-12)


def test_limits_hold_in_many_small_strata():
    """Twenty strata of up to six samples; the difference is .2 in each."""
    rng = np.random.default_rng(1)
    n_errors = 0
    for _ in range(400):
        sizes = rng.integers(1, 6, (2, 20))
        base = rng.uniform(0.1, 0.7, 20)
        counts = rng.binomial(sizes, np.stack([base + 0.2, base]))
        limits = common_difference(sizes, counts, 0.95)
        n_errors += not limits.low <= 0.2 <= limits.high
    assert n_errors / 400 <= 0.08


def test_berkeley_by_hand():
    table = audit_berkeley().report().adjusted_differences()
    assert table[["group", "reference"]].to_numpy().tolist() == [["woman", "man"]]
    row = table.iloc[0]
    assert row["difference"] == pytest.approx(557 / 1835 - 1198 / 2691)
    sizes = np.array([[w[0] + m[0], w[1] / w[0] - m[1] / m[0]] for m, w in BERKELEY.values()])
    mean = sizes[:, 0] @ sizes[:, 1] / sizes[:, 0].sum()
    assert row["mean_difference"] == pytest.approx(mean) and row["n"] == 4526
    common, variance = adjust_by_fractions([(*w, *m) for m, w in BERKELEY.values()])
    assert row["common_difference"] == pytest.approx(common)
    assert row["high"] - row["low"] == pytest.approx(2 * 1.959963984540054 * variance**0.5)


@pytest.mark.slow
def test_the_command_states_what_remains_within_strata(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make_berkeley().to_csv("berkeley.csv", index=False)
    columns = ["--prediction", "admitted", "--sensitive", "sex", "--count", "n"]
    main(["report", "berkeley.csv", *columns, "--control", "department", "--out", "r.md"])
    sentence = (
        "Within 6 strata the selection rate of woman differs from that of man by +4.26 percentage "
        "points on average, and by +1.84 (-1.07 to 4.75) if the difference is the same in all of "
        "them (Mantel-Haenszel), beside -14.2 in all samples."
    )
    assert sentence in capsys.readouterr().out
    page = (tmp_path / "r.md").read_text()
    assert (
        "| woman against man | sex | 4,526 | 6 | -14.2 | +4.26 | +1.8 points (-1.1 to 4.8) |"
        in page
    )
    main(["report", "berkeley.csv", *columns, "--out", "r.md"])
    assert "Within" not in capsys.readouterr().out


def test_strata_without_one_of_the_groups_do_not_count():
    table = pd.DataFrame(
        {
            "sex": ["f", "f", "m", "m", "f", "f", "m", "m"],
            "place": ["x"] * 4 + ["y"] * 2 + ["z"] * 2,
            "d": [1, 0] * 4,
            "n": [30, 70, 60, 40, 10, 30, 35, 5],
        }
    )
    roles = {"counts": "n", "sensitive_features": "sex", "y_pred": "d"}
    row = (
        Audit.from_counts(table, **roles, control_features="place")
        .report()
        .adjusted_differences()
        .iloc[0]
    )
    assert (row["n_strata"], row["n"]) == (1, 200)
    assert row["mean_difference"] == pytest.approx(-0.3) == row["common_difference"]
    assert not len(Audit.from_counts(table, **roles).report().adjusted_differences())
    weighted = Audit.from_predictions(
        None,
        table["d"],
        sensitive_features=table["sex"],
        control_features=table["place"],
        sample_weight=table["n"],
        min_group_size=1,
    ).report()
    with pytest.raises(ValueError, match="Differences within strata are computed from counts"):
        weighted.adjusted_differences()
    assert "Adjusted for strata" not in weighted.to_markdown()
