"""Collections of Dask and of files become partitions with the same rows."""

import numpy as np
import pandas as pd
import pytest

from skfair._partitions import partitions_of
from skfair._partitions.collections import is_partitioned, load_rows
from skfair._partitions.partitions import Partitions
from skfair.datasets import open_blocks

TABLE = pd.DataFrame({"a": np.arange(10.0), "b": np.arange(10.0) ** 2, "g": list("xy") * 5})


def columns_of(part):
    return {name: np.asarray(rows).tolist() for name, rows in part.items()}


def test_arrays_are_one_partition():
    assert not is_partitioned(TABLE, None, [1], np.zeros(2))


def test_a_table_of_numpy_is_read_by_blocks(tmp_path):
    rows = np.arange(140_000.0).reshape(-1, 2)
    np.save(tmp_path / "rows.npy", rows)
    table = open_blocks(tmp_path / "rows.npy")
    assert table.shape == (70_000, 2)
    assert table.n_blocks == 2
    assert is_partitioned(table)
    partitions = partitions_of(X=table[[1, 0]], y=table[0])
    assert isinstance(partitions, Partitions)
    lengths = partitions.gather(lambda part: (part["X"].shape, part["y"].shape))
    assert lengths == [((65_536, 2), (65_536,)), ((4_464, 2), (4_464,))]
    np.testing.assert_array_equal(load_rows(table[[1, 0]]), rows[:, ::-1])
    np.testing.assert_array_equal(load_rows(table[1]), rows[:, 1])


def test_parquet_is_read_by_row_groups(tmp_path):
    pytest.importorskip("pyarrow")
    TABLE[:6].to_parquet(tmp_path / "0.parquet", row_group_size=4)
    TABLE[6:].to_parquet(tmp_path / "1.parquet")
    table = open_blocks(tmp_path)
    assert [len(block) for block in table] == [4, 2, 4]
    assert table.drop(["g"]).columns == ["a", "b"]
    pd.testing.assert_frame_equal(load_rows(table[["b", "a"]]), TABLE[["b", "a"]])
    partitions = partitions_of(
        X=table[["a", "b"]], sensitive_features=table["g"], sample_weight=None
    )
    assert partitions.gather(columns_of)[1] == {
        "X": [[4.0, 16.0], [5.0, 25.0]],
        "sensitive_features": ["x", "y"],
    }


@pytest.mark.parametrize("n_bytes", [0, 3, 40, 1000], ids="{} bytes".format)
def test_a_table_of_numpy_that_is_cut_off_is_named(tmp_path, n_bytes):
    np.save(tmp_path / "rows.npy", np.ones((100, 2)))
    content = (tmp_path / "rows.npy").read_bytes()
    (tmp_path / "rows.npy").write_bytes(content[:n_bytes])
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
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="no Parquet file"):
        open_blocks(tmp_path)


def test_arrays_of_dask_follow_the_first(local_client):
    da = pytest.importorskip("dask.array")
    X = da.from_array(np.arange(20.0).reshape(10, 2), chunks=(4, 1))
    partitions = partitions_of(X=X, y=da.from_array(np.arange(10), chunks=3))
    assert isinstance(partitions, Partitions)
    assert [part["y"] for part in partitions.gather(columns_of)] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9],
    ]


def test_dataframes_and_arrays_of_unknown_length(local_client):
    dd = pytest.importorskip("dask.dataframe")
    table = dd.from_pandas(TABLE, npartitions=3)
    X = table[["a", "b"]].to_dask_array()
    partitions = partitions_of(X=X, y=table["a"], sensitive_features=table["g"])
    for part in partitions.gather(columns_of):
        assert [row[0] for row in part["X"]] == part["y"]
        assert len(part["sensitive_features"]) == len(part["y"])


def test_partitions_of_files_do_not_depend_on_the_columns_read(local_client, tmp_path):
    pytest.importorskip("pyarrow")
    dd = pytest.importorskip("dask.dataframe")
    for number in range(6):
        wide = TABLE.assign(**{f"w{j}": np.random.default_rng(j).normal(size=10) for j in range(9)})
        wide.to_parquet(tmp_path / f"{number}.parquet")
    table = dd.read_parquet(tmp_path)
    partitions = partitions_of(
        X=table.drop(columns=["g"]), y=table["a"], sensitive_features=table["g"]
    )
    assert sum(len(part["y"]) for part in partitions.gather(columns_of)) == 60


def test_different_divisions_are_refused(local_client):
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    X = da.from_array(np.arange(10.0), chunks=4)
    with pytest.raises(ValueError, match="X has 10 and y has 9"):
        partitions_of(X=X, y=da.from_array(np.arange(9), chunks=3))
    table = dd.from_pandas(TABLE, npartitions=2)
    with pytest.raises(ValueError, match="partitions differ: X has 3, y has 2"):
        partitions_of(X=X, y=table["a"])
    with pytest.raises(ValueError, match="in partition (0 X has 4|2 X has 2), y has 3"):
        partitions_of(X=X, y=table["a"].repartition(divisions=[0, 3, 7, 9])).gather(columns_of)
    with pytest.raises(TypeError, match="X came in partitions and y in memory"):
        partitions_of(X=X, y=np.arange(10))
