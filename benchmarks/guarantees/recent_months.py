"""What the last months say: when a gap is found, and how often pages are wrong."""

import numpy as np

from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.monitoring import GapMonitor

RUN_LENGTH, TOLERANCE = 100.0, 0.1
N_STREAMS = {5: 400, 1: 20}  # by the runs of the budget
CHANGE = 12  # months before the rate of one group falls

FALL = [(0.35 if month < CHANGE else 0.15, 0.37) for month in range(2 * CHANGE)]
RISE = [(0.37 if month < CHANGE else 0.50, 0.35) for month in range(3 * CHANGE)]
JUMPS = (
    (250, 0.25, 0.10),
    (250, 0.40, 0.10),
    (1000, 0.20, 0.10),
    (1000, 0.15, 0.10),
    (2500, 0.10, 0.05),
    (20_000, 0.07, 0.05),
)
"""Decisions of each group a month, gap of the seventh month, and tolerance."""

N_JUMPS = {5: 150, 1: 10}  # streams of a jump, by the runs of the budget
Z_LIMIT = 2.33  # of a z-test at 1 %

EDGES = {"edge": (0.27, 0.37), "edge near 0": (0.02, 0.12)}
"""Rates of two groups: by month, and constant ones whose gap is the tolerance."""


def read_stream(rates, per_month, seed):
    """Verdicts and those of the windows after each month of a stream of two groups."""
    rng = np.random.default_rng(seed)
    monitor = GapMonitor("demographic_parity", TOLERANCE, run_length=RUN_LENGTH)
    verdicts, of_windows = [], []
    for month, pair in enumerate(rates):
        sizes = rng.multinomial(per_month, [0.5, 0.5])
        hits = rng.binomial(sizes, pair)
        decisions = [np.arange(n) < k for n, k in zip(sizes, hits, strict=True)]
        groups = np.repeat(["a", "b"], sizes)
        monitor.update(
            None, np.concatenate(decisions).astype(int), sensitive_features=groups, time=month
        )
        verdicts.append(monitor.verdict_)
        of_windows.append(set(monitor.windows_["verdict"]))
    return verdicts, of_windows


def find_alarm(verdicts):
    """Month of the first alarm, infinite without one."""
    return verdicts.index("contradicted") if "contradicted" in verdicts else np.inf


def describe_change(name, rates, per_month, n_streams):
    """When the alarm comes after one rate has changed, and what is said six months after."""
    runs = [read_stream(rates, per_month, seed) for seed in range(n_streams)]
    months = np.array([find_alarm(verdicts) - CHANGE + 1 for verdicts, _ in runs])
    shares = {f"within {limit}": np.mean((months > 0) & (months <= limit)) for limit in (3, 6, 12)}
    late = CHANGE + 5
    return {
        "stream": name,
        "decisions": per_month,
        "streams": n_streams,
        "false alarm": np.mean(months <= 0),
        **shares,
        "median": np.median(months),
        "shown 6 later": np.mean([verdicts[late] == "shown" for verdicts, _ in runs]),
        "window shown 6 later": np.mean(["shown" in of_windows[late] for _, of_windows in runs]),
    }


def describe_edge(name, per_month, n_streams):
    """How often pages are wrong about a gap that is the tolerance."""
    rates = [EDGES[name]] * 3 * CHANGE
    runs = [read_stream(rates, per_month, seed) for seed in range(n_streams)]
    pages = [one for _, of_windows in runs for one in of_windows[CHANGE - 1 :]]
    return {
        "stream": name,
        "decisions": per_month,
        "streams": n_streams,
        "false alarm": np.mean(["contradicted" in verdicts for verdicts, _ in runs]),
        "contradicted": np.mean(["contradicted" in one for one in pages]),
        "shown": np.mean(["shown" in one for one in pages]),
    }


def describe_jump(n, gap, tolerance, n_streams):
    """How often a gap is seen in its first month, after six without one, beside a z-test."""
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b"], n)
    alarms = np.zeros((2, n_streams), dtype=bool)
    for stream in range(n_streams):
        monitor = GapMonitor("demographic_parity", tolerance, run_length=RUN_LENGTH)
        for month in range(7):
            hits = rng.binomial(n, (0.5, 0.5 - gap * (month == 6)))
            decisions = np.concatenate([np.arange(n) < k for k in hits]).astype(int)
            monitor.update(None, decisions, sensitive_features=groups, time=month)
        rates = hits / n
        error = np.sqrt((rates * (1.0 - rates)).sum() / n)
        z_value = (abs(rates[0] - rates[1]) - tolerance) / error
        alarms[:, stream] = len(monitor.alarms_) > 0, z_value > Z_LIMIT
    return {
        "stream": "jump",
        "decisions": n,
        "gap": gap,
        "tolerance": tolerance,
        "streams": n_streams,
        "alarm in the first month": alarms[0].mean(),
        "z-test": alarms[1].mean(),
    }


@smallest(N_STREAMS={5: 2, 1: 2}, N_JUMPS={5: 2, 1: 2}, JUMPS=JUMPS[:1])
def recent_months(budget):
    """Alarms after a change, certificates that have lapsed, and false pages on the edge."""
    n = N_STREAMS[budget.n_runs]
    falls = [describe_change("fall", FALL, per_month, n) for per_month in (165, 1500)]
    rise = describe_change("rise", RISE, 330, n)
    edges = [describe_edge(name, 330, n) for name in EDGES]
    jumps = [describe_jump(*jump, N_JUMPS[budget.n_runs]) for jump in JUMPS]
    rare, usual = falls
    checks = [
        *(
            Check(
                f"165 decisions: alarm within {months} months", [rare[f"within {months}"]], ">=", x
            )
            for months, x in ((3, 0.45), (6, 0.9), (12, 0.98))
        ),
        Check("1,500: alarm within 3 months", [usual["within 3"]], ">=", 1.0),
        Check(
            "six months later: shown since the start, or of a window",
            [one[f"{name} 6 later"] for one in falls for name in ("shown", "window shown")],
            "<=",
            0.01,
        ),
        Check("rise to a gap of .15, 330 decisions: median months", [rise["median"]], "<=", 7),
        Check("edge: alarm in 36 months", [one["false alarm"] for one in edges], "<=", 0.3),
        Check("edge: pages that say shown", [one["shown"] for one in edges], "<=", 0.005),
        Check(
            "jumps: first months seen, beyond half of those of a z-test",
            [one["alarm in the first month"] - one["z-test"] / 2.0 for one in jumps],
            ">=",
            0.0,
        ),
    ]
    title = (
        f"Windows of 1, 3, 6 and 12 months, tolerance {TOLERANCE:g} if no other is given, run "
        f"length {RUN_LENGTH:g}; one rate falls after {CHANGE} months from .35 to .15, the other "
        "is .37"
    )
    return Report(title, [*falls, rise, *edges, *jumps], checks)
