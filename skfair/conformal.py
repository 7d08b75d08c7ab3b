"""Prediction sets that cover every group equally often."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from skfair._bound.units import Unit
from skfair._fitting.input import check_missing_group_settings
from skfair._fitting.model import GroupAwareScoreMixin, estimator_docs
from skfair._groups.arguments import FitArguments
from skfair._partitions.collections import row_by_row
from skfair._postprocessing.constrained_cv import ConstrainedCV, store_outcome
from skfair._postprocessing.coverage import (
    ClassSets,
    IntervalSets,
    fit_spread,
    fit_thresholds,
    knows_groups,
    thresholds_at,
)
from skfair._postprocessing.folds import Folds
from skfair._postprocessing.out_of_fold_scores import check_base_type, mean_scores
from skfair._postprocessing.overlapping_coverage import OverlappingThresholds, encode_memberships
from skfair._postprocessing.scored_samples import score_samples
from skfair._utils.api import MatrixLike
from skfair._utils.checks import argument_error, warn
from skfair._utils.fit import restore_on_failure
from skfair._utils.parameters import (
    OpenShare,
    ProbabilisticClassifier,
    Verbose,
    make_constructor,
    validate_params,
)
from skfair._utils.sklearn import HasMethods, with_callbacks
from skfair.classification import ConstrainedClassifierCV
from skfair.exceptions import MissingSensitiveFeaturesWarning
from skfair.regression import ConstrainedRegressorCV

if TYPE_CHECKING:
    from skfair._groups.groups import Groups
    from skfair._postprocessing.scored_samples import ScoredSamples
    from skfair._utils.tables import TableLike


# What both estimators share: the fit up to out-of-fold scores, and thresholds of new samples.


@estimator_docs
class ConformalEstimator(ConstrainedCV):
    """Base of the estimators of prediction sets."""

    constraint = pos_label = tolerance = None
    missing: Any = "error"
    guarantees_many_classes = True
    knows_overlapping_groups = True
    attributes: Any = "intersections"

    _record_types = (*ConstrainedCV._record_types, OverlappingThresholds)

    @property
    def coverage_report_(self) -> pd.DataFrame:
        """Coverage of each group: a table that is made when it is read."""
        check_is_fitted(self)
        return pd.DataFrame(self._coverage_columns_)

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
        X_fit: MatrixLike | None = None,
        **params: Any,
    ) -> Self:
        """Fit the estimator, the models of groups, and the thresholds.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the estimator takes.
        y : array-like of shape (n_samples,)
            Classes, by labels of any kind, or a real target.
        {sensitive_features}
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, in coverage, and in all fits that take them; samples of weight 0
            count as absent.
        groups : array-like of shape (n_samples,), default=None
            Samples of equal value belong together: they are in one fold, and count as one.
        {X_fit}
        **params : dict
            Further arguments of the estimator's ``fit``.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, or there are too few samples for `coverage`;
            the message says what must hold.
        """
        validate_params(self)
        check_base_type(self, self._base)
        uses_groups = self.group_estimator == "sensitive_features"
        check_missing_group_settings(self, [], {"group_estimator": None} if uses_groups else {})
        if sensitive_features is None:
            message = "fit got no sensitive_features: all samples are one group, and sets cover it."
            warn(message, MissingSensitiveFeaturesWarning)
        arguments = FitArguments(
            X=X,
            y=y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            groups=groups,
        )
        scored = score_samples(self, arguments, [], params, X_fit=X_fit)
        if self.attributes == "each":
            scored = scored.replace_groups(_single_attributes(scored.training.samples.groups))
        store_outcome(self, y, scored, fit_thresholds(self, scored))
        scored.context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _columns_and_thresholds(
        self, X: TableLike, sensitive_features: TableLike | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Columns of the scores, and thresholds, (n_samples, n_rules)."""
        check_is_fitted(self)
        scores = mean_scores(self.estimators_, X)
        if self._overlapping_ is not None:
            members = encode_memberships(self, sensitive_features, len(scores))
            thresholds = [one.find(members) for one in self._overlapping_]
            return self._unit.to_unit(scores), np.column_stack(thresholds)
        columns, probabilities = self._columns_and_probabilities(scores, X, sensitive_features)
        if probabilities is None:
            return columns, np.tile(self._thresholds_[:, 0], (len(columns), 1))
        values = self._event_features.features(columns[:, :1], probabilities)[0]
        values = values[:, 1 : self._thresholds_.shape[1]]
        if knows_groups(self):
            values = np.floor(values)  # shares of groups, of an unknown one: the pooled threshold
        return columns, thresholds_at(self._thresholds_, values)


