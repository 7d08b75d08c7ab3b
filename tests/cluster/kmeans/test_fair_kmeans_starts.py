"""What the number of starts, starts from given centres, and equal rows lead to."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from skfair._kernels.limits import balance_limits
from skfair.cluster import FairKMeans, Homotopy, cluster_front
from skfair.cluster.kmeans import _fits
from skfair.cluster.kmeans._fits import choose_followed_starts
from skfair.cluster.kmeans._problem import ClusteringProblem, distinct_rows
from skfair.cluster.kmeans._rounds import RunSettings, cross_centers
from skfair.datasets import make_fair_blobs, open_blocks

LIMITS = {
    "none": {"min_balance": None},
    "balance": {},
    "share ratio": {"min_balance": None, "min_share_ratio": 0.9},
    "group shares": {"min_balance": None, "min_group_share": 0.4},
    "sizes": {"min_balance": None, "min_cluster_size": 0.1, "max_cluster_size": 0.2},
}


def draw(seed, n_samples=150):
    """Rows without clusters and groups that the first column tells apart."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(2, size=n_samples)
    X = rng.normal(size=(n_samples, 3))
    X[:, 0] += groups
    return X, groups


# Nested starts ------------------------------------------------------------------------


@pytest.mark.covering(0)
@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize(("n_samples", "n_clusters"), [(40, 5), (150, 7), (1100, 5)])
def test_more_starts_never_end_worse(limits, n_samples, n_clusters):
    algorithm = Homotopy(max_samples=300)  # 1,000 for five clusters of two groups: 1,100 are more
    for seed in range(2):
        X, groups = draw(seed, n_samples)
        costs = []
        for n_init in (1, 3, 10):
            model = FairKMeans(
                n_clusters, n_init=n_init, algorithm=algorithm, random_state=seed, **limits
            ).fit(X, sensitive_features=groups)
            assert model.constraint_violation_ == 0
            costs.append(model.inertia_)
        assert (np.diff(costs) <= 0).all()


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("limits", ["group shares", "share ratio", "sizes"])
def test_a_fit_from_its_own_centres_costs_no_more(limits):
    for seed in range(3):
        X, groups = draw(seed, 300)
        settings = {"random_state": 0} | LIMITS[limits]
        model = FairKMeans(7, **settings).fit(X, sensitive_features=groups)
        again = FairKMeans(7, init=model.cluster_centers_, **settings)
        again.fit(X, sensitive_features=groups)
        assert again.constraint_violation_ == 0
        assert again.inertia_ <= 1.001 * model.inertia_


@pytest.mark.slow
@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
def test_more_starts_never_end_worse_on_many_data_sets(limits):
    gains = []
    for seed in range(8):
        X, groups = draw(seed)
        one, ten = (
            FairKMeans(8, n_init=n_init, random_state=seed, **limits)
            .fit(X, sensitive_features=groups)
            .inertia_
            for n_init in (1, 10)
        )
        assert ten <= one
        gains.append(1 - ten / one)
    assert max(gains) > 1e-4


@pytest.mark.filterwarnings("ignore:FairKMeans stopped after max_iter=1")
@pytest.mark.slow
def test_more_starts_lower_the_cost_of_tight_balances_of_small_groups():
    """What integers cost is known at the end of a start, not at its beginning."""
    rng = np.random.default_rng(5)
    groups = rng.integers(5, size=200)
    X = rng.normal(size=(200, 10)) + 0.8 * (groups == 0)[:, np.newaxis]
    costs = [
        [
            FairKMeans(5, min_balance=0.95, n_init=n_init, random_state=seed)
            .fit(X, sensitive_features=groups)
            .inertia_
            for n_init in (1, 10)
        ]
        for seed in range(6)
    ]
    one, ten = np.array(costs).T
    assert (ten <= one).all()
    assert ten.mean() <= 0.998 * one.mean()


