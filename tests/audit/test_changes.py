"""Changes of rates and gaps between two models or two periods."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from skfair._groups.events import Events
from skfair._statistics.bounded_means import make_estimates
from skfair._statistics.estimates import (
    _MAX_CORRELATION,
    change_upper_limit,
    pairwise_contrasts,
)
from skfair._statistics.limits_of_rates import limit_difference, rate_limits
from skfair.audit import Audit
from skfair.metrics import Rate, demographic_parity_difference, equal_opportunity_difference
from tests.audit.doors import compare_models, compare_periods

RNG = np.random.default_rng(0)
N = 2000
SEX = RNG.choice(["f", "m"], N)
Y = RNG.integers(2, size=N)
UNIFORM = RNG.random(N)
OLD = (UNIFORM < np.where(SEX == "f", 0.3, 0.5)).astype(int)
NEW = (np.where(RNG.random(N) < 0.8, UNIFORM, RNG.random(N)) < 0.45).astype(int)


@pytest.fixture(scope="module")
def paired_report():
    return compare_models(Y, OLD, NEW, sensitive_features=SEX, names=("old", "new"))


def change_interval(before, after, groups, n_groups, is_paired, level=0.95):
    """Both limits of the change of a gap between rates."""
    codes = np.concatenate((groups, groups + n_groups))
    events = Events.disjoint(codes, 2 * n_groups, np.ones(len(codes)))
    units = np.tile(np.arange(len(groups)), 2) if is_paired else None
    estimates = make_estimates(events, np.concatenate((before, after)), units)
    pairs = pairwise_contrasts(n_groups).toarray()
    first = np.hstack((pairs, 0 * pairs))
    second = np.hstack((0 * pairs, pairs))
    first, second = (type(pairwise_contrasts(2))(one) for one in (first, second))
    end = (1 + level) / 2
    return -change_upper_limit(estimates, second, first, end), change_upper_limit(
        estimates, first, second, end
    )


def test_a_comparison_shows_what_is_compared():
    audit = Audit.from_predictions(None, [1, 0] * 60, sensitive_features=["a", "b"] * 60)
    changes = audit.compare([0, 1] * 60)
    assert repr(changes) == "<Changes from before to after: gaps compared: 1>"


def test_values_and_gaps_are_those_of_the_metrics(paired_report):
    gaps = paired_report.gaps.set_index("metric")
    for name, metric in {
        "selection_rate": demographic_parity_difference,
        "true_positive_rate": equal_opportunity_difference,
    }.items():
        expected = [metric(Y, one, sensitive_features=SEX) for one in (OLD, NEW)]
        assert gaps.loc[name, ["before", "after"]].tolist() == pytest.approx(expected)
        assert gaps.loc[name, "change"] == pytest.approx(expected[1] - expected[0])
    row = paired_report.frame.set_index(["metric", "group"]).loc[("selection_rate", "f")]
    assert row["before"] == OLD[SEX == "f"].mean() and row["n_after"] == (SEX == "f").sum()
    limits = np.array(rate_limits(row["after"], row["n_after"], 0.975))
    assert row[["after_low", "after_high"]].tolist() == pytest.approx(limits)


def test_the_change_of_a_group_has_newcombes_paired_limits(paired_report):
    """Limits of a difference of paired proportions, by hand, with the phi coefficient."""
    row = paired_report.frame.set_index(["metric", "group"]).loc[("selection_rate", "f")]
    old = OLD[SEX == "f"]
    new = NEW[SEX == "f"]
    phi = np.corrcoef(old, new)[0, 1]
    (low_old, high_old), (low_new, high_new) = (
        rate_limits(one.mean(), len(one), 0.975) for one in (old, new)
    )
    change = new.mean() - old.mean()
    down = new.mean() - low_new
    up = high_old - old.mean()
    low = change - np.sqrt(down**2 - 2 * phi * down * up + up**2)
    up = high_new - new.mean()
    down = old.mean() - low_old
    high = change + np.sqrt(up**2 - 2 * phi * up * down + down**2)
    assert row[["change_low", "change_high"]].tolist() == pytest.approx([low, high])


def test_different_samples_have_exact_limits_of_independent_rates():
    halves = [{"y_pred": one, "sensitive_features": SEX} for one in (OLD, NEW)]
    with pytest.warns(UserWarning, match="look like the same samples"):
        report = compare_periods(*halves)
    row = report.frame.set_index("group").loc["m"]
    old = OLD[SEX == "m"]
    new = NEW[SEX == "m"]
    hits, n = (old.sum(), new.sum()), (len(old), len(new))
    low = -limit_difference(tuple(map(int, hits)), n, 0.975)
    assert row["change_low"] == pytest.approx(low)
    assert report.moves is None and not report.is_paired
    # The same samples have a shorter interval, because both models mostly agree.
    paired = compare_models(None, OLD, NEW, sensitive_features=SEX)
    widths = [np.ptp(one.gaps[["change_low", "change_high"]]) for one in (paired, report)]
    assert widths[0] < 0.8 * widths[1]


def test_exchanged_periods_have_the_negative_change():
    order = np.random.default_rng(3).permutation(len(SEX))
    periods = [
        {"y_pred": OLD, "sensitive_features": SEX},
        {"y_pred": NEW[order], "sensitive_features": SEX[order]},
    ]
    forward, back = (compare_periods(*one).gaps.iloc[0] for one in (periods, periods[::-1]))
    assert forward["change_low"] == pytest.approx(-back["change_high"])
    assert forward["change_high"] == pytest.approx(-back["change_low"])


def test_moves_count_the_decisions_that_changed(paired_report):
    moves = paired_report.moves.set_index("group")
    for group in ("f", "m"):
        inside = SEX == group
        assert moves.loc[group, "n_gained"] == ((NEW == 1) & (OLD == 0) & inside).sum()
        assert moves.loc[group, "n_lost"] == ((NEW == 0) & (OLD == 1) & inside).sum()
        assert moves.loc[group, "n"] == inside.sum()


@pytest.mark.slow
@pytest.mark.parametrize("is_paired", [False, True])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([0.3, 0.4], [0.4, 0.3]),
        pytest.param([0.3, 0.3], [0.3, 0.3], marks=pytest.mark.slow),
        pytest.param([0.05, 0.1], [0.02, 0.1], marks=pytest.mark.slow),
        pytest.param([0.2, 0.3, 0.4], [0.3, 0.3, 0.5], marks=pytest.mark.slow),
    ],
)
def test_intervals_of_changes_hold(first, second, is_paired):
    rng = np.random.default_rng(0)
    k = len(first)
    n = 400
    n_held = 0
    groups = np.arange(n) % k
    truth = np.ptp(second) - np.ptp(first)
    for _ in range(100):
        uniform = rng.random(n)
        keeps = rng.random(n) < (0.8 if is_paired else 0.0)
        again = np.where(keeps, uniform, rng.random(n))
        before = uniform < np.array(first)[groups]
        after = again < np.array(second)[groups]
        low, high = change_interval(before, after, groups, k, is_paired)
        n_held += low <= truth <= high
    # Intervals that hold in .8 of samples would pass with a probability of .05.
    assert n_held >= stats.binom.ppf(0.001, 100, 0.95)


def _select(counts, n):
    """Decisions of groups of n samples each, of which so many are positive."""
    return np.concatenate([np.arange(n) < count for count in counts])


@pytest.mark.parametrize("after", [(110, 95), (95, 110)])
def test_a_fall_of_the_gap_of_two_groups_has_the_whole_error(after):
    """Newcombe's limits by hand: both D_2 - D_1 and -D_2 - D_1 are below the limit."""
    n, end, before = 250, 0.95, (150, 75)
    groups = np.repeat([0, 1], n)
    _, high = change_interval(
        _select(before, n), _select(after, n), groups, 2, is_paired=False, level=0.9
    )
    rates = np.array([*before, *after]) / n
    low_rates, high_rates = rate_limits(rates, n, end)
    uppers = []
    for signs in ([-1, 1, 1, -1], [-1, 1, -1, 1]):
        reach = np.where(np.array(signs) > 0, high_rates - rates, rates - low_rates)
        uppers.append(signs @ rates + np.sqrt((reach**2).sum()))
    assert high == pytest.approx(max(uppers)) and high < 0.0


