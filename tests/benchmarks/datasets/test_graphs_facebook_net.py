import warnings

import pandas as pd
import pytest

from benchmarks.datasets import BENCHMARKS, load_benchmark
from skfair.datasets._generators import adjacency_matrix

FILES = ("facebooknet/Facebook-known-pairs_data_2013.csv", "facebooknet/metadata_2013.txt")

PAIRS = "1 2 1\n1 3 0\n2 4 1\n4 5 1\n"
STUDENTS = "5\tPC\tF\n4\tPC\tUnknown\n1\tPC\tM\n2\tMP\tF\n3\tMP\tM\n"


@pytest.fixture
def small(replace_file):
    replace_file(FILES[0], PAIRS)
    replace_file(FILES[1], STUDENTS)


def test_only_friends_of_known_gender_are_linked(small):
    graph = load_benchmark("facebook_net", subset="all")
    assert graph.node_ids.tolist() == [5, 1, 2, 3]
    assert graph.sensitive_features.tolist() == ["F", "M", "F", "M"]
    rows, cols = graph.adjacency.nonzero()
    assert sorted(zip(rows.tolist(), cols.tolist(), strict=True)) == [(1, 2), (2, 1)]


def test_largest_component(small):
    graph = load_benchmark("facebook_net")
    assert graph.node_ids.tolist() == [1, 2]
    assert graph.adjacency.toarray().tolist() == [[0, 1], [1, 0]]


def test_unknown_subset(small):
    with pytest.raises(ValueError, match="'connected', 'all'; got None"):
        load_benchmark("facebook_net", subset=None)


def test_real_counts(real_data):
    real_data(*FILES)
    graph = load_benchmark("facebook_net")
    assert graph.adjacency.shape == (155, 155)
    assert graph.adjacency.nnz == 2 * 1412
    everyone = load_benchmark("facebook_net", subset="all")
    assert everyone.adjacency.nnz == 2 * 1412
    assert everyone.sensitive_features.value_counts().to_dict() == {"M": 176, "F": 146}


def test_real_graph_equals_the_published_one(real_data):
    files = "facebooknet/friendship_clean.csv", "facebooknet/group_clean.csv"
    folder = real_data(*FILES, *files)
    graph = load_benchmark("facebook_net", subset="all")
    pairs, gender = (pd.read_csv(folder / file, header=None).to_numpy() for file in files)
    assert graph.node_ids.tolist() == gender[:, 0].tolist()
    assert ((graph.sensitive_features == "M") == gender[:, 1]).all()
    ends = pd.Index(gender[:, 0]).get_indexer(pairs[pairs[:, 2] == 1, :2].ravel()).reshape(-1, 2)
    assert (adjacency_matrix(*ends.T, 322) != graph.adjacency).nnz == 0


def test_real_example(real_data, run_example):
    real_data(*FILES)
    with warnings.catch_warnings(action="error"):
        run_example(BENCHMARKS["facebook_net"])
