"""Tests of less discriminatory alternatives, against numpy by hand and known populations."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import norm, t
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    make_scorer,
    mean_squared_error,
    roc_auc_score,
)
from sklearn.model_selection import GridSearchCV

from skfair.__main__ import main
from skfair.audit import Alternatives, Audit, verify
from skfair.audit._formats import STYLE
from skfair.constraints import DemographicParity
from skfair.statistics import ratio_interval


@pytest.fixture(scope="module")
def applicants():
    rng = np.random.default_rng(0)
    n = 4000
    sex = rng.choice(["f", "m"], size=n)
    merit = rng.normal(size=n)
    is_man = sex == "m"
    return pd.DataFrame(
        {
            "sex": sex,
            "y": (merit + rng.normal(size=n) > 0).astype(int),
            "in_use": (merit + 0.4 * is_man > 0.2).astype(int),
            "plain": (merit > 0).astype(int),
            "half": (merit + 0.2 * is_man > 0.1).astype(int),
            "coin": rng.integers(2, size=n),
            "merit": merit,
        }
    )


@pytest.fixture
def audit(applicants):
    return Audit.from_predictions(
        applicants.y, applicants.in_use, sensitive_features=applicants.sex
    )


def test_numbers_are_those_by_hand(applicants, audit):
    answer = audit.alternatives(applicants[["plain", "coin"]], margin=0.01)
    rates = applicants.groupby("sex")[["in_use", "plain", "coin"]].mean()
    gaps = rates.max() - rates.min()
    frame = answer.frame.set_index("candidate")
    for name in ("plain", "coin"):
        row = frame.loc[name]
        assert row["gap"] == pytest.approx(gaps[name])
        assert row["reduction"] == pytest.approx(gaps["in_use"] - gaps[name])
        assert row["performance"] == pytest.approx((applicants[name] == applicants.y).mean())
        assert row["n_gained"] == (applicants[name] > applicants.in_use).sum()
        assert row["n_lost"] == (applicants[name] < applicants.in_use).sum()
    assert answer.shown_names == ["plain"]
    assert frame.loc["coin", "verdict"] == "contradicted"
    assert answer.exit_status == 3


def test_limits_are_close_to_paired_normal_ones(applicants, audit):
    row = audit.alternatives({"half": applicants.half}, margin=0.01).frame.iloc[0]
    is_woman = applicants.sex == "f"
    change = (applicants.half - applicants.in_use).astype(float)
    error = np.sqrt(
        change[is_woman].var() / is_woman.sum() + change[~is_woman].var() / (~is_woman).sum()
    )
    assert row["reduction"] - row["reduction_low"] == pytest.approx(
        norm.ppf(0.95) * error, rel=0.01
    )
    loss = (applicants.in_use == applicants.y).astype(float) - (applicants.half == applicants.y)
    reach = norm.ppf(0.95) * loss.std() / np.sqrt(len(loss))
    assert row["loss_high"] - row["loss"] == pytest.approx(reach, rel=0.05)


def test_model_in_use_is_no_alternative_of_itself(applicants, audit):
    answer = audit.alternatives({"same": applicants.in_use}, margin=0.05)
    assert answer.shown_names == []
    assert answer.exit_status == 0
    assert "None of 1 candidate is shown" in answer.findings[0]


def test_holm_shows_fewer_than_single_candidates(applicants, audit):
    rng = np.random.default_rng(1)
    noise = {
        f"noise {i}": np.where(rng.random(len(applicants)) < 0.01, applicants.coin, applicants.half)
        for i in range(5)
    }
    alone = audit.alternatives({"half": applicants.half}, margin=0.01).frame
    several = audit.alternatives({"half": applicants.half} | noise, margin=0.01).frame.set_index(
        "candidate"
    )
    assert several.loc["half", "reduction_low"] < alone["reduction_low"].item()
    in_order = audit.alternatives(
        {"half": applicants.half} | noise, margin=0.01, order="given"
    ).frame
    assert (
        in_order.set_index("candidate").loc["half", "reduction_low"]
        == alone["reduction_low"].item()
    )


def test_order_stops_at_the_first_that_is_not_shown(applicants, audit):
    named = {"half": applicants.half, "coin": applicants.coin, "plain": applicants.plain}
    assert audit.alternatives(named, margin=0.01, order="given").shown_names == ["half"]
    front = {"coin": applicants.coin, "plain": applicants.plain, "half": applicants.half}
    assert audit.alternatives(front, margin=0.01, order="given").shown_names == []
    assert {*audit.alternatives(front, margin=0.01, order="front").shown_names} == {"plain", "half"}


def test_ratios(applicants, audit):
    answer = audit.alternatives(
        {"plain": applicants.plain}, DemographicParity(ratio=0.8), margin=0.01
    )
    rates = applicants.groupby("sex")[["in_use", "plain"]].mean()
    ratios = rates.min() / rates.max()
    row = answer.frame.iloc[0]
    assert row["gap"] == pytest.approx(ratios["plain"])
    assert row["reduction"] == pytest.approx(ratios["plain"] - ratios["in_use"])
    assert answer.shown_names == ["plain"]
    assert "larger by at least 0.196" in answer.findings[2]
    names = []
    for rise in (row["reduction_low"], row["reduction"]):
        again = audit.alternatives(
            {"plain": applicants.plain},
            DemographicParity(ratio=0.8),
            margin=0.01,
            min_reduction=rise,
        )
        names.append(again.shown_names)
    assert names == [["plain"], []]


def test_limit_of_a_ratio_is_that_by_formula(applicants, audit):
    """Its logarithm by the delta method, less 2 % of the error for the ratio in use."""
    row = audit.alternatives(
        {"half": applicants.half}, DemographicParity(ratio=0.8), margin=0.01
    ).frame.iloc[0]
    is_woman = applicants.sex == "f"
    rates = applicants.groupby("sex")[["in_use", "half"]].mean()
    ratios = rates.loc["f"] / rates.loc["m"]
    variance = 0.0
    for rows, sex in ((is_woman, "f"), (~is_woman, "m")):
        influence = applicants.half[rows] / rates.loc[sex, "half"]
        influence = influence - applicants.in_use[rows] / rates.loc[sex, "in_use"]
        variance += influence.var() / rows.sum()
    # Two screens take a fifth of what is left.
    rise = np.log(ratios["half"] / ratios["in_use"]) - norm.ppf(1 - 0.05 * 0.98 * 0.8) * np.sqrt(
        variance
    )
    least = ratio_interval(
        applicants.in_use, sensitive_features=applicants.sex, confidence_level=0.998
    ).low
    assert row["reduction_low"] == pytest.approx(least * np.expm1(rise), rel=0.05)


def test_models_and_area(applicants):
    X = np.column_stack([applicants.merit, applicants.sex == "m"])
    models = [LogisticRegression(C=c).fit(X[:2000], applicants.y[:2000]) for c in (1.0, 1e-3)]
    test = slice(2000, None)
    audit = Audit.from_estimator(
        models[0], X[test], applicants.y[test], sensitive_features=applicants.sex[test]
    )
    row = audit.alternatives({"other": models[1]}, margin=0.01, performance="roc_auc").frame.iloc[0]
    areas = [roc_auc_score(applicants.y[test], m.predict_proba(X[test])[:, 1]) for m in models]
    assert row["performance"] == pytest.approx(areas[1])
    assert row["loss"] == pytest.approx(areas[0] - areas[1])
    log_loss = audit.alternatives({"other": models[1]}, margin=0.01, performance="neg_log_loss")
    assert log_loss.frame["loss"].item() > 0.0


def test_profit_of_decisions(applicants, audit):
    def profit(truth, decision):
        return np.where(decision == 1, np.where(truth == 1, 1.0, -1.5), 0.0)

    answer = audit.alternatives({"plain": applicants.plain}, margin=0.05, performance=profit)
    expected = profit(applicants.y, applicants.plain).mean()
    assert answer.frame["performance"].item() == pytest.approx(expected)
    assert (
        verify(answer.to_json(), audit, candidates=applicants[["plain"]], performance=profit) == []
    )


def test_a_filed_answer_is_recomputed(applicants, audit, tmp_path):
    candidates = applicants[["plain", "coin"]]
    path = tmp_path / "found.json"
    answer = audit.alternatives(candidates, margin=0.01)
    answer.to_json(path)
    assert Alternatives.from_json(path).findings == answer.findings
    assert verify(path, audit, candidates=candidates) == []


@pytest.mark.parametrize(
    ("changed", "named"),
    [("data", "baseline"), ("margin", "findings"), ("candidate", "gap"), ("name", "candidates")]
    + [("order", "verdict")],
)
def test_verify_finds_each_change(applicants, audit, changed, named):
    candidates = {"coin": applicants.coin, "plain": applicants.plain}
    text = audit.alternatives(candidates, margin=0.01).to_json()
    if changed == "data":
        decisions = applicants.in_use.where(applicants.index > 50, 1)
        audit = Audit.from_predictions(applicants.y, decisions, sensitive_features=applicants.sex)
    elif changed == "margin":
        text = text.replace('"margin": 0.01', '"margin": 0.3')
    elif changed == "candidate":
        candidates["plain"] = applicants.half
    elif changed == "name":
        candidates = {"coin": applicants.coin, "plainer": applicants.plain}
    else:
        text = text.replace('"order": null', '"order": "given"')
    assert named in verify(text, audit, candidates=candidates)


def test_falls_of_ratios_have_wilsons_limits(applicants, audit):
    """By hand: margins of four logarithms, correlated within a group."""
    settings = {"constraint": DemographicParity(ratio=0.8), "margin": 0.1}
    answer = audit.alternatives(applicants[["half"]], **settings)
    low = answer.frame["reduction_low"].item()
    assert verify(answer.to_json(), audit, candidates=applicants[["half"]]) == []
    # All of the error but a fiftieth is that of the fall of the logarithm.
    level = 1.0 - 0.98 * 0.05
    z, square = norm.ppf(level), 0.0
    for sex, sign in (("f", -1), ("m", 1)):
        rows = applicants[applicants.sex == sex]
        n, margins = len(rows), []
        for name, above in (("half", sign), ("in_use", -sign)):
            rate = rows[name].mean()
            center = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
            half_width = z * np.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
            margins.append(above * abs(np.log((center + above * half_width) / rate)))
        correlation = np.corrcoef(rows["half"], rows["in_use"])[0, 1]
        square += margins[0] ** 2 + margins[1] ** 2 + 2 * correlation * np.prod(margins)
    rates = applicants.groupby("sex")[["in_use", "half"]].mean()
    change = np.log(rates.loc["m"] / rates.loc["f"])
    high = change["half"] - change["in_use"] + np.sqrt(square)
    least = ratio_interval(
        applicants.in_use, sensitive_features=applicants.sex, confidence_level=0.998
    ).low
    assert low == pytest.approx(least * np.expm1(-high), rel=1e-6)


def test_clusters_widen_limits(applicants):
    decisions = {"sensitive_features": applicants.sex}
    twice = pd.concat([applicants, applicants], ignore_index=True)
    single = Audit.from_predictions(applicants.y, applicants.in_use, **decisions)
    doubled = Audit.from_predictions(
        twice.y,
        twice.in_use,
        sensitive_features=twice.sex,
        groups=np.tile(np.arange(len(applicants)), 2),
    )
    many = Audit.from_predictions(twice.y, twice.in_use, sensitive_features=twice.sex)
    reaches = []
    for one, half in ((single, applicants.half), (doubled, twice.half), (many, twice.half)):
        row = one.alternatives({"half": half}, margin=0.01).frame.iloc[0]
        reaches.append(row["loss_high"] - row["loss"])
    assert reaches[0] == pytest.approx(reaches[1], rel=0.1)
    assert reaches[2] == pytest.approx(reaches[0] / np.sqrt(2.0), rel=0.05)


@pytest.mark.parametrize(
    ("candidates", "settings", "message"),
    [
        ({}, {}, "one candidate at least"),
        ("plain", {}, "got a str"),
        ({"a": [2] * 4000}, {}, "y_pred of each candidate must have the labels"),
        ({"a": [1] * 4000}, {"margin": -1}, "margin must be a number from 0"),
        ({"a": [1] * 4000}, {"performance": "f1"}, "performance must be one of"),
        ({"a": [1] * 4000}, {"performance": "roc_auc"}, "needs scores of each candidate"),
        ({"a": [1] * 4000}, {"order": "tight"}, "order must be one of"),
    ],
)
def test_refusals(audit, candidates, settings, message):
    with pytest.raises(ValueError, match=message):
        audit.alternatives(candidates, **{"margin": 0.01} | settings)


def test_command(applicants, tmp_path, capsys):
    path = tmp_path / "decisions.csv"
    applicants.to_csv(path, index=False)
    columns = [part for name in ("in_use", "plain", "coin") for part in ("--prediction", name)]
    options = ["--target", "y", "--sensitive", "sex", "--margin", "0.01"]
    assert main(["alternatives", str(path), *columns, *options]) == 3
    assert "'plain', shown" in capsys.readouterr().out
    protected = ["--min-published", "10", "--json", "-"]
    assert main(["alternatives", str(path), *columns, *options, *protected]) == 3
    answer = Alternatives.from_json(capsys.readouterr().out)
    assert answer.min_published == 10 and answer.shown_names == ["plain"]


def test_gap_of_several_classes_is_the_largest_of_all():
    rng = np.random.default_rng(0)
    sex, y = rng.choice(["f", "m"], 3000), rng.integers(3, size=3000)
    in_use = np.where((sex == "m") & (rng.random(3000) < 0.3), 2, y)
    audit = Audit.from_predictions(y, in_use, sensitive_features=sex)
    answer = audit.alternatives({"truth": y}, margin=0.01)
    rates = [[(y[sex == g] == k).mean() for k in range(3)] for g in ("f", "m")]
    row = answer.frame.iloc[0]
    assert row["gap"] == pytest.approx(np.abs(np.subtract(*rates)).max())
    # Class 2 has the largest gap of the model in use.
    is_man = sex == "m"
    before = (in_use[is_man] == 2).mean() - (in_use[~is_man] == 2).mean()
    assert answer.baseline["gap"] == pytest.approx(before)
    assert row["performance"] == 1.0 and answer.shown_names == ["truth"]
    assert "selection rate of each class" in answer.findings[1]
    # One class by itself: a larger gap is not needed, and others do not count.
    one = Audit.from_predictions(y, in_use, sensitive_features=sex, pos_label=2)
    assert one.alternatives({"truth": y}, margin=0.01).baseline["gap"] == pytest.approx(before)


def make_scored(n=1500, seed=0):
    """Outcomes, groups, and scores of two models."""
    rng = np.random.default_rng(seed)
    sex, merit = rng.choice(["f", "m"], n), rng.normal(size=n)
    y = (merit + rng.normal(size=n) > 0).astype(int)
    first = 1.0 / (1.0 + np.exp(-1.5 * merit - 0.5 * (sex == "m")))
    second = 1.0 / (1.0 + np.exp(-merit + 0.2 * rng.normal(size=n)))
    return y, sex, first, second


def compare_scores(y, sex, first, second, performance="roc_auc", **columns):
    decisions = {"sensitive_features": sex, **columns}
    in_use = Audit.from_predictions(y, (first > 0.5).astype(int), y_score=first, **decisions)
    other = Audit.from_predictions(y, (second > 0.5).astype(int), y_score=second, **decisions)
    return in_use.alternatives({"other": other}, margin=0.02, performance=performance)


def test_weighted_and_clustered_areas_are_those_of_copies():
    y, sex, first, second = make_scored()
    copies = np.random.default_rng(1).integers(1, 4, size=1500)
    answer = compare_scores(y, sex, first, second, sample_weight=0.7 * copies)
    row = answer.frame.iloc[0]
    area = roc_auc_score(y, second, sample_weight=copies)
    assert row["performance"] == pytest.approx(area)
    # As many rows, of which those of one sample are a cluster.
    ids = np.repeat(np.arange(1500), copies)
    columns = (column[ids] for column in (y, sex, first, second))
    clustered = compare_scores(*columns, groups=ids).frame.iloc[0]
    assert clustered["loss"] == pytest.approx(row["loss"])
    assert clustered["loss_high"] == pytest.approx(row["loss_high"], rel=1e-9)


def test_limits_of_areas_are_those_of_pairs_by_a_loop():
    """DeLong's covariance from placements of each pair, and logit limits of both areas."""
    y, sex, first, second = make_scored(200)
    row = compare_scores(y, sex, first, second).frame.iloc[0]
    areas, pairs = [], []
    for scores in (first, second):
        above, below = scores[y == 1], scores[y == 0]
        wins = (above[:, None] > below) + 0.5 * (above[:, None] == below)
        areas.append(wins.mean())
        pairs.append((wins.mean(axis=1), wins.mean(axis=0)))
    covariance = sum(np.cov([a, b]) / len(a) for a, b in zip(*pairs, strict=True))
    errors = np.sqrt(np.diag(covariance))
    degrees = []
    for one in pairs:
        # Contributions of both classes, with Bessel's correction.
        sizes = [len(placements) for placements in one]
        contributions = np.concatenate(
            [(x - x.mean()) / n * np.sqrt(n / (n - 1)) for x, n in zip(one, sizes, strict=True)]
        )
        second, fourth = (contributions**2).sum(), (contributions**4).sum()
        degrees.append(2.0 * second**2 / (fourth - second**2 / len(y)))
    quantile = t.ppf(0.95, np.minimum(degrees, min((y == 1).sum(), (y == 0).sum()) - 1))
    logits, reach = logit(areas), quantile * errors / (np.array(areas) * (1.0 - np.array(areas)))
    above, below = expit(logits[0] + reach[0]) - areas[0], areas[1] - expit(logits[1] - reach[1])
    correlation = covariance[0, 1] / errors.prod()
    margin = np.sqrt(above**2 + below**2 - 2.0 * correlation * above * below)
    assert row["loss_high"] == pytest.approx(areas[0] - areas[1] + margin)


