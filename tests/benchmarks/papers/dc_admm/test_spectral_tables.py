from math import isnan, nan

import numpy as np
import pytest
from scipy import sparse

from benchmarks import spectral_cases
from benchmarks.papers.dc_admm import spectral_tables
from benchmarks.papers.dc_admm.printed_numbers import (
    DC_ADMM,
    O_FSC,
    PUBLISHED,
    S_FSC,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_5,
    TABLE_6,
    TABLE_7,
    TABLE_8,
)
from benchmarks.papers.dc_admm.spectral_tables import (
    DEFAULT,
    FAST,
    KERNELS,
    METHODS,
    PRINTED_SIZES,
    Problem,
    compare,
    dc_admm_embedding,
    embedding_of,
    quality,
    summarise,
    table_5,
)
from benchmarks.runner import BENCHMARKS
from benchmarks.spectral_cases import Graph, facebook_net, rand_laplace, sparse_sbm
from benchmarks.tables import Report
from benchmarks.timing import QUICK
from skfair.cluster.spectral._eigen_solvers import NormalizedAffinity
from skfair.metrics import normalized_cut


@pytest.fixture(scope="module")
def cliques():
    """Two cliques of four nodes each, half of them of either group, and one link between them."""
    affinity = np.kron(np.eye(2), np.ones((4, 4)))
    affinity[3, 4] = affinity[4, 3] = 1
    return Graph("cliques", affinity, np.arange(8) % 2)


def test_published_speed_ups_are_those_of_the_text():
    o_fsc, s_fsc, dc_admm = TABLE_1[10000]
    assert round(o_fsc / dc_admm) == 54
    assert round(s_fsc / dc_admm) == 12
    speed_ups = {"LastFM": 4.16, "Thyroid RBF": 4.13, "Adult RBF": 8.65, "4area RBF": 6.45}
    for problem, (_, s_fsc, dc_admm) in TABLE_2.items():
        assert s_fsc / dc_admm == pytest.approx(speed_ups[problem], abs=0.01)
    assert TABLE_2.keys() == TABLE_3.keys() == TABLE_8.keys()
    assert all(len(seconds) == len(PUBLISHED) for seconds in TABLE_6.values())


def test_full_sizes_are_those_of_the_paper():
    assert PRINTED_SIZES.sbm == tuple(TABLE_1)
    assert {n for _, n in TABLE_6} == set(PRINTED_SIZES.rand_laplace)
    repeated = {(name, n) for name, sizes in PRINTED_SIZES.repeated.items() for n in sizes}
    assert repeated == set(TABLE_7)
    assert PRINTED_SIZES.largest_exact == max(TABLE_1)


def test_a_stopped_study_shows_the_runs_that_are_done():
    problem = Problem("RandLaplace", 200, lambda: rand_laplace(200))
    (made,) = compare(problem, 3, [S_FSC], (8.0, 6.0, 2.0), budget=QUICK)
    (shown,) = compare(problem, 3, METHODS, budget=QUICK._replace(recorded_only=True))
    assert made["CPU s"] == shown["CPU s"] and shown["method"] == S_FSC
    assert isnan(shown["time / DC-ADMM"])


def test_a_kernel_that_is_not_stored_is_measured_as_the_array(monkeypatch):
    rows = spectral_cases.Rows(
        np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3, 1.0
    )
    stored = spectral_cases._kernel("kernel", rows)
    monkeypatch.setattr(spectral_cases, "LARGEST_STORED", 50)
    tiles = spectral_cases._kernel("kernel", rows)
    assert isinstance(stored.affinity, np.ndarray) and not isinstance(tiles.affinity, np.ndarray)
    for method in (S_FSC, DC_ADMM, DEFAULT):
        one, other = (quality(graph, embedding_of(graph, 4, method)) for graph in (stored, tiles))
        assert one["k - Tr(H'MH)"] == pytest.approx(other["k - Tr(H'MH)"], abs=1e-4)
        assert one["|F'H|^2"] == pytest.approx(other["|F'H|^2"], abs=1e-6)


