"""Weights that differ by a thousandth are weights, wherever rates are estimated."""

import numpy as np
import pytest

from skfair.audit import Audit
from skfair.metrics import demographic_parity_difference, group_report
from skfair.statistics import gap_interval

RNG = np.random.default_rng(0)
GROUP = RNG.choice(["f", "m"], 4000)
DECISION = RNG.integers(0, 2, 4000)
OUTCOME = RNG.integers(0, 2, 4000)
# Accepted women and refused men count more, so that the gap grows by half the difference.
SIGN = np.where(DECISION == 1, 1, -1) * np.where(GROUP == "f", 1, -1)


def gap_of(table):
    """Gap of selection rates in a table of a report."""
    rates = table[table["metric"] == "selection_rate"].set_index("group")["estimate"]
    return abs(rates["f"] - rates["m"])


def make_audit(weights):
    """An audit of the samples."""
    return Audit.from_predictions(
        OUTCOME, DECISION, sensitive_features=GROUP, sample_weight=weights
    )


DOORS = {
    "metric": lambda w: demographic_parity_difference(
        OUTCOME, DECISION, sensitive_features=GROUP, sample_weight=w
    ),
    "gap_interval": lambda w: (
        gap_interval(DECISION, sensitive_features=GROUP, sample_weight=w).estimate
    ),
    "report": lambda w: gap_of(make_audit(w).report().to_frame()),
    "group_report": lambda w: np.ptp(
        group_report(OUTCOME, DECISION, sensitive_features=GROUP, sample_weight=w)
        .loc[["f", "m"], "selection_rate"]
        .to_numpy()
    ),
    "certify": lambda w: make_audit(w).certify(tolerance=0.1).estimate,
}


@pytest.mark.parametrize("difference", [1e-4, 1e-3, 3e-3, 1e-2])
@pytest.mark.parametrize("door", DOORS)
def test_a_small_difference_of_weights_counts(door, difference):
    weights = 1.0 + difference * SIGN
    rates = [
        np.average(DECISION[GROUP == group], weights=weights[GROUP == group]) for group in "fm"
    ]
    assert DOORS[door](weights) == pytest.approx(abs(rates[0] - rates[1]), abs=1e-12)


@pytest.mark.parametrize("door", DOORS)
def test_equal_weights_are_no_weights(door):
    # 0.1 is no binary fraction, so that its sums are rounded.
    assert DOORS[door](np.full(4000, 0.1)) == pytest.approx(DOORS[door](np.ones(4000)), abs=1e-14)


def test_limits_of_equal_weights_are_those_without_weights():
    plain, equal = (
        make_audit(weights).certify(tolerance=0.1)
        for weights in (np.ones(4000), np.full(4000, 0.1))
    )
    assert (plain.low, plain.high) == pytest.approx((equal.low, equal.high), abs=1e-12)
