"""The people whom a metric is about: who belongs to which group, and with what weight."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from skfair.utils._groups import check_alignment, check_groups, check_memberships, group_names
from skfair.utils._sklearn import check_sample_weight


class People(NamedTuple):
    """Groups of samples, which may overlap, as pairs: sample ``rows[m]`` is in ``codes[m]``.

    Attributes
    ----------
    labels : ndarray of object, shape (n_groups, n_attributes)
        What each group is called, in ascending order.
    codes : ndarray of intp, shape (n_pairs,)
        Group of each pair; every group has at least one.
    rows : ndarray of intp, shape (n_pairs,)
        Sample of each pair.
    weights : ndarray of float64, shape (n_samples,)
        Weight of each sample.
    """

    labels: np.ndarray
    codes: np.ndarray
    rows: np.ndarray
    weights: np.ndarray

    @property
    def names(self):
        """Names of the groups, a list of length n_groups."""
        return group_names(self.labels)

    def take(self, present):
        """Keep the samples of a mask; a group that no longer occurs vanishes."""
        kept = present[self.rows]
        occurring, codes = np.unique(self.codes[kept], return_inverse=True)
        rows = (np.cumsum(present) - 1)[self.rows[kept]]
        return People(self.labels[occurring], codes, rows, self.weights[present])

    def together(self):
        """Everybody in one group called "overall"."""
        n_samples = len(self.weights)
        label = np.array([["overall"]], dtype=object)
        return People(label, np.zeros(n_samples, np.intp), np.arange(n_samples), self.weights)

    def members(self):
        """Samples of each group, a list of n_groups arrays."""
        # Sorting the shortest integers that hold the codes is linear.
        codes = self.codes.astype(np.min_scalar_type(len(self.labels)))
        rows = self.rows[np.argsort(codes, kind="stable")]
        return np.split(rows, np.cumsum(np.bincount(self.codes))[:-1])


def check_people(sensitive_features, sample_weight, **columns):
    """Check the input of a metric; samples of zero weight are absent.

    Parameters
    ----------
    sensitive_features : array-like or sparse matrix of bool
        Group of each sample, or with a sparse matrix of shape (n_samples, n_groups) all of a
        sample's groups.
    sample_weight : array-like of shape (n_samples,) or None
        Non-negative weights.
    **columns : array-like of shape (n_samples,)
        What is known of the samples, such as ``y_true`` and ``y_pred``, by name.

    Returns
    -------
    people : People
        Groups and weights of the samples that are present.
    columns : list of ndarray
        The columns at these samples, in the order given.

    Raises
    ------
    ValueError
        If the inputs differ in length or in their pandas index, or hold missing values.
    """
    check_alignment(**columns, sensitive_features=sensitive_features, sample_weight=sample_weight)
    arrays = [
        column_or_1d(check_array(column, ensure_2d=False, dtype=None, input_name=name))
        for name, column in columns.items()
    ]
    check_consistent_length(*arrays)
    weights = check_sample_weight(
        sample_weight, arrays[0], dtype=np.float64, ensure_non_negative=True
    )
    people = _people(sensitive_features, weights)
    present = weights > 0
    if not present.all():
        people, arrays = people.take(present), [array[present] for array in arrays]
    if len(people.labels) == 0:
        raise ValueError(
            "sensitive_features puts nobody into a group, or nobody of positive weight; a sparse "
            "matrix must hold True where a sample (row) is in a group (column)."
        )
    return people, arrays


def _people(sensitive_features, weights):
    n_samples = len(weights)
    if not sparse.issparse(sensitive_features):
        groups = check_groups(sensitive_features, n_samples)
        return People(groups.labels, groups.codes, np.arange(n_samples), weights)
    matrix = sparse.csr_array(sensitive_features)
    # A group without members is like a label that does not occur: nothing is to be seen of it.
    occurring = np.unique(matrix.nonzero()[1])
    pairs = check_memberships(matrix[:, occurring], n_samples).matrix.tocoo()
    return People(occurring.astype(object)[:, np.newaxis], pairs.col, pairs.row, weights)


def group_index(labels, sensitive_features):
    """Groups as an index of a DataFrame, with the names that the attributes have.

    Parameters
    ----------
    labels : ndarray of shape (n_groups, n_attributes)
        What each group is called.
    sensitive_features : array-like
        As the user gave it: a Series or DataFrame names its attributes.

    Returns
    -------
    index : pandas.Index or pandas.MultiIndex
        With one level per attribute.
    """
    import pandas as pd

    if hasattr(sensitive_features, "columns"):
        names = list(sensitive_features.columns)
    else:
        names = [getattr(sensitive_features, "name", None)] * labels.shape[1]
    index = pd.MultiIndex.from_arrays(list(labels.T), names=names)
    return index.get_level_values(0) if index.nlevels == 1 else index
