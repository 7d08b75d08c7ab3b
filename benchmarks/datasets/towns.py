"""Generated travel times between residents of towns: not Euclidean, and not symmetric."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

N_ROADS = 6  # from each resident to the nearest others


def make_towns(n_samples, seed):
    """Minutes from resident to resident, (n_samples, n_samples), and two groups that live apart.

    Five towns lie on both sides of a river, which two bridges cross. Roads join near residents, and
    their speeds differ by direction. Residents walk where no road is faster.
    """
    rng = np.random.default_rng(seed)
    centers = rng.uniform(0.15, 0.85, (5, 2))
    town = rng.choice(5, n_samples, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    homes = centers[town] + rng.normal(0, 0.09, (n_samples, 2))
    _, near = cKDTree(homes).query(homes, N_ROADS + 1)
    first, second = np.repeat(np.arange(n_samples), N_ROADS), near[:, 1:].ravel()
    length = np.linalg.norm(homes[first] - homes[second], axis=1)
    # The river is at .5, with bridges at .3 and .7.
    crosses = (homes[first, 0] < 0.5) != (homes[second, 0] < 0.5)
    middle = (homes[first, 1] + homes[second, 1]) / 2
    detour = 2 * np.minimum(abs(middle - 0.3), abs(middle - 0.7))
    minutes = 60 * (length + crosses * detour)
    there, back = minutes * rng.lognormal(0, 0.3, (2, len(first))) + 0.1
    ends = np.append(first, second), np.append(second, first)
    roads = csr_array((np.append(there, back), ends), (n_samples, n_samples))
    walk = 360 * np.linalg.norm(homes[:, np.newaxis] - homes, axis=2)
    shares = np.linspace(0.1, 0.6, 5)[rng.permutation(5)]
    groups = (rng.uniform(size=n_samples) < shares[town]).astype(int)
    return np.minimum(dijkstra(roads), walk), groups
