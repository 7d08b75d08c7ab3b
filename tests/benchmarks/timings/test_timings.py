"""Every timing of the suite for asv runs, on fewer samples."""

import inspect

import pytest

from benchmarks.timings import clusterings, measures, supervised

CLASSES = [
    one
    for module in (clusterings, measures, supervised)
    for name, one in inspect.getmembers(module, inspect.isclass)
    if one.__module__ == module.__name__ and not name.startswith("_")
]


@pytest.mark.parametrize("timed", CLASSES, ids=lambda one: one.__name__)
def test_a_timing_runs(timed, monkeypatch):
    if hasattr(timed, "n_samples"):
        monkeypatch.setattr(timed, "n_samples", 1_000)
    timing = timed()
    parameters = timing.params[:1] if hasattr(timing, "params") else ()
    timing.setup(*parameters)
    calls = [getattr(timing, name) for name in dir(timing) if name.startswith("time_")]
    assert calls
    for call in calls:
        call(*parameters)


def test_the_time_of_an_import_is_that_of_a_statement():
    compile(measures.timeraw_import(), "timed", "exec")
