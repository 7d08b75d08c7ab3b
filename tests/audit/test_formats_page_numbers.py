"""Numbers and headlines of drawn reports, read from their pages, against pandas and scipy."""

import json
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from skfair.audit import Audit

MANY = [pytest.param(range(n, n + 60), marks=pytest.mark.slow) for n in range(4, 304, 60)]
MIN_SIZE = 30
RATES = {
    "Base rate": ("base_rate", "y", None),
    "Selection rate": ("selection_rate", "d", None),
    "True positive rate": ("true_positive_rate", "d", ("y", 1)),
    "False positive rate": ("false_positive_rate", "d", ("y", 0)),
    "Precision": ("positive_predictive_value", "y", ("d", 1)),
    "Accuracy": ("accuracy", "right", None),
}


class Tables(HTMLParser):
    """Collects the heading, the sentences below it, and every table as lists of texts."""

    def __init__(self, html):
        super().__init__()
        self.tables = {}
        self.texts = []
        self.stack = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.stack.append(tag)
        if tag == "table":
            self.rows = []
            self.caption = ""
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag in ("h1", "p"):
            self.texts.append("")

    def handle_endtag(self, tag):
        self.stack.remove(tag)
        if tag == "table":
            self.tables[self.caption] = self.rows

    def handle_data(self, data):
        data = data.replace("\xa0", " ")
        if "caption" in self.stack:
            self.caption += data if "small" not in self.stack else ""
        elif {"td", "th"} & {*self.stack}:
            self.rows[-1][-1] += data
        elif {"h1", "p"} & {*self.stack}:
            self.texts[-1] += data


def draw_table(seed):
    """A table of decisions, perhaps outcomes, and one or two attributes with a small group."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(150, 900))
    shares = [0.55, 0.35, 0.08, 0.02]
    table = pd.DataFrame({"race": rng.choice([*"pqrs"], n, p=shares)})
    if seed % 8 == 1:
        table["sex"] = rng.choice(["man", "woman"], n)
    effects = rng.normal(0.0, rng.choice([0.0, 0.1, 0.3]), 4)
    table["y"] = (rng.random(n) < rng.uniform(0.1, 0.9)).astype(int)
    rate = 0.2 + 0.4 * table["y"] + effects[table["race"].map("pqrs".index)]
    table["d"] = (rng.random(n) < rate).astype(int)
    if seed % 8:
        return table.drop(columns="y")
    table["right"] = (table["y"] == table["d"]).astype(int)
    return table


def report_table(table, is_burden):
    """The report of a drawn table, and the names of its attributes with their groups as text."""
    attributes = [name for name in ("race", "sex") if name in table]
    audit = Audit.from_predictions(
        table.get("y"),
        table["d"],
        sensitive_features=table[attributes],
        pos_label=1,
        burden=is_burden,
    )
    by = {name: table[name] for name in attributes}
    if len(attributes) > 1:
        by["race × sex"] = table["race"] + " × " + table["sex"]
    return audit.report(), by


def rate_counts(table, groups, rate):
    """Successes and numbers of a rate by group."""
    _, event, condition = RATES[rate]
    counted = table if condition is None else table[table[condition[0]] == condition[1]]
    return counted.groupby(groups.loc[counted.index])[event].agg(["sum", "count"])


def wilson_or_exact(k, n):
    """Limits of a rate: the wider of both for up to three successes or failures."""
    test = binomtest(int(k), int(n))
    low, high = test.proportion_ci(0.95, method="wilson")
    if min(k, n - k) > 3:
        return low, high
    exact = test.proportion_ci(0.95, method="exact")
    return min(low, exact.low), max(high, exact.high)


def percent(value, rounding=None):
    """A share in percent with one digit after the point."""
    exact = Decimal(f"{round(100 * value, 6):.12g}")
    return f"{exact.quantize(Decimal('.1'), rounding):.1f}"


@pytest.mark.parametrize("seeds", [range(3), *MANY], ids=str)
def test_pages_of_drawn_reports(seeds):
    n_compared = 0
    n_plain = 0
    for seed in seeds:
        table = draw_table(seed)
        is_burden = seed % 16 > 7
        report, by = report_table(table, is_burden)
        html = report.to_html()
        if is_burden:
            # All that the words of a burden change in rates.
            assert "are selected" not in html and "Selection rate" not in html
            html = html.replace("Share decided &#x27;1&#x27;", "Selection rate")
            html = html.replace("are decided &#x27;1&#x27;", "are selected")
        page = Tables(html)
        content = json.loads(report.to_json())
        n_compared += check_rates(table, by, page, list_rows(content["frame"]))
        n_plain += check_headline(table, by, page, list_rows(content["gaps"]), is_burden)
    assert n_compared > 4 * len(seeds) and (len(seeds) < 10 or n_plain > len(seeds) / 10)


def list_rows(columns):
    """Rows of a table that JSON holds by column."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def check_rates(table, by, page, frame):
    """Compare rates, limits and counts of page and JSON; return how many rates were compared."""
    n_compared = 0
    stored = {(row["attribute"], row["metric"], row["group"]): row for row in frame}
    for attribute, groups in by.items():
        # The table of all numbers is that of the attribute of the headline.
        titles, *lines = page.tables.get(f"By {attribute}", [[]])
        numbers = {line[0]: dict(zip(titles, line, strict=True)) for line in lines}
        for rate in list(RATES) if "y" in table else ["Selection rate"]:
            metric = RATES[rate][0]
            counts = rate_counts(table, groups, rate)
            counts = counts[counts["count"] > 0]
            rows = page.tables[f"{rate} by {attribute}"][1:]
            shown = {one[0].removesuffix(" (reference)"): one for one in rows}
            assert {*shown} == {*counts.index}
            for group, (k, n) in counts.iterrows():
                row = stored[attribute, metric, group]
                low, high = wilson_or_exact(k, n)
                assert row["n"] == n and row["estimate"] == pytest.approx(k / n, abs=1e-12)
                assert row["low"] == pytest.approx(low, abs=1e-9)
                assert row["high"] == pytest.approx(high, abs=1e-9)
                small = " small" * (n < MIN_SIZE)
                limits = f"{percent(low, ROUND_FLOOR)} to {percent(high, ROUND_CEILING)}"
                expected = f"{percent(k / n)} % {limits}"
                assert shown[group][2:4] == [expected, f"{n:,}{small}"]
                assert not numbers or numbers[group][rate] == expected
                n_compared += 1
            # Groups are in the order of their rates, and small ones last.
            order = [(n < MIN_SIZE, -k / n) for k, n in counts.loc[[*shown]].to_numpy()]
            assert order == sorted(order)
    assert sum(f"By {attribute}" in page.tables for attribute in by) == 1
    return n_compared


