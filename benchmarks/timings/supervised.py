"""Constrained classifiers, regressors and rankers."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
    PartialParityClassifier,
)
from skfair.datasets import make_ranking
from skfair.ranking import ConstrainedRanker
from skfair.regression import ConstrainedERMRegressor
from skfair.solvers import AdamPrimalDual


def generate(n_samples, n_features=20, seed=0):
    """Draw groups, features that depend on them, and a score that depends on the features."""
    generator = np.random.default_rng(seed)
    group = generator.integers(2, size=n_samples)
    X = generator.standard_normal((n_samples, n_features)) + 0.3 * group[:, None]
    score = X @ generator.standard_normal(n_features) + generator.standard_normal(n_samples)
    return X, score, group


class _Supervised:
    """A fit to one sample, after a fit to a small one."""

    timeout = 300
    n_samples = 100_000

    def setup(self):
        """Draw the sample, and compile."""
        X, score, group = generate(self.n_samples)
        self.X = X
        self.score = score
        self.groups = {"sensitive_features": group}
        self.y = (score > np.median(score)).astype(int)
        subsample = slice(1000)
        model = self.model()
        y = self.target()[subsample]
        model.fit(X[subsample], y, sensitive_features=group[subsample])

    def target(self):
        """Target of the model."""
        return self.y

    def time_fit(self):
        """Fit to all samples."""
        self.model().fit(self.X, self.target(), **self.groups)


class DemographicParity(_Supervised):
    """A linear classifier with equal selection rates."""

    def model(self):
        """The estimator."""
        return ConstrainedERMClassifier(tolerance=0.05)


class EqualizedOdds(_Supervised):
    """A linear classifier with equal error rates."""

    def model(self):
        """The estimator."""
        return ConstrainedERMClassifier("equalized_odds", tolerance=0.05)


class SmallDemographicParity(DemographicParity):
    """A linear classifier with equal selection rates, of few samples."""

    n_samples = 1_000


class SmallEqualizedOdds(EqualizedOdds):
    """A linear classifier with equal error rates, of few samples."""

    n_samples = 1_000


class Percentiles(_Supervised):
    """A linear classifier with partial parity on an interval."""

    n_samples = 5_000

    def model(self):
        """The estimator."""
        return PartialParityClassifier(interval=(0.6, 0.9), tolerance=0.05)


class Perceptron(_Supervised):
    """A perceptron."""

    n_samples = 5_000

    def model(self):
        """The estimator."""
        return ConstrainedMLPClassifier(
            tolerance=0.05, solver=AdamPrimalDual(max_iter=5), random_state=0
        )


class AnyClassifier(_Supervised):
    """Another package's classifier under a constraint."""

    n_samples = 5_000

    def model(self):
        """The estimator."""
        return ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05)


class Regression(_Supervised):
    """A linear regressor with equal means."""

    def model(self):
        """The estimator."""
        return ConstrainedERMRegressor()

    def target(self):
        """Target of the model."""
        return self.score


class Guaranteed(_Supervised):
    """A linear classifier whose tolerance holds for new data with probability .95."""

    n_samples = 20_000

    def model(self):
        """The estimator."""
        return ConstrainedERMClassifier(tolerance=0.1, confidence_level=0.95)


class Ranking:
    """A ranker of documents of queries."""

    timeout = 300

    def setup(self):
        """Draw the documents, and fit once."""
        self.X, self.y, self.query_id, self.groups = make_ranking(random_state=0)
        self.time_fit()

    def time_fit(self):
        """Fit to all documents."""
        ranker = ConstrainedRanker(tolerance=0.1)
        ranker.fit(self.X, self.y, query_id=self.query_id, sensitive_features=self.groups)
