"""Fair k-means on partitioned data: read block by block, and on a cluster of processes."""

import os
import signal
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from skfair._groups.arguments import FitArguments
from skfair._partitions import dask
from skfair._partitions.blocks import Blocks
from skfair._partitions.dask import DaskWorkers
from skfair._partitions.partitions import SUBSAMPLE_SIZES
from skfair.cluster import FairKMeans, cluster_front
from skfair.cluster._base import encode_and_summarize
from skfair.cluster.kmeans import _partitioned
from skfair.datasets import make_fair_blobs, open_blocks

# Killed processes of Dask warn. These warnings do not concern this package.
pytestmark = pytest.mark.filterwarnings("ignore")

N_SAMPLES, N_FEATURES, CHUNK = 6000, 3, 700


@pytest.fixture(autouse=True)
def small_subsample(monkeypatch):
    """A subsample so small that the fit of the full data has work to do."""
    monkeypatch.setitem(SUBSAMPLE_SIZES, "k-means", 1500)


def draw(seed=0):
    """Rows, groups and weights. Group 2 is small, and some weights are 0."""
    X, _, groups = make_fair_blobs(N_SAMPLES, n_features=N_FEATURES, centers=4, random_state=seed)
    groups[::9] = 2
    weights = np.random.default_rng(seed).integers(0, 3, N_SAMPLES).astype(float)
    return 1e3 + X, groups, weights


@pytest.fixture
def open_in_files(tmp_path):
    """A function that opens rows, groups and weights block by block."""

    def open_in_files(*columns, chunk=CHUNK):
        table = pd.DataFrame({str(j): column for j, column in enumerate(np.vstack(columns))})
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"  # none is ever replaced
        table.to_parquet(path, row_group_size=chunk)
        blocks = open_blocks(path)
        names = blocks.columns
        others = [blocks[name] for name in names[N_FEATURES:]]
        return blocks[names[:N_FEATURES]], *others

    return lambda X, *others, **settings: open_in_files(
        X.T, *map(np.atleast_2d, others), **settings
    )


def open_in_memory(X, *others, chunk=CHUNK):
    """Rows, groups and weights block by block, which are not read from files at every pass."""
    table = np.column_stack((X, *others))

    def read_block(number, columns):
        return table[chunk * number : chunk * (number + 1), columns]

    lengths = [len(table[i : i + chunk]) for i in range(0, len(table), chunk)]
    blocks = Blocks(read_block, lengths, range(table.shape[1]))
    return blocks[[*range(N_FEATURES)]], *(blocks[j] for j in range(N_FEATURES, table.shape[1]))


def fit_model(X, groups, weights=None, **settings):
    model = FairKMeans(**{"n_clusters": 4, "random_state": 0, **settings})
    return model.fit(X, sensitive_features=groups, sample_weight=weights)


@cache
def fit_in_memory(min_balance, weighted):
    """A fit of the drawn data in memory, which several tests compare with."""
    X, groups, weights = draw()
    return fit_model(X, groups, weights if weighted else None, min_balance=min_balance)


def same_bits(one, other):
    np.testing.assert_array_equal(np.asarray(one.labels_), np.asarray(other.labels_))
    for name in (
        "cluster_centers_",
        "offsets_",
        "group_counts_",
        "group_weights_",
        "inertia_",
        "assignment_lower_bound_",
    ):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.covering(0)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("min_balance", [None, 0.8, 1.0])
def test_data_that_fit_the_subsample_give_the_labels_of_the_fit_in_memory(
    monkeypatch, min_balance, weighted
):
    monkeypatch.setitem(SUBSAMPLE_SIZES, "k-means", N_SAMPLES)
    X, groups, weights = draw()
    columns = (X, groups, weights) if weighted else (X, groups)
    in_memory = fit_in_memory(min_balance, weighted)
    partitioned = fit_model(*open_in_memory(*columns), min_balance=min_balance)
    np.testing.assert_array_equal(partitioned.labels_, in_memory.labels_)
    assert partitioned.inertia_ == pytest.approx(in_memory.inertia_, rel=1e-12)
    assert partitioned.assignment_lower_bound_ == pytest.approx(
        in_memory.assignment_lower_bound_, rel=1e-3
    )
    assert partitioned.status_ == in_memory.status_
    assert partitioned.n_iter_ == in_memory.n_iter_


