"""The same fits on several kinds of processors: the kernels of BLAS and of numpy add differently.

Every kind has a process of its own, in which OpenBLAS and numpy are told which processor they are
to take this one for.
"""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
from threadpoolctl import threadpool_info

from benchmarks import ROOT
from benchmarks.erm_cases import CASES, case
from benchmarks.tables import Check, Report
from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.cluster import FairKMeans, fair_embedding
from skfair.datasets import make_fair_blobs

CORE_TYPES = ("Haswell", "SkylakeX", "Zen", "Prescott")
N_PROBLEMS = 200
CONSTRAINTS = ("demographic_parity", "equal_opportunity", "equalized_odds")


def blas_kernels(budget):
    """What four kinds of processors make of the same problems: training errors, and much else."""
    n_problems = max(1, int(N_PROBLEMS * budget.share))
    fits = {core: fit_on(core, n_problems, real=True) for core in CORE_TYPES}
    records, checks = [], []
    for what in fits[CORE_TYPES[0]]:
        values = np.array([fits[core][what] for core in CORE_TYPES], dtype=float)
        spread = np.ptp(values.reshape(len(CORE_TYPES), -1), axis=0).max()
        records.append({"what": what, "largest spread": spread})
        bound = 3e-4 if "error" in what else 1e-6
        checks.append(Check(f"spread, {what}", [spread], "<=", bound))
    return Report(f"The same fits on {', '.join(CORE_TYPES)}", records, checks)


def fit_on(core, n_problems, real=False):
    """What the fits give on one kind of processor, by name; None where it cannot be had.

    Parameters
    ----------
    core : str
        What OpenBLAS calls it.
    n_problems : int
        Number of random problems.
    real : bool, default=False
        Whether real data and other estimators are fitted too.
    """
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "OPENBLAS_CORETYPE": core}
    module = "benchmarks.robustness.blas_kernels"
    command = [sys.executable, "-m", module, str(n_problems), str(int(real))]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout)


def random_problem(seed):
    """A problem of a few hundred to a few thousand people, two to four groups."""
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
    """The figures of this process, by name."""
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
    """What OpenBLAS takes this processor for; None if that cannot be told."""
    kinds = {info.get("architecture") for info in threadpool_info()} - {None}
    return kinds.pop() if len(kinds) == 1 else None


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), sys.argv[2] == "1")))
