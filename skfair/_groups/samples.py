"""Samples of a fit, and summaries of partitioned samples."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import check_array, column_or_1d

from skfair._groups.duplicates import merge_duplicate_rows_with_sizes
from skfair._groups.groups import (
    MAX_NUMERIC_GROUPS,
    Groups,
    attribute_names,
    check_attribute_label_types,
    check_groups,
    check_one_label_type,
    is_encoded,
    refuse_continuous_attributes,
)
from skfair._groups.ids import check_clusters
from skfair._groups.known import (
    check_group_probabilities,
    check_recorded_groups,
    make_probable_groups,
    warn_of_missing_marks,
    warn_of_unclear_labels,
)
from skfair._partitions.collections import changed_partition_message, check_alignment, load_columns
from skfair._partitions.partitions import Partitions, warn_of_small_partitions
from skfair._utils.checks import (
    argument_error,
    check_column,
    check_finite_squares,
    check_in_memory,
    check_no_nan,
    join_names,
    to_floats,
    warn,
)
from skfair._utils.sklearn import check_sample_weight, count_samples
from skfair._utils.tables import Table, is_sparse, to_pandas_table
from skfair.exceptions import MissingSensitiveFeaturesWarning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pandas import Index, MultiIndex

    from skfair._groups.arguments import FitArguments
    from skfair._partitions.collections import Block
    from skfair._utils.api import AttributeName
    from skfair._utils.tables import TableLike

    Cell: TypeAlias = tuple[Any, ...]
    """The labels of a group, or these and a class."""


AUTO_MIN_GROUP_SIZE = 30
"""By default groups that have fewer samples, and less than 1 % of all, are not compared."""


class Samples(NamedTuple):
    """Samples that a constraint is bound to: target, groups, weights and features.

    Read more in the :ref:`guide <own_constraints>`.

    Attributes
    ----------
    target : ndarray of shape (n_samples,) or None
        Classes -1 and +1, or real numbers; None without a target.
    groups : Groups
        Groups of the samples.
    weights : ndarray of shape (n_samples,)
        Positive sample weights.
    X : DataFrame, ndarray or csr_array of shape (n_samples, n_features), or None
        Features, for constraints that use them, or None. A DataFrame stays one, so that columns
        can be named.
    min_group_size : int or "auto"
        Samples that a group needs to be compared, see `is_large`; of constraints that have a
        ``min_group_size`` of their own this is not used.
    clusters : ndarray of int, shape (n_samples,), or None
        Samples of equal code are not independent of one another; None where all are independent.
    group_probabilities : ndarray of shape (n_samples, n_columns), or None
        Probabilities of groups by which the group of samples without a record is modelled.
    where : ndarray of bool, shape (n_samples,), or None
        Held-out samples that the denominator of a rate counts. A group needs `min_group_size` of
        them in each cell, besides as many samples; None in fits, which have no such rule.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._groups import Samples, check_groups
    >>> groups = check_groups(["a", "b", "a"], n_samples=3)
    >>> Samples(np.array([1.0, -1.0, 1.0]), groups, np.ones(3)).groups.counts
    array([2, 1])
    """

    target: np.ndarray
    groups: Groups
    weights: np.ndarray
    X: Any = None
    min_group_size: int | str = 1
    clusters: np.ndarray | None = None
    group_probabilities: np.ndarray | None = None
    where: np.ndarray | None = None

    def is_large(
        self, groups: Groups, min_group_size: int | Literal["auto"] | None = None
    ) -> np.ndarray:
        """Whether groups are large enough to be compared.

        "auto" means groups of at least 30 samples, or 1 % of all samples. Samples of
        positive weight are counted, whatever their weight.

        Parameters
        ----------
        groups : Groups
            Groups of these samples.
        min_group_size : int, "auto" or None, default=None
            Samples that a group needs; None takes the attribute.

        Returns
        -------
        is_large : ndarray of bool, shape (n_groups,)
        """
        return self.are_enough(groups.counts, min_group_size)

    def are_enough(
        self, counts: np.ndarray, min_group_size: int | Literal["auto"] | None = None
    ) -> np.ndarray:
        """Whether numbers of samples are large enough for comparisons, as in `is_large`.

        Parameters
        ----------
        counts : ndarray of int, shape (n_groups,)
            Samples of each group.
        min_group_size : int, "auto" or None, default=None
            As in `is_large`.

        Returns
        -------
        are_enough : ndarray of bool, shape (n_groups,)
        """
        size = self.min_group_size if min_group_size is None else min_group_size
        if size != "auto":
            return counts >= size
        # "auto": enough samples, or a large enough share of them.
        large_share = 0.01 * self.groups.n_samples
        return (counts >= AUTO_MIN_GROUP_SIZE) | (counts >= large_share)

    def check_group_sizes(
        self, groups: Groups, min_group_size: int | Literal["auto"] | None = None
    ) -> np.ndarray:
        """As `is_large`, where at least one group must be.

        Parameters
        ----------
        groups : Groups
            Groups of these samples, or those of their single attributes.
        min_group_size : int, "auto" or None, default=None
            As in `is_large`.

        Returns
        -------
        is_large : ndarray of bool, shape (n_groups,)

        Raises
        ------
        ValueError
            If no group is large enough, or an attribute of more than 30 numbers looks like a
            measurement.
        """
        is_large = self.are_enough(groups.counts, min_group_size)
        is_compared = is_large
        if self.groups.is_disjoint and self.groups.labels.shape[1] > 1:
            # The values of each attribute count by themselves, not only in combinations.
            is_large_value = self.is_large(self.groups.single_attribute_groups(), min_group_size)
            is_compared = is_large_value[self.groups.attribute_codes_of_groups()[0]]
        # Held-out samples were checked as they were read.
        if self.where is None and len(self.groups.labels) > MAX_NUMERIC_GROUPS:
            refuse_continuous_attributes(self.groups, is_compared)
        if not is_large.any():
            size = self.min_group_size if min_group_size is None else min_group_size
            raise ValueError(
                f"min_group_size={size!r} leaves no group: the largest has "
                f"{groups.counts.max()} samples; choose a smaller one, or merge groups."
            )
        return is_large

    def largest_first(self) -> Samples:
        """The same samples with groups by descending weight, equal ones by their first samples.

        Fits compute in this order, so that no decision depends on the names of groups.
        """
        return self._replace(groups=self._sort_groups(self.groups))

    def single_attribute_groups(self) -> Groups:
        """Groups of the values of every single attribute, in an order as those of the samples."""
        groups = self.groups.single_attribute_groups()
        is_sorted_by_label = (np.diff(self.groups.ranks) > 0).all()
        return groups if is_sorted_by_label else self._sort_groups(groups)

    def _sort_groups(self, groups: Groups) -> Groups:
        """Groups of these samples by descending weight, equal ones by their first samples."""
        n_groups = len(groups.labels)
        if groups.is_disjoint:
            weights = np.bincount(groups.codes, self.weights, n_groups)
        else:
            positions, codes = groups.memberships
            weights = np.bincount(codes, self.weights[positions] * groups.shares, n_groups)
        order = np.argsort(-weights, kind="stable")
        if np.diff(weights[order]).all():
            return groups.reorder(order)
        # The first sample of each group; of equal codes the last assignment counts.
        positions, codes = groups.memberships
        first = np.zeros(n_groups, dtype=np.intp)
        first[codes[::-1]] = positions[::-1]
        return groups.reorder(np.lexsort((first, -weights)))

    def merge_small_groups(self) -> tuple[Groups, np.ndarray]:
        """Groups for models with parameters per group, small ones merged into the largest.

        If all groups are small, none is merged.

        Returns
        -------
        merged : Groups
            Disjoint, as the groups are.
        positions : ndarray of intp, shape (n_groups,)
            Merged group of each group, sorted by label.
        """
        groups = self.groups
        is_large = self.is_large(self.groups)
        by_label = np.argsort(groups.ranks)
        if is_large.all() or not is_large.any():
            return groups, by_label
        # Number the large groups; the small ones get the code of the largest.
        positions = np.cumsum(is_large) - 1
        positions[~is_large] = positions[np.argmax(groups.counts)]
        codes = positions[groups.codes]
        labels = groups.labels[is_large]
        return groups._replace(labels=labels, codes=codes, ranks=None), positions[by_label]

    def take(self, rows: np.ndarray) -> Samples:
        """Selected samples, of which every group is compared.

        Parameters
        ----------
        rows : ndarray of int
            Their positions.
        """
        taken: Any = (None if x is None else x[rows] for x in (self.target, self.clusters))
        target, clusters = taken
        return Samples(target, self.groups.take(rows), self.weights[rows], clusters=clusters)

    @property
    def group_shares(self) -> np.ndarray:
        """Share of each disjoint group in the weight of all samples, sorted by label."""
        weights = np.bincount(self.groups.codes, self.weights, len(self.groups.labels))
        return weights[np.argsort(self.groups.ranks)] / weights.sum()

    @property
    def is_equally_weighted(self) -> bool:
        """Whether all samples have the same weight."""
        return not np.ptp(self.weights / self.groups.row_counts)


def samples_without_target(
    groups: Groups, weights: np.ndarray, X: Table | None = None, clusters: np.ndarray | None = None
) -> Samples:
    """Samples of which the target is not known, or comes later."""
    return Samples(None, groups, weights, X, clusters=clusters)  # type: ignore[arg-type]


def check_samples(
    arguments: FitArguments,
    *,
    missing: str | None = None,
    overlapping: bool = False,
    missing_groups: str = "error",
) -> tuple[Samples, np.ndarray]:
    """Check the samples of a fit: (Samples without target, positions of those of positive weight).

    Samples of zero weight are left out. Without `sensitive_features` all samples are one group,
    and `missing` says in a MissingSensitiveFeaturesWarning what was requested of groups and what
    happens without them. Unless `missing_groups` are an "error", samples without a group are in
    none. With `group_probabilities` alone, these are the memberships in groups. Warns of groups
    without weight, similar labels, and many tiny groups.
    """
    sensitive_features = arguments.sensitive_features
    probabilities = arguments.group_probabilities
    # X may be partitioned, or in a form that only a wrapped estimator reads.
    rows_of = arguments.X if arguments.y is None else arguments.y
    weights = _check_weights(arguments.sample_weight, rows_of)
    n_samples = len(weights)
    rows = np.flatnonzero(weights > 0)
    clusters = None
    if arguments.groups is not None:
        clusters = check_clusters(arguments.groups, n_samples)[rows]
    if probabilities is not None:
        probabilities = check_group_probabilities(probabilities, weights)
    if sensitive_features is None and probabilities is None:
        if missing is not None:
            warn(f"{missing} {_ROUTING_ADVICE}", MissingSensitiveFeaturesWarning)
        alone = Groups.single(len(rows))
        return samples_without_target(alone, weights[rows], clusters=clusters), rows
    if sensitive_features is None:
        all_groups = make_probable_groups(probabilities)
    elif missing_groups in ("exclude", "at_random"):
        all_groups = check_recorded_groups(sensitive_features, n_samples, missing_groups)
    else:
        all_groups = check_groups(sensitive_features, n_samples, overlapping=overlapping)
    # The sizes of up to 100 groups are not checked.
    if len(all_groups.labels) > 100:
        _check_number_of_groups(all_groups, n_samples)
    # Leave out samples of zero weight.
    counted = all_groups
    if len(rows) < n_samples:
        counted = _take_present(all_groups, rows)
        weights = weights[rows]
    warn_of_unclear_labels(counted)
    samples = samples_without_target(counted, weights, clusters=clusters)
    if sensitive_features is not None and probabilities is not None:
        samples = samples._replace(group_probabilities=probabilities.to_numpy()[rows])
    return samples, rows


def _take_present(groups: Groups, rows: np.ndarray) -> Groups:
    """The groups of some rows; warns of groups that vanish with the others."""
    taken = groups.take(rows)
    present = set(taken.names)
    dropped = [name for name in groups.names if name not in present]
    if dropped:
        warn(
            f"Groups without any sample weight count as absent: {join_names(map(repr, dropped))}. "
            "Leave their rows out, or give them a weight."
        )
    return taken


def check_metric_input(
    sensitive_features: TableLike | Groups,
    sample_weight: TableLike | None,
    *,
    takes_numbers: bool = False,
    **columns: Any,
) -> tuple[Samples, list[np.ndarray]]:
    """Check the input of a metric: (Samples without target, list of the columns).

    Samples of zero weight are left out, and groups without members or weight too, silently. Groups
    may overlap, and are at most 30 numbers unless it `takes_numbers`. `columns` are such as y_true
    and y_pred by name, of shape (n_samples,); partitioned ones are gathered.
    """
    columns = load_columns(
        **columns, sensitive_features=sensitive_features, sample_weight=sample_weight
    )
    sensitive_features, sample_weight = map(columns.pop, ("sensitive_features", "sample_weight"))
    arrays = [check_labels(name, column) for name, column in columns.items()]
    check_lengths(**columns)
    samples, rows = _drop_zero_weights(sensitive_features, sample_weight, columns)
    if not (takes_numbers or is_encoded(sensitive_features)):
        refuse_continuous_attributes(samples.groups)
    if len(rows) < len(arrays[0]):
        arrays = [array[rows] for array in arrays]
    return samples, arrays


def cover_truth(
    columns: dict[str, TableLike | None], metrics: Iterable[Any] = ()
) -> dict[str, Any]:
    """The columns, in which prediction sets become decisions: whether each has the true value.

    A set is a row of booleans, one for each class, or a pair of numbers. Classes are the names of
    the columns, or else those of y_true in ascending order. Column "sizes" has the number of
    classes, or the length of the interval, if a metric takes it: it may be infinite. Columns
    without sets are returned as they are.
    """
    y_true = columns.get("y_true")
    check_in_memory(y_true=y_true, y_pred=columns.get("y_pred"))
    sets = to_pandas_table(columns.get("y_pred"))
    if y_true is None or not isinstance(sets, np.ndarray | pd.DataFrame) or sets.ndim != 2:
        return columns
    check_alignment(y_true=y_true, y_pred=sets)
    check_lengths(y_true=y_true, y_pred=sets)
    truth = check_labels("y_true", y_true)
    table = np.asarray(sets)
    classes = _name_sets(sets, np.unique(truth))
    if table.shape[1] != (len(classes) if table.dtype == bool else 2):
        raise argument_error(
            f"y_pred must hold labels, or sets: booleans in a column for each class of y_true "
            f"({len(classes)}), or two numbers, low and high; got {table.shape[1]} columns."
        )
    if table.dtype == bool:
        # A class that the model does not know is in no set.
        covered = (table & (truth[:, np.newaxis] == classes)).any(axis=1)
        sizes = table.sum(axis=1)
    else:
        ends = to_floats("y_pred", table)
        low, high = ends.T
        are_shares = ((0.0 <= ends) & (ends <= 1.0)).all() and np.allclose(low + high, 1.0)
        if (low > high).any() or are_shares:
            raise argument_error(
                "y_pred has two columns of numbers, which are intervals: low, not above high. Here "
                "low is above high, or all pairs add up to 1, as probabilities do. Of intervals "
                "that cross pass np.sort(y_pred, axis=1); of probabilities pass the labels as "
                "y_pred, and the second column as a score."
            )
        values = to_floats("y_true", truth)
        covered = (low <= values) & (values <= high)
        sizes = high - low
    indices = [one.index for one in (y_true, sets) if isinstance(one, pd.Series | pd.DataFrame)]
    if indices:
        covered = pd.Series(covered, index=indices[0], name="covered")
    columns = {name: one for name, one in columns.items() if name != "y_true"}
    takes_sizes = any(one.response == "sizes" for one in metrics)
    covers = {"y_pred": covered, "covered": covered}  # the second says what the first one means
    return columns | covers | ({"sizes": sizes} if takes_sizes else {})


def _name_sets(sets: TableLike, classes: np.ndarray) -> np.ndarray:
    """Classes of the columns of sets: names of columns that include all classes, or the classes."""
    names = getattr(sets, "columns", pd.RangeIndex(0))
    is_named = not isinstance(names, pd.RangeIndex) and set(classes.tolist()) <= {*names}
    return names.to_numpy() if is_named else classes


def check_labels(name: str, column: TableLike) -> np.ndarray:
    """A column as an array of finite numbers, or of labels of one type, (n_samples,)."""
    check_column(name, column)
    if name in ("y_score", "y_proba"):
        to_floats(name, column)
    if np.asarray(column).dtype == object:
        check_one_label_type(np.asarray(column).ravel(), name)
    check_no_nan(name, np.asarray(column).ravel())
    labels = column_or_1d(check_array(column, ensure_2d=False, dtype=None, input_name=name))
    if labels.dtype == object and not isinstance(labels[0], str):
        labels = np.array(labels.tolist())
    if labels.dtype.kind not in "biuf":
        warn_of_missing_marks(dict.fromkeys(labels.tolist()), name)
    return labels


def check_lengths(**columns: Any) -> None:
    """Raise for columns that differ in their numbers of samples, by name."""
    for name, column in columns.items():
        if np.isscalar(column) or callable(column) or (column is None and name != "y"):
            raise TypeError(f"{name} must have one row per sample, but it is {column!r}.")
    lengths = {name: count_samples(one) for name, one in columns.items() if one is not None}
    if len({*lengths.values()}) > 1:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[*lengths.values()]}, "
            f"of {join_names(lengths)}. Pass one row per sample."
        )


def merge_samples(
    samples: Samples, columns: dict[str, np.ndarray]
) -> tuple[Samples, dict[str, np.ndarray]]:
    """Samples with one row for all that have the same group and columns, and these columns.

    They are returned as they are where merging does not pay, and where sums over merged rows might
    differ in the last digit: with unequal weights, and for groups that overlap.
    """
    groups = samples.groups
    if not groups.is_disjoint or groups.multiplicity is not None or not samples.is_equally_weighted:
        return samples, columns
    # Text is compared by pandas; the codes of the groups are integers.
    plain = {
        name: pd.Series(column) if column.dtype == object else column
        for name, column in columns.items()
    }
    codes, _, merged = merge_duplicate_rows_with_sizes(groups.codes, None, **plain)
    if "n_samples" not in merged:
        return samples, columns
    counts = merged.pop("n_samples")
    del merged["squared_weight"]
    groups = groups._replace(codes=codes, multiplicity=counts)
    columns = {name: np.asarray(one) for name, one in merged.items()}
    return samples_without_target(groups, counts), columns


def _drop_zero_weights(
    sensitive_features: TableLike | Groups,
    sample_weight: TableLike | None,
    columns: dict[str, TableLike],
) -> tuple[Samples, np.ndarray]:
    """Samples of positive weight, in groups that may overlap, and their positions."""
    check_alignment(**columns, sensitive_features=sensitive_features, sample_weight=sample_weight)
    weights = _check_weights(sample_weight, next(iter(columns.values())))
    occurring = None
    if is_sparse(sensitive_features):
        # A column without members is like a label that does not occur: leave it out.
        occurring = np.unique(sensitive_features.nonzero()[1])
        sensitive_features = sparse.csc_array(sensitive_features)[:, occurring]
    groups = check_groups(sensitive_features, len(weights), overlapping=True)
    if occurring is not None:
        groups = Groups(occurring.astype(object)[:, np.newaxis], matrix=groups.matrix)
    rows = np.flatnonzero(weights > 0)
    if len(rows) < len(weights):
        groups = groups.take(rows)
        weights = weights[rows]
    warn_of_unclear_labels(groups)
    if len(groups.labels) == 0:
        raise argument_error(
            "sensitive_features puts no sample of positive weight into a group; a sparse matrix "
            "must hold True where a sample (row) is in a group (column)."
        )
    return samples_without_target(groups, weights), rows


_TINY_GROUP_SIZE = 5
"""Members below which the rates of a group are mostly chance."""


def _check_number_of_groups(groups: Groups, n_samples: int) -> None:
    """Raise for ids, and warn of tiny groups, before any table of groups is made."""
    n_groups = len(groups.labels)
    if groups.is_disjoint and n_groups > n_samples / 2:
        raise argument_error(
            f"sensitive_features has {n_groups} groups for {n_samples} samples, which looks like "
            "an id of each sample, not like groups. Pass the column of the groups to compare; bin "
            "numbers, as in pd.cut(values, 5)."
        )
    tiny = int((groups.counts < _TINY_GROUP_SIZE).sum())
    if tiny > n_groups / 2:
        warn(
            f"{tiny} of {n_groups} groups have fewer than {_TINY_GROUP_SIZE} members: their rates "
            "are mostly chance, and so many groups take time and memory. Merge them, as in "
            "pd.cut(values, 5) for numbers, if they are not meant."
        )


def to_pandas_index(labels: np.ndarray, sensitive_features: TableLike) -> Index | MultiIndex:
    """Groups as an index of a DataFrame, named as the attributes of sensitive_features are."""
    names = attribute_names(sensitive_features) or [None] * labels.shape[1]
    index = pd.MultiIndex.from_arrays(list(labels.T), names=names)
    return index.get_level_values(0) if index.nlevels == 1 else index


_ROUTING_ADVICE = (
    "Inside a search or pipeline, turn on metadata routing: "
    "sklearn.set_config(enable_metadata_routing=True)."
)


def _check_weights(sample_weight: TableLike | None, rows: TableLike) -> np.ndarray:
    """Non-negative weights of a finite sum, one for each of the rows."""
    weights = check_sample_weight(sample_weight, rows, dtype=float)
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total):
        raise ValueError(
            "The sum of sample_weight must be finite, but it overflows: the largest weight is "
            f"{weights.max():g}. Only their ratios count, so divide them by the largest."
        )
    if weights.max() < np.finfo(float).tiny:
        raise ValueError(
            "sample_weight must hold a number of normal size, but the largest weight is "
            f"{weights.max():g}, of few digits. Only their ratios count, so divide them by it."
        )
    # Kernels would be compiled once more for a read-only array.
    return np.require(weights, requirements="W")


def check_partition(partition: Block, name: str) -> tuple[np.ndarray, np.ndarray | None, Groups]:
    """Checked X, weights (None if all are 1) and Groups of a partition, for the estimator `name`.

    The partition is a dict of columns, as `skfair._partitions.partitions_of` makes them. X stays in
    its precision. All weights of a partition may be 0.
    """
    # Sums are computed in float64 either way. The layout is fixed, or they would depend on it.
    dtypes = [np.float64, np.float32]
    settings = {"dtype": dtypes, "order": "C", "ensure_min_samples": 0}
    X = check_array(partition["X"], **settings, estimator=name, input_name="X")
    check_finite_squares(X, "X")
    weights = partition.get("sample_weight")
    if weights is not None:
        weights = to_floats("sample_weight", column_or_1d(weights))
        if not (np.isfinite(weights) & (weights >= 0.0)).all():
            raise ValueError("Sample weights must be finite and not negative numbers.")
    labels = partition.get("sensitive_features", np.full(len(X), "all"))
    return X, weights, check_groups(labels, len(X)) if len(X) else Groups.single(0)


def partition_error(error: TypeError | ValueError, number: int) -> TypeError | ValueError:
    """The TypeError or ValueError about samples of a partition, with the partition's number."""
    error_type = TypeError if isinstance(error, TypeError) else ValueError
    return error_type(f"Partition {number}: {error}")


