"""Tests of alternatives whose gap is between two groups that were named beforehand."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from skfair.__main__ import main
from skfair.audit import Alternatives, Audit, verify
from skfair.constraints import DemographicParity

SIX = (0.55, 0.5, 0.45, 0.4, 0.35, 0.30)
"""Rates of six groups."""


def make_three(
    n=(600, 300, 150), before=(0.5, 0.4, 0.35), after=(0.45, 0.42, 0.40), seed=0, changed=0.0
):
    """Race of the samples, and decisions of two models with these rates.

    The second one decides a share ``changed`` of the samples by other numbers.
    """
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(n)), n)
    u = rng.random(len(codes))
    v = np.where(rng.random(len(codes)) < changed, rng.random(len(codes)), u)
    in_use = (u < np.asarray(before)[codes]).astype(int)
    candidate = (v < np.asarray(after)[codes]).astype(int)
    return np.array([*"abcdef"])[codes], in_use, candidate


def compare_pair(race, in_use, candidate, **settings):
    audit = Audit.from_predictions(
        None, in_use, sensitive_features=pd.Series(race, name="race"), min_group_size=2
    )
    settings = {"margin": 1.0, "performance": lambda _, d: d.astype(float)} | settings
    return audit.alternatives({"b": candidate}, **settings)


def test_gap_of_a_named_pair_has_the_limit_by_hand():
    race, in_use, candidate = make_three()
    answer = compare_pair(race, in_use, candidate, reference={"race": ("a", "c")})
    row = answer.frame.iloc[0]
    rates = [pd.Series(one).groupby(race).mean() for one in (in_use, candidate)]
    before, after = (one["a"] - one["c"] for one in rates)
    assert answer.baseline["gap"] == pytest.approx(before)
    assert row["gap"] == pytest.approx(max(after, 0.0))
    assert row["reduction"] == pytest.approx(before - max(after, 0.0))
    # The gap falls by less than the smaller of both: the signed fall, and the gap in use.
    lows = []
    for first in ([in_use[race == g] - candidate[race == g] for g in "ac"],) + (
        [in_use[race == g] for g in "ac"],
    ):
        error = np.sqrt(sum(np.var(one) / len(one) for one in first))
        lows.append(first[0].mean() - first[1].mean() - norm.ppf(0.95) * error)
    assert row["reduction_low"] == pytest.approx(min(lows), abs=0.006)
    # In the wrong order there is no gap that could fall.
    swapped = compare_pair(race, in_use, candidate, reference={"race": ("c", "a")})
    assert swapped.baseline["gap"] == 0.0 and not swapped.shown_names


def test_ratio_of_a_named_pair_is_the_second_rate_over_the_first():
    race, in_use, candidate = make_three()
    pair = {"race": ("a", "c")}
    answer = compare_pair(
        race, in_use, candidate, constraint=DemographicParity(ratio=0.8), reference=pair
    )
    rates = [pd.Series(one).groupby(race).mean() for one in (in_use, candidate)]
    before, after = (min(1.0, one["c"] / one["a"]) for one in rates)
    assert answer.baseline["gap"] == pytest.approx(before)
    assert answer.frame["gap"].item() == pytest.approx(after)
    assert answer.shown_names == ["b"]
    assert "'c' divided by the rate of 'a'" in answer.findings[2]


def test_samples_of_other_groups_do_not_count_in_the_gap_of_a_pair():
    race, in_use, candidate = make_three()
    pair = {"race": ("a", "c")}
    full = compare_pair(race, in_use, candidate, reference=pair).frame.iloc[0]
    rows = race != "b"
    without = compare_pair(race[rows], in_use[rows], candidate[rows], reference=pair).frame.iloc[0]
    for name in ("gap", "reduction", "reduction_low", "reduction_high"):
        assert full[name] == pytest.approx(without[name])
    # The performance counts all samples.
    assert full["performance"] == pytest.approx(candidate.mean())


def test_pair_of_intersections_ignores_attributes_that_are_not_named():
    race, in_use, candidate = make_three()
    attributes = pd.DataFrame({"race": race, "sex": np.resize(["f", "m"], len(race)), "old": race})
    audit = Audit.from_predictions(None, in_use, sensitive_features=attributes)
    settings = {"margin": 1.0, "performance": lambda _, d: d.astype(float)}
    pair = {"race": ("a", "c"), "sex": ("m", "f")}
    answer = audit.alternatives({"b": candidate}, reference=pair, **settings)
    first, second = (
        in_use[(race == r) & (attributes["sex"] == s)].mean() for r, s in (("a", "m"), ("c", "f"))
    )
    assert answer.baseline["gap"] == pytest.approx(first - second)
    assert "'a × m' is above the rate of 'c × f' (race, sex)" in answer.findings[2]


def test_answer_says_which_groups_were_compared_and_is_recomputed():
    race, in_use, candidate = make_three()
    every = compare_pair(race, in_use, candidate)
    assert "the largest of 3 pairs of groups, among which the error is divided" in every.findings[2]
    answer = compare_pair(race, in_use, candidate, reference={"race": ("a", "c")})
    sentence = "which are stated to have been named before these data were seen"
    assert sentence in answer.findings[2] and sentence in answer.to_html()
    filed = Alternatives.from_json(answer.to_json())
    assert filed.reference == {"race": ["a", "c"]}
    audit = Audit.from_predictions(
        None, in_use, sensitive_features=pd.Series(race, name="race"), min_group_size=2
    )
    performance = {"performance": lambda _, d: d.astype(float)}
    assert verify(answer.to_json(), audit, candidates={"b": candidate}, **performance) == []
    content = json.loads(answer.to_json())
    content["reference"] = {"race": ["a", "b"]}
    assert "reduction_low" in verify(
        json.dumps(content), audit, candidates={"b": candidate}, **performance
    )


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("a", "must name two groups by their labels"),
        ({"race": "ac"}, "must name two groups by their labels"),
        ({"sex": ("a", "c")}, "attributes of sensitive_features, race, but sex is none"),
        ({"race": ("a", "x")}, "no sample is of 'x'"),
        ({"race": ("a", "a")}, "two different groups"),
    ],
)
def test_pairs_that_do_not_occur_are_refused(reference, message):
    with pytest.raises(ValueError, match=message):
        compare_pair(*make_three(), reference=reference)


def test_pair_and_reference_of_the_constraint_exclude_each_other():
    below = DemographicParity(reference={"race": "a"}, direction="below")
    with pytest.raises(ValueError, match="Leave one of the two out"):
        compare_pair(*make_three(), constraint=below, reference={"race": ("a", "c")})


def test_command_names_a_pair(tmp_path, capsys):
    race, in_use, candidate = make_three()
    path = tmp_path / "decisions.csv"
    table = pd.DataFrame({"race": race, "y": in_use, "old": in_use, "new": candidate})
    table.to_csv(path, index=False)
    arguments = ["alternatives", str(path), "--prediction", "old", "--prediction", "new"]
    arguments += ["--target", "y", "--sensitive", "race", "--margin", "0.2"]
    assert main(arguments) == 0
    assert main([*arguments, "--reference", "race=a,c"]) == 3
    assert "how far the rate of 'a' is above the rate of 'c' (race)" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "--reference", "race"])
    assert "as in race=white,black" in capsys.readouterr().err


def count_pairs_shown(n, before, after, n_draws, pair, changed=0.0):
    """Draws in which the candidate is shown by a named pair, and by a z-test of its difference."""
    n_shown = np.zeros(2)
    for seed in range(n_draws):
        race, in_use, candidate = make_three(n, before, after, seed, changed)
        answer = compare_pair(race, in_use, candidate, reference={"race": pair})
        falls = [in_use[race == g] - candidate[race == g] for g in pair]
        error = np.sqrt(sum(np.var(one, ddof=1) / len(one) for one in falls))
        is_below = falls[0].mean() - falls[1].mean() > norm.ppf(0.95) * error
        n_shown += bool(answer.shown_names), is_below
    return n_shown


def test_named_pair_shows_nearly_what_a_z_test_of_it_shows():
    three = (600, 300, 150), (0.5, 0.4, 0.35), (0.45, 0.42, 0.40)
    shown, possible = count_pairs_shown(*three, 30, ("a", "c"))
    assert possible == 30 and shown >= 25
    six = (60, 60, 60, 60, 60, 60), SIX, (0.45, 0.44, 0.43, 0.42, 0.41, 0.38)
    shown, possible = count_pairs_shown(*six, 30, ("a", "f"), changed=0.7)
    assert possible <= 20 and shown >= 0.8 * possible


@pytest.mark.slow
@pytest.mark.parametrize("rates", [(0.6, 0.4, 0.3), (0.1, 0.05, 0.02), (0.45, 0.5, 0.4)])
def test_equal_gap_of_a_named_pair_is_rarely_shown_to_fall(rates):
    """The candidate decides about a third of the samples again, at the same rates."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(3), (100, 60, 60))
    chances = np.asarray(rates)[codes]
    n_draws = n_shown = 0
    for _ in range(500):
        in_use, again = (rng.random((2, len(codes))) < chances).astype(int)
        candidate = np.where(rng.random(len(codes)) < 0.3, again, in_use)
        race = np.array([*"abc"])[codes]
        answer = compare_pair(race, in_use, candidate, reference={"race": ("a", "c")})
        n_shown += bool(answer.shown_names)
        n_draws += 1
    assert n_shown / n_draws <= 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / n_draws)
