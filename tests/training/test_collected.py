"""Fits to partitioned samples: on a cluster of processes, and read block by block."""

import os
import signal
import warnings

import numpy as np
import pandas as pd
import pytest

from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.constraints import DemographicParity, EqualizedOdds
from skfair.datasets import open_blocks
from skfair.metrics import METRICS
from skfair.partitions import DaskWorkers
from skfair.regression import ConstrainedERMRegressor
from skfair.solvers import SQP
from skfair.training import _collected

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

# What dask's own processes warn about when they are killed is not about this package.
pytestmark = pytest.mark.filterwarnings("ignore")

N_PEOPLE, CHUNK = 4000, 512
SMOOTH = {"enforcement": None, "solver": SQP(tol=1e-10)}


@pytest.fixture(autouse=True)
def many(monkeypatch):
    """People who do not all come to the client, few though they are."""
    monkeypatch.setattr(_collected, "_SMALL", 0)


def draw(seed=0):
    """Features, classes, sexes and weights."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(2, size=N_PEOPLE)
    X = rng.normal(size=(N_PEOPLE, 3)) + 0.6 * sex[:, np.newaxis]
    y = X @ [1.0, -0.5, 0.3] + 0.4 * sex + rng.logistic(size=N_PEOPLE) > 0.8
    return X, np.where(y, "yes", "no"), np.array(["f", "m"])[sex], rng.integers(0, 3, N_PEOPLE)


def chunked(*columns, chunk=CHUNK):
    return [da.from_array(own, chunks=(chunk, *own.shape[1:])) for own in columns]


def fitted(X, y, sex, weights=None, constraint="demographic_parity", **settings):
    model = ConstrainedERMClassifier(constraint, tolerance=0.03, pos_label="yes", **settings)
    return model.fit(X, y, sensitive_features=sex, sample_weight=weights)


def ranked(X, y, sex):
    """A fit that compares shares of the groups above all thresholds of an interval."""
    model = PartialParityClassifier(interval=(0.1, 0.4), tolerance=0.05)
    return model.fit(X, y == "yes", sensitive_features=sex)


def same_bits(one, other):
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(one.intercept_, other.intercept_)
    assert one.objective_ == other.objective_
    assert one.constraint_report_.equals(other.constraint_report_)


@pytest.mark.parametrize("constraint", ["demographic_parity", "equalized_odds"])
def test_decisions_about_everybody_keep_the_tolerance(client, constraint):
    X, y, sex, weights = draw()
    model = fitted(*chunked(X, y, sex, weights), constraint=constraint)
    metric = METRICS[f"{constraint}_difference"]
    people = {"sensitive_features": sex, "sample_weight": weights}
    gap = metric(y, model.predict(X), pos_label="yes", **people)
    assert gap <= 0.03
    report = model.constraint_report_
    assert report["gap"].iat[0] == pytest.approx(gap, abs=1e-9)
    whole = fitted(X, y, sex, weights, constraint)
    assert model.score(X, y) > whole.score(X, y) - 0.01
    assert report["n"].tolist() == whole.constraint_report_["n"].tolist()
    assert model.groups_.counts.tolist() == whole.groups_.counts.tolist()


@pytest.mark.parametrize(
    "constraint", [None, "loss_parity", [DemographicParity(), EqualizedOdds(aggregate="sum")]]
)
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_smooth_fits_are_those_in_memory(client, constraint, class_weight):
    X, y, sex, weights = draw()
    X = 1e5 + X  # whose means are far from 0
    settings = SMOOTH | {"constraint": constraint, "class_weight": class_weight}
    parts = fitted(*chunked(X, y, sex, weights), **settings)
    whole = fitted(X, y, sex, weights, **settings)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-6)
    assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-9)
    np.testing.assert_allclose(parts.multipliers_, whole.multipliers_, atol=1e-5)


def test_a_cluster_gives_the_bits_of_threads_that_read_files(client, tmp_path):
    X, y, sex, _ = draw()
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, sex=sex)
    table.to_parquet(tmp_path / "people.parquet", row_group_size=CHUNK)
    names, people = ["a", "b", "c"], open_blocks(tmp_path / "people.parquet")
    read = [fitted(people[names], people["y"], people["sex"], n_jobs=n_jobs) for n_jobs in (1, 2)]
    same_bits(*read)
    same_bits(read[0], fitted(*chunked(X, y, sex)))
    frame = dd.from_map(lambda i: table.iloc[i * CHUNK : (i + 1) * CHUNK], range(8))
    of_frame = fitted(frame[names], frame["y"], frame["sex"])
    same_bits(read[0], of_frame)
    assert of_frame.feature_names_in_.tolist() == names


def test_a_cluster_gives_regressors_the_bits_of_threads_that_read_files(client, tmp_path):
    X, _, sex, _ = draw()
    y = X @ [3.0, 1.0, 2.0] + (sex == "f")
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, sex=sex)
    table.to_parquet(tmp_path / "people.parquet", row_group_size=CHUNK)
    people, model = open_blocks(tmp_path / "people.parquet"), ConstrainedERMRegressor()
    read = model.fit(people[["a", "b", "c"]], people["y"], sensitive_features=people["sex"])
    X, y, sex = chunked(X, y, sex)
    same_bits(ConstrainedERMRegressor().fit(X, y, sensitive_features=sex), read)


@pytest.mark.slow
@pytest.mark.parametrize(("fit", "most_looks"), [(fitted, 14), (ranked, 26)])
def test_a_worker_lost_in_the_middle_of_a_fit_changes_no_bit(client, monkeypatch, fit, most_looks):
    X, y, sex, _ = draw()
    expected, asked = fit(*chunked(X, y, sex)), []
    submit = DaskWorkers._submit

    def submit_or_lose(self, task, others):
        asked.append(task)
        if len(asked) == 6:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return submit(self, task, others)

    monkeypatch.setattr(DaskWorkers, "_submit", submit_or_lose)
    same_bits(fit(*chunked(X, y, sex)), expected)
    assert 6 < len(asked) <= most_looks + 1  # with what is made of parts
    client.wait_for_workers(2, timeout=300)


def test_parts_may_be_empty_and_know_some_of_the_groups_and_classes_alone(client):
    X, y, sex, weights = draw()
    order = np.lexsort((y, sex))
    X, y, sex = X[order], y[order], sex[order]
    chunks = (0, 700, 0, 300, 3000, 0)
    parts = fitted(*(own.rechunk({0: chunks}) for own in chunked(X, y, sex)), **SMOOTH)
    np.testing.assert_allclose(parts.coef_, fitted(X, y, sex, **SMOOTH).coef_, rtol=1e-6)


@pytest.mark.parametrize("column", ["X", "y", "sex"])
def test_what_is_missing_is_named_by_its_part(client, column):
    X, y, sex, _ = draw()
    data = {"X": X.copy(), "y": (y == "yes").astype(float), "sex": sex.astype(object)}
    data[column][1700] = np.nan
    frame = pd.DataFrame(data["X"]).assign(y=data["y"], sex=data["sex"])
    people = dd.from_map(lambda i: frame.iloc[i * CHUNK : (i + 1) * CHUNK], range(8))
    with pytest.raises(ValueError, match=r"Partition 3: .*(NaN|missing)"):
        ConstrainedERMClassifier().fit(
            people[[0, 1, 2]], people["y"], sensitive_features=people["sex"]
        )


def test_words_among_the_features_are_refused(client):
    X, y, sex, _ = draw()
    table = pd.DataFrame({"a": X[:, 0], "word": sex, "y": y, "sex": sex})
    people = dd.from_pandas(table, npartitions=2)
    with pytest.raises(ValueError, match="Partition 0: could not convert string to float"):
        fitted(people[["a", "word"]], people["y"], people["sex"])


@pytest.mark.parametrize(
    "settings",
    [
        {"solver": "gda"},
        {"enforcement": "path"},
        {"confidence_level": 0.9},
        {"group_interactions": True},
        {"constraint": "partial_demographic_parity"},
    ],
)
def test_what_is_no_sum_over_parts_is_refused(settings):
    with pytest.raises(ValueError, match="[Pp]artitioned samples"):
        fitted(*chunked(*draw()[:3]), **settings)


def test_groups_and_two_classes_are_needed():
    X, y, sex, _ = draw()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there is no client
        with pytest.raises(ValueError, match="sensitive_features"):
            ConstrainedERMClassifier().fit(*chunked(X, y))
        with pytest.raises(ValueError, match="needs 2 classes"):
            fitted(*chunked(X, sex.astype("U5") + y, sex))


def test_an_earlier_fit_stays_where_a_later_one_fails(client):
    X, y, sex, _ = draw()
    model = fitted(*chunked(X, y, sex), **SMOOTH)
    earlier = model.coef_
    with pytest.raises(ValueError, match="Partition 0"):
        model.fit(*chunked(X * np.nan, y), sensitive_features=chunked(sex)[0])
    assert model.coef_ is earlier
