import warnings

import pandas as pd
import pytest

from benchmarks.datasets import BENCHMARKS, graphs, load_benchmark
from skfair.datasets._generators import adjacency_matrix

FILES = ("lastfm/lastfm_asia_edges.csv", "lastfm/lastfm_asia_target.csv")

EDGES = "node_1,node_2\n0,1\n1,2\n3,4\n2,5\n"
COUNTRIES = "id,target\n0,8\n1,17\n2,17\n3,8\n4,8\n5,3\n"


@pytest.fixture
def small(replace_file, monkeypatch):
    replace_file("lastfm/lastfm_asia_edges.csv", EDGES)
    replace_file("lastfm/lastfm_asia_target.csv", COUNTRIES)
    monkeypatch.setattr(graphs, "MIN_USERS", 2)


def test_small_countries_go_before_the_component_is_taken(small):
    graph = load_benchmark("lastfm_asia")
    assert graph.node_ids.tolist() == [0, 1, 2]
    assert graph.sensitive_features.tolist() == [8, 17, 17]
    assert graph.adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_all_users(small):
    graph = load_benchmark("lastfm_asia", subset="all")
    assert graph.node_ids.tolist() == [0, 1, 2, 3, 4, 5]
    assert graph.adjacency.nnz == 8
    assert graph.sensitive_features.cat.categories.tolist() == [3, 8, 17]


def test_unknown_subset(small):
    with pytest.raises(ValueError, match="'connected', 'all'; got 'clean'"):
        load_benchmark("lastfm_asia", subset="clean")


def test_real_counts(real_data):
    real_data(*FILES)
    graph = load_benchmark("lastfm_asia")
    assert graph.adjacency.shape == (5576, 5576)
    assert graph.adjacency.nnz == 2 * 19587
    everyone = load_benchmark("lastfm_asia", subset="all")
    assert everyone.adjacency.shape == (7624, 7624)
    assert everyone.adjacency.nnz == 2 * 27806
    assert everyone.sensitive_features.nunique() == 18
    assert everyone.sensitive_features.value_counts().head(3).to_dict() == {
        17: 1572,
        10: 1303,
        0: 1098,
    }


def test_real_graph_equals_the_published_one(real_data):
    files = "lastfm/lastfm_clean_edges.csv", "lastfm/lastfm_clean_countries.csv"
    folder = real_data(*FILES, *files)
    graph = load_benchmark("lastfm_asia")
    edges, countries = (pd.read_csv(folder / file, header=None).to_numpy() for file in files)
    published = adjacency_matrix(*edges.T, len(countries))
    ours = pd.Index(countries[:, 0]).get_indexer(graph.node_ids)
    assert (published[ours][:, ours] != graph.adjacency).nnz == 0
    assert (countries[ours, 1] == graph.sensitive_features).all()


def test_real_example(real_data, run_example):
    real_data(*FILES)
    with warnings.catch_warnings(action="error"):
        run_example(BENCHMARKS["lastfm_asia"])