def test_a_fall_to_a_known_gap_divides_the_error():
    """The later gap is 0: both forms are -D_1, so that either sign may be wrong by chance."""
    n = 600
    groups = np.repeat([0, 1], n)
    rejected = np.zeros(2 * n)
    highs = [
        change_interval(_select((330, count), n), rejected, groups, 2, is_paired=False, level=0.9)[
            1
        ]
        for count in (299, 260)
    ]
    # The one-sided p-values are .036 and .00002.
    assert highs[0] >= 0.0 > highs[1]


@pytest.mark.parametrize("error", [0.05, 0.025, 0.01])
def test_limits_of_both_signs_err_together_no_more_than_one(error):
    """The largest error at the boundary, where one form is 0 and the other is anything."""
    z = stats.norm.isf(error)
    for correlation in (-0.5, 0.0, 0.3, _MAX_CORRELATION):
        both = stats.multivariate_normal(cov=[[1.0, correlation], [correlation, 1.0]])
        other = np.linspace(0.0, 6.0, 25)
        # Both forms are far above 0, or both are far below.
        either = both.cdf(np.column_stack([np.full(25, -z), other - z]))
        either = either + both.cdf(np.column_stack([np.full(25, -z), -other - z]))
        assert either.max() <= error + 1e-5


def test_a_large_change_is_shown_and_none_is_not(paired_report):
    gap = paired_report.gaps.set_index("metric").loc["selection_rate"]
    assert gap["change_high"] < 0.0
    assert "it is smaller in the population" in paired_report.findings[2]
    same = compare_models(Y, OLD, OLD, sensitive_features=SEX)
    assert same.gaps["change"].eq(0.0).all() and "may be chance" in same.findings[2]
    assert "0 of 2,000 decisions differ" in same.findings[1]


