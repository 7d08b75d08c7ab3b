"""What a page of protected counts says of the columns, and of a reference group."""

import numpy as np
import pandas as pd
import pytest

from skfair.audit import Audit, FairnessReport

RNG = np.random.default_rng(0)
GROUPS = pd.DataFrame({"g": np.repeat(["a", "b", "tiny"], [300, 200, 4])})
DECISIONS = np.append(RNG.integers(2, size=500), [1, 0, 0, 1])
AUDIT = Audit.from_predictions(None, DECISIONS, sensitive_features=GROUPS)


@pytest.mark.parametrize("reference", ["tiny", "a"])
def test_a_reference_group_that_is_not_published_is_named_with_the_reason(reference):
    settings = {"reference": {"g": reference}, "min_published": 10}
    if reference == "tiny":
        with pytest.raises(ValueError, match="reference names .*'tiny' of g, but min_published=10"):
            AUDIT.report(**settings)
    else:
        frame = AUDIT.report(**settings).frame
        assert frame.loc[frame["is_reference"], "group"].unique().tolist() == ["overall", "a"]


def test_labels_of_published_groups_and_of_two_classes_have_no_counts():
    report = AUDIT.report(min_published=10)
    decision, group = report.reading.columns
    assert decision.labels == {"0": None, "1": None} and decision.positive == ("1",)
    assert group.labels == {"a": None, "b": None}
    assert "decision y_pred ('1' positive, '0' not), group g ('a', 'b')" in str(report.reading)
    assert "| '0', '1' (positive) |" in report.to_markdown()
    assert FairnessReport.from_json(report.to_json()).reading == report.reading
    assert AUDIT.certify(tolerance=0.5, min_published=10).reading == report.reading


def test_values_of_regressions_are_no_labels():
    values = np.append(np.repeat([1.5, 2.5], 250), [7.0, 1.5, 1.5, 1.5])
    audit = Audit.from_predictions(values, values, sensitive_features=GROUPS)
    prediction, outcome, _ = audit.report(min_published=10).reading.columns
    assert not prediction.labels and not outcome.labels
