"""Guarantees of a fit of FairKMeans, against definitions, enumeration and all neighbours."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from skfair.cluster import AlternatingSwaps, FairKMeans
from skfair.datasets import make_fair_blobs
from skfair.exceptions import InfeasibleConstraintWarning, MissingSensitiveFeaturesWarning
from skfair.metrics import balance_score

VIOLATED = {"infeasible", "not_found"}

# Small random groups may make the balance infeasible. Other tests cover that warning.
reached_or_not = pytest.mark.filterwarnings(
    f"ignore::{InfeasibleConstraintWarning.__module__}.InfeasibleConstraintWarning",
    "ignore:Groups have fewer members than the:UserWarning",
    "ignore:.*all samples are in the group",
)


@pytest.fixture(scope="module")
def blobs():
    X, _, groups = make_fair_blobs(300, centers=4, group_separation=0.8, random_state=0)
    return X, groups


@st.composite
def draw_problem(draw, weighted=True):
    """A small problem of one to four groups, some with equal rows, and an estimator."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_samples = draw(st.integers(2, 40))
    X = rng.normal(size=(n_samples, 2))
    if draw(st.booleans()):
        X = np.round(X)
    groups = rng.integers(draw(st.integers(1, 4)), size=n_samples)
    sample_weight = rng.choice([0.5, 1, 3], n_samples) if weighted and draw(st.booleans()) else None
    n_clusters = draw(st.integers(1, min(5, len(np.unique(X, axis=0)))))
    min_balance = draw(st.sampled_from([0, 0.5, 0.8, 1]))
    return X, groups, sample_weight, FairKMeans(n_clusters, min_balance=min_balance, random_state=0)


def check_attributes(model, truth):
    """The reported numbers are those of the labels, to 1e-12 of the total variance."""
    tiny = 1e-12 * truth.total + 1e-30
    weight = truth.counts.sum()
    assert model.inertia_ == pytest.approx(truth.cost, rel=0, abs=tiny)
    assert model.objective_ == pytest.approx(truth.cost / weight, rel=0, abs=tiny / weight)
    assert model.balance_ == pytest.approx(truth.balance, rel=1e-12)
    np.testing.assert_allclose(model.group_weights_, truth.counts, rtol=1e-12)
    np.testing.assert_allclose(model.cluster_centers_, truth.centers, rtol=1e-7, atol=1e-7)
    assert model.cluster_balances_.min() == model.balance_
    assert model.relative_balance_ == model.balance_ / model.data_balance_
    by_group = truth.counts.sum(axis=0)
    assert model.data_balance_ == pytest.approx(by_group.min() / by_group.max())


def keeps_balance(truth, ratio, largest_weight, numbers):
    """The documented bound, up to rounding of the sums of weights."""
    low = truth.counts.min(axis=1)
    high = truth.counts.max(axis=1)
    rounded = (low + largest_weight >= ratio * (high - largest_weight) - 1e-9).all()
    large = truth.counts[:, numbers >= len(truth.counts)]
    return ratio == 0 or (rounded and (large > 0).all())


# Attributes ---------------------------------------------------------------------------


@pytest.mark.slow
@reached_or_not
@given(draw_problem())
def test_reported_numbers_and_status_are_those_of_the_labels(from_scratch, drawn):
    X, groups, sample_weight, model = drawn
    model.fit(X, sensitive_features=groups, sample_weight=sample_weight)
    assert model.labels_.dtype == np.int32
    assert (np.bincount(model.labels_, minlength=model.n_clusters) > 0).all()
    truth = from_scratch(X, model.labels_, groups, sample_weight)
    check_attributes(model, truth)
    assert model.assignment_lower_bound_ <= model.inertia_
    largest_weight = 1 if sample_weight is None else sample_weight.max()
    numbers = np.array(model.groups_.counts)
    holds = keeps_balance(truth, model.min_balance * model.data_balance_, largest_weight, numbers)
    assert (model.status_ not in VIOLATED) == holds
    if model.status_ == "unconstrained":  # one group
        assert model.constraint_violation_ is None
        return
    assert (model.constraint_violation_ == 0) == holds
    counts = truth.counts
    level = model.min_balance * model.data_balance_
    lacking = (level * counts.max(axis=1, keepdims=True) - counts).max()
    assert holds or model.constraint_violation_ >= lacking * (1 - 1e-9)