def test_scorers_of_scikit_learn(applicants, audit):
    candidates = {"plain": applicants.plain}
    named = audit.alternatives(candidates, margin=0.01)
    scored = audit.alternatives(candidates, margin=0.01, performance=make_scorer(accuracy_score))
    pd.testing.assert_frame_equal(named.frame, scored.frame)

    def mean_cost(truth, decision, cost):
        return np.mean(cost * (np.asarray(truth) != np.asarray(decision)))

    scorer = make_scorer(mean_cost, greater_is_better=False, cost=3.0)
    row = audit.alternatives(candidates, margin=0.1, performance=scorer).frame.iloc[0]
    assert row["performance"] == pytest.approx(-3.0 * (applicants.plain != applicants.y).mean())
    with pytest.raises(ValueError, match="performance must be a mean over samples"):
        audit.alternatives(candidates, margin=0.1, performance=make_scorer(balanced_accuracy_score))


def test_numbers_have_squared_errors():
    rng = np.random.default_rng(0)
    sex, y = rng.choice(["f", "m"], 900), rng.normal(size=900)
    in_use = y + rng.normal(size=900) + 0.5 * (sex == "m")
    other = y + rng.normal(size=900)
    audit = Audit.from_predictions(y, in_use, sensitive_features=sex)
    performance = make_scorer(mean_squared_error, greater_is_better=False)
    answer = audit.alternatives({"b": other}, "mean_parity", margin=0.2, performance=performance)
    assert answer.frame["performance"].item() == pytest.approx(-mean_squared_error(y, other))
    assert answer.shown_names == ["b"]
    with pytest.raises(ValueError, match="performance accuracy is of predicted classes"):
        audit.alternatives({"b": other}, "mean_parity", margin=0.2)


