"""What more starts of fair k-means gain, and what they cost."""

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.kmeans_cases import problem
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import run_alternately
from skfair.cluster import FairKMeans
from skfair.datasets import make_fair_blobs

N_DATA_SETS = 60
N_FITS = 10  # separate fits with which one fit of as many starts is compared
N_SAMPLES = (150, 300, 600, 1000)
REAL = ("Adult_K10", "Bank_K10")
LIMITS = {
    "none": lambda size: {"min_balance": None},
    "min_balance=0.8": lambda size: {},
    "sizes": lambda size: {
        "min_balance": None,
        "min_cluster_size": int(0.8 * size),
        "max_cluster_size": int(np.ceil(1.2 * size)),
    },
}
"""Parameters of fits, from the mean size of a cluster."""


@smallest(N_FITS=2, N_SAMPLES=(150,))
def starts(budget):
    """Cost and time of 10 starts against 1, and against ten separate fits of 1."""
    data = [
        _draw(number) for number in range(max(3, round(N_DATA_SETS * min(1, 2 * budget.fraction))))
    ]
    records, checks = [], []
    for name, limits in LIMITS.items():
        rows = [_compare(X, groups, k, limits(len(X) / k)) for X, groups, k in data]
        one, many, separate, *seconds = np.array(rows).T
        record = {
            "limits": name,
            "data sets": len(data),
            "cost of 10 starts / 1, worst": (many / one).max(),
            "gain of 10 starts, %": 100 * np.mean(1 - many / one),
            "gain of ten fits, %": 100 * np.mean(1 - separate / one),
        }
        contenders = ("1 start", "10 starts", "KMeans(n_init=10)")
        sums = zip(contenders, np.sum(seconds, axis=1), strict=True)
        records.append(record | {f"{contender}, CPU s": total for contender, total in sums})
        share = record["gain of 10 starts, %"] / record["gain of ten fits, %"]
        worst = record["cost of 10 starts / 1, worst"]
        checks += [
            Check(f"cost of 10 starts / 1, {name}", [worst], "<=", 1.0),
            Check(f"gain of 10 starts / that of ten fits, {name}", [share], ">=", 0.5),
        ]
    return Report("Starts of FairKMeans, small data", records, checks)


def _draw(number):
    """Rows, groups and a number of clusters: blobs, columns without clusters, and real data."""
    rng = np.random.default_rng(number)
    n_samples = int(rng.choice(N_SAMPLES))
    n_clusters = int(rng.integers(3, 11))
    if number % 3 == 0:
        X, _, groups = make_fair_blobs(
            n_samples,
            centers=n_clusters + int(rng.integers(5)),
            n_features=int(rng.integers(2, 6)),
            group_separation=0.5,
            cluster_std=1.5,
            random_state=number,
        )
    elif number % 3 == 1:
        groups = rng.integers(2 + number % 2, size=n_samples)
        X = rng.normal(size=(n_samples, int(rng.integers(2, 8))))
        X[:, 0] += groups
    else:
        case = problem(REAL[number % 2])
        drawn = rng.choice(len(case.X), n_samples, replace=False)
        X = case.X[drawn]
        groups = case.codes[drawn]
    return X, groups, n_clusters


def _compare(X, groups, n_clusters, limits):
    """Costs of one start, ten starts and the best of ten fits; seconds of these and of a peer."""

    def fit(n_init, seed):
        model = FairKMeans(n_clusters, n_init=n_init, random_state=seed, **limits)
        return model.fit(X, sensitive_features=groups)

    contenders = {
        "one": lambda seed: fit(1, seed),
        "many": lambda seed: fit(10, seed),
        "peer": lambda seed: KMeans(n_clusters, n_init=10, random_state=seed).fit(X),
    }
    runs = {name: timed for name, (timed,) in run_alternately(contenders, 1).items()}
    one, many = (runs[name].result.inertia_ for name in ("one", "many"))
    separate = min([one, *(fit(1, seed).inertia_ for seed in range(1, N_FITS))])
    return one, many, separate, *(runs[name].seconds for name in contenders)