@pytest.mark.slow
@reached_or_not
@given(draw_problem(weighted=False))
def test_the_balance_holds_wherever_every_group_has_a_member_for_each_cluster(drawn):
    X, groups, _, model = drawn
    if np.unique(groups, return_counts=True)[1].min() >= model.n_clusters:
        statuses = {"optimal", "feasible", "unconstrained"}  # the last of one group
        assert model.fit(X, sensitive_features=groups).status_ in statuses


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int8])
def test_reported_numbers_are_exact_for_any_type_of_number(from_scratch, blobs, dtype):
    X = (5 * blobs[0]).astype(dtype)
    groups = blobs[1]
    model = FairKMeans(4, random_state=0).fit(X, sensitive_features=groups)
    check_attributes(model, from_scratch(X, model.labels_, groups))
    assert model.cluster_centers_.dtype == np.float64


def test_groups_are_named_in_the_order_of_the_columns(blobs):
    X, groups = blobs
    names = np.array(["old", "young"])[groups]
    model = FairKMeans(4, random_state=0).fit(X, sensitive_features=names)
    assert model.groups_.labels == [["old"], ["young"]]
    np.testing.assert_array_equal(model.groups_.counts, np.bincount(groups))
    np.testing.assert_array_equal(model.group_counts_.sum(axis=0), np.bincount(groups))


def test_several_attributes_make_groups_of_their_combinations(from_scratch, blobs):
    X, sex = blobs
    age = np.arange(len(X)) % 2
    model = FairKMeans(4, random_state=0).fit(X, sensitive_features=np.c_[sex, age])
    assert model.groups_.labels == [[0, 0], [0, 1], [1, 0], [1, 1]]
    check_attributes(model, from_scratch(X, model.labels_, 2 * sex + age))
    assert model.relative_balance_ >= 0.8


# Optima -------------------------------------------------------------------------------


def best_of_all(X, groups, min_balance):
    """Minimum cost of two clusters with this balance, exact and up to one sample."""
    labels = np.array(list(product([0, 1], repeat=len(X))), dtype=float)[1:-1]
    members = np.stack([1 - labels, labels], axis=1)
    sums = members @ X
    counts = members @ np.eye(groups.max() + 1)[groups]
    sizes = counts.sum(axis=2)
    costs = (X**2).sum() - ((sums**2).sum(axis=2) / sizes).sum(axis=1)
    low = counts.min(axis=2)
    high = counts.max(axis=2)
    by_group = np.bincount(groups)
    ratio = min_balance * by_group.min() / by_group.max()
    exact = (low >= ratio * high).all(axis=1)
    up_to_one = (low + 1 >= ratio * (high - 1)).all(axis=1) & (low > 0).all(axis=1)
    return costs[exact].min(), costs[up_to_one | (ratio == 0)].min()


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize(("min_balance", "share"), [(0, 1), (0.5, 0.75), (0.8, 0.6)])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_the_optimum_of_small_problems_is_usually_reached(min_balance, share, n_groups):
    """Nine samples in two clusters. A local search misses the optimum of some problems of 20."""
    n_optimal = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        groups = rng.permutation(np.arange(9) % n_groups)
        X = rng.normal(size=(9, 2))
        X[:, 0] += groups
        model = FairKMeans(2, min_balance=min_balance, n_init=10, random_state=0)
        model.fit(X, sensitive_features=groups)
        exact, up_to_one = best_of_all(X, groups, min_balance)
        assert model.inertia_ >= up_to_one * (1 - 1e-12)
        n_optimal += model.inertia_ <= exact * (1 + 1e-12)
    assert n_optimal >= share * 20


def test_balanced_clusters_are_left_alone():
    X = np.array([[0.0], [0.1], [0.2], [0.3], [9.0], [9.1], [9.2], [9.3]])
    model = FairKMeans(2, min_balance=1, random_state=0).fit(X, sensitive_features=[0, 1] * 4)
    assert len(set(model.labels_[:4])) == len(set(model.labels_[4:])) == 1
    assert model.balance_ == 1
    assert model.assignment_lower_bound_ == pytest.approx(model.inertia_)
    assert model.status_ == "optimal"


