import pytest

from benchmarks.datasets.sources import SOURCES


@pytest.fixture
def sources(sources):
    """The tables of public files, with that of the benchmarks."""
    return [*sources, SOURCES]
