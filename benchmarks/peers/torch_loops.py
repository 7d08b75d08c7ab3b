"""PyTorch: a device against the CPU, constraints in a loop, and a DataLoader with workers."""

from time import perf_counter

import numpy as np

from benchmarks.erm_cases import case
from benchmarks.packages import is_installed
from benchmarks.peers.network_time import BATCH, fit_constrained
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import run_alternately
from skfair.solvers import AdamPrimalDual

N_STEPS, N_COLUMNS = 200, 100
N_SAMPLES = 200_000
"""Samples that a DataLoader reads."""
_MISSING = Report("Networks in PyTorch", [], [])


@smallest(N_STEPS=2, N_SAMPLES=600)
def torch_device(budget):
    """A fit and a loop with constraint values on ``--device``, and their agreement with the CPU."""
    if not is_installed("torch"):
        return _MISSING
    from skfair.torch import ConstrainedTorchClassifier

    problem = case("Adult", 0).scale()
    records = []
    scores = {}
    values = {}
    for device in dict.fromkeys(("cpu", budget.device)):
        solver = AdamPrimalDual(max_iter=2)
        seconds = []
        for _ in range(2):  # the first fit warms up
            start = perf_counter()
            model = fit_constrained(
                ConstrainedTorchClassifier, problem.train, 0, device=device, solver=solver
            )
            seconds.append(perf_counter() - start)
        scores[device] = model.decision_function(problem.test.X)
        values[device] = _values_and_gradients(device)
        records.append({"device": device, "fit s": seconds[-1], "ms / step": _step_ms(device)})
    decisions = [one > 0 for one in (scores["cpu"], scores[budget.device])]
    difference = abs(values["cpu"] - values[budget.device]).max()
    checks = [
        Check(
            "decisions equal to those of the CPU",
            [np.mean(decisions[0] == decisions[1])],
            ">=",
            0.98,
        ),
        Check("values and gradients, difference to the CPU", [difference], "<=", 1e-5),
    ]
    return Report(f"PyTorch on {budget.device}, wall time", records, checks)


def _samples(device):
    import torch

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, N_COLUMNS)).astype(np.float32)
    columns = X, (X[:, 0] > 0).astype(np.float32), rng.integers(2, size=len(X))
    return [torch.as_tensor(column, device=device) for column in columns]


def _values_and_gradients(device):
    """Value and gradient of equalised odds for fixed scores."""
    from skfair.torch import constraint_values

    X, y, groups = _samples(device)
    scores = X[:, 1].clone().requires_grad_()
    values = constraint_values("equalized_odds", scores, y, groups, tolerance=0.0)
    values.sum().backward()
    return np.append(scores.grad.cpu().numpy() * len(y), values.item())


def _step_ms(device):
    start = perf_counter()
    _loop(*_samples(device), "demographic_parity")
    return 1e3 * (perf_counter() - start) / N_STEPS


