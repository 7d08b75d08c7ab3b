"""The passes that the page on kernels lists run compiled, from the sizes that it states."""

import importlib
from pathlib import Path

import numba
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skfair import _kernels
from skfair._fitting import lines
from skfair._kernels import compile_at_first_call
from skfair._problems import problem
from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.cluster import AlternatingSwaps, FairKMeans, FairSpectralClustering

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
PAGE = Path(__file__).parents[2] / "doc" / "makers" / "kernels.rst"


def draw(n_samples):
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=n_samples)
    X = rng.normal(size=(n_samples, 5))
    X[:, 0] += groups
    return X, (X.sum(axis=1) + rng.logistic(size=n_samples) > 0.5).astype(int), groups


def count_calls(monkeypatch, module, function):
    """A list that gets the compiled signatures of the kernel at each of its calls."""
    module = importlib.import_module(f"skfair._kernels.{module}")
    kernel = getattr(module, function)
    calls = []

    def run(*args):
        result = kernel(*args)
        calls.append(getattr(kernel, "kernel", kernel).signatures)
        return result

    monkeypatch.setattr(module, function, run)
    return calls


SWAPS = AlternatingSwaps(n_iter=50)
PASSES = [
    ("kmeans", "_exchange_pass", FairKMeans(3, random_state=0), 200),
    (
        "literature.alternating",
        "_run",
        FairKMeans(3, min_balance=0.0, algorithm=SWAPS, random_state=0),
        200,
    ),
    ("normalized_cut", "exchange_pass", FairSpectralClustering(3, random_state=0), 100),
    ("scores", "_evaluate_block", ConstrainedERMClassifier(tolerance=0.05), 8001),
    (
        "scores",
        "_evaluate_block",
        PartialParityClassifier(interval=(0.1, 0.5), tolerance=0.1),
        8001,
    ),
    ("lines", "_bin_line_flips", ConstrainedERMClassifier(tolerance=0.05), 8001),
    ("lines", "_find_line_points", ConstrainedERMClassifier(tolerance=0.05), 8001),
]


@pytest.mark.slow
@pytest.mark.parametrize(("module", "function", "model", "n_samples"), PASSES)
def test_a_pass_runs_compiled(module, function, model, n_samples, monkeypatch):
    calls = count_calls(monkeypatch, module, function)
    X, y, groups = draw(n_samples)
    with compile_at_first_call():
        model.fit(X, y, sensitive_features=groups)
    assert calls
    assert all(calls)


def test_fits_below_the_sizes_call_no_kernel_of_passes_and_lines(monkeypatch):
    calls = count_calls(monkeypatch, "scores", "_evaluate_block")
    calls_of_lines = count_calls(monkeypatch, "lines", "_bin_line_flips")
    monkeypatch.setattr(lines._Flipped, "total", 0)  # as in a new process
    X, y, groups = draw(1000)
    ConstrainedERMClassifier(tolerance=0.05).fit(X, y, sensitive_features=groups)
    assert not calls
    assert not calls_of_lines


@pytest.mark.slow
def test_small_fits_call_kernels_of_lines_once_a_process_has_counted_many_flips(monkeypatch):
    X, y, groups = draw(1000)
    model = ConstrainedERMClassifier(tolerance=0.05)
    monkeypatch.setattr(lines._Flipped, "total", 0)
    before = model.fit(X, y, sensitive_features=groups)
    coef, intercept = before.coef_, before.intercept_
    calls = count_calls(monkeypatch, "lines", "_find_line_points")
    monkeypatch.setattr(lines._Flipped, "total", lines.MAX_NUMPY_TOTAL + 1)
    model.fit(X, y, sensitive_features=groups)
    assert calls
    assert_array_equal(model.coef_, coef)
    assert_array_equal(model.intercept_, intercept)


def test_the_page_states_passes_and_sizes():
    text = PAGE.read_text(encoding="utf-8")
    for module, function, *_ in PASSES:
        assert f"``{module.replace('.', '/')}.py``, ``{function}``" in text
    for owner, name in (
        (_kernels, "MAX_INTERPRETED_STEPS"),
        (problem, "MAX_NUMPY_STEPS"),
        (lines, "MAX_NUMPY_FLIPS"),
        (lines, "MAX_NUMPY_TOTAL"),
    ):
        line = next(line for line in text.split("* - ") if f"``{name}``" in line)
        assert f"{getattr(owner, name):,}" in line
