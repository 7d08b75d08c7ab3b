r"""Spectral clustering through landmarks, for partitioned data or many samples.

Similarities are computed to a few landmarks only, and two samples are similar through the landmarks
they share. With Z the shares of similarity of each sample to the landmarks (rows that sum to 1) and
D the degrees (sums of similarities), the affinity is ``C L^-1 C'`` with ``C = D Z`` and L the
column sums of C; its degrees are D again. Chen and Cai (AAAI 2011) take Z for C: then all degrees
are 1, and outliers count as much as central samples, whose moves cost far more. The embedding
consists of the principal components of ``D^(1/2) Z L^(-1/2)`` after the differences between groups
have been projected out, which follow from sums over samples. k-means on it weighs samples by
degree, as the normalised cut does. The balance counts every sample as 1.

One more landmark, the background, has the same similarity to all samples: a tenth of the mean sum
of the other similarities (the regularisation of Qin and Rohe, NeurIPS 2013, who take all of it).
Without it outliers would form clusters. With it they are near the mean and can be assigned where
their group is needed. A larger background hides shapes behind differences of density.
"""

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skfair._kernels.limits import balance_limits
from skfair.cluster._requirements import warn_of_one_group
from skfair.cluster.kmeans._homotopy import Homotopy
from skfair.cluster.kmeans._input import groups_of_cells, partitioned_input, summarize
from skfair.cluster.kmeans._lloyd import Runs, lloyd
from skfair.cluster.kmeans._problem import ClusteringProblem
from skfair.cluster.spectral._affinity import Affinity
from skfair.cluster.spectral._fair_embedding import fix_signs
from skfair.groups import EncodedBlock, Summary
from skfair.partitions import (
    BLOCK,
    SUBSAMPLE_SIZES,
    blocks,
    make_partitions,
    random_keys,
    sampling_rates,
)

N_LANDMARKS = 500  # default, or ten per component if that is more
MAX_ROUNDS, ROUGH_TOL = 20, 1e-2  # of the k-means whose centres are the landmarks
ROWS = 4096  # compared with all landmarks at a time
BACKGROUND = 0.1  # similarity to the background, relative to the mean sum of the others
NEGLIGIBLE = 1e-10  # eigenvalues below this are rounding errors


class LandmarkProblem:
    """Samples in memory or on partitions, and their fair embedding once computed."""

    largest_weight = 1.0  # every sample counts the same

    def __init__(self, blocks, summary, requirements, lacks_groups=False, embedding=None):
        self.blocks, self.summary, self.requirements = blocks, summary, requirements
        self.lacks_groups, self.embedding = lacks_groups, embedding

    @classmethod
    def from_memory(cls, estimator, X, groups, requirements, lacks_groups):
        """Samples in memory, in blocks of rows."""
        cells = [*map(tuple, groups.labels.tolist())]
        encoded = [
            EncodedBlock(X[rows], cells, groups.codes[rows], place=(number, 0))
            for number, rows in enumerate(blocks(len(X), BLOCK))
        ]
        partitions = make_partitions(encoded, estimator.n_jobs)
        return cls(partitions, Summary(partitions), requirements, lacks_groups)

    @classmethod
    def from_partitions(cls, estimator, X, sensitive_features, requirements):
        """Partitioned samples."""
        blocks, summary = summarize(estimator, X, sensitive_features)
        groups = groups_of_cells(summary)
        is_single = sensitive_features is not None and warn_of_one_group(estimator, groups)
        return cls(blocks, summary, requirements, is_single)

    def embed(self, parameters, random_state):
        """The same problem with its fair embedding."""
        blocks, summary = self.blocks, self.summary
        n_landmarks, n_components = choose_sizes(parameters, summary.counts.sum())
        # Threads process partitions, so a neighbour search within one uses a single job.
        affinity = Affinity(clone(parameters).set_params(n_jobs=1))
        # Landmarks: k-means centres of a subsample.
        size = SUBSAMPLE_SIZES["landmarks"] * n_landmarks
        (rate,) = sampling_rates(summary.counts.sum(keepdims=True), size)
        subsample = np.concatenate(blocks.gather(_draw, summary.first, rate))
        landmarks = Landmarks.from_subsample(subsample, n_landmarks, affinity, random_state)
        # Embedding: eigenvectors of sums over one pass.
        moments = blocks.reduce(_moments, landmarks, summary.positions)
        embedding = LandmarkEmbedding(landmarks, moments, summary.counts, n_components)
        return LandmarkProblem(blocks, summary, self.requirements, self.lacks_groups, embedding)

    def cluster(self, parameters, random_state, rounds):
        """Fitted attributes of balanced k-means on the embedding."""
        summary, embedding, n_clusters = self.summary, self.embedding, parameters.n_clusters
        coordinates = self.blocks.map(_embed, embedding, summary.positions).keep()
        # Balanced k-means, weighted by degree.
        sums = coordinates.reduce(_sum_by_group, summary.positions)
        mean = sums.sum(axis=0) / summary.counts.sum()
        summary = summary.replace_moments(mean, coordinates.reduce(_scatter, mean))
        data = partitioned_input(coordinates, summary, self.requirements, n_jobs=parameters.n_jobs)
        runs = Runs(n_clusters, n_init=parameters.n_init)
        point, n_iter, status = Homotopy().solve(
            data.problem, runs, random_state, lambda point: False
        )
        labels = point.clustering.labels.keep()
        links = self.blocks.reduce(_links, labels, embedding.landmarks, n_clusters)
        H = coordinates.map(_scale_by_degree)
        self.summary.check_unchanged(self.blocks)
        return {
            "labels_": labels.concatenate(summary.lengths, np.empty(0, np.int32)),
            "embedding_": H.concatenate(summary.lengths, embedding.extension[:0]),
            "embedding_violation_": embedding.violation(sums),
            "eigenvalues_": embedding.eigenvalues,
            "landmarks_": embedding.landmarks.rows,
            "objective_": embedding.normalized_cut(links),
            "groups_": data.groups,
            **data.describe_counts(point.clustering.counts),
            "n_iter_": n_iter,
            "status_": status,
            "_X_fit": embedding.landmarks.rows,
            "_background": embedding.landmarks.background,
            # Relative to samples that are similar to no landmark but the background.
            "_extension": embedding.extension[:-1] - embedding.extension[-1],
            "_means": point.clustering.centers + mean - embedding.extension[-1],
        }

    def explain_early_stop(self, parameters):
        """Message about a search that ended early."""
        return (
            "k-means on all samples stopped at its maximum number of rounds. Use fewer clusters or "
            "a smaller min_balance."
        )


