"""Small counts that a report may not publish, and the groups that protect them."""

import json
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from skfair.__main__ import main
from skfair._groups import check_groups
from skfair.audit import Audit, FairnessReport
from skfair.audit._protection import _disclosing_equations, _list_subsets, _suppress_secondary
from skfair.audit._tables import groupings
from tests.audit.doors import report_predictions

MINIMUM = 10


def make_report(counts, seed=0, **settings):
    """Report of decisions in groups whose sizes are a table of two attributes."""
    rng = np.random.default_rng(seed)
    counts = np.asarray(counts)
    first, second = np.indices(counts.shape).reshape(2, -1).repeat(counts.ravel(), axis=1)
    groups = pd.DataFrame({"a": [f"a{i}" for i in first], "b": [f"b{i}" for i in second]})
    decisions = rng.integers(2, size=len(groups))
    truth = rng.integers(2, size=len(groups))
    report = report_predictions(
        settings.pop("y_true", truth),
        decisions,
        sensitive_features=groups,
        min_published=settings.pop("min_published", MINIMUM),
        **settings,
    )
    return report, groups, truth, decisions


def published_cells(report, counts_outcomes=False):
    """Pairs of attribute and group with a rate, or with a rate that counts outcomes."""
    frame = report.frame
    if counts_outcomes and "metric" in frame:
        frame = frame[frame["metric"] != "selection_rate"]
    return set(frame[["attribute", "group"]].itertuples(index=False, name=None))


def count_mask(report, groups):
    """Mask of the samples that a protected report counts: all, or those of groups that are large.

    It counts what it says.
    """
    first, second = groups.astype(str).items()
    names = first[1].str.cat(second[1], sep=" × ")
    is_large = (names.map(names.value_counts()) >= MINIMUM).to_numpy()
    mask = is_large if report.n_samples < len(groups) else np.ones(len(groups), dtype=bool)
    assert report.n_samples == mask.sum() == report.reading.n_samples
    assert report.reading.n_rows is None
    return mask


@pytest.mark.slow
def test_four_samples_are_left_out_of_all_numbers_rather_than_three_more_groups():
    report, groups, *_ = make_report([[4, 200, 300], [250, 400, 500], [600, 700, 800]])
    cells = published_cells(report)
    combined = {name for attribute, name in cells if attribute == "a × b"}
    everything = {f"a{i} × b{j}" for i in range(3) for j in range(3)}
    assert everything - combined == {"a0 × b0"}
    assert {name for attribute, name in cells if attribute == "a"} == {"a0", "a1", "a2"}
    unpublished = "1 of 9 groups by a × b, fewer than 10 samples that no number here counts"
    assert report.findings[1] == f"Not published: {unpublished}."
    assert report.provenance["suppressed"] == (
        f"{unpublished}, so that counts from 1 to 9 are not published and cannot be computed"
    )
    assert report.n_samples == 3750 and count_mask(report, groups).sum() == 3750
    sizes = report.frame[report.frame["metric"] == "selection_rate"].groupby("attribute")["n"]
    assert (sizes.sum() == 3750).all()


@pytest.mark.slow
def test_a_group_of_990_is_not_hidden_for_three_samples():
    group = np.repeat(["a", "b", "c", "tiny"], [1000, 1000, 990, 3])
    decisions = np.concatenate(
        [np.arange(n) < k for n, k in ((1000, 302), (1000, 317), (990, 600), (3, 1))]
    )
    report = report_predictions(None, decisions, sensitive_features=group, min_published=MINIMUM)
    assert {name for _, name in published_cells(report)} == {"overall", "a", "b", "c"}
    assert report.n_samples == 2990 and report.has_finding
    assert report.findings[0].startswith("2,990 samples in 3 groups by attribute 1 were audited")
    assert report.gaps["ratio"].item() == pytest.approx(0.302 / (600 / 990))
    assert "tiny" not in report.to_html() + report.to_json() and "2,993" not in report.to_html()


def draw_rare_cell():
    """Groups by two attributes, and decisions: four of 150 samples of one of them are selected."""
    counts = np.array([[150, 200, 300], [250, 400, 500], [600, 700, 800]])
    first, second = np.indices(counts.shape).reshape(2, -1).repeat(counts.ravel(), axis=1)
    groups = pd.DataFrame({"a": [f"a{i}" for i in first], "b": [f"b{i}" for i in second]})
    decisions = np.arange(len(groups)) % 2
    decisions[:150] = np.arange(150) < 4
    return groups, decisions