@pytest.mark.slow
@pytest.mark.parametrize(("later", "is_shown"), [(410, False), (700, True)])
def test_a_gap_of_three_groups_is_shown_where_another_pair_attained_the_earlier_one(
    later, is_shown
):
    groups = np.repeat(["a", "b", "c"], 1000)

    def audit(*selected):
        decisions = np.concatenate([np.arange(1000) < n for n in selected]).astype(int)
        return Audit.from_predictions(None, decisions, sensitive_features=groups)

    report = audit(401, 400, 399).compare(audit(401, 400, later))
    (gap,) = report.gaps.to_dict("records")
    assert gap["before"] == pytest.approx(0.002)
    assert gap["change"] == pytest.approx((later - 400) / 1000 - 0.002)
    assert gap["change_low"] <= gap["change"] <= gap["change_high"]
    assert report.has_finding == is_shown and (gap["change_low"] > 0.1) == is_shown


def test_numbers_and_several_attributes_can_be_compared():
    target = UNIFORM + RNG.normal(size=N)
    groups = pd.DataFrame({"sex": SEX, "age": RNG.choice(["old", "young"], N)})
    report = compare_models(
        target, UNIFORM, UNIFORM + 0.1 * (SEX == "f"), sensitive_features=groups
    )
    gap = report.gaps.set_index(["metric", "attribute"]).loc[("mean_prediction", "sex")]
    means = [UNIFORM[SEX == one].mean() for one in ("f", "m")]
    assert gap["before"] == pytest.approx(abs(means[0] - means[1]))
    assert gap["after"] == pytest.approx(abs(means[0] + 0.1 - means[1]))
    assert report.moves is None and set(report.frame["attribute"]) == {"sex", "age", "sex × age"}


def test_a_group_of_one_period_alone_is_not_compared():
    only_new = np.where(np.arange(N) < 100, "x", SEX)
    report = compare_periods(
        {"y_pred": OLD, "sensitive_features": SEX}, {"y_pred": NEW, "sensitive_features": only_new}
    )
    assert set(report.frame["group"]) == {"f", "m"}


def test_errors_name_what_differs():
    frame = pd.DataFrame({"sex": SEX})
    with pytest.raises(ValueError, match="must have the same sensitive features"):
        compare_periods(
            {"y_pred": OLD, "sensitive_features": frame},
            {"y_pred": NEW, "sensitive_features": frame.rename(columns={"sex": "gender"})},
        )
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        compare_models(Y, OLD, NEW[1:], sensitive_features=SEX)


@pytest.mark.slow
def test_formats_have_both_periods(paired_report, tmp_path):
    content = json.loads(paired_report.to_json(tmp_path / "change.json"))
    assert content["names"] == ["old", "new"] and content["findings"] == paired_report.findings
    assert content["gaps"]["change"] == paired_report.gaps["change"].tolist()
    for text in (paired_report.to_html(), paired_report.to_markdown(), paired_report._repr_html_()):
        assert "Changed decisions by group" in text and "old" in text and "new" in text
    assert str(paired_report).splitlines()[0] == "Change report"


