"""Runs that are kept on disk, one file each: whoever stops a benchmark goes on where it stood."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "records"
"""Where records are written; git ignores it. Deleting a file has its run made anew."""


class Run(NamedTuple):
    """One run of a method on a problem."""

    problem: str
    method: str
    seed: int
    settings: str  # of the method; a record of other settings is not taken
    make: Callable  # () -> the record, a dict that JSON can hold

    @property
    def key(self):
        """What the run is known by."""
        return self.problem, self.method, self.seed

    def path(self, study):
        """The file of the record."""
        name = "-".join(map(str, self.key))
        name = "".join(c if c.isalnum() or c in "-." else "_" for c in name)
        return FOLDER / study / f"{name}.json"


def recorded(study, runs, budget):
    """Records of runs by their keys; those that no file has are made, in the order of the runs.

    Parameters
    ----------
    study : str
        What the runs belong to.
    runs : iterable of Run
        The runs.
    budget : Budget
        With ``recorded_only``, nothing is made.

    Returns
    -------
    records : dict
        Of the runs that are done. Ctrl-C ends the making; what was made before is returned.
    """
    found, may_make = {}, not budget.recorded_only
    for run in runs:
        record = _read(run, study)
        if record is None and may_make:
            try:
                record = _made(run, study)
            except KeyboardInterrupt:
                may_make = False
        if record is not None:
            found[run.key] = record
    return found


def _read(run, study):
    """The record of a run; None if there is none of its settings."""
    path = run.path(study)
    if not path.exists():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    return kept["record"] if kept["settings"] == run.settings else None


def _made(run, study):
    record, path = run.make(), run.path(study)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written beside and moved, so that whoever is stopped leaves no half of a record.
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps({"settings": run.settings, "record": record}), encoding="utf-8")
    beside.replace(path)
    return record
