import numpy as np
import pytest

from benchmarks.scale import spectral_large
from benchmarks.scale.spectral_large import (
    CASES,
    DENSE_BOUNDS,
    SEPARATED,
    compare_dense,
    embed_adult,
    embed_separated,
    fit_adult,
    fit_bulk,
)
from benchmarks.spectral_cases import adult_rows, dense_sbm, sparse_sbm
from benchmarks.subprocesses import run_module
from benchmarks.timing import QUICK
from skfair.cluster import fair_embedding


def test_only_the_separated_graph_has_eigenvalues_above_the_bulk():
    def smallest(probabilities):
        graph = sparse_sbm(8000, 20, probabilities)
        result = fair_embedding(
            graph.affinity, sensitive_features=graph.codes, n_components=20, random_state=0
        )
        return result.eigenvalues[-1]

    bulk = 2 / np.sqrt(20)  # about the spectral radius of a random graph of degree 20
    assert smallest(SEPARATED) > 1.2 * bulk
    assert smallest(None) < 1.05 * bulk


def test_records_of_an_embedding_and_a_fit():
    embedded = embed_separated(1000)
    assert embedded["problem"] == "separated SBM"
    assert embedded["status"] == "converged"
    assert embedded["|C'H|"] < 1e-6
    assert 0 < embedded["GB before"] <= embedded["peak GB"]
    fitted = fit_bulk(1000)
    assert fitted["status"] == "feasible"
    assert fitted["relative balance"] > 0.6
    for name in ("CPU s", "peak GB"):
        assert embedded[name] > 0
        assert fitted[name] > 0


def test_adult_is_fitted_without_its_kernel():
    try:
        adult_rows(10)
    except OSError:
        pytest.skip("the data are not on this disk")
    for record in (embed_adult(700), fit_adult(700)):
        assert (record["n"], record["k"]) == (700, 25)
        assert record["status"] in ("converged", "feasible")


def test_a_case_runs_in_its_own_process():
    assert run_module("benchmarks.scale.spectral_large", "embedding", 700)["n"] == 700


def test_dense_embeddings_are_timed_against_the_default():
    rows = compare_dense(dense_sbm(800), 4)
    assert {row["what"] for row in rows} == {*DENSE_BOUNDS, "default"}
    assert [row["ratio"] for row in rows if row["what"] == "default"] == [1]
    assert all(row["CPU s"] > 0 for row in rows)


def test_every_bound_is_checked_on_a_full_run_only(monkeypatch):
    def record_case(module, name, n):
        record = {"problem": name, "what": "nothing", "n": n, "CPU s": 1e6, "peak GB": 1.0}
        return dict.fromkeys(CASES[name].bounds, 1.0) | record

    monkeypatch.setattr(spectral_large, "run_module", record_case)
    monkeypatch.setattr(spectral_large, "_dense", lambda n: [])
    full = spectral_large.spectral_large(QUICK._replace(fraction=1.0))
    assert [record["n"] for record in full.records] == [case.n_samples for case in CASES.values()]
    assert {check.outcome for check in full.checks if "CPU s" in check.what} == {"no"}
    assert {check.outcome for check in full.checks if "peak GB" in check.what} == {"yes"}
    assert spectral_large.spectral_large(QUICK).checks == []
