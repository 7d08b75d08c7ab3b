"""Windows of the last batches: limits by hand, alarms, lapses and errors."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from scipy.stats import beta, binom

from skfair._columns.reading import UNREAD
from skfair._commands.monitor_page import describe_state, monitor_findings, render_monitor
from skfair._statistics.limits_of_rates import rate_limits
from skfair.constraints import DemographicParity, MaximumRate, RateParity
from skfair.metrics import Rate
from skfair.monitoring import GapMonitor
from skfair.monitoring._monitor import list_decision_times
from skfair.monitoring._recent import Decisions, find_alarm_error, judge_windows
from skfair.monitoring._settings import check_settings

RUN_LENGTH = 100


def feed(monitor, counts, time=None):
    """Read a batch of these numbers of samples and of selected samples, by group."""
    groups = np.repeat(list(counts), [n for n, _ in counts.values()])
    decisions = np.concatenate([np.arange(n) < hits for n, hits in counts.values()]).astype(int)
    return monitor.update(None, decisions, sensitive_features=groups, time=time)


def limits(hits, n, error):
    """Clopper and Pearson's limits, or Wilson's where they are wider."""
    z = -np.sqrt(2) * erfcinv(2 - 2 * error)
    p = hits / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    width = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    exact = beta.ppf(error, hits, n - hits + 1), beta.ppf(1 - error, hits + 1, n - hits)
    return min(exact[0], centre - abs(width)), max(exact[1], centre + abs(width))


def erfcinv(value):
    from scipy.special import erfcinv as inverse

    return inverse(value)


def test_limits_of_a_window_are_those_of_its_pooled_counts():
    monitor = GapMonitor(DemographicParity(), 0.1, run_length=RUN_LENGTH, windows=[2])
    feed(monitor, {"a": (500, 400), "b": (500, 100)}, 1)
    feed(monitor, {"a": (300, 150), "b": (200, 40)}, 2)
    feed(monitor, {"a": (200, 80), "b": (300, 60)}, 3)
    window = monitor.windows_.iloc[0]
    # 230 of 500 and 100 of 500; one ordered pair at most is on the edge of the tolerance.
    assert window["gap"] == pytest.approx(0.26) and window["start"] == 2
    assert window["extremes"] == [("b", 0.2, 500), ("a", 0.46, 500)]
    error = find_alarm_error(RUN_LENGTH, (2,))
    low, high = limits(230, 500, error), limits(100, 500, error)
    assert window["low"] == pytest.approx(0.26 - np.hypot(0.46 - low[0], high[1] - 0.2))
    low, high = limits(230, 500, 1 / 200), limits(100, 500, 1 / 200)
    assert window["high"] == pytest.approx(0.26 + np.hypot(low[1] - 0.46, 0.2 - high[0]))
    # Each of the first batches alone raised an alarm; after it windows begin again.
    assert window["verdict"] == "contradicted" and monitor.alarms_["batch"].tolist() == [1, 2]


def test_limits_of_a_largest_rate():
    constraint = MaximumRate("selection_rate", 0.3)
    monitor = GapMonitor(constraint, 0.3, run_length=RUN_LENGTH, windows=[1])
    feed(monitor, {"a": (500, 230), "b": (500, 100)})
    window = monitor.windows_.iloc[0]
    assert window["gap"] == pytest.approx(0.46) and window["extremes"] == [("a", 0.46, 500)]
    assert window["low"] == pytest.approx(
        limits(230, 500, find_alarm_error(RUN_LENGTH, (1,)) / 2)[0]
    )
    assert window["high"] == pytest.approx(limits(230, 500, 1 / 200)[1])


def test_groups_that_are_small_in_a_window_are_left_out_of_it():
    monitor = GapMonitor("demographic_parity", 0.1, run_length=RUN_LENGTH, windows=[1, 2])
    feed(monitor, {"a": (5000, 2000), "b": (5000, 2000), "c": (100, 100)}, 1)
    feed(monitor, {"a": (5000, 2000), "b": (5000, 2000), "c": (2, 2)}, 2)
    one, two = (window for _, window in monitor.windows_.iterrows())
    assert one["gap"] == pytest.approx(0.0) and two["gap"] == pytest.approx(0.6)


def test_weights_that_differ_are_not_judged_and_equal_ones_are():
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b"], 200)
    decisions = rng.integers(2, size=200)
    for weights, n_windows in ((np.ones(200), 1), (rng.uniform(0.5, 1.0, 200), 0)):
        monitor = GapMonitor("demographic_parity", 0.5, run_length=RUN_LENGTH, windows=(1,))
        monitor.update(None, decisions, sensitive_features=groups, sample_weight=weights)
        assert len(monitor.windows_) == n_windows


@pytest.mark.parametrize(
    "params", [{"run_length": None}, {"run_length": RUN_LENGTH, "windows": ()}]
)
def test_without_run_length_or_lengths_there_are_no_windows(params):
    monitor = GapMonitor("demographic_parity", 0.1, **params)
    feed(monitor, {"a": (500, 400), "b": (500, 100)})
    assert not len(monitor.windows_)


@pytest.mark.parametrize("windows", [(0,), (1.5,), 3, (True,), "a"])
def test_windows_are_positive_integers(windows):
    monitor = GapMonitor("demographic_parity", 0.1, windows=windows)
    with pytest.raises(ValueError, match="windows must be numbers of batches"):
        feed(monitor, {"a": (5, 4), "b": (5, 1)})


def test_a_window_raises_one_alarm_about_the_same_batches():
    monitor = GapMonitor("demographic_parity", 0.1, run_length=RUN_LENGTH, windows=(3,))
    for month in range(8):
        feed(monitor, {"a": (60, 30), "b": (60, 12 if month > 2 else 28)}, month)
    alarms = monitor.alarms_["batch"].tolist()
    assert alarms and np.diff(alarms).min(initial=3) >= 3


def read_streams(rates, per_month, n_streams):
    """Monitors of streams of two groups, after each month."""
    for seed in range(n_streams):
        rng = np.random.default_rng(seed)
        monitor = GapMonitor("demographic_parity", 0.1, run_length=RUN_LENGTH)
        for month, (first, second) in enumerate(rates):
            n = rng.binomial(per_month, 0.5)
            hits = rng.binomial([n, per_month - n], [first, second])
            yield feed(monitor, {"a": (n, hits[0]), "b": (per_month - n, hits[1])}, month)


@pytest.mark.slow
def test_a_gap_that_appears_is_found_and_certificates_lapse():
    rates = [(0.35 if month < 12 else 0.15, 0.37) for month in range(24)]
    verdicts = np.array([one.verdict_ for one in read_streams(rates, 165, 30)]).reshape(30, 24)
    assert not (verdicts[:, :12] == "contradicted").any()
    has_alarm = np.maximum.accumulate(verdicts[:, 12:] == "contradicted", axis=1)
    shares = has_alarm.mean(axis=0)[[2, 5, 11]]
    assert shares[0] > 0.4 and shares[1] > 0.85 and shares[2] > 0.96
    assert np.mean(verdicts[:, 17] == "shown") <= 0.02


@pytest.mark.slow
@pytest.mark.parametrize("rates", [(0.27, 0.37), (0.02, 0.12)])
def test_on_the_edge_false_statements_are_rare(rates):
    n_streams, n_months = 17, 60
    pages, n_alarms = [], []
    for monitor in read_streams([rates] * n_months, 165, n_streams):
        pages.append(set(monitor.windows_["verdict"]))
        n_alarms.append(len(monitor.alarms_))
    assert len(pages) == n_streams * n_months
    # A Poisson number of mean 10.2 at most exceeds 18 with probability .01.
    assert sum(n_alarms[n_months - 1 :: n_months]) <= 18
    assert np.mean(["shown" in one for one in pages]) <= 0.01


@pytest.mark.parametrize("windows", [(1,), (12,), (3, 6, 12)])
def test_windows_of_normal_streams_err_once_in_a_run_length(windows):
    """Streams on the edge: a quarter of the false alarms is left to the detector."""
    z = -ndtri(find_alarm_error(RUN_LENGTH, windows))
    steps = np.random.default_rng(1).normal(size=(500, 8 * RUN_LENGTH))
    sums = np.pad(np.cumsum(steps, axis=1), ((0, 0), (1, 0)))
    is_alarm = np.zeros(steps.shape, bool)
    for n in windows:
        is_alarm[:, n - 1 :] |= sums[:, n:] - sums[:, :-n] > z * np.sqrt(n)
    first = np.where(is_alarm.any(axis=1), is_alarm.argmax(axis=1) + 1, is_alarm.shape[1])
    assert first.mean() == pytest.approx(RUN_LENGTH / 0.75, rel=0.15)


def mean_run_length(shares, run_length, n_streams, windows=(3, 6, 12), n_batches=120):
    """Batches until a window of streams at the edge is above, by shares of outcomes by delay."""
    rng = np.random.default_rng(0)
    sizes = np.round(160 * np.array(shares)).astype(int)
    drawn = [rng.binomial(sizes, rate, (n_streams, n_batches, len(sizes))) for rate in (0.27, 0.37)]
    known = np.cumsum(drawn, axis=-1)
    level = 1.0 - find_alarm_error(run_length, windows)
    first = np.full(n_streams, n_batches)
    is_over = np.zeros(n_streams, dtype=bool)
    for now in range(max(windows), n_batches):
        for length in windows:
            # Outcomes that have come of each of the last batches.
            batches = np.arange(now - length + 1, now + 1)
            delays = np.minimum(now - batches, len(sizes) - 1)
            n = float(np.cumsum(sizes)[delays].sum())
            rates = known[:, :, batches, delays].sum(axis=-1) / n
            low, high = (one.reshape(rates.shape) for one in rate_limits(rates.ravel(), n, level))
            gap = rates[1] - rates[0] - np.hypot(rates[1] - low[1], high[0] - rates[0])
            first[(gap > 0.1) & ~is_over] = now + 1
            is_over |= gap > 0.1
    return first.sum() / is_over.sum()


@pytest.mark.slow
@pytest.mark.parametrize("run_length, n_streams", [(20.0, 500), (50.0, 3000)])
def test_late_outcomes_make_windows_err_up_to_half_more_often(run_length, n_streams):
    at_once = mean_run_length([1.0], run_length, n_streams)
    for shares in ([0.25] * 4, [0.5, *[0.1] * 5], [1 / 12] * 12):
        assert at_once / 1.5 < mean_run_length(shares, run_length, n_streams) < at_once


def test_errors_of_windows_are_not_below_the_union_bound_and_at_most_a_twentieth():
    assert find_alarm_error(1e9, (1, 3)) == pytest.approx(0.75 / 1e9 / 2, rel=1e-6)
    assert find_alarm_error(1.5, (1, 3)) == 0.05


# Decisions that come late, and the delay of alarms.


def late_monitor():
    """Three batches of equal rates, of which the second one comes late."""
    monitor = GapMonitor("demographic_parity", 0.1, run_length=RUN_LENGTH, windows=(3,))
    for time in (1, 3, 4):
        feed(monitor, {"a": (500, 200), "b": (500, 200)}, time)
    return monitor


def test_late_decisions_count_in_windows_and_in_no_evidence():
    plain, monitor = late_monitor(), late_monitor()
    labels = np.repeat(["a", "b"], 500)
    decisions = np.repeat([1, 0, 1, 0], [100, 400, 400, 100])
    monitor.update_late(None, decisions, sensitive_features=labels, time=2)
    # By hand: 200 + 200 + 200 + 100 of 2,000 and 200 + 200 + 200 + 400 of 2,000.
    window = monitor.windows_.iloc[0]
    assert window["gap"] == pytest.approx(0.15) and plain.windows_.iloc[0]["gap"] == 0.0
    assert [n for *_, n in window["extremes"]] == [2000, 2000]
    names = ["evidence_for", "evidence_against", "change_evidence"]
    pd.testing.assert_frame_equal(monitor.summary()[names], plain.summary()[names])
    assert monitor.interval() == plain.interval() and not len(monitor.alarms_)
    assert 2 in list_decision_times(monitor) and monitor.to_frame()["time"].tolist().count(2) == 2
    # It is stored, and later batches go on from it.
    resumed = GapMonitor.from_json(monitor.to_json())
    pd.testing.assert_frame_equal(resumed.windows_, monitor.windows_)
    feed(resumed, {"a": (500, 200), "b": (500, 200)}, 5)
    assert resumed.windows_.iloc[0]["gap"] == pytest.approx(0.15)


def test_a_certificate_lapses_by_late_decisions():
    monitor = late_monitor()
    for time in range(5, 20):
        feed(monitor, {"a": (500, 200), "b": (500, 200)}, time)
    assert monitor.verdict_ == "shown"
    labels = np.repeat(["a", "b"], 2000)
    decisions = np.repeat([0, 1], 2000)
    monitor.update_late(None, decisions, sensitive_features=labels, time=18)
    assert monitor.verdict_ == monitor.windows_.iloc[0]["verdict"] == "contradicted"
    assert monitor.summary()["state"].iloc[-1] == "window contradicted"
    assert not len(monitor.alarms_)


def test_late_decisions_are_early_and_complete():
    monitor = late_monitor()
    for wrong in ({"time": 5}, {"time": 2, "ids": [1]}):
        with pytest.raises(ValueError, match="must be of a time before the last batch"):
            monitor.update_late(None, [1], sensitive_features=["a"], **wrong)


@pytest.mark.parametrize(("n", "expected"), [(100, 6), (165, 4), (500, 2)])
def test_the_delay_is_the_median_of_simulated_streams(n, expected):
    """Of a gap of .2 at a tolerance of .1, where the rate of the other group is .37, about."""
    monitor = GapMonitor("demographic_parity", 0.1, run_length=RUN_LENGTH)
    for time in range(12):
        half = n // 2
        feed(monitor, {"a": (half, round(0.37 * half)), "b": (half, round(0.37 * half))}, time)
    assert abs(monitor.batches_to_alarm_ - expected) <= 2


def test_a_small_volume_never_shows_twice_the_tolerance():
    monitor = GapMonitor("demographic_parity", 0.02, run_length=RUN_LENGTH)
    feed(monitor, {"a": (50, 20), "b": (50, 20)})
    assert monitor.batches_to_alarm_ is None
    without = GapMonitor("demographic_parity", 0.1, run_length=None)
    feed(without, {"a": (5000, 2000), "b": (5000, 2000)})
    assert without.batches_to_alarm_ is None


def test_means_that_are_no_shares_have_their_own_unit():
    """A gap of losses of .2 is no gap of 20 percentage points."""
    rng = np.random.default_rng(0)
    monitor = GapMonitor("loss_parity", 0.5, value_range=(0.0, 20.0))
    labels = rng.choice(["a", "b"], 600)
    y = rng.integers(2, size=600)
    monitor.update(y, rng.normal(size=600), sensitive_features=labels, time="2026-01-01")
    page = render_monitor(monitor, "Losses", "month", {}, UNREAD, None)
    text = " ".join(monitor_findings(monitor, "month", None))
    assert "percentage points" not in page + text
    assert "differ by at most 0.5 units of the mean loss" in page
    assert "the tolerance is 0.5 units of the mean loss" in text
    cost = GapMonitor(RateParity(Rate("cost", {"fp": 1, "fn": 5})), 0.5)
    cost.update(y, rng.integers(2, size=600), sensitive_features=labels, time="2026-01-01")
    assert "0.5 units of cost per sample" in " ".join(monitor_findings(cost, "month", None))


def test_a_gap_in_every_month_is_not_hidden_by_numbers_that_follow_the_season():
    """In both months the gap is .2; pooled, the rates of both groups are about equal."""
    monitor = GapMonitor(DemographicParity(), 0.1, run_length=RUN_LENGTH, windows=[2])
    for time, counts in enumerate(
        (
            {"a": (20_000, 12_000), "b": (80_000, 32_000)},
            {"a": (80_000, 32_000), "b": (20_000, 4_000)},
        )
    ):
        feed(monitor, counts, time)
    window = monitor.windows_.iloc[0]
    assert window["gap"] == pytest.approx(0.08) and window["high"] < 0.1
    assert window["verdict"] == "open"


def test_batches_of_equal_numbers_are_judged_as_pooled():
    monitor = GapMonitor(DemographicParity(), 0.1, run_length=RUN_LENGTH, windows=[2])
    for time, hits in enumerate((12_000, 8_000)):
        feed(monitor, {"a": (20_000, hits), "b": (40_000, 2 * hits)}, time)
    assert monitor.windows_.iloc[0]["verdict"] == "shown"


def feed_months(rates, n, tolerance=0.1):
    """A monitor of months with the rates of groups, of n samples of each; nan is no sample."""
    rng = np.random.default_rng(0)
    monitor = GapMonitor("demographic_parity", tolerance, run_length=100)
    for month, row in enumerate(rates):
        present = {name: rate for name, rate in row.items() if not np.isnan(rate)}
        groups = np.repeat([*present], n)
        decisions = rng.random(len(groups)) < np.repeat([*present.values()], n)
        monitor.update(None, decisions.astype(int), sensitive_features=groups, time=month)
    return monitor


def test_an_excess_begins_with_a_month_whose_own_gap_exceeds_the_tolerance():
    """A month has several bets: the best start may be the last bet of the month before."""
    for change in range(3, 7):
        rates = [{"a": 0.5, "b": 0.5 - 0.25 * (month >= change)} for month in range(change + 2)]
        monitor = feed_months(rates, 400)
        summary = monitor.summary().set_index("time")
        since = monitor.alarms_["since"].iloc[0]
        assert since == change
        assert summary.loc[since, "batch_gap"] > 0.1


def test_a_group_that_is_gone_does_not_say_when_an_alarm_comes():
    months = 12
    gone = feed_months(
        [{"a": 0.4, "b": 0.4, "z": 0.4 if t < 6 else np.nan} for t in range(months)], 300
    )
    two = feed_months([{"a": 0.4, "b": 0.4} for _ in range(months)], 300)
    half = feed_months([{"a": 0.4, "b": 0.4, "z": 0.4} for _ in range(months)], 300)
    assert gone.batches_to_alarm_ in {two.batches_to_alarm_, half.batches_to_alarm_}


def test_a_window_with_rare_outcomes_is_shown_by_exact_limits():
    """Newcombe's limit is .1999, but at rates of .998 and .798 it errs 8 times as often as said."""
    monitor = GapMonitor("demographic_parity", 0.2, windows=(1,))
    feed(monitor, {"a": (30, 29), "b": (5000, 4026)})
    window = monitor.windows_.iloc[0]
    assert window["high"] < 0.2 and window["verdict"] == "open"
    feed(monitor, {"a": (30, 29), "b": (5000, 4126)})
    assert monitor.windows_["verdict"].iloc[0] == "shown"


