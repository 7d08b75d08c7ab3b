"""Collections of Dask and of files become parts that hold the same people."""

import sys

import numpy as np
import pandas as pd
import pytest

from skfair.datasets import open_blocks
from skfair.partitions import Partitions, is_partitioned, load_rows, partitions_of

TABLE = pd.DataFrame({"a": np.arange(10.0), "b": np.arange(10.0) ** 2, "g": list("xy") * 5})


def columns_of(part):
    return {name: np.asarray(rows).tolist() for name, rows in part.items()}


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with distributed.Client(processes=False, dashboard_address=":0") as client:
        yield client


def test_memory_lies_in_one_piece():
    assert not is_partitioned(TABLE, None, [1], np.zeros(2))


def test_a_table_of_numpy_is_read_by_blocks(tmp_path):
    rows = np.arange(140_000.0).reshape(-1, 2)
    np.save(tmp_path / "rows.npy", rows)
    people = open_blocks(tmp_path / "rows.npy")
    assert people.shape == (70_000, 2)
    assert people.n_blocks == 2
    assert is_partitioned(people)
    parts = partitions_of(X=people[[1, 0]], y=people[0])
    assert isinstance(parts, Partitions)
    lengths = parts.gather(lambda part: (part["X"].shape, part["y"].shape))
    assert lengths == [((65_536, 2), (65_536,)), ((4_464, 2), (4_464,))]
    np.testing.assert_array_equal(load_rows(people[[1, 0]]), rows[:, ::-1])
    np.testing.assert_array_equal(load_rows(people[1]), rows[:, 1])


def test_parquet_is_read_by_row_groups(tmp_path):
    pytest.importorskip("pyarrow")
    TABLE[:6].to_parquet(tmp_path / "0.parquet", row_group_size=4)
    TABLE[6:].to_parquet(tmp_path / "1.parquet")
    people = open_blocks(tmp_path)
    assert [len(block) for block in people] == [4, 2, 4]
    assert people.drop(["g"]).columns == ["a", "b"]
    pd.testing.assert_frame_equal(load_rows(people[["b", "a"]]), TABLE[["b", "a"]])
    parts = partitions_of(X=people[["a", "b"]], sensitive_features=people["g"], sample_weight=None)
    assert parts.gather(columns_of)[1] == {
        "X": [[4.0, 16.0], [5.0, 25.0]],
        "sensitive_features": ["x", "y"],
    }


@pytest.mark.parametrize("kept", [0, 3, 40, 1000], ids="{} bytes".format)
def test_a_table_of_numpy_that_is_cut_off_is_named(tmp_path, kept):
    np.save(tmp_path / "rows.npy", np.ones((100, 2)))
    whole = (tmp_path / "rows.npy").read_bytes()
    (tmp_path / "rows.npy").write_bytes(whole[:kept])
    with pytest.raises(ValueError, match=r"rows\.npy cannot be read as an array of numbers: ."):
        open_blocks(tmp_path / "rows.npy")


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"PAR1"])
def test_a_table_of_numpy_that_is_something_else_is_named(tmp_path, content):
    (tmp_path / "rows.npy").write_bytes(content)
    with pytest.raises(ValueError, match=r"rows\.npy cannot be read as an array of numbers: ."):
        open_blocks(tmp_path / "rows.npy")


def test_what_files_cannot_be(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        open_blocks(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"ends in \.parquet"):
        open_blocks(tmp_path)
    np.save(tmp_path / "line.npy", np.arange(3))
    with pytest.raises(ValueError, match="2 dimensions"):
        open_blocks(tmp_path / "line.npy")
    pytest.importorskip("pyarrow")
    TABLE.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(KeyError, match="no column 'c'"):
        open_blocks(tmp_path / "a.parquet")["c"]
    TABLE[["a"]].to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="same columns"):
        open_blocks(tmp_path)
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="no Parquet file"):
        open_blocks(tmp_path)


def test_arrays_of_dask_follow_the_first(client):
    da = pytest.importorskip("dask.array")
    X = da.from_array(np.arange(20.0).reshape(10, 2), chunks=(4, 1))
    parts = partitions_of(X=X, y=da.from_array(np.arange(10), chunks=3))
    assert isinstance(parts, Partitions)
    assert [part["y"] for part in parts.gather(columns_of)] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9],
    ]


def test_dataframes_and_arrays_of_unknown_length(client):
    dd = pytest.importorskip("dask.dataframe")
    people = dd.from_pandas(TABLE, npartitions=3)
    X = people[["a", "b"]].to_dask_array()
    parts = partitions_of(X=X, y=people["a"], sensitive_features=people["g"])
    for part in parts.gather(columns_of):
        assert [row[0] for row in part["X"]] == part["y"]
        assert len(part["sensitive_features"]) == len(part["y"])


def test_files_are_divided_alike_however_many_columns_are_read(client, tmp_path):
    pytest.importorskip("pyarrow")
    dd = pytest.importorskip("dask.dataframe")
    for number in range(6):
        wide = TABLE.assign(**{f"w{j}": np.random.default_rng(j).normal(size=10) for j in range(9)})
        wide.to_parquet(tmp_path / f"{number}.parquet")
    people = dd.read_parquet(tmp_path)
    parts = partitions_of(
        X=people.drop(columns=["g"]), y=people["a"], sensitive_features=people["g"]
    )
    assert sum(len(part["y"]) for part in parts.gather(columns_of)) == 60


def test_without_a_client_threads_read_and_it_is_said(monkeypatch):
    da = pytest.importorskip("dask.array")
    monkeypatch.delitem(sys.modules, "distributed", raising=False)
    X = da.from_array(np.arange(10.0), chunks=4)
    with pytest.warns(UserWarning, match="no Dask client"):
        parts = partitions_of(X=X, n_jobs=2)
    assert isinstance(parts, Partitions)
    assert parts.gather(columns_of)[2] == {"X": [8.0, 9.0]}


def test_different_divisions_are_refused(client):
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    X = da.from_array(np.arange(10.0), chunks=4)
    with pytest.raises(ValueError, match="X has 10 and y has 9"):
        partitions_of(X=X, y=da.from_array(np.arange(9), chunks=3))
    people = dd.from_pandas(TABLE, npartitions=2)
    with pytest.raises(ValueError, match="partitions differ: X has 3, y has 2"):
        partitions_of(X=X, y=people["a"])
    with pytest.raises(ValueError, match="in partition (0 X has 4|2 X has 2), y has 3"):
        partitions_of(X=X, y=people["a"].repartition(divisions=[0, 3, 7, 9])).gather(columns_of)
    with pytest.raises(TypeError, match="X came in partitions and y in memory"):
        partitions_of(X=X, y=np.arange(10))
