"""Reference fits: ``python -m tests.reference --record FILE`` and ``--check FILE``.

A change of names, prose or layout must leave every fit as it was, bit for bit on one machine. A
change of numerics must keep each status and violation, and the objective within 1e-6 relative
(smaller is better). ``--only TEXT`` runs the fits whose names contain the text.
"""

import pickle
import tempfile
import warnings
from argparse import ArgumentParser
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
    PartialParityClassifier,
    PartialParityPostprocessor,
)
from skfair.cluster import (
    AlternatingSwaps,
    FairKMeans,
    FairKMedoids,
    FairSpectralClustering,
    cluster_front,
)
from skfair.constraints import LossParity
from skfair.datasets import make_fair_sbm, make_ranking, open_blocks
from skfair.ranking import ConstrainedRanker
from skfair.regression import ConstrainedERMRegressor, PartialParityRegressor
from skfair.solvers import SOLVERS

SMALL, LARGE = 2000, 200_000
PREDICTED = ("decision_function", "predict")
STORED = (
    "coef_",
    "rule_coef_",
    "intercept_",
    "group_coef_",
    "group_intercept_",
    "labels_",
    "cluster_centers_",
    "objective_",
    "inertia_",
    "balance_",
    "constraint_violation_",
    "violation_",
    "status_",
    "n_iter_",
)
"""Attributes that are compared, where an estimator has them."""

LINEAR = (
    "demographic_parity",
    "equal_opportunity",
    "false_positive_rate_parity",
    "equalized_odds",
    "error_rate_parity",
    "mean_parity",
    "loss_parity",
    "equal_opportunity_loss",
    "equalized_odds_loss",
    "partial_statistical_parity",
    "partial_equal_opportunity",
    "partial_group_auc",
)
"""Constraints of which a linear classifier is fitted to the small data."""

SOLVER_NAMES = (
    "sqp-lbfgs",
    "augmented-lagrangian",
    "plada",
    "gda",
    "switching-subgradient",
    "adam-pd",
)


def draw(n_samples, n_groups=2, random_state=0):
    """Features, classes, real targets and groups, of which the features know."""
    rng = np.random.default_rng(random_state)
    groups = rng.choice(n_groups, size=n_samples, p=np.arange(1, n_groups + 1) / TRIANGLE[n_groups])
    X = rng.normal(size=(n_samples, 5)) + np.outer(groups, [0.8, 0.4, 0.0, -0.4, 0.2])
    target = X @ [1.0, 0.5, -0.5, 0.25, 0.0] + rng.logistic(size=n_samples)
    return X, (target > 0.5).astype(int), target, groups


TRIANGLE = {k: k * (k + 1) / 2 for k in range(1, 10)}


def fit_classifier(estimator, n_samples=SMALL, **settings):
    """Fit to the drawn data, with its classes."""
    X, y, _, groups = draw(n_samples, **settings)
    return describe(estimator.fit(X, y, sensitive_features=groups), X[:500])


def fit_postprocessor(estimator):
    """Fit to the drawn data; the scores depend on the groups."""
    X, y, _, groups = draw(SMALL)
    estimator.fit(X, y, sensitive_features=groups)
    return describe(estimator) | {
        "scores": estimator.decision_function(X, sensitive_features=groups)
    }


def fit_weighted(estimator):
    """Fit to the drawn data with weights, some of them zero."""
    X, y, _, groups = draw(SMALL)
    weights = np.random.default_rng(1).integers(4, size=SMALL) / 2.0
    fitted = estimator.fit(X, y, sensitive_features=groups, sample_weight=weights)
    return describe(fitted, X[:500])


def fit_regressor(estimator):
    """Fit to the drawn data, with its real targets."""
    X, _, target, groups = draw(SMALL)
    return describe(estimator.fit(X, target, sensitive_features=groups), X[:500])


def fit_ranker(estimator):
    """Fit to drawn queries."""
    X, y, query, groups = make_ranking(40, n_documents=15, random_state=0)
    return describe(estimator.fit(X, y, query_id=query, sensitive_features=groups), X[:500])


def fit_clusters(estimator, n_samples=SMALL, n_groups=2):
    """Fit to the drawn features."""
    X, _, _, groups = draw(n_samples, n_groups)
    return describe(estimator.fit(X, sensitive_features=groups), X[:500])


def fit_households(estimator, n_samples=SMALL):
    """Fit to the drawn features, of which up to four in a row stay together."""
    X, _, _, groups = draw(n_samples)
    ids = np.random.default_rng(1).integers(2, size=n_samples).cumsum()
    return describe(estimator.fit(X, sensitive_features=groups, together=ids), X[:500])


def fit_graph(estimator):
    """Fit to a drawn graph."""
    network, _, groups = make_fair_sbm(
        SMALL // 2, n_clusters=4, n_groups=2, average_degree=20, random_state=0
    )
    return describe(estimator.fit(network, sensitive_features=groups))


