"""Fits to partitioned samples: on a cluster of processes, and read block by block."""

import gc
import os
import signal
import sys
import time
import warnings

import numpy as np
import pandas as pd
import pytest

from skfair._partitions.dask import DaskWorkers
from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.cluster import FairKMeans
from skfair.constraints import Constraint, DemographicParity, EqualizedOdds
from skfair.datasets import open_blocks
from skfair.metrics import METRICS
from skfair.regression import ConstrainedERMRegressor
from skfair.solvers import SQP

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

# Dask's processes warn when they are killed, which is not about this package.
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("no_small_data"),
]

N_SAMPLES, CHUNK = 4000, 512
SMOOTH = {"enforcement": None, "solver": SQP(tol=1e-10)}


def draw(seed=0):
    """Features, classes, sexes and weights."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(2, size=N_SAMPLES)
    X = rng.normal(size=(N_SAMPLES, 3)) + 0.6 * sex[:, np.newaxis]
    y = X @ [1.0, -0.5, 0.3] + 0.4 * sex + rng.logistic(size=N_SAMPLES) > 0.8
    return X, np.where(y, "yes", "no"), np.array(["f", "m"])[sex], rng.integers(0, 3, N_SAMPLES)


def make_chunks(*columns, chunk=CHUNK):
    return [da.from_array(column, chunks=(chunk, *column.shape[1:])) for column in columns]


def fit_model(X, y, sex, weights=None, constraint="demographic_parity", **settings):
    model = ConstrainedERMClassifier(constraint, tolerance=0.03, pos_label="yes", **settings)
    return model.fit(X, y, sensitive_features=sex, sample_weight=weights)


def fit_ranks(X, y, sex):
    """A fit that compares shares of the groups above all thresholds of an interval."""
    model = PartialParityClassifier(interval=(0.1, 0.4), tolerance=0.05)
    return model.fit(X, y == "yes", sensitive_features=sex)


def fit_clusters(X, y, sex):
    return FairKMeans(3, min_balance=0.5, random_state=0).fit(X, sensitive_features=sex)


def assert_same_bits(one, other):
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(one.intercept_, other.intercept_)
    assert one.objective_ == other.objective_
    assert one.constraint_report_.equals(other.constraint_report_)


@pytest.mark.slow
@pytest.mark.parametrize("constraint", ["demographic_parity", "equalized_odds"])
def test_decisions_keep_the_tolerance_on_all_samples(client, constraint):
    X, y, sex, weights = draw()
    model = fit_model(*make_chunks(X, y, sex, weights), constraint=constraint)
    metric = METRICS[f"{constraint}_difference"]
    samples = {"sensitive_features": sex, "sample_weight": weights}
    gap = metric(y, model.predict(X), pos_label="yes", **samples)
    assert gap <= 0.03
    report = model.constraint_report_
    assert report["gap"].iat[0] == pytest.approx(gap, abs=1e-9)
    in_memory = fit_model(X, y, sex, weights, constraint)
    assert model.score(X, y) > in_memory.score(X, y) - 0.01
    assert report["n"].tolist() == in_memory.constraint_report_["n"].tolist()
    assert model.groups_.counts == in_memory.groups_.counts


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "constraint", [None, "loss_parity", [DemographicParity(), EqualizedOdds(aggregate="sum")]]
)
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_smooth_fits_are_those_in_memory(client, constraint, class_weight):
    X, y, sex, weights = draw()
    X = 1e5 + X  # whose means are far from 0
    settings = SMOOTH | {"constraint": constraint, "class_weight": class_weight}
    partitioned = fit_model(*make_chunks(X, y, sex, weights), **settings)
    in_memory = fit_model(X, y, sex, weights, **settings)
    np.testing.assert_allclose(partitioned.coef_, in_memory.coef_, rtol=1e-6)
    assert partitioned.objective_ == pytest.approx(in_memory.objective_, rel=1e-9)
    np.testing.assert_allclose(partitioned.multipliers_, in_memory.multipliers_, atol=1e-5)


@pytest.mark.slow
def test_a_cluster_and_threads_give_the_same_bits(client, tmp_path):
    X, y, sex, _ = draw()
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, sex=sex)
    table.to_parquet(tmp_path / "samples.parquet", row_group_size=CHUNK)
    names = ["a", "b", "c"]
    samples = open_blocks(tmp_path / "samples.parquet")
    read = [
        fit_model(samples[names], samples["y"], samples["sex"], n_jobs=n_jobs) for n_jobs in (1, 2)
    ]
    assert_same_bits(*read)
    assert_same_bits(read[0], fit_model(*make_chunks(X, y, sex)))
    frame = dd.from_map(lambda i: table.iloc[i * CHUNK : (i + 1) * CHUNK], range(8))
    of_frame = fit_model(frame[names], frame["y"], frame["sex"])
    assert_same_bits(read[0], of_frame)
    assert of_frame.feature_names_in_.tolist() == names


@pytest.mark.slow
def test_a_cluster_and_threads_give_regressors_the_same_bits(client, tmp_path):
    X, _, sex, _ = draw()
    y = X @ [3.0, 1.0, 2.0] + (sex == "f")
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, sex=sex)
    table.to_parquet(tmp_path / "samples.parquet", row_group_size=CHUNK)
    samples = open_blocks(tmp_path / "samples.parquet")
    model = ConstrainedERMRegressor()
    read = model.fit(samples[["a", "b", "c"]], samples["y"], sensitive_features=samples["sex"])
    X, y, sex = make_chunks(X, y, sex)
    assert_same_bits(ConstrainedERMRegressor().fit(X, y, sensitive_features=sex), read)


@pytest.mark.slow
@pytest.mark.parametrize(("fit", "max_passes"), [(fit_model, 15), (fit_ranks, 26)])
def test_a_worker_lost_in_the_middle_of_a_fit_changes_no_bit(client, monkeypatch, fit, max_passes):
    columns = make_chunks(*draw()[:3], chunk=1500)
    expected = fit(*columns)
    passes = []
    submit = DaskWorkers._submit

    def submit_or_lose(self, task, *others):
        passes.append(task)
        if len(passes) == 6:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return submit(self, task, *others)

    monkeypatch.setattr(DaskWorkers, "_submit", submit_or_lose)
    assert_same_bits(fit(*columns), expected)
    # With the pass that assembles the partitions, and one that compares them after the loss.
    assert 6 < len(passes) <= max_passes + 2
    client.wait_for_workers(2, timeout=300)


@pytest.mark.slow
def test_partitions_may_be_empty_or_lack_groups_and_classes(client):
    X, y, sex, weights = draw()
    order = np.lexsort((y, sex))
    X = X[order]
    y = y[order]
    sex = sex[order]
    chunks = (0, 700, 0, 300, 3000, 0)
    partitioned = fit_model(
        *(column.rechunk({0: chunks}) for column in make_chunks(X, y, sex)), **SMOOTH
    )
    np.testing.assert_allclose(partitioned.coef_, fit_model(X, y, sex, **SMOOTH).coef_, rtol=1e-6)


def test_data_of_empty_partitions_alone_are_refused():
    X, y, sex, _ = draw()
    empty = [da.from_array(column[:0], chunks=1) for column in (X, y, sex)]
    with pytest.raises(ValueError, match="all partitions are empty. Check the filter"):
        fit_model(*empty)


@pytest.mark.parametrize("column", ["X", "y", "sex"])
def test_the_error_about_missing_values_names_the_partition(client, column):
    X, y, sex, _ = draw()
    data = {"X": X.copy(), "y": (y == "yes").astype(float), "sex": sex.astype(object)}
    data[column][1700] = np.nan
    frame = pd.DataFrame(data["X"]).assign(y=data["y"], sex=data["sex"])
    samples = dd.from_map(lambda i: frame.iloc[i * CHUNK : (i + 1) * CHUNK], range(8))
    with pytest.raises(ValueError, match=r"Partition 3: .*(NaN|missing)"):
        ConstrainedERMClassifier().fit(
            samples[[0, 1, 2]], samples["y"], sensitive_features=samples["sex"]
        )


def test_features_of_text_are_refused(client):
    X, y, sex, _ = draw()
    table = pd.DataFrame({"a": X[:, 0], "word": sex, "y": y, "sex": sex})
    samples = dd.from_pandas(table, npartitions=2)
    with pytest.raises(ValueError, match="Partition 0: could not convert string to float"):
        fit_model(samples[["a", "word"]], samples["y"], samples["sex"])


@pytest.mark.parametrize(
    "settings",
    [
        {"solver": "gda"},
        {"confidence_level": 0.9},
        {"group_interactions": True},
        {"constraint": "partial_demographic_parity"},
    ],
)
def test_settings_that_are_no_sum_over_partitions_are_refused(settings):
    with pytest.raises(ValueError, match="[Pp]artitioned samples"):
        fit_model(*make_chunks(*draw()[:3]), **settings)


def test_groups_and_two_classes_are_needed():
    X, y, sex, _ = draw()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there is no client
        with pytest.raises(ValueError, match="sensitive_features"):
            ConstrainedERMClassifier().fit(*make_chunks(X, y))
        with pytest.raises(ValueError, match="needs 2 classes"):
            fit_model(*make_chunks(X, sex.astype("U5") + y, sex))


@pytest.mark.slow
def test_a_failed_fit_leaves_the_earlier_one(client):
    X, y, sex, _ = draw()
    model = fit_model(*make_chunks(X, y, sex), **SMOOTH)
    earlier = model.coef_
    with pytest.raises(ValueError, match="Partition 0"):
        model.fit(*make_chunks(X * np.nan, y), sensitive_features=make_chunks(sex)[0])
    assert model.coef_ is earlier


@pytest.mark.slow
def test_partitions_leave_the_cluster_when_a_fit_returns(client):
    X, y, sex, _ = draw()
    gc.collect()
    before = set(client.futures)
    gc.disable()  # reference cycles must not keep them
    try:
        fit_model(*make_chunks(X, y, sex))
        with pytest.raises(ValueError, match="Partition 0"):
            fit_model(*make_chunks(X * np.nan, y, sex))
        deadline = time.monotonic() + 10
        while client.futures.keys() - before and time.monotonic() < deadline:
            time.sleep(0.01)
        assert client.futures.keys() <= before
    finally:
        gc.enable()


def draw_again(chunk):
    return chunk + np.random.default_rng().normal(size=chunk.shape)


def test_data_that_differ_at_every_pass_are_refused_without_a_client(monkeypatch):
    monkeypatch.delitem(sys.modules, "distributed", raising=False)
    X, y, sex, _ = draw()
    X, y, sex = make_chunks(X, y, sex)
    with pytest.raises(ValueError, match=r"Partition \d must have the same rows whenever"):
        fit_model(X.map_blocks(draw_again, dtype=float), y, sex)


@pytest.mark.slow
@pytest.mark.parametrize("fit", [fit_model, fit_ranks, fit_clusters])
def test_data_that_differ_after_the_loss_of_a_worker_are_refused(monkeypatch, fit):
    distributed = pytest.importorskip("distributed")
    columns = make_chunks(*draw()[:3], chunk=1500)
    lost = []
    submit = DaskWorkers._submit
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with (
        distributed.LocalCluster(dashboard_address=None, **settings) as cluster,
        distributed.Client(cluster),
    ):

        def submit_or_lose(self, task, *others):
            lost.append(task)
            if len(lost) == 4:
                cluster.scale(0)
                deadline = time.monotonic() + 10
                while cluster.scheduler.workers and time.monotonic() < deadline:
                    time.sleep(0.01)
                cluster.scale(1)
            return submit(self, task, *others)

        expected = fit(*columns)
        monkeypatch.setattr(DaskWorkers, "_submit", submit_or_lose)
        again = fit(*columns)
        np.testing.assert_array_equal(again.objective_, expected.objective_)
        lost.clear()
        with pytest.raises(ValueError, match=r"Partition \d must have the same rows whenever"):
            fit(columns[0].map_blocks(draw_again, dtype=float), *columns[1:])


class PredictiveParity(Constraint):
    """Equal precisions, as a user writes it: a quotient whose denominator depends on decisions."""

    applies_to = ("decisions",)
    table = (1, 0, 0, 0), (1, 1, 0, 0)

    def cells(self, samples):
        return {"all": np.ones(len(samples.target), dtype=bool)}


@pytest.mark.slow
def test_a_constraint_of_ones_own_is_kept_on_a_cluster(client):
    rng = np.random.default_rng(0)
    X, _, sex, _ = draw()
    noise = np.where(sex == "f", 0.4, 1.6) * rng.logistic(size=N_SAMPLES)
    y = np.where(X @ [1.0, -0.5, 0.3] + noise > 0.3, "yes", "no")

    def precisions(model):
        decisions = model.predict(X)
        return [np.mean(y[(sex == one) & (decisions == "yes")] == "yes") for one in ("f", "m")]

    plain = np.ptp(precisions(ConstrainedERMClassifier(None, pos_label="yes").fit(X, y)))
    model = fit_model(*make_chunks(X, y, sex), constraint=PredictiveParity())
    assert np.ptp(precisions(model)) <= 0.03 < plain / 2
    assert model.constraint_report_["gap"].iloc[0] == pytest.approx(np.ptp(precisions(model)))


def test_a_constraint_that_uses_features_is_refused(client):
    X, y, sex, _ = draw()
    with pytest.raises(ValueError, match="cannot be fitted to partitioned samples: it is neither"):
        fit_model(*make_chunks(X, y, sex), constraint=DemographicParity(control_features=0))
