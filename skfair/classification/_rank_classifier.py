"""Decisions by shifted ranks of a classifier that is left as it is."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from skfair.classification._rank_shift import ranks_in_groups, shifted
from skfair.groups import check_alignment, encode_groups_to_predict
from skfair.partitions import row_by_row
from skfair.training import (
    GroupScoreMixin,
    Storable,
    at_levels,
    distinct_levels,
    label_positive,
    mean_margins,
)


class RankClassifier(Storable, GroupScoreMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Base of a classifier whose scores are ranks in groups, shifted where decisions are made.

    A subclass has the parameter `estimator`, and sets in ``fit`` what is read here.
    """

    __metadata_request__predict = {"sensitive_features": True}
    __metadata_request__decision_function = {"sensitive_features": True}

    @row_by_row(lambda self: np.empty(0))
    def decision_function(self, X, *, sensitive_features=None):
        """Fair score of each row; above 0 it is the second of the ``classes_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), \
                default=None
            Group of each sample; needed unless there was one group at fit.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Between -1 and 1: a difference of ranks.

        Raises
        ------
        ValueError
            If groups are needed and not given, or unknown.
        """
        scores = self._fair_scores(X, sensitive_features)
        return self._unit.from_unit(scores)

    @row_by_row(lambda self: self.classes_[:0])
    def predict(self, X, *, sensitive_features=None):
        """Class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), \
                default=None
            Group of each sample; needed unless there was one group at fit.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        positive = self._fair_scores(X, sensitive_features) > 0
        return label_positive(positive, self.classes_, self.pos_label_)

    def get_metadata_routing(self):
        """What metadata goes where: to this estimator, and to the classifier's ``fit``.

        Returns
        -------
        routing : MetadataRouter
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self._unfitted(), method_mapping=to_fit)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        own = get_tags(self._unfitted())
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = own.input_tags.sparse
        tags.input_tags.allow_nan = own.input_tags.allow_nan
        return tags

    def _unfitted(self):
        return LogisticRegression() if self.estimator is None else self.estimator

    def _fair_scores(self, X, sensitive_features):
        """Fair score of each row; above 0 it is of the positive class."""
        check_is_fitted(self)
        check_alignment(X=X, sensitive_features=sensitive_features)
        margins = mean_margins([self.estimator_], X)[:, 0]
        margins = at_levels(margins, self._levels)
        # New people of equal features are equal too, though at no level of the fit.
        y_score = self._unit.to_unit(at_levels(margins, distinct_levels(margins)))
        reason = (
            "Scores are ranks within the sample's group, so predictions need sensitive_features."
        )
        codes = encode_groups_to_predict(sensitive_features, len(y_score), self.groups_, reason)
        ranks = ranks_in_groups(self._curves, y_score, codes)
        return shifted(ranks, self._zeros[codes], self.center_)
