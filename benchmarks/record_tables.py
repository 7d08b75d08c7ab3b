"""Records of long runs as small tables that git keeps, one file for each study."""

import csv
import json
import subprocess
from datetime import date
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from benchmarks import ROOT
from benchmarks.records import RecordFolder, replace_text

FOLDER = Path(__file__).parent / "papers" / "recorded"
"""Where tables are written. Delete a line to repeat its run."""


class RecordTable(NamedTuple):
    """Records of a study as a CSV table, a line for each run, with the commit that made it."""

    study: str

    @property
    def path(self):
        """The file of the table."""
        return FOLDER / f"{self.study}.csv"

    def load(self, run):
        """The stored record of a run; None if there is none with its settings."""
        for line in self._lines():
            if _is_of(line, run) and line["settings"] == run.settings:
                return {
                    key: json.loads(value)
                    for key, value in line.items()
                    if key not in _RUN_COLUMNS and value
                }
        return None

    def save(self, run, record):
        """Store the record of a run in place of an earlier one.

        Raises a ValueError if a key of the record is the name of a column of the run.
        """
        if taken := sorted(record.keys() & set(_RUN_COLUMNS)):
            raise ValueError(f"A record must not have the keys {taken}, which name its run.")
        lines = [line for line in self._lines() if not _is_of(line, run)]
        values = (*run.key, run.settings, _commit(), date.today().isoformat())
        encoded = {key: json.dumps(_shorten(value)) for key, value in record.items()}
        lines.append(dict(zip(_RUN_COLUMNS, values, strict=True)) | encoded)
        columns = dict.fromkeys(key for line in lines for key in line)
        text = StringIO()
        writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(self.path, text.getvalue())

    def _lines(self):
        """The lines of the file, or [] if there is no file."""
        if not self.path.exists():
            return []
        return list(csv.DictReader(StringIO(self.path.read_text(encoding="utf-8"))))


def store_of(budget):
    """Where runs are stored: complete ones in tables, quick ones in files that git ignores."""
    return RecordTable if budget.fraction == 1 else RecordFolder


_RUN_COLUMNS = ("problem", "method", "seed", "settings", "commit", "date")


def _shorten(value):
    """A value of JSON with six significant digits of every number."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _shorten(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_shorten(one) for one in value]
    return value


def _is_of(line, run):
    """Whether a line holds a record of a run, of whatever settings."""
    return (line["problem"], line["method"], line["seed"]) == tuple(map(str, run.key))


def _commit():
    """The commit of the working tree; "unknown" outside a clone."""
    command = ["git", "rev-parse", "--short=10", "HEAD"]
    process = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    return process.stdout.strip() or "unknown"
