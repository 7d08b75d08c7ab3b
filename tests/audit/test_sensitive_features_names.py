"""Groups and numbers of unknown ones are named with the table that they are about."""

import json

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit, SensitiveFeatures
from skfair.monitoring import GapMonitor


def test_a_small_group_of_a_stratum_is_named_with_it():
    n_rows = {("A", "m"): 300, ("A", "f"): 100, ("B", "m"): 200, ("B", "f"): 25}
    table = pd.DataFrame(
        [key for key, n in n_rows.items() for _ in range(n)], columns=["dept", "sex"]
    )
    decisions = np.arange(len(table)) % 3 == 0
    audit = Audit.from_predictions(
        None, decisions, sensitive_features=table[["sex"]], control_features=table[["dept"]]
    )
    first = audit.report().findings[0]
    assert first.endswith("; left out as too small: 'f' by sex | dept = B.")


def test_a_label_of_two_attributes_is_named_with_its_own():
    sex = np.repeat(["f", "m", "other"], [200, 200, 10])
    race = np.resize(["a", "other"], 410)
    table = pd.DataFrame({"sex": sex, "race": race})
    decisions = np.arange(410) % 3 == 0
    first = Audit.from_predictions(None, decisions, sensitive_features=table).report().findings[0]
    assert "left out as too small: 'other' by sex, 'other × a', 'other × other'." in first
    monitor = GapMonitor("demographic_parity", 0.1)
    monitor.update(None, decisions.astype(int), sensitive_features=sex)
    assert monitor.left_out_ == ["other"]


@pytest.fixture
def unknown():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"sex": rng.choice(["f", "m", None], 900, p=[0.4, 0.4, 0.2])})
    table["race"] = rng.choice(["a", "b", None], 900, p=[0.4, 0.4, 0.2])
    return table.assign(d=rng.integers(2, size=900))


def test_samples_of_unknown_group_are_counted_by_table(unknown):
    known = SensitiveFeatures(unknown[["sex", "race"]], missing="exclude")
    audit = Audit.from_predictions(None, unknown["d"], sensitive_features=known)
    missing = unknown.isna()
    reason = "samples of unknown group are left out by"
    n_any = int(missing.any(axis=1).sum())
    assert audit.reading.left_out == {
        f"{reason} sex": int(missing["sex"].sum()),
        f"{reason} race": int(missing["race"].sum()),
        f"{reason} sex × race": n_any,
    }
    report = audit.report()
    assert f"{n_any} have no recorded group by sex × race" in report.findings[0]
    sizes = report.frame[report.frame["metric"] == "selection_rate"].groupby("attribute")["n"].sum()
    assert sizes["sex"] == 900 - missing["sex"].sum()


def test_commands_call_coverage_of_intervals_coverage(tmp_path, capsys):
    rng = np.random.default_rng(1)
    y = rng.normal(size=600)
    table = pd.DataFrame({"low": -1.2, "high": 1.2, "y": y, "sex": rng.choice(["f", "m"], 600)})
    path = tmp_path / "intervals.csv"
    table.to_csv(path, index=False)
    columns = [str(path), "--interval", "low", "high", "--target", "y", "--sensitive", "sex"]
    main(["report", *columns, "--json", "-"])
    report = json.loads(capsys.readouterr().out)
    text = " ".join(report["findings"])
    covered = table["y"].abs() <= 1.2
    assert f"(coverage {100 * covered.mean():.3g} %)" in text
    assert "selection rate" not in text.lower() and "four fifths" not in text
    main(["certify", *columns, "--tolerance", "0.3"])
    assert "differ by at most 30 points" in capsys.readouterr().out
    main(["certify", *columns, "--minimum", "0.5"])
    assert "has a coverage of at least 50 %" in capsys.readouterr().out
    main(["subgroups", *columns])
    assert "in the coverage" in capsys.readouterr().out


def test_groups_show_what_happens_to_missing_ones():
    known = SensitiveFeatures(["f", "x"], unknown=["x"], missing="exclude")
    assert repr(known) == "<SensitiveFeatures of labels: missing='exclude', unknown=['x']>"
