"""Several attributes, each with its own balance: definitions, enumeration, neighbours."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from skfair._kernels.limits import add_rows, composition_ratios, size_rows
from skfair._partitions.partitions import make_partitions
from skfair.cluster import (
    AlternatingFront,
    AlternatingSwaps,
    FairKMeans,
    Homotopy,
    cluster_front,
)
from skfair.cluster._base import ClusterRequirements
from skfair.cluster.kmeans import _tables
from skfair.cluster.kmeans._dual import gather_labels_and_gaps, solve_dual, zero_solution
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.metrics import (
    additive_violation,
    balance_score,
    cluster_composition,
    cluster_share_ratios,
    get_scorer,
    share_ratio_score,
)

reached_or_not = pytest.mark.filterwarnings(
    f"ignore::{InfeasibleConstraintWarning.__module__}.InfeasibleConstraintWarning",
    "ignore:Groups have fewer members than the:UserWarning",
)


def make_data(seed, n_samples, shares=((0.5, 0.5), (0.6, 0.3, 0.1))):
    """Rows in which each attribute is separated along its own axis."""
    rng = np.random.default_rng(seed)
    groups = np.column_stack([rng.choice(len(p), n_samples, p=p) for p in shares])
    groups[: max(map(len, shares))] = np.array(
        [[i % len(p) for p in shares] for i in range(max(map(len, shares)))]
    )
    X = rng.normal(size=(n_samples, 1 + groups.shape[1]))
    X[:, : groups.shape[1]] += 1.5 * groups
    return X, groups


def tables(labels, groups):
    """One table of counts per attribute, by definition."""
    clusters = np.eye(labels.max() + 1)[labels]
    return [clusters.T @ (column[:, None] == np.unique(column)) for column in groups.T]


def minimum_balance(labels, groups, relative=True):
    """The minimum balance of an attribute, by definition, as a share of the data's if relative."""
    balances = []
    for table in tables(labels, groups):
        of_data = table.sum(axis=0).min() / table.sum(axis=0).max() if relative else 1.0
        balances.append((table.min(axis=1) / table.max(axis=1)).min() / of_data)
    return min(balances)


def keeps_balance(table, required, slack=1):
    goal = required * table.sum(axis=0).min() / table.sum(axis=0).max()
    holds = (table.min(axis=1) + slack >= goal * (table.max(axis=1) - slack) - 1e-9).all()
    return holds and (table[:, table.sum(axis=0) >= len(table)] > 0).all()


# Limits and the dual ------------------------------------------------------------------


def test_limits_of_two_attributes_by_hand():
    kinds = np.array([[0, 2], [0, 3], [1, 2]])  # groups 0, 1 and 2, 3
    weights = np.array([6.0, 3.0, 8.0, 1.0])
    attributes = slice(0, 2), slice(2, 4)
    limits = ClusterRequirements(balance=0.8, attribute_slices=attributes).limits(weights, kinds)
    assert limits.level == 0.8
    np.testing.assert_array_equal(limits.scales, [[1, 1, 0, 0], [0, 0, 1, 1]])
    np.testing.assert_array_equal(limits.factors, [2, 8])
    counts = np.array([[4.0, 2.0, 5.0, 1.0], [2.0, 1.0, 3.0, 0.0]])
    np.testing.assert_allclose(composition_ratios(counts, limits), [1, 0])
    np.testing.assert_allclose(composition_ratios(counts[:1] + [[0, 1, 1, 0]], limits), [8 / 6])
    both = ClusterRequirements(0.8, 0.4, attribute_slices=attributes).limits(weights, kinds)
    np.testing.assert_allclose(both.factors, [2, 8, 2, 2])
    np.testing.assert_allclose(both.scales[2:], [[0.5, 1, 0, 0], [0, 0, 1 / 8, 1]])