def test_changes_of_a_cost_allow_for_outcomes_that_no_sample_has():
    cost = Rate("cost", {"fp": 1, "fn": 20})
    n = 400
    rng = np.random.default_rng(0)
    truth = rng.random(n) < 0.3
    groups = np.tile(["a", "b"], n // 2)
    before, after = (np.where(truth, 1, rng.random(n) < 0.1) for _ in range(2))
    report = compare_models(truth, before, after, sensitive_features=groups, metrics=[cost])
    rows = report.frame.set_index("metric").loc["cost"]
    # An error that none of 200 samples shows may have a share of 3 / 200, each of which costs 20.
    assert (rows["change_high"] > 20 * 3 / 200).all()
    assert report.gaps.set_index("metric").loc["cost", "change_high"] > 20 * 3 / 200
    np.testing.assert_allclose(rows["change"], rows["after"] - rows["before"])


def test_further_metrics_of_changes_are_rates():
    y = np.tile([0, 1], 50)
    groups = np.repeat([0, 1], 50)
    with pytest.raises(ValueError, match=r"metrics of a change must be rates, but roc_auc"):
        compare_models(y, y, y, sensitive_features=groups, metrics=["roc_auc", "recall"])


def test_groups_of_one_period_and_unknown_ones_are_named():
    rng = np.random.default_rng(2)
    first = rng.choice([*"fmx"], 900)
    second = rng.choice(["f", "m", "y", None], 1200)
    periods = [
        {"y_pred": rng.integers(2, size=len(one)), "sensitive_features": one, "missing": "exclude"}
        for one in (first, second)
    ]
    report = compare_periods(*periods)
    sizes = {
        name: [int((first == label).sum()), int((second == label).sum())]
        for name, label in (("x", "x"), ("y", "y"))
    }
    (uncompared,) = report.uncompared.values()
    assert {name: uncompared[name] for name in sizes} == sizes
    assert int(pd.isna(second).sum()) in [n for _, n in uncompared.values()]
    for name, (m, n) in sizes.items():
        assert f"{name!r} ({m} and {n})" in str(report)


@pytest.mark.slow
def test_changes_of_many_gaps_are_judged_by_holms_procedure():
    """Two periods of one population: status and sentences agree, and errors are rare."""
    n_reports, n_claims = 30, 0
    for seed in range(n_reports):
        rng = np.random.default_rng(seed)
        groups = pd.DataFrame(rng.choice([*"ab"], (600, 3)), columns=["u", "v", "w"])
        decisions = rng.integers(2, size=600)
        halves = [slice(0, 300), slice(300, 600)]
        report = compare_periods(
            *({"y_pred": decisions[one], "sensitive_features": groups[one]} for one in halves)
        )
        shown = report.gaps["is_significant"]
        assert ("it is larger in" in str(report)) == report.has_finding
        excludes = (report.gaps["change_low"] > 0) | (report.gaps["change_high"] < 0)
        assert (excludes | ~shown).all()
        n_claims += shown.any()
    # .05 of the reports, and two standard errors.
    assert n_claims <= 0.05 * n_reports + 2 * np.sqrt(n_reports * 0.05 * 0.95)


def test_ids_pair_the_samples_of_two_audits():
    """In another order, without some, as two models on the samples that are in both."""
    rng = np.random.default_rng(3)
    ids = [f"p{i}" for i in range(len(SEX))]
    order = rng.permutation(len(SEX))[: len(SEX) - 100]
    before, after = (
        Audit.from_predictions(None, one[rows], sensitive_features=SEX[rows])
        for one, rows in ((OLD, np.arange(len(SEX))), (NEW, order))
    )
    report = before.compare(after, ids=(ids, np.array(ids)[order]))
    assert report.is_paired and report.n_shared == [len(order), 100, 0]
    gained = ((NEW > OLD) & np.isin(np.arange(len(SEX)), order)).sum()
    assert report.moves["n_gained"].sum() == gained
    apart = before.compare(after)
    assert not apart.is_paired and apart.frame["change"].tolist() == report.frame["change"].tolist()
    with pytest.raises(ValueError, match="ids must name samples of both audits, but none"):
        before.compare(after, ids=([None] * len(SEX), [None] * len(order)))
    with pytest.raises(ValueError, match="ids must hold a name for each row of two audits"):
        before.compare(after, ids=(ids, ids))
    with pytest.raises(ValueError, match="ids must hold a name for each row of two audits"):
        before.compare(NEW, ids=(ids, ids))


def test_one_gap_is_judged_by_its_limits():
    report = compare_models(Y, OLD, NEW, sensitive_features=SEX)
    row = report.gaps[report.gaps["metric"] == "selection_rate"].iloc[0]
    strict = compare_models(None, OLD, NEW, sensitive_features=SEX).gaps.iloc[0]
    assert strict["is_significant"] == (strict["change_low"] > 0 or strict["change_high"] < 0)
    assert not row["is_significant"] or row["change_low"] > 0 or row["change_high"] < 0


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_groups_of_clusters_that_lose_all_decisions_are_described_by_themselves(name):
    groups, y = np.repeat([*"abc"], 40), np.tile([1, 0], 60)
    before = np.tile([1, 1, 0, 0], 30)
    after = np.where(groups == name, 0, before)
    audit = Audit.from_predictions(y, before, sensitive_features=groups, groups=np.arange(120) // 2)
    others = audit.compare(after).others.set_index(["group", "metric"])
    row = others.loc[(name, "positive_predictive_value")]
    assert (row["n_before"], row["before"], row["n_after"]) == (20, 0.5, 0)
    assert row[["after", "change", "change_low", "change_high"]].isna().all()
