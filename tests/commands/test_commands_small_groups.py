"""One file with a small group has one answer in all commands."""

import json

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit
from skfair.monitoring import GapMonitor
from tests.audit.doors import search_predictions

GROUPS = np.array(["f"] * 2000 + ["m"] * 2000 + ["x"] * 20)
DECISIONS = np.array([1, 0, 0, 1, 0] * 800 + [1] + [0] * 19)

COMMANDS = {
    "report": [],
    "certify": ["--tolerance", "0.1"],
    "subgroups": [],
    "monitor": ["--time", "month", "--tolerance", "0.1"],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    months = pd.Series(np.arange(len(GROUPS)) % 4 + 1).map("2026-0{}-01".format)
    table = pd.DataFrame({"sex": GROUPS, "decision": DECISIONS, "month": months})
    path = tmp_path_factory.mktemp("small") / "decisions.csv"
    table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_group_of_20_is_left_out_and_named_first_by_every_command(path, capsys, command):
    columns = ["--prediction", "decision", "--sensitive", "sex"]
    assert main([command, str(path), *columns, *COMMANDS[command], "--json", "-"]) == 0
    content = json.loads(capsys.readouterr().out)
    first = content.get("findings", content.get("text", "").split(". "))[0]
    assert "left out as too small: 'x'" in first.replace("sex = x", "x")


@pytest.mark.filterwarnings("ignore:1 rate", "ignore:Nothing can be shown")
def test_all_answers_of_an_audit_leave_the_same_group_out():
    audit = Audit.from_predictions(None, DECISIONS, sensitive_features=GROUPS)
    assert audit.report().gaps["gap"].item() == 0.0
    claim = audit.certify("demographic_parity", 0.1)
    assert (claim.verdict, claim.estimate, claim.left_out) == ("shown", 0.0, ("x",))
    search = audit.subgroups()
    assert not len(search.subgroups) and search.searches["left_out"].item() == ["column 1 = x"]
    plain = search_predictions(None, DECISIONS, sensitive_features=GROUPS)
    assert plain.to_json() == search.to_json()
    monitor = GapMonitor("demographic_parity", 0.1).update_from(audit)
    assert monitor.interval().estimate == 0.0 and monitor.left_out_ == ["x"]
    complete = Audit.from_predictions(None, DECISIONS, sensitive_features=GROUPS, min_group_size=20)
    gaps = [
        complete.report().gaps["gap"].item(),
        complete.certify("demographic_parity", 0.1).estimate,
        GapMonitor("demographic_parity", 0.1, min_group_size=20)
        .update_from(complete)
        .interval()
        .estimate,
    ]
    assert gaps == pytest.approx([0.35] * 3)
    assert complete.subgroups().searches["left_out"].item() == []


@pytest.mark.slow
def test_a_rate_of_few_samples_is_left_out_and_named_by_every_answer(tmp_path, capsys):
    """Of 500 samples of a group three are positive, so that its true positive rate is unknown."""
    rng = np.random.default_rng(0)
    groups = np.repeat(["f", "m", "x"], (2000, 2000, 500))
    y_true, y_pred = rng.integers(0, 2, (2, len(groups)))
    y_true[4000:], y_pred[4000:4003] = 0, 0
    y_true[4000:4003] = 1
    table = pd.DataFrame({"sex": groups, "y": y_true, "p": y_pred, "month": "2026-01-01"})
    table.to_csv(tmp_path / "few.csv", index=False)
    shell = ["--target", "y", "--prediction", "p", "--sensitive", "sex", "--json", "-"]

    def run(command, *options):
        main([command, str(tmp_path / "few.csv"), *shell, *options])
        return json.loads(capsys.readouterr().out)

    def true_positive_rates(result):
        rows = pd.DataFrame(result["frame"])
        return rows[rows["metric"] == "true_positive_rate"].set_index("group")["is_small"]

    report = run("report")
    assert bool(true_positive_rates(report)["x"]) and not true_positive_rates(report)["f"]
    main(
        ["certify", str(tmp_path / "few.csv"), *shell]
        + ["--constraint", "equal_opportunity", "--tolerance", "0.3"]
    )
    claim, error = capsys.readouterr()
    assert "fewer than min_group_size=30 samples" in error and "'x' (positives: 3)" in error
    claim = json.loads(claim)
    assert claim["verdict"] == "shown" and claim["left_out"] == ["x"]
    assert list(claim["sizes"]) == ["f", "m"] and "too small: 'x'" in claim["text"]
    search = run("subgroups", "--metric", "true_positive_rate")
    assert "left out as too small: 'sex = x'" in search["findings"][0]
    audit = Audit.from_predictions(y_true, y_pred, sensitive_features=groups)
    questions = audit.report().open_questions
    assert any("too small for some rates: x (as few as 3)" in text for text in questions)
    assert bool(true_positive_rates({"frame": audit.compare(1 - y_pred).frame})["x"])
    by_month = ["--time", "month", "--tolerance", "0.3", "--constraint"]
    assert run("monitor", *by_month, "equal_opportunity")["left_out"] == ["x"]
    # A group is compared by the rates that count enough of its samples.
    assert run("monitor", *by_month, "equalized_odds")["left_out"] == ["positives: x"]
    with pytest.warns(UserWarning, match="rate"):
        claim = audit.certify("equalized_odds", 0.3)
    assert claim.left_out == ("positives: x",) and claim.sizes["negatives: x"] == 497
