import dataclasses
import doctest
import hashlib
import os
from pathlib import Path

import pytest

from skfair.datasets._fetch import SOURCES


@pytest.fixture
def replace_file(tmp_path, monkeypatch):
    """Put a small text in the place of a public file, below SKFAIR_DATA."""
    monkeypatch.setenv("SKFAIR_DATA", str(tmp_path))

    def put(name, text):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        monkeypatch.setitem(SOURCES, name, dataclasses.replace(SOURCES[name], sha256=digest))

    return put


@pytest.fixture
def real_data():
    """Skip a test unless SKFAIR_DATA has these files; give the folder."""

    def folder_with(*paths):
        folder = Path(os.environ.get("SKFAIR_DATA") or "no such folder")
        for path in paths:
            if not (folder / path).is_file():
                pytest.skip(f"{path} is not in SKFAIR_DATA")
        return folder

    return folder_with


@pytest.fixture
def run_example():
    """Run a docstring's example, the lines that need data included."""

    def run(function):
        (example,) = doctest.DocTestFinder(recurse=False).find(function, function.__name__)
        for line in example.examples:
            line.options.pop(doctest.SKIP, None)
        assert doctest.DocTestRunner().run(example).failed == 0

    return run