def test_the_nearest_samples_of_the_small_group_are_moved():
    """Balance 1 requires the two samples of b in the middle to join the left cluster."""
    left = [0, 0, 0, 0, 1, 1]
    between = [6, 6]
    right = [9, 9, 10, 10]
    X = np.array([*left, *between, *right], dtype=float)[:, None]
    groups = np.array(list("aaaabb" + "bb" + "bbaa"))
    model = FairKMeans(2, min_balance=1, random_state=0).fit(X, sensitive_features=groups)
    expected = [0] * 8 + [1] * 4
    assert adjusted_rand_score(expected, model.labels_) == 1
    assert model.balance_ == 1
    unfair = FairKMeans(2, min_balance=0, random_state=0).fit(X, sensitive_features=groups)
    assert adjusted_rand_score([0] * 6 + [1] * 6, unfair.labels_) == 1


def neighbours(labels, n_clusters):
    """All labels that one move or one exchange leads to."""
    for p, k in product(range(len(labels)), range(n_clusters)):
        yield ((p, k),)
    for p, q in combinations(range(len(labels)), 2):
        yield (p, labels[q]), (q, labels[p])


@pytest.mark.slow
@reached_or_not
@given(draw_problem(weighted=False))
def test_no_move_and_no_exchange_improves_an_optimal_fit(from_scratch, drawn):
    X, groups, _, model = drawn
    model.fit(X, sensitive_features=groups)
    # Where a group has fewer members than there are clusters, the composition that moves keep is
    # no balance: as few clusters as possible lack it.
    if model.status_ != "optimal" or (model.min_balance and model.balance_ == 0):
        return
    floor = min(model.min_balance * model.data_balance_, model.balance_) * (1 - 1e-12)
    truth = from_scratch(X, model.labels_, groups)
    for changes in neighbours(model.labels_, model.n_clusters):
        labels = model.labels_.copy()
        for p, k in changes:
            labels[p] = k
        if (np.bincount(labels, minlength=model.n_clusters) > 0).all():
            other = from_scratch(X, labels, groups)
            assert other.balance < floor or other.cost >= truth.cost - 1e-9 * truth.total


def test_no_balance_is_plain_kmeans(blobs):
    X, groups = blobs
    kmeans = KMeans(4, n_init=10, random_state=0).fit(X)
    for min_balance in (None, 0):
        model = FairKMeans(4, min_balance=min_balance, random_state=0)
        model.fit(X, sensitive_features=groups)
        assert model.inertia_ <= kmeans.inertia_ * (1 + 1e-12)
        assert not model.offsets_.any() or model.balance_ > 0
        assert model.constraint_violation_ == 0


def test_one_group_is_plain_kmeans(blobs):
    X, _ = blobs
    with pytest.warns(MissingSensitiveFeaturesWarning, match="in the group 'x'"):
        fair = FairKMeans(4, min_balance=1, random_state=0)
        fair.fit(X, sensitive_features=["x"] * len(X))
    plain = FairKMeans(4, min_balance=None, random_state=0).fit(X)
    np.testing.assert_array_equal(fair.labels_, plain.labels_)
    assert fair.balance_ == fair.data_balance_ == 1
    assert not fair.offsets_.any()
    # A nearest centre and a cluster's mean go together at an optimum.
    assert fair.assignment_lower_bound_ == pytest.approx(fair.inertia_, rel=1e-3)


def test_heavy_tails_cost_no_more_than_balanced_plain_clusters():
    """30,000 samples with few outliers that dominate the cost. A subsample misses most of them."""
    rng = np.random.default_rng(2)
    groups = (rng.random(30_000) < 0.5).astype(int)
    X = np.exp(rng.normal(size=(30_000, 5)))
    plain = KMeans(8, n_init=3, random_state=0).fit(X)
    fair = FairKMeans(8, min_balance=0.8, random_state=0).fit(X, sensitive_features=groups)
    assert balance_score(plain.labels_, sensitive_features=groups, relative=True) > 0.8
    assert fair.relative_balance_ >= 0.8
    assert fair.inertia_ <= 1.01 * plain.inertia_


def test_balance_without_groups_warns_of_metadata_routing(blobs):
    X, _ = blobs
    with pytest.warns(MissingSensitiveFeaturesWarning, match="enable_metadata_routing=True") as w:
        model = FairKMeans(4, random_state=0).fit(X)
    assert w[0].filename == __file__
    assert model.groups_.labels == [["all"]]


def test_cost_increases_with_the_required_balance(blobs):
    X, groups = blobs
    models = [
        FairKMeans(4, min_balance=b, random_state=0).fit(X, sensitive_features=groups)
        for b in (0, 0.5, 0.8, 0.95)
    ]
    costs = [model.objective_ for model in models]
    assert costs == sorted(costs)
    assert costs[-1] > 1.1 * costs[0]


