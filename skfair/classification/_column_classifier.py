"""Decisions of a classifier that is left as it is, by log-odds and columns of events."""

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from skfair.people import check_alignment, match_groups
from skfair.training import Storable, label_positive, mean_margins


class ColumnClassifier(Storable, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Base of a classifier whose scores are linear in log-odds and in columns of events.

    A subclass has the parameters `estimator`, `cv` and `group_estimator`, and sets in ``fit`` what
    is read here.
    """

    __metadata_request__predict = {"sensitive_features": True}
    __metadata_request__decision_function = {"sensitive_features": True}
    __metadata_request__predict_proba = {"sensitive_features": True}

    def decision_function(self, X, *, sensitive_features=None):
        """Score of each row; above 0 it is the second of the ``classes_``.

        Where constraints count decisions, it is the log-odds less those of the person's threshold.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_estimator="given"``, else not used.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        scores = self._scores(X, sensitive_features)[1]
        return self._unit.from_unit(scores)

    def predict(self, X, *, sensitive_features=None):
        """Class of each row; it depends on the group with ``group_estimator="given"`` only.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_estimator="given"``, else not used.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores = self._scores(X, sensitive_features)[1]
        return label_positive(scores > 0, self.classes_, self.pos_label_)

    def predict_proba(self, X, *, sensitive_features=None):
        r"""Probabilities of the classes, calibrated but for what the decision asks.

        A decision says that :math:`\eta(x)` is above a threshold t(x). The probability is
        :math:`\eta`, stretched on both sides of t such that t becomes 1/2.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_estimator="given"``, else not used.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            In the order of ``classes_``.
        """
        odds, scores = self._scores(X, sensitive_features)
        success = _stretched(odds, scores, self.coef_[0])
        pair = np.column_stack((1.0 - success, success))
        return pair if self.pos_label_ == self.classes_[1] else pair[:, ::-1]

    def get_metadata_routing(self):
        """What metadata goes where: to this estimator, the classifier's ``fit`` and the splitter.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(
            estimator=self._unfitted(),
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )
        splitter = check_cv(None if isinstance(self.cv, str) else self.cv)
        to_split = MethodMapping().add(caller="fit", callee="split")
        return router.add(splitter=splitter, method_mapping=to_split)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        own = get_tags(self._unfitted())
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = own.input_tags.sparse
        tags.input_tags.allow_nan = own.input_tags.allow_nan
        return tags

    def _unfitted(self):
        if self.estimator is not None:
            return self.estimator
        return HistGradientBoostingClassifier(random_state=0)

    def _scores(self, X, sensitive_features):
        """Log-odds of the positive class, and score of each row, positive for it."""
        check_is_fitted(self)
        check_alignment(X=X, sensitive_features=sensitive_features)
        odds = log_odds(self._unit.to_unit(mean_margins(self.estimators_, X)), self.calibration_)
        codes = self._codes(sensitive_features, len(odds))
        columns = self._events.columns(odds, self._events.probabilities(X, codes))
        return odds, columns @ self.coef_ + self.intercept_

    def _codes(self, sensitive_features, n_samples):
        """Group of each row, where it is used."""
        if self.group_estimator != "given":
            return None
        if sensitive_features is not None:
            return match_groups(sensitive_features, n_samples, self.groups_)
        if len(self.groups_.labels) == 1:
            return np.zeros(n_samples, dtype=np.intp)
        raise ValueError(
            "With group_estimator='given' decisions depend on the group: pass "
            "predict(X, sensitive_features=...), or fit with group_estimator=None, which guesses "
            "it from X."
        )


def log_odds(margins, calibration):
    """Log-odds of the positive class by margins, (n_samples,)."""
    slope, intercept = calibration
    return slope * margins + intercept


def calibrate(margins, training):
    """Slope and intercept of the log-odds by the margins (Platt's scaling).

    Parameters
    ----------
    margins : ndarray of shape (n_samples,)
        Scores of people by models that have not seen them, positive for the positive class.
    training : Training
        Their targets and weights.

    Returns
    -------
    calibration : ndarray of shape (2,)
    """
    share = training.weights / training.weights.sum()
    center = share @ margins
    spread = np.sqrt(share @ (margins - center) ** 2)
    if spread <= 1e-12 * (1.0 + abs(center)):
        rate = share @ (training.target > 0)
        return np.array([0.0, np.log(rate / (1.0 - rate))])
    # A penalty that matters only where the margins divide the classes without error.
    platt = LogisticRegression(C=1e6, max_iter=1000)
    column = ((margins - center) / spread)[:, np.newaxis]
    platt.fit(column, training.target > 0, sample_weight=share)
    slope = platt.coef_[0, 0] / spread
    return np.array([slope, platt.intercept_[0] - slope * center])


def _stretched(odds, scores, slope):
    """Probabilities that are at 1/2 where the score is 0, and else as near as that allows."""
    if slope > 0:
        probability, threshold = expit(odds), expit(odds - scores / slope)
        with np.errstate(divide="ignore", invalid="ignore"):
            below = probability / (2.0 * threshold)
            above = 1.0 - (1.0 - probability) / (2.0 * (1.0 - threshold))
        success = np.where(scores > 0, above, below)
    else:
        success = expit(scores)
    half = np.nextafter(0.5, np.where(scores > 0, 1.0, 0.0))  # decisions and probabilities agree
    return np.where(scores > 0, np.clip(success, half, 1.0), np.clip(success, 0.0, half))