def test_cuts_are_those_of_the_metric():
    graph = sparse_sbm(300, 3)
    labels = np.arange(300) % 4
    cuts = spectral_tables._cuts(NormalizedAffinity(graph.affinity), [labels, labels // 2])
    assert cuts == pytest.approx(
        [normalized_cut(one, graph.affinity) for one in (labels, labels // 2)]
    )


def test_the_printed_residual_by_hand(cliques):
    """F'H of one column: the sum over a group less its share of the sum over all."""
    h = np.arange(8.0)[:, None] / np.sqrt(140)
    degrees = cliques.affinity.sum(axis=1)
    scaled = h[:, 0] / np.sqrt(degrees)
    expected = sum((scaled[cliques.codes == j].sum() - scaled.sum() / 2) ** 2 for j in (0, 1))
    assert quality(cliques, h)["|F'H|^2"] == pytest.approx(expected)


def test_quality_by_hand(cliques):
    # One embedding column per clique; a clique has volume 17 and cuts one link.
    member = np.kron(np.eye(2), np.ones((4, 1)))
    degrees = cliques.affinity.sum(axis=1, keepdims=True)
    figures = quality(cliques, np.sqrt(degrees / 17) * member)
    assert figures["cut"] == pytest.approx(2 / 17)
    assert figures["k - Tr(H'MH)"] == pytest.approx(2 / 17)
    assert figures["|C'H|^2"] < 1e-20
    assert figures["balance"] == figures["least balance"] == 1


def test_all_methods_embed_and_are_compared_with_the_paper():
    problem = Problem("RandLaplace", 200, lambda: rand_laplace(200))
    records = compare(problem, 3, METHODS, (8.0, 6.0, 2.0), budget=QUICK)
    rows = {record["method"]: record for record in records}
    assert list(rows) == list(METHODS)
    assert [rows[method]["in the paper"] for method in PUBLISHED] == [4, 3, 1]
    assert isnan(rows[DEFAULT]["in the paper"])
    assert rows[DC_ADMM]["time / DC-ADMM"] == 1
    exact = rows[O_FSC]["k - Tr(H'MH)"]
    assert rows[S_FSC]["k - Tr(H'MH)"] == pytest.approx(exact)
    assert rows[DEFAULT]["k - Tr(H'MH)"] == pytest.approx(exact)
    for method in (O_FSC, S_FSC, DEFAULT):
        assert rows[method]["|C'H|^2"] < 1e-10


def test_what_the_paper_does_not_print_is_nan():
    problem = Problem("SBM", 300, lambda: sparse_sbm(300, 3))
    records = compare(problem, 3, FAST, budget=QUICK)
    assert [record["method"] for record in records] == list(FAST)
    assert all(isnan(record["in the paper"]) for record in records)


def test_with_the_shift_of_graphs_dc_admm_reaches_the_largest_eigenvalues():
    graph = rand_laplace(300)
    exact = quality(graph, embedding_of(graph, 5, O_FSC))["k - Tr(H'MH)"]
    figures = quality(graph, dc_admm_embedding(graph, 5))["k - Tr(H'MH)"]
    assert figures == pytest.approx(exact, rel=0.01)


def test_each_penalty_of_table_5_has_a_row():
    rows = table_5().records
    assert [row["method"] for row in rows] == [S_FSC, *[DC_ADMM] * 4]
    assert [row["alpha"] for row in rows[1:]] == list(TABLE_5)
    assert all(row["|H'H - I|^2"] < 1e-20 for row in rows[1:])


def test_a_summary_is_the_range_of_each_methods_ratios():
    def record(method, here, paper=nan):
        return {"method": method, "time / DC-ADMM": here, "in the paper": paper}

    records = [record(S_FSC, 0.5, 4.0), record(S_FSC, 2.0, 3.0), record(DC_ADMM, 1.0, 1.0)]
    rows = summarise(Report("Table 0: nothing.", [*records, record(DEFAULT, 0.1)], []))
    assert rows == [
        {"table": "Table 0", "method": S_FSC, "here": "0.5 to 2", "in the paper": "3 to 4"},
        {"table": "Table 0", "method": DEFAULT, "here": "0.1 to 0.1", "in the paper": ""},
    ]
    without_times = Report("Table 0: nothing.", [{"method": S_FSC}], [])
    assert summarise(without_times) == []


def test_dc_admm_comes_near_the_costs_that_the_paper_prints_for_facebook():
    try:
        graph = facebook_net()
    except OSError:
        pytest.skip("the data are not on this disk")
    cost = quality(graph, dc_admm_embedding(graph, 25))["k - Tr(H'MH)"]
    assert cost == pytest.approx(14.128, rel=0.01)


def test_all_tables_are_printed_and_summarised(monkeypatch):
    names = ["table_5", "table_9", "table_1", "table_6", "tables_2_3_8", "table_7", "figure_3"]
    names.append("kernel_passes")
    for name in names:
        report = Report(f"{name}: found", [{"method": S_FSC, "time / DC-ADMM": 2.0}], [])
        monkeypatch.setattr(spectral_tables, name, lambda *sizes, report=report: report)
    figures = BENCHMARKS["spectral-tables"](QUICK)
    places = [figures.title.index(f"{name}: found") for name in names]
    assert places == sorted(places)
    assert "Table 4: not done" in figures.title
    assert [record["table"] for record in figures.records] == names
    assert {record["here"] for record in figures.records} == {"2 to 2"}


@pytest.fixture
def small_graphs(monkeypatch):
    """Random graphs of 60 nodes in place of all data."""
    graph = rand_laplace(60, (0.5, 0.3, 0.2))
    makers = dict.fromkeys(spectral_tables.MAKERS, lambda n_nodes: graph)
    monkeypatch.setattr(spectral_tables, "MAKERS", makers)
    sparse_graph = graph._replace(affinity=sparse.csr_array(graph.affinity))
    monkeypatch.setattr(spectral_tables, "lastfm", lambda: sparse_graph)


@pytest.mark.usefixtures("small_graphs")
def test_tables_of_real_data_have_a_row_per_problem_and_method():
    sizes = spectral_tables.Sizes((), (), dict.fromkeys(KERNELS, 60), {}, (2, 3), 6000)
    real = spectral_tables.tables_2_3_8(sizes, QUICK).records
    methods = {}
    for row in real:
        methods.setdefault(row["problem"], set()).add(row["method"])
    exact = {name for name, figures in methods.items() if O_FSC in figures}
    assert exact == {"LastFM", "Thyroid RBF"}, "as the paper has it"
    assert methods.keys() == {"LastFM", "LastFM, dense", *KERNELS}
    assert all(isinstance(row["cut / DC-ADMM"], float) for row in real)
    by_k = spectral_tables.figure_3(sizes, QUICK).records
    assert len(by_k) == 4 * 2 * len(FAST) + 2, "of LastFM s-FSC with a sparse matrix, too"


@pytest.mark.usefixtures("small_graphs")
def test_deviations_are_those_of_five_runs():
    sizes = spectral_tables.Sizes((), (), {}, {"Thyroid RBF": (7200,), "LastFM": (60,)}, (), 0)
    rows = spectral_tables.table_7(sizes, QUICK).records
    assert [(row["problem"], row["method"]) for row in rows[: len(FAST)]] == [
        ("Thyroid RBF", method) for method in FAST
    ]
    assert rows[0]["in the paper"] == TABLE_7["Thyroid RBF", 7200][1]
    assert all(row["deviation / mean"] >= 0 and row["mean CPU s"] > 0 for row in rows)
    assert isnan(rows[len(FAST)]["in the paper"]), "of another size the paper has none"


def test_coded_adult_has_the_number_of_columns_and_groups_of_the_paper():
    try:
        rows = spectral_cases.coded_adult_rows()
    except OSError:
        pytest.skip("the data are not on this disk")
    assert rows.X.shape == (32_561, 12) and rows.gamma == 1 / 12
    assert np.unique(rows.codes).tolist() == list(range(7))


def test_runs_on_kernels_in_tiles_are_kept_in_the_repository(monkeypatch, tmp_path):
    monkeypatch.setattr(spectral_tables, "LARGEST_STORED", 50)
    one = Problem("made up", 60, lambda: rand_laplace(60))
    (first,) = compare(one, 2, (DEFAULT,), budget=QUICK)
    assert (tmp_path / "recorded" / "spectral-full.csv").exists()
    assert not (tmp_path / "spectral-tables").exists()
    (again,) = compare(one, 2, (DEFAULT,), budget=QUICK._replace(recorded_only=True))
    texts = {key: value for key, value in first.items() if isinstance(value, str)}
    assert texts == {key: again.pop(key) for key in texts}
    numbers = {key: first[key] for key in again}
    assert again == pytest.approx(numbers, rel=1e-5, nan_ok=True), "to six digits"


def test_passes_over_a_kernel_are_counted():
    kernel = spectral_tables._CountedKernel(np.arange(6.0)[:, None], 1.0)
    expected = spectral_cases.rbf_kernel(kernel.X, gamma=1.0)
    assert kernel.astype(np.float32) @ np.eye(6) == pytest.approx(expected)
    kernel @ np.ones((6, 3))
    assert kernel.n_passes == 2
