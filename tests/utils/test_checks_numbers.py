"""Bounds are printed as they were passed, limits are rounded outwards; few exponents."""

import re

import numpy as np
import pytest

from skfair._utils.checks import bound_text, limit_text, number_text
from skfair.constraints import BoundedGroupLoss
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.regression import ConstrainedERMRegressor


@pytest.mark.parametrize(
    "number, text, low, high",
    [
        (1004.4, "1004", "1004", "1005"),
        (0.71778, "0.718", "0.717", "0.718"),
        (0.05, "0.05", "0.05", "0.05"),
        (999999.5, "1000000", "999999", "1000000"),
        (1234567.0, "1.23e+06", "1.23e+06", "1.24e+06"),
        (-0.0, "0", "0", "0"),
        (np.inf, "inf", "inf", "inf"),
        (np.nan, "nan", "nan", "nan"),
    ],
)
def test_numbers_have_three_digits_and_limits_are_rounded_outwards(number, text, low, high):
    assert number_text(number) == text
    assert limit_text(number, is_lower=True) == low
    assert limit_text(number) == high


@pytest.mark.parametrize("text", ["1004.25", "12345.67", "1234567", "0.44951", "0.05"])
def test_bounds_are_as_they_were_passed(text):
    assert bound_text(float(text)) == text


@pytest.mark.slow
def test_a_fit_states_its_bound_as_it_was_passed_and_its_loss_without_exponent():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = rng.normal(size=200)
    groups = np.repeat([0, 1], 100)
    model = ConstrainedERMRegressor(BoundedGroupLoss(12345.67))
    with pytest.warns(InfeasibleConstraintWarning) as caught:
        model.fit(X, 700.0 * y, sensitive_features=groups)
    (message,) = {str(one.message) for one in caught if "exceeded" in str(one.message)}
    loss, bound = re.search(r" is ([\d.e+]+), its tolerance ([\d.e+]+)\.", message).groups()
    assert bound == "12345.67" and "e" not in loss
    largest = model.constraint_report_["gap"].max()
    assert largest <= float(loss) <= largest * 1.001
    excess = re.search(r"exceeded by ([\d.e+]+) ", message)[1]
    assert "e" not in excess and float(excess) == pytest.approx(largest - 12345.67, rel=0.06)
