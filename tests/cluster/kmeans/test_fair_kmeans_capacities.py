"""Assignment of new samples to the places that a fit has left, against integer programs."""

import re
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp
from scipy.sparse import eye_array, kron
from scipy.spatial.distance import cdist

from skfair.cluster import FairKMeans
from skfair.cluster.kmeans import _problem
from skfair.cluster.kmeans._problem import assign_sizes, assign_within_capacities
from skfair.datasets import make_fair_blobs


def solve_integer_program(costs, capacities):
    """The minimum cost of an assignment with so many samples in each cluster."""
    n_samples, n_clusters = costs.shape
    each = kron(eye_array(n_samples), np.ones((1, n_clusters)))
    by_cluster = kron(np.ones((1, n_samples)), eye_array(n_clusters))
    solved = milp(
        costs.ravel(),
        integrality=np.ones(costs.size),
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(each, 1, 1), LinearConstraint(by_cluster, 0, capacities)],
        options={"mip_rel_gap": 0.0},
    )
    return solved.fun


def start_at_zero(X, centers, bounds, dual):
    return None, dual, None


def cost_of(costs, labels):
    return costs[np.arange(len(labels)), labels].sum()


@pytest.mark.slow
@settings(deadline=None)
@given(
    seed=st.integers(0, 2**16),
    n_samples=st.integers(1, 60),
    n_clusters=st.integers(1, 30),
    scale=st.sampled_from([1e-200, 1e-3, 1.0, 1e3, 1e150]),
    is_integer=st.booleans(),
    is_full=st.booleans(),
)
def test_cost_is_that_of_the_best_matching(seed, n_samples, n_clusters, scale, is_integer, is_full):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 3))
    centers = 2 * rng.normal(size=(n_clusters, 3))
    if is_integer:  # many ties
        X = X.round()
        centers = centers.round()
    capacities = 1 + rng.multinomial(n_samples, np.ones(n_clusters) / n_clusters)
    if is_full:
        capacities = np.maximum(np.bincount(rng.integers(0, n_clusters, n_samples)), 1)
        centers = centers[: len(capacities)]
    labels = assign_within_capacities(X * scale, centers * scale, capacities)
    assert (np.bincount(labels, minlength=len(capacities)) <= capacities).all()
    costs = cdist(X, centers, "sqeuclidean")
    places = np.repeat(range(len(centers)), capacities)
    rows, columns = linear_sum_assignment(costs[:, places])
    best = costs[rows, places[columns]].sum()
    assert cost_of(costs, labels) == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("most", [0, 1, 30])
def test_few_selections_of_candidates_are_enough(monkeypatch, most):
    """The dual may end far from its maximum: then shortest paths go farther."""
    assign = partial(assign_sizes, max_selections=most) if most else start_at_zero
    monkeypatch.setattr(_problem, "assign_sizes", assign)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) ** 3
    centers = rng.normal(size=(80, 2))
    capacities = np.full(80, 5)  # all full
    labels = assign_within_capacities(X, centers, capacities)
    np.testing.assert_array_equal(np.bincount(labels), capacities)
    costs = cdist(X, centers, "sqeuclidean")
    places = np.repeat(np.arange(80), 5)
    rows, columns = linear_sum_assignment(costs[:, places])
    assert cost_of(costs, labels) == pytest.approx(costs[rows, places[columns]].sum(), rel=1e-10)


@pytest.fixture(scope="module")
def data():
    X, _, groups = make_fair_blobs(330, centers=4, n_features=2, random_state=0)
    return X[:240], groups[:240], X[240:], groups[240:]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("largest", [85, 0.36])
def test_new_samples_take_the_places_that_are_left(data, dtype, largest):
    X, _, new, _ = data
    model = FairKMeans(4, min_balance=None, max_cluster_size=largest, random_state=0)
    model.fit(X.astype(dtype))
    largest = int(largest if largest > 1 else 240 * largest)
    labels = model.predict(new.astype(dtype), respect_sizes=True)
    counts = np.bincount(labels, minlength=4)
    assert (model.cluster_sizes_ + counts <= largest).all()
    nearest = model.predict(new.astype(dtype))
    nearest_sizes = model.cluster_sizes_ + np.bincount(nearest, minlength=4)
    assert nearest_sizes.max() > largest  # the capacities bind
    costs = cdist(new, model.cluster_centers_, "sqeuclidean")
    best = solve_integer_program(costs, largest - model.cluster_sizes_)
    assert cost_of(costs, labels) == pytest.approx(best, rel=1e-5 if dtype == np.float32 else 1e-9)
    assert labels.dtype == nearest.dtype == np.int32


