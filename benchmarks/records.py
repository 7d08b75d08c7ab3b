"""Runs that are stored on disk, one file each, so that a stopped benchmark can be resumed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "records"
"""Where records are written; git ignores it. Delete a file to repeat its run."""


class Run(NamedTuple):
    """One run of a method on a problem."""

    problem: str
    method: str
    seed: int
    settings: str  # of the method; a record of other settings is ignored
    make: Callable  # () -> the record, a dict that JSON can hold

    @property
    def key(self):
        """Identifier of the run."""
        return self.problem, self.method, self.seed

    def path(self, study):
        """The file of the record."""
        name = "-".join(map(str, self.key))
        name = "".join(c if c.isalnum() or c in "-." else "_" for c in name)
        return FOLDER / study / f"{name}.json"


def load_or_run(study, runs, budget):
    """Load the records of runs from disk, and make the missing ones in the order of the runs.

    Parameters
    ----------
    study : str
        Name of the benchmark, and of its folder of records.
    runs : iterable of Run
        The runs.
    budget : Budget
        With ``recorded_only``, no run is made.

    Returns
    -------
    records : dict
        Records of the completed runs by key. After Ctrl-C, the records so far are returned.
    """
    records, may_make = {}, not budget.recorded_only
    for run in runs:
        record = _load(run, study)
        if record is None and may_make:
            try:
                record = _make_record(run, study)
            except KeyboardInterrupt:
                may_make = False
        if record is not None:
            records[run.key] = record
    return records


def _load(run, study):
    """The stored record of a run; None if there is none with its settings."""
    path = run.path(study)
    if not path.exists():
        return None
    stored = json.loads(path.read_text(encoding="utf-8"))
    return stored["record"] if stored["settings"] == run.settings else None


def _make_record(run, study):
    """Make a run and store its record."""
    record, path = run.make(), run.path(study)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Write a temporary file and rename it, so that an interrupt leaves no incomplete record.
    temporary = path.with_suffix(".part")
    temporary.write_text(json.dumps({"settings": run.settings, "record": record}), encoding="utf-8")
    temporary.replace(path)
    return record
