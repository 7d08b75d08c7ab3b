"""The steps of fair spectral clustering: embedding, rounding, and landmarks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone

from skfair._groups import Groups
from skfair._groups.groups import GroupSummary, count_table, data_balance
from skfair._groups.ids import encode_households
from skfair._groups.samples import EncodedBlock, SampleSummary, find_first_rows
from skfair._kernels.limits import balance_limits, count_memberships
from skfair._kernels.sparse_samples import member_sums, to_dense
from skfair._partitions.partitions import (
    BLOCK_SIZE,
    SUBSAMPLE_SIZES,
    Partitions,
    blocks,
    make_partitions,
    random_keys,
    sampling_rates,
)
from skfair._utils.arrays import group_constraint_basis
from skfair._utils.checks import warn
from skfair.cluster._assignment import are_infeasible, find_types
from skfair.cluster._base import (
    ClusterRequirements,
    balance_attributes,
    check_requirements,
    check_rows,
    check_sample_count,
    encode_and_summarize,
    warn_if_one_group,
)
from skfair.cluster._input import (
    Households,
    compared_groups,
    gather_households,
    limit_households,
    order_groups,
)
from skfair.cluster.kmeans._homotopy import Homotopy
from skfair.cluster.kmeans._partitioned import make_partitioned_problem
from skfair.cluster.kmeans._problem import ClusteringProblem
from skfair.cluster.kmeans._rounds import RunSettings, lloyd
from skfair.cluster.spectral._coloring import color_units
from skfair.cluster.spectral._eigen_solvers import NormalizedAffinity, RBFAffinity, orthonormalize
from skfair.cluster.spectral._fair_embedding import (
    NO_AFFINITY,
    Affinity,
    FairEmbedding,
    embed_within,
    fix_signs,
    warn_of_no_clusters,
)
from skfair.cluster.spectral._rounding import ROUNDINGS
from skfair.metrics import normalized_cut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from networkx import Graph
    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator

    from skfair._groups.arguments import FitArguments
    from skfair._kernels.limits import Limits
    from skfair._kernels.normalized_cut import NodeClustering
    from skfair._utils.tables import Table, TableLike
    from skfair.cluster._base import FairClusterer


# Spectral clustering through landmarks, for partitioned data or many samples.
#
# Similarities are computed to a few landmarks only, and two samples are similar through the
# landmarks they share. With Z the shares of similarity of each sample to the landmarks (rows that
# sum to 1) and D the degrees (sums of similarities), the affinity is ``C L^-1 C'`` with ``C = D Z``
# and L the column sums of C; its degrees are D again. Chen and Cai (AAAI 2011) take Z for C: then
# all degrees are 1, and outliers count as much as central samples, whose moves cost far more. The
# embedding consists of the principal components of ``D^(1/2) Z L^(-1/2)`` after the differences
# between groups have been projected out, which follow from sums over samples. k-means on it weighs
# samples by degree, as the normalised cut does. The balance counts every sample as 1.
#
# One more landmark, the background, has the same similarity to all samples: a tenth of the mean sum
# of the other similarities (the regularisation of Qin and Rohe, NeurIPS 2013, who take all of it).
# Without it outliers would form clusters. With it they are near the mean and can be assigned where
# their group is needed. A larger background hides shapes behind differences of density.


ROWS_PER_BLOCK = 4096  # compared with all landmarks at a time
BACKGROUND_SIMILARITY = 0.1  # similarity to the background, relative to the mean sum of the others


class LandmarkProblem:
    """Samples in memory or on partitions, and their fair embedding once computed."""

    rounding_weight = 1.0  # every sample counts the same
    largest_share = 0.0

    def __init__(
        self,
        blocks: Partitions,
        summary: SampleSummary,
        requirements: ClusterRequirements,
        lacks_groups: bool = False,
        embedding: LandmarkEmbedding | None = None,
    ) -> None:
        self.blocks, self.summary, self.requirements = blocks, summary, requirements
        self.lacks_groups, self.embedding = lacks_groups, embedding

    @classmethod
    def from_memory(
        cls,
        estimator: BaseEstimator,
        X: np.ndarray,
        groups: Groups,
        requirements: ClusterRequirements,
        lacks_groups: bool,
    ) -> LandmarkProblem:
        """Samples in memory, in blocks of rows."""
        cells = [*map(tuple, groups.labels.tolist())]
        encoded = [
            EncodedBlock(X[rows], cells, groups.codes[rows], partition_and_start=(number, 0))
            for number, rows in enumerate(blocks(len(X), BLOCK_SIZE))
        ]
        partitions = make_partitions(encoded, estimator.n_jobs)
        return cls(partitions, SampleSummary(partitions), requirements, lacks_groups)

    @classmethod
    def from_partitions(
        cls,
        estimator: FairClusterer,
        arguments: FitArguments,
        requirements: ClusterRequirements,
    ) -> LandmarkProblem:
        """Partitioned samples."""
        blocks, summary = encode_and_summarize(estimator, arguments)
        groups = summary.intersection_groups()
        has_groups = arguments.sensitive_features is not None
        is_single = has_groups and warn_if_one_group(estimator, groups)
        return cls(blocks, summary, requirements, is_single)

    def is_shown_infeasible(self) -> bool:
        """Whether it is shown that no clusters keep the bounds."""
        problem, *_ = make_partitioned_problem(self.blocks, self.summary, self.requirements)
        return problem.is_shown_infeasible(self.requirements.n_clusters)

    def embed(
        self, parameters: FairClusterer, random_state: np.random.RandomState
    ) -> LandmarkProblem:
        """The same problem with its fair embedding."""
        blocks, summary = self.blocks, self.summary
        n_landmarks, n_components = choose_landmark_dimensions(parameters, summary.counts.sum())
        # Threads process partitions, so a neighbour search within one uses a single job.
        affinity = Affinity(clone(parameters).set_params(n_jobs=1))
        # Landmarks: k-means centres of a subsample.
        size = SUBSAMPLE_SIZES["landmarks"] * n_landmarks
        (rate,) = sampling_rates(summary.counts.sum(keepdims=True), size)
        subsample = np.concatenate(blocks.gather(_draw_landmarks, summary.first, rate))
        landmarks = Landmarks.from_subsample(subsample, n_landmarks, affinity, random_state)
        # Embedding: eigenvectors of sums over one pass.
        moments = blocks.reduce(_moments, landmarks, summary.positions)
        embedding = LandmarkEmbedding(landmarks, moments, summary.counts, n_components)
        warn_of_no_clusters(landmarks.lone_share(subsample), embedding.eigenvalues, 0.0)
        return LandmarkProblem(blocks, summary, self.requirements, self.lacks_groups, embedding)

    def cluster(self, parameters, random_state, rounds):
        """Fitted attributes of balanced k-means on the embedding."""
        summary, embedding, n_clusters = self.summary, self.embedding, parameters.n_clusters
        coordinates = self.blocks.map(_embed_block, embedding, summary.positions).keep()
        # Balanced k-means, weighted by degree.
        sums = coordinates.reduce(_sum_by_group, summary.positions)
        mean = sums.sum(axis=0) / summary.counts.sum()
        summary = summary.replace_moments(mean, coordinates.reduce(_scatter, mean))
        problem, groups, requirements = make_partitioned_problem(
            coordinates, summary, self.requirements, n_jobs=parameters.n_jobs
        )
        runs = RunSettings(n_clusters, n_init=parameters.n_init)
        point, n_iter, status = Homotopy()._solve(problem, runs, random_state)
        labels = point.labels.keep()
        counts = point.counts[:, requirements.group_positions]
        links = self.blocks.reduce(_links, labels, embedding.landmarks, n_clusters)
        H = coordinates.map(_embedding_rows)
        self.summary.check_unchanged(self.blocks)
        return {
            "labels_": labels.concatenate(summary.partition_lengths, np.empty(0, np.int32)),
            "embedding_": H.concatenate(summary.partition_lengths, embedding.extension[:0]),
            "embedding_violation_": embedding.violation(sums),
            "eigenvalues_": embedding.eigenvalues,
            "landmarks_": embedding.landmarks.rows,
            "objective_": embedding.normalized_cut(links),
            "groups_": groups,
            **balance_attributes(counts, requirements, problem.rounding_weight),
            "group_counts_": counts,
            "n_iter_": n_iter,
            "status_": status,
            "_X_fit": embedding.landmarks.rows,
            "_background": embedding.landmarks.background,
            # Relative to samples that are similar to no landmark but the background.
            "_extension": embedding.extension[:-1] - embedding.extension[-1],
            "_means": point.centers + mean - embedding.extension[-1],
        }

    def explain_early_stop(self, parameters: FairClusterer) -> str:
        """Message about a search that ended early."""
        return (
            "k-means on all samples stopped at its maximum number of rounds. Use fewer clusters or "
            "a smaller min_balance."
        )


class Landmarks:
    """Landmark rows, and the map from samples to shares of similarity to them."""

    def __init__(self, rows: np.ndarray, affinity: Affinity, subsample: np.ndarray) -> None:
        self.rows, self.affinity = rows, affinity
        n_rows = len(subsample)
        sums = [
            affinity.compute_pairwise(subsample[block], rows).sum()
            for block in blocks(n_rows, ROWS_PER_BLOCK)
        ]
        mean = float(sum(sums)) / n_rows
        if not 0 < mean < np.inf:
            raise ValueError(
                "Similarities to landmarks must be finite, non-negative and not all 0, but their "
                f"mean sum is {mean:g}. Use a wider kernel (a smaller gamma)."
            )
        self.mean = mean
        self.background = BACKGROUND_SIMILARITY * mean

    @classmethod
    def from_subsample(
        cls,
        subsample: np.ndarray,
        n_landmarks: int,
        affinity: Affinity,
        random_state: np.random.RandomState,
    ) -> Landmarks:
        """k-means centres of a subsample, or all of its rows if there are not more of them."""
        n_rows = len(subsample)
        if n_rows <= n_landmarks:
            return cls(subsample, affinity, subsample)
        mean = subsample.mean(axis=0)
        one_group = np.zeros(n_rows, dtype=np.intp)
        problem = ClusteringProblem(subsample - mean, np.ones(n_rows), one_group, balance_limits(1))
        start = RunSettings(n_landmarks).start(problem, random_state)
        # Few rounds: landmarks need not be at a minimum.
        centers = lloyd(problem, start, max_iter=20, tol=1e-2).centers + mean
        return cls(centers, affinity, subsample)

    def __len__(self) -> int:
        """Number of landmarks with the background."""
        return len(self.rows) + 1

    def iterate_shares(self, X: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield slices of rows, their shares (background last) and their degrees.

        Degrees are in units of the mean sum of similarities.
        """
        for rows in blocks(len(X), ROWS_PER_BLOCK):
            similarity = self.affinity.compute_pairwise(
                X[rows].astype(np.float64, copy=False), self.rows
            )
            sums = np.asarray(similarity.sum(axis=1)).reshape(-1, 1)
            inverse = 1 / (sums + self.background)
            last = self.background * inverse
            if sparse.issparse(similarity):
                shares = _scale_rows(inverse.ravel(), sparse.csr_array(similarity))
                shares = sparse.hstack([shares, sparse.csr_array(last)], format="csr")
            else:
                shares = np.hstack([similarity * inverse, last])
            yield rows, shares, sums.ravel() / self.mean + BACKGROUND_SIMILARITY

    def lone_share(self, X: np.ndarray) -> float:
        """Share of the rows that no other row shares a landmark with, the background left out."""
        # Every few rows, as many as are compared with the landmarks at a time.
        X = X[:: -(-len(X) // ROWS_PER_BLOCK)]
        ((_, shares, degrees),) = self.iterate_shares(X)
        shares = shares[:, :-1]
        volumes = shares.T @ degrees
        inverses = 1 / np.where(volumes > 0, volumes, 1.0)
        loops = np.asarray((shares * shares) @ inverses).ravel() * degrees
        return np.mean(np.asarray(shares.sum(axis=1)).ravel() - loops <= NO_AFFINITY)


class LandmarkEmbedding:
    r"""A fair embedding through landmarks.

    With :math:`a_i` the rows of :math:`Z L^{-1/2}` a sample of group g and degree :math:`d_i` is
    embedded at :math:`(a_i - u_g / d_i)' V \Lambda^{-1/2}`. The shift :math:`u_g / d_i` gives all
    groups the same mean with the minimum :math:`\sum_i d_i |u_g / d_i|^2`. V and :math:`\Lambda`
    are the leading eigenvectors and eigenvalues of the remaining scatter
    :math:`\sum_i d_i a_i a_i'`. The trivial column, a constant, comes first. The mean of
    :math:`u_g` over all samples is 0, so that new samples are embedded at
    :math:`a' V \Lambda^{-1/2}`. Rows of H, in the scale of the normalised affinity, are
    :math:`\sqrt{d_i}` times that.

    ``moments`` are sums over all samples, see `_moments`, and ``numbers`` the sizes of the groups.
    """

    def __init__(
        self,
        landmarks: Landmarks,
        moments: tuple[np.ndarray, ...],
        numbers: np.ndarray,
        n_components: int,
    ) -> None:
        self.landmarks = landmarks
        products, sums, self._inverses = moments
        self._numbers = numbers
        # Shares of a sample sum to 1. A landmark that no sample is similar to has volume 0.
        volumes = products.sum(axis=1)
        self._volumes = np.where(volumes > 0, volumes, 1.0)
        scale = 1 / np.sqrt(self._volumes)
        # Scatter without the trivial direction and without the differences between groups.
        shifts = self._group_shifts(sums)
        between_groups = shifts.T @ (self._inverses[:, np.newaxis] * shifts)
        trivial_part = np.outer(volumes, volumes) / volumes.sum()
        scatter = products - trivial_part - between_groups
        values, V = np.linalg.eigh(scale[:, np.newaxis] * scatter * scale)
        values = values[:-n_components:-1]
        V = V[:, :-n_components:-1]
        # The matrix that embeds shares; directions of negligible eigenvalue are zero. Eigenvalues
        # are at most 1: those of rounding are about 1e-16, and those of clusters far above 1e-10.
        inverse = np.zeros(len(values))
        is_used = values > 1e-10
        inverse[is_used] = 1 / np.sqrt(values[is_used])
        trivial = np.full((len(scale), 1), 1 / np.sqrt(volumes.sum()))
        self.eigenvalues = np.append(1.0, values)
        self.extension = np.hstack([trivial, scale[:, np.newaxis] * fix_signs(V) * inverse])
        self._shifts = shifts @ self.extension
        self._shifts[:, 0] = 0.0

    def transform(self, X: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of samples of known groups, (n_samples, n_components), and degrees."""
        coordinates = np.empty((len(X), len(self.eigenvalues)))
        degrees = np.empty(len(X))
        for rows, shares, block_degrees in self.landmarks.iterate_shares(X):
            shifts = self._shifts[codes[rows]] / block_degrees[:, np.newaxis]
            coordinates[rows] = shares @ self.extension - shifts
            degrees[rows] = block_degrees
        return coordinates, degrees

    def violation(self, sums: np.ndarray) -> float:
        """Distance of H from the group constraint, from sums of coordinates by group."""
        return float(np.sqrt(self._inverses @ (self._group_shifts(sums) ** 2).sum(axis=1)))

    def _group_shifts(self, sums: np.ndarray) -> np.ndarray:
        """The shifts u_g, (n_groups, n_columns), from sums by group.

        Subtracted over the degree they give all groups the same mean, at minimum norm by degree.
        Their mean over all samples is 0.
        """
        numbers = self._numbers[:, np.newaxis]
        inverses = self._inverses[:, np.newaxis]
        means = (numbers * sums / inverses).sum(axis=0) / (numbers**2 / inverses).sum()
        return (sums - numbers * means) / inverses

    def normalized_cut(self, links: Table) -> float:
        """Normalised cut of a clustering, from sums of shares times degrees by cluster."""
        nonempty = links[links.sum(axis=1) > 0]
        within = (nonempty**2 / self._volumes).sum(axis=1)
        return float(np.maximum(1 - within / nonempty.sum(axis=1), 0.0).sum())


def choose_landmark_dimensions(parameters: BaseEstimator, n_samples: int) -> tuple[int, int]:
    """Numbers of landmarks and of components."""
    n_components = parameters.n_components or parameters.n_clusters
    n_landmarks = parameters.n_landmarks
    if n_landmarks is None:
        # The default, or ten per component if that is more.
        n_landmarks = min(max(500, 10 * n_components), int(n_samples))
    if not n_components <= n_landmarks <= n_samples:
        raise ValueError(
            f"n_landmarks must be at least n_components={n_components} (by default n_clusters) and "
            f"at most n_samples={n_samples}, got {n_landmarks}."
        )
    return n_landmarks, n_components


def check_landmark_parameters(estimator: BaseEstimator) -> None:
    """Raise for a precomputed affinity, a solver and a rounding, which landmarks cannot use."""
    if estimator.affinity == "precomputed":
        raise ValueError(
            "affinity='precomputed' has no similarities to landmarks, which n_landmarks and "
            "partitioned data need. Pass features and a callable affinity f(X, Y), or a graph in "
            "memory with n_landmarks=None."
        )
    for name, default in (
        ("eigen_solver", "auto"),
        ("assign_labels", "ncut"),
        ("min_cluster_size", None),
        ("max_cluster_size", None),
        ("attributes", "intersections"),
    ):
        if getattr(estimator, name) != default:
            raise ValueError(
                f"{name}={getattr(estimator, name)!r} needs the affinity of all pairs of samples, "
                "but n_landmarks and partitioned data use similarities to landmarks. Leave it at "
                f"{default!r}"
                + (
                    ", and set min_balance=None for k-means alone."
                    if name == "assign_labels"
                    else "."
                )
            )


# Functions of blocks ------------------------------------------------------------------


def _draw_landmarks(block: EncodedBlock, first: np.ndarray, rate: float) -> np.ndarray:
    """The rows of the subsample, by random keys of their numbers."""
    drawn = random_keys(block.row_numbers(first)) < rate
    return block.X[drawn].astype(np.float64, copy=False)


def _moments(
    block: EncodedBlock, landmarks: Landmarks, positions: dict[tuple[float | str, ...], int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of products of shares times degrees, of shares by group, of inverse degrees by group."""
    n_groups = len(positions)
    products = np.zeros((len(landmarks),) * 2)
    sums = np.zeros((n_groups, len(landmarks)))
    codes = block.recode(positions)
    inverses = np.zeros(n_groups)
    for rows, shares, degrees in landmarks.iterate_shares(block.X):
        if not shares.min() >= 0:
            raise ValueError(
                "Similarities to landmarks must be finite and not negative, but affinity(X, Y) of "
                "some rows is not."
            )
        scaled = _scale_rows(np.sqrt(degrees), shares)
        product = scaled.T @ scaled
        products += to_dense(product)
        sums += member_sums(shares, np.ones(len(degrees)), codes[rows], n_groups)
        inverses += np.bincount(codes[rows], 1 / degrees, n_groups)
    return products, sums, inverses


def _embed_block(
    block: EncodedBlock, embedding: LandmarkEmbedding, positions: dict[tuple[float | str, ...], int]
) -> EncodedBlock:
    return block.replace_features(*embedding.transform(block.X, block.recode(positions)))


def _embedding_rows(block: EncodedBlock) -> np.ndarray:
    """Rows of H."""
    costs = block.unit_costs
    return block.X if costs is None else block.X * np.sqrt(costs)[:, np.newaxis]


def _sum_by_group(block: EncodedBlock, positions: dict[tuple[float | str, ...], int]) -> np.ndarray:
    return member_sums(block.X, np.ones(len(block.X)), block.recode(positions), len(positions))


def _scatter(block: EncodedBlock, mean: np.ndarray) -> float:
    """Sum of squared distances to the mean, by mass."""
    return block.unit_costs @ ((block.X - mean) ** 2).sum(axis=1)


def _links(
    block: EncodedBlock, labels: np.ndarray, landmarks: Landmarks, n_clusters: int
) -> np.ndarray:
    """Sums of shares times degrees by cluster."""
    links = np.zeros((n_clusters, len(landmarks)))
    for rows, shares, degrees in landmarks.iterate_shares(block.X):
        links += member_sums(shares, degrees, labels[rows], n_clusters)
    return links


def _scale_rows(factors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Rows times one factor each."""
    if sparse.issparse(rows):
        return sparse.diags_array(factors) @ rows
    return factors[:, np.newaxis] * rows


# Pairs of samples that must be, or must not be, in one cluster.


class Pairs(NamedTuple):
    """Pairs of samples; those that must be in one cluster are joined to units."""

    units: np.ndarray  # (n_samples,) unit of each sample, most of which are alone
    nodes: np.ndarray  # samples that occur in a pair
    cannot_link: np.ndarray  # (n_pairs, 2) samples

    @classmethod
    def check(
        cls,
        must_link: np.ndarray | list[list[int] | tuple[int, ...]] | None,
        cannot_link: np.ndarray | list[list[int]] | None,
        n_samples: int,
    ) -> Pairs | None:
        """Checked pairs; None if there are none. Raises a ValueError if they contradict."""
        joined = _read_pairs("must_link", must_link, n_samples)
        parted = _read_pairs("cannot_link", cannot_link, n_samples)
        if not len(joined) + len(parted):
            return None
        links = sparse.coo_array((np.ones(len(joined)), joined.T), shape=(n_samples, n_samples))
        units = connected_components(links, directed=False)[1]
        for i, j in parted[units[parted[:, 0]] == units[parted[:, 1]]].tolist():
            raise ValueError(
                f"cannot_link has the pair {i, j}, but pairs of must_link join these samples, or "
                "they are one. Remove this pair, or one of those of must_link."
            )
        return cls(units, np.unique(np.concatenate([joined, parted])), parted)

    def columns(self, degrees: np.ndarray) -> np.ndarray:
        """The columns that embeddings with equal coordinates of each unit are orthogonal to."""
        nodes = np.arange(len(self.units))
        first = np.unique(self.units, return_index=True)[1][self.units]
        others = np.flatnonzero(nodes != first)
        columns = np.zeros((len(nodes), len(others)))
        places = np.arange(len(others))
        columns[others, places] = 1 / np.sqrt(degrees[others])
        columns[first[others], places] = -1 / np.sqrt(degrees[first[others]])
        return columns

    def assign(self, clustering: NodeClustering) -> np.ndarray:
        """Labels that keep the pairs: each unit joins a cluster of strong links to it.

        See `color_units`. Where no labels are found that keep all pairs, some are broken.
        """
        strengths = clustering.links / np.maximum(clustering.volumes, np.finfo(float).tiny)
        scores = np.zeros((self.units.max() + 1, strengths.shape[1]))
        np.add.at(scores, self.units, strengths)
        # Units that are in a pair.
        paired, positions = np.unique(self.units[self.nodes], return_inverse=True)
        pairs = np.searchsorted(paired, self.units[self.cannot_link])
        labels = clustering.labels.copy()
        labels[self.nodes] = color_units(scores[paired], pairs)[positions]
        return labels

    def find_broken(self, labels: np.ndarray) -> list[tuple[int, int]]:
        """The pairs of ``cannot_link`` in one cluster, as a list of tuples."""
        first, second = labels[self.cannot_link].T
        return [*map(tuple, self.cannot_link[first == second].tolist())]


def _read_pairs(name: str, pairs: np.ndarray | list | None, n_samples: int) -> np.ndarray:
    """Pairs as an array of row numbers, (n_pairs, 2)."""
    try:
        pairs = np.asarray([] if pairs is None else pairs)
    except ValueError as error:  # lines of different lengths
        raise ValueError(
            f"{name} must have two row numbers in each line, shape (n_pairs, 2), but has lines of "
            f"different lengths: {error}"
        ) from error
    if not pairs.size:
        return np.empty((0, 2), dtype=np.intp)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must have two row numbers in each line, shape (n_pairs, 2), but has shape "
            f"{pairs.shape} and dtype {pairs.dtype}."
        )
    for i, j in pairs[((pairs < 0) | (pairs >= n_samples)).any(axis=1)].tolist():
        raise ValueError(
            f"{name} has the pair {i, j}, but X has {n_samples} rows, numbered from 0. Pairs are "
            "of rows of the complete X: do not pass them to a cross-validation, which fits subsets "
            "of its rows."
        )
    return pairs.astype(np.intp)


# The steps of fair spectral clustering, and the extension of its embedding to new rows.
#
# 1. `make_spectral_problem` computes the affinity K of the rows, and the operator
#    M = D^-1/2 K D^-1/2.
# 2. `SpectralProblem.embed` computes H, the leading eigenvectors of M with the same mean in every
#    group, that is C'H = 0 with C the group matrix.
# 3. `SpectralProblem.cluster` rounds the rows of H to balanced clusters.
# 4. `SpectralProblem.extension` and `means` assign new rows.
#
# Fits through landmarks have the same steps.


class SpectralProblem(NamedTuple):
    """A normalised affinity, the groups of its nodes, and their fair embedding once computed."""

    X: Any  # array or sparse, (n_nodes, n_features) or the affinity
    operator: NormalizedAffinity
    groups: Groups  # in the order in which they appear: labels play no part
    requirements: ClusterRequirements
    lacks_groups: bool = False  # a balance is requested, but there are no two groups
    embedding: FairEmbedding | None = None
    group_positions: np.ndarray | slice = slice(None)  # of the groups in the order of their labels
    pairs: Pairs | None = None
    intersections: np.ndarray | None = None  # groups that are compared, of each group of a node
    summary: GroupSummary | None = None  # of the groups that are compared; None: `groups`
    households: Households | None = None

    rounding_weight = 1.0  # every node counts the same
    largest_share = 0.0

    @property
    def memberships(self) -> np.ndarray:
        """Whether nodes of a group are in each group that is compared."""
        if self.intersections is None:
            return np.eye(len(self.groups.labels))
        return count_memberships(self.intersections, self.intersections.max() + 1).astype(float)

    @property
    def limits(self) -> Limits:
        """The limits of clusters of nodes."""
        by_group = self.groups.counts @ self.memberships
        return self.requirements.limits(by_group, self.intersections)

    @property
    def household_limits(self) -> Limits:
        """The limits of clusters of households, or of nodes without any."""
        if self.households is None:
            return self.limits
        return limit_households(self.limits, self.households)

    def is_shown_infeasible(self) -> bool:
        """Whether it is shown that no clusters keep the bounds."""
        if self.households is None:
            codes, weights = self.groups.codes, np.ones(len(self.groups.codes))
        else:
            codes, weights = self.households.codes, self.households.weights
        types, _ = find_types(codes, weights)
        n_clusters = self.requirements.n_clusters
        return are_infeasible(self.household_limits, self.rounding_weight, types, n_clusters)

    @property
    def data_balance(self) -> float:
        """Balance of all nodes as one cluster, the minimum over attributes."""
        by_group = self.groups.counts @ self.memberships
        return min(data_balance(by_group[one]) for one in self.requirements.attribute_slices)

    def counts(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        """Members of every group in every cluster."""
        groups = self.groups
        by_code = count_table(labels, groups.codes, None, n_clusters, len(groups.labels))
        return by_code @ self.memberships

    def sample_counts(self, nodes: np.ndarray | slice) -> np.ndarray:
        """Groups of some nodes as counts, (n_nodes, n_groups)."""
        return self.memberships[self.groups.codes[nodes]]

    def embed(
        self, parameters: BaseEstimator, random_state: np.random.RandomState
    ) -> SpectralProblem:
        """The same problem with its fair embedding."""
        n_components = parameters.n_components or parameters.n_clusters
        solver, tol = parameters.eigen_solver, parameters.eigen_tol
        operator, n_nodes = self.operator, self.operator.n_nodes
        C = self.constraint_basis()
        if self.pairs is not None:  # nodes that must be in one cluster have equal coordinates
            C = np.hstack([C, orthonormalize(C, self.pairs.columns(operator.degrees))])
        embedding = embed_within(operator, C, n_components, solver, tol, random_state)
        loops = operator.loop_shares()
        # Eigenvalues sum to the trace of M; the first is 1. Where all nodes are equally similar the
        # others are equal: 0 with loops like the other edges, negative without loops.
        equal_value = min(0.0, (loops[~operator.isolated].sum() - 1) / max(n_nodes - 1, 1))
        warn_of_no_clusters(
            float(np.mean(loops >= 1 - NO_AFFINITY)), embedding.eigenvalues, equal_value
        )
        return self._replace(embedding=embedding)

    def cluster(self, parameters, random_state, rounds):
        """Fitted attributes of the best clustering of the embedding."""
        labels = ROUNDINGS[parameters.assign_labels](
            self,
            self.embedding.embedding,
            RunSettings(parameters.n_clusters, n_init=parameters.n_init),
            random_state,
            partial(rounds.report_round, partial(self.label_attributes, parameters)),
        )
        status = "stopped" if rounds.is_stopped else "feasible"
        return self.label_attributes(parameters, labels) | {
            "status_": status if self.embedding.converged else "max_iter",
            "n_iter_": rounds.n_rounds,
        }

    def label_attributes(self, parameters, labels):
        """Fitted attributes of a clustering."""
        operator, embedding, n_clusters = self.operator, self.embedding, parameters.n_clusters
        counts = self.counts(labels, n_clusters)[:, self.group_positions]
        is_stored = not isinstance(operator.affinity, RBFAffinity)
        return {
            "labels_": labels.copy(),
            "embedding_": embedding.embedding,
            "embedding_violation_": embedding.violation,
            "group_violation_": self.group_violation(),
            "eigenvalues_": embedding.eigenvalues,
            "objective_": normalized_cut(labels, operator.affinity),
            "groups_": self.groups.summary if self.summary is None else self.summary,
            **balance_attributes(counts, self.requirements),
            "group_counts_": counts,
            "_X_fit": None if parameters.affinity == "precomputed" else self.X,
            "_extension": self.extension(),
            "_background": 0.0,
            "_means": self.means(labels, n_clusters),
            **({"affinity_matrix_": operator.affinity} if is_stored else {}),
        }

    def constraint_basis(self) -> np.ndarray:
        """Orthonormal columns that a fair embedding is orthogonal to, those of every attribute."""
        degrees = self.operator.degrees
        if self.intersections is None or self.intersections.shape[1] == 1:
            return group_constraint_basis(self.groups.codes, len(self.groups.labels), degrees)
        attributes = self.intersections - self.intersections.min(axis=0)
        bases = [
            group_constraint_basis(codes[self.groups.codes], int(codes.max()) + 1, degrees)
            for codes in attributes.T
        ]
        # Attributes may depend on one another: keep the independent directions.
        U, values, _ = np.linalg.svd(np.hstack(bases), full_matrices=False)
        return np.ascontiguousarray(U[:, values > 1e-10 * values.max(initial=1.0)])

    def group_violation(self) -> float:
        """The squared norm of F'H, with F = D^(-1/2) (G - 1 z')."""
        membership = self.sample_counts(slice(None))
        return float(np.sum(((membership - membership.mean(axis=0)).T @ self.coordinates()) ** 2))

    def explain_early_stop(self, parameters: BaseEstimator) -> str | None:
        """Message about an embedding that has not converged; None of others."""
        if self.embedding.converged:  # type: ignore[union-attr]
            return None
        stops_by_tol = parameters.eigen_solver in ("auto", "block-lanczos", "chebyshev")
        return (
            f"The embedding of eigen_solver={parameters.eigen_solver!r} is not known to be as "
            f"accurate as eigen_tol={parameters.eigen_tol:g} requires. "
            + ("Raise eigen_tol." if stops_by_tol else "Use eigen_solver='auto'.")
        )

    def coordinates(self) -> np.ndarray:
        """The embedding as it extends to new rows, D^(-1/2) H, (n_nodes, n_components)."""
        return self.embedding.embedding / np.sqrt(self.operator.degrees)[:, None]  # type: ignore[union-attr]

    def extension(self) -> np.ndarray:
        """The matrix that embeds new rows by their similarities to the nodes.

        It is zero in directions that the affinity (nearly) annihilates.
        """
        eigenvalues = self.embedding.eigenvalues  # type: ignore[union-attr]
        # Nystroem: divide by eigenvalues, unless they are nearly 0 and the direction is noise.
        is_large = np.abs(eigenvalues) > 1e-6
        inverse = np.divide(1.0, eigenvalues, out=np.zeros_like(eigenvalues), where=is_large)
        return self.coordinates() * inverse

    def means(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        """Degree-weighted means of clusters in the coordinates, (n_clusters, n_components)."""
        T = self.coordinates()
        degrees = self.operator.degrees
        sums = np.zeros((n_clusters, T.shape[1]))
        np.add.at(sums, labels, T * degrees[:, None])
        return sums / np.bincount(labels, degrees, minlength=n_clusters)[:, None]


def _warn_of_graph(estimator: BaseEstimator, X: Table) -> None:
    """Warn if features that a kernel compares are seemingly a graph: a square symmetric matrix."""
    is_kernel = estimator.affinity in ("rbf", "nearest_neighbors")
    if is_kernel and 2 < X.shape[0] == X.shape[1] and not (X != X.T).sum():
        warn(
            f"X is square and symmetric, as graphs are, but affinity={estimator.affinity!r} takes "
            "its rows for features of the samples. Pass affinity='precomputed' if X holds the "
            "affinities of the samples, such as the weights of edges."
        )


def _refuse_graph_object(X: TableLike | Graph) -> None:
    """Raise for a graph of networkx or igraph, whose matrix of weights is needed."""
    matrices = {
        "number_of_nodes": "networkx.to_scipy_sparse_array(graph)",
        "get_adjacency_sparse": "graph.get_adjacency_sparse()",
    }
    for method, matrix in matrices.items():
        if hasattr(X, method):
            raise TypeError(
                f"X must be a matrix, but it is a {type(X).__name__}. Pass {matrix}, with "
                "affinity='precomputed'."
            )


def add_pairs(
    estimator: BaseEstimator,
    problem: LandmarkProblem | SpectralProblem,
    must_link: np.ndarray | list | None,
    cannot_link: np.ndarray | list | None,
) -> LandmarkProblem | SpectralProblem:
    """The problem with pairs. Raises a ValueError for pairs or parameters that do not allow it."""
    if must_link is None and cannot_link is None:
        return problem
    solver = estimator.eigen_solver
    exact = ("auto", "block-lanczos", "chebyshev", "nullspace")
    if isinstance(problem, LandmarkProblem) or estimator.assign_labels != "ncut":
        wrong = "have no landmarks, no partitioned data and assign_labels='ncut'"
    elif not (isinstance(solver, str) and solver in exact):
        wrong = f"have one of the eigen_solver {list(exact)}, got {solver!r}"
    else:
        pairs = Pairs.check(must_link, cannot_link, problem.operator.n_nodes)
        if pairs is not None:
            _check_number_of_units(pairs.units.max() + 1, estimator, problem.groups)
        return problem._replace(pairs=pairs)
    raise ValueError(f"Fits with must_link or cannot_link must {wrong}. Leave out the pairs.")


def add_households(
    estimator: FairClusterer, problem: LandmarkProblem | SpectralProblem, together: ArrayLike | None
) -> LandmarkProblem | SpectralProblem:
    """The problem with households; raises a ValueError for parameters that do not allow it."""
    if together is None:
        return problem
    if isinstance(problem, LandmarkProblem) or estimator.assign_labels != "ncut":
        raise ValueError(
            "together needs n_landmarks=None, data in memory and assign_labels='ncut'; leave these "
            "at their defaults, or leave out together."
        )
    if problem.pairs is not None:
        raise ValueError(
            "together and pairs of must_link or cannot_link exclude each other, but both came; "
            "pass households alone, or list all pairs."
        )
    n_nodes = problem.operator.n_nodes
    ids = encode_households(together, n_nodes)
    codes = problem.groups.codes
    households = gather_households(ids, codes, np.ones(n_nodes), len(problem.groups.labels))
    check_sample_count(estimator, households.n_households, " households")
    # Members of a household have equal coordinates.
    first = np.unique(households.of_rows, return_index=True)[1]
    others = np.setdiff1d(np.arange(n_nodes), first)
    links = np.column_stack([first[households.of_rows[others]], others])
    return add_pairs(estimator, problem._replace(households=households), links, None)


def _check_number_of_units(n_units: int, estimator: BaseEstimator, groups: Groups) -> None:
    """Raise if pairs of must_link join the samples to too few sets for the clusters."""
    n_needed = estimator.n_clusters + len(groups.labels) - 1
    if n_units < n_needed:
        raise ValueError(
            f"must_link joins the samples to {n_units} sets, but n_clusters={estimator.n_clusters} "
            f"and {len(groups.labels)} groups need at least {n_needed}. Leave out some pairs of "
            "must_link, or pass a smaller n_clusters."
        )


def make_spectral_problem(
    estimator: BaseEstimator, arguments: FitArguments
) -> LandmarkProblem | SpectralProblem:
    """Validate the input of ``estimator.fit``: a SpectralProblem, or a LandmarkProblem.

    Raises a ValueError for what scikit-learn refuses in X, for other than one group per row, for
    fewer rows than clusters and for an invalid affinity. See `Affinity.compute` for MemoryError.
    """
    if arguments.is_partitioned:
        check_landmark_parameters(estimator)
        requirements = read_requirements(estimator)
        return LandmarkProblem.from_partitions(estimator, arguments, requirements)
    if estimator.n_landmarks is not None:
        return make_landmark_problem(estimator, arguments)
    return make_affinity_problem(estimator, arguments)


def read_requirements(estimator: BaseEstimator) -> ClusterRequirements:
    """The bounds on groups that an estimator's parameters set."""
    return ClusterRequirements(estimator.min_balance or 0.0, estimator.min_share_ratio or 0.0)


def make_landmark_problem(estimator: FairClusterer, arguments: FitArguments) -> LandmarkProblem:
    """The problem of landmarks of rows in memory."""
    check_landmark_parameters(estimator)
    X, groups, requirements, lacks_groups = _check_rows_and_groups(
        estimator, arguments, accept_sparse=False
    )
    return LandmarkProblem.from_memory(estimator, X, groups, requirements, lacks_groups)


def make_affinity_problem(estimator: BaseEstimator, arguments: FitArguments) -> SpectralProblem:
    """The problem of the affinities of all rows, of features or of a graph."""
    X, groups, requirements, lacks_groups = _check_rows_and_groups(
        estimator, arguments, accept_sparse="csr"
    )
    # Affinity K of the rows, and the operator M = D^-1/2 K D^-1/2.
    operator = NormalizedAffinity(Affinity(estimator).compute(X), estimator.n_jobs)
    # The groups that are compared, in the order in which they appear.
    summary, intersections, attributes = compared_groups(groups, estimator.attributes)
    first_rows = find_first_rows(groups.codes, len(groups.labels))
    order, intersections, places = order_groups(first_rows, intersections, attributes)
    groups = groups.reorder(order)
    by_group = groups.counts @ count_memberships(intersections, len(places))
    sizes = check_requirements(estimator, operator.n_nodes, is_count=True)
    requirements = requirements._replace(smallest=sizes.smallest, largest=sizes.largest)
    requirements = requirements.bind_to_groups(summary, attributes, places, by_group)
    return SpectralProblem(  # type: ignore[call-arg]
        X,
        operator,
        groups,
        requirements,
        lacks_groups,
        group_positions=places,
        intersections=intersections,
        summary=summary,
    )


def _check_rows_and_groups(
    estimator: FairClusterer, arguments: FitArguments, accept_sparse: bool | str
) -> tuple:
    """Checked rows and groups, what is required of clusters, and whether they lack two groups."""
    _refuse_graph_object(arguments.X)
    accepted = {"accept_sparse": accept_sparse, "dtype": np.float64}
    X, samples, _, missing = check_rows(estimator, arguments, **accepted)
    _warn_of_graph(estimator, X)
    has_groups = arguments.sensitive_features is not None
    is_single = has_groups and warn_if_one_group(estimator, samples.groups)
    requirements = read_requirements(estimator)._replace(members=samples.groups.counts)
    return X, samples.groups, requirements, is_single or missing is not None
