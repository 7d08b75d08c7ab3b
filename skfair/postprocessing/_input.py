"""Input of estimators that wrap a classifier, whose features only that classifier checks."""

import numpy as np
from sklearn import get_config
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from skfair.groups import check_alignment
from skfair.partitions import is_partitioned
from skfair.postprocessing._events import group_codes
from skfair.training import check_training


def check_rows(estimator, X, y, metadata, request):
    """Training data whose features are left out, and the positions of positive weight.

    ``request`` is as in `check_training`.
    """
    check_alignment(X=X, y=y, **metadata)
    # Positions stand for the rows of X.
    positions = np.arange(len(column_or_1d(y)))[:, np.newaxis]
    if not is_partitioned(X):
        check_consistent_length(X, positions)
    training = check_training(estimator, positions, y, metadata, request)
    return training, training.X[:, 0].astype(np.intp)


def stratify(training, rows, n_samples):
    """Code of class and group of each sample, ascending with the class; -1 without weight."""
    # Class first, then group: strata of one class are neighbours when they are dealt out.
    codes, labels = (
        group_codes(training.samples.groups),
        np.searchsorted(training.classes, training.labels),
    )
    strata = np.full(n_samples, -1)
    strata[rows] = (codes.max() + 1) * labels + codes
    return strata


def route_metadata(estimator, base, metadata, params):
    """Keyword arguments for the ``fit`` of the base classifier, and for the splitter.

    Without metadata routing the base gets all params, and the metadata that its ``fit`` names.
    """
    passed = {name: value for name, value in metadata.items() if value is not None}
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(estimator, "fit", **passed, **params)
        # Not `"splitter" in routed`, which never ends where scikit-learn routes no metadata at all.
        return routed.estimator.fit, routed.get("splitter", {}).get("split", {})
    accepted = {name: value for name, value in passed.items() if has_fit_parameter(base, name)}
    return accepted | params, {}


def feature_attributes(base):
    """``n_features_in_`` and ``feature_names_in_`` of a fitted classifier, where it has them."""
    names = ("n_features_in_", "feature_names_in_")
    return {name: getattr(base, name) for name in names if hasattr(base, name)}
