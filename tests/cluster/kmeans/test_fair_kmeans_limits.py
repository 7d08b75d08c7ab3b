"""Ratios of shares and sizes of clusters: against definitions, enumeration and all neighbours."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair.cluster import FairKMeans, cluster_front
from skfair.cluster._base import keeps_balance
from skfair.datasets import make_fair_blobs
from skfair.exceptions import InfeasibleConstraintWarning, MissingSensitiveFeaturesWarning
from skfair.metrics import cluster_share_ratios, share_ratio_score

reached_or_not = pytest.mark.filterwarnings(
    f"ignore::{InfeasibleConstraintWarning.__module__}.InfeasibleConstraintWarning",
    "ignore:Groups have fewer members than the:UserWarning",
    "ignore:.*all samples are in the group",
    "ignore:Number of distinct clusters",
)


@pytest.fixture(scope="module")
def blobs():
    """Three groups, the smallest of which has its own blob."""
    X, blob, _ = make_fair_blobs(600, centers=4, random_state=0)
    groups = np.where(blob == 3, np.arange(600) % 4, np.arange(600) % 20 == 0)
    return X, np.where(groups > 1, 2, groups)


@st.composite
def draw_problem(draw, weighted=False):
    """A small problem, and an estimator with bounds of all kinds."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_samples = draw(st.integers(4, 24))
    n_clusters = draw(st.integers(1, min(5, n_samples)))
    X = rng.normal(size=(n_samples, 2))
    if draw(st.booleans()):
        X = np.round(X)
    weights = rng.choice([0.5, 1, 3], n_samples) if weighted else None
    least = draw(st.integers(1, n_samples // n_clusters))
    model = FairKMeans(
        n_clusters,
        min_balance=draw(st.sampled_from([None, 0.8, 1])),
        min_share_ratio=draw(st.sampled_from([None, 0.5, 0.8, 1])),
        min_cluster_size=draw(st.sampled_from([None, 0.5 / n_clusters if weighted else least])),
        max_cluster_size=None
        if weighted
        else draw(st.sampled_from([None, -(-n_samples // n_clusters), n_samples])),
        random_state=0,
    )
    return X, rng.integers(draw(st.integers(1, 4)), size=n_samples), weights, model


def size_bounds(model):
    return model.min_cluster_size or 0, model.max_cluster_size or np.inf


# The guaranteed limits ----------------------------------------------------------------


@pytest.mark.slow
@reached_or_not
@given(draw_problem())
def test_all_requirements_hold_up_to_one_sample(drawn):
    X, groups, _, model = drawn
    model.fit(X, sensitive_features=groups)
    counts = model.group_counts_[model.cluster_sizes_ > 0]  # equal rows may leave some empty
    by_group = counts.sum(axis=0)
    least, most = size_bounds(model)
    assert least <= model.cluster_sizes_.min() <= model.cluster_sizes_.max() <= most
    level = (model.min_balance or 0) * model.data_balance_
    holds = keeps_balance(counts, level, 1, members=by_group)
    holds &= keeps_balance(counts, model.min_share_ratio or 0, 1, 1 / by_group, by_group)
    assert holds or by_group.min() < model.n_clusters
    assert (
        (model.status_ not in {"infeasible", "not_found"})
        == holds
        == (not (model.constraint_violation_ or 0.0) > 0)
    )
    assert model.assignment_lower_bound_ <= model.inertia_


@pytest.mark.slow
@reached_or_not
@given(draw_problem(weighted=True))
def test_the_status_of_weighted_fits_is_that_of_their_counts(drawn):
    X, groups, weights, model = drawn
    model.fit(X, sensitive_features=groups, sample_weight=weights)
    lightest = weights[weights > 0].min()
    counts = model.group_weights_[model.cluster_sizes_ > 0]
    goal = (model.min_balance or 0) * model.data_balance_
    numbers = np.array(model.groups_.counts)
    holds = keeps_balance(counts, goal, lightest, members=numbers)
    by_group = counts.sum(axis=0)
    holds &= keeps_balance(counts, model.min_share_ratio or 0, lightest, 1 / by_group, numbers)
    least = (model.min_cluster_size or 0) * weights.sum()
    holds &= model.cluster_sizes_.min() >= least * (1 - 1e-9)  # sizes have no slack
    assert (model.status_ not in {"infeasible", "not_found"}) == holds


def test_reported_numbers_are_those_of_the_metrics(blobs):
    X, groups = blobs
    model = FairKMeans(4, min_share_ratio=0.8, random_state=0).fit(X, sensitive_features=groups)
    ratios = cluster_share_ratios(model.labels_, sensitive_features=groups)
    np.testing.assert_allclose(model.cluster_share_ratios_, ratios)
    assert model.share_ratio_ == share_ratio_score(model.labels_, sensitive_features=groups)
    np.testing.assert_array_equal(model.cluster_sizes_, np.bincount(model.labels_))


def test_balance_alone_does_not_keep_the_four_fifths_rule_and_shares_do(blobs):
    X, groups = blobs
    balanced = FairKMeans(4, random_state=0).fit(X, sensitive_features=groups)
    assert balanced.relative_balance_ >= 0.8 > 0.6 > balanced.share_ratio_
    model = FairKMeans(4, min_share_ratio=0.8, random_state=0).fit(X, sensitive_features=groups)
    assert model.share_ratio_ >= 0.8
    assert model.relative_balance_ >= 0.8  # is implied
    assert model.inertia_ > balanced.inertia_
    weak = FairKMeans(4, min_share_ratio=0.5, random_state=0).fit(X, sensitive_features=groups)
    assert weak.share_ratio_ >= 0.5
    assert weak.relative_balance_ >= 0.8  # both hold
    assert balanced.inertia_ < weak.inertia_ < model.inertia_


def test_shares_of_a_group_as_large_as_the_other_are_balance():
    X, _, _ = make_fair_blobs(300, centers=3, random_state=0)
    noise = np.random.default_rng(0).normal(size=300)
    groups = (X[:, 0] + noise).argsort().argsort() % 300 < 150
    one = FairKMeans(3, min_balance=0.9, random_state=0).fit(X, sensitive_features=groups)
    other = FairKMeans(3, min_balance=None, min_share_ratio=0.9, random_state=0)
    np.testing.assert_array_equal(one.labels_, other.fit(X, sensitive_features=groups).labels_)


# Against all clusterings --------------------------------------------------------------


def minimum_cost(X, groups, n_clusters, is_allowed):
    """The minimum cost of all clusterings with allowed counts."""
    least = np.inf
    for labels in product(range(n_clusters), repeat=len(X)):
        in_cluster = np.eye(n_clusters)[list(labels)]
        counts = in_cluster.T @ np.eye(groups.max() + 1)[groups]
        if counts.sum(axis=1).all() and is_allowed(counts):
            means = (in_cluster.T @ X) / counts.sum(axis=1)[:, None]
            least = min(least, ((X - means[list(labels)]) ** 2).sum())
    return least


@pytest.mark.covering(1)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "required",
    [
        {"min_cluster_size": 4},
        {"max_cluster_size": 5},
        {"min_share_ratio": 0.8},
        {"min_share_ratio": 0.5, "min_cluster_size": 4},
    ],
)
def test_tiny_problems_are_solved_as_well_as_by_enumeration(seed, required):
    rng = np.random.default_rng(seed)
    # six and three
    X = rng.normal(size=(9, 2))
    groups = np.arange(9) % 3 // 2
    X[:5, 0] += 3

    def is_allowed(counts):
        shares = counts / counts.sum(axis=0)
        sizes = counts.sum(axis=1)
        return (
            (shares.min(axis=1) >= required.get("min_share_ratio", 0) * shares.max(axis=1)).all()
            and sizes.min() >= required.get("min_cluster_size", 0)
            and sizes.max() <= required.get("max_cluster_size", np.inf)
        )

    optimum = minimum_cost(X, groups, 2, is_allowed)
    model = FairKMeans(2, min_balance=None, n_init=10, random_state=0, **required)
    model.fit(X, sensitive_features=groups)
    assert model.status_ == "optimal"
    assert is_allowed(model.group_counts_)  # exactly, without the tolerance of one sample
    assert optimum * (1 - 1e-9) <= model.inertia_ <= 1.1 * optimum


def random_problem(seed):
    """Five to nine samples in one to three dimensions, and a level; each group could split."""
    rng = np.random.default_rng(seed)
    n_groups, n_clusters = rng.integers(2, 4, size=2)
    n_samples = rng.integers(max(5, n_groups * n_clusters), 10)
    groups = np.arange(n_samples) % n_groups
    X = rng.normal(size=(n_samples, rng.integers(1, 4)))
    return X, rng.permutation(groups), int(n_clusters), float(rng.choice([0.5, 0.8, 1.0]))


def costs_and_counts(X, groups, n_clusters):
    """Cost and group counts of all clusterings, those that differ by names included."""
    labels = np.array(list(product(range(n_clusters), repeat=len(X) - 1)))
    labels = np.column_stack((np.zeros(len(labels), dtype=int), labels))  # up to one name
    members = np.eye(n_clusters)[labels].transpose(0, 2, 1)
    members = members[members.sum(axis=2).all(axis=1)]
    sums = members @ X
    counts = members @ np.eye(groups.max() + 1)[groups]
    costs = (X**2).sum() - ((sums**2).sum(axis=2) / counts.sum(axis=2)).sum(axis=1)
    return costs, counts


@pytest.mark.slow
@pytest.mark.parametrize("by_share", [True, False])
def test_small_problems_have_no_cheaper_clustering_that_is_as_balanced(by_share):
    excess = []
    for seed in range(24):
        X, groups, n_clusters, level = random_problem(seed)
        required = {"min_balance": None, "min_share_ratio": level} if by_share else {}
        model = FairKMeans(n_clusters, **({"min_balance": level} | required), random_state=0)
        model.fit(X, sensitive_features=groups)
        costs, counts = costs_and_counts(X, groups, n_clusters)
        scaled = counts / np.bincount(groups) if by_share else counts
        ratios = (scaled.min(axis=2) / scaled.max(axis=2)).min(axis=1)
        reached = model.share_ratio_ if by_share else model.balance_
        required = level if by_share else level * model.data_balance_
        # The required ratio is reached wherever some clustering reaches it.
        assert reached >= min(required, ratios.max()) * (1 - 1e-12)
        optimum = costs[ratios >= min(required, reached) * (1 - 1e-12)].min()
        assert model.inertia_ >= optimum * (1 - 1e-9)
        excess.append(model.inertia_ / optimum - 1)
    assert np.quantile(excess, 0.9) < 0.001
    assert max(excess) < 0.2


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "required",
    [
        {"min_share_ratio": 0.8},
        {"min_cluster_size": 60, "max_cluster_size": 70},
        {"min_share_ratio": 0.7, "min_cluster_size": 55},
    ],
)
def test_optimal_means_that_no_allowed_neighbour_is_cheaper(from_scratch, blobs, required):
    X = blobs[0][::3]
    groups = blobs[1][::3] % 2
    model = FairKMeans(3, min_balance=None, tol=0, random_state=0, **required)
    model.fit(X, sensitive_features=groups)
    assert model.status_ == "optimal"
    truth = from_scratch(X, model.labels_, groups)
    least, most = size_bounds(model)
    by_group = truth.counts.sum(axis=0)
    floor = min(model.min_share_ratio or 0, model.share_ratio_) * (1 - 1e-12)
    rng = np.random.default_rng(0)
    moves = [[(p, k)] for p in range(len(X)) for k in range(3) if k != model.labels_[p]]
    swaps = [
        [(p, model.labels_[q]), (q, model.labels_[p])]
        for p, q in combinations(range(len(X)), 2)
        if model.labels_[p] != model.labels_[q]
    ]
    for changes in moves + [swaps[i] for i in rng.choice(len(swaps), 1500, replace=False)]:
        labels = model.labels_.copy()
        for p, k in changes:
            labels[p] = k
        other = from_scratch(X, labels, groups)
        shares = other.counts / by_group
        sizes = other.counts.sum(axis=1)
        ratio = (shares.min(axis=1) / shares.max(axis=1)).min()
        is_allowed = ratio >= floor and least <= sizes.min() and sizes.max() <= most
        assert not is_allowed or other.cost >= truth.cost - 1e-9 * truth.total


# Sizes --------------------------------------------------------------------------------


def test_sizes_need_no_groups_and_give_no_warning(blobs, recwarn):
    X, _ = blobs
    model = FairKMeans(4, min_balance=None, min_cluster_size=0.24, random_state=0).fit(X)
    assert model.cluster_sizes_.min() >= 144
    assert not recwarn
    # The default of ``min_balance`` is no request; other values are.
    default = FairKMeans(4, min_cluster_size=0.24, random_state=0).fit(X)
    np.testing.assert_array_equal(default.labels_, model.labels_)
    assert default.status_ == model.status_ in {"optimal", "feasible"}
    assert default.constraint_violation_ == 0
    assert not recwarn
    with pytest.warns(MissingSensitiveFeaturesWarning, match="min_balance=0.9 requires"):
        requested = FairKMeans(4, min_balance=0.9, min_cluster_size=0.24, random_state=0).fit(X)
    assert requested.status_ == "unconstrained"
    np.testing.assert_array_equal(requested.labels_, model.labels_)
    with pytest.warns(MissingSensitiveFeaturesWarning, match="min_balance=0.8 and min_share"):
        FairKMeans(4, min_share_ratio=0.5, random_state=0).fit(X)


def test_multipliers_of_sizes_bound_the_cost_from_below(blobs):
    X, groups = blobs
    model = FairKMeans(
        4, min_balance=None, min_cluster_size=150, max_cluster_size=150, random_state=0
    )
    model.fit(X)
    plain = FairKMeans(4, min_balance=None, random_state=0).fit(X)
    assert plain.cluster_sizes_.min() < 150
    assert model.inertia_ > plain.inertia_
    assert 0.99 * model.inertia_ <= model.assignment_lower_bound_ <= model.inertia_
    assert model.offsets_.any()


@pytest.mark.slow
def test_equal_sizes_of_thinned_data():
    X, _, groups = make_fair_blobs(30_000, centers=3, random_state=0)
    model = FairKMeans(
        4, min_share_ratio=0.8, min_cluster_size=7500, max_cluster_size=7500, random_state=0
    )
    model.fit(X, sensitive_features=groups)
    assert model.cluster_sizes_.tolist() == [7500] * 4
    assert model.constraint_violation_ == 0
    # The ratio is kept up to one sample of a group in a cluster.
    assert model.share_ratio_ >= 0.8 - 1.0 / model.group_counts_.min()


@pytest.mark.slow
def test_all_clusterings_of_a_front_keep_the_sizes(blobs):
    X, groups = blobs
    front = cluster_front(
        FairKMeans(4, min_cluster_size=0.23, max_cluster_size=155, random_state=0),
        X,
        sensitive_features=groups,
        n_levels=5,
    )
    assert len(front) > 5
    assert front.relative_balance[-1] > 0.9
    for i in range(len(front)):
        sizes = np.bincount(front.labels(i))
        assert 138 <= sizes.min() <= sizes.max() <= 155
    model = front.to_estimator(front.select(min_balance=0.8))
    assert model.constraint_violation_ == 0
    assert model.max_cluster_size == 155


@pytest.mark.parametrize("required", [{"min_share_ratio": 0.8}, {"min_cluster_size": 0.4}])
def test_integer_weights_are_repeated_rows(required):
    X = np.array([[0.0], [1.0], [6.0], [9.0], [10.0]])
    groups = np.array(list("abbba"))
    weights = np.array([4, 2, 2, 2, 2])
    init = np.array([[0.0], [10.0]])
    model = FairKMeans(2, min_balance=None, init=init, random_state=0, **required)
    weighted = model.fit(X, sensitive_features=groups, sample_weight=weights)
    answer = [weighted.inertia_, weighted.share_ratio_, weighted.cluster_sizes_.min()]
    labels = np.repeat(weighted.labels_, weights)
    model.fit(np.repeat(X, weights, axis=0), sensitive_features=np.repeat(groups, weights))
    repeated = [model.inertia_, model.share_ratio_, model.cluster_sizes_.min()]
    np.testing.assert_allclose(answer, repeated, rtol=1e-10)
    np.testing.assert_array_equal(labels, model.labels_)


# Infeasible requirements --------------------------------------------------------------


def test_a_group_with_fewer_members_than_clusters_is_named(blobs):
    X, _ = blobs
    groups = np.arange(len(X)) < 2
    with pytest.warns(UserWarning, match=r"fewer members than the 3 clusters: True \(2\)"):
        model = FairKMeans(3, min_balance=None, min_share_ratio=0.8).fit(
            X, sensitive_features=groups
        )
    # A sample of rounding keeps the ratio all the same.
    assert model.status_ in {"optimal", "feasible"}
    assert (model.share_ratio_, model.constraint_violation_) == (0, 0)


def test_the_alternating_algorithm_warns_of_sizes(blobs):
    X, groups = blobs
    model = FairKMeans(
        4, min_balance=None, max_cluster_size=150, algorithm="alternating", random_state=0
    )
    with pytest.warns(InfeasibleConstraintWarning, match="too many for 150"):
        model.fit(X, sensitive_features=groups)
    assert model.constraint_violation_ == model.cluster_sizes_.max() - 150
    assert (model.status_, model.violated_bound_) == ("not_found", "max_cluster_size")


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore:Groups have fewer members")
@pytest.mark.parametrize("n_samples, n_clusters", [(120, 40), (300, 100)])
def test_weights_keep_the_balance_of_many_small_clusters(n_samples, n_clusters):
    """Dealing each group from its heaviest sample on shows that all bounds can be kept."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_samples, 3))
    groups = rng.integers(0, 3, n_samples)
    weights = rng.integers(1, 3, n_samples).astype(float)
    model = FairKMeans(n_clusters, random_state=0)
    model.fit(X, sensitive_features=groups, sample_weight=weights)
    assert model.status_ == "feasible"


@pytest.mark.parametrize("heaviest", [0.3, 0.5])
def test_a_sample_that_is_heavier_than_its_cluster_may_be_is_named(heaviest):
    rng = np.random.default_rng(0)
    weights = np.ones(200)
    weights[0] = 199 * heaviest / (1 - heaviest)
    model = FairKMeans(8, min_balance=None, max_cluster_size=0.2, random_state=0)
    with pytest.warns(InfeasibleConstraintWarning, match=f"heaviest sample has {heaviest:.3g} of"):
        model.fit(rng.normal(size=(200, 2)), sample_weight=weights)
    assert model.status_ == "infeasible"
    largest = model.cluster_sizes_.max()
    assert model.constraint_violation_ == pytest.approx(largest - 0.2 * weights.sum())
    assert largest >= heaviest * weights.sum() * (1 - 1e-12)


@pytest.mark.covering(0)
def test_weights_of_populations_keep_a_balance_that_a_program_keeps():
    """A program finds clusterings with these balances (scipy.optimize.milp)."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, groups = rng.normal(size=(60, 2)), rng.choice(["a", "b"], 60, p=[0.7, 0.3])
        weights = np.exp(rng.normal(0, 1.5, 60))
        model = FairKMeans(6, min_balance=0.8, random_state=0)
        model.fit(X, sensitive_features=groups, sample_weight=weights)
        assert model.relative_balance_ >= 0.79
        assert model.constraint_violation_ == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_classes_of_pupils_keep_exact_sizes_with_friends_together(seed):
    rng = np.random.RandomState(seed)
    boys = rng.permutation(np.arange(120) < 63)
    order = rng.permutation(120)
    together = np.arange(120)
    together[order[1:20:2]] = together[order[:20:2]]
    model = FairKMeans(5, min_balance=1.0, min_cluster_size=24, max_cluster_size=24, random_state=0)
    X = rng.normal(size=(120, 2))
    model.fit(X, together=together, sensitive_features=boys)
    assert (model.cluster_sizes_ == 24).all() and model.constraint_violation_ == 0
    assert (np.bincount(model.labels_[boys]) >= 12).all()
    assert (np.bincount(model.labels_[boys]) <= 13).all()
