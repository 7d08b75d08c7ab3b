"""E-processes and detectors: recursions by hand, validity in small simulations."""

import numpy as np
import pytest
from scipy import stats

from skfair.monitoring._state import (
    WINDOWS,
    CellEvidence,
    DifferenceHypotheses,
    GapEvidence,
    MeanHypotheses,
    change_evidence,
    log_evidence_against,
    log_mean,
)


def test_detectors_follow_their_recursions():
    gap = GapEvidence(1, 0)
    e_values = [1.5, 0.4, 3.0, 2.0]
    mixture, change = 0.0, 0.0
    for t, e in enumerate(e_values, start=1):
        gap.update(np.log([e]), np.log(np.full(3, e)))
        mixture = e * (mixture + 1 / (t * (t + 1)))
        change = e * (change + 1)
        against = 0.75 * np.prod(e_values[:t]) + 0.25 * (mixture + 1 / (t + 1))
        assert np.exp(log_evidence_against([gap])) == pytest.approx(against)
        assert change_evidence([gap]) == pytest.approx(change)
    assert np.exp(gap.log_e[0]) == pytest.approx(np.prod(e_values))
    assert gap.starts.tolist() == [2, 2, 2]  # after the bet that lost
    gap.restart()
    assert change_evidence([gap]) == 0.0
    assert np.exp(log_evidence_against([gap])) == pytest.approx(against)


def test_bets_of_one_batch_have_one_start():
    # 1.5 and .4 are bets of the first batch, 3 of the second.
    gap = GapEvidence(1, 0)
    for e, is_start in ((1.5, True), (0.4, False), (3.0, True)):
        gap.update(np.log([e]), np.log(np.full(3, e)), is_start)
    assert change_evidence([gap]) == pytest.approx(3.0 * (1.5 * 0.4 + 1))
    mixture = 3.0 * (1.5 * 0.4 / 2 + 1 / 6)
    against = 0.75 * 1.5 * 0.4 * 3.0 + 0.25 * (mixture + 1 / 3)
    assert np.exp(log_evidence_against([gap])) == pytest.approx(against)
    assert gap.n_starts == 2 and gap.n_bets == 3


def test_a_batch_without_a_bet_is_no_start_of_a_change():
    # Counted as starts, a hundred batches that say nothing would be an alarm.
    gap = GapEvidence(1, 0)
    for e in (1.0, 1.0, 1.5, 1.0, 3.0):
        gap.update(np.log([e]), np.log(np.full(3, e)))
    assert change_evidence([gap]) == pytest.approx(3.0 * (1.5 + 1))
    # Windows that do not bet have no start, though others bet.
    gap = GapEvidence(1, 0)
    gap.update(np.zeros(1), np.log([2.0, 1.0, 1.0]))
    assert change_evidence([gap]) == pytest.approx(2.0 / 3)


def test_a_mean_of_logarithms_does_not_overflow():
    assert log_mean(np.array([2000.0, 2000.0 + np.log(3.0)])) == pytest.approx(2000 + np.log(2))


def test_windows_forget_at_the_rate_of_samples_whatever_the_batches():
    one, many = (CellEvidence(DifferenceHypotheses(), np.array([0.0, 0.1]), 1) for _ in range(2))
    one.add_groups(1)
    many.add_groups(1)
    one.update(np.array([300.0]), np.array([150.0]))
    for _ in range(3):
        many.update(np.array([100.0]), np.array([50.0]))
    np.testing.assert_allclose(one.windows, many.windows)
    assert (one.windows[0, :, 0] < WINDOWS).all()


def test_a_group_that_joins_has_neither_counts_nor_certificates():
    cell = CellEvidence(DifferenceHypotheses(), np.array([0.0, 0.3]), 1)
    cell.add_groups(2)
    for _ in range(5):
        cell.update(np.full(2, 100.0), np.full(2, 50.0))
    assert cell.log_certificates(np.ones(2, bool))[1] > 5
    cell.add_groups(1)
    assert cell.log_certificates(np.ones(3, bool))[1] == 0.0
    assert cell.log_certificates(np.array([True, True, False]))[1] > 5
    assert np.isinf(cell.log_certificates(np.array([True, False, False]))[1])


def streams(rates, n_streams, n_batches, tolerance, batch=10, seed=0):
    """Evidence of streams of batches: the largest for and against at any look."""
    rng = np.random.default_rng(seed)
    levels = np.array([tolerance])
    shape = (n_streams,)
    rates = np.asarray(rates)
    cell = CellEvidence(DifferenceHypotheses(), levels, 0, shape)
    gap = GapEvidence(1, 0, shape)
    cell.add_groups(len(rates))
    n = np.full((n_streams, len(rates)), float(batch))
    against = np.full(n_streams, -np.inf)
    for _ in range(n_batches):
        x = rng.binomial(batch, rates, size=n.shape).astype(float)
        gap.update(*cell.update(n, x))
        against = np.maximum(against, log_evidence_against([gap]))
    certificates = cell.log_certificates(np.ones((n_streams, len(rates)), bool))[..., 0]
    return certificates, against


@pytest.mark.parametrize("rates", [(0.25, 0.2), (0.06, 0.01), (0.5, 0.5, 0.45, 0.47)])
def test_few_streams_on_the_edge_are_ever_certified_or_raise_an_alarm(rates):
    n_streams, alpha = 300, 0.05
    certificates, against = streams(rates, n_streams, 80, tolerance=np.ptp(rates))
    # The number of errors is at most binomial; this limit is passed in one of 10,000 runs.
    limit = stats.binom.isf(1e-4, n_streams, alpha)
    assert (certificates >= -np.log(alpha)).sum() <= limit
    assert (against >= -np.log(alpha)).sum() <= limit


@pytest.mark.slow
def test_streams_far_from_the_edge_are_certified_or_raise_an_alarm():
    certificates, _ = streams((0.2, 0.2), 50, 400, tolerance=0.1)
    _, against = streams((0.4, 0.2), 50, 400, tolerance=0.1)
    assert np.mean(certificates >= np.log(20)) > 0.9
    assert np.mean(against >= np.log(20)) > 0.9


def test_a_bound_is_certified_from_above():
    cell = CellEvidence(MeanHypotheses(), np.array([0.3]), 0)
    cell.add_groups(1)
    for _ in range(20):
        cell.update(np.array([50.0]), np.array([10.0]))
    assert cell.log_certificates(np.ones(1, bool))[0] > np.log(20)
