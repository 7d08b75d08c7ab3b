"""New York's Local Law 144: a summary worked by hand from 6 RCNY 5-300 to 5-304."""

import numpy as np
import pandas as pd
import pytest

from skfair.audit import FairnessReport
from tests.audit.doors import report_predictions

APPLICANTS = {
    ("male", "Asian"): (520, 286),
    ("male", "Black"): (480, 168),
    ("male", "Hispanic"): (560, 224),
    ("male", "Two or more"): (60, 21),
    ("male", "White"): (1350, 675),
    ("female", "Asian"): (450, 225),
    ("female", "Black"): (400, 120),
    ("female", "Hispanic"): (430, 172),
    ("female", "Two or more"): (53, 20),
    ("female", "White"): (1200, 540),
    ("male", None): (65, 30),
    ("female", None): (30, 12),
    (None, "White"): (40, 20),
    (None, None): (20, 5),
}
"""Applicants and selections by sex and race/ethnicity; None is an unknown category."""

STATED = {
    "date": "2025-03-01",
    "distribution_date": "2024-09-15",
    "source": "applications of 2024",
    "explanation": "all applicants that the tool assessed",
    "justification": "fewer than 2 %, as 6 RCNY 5-301(d) allows",
}


def audit(name=lambda label: label, **settings):
    """Report of the applicants; `name` renames their labels."""
    sizes = [n for n, _ in APPLICANTS.values()]
    decisions = np.concatenate([np.arange(n) < k for n, k in APPLICANTS.values()]).astype(int)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    categories = [tuple(map(name, category)) for category in APPLICANTS]
    table = pd.DataFrame(categories, columns=["sex", "race"], dtype=object).iloc[labels]
    settings = {"missing": "exclude", "source": STATED} | settings
    return report_predictions(
        None, decisions, sensitive_features=table.reset_index(drop=True), **settings
    )


def lines(markdown, heading):
    """Rows of the table below a heading, as lists of cells."""
    section = markdown.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[2:]]


def test_the_summary_of_5658_applicants_by_hand():
    """To the digit; ratios are of unrounded rates, and 2 % of 5,658 are 113.16 applicants.

    By sex, without 40 + 20 = 60 of unknown sex:
      male 520 + 480 + 560 + 60 + 1350 + 65 = 3035, selected 286 + 168 + 224 + 21 + 675 + 30 = 1404,
        1404 / 3035 = .46260;
      female 450 + 400 + 430 + 53 + 1200 + 30 = 2563, selected 225 + 120 + 172 + 20 + 540 + 12
        = 1089, 1089 / 2563 = .42489; 1089 * 3035 / (2563 * 1404) = 3305115 / 3598452 = .91848.
    By race/ethnicity, without 65 + 30 + 20 = 115 unknown; Asian is the most selected:
      Asian 970, selected 511: .52680;
      Black 880, selected 288: .32727; 288 * 970 / (880 * 511) = .62124;
      Hispanic 990, selected 396: .40000; 396 * 970 / (990 * 511) = .75930;
      Two or more 113, selected 41: .36283, and 113 < 113.16;
      White 1350 + 1200 + 40 = 2590, selected 1235: .47683; 1235 * 970 / (2590 * 511) = .90515.
    By intersection, without 65 + 30 + 40 + 20 = 155; male Asian .55 is the most selected:
      .5 / .55 = .90909, .3 / .55 = .54545, .4 / .55 = .72727, .45 / .55 = .81818,
      .35 / .55 = .63636; the two groups "Two or more" have 53 and 60 applicants.
    """
    markdown = audit().to_markdown(summary="ll144")
    facts = dict(
        lines(markdown, "Summary of results of the bias audit (New York City Local Law 144)")
    )
    assert facts["Number of applicants"] == "5,658"
    unknown = {name: facts[f"Applicants of unknown category by {name}"] for name in ("sex", "race")}
    assert unknown == {"sex": "60", "race": "115"}
    assert facts["Applicants of unknown category by sex × race"] == "155"
    assert lines(markdown, "By sex") == [
        ["female", "2,563", "1,089", "42.5 %", "0.918"],
        ["male", "3,035", "1,404", "46.3 %", "1.000"],
    ]
    assert lines(markdown, "By race") == [
        ["Asian", "970", "511", "52.7 %", "1.000"],
        ["Black", "880", "288", "32.7 %", "0.621"],
        ["Hispanic", "990", "396", "40.0 %", "0.759"],
        ["Two or more", "113", "41", "36.3 %", "left out"],
        ["White", "2,590", "1,235", "47.7 %", "0.905"],
    ]
    assert lines(markdown, "By sex × race") == [
        ["female × Asian", "450", "225", "50.0 %", "0.909"],
        ["female × Black", "400", "120", "30.0 %", "0.545"],
        ["female × Hispanic", "430", "172", "40.0 %", "0.727"],
        ["female × Two or more", "53", "20", "37.7 %", "left out"],
        ["female × White", "1,200", "540", "45.0 %", "0.818"],
        ["male × Asian", "520", "286", "55.0 %", "1.000"],
        ["male × Black", "480", "168", "35.0 %", "0.636"],
        ["male × Hispanic", "560", "224", "40.0 %", "0.727"],
        ["male × Two or more", "60", "21", "35.0 %", "left out"],
        ["male × White", "1,350", "675", "50.0 %", "0.909"],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["exclude", "error"])
