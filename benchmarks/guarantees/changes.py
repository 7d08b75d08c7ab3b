"""Changes of gaps between two models or two periods: coverage, power and width of intervals."""

from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from benchmarks.records import Run, load_or_run
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.audit import Audit

N_DRAWS = {5: 500, 1: 40}
"""Draws of each cell, by the runs of the budget."""
BLOCK = 20
"""Draws of one record."""

CORRELATION = 0.8
"""Of the latent scores of two models; they agree on more than half of the samples."""

SIZES = (200, 2000, 20_000)
"""Samples of each group."""

N_ERRORS = 4.0
"""Standard errors by which the gap of two groups changes where power is measured."""

_SETTINGS = "1"


class Case(NamedTuple):
    """Rates of the groups before and after."""

    name: str
    before: tuple
    after: tuple

    @property
    def has_turned(self):
        """Whether the group of the higher rate is another one: then a correlation adds variance."""
        return np.argmax(self.before) != np.argmax(self.after)


CASES = (
    Case("two groups, equal gaps", (0.3, 0.4), (0.3, 0.4)),
    Case("two groups, no gaps", (0.4, 0.4), (0.4, 0.4)),
    Case("two groups, the gap falls", (0.2, 0.4), (0.3, 0.4)),
    Case("two groups, the gap turns", (0.3, 0.4), (0.4, 0.3)),
    Case("three groups, a gap comes", (0.4, 0.4, 0.4), (0.4, 0.4, 0.6)),
    Case("five groups, equal gaps", (0.2, 0.25, 0.3, 0.35, 0.4), (0.2, 0.25, 0.3, 0.35, 0.4)),
    Case("five groups, the gap falls", (0.2, 0.25, 0.3, 0.35, 0.5), (0.3, 0.3, 0.3, 0.35, 0.4)),
)
DESIGNS = "two models", "two periods"


def draw_decisions(rates, groups, is_paired, rng):
    """Decisions before and after, of the same samples or of different ones.

    Parameters
    ----------
    rates : pair of ndarray, each of shape (n_groups,)
        Rates before and after.
    groups : ndarray of shape (n_samples,)
        Group of each sample.
    is_paired : bool
        Whether the scores of both are correlated.
    rng : Generator
        Source of the scores.

    Returns
    -------
    decisions : list of ndarray of int, each of shape (n_samples,)
    """
    first, second = rng.normal(size=(2, len(groups)))
    if is_paired:
        second = CORRELATION * first + np.sqrt(1.0 - CORRELATION**2) * second
    thresholds = [ndtri(np.asarray(one))[groups] for one in rates]
    return [(s <= t).astype(int) for s, t in zip((first, second), thresholds, strict=True)]


def measure_change(rates, size, design, seed):
    """Estimate and limits of the change of the gap of selection rates, of one draw.

    Parameters
    ----------
    rates : pair of ndarray, each of shape (n_groups,)
        Rates before and after.
    size : int
        Samples of each group.
    design : str
        Name in `DESIGNS`.
    seed : int
        Seed of the draw.

    Returns
    -------
    change : tuple of three floats
        Estimate, lower and upper limit.
    """
    groups = np.repeat(np.arange(len(rates[0])), size)
    rng = np.random.default_rng(seed)
    is_paired = design == DESIGNS[0]
    before, after = draw_decisions(rates, groups, is_paired, rng)
    if not is_paired:
        after = Audit.from_predictions(None, after, sensitive_features=groups)
    report = Audit.from_predictions(None, before, sensitive_features=groups).compare(after)
    gaps = report.gaps.set_index("metric").loc["selection_rate"]
    return tuple(float(gaps[name]) for name in ("change", "change_low", "change_high"))


def standard_error(rates, size, design):
    """Standard error of the change of a difference of two rates, by draws of its four rates.

    Parameters
    ----------
    rates : pair of ndarray, each of shape (2,)
        Rates before and after.
    size : int
        Samples of each group.
    design : str
        Name in `DESIGNS`.

    Returns
    -------
    error : float
    """
    rng = np.random.default_rng(0)
    n = 200_000
    groups = np.repeat([0, 1], n)
    before, after = draw_decisions(rates, groups, design == DESIGNS[0], rng)
    variances = [
        np.var(after[groups == group] - before[groups == group])
        if design == DESIGNS[0]
        else np.var(before[groups == group]) + np.var(after[groups == group])
        for group in (0, 1)
    ]
    return float(np.sqrt(sum(variances) / size))


