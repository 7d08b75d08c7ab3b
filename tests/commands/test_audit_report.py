import hashlib
import io
import re
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair._columns.files import file_digest
from skfair._commands.options import FINDING_STATUS
from skfair.audit import Claim, FairnessReport

RNG = np.random.default_rng(0)
N = 400
TABLE = pd.DataFrame(
    {
        "y": RNG.integers(2, size=N),
        "p": RNG.integers(2, size=N),
        "score": RNG.random(N).round(3),
        "sex": RNG.choice(["f", "m"], size=N),
        "race": RNG.choice(["a", "b"], size=N),
    }
)
COLUMNS = ["--target", "y", "--prediction", "p", "--sensitive", "sex", "race"]


def run(path, *more, columns=COLUMNS):
    out = path.with_suffix(".html")
    assert main(["report", str(path), *columns, "--out", str(out), *more]) in (0, FINDING_STATUS)
    # Another format is another file: compare pages without its name, digest and notation.
    page = out.read_text(encoding="utf-8")
    folded = "<details><summary><h2>What was read</h2></summary>.*?</details>"
    page = re.sub(folded, "", page, flags=re.DOTALL)
    page = re.sub(r"<p[^>]*>Fairness report · .*?</p>(?=<h1>)", "", page)
    names = "File|SHA-256 [^<]*|Options of the command"
    fact = rf'<tr class=""><th scope="row">({names})</th>\n<td>.*?</td></tr>'
    return re.sub(fact, "", page)


@pytest.fixture
def path(tmp_path):
    TABLE.to_csv(tmp_path / "predictions.csv", index=False)
    return tmp_path / "predictions.csv"


@pytest.fixture(scope="module")
def plain_page(tmp_path_factory):
    """The page of a plain file of the table, which other files of the same table must have."""
    path = tmp_path_factory.mktemp("plain") / "predictions.csv"
    TABLE.to_csv(path, index=False)
    return run(path)


