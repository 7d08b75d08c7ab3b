"""How often new people break a promised tolerance: fits of samples drawn again and again.

Real data, or people made up in great number, are taken as the population: every redraw takes a
sample of it, fits, and counts the gap among all. Redraws are kept in `FOLDER` as they come, so that
one can stop and go on; delete it when the method has changed. ``python -m benchmarks.redraws 100``
makes 100 of each case, or as many as are missing.
"""

import json
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from benchmarks.erm_cases import _data
from benchmarks.tables import Check, Report, record_table
from benchmarks.timing import timed
from skfair.classification import ConstrainedERMClassifier
from skfair.metrics import demographic_parity_difference, equal_opportunity_difference

FOLDER = Path(__file__).parent / "figures" / "redraws"
"""One file per case; git ignores it."""

CONFIDENCE = 0.95
N_POPULATION = 100_000
GAPS = {
    "demographic_parity": demographic_parity_difference,
    "equal_opportunity": equal_opportunity_difference,
}


class Population(NamedTuple):
    """Everybody, and what is drawn of them and asked."""

    people: object  # () -> X, y, groups
    n_samples: int
    constraint: str
    tolerance: float


def gaussian(n_groups, n_columns=10):
    """Groups whose means differ, and whose outcomes follow the same law."""
    rng = np.random.default_rng(n_groups)
    centers = rng.normal(scale=0.5, size=(n_groups, n_columns))
    groups = rng.integers(n_groups, size=N_POPULATION)
    X = rng.normal(size=(N_POPULATION, n_columns)) + centers[groups]
    slopes = rng.normal(size=n_columns) / np.sqrt(n_columns)
    y = 2.0 * X @ slopes + rng.logistic(size=N_POPULATION) > 0
    return X, y.astype(int), groups


CASES = {
    "Adult 5k": Population(lambda: _data("Adult"), 5_000, "demographic_parity", 0.05),
    "Adult 10k": Population(lambda: _data("Adult"), 10_000, "equal_opportunity", 0.1),
    "COMPAS 3k": Population(lambda: _data("COMPAS"), 3_000, "demographic_parity", 0.1),
    "2 Gaussians 1k": Population(lambda: gaussian(2), 1_000, "demographic_parity", 0.1),
    "4 Gaussians 4k": Population(lambda: gaussian(4), 4_000, "demographic_parity", 0.1),
    "10 Gaussians 20k": Population(lambda: gaussian(10), 20_000, "demographic_parity", 0.1),
    "ACS 10k": Population(lambda: _data("ACSIncome"), 10_000, "demographic_parity", 0.05),
    "bank 10k": Population(lambda: _data("Bank"), 10_000, "demographic_parity", 0.05),
    "law school 8k": Population(lambda: _data("law school"), 8_000, "demographic_parity", 0.1),
}


@cache
def population(name):
    """Everybody of a case: X, y, groups."""
    return CASES[name].people()


def redraw(name, seed):
    """Fit one sample in every way, and look at everybody."""
    case, (X, y, groups) = CASES[name], population(name)
    rows = np.random.default_rng([7, seed]).integers(len(y), size=case.n_samples)
    half = len(rows) // 2
    common = {"constraint": case.constraint, "tolerance": case.tolerance}
    fits = {
        "plain": lambda: _fit(common, X, y, groups, rows),
        "promise": lambda: _fit(common | {"confidence_level": CONFIDENCE}, X, y, groups, rows),
        "split": lambda: _fit_half(common, X, y, groups, rows[:half], rows[half:]),
    }
    record = {"seed": seed}
    for method, fit in fits.items():
        (model, promised), seconds = timed(fit)
        decisions = model.predict(X)
        gap = GAPS[case.constraint](y, decisions, sensitive_features=groups)
        record[method] = {
            "promised": promised,
            "broken": bool(gap > case.tolerance),
            "accuracy": float((decisions == y).mean()),
            "seconds": seconds,
        }
    return record


