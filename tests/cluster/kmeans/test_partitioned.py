"""Fair k-means of people who lie in parts: read block by block, and on a cluster of processes."""

import os
import signal

import numpy as np
import pandas as pd
import pytest

from skfair.cluster import FairKMeans, fair_kmeans_front
from skfair.cluster.kmeans import _partitioned
from skfair.cluster.kmeans._input import summarize
from skfair.datasets import make_fair_blobs, open_blocks
from skfair.partitions import SUBSAMPLE_SIZES, Blocks, DaskWorkers, _dask

# What dask's own processes warn about when they are killed is not about this package.
pytestmark = pytest.mark.filterwarnings("ignore")

N_PEOPLE, N_FEATURES, CHUNK = 6000, 3, 700


@pytest.fixture(autouse=True)
def rehearsed(monkeypatch):
    """Few enough rehearse that everybody has something to perform."""
    monkeypatch.setitem(SUBSAMPLE_SIZES, "k-means", 1500)


def draw(seed=0):
    """Rows, groups and weights; group 2 is rare, and some weigh nothing."""
    X, _, groups = make_fair_blobs(N_PEOPLE, n_features=N_FEATURES, centers=4, random_state=seed)
    groups[::9] = 2
    weights = np.random.default_rng(seed).integers(0, 3, N_PEOPLE).astype(float)
    return 1e3 + X, groups, weights


@pytest.fixture
def in_files(tmp_path):
    """A function that opens rows, groups and weights block by block."""

    def in_files(*columns, chunk=CHUNK):
        table = pd.DataFrame({str(j): column for j, column in enumerate(np.vstack(columns))})
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"  # none is ever replaced
        table.to_parquet(path, row_group_size=chunk)
        people = open_blocks(path)
        names = people.columns
        others = [people[name] for name in names[N_FEATURES:]]
        return people[names[:N_FEATURES]], *others

    return lambda X, *others, **settings: in_files(X.T, *map(np.atleast_2d, others), **settings)


def fitted(X, groups, weights=None, **settings):
    model = FairKMeans(**{"n_clusters": 4, "random_state": 0, **settings})
    return model.fit(X, sensitive_features=groups, sample_weight=weights)


def same_bits(one, other):
    np.testing.assert_array_equal(np.asarray(one.labels_), np.asarray(other.labels_))
    for name in ("cluster_centers_", "offsets_", "group_counts_", "inertia_", "lower_bound_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.covering(1)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("min_balance", [None, 0.8, 1.0])
def test_data_that_fit_the_subsample_give_the_labels_of_the_fit_in_memory(
    in_files, monkeypatch, min_balance, weighted
):
    monkeypatch.setitem(SUBSAMPLE_SIZES, "k-means", N_PEOPLE)
    X, groups, weights = draw()
    columns = (X, groups, weights) if weighted else (X, groups)
    load_rows = fitted(*columns, min_balance=min_balance)
    partitioned = fitted(*in_files(*columns), min_balance=min_balance)
    np.testing.assert_array_equal(partitioned.labels_, load_rows.labels_)
    assert partitioned.inertia_ == pytest.approx(load_rows.inertia_, rel=1e-12)
    assert partitioned.lower_bound_ == pytest.approx(load_rows.lower_bound_, rel=1e-3)
    assert partitioned.status_ == load_rows.status_
    assert partitioned.n_iter_ == load_rows.n_iter_


def test_few_partitioned_samples_may_be_optimal(in_files):
    X, groups, _ = draw()
    few = slice(0, 300)
    model = fitted(*in_files(X[few], groups[few] % 2), tol=0.0)
    assert model.status_ == fitted(X[few], groups[few] % 2, tol=0.0).status_ == "optimal"
    # Over a background nothing is certified, however long the search.
    assert fitted(*in_files(X, groups % 2), tol=0.0).status_ == "feasible"


@pytest.mark.covering(1)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1500, N_PEOPLE])
def test_sizes_of_clusters_are_kept(in_files, monkeypatch, size, weighted):
    monkeypatch.setitem(SUBSAMPLE_SIZES, "k-means", size)
    X, groups, weights = draw()
    columns = (X, groups, weights) if weighted else (X, groups)
    sizes = {"min_cluster_size": 0.24, "max_cluster_size": 0.26, "min_share_ratio": 0.8}
    model = fitted(*in_files(*columns), **sizes)
    total = weights.sum() if weighted else N_PEOPLE
    assert model.constraint_violation_ == 0
    rounding = weights.max() if weighted else 0
    assert model.cluster_sizes_.min() >= 0.24 * total - rounding
    assert model.cluster_sizes_.max() <= 0.26 * total + rounding
    assert model.inertia_ <= 1.005 * fitted(*columns, **sizes).inertia_
    free = fitted(*columns, min_share_ratio=0.8)
    assert free.cluster_sizes_.min() < 0.23 * total  # else the sizes bound nothing


