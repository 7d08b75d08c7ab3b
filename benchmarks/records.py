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

    def is_in(self, cells):
        """Whether the name of the run contains one of the texts; True if there are none."""
        name = f"{self.problem}, {self.method}, {self.seed}"
        return not cells or any(cell in name for cell in cells)

    def path(self, study):
        """The file of the record."""
        name = "-".join(map(str, self.key))
        name = "".join(c if c.isalnum() or c in "-." else "_" for c in name)
        return FOLDER / study / f"{name}.json"


class RecordFolder(NamedTuple):
    """Records of a study as files that git ignores, one for each run."""

    study: str

    def load(self, run):
        """The stored record of a run; None if there is none with its settings."""
        path = run.path(self.study)
        if not path.exists():
            return None
        stored = json.loads(path.read_text(encoding="utf-8"))
        return stored["record"] if stored["settings"] == run.settings else None

    def save(self, run, record):
        """Store the record of a run."""
        path = run.path(self.study)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, json.dumps({"settings": run.settings, "record": record}))


def replace_text(path, text):
    """Write a temporary file and rename it, so that an interrupt leaves no incomplete file."""
    temporary = path.with_suffix(".part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def load_or_run(study, runs, budget, make_store=RecordFolder):
    """Load the records of runs from disk, and make the missing ones in the order of the runs.

    Parameters
    ----------
    study : str
        Name of the benchmark, and of its folder or table of records.
    runs : iterable of Run
        The runs.
    budget : Budget
        With ``recorded_only``, no run is made. With ``cells``, only the runs whose name contains
        one of the texts.
    make_store : callable, default=RecordFolder
        Where the records of a study are stored: `RecordFolder`, or `RecordTable`.

    Returns
    -------
    records : dict
        Records of the completed runs by key. After Ctrl-C, the records so far are returned.
    """
    records = {}
    may_make = not budget.recorded_only
    store = make_store(study)
    for run in runs:
        record = store.load(run)
        if record is None and may_make and run.is_in(budget.cells):
            try:
                store.save(run, run.make())
                record = store.load(run)
            except KeyboardInterrupt:
                may_make = False
        if record is not None:
            records[run.key] = record
    return records
