from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import optimize
from sklearn.base import clone

from skfair._kernels.limits import add_rows, balance_limits, satisfies_rows, size_rows
from skfair._partitions.partitions import BLOCK_SIZE
from skfair.cluster import FairKMeans, Homotopy, cluster_front
from skfair.cluster.kmeans import _front, _homotopy, _repair
from skfair.cluster.kmeans._dual import (
    max_dual_iterations,
    zero_solution,
)
from skfair.cluster.kmeans._front import follow_levels, rising_levels, route_from
from skfair.cluster.kmeans._problem import ClusteringProblem, recompute_point
from skfair.cluster.kmeans._repair import (
    iterate_local_search,
    repair,
    repair_and_search,
    search_locally,
)
from skfair.cluster.kmeans._rounds import RunSettings, iterate_at_level, lloyd
from skfair.datasets import make_fair_blobs
from skfair.metrics import hypervolume


def samples_of(n_samples=300, weights=None, **settings):
    X, _, codes = make_fair_blobs(n_samples, random_state=0, **settings)
    weights = np.ones(n_samples) if weights is None else weights
    X -= np.average(X, axis=0, weights=weights)
    return ClusteringProblem(X, weights, codes.astype(np.intp), balance_limits(codes.max() + 1))


def plain(samples, n_clusters=3):
    """The point where k-means ends, with a dual of zeros."""
    start = RunSettings(n_clusters).start(samples, np.random.RandomState(0))
    clustering = lloyd(samples, start, 100, 0.0)
    return iterate_at_level(
        samples, recompute_point(samples, clustering.labels, n_clusters), 0.0, 100, 0.0
    )[0]


@pytest.mark.parametrize("n_levels", [1, 2, 7])
def test_levels_rise_to_the_required_balance_and_get_denser(n_levels):
    levels = rising_levels(0.2, 0.7, n_levels)
    assert len(levels) == n_levels
    assert levels[-1] == 0.7
    steps = np.diff([0.2, *levels])
    assert (steps > 0).all()
    assert (np.diff(steps) < 0).all()
    assert (rising_levels(0.7, 0.7, n_levels) == 0.7).all()


@pytest.mark.parametrize("ratio", [0.0, 0.5, 0.9])
def test_the_value_of_an_assignment_bounds_every_fair_one_from_below(ratio):
    samples = samples_of()
    point = plain(samples)
    dual = samples.solve_assignment(point.clustering.centers, samples.limits._replace(level=ratio))
    fair = repair(samples, point._replace(dual=dual), ratio)
    assert fair.balance >= ratio
    gaps = samples.X - point.clustering.centers[fair.clustering.labels]
    assert dual.value <= (gaps**2).sum() * (1 + 1e-12)
    if ratio == 0:
        assert dual.value == pytest.approx(point.cost)


def test_unit_costs_weigh_costs_but_not_counts():
    """The assignment's value against its linear programme."""
    costs = np.random.default_rng(0).uniform(0.1, 3.0, 60)
    samples = replace(samples_of(60, group_separation=0.8), unit_costs=costs)
    centers = plain(samples).clustering.centers
    distances = ((samples.X - centers[:, None]) ** 2).sum(axis=2)
    counts = np.kron(np.eye(3), np.eye(2)[:, samples.codes])  # of every cluster and group
    one_less_other = np.kron(np.eye(3), 0.8 * np.eye(2)[::-1] - np.eye(2))
    programme = optimize.linprog(
        (costs * distances).ravel(),
        A_ub=one_less_other @ counts,
        b_ub=np.zeros(6),
        A_eq=np.tile(np.eye(60), 3),
        b_eq=np.ones(60),
    )
    point = samples.solve_assignment(centers, samples.limits._replace(level=0.8), slack=0.0)
    assert programme.fun * 0.99 <= point.value <= programme.fun * (1 + 1e-9)
    assert programme.fun > 1.05 * (costs * distances.min(axis=0)).sum()


