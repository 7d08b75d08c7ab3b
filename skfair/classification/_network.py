"""The base of networks that classify: training, decisions and probabilities."""

from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from skfair.classification._linear import has_probabilities
from skfair.constraints import CONSTRAINTS, Constraint
from skfair.losses import LOSSES
from skfair.partitions import row_by_row
from skfair.surrogates import SURROGATES
from skfair.training import (
    CONFIDENCE_LEVELS,
    ConstrainedNetwork,
    check_training,
    document,
    label_positive,
    loss_weights,
    resolve_constraints,
)
from skfair.utils._fit import restore_on_failure
from skfair.utils._sklearn import Interval, StrOptions, validate_params, with_callbacks
from skfair.utils._types import MatrixLike


@document
class NetworkClassifier(ClassifierMixin, ConstrainedNetwork):
    """Base of networks for two classes that are trained under constraints."""

    __metadata_request__fit = {"sensitive_features": True, "groups": True}
    __metadata_request__predict = {"sensitive_features": True}
    __metadata_request__predict_proba = {"sensitive_features": True}
    __metadata_request__decision_function = {"sensitive_features": True}

    _parameter_constraints = {
        **ConstrainedNetwork._parameter_constraints,
        "constraint": [StrOptions(CONSTRAINTS), Constraint, list, tuple, None],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "confidence_level": CONFIDENCE_LEVELS,
        "loss": [StrOptions(LOSSES), callable],
        "surrogate": [StrOptions(SURROGATES), callable],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "pos_label": [Real, str, "boolean", None],
    }

    _check_training = staticmethod(check_training)
    """Check of the input of ``fit``, which subclasses may replace."""

    @restore_on_failure(one_blas_thread=False)
    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        sensitive_features: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, or what the subclass takes.
        {y, sensitive_features, sample_weight, groups}

        Returns
        -------
        self : estimator instance
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, or the positive class is ambiguous; the message
            says what must hold.
        """
        validate_params(self)
        # Constraints by name become objects; groups are requested only if there are any.
        constraints = resolve_constraints(self.constraint)
        metadata = {
            "sensitive_features": sensitive_features,
            "sample_weight": sample_weight,
            "groups": groups,
        }
        request = f"constraint={self.constraint!r} asks for equal rates of groups"
        training = self._check_training(self, X, y, metadata, request if constraints else None)
        # Class weights count in the loss; rates of groups keep the sample weights.
        weights = loss_weights(self.class_weight, training)
        return self._fit(X, y, training, constraints, weights)

    @row_by_row(lambda self: np.empty(0))
    def decision_function(
        self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None
    ) -> np.ndarray:
        """Score of each row; above 0 it is the second of the ``classes_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, or what the subclass takes.
        sensitive_features : array-like, default=None
            Not used: predictions depend on X alone.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self._scores(X)

    @row_by_row(lambda self: self.classes_[:0])
    def predict(self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None) -> np.ndarray:
        """Class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, or what the subclass takes.
        sensitive_features : array-like, default=None
            Not used: predictions depend on X alone.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores = self._scores(X)
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

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, or what the subclass takes.
        sensitive_features : array-like, default=None
            Not used: predictions depend on X alone.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            In the order of ``classes_``.
        """
        scores = self._scores(X)
        return np.column_stack((expit(-scores), expit(scores)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
