"""Numbers without outcomes, such as premiums or scores, take the road of a regression."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from skfair.__main__ import main
from skfair.audit import Audit
from skfair.monitoring import GapMonitor
from skfair.statistics import gap_interval

RNG = np.random.default_rng(0)
N_PAIRS = 120
BASE = RNG.normal(0.5, 0.1, N_PAIRS)
NEW = BASE + 0.03 + RNG.normal(0, 0.02, N_PAIRS)
OLD = BASE + RNG.normal(0, 0.02, N_PAIRS)
PROMPT = np.arange(N_PAIRS)

N = 3000
SEX = RNG.choice(["f", "m"], N)
PREMIUMS = 400.0 + RNG.gamma(4.0, 30.0, N) + 15.0 * (SEX == "f")


def t_interval(values, level=0.95):
    """Mean and limits by Student's t distribution."""
    end = (1.0 + level) / 2.0
    margin = stats.t.ppf(end, len(values) - 1) * stats.sem(values)
    return [values.mean(), values.mean() - margin, values.mean() + margin]


def test_two_versions_of_a_prompt_have_the_paired_t_interval():
    expected = t_interval(NEW - OLD)
    np.testing.assert_allclose(expected, [0.0285, 0.0230, 0.0341], atol=5e-5)
    scores = np.concatenate((NEW, OLD))
    version = np.repeat(["new", "old"], N_PAIRS)
    pairs = np.tile(PROMPT, 2)
    audit = Audit.from_predictions(None, scores, sensitive_features=version, groups=pairs)
    (gap,) = audit.report().gaps[["gap", "gap_low", "gap_high"]].to_numpy(float)
    np.testing.assert_allclose(gap, expected, atol=2e-3)
    claim = audit.certify("mean_parity", 0.06)
    assert claim.high == pytest.approx(t_interval(NEW - OLD, 0.9)[2], abs=2e-3)
    assert claim.unit == "units of the prediction"


@pytest.mark.parametrize("how", ["predictions", "ids", "groups"])
def test_changes_of_paired_versions_are_those_of_the_pairs(how):
    topic = np.resize(["code", "law"], N_PAIRS)
    settings = {"sensitive_features": topic} | ({"groups": PROMPT} if how == "groups" else {})
    old, new = (Audit.from_predictions(None, one, **settings) for one in (OLD, NEW))
    pairs = (PROMPT, PROMPT) if how == "ids" else None
    changes = old.compare(NEW if how == "predictions" else new, ids=pairs)
    columns = ["change", "change_low", "change_high"]
    overall = changes.others.set_index("metric").loc["mean_prediction", columns]
    np.testing.assert_allclose(overall.astype(float), t_interval(NEW - OLD), atol=2e-3)
    by_topic = changes.frame.set_index(["metric", "group"]).loc["mean_prediction"]
    for name in ("code", "law"):
        expected = t_interval((NEW - OLD)[topic == name])
        np.testing.assert_allclose(by_topic.loc[name, columns].astype(float), expected, atol=2e-3)
    assert {*changes.frame["metric"]} == {"mean_prediction"}


def test_clusters_of_one_sample_each_pair_only_what_both_audits_have():
    halves = [
        Audit.from_predictions(
            None, OLD, sensitive_features=np.resize(["a", "b"], N_PAIRS), groups=PROMPT + shift
        )
        for shift in (0, 1000)
    ]
    (change,) = halves[0].compare(halves[1]).gaps["change_high"]
    no_ids = Audit.from_predictions(None, OLD, sensitive_features=np.resize(["a", "b"], N_PAIRS))
    with pytest.warns(UserWarning, match="look like the same samples"):
        assert no_ids.compare(halves[1]).gaps["change_high"].item() == change > 0.0


def test_premiums_have_means_gaps_in_their_unit_and_a_claim():
    audit = Audit.from_predictions(None, PREMIUMS, sensitive_features=pd.Series(SEX, name="sex"))
    report = audit.report()
    means = report.frame.set_index(["metric", "group"])["estimate"]
    for sex in "fm":
        assert means["mean_prediction", sex] == pytest.approx(PREMIUMS[SEX == sex].mean())
    assert {*report.frame["metric"]} == {"mean_prediction"} and report.task == "regression"
    expected = gap_interval(PREMIUMS, sensitive_features=SEX)
    (gap,) = report.gaps[["gap", "gap_low", "gap_high"]].to_numpy()
    np.testing.assert_allclose(gap.astype(float), expected)
    assert "%" not in report.findings[1] and "points" not in report.findings[1]
    claim = audit.certify("mean_parity", 25.0)
    assert claim.is_shown and "25 units of the prediction" in claim.text
    scored = audit.report(metrics=["scoring_rate"])
    rates = scored.frame.set_index(["metric", "group"])["estimate"]
    above = PREMIUMS > np.median(PREMIUMS)
    assert rates["scoring_rate", "f"] == pytest.approx(above[SEX == "f"].mean())
    with pytest.raises(ValueError, match="must be a finite number|more than|mean_parity"):
        audit.certify("demographic_parity", 0.1)


