"""Variants of exported files: each is read right, or refused with both readings in the message."""

import re
from argparse import ArgumentParser

import numpy as np
import pandas as pd
import pytest

from skfair._commands.audit import add_certify_options, list_models
from skfair._commands.decision_log import feed, read_log
from skfair._commands.monitor import add_monitor_options
from skfair._commands.predictions import read_audit
from skfair.monitoring import GapMonitor

ROWS = np.arange(60)
SEX = np.where(ROWS % 2, "m", "f")
D = (ROWS * 7) % 10 < np.where(ROWS % 2, 6, 3)
Y = (ROWS * 3) % 10 < 5
TABLE = pd.DataFrame({"sex": SEX, "d": np.where(D, "yes", "no"), "y": np.where(Y, "yes", "no")})
PAY = 1200.5 + 37.25 * ROWS
DATES = pd.date_range("2025-01-03", "2025-03-30", periods=len(ROWS))
IS_OTHER = ROWS % 4 == 0

CLASSES = "certify FILE --prediction d --target y --sensitive sex --positive yes --tolerance .1"
NUMBERS = "certify FILE --prediction pay --sensitive sex --task regression --tolerance 1"
SCORES = "certify FILE --prediction s --threshold 0.5 --sensitive sex --tolerance .1"
MONTHS = "monitor FILE --prediction d --time date --sensitive sex --positive yes"
BOTH_FORMATS = ("--date-format %d", "or %m")

# What is right: positive samples by group, sums of numbers by group, samples by month.
HITS = pd.Series(D).groupby(SEX).sum().to_dict()
SUMS = pd.Series(PAY).groupby(SEX).sum().to_dict()
BY_MONTH = {1: 20, 2: 20, 3: 20}


def write(**columns):
    return TABLE.assign(**columns).to_csv(index=False)


def write_dates(form, table=TABLE):
    return table.assign(date=DATES.strftime(form)).to_csv(index=False)


def write_pay(texts, sep=";"):
    return TABLE.assign(pay=texts).to_csv(index=False, sep=sep)


def write_other(positive, negative):
    """A quarter of the decisions in another notation."""
    return write(d=np.where(IS_OTHER, np.where(D, positive, negative), TABLE["d"]))


def exchange_signs(text):
    """Numbers of an English spreadsheet as a German one writes them."""
    return text.translate(str.maketrans(",.", ".,"))


ROUNDED, WITH_CENTS = ([f"{x:,.{digits}f}" for x in PAY] for digits in (0, 2))
ISO, POINTS = DATES.strftime("%Y-%m-%d"), DATES.strftime("%d.%m.%Y")
PLAIN = TABLE.to_csv(index=False)
BODY = TABLE.to_csv(index=False, header=False)

