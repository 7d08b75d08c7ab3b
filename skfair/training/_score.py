"""The default score of estimators whose predictions may depend on the group."""

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score

from skfair.utils._types import MatrixLike


class GroupScoreMixin:
    """``score`` of a classifier or regressor, which passes groups to ``predict``.

    It precedes scikit-learn's `ClassifierMixin` or `RegressorMixin` among the bases. A subclass
    that overrides ``score`` takes `sensitive_features` too, which all subclasses request.
    """

    __metadata_request__score = {"sensitive_features": True}
    predict: Any

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        sensitive_features: MatrixLike | None = None,
    ) -> float:
        """Accuracy of a classifier's decisions, or R^2 of a regressor's predictions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            True classes or target.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        sensitive_features : array-like, default=None
            Group of each sample; needed where ``predict`` needs it. With metadata routing,
            searches and pipelines pass it on.

        Returns
        -------
        score : float
            1 is best.

        Raises
        ------
        MissingSensitiveFeaturesError
            If predictions depend on the group and the groups are missing; in a search that would
            score this as nan, a `skfair.exceptions.SearchError`.
        """
        predicted = self.predict(X, sensitive_features=sensitive_features)
        measure = accuracy_score if is_classifier(self) else r2_score
        return measure(y, predicted, sample_weight=sample_weight)
