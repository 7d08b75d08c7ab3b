"""Settings that every test shares."""

import gc
import os

import pytest
from hypothesis import settings

# A busy machine may take its time over an example.
settings.register_profile("suite", max_examples=50, deadline=None)
settings.load_profile("suite")

# Figures are drawn into memory; this must be said before matplotlib is imported.
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(scope="module")
def client():
    """Whoever asks a Dask cluster of two processes."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", processes=True
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
    gc.collect()  # connections to those who were killed, while warnings of that are ignored
