"""Households of ``together``: whole clusters, people that are counted, costs against HiGHS."""

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.cluster import FairKMeans, FairKMedoids, FairSpectralClustering
from skfair.cluster._input import gather_households

CLUSTERERS = (
    FairKMeans(3, random_state=0),
    FairKMedoids(3, random_state=0),
    FairSpectralClustering(3, gamma=0.1, random_state=0),
)
SIZES = {"min_balance": None, "min_cluster_size": 17, "max_cluster_size": 23}


def draw(seed=0, n_samples=60):
    """Features, groups, and households of up to five near samples."""
    rng = np.random.default_rng(seed)
    households = np.sort(rng.integers(0, n_samples // 3, n_samples))
    homes = rng.normal(size=(n_samples // 3, 2))
    X = homes[households] + 0.2 * rng.normal(size=(n_samples, 2))
    groups = np.where(rng.uniform(size=n_samples) < 0.35, "a", "b")
    return X, groups, households


def solve_program(costs, households, is_first, low, high, level):
    """The minimum of the integer program of the assignment of households to clusters."""
    ids = np.unique(households)
    members = (households == ids[:, np.newaxis]).astype(float)
    costs = members @ costs
    n_households, n_clusters = costs.shape
    each = sparse.eye_array(n_clusters)
    size, first = (
        sparse.kron((members @ one)[np.newaxis], each) for one in (np.ones(len(is_first)), is_first)
    )
    second = size - first
    constraints = [
        (sparse.kron(sparse.eye_array(n_households), np.ones((1, n_clusters))), 1, 1),
        (size, low, high),
        (level * first - second, -np.inf, 1e-9),
        (level * second - first, -np.inf, 1e-9),
    ]
    solved = optimize.milp(
        costs.ravel(),
        integrality=np.ones(costs.size),
        bounds=optimize.Bounds(0, 1),
        constraints=constraints,
    )
    return solved.fun


@pytest.mark.covering(0)
@pytest.mark.parametrize("model", CLUSTERERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("params", [{"min_balance": 0.7}, SIZES])
def test_households_are_whole_and_sizes_count_members(model, params):
    X, groups, households = draw()
    model = type(model)(**(model.get_params() | params))
    model.fit(X, sensitive_features=groups, together=households)
    for one in np.unique(households):
        assert len(np.unique(model.labels_[households == one])) == 1
    counts = [[((model.labels_ == k) & (groups == g)).sum() for g in ("a", "b")] for k in range(3)]
    np.testing.assert_array_equal(model.group_counts_, counts)
    assert model.constraint_violation_ == 0
    if params is SIZES:
        assert (model.cluster_sizes_ >= 17).all() and (model.cluster_sizes_ <= 23).all()


@pytest.mark.parametrize("seed", range(2))
def test_assignments_of_households_cost_as_little_as_an_integer_program(seed):
    X, groups, households = draw(seed)
    params = {"min_cluster_size": 15, "max_cluster_size": 25, "min_balance": 0.7}
    model = FairKMeans(3, **params, random_state=0)
    model.fit(X, sensitive_features=groups, together=households)
    distances = ((X[:, np.newaxis] - model.cluster_centers_) ** 2).sum(axis=2)
    assert model.inertia_ == pytest.approx(distances[np.arange(60), model.labels_].sum())
    level = 0.7 * model.data_balance_
    least = solve_program(distances, households, groups == "a", 15, 25, level)
    assert model.inertia_ <= 1.02 * least
    assert model.assignment_lower_bound_ <= model.inertia_ * (1 + 1e-9)


def test_single_samples_are_the_fit_without_households():
    X, groups, _ = draw()
    for model in CLUSTERERS[:2]:
        alone = model.fit(X, sensitive_features=groups).labels_
        ids = [None, *range(59)]
        labels = model.fit(X, sensitive_features=groups, together=ids).labels_
        np.testing.assert_array_equal(labels, alone)


def test_compositions_are_reduced_by_common_factors():
    ids = np.array([7, 7, 3, 3, 3, 3, 9])
    codes = np.array([0, 1, 0, 1, 0, 1, 1])
    households = gather_households(ids, codes, np.full(7, 2.0), 2)
    assert households.of_rows.tolist() == [0, 0, 1, 1, 1, 1, 2]
    assert households.compositions[households.codes].tolist() == [[1, 1], [1, 1], [0, 1]]
    assert households.weights.tolist() == [2.0, 4.0, 2.0]
    assert households.sizes.tolist() == [2.0, 2.0, 1.0]


def test_errors_say_what_must_hold():
    X, groups, households = draw()
    model = FairKMeans(3)
    with pytest.raises(ValueError, match="together must have one id per sample"):
        model.fit(X, sensitive_features=groups, together=households[:9])
    with pytest.raises(ValueError, match="sample_weight must be equal for all members"):
        weights = np.arange(1, 61)
        model.fit(X, sensitive_features=groups, together=households, sample_weight=weights)
    with pytest.raises(ValueError, match=r"n_samples=1 households should be >= n_clusters=3"):
        model.fit(X, sensitive_features=groups, together=np.zeros(60))
    with pytest.raises(ValueError, match="needs algorithm='homotopy'"):
        FairKMeans(3, algorithm="alternating").fit(
            X, sensitive_features=groups, together=households
        )
    with pytest.raises(ValueError, match="needs dense X"):
        model.fit(sparse.csr_array(X), sensitive_features=groups, together=households)
    with pytest.raises(ValueError, match="exclude each other"):
        FairSpectralClustering(3).fit(
            X, sensitive_features=groups, together=households, must_link=[[0, 1]]
        )


@pytest.mark.slow
@pytest.mark.parametrize("model", CLUSTERERS, ids=lambda one: type(one).__name__)
def test_splits_carry_households_along(model):
    X, groups, households = draw()
    fitted_labels = []

    def score(estimator, X, y=None):
        labels = estimator.labels_ if hasattr(estimator, "labels_") else estimator[-1].labels_
        fitted_labels.append(labels)
        return 0.0

    columns = {"sensitive_features": groups, "together": households}
    folds = list(GroupKFold(3).split(X, groups=households))
    trained = [households[train] for train, _ in folds]
    with config_context(enable_metadata_routing=True):
        cross_validate(model, X, params=columns, cv=folds, scoring=score)
        pipeline = make_pipeline(StandardScaler(), model)
        cross_validate(pipeline, X, params=columns, cv=folds, scoring=score)
        GridSearchCV(model, {"n_clusters": [3]}, cv=folds, scoring=score, refit=False).fit(
            X, **columns
        )
    assert len(fitted_labels) == 9
    for labels, ids in zip(fitted_labels, trained * 3, strict=True):
        assert len(labels) == len(ids)
        assert all(len(np.unique(labels[ids == one])) == 1 for one in ids)


@pytest.mark.parametrize("model", CLUSTERERS[:2], ids=lambda one: type(one).__name__)
def test_households_without_weight_stay_together(model):
    X, groups, households = draw()
    weights = np.where(households >= 10, 0.0, 1.0)
    model = type(model)(**(model.get_params() | {"min_balance": None}))
    # A member without weight goes where the others of its household go.
    weights[np.flatnonzero(households == households[0])[0]] = 0.0
    model.fit(X, sample_weight=weights, together=households)
    for one in np.unique(households):
        assert len(np.unique(model.labels_[households == one])) == 1
    # Without any weight, a household goes to the cluster nearest to all its members.
    absent = households >= 10
    distances = model.transform(X)
    distances = distances**2 if isinstance(model, FairKMeans) else distances
    sums = np.zeros((households.max() + 1, 3))
    np.add.at(sums, households, distances)
    np.testing.assert_array_equal(model.labels_[absent], sums.argmin(axis=1)[households[absent]])
