import numpy as np

from skfair._groups.events import DocumentPairs


def list_pairs(relevance, query):
    n = len(query)
    return {
        (i, j)
        for i in range(n)
        for j in range(n)
        if query[i] == query[j] and relevance[i] > relevance[j]
    }


def test_every_pair_has_one_number():
    rng = np.random.default_rng(0)
    relevance, query = rng.integers(4, size=40), rng.integers(5, size=40)
    pairs = DocumentPairs(relevance, query)
    listed = [tuple(pair) for pair in pairs[np.arange(len(pairs))]]
    assert len(set(listed)) == len(listed)
    assert set(listed) == list_pairs(relevance, query)


def test_selected_pairs_are_those_of_all():
    rng = np.random.default_rng(1)
    pairs = DocumentPairs(rng.integers(3, size=30), rng.integers(4, size=30))
    subset = rng.permutation(len(pairs))[:10]
    np.testing.assert_array_equal(pairs[subset], pairs[np.arange(len(pairs))][subset])


def test_no_pairs_where_all_are_equal():
    assert len(DocumentPairs(np.ones(4), np.array([0, 0, 1, 1]))) == 0
