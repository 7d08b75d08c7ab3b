"""Fairness report of a model of any package: how it treats groups of people."""

import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.multiclass import type_of_target

from skfair.audit._measures import (
    binary_measures,
    clustering_measures,
    is_user_metric,
    multiclass_measures,
    regression_measures,
)
from skfair.audit._model_predictions import check_model, to_numbers
from skfair.audit._page import render_fragment, render_page
from skfair.audit._sentences import findings, open_questions
from skfair.audit._tables import (
    OVERALL,
    estimate_areas,
    estimate_means,
    evaluate_user_metric,
    groupings,
    name_as_text,
    tabulate,
)
from skfair.groups import Groups, check_columns
from skfair.inference import balance_limit, check_level
from skfair.metrics import PREDICTIONS, find_positive


class FairnessReport:
    """Rates, errors and gaps by groups of people, with intervals, on one page.

    Made by :meth:`from_estimator` or :meth:`from_predictions`, for classifiers of two or more
    classes, regressors and clusterings. Groups are those of every single protected attribute, and
    the intersections of all. The gap of the selection rate is the statistical parity difference;
    ratios of it are the impact ratios of the four-fifths (80 %) rule on adverse impact (disparate
    impact). The page is self-contained, so that it can be attached to a model card.

    Intervals are Wilson's for rates, or exact ones for few successes or failures, Student's or
    Hall's for means, and DeLong's for areas. Those of differences and ratios are computed from
    them, and gaps too, as in :func:`skfair.inference.gap_interval`. Weighted samples count as the
    effective number of equal weight.

    Intervals of groups hold one at a time, those of a gap for all groups of one attribute and
    measure. The findings claim a gap without "may be chance" only if it is significant by Holm's
    procedure ([1]_) over the gaps of all measures and attributes. Intervals of differences and
    ratios to a group that was chosen from the data hold for all groups, measures and attributes
    together, with Bonferroni's level for all pairs of groups. ``python -m benchmarks reports``
    prints how often reports of a fair model claim a gap.

    Parameters
    ----------
    frame : DataFrame
        One row for each measure of each group, see :meth:`to_frame`.
    gaps : DataFrame
        One row for each measure of each attribute: the largest difference between two groups that
        are not small, the smallest ratio, their limits, the groups furthest apart, and whether the
        gap ``is_significant``.
    kind : {"classification", "regression", "clustering"}
        Task of the predictions.
    n_samples : int
        Number of people of positive weight.
    confidence_level : float
        Probability with which each interval holds.
    min_group_size : int
        Number of people below which a group is marked as small.
    title : str
        Heading of the page.
    balance : Interval, default=None
        Balance of a clustering.

    Attributes
    ----------
    attributes : list of str
        Names of the groupings: every attribute, and all together.
    findings : list of str
        The main results, in three sentences.
    open_questions : list of str
        What these data cannot decide.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
       of Statistics 6, 1979.

    Examples
    --------
    >>> from skfair.audit import FairnessReport
    >>> y_true, y_pred = [1, 0, 1, 0] * 100, [1, 0, 1, 1] * 50 + [1, 0, 0, 0] * 50
    >>> sex = ["m"] * 200 + ["f"] * 200
    >>> report = FairnessReport.from_predictions(y_true, y_pred, sensitive_features=sex)
    >>> report.gaps.loc[report.gaps["measure"] == "selection_rate", "gap"].item()
    0.5
    """

    def __init__(
        self,
        frame,
        gaps,
        *,
        kind,
        n_samples,
        confidence_level,
        min_group_size,
        title,
        balance=None,
    ):
        self.frame, self.gaps, self.balance = frame, gaps, balance
        self.kind, self.n_samples, self.title = kind, n_samples, title
        self.confidence_level, self.min_group_size = confidence_level, min_group_size

    @property
    def attributes(self):
        """Names of the groupings: every attribute, and all together."""
        return [name for name in self.frame["attribute"].unique().tolist() if name != OVERALL]

    @classmethod
    def from_estimator(
        cls, estimator, X, y=None, *, sensitive_features, pos_label=None, **settings
    ):
        """Report of a fitted model on held-out data.

        Parameters
        ----------
        estimator : estimator
            Fitted classifier, regressor or clusterer of any package. Its ``predict`` is called,
            and ``predict_proba`` or ``decision_function`` of a classifier of two classes, with the
            sensitive features if it requires them.
        X : array-like of shape (n_samples, n_features)
            Held-out data.
        y : array-like of shape (n_samples,), default=None
            True classes or values; not used for a clusterer.
        sensitive_features : array-like or sparse matrix
            Group of each sample, one column per attribute.
        pos_label : label, default=None
            The class that means success, as in :func:`skfair.metrics.get_scorer`.
        **settings
            Further parameters of :meth:`from_predictions`.

        Returns
        -------
        report : FairnessReport

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        ValueError
            As for :meth:`from_predictions`.
        """
        check_model(estimator)
        (y_pred,), _ = PREDICTIONS["clustering"](estimator, X, y, sensitive_features)
        settings |= {"sensitive_features": sensitive_features}
        if is_regressor(estimator):
            return cls.from_predictions(y, y_pred, kind="regression", **settings)
        if not is_classifier(estimator):
            return cls.from_predictions(None, y_pred, **settings)
        if len(estimator.classes_) == 2:
            # Decisions of the positive class, and scores if there are any.
            (_, y_pred), params = PREDICTIONS["classification"](
                estimator, X, y, sensitive_features, pos_label
            )
            pos_label = params["pos_label"]
            name = "y_proba" if hasattr(estimator, "predict_proba") else "y_score"
            if name == "y_proba" or hasattr(estimator, "decision_function"):
                (scores,), _ = PREDICTIONS["score"](estimator, X, y, sensitive_features, pos_label)
                settings |= {name: scores}
        return cls.from_predictions(
            y, y_pred, kind="classification", pos_label=pos_label, **settings
        )

    @classmethod
    def from_predictions(
        cls,
        y_true,
        y_pred,
        *,
        sensitive_features,
        y_proba=None,
        y_score=None,
        kind=None,
        sample_weight=None,
        pos_label=None,
        reference=None,
        metrics=None,
        confidence_level=0.95,
        min_group_size=30,
        title="Fairness report",
    ):
        """Report of any predictions.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            True classes or values; None for a clustering.
        y_pred : array-like of shape (n_samples,)
            Predicted classes or values, or clusters.
        sensitive_features : array-like or sparse matrix
            Group of each sample, one column per attribute; a DataFrame names them. A sparse matrix
            of booleans is one of overlapping groups.
        y_proba : array-like of shape (n_samples,), default=None
            Probability of the positive class, for calibration and areas under curves.
        y_score : array-like of shape (n_samples,), default=None
            Scores on any scale, for areas under curves alone.
        kind : {"classification", "regression", "clustering"}, default=None
            Task of the predictions; None infers it: a target of real numbers means regression.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sampling weights; a sample of weight zero counts as absent. Intervals
            rest on effective sample sizes, as in :func:`skfair.inference.gap_interval`.
        pos_label : label, default=None
            The class that means success, of two. None takes 1 if the labels are 0 and 1, -1 and 1
            or booleans.
        reference : dict, default=None
            Group that the others are compared with, by attribute, such as ``{"sex": "male"}``.
            By default it is the one with the highest selection rate or mean prediction among those
            that are not small. Intervals of comparisons with a named group hold one at a
            time, and are narrower.
        metrics : dict of str to callable, default=None
            Further metrics, called with the true and the predicted values of each group. Their
            names must differ from those of the report's measures.
        confidence_level : float, default=0.95
            Probability with which each interval of a group or gap holds, and with which all
            intervals of comparisons with groups chosen from the data hold together.
        min_group_size : int, default=30
            Number of people below which a group is marked as small, and left out of gaps.
        title : str, default="Fairness report"
            Heading of the page.

        Returns
        -------
        report : FairnessReport

        Raises
        ------
        ValueError
            If inputs differ in length or in their pandas index, hold missing values, predictions
            are of another type than the truth, probabilities are outside [0, 1], groups are too
            many, or a reference does not occur.

        Warns
        -----
        UserWarning
            If weights are so uneven that intervals are too narrow.
        """
        level = check_level(confidence_level)
        columns = {"y_pred": y_pred, "y_true": y_true, "y_proba": y_proba, "y_score": y_score}
        columns = {name: column for name, column in columns.items() if column is not None}
        samples, arrays = check_columns(sensitive_features, sample_weight, **columns)
        columns = dict(zip(columns, arrays, strict=True))
        kind = _check_kind(kind, columns)
        # Estimators of all measures, by name: functions of groups and weights.
        estimators = _MEASURES[kind](columns, pos_label)
        for name, metric in (metrics or {}).items():
            _check_metric_name(name, estimators)
            estimators[name] = partial(
                evaluate_user_metric, metric, columns.get("y_true"), columns["y_pred"]
            )
        frame, gaps = _tables(estimators, samples, reference, level, min_group_size)
        return cls(
            frame,
            gaps,
            kind=kind,
            n_samples=len(samples.weights),
            confidence_level=level,
            min_group_size=min_group_size,
            title=title,
            balance=_balance(kind, columns, samples, level),
        )

    @property
    def findings(self):
        """The main results, in three sentences."""
        return findings(self)

    @property
    def open_questions(self):
        """What these data cannot decide, one sentence each."""
        return open_questions(self)

    def to_frame(self):
        """All numbers as a table.

        Returns
        -------
        frame : DataFrame
            One row for each measure of each group: ``attribute`` ("overall" for all samples),
            ``group``, ``measure``, ``n`` (the unweighted number of samples that it is a mean over),
            ``value``, ``low``, ``high``; the ``difference`` to the reference group and the
            ``ratio``, each with its limits; the ``impact_ratio`` to the largest rate of a group
            that is not small, with its limits; ``is_small`` and ``is_reference``.
        """
        return self.frame.copy()

    def to_html(self, path=None):
        """The report as one self-contained page: no network, no scripts.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write; None writes none.

        Returns
        -------
        html : str
            The page.
        """
        html = render_page(self)
        if path is not None:
            Path(path).write_text(html, encoding="utf-8")
        return html

    def _repr_html_(self):
        return render_fragment(self)