class Landmarks:
    """Landmark rows, and the map from samples to shares of similarity to them."""

    def __init__(self, rows, affinity, subsample):
        self.rows, self.affinity = rows, affinity
        n_rows = len(subsample)
        sums = [affinity.compare(subsample[block], rows).sum() for block in blocks(n_rows, ROWS)]
        mean = float(sum(sums)) / n_rows
        if not 0 < mean < np.inf:
            raise ValueError(
                "Similarities to landmarks must be finite, non-negative and not all 0, but their "
                f"mean sum is {mean:g}. Use a wider kernel (a smaller gamma)."
            )
        self.mean, self.background = mean, BACKGROUND * mean

    @classmethod
    def from_subsample(cls, subsample, n_landmarks, affinity, random_state):
        """k-means centres of a subsample, or all of its rows if there are not more of them."""
        n_rows = len(subsample)
        if n_rows <= n_landmarks:
            return cls(subsample, affinity, subsample)
        mean, one_group = subsample.mean(axis=0), np.zeros(n_rows, dtype=np.intp)
        samples = ClusteringProblem(subsample - mean, np.ones(n_rows), one_group, balance_limits(1))
        start = Runs(n_landmarks).start(samples, random_state)
        centers = lloyd(samples, start, MAX_ROUNDS, ROUGH_TOL).centers + mean
        return cls(centers, affinity, subsample)

    def __len__(self):
        """Number of landmarks with the background."""
        return len(self.rows) + 1

    def shares(self, X):
        """Yield slices of rows, their shares (background last) and their degrees.

        Degrees are in units of the mean sum of similarities.
        """
        for rows in blocks(len(X), ROWS):
            similarity = self.affinity.compare(X[rows].astype(np.float64, copy=False), self.rows)
            sums = np.asarray(similarity.sum(axis=1)).reshape(-1, 1)
            inverse = 1 / (sums + self.background)
            last = self.background * inverse
            if sparse.issparse(similarity):
                shares = _scale_rows(inverse.ravel(), sparse.csr_array(similarity))
                shares = sparse.hstack([shares, sparse.csr_array(last)], format="csr")
            else:
                shares = np.hstack([similarity * inverse, last])
            yield rows, shares, sums.ravel() / self.mean + BACKGROUND


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

    def __init__(self, landmarks, moments, numbers, n_components):
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
        values, V = values[:-n_components:-1], V[:, :-n_components:-1]
        # The matrix that embeds shares; directions of negligible eigenvalue are zero.
        inverse = np.zeros(len(values))
        inverse[values > NEGLIGIBLE] = 1 / np.sqrt(values[values > NEGLIGIBLE])
        trivial = np.full((len(scale), 1), 1 / np.sqrt(volumes.sum()))
        self.eigenvalues = np.append(1.0, values)
        self.extension = np.hstack([trivial, scale[:, np.newaxis] * fix_signs(V) * inverse])
        self._shifts = shifts @ self.extension
        self._shifts[:, 0] = 0.0

    def transform(self, X, codes):
        """Coordinates of samples of known groups, (n_samples, n_components), and degrees."""
        coordinates, degrees = np.empty((len(X), len(self.eigenvalues))), np.empty(len(X))
        for rows, shares, block_degrees in self.landmarks.shares(X):
            shifts = self._shifts[codes[rows]] / block_degrees[:, np.newaxis]
            coordinates[rows] = shares @ self.extension - shifts
            degrees[rows] = block_degrees
        return coordinates, degrees

    def violation(self, sums):
        """Distance of H from the group constraint, from sums of coordinates by group."""
        return float(np.sqrt(self._inverses @ (self._group_shifts(sums) ** 2).sum(axis=1)))

    def _group_shifts(self, sums):
        """The shifts u_g, (n_groups, n_columns), from sums by group.

        Subtracted over the degree they give all groups the same mean, at minimum norm by degree.
        Their mean over all samples is 0.
        """
        numbers, inverses = self._numbers[:, np.newaxis], self._inverses[:, np.newaxis]
        means = (numbers * sums / inverses).sum(axis=0) / (numbers**2 / inverses).sum()
        return (sums - numbers * means) / inverses

    def normalized_cut(self, links):
        """Normalised cut of a clustering, from sums of shares times degrees by cluster."""
        nonempty = links[links.sum(axis=1) > 0]
        within = (nonempty**2 / self._volumes).sum(axis=1)
        return float(np.maximum(1 - within / nonempty.sum(axis=1), 0.0).sum())


