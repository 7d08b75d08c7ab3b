"""Signs that a fitted classifier was fitted to the samples that it is about to score."""

import numpy as np
from scipy import sparse
from sklearn.frozen import FrozenEstimator

from skfair.partitions import is_partitioned
from skfair.postprocessing._scores import final_step, final_step_features
from skfair.utils._held_out import share_of_rows
from skfair.utils._messages import warn
from skfair.utils._sklearn import first_boosted_leaves

_STORED_ROWS = ("_fit_X", "X_train_", "support_vectors_")
"""Attributes with training samples: of nearest neighbours, Gaussian processes, support vectors."""

_MIN_SAMPLES = 50
"""Samples without a mistake that are suspicious; fewer may be easy."""

_MIN_LEAVES = 3
"""Leaves of a tree whose sizes show its training data."""

_SAME_LEAVES = "every leaf of a tree has as many samples as in its training"


def warn_of_memorized(estimator, cv, X, labels, scores):
    """Warn if X seems to be the training data of a classifier that is fitted already.

    ``scores`` are the `classifier_scores` of the samples. Not every classifier shows what it was
    fitted to; ``X_fit`` of the estimators' ``fit`` compares samples with any training data.
    """
    is_fitted = isinstance(estimator, FrozenEstimator) or (isinstance(cv, str) and cv == "prefit")
    if not is_fitted or is_partitioned(X):
        return
    classifier, features = final_step(estimator), final_step_features(estimator, X)
    sign = _count_mistakes(classifier, labels, scores)
    if not sparse.issparse(features):
        sign = sign or _compare_stored_rows(classifier, features)
        sign = sign or _compare_leaves(classifier, features)
        sign = sign or _compare_boosted_leaves(classifier, features)
    if sign:
        warn(
            f"X looks like the training data of the fitted {type(classifier).__name__}: {sign}. "
            "What holds for training scores does not hold for new data. Pass samples that it was "
            "not fitted to, or an unfitted classifier with cv=5; X_fit=, its training data, "
            "compares them row by row."
        )


def _compare_stored_rows(classifier, features):
    """A sign if most training samples that the classifier stores are among the features."""
    for name in _STORED_ROWS:
        stored = getattr(classifier, name, None)
        if isinstance(stored, np.ndarray) and stored.ndim == 2 and len(stored):
            share = share_of_rows(stored, np.asarray(features))
            if share > 0.5:
                return f"it has {share:.0%} of the samples that the classifier stores"
    return ""


def _compare_leaves(classifier, features):
    """A sign if every leaf of the first tree has as many samples as in its training."""
    tree = classifier
    if len(members := getattr(classifier, "estimators_", [])):
        tree = members[0][0] if isinstance(members[0], np.ndarray) else members[0]
        features = np.asarray(features)  # members are fitted without names of columns
    if not hasattr(tree, "tree_") or tree.tree_.n_leaves < _MIN_LEAVES:
        return ""
    n_samples, n_features = features.shape
    if n_features != tree.tree_.n_features:  # some of bagging
        return ""
    # A tree of a forest was fitted to drawn samples.
    drawn = getattr(classifier, "estimators_samples_", [np.arange(n_samples)])[0]
    if len(drawn) != n_samples or drawn.max() >= n_samples:
        return ""
    counts = np.bincount(tree.apply(features)[drawn], minlength=tree.tree_.node_count)
    is_leaf = tree.tree_.children_left < 0
    if np.array_equal(counts[is_leaf], tree.tree_.weighted_n_node_samples[is_leaf]):
        return _SAME_LEAVES
    return ""


def _compare_boosted_leaves(classifier, features):
    """The same sign for histograms of gradients, whose samples in a leaf have one first score.

    Samples that were held out for early stopping are not in the leaves.
    """
    leaves = first_boosted_leaves(classifier)
    if leaves is None or len(leaves) < _MIN_LEAVES or leaves["count"].sum() != len(features):
        return ""
    first = next(classifier.staged_decision_function(features)).reshape(len(features), -1)[:, 0]
    # Scores have a constant besides. Leaves of equal values, up to rounding, are one.
    first, values = (np.round(one - one.min(), 9) for one in (first, leaves["value"]))
    values, positions = np.unique(values, return_inverse=True)
    trained = np.bincount(positions, leaves["count"], len(values))
    return _SAME_LEAVES if np.array_equal(np.unique_counts(first).counts, trained) else ""


def _count_mistakes(classifier, labels, scores):
    """A sign if the classifier is right about each of many samples."""
    codes = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)
    classes = getattr(classifier, "classes_", np.unique(labels))
    if len(labels) >= _MIN_SAMPLES and (classes[codes] == labels).all():
        return f"it makes no mistake about any of the {len(labels)} samples"
    return ""
