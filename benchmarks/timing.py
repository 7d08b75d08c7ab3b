"""CPU seconds on one thread, after a warm-up, contenders in turns.

CPU time is what a run takes on an idle machine, and other people's load hardly disturbs it.
"""

import json
from statistics import median
from time import process_time
from typing import NamedTuple

from benchmarks.tables import FOLDER

TAKEN = FOLDER / "seconds.json"
"""Seconds that whole benchmarks took on this machine, by name."""


class Budget(NamedTuple):
    """How much to measure."""

    n_runs: int  # runs with the seeds 0, 1, ...; timings are their medians
    share: float  # of the iterations that a paper reports
    recorded_only: bool = False  # make no run that could be recorded; show what records there are


FULL = Budget(n_runs=5, share=1.0)
QUICK = Budget(n_runs=1, share=0.1)


class Timed(NamedTuple):
    """What a run returned, and how long it took."""

    result: object
    seconds: float


def timed(run, *arguments):
    """Run a function once and take its CPU time."""
    start = process_time()
    result = run(*arguments)
    return Timed(result, process_time() - start)


def in_turns(contenders, n_runs):
    """Run contenders in turns, so that a change in the machine's speed hits all of them.

    Parameters
    ----------
    contenders : dict of str to callable
        Functions of a seed.
    n_runs : int
        Runs of each, with the seeds 0, 1, ..., n_runs - 1. A first one warms up and is not counted.

    Returns
    -------
    runs : dict of str to list of Timed
    """
    for run in contenders.values():
        run(0)
    runs = {name: [] for name in contenders}
    for seed in range(n_runs):
        for name, run in contenders.items():
            runs[name].append(timed(run, seed))
    return runs


def median_seconds(runs):
    """Median time of a contender's runs."""
    return median(run.seconds for run in runs)


def seconds_taken():
    """What whole benchmarks took here when they were last run: dict of str to float."""
    return json.loads(TAKEN.read_text()) if TAKEN.is_file() else {}


def note_seconds(name, seconds):
    """Keep what a benchmark took, for the index of the papers."""
    TAKEN.parent.mkdir(exist_ok=True)
    TAKEN.write_text(json.dumps(seconds_taken() | {name: seconds}))
