"""Bounds on the shares of groups among the samples of every cluster."""

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from sklearn.base import clone

from skfair._groups.arguments import FitArguments
from skfair._partitions.partitions import SUBSAMPLE_SIZES, make_partitions
from skfair.cluster import FairKMeans, cluster_front
from skfair.cluster.kmeans._dual import gather_labels_and_gaps, solve_dual, zero_solution
from skfair.cluster.kmeans._fair_kmeans import check_input
from skfair.datasets import open_blocks
from skfair.exceptions import InfeasibleConstraintWarning, MissingSensitiveFeaturesWarning


def draw(n_samples, n_groups=3, seed=0):
    """Groups of unequal size that the first column tells apart."""
    rng = np.random.default_rng(seed)
    sizes = np.arange(1, n_groups + 1)
    groups = rng.choice(n_groups, n_samples, p=sizes / sizes.sum())
    groups[:n_groups] = np.arange(n_groups)
    X = rng.normal(size=(n_samples, 2))
    X[:, 0] += 2 * groups
    return X, groups


def shares_of(groups, weights=None):
    return np.bincount(groups, weights) / np.bincount(groups, weights).sum()


def excess(model, low=0.0, high=1.0):
    """Weight by which a group exceeds its bounds in a cluster, from the labels."""
    counts = model.group_weights_
    sizes = model.cluster_sizes_[:, np.newaxis]
    return max((low * sizes - counts).max(), (counts - high * sizes).max())


BOUNDS = {
    "maximum": lambda shares: {"max_group_share": shares.max() + 0.05},
    "minimum": lambda shares: {"min_group_share": 0.7 * shares.min()},
    "by group": lambda shares: {
        "min_group_share": 0.8 * shares,
        "max_group_share": (1.1 * shares).tolist(),
    },
    "within 5 %": lambda shares: {
        "min_group_share": 0.95 * shares,
        "max_group_share": 1.05 * shares,
    },
    "with sizes": lambda shares: {"min_group_share": 0.8 * shares, "min_cluster_size": 0.2},
    "with balance": lambda shares: {"max_group_share": shares.max() + 0.02, "min_balance": 0.8},
}


@pytest.mark.slow
@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
@pytest.mark.parametrize("n_samples", [150, 700])
def test_shares_are_kept_exactly(bounds, n_samples):
    X, groups = draw(n_samples)
    settings = {"min_balance": None} | bounds(shares_of(groups))
    plain = FairKMeans(4, min_balance=None, random_state=0).fit(X, sensitive_features=groups)
    model = FairKMeans(4, random_state=0, **settings).fit(X, sensitive_features=groups)
    low = np.asarray(settings.get("min_group_share", 0.0))
    high = np.asarray(settings.get("max_group_share", 1.0))
    assert excess(plain, low, high) > 1  # else nothing would be shown
    assert excess(model, low, high) <= 1e-9
    assert model.constraint_violation_ == 0
    assert model.status_ in {"optimal", "feasible"}
    assert model.assignment_lower_bound_ <= model.inertia_
    assert model.cluster_sizes_.min() >= settings.get("min_cluster_size", 0) * n_samples


def enumerate_labels(n_samples, n_clusters):
    for labels in product(range(n_clusters), repeat=n_samples - 1):
        labels = np.array([0, *labels])
        if labels.max() == n_clusters - 1:
            yield labels


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_tiny_problems_are_solved_as_well_as_by_enumeration(seed):
    X, groups = draw(9, 2, seed)
    shares = shares_of(groups)
    low = 0.8 * shares
    high = np.minimum(1.2 * shares, 1)
    model = FairKMeans(
        2, min_balance=None, min_group_share=low, max_group_share=high, n_init=10, random_state=0
    ).fit(X, sensitive_features=groups)
    lowest = np.inf
    for labels in enumerate_labels(9, 2):
        counts = np.eye(2)[labels].T @ np.eye(2)[groups]
        sizes = counts.sum(axis=1, keepdims=True)
        if (counts <= high * sizes + 1e-9).all() and (counts >= low * sizes - 1e-9).all():
            means = (np.eye(2)[labels].T @ X) / sizes
            lowest = min(lowest, ((X - means[labels]) ** 2).sum())
    assert np.isfinite(lowest)
    assert model.inertia_ == pytest.approx(lowest)
    assert excess(model, low, high) <= 1e-9


