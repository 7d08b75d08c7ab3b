"""What one sample of rounding allows: feasibility, the best balance, and laws of the cost."""

import numpy as np
import pytest
from scipy import optimize
from sklearn.base import clone

from skfair.cluster import FairKMeans, cluster_front
from skfair.exceptions import InfeasibleConstraintWarning

# Integer programmes ---------------------------------------------------------------------


def draw_instance(seed):
    """Two or three groups of 2 to 30 members, 2 to 5 clusters, bounds of one of four kinds."""
    rng = np.random.default_rng(seed)
    n_groups, n_clusters = int(rng.integers(2, 4)), int(rng.integers(2, 6))
    sizes = rng.integers(2, 31, size=n_groups)
    sizes[0] = max(sizes[0], n_clusters - sizes[1:].sum())
    groups = np.repeat(np.arange(n_groups), sizes)
    n_samples = int(sizes.sum())
    X = rng.normal(size=(n_samples, 2))
    X[:, 0] += 2 * groups
    mean_size = n_samples / n_clusters
    margin = int(rng.integers(3))
    settings = {"min_balance": float(rng.choice([0.5, 0.8, 1.0]))}
    if seed % 4 == 1:
        settings["max_cluster_size"] = int(np.ceil(mean_size)) + margin
    if seed % 4 in (2, 3):
        settings["min_cluster_size"] = max(1, int(mean_size) - margin)
    if seed % 4 == 3:
        shares = sizes / n_samples
        settings |= {"min_group_share": 0.9 * shares, "max_group_share": shares / 0.9}
        settings["max_group_share"] = np.minimum(settings["max_group_share"], 1.0)
        settings["min_balance"] = [None, 0.8][seed % 8 // 4]
    return X, groups, n_clusters, settings


def is_feasible(sizes, n_clusters, settings, level, ratio):
    """Whether a table of integers keeps shares and a ratio exactly, a level up to a sample."""
    n_groups = len(sizes)
    cluster = np.ones((1, n_groups))
    pairs = np.zeros((n_groups, n_groups, n_groups))
    for i in range(n_groups):
        for j in range(n_groups):
            pairs[i, j, j] -= 1.0
    identity = np.eye(n_groups)[:, None]
    pairs_of = pairs
    low = np.broadcast_to(settings.get("min_group_share", 0.0), n_groups)[:, None]
    high = np.broadcast_to(settings.get("max_group_share", 1.0), n_groups)[:, None]
    # Rows of one cluster, and the minimum of each.
    rows = [
        (identity + level * pairs_of).reshape(-1, n_groups),
        (identity + ratio * pairs_of).reshape(-1, n_groups),
        np.eye(n_groups) - low,
        high - np.eye(n_groups),
        cluster,
        -cluster,
    ]
    slacks = 1 + level, 0.0, 0.0, 0.0
    least = [np.full(len(row), -slack - 1e-9) for row, slack in zip(rows, slacks, strict=False)]
    least += [[settings.get("min_cluster_size", 1)], [-settings.get("max_cluster_size", np.inf)]]
    each = np.kron(np.eye(n_clusters), np.vstack(rows))
    totals = np.kron(np.ones((1, n_clusters)), np.eye(n_groups))
    present = (sizes >= n_clusters) & (level > 0)
    solved = optimize.milp(
        np.zeros(n_clusters * n_groups),
        constraints=[
            optimize.LinearConstraint(each, np.tile(np.concatenate(least), n_clusters)),
            optimize.LinearConstraint(totals, sizes, sizes),
        ],
        integrality=np.ones(n_clusters * n_groups),
        bounds=optimize.Bounds(np.tile(present.astype(float), n_clusters)),
    )
    return solved.x is not None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Groups have fewer members")
@pytest.mark.filterwarnings("ignore::skfair.exceptions.InfeasibleConstraintWarning")
@pytest.mark.parametrize(
    "first", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in (12, 84, 108, 132))]
)
def test_feasible_instances_are_fitted_with_the_best_balance(first):
    """Of 60 instances: an error in one of 20 is met by 95 of 100 such choices."""
    n_feasible = 0
    for seed in range(first, first + 12):
        X, groups, n_clusters, settings = draw_instance(seed)
        sizes = np.bincount(groups)
        model = FairKMeans(n_clusters, n_init=1, random_state=0, **settings)
        model.fit(X, sensitive_features=groups)
        of_data = sizes.min() / sizes.max()
        level = (settings["min_balance"] or 0.0) * of_data
        holds = is_feasible(sizes, n_clusters, settings, level, 0.0)
        assert model.status_ in ({"optimal", "feasible"} if holds else {"infeasible"})
        n_feasible += holds
        # No table has a balance that is better by .02, as far as the level that is asked for.
        better = (model.relative_balance_ + 0.02) * of_data
        if holds and better < level:
            assert not is_feasible(sizes, n_clusters, settings, level, better)
    assert n_feasible >= 9


# Laws of the cost -----------------------------------------------------------------------


