"""What the suite leaves out where an optional package is not installed."""

from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
NEED_TORCH = ROOT / "skfair" / "torch", ROOT / "doc" / "networks.rst"


def pytest_collection_modifyitems(items):
    """Skip the examples that need PyTorch."""
    if find_spec("torch"):
        return
    for item in items:
        if any(item.path.is_relative_to(place) for place in NEED_TORCH):
            item.add_marker(pytest.mark.skip(reason="PyTorch is not installed"))
