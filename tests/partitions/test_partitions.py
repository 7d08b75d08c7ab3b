"""The seam: sums over parts, the same to the bit whoever takes them."""

import operator
import threading
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_info

from skfair.partitions import BLOCK, InMemory, Stored, blocks, n_threads_of


def moments(rows, power=1):
    return len(rows), ((rows**power).sum(axis=0), rows.T @ rows)


def numbers(n_parts, seed=0):
    """Parts whose sum depends on the order of addition."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(5, 3)) * 10.0 ** rng.integers(-8, 8) for _ in range(n_parts)]


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
    found = InMemory(rows).total(moments, 2)
    assert found[0] == 5 * n_parts
    assert np.array_equal(found[1][0], sum_by_eights([(part**2).sum(axis=0) for part in rows]))


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_any_number_of_threads_gives_the_same_bits(n_jobs):
    rows = numbers(77)
    assert same_bits(InMemory(rows).total(moments), InMemory(rows, n_jobs).total(moments))


def test_stored_parts_give_the_bits_of_those_in_memory_and_are_read_for_every_question():
    rows, read = numbers(20), []

    def read_part(number):
        read.append(number)
        return rows[number]

    stored = Stored(read_part, len(rows))
    assert same_bits(stored.total(moments), InMemory(rows).total(moments))
    squares = stored.each(np.square)
    assert read == list(range(20))  # nothing is made before it is asked for
    assert same_bits(squares.total(moments), InMemory(rows).each(np.square).total(moments))
    assert read == 2 * list(range(20))


def test_what_is_kept_is_read_once():
    read = []
    kept = Stored(lambda number: read.append(number) or np.ones(number), 3).each(np.cumsum).kept()
    assert kept.total(np.sum) == kept.total(np.sum) == 1 + (1 + 2)
    assert read == [0, 1, 2]


def test_answers_are_collected_in_the_order_of_the_parts():
    parts = InMemory(np.arange(40), n_jobs=4)
    assert parts.collect(operator.add, 1) == list(range(1, 41))
    assert parts.each(operator.neg).collect(operator.pos) == [-i for i in range(40)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_arguments_in_parts_are_handed_out_part_by_part(n_jobs):
    first, second = InMemory([1, 2, 3], n_jobs), Stored(lambda number: 10 ** (number + 1), 3)
    assert first.collect(operator.mul, second) == [10, 200, 3000]
    assert second.total(operator.mul, first) == 3210


def test_parts_of_another_number_are_refused():
    with pytest.raises(ValueError, match="These are 2 parts, but the argument has 3 parts"):
        InMemory([1, 2]).total(operator.add, InMemory([1, 2, 3]))


def n_threads_of_blas(part):
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blas_has_one_thread_while_parts_are_asked(n_jobs):
    before = n_threads_of_blas(None)
    for threads in InMemory([1, 2], n_jobs).collect(n_threads_of_blas):
        assert set(threads) == {1}
    assert n_threads_of_blas(None) == before


@pytest.mark.parametrize(("n_jobs", "n_threads"), [(-1, 1), (None, 1), (3, 3)])
def test_fits_of_a_search_share_the_processors_already(n_jobs, n_threads):
    """In its processes as in its threads."""
    for prefer in ("processes", "threads"):
        asked = [delayed(n_threads_of)(n_jobs)] * 2
        assert Parallel(2, prefer=prefer)(asked) == [n_threads] * 2
    assert n_threads_of(-1) == effective_n_jobs(-1)


def interrupt(number, asked):
    asked.append(number)
    if number == 3:
        raise KeyboardInterrupt


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interruption_ends_the_question_and_its_threads(n_jobs):
    asked, before = [], threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        InMemory(range(10_000), n_jobs).collect(interrupt, asked)
    assert len(asked) < 10_000
    assert threading.active_count() <= before  # those of earlier tests may end meanwhile


def test_blocks_cover_the_rows_once():
    found = blocks(2 * BLOCK + 1)
    assert np.array_equal(
        np.concatenate([np.arange(2 * BLOCK + 1)[rows] for rows in found]), np.arange(2 * BLOCK + 1)
    )
    assert [rows.stop - rows.start for rows in found] == [BLOCK, BLOCK, 1]
    assert blocks(0) == []
