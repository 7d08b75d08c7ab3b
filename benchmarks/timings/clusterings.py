"""Fair k-means, its front, and fair spectral clustering."""

import numpy as np

from skfair.cluster import FairKMeans, FairSpectralClustering, fair_kmeans_front
from skfair.datasets import make_fair_sbm


class KMeans:
    """k-means whose clusters are balanced."""

    timeout = 300

    def setup(self):
        """Draw samples of three groups with different means, and compile."""
        generator = np.random.default_rng(0)
        self.groups = generator.integers(3, size=50_000)
        self.X = generator.standard_normal((50_000, 10)) + 0.5 * self.groups[:, None]
        groups = self.groups[:500]
        FairKMeans(10, min_balance=0.8, random_state=0).fit(self.X[:500], sensitive_features=groups)
        fair_kmeans_front(self.X[:500], sensitive_features=groups, n_clusters=10, random_state=0)

    def time_fit(self):
        """Fit to 50,000 samples."""
        FairKMeans(10, min_balance=0.8, random_state=0).fit(self.X, sensitive_features=self.groups)

    def peakmem_fit(self):
        """Fit to 50,000 samples."""
        self.time_fit()

    def time_front(self):
        """The front of cost against balance of 5,000 samples."""
        X, groups = self.X[:5_000], self.groups[:5_000]
        fair_kmeans_front(X, sensitive_features=groups, n_clusters=10, random_state=0)


class Spectral:
    """Spectral clustering of a graph whose clusters are balanced."""

    timeout = 300

    def setup(self):
        """Draw the graph, and compile."""
        self.affinity, _, self.groups = make_fair_sbm(10_000, average_degree=50, random_state=0)
        self.time_fit()

    def time_fit(self):
        """Fit to the graph."""
        model = FairSpectralClustering(5, affinity="precomputed", random_state=0)
        model.fit(self.affinity, sensitive_features=self.groups)