def _tables(estimators, samples, reference, level, min_group_size):
    """Rows and gaps of all groupings, and rows of all samples."""
    by, n_samples = groupings(samples.groups), len(samples.weights)
    chosen = _check_reference(reference, list(by))
    overall = Groups.single(n_samples, OVERALL)
    # Warn of uneven weights once, and not for each measure.
    estimate_means((np.ones(n_samples), None), overall, samples.weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        groups = {OVERALL: overall} | by
        return tabulate(estimators, groups, samples.weights, level, min_group_size, chosen)


def _balance(kind, columns, samples, level):
    """Limit of the balance of a clustering; None of other predictions and of overlapping groups."""
    if kind != "clustering" or not samples.groups.is_disjoint:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of uneven weights, once is enough
        return balance_limit(
            columns["y_pred"],
            sensitive_features=samples.groups.codes,
            sample_weight=samples.weights,
            confidence_level=level,
        )


def _check_metric_name(name, estimators):
    """Refuse a passed metric with the name of a measure of the report."""
    if name in estimators or not is_user_metric(name):
        raise ValueError(
            f"metrics must have other names than the measures of the report, but {name!r} is one "
            f"of them; rename it, as in metrics={{'own {name}': ...}}."
        )


def _check_reference(reference, attributes):
    """Reference groups by attribute, as text."""
    chosen = {name_as_text(name): group for name, group in (reference or {}).items()}
    unknown = [name for name in chosen if name not in attributes]
    if unknown:
        raise ValueError(
            f"reference must map attributes to groups, but {unknown} are not attributes; the "
            f"attributes are {attributes}."
        )
    return chosen


def _check_kind(kind, columns):
    """The task of the predictions, which must fit the truth."""
    if kind not in (None, *_MEASURES):
        raise ValueError(f"kind must be one of {list(_MEASURES)} or None; got {kind!r}.")
    if "y_true" not in columns:
        if kind not in (None, "clustering"):
            raise ValueError(f"A report of a {kind} needs y_true, but None was passed.")
        return "clustering"
    # Infer the task from the target.
    is_real = type_of_target(columns["y_true"]) == "continuous"
    kind = kind or ("regression" if is_real else "classification")
    if kind == "classification" and type_of_target(columns["y_pred"]) == "continuous":
        raise ValueError(
            "y_true holds classes, but y_pred holds numbers with decimals, the first of them "
            f"{columns['y_pred'][0]!r}. Pass the predicted classes as y_pred, as in y_proba > 0.5, "
            'and these as y_proba or y_score; or pass kind="regression".'
        )
    return kind


def _classification(columns, pos_label):
    """Estimators of the measures of a classifier, by name."""
    truth, predicted = columns["y_true"], columns["y_pred"]
    n_labels = len(set(np.unique(truth).tolist()) | set(np.unique(predicted).tolist()))
    if n_labels > 2 and pos_label is None:
        return _means(multiclass_measures(truth, predicted))
    positive = find_positive(truth, predicted, pos_label=pos_label)
    is_true, y_proba = truth == positive, columns.get("y_proba")
    if y_proba is not None:
        y_proba = to_numbers(y_proba, "y_proba")
        if y_proba.min() < 0.0 or y_proba.max() > 1.0:
            wrong = y_proba[(y_proba < 0.0) | (y_proba > 1.0)][0]
            raise ValueError(
                f"y_proba must be probabilities in [0, 1], but {wrong:g} was passed; pass scores "
                "on another scale as y_score."
            )
    estimators = _means(binary_measures(is_true, predicted == positive, y_proba))
    scores = y_proba if "y_score" not in columns else to_numbers(columns["y_score"], "y_score")
    if scores is not None:
        estimators["auc"] = partial(estimate_areas, is_true, scores)
    return estimators


def _regression(columns, pos_label):
    """Estimators of the measures of a regressor, by name."""
    numbers = (to_numbers(columns[name], name) for name in ("y_true", "y_pred"))
    return _means(regression_measures(*numbers))


def _clustering(columns, pos_label):
    """Estimators of the measures of a clustering, by name."""
    return _means(clustering_measures(columns["y_pred"]))


def _means(measures):
    """Estimators of the means of measures, by name."""
    return {name: partial(estimate_means, measure) for name, measure in measures.items()}


_MEASURES = {
    "classification": _classification,
    "regression": _regression,
    "clustering": _clustering,
}
"""Task -> function that returns estimators of its measures by name."""
