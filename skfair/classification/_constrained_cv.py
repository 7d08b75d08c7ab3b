"""Any classifier, with decisions that satisfy fairness constraints out of sample."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from joblib import Memory
from numpy.typing import ArrayLike
from scipy.special import expit
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skfair._bound.bound import rate_moments
from skfair._fitting.input import (
    assumption_attributes,
    check_missing_group_settings,
    to_class_labels,
)
from skfair._fitting.model import GroupAwareScoreMixin, estimator_docs
from skfair._fitting.outcome import (
    status_of,
    warn_of_cost,
    warn_of_moved_decisions,
    warn_of_outcome,
)
from skfair._groups.arguments import FitArguments
from skfair._partitions.collections import row_by_row
from skfair._postprocessing.base_loss import RuleLoss
from skfair._postprocessing.constrained_cv import (
    ConstrainedCV,
    check_exportable,
    check_rule_format,
    fit_rule,
    store_rule,
    write_number,
    write_rule,
)
from skfair._postprocessing.folds import Folds
from skfair._postprocessing.out_of_fold_scores import (
    calibrated_log_odds,
    check_base_type,
    make_predicted_class_likeliest,
    match_probabilities_to_decisions,
)
from skfair._postprocessing.scored_samples import count_places, score_samples, states_costs
from skfair._utils.api import Label, MatrixLike
from skfair._utils.checks import warn
from skfair._utils.fit import restore_on_failure
from skfair._utils.parameters import (
    CONFIDENCE_LEVEL,
    Array,
    ClassWeight,
    OpenShare,
    PositiveInt,
    ProbabilisticClassifier,
    Tolerance,
    Verbose,
    make_constructor,
    validate_params,
)
from skfair._utils.sklearn import HasMethods, with_callbacks
from skfair.constraints import Constraint, ConstraintLike, resolve_constraints
from skfair.exceptions import ConstraintCostWarning
from skfair.losses import LogisticLoss

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from skfair._postprocessing.constrained_cv import Rule
    from skfair._postprocessing.events import EventFeatures
    from skfair._postprocessing.scored_samples import ScoredSamples
    from skfair._utils.tables import Table, TableLike


@estimator_docs
@make_constructor
class ConstrainedClassifierCV(GroupAwareScoreMixin, ClassifierMixin, ConstrainedCV):
    r"""Any classifier, with decisions that satisfy fairness constraints out of sample.

    It wraps the boosting model, forest or pipeline that you have. The model is fitted as it is, and
    a small model on top of it changes decisions until the gaps between groups keep the tolerance on
    out-of-fold predictions. Where decisions by its calibrated scores alone keep it, they are
    returned, and no group is modelled. By default `predict` does not take the group.

    Where groups are equally likely, a higher score is never refused while a lower one is accepted.
    Known groups get one threshold of the score each. Without the group, the threshold depends on x
    through the probabilities of the groups alone. So the classifier is left as it is, and a linear
    model of few features is trained under the constraints on top of it: the log-odds of
    :math:`\eta(x) = P(y = 1 \mid x)` and, for every group g that is compared within an event E,

    .. math::

        \phi_g(x) = \frac{P(g \mid x, E)}{P(E, g)} - \frac{P(g_0 \mid x, E)}{P(E, g_0)},

    with :math:`g_0` the largest group [1]_ [2]_. The coefficient of the log-odds is not negative.
    Where ranks or losses are compared, the probabilities are those of E and g, and negative
    coefficients are possible. With more than two classes each has such a one-vs-rest model, the
    class of the largest score is predicted, and the constraints hold for each of them [3]_. The
    final linear model is trained on out-of-fold scores and probabilities, so that what holds for
    the training data holds for new data too, up to sampling noise.

    Read more in the :ref:`guide <any_model>`.

    Parameters
    ----------
    estimator : estimator, default=None
        Classifier with ``decision_function`` or ``predict_proba``, a pipeline or a search. Clones
        of it are fitted, unless it is in a `~sklearn.frozen.FrozenEstimator`; then ``fit`` needs
        samples that it was not fitted to. None means
        `~sklearn.ensemble.HistGradientBoostingClassifier` with 70 trees and a learning rate of .12.
        Scores without a model are passed as a column of X, by `~skfair.preprocessing.ScoreColumn`.
    constraint : str, Constraint, list of these, or None, default="demographic_parity"
        What must be fair: a name in :data:`skfair.constraints.CONSTRAINTS`, an object, or several,
        each held to its own tolerance. None only calibrates the classifier.
    {tolerance}
    k : int, float or None, default=None
        Limited places: the positive class is given to the k highest scores of the training samples,
        an int, or a share of them between 0 and 1. The constraint holds for this decision: a
        difference or ratio of selection, true positive or false positive rates of two classes. New
        batches of exactly k samples are those of `select`; `predict` uses the threshold of the
        fit. Costs of errors have no effect.
    confidence_level : float between 0 and 1, or None, default=None
        Level of a guarantee that the population keeps the tolerance too, as in
        `ConstrainedERMClassifier`: the final linear model is then held to a smaller one. Samples
        must be independent: where several belong to one person or household, pass ``groups``.
    {missing}

        Here the models of `group_estimator`, fitted to each class, estimate it out of fold.
    group_estimator : estimator, "sensitive_features" or None, default=None
        Classifier with ``predict_proba`` that estimates the group, from the features of the
        estimator's final step; it should not overfit. None means 15 trees of 4 leaves or logistic
        regression, whichever has the lower log-loss out of fold; sparse data always has the
        latter. More than 64 dense columns get logistic regression of all, or of the 32 columns
        and the roots of 8 squares and products that differ most between the groups, with steps of
        these where they are needed. "sensitive_features" estimates nothing: the features are the
        groups themselves, and predictions need the group of every sample. Each group then has one
        threshold of the score. For bounds on differences or ratios of selection, true positive or
        false positive rates these are the thresholds with the fewest errors out of fold, of two
        groups or for one kind of rate. Other constraints, such as parity of accuracy or precision,
        are searched along lines, and may make more errors.
    {handle_unknown}
        Predictions depend on the group with ``group_estimator="sensitive_features"``; the mean is
        that of the scores.
    cv : int, splitter, iterable, "prefit", "oob" or None, default=None
        How samples are divided, so that each is scored by models that were not fitted to it: an int
        or None (5 folds, and 3 from 3,000 samples or 65 dense columns on) stratifies by class and
        group; any splitter whose test folds do not overlap, and whose training rows exclude the
        test rows. Rows that no fold predicts, such as the first of
        `~sklearn.model_selection.TimeSeriesSplit`, train the classifiers alone. "oob" fits one
        forest, and takes its out-of-bag probabilities; in a pipeline, its preprocessing must not
        use y, as it is fitted to all samples. "prefit" takes a fitted classifier as it is, and so
        does a `~sklearn.frozen.FrozenEstimator` with any ``cv``. The samples must then be others
        than those that it was fitted to. ``fit(..., X_fit=)`` checks it; without X_fit a warning
        says so where the classifier shows it (trees, stored samples, no mistake), which not all do.
        The models of groups always use folds: those of None with "prefit" and "oob".
    ensemble : bool, default=True
        Whether new samples get the mean of the folds' models, or one model of all samples.
    class_weight : dict, "balanced" or None, default=None
        Costs of errors about samples of each class, as label -> positive weight. They count in the
        loss and the errors that the final linear model minimises, not in the constraint and not in
        the ``fit`` of `estimator`. With two classes and no constraint, decisions compare
        :math:`\eta` with :math:`c = w_0 / (w_0 + w_1)`, where :math:`w_1` is the weight of the
        positive class. "balanced" weighs classes by the inverse of their size, so that the final
        model maximises the balanced accuracy. None keeps the decision rule of `estimator`: c is
        where its own predictions change, such as the threshold of
        `~sklearn.model_selection.FixedThresholdClassifier`. Equal weights maximise accuracy. Scores
        without a rule of their own (`~skfair.preprocessing.ScoreColumn`, "oob") have equal weights
        with None. Of several classes that of the largest score is predicted, or with costs that of
        the least expected cost.
    cost_matrix : array-like of shape (n_classes, n_classes) or None, default=None
        Costs of decisions by the true class, in rows, and the predicted class, in columns, in the
        order of ``classes_``; a DataFrame names both. Row i minus its diagonal counts: the correct
        decision must cost the least of its row, and need not cost 0. `class_weight` is the matrix
        with the weight of class i in row i beside a diagonal of 0, so that only one of both can be
        passed. Sample weights multiply the costs. Decisions without constraint minimise
        :math:`\sum_i \eta_i(x) C_{ij}` over j, with calibrated probabilities :math:`\eta`.
    {pos_label}
        With more than two classes None bounds each of them against the rest, and a list only those
        that it names, each by itself: ``["accepted", "waiting"]`` leaves the others free. (In
        audits several positive labels are one success, their union.)
    n_jobs : int or None, default=None
        Number of folds that are fitted in parallel.
    memory : str, joblib.Memory or None, default=None
        Folder where the fits of `estimator` are stored, as of `~sklearn.pipeline.Pipeline`: another
        fit to the same folds, such as one with another ``tolerance``, takes them from there. A fit
        with another parameter of `estimator`, other rows, targets or weights is another fit. An
        estimator with ``random_state=None`` is always fitted again.
    verbose : int, default=0
        If positive, print the classifiers that are fitted, by fold, and every iteration of the
        problems that are solved for the final linear model.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted classifiers: one per fold, or only one.
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, ascending.
    pos_label_ : label or None
        The positive class; None where there are more than two.
    calibration_ : ndarray of shape (2,) or (n_classes, 2)
        Slope and intercept of the log-odds of the positive class, by the scores of the estimator;
        of each of more than two classes.
    rule_coef_ : ndarray of shape (1 + n_columns,) or (n_classes, 1 + n_columns)
        Coefficients of the log-odds and of the features :math:`\phi`; where ranks or losses
        are compared, also of these times the log-odds. With costs of several classes the first is
        that of minus the expected cost.
    rule_intercept_ : float or ndarray of shape (n_classes,)
        Intercept.
    oof_decision_function_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Out-of-fold ``decision_function`` of the training samples; nan for those without weight.
    refused_at_any_score_ : float or None
        Share of the training samples whose threshold is above all scores: groups that are not
        known, but likely, may get such thresholds. From 1,000 samples on a warning follows above
        .05, unless ``k`` is passed. It is None with more than two classes, and where ranks or
        losses are compared.
    constraint_report_ : DataFrame
        One row per rate of the decisions by ``oof_decision_function_``, an estimate of the rates on
        new data, with ``constraint``, ``event`` and ``group``; ``n``, the number of samples that
        the rate counts, which for a precision are the selected ones;
        ``threshold`` of the decisions; ``estimate`` of the rate and its ``standard_error``; and
        ``gap`` and ``tolerance`` of the constraint; first the class, where there are more than two.
    constraint_violation_ : float or None
        Largest excess of a gap over its tolerance, by ``oof_decision_function_``; 0 when all are
        kept. It is None without groups, and if a gap is unknown, because nothing counts in the
        denominator of a group's rate: the status is then "infeasible".
    multipliers_ : ndarray of shape (n_rows,)
        Multipliers of the constraint's rows: the decrease of the objective per unit of tolerance.
    {tolerances_, verdict_, guarantee_probability_, tightened_tolerances_, guaranteed_tolerances_}
    status_ : {"optimal", "feasible", "stopped", "max_iter", "infeasible", "unconstrained"}
        As in `ConstrainedERMClassifier`, for the final linear model; those of more than two classes
        are never certified to be optimal.
    n_iter_ : int
        Iterations of the solver, in all linear models that were tried.
    {assumption_, groups_}
    n_features_in_ : int
        Number of features seen during fit, if the estimator knows it.
    feature_names_in_ : ndarray of str
        Names of features seen during fit, if the estimator knows them.

    See Also
    --------
    ConstrainedERMClassifier : A linear model, whose coefficients are trained under constraints.
    sklearn.calibration.CalibratedClassifierCV : Probabilities alone.
    sklearn.model_selection.TunedThresholdClassifierCV : One threshold alone.

    Notes
    -----
    On new data gaps vary around those of ``constraint_report_``. The mean of the folds' models is a
    little better than each, so that rates may differ a little from those by
    ``oof_decision_function_``.

    Floors, ceilings and parity of quotients such as precision may conflict with one another. Before
    the final model is fitted, a linear program finds the smallest violation that decisions can have
    by the out-of-fold probabilities. If that is more than one sample of the smallest group, a
    warning names the bounds that conflict and by how much one of them would have to be relaxed. The
    status is then "infeasible", and the model is the one of least violation that a short search
    finds. Parity of quotients is checked where the final model does not keep it, and with
    ``confidence_level`` and more than two classes no such check is made. Nor is it where groups are
    known and an exact search finds thresholds that keep all bounds.

    Metadata is routed to the ``fit`` of the estimator and to the splitter. ``sample_weight``
    reaches the estimator if its ``fit`` takes it; through a pipeline it has to be routed.

    References
    ----------
    .. [1] A. Menon and R. Williamson, "The cost of fairness in binary classification", FAT* 2018.
    .. [2] X. Zeng, E. Dobriban and G. Cheng, "Bayes-optimal classifiers under group fairness",
       arXiv:2202.09724, 2022.
    .. [3] C. Denis, R. Elie, M. Hebiri and F. Hu, "Fairness guarantees in multi-class
       classification with demographic parity", Journal of Machine Learning Research 25, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skfair.classification import ConstrainedClassifierCV
    >>> from skfair.metrics import demographic_parity_difference
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=1000)
    >>> X = rng.normal(size=(1000, 3)) + sex[:, np.newaxis]
    >>> y = X.sum(axis=1) + rng.normal(size=1000) > 1.5
    >>> forest = RandomForestClassifier(n_estimators=100, random_state=0)
    >>> model = ConstrainedClassifierCV(forest, tolerance=0.05, cv="oob")
    >>> model = model.fit(X, y, sensitive_features=sex)
    >>> decisions = model.oof_decision_function_ > 0
    >>> gap = demographic_parity_difference(y, decisions, sensitive_features=sex)
    >>> print(f"{gap:.2f}")
    0.05
    >>> model.predict(X[:2]).shape
    (2,)
    """

    may_leave_out_samples = True

    __metadata_request__fit = {"group_probabilities": True}
    __metadata_request__decision_function = {"sensitive_features": True}
    __metadata_request__predict_proba = {"sensitive_features": True}

    estimator: (
        ProbabilisticClassifier
        | Annotated[BaseEstimator, HasMethods(["fit", "decision_function"])]
        | None
    ) = None
    constraint: ConstraintLike | None = "demographic_parity"
    _: KW_ONLY
    tolerance: Tolerance | None = None
    k: PositiveInt | OpenShare | None = None
    confidence_level: OpenShare | None = None
    missing: Literal["error", "exclude", "at_random"] = "error"
    group_estimator: ProbabilisticClassifier | Literal["sensitive_features"] | None = None
    handle_unknown: Literal["error", "overall"] = "error"
    cv: Folds | None = None
    ensemble: bool = True
    class_weight: ClassWeight | None = None
    cost_matrix: Array | None = None
    pos_label: Label | list[Label] | None = None
    n_jobs: int | None = None
    memory: str | Annotated[Memory, HasMethods(["cache"])] | None = None
    verbose: Verbose = 0

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
        group_probabilities: MatrixLike | None = None,
        **params: Any,
    ) -> Self:
        """Fit the classifier, the models of groups, and the final linear model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        y : array-like of shape (n_samples,)
            Classes, by labels of any kind; more than two only if the classifier takes them.
        {sensitive_features}
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, in the rates, and in all fits that take them; samples of weight 0
            count as absent.
        groups : array-like of shape (n_samples,), default=None
            Samples of equal value belong together, and are in one fold; standard errors with
            ``confidence_level`` allow for their correlation, as in
            :meth:`ConstrainedERMClassifier.fit`.
        {X_fit}
        {group_probabilities}
        **params : dict
            Further arguments of the classifier's ``fit``; with metadata routing, of all that
            request them.

        Returns
        -------
        self : ConstrainedClassifierCV
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, a fold leaves no sample of a class or group
            to learn from, or most rows of X are in `X_fit`; the message says what must hold.
        """
        validate_params(self)
        check_base_type(self, self._base)
        scored = self._score_samples(
            X,
            y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            groups=groups,
            X_fit=X_fit,
            group_probabilities=group_probabilities,
            **params,
        )
        if sample_weight is not None:
            _warn_of_weights_by_class(scored)
        return self._fit_rule(scored, X, y)

    @restore_on_failure(one_blas_thread=False)
    @with_callbacks
    def refit_rule(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        sensitive_features: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        group_probabilities: MatrixLike | None = None,
        **params: Any,
    ) -> Self:
        """Fit the final linear model again, as for another tolerance, but not the classifiers.

        Set the tolerance by ``set_params``, and pass what ``fit`` was passed. The result equals a
        fit with these parameters, if the classifier has a fixed ``random_state``. Other parameters
        that do not belong to the classifiers may change too: `constraint`, `k`, `confidence_level`,
        `group_estimator`, `class_weight` and `cost_matrix`. For several tolerances at once use
        :func:`skfair.model_selection.fit_ladder`.

        The fitted estimator keeps no training samples and no scores for this, but a digest of 32
        letters of each of X, y, groups, weights and folds, so that other ones raise. The
        classifiers score the samples again, and models of groups are fitted again.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
            As in ``fit``.
        y : array-like of shape (n_samples,)
            As in ``fit``.
        {sensitive_features}
        sample_weight : array-like of shape (n_samples,), default=None
            As in ``fit``.
        groups : array-like of shape (n_samples,), default=None
            As in ``fit``.
        {group_probabilities}
        **params : dict
            As in ``fit``.

        Returns
        -------
        self : ConstrainedClassifierCV
            The fitted estimator.

        Raises
        ------
        ValueError
            If samples, folds or parameters of the classifier are not those of the fit, or with
            ``ensemble=False``, which keeps no models of the folds.

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
        >>> model = model.fit(X, y, sensitive_features=sex)
        >>> classifiers = model.estimators_
        >>> model = model.set_params(tolerance=0.2).refit_rule(X, y, sensitive_features=sex)
        >>> round(float(model.constraint_report_["gap"].max()), 2), model.estimators_ is classifiers
        (0.2, True)
        """
        validate_params(self)
        check_is_fitted(self)
        arguments = FitArguments(
            X=X,
            y=y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            groups=groups,
            group_probabilities=group_probabilities,
        )
        constraints = self._find_constraints()
        scored = score_samples(self, arguments, constraints, params, keeps_models=True)
        return self._fit_rule(scored, X, y)

    def _find_constraints(self) -> list[Constraint]:
        """The constraints; raise for settings of missing groups that they do not allow."""
        uses_groups = self.group_estimator == "sensitive_features"
        without_groups = {"group_estimator": None} if uses_groups else {}
        constraints = resolve_constraints(self.constraint, self.tolerance)
        check_missing_group_settings(self, constraints, without_groups)
        return constraints

    def _fit_rule(self, scored: ScoredSamples, X: TableLike, y: Table) -> Self:
        """Fit the final linear model to scored samples, and store what the fit is."""
        rule = fit_rule(self, scored, RuleLoss(LogisticLoss(), keeps_scores=True))
        store_rule(self, y, scored, rule, *_describe_rule(self, scored, rule))
        _warn(self, scored, rule)
        if self.k is not None:
            _warn_of_tied_places(self.k, rule)
        elif len(self.classes_) == 2 and not rule.features.compares_scores:
            _warn_of_refused_scores(self, scored, rule)
        scored.context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    @row_by_row(lambda self: np.empty((0, len(self.classes_)) if len(self.classes_) > 2 else 0))
    def decision_function(
        self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None
    ) -> np.ndarray:
        """Score of each row; above 0 predicts the second of two classes, else the largest decides.

        A constraint on decisions between two classes holds at 0 only, and not for the k highest of
        these scores, unless the fit has ``k``.
        Where constraints count decisions between two classes, it is the log-odds less those of the
        sample's threshold.

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
        scores = self._columns_and_scores(X, sensitive_features)[1]
        return scores if scores.shape[1] > 1 else self._unit.from_unit(scores[:, 0])

    @row_by_row(lambda self: self.classes_[:0])
    def predict(self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None) -> np.ndarray:
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
        scores = self._columns_and_scores(X, sensitive_features)[1]
        if len(self.classes_) > 2:
            return self.classes_[scores.argmax(axis=1)]
        return to_class_labels(scores[:, 0] > 0, self.classes_, self.pos_label_)

    def select(
        self,
        X: MatrixLike,
        k: int | float | None = None,
        *,
        sensitive_features: MatrixLike | None = None,
    ) -> np.ndarray:
        """Select exactly k samples of a batch, by the highest scores of the positive class.

        With ``group_estimator="sensitive_features"`` these are the highest scores less the
        threshold of the group. Of equal scores at the cut the first rows are selected.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        k : int, float or None, default=None
            Number of samples, or share of them, rounded down. None is the ``k`` of the fit.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_estimator="sensitive_features"``, else not
            used.

        Returns
        -------
        mask : ndarray of bool, shape (n_samples,)
            True for the samples that are selected.

        Raises
        ------
        ValueError
            If the fit had no ``k``, or there are fewer samples.

        Warns
        -----
        UserWarning
            If the cut is outside of the interval in which .95 of batches like the training samples
            are cut at the share of the fit: the constraint says nothing about such a cut.
        """
        check_is_fitted(self)
        if self.k is None:
            raise ValueError(
                "select needs a fit with k, for whose highest scores the constraint holds, but "
                "k=None: pass k=... to the estimator."
            )
        # Scores of the positive class, which may be the first of the two.
        scores = self._columns_and_scores(X, sensitive_features)[1][:, 0]
        n_places = count_places(self.k if k is None else k, len(scores))
        chosen = np.argsort(-scores, kind="stable")[:n_places]
        oof_scores = self._unit.to_unit(self.oof_decision_function_)
        _warn_of_distant_cut(scores[chosen[-1]], len(scores), oof_scores)
        mask = np.zeros(len(scores), dtype=bool)
        mask[chosen] = True
        return mask

    @row_by_row(lambda self: np.empty((0, len(self.classes_))))
    def predict_proba(
        self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None
    ) -> np.ndarray:
        r"""Calibrated probabilities of the classes, changed as little as the decision requires.

        A decision between two classes means that :math:`\eta(x)` is above a threshold t(x). The
        probability is :math:`\eta`, stretched on both sides of t such that t becomes 1/2. With more
        classes the predicted one, and those that are likelier, get the mean of their probabilities.
        Under constraints on means, losses or ranks it is the sigmoid of ``decision_function``, in
        which the constraints hold.

        They are calibrated overall, but not by group: in the guide's example the mean is .501 for
        women, while .429 of them pay back, and .544 for men, while .559 of them do.
        `~sklearn.calibration.CalibratedClassifierCV`, fitted to each group, gives probabilities
        that are right by group.

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
        odds, scores = self._columns_and_scores(X, sensitive_features)
        if len(self.classes_) > 2:
            if not self._is_calibrated:
                odds = calibrated_log_odds(odds, self.calibration_)
            return make_predicted_class_likeliest(expit(odds), scores.argmax(axis=1))
        odds = odds[:, 0]
        scores = scores[:, 0]
        if self._event_features.compares_scores:  # log-odds, of which constraints are
            success = expit(scores)
        else:  # stretch the probability such that the sample's threshold is at 1/2
            thresholds = self._event_features.sample_thresholds(odds, scores, self.rule_coef_)
            success = match_probabilities_to_decisions(expit(odds), thresholds, scores)
        pair = np.column_stack((1.0 - success, success))
        return pair if self.pos_label_ == self.classes_[1] else pair[:, ::-1]

    def export_rule(self, format: Literal["dict", "sql"] = "dict") -> dict[str, Any] | str:
        r"""Describe the decision between two classes in plain numbers, to serve it elsewhere.

        With s the score of the estimator, and P the probabilities of events, both as
        `rule_inputs` returns them, the positive class is predicted where

        .. math::

            a z + b + \sum_{t, e, g} w_{teg} \, q_t P_{eg} > 0, \qquad
            z = slope \cdot s + offset, \quad \eta = \frac{1}{1 + e^{-z}}, \quad
            q = (1, \eta, z, \eta z).

        Parameters
        ----------
        format : {"dict", "sql"}, default="dict"
            Numbers, or an expression of SQL that is true where the positive class is predicted. Its
            columns are ``score`` and, for each event e and group g of `rule_inputs`, ``p_e_g``, as
            ``p_0_1``. The database must have the function EXP.

        Returns
        -------
        rule : dict or str
            Numbers and lists, which can be stored as JSON. ``slope`` and ``offset`` map scores to
            calibrated log-odds z, ``log_odds`` is a, ``intercept`` is b, ``weights`` is w of shape
            (4, n_events, n_groups), and ``pos_label`` the positive class. Or the expression.

        Raises
        ------
        ValueError
            If there are more than two classes, or there is no such format.

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
        check_exportable(self)
        # Calibration applies to scores in units of their spread: undo this for raw scores.
        slope = self.calibration_[0] / self._unit.spread
        log_odds, intercept, weights = self._event_features.weights(
            self.rule_coef_, self.rule_intercept_
        )
        rule = {
            "slope": float(slope),
            "offset": float(self.calibration_[1] - slope * self._unit.center),
            "log_odds": log_odds,
            "intercept": float(intercept),
            "weights": weights.tolist(),
            "pos_label": np.asarray(self.pos_label_).item(),
        }
        if not check_rule_format(format):
            return rule
        z = f"({write_number(rule['slope'])} * score + {write_number(rule['offset'])})"
        eta = f"1.0e0 / (1.0e0 + EXP(-{z}))"
        factors = "1.0e0", eta, z, f"{z} * {eta}"
        return f"({write_rule((log_odds, z), rule['intercept'], factors, weights)}) > 0"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        of_base = get_tags(self._base).classifier_tags
        if of_base is not None:  # else `fit` raises
            tags.classifier_tags.multi_class = of_base.multi_class
        return tags

    @property
    def _base(self) -> BaseEstimator:
        if self.estimator is not None:
            return self.estimator
        from sklearn.ensemble import HistGradientBoostingClassifier  # takes long to import

        return HistGradientBoostingClassifier(
            learning_rate=0.12, max_iter=70, early_stopping=False, random_state=0
        )


