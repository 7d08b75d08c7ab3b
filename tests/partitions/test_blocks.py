"""Files of every kind are read as they were when they were opened, or refused by name."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest

from skfair._partitions.collections import load_rows
from skfair.classification import ConstrainedERMClassifier
from skfair.datasets import open_blocks

TABLE = pd.DataFrame({"a": np.arange(8.0), "b": np.arange(8.0) ** 2, "sex": list("fm") * 4})


@pytest.fixture
def parquet(tmp_path):
    pytest.importorskip("pyarrow")
    return tmp_path / "table.parquet"


def replace_keeping_size(path):
    """Another file of the same size under the same name."""
    other = path.with_name("other")
    shutil.copy2(path, other)
    os.replace(other, path)


def modify_in_place(path):
    """The same file with another modification time."""
    state = path.stat()
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 1))


def cut_off(path):
    """The same file with another size, and the same modification time."""
    state = path.stat()
    os.truncate(path, state.st_size // 2)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


CHANGES = [replace_keeping_size, modify_in_place, cut_off, os.remove]


@pytest.mark.parametrize("change", CHANGES)
def test_a_replaced_parquet_file_is_refused(parquet, change):
    TABLE.to_parquet(parquet, row_group_size=4)
    blocks = open_blocks(parquet)
    assert len(blocks.read(0)) == 4
    change(parquet)
    with pytest.raises(OSError, match=r"table\.parquet must not change .* Open it again"):
        blocks.read(1)


@pytest.mark.parametrize("change", CHANGES)
def test_a_replaced_array_is_refused(tmp_path, change):
    path = tmp_path / "table.npy"
    np.save(path, np.arange(12.0).reshape(6, 2))
    blocks = open_blocks(path)
    np.testing.assert_array_equal(blocks[1].read(0), np.arange(1.0, 12.0, 2.0))
    change(path)
    with pytest.raises(OSError, match=r"table\.npy must not change .* Open it again"):
        blocks.read(0)


def test_a_file_replaced_while_it_is_read_is_refused(parquet, monkeypatch):
    from pyarrow.parquet import ParquetFile

    TABLE.to_parquet(parquet)
    blocks = open_blocks(parquet)
    read = ParquetFile.read_row_group

    def read_and_replace(*arguments, **settings):
        table = read(*arguments, **settings)
        replace_keeping_size(parquet)
        return table

    monkeypatch.setattr(ParquetFile, "read_row_group", read_and_replace)
    with pytest.raises(OSError, match=r"table\.parquet must not change"):
        blocks.read(0)


def test_a_file_replaced_during_a_fit_is_refused(parquet, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=70_000), "g": rng.integers(2, size=70_000)})
    frame["y"] = (frame["x"] + rng.normal(size=70_000) > 0).astype(int)
    frame.to_parquet(parquet, row_group_size=35_000)
    blocks = open_blocks(parquet)
    from skfair._partitions.blocks import _ParquetFile

    reads = []
    read = _ParquetFile.read

    def count_and_replace(*arguments):
        reads.append(1)
        if len(reads) == 12:
            replace_keeping_size(parquet)
        return read(*arguments)

    monkeypatch.setattr(_ParquetFile, "read", count_and_replace)
    model = ConstrainedERMClassifier(tolerance=0.05)
    with pytest.raises(OSError, match=r"table\.parquet must not change"):
        model.fit(blocks[["x"]], blocks["y"], sensitive_features=blocks["g"])
    assert not hasattr(model, "coef_")


def test_arrays_that_lie_by_columns(tmp_path):
    rows = np.asfortranarray(np.random.default_rng(0).normal(size=(70_000, 3)).astype(np.float32))
    np.save(tmp_path / "rows.npy", rows)
    blocks = open_blocks(tmp_path / "rows.npy")
    rows_read = load_rows(blocks[[2, 0]])
    assert rows_read.dtype == np.float32
    np.testing.assert_array_equal(rows_read, rows[:, [2, 0]])


@pytest.mark.parametrize(
    "index", [pd.Index(range(10, 18)[::-1]), pd.Index(list("abcdefgh"), name="key")]
)
def test_an_index_of_pandas_is_no_column(parquet, index):
    TABLE.set_index(index).to_parquet(parquet)
    blocks = open_blocks(parquet)
    assert blocks.columns == ["a", "b", "sex"]
    pd.testing.assert_frame_equal(load_rows(blocks.drop(["sex"])), TABLE[["a", "b"]])
    pd.testing.assert_frame_equal(load_rows(blocks), TABLE)


def test_columns_that_pandas_named_by_numbers(parquet):
    pd.DataFrame({0: [1.0, 2.0], 1: [3.0, 4.0]}).to_parquet(parquet)
    assert load_rows(open_blocks(parquet)["1"]).tolist() == [3.0, 4.0]


def test_files_that_writers_hide_are_skipped(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "_temporary").mkdir()
    for name in ("a.parquet", ".tmp.parquet", "_old.parquet", "_temporary/b.parquet"):
        TABLE.to_parquet(tmp_path / name)
    (tmp_path / ".c.parquet").write_bytes(b"half written")
    assert len(open_blocks(tmp_path)) == len(TABLE)


def hive(folder, values):
    for value in values:
        (folder / f"g={value}").mkdir()
        TABLE.to_parquet(folder / f"g={value}" / "0.parquet")
    return open_blocks(folder)


def test_columns_of_folders(tmp_path):
    pytest.importorskip("pyarrow")
    blocks = hive(tmp_path, ["women", "m%C3%A4n"])
    assert blocks.columns == ["a", "b", "sex", "g"]
    assert load_rows(blocks["g"]).tolist() == ["män"] * 8 + ["women"] * 8
    assert load_rows(blocks[["g", "a"]]).columns.tolist() == ["g", "a"]
    assert load_rows(blocks[["a"]])["a"].tolist() == [*range(8)] * 2


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["-1", "0", "2"], [-1, 0, 2]),
        (["01", "1"], ["01", "1"]),
        (["1", "__HIVE_DEFAULT_PARTITION__"], [1, None]),
    ],
)
def test_values_of_folders(tmp_path, values, expected):
    pytest.importorskip("pyarrow")
    column = load_rows(hive(tmp_path, values)["g"])
    assert sorted(column.dropna().unique().tolist()) == [
        value for value in expected if value is not None
    ]
    assert column.isna().sum() == 8 * (None in expected)


def test_files_with_columns_of_different_types(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"g": [1, 0]})
    frame.to_parquet(tmp_path / "0.parquet")
    frame.astype(float).to_parquet(tmp_path / "1.parquet")  # numbers as well
    pd.DataFrame({"g": [None, None]}).to_parquet(tmp_path / "2.parquet")  # of no type
    assert len(open_blocks(tmp_path)) == 6
    for other, kind in [(str, "text"), (bool, "bool")]:
        frame.astype(other).to_parquet(tmp_path / "3.parquet")
        with pytest.raises(
            ValueError, match=rf"'g' must be of one type .* numbers before .*3\.parquet, and {kind}"
        ):
            open_blocks(tmp_path)


def test_files_with_columns_in_another_order(tmp_path):
    pytest.importorskip("pyarrow")
    TABLE.to_parquet(tmp_path / "0.parquet")
    TABLE[["sex", "b", "a"]].to_parquet(tmp_path / "1.parquet")
    pd.testing.assert_frame_equal(
        load_rows(open_blocks(tmp_path)), pd.concat([TABLE, TABLE], ignore_index=True)
    )


def test_tables_without_rows(parquet):
    np.save(parquet.with_name("no.npy"), np.empty((0, 3)))
    with pytest.raises(ValueError, match=r"no\.npy must hold at least one row"):
        open_blocks(parquet.with_name("no.npy"))
    TABLE[:0].to_parquet(parquet)
    with pytest.raises(ValueError, match=r"table\.parquet must hold at least one row"):
        open_blocks(parquet)


def test_archives_of_arrays(tmp_path):
    pytest.importorskip("pyarrow")
    np.savez(tmp_path / "table.npz", np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"table\.npz must .* an archive \(\.npz"):
        open_blocks(tmp_path / "table.npz")
    os.rename(tmp_path / "table.npz", tmp_path / "table.npy")
    with pytest.raises(ValueError, match=r"table\.npy must .* an archive \(\.npz"):
        open_blocks(tmp_path / "table.npy")


def test_damage_in_the_middle_of_a_parquet_file(parquet):
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=10_000)})
    frame.to_parquet(parquet, write_page_checksum=True, compression=None)
    damaged = bytearray(parquet.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    parquet.write_bytes(damaged)
    blocks = open_blocks(parquet)
    with pytest.raises(ValueError, match=r"table\.parquet is no Parquet file, .* damaged: .*CRC"):
        blocks.read(0)


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(5))
def test_damage_before_the_footer_is_named_or_does_no_harm(parquet, seed):
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=200), "g": list("fm") * 100})
    frame.to_parquet(parquet, write_page_checksum=True, row_group_size=80)
    content = parquet.read_bytes()
    rng = np.random.default_rng(seed)
    end = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for _ in range(20):
        damaged = bytearray(content)
        damaged[rng.integers(end)] ^= 1 << rng.integers(8)
        parquet.write_bytes(damaged)
        try:
            rows_read = load_rows(open_blocks(parquet))
        except ValueError as error:
            message = str(error)
            assert "table.parquet" in message
        else:
            pd.testing.assert_frame_equal(rows_read, frame)


def test_columns_of_one_name(parquet):
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    write_table(pa.table([[1], [2]], names=["a", "a"]), parquet)
    with pytest.raises(ValueError, match="different names, but it has more than one column 'a'"):
        open_blocks(parquet)


def test_text_that_spells_numbers_is_read_as_in_memory(parquet):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 2)).round(3), columns=["x", "z"])
    y = (frame["x"] > 0).astype(int)
    groups = pd.Series(np.resize(["01", "1"], 300))
    text = frame.astype(str).assign(y=y, g=groups)
    text.to_parquet(parquet)
    blocks = open_blocks(parquet)
    model = ConstrainedERMClassifier(tolerance=0.2)
    in_files = model.fit(blocks[["x", "z"]], blocks["y"], sensitive_features=blocks["g"]).coef_
    assert model.groups_.labels == [["01"], ["1"]]
    content = model.fit(frame, y, sensitive_features=groups).coef_
    np.testing.assert_allclose(in_files, content, rtol=1e-6)
    np.testing.assert_array_equal(
        model.fit(text[["x", "z"]], y, sensitive_features=groups).coef_, content
    )