# Weights ------------------------------------------------------------------------------


@pytest.mark.parametrize("min_balance", [0, 1])
def test_integer_weights_are_repeated_rows(min_balance):
    """The same data with weights and with repeated rows."""
    X = np.array([[0.0], [1.0], [6.0], [9.0], [10.0]])
    groups = np.array(list("abbba"))
    weights = np.array([4, 2, 2, 2, 2])
    init = np.array([[0.0], [10.0]])
    model = FairKMeans(2, min_balance=min_balance, init=init, random_state=0)
    weighted = model.fit(X, sensitive_features=groups, sample_weight=weights)
    np.testing.assert_array_equal(weighted.group_counts_.sum(axis=0), weighted.groups_.counts)
    answer = [weighted.objective_, weighted.inertia_, weighted.balance_, weighted.data_balance_]
    labels = np.repeat(weighted.labels_, weights)
    model.fit(np.repeat(X, weights, axis=0), sensitive_features=np.repeat(groups, weights))
    repeated = [model.objective_, model.inertia_, model.balance_, model.data_balance_]
    np.testing.assert_allclose(answer, repeated, rtol=1e-10)
    np.testing.assert_array_equal(labels, model.labels_)


def test_weighted_kmeans_is_that_of_repeated_rows(blobs):
    X, groups = blobs
    weights = 1 + np.arange(len(X)) % 3
    model = FairKMeans(4, min_balance=None, init=X[:4], random_state=0)
    weighted = model.fit(X, sensitive_features=groups, sample_weight=weights)
    np.testing.assert_array_equal(weighted.group_counts_.sum(axis=0), weighted.groups_.counts)
    answer = [weighted.objective_, weighted.balance_]
    model.fit(np.repeat(X, weights, axis=0), sensitive_features=np.repeat(groups, weights))
    np.testing.assert_allclose(answer, [model.objective_, model.balance_], rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-9, 0.25, 3.7, 1e9])
def test_a_common_factor_of_the_weights_changes_no_label(blobs, scale):
    X, groups = blobs
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    model, scaled = FairKMeans(4, random_state=0), FairKMeans(4, random_state=0)
    model.fit(X, sensitive_features=groups, sample_weight=weights)
    scaled.fit(X, sensitive_features=groups, sample_weight=scale * weights)
    np.testing.assert_array_equal(model.labels_, scaled.labels_)
    assert scaled.objective_ == pytest.approx(model.objective_)
    assert scaled.inertia_ == pytest.approx(scale * model.inertia_)
    assert scaled.balance_ == pytest.approx(model.balance_)


def test_weights_count_in_the_balance(from_scratch, blobs):
    X, groups = blobs
    weights = np.random.default_rng(0).uniform(0.1, 3, len(X))
    model = FairKMeans(4, min_balance=0.9, random_state=0)
    model.fit(X, sensitive_features=groups, sample_weight=weights)
    check_attributes(model, from_scratch(X, model.labels_, groups, weights))
    assert model.relative_balance_ >= 0.9


def test_samples_without_weight_count_as_absent(blobs):
    X, groups = blobs
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    present = weights > 0
    model = FairKMeans(4, random_state=0)
    model.fit(X, sensitive_features=groups, sample_weight=weights)
    others = FairKMeans(4, random_state=0).fit(X[present], sensitive_features=groups[present])
    np.testing.assert_array_equal(model.labels_[present], others.labels_)
    np.testing.assert_array_equal(model.group_counts_, others.group_counts_)
    np.testing.assert_array_equal(model.groups_.counts, others.groups_.counts)
    assert model.inertia_ == pytest.approx(others.inertia_)
    nearest = model.transform(X[~present]).argmin(axis=1)
    np.testing.assert_array_equal(model.labels_[~present], nearest)


def test_a_group_without_weight_is_dropped_with_a_warning(blobs):
    X, groups = blobs
    names = np.where(np.arange(len(X)) < 5, "left", np.array(["a", "b"])[groups])
    weights = (names != "left").astype(float)
    model = FairKMeans(4, random_state=0)
    with pytest.warns(UserWarning, match=r"without any sample weight.*'left'"):
        model.fit(X, sensitive_features=names, sample_weight=weights)
    assert model.groups_.names == ["a", "b"]
    assert model.group_counts_.shape == (4, 2)