@pytest.mark.filterwarnings("ignore:FairKMeans stopped after max_iter=1")
def test_starts_from_random_samples_that_may_take_one_iteration_are_nested():
    """Without iterations every start has an end of its own."""
    X, _ = draw(0)
    costs = [
        FairKMeans(8, min_balance=None, init="random", n_init=n_init, max_iter=1, random_state=3)
        .fit(X)
        .inertia_
        for n_init in (1, 5, 10)
    ]
    assert (np.diff(costs) <= 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_crossed_centres_are_one_of_each_matched_pair_and_a_sample(seed):
    """Both sets are the corners of a square up to small shifts, in other orders."""
    rng = np.random.default_rng(seed)
    corners = 10.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    first = corners + 0.1
    second = corners - 0.1
    X = np.vstack([corners, [[90.0, 90.0]]])
    samples = ClusteringProblem(X, np.ones(5), np.zeros(5, np.intp), balance_limits(1))
    random_state = np.random.RandomState(seed)
    crossed = cross_centers(samples, first, second[rng.permutation(4)], random_state)
    # One centre has moved to the sample that is far from all others.
    is_inherited = (crossed[:, np.newaxis] == np.vstack([first, second])).all(axis=2).any(axis=1)
    np.testing.assert_array_equal(crossed[~is_inherited], [[90.0, 90.0]])
    # The others stand for different corners.
    assert len(np.unique(np.round(crossed[is_inherited] / 10), axis=0)) == 3


@pytest.mark.slow
# 2,500 samples are more than the first subsample.
@pytest.mark.parametrize(("n_samples", "seed"), [(1200, 1), (2500, 4)])
def test_crossed_starts_are_followed_to_their_ends(monkeypatch, n_samples, seed):
    """By construction crossed centres are those of a better fit."""
    X, groups = draw(seed, n_samples)
    settings = {"min_balance": 0.95, "algorithm": Homotopy(max_samples=100), "random_state": 0}
    best = FairKMeans(8, n_init=20, **settings).fit(X, sensitive_features=groups)
    centers = best.cluster_centers_ - X.mean(axis=0)
    monkeypatch.setattr(_fits, "cross_centers", lambda *_: centers)
    three, four = (
        FairKMeans(8, n_init=n_init, **settings).fit(X, sensitive_features=groups).inertia_
        for n_init in (3, 4)
    )
    assert four == pytest.approx(best.inertia_, rel=1e-3)
    assert three > 1.005 * best.inertia_


def test_the_starts_of_few_are_the_first_of_those_of_many():
    def centers(n_init):
        samples = draw(0)[0]
        drawn = []

        def init(X, n_clusters, random_state):
            drawn.append(X[random_state.choice(len(X), n_clusters, replace=False)])
            return drawn[-1]

        FairKMeans(4, min_balance=None, init=init, n_init=n_init, random_state=1).fit(samples)
        return np.array(drawn)

    np.testing.assert_array_equal(centers(7)[:3], centers(3))
    assert len(np.unique(centers(7)[:, 0], axis=0)) > 1
    first, *_ = RunSettings(2, n_init=1).generators(np.random.RandomState(0))
    other, *_ = RunSettings(2, n_init=9).generators(np.random.RandomState(0))
    assert first.randint(2**31) == other.randint(2**31)


@pytest.mark.parametrize("n_followed", [1, 2, 3])
def test_what_is_chosen_of_few_is_chosen_of_many(n_followed):
    rng = np.random.default_rng(n_followed)
    for _ in range(50):
        costs = rng.permutation(np.repeat(np.arange(1.0, 7.0), 2)).tolist()
        chosen = [choose_followed_starts(costs[:n], n_followed, 1e-3) for n in range(1, 13)]
        assert chosen[0] == [0]
        for shorter, longer in zip(chosen, chosen[1:], strict=False):
            assert longer[: len(shorter)] == shorter
        # By hand: fewer than ``n_followed`` of those before cost as little.
        by_hand = [
            i
            for i, cost in enumerate(costs)
            if cost not in costs[:i] and sum(c <= cost for c in costs[:i]) < n_followed
        ]
        assert chosen[-1] == by_hand
        assert np.argmin(costs) in chosen[-1]


def test_costs_that_nearly_agree_are_followed_once():
    assert choose_followed_starts([10.0, 9.9999, 9.0, 9.0, 9.0001, 8.0], 9, 1e-3) == [0, 2, 5]
    assert choose_followed_starts([0.0, 0.0], 2, 1e-3) == [0]


@pytest.mark.callbacks
def test_a_callback_that_stops_the_first_start_ends_the_fit():
    X, groups = draw(0)
    rounds = []
    model = FairKMeans(8, n_init=10, random_state=0)

    class Stop:
        max_estimator_depth = 1

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, **_):
            pass

        def on_fit_task_end(self, estimator, context, **_):
            rounds.append(context)
            return True

    model.set_callbacks(Stop()).fit(X, sensitive_features=groups)
    assert model.status_ in {"stopped", "infeasible"}
    assert model.n_iter_ == 1


# Given centres ------------------------------------------------------------------------


@pytest.mark.slow
def test_given_centres_are_one_start_and_several_are_warned_of(recwarn):
    X, groups = draw(0)
    expected = FairKMeans(3, init=X[:3], random_state=0).fit(X, sensitive_features=groups)
    FairKMeans(3, init=X[:3], n_init=1).fit(X, sensitive_features=groups)
    cluster_front(FairKMeans(3, init=X[:3]), X, sensitive_features=groups, n_levels=2)
    assert not recwarn
    message = "performing only one init in FairKMeans instead of n_init=10"
    with pytest.warns(RuntimeWarning, match=message):
        fitted = FairKMeans(3, init=X[:3], n_init=10, random_state=0)
        fitted.fit(X, sensitive_features=groups)
    np.testing.assert_array_equal(fitted.labels_, expected.labels_)
    with pytest.warns(RuntimeWarning, match="instead of n_init=2"):
        cluster_front(FairKMeans(3, init=X[:3], n_init=2), X, sensitive_features=groups, n_levels=2)


def test_auto_is_three_starts():
    X, groups = draw(1)
    auto = FairKMeans(8, random_state=0).fit(X, sensitive_features=groups)
    three = FairKMeans(8, n_init=3, random_state=0).fit(X, sensitive_features=groups)
    np.testing.assert_array_equal(auto.labels_, three.labels_)
    with pytest.raises(ValueError, match="'n_init' parameter"):
        FairKMeans(8, n_init="many").fit(X, sensitive_features=groups)


