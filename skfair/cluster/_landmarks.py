r"""Spectral clustering through landmarks: of people who lie in parts, or are too many to compare.

Everybody is linked to a few landmarks, and through them to all others. With Z everybody's shares of
similarity to the landmarks (rows that sum to 1) and L their sums by landmark, the affinity is
``Z L^-1 Z'`` (Chen and Cai, AAAI 2011). All its degrees are 1: k-means on the embedding weighs
people as the normalised cut does, and groups have to have the same mean there. So the embedding
consists of the principal components of ``Z L^(-1/2)`` within groups, which follow from sums.

One landmark more, a background, is as similar to everybody as a tenth of the others together are on
average (the regularisation of Qin and Rohe, NeurIPS 2013, who take all of it). Without it people
far from all others would be clusters of their own; with it they are near the middle, and go where
their group is needed. With more of it, shapes get lost in the differences of density.
"""

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skfair._kernels.clustering import balance_limits
from skfair.cluster._affinity import Affinity
from skfair.cluster._balance import describe
from skfair.cluster._census import Census, Shard, take_census
from skfair.cluster._everybody import Everybody, lots
from skfair.cluster._fair_embedding import fix_signs
from skfair.cluster._homotopy import Homotopy
from skfair.cluster._samples import Runs, Samples, lloyd
from skfair.parts import BLOCK, InMemory, blocks

N_LANDMARKS = 500  # unless asked for, or ten for each component if that is more
PER_LANDMARK = 20  # people drawn, of whom landmarks are the centres
MAX_ROUNDS, ROUGH_TOL = 20, 1e-2  # of k-means that finds them
ROWS = 4096  # compared with all landmarks at a time
COMMON = 0.1  # share of people's mean similarity to all landmarks that is the background's
NEGLIGIBLE = 1e-10  # eigenvalue of a direction that is lost in rounding


class Crowd:
    """Everybody passed to a fit through landmarks.

    Parameters
    ----------
    shards : Parts
        Of `Shard`.
    census : Census
    asked : Asked
    lacks_groups : bool, default=False
        Though a mix is asked for.
    embedding : LandmarkEmbedding, default=None
        Where similar people are near each other, once it is known.
    """

    largest_weight = 1.0  # everybody counts the same

    def __init__(self, shards, census, asked, lacks_groups=False, embedding=None):
        self.shards, self.census, self.asked = shards, census, asked
        self.lacks_groups, self.embedding = lacks_groups, embedding

    def embed(self, parameters, random_state):
        """The same with their embedding."""
        n_landmarks, n_components = sizes_of(parameters, self.census.numbers.sum())
        # Threads take parts; a search for neighbours within one needs no more of them.
        affinity, numbers = Affinity(clone(parameters).set_params(n_jobs=1)), self.census.numbers
        rate = PER_LANDMARK * n_landmarks / numbers.sum()
        some = np.concatenate(self.shards.collect(_drawn, self.census.first, rate))
        landmarks = Landmarks.among(some, n_landmarks, affinity, random_state)
        moments = self.shards.total(_moments, landmarks, self.census.codes)
        embedding = LandmarkEmbedding(landmarks, moments, numbers, n_components)
        return Crowd(self.shards, self.census, self.asked, self.lacks_groups, embedding)

    def cluster(self, parameters, random_state, rounds):
        """Fitted attributes of balanced k-means on the embedding."""
        census, embedding, n_clusters = self.census, self.embedding, parameters.n_clusters
        embedded = self.shards.each(_embedded, embedding, census.codes).kept()
        sums = embedded.total(_sums_by_group, census.codes)
        mean = sums.sum(axis=0) / census.numbers.sum()
        everybody = Everybody(embedded, census.but(mean), self.asked)
        runs = Runs(n_clusters, n_init=parameters.n_init)
        labels, found = everybody.solve(Homotopy(), runs, random_state)
        links = self.shards.total(_links, labels, embedding.landmarks, n_clusters)
        return {
            "labels_": labels.joined(census.lengths, np.empty(0, np.int32)),
            "embedding_": embedded.each(_rows_of).joined(census.lengths, embedding.extension[:0]),
            "embedding_violation_": _violation(sums, census.numbers),
            "eigenvalues_": embedding.eigenvalues,
            "landmarks_": embedding.landmarks.rows,
            "objective_": embedding.normalized_cut(links),
            "groups_": everybody.groups,
            **describe(found["group_counts_"], self.asked),
            "n_iter_": found["n_iter_"],
            "status_": found["status_"],
            "_X_fit": embedding.landmarks.rows,
            "_background": embedding.landmarks.background,
            # Relative to where those are who are similar to no landmark.
            "_extension": embedding.extension[:-1] - embedding.extension[-1],
            "_means": found["cluster_centers_"] - embedding.extension[-1],
        }

    def cut_short(self, parameters):
        """What ended a search too early."""
        return (
            "k-means among everybody stopped at its largest number of rounds. Ask for fewer "
            "clusters or for less balance."
        )


