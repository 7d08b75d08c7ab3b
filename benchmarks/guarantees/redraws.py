"""How often a guaranteed tolerance is violated in the population: fits to repeated samples.

The population is real data or a large generated data set. Every redraw takes a sample of it, fits
without a guarantee and at both levels, and computes the gaps in the population. Redraws are stored
in `FOLDER`, so that a stopped run can be resumed; delete it when the method has changed.
``python -m benchmarks.guarantees.redraws 100`` completes 100 redraws of each case, ten at a time;
names of cases may follow. ``python -m benchmarks redraw-levels`` makes 300 of each case, 200 around
any model, and ``python -m benchmarks redraw-kinds`` those of `KINDS`.
"""

import json
import sys
import warnings
from functools import cache
from time import process_time

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks.guarantees import populations
from benchmarks.guarantees.populations import (
    HOUSEHOLD,
    REAL,
    REPORTING,
    TUNING,
    Case,
    population_of,
)
from benchmarks.packages import is_installed
from benchmarks.sizes import smallest
from benchmarks.tables import FOLDER as FIGURES
from benchmarks.tables import Check, Report, record_table
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
)
from skfair.constraints import (
    CONSTRAINTS,
    BoundedGroupLoss,
    DemographicParity,
    EqualOpportunity,
    PartialStatisticalParity,
)
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid

FOLDER = FIGURES / "redraws"
"""One file per case; git ignores it."""

LEVELS = (0.95, 0.8)

_N_REDRAWS, _MAX_OF_ANY_MODEL = 300, 200
"""Redraws of a case by default, and the maximum around any model."""

_N_PLAIN = 40
"""Plain fits from which the plain gap and the noise of a cell are measured."""

_N_DRAWS = 10
"""Samples of each plain fit from which the noise is measured."""

_CHUNK = 10
_N_BINS = 20
_MIN_IN_BIN = 100
"""Redraws of a case at a time; bins of the reported probability; minimum fits of a checked bin."""

CASES = {
    "tuning: DP": Case("tuning: 30 columns", 2_000, "demographic_parity", 0.1),
    "tuning: separable": Case("tuning: separable", 2_000, "demographic_parity", 0.1),
    "tuning: loss": Case("tuning: mislabelled", 2_000, "loss_parity", 0.075),
    "tuning: 4 groups": Case("tuning: 4 groups", 4_000, "demographic_parity", 0.1),
    "60 columns": Case("60 columns", 1_200, "demographic_parity", 0.12),
    "5 columns": Case("5 columns", 10_000, "demographic_parity", 0.05),
    "12 groups": Case("12 groups", 9_600, "demographic_parity", 0.15),
    "a group of 2 %": Case("a group of 2 %", 6_000, "demographic_parity", 0.15),
    "ties, FPR": Case("ties", 3_000, "false_positive_rate_parity", 0.08),
    "ties, conditional": Case("ties", 4_000, DemographicParity(control_features=0), 0.15),
    "weights": Case("weights", 3_000, "demographic_parity", 0.1),
    "separable": Case("separable", 1_500, "demographic_parity", 0.12),
    "misspecified, odds": Case("misspecified", 4_000, "equalized_odds", 0.12),
    "label shift, errors": Case("label shift", 4_000, "error_rate_parity", 0.06),
    "label shift, DP": Case("label shift", 3_000, "demographic_parity", 0.12),
    "5 unequal groups, EOpp": Case("5 unequal groups", 8_000, "equal_opportunity", 0.2),
    "two constraints": Case(
        "60 columns", 4_000, [DemographicParity(tolerance=0.1), EqualOpportunity()], 0.12
    ),
    "loss parity": Case("mislabelled", 2_000, "loss_parity", 0.08),
    "bounded loss": Case("label shift", 4_000, BoundedGroupLoss(0.56), 0.56),
    "partial parity": Case(
        "label shift", 4_000, PartialStatisticalParity((0.2, 0.7), scale="raw"), 0.1
    ),
    "Adult": Case("Adult", 5_000, "demographic_parity", 0.05),
    "COMPAS": Case("COMPAS", 3_000, "demographic_parity", 0.1),
    "ACS": Case("ACS", 10_000, "demographic_parity", 0.05),
    "bank": Case("bank", 10_000, "demographic_parity", 0.05),
    "law school": Case("law school", 8_000, "demographic_parity", 0.1),
    "logistic regression": Case("60 columns", 2_000, "demographic_parity", 0.1, "logistic"),
    "forest": Case("misspecified", 2_000, "demographic_parity", 0.12, "forest"),
    "boosting": Case("label shift", 2_000, "demographic_parity", 0.12, "boosting"),
    "30 columns, EOpp": Case("30 columns, opportunity", 2_000, "equal_opportunity", 0.15),
    "30 columns, FPR": Case("30 columns", 2_000, "false_positive_rate_parity", 0.1),
    "40 columns, FPR": Case("40 columns", 2_000, "false_positive_rate_parity", 0.12),
    "each attribute": Case("two attributes", 4_000, DemographicParity(attributes="each"), 0.07),
    "intersections": Case("two attributes", 4_000, "demographic_parity", 0.1),
    "perceptron": Case("misspecified", 3_000, "demographic_parity", 0.1, "perceptron"),
    "perceptron, EOpp": Case("30 columns", 3_000, "equal_opportunity", 0.12, "perceptron"),
    "torch": Case("misspecified", 3_000, "demographic_parity", 0.1, "torch"),
    "torch, 30 columns": Case("30 columns", 3_000, "demographic_parity", 0.2, "torch"),
    "ratio: 5 columns": Case("5 columns", 4_000, DemographicParity(ratio=0.8), 0.0),
    "ratio: label shift": Case("label shift", 4_000, DemographicParity(ratio=0.8), 0.0),
}
"""Cases by name. Those of ratios are reported by ``python -m benchmarks rate-ratios``; cells, at
multiples of the plain gap, are added below."""