# Summary of partitioned samples: counts, weights and moments, from one pass over the data.


class EncodedBlock:
    """Rows of a block, and the cell (group, or group and class) that each belongs to.

    X is in the precision in which it came. Codes are positions in ``cells``, a list of tuples.
    Weights are None if all are 1. The place is the number of the partition, and the position of
    the first row in it. Real targets are None where classes are part of the cells. Attributes are
    the names of the sensitive attributes, where they are known.
    """

    unit_costs: np.ndarray | None = (
        None  # (n_rows,) cost of a squared distance by weight; None if all are 1
    )

    def __init__(
        self,
        X: np.ndarray,
        cells: list[Cell],
        codes: np.ndarray,
        weights: np.ndarray | None = None,
        partition_and_start: tuple[int, ...] = (0, 0),
        target: np.ndarray | None = None,
        attributes: Sequence[AttributeName] = (),
    ) -> None:
        self.X = X
        self.cells = cells
        self.weights = weights
        self.partition_and_start = partition_and_start
        self.target = target
        self.attributes = attributes
        self.codes = codes.astype(np.min_scalar_type(len(cells)))

    def recode(self, positions: dict[Cell, int]) -> np.ndarray:
        """Code of each row by the positions of cells; any for cells without weight."""
        codes = np.array([positions.get(cell, 0) for cell in self.cells], dtype=np.intp)
        return codes[self.codes]

    def row_numbers(self, first: np.ndarray) -> np.ndarray:
        """Numbers of the rows in the data, from the number of each partition's first row."""
        partition, start = self.partition_and_start
        return first[partition] + start + np.arange(len(self.X))

    def replace_features(self, X: np.ndarray, unit_costs: np.ndarray | None = None) -> EncodedBlock:
        """The same rows with other features."""
        changed = copy(self)
        changed.X = X
        changed.unit_costs = unit_costs
        return changed

    def __sizeof__(self) -> int:
        arrays = self.X, self.codes, self.weights, self.unit_costs, self.target
        return sum(array.nbytes for array in arrays if array is not None)


