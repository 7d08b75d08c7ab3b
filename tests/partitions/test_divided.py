"""Blocks of parts: the answers of all, whoever keeps the parts, in one order of addition."""

import sys

import numpy as np
import pandas as pd
import pytest

from skfair.partitions import BLOCK, Divided, InMemory, OnDask, Stored, partitions_of


def of_lengths(*lengths):
    """Lists of as many blocks, the sum of which depends on the order of addition."""
    rng = np.random.default_rng(0)
    return [[rng.normal(size=3) * 10.0 ** rng.integers(-8, 8) for _ in range(n)] for n in lengths]


LISTS = of_lengths(3, 1, 12)


def engines(client):
    yield InMemory(LISTS)
    yield InMemory(LISTS, n_jobs=2)
    yield Stored(LISTS.__getitem__, len(LISTS))
    yield OnDask(client, client.scatter(LISTS))


def product(one, other, factor):
    return factor * float(one @ other)


def test_every_engine_adds_the_blocks_of_a_part_first(client):
    of_parts = [InMemory(blocks).total(np.sum) for blocks in LISTS]
    for lists in engines(client):
        divided = Divided(lists)
        assert len(divided) == 16
        assert divided.total(np.sum) == InMemory(of_parts).total(float)
        assert divided.collect(np.sum) == [block.sum() for own in LISTS for block in own]


def test_what_is_made_of_blocks_is_handed_out_block_by_block(client):
    for lists in engines(client):
        divided = Divided(lists)
        cubes = divided.each(np.power, 3)
        expected = [2.0 * float(block @ block**3) for own in LISTS for block in own]
        assert divided.collect(product, cubes, 2.0) == expected
        assert divided.total(product, cubes.kept(), 2.0) == divided.total(product, cubes, 2.0)


def test_blocks_are_joined_in_their_order(client):
    for lists in engines(client):
        joined = Divided(lists).each(np.abs).kept().joined([3] * 16, np.empty(0))
        np.testing.assert_array_equal(np.asarray(joined), np.abs(np.ravel(sum(LISTS, []))))


def test_parts_of_another_kind_are_not_handed_out():
    with pytest.raises(TypeError, match="must lie where the parts lie"):
        Divided(InMemory(LISTS)).total(product, InMemory(LISTS), 1.0)


def places(block):
    return block.number, block.start, len(block["X"]), block["X"].iloc[0, 0]


def test_partitions_become_blocks_that_know_their_places(monkeypatch):
    dd = pytest.importorskip("dask.dataframe")
    monkeypatch.delitem(sys.modules, "distributed", raising=False)
    rows = pd.DataFrame({"a": np.arange(2 * BLOCK + 10)})
    people = dd.from_map(lambda start: rows.iloc[start : start + BLOCK + 5], [0, BLOCK + 5])
    with pytest.warns(UserWarning, match="no Dask client"):
        blocks = partitions_of(X=people)
    assert blocks.collect(places) == [
        (0, 0, BLOCK, 0),
        (0, BLOCK, 5, BLOCK),
        (1, 0, BLOCK, BLOCK + 5),
        (1, BLOCK, 5, 2 * BLOCK + 5),
    ]