def test_a_balance_of_counts_holds_where_costs_differ():
    costs = np.random.default_rng(0).uniform(0.1, 3.0, 300)
    samples = samples_of(group_separation=0.8)
    samples = replace(samples, unit_costs=costs, limits=samples.limits._replace(level=0.8))
    runs = RunSettings(3, n_init=2)
    point, _, status = Homotopy()._solve(samples, runs, np.random.RandomState(0))
    labels = point.clustering.labels
    counts = np.eye(3)[labels].T @ np.eye(2)[samples.codes]
    np.testing.assert_array_equal(point.clustering.counts, counts)
    assert (counts.min(axis=1) / counts.max(axis=1)).min() >= 0.8
    assert status == "feasible"  # exchanges of samples of unequal costs are not tried
    means = [
        np.average(samples.X[labels == k], axis=0, weights=costs[labels == k]) for k in range(3)
    ]
    np.testing.assert_allclose(point.clustering.centers, means)
    squares = ((samples.X - point.clustering.centers[labels]) ** 2).sum(axis=1)
    assert point.cost == pytest.approx(costs @ squares)
    equal, _, _ = Homotopy()._solve(
        replace(samples, unit_costs=None), runs, np.random.RandomState(0)
    )
    assert point.cost < samples.cost_of(samples.clustering_from_labels(equal.clustering.labels, 3))


def test_warm_duals_lead_to_the_same_value():
    samples = samples_of(2000)
    centers = plain(samples).clustering.centers
    limits, lower = (samples.limits._replace(level=level) for level in (0.9, 0.8))
    cold = samples.solve_assignment(centers, limits)
    warm = samples.solve_assignment(centers, limits, samples.solve_assignment(centers, lower))
    assert warm.value == pytest.approx(cold.value, rel=1e-3)