def _loop(X, y, groups, constraint=None, penalty=None, is_penalty=False):
    """Steps of a loop, with a constraint, whose excess may be added, or a penalty of one's own."""
    import torch

    from skfair.torch import ConstraintTerm, constraint_values

    torch.manual_seed(0)
    nn = torch.nn
    layers = nn.Linear(X.shape[1], 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU()
    module = nn.Sequential(*layers, nn.Linear(32, 1)).to(X.device)
    adam = torch.optim.Adam(module.parameters(), lr=1e-3)
    term = ConstraintTerm(constraint, y, groups, tolerance=0.02) if constraint else None
    for rows in torch.randint(len(y), (N_STEPS, 2 * BATCH), device=X.device):
        scores = module(X[rows])[:, 0]
        loss = nn.functional.binary_cross_entropy_with_logits(scores, y[rows])
        if is_penalty:
            values = constraint_values(constraint, scores, y[rows], groups[rows], tolerance=0.02)
            loss = loss + values.relu().sum()
        elif term is not None:
            loss = loss + term(scores, y[rows], groups[rows])
        elif penalty is not None:
            loss = loss + penalty(scores, groups[rows])
        adam.zero_grad()
        loss.backward()
        adam.step()


@smallest(N_STEPS=2, N_SAMPLES=600)
def torch_loop(budget):
    """CPU time of a step with a constraint against a plain step, and a gap written by hand."""
    if not is_installed("torch"):
        return _MISSING
    import torch

    torch.set_num_threads(1)
    samples = _samples("cpu")

    def gap(scores, groups):
        rates = scores.sigmoid()
        first = groups.float()
        second = 1.0 - first
        return ((rates @ first) / first.sum() - (rates @ second) / second.sum()).abs()

    contenders = {
        "plain": lambda _: _loop(*samples),
        "gap written by hand": lambda _: _loop(*samples, penalty=gap),
        "values": lambda _: _loop(*samples, "demographic_parity", is_penalty=True),
        "term": lambda _: _loop(*samples, "demographic_parity"),
        "term of equalized odds": lambda _: _loop(*samples, "equalized_odds"),
    }
    runs = run_alternately(contenders, 3 * budget.n_runs)
    seconds = {name: min(run.seconds for run in calls) for name, calls in runs.items()}
    records = [
        {
            "what": name,
            "ms / step": 1e3 * value / N_STEPS,
            "/ plain": value / seconds["plain"],
            "/ by hand": value / seconds["gap written by hand"],
        }
        for name, value in seconds.items()
    ]
    checks = [
        Check(f"{record['what']} / by hand", [record["/ by hand"]], "<=", 1.1)
        for record in records[2:4]
    ]
    return Report("Steps of a loop, batches of 256, one thread", records, checks)


@smallest(N_STEPS=2, N_SAMPLES=600)
def torch_loader(budget):
    """Wall time of fits on a DataLoader of 200,000 samples with two workers, and plain loops."""
    if not is_installed("torch"):
        return _MISSING
    import torch

    from skfair.torch import ConstrainedTorchClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_SAMPLES, 20)).astype(np.float32)
    groups = rng.integers(2, size=N_SAMPLES)
    y = X[:, 0] + X[:, 1] ** 2 > 1.0
    rows = torch.utils.data.TensorDataset(torch.as_tensor(X), torch.as_tensor(y))
    loader = torch.utils.data.DataLoader(rows, batch_size=BATCH, shuffle=True, num_workers=2)
    records, checks = [], []
    for n_epochs, bound in ((1, 2.5), (10, 1.5)):
        solver = AdamPrimalDual(max_iter=n_epochs)
        start = perf_counter()
        ConstrainedTorchClassifier(solver=solver, random_state=0).fit(
            loader, y, sensitive_features=groups
        )
        middle = perf_counter()
        _plain_epochs(loader, X.shape[1], n_epochs)
        seconds = middle - start, perf_counter() - middle
        ratio = seconds[0] / seconds[1]
        records.append({"epochs": n_epochs, "fit s": seconds[0], "plain s": seconds[1]})
        checks.append(Check(f"fit / plain loop, {n_epochs} epochs", [ratio], "<=", bound))
        if budget.fraction < 1.0:
            break
    return Report("DataLoader of 200,000 samples, two workers, wall time", records, checks)


def _plain_epochs(loader, n_columns, n_epochs):
    """A training loop as in tutorials."""
    import torch

    nn = torch.nn
    layers = nn.Linear(n_columns, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU()
    module = nn.Sequential(*layers, nn.Linear(32, 1))
    loss = nn.BCEWithLogitsLoss()
    adam = torch.optim.Adam(module.parameters(), lr=2e-3)
    for _ in range(n_epochs):
        for inputs, target in loader:
            adam.zero_grad()
            loss(module(inputs)[:, 0], target.float()).backward()
            adam.step()
