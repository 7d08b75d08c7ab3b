"""Names of the data are printed as they are written, whatever options and arguments are called."""

import html
import json

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main

GROUPS = ["Gen X (1965-80)", "min_group_size", "pos_label=1", "y_true & X"]
COMMANDS = {
    "report": "report t.csv",
    "certify": "certify t.csv --tolerance .1",
    "subgroups": "subgroups t.csv",
    "compare": "compare t.csv t.csv",
    "monitor": "monitor t.csv --time sample_weight",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_names_of_groups_are_not_rewritten(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rates = dict(zip(GROUPS, [0.1, 0.3, 0.5, 0.9], strict=True))
    table = pd.DataFrame({"X y_pred": rng.choice(GROUPS, 800), "sample_weight": "2025-01-01"})
    is_selected = rng.random(800) < table["X y_pred"].map(rates)
    table.assign(ok=is_selected.map({True: "yes", False: "no"})).to_csv("t.csv", index=False)
    options = [*COMMANDS[command].split(), "--prediction", "ok", "--positive", "yes"]
    main([*options, "--sensitive", "X y_pred", "--out", "page.html", "--json", "r.json"])
    page = html.unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
    results = json.dumps(json.loads((tmp_path / "r.json").read_text()), ensure_ascii=False)
    written = capsys.readouterr().out
    for name in (*GROUPS, "X y_pred"):
        assert name in page and name in results
    assert "--features (" not in written + page + results
    # The extremes are named in the sentences.
    assert (GROUPS[0] in written and GROUPS[-1] in written) or command in ("certify", "compare")
