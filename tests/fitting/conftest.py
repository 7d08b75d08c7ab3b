"""Settings of the tests of fits to partitioned samples."""

import pytest

from skfair._fitting import linear


@pytest.fixture
def no_small_data(monkeypatch):
    """Fit every collection partition by partition, however small it is."""
    monkeypatch.setattr(linear, "_MAX_GATHERED_SAMPLES", 0)
