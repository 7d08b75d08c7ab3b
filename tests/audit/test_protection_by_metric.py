"""Groups that are hidden in rates which count outcomes, and published in those of decisions."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from skfair.audit import Audit
from tests.audit.test_protection import MINIMUM, Reader, draw_published, published_cells

N = 1500


def draw_applicants(seed=0):
    """Decisions about applicants, of which few women have the outcome."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], N, p=[0.3, 0.7])
    race = rng.choice(["a", "b", "c"], N, p=[0.1, 0.2, 0.7])
    groups = pd.DataFrame({"sex": sex, "race": race})
    decisions = (rng.random(N) < np.where(sex == "m", 0.3, 0.2)).astype(int)
    outcomes = (rng.random(N) < np.where(sex == "m", 0.2, 0.02)).astype(int)
    return outcomes, decisions, groups


def make_report(outcomes, decisions, groups, minimum=MINIMUM):
    audit = Audit.from_predictions(outcomes, decisions, sensitive_features=groups)
    return audit.report(min_published=minimum)


def select(report, metric):
    """Rows of a metric as a dict of estimates by attribute and group."""
    rows = report.frame[report.frame["metric"] == metric]
    return rows.set_index(["attribute", "group"])["estimate"].to_dict()


def test_selection_rates_of_women_are_published_though_few_have_the_outcome():
    outcomes, decisions, groups = draw_applicants()
    is_woman = groups["sex"] == "f"
    assert 0 < (outcomes[is_woman] & decisions[is_woman]).sum() < MINIMUM
    report = make_report(outcomes, decisions, groups)
    expected = decisions[is_woman].mean()
    assert select(report, "selection_rate")["sex", "f"] == pytest.approx(expected)
    assert ("sex", "f") not in select(report, "true_positive_rate")
    assert ("sex", "m") not in select(report, "true_positive_rate")  # that of women would follow
    assert ("overall", "overall") in select(report, "true_positive_rate")
    assert "in rates that count outcomes 2 of 2 groups by sex" in report.findings[1]
    assert "Selection rate" in report.to_html() and "Selection rate" in report.to_markdown()


@pytest.mark.parametrize("minimum", [10, 20, 30])
@pytest.mark.parametrize("seed", range(4))
def test_outcomes_hide_no_group_of_a_selection_rate(seed, minimum):
    """The rates of decisions are those of a report without outcomes."""
    outcomes, decisions, groups = draw_applicants(seed)
    report = make_report(outcomes, decisions, groups, minimum)
    other = make_report(None, decisions, groups, minimum)
    assert select(report, "selection_rate") == select(other, "selection_rate")
    assert report.n_samples == other.n_samples


def test_rates_that_count_outcomes_are_left_out_if_few_of_all_have_one():
    outcomes, decisions, groups = draw_applicants()
    outcomes = outcomes * (np.cumsum(outcomes) <= 7)
    report = make_report(outcomes, decisions, groups)
    assert {*report.frame["metric"]} == {"selection_rate"}
    assert "in rates that count outcomes all groups and their total" in report.unpublished
    texts = (report.to_html(), report.to_markdown(), report.to_model_card(), report.to_json())
    assert all("accuracy 0" not in text for text in texts)


def test_the_error_names_metric_group_and_count_and_what_helps():
    groups = pd.Series(["f"] * 60 + ["m"] * 60, name="sex")
    decisions = np.zeros(120, dtype=int)
    decisions[[0, 1, 2, *range(60, 90)]] = 1
    message = (
        "min_published=10 allows no report: those of f have 3 events of selection_rate, and no "
        "group can be published without showing such a count, which is below 10. Pass more "
        "samples or fewer attributes, merge groups, or pass a smaller min_published."
    )
    with pytest.raises(ValueError, match=message):
        make_report(None, decisions, groups)
    assert len(make_report(None, decisions, groups, minimum=3).frame) == 3  # as it advises
    merged = make_report(None, decisions, groups.where(groups.index >= 30, "m"))
    assert ("sex", "m") in published_cells(merged) or merged.unpublished
    four_selected = np.zeros(120, dtype=int)
    four_selected[:4] = 1
    with pytest.raises(ValueError, match="all samples together have 4 events of selection_rate"):
        make_report(None, four_selected, groups)


