import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from skfair.cluster import (
    AlternatingFront,
    AlternatingSwaps,
    FairKMeans,
    FairSpectralClustering,
    ParetoFront,
    cluster_front,
)
from skfair.datasets import make_fair_blobs
from skfair.exceptions import MissingSensitiveFeaturesWarning
from skfair.metrics import balance_score, cluster_share_ratios, share_ratio_score


@pytest.fixture(scope="module")
def blobs():
    X, _, groups = make_fair_blobs(200, centers=4, group_separation=0.8, random_state=0)
    return X, groups


@pytest.fixture(scope="module")
def front(blobs):
    X, groups = blobs
    return cluster_front(FairKMeans(4, random_state=0), X, sensitive_features=groups, n_levels=3)


@st.composite
def draw_problem(draw):
    """A small problem of one to four groups, some with duplicates."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_samples = draw(st.integers(2, 40))
    X = rng.normal(size=(n_samples, 2))
    if draw(st.booleans()):
        X = np.round(X)
    groups = rng.integers(draw(st.integers(1, 4)), size=n_samples)
    sample_weight = rng.choice([0.5, 1, 3], n_samples) if draw(st.booleans()) else None
    return X, groups, sample_weight, draw(st.integers(1, min(5, n_samples)))


def check_points(front, X, groups, sample_weight, from_scratch):
    """Cost and balance of every point are those of its labels, to 1e-12 of the variance."""
    for i in range(len(front)):
        truth = from_scratch(X, front.labels(i), groups, sample_weight)
        weight = truth.counts.sum()
        tiny = 1e-12 * truth.total / weight + 1e-30
        assert front.cost[i] == pytest.approx(truth.cost / weight, rel=0, abs=tiny)
        assert front.balance[i] == pytest.approx(truth.balance, rel=1e-12)


def check_order(front):
    """Sorted, and no point is as good as another in both objectives."""
    assert (np.diff(front.cost) > 0).all()
    assert (np.diff(front.balance) > 0).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*of one group", "ignore:Number of distinct clusters")
@given(draw_problem(), st.integers(1, 5))
def test_every_point_has_the_objectives_of_its_labels(from_scratch, drawn, n_levels):
    X, groups, sample_weight, n_clusters = drawn
    front = cluster_front(
        FairKMeans(n_clusters, n_init=2, random_state=0),
        X,
        sensitive_features=groups,
        sample_weight=sample_weight,
        n_levels=n_levels,
    )
    check_order(front)
    check_points(front, X, groups, sample_weight, from_scratch)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_points_are_exact_for_any_type_of_number(from_scratch, blobs, dtype):
    X = (5 * blobs[0]).astype(dtype)
    groups = blobs[1]
    front = cluster_front(FairKMeans(4, n_init=1), X, sensitive_features=groups, n_levels=3)
    check_points(front, X, groups, None, from_scratch)


@pytest.mark.slow
def test_a_front_reaches_from_plain_kmeans_to_the_balance_of_the_data(front, blobs):
    X, groups = blobs
    assert isinstance(front, ParetoFront)
    assert len(front) > 15
    plain = FairKMeans(4, min_balance=0, n_init=10, random_state=0)
    plain.fit(X, sensitive_features=groups)
    assert front.cost[0] == pytest.approx(plain.objective_, rel=1e-3)
    assert front.relative_balance[-1] > 0.98
    assert front.data_balance == plain.data_balance_


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["balance", "share_ratio"])
@pytest.mark.parametrize("seed", range(2))
def test_no_point_is_far_behind_a_fit(seed, metric):
    """The points of few samples cost at most 5 % more than fits."""
    rng = np.random.default_rng(seed)
    blob = rng.integers(6, size=200)
    X = 3 * rng.normal(size=(6, 2))[blob] + rng.normal(size=(200, 2))
    groups = (rng.random(200) < np.linspace(0.2, 0.8, 6)[blob]) * 1
    kmeans = FairKMeans(6, random_state=seed, n_init=3, min_balance=None)
    front = cluster_front(kmeans, X, sensitive_features=groups, metric=metric)
    values = front.relative_balance if metric == "balance" else front.share_ratio
    for i in np.linspace(0, len(front) - 1, 5).astype(int):
        fit = clone(kmeans).set_params(**{f"min_{metric}": min(1.0, values[i])})
        fit.fit(X, sensitive_features=groups)
        reached = fit.relative_balance_ if metric == "balance" else fit.share_ratio_
        if reached >= values[i] * (1 - 1e-12):
            assert front.cost[i] <= fit.objective_ * 1.05


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(5, 5), (6, 4)])
@pytest.mark.parametrize("seed", range(3))
def test_a_front_of_few_samples_is_exact(sizes, seed):
    """All clusterings of ten samples are listed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 2))
    groups = np.repeat([0, 1], sizes)
    labels = np.array([(0, *rest) for rest in product(range(3), repeat=9)])
    members = labels[:, :, np.newaxis] == np.arange(3)
    labels, members = (one[members.any(axis=1).all(axis=1)] for one in (labels, members))
    members = members.astype(float)
    centers = np.einsum("pnk,nd->pkd", members, X) / members.sum(axis=1)[..., np.newaxis]
    chosen = np.take_along_axis(centers, labels[:, :, np.newaxis], axis=1)
    cost = ((X - chosen) ** 2).sum(axis=(1, 2)) / 10
    counts = np.einsum("pnk,ng->pkg", members, np.eye(2)[groups])
    balance = (counts.min(axis=2) / counts.max(axis=2)).min(axis=1)
    front = cluster_front(FairKMeans(3, random_state=0), X, sensitive_features=groups)
    for level in np.unique(balance):
        point = front.select(min_balance=min(1.0, level / front.data_balance))
        assert front.cost[point] == pytest.approx(cost[balance >= level - 1e-12].min())


