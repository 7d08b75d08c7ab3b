"""Blocks of partitions: the results of all on any engine, in one order of addition."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from skfair._partitions import partitions_of
from skfair._partitions.dask import DaskWorkers
from skfair._partitions.partitions import (
    BLOCK_SIZE,
    LocalThreads,
    Partitions,
    Reader,
    make_partitions,
    warn_of_small_partitions,
)


def make_lists(*lengths):
    """Lists of as many blocks, the sum of which depends on the order of addition."""
    rng = np.random.default_rng(0)
    return [[rng.normal(size=3) * 10.0 ** rng.integers(-8, 8) for _ in range(n)] for n in lengths]


LISTS = make_lists(3, 1, 12)


def store(client, lists):
    """An engine whose workers store the lists.

    Keys of their own: Under equal keys, Dask may release the new data with the old.
    """
    return DaskWorkers(client, client.scatter(lists, hash=False))


def engines(client):
    yield LocalThreads(LISTS)
    yield LocalThreads(LISTS, n_jobs=2)
    yield LocalThreads(Reader(LISTS.__getitem__, len(LISTS)))
    yield store(client, LISTS)


def product(one, other, factor):
    return factor * float(one @ other)


def test_every_engine_adds_the_blocks_of_a_partition_first(client):
    of_partitions = [make_partitions(blocks).reduce(np.sum) for blocks in LISTS]
    for engine in engines(client):
        partitions = Partitions(engine)
        assert len(partitions) == 3
        assert partitions.reduce(np.sum) == make_partitions(of_partitions).reduce(float)
        assert partitions.gather(np.sum) == [block.sum() for values in LISTS for block in values]


def test_arguments_are_handed_out_block_by_block(client):
    for engine in engines(client):
        partitions = Partitions(engine)
        cubes = partitions.map(np.power, 3).keep()
        expected = [2.0 * float(block @ block**3) for values in LISTS for block in values]
        assert partitions.gather(product, cubes, 2.0) == expected
        doubled = partitions.map(np.multiply, 2.0)  # computed in the pass, or at once
        assert doubled.reduce(product, cubes, 1.0) == partitions.reduce(product, cubes, 2.0)


def test_blocks_are_concatenated_in_their_order(client):
    for engine in engines(client):
        array = Partitions(engine).map(np.abs).concatenate([9, 3, 36], np.empty(0))
        np.testing.assert_array_equal(np.asarray(array), np.abs(np.ravel(sum(LISTS, []))))


def test_partitions_of_another_engine_are_not_handed_out(client):
    there = Partitions(store(client, LISTS))
    with pytest.raises(TypeError, match=r"Call keep\(\) on both"):
        there.reduce(product, Partitions(LocalThreads(LISTS)), 1.0)


def places(block):
    return block.partition_index, block.first, len(block["X"]), block["X"].iloc[0, 0]


def test_partitions_become_blocks_that_know_their_places(monkeypatch):
    dask = pytest.importorskip("dask")
    dd = pytest.importorskip("dask.dataframe")
    rows = pd.DataFrame({"a": np.arange(2 * BLOCK_SIZE + 10)})
    # Another test of this process may have, or have closed, a client that Dask would ask.
    with dask.config.set(scheduler="threads"):
        frame = dd.from_map(
            lambda start: rows.iloc[start : start + BLOCK_SIZE + 5], [0, BLOCK_SIZE + 5]
        )
    monkeypatch.delitem(sys.modules, "distributed", raising=False)
    with pytest.warns(UserWarning, match="no Dask client"):
        blocks = partitions_of(X=frame)
    assert blocks.gather(places) == [
        (0, 0, BLOCK_SIZE, 0),
        (0, BLOCK_SIZE, 5, BLOCK_SIZE),
        (1, 0, BLOCK_SIZE, BLOCK_SIZE + 5),
        (1, BLOCK_SIZE, 5, 2 * BLOCK_SIZE + 5),
    ]


@pytest.mark.parametrize(
    ("n_partitions", "n_rows", "expected"),
    [(65, 40, 1), (65, 4095, 5), (65, 4096, None), (64, 40, None), (1000, 40, 1)],
)
def test_many_small_partitions_give_a_warning_with_the_number_that_serves(
    n_partitions, n_rows, expected
):
    partitions = Partitions(LocalThreads(Reader(lambda number: [number], n_partitions)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_small_partitions(partitions, [n_rows] * n_partitions)
    messages = [str(one.message) for one in caught]
    assert len(messages) == (expected is not None)
    for message in messages:
        assert f"{n_partitions} partitions of {n_rows} rows" in message
        assert f"npartitions={expected})" in message
    # In memory blocks cost no messages.
    in_memory = make_partitions(range(n_partitions))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_small_partitions(in_memory, [n_rows] * n_partitions)
