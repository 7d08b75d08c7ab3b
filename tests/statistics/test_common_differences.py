"""Differences within strata: their mean, and that of Mantel and Haenszel with its limits."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom, t

from skfair.__main__ import main
from skfair._statistics.common_differences import common_difference, common_mean_difference
from skfair.audit import Audit, FairnessReport

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


def score_statistic(tables, difference):
    """Sum of weighted excesses over its error, with the likeliest rates found by a search.

    `tables` has n, x, m, y of each stratum.
    """
    excess = variance = 0.0
    for n, x, m, y in tables:
        ends = max(0.0, -difference), min(1.0, 1.0 - difference)

        def loss(q, n=n, x=x, m=m, y=y):
            p = q + difference
            terms = (x, p), (n - x, 1 - p), (y, q), (m - y, 1 - q)
            return -sum(k * np.log(max(r, 1e-300)) for k, r in terms if k)

        q = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-10}).x
        p = q + difference
        weight = n * m / (n + m)
        excess += weight * (x / n - y / m - difference)
        pooled = p * (1 - p) / n + q * (1 - q) / m
        variance += weight**2 * pooled * (n + m) / max(n + m - 1, 1)
    return excess / variance**0.5


def mantel_haenszel(tables):
    """The common difference in exact fractions, stratum by stratum."""
    above = sum(Fraction(x * (m - y) - y * (n - x), n + m) for n, x, m, y in tables)
    return float(above / sum(Fraction(n * m, n + m) for n, _, m, _ in tables))


def test_drawn_tables_have_the_limits_that_a_score_test_does_not_reject():
    rng = np.random.default_rng(0)
    for _ in range(12):
        n_strata = rng.integers(1, 6)
        sizes = rng.integers(1, 60, (2, n_strata))
        counts = rng.binomial(sizes, rng.uniform(0.1, 0.9, (2, n_strata)))
        tables = np.stack([sizes[0], counts[0], sizes[1], counts[1]], axis=1).tolist()
        result = common_difference(sizes, counts, 0.95)
        assert result.estimate == pytest.approx(mantel_haenszel(tables), abs=1e-12)
        assert result.low < result.estimate < result.high or abs(result.estimate) == 1.0
        for end, z in ((result.low, 1.959964), (result.high, -1.959964)):
            if abs(end) < 1.0:
                assert score_statistic(tables, end) == pytest.approx(z, abs=1e-3)


@pytest.mark.parametrize(
    ("counts", "estimate"),
    [([[0, 0], [0, 0]], 0.0), ([[15, 15], [15, 15]], 0.0), ([[15, 15], [0, 0]], 1.0)],
)
def test_limits_have_a_width_where_all_rates_are_0_or_1(counts, estimate):
    low, high = common_difference(np.full((2, 2), 15.0), np.array(counts), 0.95)[1:]
    assert low <= estimate - (estimate == 1.0) * 0.1 and high - low > 0.1
    if estimate == 0.0:
        assert high == pytest.approx(-low) and 0.05 < high < 0.3


@pytest.mark.slow
def test_limits_of_rare_selections_are_missed_no_more_often_than_stated():
    """Limits by an estimated variance miss a difference of .06 - .02 in .09 of samples."""
    rng = np.random.default_rng(2)
    n_draws, n_errors = 300, 0
    for _ in range(n_draws):
        sizes = rng.multinomial(40, [0.5, 0.5], 2)
        limits = common_difference(sizes, rng.binomial(sizes, [[0.06], [0.02]]), 0.95)
        n_errors += not limits.low <= 0.04 <= limits.high
    assert n_errors <= binom.ppf(0.99, n_draws, 0.05)


def draw_strata(rng, n_groups):
    """Sizes and selections of equal groups of 100 in three strata of unequal rates."""
    sizes = rng.multinomial(100, [1 / 3] * 3, n_groups)
    return sizes, rng.binomial(sizes, [0.2, 0.4, 0.6])


def find_reference(selected):
    """The group of the highest rate, of groups of equal size."""
    return selected.sum(axis=1).argmax()


def audit_strata(sizes, selected, reference=None):
    """`adjusted_differences` of groups in strata."""
    counts = np.stack([sizes - selected, selected], axis=-1)
    g, stratum, d = np.indices(counts.shape).reshape(3, -1)
    table = pd.DataFrame({"stratum": stratum, "d": d, "n": counts.ravel()})
    return (
        Audit.from_counts(
            table.assign(g=[f"g{one}" for one in g]),
            counts="n",
            sensitive_features="g",
            y_pred="d",
            control_features="stratum",
        )
        .report(reference=reference)
        .adjusted_differences()
    )


@pytest.mark.parametrize("n_groups", [4, pytest.param(10, marks=pytest.mark.slow)])
def test_a_reference_that_the_data_choose_has_the_limits_of_all_pairs(n_groups):
    """Of four groups: six pairs if it is chosen, and three rows if it is named."""
    sizes, selected = draw_strata(np.random.default_rng(0), n_groups)
    chosen = find_reference(selected)
    n_pairs = n_groups * (n_groups - 1) // 2
    for reference, against, n_comparisons in (
        (None, chosen, n_pairs),
        ({"g": "g0"}, 0, n_groups - 1),
    ):
        table = audit_strata(sizes, selected, reference)
        assert len(table) == n_groups - 1 and {*table["reference"]} == {f"g{against}"}
        for row in table.itertuples():
            pair = [int(row.group[1:]), against]
            expected = common_difference(sizes[pair], selected[pair], 1 - 0.05 / n_comparisons)
            assert (row.low, row.high) == pytest.approx(expected[1:])


def test_who_named_the_reference_is_stored():
    reports = [audit_berkeley().report(reference=one) for one in (None, {"sex": "man"})]
    again = [FairnessReport.from_json(one.to_json()) for one in reports]
    assert [one.named_references for one in again] == [(), ("sex",)]
    assert again[0].adjusted_differences().equals(reports[0].adjusted_differences())


@pytest.mark.slow
def test_equal_groups_rarely_differ_within_strata():
    """Ten groups, each against the one of the highest rate, with the limits of all 45 pairs."""
    rng = np.random.default_rng(3)
    n_wrong = 0
    for _ in range(100):
        sizes, selected = draw_strata(rng, 10)
        reference = find_reference(selected)
        limits = [
            common_difference(sizes[[g, reference]], selected[[g, reference]], 1 - 0.05 / 45)
            for g in range(10)
            if g != reference
        ]
        n_wrong += any(one.low > 0 or one.high < 0 for one in limits)
    assert n_wrong <= binom.ppf(0.99, 100, 0.05)


@pytest.mark.slow
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
    tables = [(*w, *m) for m, w in BERKELEY.values()]
    assert row["common_difference"] == pytest.approx(mantel_haenszel(tables))
    assert score_statistic(tables, row["low"]) == pytest.approx(1.959964, abs=1e-3)


@pytest.mark.slow
def test_the_command_states_what_remains_within_strata(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make_berkeley().to_csv("berkeley.csv", index=False)
    columns = ["--prediction", "admitted", "--sensitive", "sex", "--count", "n"]
    main(["report", "berkeley.csv", *columns, "--control", "department", "--out", "r.md"])
    sentence = (
        "Within 6 strata the selection rate of woman differs from that of man by +4.26 percentage "
        "points on average, and by +1.84 (-1.09 to 4.75) if the difference is the same in all of "
        "them (Mantel-Haenszel weights), beside -14.2 in all samples."
    )
    assert sentence in capsys.readouterr().out
    page = (tmp_path / "r.md").read_text()
    assert (
        "| woman against man | selection rate | sex | 4,526 | 6 | -14.2 points | +4.3 points "
        "| +1.8 points (-1.1 to 4.8) |" in page
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


def draw_pay(rng, n=400):
    """Pay of two groups in three levels of unequal pay, and that of women 1,500 lower."""
    level = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    sex = np.where(rng.random(n) < np.array([0.7, 0.4, 0.2])[level], "f", "m")
    pay = 40_000 + 15_000 * level + rng.normal(0, 5_000, n) * (1 + level) - 1_500 * (sex == "f")
    return pd.DataFrame({"sex": sex, "level": level.astype(str), "pay": pay.round(2)})


def regress_on_group_and_strata(table):
    """Coefficient of "f" in a least-squares regression of pay on group and levels."""
    design = pd.get_dummies(table["level"]).assign(f=table["sex"] == "f").to_numpy(float)
    return np.linalg.lstsq(design, table["pay"].to_numpy(), rcond=None)[0][-1]


def test_pay_is_adjusted_in_its_units():
    table = draw_pay(np.random.default_rng(0))
    report = Audit.from_predictions(
        table["pay"],
        table["pay"] + 100.0,
        sensitive_features=table[["sex"]],
        control_features=table[["level"]],
    ).report()
    rows = report.adjusted_differences().set_index("metric")
    means = {"mean_target", "mean_prediction", "mean_error"}
    assert set(rows.index) == {"scoring_rate", *means}
    assert rows.loc["mean_error", ["low", "high"]].tolist() == [-np.inf, np.inf]
    cells = table.groupby(["level", "sex"])["pay"].agg(["mean", "size", "var"]).unstack()
    gaps = cells["mean"]["f"] - cells["mean"]["m"]
    sizes = cells["size"]
    for metric in ("mean_target", "mean_prediction"):
        row = rows.loc[metric]
        means = table.groupby("sex")["pay"].mean()
        assert row["difference"] == pytest.approx(means["f"] - means["m"])
        assert row["mean_difference"] == pytest.approx(np.average(gaps, weights=sizes.sum(axis=1)))
        assert row["common_difference"] == pytest.approx(regress_on_group_and_strata(table))
    # The margin by hand: Welch's variance of the weighted sum, at the level of the four rows.
    weights = sizes.prod(axis=1) / sizes.sum(axis=1)
    terms = (weights / weights.sum()).to_numpy()[:, np.newaxis] ** 2 * cells["var"] / sizes
    terms = terms.to_numpy()
    freedom = terms.sum() ** 2 / (terms**2 / (sizes.to_numpy() - 1)).sum()
    margin = t.ppf(1 - 0.025 / 4, freedom) * terms.sum() ** 0.5
    row = rows.loc["mean_target"]
    assert row["high"] - row["common_difference"] == pytest.approx(margin, rel=1e-6)
    (sentence,) = [one for one in report.findings if "strata the mean target" in one]
    assert f"by {row['mean_difference']:+.0f} on average" in sentence
    page = report.to_markdown()
    (constant,) = [one for one in report.findings if "strata the mean error" in one]
    assert "by +0 (no interval) if" in constant
    assert "| f against m | mean target | sex | 400 | 3 |" in page


def test_cells_of_a_single_sample_borrow_the_variance_of_their_group():
    sizes = np.array([[1.0, 5.0], [4.0, 6.0]])
    means = np.array([[10.0, 20.0], [11.0, 23.0]])
    errors = np.array([[np.nan, 2.0], [1.0, 3.0]])
    result = common_mean_difference(sizes, means, errors, 0.9)
    weights = np.array([4 / 5, 30 / 11])
    weights /= weights.sum()
    assert result.estimate == pytest.approx(-1.0 * weights[0] - 3.0 * weights[1])
    terms = [(20.0, 0, 4), (1.0, 0, 3), (4.0, 1, 4), (9.0, 1, 5)]  # variance, stratum, freedom
    parts = [weights[k] ** 2 * value for value, k, _ in terms]
    freedom = sum(parts) ** 2 / sum(a**2 / df for a, (_, _, df) in zip(parts, terms, strict=True))
    margin = t.ppf(0.95, freedom) * sum(parts) ** 0.5
    assert result.high - result.estimate == pytest.approx(margin)
    # Neither single samples alone nor equal values show a variance.
    ones = np.ones((2, 2))
    for errors, sizes in ((ones * np.nan, ones), (0.0 * ones, 3 * ones)):
        assert common_mean_difference(sizes, means, errors, 0.9)[1:] == (-np.inf, np.inf)


@pytest.mark.parametrize("largest", [8, 60])
def test_limits_of_a_common_difference_of_means_hold(largest):
    rng = np.random.default_rng(0)
    n_draws, n_errors = 300, 0
    for _ in range(n_draws):
        sizes = rng.integers(1, largest, (2, 6))
        scale = np.exp(rng.normal(0, 0.5, 6))
        values = [
            [scale[k] * rng.normal(size=n) + k + 0.4 * (g == 0) for k, n in enumerate(row)]
            for g, row in enumerate(sizes)
        ]
        means = np.array([[one.mean() for one in row] for row in values])
        errors = np.array(
            [
                [np.std(one, ddof=1) / len(one) ** 0.5 if len(one) > 1 else np.nan for one in row]
                for row in values
            ]
        )
        limits = common_mean_difference(sizes, means, errors, 0.95)
        n_errors += not limits.low <= 0.4 <= limits.high
    assert n_errors <= binom.ppf(0.99, n_draws, 0.05)
