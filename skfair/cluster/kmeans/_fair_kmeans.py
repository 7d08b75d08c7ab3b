"""k-means whose clusters mirror the groups of the data: the estimator and its input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skfair._groups.arguments import FitArguments
from skfair._groups.groups import GroupSummary, data_balance
from skfair._groups.samples import check_alignment
from skfair._kernels.iterated_search import MAX_ITERATED_SAMPLES
from skfair._kernels.kmeans import nearest_centers, squared_distances
from skfair._kernels.limits import find_memberships, has_rows, limits_at_counts
from skfair._partitions.collections import is_partitioned, row_by_row
from skfair._utils.api import MatrixLike, RandomState
from skfair._utils.checks import resolve_name, validate_data, warn
from skfair._utils.fit import restore_on_failure
from skfair._utils.parameters import (
    Array,
    NonNegative,
    NonNegativeInt,
    OpenShare,
    PositiveInt,
    Share,
    Verbose,
    make_constructor,
    validate_params,
)
from skfair._utils.sklearn import StrOptions, check_sample_weight, with_callbacks
from skfair.cluster._base import (
    ROUNDING,
    ClusterRequirements,
    FairClusterer,
    RoundReporter,
    balance_attributes,
    check_requirements,
    check_rows,
    encode_and_summarize,
    resolve_sizes,
    store_clusters,
    warn_if_one_group,
    warn_of_duplicates,
)
from skfair.cluster._input import Households, bind_limits, encode_memberships
from skfair.cluster.kmeans._given_centers import assign_to_centers
from skfair.cluster.kmeans._homotopy import Homotopy
from skfair.cluster.kmeans._partitioned import make_partitioned_problem
from skfair.cluster.kmeans._problem import (
    MANY_CLUSTERS,
    BaseClusteringProblem,
    ClusteringProblem,
    assign_within_capacities,
    count_by_intersection,
    find_equal_centers,
    recompute_point,
    weighted_mean,
)
from skfair.cluster.kmeans._rounds import make_run_settings
from skfair.cluster.literature._alternating import AlternatingSwaps

if TYPE_CHECKING:
    from dask.array import Array as DaskArray
    from sklearn.utils import Tags

    from skfair._utils.tables import TableLike
    from skfair.cluster.kmeans._problem import ClusteringPoint, MeasuredPoint


# Input of k-means: from what users pass to a clustering problem, and from its solution back.


class KMeansInput(NamedTuple):
    """Validated input of a fit: rows with a weight are clustered, others only get a label."""

    problem: BaseClusteringProblem
    mean: np.ndarray  # (n_features,) what was subtracted
    groups: GroupSummary  # of the samples
    requirements: ClusterRequirements
    complete_labels: Callable  # labels of samples, centred centres -> labels of all rows
    dtype: type | np.dtype = np.float64  # of the centres in the units of X
    # (n_samples,) rows of positive weight, of data in memory
    positive_weight_samples: np.ndarray | None = None
    n_rows: int = 0  # of data in memory
    lacks_groups: bool = False  # balanced clusters are required, but there are no two groups
    households: Households | None = None
    household_scatter: float = 0.0  # cost of the members of households about their means

    @property
    def data_balance(self) -> float:
        """Balance of the samples as one cluster, the minimum over attributes."""
        weights = self.problem.group_weights
        return min(data_balance(weights[one]) for one in self.requirements.attribute_slices)

    @property
    def rounding_weight(self) -> float:
        return self.problem.rounding_weight

    @property
    def largest_share(self) -> float:
        """Share of the heaviest sample in the weight of all; 0 where all weigh the same."""
        problem = self.problem
        return 0.0 if problem.has_equal_weights else problem.largest_weight / problem.total_weight

    def is_shown_infeasible(self) -> bool:
        """Whether it is shown that no clusters keep the bounds."""
        return self.problem.is_shown_infeasible(self.requirements.n_clusters)

    def counts(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        """Weight of every group in every cluster, from labels of all rows in memory."""
        by_code = self.problem.count_intersections(labels[self.positive_weight_samples], n_clusters)
        return by_code @ find_memberships(self.problem.limits)

    def sample_counts(self, positions: np.ndarray) -> np.ndarray:
        """Weight of some samples in every group, (n_samples, n_groups)."""
        rows = np.searchsorted(self.positive_weight_samples, positions)  # type: ignore[arg-type]
        weights = self.problem.weights[rows]
        codes = self.problem.codes[rows]
        return weights[:, np.newaxis] * find_memberships(self.problem.limits)[codes]

    def check_labels(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        """Labels of the samples, from those of all rows that were passed as ``init``."""
        if self.positive_weight_samples is None:
            raise ValueError(
                "init must hold centres where data are partitioned, not labels; pass an array of "
                f"shape {(n_clusters, len(self.mean))}."
            )
        labels = np.asarray(labels)
        rows = self.positive_weight_samples
        if self.households is not None:
            raise ValueError(
                "init must hold centres where together keeps rows in one cluster, not labels; pass "
                f"an array of shape {(n_clusters, len(self.mean))}."
            )
        is_label = np.isin(labels, np.arange(n_clusters)).all()
        is_complete = len(labels) == self.n_rows
        if not (is_complete and is_label and len(np.unique(labels[rows])) == n_clusters):
            raise ValueError(
                f"init must give each of {self.n_rows} rows a label from 0 to {n_clusters - 1}, "
                "and each label to a row of positive weight, but it has "
                f"{len(labels)} labels, which are {np.unique(labels)[:10]}; change init or "
                "n_clusters."
            )
        return labels[rows].astype(np.int32)

    def point_attributes(
        self, point: MeasuredPoint
    ) -> dict[str, np.ndarray | DaskArray | GroupSummary | float]:
        """Fitted attributes of a point, with the bound that its fair assignment gives."""
        problem, clustering = self.problem, point.clustering
        # The bound is that of the limits reached: no clustering with these centres and limits is
        # cheaper.
        limits = limits_at_counts(clustering.counts, problem.limits)
        dual = point.dual if limits.level > 0 or has_rows(limits) else None
        assignment = problem.solve_assignment(clustering.centers, limits, dual)
        return self.clustering_attributes(point) | {
            "offsets_": assignment.offsets[:, self.requirements.group_positions],
            "assignment_lower_bound_": self.household_scatter
            + min(float(assignment.value), point.cost),
            **self.row_label_attributes(point),
        }

    def merge_equal_clusters(self, point: MeasuredPoint) -> tuple[MeasuredPoint, np.ndarray]:
        """The point without clusters of equal centres, and the cluster that each was merged with.

        They are merged where there are fewer distinct rows than clusters.
        """
        problem = self.problem
        n_clusters = point.n_clusters
        twins, distinct = np.unique(find_equal_centers(problem, point), return_inverse=True)  # type: ignore[arg-type, call-overload]
        merged = np.delete(distinct, twins)
        if len(merged) == 0 or problem.count_distinct_rows(n_clusters) == n_clusters:
            return point, merged[:0]
        warn_of_duplicates(len(twins), n_clusters)
        if has_rows(problem.limits):  # an empty cluster may be too small
            return point, merged[:0]
        labels = problem.relabel(point.labels, distinct.astype(np.int32))
        return recompute_point(problem, labels, len(twins)), merged  # type: ignore[arg-type]

    def label_attributes(
        self, parameters: FairKMeans, labels: np.ndarray
    ) -> dict[str, np.ndarray | DaskArray | GroupSummary | float]:
        """Fitted attributes of labels of all rows in memory."""
        labels_of_samples = labels[self.positive_weight_samples]
        point = recompute_point(self.problem, labels_of_samples, parameters.n_clusters)  # type: ignore[arg-type]
        return self.point_attributes(point) | {"labels_": labels}

    def clustering_attributes(
        self, point: ClusteringPoint
    ) -> dict[str, np.ndarray | DaskArray | GroupSummary | float]:
        """Fitted attributes of a point that need no further pass over partitioned data."""
        problem, clustering = self.problem, point.clustering
        cost = problem.cost_of(clustering) if point.cost is None else point.cost
        cost += self.household_scatter
        by_group = clustering.counts[:, self.requirements.group_positions]
        return {
            "cluster_centers_": (clustering.centers + self.mean).astype(self.dtype),
            "_mean": self.mean,
            "_centers": clustering.centers,
            "inertia_": cost,
            "objective_": float(cost / problem.total_weight),
            "groups_": self.groups,
            **balance_attributes(by_group, self.requirements, problem.rounding_weight),
        }

    def row_label_attributes(self, point: ClusteringPoint) -> dict[str, np.ndarray | DaskArray]:
        """The fitted labels of a point, and how many samples of each group they count."""
        problem, clustering = self.problem, point.clustering
        labels = problem.labels_of(point)
        counts = clustering.counts
        if problem.weight_range != (1, 1):
            n_clusters = len(clustering.sizes)
            counts = (
                count_by_intersection(problem, labels, n_clusters)
                if problem.is_in_memory
                else problem.partitions.reduce(count_by_intersection, labels, n_clusters)
            )
            counts = counts @ find_memberships(problem.limits)
        if self.households is not None:
            counts = self.households.count_members(labels, problem.limits, len(clustering.sizes))
        return {
            "labels_": self.complete_labels(labels, clustering.centers),
            "group_counts_": counts[:, self.requirements.group_positions],
        }


def explain_cost_above_bound(
    parameters: FairKMeans, fit_input: KMeansInput, fitted: Any
) -> str | None:
    """A message where a group or a weight keeps a fit far above its bound; None of other fits."""
    bound = fitted["assignment_lower_bound_"]
    gap = fitted["inertia_"] / bound - 1 if bound > 0 else 0.0
    is_infeasible = fitted["constraint_violation_"] > 0
    # A cost up to 10 % above its bound needs no warning, nor one of few samples.
    if is_infeasible or gap <= 0.1 or fit_input.problem.n_samples <= MAX_ITERATED_SAMPLES:
        return None
    groups = fit_input.groups
    smallest = int(np.argmin(groups.counts))
    members = groups.counts[smallest] / parameters.n_clusters
    mean_size = fit_input.problem.total_weight / parameters.n_clusters
    heaviest = fit_input.problem.largest_weight / mean_size
    # Of up to 10 members in a cluster, on average, each changes a balance much.
    if fit_input.problem.limits.level > 0 and 1 <= members <= 10:
        name = groups.names[smallest]
        cause = (
            f"group {name!r} has {members:.3g} members per cluster, of which each changes a balance"
        )
    # A heavy sample has a fifth of the mean weight of a cluster, and of 5 samples.
    elif heaviest >= max(0.2, 5.0 * parameters.n_clusters / fit_input.problem.n_samples):
        cause = f"the heaviest sample has {heaviest:.2g} times the mean weight of a cluster"
    else:
        return None
    return (
        f"inertia_ is {gap:.0%} above assignment_lower_bound_: {cause}. A cheaper clustering may "
        "exist; ask for fewer clusters or for less balance, or pass more starts with n_init."
    )


def check_fixed_centers(parameters, fit_input, runs):
    """The centres of a fit with ``max_iter=0``, which stay; raises a ValueError without them."""
    init = parameters.init
    if np.ndim(init) != 2 or not fit_input.problem.is_in_memory:
        raise ValueError(
            "max_iter=0 assigns samples in memory to given centres: init must be an array of "
            f"shape {(parameters.n_clusters, len(fit_input.mean))}, got init={init!r}. Pass "
            "centres, or max_iter >= 1."
        )
    return runs.init


def append_empty_clusters(attributes, merged):
    """Append an empty cluster at the centre of each merged one to the fitted attributes."""
    fills = dict.fromkeys(("cluster_sizes_", "group_weights_", "group_counts_"), 0.0)
    fills |= dict.fromkeys(("cluster_balances_", "cluster_share_ratios_"), np.nan)
    for name in ("cluster_centers_", "_centers", "offsets_", *fills):
        added = attributes[name][merged]
        added = np.full_like(added, fills[name]) if name in fills else added
        attributes[name] = np.concatenate([attributes[name], added])


def check_input(estimator: FairKMeans, arguments: FitArguments) -> KMeansInput:
    """Validate the input of ``estimator.fit``.

    Raises
    ------
    ValueError
        For anything scikit-learn refuses in X, for rows that do not match, for negative weights,
        for fewer rows of positive weight than clusters, for sizes that no clusters have; of
        partitioned data the message says in which partition.
    """
    if arguments.is_partitioned:
        return _check_partitioned(estimator, arguments)
    X, samples, present, missing = check_rows(estimator, arguments, **ACCEPTED)
    limited = bind_limits(estimator, arguments, samples, present, missing, X.shape[0])
    households = limited.households
    # Centre at the weighted mean; rows without weight are needed for their labels only.
    n_rows = X.shape[0]
    others = X[np.delete(np.arange(n_rows), present)] if len(present) < n_rows else None
    rows = X if others is None else X[present]
    scatter, sizes = 0.0, None
    if households is not None:
        rows, scatter = average_households(rows, samples.weights, households)
        sizes = None if (households.sizes == 1).all() else households.sizes
    problem = ClusteringProblem(
        rows,
        limited.weights,
        limited.codes,
        limited.limits,
        estimator.n_jobs,
        unit_costs=sizes,
        household_sizes=sizes,
    )
    mean = np.zeros(rows.shape[1]) if sparse.issparse(rows) else weighted_mean(problem)
    others = None if others is None else center_rows(others, mean)
    return KMeansInput(
        replace(problem, X=center_rows(rows, mean)),
        mean,
        limited.groups,
        limited.requirements,
        partial(_complete_labels, others, present, households),
        X.dtype,
        present,
        n_rows,
        limited.lacks_groups,
        households,
        scatter,
    )


def check_together(estimator: FairKMeans, together: ArrayLike | None, *columns: Any) -> None:
    """Raise a ValueError for households of partitioned data, or of the alternating algorithm."""
    if together is None:
        return
    name = estimator.algorithm
    if is_partitioned(*columns, together):
        raise ValueError(
            "together needs data in memory, but they are partitioned; cluster a subsample, or one "
            "row per household with its size as sample_weight."
        )
    if name == "alternating" or isinstance(name, AlternatingSwaps):
        raise ValueError(
            f"together needs algorithm='homotopy', but algorithm={name!r}, which moves single "
            "samples; leave the default."
        )


def average_households(
    X: np.ndarray, weights: np.ndarray, households: Households
) -> tuple[np.ndarray, float]:
    """The mean row of each household, and the cost of its members about it."""
    if sparse.issparse(X):
        raise ValueError(
            "together needs dense X, as households are represented by their means, but X is "
            "sparse; pass X.toarray()."
        )
    n_members = np.bincount(households.of_rows)
    means = households.sum_members(X.astype(np.float64)) / n_members[:, np.newaxis]
    shifts = X - means[households.of_rows]
    scatter = float(weights @ (shifts**2).sum(axis=1))
    return np.ascontiguousarray(means, dtype=X.dtype), scatter


def center_rows(X: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Rows about a mean, in the precision of X: there float32 loses least. Sparse ones stay."""
    if sparse.issparse(X):
        return X
    return np.subtract(X, mean, out=np.empty_like(X), casting="same_kind")


