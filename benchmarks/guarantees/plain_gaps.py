"""How often guarantees are false where a tolerance is near the gap of the plain fit.

There a guarantee is hardest: samples whose gap is small by chance seem to need no constraint. Each
kind of constraint is fitted to redraws of several populations, at multiples of the plain gap and at
twice the noise. Shares are pooled over the populations of a kind at one tolerance and level, and
never over tolerances, among which easy ones would hide the others.

``python -m benchmarks redraw-levels`` makes 300 redraws of each cell, the cells near the plain gap
first, and stores each redraw, so that a stopped run can be resumed. ``--quick`` makes 40 redraws,
and ``--cells losses 0.95`` only the cells whose name contains one of these texts.
"""

import numpy as np

from benchmarks.guarantees import populations
from benchmarks.guarantees import redraws as cases
from benchmarks.guarantees.redraws import (
    CASES,
    CELLS,
    LEVELS,
    TOLERANCES,
    bound,
    name_cell,
    population,
    records_of,
    redraw_cases,
)
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report, join_reports
from benchmarks.timing import QUICK

_N_REDRAWS, _N_QUICK = 300, 40

_MOST = 0.85
"""Share of guaranteed fits from which on the share of false ones among them is checked."""


_CELL = name_cell("losses", "mislabelled", "0.95")


@smallest(populations, SIZE=2000)
@smallest(cases, **cases.reduce_cases(400, "label shift, DP", _CELL))
@smallest(_N_REDRAWS=1, TOLERANCES={"0.95": None}, CELLS={"losses": {"mislabelled": CASES[_CELL]}})
def redraw_levels(budget):
    """Guarantees that redraws of populations break, at multiples of the plain gap and in cases."""
    report = cell_redraws(budget)
    return report if budget.cells else join_reports([report, redraw_cases(budget)])


def cell_redraws(budget):
    """Guarantees that redraws break, by kind of constraint, tolerance and level."""
    n_redraws = _N_QUICK if budget.fraction == QUICK.fraction else _N_REDRAWS
    rows = []
    for tolerance in TOLERANCES:
        for kind in CELLS:
            names = [name_cell(kind, name, tolerance) for name in CELLS[kind]]
            names = [name for name in names if name in CASES]
            chosen = [name for name in names if _is_chosen(name, budget.cells)]
            if chosen:
                records = [_records(name, n_redraws, budget.recorded_only) for name in chosen]
                rows += [pool(kind, tolerance, level, records) for level in LEVELS]
    title = "Shares of redraws, pooled over the populations of a kind at one tolerance"
    return Report(title, rows, [check for row in rows for check in _check(row)])


def _is_chosen(name, texts):
    return not texts or any(text in name for text in texts)


def _records(name, n_redraws, recorded_only):
    """The redraws of a cell; its population is then released."""
    records = records_of(name, n_redraws, recorded_only)
    population.cache_clear()
    bound.cache_clear()
    return records


def pool(kind, tolerance, level, cells):
    """One line of the table: shares among the redraws of several cells, at a level."""
    pairs = [(one["plain"], one[str(level)]) for records in cells for one in records]
    plain, fits = zip(*pairs, strict=True) if pairs else ((), ())

    def mean(what, among=None):
        chosen = [fit[what] for fit in (fits if among is None else among)]
        return float(np.mean(chosen)) if chosen else np.nan

    guaranteed = [fit for fit in fits if fit["guaranteed"]]
    refused = [fit for fit in fits if not fit["guaranteed"]]
    ratios = [
        np.median([one[str(level)]["seconds"] for one in records])
        / np.median([one["plain"]["seconds"] for one in records])
        for records in cells
        if records
    ]
    return {
        "kind": kind,
        "tolerance": tolerance,
        "level": level,
        "redraws": len(fits),
        "guaranteed": mean("guaranteed"),
        "broken / all": sum(not fit["kept"] for fit in guaranteed) / max(1, len(fits)),
        "broken / guaranteed": 1.0 - mean("kept", guaranteed),
        "2 s.e.": 2.0 * np.sqrt((1.0 - level) * level / max(1, len(fits))),
        "stated": mean("probability", guaranteed),
        "limit exceeded": 1.0 - mean("limit kept"),
        "of refused": 1.0 - mean("limit kept", refused),
        "accuracy lost": mean("accuracy", plain) - mean("accuracy"),
        "time / plain": float(np.median(ratios)) if ratios else np.nan,
        "largest": float(np.max(ratios)) if ratios else np.nan,
    }


def _check(row):
    """Checks of a line of the table."""
    if not row["redraws"]:
        return []
    level = row["level"]
    name = f"{row['kind']} at {row['tolerance']}, {row['level']:g}"
    allowed = round(1.0 - level + row["2 s.e."], 4)
    checks = [
        Check(f"broken / all, {name}", [row["broken / all"]], "<=", allowed),
        Check(f"time / plain, {name}", [row["largest"]], "<=", 6.0),
    ]
    if row["guaranteed"] >= _MOST:
        share = [row["broken / guaranteed"]]
        checks.append(Check(f"broken / guaranteed, {name}", share, "<=", allowed))
    if row["guaranteed"] < 1.0:
        # Few fits may be refused: theirs is the standard error of so many.
        n_refused = max(1.0, row["redraws"] * (1.0 - row["guaranteed"]))
        of_refused = 1.0 - level + 2.0 * np.sqrt((1.0 - level) * level / n_refused)
        share = [row["of refused"]]
        most = round(of_refused, 4)
        checks.append(Check(f"limit of refused exceeded, {name}", share, "<=", most))
    if row["tolerance"] == "noise" and level == max(LEVELS):
        checks.append(Check(f"guaranteed, {name}", [row["guaranteed"]], ">=", _MOST))
    return checks
