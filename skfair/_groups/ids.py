"""Ids of persons, households or classes, whose samples belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from sklearn.utils import column_or_1d

from skfair._utils.checks import argument_error

if TYPE_CHECKING:
    from skfair._utils.tables import TableLike


def encode_ids(ids: TableLike, n_samples: int, name: str) -> np.ndarray:
    """Return the code of the id of each sample, (n_samples,), from ids of any type.

    Missing values and blank text have the code -1: the id is unknown. ``name`` is that of the
    argument.
    """
    try:
        column = column_or_1d(ids, dtype=None if hasattr(ids, "dtype") else object)
    except ValueError as error:
        shape = np.shape(ids)  # type: ignore[arg-type]  # lists, too
        raise argument_error(
            f"{name} must have one id per sample, but has the shape {shape}; pass one "
            "column, and join several to one, as in table['street'] + ' ' + table['house']."
        ) from error
    if len(column) != n_samples:
        raise argument_error(
            f"{name} must have one id per sample, but there are {len(column)} ids for {n_samples} "
            "samples; pass the id of the person, household or class of each row."
        )
    codes, labels = pd.factorize(column)
    is_blank = np.array([isinstance(label, str) and not label.strip() for label in labels], bool)
    # Codes of the other ids follow one another; -1, of a missing value, is the last position.
    new_codes = np.append(np.where(is_blank, -1, np.cumsum(~is_blank) - 1), -1)
    return new_codes[codes]


def encode_households(together: TableLike, n_rows: int) -> np.ndarray:
    """Return the code of the household of each row; a row whose id is unknown is one itself."""
    codes = encode_ids(together, n_rows, "together")
    is_unknown = codes < 0
    codes[is_unknown] = codes.max(initial=-1) + 1 + np.arange(is_unknown.sum())
    return codes


def check_clusters(groups: TableLike, n_samples: int) -> np.ndarray:
    """Return the code of the cluster of each sample. All ids must be known."""
    codes = encode_ids(groups, n_samples, "groups")
    n_unknown = int((codes < 0).sum())
    if n_unknown > 0:
        raise argument_error(
            f"groups must not hold missing values or blank text, but {n_unknown} of {n_samples} "
            "are; give samples that belong to no other an id of their own."
        )
    if codes.max() == 0:
        shared = np.ravel(groups).tolist()[0]  # type: ignore[arg-type]  # lists, too
        raise argument_error(
            "groups must have at least two different values, because samples of equal value belong "
            f"together and are never divided, but all are {shared!r}. (The groups to "
            "compare are passed as sensitive_features.)"
        )
    return codes