class Landmarks:
    """Rows with which everybody is compared, and what all have in common besides.

    Parameters
    ----------
    rows : ndarray of shape (n_landmarks, n_features)
    affinity : Affinity
    some : ndarray of shape (n_some, n_features)
        People whose mean similarity to all landmarks tells that of the background.
    """

    def __init__(self, rows, affinity, some):
        self.rows, self.affinity = rows, affinity
        sums = [affinity.between(some[own], rows).sum() for own in blocks(len(some), ROWS)]
        mean = float(sum(sums)) / len(some)
        if not 0 < mean < np.inf:
            raise ValueError(
                "Similarities of people to landmarks must be finite and not negative, and not all "
                f"0, but their sum is {mean:g} on average. Take a wider kernel."
            )
        self.background = COMMON * mean

    @classmethod
    def among(cls, some, n_landmarks, affinity, random_state):
        """Centres of k-means among some people; these themselves if all are landmarks."""
        if len(some) <= n_landmarks:
            return cls(some, affinity, some)
        mean, one_group = some.mean(axis=0), np.zeros(len(some), dtype=np.intp)
        samples = Samples(some - mean, np.ones(len(some)), one_group, balance_limits(1))
        (start,) = Runs(n_landmarks, n_init=1).starts(samples, random_state)
        return cls(lloyd(samples, start, MAX_ROUNDS, ROUGH_TOL).centers + mean, affinity, some)

    def __len__(self):
        """With the background."""
        return len(self.rows) + 1

    def shares(self, X):
        """Yield slices of rows, and what shares landmarks, at last the background, have in them."""
        for some in blocks(len(X), ROWS):
            similarity = self.affinity.between(X[some].astype(np.float64, copy=False), self.rows)
            sums = np.asarray(similarity.sum(axis=1)).reshape(-1, 1)
            inverse = 1 / (sums + self.background)
            last = self.background * inverse
            if sparse.issparse(similarity):
                shares = sparse.diags_array(inverse.ravel()) @ sparse.csr_array(similarity)
                yield some, sparse.hstack([shares, sparse.csr_array(last)], format="csr")
            else:
                yield some, np.hstack([similarity * inverse, last])


class LandmarkEmbedding:
    r"""A fair embedding through landmarks.

    With :math:`a_i` the rows of :math:`Z L^{-1/2}` and S their scatter within groups, the
    embedding of a person of group g is
    :math:`(a_i - \bar a_g)' V \Lambda^{-1/2}`, with the leading eigenvectors V and eigenvalues of
    S. A constant, the trivial column, comes first. The mean over all groups is 0, so that new
    people are embedded at :math:`a' V \Lambda^{-1/2}`.

    Parameters
    ----------
    landmarks : Landmarks
    moments : tuple of ndarray
        Sums over everybody: products of shares, (n_landmarks, n_landmarks), and shares by group,
        (n_groups, n_landmarks).
    numbers : ndarray of shape (n_groups,)
        Members of every group.
    n_components : int

    Attributes
    ----------
    eigenvalues : ndarray of shape (n_components,)
        Of the affinity, where its constraint holds.
    extension : ndarray of shape (n_landmarks, n_components)
        What shares are multiplied by.
    """

    def __init__(self, landmarks, moments, numbers, n_components):
        self.landmarks = landmarks
        products, sums = moments
        # Of a landmark that nobody is similar to all shares are 0.
        volumes = sums.sum(axis=0)
        self._volumes = np.where(volumes > 0, volumes, 1.0)
        scale = 1 / np.sqrt(self._volumes)
        means = sums / numbers[:, np.newaxis]
        within = scale[:, np.newaxis] * (products - sums.T @ means) * scale
        values, V = np.linalg.eigh(within)
        values, V = values[:-n_components:-1], V[:, :-n_components:-1]
        inverse = np.zeros(len(values))
        inverse[values > NEGLIGIBLE] = 1 / np.sqrt(values[values > NEGLIGIBLE])
        trivial = np.full((len(scale), 1), 1 / np.sqrt(numbers.sum()))
        self.eigenvalues = np.append(1.0, values)
        self.extension = np.hstack([trivial, scale[:, np.newaxis] * fix_signs(V) * inverse])
        self._shifts = means @ self.extension
        self._shifts[:, 0] = 0.0

    def of(self, X, codes):
        """Coordinates of people whose groups are known, (n_samples, n_components)."""
        coordinates = np.empty((len(X), len(self.eigenvalues)))
        for rows, shares in self.landmarks.shares(X):
            coordinates[rows] = shares @ self.extension - self._shifts[codes[rows]]
        return coordinates

    def normalized_cut(self, links):
        """Normalised cut of a clustering, from sums of shares by cluster."""
        there = links[links.sum(axis=1) > 0]
        within = (there**2 / self._volumes).sum(axis=1)
        return float(np.maximum(1 - within / there.sum(axis=1), 0.0).sum())


