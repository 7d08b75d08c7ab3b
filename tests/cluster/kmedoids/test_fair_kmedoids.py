"""k-medoids with bounds, against all site sets and assignments of few samples."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from skfair._groups.arguments import FitArguments
from skfair.cluster import FairKMedoids
from skfair.cluster.kmedoids import _fair_kmedoids
from skfair.cluster.kmedoids._fair_kmedoids import check_input, list_starts
from skfair.cluster.kmedoids._sites import SearchSettings, search_sites
from skfair.exceptions import InfeasibleConstraintWarning, MissingSensitiveFeaturesWarning

PLAIN = {"metric": "precomputed", "min_balance": None}


def draw_costs(n_samples, n_sites, seed):
    """Asymmetric costs of samples at sites, which are no metric."""
    return np.random.default_rng(seed).exponential(10.0, (n_samples, n_sites))


def find_least_cost(costs, n_clusters, is_allowed, weights=1.0):
    """Cost of the cheapest allowed labels at any sites, of all there are."""
    labels = np.array(list(product(range(n_clusters), repeat=len(costs))))
    least = np.inf
    for sites in combinations(range(costs.shape[1]), n_clusters):
        here = labels[is_allowed(labels, np.array(sites))]
        if len(here):
            at_sites = costs[:, sites][np.arange(len(costs)), here]
            least = min(least, (weights * at_sites).sum(axis=1).min())
    return least


def count(labels, n_clusters, weights=1.0):
    """Weight of each cluster, of many labels, (n_labels, n_clusters)."""
    members = labels[..., np.newaxis] == np.arange(n_clusters)
    return (np.asarray(weights)[..., np.newaxis] * members).sum(axis=-2)


@pytest.mark.parametrize("seed", range(4))
def test_sites_without_bounds_are_the_best_of_all(seed):
    costs = draw_costs(12, 7, seed)
    model = FairKMedoids(3, **PLAIN, random_state=0).fit(costs)
    least = min(costs[:, sites].min(axis=1).sum() for sites in combinations(range(7), 3))
    assert model.inertia_ == pytest.approx(least)
    assert model.inertia_ == pytest.approx(model.assignment_lower_bound_)
    assert (model.labels_ == costs[:, model.medoid_indices_].argmin(axis=1)).all()


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(4))
def test_sizes_are_kept_at_least_cost(seed):
    costs = draw_costs(8, 5, seed)
    model = FairKMedoids(2, **PLAIN, min_cluster_size=3, max_cluster_size=5, random_state=0)
    model.fit(costs)
    least = find_least_cost(costs, 2, lambda labels, _: (count(labels, 2) >= 3).all(axis=1))
    assert model.inertia_ == pytest.approx(least)
    assert (model.cluster_sizes_ >= 3).all()
    assert model.assignment_lower_bound_ <= model.inertia_ * (1 + 1e-9)


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(4))
def test_every_site_has_a_capacity_of_its_own(seed):
    costs = draw_costs(8, 5, seed)
    capacities = np.random.default_rng(seed).integers(3, 7, 5)
    model = FairKMedoids(2, **PLAIN, max_cluster_size=capacities, random_state=0).fit(costs)
    least = find_least_cost(
        costs, 2, lambda labels, sites: (count(labels, 2) <= capacities[sites]).all(axis=1)
    )
    assert model.inertia_ == pytest.approx(least)
    assert (model.cluster_sizes_ <= capacities[model.medoid_indices_]).all()


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(4))
def test_bounds_on_shares_are_kept_at_least_cost(seed):
    costs = draw_costs(8, 4, seed)
    groups = np.arange(8) % 2
    model = FairKMedoids(2, **PLAIN, max_group_share=0.6, min_cluster_size=3, random_state=0)
    model.fit(costs, sensitive_features=groups)

    def is_allowed(labels, _):
        sizes = count(labels, 2)
        first = count(labels, 2, groups == 0)
        shares = first / np.maximum(sizes, 1)
        return ((sizes >= 3) & (shares <= 0.6) & (shares >= 0.4)).all(axis=1)

    assert model.inertia_ == pytest.approx(find_least_cost(costs, 2, is_allowed))
    assert model.constraint_violation_ == 0


@pytest.mark.parametrize("seed", range(3))
def test_weights_within_sizes_at_least_cost(seed):
    costs = draw_costs(8, 4, seed)
    weights = np.random.default_rng(seed).integers(1, 4, 8).astype(float)
    largest = int(np.ceil(weights.sum() / 2)) + 1
    model = FairKMedoids(2, **PLAIN, max_cluster_size=largest, random_state=0)
    model.fit(costs, sample_weight=weights)
    least = find_least_cost(
        costs, 2, lambda labels, _: (count(labels, 2, weights) <= largest).all(axis=1), weights
    )
    assert model.inertia_ == pytest.approx(least)


def test_given_sites_keep_their_numbers_and_capacities():
    costs = draw_costs(30, 3, 0)
    capacities = [14, 10, 6]
    model = FairKMedoids(3, **PLAIN, max_cluster_size=capacities).fit(costs)
    places = np.repeat(costs, capacities, axis=1)
    rows, columns = linear_sum_assignment(places)
    assert model.medoid_indices_.tolist() == [0, 1, 2]
    assert model.cluster_sizes_.tolist() == capacities
    assert model.inertia_ == pytest.approx(places[rows, columns].sum())


def test_balance_is_kept_up_to_a_sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    groups = np.where(X[:, 0] + rng.normal(0, 0.5, 60) > 0.5, "a", "b")
    model = FairKMedoids(3, random_state=0).fit(X, sensitive_features=groups)
    ratio = 0.8 * model.data_balance_
    assert (
        model.group_counts_.min(axis=1) + 1 >= ratio * (model.group_counts_.max(axis=1) - 1)
    ).all()
    assert model.status_ in ("optimal", "feasible")
    # Groups count, and not what they are called.
    renamed = FairKMedoids(3, random_state=0).fit(X, sensitive_features=groups == "b")
    np.testing.assert_array_equal(model.labels_, renamed.labels_)
    # Offsets keep new samples of the same kind balanced, nearest sites do not.
    with_groups = model.predict(X, sensitive_features=groups)
    assert (with_groups == model.labels_).mean() > 0.9
    distances = cdist(X, model.cluster_centers_)
    np.testing.assert_array_equal(model.predict(X), distances.argmin(axis=1))
    np.testing.assert_allclose(model.transform(X), distances)


def test_a_balance_that_integers_allow_is_kept_without_slack():
    rng = np.random.default_rng(17)
    costs = rng.exponential(10.0, (120, 7)).round(1)
    groups = rng.uniform(size=120) < 0.3
    model = FairKMedoids(3, metric="precomputed", min_balance=0.9, max_cluster_size=45)
    model.fit(costs, sensitive_features=groups)
    assert model.relative_balance_ >= 0.9 and model.status_ == "optimal"
    # 3 and 4 of 7 samples in two clusters: one of them misses the balance by a sample.
    groups = np.arange(7) % 2
    model = FairKMedoids(2, metric="precomputed", min_balance=1.0).fit(
        costs[:7], sensitive_features=groups
    )
    assert model.relative_balance_ < 1 and model.constraint_violation_ == 0
    assert model.status_ == "feasible"


@pytest.mark.parametrize("how", ["households", "weights"])
def test_equal_households_and_weights_keep_capacities(how):
    """Of 7 and 5 places families of three fill 6 and 3, too few for four of them."""
    costs = np.array([[1.0, 9, 3], [1, 9, 3], [9, 1, 3], [9, 1, 3]])
    model = FairKMedoids(2, **PLAIN, max_cluster_size=[7, 5, 6])
    if how == "weights":
        model.fit(costs, sample_weight=np.full(4, 3.0))
    else:
        model.fit(np.repeat(costs, 3, axis=0), together=np.repeat(np.arange(4), 3))
    assert model.medoid_indices_.tolist() == [0, 2] and model.cluster_sizes_.tolist() == [6, 6]
    assert model.status_ == "optimal" and model.inertia_ == 24
    # No sites take them.
    model.set_params(max_cluster_size=[7, 5, 5])
    message = r"cluster \d \(site \d\) has 6, 1 too many for 5.* No clusters keep all bounds"
    with pytest.warns(InfeasibleConstraintWarning, match=message):
        model.fit(costs, sample_weight=np.full(4, 3.0))
    assert model.constraint_violation_ == 1 and model.violated_bound_ == "max_cluster_size"
    assert model.status_ == "infeasible"


def test_sites_that_miss_bounds_are_compared_by_what_they_miss():
    costs = draw_costs(9, 4, 0)
    weights = np.random.default_rng(0).exponential(1.0, 9) + 0.2
    masks = np.array(list(product((0, 1), repeat=9)))[1:-1]
    total = weights.sum()
    least = (abs(masks @ weights - 0.5 * total) - 0.0001 * total).clip(0).min()
    assert least > 0
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        model = FairKMedoids(2, **PLAIN, min_cluster_size=0.4999, max_cluster_size=0.5001)
        with pytest.warns(InfeasibleConstraintWarning):
            model.fit(costs[:, order], sample_weight=weights)
        assert model.constraint_violation_ == pytest.approx(least, abs=1e-6)


@pytest.mark.parametrize("factor", [2.0**20, 2.0**-30, 1e-8])
def test_units_of_distances_and_weights_do_not_matter(factor):
    rng = np.random.default_rng(0)
    costs = rng.exponential(1.0, (60, 8))
    groups = rng.integers(2, size=60)
    weights = rng.uniform(0.5, 2.0, 60)
    model = FairKMedoids(3, metric="precomputed", max_cluster_size=0.4, random_state=0)
    one = model.fit(costs, sensitive_features=groups, sample_weight=weights)
    labels, sites, inertia = one.labels_, one.medoid_indices_, one.inertia_
    model.fit(costs * factor, sensitive_features=groups, sample_weight=weights * factor)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.medoid_indices_, sites)
    assert model.inertia_ == pytest.approx(inertia * factor**2, rel=1e-12)


def test_coordinates_far_from_zero_lose_no_digits():
    X = np.random.default_rng(0).normal(size=(60, 2))
    near, far = (FairKMedoids(3, min_balance=None, random_state=0).fit(Y) for Y in (X, X + 1e8))
    np.testing.assert_array_equal(near.labels_, far.labels_)
    assert far.inertia_ == pytest.approx(near.inertia_, rel=1e-6)


def test_metrics_are_those_of_scikit_learn():
    X = np.random.default_rng(0).normal(size=(40, 3))
    for metric in ("euclidean", "cityblock", "cosine"):
        model = FairKMedoids(3, metric=metric, min_balance=None, random_state=0).fit(X)
        computed = FairKMedoids(3, **PLAIN, random_state=0).fit(np.maximum(cdist(X, X, metric), 0))
        np.testing.assert_array_equal(model.labels_, computed.labels_)
        np.testing.assert_array_equal(model.cluster_centers_, X[computed.medoid_indices_])
        assert computed.cluster_centers_ is None


def test_weights_are_repeated_samples():
    rng = np.random.default_rng(0)
    costs = draw_costs(40, 12, 0)
    weights = rng.integers(0, 3, 40)
    rows = np.repeat(np.arange(40), weights)
    weighted = FairKMedoids(3, **PLAIN, random_state=0).fit(costs, sample_weight=weights)
    repeated = FairKMedoids(3, **PLAIN, random_state=0).fit(costs[rows])
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    np.testing.assert_array_equal(weighted.labels_[rows], repeated.labels_)
    nearest = costs[:, weighted.medoid_indices_].argmin(axis=1)
    np.testing.assert_array_equal(weighted.labels_[weights == 0], nearest[weights == 0])


def test_more_starts_never_end_worse():
    costs = draw_costs(40, 15, 1)
    groups = np.arange(40) % 3
    ends = [
        FairKMedoids(4, metric="precomputed", max_cluster_size=12, n_init=n_init, random_state=0)
        .fit(costs, sensitive_features=groups)
        .inertia_
        for n_init in (1, 2, 4)
    ]
    assert ends == sorted(ends, reverse=True)


def test_starts():
    costs = draw_costs(50, 20, 2)
    best = FairKMedoids(3, **PLAIN, random_state=0).fit(costs)
    again = FairKMedoids(3, **PLAIN, init=best.medoid_indices_).fit(costs)
    assert again.inertia_ <= best.inertia_ * (1 + 1e-12)
    drawn = FairKMedoids(3, **PLAIN, init="k-medoids++", random_state=0).fit(costs)
    assert drawn.inertia_ <= 1.05 * best.inertia_


@pytest.mark.parametrize(
    ("costs", "params", "message"),
    [
        (-draw_costs(9, 3, 0), {}, "Distances must be at least 0"),
        (draw_costs(9, 2, 0), {}, "distances to 2 sites, but must have at least n_clusters=3"),
        (draw_costs(9, 4, 0), {"max_cluster_size": [3, 3, 3]}, "for each of 4 sites"),
        (draw_costs(9, 4, 0), {"max_cluster_size": [2, 2, 3, 3]}, "sums of min_cluster_size"),
        (draw_costs(9, 4, 0), {"max_cluster_size": 2}, "allows 2 samples in each of 3 clusters"),
        (draw_costs(9, 4, 0), {"init": [0, 1, 1]}, "of 3 different sites"),
        (draw_costs(9, 4, 0), {"init": [0, 1, 4]}, "positions, from 0 to 3"),
    ],
)
def test_errors_say_what_must_hold(costs, params, message):
    with pytest.raises(ValueError, match=message):
        FairKMedoids(3, **(PLAIN | params)).fit(costs)


def test_warnings():
    costs = draw_costs(6, 6, 0)
    with pytest.warns(MissingSensitiveFeaturesWarning):
        FairKMedoids(2, metric="precomputed").fit(costs)
    # Households of these sizes fill two villages of ten.
    weights = [5.0, 6.0, 4.0, 3.0, 1.0, 1.0]
    model = FairKMedoids(2, **PLAIN, min_cluster_size=10, max_cluster_size=10)
    assert (model.fit(costs, sample_weight=weights).cluster_sizes_ == 10).all()
    # No three samples are half of one group.
    model.set_params(min_cluster_size=3, max_cluster_size=3, max_group_share=0.5)
    with pytest.warns(InfeasibleConstraintWarning, match="share"):
        model.fit(costs, sensitive_features=[0, 1] * 3)
    assert model.status_ == "infeasible"
    model.set_params(min_cluster_size=9, max_cluster_size=11)
    with pytest.warns(InfeasibleConstraintWarning, match="heaviest sample has 0.3 of the weight"):
        model.fit(costs, sensitive_features=[0, 1] * 3, sample_weight=weights)


@pytest.mark.parametrize("n_sites", [3, 102])
def test_sites_that_miss_the_sizes_are_infeasible(n_sites):
    """One site needs more than all samples, and none of the others takes so many."""
    smallest = np.where(np.arange(n_sites) == 1, 9, 1)
    largest = np.where(np.arange(n_sites) == 1, 12, 7)
    model = FairKMedoids(1, **PLAIN, min_cluster_size=smallest, max_cluster_size=largest)
    message = "1 too few for 9|1 too many for 7"
    with pytest.warns(InfeasibleConstraintWarning, match=message):
        model.fit(draw_costs(8, n_sites, 0))
    # Of more than 100 sets of sites not all are compared.
    assert model.status_ == ("infeasible" if n_sites == 3 else "not_found")
    assert model.cluster_sizes_ == 8


def test_fixed_sites_stay():
    costs = draw_costs(12, 7, 0)
    for fixed in ([3], [6, 2], [0, 1, 5]):
        model = FairKMedoids(3, **PLAIN, fixed_sites=fixed, random_state=0).fit(costs)
        sets = [s for s in combinations(range(7), 3) if set(fixed) <= set(s)]
        assert model.inertia_ == pytest.approx(min(costs[:, s].min(axis=1).sum() for s in sets))
        assert set(fixed) <= set(model.medoid_indices_)
    # Among many sets, which are not all compared.
    costs = draw_costs(60, 30, 0)
    model = FairKMedoids(4, **PLAIN, fixed_sites=[29, 4], max_cluster_size=20, random_state=0)
    assert {29, 4} <= set(model.fit(costs).medoid_indices_)
    with pytest.raises(ValueError, match="fixed_sites must name at most n_clusters=4 sites"):
        model.set_params(fixed_sites=range(5)).fit(costs)
    with pytest.raises(ValueError, match="fixed_sites must have the positions"):
        model.set_params(fixed_sites=[30]).fit(costs)
    with pytest.raises(ValueError, match="fixed_sites must be among the sites of init"):
        model.set_params(fixed_sites=[3], init=[0, 1, 2, 4]).fit(costs)


def test_infinite_distances_are_not_allowed():
    costs = draw_costs(8, 4, 0)
    costs[[0, 1, 2, 3], [0, 1, 2, 3]] = np.inf
    model = FairKMedoids(2, **PLAIN, min_cluster_size=3, max_cluster_size=5, random_state=0)
    model.fit(costs)
    least = find_least_cost(costs, 2, lambda labels, _: (count(labels, 2) >= 3).all(axis=1))
    assert np.isfinite(least) and model.inertia_ == pytest.approx(least)
    assert model.predict([[np.inf] * 3 + [1.0]]).shape == (1,)
    # Three samples may go to one site alone, which has two places.
    costs = np.ones((5, 2))
    costs[:3, 1] = np.inf
    model = FairKMedoids(2, **PLAIN, max_cluster_size=[2, 3])
    with pytest.warns(InfeasibleConstraintWarning, match="1 of 5 samples go to sites"):
        model.fit(costs)
    assert model.status_ == "not_found" and np.isinf(model.inertia_)
    assert (model.constraint_violation_, model.violated_bound_) == (1, "X")
    with pytest.raises(ValueError, match="sample 0 has none"):
        model.fit([[np.inf, np.inf], [1.0, 2.0]])
    with pytest.raises(ValueError, match="must not be NaN"):
        model.fit([[np.nan, 1.0], [1.0, 2.0]])


@pytest.mark.parametrize("n_rounds", [1, 4, 12])
def test_callbacks_end_every_part(n_rounds):
    costs = draw_costs(60, 30, 0)
    rounds = []

    def watch(end):
        rounds.append(end.value)
        return len(rounds) >= n_rounds

    model = FairKMedoids(4, **PLAIN, max_cluster_size=16, random_state=0)
    fit_input = check_input(model, FitArguments(X=costs))
    starts = list_starts(model, fit_input.problem, np.random.RandomState(0))
    settings = SearchSettings(300, 1e-6, watch)
    end, n_iter = search_sites(fit_input.problem, 4, starts, settings)
    assert end.status == "stopped" and len(rounds) == n_rounds == n_iter
    assert np.bincount(end.assignment.labels, minlength=4).max() <= 16


def test_a_minimum_size_of_0_is_none():
    costs = draw_costs(12, 3, 0)
    model = FairKMedoids(3, **PLAIN, min_cluster_size=[0, 6, 0]).fit(costs)
    least = find_least_cost(costs, 3, lambda labels, _: count(labels, 3)[:, 1] >= 6)
    assert model.inertia_ == pytest.approx(least) and model.status_ == "optimal"
    with pytest.raises(ValueError, match="max_cluster_size must have an int from 1 on"):
        model.set_params(max_cluster_size=[0, 12, 12]).fit(costs)


def draw_rows(n_samples):
    """Features and groups of many samples."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 3))
    return X, np.where(X[:, 0] + rng.normal(size=n_samples) > 0, "a", "b")


