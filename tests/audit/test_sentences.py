"""How rates, gaps, bounds and limits are written in all answers of audits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair.audit import Audit
from skfair.audit._sentences import RATIO, Quantity
from skfair.constraints import DemographicParity, MinimumRate

MEAN, POINTS = Quantity("mean", "units of the mean"), Quantity("rate", "percentage points")


def test_bounds_are_written_as_they_were_passed():
    assert MEAN.bound(1004.0) == "1004 units of the mean"
    assert MEAN.bound(999.96) == "999.96 units of the mean"
    assert POINTS.bound(0.44951) == "44.951 percentage points"
    assert POINTS.bound(0.07) == "7 percentage points"  # 100 * .07 is 7.000000000000001
    assert RATIO.bound(1.0 - (1.0 - 0.8)) == "0.8"


def test_numbers_below_a_million_have_no_exponent():
    numbers = (1004.0, -8925.4, 999.96, 999_999.7, 62_812_345.6, 0.0123456, 0.0, -0.0, np.inf)
    texts = "1004 -8925 1000 1000000 6.28e+07 0.0123 0 0 inf"
    assert " ".join(map(MEAN.number, numbers)) == texts
    assert MEAN.number(np.nan) == "–"
    assert MEAN.difference(1004.0) == "+1004" and POINTS.difference(-0.0123) == "-1.23"


def test_limits_are_rounded_outwards():
    assert RATIO.limit(0.71778, is_lower=True) == "0.717"
    assert RATIO.interval(0.71778, 0.80002) == "0.717 to 0.801"
    assert POINTS.limit(0.07) == "7 percentage points"
    assert MEAN.limit(999.96) == "1000 units of the mean"


@given(st.floats(-1e9, 1e9), st.booleans())
def test_a_limit_is_on_its_side_of_the_number_and_near_it(number, is_lower):
    number = float(f"{number:.12g}")
    text = float(MEAN.limit(number, is_lower).split()[0])
    assert text <= number if is_lower else text >= number
    assert text == pytest.approx(number, rel=0.011)


@pytest.mark.parametrize("tolerance", [0.1004, 0.09999, 0.1, 0.44951])
def test_a_limit_that_keeps_the_bound_is_printed_within_it(tolerance):
    decisions = np.tile(np.repeat([1, 0], [6, 4]), 600)
    group = np.repeat(["f", "m"], 3000)
    audit = Audit.from_predictions(None, decisions, sensitive_features=group)
    claim = audit.certify(DemographicParity(tolerance=tolerance))
    assert f"of f and m differ by at most {100 * tolerance:.6g} points" in claim.text
    limit = float(claim.text.split("at most ")[2].split()[0])
    assert claim.is_shown and 100 * claim.high - 1e-9 <= limit <= 100 * tolerance


def test_a_floor_is_written_as_it_was_passed():
    decisions = np.tile([1, 0], 3000)
    group = np.repeat(["f", "m"], 3000)
    audit = Audit.from_predictions(None, decisions, sensitive_features=group)
    claim = audit.certify(MinimumRate("selection_rate", 0.44951))
    assert "selection rate of at least 44.951 %" in claim.text