def _draw_block(rates, size, design, block):
    """Changes of a block of draws."""
    seeds = range(BLOCK * block, BLOCK * (block + 1))
    return [measure_change(rates, size, design, seed) for seed in seeds]


def _load(cell, rates, size, design, budget):
    """Changes of all draws of a cell, (n_draws, 3)."""
    make = partial(_draw_block, rates, size, design)
    n_blocks = N_DRAWS.get(budget.n_runs, 40) // BLOCK
    runs = [
        Run(cell, "change", block, _SETTINGS, partial(make, block)) for block in range(n_blocks)
    ]
    return np.array(
        [one for block in load_or_run("changes", runs, budget).values() for one in block]
    )


def _describe(cell, rates, changes):
    """Coverage and mean width of a cell, and the share in which a change is shown."""
    _, low, high = changes.T
    true = np.ptp(rates[1]) - np.ptp(rates[0])
    return {
        "cell": cell,
        "draws": len(changes),
        "change": true,
        "coverage": np.mean((low <= true + 1e-9) & (true - 1e-9 <= high)),
        "width": np.mean(high - low),
        "shown": np.mean((low > 0.0) | (high < 0.0)),
    }


def _power_rates(size, design, after):
    """Rates of two groups whose gap falls by `N_ERRORS` standard errors to the gap `after`."""
    change = 0.1
    for _ in range(5):  # the error depends on the rates
        rates = (0.3, 0.3 + after + change), (0.3, 0.3 + after)
        change = min(N_ERRORS * standard_error(rates, size, design), 0.65 - after)
    return rates


@smallest(N_DRAWS={1: 2}, BLOCK=2, SIZES=SIZES[:1], CASES=CASES[:2])
def changes(budget):
    """Changes of gaps: coverage of intervals, power, and paired against unpaired widths."""
    records, checks = [], []
    for case, size in product(CASES, SIZES):
        widths = []
        for design in DESIGNS:
            cell = f"{case.name}, {size:,} each, {design}"
            drawn = _load(cell, case[1:], size, design, budget)
            if not len(drawn):
                continue
            records.append(_describe(cell, case[1:], drawn))
            widths.append(records[-1]["width"])
        if len(widths) == 2 and not case.has_turned:
            name = f"width of two models over two periods, {case.name}, {size:,} each"
            checks.append(Check(name, [widths[0] / widths[1]], "<=", 1.0))
    for one in records:
        bound = 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / one["draws"])
        checks.append(Check(f"coverage, {one['cell']}", [one["coverage"]], ">=", bound))
    mean = [np.mean([one["coverage"] for one in records] or [np.nan])]
    checks.append(Check("mean coverage", mean, ">=", 0.94))
    for size, design in product(SIZES, DESIGNS):
        # Of a later gap of one standard error the groups may have turned, where the correlation of
        # two models adds variance; of four the order of the groups is known.
        error = np.sqrt(2.0 * 0.3 * 0.7 / size)
        for n_errors in (1.0, N_ERRORS):
            rates = _power_rates(size, design, n_errors * error)
            cell = (
                f"a change of {N_ERRORS:g} standard errors to a gap of {n_errors:g}, {size:,} each"
            )
            drawn = _load(f"{cell}, {design}", rates, size, design, budget)
            if len(drawn):
                records.append(_describe(f"{cell}, {design}", rates, drawn))
            if len(drawn) and n_errors == N_ERRORS:
                checks.append(Check(f"shown, {cell}, {design}", [records[-1]["shown"]], ">=", 0.9))
    title = (
        "Intervals at .95 of the change of the gap of selection rates, of two models on the same "
        f"samples (scores of correlation {CORRELATION:g}) and of two periods: coverage, mean "
        "width, and share in which the change is shown to differ from 0"
    )
    return Report(title, records, checks)
