"""Adverse impact of selections: four-fifths rule, significance and shortfall of each group.

29 CFR 1607.4(D), the Uniform Guidelines on Employee Selection Procedures of the United States.
"""

import numpy as np
import pandas as pd
from scipy import stats

from skfair.audit._tables import OVERALL, is_missing_group

IMPACT_RATES = ("selection_rate", "scoring_rate")
"""Rates that the law compares by ratios: of decisions, and of scores above the median."""


def has_impact_ratio(metric):
    """Whether a metric is a rate that the law compares by ratios, perhaps of one class."""
    return metric.split(" of class ")[0] in IMPACT_RATES


def adverse_impact(frame, n_samples, min_share, hidden=()):
    """DataFrame of the comparisons with the most selected group, from the rows of a report.

    They are nan by the attributes `hidden` if the most selected group is not published.
    """
    rows = frame[(frame["attribute"] != OVERALL) & frame["metric"].map(has_impact_ratio)]
    tables = []
    for _, group_rows in rows.groupby(["metric", "attribute"], sort=False):
        table = group_rows[["attribute", "group", "metric", "n"]].reset_index(drop=True)
        table["n"] = table["n"].astype(int)
        table["n_selected"] = (
            (group_rows["n"] * group_rows["estimate"]).round().astype(int).to_numpy()
        )
        table["estimate"] = table["n_selected"] / table["n"]
        table["is_excluded"] = table["n"] < min_share * n_samples
        is_best_hidden = group_rows["impact_ratio"].isna().all() and (
            group_rows["attribute"].iloc[0] in hidden
        )
        compared = _compare_groups(table.assign(is_excluded=True) if is_best_hidden else table)
        tables.append(table.join(compared))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _compare_groups(table):
    """Columns of all groups against the most selected one; nan for excluded groups."""
    included = table[~table["is_excluded"]]
    columns = {name: np.full(len(table), np.nan) for name in _COMPARISONS}
    if len(included):
        counts = table[["n", "n_selected"]].to_numpy().tolist()
        # The most selected of the known groups, if there are any.
        known = included[~included["group"].map(is_missing_group)]
        best = counts[(known if len(known) else included)["estimate"].idxmax()]
        for row in included.index:
            for name, compare in _COMPARISONS.items():
                columns[name][row] = compare(*counts[row], *best)
    return pd.DataFrame(columns)


def _impact_ratio(n, selected, n_best, selected_best):
    """Rate of a group over that of the most selected group, rounded once."""
    return selected * n_best / (n * selected_best) if selected_best else np.nan


def _z_statistic(n, selected, n_best, selected_best):
    """Difference of the two rates in standard errors of the pooled rate."""
    pooled = (selected + selected_best) / (n + n_best)
    error = np.sqrt(pooled * (1.0 - pooled) * (1.0 / n + 1.0 / n_best))
    return (selected / n - selected_best / n_best) / error if error > 0 else np.nan


def _fisher_p_value(n, selected, n_best, selected_best):
    """Two-sided p-value of Fisher's exact test of equal rates."""
    table = [[selected, n - selected], [selected_best, n_best - selected_best]]
    return float(stats.fisher_exact(table).pvalue)


def _shortfall(n, selected, n_best, selected_best):
    """Smallest number of further selections that makes the rate equal or larger, in integers."""
    return -(-n * selected_best // n_best) - selected


_COMPARISONS = {
    "impact_ratio": _impact_ratio,
    "standard_deviations": _z_statistic,
    "p_value": _fisher_p_value,
    "shortfall": _shortfall,
}
"""Columns -> functions of a group's size and selections, and those of the most selected group."""
