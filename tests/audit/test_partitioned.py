"""Audits of partitioned predictions are counted where the data lie, and equal those in memory."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression

from skfair.audit import Audit, SensitiveFeatures, _partitioned
from skfair.datasets import open_blocks

dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")

pytestmark = pytest.mark.filterwarnings("ignore:There is no Dask client")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], size=4000, p=[0.4, 0.6])
    y = rng.random(4000) < 0.5
    decision = (rng.random(4000) < 0.4 + 0.1 * (sex == "m") + 0.2 * y).astype(int)
    columns = {"y": y.astype(int), "decision": decision, "sex": sex}
    region = rng.choice(["north", "south"], size=4000)
    origin = np.where(rng.random(4000) < 0.1, None, rng.choice(["x", "z"], size=4000))
    return pd.DataFrame(columns | {"origin": origin, "region": region})


def audit(table, groups="sex", **settings):
    y, decision = table["y"], table["decision"]
    return Audit.from_predictions(y, decision, sensitive_features=groups, **settings)


def assert_equal_answers(lazy, known):
    pd.testing.assert_frame_equal(lazy.report().frame, known.report().frame, rtol=1e-12)
    pd.testing.assert_frame_equal(lazy.report().gaps, known.report().gaps, rtol=1e-12)
    for name in ("demographic_parity", "equalized_odds"):
        claims = [one.certify(name, 0.15) for one in (lazy, known)]
        assert claims[0].verdict == claims[1].verdict
        assert claims[0].high == pytest.approx(claims[1].high, rel=1e-12)
    assert lazy.n_samples == known.n_samples == 4000


def no_rows(*_, **__):
    raise AssertionError("rows were collected")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["series", "frame", "strata"])
def test_counts_on_workers_give_the_answers_in_memory(form, table, client, monkeypatch):
    lazy = dd.from_pandas(table, npartitions=5)
    columns = {"series": "sex", "frame": ["sex", "region"], "strata": "sex"}[form]
    strata = {"control_features": "region"} if form == "strata" else {}
    known = audit(table, table[columns], **{name: table[one] for name, one in strata.items()})
    strata = {name: lazy[one] for name, one in strata.items()}
    monkeypatch.setattr("skfair._partitions.collections._compute_together", no_rows)
    assert_equal_answers(audit(lazy, lazy[columns], **strata), known)
    assert len(audit(lazy, lazy[columns], **strata).columns["y_pred"]) <= 16


def test_groups_that_are_missing_are_counted(table, client):
    lazy = dd.from_pandas(table, npartitions=5)
    pair = [audit(one, SensitiveFeatures(one["origin"], missing="group")) for one in (lazy, table)]
    pd.testing.assert_frame_equal(pair[0].report().frame, pair[1].report().frame, rtol=1e-12)


def test_outcomes_that_are_missing_are_counted(table, client):
    table = table.assign(y=table["y"].where(table["decision"] == 1))
    lazy = dd.from_pandas(table, npartitions=5)
    pair = [audit(one, one["sex"]) for one in (lazy, table)]
    pd.testing.assert_frame_equal(pair[0].report().frame, pair[1].report().frame, rtol=1e-12)


@pytest.mark.slow
def test_arrays_are_counted(table, client):
    arrays = [table[name].to_numpy() for name in ("y", "decision")]
    groups = table["sex"].to_numpy().astype(str)
    lazy = [da.from_array(one, chunks=900) for one in (*arrays, groups)]
    pair = [
        Audit.from_predictions(*columns[:2], sensitive_features=columns[2])
        for columns in (lazy, [*arrays, groups])
    ]
    assert_equal_answers(*pair)


@pytest.mark.slow
def test_blocks_of_files_are_counted(table, tmp_path):
    table.to_csv(tmp_path / "rows.csv", index=False)
    pytest.importorskip("pyarrow")
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=500)
    blocks = open_blocks(tmp_path / "rows.parquet")
    assert_equal_answers(audit(blocks, blocks[["sex"]]), audit(table, table[["sex"]]))


class Threshold(ClassifierMixin, BaseEstimator):
    """Decisions that need the rows of a block, and its groups."""

    __metadata_request__predict = {"sensitive_features": True}

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X, sensitive_features):
        assert list(X.columns) == ["age"]
        raised = X["age"].to_numpy() + (np.asarray(sensitive_features) == "m")
        return self.classes_[(raised > 0.7).astype(int)]


@pytest.mark.slow
def test_predictions_of_a_model_are_counted_where_the_rows_are(table, monkeypatch):
    model = Threshold().fit(None, np.array(["no", "yes"]))
    age = np.random.default_rng(1).random(len(table))
    table = table.assign(age=age, y=model.classes_[table["y"]])
    lazy = dd.from_pandas(table, npartitions=3)
    decisions = model.predict(table[["age"]], table["sex"])
    known = audit(table.assign(decision=decisions), table["sex"], pos_label="yes")
    monkeypatch.setattr("skfair._partitions.collections._compute_together", no_rows)
    columns = lazy[["age"]], lazy["y"]
    settings = {"sensitive_features": lazy["sex"], "pos_label": "yes"}
    assert_equal_answers(Audit.from_estimator(model, *columns, **settings), known)
    with pytest.raises(ValueError, match="X_fit must be None where X is partitioned"):
        Audit.from_estimator(model, *columns, X_fit=table[["age"]], **settings)
    model.predict_proba = None
    with pytest.warns(UserWarning, match="metrics of scores do not allow: they are left out"):
        Audit.from_estimator(model, *columns, **settings)
    regressor = LinearRegression().fit([[1.0]], [1.0])
    with pytest.raises(ValueError, match="estimator must be a classifier where X is partitioned"):
        Audit.from_estimator(regressor, *columns, **settings)


def test_what_counts_do_not_show_is_refused_before_it_is_read(table, monkeypatch):
    lazy = dd.from_pandas(table, npartitions=5)
    monkeypatch.setattr(_partitioned, "partitions_of", no_rows)
    for settings in ({"y_score": lazy["y"]}, {"sample_weight": lazy["y"]}):
        (name,) = settings
        with pytest.raises(ValueError, match=f"{name} must be in memory, since areas"):
            audit(lazy, lazy["sex"], **settings)
    known = SensitiveFeatures(lazy["origin"], missing="at_random", X=lazy[["y"]])
    with pytest.raises(ValueError, match="missing='at_random' of sensitive_features must be in"):
        audit(lazy, known)


def test_many_distinct_rows_are_refused_on_the_workers(table, client, monkeypatch):
    lazy = dd.from_pandas(table.assign(age=np.arange(4000.0)), npartitions=5)
    monkeypatch.setattr(_partitioned, "MAX_DISTINCT_ROWS", 1000)
    with pytest.raises(ValueError, match=r"of which there may be .*bins; pass real predictions"):
        audit(lazy, lazy[["sex", "age"]])


@pytest.mark.slow
def test_the_reading_of_a_collection_is_that_of_its_samples(table):
    lazy, known = (audit(one, one["sex"]) for one in (dd.from_pandas(table, npartitions=2), table))
    assert lazy.reading == known.reading and "count" not in str(lazy.reading)
