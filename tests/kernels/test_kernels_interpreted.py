"""Kernels whose first calls are interpreted: when they are compiled, and equal bits."""

import copy
import sys

import numba
import numpy as np
import pytest

from skfair import _kernels
from skfair._kernels import compile_at_first_call, fair_assignment, interpret_at_first, kmeans
from skfair.classification import PartialParityClassifier
from skfair.cluster import FairKMeans, FairSpectralClustering
from skfair.cluster.kmeans import _repair
from skfair.ranking import rerank

compiled = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


@_kernels.helper
def _inverse(x):
    return 1.0 / x


def sum_of_inverses(values):
    total = 0.0
    for value in values:
        total += _inverse(value)
    return total


@pytest.fixture
def build(monkeypatch, tmp_path):
    """A function that makes the kernel as a new process does, which finds earlier files."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_LOCATOR_CLASSES", raising=False)
    monkeypatch.setattr(_kernels, "MAX_INTERPRETED_STEPS", 10)
    return lambda: interpret_at_first(np.size)(sum_of_inverses)


@compiled
def test_a_kernel_is_compiled_once_its_calls_have_taken_many_steps(build):
    kernel = build()
    values = np.array([1.0, 2.0, 0.0, -4.0])
    for n_signatures in (0, 1, 1):
        assert kernel(values) == np.inf  # and no error, nor a warning, of the division
        assert kernel(values[:2]) == 1.5
        assert len(kernel.kernel.signatures) == n_signatures


@compiled
def test_a_call_of_many_steps_is_compiled_at_once(build):
    kernel = build()
    assert kernel(np.ones(11)) == 11.0
    assert len(kernel.kernel.signatures) == 1


@compiled
def test_a_stored_kernel_is_loaded_at_its_first_call(build):
    with compile_at_first_call():
        assert build()(np.ones(2)) == 2.0
    kernel = build()
    assert kernel(np.ones(2)) == 2.0
    assert sum(kernel.kernel.stats.cache_hits.values()) == 1


@compiled
def test_without_a_cache_no_file_is_read(build, monkeypatch):
    monkeypatch.setattr(_kernels, "CACHE_ON_DISK", False)
    kernel = build()
    assert kernel(np.ones(2)) == 2.0
    assert not kernel.kernel.signatures


@pytest.mark.covering(1)
@compiled
@pytest.mark.parametrize("n_samples", [40, 400])
@pytest.mark.parametrize("n_groups", [2, 4])
def test_interpreted_and_compiled_kernels_fit_the_same_bits(n_samples, n_groups):
    rng = np.random.default_rng(n_groups)
    groups = rng.integers(n_groups, size=n_samples)
    X = rng.normal(size=(n_samples, 4)) + groups[:, np.newaxis]

    def fit():
        model = FairKMeans(3, min_share_ratio=0.7, random_state=0)
        return model.fit(X, sensitive_features=groups)

    with compile_at_first_call():
        expected = fit()
    with pytest.MonkeyPatch.context() as patch:
        for module, name, function in interpreted_functions():
            patch.setattr(module, name, function)
        interpreted = fit()
    for name in ("labels_", "cluster_centers_", "offsets_", "assignment_lower_bound_"):
        np.testing.assert_array_equal(getattr(interpreted, name), getattr(expected, name))


@pytest.mark.slow
@compiled
@pytest.mark.filterwarnings("ignore")
def test_every_interpreted_kernel_gives_the_bits_of_the_compiled_one(monkeypatch):
    kernels = {
        id(value): value
        for name, module in sys.modules.items()
        if name.startswith("skfair._kernels.")
        for value in vars(module).values()
        if hasattr(value, "kernel")
    }
    n_compared = dict.fromkeys(kernels, 0)

    def compare_both(kernel):
        def run(*args):
            if n_compared[id(kernel)] < 3:
                n_compared[id(kernel)] += 1
                in_python, by_numba = copy.deepcopy(args), copy.deepcopy(args)
                expected = kernel.interpreted(*in_python)
                assert kernel.kernel(*by_numba) == expected
                assert list_arrays(by_numba) == list_arrays(in_python)
            return kernel(*args)

        return run

    for name, module in list(sys.modules.items()):
        if name.startswith("skfair."):
            for attribute, value in list(vars(module).items()):
                if id(value) in kernels:
                    monkeypatch.setattr(module, attribute, compare_both(value))
    rng = np.random.default_rng(0)
    groups = rng.integers(3, size=120)
    X = rng.normal(size=(120, 3)) + groups[:, np.newaxis]
    for model in (
        FairKMeans(3, min_share_ratio=0.7, random_state=0),
        FairKMeans(4, random_state=0),
        FairSpectralClustering(3, random_state=0),
        FairSpectralClustering(3, min_share_ratio=0.9, random_state=0),
    ):
        model.fit(X, sensitive_features=groups)
    y = X.sum(axis=1) > 1.0
    weights = rng.random(120)
    for sample_weight in (None, weights):
        PartialParityClassifier(tolerance=0.6).fit(
            X.round(1), y, sensitive_features=groups, sample_weight=sample_weight
        )
    bounds = {"k": 4, "minimum": {0: [1, 1, 2, 2]}}
    rerank([1.5, 2, 3, 4], [0] * 4, sensitive_features=[0, 0, 1, 1], **bounds)
    missing = [kernels[key].__name__ for key, count in n_compared.items() if not count]
    assert not missing


def list_arrays(values):
    """The bits of all arrays in nested tuples."""
    if isinstance(values, tuple):
        return [bits for value in values for bits in list_arrays(value)]
    return [(values.dtype, values.tobytes()) if isinstance(values, np.ndarray) else values]


def interpreted_functions():
    """The kernels of clusterings that may be interpreted, as functions of Python."""
    names = {
        fair_assignment: [
            "_raise_balance",
            "kkt_residual",
            "_take_newton_step",
            "_compute_offsets",
        ],
        kmeans: ["_fill_partner_bounds", "_exchange_pass", "_find_improvable_samples"],
        _repair: ["hartigan_pass"],
    }
    return [
        (module, name, getattr(module, name).__wrapped__)
        for module, listed in names.items()
        for name in listed
    ]


def test_newton_steps_of_many_groups_are_compiled_though_few_samples_are_tied():
    # 16 steps over the offsets of 60 groups in 5 clusters, twice, and 60 * 60 multipliers of each.
    n_clusters, n_groups = 5, 60
    multipliers = fair_assignment.Multipliers(
        np.zeros((n_clusters, n_groups, n_groups)), np.zeros((n_clusters, 0))
    )
    ties = fair_assignment.list_ties(np.zeros((n_groups, n_clusters, n_clusters)))
    counts = np.zeros((n_clusters, n_groups))
    n_steps = fair_assignment._count_newton_steps(multipliers, counts, ties)
    assert n_steps == 16 * 2 * 300 + 18_000
