"""Attributes of many numbers in reports: the bins of a search of subgroups."""

import json

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair._groups.groups import sort_labels
from skfair.audit import Audit, FairnessReport, SensitiveFeatures
from skfair.classification import ConstrainedERMClassifier
from skfair.metrics import group_report
from skfair.monitoring import GapMonitor
from tests.audit.doors import report_predictions, search_predictions

RNG = np.random.default_rng(0)
N = 2000
TABLE = pd.DataFrame({"sex": RNG.choice(["f", "m"], N), "age": RNG.integers(180, 800, N) / 10})
DECISIONS = (RNG.random(N) < 0.2 + 0.005 * TABLE["age"]).astype(int)


def rates(report, attribute="age"):
    frame = report.frame[report.frame["attribute"] == attribute]
    return frame.set_index("group")[["n", "estimate"]]


def test_bins_of_equally_many_numbers_by_hand():
    """Of 1.5 to 40.5 the quarters end at 10.5, 20.5 and 30.5."""
    numbers = np.arange(1, 41).repeat(3)
    report = report_predictions(
        None, numbers % 10 == 0, sensitive_features=pd.DataFrame({"age": numbers + 0.5})
    )
    assert rates(report)["n"].to_dict() == {
        "age <= 10.5": 30,
        "10.5 < age <= 20.5": 30,
        "20.5 < age <= 30.5": 30,
        "age > 30.5": 30,
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
    coarse = TABLE.assign(age=TABLE["age"].astype(int) // 10)
    report = report_predictions(None, DECISIONS, sensitive_features=coarse)
    assert set(rates(report).index) == {"1", "2", "3", "4", "5", "6", "7"}
    texts = TABLE.assign(age=TABLE["age"].astype(int).astype(str))
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


def test_from_31_numbers_on_they_are_bins_for_every_question():
    for n_numbers in (30, 31):
        ages = pd.DataFrame({"age": np.arange(N) % n_numbers + 0.5})
        audit = Audit.from_predictions(None, DECISIONS, sensitive_features=ages)
        bins = ["age <= 7.5", "7.5 < age <= 15.5", "15.5 < age <= 23.5", "age > 23.5"]
        expected = bins if n_numbers > 30 else [f"{one}.5" for one in range(30)]
        assert [*audit.certify(tolerance=0.5).sizes] == expected
        assert [*audit.report().frame["group"]][1:] == expected
        read = audit.reading.columns[1]
        if n_numbers > 30:
            assert {*read.labels} == {*expected} and sum(read.labels.values()) == N
            sentence = f"Groups by age are bins of numbers: {', '.join(bins)}."
            assert sentence in audit.report().findings
            assert sentence in audit.certify(tolerance=0.5).findings
        assert (read.notation == "numbers in 4 bins of equally many samples") == (n_numbers > 30)


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
    main(["subgroups", str(tmp_path / "people.csv"), *columns])
    subgroups = json.loads(capsys.readouterr().out)["flagged"]["subgroup"]
    assert {*subgroups} & {*rates(report).index}


# Whole numbers, and bins that are named --------------------------------------------------------


@pytest.mark.covering(0)
@pytest.mark.parametrize("dtype", [int, float, "Int64"])
def test_many_integers_are_labels_however_they_are_stored(dtype, tmp_path, capsys):
    ages = (20 + np.arange(N) % 31).astype(str)
    column = pd.Series(ages, name="age").astype(int).astype(dtype)
    audit = Audit.from_predictions(None, DECISIONS, sensitive_features=column)
    with pytest.warns(UserWarning, match="'age' .* 31 different numbers, .* group") as caught:
        assert len(audit.report().frame) == 32
    text = str(caught[0].message)
    assert "pass SensitiveFeatures(bins={'age': [40, 65]})" in text
    with pytest.warns(UserWarning, match="count fewer|Nothing can be shown|31 different"):
        claim = audit.certify(tolerance=0.9)
        monitor = GapMonitor("demographic_parity", 0.2)
        monitor.update(None, DECISIONS, sensitive_features=column)
    assert len(claim.sizes) == len(monitor.to_frame()) == 31
    pd.DataFrame({"age": column, "d": DECISIONS}).to_csv(tmp_path / "ages.csv", index=False)
    main(["report", str(tmp_path / "ages.csv"), *"--prediction d --sensitive age --json -".split()])
    captured = capsys.readouterr()
    assert len(FairnessReport.from_json(captured.out).frame) == 32
    assert "or --bins age=40,65 to a command. If" in captured.err


NAMED = {"age": [40, 65]}
BANDS = ["age < 40", "40 <= age < 65", "age >= 65"]


def test_five_clients_read_named_bins_as_one():
    """Forty is in the bin that begins there; bins are sorted by number in every output."""
    ages = pd.Series([5, 39, 40, 64, 65, 90], name="age").repeat(60).reset_index(drop=True)
    known = SensitiveFeatures(ages, bins=NAMED)
    y = np.arange(len(ages)) % 2
    audit = Audit.from_predictions(y, y, sensitive_features=known)
    report = audit.report()
    assert [*dict.fromkeys(report.frame["group"])][1:] == BANDS
    claim = audit.certify("demographic_parity", 0.5)
    assert claim.sizes == dict.fromkeys(BANDS, 120)
    monitor = GapMonitor("demographic_parity", 0.5).update(y, y, sensitive_features=known)
    assert [*monitor.to_frame()["group"]] == BANDS and monitor.bins_ == {"age": BANDS}
    labels = known.bin_labels()
    moved = known.replace_labels(ages.set_axis(ages.index + 7)).bin_labels()
    assert moved.index.equals(ages.index + 7)
    assert {*group_report(y, y, sensitive_features=labels).index} == {*BANDS, "overall"}
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    model = ConstrainedERMClassifier(tolerance=0.5).fit(X, y, sensitive_features=labels)
    assert {*model.groups_.names} == {*BANDS}
    for output in (report.findings, claim.findings):
        assert f"Groups by age are bins of numbers: {', '.join(BANDS)}." in output
    assert audit.reading.columns[-1].notation == "numbers in bins that are named"


@pytest.mark.parametrize(
    "seeds", [range(6), pytest.param(range(6, 30), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_random_bins_are_those_of_pandas(seeds, tmp_path):
    """By `pandas.cut`, closed on the left: integers, decimals, text of files, missing values."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        numbers = rng.integers(-50, 50, 300) / rng.choice([1, 2, 10])
        cuts = np.unique(rng.choice(numbers, rng.integers(1, 5))).tolist()
        is_missing = rng.random(300) < 0.1
        table = pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "x": numbers})
        expected = pd.Series(
            pd.cut(numbers, [-np.inf, *cuts, np.inf], right=False, labels=False)
        ).where(~is_missing)
        table["x"] = table["x"].where(~is_missing)
        known = SensitiveFeatures(table, missing="exclude", bins={"x": cuts})
        table.assign(d=1).to_csv(tmp_path / "x.csv", index=False)
        for audit in (
            Audit.from_predictions(None, np.ones(300), sensitive_features=known),
            Audit.from_file(
                tmp_path / "x.csv",
                {"y_pred": "d", "sensitive_features": known.replace_labels(["sex", "x"])},
            ),
        ):
            groups = audit.samples.groups
            labels = groups.labels[groups.codes, 1]
            assert ((labels == "(missing)") == is_missing).all()
            pairs = {*zip(labels[~is_missing], expected[~is_missing], strict=True)}
            assert len(pairs) == expected.nunique() == len({label for label, _ in pairs})
            texts = [label for label in sort_labels(labels)[0] if label != "(missing)"]
            assert texts == [label for label, _ in sorted(pairs, key=lambda one: one[1])]


@pytest.mark.parametrize(
    ("bins", "match"),
    [
        ({"years": [40]}, "bins must name attributes .* 'sex', 'age', but 'years' is none"),
        ({"age": [65, 40]}, "ascending numbers, .* of 'age' are \\[65, 40\\]"),
        ({"age": []}, "ascending numbers"),
        ({"age": ["old"]}, "ascending numbers"),
        ({"age": 40}, "ascending numbers"),
        ({"age": [np.nan]}, "ascending numbers"),
        ({"sex": [40]}, "column 'sex' must hold numbers, but it holds 'f'"),
    ],
)
def test_bins_that_cannot_be_are_refused(bins, match):
    known = SensitiveFeatures(TABLE, bins=bins)
    with pytest.raises(ValueError, match=match):
        Audit.from_predictions(None, DECISIONS, sensitive_features=known)


def test_a_search_has_the_bins_that_are_named():
    known = SensitiveFeatures(TABLE, bins=NAMED)
    audit = Audit.from_predictions(None, DECISIONS, sensitive_features=known)
    flagged = {*audit.subgroups(max_conditions=1).flagged["subgroup"]}
    assert flagged and flagged <= {f"age = {one}" for one in BANDS} | {"sex = f", "sex = m"}


def test_text_of_ranges_is_sorted_by_number():
    ranges = ["[5, 10)", "[40.0, 65)", "[100, inf)", "[0, 5)", "(missing)"]
    values, codes = sort_labels(np.array(ranges, dtype=object))
    assert values.tolist() == ["[0, 5)", "[5, 10)", "[40.0, 65)", "[100, inf)", "(missing)"]
    assert values[codes].tolist() == ranges
    assert sort_labels(["b 5", "a > b", "c"])[0].tolist() == ["a > b", "b 5", "c"]
    assert sort_labels([10, 9])[0].tolist() == [9, 10]


def test_a_monitor_keeps_the_cuts_of_its_first_batch():
    monitor = GapMonitor("demographic_parity", 0.2)
    monitor.update(None, DECISIONS, sensitive_features=TABLE)
    bins = monitor.bins_["age"]
    monitor = GapMonitor.from_json(monitor.to_json())
    # The columns may come in another order, and numbers of another range.
    later = TABLE[["age", "sex"]].assign(age=TABLE["age"] + 7)
    monitor.update(None, DECISIONS, sensitive_features=later)
    frame = monitor.to_frame()
    assert {age for _, age in frame["group"]} == {*bins} and monitor.bins_ == {"age": bins}
    last = frame[frame["batch"] == 2].set_index("group")["n"]
    cut = float(bins[-1].split()[-1])
    assert last["f", bins[-1]] == ((later["age"] > cut) & (later["sex"] == "f")).sum()


@pytest.mark.slow
def test_a_monitor_refuses_other_cuts_and_decimals_that_its_first_batch_had_not():
    known = SensitiveFeatures(TABLE, bins=NAMED)
    monitor = GapMonitor("demographic_parity", 0.2)
    monitor.update(None, DECISIONS, sensitive_features=known)
    monitor.update(None, DECISIONS, sensitive_features=TABLE)  # in the first bins
    assert len(monitor.to_frame()) == 12
    other = SensitiveFeatures(known.replace_labels(TABLE).bin_labels().replace("age < 40", "< 40"))
    with pytest.raises(ValueError, match="'age' must hold numbers, but it holds"):
        monitor.update(None, DECISIONS, sensitive_features=other)
    small = GapMonitor("demographic_parity", 0.2)
    small.update(None, DECISIONS[:20], sensitive_features=TABLE["age"][:20])
    with pytest.raises(ValueError, match="at most 30 numbers with decimals .* from 18"):
        small.update(None, DECISIONS, sensitive_features=TABLE["age"])
    assert len(small.summary()) == 1


@pytest.mark.slow
def test_commands_take_bins(tmp_path, capsys):
    table = TABLE.assign(age=TABLE["age"].astype(int), d=DECISIONS)
    table["day"] = np.where(np.arange(N) < N // 2, "2026-01-05", "2026-02-05")
    table.to_csv(tmp_path / "all.csv", index=False)
    file = str(tmp_path / "all.csv")
    columns = ["--prediction", "d", "--sensitive", "sex", "age", "--bins", "age=40,65"]
    main(["report", file, *columns, "--json", "-"])
    report = FairnessReport.from_json(capsys.readouterr().out)
    assert [*dict.fromkeys(report.frame.query("attribute == 'age'")["group"])] == BANDS
    main(["certify", file, *columns, "--tolerance", "0.5"])
    assert ", ".join(BANDS) in capsys.readouterr().out
    state = ["--time", "day", "--state", str(tmp_path / "state.json"), "--json", "-"]
    main(["monitor", file, *columns, *state])
    stored = json.loads((tmp_path / "state.json").read_text())
    assert stored["bins"]["1"]["texts"] == BANDS
    with pytest.raises(SystemExit):
        main(["monitor", file, *columns[:-1], "age=50", *state])
    assert "--bins must be that of" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["report", file, *columns[:-1], "age=old"])
    assert "--bins must be a column of --sensitive" in capsys.readouterr().err
