"""Fair k-means, its front, and fair spectral clustering."""

import numpy as np

from skfair.cluster import FairKMeans, FairSpectralClustering, cluster_front
from skfair.datasets import make_fair_sbm


class KMeans:
    """k-means whose clusters are balanced."""

    timeout = 300
    n_samples = 50_000

    def setup(self):
        """Draw samples of three groups with different means, and compile."""
        generator = np.random.default_rng(0)
        self.groups = generator.integers(3, size=self.n_samples)
        self.X = generator.standard_normal((self.n_samples, 10)) + 0.5 * self.groups[:, None]
        X = self.X[:200]
        groups = self.groups[:200]
        FairKMeans(10, min_balance=0.8, random_state=0).fit(X, sensitive_features=groups)
        cluster_front(FairKMeans(10, random_state=0), X, sensitive_features=groups, n_levels=3)

    def time_fit(self):
        """Fit to all samples."""
        FairKMeans(10, min_balance=0.8, random_state=0).fit(self.X, sensitive_features=self.groups)

    def peakmem_fit_float32(self):
        """Fit to all samples in single precision."""
        X = self.X.astype(np.float32)
        FairKMeans(10, min_balance=0.8, random_state=0).fit(X, sensitive_features=self.groups)

    def time_ten_starts_without_balance(self):
        """Fit to a tenth of the samples from ten starts."""
        FairKMeans(10, min_balance=None, n_init=10, random_state=0).fit(self.X[::10])

    def peakmem_fit(self):
        """Fit to all samples."""
        self.time_fit()

    def time_front(self):
        """Compute the front of cost against balance of a tenth of the samples."""
        X = self.X[::10]
        groups = self.groups[::10]
        cluster_front(FairKMeans(10, random_state=0), X, sensitive_features=groups)


class SmallKMeans:
    """k-means of few samples, with balanced clusters and with bounds on their sizes."""

    timeout = 300
    params = (30, 60, 100, 101, 1000)
    param_names = ("n_samples",)

    def setup(self, n_samples):
        """Draw samples of two groups with different means, and compile."""
        generator = np.random.default_rng(0)
        self.groups = generator.integers(2, size=n_samples)
        self.X = generator.standard_normal((n_samples, 10))
        self.X[:, 0] += 1.5 * self.groups
        self.time_fit(n_samples)
        self.time_fit_with_sizes(n_samples)

    def time_fit(self, n_samples):
        """Fit with the default balance."""
        FairKMeans(5, random_state=0).fit(self.X, sensitive_features=self.groups)

    def time_fit_with_sizes(self, n_samples):
        """Fit with sizes within a fifth of their mean."""
        smallest = n_samples * 4 // 25
        largest = -(-n_samples * 6 // 25)
        FairKMeans(
            5,
            min_balance=None,
            min_cluster_size=smallest,
            max_cluster_size=largest,
            random_state=0,
        ).fit(self.X)


class Spectral:
    """Spectral clustering of a graph whose clusters are balanced."""

    timeout = 300
    n_samples = 10_000

    def setup(self):
        """Draw the graph, and compile."""
        graph = make_fair_sbm(self.n_samples, average_degree=50, random_state=0)
        self.affinity, _, self.groups = graph
        self.time_fit()

    def time_fit(self):
        """Fit to the graph."""
        model = FairSpectralClustering(5, affinity="precomputed", random_state=0)
        model.fit(self.affinity, sensitive_features=self.groups)