CELLS = {
    "demographic parity": {
        "30 columns": Case("30 columns", 2_000, "demographic_parity"),
        "6 groups": Case("6 groups", 5_000, "demographic_parity"),
        "8 groups": Case("8 groups", 8_000, "demographic_parity"),
        "rare positives": Case("rare positives", 20_000, "demographic_parity"),
        "36 rows": Case("36 rows", 2_000, "demographic_parity"),
    },
    "equal opportunity": {
        "30 columns": Case("30 columns, opportunity", 2_000, "equal_opportunity"),
        "40 columns": Case("40 columns", 3_000, "equal_opportunity"),
        "60 columns": Case("60 columns", 4_000, "equal_opportunity"),
        "6 groups": Case("6 groups", 6_000, "equal_opportunity"),
        "rare positives": Case("rare positives", 20_000, "equal_opportunity"),
    },
    "false positive rates": {
        "30 columns": Case("30 columns", 2_000, "false_positive_rate_parity"),
        "ties": Case("ties", 3_000, "false_positive_rate_parity"),
    },
    "equalized odds": {
        "5 columns": Case("5 columns", 4_000, "equalized_odds"),
        "misspecified": Case("misspecified", 4_000, "equalized_odds"),
    },
    "error rates": {
        "30 columns": Case("unequal noise", 2_000, "error_rate_parity"),
        "label shift": Case("label shift", 4_000, "error_rate_parity"),
        "36 rows": Case("36 rows", 3_000, "error_rate_parity"),
    },
    "losses": {
        "30 columns": Case("unequal noise", 2_000, "loss_parity"),
        "10 columns": Case("noise, 10 columns", 2_000, "loss_parity"),
        "mislabelled": Case("mislabelled", 2_000, "loss_parity"),
        "6 groups": Case("6 groups", 5_000, "loss_parity"),
    },
    "largest loss": {"label shift": Case("label shift", 4_000, BoundedGroupLoss(1.0))},
    "conditional parity": {
        "ties": Case("ties", 4_000, DemographicParity(control_features=0)),
        "36 rows": Case("36 rows", 4_000, DemographicParity(control_features=0)),
    },
    "partial parity": {
        "36 rows": Case("36 rows", 4_000, PartialStatisticalParity((0.2, 0.7))),
        "48 rows": Case("48 rows", 4_000, PartialStatisticalParity((0.2, 0.7))),
        "label shift": Case("label shift", 4_000, PartialStatisticalParity((0.2, 0.7))),
    },
    "ratios": {
        "5 columns": Case("5 columns", 4_000, DemographicParity(ratio=0.8)),
        "label shift": Case("label shift", 4_000, DemographicParity(ratio=0.8)),
    },
    "households": {"groups": Case("households", 3_000, "demographic_parity")},
}
"""Samples of each kind, at tolerances `TOLERANCES`; pooled over populations at one tolerance."""

TOLERANCES = {
    "0.95": (0.95, "plain gap"),
    "1.1": (1.1, "plain gap"),
    "0.8": (0.8, "plain gap"),
    "0.6": (0.6, "plain gap"),
    "1.4": (1.4, "plain gap"),
    "noise": (2.0, "noise"),
}
"""Tolerances of cells: multiples of the plain gap, the nearest first, and twice the noise."""