def _fit(parameters, X, y, groups, rows):
    model = ConstrainedERMClassifier(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where nothing can be promised, the status says so
        model.fit(X[rows], y[rows], sensitive_features=groups[rows])
    return model, model.status_ not in ("uncertain", "infeasible")


def _fit_half(parameters, X, y, groups, rows, others):
    """As the Seldonian toolkit does: a candidate of one half, and a test by the other one.

    The candidate is held to the tolerance less twice the margin that the test will want; the test
    is Newcombe's limit of each pair's difference (P. Thomas et al., Preventing undesirable behavior
    of intelligent machines, Science 366, 2019).
    """
    model, _ = _fit(parameters, X, y, groups, rows)
    limit, gap = _upper_limit(parameters["constraint"], model, X[others], y[others], groups[others])
    inner = max(0.0, parameters["tolerance"] - 2.0 * (limit - gap))
    model, _ = _fit(parameters | {"tolerance": inner}, X, y, groups, rows)
    limit, _ = _upper_limit(parameters["constraint"], model, X[others], y[others], groups[others])
    return model, bool(limit <= parameters["tolerance"])


def _upper_limit(constraint, model, X, y, groups):
    """Upper limit of the gap, by people whom the model has not seen, and the gap."""
    z = norm.ppf(CONFIDENCE)
    decisions, inside = model.predict(X), (y == 1) | (constraint == "demographic_parity")
    _, codes = np.unique(groups[inside], return_inverse=True)
    n = np.bincount(codes)
    rates = np.bincount(codes, decisions[inside]) / n
    middle = (rates + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(rates * (1 - rates) / n + z**2 / (4 * n**2))
    above, below = middle + reach - rates, rates - middle + reach
    pairs = np.subtract.outer(rates, rates) + np.hypot.outer(above, below)
    np.fill_diagonal(pairs, 0.0)
    return float(pairs.max()), float(np.ptp(rates))


def records_of(name, n_redraws):
    """The first redraws of a case, those that are missing made now."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.jsonl"
    known = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    if len(known) < n_redraws and not known:
        redraw(name, 0)  # nobody's time is that of compiling
    with path.open("a") as file:
        for seed in range(len(known), n_redraws):
            known.append(redraw(name, seed))
            file.write(json.dumps(known[-1]) + "\n")
            file.flush()
    return known[:n_redraws]


def summary(name, records):
    """One line of the table: shares among the redraws."""

    def mean(method, what):
        return float(np.mean([record[method][what] for record in records]))

    def broken(method):
        return float(
            np.mean([one[method]["broken"] and one[method]["promised"] for one in records])
        )

    ratio = [one["promise"]["seconds"] / one["plain"]["seconds"] for one in records]
    share = broken("promise")
    return {
        "population": name,
        "asked": f"{CASES[name].constraint} {CASES[name].tolerance:g}",
        "redraws": len(records),
        "plain: above": mean("plain", "broken"),
        "broken": share,
        "2 s.e.": 2.0 * np.sqrt(max(share, 0.01) * (1.0 - share) / len(records)),
        "promised": mean("promise", "promised"),
        "accuracy": mean("promise", "accuracy"),
        "less than plain": mean("plain", "accuracy") - mean("promise", "accuracy"),
        "time / plain": float(np.median(ratio)),
        "split: broken": broken("split"),
        "split: promised": mean("split", "promised"),
        "split: accuracy": mean("split", "accuracy"),
    }


def redraws(budget):
    """Promised to new people and broken: redraws of populations, with and without confidence."""
    n_redraws = round(100 * budget.n_runs * budget.share)
    rows = [summary(name, records_of(name, n_redraws)) for name in CASES]
    checks = []
    for row in rows:
        name = row["population"]
        allowed = 1.0 - CONFIDENCE + row["2 s.e."]
        checks += [
            Check(f"promised and broken, {name}", [row["broken"]], "<=", round(allowed, 4)),
            Check(f"promised, {name}", [row["promised"]], ">=", 0.95),
            Check(f"time / plain, {name}", [row["time / plain"]], "<=", 5.0),
        ]
        if "Gaussians" not in name:
            lost = [row["less than plain"]]
            checks.append(Check(f"accuracy lost, {name}", lost, "<=", 0.005))
    title = "Shares of redraws whose population is above the tolerance; accuracy of everybody"
    return Report(title, rows, checks)


if __name__ == "__main__":
    wanted = [name for name in CASES if name in sys.argv[2:]] or list(CASES)
    print(record_table([summary(name, records_of(name, int(sys.argv[1]))) for name in wanted]))
