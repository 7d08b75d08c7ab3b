"""Decisions that are a burden: rates, ratios and words of reports, claims, changes and searches."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from skfair._statistics.limits_of_rates import limit_difference
from skfair.audit import Audit, Claim, FairnessReport, SensitiveFeatures, certify_in_order, verify
from skfair.constraints import DemographicParity, MinimumRate, RateParity

pytestmark = pytest.mark.filterwarnings("ignore:.*count fewer than min_group_size")

LABELS = [("yes", "no"), (1, 0), (True, False), ("no risk", "high, risk"), ("1", "2")]


def draw(seed):
    """A table of decisions and outcomes, settings of its audit, and the smallest group size."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(150, 700))
    positive, other = LABELS[seed % len(LABELS)][:: rng.choice([-1, 1])]
    shares = rng.dirichlet(np.ones(rng.integers(2, 5)))
    shares = np.append(0.99 * shares, 0.01)  # and a group of 1 %
    table = pd.DataFrame({"race": rng.choice([*"abcde"[: len(shares)]], n, p=shares)})
    if seed % 10 == 0:
        table["sex"] = rng.choice(["f", "m"], n)
    rates = rng.random(5)[table["race"].map("abcde".index)]
    if seed % 7 == 0:
        table["y"] = np.where(rng.random(n) < rng.random(), positive, other)
    table["d"] = np.where(rng.random(n) < rates, positive, other)
    settings = {"pos_label": positive, "burden": seed % 2 == 1}
    return table, settings, int(rng.integers(5, 31))


@cache
def limits(hits, n, level, is_ratio=False):
    """Wilson's limits, or exact ones where they are wider and needed."""
    rate = hits / n
    z = special.ndtri(level)
    center = (rate + z**2 / 2 / n) / (1 + z**2 / n)
    margin = z / (1 + z**2 / n) * np.sqrt(rate * (1 - rate) / n + z**2 / 4 / n**2)
    low = max(center - margin, 0.0)
    high = min(center + margin, 1.0)
    if is_ratio or min(hits, n - hits) <= 3 or 1 - level < 0.01:
        exact = special.betaincinv(hits, n - hits + 1, 1 - level) if hits else 0.0
        low = min(low, exact)
        exact = special.betaincinv(hits + 1, n - hits, level) if hits < n else 1.0
        high = max(high, exact)
    return low, high


def compare(first, second, level):
    """The difference of two rates, each of hits and a number, and its limits."""
    p, q = (hits / n for hits, n in (first, second))
    hits, n = zip(first, second, strict=True)
    low, high = (
        -limit_difference(hits[::-1], n[::-1], (1 + level) / 2),
        limit_difference(hits, n, (1 + level) / 2),
    )
    return p - q, low, high


def divide(first, second, level):
    """The ratio of two rates, unknown if the second one is 0, and its limits."""
    logs = []
    for hits, n in (first, second):
        low, high = limits(hits, n, (1 + level) / 2, is_ratio=True)
        value = np.log(hits / n if hits else 0.5 / (n + 1))
        with np.errstate(divide="ignore"):
            logs.append((value, np.log(low), max(np.log(high), value)))
    (p, low_p, high_p), (q, low_q, high_q) = logs
    ends = p - q - np.hypot(p - low_p, high_q - q), p - q + np.hypot(high_p - p, q - low_q)
    ratio = first[0] / first[1] / (second[0] / second[1]) if second[0] else np.nan
    return ratio, *np.exp(ends)


def list_metrics(table, positive):
    """Series of whether a decision or outcome is positive, of the samples that count, by name."""
    d = table["d"] == positive
    if "y" not in table:
        return {"selection_rate": d}
    y = table["y"] == positive
    return {
        "base_rate": y,
        "selection_rate": d,
        "true_positive_rate": d[y],
        "false_positive_rate": d[~y],
        "positive_predictive_value": y[d],
        "accuracy": d == y,
    }


