"""What a guarantee costs beside an oracle, and what a theorem costs beside the calibration.

The oracle is the linear classifier that is fitted to the whole population, at the tolerance or at
the gap that noise demands: the tolerance less 1.645 standard errors of the gap of so many samples.
Fits to samples have ``confidence_level=.95``. The theorem is that of `certify_in_order`: a ladder
of fits to one half of each sample, tested on the other half.
"""

import warnings

import numpy as np

from benchmarks.guarantees.populations import REPORTING, population_of
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.audit import Audit, certify_in_order
from skfair.classification import ConstrainedERMClassifier
from skfair.model_selection import fit_ladder

LEVEL = 0.95
N_REDRAWS = 200
SIZES = (1_000, 3_000, 10_000)
POPULATIONS = {
    "label shift": 0.12,
    "30 columns": 0.12,
    "5 columns": 0.05,
    "Adult": 0.1,
}
"""Tolerances of demographic parity by population; Adult is real data."""


@smallest(N_REDRAWS=2, SIZES=(1_000,), POPULATIONS={"5 columns": 0.1})
def guarantee_oracle(budget):
    """Accuracy lost to the level, the coefficients and the direction; and to a theorem."""
    n_redraws = max(2, round(N_REDRAWS * budget.fraction))
    records = []
    n_claims = n_false = 0
    for name, tolerance in POPULATIONS.items():
        population = population_of(*REPORTING[name]())
        ideal = _measure(_fit(population, slice(None), tolerance), population)
        free = _measure(_fit(population, slice(None), None), population)
        for n in SIZES:
            draws = [_redraw(population, n, tolerance, seed) for seed in range(n_redraws)]
            error = np.mean([one["error"] for one in draws])
            strict = max(tolerance - 1.645 * error, 0.001)
            oracle = _measure(_fit(population, slice(None), strict), population)
            level_cost = ideal["accuracy"] - oracle["accuracy"]
            coefficients = free["accuracy"] - np.mean([one["free"] for one in draws])
            calibrated = np.mean([one["accuracy"] for one in draws])
            shown = [one for one in draws if one["shown accuracy"] is not None]
            pairs = [one["accuracy"] - one["shown accuracy"] for one in shown]
            records.append(
                {
                    "population": name,
                    "samples": n,
                    "tolerance": tolerance,
                    "oracle": ideal["accuracy"],
                    "lost to level": level_cost,
                    "to coefficients": coefficients,
                    "to direction": oracle["accuracy"] - calibrated - coefficients,
                    "calibrated": calibrated,
                    "guaranteed": np.mean([one["is_guaranteed"] for one in draws]),
                    "false": np.mean([one["is_false"] for one in draws]),
                    "lost to the theorem": np.mean(pairs) if pairs else np.nan,
                    "shown": len(shown) / n_redraws,
                    "false of shown": np.mean([one["is_shown_false"] for one in draws]),
                }
            )
            n_claims += n_redraws
            n_false += sum(one["is_shown_false"] for one in draws)
    allowed = 1.0 - LEVEL + 2.0 * np.sqrt(LEVEL * (1.0 - LEVEL) / n_claims)
    checks = [Check("models shown that break the tolerance", [n_false / n_claims], "<=", allowed)]
    title = f"Linear classifiers at level {LEVEL}, {n_redraws} samples of each population and size"
    return Report(title, records, checks)


def _fit(samples, rows, tolerance, level=None):
    """A fit to rows of a population; without a tolerance it is unconstrained."""
    constraint = None if tolerance is None else "demographic_parity"
    model = ConstrainedERMClassifier(constraint, tolerance=tolerance, confidence_level=level)
    groups = None if tolerance is None else samples.groups.codes[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(samples.X[rows], samples.target[rows] > 0, sensitive_features=groups)


def _measure(model, population):
    """Accuracy, rates of groups and the gap of a model in the population."""
    decisions = model.predict(population.X)
    codes = population.groups.codes
    rates = np.array([decisions[codes == code].mean() for code in np.unique(codes)])
    accuracy = np.mean(decisions == (population.target > 0))
    return {"accuracy": accuracy, "gap": float(np.ptp(rates)), "rates": rates}


def _redraw(population, n, tolerance, seed):
    """What the fits to one sample of the population do there."""
    rng = np.random.default_rng([17, seed, n])
    rows = rng.choice(len(population.target), n)
    calibrated = _fit(population, rows, tolerance, LEVEL)
    measured = _measure(calibrated, population)
    codes = population.groups.codes
    sizes = n * np.bincount(codes) / len(codes)
    rates = measured["rates"]
    is_guaranteed = calibrated.guarantee_probability_ >= LEVEL
    # The theorem: half of the sample for a ladder, half for tests.
    train, test = rows[: n // 2], rows[n // 2 :]
    held_out = {"sensitive_features": codes[test]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ladder = fit_ladder(
            ConstrainedERMClassifier("demographic_parity", tolerance=tolerance),
            population.X[train],
            population.target[train] > 0,
            sensitive_features=codes[train],
        )
        audits = [
            Audit.from_predictions(None, model.predict(population.X[test]), **held_out)
            for model in ladder
        ]
        position, _ = certify_in_order(
            audits, "demographic_parity", tolerance, confidence_level=LEVEL
        )
    shown = None if position is None else _measure(ladder[position], population)
    return {
        "error": np.sqrt(np.sort(rates * (1.0 - rates) / sizes)[-2:].sum()),
        "free": _measure(_fit(population, rows, None), population)["accuracy"],
        "accuracy": measured["accuracy"],
        "is_guaranteed": is_guaranteed,
        "is_false": is_guaranteed and measured["gap"] > tolerance,
        "shown accuracy": None if shown is None else shown["accuracy"],
        "is_shown_false": shown is not None and shown["gap"] > tolerance,
    }