def test_small_counts_are_not_published(applicants):
    audit = Audit.from_predictions(
        applicants.y, applicants.in_use, sensitive_features=applicants.sex
    )
    close = applicants.in_use.copy()
    close[[0, 2, 7]] = 1 - close[[0, 2, 7]]
    candidates = {"plain": applicants.plain, "close": close}
    every = audit.alternatives(candidates, margin=0.01)
    answer = audit.alternatives(candidates, margin=0.01, min_published=10)
    assert answer.shown_names == every.shown_names
    assert answer.frame["verdict"].tolist() == every.frame["verdict"].tolist()
    frame = answer.frame.set_index("candidate")
    assert (
        frame.loc["plain", "n_gained"] == every.frame.set_index("candidate").loc["plain"].n_gained
    )
    hidden = ["n_gained", "n_lost", "loss_low", "loss_high", "reduction_low", "times_more"]
    assert frame.loc["close", hidden].isna().all()
    assert "Not published" in answer.findings[-2] and "nan" not in " ".join(answer.findings)
    read = Alternatives.from_json(answer.to_json())
    assert verify(read, audit, candidates=candidates) == []
    assert "sha256" not in answer.source
    # A group of three samples: nothing that compares groups is printed.
    rare = applicants.sex.where(applicants.index > 2, "x")
    small = Audit.from_predictions(applicants.y, applicants.in_use, sensitive_features=rare)
    with pytest.warns(UserWarning, match="nothing is said of them"):
        answer = small.alternatives({"plain": applicants.plain}, margin=0.01, min_published=10)
    assert answer.frame["gap"].isna().all() and np.isnan(answer.baseline["gap"])
    assert "–" not in " ".join(answer.findings) and "plain" in answer.to_markdown()


