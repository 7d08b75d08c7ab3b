"""FairSpectralClustering: known answers, the guaranteed balance, and new rows."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from skfair.cluster import FairSpectralClustering, cluster_front
from skfair.cluster.spectral._fair_embedding import EIGEN_SOLVERS
from skfair.exceptions import InfeasibleConstraintWarning, MissingSensitiveFeaturesWarning
from skfair.metrics import balance_score, normalized_cut


def model(n_clusters=3, **params):
    return FairSpectralClustering(n_clusters, **{"random_state": 0, **params})


def graph_model(n_clusters=2, **params):
    return model(n_clusters, affinity="precomputed", **params)


def laplacian(X, Y):
    return laplacian_kernel(X, Y, gamma=0.5)


def is_balanced(fitted):
    """The requested balance up to one sample, and no large group that a cluster lacks."""
    counts = fitted.group_counts_
    is_large = np.array(fitted.groups_.counts) >= fitted.n_clusters
    ratio = (fitted.min_balance or 0) * fitted.data_balance_
    least = ratio * (counts.max(axis=1) - 1)
    return (counts.min(axis=1) + 1 >= least - 1e-9).all() and (counts[:, is_large] > 0).all()


@pytest.fixture(scope="module")
def islands():
    """Three blobs far from each other, with groups in equal shares."""
    rng = np.random.default_rng(0)
    blob = np.arange(60) % 3
    X = rng.normal(scale=0.1, size=(60, 2)) + 5.0 * np.column_stack([blob, blob % 2])
    return X, np.array(["a", "b"])[np.arange(60) // 3 % 2], blob


def two_cliques():
    """Nodes 0-3 and 4-7, complete but for loops, and the edge 3-4 between them."""
    graph = linalg.block_diag(*[np.ones((4, 4)) - np.eye(4)] * 2)
    graph[3, 4] = graph[4, 3] = 1
    return graph


def random_graph(rng, n_nodes):
    graph = np.triu(rng.random((n_nodes, n_nodes)) < rng.choice([0.1, 0.3, 0.7]), 1)
    return (graph | graph.T).astype(float)


# Known answers ------------------------------------------------------------------------


@pytest.mark.covering(1)
@pytest.mark.parametrize("min_balance", [None, 0.8, 1])
@pytest.mark.parametrize(
    "storage",
    [np.asarray, sparse.csr_array, sparse.csr_matrix, sparse.coo_array, sparse.csc_array],
)
def test_fair_cliques_are_recovered(storage, min_balance):
    fitted = graph_model(min_balance=min_balance).fit(
        storage(two_cliques()), sensitive_features=["a", "b"] * 4
    )
    first = fitted.labels_[0]
    assert (fitted.labels_ == first).tolist() == [True] * 4 + [False] * 4
    assert fitted.labels_.dtype == np.int32
    # Of volume 13 each, one edge is cut.
    assert fitted.objective_ == pytest.approx(2 / 13)
    assert fitted.group_counts_.tolist() == [[2, 2], [2, 2]]
    assert fitted.balance_ == fitted.relative_balance_ == fitted.data_balance_ == 1
    assert fitted.status_ == "feasible"
    assert fitted.constraint_violation_ == 0
    assert fitted.embedding_violation_ < 1e-9
    assert fitted.eigenvalues_[0] == pytest.approx(1)


def test_segregated_cliques_are_mixed_at_the_least_cut():
    graph = two_cliques()
    groups = np.repeat([0, 1], 4)
    fitted = graph_model(min_balance=1).fit(graph, sensitive_features=groups)
    halves = itertools.chain(*(itertools.combinations(range(8), size) for size in (2, 4)))
    fair = [half for half in halves if groups[list(half)].mean() == 0.5]
    best = min(normalized_cut(np.isin(range(8), half), graph) for half in fair)
    # The ends of the edge between the cliques lose 6 of 8 and 6 of 18 links.
    assert best == pytest.approx(6 / 8 + 6 / 18)
    assert fitted.objective_ == pytest.approx(best)
    assert sorted(fitted.group_counts_.tolist()) == [[1, 1], [3, 3]]


@pytest.mark.filterwarnings("ignore:The embedding of eigen_solver='dca-admm'")
def test_one_cluster_has_all_samples(blobs):
    X, groups = blobs
    for eigen_solver in EIGEN_SOLVERS:
        fitted = model(1, eigen_solver=eigen_solver).fit(X, sensitive_features=groups)
        assert set(fitted.labels_) == {0}
        assert fitted.objective_ == pytest.approx(0, abs=1e-12)
        assert fitted.relative_balance_ == 1


def test_as_many_clusters_as_nodes_of_one_group():
    X = np.random.default_rng(0).normal(size=(9, 2))
    fitted = model(9, min_balance=None).fit(X, sensitive_features=["all"] * 9)
    assert sorted(fitted.labels_) == list(range(9))


def test_least_data():
    fitted = model(1, min_balance=None).fit([[0.0]], sensitive_features=["a"])
    assert fitted.labels_.tolist() == fitted.predict([[3.0]]).tolist() == [0]


# Balance ------------------------------------------------------------------------------


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**16),
    n_clusters=st.integers(1, 4),
    n_groups=st.integers(1, 3),
    min_balance=st.sampled_from([None, 0, 0.3, 0.8, 1]),
    rounding=st.sampled_from(["ncut", "kmeans"]),
    kind=st.sampled_from(["rbf", "nearest_neighbors", "dense", "csr", "coo", "callable"]),
)
def test_the_guaranteed_balance_holds(seed, n_clusters, n_groups, min_balance, rounding, kind):
    rng = np.random.default_rng(seed)
    n_samples = int(rng.integers(12, 50))
    groups = rng.integers(n_groups, size=n_samples)
    X = rng.normal(size=(n_samples, 2)) + 3 * groups[:, None]
    affinity = kind
    if kind == "callable":
        affinity = laplacian
    elif kind in ("dense", "csr", "coo"):
        storage = {"dense": np.asarray, "csr": sparse.csr_array, "coo": sparse.coo_array}[kind]
        X = storage(random_graph(rng, n_samples))
        affinity = "precomputed"
    fitted = model(
        n_clusters, min_balance=min_balance, affinity=affinity, assign_labels=rounding, n_init=2
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted.fit(X, sensitive_features=groups)
    if min_balance and len(np.unique(groups)) == 1:  # nothing to balance
        assert fitted.status_ == "unconstrained"
        assert [w.category for w in caught] == [MissingSensitiveFeaturesWarning]
        return
    holds = not min_balance or is_balanced(fitted)
    assert fitted.status_ == ("feasible" if holds else fitted.status_)
    assert holds or fitted.status_ in {"infeasible", "not_found"}
    has_small_group = min_balance and min(fitted.groups_.counts) < n_clusters
    expected = [UserWarning] if has_small_group else []
    assert [w.category for w in caught] == (expected if holds else [InfeasibleConstraintWarning])
    lacking = 0.0
    if not holds:
        counts = fitted.group_counts_
        needed = min_balance * fitted.data_balance_ * counts.max(axis=1)
        # A group that is missing lacks a sample at least.
        lacking = max((needed - counts.min(axis=1)).max(), 1.0 * (counts == 0).any())
    assert fitted.constraint_violation_ == pytest.approx(lacking)
    # Only the papers' rounding fails where every group has a member for every cluster.
    assert holds or rounding == "kmeans" or min(fitted.groups_.counts) < n_clusters
    assert fitted.labels_.shape == (n_samples,)
    assert 0 <= fitted.objective_ <= n_clusters
    assert fitted.embedding_violation_ < 1e-5
    np.testing.assert_allclose(
        fitted.embedding_.T @ fitted.embedding_, np.eye(n_clusters), atol=1e-5
    )


@pytest.mark.parametrize("min_balance", [None, 0.8, 1])
def test_what_is_reported_is_what_the_metrics_measure(blobs, min_balance):
    X, groups = blobs
    fitted = model(min_balance=min_balance).fit(X, sensitive_features=groups)
    labels = fitted.labels_
    np.testing.assert_allclose(fitted.affinity_matrix_, rbf_kernel(X, gamma=1.0))
    assert fitted.objective_ == normalized_cut(labels, fitted.affinity_matrix_)
    assert fitted.balance_ == balance_score(labels, sensitive_features=groups)
    assert fitted.relative_balance_ == pytest.approx(
        balance_score(labels, sensitive_features=groups, relative=True)
    )
    counts = pd.crosstab(labels, groups).to_numpy()
    np.testing.assert_array_equal(fitted.group_counts_, counts)
    np.testing.assert_array_equal(fitted.cluster_balances_, counts.min(axis=1) / counts.max(axis=1))
    assert fitted.groups_.names == ["a", "b"]
    assert fitted.groups_.counts == counts.sum(axis=0).tolist()


def test_balance_increases_the_cut(blobs):
    X, groups = blobs
    cuts = [
        model(min_balance=min_balance).fit(X, sensitive_features=groups).objective_
        for min_balance in (None, 0.8, 1)
    ]
    assert cuts == sorted(cuts)
    assert cuts[0] < cuts[-1]


def test_fits_without_constraints_do_not_warn(blobs):
    X, groups = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        none, zero = (model(min_balance=b).fit(X, sensitive_features=groups) for b in (None, 0))
        plain = model(min_balance=None).fit(X)
        model(min_balance=0).fit(X)
    np.testing.assert_array_equal(none.labels_, zero.labels_)
    assert none.relative_balance_ < 0.8
    assert none.status_ == plain.status_ == "feasible"
    assert plain.groups_.labels == [["all"]]


def test_the_warning_of_missing_groups_points_to_the_caller(blobs):
    with pytest.warns(MissingSensitiveFeaturesWarning, match="all samples are one group") as caught:
        fitted = model().fit(blobs[0])
    assert caught[0].filename == __file__
    with pytest.warns(MissingSensitiveFeaturesWarning, match="in the group 'all'") as caught:
        single_group = model().fit(blobs[0], sensitive_features=["all"] * 120)
    assert caught[0].filename == __file__
    assert fitted.status_ == single_group.status_ == "unconstrained"
    np.testing.assert_array_equal(fitted.labels_, single_group.labels_)


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    "settings",
    [{}, {"assign_labels": "kmeans"}, {"affinity": "nearest_neighbors"}, {"n_landmarks": 30}],
    ids=str,
)
@pytest.mark.parametrize("n_groups", [2, 3])
def test_names_of_groups_do_not_matter(n_groups, settings):
    rng = np.random.default_rng(n_groups)
    codes = rng.integers(n_groups, size=150)
    X = rng.normal(size=(150, 2)) + codes[:, np.newaxis]
    labels, fronts = [], []
    for names in (["a", "b", "c"], ["z", "b", "a"], ["c", "a", "b"]):
        groups = np.array(names)[codes]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = model(4, **settings).fit(X, sensitive_features=groups)
        labels.append(fitted.labels_)
        by_hand = [
            [np.sum((labels[-1] == k) & (groups == g)) for g in sorted(names[:n_groups])]
            for k in range(4)
        ]
        np.testing.assert_array_equal(fitted.group_counts_, by_hand)
        np.testing.assert_array_equal(fitted.groups_.counts, np.sum(by_hand, axis=0))
        np.testing.assert_array_equal(fitted.groups_.names, sorted(names[:n_groups]))
        if not settings:
            front = cluster_front(
                FairSpectralClustering(4, random_state=0), X, sensitive_features=groups, n_levels=2
            )
            fronts.append((front.cost, front.balance))
    for other in labels[1:]:
        np.testing.assert_array_equal(other, labels[0])
    for other in fronts[1:]:
        np.testing.assert_array_equal(other, fronts[0])


def test_the_rounding_of_the_paper_guarantees_nothing(islands):
    X, _, blob = islands
    with pytest.warns(
        InfeasibleConstraintWarning, match=r"min_balance=1 is not reached.* 0\.0000 .*'ncut'"
    ) as caught:
        fitted = model(min_balance=1, assign_labels="kmeans", gamma=0.1).fit(
            X, sensitive_features=blob
        )
    assert caught[0].filename == __file__
    assert fitted.status_ == "not_found"
    counts = fitted.group_counts_
    lacking = (fitted.data_balance_ * counts.max(axis=1) - counts.min(axis=1)).max()
    assert fitted.constraint_violation_ == pytest.approx(lacking) and lacking > 1
    swapped = model(min_balance=1, gamma=0.1).fit(X, sensitive_features=blob)
    assert swapped.status_ == "feasible"


def test_what_lacks_is_relative_to_the_balance_of_the_data(blobs):
    X, groups = blobs
    present = (groups == "a") | (np.arange(120) % 3 > 0)
    with pytest.warns(InfeasibleConstraintWarning):
        fitted = model(min_balance=1, assign_labels="kmeans").fit(
            X[present], sensitive_features=groups[present]
        )
    assert fitted.data_balance_ < 1
    assert fitted.balance_ > 0
    assert fitted.relative_balance_ == pytest.approx(fitted.balance_ / fitted.data_balance_)
    counts = fitted.group_counts_
    needed = fitted.data_balance_ * counts.max(axis=1)
    assert fitted.constraint_violation_ == pytest.approx((needed - counts.min(axis=1)).max())


@pytest.mark.parametrize(("n_rare", "status"), [(8, "feasible"), (7, "not_found")])
def test_the_guarantee_tolerates_one_sample(n_rare, status):
    # 8 + 1 >= 0.8 * (12 - 1), but 7 + 1 < 0.8 * (13 - 1).
    clique = np.arange(40) // 20
    groups = (np.arange(40) % 20 < n_rare) ^ (clique == 1)
    fitted = graph_model(min_balance=0.8, assign_labels="kmeans")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfeasibleConstraintWarning)
        fitted.fit((clique[:, None] == clique).astype(float), sensitive_features=groups)
    counts = [[20 - n_rare, n_rare], [n_rare, 20 - n_rare]]
    assert sorted(fitted.group_counts_.tolist()) == sorted(counts)
    assert fitted.status_ == status
    lacking = 0.8 * (20 - n_rare) - n_rare
    assert fitted.constraint_violation_ == pytest.approx(0 if n_rare == 8 else lacking)


def test_a_group_smaller_than_the_clusters_warns(blobs):
    for n_rare in (1, 2):
        groups = np.arange(120) < n_rare
        with pytest.warns(UserWarning, match=rf"than the 3 clusters: True \({n_rare}"):
            fitted = model(3).fit(blobs[0], sensitive_features=groups)
        # 0 + 1 >= b (n - 1) holds with b = 0.8 n_rare / (120 - n_rare).
        assert fitted.constraint_violation_ == 0 and fitted.status_ == "feasible"
        assert fitted.balance_ == 0
        assert fitted.group_counts_[:, 1].sum() == n_rare


# New rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors", laplacian])
def test_rows_of_separated_blobs_are_predicted_into_their_clusters(islands, affinity):
    X, groups, blob = islands
    fitted = model(affinity=affinity, n_neighbors=5).fit(X, sensitive_features=groups)
    assert adjusted_rand_score(fitted.labels_, blob) == 1
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    assert fitted.predict(X).dtype == np.int32
    near = X + np.random.default_rng(1).normal(scale=0.05, size=X.shape)
    np.testing.assert_array_equal(fitted.predict(near), fitted.labels_)
    assert fitted.score(X) == pytest.approx(-fitted.objective_)


def test_the_embedding_is_extended_by_its_formula(blobs):
    X, groups = blobs
    fitted = model(n_components=5).fit(X, sensitive_features=groups)
    degrees = fitted.affinity_matrix_.sum(axis=1)
    T = fitted.embedding_ / np.sqrt(degrees)[:, None]
    members = [np.flatnonzero(fitted.labels_ == k) for k in range(3)]
    means = np.array([np.average(T[rows], axis=0, weights=degrees[rows]) for rows in members])
    new = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), size=(500, 2))
    kernel = rbf_kernel(new, X, gamma=1.0)
    extended = kernel @ T / kernel.sum(axis=1, keepdims=True) / fitted.eigenvalues_
    distances = np.linalg.norm(extended[:, None] - means, axis=2)
    np.testing.assert_array_equal(fitted.predict(new), distances.argmin(axis=1))


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, sparse.coo_array])
def test_new_nodes_come_with_their_affinities_to_the_training_nodes(islands, storage):
    X, groups, _ = islands
    fitted = graph_model(3).fit(storage(rbf_kernel(X, gamma=0.5)), sensitive_features=groups)
    similarity = storage(rbf_kernel(X[:7] + 0.05, X, gamma=0.5))
    np.testing.assert_array_equal(fitted.predict(similarity), fitted.labels_[:7])
    with pytest.raises(ValueError, match="59 features, but .* expecting 60"):
        fitted.predict(np.ones((7, 59)))
    with pytest.raises(ValueError, match="square, but its shape is"):
        fitted.score(similarity)


def test_score_is_minus_the_cut_of_the_predicted_labels(blobs):
    X, groups = blobs
    fitted = model().fit(X, sensitive_features=groups)
    cut = normalized_cut(fitted.predict(X[:50]), rbf_kernel(X[:50], gamma=1.0))
    assert fitted.score(X[:50]) == pytest.approx(-cut)


@pytest.mark.parametrize("min_share_ratio", [0.5, 0.8, 1.0])
def test_the_ratio_of_shares_holds_up_to_one_sample(min_share_ratio):
    rng = np.random.default_rng(0)
    site = np.repeat([0, 1, 2], 50)
    groups = np.where(rng.random(150) < 0.2 + 0.6 * (site == 2), "rare", "common")
    X = rng.normal(size=(150, 2)) + 4 * site[:, None]
    settings = {"min_balance": None, "gamma": 0.1, "random_state": 0}
    plain = FairSpectralClustering(3, **settings).fit(X, sensitive_features=groups)
    model = FairSpectralClustering(3, min_share_ratio=min_share_ratio, **settings)
    model.fit(X, sensitive_features=groups)
    assert plain.share_ratio_ < 0.5
    assert model.status_ == "feasible"
    counts = model.group_counts_
    by_group = model.group_counts_.sum(axis=0)
    low = ((counts + 1) / by_group).min(axis=1)
    high = ((counts - 1) / by_group).max(axis=1)
    assert (low >= min_share_ratio * high).all()
    assert model.objective_ > plain.objective_
    np.testing.assert_array_equal(model.cluster_sizes_, np.bincount(model.labels_))