def test_sizes_that_cannot_be_had_are_refused_of_partitioned_data(in_files):
    X, groups, _ = draw()
    with pytest.raises(ValueError, match="1500 is the maximum"):
        fitted(*in_files(X, groups), min_cluster_size=1501)


@pytest.mark.parametrize("size", [1500, N_PEOPLE])
def test_rows_without_weight_are_in_the_cluster_of_the_nearest_final_centre(
    in_files, monkeypatch, size
):
    monkeypatch.setitem(SUBSAMPLE_SIZES, "k-means", size)
    X, groups, weights = draw()
    for model in (fitted(X, groups, weights), fitted(*in_files(X, groups, weights))):
        absent = weights == 0
        distances = ((X[absent, None] - model.cluster_centers_) ** 2).sum(axis=2)
        np.testing.assert_array_equal(model.labels_[absent], distances.argmin(axis=1))


class Recorder:
    """Keeps the attributes of the views of rounds, and can stop a fit."""

    def __init__(self, stop_after=None):
        self.stop_after, self.rounds = stop_after, []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.parent is not None:
            self.rounds.append(vars(fitted_estimator))
            return len(self.rounds) == self.stop_after


@pytest.mark.callbacks
@pytest.mark.parametrize("size", [1500, N_PEOPLE])
def test_callbacks_and_verbose_see_every_pass(in_files, monkeypatch, capsys, size):
    monkeypatch.setitem(SUBSAMPLE_SIZES, "k-means", size)
    X, groups, weights = draw()
    recorder = Recorder()
    model = FairKMeans(4, random_state=0, verbose=1, tol=0.0).set_callbacks(recorder)
    rows, codes, given_weights = in_files(X, groups, weights)
    model.fit(rows, sensitive_features=codes, sample_weight=given_weights)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(recorder.rounds) == model.n_iter_ > 1
    for line, attributes in zip(lines, recorder.rounds, strict=True):
        assert line.startswith(f"cost {attributes['objective_']:.6g}, balance")
        centers, labels = attributes["cluster_centers_"], attributes["labels_"]
        assert labels.shape == (N_PEOPLE,)
        squares = ((X - centers[labels]) ** 2).sum(axis=1)
        assert attributes["inertia_"] == pytest.approx(weights @ squares, rel=1e-9)


@pytest.mark.callbacks
def test_a_callback_may_stop_the_passes(in_files):
    X, groups, _ = draw()
    recorder = Recorder(stop_after=2)
    model = FairKMeans(4, random_state=0, tol=0.0).set_callbacks(recorder)
    rows, codes = in_files(X, groups)
    model.fit(rows, sensitive_features=codes)
    assert (model.n_iter_, model.status_) == (2, "max_iter")
    assert model.constraint_violation_ == 0


@pytest.mark.covering(1)
@pytest.mark.parametrize("chunk", [700, 2500])
@pytest.mark.parametrize("weighted", [False, True])
def test_outliers_are_kept_in_partitions_as_in_memory(in_files, chunk, weighted):
    X, groups, weights = draw()
    X[[857, 2000, 3001]] += [[4e3, 0, 0], [0, -4e3, 0], [-4e3, 4e3, 0]]
    weights = np.maximum(weights, 1) if weighted else np.ones(N_PEOPLE)
    settings = {"min_balance": None, "n_clusters": 7}
    load_rows = fitted(X, groups, weights, **settings)
    in_partitions = fitted(*in_files(X, groups, weights, chunk=chunk), **settings)
    assert in_partitions.inertia_ <= 1.02 * load_rows.inertia_
    assert (np.bincount(in_partitions.labels_) == 1).sum() == 3  # each has a cluster of its own