def error_of(path, capsys, *more, columns=COLUMNS):
    with pytest.raises(SystemExit):
        run(path, *more, columns=columns)
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_from_a_shell(path, tmp_path):
    out = tmp_path / "page.html"
    command = [sys.executable, "-m", "skfair", "report", str(path), *COLUMNS, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "400 samples in 4 groups by sex × race were audited" in done.stdout
    assert out.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators(path, separator, plain_page):
    TABLE.to_csv(path, index=False, sep=separator)
    assert run(path) == plain_page


@pytest.mark.slow
def test_a_byte_order_mark_is_no_part_of_a_name(path, plain_page):
    TABLE.to_csv(path, index=False, encoding="utf-8-sig")
    assert run(path) == plain_page


def test_the_error_about_an_unknown_column_lists_the_columns(path, capsys):
    said = error_of(path, capsys, "--weight", "w")
    assert "has no column 'w'; its 5 columns are 'y', 'p', 'score', 'sex', 'race'" in said


def test_a_missing_header_is_named(path, capsys):
    TABLE.to_csv(path, index=False, header=False)
    assert "must begin with a line of column names" in error_of(path, capsys)


def test_latin_1_is_named(path, capsys):
    path.write_bytes("y,p,sex,race\n1,1,weiblich,Österreich\n".encode("latin-1"))
    said = error_of(path, capsys)
    assert "must be text in UTF-8, but line 2" in said and "by --encoding, such as latin-1" in said


def test_an_empty_file_and_none_at_all(path, capsys):
    path.write_text("")
    assert "is empty" in error_of(path, capsys)
    path.unlink()
    assert "There is no file" in error_of(path, capsys)


def test_rows_of_several_lengths(path, capsys):
    path.write_text("y,p,sex,race\n1,1,f,a\n1,1,f,a,extra,more\n")
    assert "line 3 has 6" in error_of(path, capsys)


@pytest.mark.slow
def test_missing_entries(path, capsys):
    TABLE.assign(p=TABLE["p"].where(TABLE.index > 2)).to_csv(path, index=False)
    assert "column 'p' must be complete, but 3 of its 400 entries are missing" in error_of(
        path, capsys
    )
    TABLE.assign(sex=TABLE["sex"].where(TABLE.index > 40)).to_csv(path, index=False)
    assert "(missing)" in run(path, "--missing", "group")


@pytest.mark.slow
def test_labels_of_text_need_the_positive_one(path, capsys):
    words = TABLE.assign(**{name: TABLE[name].map({0: "no", 1: "yes"}) for name in "yp"})
    words.to_csv(path, index=False)
    assert "--positive must name the positive class" in error_of(path, capsys)
    assert "--positive must be one of the classes" in error_of(path, capsys, "--positive", "maybe")
    assert "Selection rate" in run(path, "--positive", "yes")


@pytest.mark.slow
def test_probabilities_are_decided_at_one_half_or_elsewhere(path, capsys):
    columns = ["--target", "y", "--prediction", "score", "--sensitive", "sex"]
    html = run(path, columns=columns)
    assert "those above 0.5 count as positive" in capsys.readouterr().out
    assert "Area under the ROC curve" in html
    assert run(path, "--threshold", "0.5", columns=columns) == html
    assert run(path, "--threshold", "0.9", columns=columns) != html
    TABLE.assign(score=TABLE["score"] * 10).to_csv(path, index=False)
    assert "pass --threshold" in error_of(path, capsys, columns=columns)


@pytest.mark.slow
def test_regressions_and_clusterings(path):
    TABLE.assign(y=TABLE["score"] + 0.25).to_csv(path, index=False)
    columns = ["--target", "y", "--prediction", "score", "--sensitive", "sex"]
    assert "Mean error" in run(path, columns=columns)
    columns = ["--prediction", "p", "--sensitive", "sex"]
    assert "Share of cluster 1" in run(path, "--task", "clustering", columns=columns)


def test_a_confidence_outside_its_range_is_refused(path, capsys):
    assert "--confidence must be" in error_of(path, capsys, "--confidence", "95")


@pytest.mark.slow
def test_parquet(path, plain_page):
    pytest.importorskip("pyarrow")
    parquet = path.with_suffix(".parquet")
    TABLE.to_parquet(parquet)
    assert run(parquet) == plain_page


@pytest.mark.slow
def test_a_folder_of_parquet(path, plain_page):
    pytest.importorskip("pyarrow")
    folder = path.parent / "data"
    folder.mkdir()
    half = len(TABLE) // 2
    TABLE[:half].to_parquet(folder / "0.parquet")
    TABLE[half:].to_parquet(folder / "1.parquet")
    assert run(folder) == plain_page


def test_parquet_without_a_reader_is_named(path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path.with_suffix(".parquet").write_bytes(b"PAR1")
    assert "Parquet needs pyarrow" in error_of(path.with_suffix(".parquet"), capsys)


@pytest.mark.slow
def test_groups_may_have_names_of_missing_values(path, capsys):
    names = ["NA", "None", "null", "n/a", "nan", "#N/A", "01", "1", "True"]
    sex = np.resize([*names, ""], N)
    TABLE.assign(sex=sex).to_csv(path, index=False)
    columns = ["--target", "y", "--prediction", "p", "--sensitive", "sex"]
    html = run(path, "--missing", "group", columns=columns)
    assert re.search("look like missing values.*'n/a'.*commands --unknown", capsys.readouterr().err)
    assert all(f">{name}<" in html for name in [*names, "(missing)"])
    assert f"{N} samples in 10 groups" in html


@pytest.mark.slow
def test_labels_of_unknown_groups_are_left_out(path, capsys):
    missing = TABLE.assign(sex=TABLE["sex"].where(np.arange(N) >= 40, ""))
    named = TABLE.assign(sex=TABLE["sex"].where(np.arange(N) >= 40, "Not disclosed"))
    missing.to_csv(path, index=False)
    expected = run(path, "--missing", "exclude")
    named.to_csv(path, index=False)
    unknown = ["--unknown", "NOT DISCLOSED ", "f?"]
    assert run(path, "--missing", "exclude", *unknown) == expected
    assert "unknown labels 'f?' are named, but no attribute has them" in capsys.readouterr().err


@pytest.mark.slow
def test_a_console_of_another_encoding_shows_escapes(path, monkeypatch):
    """The findings hold ×, which ASCII has not."""
    console = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="")
    monkeypatch.setattr(sys, "stdout", console)
    run(path)
    console.flush()
    assert b"sex \\xd7 race" in console.buffer.getvalue()


@pytest.mark.slow
def test_integers_without_outcomes_need_a_kind(path, capsys):
    TABLE.assign(score=np.arange(N) % 10 + 1).to_csv(path, index=False)
    columns = ["--prediction", "score", "--sensitive", "sex"]
    said = error_of(path, capsys, columns=columns)
    assert "the 10 different integers" in said and "--task regression in a shell" in said
    assert "Mean prediction" in run(path, "--task", "regression", columns=columns)
    assert "Selection rate of class 7" in run(path, "--task", "classification", columns=columns)


@pytest.mark.slow
def test_a_class_may_be_named_none_in_both_columns(path):
    words = TABLE.assign(**{name: TABLE[name].map({0: "None", 1: "some"}) for name in "yp"})
    words.to_csv(path, index=False)
    assert "Selection rate" in run(path, "--positive", "some")


@pytest.mark.slow
def test_decimal_commas(path):
    table = TABLE.rename(columns={"score": "score, raw, of 1, or so, all"})
    columns = ["--target", "y", "--prediction", table.columns[2], "--sensitive", "sex"]
    table.to_csv(path, index=False, sep=";")
    expected = run(path, columns=columns)
    table.to_csv(path, index=False, sep=";", decimal=",", quoting=3)
    assert run(path, columns=columns) == expected


@pytest.mark.slow
def test_gzip_and_other_names_of_parquet(path, plain_page):
    TABLE.to_csv(path.with_suffix(".parquet"), index=False)
    assert run(path.with_suffix(".parquet")) == plain_page
    TABLE.to_csv(path.with_suffix(".csv.gz"), index=False)
    assert run(path.with_suffix(".csv.gz")) == plain_page
    path.with_suffix(".csv.gz").rename(path)  # its first bytes identify the format
    assert run(path) == plain_page
    pytest.importorskip("pyarrow")
    TABLE.to_parquet(path)
    assert run(path) == plain_page


@pytest.mark.slow
def test_booleans_are_read_as_such(path, plain_page):
    for words in [("False", "True"), ("false", "true"), ("FALSE", "TRUE")]:
        spelled = {name: np.array(words)[TABLE[name]] for name in "yp"}
        TABLE.assign(**spelled).to_csv(path, index=False)
        # The positive class has the name of a boolean.
        page = run(path).replace("&#x27;True&#x27;", "&#x27;1&#x27;")
        assert page.replace("<td>True</td>", "<td>1</td>") == plain_page


@pytest.mark.slow
def test_the_positive_class_is_read_as_written_in_the_file(path):
    names = ["--positive", "true"]
    for words in [("false", "true"), ("true", "false")]:
        spelled = {name: np.array(words)[TABLE[name]] for name in "yp"}
        TABLE.assign(**spelled).to_csv(path, index=False)
        assert "Selection rate" in run(path, *names)
    TABLE.astype({"y": float}).to_csv(path, index=False)
    assert run(path, "--positive", "1") == run(path, "--positive", "1.0")


@pytest.mark.slow
def test_integers_are_a_regression_with_the_option_kind(path):
    TABLE.assign(y=range(N), p=np.arange(N) + 0.25).to_csv(path, index=False)
    assert "Mean error" in run(path, "--task", "regression")
    TABLE.assign(y=range(N), p=range(1, N + 1)).to_csv(path, index=False)
    assert "Mean error" in run(path, "--task", "regression")


@pytest.mark.slow
def test_categories_and_decimals_of_parquet(path, plain_page):
    pytest.importorskip("pyarrow")
    other = TABLE.astype({"y": "category", "sex": "category"})
    other.assign(p=TABLE["p"].map(Decimal)).to_parquet(path)
    assert run(path) == plain_page
    TABLE.astype({"y": str, "p": str}).to_parquet(path)
    assert run(path) == plain_page


@pytest.mark.slow
def test_an_index_of_pandas_and_columns_of_folders(path):
    pytest.importorskip("pyarrow")
    TABLE.sort_values("sex", kind="stable").to_csv(path, index=False)
    expected = run(path)
    for sex, rows in TABLE.set_index(TABLE.index[::-1]).groupby("sex"):
        folder = path.parent / "data" / f"sex={sex}"
        folder.mkdir(parents=True)
        rows.drop(columns="sex").to_parquet(folder / "0.parquet")
    assert run(path.parent / "data") == expected


@pytest.mark.slow
def test_decisions_without_a_target(path):
    columns = ["--prediction", "p", "--sensitive", "sex", "race"]
    html = run(path, columns=columns)
    assert "Impact ratios by sex × race" in html and "Share of cluster" not in html
    assert "True positive rate" not in html
    scores = run(path, columns=["--prediction", "score", "--sensitive", "sex"])
    assert "Mean prediction" in scores and "Selection rate" not in scores
    decided = run(path, "--threshold", "0.5", columns=["--prediction", "score", *columns[2:]])
    assert "Selection rate" in decided and "0.5: scores above it are positive" in decided


@pytest.mark.slow
def test_missing_groups_are_a_group_or_left_out(path):
    TABLE.assign(sex=TABLE["sex"].where(TABLE.index > 40)).to_csv(path, index=False)
    assert "(missing)" not in run(path, "--missing", "exclude")
    assert "41 by sex" in run(path, "--missing", "exclude")
    assert run(path, "--missing", "exclude") == run(path)
    assert "(missing)" in run(path, "--missing", "group")


@pytest.mark.slow
def test_the_summary_of_a_bias_audit_names_missing_fields(path, capsys):
    TABLE.assign(sex=TABLE["sex"].where(TABLE.index > 40)).to_csv(path, index=False)
    columns = ["--prediction", "p", "--sensitive", "sex", "race", "--summary", "ll144"]
    html = run(path, columns=columns)
    assert "Number of applicants</th>\n<td>400</td>" in html
    assert "unknown category by sex</th>\n<td>41</td>" in html
    said = capsys.readouterr().out
    assert "Missing in the summary: Source of the data: state it in provenance" in said
    facts = ["source=applications of 2025", "explanation=all", "distribution_date=2025-01-01"]
    html = run(path, "--provenance", *facts, columns=columns)
    assert "Missing" not in capsys.readouterr().out
    assert "applications of 2025" in html and "not stated" not in html


@pytest.mark.slow
def test_the_page_states_file_digest_and_roles(path):
    out = path.with_suffix(".html")
    run(path, "--positive", "1")
    html = out.read_text(encoding="utf-8")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    for text in ("predictions.csv", digest, "decision", "outcome", "400"):
        assert f"<td>{text}</td>" in html
    folder = path.parent / "data"
    folder.mkdir()
    path.rename(folder / "a.csv")
    line = f"{digest}  a.csv\n".encode()
    assert file_digest([folder]) == hashlib.sha256(line).hexdigest()


@pytest.mark.slow
def test_json_and_markdown(path):
    run(path)
    html = path.with_suffix(".html").read_text(encoding="utf-8")
    for suffix in (".json", ".md"):
        out = path.with_suffix(suffix)
        assert main(["report", str(path), *COLUMNS, "--out", str(out)]) == 0
    report = FairnessReport.from_json(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert report.to_html() == html
    assert report.to_markdown() == path.with_suffix(".md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_empty_outcomes_are_counted_as_unknown(tmp_path, capsys):
    """Decisions of all rows, and errors of the rows with an outcome, in three commands."""
    table = TABLE.assign(y=TABLE["y"].where(np.arange(N) % 4 > 0))
    table.to_csv(tmp_path / "some.csv", index=False)
    table.dropna().to_csv(tmp_path / "known.csv", index=False)
    columns = ["--target", "y", "--prediction", "p", "--sensitive", "sex"]
    results = {}
    for name in ("some", "known"):
        path = tmp_path / f"{name}.csv"
        main(["report", str(path), *columns, "--json", str(tmp_path / "report.json")])
        report = FairnessReport.from_json(tmp_path / "report.json")
        claims = []
        for constraint in ("demographic_parity", "equalized_odds"):
            options = ["--constraint", constraint, "--tolerance", "0.5"]
            main(["certify", str(path), *columns, *options, "--json", str(tmp_path / "claim.json")])
            claims.append(Claim.from_json(tmp_path / "claim.json"))
        results[name] = report, claims
    (report, claims), (known, claims_of_known) = results["some"], results["known"]
    assert report.n_without_outcome == 100 == report.reading.left_out["samples have no outcome"]
    shown = capsys.readouterr().out
    assert "The outcomes of 100 samples are unknown. Numbers that need an outcome count" in shown
    of_errors = report.frame["metric"] != "selection_rate"
    assert report.frame[of_errors].equals(known.frame[of_errors])
    sizes = report.frame[~of_errors].set_index("group")["n"]
    assert sizes.to_dict() == {"overall": N} | TABLE["sex"].value_counts().to_dict()
    assert sum(claims[0].sizes.values()) == N and sum(claims[1].sizes.values()) == 300
    assert claims[1].estimate == claims_of_known[1].estimate
    assert claims[1].sizes == claims_of_known[1].sizes and claims[1].n_missing == {"outcome": 100}
    assert "100 samples of unknown outcome are left out" in shown


def test_scores_with_empty_outcomes_have_a_threshold(tmp_path, capsys):
    table = TABLE.assign(y=TABLE["y"].map({1: "repaid", 0: "default"}).where(np.arange(N) % 4 > 0))
    table.to_csv(tmp_path / "some.csv", index=False)
    columns = ["--target", "y", "--prediction", "score", "--sensitive", "sex"]
    options = ["--positive", "repaid", "--json", "-"]
    main(["report", str(tmp_path / "some.csv"), *columns, *options])
    report = FairnessReport.from_json(capsys.readouterr().out)
    overall = report.frame[report.frame["group"] == "overall"].set_index("metric")["estimate"]
    assert overall["selection_rate"] == pytest.approx((TABLE["score"] > 0.5).mean())
    right = ((TABLE["score"] > 0.5) == TABLE["y"])[np.arange(N) % 4 > 0]
    assert overall["accuracy"] == pytest.approx(right.mean())


def test_no_outcome_in_the_whole_file(tmp_path, capsys):
    TABLE.assign(y=None).to_csv(tmp_path / "none.csv", index=False)
    columns = ["--target", "y", "--prediction", "p", "--sensitive", "sex", "--json", "-"]
    main(["report", str(tmp_path / "none.csv"), *columns])
    report = FairnessReport.from_json(capsys.readouterr().out)
    assert set(report.frame["metric"]) == {"selection_rate"}
