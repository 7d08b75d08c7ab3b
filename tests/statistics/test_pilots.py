"""Plans of fits that are guaranteed and accurate, from samples of a pilot."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from skfair._statistics.pilots import find_size
from skfair.classification import ConstrainedERMClassifier
from skfair.statistics import FitPilot, required_sample_size


def draw_of_curve(size, slope):
    """Draws that succeed with log odds that are linear in the logarithm of the size."""

    def draw(n_samples, n_draws, seed):
        rng = np.random.default_rng([7, seed, n_samples])
        return rng.random(n_draws) < expit(slope * np.log(n_samples / size))

    return draw


@pytest.mark.covering(1)
@pytest.mark.parametrize("slope", [1.5, 4.0, 8.0])
@pytest.mark.parametrize("size", [60, 700, 9000])
def test_the_power_at_the_planned_size_is_that_of_the_curve(size, slope):
    n = find_size(draw_of_curve(size, slope), 0.8, 50, 100_000)
    assert 0.74 <= expit(slope * np.log(n / size)) <= 0.92


@pytest.mark.slow
def test_plans_of_many_seeds_have_the_power():
    powers = []
    for shift in range(40):
        draw = draw_of_curve(400, 3.0)
        n = find_size(lambda n, k, seed, s=shift, d=draw: d(n, k, [s, seed]), 0.8, 50, 10_000)
        powers.append(expit(3.0 * np.log(n / 400)))
    assert 0.8 <= np.mean(powers) <= 0.86 and np.std(powers) <= 0.04


def test_more_power_needs_more_samples():
    sizes = [find_size(draw_of_curve(400, 3.0), power, 50, 10_000) for power in (0.5, 0.8, 0.95)]
    assert sizes == sorted(sizes)


def test_the_smallest_size_may_be_enough_and_the_largest_too_small():
    assert find_size(lambda n, k, seed: np.ones(k, dtype=bool), 0.8, 50, 1000) == 50
    with pytest.raises(ValueError, match=r"fits to 1000 samples.* 0\.00 are .* power=0\.8"):
        find_size(lambda n, k, seed: np.zeros(k, dtype=bool), 0.8, 50, 1000)


class Threshold(ClassifierMixin, BaseEstimator):
    """Right by the first column; with a level wrong about half of the second column's samples."""

    def __init__(self, confidence_level=0.95, probability=0.96):
        self.confidence_level, self.probability = confidence_level, probability

    def fit(self, X, y, sensitive_features, sample_weight=None):
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        assert len(X) == len(y) == len(sensitive_features) == len(weights)
        self.guarantee_probability_ = self.probability
        return self

    def predict(self, X):
        is_wrong = X[:, 1] > 0 if self.confidence_level is not None else np.zeros(len(X), bool)
        return (X[:, 0] > 0) ^ is_wrong


def make_data(n_samples):
    """One sample of ten is wrong with a guarantee, and has double weight."""
    codes = np.arange(n_samples)
    X = np.column_stack([codes % 2 - 0.5, codes % 10 - 8.5])
    return X, codes % 2 == 1, codes // 2 % 2, 1.0 + (codes % 10 == 9)


def test_redraws_state_the_accuracy_that_remains():
    X, y, groups, weights = make_data(10_000)
    fits = FitPilot(Threshold(), X, y, sensitive_features=groups).redraw(1000, n_draws=5)
    assert fits.is_guaranteed.all() and fits.accuracy.shape == (5,)
    np.testing.assert_allclose(fits.accuracy, 0.9, atol=5e-3)
    np.testing.assert_allclose(fits.accuracy_lost, 1.0 - fits.accuracy)
    pilot = FitPilot(Threshold(), X, y, sensitive_features=groups, sample_weight=weights)
    np.testing.assert_allclose(pilot.redraw(1000, n_draws=5).accuracy_lost, 2 / 11, atol=8e-3)
    refused = FitPilot(Threshold(probability=0.94), X, y, sensitive_features=groups)
    assert not refused.redraw(1000, n_draws=5).is_guaranteed.any()


@pytest.mark.slow
def test_a_plan_is_the_smallest_size_where_all_is_well_and_refused_where_nothing_is():
    X, y, groups, _ = make_data(2000)
    pilot = FitPilot(Threshold(), X, y, sensitive_features=groups)
    assert (pilot.smallest_size, pilot.largest_size) == (80, 1000)
    assert required_sample_size(pilot=pilot, max_accuracy_loss=0.15, purpose="fit") == 80
    with pytest.raises(ValueError, match="Pass a larger pilot"):
        required_sample_size(pilot=pilot, max_accuracy_loss=0.05, purpose="fit")


@pytest.mark.slow
def test_draws_are_repeated_by_their_seed():
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=1500)
    X = rng.normal(size=(1500, 3))
    y = X[:, 0] + 0.4 * groups + rng.logistic(size=1500) > 0
    classifier = ConstrainedERMClassifier(tolerance=0.25, confidence_level=0.9)
    pilot = FitPilot(classifier, X, y, sensitive_features=groups)
    first, second, other = (pilot.redraw(300, 3, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first.accuracy, other.accuracy)
    assert classifier.confidence_level == 0.9 and not hasattr(classifier, "coef_")


@pytest.mark.slow
def test_planned_fits_are_guaranteed_and_accurate():
    """Fits to new samples of the population, at the planned size and at a quarter of it."""

    def draw(n, seed):
        rng = np.random.default_rng(seed)
        groups = rng.integers(2, size=n)
        X = rng.normal(size=(n, 8)) + 0.35 * groups[:, np.newaxis]
        return X, X[:, :4].sum(axis=1) + rng.logistic(size=n) > 0.7, groups

    classifier = ConstrainedERMClassifier(tolerance=0.25, confidence_level=0.95)
    pilots = [
        FitPilot(classifier, X, y, sensitive_features=groups)
        for X, y, groups in (draw(16_000, 1), draw(30_000, 2))
    ]
    n = required_sample_size(pilot=pilots[0], max_accuracy_loss=0.02, purpose="fit")

    def power(n):
        fits = pilots[1].redraw(n, 20)
        return np.mean(fits.is_guaranteed & (fits.accuracy_lost <= 0.02))

    assert power(n) >= 0.65 > power(n // 4)


def test_what_a_pilot_cannot_plan_is_refused():
    X, y, groups, _ = make_data(200)
    pilot = FitPilot(Threshold(), X, y, sensitive_features=groups)
    with pytest.raises(ValueError, match="pass a classifier with confidence_level"):
        FitPilot(Threshold(confidence_level=None), X, y, sensitive_features=groups)
    with pytest.raises(ValueError, match=r"n_samples must be from 1 to 100, .* got 101"):
        pilot.redraw(101)
    with pytest.raises(ValueError, match="pass purpose='fit'"):
        required_sample_size(pilot=pilot, max_accuracy_loss=0.1)
    with pytest.raises(ValueError, match="pass max_accuracy_loss"):
        required_sample_size(pilot=pilot, purpose="fit")
    with pytest.raises(ValueError, match=r"max_accuracy_loss depends on the data; pass pilot"):
        required_sample_size(0.1, max_accuracy_loss=0.1, purpose="fit")
    with pytest.raises(
        ValueError, match=r"exactly one of .* and pilot; got tolerance=0\.1, pilot="
    ):
        required_sample_size(0.1, pilot=pilot, max_accuracy_loss=0.1, purpose="fit")
    with pytest.raises(ValueError, match="max_accuracy_loss"):
        required_sample_size(pilot=pilot, max_accuracy_loss=1.5, purpose="fit")