# Equal rows ---------------------------------------------------------------------------

MESSAGE = r"Number of distinct clusters \(3\) found smaller than n_clusters \(5\). Possibly due"


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("n_copies", [6, 30])
def test_fewer_distinct_rows_than_clusters_leave_empty_ones_and_are_warned_of(balanced, n_copies):
    X = np.repeat([[0.0, 0.1], [1.0, 0.3], [5.0, 5.7]], n_copies, axis=0)
    groups = np.arange(len(X)) % 2 if balanced else None
    model = FairKMeans(5, min_balance=0.8 if balanced else None, random_state=0)
    with pytest.warns(ConvergenceWarning, match=MESSAGE):
        model.fit(X, sensitive_features=groups)
    assert model.inertia_ == pytest.approx(0, abs=1e-20)
    assert set(model.labels_) == {0, 1, 2}
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict(X, sensitive_features=groups), model.labels_)
    np.testing.assert_array_equal(model.cluster_sizes_, [n_copies] * 3 + [0] * 2)
    np.testing.assert_array_equal(model.group_counts_.sum(axis=1), model.cluster_sizes_)
    np.testing.assert_array_equal(np.isnan(model.cluster_balances_), [False] * 3 + [True] * 2)
    assert model.cluster_centers_.shape == (5, 2)
    np.testing.assert_allclose(
        np.unique(model.cluster_centers_.round(9), axis=0), np.unique(X, axis=0)
    )
    assert (model.balance_, model.constraint_violation_) == (1, 0)
    assert model.status_ in {"optimal", "feasible"}


def test_labels_of_equal_rows_are_those_of_scikit_learn():
    X = np.repeat([[0.0], [1.0], [7.0]], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match=MESSAGE):
        expected = KMeans(5, n_init=1, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match=MESSAGE):
        model = FairKMeans(5, min_balance=None, random_state=0).fit(X)
    assert len(set(zip(expected.labels_, model.labels_, strict=True))) == 3
    assert model.predict([[6.0]]) == model.labels_[-1]


def test_given_equal_centres_are_left_after_one_round():
    X = np.array([[0, 0], [1, 1], [1, 1], [1, 0], [0, 1]])
    with pytest.warns(ConvergenceWarning, match=r"\(4\) found smaller than n_clusters \(5\)"):
        model = FairKMeans(5, min_balance=None, init=X).fit(X)
    assert model.n_iter_ == 1


def test_clusters_of_equal_rows_keep_their_required_sizes():
    X = np.repeat([[0.0], [1.0], [7.0]], 4, axis=0)
    model = FairKMeans(4, min_balance=None, min_cluster_size=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"\(3\) found smaller than n_clusters \(4\)"):
        model.fit(X)
    assert model.cluster_sizes_.min() >= 2
    assert model.status_ == "optimal"


def test_balance_may_need_more_clusters_than_distinct_rows():
    """Two rows, two pure clusters, and one that mixes what is left of both."""
    X = np.repeat([0.0, 1.0], [30, 30])[:, np.newaxis]
    groups = np.repeat(["a", "b", "a", "b"], [20, 10, 10, 20])
    model = FairKMeans(3, min_balance=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, sensitive_features=groups)
    # 10 of each group at either row cost nothing; the other 20 samples cost 1/4 each.
    assert model.inertia_ == pytest.approx(5)
    assert sorted(model.cluster_sizes_) == [20, 20, 20]


def test_fronts_warn_of_equal_rows():
    X = np.repeat([[0.0], [1.0], [7.0]], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match=MESSAGE):
        cluster_front(FairKMeans(5, random_state=0), X, sensitive_features=np.arange(12) % 2)


def test_equal_rows_of_a_file_are_those_of_memory(tmp_path):
    X = np.repeat([[0.0, 2.0], [1.0, 0.0], [7.0, 1.0]], 40, axis=0)
    groups = np.arange(120) % 2
    np.save(tmp_path / "rows.npy", np.column_stack([X, groups]))
    table = open_blocks(tmp_path / "rows.npy")
    with pytest.warns(ConvergenceWarning, match=MESSAGE):
        of_file = FairKMeans(5, random_state=0).fit(table[[0, 1]], sensitive_features=table[2])
    with pytest.warns(ConvergenceWarning, match=MESSAGE):
        of_memory = FairKMeans(5, random_state=0).fit(X, sensitive_features=groups)
    np.testing.assert_array_equal(of_file.labels_, of_memory.labels_)
    np.testing.assert_array_equal(of_file.cluster_sizes_, of_memory.cluster_sizes_)


def test_distinct_rows_are_counted_up_to_a_number():
    X, _, _ = make_fair_blobs(100, random_state=0)
    assert len(distinct_rows(X, 7)) == 7
    assert len(distinct_rows(X[np.arange(1000) % 5], 7)) == 5
    late = np.zeros((1000, 1))
    late[-1] = 1
    assert len(distinct_rows(late, 3)) == 2