def encode_block(block: Block, name: str) -> EncodedBlock | TypeError | ValueError:
    """The encoded block of the rows that an estimator of this name is fitted to, or an error.

    Errors are returned, so that all partitions are known when the first one is raised.
    """
    try:
        X, weights, groups = check_partition(block, name)
    except (TypeError, ValueError) as error:
        return partition_error(error, block.partition_index)
    cells = [*map(tuple, groups.labels.tolist())]
    place = (block.partition_index, block.first)
    attributes = groups.attributes if len(X) else ()
    return EncodedBlock(X, cells, groups.codes, weights, place, attributes=attributes)


class SampleSummary:
    """Counts, weights and moments of partitioned samples.

    Attributes
    ----------
    cells : list of tuple
        Cells that have a weight, in ascending order.
    positions : dict
        From a cell to its position among them.
    counts, weights : ndarray of shape (n_cells,)
        Number and total weight of the samples of positive weight, by cell.
    mean, variance : ndarray of shape (n_features,)
        Weighted, of the features; those of real targets come last.
    attributes : sequence of str
        Names of the sensitive attributes, where blocks have them.
    scatter : float
        Weighted sum of squared distances to the mean.
    first_rows : ndarray of int, shape (n_cells,)
        Number of the first row of every cell.
    partition_lengths : list of int
        Rows of every partition.
    first : ndarray of int, shape (n_partitions,)
        Number of the first row of every partition.
    weight_range : tuple of float
        Minimum and maximum weight of a sample.
    """

    def __init__(
        self,
        blocks: Partitions,
        check: Callable[[list[Cell]], None] = check_attribute_label_types,
        key: Callable[[Cell], Any] | None = None,
    ) -> None:
        counted = blocks.gather(_summarize_block)
        for error in (one for one in counted if isinstance(one, Exception)):
            raise error
        places, cells, begins, counts, weights, sums, squares, ranges = zip(*counted, strict=True)
        partitions, lengths, attributes = zip(*places, strict=True)
        self._checksums = [_checksum_block(one) for one in counted]
        self.attributes = next(filter(len, attributes), ())
        # Row numbers: where each partition begins.
        rows = np.bincount(partitions, lengths).astype(np.intp)
        self.partition_lengths = rows.tolist()
        self.first = np.cumsum([0, *rows[:-1]])
        warn_of_small_partitions(blocks, self.partition_lengths)
        # Before cells are compared: to Python 1 equals True, and numpy makes text of 1 and "1".
        check([cell for of_block in cells for cell in of_block])
        self.cells = sorted({cell for of_block in cells for cell in of_block}, key=key)
        if not self.cells:
            raise ValueError(
                "Some samples must have a positive sample_weight, but none has."
                if any(self.partition_lengths)
                else "At least one sample is required, but all partitions are empty. Check the "
                "filter or the files that they are made from."
            )
        self.positions = {cell: position for position, cell in enumerate(self.cells)}
        # Counts and weights of cells and moments of features, from those of blocks.
        codes = [self.positions[cell] for of_block in cells for cell in of_block]
        self.counts = np.bincount(codes, np.concatenate(counts)).astype(np.intp)
        self.weights = np.bincount(codes, np.concatenate(weights))
        first_rows = [
            self.first[place] + rows for place, rows in zip(partitions, begins, strict=True)
        ]
        self.first_rows = np.full(len(self.cells), np.iinfo(np.intp).max)
        np.minimum.at(self.first_rows, codes, np.concatenate(first_rows))
        totals = np.array([of_block.sum() for of_block in weights])
        self.mean, self.variance = _pool_moments(totals, np.array(sums), np.array(squares))
        self.scatter = float(totals.sum() * self.variance.sum())
        smallest, largest = zip(*ranges, strict=True)
        self.weight_range = min(smallest), max(largest)

    def intersection_groups(self) -> Groups:
        """Groups of one sample of each cell."""
        labels = np.array(self.cells, dtype=object)
        codes = np.arange(len(self.cells))
        return Groups(labels, codes=codes, attributes=list(self.attributes))

    def check_unchanged(self, blocks: Partitions) -> None:
        """Raise for blocks whose samples changed when a lost worker made them be computed again."""
        if not blocks.may_have_changed():
            return
        again = blocks.gather(_summarize_block)
        for counted, checksum in zip(again, self._checksums, strict=True):
            if isinstance(counted, Exception):
                raise counted
            if _checksum_block(counted) != checksum:
                raise ValueError(changed_partition_message(counted[0][0]))

    def reorder_cells(self, order: np.ndarray) -> SampleSummary:
        """The same samples with cells in another order."""
        changed = copy(self)
        changed.cells = [self.cells[position] for position in order]
        changed.positions = {cell: position for position, cell in enumerate(changed.cells)}
        for name in ("counts", "weights", "first_rows"):
            setattr(changed, name, getattr(self, name)[order])
        return changed

    def replace_moments(self, mean: np.ndarray, scatter: float) -> SampleSummary:
        """The same samples with features of another mean and scatter."""
        changed = copy(self)
        changed.mean = mean
        changed.scatter = scatter
        return changed