def _complete_labels(
    others: np.ndarray | None,
    present: np.ndarray,
    households: Households | None,
    labels: np.ndarray,
    centers: np.ndarray,
) -> np.ndarray:
    """Labels of all rows in memory; rows without weight go to the nearest centre.

    ``others`` are the rows without weight. They stay with their households.
    """
    labels_present = labels if households is None else labels[households.of_rows]
    if others is None:
        return labels_present
    if households is None:
        labels_absent = nearest_centers(others, centers)[0]
    else:
        labels_absent = households.label_absent(labels, squared_distances(others, centers))
    completed = np.empty(len(present) + others.shape[0], np.int32)
    is_present = np.zeros(len(completed), dtype=bool)
    is_present[present] = True
    completed[present], completed[~is_present] = labels_present, labels_absent
    return completed


def _check_partitioned(estimator: FairKMeans, arguments: FitArguments) -> KMeansInput:
    """The input of partitioned data, from a pass that summarizes them."""
    blocks, summary = encode_and_summarize(estimator, arguments)
    total = summary.weights.sum()
    is_count = summary.weight_range == (1, 1)
    requirements = check_requirements(estimator, total, is_count)
    problem, groups, requirements = make_partitioned_problem(
        blocks, summary, requirements, estimator.attributes, estimator.n_jobs
    )
    is_single = arguments.sensitive_features is not None and warn_if_one_group(
        estimator, groups, requirements.attribute_slices
    )
    mean, complete = summary.mean, problem.complete_labels
    return KMeansInput(problem, mean, groups, requirements, complete, lacks_groups=is_single)


