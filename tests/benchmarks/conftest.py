"""Tests of the benchmarks are slow: few changes to the package concern them."""

import os
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    folder = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.slow)