def test_plot_has_the_margin_as_a_band_and_shown_candidates_filled(applicants, audit):
    answer = audit.alternatives(applicants[["plain", "half", "coin"]], margin=0.01)
    ax = answer.plot()
    (band,) = ax.patches
    base = answer.baseline["performance"]
    assert band.get_y() == pytest.approx(base - 0.01)
    assert band.get_height() == pytest.approx(0.01)
    drawn = {line.get_label(): line for line in ax.lines}
    assert drawn["shown"].get_markerfacecolor() != "white"
    assert drawn["no alternative"].get_markerfacecolor() == "white"
    shown = answer.frame[answer.frame["verdict"] == "shown"]
    np.testing.assert_allclose(drawn["shown"].get_xdata(), shown["gap"])
    np.testing.assert_allclose(drawn["shown"].get_ydata(), shown["performance"])


def test_page_has_the_picture_of_the_plot(applicants, audit):
    names = ["plain", "half", "coin"]
    answer = audit.alternatives(applicants[names], margin=0.01)
    page = answer.to_html()
    figure = page.split('<figure class="plane">')[1].split("</figure>")[0]
    assert figure.count('class="dot ') == 4  # with the model in use
    assert figure.count('class="hole"') == 3 - len(answer.shown_names)
    assert figure.count('class="dot end"') == (answer.frame["verdict"] == "contradicted").sum()
    named = re.findall(r'<span class="(?:left|right)" style="[^"]+">([^<]+)</span>', figure)
    assert named == ["in use", *answer.frame["candidate"]]
    ends = r"-?[\d.]+ to [\d.]+"
    assert re.search(rf"upwards from {ends}, against the gap, from {ends}, with", figure)
    marks = set(re.findall(r'class="dot (\w+)"', figure))
    assert marks and all(f".{mark} " in STYLE or f".{mark}{{" in STYLE for mark in marks)
    # Numbers lie in the picture: the smallest gap is farthest to the left.
    dots = re.findall(r'class="dot \w+" d="M([\d.]+) ([\d.]+)h0"', figure)[1:]
    across, down = np.array(dots, dtype=float).T
    assert (np.argsort(across) == np.argsort(answer.frame["gap"])).all()
    assert (np.argsort(-down) == np.argsort(answer.frame["performance"])).all()
    assert ((across > 0.0) & (across < 100.0) & (down > 0.0) & (down < 100.0)).all()