@pytest.mark.slow
def test_small_partitioned_data_may_be_optimal():
    X, groups, _ = draw()
    first = slice(0, 300)
    model = fit_model(*open_in_memory(X[first], groups[first] % 2), tol=0.0)
    assert model.status_ == fit_model(X[first], groups[first] % 2, tol=0.0).status_ == "optimal"
    # A fit that started on a subsample is never certified as optimal.
    assert fit_model(*open_in_memory(X, groups % 2), tol=0.0).status_ == "feasible"


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1500, N_SAMPLES])
def test_sizes_of_clusters_are_kept(monkeypatch, size, weighted):
    monkeypatch.setitem(SUBSAMPLE_SIZES, "k-means", size)
    X, groups, weights = draw()
    columns = (X, groups, weights) if weighted else (X, groups)
    sizes = {"min_cluster_size": 0.24, "max_cluster_size": 0.26, "min_share_ratio": 0.8}
    model = fit_model(*open_in_memory(*columns), **sizes)
    total = weights.sum() if weighted else N_SAMPLES
    assert model.constraint_violation_ == 0
    rounding = weights.max() if weighted else 0
    assert model.cluster_sizes_.min() >= 0.24 * total - rounding
    assert model.cluster_sizes_.max() <= 0.26 * total + rounding
    assert model.inertia_ <= 1.005 * fit_model(*columns, **sizes).inertia_
    free = fit_model(*columns, min_share_ratio=0.8)
    assert free.cluster_sizes_.min() < 0.23 * total  # else the sizes bound nothing


def test_infeasible_sizes_of_partitioned_data_are_refused():
    X, groups, _ = draw()
    with pytest.raises(ValueError, match="1500 is the maximum"):
        fit_model(*open_in_memory(X, groups), min_cluster_size=1501)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1500, N_SAMPLES])
def test_rows_without_weight_are_in_the_cluster_of_the_nearest_final_centre(monkeypatch, size):
    monkeypatch.setitem(SUBSAMPLE_SIZES, "k-means", size)
    X, groups, weights = draw()
    for model in (fit_model(X, groups, weights), fit_model(*open_in_memory(X, groups, weights))):
        absent = weights == 0
        distances = ((X[absent, None] - model.cluster_centers_) ** 2).sum(axis=2)
        np.testing.assert_array_equal(model.labels_[absent], distances.argmin(axis=1))


