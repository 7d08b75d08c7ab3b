"""Tables of spreadsheets: .xlsx, .xlsb, .xls and .ods, read by pandas with python-calamine."""

from __future__ import annotations

import zipfile
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from skfair._utils.checks import join_names

if TYPE_CHECKING:
    from pathlib import Path

_COMPOUND_SIGNATURE = b"\xd0\xcf\x11\xe0"
"""First bytes of .xls, and of other files of early versions of Office."""


def is_spreadsheet(path: Path) -> bool:
    """Whether a file is a spreadsheet, by its content."""
    with open(path, "rb") as file:
        first = file.read(4)
    if first == _COMPOUND_SIGNATURE:
        return True
    if first != b"PK\x03\x04" or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        is_open_document = "mimetype" in names and b"spreadsheet" in archive.read("mimetype")
    return is_open_document or any(name.startswith("xl/workbook.") for name in names)


def read_sheet(path: Path, sheet: str | None) -> pd.DataFrame:
    """All columns of a sheet as the text that CSV would have; None is the only one with entries.

    The first row with entries names the columns. Empty rows are skipped.
    """
    tables = _load_sheets(path)
    name = _choose_sheet(path, {name: len(one) for name, one in tables.items()}, sheet)
    # Rows and columns without any entry are formatting.
    table = tables[name].dropna(how="all", axis=1).dropna(how="all", axis=0)
    header, rows = table.iloc[:1], table.iloc[1:]
    if not len(table) or not len(rows):
        raise ValueError(
            f"The sheet {name!r} of {path} must have a row of column names and one row per sample "
            f"below it, but has {len(table)} rows with entries."
        )
    if (n_unnamed := int(header.isna().to_numpy().sum())) > 0:
        raise ValueError(
            f"The first row of the sheet {name!r} of {path} must name each of its "
            f"{table.shape[1]} columns, but {n_unnamed} have none: it holds "
            f"{join_names(map(repr, header.iloc[0].dropna()), 4)}, which may be a title. Delete "
            "the rows above the names of columns."
        )
    return rows.set_axis(header.iloc[0].tolist(), axis=1).reset_index(drop=True)


def _load_sheets(path: Path) -> dict[str, pd.DataFrame]:
    """The entries of all sheets as text, by name."""
    try:
        sheets = pd.read_excel(
            path,
            sheet_name=None,
            header=None,
            dtype=object,
            keep_default_na=False,  # "NA" and "None" are names of groups and classes
            na_values=[""],
            engine="calamine",
        )
    except ImportError:
        raise ImportError(
            f"{path} is a spreadsheet, which python-calamine reads, but it is not installed: pip "
            'install "skfair-estimators[excel]", or save the table as "CSV UTF-8".'
        ) from None
    except Exception as error:  # its errors have no common class
        raise ValueError(
            f"{path} must be a spreadsheet, but cannot be read ({error}). Remove its password if "
            'it has one, or save the table as "CSV UTF-8".'
        ) from None
    return {name: sheet.map(_write_entry) for name, sheet in sheets.items()}


def _write_entry(value: object) -> str | float:
    """An entry as text, as CSV has it; nan if it is empty."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if value is None or value is pd.NaT or (isinstance(value, float) and np.isnan(value)):
        return np.nan
    if isinstance(value, datetime) and value == datetime.combine(value, datetime.min.time()):
        return value.date().isoformat()
    return str(value) or np.nan


def _choose_sheet(path: Path, sizes: dict[str, int], sheet: str | None) -> str:
    """The sheet of a name, or the only one with entries."""
    names = [name for name, n_rows in sizes.items() if n_rows]
    if sheet is None and len(names) == 1:
        return names[0]
    if sheet in sizes:
        return sheet
    if not names:
        raise ValueError(f"{path} is empty; one row per sample is needed, below a header.")
    passed = f"is {sheet!r}" if sheet is not None else "was not passed"
    raise ValueError(
        f"--sheet must name a sheet of {path}, which has {join_names(map(repr, names), 10)}, but "
        f"{passed}."
    )
