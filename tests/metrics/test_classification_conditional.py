"""Rates within strata, by hand."""

import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics import (
    demographic_parity_difference,
    demographic_parity_ratio,
)

#           stratum 0: a 1/2, b 3/4             stratum 1: a 2/3, b 0/1
GROUP = list("aabbbb") + list("aaab")
STRATA = [0] * 6 + [1] * 4
Y_PRED = [1, 0, 1, 1, 1, 0] + [1, 1, 0, 0]
Y_TRUE = [0, 1] * 5


def gap(**changes):
    metadata = {"sensitive_features": GROUP, "control_features": STRATA} | changes
    return demographic_parity_difference(Y_TRUE, Y_PRED, **metadata)


def test_by_hand():
    assert gap() == pytest.approx(2 / 3)
    assert gap(agg="mean") == pytest.approx((1 / 4 + 2 / 3) / 2)
    assert gap(method="to_overall") == pytest.approx(2 / 4)
    assert gap(method="above_overall") == pytest.approx(2 / 3 - 2 / 4)
    assert gap(method="to_overall", agg="mean") == pytest.approx((4 / 6 - 1 / 2 + 2 / 4) / 2)


def test_ratio_by_hand():
    groups = {"sensitive_features": GROUP, "control_features": STRATA}
    assert demographic_parity_ratio(Y_TRUE, Y_PRED, **groups) == 0
    # No sample of stratum 1 is selected: 0 / 0. The ratio of stratum 0 is (1/2) / (3/4).
    decisions = Y_PRED[:6] + [0] * 4
    with pytest.warns(UndefinedMetricWarning, match="selection_rate of every group is 0"):
        assert demographic_parity_ratio(Y_TRUE, decisions, **groups) == pytest.approx(2 / 3)
    alone = {"sensitive_features": ["a"] * 10, "control_features": STRATA}
    assert demographic_parity_ratio(Y_TRUE, Y_PRED, **alone) == 1


def test_weights_by_hand():
    # In stratum 1 b has no weight on selected samples; a has 3/4.
    assert gap(sample_weight=[0] * 6 + [1, 2, 1, 5]) == pytest.approx(3 / 4)


def test_one_stratum_is_no_condition():
    expected = demographic_parity_difference(Y_TRUE, Y_PRED, sensitive_features=GROUP)
    assert gap(control_features=["all"] * 10) == expected


def test_a_stratum_of_one_group_is_ignored():
    with pytest.warns(UndefinedMetricWarning, match=r"2 of 6 .*: 'b' in 1, 'a' in 7\."):
        assert gap(control_features=STRATA[:9] + [7]) == pytest.approx(1 / 4)
    assert gap(sensitive_features=["a"] * 10) == 0


def test_misaligned_strata_are_refused():
    with pytest.raises(ValueError, match="same pandas index"):
        gap(
            sensitive_features=pd.Series(GROUP),
            control_features=pd.Series(STRATA).iloc[::-1],
        )
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        gap(control_features=STRATA[:9])
