"""Measurements in a process of their own: a module that prints a record as JSON, peak memory."""

import json
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks import ROOT

STATUS = Path("/proc/self/status")
"""What Linux says of a process."""


def run_module(module, *arguments, environment=None):
    """Run ``python -m module arguments`` in a new process and return the JSON that it prints."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    process = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(process.stdout)


def median_record(module, *arguments, n_runs):
    """Medians of the records of several processes; a text is that of the first."""
    records = [run_module(module, *arguments) for _ in range(n_runs)]
    return {
        key: value if isinstance(value, str) else median(record[key] for record in records)
        for key, value in records[0].items()
    }


def peak_gigabytes():
    """Peak memory of this process so far, without that of the process which started it.

    Linux counts the memory of the parent, of which a new process is a copy at first, in ru_maxrss.
    """
    if STATUS.exists():
        return _status_gigabytes("VmHWM")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def reset_peak():
    """Start the peak of this process again, which only Linux can; return what it has now."""
    if not STATUS.exists():
        return peak_gigabytes()
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    return _status_gigabytes("VmRSS")


def _status_gigabytes(name):
    """A size in the status of this process."""
    lines = dict(line.split(":", 1) for line in STATUS.read_text("utf-8").splitlines())
    return int(lines[name].split()[0]) * 1024 / 1e9
