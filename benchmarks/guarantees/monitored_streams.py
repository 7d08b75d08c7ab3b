"""Streams that are read by `GapMonitor.update`, as users call it: sizes, restarts, intervals."""

import numpy as np
from scipy import stats

from skfair.monitoring import GapMonitor

ALL_SIZES = np.unique(
    np.concatenate(
        (np.linspace(50, 6000, 342).round(), np.arange(2098, 2101), np.arange(5050, 5108))
    ).astype(int)
)
"""Samples of each group, equal in all draws: an order that depended on sizes alone would be seen at
some of them only, such as 2,099 and 5,051."""

SIZE_CASES = tuple(
    (rates, n_batches) for rates in ((0.5, 0.4), (0.45, 0.45)) for n_batches in (1, 12)
)
"""Rates of two groups at tolerance .1, batches into which the samples are divided."""

RESTART_CASES = (
    *(((0.5, 0.4), run_length, 800) for run_length in (10.0, 20.0, 100.0)),
    *(((0.6, 0.4), run_length, 300) for run_length in (10.0, 100.0)),
    *((rates, None, 300) for rates in ((0.5, 0.4), (0.6, 0.4))),
)
"""Rates of two groups at tolerance .1, `run_length`, number of batches of about 60 samples."""


def count_statements(case, n_streams, rng):
    """Numbers of draws of each size with a certificate and with an alarm at any look."""
    rates, n_batches = case
    n_draws = max(n_streams // 200, 1)
    sizes = ALL_SIZES if n_draws > 1 else ALL_SIZES[::20]
    certified, alarms = np.zeros((2, len(sizes)), dtype=int)
    for i, size in enumerate(sizes):
        for _ in range(n_draws):
            verdicts = read_groups_of_equal_size(size, rates, n_batches, rng)
            certified[i] += "shown" in verdicts
            alarms[i] += "contradicted" in verdicts
    return {
        "sizes": sizes.tolist(),
        "draws": n_draws,
        "certificates": certified.tolist(),
        "alarms": alarms.tolist(),
    }


def read_groups_of_equal_size(size, rates, n_batches, rng):
    """Statuses of a monitor that reads two groups of this size in batches."""
    monitor = GapMonitor("demographic_parity", 0.1)
    verdicts = set()
    decisions = (rng.random((2, size)) < np.reshape(rates, (2, 1))).astype(int)
    for batch in np.array_split(decisions, n_batches, axis=1):
        groups = np.repeat([0, 1], batch.shape[1])
        verdicts.add(monitor.update(None, batch.ravel(), sensitive_features=groups).verdict_)
    return verdicts


def summarize_sizes(case, counts):
    """Record of the statements of a case, from the counts of its chunks."""
    rates, n_batches = case
    n_draws = sum(one["draws"] for one in counts)
    record = {
        "figure": "equal sizes",
        "rates": f"{rates[0]:g}/{rates[1]:g}",
        "batches": n_batches,
        "sizes": len(counts[0]["sizes"]),
        "draws": n_draws,
    }
    for name in ("certificates", "alarms"):
        of_size = np.sum([one[name] for one in counts], axis=0)
        record[name] = float(of_size.mean() / n_draws)
        record[f"most {name} of a size"] = int(of_size.max())
    if rates[0] == rates[1]:
        certified = np.sum([one["certificates"] for one in counts], axis=0) / n_draws
        record["median size"] = median_size(np.array(counts[0]["sizes"]), certified)
    return record


def median_size(sizes, certified):
    """Size from which on at least half of the draws are certified, by isotonic regression."""
    from sklearn.isotonic import isotonic_regression

    return int(sizes[min(np.searchsorted(isotonic_regression(certified), 0.5), len(sizes) - 1)])


def size_limit(n_sizes, n_draws, alpha=0.05):
    """Most errors at one of many sizes: exceeded at any with probability .05 at most."""
    return int(stats.binom.isf(0.05 / n_sizes, n_draws, alpha))


def count_restarts(case, n_streams, rng):
    """Errors of monitors over many batches, and batches until a false alarm.

    The monitors have no windows, which share the run length with the detector: their
    figures are those of `monitoring.restart_errors`, and windows have a benchmark of their
    own, ``recent-months``.
    """
    rates, run_length, n_batches = case
    gap = rates[0] - rates[1]
    n_streams = max(n_streams // 100, 2)
    errors = {"certificates": 0, "intervals": 0}
    lengths = []
    for _ in range(n_streams):
        monitor = GapMonitor("demographic_parity", 0.1, run_length=run_length, windows=())
        for _ in range(n_batches):
            n = rng.integers(20, 41, size=2)
            decisions = rng.random(n.sum()) < np.repeat(rates, n)
            monitor.update(None, decisions.astype(int), sensitive_features=np.repeat([0, 1], n))
        summary = monitor.summary()
        alarms = monitor.alarms_["batch"].tolist()
        is_right = (summary["low"] <= gap + 1e-9) & (gap - 1e-9 <= summary["high"])
        errors["certificates"] += bool((summary["verdict"] == "shown").any())
        errors["intervals"] += not is_right.all()
        # The time after the last alarm has no end, and counts as a part of the mean.
        lengths += np.diff([0, *alarms]).tolist()
    return errors | {"streams": n_streams, "alarms": len(lengths)}


def summarize_restarts(case, counts):
    """Record of the errors of a case, from the counts of its chunks."""
    rates, run_length, n_batches = case
    n_streams, n_alarms = (sum(one[name] for one in counts) for name in ("streams", "alarms"))
    record = {
        "figure": "restarts",
        "rates": f"{rates[0]:g}/{rates[1]:g}",
        "run length": run_length or "none",
        "batches": n_batches,
        "streams": n_streams,
        "certificates": sum(one["certificates"] for one in counts) / n_streams,
        "intervals": sum(one["intervals"] for one in counts) / n_streams,
    }
    if run_length is not None and rates[0] - rates[1] <= 0.1:
        # Alarms are renewals: the batches that all streams read over their number.
        record["mean run length"] = n_streams * n_batches / max(n_alarms, 1)
    return record