@pytest.mark.parametrize("attributes", ["intersections", "each"])
def test_the_dual_reaches_the_optimum_of_the_programme(attributes):
    X, groups = draw(160)
    columns = np.column_stack([groups, np.arange(160) % 2])
    features = groups if attributes == "intersections" else columns
    settings = {"max_group_share": 0.6, "min_group_share": 0.1, "attributes": attributes}
    arguments = FitArguments(X=X, sensitive_features=features)
    data = check_input(FairKMeans(3, min_balance=None, **settings), arguments)
    problem, limits = data.problem, data.problem.limits
    centers = problem.X[[3, 70, 110]]
    distances = ((problem.X - centers[:, None]) ** 2).sum(axis=2)
    in_group = np.eye(3)[groups].T
    if attributes == "each":
        in_group = np.vstack([in_group, np.eye(2)[columns[:, 1]].T])
    rows = np.vstack([in_group - 0.6, 0.1 - in_group])
    optimum = optimize.linprog(
        distances.ravel(),
        A_ub=np.kron(np.eye(3), rows),
        b_ub=np.zeros(3 * len(rows)),
        A_eq=np.tile(np.eye(160), 3),
        b_eq=np.ones(160),
    ).fun
    assert distances.min(axis=0).sum() < 0.99 * optimum  # else nothing would be shown
    blocks = make_partitions([(distances, problem.codes, problem.weights)])
    solution, evaluated = solve_dual(blocks, limits, zero_solution(3, limits), 0.0)
    assert solution.value <= optimum * (1 + 1e-9)
    assert solution.value == pytest.approx(optimum, rel=2e-3)
    labels, _ = gather_labels_and_gaps(evaluated)
    assert labels.shape == (160,)


