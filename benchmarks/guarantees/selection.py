"""How often a search with a bound at a confidence level selects a candidate that violates it."""

import warnings

import numpy as np
from scipy.special import stdtrit

from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.model_selection import best_subject_to

METRIC = "neg_demographic_parity_difference"
BOUND, GAP, RATE = 0.05, 0.055, 0.3
PER_GROUP = 400  # samples of each group in a test fold
N_FOLDS = 5
LEVEL = 0.95
N_SEARCHES = {5: 2000, 1: 200}  # of each case, by the runs of the budget


def accepted_share(n_candidates, correlation, n_searches, rng, gap=GAP):
    """Proportion of searches that select without a warning; all candidates have the same gap."""
    error = np.sqrt(2.0 * RATE * (1.0 - RATE) / PER_GROUP)
    accepted = 0
    for _ in range(n_searches):
        # Candidates have common test folds: the sampling errors of their gaps are correlated.
        common = rng.normal(size=(N_FOLDS, 1))
        single = rng.normal(size=(N_FOLDS, n_candidates))
        noise = np.sqrt(correlation) * common + np.sqrt(1.0 - correlation) * single
        gaps = np.abs(gap + error * noise)
        results = {f"split{k}_test_{METRIC}": -fold for k, fold in enumerate(gaps)}
        results |= {f"mean_test_{METRIC}": -gaps.mean(axis=0)}
        results |= {"mean_test_accuracy": rng.random(n_candidates)}
        accepted += _is_accepted(results)
    return accepted / n_searches


def _is_accepted(results):
    """Whether a candidate is selected without a warning, at `LEVEL`."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", InfeasibleConstraintWarning)
        try:
            best_subject_to(METRIC, BOUND, confidence_level=LEVEL)(results)
        except InfeasibleConstraintWarning:
            return False
    return True


@smallest(N_SEARCHES={1: 2})
def selection(budget):
    """Searches in which all candidates violate the bound, and in which all satisfy it.

    "t" is the quantile of Student's distribution in the limit of a mean.
    """
    n_searches = N_SEARCHES[1 if budget.n_runs == 1 else 5]
    records = []
    for n_candidates in (1, 5, 20, 100):
        for correlation in (0.0, 0.5, 0.9):
            rng = np.random.default_rng(0)
            record = {"candidates": n_candidates, "correlation": correlation}
            record["t"] = stdtrit(n_candidates * (N_FOLDS - 1), 1.0 - (1.0 - LEVEL) / n_candidates)
            for gap in (GAP, 0.0):
                share = accepted_share(n_candidates, correlation, n_searches, rng, gap)
                record[f"accepted, gap {gap:g}"] = share
            records.append(record)
    wrong = [record[f"accepted, gap {GAP:g}"] for record in records]
    title = (
        f"Bound {BOUND}, confidence {LEVEL}, {n_searches} searches of {N_FOLDS} folds with "
        f"{PER_GROUP} samples of each of two groups, rates of {RATE}"
    )
    return Report(title, records, [Check("violation without a warning", wrong, "<=", 0.05)])