# Changes of gaps among three groups and more.


@pytest.mark.parametrize("rates", [((0.5, 0.4, 0.35), (0.42, 0.4, 0.38))])
def test_limit_among_three_groups_is_that_by_a_loop(rates):
    rng = np.random.default_rng(0)
    race = rng.choice([*"abc"], 3000)
    u = rng.random(3000)
    codes = np.searchsorted([*"abc"], race)
    in_use, other = ((u < np.array(one)[codes]).astype(int) for one in rates)
    audit = Audit.from_predictions(None, in_use, sensitive_features=race)
    row = audit.alternatives(
        {"b": other}, margin=1.0, performance=lambda _, d: d.astype(float)
    ).frame.iloc[0]
    # Any difference of the model in use bounds its gap from below: half of the error, six pairs.
    groups = [race == g for g in "abc"]
    limits = []
    for i in range(3):
        for j in range(3):
            if i == j:
                continue
            highs = []
            for k in range(3):
                for m in range(3):
                    if k == m:
                        continue
                    weights = np.zeros((2, 3))
                    weights[1, k] += 1
                    weights[1, m] -= 1
                    weights[0, i] -= 1
                    weights[0, j] += 1
                    x = [
                        weights[1, g] * other[rows] + weights[0, g] * in_use[rows]
                        for g, rows in enumerate(groups)
                    ]
                    error = np.sqrt(sum(np.var(one) / len(one) for one in x))
                    highs.append(sum(map(np.mean, x)) + norm.ppf(1 - 0.025 / 6) * error)
            limits.append(max(highs))
    assert row["reduction_low"] >= -min(limits) - 0.003


