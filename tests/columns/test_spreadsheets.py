"""Spreadsheets have the results of the CSV file of the same table, or are refused in a sentence."""

import json
import sys
import zipfile
from html import escape

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair._columns.files import count_repeated_lines, read_columns

OPTIONS = ["--prediction", "hired", "--sensitive", "sex", "--json", "-"]


def draw_table():
    """Samples with text, counts, decimals, booleans and empty entries, as CSV has them."""
    rng = np.random.default_rng(0)
    rows = [
        [f"{k + 1}", rng.choice(["f", "m", "NA", ""]), rng.choice(["0", "1"]), f"{k / 8:g}"]
        for k in range(120)
    ]
    return [["id", "sex", "hired", "score"], *rows, ["121", "f & <m>", "1", "-3"]]


def write_xlsx(path, sheets):
    """Write the least that is a workbook: sheets by name, of rows of text, with typed numbers."""
    kinds = "http://schemas.openxmlformats.org/"
    main_space = f"{kinds}spreadsheetml/2006/main"
    relations = f"{kinds}package/2006/relationships"
    document = f"{kinds}officeDocument/2006/relationships"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{kinds}package/2006/content-types">'
            '<Default Extension="xml" ContentType="application/xml"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{relations}"><Relationship Id="r0" '
            f'Type="{document}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        names = "".join(
            f'<sheet name="{name}" sheetId="{k}" r:id="r{k}"/>' for k, name in enumerate(sheets, 1)
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main_space}" xmlns:r="{document}"><sheets>{names}</sheets>'
            "</workbook>",
        )
        targets = "".join(
            f'<Relationship Id="r{k}" Type="{document}/worksheet" Target="worksheets/{k}.xml"/>'
            for k in range(1, len(sheets) + 1)
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{relations}">{targets}</Relationships>',
        )
        for k, rows in enumerate(sheets.values(), 1):
            cells = "".join(f"<row>{''.join(map(write_cell, row))}</row>" for row in rows)
            archive.writestr(
                f"xl/worksheets/{k}.xml",
                f'<worksheet xmlns="{main_space}"><sheetData>{cells}</sheetData></worksheet>',
            )


def write_cell(text):
    """A number, a boolean, a text or an empty cell."""
    if text == "":
        return "<c/>"
    if text in ("TRUE", "FALSE"):
        return f'<c t="b"><v>{int(text == "TRUE")}</v></c>'
    try:
        return f"<c><v>{float(text):.17g}</v></c>"
    except ValueError:
        return f'<c t="inlineStr"><is><t>{escape(text)}</t></is></c>'


