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

N_RARE_SAMPLES = 8000
N_RARE_EPOCHS = 10
RARE_SEEDS = (0, 1)
"""Samples, of which 5 % are of a group, epochs and seeds of loops with small batches."""


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

    from skfair.torch import ConstrainedObjective, constraint_values

    torch.manual_seed(0)
    nn = torch.nn
    layers = nn.Linear(X.shape[1], 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU()
    module = nn.Sequential(*layers, nn.Linear(32, 1)).to(X.device)
    adam = torch.optim.Adam(module.parameters(), lr=1e-3)
    objective = ConstrainedObjective("adam-pd", module.parameters())
    for rows in torch.randint(len(y), (N_STEPS, 2 * BATCH), device=X.device):
        scores = module(X[rows])[:, 0]
        loss = nn.functional.binary_cross_entropy_with_logits(scores, y[rows])
        if constraint is not None:
            values = constraint_values(constraint, scores, y[rows], groups[rows], tolerance=0.02)
            loss = loss + values.relu().sum() if is_penalty else objective(loss, values)
        elif penalty is not None:
            loss = loss + penalty(scores, groups[rows])
        adam.zero_grad()
        loss.backward()
        adam.step()
        if constraint is not None and not is_penalty:
            objective.step()


@smallest(N_STEPS=2, N_SAMPLES=600)
def torch_loop(budget):
    """CPU time of a step with constraint values against a plain step, and a gap written by hand."""
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
        "values, objective": lambda _: _loop(*samples, "demographic_parity"),
        "values of equalized odds, objective": lambda _: _loop(*samples, "equalized_odds"),
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


@smallest(N_RARE_SAMPLES=400, N_RARE_EPOCHS=1, RARE_SEEDS=(0,))
def small_batches(budget):
    """Loops under parity with a group of 5 %: accuracy and gap by size and kind of batches.

    Means over seeds of the decisions about the training samples at the end, with a tolerance of .05
    and without an enforcement of the last layer.
    """
    if not is_installed("torch"):
        return _MISSING
    records = []
    for name, settings in SMALL_BATCHES.items():
        runs = [_train_on_rare_group(seed, **settings) for seed in RARE_SEEDS]
        accuracy, gap = np.mean(runs, axis=0)
        records.append({"batches": name, "accuracy": accuracy, "gap": gap})
    return Report("A group of 5 %, tolerance .05, ten epochs, training samples", records, [])


SMALL_BATCHES = {
    "16": {"size": 16},
    "16, stratified": {"size": 16, "is_stratified": True},
    "16, RecentScores(2000)": {"size": 16, "n_recent": 2000},
    "64": {"size": 64},
    "256": {"size": 256},
}


def _train_on_rare_group(seed, size, is_stratified=False, n_recent=None):
    """Accuracy and gap of a network at the end of a loop."""
    import torch

    from skfair.torch import ConstrainedObjective, RecentScores, constraint_values

    rng = np.random.default_rng(seed)
    groups = (rng.random(N_RARE_SAMPLES) < 0.05).astype(int)
    features = rng.normal(size=(N_RARE_SAMPLES, 5)).astype(np.float32)
    features[:, 0] -= 1.5 * groups
    log_odds = 2.0 * (features[:, 0] + features[:, 1])
    target = (log_odds + rng.logistic(size=N_RARE_SAMPLES) > 0).astype(np.float32)
    X, y, sex = (torch.as_tensor(column) for column in (features, target, groups))
    torch.manual_seed(seed)
    nn = torch.nn
    module = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
    adam = torch.optim.Adam(module.parameters(), lr=1e-3)
    objective = ConstrainedObjective("adam-pd", module.parameters())
    memory = RecentScores(n_recent) if n_recent else lambda *samples: samples
    for epoch in range(N_RARE_EPOCHS):
        adam.param_groups[0]["lr"] = 1e-3 * (1 - epoch / N_RARE_EPOCHS)
        order = rng.permutation(N_RARE_SAMPLES)
        if is_stratified:  # every batch has its share of each group and class
            order = order[np.argsort(_spread_evenly((2 * groups + target)[order]))]
        for rows in np.array_split(order, N_RARE_SAMPLES // size):
            scores = module(X[rows])[:, 0]
            loss = nn.functional.binary_cross_entropy_with_logits(scores, y[rows])
            samples = memory(scores, y[rows], sex[rows])
            values = constraint_values("demographic_parity", *samples, tolerance=0.05)
            adam.zero_grad()
            objective(loss, values).backward()
            adam.step()
            objective.step()
    decisions = (module(X)[:, 0] > 0).numpy()
    gap = abs(decisions[groups == 1].mean() - decisions[groups == 0].mean())
    return np.mean(decisions == target), gap


def _spread_evenly(strata):
    """Places between 0 and 1 at which the samples of every stratum are spread evenly."""
    places = np.empty(len(strata))
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        places[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return places
