"""Problem (21) as it is printed, on data made up here."""

import numpy as np
import pytest

from benchmarks.papers.partial_fairness.problem_21 import PrintedDemographicParity
from skfair._groups.events import Events

INTERVAL = (0.2, 0.6)
KAPPA = 0.1


def evaluate_as_printed(scores, codes, interval):
    """The rows from the formula of the paper, in the order of (0, 1), (1, 0)."""
    shares = [np.clip(scores[codes == k] + 0.5, 0, 1).mean() for k in (0, 1)]
    alpha, beta = interval
    within = [min(share, beta) - min(share, alpha) for share in shares]
    return [within[0] - within[1], within[1] - within[0]]


@pytest.fixture
def codes_and_parity():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=60)
    return codes, PrintedDemographicParity(Events.disjoint(codes, 2), INTERVAL, KAPPA)


@pytest.mark.parametrize("shift", [-3.0, -0.8, -0.2, 0.0, 0.3, 3.0])
def test_rows_are_those_of_the_paper_in_every_case(codes_and_parity, shift):
    codes, parity = codes_and_parity
    scores = np.random.default_rng(1).normal(size=60) + shift + 0.5 * codes
    rows = parity(scores, np.empty(0))
    assert rows.values == pytest.approx(evaluate_as_printed(scores, codes, INTERVAL), abs=1e-12)


@pytest.mark.parametrize("shift", [-0.8, -0.2, 0.3])
def test_slopes_are_those_of_the_rows(codes_and_parity, shift):
    codes, parity = codes_and_parity
    rng = np.random.default_rng(2)
    scores, direction = rng.normal(size=(2, 60)) + shift
    step = 1e-6
    ahead, behind = (parity(scores + s * direction, np.empty(0)).values for s in (step, -step))
    jacobian = parity(scores, np.empty(0)).jacobian
    slopes = [jacobian.adjoint(row) @ direction for row in np.eye(2)]
    assert slopes == pytest.approx((ahead - behind) / (2 * step), abs=1e-6)


def test_the_majorant_is_convex_touches_and_is_nowhere_easier(codes_and_parity):
    _, parity = codes_and_parity
    rng = np.random.default_rng(3)
    at = rng.normal(size=60)
    convex = parity.majorant(at, np.empty(0))
    assert convex(at, None).values == pytest.approx(parity(at, None).values, abs=1e-12)
    for _ in range(20):
        one, other = 2 * rng.normal(size=(2, 60))
        ends = [convex(scores, None).values for scores in (one, other)]
        middle = convex((one + other) / 2, None).values
        assert (convex(one, None).values >= parity(one, None).values - 1e-12).all()
        assert (middle <= np.mean(ends, axis=0) + 1e-12).all()
