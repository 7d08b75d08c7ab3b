"""What users pass to a fit: arguments with a row or value for each sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skfair._partitions.collections import check_alignment, is_partitioned

if TYPE_CHECKING:
    from skfair._utils.tables import TableLike


@dataclass(frozen=True, eq=False, kw_only=True)
class FitArguments:
    """Arguments of a ``fit`` that have a row or value for each sample, as users pass them.

    A fit makes one before all else, and hands it on. So a new argument is a field of this class,
    and is aligned with the others. `check_samples` encodes groups and weights, and `replace` puts
    other features in place of X.

    Attributes
    ----------
    X : array-like of shape (n_samples, n_features), or None
        Features.
    y : array-like of shape (n_samples,), or None
        Target.
    query_id : array-like of shape (n_samples,), or None
        Query of each document of a ranking.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), or None
        Group of each sample.
    sample_weight : array-like of shape (n_samples,), or None
        Weights.
    groups : array-like of shape (n_samples,), or None
        Ids of samples that depend on one another, as in `GroupKFold`.
    group_probabilities : DataFrame of shape (n_samples, n_groups), or None
        Probabilities of groups.
    together : array-like of shape (n_samples,), or None
        Ids of samples that stay in one cluster.

    Raises
    ------
    ValueError
        If the pandas indexes of two arguments differ, or one is the name of a column.
    TypeError
        If one is in the memory of an accelerator.
    """

    X: TableLike | None = None
    y: TableLike | None = None
    query_id: TableLike | None = None
    sensitive_features: TableLike | None = None
    sample_weight: TableLike | None = None
    groups: TableLike | None = None
    group_probabilities: TableLike | None = None
    together: TableLike | None = None

    def __post_init__(self) -> None:
        check_alignment(**vars(self))

    @property
    def metadata(self) -> dict[str, Any]:
        """What a wrapper may pass on to the estimator that it fits, by name; without None."""
        names = ("sensitive_features", "sample_weight", "group_probabilities")
        return {name: vars(self)[name] for name in names if vars(self)[name] is not None}

    @property
    def is_partitioned(self) -> bool:
        """Whether an argument is a collection of Dask or `Blocks`."""
        return is_partitioned(*vars(self).values())