def test_advancing_to_no_balance_is_kmeans():
    samples = samples_of()
    point = plain(samples)
    distances = ((samples.X[:, None] - point.clustering.centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(point.clustering.labels, distances.argmin(axis=1))
    assert not point.dual.offsets.any()


def test_advancing_raises_the_balance_and_stops_by_its_tolerance():
    samples = samples_of(group_separation=0.8)
    start = plain(samples)
    point, n_iter, converged = iterate_at_level(samples, start, 0.8, 100, 1e-5)
    assert converged and 1 < n_iter < 100
    assert start.balance < 0.5 < 0.7 < point.balance
    _, n_iter, converged = iterate_at_level(samples, start, 0.8, 1, 1e-5)
    assert n_iter == 1 and not converged


def test_a_watch_sees_every_round_and_may_end_them():
    samples = samples_of(group_separation=0.8)
    rounds = []
    point, n_iter, _ = iterate_at_level(
        samples, plain(samples), 0.8, 100, 1e-9, watch=rounds.append
    )
    assert len(rounds) == n_iter > 2
    np.testing.assert_array_equal(rounds[-1].clustering.labels, point.clustering.labels)
    _, n_iter, converged = iterate_at_level(
        samples, plain(samples), 0.8, 100, 1e-9, watch=lambda c: True
    )
    assert n_iter == 1 and not converged


@pytest.mark.parametrize("ratio", [0.3, 0.8, 0.95])
@pytest.mark.parametrize("weighted", [False, True])
def test_repair_reaches_the_ratio(ratio, weighted):
    weights = np.random.default_rng(0).uniform(0.5, 2, 300) if weighted else None
    samples = samples_of(weights=weights, group_separation=0.8)
    point, _, _ = iterate_at_level(samples, plain(samples), ratio * samples.balance, 1, 0.0)
    before = point.clustering.labels.copy()
    repaired = repair(samples, point, ratio * samples.balance)
    assert repaired.balance >= ratio * samples.balance
    np.testing.assert_array_equal(point.clustering.labels, before)  # points never change
    assert repair(samples, repaired, ratio * samples.balance) is repaired


def test_a_route_records_the_cost_and_balance_of_all_its_prefixes():
    samples = samples_of(group_separation=0.8)
    start = plain(samples)
    route = route_from(samples, start, 0.8)
    assert len(route.samples) > 5
    labels = route.labels.astype(np.int32)
    for m in range(len(route.costs)):
        if m:
            labels[route.samples[m - 1]] = route.clusters[m - 1]
        point = recompute_point(samples, labels, 3)
        assert route.costs[m] == pytest.approx(point.cost / 300, rel=1e-12)
        assert route.ratios[m] == pytest.approx(point.balance, rel=1e-12)
    assert route.labels.dtype == np.uint8
    np.testing.assert_array_equal(route.labels, start.clustering.labels)


def test_local_search_lowers_the_cost_at_the_same_balance():
    samples = samples_of(group_separation=0.8)
    point = repair(samples, iterate_at_level(samples, plain(samples), 0.8, 1, 0.0)[0], 0.8)
    searched, status = search_locally(samples, point, 0.8, RunSettings(1, max_iter=100, tol=0.0))
    assert status == "optimal"
    assert searched.balance >= 0.8
    assert searched.cost < point.cost
    assert (
        search_locally(samples, searched, 0.8, RunSettings(1, max_iter=100, tol=0.0))[0] is searched
    )
    assert search_locally(samples, point, 0.8, RunSettings(1, max_iter=1, tol=0.0))[1] == "max_iter"
    assert (
        search_locally(samples, point, 0.8, RunSettings(1, max_iter=100, tol=1e9))[1] == "feasible"
    )


def test_local_search_certifies_nothing_where_weights_differ():
    weights = np.random.default_rng(0).uniform(0.5, 2, 300)
    samples = samples_of(weights=weights)
    _, status = search_locally(samples, plain(samples), 0.0, RunSettings(1, max_iter=100, tol=0.0))
    assert status == "feasible"


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [0.0, 0.6])
@pytest.mark.parametrize("weighted", [False, True])
def test_random_moves_lead_from_a_local_optimum_to_nothing_worse(ratio, weighted):
    gains = []
    for seed in range(4):
        rng = np.random.RandomState(seed)
        weights = rng.uniform(0.5, 1.5, 40) if weighted else np.ones(40)
        X = rng.normal(size=(40, 2))
        codes = np.arange(40) % 2
        X -= np.average(X, axis=0, weights=weights)
        samples = ClusteringProblem(X, weights, codes, balance_limits(2))
        runs = RunSettings(4, n_init=1)
        start = repair(samples, plain(samples, 4), ratio)
        point, status = repair_and_search(samples, start, ratio, runs)
        perturbed, _ = iterate_local_search(samples, point, status, ratio, runs, rng)
        assert perturbed.balance >= min(ratio, point.balance)
        assert perturbed.cost <= point.cost
        assert perturbed.cost == pytest.approx(samples.cost_of(perturbed.clustering))
        gains.append(1 - perturbed.cost / point.cost)
    assert max(gains) > 0.001


@pytest.mark.parametrize("is_weighted", [False, True])
def test_random_moves_lower_the_cost_where_a_group_is_small(is_weighted):
    gains = []
    for seed in range(3):
        rng = np.random.RandomState(seed)
        X = rng.normal(size=(150, 3))
        codes = (rng.uniform(size=150) < 0.1).astype(np.intp)
        weights = rng.uniform(0.5, 1.5, 150) if is_weighted else np.ones(150)
        samples = ClusteringProblem(X, weights, codes, balance_limits(2))
        runs = RunSettings(6, n_init=1)
        level = 0.8 * samples.balance
        point, status = repair_and_search(samples, plain(samples, 6), level, runs)
        shaken, _ = iterate_local_search(samples, point, status, level, runs, rng)
        assert shaken.cost <= point.cost
        assert shaken.balance >= min(point.balance, level)
        assert shaken.cost == pytest.approx(samples.cost_of(shaken.clustering))
        gains.append(1 - shaken.cost / point.cost)
    assert max(gains) > 0.004


@pytest.mark.parametrize(
    "n_samples, n_clusters, ratio", [(1001, 8, 0.5), (700, 3, 0.5), (300, 3, 0.0)]
)
def test_many_samples_and_large_groups_are_not_shaken(n_samples, n_clusters, ratio):
    samples = samples_of(n_samples)
    runs = RunSettings(n_clusters, n_init=1)
    random_state = np.random.RandomState(0)
    point = repair_and_search(samples, plain(samples, n_clusters), ratio, runs)
    assert iterate_local_search(samples, *point, ratio, runs, random_state) == point
    assert random_state.randint(2**31) == np.random.RandomState(0).randint(2**31)


def test_the_homotopy_has_a_point_for_every_level():
    samples = samples_of(group_separation=0.8)
    levels = rising_levels(0.1, 0.9, 5)
    points = [*follow_levels(samples, plain(samples), levels, 1, 1e-5, {})]
    assert len(points) == 5
    for point, level in zip(points, levels, strict=True):
        assert point.balance == pytest.approx(level, abs=0.1)
    costs = [point.cost for point in points]
    assert costs == sorted(costs)


@pytest.mark.parametrize("n_levels", [1, 2, 3, 6])
def test_a_front_has_a_route_from_kmeans_from_every_level_and_from_the_top(monkeypatch, n_levels):
    monkeypatch.setattr(_front, "MAX_FITTED_SAMPLES", 0)
    monkeypatch.setattr(_front, "MAX_SEARCHED_SAMPLES", 0)
    monkeypatch.setattr(_front, "MAX_SHAKEN_SAMPLES", 0)
    samples = samples_of(group_separation=0.8)
    runs = RunSettings(3, n_init=3, max_iter=100)
    routes = Homotopy()._front(samples, runs, n_levels, np.random.RandomState(0))
    assert len(routes) == n_levels + 2  # and one from the best balance there is
    starts = [route.ratios[0] for route in routes]
    assert starts == sorted(starts)
    assert starts[-1] >= samples.attainable_balance(3)


@pytest.mark.slow
def test_more_levels_make_a_finer_front():
    X, _, groups = make_fair_blobs(300, group_separation=0.8, random_state=0)
    sizes = [
        cluster_front(
            FairKMeans(3, random_state=0), X, sensitive_features=groups, n_levels=n_levels
        ).hypervolume(reference=(50, 0))
        for n_levels in (1, 20)
    ]
    assert sizes[0] <= sizes[1] * (1 + 1e-3)


@pytest.mark.parametrize(
    "settings",
    [
        {"max_samples": 50},
    ],
)
def test_every_setting_leads_to_a_good_clustering(settings):
    X, _, groups = make_fair_blobs(2000, group_separation=0.8, random_state=0)
    costs = []
    for algorithm in (Homotopy(), Homotopy(**settings)):
        model = FairKMeans(3, algorithm=algorithm, random_state=0)
        model.fit(X, sensitive_features=groups)
        assert model.relative_balance_ >= 0.8
        costs.append(model.objective_)
    assert costs[1] == pytest.approx(costs[0], rel=0.02)


def test_thinned_data_lead_to_all_samples():
    X, _, groups = make_fair_blobs(3000, group_separation=0.8, random_state=0)
    algorithm = Homotopy(max_samples=900)
    model = FairKMeans(3, algorithm=algorithm, random_state=0).fit(X, sensitive_features=groups)
    assert len(model.labels_) == model.group_counts_.sum() == 3000
    front = cluster_front(
        FairKMeans(3, random_state=0), X, sensitive_features=groups, algorithm=algorithm, n_levels=5
    )
    assert len(front.labels(0)) == 3000
    assert front.relative_balance[-1] > 0.99
    exact = cluster_front(FairKMeans(3, random_state=0), X, sensitive_features=groups, n_levels=5)
    worst = exact.cost[-1], 0
    areas = [
        hypervolume(np.maximum(one.cost, exact.cost[0]), one.balance, reference=worst)
        for one in (front, exact)
    ]
    assert areas[0] == pytest.approx(areas[1], rel=0.02)


@pytest.mark.slow
def test_few_rounds_on_all_remain_after_growing_subsamples(monkeypatch):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 20_000)
    X = rng.normal(size=(20_000, 3)) + 0.5 * groups[:, None]
    rounds, costs = np.zeros((2, 12)), np.zeros((2, 12))
    for i, growth in enumerate((3, 100)):  # 600, 1800, ... samples, then all; or all after 600
        monkeypatch.setattr(_homotopy, "SUBSAMPLE_GROWTH", growth)
        for seed in range(12):
            algorithm = Homotopy(max_samples=100)
            model = FairKMeans(3, n_init=1, algorithm=algorithm, random_state=seed)
            model.fit(X, sensitive_features=groups)
            assert model.relative_balance_ >= 0.8
            rounds[i, seed], costs[i, seed] = model.n_iter_, model.objective_
    assert 1.2 * rounds[0].sum() < rounds[1].sum()
    assert costs[0].mean() < 1.001 * costs[1].mean()