def limits_by_hand(values, error):
    """Limits of the mean of numbers in [0, 1], by Bentkus and by Maurer and Pontil."""
    n, hits = len(values), values.sum()
    low = special.betaincinv(np.floor(hits), n - np.floor(hits) + 1.0, error / (2.0 * np.e))
    high = special.betaincinv(np.ceil(hits) + 1.0, n - np.ceil(hits), 1.0 - error / (2.0 * np.e))
    exponent = np.log(4.0 / error)
    margin = np.sqrt(2.0 * values.var(ddof=1) * exponent / n) + 7.0 * exponent / (3.0 * (n - 1))
    return max(low, values.mean() - margin), min(high, values.mean() + margin)


def test_subgroups_of_premiums_by_hand():
    attributes = pd.DataFrame({"sex": SEX, "region": RNG.choice([*"abc"], N)})
    is_expensive = ((attributes["sex"] == "f") & (attributes["region"] == "b")).to_numpy()
    premiums = PREMIUMS + 80.0 * is_expensive
    report = Audit.from_predictions(None, premiums, sensitive_features=attributes).subgroups()
    first = report.subgroups.iloc[0]
    assert first["subgroup"] == "sex = f and region = b" and first["n"] == is_expensive.sum()
    assert first["estimate"] == pytest.approx(premiums[is_expensive].mean())
    assert first["rest_estimate"] == pytest.approx(premiums[~is_expensive].mean())
    # 5 subgroups of one condition and 6 of two share the error, each with two limits.
    error = 0.05 / (2 * 2 * 6)
    unit = (premiums - premiums.min()) / np.ptp(premiums)
    inside, rest = unit[is_expensive], unit[~is_expensive]
    limits = limits_by_hand(inside, error), limits_by_hand(rest, error)
    difference = inside.mean() - rest.mean()
    low = np.hypot(inside.mean() - limits[0][0], limits[1][1] - rest.mean())
    high = np.hypot(limits[0][1] - inside.mean(), rest.mean() - limits[1][0])
    expected = np.ptp(premiums) * np.array([difference - low, difference + high])
    np.testing.assert_allclose([first["low"], first["high"]], expected)
    assert report.searches["largest_possible"].item() >= first["difference"]
    text = report.findings[1]
    assert text.startswith("Mean prediction: ") and "%" not in text
    assert "sex = f and region = b" in report.to_html()


def test_limits_of_means_of_0_and_1_contain_those_of_rates():
    attributes = pd.DataFrame({"sex": SEX, "region": RNG.choice([*"abc"], N)})
    decisions = (RNG.random(N) < 0.2 + 0.3 * (SEX == "f")).astype(int)
    rates, means = (
        Audit.from_predictions(
            None, decisions, sensitive_features=attributes, task=task
        ).subgroups()
        for task in (None, "regression")
    )
    both = rates.flagged.merge(means.flagged, on="subgroup")
    assert len(both) and (both["low_y"] <= both["low_x"]).all()
    assert (both["high_y"] >= both["high_x"]).all()


@pytest.mark.slow
def test_a_search_of_skewed_numbers_seldom_finds_what_is_not_there():
    attributes = pd.DataFrame({"sex": SEX, "region": RNG.choice([*"abcdef"], N)})
    n_false = 0
    for seed in range(200):
        values = np.random.default_rng(seed).lognormal(0.0, 1.0, N)
        report = Audit.from_predictions(None, values, sensitive_features=attributes).subgroups()
        n_false += report.searches["n_flagged"].item() > 0
    assert n_false <= 10


def test_means_of_premiums_are_monitored():
    monitor = GapMonitor("mean_parity", tolerance=100.0, value_range=(0.0, 2000.0))
    for month in range(3):
        monitor.update(None, PREMIUMS, sensitive_features=SEX, time=month)
    frame = monitor.to_frame().set_index(["batch", "group"])["estimate"]
    assert frame[1, "f"] == pytest.approx(PREMIUMS[SEX == "f"].mean())
    with pytest.raises(ValueError, match=r"Pass value_range=\(smallest, largest\)"):
        GapMonitor("mean_parity", tolerance=100.0).update(None, PREMIUMS, sensitive_features=SEX)


# The task of whole numbers: days, visits, ages.


DAYS = RNG.poisson(30, N)
PREDICTED = DAYS + RNG.normal(size=N)


