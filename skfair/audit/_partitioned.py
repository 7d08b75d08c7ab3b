"""Counts of partitioned predictions, taken where the data lie: rows do not travel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from sklearn.base import is_classifier

from skfair._partitions.collections import is_partitioned, partitions_of
from skfair._utils.checks import argument_error, join_names, warn
from skfair.metrics._scoring import ARGUMENTS_BY_METRIC_KIND

if TYPE_CHECKING:
    import numpy as np

    from skfair._utils.tables import TableLike


MAX_DISTINCT_ROWS = 100_000
"""Distinct rows of all columns together up to which samples are counted."""


def are_counted(*columns: TableLike | None) -> bool:
    """Whether all columns that there are are partitioned."""
    return all(is_partitioned(column) for column in columns if column is not None)


def count_predictions(columns, known, sample_weight, control_features, estimator=None, X=None):
    """Columns, groups and strata of distinct rows, and how many samples have each.

    The predictions are those of an estimator, if there is one. Raises before anything is read where
    counts are not enough.
    """
    if estimator is not None and not is_classifier(estimator):
        raise argument_error(
            "estimator must be a classifier where X is partitioned, since an audit counts equal "
            f"predictions there, but a {type(estimator).__name__} was passed. Pass samples in "
            "memory, as in X.compute()."
        )
    if hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function"):
        warn(
            "Predictions of partitioned samples are counted where the rows are, which areas, "
            "calibration and other metrics of scores do not allow: they are left out. Pass samples "
            "in memory for them, as in X.compute()."
        )
    scores = {"y_score": columns.get("y_score"), "sample_weight": sample_weight}
    uncounted = [name for name, column in scores.items() if column is not None]
    if known.is_modelled:
        uncounted.append(f"{known.argument} of sensitive_features")
    if uncounted:
        raise argument_error(
            f"{join_names(uncounted)} must be in memory, since areas, weighted rates and models of "
            "missing groups need each sample, but the data are partitioned, of which an audit "
            "takes counts alone. Leave it out, or pass all columns in memory, as in y.compute()."
        )
    roles = {name: columns.get(name) for name in ("y_pred", "y_true", "decided")}
    roles |= {"sensitive_features": known.labels, "control_features": control_features}
    roles = {name: column for name, column in roles.items() if column is not None}
    features = {} if estimator is None else {"X": X}
    table = partitions_of(**features, **roles).reduce(_count_block, estimator).table
    *keys, counts = (table[name] for name in table)
    counted = {} if estimator is None else {"y_pred": keys.pop(0).to_numpy()}
    for name, column in roles.items():
        n_columns = 1 if len(column.shape) == 1 else column.shape[1]
        counted[name] = _arrange_like(column, pd.concat(keys[:n_columns], axis=1))
        del keys[:n_columns]
    known = known.replace_labels(counted.pop("sensitive_features"))
    control_features = counted.pop("control_features", None)
    return {"y_score": None, "y_true": None} | counted, known, control_features, counts.to_numpy()


class _Counts:
    """Distinct rows of a table, and sums of its last column over equal ones; they add up."""

    def __init__(self, table: pd.DataFrame) -> None:
        *keys, counts = table.columns
        groups = table.groupby(keys, dropna=False, observed=True, as_index=False)
        self.table = groups[counts].sum()
        if len(self.table) > MAX_DISTINCT_ROWS:
            raise ValueError(
                "Partitioned data are audited by counts of equal predictions, outcomes and groups, "
                f"of which there may be {MAX_DISTINCT_ROWS:,}, but there are more. Divide numbers, "
                "such as ages, into bins; pass real predictions in memory, as in y.compute()."
            )

    def __add__(self, other):
        return _Counts(pd.concat([self.table, other.table], ignore_index=True))


def _count_block(block, estimator):
    """Counts of the distinct rows of a block, whose predictions an estimator may make."""
    columns = {name: rows for name, rows in block.items() if name != "X"}
    if estimator is not None:
        y_pred = estimator.classes_[:0]
        if len(block["X"]):  # few estimators predict no sample
            predict = ARGUMENTS_BY_METRIC_KIND["clustering"]
            (y_pred,), _ = predict(estimator, block["X"], None, block["sensitive_features"])
        columns = {"y_pred": y_pred} | columns
    frames = [pd.DataFrame(rows).reset_index(drop=True) for rows in columns.values()]
    counts = pd.Series(1.0, index=frames[0].index)
    return _Counts(pd.concat([*frames, counts], axis=1, ignore_index=True))


def _arrange_like(column: pd.Series, table: pd.DataFrame) -> np.ndarray | pd.DataFrame | pd.Series:
    """A table in the form of a column or table that it was counted from."""
    names = getattr(column, "columns", None)
    if names is None and not hasattr(column, "map_partitions"):  # an array
        return table.to_numpy()[:, 0] if len(column.shape) == 1 else table.to_numpy()
    if len(column.shape) == 1:
        return table.iloc[:, 0].rename(column.name if names is None else names[0])
    return table.set_axis(names, axis=1)