def test_a_small_group_takes_the_next_smallest_of_its_margins():
    # a0 x b0 is small. By hand: one more cell of its row, one of its column, and their corner.
    groups, decisions = draw_rare_cell()
    report = report_predictions(None, decisions, sensitive_features=groups, min_published=MINIMUM)
    assert not any(computable_counts(report, groups))
    cells = published_cells(report)
    combined = {name for attribute, name in cells if attribute == "a × b"}
    everything = {f"a{i} × b{j}" for i in range(3) for j in range(3)}
    assert everything - combined == {"a0 × b0", "a0 × b1", "a1 × b0", "a1 × b1"}
    assert {name for attribute, name in cells if attribute == "a"} == {"a0", "a1", "a2"}
    unpublished = "4 of 9 groups by a × b with 1,000 samples"
    assert report.provenance["suppressed"].startswith(f"{unpublished}, so that counts from 1 to 9")
    assert report.findings[1] == f"Not published, but part of what follows: {unpublished}."
    gaps = report.gaps.set_index(["attribute", "metric"])
    assert np.isnan(gaps.loc[("a × b", "selection_rate"), "gap"])
    plain = report_predictions(None, decisions, sensitive_features=groups).gaps
    plain = plain.set_index(["attribute", "metric"])
    for attribute in ("a", "b"):
        pd.testing.assert_frame_equal(
            gaps.loc[attribute], plain.loc[attribute], check_dtype=False, check_exact=True
        )


def test_a_small_number_of_selections_is_a_small_count():
    sex = np.repeat(["f", "m", "x"], [200, 300, 400])
    decisions = np.zeros(900, dtype=int)
    decisions[:5], decisions[200:300], decisions[500:700] = 1, 1, 1
    report = report_predictions(None, decisions, sensitive_features=sex, min_published=MINIMUM)
    # f has five selections; without m, too, they were all selections less those of m and x.
    assert {group for _, group in published_cells(report)} == {"overall", "x"}
    open_report = report_predictions(None, decisions, sensitive_features=sex)
    assert len(published_cells(open_report)) == 4


def computable_counts(report, groups, counts_outcomes=False):
    """Brute force: whether each unpublished count can be computed from the published ones."""
    groups = groups[count_mask(report, groups)]
    by = groupings(check_groups(groups, len(groups)))
    cells = [(name, group) for name, one in by.items() for group in _texts(one)]
    rows = [[1.0 if name == of else 0.0 for name, _ in cells] for of in by]
    for attribute in groups:
        for value in groups[attribute].unique():
            row = []
            for name, group in cells:
                if name == attribute:
                    row.append(-1.0 if group == value else 0.0)
                else:
                    row.append(1.0 if name == "a × b" and value in group.split(" × ") else 0.0)
            rows.append(row)
    published = published_cells(report, counts_outcomes)
    if not published:
        return []
    hidden = np.array([cell not in published for cell in cells])
    if not hidden.any():
        return []
    hidden_rows = np.array(rows)[:, hidden]
    rank = np.linalg.matrix_rank(hidden_rows)
    units = np.eye(hidden.sum())
    return [np.linalg.matrix_rank(np.vstack((hidden_rows, unit))) == rank for unit in units]


def _texts(groups):
    return [" × ".join(name) if isinstance(name, tuple) else str(name) for name in groups.names]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 60), min_size=3, max_size=3), min_size=2, max_size=4),
    st.integers(0, 3),
)
def test_no_small_count_is_published_or_computable(counts, seed):
    assume(np.sum(counts) > 0)
    try:
        report, groups, truth, decisions = make_report(counts, seed)
    except ValueError as error:
        message = str(error)
        assert "min_published=10 allows no report" in message
        return
    # Every published count of the confusion matrix is 0 or at least the minimum.
    mask = count_mask(report, groups)
    columns = {"a": groups["a"], "b": groups["b"], "a × b": groups["a"] + " × " + groups["b"]}
    for attribute, group in published_cells(report):
        inside = (
            np.ones(len(groups), bool) if attribute == "overall" else columns[attribute] == group
        )
        inside &= mask
        table = pd.crosstab(truth[inside], decisions[inside], margins=True)
        if (attribute, group) not in published_cells(report, counts_outcomes=True):
            table = table.loc[["All"]]  # only the samples and the selected ones
        assert not ((table > 0) & (table < MINIMUM)).any(axis=None)
    for counts_outcomes in (False, True):
        assert not any(computable_counts(report, groups, counts_outcomes))


