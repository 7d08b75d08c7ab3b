"""Attributes of many numbers in reports: the bins of a search of subgroups."""

import json

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit, FairnessReport, SensitiveFeatures
from tests.audit.doors import report_predictions, search_predictions

RNG = np.random.default_rng(0)
N = 2000
TABLE = pd.DataFrame({"sex": RNG.choice(["f", "m"], N), "age": RNG.integers(18, 80, N)})
DECISIONS = (RNG.random(N) < 0.2 + 0.005 * TABLE["age"]).astype(int)


def rates(report, attribute="age"):
    frame = report.frame[report.frame["attribute"] == attribute]
    return frame.set_index("group")[["n", "estimate"]]


def test_bins_of_equally_many_numbers_by_hand():
    """Of 1 to 40 the quarters end at 10, 20 and 30."""
    numbers = np.arange(1, 41).repeat(3)
    report = report_predictions(
        None, numbers % 10 == 0, sensitive_features=pd.DataFrame({"age": numbers})
    )
    assert rates(report)["n"].to_dict() == {
        "10 < age <= 20": 30,
        "20 < age <= 30": 30,
        "age <= 10": 30,
        "age > 30": 30,
    }
    assert rates(report)["estimate"].tolist() == [0.1] * 4


@pytest.mark.filterwarnings("error")
def test_bins_are_those_of_a_search():
    columns = {"sensitive_features": TABLE}
    report = report_predictions(None, DECISIONS, **columns)
    flagged = search_predictions(None, DECISIONS, **columns, max_conditions=1).flagged
    by_text = flagged.set_index("subgroup")[["n", "estimate"]]
    common = by_text.index.intersection(rates(report).index)
    assert len(common) >= 2 and rates(report)["n"].sum() == N
    assert rates(report).loc[common].to_numpy() == pytest.approx(by_text.loc[common].to_numpy())
    # Intersections are of bins, too.
    assert rates(report, "sex × age").index.str.contains(" × ").sum() == 8
    inside = (TABLE["sex"] == "f") & (TABLE["age"] > 64)
    ends = [text for text in rates(report, "sex × age").index if text.startswith("f × age >")]
    assert rates(report, "sex × age").loc[ends[0], "n"] <= 1.2 * inside.sum()


def test_few_numbers_and_texts_are_groups():
    coarse = TABLE.assign(age=TABLE["age"] // 10)
    report = report_predictions(None, DECISIONS, sensitive_features=coarse)
    assert set(rates(report).index) == {"1", "2", "3", "4", "5", "6", "7"}
    texts = TABLE.assign(age=TABLE["age"].astype(str))
    report = report_predictions(None, DECISIONS, sensitive_features=texts)
    assert len(rates(report)) == 62


def test_missing_numbers_are_in_no_bin():
    ages = TABLE["age"].where(np.arange(N) % 4 > 0, -1)
    known = SensitiveFeatures(ages.to_frame(), unknown=[-1])
    report = Audit.from_predictions(None, DECISIONS, sensitive_features=known).report()
    assert report.n_missing == {"age": N // 4} and rates(report)["n"].sum() == N - N // 4
    complete = report_predictions(
        None,
        DECISIONS[np.arange(N) % 4 > 0],
        sensitive_features=TABLE[["age"]][np.arange(N) % 4 > 0],
    )
    pd.testing.assert_frame_equal(rates(report), rates(complete))


def test_counts_have_the_bins_of_their_samples():
    table = TABLE.assign(d=DECISIONS).value_counts().rename("n").reset_index()
    audit = Audit.from_counts(table, counts="n", sensitive_features=["sex", "age"], y_pred="d")
    samples = report_predictions(None, DECISIONS, sensitive_features=TABLE)
    pd.testing.assert_frame_equal(rates(audit.report()), rates(samples))


def test_from_21_numbers_on_they_are_bins_for_every_question():
    for n_numbers in (20, 21):
        ages = pd.DataFrame({"age": np.arange(N) % n_numbers})
        audit = Audit.from_predictions(None, DECISIONS, sensitive_features=ages)
        bins = ["age <= 5", "5 < age <= 10", "10 < age <= 15", "age > 15"]
        expected = bins if n_numbers > 20 else [str(one) for one in range(20)]
        assert {*audit.certify(tolerance=0.5).sizes} == {*expected}
        assert {*audit.report().frame["group"]} - {"overall"} == {*expected}
        read = audit.reading.columns[1]
        assert {*read.labels} == {*expected} and sum(read.labels.values()) == N
        assert (read.notation == "numbers in 4 bins of equally many samples") == (n_numbers > 20)


def test_a_later_period_has_the_bins_of_the_earlier_one():
    half = np.arange(N) < N // 2
    older = TABLE.assign(age=np.where(half, TABLE["age"], TABLE["age"] + 7))
    before, after = (
        Audit.from_predictions(None, DECISIONS[rows], sensitive_features=older[["age"]][rows])
        for rows in (half, ~half)
    )
    frame = before.compare(after).frame
    assert len(frame) == 4 and frame["n_after"].sum() == N - N // 2
    cuts = pd.Series(TABLE["age"][half]).quantile([0.25, 0.5, 0.75], interpolation="inverted_cdf")
    text = f"age > {cuts.iloc[-1]:g}"
    n_after = frame.set_index("group").loc[text, "n_after"]
    assert n_after == (older["age"][~half] > cuts.iloc[-1]).sum()


def test_commands_have_the_same_bins(tmp_path, capsys):
    TABLE.assign(d=DECISIONS).to_csv(tmp_path / "people.csv", index=False)
    columns = ["--prediction", "d", "--sensitive", "sex", "age", "--json", "-"]
    main(["report", str(tmp_path / "people.csv"), *columns])
    report = FairnessReport.from_json(capsys.readouterr().out)
    samples = report_predictions(None, DECISIONS, sensitive_features=TABLE)
    pd.testing.assert_frame_equal(rates(report), rates(samples))
    main(["subgroups", str(tmp_path / "people.csv"), *columns, "--max-conditions", "1"])
    subgroups = json.loads(capsys.readouterr().out)["flagged"]["subgroup"]
    assert {*subgroups} & {*rates(report).index}