def write_ods(path, sheets):
    """Write the least that is an OpenDocument spreadsheet."""
    space = "urn:oasis:names:tc:opendocument:xmlns"
    tables = "".join(
        f'<table:table table:name="{name}">'
        + "".join(
            "<table:table-row>" + "".join(map(write_ods_cell, row)) + "</table:table-row>"
            for row in rows
        )
        + "</table:table>"
        for name, rows in sheets.items()
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        manifest = f'xmlns:manifest="{space}:manifest:1.0"'
        archive.writestr(
            "META-INF/manifest.xml",
            f'<manifest:manifest {manifest}><manifest:file-entry manifest:full-path="content.xml" '
            'manifest:media-type="text/xml"/></manifest:manifest>',
        )
        archive.writestr(
            "content.xml",
            f'<office:document-content xmlns:office="{space}:office:1.0" '
            f'xmlns:table="{space}:table:1.0" xmlns:text="{space}:text:1.0">'
            f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
            "</office:document-content>",
        )


def write_ods_cell(text):
    """A number, a text or an empty cell."""
    try:
        return f'<table:table-cell office:value-type="float" office:value="{float(text)}"/>'
    except ValueError:
        paragraph = f"<text:p>{escape(text)}</text:p>" if text else ""
        return f'<table:table-cell office:value-type="string">{paragraph}</table:table-cell>'


WRITERS = {"a.xlsx": write_xlsx, "a.ods": write_ods}


@pytest.mark.parametrize("name", WRITERS)
def test_a_sheet_has_the_columns_of_the_csv_file(name, tmp_path):
    pytest.importorskip("python_calamine")
    rows = draw_table()
    WRITERS[name](tmp_path / name, {"data": [*rows, rows[-1]], "notes": []})
    text = "\n".join(",".join(f'"{one}"' for one in row) for row in [*rows, rows[-1]])
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    tables = [read_columns([tmp_path / one], rows[0]) for one in ("a.csv", name)]
    pd.testing.assert_frame_equal(*tables)
    assert [count_repeated_lines([tmp_path / one]) for one in ("a.csv", name)] == [1, 1]


def test_dates_booleans_and_whole_numbers_are_text_as_in_csv(tmp_path):
    pytest.importorskip("python_calamine")
    rows = [["n", "flag", "rate"], ["3", "TRUE", "0.1"], ["4", "FALSE", "1e-07"]]
    write_xlsx(tmp_path / "a.xlsx", {"data": rows})
    table = read_columns([tmp_path / "a.xlsx"], rows[0])
    assert table.to_numpy().tolist() == rows[1:]


@pytest.mark.slow
def test_a_report_has_the_numbers_of_the_csv_file(tmp_path, capsys, monkeypatch):
    pytest.importorskip("python_calamine")
    monkeypatch.chdir(tmp_path)
    rows = draw_table()
    write_xlsx("a.xlsx", {"data": rows, "other": [["x", "y"], ["1", "2"]]})
    pd.DataFrame(rows[1:], columns=rows[0]).to_csv("a.csv", index=False)
    reports = []
    for options in (["a.csv"], ["a.xlsx", "--sheet", "data"]):
        assert main(["report", *options, *OPTIONS]) in (0, 3)
        reports.append(json.loads(capsys.readouterr().out))
    assert reports[0]["frame"] == reports[1]["frame"]
    assert reports[0]["findings"] == reports[1]["findings"]


SHEETS = {
    "two sheets": (
        {"a": [["x", "y"], ["1", "2"]], "b": [["x", "y"], ["1", "2"]]},
        [],
        "--sheet must name a sheet of a.xlsx, which has 'a', 'b', but was not passed.",
    ),
    "another sheet": ({"a": [["x", "y"], ["1", "2"]]}, ["--sheet", "c"], "but is 'c'"),
    "a title": (
        {"a": [["Decisions of May", "", ""], ["sex", "hired", "id"], ["f", "1", "1"]]},
        [],
        "must name each of its 3 columns, but 2 have none: it holds 'Decisions of May'",
    ),
    "a name alone": ({"a": [["sex", "hired"]]}, [], "one row per sample below it, but has 1 rows"),
    "nothing": ({"a": []}, [], "a.xlsx is empty"),
}


@pytest.mark.parametrize("name", SHEETS)
def test_other_sheets_are_refused_in_a_sentence(name, tmp_path, monkeypatch, capsys):
    pytest.importorskip("python_calamine")
    monkeypatch.chdir(tmp_path)
    sheets, options, message = SHEETS[name]
    write_xlsx("a.xlsx", sheets)
    with pytest.raises(SystemExit):
        main(["report", "a.xlsx", *options, *OPTIONS])
    assert message in capsys.readouterr().err


def test_a_line_of_totals_is_refused(tmp_path):
    pytest.importorskip("python_calamine")
    rows = [["sex", "n"], *([sex, str(k)] for k in range(1, 16) for sex in "fm")]
    write_xlsx(tmp_path / "a.xlsx", {"a": [*rows, ["Total", "240"]]})
    with pytest.raises(ValueError, match="holds 'Total', '240', which may be totals"):
        read_columns([tmp_path / "a.xlsx"], ["sex", "n"])


def test_a_damaged_spreadsheet_is_refused(tmp_path):
    pytest.importorskip("python_calamine")
    (tmp_path / "a.xls").write_bytes(b"\xd0\xcf\x11\xe0" + bytes(600))
    with pytest.raises(ValueError, match="must be a spreadsheet, but cannot be read"):
        read_columns([tmp_path / "a.xls"], ["sex"])


def test_without_the_package_the_message_says_what_to_install(tmp_path, monkeypatch):
    write_xlsx(tmp_path / "a.xlsx", {"a": [["x", "y"], ["1", "2"]]})
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(ImportError, match=r'pip install "skfair-estimators\[excel\]"'):
        read_columns([tmp_path / "a.xlsx"], ["x"])


def test_a_sheet_of_a_text_file_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    with pytest.raises(ValueError, match="a.csv is no spreadsheet, so that --sheet 'b' is"):
        read_columns([tmp_path / "a.csv"], ["x"], sheet="b")