def name_cell(kind, name, tolerance):
    """The name of a cell among `CASES`."""
    return f"cell: {kind}, {name} at {tolerance}"


CASES |= {
    name_cell(kind, name, tolerance): case._replace(tolerance=multiple, unit=unit)
    for tolerance, (multiple, unit) in TOLERANCES.items()
    for kind, cases in CELLS.items()
    for name, case in cases.items()
    # A bound of a loss is no gap: no model has a loss of twice the noise.
    if (kind, tolerance) != ("largest loss", "noise")
}

KINDS = {
    "30 columns, EOpp": 100,
    "30 columns, FPR": 100,
    "40 columns, FPR": 100,
    "each attribute": 100,
    "intersections": 100,
    "perceptron": 60,
    "perceptron, EOpp": 60,
    "torch": 60,
    "torch, 30 columns": 60,
}
"""Redraws of cases that ``python -m benchmarks redraw-kinds`` reports; networks take longer."""

_APART = ("tuning", "ratio", "cell", "model", *KINDS)
"""Prefixes of the names of cases that ``python -m benchmarks redraw-levels`` does not report."""

_BASES = {
    "logistic": lambda: LogisticRegression(),
    "forest": lambda: RandomForestClassifier(50, min_samples_leaf=5, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(
        max_iter=20, max_leaf_nodes=8, random_state=0
    ),
}


@cache
def population(name, n_samples=None):
    """The population of a name, or its first `n_samples` samples: `Samples`."""
    columns = (TUNING | REPORTING)[name]()
    return population_of(*(column[:n_samples] for column in columns))


def _population_of(case):
    """The population of a case; forests score a smaller one."""
    return population(case.population, 20_000 if case.model in _BASES else None)


@cache
def requirements(name):
    """The constraints and the tolerance of a case: of a cell, from its plain gap or its noise.

    A ratio leaves no tolerance to set.
    """
    case = CASES[name]
    tolerance, constraint = case.tolerance, case.constraint
    if case.unit is not None:
        tolerance *= measure_plain_fits(case._replace(tolerance=0.0, unit=None))[case.unit]
        if isinstance(constraint, BoundedGroupLoss):
            constraint = BoundedGroupLoss(tolerance)
        elif getattr(constraint, "ratio", None) is not None:
            constraint = DemographicParity(ratio=max(0.0, 1.0 - tolerance))
    return constraint, None if getattr(constraint, "ratio", None) is not None else tolerance


@cache
def measure_plain_fits(case):
    """Mean gap of plain fits in the population, and the gap that samples of a fair model show.

    The noise is the .9 quantile of that gap: for the difference of two rates 1.645 standard errors.
    Rates of a fair model are equal in the population, and their errors are those of a plain fit. A
    gap of many groups or cells is the largest of many differences, and that of a ratio is relative
    to the rates, so errors of the plain fit's gap, of which one difference is by far the largest,
    would say nothing about fair models. Of ranks, which have no rates, they must do. The samples
    are others than those of the redraws.
    """
    samples = population(case.population)
    (constraint,) = bind_all(case.constraint, 1.0, samples)
    gaps = []
    errors = []
    chance = []
    for seed in range(_N_PLAIN):
        rows = _draw_rows(case, len(samples.target), [8, seed])
        model = ConstrainedERMClassifier(None).fit(samples.X[rows], samples.target[rows] > 0)
        scores = model.decision_function(samples.X)
        gaps.append(constraint.value(scores))
        if constraint.sums.metric_input == "ranks":
            errors.append(constraint.take(rows).value(scores[rows]) - gaps[-1])
            continue
        rates = constraint.sums.exact_means(scores)
        fair = constraint.gap.rescale_means(rates, 0.0)
        for draw in range(_N_DRAWS):
            rows = _draw_rows(case, len(samples.target), [9, seed, draw])
            drawn = constraint.sums.take(rows).exact_means(scores[rows])
            chance.append(constraint.gap(fair + drawn - rates))
    noise = np.quantile(chance, 0.9) if chance else 1.645 * np.std(errors, ddof=1)
    return {"plain gap": float(np.mean(gaps)), "noise": float(noise)}


def bind_all(constraint, tolerance, samples):
    """One or several constraints on a population."""
    names = constraint if isinstance(constraint, list) else [constraint]
    constraints = [CONSTRAINTS[one]() if isinstance(one, str) else one for one in names]
    return [one.bind(samples, Sigmoid(), LogisticLoss(), tolerance) for one in constraints]


@cache
def bound(name):
    """The constraints of a case, on its population."""
    return bind_all(*requirements(name), _population_of(CASES[name]))


def _draw_rows(case, n_rows, seed):
    """Rows of a sample of the population's `n_rows`; households are drawn as a whole."""
    rng = np.random.default_rng(seed)
    if case.population != "households":
        return rng.integers(n_rows, size=case.n_samples)
    first = HOUSEHOLD * rng.integers(n_rows // HOUSEHOLD, size=case.n_samples // HOUSEHOLD)
    return (first[:, np.newaxis] + np.arange(HOUSEHOLD)).ravel()


def redraw(name, seed):
    """Fit one sample without a guarantee and at every level; evaluate fits in the population."""
    case = CASES[name]
    samples = _population_of(case)
    rows = _draw_rows(case, len(samples.target), [7, seed])
    record = {"seed": seed, "plain": _fit(name, samples, rows, None)}
    return record | {str(level): _fit(name, samples, rows, level) for level in LEVELS}


def _classifier(case):
    """The classifier of a case, with its own constraint."""
    if case.model == "perceptron":
        return ConstrainedMLPClassifier(random_state=0)
    if case.model == "torch":
        from skfair.torch import ConstrainedTorchClassifier  # needs PyTorch, an extra

        return ConstrainedTorchClassifier(random_state=0)
    if case.model in _BASES:
        cv = "oob" if case.model == "forest" else 5
        return ConstrainedClassifierCV(_BASES[case.model](), cv=cv)
    return ConstrainedERMClassifier()


def _fit(name, samples, rows, level):
    case = CASES[name]
    constraint, tolerance = requirements(name)
    model = _classifier(case).set_params(
        constraint=constraint, tolerance=tolerance, confidence_level=level
    )
    metadata = {"groups": rows // HOUSEHOLD} if case.population == "households" else {}
    labels = samples.groups.attribute_codes_of_groups()[0][samples.groups.codes[rows]]
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where nothing can be guaranteed, the status says so
        model.fit(
            samples.X[rows],
            samples.target[rows] > 0,
            sensitive_features=labels,
            sample_weight=samples.weights[rows],
            **metadata,
        )
    seconds = process_time() - start
    scores = model.decision_function(samples.X)
    decisions = scores > 0
    gaps = np.array([part.value(scores) for part in bound(name)])
    return {
        "probability": np.nan if level is None else model.guarantee_probability_,
        "guaranteed": model.verdict_ == "shown",
        "kept": bool((gaps <= [part.tolerance for part in bound(name)]).all()),
        "limit kept": bool((gaps <= np.array(model.guaranteed_tolerances_, dtype=float)).all()),
        "accuracy": float(np.average(decisions == (samples.target > 0), weights=samples.weights)),
        "selected": float(np.average(decisions, weights=samples.weights)),
        "is_constant": bool(decisions.all() or not decisions.any()),
        "seconds": seconds,
    }


def records_of(name, n_redraws, recorded_only=False):
    """The first redraws of a case; missing ones are made, unless only stored ones are wanted."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.jsonl"
    known = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    if recorded_only:
        return known[:n_redraws]
    if len(known) < n_redraws and name not in _compiled:
        redraw(name, 0)  # compiles, so that no timing includes it
        _compiled.add(name)
    with path.open("a") as file:
        for seed in range(len(known), n_redraws):
            known.append(redraw(name, seed))
            file.write(json.dumps(known[-1]) + "\n")
            file.flush()
    return known[:n_redraws]


_compiled = set()


def summary(name, records, level):
    """One line of the table: shares among the redraws of a case, at a level."""
    plain, fits = ([one[key] for one in records] for key in ("plain", str(level)))

    def mean(fits, what):
        return float(np.mean([fit[what] for fit in fits]))

    broken = float(np.mean([fit["guaranteed"] and not fit["kept"] for fit in fits]))
    times = [fit["seconds"] for fit in fits], [fit["seconds"] for fit in plain]
    return {
        "case": name,
        "level": level,
        "redraws": len(records),
        "plain: broken": 1.0 - mean(plain, "kept"),
        "guaranteed": mean(fits, "guaranteed"),
        "guaranteed and broken": broken,
        "2 s.e.": 2.0 * np.sqrt((1.0 - level) * level / len(records)),
        "probability": mean(fits, "probability"),
        "kept": mean(fits, "kept"),
        "accuracy": mean(fits, "accuracy"),
        "accuracy lost": mean(plain, "accuracy") - mean(fits, "accuracy"),
        "constant": mean(fits, "is_constant"),
        "time / plain": float(np.median(times[0]) / np.median(times[1])),
    }


def reliability(fits):
    """Reported probability and frequency of met tolerances, by bins; a list of dicts."""
    probability, is_met = (np.array([fit[key] for fit in fits]) for key in ("probability", "kept"))
    bins = np.minimum((probability * _N_BINS).astype(int), _N_BINS - 1)
    return [
        {
            "reported from": number / _N_BINS,
            "fits": int((bins == number).sum()),
            "mean reported": float(probability[bins == number].mean()),
            "kept": float(is_met[bins == number].mean()),
        }
        for number in np.unique(bins).tolist()
    ]


def table(names, n_redraws, recorded_only=False):
    """Rows of every case and level and of all cases, and the reliability of all.

    Redraws are made ten of each case at a time. Of stored ones alone, cases without any are left
    out.
    """
    records = {}
    for n_made in [*range(_CHUNK, n_redraws, _CHUNK), n_redraws]:
        records = {name: records_of(name, _limit(name, n_made), recorded_only) for name in names}
    records = {name: fits for name, fits in records.items() if fits}
    everything = [one for fits in records.values() for one in fits]
    if everything:
        records["all"] = everything
    rows = [summary(name, fits, level) for name, fits in records.items() for level in LEVELS]
    fits = [one[str(level)] for one in everything for level in LEVELS]
    return rows, reliability(fits)


def _limit(name, n_redraws):
    """Number of redraws of a case; those around any model are limited, as they are slow."""
    return min(n_redraws, _MAX_OF_ANY_MODEL) if CASES[name].model in _BASES else n_redraws


def _check(rows):
    """Checks of the rows of single cases."""
    checks = []
    for row in rows:
        name = f"{row['case']} at {row['level']:g}"
        level = row["level"]
        allowed = round(1.0 - level + row["2 s.e."], 4)
        broken, time = [row["guaranteed and broken"]], [row["time / plain"]]
        is_slow = row["case"] in ("loss parity", "bounded loss", "partial parity")
        checks.append(Check(f"guaranteed and broken, {name}", broken, "<=", allowed))
        checks.append(Check(f"guaranteed, {name}", [row["guaranteed"]], ">=", 0.9))
        checks.append(Check(f"time / plain, {name}", time, "<=", 8.0 if is_slow else 5.0))
        if CASES[row["case"]].population in REAL:
            checks.append(Check(f"accuracy lost, {name}", [row["accuracy lost"]], "<=", 0.005))
    return checks


def reduce_cases(n_samples, *names):
    """Constants at the smallest size, with these cases of as many samples."""
    cases = {name: CASES[name]._replace(n_samples=n_samples) for name in names}
    return {"CASES": cases, "_N_REDRAWS": 1, "_N_PLAIN": 2, "_N_DRAWS": 2}


@smallest(populations, SIZE=2000)
@smallest(KINDS={"intersections": 1}, **reduce_cases(400, "intersections"))
def redraw_kinds(budget):
    """Violations of guaranteed tolerances by networks, on wide data, of several attributes."""
    rows = []
    for name, n_redraws in KINDS.items():
        if CASES[name].model == "torch" and not is_installed("torch"):
            continue
        records = records_of(name, max(1, round(n_redraws * budget.fraction)))
        rows += [summary(name, records, level) for level in LEVELS]
    return Report("Shares of redraws", rows, _check(rows))


def redraw_cases(budget):
    """Violations of guaranteed tolerances in redraws of the cases that are reported."""
    n_redraws = max(1, round(_N_REDRAWS * budget.fraction))
    names = [name for name in CASES if not name.startswith(_APART)]
    rows, bins = table(names, n_redraws, budget.recorded_only)
    checks = _check([row for row in rows if row["case"] != "all"])
    for row in [row for row in rows if row["case"] == "all"]:
        broken = [row["guaranteed and broken"]]
        level = row["level"]
        checks.append(Check(f"all cases at {level:g}", broken, "<=", round(1.0 - level, 4)))
    errors = [abs(one["kept"] - one["mean reported"]) for one in bins if one["fits"] >= _MIN_IN_BIN]
    checks.append(Check("reliability, bins of 100 fits", errors, "<=", 0.05))
    title = f"Proportions of redraws; fits by reported probability:\n{record_table(bins)}"
    return Report(title, rows, checks)


if __name__ == "__main__":
    reported = [name for name in CASES if not name.startswith(_APART)]
    selected = [name for name in CASES if name in sys.argv[2:]] or reported
    for records in table(selected, int(sys.argv[1])):
        print(record_table(records), end="\n\n")