def find_least_excess(totals, bounds, sign):
    """By brute force: the least excess of a share in two clusters of two groups."""
    first = np.array(list(product(*(range(n + 1) for n in totals))))[1:-1]
    tables = np.stack([first, totals - first], axis=1)
    shares = tables / tables.sum(axis=2, keepdims=True)
    return max((sign * (shares - bounds)).max(axis=(1, 2)).min(), 0.0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skfair.exceptions.InfeasibleConstraintWarning")
@settings(max_examples=8)  # of half a second: the search solves ten integer programmes
@given(st.integers(0, 2**32), st.booleans())
def test_shares_exceed_bounds_by_the_least_that_integers_allow(seed, upper):
    rng = np.random.default_rng(seed)
    X, groups = draw(int(rng.integers(12, 30)), 2, seed)
    shares = shares_of(groups)
    name = "max_group_share" if upper else "min_group_share"
    model = FairKMeans(2, min_balance=None, random_state=0, n_init=1)
    model.set_params(**{name: shares}).fit(X, sensitive_features=groups)
    least = find_least_excess(np.bincount(groups), shares, 1 if upper else -1)
    assert (model.status_ == "infeasible") == (least > 1e-9)
    sign = 1 if upper else -1
    counts = model.group_counts_
    sizes = counts.sum(axis=1, keepdims=True)
    assert max((sign * (counts / sizes - shares)).max(), 0.0) == pytest.approx(least, abs=2e-3)
    excess = max((sign * (counts - shares * sizes)).max(), 0.0)
    assert model.constraint_violation_ == pytest.approx(excess, abs=1e-9)
    g = int(rng.integers(2))
    beyond = shares.copy()
    beyond[g] += -0.01 if upper else 0.01
    message = rf"{name} must be .* its share of all samples: {shares[g]:.4g} of group {g}, not"
    with pytest.raises(ValueError, match=message):
        model.set_params(**{name: beyond}).fit(X, sensitive_features=groups)


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("n_samples, n_clusters, bound", [(300, 20, 0.6), (300, 20, 0.5)])
def test_many_small_clusters_keep_the_bound_as_a_balance_would(n_samples, n_clusters, bound):
    X = np.random.default_rng(0).normal(size=(n_samples, 2))
    groups = np.arange(n_samples) % 2
    X[:, 0] += 2 * groups
    model = FairKMeans(n_clusters, min_balance=None, max_group_share=bound, random_state=0)
    model.fit(X, sensitive_features=groups)
    balanced = FairKMeans(n_clusters, min_balance=(1 - bound) / bound, random_state=0)
    balanced.fit(X, sensitive_features=groups)
    assert excess(model, high=bound) <= 1e-9
    assert model.status_ in {"optimal", "feasible"}
    assert model.inertia_ <= 1.03 * balanced.inertia_


@pytest.mark.parametrize("bound", [[0.5, 0.5], [[0.5, 0.5, 0.5]], [0.9, np.nan, 0.9], 1.5, -0.1])
def test_bounds_of_another_shape_or_value_are_refused(bound):
    X, groups = draw(60)
    with pytest.raises(ValueError, match="max_group_share"):
        FairKMeans(3, max_group_share=bound).fit(X, sensitive_features=groups)


# Bounds by labels of groups ---------------------------------------------------------------

ATTRIBUTES = pd.DataFrame({"sex": [*"fmmm"] * 50, "age": np.repeat(["old", "young"], 100)})


@pytest.mark.parametrize(
    "features, attributes, bounds, listed",
    [
        (ATTRIBUTES["sex"], "intersections", {"f": 0.2}, [0.2, 0]),
        (ATTRIBUTES["sex"].map({"f": 7, "m": 3}), "intersections", {7: 0.2}, [0, 0.2]),
        (ATTRIBUTES, "intersections", {("m", "old"): 0.3}, [0, 0, 0.3, 0]),
        (ATTRIBUTES, "each", {("sex", "f"): 0.2, ("age", "old"): 0.4}, [0.2, 0, 0.4, 0]),
    ],
    ids=["strings", "numbers", "intersections", "each"],
)
def test_bounds_by_label_are_those_in_the_order_of_groups(features, attributes, bounds, listed):
    X = np.random.default_rng(0).normal(size=(200, 2))
    settings = {"min_balance": None, "attributes": attributes, "random_state": 0}
    by_label, by_position = (
        FairKMeans(3, min_group_share=one, **settings).fit(X, sensitive_features=features)
        for one in (bounds, listed)
    )
    np.testing.assert_array_equal(by_label.labels_, by_position.labels_)
    assert excess(by_label, low=np.array(listed)) <= 1e-9
    assert clone(by_label).min_group_share == bounds


@pytest.mark.slow
def test_groups_that_are_left_out_have_no_maximum():
    X, groups = draw(150)
    names = np.array(["a", "b", "c"])[groups]
    settings = {"min_balance": None, "random_state": 0}
    first, _, last = shares_of(groups) + 0.05
    model = FairKMeans(3, max_group_share={"a": first, "c": last}, **settings)
    model.fit(X, sensitive_features=names)
    assert excess(model, high=np.array([first, 1.0, last])) <= 1e-9
    plain = FairKMeans(3, **settings).fit(X, sensitive_features=names)
    free = FairKMeans(3, min_group_share={}, **settings).fit(X, sensitive_features=names)
    np.testing.assert_array_equal(free.labels_, plain.labels_)
    front = cluster_front(
        FairKMeans(3, max_group_share={"a": first}, random_state=0),
        X,
        sensitive_features=names,
        n_levels=2,
    )
    assert excess(front.to_estimator(0), high=np.array([first, 1.0, 1.0])) <= 1e-9


def test_labels_that_are_no_groups_are_refused_with_those_that_are():
    X = np.random.default_rng(0).normal(size=(200, 2))
    for attributes, known in (("intersections", "('f', 'old')"), ("each", "('sex', 'f')")):
        model = FairKMeans(3, attributes=attributes, min_group_share={"f": 0.2, "x": 0.1})
        message = f"no group is called 'f', 'x'. The groups are {known}, "
        with pytest.raises(ValueError, match=re.escape(message)):
            model.fit(X, sensitive_features=ATTRIBUTES)
    model = FairKMeans(3, min_group_share={"f": 0.9})
    with pytest.raises(ValueError, match="its share of all samples: 0.25 of group 'f', not"):
        model.fit(X, sensitive_features=ATTRIBUTES["sex"])


@pytest.mark.slow
def test_weights_count(recwarn):
    X, groups = draw(300)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    shares = shares_of(groups, weights)
    low = 0.8 * shares
    high = 1.2 * shares
    model = FairKMeans(
        4, min_balance=None, min_group_share=low, max_group_share=high, random_state=0
    ).fit(X, sensitive_features=groups, sample_weight=weights)
    assert excess(model, low, high) <= 1e-9 * weights.sum()
    assert model.constraint_violation_ == 0
    assert not recwarn


def list_weighted_shares(n_clusters, groups, weights):
    """Shares of groups, (n_clusterings, n_clusters, n_groups), of all with no empty cluster."""
    labelled = np.array(list(product(range(n_clusters), repeat=len(groups) - 1)))
    labelled = np.column_stack([np.zeros(len(labelled), int), labelled])
    members = labelled[:, np.newaxis] == np.arange(n_clusters)[:, np.newaxis]
    sums = (members * weights) @ np.eye(groups.max() + 1)[groups]
    sums = sums[members.any(axis=2).all(axis=1)]
    return sums / sums.sum(axis=2, keepdims=True)


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore::skfair.exceptions.InfeasibleConstraintWarning")
@pytest.mark.parametrize("spread", [0.05, 0.2])
def test_weighted_shares_are_exceeded_only_where_all_clusterings_do(spread):
    n_exact = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n_samples = int(rng.integers(6, 9))
        groups = rng.permutation(np.arange(n_samples) % 2)
        weights = rng.integers(1, 4, n_samples).astype(float)
        bound = min(float(shares_of(groups, weights).max()) + spread, 1.0)
        model = FairKMeans(2, min_balance=None, max_group_share=bound, random_state=0)
        model.fit(rng.normal(size=(n_samples, 2)), sensitive_features=groups, sample_weight=weights)
        least = list_weighted_shares(2, groups, weights).max(axis=(1, 2)).min() - bound
        sizes = model.cluster_sizes_[:, np.newaxis]
        exceeded = (model.group_weights_ / sizes).max() - bound
        # The share is nearly the least that is possible, and the violation is in weight.
        excess = (model.group_weights_ - bound * sizes).max()
        assert model.constraint_violation_ == pytest.approx(max(excess, 0.0), abs=1e-9)
        assert exceeded <= max(least + 0.011, 1e-9)
        assert (model.status_ == "infeasible") == (least > 1e-9)
        n_exact += least <= 1e-9
    assert 0 < n_exact


@pytest.mark.slow
def test_other_names_change_neither_bounds_nor_clusters():
    X, groups = draw(300)
    shares = shares_of(groups)
    models = []
    for names in (["a", "b", "c"], ["z", "y", "x"]):
        order = np.argsort(names)
        models.append(
            FairKMeans(
                4, min_balance=None, max_group_share=(1.1 * shares)[order], random_state=0
            ).fit(X, sensitive_features=np.array(names)[groups])
        )
        assert excess(models[-1], 0.0, (1.1 * shares)[order]) <= 1e-9
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)