VARIANTS = {
    # Dates.
    "ISO dates": (write_dates("%Y-%m-%d"), MONTHS, BY_MONTH),
    "ISO times": (write_dates("%Y-%m-%dT%H:%M:%S"), MONTHS, BY_MONTH),
    "times of a zone": (write_dates("%Y-%m-%d %H:%M+02:00"), MONTHS, BY_MONTH),
    "dates with points": (write_dates("%d.%m.%Y"), MONTHS, BY_MONTH),
    "compact dates": (write_dates("%Y%m%d"), MONTHS, BY_MONTH),
    "months": (write_dates("%Y-%m"), MONTHS, BY_MONTH),
    "slashes": (write_dates("%m/%d/%Y"), MONTHS, BOTH_FORMATS),
    "slashes, format": (write_dates("%m/%d/%Y"), f"{MONTHS} --date-format %m/%d/%Y", BY_MONTH),
    "slashes, wrong format": (
        write_dates("%d/%m/%Y"),
        f"{MONTHS} --date-format %m/%d/%Y",
        ("'13/01/2025'", *BOTH_FORMATS),
    ),
    "hyphens, day first": (write_dates("%d-%m-%Y"), MONTHS, BOTH_FORMATS),
    "years of two digits": (write_dates("%d.%m.%y"), MONTHS, BOTH_FORMATS),
    "names of months": (write_dates("%d %b %Y"), MONTHS, ("as --date-format says", "03 Jan 2025")),
    "two notations of dates": (
        write(date=np.where(ROWS == 40, POINTS, ISO)),
        MONTHS,
        ("all as 2026-03-01 or all as 01.03.2026", "row 41", "02.03.2025"),
    ),
    "days of a spreadsheet": (
        write(date=(DATES - pd.Timestamp("1899-12-30")).days),
        MONTHS,
        ("row 1 of 'date' holds '45660'",),
    ),
    # Numbers.
    "decimal commas": (write_pay([exchange_signs(f"{x:.2f}") for x in PAY]), NUMBERS, SUMS),
    "quoted decimal commas": (
        write_pay([exchange_signs(f"{x:.2f}") for x in PAY], ","),
        NUMBERS,
        SUMS,
    ),
    "thousands by points": (
        write_pay([exchange_signs(one) for one in ROUNDED]),
        NUMBERS,
        ("'1.200' may be 1.2 or 1200", "--decimal point", "--decimal comma"),
    ),
    "thousands by commas": (write_pay(ROUNDED), NUMBERS, ("the comma of '1,200' may be either",)),
    "thousands and decimals": (write_pay(WITH_CENTS), NUMBERS, ("'1,200.50'", "no separators")),
    "thousands and decimals, point": (write_pay(WITH_CENTS), f"{NUMBERS} --decimal point", SUMS),
    "thousands and decimals, comma": (
        write_pay([exchange_signs(one) for one in WITH_CENTS]),
        f"{NUMBERS} --decimal comma",
        SUMS,
    ),
    "thousands by spaces": (
        write_pay([one.replace(",", " ") for one in WITH_CENTS]),
        NUMBERS,
        ("'1 200.50'", "no separators of thousands"),
    ),
    "some thousands": (
        write_pay(np.where(ROWS % 2, ROUNDED, PAY.astype(str))),
        NUMBERS,
        ("the comma of '1,238' may be either",),
    ),
    "two decimal signs": (
        write_pay(np.where(ROWS % 2, [exchange_signs(str(x)) for x in PAY], PAY.astype(str))),
        NUMBERS,
        SUMS,
    ),
    "quoted numbers": (TABLE.assign(pay=PAY).to_csv(index=False, quoting=1), NUMBERS, SUMS),
    "exponents": (write_pay([f"{x:.8e}" for x in PAY]), NUMBERS, SUMS),
    "signs and leading zeros": (write_pay([f"{x:+012.2f}" for x in PAY]), NUMBERS, SUMS),
    "currencies": (write_pay([f"€{x}" for x in PAY]), NUMBERS, ("must hold numbers", "€1200.5")),
    "an n/a among numbers": (
        write_pay(np.where(ROWS == 7, "n/a", PAY.astype(str))),
        NUMBERS,
        ("must be complete", "row 8 ('n/a')"),
    ),
    "a sum below numbers": (
        f"{write_pay(PAY, ',')},,,{PAY.sum()}\n",
        NUMBERS,
        ("may be totals or a sample",),
    ),
    "scores of 0 to 100": (
        write(s=np.where(D, 93.5, 5.0)),
        SCORES,
        ("0.5 may be a share, or a number", "as --threshold 50, or scores from 0 to 1"),
    ),
    "a mark among numbers": (
        write_pay(np.where(IS_OTHER, -999, PAY), ","),
        NUMBERS,
        ["'pay' holds -999, which may mark missing values or be a number", "counts as a number"],
    ),
    "a mark among scores": (
        write(s=np.where(IS_OTHER, 99, D + 5.5)),
        SCORES.replace("0.5", "6"),
        ["'s' holds 99", "counts as a number"],
    ),
    "a mark among ages": (
        write(age=np.where(IS_OTHER, "-99", (ROWS + 18).astype(str))),
        CLASSES.replace("sensitive sex", "sensitive age"),
        ["'age' holds -99", "pass it by --unknown"],
    ),
    "a mark among outcomes": (
        write(d=D.astype(int), y=np.where(IS_OTHER, -9, Y)),
        CLASSES.replace("yes", "1"),
        ("'y' holds -9", "outcomes may be empty"),
    ),
    "nines near other numbers": (
        write_pay(np.where(IS_OTHER, 999, PAY), ","),
        NUMBERS,
        pd.Series(np.where(IS_OTHER, 999, PAY)).groupby(SEX).sum().to_dict(),
    ),
    "years as outcomes": (
        write(d=D.astype(int), y=2019 + ROWS % 5),
        CLASSES.replace("--positive yes ", ""),
        ("'y' of outcomes holds whole numbers from 2019 to 2023, which may be years, or what",),
    ),
    "years as outcomes of a regression": (
        write(pay=PAY, y=2019 + ROWS % 5),
        f"{NUMBERS} --target y",
        ("which may be years", "the median of the predictions is 2299"),
    ),
    "predicted years": (
        write(pay=2019.5 + ROWS % 3, y=2019 + ROWS % 5),
        f"{NUMBERS} --target y",
        pd.Series(2019.5 + ROWS % 3).groupby(SEX).sum().to_dict(),
    ),
    "percentages": (write(s=np.where(D, "93.5%", "5%")), SCORES, ("numbers", "'93.5%'")),
    # Files.
    "a byte order mark": ("\ufeff" + PLAIN, CLASSES, HITS),
    "a byte order mark and quotes": (
        "\ufeff" + TABLE.to_csv(index=False, quoting=1),
        CLASSES,
        HITS,
    ),
    "carriage returns": (TABLE.to_csv(index=False, lineterminator="\r"), CLASSES, HITS),
    "blank lines": (f"{PLAIN}\n\n", CLASSES, HITS),
    "empty cells below": (f"{PLAIN},,\n,,\n", CLASSES, ("2 of its 62 entries are missing",)),
    "UTF-16": (PLAIN.encode("utf-16"), CLASSES, ("UTF-16", "--encoding utf-16")),
    "UTF-16, encoding": (PLAIN.encode("utf-16"), f"{CLASSES} --encoding utf-16", HITS),
    "a line of totals": (f"{PLAIN}Total,,\n", CLASSES, ("may be totals or a sample",)),
    "a second header": (
        f"sex,d,y\nGender,Decision,Outcome\n{BODY}",
        CLASSES,
        ("may be a second header or a sample",),
    ),
    "a line of codes": (
        f"sex,d,y\n(f/m),(yes/no),(yes/no)\n{BODY}",
        CLASSES,
        ("may be a second header or a sample",),
    ),
    "a title": (f"Export of May,,\n{PLAIN}", CLASSES, ("no column 'y', 'd', 'sex'",)),
    "a separator line": (f"sep=;\n{PLAIN.replace(',', ';')}", CLASSES, ("it is 'sep=;'",)),
    "a column twice": (f"sex,d,d\n{BODY}", CLASSES, ("more than one column 'd'",)),
    "spaces in the header": (PLAIN.replace("d,y", " d, y", 1), CLASSES, ("Did you mean ' y'",)),
    "a cut line": (PLAIN.replace("\n", "\nm,yes\n", 1), CLASSES, ("line 2 has 2",)),
    # Decisions.
    "words and digits": (write_other("1", "0"), CLASSES, ("'1' (6 times), 'yes' (24 times)",)),
    "two notations of a group": (
        write(sex=np.where(IS_OTHER, np.where(ROWS % 2, "m", "female"), SEX)),
        CLASSES,
        ("'sex' must have one notation of its groups", "'f', 'female' may be notations of one"),
    ),
    "sexes in two languages": (
        write(sex=np.where(IS_OTHER, np.where(ROWS % 2, "männlich", "w"), SEX)),
        CLASSES,
        ("'f', 'w' may be notations of one group, or several",),
    ),
    "an initial of a group": (
        write(sex=np.where(IS_OTHER, "Black", np.where(ROWS % 2, "White", "B"))),
        CLASSES,
        ("'B', 'Black' may be notations of one group",),
    ),
    "a letter of unknown groups": (
        write(sex=np.where(IS_OTHER, np.where(ROWS % 8, "U", "Unknown"), SEX)),
        f"{CLASSES} --unknown U Unknown --missing exclude",
        pd.Series(D).groupby(np.where(IS_OTHER, "(missing)", SEX)).sum().to_dict(),
    ),
    "letters of two groups": (
        write(sex=np.where(ROWS % 2, "AB", np.where(IS_OTHER, "A", "White"))),
        CLASSES,
        pd.Series(D)
        .groupby(np.where(ROWS % 2, "AB", np.where(IS_OTHER, "A", "White")))
        .sum()
        .to_dict(),
    ),
    "two languages": (write_other("ja", "nein"), CLASSES, ("'ja' (6 times), 'yes' (24 times)",)),
    "words and booleans": (write_other("true", "false"), CLASSES, ("'true' (6", "'yes' (24")),
    "two words": (
        write_other("accepted", "rejected"),
        CLASSES,
        ("'accepted' (6 times), 'yes' (24 times) may be two notations of one class, or two",),
    ),
    "upper case": (write_other("Yes", "No"), CLASSES, ("'Yes' (6 times), 'yes' (24 times)",)),
    "upper case, ignored": (write_other("Yes", "No"), f"{CLASSES} --ignore-case", HITS),
    "spaces behind": (
        write_other("yes ", "no "),
        CLASSES,
        ("differ in case, spaces or Unicode form alone",),
    ),
    "numbers with decimals": (
        write(d=D.astype(float), y=Y.astype(int)),
        CLASSES.replace(" --positive yes", ""),
        HITS,
    ),
    "minus one": (write(d=2 * D - 1, y=2 * Y - 1), CLASSES.replace(" --positive yes", ""), HITS),
    "digits beside words": (write(d=D.astype(int)), CLASSES, ("'d' has 0, 1", "--positive 1")),
    "a cross or nothing": (
        write(d=np.where(D, "x", "")),
        CLASSES.replace("--target y ", "").replace("yes", "x"),
        ("Write what an empty entry means",),
    ),
    "an n/a among decisions": (
        write(d=np.where(ROWS == 7, "n/a", TABLE["d"])),
        CLASSES,
        ("'n/a', which usually marks a missing value",),
    ),
}