def read_months(*rates, n=450, **params):
    """A monitor of the tolerance .1 that has read months of groups a, b with these rates of b."""
    monitor = GapMonitor("demographic_parity", 0.1, **params)
    for month, rate in enumerate(rates, start=1):
        time = f"{2025 + (month - 1) // 12}-{(month - 1) % 12 + 1:02d}-01"
        feed(monitor, {"a": (n, round(0.45 * n)), "b": (n, round(rate * n))}, time)
    return monitor


@pytest.mark.parametrize(
    ("rates", "n", "start"),
    [
        ([0.45] * 12, 4500, "Shown in the last month and on average over the last 3, 6 and 12 mon"),
        (
            [0.43] * 6,
            450,
            "Shown on average over the last 3 and 6 months, but not in the last month",
        ),
        (
            [0.42] * 3,
            150,
            "Not shown in the last month and in the last 3 months: selection ",
        ),
        (
            [0.45] * 11 + [0.3],
            450,
            "Not shown in the last month, which has a gap of 14.9 percentage",
        ),
        ([0.45] * 9 + [0.2], 450, "Contradicted since 2025-10-01: the gap exceeds the tolerance, "),
        ([0.45] * 9 + [0.2, 0.36], 450, "Contradicted since 2025-10-01, not shown since: the gap "),
        ([0.45], 20, "Not shown yet on average since the start, nor contradicted; the last month"),
    ],
)
def test_the_first_sentence_is_never_about_an_old_window_that_is_still_shown(rates, n, start):
    monitor = read_months(*rates, n=n)
    assert describe_state(monitor, "month", None).startswith(start)
    assert next(monitor_findings(monitor, "month", None)).startswith(start)
    lines = [one for one in monitor_findings(monitor, "month", None) if one.startswith("Last ")]
    assert len(lines) == len(monitor.windows_)
    # Where verdicts alone are published no gap is stated.
    assert "points," not in describe_state(monitor, "month", 10)