def _describe_rule(
    estimator: ConstrainedClassifierCV, scored: ScoredSamples, rule: Rule
) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Fitted attributes of the final linear model, its report, and its status."""
    problem = rule.problem
    candidate = rule.guarantee.candidate
    per_class = scored.per_class
    unit = per_class[0].unit
    refused = None
    coef, intercept = problem.model.coefficients(candidate.parameters)
    report = problem.constraint.report_columns(candidate.scores)
    status = status_of(candidate, problem.constraint.tolerances, "auto", rule.is_stopped)
    if len(per_class) > 1:
        scores = problem.model.class_scores(candidate.parameters)
        # A constraint may be several, one for each attribute.
        labels = [one.pos_label for one in per_class if one.is_bounded]
        labels = np.repeat(labels, len(problem.constraint) // len(labels))  # type: ignore[assignment]
        sizes = [len(rate_moments(one, candidate.scores)[-1]) for one in problem.constraint]
        report = {"class": np.repeat(labels, sizes)} | report
        # No solver certifies the scores of several classes.
        status = "feasible" if status in ("optimal", "max_iter") else status
    else:
        scale = rule.features.scale(coef)
        coef = coef * scale
        intercept = float(intercept * scale)
        X = rule.request.per_class[0].X
        refused = _share_refused_at_any_score(rule.features, X, coef, intercept)
        scores = unit.from_unit(X @ coef + intercept)
        report["threshold"] = unit.from_unit(np.asarray(report["threshold"]))
    fitted = {
        "rule_coef_": np.array(coef),
        "rule_intercept_": intercept,
        "oof_decision_function_": scores,
        "refused_at_any_score_": refused,
    }
    if estimator.missing != "error":
        fitted |= assumption_attributes(per_class[0], estimator.missing)
    return fitted, report, status


def _warn(estimator: ConstrainedClassifierCV, scored: ScoredSamples, rule: Rule) -> None:
    """Warn of useless scores, a violated bound, an early stop, or a costly constraint."""
    problem = rule.problem
    guarantee = rule.guarantee
    # A slope of 0 or less: higher scores do not mean more of the class.
    if (np.atleast_2d(estimator.calibration_)[:, 0] <= 0).all():
        positive = estimator.pos_label_
        label = "any class" if positive is None else f"the class {positive}"
        mean_weight = scored.training.samples.weights.mean()
        advice = "Pass another estimator, or more data."
        if mean_weight < _SMALL_WEIGHT:
            advice = (
                f"The mean of sample_weight is {mean_weight:.3g}: next to such weights a penalty "
                "of the estimator outweighs the data. Pass weights with a mean of 1, as in "
                "sample_weight / sample_weight.mean()."
            )
        warn(
            f"The out-of-fold scores of {type(estimator._base).__name__} do not predict {label}: "
            f"decisions by them are no better than chance. {advice}"
        )
    warn_of_outcome(estimator, problem, guarantee, rule.is_stopped)
    if states_costs(estimator) and estimator.k is None:
        _warn_of_costs_above_constant(scored, rule)
    if len(problem.constraint) and estimator.k is None:
        intercepts = np.full(len(scored.per_class), rule.request.intercept)
        plain = rule.features.unconstrained_parameters(problem.model, intercepts)
        parameters = guarantee.candidate.parameters
        weights = scored.per_class[0].samples.weights
        counts_costs = states_costs(estimator)
        warn_of_cost(
            problem,
            parameters,
            plain,
            counts_costs=counts_costs,
            sample_weight=weights,
            remedy=_advise_other_fit(scored),
        )
        if estimator.confidence_level is not None:
            scores = map(problem.predict_scores, (parameters, plain))
            warn_of_moved_decisions(scored.training.samples.weights, *scores)


def _advise_other_fit(scored: ScoredSamples) -> str:
    """Return the end of a sentence on what else costs less, where a constraint costs much."""
    advice = ", or pass another estimator, such as HistGradientBoostingClassifier()"
    compares_combinations = any(one.attributes != "each" for one in scored.constraints)
    if len(scored.training.samples.groups.attributes) > 1 and compares_combinations:
        return f", bound each attribute by itself (attributes='each'){advice}"
    return advice


_SMALL_WEIGHT = 1e-2
"""Mean of weights below which penalties of usual size, such as C=1, leave nothing of the data."""


def _warn_of_costs_above_constant(scored: ScoredSamples, rule: Rule) -> None:
    """Warn if decisions cost more than the best constant ones, by the stated costs."""
    training = scored.training
    classes = np.asarray(training.classes)
    weights = training.samples.weights
    codes = np.searchsorted(classes, training.labels)
    scores = rule.guarantee.candidate.scores
    if len(classes) == 2:
        first = scored.per_class[0]
        decisions = to_class_labels(scores > 0, classes, first.pos_label)
        predicted = np.searchsorted(classes, decisions)
    else:
        predicted = scores.reshape(len(classes), -1).argmax(axis=0)
    # Cost of each class for each sample, (n_samples, n_classes).
    if scored.costs.matrix is None:
        of_errors = scored.costs.weights / weights
        costs = of_errors[:, np.newaxis] * (1.0 - np.eye(len(classes))[codes])
    else:
        costs = scored.costs.matrix[codes]
    cost = np.average(costs[np.arange(len(codes)), predicted], weights=weights)
    constants = np.average(costs, axis=0, weights=weights)
    best = constants.argmin()
    if cost > constants[best] * (1.0 + 1e-9):
        warn(
            f"By cost_matrix or class_weight the decisions cost {cost:.3g} for each training "
            f"sample, out of fold, but the class {classes[best]} for every sample costs only "
            f"{constants[best]:.3g}. Pass another estimator, or a larger tolerance, or decide "
            "without a model.",
            ConstraintCostWarning,
        )


def _warn_of_weights_by_class(scored: ScoredSamples) -> None:
    """Warn of sample weights that tell classes apart, and nothing else: costs, it seems."""
    training = scored.training
    weights = training.samples.weights
    classes = np.asarray(training.classes)
    by_class = {label: np.unique(weights[training.labels == label]) for label in classes}
    is_by_class = all(len(one) == 1 for one in by_class.values())
    if not is_by_class or np.ptp(weights) == 0.0:
        return
    values = {label: float(one[0]) for label, one in by_class.items()}
    listed = ", ".join(f"{value:.3g} of class {label}" for label, value in values.items())
    warn(
        f"sample_weight is one number for each class ({listed}). Weights count in the rates of "
        "groups as well, as if there were more samples of a class. If they are costs of errors, "
        "pass cost_matrix or class_weight instead, which leave rates as they are."
    )


_TOP_SHARE = 0.02
"""Of the samples: those with the highest scores, which a user expects to be accepted."""


_REFUSED_SHARE = 0.05
"""Of the samples, whose refusal at any score is worth a warning."""


def _warn_of_refused_scores(
    estimator: ConstrainedClassifierCV, scored: ScoredSamples, rule: Rule
) -> None:
    """Warn if most of the highest scores are refused, or any score of some samples."""
    first = scored.per_class[0]
    X = rule.request.per_class[0].X
    scores = first.unit.to_unit(scored.scores[:, 0])
    top = np.argsort(-scores, kind="stable")[: int(_TOP_SHARE * len(scores))]
    is_constant = len(rule.guarantee.candidate.occurring_decisions) < 2
    if is_constant or len(top) < 20 or X.shape[1] < 2:  # the scores alone decide
        return
    facts = []
    refused = rule.guarantee.candidate.scores[top] <= 0
    if refused.mean() > 0.5 and scores[top[-1]] > first.unit.to_unit(0.0):
        positive = np.mean(first.samples.target[top[refused]] > 0)
        facts.append(
            f"refuses {refused.mean():.0%} of the {_TOP_SHARE:.0%} of samples with the highest "
            f"scores ({positive:.0%} of the refused ones are of the class {estimator.pos_label_})"
        )
    share = estimator.refused_at_any_score_
    if share is not None and share > _REFUSED_SHARE:
        facts.append(f"would refuse {share:.0%} of the samples at any score that was seen")
    if not facts:
        return
    remedy = "Raise the tolerance"
    if estimator.group_estimator != "sensitive_features":
        remedy += (
            ", or pass group_estimator='sensitive_features' where the group may be used: the "
            "highest scores of each group are then accepted first"
        )
    warn(
        f"The rule {', and '.join(facts)}: they seem to be of groups that get higher thresholds. "
        f"{remedy}.",
        ConstraintCostWarning,
    )


def _share_refused_at_any_score(
    features: EventFeatures, X: np.ndarray, coef: np.ndarray, intercept: float
) -> float | None:
    """Share of samples whose threshold is above all scores; None where scores are compared."""
    if features.compares_scores:
        return None
    log_odds = X[:, 0]
    scores = X @ coef + intercept
    if features.sample_thresholds(log_odds, scores, coef) is None:  # the log-odds do not count
        return float(np.mean(scores <= 0.0))
    # Log-odds from which on a sample would be accepted, were all else equal.
    return float(np.mean(log_odds - scores > log_odds.max()))


def _warn_of_tied_places(k: float, rule: Rule) -> None:
    """Warn if equal scores at the cut leave another number of samples than k selects."""
    scores = rule.guarantee.candidate.scores
    n_places = count_places(k, len(scores))
    n_selected = np.count_nonzero(scores > 0)
    if n_selected != n_places:
        warn(
            f"k={k} selects {n_places} of the samples, but the constraint was kept for "
            f"{n_selected}, as scores at the cut are equal. select() takes exactly k of a batch, "
            "of equal scores the first rows."
        )


def _warn_of_distant_cut(cut: float, n_samples: int, scores: np.ndarray) -> None:
    """Warn if a batch is cut where batches like the training samples hardly ever are."""
    scores = scores[~np.isnan(scores)]
    share = np.mean(scores > 0)
    # Both the share above the training cut, and that in the batch, are drawn.
    spread = np.sqrt(share * (1.0 - share) * (1.0 / len(scores) + 1.0 / n_samples))
    width = norm.ppf((1.0 + CONFIDENCE_LEVEL) / 2.0) * spread
    low, high = np.quantile(scores, np.clip([1.0 - share - width, 1.0 - share + width], 0.0, 1.0))
    if not low <= cut <= high:
        warn(
            f"The batch is cut at a score of {cut:.3g}, but {CONFIDENCE_LEVEL:.0%} of batches of "
            f"{n_samples} samples like the training samples are cut between {low:.3g} and "
            f"{high:.3g}: the constraint may not hold at this cut. Pass the share of the fit as k, "
            "or fit again to samples like these."
        )