def _single_attributes(groups: Groups) -> Groups:
    """The groups of every single attribute, with its name."""
    if not groups.is_disjoint:
        raise argument_error(
            "attributes='each' makes groups of the values of every attribute, but "
            "sensitive_features has missing values, or is a sparse matrix, whose columns are "
            "groups already. Pass attributes='intersections'."
        )
    attributes = groups.attributes
    return groups.single_attribute_groups()._replace(attributes=attributes)


# Sets of classes.


@estimator_docs
@make_constructor
class ConformalClassifier(GroupAwareScoreMixin, ClassifierMixin, ConformalEstimator):
    r"""Sets of classes that contain the true class equally often in every group.

    The classifier is left as it is, and nothing is fitted to its scores. The set of x has the
    classes k whose share :math:`s_k(x)` is at least :math:`1 - t(x)`. Shares are the softmax of
    ``decision_function``. A classifier with ``predict_proba`` alone has the odds p / (1 - p),
    divided by their sum over the classes: of two classes this is the probability, and of more it
    tells apart tied probabilities, such as those of a forest. The threshold

    .. math:: t(x) = b + \sum_g a_g P(g \mid x)

    is one threshold for all samples if that covers each group at the level, up to sampling noise,
    or if larger sets would not cover the worst group better than one threshold with sets of their
    size. Else the coefficients solve as many equations as there are groups: the coverage of each
    group is `coverage` on out-of-fold scores. All samples together are covered at least at the
    level. Predictions do not take the group.

    Read more in the :ref:`guide <prediction_sets>`.

    Parameters
    ----------
    estimator : estimator, default=None
        Classifier with ``decision_function`` or ``predict_proba``, a pipeline or a search, as in
        `~skfair.classification.ConstrainedClassifierCV`, whose default None is, too.
    coverage : float between 0 and 1, default=0.9
        Probability with which the set of a sample contains its class, in every group.
    confidence_level : float between 0 and 1, or None, default=None
        Probability over training samples with which every group of the population, and every class
        of it with `per_class`, is covered at least at `coverage`. None covers groups at the level
        on average over training samples, by the (n + 1) rule. Both are theorems with
        ``group_estimator="sensitive_features"``, ``cv="prefit"`` and equal weights, where
        thresholds are order statistics of the scores of each group. Else they are measured, for
        models of groups are learned out of fold, and blind coefficients on the scores that are
        counted (:ref:`prediction_sets`).
    missing : {"error", "exclude", "at_random"}, default="error"
        What happens to samples whose group is missing, as in
        `~skfair.classification.ConstrainedClassifierCV`. With "exclude" they count among all
        samples, which together are covered at the level, too.
    group_estimator : estimator, "sensitive_features" or None, default=None
        Classifier with ``predict_proba`` that estimates the group, from the features of the
        estimator's final step; it should not overfit. None means a small default model.
        New samples get the model of the fold that holds the first sample, so that sets depend on
        the folds, but neither on their order nor on the names of classes. "sensitive_features"
        estimates nothing: thresholds are those of the groups themselves, and sets need the group of
        every sample.
    attributes : {"intersections", "each"}, default="intersections"
        With several sensitive attributes, groups are the combinations that occur; "each" covers the
        (overlapping) groups of every single attribute instead. Overlapping groups that are known,
        such as those of a sparse matrix, have the thresholds of [1]_, see Notes.
    {handle_unknown}
        Sets depend on the group with ``group_estimator="sensitive_features"``; unknown groups get
        the threshold of all samples together.
    per_class : bool, default=False
        Whether each class of each group is covered at the level, by thresholds for each class.
    cv : int, splitter, iterable, "prefit", "oob" or None, default=None
        How samples are divided, so that each is scored by models that were not fitted to it, as in
        `~skfair.classification.ConstrainedClassifierCV`.
    ensemble : bool, default=True
        Whether new samples get the mean of the folds' classifiers, and the model of groups of one
        fold, or one classifier and one model of all samples.
    n_jobs : int or None, default=None
        Number of folds that are fitted in parallel.
    verbose : int, default=0
        If positive, print the classifiers that are fitted, by fold.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted classifiers: one per fold, or only one.
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, ascending: the columns of sets.
    pos_label_ : label or None
        The second of two classes.
    coverage_report_ : DataFrame
        One row per ``group``, and per ``class`` of it where each has thresholds: ``n``, the number
        of samples; ``coverage`` out of fold, by thresholds of the other folds; its ``lower`` and
        ``upper`` limit at .95; and the ``mean_size`` of the sets.
    rule_coef_ : ndarray of shape (n_rules, n_groups)
        Coefficients a of the groups in the order of ``groups_``, 0 for the pooled threshold. There
        is one rule, or one per class.
    rule_intercept_ : ndarray of shape (n_rules,)
        Intercepts b.
    {groups_}
    n_features_in_ : int
        Number of features seen during fit, if the estimator knows it.
    feature_names_in_ : ndarray of str
        Names of features seen during fit, if the estimator knows them.

    See Also
    --------
    ConformalRegressor : Intervals of a real target.
    skfair.classification.ConstrainedClassifierCV : Decisions at equal rates.

    Notes
    -----
    A level of .9 needs 9 samples of each group on average, and 35 of each of two groups with
    ``confidence_level=0.95``. A smaller group gets its largest score, or the pooled threshold where
    that is larger, and a warning states the level that remains. Without the group at predict, a
    group that is too small on average has no coefficient. Where all samples are fewer, the
    threshold is infinite, and sets have every value. Samples of zero weight count as absent; others
    count by Kish's effective number.

    With ``group_estimator="sensitive_features"`` and groups that overlap, the threshold is the
    largest score s of a new sample that is at most :math:`\beta_0 + \sum_{g \ni x} \beta_g` in
    the quantile regression of all calibration scores and s on the memberships [1]_. With
    ``cv="prefit"`` each of G groups, and all samples, are covered with a probability of at least
    `coverage` on average over training samples, and of at most
    :math:`(G + 1) / ((n + 1) P(g))` more where scores have no ties. (The randomised sets of [1]_,
    whose coverage is exact, are not offered.) ``rule_coef_`` are the coefficients without a new
    sample; a sample in a group of too few samples has an infinite threshold. Such a fit keeps the
    calibration scores. `confidence_level`, `missing`, and samples that are weighted or belong
    together raise an error.

    References
    ----------
    .. [1] I. Gibbs, J. Cherian and E. Candès, "Conformal prediction with conditional guarantees",
       arXiv:2305.12616, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.conformal import ConformalClassifier
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=1000)
    >>> X = rng.normal(size=(1000, 3)) + sex[:, np.newaxis]
    >>> y = X.sum(axis=1) + (1 + 2 * sex) * rng.normal(size=1000) > 1.5
    >>> model = ConformalClassifier(LogisticRegression(), coverage=0.9)
    >>> model = model.fit(X, y, sensitive_features=sex)
    >>> model.predict_set(X[:2]).shape
    (2, 2)
    >>> (model.coverage_report_["coverage"] - 0.9).abs().max().round(1)
    np.float64(0.0)
    """

    _base = ConstrainedClassifierCV._base

    estimator: Annotated[BaseEstimator, HasMethods(["fit"])] | None = None
    coverage: OpenShare = 0.9
    _: KW_ONLY
    confidence_level: OpenShare | None = None
    missing: Literal["error", "exclude", "at_random"] = "error"
    group_estimator: ProbabilisticClassifier | Literal["sensitive_features"] | None = None
    attributes: Literal["intersections", "each"] = "intersections"
    handle_unknown: Literal["error", "overall"] = "error"
    per_class: bool = False
    cv: Folds | None = None
    ensemble: bool = True
    n_jobs: int | None = None
    verbose: Verbose = 0

    def _score_sets(
        self, scored: ScoredSamples, columns: np.ndarray
    ) -> tuple[dict[str, Any], list[tuple[Any, ...]]]:
        """Fitted attributes, and triples of true scores, sets, and a mask of samples that count."""
        sets = ClassSets.from_scores(columns)
        classes = scored.training.classes
        assert classes is not None  # of a classifier
        codes = np.searchsorted(classes, scored.training.labels)
        if not self.per_class:
            return {}, [(sets.scores[np.arange(len(codes)), codes], sets, codes >= 0)]
        parts = [(column, ClassSets(column[:, np.newaxis])) for column in sets.scores.T]
        return {}, [(*part, codes == code) for code, part in enumerate(parts)]

    @row_by_row(lambda self: self.classes_[:0])
    def predict(self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None) -> np.ndarray:
        """Class of each row, as the classifier predicts it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like, default=None
            Not used.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        scores = mean_scores(self.estimators_, X)
        codes = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)
        return self.classes_[codes]

    @row_by_row(lambda self: np.empty((0, len(self.classes_)), dtype=bool))
    def predict_set(
        self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None
    ) -> np.ndarray:
        """Set of classes of each row; it may be empty.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_estimator="sensitive_features"``, else not
            used.

        Returns
        -------
        sets : ndarray of bool, shape (n_samples, n_classes)
            Whether a class is in the set, in the order of ``classes_``.
        """
        columns, thresholds = self._columns_and_thresholds(X, sensitive_features)
        return ClassSets.from_scores(columns).contents(thresholds)


# Intervals of a real target.


@estimator_docs
@make_constructor
class ConformalRegressor(GroupAwareScoreMixin, RegressorMixin, ConformalEstimator):
    r"""Intervals that contain a real target equally often in every group.

    The regressor f is left as it is. The interval of x is :math:`f(x) \pm t(x) s(x)` with a spread
    s, which is 1 by default, or :math:`[l(x) - t(x), u(x) + t(x)]` around two quantiles, where

    .. math:: t(x) = b + \sum_g a_g P(g \mid x)

    is one threshold for all samples if that covers each group at the level, up to sampling noise,
    or if wider intervals would not cover the worst group better than one threshold with intervals
    of their width. Else the coefficients solve as many equations as there are groups: the coverage
    of each group is `coverage` on out-of-fold predictions. All samples together are covered at
    least at the level. Predictions do not take the group.

    Read more in the :ref:`guide <prediction_sets>`.

    Parameters
    ----------
    estimator : estimator, default=None
        Regressor, a pipeline or a search, as in `~skfair.regression.ConstrainedRegressorCV`, whose
        default None is, too. If its ``predict`` returns two columns, these are a low and a high
        quantile.
    coverage : float between 0 and 1, default=0.9
        Probability with which the interval of a sample contains its target, in every group.
    confidence_level : float between 0 and 1, or None, default=None
        As in `ConformalClassifier`.
    missing : {"error", "exclude", "at_random"}, default="error"
        What happens to samples whose group is missing. "exclude" counts them among all samples
        only, which together are covered at the level, too. "at_random" counts them by their
        probability of each group given X and the size of the error of the prediction, in five
        intervals.
    spread_estimator : regressor or None, default=None
        Regressor of absolute residuals, by which intervals are wider where these are larger. It is
        learned out of fold, so that coverage is measured, not a theorem. None gives intervals of
        one width in each group.
    group_estimator : estimator, "sensitive_features" or None, default=None
        As in `ConformalClassifier`.
    attributes : {"intersections", "each"}, default="intersections"
        As in `ConformalClassifier`.
    {handle_unknown}
        Intervals depend on the group with ``group_estimator="sensitive_features"``; unknown groups
        get the threshold of all samples together.
    cv : int, splitter, iterable, "prefit", "oob" or None, default=None
        How samples are divided, so that each is predicted by models that were not fitted to it, as
        in `~skfair.regression.ConstrainedRegressorCV`.
    ensemble : bool, default=True
        Whether new samples get the mean of the folds' regressors, and the model of groups of one
        fold, or one regressor and one model of all samples.
    n_jobs : int or None, default=None
        Number of folds that are fitted in parallel.
    verbose : int, default=0
        If positive, print the regressors that are fitted, by fold.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted regressors: one per fold, or only one.
    spread_estimators_ : list of estimators
        The fitted regressors of absolute residuals, by fold; empty without `spread_estimator`.
    coverage_report_ : DataFrame
        One row per ``group``: ``n``, the number of samples; ``coverage`` out of fold, by thresholds
        of the other folds; its ``lower`` and ``upper`` limit at .95; and the ``mean_size`` of the
        intervals, in units of the target.
    rule_coef_ : ndarray of shape (1, n_groups)
        Coefficients a of the groups in the order of ``groups_``, 0 for the pooled threshold.
    rule_intercept_ : ndarray of shape (1,)
        Intercept b.
    {groups_}
    n_features_in_ : int
        Number of features seen during fit, if the estimator knows it.
    feature_names_in_ : ndarray of str
        Names of features seen during fit, if the estimator knows them.

    See Also
    --------
    ConformalClassifier : Sets of classes, and notes about small groups.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skfair.conformal import ConformalRegressor
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=1000)
    >>> X = rng.normal(size=(1000, 3)) + sex[:, np.newaxis]
    >>> y = 100 * X.sum(axis=1) + (1 + sex) * rng.normal(size=1000)
    >>> model = ConformalRegressor(LinearRegression(), coverage=0.9)
    >>> model = model.fit(X, y, sensitive_features=sex)
    >>> model.predict_interval(X[:2]).shape
    (2, 2)
    >>> (model.coverage_report_["coverage"] - 0.9).abs().max().round(1)
    np.float64(0.0)
    """

    _base = ConstrainedRegressorCV._base
    max_columns = 2

    estimator: Annotated[BaseEstimator, HasMethods(["fit"])] | None = None
    coverage: OpenShare = 0.9
    _: KW_ONLY
    confidence_level: OpenShare | None = None
    missing: Literal["error", "exclude", "at_random"] = "error"
    spread_estimator: Annotated[BaseEstimator, HasMethods(["fit", "predict"])] | None = None
    group_estimator: ProbabilisticClassifier | Literal["sensitive_features"] | None = None
    attributes: Literal["intersections", "each"] = "intersections"
    handle_unknown: Literal["error", "overall"] = "error"
    cv: Folds | None = None
    ensemble: bool = True
    n_jobs: int | None = None
    verbose: Verbose = 0

    def _score_sets(self, scored: ScoredSamples, columns: np.ndarray) -> tuple[Any, ...]:
        """Fitted attributes, and the triple of true scores, intervals, and a mask of samples."""
        columns, target = scored.scores, scored.training.labels  # in units of the target
        fitted, spread = fit_spread(self, scored, columns)
        sets = IntervalSets(columns[:, 0], columns[:, -1], spread)
        everyone = np.ones(len(target), dtype=bool)
        return fitted | {"_unit": Unit()}, [(sets.true_scores(target), sets, everyone)]

    @row_by_row(lambda self: np.empty(0))
    def predict(self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None) -> np.ndarray:
        """Prediction for each row by the regressor; of two quantiles, their middle.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the regressor takes.
        sensitive_features : array-like, default=None
            Not used.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return mean_scores(self.estimators_, X).mean(axis=1)

    @row_by_row(lambda self: np.empty((0, 2)))
    def predict_interval(
        self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None
    ) -> np.ndarray:
        """Interval of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the regressor takes.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_estimator="sensitive_features"``, else not
            used.

        Returns
        -------
        intervals : ndarray of shape (n_samples, 2)
            Low and high end, in units of the target.
        """
        columns, thresholds = self._columns_and_thresholds(X, sensitive_features)
        spread = np.ones(len(columns))
        if self.spread_estimators_:
            spread = mean_scores(self.spread_estimators_, X)[:, 0].clip(self._least_spread_)
        return IntervalSets(columns[:, 0], columns[:, -1], spread).contents(thresholds)


# Estimators of prediction sets.


__all__ = ["ConformalClassifier", "ConformalRegressor"]
