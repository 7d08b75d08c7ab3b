"""The page of the monitor: numbers are of what its titles say, and axes show where they end."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair._commands.monitor_course import _STYLE, _trace
from skfair._commands.monitor_page import _batch_table, monitor_findings
from skfair.audit._formats import Axis, Picture, _draw
from skfair.audit._front import find_round_axis
from skfair.audit._sentences import describe_quantity
from skfair.monitoring import GapMonitor
from skfair.plotting._gap_monitor import pool_rates


@pytest.fixture(scope="module")
def log():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 6000, p=[1 / 3, 2 / 3])
    days = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 360, 6000), unit="D")
    hired = (rng.random(6000) < np.where(sex == "f", 0.08, 0.26)).astype(int)
    return pd.DataFrame({"sex": sex, "date": days, "hired": hired})


@pytest.fixture(scope="module")
def page(log, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    log.to_csv(folder / "log.csv", index=False)
    columns = "--prediction hired --sensitive sex --time date --tolerance 0.1".split()
    main(["monitor", str(folder / "log.csv"), *columns, "--out", str(folder / "m.html")])
    return (folder / "m.html").read_text(encoding="utf-8")


def read_table(page, caption):
    """Cells of a table of the page as text."""
    (table,) = [one for one in page.split("<table")[1:] if f"<caption><span>{caption}" in one]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table.partition("</table>")[0], re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[re.sub(r"<[^>]+>", " ", cell).strip() for cell in row] for row in cells]


def test_a_row_has_the_gap_of_its_month_and_in_small_that_since_the_last_alarm(log, page):
    titles, *rows = read_table(page, "Batches")
    assert titles[2] == "Gap of the month" and len(rows) == 12
    assert "all samples since the last alarm (or the start)" in page
    alarms = [row[0] for row in read_table(page, "Alarms")[1:]]
    assert alarms
    months = log["date"].dt.to_period("M").dt.start_time.dt.strftime("%Y-%m-%d")
    for row in rows:
        start = max([one for one in alarms if one < row[0]], default="")
        stated = [float(one) for one in re.findall(r"([\d.]+) points", row[2])]
        spans = months == row[0], (months > start) & (months <= row[0])
        for is_counted, gap in zip(spans, stated, strict=True):
            rates = log[is_counted].groupby("sex")["hired"].mean()
            assert gap == pytest.approx(100 * abs(rates["f"] - rates["m"]), abs=0.06)


def test_rates_of_groups_are_those_of_each_month(log, page):
    titles, *rows = read_table(page, "Selection rate of each group by sex")
    months = log["date"].dt.strftime("%Y-%m-01")
    rates = log.groupby([months, "sex"])["hired"].mean().unstack()
    for row in rows:
        for name, cell in zip(titles[2:], row[2:], strict=True):
            stated = float(re.match(r"[\d.]+", cell)[0])
            assert stated == pytest.approx(100 * rates.loc[row[0], name], abs=0.06)


def test_curves_are_the_rates_of_each_month(log, page):
    (plane,) = re.findall(r'<div class="plane">(.*?)</div>', page)
    ticks = re.findall(r'<span style="bottom:([\d.]+)%">([\d.]+)', plane)
    (top,) = [float(text) for place, text in ticks if float(place) == 100]
    months = log["date"].dt.strftime("%Y-%m-01")
    rates = log.groupby([months, "sex"])["hired"].mean().unstack()
    names = re.findall(r"</svg>([fm])</li>", page)
    assert sorted(names) == ["f", "m"]
    for number, name in enumerate(names):
        (path,) = re.findall(rf'<path class="g{number}" d="M([^"]*L[^"]*)"', plane)
        x, y = np.array([point.split() for point in path.split("L")], dtype=float).T
        np.testing.assert_allclose(x, 100 * (np.arange(12) + 0.5) / 12, atol=0.01)
        np.testing.assert_allclose(top * (100 - y) / 100, 100 * rates[name], atol=0.01)


def test_the_band_has_the_states_and_alarms_of_the_tables(page):
    rows = read_table(page, "Batches")[1:]
    alarms = [row[0] for row in read_table(page, "Alarms")[1:]]
    (band,) = re.findall(r'<div class="states">(.*?)</div>', page)
    states = re.findall(r'<span class="(\w+)" style="width:([\d.]+)%">', band)
    # A label that a telephone would cut is left out: 100 % are 320 pixels, a character takes 7.
    labels = re.findall(r'style="width:([\d.]+)%">(\w+)</span>', band)
    assert labels and all(3.2 * float(width) >= 7 * len(label) for width, label in labels)
    lengths = [round(12 * float(width) / 100) for _, width in states]
    drawn = [state for (state, _), n in zip(states, lengths, strict=True) for _ in range(n)]
    expected = []
    for row in rows:
        stands = row[-1] == "open" and expected[-1:] == ["contradicted"]
        expected.append("contradicted" if stands else row[-1])
    assert drawn == expected
    places = re.findall(r'<span style="left:([\d.]+)%">', page)
    dates = [row[0] for row in rows]
    assert [dates[int(12 * float(one) / 100)] for one in places] == alarms


def test_a_value_without_neighbours_is_a_stroke():
    axis = Axis(0.0, 0.4, ("0", "40 %"))
    assert _trace([0.1, np.nan, 0.2, 0.4], axis) == "M12.50 75.00h1M62.50 50.00L87.50 0.00"


def test_outcomes_of_one_month_that_come_in_several_batches_are_pooled():
    rates = pd.DataFrame(
        {
            "batch": [2, 3, 3],
            "time": [1, 1, 2],
            "attribute": "sex",
            "event": "all",
            "group": "f",
            "n": [30, 10, 5],
            "weight": [30.0, 10.0, 5.0],
            "estimate": [0.5, 0.1, 0.2],
        }
    )
    pooled = pool_rates(rates).set_index("time")["estimate"]
    assert pooled.to_dict() == pytest.approx({1: 16 / 40, 2: 0.2})


def test_a_group_has_one_line_in_all_panels(tmp_path):
    # Group c has no positives, so that the first panel has two groups, and the second one three.
    sex = np.array(["a", "c", "b"] * 200)
    hired = np.arange(600) % 2
    table = pd.DataFrame({"sex": sex, "hired": hired, "good": hired * (sex != "c")})
    table["date"] = pd.date_range("2025-01-01", periods=600, freq="h").astype(str)
    table.to_csv(tmp_path / "log.csv", index=False)
    columns = "--prediction hired --target good --sensitive sex --time date --by week".split()
    main(["monitor", str(tmp_path / "log.csv"), *columns, "--out", str(tmp_path / "m.html")])
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    entries = re.findall(r'<li><svg[^>]*><path class="g(\d)"[^>]*/></svg>(\w)</li>', page)
    by_group = {}
    for number, group in entries:
        by_group.setdefault(group, set()).add(number)
    assert len(entries) == 5 and {*map(len, by_group.values())} == {1}
    assert len({*map(frozenset, by_group.values())}) == 3
    titles = re.findall(r"<figcaption>([^<]+)</figcaption>", page)
    assert titles[:2] == [
        "True positive rate of each group by sex",
        "False positive rate of each group by sex",
    ]


def test_the_picture_is_as_wide_as_the_page():
    # Rules of other figures make them narrow.
    rule = _STYLE.partition(".course{")[2].partition("}")[0].replace("\n", "")
    assert "width:100%" in rule.split(";")


def test_e_values_are_folded(page):
    before = page[: page.index("<span>E-values")]
    assert before.count("<details") == before.count("</details>") + 1
    assert "For" not in read_table(page, "Batches")[0]


@pytest.mark.parametrize("top", [0.001, 0.037, 0.1, 0.2, 0.231, 0.4, 0.77, 1.0, 13.0])
def test_ticks_are_multiples_of_1_2_or_5(top):
    axis = find_round_axis(describe_quantity("selection_rate"), top)
    step = Fraction(axis.high / 4).limit_denominator(10**6)
    digits = f"{float(step):e}".partition("e")[0].rstrip("0").rstrip(".")
    assert digits in ("1", "2", "5") or axis.high == 1.0
    assert top <= axis.high * (1 + 1e-9) and axis.high < 2.5 * top
    assert [float(one.removesuffix(" %")) for one in axis.ticks] == pytest.approx(
        [100 * k * float(step) for k in range(5)], rel=0.01
    )


@pytest.mark.parametrize(("limits", "n_arrows"), [((0.1, 0.3), 0), ((0.1, 0.6), 1), ((-1, 1), 2)])
def test_an_arrow_marks_a_limit_beyond_the_axis(limits, n_arrows):
    picture = Picture(Axis(0.0, 0.4, ("0",)), [(0.2, "near")], limits)
    arrows = re.findall(r'd="M(98|2) 4L(100|0) 10L\1 16"', _draw(picture))
    assert len(arrows) == n_arrows


def measure_contrast(color, ground):
    """Contrast of two colours, as #rrggbb (WCAG 2.1)."""
    levels = np.array(
        [[int(one[i : i + 2], 16) / 255 for i in (1, 3, 5)] for one in (color, ground)]
    )
    linear = np.where(levels <= 0.04045, levels / 12.92, ((levels + 0.055) / 1.055) ** 2.4)
    dark, bright = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return (bright + 0.05) / (dark + 0.05)


