"""Metrics of several classes are those of each against the rest."""

import numpy as np
import pandas as pd
import pytest

from skfair.metrics import (
    METRICS,
    class_report,
    demographic_parity_difference,
    equal_opportunity_difference,
    group_report,
    metric_by_class,
)

RNG = np.random.default_rng(0)
Y_TRUE, Y_PRED = RNG.choice(["a", "b", "c"], (2, 200))
GROUP, WEIGHTS = RNG.choice(["f", "m"], 200), RNG.random(200)


def test_by_hand():
    truth, given = [0, 1, 2, 0, 1, 2], [0, 1, 2, 0, 0, 2]
    found = metric_by_class(
        equal_opportunity_difference, truth, given, sensitive_features=list("xxxyyy")
    )
    assert found.to_dict() == {0: 0.0, 1: 1.0, 2: 0.0}
    assert found.name == "equal_opportunity_difference"


@pytest.mark.parametrize("name", [n for n, m in METRICS.items() if m.kind == "classification"])
def test_each_class_is_compared_with_the_rest(name):
    people = {"sensitive_features": GROUP, "sample_weight": WEIGHTS}
    found = metric_by_class(METRICS[name].function, Y_TRUE, Y_PRED, **people)
    for label in "abc":
        assert found[label] == METRICS[name].function(Y_TRUE == label, Y_PRED == label, **people)


def test_two_classes_have_the_same_gap():
    y_true, y_pred = Y_TRUE == "a", Y_PRED == "a"
    found = metric_by_class(demographic_parity_difference, y_true, y_pred, sensitive_features=GROUP)
    assert found[False] == pytest.approx(found[True])


def test_a_report_of_every_class():
    report = class_report(Y_TRUE, Y_PRED, sensitive_features=GROUP, sample_weight=WEIGHTS)
    own = group_report(
        Y_TRUE == "b", Y_PRED == "b", sensitive_features=GROUP, sample_weight=WEIGHTS
    )
    pd.testing.assert_frame_equal(report.loc["b"], own)
    np.testing.assert_allclose(report["selection_rate"].groupby(level=1).sum(), 1.0)


def test_rows_are_matched_by_index():
    frame = pd.DataFrame({"t": Y_TRUE, "p": Y_PRED, "g": GROUP}, index=range(7, 207))
    with pytest.raises(ValueError, match="same pandas index"):
        class_report(frame["t"], frame["p"].sample(frac=1), sensitive_features=frame["g"])
