"""From what a user passes to what the algorithms see, and back."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from skfair._kernels.kmeans import nearest_centers
from skfair.cluster._samples import Samples
from skfair.exceptions import MissingSensitiveFeaturesWarning
from skfair.utils._groups import Groups, check_alignment, check_groups, group_names
from skfair.utils._sklearn import check_sample_weight


class Population(NamedTuple):
    """Everybody passed to fit: those with a weight are clustered, the others only get a label."""

    X: np.ndarray  # (n_rows, n_features) float64, centred
    mean: np.ndarray  # (n_features,) what was subtracted
    present: np.ndarray  # (n_samples,) rows of positive weight
    samples: Samples
    groups: Groups  # of the samples

    def complete(self, labels, centers):
        """Labels of all rows: rows without weight go to the nearest (centred) centre."""
        if len(self.present) == len(self.X):
            return labels
        completed, _ = nearest_centers(self.X, centers)
        completed[self.present] = labels
        return completed


def check_population(estimator, X, sensitive_features, sample_weight, min_balance):
    """Validate the input of ``estimator.fit``.

    Raises
    ------
    ValueError
        For anything scikit-learn refuses in X, for rows that do not match, for negative weights,
        for fewer rows of positive weight than clusters.
    """
    check_alignment(X=X, sensitive_features=sensitive_features, sample_weight=sample_weight)
    # Nothing is set on the estimator before the fit has succeeded: an earlier fit stays whole.
    X = check_array(X, dtype=np.float64, order="C", copy=True, input_name="X", estimator=estimator)
    weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    present = np.flatnonzero(weights > 0)
    if len(present) < estimator.n_clusters:
        among = "" if len(present) == len(X) else " rows of positive sample_weight"
        raise ValueError(
            f"n_samples={len(present)}{among} should be >= n_clusters={estimator.n_clusters}; "
            "ask for fewer clusters."
        )
    groups = _groups_of(present, sensitive_features, len(X), min_balance)
    mean = np.average(X, axis=0, weights=weights)
    X -= mean
    everyone = len(present) == len(X)
    samples = Samples(
        X if everyone else X[present], weights[present], groups.codes, len(groups.labels)
    )
    return Population(X, mean, present, samples, groups)


def _groups_of(present, sensitive_features, n_rows, min_balance):
    """Groups of the rows that are present; groups without any weight are dropped."""
    if sensitive_features is None:
        if min_balance:
            warnings.warn(
                f"min_balance={min_balance} asks for balanced clusters, but fit got no "
                "sensitive_features: everybody is one group and the fit is plain k-means. Pass "
                "fit(X, sensitive_features=...), or min_balance=None to ask for no balance. "
                "Inside a search or pipeline, turn on metadata routing: "
                "sklearn.set_config(enable_metadata_routing=True).",
                MissingSensitiveFeaturesWarning,
                stacklevel=5,
            )
        return Groups.single(len(present))
    everyone = check_groups(sensitive_features, n_rows)
    groups = everyone.take(present)
    if len(groups.labels) < len(everyone.labels):
        kept = group_names(groups.labels)
        dropped = [name for name in group_names(everyone.labels) if name not in kept]
        warnings.warn(
            f"Groups without any sample weight count as absent: {dropped}. Leave their rows out, "
            "or give them a weight.",
            UserWarning,
            stacklevel=5,
        )
    return groups
