"""The option ``--burden`` of all commands, and what they filed before there was one."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit, Claim, FairnessReport, verify
from skfair.constraints import DemographicParity
from skfair.monitoring import GapMonitor
from tests.audit.test_audit_burdens import draw_decisions

COLUMNS = ["--prediction", "d", "--sensitive", "race"]
BURDEN = ["--positive", "yes", "--burden"]


@pytest.fixture
def path(tmp_path):
    decisions, outcomes, race = draw_decisions()
    table = pd.DataFrame({"d": decisions, "y": outcomes, "race": race})
    table["time"] = [f"2026-{1 + i % 3:02d}-01" for i in range(len(table))]
    table["p"] = np.where(decisions == "yes", 0.75, 0.25)
    table.to_csv(tmp_path / "decisions.csv", index=False)
    return tmp_path / "decisions.csv"


def run(command, path, *options):
    """Exit status of a command on the decisions of a file."""
    return main([command, str(path), *COLUMNS, *options])


def fail(capsys, command, path, *options):
    """Message of a command that ends with an error."""
    with pytest.raises(SystemExit) as error:
        main([command, str(path), *options])
    assert error.value.code == 2
    return capsys.readouterr().err


def test_a_file_has_the_report_and_the_claim_of_its_audit(path, capsys):
    table = pd.read_csv(path)
    audit = Audit.from_predictions(
        table["y"], table["d"], sensitive_features=table["race"], pos_label="yes", burden=True
    )
    out = path.with_name("r.json")
    assert run("report", path, *BURDEN, "--target", "y", "--out", str(out)) == 3
    assert "; to be decided 'yes' is a burden." in capsys.readouterr().out
    report = FairnessReport.from_json(out)
    pd.testing.assert_frame_equal(report.frame, audit.report().frame)
    assert report.findings == audit.report().findings and report.reading.burden == "yes"
    filed = path.with_name("c.json")
    run(
        "certify",
        path,
        *BURDEN,
        "--target",
        "y",
        "--ratio",
        "0.8",
        "--min-size",
        "5",
        "--json",
        str(filed),
    )
    claim = Claim.from_json(filed)
    audit = replace(audit, min_group_size=5)
    assert "--burden" in claim.source["command"].split()
    assert verify(filed, audit) == []
    assert main(["verify", str(filed), str(path)]) == 0
    edited = json.loads(filed.read_text("utf-8"))
    edited["source"]["command"] = edited["source"]["command"].replace(" --burden", "")
    filed.write_text(json.dumps(edited), "utf-8")
    capsys.readouterr()
    assert main(["verify", str(filed), str(path)]) == 3
    assert "Another claim, by metric, " in capsys.readouterr().out


@pytest.mark.parametrize("columns", ["semicolons", "counts", "several", "json"])
def test_other_files_of_the_same_decisions_have_the_same_report(path, columns, capsys):
    reports = []
    table = pd.read_csv(path)[["d", "race", "p"]]
    more = BURDEN
    other = path.with_name("other.csv")
    if columns == "semicolons":
        table.to_csv(other, index=False, sep=";", decimal=",")
        more = [*more, "--decimal", "comma"]
    elif columns == "counts":
        table.groupby(["d", "race"]).size().reset_index(name="n").to_csv(other, index=False)
        more = [*more, "--count", "n"]
    elif columns == "several":
        is_first = (table["d"] == "yes") & (np.arange(len(table)) % 2 == 0)
        table.assign(d=table["d"].mask(is_first, "perhaps")).to_csv(other, index=False)
        more = ["--positive", "perhaps", *more]
    else:
        other = path.with_name("other.json")
        table.to_json(other, orient="records")
    for file, options in ((path, BURDEN), (other, more)):
        assert run("report", file, *options, "--json", "-") == 3
        reports.append(FairnessReport.from_json(capsys.readouterr().out))
    pd.testing.assert_frame_equal(reports[0].frame, reports[1].frame)
    label = "perhaps or yes" if columns == "several" else "yes"
    assert reports[1].reading.burden == label
    assert f"of the share not decided {label!r}, below four fifths" in reports[1].findings[1]


def test_polars_has_the_counts_of_a_burden(path):
    polars = pytest.importorskip("polars")
    counts = pd.read_csv(path).groupby(["d", "race"]).size().reset_index(name="n")
    settings = {"counts": "n", "sensitive_features": "race", "y_pred": "d"}
    claims = [
        Audit.from_counts(table, **settings, pos_label="yes", burden=True).certify(
            DemographicParity(ratio=0.5, min_group_size=1)
        )
        for table in (counts, polars.DataFrame(counts.to_dict("list")))
    ]
    assert claims[0] == claims[1] and claims[0].metric == "share not decided 'yes'"


def test_a_file_of_the_library_states_a_burden(path):
    columns = {"y_pred": "d", "y_true": "y", "sensitive_features": "race"}
    audit = Audit.from_file(path, columns, pos_label="yes", burden=True)
    assert audit.reading.burden == "yes" and audit.report().reading.burden == "yes"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--prediction", "p"], "--burden says that the decision pos_label is bad"),
        (["--prediction", "p", "--task", "regression"], "of a regression have no such decision"),
        (["--prediction", "d", "--task", "clustering"], "of a clustering have no such decision"),
        (["--prediction", "d", "--positive", "maybe"], "--positive must be one of the classes"),
        (["--prediction", "d"], "--positive must name the positive class"),
    ],
)
def test_a_burden_that_is_no_decision_is_refused(path, options, message, capsys):
    assert message in fail(
        capsys, "report", path, "--sensitive", "race", "--burden", *options, "--json", "-"
    )


def test_thresholds_and_places_make_decisions_that_are_a_burden(path, capsys):
    for options in (["--threshold", "0.5"], ["--top", "100"]):
        columns = ["--prediction", "p", "--sensitive", "race", "--burden", "--json", "-"]
        main(["report", str(path), *columns, *options])
        report = json.loads(capsys.readouterr().out)
        label = report["provenance"]["positive_label"]
        assert report["reading"]["burden"] == label
        assert f"share decided {label!r}" in report["findings"][0]


def test_changes_are_those_of_one_burden(path, capsys):
    assert main(["compare", str(path), str(path), *COLUMNS, *BURDEN]) == 0
    assert "The gap of the share decided 'yes' by race was" in capsys.readouterr().out


# Monitors.


def monitor(path, state, *options):
    times = ["--time", "time", "--state", str(state), "--json", "-"]
    return main(["monitor", str(path), *COLUMNS, *times, *options])


@pytest.mark.slow
def test_a_monitor_states_the_burden_and_keeps_it(path, tmp_path, capsys):
    state = tmp_path / "state.json"
    monitor(path, state, *BURDEN)
    results = json.loads(capsys.readouterr().out)
    assert results["reading"]["burden"] == "yes"
    assert "(share decided 'yes', tolerance 5 percentage points)" in results["findings"][0]
    content = json.loads(state.read_text("utf-8"))
    assert content["version"] == 10 and content["content"]["burden"] is True
    assert GapMonitor.from_json(state.read_text("utf-8")).burden
    before = state.read_text("utf-8")
    for options in (["--positive", "yes"], ["--positive", "no", "--burden"]):
        error = fail(
            capsys, "monitor", path, *COLUMNS, "--time", "time", "--state", str(state), *options
        )
        assert "must be that of" in error and ("True; got False" in error or "yes; got no" in error)
    assert state.read_text("utf-8") == before
    monitor(path, state, "--burden")
    assert json.loads(capsys.readouterr().out)["batches"] == results["batches"]


def test_audits_and_monitors_have_the_same_burden():
    decisions, _, race = draw_decisions()
    audits = [
        Audit.from_predictions(
            None, decisions, sensitive_features=race, pos_label="yes", burden=burden
        )
        for burden in (True, False)
    ]
    for burden, audit in ((True, audits[1]), (False, audits[0])):
        one = GapMonitor("demographic_parity", 0.1, pos_label="yes", burden=burden)
        with pytest.raises(
            ValueError, match=f"burden of an audit .* is {burden}, but is {not burden}"
        ):
            one.update_from(audit)
        assert not hasattr(one, "verdict_")
    one = GapMonitor("demographic_parity", 0.1, pos_label="yes", burden=True)
    one.update_from(audits[0])
    again = GapMonitor.from_json(one.to_json())
    assert again.burden and again.to_json() == one.to_json()
    one.set_params(burden=False)
    with pytest.raises(ValueError, match="must not change after its first batch, .* burden=True"):
        one.update_from(audits[1])


def test_a_monitor_of_numbers_has_no_burden():
    one = GapMonitor("mean_parity", 0.1, burden=True)
    with pytest.raises(ValueError, match="burden says .* of a regression have no such decision"):
        one.update(None, [0.1, 0.2, 0.3, 0.4], sensitive_features=[*"aabb"])
    one = GapMonitor("demographic_parity", 0.1, burden=True)
    with pytest.raises(ValueError, match="pos_label must name"):
        one.update(None, [*"xyxy"], sensitive_features=[*"aabb"])