@pytest.mark.slow
def test_partitioned_data_keep_the_bounds(tmp_path, monkeypatch):
    X, groups = draw(6000)
    shares = shares_of(groups)
    np.save(tmp_path / "rows.npy", np.column_stack([X, groups]))
    table = open_blocks(tmp_path / "rows.npy")
    settings = {"min_balance": None, "min_group_share": 0.9 * shares, "max_group_share": 0.55}
    model = FairKMeans(4, random_state=0, **settings)
    memory = FairKMeans(4, random_state=0, **settings).fit(X, sensitive_features=groups)
    model.fit(table[[0, 1]], sensitive_features=table[2])
    np.testing.assert_array_equal(model.labels_, memory.labels_)
    # The same without all samples in memory.
    monkeypatch.setitem(SUBSAMPLE_SIZES, "k-means", 2000)
    model.fit(table[[0, 1]], sensitive_features=table[2])
    assert excess(model, 0.9 * shares, 0.55) <= 1e-9
    assert model.constraint_violation_ == 0
    assert model.inertia_ <= 1.01 * memory.inertia_
    assert model.assignment_lower_bound_ <= model.inertia_


@pytest.mark.slow
def test_bounds_are_fixed_along_a_front():
    X, groups = draw(300)
    high = shares_of(groups).max() + 0.05
    front = cluster_front(
        FairKMeans(3, max_group_share=high, random_state=0),
        X,
        sensitive_features=groups,
        n_levels=5,
    )
    assert len(front) > 5
    for i in range(len(front)):
        counts = np.eye(3)[front.labels(i)].T @ np.eye(3)[groups]
        assert (counts <= high * counts.sum(axis=1, keepdims=True) + 1e-9).all()
    model = front.to_estimator(0)
    assert model.max_group_share == high
    assert model.constraint_violation_ == 0


def test_bounds_need_groups():
    X, groups = draw(60)
    model = FairKMeans(3, min_balance=None, max_group_share=0.6, random_state=0)
    with pytest.warns(MissingSensitiveFeaturesWarning, match="max_group_share=0.6 requires"):
        assert model.fit(X).status_ == "unconstrained"
    with pytest.warns(MissingSensitiveFeaturesWarning, match="in the group 0"):
        model.fit(X, sensitive_features=0 * groups)
    sized = FairKMeans(3, max_cluster_size=0.5, min_group_share=0.1)
    with pytest.warns(MissingSensitiveFeaturesWarning, match="min_group_share=0.1 requires"):
        sized.fit(X)


