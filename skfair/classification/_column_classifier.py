"""Decisions of a classifier that is left as it is, by log-odds and columns of events."""

import numpy as np
from scipy.special import expit
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import check_consistent_length, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from skfair.classification._event_columns import group_codes
from skfair.classification._probabilities import levelled, log_odds, stretched
from skfair.groups import check_alignment, encode_groups_to_predict
from skfair.partitions import row_by_row
from skfair.training import (
    GroupScoreMixin,
    Storable,
    check_out_of_bag,
    check_training,
    label_positive,
    make_folds,
    mean_margins,
    refuse_partitioned,
    warn_of_duplicates,
)
from skfair.utils._messages import warn
from skfair.utils._sklearn import CallbackSupportMixin, check_method_params, safe_indexing

_N_FOLDS = 5


class ColumnClassifier(
    Storable,
    CallbackSupportMixin,
    GroupScoreMixin,
    ClassifierMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """Base of a classifier whose scores are linear in log-odds and in columns of events.

    A subclass has the parameters `estimator`, `cv` and `group_estimator`, and sets in ``fit`` what
    is read here.
    """

    __metadata_request__predict = {"sensitive_features": True}
    __metadata_request__decision_function = {"sensitive_features": True}
    __metadata_request__predict_proba = {"sensitive_features": True}

    @row_by_row(lambda self: np.empty((0, len(self.classes_)) if len(self.classes_) > 2 else 0))
    def decision_function(self, X, *, sensitive_features=None):
        """Score of each row; above 0 it is the second of two classes, else the largest decides.

        Where constraints count decisions between two classes, it is the log-odds less those of the
        person's threshold.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_estimator="sensitive_features"``, else not
            used.

        Returns
        -------
        scores : ndarray of shape (n_samples,), or (n_samples, n_classes) for more than two classes
        """
        scores = self._scores(X, sensitive_features)[1]
        return self._public(scores)

    @row_by_row(lambda self: self.classes_[:0])
    def predict(self, X, *, sensitive_features=None):
        """Class of each row; with ``group_estimator="sensitive_features"`` it depends on the group.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_estimator="sensitive_features"``, else not
            used.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores = self._scores(X, sensitive_features)[1]
        if len(self.classes_) > 2:
            return self.classes_[scores.argmax(axis=1)]
        return label_positive(scores[:, 0] > 0, self.classes_, self.pos_label_)

    @row_by_row(lambda self: np.empty((0, len(self.classes_))))
    def predict_proba(self, X, *, sensitive_features=None):
        r"""Probabilities of the classes, calibrated but for what the decision asks.

        A decision between two classes says that :math:`\eta(x)` is above a threshold t(x). The
        probability is :math:`\eta`, stretched on both sides of t such that t becomes 1/2. Of more
        classes the one that is decided for, and those that are likelier, get the mean of theirs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_estimator="sensitive_features"``, else not
            used.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        odds, scores = self._scores(X, sensitive_features)
        if len(self.classes_) > 2:
            return levelled(expit(odds), scores.argmax(axis=1))
        success = stretched(odds[:, 0], scores[:, 0], self.coef_[0])
        pair = np.column_stack((1.0 - success, success))
        return pair if self.pos_label_ == self.classes_[1] else pair[:, ::-1]

    def export_rule(self):
        r"""Describe the decision between two classes in plain numbers, to serve it elsewhere.

        With s the score of the estimator, and P the probabilities of events, both as
        `rule_inputs` gives them, the positive class is decided for where

        .. math::

            a z + b + \sum_{t, e, g} w_{teg} \, q_t P_{eg} > 0, \qquad
            z = slope \cdot s + offset, \quad \eta = \frac{1}{1 + e^{-z}}, \quad
            q = (1, \eta, z, \eta z).

        Returns
        -------
        rule : dict
            Of numbers and lists, which can be stored as JSON. ``slope`` and ``offset`` make
            calibrated log-odds z of scores, ``log_odds`` is a, ``intercept`` is b, ``weights`` is
            w of shape (4, n_events, n_groups), and ``pos_label`` the class decided for.

        Raises
        ------
        ValueError
            If there are more than two classes.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.linear_model import LogisticRegression
        >>> from skfair.classification import ConstrainedClassifierCV
        >>> rng = np.random.default_rng(0)
        >>> sex = rng.integers(2, size=400)
        >>> X = rng.normal(size=(400, 2)) + sex[:, np.newaxis]
        >>> y = (X.sum(axis=1) + rng.normal(size=400) > 1).astype(int)
        >>> model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05)
        >>> rule = model.fit(X, y, sensitive_features=sex).export_rule()
        >>> sorted(rule)
        ['intercept', 'log_odds', 'offset', 'pos_label', 'slope', 'weights']
        """
        self._check_two_classes()
        slope = self.calibration_[0] / self._unit.spread
        return {
            "slope": float(slope),
            "offset": float(self.calibration_[1] - slope * self._unit.center),
            "log_odds": float(self.coef_[0]),
            "intercept": float(self.intercept_),
            "weights": self._events.weights(self.coef_[1:]).tolist(),
            "pos_label": np.asarray(self.pos_label_).item(),
        }

    def rule_inputs(self, X, *, sensitive_features=None):
        """What the rule of `export_rule` is applied to: scores, and probabilities of events.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_estimator="sensitive_features"``, else not
            used.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Mean of the decision functions of ``estimators_``, or of their log-odds where they have
            probabilities only, softened as log(p / (1 - p)) with p = .001 + .998 times these.
        probabilities : ndarray of shape (n_samples, n_events, n_groups)
            Probability of each group within each event that the constraints compare, by the models
            of groups; with ``group_estimator="sensitive_features"`` 1 for the own group, and 0 for
            the others.

        Raises
        ------
        ValueError
            If there are more than two classes, or groups are needed and were not passed.
        """
        self._check_two_classes()
        check_alignment(X=X, sensitive_features=sensitive_features)
        scores = mean_margins(self.estimators_, X)[:, 0]
        codes = self._codes(sensitive_features, len(scores))
        probabilities = self._events.probabilities(X, codes)
        if probabilities is None:
            probabilities = np.zeros((len(scores), 1, 1))
        return scores, probabilities

    def _check_two_classes(self):
        """Refuse to export the decision for one of several classes."""
        check_is_fitted(self)
        if len(self.classes_) > 2:
            raise ValueError(
                f"A rule describes the decision between 2 classes, but there are "
                f"{len(self.classes_)}. Serve the fitted estimator itself."
            )

    def _check_people(self, X, y, people, constraints):
        """Everybody of positive weight, with the X that is theirs, and who of all that is."""
        refuse_partitioned(self, X)
        check_alignment(X=X, y=y, **people)
        request = f"constraint={self.constraint!r} asks for equal rates of groups"
        # What X may be is for the classifier to say; here positions stand for its rows.
        positions = np.arange(len(column_or_1d(y)))[:, np.newaxis]
        check_consistent_length(X, positions)
        training = check_training(self, positions, y, people, request if constraints else None)
        if self.group_estimator == "sensitive_features" and not training.groups.is_disjoint:
            raise ValueError(
                "group_estimator='given' takes everybody's one group as known, but the groups of a "
                "sparse sensitive_features may overlap; pass one label per sample."
            )
        rows = training.X[:, 0].astype(np.intp)
        (X,) = indexable(X)
        seen = training.people._replace(X=safe_indexing(X, rows))
        if self.confidence_level is not None:
            warn_of_duplicates(seen.X, training)
        present = np.zeros(len(positions), dtype=bool)
        present[rows] = True
        return training._replace(people=seen), present

    def _routed(self, present, people, params):
        """Metadata of the classifier and of the splitter, for those who are present."""
        given = {name: value for name, value in people.items() if value is not None}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **given, **params)
            found = routed.estimator.fit, routed.splitter.split
        else:
            known = self._unfitted()
            accepted = {n: value for n, value in given.items() if has_fit_parameter(known, n)}
            is_fitted_here = self.cv != "prefit" and not isinstance(known, FrozenEstimator)
            if is_fitted_here and "sample_weight" in given and "sample_weight" not in accepted:
                warn(
                    f"The fit of {type(known).__name__} takes no sample_weight, so that weights "
                    "count in the rates alone. Turn on metadata routing to pass them through a "
                    "pipeline: sklearn.set_config(enable_metadata_routing=True) and "
                    "set_fit_request(sample_weight=True) of its last step."
                )
            found = accepted | params, {}
        rows = np.flatnonzero(present)
        to_fit, to_split = found
        return check_method_params(present, to_fit, indices=rows), to_split

    def _folds(self, X, y, training, present, params, groups):
        """Who is learned from for whose scores."""
        check_out_of_bag(self.cv, groups)
        cv = _N_FOLDS if self.cv is None or isinstance(self.cv, str) else self.cv
        codes = group_codes(training.groups)
        strata = np.full(len(present), -1)
        labels = np.searchsorted(training.classes, training.labels)
        strata[present] = (codes.max() + 1) * labels + codes
        return make_folds(cv, X, column_or_1d(y), strata, params, groups)

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
        splitter = self.cv if hasattr(self.cv, "split") else check_cv()
        to_split = MethodMapping().add(caller="fit", callee="split")
        return router.add(splitter=splitter, method_mapping=to_split)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        own = get_tags(self._unfitted())
        tags.classifier_tags.multi_class = own.classifier_tags.multi_class
        tags.input_tags.sparse = own.input_tags.sparse
        tags.input_tags.allow_nan = own.input_tags.allow_nan
        return tags

    def _unfitted(self):
        if self.estimator is not None:
            return self.estimator
        return HistGradientBoostingClassifier(random_state=0)

    def _scores(self, X, sensitive_features):
        """Log-odds and scores of the positive class or of each of several, (n_samples, n)."""
        check_is_fitted(self)
        check_alignment(X=X, sensitive_features=sensitive_features)
        odds = log_odds(self._unit.to_unit(mean_margins(self.estimators_, X)), self.calibration_)
        codes = self._codes(sensitive_features, len(odds))
        columns = self._events.columns(odds, self._events.probabilities(X, codes))
        coef = np.atleast_2d(self.coef_)
        return odds, np.einsum("cir,cr->ic", columns, coef) + self.intercept_

    def _public(self, scores):
        """Scores as users see them, of the second of two classes or of each of more."""
        return scores if scores.shape[1] > 1 else self._unit.from_unit(scores[:, 0])

    def _codes(self, sensitive_features, n_samples):
        """Group of each row, where it is used."""
        if self.group_estimator != "sensitive_features":
            return None
        reason = (
            "With group_estimator='given' decisions depend on the group, so predictions need "
            "sensitive_features: with group_estimator=None the group is estimated from X."
        )
        return encode_groups_to_predict(sensitive_features, n_samples, self.groups_, reason)


def of_everybody(present, scores):
    """Scores of those who are present among everybody's; nan for the others.

    Parameters
    ----------
    present : ndarray of bool, shape (n_samples,)
        Who is there.
    scores : ndarray of shape (n_present,) or (n_present, n_classes)
        Their scores.

    Returns
    -------
    scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
    """
    found = np.full((len(present), *scores.shape[1:]), np.nan)
    found[present] = scores
    return found


def known_features(estimator):
    """What a fitted classifier knows of the features, as fitted attributes; a dict."""
    names = ("n_features_in_", "feature_names_in_")
    return {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}
