"""Limits of clusters: rows over their group counts, and what follows from them.

Let n be the weights of the groups in a cluster. Every limit is a row ``R n <= r``:

===================================  ============================================
limit                                row
===================================  ============================================
balance, ratio of shares             b[i, j] n[j] - n[i] <= 0, for groups i and j
maximum or minimum size              sum(n) <= u;  -sum(n) <= -l
===================================  ============================================

The rows of pairs follow from the level that the composition has to reach, in one or more scales
(`required_ratios`). They are never stored: search algorithms raise the minimum ratio of two groups,
and compare it with the level. All other limits are rows of a table.

A row may have a bound of its own in each cluster, so that some clusters may be required to have no
member of a group. Bounds have one line for all clusters then, or else one line for each.

In a sum over groups every sample counts once for each attribute, so that with several attributes
the row of a size has the coefficients 1 / n_attributes.

A household is one sample that counts in the groups of all its members: its intersection lists a
group as often as it has members there. Those of fewer members than others are filled up with a
group that no limit counts.
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import helper

ROUNDING = 1e-12  # of ratios


class Limits(NamedTuple):
    """Limits on the group composition of every cluster, and rows over its group counts.

    The composition is measured by the minimum ratio of two groups in the cluster, in one or more
    scales, such as the balance (every member counts 1) or the ratio of shares (a member counts 1
    over the size of its group). It must reach the level. A scale compares the groups of one
    attribute. Samples of one intersection are in the same groups, one of each attribute.
    """

    level: float
    scales: np.ndarray  # (n_scales, n_groups) value of a member of a group; 0: not compared
    factors: np.ndarray  # (n_scales,) factors of the ratios in the scales
    intersections: np.ndarray  # (n_intersections, n_attributes) intp, groups; of households more
    slack: np.ndarray  # (n_scales,) weight by which rounding may change counts, for a cluster
    rows: np.ndarray  # (n_rows, n_groups) coefficients of group counts; masses have to be weights
    bounds: np.ndarray  # (1, n_rows) or (n_clusters, n_rows) maximum of each row
    rounding: np.ndarray  # (n_rows,) weight by which rounding may exceed the bound
    required: np.ndarray  # (n_groups,) bool: every cluster must have a member, if there is a level

    @property
    def n_groups(self):
        """Number of groups, those of all attributes."""
        return self.scales.shape[1]

    @property
    def n_attributes(self):
        """Number of attributes, each of which has a group of every sample."""
        return self.intersections.shape[1]


def balance_limits(n_groups, level=0.0):
    """Limits on the balance of clusters, the smallest over the largest group, and no other rows."""
    return Limits(
        level=float(level),
        scales=np.ones((1, n_groups)),
        factors=np.ones(1),
        intersections=np.arange(n_groups)[:, np.newaxis],
        slack=np.zeros(1),
        rows=np.empty((0, n_groups)),
        bounds=np.empty((1, 0)),
        rounding=np.empty(0),
        required=np.ones(n_groups, dtype=bool),
    )


def add_rows(limits, rows, bounds, rounding=0.0):
    """The limits with more rows.

    Bounds and rounding may be one number, or one per row; bounds also (n_clusters, n_rows).
    """
    n_lines = max(len(limits.bounds), len(np.atleast_2d(bounds)))
    pairs = (limits.bounds, len(limits.rows)), (bounds, len(rows))
    bounds = [np.broadcast_to(one, (n_lines, n_rows)) for one, n_rows in pairs]
    rounding = np.append(limits.rounding, np.broadcast_to(rounding, len(rows)))
    rows = np.vstack([limits.rows, rows], dtype=np.float64)
    return limits._replace(rows=rows, bounds=np.hstack(bounds, dtype=np.float64), rounding=rounding)


def size_rows(limits, smallest, largest):
    """Rows and bounds of the size of a cluster, or of each one; -inf or inf are no limits.

    Bounds have the shape (2,), or (n_clusters, 2) where those of either side are arrays.
    """
    bounds = np.stack(np.broadcast_arrays(-smallest, largest), axis=-1).astype(float)
    rows = np.outer([-1.0, 1.0], np.full(limits.n_groups, 1.0 / limits.n_attributes))
    is_finite = np.isfinite(bounds).reshape(-1, 2).all(axis=0)
    return rows[is_finite], bounds[..., is_finite]


def round_sizes(limits: Limits, unit: float) -> Limits:
    """The limits whose bounds on sizes are rounded inwards to multiples of a unit; 0: none."""
    if unit == 0:
        return limits
    multiples = unit * np.floor(limits.bounds / unit + 1e-9)
    return limits._replace(bounds=np.where(find_share_rows(limits), limits.bounds, multiples))


def has_rows(limits):
    """Whether there are limits beyond those on the composition."""
    return len(limits.rows) > 0


def find_share_rows(limits):
    """Which rows bound the composition: their coefficients differ, as those of sizes do not."""
    return np.ptp(limits.rows[:, limits.scales.any(axis=0)], axis=1) > 0


def row_excess(counts, limits):
    """What each row exceeds its bound by, up to rounding, (n_clusters, n_rows)."""
    return counts @ limits.rows.T - (limits.bounds + limits.rounding)


def satisfies_rows(counts, limits):
    """Whether all clusters keep all rows."""
    return bool((row_excess(counts, limits) <= 0).all())


def limits_at_counts(counts, limits):
    """The limits that clusters keep exactly: level and bounds as they are reached."""
    bounds = np.maximum(limits.bounds, largest_values(counts, limits.rows, limits))
    level = float(composition_ratios(counts, limits).min())
    return limits._replace(level=level, bounds=bounds)


def largest_values(counts, rows, limits):
    """Values of rows in each cluster, or the largest of all clusters where these share bounds."""
    values = counts @ rows.T
    return values if len(limits.bounds) > 1 else values.max(axis=0, keepdims=True)


def max_violation(counts, limits):
    """Maximum weight by which a cluster misses a limit, at least 0."""
    pairs = required_ratios(limits) * counts[:, np.newaxis, :] - counts[:, :, np.newaxis]
    return max(0.0, pairs.max(), row_excess(counts, limits).max(initial=0.0))


def allow_slack(limits, slack, ratio):
    """The limits whose level a cluster may miss by a slack, though it reaches a smaller ratio."""
    scales, factors, exact = limits.scales, limits.factors, limits.slack
    limits = limits._replace(slack=exact + slack)
    if ratio == 0:
        return limits
    return limits._replace(
        scales=np.vstack([scales, scales]),
        factors=np.concatenate([factors, factors * (limits.level / ratio)]),
        slack=np.concatenate([limits.slack, exact]),
    )


def intersection_coefficients(limits):
    """Change of every row by a sample of an intersection and of weight 1, (n_intersections, _)."""
    return limits.rows.T[limits.intersections].sum(axis=1)


def find_memberships(limits: Limits) -> np.ndarray:
    """How often a sample of an intersection counts in a group, (n_intersections, n_groups).

    1 or 0, and of households the number of members in the group.
    """
    return count_memberships(limits.intersections, limits.n_groups)


def count_memberships(intersections: np.ndarray, n_groups: int) -> np.ndarray:
    """The same from a table of the groups of each intersection."""
    return (intersections[:, :, np.newaxis] == np.arange(n_groups)).sum(axis=1)


def add_filler_group(limits, intersections):
    """The limits with one more group, which no limit counts, and with other intersections.

    Rows of ``intersections`` have equal lengths: those of fewer groups are filled up with it.
    """
    n_groups = limits.n_groups
    return limits._replace(
        scales=np.pad(limits.scales, ((0, 0), (0, 1))),
        rows=np.pad(limits.rows, ((0, 0), (0, 1))),
        required=np.append(limits.required, False),
        intersections=np.where(intersections < 0, n_groups, intersections),
    )


def composition_ratios(counts, limits):
    """Ratio of the smallest to the largest group of each cluster, in the scales of the limits."""
    ratios = np.full(len(counts), np.inf)
    counts = np.maximum(counts, 0.0)
    for scale, factor, slack in zip(limits.scales, limits.factors, limits.slack, strict=True):
        # A scale of 0 leaves a group out: each attribute compares its groups.
        compared = scale > 0.0
        scaled = (counts * scale)[:, compared]
        slack = slack * scale[compared]
        lowest = (scaled + slack).min(axis=1)
        highest = (scaled - slack).max(axis=1)
        is_bound = highest > 0.0
        ratio = factor * (lowest / np.where(is_bound, highest, 1.0))
        ratios = np.minimum(ratios, np.where(is_bound, ratio, np.inf))
    ratios[(counts[:, limits.required] <= 0.0).any(axis=1)] = 0.0
    return ratios


def required_ratios(limits):
    """(n_groups, n_groups): the required weight of group i per unit of group j in a cluster.

    It is 0 where the groups are not compared.
    """
    one, other = limits.scales[:, None, :], limits.scales[:, :, None]
    weighed = np.divide(one, other, out=np.zeros((*other.shape[:2], one.shape[2])), where=other > 0)
    return np.ascontiguousarray(
        (limits.level * weighed / limits.factors[:, None, None]).max(axis=0)
    )


def pair_rows(limits):
    """Rows over the counts of a cluster, and their bounds, that say that the level is reached.

    They do not say that no required group is missing.
    """
    rows, bounds = [], []
    for slack in np.unique(limits.slack):
        # The scales of one slack.
        of_slack = limits.slack == slack
        ratios = required_ratios(
            limits._replace(scales=limits.scales[of_slack], factors=limits.factors[of_slack])
        )
        np.fill_diagonal(ratios, 0.0)
        smaller, larger = np.nonzero(ratios)
        number = np.arange(len(smaller))
        required = ratios[smaller, larger]
        rows.append(np.zeros((len(smaller), len(ratios))))
        rows[-1][number, larger], rows[-1][number, smaller] = required, -1.0
        bounds.append(slack * (1.0 + required))
    return np.concatenate(rows), np.concatenate(bounds)


def list_rows(limits: Limits) -> tuple[np.ndarray, np.ndarray]:
    """Rows over the counts of a cluster, those of the level too, and their bounds by cluster."""
    bounds = limits.bounds + limits.rounding
    if limits.level == 0:
        return limits.rows, bounds
    rows, level_bounds = pair_rows(limits)
    level_bounds = np.broadcast_to(level_bounds, (len(bounds), len(level_bounds)))
    return np.vstack([rows, limits.rows]), np.hstack([level_bounds, bounds])


# What a move does ---------------------------------------------------------------------


@helper
def update_counts(counts, members, intersections, code, w):
    """Add a sample to the counts of its groups, or remove it if its weight is negative."""
    for a in range(intersections.shape[1]):
        g = intersections[code, a]
        counts[g] += w
        members[g] += 1 if w > 0.0 else -1


@helper
def contains_group(intersections, code, g):
    """Whether samples of an intersection are in group g."""
    contained = False
    for a in range(intersections.shape[1]):
        contained |= intersections[code, a] == g
    return contained


@helper
def has_single_member(members, limits):
    """Whether a cluster has one member only, which is in one group of each attribute."""
    total = 0
    for number in members:
        total += number
    return total <= limits.intersections.shape[1]


@helper
def composition_ratio(counts, members, limits):
    """Weight of the smallest over that of the largest group; 0 where a required one is missing.

    With several scales, the minimum over scales of the ratio times its factor.
    """
    least = np.inf
    for s in range(limits.factors.size):
        least = min(least, _ratio_in_scale(counts, members, limits, s))
    return least


@helper
def ratio_after(counts, members, code, change, limits):
    """The ratio after a sample of an intersection has joined (change > 0) or left (change < 0)."""
    # Change the counts, compare, and restore them.
    update_counts(counts, members, limits.intersections, code, change)
    ratio = composition_ratio(counts, members, limits)
    update_counts(counts, members, limits.intersections, code, -change)
    return ratio


@helper
def _ratio_in_scale(counts, members, limits, s):
    """The ratio in one scale, times its factor."""
    low, high, is_missing = np.inf, 0.0, False
    for j in range(counts.size):
        scale = limits.scales[s, j]
        if scale > 0.0:
            is_missing |= members[j] == 0 and limits.required[j]
            count = counts[j] if members[j] > 0 else 0.0  # rounding may leave some weight
            low = min(low, (count + limits.slack[s]) * scale)
            high = max(high, (count - limits.slack[s]) * scale)
    return 0.0 if is_missing else limits.factors[s] * (low / high)


@helper
def intersection_coefficient(limits, r, code):
    """Change of a row by a sample of an intersection and of weight 1."""
    total = 0.0
    for a in range(limits.intersections.shape[1]):
        total += limits.rows[r, limits.intersections[code, a]]
    return total


@helper
def row_value(row, counts):
    """Value of a row at the counts of a cluster."""
    total = 0.0
    for g in range(counts.size):
        total += row[g] * counts[g]
    return total


@helper
def row_bound(limits, k, r):
    """Maximum of a row in cluster k, for which there is a line of its own or that of all."""
    return limits.bounds[min(k, limits.bounds.shape[0] - 1), r]


@helper
def rows_allow(counts, k, leaving, joining, w, limits):
    """Whether the rows of cluster k stay within their bounds, or get no worse.

    A sample of weight w joins, of the intersection ``joining``, and one of ``leaving`` leaves; -1
    is no sample.
    """
    for r in range(limits.rows.shape[0]):
        change = 0.0
        if joining >= 0:
            change += w * intersection_coefficient(limits, r, joining)
        if leaving >= 0:
            change -= w * intersection_coefficient(limits, r, leaving)
        bound = row_bound(limits, k, r) + limits.rounding[r]
        if change > 0.0 and row_value(limits.rows[r], counts) + change > bound:
            return False
    return True


@helper
def allows_change(counts, members, k, code, change, limits):
    """Whether cluster k keeps its limits after a sample has joined (change > 0) or left."""
    w = abs(change)
    leaving, joining = (-1, code) if change > 0.0 else (code, -1)
    if not rows_allow(counts, k, leaving, joining, w, limits):
        return False
    bound = limits.level * (1.0 - ROUNDING)
    return bound <= 0.0 or ratio_after(counts, members, code, change, limits) >= bound


@helper
def allows_exchange(counts, members, k, leaving, joining, w, limits):
    """Whether cluster k keeps its limits if it gives a sample of an intersection for another."""
    bound = limits.level * (1.0 - ROUNDING)
    if leaving == joining:
        return True
    if not rows_allow(counts, k, leaving, joining, w, limits):
        return False
    if bound <= 0.0:
        return True
    if has_single_member(members, limits):
        return False
    # The ratio after one sample has joined and the other left.
    update_counts(counts, members, limits.intersections, joining, w)
    reached = ratio_after(counts, members, leaving, -w, limits)
    update_counts(counts, members, limits.intersections, joining, -w)
    return reached >= bound


@helper
def extreme_groups(counts, scale):
    """Indices of the minimum and maximum scaled weight, ties to the lowest index."""
    smallest = largest = -1
    for g in range(counts.size):
        if scale[g] > 0.0:
            if smallest < 0 or counts[g] * scale[g] < counts[smallest] * scale[smallest]:
                smallest = g
            if largest < 0 or counts[g] * scale[g] > counts[largest] * scale[largest]:
                largest = g
    return smallest, largest


@helper
def find_least_ratio(counts, limits):
    """The smallest and the largest group of a cluster in the scale of the minimum ratio."""
    smallest, largest = extreme_groups(counts, limits.scales[0])
    if limits.factors.size == 1:
        return smallest, largest
    least = np.inf
    for s in range(limits.factors.size):
        scale = limits.scales[s]
        i, j = extreme_groups(counts, scale)
        scaled = limits.factors[s] * (counts[i] * scale[i]) / (counts[j] * scale[j])
        if scaled < least:
            smallest, largest, least = i, j, scaled
    return smallest, largest
