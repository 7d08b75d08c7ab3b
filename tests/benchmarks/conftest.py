"""Tests of the benchmarks are slow: few changes to the package concern them.

Those of commands mark themselves, because many take less than a second.
"""

import os
from pathlib import Path

import pytest

from benchmarks import record_tables, records, tables


@pytest.fixture(autouse=True)
def record_folders(tmp_path, monkeypatch):
    """Records and pictures of runs on data made up are written to a temporary folder."""
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    monkeypatch.setattr(tables, "FOLDER", tmp_path / "figures")
    monkeypatch.setattr(record_tables, "FOLDER", tmp_path / "recorded")


def pytest_collection_modifyitems(items):
    folder = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(folder) and item.path.name not in (
            "test_benchmarks.py",
            "test_optimum.py",
            "test_statements.py",
        ):
            item.add_marker(pytest.mark.slow)