@pytest.mark.slow
def test_no_format_has_a_group_that_is_not_published():
    groups, decisions = draw_rare_cell()
    report = report_predictions(None, decisions, sensitive_features=groups, min_published=MINIMUM)
    texts = (
        report.to_html(),
        report.to_markdown(),
        report.to_json(),
        report.to_model_card(),
        str(report),
    )
    for text in texts:
        assert "a0 × b0" not in text and "a1 × b1" not in text
    for table in (report.to_frame(), report.gaps, report.adverse_impact()):
        assert not table.isin(["a0 × b0", "a1 × b1"]).any(axis=None)
    rebuilt = FairnessReport.from_json(report.to_json())
    assert rebuilt.to_html() == report.to_html()
    assert "Groups not published: 4 of 9 groups by a × b" in report.to_model_card()


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(12))
def test_statuses_are_those_of_all_groups(seed):
    """Whether gaps are significant, keep four fifths, and the status do not depend on hiding."""
    rng = np.random.default_rng(seed)
    n_first = rng.integers(1, 10) if seed % 2 else rng.integers(40, 90)
    sizes = np.r_[n_first, rng.integers(200, 1500, rng.integers(2, 5))]
    group = np.repeat([f"g{i}" for i in range(len(sizes))], sizes)
    rates = rng.uniform(0.3, 0.7, len(sizes))[np.repeat(np.arange(len(sizes)), sizes)]
    decisions = (rng.random(len(group)) < rates).astype(int)
    if not seed % 2:  # g0 is compared, and some of its samples are selected
        decisions[:n_first] = np.arange(n_first) < 1 + seed % 8
    pages = [
        report_predictions(None, decisions, sensitive_features=group, min_published=minimum)
        for minimum in (None, MINIMUM)
    ]
    plain, protected = pages
    assert plain.has_finding == protected.has_finding
    for name in ("four_fifths", "is_significant"):
        assert plain.gaps[name].tolist() == protected.gaps[name].tolist()
    shown = {*protected.frame["group"]} - {"overall"}
    hidden = {*plain.frame["group"]} - {"overall"} - shown
    assert "g0" in hidden and len(hidden) == (1 if seed % 2 else 2)
    n_hidden = 0 if seed % 2 else int(np.isin(group, [*hidden]).sum())
    assert protected.hidden["attribute 1"] == [len(hidden) * (n_hidden > 0), n_hidden]
    # A ratio or gap that is printed is that of all groups.
    gap = protected.gaps.iloc[0]
    expected = plain.gaps.iloc[0]
    compared = {expected["lowest"], expected["highest"]}
    assert np.isnan(gap["gap"]) or (gap["gap"] == expected["gap"] and compared <= shown)
    assert seed % 2 == np.isfinite(gap["gap"])
    rows = plain.frame.set_index("group")["impact_ratio"]
    for row in protected.frame[protected.frame["attribute"] != "overall"].itertuples():
        assert np.isnan(row.impact_ratio) or row.impact_ratio == rows[row.group]
    for row in protected.adverse_impact().itertuples():
        table = plain.adverse_impact().set_index("group")["impact_ratio"]
        assert np.isnan(row.impact_ratio) or row.impact_ratio == table[row.group]
    assert str(protected).count("four fifths") == str(plain).count("four fifths")


def test_a_few_missing_values_are_not_counted():
    sex = np.repeat(["f", "m", "x", None], [200, 300, 400, 5])
    decisions = np.arange(905) % 2
    report = report_predictions(
        None, decisions, sensitive_features=sex, missing="exclude", min_published=MINIMUM
    )
    assert report.n_missing == {} and "Samples of unknown group" not in report.to_html()
    # Five samples are left out of all numbers, so that f need not be hidden.
    assert {group for _, group in published_cells(report)} == {"overall", "f", "m", "x"}
    assert report.n_samples == 900


def test_the_command_passes_the_minimum(tmp_path, capsys):
    path = tmp_path / "d.csv"
    sex = np.repeat(["f", "m", "x", "y"], [5, 300, 400, 400])
    pd.DataFrame({"d": np.arange(1105) % 2, "sex": sex}).to_csv(path, index=False)
    columns = ["--prediction", "d", "--sensitive", "sex", "--json", "-"]
    main(["report", str(path), *columns, "--min-published", "10"])
    frame = json.loads(capsys.readouterr().out)["frame"]
    assert sorted(set(frame["group"])) == ["m", "overall", "x", "y"]


