"""Commands on files with floors of rates, and with groups that are missing for most samples."""

import json

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.constraints import MaximumRate, MinimumRate
from tests.audit.doors import certify_predictions, report_predictions


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], size=2000)
    score = rng.normal(size=2000) + 0.4 * (sex == "m")
    recorded = np.where(rng.random(2000) < 0.3, sex, None)
    columns = {"sex": sex, "recorded": recorded, "score": score.round(3), "hired": score > 0}
    return pd.DataFrame(columns).assign(good=(score + rng.normal(size=2000) > 0).astype(int))


@pytest.fixture
def path(table, tmp_path):
    path = tmp_path / "decisions.csv"
    table.assign(hired=table["hired"].astype(int)).to_csv(path, index=False)
    return str(path)


@pytest.mark.parametrize(
    "option, constraint, bound, metric",
    [("--minimum", MinimumRate, 0.5, "recall"), ("--maximum", MaximumRate, 0.55, "selection_rate")],
)
def test_floors_and_ceilings_are_certified(path, table, option, constraint, bound, metric, capsys):
    command = ["certify", path, "--prediction", "hired", "--target", "good", "--sensitive", "sex"]
    status = main([*command, option, str(bound), "--metric", metric])
    expected = certify_predictions(
        table["good"],
        table["hired"].astype(int),
        sensitive_features=table["sex"],
        constraint=constraint(metric, bound),
    )
    text = capsys.readouterr().out
    assert str(expected) in text
    assert status == (0 if expected.is_shown else 3 if expected.is_contradicted else 1)


@pytest.mark.parametrize(
    "options, message",
    [
        (["--minimum", "0.5", "--metric", "recal"], "--metric must be one of"),
        (["--minimum", "0.5", "--constraint", "equal_opportunity"], "leave out --constraint"),
        (["--minimum", "0.5", "--tolerance", "0.1"], "not allowed with argument"),
    ],
)
def test_floors_that_are_misspelt_are_errors(path, options, message, capsys):
    command = ["certify", path, "--prediction", "hired", "--target", "good", "--sensitive", "sex"]
    with pytest.raises(SystemExit):
        main([*command, *options])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("bound", [["--minimum", "0.75"], ["--maximum", "0.3"]])
def test_plans_of_floors_need_the_expected_rate(bound, capsys):
    with pytest.raises(SystemExit):
        main(["plan", *bound])
    assert (
        f"--expected must be the rate that the groups are expected to have with {bound[0][2:]}"
        in (capsys.readouterr().err)
    )
    assert main(["plan", *bound, "--expected", "0.8" if bound[0] == "--minimum" else "0.2"]) == 0
    assert "a rate of each group of at" in capsys.readouterr().out


@pytest.mark.slow
def test_missing_groups_are_estimated(path, table, capsys):
    command = ["report", path, "--prediction", "hired", "--target", "good"]
    options = ["--sensitive", "recorded", "--missing", "at_random", "--json", "-"]
    assert main([*command, *options, "--features", "score"]) == 3
    actual = json.loads(capsys.readouterr().out)
    expected = report_predictions(
        table["good"],
        table["hired"].astype(int),
        sensitive_features=table[["recorded"]],
        missing="at_random",
        X=table[["score"]],
    )
    assert actual["assumption"] == expected.assumption
    stored = json.loads(expected.to_json())
    assert actual["gaps"] == stored["gaps"]


def test_features_need_a_model_of_groups(path, capsys):
    command = ["report", path, "--prediction", "hired", "--sensitive", "sex"]
    with pytest.raises(SystemExit):
        main([*command, "--features", "score"])
    assert "--features is about samples whose group is missing" in capsys.readouterr().err
