"""What holds for all kernels: return types, cache files and interrupts."""

import gc
import importlib
import os
import pickle
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from threading import Condition
from time import perf_counter

import numba
import numpy as np
import pytest
from numba.core import types
from scipy import sparse
from sklearn import config_context
from threadpoolctl import threadpool_limits

import skfair
from skfair import _kernels
from skfair._utils.fit import restore_on_failure
from skfair._warm_up import check_stored_kernels
from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.cluster import AlternatingSwaps, FairKMeans, FairSpectralClustering, cluster_front
from skfair.regression import PartialParityRegressor

timers = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on Windows")
compiled = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


class Front:
    def fit(self, X, y, sensitive_features):
        cluster_front(FairKMeans(3), X, sensitive_features=sensitive_features, n_levels=3)


ESTIMATORS = {
    "k-means": FairKMeans(4, random_state=0),
    "threads": FairKMeans(4, random_state=0, n_jobs=2),
    "front": Front(),
    "alternating": FairKMeans(
        4, min_balance=0.0, algorithm=AlternatingSwaps(n_iter=200), random_state=0
    ),
    "spectral": FairSpectralClustering(4, random_state=0),
    "partial": PartialParityClassifier(tolerance=0.2),
    "regressor": PartialParityRegressor(tolerance=0.2),
    "ERM": ConstrainedERMClassifier(tolerance=0.1),
    "sparse ERM": ConstrainedERMClassifier(tolerance=0.1),
}


def make_data(name, n_samples):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, n_samples)
    X = rng.normal(size=(n_samples, 3))
    X[:, 0] += groups
    y = X.sum(axis=1) + rng.logistic(size=n_samples) > 0.5
    if name == "sparse ERM":
        X = sparse.csr_array(X * (rng.random(X.shape) < 0.4))
    return {"X": X, "y": y, "sensitive_features": groups}


def all_kernels():
    for module in pkgutil.walk_packages(_kernels.__path__, "skfair._kernels."):
        yield from _kernels.kernels_of(importlib.import_module(module.name))


def is_number(returned):
    if isinstance(returned, types.BaseTuple):
        return not isinstance(returned, types.BaseNamedTuple) and all(map(is_number, returned))
    return isinstance(returned, types.Number | types.Boolean | types.NoneType)


@compiled
@pytest.mark.parametrize("name", ESTIMATORS)
def test_kernels_return_numbers(name):
    """numba calls Python to build an array or a struct, and crashes if a signal raises there."""
    ESTIMATORS[name].fit(**make_data(name, 300))
    for kernel in all_kernels():
        for overload in kernel.overloads.values():
            assert is_number(overload.signature.return_type), kernel


@pytest.fixture
def settings_restored():
    """Other packages restore their settings in functions, which an interrupt keeps from running."""
    with config_context(), warnings.catch_warnings(), threadpool_limits():
        yield


@pytest.fixture
def unraisable(monkeypatch, settings_restored):
    """Exceptions that Python discards: an interrupt in a finalizer is not raised."""
    callbacks = gc.callbacks[:]
    exceptions = []
    gc.callbacks.clear()  # of other tools: exceptions in them are discarded too
    monkeypatch.setattr(sys, "unraisablehook", exceptions.append)
    yield exceptions
    gc.callbacks[:] = callbacks


DISCARDING = {"npy_ctypes_check", "_promote_fields", "__len__"}
"""Functions that NumPy calls to convert and to compare; it discards or replaces what they raise."""


@pytest.mark.covering(0)
@timers
@compiled
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_interrupt_at_any_moment_is_raised_and_leaves_the_earlier_fit(name, unraisable):
    estimator = ESTIMATORS[name]
    data = make_data(name, 300 if name == "front" else 1000)
    seconds = -perf_counter()
    estimator.fit(**data)
    seconds += perf_counter()
    # here no fit runs
    interrupts = []
    spared = DISCARDING | {sys._getframe().f_code.co_name}

    def handler(_, frame):
        if frame.f_code.co_name not in spared:
            interrupts.append(frame.f_code)
            raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, handler)
    earlier = pickle.dumps(vars(estimator))
    try:
        for moment in np.linspace(1e-4, 0.9 * seconds, 12):
            interrupts.clear()
            try:
                signal.setitimer(signal.ITIMER_REAL, moment)
                estimator.fit(**data)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                assert pickle.dumps(vars(estimator)) == earlier
            else:
                assert not interrupts or unraisable, "the interrupt was swallowed"
                estimator.fit(**data)
                earlier = pickle.dumps(vars(estimator))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@pytest.fixture(scope="module")
def code_objects():
    """Functions that were interrupted."""
    return set()


