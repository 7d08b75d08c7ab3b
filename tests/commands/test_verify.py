"""Forged claims, reports, answers and data: each is found, or said not to be checked."""

import copy
import json
from functools import partial
from operator import setitem
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main

N = 3000
FILES = {"claim": "claim.json", "report": "report.json", "answer": "answer.json"}
COLUMNS = ["--target", "repaid", "--sensitive", "sex", "--unknown", "Unknown", "--id", "id"]


def make_table():
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {
            "id": np.arange(1, N + 1),
            "sex": rng.choice(["F", "M"], N, p=[0.45, 0.55]),
            "region": rng.choice(["N", "S"], N),
            "repaid": rng.choice([0, 1], N, p=[0.25, 0.75]),
        }
    )
    table.loc[rng.choice(N, 20, replace=False), "sex"] = "Unknown"
    rate = np.where(table["repaid"] == 1, 0.72, 0.4) - 0.02 * (table["sex"] == "F")
    table["granted"] = (rng.random(N) < rate).astype(int)
    more = (table["sex"] == "F") & (table["repaid"] == 1) & (rng.random(N) < 0.3)
    table["other"] = table["granted"].where(~more, 1)
    return table


def run(capsys, *words):
    """The status of a command, and what it writes."""
    try:
        status = main([*map(str, words)])
    except SystemExit as end:
        status = end.code
    captured = capsys.readouterr()
    return status, captured.out + captured.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the data, and the JSON of a claim, a report and an answer."""
    path = tmp_path_factory.mktemp("filed")
    data = path / "credit.csv"
    make_table().to_csv(data, index=False)
    of_decision = [str(data), "--prediction", "granted", *COLUMNS]
    ledger = ["--ledger", str(path / "ledger.json")]
    certify = ["certify", *of_decision, "--constraint", "equal_opportunity", *ledger]
    main([*certify, "--tolerance", "0.02"])
    main([*certify, "--tolerance", "0.1", "--json", str(path / "claim.json")])
    population = path / "population.csv"
    population.write_text("attribute,group,share\nsex,F,0.5\nsex,M,0.5\n", encoding="utf-8")
    options = ["--subgroups", "--population", str(population), "--tolerance", "0.1"]
    options += ["--provenance", "source=the bank", "--json", str(path / "report.json")]
    main(["report", *of_decision, *options])
    options = ["--prediction", "other", "--margin", "0.02", "--json", str(path / "answer.json")]
    main(["alternatives", *of_decision, *options, *ledger])
    return path


def change(*places, to):
    """A function that puts another value, or a function of it, at a place of a content."""

    def forge(content):
        *outer, last = places
        for name in outer:
            content = content[name]
        content[last] = to(content[last]) if callable(to) else to

    return forge


def find_row(content, table, **keys):
    """Number of the row of a table with some entries."""
    columns = content[table]
    rows = zip(*(columns[name] for name in keys), strict=True)
    return [*rows].index(tuple(keys.values()))


def change_row(table, column, to, **keys):
    """A function that changes an entry of a table."""

    def forge(content):
        row = find_row(content, table, **keys)
        values = content[table][column]
        values[row] = to(values[row]) if callable(to) else to

    return forge


def swap(content, field):
    first, second = content[field]
    values = content[field]
    values[first], values[second] = values[second], values[first]


def change_facts(content, **facts):
    """Change the facts of a report, and of the search in it."""
    content["provenance"].update(facts)
    content["subgroups"]["source"].update(facts)


RATE = {"attribute": "sex", "group": "F", "metric": "selection_rate"}
GAP = {"attribute": "sex", "metric": "selection_rate"}
CANDIDATE = {"candidate": "other"}
change_rate = partial(change_row, "frame", **RATE)
change_gap = partial(change_row, "gaps", **GAP)
change_candidate = partial(change_row, "frame", **CANDIDATE)

CLAIMS = {
    "verdict": change("verdict", to="contradicted"),
    "tolerance": change("threshold", to=0.08),
    "gap": change("estimate", to=0.001),
    "upper limit": change("high", to=lambda high: high - 0.01),
    "lower limit": change("low", to=0.005),
    "count": change("sizes", "F", to=lambda n: n + 100),
    "sizes swapped": lambda content: swap(content, "sizes"),
    "level": change("confidence_level", to=0.9),
    "smallest group": change("constraint", "params", "min_group_size", to=5),
    "first attempt": change("attempt", to=1),
    "no attempt": change("attempt", to=None),
    "assumption": change("assumption", to="if groups are missing at random"),
    "text": change("text", to="Shown: no two groups differ by more than 1 percentage point."),
    "command": change("source", "command", to=lambda text: text.replace("repaid", "other")),
    "command of no options": change("source", "command", to="--out x.html; rm credit.csv"),
    "another fact": change("source", "auditor", to="Independent Audit Ltd"),
    "a group removed": lambda content: content["sizes"].pop("F"),
    "exit status": change("exit_status", to=3),
    "no samples left out": change("n_missing", to={}),
    "a group left out": change("left_out", to=["X"]),
    "labels read": lambda content: setitem(content["reading"]["columns"][0]["labels"], "1", 1),
    "rows read": change("reading", "n_rows", to=30000),
    "rows repeated": change("reading", "n_repeated", to=7),
    "an unknown field": change("note", to="approved by the regulator"),
    "metric": change("metric", to="selection rate"),
    "unit": change("unit", to="points"),
    "counted": change("counted", to="samples"),
    "required size": change("required_sample_size", to=10),
    "strictest bound": change("shown_threshold", to=0.01),
    "version of limits": change("limits_version", to=3),
    "exact": change("is_exact", to=lambda is_exact: not is_exact),
    "positive label": change("source", "positive_label", to="0"),
    "attributes": change("attributes", to=["region"]),
    "burden": change("reading", "burden", to=True),
    "format": change("format", to="skfair.Alternatives"),
    "version": change("version", to=5),
    "order": change("order", to="This is the first of 3 models."),
    "class of the constraint": change("constraint", "name", to="DemographicParity"),
    "digest removed": lambda content: content["source"].pop("sha256"),
    "date": change("source", "date", to="2025-01-01"),
    "versions": change("source", "versions", to="skfair 9.9"),
    "file": lambda content: content["source"].update(file="other.csv", sha256="0" * 64),
}
REPORTS = {
    "a rate": change_rate("estimate", 0.61),
    "a rate in the last digits": change_rate("estimate", lambda value: value + 1e-6),
    "a rate and its limits": lambda content: [
        change_rate(name, lambda value: value + 0.05)(content) for name in ("estimate", "low")
    ],
    "samples": change_rate("n", lambda n: n + 40),
    "upper limit": change_rate("high", 0.9),
    "difference": change_rate("difference", 0.0),
    "ratio": change_rate("impact_ratio", 1.0),
    "a small group": change_rate("is_small", True),
    "reference": change_rate("is_reference", lambda is_reference: not is_reference),
    "name of a group": change_rate("group", "Female"),
    "gap": change_gap("gap", 0.0),
    "limit of a gap": change_gap("gap_low", 0.0),
    "significance": change_gap("is_significant", lambda is_significant: not is_significant),
    "smallest rate": change_gap("lowest", "M"),
    "a row removed": lambda content: [values.pop(0) for values in content["frame"].values()],
    "number of samples": change("n_samples", to=30000),
    "title": change("title", to="All groups are treated equally"),
    "findings": change("findings", 1, to="No gap was found."),
    "level": change("confidence_level", to=0.99),
    "status": change("status", to=lambda status: 3 - status),
    "labels read": lambda content: setitem(content["reading"]["columns"][0]["labels"], "1", 1),
    "share of a population": change("shares", "population", 0, to=0.45),
    "share": change("shares", "estimate", 0, to=0.5),
    "verdict of shares": change("shares", "verdict", 0, to="contradicted"),
    "number of searched subgroups": change("subgroups", "searches", "n_searched", 0, to=99),
    "date of the search": change("subgroups", "source", "date", to="2024-01-01"),
    "digest of the search": change("subgroups", "source", "sha256", to="0" * 64),
    "samples of unknown group": change("n_missing", to={}),
    "an unknown field": change("note", to="approved by the regulator"),
    "a missing field": lambda content: content.pop("gaps"),
    "another fact": change("provenance", "auditor", to="Independent Audit Ltd"),
    "positive label": change("provenance", "positive_label", to="0"),
    "command": change("provenance", "command", to=lambda text: text.replace("sex", "region")),
    "a function": change("provenance", "command", to=lambda text: text + " --metric os:getcwd"),
    "version": change("version", to=5),
    "shares of another form": change("shares", to=[]),
    "date only of the page": change("provenance", "date", to="2025-01-01"),
    "date": partial(change_facts, date="2025-01-01"),
    "versions": partial(change_facts, versions="skfair 9.9"),
    "file": partial(change_facts, file="other.csv", sha256="0" * 64),
    "a stated fact": lambda content: change_facts(
        content,
        source="x",
        command=content["provenance"]["command"].replace("the bank", "x"),
    ),
}
ANSWERS = {
    "verdict": change_candidate("verdict", lambda one: "open" if one == "shown" else "shown"),
    "gap": change_candidate("gap", 0.0),
    "gap in the last digits": change_candidate("gap", lambda gap: gap + 1e-6),
    "reduction": change_candidate("reduction", lambda value: value + 0.01),
    "lower limit of the reduction": change_candidate("reduction_low", 0.01),
    "upper limit of the reduction": change_candidate("reduction_high", 0.01),
    "performance": change_candidate("performance", 0.99),
    "loss": change_candidate("loss", -0.01),
    "limit of the loss": change_candidate("loss_high", 0.0),
    "decisions that became positive": change_candidate("n_gained", 0),
    "decisions that became negative": change_candidate("n_lost", 12),
    "level of a limit": change_candidate("level", 0.5),
    "factor of samples": change_candidate("times_more", 2.0),
    "name of a candidate": change_candidate("candidate", "fair"),
    "a candidate removed": lambda content: [one.pop(0) for one in content["frame"].values()],
    "gap in use": change("baseline", "gap", to=0.2),
    "performance in use": change("baseline", "performance", to=0.5),
    "margin": change("margin", to=0.05),
    "smallest reduction": change("min_reduction", to=0.01),
    "level": change("confidence_level", to=0.5),
    "no attempt": change("attempt", to=None),
    "another attempt": change("attempt", to=2),
    "order": change("order", to="given"),
    "samples": change("n_samples", to=30000),
    "metric": change("metric", to="true positive rate"),
    "name of the performance": change("performance", to="balanced accuracy"),
    "constraint": change("constraint", "name", to="EqualOpportunity"),
    "findings": change("findings", 0, to="1 of 1 candidate is shown."),
    "exit status": change("exit_status", to=lambda status: 3 - status),
    "rows read": change("reading", "n_rows", to=30000),
    "an unknown field": change("note", to="approved by the regulator"),
    "a missing field": lambda content: content.pop("margin"),
    "command": change("source", "command", to=lambda text: text.replace("0.02", "0.05")),
    "a function": change("source", "command", to=lambda text: text + " --performance os:getcwd"),
    "version": change("version", to=5),
    "date": change("source", "date", to="2025-01-01"),
    "versions": change("source", "versions", to="skfair 9.9"),
    "file": lambda content: content["source"].update(file="other.csv", sha256="0" * 64),
}
SAID = {
    "date": "Not checked, since the data do not tell them: date, versions",
    "versions": "Not checked, since the data do not tell them: date, versions",
    "a stated fact": "Not checked, since the data do not tell them: date, versions, source",
    "file": "which are not the file of the",
}
"""Forgeries that no data contradict, and what the line of the verdict says of them."""

FORGERIES = [
    (noun, name, forge)
    for noun, forgeries in {"claim": CLAIMS, "report": REPORTS, "answer": ANSWERS}.items()
    for name, forge in forgeries.items()
]


@pytest.mark.parametrize("noun", FILES)
def test_an_honest_result_is_the_same(folder, capsys, noun):
    status, text = run(capsys, "verify", folder / FILES[noun], folder / "credit.csv")
    assert status == 0, text
    assert f"The same {noun}: it agrees with these data, which are the file of the {noun}" in text


@pytest.mark.parametrize(
    ("noun", "name", "forge"), FORGERIES, ids=[f"{noun}-{name}" for noun, name, _ in FORGERIES]
)
def test_a_forgery_is_found_or_said_not_to_be_checked(folder, capsys, noun, name, forge):
    content = json.loads((folder / FILES[noun]).read_text(encoding="utf-8"))
    forged = copy.deepcopy(content)
    forge(forged)
    assert forged != content
    path = folder / "forged.json"
    path.write_text(json.dumps(forged), encoding="utf-8")
    status, text = run(capsys, "verify", path, folder / "credit.csv")
    if name in SAID:
        assert status == 0
        assert SAID[name] in text
    else:
        assert status in (2, 3), text


def first(table, sex, repaid, granted):
    """Number of the first row of some entries."""
    rows = (table["sex"] == sex) & (table["repaid"] == repaid) & (table["granted"] == granted)
    return table.index[rows][0]


def swap_two(table):
    table.loc[first(table, "F", 1, 0), "granted"] = 1
    table.loc[first(table, "M", 1, 1), "granted"] = 0
    return table


def drop_row(table, sex, repaid):
    return table.drop(index=first(table, sex, repaid, 0))


def exchange_samples(table):
    names = ["sex", "repaid", "granted", "other"]
    table[names] = table[names].sample(frac=1, random_state=2).to_numpy()
    return table


def set_entry(table, column, value):
    table.loc[first(table, "F", 1, 0), column] = value
    return table


DATA = {
    "a decision": lambda table: set_entry(table, "granted", 1),
    "two decisions": swap_two,
    "an outcome": lambda table: set_entry(table, "repaid", 0),
    "a row dropped": lambda table: drop_row(table, "F", 1),
    "a row of unknown group dropped": lambda table: drop_row(table, "Unknown", 1),
    "a row of the other outcome dropped": lambda table: drop_row(table, "F", 0),
    "a row twice": lambda table: pd.concat([table, table.iloc[[3]]]),
    "a row twice by another id": lambda table: pd.concat([table, table.iloc[[3]].assign(id=9999)]),
    "another name of a column": lambda table: table.rename(columns={"granted": "ok"}),
    "another name of a group": lambda table: table.replace({"sex": {"F": "female"}}),
    "other words": lambda table: table.assign(granted=table["granted"].map({1: "yes", 0: "no"})),
    "groups exchanged": lambda table: table.replace({"sex": {"F": "M", "M": "F"}}),
}
EQUAL_COUNTS = {
    "another order": lambda table: table.sample(frac=1, random_state=1),
    "a further column": lambda table: table.assign(note="x"),
    "other samples of equal counts": exchange_samples,
    "other ids": lambda table: table.assign(id=table["id"] + 100_000),
    "a column that is not read": lambda table: table.assign(region="N"),
}


@pytest.mark.parametrize("noun", FILES)
@pytest.mark.parametrize("name", {**DATA, **EQUAL_COUNTS})
def test_other_data_are_found_or_said_to_be_another_file(folder, capsys, noun, name):
    edit = {**DATA, **EQUAL_COUNTS}[name]
    edit(make_table()).to_csv(folder / "edited.csv", index=False)
    status, text = run(capsys, "verify", folder / FILES[noun], folder / "edited.csv")
    if name in DATA:
        assert status in (2, 3), text
        assert status == 2 or f"These data are not the file of the {noun}." in text
    else:
        assert status == 0, text
        verdict = next(line for line in text.splitlines() if line.startswith("The same"))
        assert f"which are not the file of the {noun} (another SHA-256 digest)" in verdict


def test_the_entry_that_differs_is_named_with_both_values(folder, capsys):
    content = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    row = find_row(content, "frame", **RATE)
    rate = content["frame"]["estimate"][row]
    content["frame"]["estimate"][row] = 0.5
    path = folder / "forged.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    text = run(capsys, "verify", path, folder / "credit.csv")[1]
    table = make_table()
    expected = table.loc[table["sex"] == "F", "granted"].mean()
    assert rate == pytest.approx(expected)
    assert f"The entry frame.estimate (sex, F, selection_rate) is filed as 0.5, now {rate}." in text


def test_a_file_by_another_name_is_the_file(folder, capsys):
    path = folder / "copy.csv"
    path.write_bytes((folder / "credit.csv").read_bytes())
    text = run(capsys, "verify", folder / "claim.json", path)[1]
    assert "which are the file of the claim, there named credit.csv" in text


def test_results_of_published_counts_state_no_digest(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    words = ["credit.csv", "--prediction", "granted", *COLUMNS[:-2], "--min-published", "10"]
    run(capsys, "report", *words, "--json", "published.json")
    status, text = run(capsys, "verify", "published.json", "credit.csv")
    assert status == 0
    assert "it agrees with these data, and states no digest of its file" in text


def test_a_salted_report_is_confirmed_with_the_salt_only(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    Path("salt.txt").write_text("0123456789abcdef", encoding="utf-8")
    Path("wrong.txt").write_text("fedcba9876543210", encoding="utf-8")
    words = ["credit.csv", "--prediction", "granted", *COLUMNS, "--salt-file", "salt.txt"]
    run(capsys, "report", *words, "--json", "salted.json")
    status, text = run(capsys, "verify", "salted.json", "credit.csv")
    assert status == 0
    assert "Its salted digest of the samples is not checked; pass --salt-file." in text
    for name, expected in (("salt.txt", 0), ("wrong.txt", 3)):
        words = ["verify", "salted.json", "credit.csv", "--salt-file", name]
        assert run(capsys, *words)[0] == expected


def test_a_result_without_options_is_refused_with_what_verifies_it(folder, capsys):
    content = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    del content["provenance"]["command"]
    path = folder / "forged.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    status, text = run(capsys, "verify", path, folder / "credit.csv")
    assert status == 2
    assert "it does not state the options" in text
