"""Training loops under constraints: the term, its last layer, and loops of other packages."""

from functools import cache, partial
from itertools import product
from time import process_time
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.data import fetch_adult, fetch_bank_marketing, fetch_compas, fetch_law_school
from benchmarks.packages import is_installed
from benchmarks.record_tables import store_of
from benchmarks.records import Run, load_or_run
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.solvers import SSLALM, AdamPrimalDual

DATA = {
    "Adult": (fetch_adult, ">50K", ()),
    "Bank": (fetch_bank_marketing, "yes", ("married", "single", "divorced")),
    "law school": (fetch_law_school, 1, ()),
    "COMPAS": (fetch_compas, 1, ("African-American", "Caucasian", "Hispanic")),
}
"""Function that fetches, positive class, and groups that are compared (all, if none is named)."""

MODULES = ("perceptron", "batch norm", "embeddings")
CONSTRAINTS = (
    ("demographic_parity", 0.05),
    ("demographic_parity", 0.03),
    ("equalized_odds", 0.05),
)
SEEDS = (3, 4, 5)
N_TRAIN, N_TEST, N_EPOCHS, BATCH, RATE = 4000, 8000, 10, 64, 2e-3


class Samples(NamedTuple):
    """Training or test samples: columns of real numbers, then one-hot columns or codes."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


class Cell(NamedTuple):
    """Training and test samples, a module, a constraint and its tolerance, and a seed."""

    train: Samples
    test: Samples
    make_module: object
    constraint: str
    tolerance: float
    seed: int


@smallest(DATA={"Adult": DATA["Adult"]}, N_TRAIN=200, N_EPOCHS=1, CONSTRAINTS=CONSTRAINTS[:1])
def torch_loops(budget):
    """Loops under constraints on four data sets and three modules: gap, accuracy and CPU time.

    Ten epochs of Adam on batches of 64, whose step decreases to 0. Cells are data sets, modules and
    constraints, and each has one of three seeds. The loops of humancompatible-train and cooper have
    the settings of their examples. "last layer" is
    ``ConstrainedTorchClassifier(module, solver=None)`` after the loop. Runs are kept in
    benchmarks/papers/recorded, with the commit and the day; --recorded shows the stored ones.
    """
    if is_installed("torch"):
        import torch

        torch.set_num_threads(1)
    else:
        budget = budget._replace(recorded_only=True)
    stored = load_or_run("torch-loops", _list_runs(budget), budget, store_of(budget))
    figures: dict = {}
    for (cell, method, _), record in stored.items():
        for name, values in record.items():
            name = method if name == "result" else f"{method}; {name}"
            figures.setdefault(name, {})[cell] = Figures(*values)
    plain = figures.get("plain", {})
    return Report(
        f"{N_EPOCHS} epochs on {N_TRAIN} samples, batches of {BATCH}: means over cells",
        [_summarise(name, each, plain) for name, each in figures.items()],
        _check(figures),
    )


class Figures(NamedTuple):
    """What a method reaches in a cell."""

    accuracy: float
    gap: float
    test_accuracy: float
    test_gap: float
    tolerance: float
    is_constant: bool
    seconds: float


def _list_runs(budget):
    """A `Run` of each method in each cell, and of the term in the cells where it is weak."""
    seeds = SEEDS[: budget.n_runs]
    settings = f"{N_TRAIN} samples, {N_EPOCHS} epochs"
    for number, cell in enumerate(product(DATA, MODULES, CONSTRAINTS)):
        # A Latin square: modules and constraints have different seeds.
        seed = seeds[(number + number // 3) % len(seeds)]
        data, module, (constraint, tolerance) = cell
        name = f"{data}, {module}, {constraint} {tolerance}"
        make_cell = cache(partial(_make_cell, data, module, constraint, tolerance, seed))
        for method, run in _find_methods(cell).items():
            yield Run(name, method, seed, settings, partial(_run_in_cell, run, make_cell))


def _run_in_cell(run, make_cell):
    _warm_up()
    return run(make_cell())


@cache
def _warm_up():
    """Take one step, at which PyTorch imports more of itself."""
    import torch

    parameter = torch.zeros(1, requires_grad=True)
    parameter.sum().backward()
    torch.optim.Adam([parameter]).step()


def _find_methods(cell):
    """Functions of a `Cell` that return the record of a method, by name."""
    _, module, constraint = cell
    loops = {"plain": _no_term, "term": _make_term, "ALM, two signed rows": _make_alm}
    if is_installed("humancompatible.train"):
        loops["humancompatible-train, ALM"] = _make_humancompatible
    if is_installed("cooper"):
        loops["cooper, proxy Lagrangian"] = _make_cooper
    methods = {name: partial(_run_loop, one) for name, one in loops.items()}
    methods["estimator"] = _run_estimator
    methods["estimator, enforcement=None"] = partial(_run_estimator, enforcement=None)
    if module == "perceptron" and constraint == CONSTRAINTS[0]:
        methods["term, three epochs"] = partial(_run_loop, _make_term, n_epochs=3)
        methods["term, 4 x 16 accumulated"] = partial(_run_loop, _make_term, micro_batch=16)
        methods["term, group of 5 %"] = _run_small_group
    return methods


def _run_loop(make_objective, cell, n_epochs=None, micro_batch=None):
    """What a loop reaches, and its last layer after it."""
    from skfair.torch import ConstrainedTorchClassifier

    start = process_time()
    module = _train(cell, make_objective, n_epochs or N_EPOCHS, micro_batch or BATCH)
    seconds = process_time() - start
    figures = _measure(cell, partial(_decide, module), seconds)
    start = process_time()
    last = ConstrainedTorchClassifier(
        module, cell.constraint, tolerance=cell.tolerance, solver=None
    )
    last.fit(cell.train.X, cell.train.y, sensitive_features=cell.train.groups)
    seconds += process_time() - start
    return {"result": figures, "last layer": _measure(cell, last.predict, seconds)}


def _run_estimator(cell, enforcement="auto"):
    """What the estimator reaches."""
    from skfair.torch import ConstrainedTorchClassifier

    start = process_time()
    model = ConstrainedTorchClassifier(
        cell.make_module,
        cell.constraint,
        tolerance=cell.tolerance,
        solver=AdamPrimalDual(max_iter=N_EPOCHS, learning_rate=RATE, batch_size=BATCH),
        enforcement=enforcement,
        random_state=cell.seed,
    )
    model.fit(cell.train.X, cell.train.y, sensitive_features=cell.train.groups)
    return {"result": _measure(cell, model.predict, process_time() - start)}


def _run_small_group(cell):
    """What the term reaches where the first two groups are all, and the first is 5 % of them."""
    samples = []
    for one in (cell.train, cell.test):
        first, second = (np.flatnonzero(one.groups == group) for group in (0, 1))
        rows = np.concatenate((first[: len(second) // 19], second))
        samples.append(Samples(one.X[rows], one.y[rows], one.groups[rows]))
    return _run_loop(_make_term, cell._replace(train=samples[0], test=samples[1]))


def _summarise(name, by_cell, plain):
    """A row of the table."""
    columns = Figures(*map(np.array, zip(*by_cell.values(), strict=True)))
    ratios = [one.seconds / plain[cell].seconds for cell, one in by_cell.items() if cell in plain]
    return {
        "method": name,
        "cells": len(by_cell),
        "kept": np.mean(columns.gap <= columns.tolerance),
        "error of gap": np.mean(abs(columns.gap - columns.tolerance)),
        "worst excess": np.max(columns.gap - columns.tolerance),
        "constant": int(columns.is_constant.sum()),
        "accuracy": columns.accuracy.mean(),
        "test accuracy": columns.test_accuracy.mean(),
        "test gap": columns.test_gap.mean(),
        "CPU / plain": np.median(ratios) if ratios else np.nan,
    }


def _check(figures):
    """The figures of the term, and of the last layer after it."""
    term = figures.get("term", {})
    last = figures.get("term; last layer", {})
    plain = figures.get("plain", {})
    excess = [one.gap - one.tolerance for one in term.values()]
    lasts = [max(0.0, one.gap - one.tolerance) for one in last.values()]
    gains = _subtract(last, figures.get("plain; last layer", {}), "accuracy")
    error = np.std(gains) / np.sqrt(max(1, len(gains) - 1))
    ratios = [one.seconds / plain[cell].seconds for cell, one in term.items() if cell in plain]
    accumulated = _subtract(figures.get("term, 4 x 16 accumulated", {}), term, "gap")
    volatile = figures.get("estimator, enforcement=None", {})
    volatile = volatile.get("Adult, batch norm, equalized_odds 0.05")
    against = f"term and last layer, accuracy above plain and last layer (s.e. {error:.4f})"
    return [
        Check("term, mean error of the gap", _mean(np.abs(excess)), "<=", 0.02),
        Check("term, worst excess", excess, "<=", 0.04),
        Check("term, constant classifiers", [one.is_constant for one in term.values()], "<=", 0),
        Check("term and last layer, excess", lasts, "<=", 0.0),
        Check(against, _mean(gains), ">=", 0.001),
        Check("CPU of the term / plain, median", [np.median(ratios)] if ratios else [], "<=", 1.5),
        Check("4 x 16 accumulated - 1 x 64, gap", _mean(np.abs(accumulated)), "<=", 0.01),
        Check(
            "estimator, enforcement=None, Adult, batch norm, odds: gap",
            [] if volatile is None else [volatile.gap],
            "<=",
            0.08,
        ),
    ]


def _subtract(ones, others, name):
    """Differences of a figure between two methods, in the cells of both."""
    cells = [cell for cell in ones if cell in others]
    return [getattr(ones[cell], name) - getattr(others[cell], name) for cell in cells]


def _mean(values):
    """The mean as a list, which is empty without values."""
    return [np.mean(values)] if len(values) else []


# Data and modules.


def _make_cell(data, module, constraint, tolerance, seed):
    """Samples in the form of a module, and that module."""
    fetch, positive, compared = DATA[data]
    bunch = fetch(drop_sensitive=True)
    groups = pd.Series(np.asarray(bunch.sensitive_features).astype(str))
    keep = groups.isin(compared or groups.unique()).to_numpy()
    frame = bunch.data[keep]
    y = (np.asarray(bunch.target) == positive)[keep]
    groups = pd.factorize(groups[keep], sort=True)[0]
    order = np.random.default_rng(seed).permutation(len(y))
    n_train = min(N_TRAIN, 2 * len(y) // 3)
    train, test = order[:n_train], order[n_train : n_train + N_TEST]
    numbers = frame.select_dtypes("number")
    numbers = numbers.fillna(numbers.median()).to_numpy(np.float64)
    numbers = (numbers - numbers[train].mean(axis=0)) / (numbers[train].std(axis=0) + 1e-9)
    categories = frame.select_dtypes("category")
    codes = [categories[name].cat.codes.to_numpy() + 1 for name in categories]
    sizes = [int(one.max()) + 1 for one in codes]
    if module == "embeddings":
        X = np.column_stack([numbers, *codes])
        make_module = partial(_make_embedded, numbers.shape[1], sizes)
    else:
        X = np.hstack([numbers, *(np.eye(k)[one] for k, one in zip(sizes, codes, strict=True))])
        make_module = partial(_make_perceptron, X.shape[1], module == "batch norm")
    X = X.astype(np.float32)
    samples = (Samples(X[rows], y[rows], groups[rows]) for rows in (train, test))
    return Cell(*samples, make_module, constraint, tolerance, seed)


def _make_perceptron(n_columns, has_batch_norm):
    """A perceptron of 64 and 32 units."""
    from torch import nn

    layers: list = []
    for n_inputs, n_units in ((n_columns, 64), (64, 32)):
        norm = [nn.BatchNorm1d(n_units)] if has_batch_norm else []
        layers += [nn.Linear(n_inputs, n_units), *norm, nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(32, 1))


def _make_embedded(n_numbers, sizes):
    """A perceptron of numbers and of embeddings of categories."""
    import torch
    from torch import nn

    widths = [min(8, (size + 1) // 2) for size in sizes]

    class Embedded(nn.Module):
        def __init__(self):
            super().__init__()
            pairs = zip(sizes, widths, strict=True)
            self.embeddings = nn.ModuleList(nn.Embedding(*pair) for pair in pairs)
            self.perceptron = _make_perceptron(n_numbers + sum(widths), False)

        def forward(self, x):
            codes = x[:, n_numbers:].long()
            embedded = [one(codes[:, i]) for i, one in enumerate(self.embeddings)]
            return self.perceptron(torch.cat([x[:, :n_numbers], *embedded], dim=1))

    return Embedded()


# Loops.


def _train(cell, make_objective, n_epochs, micro_batch):
    """A module after epochs of Adam on an objective of loss, scores, classes and groups.

    Gradients of micro-batches are accumulated to those of a batch.
    """
    import torch

    torch.manual_seed(cell.seed)
    module = cell.make_module()
    objective = make_objective(cell, module)
    X, y, groups = (torch.as_tensor(one) for one in cell.train)
    n_samples = len(y)
    n_steps = n_epochs * -(-n_samples // BATCH)
    adam = torch.optim.Adam(module.parameters(), lr=RATE)
    scheduler = torch.optim.lr_scheduler.LambdaLR(adam, lambda k: max(0.0, 1.0 - k / n_steps))
    for _ in range(n_epochs):
        for batch in torch.randperm(n_samples).split(BATCH):
            if len(batch) == 1:
                continue  # batch norm needs two
            adam.zero_grad()
            for rows in batch.split(micro_batch):
                scores = module(X[rows])[:, 0]
                loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, y[rows].float())
                value = objective(loss, scores, y[rows], groups[rows])
                (value * (len(rows) / len(batch))).backward()
            adam.step()
            scheduler.step()
    return module.eval()


def _no_term(cell, module):
    return lambda loss, scores, y, groups: loss


def _make_term(cell, module):
    from skfair.torch import ConstraintTerm

    term = ConstraintTerm(
        cell.constraint, cell.train.y, cell.train.groups, tolerance=cell.tolerance
    )
    return lambda loss, scores, y, groups: loss + term(scores, y, groups)


def _make_alm(cell, module):
    from skfair.torch import ConstrainedObjective, constraint_values

    alm = ConstrainedObjective(SSLALM.from_paper(mu=0.0), module.parameters())
    settings = {"tolerance": cell.tolerance, "by_pair": True}
    _, y, groups = cell.train
    n_rows = len(constraint_values(cell.constraint, _zeros(y), y, groups, **settings))

    def objective(loss, scores, y, groups):
        try:
            values = constraint_values(cell.constraint, scores, y, groups, **settings)
        except ValueError:
            return loss  # of one group
        if len(values) < n_rows:
            return loss  # a group or class is missing
        alm.step()
        return alm(loss, values)

    return objective


def _zeros(y):
    """Scores of 0."""
    import torch

    return torch.zeros(len(y))


def _make_humancompatible(cell, module):
    from humancompatible.train.dual_optim import ALM

    duals = ALM(m=_count_gaps(cell), lr=0.05, penalty=1.0, is_ineq=True)

    def objective(loss, scores, y, groups):
        return duals.forward_update(loss, _gaps(cell, scores.sigmoid(), y, groups) - cell.tolerance)

    return objective


def _make_cooper(cell, module):
    """Smooth gaps for the parameters, counted ones for the multipliers."""
    import cooper
    import torch

    class Problem(cooper.ConstrainedMinimizationProblem):
        def __init__(self):
            super().__init__()
            self.gaps = cooper.Constraint(
                constraint_type=cooper.ConstraintType.INEQUALITY,
                multiplier=cooper.multipliers.DenseMultiplier(num_constraints=_count_gaps(cell)),
            )

        def compute_cmp_state(self):
            raise NotImplementedError

    problem = Problem()
    duals = torch.optim.SGD(problem.dual_parameters(), lr=0.2, maximize=True)

    def objective(loss, scores, y, groups):
        smooth = _gaps(cell, scores.sigmoid(), y, groups) - cell.tolerance
        counted = _gaps(cell, (scores > 0).float(), y, groups) - cell.tolerance
        values = cooper.ConstraintState(violation=smooth, strict_violation=counted)
        state = cooper.CMPState(loss=loss, observed_constraints={problem.gaps: values})
        duals.zero_grad()
        state.compute_dual_lagrangian().backward()
        lagrangian = state.compute_primal_lagrangian().lagrangian
        duals.step()
        problem.gaps.multiplier.post_step_()
        return lagrangian

    return objective


def _count_gaps(cell):
    return 1 if cell.constraint == "demographic_parity" else 2


def _gaps(cell, decisions, y, groups):
    """The largest difference of rates between groups of a batch, for each class that counts."""
    import torch

    classes = [torch.ones_like(y)] if _count_gaps(cell) == 1 else [y, ~y]
    gaps = []
    for is_counted in classes:
        members = [is_counted & (groups == group) for group in groups.unique()]
        rates = [decisions[one].mean() for one in members if one.any()]
        rates = torch.stack(rates) if rates else torch.zeros(1)
        gaps.append(rates.max() - rates.min())
    return torch.stack(gaps)


def _decide(module, X):
    """Decisions of a module."""
    import torch

    with torch.no_grad():
        return module(torch.as_tensor(X))[:, 0].numpy() > 0


def _measure(cell, decide, seconds):
    """Accuracies and gaps of decisions, counted by numpy alone."""
    figures = []
    for samples in (cell.train, cell.test):
        decisions = np.asarray(decide(samples.X)).astype(bool)
        figures += [np.mean(decisions == samples.y), _count_gap(cell, decisions, samples)]
        if samples is cell.train:
            is_constant = bool(decisions.all() or not decisions.any())
    return Figures(*map(float, figures), cell.tolerance, is_constant, seconds)


def _count_gap(cell, decisions, samples):
    """The largest difference of rates between groups, of all samples or of the worst class."""
    y, groups = samples.y, samples.groups
    classes = [np.ones(len(y), dtype=bool)] if _count_gaps(cell) == 1 else [y, ~y]
    gaps = [0.0]
    for is_counted in classes:
        members = [is_counted & (groups == group) for group in np.unique(groups)]
        rates = [decisions[one].mean() for one in members if one.any()]
        gaps.append(np.ptp(rates))
    return max(gaps)
