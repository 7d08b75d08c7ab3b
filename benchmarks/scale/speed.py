"""Time of fits and fronts against plain k-means on the same rows."""

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.kmeans_cases import REAL, Problem, problem
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import median_seconds, run_alternately, time_call
from skfair.cluster import AlternatingFront, FairKMeans, cluster_front
from skfair.cluster.literature._alternating import alternating_front

N_CHILDREN = 1000
N_SAMPLES = 1000, 20_000, 300_000  # of fits to columns without clusters


@smallest(REAL=REAL[1:2])
def front_time(budget):
    """Time of a complete front against scikit-learn's KMeans(n_init=10)."""
    records, checks = [], []
    adult = Problem("Adult_K6", *problem("Adult_K5", 800)[1:3], 6)
    small = [draw_small_case(300), draw_small_case(1000), adult]
    real = [(problem(name, n_rows), 4.0) for n_rows in (5000, None) for name in REAL]
    for case, most in [*((case, 20.0) for case in small), *real]:
        runs = run_alternately({"front": _front(case), "k-means": _kmeans(case, 10)}, budget.n_runs)
        record = {
            "problem": case.name,
            "rows": len(case.X),
            "points": len(runs["front"][0].result),
            "front CPU s": median_seconds(runs["front"]),
            "k-means CPU s": median_seconds(runs["k-means"]),
        }
        record["ratio"] = record["front CPU s"] / record["k-means CPU s"]
        records.append(record)
        what = f"front / k-means, {case.name}, {len(case.X)} rows"
        checks.append(Check(what, [record["ratio"]], "<=", most))
    return Report("A front against KMeans(n_init=10)", records, checks)


def draw_small_case(n_rows):
    """Five normal columns and two groups, which are shifted against each other in all of them."""
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=n_rows)
    X = rng.normal(size=(n_rows, 5)) + groups[:, np.newaxis]
    return Problem("normal_K5", X, groups, 5)


@smallest()
def fit_time(budget):
    """Time of one fit with its defaults against scikit-learn's KMeans(n_init=10) and KMeans()."""
    records, checks = [], []
    for n_rows in (5000, None):
        for name in REAL:
            case = problem(name, n_rows)
            contenders = {
                "FairKMeans()": _fair_kmeans(case),
                "KMeans(n_init=10)": _kmeans(case, 10),
                "KMeans()": _kmeans(case, "auto"),
            }
            runs = run_alternately(contenders, budget.n_runs)
            seconds = {method: median_seconds(runs[method]) for method in contenders}
            for method in contenders:
                objectives = [case.objectives(run.result.labels_) for run in runs[method]]
                cost, balance = np.median(objectives, axis=0)
                records.append(
                    {
                        "problem": name,
                        "rows": len(case.X),
                        "method": method,
                        "CPU s": seconds[method],
                        "FairKMeans() / this": seconds["FairKMeans()"] / seconds[method],
                        "cost": cost,
                        "relative balance": balance / case.balance,
                    }
                )
            ratio = seconds["FairKMeans()"] / seconds["KMeans(n_init=10)"]
            what = f"fit / k-means, {name}, {len(case.X)} rows"
            checks.append(Check(what, [ratio], "<=", 2.0))
    return Report("FairKMeans with its defaults (min_balance=.8)", records, checks)


@smallest(N_SAMPLES=(300,))
def fit_sizes(budget):
    """Time of one fit against scikit-learn's KMeans(), by numbers of samples and of clusters."""
    records = []
    for n_samples in N_SAMPLES:
        X, groups = draw_columns(n_samples, 1.5)
        for n_clusters in (5, 10, 20):
            contenders = {
                "fair": lambda seed, k=n_clusters, X=X, groups=groups: FairKMeans(
                    k, random_state=seed
                ).fit(X, sensitive_features=groups),
                "plain": lambda seed, k=n_clusters, X=X: KMeans(k, random_state=seed).fit(X),
            }
            runs = run_alternately(contenders, budget.n_runs)
            fair, plain = (median_seconds(runs[name]) for name in contenders)
            record = {"rows": n_samples, "clusters": n_clusters, "FairKMeans() CPU s": fair}
            records.append(record | {"KMeans() CPU s": plain, "ratio": fair / plain})
    check = Check("fit / KMeans()", [record["ratio"] for record in records], "<=", 3.0)
    return Report("FairKMeans() on ten columns without clusters", records, [check])


@smallest()
def fit_large(budget):
    """Time of one fit of 5e6 samples in ten columns without clusters."""
    n_samples = round(5e6 * budget.fraction)
    records = [
        _fit_large("equal groups", n_samples, 0.0),
        _fit_large("separated groups", n_samples, 1.5),
    ]
    checks = [
        Check(
            f"CPU seconds, {n_samples:,} rows", [record["CPU s"] for record in records], "<=", 25.5
        ),
        Check("relative balance", [record["relative balance"] for record in records], ">=", 0.8),
    ]
    return Report("FairKMeans on columns without clusters", records, checks)


def _fit_large(case, n_samples, shift):
    """Time a fit to `draw_columns`."""
    X, groups = draw_columns(n_samples, shift)

    def fit(n_rows):
        return FairKMeans(random_state=0).fit(X[:n_rows], sensitive_features=groups[:n_rows])

    fit(2000)  # compiles
    run = time_call(fit, n_samples)
    return {
        "case": case,
        "rows": n_samples,
        "CPU s": run.seconds,
        "status": run.result.status_,
        "cost": run.result.objective_,
        "relative balance": run.result.relative_balance_,
    }


def draw_columns(n_rows, shift):
    """Normal columns and two groups; the second group is shifted in the first column."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, 10))
    X[:, 0] += shift * groups
    return X, groups


@smallest(N_CHILDREN=1)
def children(budget):
    """Time per child of the alternating front algorithm (Algorithm 3)."""
    case = problem("Adult_K10")
    settings = AlternatingFront.from_paper(case.name)

    def front(n_iter, seed):
        algorithm = AlternatingFront(**settings.get_params()).set_params(n_iter=n_iter)
        weights = np.ones(len(case.X))
        return alternating_front(case.X, case.codes, weights, case.n_clusters, algorithm, seed)

    # Iteration t makes one child per pair of every member of the list after iteration t - 1.
    n_iter, n_children = 0, 0
    while n_children < N_CHILDREN:
        _, costs, _ = front(n_iter, 0)
        n_children += len(settings.update_counts) * len(costs)
        n_iter += 1
    contenders = {"start": lambda _: front(0, 0), "run": lambda _: front(n_iter, 0)}
    runs = run_alternately(contenders, 5 * budget.n_runs)
    seconds = median_seconds(runs["run"]) - median_seconds(runs["start"])
    record = {
        "iterations": n_iter,
        "children": n_children,
        "CPU s": seconds,
        "microseconds per child": 1e6 * seconds / n_children,
    }
    what = f"microseconds per child, {case.name}"
    check = Check(what, [record["microseconds per child"]], "<=", 5.0)
    return Report(f"Algorithm 3, pairs {settings.update_counts}, 5,000 rows", [record], [check])


def _front(case):
    return lambda seed: cluster_front(
        FairKMeans(case.n_clusters, random_state=seed), case.X, sensitive_features=case.codes
    )


def _fair_kmeans(case):
    return lambda seed: FairKMeans(case.n_clusters, random_state=seed).fit(
        case.X, sensitive_features=case.codes
    )


def _kmeans(case, n_init):
    return lambda seed: KMeans(case.n_clusters, n_init=n_init, random_state=seed).fit(case.X)