@pytest.mark.parametrize("sizes", [(-np.inf, np.inf), (70.0, 90.0)])
def test_the_dual_reaches_the_optimum_of_the_programme(sizes):
    X, groups = make_data(0, 240)
    kinds, codes = np.unique(groups + [0, 2], axis=0, return_inverse=True)
    codes = codes.ravel()
    distances = ((X - X[[3, 70, 110], None]) ** 2).sum(axis=2)
    n_clusters, n_samples = distances.shape
    in_group = np.zeros((5, n_samples))
    in_group[kinds[codes].T, np.arange(n_samples)] = 1
    required = ClusterRequirements(0.9, 0.0, attribute_slices=(slice(0, 2), slice(2, 5)))
    limits = required.limits(in_group.sum(axis=1), kinds)
    limits = add_rows(limits, *size_rows(limits, *sizes))
    rows, bounds = [], []
    for columns in required.attribute_slices:
        within = in_group[columns]
        level = 0.9 * within.sum(axis=1).min() / within.sum(axis=1).max()
        rows += [level * b - a for a, b in product(within, within) if a is not b]
    bounds = [0.0] * len(rows)
    if sizes[1] < np.inf:
        rows += [np.ones(n_samples), -np.ones(n_samples)]
        bounds += [sizes[1], -sizes[0]]
    optimum = optimize.linprog(
        distances.ravel(),
        A_ub=np.kron(np.eye(n_clusters), np.array(rows)),
        b_ub=np.tile(bounds, n_clusters),
        A_eq=np.tile(np.eye(n_samples), n_clusters),
        b_eq=np.ones(n_samples),
    ).fun
    partitions = make_partitions([(distances, codes, np.ones(n_samples))])
    result, evaluation = solve_dual(partitions, limits, zero_solution(n_clusters, limits), 0.0)
    assert distances.min(axis=0).sum() < 0.95 * optimum  # else nothing would be shown
    assert result.value <= optimum * (1 + 1e-9)
    assert result.value == pytest.approx(optimum, rel=2e-3)
    # The cost of a sample includes the offsets of all its groups.
    costs = distances + result.offsets @ in_group
    np.testing.assert_array_equal(gather_labels_and_gaps(evaluation)[0], costs.argmin(axis=0))


def is_feasible(groups, n_clusters, required, smallest):
    """Whether some counts of intersections keep balances and sizes exactly, by a programme."""
    cells, totals = np.unique(groups, axis=0, return_counts=True)
    counted = np.kron(np.eye(len(cells)), np.ones(n_clusters))  # clusters add up to a cell
    rows, lower = [], []
    for cluster in np.eye(n_clusters):
        rows.append(np.kron(np.ones(len(cells)), cluster))
        lower.append(smallest)
        for values in cells.T:
            sizes = {value: totals[values == value].sum() for value in np.unique(values)}
            goal = required * min(sizes.values()) / max(sizes.values())
            for one, other in product(sizes, repeat=2):
                rows.append(np.kron((values == one) - goal * (values == other), cluster))
                lower.append(-1e-9 if one != other else 0.0)
    result = optimize.milp(
        np.zeros(len(cells) * n_clusters),
        constraints=[
            optimize.LinearConstraint(counted, totals, totals),
            optimize.LinearConstraint(np.array(rows), lower),
        ],
        integrality=1,
    )
    return result.success


# The guaranteed balance ---------------------------------------------------------------


@pytest.mark.slow
@reached_or_not
@settings(max_examples=6)  # of a second each
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from([0.5, 0.8, 1]), st.booleans())
def test_every_attribute_keeps_its_balance(seed, n_clusters, required, sized):
    X, groups = make_data(seed, 30, ((0.5, 0.5), (0.5, 0.3, 0.2)))
    smallest = 30 // n_clusters if sized else None
    model = FairKMeans(
        n_clusters,
        min_balance=required,
        attributes="each",
        min_cluster_size=smallest,
        random_state=0,
    )
    model.fit(X, sensitive_features=groups)
    counts = tables(model.labels_, groups)
    np.testing.assert_array_equal(model.group_counts_, np.hstack(counts))
    assert model.cluster_sizes_.min() >= (smallest or 0)
    assert model.relative_balance_ == pytest.approx(minimum_balance(model.labels_, groups))
    assert model.balance_ == pytest.approx(minimum_balance(model.labels_, groups, relative=False))
    assert model.assignment_lower_bound_ <= model.inertia_
    holds = all(keeps_balance(table, required) for table in counts)
    assert (
        (model.status_ not in {"infeasible", "not_found"})
        == holds
        == (model.constraint_violation_ == 0)
    )
    assert holds or not is_feasible(groups, n_clusters, required, smallest or 1)


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_that_no_counts_keep_the_limits_is_found_in_seconds():
    """Branching by distance took over a minute: clusters may be renamed in 24 ways."""
    X, groups = make_data(196504600, 30, ((0.5, 0.5), (0.5, 0.3, 0.2)))
    model = FairKMeans(4, min_balance=0.8, attributes="each", n_init=1, random_state=0)
    model.fit(X, sensitive_features=groups)
    assert not is_feasible(groups, 4, 0.8, 1)
    assert model.constraint_violation_ == 0


