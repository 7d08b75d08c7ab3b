"""Rivals that benchmarks solve themselves: flows, greedy caps, randomised thresholds, cuts."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from benchmarks.peers import bounded_cells, fair_kmeans_peers, spectral_graphs, three_criteria
from benchmarks.peers.flow_kmeans import fit_in_stages, fit_largest_remainders, solve_flow
from benchmarks.peers.three_criteria import GroupScores

needs_flows = pytest.mark.skipif(
    not fair_kmeans_peers.is_installed("ortools"), reason="needs OR-Tools"
)


@needs_flows
@pytest.mark.parametrize("bounds", [((2, 2, 2), (2, 2, 2)), ((0, 1, 3), (1, 5, 4))])
def test_a_flow_is_the_cheapest_assignment_with_the_sizes(bounds):
    distances = np.random.default_rng(0).random((6, 3))
    smallest, largest = map(np.array, bounds)
    labels = solve_flow(distances, smallest, largest)
    costs = [
        distances[np.arange(6), list(one)].sum()
        for one in product(range(3), repeat=6)
        if np.all(np.bincount(one, minlength=3) >= smallest)
        and np.all(np.bincount(one, minlength=3) <= largest)
    ]
    assert distances[np.arange(6), labels].sum() == pytest.approx(min(costs), rel=1e-5)


@needs_flows
def test_a_flow_without_a_solution_raises():
    with pytest.raises(ValueError, match="sizes"):
        solve_flow(np.ones((3, 2)), np.array([0, 0]), np.array([1, 1]))


@needs_flows
@pytest.mark.parametrize("fit", [fit_largest_remainders, fit_in_stages])
def test_rivals_of_fair_kmeans_keep_a_loose_target(fit):
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], [120, 60])
    X = rng.normal(size=(180, 2)) + 2 * codes[:, np.newaxis]
    labels = fit(X, codes, 0.4, X[::60])
    counts = np.array([np.bincount(codes[labels == k], minlength=2) for k in range(3)])
    balance = (counts.min(axis=1) / counts.max(axis=1)).min()
    assert balance >= 0.4
    assert fair_kmeans_peers._balance(labels, codes) == balance


def test_a_greedy_cap_gives_the_places_to_the_nearest():
    X = np.array([[0.0], [0.1], [0.2], [5.0]])
    centers = np.array([[0.0], [5.0]])
    labels = bounded_cells._cap(X, np.array([0, 0, 0, 1]), centers)
    assert labels.tolist() == [0, 0, 1, 1]


def test_randomised_thresholds_keep_all_criteria_on_their_data():
    rng = np.random.default_rng(0)
    groups = []
    for shift in (0.0, 0.3):
        y = (rng.random(400) < 0.4 + shift / 2).astype(int)
        groups.append(GroupScores(y + rng.normal(size=400) + shift, y))
    thresholds = np.append(np.linspace(-3, 4, 30), 20.0)
    shares = three_criteria._randomise(groups, thresholds, 0.05)
    outcome = three_criteria._expect(groups, thresholds, shares)
    assert outcome.gaps.max() <= 0.05 + 1e-6
    plain = max(np.average([g.y.mean() for g in groups]), 0.5)
    assert outcome.accuracy > plain


def test_a_normalised_cut_by_hand():
    # Two pairs with edges of weight 2, joined by an edge of weight 1: volumes 5 and 5.
    affinity = np.zeros((4, 4))
    for one, other, weight in ((0, 1, 2), (2, 3, 2), (1, 2, 1)):
        affinity[one, other] = affinity[other, one] = weight
    cut = spectral_graphs._normalised_cut(csr_array(affinity), np.array([0, 0, 1, 1]))
    assert cut == pytest.approx(1 / 5 + 1 / 5)
