"""The base of linear classifiers: training, decisions and probabilities."""

from numbers import Real
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skfair.partitions import is_partitioned, row_by_row
from skfair.training import (
    ConstrainedLinearModel,
    GroupScoreMixin,
    check_training,
    fit_collected,
    label_positive,
    loss_weights,
)
from skfair.utils._types import MatrixLike


def has_probabilities(estimator):
    """Whether scores are log-odds, for `available_if`, which shows the error otherwise."""
    if estimator.loss == "logistic":
        return True
    raise AttributeError(
        "predict_proba needs loss='logistic', whose scores are log-odds, but this "
        f"{type(estimator).__name__} has loss={estimator.loss!r}."
    )


class LinearClassifier(GroupScoreMixin, ClassifierMixin, ConstrainedLinearModel):
    """Base of the linear classifiers that are trained under constraints."""

    __metadata_request__fit = {"sensitive_features": True, "groups": True}
    __metadata_request__decision_function = {"sensitive_features": True}
    __metadata_request__predict_proba = {"sensitive_features": True}

    _has_rows = True

    _parameter_constraints = {
        **ConstrainedLinearModel._parameter_constraints,
        "pos_label": [Real, str, "boolean", None],
    }

    @row_by_row(lambda self: np.empty(0))
    def decision_function(
        self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None
    ) -> np.ndarray:
        """Score of each row; above 0 it is the second of the ``classes_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_interactions``, else not used.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self._scores(X, sensitive_features)

    @row_by_row(lambda self: self.classes_[:0])
    def predict(self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None) -> np.ndarray:
        """Class of each row; without ``group_interactions`` it does not depend on the group.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_interactions``, else not used.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores = self._scores(X, sensitive_features)
        # Scores are of the second class: a score of exactly 0 is no positive decision, whichever
        # that is.
        positive = scores > 0 if self.pos_label_ == self.classes_[1] else scores < 0
        return label_positive(positive, self.classes_, self.pos_label_)

    @available_if(has_probabilities)
    @row_by_row(lambda self: np.empty((0, 2)))
    def predict_proba(
        self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None
    ) -> np.ndarray:
        """Probabilities of the classes; only for the logistic loss.

        A constraint moves whole groups, so that within a group the mean probability is not the rate
        of the positive class, even on the training data: in the guide, where men repay more often
        and decisions may differ by .05, the mean is .54 for women, while .50 of them repay, and .59
        for men, while .64 of them do. `~sklearn.calibration.CalibratedClassifierCV`, fitted to each
        group, gives probabilities that are right by group.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_interactions``, else not used.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            In the order of ``classes_``.
        """
        scores = self._scores(X, sensitive_features)
        return np.column_stack((expit(-scores), expit(scores)))

    def _train(self, X, y, metadata, groups, constraints, request):
        """Fit to data in memory or partitioned data; ``request`` is as in `check_training`."""
        # Partitioned data are fitted by sums over partitions, or collected if they are few.
        if is_partitioned(X, y, *metadata.values()):
            return fit_collected(self, X, y, metadata, constraints)
        request = request if constraints else None
        training = check_training(self, X, y, metadata | {"groups": groups}, request)
        # Class weights count in the loss; rates of groups keep the sample weights.
        weights = loss_weights(self.class_weight, training)
        return self._fit(X, y, training, constraints, weights)

    def to_sklearn(self) -> Any:
        """Equal linear classifier of scikit-learn, without groups.

        Returns
        -------
        classifier : LogisticRegression or LinearSVC
            Fitted, with the same coefficients and decisions. A `LogisticRegression`, with the same
            probabilities, for the logistic loss; a `LinearSVC` for others, which have none.

        Raises
        ------
        ValueError
            If every group has its own coefficients or intercept.

        Examples
        --------
        >>> import numpy as np
        >>> from skfair.classification import ConstrainedERMClassifier
        >>> rng = np.random.default_rng(0)
        >>> X, sex = rng.normal(size=(200, 2)), rng.integers(2, size=200)
        >>> model = ConstrainedERMClassifier().fit(X, X[:, 0] > 0, sensitive_features=sex)
        >>> model.to_sklearn()
        LogisticRegression()
        """
        check_is_fitted(self)
        if self.group_interactions:
            raise ValueError(
                f"group_interactions={self.group_interactions!r} gives every group "
                f"{self._per_group} of its own, but a linear classifier of scikit-learn has one "
                "set; fit with group_interactions=False."
            )
        # Fitted attributes are set: scikit-learn's fit would move the coefficients.
        classifier = LogisticRegression() if self.loss == "logistic" else LinearSVC()
        names = ("classes_", "coef_", "intercept_", "n_features_in_", "feature_names_in_")
        fitted = {name: getattr(self, name) for name in names if hasattr(self, name)}
        vars(classifier).update({name: np.array(value) for name, value in fitted.items()})
        classifier.n_features_in_ = self.n_features_in_
        classifier.n_iter_ = np.array([self.n_iter_])
        return classifier

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