def test_sites_of_many_samples_are_searched_among_a_sample(monkeypatch):
    """Up to 2,000 samples all are sites: here a sample of 1,000 costs at most 1 % more."""
    X, groups = draw_rows(1500)
    bounds = {"max_cluster_size": 500, "random_state": 0}
    everywhere = FairKMedoids(4, **bounds).fit(X, sensitive_features=groups)
    monkeypatch.setattr(_fair_kmedoids, "MAX_SITES", 1000)
    model = FairKMedoids(4, **bounds).fit(X, sensitive_features=groups)
    assert everywhere.inertia_ <= model.inertia_ * 1.002 and model.constraint_violation_ == 0
    assert model.inertia_ <= 1.01 * everywhere.inertia_
    sites = X[model.medoid_indices_]
    np.testing.assert_array_equal(model.cluster_centers_, sites)
    assert (np.diff(model.medoid_indices_) > 0).all()
    distances = cdist(X, sites)
    assert model.inertia_ == pytest.approx(distances[np.arange(1500), model.labels_].sum())
    assert model.assignment_lower_bound_ <= model.inertia_
    np.testing.assert_array_equal(np.bincount(model.labels_), model.cluster_sizes_)
    assert model.cluster_sizes_.max() <= 500 and model.relative_balance_ >= 0.8


