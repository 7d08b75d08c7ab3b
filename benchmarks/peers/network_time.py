"""Networks on Adult: time of a fit against scikit-learn's, of an epoch against a plain loop."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from benchmarks.erm_cases import case
from benchmarks.packages import is_installed
from benchmarks.peers.constrained_erm import GAPS, TOLERANCE
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import median_seconds, run_alternately
from skfair.classification import ConstrainedMLPClassifier
from skfair.solvers import AdamPrimalDual
from skfair.torch import ConstrainedTorchClassifier

N_EPOCHS = AdamPrimalDual().max_iter
BATCH = AdamPrimalDual().batch_size
N_SHORT = 2
"""Epochs of the short fit; the difference to the long fit is the time of epochs alone."""


@smallest(N_EPOCHS=3)
def network_time(budget):
    """Perceptrons (64-32) under parity on Adult: CPU s against plain ones, training gaps."""
    problem = case("Adult", 0).scale()
    contenders = {
        "MLPClassifier": lambda seed: _fit_plain(problem.train, seed),
        "ConstrainedMLPClassifier": lambda seed: fit_constrained(
            ConstrainedMLPClassifier, problem.train, seed
        ),
    }
    runs = run_alternately(contenders, budget.n_runs)
    seconds = {name: median_seconds(calls) for name, calls in runs.items()}
    records = [{"what": name, "s": value} for name, value in seconds.items()]
    ratio = seconds["ConstrainedMLPClassifier"] / seconds["MLPClassifier"]
    checks = [Check("constrained / plain perceptron, same epochs and batch", [ratio], "<=", 2.0)]
    if is_installed("torch"):
        torch_records, torch_checks = _torch(problem, budget)
        records = records + torch_records
        checks = checks + torch_checks
    return Report("Networks (64-32) on Adult, parity .02", records, checks)


def _fit_plain(train, seed):
    model = MLPClassifier((64, 32), max_iter=N_EPOCHS, batch_size=BATCH, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of epochs is fixed
        return model.fit(train.X, train.y)


def fit_constrained(estimator, train, seed, **settings):
    """An estimator of networks, fitted to a split without warnings."""
    model = estimator(**{"tolerance": TOLERANCE, "random_state": seed} | settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the gaps are reported instead
        return model.fit(train.X, train.y, sensitive_features=train.groups)


def _torch(problem, budget):
    """Records and checks of the same network in PyTorch, on one thread."""
    import torch

    torch.set_num_threads(1)
    epochs = {"long": N_EPOCHS, "short": N_SHORT}
    contenders = {}
    for name, n in epochs.items():
        settings = {"solver": AdamPrimalDual(max_iter=n), "alpha": 2e-3}
        contenders[f"torch, {name}"] = lambda seed, settings=settings: fit_constrained(
            ConstrainedTorchClassifier, problem.train, seed, **settings
        )
        contenders[f"plain loop, {name}"] = lambda seed, n=n: _plain_loop(problem.train, n, seed)
    runs = run_alternately(contenders, budget.n_runs)
    records = []
    per_epoch = {}
    for loop in ("torch", "plain loop"):
        long, short = (median_seconds(runs[f"{loop}, {name}"]) for name in epochs)
        per_epoch[loop] = (long - short) / (N_EPOCHS - N_SHORT)
        records.append({"what": loop, "s": long, "s / epoch": per_epoch[loop]})
    gap = GAPS["demographic_parity"]
    gaps = []
    for run in runs["torch, long"]:
        for name, part in (("train", problem.train), ("test", problem.test)):
            decisions = run.result.predict(part.X)
            records[-2][name] = np.mean(decisions == part.y)
            records[-2][f"{name} gap"] = gap(part.y, decisions, sensitive_features=part.groups)
        gaps.append(records[-2]["train gap"])
    ratio = per_epoch["torch"] / per_epoch["plain loop"]
    fit_ratio = records[-2]["s"] / records[-1]["s"]
    checks = [
        Check("torch: train gap", gaps, "<=", TOLERANCE),
        Check("torch / plain loop of the same batches, s per epoch", [ratio], "<=", 1.3),
        Check(f"torch / plain loop, all of a fit of {N_EPOCHS} epochs", [fit_ratio], "<=", 1.3),
    ]
    return records, checks


def _plain_loop(train, n_epochs, seed):
    """A training loop as in tutorials, with the same batches."""
    import torch

    torch.manual_seed(seed)
    module = torch.nn.Sequential(
        *(torch.nn.Linear(train.X.shape[1], 64), torch.nn.ReLU()),
        *(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)),
    )
    X = torch.as_tensor(train.X, dtype=torch.float32)
    y = torch.as_tensor(train.y, dtype=torch.float32)
    adam = torch.optim.Adam(module.parameters(), lr=2e-3)
    loss = torch.nn.BCEWithLogitsLoss()
    for _ in range(n_epochs):
        for rows in torch.randperm(len(y)).split(BATCH):
            adam.zero_grad()
            loss(module(X[rows])[:, 0], y[rows]).backward()
            adam.step()
    return module