HEADLINE = re.compile(r"([\d.]+) % of (.+) are selected, ([\d.]+) % of (.+?)(; .*chance)?$")
EQUAL = re.compile(r"Selection rate: ([\d.]+) % for all groups by (.+)$")
DECK = re.compile(
    r"A gap of ([\d.]+) points \(([\d.]+) to ([\d.]+) with 95 % confidence\) "
    r"by (.+?)(?:, and a ratio of ([\d.]+) \(.*?\)( of the share not decided '1')?, .*)?\.$"
)


def check_headline(table, by, page, gaps, is_burden):
    """Groups, rates, direction, gap and limits are those of the widest gap; whether it is shown."""
    headline, deck = page.texts[1:3]
    counted = {}
    rates = {}
    for attribute, groups in by.items():
        counts = rate_counts(table, groups, "Selection rate")
        rates[attribute] = counts["sum"] / counts["count"]
        large = rates[attribute][counts["count"] >= MIN_SIZE]
        counted[attribute] = large.max() - large.min(), large
    # Significance is a result of the report; the gaps are counted here.
    stored = {row["attribute"]: row for row in gaps if row["metric"] == "selection_rate"}
    significant = [name for name, row in stored.items() if row["is_significant"]]
    widest = max(significant or counted, key=lambda name: counted[name][0])
    size, large = counted[widest]
    gap, low, high, attribute, ratio, turned = DECK.match(deck).groups()
    assert attribute == widest and gap == percent(size)
    if ratio is not None:
        # Four fifths compare those who are selected, or who are spared.
        favourable = 1.0 - large if is_burden else large
        assert (turned is not None) == is_burden
        assert float(ratio) == pytest.approx(favourable.min() / favourable.max(), rel=6e-3)
    stated = stored[widest]
    assert stated["gap"] == pytest.approx(size)
    limits = percent(stated["gap_low"], ROUND_FLOOR), percent(stated["gap_high"], ROUND_CEILING)
    assert (low, high) == limits
    rates = rates[widest]
    if equal := EQUAL.match(headline):
        assert equal[2] == widest and not significant and size < 0.005
        return False
    first, highest, second, lowest, chance = HEADLINE.match(headline).groups()
    assert rates[highest] == large.max() and rates[lowest] == large.min()
    assert (first, second) == (percent(rates[highest]), percent(rates[lowest]))
    assert (chance is None) == bool(significant)
    return chance is None