def test_bounds_that_are_missed_are_named():
    X, groups = draw(60)
    model = FairKMeans(4, min_balance=None, max_group_share=0.6, algorithm="alternating")
    model.set_params(random_state=0)
    with pytest.warns(InfeasibleConstraintWarning, match=r"max_group_share=0.6 is not kept"):
        model.fit(X, sensitive_features=np.where(X[:, 0] > np.median(X[:, 0]), 1, 0))
    assert model.status_ == "not_found" and model.violated_bound_ == "max_group_share"
    counts = model.group_counts_
    excess = (counts - 0.6 * counts.sum(axis=1, keepdims=True)).max()
    assert model.constraint_violation_ == pytest.approx(excess) and excess > 0


# Rounding and starts ----------------------------------------------------------------------


def draw_far_points():
    """Twenty points of heavy tails in two groups, and a generator for labels."""
    rng = np.random.default_rng(0)
    return 10 * rng.standard_t(2, size=(20, 2)), np.arange(20) % 2, rng


@pytest.mark.parametrize("bound", [0.2, 0.05, 0.02])
def test_clusters_of_few_keep_the_bounds(bound):
    X, groups, rng = draw_far_points()
    bounds = 0.5 * (1 - bound), 0.5 / (1 - bound)
    settings = {"min_group_share": bounds[0], "max_group_share": bounds[1]}
    model = FairKMeans(2, min_balance=None, random_state=0, **settings)
    model.fit(X, sensitive_features=groups)
    assert excess(model, *bounds) <= 1e-9
    # No cluster around two points that keeps the bounds is cheaper.
    costs = []
    for i, j in product(range(20), repeat=2):
        is_near = ((X - X[i]) ** 2).sum(axis=1) < ((X - X[j]) ** 2).sum(axis=1)
        table = np.array([np.bincount(groups[is_near == k], minlength=2) for k in (0, 1)])
        sizes = table.sum(axis=1, keepdims=True)
        slack = max((bounds[0] * sizes - table).max(), (table - bounds[1] * sizes).max())
        if sizes.min() > 0 and slack <= 0:
            costs.append(sum(len(C) * C.var(axis=0).sum() for C in (X[is_near], X[~is_near])))
    assert model.inertia_ <= min(costs, default=np.inf) * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(5))
def test_a_fit_from_labels_that_keep_the_bounds_has_no_higher_cost(seed):
    X, groups = draw(200, 2, seed)
    shares = shares_of(groups)
    tight, loose = (
        {"min_group_share": (1 - b) * shares, "max_group_share": shares / (1 - b)}
        for b in (0.02, 0.2)
    )
    model = FairKMeans(6, min_balance=None, random_state=0)
    first = clone(model).set_params(**tight).fit(X, sensitive_features=groups)
    # From its own labels, and from those of a tighter bound.
    for bounds in (tight, loose):
        again = clone(model).set_params(**bounds, init=first.labels_)
        again.fit(X, sensitive_features=groups)
        assert again.inertia_ <= first.inertia_ * (1 + 1e-9)
        assert excess(again, bounds["min_group_share"], bounds["max_group_share"]) <= 1e-9
        assert again.constraint_violation_ == 0


def test_labels_of_rows_without_weight_do_not_count():
    X, groups = draw(200, 2)
    weights = np.ones(200)
    weights[::7] = 0
    first = FairKMeans(3, random_state=0)
    first.fit(X, sensitive_features=groups, sample_weight=weights)
    again = FairKMeans(3, random_state=0, init=first.labels_)
    again.fit(X, sensitive_features=groups, sample_weight=weights)
    assert again.inertia_ <= first.inertia_ * (1 + 1e-9)


@pytest.mark.parametrize(
    "labels", [[0, 1], [0, 1, 2, 0, 1], [0, 0, 0, 0], [0, 1, 2, 3], [0, 1, np.nan, 1]]
)
def test_labels_that_are_no_clustering_are_refused(labels):
    model = FairKMeans(3, init=labels)
    with pytest.raises(ValueError, match="init must give each of 4 rows a label from 0 to 2"):
        model.fit([[0.0], [1.0], [2.0], [3.0]], sensitive_features=[0, 1, 0, 1])