@pytest.mark.timeout(60)
def test_counts_of_an_integer_programme_are_rounded(monkeypatch):
    """A solver's integers may be off by 1e-9, and moves of members never use up such a surplus."""

    def find_nearly_integer(*args, **options):
        table = find_nearest(*args, **options)
        return None if table is None else table + [[1e-9], [-1e-9]]

    find_nearest = _tables._nearest_table
    monkeypatch.setattr(_tables, "_nearest_table", find_nearly_integer)
    X, groups = make_data(1212200381, 30, ((0.5, 0.5), (0.5, 0.3, 0.2)))
    model = FairKMeans(2, min_balance=0.5, attributes="each", min_cluster_size=15, random_state=0)
    model.fit(X, sensitive_features=groups)
    assert all(keeps_balance(table, 0.5) for table in tables(model.labels_, groups))


@pytest.mark.covering(0)
@pytest.mark.parametrize("required", [{"min_balance": 0.8}, {"min_share_ratio": 0.8}])
def test_subsampled_fits_keep_the_balance_of_every_attribute(required):
    X, groups = make_data(1, 1500)
    model = FairKMeans(
        4, attributes="each", algorithm=Homotopy(max_samples=500), random_state=0, **required
    )
    model.fit(X, sensitive_features=groups)
    assert model.status_ in {"optimal", "feasible"}
    for column in groups.T:
        alone = {"sensitive_features": column}
        assert balance_score(model.labels_, **alone, relative=True) >= 0.8
        if "min_share_ratio" in required:
            assert share_ratio_score(model.labels_, **alone) >= 0.8
    assert model.assignment_lower_bound_ >= 0.98 * model.inertia_


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(6))
def test_the_cheapest_of_all_clusterings_is_nearly_reached(seed):
    X, groups = make_data(seed, 9, ((0.5, 0.5), (0.5, 0.5)))
    model = FairKMeans(2, min_balance=0.5, attributes="each", n_init=10, random_state=0)
    model.fit(X, sensitive_features=groups)
    costs = {}
    for labels in product(range(2), repeat=9):
        labels = np.array(labels)
        if 0 < labels.sum() < 9:
            centers = np.array([X[labels == k].mean(axis=0) for k in range(2)])
            costs[tuple(labels)] = ((X - centers[labels]) ** 2).sum()
    allowed = [
        cost
        for labels, cost in costs.items()
        if all(keeps_balance(table, 0.5) for table in tables(np.array(labels), groups))
    ]
    strict = [
        cost for labels, cost in costs.items() if minimum_balance(np.array(labels), groups) >= 0.5
    ]
    assert min(allowed) * (1 - 1e-9) <= model.inertia_ <= 1.1 * min(strict)


@pytest.mark.slow
def test_optimal_means_that_no_allowed_neighbour_is_cheaper(from_scratch):
    X, groups = make_data(3, 60)
    model = FairKMeans(3, attributes="each", tol=0, random_state=0)
    model.fit(X, sensitive_features=groups)
    assert model.status_ == "optimal"
    floor = min(0.8, minimum_balance(model.labels_, groups))

    def check(labels):
        if minimum_balance(labels, groups) >= floor * (1 - 1e-12):
            assert from_scratch(X, labels, groups[:, 0]).cost >= model.inertia_ * (1 - 1e-9)

    for p in range(60):
        for k in range(3):
            moved = model.labels_.copy()
            moved[p] = k
            check(moved)
        for q in range(p):
            swapped = model.labels_.copy()
            swapped[[p, q]] = swapped[[q, p]]
            check(swapped)


