"""The same fits with the BLAS kernels of several processor types, which add in different orders.

Each type has a process of its own, in which an environment variable selects the kernels of OpenBLAS
and numpy.
"""

import json
import os
import sys
import warnings

import numpy as np
from threadpoolctl import threadpool_info

from benchmarks.erm_cases import CASES, case
from benchmarks.sizes import smallest
from benchmarks.subprocesses import run_module
from benchmarks.tables import Check, Report
from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.cluster import FairKMeans, fair_embedding
from skfair.datasets import make_fair_blobs

CORE_TYPES = ("Haswell", "SkylakeX", "Zen", "Prescott")
N_PROBLEMS, HAS_DATA = 200, True
"""Random problems, and whether public data is fitted as well."""
CONSTRAINTS = ("demographic_parity", "equal_opportunity", "equalized_odds")


@smallest(CORE_TYPES=("Haswell", "Prescott"), HAS_DATA=False)
def blas_kernels(budget):
    """The same fits with BLAS kernels of four processor types: spread of errors and parameters."""
    n_problems = max(1, int(N_PROBLEMS * budget.fraction))
    fits = {core: fit_on(core, n_problems, HAS_DATA) for core in CORE_TYPES}
    records, checks = [], []
    for what in fits[CORE_TYPES[0]]:
        values = np.array([fits[core][what] for core in CORE_TYPES], dtype=float)
        spread = np.ptp(values.reshape(len(CORE_TYPES), -1), axis=0).max()
        records.append({"what": what, "largest spread": spread})
        bound = 3e-4 if "error" in what else 1e-6
        checks.append(Check(f"spread, {what}", [spread], "<=", bound))
    return Report(f"The same fits on {', '.join(CORE_TYPES)}", records, checks)


def fit_on(core, n_problems, real=False):
    """Results of the fits with the BLAS kernels of one processor type, by name.

    Parameters
    ----------
    core : str
        Name of the processor type in OpenBLAS.
    n_problems : int
        Number of random problems.
    real : bool, default=False
        Whether to fit real data and other estimators as well.
    """
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "OPENBLAS_CORETYPE": core}
    return run_module(__name__, n_problems, int(real), environment=environment)


def random_problem(seed):
    """A problem of 200 to 3,000 samples and two to four groups."""
    rng = np.random.default_rng(seed)
    n_samples, n_features = int(rng.integers(200, 3000)), int(rng.integers(2, 9))
    groups = rng.integers(0, int(rng.choice([2, 2, 3, 4])), n_samples)
    X = rng.normal(size=(n_samples, n_features))
    X[:, 0] += rng.uniform(0.2, 1.0) * groups
    merits = X @ rng.normal(size=n_features) / np.sqrt(n_features) * rng.uniform(0.5, 2.0)
    merits += 0.3 * groups + rng.logistic(size=n_samples)
    y = (merits > rng.uniform(-0.5, 1.0)).astype(int)
    settings = {
        "constraint": CONSTRAINTS[rng.integers(3)],
        "tolerance": float(rng.choice([0.01, 0.02, 0.05])),
    }
    return X, y, groups, settings


def measure(n_problems, real):
    """Results of the fits in this process, by name."""
    warnings.simplefilter("ignore")
    figures = {
        "training error, random problems": [
            _error(*random_problem(seed)) for seed in range(n_problems)
        ]
    }
    if not real:
        return figures
    for name in CASES:
        train = case(name, 0).train
        for constraint in ("demographic_parity", "equalized_odds"):
            settings = {"constraint": constraint, "tolerance": 0.02}
            error = _error(train.X, train.y, train.groups, settings)
            figures[f"training error, {name}, {constraint}"] = error
    X, _, groups = make_fair_blobs(2000, n_features=5, centers=8, random_state=0)
    model = FairKMeans(8, random_state=0).fit(X, sensitive_features=groups)
    figures["labels of k-means"] = model.labels_.tolist()
    figures["centres of k-means"] = model.cluster_centers_.tolist()
    rng = np.random.default_rng(0)
    network = np.triu(rng.random((300, 300)) < 0.05, 1)
    embedding = fair_embedding(
        (network | network.T).astype(float),
        sensitive_features=rng.integers(0, 2, 300),
        n_components=3,
    )
    figures["objective of an embedding"] = float(embedding.objective)
    X, y, groups, _ = random_problem(1)
    partial = PartialParityClassifier(tolerance=0.1).fit(X, y, sensitive_features=groups)
    figures["partial parity"] = np.ravel(partial.coef_).tolist()
    return figures


def _error(X, y, groups, settings):
    model = ConstrainedERMClassifier(**settings).fit(X, y, sensitive_features=groups)
    if model.constraint_violation_ > 0:
        return np.inf
    return 1.0 - model.score(X, y)


def core():
    """Processor type that OpenBLAS has selected; None if it is unknown."""
    names = {info.get("architecture") for info in threadpool_info()} - {None}
    return names.pop() if len(names) == 1 else None


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), sys.argv[2] == "1")))