def expect(table, positive, is_burden, min_size):
    """Numbers of a report by attribute, metric, group and column, by pandas and scipy."""
    by = {name: table[name] for name in ("race", "sex") if name in table}
    if len(by) > 1:
        by["race × sex"] = table["race"] + " × " + table["sex"]
    counts = {}
    for attribute, column in by.items():
        for metric, values in list_metrics(table, positive).items():
            groups = values.groupby(column)
            counts[attribute, metric] = pd.DataFrame({"sum": groups.sum(), "size": groups.size()})
    n_tables = sum(len(one) > 1 for one in counts.values())
    numbers = {}
    for (attribute, metric), one in counts.items():
        pairs = {group: (int(hits), int(n)) for group, hits, n in one.itertuples()}
        if not pairs:
            continue
        selections = counts[attribute, "selection_rate"]
        shares = selections["sum"] / selections["size"]
        favour = -shares if is_burden else shares
        is_large = selections["size"] >= min_size
        reference = favour[is_large if is_large.any() else favour.index].idxmax()
        n_pairs = max(1, len(pairs) * (len(pairs) - 1) // 2)
        joint = 1 - 0.05 / max(1, n_tables) / n_pairs
        is_impact = metric == "selection_rate"
        is_turned = is_impact and is_burden
        ratios = {g: (n - hits, n) if is_turned else (hits, n) for g, (hits, n) in pairs.items()}
        judged = [g for g, (_, n) in pairs.items() if n >= min_size] or [*pairs]
        best = max(judged, key=lambda g: round(ratios[g][0] / ratios[g][1], 12))
        level = joint
        if is_impact:
            level = 1 - 0.05 / len(by) / max(1, len(judged) * (len(judged) - 1) // 2)
        for group, (hits, n) in pairs.items():
            row = {"n": n, "estimate": hits / n}
            row["low"], row["high"] = limits(hits, n, 0.975)
            blank = (np.nan,) * 3
            impact = divide(ratios[group], ratios[best], level) if ratios[best][0] else blank
            if group == best and ratios[best][0]:
                impact = (1.0, np.nan, np.nan)
            difference, ratio = blank, blank
            if reference in pairs and group != reference:
                difference = compare(pairs[group], pairs[reference], joint)
                ratio = divide(ratios[group], ratios[reference], joint)
                ratio = impact if is_impact and ratios[best][0] else ratio
            for name, three in zip(
                ("difference", "ratio", "impact_ratio"), (difference, ratio, impact), strict=True
            ):
                row |= dict(zip((name, f"{name}_low", f"{name}_high"), three, strict=True))
            numbers |= {(attribute, metric, group, name): x for name, x in row.items()}
    return numbers


def count_differences(seed):
    """How many numbers of the JSON of a drawn report differ from pandas and scipy, and of how many.

    An intersection of attributes with one group has no table.
    """
    table, settings, min_size = draw(seed)
    attributes = [name for name in ("race", "sex") if name in table]
    audit = Audit.from_predictions(
        table.get("y"),
        table["d"],
        sensitive_features=table[attributes],
        min_group_size=min_size,
        **settings,
    )
    report = audit.report()
    frame = pd.DataFrame(json.loads(report.to_json())["frame"])
    frame = frame[frame["attribute"] != "overall"]
    expected = expect(table, settings["pos_label"], settings["burden"], min_size)
    n_different = 0
    for row in frame.to_dict("records"):
        for name in {one[-1] for one in expected}:
            key = row["attribute"], row["metric"], row["group"], name
            number = np.nan if row[name] is None else float(row[name])
            is_same = np.isclose(number, expected.pop(key), 1e-9, 1e-12, equal_nan=True)
            n_different += not is_same
    n_different += _count_other_impacts(table, report.adverse_impact(), **settings)
    return n_different + len(expected), 16 * len(frame)


def _count_other_impacts(table, impacts, pos_label, burden):
    """How many rows on adverse impact have other counts, ratios or tests than pandas and scipy."""
    is_selected = (table["d"] == pos_label) != burden
    n_other = 0
    for attribute, rows in impacts.groupby("attribute"):
        column = table["race"] + " × " + table["sex"] if "×" in attribute else table[attribute]
        n = is_selected.groupby(column).size()
        hits = is_selected.groupby(column).sum()
        rates = (hits / n)[n >= 0.02 * len(table)]
        best = rates.idxmax()
        for row in rows.to_dict("records"):
            group = row["group"]
            counts = [[hits[one], n[one] - hits[one]] for one in (group, best)]
            expected = [n[group], hits[group], np.nan, np.nan]
            if group in rates:
                ratio = rates[group] / rates[best] if hits[best] else np.nan
                expected[2:] = ratio, stats.fisher_exact(counts).pvalue
            numbers = [row[name] for name in ("n", "n_selected", "impact_ratio", "p_value")]
            is_named = row["metric"] == ("spared_rate" if burden else "selection_rate")
            n_other += not (is_named and np.allclose(numbers, expected, equal_nan=True))
    return n_other


@pytest.mark.parametrize("seed", [0, 1, 2, 7])
def test_numbers_of_drawn_reports_are_those_of_pandas(seed):
    n_different, n = count_differences(seed)
    assert n_different == 0 and n > 30


@pytest.mark.slow
def test_numbers_of_80_drawn_reports_are_those_of_pandas():
    counts = [count_differences(seed) for seed in range(80)]
    assert [sum(column) for column in zip(*counts, strict=True)][0] == 0


# A burden is the success of the other class: ratios, claims and what is published are the same.


def two_readings(decisions, outcomes=None, **settings):
    """Audits of decisions: that "yes" is a burden, and that "no" is a success."""
    return [
        Audit.from_predictions(outcomes, decisions, pos_label=one, burden=one == "yes", **settings)
        for one in ("yes", "no")
    ]


def draw_decisions(seed=0, n=400):
    """Decisions "yes" and "no", outcomes, and three groups, one of them of 1 %."""
    rng = np.random.default_rng(seed)
    race = pd.Series(rng.choice([*"abc"], n, p=[0.5, 0.49, 0.01]), name="race")
    rates = race.map({"a": 0.3, "b": 0.6, "c": 0.9})
    decisions = pd.Series(np.where(rng.random(n) < rates, "yes", "no"), name="d")
    return decisions, rng.choice(["yes", "no"], n), race


def make_settings(name, race):
    """Settings of an audit by their name in a test."""
    rng = np.random.default_rng(1)
    n = len(race)
    is_known = rng.random(n) < 0.8
    return {
        "all": {"sensitive_features": race},
        "weights": {"sensitive_features": race, "sample_weight": rng.gamma(2.0, size=n)},
        "strata": {"sensitive_features": race, "control_features": rng.choice([*"uv"], n)},
        "clusters": {"sensitive_features": race, "groups": np.arange(n) // 3},
        "missing": {"sensitive_features": race.where(is_known, None)},
        "modelled": {
            "sensitive_features": SensitiveFeatures(
                race.replace("c", "a").where(is_known),
                missing="at_random",
                X=rng.normal(size=(n, 1)),
            )
        },
    }[name]


@pytest.mark.covering(0)
@pytest.mark.parametrize("name", ["all", "weights", "strata", "clusters", "missing"])
def test_ratios_are_those_of_the_success_of_the_other_class(name):
    decisions, outcomes, race = draw_decisions()
    settings = make_settings(name, race)
    if name == "missing":
        settings["sensitive_features"] = SensitiveFeatures(race.mask(race == "c"), missing="group")
    reports = [one.report() for one in two_readings(decisions, outcomes, **settings)]
    _check_same_ratios(*reports)
    burden, success = (one.frame.query("metric == 'selection_rate'") for one in reports)
    assert np.allclose(burden["low"], 1.0 - success["high"].to_numpy(), atol=1e-12)
    assert np.allclose(burden["difference_low"], -success["difference_high"], equal_nan=True)


def test_ratios_of_modelled_groups_are_those_of_the_spared():
    decisions, _, race = draw_decisions()
    audit, _ = two_readings(decisions, **make_settings("modelled", race))
    frame = audit.report().frame.query("metric == 'selection_rate' and attribute != 'overall'")
    spared = 1.0 - frame["estimate"]
    assert np.allclose(frame["impact_ratio"], spared / spared.max())
    claim = audit.certify(DemographicParity(ratio=0.5))
    assert claim.estimate == pytest.approx(spared.min() / spared.max(), rel=1e-3)


def _check_same_ratios(burden, success):
    """Ratios, verdicts and adverse impact of two reports are equal, and rates add up to 1."""
    frames = [one.frame[one.frame["metric"] == "selection_rate"] for one in (burden, success)]
    for name in frames[0]:
        first, second = (one[name] for one in frames)
        if "ratio" in name:
            assert np.allclose(first, second, equal_nan=True), name
        if name in ("attribute", "group", "n", "is_small", "is_reference"):
            assert first.tolist() == second.tolist()
    assert np.allclose(frames[0]["estimate"], 1.0 - frames[1]["estimate"].to_numpy())
    gaps = [one.gaps[one.gaps["metric"] == "selection_rate"] for one in (burden, success)]
    for name in ("gap", "ratio", "ratio_low", "ratio_high"):
        assert np.allclose(*(one[name] for one in gaps), equal_nan=True)
    assert gaps[0]["four_fifths"].tolist() == gaps[1]["four_fifths"].tolist()
    assert gaps[0]["lowest"].tolist() == gaps[1]["highest"].tolist()
    if burden.counts_samples:
        first, second = (one.adverse_impact() for one in (burden, success))
        assert set(first["metric"]) == {"spared_rate"}
        pd.testing.assert_frame_equal(first.drop(columns="metric"), second.drop(columns="metric"))


@pytest.mark.covering(0)
@pytest.mark.parametrize("min_published", [5, 60])
def test_what_is_not_published_of_a_burden_is_that_of_success(min_published):
    decisions, outcomes, race = draw_decisions(2, 900)
    audits = two_readings(decisions, outcomes, sensitive_features=race)
    reports = [one.report(min_published=min_published) for one in audits]
    _check_same_ratios(*reports)
    assert reports[0].hidden == reports[1].hidden and reports[0].reading.burden == "yes"
    claims = [
        one.certify(DemographicParity(ratio=0.5), min_published=min_published) for one in audits
    ]
    assert claims[0].sizes == claims[1].sizes
    assert np.allclose(claims[0].low, claims[1].low, equal_nan=True)
    again = FairnessReport.from_json(reports[0].to_json())
    assert again.to_markdown() == reports[0].to_markdown()


RATIOS = [
    DemographicParity(ratio=0.8),
    DemographicParity(ratio=0.4, reference={"race": "a"}, direction="below"),
    RateParity("selection_rate", ratio=0.5),
    RateParity("acceptance_rate", ratio=0.5),
]


@pytest.mark.parametrize(
    ("constraint", "name"),
    [*((one, "all") for one in RATIOS), (RATIOS[0], "weights"), (RATIOS[0], "clusters")],
)
def test_a_ratio_is_claimed_of_those_who_are_spared(constraint, name):
    decisions, outcomes, race = draw_decisions()
    settings = make_settings(name, race) | {"min_group_size": 30}
    burden, success = (
        one.certify(constraint) for one in two_readings(decisions, outcomes, **settings)
    )
    assert burden.metric == "share not decided 'yes'" and success.metric == "selection rate"
    for one in ("verdict", "estimate", "low", "high", "required_sample_size", "sizes"):
        assert getattr(burden, one) == getattr(success, one)
    assert "share not decided 'yes'" in burden.text
    assert burden.source["positive_label"] == "yes" and burden.reading.burden == "yes"
    assert Claim.from_json(burden.to_json()) == burden
    assert verify(burden.to_json(), two_readings(decisions, outcomes, **settings)[0]) == []
    other = Audit.from_predictions(outcomes, decisions, pos_label="yes", **settings)
    assert {"metric", "text", "reading"} <= {*verify(burden.to_json(), other)}


def test_the_report_has_the_ratio_that_is_claimed():
    decisions, outcomes, race = draw_decisions()
    audit, _ = two_readings(decisions, outcomes, sensitive_features=race)
    gap = audit.report().gaps.set_index("metric").loc["selection_rate"]
    claim = audit.certify(DemographicParity(ratio=0.8))
    assert (
        claim.estimate == pytest.approx(gap["ratio"]) and gap["four_fifths"] == "below four fifths"
    )
    assert audit.certify("demographic_parity", 0.1).estimate == pytest.approx(gap["gap"])


@pytest.mark.parametrize(
    "constraint",
    [
        "equalized_odds",
        MinimumRate("selection_rate", 0.2),
        RateParity("true_positive_rate", ratio=0.5),
        DemographicParity(tolerance=0.2),
    ],
)
def test_other_claims_keep_their_numbers(constraint):
    decisions, outcomes, race = draw_decisions()
    tolerance = 0.2 if constraint == "equalized_odds" else None
    claims = [
        Audit.from_predictions(
            outcomes, decisions, sensitive_features=race, pos_label="yes", burden=burden
        ).certify(constraint, tolerance)
        for burden in (True, False)
    ]
    for one in ("verdict", "estimate", "low", "high", "sizes", "counted", "form"):
        assert getattr(claims[0], one) == getattr(claims[1], one)
    text = claims[1].text.replace("selection rates", "shares decided 'yes'")
    text = text.replace("selection rate", "share decided 'yes'")
    assert claims[0].text == text


@pytest.mark.parametrize("positive", ["yes", "no"])
def test_several_classes_have_the_burden_that_is_named(positive):
    decisions, _, race = draw_decisions()
    decisions = decisions.where(np.arange(len(race)) % 3 > 0, "later")
    settings = {"sensitive_features": race, "pos_label": positive, "burden": True}
    audit = Audit.from_predictions(None, decisions, **settings)
    shares = (decisions != positive).groupby(race).mean()[["a", "b"]]
    claim = audit.certify(DemographicParity(ratio=0.5))
    assert claim.estimate == pytest.approx(shares.min() / shares.max())
    assert claim.metric == f"share not decided {positive!r}"
    assert audit.report().gaps["ratio"].item() == pytest.approx(claim.estimate)


def test_the_highest_scores_may_be_a_burden():
    _, outcomes, race = draw_decisions()
    scores = np.random.default_rng(0).random(len(race)) + 0.2 * (race == "b")
    settings = {"sensitive_features": race, "pos_label": "yes", "burden": True}
    report = Audit.from_predictions(outcomes, None, y_score=scores, **settings).top(100).report()
    frame = report.frame.query("metric == 'selection_rate' and group in ['a', 'b']")
    spared = 1.0 - frame["estimate"]
    assert np.allclose(frame["impact_ratio"], spared / spared.max())
    assert "share decided 'yes'" in report.findings[0]


def test_a_scoring_rate_is_left_out_next_to_a_burden():
    decisions, _, race = draw_decisions()
    scores = np.linspace(-1.0, 2.0, len(race))
    settings = {"sensitive_features": race, "pos_label": "yes", "y_score": scores}
    for burden in (True, False):
        metrics = Audit.from_predictions(None, decisions, burden=burden, **settings).report().gaps
        assert ("scoring_rate" in {*metrics["metric"]}) != burden


# Words, formats and errors.


@pytest.mark.slow
def test_reports_speak_of_the_decision_in_the_words_of_the_file():
    decisions, outcomes, race = draw_decisions()
    scores = np.where(decisions == "yes", 0.8, 0.2) + np.arange(len(race)) % 2 / 10
    audit, _ = two_readings(decisions, outcomes, sensitive_features=race, y_score=scores)
    control = Audit.from_predictions(
        outcomes,
        decisions,
        sensitive_features=race,
        control_features=np.arange(len(race)) % 2,
        pos_label="yes",
        burden=True,
    )
    reports = [
        audit.report(subgroups=audit.subgroups(), by_threshold=True, metrics=["f1_score"]),
        audit.report(metrics=["true_negative_rate", "negative_predictive_value", "jaccard_score"]),
        control.report(),
    ]
    texts = [one.to_markdown() + one.to_model_card() for one in reports]
    texts += [str(audit.subgroups()), audit.compare(decisions[::-1].to_numpy()).to_markdown()]
    for text in texts:
        assert "hare decided 'yes'" in text
        for word in ("election rate", "elected", "ejected", "ruly positive", "ruly negative"):
            assert word not in text.replace("Truly positive |", ""), word
    assert "a ratio of 0.5" in reports[0].findings[1]
    assert "of the share not decided 'yes', below four fifths" in reports[0].findings[1]
    assert str(audit.reading).endswith("to be decided 'yes' is a burden.")
    parity = reports[1].to_markdown()
    assert "not decided 'yes', of those without the outcome 'yes'" in parity
    assert "without the outcome 'yes', of those not decided 'yes'" in parity
    assert "Not decided" not in parity and "Spared" in parity


@pytest.mark.slow
def test_labels_are_not_read_as_words():
    decisions = ["selected", "rejected, of all", "rejected, of all"] * 100
    settings = {"sensitive_features": ["f", "m"] * 150, "burden": True}
    for label in ("selected", "rejected, of all"):
        audit = Audit.from_predictions(decisions, decisions, pos_label=label, **settings)
        text = audit.report().to_markdown()
        assert f"True positive rate: decided {label!r}, of those with the outcome {label!r}" in (
            audit.report().to_model_card()
        )
        assert f"**Share decided {label!r} by attribute 1** of all" in text


def test_an_undecided_ratio_is_that_of_the_spared():
    decisions = ["yes"] * 20 + ["no"] * 80 + ["yes"] * 30 + ["no"] * 70
    audit, _ = two_readings(decisions, sensitive_features=["f"] * 100 + ["m"] * 100)
    (question,) = [one for one in audit.report().open_questions if "four fifths" in one]
    assert question.startswith(
        "Whether the share not decided 'yes' by attribute 1 keeps four fifths"
    )


REFUSED = {
    "regression": ([0.5, 1.5] * 50, [0.4, 1.2] * 50, {}, "of a regression have no such decision"),
    "scores": (None, [0.5, 0.2] * 50, {}, "no such decision"),
    "classes": (None, [*"abcd"] * 25, {}, "no such decision"),
    "sets": ([1, 0] * 50, np.ones((100, 2), bool), {}, "no such decision"),
    "no label": (None, [*"ab"] * 50, {}, "pos_label must name"),
    "other label": (None, [*"ab"] * 50, {"pos_label": "c"}, "pos_label"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_burden_that_is_no_decision_is_refused(name):
    y_true, y_pred, settings, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        Audit.from_predictions(
            y_true, y_pred, sensitive_features=[*"fm"] * 50, burden=True, **settings
        )


def test_two_readings_are_not_compared():
    decisions, _, race = draw_decisions()
    audits = two_readings(decisions, sensitive_features=race)
    for first, second in (audits, audits[::-1]):
        with pytest.raises(ValueError, match="burden must be .* it is ('yes'|None) in one"):
            first.compare(second)
        with pytest.raises(ValueError, match="burden must be .* ('yes'|None) in another"):
            certify_in_order([first, second], tolerance=0.2)
    with pytest.raises(ValueError, match="needs selection rates .* and no burden"):
        audits[0].report().to_html(summary="ll144")