@pytest.mark.parametrize("attributes", ["intersections", "each"])
def test_groups_add_their_offsets(data, attributes):
    X, groups, new, new_groups = data
    rng = np.random.default_rng(0)
    # Two attributes, and new samples of unknown groups.
    both = np.column_stack((groups, rng.choice(["x", "y"], len(X)))).astype(object)
    new_both = np.column_stack((new_groups, rng.choice(["x", "y"], len(new)))).astype(object)
    new_both[:5] = "other"
    model = FairKMeans(
        4,
        min_balance=0.9,
        max_cluster_size=85,
        attributes=attributes,
        handle_unknown="overall",
        random_state=0,
    ).fit(X, sensitive_features=both)
    assert np.abs(model.offsets_).max() > 0
    with pytest.warns(UserWarning, match="other"):
        labels = model.predict(new, sensitive_features=new_both, respect_sizes=True)
    names = [tuple(label) for label in model.groups_.labels]
    offsets = np.zeros((len(new), 4))
    for i, sample in enumerate(new_both):
        for g, name in enumerate(names):
            is_each = attributes == "each"
            is_in = (
                any(name[0][1] == value for value in sample) if is_each else name == tuple(sample)
            )
            offsets[i] += is_in * model.offsets_[:, g]
    costs = cdist(new, model.cluster_centers_, "sqeuclidean") + offsets
    best = solve_integer_program(costs, 85 - model.cluster_sizes_)
    assert (model.cluster_sizes_ + np.bincount(labels, minlength=4)).max() <= 85
    assert cost_of(costs, labels) == pytest.approx(best, rel=1e-9)


def test_weights_of_training_samples_count(data):
    X, _, new, _ = data
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(X))
    model = FairKMeans(4, min_balance=None, max_cluster_size=85, random_state=0)
    model.fit(X, sample_weight=weights)
    places = np.floor(85 - model.cluster_sizes_)
    labels = model.predict(new, respect_sizes=True)
    costs = cdist(new, model.cluster_centers_, "sqeuclidean")
    assert (np.bincount(labels, minlength=4) <= places).all()
    assert cost_of(costs, labels) == pytest.approx(solve_integer_program(costs, places), rel=1e-9)


def test_full_clusters_take_none(data):
    X, _, new, _ = data
    model = FairKMeans(4, min_balance=None, max_cluster_size=62, random_state=0).fit(X)
    is_full = model.cluster_sizes_ == 62
    n_places = int((62 - model.cluster_sizes_).sum())
    assert is_full.any()
    labels = model.predict(new[:n_places], respect_sizes=True)
    np.testing.assert_array_equal(model.cluster_sizes_ + np.bincount(labels, minlength=4), 62)
    message = f"for each of {n_places + 1} samples, but max_cluster_size=62 leaves {n_places} "
    with pytest.raises(ValueError, match=re.escape(message)):
        model.predict(new[: n_places + 1], respect_sizes=True)


def test_samples_go_to_the_nearest_centre_where_there_are_places(data):
    X, _, new, _ = data
    model = FairKMeans(4, min_balance=None, max_cluster_size=239, random_state=0).fit(X)
    labels = model.predict(new, respect_sizes=True)
    np.testing.assert_array_equal(labels, model.predict(new))


def test_a_maximum_and_samples_in_memory_are_required(data):
    X, _, new, _ = data
    model = FairKMeans(4, min_balance=None, random_state=0).fit(X)
    with pytest.raises(ValueError, match="respect_sizes needs a fit with max_cluster_size.*None"):
        model.predict(new, respect_sizes=True)
    dask_array = pytest.importorskip("dask.array")
    model = FairKMeans(4, min_balance=None, max_cluster_size=85, random_state=0).fit(X)
    with pytest.raises(ValueError, match="samples in memory.*Array"):
        model.predict(dask_array.from_array(new), respect_sizes=True)


@pytest.mark.slow
def test_a_thousand_clusters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 8))
    centers = 1.5 * rng.normal(size=(1000, 8))
    capacities = np.full(1000, 22)
    labels = assign_within_capacities(X, centers, capacities)
    assert np.bincount(labels, minlength=1000).max() <= 22
    # No exchange of two samples, and no move to a free place, lowers the cost.
    costs = cdist(X, centers, "sqeuclidean")
    member_costs = costs[np.arange(len(X)), labels]
    least = np.full((1000, 1000), np.inf)  # of moves between two clusters
    for k in range(1000):
        least[k] = (costs[labels == k] - member_costs[labels == k, np.newaxis]).min(
            axis=0, initial=np.inf
        )
    free = np.bincount(labels, minlength=1000) < 22
    assert least[:, free].min() >= -1e-9
    assert (least + least.T).min() >= -1e-9