class Program:
    """Linear programs over counts of decisions by combination that agree with what is published."""

    def __init__(self, report, groups, decisions):
        table = pd.crosstab([groups["a"], groups["b"]], decisions)
        self.counts = table.to_numpy(dtype=float)  # (n_combinations, 2)
        a, b = (table.index.get_level_values(i) for i in (0, 1))
        self.members = {("overall", "overall"): np.ones(len(table))}
        self.members |= {("a", one): (a == one).astype(float) for one in a.unique()}
        self.members |= {("b", one): (b == one).astype(float) for one in b.unique()}
        pairs = enumerate(zip(a, b, strict=True))
        self.members |= {("a × b", f"{x} × {y}"): np.eye(len(table))[i] for i, (x, y) in pairs}
        self.published = published_cells(report)
        self.hidden = [cell for cell in self.members if cell not in self.published]

    def range_of(self, form, published):
        """Smallest and largest value of a linear form of the counts."""
        rows = np.vstack([np.kron(self.members[cell], np.eye(2)) for cell in published])
        totals = rows @ self.counts.ravel()
        return [linprog(sign * form, A_eq=rows, b_eq=totals).fun * sign for sign in (1.0, -1.0)]

    def list_forms(self, published):
        """Counts of hidden groups, and their sums inside and outside each published group."""
        hidden = [cell for cell in self.members if cell not in published]
        sums = [self.members[cell] for cell in hidden]
        for attribute in ("a", "b", "a × b"):
            inside = sum((self.members[one] for one in hidden if one[0] == attribute), np.zeros(1))
            masks = [mask for cell, mask in self.members.items() if cell in published]
            sums += [inside * one for mask in masks for one in (mask, 1.0 - mask)]
        for total in ([1.0, 1.0], [0.0, 1.0], [1.0, 0.0]):
            if (self.counts @ total).any():
                yield from (np.kron(one, total) for one in sums if np.size(one) > 1 and one.any())

    def shows_small_count(self, published):
        """Whether a count from 0 to 9 of hidden groups can be computed."""
        for form in self.list_forms(published):
            if form @ self.counts.ravel() < MINIMUM:
                low, high = self.range_of(form, published)
                if high - low < 1e-6:
                    return True
        return False

    def is_small(self, cell):
        """Whether the samples of a group, or a count of their decisions, are few."""
        counts = self.members[cell] @ self.counts
        counts = np.append(counts, counts.sum())
        return bool(((counts > 0) & (counts < MINIMUM)).any())


@pytest.mark.parametrize("seed", range(12))
def test_linear_programs_recompute_no_count_and_need_every_hidden_group(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(300, 1500))
    shares = [rng.dirichlet(np.full(3, 1.0)) for _ in range(2)]
    groups = pd.DataFrame(
        {
            name: rng.choice([f"{name}{i}" for i in range(3)], n, p=share)
            for name, share in zip("ab", shares, strict=True)
        }
    )
    decisions = (rng.random(n) < 0.3).astype(int)
    outcomes = (rng.random(n) < 0.1).astype(int)
    report = make_report(outcomes, decisions, groups)
    if report.n_samples < n:  # small groups are in no number
        return
    program = Program(report, groups, decisions)
    assert not program.shows_small_count(program.published)
    for cell in program.hidden:
        if not program.is_small(cell) and program.members[cell] @ program.counts.sum(axis=1):
            assert program.shows_small_count(program.published | {cell}), cell


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_small_count_is_the_only_one_that_is_possible_beside_rates_of_decisions():
    """Integer programs over all counts that agree with what is published."""
    n_by_metric = 0
    for seed in range(40):
        try:
            report, *data = draw_published(seed)
        except ValueError:
            continue
        if published_cells(report) == published_cells(report, counts_outcomes=True):
            continue
        n_by_metric += 1
        assert list(Reader(report, *data).list_disclosed()) == []
    assert n_by_metric >= 5
