r"""Spectral clustering through landmarks: of people who lie in parts, or are too many to compare.

Everybody is linked to a few landmarks, and through them to all others. With Z everybody's shares of
similarity to the landmarks (rows that sum to 1) and D their degrees, the sums of similarities, the
affinity is ``C L^-1 C'`` with ``C = D Z`` and L its sums by landmark; its degrees are D again. Chen
and Cai (AAAI 2011) take Z for C: then all degrees are 1, and people far from all others count as
much as those in the middle, whose moves cost far more. The embedding consists of the principal
components of ``D^(1/2) Z L^(-1/2)`` once what tells the groups apart is taken away, which follow
from sums. k-means on it weighs people by degree, as the normalised cut does; a balance counts them.

One landmark more, a background, is as similar to everybody as a tenth of the others together are on
average (the regularisation of Qin and Rohe, NeurIPS 2013, who take all of it). Without it people
far from all others would be clusters of their own; with it they are near the middle, and go where
their group is needed. With more of it, shapes get lost in the differences of density.
"""

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skfair._kernels.clustering import balance_limits
from skfair.cluster._balance import describe
from skfair.cluster.kmeans._census import Census, Shard, take_census
from skfair.cluster.kmeans._everybody import Everybody, lots
from skfair.cluster.kmeans._homotopy import Homotopy
from skfair.cluster.kmeans._samples import ClusteringProblem, Runs, lloyd
from skfair.cluster.spectral._affinity import Affinity
from skfair.cluster.spectral._fair_embedding import fix_signs
from skfair.partitions import BLOCK, InMemory, blocks

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

    largest_weight = 1.0  # in a balance everybody counts the same

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
        scatter = embedded.total(_scatter, mean)
        everybody = Everybody(embedded, census.but(mean, scatter), self.asked)
        runs = Runs(n_clusters, n_init=parameters.n_init)
        labels, found = everybody.solve(Homotopy(), runs, random_state)
        links = self.shards.total(_links, labels, embedding.landmarks, n_clusters)
        return {
            "labels_": labels.joined(census.lengths, np.empty(0, np.int32)),
            "embedding_": embedded.each(_scaled).joined(census.lengths, embedding.extension[:0]),
            "embedding_violation_": embedding.violation(sums),
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
        self.mean, self.background = mean, COMMON * mean

    @classmethod
    def among(cls, some, n_landmarks, affinity, random_state):
        """Centres of k-means among some people; these themselves if all are landmarks."""
        if len(some) <= n_landmarks:
            return cls(some, affinity, some)
        mean, one_group = some.mean(axis=0), np.zeros(len(some), dtype=np.intp)
        samples = ClusteringProblem(some - mean, np.ones(len(some)), one_group, balance_limits(1))
        (start,) = Runs(n_landmarks, n_init=1).starts(samples, random_state)
        return cls(lloyd(samples, start, MAX_ROUNDS, ROUGH_TOL).centers + mean, affinity, some)

    def __len__(self):
        """With the background."""
        return len(self.rows) + 1

    def shares(self, X):
        """Yield slices of rows, the shares of landmarks, at last of the background, and degrees.

        Degrees are in units of the mean similarity.
        """
        for some in blocks(len(X), ROWS):
            similarity = self.affinity.between(X[some].astype(np.float64, copy=False), self.rows)
            sums = np.asarray(similarity.sum(axis=1)).reshape(-1, 1)
            inverse = 1 / (sums + self.background)
            last = self.background * inverse
            if sparse.issparse(similarity):
                shares = _times(inverse.ravel(), sparse.csr_array(similarity))
                shares = sparse.hstack([shares, sparse.csr_array(last)], format="csr")
            else:
                shares = np.hstack([similarity * inverse, last])
            yield some, shares, sums.ravel() / self.mean + COMMON


class LandmarkEmbedding:
    r"""A fair embedding through landmarks.

    With :math:`a_i` the rows of :math:`Z L^{-1/2}` a person of group g and degree d is embedded at
    :math:`(a_i - u_g / d_i)' V \Lambda^{-1/2}`. The price :math:`u_g / d_i` of a group makes all
    groups' means the same with the least :math:`\sum_i d_i |u_g / d_i|^2`; V and :math:`\Lambda`
    are the leading eigenvectors and eigenvalues of what is left of the scatter
    :math:`\sum_i d_i a_i a_i'`. A constant, the trivial column, comes first. The mean of
    :math:`u_g` over everybody is 0, so that new people are embedded at
    :math:`a' V \Lambda^{-1/2}`. Rows of H, in the scale of the normalised affinity, are
    :math:`\sqrt{d_i}` times that.

    Parameters
    ----------
    landmarks : Landmarks
    moments : tuple of ndarray
        Sums over everybody: products of shares times degrees, (n_landmarks, n_landmarks), shares by
        group, (n_groups, n_landmarks), and inverse degrees by group, (n_groups,).
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
        products, sums, self._inverses = moments
        self._numbers = numbers
        # Everybody's shares sum to 1. Of a landmark that nobody is similar to all are 0.
        volumes = products.sum(axis=1)
        self._volumes = np.where(volumes > 0, volumes, 1.0)
        scale = 1 / np.sqrt(self._volumes)
        prices = self._prices(sums)
        of_groups = prices.T @ (self._inverses[:, np.newaxis] * prices)
        of_all = np.outer(volumes, volumes) / volumes.sum()
        values, V = np.linalg.eigh(scale[:, np.newaxis] * (products - of_all - of_groups) * scale)
        values, V = values[:-n_components:-1], V[:, :-n_components:-1]
        inverse = np.zeros(len(values))
        inverse[values > NEGLIGIBLE] = 1 / np.sqrt(values[values > NEGLIGIBLE])
        trivial = np.full((len(scale), 1), 1 / np.sqrt(volumes.sum()))
        self.eigenvalues = np.append(1.0, values)
        self.extension = np.hstack([trivial, scale[:, np.newaxis] * fix_signs(V) * inverse])
        self._shifts = prices @ self.extension
        self._shifts[:, 0] = 0.0

    def of(self, X, codes):
        """Coordinates of people whose groups are known, (n_samples, n_components), and degrees."""
        coordinates, degrees = np.empty((len(X), len(self.eigenvalues))), np.empty(len(X))
        for rows, shares, own in self.landmarks.shares(X):
            shifts = self._shifts[codes[rows]] / own[:, np.newaxis]
            coordinates[rows], degrees[rows] = shares @ self.extension - shifts, own
        return coordinates, degrees

    def violation(self, sums):
        """Distance of H from the group constraint, of sums of coordinates by group."""
        return float(np.sqrt(self._inverses @ (self._prices(sums) ** 2).sum(axis=1)))

    def _prices(self, sums):
        """What of sums by group differs between groups, (n_groups, n_columns).

        It is the least, by degree, that taken away from everybody over the degree leaves all groups
        with the same mean, and its own mean over everybody is 0.
        """
        numbers, inverses = self._numbers[:, np.newaxis], self._inverses[:, np.newaxis]
        means = (numbers * sums / inverses).sum(axis=0) / (numbers**2 / inverses).sum()
        return (sums - numbers * means) / inverses

    def normalized_cut(self, links):
        """Normalised cut of a clustering, from sums of shares times degrees by cluster."""
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
    shards = [Shard(X[some], None, groups.subset(some), (0, some.start)) for some in rows]
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
    """Sums of products of shares times degrees, of shares by group, of inverse degrees by group."""
    products, sums = np.zeros((len(landmarks),) * 2), np.zeros((len(known), len(landmarks)))
    codes, inverses = shard.codes_among(known), np.zeros(len(known))
    for rows, shares, degrees in landmarks.shares(shard.X):
        if not shares.min() >= 0:
            raise ValueError(
                "Similarities to landmarks must be finite and not negative, but affinity(X, Y) of "
                "some rows is not."
            )
        scaled = _times(np.sqrt(degrees), shares)
        product = scaled.T @ scaled
        products += product.toarray() if sparse.issparse(product) else product
        sums += _sums(shares, codes[rows], len(known))
        inverses += np.bincount(codes[rows], 1 / degrees, len(known))
    return products, sums, inverses


def _embedded(shard, embedding, known):
    return shard.but(*embedding.of(shard.X, shard.codes_among(known)))


def _scaled(shard):
    """Rows of H."""
    return shard.X * np.sqrt(shard.unit_costs)[:, np.newaxis]


def _sums_by_group(shard, known):
    return _sums(shard.X, shard.codes_among(known), len(known))


def _scatter(shard, mean):
    """Sum of squared distances to the mean, by mass."""
    return shard.unit_costs @ ((shard.X - mean) ** 2).sum(axis=1)


def _links(shard, labels, landmarks, n_clusters):
    """Sums of shares times degrees by cluster."""
    links = np.zeros((n_clusters, len(landmarks)))
    for rows, shares, degrees in landmarks.shares(shard.X):
        links += _sums(shares, labels[rows], n_clusters, degrees)
    return links


def _times(factors, rows):
    """Rows times a factor each."""
    if sparse.issparse(rows):
        return sparse.diags_array(factors) @ rows
    return factors[:, np.newaxis] * rows


def _sums(values, codes, n_codes, factors=1.0):
    """Sums of rows, times factors, by code, (n_codes, n_columns)."""
    one_each = np.full(len(codes), factors), codes, np.arange(len(codes) + 1)
    sums = sparse.csr_array(one_each, shape=(len(codes), n_codes)).T @ values
    return sums.toarray() if sparse.issparse(sums) else sums
