"""What clusterers share: requirements of clusters, fits that callbacks can watch, fronts."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from numbers import Integral, Real
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from skfair._groups.groups import (
    balance,
    balances_and_data_balance,
    data_balance,
    refuse_continuous_attributes,
    smallest_share_ratios,
)
from skfair._groups.known import warn_of_unclear_labels
from skfair._groups.samples import SampleSummary, check_samples, encode_block
from skfair._groups.state import PlainStateMixin
from skfair._kernels.limits import add_rows, balance_limits, size_rows
from skfair._partitions import partitions_of
from skfair._partitions.blocks import Blocks
from skfair._partitions.collections import feature_attributes
from skfair._utils.checks import check_finite_squares, explain_conversion, join_names, warn
from skfair._utils.fit import store_fit
from skfair._utils.sklearn import CallbackSupportMixin
from skfair._utils.tables import TableLike
from skfair.exceptions import InfeasibleConstraintWarning, MissingSensitiveFeaturesWarning
from skfair.metrics import non_dominated_mask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skfair._groups.arguments import FitArguments
    from skfair._groups.groups import Groups, GroupSummary
    from skfair._kernels.limits import Limits
    from skfair._partitions.partitions import Partitions


# Requirements for every cluster, by groups and by size, and what clusterings reach of them.
#
# What is reached becomes fitted attributes, the status, and warnings.


ROUNDING = 1e-12  # of sums and ratios
SIZE_ROUNDING = 1e-9  # relative, of sizes
MAX_NAMED = 5  # clusters in a message
GROUP_SHARE_PARAMETERS = ("min_group_share", "max_group_share")
BALANCE_PARAMETERS = ("min_balance", "min_share_ratio", *GROUP_SHARE_PARAMETERS)
"""Parameters that require balanced clusters."""


class ClusterRequirements(NamedTuple):
    """The parameters of a clusterer that bound its clusters, as numbers."""

    balance: float = 0.0  # relative to the data's own
    share_ratio: float = 0.0
    smallest: float | np.ndarray = 0.0  # weight of a cluster, or of each one
    largest: float | np.ndarray = np.inf
    group_share_bounds: tuple = (0.0, 1.0)  # minimum and maximum in a cluster, each one or by group
    attribute_slices: tuple = (slice(None),)  # the groups that are compared with one another
    members: np.ndarray | None = None  # number by group; None: enough for all clusters
    group_positions: np.ndarray | slice = slice(None)  # of the groups in tables of the problem
    n_clusters: int = 1

    def bind_to_groups(
        self,
        groups: GroupSummary,
        attributes: tuple[slice, ...],
        places: np.ndarray,
        weights: np.ndarray,
    ) -> ClusterRequirements:
        """The requirements of groups, whose columns and weights in the problem are given.

        A ValueError names the group whose share of all samples is outside of its bounds: then no
        clusters keep them.
        """
        self = self._replace(
            attribute_slices=attributes, members=np.asarray(groups.counts), group_positions=places
        )
        if len(places) == len(attributes):  # a single group is all of every cluster
            return self._replace(group_share_bounds=(0.0, 1.0))
        shares = weights[places] * len(attributes) / weights.sum()
        names = groups.names
        bounds = []
        for sign, name, bound in zip(
            (-1, 1), GROUP_SHARE_PARAMETERS, self.group_share_bounds, strict=True
        ):
            if isinstance(bound, Mapping):
                bound = _order_by_group(name, bound, names, max(sign, 0))
            bounds.append(bound)
            fits = np.shape(bound) in ((), shares.shape)
            excess = sign * (shares - bound) if fits else shares
            if not (fits and excess.max() <= ROUNDING):
                g = np.argmax(excess)
                raise ValueError(
                    f"{name} must be one number or one by group, and allow its share of all samples"
                    f": {shares[g]:.4g} of group {names[g]!r}, not {bound}."
                )
        return self._replace(group_share_bounds=tuple(bounds))

    def limits(self, group_weights: np.ndarray, intersections: np.ndarray | None = None) -> Limits:
        """The same as `Limits`, with the level that has to be reached.

        ``intersections`` are the groups of each, (n_intersections, n_attributes); None if every
        group is one.
        """
        if len(group_weights) == len(self.attribute_slices):
            # Each attribute has one group, which is balanced in any case.
            self = self._replace(balance=0.0, share_ratio=0.0)
        limits = balance_limits(len(group_weights))
        scales, shares = np.zeros((2, len(self.attribute_slices), len(group_weights)))
        for groups, counted, shared in zip(self.attribute_slices, scales, shares, strict=True):
            counted[groups] = 1.0
            shared[groups] = group_weights[groups].min() / group_weights[groups]
        # Of several attributes only balances relative to the data's own can be compared.
        of_data = np.array(
            [data_balance(group_weights[groups]) for groups in self.attribute_slices]
        )
        alone = len(of_data) == 1
        goal = self.balance * float(of_data[0] if alone else 1.0)
        factors = np.ones(1) if alone else 1 / of_data
        limits = limits._replace(level=goal, scales=scales, factors=factors)
        # A ratio of shares implies as much relative balance.
        if self.share_ratio > 0 and self.share_ratio >= self.balance:
            level = float(self.share_ratio)
            limits = limits._replace(level=level, scales=shares, factors=np.ones(len(shares)))
        elif self.share_ratio > 0:
            limits = limits._replace(
                scales=np.vstack([scales, shares]),
                factors=np.append(factors, np.full(len(shares), goal / self.share_ratio)),
            )
        limits = limits._replace(slack=np.zeros(len(limits.factors)))
        if intersections is not None:
            limits = limits._replace(intersections=intersections)
        if self.members is not None:
            limits.required[self.group_positions] = self.members >= self.n_clusters
        # Without any minimum there is no row. Where some sites have one, 0 bounds the others.
        smallest = np.asarray(self.smallest) * (1 - ROUNDING)
        if not smallest.any():
            smallest = np.full_like(smallest, -np.inf)
        limits = add_rows(limits, *size_rows(limits, smallest, self.largest * (1 + ROUNDING)))
        # The share of a group: the row of its members less the bound times that of the size.
        for sign, shares in zip((-1, 1), self.group_share_bounds, strict=True):
            rows = np.eye(len(group_weights))
            shares = np.broadcast_to(shares, len(group_weights))
            rows[:, self.group_positions] = sign * (
                rows - shares[:, np.newaxis] / len(self.attribute_slices)
            )
            is_bound = shares != max(sign, 0)  # 0 and 1 bound nothing
            limits = add_rows(limits, rows[is_bound], ROUNDING * group_weights.sum())
        return limits


def _order_by_group(parameter, bound, names, unbounded):
    """Bounds in the order of the groups, from a dict by their labels."""
    if unknown := [label for label in bound if label not in names]:
        raise ValueError(
            f"{parameter} must be a dict of labels of groups, but no group is called "
            f"{join_names(map(repr, unknown))}. The groups are {join_names(map(repr, names))}; "
            "groups that are left out have no bound."
        )
    return np.array([bound.get(name, unbounded) for name in names], dtype=np.float64)


def check_requirements(
    estimator: BaseEstimator, total: float, is_count: bool, n_sites: int | None = None
) -> ClusterRequirements:
    """The requirements that a clusterer's parameters state, refused if no clusters have such sizes.

    ``total`` is the weight of all samples, ``is_count`` whether all weights are 1. Clusters at some
    of ``n_sites`` sites may have a bound for each site.
    """
    total = float(total)
    n_clusters = estimator.n_clusters
    smallest = resolve_sizes(estimator, "min_cluster_size", total, 0.0, n_sites)
    largest = resolve_sizes(estimator, "max_cluster_size", total, np.inf, n_sites)
    attainable = (total / n_clusters, total / n_clusters)
    units = "units of sample_weight"
    if is_count:
        # Counts are integers: bounds are rounded inwards, and so are the attainable sizes.
        smallest = np.ceil(smallest * (1 - ROUNDING))
        largest = np.floor(largest * (1 + ROUNDING))
        attainable = (total // n_clusters, -(-total // n_clusters))
        units = "samples"
    if np.ndim(smallest) + np.ndim(largest) > 0:
        check_sizes_by_cluster(smallest, largest, total, n_clusters, n_sites)
    elif smallest > attainable[0] * (1 + ROUNDING):
        raise ValueError(
            f"min_cluster_size={estimator.min_cluster_size} requires {smallest:.12g} {units} in "
            f"each of {n_clusters} clusters, but there are {total:.12g}: {attainable[0]:.12g} is "
            "the maximum that all clusters can have. Lower it, or use fewer clusters."
        )
    elif largest < attainable[1] * (1 - ROUNDING):
        raise ValueError(
            f"max_cluster_size={estimator.max_cluster_size} allows {largest:.12g} {units} in each "
            f"of {n_clusters} clusters, but there are {total:.12g}: {attainable[1]:.12g} is the "
            "minimum bound with which all fit. Raise it, or use more clusters."
        )
    least, most = (getattr(estimator, name, None) for name in GROUP_SHARE_PARAMETERS)
    return ClusterRequirements(
        balance=estimator.min_balance or 0.0,
        share_ratio=estimator.min_share_ratio or 0.0,
        smallest=smallest,
        largest=largest,
        group_share_bounds=(0.0 if least is None else least, 1.0 if most is None else most),
        n_clusters=n_clusters,
    )


def resolve_sizes(estimator, name, total, absent, n_sites=None):
    """A bound on sizes as a weight, or an array of one for each cluster, or site."""
    sizes = getattr(estimator, name)
    if sizes is None or isinstance(sizes, Real):
        return resolve_size(sizes, total, absent)
    init = getattr(estimator, "init", None)
    if n_sites is None and np.ndim(init) != 2:
        raise ValueError(
            f"{name} may have one bound for each cluster only if init is an array of centres, to "
            f"whose rows they belong, but init={init!r}; pass centres, or one bound for all."
        )
    # Whole floats, as np.ceil makes them, are numbers of samples.
    sizes = [
        int(size) if isinstance(size, Real) and size == np.floor(size) < np.inf else size
        for size in np.asarray(sizes).tolist()
    ]
    # A minimum of 0 is none.
    lowest = 0 if name == "min_cluster_size" else 1
    is_size = [
        size >= lowest if isinstance(size, Integral) else isinstance(size, Real) and 0 < size < 1
        for size in sizes
    ]
    n_bounds = n_sites or estimator.n_clusters
    if len(sizes) != n_bounds or not all(is_size):
        raise ValueError(
            f"{name} must have an int from {lowest} on, or a float in (0, 1), for each of "
            f"{n_bounds} {'sites' if n_sites else 'clusters'}, got {sizes}."
        )
    return np.array([resolve_size(size, total, absent) for size in sizes])


def check_sizes_by_cluster(
    smallest: float, largest: float, total: float, n_clusters: int, n_sites: int | None = None
) -> None:
    """Raise a ValueError if no clusters, at any sites, have sizes within the bounds of each."""
    low, high = (np.broadcast_to(bound, n_sites or n_clusters) for bound in (smallest, largest))
    if (low > high).any():
        k = int(np.argmax(low > high))
        raise ValueError(
            f"min_cluster_size must not exceed max_cluster_size, but cluster {k} has bounds "
            f"{low[k]:.12g} and {high[k]:.12g}; change one of them."
        )
    # Of more sites than clusters those that allow most.
    least = np.sort(low)[:n_clusters].sum()
    most = np.sort(high)[-n_clusters:].sum()
    if least > total * (1 + ROUNDING) or most < total * (1 - ROUNDING):
        raise ValueError(
            f"The sums of min_cluster_size and max_cluster_size are {least:.12g} and "
            f"{most:.12g}, but must be at most and at least the {total:.12g} of all samples; "
            "lower the minimum sizes or raise the maximum ones."
        )


def resolve_size(size: Any, total: float, absent: float) -> float:
    """A bound on the size of a cluster as a weight: floats are shares of all."""
    if size is None:
        return absent
    return float(size) if isinstance(size, Integral) else float(size * total)


def keeps_balance(
    counts: np.ndarray,
    ratio: float,
    rounding_weight: float,
    scale: np.ndarray | float = 1.0,
    members: np.ndarray | None = None,
) -> bool:
    """Whether every cluster has balance ``ratio`` up to one sample, and lacks no large group.

    That is ``(n_kj + w) s_j >= ratio (n_kj' - w) s_j'`` for all clusters k and groups j, j', with w
    the weight of the lightest sample, and ``n_kj > 0`` for all groups that have at least as many
    members as there are clusters. A ratio of 0 is always kept.
    """
    if ratio == 0:
        return True
    # One sample of slack on both sides: the smallest group may gain it, the largest lose it.
    lowest = ratio * ((counts - rounding_weight) * scale).max(axis=1)
    is_balanced = ((counts + rounding_weight) * scale).min(axis=1) >= lowest * (1 - 1e-12)
    is_large = np.full(counts.shape[1], True) if members is None else members >= len(counts)
    return bool(is_balanced.all() and (counts[:, is_large] > 0).all())


def balance_attributes(
    weights: np.ndarray, requirements: ClusterRequirements, rounding_weight: float = 1.0
) -> dict[str, np.ndarray | float]:
    """The fitted attributes that follow from a table of sums of weights by cluster and group."""
    tables = [weights[:, groups] for groups in requirements.attribute_slices]
    sizes = tables[0].sum(axis=1)
    balances, relative_balances, of_data = balances_and_data_balance(tables)
    share_ratios = smallest_share_ratios(tables)
    attributes = {
        "balance_": float(balances.min()),
        "data_balance_": of_data,
        "relative_balance_": float(relative_balances.min()),
        "cluster_balances_": balances,
        "share_ratio_": float(share_ratios.min()),
        "cluster_share_ratios_": share_ratios,
        "cluster_sizes_": sizes,
        "group_weights_": weights,
    }
    shortfalls = list_shortfalls(attributes, requirements, rounding_weight)
    return attributes | violation_attributes(shortfalls)


class Shortfall(NamedTuple):
    """A requirement that is missed, by how much at most in a cluster, and a sentence about it."""

    amount: float  # of samples, or weight
    parameter: str
    sentence: str


def violation_attributes(shortfalls: list[Shortfall]) -> dict[str, float | str | None]:
    """Return the fitted attributes about the requirement that is missed most."""
    if not shortfalls:
        return {"constraint_violation_": 0.0, "violated_bound_": None}
    worst = max(shortfalls, key=attrgetter("amount"))
    return {"constraint_violation_": worst.amount, "violated_bound_": worst.parameter}


def list_shortfalls(
    attributes: Any, requirements: ClusterRequirements, rounding_weight: float
) -> list[Shortfall]:
    """Return the requirements that are missed.

    Up to the weight of the lightest sample a balance is not missed. ``attribute_slices`` are as
    `balance_attributes` returns them.
    """
    return [
        *_list_balance_shortfalls(attributes, requirements, rounding_weight),
        *_list_share_shortfalls(attributes, requirements),
        *_list_size_shortfalls(attributes, requirements),
    ]


def _list_balance_shortfalls(
    attributes: Any, requirements: ClusterRequirements, rounding_weight: float
) -> Iterator[Shortfall]:
    """Yield the balance and the ratio of shares if they are missed, by what a group lacks."""
    slices = requirements.attribute_slices
    tables = [attributes["group_weights_"][:, groups] for groups in slices]
    lacking_balance, lacking_ratio = np.zeros((2, len(tables[0])))  # by cluster
    # Each attribute must keep both requirements among its own groups.
    for groups, table in zip(slices, tables, strict=True):
        totals = table.sum(axis=0)
        members = None if requirements.members is None else requirements.members[groups]
        ratio = requirements.balance * data_balance(totals)
        lacking = measure_lack(table, ratio, rounding_weight, np.ones_like(totals), members)
        lacking_balance = np.maximum(lacking_balance, lacking)
        ratio = requirements.share_ratio
        lacking = measure_lack(table, ratio, rounding_weight, 1 / totals, members)
        lacking_ratio = np.maximum(lacking_ratio, lacking)
    if lacking_balance.any():
        sentence = (
            f"min_balance={requirements.balance:.12g} is not reached: the relative balance of the "
            f"fit is {attributes['relative_balance_']:.4f} ({_balance_details(attributes, tables)})"
            f". {_describe_lack(attributes, lacking_balance)}"
        )
        yield Shortfall(float(lacking_balance.max()), "min_balance", sentence)
    if lacking_ratio.any():
        sentence = (
            f"min_share_ratio={requirements.share_ratio:.12g} is not reached: the ratio of shares "
            f"of the fit is {attributes['share_ratio_']:.4f}. "
            f"{_describe_lack(attributes, lacking_ratio)}"
        )
        yield Shortfall(float(lacking_ratio.max()), "min_share_ratio", sentence)


def measure_lack(
    table: np.ndarray,
    ratio: float,
    rounding_weight: float,
    scale: np.ndarray,
    members: np.ndarray | None,
) -> np.ndarray:
    """Return the weight that a group lacks in each cluster, (n_clusters,); 0 if `keeps_balance`.

    Example: 3 samples of a group beside 10 of another lack 5 to a ratio of .8.
    """
    if keeps_balance(table, ratio, rounding_weight, scale, members):
        return np.zeros(len(table))
    needed = ratio * (table * scale).max(axis=1, keepdims=True) / scale  # (n_clusters, n_groups)
    # A group that should be in every cluster may be missing, though a fraction of it would do.
    is_missing = (table == 0) & (True if members is None else members >= len(table))
    return np.maximum(needed - table, rounding_weight * is_missing).max(axis=1)


def _describe_lack(attributes: Any, lacking: np.ndarray) -> str:
    """Say how much of a group clusters lack, those first that lack most."""
    worst = [k for k in np.argsort(-lacking, kind="stable")[:MAX_NAMED] if lacking[k] > 0]
    clusters = [f"{_name_cluster(attributes, k)} lacks {lacking[k]:.4g} of a group" for k in worst]
    return "; ".join(clusters).capitalize() + "."


def _list_share_shortfalls(
    attributes: Any, requirements: ClusterRequirements
) -> Iterator[Shortfall]:
    """Yield the bounds on shares of groups that are missed."""
    sizes = attributes["cluster_sizes_"]
    for sign, name, bound in zip(
        (-1, 1), GROUP_SHARE_PARAMETERS, requirements.group_share_bounds, strict=True
    ):
        excess = sign * (attributes["group_weights_"] - sizes[:, np.newaxis] * bound)
        if (excess <= 1e-9 * sizes.max()).all():
            continue
        share = (excess / np.maximum(sizes, ROUNDING)[:, np.newaxis]).max()
        sentence = (
            f"{name}={bound} is not kept: a cluster misses it by {share:.4g}, and one by "
            f"{excess.max():.6g} of its members."
        )
        yield Shortfall(float(excess.max()), name, sentence)


def _list_size_shortfalls(
    attributes: Any, requirements: ClusterRequirements
) -> Iterator[Shortfall]:
    """Yield the bounds on sizes that are missed, of either side."""
    sizes = attributes["cluster_sizes_"]
    rounding = SIZE_ROUNDING * float(sizes.sum())
    for sign, name, bounds in (
        (-1, "min_cluster_size", requirements.smallest),
        (1, "max_cluster_size", requirements.largest),
    ):
        bounds = np.broadcast_to(bounds, sizes.shape)
        excess = sign * (sizes - bounds)
        if excess.max() <= rounding:
            continue
        clusters = [
            f"{_name_cluster(attributes, k)} has {sizes[k]:.12g}, {excess[k]:.12g} too "
            f"{'many' if sign > 0 else 'few'} for {bounds[k]:.12g}"
            for k in np.argsort(-excess, kind="stable")[:MAX_NAMED]
            if excess[k] > rounding
        ]
        sentence = f"{name} is not kept: {'; '.join(clusters)}."
        yield Shortfall(float(excess.max()), name, sentence)


def _name_cluster(attributes: Any, k: int) -> str:
    """Name a cluster for a message, with its site if it has one."""
    sites = attributes.get("medoid_indices_")
    return f"cluster {k}" if sites is None else f"cluster {k} (site {sites[k]})"


def _balance_details(
    attributes: dict[str, np.ndarray | float | str | None], tables: list[np.ndarray]
) -> str:
    """The balance reached, of several attributes that of each."""
    if len(tables) == 1:
        return (
            f"balance {attributes['balance_']:.4f} of {attributes['data_balance_']:.4f} in the data"
        )
    each = [f"{balance(t) / data_balance(t.sum(axis=0)):.4f}" for t in tables]
    return f"the minimum of {', '.join(each)}, one of each attribute"


def status_attributes(
    attributes: dict[str, Any], search: str, lacks_groups: bool, is_infeasible: bool = False
) -> dict[str, str | float | None]:
    """Status and violation of a fit, from its attributes and how the search ended.

    Where balanced clusters were required without groups, nothing is certified. ``is_infeasible``
    says whether it is shown that no clusters keep the bounds.
    """
    # What is reached decides, whatever the search reports of itself.
    violation = attributes["constraint_violation_"]
    if violation > 0:
        search = "infeasible" if is_infeasible else "not_found"
    elif lacks_groups:
        search = "unconstrained"
        violation = None
    return {"status_": search, "constraint_violation_": violation}


def small_groups_message(estimator: BaseEstimator) -> str | None:
    """A message about groups with fewer members than there are clusters; None without any."""
    groups, n_clusters = estimator.groups_, estimator.n_clusters
    if not (estimator.min_balance or estimator.min_share_ratio):
        return None
    sizes = zip(groups.names, groups.counts, strict=True)
    small = [f"{name!r} ({size})" for name, size in sizes if size < n_clusters]
    if not small or estimator.balance_ > 0:
        return None
    return (
        f"Groups have fewer members than the {n_clusters} clusters: {join_names(small)}. Some "
        "clusters have none of them, so that balance_ is 0. Ask for fewer clusters, or merge small "
        "groups."
    )


def warn_of_status(
    estimator: BaseEstimator, fit_input: Any, search: str, advice: str, cut_short: bool | str | None
) -> None:
    """Warn of requirements that are missed, or else of small groups and of a fit cut short."""
    small = small_groups_message(estimator)
    if estimator.status_ in ("infeasible", "not_found"):
        shortfalls = list_shortfalls(
            vars(estimator), fit_input.requirements, fit_input.rounding_weight
        )
        sentences = [one.sentence for one in shortfalls]
        if sentences and fit_input.largest_share > 0:
            sentences.append(
                f"The heaviest sample has {fit_input.largest_share:.3g} of the weight of all."
            )
        if search == "stopped":
            sentences.append("A callback ended the fit before its end.")
        if estimator.status_ == "infeasible":
            sentences.append("No clusters keep all bounds.")
        else:
            sentences.append("Other clusters might keep all bounds.")
        if shortfalls:  # of broken pairs there is a warning already
            warn(" ".join([*sentences, small or advice]), InfeasibleConstraintWarning)
        return
    if small:
        warn(small)
    if search == "max_iter" and cut_short:
        warn(cut_short, ConvergenceWarning)  # type: ignore[arg-type]


def check_rows(
    estimator: FairClusterer,
    arguments: FitArguments,
    **accepted: Any,
) -> tuple:
    """Check rows in memory, with the options of `check_array` that are accepted of X.

    Returns X, `Samples` and the positions of those of positive weight, and the message of a fit
    without groups whose parameters require balance.
    """
    with explain_conversion(arguments.X, estimator):
        X = check_array(arguments.X, **accepted, input_name="X", estimator=estimator)
    X = canonical_rows(X) if sparse.issparse(X) else X
    if accepted.get("ensure_all_finite", True):
        check_finite_squares(X, "X", estimator)
    lacks_groups = arguments.sensitive_features is None
    missing = missing_groups_message(estimator) if lacks_groups else None
    samples, present = check_samples(arguments, missing=missing)
    check_finite_squares(samples.weights, "sample_weight")
    refuse_continuous_attributes(samples.groups)
    among = "" if len(present) == X.shape[0] else " rows of positive sample_weight"
    check_sample_count(estimator, len(present), among)
    return X, samples, present, missing


def canonical_rows(X: sparse.csr_array) -> sparse.csr_array:
    """Sparse X as CSR without duplicate entries or stored zeros, that may be written to."""
    X = sparse.csr_array(X)
    is_canonical = X.has_canonical_format and X.data.all()
    # Kernels are compiled for arrays that may be written to.
    is_writable = all(one.flags.writeable for one in (X.data, X.indices, X.indptr))
    if not (is_canonical and is_writable):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def check_sample_count(estimator: BaseEstimator, n_samples: int, among: str = "") -> None:
    """Raise for fewer samples than clusters."""
    if n_samples < estimator.n_clusters:
        raise ValueError(
            f"n_samples={n_samples}{among} should be >= n_clusters={estimator.n_clusters}; ask for "
            "fewer clusters."
        )


def missing_groups_message(estimator: BaseEstimator) -> str | None:
    """A message for fits without groups whose parameters require balance; None for others.

    Bounds on sizes need no groups. With them the default of ``min_balance`` is no request.
    """
    bounds = (getattr(estimator, f"{name}_cluster_size", None) for name in ("min", "max"))
    default = signature(type(estimator)).parameters["min_balance"].default
    is_default = any(bound is not None for bound in bounds) and estimator.min_balance == default
    request = _balance_request_text(estimator, BALANCE_PARAMETERS[is_default:])
    return request and (
        f"{request}, but fit got no sensitive_features: all samples are one group and the fit is "
        "plain clustering. Pass fit(X, sensitive_features=...) by name, as a second argument "
        "without one is y, which is not used; or min_balance=None for clusters without balance."
    )


def warn_if_one_group(
    estimator: FairClusterer,
    groups: GroupSummary | Groups,
    attributes: tuple[slice, ...] = (slice(None),),
) -> bool:
    """Whether balance is required, but no attribute has two groups; warns if so."""
    if len(groups.labels) > len(attributes):
        return False
    request = _balance_request_text(estimator)
    if request is None:
        return False
    names = join_names(map(repr, groups.names))
    warn(
        f"{request}, but all samples are in the group {names}: there is nothing to balance and the "
        "fit is plain clustering. Pass sensitive_features with two groups or more, or "
        "min_balance=None for clusters without balance.",
        MissingSensitiveFeaturesWarning,
    )
    return True


def warn_of_duplicates(n_distinct: int, n_clusters: int) -> None:
    """Warn that there are fewer distinct clusters than there should be, as scikit-learn does."""
    warn(
        f"Number of distinct clusters ({n_distinct}) found smaller than n_clusters ({n_clusters}). "
        "Possibly due to duplicate points in X. Ask for fewer clusters.",
        ConvergenceWarning,
    )


def _balance_request_text(
    estimator: FairClusterer, names: tuple[str, ...] = BALANCE_PARAMETERS
) -> str | None:
    """The parameters that require balanced clusters, to begin a message with; None without any."""
    values = {name: getattr(estimator, name, None) for name in names}
    required = [f"{name}={value}" for name, value in values.items() if np.any(value)]
    if not required:
        return None
    return f"{' and '.join(required)} require{'s' * (len(required) == 1)} balanced clusters"


# Moves of single samples, of which fronts are made.


class Route(NamedTuple):
    """A labelling and moves that lead on from it; each prefix of the moves is a labelling."""

    labels: np.ndarray  # (n_samples,) of a small integer type
    samples: np.ndarray  # (n_moves,)
    clusters: np.ndarray  # (n_moves,)
    costs: np.ndarray  # (n_moves + 1,) of the labelling and after each move
    ratios: np.ndarray  # (n_moves + 1,) balances or ratios of shares

    @classmethod
    def from_labels(cls, labels: np.ndarray, cost: float, ratio: float) -> Route:
        """A labelling from which no move leads on."""
        nothing = np.empty(0, dtype=np.intp)
        return cls(labels, nothing, nothing, np.array([cost]), np.array([ratio]))

    def labels_after(self, n_moves: int) -> np.ndarray:
        """Cluster of each sample after so many moves, (n_samples,) int32."""
        labels = self.labels.astype(np.int32)
        # Of several moves of one sample the last counts, which is what numpy's assignment does.
        labels[self.samples[:n_moves]] = self.clusters[:n_moves]
        return labels

    def sources(self) -> np.ndarray:
        """Cluster that each move takes its sample from, (n_moves,)."""
        sources = self.labels[self.samples].astype(np.intp)
        # Of several moves of one sample each begins where the one before has ended.
        order = np.argsort(self.samples, kind="stable")
        is_repeated = np.diff(self.samples[order]) == 0
        sources[order[1:][is_repeated]] = self.clusters[order[:-1][is_repeated]]
        return sources


def front_points(routes: list) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Costs, ratios, and positions (route, number of moves) of the points of a front, by cost.

    All prefixes of all routes compete, and the non-dominated ones remain.
    """
    cost = np.concatenate([route.costs for route in routes])
    ratio = np.concatenate([route.ratios for route in routes])
    lengths = [len(route.costs) for route in routes]
    of_route = np.repeat(np.arange(len(routes)), lengths)
    n_moves = np.concatenate([np.arange(length) for length in lengths])
    rows = np.flatnonzero(non_dominated_mask(cost, ratio))
    rows = rows[np.argsort(cost[rows], kind="stable")]
    # Ratios that differ by rounding are equal: the cheaper point stays.
    rows = rows[np.diff(ratio[rows], prepend=-1.0) > ROUNDING]
    return cost[rows], ratio[rows], np.column_stack([of_route[rows], n_moves[rows]])


# A fit that callbacks can watch, and a front of fits: what the clusterers share.


class FairClusterer(PlainStateMixin, CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """A clusterer with a parameter ``min_balance``, whose fit ends with `store_clusters`."""


def store_clusters(
    estimator: FairClusterer,
    X: TableLike | Blocks,
    fit_input: Any,
    fitted: Any,
    rounds: RoundReporter,
    advice: str,
    cut_short: bool | str | None,
) -> FairClusterer:
    """The estimator with the attributes of its best clustering; then warn.

    ``fit_input`` has ``requirements``, ``rounding_weight``, ``lacks_groups``, if balanced clusters
    are required, but there are no two groups, and a method ``is_shown_infeasible``. The status that
    was fitted is "optimal", "feasible", "stopped" or "max_iter". ``advice`` is for requirements
    that are not reached, ``cut_short`` says what ended a search too early, if something did.
    """
    search = fitted["status_"]
    # Status and violation follow from the fitted counts.
    is_infeasible = fitted["constraint_violation_"] > 0 and fit_input.is_shown_infeasible()
    fitted |= status_attributes(fitted, search, fit_input.lacks_groups, is_infeasible)
    store_fit(estimator, fitted | feature_attributes(X))
    warn_of_status(estimator, fit_input, search, advice, cut_short)
    rounds.context.call_on_fit_task_end(estimator=estimator, X=X, reconstruction_attributes={})
    return estimator


class RoundReporter:
    """The rounds of a fit: each is a task of the callbacks, and a line if ``verbose``."""

    def __init__(self, estimator: BaseEstimator, X: TableLike | Blocks, lacks_groups: bool) -> None:
        self.estimator = estimator
        self.lacks_groups = lacks_groups
        self.context = estimator._init_callback_context(max_subtasks=None)
        self.context.call_on_fit_task_begin(estimator=estimator, X=X)
        self.n_rounds = 0
        self.is_stopped = False

    def report_round(
        self,
        describe: Callable[[Any], dict[str, Any]],
        clustering: Any,
        label: Callable[[Any], dict[str, Any]] | None = None,
    ) -> bool:
        """Report a round that ends at a clustering; True if a callback stops the fit.

        ``describe`` returns the fitted attributes as if the fit ended there, ``label`` those that
        are not printed and may take another pass. They are called only if they are read.
        """
        self.n_rounds += 1

        def current_attributes() -> dict[str, np.ndarray | GroupSummary | float]:
            fitted = describe(clustering) | ({} if label is None else label(clustering))
            ended = status_attributes(fitted, "stopped", self.lacks_groups)
            return fitted | ended | {"n_iter_": self.n_rounds}

        if self.estimator.verbose:
            now = describe(clustering)
            print(f"cost {now['objective_']:.6g}, balance {now['balance_']:.4f}")
        task = self.context.subcontext(task_name="round")
        task.call_on_fit_task_begin(estimator=self.estimator)
        self.is_stopped = task.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=current_attributes
        )
        return self.is_stopped


def encode_and_summarize(
    estimator: BaseEstimator, arguments: FitArguments
) -> tuple[Partitions, SampleSummary]:
    """The encoded blocks of partitioned data, and their `SampleSummary`.

    Raises
    ------
    ValueError
        For what is refused of data in memory, with the number of the partition; if clusters are to
        be balanced, but there are no groups; if there are fewer samples than clusters.
    """
    if arguments.sensitive_features is None and missing_groups_message(estimator) is not None:
        raise ValueError(
            "Balanced clusters of partitioned data need sensitive_features, but none came; pass a "
            "collection with the same partitions, or min_balance=None."
        )
    rows = partitions_of(estimator.n_jobs, **vars(arguments))
    blocks = rows.map(encode_block, type(estimator).__name__).persist()
    summary = SampleSummary(blocks)
    groups = summary.intersection_groups()
    refuse_continuous_attributes(groups)
    warn_of_unclear_labels(groups)
    check_sample_count(estimator, summary.counts.sum())
    return blocks, summary
