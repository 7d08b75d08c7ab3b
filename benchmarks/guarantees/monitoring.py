"""Errors of a monitor at any look, time until an alarm, and cost."""

import tracemalloc
from copy import copy
from functools import partial
from itertools import chain
from time import process_time

import numpy as np
from scipy import stats

from benchmarks.guarantees import monitored_streams
from benchmarks.packages import is_installed
from benchmarks.records import Run, load_or_run
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair._statistics.limits_of_rates import wilson_limits
from skfair.monitoring import GapMonitor
from skfair.monitoring._batches import MIN_BLOCK
from skfair.monitoring._settings import check_settings
from skfair.monitoring._state import (
    CellEvidence,
    DifferenceHypotheses,
    GapEvidence,
    change_evidence,
    gap_limits,
    log_evidence_against,
    log_mean,
)

LEVEL = 0.95
THRESHOLD = -np.log(1.0 - LEVEL)
N_STREAMS = {5: 1000, 1: 50}  # streams of a chunk, by the runs of the budget
N_CHUNKS = {5: 10, 1: 1}
N_BATCHES = 1000  # that are timed

NULL_CASES = (
    # rates of the groups, their shares, samples of a batch (0: random), batches, adversary
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
"""Streams whose gap equals the tolerance .05. The adversary chooses the rates of each batch within
the null hypothesis, from the counts so far, and lets them rise and fall."""

ALARM_CASES = tuple(
    (rates, tolerance, share, horizon)
    for rates, tolerance, horizons in (
        ((0.40, 0.25), 0.05, (6000, 6000, 12000)),
        ((0.30, 0.24), 0.0, (16000, 16000, 30000)),
    )
    for share, horizon in zip((None, 0.5, 0.1), horizons, strict=True)
)
"""Rates of two groups, tolerance, share of the second (None: alternating), samples of a stream."""


class Streams:
    """Many streams of batches that are monitored at once."""

    def __init__(self, n_streams, n_groups, levels, tolerance, rng):
        self.shape = (n_streams,)
        self.n_groups = n_groups
        self.rng = rng
        self.cell = CellEvidence(DifferenceHypotheses(), np.asarray(levels), tolerance, self.shape)
        self.cell.add_groups(n_groups)
        self.gap = GapEvidence(len(levels), tolerance, self.shape)
        self.block = np.zeros((2, n_streams, n_groups))

    def step(self, rates, shares, batch):
        """Draw one batch of each stream and bet on it."""
        size = batch or int(self.rng.integers(1, 300))
        n = self.rng.multinomial(size, shares, size=self.shape)
        self.count(n, self.rng.binomial(n, rates))

    def count(self, n, x):
        """Count batches of n samples with x positives, and bet when a block is complete."""
        self.block = self.block + np.stack((n, x))
        if self.block[0].sum(axis=-1).min() >= MIN_BLOCK:  # streams have equal sizes
            self.gap.update(*self.cell.update(*self.block))
            self.block = np.zeros_like(self.block)

    def restart(self, mask):
        """Restart the streams of a mask, as `CellEvidence.restart` and `GapEvidence.restart` do."""
        for evidence, names in (
            (self.cell, ("counts", "log_e", "log_max")),
            (self.gap, ("log_e", "log_max", "log_change", "log_best")),
        ):
            restarted = copy(evidence)
            restarted.restart()
            for name in names:
                old, new = getattr(evidence, name), getattr(restarted, name)
                axis = 1 if name == "counts" else 0  # the first axis of counts: samples and sums
                shape = [1] * old.ndim
                shape[axis] = len(mask)
                setattr(evidence, name, np.where(mask.reshape(shape), new, old))
        self.block = self.block * ~mask[:, np.newaxis]

    @property
    def log_certificates(self):
        return self.cell.log_certificates(np.ones((*self.shape, self.n_groups), dtype=bool))


def false_statements(case, n_streams, rng):
    """Numbers of streams with an alarm and with a certificate at any look, under the null."""
    rates, shares, batch, n_batches, is_adversarial = case
    tolerance = max(rates) - min(rates)
    streams = Streams(n_streams, len(rates), [tolerance], 0, rng)
    largest = np.full(n_streams, -np.inf)
    for number in range(n_batches):
        batch_rates = np.array(rates)
        if is_adversarial:
            # Groups with large recent rates get the larger rate, and all rates rise and fall.
            recent = streams.cell.windows[1, :, 1] / (streams.cell.windows[0, :, 1] + 1e-9)
            is_high = recent > np.median(recent, axis=1, keepdims=True)
            batch_rates = 0.3 + 0.25 * np.sin(number / 20) + tolerance * is_high
        streams.step(batch_rates, shares, batch)
        largest = np.maximum(largest, log_evidence_against([streams.gap]))
    certificates = streams.log_certificates[..., 0]
    return {
        "alarms": int((largest >= THRESHOLD).sum()),
        "certificates": int((certificates >= THRESHOLD).sum()),
    }


def run_chunks(kind, cases, make, n_chunks, budget):
    """Yield cases with the records of their chunks of streams, which are stored on disk."""
    size = N_STREAMS[budget.n_runs]
    runs = {
        case: [
            Run(
                problem=f"{kind} {number}",
                method=f"{size} streams",
                seed=seed,
                settings=f"{case}, ville: {is_installed('ville')}",
                make=partial(make, case, size, np.random.default_rng((number, seed))),
            )
            for seed in range(n_chunks)
        ]
        for number, case in enumerate(cases)
    }
    # A chunk of each case after another, so that after Ctrl-C all have about as many streams.
    alternating = [run for chunks in zip(*runs.values(), strict=True) for run in chunks]
    stored = load_or_run("monitoring", alternating, budget)
    for case, chunks in runs.items():
        if records := [stored[run.key] for run in chunks if run.key in stored]:
            yield case, records


def null_records(budget):
    """Yield the rates of false alarms and false certificates at any look, under the null."""
    chunks = run_chunks("null", NULL_CASES, false_statements, N_CHUNKS[budget.n_runs], budget)
    for (rates, shares, batch, _, is_adversarial), counts in chunks:
        n_streams = N_STREAMS[budget.n_runs] * len(counts)
        record = {
            "figure": "null",
            "groups": len(rates),
            "rates": f"{max(rates):g}/{min(rates):g}",
            "smallest share": min(shares),
            "batch": batch or "random",
            "adversary": is_adversarial,
            "streams": n_streams,
        }
        # Certificates assume constant rates.
        for name in ("alarms",) if is_adversarial else ("alarms", "certificates"):
            record[name] = sum(one[name] for one in counts) / n_streams
        yield record


def update_records(budget):
    """Yield false statements of `GapMonitor.update`: by sizes, and over restarts."""
    n_chunks = N_CHUNKS[budget.n_runs]
    for kind, cases, make, summarize in (
        (
            "sizes",
            monitored_streams.SIZE_CASES,
            monitored_streams.count_statements,
            monitored_streams.summarize_sizes,
        ),
        (
            "restarts",
            monitored_streams.RESTART_CASES,
            monitored_streams.count_restarts,
            monitored_streams.summarize_restarts,
        ),
    ):
        for case, counts in run_chunks(kind, cases, make, n_chunks, budget):
            yield summarize(case, counts)


def update_checks(records):
    """Checks of the false statements of `GapMonitor.update`."""
    edge = [one for one in records if one["figure"] == "equal sizes" and "median size" not in one]
    restarts = [one for one in records if one["figure"] in ("restarts", "many restarts")]
    checks = []
    for name in ("certificates", "alarms"):
        most = [
            one[f"most {name} of a size"] / monitored_streams.size_limit(one["sizes"], one["draws"])
            for one in edge
        ]
        checks += [
            Check(f"equal sizes: rate of {name}", [one[name] for one in edge], "<=", 1.0 - LEVEL),
            Check(f"equal sizes: most {name} of a size / binomial limit", most, "<=", 1.0),
        ]
    for name in ("certificates", "intervals"):
        errors = [one[name] for one in restarts]
        checks.append(Check(f"restarts: wrong {name} at any look", errors, "<=", 1.0 - LEVEL))
    lengths = [
        one["mean run length"] / one["run length"] for one in restarts if "mean run length" in one
    ]
    checks.append(Check("restarts: run length / requested", lengths, ">=", 1.0))
    return checks


def draw_samples(rates, share, n_streams, horizon, rng):
    """Groups and outcomes of the samples of two groups, (n_streams, horizon) each.

    Share None: the groups alternate.
    """
    if share is None:
        groups = np.broadcast_to(np.arange(horizon) % 2 == 1, (n_streams, horizon))
    else:
        groups = rng.random((n_streams, horizon)) < share
    return groups, rng.random((n_streams, horizon)) < np.where(groups, rates[1], rates[0])


def monitor_alarms(groups, outcomes, tolerance, batch=10):
    """Number of samples of each stream until the monitor's alarm, in batches of ten."""
    n_streams, horizon = groups.shape
    masks = np.stack((~groups, groups), axis=2).reshape(n_streams, -1, batch, 2)
    n = masks.sum(axis=2)
    x = (masks & outcomes.reshape(n_streams, -1, batch, 1)).sum(axis=2)
    streams = Streams(n_streams, 2, [tolerance], 0, None)
    alarms = np.full(n_streams, np.inf)
    for number in range(horizon // batch):
        streams.count(n[:, number], x[:, number])
        is_alarm = log_evidence_against([streams.gap]) >= THRESHOLD
        alarms[is_alarm & np.isinf(alarms)] = (number + 1) * batch
        if np.isfinite(alarms).all():
            break
    return alarms


class NewtonBets:
    """Chugg et al.'s (2023) test of many streams: online Newton steps on both differences."""

    def __init__(self, n_streams, tolerance):
        self.tolerance = tolerance
        self.wealth, self.fraction = np.zeros((2, 2, n_streams))
        self.squares, self.alarms = np.ones((2, n_streams)), np.full(n_streams, np.inf)

    def bet(self, difference, is_complete, used):
        """Bet on the differences of streams in which one is complete after `used` samples."""
        payoff = np.stack((difference, -difference)) - self.tolerance
        growth = 1.0 + self.fraction * payoff
        self.wealth += np.where(is_complete, np.log(growth), 0.0)
        slope = np.where(is_complete, -payoff / growth, 0.0)
        self.squares += slope**2
        step = 2.0 / (2.0 - np.log(3.0)) * slope / self.squares
        self.fraction = np.clip(self.fraction - step, 0.0, 0.5 / (1.0 + self.tolerance))
        is_alarm = np.logaddexp(*self.wealth) - np.log(2.0) >= THRESHOLD
        self.alarms = np.where(is_complete & is_alarm & np.isinf(self.alarms), used, self.alarms)


def pair_samples(groups, outcomes):
    """Differences of the groups' i-th samples, numbers of samples until then, numbers of pairs."""
    order = np.argsort(groups, axis=1, kind="stable")
    sizes = np.stack(((~groups).sum(axis=1), groups.sum(axis=1)))
    first = np.arange(sizes.min(axis=0).max())
    rows = np.arange(len(groups))[:, np.newaxis]
    last = groups.shape[1] - 1
    positions = (
        order[rows, np.minimum(first, last)],
        order[rows, np.minimum(sizes[0][:, np.newaxis] + first, last)],
    )
    difference = np.subtract(*(outcomes[rows, at].astype(float) for at in positions))
    return difference, np.maximum(*positions) + 1, sizes.min(axis=0)


def pair_alarms(groups, outcomes, tolerance):
    """Samples until the alarm of the betting test on pairs."""
    difference, used, n_pairs = pair_samples(groups, outcomes)
    test = NewtonBets(len(groups), tolerance)
    for i in range(difference.shape[1]):
        test.bet(difference[:, i], i < n_pairs, used[:, i])
        if np.isfinite(test.alarms).all():
            break
    return test.alarms


def mean_alarms(groups, outcomes, tolerance):
    """Samples until the alarm of the betting test on means of the new samples of both groups."""
    test = NewtonBets(len(groups), tolerance)
    n, x = np.zeros((2, 2, len(groups)))
    for used, (group, outcome) in enumerate(zip(groups.T, outcomes.T, strict=True), start=1):
        masks = np.stack((~group, group))
        n = n + masks
        x = x + (masks & outcome)
        is_complete = (n > 0).all(axis=0)
        test.bet(np.subtract(*x / np.maximum(n, 1.0)), is_complete, used)
        n, x = np.where(is_complete, 0.0, n), np.where(is_complete, 0.0, x)
        if np.isfinite(test.alarms).all():
            break
    return test.alarms


def ville_alarms(groups, outcomes, tolerance):
    """Samples until the alarm of the package ville: betting test on pairs in both directions."""
    import ville

    alarms = np.full(len(groups), np.inf)
    for stream, (difference, used, n_pairs) in enumerate(
        zip(*pair_samples(groups, outcomes), strict=True)
    ):
        logs = [
            ville.BettingTest(tolerance, bounds=(-1.0, 1.0), alternative="greater")
            .fit(sign * difference[:n_pairs])
            .log_e_values_
            for sign in (1.0, -1.0)
        ]
        is_alarm = np.logaddexp(*logs) - np.log(2.0) >= THRESHOLD
        if is_alarm.any():
            alarms[stream] = used[is_alarm.argmax()]
    return alarms


def samples_until_alarm(case, n_streams, rng):
    """Samples of each stream until an alarm, by method; all methods read the same streams."""
    rates, tolerance, share, horizon = case
    groups, outcomes = draw_samples(rates, share, n_streams, horizon, rng)
    methods = {"monitor": monitor_alarms, "betting, pairs": pair_alarms}
    if share is not None:  # else every mean is that of one sample
        methods["betting, means"] = mean_alarms
    if is_installed("ville"):
        methods["ville, pairs"] = ville_alarms
    return {
        method: find_alarms(groups, outcomes, tolerance).tolist()
        for method, find_alarms in methods.items()
    }


def alarm_records(budget):
    """Yield median and mean samples until an alarm; streams without one count as the horizon."""
    n_chunks = max(N_CHUNKS[budget.n_runs] // 5, 1)
    chunks = run_chunks("alarm", ALARM_CASES, samples_until_alarm, n_chunks, budget)
    for (rates, tolerance, share, horizon), times in chunks:
        for method in times[0]:
            alarms = np.concatenate([one[method] for one in times])
            yield {
                "figure": "until alarm",
                "rates": f"{rates[0]:g}/{rates[1]:g}",
                "tolerance": tolerance,
                "smallest share": share or "alternating",
                "streams": len(alarms),
                "method": method,
                "median": np.median(alarms),
                "mean": np.minimum(alarms, horizon).mean(),
                "without alarm": np.isinf(alarms).mean(),
                "fixed sample": fixed_sample_size(rates, tolerance, share or 0.5),
            }


def compare_alarms(alarms, statistic):
    """Samples of the other methods over those of the monitor, on the same streams."""
    keys = ("rates", "tolerance", "smallest share")
    monitor = {
        tuple(one[key] for key in keys): one[statistic]
        for one in alarms
        if one["method"] == "monitor"
    }
    return [
        one[statistic] / monitor[tuple(one[key] for key in keys)]
        for one in alarms
        if one["method"] != "monitor"
    ]


def fixed_sample_size(rates, tolerance, share):
    """Samples at which a test of a fixed sample has a power of one half."""
    variance = sum(p * (1 - p) / s for p, s in zip(rates, (1.0 - share, share), strict=True))
    excess = rates[0] - rates[1] - tolerance
    z = stats.norm.isf((1.0 - LEVEL) / 2)  # two differences may exceed the tolerance
    return int(np.ceil(variance * (z / excess) ** 2))


def change(n_streams, run_length=1000.0, n_fair=8000, batch=100, horizon=40000):
    """Samples from a change until the alarm: detector, CUSUM of its e-values, permanent alarm."""
    streams = Streams(n_streams, 2, [0.02], 0, np.random.default_rng(3))
    limits = {"detector": run_length, "cusum": run_length, "permanent alarm": np.exp(THRESHOLD)}
    delays = {name: np.full(n_streams, np.inf) for name in limits}
    for n_samples in range(batch, n_fair + horizon + 1, batch):
        streams.step((0.25, 0.25 if n_samples <= n_fair else 0.20), (0.5, 0.5), batch)
        log_against = log_evidence_against([streams.gap])
        statistics = (*detector_statistics(streams), np.exp(log_against))
        for (name, delay), statistic in zip(delays.items(), statistics, strict=True):
            is_alarm = np.isinf(delay) & (statistic >= limits[name])
            delays[name] = np.where(is_alarm, n_samples - n_fair, delay)
        if max(np.isinf(delay).mean() for delay in delays.values()) < 0.05:
            break
    return [
        {
            "figure": "change",
            "method": name,
            "streams": n_streams,
            "median delay": np.median(delay[delay > 0]),
            "ninth decile": np.quantile(delay[delay > 0], 0.9, method="higher"),
            "false alarms": np.mean(delay <= 0),
        }
        for name, delay in delays.items()
    ]


def detector_statistics(streams):
    """The detector's statistic R, and a CUSUM of its e-values."""
    return change_evidence([streams.gap]), np.exp(log_mean(streams.gap.log_best))


def mean_run_length(n_streams, run_length=100.0, horizon=1000):
    """Mean batches until a false alarm under the null; streams without one count as the horizon."""
    streams = Streams(n_streams, 2, [0.05], 0, np.random.default_rng(4))
    lengths = {name: np.full(n_streams, float(horizon)) for name in ("detector", "cusum")}
    for number in range(1, horizon):
        streams.step((0.25, 0.20), (0.5, 0.5), 100)
        for name, statistic in zip(lengths, detector_statistics(streams), strict=True):
            is_first = (lengths[name] == horizon) & (statistic >= run_length)
            lengths[name] = np.where(is_first, number, lengths[name])
    return [
        {
            "figure": "run length",
            "method": name,
            "streams": n_streams,
            "requested": run_length,
            "mean": length.mean(),
        }
        for name, length in lengths.items()
    ]


def coverage(rates, n_streams, n_batches=200, batch=100):
    """Proportion of streams whose interval contains the gap at every look."""
    levels = np.sort(np.append((np.arange(60) / 60) ** 2, 0.05))
    streams = Streams(n_streams, len(rates), levels, 14, np.random.default_rng(len(rates)))
    for _ in range(n_batches):
        streams.step(rates, np.full(len(rates), 1 / len(rates)), batch)
    # Limits of the running maximum only narrow, so the last look decides.
    threshold = THRESHOLD + np.log(2.0)
    gap = max(rates) - min(rates)
    low, high = gap_limits(levels, streams.log_certificates, streams.gap.log_max, threshold)
    return {
        "figure": "interval",
        "groups": len(rates),
        "rates": f"{max(rates):g}/{min(rates):g}",
        "streams": n_streams,
        "coverage": np.mean((low <= gap + 1e-9) & (gap <= high + 1e-9)),
        "median high": np.median(high),
    }


def restart_errors(case, n_streams):
    """False certificates, wrong intervals and run lengths of many streams that restart."""
    rates, run_length, n_batches = case
    monitor = GapMonitor("demographic_parity", 0.1, run_length=run_length, windows=())
    settings = check_settings(monitor.get_params(deep=False))
    rng = np.random.default_rng(7)
    levels = settings.levels
    gap = rates[0] - rates[1]
    streams = Streams(n_streams, 2, levels, settings.tolerance_position, rng)
    n_restarts = np.zeros(n_streams, dtype=int)
    n_alarms = 0
    certified, wrong, is_alarm = np.zeros((3, n_streams), dtype=bool)
    for _ in range(n_batches):
        n = rng.integers(20, 41, size=(n_streams, 2))
        streams.count(n, rng.binomial(n, rates))
        needed, limit = (
            np.array([settings.log_evidence_needed(k, sides) for k in range(n_batches)])[n_restarts]
            for sides in (1, 2)
        )
        if run_length is None:
            is_alarm = is_alarm | (log_evidence_against([streams.gap]) >= THRESHOLD)
        else:
            is_alarm = change_evidence([streams.gap]) >= run_length
        log_for = streams.log_certificates
        low, high = gap_limits(levels, log_for, streams.gap.log_max, limit[:, np.newaxis])
        wrong |= (low > gap + 1e-9) | (high < gap - 1e-9)
        certified |= (log_for[:, settings.tolerance_position] >= needed) & ~is_alarm
        if run_length is not None:
            streams.restart(is_alarm)
            n_restarts = n_restarts + is_alarm
            n_alarms = n_alarms + is_alarm.sum()
    record = {
        "figure": "many restarts",
        "rates": f"{rates[0]:g}/{rates[1]:g}",
        "run length": run_length or "none",
        "batches": n_batches,
        "streams": n_streams,
        "certificates": certified.mean(),
        "intervals": wrong.mean(),
    }
    if run_length is not None and gap <= 0.1:
        record["mean run length"] = n_streams * n_batches / max(n_alarms, 1)
    return record


def cost(n_batches, n_samples=1000, n_groups=6):
    """CPU seconds and megabytes of a monitor that reads many batches."""
    rng = np.random.default_rng(5)
    groups = rng.integers(n_groups, size=n_samples)
    batches = (rng.random((n_batches, n_samples)) < 0.2).astype(int)
    monitor = GapMonitor("demographic_parity", 0.05)
    start = process_time()
    for decisions in batches:
        monitor.update(None, decisions, sensitive_features=groups)
    seconds = process_time() - start
    tracemalloc.start()
    copy = GapMonitor.from_json(monitor.to_json())
    megabytes = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    return {"figure": "cost", "batches": len(copy.summary()), "seconds": seconds, "MB": megabytes}


def repeated_certificates(n_streams, n_months=24, n_per_month=1000):
    """Proportion of streams with a fixed-sample certificate by a month, under the null.

    Certificates use Newcombe's limit, as `certify` does for large samples.
    """
    rng = np.random.default_rng(6)
    tolerance = 0.05
    hits = rng.binomial(n_per_month, [[[0.25]], [[0.20]]], size=(2, n_streams, n_months))
    z = stats.norm.ppf(LEVEL)
    records = []
    for name, counts, n in (
        ("new data each month", hits, np.full(n_months, n_per_month)),
        ("all data so far", hits.cumsum(axis=2), n_per_month * np.arange(1, n_months + 1)),
    ):
        p1, p2 = counts / n
        low, high = wilson_limits(counts / n, n, z)
        margins = np.hypot(high[0] - p1, p2 - low[1]), np.hypot(p1 - low[0], high[1] - p2)
        certified = (p1 - p2 + margins[0] <= tolerance) & (p2 - p1 + margins[1] <= tolerance)
        rates = np.logical_or.accumulate(certified, axis=1).mean(axis=0)
        months = {f"month {month}": rates[month - 1] for month in (1, 3, 6, 12, 24)}
        records.append({"figure": "fixed sample", "method": name} | months)
    return records


@smallest(N_STREAMS={1: 2}, N_BATCHES=20, NULL_CASES=NULL_CASES[1:2], ALARM_CASES=ALARM_CASES[1:2])
@smallest(monitored_streams, SIZE_CASES=(), RESTART_CASES=(((0.6, 0.4), 10.0, 20),))
def monitor_benchmark(budget):
    """False statements over all time, time until an alarm, run length, coverage and cost.

    ``--cells null interval`` prints these figures alone. Runs of streams on the edge ("null"),
    until an alarm ("alarm"), by sizes ("sizes") and over restarts ("restarts") are stored on disk.
    """
    n = N_STREAMS[budget.n_runs]
    null = list(null_records(budget))
    alarms = list(alarm_records(budget))
    updates = list(update_records(budget))
    tables = {
        "many restarts": lambda: [
            restart_errors(case, max(n // 2, 20)) for case in monitored_streams.RESTART_CASES
        ],
        "change": lambda: change(n),
        "run length": lambda: mean_run_length(n),
        "interval": lambda: [coverage(rates, n) for rates in ((0.25, 0.2), (0.3, 0.3, 0.2, 0.2))],
        "fixed sample": lambda: repeated_certificates(20 * n),
        "cost": lambda: [cost(N_BATCHES)],
    }
    results = {name: tables[name]() if budget.select([name]) else [] for name in tables}
    updates += results.pop("many restarts")
    runs, intervals, costs = results["run length"], results["interval"], results["cost"]
    alpha = 1.0 - LEVEL
    checks = [
        *(
            Check(
                f"null: rate of {name} at any look",
                [one[name] for one in null if name in one],
                "<=",
                alpha,
            )
            for name in ("alarms", "certificates")
        ),
        *(
            Check(
                f"until alarm: others / monitor, {statistic}",
                compare_alarms(alarms, statistic),
                ">=",
                1.0,
            )
            for statistic in ("median", "mean")
        ),
        Check("run length / requested", [one["mean"] / one["requested"] for one in runs], ">=", 1),
        *update_checks(updates),
        Check("interval: coverage", [one["coverage"] for one in intervals], ">=", LEVEL),
        Check(
            f"CPU seconds of {N_BATCHES:,} batches", [one["seconds"] for one in costs], "<=", 2.0
        ),
        Check(f"megabytes of {N_BATCHES:,} batches", [one["MB"] for one in costs], "<=", 50.0),
    ]
    title = (
        f"Monitors at {LEVEL:g}: rates of false alarms and certificates at any look; "
        "samples until an alarm; batches; coverage at all looks; cost"
    )
    records = [*null, *updates, *alarms, *chain.from_iterable(results.values())]
    return Report(title, records, checks)
