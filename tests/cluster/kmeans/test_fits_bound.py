"""A fit looks at its own bound: it says where its cost is far above."""

import numpy as np
import pytest
from scipy import optimize, sparse

from skfair.cluster import FairKMeans
from skfair.cluster.kmeans import _fits


def draw(n_small=24, n_large=1200, seed=0):
    """A small group whose members lie apart from most of the others."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(6, 4)) * 3
    X = centers[rng.integers(6, size=n_large)] + rng.normal(size=(n_large, 4))
    small = centers[rng.integers(2, size=n_small)] + rng.normal(size=(n_small, 4))
    return np.vstack([X, small]), np.repeat(["large", "small"], [n_large, n_small])


def fit(X, groups, **parameters):
    model = FairKMeans(6, random_state=0, n_init=1, **parameters)
    return model.fit(X, sensitive_features=groups)


@pytest.mark.slow
def test_a_small_group_far_above_the_bound_is_named():
    X, groups = draw(9)
    with pytest.warns(UserWarning, match=r"above assignment_lower_bound_") as caught:
        model = fit(X, groups, min_balance=0.95)
    gap = model.inertia_ / model.assignment_lower_bound_ - 1
    assert f"is {gap:.0%} above" in str(caught[0].message)
    assert "group 'small' has 1.5 members per cluster" in str(caught[0].message)
    assert model.constraint_violation_ == 0 and gap > 0.1


def test_other_fits_do_not_warn(recwarn):
    X, groups = draw(400)
    fit(X, groups, min_balance=0.9)
    fit(X, groups, min_balance=None, max_cluster_size=300)
    assert not recwarn


def test_a_start_is_repaired_where_it_may_end_cheapest(monkeypatch):
    """Data without clusters lead starts to different ends."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1200, 6))
    groups = np.arange(1200) % 2
    repaired = []
    repair_end = _fits.repair_end

    def store_costs(problem, assigned, runs):
        end = repair_end(problem, assigned, runs)
        repaired.append((assigned.cost, end.point.cost))
        return end

    monkeypatch.setattr(_fits, "repair_end", store_costs)
    model = FairKMeans(6, min_balance=0.9, random_state=0, n_init=8)
    cost = model.fit(X, sensitive_features=groups).inertia_
    assert cost == pytest.approx(min(end for _, end in repaired))
    # Each costs less before its repair than all ends before.
    for i, (assigned, _) in enumerate(repaired):
        assert assigned < min((end for _, end in repaired[:i]), default=np.inf)
    # Of few samples all starts are repaired.
    n_repaired = len(repaired)
    monkeypatch.setattr(_fits, "MAX_REPAIRED_SAMPLES", len(X))
    repaired.clear()
    assert model.fit(X, sensitive_features=groups).inertia_ <= cost * (1 + 1e-12)
    assert len(repaired) > n_repaired


def cheapest_assignment(X, centers, groups, ratio):
    """The least cost of an integer assignment of two groups to centres with a minimum balance."""
    n_samples = len(X)
    n_clusters = len(centers)
    distances = ((X[:, np.newaxis] - centers) ** 2).sum(axis=2)
    once = sparse.kron(sparse.eye_array(n_samples), np.ones((1, n_clusters)))
    counts = [sparse.kron((groups == g)[np.newaxis], np.eye(n_clusters)) for g in np.unique(groups)]
    rows = [counts[0] - ratio * counts[1], counts[1] - ratio * counts[0], *counts]
    least = np.repeat([0.0, 1.0], 2 * n_clusters)
    solved = optimize.milp(
        distances.ravel(),
        integrality=np.ones(distances.size),
        bounds=optimize.Bounds(0, 1),
        constraints=[(once, 1, 1), (sparse.vstack(rows), least - 1e-9, np.inf)],
        options={"mip_rel_gap": 1e-4},
    )
    return solved.fun


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore:inertia_ is")
@pytest.mark.parametrize("seed", range(3))
def test_the_assignment_is_near_that_of_an_integer_program(seed):
    X, groups = draw(12, 120, seed)
    model = FairKMeans(4, min_balance=0.8, random_state=0).fit(X, sensitive_features=groups)
    ratio = min(0.8 * model.data_balance_, model.balance_)
    least = cheapest_assignment(X, model.cluster_centers_, groups, ratio)
    assert least * (1 - 1e-6) <= model.inertia_ <= 1.005 * least