SIX = (0.55, 0.5, 0.45, 0.4, 0.35, 0.30)
"""Rates of six groups."""


def count_shown(rng, sizes, before, after, n_draws, **settings):
    """In how many draws a candidate with these rates is shown."""
    n_shown = 0
    for _ in range(n_draws):
        group = np.repeat(np.arange(len(sizes)), sizes)
        u = rng.random(len(group))
        decisions = [(u < np.asarray(one)[group]).astype(int) for one in (before, after)]
        audit = Audit.from_predictions(
            None, decisions[0], sensitive_features=pd.Series(group, name="g")
        )
        answer = audit.alternatives(
            {"b": decisions[1]}, margin=1.0, performance=lambda _, d: d.astype(float), **settings
        )
        n_shown += bool(answer.shown_names)
    return n_shown


@pytest.mark.parametrize(
    ("sizes", "before", "after", "settings"),
    [
        ((3600, 1800, 600), (0.5, 0.4, 0.35), (0.45, 0.42, 0.40), {}),
        ((1200, 800, 800) + (400,) * 3, SIX, (0.45, 0.44, 0.43, 0.42, 0.41, 0.40), {}),
        (
            (900, 500, 400),
            (0.5, 0.3, 0.35),
            (0.45, 0.42, 0.45),
            {"constraint": DemographicParity(ratio=0.8)},
        ),
        (
            (900, 500, 400),
            (0.5, 0.3, 0.35),
            (0.45, 0.42, 0.45),
            {"constraint": DemographicParity(reference={"g": 0}, direction="below")},
        ),
    ],
)
def test_falls_are_shown_and_exchanges_of_groups_are_not(sizes, before, after, settings):
    rng = np.random.default_rng(0)
    assert count_shown(rng, sizes, before, after, 4, **settings) >= 3
    exchanged = (before[1], before[0], *before[2:])
    if "reference" not in str(settings):
        assert count_shown(rng, sizes, before, exchanged, 4, **settings) == 0


