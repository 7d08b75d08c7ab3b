"""Small counts that a report of changes may not show, also as differences of two files."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit, SensitiveFeatures
from tests.audit.test_protection import MINIMUM, Reader

SIZES = {"f": 300, "m": 400, "n": 500}


def make_file(sizes, selected, **more):
    """Table of decisions, of which so many of each group are 1."""
    d = [np.arange(n) < selected.get(group, n // 2) for group, n in sizes.items()]
    sex = np.repeat([*sizes], [*sizes.values()])
    return pd.DataFrame({"sex": sex, "d": np.concatenate(d).astype(int)}).assign(**more)


def make_audits(*tables):
    return [
        Audit.from_predictions(None, table["d"], sensitive_features=table[["sex"]])
        for table in tables
    ]


def test_a_group_that_is_small_in_one_file_is_in_neither():
    tables = [make_file(SIZES, {"f": 60}), make_file({"f": 300, "m": 420, "n": 480}, {"f": 4})]
    first, second = make_audits(*tables)
    plain = first.compare(second)
    changes = first.compare(second, min_published=MINIMUM)
    # Without m, four selections of f were all of the second file less those of m and n.
    assert changes.frame["group"].tolist() == ["n"] and not changes.uncompared
    assert changes.unpublished == "2 of 3 groups by sex with 1,420 samples"
    assert changes.gaps["verdict"].tolist() == plain.gaps["verdict"].tolist() == ["larger"]
    assert changes.has_finding and changes.gaps["change"].isna().all()
    assert str(changes).count("not printed, since it compares groups that are not published") == 1
    assert "it is larger in the population" in str(changes)
    for text in (changes.to_html(), changes.to_json(), changes.to_markdown(), str(changes)):
        assert "48.7" not in text and " 300" not in text and "'f'" not in text


def test_four_samples_are_left_out_of_both_files():
    tables = [make_file(SIZES | {"x": n}, {}) for n in (2, 3)]
    changes = make_audits(*tables)[0].compare(make_audits(*tables)[1], min_published=MINIMUM)
    assert sorted({*changes.frame["group"]}) == ["f", "m", "n"]
    assert [one.n_samples for one in changes.readings] == [1200, 1200]
    assert changes.findings[1] == (
        "Not published: 1 of 4 groups by sex, fewer than 19 samples that no number here counts."
    )
    assert np.isfinite(changes.gaps["change"]).all() and "'x'" not in changes.to_html()


@pytest.mark.parametrize("n_added, n_shown", [(12, 3), (3, 1)])
def test_samples_that_a_longer_file_adds_are_protected(n_added, n_shown):
    added = {"f": n_added, "m": 60, "n": 80}
    sizes = {name: n + added[name] for name, n in SIZES.items()}
    selected = {name: n // 2 + min(added[name] // 2, 30) for name, n in SIZES.items()}
    selected["f"] = 150 + (n_added > 9) * 12
    first, second = make_audits(make_file(SIZES, {}), make_file(sizes, selected))
    changes = first.compare(second, min_published=MINIMUM)
    assert changes.frame["group"].nunique() == n_shown
    assert f"{3 - n_shown} of 3" in changes.unpublished or n_shown == 3
    ids = [np.array([f"{side}{i}" for i in range(len(one.samples.weights))])
           for side, one in (("p", first), ("q", second))]  # fmt: skip
    # Nothing is added to a file of other samples, of which some are in both.
    ids[1][:1200:3] = ids[0][::3]
    others = first.compare(second, ids=ids, min_published=MINIMUM)
    assert others.frame["group"].nunique() == 3


def test_nothing_says_how_many_decisions_of_a_group_changed():
    table = make_file(SIZES, {})
    flipped = np.random.default_rng(0).random(len(table)) < 0.1
    (audit,) = make_audits(table)
    changes = audit.compare(np.where(flipped, 1 - table["d"], table["d"]), min_published=MINIMUM)
    assert changes.moves is None and "decisions differ" not in str(changes)
    assert "numbers of changed decisions, with the limits of changes" in changes.findings[1]
    for table in (changes.frame, changes.gaps):
        assert table[["change_low", "change_high"]].isna().all(axis=None)
    assert "correlation" not in changes.to_html() and changes.frame["change"].notna().all()
    # Where decisions change in one direction alone, differences of numbers say how many.
    lost = table_without_three_selections(audit)
    with pytest.raises(ValueError, match="min_published=10 allows no report"):
        audit.compare(lost, min_published=MINIMUM)


def table_without_three_selections(audit):
    decisions = audit.columns["y_pred"].copy()
    decisions[np.flatnonzero(decisions == 1)[:3]] = 0
    return decisions


def test_samples_of_unknown_group_are_not_compared_and_named_once():
    rng = np.random.default_rng(0)
    group = np.repeat(np.array(["f", "m", None], dtype=object), [300, 400, 200])
    d = (rng.random(900) < np.repeat([0.4, 0.5, 0.9], [300, 400, 200])).astype(int)
    gaps, texts = {}, {}
    for missing in ("exclude", "group"):
        known = SensitiveFeatures(pd.DataFrame({"g": group}), missing=missing)
        changes = Audit.from_predictions(None, d, sensitive_features=known).compare(1 - d)
        gaps[missing], texts[missing] = changes.gaps["before"].item(), str(changes)
    rates = pd.Series(d).groupby(pd.Series(group).fillna("(missing)")).mean()
    assert gaps["group"] == pytest.approx(rates["(missing)"] - rates["f"])
    assert gaps["exclude"] == pytest.approx(abs(rates["m"] - rates["f"]))
    assert texts["exclude"].count("(missing)") == 1 and "Not compared" not in texts["group"]


def test_the_command_protects_both_files(tmp_path, capsys):
    paths = [tmp_path / name for name in ("a.csv", "b.csv")]
    for path, selected in zip(paths, ({"f": 60}, {"f": 4}), strict=True):
        make_file(SIZES, selected).to_csv(path, index=False)
    command = ["compare", *map(str, paths), "--prediction", "d", "--sensitive", "sex"]
    plain = main([*command, "--json", "-"])
    capsys.readouterr()
    assert main([*command, "--json", "-", "--min-published", "10"]) == plain == 3
    results = json.loads(capsys.readouterr().out)
    assert {*results["frame"]["group"]} == {"n"} and "sha256" not in results["source"]
    assert results["unpublished"] == "2 of 3 groups by sex with 1,400 samples"


# What all published numbers of both files together allow.


def draw_files(seed):
    """Two files by two attributes: other samples, a longer file, or the same samples again."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(2, 4, 2)
    kind = ("others", "longer", "same")[seed % 3]
    shares = [rng.dirichlet(np.full(k, rng.choice([0.5, 2.0, 20.0]))) for k in shape]

    def draw(n):
        columns = {
            name: rng.choice([f"{name}{i}" for i in range(len(share))], n, p=share)
            for name, share in zip("ab", shares, strict=True)
        }
        rates = rng.uniform(0.1, 0.9, 2)[:, np.newaxis]
        return pd.DataFrame(columns).assign(
            **dict(zip("yd", 1 * (rng.random((2, n)) < rates), strict=True))
        )

    before = draw(int(rng.integers(300, 3000)))
    if kind == "others":
        return kind, before, draw(int(rng.integers(300, 3000)))
    if kind == "longer":
        return kind, before, pd.concat([before, draw(int(rng.integers(60, 900)))])
    is_flipped = (rng.random(len(before)) < 0.03) & ((before["d"] == 1) | (seed % 2 == 0))
    return kind, before, before.assign(d=before["d"].where(~is_flipped, 1 - before["d"]))