@pytest.mark.parametrize("wrong", [1, 0, 2.5, True, "10"])
def test_other_minima_are_refused(wrong):
    with pytest.raises(ValueError, match="min_published must be a whole number"):
        make_report([[100, 100], [100, 100]], min_published=wrong)


def test_clusterings_and_small_data_are_refused():
    with pytest.raises(ValueError, match="not the balance of groups in clusters"):
        make_report([[100, 100], [100, 100]], task="clustering", y_true=None)
    with pytest.raises(ValueError, match="allows no report: all samples together"):
        make_report([[2, 1], [1, 2]])
    with pytest.raises(ValueError, match="no group can be published"):
        report_predictions(
            None, [1] * 3 + [0] * 97 + [0, 1] * 150, sensitive_features=[0] * 100 + [1] * 300,
            min_published=MINIMUM,
        )  # fmt: skip


# What all published numbers together allow: integer programs over all counts.


def draw_published(seed):
    """A random protected report of two attributes with missing values, and what it is about."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(2, 5, 2)
    n = int(rng.integers(300, 3000))
    shares = [rng.dirichlet(np.full(k, rng.choice([0.5, 2.0, 20.0]))) for k in shape]
    groups = pd.DataFrame(
        {
            name: rng.choice([f"{name}{i}" for i in range(len(share))], n, p=share)
            for name, share in zip("ab", shares, strict=True)
        }
    ).astype(object)
    groups[rng.random((n, 2)) < rng.choice([0.0, 0.01, 0.1])] = None
    truth = (rng.random(n) < rng.uniform(0.1, 0.9)).astype(int)
    decisions = (rng.random(n) < rng.uniform(0.05, 0.9)).astype(int)
    settings = {"sample_weight": rng.integers(1, 4, n)} if seed % 5 == 4 else {}
    report = report_predictions(
        truth, decisions, sensitive_features=groups, missing="exclude",
        min_published=MINIMUM, **settings,
    )  # fmt: skip
    return report, groups.fillna("?"), truth, decisions


class Reader:
    """One who knows all that is published, and asks for which counts it leaves one value alone."""

    def __init__(self, report, groups, truth, decisions, is_counted=None):
        outcome = 2 * truth + decisions
        self.cells = sorted(set(map(tuple, groups.to_numpy())))
        position = {cell: i for i, cell in enumerate(self.cells)}
        codes = [position[tuple(row)] for row in groups.to_numpy()]
        self.counts = np.zeros((len(self.cells), 4))
        np.add.at(self.counts, (codes, outcome), 1)
        # Cells that no number counts are known to the reader, who wants to know their counts.
        is_counted = count_mask(report, groups) if is_counted is None else is_counted
        n_counted = np.zeros_like(self.counts)
        np.add.at(n_counted, (np.array(codes)[is_counted], outcome[is_counted]), 1)
        self.left_out = np.repeat(n_counted.sum(axis=1) < self.counts.sum(axis=1), 4)
        self.members = {"overall": {"overall": np.ones(len(self.cells))}}
        for j, name in enumerate(groups):
            values = sorted({cell[j] for cell in self.cells} - {"?"})
            self.members[name] = {
                value: np.array([float(cell[j] == value) for cell in self.cells])
                for value in values
            }
        self.members["a × b"] = {
            " × ".join(cell): np.eye(len(self.cells))[i]
            for i, cell in enumerate(self.cells)
            if "?" not in cell
        }
        # Counts of all four outcomes follow from the rates of a published group, or those of
        # samples and decisions from its selection rate.
        published = published_cells(report)
        in_full = published_cells(report, counts_outcomes=True)
        rows = [self.members[attribute][group] for attribute, group in sorted(published)]
        totals = [
            np.eye(4) if cell in in_full else np.array([[1, 1, 1, 1], [0, 1, 0, 1]], dtype=float)
            for cell in sorted(published)
        ]
        self.equations = np.vstack(
            [np.kron(row, total) for row, total in zip(rows, totals, strict=True)]
        )
        sizes = report.frame.groupby(["attribute", "group"])["n"].max()
        for cell, row in zip(sorted(published), rows, strict=True):
            assert sizes[cell] == row @ n_counted.sum(axis=1)
        for name, n in report.n_missing.items():
            is_missing = [
                float("?" in (cell if name == "a × b" else cell["ab".index(name)]))
                for cell in self.cells
            ]
            assert n == np.dot(is_missing, n_counted.sum(axis=1))
            self.equations = np.vstack((self.equations, np.kron(is_missing, np.ones(4))))
        self.hidden = [
            mask
            for attribute, by_group in self.members.items()
            for group, mask in by_group.items()
            if (attribute, group) not in in_full
        ]

    def is_known(self, form):
        """Whether all counts that are possible give a form the same value."""
        true = self.counts.ravel()
        is_in = ~self.left_out
        totals = self.equations[:, is_in] @ true[is_in]
        bound = self.left_out.sum() / 4 * (MINIMUM - 1)
        constraint = [
            LinearConstraint(self.equations * is_in, totals, totals),
            LinearConstraint(self.left_out.astype(float), 0.0, bound),
        ]
        for sign in (1.0, -1.0):
            result = milp(
                sign * form,
                constraints=constraint,
                integrality=np.ones(len(true)),
                bounds=Bounds(0, true.sum()),
                options={"time_limit": 10.0},
            )
            if abs(sign * result.fun - form @ true) > 0.5:
                return False
        return True

    def is_published(self, form):
        return bool((self.equations == form).all(axis=1).any())

    def follows_from_published_zero(self, mask, total):
        """Whether no sample of a published group has a decision: then none of an outcome has it."""
        decisions = np.array([[0, 1, 0, 1], [1, 0, 1, 0]])
        return self.is_published(np.kron(mask, np.ones(4))) and any(
            (total <= one).all() and not mask @ self.counts @ one for one in decisions
        )

    def list_disclosed(self):
        """Small counts and zeros of suppressed groups that follow, of outcomes that occur."""
        totals = np.array([[1, 1, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1], *np.eye(4)], dtype=float)
        for mask in self.hidden:
            for total in totals:
                form = np.kron(mask, total)
                if self.is_published(form) or self.follows_from_published_zero(mask, total):
                    continue  # as samples and decisions may be without outcomes
                if not (self.counts @ total).any() or form @ self.counts.ravel() >= MINIMUM:
                    continue
                if self.is_known(form):
                    yield form @ self.counts.ravel()


def count_disclosed(seeds):
    """Numbers of protected reports, and of counts that follow from one."""
    n_reports = n_disclosed = 0
    for seed in seeds:
        try:
            report, *data = draw_published(seed)
        except ValueError as error:
            message = str(error)
            assert "allows no report" in message
            continue
        n_reports += 1
        n_disclosed += len(list(Reader(report, *data).list_disclosed()))
    return n_reports, n_disclosed


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_small_count_is_the_only_one_that_is_possible():
    # In 1014 samples of unknown group are left out, which must not protect another group.
    n_reports, n_disclosed = count_disclosed([*range(10), 1014])
    assert n_reports >= 6 and n_disclosed == 0


@pytest.mark.slow
@pytest.mark.hypothesis
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("start", range(1000, 1750, 150))
def test_no_small_count_of_many_reports_is_the_only_one_that_is_possible(start):
    """`make test-all` draws 100 tables, and `make test-random` all 500."""
    n = 100 if settings().max_examples >= 100 else 20
    n_reports, n_disclosed = count_disclosed(range(start, start + n))
    assert n_reports >= 2 * n / 3 and n_disclosed == 0


def test_weights_do_not_hide_that_one_is_selected():
    sex = np.repeat(["f", "m", "x"], [100, 300, 400])
    decisions = np.arange(800) % 2
    decisions[:100] = 0
    decisions[0] = 1
    weights = np.where(np.arange(800) == 0, 30.0, 1.0)
    report = report_predictions(
        None, decisions, sensitive_features=sex, sample_weight=weights, min_published=MINIMUM
    )
    assert "f" not in {group for _, group in published_cells(report)}


def test_missing_values_that_protect_a_group_are_not_counted():
    sex = np.repeat(["f", "m", "x", None], [500, 600, 3, 15])
    report = report_predictions(
        None, np.arange(1118) % 2, sensitive_features=sex, missing="exclude", min_published=MINIMUM
    )
    assert report.n_missing == {} and "15" not in report.to_model_card()


def test_groups_of_a_matrix_that_add_up_are_protected():
    codes = np.repeat([0, 1, 2], [300, 200, 5])
    matrix = sparse.csr_array(codes[:, np.newaxis] == np.arange(3))
    report = report_predictions(
        None, np.arange(505) % 2, sensitive_features=matrix, min_published=MINIMUM
    )
    assert len(published_cells(report)) == 2  # all samples, and one group


def test_ties_at_the_cut_are_refused():
    scores = np.repeat([0.9, 0.5, 0.1], [20, 61, 119])
    with pytest.raises(ValueError, match="fractions where scores tie"):
        report_predictions(
            None, None, y_score=scores, k=40, sensitive_features=np.arange(200) % 2,
            min_published=MINIMUM,
        )  # fmt: skip


def draw_counts(rng, n_groups):
    """Samples of groups, and those with and without an event; some groups are small."""
    n = rng.choice([5, 8, 12, 20, 40, 90, 200], n_groups)
    hits = rng.binomial(n, rng.uniform(0.1, 0.6))
    return np.array([n, hits, n - hits], dtype=float)


def test_few_samples_are_hidden_as_an_integer_program_does():
    """Groups of one attribute: no sum of hidden counts is small, and no group is hidden alone."""
    rng = np.random.default_rng(0)
    n_programs = 0
    for _ in range(60):
        counts = draw_counts(rng, int(rng.integers(3, 9)))
        is_small = ((counts > 0) & (counts < MINIMUM)).any(axis=0)
        if not is_small.any() or (counts.sum(axis=1) < MINIMUM).any():
            continue
        n_groups = counts.shape[1]
        rows = np.vstack([counts, np.ones(n_groups)])
        program = milp(
            counts[0],
            constraints=LinearConstraint(rows, [MINIMUM] * 3 + [2], np.inf),
            bounds=Bounds(is_small.astype(float), 1.0),
            integrality=np.ones(n_groups),
        )
        hidden = _suppress_secondary(np.ones((1, n_groups)), counts, is_small, MINIMUM)
        assert counts[0, hidden].sum() == pytest.approx(program.fun)
        n_programs += 1
    assert n_programs > 40


def test_few_samples_of_two_attributes_are_hidden():
    """No set of groups with fewer samples would do, of all sets."""
    rng = np.random.default_rng(1)
    n_tables = 0
    labels = np.array([*product(range(2), range(2))])
    parts = [labels[:, i] == value for i in range(2) for value in range(2)]
    parts = np.vstack([*parts, np.eye(4)]).astype(float)
    values = np.hstack([-np.eye(4), parts[:4]])
    totals = np.zeros((2, 8))
    totals[0, :2] = totals[1, 2:4] = 1.0
    margins = np.vstack([totals, values])
    for _ in range(25):
        counts = draw_counts(rng, 4) @ parts.T
        is_small = ((counts > 0) & (counts < MINIMUM)).any(axis=0)
        if not is_small.any() or (counts[:, :2].sum(axis=1) < MINIMUM).any():
            continue
        hidden = _suppress_secondary(margins, counts, is_small, MINIMUM)
        assert not _disclosing_equations(margins, counts, hidden, MINIMUM).any()
        for chosen in product([False, True], repeat=8):
            trial = np.array(chosen)
            is_cheaper = counts[0, trial].sum() < counts[0, hidden].sum()
            if is_cheaper and trial[is_small].all():
                assert _disclosing_equations(margins, counts, trial, MINIMUM).any()
        n_tables += 1
    assert n_tables > 10


def test_subsets_come_by_their_sums():
    sizes = np.array([4.0, 1.0, 2.5, 7.0, 1.0])
    subsets = [*_list_subsets(sizes, 9.0)]
    sums = [sizes[places].sum() for places in subsets]
    expected = [
        set(one) for k in range(6) for one in combinations(range(5), k) if sizes[[*one]].sum() < 9.0
    ]
    assert sums == sorted(sums) and len(subsets) == len(expected)
    assert all(set(one) in expected for one in subsets)


def test_a_group_that_is_small_in_both_periods_costs_no_other_group():
    tables = []
    for sizes, tiny in (((413, 315, 209), 6), ((426, 300, 218), 7)):
        decisions = [np.arange(n) % 3 == 0 for n in (*sizes, tiny)]
        groups = np.repeat([*"abc", "tiny"], (*sizes, tiny))
        tables.append(
            Audit.from_predictions(
                None, np.concatenate(decisions).astype(int), sensitive_features=groups
            )
        )
    report = tables[0].compare(tables[1], min_published=MINIMUM)
    assert set(report.frame["group"]) - {"overall"} == {*"abc"}
    assert report.gaps["change"].notna().all()
    assert "fewer than 19 samples that no number here counts" in report.to_markdown()