def choose_sizes(parameters, n_samples):
    """Numbers of landmarks and of components."""
    n_components = parameters.n_components or parameters.n_clusters
    n_landmarks = parameters.n_landmarks
    if n_landmarks is None:
        n_landmarks = min(max(N_LANDMARKS, 10 * n_components), int(n_samples))
    if not n_components <= n_landmarks <= n_samples:
        raise ValueError(
            f"n_landmarks must be at least n_components={n_components} (by default n_clusters) and "
            f"at most n_samples={n_samples}, got {n_landmarks}."
        )
    return n_landmarks, n_components


def check_parameters(estimator):
    """Refuse a precomputed affinity, a solver and a rounding, which landmarks cannot use."""
    if estimator.affinity == "precomputed":
        raise ValueError(
            "affinity='precomputed' has no similarities to landmarks, which n_landmarks and "
            "partitioned data need. Pass features and a callable affinity f(X, Y), or a graph in "
            "memory with n_landmarks=None."
        )
    for name, default in (("eigen_solver", "auto"), ("rounding", "ncut")):
        if getattr(estimator, name) != default:
            raise ValueError(
                f"{name}={getattr(estimator, name)!r} needs the affinity of all pairs of samples, "
                "but n_landmarks and partitioned data use similarities to landmarks. Leave it at "
                f"{default!r}"
                + (", and set min_balance=None for k-means alone." if name == "rounding" else ".")
            )


# Functions of blocks ------------------------------------------------------------------


def _draw(block, first, rate):
    """The rows of the subsample, by random keys of their numbers."""
    drawn = random_keys(block.row_numbers(first)) < rate
    return block.X[drawn].astype(np.float64, copy=False)


def _moments(block, landmarks, positions):
    """Sums of products of shares times degrees, of shares by group, of inverse degrees by group."""
    n_groups = len(positions)
    products, sums = np.zeros((len(landmarks),) * 2), np.zeros((n_groups, len(landmarks)))
    codes, inverses = block.codes_among(positions), np.zeros(n_groups)
    for rows, shares, degrees in landmarks.shares(block.X):
        if not shares.min() >= 0:
            raise ValueError(
                "Similarities to landmarks must be finite and not negative, but affinity(X, Y) of "
                "some rows is not."
            )
        scaled = _scale_rows(np.sqrt(degrees), shares)
        product = scaled.T @ scaled
        products += product.toarray() if sparse.issparse(product) else product
        sums += _sum_by_code(shares, codes[rows], n_groups)
        inverses += np.bincount(codes[rows], 1 / degrees, n_groups)
    return products, sums, inverses


def _embed(block, embedding, positions):
    return block.replace_features(*embedding.transform(block.X, block.codes_among(positions)))


def _scale_by_degree(block):
    """Rows of H."""
    return block.X * np.sqrt(block.unit_costs)[:, np.newaxis]


def _sum_by_group(block, positions):
    return _sum_by_code(block.X, block.codes_among(positions), len(positions))


def _scatter(block, mean):
    """Sum of squared distances to the mean, by mass."""
    return block.unit_costs @ ((block.X - mean) ** 2).sum(axis=1)


def _links(block, labels, landmarks, n_clusters):
    """Sums of shares times degrees by cluster."""
    links = np.zeros((n_clusters, len(landmarks)))
    for rows, shares, degrees in landmarks.shares(block.X):
        links += _sum_by_code(shares, labels[rows], n_clusters, degrees)
    return links


def _scale_rows(factors, rows):
    """Rows times one factor each."""
    if sparse.issparse(rows):
        return sparse.diags_array(factors) @ rows
    return factors[:, np.newaxis] * rows


def _sum_by_code(values, codes, n_codes, factors=1.0):
    """Sums of rows, times factors, by code, (n_codes, n_columns)."""
    indicator = np.full(len(codes), factors), codes, np.arange(len(codes) + 1)
    sums = sparse.csr_array(indicator, shape=(len(codes), n_codes)).T @ values
    return sums.toarray() if sparse.issparse(sums) else sums
