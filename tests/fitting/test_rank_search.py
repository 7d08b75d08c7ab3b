"""Searches for ranks that agree with the target, of models that keep constraints on ranks."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skfair._fitting import enforce
from skfair._fitting.rank_search import evolve
from skfair.classification import ConstrainedClassifierCV, PartialParityClassifier
from skfair.constraints import PartialStatisticalParity
from skfair.metrics import partial_statistical_parity_difference

INTERVAL = (0.1, 0.5)


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("ratio", [1.0, 30.0])
def test_evolution_finds_the_largest_value(n, ratio):
    """Of a rotated ellipsoid, whose maximum is known."""
    rng = np.random.default_rng(n)
    rotation = np.linalg.qr(rng.normal(size=(n, n)))[0]
    maximum = rng.normal(size=n)
    scales = np.geomspace(1.0, ratio, n)

    def function(point):
        return -np.sum((scales * (rotation @ (point - maximum))) ** 2)

    maximizer = evolve(function, np.zeros(n), 0.5, np.random.default_rng(0), n_evaluations=1500)
    assert maximizer == pytest.approx(maximum, abs=1e-3)


def test_evolution_of_a_penalty_reaches_the_bound():
    """The largest sum of coordinates in a square is in its corner, where the slope jumps."""

    def function(point):
        return point.sum() - 20.0 * max(0.0, float(np.abs(point).max()) - 1.0)

    maximizer = evolve(function, np.zeros(2), 0.3, np.random.default_rng(0))
    assert maximizer == pytest.approx([1.0, 1.0], abs=2e-2)


def draw(seed, n=600, shift=1.0):
    """Two features, of which the more useful one differs between a small and a large group."""
    rng = np.random.default_rng(seed)
    groups = (rng.random(n) < 0.25).astype(int)
    X = rng.normal(size=(n, 2)) + shift * np.outer(groups, [1.5, 0.5])
    y = (X @ [1.0, 0.3] + rng.logistic(size=n) > 0.5).astype(int)
    return X, y, groups


def descend(areas, scores):
    """Pairs of an area and its scores, from the largest area on."""
    order = np.argsort(-areas)
    return zip(areas[order], scores[order], strict=True)


def gap(scores, groups):
    """The raw gap of partial statistical parity."""
    return partial_statistical_parity_difference(
        scores, sensitive_features=groups, interval=INTERVAL, scale="raw"
    )


@cache
def fit_ranks(seed):
    """A fit whose ranks were searched."""
    X, y, groups = draw(seed)
    constraint = PartialStatisticalParity(INTERVAL, scale="raw", tolerance=0.05)
    return PartialParityClassifier(constraint).fit(X, y, sensitive_features=groups)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 4])
def test_ranks_are_the_best_of_all_directions(seed):
    """Ranks depend on the direction of two coefficients alone, of which 720 are tried."""
    X, y, groups = draw(seed)
    angles = np.linspace(0.0, 2.0 * np.pi, 720, endpoint=False)
    scores = X @ [np.cos(angles), np.sin(angles)]
    ranks = rankdata(scores, axis=0)[y == 1].sum(axis=0)
    n_positive = y.sum()
    areas = (ranks / n_positive - (n_positive + 1) / 2) / (len(y) - n_positive)
    # From the best one on, the first that keeps the bound.
    best = next(area for area, one in descend(areas, scores.T) if gap(one, groups) <= 0.05)
    model = fit_ranks(seed)
    fitted = model.decision_function(X)
    assert gap(fitted, groups) <= 0.05
    assert model.constraint_violation_ == 0.0
    assert roc_auc_score(y, fitted) >= best - 0.01
    assert roc_auc_score(y, fitted) > 0.5


@pytest.mark.slow
def test_the_same_search_for_the_same_samples():
    X, y, groups = draw(4)
    X.flags.writeable = False
    constraint = PartialStatisticalParity(INTERVAL, scale="raw", tolerance=0.05)
    again = PartialParityClassifier(constraint).fit(X, y, sensitive_features=groups)
    np.testing.assert_array_equal(again.coef_, fit_ranks(4).coef_)


@pytest.mark.parametrize(
    "model",
    [PartialParityClassifier(), ConstrainedClassifierCV(LogisticRegression())],
    ids=["linear", "wrapper"],
)
def test_fits_that_rank_well_are_not_searched(model, monkeypatch):
    def search(fitter, candidate):
        raise AssertionError("ranks were searched")

    monkeypatch.setattr(enforce, "search_ranks", search)
    X, y, groups = draw(0, shift=0.2)
    constraint = PartialStatisticalParity(INTERVAL, scale="raw", tolerance=0.1)
    model.set_params(constraint=constraint).fit(X, y, sensitive_features=groups)
    assert model.constraint_violation_ == 0.0


@pytest.mark.filterwarnings("ignore:The search took a model:sklearn.exceptions.ConvergenceWarning")
def test_a_fit_that_loses_most_of_the_plain_ranks_is_searched(monkeypatch):
    searched = []

    def search(fitter, candidate):
        searched.append(candidate)
        return candidate

    monkeypatch.setattr(enforce, "search_ranks", search)
    X, y, groups = draw(4)
    constraint = PartialStatisticalParity(INTERVAL, scale="raw", tolerance=0.05)
    PartialParityClassifier(constraint).fit(X, y, sensitive_features=groups)
    assert len(searched) == 1
