"""Connected zones: streets by hand, small maps against all zones there are, and errors."""

from functools import cache
from itertools import permutations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from skfair._groups.arguments import FitArguments
from skfair.cluster import FairKMedoids
from skfair.cluster.kmedoids._fair_kmedoids import check_input
from skfair.cluster.kmedoids._zones import connect_zones, make_zone_problem
from skfair.exceptions import InfeasibleConstraintWarning

PLAIN = {"metric": "precomputed", "min_balance": None, "random_state": 0}
# Six houses along a street, and what each costs at two sites.
STREET = sparse.diags_array(np.ones(5), offsets=1, shape=(6, 6))
HOUSES = np.array([[0, 9], [0, 9], [5, 0], [0, 1], [9, 0], [9, 0]], dtype=float)


def make_grid(n_rows, n_columns):
    """Graph of the cells of a rectangle, of which four are neighbours."""
    rows, columns = (
        sparse.diags_array(np.ones(n - 1), offsets=1, shape=(n, n)) for n in (n_rows, n_columns)
    )
    upper = sparse.kron(rows, sparse.eye_array(n_columns))
    return sparse.csr_array(upper + sparse.kron(sparse.eye_array(n_rows), columns))


GRID = make_grid(3, 4)


def draw_map(seed, n_sites=5):
    """Costs of the cells at sites, weights, and a group that lives on one side."""
    rng = np.random.default_rng(seed)
    costs = rng.exponential(10.0, (12, n_sites))
    weights = rng.integers(1, 4, 12).astype(float)
    is_first = rng.uniform(size=12) < 0.2 + 0.5 * (np.arange(12) % 4 >= 2)
    return costs, weights, is_first


def are_connected(labels, graph):
    """Whether all zones are connected, by components of each."""
    graph = sparse.csr_array(graph)
    return all(
        connected_components(graph[labels == k][:, labels == k], directed=False)[0] == 1
        for k in np.unique(labels)
    )


@cache
def list_partitions():
    """All partitions of the cells of the grid into three connected zones, (_, 3, n_samples)."""
    n_samples = GRID.shape[0]
    subsets = np.arange(1, 2**n_samples)
    masks = (subsets[:, np.newaxis] >> np.arange(n_samples)) & 1 > 0
    are_near = masks @ (GRID + GRID.T).toarray() > 0
    # A subset is connected if it is one sample, or a connected subset and a neighbour of it.
    connected = new = {1 << i for i in range(n_samples)}
    while new:
        rows = np.array(sorted(new)) - 1
        grown, neighbors = np.nonzero(are_near[rows] & ~masks[rows])
        new = set((subsets[rows][grown] | 1 << neighbors).tolist()) - connected
        connected = connected | new
    partitions = []
    for first in (one for one in connected if one & 1):
        rest = 2**n_samples - 1 ^ first
        lowest = rest & -rest
        seconds = (one for one in connected if one & lowest and not one & first)
        partitions += [[first, one, rest ^ one] for one in seconds if rest ^ one in connected]
    return masks[np.array(partitions) - 1]


def find_least_cost(zones, costs, weights, is_first, low, high, level):
    """The smallest cost of partitions into zones, each at a site of its own, within bounds.

    The lightest sample may be missing for the balance, as it is documented.
    """
    first, second = zones @ (weights * is_first), zones @ (weights * ~is_first)
    slack = weights.min() * (1 + level)
    is_allowed = (first + second >= low) & (first + second <= high)
    if level > 0:
        is_allowed &= (level * first <= second + slack) & (level * second <= first + slack)
        is_allowed &= (first > 0) & (second > 0)
    at_sites = zones[is_allowed.all(axis=1)] @ (weights[:, np.newaxis] * costs)
    sites = list(permutations(range(costs.shape[1]), 3))
    return min(at_sites[:, range(3), one].sum(axis=1).min() for one in sites)


def test_zones_of_a_street():
    """Two zones of a street are its two sides of one place: all five places, by hand."""
    free = FairKMedoids(2, **PLAIN).fit(HOUSES)
    assert free.labels_.tolist() == [0, 0, 1, 0, 1, 1] and free.inertia_ == 0
    zones = FairKMedoids(2, **PLAIN).fit(HOUSES, connectivity=STREET)
    assert zones.labels_.tolist() == [0, 0, 1, 1, 1, 1] and zones.inertia_ == 1
    even = FairKMedoids(2, **PLAIN, min_cluster_size=3).fit(HOUSES, connectivity=STREET)
    assert even.labels_.tolist() == [0, 0, 0, 1, 1, 1] and even.inertia_ == 6
    assert even.assignment_lower_bound_ <= 6 and even.status_ == "feasible"
    # Both directions of a dense graph are edges, and new rows go to the nearest site.
    dense = FairKMedoids(2, **PLAIN).fit(HOUSES, connectivity=STREET.toarray().T)
    np.testing.assert_array_equal(dense.labels_, zones.labels_)
    assert dense.predict(HOUSES).tolist() == [0, 0, 1, 0, 1, 1]