def test_a_point_becomes_an_estimator_with_its_numbers(front, blobs):
    X, groups = blobs
    for i in (0, len(front) // 2, -1):
        model = front.to_estimator(i)
        assert isinstance(model, FairKMeans)
        np.testing.assert_array_equal(model.labels_, front.labels(i))
        np.testing.assert_array_equal(model.cluster_centers_, front.centers(i))
        assert model.objective_ == pytest.approx(front.cost[i], rel=1e-12)
        assert model.balance_ == pytest.approx(front.balance[i], rel=1e-12)
        assert model.relative_balance_ == pytest.approx(front.relative_balance[i], rel=1e-12)
        assert model.assignment_lower_bound_ <= model.inertia_
        assert model.status_ == "feasible"
        assert model.constraint_violation_ == 0
        assert model.n_features_in_ == 2
        expected = model.predict(X, sensitive_features=groups)
        assert (expected == model.labels_).mean() > 0.9


@pytest.mark.slow
def test_an_estimator_of_a_point_has_the_settings_of_the_front(blobs):
    X, groups = blobs
    front = cluster_front(
        FairKMeans(3, n_init=2, tol=1e-3, random_state=5), X, sensitive_features=groups, n_levels=2
    )
    model = front.to_estimator(-1)
    assert (model.n_clusters, model.n_init, model.tol, model.random_state) == (3, 2, 1e-3, 5)
    assert model.min_balance == model.relative_balance_


@pytest.mark.slow
def test_samples_without_weight_get_labels(from_scratch, blobs):
    X, groups = blobs
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    front = cluster_front(
        FairKMeans(4), X, sensitive_features=groups, sample_weight=weights, n_levels=3
    )
    check_points(front, X, groups, weights, from_scratch)
    for i in (0, -1):
        model = front.to_estimator(i)
        np.testing.assert_array_equal(model.labels_, front.labels(i))
        np.testing.assert_array_equal(
            model.group_weights_, from_scratch(X, front.labels(i), groups, weights).counts
        )


@pytest.mark.parametrize("algorithm", ["alternating", AlternatingFront(n_init=4, n_iter=40)])
def test_the_alternating_algorithm_makes_a_front(from_scratch, blobs, algorithm):
    X = blobs[0][:60]
    groups = blobs[1][:60]
    if algorithm == "alternating":
        # its default number of iterations takes a while
        X = X[:20]
        groups = groups[:20]
    front = cluster_front(
        FairKMeans(2, random_state=0), X, sensitive_features=groups, algorithm=algorithm
    )
    check_order(front)
    check_points(front, X, groups, None, from_scratch)


def test_one_group_makes_a_front_of_one_point(blobs):
    X, _ = blobs
    with pytest.warns(MissingSensitiveFeaturesWarning, match="sensitive_features of one group"):
        front = cluster_front(FairKMeans(4), X, sensitive_features=["x"] * len(X), n_levels=3)
    assert front.balance.tolist() == [1]


def test_one_cluster_makes_a_front_of_one_point(blobs):
    X, groups = blobs
    front = cluster_front(FairKMeans(1), X, sensitive_features=groups, n_levels=3)
    assert front.relative_balance.tolist() == [1]
    assert front.cost[0] == pytest.approx(X.var(axis=0).sum())


def test_a_cluster_per_sample_costs_nothing():
    X = np.arange(6.0)[:, None]
    front = cluster_front(FairKMeans(6), X, sensitive_features=[0, 1] * 3, n_levels=3)
    assert front.cost.tolist() == [0]
    assert front.balance.tolist() == [0]
    assert front.to_frame().shape == (1, 5)


@pytest.mark.slow
def test_the_seed_decides(front, blobs):
    X, groups = blobs
    again = cluster_front(
        FairKMeans(4, random_state=0, n_jobs=2), X, sensitive_features=groups, n_levels=3
    )
    np.testing.assert_array_equal(front.cost, again.cost)
    np.testing.assert_array_equal(front.balance, again.balance)
    for i in range(len(front)):
        np.testing.assert_array_equal(front.labels(i), again.labels(i))


def test_a_pickled_front_is_the_same(front):
    copy = pickle.loads(pickle.dumps(front))
    np.testing.assert_array_equal(copy.cost, front.cost)
    np.testing.assert_array_equal(copy.labels(-1), front.labels(-1))
    np.testing.assert_array_equal(copy.centers(0), front.centers(0))
    assert (
        copy.to_estimator(0).assignment_lower_bound_
        == front.to_estimator(0).assignment_lower_bound_
    )


def test_missing_groups_warn(blobs):
    X, _ = blobs
    with pytest.warns(MissingSensitiveFeaturesWarning, match="sensitive_features=None") as caught:
        front = cluster_front(FairKMeans(4), X, sensitive_features=None, n_levels=2)
    assert caught[0].filename == __file__
    assert front.balance.tolist() == [1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_levels": 0}, "n_levels must be a positive int, got 0"),
        ({"n_levels": 2.5}, "n_levels must be a positive int, got 2.5"),
        ({"metric": "shares"}, "metric must be one of .*; got 'shares'"),
        ({"metric": "share_ratio", "algorithm": "alternating"}, "Use algorithm='homotopy'"),
        (
            {"algorithm": "alternating", "max_cluster_size": 90, "min_group_share": 0.2},
            "does not keep bounds .*max_cluster_size=90, min_group_share=0.2. Use algorithm='homo",
        ),
        ({"algorithm": "fairlets"}, "one of .*'alternating', 'homotopy'.*got 'fairlets'"),
        ({"algorithm": AlternatingSwaps()}, "AlternatingFront; got AlternatingSwaps"),
        ({"n_clusters": 0}, "'n_clusters' parameter"),
        ({"n_clusters": 201}, "n_samples=200 should be >= n_clusters=201"),
        ({"n_init": 0}, "'n_init' parameter"),
        ({"init": "best"}, "'init' parameter"),
        ({"sample_weight": -np.ones(200)}, "[Nn]egative"),
        ({"sensitive_features": [0, 1]}, "2 rows but there are 200 samples"),
    ],
)
def test_bad_settings_are_refused(blobs, settings, message):
    X, groups = blobs
    with pytest.raises(ValueError, match=message):
        names = FairKMeans().get_params().keys() & {*settings} - {"algorithm"}
        kmeans = FairKMeans(**{name: settings.pop(name) for name in names})
        cluster_front(kmeans, X, **{"sensitive_features": groups, **settings})


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "metric"), [(1, "share_ratio"), (5, "balance"), (9, "balance")])
def test_points_do_not_differ_by_rounding(seed, metric):
    """Sums of weights of 0.1 in another order differ in the last digit, and so do ratios."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    groups = rng.choice(2, 60, p=[0.6, 0.4])
    front = cluster_front(
        FairKMeans(3, random_state=0),
        X,
        sensitive_features=groups,
        metric=metric,
        sample_weight=np.full(60, 0.1),
    )
    assert (np.diff(getattr(front, metric)) > 1e-12).all()


def test_other_estimators_are_refused(blobs):
    X, groups = blobs
    with pytest.raises(TypeError, match=r"one of FairKMeans\(\), FairSpectralClustering\(\)"):
        cluster_front(KMeans(), X, sensitive_features=groups)
    with pytest.raises(TypeError, match="sample_weight"):
        spectral = FairSpectralClustering()
        cluster_front(spectral, X, sensitive_features=groups, sample_weight=np.ones(len(X)))


@pytest.mark.slow
def test_the_bound_of_the_estimator_changes_no_front(front, blobs):
    X, groups = blobs
    kmeans = FairKMeans(4, min_balance=0.3, min_share_ratio=0.9, random_state=0)
    same = cluster_front(kmeans, X, sensitive_features=groups, n_levels=3)
    np.testing.assert_array_equal(same.cost, front.cost)
    assert kmeans.min_balance == 0.3


@pytest.fixture(scope="module")
def uneven_groups():
    """Three groups of unequal size, of which balance alone lets the rare ones gather."""
    X, _, groups = make_fair_blobs(
        300, centers=4, group_shares=(0.5, 0.3, 0.2), group_separation=0.8, random_state=0
    )
    return X, groups


@pytest.fixture(scope="module")
def shares(uneven_groups):
    X, groups = uneven_groups
    return cluster_front(
        FairKMeans(4, random_state=0),
        X,
        sensitive_features=groups,
        metric="share_ratio",
    )


@pytest.mark.slow
def test_share_ratios_rise_and_are_those_of_the_labels(shares, uneven_groups, from_scratch):
    X, groups = uneven_groups
    assert len(shares) > 15
    assert (np.diff(shares.cost) > 0).all()
    assert (np.diff(shares.share_ratio) > 0).all()
    for i in range(0, len(shares), 3):
        labels = shares.labels(i)
        expected = share_ratio_score(labels, sensitive_features=groups)
        assert shares.share_ratio[i] == pytest.approx(expected, rel=1e-12)
        balance = balance_score(labels, sensitive_features=groups)
        assert shares.balance[i] == pytest.approx(balance, rel=1e-12)
        truth = from_scratch(X, labels, groups)
        assert shares.cost[i] == pytest.approx(truth.cost / len(X), rel=1e-9)


def test_a_front_of_share_ratios_is_about_as_good_as_single_fits(shares, uneven_groups):
    X, groups = uneven_groups
    plain = FairKMeans(4, min_balance=None, n_init=10, random_state=0)
    plain.fit(X, sensitive_features=groups)
    assert shares.cost[0] == pytest.approx(plain.objective_, rel=1e-3)
    assert shares.share_ratio[-1] > 0.9
    for level in (0.5, 0.8, 1.0):
        model = FairKMeans(4, min_share_ratio=level, random_state=0)
        model.fit(X, sensitive_features=groups)
        reached = min(model.share_ratio_, shares.share_ratio[-1])
        chosen = shares.select(min_share_ratio=reached)
        assert shares.cost[chosen] <= 1.02 * model.objective_


@pytest.mark.slow
def test_a_front_of_balances_knows_no_cheaper_way_to_the_four_fifths_rule(shares, uneven_groups):
    X, groups = uneven_groups
    balances = cluster_front(
        FairKMeans(4, random_state=0), X, sensitive_features=groups, n_levels=3
    )
    balanced = balances.share_ratio >= 0.8
    chosen = shares.select(min_share_ratio=0.8)
    assert shares.cost[chosen] <= balances.cost[balanced].min(initial=np.inf) * 1.01


def test_a_point_of_share_ratios_becomes_an_estimator_with_that_ratio(shares, uneven_groups):
    X, groups = uneven_groups
    model = shares.to_estimator(shares.select(min_share_ratio=0.8))
    assert model.min_balance is None
    assert model.min_share_ratio == model.share_ratio_ >= 0.8
    assert model.constraint_violation_ == 0
    ratios = cluster_share_ratios(model.labels_, sensitive_features=groups)
    np.testing.assert_allclose(model.cluster_share_ratios_, ratios)


@pytest.mark.slow
def test_share_ratios_of_several_attributes_and_weights(uneven_groups):
    X = uneven_groups[0][:150]
    groups = uneven_groups[1][:150]
    draw_problem = np.column_stack([groups, np.arange(len(X)) % 2])
    weights = (np.arange(len(X)) % 5 > 0).astype(float)  # of some none
    front = cluster_front(
        FairKMeans(3, attributes="each", n_init=1, random_state=0),
        X,
        sensitive_features=draw_problem,
        sample_weight=weights,
        n_levels=3,
        metric="share_ratio",
    )
    assert (np.diff(front.share_ratio) > 0).all()
    present = weights > 0
    for i in range(len(front)):
        expected = share_ratio_score(
            front.labels(i)[present], sensitive_features=draw_problem[present], attributes="each"
        )
        assert front.share_ratio[i] == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_just_above_balance_0_a_front_has_what_a_penalty_finds(seed):
    """Two blobs, each a group: VfairKM finds these costs with few of the others in each."""
    X, groups = make_blobs(
        [200, 200], centers=[(1, 1), (2.1, 3.5)], cluster_std=0.3, shuffle=False, random_state=1
    )
    front = cluster_front(FairKMeans(2, random_state=seed), X, sensitive_features=groups)
    expected_costs = {1 / 198: 0.20386894, 2 / 197: 0.22149485, 2 / 196: 0.23007182}
    expected_costs |= {6 / 193: 0.30047018, 11 / 188: 0.4099501}
    for balance, cost in expected_costs.items():
        assert front.cost[front.balance >= balance * (1 - 1e-12)].min() <= cost


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_no_point_of_an_alternating_list_is_cheaper(seed):
    """The paper's Syn_equal_ds1: four blobs near to each other, the upper two of one group."""
    X, y = make_blobs(
        [100] * 4,
        centers=[(1, 1), (2.1, 1), (1, 3.5), (2.1, 3.5)],
        cluster_std=0.13,
        shuffle=False,
        random_state=seed,
    )
    kmeans = FairKMeans(2, random_state=seed)
    front = cluster_front(kmeans, X, sensitive_features=y // 2)
    preset = AlternatingFront.from_paper("Syn_equal_ds1")
    listed = cluster_front(kmeans, X, sensitive_features=y // 2, algorithm=preset)
    for cost, balance in zip(listed.cost, listed.balance, strict=True):
        as_balanced = front.balance >= balance * (1 - 1e-12)
        assert front.cost[as_balanced].min(initial=np.inf) <= cost * 1.0005


@pytest.mark.covering(0)
@pytest.mark.parametrize("attributes", ["intersections", "each"])
@pytest.mark.parametrize("metric", ["balance", "share_ratio"])
def test_both_ratios_of_a_front_are_those_counted_from_its_labels(attributes, metric):
    rng = np.random.default_rng(0)
    groups = np.column_stack([rng.integers(2, size=120), rng.integers(3, size=120)])
    sample_weight = rng.choice([0.0, 0.3, 1.0, 1.7], 120)
    front = cluster_front(
        FairKMeans(3, attributes=attributes, n_init=1, random_state=0),
        rng.normal(size=(120, 2)) + groups[:, :1],
        sensitive_features=groups,
        sample_weight=sample_weight,
        n_levels=3,
        metric=metric,
    )
    assert len(front) > 15
    for i in range(len(front)):
        columns = groups.T if attributes == "each" else [groups @ [3, 1]]
        tables = [np.zeros((3, column.max() + 1)) for column in columns]
        for table, column in zip(tables, columns, strict=True):
            np.add.at(table, (front.labels(i), column), sample_weight)
        balances = [(table.min(axis=1) / table.max(axis=1)).min() for table in tables]
        of_data = [table.sum(axis=0).min() / table.sum(axis=0).max() for table in tables]
        relative = min(np.divide(balances, of_data))
        shares = [table / table.sum(axis=0) for table in tables]
        share_ratios = [(share.min(axis=1) / share.max(axis=1)).min() for share in shares]
        assert front.balance[i] == pytest.approx(min(balances), rel=1e-11, abs=1e-15)
        assert front.relative_balance[i] == pytest.approx(relative, rel=1e-11, abs=1e-15)
        assert front.share_ratio[i] == pytest.approx(min(share_ratios), rel=1e-11, abs=1e-15)
