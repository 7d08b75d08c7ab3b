"""Warning for samples that depend on one another: copies, and members of one household."""

import numpy as np
from scipy import sparse

from skfair.utils._clustered_samples import warn_of_clustered_samples
from skfair.utils._messages import warn

_SHARE = 0.03
"""Share of repeated samples up to which the guarantee is hardly affected."""

_CHANCE = 0.1
"""Pairs of samples with equal features that differ in target or group at least this often, compared
with any two samples, are equal by chance: their features have few values."""


def warn_of_dependence(X, training):
    """Warn if samples seem to belong together: ``confidence_level`` needs independent ones.

    X is ignored if it is neither an array, a DataFrame nor a sparse matrix.
    """
    if training.samples.clusters is not None:
        return
    share = _share_of_copies(X, training)
    if share > 0.0:
        warn(
            f"{share:.0%} of the samples repeat another one exactly (features, target and "
            "sensitive features), but confidence_level takes samples for independent: folds then "
            "test on samples that they were trained on, and the probability is too high. Pass "
            "fit(..., groups=ids), with equal ids for samples that belong together, or leave the "
            "copies out and pass sample_weight."
        )
        return
    warn_of_clustered_samples(
        X,
        "But confidence_level takes samples for independent, and the probability is too high if "
        "they are not. Pass fit(..., groups=ids), with equal ids for samples that belong together, "
        "and with different ids if all are independent.",
    )


def _share_of_copies(X, training):
    """Share of samples that repeat another one, if it is large and no chance; else 0."""
    features = _hash_rows(X)
    if features is None or len(features) != len(training.samples.target):
        return 0.0
    codes = training.samples.groups.codes if training.samples.groups.is_disjoint else 0
    outcome = (
        np.unique(training.samples.target, return_inverse=True)[1] * (np.max(codes) + 1) + codes
    )
    _, features = np.unique(features, return_inverse=True)
    both = np.unique(features * (outcome.max() + 1) + outcome, return_counts=True)[1]
    share = 1.0 - len(both) / len(outcome)
    if share <= _SHARE:
        return 0.0
    # How often do pairs with equal features, and any pairs, have equal target and group?
    among_equal = _count_pairs(both) / _count_pairs(np.bincount(features))
    among_all = _count_pairs(np.bincount(outcome)) / _count_pairs(np.array([len(outcome)]))
    return 0.0 if 1.0 - among_equal > _CHANCE * (1.0 - among_all) else share


def _count_pairs(counts):
    """Twice the number of pairs within sets of equal samples."""
    counts = counts.astype(np.float64)
    return float(counts @ (counts - 1.0))


def _project_rows(X):
    """A random combination of the columns, added in the same order for all rows."""
    projection = np.zeros(len(X))
    factors = np.random.default_rng(0).standard_normal((2, X.shape[1]))
    for column, factor, of_missing in zip(X.T, *factors, strict=True):
        projection += np.where(np.isnan(column), of_missing, factor * column)
    return projection


def _hash_rows(X):
    """A number per row, equal for equal rows; None for what is no table."""
    import pandas as pd

    if sparse.issparse(X):
        X = sparse.csr_array(X)
        X.sum_duplicates()
        columns, values = (pd.util.hash_array(part) for part in (X.indices, X.data))
        # Sums wrap around, so that they are the same in any order.
        sums = np.concatenate(([np.uint64(0)], np.cumsum(columns * values, dtype=np.uint64)))
        return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    if isinstance(X, np.ndarray) and X.ndim > 1:
        X = X.reshape(len(X), -1)
        if X.dtype.kind in "biuf":
            return _project_rows(X)
        X = pd.DataFrame(X)
    if not isinstance(X, pd.DataFrame):
        return None
    return pd.util.hash_pandas_object(X, index=False).to_numpy()