PARSER = ArgumentParser()
COMMANDS = PARSER.add_subparsers()
add_certify_options(COMMANDS.add_parser("certify"))
add_monitor_options(COMMANDS.add_parser("monitor"))


def read(command, path):
    """Positive samples or sums of predictions by group, or samples by month."""
    arguments = command.replace("FILE", str(path)).split()
    options = PARSER.parse_args(arguments)
    options.arguments = arguments
    if command.startswith("monitor"):
        return read_log(options)[0].periods.dt.month.value_counts().to_dict()
    audit = read_audit(list_models(options)[0], {})
    values = audit.columns["y_pred"]
    if audit.pos_label is not None:
        values = values == audit.pos_label
    groups = audit.samples.groups
    sums = np.bincount(groups.codes, values)
    return dict(zip(groups.labels[:, 0], sums, strict=True))


@pytest.mark.covering(0)
@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_read_right_or_refused_with_both_readings(name, tmp_path):
    content, command, expected = VARIANTS[name]
    path = tmp_path / "decisions.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if isinstance(expected, dict):
        assert read(command, path) == pytest.approx(expected)
        return
    parts = "".join(f"(?=.*{re.escape(part)})" for part in expected)
    if isinstance(expected, list):
        with pytest.warns(UserWarning, match=f"(?s){parts}"):
            read(command, path)
        return
    with pytest.raises(ValueError, match=f"(?s){parts}"):
        read(command, path)


