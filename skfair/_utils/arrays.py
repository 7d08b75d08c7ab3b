"""Sums of graphs and over sorted scores, and maxima of ranges, which several modules share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy import sparse
    from scipy.sparse.linalg import LinearOperator

    from skfair._utils.tables import Table


# Degrees, links to clusters and the group constraint of a graph or kernel matrix.


def filled_node_degrees(affinity: Table) -> tuple[np.ndarray, np.ndarray]:
    """Row sums (n_nodes,), and a mask of the nodes without edges, whose degree is the median.

    Any other constant would give these nodes a share in the group constraint that depends on the
    scale of the affinities. A graph without edges has degrees of 1.
    """
    return fill_isolated_degrees(np.asarray(affinity @ np.ones((affinity.shape[0], 1))).ravel())


def fill_isolated_degrees(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As `filled_node_degrees`, from row sums."""
    sums = sums.astype(np.float64, copy=False)
    isolated = sums <= 0
    typical = 1.0 if isolated.all() else np.median(sums[~isolated])
    return np.where(isolated, typical, sums), isolated


def cluster_links(
    affinity: np.ndarray | sparse.sparray | sparse.spmatrix | LinearOperator,
    codes: np.ndarray,
    n_clusters: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of affinities of every node to every cluster, within clusters, and volumes.

    The links are of shape (n_nodes, n_clusters). Sums within a cluster count both directions and
    the diagonal; the volume is the sum of the degrees in a cluster.
    """
    nodes = np.arange(len(codes))
    membership = np.zeros((len(codes), n_clusters))
    membership[nodes, codes] = 1.0
    links = np.ascontiguousarray(affinity @ membership)
    within = np.bincount(codes, links[nodes, codes], minlength=n_clusters)
    volumes = np.bincount(codes, links.sum(axis=1), minlength=n_clusters)
    return links, within, volumes


def group_constraint_basis(codes: np.ndarray, n_groups: int, degrees: np.ndarray) -> np.ndarray:
    r"""Orthonormal basis C of the columns of F; embeddings with :math:`C'H = 0` are group-fair.

    :math:`F = D^{-1/2} (G - 1 z')`, with G the 0-1 membership and z the shares of the groups. Its
    columns span :math:`\{D^{-1/2} G b : z'b = 0\}`. The columns of :math:`D^{-1/2} G` are
    orthogonal, so that a Householder reflection in the space of the groups gives the basis without
    any decision about a rank, however different the degrees are.
    """
    # Leave out empty groups.
    sizes = np.bincount(codes, minlength=n_groups)
    present = np.flatnonzero(sizes)
    codes = np.searchsorted(present, codes)
    sizes = sizes[present]
    # E = D^-1/2 G with columns of length 1, computed in the scale of each column.
    roots = 1 / np.sqrt(degrees)
    largest = np.zeros(len(sizes))
    np.maximum.at(largest, codes, roots)
    scaled = roots / largest[codes]
    lengths = np.sqrt(np.bincount(codes, scaled**2))
    # E c is in the span if c is orthogonal to the normal z_j / (length of column j of D^-1/2 G).
    normal = sizes / lengths * (largest.min() / largest)
    normal /= np.linalg.norm(normal)
    # The reflection that swaps the normal and the first axis (up to sign) maps the others to c's.
    normal[0] += 1.0
    reflection = np.eye(len(normal)) - np.outer(normal, normal) / normal[0]
    return (scaled / lengths[codes])[:, None] * reflection[codes, 1:]


# Sums over sorted scores: ramps around a rank, and excesses over a point.


def taper_length(end: float, length: float) -> float:
    """Length of a ramp around a rank that does not reach beyond ranks 0 and 1."""
    return min(length, 2.0 * end, 2.0 * (1.0 - end))


def shares_up_to_rank(shares: np.ndarray, end: float, length: float) -> np.ndarray:
    r"""Portion of each sample's share up to rank `end`, cut off by a linear ramp.

    With a ramp w of this length that falls from 1 to 0 around `end`, a sample whose share covers
    the ranks from a to b counts :math:`\int_a^b w`. Together they count `end`. Shares are in the
    order of the ranks and sum to 1; the ramp lies within [0, 1], see `taper_length`.
    """
    ranks = np.concatenate(([0.0], np.minimum(np.cumsum(shares), 1.0)))
    # Without a ramp each sample counts up to the rank where the interval ends.
    if not length:
        return np.diff(np.minimum(ranks, end))
    # Integrate the ramp over the ranks of each sample.
    past = np.maximum(0.0, ranks - (end - length / 2.0))
    beyond = np.maximum(0.0, past - length)
    return np.diff(ranks - (past**2 - beyond**2) / (2.0 * length))


class SortedScores:
    """Sums over the samples below a point, from prefix sums over ascending scores and shares."""

    def __init__(self, scores: np.ndarray, shares: np.ndarray) -> None:
        self.scores = scores
        # Prefix sums of moments; those about the median keep more digits.
        self._middle = float(scores[len(scores) // 2]) if len(scores) else 0.0
        centered = scores - self._middle
        powers = shares * np.array([np.ones_like(centered), centered, centered**2])
        self._moments = np.pad(np.cumsum(powers, axis=1), ((0, 0), (1, 0)))

    def sums_below(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Sums of the shares, of :math:`x - s` and :math:`(x - s)^2 / 2` over scores s < x."""
        # Expand (x - s) and (x - s)^2 / 2 in the prefix sums of moments.
        count, first, second = self._moments[:, np.searchsorted(self.scores, points)]
        x = points - self._middle
        return count, x * count - first, (x**2 * count - 2.0 * x * first + second) / 2.0


# Maxima of many ranges of one array.


class RangeMaxima:
    """Positions of the largest values in ranges of an array."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        # Level k has the largest of 2**k values from each position on.
        self.levels = [np.arange(len(values))]
        while 2 ** len(self.levels) <= len(values):
            best = self.levels[-1]
            step = 2 ** (len(self.levels) - 1)
            first, second = best[:-step], best[step:]
            self.levels.append(np.where(values[first] >= values[second], first, second))

    def __call__(self, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Position of the largest value of each range, and this value; -inf where it is empty."""
        lengths = end - start
        level = np.frexp(np.maximum(lengths, 1))[1] - 1
        positions = np.zeros(len(start), dtype=np.intp)
        values = np.full(len(start), -np.inf)
        for k in np.unique(level[lengths > 0]):
            rows = np.flatnonzero((level == k) & (lengths > 0))
            first, second = self.levels[k][start[rows]], self.levels[k][end[rows] - 2**k]
            best = np.where(self.values[first] >= self.values[second], first, second)
            positions[rows], values[rows] = best, self.values[best]
        return positions, values