@pytest.mark.parametrize("weighted", [False, True])
def test_the_scatter_is_that_of_all_samples(in_files, weighted):
    X, groups, weights = draw()
    weights = weights if weighted else np.ones(N_PEOPLE)
    weights[:CHUNK] *= not weighted  # nothing of the first block counts
    collections = in_files(X, groups, weights)
    _, summary = summarize(FairKMeans(4), *collections)
    mean = np.average(X, axis=0, weights=weights)
    np.testing.assert_allclose(summary.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(summary.scatter, weights @ ((X - mean) ** 2).sum(axis=1), rtol=1e-9)


@pytest.mark.covering(1)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("min_balance", [None, 0.8, 1.0])
def test_everybody_is_clustered_about_as_in_memory(in_files, min_balance, weighted):
    X, groups, weights = draw()
    given = (X, groups, weights) if weighted else (X, groups)
    parts = fitted(*in_files(*given), min_balance=min_balance)
    whole = fitted(*given, min_balance=min_balance)
    assert parts.objective_ <= 1.005 * whole.objective_
    assert parts.constraint_violation_ == 0
    assert parts.lower_bound_ <= parts.inertia_
    assert parts.lower_bound_ >= 0.98 * parts.inertia_
    # What it says of itself, counted again.
    present = weights if weighted else np.ones(N_PEOPLE)
    counts = np.zeros((4, 3))
    np.add.at(counts, (parts.labels_, groups), present)
    np.testing.assert_allclose(parts.group_counts_, counts)
    own = ((X - parts.cluster_centers_[parts.labels_]) ** 2).sum(axis=1)
    assert parts.inertia_ == pytest.approx(present @ own)
    assert parts.groups_.counts.tolist() == whole.groups_.counts.tolist()
    assert parts.predict(X).shape == (N_PEOPLE,)


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_bits(in_files):
    X, groups, weights = draw()
    people = in_files(X, groups, weights)
    same_bits(fitted(*people, n_jobs=1), fitted(*people, n_jobs=2))


@pytest.mark.slow
def test_the_same_people_move_wherever_parts_begin(in_files):
    X, groups, _ = draw()
    one, other = (fitted(*in_files(X, groups, chunk=chunk)) for chunk in (CHUNK, 1100))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert one.inertia_ == pytest.approx(other.inertia_, rel=1e-12)


def test_every_attribute_may_be_mixed(in_files, tmp_path):
    X, groups, _ = draw()
    people = pd.DataFrame({"a": groups, "b": np.arange(N_PEOPLE) % 2})
    in_files(X, *people.to_numpy().T)
    table = open_blocks(tmp_path / "0.parquet")
    names = table.columns
    parts = fitted(table[names[:N_FEATURES]], table[names[N_FEATURES:]], attributes="each")
    whole = fitted(X, people, attributes="each")
    assert parts.constraint_violation_ == 0
    assert parts.groups_.counts.tolist() == whole.groups_.counts.tolist()
    assert parts.objective_ <= 1.005 * whole.objective_


def test_everybody_is_looked_at_a_few_times_where_clusters_are_not_clear(monkeypatch):
    """There rounds of k-means gain little, and many follow: most of them in the rehearsal."""
    monkeypatch.setitem(SUBSAMPLE_SIZES, "k-means", 15_000)
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=20_000)
    X, read = rng.normal(size=(20_000, 3)) + 0.4 * groups[:, np.newaxis], []

    def read_block(number, columns):
        read.append(number)
        return np.column_stack((X, groups))[5000 * number : 5000 * (number + 1), columns]

    people = Blocks(read_block, [5000] * 4, range(4))
    parts, whole = fitted(people[[0, 1, 2]], people[3]), fitted(X, groups)
    assert read.count(0) <= 2 * 25  # rows and groups
    assert whole.n_iter_ > 12
    assert parts.objective_ <= 1.005 * whole.objective_
    assert parts.constraint_violation_ == 0


