"""Time of one step: our stochastic solvers against published ones, numpy against PyTorch."""

from itertools import islice

import numpy as np
from sklearn.utils import check_random_state

from benchmarks.packages import is_installed
from benchmarks.papers.stochastic_methods.acs_income_problem import (
    DELTA,
    network_problem,
    split,
    torch_start,
)
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import median_seconds, run_alternately
from skfair._problems.mlp import MLPModel
from skfair.solvers import SSLALM, StochasticGhost, StochasticSwitching

SOLVERS = {  # solver, timed steps of ours, timed steps of the published one
    "ssl-alm": (SSLALM.from_paper(), 500, 200),
    "switching subgradient": (StochasticSwitching.from_paper(), 500, 200),
    "ghost": (StochasticGhost(), 200, 10),
}
SPEED_UPS = {8: 4.0, 32: 3.0, 128: 2.0, 1024: 1.2}
"""Minimum speed-up of a numpy step over PyTorch, by batch size."""
N_COLUMNS = 103
N_STEPS = 300  # of the network, in numpy and in PyTorch


@smallest(
    N_STEPS=2,
    SPEED_UPS={8: 4.0},
    SOLVERS={name: (solver, 2, 2) for name, (solver, *_) in SOLVERS.items()},
)
def step_time(budget):
    """CPU time of one step of a solver and of a network against humancompatible-train and PyTorch.

    The package is that of the published benchmark of stochastic methods
    (``humancompatible-train==0.1.8.5``, which needs qpsolvers, osqp and fairret). Its solvers run
    with its settings: batches of 8, drawn by its own loaders, and a copy of the network after every
    step.
    """
    if not is_installed("torch"):
        return Report("Steps in numpy and PyTorch", [], [])
    import torch

    torch.set_num_threads(1)
    n_runs = max(3, budget.n_runs)
    records = [_numpy_and_torch(size, n_runs, N_STEPS) for size in SPEED_UPS]
    checks = [
        Check(f"PyTorch / numpy, batch of {size}", [record["ratio"]], ">=", speed_up)
        for (size, speed_up), record in zip(SPEED_UPS.items(), records, strict=True)
    ]
    if is_installed("humancompatible"):
        peers = [_solver_and_peer(name, n_runs) for name in SOLVERS]
        records += peers
        checks += [
            Check(f"published / ours, {record['step']}", [record["ratio"]], ">=", 8.0)
            for record in peers
        ]
    return Report("CPU ms per step, one thread, alternating", records, checks)


def _compare(step, ours, theirs, n_runs):
    """Time two functions of a seed, each with its number of steps."""
    contenders = {"ours": ours[0], "theirs": theirs[0]}
    runs = run_alternately(contenders, n_runs)
    our_ms, their_ms = (
        1e3 * median_seconds(runs[name]) / n
        for name, n in (("ours", ours[1]), ("theirs", theirs[1]))
    )
    return {"step": step, "ours ms": our_ms, "theirs ms": their_ms, "ratio": their_ms / our_ms}


def _numpy_and_torch(batch_size, n_runs, n_steps):
    """Gradient steps of the logistic loss on a network, 103-64-32-1, float32."""
    import torch

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, N_COLUMNS)).astype(np.float32)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    model = MLPModel(X)

    def ours(seed):
        draw = check_random_state(seed)
        x = model.initial(seed).astype(np.float32)
        for _ in range(n_steps):
            rows = draw.randint(len(y), size=batch_size)
            point = model.take(rows).evaluate(x)
            target = y[rows]
            slopes = -target / (1.0 + np.exp(target * point.scores)) / batch_size
            x = x - 0.01 * point.pull_back(slopes).astype(np.float32)

    features = torch.as_tensor(X)
    labels = torch.as_tensor(y > 0, dtype=torch.float32)

    def theirs(seed):
        module = network()
        sgd = torch.optim.SGD(module.parameters(), lr=0.01)
        loss = torch.nn.BCEWithLogitsLoss()
        for _ in range(n_steps):
            rows = torch.randint(len(labels), (batch_size,))
            sgd.zero_grad()
            loss(module(features[rows])[:, 0], labels[rows]).backward()
            sgd.step()

    name = f"gradient, batch of {batch_size}, numpy and PyTorch"
    return _compare(name, (ours, n_steps), (theirs, n_steps), n_runs)


def network(n_columns=N_COLUMNS):
    """A perceptron with 64 and 32 hidden units in PyTorch."""
    from torch import nn

    layers = nn.Linear(n_columns, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1)
    return nn.Sequential(*layers)


def _solver_and_peer(name, n_runs):
    """Steps of one of `SOLVERS` on the problem of the paper."""
    solver, n_ours, n_theirs = SOLVERS[name]
    problem = network_problem(split(0)[0])

    def ours(seed):
        draw = check_random_state(seed)
        steps = solver._steps(problem, torch_start(problem.model, draw), draw)
        for _ in islice(steps, n_ours):
            pass

    def theirs(seed):
        _run_published(name, seed, n_theirs)

    return _compare(f"{name}, numpy and published", (ours, n_ours), (theirs, n_theirs), n_runs)


def _run_published(name, seed, n_steps):
    """Run steps of a solver of the package."""
    import torch
    from humancompatible.train.benchmark import algorithms

    train = split(0)[0]
    data = torch.utils.data.TensorDataset(
        torch.as_tensor(train.X, dtype=torch.float32),
        torch.as_tensor(train.y, dtype=torch.float32),
    )
    loss = torch.nn.BCEWithLogitsLoss()
    module = network(train.X.shape[1])
    parts = data, loss, _loss_gaps(data, loss, train.groups, seed)
    shared = {"seed": seed, "verbose": False, "max_iter": n_steps, "max_runtime": 1e9}
    if name == "ghost":
        algorithms.StochasticGhost(module, *parts).optimize(alpha=0.4, **shared)
    elif name == "ssl-alm":
        algorithms.SSLALM(module, *parts).optimize(batch_size=8, **shared)
    else:
        steps = {"f_stepsize_rule": "const", "f_stepsize": 0.5, "ctol_rule": "const", "ctol": 1e-4}
        steps |= {"c_stepsize_rule": "const", "c_stepsize": 0.05, "batch_size": 8}
        algorithms.SSG(module, *parts).optimize(**steps, **shared)


def _loss_gaps(data, loss, groups, seed):
    """Both sides of the bound on the loss gap, as constraints of the package."""
    from humancompatible.train.benchmark.constraints import FairnessConstraint

    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]

    def excess(sign):
        def value(module, batches):
            first, second = (loss(module(X)[:, 0], y) for X, y in batches)
            return sign * (first - second) - DELTA

        return FairnessConstraint(data, members, fn=value, batch_size=8, seed=seed)

    return [excess(1.0), excess(-1.0)]
