"""Settings that every test shares."""

import contextlib
import dataclasses
import doctest
import gc
import hashlib
import importlib
import os
import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings

from tests.covering import cover

# A busy machine may take its time over an example. `make test-all` asks for the thorough profile
# by --hypothesis-profile, and so for as many examples as a test's own settings allow. Both draw the
# same examples in every run, so that a change fails for what it changes; `make test-random` draws
# others.
settings.register_profile("quick", max_examples=6, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=30, deadline=None, derandomize=True)
settings.register_profile("random", max_examples=100, deadline=None, print_blob=True)
settings.load_profile("quick")

QUIET_CLUSTER = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}
"""Settings of Dask without which a cluster uses a tenth of a core while it waits."""

TYPE_OF_NUMPY = re.compile(
    r"\bnp\.(True_|False_|(str_|bytes_|(u?int|float|complex|datetime|timedelta)\d+|longdouble)\()"
)
"""How numpy 2 writes its scalars, as in np.float64(0.5)."""

# Figures are drawn into memory; this must be said before matplotlib is imported.
os.environ.setdefault("MPLBACKEND", "Agg")


def pytest_collection(session):
    """Import test files from the last on in every other worker: each compiles half of the files.

    Without bytecode, as in a fresh clone, every worker would compile all.
    """
    worker = getattr(session.config, "workerinput", {}).get("workerid", "gw0")
    if int(worker.removeprefix("gw")) % 2 and not sys.dont_write_bytecode:
        for path in sorted(Path(__file__).parent.rglob("test_*.py"), reverse=True):
            parts = path.relative_to(session.config.rootpath).with_suffix("").parts
            # Collection reports what cannot be imported.
            with contextlib.suppress(Exception, pytest.skip.Exception):
                importlib.import_module(".".join(parts))


@pytest.fixture(scope="session", autouse=True)
def refuse_types_of_numpy_in_messages():
    """Fail tests that expect an error whose message writes 'a' as np.str_('a')."""
    leave = pytest.RaisesExc.__exit__

    def leave_and_check(context, kind, error, traceback):
        is_expected = leave(context, kind, error, traceback)
        if is_expected and TYPE_OF_NUMPY.search(str(error)):
            pytest.fail(f"The message shows types of numpy: {error}")
        return is_expected

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pytest.RaisesExc, "__exit__", leave_and_check)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Collect the functions of test files; their docstrings have no examples."""
    return [one for one in (yield) if isinstance(one, pytest.Module)]


def pytest_pycollect_makeitem(collector, name, obj):
    """Make no items of slow tests where these are left out: thousands of parameters."""
    if collector.config.option.markexpr != "not slow" or not name.startswith("test"):
        return None
    marks = getattr(obj, "pytestmark", ())
    is_slow = any(mark.name == "slow" for mark in marks) or collector.get_closest_marker("slow")
    return [] if is_slow else None


def pytest_collection_modifyitems(items):
    """Mark as slow what ``covering(t)`` leaves of a test, and tests that need a cluster."""
    cases = defaultdict(list)
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
        marker = item.get_closest_marker("covering")
        if marker and hasattr(item, "callspec") and not item.get_closest_marker("slow"):
            cases[item.nodeid.partition("[")[0], *marker.args].append(item)
    for (_, strength), same_test in cases.items():
        chosen = set(cover([item.callspec.params for item in same_test], strength))
        for i, item in enumerate(same_test):
            if i not in chosen:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def cluster():
    """A Dask cluster of two processes, one per session: it takes seconds to start."""
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    with (
        dask.config.set(QUIET_CLUSTER),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", processes=True
        ) as cluster,
    ):
        yield cluster
    gc.collect()  # connections to killed workers, while warnings of that are ignored


@pytest.fixture(scope="module")
def connection(cluster):
    """A client of the cluster, closed with its module: other tests fit without a client."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster) as connection:
        yield connection


@pytest.fixture
def client(cluster, connection):
    """A client of a cluster that has both workers; without them the test fails at once."""
    if cluster.status.name == "running":
        try:
            connection.wait_for_workers(2, timeout=60)
        except TimeoutError:
            cluster.close()
    if cluster.status.name != "running":
        pytest.fail("The Dask cluster of the tests lost its workers and did not restart them.")
    return connection


@pytest.fixture(scope="module")
def local_client():
    """A client of a Dask cluster within this process."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(processes=False, dashboard_address=":0") as client:
        yield client


@pytest.fixture
def enable_routing():
    """Metadata is routed while the test runs."""
    sklearn = importlib.import_module("sklearn")
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def sources():
    """The tables of public files whose data sets are tested."""
    from skfair.datasets._fetch import SOURCES  # the process that starts the workers needs none

    return [SOURCES]


@pytest.fixture
def replace_file(tmp_path, monkeypatch, sources):
    """Put a small text in the place of a public file, below SKFAIR_DATA."""
    monkeypatch.setenv("SKFAIR_DATA", str(tmp_path))

    def put(name, text):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        table = next(table for table in sources if name in table)
        monkeypatch.setitem(table, name, dataclasses.replace(table[name], sha256=digest))

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
