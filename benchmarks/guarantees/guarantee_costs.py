"""What a guarantee leaves of the model where a tolerance is near the plain gap.

Sixteen populations, half of them with samples of 800 to 2,500, are fitted to redraws under three
constraints at .95, 1 and 1.1 times the plain gap, without a guarantee and at both levels. Reported
are the accuracy that the guarantee costs, the selected share before and how far it moves, how often
the guarantee is given and broken, and its time. The accuracy counts where the tolerance is in
reach: at least the noise, the .9 quantile of the gap that samples of a fair model show by chance.

The table was fixed before the method that it measures; no setting was chosen on it.
``python -m benchmarks guarantee-costs`` makes 60 redraws of each cell and stores each, so that a
stopped run can be resumed. ``--quick`` makes 20 redraws, and ``--cells "30 columns" "at 1.0"`` only
the cells whose name contains one of these texts.
"""

from itertools import product

import numpy as np

from benchmarks.guarantees import populations
from benchmarks.guarantees import redraws as cases
from benchmarks.guarantees.populations import Case
from benchmarks.guarantees.redraws import (
    CASES,
    LEVELS,
    bound,
    measure_plain_fits,
    population,
    records_of,
    reduce_cases,
    requirements,
)
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import QUICK

_N_REDRAWS, _N_QUICK = 60, 20

_MAX_SMALL = 2_500
"""Samples up to which a cell counts as small."""

SIZES = {
    "mislabelled": 800,
    "30 columns": 1_000,
    "60 columns": 1_200,
    "misspecified": 1_200,
    "ties": 1_500,
    "label shift": 1_500,
    "40 columns": 2_000,
    "weights": 2_000,
    "5 columns": 4_000,
    "unequal noise": 4_000,
    "30 columns, opportunity": 4_000,
    "5 unequal groups": 5_000,
    "a group of 2 %": 5_000,
    "6 groups": 6_000,
    "two attributes": 8_000,
    "8 groups": 8_000,
}
"""Samples of each fit, by population."""

KINDS = ("demographic_parity", "equal_opportunity", "error_rate_parity")

FACTORS = ("0.95", "1.0", "1.1")
"""Tolerances, in multiples of the plain gap."""


def name_cell(kind, name, factor):
    """The name of a cell among `CASES`."""
    return f"model: {kind}, {name} at {factor}"


CASES |= {
    name_cell(kind, name, factor): Case(name, n, kind, float(factor), unit="plain gap")
    for kind, factor, (name, n) in product(KINDS, FACTORS, SIZES.items())
}

_CELL = name_cell(KINDS[0], "30 columns", "1.0")


@smallest(populations, SIZE=2000)
@smallest(cases, **reduce_cases(400, _CELL))
@smallest(_N_REDRAWS=2, KINDS=KINDS[:1], FACTORS=("1.0",), SIZES={"30 columns": 400})
def guarantee_costs(budget):
    """Accuracy and selected share of guaranteed fits near the plain gap."""
    n_redraws = _N_QUICK if budget.fraction == QUICK.fraction else _N_REDRAWS
    fits = []
    for (name, n), kind, factor in product(SIZES.items(), KINDS, FACTORS):
        cell = name_cell(kind, name, factor)
        if budget.cells and not any(text in cell for text in budget.cells):
            continue
        records = records_of(cell, n_redraws, budget.recorded_only)
        if records:
            size = "small" if n <= _MAX_SMALL else "large"
            of_cell = {"size": size, "samples": f"{n:,}", "constraint": kind, "factor": factor}
            of_cell["in reach"] = _is_in_reach(cell)
            fits += [of_cell | _compare(one, level) for one in records for level in LEVELS]
        if (kind, factor) == (KINDS[-1], FACTORS[-1]):  # the last cell of a population
            population.cache_clear()
            bound.cache_clear()
    rows = [
        summarize(fits, level, **{key: value})
        for level, (key, values) in product(
            LEVELS,
            {
                "samples": ("1,000", "1,500"),
                "size": ("small", "large"),
                "constraint": KINDS,
                "factor": FACTORS,
            }.items(),
        )
        for value in values
    ]
    rows += [
        summarize(fits, level, constraint=kind, factor=factor)
        for level, kind, factor in product(LEVELS, KINDS, FACTORS)
    ]
    rows = [row for row in [*rows, *(summarize(fits, level) for level in LEVELS)] if row["redraws"]]
    return Report("Shares of redraws", rows, [check for row in rows for check in _check(row)])


def _is_in_reach(cell):
    """Whether the tolerance of a cell is at least the noise."""
    _, tolerance = requirements(cell)
    case = CASES[cell]._replace(tolerance=0.0, unit=None)
    return tolerance >= measure_plain_fits(case)["noise"]


def _compare(record, level):
    """A guaranteed fit of a redraw, compared with the fit without a guarantee."""
    plain, fit = record["plain"], record[str(level)]
    return fit | {
        "level": level,
        "accuracy lost": plain["accuracy"] - fit["accuracy"],
        "moved": abs(plain["selected"] - fit["selected"]),
        "selected before": plain["selected"],
        "time": fit["seconds"] / plain["seconds"],
    }


def summarize(fits, level, **values):
    """One line of the table: the fits of a level and of some values."""
    fits = [one for one in fits if values.items() <= one.items() and one["level"] == level]

    def mean(what, among=fits):
        return float(np.mean([one[what] for one in among])) if among else np.nan

    moved = np.array([one["moved"] for one in fits])
    near = [one for one in fits if not one["guaranteed"] and 0.8 <= one["probability"] < 0.95]
    return {
        "cells": ", ".join(values.values()) or "all",
        "level": level,
        "redraws": len(fits),
        "guaranteed": mean("guaranteed"),
        "broken": sum(one["guaranteed"] and not one["kept"] for one in fits) / max(1, len(fits)),
        "2 s.e.": 2.0 * np.sqrt((1.0 - level) * level / max(1, len(fits))),
        "in reach": mean("in reach"),
        "accuracy lost": mean("accuracy lost", [one for one in fits if one["in reach"]]),
        "selected before": mean("selected before"),
        "selected": mean("selected"),
        "moved by .1": float(np.mean(moved > 0.1)) if fits else np.nan,
        "moved by .3": float(np.mean(moved > 0.3)) if fits else np.nan,
        "time / fit": float(np.median([one["time"] for one in fits])) if fits else np.nan,
        "refused near": len(near),
        "stated": mean("probability", near),
        "kept of these": mean("kept", near),
    }


def _check(row):
    """Checks of a line of the table."""
    level = row["level"]
    name = f"{row['cells']} at {row['level']:g}"
    allowed = round(1.0 - level + row["2 s.e."], 4)
    return [Check(f"broken, {name}", [row["broken"]], "<=", allowed)]
