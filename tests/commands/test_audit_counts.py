"""Files of counts have the reports, certificates and subgroups of their samples."""

import json

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main

DATA = ["--target", "y", "--prediction", "d"]


@pytest.fixture
def files(tmp_path):
    """A file of samples, and one of their counts, of which some groups are empty."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"sex": rng.choice(["f", "m", ""], 2000, p=[0.4, 0.5, 0.1])})
    table["age"] = rng.integers(20, 60, 2000)
    table["y"] = rng.integers(2, size=2000)
    table["d"] = (rng.random(2000) < 0.4 + 0.2 * (table["sex"] == "m")).astype(int)
    counts = table.groupby(list(table)).size().reset_index(name="n")
    table.to_csv(tmp_path / "rows.csv", index=False)
    counts.to_csv(tmp_path / "counts.csv", index=False)
    return [tmp_path / "rows.csv"], [tmp_path / "counts.csv", "--count", "n"]


def run(command, file, capsys, *options):
    """Exit status and JSON of a command."""
    status = main([command, *map(str, file), *DATA, *options, "--json", "-"])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "options",
    [
        ["report", "--sensitive", "sex"],
        ["report", "--sensitive", "sex", "--missing", "exclude"],
        ["report", "--sensitive", "sex", "--unknown", "f"],
        ["certify", "--sensitive", "sex", "--tolerance", "0.3", "--missing", "group"],
        ["certify", "--sensitive", "sex", "--tolerance", "0.1", "--missing", "exclude"],
        ["certify", "--sensitive", "sex", "--minimum", "0.3", "--missing", "group"],
        ["subgroups", "--sensitive", "sex", "age"],
    ],
)
def test_counts_have_the_results_of_their_samples(files, options, capsys):
    (first, rows), (second, counts) = (
        run(options[0], file, capsys, *options[1:]) for file in files
    )
    assert first == second
    for facts in (rows, counts):
        facts.pop("provenance", None), facts.pop("source", None)
    read = rows.pop("reading")
    merged = counts.pop("reading")
    assert merged["columns"].pop()["role"] == "count" and read["columns"] == merged["columns"]
    assert read["n_rows"] == 2000 == merged["n_samples"] and merged["n_rows"] < 2000
    assert list(rows) == list(counts)
    for name, value in rows.items():
        is_number = isinstance(value, float)
        assert counts[name] == (pytest.approx(value, abs=1e-12) if is_number else value), name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["report", "--sensitive", "sex", "--weight", "y2"], "leave out --weight"),
        (["report", "--sensitive", "sex", "--task", "regression"], "out --task regression"),
        (["report", "--sensitive", "sex", "--missing", "at_random"], "--missing at_random"),
        (["report", "--sensitive", "sex", "--count", "sex"], "named twice"),
        (
            ["certify", "--sensitive", "sex", "--tolerance", "0.1", "--missing", "error"],
            "rows have none in 'sex'",
        ),
        (["certify", "--sensitive", "age", "--tolerance", "0.1", "--count", "sex"], "complete"),
        (["subgroups", "--sensitive", "sex", "n"], "named twice"),
    ],
)
def test_what_needs_samples_is_an_error(files, options, message, capsys):
    command, *more = options
    with pytest.raises(SystemExit):
        path, *count = map(str, files[1])
        count *= "--count" not in more
        main([command, path, *count, *DATA, *more, "--json", "-"])
    assert message in " ".join(capsys.readouterr().err.split())