def test_households_are_neighbors_and_samples_without_weight_are_absent():
    # Houses 0 and 3 are one household, between 1 and 4.
    costs = np.array([[0, 9], [9, 0], [9, 0], [0, 1], [0, 9], [0, 9]])
    model = FairKMedoids(2, **PLAIN)
    model.fit(costs, connectivity=STREET, together=[0, 1, 2, 0, 3, 4])
    assert model.labels_.tolist() == [0, 1, 1, 0, 0, 0] and model.inertia_ == 0
    # House 3 is absent, and its neighbours are neighbours of each other.
    street = STREET + sparse.csr_array(([1.0], ([2], [4])), shape=(6, 6))
    model.fit(HOUSES, connectivity=street, sample_weight=[1, 1, 1, 0, 1, 1])
    assert model.labels_.tolist() == [0, 0, 1, 0, 1, 1] and model.inertia_ == 0


def test_bounds_that_no_connected_zones_keep_are_named():
    """All zones but that of the centre of a star have one sample."""
    star = sparse.csr_array((np.ones(4), (np.zeros(4, dtype=int), np.arange(1, 5))), shape=(5, 5))
    costs = np.random.default_rng(0).exponential(size=(5, 5))
    model = FairKMedoids(2, **PLAIN, min_cluster_size=2)
    with pytest.warns(InfeasibleConstraintWarning, match="has 1, 1 too few for 2"):
        model.fit(costs, connectivity=star)
    assert model.status_ == "not_found" and sorted(model.cluster_sizes_) == [1, 4]
    assert are_connected(model.labels_, star)


@pytest.mark.covering(0)
@pytest.mark.parametrize("level", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(4))
def test_zones_cost_as_little_as_the_cheapest_of_all(seed, level):
    costs, weights, is_first = draw_map(seed)
    low, high = int(weights.sum() / 3 * 0.75), int(weights.sum() / 3 * 1.25)
    bounds = {"min_cluster_size": low, "max_cluster_size": high, "min_balance": level or None}
    model = FairKMedoids(3, **(PLAIN | bounds))
    model.fit(costs, sensitive_features=is_first, sample_weight=weights, connectivity=GRID)
    assert are_connected(model.labels_, GRID) and model.constraint_violation_ == 0
    required = level * model.data_balance_
    least = find_least_cost(list_partitions(), costs, weights, is_first, low, high, required)
    assert model.inertia_ == pytest.approx(least)


def test_sites_stay_and_pairs_that_are_not_allowed():
    costs, _, _ = draw_map(0)
    model = FairKMedoids(3, **PLAIN, fixed_sites=[4], max_cluster_size=6)
    model.fit(costs, connectivity=GRID)
    assert 4 in model.medoid_indices_ and model.cluster_sizes_.max() <= 6
    costs[:4, :3] = np.inf
    model = FairKMedoids(2, **PLAIN).fit(costs, connectivity=GRID)
    assert are_connected(model.labels_, GRID) and np.isfinite(model.inertia_)
    capacities = np.array([3, 5, 4, 6, 6])
    model = FairKMedoids(3, **PLAIN, max_cluster_size=capacities)
    model.fit(draw_map(1)[0], connectivity=GRID)
    assert (model.cluster_sizes_ <= capacities[model.medoid_indices_]).all()
    assert are_connected(model.labels_, GRID)


@pytest.mark.parametrize("n_rounds", [1, 3])
def test_zones_are_connected_after_every_round(n_rounds):
    costs, _, _ = draw_map(2)
    model = FairKMedoids(3, **PLAIN, min_cluster_size=3, max_cluster_size=5)
    fit_input = check_input(model, FitArguments(X=costs), GRID)
    problem = make_zone_problem(fit_input.problem, fit_input.graph)
    rounds = []

    def watch(zones):
        rounds.append(zones)
        assert are_connected(zones.labels, GRID)
        return len(rounds) >= n_rounds

    labels = np.arange(12) % 3
    generator = np.random.RandomState(0)
    end = connect_zones(problem, labels, np.arange(3), generator, watch)
    assert end[1:] == (n_rounds, "stopped")
    assert are_connected(end[0].labels, GRID)


@pytest.mark.slow
def test_zones_of_a_larger_grid_within_narrow_bounds():
    """Two hundred cells, where one side is home to a group, in eight zones."""
    graph = make_grid(10, 20)
    cells = np.column_stack([np.arange(200) // 20, np.arange(200) % 20]).astype(float)
    is_first = np.random.default_rng(0).uniform(size=200) < 0.3 + 0.02 * cells[:, 1]
    bounds = {"min_cluster_size": 24, "max_cluster_size": 26, "min_balance": 0.6}
    model = FairKMedoids(8, **bounds, random_state=0)
    model.fit(cells, sensitive_features=is_first, connectivity=graph)
    assert are_connected(model.labels_, graph)
    assert model.constraint_violation_ == 0 and len(np.unique(model.labels_)) == 8
    assert model.inertia_ <= 1.1 * model.assignment_lower_bound_


@pytest.mark.parametrize(
    "connectivity, message",
    [
        (np.ones((5, 6)), r"connectivity must have the shape \(n_samples, n_samples\), but is"),
        (STREET - sparse.csr_array(([1.0], ([3], [4])), shape=(6, 6)), "2 components, the sm.* 2;"),
    ],
)
def test_errors_say_what_must_hold(connectivity, message):
    with pytest.raises(ValueError, match=message):
        FairKMedoids(2, **PLAIN).fit(HOUSES, connectivity=connectivity)
