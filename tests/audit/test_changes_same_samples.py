"""Two audits that look like the same samples, and limits of changes that are not shown."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit
from skfair.metrics import RATES

RNG = np.random.default_rng(0)
N = 3000
SEX = RNG.choice(["f", "m"], N)
Y = (RNG.random(N) < 0.4).astype(int)
OLD = (RNG.random(N) < np.where(SEX == "m", 0.42, 0.35)).astype(int)
NEW = np.where((np.random.default_rng(5).random(N) < 0.13) & (SEX == "m"), 0, OLD)
SAME = "look like the same samples"


def audit(decisions, y=Y, **settings):
    return Audit.from_predictions(y, decisions, **{"sensitive_features": SEX} | settings)


@pytest.fixture(scope="module", name="comparison")
def compare_two_audits():
    with pytest.warns(UserWarning, match=SAME):
        return audit(OLD).compare(audit(NEW))


def find_gap(changes):
    return changes.gaps.set_index("metric").loc["selection_rate"]


def test_the_page_says_that_the_samples_have_equal_rows(comparison):
    sentence = "on different samples, although outcomes, groups and weights are equal row by row."
    assert comparison.has_equal_rows
    assert comparison.findings[0].endswith(sentence)
    assert sentence in comparison.to_html()
    assert '"has_equal_rows": true' in comparison.to_json()


def test_both_ways_to_pair_them_give_the_limits_of_a_paired_bootstrap(comparison):
    def draw_change(rng):
        rows = rng.integers(N, size=N)
        gaps = [
            abs(np.diff([one[rows][SEX[rows] == group].mean() for group in "fm"])[0])
            for one in (OLD, NEW)
        ]
        return gaps[1] - gaps[0]

    rng = np.random.default_rng(1)
    expected = np.percentile([draw_change(rng) for _ in range(1000)], [2.5, 97.5])
    ids = np.arange(N)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paired = [audit(OLD).compare(NEW), audit(OLD).compare(audit(NEW), ids=(ids, ids))]
    for changes in paired:
        limits = find_gap(changes)[["change_low", "change_high"]].tolist()
        # The intervals hold for all pairs of groups, and are a little wider.
        assert limits == pytest.approx(expected, abs=0.004)
        assert not changes.has_equal_rows
    widths = [np.ptp(find_gap(one)[["change_low", "change_high"]]) for one in (comparison, *paired)]
    assert max(widths[1:]) < 0.5 * widths[0]


def test_a_command_names_the_option_that_pairs(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"id": np.arange(N), "sex": SEX, "y": Y})
    table.assign(d=OLD).to_csv("old.csv", index=False)
    table.assign(d=NEW).to_csv("new.csv", index=False)
    words = ["compare", "old.csv", "new.csv", "--prediction", "d", "--target", "y"]
    main([*words, "--sensitive", "sex"])
    printed = capsys.readouterr()
    assert SAME in printed.err and "--id" in printed.err
    main([*words, "--sensitive", "sex", "--id", "id"])
    printed = capsys.readouterr()
    assert SAME not in printed.err
    assert "on the same samples." in printed.out


WEIGHTS = np.where(np.arange(N) % 3, 1.0, 2.0)
ORDER = np.random.default_rng(2).permutation(N)
OTHERS = {
    "another outcome": {"y": np.where(np.arange(N) == 7, 1 - Y, Y)},
    "another group": {"sensitive_features": np.where(np.arange(N) == 7, "m", SEX[::-1])},
    "other weights": {"sample_weight": WEIGHTS},
    "fewer samples": {"y": Y[1:], "sensitive_features": SEX[1:], "decisions": NEW[1:]},
    "another order": {"y": Y[ORDER], "sensitive_features": SEX[ORDER], "decisions": NEW[ORDER]},
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_samples_do_not_have_equal_rows(name):
    settings = {"decisions": NEW} | OTHERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not audit(OLD).compare(audit(**settings)).has_equal_rows


def test_sorted_files_do_not_have_equal_rows():
    order = np.lexsort((Y, SEX))
    sorted_rows = {"y": Y[order], "sensitive_features": SEX[order]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        changes = audit(OLD[order], **sorted_rows).compare(audit(NEW[order], **sorted_rows))
    assert not changes.has_equal_rows


def test_a_change_that_may_be_chance_has_limits_around_0(comparison):
    """Limits of one change by itself exclude 0, and of one among 6 gaps contain it."""
    gap = find_gap(comparison)
    assert gap["change_high"] < 0.0 < gap["adjusted_high"]
    assert not gap["is_significant"]
    sentence = next(one for one in comparison.findings if "selection rate" in one)
    low, high = (100 * gap[name] for name in ("adjusted_low", "adjusted_high"))
    n_gaps = len(comparison.gaps)
    stated = re.search(
        r"\((\S+) to (\S+), as one of (\d+) gaps\): the change may be chance", sentence
    )
    assert [float(stated[1]), float(stated[2])] == pytest.approx([low, high], abs=0.1)
    assert int(stated[3]) == n_gaps
    # Holm's procedure leaves a sixth of the error to each gap, as none is significant.
    level = 1.0 - 0.05 / n_gaps
    with pytest.warns(UserWarning, match=SAME):
        other = find_gap(audit(OLD).compare(audit(NEW), confidence_level=level))
    assert [low, high] == pytest.approx(
        [100 * other["change_low"], 100 * other["change_high"]], abs=1e-9
    )


@pytest.mark.parametrize("seed", range(8))
def test_no_sentence_denies_its_interval(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([300, 1000, 3000]))
    groups = rng.choice([*"abcd"[: rng.integers(2, 5)]], n)
    rates = rng.random(4) * 0.3 + 0.3
    codes = np.unique(groups, return_inverse=True)[1]
    both = [(rng.random(n) < rates[codes] + shift * codes).astype(int) for shift in (0, 0.03)]
    y = rng.integers(2, size=n)
    order = rng.permutation(n)
    before = audit(both[0], y, sensitive_features=groups)
    after = audit(both[1][order], y[order], sensitive_features=groups[order])
    changes = before.compare(after, metrics=[*RATES])
    is_open = changes.gaps["verdict"] == "open"
    limits = changes.gaps.loc[is_open, ["adjusted_low", "adjusted_high"]]
    assert (limits["adjusted_low"] <= 0.0).all()
    assert (limits["adjusted_high"] >= 0.0).all()
    gaps = changes.gaps.loc[is_open]
    excludes = (gaps["change_low"] > 0.0) | (gaps["change_high"] < 0.0)
    stated = [one for one in changes.findings if ", as one of " in one]
    assert len(stated) <= excludes.sum()
