"""Requirements for every cluster: composition by groups, and size."""

from numbers import Integral
from typing import NamedTuple

import numpy as np

from skfair._kernels.clustering import balance_limits
from skfair.utils._balance import data_balance

ROUNDING = 1e-12  # of sums and ratios


class ClusterRequirements(NamedTuple):
    """The parameters of a clusterer that bound its clusters, as numbers."""

    balance: float = 0.0  # relative to the data's own
    share_ratio: float = 0.0
    smallest: float = 0.0  # weight of a cluster
    largest: float = np.inf
    attributes: tuple = (slice(None),)  # the groups that are compared with one another
    members: np.ndarray | None = None  # number by group; None: enough for all clusters

    def limits(self, group_weights, intersections=None):
        """The same as `Limits`, with the level that has to be reached.

        ``intersections`` are the groups of each, (n_intersections, n_attributes); None if every
        group is one.
        """
        limits = balance_limits(len(group_weights))
        scales, shares = np.zeros((2, len(self.attributes), len(group_weights)))
        for groups, counted, shared in zip(self.attributes, scales, shares, strict=True):
            counted[groups] = 1.0
            shared[groups] = group_weights[groups].min() / group_weights[groups]
        # Of several attributes only balances relative to the data's own can be compared.
        of_data = np.array([data_balance(group_weights[groups]) for groups in self.attributes])
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
        return limits._replace(
            intersections=limits.intersections if intersections is None else intersections,
            min_size=self.smallest * (1 - ROUNDING) if self.smallest > 0 else -np.inf,
            max_size=float(self.largest * (1 + ROUNDING)),
        )


def check_requirements(estimator, total, is_count):
    """The requirements that a clusterer's parameters state, refused if no clusters have such sizes.

    ``total`` is the weight of all samples, ``is_count`` whether all weights are 1.
    """
    total, n_clusters = float(total), estimator.n_clusters
    smallest = _size(estimator.min_cluster_size, total, 0.0)
    largest = _size(estimator.max_cluster_size, total, np.inf)
    attainable, units = (total / n_clusters, total / n_clusters), "units of sample_weight"
    if is_count:
        smallest = np.ceil(smallest * (1 - ROUNDING))
        largest = np.floor(largest * (1 + ROUNDING))
        attainable, units = (total // n_clusters, -(-total // n_clusters)), "samples"
    if smallest > attainable[0] * (1 + ROUNDING):
        raise ValueError(
            f"min_cluster_size={estimator.min_cluster_size} requires {smallest:g} {units} in each "
            f"of {n_clusters} clusters, but there are {total:g}: {attainable[0]:g} is the maximum "
            "that all clusters can have. Lower it, or use fewer clusters."
        )
    if largest < attainable[1] * (1 - ROUNDING):
        raise ValueError(
            f"max_cluster_size={estimator.max_cluster_size} allows {largest:g} {units} in each of "
            f"{n_clusters} clusters, but there are {total:g}: {attainable[1]:g} is the minimum "
            "bound with which all fit. Raise it, or use more clusters."
        )
    return ClusterRequirements(
        estimator.min_balance or 0.0, estimator.min_share_ratio or 0.0, smallest, largest
    )


def _size(size, total, absent):
    """A bound on the size of a cluster as a weight: floats are shares of all."""
    if size is None:
        return absent
    return float(size) if isinstance(size, Integral) else float(size * total)


def composition_ratios(counts, limits):
    """Ratio of the smallest to the largest group of each cluster, in the scales of the limits."""
    compared = limits.scales > 0
    scaled = (counts + limits.slack)[:, None] * limits.scales
    low = scaled.min(axis=2, where=compared, initial=np.inf)
    high = ((counts - limits.slack)[:, None] * limits.scales).max(axis=2)
    ratios = np.divide(low, high, out=np.full(low.shape, np.inf), where=high > 0)
    return np.where((counts > 0).all(axis=1), (limits.factors * ratios).min(axis=1), 0.0)


def keeps_sizes(sizes, limits):
    """Whether all clusters are as large as they must be, and no larger than they may be."""
    return bool((sizes >= limits.min_size).all() and (sizes <= limits.max_size).all())


def is_sized(limits):
    """Whether the sizes of clusters are bounded."""
    return bool(np.isfinite(limits.min_size) or np.isfinite(limits.max_size))