@pytest.mark.parametrize("weighted", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_exact_balance_is_kept_where_nobody_is_near_a_tie(in_files, monkeypatch, weighted):
    monkeypatch.setattr(_partitioned, "MIN_CANDIDATES", 20)
    rng = np.random.default_rng(0)
    of_cluster = rng.integers(4, size=N_PEOPLE)
    X = 50.0 * np.eye(4)[of_cluster, :3] + rng.normal(size=(N_PEOPLE, 3))
    groups = (rng.random(N_PEOPLE) < 0.3 + 0.1 * of_cluster).astype(int)
    given = (X, groups, np.full(N_PEOPLE, 0.5)) if weighted else (X, groups)
    parts = fitted(*in_files(*given), min_balance=1.0)
    assert parts.constraint_violation_ == 0
    assert parts.objective_ <= 1.005 * fitted(*given, min_balance=1.0).objective_


@pytest.mark.slow
def test_many_equal_people_are_shared_out(in_files):
    X, groups, _ = draw()
    parts = fitted(*in_files(np.round(X - 1e3), groups), min_balance=1.0, max_iter=2)
    assert parts.constraint_violation_ == 0


@pytest.mark.covering(1)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("min_balance", [None, 0.8])
def test_of_many_equal_people_every_cluster_gets_some(in_files, min_balance, weighted):
    """All of them are as near to all centres but one: a tie would send them to one cluster."""
    X, groups = np.repeat([[0.0] * 3, [1.0] * 3], [2990, 10], axis=0), np.arange(3000) % 2
    weights = np.random.default_rng(0).integers(1, 4, 3000).astype(float)
    given = (X, groups, weights) if weighted else (X, groups)
    model = fitted(*in_files(*given), min_balance=min_balance)
    assert model.status_ == "feasible"
    assert np.bincount(model.labels_, minlength=4).all()
    assert np.isfinite(model.cluster_centers_).all()
    assert model.constraint_violation_ == 0
    same_bits(model, fitted(*in_files(*given), min_balance=min_balance, n_jobs=2))


# What is refused ----------------------------------------------------------------------


def test_swaps_of_single_samples_are_refused(in_files):
    X, groups, _ = draw()
    with pytest.raises(ValueError, match="Partitioned data require algorithm='homotopy'"):
        fitted(*in_files(X, groups), algorithm="alternating")


def test_what_is_wrong_is_named_by_its_part(in_files):
    X, groups, weights = draw()
    X[CHUNK * 3 + 1, 1] = np.nan
    with pytest.raises(ValueError, match="Partition 3: .*NaN"):
        fitted(*in_files(X, groups))
    weights[0] = -1.0
    with pytest.raises(ValueError, match="Partition 0: .*not negative"):
        fitted(*in_files(draw()[0], groups, weights))


def test_groups_and_enough_people_are_needed(in_files):
    X, groups, _ = draw()
    rows, codes = in_files(X, groups)
    with pytest.raises(ValueError, match="need sensitive_features, but none came"):
        FairKMeans().fit(rows)
    with pytest.raises(ValueError, match="positive sample_weight"):
        fitted(*in_files(X, groups, np.zeros(N_PEOPLE)))
    with pytest.raises(ValueError, match="n_samples=6000 should be >= n_clusters=6001"):
        FairKMeans(6001).fit(rows, sensitive_features=codes)
    with pytest.raises(TypeError, match="front"):
        fair_kmeans_front(rows, sensitive_features=codes)


# On a cluster -------------------------------------------------------------------------


def chunked(*columns, chunks=CHUNK):
    da = pytest.importorskip("dask.array")
    return [da.from_array(own, chunks=(chunks, *own.shape[1:])) for own in columns]


@pytest.mark.slow
def test_a_cluster_gives_the_bits_of_threads_that_read_files(client, in_files):
    X, groups, _ = draw()
    expected = fitted(*in_files(X, groups))
    model = fitted(*chunked(X, groups))
    assert type(model.labels_).__module__.startswith("dask")
    same_bits(model, expected)
    import dask.dataframe as dd

    names = list("abc")
    table = pd.DataFrame(X, columns=names).assign(group=groups)
    n_parts = -(-N_PEOPLE // CHUNK)
    frame = dd.from_map(lambda i: table.iloc[i * CHUNK : (i + 1) * CHUNK], range(n_parts))
    model = fitted(frame[names], frame["group"])  # whose lengths nobody knows
    same_bits(model, expected)
    assert model.feature_names_in_.tolist() == names


@pytest.mark.slow
def test_a_worker_lost_in_the_middle_of_a_fit_changes_no_bit(client, monkeypatch):
    X, groups, _ = draw()
    expected, asked = fitted(*chunked(X, groups)), []
    expected.labels_ = expected.labels_.compute()
    submit = DaskWorkers._submit

    def submit_or_lose(self, task, others):
        asked.append(task)
        if len(asked) == 8:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return submit(self, task, others)

    monkeypatch.setattr(DaskWorkers, "_submit", submit_or_lose)
    same_bits(fitted(*chunked(X, groups)), expected)
    assert len(asked) > 8
    client.wait_for_workers(2, timeout=300)


def test_an_interrupted_fit_leaves_the_earlier_one(client, monkeypatch):
    X, groups, _ = draw()
    model, cancelled, awaited = fitted(*chunked(X, groups)), [], _dask._await_results
    earlier, asked = dict(vars(model)), []

    def await_or_interrupt(client, futures):
        asked.append(len(futures))
        if len(asked) == 5:
            raise KeyboardInterrupt
        return awaited(client, futures)

    monkeypatch.setattr(_dask, "_await_results", await_or_interrupt)
    monkeypatch.setattr(client, "cancel", cancelled.extend)
    people = chunked(X[::-1].copy(), groups)
    with pytest.raises(KeyboardInterrupt):
        model.fit(people[0], sensitive_features=people[1])
    assert len(cancelled) == asked[-1]
    assert vars(model) == earlier


def test_parts_may_be_empty_and_know_some_of_the_groups_alone(client):
    X, groups, weights = draw()
    order = np.argsort(groups, kind="stable")
    given = [own[order] for own in (X, groups, weights)]
    parts = fitted(*chunked(*given, chunks=(0, 700, 0, 300, 5000, 0)))
    assert parts.constraint_violation_ == 0
    assert parts.objective_ <= 1.005 * fitted(*given).objective_
