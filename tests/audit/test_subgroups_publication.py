"""Small counts that a search of subgroups may not show, also not as differences of subgroups."""

import json
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from skfair.__main__ import main
from skfair.audit import Audit

MINIMUM = 10


def draw_table(seed):
    """Decisions and outcomes of samples with two or three attributes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(400, 1500))
    names = "abc"[: int(rng.integers(2, 4))]
    columns = {
        name: [f"{name}{i}" for i in rng.choice(3, n, p=rng.dirichlet(np.full(3, 1.0)))]
        for name in names
    }
    table = pd.DataFrame(columns)
    score = sum((table[name] == f"{name}0") * rng.normal(0, 0.4) for name in names)
    rates = np.clip(0.4 + score.to_numpy(), 0.03, 0.97)
    return table.assign(d=1 * (rng.random(n) < rates), y=1 * (rng.random(n) < 0.5))


def search(table, names, metrics="selection_rate", **settings):
    audit = Audit.from_predictions(table["y"], table["d"], sensitive_features=table[names])
    return audit.subgroups(metrics, **settings)


def make_mask(table, subgroup):
    """Mask of the samples that meet the conditions of a subgroup in words."""
    conditions = [one.split(" = ") for one in subgroup.split(" and ")]
    return np.logical_and.reduce([table[name] == label for name, label in conditions])


def list_disclosed(report, table, names):
    """Counts from 1 to 9 of conjunctions and of differences that follow from those published.

    The reader knows numbers of samples and of decisions of listed subgroups and of all samples.
    """
    cells = table.groupby([*names, "y", "d"]).size().reset_index(name="n")
    forms, masks = [], []
    for row in report.flagged.itertuples():
        masks.append(np.asarray(make_mask(cells, row.subgroup)))
        forms.append((row.metric, masks[-1]))
    forms += [(metric, np.ones(len(cells), bool)) for metric in report.searches["metric"]]
    equations = np.array(
        [
            mask & ((metric == "selection_rate") | (cells["y"] == 1)) & (cells["d"] == d)
            for metric, mask in forms
            for d in (0, 1)
        ],
        dtype=float,
    )
    values = [sorted(table[name].unique()) for name in names]
    queried = [
        np.logical_and.reduce(
            [cells[name] == one for name, one in zip(chosen, labels, strict=True)]
        )
        for k in range(1, len(names) + 1)
        for chosen, of in zip(combinations(names, k), combinations(values, k), strict=True)
        for labels in product(*of)
    ]
    queried += [a & ~b for a in masks for b in masks] + [a & b for a, b in combinations(masks, 2)]
    n = cells["n"].to_numpy(dtype=float)
    kinds = [np.isin(cells["d"], kind) for kind in ([0, 1], [0], [1])]
    for form in np.unique([mask & kind for mask in queried for kind in kinds], axis=0) * 1.0:
        if not 0 < form @ n < MINIMUM:
            continue
        known = {"A_eq": equations, "b_eq": equations @ n}
        least = linprog(form, **known).fun
        # The true count is possible, so that a smaller one tells enough.
        if form @ n - least < 0.5 and -linprog(-form, **known).fun - least < 0.5:
            yield form @ n


def count_disclosed(seed, **settings):
    """Numbers of listed subgroups and of counts that follow from them."""
    table = draw_table(seed)
    names = [name for name in "abc" if name in table]
    report = search(table, names, **settings)
    return len(report.flagged), len([*list_disclosed(report, table, names)]), report


def make_overlapping():
    """Women of three regions, of which all but five are in one of two states."""
    table = pd.DataFrame({"sex": np.repeat(["f", "m"], [400, 600])})
    table["state"] = np.where(np.arange(1000) < 395, "in", "out")
    is_positive = np.arange(1000) % 10 < np.where(table["sex"] == "f", 2, 6)
    return table.assign(d=is_positive.astype(int), y=1)


def test_a_subgroup_is_left_out_whose_difference_from_another_is_small():
    table = make_overlapping()
    plain = search(table, ["sex", "state"])
    report = search(table, ["sex", "state"], min_published=MINIMUM)
    assert {*plain.flagged["subgroup"]} >= {"sex = f", "state = in", "sex = f and state = in"}
    assert {*report.flagged["subgroup"]} < {*plain.flagged["subgroup"]}
    assert len([*list_disclosed(plain, table, ["sex", "state"])]) > 0
    assert not [*list_disclosed(report, table, ["sex", "state"])]
    counts = ["n_searched", "n_flagged", "n", "estimate"]
    assert report.searches[counts].equals(plain.searches[counts])
    limits = [one.searches["largest_possible"].item() for one in (plain, report)]
    assert limits[0] <= limits[1] < limits[0] + 0.01 and round(limits[1], 2) == limits[1]
    assert report.findings[0].startswith("Not published, but part of what follows: ")
    assert "395" not in str(report) + report.to_json() or "605" in str(plain)
    assert report.reading.columns[-1].labels == {"in": None, "out": None}


def test_outcomes_of_too_few_samples_are_refused():
    table = make_overlapping().assign(d=lambda one: 1 * (one.index < 4))
    with pytest.raises(ValueError, match="min_published=10 allows no search"):
        search(table, ["sex"], min_published=MINIMUM)
    with pytest.raises(ValueError, match="min_published must be a whole number"):
        search(table, ["sex"], min_published=1)


@pytest.mark.slow
@pytest.mark.parametrize("metrics", ["selection_rate", ["selection_rate", "true_positive_rate"]])
def test_no_small_count_follows_from_listed_subgroups(metrics):
    n_plain = n_listed = 0
    for seed in range(8):
        try:
            listed, disclosed, report = count_disclosed(
                seed, metrics=metrics, min_published=MINIMUM
            )
        except ValueError as error:
            message = str(error)
            assert "allows no search" in message
            continue
        n_listed += listed
        assert not disclosed
        _, disclosed, plain = count_disclosed(seed, metrics=metrics)
        n_plain += disclosed
        assert report.searches["n_flagged"].equals(plain.searches["n_flagged"])
    assert n_listed > 0 and n_plain > 0


def test_the_command_protects_subgroups(tmp_path, capsys):
    path = tmp_path / "a.csv"
    make_overlapping().to_csv(path, index=False)
    command = ["subgroups", str(path), "--prediction", "d", "--sensitive", "sex", "state"]
    plain = main([*command, "--json", "-"])
    capsys.readouterr()
    assert main([*command, "--json", "-", "--min-published", "10"]) == plain == 3
    results = json.loads(capsys.readouterr().out)
    assert len(results["flagged"]["subgroup"]) == 1 and "sha256" not in results["source"]