def sizes_of(parameters, n_samples):
    """Numbers of landmarks and of components.

    Raises
    ------
    ValueError
        If there are more landmarks than people, or fewer than components.
    """
    n_components = parameters.n_components or parameters.n_clusters
    n_landmarks = parameters.n_landmarks
    if n_landmarks is None:
        n_landmarks = min(max(N_LANDMARKS, 10 * n_components), int(n_samples))
    if not n_components <= n_landmarks <= n_samples:
        raise ValueError(
            f"n_landmarks must be at least n_components={n_components} (n_clusters unless it is "
            f"given) and at most n_samples={n_samples}, got {n_landmarks}."
        )
    return n_landmarks, n_components


def check_parameters(estimator):
    """Refuse what has no meaning through landmarks.

    Raises
    ------
    ValueError
        If the affinity is precomputed, or a solver or a rounding is asked for.
    """
    if estimator.affinity == "precomputed":
        raise ValueError(
            "affinity='precomputed' tells nothing of landmarks, with which people in parts are "
            "compared, and all others if n_landmarks is given. Pass their features, and a callable "
            "f(X, Y) for similarities of another kind; or a graph in memory with n_landmarks=None."
        )
    for name, default in (("eigen_solver", "auto"), ("rounding", "ncut")):
        if getattr(estimator, name) != default:
            raise ValueError(
                f"{name}={getattr(estimator, name)!r} is for people who are compared with all "
                "others; people in parts, and all where n_landmarks is given, are compared with "
                f"landmarks. Leave it at {default!r}"
                + (", and set min_balance=None for k-means alone." if name == "rounding" else ".")
            )


def crowd_in_memory(estimator, X, groups, asked, lacks_groups):
    """People in memory, in blocks of rows."""
    rows = blocks(len(X), BLOCK)
    shards = [Shard(X[some], None, groups.part(some), (0, some.start)) for some in rows]
    shards = InMemory(shards, estimator.n_jobs)
    return Crowd(shards, Census(shards), asked, lacks_groups)


def crowd_in_parts(estimator, X, sensitive_features, asked):
    """People in collections."""
    return Crowd(*take_census(estimator, X, sensitive_features), asked)


# What is asked of parts ---------------------------------------------------------------


def _drawn(shard, first, rate):
    numbers = shard.number(first) + np.arange(len(shard.X))
    return shard.X[lots(numbers) < rate].astype(np.float64, copy=False)


def _moments(shard, landmarks, known):
    """Sums of products of shares, and of shares by group."""
    products, sums = np.zeros((len(landmarks),) * 2), np.zeros((len(known), len(landmarks)))
    codes = shard.codes_among(known)
    for rows, shares in landmarks.shares(shard.X):
        if not shares.min() >= 0:
            raise ValueError(
                "Similarities to landmarks must be finite and not negative, but affinity(X, Y) of "
                "some rows is not."
            )
        product = shares.T @ shares
        products += product.toarray() if sparse.issparse(product) else product
        sums += _sums(shares, codes[rows], len(known))
    return products, sums


def _embedded(shard, embedding, known):
    return shard.but(embedding.of(shard.X, shard.codes_among(known)))


def _rows_of(shard):
    return shard.X


def _sums_by_group(shard, known):
    return _sums(shard.X, shard.codes_among(known), len(known))


def _links(shard, labels, landmarks, n_clusters):
    """Sums of shares by cluster."""
    links = np.zeros((n_clusters, len(landmarks)))
    for rows, shares in landmarks.shares(shard.X):
        links += _sums(shares, labels[rows], n_clusters)
    return links


def _sums(values, codes, n_codes):
    """Sums of rows by code, (n_codes, n_columns)."""
    one_each = np.ones(len(codes)), codes, np.arange(len(codes) + 1)
    sums = sparse.csr_array(one_each, shape=(len(codes), n_codes)).T @ values
    return sums.toarray() if sparse.issparse(sums) else sums


def _violation(sums, numbers):
    """Distance from the group constraint, of sums of an embedding by group."""
    roots = np.sqrt(numbers / numbers.sum())
    scaled = sums / np.sqrt(numbers)[:, np.newaxis]
    return float(np.linalg.norm(scaled - np.outer(roots, roots @ scaled)))
