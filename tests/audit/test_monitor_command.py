"""The command ``python -m skfair monitor``."""

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main

RNG = np.random.default_rng(0)
N = 3600
DATES = pd.date_range("2026-01-01", "2026-06-30", periods=N)
SEX = RNG.choice(["f", "m"], N)
RATE = np.where((SEX == "f") & (DATES >= "2026-04-01"), 0.15, 0.45)
LOG = pd.DataFrame(
    {
        "date": DATES.strftime("%Y-%m-%d"),
        "decision": np.where(RNG.random(N) < RATE, "yes", "no"),
        "y": RNG.choice(["yes", "no"], N),
        "sex": SEX,
        "w": RNG.uniform(0.5, 1.0, N).round(2),
    }
)
COLUMNS = ["--sensitive", "sex", "--prediction", "decision", "--time", "date"]


@pytest.fixture(params=["csv", "parquet"])
def path(request, tmp_path):
    path = tmp_path / f"log.{request.param}"
    if request.param == "csv":
        LOG.to_csv(path, index=False)
    else:
        LOG.to_parquet(path)
    return path


def run(path, *more):
    out = path.with_suffix(".html")
    options = [*COLUMNS, "--positive", "yes", "--out", str(out), *more]
    assert main(["monitor", str(path), *options]) == 0
    return out.read_text(encoding="utf-8")


def test_the_page_has_findings_picture_and_tables(path, capsys):
    page = run(path, "--by", "month")
    written = capsys.readouterr().out
    assert "3,600 samples in 2 groups by sex were read in 6 batches, from 2026-01-01" in written
    assert "Alarm since 2026-05-01" in written and "most likely since 2026-04-01" in written
    assert page.count('<p class="finding">') == 3
    assert "<svg" in page and page.count("<circle") == 6
    assert "Rates in all batches" in page and "<script" not in page


def test_options_for_outcomes_weights_and_periods(path, capsys):
    run(path, "--target", "y", "--by", "quarter", "--weight", "w", "--run-length", "50")
    assert "in 2 batches" in capsys.readouterr().out
    run(path, "--constraint", "demographic_parity", "--tolerance", "0.5")
    assert "The tolerance is kept" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "match"),
    [
        (["--time", "sex"], "--time must name a column of dates"),
        (["--positive", "maybe"], "--positive"),
        (["--constraint", "parity"], "must be one of"),
        (["--constraint", "equal_opportunity"], "y_true is needed|--target"),
        (["--out", "page.pdf"], "--out must end"),
    ],
)
def test_errors_about_options_are_one_sentence(path, capsys, more, match):
    with pytest.raises(SystemExit):
        run(path, *more)
    error = capsys.readouterr().err
    assert any(one in error for one in match.split("|")) and error.count("\n") == 1
