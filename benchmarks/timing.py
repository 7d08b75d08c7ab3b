"""CPU seconds on one thread, after a warm-up, of contenders that run alternately.

CPU time depends little on the other load of the machine.
"""

import json
from statistics import median
from time import process_time
from typing import NamedTuple

from benchmarks.tables import FOLDER

SECONDS_FILE = FOLDER / "seconds.json"
"""File of the seconds that complete benchmarks took on this machine, by name."""


class Budget(NamedTuple):
    """How much to measure."""

    n_runs: int  # runs with the seeds 0, 1, ...; timings are their medians
    fraction: float  # of the iterations that a paper reports
    recorded_only: bool = False  # load stored records and make no runs
    cells: tuple = ()  # texts in the names of the cells that are run; all of them by default
    device: str = "cpu"  # of PyTorch
    is_large: bool = False  # also the cases that take up to an hour

    def select(self, names):
        """Return the names that contain one of the texts of `cells`, or all without texts."""
        return [name for name in names if not self.cells or any(t in name for t in self.cells)]


FULL = Budget(n_runs=5, fraction=1.0)
QUICK = Budget(n_runs=1, fraction=0.1)
SMALLEST = Budget(n_runs=1, fraction=0.001)


SHORTEST = 1e-6
"""Seconds of a call within one tick of the clock of the CPU time, which may be 10 ms."""


class TimedRun(NamedTuple):
    """Result of a call, and its CPU seconds."""

    result: object
    seconds: float


def time_call(run, *arguments):
    """Call a function once and measure its CPU time."""
    start = process_time()
    result = run(*arguments)
    return TimedRun(result, max(process_time() - start, SHORTEST))


def run_alternately(contenders, n_runs):
    """Run contenders alternately, so that a change of the machine's speed affects all of them.

    Parameters
    ----------
    contenders : dict of str to callable
        Functions of a seed.
    n_runs : int
        Runs of each, with the seeds 0, 1, ..., n_runs - 1. A first run warms up and is not counted.

    Returns
    -------
    runs : dict of str to list of TimedRun
    """
    for run in contenders.values():
        run(0)
    runs = {name: [] for name in contenders}
    for seed in range(n_runs):
        for name, run in contenders.items():
            runs[name].append(time_call(run, seed))
    return runs


def median_seconds(runs):
    """Median CPU seconds of a contender's runs."""
    return median(run.seconds for run in runs)


def load_seconds():
    """Seconds that each benchmark took in its last full run on this machine, by name."""
    return json.loads(SECONDS_FILE.read_text()) if SECONDS_FILE.is_file() else {}


def store_seconds(name, seconds):
    """Store the seconds of a benchmark, for the index of the papers."""
    SECONDS_FILE.parent.mkdir(exist_ok=True)
    SECONDS_FILE.write_text(json.dumps(load_seconds() | {name: seconds}))