@pytest.mark.slow
def test_incompatible_attributes_are_reported_with_the_best_balance():
    """Three pairs of rare samples, each sample in two: two clusters cannot separate all pairs."""
    groups = np.zeros((30, 3), dtype=int)
    for attribute, pair in enumerate([(0, 1), (1, 2), (0, 2)]):
        groups[pair, attribute] = 1
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = FairKMeans(2, attributes="each", random_state=0)
    message = r"min_balance=0\.8 is not reached: .* is 0\.0000 \(the minimum of .*of each attribute"
    with pytest.warns(InfeasibleConstraintWarning, match=message):
        model.fit(X, sensitive_features=groups)
    assert model.status_ == "infeasible"
    # In some cluster a value is missing, which a sample would change.
    assert model.constraint_violation_ >= 1 and model.violated_bound_ == "min_balance"
    # Any two of them go together.
    assert model.fit(X, sensitive_features=groups[:, :2]).status_ != "infeasible"


# What is the same ---------------------------------------------------------------------


def test_one_attribute_is_what_it_is_without():
    X, groups = make_data(4, 200)
    each = FairKMeans(3, attributes="each", random_state=0)
    each.fit(X, sensitive_features=pd.DataFrame({"race": groups[:, 1]}))
    alone = FairKMeans(3, random_state=0).fit(X, sensitive_features=groups[:, 1])
    np.testing.assert_array_equal(each.labels_, alone.labels_)
    assert (each.balance_, each.data_balance_) == (alone.balance_, alone.data_balance_)
    assert each.groups_.labels == [[("race", value)] for value in range(3)]
    assert each.groups_.counts == alone.groups_.counts


def test_an_attribute_with_one_value_is_balanced_in_any_case():
    X, groups = make_data(5, 200)
    alone = FairKMeans(3, random_state=0).fit(X, sensitive_features=groups[:, 1])
    same = np.column_stack([np.full(200, "x"), groups[:, 1].astype(str)])
    model = FairKMeans(3, attributes="each", random_state=0).fit(X, sensitive_features=same)
    assert model.status_ == alone.status_
    assert model.relative_balance_ >= 0.8
    assert model.inertia_ == pytest.approx(alone.inertia_, rel=1e-3)
    assert model.group_counts_[:, 0].tolist() == model.cluster_sizes_.tolist()


# New samples --------------------------------------------------------------------------


def test_predict_adds_the_offsets_of_all_groups_of_a_sample():
    X, groups = make_data(6, 300)
    in_training = ~((groups[:, 0] == 1) & (groups[:, 1] == 2))  # without one combination
    frame = pd.DataFrame(groups, columns=["sex", "race"])
    model = FairKMeans(3, attributes="each", random_state=0)
    model.fit(X[in_training], sensitive_features=frame[in_training])
    assert [name for (name,) in model.groups_.labels] == [
        *(("sex", 0), ("sex", 1)),
        *(("race", 0), ("race", 1), ("race", 2)),
    ]
    offsets = model.offsets_.T[groups[:, 0]] + model.offsets_.T[2 + groups[:, 1]]
    expected = (model.transform(X) ** 2 + offsets).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(X, sensitive_features=groups), expected)
    with pytest.raises(ValueError, match=r"groups of attribute 'race' not seen at fit: 7"):
        model.predict(X, sensitive_features=np.where(groups == 2, 7, groups))
    with pytest.raises(ValueError, match=r"must have the 2 attribute"):
        model.predict(X, sensitive_features=groups[:, 0])


# Fronts, metrics and the paper's algorithm --------------------------------------------