def make_audit(table):
    return Audit.from_predictions(table["y"], table["d"], sensitive_features=table[["a", "b"]])


def list_disclosed(changes, tables, kind):
    """Small counts that follow from the numbers of either file, or from their differences."""
    before, after = tables
    names = pd.concat([table["a"] + " × " + table["b"] for table in tables])
    small = {
        name for name, n in names.value_counts().items() if n / (1 + (kind == "same")) < MINIMUM
    }
    is_left_out = "no number here counts" in changes.unpublished
    tables = [before, after] + [after[len(before) :]] * (kind == "longer")
    for number, table in enumerate(tables):
        both = table["a"] + " × " + table["b"]
        is_counted = ~both.isin(small if is_left_out else ())
        frame = changes.frame[["attribute", "group"]].drop_duplicates()
        columns = {"a": table["a"], "b": table["b"], "a × b": both}
        sizes = [
            int((is_counted & (columns[row.attribute] == row.group)).sum())
            for row in frame.itertuples()
        ]
        everything = {"attribute": "overall", "group": "overall", "n": int(is_counted.sum())}
        frame = pd.concat([frame.assign(n=sizes), pd.DataFrame([everything])])
        frame = frame[frame["n"] > 0]
        if number < 2:
            assert changes.readings[-1 if number else 0].n_samples == is_counted.sum()
        proxy = SimpleNamespace(frame=frame, n_missing={})
        groups = table[["a", "b"]]
        outcomes = (table["y"].to_numpy(), table["d"].to_numpy())
        reader = Reader(proxy, groups, *outcomes, is_counted.to_numpy())
        yield from reader.list_disclosed()
        # Numbers of samples, of outcomes and of decisions, and their combinations.
        sums = [[1, 1, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 1, 0], *np.eye(4)]
        published = reader.equations.reshape(-1, 4, reader.counts.size)[:, 0, ::4]
        counts = published @ (reader.counts * ~reader.left_out[::4, np.newaxis]) @ np.array(sums).T
        yield from counts[(counts > 0) & (counts < MINIMUM)]


def compare_drawn(seed, min_published=MINIMUM):
    """The changes of two drawn files, their tables and kind."""
    kind, *tables = draw_files(seed)
    first, second = map(make_audit, tables)
    other = tables[1]["d"].to_numpy() if kind == "same" else second
    return first.compare(other, min_published=min_published), tables, kind


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("start", [0, 10])
def test_no_small_count_follows_from_two_files(start):
    n_reports = 0
    for seed in range(start, start + 6):
        plain, *_ = compare_drawn(seed, None)
        try:
            changes, tables, kind = compare_drawn(seed)
        except ValueError as error:
            message = str(error)
            assert "allows no report" in message
            continue
        n_reports += 1
        assert not [*list_disclosed(changes, tables, kind)]
        assert changes.gaps["verdict"].tolist() == plain.gaps["verdict"].tolist()
    assert n_reports >= 2
