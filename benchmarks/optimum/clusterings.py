"""Clusterings of 12 samples against all clusterings."""

from functools import cache

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.optimum.comparison import Case, Outcome
from skfair.cluster import FairKMeans, FairSpectralClustering, cluster_front

N_SAMPLES = 12
SIZES = {"6/6": (6, 6), "8/4": (8, 4), "10/2": (10, 2), "5/4/3": (5, 4, 3)}
N_RANDOM = 20
"""Random clusterings that keep the requirement: the trivial answer is the cheapest."""


@cache
def all_clusterings(n_clusters):
    """All clusterings without an empty cluster, (n_clusterings, n_clusters, n_samples) bool."""
    rest = np.meshgrid(*[np.arange(n_clusters)] * (N_SAMPLES - 1), indexing="ij")
    labels = np.stack([np.zeros_like(rest[0]), *rest]).reshape(N_SAMPLES, -1).T
    members = labels[:, np.newaxis, :] == np.arange(n_clusters)[:, np.newaxis]
    # One of each set of names: clusters are numbered by their first members.
    first = members.argmax(axis=2)
    is_named = members.any(axis=2).all(axis=1) & (np.diff(first, axis=1) > 0).all(axis=1)
    return members[is_named]


def draw_groups(seed, sizes):
    """Rows in two blobs, and groups that follow them where the seed is even."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_SAMPLES, 2))
    X[: N_SAMPLES // 2] += 2 * rng.normal(size=2)
    groups = np.repeat(np.arange(len(SIZES[sizes])), SIZES[sizes])
    return X, rng.permutation(groups) if seed % 2 else groups


def kmeans_costs(X, members, weights=None):
    """Squared distances to the means of clusters, summed by weight, of all clusterings."""
    weights = np.ones(N_SAMPLES) if weights is None else weights
    sums = members @ (weights[:, np.newaxis] * X)
    squares = (sums**2).sum(axis=2) / (members @ weights)
    return weights @ (X**2).sum(axis=1) - squares.sum(axis=1)


def normalized_cuts(K, members):
    """Normalised cuts of all clusterings."""
    members = members.astype(float)
    volumes = members @ K.sum(axis=1)
    within = np.einsum("pkn,nm,pkm->pk", members, K, members, optimize=True)
    return (1 - within / volumes).sum(axis=1)


def values_of(counts):
    """What a table of counts, (..., n_clusters, n_groups), reaches of every requirement.

    Each is larger where a clustering is better.
    """
    shares = counts / counts.reshape(-1, *counts.shape[-2:])[0].sum(axis=0)
    sizes = counts.sum(axis=-1)
    return {
        "min_balance": (counts.min(axis=-1) / counts.max(axis=-1)).min(axis=-1),
        "min_share_ratio": (shares.min(axis=-1) / shares.max(axis=-1)).min(axis=-1),
        "min_group_share": (counts / sizes[..., np.newaxis]).min(axis=(-1, -2)),
        "max_group_share": -(counts / sizes[..., np.newaxis]).max(axis=(-1, -2)),
        "min_cluster_size": sizes.min(axis=-1),
        "max_cluster_size": -sizes.max(axis=-1),
    }


def required_values(requirement, sizes):
    """The requirement in the scale of `values_of`, for groups of such sizes."""
    scale = {"min_balance": sizes.min() / sizes.max()}
    scale |= {"max_group_share": -1.0, "max_cluster_size": -1.0}
    return {name: value * scale.get(name, 1.0) for name, value in requirement.items()}


def compare_labels(seed, costs, members, group_weights, requirement, cost, counts, status):
    """The outcome of a clustering with such counts.

    ``group_weights`` are those of samples, (n_samples, n_groups). Rounding may exceed a limit by a
    sample: then the optimum may use as much.
    """
    reached = values_of(counts)
    all_reached = values_of(members @ group_weights)
    required = required_values(requirement, group_weights.sum(axis=0))
    exact, same = np.ones((2, len(members)), dtype=bool)
    for name, value in required.items():
        exact &= all_reached[name] >= value - 1e-9
        same &= all_reached[name] >= min(value, reached[name]) - 1e-9
    chosen = np.random.default_rng(seed).choice(np.flatnonzero(same), N_RANDOM)
    is_exact = all(reached[name] >= value - 1e-9 for name, value in required.items())
    # Rounding of one sample is documented; a miss is more than that.
    meets_limits = is_exact or status not in ("infeasible", "not_found")
    return Outcome(cost, costs[same].min(), costs[chosen].min(), meets_limits, status, exact.any())


def kmeans_case(sizes, n_clusters, spread=0.0, **requirement):
    """Problems of FairKMeans; ``spread`` is the standard deviation of the logarithms of weights."""

    def compare(seed):
        X, groups = draw_groups(seed, sizes)
        weights = np.exp(spread * np.random.default_rng([seed, 1]).normal(size=N_SAMPLES))
        settings = {"min_balance": None, **requirement}
        model = FairKMeans(n_clusters, random_state=seed, **settings)
        model.fit(X, sensitive_features=groups, sample_weight=weights)
        members = all_clusterings(n_clusters)
        costs = kmeans_costs(X, members, weights)
        group_weights = weights[:, np.newaxis] * np.eye(groups.max() + 1)[groups]
        fitted = model.inertia_, model.group_weights_, model.status_
        return [compare_labels(seed, costs, members, group_weights, requirement, *fitted)]

    text = ", ".join(f"{name}={value}" for name, value in requirement.items())
    weights = f", weights of spread {spread}" if spread else ""
    name = f"{text}; {sizes}{weights}, k={n_clusters}"
    return Case("FairKMeans", name, "all clusterings", compare, tuple(requirement))


def front_case(sizes, n_clusters):
    """Points of `cluster_front` at all balances that are possible."""

    def compare(seed):
        X, groups = draw_groups(seed, sizes)
        members = all_clusterings(n_clusters)
        costs = kmeans_costs(X, members) / N_SAMPLES
        balances = values_of(members @ np.eye(groups.max() + 1)[groups])["min_balance"]
        model = FairKMeans(n_clusters, random_state=seed)
        front = cluster_front(model, X, sensitive_features=groups)
        outcomes = []
        for level in np.unique(balances):
            point = front.select(min_balance=min(1.0, level / front.data_balance))
            meets_limits = front.balance[point] >= level - 1e-9
            optimum = costs[balances >= level - 1e-9].min()
            outcomes.append(Outcome(front.cost[point], optimum, np.inf, meets_limits, "feasible"))
        return outcomes

    name = f"all balances; {sizes}, k={n_clusters}"
    return Case("cluster_front(FairKMeans)", name, "all clusterings", compare, ("min_balance",))


def spectral_case(n_clusters, min_balance):
    """Problems of FairSpectralClustering."""

    def compare(seed):
        X, groups = draw_groups(seed, "8/4")
        K = rbf_kernel(X, gamma=0.5)
        model = FairSpectralClustering(
            n_clusters, affinity="precomputed", min_balance=min_balance, random_state=seed
        )
        model.fit(K, sensitive_features=groups)
        members = all_clusterings(n_clusters)
        fitted = model.objective_, model.group_counts_, model.status_
        costs = normalized_cuts(K, members)
        requirement = {"min_balance": min_balance}
        return [compare_labels(seed, costs, members, np.eye(2)[groups], requirement, *fitted)]

    name = f"min_balance={min_balance}; 8/4, k={n_clusters}"
    return Case("FairSpectralClustering", name, "all clusterings", compare, ("min_balance",))


CASES = [
    kmeans_case("6/6", 3, min_balance=0.8),
    kmeans_case("8/4", 3, min_balance=0.5),
    kmeans_case("5/4/3", 2, min_balance=0.5),
    kmeans_case("6/6", 3, min_share_ratio=0.8),
    kmeans_case("5/4/3", 2, max_group_share=0.5),
    kmeans_case("6/6", 3, min_cluster_size=4),
    kmeans_case("6/6", 3, min_balance=0.5, max_cluster_size=6),
    kmeans_case("10/2", 2, min_balance=0.8),
    kmeans_case("8/4", 2, min_group_share=0.3),
    kmeans_case("6/6", 2, 0.5, min_balance=0.8),
    kmeans_case("8/4", 2, 0.5, max_group_share=0.9),
    front_case("6/6", 3),
    front_case("8/4", 3),
    spectral_case(2, 0.8),
    spectral_case(3, 0.8),
    spectral_case(3, 0.5),
]
