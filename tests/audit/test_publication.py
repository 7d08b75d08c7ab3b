"""Small counts that a report may not publish, and the groups that protect them."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skfair.__main__ import main
from skfair.audit import FairnessReport
from skfair.audit._tables import groupings
from skfair.groups import check_groups
from tests.audit.doors import report_predictions

MINIMUM = 10


def make_report(counts, seed=0, **settings):
    """Report of decisions in groups whose sizes are a table of two attributes."""
    rng, counts = np.random.default_rng(seed), np.asarray(counts)
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


def published_cells(report):
    return set(report.frame[["attribute", "group"]].itertuples(index=False, name=None))


def test_a_small_group_takes_the_next_smallest_of_its_margins():
    # a0 x b0 is small. By hand: one more cell of its row, one of its column, and their corner.
    report, groups, *_ = make_report([[4, 200, 300], [250, 400, 500], [600, 700, 800]])
    assert not any(computable_counts(report, groups))
    cells = published_cells(report)
    combined = {name for attribute, name in cells if attribute == "a × b"}
    everything = {f"a{i} × b{j}" for i in range(3) for j in range(3)}
    assert everything - combined == {"a0 × b0", "a0 × b1", "a1 × b0", "a1 × b1"}
    assert {name for attribute, name in cells if attribute == "a"} == {"a0", "a1", "a2"}
    assert report.provenance["suppressed"].startswith("4 by a × b, so that counts from 1 to 9")


def test_a_small_number_of_selections_is_a_small_count():
    sex = np.repeat(["f", "m", "x"], [200, 300, 400])
    decisions = np.zeros(900, dtype=int)
    decisions[:5], decisions[200:300], decisions[500:700] = 1, 1, 1
    report = report_predictions(None, decisions, sensitive_features=sex, min_published=MINIMUM)
    # f has five selections; without m, too, they were all selections less those of m and x.
    assert {group for _, group in published_cells(report)} == {"overall", "x"}
    open_report = report_predictions(None, decisions, sensitive_features=sex)
    assert len(published_cells(open_report)) == 4


def computable_counts(report, groups):
    """Brute force: whether each unpublished count can be computed from the published ones."""
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
    published = published_cells(report)
    hidden = np.array([cell not in published for cell in cells])
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
        assert "min_published=10 allows no report" in str(error)
        return
    # Every published count of the confusion matrix is 0 or at least the minimum.
    columns = {"a": groups["a"], "b": groups["b"], "a × b": groups["a"] + " × " + groups["b"]}
    for attribute, group in published_cells(report):
        inside = (
            np.ones(len(groups), bool) if attribute == "overall" else columns[attribute] == group
        )
        table = pd.crosstab(truth[inside], decisions[inside], margins=True)
        assert not ((table > 0) & (table < MINIMUM)).any(axis=None)
    assert not any(computable_counts(report, groups))


def test_no_format_has_a_group_that_is_not_published(tmp_path):
    report, *_ = make_report([[4, 200, 300], [250, 400, 500], [600, 700, 800]])
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
    assert "Groups not published: 4 by a × b" in report.to_model_card()


def test_gaps_and_findings_are_those_of_published_groups():
    report, groups, _, decisions = make_report([[4, 200, 300], [250, 400, 500], [600, 700, 800]])
    rates = pd.Series(decisions).groupby(groups["a"] + " × " + groups["b"]).mean()
    rates = rates[[group for attribute, group in published_cells(report) if attribute == "a × b"]]
    gap = report.gaps.set_index(["attribute", "measure"]).loc[("a × b", "selection_rate"), "gap"]
    assert gap == pytest.approx(np.ptp(rates))


def test_a_few_missing_values_are_not_counted():
    sex = np.repeat(["f", "m", "x", None], [200, 300, 400, 5])
    decisions = np.arange(905) % 2
    report = report_predictions(
        None, decisions, sensitive_features=sex, missing="exclude", min_published=MINIMUM
    )
    assert report.n_missing == {} and "Samples of unknown group" not in report.to_html()
    # Without f, too, the missing ones would be the rest.
    assert {group for _, group in published_cells(report)} == {"overall", "m", "x"}


def test_the_command_passes_the_minimum(tmp_path, capsys):
    path = tmp_path / "d.csv"
    sex = np.repeat(["f", "m", "x", "y"], [5, 300, 400, 400])
    pd.DataFrame({"d": np.arange(1105) % 2, "sex": sex}).to_csv(path, index=False)
    columns = ["--prediction", "d", "--sensitive", "sex", "--json", "-"]
    main(["report", str(path), *columns, "--min-published", "10"])
    frame = json.loads(capsys.readouterr().out)["frame"]
    assert sorted(set(frame["group"])) == ["overall", "x", "y"]


@pytest.mark.parametrize("wrong", [1, 0, 2.5, True, "10"])
def test_other_minima_are_refused(wrong):
    with pytest.raises(ValueError, match="min_published must be a whole number"):
        make_report([[100, 100], [100, 100]], min_published=wrong)


def test_clusterings_and_small_data_are_refused():
    with pytest.raises(ValueError, match="report of a clustering"):
        make_report([[100, 100], [100, 100]], kind="clustering", y_true=None)
    with pytest.raises(ValueError, match="allows no report: all samples together"):
        make_report([[2, 1], [1, 2]])
    with pytest.raises(ValueError, match="no group can be published"):
        make_report([[3, 0], [0, 300]])
