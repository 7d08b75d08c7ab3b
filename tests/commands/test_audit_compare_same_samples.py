"""Two files of the same samples are matched by --id, and all that is shown has a sentence."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit

COLUMNS = ["--prediction", "d", "--sensitive", "sex"]
RNG = np.random.default_rng(0)
N = 400
TABLE = pd.DataFrame(
    {"id": [f"p{i}" for i in range(N)], "sex": RNG.choice([*"fm"], N), "y": RNG.integers(2, size=N)}
)
OLD = (RNG.random(N) < 0.4).astype(int)
NEW = np.where(RNG.random(N) < 0.8, OLD, RNG.integers(2, size=N))


@pytest.fixture
def compare(tmp_path, monkeypatch, capsys):
    """A function that compares two tables; it returns the status and the results."""
    monkeypatch.chdir(tmp_path)

    def run(before, after, *options):
        before.to_csv("before.csv", index=False)
        after.to_csv("after.csv", index=False)
        status = main(["compare", "before.csv", "after.csv", *COLUMNS, *options, "--json", "-"])
        return status, json.loads(capsys.readouterr().out)

    return run


def test_the_same_ids_are_compared_as_two_models_on_the_same_samples(compare):
    before = TABLE.assign(d=OLD)
    after = TABLE.assign(d=NEW)
    _, results = compare(before, after.sample(frac=1, random_state=0), "--id", "id")
    models = Audit.from_predictions(None, OLD, sensitive_features=TABLE["sex"]).compare(NEW)
    expected = json.loads(models.to_json())
    for table in ("frame", "gaps", "moves"):
        pd.testing.assert_frame_equal(pd.DataFrame(results[table]), pd.DataFrame(expected[table]))
    assert results["findings"] == expected["findings"] and results["n_shared"] == [N, 0, 0]


def test_samples_of_one_file_alone_are_counted_as_other_samples(compare):
    before = TABLE.assign(d=OLD)[: N - 50]
    after = TABLE.assign(d=NEW)[100:]
    _, apart = compare(before, after)
    _, results = compare(before, after, "--id", "id")
    moved = pd.DataFrame(results["moves"])[["n", "n_gained", "n_lost"]].sum().tolist()
    both = slice(100, N - 50)
    gained = (NEW > OLD)[both].sum()
    lost = (OLD > NEW)[both].sum()
    assert moved == [N - 150, gained, lost] and apart["moves"] is None
    assert results["n_shared"] == [N - 150, 100, 50]
    assert results["findings"][0].endswith(
        "on 250 samples of both by their ids, 100 of before alone and 50 of after alone."
    )
    apart, together = (pd.DataFrame(one["frame"]) for one in (apart, results))
    assert apart["change"].tolist() == together["change"].tolist()
    width, shorter = (one["change_high"] - one["change_low"] for one in (apart, together))
    assert (shorter < width).all()


@pytest.mark.slow
def test_an_id_is_the_same_however_it_is_written(compare):
    before = TABLE.assign(d=OLD, id=np.arange(N))
    after = TABLE.assign(d=NEW, id=np.arange(N))
    _, expected = compare(before, after, "--id", "id")
    assert expected["n_shared"] == [N, 0, 0]
    for write in ("{}.0", "{} ", " {}.00"):
        _, results = compare(before, after.assign(id=[*map(write.format, range(N))]), "--id", "id")
        assert results["n_shared"] == [N, 0, 0] and results["gaps"] == expected["gaps"]
    # Parquet stores numbers: with a missing one they have decimals.
    written = [[3.0, np.nan, 2.0], [3, None, 2], ["03", " 2", "x"]]
    audit = Audit.from_predictions(None, [1, 0, 1] * 9, sensitive_features=["a"] * 27)
    for ids, n_shared in zip(written, (26, 26, 25), strict=True):
        # 1 to 27 before, and after 4 to 27 and those as they are written.
        with warnings.catch_warnings(action="ignore"):  # of the zero of 03
            changes = audit.compare(audit, ids=(np.arange(1, 28), [*ids, *range(4, 28)]))
        assert changes.n_shared == [n_shared, 27 - n_shared, 27 - n_shared]


def test_ids_of_other_samples_are_an_error_and_repeated_ids_match_nothing(compare, capsys):
    before = TABLE.assign(d=OLD)
    after = TABLE.assign(d=NEW)
    with pytest.raises(SystemExit):
        compare(before, after.assign(id=[f"q{i}" for i in range(N)]), "--id", "id")
    error = capsys.readouterr().err
    assert "--id must name samples of both audits, but none, such as 'p0' and 'q0'," in error
    assert "occurs once in both. Different samples are compared without ids." in error
    twice = after.assign(id=after["id"].where(after.index > 1, "p0"))
    _, results = compare(before, twice, "--id", "id", "--repeats", "keep")
    assert results["n_shared"] == [N - 2, 2, 2]


def test_ids_that_lost_their_first_zeros_have_a_hint(compare, capsys):
    before = TABLE.assign(d=OLD, id=[f"{i:04}" for i in range(N)])
    after = TABLE.assign(d=NEW, id=np.arange(N))
    with pytest.raises(SystemExit):
        compare(before, after, "--id", "id")
    hint = f"{N:,} more ids would be in both without the zeros that they begin with"
    assert hint in capsys.readouterr().err
    before["id"] = np.arange(N).astype(str)
    before.loc[:9, "id"] = [f"00{i}" for i in range(10)]
    before.to_csv("before.csv", index=False)
    main(["compare", "before.csv", "after.csv", *COLUMNS, "--id", "id"])
    printed = capsys.readouterr()
    assert "warning: 10 more ids would be in both without the zeros" in printed.err
    assert f"{N - 10:,} samples of both by their ids" in printed.out


def test_ids_are_not_for_counts(compare, capsys):
    with pytest.raises(SystemExit):
        compare(TABLE.assign(d=OLD), TABLE.assign(d=NEW, n=1), "--id", "id", "--count", "n")
    assert "leave out --id" in capsys.readouterr().err


def test_every_change_that_is_shown_has_a_sentence(compare):
    # Selection rates stay, but women are selected wrongly afterwards.
    before = TABLE.assign(d=TABLE["y"])
    after = TABLE.assign(d=np.where(TABLE["sex"] == "f", 1 - TABLE["y"], TABLE["y"]))
    status, results = compare(before, after, "--target", "y")
    assert status == 3
    shown = [one for one in results["findings"] if "it is larger in the population" in one]
    assert len(shown) == sum(pd.DataFrame(results["gaps"])["is_significant"]) > 0
