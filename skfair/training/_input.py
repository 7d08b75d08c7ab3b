"""From what a user passes to fit to what a solver sees."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_X_y, compute_class_weight, get_tags
from sklearn.utils.multiclass import check_classification_targets

from skfair.groups import Samples, check_one_label_type, check_samples, unique_values
from skfair.partitions import is_partitioned
from skfair.utils._classes import positive_class
from skfair.utils._features import check_finite_squares
from skfair.utils._messages import warn
from skfair.utils._sklearn import safe_indexing

_FEW = 200
"""Samples that show of most columns that they do not reveal the group."""


class Unit(NamedTuple):
    """Units that scores are trained in: the distance from a centre, over a spread.

    Attributes
    ----------
    center, spread : float
        Where 0 is, and what 1 is.
    """

    center: float = 0.0
    spread: float = 1.0

    def to_unit(self, values):
        """Values in these units."""
        return (values - self.center) / self.spread

    def from_unit(self, values):
        """What values in these units are."""
        return self.center + self.spread * values


class Training(NamedTuple):
    """Everybody with a positive weight.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Features, float64.
    classes : ndarray of shape (n_classes,) or None
        Labels of the classes, ascending; None for real targets.
    people : Samples
        Targets (-1 and +1 for the positive class; of more than two classes their positions; or
        real numbers), groups and weights, and the features as they were given.
    pos_label : label or None
        The positive class; None for real targets, and where there are more than two.
    unit : Unit
        Units that scores are trained in, where those of the positive class are positive. (Those
        that users see are positive for the second of the ``classes``.)
    lacks_groups : bool
        Whether groups were to be compared, but none came: then nothing is constrained.
    """

    X: np.ndarray
    classes: np.ndarray
    people: Samples
    pos_label: object = None
    unit: Unit = Unit()
    lacks_groups: bool = False

    @property
    def target(self):
        """Classes -1 and +1, or real numbers, (n_samples,)."""
        return self.people.target

    @property
    def labels(self):
        """Class of each sample, (n_samples,)."""
        if len(self.classes) > 2:
            return self.classes[self.target.astype(np.intp)]
        return label_positive(self.target > 0, self.classes, self.pos_label)

    def one_vs_rest(self):
        """The same samples as binary problems, one per class; themselves with two classes.

        Returns
        -------
        problems : list of Training
            Of more than two classes, each is the positive one of a problem.
        """
        if len(self.classes) == 2:
            return [self]
        return [
            self._replace(
                people=self.people._replace(target=np.where(self.target == code, 1.0, -1.0)),
                pos_label=label,
            )
            for code, label in enumerate(self.classes)
        ]

    @property
    def weights(self):
        """Positive sample weights, (n_samples,)."""
        return self.people.weights

    @property
    def groups(self):
        """Who belongs to which group."""
        return self.people.groups


def check_training(estimator, X, y, people, request):
    """Validate the input of a classifier's ``fit``.

    Parameters
    ----------
    estimator : estimator instance
        Named in messages; its ``pos_label`` is the positive class, and its tags say whether there
        may be more than two.
    X, y : array-like
        As passed to fit.
    people : dict
        ``sensitive_features`` and ``sample_weight`` as passed to fit.
    request : str or None
        What the user asks of groups, for the warning that none came; None if nothing.

    Returns
    -------
    training : Training

    Raises
    ------
    ValueError
        For anything scikit-learn refuses in X and y, for rows that do not match, for negative
        weights, for a number of classes that the estimator does not do, and if groups are to be
        compared and it cannot be told which class is the positive one.
    """
    X, y, found, lacks_groups = _check_rows(estimator, X, y, people, request)
    classes = _classes(y)
    if len(classes) > 2:
        _check_many_classes(estimator, classes)
        found = found._replace(target=np.searchsorted(classes, y).astype(np.float64))
        return Training(X, classes, found, lacks_groups=lacks_groups)
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs samples of at least 2 classes in the data, but the "
            f"data of positive sample_weight contains only one class: {classes[0]}."
        )
    is_compared = request is not None and not lacks_groups
    positive = positive_of(classes, estimator.pos_label, is_compared)
    target = np.where(y == positive, 1.0, -1.0)
    unit = Unit(spread=1.0 if positive == classes[1] else -1.0)
    return Training(X, classes, found._replace(target=target), positive, unit, lacks_groups)


def _classes(y):
    """Labels of the classes, ascending, of what scikit-learn takes for classes."""
    if y.dtype.kind == "O":  # labels of several kinds cannot be sorted
        check_one_label_type(y, "y")
        check_classification_targets(y)
        return unique_values(y)
    classes = unique_values(y)
    # Of two labels it is the same question as of everybody's.
    check_classification_targets(classes if len(classes) <= 2 else y)
    return classes


def _check_many_classes(estimator, classes):
    """Refuse more than two classes where they are not done, and a positive one among them."""
    if not get_tags(estimator).classifier_tags.multi_class:
        raise ValueError(
            f"Only binary classification is supported. The type of the target has {len(classes)} "
            f"classes: {classes[:5].tolist()}. ConstrainedClassifierCV(LogisticRegression()) holds "
            "the constraints for each of more than two classes, with linear scores, and so it does "
            "around any classifier; sklearn.multiclass.OneVsRestClassifier fits a "
            f"{type(estimator).__name__} for each, but promises nothing of their joint decisions."
        )
    if estimator.pos_label is not None:
        raise ValueError(
            f"pos_label={estimator.pos_label!r} names the one class that means success, but of "
            f"{len(classes)} classes each is compared between groups; pass pos_label=None."
        )


def positive_of(classes, pos_label, is_compared):
    """The positive class; where no groups are compared, it is the second if nothing is said."""
    if pos_label is None and not is_compared:
        return classes[1]
    positive = positive_class(set(classes.tolist()), pos_label)
    return classes[classes.tolist().index(positive)]


def label_positive(is_positive, classes, pos_label):
    """Classes of decisions.

    Parameters
    ----------
    is_positive : ndarray of bool, shape (n_samples,)
        Whether a sample is given the positive class.
    classes : ndarray of shape (2,)
        Labels of the classes.
    pos_label : label
        The positive one.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
    """
    return classes[np.where(is_positive == (pos_label == classes[1]), 1, 0)]


def check_real_training(estimator, X, y, people, request):
    """Validate the input of a regressor's ``fit``.

    Parameters
    ----------
    estimator, X, y, people, request
        As in `check_training`.

    Returns
    -------
    training : Training

    Raises
    ------
    ValueError
        For anything scikit-learn refuses in X and y, for rows that do not match, and for negative
        weights.
    """
    X, y, found, lacks_groups = _check_rows(estimator, X, y, people, request)
    target = y.astype(np.float64)
    check_finite_squares(target, "y")
    return Training(X, None, found._replace(target=target), lacks_groups=lacks_groups)


def in_units_of_spread(training, is_centered):
    """The same people, the target in units of its spread, so that tolerances suit any scale.

    Parameters
    ----------
    training : Training
        With a real target.
    is_centered : bool
        Whether the mean of the target becomes 0, as an intercept allows.

    Returns
    -------
    training : Training
        Its ``unit`` leads back.
    """
    target, weights = training.target, training.weights
    center = np.average(target, weights=weights) * is_centered
    spread = np.sqrt(np.average((target - center) ** 2, weights=weights))
    unit = Unit(float(center), float(spread) or 1.0)
    return training._replace(
        people=training.people._replace(target=unit.to_unit(target)), unit=unit
    )


def _check_rows(estimator, X, y, people, request):
    """Features, targets and people of the rows of positive weight; whether groups are missing."""
    refuse_partitioned(estimator, X)
    # Nothing is set on the estimator before the fit has succeeded: an earlier fit stays whole.
    checked, target = check_X_y(
        X, y, accept_sparse="csr", dtype=np.float64, y_numeric=False, estimator=estimator
    )
    check_finite_squares(checked, "X")
    missing = request and (
        f"{request}, but fit got no sensitive_features: everybody is one group and the fit is "
        "unconstrained. Pass fit(X, y, sensitive_features=...)."
    )
    found, rows = check_samples(**people, missing=missing, overlapping=True, X=X, y=y)
    if sparse.issparse(checked):
        checked = sparse.csr_array(checked)
    given = X if hasattr(X, "columns") else checked  # columns can be named by constraints
    if len(rows) < len(target):
        checked, target, given = checked[rows], target[rows], safe_indexing(given, rows)
    lacks_groups = request is not None and people["sensitive_features"] is None
    found = found._replace(X=given, min_group_size=estimator.min_group_size)
    sees_groups = getattr(estimator, "group_interactions", False)
    if request is not None and not sees_groups and attributes_in_features(checked, found.groups):
        warn_of_group_in_features("with group_interactions")
    return checked, target, found, lacks_groups


def attributes_in_features(X, groups):
    """Names of sensitive attributes that are columns of X, as they are or one-hot encoded.

    Groups that overlap are not looked for.
    """
    if not groups.is_disjoint:
        return []
    found = []
    values, _ = groups.single_attribute_codes()
    for name, of_group in zip(groups.attributes, values.T, strict=True):
        codes = np.unique(of_group, return_inverse=True)[1][groups.codes]
        first = np.unique(codes, return_index=True)[1]
        is_known = 1 < len(first) <= len(codes) / 2  # in groups of one sample nothing varies
        if is_known and _identify_groups(X, codes, first):
            found.append(name)
    return found


def _identify_groups(X, codes, first):
    """Whether columns that are constant within every group identify all groups.

    ``first`` are positions of one sample of each group.
    """
    columns = np.arange(X.shape[1])
    # Most columns vary within a group, as few samples show.
    for rows in (slice(_FEW), slice(None)):
        own, typical = X[rows][:, columns], X[first][:, columns]
        own, typical = (one.toarray() if sparse.issparse(one) else one for one in (own, typical))
        columns = columns[(own == typical[codes[rows]]).all(axis=0)]
        if not len(columns):
            return False
    typical = X[first][:, columns]
    typical = typical.toarray() if sparse.issparse(typical) else typical
    return len(np.unique(typical, axis=0)) == len(first)


def warn_of_group_in_features(setting):
    """Warn that X reveals the group, so that decisions depend on it as with a setting."""
    warn(
        f"X reveals the group of nearly all samples, so that decisions depend on the group as "
        f"{setting}. If they must not, leave out the columns that reveal it, such as the sensitive "
        "feature itself."
    )


def refuse_partitioned(estimator, X):
    """Refuse people who lie in parts, where a fit would take them all into memory unasked.

    Parameters
    ----------
    estimator : estimator instance
        Named in the message.
    X : array-like or collection
        As passed to fit.

    Raises
    ------
    TypeError
        If X lies in parts.
    """
    if is_partitioned(X):
        raise TypeError(
            f"{type(estimator).__name__} is fitted to people in memory, but these lie in parts. "
            "Pass a sample of them, in memory, and predict everybody: predict(X) answers part by "
            "part. Classifiers and regressors called ConstrainedERM... and PartialParity..., and "
            "FairKMeans, are fitted to people in parts."
        )


def class_weights(class_weight, training):
    """Factor of each sample's loss, as in scikit-learn.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weight of each class.
    training : Training
        The samples.

    Returns
    -------
    factors : ndarray of shape (n_samples,)
    """
    if class_weight is None:
        return np.ones(len(training.target))
    labels = training.labels
    per_class = compute_class_weight(
        class_weight, classes=training.classes, y=labels, sample_weight=training.weights
    )
    return per_class[(labels == training.classes[1]).astype(int)]
