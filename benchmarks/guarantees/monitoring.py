"""How often a monitor errs over all time, how soon it answers, and what it costs."""

import tracemalloc
from time import process_time

import numpy as np
from scipy import stats

from benchmarks.tables import Check, Report
from skfair.inference import wilson
from skfair.monitoring import GapMonitor
from skfair.monitoring._evidence import (
    CellEvidence,
    GapEvidence,
    change_evidence,
    log_evidence_against,
    log_mean,
)
from skfair.monitoring._hypotheses import Differences

LEVEL = 0.95
THRESHOLD = -np.log(1.0 - LEVEL)
N_STREAMS = {5: 1000, 1: 100}  # streams of each of the ten cases below, by the runs of the budget

NULL_CASES = (
    # rates of the groups, their shares, samples of a batch (0: random), looks, adversary
    ((0.25, 0.20), (0.5, 0.5), 1, 1000, False),
    ((0.25, 0.20), (0.5, 0.5), 100, 300, False),
    ((0.06, 0.01), (0.5, 0.5), 100, 300, False),
    ((0.50, 0.45), (0.98, 0.02), 100, 300, False),
    ((0.25, 0.20), (0.9, 0.1), 0, 300, False),
    ((0.25, 0.20), (0.5, 0.5), 100, 300, True),
    ((0.50, 0.45, 0.45, 0.45), (0.4, 0.3, 0.2, 0.1), 100, 300, False),
    ((0.06, 0.01, 0.03, 0.03), (0.4, 0.3, 0.28, 0.02), 0, 300, False),
    ((0.25, 0.20, 0.25, 0.20), (0.25, 0.25, 0.25, 0.25), 100, 300, True),
    ((0.25,) * 4 + (0.20,) * 4, (0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.08, 0.02), 100, 200, False),
)
"""Streams on the edge of the tolerance .05. The adversary chooses the rates of each batch within
the hypothesis, by what was counted so far, and lets them rise and fall."""


class Streams:
    """Many streams of batches that are monitored at once."""

    def __init__(self, n_streams, n_groups, levels, tolerance, rng):
        self.shape, self.n_groups, self.rng = (n_streams,), n_groups, rng
        self.cell = CellEvidence(Differences(), np.asarray(levels), tolerance, self.shape)
        self.cell.add_groups(n_groups)
        self.gap = GapEvidence(len(levels), tolerance, self.shape)

    def step(self, rates, shares, batch):
        """Draw one batch of each stream and bet on it."""
        size = batch or int(self.rng.integers(1, 300))
        n = self.rng.multinomial(size, shares, size=self.shape)
        x = self.rng.binomial(n, rates)
        self.gap.update(*self.cell.update(n.astype(float), x.astype(float)))

    @property
    def log_certificates(self):
        return self.cell.log_certificates(np.ones((*self.shape, self.n_groups), dtype=bool))


def false_statements(case, n_streams):
    """Shares of streams on the edge with an alarm and with a certificate, at any look."""
    rates, shares, batch, n_looks, is_adversarial = case
    tolerance = max(rates) - min(rates)
    seed = (len(rates), batch, int(1000 * rates[0]), int(1000 * shares[-1]), is_adversarial)
    streams = Streams(n_streams, len(rates), [tolerance], 0, np.random.default_rng(seed))
    largest = np.full(n_streams, -np.inf)
    for look in range(n_looks):
        own = np.array(rates)
        if is_adversarial:
            # Groups that look larger are larger now, while all rates rise and fall together.
            recent = streams.cell.windows[1, :, 1] / (streams.cell.windows[0, :, 1] + 1e-9)
            is_high = recent > np.median(recent, axis=1, keepdims=True)
            own = 0.3 + 0.25 * np.sin(look / 20) + tolerance * is_high
        streams.step(own, shares, batch)
        largest = np.maximum(largest, log_evidence_against([streams.gap]))
    record = {
        "figure": "null",
        "groups": len(rates),
        "rates": f"{max(rates):g}/{min(rates):g}",
        "least share": min(shares),
        "batch": batch or "random",
        "adversary": is_adversarial,
        "alarms": np.mean(largest >= THRESHOLD),
    }
    if not is_adversarial:  # certificates are about constant rates
        record["certificates"] = np.mean(streams.log_certificates[..., 0] >= THRESHOLD)
    return record


