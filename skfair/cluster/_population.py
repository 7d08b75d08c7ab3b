"""From what a user passes to what the algorithms see, and back."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from skfair._kernels.kmeans import nearest_centers
from skfair.cluster._balance import groups_missing
from skfair.cluster._limits import Asked, check_asked
from skfair.cluster._samples import Samples
from skfair.people import Groups, check_people


class Population(NamedTuple):
    """Everybody passed to fit: those with a weight are clustered, the others only get a label."""

    X: np.ndarray  # (n_rows, n_features) float64, centred
    mean: np.ndarray  # (n_features,) what was subtracted
    present: np.ndarray  # (n_samples,) rows of positive weight
    samples: Samples
    groups: Groups  # of the samples
    asked: Asked

    @property
    def data_balance(self):
        """Balance of the samples as one cluster, in the scales of what is asked."""
        return self.samples.balance

    @property
    def largest_weight(self):
        """Of a sample."""
        return self.samples.largest_weight

    def complete(self, labels, centers):
        """Labels of all rows: rows without weight go to the nearest (centred) centre."""
        if len(self.present) == len(self.X):
            return labels
        completed, _ = nearest_centers(self.X, centers)
        completed[self.present] = labels
        return completed


def check_population(estimator, X, sensitive_features, sample_weight):
    """Validate the input of ``estimator.fit``.

    Raises
    ------
    ValueError
        For anything scikit-learn refuses in X, for rows that do not match, for negative weights,
        for fewer rows of positive weight than clusters, for sizes that no clusters have.
    """
    given = X
    X = check_array(X, dtype=np.float64, order="C", copy=True, input_name="X", estimator=estimator)
    missing = groups_missing(estimator)
    people, present = check_people(sensitive_features, sample_weight, missing=missing, X=given)
    if len(present) < estimator.n_clusters:
        among = "" if len(present) == len(X) else " rows of positive sample_weight"
        raise ValueError(
            f"n_samples={len(present)}{among} should be >= n_clusters={estimator.n_clusters}; "
            "ask for fewer clusters."
        )
    asked = check_asked(estimator, people.weights)
    everyone = len(present) == len(X)
    mean = np.average(X if everyone else X[present], axis=0, weights=people.weights)
    X -= mean
    rows, groups = X if everyone else X[present], people.groups
    limits = asked.limits(np.bincount(groups.codes, people.weights))
    samples = Samples(rows, people.weights, groups.codes, limits)
    return Population(X, mean, present, samples, groups, asked)
