"""Collection of tests: what is left out without an optional package or real data, and speed."""

import gc
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
NEED = {
    "torch": (ROOT / "skfair" / "torch", ROOT / "doc" / "networks.rst"),
    "distributed": (
        ROOT / "doc" / "large_data.rst",
        ROOT / "skfair" / "partitions" / "_collections.py",
        ROOT / "skfair" / "partitions" / "_dask.py",
        ROOT / "skfair" / "groups" / "_samples.py",
    ),
}
"""Examples that need an optional package, by its name."""

REAL_DATA = {ROOT / "doc" / "index.rst": "adult/adult.data"}
"""Pages that read real data, by the file in the folder that SKFAIR_DATA names."""

collect_ignore = [] if find_spec("torch") else ["skfair/torch/_outputs.py"]
"""Modules that cannot be imported without an optional package."""


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Hide the tests from the garbage collector: a million objects, which live to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    """Let Dask compute by itself again, where clients were closed in another order than opened."""
    try:
        return (yield)
    finally:
        if distributed := sys.modules.get("distributed"):
            try:
                distributed.default_client()
            except ValueError:  # there is none, but each client restores the scheduler it found
                sys.modules["dask"].config.set(scheduler=None)


def pytest_collection_modifyitems(items):
    """Skip what needs a package, or a scikit-learn with callbacks, that is not installed."""
    skip = pytest.mark.skip(reason="callbacks came with scikit-learn 1.9")
    for item in () if find_spec("sklearn.callback") else items:
        if item.get_closest_marker("callbacks"):
            item.add_marker(skip)
    for package, places in NEED.items():
        if find_spec(package):
            continue
        skip = pytest.mark.skip(reason=f"{package} is not installed")
        files = {item.path for item in items}  # far fewer than items
        left_out = {file for file in files if any(map(file.is_relative_to, places))}
        for item in items:
            if item.path in left_out:
                item.add_marker(skip)
    for item in items:
        file = REAL_DATA.get(item.path)
        if file and not Path(os.environ.get("SKFAIR_DATA", ""), file).is_file():
            item.add_marker(pytest.mark.skip(reason=f"{file} is not in SKFAIR_DATA"))