def draw_far_samples(seed, n_samples=90):
    """Heavy tails in two groups, and bounds within 5 % of their shares."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(2.5, size=(n_samples, 3))
    groups = rng.choice(2, n_samples, p=[0.4, 0.6])
    shares = np.bincount(groups) / n_samples
    return X, groups, {"min_group_share": 0.95 * shares, "max_group_share": shares / 0.95}


def alternate_assignment(X, groups, bounds, centers):
    """Labels of linear programmes of assignment and centres in turns, rounded in the end."""
    n_samples, n_clusters = len(X), len(centers)
    in_group = np.eye(2)[groups].T
    low = bounds["min_group_share"][:, None]
    high = bounds["max_group_share"][:, None]
    rows = np.vstack([low - in_group, in_group - high])
    for _ in range(4):
        distances = ((X - centers[:, None]) ** 2).sum(axis=2)
        solved = optimize.linprog(
            distances.ravel(),
            A_ub=np.kron(np.eye(n_clusters), rows),
            b_ub=np.zeros(n_clusters * len(rows)),
            A_eq=np.tile(np.eye(n_samples), n_clusters),
            b_eq=np.ones(n_samples),
        )
        shares = solved.x.reshape(n_clusters, n_samples)
        centers = shares @ X / np.maximum(shares.sum(axis=1, keepdims=True), 1e-9)
    return shares.argmax(axis=0)


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(4))
def test_a_fit_from_a_feasible_clustering_never_costs_more(seed):
    X, groups, bounds = draw_far_samples(seed)
    model = FairKMeans(4, min_balance=None, random_state=0, **bounds)
    fitted = clone(model).fit(X, sensitive_features=groups)
    balanced = FairKMeans(4, min_balance=0.95, random_state=0).fit(X, sensitive_features=groups)
    alternated = alternate_assignment(X, groups, bounds, fitted.cluster_centers_)
    n_feasible = 0
    for labels in (fitted.labels_, balanced.labels_, alternated):
        counts = np.eye(4)[labels].T @ np.eye(2)[groups]
        sizes = counts.sum(axis=1, keepdims=True)
        low, high = bounds["min_group_share"] * sizes, bounds["max_group_share"] * sizes
        if max((low - counts).max(), (counts - high).max()) > 1e-9 or sizes.min() == 0:
            continue
        n_feasible += 1
        again = clone(model).set_params(init=labels).fit(X, sensitive_features=groups)
        means = np.eye(4)[labels].T @ X / np.maximum(sizes, 1)
        assert again.inertia_ <= ((X - means[labels]) ** 2).sum() * (1 + 1e-9)
        assert again.constraint_violation_ == 0
    assert n_feasible >= 1


@pytest.mark.filterwarnings("ignore:Groups have fewer members")
def test_a_group_is_in_every_cluster_where_the_last_sample_does_not_fit():
    X = [[1.5, -2.0], [-0.3, -0.9], [-0.8, -0.8]]
    model = FairKMeans(2, min_balance=1, max_cluster_size=3, random_state=0)
    with pytest.warns(InfeasibleConstraintWarning, match="heaviest sample has 0.6 of the weight"):
        model.fit(X, sensitive_features=["b", "a", "a"], sample_weight=[3, 1, 1])
    # Apart, the members of "a" are in clusters of 4 and 1; together both keep the size.
    assert model.labels_[1] != model.labels_[2]
    assert model.constraint_violation_ == 4 - 3


def test_sizes_of_unequal_weights_give_way_before_shares_do():
    X = [[0.1], [-0.1], [0.6], [0.1], [-0.5]]
    groups = list("abbab")
    weights = [9, 5, 10, 2, 3]
    model = FairKMeans(
        2, min_balance=None, min_group_share={"a": 0.2}, min_cluster_size=14, random_state=0
    )
    with pytest.warns(InfeasibleConstraintWarning, match="has 10, 4 too few for 14"):
        model.fit(X, sensitive_features=groups, sample_weight=weights)
    # Shares hold exactly. Sizes, which would need 14 and 15, are missed by less than the heaviest.
    assert (model.group_weights_[:, 0] >= 0.2 * model.cluster_sizes_).all()
    assert sorted(model.cluster_sizes_) == [10, 19]
    assert model.constraint_violation_ == 14 - 10


def test_a_fit_from_labels_within_a_sample_of_the_balance_never_costs_more():
    """Six samples of either group, and labels that use the documented sample."""
    X = np.arange(12.0)[:, np.newaxis]
    groups = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0])
    labels = np.repeat([0, 1], 6)
    free = FairKMeans(2, min_balance=0.9, random_state=0).fit(X, sensitive_features=groups)
    assert free.relative_balance_ >= 0.9
    first, second = (np.bincount(groups[labels == k]) for k in (0, 1))
    assert first.min() + 1 >= 0.9 * (first.max() - 1)
    assert second.min() + 1 >= 0.9 * (second.max() - 1)
    model = FairKMeans(2, min_balance=0.9, init=labels).fit(X, sensitive_features=groups)
    assert model.inertia_ == 35 < free.inertia_
    assert model.constraint_violation_ == 0


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(3))
def test_a_looser_bound_of_one_front_never_costs_more(seed):
    X, groups, _ = draw_far_samples(seed)
    X[:, 0] += 2 * groups
    front = cluster_front(FairKMeans(4, random_state=0), X, sensitive_features=groups, n_levels=5)
    required = [0.0, 0.3, 0.6, 0.8, 0.9]
    costs = [front.cost[front.select(min_balance=balance)] for balance in required]
    assert (np.diff(costs) >= 0).all()
    assert costs[-1] > costs[0]