def test_a_pass_over_many_samples_has_to_gain_more(monkeypatch):
    samples = samples_of(group_separation=0.8)
    point = repair(samples, iterate_at_level(samples, plain(samples), 0.8, 1, 0.0)[0], 0.8)
    searched, _ = search_locally(samples, point, 0.8, RunSettings(1, max_iter=1, tol=0.0))
    tol = 2 * (point.cost - searched.cost) / point.cost  # 0.01 of a small problem
    assert search_locally(samples, point, 0.8, RunSettings(1, max_iter=1, tol=tol))[1] == "max_iter"
    monkeypatch.setattr(_repair, "MANY_SAMPLES", len(samples.weights))
    assert search_locally(samples, point, 0.8, RunSettings(1, max_iter=1, tol=tol))[1] == "feasible"


@pytest.mark.parametrize("settings", [{"max_samples": 0}, {"max_samples": 0.5}])
def test_settings_out_of_range_are_refused(settings):
    X = np.arange(8.0)[:, None]
    groups = [0, 1] * 4
    (name,) = settings
    algorithm = Homotopy(**settings)
    with pytest.raises(ValueError, match=f"'{name}' parameter of Homotopy"):
        FairKMeans(2, algorithm=algorithm).fit(X, sensitive_features=groups)
    with pytest.raises(ValueError, match=f"'{name}' parameter of Homotopy"):
        cluster_front(FairKMeans(2), X, sensitive_features=groups, algorithm=algorithm)