@pytest.mark.slow
@compiled
# joblib's threads would wait.
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "threads"])
def test_an_interrupt_in_each_function_is_raised_and_leaves_the_earlier_fit(
    name, unraisable, code_objects
):
    """Timers seldom hit the code in which a library discards exceptions, a microsecond of a fit.

    A function that several fits call is interrupted in the first of them.
    """
    # Interrupted conditions of the standard library raise other errors.
    spared = DISCARDING | set(vars(Condition))
    known = {}

    def interrupt(frame, event, _):
        code = frame.f_code
        if id(code) in known:  # is quicker than to compare code
            return
        known[id(code)] = code
        if code not in code_objects and code.co_name not in spared:
            code_objects.add(code)
            raise KeyboardInterrupt

    estimator = ESTIMATORS[name]
    n_before = len(code_objects)
    # Few functions are called for many samples alone, such as more than the 1,000 up to which
    # points of a front are searched locally.
    for n_samples in (300, 1001):
        data = make_data(name, n_samples)
        estimator.fit(**data)
        earlier = pickle.dumps(vars(estimator))
        n_earlier = -1
        # Every fit but the last is interrupted, each elsewhere.
        while n_earlier < len(code_objects):
            n_earlier = len(code_objects)
            unraisable.clear()
            sys.settrace(interrupt)
            try:
                estimator.fit(**data)
            except KeyboardInterrupt:
                sys.settrace(None)
                assert pickle.dumps(vars(estimator)) == earlier
            else:
                sys.settrace(None)
                assert n_earlier == len(code_objects) or unraisable, "the interrupt was swallowed"
                earlier = pickle.dumps(vars(estimator))
    assert len(code_objects) > max(n_before, 100)


@pytest.mark.slow
@timers
@compiled
def test_an_interrupt_during_compilation_is_raised_and_the_kernel_is_finished():
    source = "\n".join(["def kernel(x):", *[f"    x = x * {i} + 1.5 / x" for i in range(150)]])
    scope = {}
    exec(source + "\n    return x\n", scope)

    def handler(*_):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, handler)
    kernel = numba.njit(error_model="numpy")(scope["kernel"])
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            kernel(2.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert kernel(2.0) == pytest.approx(scope["kernel"](2.0))
    assert len(kernel.signatures) == 1


@pytest.mark.slow
@compiled
def test_a_change_of_any_kernel_file_makes_stored_kernels_stale(tmp_path):
    code = """
import sys
import numpy as np
from skfair._kernels import kmeans
assert kmeans.__file__.startswith(sys.argv[1]), kmeans.__file__
kmeans.nearest_centers(np.zeros((4, 2)), np.zeros((2, 2)))
print(sum(kmeans._assign_nearest.stats.cache_hits.values()))
"""
    sources = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(skfair.__file__).parent, tmp_path / "skfair", ignore=sources)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_CACHE")}
    command = [sys.executable, "-c", code, str(tmp_path)]
    settings = {"cwd": tmp_path, "env": environment | {"PYTHONPATH": str(tmp_path)}}

    def hits():
        done = subprocess.run(command, capture_output=True, text=True, check=True, **settings)
        return int(done.stdout)

    assert [hits(), hits()] == [0, 1]
    with (tmp_path / "skfair" / "_kernels" / "limits.py").open("a") as file:
        file.write("# edited")
    assert hits() == 0


@pytest.mark.slow
@compiled
def test_kernels_are_compiled_where_nothing_can_be_written():
    code = """
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
import numpy as np
from skfair._kernels import kmeans
labels, _ = kmeans.nearest_centers(np.arange(4.0)[:, None], np.array([[0.0], [3.0]]))
assert labels.tolist() == [0, 0, 1, 1]
assert kmeans._assign_nearest.stats.cache_path is None
"""
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_LOCATOR_CLASSES"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@compiled
def test_after_a_warm_up_default_fits_compile_nothing():
    skfair.warm_up()
    assert check_stored_kernels()  # an error if a kernel that was used is not stored
    before = {kernel: set(kernel.signatures) for kernel in all_kernels()}
    for name in ESTIMATORS.keys() - {"alternating"}:
        ESTIMATORS[name].fit(**make_data(name, 400))
    ESTIMATORS["ERM"].fit(**make_data("ERM", 140_000))
    FairKMeans(4, min_share_ratio=0.8, random_state=0).fit(**make_data("k-means", 400))
    assert {kernel: set(kernel.signatures) for kernel in all_kernels()} == before
    of_partitions = {"_bin_members"}
    uncompiled = [kernel for kernel in before if not before[kernel]]
    others = [kernel for kernel in uncompiled if kernel.__name__ not in of_partitions]
    assert all(".literature." in kernel.__module__ for kernel in others)


@compiled
def test_a_verbose_fit_prints_what_is_compiled_for_it(monkeypatch, capsys):
    monkeypatch.setattr(_kernels, "CACHE_ON_DISK", False)

    def _double(x):
        for i in range(x.size):
            x[i] *= 2.0

    class Doubler:
        verbose = 0

        @restore_on_failure(one_blas_thread=False)
        def fit(self, kernel, x):
            kernel(x)

    _double.__module__ = "skfair._kernels.example"
    silent = _kernels.jit(_double)
    verbose = _kernels.jit(_double)
    doubler = Doubler()
    doubler.fit(silent, np.ones(3))
    assert capsys.readouterr().out == ""
    doubler.verbose = 1
    for _ in range(2):
        doubler.fit(verbose, np.ones(3))
    (line,) = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"compiling double, once \(for this process\) \.\.\. \d+\.\d s", line)
