import numpy as np
import pytest
from sklearn.base import clone

from skfair.cluster import AlternatingFront, AlternatingSwaps, FairKMeans, cluster_front
from skfair.datasets import make_fair_blobs
from skfair.exceptions import InfeasibleConstraintWarning


@pytest.fixture(scope="module")
def blobs():
    X, _, groups = make_fair_blobs(200, centers=2, random_state=0)
    return X, groups


@pytest.mark.parametrize(
    "algorithm",
    [AlternatingSwaps(3, 1, n_iter=7), AlternatingFront.from_paper("Syn_equal_ds2")],
)
def test_settings_are_parameter_records(algorithm):
    copy = clone(algorithm)
    assert copy.get_params() == algorithm.get_params()
    assert repr(copy) == repr(algorithm)


def test_presets_carry_the_published_settings():
    paper = AlternatingFront.from_paper("Bank_K10")
    assert (paper.n_iter, paper.n_init, len(paper.update_counts)) == (8000, 30, 4)
    assert (paper.swap_target, paper.half_swaps, paper.init) == ("local", False, "random")
    first, seventh = (
        AlternatingFront.from_paper(f"Syn_unequal_ds2{of}") for of in ("", "_figure_7")
    )
    assert (first.n_iter, first.n_init, len(first.update_counts)) == (400, 30, 4)
    assert (seventh.n_iter, seventh.n_init, len(seventh.update_counts)) == (400, 10, 3)
    assert AlternatingSwaps.from_paper(10, 2).n_iter == 250
    with pytest.raises(ValueError, match=r"'Adult_K10'.*got 'Adult'"):
        AlternatingFront.from_paper("Adult")


@pytest.mark.slow
def test_fair_kmeans_takes_the_algorithm(blobs):
    X, groups = blobs
    algorithm = AlternatingSwaps(5, 3, swap_target="global", n_iter=300)
    model = FairKMeans(2, min_balance=0.5, algorithm=algorithm, random_state=0)
    model.fit(X, sensitive_features=groups)
    again = clone(model).fit(X, sensitive_features=groups)
    assert np.array_equal(model.labels_, again.labels_)
    assert model.n_iter_ == 300
    assert model.status_ == "feasible"
    assert model.relative_balance_ > 0.5


@pytest.mark.slow
def test_the_front_takes_the_algorithm(blobs):
    X, groups = blobs
    algorithm = AlternatingFront(n_init=4, n_iter=60)
    front = cluster_front(
        FairKMeans(2, random_state=0), X, sensitive_features=groups, algorithm=algorithm
    )
    for i in range(len(front)):
        model = front.to_estimator(i)
        assert model.objective_ == pytest.approx(front.cost[i], rel=1e-12)
        assert model.balance_ == pytest.approx(front.balance[i], rel=1e-12)
    assert front.relative_balance[-1] > 0.9


@pytest.mark.parametrize(
    "settings",
    [{"swap_target": "nearest"}, {"half_swaps": 2}, {"batch_growth": 0.9}, {"n_iter": -1}],
)
def test_settings_of_swaps_out_of_range_are_refused(blobs, settings):
    X, groups = blobs
    (name,) = settings
    model = FairKMeans(2, algorithm=AlternatingSwaps(**settings))
    with pytest.raises(ValueError, match=f"'{name}' parameter of AlternatingSwaps"):
        model.fit(X, sensitive_features=groups)
    with pytest.raises(ValueError, match=f"'{name}' parameter of AlternatingFront"):
        cluster_front(
            FairKMeans(), X, sensitive_features=groups, algorithm=AlternatingFront(**settings)
        )


@pytest.mark.parametrize(
    "settings",
    [
        {"init": "k-means++"},
        {"n_init": 0},
        {"max_size": 0},
        {"keep_ties": 3},
        {"n_child_iter": 0},
        {"update_counts": 7},
    ],
)
def test_settings_of_the_list_out_of_range_are_refused(blobs, settings):
    X, groups = blobs
    (name,) = settings
    with pytest.raises(ValueError, match=f"'{name}' parameter of AlternatingFront"):
        cluster_front(
            FairKMeans(), X, sensitive_features=groups, algorithm=AlternatingFront(**settings)
        )


def test_negative_numbers_of_updates_are_refused(blobs):
    X, groups = blobs
    model = FairKMeans(2, algorithm=AlternatingSwaps(-1))
    with pytest.raises(ValueError, match="'n_kmeans_updates' parameter of AlternatingSwaps"):
        model.fit(X, sensitive_features=groups)


@pytest.mark.parametrize("n_clusters", [0, 201])
def test_the_number_of_clusters_must_fit(blobs, n_clusters):
    X, groups = blobs
    model = FairKMeans(n_clusters, algorithm="alternating")
    with pytest.raises(ValueError, match="n_clusters"):
        model.fit(X, sensitive_features=groups)
    with pytest.raises(ValueError, match="n_clusters"):
        cluster_front(FairKMeans(n_clusters), X, sensitive_features=groups, algorithm="alternating")


def test_swaps_that_miss_a_balance_advise_the_other_algorithm(blobs):
    X, groups = blobs
    model = FairKMeans(2, min_balance=1, algorithm=AlternatingSwaps(20, 0, n_iter=50))
    with pytest.warns(InfeasibleConstraintWarning, match="use algorithm='homotopy'"):
        model.set_params(random_state=0).fit(X, sensitive_features=groups)