def test_settings_are_a_parameter_record():
    algorithm = Homotopy(max_samples=100)
    assert clone(algorithm).get_params() == algorithm.get_params()
    assert repr(algorithm) == "Homotopy(max_samples=100)"


def test_an_ascent_takes_fewer_steps_where_many_groups_make_them_expensive():
    def steps(n_clusters, n_groups, n_samples=10**9):
        limits = balance_limits(n_groups)
        return max_dual_iterations(zero_solution(n_clusters, limits), limits, n_samples)

    assert steps(20, 10) == steps(8, 100) == 50
    # Few samples are near few ties.
    assert steps(1000, 2) == 4 < steps(1000, 2, 10_000) == 50
    assert 4 == steps(40, 1000) < steps(8, 500) < 50


@pytest.mark.slow
def test_many_small_groups_are_balanced():
    rng = np.random.default_rng(0)
    groups = (np.arange(3000) % 150).astype(str)
    model = FairKMeans(6, random_state=0).fit(rng.normal(size=(3000, 3)), sensitive_features=groups)
    assert model.status_ in {"optimal", "feasible"}
    assert model.constraint_violation_ == 0
    assert model.assignment_lower_bound_ <= model.inertia_


@pytest.mark.slow
def test_blocks_of_rows_are_added_in_one_order_by_any_number_of_threads():
    X, _, groups = make_fair_blobs(2 * BLOCK_SIZE + 100, n_features=2, centers=3, random_state=0)
    one, two = (
        FairKMeans(3, random_state=0, n_jobs=n_jobs).fit(X, sensitive_features=groups)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.offsets_, two.offsets_)
    assert (one.inertia_, one.assignment_lower_bound_) == (
        two.inertia_,
        two.assignment_lower_bound_,
    )


def problem_with_one_place_of_a_group(n_samples, n_clusters, seed):
    """Samples of which a third are of group 0, and only cluster 0 may contain it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 2))
    limits = balance_limits(2)
    limits = add_rows(limits, *size_rows(limits, max(2.0, n_samples // 8), np.inf))
    bounds = np.where(np.arange(n_clusters) > 0, 0.0, np.inf)[:, np.newaxis]
    limits = add_rows(limits, np.array([[1.0, 0.0]]), bounds)
    codes = np.minimum(np.arange(n_samples) % 3, 1)
    return ClusteringProblem(X - X.mean(axis=0), np.ones(n_samples), codes, limits)


def solve(problem, n_clusters):
    runs = RunSettings(n_clusters)
    generator = np.random.RandomState(0)
    return Homotopy()._solve(problem, runs, generator)[0]


@pytest.mark.covering(0)
@pytest.mark.parametrize(("n_samples", "n_clusters"), [(9, 2), (8, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_the_cheapest_clustering_is_found_where_one_cluster_may_contain_a_group(
    n_samples, n_clusters, seed
):
    problem = problem_with_one_place_of_a_group(n_samples, n_clusters, seed)
    costs = []
    for labels in product(range(n_clusters), repeat=n_samples):
        if len(set(labels)) == n_clusters:
            point = recompute_point(problem, np.array(labels), n_clusters)
            if satisfies_rows(point.clustering.counts, problem.limits):
                costs.append(point.cost)
    point = solve(problem, n_clusters)
    assert satisfies_rows(point.clustering.counts, problem.limits)
    assert point.cost == pytest.approx(min(costs))


def test_bounds_of_single_clusters_are_kept_by_many_samples():
    problem = problem_with_one_place_of_a_group(3000, 4, seed=0)
    counts = solve(problem, 4).clustering.counts
    assert counts[:, 0].tolist() == [1000, 0, 0, 0]
    assert counts.sum(axis=1).min() >= 375
