"""Territories by travel times: FasterPAM, a linear program of the assignment, and both at once."""

from itertools import product

import numpy as np
from scipy import optimize, sparse

from benchmarks.datasets.towns import make_towns
from benchmarks.packages import is_installed, name_versions
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import time_call
from skfair.cluster import FairKMedoids

SIZES = (500, 2000)
N_CLUSTERS = 10
SEEDS = (0, 1, 2)
N_STARTS = 3  # of FasterPAM
BOUNDS = ("none", "sizes", "balance", "sizes and balance")
MARGIN = 0.1  # of sizes about the mean
BALANCE = 0.8
LARGEST_RATIO = 1.002  # of costs


@smallest(SIZES=(60,), N_CLUSTERS=3, SEEDS=(0,))
def territories(budget):
    """Territories of residents by minutes on generated roads, without and with bounds.

    The peer chooses sites by FasterPAM (best of three starts), without bounds, and assigns
    residents to them by a linear program with the bounds (HiGHS), whose value no integer assignment
    to these sites undercuts. Without kmedoids the sites are those of a fit without bounds.
    """
    for bounds in BOUNDS:
        _fit(*make_towns(SIZES[0], SEEDS[0]), bounds)  # compiles kernels
    records = []
    for n_samples, seed in product(SIZES, SEEDS[: budget.n_runs]):
        minutes, groups = make_towns(n_samples, seed)
        pam = time_call(_choose_sites, minutes)
        for bounds in BOUNDS:
            fit = time_call(_fit, minutes, groups, bounds)
            program = time_call(_solve_program, minutes[:, pam.result], groups, bounds)
            records.append(
                {
                    "residents": n_samples,
                    "seed": seed,
                    "bounds": bounds,
                    "peer, CPU s": pam.seconds + program.seconds,
                    "skfair, CPU s": fit.seconds,
                    "cost / peer": fit.result.inertia_ / program.result,
                    "missed": fit.result.constraint_violation_,
                }
            )
    checks = [
        Check("cost / peer", [row["cost / peer"] for row in records], "<=", LARGEST_RATIO),
        Check("missed bounds", [np.nan_to_num(row["missed"]) for row in records], "<=", 0.0),
    ]
    peers = name_versions("kmedoids") if is_installed("kmedoids") else ""
    return Report(f"Territories by travel times{peers}", records, checks)


def _choose_sites(minutes):
    """Positions of the sites of FasterPAM, or of FairKMedoids without bounds."""
    if not is_installed("kmedoids"):
        return _fit(minutes, None, "none").medoid_indices_
    import kmedoids

    runs = [
        kmedoids.fasterpam(minutes, N_CLUSTERS, random_state=seed, init="random", n_cpu=1)
        for seed in range(N_STARTS)
    ]
    sites = [np.asarray(run.medoids) for run in runs]
    return min(sites, key=lambda one: minutes[:, one].min(axis=1).sum())


def _bound_sizes(n_samples):
    """Smallest and largest size of a territory."""
    mean = n_samples / N_CLUSTERS
    return int(np.ceil((1 - MARGIN) * mean)), int(np.floor((1 + MARGIN) * mean))


def _fit(minutes, groups, bounds):
    """FairKMedoids with the bounds."""
    model = FairKMedoids(N_CLUSTERS, metric="precomputed", min_balance=None, random_state=0)
    if "sizes" in bounds:
        low, high = _bound_sizes(len(minutes))
        model.set_params(min_cluster_size=low, max_cluster_size=high)
    if "balance" in bounds:
        model.set_params(min_balance=BALANCE)
    return model.fit(minutes, sensitive_features=groups)


def _solve_program(costs, groups, bounds):
    """The minimum of the linear program of the assignment to given sites."""
    if bounds == "none":
        return costs.min(axis=1).sum()
    n_samples, n_sites = costs.shape
    sites = sparse.eye_array(n_sites)
    rows, limits = [], []
    if "sizes" in bounds:
        size = sparse.kron(np.ones((1, n_samples)), sites)
        low, high = _bound_sizes(n_samples)
        rows += [size, -size]
        limits += [high, -low]
    if "balance" in bounds:
        counts = np.bincount(groups)
        level = BALANCE * counts.min() / counts.max()
        first, second = (sparse.kron((groups == g)[np.newaxis] * 1.0, sites) for g in (0, 1))
        rows += [level * first - second, level * second - first]
        limits += [0.0, 0.0]
    solved = optimize.linprog(
        costs.ravel(),
        A_ub=sparse.vstack(rows),
        b_ub=np.repeat(limits, n_sites),
        A_eq=sparse.kron(sparse.eye_array(n_samples), np.ones((1, n_sites))),
        b_eq=np.ones(n_samples),
    )
    return solved.fun