def trace_front(estimator):
    """Costs, balances and ratios of shares of a front."""
    X, _, _, groups = draw(SMALL // 2)
    results = cluster_front(estimator, X, sensitive_features=groups)
    return {name: values.to_numpy() for name, values in results.to_frame().items()}


def fit_files(estimator, is_clustering=False):
    """Fit to a table in a file."""
    X, y, _, groups = draw(LARGE)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.npy"
        np.save(path, np.column_stack((X, y, groups)))
        table = open_blocks(path)
        target = () if is_clustering else (table[5],)
        estimator.fit(table[list(range(5))], *target, sensitive_features=table[6])
    return describe(estimator, X[:500])


def fit_dask(estimator, is_clustering=False):
    """Fit to Dask arrays of four chunks."""
    import dask.array as da

    X, y, _, groups = draw(LARGE)
    chunks = [da.from_array(column, chunks=(LARGE // 4, *column.shape[1:])) for column in (X, y)]
    target = () if is_clustering else (chunks[1],)
    codes = da.from_array(groups, chunks=LARGE // 4)
    with dask_client():
        estimator.fit(chunks[0], *target, sensitive_features=codes)
        for name in STORED:  # labels are lazy
            if hasattr(value := getattr(estimator, name, None), "compute"):
                setattr(estimator, name, value.compute())
    return describe(estimator, X[:500])


@contextmanager
def dask_client():
    """Client of a cluster of two threads in this process."""
    from distributed import Client

    with Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as client:
        yield client


def describe(estimator, X=None):
    """Stored results of a fit, and its predictions."""
    results = {name: getattr(estimator, name) for name in STORED if hasattr(estimator, name)}
    for method in PREDICTED if X is not None else ():
        if hasattr(estimator, method):
            results[method] = getattr(estimator, method)(X)
    return {name: _as_array(value) for name, value in results.items()}


def _as_array(value):
    return np.asarray(value) if not isinstance(value, list) else np.array(value, dtype=object)


def _forest():
    return RandomForestClassifier(30, min_samples_leaf=5, random_state=0)


ERM, MLP = ConstrainedERMClassifier, ConstrainedMLPClassifier

FITS = (
    {f"linear, {name}": partial(fit_classifier, ERM(name, tolerance=0.05)) for name in LINEAR}
    | {
        f"linear, {name}": partial(
            fit_classifier, ERM(solver=SOLVERS[name](max_iter=50), random_state=0)
        )
        for name in SOLVER_NAMES
    }
    | {
        "linear, plain": partial(fit_classifier, ERM(None)),
        "linear, four groups": partial(fit_classifier, ERM(tolerance=0.05), n_groups=4),
        "linear, two constraints": partial(
            fit_classifier, ERM(["demographic_parity", LossParity(tolerance=0.1)], tolerance=0.05)
        ),
        "linear, weights": partial(fit_weighted, ERM(tolerance=0.05)),
        "linear, confidence_level": partial(
            fit_classifier, ERM(tolerance=0.1, confidence_level=0.95)
        ),
        "linear, enforcement=None": partial(fit_classifier, ERM(enforcement=None)),
        "linear, large": partial(fit_classifier, ERM(), n_samples=LARGE),
        "linear, large, two threads": partial(fit_classifier, ERM(n_jobs=2), n_samples=LARGE),
        "linear, large, equalized_odds": partial(
            fit_classifier, ERM("equalized_odds"), n_samples=LARGE
        ),
        "linear, files": partial(fit_files, ERM()),
        "linear, files, equalized_odds": partial(fit_files, ERM("equalized_odds")),
        "linear, Dask": partial(fit_dask, ERM()),
        "partial parity": partial(fit_classifier, PartialParityClassifier(interval=(0.2, 0.5))),
        "partial parity, four groups": partial(
            fit_classifier, PartialParityClassifier(interval=(0.2, 0.5)), n_groups=4
        ),
        "partial parity, large": partial(
            fit_classifier, PartialParityClassifier(interval=(0.2, 0.5)), n_samples=LARGE
        ),
        "partial parity, real target": partial(
            fit_regressor, PartialParityRegressor(interval=(0.2, 0.5))
        ),
        "postprocessor": partial(
            fit_postprocessor,
            PartialParityPostprocessor(LogisticRegression(), interval=(0.2, 0.5)),
        ),
        "regression, mean_parity": partial(fit_regressor, ConstrainedERMRegressor("mean_parity")),
        "regression, loss_parity": partial(fit_regressor, ConstrainedERMRegressor("loss_parity")),
        "ranking": partial(fit_ranker, ConstrainedRanker(tolerance=0.05)),
        "network": partial(fit_classifier, MLP(tolerance=0.05, random_state=0)),
        "any model, logistic": partial(
            fit_classifier, ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05)
        ),
        "any model, boosting": partial(
            fit_classifier,
            ConstrainedClassifierCV(
                HistGradientBoostingClassifier(max_iter=30, random_state=0), "equalized_odds"
            ),
        ),
        "any model, forest": partial(
            fit_classifier, ConstrainedClassifierCV(_forest(), tolerance=0.05, cv="oob")
        ),
        "k-means": partial(fit_clusters, FairKMeans(5, random_state=0)),
        "k-means, four groups": partial(fit_clusters, FairKMeans(5, random_state=0), n_groups=4),
        "k-means, share ratios": partial(
            fit_clusters, FairKMeans(5, min_share_ratio=0.8, random_state=0)
        ),
        "k-means, sizes": partial(
            fit_clusters, FairKMeans(5, min_cluster_size=300, max_cluster_size=500, random_state=0)
        ),
        "k-means, alternating": partial(
            fit_clusters, FairKMeans(5, algorithm=AlternatingSwaps(), random_state=0)
        ),
        "k-means, large": partial(
            fit_clusters, FairKMeans(10, random_state=0), n_samples=LARGE, n_groups=3
        ),
        "k-means, large, two threads": partial(
            fit_clusters, FairKMeans(10, n_jobs=2, random_state=0), n_samples=LARGE
        ),
        "k-means, files": partial(fit_files, FairKMeans(10, random_state=0), is_clustering=True),
        "k-means, Dask": partial(fit_dask, FairKMeans(10, random_state=0), is_clustering=True),
        "k-means, front": partial(trace_front, FairKMeans(4, random_state=0)),
        "k-means, households": partial(
            fit_households, FairKMeans(5, max_cluster_size=500, random_state=0)
        ),
        "k-medoids": partial(fit_clusters, FairKMedoids(5, random_state=0), n_samples=SMALL // 4),
        "k-medoids, sizes": partial(
            fit_clusters,
            FairKMedoids(5, min_cluster_size=80, max_cluster_size=120, random_state=0),
            n_samples=SMALL // 4,
        ),
        "k-medoids, households": partial(
            fit_households, FairKMedoids(5, random_state=0), n_samples=SMALL // 4
        ),
        "spectral, sizes": partial(
            fit_clusters,
            FairSpectralClustering(4, min_cluster_size=100, max_cluster_size=150, random_state=0),
            n_samples=SMALL // 4,
        ),
        "spectral, graph": partial(
            fit_graph, FairSpectralClustering(4, affinity="precomputed", random_state=0)
        ),
        "spectral, kernel": partial(
            fit_clusters, FairSpectralClustering(4, random_state=0), n_samples=SMALL // 2
        ),
        "spectral, dca-admm": partial(
            fit_graph,
            FairSpectralClustering(
                4, affinity="precomputed", eigen_solver="dca-admm", random_state=0
            ),
        ),
        "spectral, front": partial(trace_front, FairSpectralClustering(4, random_state=0)),
    }
)
"""The reference fits by name."""


def run(only):
    """Results of the fits whose names contain a text."""
    results = {}
    for name, fit in FITS.items():
        if only not in name:
            continue
        begin = perf_counter()
        # The last digits depend on the number of BLAS threads.
        with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
            warnings.simplefilter("ignore")
            results[name] = fit()
        print(f"{name:40} {perf_counter() - begin:6.1f} s", flush=True)
    return results


def compare(before, after):
    """How two results of one fit differ: a text for each difference that is not allowed."""
    if set(before) != set(after):
        return [f"attributes {sorted(set(before) ^ set(after))}"]
    return [
        f"{name}: {_summary(before[name])} -> {_summary(after[name])}"
        for name in before
        if before[name].shape != after[name].shape
        or not np.array_equal(before[name], after[name], equal_nan=before[name].dtype.kind == "f")
    ]


def _summary(values):
    if values.ndim == 0:
        return repr(values.item())
    return f"{values.dtype}{list(values.shape)} {values.ravel()[:2].tolist()}..."


def is_tolerated(before, after):
    """Whether a redesign may differ so: equal status, gaps as small, an objective as good."""
    same = all(
        np.array_equal(before.get(name), after.get(name))
        for name in ("status_",)
        if name in before or name in after
    )
    for name in ("constraint_violation_", "violation_", "objective_", "inertia_"):
        if name in before and name in after:
            old, new = float(before[name]), float(after[name])
            same &= np.isnan(old) or new <= old + 1e-6 * max(abs(old), 1e-3)
    return bool(same)


def main():
    """Record the fits, or compare them with a record."""
    parser = ArgumentParser(prog="python -m tests.reference", description=__doc__)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--record", type=Path, metavar="FILE", help="write the results")
    mode.add_argument("--check", type=Path, metavar="FILE", help="compare with a record")
    parser.add_argument("--only", default="", metavar="TEXT", help="fits whose names contain it")
    options = parser.parse_args()
    results = run(options.only)
    if options.record:
        options.record.write_bytes(pickle.dumps(results))
        return 0
    recorded = pickle.loads(options.check.read_bytes())
    failed = 0
    for name in results:
        differences = compare(recorded.get(name, {}), results[name])
        tolerated = bool(differences) and is_tolerated(recorded.get(name, {}), results[name])
        failed += bool(differences) and not tolerated
        for line in differences:
            print(f"{'tolerated' if tolerated else 'DIFFERS'}: {name}: {line}")
    print(f"{len(results)} fits, {failed} of which differ by more than is tolerated")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
