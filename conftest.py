"""What the suite leaves out where an optional package is not installed."""

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
        ROOT / "skfair" / "groups" / "_duplicates.py",
    ),
}
"""Examples that need an optional package, by its name."""


def pytest_collection_modifyitems(items):
    """Skip what needs a package, or a scikit-learn with callbacks, that is not installed."""
    skip = pytest.mark.skip(reason="callbacks came with scikit-learn 1.9")
    for item in () if find_spec("sklearn.callback") else items:
        if item.get_closest_marker("callbacks"):
            item.add_marker(skip)
    for package, places in NEED.items():
        skip = pytest.mark.skip(reason=f"{package} is not installed")
        for item in () if find_spec(package) else items:
            if any(item.path.is_relative_to(place) for place in places):
                item.add_marker(skip)