def test_an_alarm_stands_until_a_certificate():
    monitor = read_months(*[0.45] * 9, *[0.2] * 3, *[0.45] * 30, n=900)
    verdicts = monitor.summary()["verdict"].tolist()
    first = verdicts.index("contradicted")
    again = verdicts.index("shown", first)
    assert first == 9 and again > 13 and {*verdicts[first:again]} == {"contradicted"}
    assert monitor.verdict_ == "shown"


def test_an_interval_has_no_upper_limit_once_a_window_excludes_the_gap_so_far():
    monitor = read_months(*[0.45] * 9, *[0.33] * 3, n=900)
    before = monitor.summary()["high"].iloc[8]
    gap, low, high = monitor.interval()
    assert monitor.verdict_ == "open" and before < 0.1
    assert low <= gap == pytest.approx(0.03, abs=0.001) and high == 1.0


def find_errors(constraint, sizes, rates, run_length):
    """Probabilities of a false "shown" and "contradicted" window, times 1 / their error.

    All counts of two groups that have at least a share of 1e-5 of the error are judged.
    """
    settings = check_settings(
        GapMonitor(constraint, windows=(1,), run_length=run_length).get_params(deep=False)
    )
    errors = 1 / (2 * run_length), find_alarm_error(run_length, (1,))
    masses = [binom.pmf(np.arange(n + 1), n, rate) for n, rate in zip(sizes, rates, strict=True)]
    mass = np.outer(*masses)
    totals = {"shown": 0.0, "contradicted": 0.0}
    for hits in np.argwhere(mass > 1e-5 * min(errors)):
        table = np.array([sizes, sizes, hits], dtype=float)
        batch = Decisions(1, 1, [(1, "group", "all", table)])
        comparison = SimpleNamespace(groups=["a", "b"], cells={"all": None})
        (window,) = judge_windows(settings, {"group": comparison}, [batch])
        if window.verdict in totals:
            totals[window.verdict] += mass[tuple(hits)]
    return totals["shown"] / errors[0], totals["contradicted"] / errors[1]


@pytest.mark.parametrize(
    ("params", "sizes", "rates"),
    [
        ({"tolerance": 0.2}, (30, 600), (0.99, 0.79)),
        ({"tolerance": 0.2}, (40, 300), (0.005, 0.205)),
        ({"ratio": 0.8}, (30, 600), (0.99, 0.792)),
        ({"ratio": 0.8}, (40, 300), (0.005, 0.004)),
    ],
)
@pytest.mark.parametrize("run_length", [20, 500])
def test_windows_of_rare_outcomes_keep_their_errors(params, sizes, rates, run_length):
    """Just beyond the tolerance "shown" is false, and just within it "contradicted" is."""
    constraint = DemographicParity(**params)
    beyond = rates[0], rates[1] + (1e-9 if rates[1] > rates[0] else -1e-9)
    assert find_errors(constraint, sizes, beyond, run_length)[0] <= 1.0
    assert find_errors(constraint, sizes, rates, run_length)[1] <= 1.0