def _append_offsets(
    X: np.ndarray, centers: np.ndarray, groups: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and centres with features whose squared distances are offsets, up to a constant.

    ``groups`` says of each row in which groups it is, (n_samples, n_groups).
    """
    # With a row's features s and a centre's -w / (2 s) the square has the term w, an offset. One
    # more feature of the centre makes what else it has equal in all clusters.
    s = np.sqrt(np.abs(offsets).max() / 2) or 1.0
    features = offsets / (-2 * s)
    squares = (features**2).sum(axis=1)
    others = np.sqrt(squares.max() - squares)
    added = np.column_stack((s * groups, np.zeros(len(groups))))
    if sparse.issparse(X):
        X = sparse.hstack((X, added), format="csr", dtype=X.dtype)
    else:
        X = np.column_stack((X, added))
    return X, np.column_stack((centers, features, others))


# k-means whose clusters mirror the groups of the data.


FLOATS = [np.float64, np.float32]  # X stays in its precision; sums and distances are float64
ACCEPTED = {"dtype": FLOATS, "order": "C", "accept_sparse": "csr"}  # X, as scikit-learn checks it
ALGORITHMS = {"homotopy": Homotopy, "alternating": AlternatingSwaps}
"""An algorithm is a parameter record with a method ``solve``, see `Homotopy`, and an ``advice``."""

Algorithm = Annotated[
    str | Homotopy | AlternatingSwaps, StrOptions(ALGORITHMS), *ALGORITHMS.values()
]
"""An algorithm, or its name."""


@make_constructor
class FairKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FairClusterer):
    r"""k-means clustering with bounds on the groups in every cluster, and on its size.

    The fit looks for the clustering of the smallest k-means cost in which no cluster has many
    members of one group and few of another:

    .. math::
        \min_S \; f_1(S) = \frac{1}{N} \sum_{k} \sum_{p \in S_k} \|x_p - c_k\|^2
        \quad \text{s.t.} \quad n_{kj} \ge b \, n_{kj'} \; \text{for all } k, j, j'

    with :math:`c_k` the mean of cluster k, :math:`n_{kj}` the number of its members of group j,
    and :math:`b` = ``min_balance`` times the data's own balance (its smallest over its largest
    group). Balance is that of [1]_ and [2]_; see the user guide for what it does and does not say.
    The ratio of shares, as in [3]_, also bounds how common a group may become:

    .. math::
        \frac{n_{kj}}{N_j} \ge s \, \frac{n_{kj'}}{N_{j'}} \; \text{for all } k, j, j',

    with :math:`N_j` the size of group j and s = ``min_share_ratio``: members of any group are in
    cluster k about as often as those of any other group.

    Read more in the :ref:`guide <fair_clustering>`.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    min_balance : float in [0, 1] or None, default=0.8
        Minimum balance of a cluster, relative to the data's own; 1 is as balanced as the data. It
        bounds how rare a group may become in a cluster, not how common. Rounding to integer counts
        may take one sample from either side: ``n_kj + 1 >= b (n_kj' - 1)`` is guaranteed, and each
        cluster has a member of every group with ``n_clusters`` members or more. With sample weights
        the one sample is the lightest: where the bound is missed by more, the fit warns. Clusters
        of two or three samples therefore keep any balance. Fits use little of it: those of up to
        100 samples of equal weights reach the balance, or the largest one that integers allow, up
        to a fiftieth of what is required. Labels as ``init`` may use it in full. None or 0 requires
        no balance: plain k-means.
    min_share_ratio : float in [0, 1] or None, default=None
        Minimum ratio of the shares of two groups that are in a cluster, in either direction: 0.8 is
        the four-fifths rule, 1 makes every cluster mirror the data. It implies as much relative
        balance. Rounding may take one sample from either side here as well. None or 0 requires
        nothing.
    min_group_share, max_group_share : float, dict, array-like or None, default=None
        Bounds on the share of a group among the samples of every cluster, as in [3]_: one number, a
        dict from labels of groups to numbers, such as ``{"female": 0.35}``, or one number for each
        group in the order of ``groups_.labels``. Labels of several attributes are tuples, such as
        ``("female", "old")``, and with ``attributes="each"`` pairs of an attribute and its value,
        ``("sex", "female")``. Groups that a dict does not name have no bound.
        ``beta_g n_k <= n_kg <= alpha_g n_k`` holds exactly wherever integer counts allow it. Where
        they do not, the fit warns, and few counts exceed a bound by the least that is possible.
        With sample weights the bounds are on sums of weights, and hold exactly wherever the search
        finds a clustering that keeps them; else the fit warns, and ``constraint_violation_`` is
        the weight that a group has too much or too little. The share of each group in the data has
        to be within its bounds.
        ``min_share_ratio`` compares shares of the groups' own sizes, ``n_kg / N_g``, instead.
    attributes : {"intersections", "each"}, default="intersections"
        With several sensitive attributes, groups are the combinations that occur. "each" compares
        the values of every single attribute instead, as Section 6 of [1]_ suggests: each attribute
        has a balance, relative to the data's own, and their minimum counts. The guarantee holds for
        every attribute; one with a single value is balanced in any case.
    handle_unknown : {"error", "overall"}, default="error"
        What ``predict`` does for samples of a group, or with ``attributes="each"`` of a value, that
        was not seen at fit, or that is missing. "error" raises. "overall" warns, and adds no
        offset: they go to the nearest centre, as all samples do without ``sensitive_features``.
    min_cluster_size, max_cluster_size : int, float in (0, 1), array-like or None, default=None
        Bounds on the size of every cluster: an int is a number of samples (or sum of weights), a
        float a share of all. With sample weights the last sample may not fit: then the fit warns,
        and ``constraint_violation_`` is what a cluster misses. If ``init`` is an array of centres
        there may be a bound for each cluster, (n_clusters,), in the order of its rows.
    init : {"k-means++", "random"}, array-like or callable, default="k-means++"
        Starting centres, as in :class:`sklearn.cluster.KMeans`; an array holds the centres
        themselves, in the shape (n_clusters, n_features), or the labels of a clustering, in the
        shape (n_samples,). If the labels keep all bounds, no fit by "homotopy" has a higher cost
        than they have. Partitioned data take centres only. "k-means++" is "random" where 100
        clusters or more have nearly equal sizes: where sizes alone are bounded, from above by 1.2
        times the mean or less, or from below by the mean / 1.2 or more.
    n_init : int or "auto", default="auto"
        Number of starts: rough runs of plain k-means from centres drawn by ``init``. The first is
        finished within the bounds, and so is each that is cheaper than all before it (with bounds,
        than all but one; see :class:`Homotopy`). With bounds, and in memory, all starts after the
        third are finished, each with a start that is crossed from it and the best end before (as in
        HG-means, Gribel and Vidal 2019). They take their time, and lower the cost where a group has
        few members in a cluster. The cheapest end is returned. The starts of n are the first n of
        those of n + 1, so that with one seed more starts never end worse.
        "auto" is 3, and 1 if ``init`` is an array or there are 50 clusters or more.
    max_iter : int, default=300
        Maximum number of rounds of one run, and of passes of the local search after it. 0 needs an
        array of centres as ``init``: they stay as they are, and samples are assigned to them at the
        least cost that keeps all bounds.
    tol : float, default=1e-5
        A run stops when a round lowers the cost by no more than this share of it, or than a tenth
        of a sample's mean cost. A pass of the local search has to gain a hundredth of that share,
        more from 2,000 samples on, and from 200,000 as much as a round. A round on partitioned data
        is a pass over all of them, and has to gain five times as much.
    algorithm : {"homotopy", "alternating"}, Homotopy or AlternatingSwaps, default="homotopy"
        "homotopy" alternates fair assignments and means, and then moves single samples.
        "alternating" is Algorithm 2 of [1]_, which does not aim at a given balance: fit warns if
        it misses ``min_balance``. An instance brings its own settings.
    random_state : int, RandomState instance or None, default=None
        Determines the starts. The same seed gives the same labels for any ``n_jobs``.
    n_jobs : int or None, default=None
        Number of threads for starts, and for blocks of rows from 16,385 on. None is 1 unless in a
        ``joblib.parallel_config`` context, -1 is all processors.
    verbose : int, default=0
        Print cost and balance after every round if positive.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each sample. May differ from the argmin of distance plus offset for samples on a
        tie or moved by the local search. An array of Dask where the samples are on a cluster.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters, float32 if X is.
    inertia_ : float
        Sum of weighted squared distances of samples to the centres of their own clusters.
    objective_ : float
        f1, the same per unit of weight.
    balance_ : float
        f2, the minimum balance of a cluster (smallest over largest group of an attribute), in
        [0, 1].
    data_balance_ : float
        The balance of the data as one cluster, the minimum over attributes.
    relative_balance_ : float
        Minimum balance of a cluster as a share of the data's; ``balance_ / data_balance_`` of one
        attribute, of several the minimum over them.
    cluster_balances_ : ndarray of shape (n_clusters,)
        Balance of each cluster; nan of an empty one, which there is only if X has fewer distinct
        rows than clusters. It comes last, at the centre of another one.
    share_ratio_ : float
        Minimum ratio of two groups' shares in a cluster, in [0, 1].
    cluster_share_ratios_ : ndarray of shape (n_clusters,)
        The same of each cluster.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Weight of the members of each cluster.
    group_weights_, group_counts_ : ndarray of shape (n_clusters, n_groups)
        Sum of weights, and number of samples with a weight, of each group in each cluster.
    offsets_ : ndarray of shape (n_clusters, n_groups)
        Added to the squared distance of a group's members to a cluster (of several groups, their
        sum): the dual solution at ``cluster_centers_``, the composition reached, and the required
        sizes.
    assignment_lower_bound_ : float
        No assignment to ``cluster_centers_`` with as good a composition and such sizes has lower
        inertia.
    constraint_violation_ : float or None
        Number of samples (sum of weights) by which a cluster misses the bound that is missed most:
        what a group lacks to the required balance or share, or has too much, or what a cluster
        lacks to its size, or has too much. 0 when all bounds are kept, None if balanced clusters
        were required, but there are no two groups.
    violated_bound_ : str or None
        Parameter that this is about: "min_balance", "min_share_ratio", "min_group_share",
        "max_group_share", "min_cluster_size" or "max_cluster_size"; None when all are kept.
    status_ : str
        One of "optimal", "feasible", "stopped", "max_iter", "not_found", "infeasible" and
        "unconstrained".
        "unconstrained": balanced clusters were required, but there are no two groups. Else
        "optimal": a local optimum, in which no single move or exchange of samples lowers the cost
        and keeps the sizes and the composition that is reached (or the required one, if more is
        reached). A clustering that differs in more samples may be cheaper. "feasible": all bounds
        are kept, and the search stopped by ``tol``, as most fits of many samples do, or the samples
        are partitioned and more than 100,000. "stopped": kept, and ended by a
        callback. "max_iter": kept, but ended by ``max_iter`` (with a warning). "infeasible": not
        kept, as no clusters keep them (with a warning). "not_found": not kept, though other
        clusters might keep them (with a warning).
    groups_ : GroupSummary
        Labels and counts of the groups, in the order of the columns of ``group_counts_``; with
        ``attributes="each"`` they are called by pairs (attribute, value).
    n_iter_, n_features_in_ : int
        Number of rounds and passes of the local search of all followed starts, and of features seen
        during fit.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Names of features seen during fit, if X has string column names.

    Warns
    -----
    MissingSensitiveFeaturesWarning
        If balance is required, but fit gets no ``sensitive_features`` or all samples are of one
        group. With a bound on sizes the default of ``min_balance`` requires none without groups.
    InfeasibleConstraintWarning
        If a required bound is not reached; the best fit found is stored.
    ConvergenceWarning
        If all bounds are kept, but ``max_iter`` ended the fit before ``tol`` did. If there are
        fewer distinct clusters than ``n_clusters``, as some rows are equal.
    UserWarning
        If all bounds are kept, but ``inertia_`` is more than 10 % above ``assignment_lower_bound_``
        where a group has 10 members or fewer per cluster, or a sample a fifth of a cluster's mean
        weight and five times that of a sample. Only fits of more than 100 samples warn.
    RuntimeWarning
        If ``init`` is an array and ``n_init`` more than one start.

    See Also
    --------
    cluster_front : The whole front of cost and balance.
    sklearn.cluster.KMeans : Plain k-means.

    References
    ----------
    .. [1] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
       clustering", LION 2022, arXiv:2105.14172.
    .. [2] F. Chierichetti, R. Kumar, S. Lattanzi and S. Vassilvitskii, "Fair clustering through
       fairlets", NeurIPS 2017.
    .. [3] S. Bera, D. Chakrabarty, N. Flores and M. Negahbani, "Fair algorithms for clustering",
       NeurIPS 2019.

    Examples
    --------
    >>> from skfair.cluster import FairKMeans
    >>> from skfair.datasets import make_fair_blobs
    >>> X, _, groups = make_fair_blobs(300, centers=2, random_state=0)
    >>> model = FairKMeans(n_clusters=2, min_balance=0.8, random_state=0)
    >>> model = model.fit(X, sensitive_features=groups)
    >>> print(f"{model.relative_balance_:.2f}")
    0.80
    >>> model.status_
    'optimal'

    At most 60 % of one group in any cluster:

    >>> other = FairKMeans(n_clusters=2, min_balance=None, max_group_share=0.6, random_state=0)
    >>> counts = other.fit(X, sensitive_features=groups).group_counts_
    >>> (counts / counts.sum(axis=1, keepdims=True)).round(2).tolist()
    [[0.4, 0.6], [0.6, 0.4]]

    The four-fifths rule, in clusters of at least 100 samples:

    >>> model.set_params(min_share_ratio=0.8, min_cluster_size=100)
    FairKMeans(min_cluster_size=100, min_share_ratio=0.8, n_clusters=2, random_state=0)
    >>> model = model.fit(X, sensitive_features=groups)
    >>> print(f"{model.share_ratio_:.2f}", model.cluster_sizes_.astype(int).tolist())
    0.80 [156, 144]
    """

    __metadata_request__fit = {"sensitive_features": True, "together": True}
    __metadata_request__predict = {"sensitive_features": True, "respect_sizes": True}

    n_clusters: PositiveInt = 8
    _: KW_ONLY
    min_balance: Share | None = 0.8
    min_share_ratio: Share | None = None
    min_group_share: Share | dict | Array | None = None
    max_group_share: Share | dict | Array | None = None
    attributes: Literal["intersections", "each"] = "intersections"
    handle_unknown: Literal["error", "overall"] = "error"
    min_cluster_size: PositiveInt | OpenShare | Array | None = None
    max_cluster_size: PositiveInt | OpenShare | Array | None = None
    init: Literal["k-means++", "random"] | Callable | Array = "k-means++"
    n_init: PositiveInt | Literal["auto"] = "auto"
    max_iter: NonNegativeInt = 300
    tol: NonNegative = 1e-5
    algorithm: Algorithm = "homotopy"
    random_state: RandomState = None
    n_jobs: int | None = None
    verbose: Verbose = 0

    @restore_on_failure(one_blas_thread=True)
    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        sensitive_features: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
        together: ArrayLike | None = None,
    ) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to cluster, by Euclidean distances: coordinates in degrees are none, and need a
            projection. Sparse ones are not made dense. Those of float32 stay so in memory,
            while sums and distances are float64. May be partitioned, as may the other columns:
            arrays and dataframes of Dask, or what :func:`skfair.datasets.open_blocks` opens. Up to
            100,000 samples then get the labels of the fit in memory. More are fitted by passes
            over all, warm-started on a subsample. ``algorithm`` must be "homotopy".
        y : Ignored
            Not used, present for API consistency.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), \
                default=None
            Group of each sample, by labels of any kind; with several attributes, see
            ``attributes``. None makes one group of all samples, with a warning.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; samples of weight 0 count as absent.
        together : array-like of shape (n_samples,), default=None
            Id of the household of each sample, such as a family, class or village, whose members
            go to one cluster. Sizes, balances and shares count members. A missing id is a household
            of its own. Members have equal weights, the data are dense and in memory, and
            ``algorithm`` is "homotopy". One household of rounding takes the place of one sample.

        Returns
        -------
        self : FairKMeans
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid; the message says what must hold.
        TypeError
            If ``sensitive_features`` is sparse, or X where ``algorithm`` is "alternating" or the
            data are partitioned.
        """
        validate_params(self)
        check_together(self, together, X, sensitive_features, sample_weight)
        arguments = FitArguments(
            X=X,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            together=together,
        )
        fit_input = check_input(self, arguments)
        random_state = check_random_state(self.random_state)
        # Callbacks see every round of the search.
        rounds = RoundReporter(self, X, fit_input.lacks_groups)
        describe, label = fit_input.clustering_attributes, fit_input.row_label_attributes
        watch = partial(rounds.report_round, describe, label=label)
        # Solve on centred data, then describe the solution in the units of X.
        algorithm = resolve_name(ALGORITHMS, self.algorithm, "algorithm")
        runs = make_run_settings(
            self, fit_input, n_auto=3 if self.n_clusters < MANY_CLUSTERS else 1, watch=watch
        )
        if self.max_iter == 0:
            point = assign_to_centers(fit_input.problem, check_fixed_centers(self, fit_input, runs))  # type: ignore[arg-type]
            n_iter, status = 0, "optimal"
        else:
            point, n_iter, status = algorithm._solve(fit_input.problem, runs, random_state)
        problem = fit_input.problem
        uses_slack = not problem.keeps_exactly(point.counts, problem.limits.level)
        if status == "optimal" and uses_slack:
            status = "feasible"
        # Equal clusters become one; those that are left are empty, and come last.
        merged = np.empty(0, dtype=np.intp)
        if self.max_iter > 0:
            point, merged = fit_input.merge_equal_clusters(point)
        fitted = fit_input.point_attributes(point)
        if len(merged) > 0:
            append_empty_clusters(fitted, merged)
        fitted |= {
            "n_iter_": max(n_iter, rounds.n_rounds),
            "status_": status,  # type: ignore[dict-item]
        }
        cut_short = (
            f"FairKMeans stopped after max_iter={self.max_iter} rounds or passes, before one "
            f"gained less than tol={self.tol:g} requires. Raise max_iter or tol."
        )
        message = explain_cost_above_bound(self, fit_input, fitted)
        model = store_clusters(self, X, fit_input, fitted, rounds, algorithm.advice, cut_short)
        if message is not None and not fit_input.lacks_groups:
            warn(message)
        return model

    def predict(
        self,
        X: MatrixLike,
        *,
        sensitive_features: MatrixLike | None = None,
        respect_sizes: bool = False,
    ) -> np.ndarray:
        """Cluster of each row.

        Sizes are bounded in the fit. New samples go to the nearest centre, however many have gone
        there, unless ``respect_sizes`` is set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to assign.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), \
                default=None
            Groups by the labels known from fit. With them a row goes to the cluster of least
            squared distance plus offset, which keeps clusters of new data balanced as long as they
            resemble the training data. Without them it goes to the nearest centre, which guarantees
            no balance.
        respect_sizes : bool, default=False
            Assign new samples, each of weight 1, to the places that the training samples have left:
            ``max_cluster_size - cluster_sizes_``, rounded down. The sum of squared distances (plus
            offsets, with ``sensitive_features``) over X is the minimum, an exact solution of the
            transportation problem. No call counts the samples of an earlier one. X must be in
            memory.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Position of each row's cluster in ``cluster_centers_``.

        Raises
        ------
        ValueError
            If a group was not seen during fit; the message lists the known ones. With
            ``respect_sizes``, if fewer places are left than X has samples, if the fit had no
            ``max_cluster_size``, or if X is partitioned.
        """
        check_is_fitted(self)
        if not respect_sizes:
            return self._predict_nearest(X, sensitive_features=sensitive_features)
        places = self._count_free_places(X, sensitive_features)
        X, groups = self._encode_rows(X, sensitive_features)
        if places.sum() < X.shape[0]:
            raise ValueError(
                f"With respect_sizes the clusters must have a place for each of {X.shape[0]} "
                f"samples, but max_cluster_size={self.max_cluster_size} leaves {places.sum()} "
                "places; pass fewer samples, or fit with a larger max_cluster_size."
            )
        X, centers = self._center(X)
        if groups is not None:
            X, centers = _append_offsets(X, centers, groups, self.offsets_)
        is_open = places > 0
        labels = assign_within_capacities(X, centers[is_open], places[is_open])
        return np.flatnonzero(is_open).astype(np.int32)[labels]

    @row_by_row(lambda self: np.empty(0, dtype=np.int32))
    def _predict_nearest(
        self, X: TableLike, *, sensitive_features: TableLike | None = None
    ) -> np.ndarray:
        """Cluster of each row, whatever the sizes."""
        X, groups = self._encode_rows(X, sensitive_features)
        if groups is None:
            return nearest_centers(*self._center(X))[0]
        distances = squared_distances(*self._center(X))
        return np.argmin(distances + groups @ self.offsets_.T, axis=1).astype(np.int32)

    def _encode_rows(
        self, X: TableLike, sensitive_features: TableLike | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Checked rows, and whether each is in each group; None without groups."""
        check_alignment(X=X, sensitive_features=sensitive_features)
        X = validate_data(self, X, **ACCEPTED, reset=False)
        if sensitive_features is None:
            return X, None
        return X, encode_memberships(self, sensitive_features, X.shape[0])

    def _count_free_places(self, X: TableLike, sensitive_features: TableLike | None) -> np.ndarray:
        """Number of new samples of weight 1 that still fit into each cluster."""
        if self.max_cluster_size is None or is_partitioned(X, sensitive_features):
            raise ValueError(
                "respect_sizes needs a fit with max_cluster_size, and samples in memory, but "
                f"max_cluster_size={self.max_cluster_size} and X is of type {type(X).__name__}; "
                "fit with a maximum size, and pass an array."
            )
        largest = resolve_sizes(self, "max_cluster_size", self.cluster_sizes_.sum(), np.inf)
        places = np.floor(largest * (1 + ROUNDING) - self.cluster_sizes_)
        return np.maximum(places, 0).astype(np.int64)

    @row_by_row(lambda self: np.empty((0, len(self.cluster_centers_))))
    def transform(self, X: MatrixLike) -> np.ndarray:
        """Euclidean distances to the centres, whatever the sizes of clusters in the fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to transform.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            In the precision of X, float32 or float64.
        """
        check_is_fitted(self)
        X = validate_data(self, X, **ACCEPTED, reset=False)
        return np.sqrt(squared_distances(*self._center(X))).astype(X.dtype, copy=False)

    def score(
        self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Minus the summed squared distance to the nearest centre; it ignores balance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.
        y : Ignored
            Not used, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.

        Returns
        -------
        score : float
            For balance use `skfair.metrics.get_scorer`.

        Raises
        ------
        ValueError
            If X and sample_weight have a pandas index in different orders.
        """
        check_is_fitted(self)
        check_alignment(X=X, sample_weight=sample_weight)
        X = validate_data(self, X, **ACCEPTED, reset=False)
        weights = check_sample_weight(sample_weight, X, dtype=np.float64)
        return -float(weights @ nearest_centers(*self._center(X))[1])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = [dtype.__name__ for dtype in FLOATS]
        return tags

    @property
    def _n_features_out(self) -> int:
        """Number of columns that `transform` returns."""
        return self.cluster_centers_.shape[0]

    def _center(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows and centres about the mean of the training data.

        Far from the origin, rounding moves ``cluster_centers_``, which may change the nearest one.
        """
        return center_rows(X, self._mean), self._centers