def _summarize_block(
    block: EncodedBlock | TypeError | ValueError,
) -> TypeError | ValueError | tuple[Any, ...]:
    """Partition, length, attributes; cells, first rows, counts, weights, moments; or the error."""
    if isinstance(block, Exception):
        return block
    X = block.X
    n_cells = len(block.cells)
    weights = np.ones(len(X)) if block.weights is None else block.weights
    present = weights > 0
    counts = np.bincount(block.codes[present], minlength=n_cells)
    by_cell = np.bincount(block.codes, weights, n_cells)
    occupied = np.flatnonzero(counts)
    cells = [block.cells[code] for code in occupied]
    first = np.flatnonzero(present)[find_first_rows(block.codes[present], n_cells)[occupied]]
    sums, squares = _sum_moments(X, weights)
    if block.target is not None:
        of_target = _sum_moments(block.target[:, np.newaxis], weights)
        sums, squares = map(np.append, (sums, squares), of_target)
    range_ = (weights[present].min(), weights.max()) if len(occupied) else (np.inf, 0.0)
    place = block.partition_and_start[0], len(X), block.attributes
    begins = block.partition_and_start[1] + first
    return place, cells, begins, counts[occupied], by_cell[occupied], sums, squares, range_


def find_first_rows(codes: np.ndarray, n_codes: int) -> np.ndarray:
    """Position of the first sample of each code; the number of samples where there is none."""
    first = np.full(n_codes, len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # the last value that is assigned stays
    return first


def _checksum_block(counted: tuple[Any, ...]) -> int:
    """A number that differs where cells, weights or moments of a block do."""
    _, cells, *arrays = counted
    return zlib.crc32(
        b"".join([repr(cells).encode(), *(np.array(one).tobytes() for one in arrays)])
    )


def _sum_moments(X: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted sums of columns, and of squares about their means."""
    sums = weights @ X
    deviations = X - sums / max(weights.sum(), 1e-300)
    return sums, weights @ (deviations * deviations)


def _pool_moments(
    weights: np.ndarray, sums: np.ndarray, squares: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of all blocks, from their weights, sums, and squares about their means."""
    total = weights.sum()
    present = weights > 0
    mean = sums.sum(axis=0) / total
    deviations = sums[present] / weights[present, np.newaxis] - mean
    return mean, (squares.sum(axis=0) + weights[present] @ deviations**2) / total