@pytest.mark.slow
def test_the_front_of_several_attributes_is_what_its_labels_say(from_scratch):
    X, groups = make_data(7, 200)
    front = cluster_front(
        FairKMeans(3, attributes="each", random_state=0), X, sensitive_features=groups
    )
    of_data = [balance_score(np.zeros(200), sensitive_features=one) for one in groups.T]
    assert front.data_balance == pytest.approx(min(of_data))
    relative = front.relative_balance
    assert front.metric == "relative_balance"
    assert (np.diff(relative) > 0).all()
    assert relative[0] < 0.5 < 0.9 < relative[-1] <= 1 + 1e-12
    for i in range(0, len(front), max(1, len(front) // 10)):
        labels = front.labels(i)
        assert relative[i] == pytest.approx(minimum_balance(labels, groups))
        assert front.balance[i] == pytest.approx(minimum_balance(labels, groups, relative=False))
        assert front.cost[i] == pytest.approx(from_scratch(X, labels, groups[:, 0]).cost / 200)
    model = front.to_estimator(front.select(min_balance=0.8))
    assert model.relative_balance_ >= 0.8
    assert model.attributes == "each"


def test_metrics_of_several_attributes_are_the_least_of_each():
    X, groups = make_data(8, 120)
    labels = FairKMeans(3, min_balance=None, random_state=0).fit(X).labels_
    each = {"sensitive_features": groups, "attributes": "each"}
    columns = [{"sensitive_features": column} for column in groups.T]
    for relative in (False, True):
        score = balance_score(labels, **each, relative=relative)
        assert score == pytest.approx(minimum_balance(labels, groups, relative))
    assert share_ratio_score(labels, **each) == min(share_ratio_score(labels, **c) for c in columns)
    ratios = [cluster_share_ratios(labels, **column) for column in columns]
    pd.testing.assert_series_equal(cluster_share_ratios(labels, **each), np.minimum(*ratios))
    departures = [additive_violation(labels, **column) for column in columns]
    assert additive_violation(labels, **each) == max(departures)
    table = cluster_composition(labels, **each)
    assert table.columns.tolist() == [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]
    np.testing.assert_array_equal(table, np.hstack(tables(labels, groups)))
    shares = cluster_composition(labels, **each, normalize="cluster")
    np.testing.assert_allclose(shares[0].sum(axis=1), 1)
    with pytest.raises(ValueError, match="attributes must be one of 'intersections', 'each'"):
        balance_score(labels, sensitive_features=groups, attributes="all")


def test_the_fit_and_the_metrics_agree_and_there_is_a_scorer():
    X, groups = make_data(9, 200)
    model = FairKMeans(3, attributes="each", random_state=0).fit(X, sensitive_features=groups)
    each = {"sensitive_features": groups, "attributes": "each"}
    assert model.balance_ == balance_score(model.labels_, **each)
    assert model.relative_balance_ == balance_score(model.labels_, **each, relative=True)
    assert model.data_balance_ == balance_score(np.zeros(200), **each)
    assert model.share_ratio_ == share_ratio_score(model.labels_, **each)
    predicted = model.predict(X, sensitive_features=groups)
    score = get_scorer("attribute_balance")(model, X, sensitive_features=groups)
    assert score == balance_score(predicted, **each)


def test_the_alternating_algorithm_improves_every_attribute():
    X, groups = make_data(10, 300, ((0.5, 0.5), (0.6, 0.4)))
    algorithm = AlternatingSwaps(2, 6, swap_target="global", n_iter=600)
    model = FairKMeans(
        3, attributes="each", min_balance=0.7, algorithm=algorithm, random_state=0
    ).fit(X, sensitive_features=groups)
    assert model.relative_balance_ == pytest.approx(minimum_balance(model.labels_, groups))
    assert model.relative_balance_ >= 0.7
    front = cluster_front(
        FairKMeans(2, attributes="each", random_state=0),
        X[:100],
        sensitive_features=groups[:100],
        algorithm=AlternatingFront(n_init=6, n_iter=40),
    )
    labels = front.labels(-1)
    assert front.relative_balance[-1] == pytest.approx(minimum_balance(labels, groups[:100]))


def test_the_choice_is_one_of_two():
    X, groups = make_data(0, 30)
    with pytest.raises(ValueError, match="'attributes' parameter of FairKMeans"):
        FairKMeans(2, attributes="all").fit(X, sensitive_features=groups)
