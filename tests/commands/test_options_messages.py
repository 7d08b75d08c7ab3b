"""Messages of commands name arguments, which are options, and leave names in the data alone."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main

N = 600
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"sex": RNG.choice(["f", "m"], N), "p": RNG.random(N)})
TABLE["q"] = 1.0 - TABLE["p"]
TABLE["d"] = (RNG.random(N) < np.where(TABLE["sex"] == "f", 0.3, 0.6)).astype(int)
TABLE["y"] = RNG.integers(0, 2, N)


@pytest.fixture
def error(tmp_path, monkeypatch, capsys):
    """A function that returns the message of a command that fails."""
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("d.csv", index=False)
    Path("salt").write_text("abc", encoding="utf-8")
    Path("blank").write_text(" \n", encoding="utf-8")
    TABLE.assign(sex=TABLE["sex"].where(TABLE["p"] < 0.5)).to_csv("part.csv", index=False)

    def run(command):
        with pytest.raises(SystemExit) as stop:
            main(command.split())
        assert stop.value.code == 2
        return capsys.readouterr().err

    return run


D = "d.csv --prediction d --sensitive sex"
BY_PROBABILITY = "d.csv --prediction d --group-probability"


@pytest.mark.parametrize(
    "command, sentence",
    [
        (f"report {BY_PROBABILITY} p q", "pass missing='sufficient' or missing='independent'."),
        (f"report {BY_PROBABILITY} p", "--group-probability must have a column for each of two"),
        (
            f"report {BY_PROBABILITY} p q --missing sufficient --weight p",
            'Leave out metrics, sample_weight and top(k), or pass missing="exclude".',
        ),
        (f"report {D} --salt-file salt", "--salt-file must hold a secret text of 16 characters or"),
        (f"certify {D} --tolerance .1 --salt-file blank", "--salt-file must hold a secret text of"),
        (f"certify {D} --tolerance .1 --salt-file no", "--salt-file must name a file of text that"),
        (f"report {D} --count p", "Sampling weights are sample_weight, of a row for each sample."),
        (
            f"certify {D} --tolerance .1 --constraint equalized_odds",
            "--target must hold the outcomes, on which EqualizedOdds",
        ),
        (
            f"certify {D} --minimum .1 --metric recall",
            "on which MinimumRate('true_positive_rate') depends",
        ),
        (f"certify {D} --minimum .1 --metric nothing", "--metric must be one of 'base_rate'"),
        (f"certify {D} --tolerance .1 --metric recall", "--metric names the rate of --minimum or"),
        (f"certify {D} --tolerance 2", "which is 1 for DemographicParity. Rates are fractions"),
        (f"certify {D} --tolerance .1 --ledger no/x", "no/x must be in a folder that exists, but"),
        (
            f"subgroups {D} --metric true_positive_rate",
            "or leave metrics out to compare selection rates",
        ),
        (f"subgroups {D} p --cluster y", "--cluster must be left out for a search of subgroups"),
        ("compare part.csv part.csv --prediction d --sensitive sex --missing at_random", "Changes"),
    ],
)
def test_errors_name_arguments_and_options(error, command, sentence):
    assert sentence in error(command)


LABELS = [
    "Gen X (1965-80)",
    "O'Neil X (north)",
    "line sample_weight 3",
    "missing=a",
    "EqualizedOdds",
]


@pytest.mark.parametrize("label", LABELS)
def test_labels_are_printed_as_they_are(error, capsys, label):
    table = TABLE.assign(sex=TABLE["sex"].replace("f", label))
    table.to_csv("labels.csv", index=False)
    command = "report labels.csv --prediction d --sensitive sex --out x.md".split()
    # A finding, a warning and an error.
    main([*command, "--metric", "precision", "--target", "y"])
    assert repr(label) in capsys.readouterr().out
    main([*command, "--unknown", label + "!"])
    assert f"unknown labels {label + '!'!r} are named" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*command, "--positive", label])
    assert f"got {label!r}." in capsys.readouterr().err


def test_estimated_rates_are_of_known_groups(error, capsys):
    command = "report part.csv --prediction d --sensitive sex --features q --missing at_random"
    main([*command.split(), "--out", "x.md"])
    known = TABLE.loc[TABLE["p"] < 0.5, "sex"].value_counts()
    sizes = f"of {known['m']} and {known['f']} samples of known group, estimated for all"
    assert sizes in capsys.readouterr().out
    main([*f"report {BY_PROBABILITY} p q --missing sufficient --out x.md".split()])
    assert "samples by their probabilities), a gap of" in capsys.readouterr().out


def test_all_samples_are_no_group_that_is_too_small(error, capsys):
    main([*f"report {D} --min-size 9999 --out x.md".split()])
    assert "left out as too small: 'f', 'm'." in capsys.readouterr().out


def test_what_a_summary_lacks_is_named_by_options(error, capsys):
    main([*f"report {D} --summary ll144 --out x.md".split()])
    out = capsys.readouterr().out
    assert "pass these two attributes as sensitive_features" in out
    assert "Source of the data: state it in provenance, under the name 'source'." in out


def test_samples_of_unknown_group_are_part_of_the_rest_of_a_search(error, capsys):
    table = TABLE.assign(sex=TABLE["sex"].where(TABLE["p"] < 0.7), race=np.where(TABLE.y, "a", "b"))
    table.loc[table["q"] < 0.1, "race"] = None
    table.to_csv("two.csv", index=False)
    main([*"subgroups two.csv --prediction d --sensitive sex race".split()])
    out = capsys.readouterr().out
    for name in ("sex", "race"):
        n = table[name].isna().sum()
        assert f"{n} samples of unknown {name} meet no condition on it" in out
    assert "left out" not in out
    sizes = table["sex"].value_counts()
    assert any(f"(of {n} and {N - n} samples)" in out for n in sizes)


def test_a_verification_repeats_the_filed_options(error, capsys):
    main([*f"certify {D} --tolerance .9 --ledger led --json c.json".split()])
    assert main(["verify", "c.json", "d.csv"]) == 0
    assert "which are the file of the claim" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command, sentence",
    [
        ("verify no.json d.csv", "error: no.json: No such file or directory."),
        ("verify d.csv d.csv", "d.csv must be the JSON that Claim.to_json returned, but it is not"),
        (f"certify {D} --tolerance .1 --ledger d.csv", "d.csv must be the JSON that Ledger"),
        (
            "report words.csv --prediction rank --target y --sensitive sex",
            "If the numbers are scores, pass --threshold to a command.",
        ),
    ],
)
def test_messages_name_files_and_what_to_do_with_scores(error, command, sentence):
    words = TABLE.assign(y=np.where(TABLE["y"] == 1, "yes", "no"), rank=np.arange(N) % 10)
    words.to_csv("words.csv", index=False)
    assert sentence in error(command)
