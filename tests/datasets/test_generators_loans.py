import numpy as np
import pytest
from scipy.special import expit

from skfair.datasets import make_loans


def test_make_loans_draws_repayment_from_the_stated_odds():
    X, y, sex = make_loans(40_000, random_state=0)
    odds = 0.08 * X["income"] - 0.15 * X["debt"] + 0.1 * X["years_employed"] - 2
    for group in ("female", "male"):
        members = sex == group
        assert y[members].mean() == pytest.approx(expit(odds[members]).mean(), abs=0.01)
    assert (sex == "female").mean() == pytest.approx(0.4, abs=0.01)


def test_equal_seeds_make_equal_loans():
    first, second = make_loans(50, random_state=3), make_loans(50, random_state=3)
    assert all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize("setting", [{"n_samples": 0}, {"random_state": -1}])
def test_make_loans_raises_for_impossible_settings(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        make_loans(**setting)
