"""Sums over partitions, the same to the bit for any number of threads."""

import operator
import os
import threading
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_info

from skfair._partitions.partitions import (
    BLOCK_SIZE,
    LocalThreads,
    Partitions,
    Reader,
    blocks,
    make_partitions,
    n_threads_of,
)


def moments(rows, power=1):
    return len(rows), ((rows**power).sum(axis=0), rows.T @ rows)


def numbers(n_parts, seed=0):
    """Partitions with sums that depend on the order of addition."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(5, 3)) * 10.0 ** rng.integers(-8, 8) for _ in range(n_parts)]


def make_lazy_partitions(read, n_partitions):
    """Partitions of one block each, read for every pass."""
    return Partitions(LocalThreads(Reader(lambda number: [read(number)], n_partitions)))


def same_bits(one, other):
    flat = [np.concatenate([np.ravel(n), np.ravel(a), np.ravel(b)]) for n, (a, b) in (one, other)]
    return np.array_equal(*flat)


def sum_by_eights(values):
    if len(values) == 1:
        return values[0]
    return sum_by_eights(
        [reduce(operator.add, values[i : i + 8]) for i in range(0, len(values), 8)]
    )


@given(st.integers(1, 150))
def test_neighbours_are_added_by_eights(n_parts):
    rows = numbers(n_parts)
    result = make_partitions(rows).reduce(moments, 2)
    assert result[0] == 5 * n_parts
    assert np.array_equal(result[1][0], sum_by_eights([(part**2).sum(axis=0) for part in rows]))


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_any_number_of_threads_gives_the_same_bits(n_jobs):
    rows = numbers(77)
    assert same_bits(
        make_partitions(rows).reduce(moments), make_partitions(rows, n_jobs).reduce(moments)
    )


def test_partitions_that_are_read_give_the_bits_of_those_in_memory_in_every_pass():
    rows = numbers(20)
    numbers_read = []

    def read_rows(number):
        numbers_read.append(number)
        return rows[number]

    partitions = make_lazy_partitions(read_rows, len(rows))
    assert same_bits(partitions.reduce(moments), make_partitions(rows).reduce(moments))
    squares = partitions.map(np.square)
    assert numbers_read == list(range(20))  # nothing is computed before it is needed
    assert same_bits(squares.reduce(moments), make_partitions(rows).map(np.square).reduce(moments))
    assert numbers_read == 2 * list(range(20))


def test_cached_partitions_are_read_once():
    read = []
    mapped = make_lazy_partitions(lambda number: read.append(number) or np.ones(number), 3).map(
        np.cumsum
    )
    assert mapped.persist() is mapped  # there are no workers
    cached = mapped.keep()
    assert cached.keep() is cached
    assert cached.reduce(np.sum) == cached.reduce(np.sum) == 1 + (1 + 2)
    assert read == [0, 1, 2]


def test_results_come_in_the_order_of_the_partitions():
    partitions = make_partitions(np.arange(40), n_jobs=4)
    assert len(partitions) == 40
    assert partitions.gather(operator.add, 1) == list(range(1, 41))
    assert partitions.map(operator.neg).gather(operator.pos) == [-i for i in range(40)]


def test_the_only_block_in_memory_takes_the_shortest_way():
    one = make_partitions([np.arange(3.0)])
    assert one.map(np.square).reduce(np.dot, one) == 0 + 1 + 8
    assert one.gather(np.sum) == [3.0]
    np.testing.assert_array_equal(one.concatenate([3], np.empty(0)), [0, 1, 2])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_arguments_in_partitions_are_handed_out_block_by_block(n_jobs):
    first = make_partitions([1, 2, 3], n_jobs)
    second = make_lazy_partitions(lambda number: 10 ** (number + 1), 3)
    assert first.gather(operator.mul, second) == [10, 200, 3000]
    assert second.reduce(operator.mul, first) == 3210


def test_arguments_of_other_partitions_are_refused():
    with pytest.raises(ValueError, match="There are 2 partitions, but those of an argument are 3"):
        make_partitions([1, 2]).reduce(operator.add, make_partitions([1, 2, 3]))


def test_arguments_that_are_not_computed_yet_are_refused():
    rows = make_lazy_partitions(lambda number: number, 3)
    with pytest.raises(TypeError, match=r"Call keep\(\)"):
        rows.reduce(operator.add, rows.map(operator.neg))
    assert rows.reduce(operator.add, rows.map(operator.neg).keep()) == 0


def n_threads_of_blas(part):
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blas_has_one_thread_beside_those_of_partitions(n_jobs):
    before = n_threads_of_blas(None)
    for threads in make_partitions([1, 2], n_jobs).gather(n_threads_of_blas):
        assert set(threads) == {1}
    assert n_threads_of_blas(None) == before


@pytest.mark.slow
@pytest.mark.parametrize(("n_jobs", "n_threads"), [(-1, 1), (None, 1), (3, 3)])
def test_fits_of_a_search_share_the_processors_already(n_jobs, n_threads):
    """In its processes as in its threads."""
    for prefer in ("processes", "threads"):
        calls = [delayed(n_threads_of)(n_jobs)] * 2
        assert Parallel(2, prefer=prefer)(calls) == [n_threads] * 2
    assert n_threads_of(-1) == effective_n_jobs(-1)


def interrupt(number, calls):
    calls.append(number)
    if number == 3:
        raise KeyboardInterrupt


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interruption_ends_the_pass_and_its_threads(n_jobs):
    make_partitions(range(2), n_jobs).gather(operator.neg)  # starts the threads
    calls = []
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        make_partitions(range(10_000), n_jobs).gather(interrupt, calls)
    n_calls = len(calls)
    assert n_calls < 10_000
    # The threads wait for the next pass, and take part in it.
    assert threading.active_count() <= before  # those of earlier tests may end meanwhile
    assert make_partitions(range(99), n_jobs).gather(operator.neg) == [-i for i in range(99)]
    assert len(calls) == n_calls


def pass_within(number, n_jobs):
    return make_partitions(range(9), n_jobs).reduce(operator.mul, number)


def test_a_pass_may_start_another_one():
    partitions = make_partitions(range(20), n_jobs=2)
    assert partitions.gather(pass_within, 2) == [36 * i for i in range(20)]


def test_a_forked_process_has_threads_of_its_own():
    make_partitions(range(2), n_jobs=2).gather(operator.neg)
    if not hasattr(os, "fork"):
        pytest.skip("this system cannot fork")
    child = os.fork()
    if not child:
        results = make_partitions(range(9), n_jobs=2).gather(operator.neg)
        os._exit(0 if results == [-i for i in range(9)] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_blocks_cover_the_rows_once():
    result = blocks(2 * BLOCK_SIZE + 1)
    assert np.array_equal(
        np.concatenate([np.arange(2 * BLOCK_SIZE + 1)[rows] for rows in result]),
        np.arange(2 * BLOCK_SIZE + 1),
    )
    assert [rows.stop - rows.start for rows in result] == [BLOCK_SIZE, BLOCK_SIZE, 1]
    assert blocks(0) == []
