"""Rates and gaps at every threshold of scores, with limits that hold for all of them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from skfair._utils.checks import argument_error
from skfair.audit._front import draw_limited, find_axis
from skfair.audit._sentences import (
    describe_metric,
    describe_quantity,
    value_cell,
)
from skfair.audit._tables import group_text
from skfair.metrics._group_metrics import encode_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pandas import MultiIndex

    from skfair._groups.groups import Groups
    from skfair._utils.api import Label


MAX_THRESHOLDS = 100
"""Thresholds that a report has at most: quantiles, where scores have more values."""


def tabulate_thresholds(
    columns: dict[str, np.ndarray],
    positive: Label | None,
    groupings: dict[str, Groups],
    level: float,
    min_group_size: int,
) -> pd.DataFrame:
    """DataFrame of rates by attribute, metric, group and threshold, and of gaps.

    A score above the threshold is positive. The limits of a rate are those of Dvoretzky, Kiefer and
    Wolfowitz, which hold at all thresholds, with the error divided among groups, metrics and
    attributes.

    P. Massart, "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality", Annals of
    Probability 18, 1990.
    """
    encoded = encode_columns(columns, positive)
    scores = encoded.get("scores")
    if positive is None or scores is None:
        raise argument_error("y_score must have scores of one of two classes for by_threshold.")
    is_counted = {"selection_rate": np.ones(len(scores), dtype=bool)}
    if "y_true" in encoded:
        is_known = columns.get("has_outcome", 1.0) > np.zeros(len(scores))
        is_counted["true_positive_rate"] = is_known & encoded["y_true"]
        is_counted["false_positive_rate"] = is_known & ~encoded["y_true"]
    thresholds = np.unique(scores)
    if len(thresholds) > MAX_THRESHOLDS:
        shares = np.linspace(0.0, 1.0, MAX_THRESHOLDS)
        thresholds = np.unique(np.quantile(scores, shares, method="inverted_cdf"))
    n_below = np.searchsorted(thresholds, scores)
    curves = {}
    for attribute, groups in groupings.items():
        names = np.array([group_text(name) for name in groups.names], dtype=object)
        for metric, mask in is_counted.items():
            counts = _count_above(groups, n_below, mask, len(thresholds))
            is_large = counts[:, 0] >= min_group_size
            if is_large.sum() > 1:
                index = pd.MultiIndex.from_product(
                    [[attribute], [metric], names[is_large], thresholds],
                    names=["attribute", "metric", "group", "threshold"],
                )
                curves[attribute, metric] = index, counts[is_large]
    error = (1.0 - level) / max(1, sum(len(counts) for _, counts in curves.values()))
    tables = [_tabulate_rates(*one, error) for one in curves.values()]
    return pd.concat(tables).reset_index() if tables else None


def _count_above(
    groups: Groups, n_below: np.ndarray, mask: np.ndarray, n_thresholds: int
) -> np.ndarray:
    """Samples of each group by a mask: all of them, then those above each threshold."""
    counts = mask * (1 if groups.multiplicity is None else groups.multiplicity)
    matrix = groups.matrix.tocsc()
    at = [
        np.bincount(n_below[rows], counts[rows], n_thresholds + 1)
        for rows in np.split(matrix.indices, matrix.indptr[1:-1])
    ]
    return np.cumsum(np.array(at)[:, ::-1], axis=1)[:, ::-1]


def _tabulate_rates(index: MultiIndex, counts: np.ndarray, error: float) -> pd.DataFrame:
    """Rates of some groups at all thresholds with their limits, and gaps with theirs."""
    sizes = counts[:, :1]
    rates = counts[:, 1:] / sizes
    margins = np.sqrt(np.log(2.0 / error) / (2.0 * sizes))
    low = np.maximum(rates - margins, 0.0)
    high = np.minimum(rates + margins, 1.0)
    columns = {
        "n": sizes,
        "estimate": rates,
        "low": low,
        "high": high,
        "gap": np.ptp(rates, axis=0),
        "gap_low": np.maximum(low.max(axis=0) - high.min(axis=0), 0.0),
        "gap_high": high.max(axis=0) - low.min(axis=0),
    }
    columns = {name: np.broadcast_to(one, rates.shape).ravel() for name, one in columns.items()}
    return pd.DataFrame(columns, index)


_GAP = ["gap", "gap_low", "gap_high"]


def describe_thresholds(table: pd.DataFrame, burden: str | None) -> Iterator[str]:
    """Yield a sentence for each attribute on the threshold of the smallest gap."""
    quantity = describe_quantity("selection_rate", burden=burden)
    rates = table[table["metric"] == "selection_rate"]
    for attribute, rows in rates.groupby("attribute", sort=False):
        # Where few or nearly all samples are selected, gaps are small.
        by = rows.assign(n_above=rows["n"] * rows["estimate"]).groupby("threshold")
        is_named = (by["n_above"].sum() / by["n"].sum()).between(0.1, 0.9)
        gaps = by[_GAP].first()[is_named].sort_values("gap")
        if len(gaps):
            least, most = (
                f"{quantity.gap(gap)} ({quantity.interval(low, high)})"
                for gap, low, high in gaps.iloc[[0, -1]].to_numpy()
            )
            yield (
                "Of the thresholds that select 10 % to 90 % of all samples, "
                f"{gaps.index[0]:.4g} has the smallest gap of the {quantity.noun} by {attribute}, "
                f"{least}, and {gaps.index[-1]:.4g} the largest, {most}. The limits hold for all "
                "thresholds together. To choose one of them is a choice on these data: only others "
                "show what gap it has."
            )


def threshold_tables(table: pd.DataFrame, burden: str | None) -> Iterator[tuple]:
    """Yield a table for each attribute and metric, with a picture of the gap at each threshold."""
    note = (
        "Scores above the threshold are positive. Limits hold for all thresholds, groups, metrics "
        "and attributes together."
    )
    for (attribute, metric), rows in table.groupby(["attribute", "metric"], sort=False):
        quantity = describe_quantity(metric)
        groups = rows["group"].unique()
        cells = []
        for threshold, at in rows.groupby("threshold"):
            records = at.to_dict("records")
            picture = draw_limited(find_axis(quantity, ()), records[0], "gap")
            size = value_cell(quantity, records[0], "gap")
            values = (value_cell(quantity, row) for row in records)
            cells.append(((f"{threshold:.4g}", picture, size, *values), False))
        title = f"{describe_metric(metric, burden)[0]} by threshold and {attribute}"
        yield title, note, ("Threshold", "", "Gap", *groups), cells
