"""Columns, strata and groups may have any name, in every form of a report."""

from html import unescape

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit, FairnessReport

HEADINGS = [
    *("sex | legal", "sex × age", "a|b", "<b>", "&amp;", "`x`", "two\nlines", "größe", "'x'", " x"),
    *("overall", "stratum", "group", "attribute", "metric", "n", "estimate", "gap", "", "of class"),
    *(2025, 1.5),
]


def make_table(heading, other="age", n=400):
    rng = np.random.default_rng(0)
    groups = rng.choice(["f", "overall"], n)
    table = pd.DataFrame({heading: groups, other: rng.choice(["x | y", "z"], n)})
    decisions = (rng.random(n) < np.where(groups == "f", 0.3, 0.6)).astype(int)
    return table, decisions


@pytest.mark.covering(0)
@pytest.mark.parametrize("heading", HEADINGS)
def test_a_report_is_the_same_under_any_heading(heading):
    table, decisions = make_table(heading)
    plain = table.set_axis(["sex", "age"], axis=1)
    strata = np.resize(["north | east", "south"], len(table))
    reports = [
        Audit.from_predictions(
            None,
            decisions,
            sensitive_features=one,
            control_features=pd.DataFrame({heading: strata}),
        ).report()
        for one in (table, plain)
    ]
    numbers = ["group", "metric", "n", "estimate", "low", "high", "difference_low", "ratio_high"]
    pd.testing.assert_frame_equal(reports[0].frame[numbers], reports[1].frame[numbers])
    rates = pd.Series(decisions).groupby([strata, table[heading].to_numpy()]).mean()
    within = reports[0].frame.query("metric == 'selection_rate' and stratum != ''")
    within = within[within["attribute"] == reports[0].attributes[0]]
    np.testing.assert_allclose(within["estimate"], rates.to_numpy())
    text = reports[0].to_json()
    again = FairnessReport.from_json(text)
    assert again.to_json() == text and again.findings == reports[0].findings
    for report in (reports[0], again):
        page = report.to_html(interactive=True)
        name = " ".join(reports[0].attributes[0].split())
        assert name in " ".join(unescape(page).split())
        assert report.to_markdown() and report.to_model_card(format="json")
        assert len(report.adjusted_differences()) == len(reports[1].adjusted_differences())


@pytest.mark.covering(0)
@pytest.mark.parametrize("heading", [str(one) for one in HEADINGS if one not in ("", "two\nlines")])
def test_a_command_reports_by_columns_of_any_heading(heading, tmp_path, capsys):
    table, decisions = make_table(heading)
    table.assign(decision=decisions).to_csv(tmp_path / "p.csv", index=False)
    options = ["--prediction", "decision", "--positive", "1", "--json", "-", "--sensitive"]
    main(["report", str(tmp_path / "p.csv"), *options, heading, "age"])
    report = FairnessReport.from_json(capsys.readouterr().out)
    expected = Audit.from_predictions(None, decisions, sensitive_features=table).report()
    assert report.findings[1:] == expected.findings[1:]


def test_other_answers_name_columns_of_any_heading():
    table, decisions = make_table("sex | legal")
    audit, other = (
        Audit.from_predictions(None, one, sensitive_features=table)
        for one in (decisions, decisions[::-1])
    )
    with pytest.warns(UserWarning, match="look like the same samples"):
        changes = audit.compare(other)
    for answer in (changes, audit.subgroups()):
        assert "sex | legal" in answer.to_html()
    assert "sex | legal" in audit.certify(tolerance=0.5).text


def test_all_samples_differ_from_a_group_of_their_name():
    table, decisions = make_table("sex")
    report = Audit.from_predictions(None, decisions, sensitive_features=table[["sex"]]).report()
    (numbers,) = (
        element for heading, (element, *_) in report._sections() if heading == "The numbers"
    )
    rates = [decisions.mean(), *pd.Series(decisions).groupby(table["sex"]).mean()]
    counts = [400, *table["sex"].value_counts().sort_index()]
    lines = sorted((line[0], int(line[1]), line[2][0]) for line, _ in numbers[3])
    expected = zip(["overall", "f", "overall"], counts, rates, strict=True)
    assert lines == sorted((name, n, f"{100 * rate:.1f} %") for name, n, rate in expected)