def samples_until_alarm(rates, tolerance, share, n_streams, horizon):
    """Median number of samples until an alarm: monitor, betting test, and fixed interval."""
    rng = np.random.default_rng((int(100 * share), int(100 * rates[0])))
    streams = Streams(n_streams, 2, [tolerance], 0, rng)
    alarm, batch = np.full(n_streams, np.inf), 10
    for look in range(1, horizon // batch + 1):
        streams.step(rates, (1.0 - share, share), batch)
        is_alarm = log_evidence_against([streams.gap]) >= THRESHOLD
        alarm = np.where(np.isinf(alarm) & is_alarm, look * batch, alarm)
        if np.isfinite(alarm).mean() > 0.95:
            break
    return {
        "figure": "until alarm",
        "rates": f"{rates[0]:g}/{rates[1]:g}",
        "tolerance": tolerance,
        "least share": share,
        "monitor": np.median(alarm),
        "betting test": betting_test(rates, tolerance, share, n_streams, horizon, rng),
        "fixed interval": fixed_plan(rates, tolerance, share),
    }


def betting_test(rates, tolerance, share, n_streams, horizon, rng):
    """Median samples until an alarm of Chugg et al. (2023): online Newton steps on pairs."""
    wealth, bet = np.zeros((2, 2, n_streams))
    squares, alarm, used = np.ones((2, n_streams)), np.full(n_streams, np.inf), np.zeros(n_streams)
    largest = 0.5 / (1.0 + tolerance)
    while used.min() < horizon and np.isinf(alarm).mean() > 0.05:
        # A pair is complete when the smaller group has a sample that was not used before.
        used += rng.geometric(share, size=n_streams) if share < 0.5 else 2.0
        difference = np.subtract(*(rng.random((2, n_streams)) < np.array(rates)[:, None]) * 1.0)
        payoff = np.stack((difference, -difference)) - tolerance
        wealth += np.log1p(bet * payoff)
        slope = -payoff / (1.0 + bet * payoff)
        squares += slope**2
        bet = np.clip(bet - 2.0 / (2.0 - np.log(3.0)) * slope / squares, 0.0, largest)
        is_alarm = np.logaddexp(*wealth) - np.log(2.0) >= THRESHOLD
        alarm = np.where(np.isinf(alarm) & is_alarm, used, alarm)
    return np.median(alarm)


def fixed_plan(rates, tolerance, share):
    """Samples at which a test that is read once rejects in half of the cases."""
    variance = sum(p * (1 - p) / s for p, s in zip(rates, (1.0 - share, share), strict=True))
    excess = rates[0] - rates[1] - tolerance
    z = stats.norm.isf((1.0 - LEVEL) / 2)  # two differences may exceed the tolerance
    return int(np.ceil(variance * (z / excess) ** 2))


def change(n_streams, run_length=1000.0, n_fair=8000, batch=100, horizon=40000):
    """Samples from a change until the alarm, of the detector and a CUSUM of its e-values."""
    streams = Streams(n_streams, 2, [0.02], 0, np.random.default_rng(3))
    delays = {"detector": np.full(n_streams, np.inf), "cusum": np.full(n_streams, np.inf)}
    false = dict.fromkeys(delays, 0.0)
    for look in range(1, (n_fair + horizon) // batch + 1):
        n_samples = look * batch
        streams.step((0.25, 0.25 if n_samples <= n_fair else 0.20), (0.5, 0.5), batch)
        statistics = (change_evidence([streams.gap]), np.exp(log_mean(streams.gap.log_best)))
        for (name, delay), statistic in zip(delays.items(), statistics, strict=True):
            is_alarm = np.isinf(delay) & (statistic >= run_length)
            delays[name] = np.where(is_alarm, n_samples - n_fair, delay)
            false[name] = np.mean(delays[name] <= 0)
        if max(np.isinf(delay).mean() for delay in delays.values()) < 0.05:
            break
    return [
        {
            "figure": "change",
            "method": name,
            "median delay": np.median(delay[delay > 0]),
            "ninth decile": np.quantile(delay[delay > 0], 0.9),
            "false before": false[name],
        }
        for name, delay in delays.items()
    ]


def mean_run_length(n_streams, run_length=100.0, horizon=1000):
    """Mean number of batches until a false alarm on the edge, those without one at the horizon."""
    streams = Streams(n_streams, 2, [0.05], 0, np.random.default_rng(4))
    lengths = {name: np.full(n_streams, float(horizon)) for name in ("detector", "cusum")}
    for look in range(1, horizon):
        streams.step((0.25, 0.20), (0.5, 0.5), 100)
        statistics = (change_evidence([streams.gap]), np.exp(log_mean(streams.gap.log_best)))
        for name, statistic in zip(lengths, statistics, strict=True):
            is_first = (lengths[name] == horizon) & (statistic >= run_length)
            lengths[name] = np.where(is_first, look, lengths[name])
    return [
        {"figure": "run length", "method": name, "requested": run_length, "mean": length.mean()}
        for name, length in lengths.items()
    ]


def coverage(rates, n_streams, n_looks=200, batch=100):
    """Share of streams whose interval contains the gap at every look."""
    levels = np.sort(np.append((np.arange(60) / 60) ** 2, 0.05))
    streams = Streams(n_streams, len(rates), levels, 14, np.random.default_rng(len(rates)))
    for _ in range(n_looks):
        streams.step(rates, np.full(len(rates), 1 / len(rates)), batch)
    # Limits of largest evidence only narrow, so that those of the last look decide.
    threshold = THRESHOLD + np.log(2.0)
    gap = max(rates) - min(rates)
    below = streams.log_certificates >= threshold  # rejected: at least this level
    last = len(levels) - below[:, ::-1].argmin(axis=1)
    high = np.append(levels, 1.0)[last]
    n_above = (streams.gap.log_max < threshold).argmax(axis=1)
    low = np.where(n_above > 0, levels[n_above - 1], 0.0)
    return {
        "figure": "interval",
        "groups": len(rates),
        "rates": f"{max(rates):g}/{min(rates):g}",
        "coverage": np.mean((low <= gap + 1e-9) & (gap <= high + 1e-9)),
        "median high": np.median(high),
    }


def cost(n_batches=1000, n_samples=1000, n_groups=6):
    """CPU seconds and megabytes of a monitor of many batches."""
    rng = np.random.default_rng(5)
    groups = rng.integers(n_groups, size=n_samples)
    batches = (rng.random((n_batches, n_samples)) < 0.2).astype(int)
    monitor = GapMonitor("demographic_parity", 0.05)
    start = process_time()
    for decisions in batches:
        monitor.update(decisions, sensitive_features=groups)
    seconds = process_time() - start
    tracemalloc.start()
    copy = GapMonitor.from_json(monitor.to_json())
    megabytes = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    return {"figure": "cost", "batches": copy.n_batches_, "seconds": seconds, "MB": megabytes}


def repeated_looks(n_streams, n_months=24, n_per_month=1000):
    """Share of streams on the edge with a certificate of a fixed sample by the given month.

    Certificates are those of Newcombe's limit, as `certify` computes it for large samples.
    """
    rng, tolerance = np.random.default_rng(6), 0.05
    hits = rng.binomial(n_per_month, [[[0.25]], [[0.20]]], size=(2, n_streams, n_months))
    z, records = stats.norm.ppf(LEVEL), []
    for name, counts, n in (
        ("new data each month", hits, np.full(n_months, n_per_month)),
        ("all data so far", hits.cumsum(axis=2), n_per_month * np.arange(1, n_months + 1)),
    ):
        (p1, p2), (low, high) = counts / n, wilson(counts / n, n, z)
        margins = np.hypot(high[0] - p1, p2 - low[1]), np.hypot(p1 - low[0], high[1] - p2)
        certified = (p1 - p2 + margins[0] <= tolerance) & (p2 - p1 + margins[1] <= tolerance)
        ever = np.logical_or.accumulate(certified, axis=1).mean(axis=0)
        months = {f"month {month}": ever[month - 1] for month in (1, 3, 6, 12, 24)}
        records.append({"figure": "fixed sample", "method": name} | months)
    return records


def monitoring(budget):
    """False statements over all time, time until an alarm, run length, coverage and cost."""
    n = N_STREAMS.get(budget.n_runs, 100)
    null = [false_statements(case, n) for case in NULL_CASES]
    alarms = [
        samples_until_alarm(rates, tolerance, share, max(n // 5, 50), horizon=40000)
        for rates, tolerance in (((0.40, 0.25), 0.05), ((0.30, 0.24), 0.0))
        for share in (0.5, 0.1)
    ]
    changes = change(max(n // 5, 50))
    runs = mean_run_length(max(n // 5, 50))
    covered = [coverage(rates, max(n // 5, 50)) for rates in ((0.25, 0.2), (0.3, 0.3, 0.2, 0.2))]
    price = cost()
    fixed = repeated_looks(20 * n)
    alpha = 1.0 - LEVEL
    checks = [
        Check("null: share with an alarm", [one["alarms"] for one in null], "<=", alpha),
        Check(
            "edge: share with a certificate",
            [one["certificates"] for one in null if "certificates" in one],
            "<=",
            alpha,
        ),
        Check(
            "until alarm: betting test / monitor, equal shares",
            [one["betting test"] / one["monitor"] for one in alarms if one["least share"] == 0.5],
            ">=",
            1.0,
        ),
        Check(
            "until alarm: betting test / monitor, share .1",
            [one["betting test"] / one["monitor"] for one in alarms if one["least share"] == 0.1],
            ">=",
            1.5,
        ),
        Check("run length / requested", [one["mean"] / one["requested"] for one in runs], ">=", 1),
        Check("interval: coverage", [one["coverage"] for one in covered], ">=", LEVEL),
        Check("CPU seconds of 1,000 batches", [price["seconds"]], "<=", 2.0),
        Check("megabytes of 1,000 batches", [price["MB"]], "<=", 50.0),
    ]
    title = (
        f"Monitors at {LEVEL:g}: shares of {n} streams per case with a false alarm or certificate "
        "at any look; samples until an alarm; batches; coverage at all looks; cost"
    )
    return Report(title, [*null, *alarms, *changes, *runs, *covered, *fixed, price], checks)