# Settings -----------------------------------------------------------------------------


def test_the_seed_decides(blobs):
    X, groups = blobs
    labels = [
        FairKMeans(4, random_state=seed).fit(X, sensitive_features=groups).labels_
        for seed in (7, np.random.RandomState(7))
    ]
    np.testing.assert_array_equal(*labels)


def test_starts_may_be_centres_or_a_function(blobs):
    X, groups = blobs
    by_array = FairKMeans(4, init=X[:4], random_state=0).fit(X, sensitive_features=groups)

    def first_rows(X, n_clusters, random_state):
        return X[:n_clusters]

    by_function = FairKMeans(4, init=first_rows, n_init=1, random_state=0)
    by_function.fit(X, sensitive_features=groups)
    np.testing.assert_array_equal(by_array.labels_, by_function.labels_)
    random = FairKMeans(4, init="random", random_state=0).fit(X, sensitive_features=groups)
    assert random.relative_balance_ >= 0.8


def test_a_fit_that_reaches_max_iter_warns_and_keeps_the_balance(blobs):
    X, groups = blobs
    model = FairKMeans(4, max_iter=1, n_init=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1") as warned:
        model.fit(X, sensitive_features=groups)
    assert warned[0].filename == __file__
    assert model.status_ == "max_iter"
    assert model.n_iter_ <= 2  # a round and a pass of the local search
    assert model.relative_balance_ >= 0.8


def test_verbose_prints_cost_and_balance_of_every_round(blobs, capsys):
    X, groups = blobs
    model = FairKMeans(4, verbose=1, random_state=0).fit(X, sensitive_features=groups)
    printed = capsys.readouterr().out.splitlines()
    # Where no kernel is stored on disk yet, its compilation is announced.
    lines = [line for line in printed if not line.startswith("compiling ")]
    assert len(lines) == model.n_iter_
    assert all(line.startswith("cost ") and ", balance " in line for line in lines)


def test_alternating_swaps_do_not_aim_at_a_balance(blobs):
    X, groups = blobs
    swaps = AlternatingSwaps(20, 0, n_iter=5)
    model = FairKMeans(4, algorithm=swaps, random_state=0)
    unbalanced = np.sort(X[:, 0]).searchsorted(X[:, 0]) < 75  # a group on one side
    with pytest.warns(InfeasibleConstraintWarning, match="use algorithm='homotopy'"):
        model.fit(X, sensitive_features=unbalanced)
    assert model.status_ == "not_found" and model.violated_bound_ == "min_balance"


def test_alternating_swaps_may_leave_a_group_out_and_warn():
    """67 samples of three groups in four clusters: the nearest cluster lacks a group."""
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], [23, 22, 22])
    X = rng.normal(size=(67, 2)) + 3 * groups[:, np.newaxis]
    model = FairKMeans(4, min_balance=0.5, algorithm=AlternatingSwaps(n_iter=200), random_state=0)
    with pytest.warns(InfeasibleConstraintWarning, match=r"is not reached.* 0\.0000"):
        model.fit(X, sensitive_features=groups)
    assert model.status_ == "not_found"
    assert not model.group_counts_.all()
    model.set_params(algorithm="homotopy").fit(X, sensitive_features=groups)
    assert model.constraint_violation_ == 0 and model.group_counts_.all()


@pytest.mark.parametrize(
    "offset",
    [pytest.param(0.0, marks=pytest.mark.slow), 1e12, pytest.param(-1e13, marks=pytest.mark.slow)],
)
def test_rows_far_from_the_origin_are_measured_as_fit_measured_them(offset):
    # Rows without weight half-way between two clusters: rounded centres would change their labels.
    rng = np.random.RandomState(0)
    for _ in range(20):
        X = np.append(rng.normal(size=3), rng.normal(8, size=4))[:, np.newaxis] + offset
        centered = X - X.mean()
        halfway = (centered[:3].mean() + centered[3:].mean()) / 2 + X.mean()
        rows = np.vstack((X, [[halfway]]))
        weights = [1.0] * 7 + [0.0]
        model = FairKMeans(2, min_balance=0, random_state=0)
        model.fit(rows, sensitive_features=list("abababab"), sample_weight=weights)
        np.testing.assert_array_equal(model.predict(rows), model.labels_)
        assert -model.score(rows, sample_weight=weights) == pytest.approx(model.inertia_, rel=1e-12)