@pytest.mark.slow
def test_days_are_a_regression_where_the_task_says_so(tmp_path, capsys):
    with pytest.raises(ValueError, match='such as days, pass task="regression"'):
        Audit.from_predictions(DAYS, PREDICTED, sensitive_features=SEX)
    expected = {sex: (PREDICTED - DAYS)[SEX == sex].mean() for sex in "fm"}
    table = pd.DataFrame({"y": DAYS, "p": PREDICTED, "sex": SEX})
    table.to_csv(tmp_path / "p.csv", index=False)
    columns = {"y_true": "y", "y_pred": "p", "sensitive_features": "sex"}
    audits = [
        Audit.from_predictions(DAYS, PREDICTED, sensitive_features=SEX, task="regression"),
        Audit.from_file(tmp_path / "p.csv", columns, task="regression"),
    ]
    for audit in audits:
        errors = audit.report().frame.query("metric == 'mean_error'").set_index("group")
        assert errors["estimate"].drop("overall").to_dict() == pytest.approx(expected)
    options = ["--target", "y", "--prediction", "p", "--sensitive", "sex"]
    with pytest.raises(SystemExit, match="2"):
        main(["report", str(tmp_path / "p.csv"), *options])
    assert "--task regression" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "p.csv"), *options, "--task", "regression"]) in (0, 3)


@pytest.mark.slow
def test_whole_numbers_without_outcomes_take_the_task_that_is_passed():
    with pytest.raises(ValueError, match='task="classification", "regression"') as caught:
        Audit.from_predictions(None, DAYS, sensitive_features=SEX)
    tasks = re.findall(r'"(\w+)"', str(caught.value))
    assert tasks == ["classification", "regression", "clustering"]
    stars = 1 + DAYS % 4
    audits = {
        task: Audit.from_predictions(None, stars, sensitive_features=SEX, task=task)
        for task in tasks
    }
    metrics = {task: {*audit.report().frame["metric"]} for task, audit in audits.items()}
    assert metrics["regression"] == {"mean_prediction"}
    assert metrics["classification"] == {f"selection_rate of class {one}" for one in (1, 2, 3, 4)}
    assert metrics["clustering"] == {f"share of cluster {one}" for one in (1, 2, 3, 4)}
    counts = pd.DataFrame({"d": stars, "sex": SEX}).value_counts().rename("n").reset_index()
    with pytest.raises(ValueError, match='task="classification"'):
        Audit.from_counts(counts, counts="n", sensitive_features="sex", y_pred="d")
    audit = Audit.from_counts(
        counts, counts="n", sensitive_features="sex", y_pred="d", task="classification"
    )
    assert {*audit.report().frame["metric"]} == metrics["classification"]
    other = Audit.from_predictions(None, stars, sensitive_features=SEX, task="classification")
    assert {*other.compare(stars[::-1]).frame["metric"]} == metrics["classification"]


@pytest.mark.parametrize("mark", [999.0, 998.0])
def test_nines_among_numbers_count_with_a_warning(mark, tmp_path):
    days = np.minimum(DAYS, 290).astype(float)
    days[7] = mark
    table = pd.DataFrame({"y": days, "p": PREDICTED, "sex": SEX})
    table.to_csv(tmp_path / "p.csv", index=False)
    columns = {"y_true": "y", "y_pred": "p", "sensitive_features": "sex"}

    def make_audits():
        yield Audit.from_predictions(days, PREDICTED, sensitive_features=SEX, task="regression")
        yield Audit.from_file(tmp_path / "p.csv", columns, task="regression")

    if mark == 999.0:
        with pytest.raises(ValueError, match='may mark missing.*pass task="regression"'):
            Audit.from_predictions(days, PREDICTED, sensitive_features=SEX)
        with pytest.warns(UserWarning, match="holds 999.*leave out these rows.*as a number"):
            audits = [*make_audits()]
    else:
        audits = [*make_audits()]
    for audit in audits:
        means = audit.report().frame.query("metric == 'mean_target' and group == 'overall'")
        assert means["estimate"].item() == pytest.approx(days.mean())


def test_nines_among_classes_are_refused():
    classes = np.array([0, 1, 99])[np.arange(N) % 3]
    with pytest.raises(ValueError, match="if they are classes, write them as words"):
        Audit.from_predictions(classes, classes, sensitive_features=SEX)
    words = classes.astype(str)
    assert Audit.from_predictions(words, words, sensitive_features=SEX).task == "classification"


def test_an_age_of_99_is_a_number_among_groups():
    ages = RNG.integers(20, 40, N) / 1.0 + 0.5
    ages[:5] = 99.0
    with pytest.warns(UserWarning, match="holds 99.*unknown of SensitiveFeatures.*as a number"):
        audit = Audit.from_predictions(
            None, PREMIUMS, sensitive_features=pd.DataFrame({"age": ages})
        )
    assert audit.report().frame.query("attribute == 'age'")["n"].sum() == N