def test_lines_of_groups_and_words_in_the_band_have_contrast():
    light, _, dark = _STYLE.partition("@media (prefers-color-scheme:dark){")
    pattern = r"(\.g\d\{stroke|--(?:open|shown|contradicted)):(#[0-9a-f]{6})"
    of_light = dict(re.findall(pattern, light))
    of_dark = of_light | dict(re.findall(pattern, dark))
    assert len(of_light) == len(of_dark) == 11
    for colors, ground in ((of_light, "#ffffff"), (of_dark, "#0d1117")):
        assert min(measure_contrast(color, ground) for color in colors.values()) >= 3
        words = [color for name, color in colors.items() if name.startswith("--")]
        assert min(measure_contrast(color, "#ffffff") for color in words) >= 4.5


@pytest.mark.parametrize(("name", "ground"), [("logo", "#ffffff"), ("logo_dark", "#121212")])
def test_logos_have_contrast(name, ground):
    picture = (Path(__file__).parents[2] / "doc" / "_static" / f"{name}.svg").read_text("utf-8")
    colors = re.findall(r"#[0-9A-Fa-f]{6}", picture)
    assert len(set(colors)) == 4
    assert min(measure_contrast(color, ground) for color in colors) >= 3


def test_a_row_has_no_limits_where_rates_have_changed():
    rng = np.random.default_rng(0)
    monitor = GapMonitor("demographic_parity", 0.1)
    for month in range(12):
        groups = np.repeat(["a", "b"], 900)
        rate = np.where((groups == "b") & (month >= 9), 0.33, 0.45)
        time = pd.Timestamp("2025-01-01") + pd.DateOffset(months=month)
        decisions = (rng.random(1800) < rate).astype(int)
        monitor.update(None, decisions, sensitive_features=groups, time=time)
    _, _, _, rows = _batch_table(monitor, "month")
    (_, before), (_, after) = (rows[month][0][2] for month in (8, 11))
    assert re.fullmatch(r"[\d.]+ points [\d.]+ to [\d.]+", before)
    assert re.fullmatch(r"[\d.]+ points no interval", after)
    assert any("without limits" in one for one in monitor_findings(monitor, "month", None))
