"""Parts on a cluster of processes: the same bits as in memory, also where a worker is lost."""

import os
import signal
import sys
import time

import numpy as np
import pytest

from skfair.parts import InMemory, OnDask, parts_of

da = pytest.importorskip("dask.array")

# What dask's own processes warn about when they are killed is not about this package.
pytestmark = pytest.mark.filterwarnings("ignore")


def shard(number):
    rng = np.random.default_rng(number)
    return rng.normal(size=(200, 3)) * 10.0 ** rng.integers(-8, 8)


def outer(rows, shift):
    return len(rows), ((rows - shift).T @ (rows - shift), rows.sum(axis=0))


def slow_outer(rows, shift):
    time.sleep(0.05)
    return outer(rows, shift)


def product(one, other):
    return float((one * other).sum())


def handed_over(rows, name, shift, nested, again):
    return name, shift.sum(), nested, np.array_equal(rows, again)


class NotInstalled:
    """An importer of a machine where skfair is not installed."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "skfair":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def uninstall():
    sys.meta_path.insert(0, NotInstalled())
    for name in [name for name in sys.modules if name.split(".")[0] == "skfair"]:
        del sys.modules[name]


def dies(rows):
    os.kill(os.getpid(), signal.SIGKILL)  # as Dask does with who takes too much memory


def ends(rows):
    raise RuntimeError("part without an end")


def in_memory(n_parts):
    return InMemory([shard(number) for number in range(n_parts)])


def same_bits(one, other):
    (n, (a, b)), (m, (c, d)) = one, other
    return n == m and np.array_equal(a, c) and np.array_equal(b, d)


@pytest.mark.parametrize("n_parts", [1, 8, 75])
def test_sums_have_the_bits_of_those_in_memory(client, n_parts):
    parts, shift = OnDask(client, client.map(shard, range(n_parts))), np.arange(3.0)
    assert len(parts) == n_parts
    assert same_bits(parts.total(outer, shift), in_memory(n_parts).total(outer, shift))


def test_what_is_made_of_parts_stays_there_and_may_be_asked_beside_them(client):
    parts, local = OnDask(client, client.map(shard, range(9))), in_memory(9)
    squares = parts.each(np.square)
    assert isinstance(squares, OnDask)
    assert parts.collect(product, squares) == local.collect(product, local.each(np.square))
    assert parts.total(product, squares) == local.total(product, local.each(np.square))


def test_a_question_is_sent_once_whatever_is_handed_over_with_it(client, monkeypatch):
    parts, sent = OnDask(client, client.map(shard, range(9))), []
    submit = client.submit

    def submit_and_count(function, *arguments, **settings):
        sent.append(function)
        return submit(function, *arguments, **settings)

    monkeypatch.setattr(client, "submit", submit_and_count)
    asked = "corner", np.arange(3.0), (1, [2, "two"]), parts
    assert parts.collect(handed_over, *asked) == [("corner", 3.0, (1, [2, "two"]), True)] * 9
    assert len(sent) == 1


def test_a_lost_worker_changes_no_bit(client):
    parts, shift = OnDask(client, client.map(shard, range(40))), np.ones(3)
    pids = client.run(os.getpid)
    answers = parts.each(slow_outer, shift)
    os.kill(next(iter(pids.values())), signal.SIGKILL)
    assert same_bits(parts.total(outer, shift), in_memory(40).total(outer, shift))
    assert len(answers.collect(len)) == 40
    client.wait_for_workers(2, timeout=300)


def test_an_interruption_cancels_what_was_asked(client, monkeypatch):
    parts, cancelled = OnDask(client, client.map(shard, range(20))), []

    def interrupt(futures):
        raise KeyboardInterrupt

    monkeypatch.setattr(client, "gather", interrupt)
    monkeypatch.setattr(client, "cancel", cancelled.extend)
    with pytest.raises(KeyboardInterrupt):
        parts.collect(slow_outer, np.ones(3))
    assert len(cancelled) == 20
    monkeypatch.undo()
    client.cancel(cancelled)
    assert same_bits(parts.total(outer, 1.0), in_memory(20).total(outer, 1.0))


def test_parts_of_which_workers_die_ask_for_smaller_ones(client, monkeypatch):
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(MemoryError, match="smaller partitions"):
        OnDask(client, client.map(shard, [99])).total(dies)
    client.restart(timeout=300)  # what died, and what is known of it, is not to meet other tests


def test_errors_of_a_part_are_those_of_the_question(client):
    parts = OnDask(client, client.map(shard, range(3)))
    with pytest.raises(RuntimeError, match="part without an end"):
        parts.total(ends)


def test_workers_need_skfair(client):
    client.run(uninstall)
    rows = da.from_array(np.ones((6, 2)), chunks=(3, 2))
    with pytest.raises(ModuleNotFoundError, match="workers .* must have skfair installed"):
        parts_of(X=rows)
    client.restart(timeout=300)