def test_candidates_of_a_search_are_tested_from_the_best_on(applicants):
    X = np.column_stack([applicants.merit, applicants.sex == "m"])
    train, test = slice(2000), slice(2000, None)
    search = GridSearchCV(LogisticRegression(), {"C": [1.0, 1e-4]}, scoring="neg_log_loss")
    search.fit(X[train], applicants.y[train])
    models = {
        f"C={one['C']}": LogisticRegression(**one).fit(X[train], applicants.y[train])
        for one in search.cv_results_["params"]
    }
    audit = Audit.from_estimator(
        search, X[test], applicants.y[test], sensitive_features=applicants.sex[test]
    )
    answer = audit.alternatives(models, margin=0.05, order="given")
    assert {*answer.frame["candidate"]} == {*models}
    with pytest.raises(ValueError, match="Of a search pass clones"):
        audit.alternatives(search, margin=0.05)


@pytest.mark.slow
def test_error_holds_at_both_margins():
    """A candidate of equal gap, and one at the margin of accuracy, are shown in 5 % at most."""
    rng = np.random.default_rng(0)
    n, n_draws, n_shown = 1500, 400, np.zeros(2)
    for _ in range(n_draws):
        sex = rng.choice(["f", "m"], size=n)
        y = rng.random(n) < 0.5
        first = rng.random(n) < np.where(y, 0.8, 0.3) + 0.1 * (sex == "m")
        again = rng.random(n) < np.where(y, 0.8, 0.3) + 0.1 * (sex == "m")
        equal = np.where(rng.random(n) < 0.2, again, first)  # the same rates: an equal gap
        fair = rng.random(n) < np.where(y, 0.8, 0.35)  # no gap, and as accurate as is known below
        margin = [0.1, (0.8 + 0.7) / 2 - (0.8 + 0.65) / 2]
        audit = Audit.from_predictions(y, first, sensitive_features=sex)
        for i, one in enumerate((equal, fair)):
            n_shown[i] += bool(audit.alternatives({"one": one}, margin=margin[i]).shown_names)
    assert (n_shown / n_draws <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_draws)).all()
