"""Columns that can be read in two ways are refused with both, and others are not."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import skfair
from skfair.__main__ import main
from skfair._columns.reading import check_one_zone, parse_dates
from skfair.audit import Audit

N = 400
RNG = np.random.default_rng(0)
SEX = RNG.choice(["f", "m"], N)
HIRED = RNG.random(N) < np.where(SEX == "f", 0.4, 0.6)
YES = np.where(HIRED, "Yes", "No")
BONUS = RNG.integers(300, 2000, N)


def alternate(first, second):
    """Hired or not, in one notation for half of the rows and in another for the others."""
    return [(first, second)[row % 2][hired] for row, hired in enumerate(HIRED.astype(int))]


def write_thousands(numbers, separator):
    return [f"{one:,}".replace(",", separator) for one in numbers]


def table_of(decisions, groups=SEX):
    return pd.DataFrame({"sex": groups, "d": decisions})


def insert_line(place, line):
    """The clean table with a further line at a place."""
    rows = table_of(YES).to_numpy(dtype=object).tolist()
    rows.insert(place, line)
    return pd.DataFrame(rows, columns=["sex", "d"])


TOTALS = insert_line(N, ["Total", HIRED.sum()])
AMBIGUOUS = {
    "numbers and words": (
        table_of(alternate(("0", "1"), ("No", "Yes"))),
        "'1' .*'Yes'|'0'",
    ),
    "booleans and words": (
        table_of(alternate(("False", "True"), ("No", "Yes"))),
        "'False'",
    ),
    "English and German": (
        table_of(alternate(("No", "Yes"), ("Nein", "Ja"))),
        "'Ja'|'Nein'",
    ),
    "initials and words": (
        table_of(alternate(("N", "Y"), ("No", "Yes"))),
        "'N' .*'No'|'Y'",
    ),
    "a second header": (insert_line(0, ["(f/m)", "(Yes/No)"]), "first line .* second header or"),
    "half a second header": (insert_line(0, [None, "(Yes/No)"]), "first line .* second header or"),
    "a line of totals": (TOTALS, "last line .* totals or a sample"),
    "a total alone": (insert_line(N, [None, HIRED.sum()]), "last line .* totals or a sample"),
}
"""Files whose decisions can be read in two ways, and what both are called."""


@pytest.mark.covering(1)
@pytest.mark.parametrize(("table", "message"), AMBIGUOUS.values(), ids=AMBIGUOUS)
@pytest.mark.parametrize("command", ["report", "certify", "subgroups"])
def test_two_readings_of_decisions_are_refused_with_both(tmp_path, capsys, table, message, command):
    path = tmp_path / "decisions.csv"
    table.to_csv(path, index=False)
    options = ["--prediction", "d", "--sensitive", "sex", "--positive", "Yes"]
    options += ["--tolerance", "0.1"] * (command == "certify")
    with pytest.raises(SystemExit, match="2"):
        main([command, str(path), *options, "--json", str(tmp_path / "out.json")])
    assert re.search(message, capsys.readouterr().err)
    columns = {"sensitive_features": "sex", "y_pred": "d"}
    with pytest.raises(ValueError, match=message):
        Audit.from_file(path, columns, pos_label="Yes")


UNAMBIGUOUS = {
    "words": (YES, 2),
    "numbers": (HIRED.astype(int), 2),
    "grades": (RNG.choice(["A", "B", "C"], N), 3),
    "numbers with a sign": (RNG.choice(["1", "2", "3+"], N), 3),
    "words with a third": (np.where(np.arange(N) % 9, YES, "withdrawn"), 3),
}


@pytest.mark.parametrize(("decisions", "n_classes"), UNAMBIGUOUS.values(), ids=UNAMBIGUOUS)
def test_classes_in_one_notation_are_read(tmp_path, decisions, n_classes):
    path = tmp_path / "decisions.csv"
    table_of(decisions).to_csv(path, index=False)
    positive = "Yes" if "Yes" in decisions else None
    columns = {"sensitive_features": "sex", "y_pred": "d"}
    audit = Audit.from_file(path, columns, pos_label=positive)
    assert audit.n_samples == N and len(np.unique(audit.columns["y_pred"])) == n_classes


def report_means(tmp_path, texts, *options):
    """Means of a file by sex, as a report has them."""
    path = tmp_path / "bonus.csv"
    out = tmp_path / "report.json"
    table_of(texts).to_csv(path, index=False, sep=";")
    command = ["report", path, "--prediction", "d", "--sensitive", "sex", "--task", "regression"]
    main([*map(str, command), "--json", str(out), *options])
    frame = skfair.audit.FairnessReport.from_json(out).frame
    rows = frame[(frame["metric"] == "mean_prediction") & (frame["attribute"] == "sex")]
    return dict(zip(rows["group"], rows["estimate"], strict=True))


@pytest.mark.parametrize("decimal", [None, "point", "comma"])
def test_three_digits_after_every_point_need_a_decimal_sign(tmp_path, capsys, decimal):
    texts = write_thousands(BONUS, ".")
    if decimal is None:
        with pytest.raises(SystemExit, match="2"):
            report_means(tmp_path, texts)
        text = next(one for one in texts if "." in one)
        assert f"may be {float(text):g} or {text.replace('.', '')}" in capsys.readouterr().err
        return
    values = BONUS if decimal == "comma" else [float(one) for one in texts]
    expected = pd.Series(values).groupby(SEX).mean().to_dict()
    means = report_means(tmp_path, texts, "--decimal", decimal)
    assert means == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("decimal", ["point", "comma"])
def test_numbers_with_thousands_and_decimals_are_read_by_their_sign(tmp_path, decimal):
    cents = BONUS + np.arange(N) % 100 / 100
    texts = [f"{one:,.2f}" for one in cents]
    if decimal == "comma":
        texts = [one.translate(str.maketrans(",.", ".,")) for one in texts]
    means = report_means(tmp_path, texts, "--decimal", decimal)
    assert means == pytest.approx(pd.Series(cents).groupby(SEX).mean().to_dict(), rel=1e-12)


@pytest.mark.parametrize("texts", [["0.850", "0.149"], ["1.149", "850.25"], ["36.6", "37.125"]])
def test_numbers_that_are_decimals_for_sure_need_no_option(tmp_path, texts):
    values = [float(one) for one in texts]
    means = report_means(tmp_path, np.where(SEX == "f", *texts))
    assert means == pytest.approx(dict(zip("fm", values, strict=True)))


@pytest.mark.parametrize("threshold", ["0.5", "50"])
def test_a_threshold_of_shares_for_scores_up_to_100_is_refused(tmp_path, capsys, threshold):
    path = tmp_path / "scores.csv"
    scores = RNG.uniform(0, 100, N).round(1)
    table_of(scores).to_csv(path, index=False)
    command = [
        "certify",
        str(path),
        "--prediction",
        "d",
        "--sensitive",
        "sex",
        "--tolerance",
        "0.9",
    ]
    if threshold == "0.5":
        with pytest.raises(SystemExit, match="2"):
            main([*command, "--threshold", threshold])
        assert "as --threshold 50, or scores from 0 to 1" in capsys.readouterr().err
    else:
        assert main([*command, "--threshold", threshold]) == 0


def monitor_dates(tmp_path, dates, *options):
    path = tmp_path / "log.csv"
    table_of(YES).assign(date=dates).to_csv(path, index=False)
    columns = ["--prediction", "d", "--sensitive", "sex", "--time", "date", "--positive", "Yes"]
    return main(["monitor", str(path), *columns, "--out", str(tmp_path / "p.html"), *options])


@pytest.mark.slow
def test_dates_years_away_from_the_others_are_refused(tmp_path, capsys):
    dates = pd.date_range("2025-01-01", periods=N, freq="D").strftime("%Y-%m-%d").to_numpy(object)
    state = "--state", str(tmp_path / "state.json")
    assert monitor_dates(tmp_path, dates, *state) == 0
    for place, date in ((7, "2205-01-08"), (9, "1925-01-10")):
        wrong = dates.copy()
        wrong[place] = date
        with pytest.raises(SystemExit, match="2"):
            monitor_dates(tmp_path, wrong)
        message = f"such as in row {place + 1}, of the period from {date[:7]}-01 on"
        assert message in capsys.readouterr().err
    # A whole file years after those that were read before.
    with pytest.raises(SystemExit, match="2"):
        monitor_dates(tmp_path, np.full(N, "2205-01-01"), *state)
    # Two years without decisions are none, if many decisions lie on both sides.
    dates_of_two_years = np.where(np.arange(N) < N / 2, "2020-01-01", "2024-01-01")
    assert monitor_dates(tmp_path, dates_of_two_years) == 0


@pytest.mark.parametrize("is_array", [True, False])
def test_records_of_json_are_read_as_csv(is_array, tmp_path, capsys):
    table = table_of(YES)
    table.to_json(tmp_path / "records", orient="records", lines=not is_array)
    table.to_csv(tmp_path / "table.csv", index=False)
    columns = ["--prediction", "d", "--sensitive", "sex", "--positive", "Yes", "--json", "-"]
    results = []
    for name in ("records", "table.csv"):
        main(["report", str(tmp_path / name), *columns])
        results.append(json.loads(capsys.readouterr().out))
    assert results[0]["frame"] == results[1]["frame"]
    (tmp_path / "records").write_text('[{"d": 1}, 2]' if is_array else '{"d": 1}\n{"d": ')
    with pytest.raises(SystemExit, match="2"):
        main(["report", str(tmp_path / "records"), *columns])
    assert "records" in capsys.readouterr().err


@pytest.mark.slow
def test_months_without_decisions_are_named(tmp_path, capsys):
    months = np.array(["2025-01-15", "2025-02-15", "2025-05-15"])[np.arange(N) % 3]
    assert monitor_dates(tmp_path, months, "--tolerance", "0.3") == 0
    sentence = "No decisions were counted of 2 months in between: 2025-03-01, 2025-04-01."
    assert sentence in capsys.readouterr().out
    monitor_dates(tmp_path, np.where(months == "2025-05-15", "2025-03-15", months))
    assert "No decisions were read" not in capsys.readouterr().out


@pytest.mark.parametrize("scores", [np.arange(1, 11), np.arange(1.0, 11.0)])
def test_whole_numbers_that_a_target_of_two_values_lacks_are_no_classes(scores):
    rng = np.random.default_rng(0)
    y_true = rng.integers(0, 2, 500)
    y_pred = rng.choice(scores, 500)
    group = rng.integers(0, 2, 500)
    with pytest.raises(ValueError, match="must hold the classes of y_true, 0, 1, but .* 10 diff"):
        Audit.from_predictions(y_true, y_pred, sensitive_features=group).certify(tolerance=0.1)
    decisions = (y_pred > 5).astype(int)
    audit = Audit.from_predictions(y_true, decisions, sensitive_features=group)
    assert audit.certify(tolerance=0.3).estimate == pytest.approx(
        abs(decisions[group == 0].mean() - decisions[group == 1].mean())
    )


@pytest.mark.parametrize(
    ("text", "date_format"),
    [
        ("2024-09-07T23:30:00Z", None),
        ("2024-09-07T23:30:00Z", "%Y-%m-%dT%H:%M:%SZ"),
        ("2024-09-07T23:30:00+0200", "%Y-%m-%dT%H:%M:%S%z"),
        ("2024-09-07T23:30:00 -05:00", "%Y-%m-%dT%H:%M:%S %z"),
        ("07/09/2024 23:30+02", "%d/%m/%Y %H:%M"),
        ("07/09/2024 23:30", "%d/%m/%Y %H:%M"),
        ("20240907 2330", "%Y%m%d %H%M"),
    ],
)
def test_dates_keep_the_clock_of_their_own_time_zone(text, date_format):
    times = parse_dates(pd.Series([text, text]), date_format)
    assert times.tolist() == 2 * [pd.Timestamp(2024, 9, 7, 23, 30)]


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["2025-01-31T23:30:00-05:00", "2025-02-01T05:30:00+01:00"], ["-05:00 (row 1)", "+01:00"]),
        (["2025-01-31T23:30:00Z", "2025-01-31 23:30"], ["Z (row 1)", "no offset (row 2)"]),
        (["2025-01-31 23:30+0530", "2025-01-31 23:30+0700"], ["+0530", "+0700"]),
    ],
)
def test_times_of_several_zones_are_refused_with_their_rows(texts, named):
    parts = "".join(f"(?=.*{re.escape(part)})" for part in named)
    with pytest.raises(ValueError, match=f"--time.*one zone{parts}"):
        check_one_zone(pd.Series(texts, name="day"), "--time")
    # As the message says.
    check_one_zone(pd.Series([re.sub(r"(Z|[+-]\d\d:?\d\d)$", "", one) for one in texts]), "--time")


@pytest.mark.parametrize(
    "texts",
    [
        ["2025-01-31T23:30:00+01:00", "2025-07-01T05:30:00+02:00"],  # summer time
        ["2025-01-31T23:30:00Z", "2025-01-31T23:30:00+00:00"],
        ["2025-01-31", "31.01.2025"],
        [],
    ],
)
def test_times_of_one_zone_may_have_two_offsets(texts):
    check_one_zone(pd.Series(texts, dtype=object), "--time")
