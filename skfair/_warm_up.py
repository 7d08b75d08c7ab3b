"""Fits that compile the kernels of fits with default settings."""

import sys

import numpy as np

from skfair._kernels import announce_compilation, compile_at_first_call, is_stored, kernels_of
from skfair._utils.checks import mute_warnings
from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.cluster import FairKMeans, FairKMedoids, FairSpectralClustering, cluster_front
from skfair.ranking import rerank
from skfair.regression import PartialParityRegressor
from skfair.solvers import SQP


def fit_all(verbose: int) -> None:
    """Fit every estimator that has kernels, on small or large data of two groups."""
    X, y, groups = _draw_data(300)
    with mute_warnings(), announce_compilation(verbose), compile_at_first_call():
        FairKMeans(4, random_state=0).fit(X, sensitive_features=groups)
        FairKMeans(4, random_state=0).fit(X[:80], sensitive_features=X[:80, 0] > 0)  # few samples
        FairKMedoids(4, random_state=0).fit(X[:80], sensitive_features=X[:80, 0] > 0)
        features, target, of_target = _draw_data(8000)  # lines of so many samples have a kernel
        ConstrainedERMClassifier(tolerance=0.05).fit(features, target, sensitive_features=of_target)
        # 4 * 74 of 300 samples: so tight that samples are exchanged between clusters.
        FairKMeans(4, min_cluster_size=74, random_state=0).fit(X, sensitive_features=groups)
        # So many clusters that each sample has a list of candidates, some of which are too short.
        uneven = _draw_data(2000)[0] ** 3
        FairKMeans(60, min_balance=None, max_cluster_size=40, random_state=0).fit(uneven)
        cluster_front(FairKMeans(4, random_state=0), X, sensitive_features=groups, n_levels=3)
        FairSpectralClustering(4, random_state=0).fit(X, sensitive_features=groups)
        # So few nodes that all pairs are compared for an exchange.
        FairSpectralClustering(4, random_state=0).fit(X[:80], sensitive_features=X[:80, 0] > 0)
        ConstrainedERMClassifier(tolerance=0.05).fit(X, y, sensitive_features=groups)
        PartialParityClassifier(tolerance=0.2).fit(X, y, sensitive_features=groups)
        PartialParityRegressor(tolerance=0.2).fit(X, X.sum(axis=1), sensitive_features=groups)
        # Bounds that the order by score does not keep.
        bounds = {0: [1, 1, 2, 2]}
        rerank([1, 2, 3, 4], [0] * 4, sensitive_features=[0, 0, 1, 1], k=4, minimum=bounds)
        # So many samples are in blocks, each of which a kernel evaluates.
        X, y, groups = _draw_data(150_000)
        ConstrainedERMClassifier(tolerance=0.05).fit(X, y, sensitive_features=groups)
        PartialParityClassifier(tolerance=0.2).fit(X, y, sensitive_features=groups)
        # Mostly zeros: stored as a sparse matrix. Decisions are corrected after one iteration.
        ConstrainedERMClassifier(solver=SQP(max_iter=1)).fit(
            X * (X > 1.0), y, sensitive_features=groups
        )


def _draw_data(n_samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, classes and groups at random."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, n_samples)
    X = rng.normal(size=(n_samples, 3))
    X[:, 0] += 1.5 * groups
    y = X.sum(axis=1) + rng.logistic(size=n_samples) > 0.5
    return X, y, groups


def check_stored_kernels() -> list[str]:
    """Folders of the kernels that this process has used; an error unless later ones find them."""
    modules = [
        module for name, module in sys.modules.items() if name.startswith("skfair._kernels.")
    ]
    kernels = [kernel for module in modules for kernel in kernels_of(module)]
    used = [kernel for kernel in kernels if kernel.signatures]
    for kernel in used:
        if not is_stored(kernel):  # a full disk and a read-only folder leave no file
            raise OSError(
                "Compiled kernels must be written to a folder, but they cannot be written to "
                f"{kernel.stats.cache_path}; set NUMBA_CACHE_DIR to a folder with space."
            )
    return sorted({kernel.stats.cache_path for kernel in used})
