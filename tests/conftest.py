"""Settings that every test shares."""

import gc
import os

import pytest

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
