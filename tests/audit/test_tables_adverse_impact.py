"""The four-fifths rule: four fifths, Fisher's exact test, standard deviations and shortfall."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import binom, fisher_exact, hypergeom

from skfair.audit._tables import adverse_impact
from tests.audit.doors import report_predictions


def table_of(groups, **settings):
    """Adverse impact by group, from pairs (selected, number) by group."""
    decisions = np.concatenate([np.arange(n) < selected for selected, n in groups.values()])
    names = np.repeat(list(groups), [n for _, n in groups.values()])
    report = report_predictions(None, decisions, sensitive_features=names, **settings)
    return report.adverse_impact().set_index("group")


def test_two_groups_by_hand():
    """Rates .4 and .6, ratio 2/3; 72 selections of 120 would be .6, 24 more than 48.

    Pooled rate 108/220, standard error sqrt(108/220 * 112/220 * (1/120 + 1/100)) = .067689, and
    -.2 / .067689 = -2.9547.
    """
    row = table_of({"f": (48, 120), "m": (60, 100)}).loc["f"]
    assert (row["n"], row["n_selected"], row["estimate"]) == (120, 48, 0.4)
    assert row["impact_ratio"] == pytest.approx(2 / 3)
    assert row["standard_deviations"] == pytest.approx(-2.9547, abs=5e-5)
    assert row["shortfall"] == 24


def test_fishers_exact_test_by_hand():
    """1 of 10 and 11 of 14: tables with 0, 1, 9 or 10 selections are as rare or rarer.

    Of C(24, 10) = 1961256 draws of 10, C(12, 0) C(12, 10) = 66 have none selected and
    C(12, 1) C(12, 9) = 2640 one; as many have 10 and 9. The p-value is 5412 / 1961256 = .0027595.
    A rate of 11/14 needs 7.86 selections of 10, so 8, which are 7 more than 1.
    """
    row = table_of({"f": (1, 10), "m": (11, 14)}).loc["f"]
    assert row["p_value"] == pytest.approx(5412 / 1961256)
    assert row["shortfall"] == 7


@pytest.mark.parametrize(
    "counts",
    [((0, 5), (3, 4)), ((5, 5), (1, 9)), ((30, 100), (45, 100)), ((900, 4000), (700, 2500))],
)
def test_fishers_exact_test_adds_up_all_tables_that_are_as_rare(counts):
    (selected, n), (others, m) = counts
    total = selected + others
    possible = np.arange(max(0, total - m), min(n, total) + 1)
    masses = hypergeom.pmf(possible, n + m, n, total)
    is_rare = masses <= masses[selected - possible[0]] * (1.0 + 1e-7)
    rows = table_of(dict(zip("ab", counts, strict=True)), min_share=0.0)
    assert rows["p_value"].min() == pytest.approx(masses[is_rare].sum())


def test_p_values_of_three_groups_are_adjusted_by_hand():
    """Holm over a-b, a-c and b-c: three, two and one times the sorted p-values, never falling."""
    counts = {"a": (30, 100), "b": (52, 100), "c": (38, 90)}
    table = table_of(counts)
    p_values = {}
    for first, second in ("ab", "ac", "bc"):
        (x, n), (y, m) = counts[first], counts[second]
        p_values[first + second] = fisher_exact([[x, n - x], [y, m - y]]).pvalue
    assert p_values["ab"] < p_values["ac"] < p_values["bc"]
    holm = 3 * p_values["ab"], 2 * p_values["ac"], p_values["bc"]
    assert holm[0] < holm[1] and holm[2] > holm[1]
    assert table["adjusted_p_value"].tolist() == pytest.approx([holm[0], 1.0, holm[2]])
    # A pair is never adjusted less than one that is rarer.
    table = table_of({"a": (10, 100), "b": (52, 100), "c": (11, 100), "x": (1, 1)})
    p_values = table["p_value"]
    assert table.loc["c", "adjusted_p_value"] == pytest.approx(
        max(3 * p_values["a"], 2 * p_values["c"])
    )
    assert np.isnan(table.loc["x", "adjusted_p_value"])


def test_many_groups_have_bonferronis_bound():
    counts = {f"{i:02d}": (3 + i % 5, 20) for i in range(16)} | {"z": (18, 20)}
    table = table_of(counts, min_share=0.0)
    expected = np.minimum(17 * 16 / 2 * table["p_value"], 1.0)
    np.testing.assert_allclose(table["adjusted_p_value"], expected)


@pytest.mark.slow
def test_equal_groups_rarely_have_a_small_adjusted_p_value():
    """Unadjusted, one of ten equal groups has p < .05 in half of all samples."""
    rng = np.random.default_rng(0)
    smallest = []
    for _ in range(60):
        selected = rng.binomial(60, 0.3, 10).tolist()
        frame = pd.DataFrame(
            {
                "attribute": "g",
                "stratum": "",
                "group": [*"abcdefghij"],
                "metric": "selection_rate",
                "n": 60.0,
                "estimate": np.array(selected) / 60,
                "impact_ratio": 1.0,
            }
        )
        smallest.append(adverse_impact(frame, 600, 0.02)[["p_value", "adjusted_p_value"]].min())
    below = (pd.DataFrame(smallest) < 0.05).sum()
    assert below["p_value"] > 15 and below["adjusted_p_value"] <= binom.ppf(0.999, 60, 0.05)


def test_exactly_four_fifths_is_not_below():
    report = report_predictions(
        None,
        [1] * 48 + [0] * 52 + [1] * 60 + [0] * 40,
        sensitive_features=list("f" * 100 + "m" * 100),
    )
    row = report.adverse_impact().set_index("group").loc["f"]
    assert row["impact_ratio"] == 0.8
    # -.12 / sqrt(.54 * .46 / 50) = -1.7025; 60 selections of 100 would be equal.
    p_value = f"{row['p_value']:.3g}"
    assert row["adjusted_p_value"] == row["p_value"]
    cells = f"| f | 100 | 48 | 0.800 | no | -1.70 | {p_value} | {p_value} | 12 |"
    assert cells in report.to_markdown()


def test_small_shares_are_left_out():
    """3 of 200 are less than 2 %, 4 of 200 are not; the rate of the small group is no reference."""
    groups = {"f": (40, 97), "m": (50, 100), "x": (3, 3)}
    table = table_of(groups)
    assert table["is_excluded"].to_dict() == {"f": False, "m": False, "x": True}
    assert np.isnan(table.loc["x", "impact_ratio"]) and table.loc["m", "impact_ratio"] == 1.0
    assert table_of(groups, min_share=0.0).loc["x", "impact_ratio"] == 1.0
    assert not table_of({"f": (40, 96), "m": (50, 100), "x": (3, 4)})["is_excluded"].any()


def test_no_selections_at_all():
    table = table_of({"f": (0, 50), "m": (0, 50)})
    assert table[["impact_ratio", "standard_deviations"]].isna().all(axis=None)
    assert table["p_value"].tolist() == [1.0, 1.0] and table["shortfall"].tolist() == [0, 0]


def test_counts_need_equal_weights_and_disjoint_groups():
    decisions = [0, 1] * 50
    groups = list("ab") * 50
    for settings in (
        {"sensitive_features": groups, "sample_weight": np.arange(1, 101)},
        {"sensitive_features": sparse.csr_array(np.ones((100, 2), dtype=bool))},
    ):
        report = report_predictions(None, decisions, **settings)
        with pytest.raises(
            ValueError, match="groups must not overlap or be modelled, and all samples"
        ):
            report.adverse_impact()
        assert "Standard deviations: difference of the rates" not in report.to_html()
    equal = report_predictions(
        None, decisions, sensitive_features=groups, sample_weight=np.full(100, 3.0)
    )
    assert equal.adverse_impact()["n"].tolist() == [50, 50]


def test_reports_without_such_rates_have_an_empty_table():
    report = report_predictions(
        None, [0, 1] * 50, sensitive_features=list("ab") * 50, task="clustering"
    )
    assert report.adverse_impact().empty
