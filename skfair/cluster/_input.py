"""Samples in memory that clusterers assign, the limits on their clusters, and households."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skfair._groups.groups import GroupSummary, count_table
from skfair._groups.ids import encode_households
from skfair._groups.known import encode_known_groups, encode_known_values
from skfair._groups.samples import find_first_rows
from skfair._kernels.limits import Limits, add_filler_group, count_memberships, find_memberships
from skfair._utils.checks import argument_error
from skfair.cluster._base import (
    ClusterRequirements,
    FairClusterer,
    check_requirements,
    check_sample_count,
    warn_if_one_group,
)

if TYPE_CHECKING:
    from skfair._groups.arguments import FitArguments
    from skfair._groups.groups import Groups
    from skfair._groups.samples import Samples
    from skfair._utils.tables import TableLike


class Households(NamedTuple):
    """Rows that stay together: each household is a sample, with a composition of groups."""

    of_rows: np.ndarray  # (n_rows,) household of each row
    codes: np.ndarray  # (n_households,) composition
    compositions: np.ndarray  # (n_compositions, n_intersections) members by intersection
    weights: np.ndarray  # (n_households,) of a composition: members are multiples of it
    sizes: np.ndarray  # (n_households,) members of the composition
    factors: np.ndarray  # (n_households,) number of times that a household has its composition
    # (n_absent,) household of each row without weight: further numbers where no member has any
    of_absent: np.ndarray = np.empty(0, dtype=np.intp)

    @property
    def n_households(self) -> int:
        """Number of households."""
        return len(self.codes)

    def sum_members(self, values: np.ndarray) -> np.ndarray:
        """Sums of the values of rows over the members of each household."""
        sums = np.zeros((self.n_households, *values.shape[1:]))
        np.add.at(sums, self.of_rows, values)
        return sums

    def label_absent(self, labels: np.ndarray, distances: np.ndarray) -> np.ndarray:
        """Labels of the rows without weight, which stay with their households.

        ``labels`` (n_households,) are those of the others, ``distances`` (n_absent, n_clusters)
        those that add up over households without any weight.
        """
        n_numbers = max(self.n_households, self.of_absent.max(initial=-1) + 1)
        sums = np.zeros((n_numbers, distances.shape[1]))
        np.add.at(sums, self.of_absent, distances)
        of_households = sums.argmin(axis=1)
        of_households[: self.n_households] = labels
        return of_households[self.of_absent].astype(np.int32)

    def count_members(self, labels: np.ndarray, limits: Limits, n_clusters: int) -> np.ndarray:
        """Number of members of each group in every cluster, (n_clusters, n_groups)."""
        n_codes = len(self.compositions)
        counts = count_table(labels, self.codes, self.factors, n_clusters, n_codes)
        return counts @ find_memberships(limits)


class LimitedSamples(NamedTuple):
    """What is assigned, a row or a household each, and the limits of clusters."""

    codes: np.ndarray  # (n_samples,) intersections of the limits
    weights: np.ndarray  # (n_samples,)
    limits: Limits
    requirements: ClusterRequirements
    groups: GroupSummary
    lacks_groups: bool  # balanced clusters are required, but there are no two groups
    households: Households | None


def bind_limits(
    estimator: FairClusterer,
    arguments: FitArguments,
    samples: Samples,
    present: np.ndarray,
    missing: str | None,
    n_rows: int,
    n_sites: int | None = None,
) -> LimitedSamples:
    """The samples of a fit, and the limits that the parameters of an estimator set.

    ``present`` are the positions of the rows of positive weight, of ``n_rows`` in all. The message
    of a fit without groups whose parameters require balance is ``missing``. Clusters at some of
    ``n_sites`` sites may have sizes of their own.
    """
    # The groups that are compared, in an order that does not depend on their labels.
    groups, intersections, attributes = compared_groups(samples.groups, estimator.attributes)
    has_groups = arguments.sensitive_features is not None
    is_single = has_groups and warn_if_one_group(estimator, groups, attributes)
    first_rows = find_first_rows(samples.groups.codes, len(intersections))
    order, intersections, places = order_groups(first_rows, intersections, attributes)
    codes = np.argsort(order)[samples.groups.codes]
    weights = samples.weights
    # Requirements, and limits in units of group weights: all count members of households.
    requirements = check_requirements(
        estimator, weights.sum(), bool((weights == 1).all()), n_sites=n_sites
    )
    by_group = sum_by_group(codes, weights, intersections)
    requirements = requirements.bind_to_groups(groups, attributes, places, by_group)
    households = None
    if arguments.together is not None:
        ids = encode_households(arguments.together, n_rows)
        households = gather_households(ids[present], codes, weights, len(intersections))
        households = households._replace(of_absent=number_absent(ids, present, households))
        check_sample_count(estimator, households.n_households, " households")
        # A cluster may lack a group that has fewer households than there are clusters.
        has_group = (households.compositions @ count_memberships(intersections, len(by_group))) > 0
        requirements = requirements._replace(
            members=has_group[households.codes].sum(axis=0)[places]
        )
    limits = requirements.limits(by_group, intersections)
    if households is not None:
        codes, weights = households.codes, households.weights
        limits = limit_households(limits, households)
    lacks_groups = is_single or missing is not None
    return LimitedSamples(codes, weights, limits, requirements, groups, lacks_groups, households)


def gather_households(
    ids: np.ndarray, codes: np.ndarray, weights: np.ndarray, n_intersections: int
) -> Households:
    """The households of rows, from an id, a code of intersections and a weight of each row."""
    _, first, of_rows = np.unique(ids, return_index=True, return_inverse=True)
    # In the order in which they appear, whatever they are called.
    order = np.argsort(first)
    of_rows = np.argsort(order)[of_rows]
    units = weights[first[order]]
    is_other = weights != units[of_rows]
    if is_other.any():
        row = int(np.argmax(is_other))
        raise argument_error(
            "sample_weight must be equal for all members of a household of together, but those "
            f"of one household are {units[of_rows[row]]:.6g} and {weights[row]:.6g}; pass one "
            "weight for each household."
        )
    members = count_table(of_rows, codes, None, len(first), n_intersections).astype(np.int64)
    # Two of one group and two of another weigh twice as much as one of each.
    factors = np.gcd.reduce(members, axis=1)
    compositions, numbers = np.unique(
        members // factors[:, np.newaxis], axis=0, return_inverse=True
    )
    numbers = numbers.ravel()
    sizes = compositions.sum(axis=1)[numbers]
    sizes = sizes.astype(np.float64)
    return Households(of_rows, numbers, compositions, units * factors, sizes, factors)


def number_absent(ids: np.ndarray, present: np.ndarray, households: Households) -> np.ndarray:
    """Household of each row without weight, (n_absent,), from the codes of ids of all rows."""
    numbers = np.full(ids.max() + 1, -1)
    numbers[ids[present]] = households.of_rows
    # Households without any weight come after the others.
    is_new = numbers < 0
    numbers[is_new] = households.n_households + np.arange(is_new.sum())
    return np.delete(numbers[ids], present)


def limit_households(limits: Limits, households: Households) -> Limits:
    """The limits of households, whose intersections list the groups of all members."""
    compositions = households.compositions
    n_members = compositions.sum(axis=1)
    if (n_members == 1).all():
        return limits._replace(intersections=limits.intersections[compositions.argmax(axis=1)])
    width = limits.n_attributes
    listed = np.full((len(compositions), n_members.max() * width), -1, dtype=np.intp)
    for row, composition in zip(listed, compositions, strict=True):
        members = np.repeat(limits.intersections, composition, axis=0)
        row[: members.size] = members.ravel()
    return add_filler_group(limits, listed)


def encode_memberships(
    estimator: FairClusterer, sensitive_features: TableLike, n_samples: int
) -> np.ndarray:
    """Whether new samples are in each group of a fit, (n_samples, n_groups).

    Unknown groups have no column: no offset is added to the costs of their samples.
    """
    match = encode_known_values if estimator.attributes == "each" else encode_known_groups
    codes = match(sensitive_features, n_samples, estimator.groups_, estimator.handle_unknown)
    # Offsets of all groups of a sample add up: one per attribute, or that of its intersection.
    groups = np.eye(estimator.offsets_.shape[1] + 1)[:, :-1]
    return groups[codes.reshape(n_samples, -1)].sum(axis=1)


def sum_by_group(
    codes: np.ndarray, weights: np.ndarray | None, intersections: np.ndarray
) -> np.ndarray:
    """Weight of every group, (n_groups,), from codes of intersections."""
    by_code = np.bincount(codes, weights, minlength=len(intersections))
    n_attributes = intersections.shape[1]
    return np.bincount(intersections.ravel(), np.repeat(by_code, n_attributes))


def compared_groups(groups: Groups, attributes: str) -> tuple:
    """The groups that are compared, which of them each intersection is in, those by attribute.

    With ``attributes="each"`` they are the values of single attributes, else the intersections.
    """
    if attributes != "each":
        return groups.summary, np.arange(len(groups.labels))[:, np.newaxis], (slice(None),)
    intersections, labels = groups.attribute_codes_of_groups()
    counts = sum_by_group(groups.codes, None, intersections).astype(np.intp).tolist()
    columns = tuple(slice(column.min(), column.max() + 1) for column in intersections.T)
    return GroupSummary(labels.tolist(), counts, groups.attributes), intersections, columns


def order_groups(
    first_rows: np.ndarray, intersections: np.ndarray, attributes: tuple[slice, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Intersections and groups in the order in which they appear, whatever they are called.

    Returns the order of the intersections, their groups (n_intersections, n_attributes), and the
    place of every group among those of its attribute.
    """
    order = np.argsort(first_rows)
    n_groups = intersections.max() + 1
    first_of_groups = np.full(n_groups, np.iinfo(np.intp).max)
    np.minimum.at(first_of_groups, intersections, first_rows[:, np.newaxis])
    places = np.arange(n_groups)
    for groups in attributes:
        places[groups] = places[groups][np.argsort(np.argsort(first_of_groups[groups]))]
    return order, places[intersections[order]], places