def test_labels_of_unknown_categories_are_counted_as_missing(missing):
    """The summary by hand holds where an export writes "Unknown" and "Decline to state"."""
    names = {None: "Unknown"}
    report = audit(lambda label: names.get(label, label), missing=missing, unknown=["unknown"])
    assert report.to_markdown(summary="ll144") == audit().to_markdown(summary="ll144")
    assert report.n_missing == {"sex": 60, "race": 115, "sex × race": 155}
    half = iter(["Decline to state", "Unknown"] * len(APPLICANTS))
    report = audit(
        lambda label: next(half) if label is None else label,
        unknown=["Unknown", "Decline to state"],
    )
    assert report.to_markdown(summary="ll144") == audit().to_markdown(summary="ll144")


@pytest.mark.slow
def test_labels_like_unknown_are_warned_of_and_never_counted_as_none():
    with pytest.warns(UserWarning, match="'(sex|race)' .* like missing values, .*: 'Unknown'"):
        report = audit(lambda label: "Unknown" if label is None else label)
    markdown = report.to_markdown(summary="ll144")
    facts = dict(
        lines(markdown, "Summary of results of the bias audit (New York City Local Law 144)")
    )
    stated = facts["Applicants of unknown category by sex"]
    assert stated == "0, and 60 more if 'Unknown' means unknown"
    assert any(
        "'Unknown' of 60 applicants looks like one" in one for one in report.missing_fields()
    )
    line = "look like an unknown group | 'Unknown' by sex (60); 'Unknown' by race (115) |"
    assert line in report.to_markdown() and line in markdown
    assert FairnessReport.from_json(report.to_json()).to_markdown() == report.to_markdown()


@pytest.mark.slow
def test_categories_below_two_percent_are_named_with_count_and_rate():
    report = audit()
    markdown = report.to_markdown(summary="ll144")
    named = "Two or more (113 applicants, selection rate 36.3 %); female × Two or more (53 "
    named += "applicants, selection rate 37.7 %); male × Two or more (60 applicants, selection rate"
    assert f"{named} 35.0 %)" in markdown
    assert STATED["justification"] in markdown
    assert report.missing_fields() == [] and "Missing in this summary" not in markdown
    # All categories are in the ratios if the auditor leaves none out: 41 * 970 / (113 * 511).
    rows = lines(audit(min_share=0.0).to_markdown(summary="ll144"), "By race")
    assert rows[3] == ["Two or more", "113", "41", "36.3 %", "0.689"]


@pytest.mark.slow
def test_the_page_names_missing_fields():
    report = audit(source=None)
    missing = report.missing_fields()
    assert [text.partition(":")[0] for text in missing] == [
        "Distribution date of the tool",
        "Source of the data",
        "Explanation of the data",
        "Justification for leaving categories out",
    ]
    html = report.to_html(summary="ll144")
    assert html.count("not stated") == 4 and "Missing in this summary" in html
    by_sex = report_predictions(
        None, [0, 1] * 50, sensitive_features=list("ab") * 50, source=STATED
    )
    assert "the report is by attribute 1" in by_sex.missing_fields()[0]


def test_scores_are_compared_with_the_median_of_all_applicants():
    """The median of .1, .2, .3, .4, .5, .6, .7, .8, .9, .95 is .55, above which b has one of two.

    Without the four of unknown category it would be .35, and both of b above it.
    """
    scores = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
    settings = {"sensitive_features": [*"aaaabb", *[None] * 4], "missing": "exclude"}
    with pytest.raises(ValueError, match=r'scores and metrics=\["scoring_rate"\]'):
        report_predictions(None, scores, **settings).to_markdown(summary="ll144")
    report = report_predictions(None, scores, metrics=["scoring_rate"], **settings)
    assert lines(report.to_markdown(summary="ll144"), "By attribute 1") == [
        ["a", "4", "0", "0.0 %", "0.000"],
        ["b", "2", "1", "50.0 %", "1.000"],
    ]


def test_halves_are_rounded_up_as_by_hand():
    """325 of 400 are 81.25 %, and .8125 of the rate of 100 of 100."""
    report = report_predictions(
        None,
        [1] * 325 + [0] * 75 + [1] * 100,
        sensitive_features=["a"] * 400 + ["b"] * 100,
    )
    rows = lines(report.to_markdown(summary="ll144"), "By attribute 1")
    assert rows[0] == ["a", "400", "325", "81.3 %", "0.813"]


@pytest.mark.slow
def test_reports_outside_the_rules_are_refused():
    with pytest.raises(ValueError, match='make it with missing="exclude"'):
        audit(missing="group").to_html(summary="ll144")
    with pytest.raises(ValueError, match="needs selection rates .* report of a clustering"):
        audit(task="clustering").missing_fields()
    with pytest.raises(ValueError, match="summary must be one of 'll144'; got 'eeoc'"):
        audit().to_html(summary="eeoc")
    with pytest.raises(ValueError, match="source must be a dict of str to str"):
        audit(source=["source"])