@pytest.mark.parametrize("date", ["2205-03-01", "2318-12-31", "9999-12-31", "1600-01-01"])
def test_one_date_far_from_the_others_is_refused_with_its_row(date, tmp_path):
    (tmp_path / "a.csv").write_text(write(date=np.where(ROWS == 40, date, ISO)))
    options = PARSER.parse_args(MONTHS.replace("FILE", str(tmp_path / "a.csv")).split())
    with pytest.raises(ValueError, match="1 of 60 dates .* row 41, .* slips of the pen"):
        feed(GapMonitor("demographic_parity", 0.1), read_log(options)[0], "month")
    # As the message says, a weight of 0 leaves the row out.
    table = pd.read_csv(tmp_path / "a.csv").assign(w=np.where(ROWS == 40, 0, 1))
    table.to_csv(tmp_path / "a.csv", index=False)
    options.weight = "w"
    monitor = GapMonitor("demographic_parity", 0.1, pos_label="yes")
    feed(monitor, read_log(options)[0], "month")
    assert monitor.summary()["n"].sum() == 59


def test_a_date_that_stands_for_no_date_is_refused_however_often_it_occurs(tmp_path):
    (tmp_path / "a.csv").write_text(write(date=np.where(ROWS % 3 == 0, "9999-12-31", ISO)))
    options = PARSER.parse_args(MONTHS.replace("FILE", str(tmp_path / "a.csv")).split())
    with pytest.raises(ValueError, match=r"--time: 20 of 60 dates are .* from 9999-12-01 on"):
        feed(GapMonitor("demographic_parity", 0.1), read_log(options)[0], "month")


def test_other_words_for_decisions_may_be_three_classes(tmp_path):
    """Only where both classes have two words may these be two notations."""
    words = np.where(D, "approved", np.where(ROWS % 3, "denied", "refused"))
    (tmp_path / "a.csv").write_text(write(d=words))
    command = CLASSES.replace("--target y ", "").replace("yes", "approved")
    assert read(command, tmp_path / "a.csv") == HITS