class Recorder:
    """Keeps the attributes of the views of rounds, and can stop a fit."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.rounds = []

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
        return None


@pytest.mark.slow
@pytest.mark.callbacks
@pytest.mark.parametrize("size", [1500, N_SAMPLES])
def test_callbacks_and_verbose_see_every_pass(monkeypatch, capsys, size):
    monkeypatch.setitem(SUBSAMPLE_SIZES, "k-means", size)
    X, groups, weights = draw()
    recorder = Recorder()
    model = FairKMeans(4, random_state=0, verbose=1, tol=0.0).set_callbacks(recorder)
    rows, codes, weight_column = open_in_memory(X, groups, weights)
    model.fit(rows, sensitive_features=codes, sample_weight=weight_column)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(recorder.rounds) == model.n_iter_ > 1
    for line, attributes in zip(lines, recorder.rounds, strict=True):
        assert line.startswith(f"cost {attributes['objective_']:.6g}, balance")
        centers, labels = attributes["cluster_centers_"], attributes["labels_"]
        assert labels.shape == (N_SAMPLES,)
        squares = ((X - centers[labels]) ** 2).sum(axis=1)
        assert attributes["inertia_"] == pytest.approx(weights @ squares, rel=1e-9)


@pytest.mark.callbacks
def test_a_callback_may_stop_the_passes():
    X, groups, _ = draw()
    recorder = Recorder(stop_after=2)
    model = FairKMeans(4, random_state=0, tol=0.0).set_callbacks(recorder)
    rows, codes = open_in_memory(X, groups)
    model.fit(rows, sensitive_features=codes)
    assert (model.n_iter_, model.status_) == (2, "stopped")
    assert model.constraint_violation_ == 0


@pytest.mark.covering(1)
@pytest.mark.parametrize("chunk", [700, 2500])
@pytest.mark.parametrize("weighted", [False, True])
def test_outliers_are_kept_in_partitions_as_in_memory(chunk, weighted):
    X, groups, weights = draw()
    X[[857, 2000, 3001]] += [[4e3, 0, 0], [0, -4e3, 0], [-4e3, 4e3, 0]]
    weights = np.maximum(weights, 1) if weighted else np.ones(N_SAMPLES)
    settings = {"min_balance": None, "n_clusters": 7}
    in_memory = fit_model(X, groups, weights, **settings)
    in_partitions = fit_model(*open_in_memory(X, groups, weights, chunk=chunk), **settings)
    assert in_partitions.inertia_ <= 1.02 * in_memory.inertia_
    assert (np.bincount(in_partitions.labels_) == 1).sum() == 3  # each has its own cluster


@pytest.mark.parametrize("weighted", [False, True])
def test_the_scatter_is_that_of_all_samples(weighted):
    X, groups, weights = draw()
    weights = weights if weighted else np.ones(N_SAMPLES)
    weights[:CHUNK] *= not weighted  # nothing of the first block counts
    X_, groups_, weights_ = open_in_memory(X, groups, weights)
    arguments = FitArguments(X=X_, sensitive_features=groups_, sample_weight=weights_)
    _, summary = encode_and_summarize(FairKMeans(4), arguments)
    mean = np.average(X, axis=0, weights=weights)
    np.testing.assert_allclose(summary.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(summary.scatter, weights @ ((X - mean) ** 2).sum(axis=1), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("min_balance", [None, 0.8, 1.0])
def test_partitioned_fits_are_about_as_good_as_in_memory(min_balance, weighted):
    # Of some draws, the two end in different local minima.
    X, groups, weights = draw(9)
    columns = (X, groups, weights) if weighted else (X, groups)
    partitioned = fit_model(*open_in_memory(*columns), min_balance=min_balance)
    in_memory = fit_model(*columns, min_balance=min_balance)
    assert partitioned.objective_ <= 1.005 * in_memory.objective_
    assert partitioned.constraint_violation_ == 0
    assert partitioned.assignment_lower_bound_ <= partitioned.inertia_
    assert partitioned.assignment_lower_bound_ >= 0.98 * partitioned.inertia_
    # The reported numbers, recomputed.
    counted_weights = weights if weighted else np.ones(N_SAMPLES)
    counts = np.zeros((4, 3))
    np.add.at(counts, (partitioned.labels_, groups), counted_weights)
    np.testing.assert_allclose(partitioned.group_weights_, counts)
    inside = [(partitioned.labels_ == k) & (counted_weights > 0) for k in range(4)]
    members = [np.bincount(groups[one], minlength=3) for one in inside]
    np.testing.assert_array_equal(partitioned.group_counts_, members)
    squares = ((X - partitioned.cluster_centers_[partitioned.labels_]) ** 2).sum(axis=1)
    assert partitioned.inertia_ == pytest.approx(counted_weights @ squares)
    assert partitioned.groups_.counts == in_memory.groups_.counts
    assert partitioned.predict(X).shape == (N_SAMPLES,)


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_bits(open_in_files):
    X, groups, weights = draw()
    columns = open_in_files(X, groups, weights)
    same_bits(fit_model(*columns, n_jobs=1), fit_model(*columns, n_jobs=2))


@pytest.mark.slow
def test_partition_boundaries_change_no_label():
    X, groups, _ = draw()
    one, other = (fit_model(*open_in_memory(X, groups, chunk=chunk)) for chunk in (CHUNK, 1100))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert one.inertia_ == pytest.approx(other.inertia_, rel=1e-12)


@pytest.mark.slow
def test_every_attribute_may_be_balanced(open_in_files, tmp_path):
    X, groups, _ = draw()
    frame = pd.DataFrame({"a": groups, "b": np.arange(N_SAMPLES) % 2})
    open_in_files(X, *frame.to_numpy().T)
    table = open_blocks(tmp_path / "0.parquet")
    names = table.columns
    partitioned = fit_model(table[names[:N_FEATURES]], table[names[N_FEATURES:]], attributes="each")
    in_memory = fit_model(X, frame, attributes="each")
    assert partitioned.constraint_violation_ == 0
    assert partitioned.groups_.counts == in_memory.groups_.counts
    assert partitioned.objective_ <= 1.005 * in_memory.objective_


def test_unclear_clusters_take_few_passes_over_the_data(monkeypatch):
    """Many rounds of k-means with small gains follow, most of them on the subsample."""
    monkeypatch.setitem(SUBSAMPLE_SIZES, "k-means", 15_000)
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=20_000)
    X = rng.normal(size=(20_000, 3)) + 0.4 * groups[:, np.newaxis]
    read = []

    def read_block(number, columns):
        read.append(number)
        return np.column_stack((X, groups))[5000 * number : 5000 * (number + 1), columns]

    blocks = Blocks(read_block, [5000] * 4, range(4))
    partitioned, in_memory = fit_model(blocks[[0, 1, 2]], blocks[3]), fit_model(X, groups)
    assert read.count(0) <= 2 * 25  # rows and groups
    assert in_memory.n_iter_ >= 8
    assert partitioned.objective_ <= 1.005 * in_memory.objective_
    assert partitioned.constraint_violation_ == 0


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_exact_balance_holds_where_no_sample_is_near_a_tie(monkeypatch, weighted):
    monkeypatch.setattr(_partitioned, "MIN_CANDIDATES", 20)
    rng = np.random.default_rng(0)
    of_cluster = rng.integers(4, size=N_SAMPLES)
    X = 50.0 * np.eye(4)[of_cluster, :3] + rng.normal(size=(N_SAMPLES, 3))
    groups = (rng.random(N_SAMPLES) < 0.3 + 0.1 * of_cluster).astype(int)
    columns = (X, groups, np.full(N_SAMPLES, 0.5)) if weighted else (X, groups)
    partitioned = fit_model(*open_in_memory(*columns), min_balance=1.0)
    assert partitioned.constraint_violation_ == 0
    assert partitioned.objective_ <= 1.005 * fit_model(*columns, min_balance=1.0).objective_


@pytest.mark.slow
def test_many_equal_samples_are_distributed():
    X, groups, _ = draw()
    partitioned = fit_model(*open_in_memory(np.round(X - 1e3), groups), min_balance=1.0, max_iter=2)
    assert partitioned.constraint_violation_ == 0


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("min_balance", [None, 0.8])
def test_many_equal_samples_are_merged(min_balance, weighted):
    """All are equally near to all centres but one; k-means on four clusters has to leave a tie."""
    X = np.repeat([[0.0] * 3, [1.0] * 3], [2990, 10], axis=0)
    groups = np.arange(3000) % 2
    weights = np.random.default_rng(0).integers(1, 4, 3000).astype(float)
    columns = (X, groups, weights) if weighted else (X, groups)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\) found smaller"):
        model = fit_model(*open_in_memory(*columns), min_balance=min_balance)
    assert model.status_ in {"optimal", "feasible"}
    # Balance of weights may take a sample to the other row.
    usual = np.bincount(model.labels_).argmax()
    assert np.sum((model.labels_ == usual) != (X[:, 0] == 0)) <= weighted
    assert model.cluster_sizes_[2:].tolist() == [0, 0]
    assert np.isfinite(model.cluster_centers_).all()
    assert model.constraint_violation_ == 0
    with pytest.warns(ConvergenceWarning):
        again = fit_model(*open_in_memory(*columns), min_balance=min_balance, n_jobs=2)
    same_bits(model, again)


# Errors -------------------------------------------------------------------------------


def test_swaps_of_single_samples_are_refused():
    X, groups, _ = draw()
    with pytest.raises(ValueError, match="Partitioned data require algorithm='homotopy'"):
        fit_model(*open_in_memory(X, groups), algorithm="alternating")


def test_errors_name_the_partition(open_in_files):
    X, groups, weights = draw()
    X[CHUNK * 3 + 1, 1] = np.nan
    with pytest.raises(ValueError, match="Partition 3: .*NaN"):
        fit_model(*open_in_files(X, groups))
    weights[0] = -1.0
    with pytest.raises(ValueError, match="Partition 0: .*not negative"):
        fit_model(*open_in_files(draw()[0], groups, weights))


def test_groups_and_enough_samples_are_needed():
    X, groups, _ = draw()
    rows, codes = open_in_memory(X, groups)
    with pytest.raises(ValueError, match="need sensitive_features, but none came"):
        FairKMeans().fit(rows)
    with pytest.raises(ValueError, match="positive sample_weight"):
        fit_model(*open_in_memory(X, groups, np.zeros(N_SAMPLES)))
    with pytest.raises(ValueError, match="n_samples=6000 should be >= n_clusters=6001"):
        FairKMeans(6001).fit(rows, sensitive_features=codes)
    with pytest.raises(TypeError, match="front"):
        cluster_front(FairKMeans(), rows, sensitive_features=codes)


# On a cluster -------------------------------------------------------------------------


def make_chunked(*columns, chunks=CHUNK):
    da = pytest.importorskip("dask.array")
    return [da.from_array(column, chunks=(chunks, *column.shape[1:])) for column in columns]


@pytest.mark.slow
def test_a_cluster_gives_the_bits_of_threads_that_read_files(client, open_in_files):
    X, groups, _ = draw()
    expected = fit_model(*open_in_files(X, groups))
    model = fit_model(*make_chunked(X, groups))
    assert type(model.labels_).__module__.startswith("dask")
    same_bits(model, expected)
    import dask.dataframe as dd

    names = list("abc")
    table = pd.DataFrame(X, columns=names).assign(group=groups)
    n_partitions = -(-N_SAMPLES // CHUNK)
    frame = dd.from_map(lambda i: table.iloc[i * CHUNK : (i + 1) * CHUNK], range(n_partitions))
    model = fit_model(frame[names], frame["group"])  # of unknown lengths
    same_bits(model, expected)
    assert model.feature_names_in_.tolist() == names


@pytest.mark.slow
def test_a_worker_lost_in_the_middle_of_a_fit_changes_no_bit(client, monkeypatch):
    X, groups, _ = draw()
    expected = fit_model(*make_chunked(X, groups))
    calls = []
    expected.labels_ = expected.labels_.compute()
    submit = DaskWorkers._submit

    def submit_or_lose(self, task, *others):
        calls.append(task)
        if len(calls) == 8:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return submit(self, task, *others)

    monkeypatch.setattr(DaskWorkers, "_submit", submit_or_lose)
    same_bits(fit_model(*make_chunked(X, groups)), expected)
    assert len(calls) > 8
    client.wait_for_workers(2, timeout=300)


@pytest.mark.slow
def test_an_interrupted_fit_leaves_the_earlier_one(client, monkeypatch):
    X, groups, _ = draw()
    model = fit_model(*make_chunked(X, groups))
    cancelled = []
    awaited = dask._await_results
    earlier = dict(vars(model))
    calls = []

    def await_or_interrupt(client, futures):
        calls.append(len(futures))
        if len(calls) == 5:
            raise KeyboardInterrupt
        return awaited(client, futures)

    monkeypatch.setattr(dask, "_await_results", await_or_interrupt)
    monkeypatch.setattr(client, "cancel", cancelled.extend)
    rows, codes = make_chunked(X[::-1].copy(), groups)
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows, sensitive_features=codes)
    assert len(cancelled) == calls[-1]
    assert vars(model) == earlier


@pytest.mark.slow
def test_partitions_may_be_empty_or_lack_groups(client):
    X, groups, weights = draw()
    order = np.argsort(groups, kind="stable")
    columns = [column[order] for column in (X, groups, weights)]
    partitioned = fit_model(*make_chunked(*columns, chunks=(0, 700, 0, 300, 5000, 0)))
    assert partitioned.constraint_violation_ == 0
    assert partitioned.objective_ <= 1.005 * fit_model(*columns).objective_
