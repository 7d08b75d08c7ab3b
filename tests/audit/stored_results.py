"""Numbers of audits of random data, stored, so that a change of code that changes one is noticed.

``python -m tests.audit.stored_results --record`` stores the numbers of this checkout, and
``--check`` compares every number of this checkout with them, in every bit. The test compares one
sum of each column, to a tolerance that other processors and versions of SciPy meet.
"""

import hashlib
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    MaximumRate,
    MinimumRate,
    RateParity,
)
from tests.audit.doors import (
    certify_predictions,
    compare_models,
    compare_periods,
    report_predictions,
    search_predictions,
)

FILE = Path(__file__).with_name("stored_results.json")
SEEDS = range(10)

CONSTRAINTS = (
    ("demographic_parity", 0.1),
    ("equal_opportunity", 0.15),
    ("equalized_odds", 0.2),
    (DemographicParity(ratio=0.7), None),
    (MinimumRate("true_positive_rate", 0.3), None),
    (MaximumRate("false_positive_rate", 0.7), None),
    (RateParity("positive_predictive_value"), 0.2),
    (DemographicParity(attributes="each"), 0.15),
    (DemographicParity(reference="overall"), 0.1),
    (EqualizedOdds(aggregate="sum"), 0.5),
    (RateParity("f1_score"), 0.3),
)


def draw_data(seed):
    """Outcomes, decisions of two models, scores, groups and weights (None or an array)."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(150, 1200))
    n_attributes = 1 + seed % 3
    groups = pd.DataFrame(
        {f"a{j}": rng.choice(list("pqrs")[: 2 + j], n) for j in range(n_attributes)}
    )
    is_first = (groups["a0"] == "p").to_numpy()
    y_true = (rng.random(n) < 0.4 + 0.1 * is_first).astype(int)
    noise = rng.normal(size=(2, n))
    scores = np.clip(0.3 + 0.3 * y_true + 0.08 * is_first + 0.2 * noise[0], 0.0, 1.0).round(2)
    decisions = (scores > 0.5).astype(int)
    others = (scores + 0.1 * noise[1] > 0.5).astype(int)
    integers = rng.integers(1, 4, n).astype(float)
    real = rng.gamma(2, size=n)
    weights = [None, None, np.full(n, 2.5), integers, real][seed % 5]
    if seed % 10 == 9:
        groups = sparse.csr_array(rng.random((n, 3)) < 0.4)
    return y_true, decisions, others, scores, groups, weights


def make_tables(seed):
    """Tables of all audits of one data set, by name."""
    y_true, decisions, others, scores, groups, weights = draw_data(seed)
    data = {"sensitive_features": groups}
    data |= {} if weights is None else {"sample_weight": weights}
    report = report_predictions(y_true, decisions, **data)
    tables = {"report": report.frame, "gaps": report.gaps}
    with_scores = report_predictions(y_true, decisions, y_proba=scores, **data)
    tables |= {"scores": with_scores.frame, "reliability": with_scores.reliability}
    certificates = [_certify(y_true, decisions, *one, data) for one in CONSTRAINTS]
    tables["certificates"] = pd.DataFrame(certificates)
    if sparse.issparse(groups):
        return tables
    k = len(y_true) // 4
    tables["top"] = report_predictions(y_true, None, y_score=scores, k=k, **data).frame
    if report.counts_samples:
        tables["adverse impact"] = report.adverse_impact()
        published = report_predictions(y_true, decisions, min_published=5, **data)
        tables["published"] = published.frame
    # Changes of two halves, and of two models.
    halves = [slice(0, len(y_true) // 2), slice(len(y_true) // 2, None)]
    columns = {"y_true": y_true, "y_pred": decisions} | data
    periods = compare_periods(
        *({name: one[half] for name, one in columns.items()} for half in halves)
    )
    models = compare_models(y_true, decisions, others, **data)
    tables |= {"changes of periods": periods.frame, "gaps of periods": periods.gaps}
    tables |= {"changes of models": models.frame, "gaps of models": models.gaps}
    tables["moves"] = models.moves
    ages = np.random.default_rng(seed).integers(18, 65, len(y_true))
    result = search_predictions(
        y_true,
        decisions,
        sensitive_features=groups.assign(age=ages),
        metrics=["selection_rate", "true_positive_rate"],
    )
    return tables | {
        "subgroups": result.flagged,
        "searches": result.searches.drop(columns="left_out"),
    }


def _certify(y_true, decisions, constraint, tolerance, data):
    """Fields of a certificate, or the first words of the error."""
    try:
        certificate = certify_predictions(
            y_true, decisions, constraint=constraint, tolerance=tolerance, **data
        )
    except ValueError as error:
        return {"unit": f"ValueError: {error}"[:60]}
    values = vars(certificate) | {"n_missing": certificate.n_missing.get("group", 0)}
    return {
        name.replace("n_missing", "n_unknown"): value
        if isinstance(value, int | float | str | None)
        else str(value)
        for name, value in values.items()
        if name not in ("constraint", "reading", "source", "min_published", "unpublished")
    }


def summarize(tables):
    """Sum of each column with factors that differ by row, and digest of its bits, by name."""
    summary = {}
    for title, table in tables.items():
        for name in table:
            column = table[name]
            total = 0.0
            text = ",".join(map(str, column))
            is_number = pd.api.types.is_numeric_dtype(column) and column.dtype != bool
            if is_number:
                values = column.to_numpy(np.float64)
                is_finite = np.isfinite(values)
                factors = 1.0 + np.arange(len(values)) / max(1, len(values))
                total = float((values * factors)[is_finite].sum())
                text = ",".join(value.hex() for value in values.tolist())
            digest = hashlib.sha256(text.encode()).hexdigest()[:12]
            summary[f"{title}: {name}"] = [total, digest, bool(is_number)]
    return summary


def compute(seeds=SEEDS):
    """Summaries of all data sets, by seed as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {str(seed): summarize(make_tables(seed)) for seed in seeds}


def main(arguments):
    """Store the numbers of this checkout, or print those that differ from the stored ones."""
    computed = compute()
    if "--record" in arguments:
        lines = [f'"{seed}": {json.dumps(one)}' for seed, one in computed.items()]
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return 0
    stored = json.loads(FILE.read_text())
    n_different = 0
    for seed, columns in stored.items():
        for name, (total, digest, _) in columns.items():
            now = computed[seed].get(name, [None, None])
            if now[1] != digest:
                n_different += 1
                print(f"data set {seed}, {name}: {total!r} was stored, and is {now[0]!r}")
    print(f"{n_different} of {sum(map(len, stored.values()))} columns differ in a bit")
    return int(n_different > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
