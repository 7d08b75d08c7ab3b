"""What FairKMeans does with bad, odd and extreme input: a test each."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from skfair._groups.arguments import FitArguments
from skfair.cluster import (
    AlternatingSwaps,
    FairKMeans,
    FairSpectralClustering,
    Homotopy,
    cluster_front,
)
from skfair.cluster.kmeans._fair_kmeans import check_input
from skfair.datasets import make_fair_blobs, open_blocks
from skfair.exceptions import MissingSensitiveFeaturesWarning


@pytest.fixture(scope="module")
def blobs():
    X, _, groups = make_fair_blobs(120, centers=3, group_separation=0.7, random_state=0)
    return X, np.array(["a", "b"])[groups]


def fit(X, groups, n_clusters=3, sample_weight=None, **settings):
    model = FairKMeans(n_clusters, **{"random_state": 0, **settings})
    return model.fit(X, sensitive_features=groups, sample_weight=sample_weight)


@pytest.fixture(scope="module")
def expected_labels(blobs):
    """The labels that any harmless form of the same data must give."""
    return fit(*blobs).labels_


# X ------------------------------------------------------------------------------------


def test_fortran_order_changes_nothing(blobs, expected_labels):
    X, groups = blobs
    np.testing.assert_array_equal(fit(np.asfortranarray(X), groups).labels_, expected_labels)


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "settings", [{}, {"algorithm": AlternatingSwaps(n_iter=200), "min_balance": 0.1}]
)
@pytest.mark.parametrize("n_samples", [60, 120])
def test_float32_gives_the_clusters_of_float64(blobs, settings, n_samples):
    X = blobs[0][:n_samples].astype(np.float32)
    groups = blobs[1][:n_samples]
    model, expected = (fit(rows, groups, **settings) for rows in (X, X.astype(np.float64)))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    for name in ("inertia_", "assignment_lower_bound_", "offsets_", "cluster_centers_"):
        rounding = 1e-6 * np.abs(getattr(expected, name)).max()
        np.testing.assert_allclose(getattr(model, name), getattr(expected, name), atol=rounding)
    assert model.cluster_centers_.dtype == np.float32
    assert expected.cluster_centers_.dtype == np.float64


def test_float32_is_precise_far_from_the_origin(blobs):
    X = (blobs[0] + 1e4).astype(np.float32)
    groups = blobs[1]
    model, expected = (fit(rows, groups) for rows in (X, X.astype(np.float64)))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.inertia_ == pytest.approx(expected.inertia_, rel=1e-6)


def test_float32_stays_float32(blobs):
    X = blobs[0].astype(np.float32)
    groups = blobs[1]
    model = fit(X, groups)
    data = check_input(model, FitArguments(X=X, sensitive_features=groups))
    assert data.problem.X.dtype == data.problem.take(slice(9)).X.dtype == np.float32
    assert not np.shares_memory(data.problem.X, X)
    assert model.transform(X).dtype == np.float32
    assert model.transform(X.astype(np.float64)).dtype == np.float64
    nearest = model.transform(X).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(X), nearest)
    assert model.score(X) == pytest.approx(model.score(X.astype(np.float64)), rel=1e-6)


@pytest.mark.slow
def test_a_front_of_float32_is_that_of_float64(blobs):
    X = blobs[0].astype(np.float32)
    groups = blobs[1]
    fronts = [
        cluster_front(FairKMeans(3, random_state=0), rows, sensitive_features=groups, n_levels=3)
        for rows in (X, X.astype(np.float64))
    ]
    np.testing.assert_allclose(fronts[0].cost, fronts[1].cost, rtol=1e-6)
    np.testing.assert_array_equal(fronts[0].balance, fronts[1].balance)


def test_lists_will_do(blobs, expected_labels):
    X, groups = blobs
    np.testing.assert_array_equal(fit(X.tolist(), groups.tolist()).labels_, expected_labels)


# The number of clusters ---------------------------------------------------------------


def test_more_clusters_than_samples_are_refused(blobs):
    X, groups = blobs
    with pytest.raises(ValueError, match="n_samples=120 should be >= n_clusters=121"):
        fit(X, groups, n_clusters=121)
    weights = np.r_[np.ones(5), np.zeros(115)]
    with pytest.raises(ValueError, match="n_samples=5 rows of positive sample_weight"):
        fit(X, groups, n_clusters=6, sample_weight=weights)


def test_one_cluster_is_as_balanced_as_the_data(blobs):
    X, groups = blobs
    model = fit(X, groups, n_clusters=1, min_balance=1)
    assert model.relative_balance_ == 1
    assert model.status_ == "optimal"
    np.testing.assert_allclose(model.cluster_centers_, [X.mean(axis=0)])


def test_a_cluster_per_sample_costs_nothing_and_is_unbalanced(blobs):
    X, groups = blobs
    with pytest.warns(UserWarning, match="fewer members than the 10 clusters"):
        model = fit(X[:10], groups[:10], n_clusters=10)
    assert model.inertia_ == 0
    assert sorted(model.labels_) == list(range(10))
    assert model.balance_ == 0


# Groups -------------------------------------------------------------------------------


def test_one_group_is_no_constraint(blobs):
    X, _ = blobs
    message = "min_balance=1 requires balanced clusters, but all samples are in the group 'a'"
    with pytest.warns(MissingSensitiveFeaturesWarning, match=message):
        model = fit(X, ["a"] * len(X), min_balance=1)
    assert model.balance_ == model.relative_balance_ == 1
    assert model.status_ == "unconstrained"
    assert model.constraint_violation_ is None
    np.testing.assert_array_equal(model.labels_, fit(X, None, min_balance=None).labels_)
    with pytest.warns(MissingSensitiveFeaturesWarning, match="all samples are in the group"):
        spectral = FairSpectralClustering(3, random_state=0)
        spectral.fit(X, sensitive_features=["a"] * len(X))
    assert spectral.status_ == "unconstrained"
    with pytest.warns(MissingSensitiveFeaturesWarning, match="sensitive_features of one group"):
        cluster_front(FairKMeans(3), X, sensitive_features=["a"] * len(X), n_levels=2)


def test_one_group_of_each_attribute_is_no_constraint(blobs, recwarn):
    X, groups = blobs
    columns = pd.DataFrame({"sex": ["a"] * len(X), "region": ["north"] * len(X)})
    model = fit(X, columns, attributes="each")
    assert model.status_ == "unconstrained"
    assert [w.category for w in recwarn] == [MissingSensitiveFeaturesWarning]
    fit(X, columns.assign(sex=groups), attributes="each")
    assert len(recwarn) == 1


def test_one_group_of_partitioned_data_is_warned_of_as_in_memory(blobs, tmp_path):
    X, _ = blobs
    np.save(tmp_path / "rows.npy", np.column_stack([X, np.ones(len(X))]))
    table = open_blocks(tmp_path / "rows.npy")
    for clusterer in (FairKMeans(3), FairSpectralClustering(3, n_landmarks=20)):
        with pytest.warns(MissingSensitiveFeaturesWarning, match="all samples are in the group"):
            clusterer.fit(table[[0, 1]], sensitive_features=table[2])
        assert clusterer.status_ == "unconstrained"


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("n_samples", [120, 600])
def test_names_of_groups_do_not_matter(n_groups, n_samples):
    """600 samples are more than the subsample, which is drawn by groups."""
    rng = np.random.default_rng(n_groups)
    codes = rng.integers(n_groups, size=n_samples)
    X = rng.normal(size=(n_samples, 2)) + codes[:, np.newaxis]
    algorithm = Homotopy(max_samples=100)
    models = []
    fronts = []
    predictions = []
    for names in (["a", "b", "c"], ["z", "b", "a"], [2, 0, 1]):
        groups = np.array(names)[codes]
        models.append(fit(X, groups, min_balance=0.9, algorithm=algorithm))
        fronts.append(
            cluster_front(FairKMeans(3, random_state=0), X, sensitive_features=groups, n_levels=5)
        )
        predictions.append(models[-1].predict(X, sensitive_features=groups))
        # Columns are in the order of the labels.
        labels = models[-1].groups_.names
        assert (labels == np.unique(groups)).all()
        expected = [
            [np.sum((models[-1].labels_ == k) & (groups == g)) for g in labels] for k in range(3)
        ]
        np.testing.assert_array_equal(models[-1].group_counts_, expected)
        np.testing.assert_array_equal(models[-1].groups_.counts, np.sum(expected, axis=0))
    for model, front, predicted in zip(models, fronts, predictions, strict=True):
        np.testing.assert_array_equal(model.labels_, models[0].labels_)
        np.testing.assert_array_equal(predicted, predictions[0])
        np.testing.assert_array_equal(front.cost, fronts[0].cost)
        np.testing.assert_array_equal(front.labels(-1), fronts[0].labels(-1))


def test_names_of_values_do_not_matter_in_each_attribute():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=(200, 2))
    X = rng.normal(size=(200, 2)) + codes
    labels = [
        fit(
            X,
            np.column_stack([np.array(one)[codes[:, 0]], np.array(other)[codes[:, 1]]]),
            attributes="each",
            min_balance=0.9,
        ).labels_
        for one, other in ((["a", "b"], ["c", "d"]), (["b", "a"], ["x", "e"]))
    ]
    np.testing.assert_array_equal(*labels)


@pytest.mark.parametrize("n_rare", [1, 2])
def test_a_group_smaller_than_the_number_of_clusters_cannot_be_in_all(blobs, n_rare):
    X, _ = blobs
    groups = np.where(np.arange(len(X)) < n_rare, "rare", "common")
    message = rf"fewer members than the 3 clusters: 'rare' \({n_rare}\).*merge small groups"
    with pytest.warns(UserWarning, match=message) as caught:
        model = fit(X, groups)
    assert caught[0].filename == __file__
    assert model.balance_ == 0
    # 0 + 1 >= b (n - 1) holds with b = 0.8 n_rare / n_common, by the slack of a sample.
    assert model.status_ == "feasible"
    assert model.constraint_violation_ == 0
    fit(X, groups, min_balance=None)  # asks for no balance, and is not warned


def test_numbers_of_very_many_values_are_no_groups_of_clusters(blobs):
    X = np.tile(blobs[0], (2, 1))
    age = np.arange(len(X)) % 70
    with pytest.raises(ValueError, match=r"70 different numbers.*pd\.cut\(age") as refused:
        fit(X, age)
    assert "min_group_size" not in str(refused.value)
    with pytest.raises(ValueError, match="70 different numbers"):
        fit(X, np.c_[age % 2, age + 0.5], attributes="each")
    with pytest.raises(ValueError, match="70 different numbers"):
        FairSpectralClustering(2).fit(X, sensitive_features=age)


def test_a_group_as_large_as_the_number_of_clusters_is_in_all(blobs):
    X, _ = blobs
    groups = np.where(np.arange(len(X)) < 3, "rare", "common")
    model = fit(X, groups)
    assert (model.group_counts_ >= 1).all()
    assert model.status_ in {"optimal", "feasible"}


def test_fully_separated_groups_are_brought_together():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 50]
    groups = np.repeat(["here", "there"], 30)
    model = fit(X, groups, n_clusters=2)
    assert model.relative_balance_ >= 0.8
    assert model.status_ == "optimal"
    apart = fit(X, groups, n_clusters=2, min_balance=None)
    assert apart.balance_ == 0
    assert model.objective_ > 100 * apart.objective_


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csc_array])
def test_overlapping_groups_are_refused(blobs, container):
    X, groups = blobs
    membership = container(np.c_[groups == "a", np.ones(len(X), dtype=bool)])
    with pytest.raises(TypeError, match="overlapping groups.*exactly one group"):
        fit(X, membership)
    with pytest.raises(TypeError, match="overlapping groups.*exactly one group"):
        fit(X, groups).predict(X, sensitive_features=membership)


def test_groups_unseen_at_fit_are_refused_by_predict_with_those_known(blobs):
    X, groups = blobs
    model = fit(X, groups)
    with pytest.raises(ValueError, match="not seen at fit: 'c'; the known groups are 'a', 'b'"):
        model.predict(X[:3], sensitive_features=["a", "c", "b"])
    np.testing.assert_array_equal(
        model.predict(X[:2], sensitive_features=["b", "b"]),
        model.predict(X, sensitive_features=["b"] * len(X))[:2],
    )


# Points -------------------------------------------------------------------------------


def test_equal_rows_are_dealt_to_clusters_of_required_sizes_by_group():
    settings = {"min_balance": 1, "min_cluster_size": 1}
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(1\) found"):
        model = fit(np.full((30, 2), 7.0), [0, 1, 1] * 10, **settings)
    assert model.objective_ == 0
    assert (model.group_counts_ > 0).all()
    assert model.status_ in {"optimal", "feasible"}
    np.testing.assert_array_equal(model.cluster_centers_, np.full((3, 2), 7.0))


def test_many_duplicates_are_balanced(blobs):
    X = np.round(blobs[0] / 2)
    groups = blobs[1]
    assert len(np.unique(X, axis=0)) < len(X) / 2
    model = fit(X, groups)
    assert model.relative_balance_ >= 0.8
    assert model.assignment_lower_bound_ <= model.inertia_


@pytest.mark.parametrize("coordinate", [0.1, 0.15811388300841897, 1e-9 / 3, 1e9 / 7])
def test_two_points_of_many_samples_are_two_clusters(coordinate):
    """Sums of distances within a cluster are rounded, and may be below 0."""
    X = np.repeat([[coordinate, -coordinate], [coordinate, coordinate]], 20, axis=0)
    for seed in range(10):
        model = FairKMeans(2, random_state=seed).fit(X, sensitive_features=np.arange(40) % 2)
        assert np.bincount(model.labels_).tolist() == [20, 20]
        assert (model.labels_[:20] == model.labels_[0]).all()


def test_constant_columns_change_nothing(blobs, expected_labels):
    X, groups = blobs
    model = fit(np.c_[X, np.full(len(X), 5.0)], groups)
    np.testing.assert_array_equal(model.labels_, expected_labels)
    np.testing.assert_allclose(model.cluster_centers_[:, 2], 5)


@pytest.mark.parametrize(("offset", "scale"), [(1e8, 1), (0, 1e-8), (0, 1e8), (1e8, 1e-3)])
def test_neither_offset_nor_scale_matter(blobs, expected_labels, offset, scale):
    X, groups = blobs
    # So many digits survive the shift that the problem stays the same.
    rounded = (scale * X + offset) - offset
    shifted = fit(rounded + offset, groups)
    centred = fit(rounded, groups)
    np.testing.assert_array_equal(shifted.labels_, centred.labels_)
    assert shifted.objective_ == pytest.approx(centred.objective_, rel=1e-10)
    if offset == 0:
        np.testing.assert_array_equal(shifted.labels_, expected_labels)


def test_a_shift_loses_only_the_digits_of_the_input(blobs, from_scratch):
    """At an offset of 1e8 a scale of 1e-8 leaves two or three different values per column."""
    X = 1e-8 * blobs[0] + 1e8
    groups = blobs[1]
    model = fit(X, groups)
    truth = from_scratch(X, model.labels_, groups)
    assert model.inertia_ == pytest.approx(truth.cost, rel=0, abs=1e-12 * truth.total)
    assert model.relative_balance_ >= 0.8


# Settings -----------------------------------------------------------------------------


@pytest.mark.parametrize("min_balance", [-0.1, 1.01, np.nan, "much"])
def test_a_balance_outside_the_range_is_refused(blobs, min_balance):
    with pytest.raises(ValueError, match=r"'min_balance' .* in the range \[0.0, 1.0\] or None"):
        fit(*blobs, min_balance=min_balance)


def test_a_balance_of_0_is_warned_of_where_a_group_cannot_be_in_all_clusters():
    """Four samples of one group in five clusters: a sample of rounding keeps min_balance=1."""
    X = np.repeat(np.arange(5.0), 4)[:, None]
    groups = [0] * 16 + [1] * 4
    message = r"Groups have fewer members than the 5 clusters: 1 \(4\)\. .* balance_ is 0"
    with pytest.warns(UserWarning, match=message):
        model = fit(X, groups, n_clusters=5, min_balance=1)
    assert (np.bincount(model.labels_) > 0).all()
    counts = model.group_counts_
    assert (counts.min(axis=1) + 1 >= 0.25 * (counts.max(axis=1) - 1)).all()
    assert (model.status_, model.constraint_violation_, model.balance_) == ("feasible", 0, 0)
    assert model.predict(X, sensitive_features=groups).shape == (20,)


@pytest.mark.parametrize(
    "init",
    [
        np.zeros((2, 2)),  # too few centres
        np.zeros((3, 3)),  # too many columns
        np.zeros((3, 1)),  # too few: must not be broadcast
        np.zeros(2),  # one dimension
        np.full((3, 2), np.nan),
    ],
)
def test_starting_centres_must_fit_the_data(blobs, init):
    with pytest.raises(ValueError, match="init"):
        fit(*blobs, init=init)


@pytest.mark.parametrize(
    "settings",
    [
        {"n_clusters": 0},
        {"n_clusters": 2.5},
        {"n_init": 0},
        {"max_iter": -1},
        {"tol": -1},
        {"init": "best"},
        {"algorithm": "lloyd"},
        {"random_state": "seed"},
        {"n_jobs": 1.5},
    ],
)
def test_settings_out_of_range_are_refused(blobs, settings):
    (name,) = settings
    with pytest.raises(ValueError, match=f"'{name}' parameter of FairKMeans"):
        fit(*blobs, **settings)


# Threads ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_the_number_of_jobs_changes_nothing(blobs, expected_labels, n_jobs):
    model = fit(*blobs, n_jobs=n_jobs)
    np.testing.assert_array_equal(model.labels_, expected_labels)
    np.testing.assert_array_equal(model.group_counts_, fit(*blobs).group_counts_)


@pytest.mark.parametrize("kind", [FairKMeans, FairSpectralClustering])
def test_groups_by_position_are_ignored_with_a_warning(kind):
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.warns(MissingSensitiveFeaturesWarning, match="second argument .* is y"):
        kind(2, random_state=0).fit(X, np.arange(60) % 2)