def test_samples_of_sites_take_bounds_fixed_sites_and_weights(monkeypatch):
    monkeypatch.setattr(_fair_kmedoids, "MAX_SITES", 100)
    X, _ = draw_rows(400)
    weights = np.random.default_rng(0).integers(0, 3, 400).astype(float)
    weights[:4] = 1.0
    capacity = np.full(400, 400)
    capacity[:2] = 60
    model = FairKMedoids(3, min_balance=None, random_state=0, max_cluster_size=capacity)
    model.set_params(fixed_sites=[1, 0]).fit(X, sample_weight=weights)
    assert model.medoid_indices_[:2].tolist() == [0, 1]
    sizes = np.bincount(model.labels_, weights)
    assert sizes[:2].max() <= 60
    absent = weights == 0
    distances = cdist(X, X[model.medoid_indices_])
    np.testing.assert_array_equal(model.labels_[absent], distances[absent].argmin(axis=1))
    # Starts at rows of X.
    model = FairKMedoids(3, min_balance=None, init=[5, 3, 399], max_iter=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model.fit(X)
    assert model.n_iter_ == 1 and model.inertia_ <= cdist(X, X[[5, 3, 399]]).min(axis=1).sum()


def test_rounds_of_a_sample_report_all_samples(monkeypatch, capsys):
    monkeypatch.setattr(_fair_kmedoids, "MAX_SITES", 100)
    X, groups = draw_rows(400)
    model = FairKMedoids(3, n_init=1, random_state=0, verbose=1).fit(X, sensitive_features=groups)
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith("cost ")]) == model.n_iter_
    last = float(lines[-1].split()[1].rstrip(","))
    assert last == pytest.approx(model.objective_, rel=0.05)
