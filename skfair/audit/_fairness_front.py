"""Out-of-fold accuracy and gap of a classifier at several tolerances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator, clone, is_clusterer, is_regressor
from sklearn.model_selection import check_cv
from sklearn.utils import indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from skfair._bound.bound import reported_gap
from skfair._groups.events import Events
from skfair._groups.samples import check_alignment, check_labels
from skfair._statistics.bounded_means import make_estimates
from skfair._statistics.estimates import check_level
from skfair._statistics.gaps import interval_of_largest_contrast
from skfair._utils.api import Axes, CrossValidation, Label, MatrixLike
from skfair._utils.checks import check_model, list_values, mute_warnings
from skfair._utils.copies import check_disjoint_folds
from skfair._utils.parameters import CONFIDENCE_LEVEL
from skfair._utils.sklearn import check_method_params, check_sample_weight, safe_indexing
from skfair._utils.tables import Table, to_pandas_table
from skfair.audit._formats import PageReport
from skfair.audit._front import draw_limited, find_axis
from skfair.audit._predictions import predict_for_metric, resolve_constraint
from skfair.audit._sentences import (
    LOWER_BOUNDS,
    confidence_text,
    describe_bound,
    describe_quantity,
    value_cell,
)
from skfair.constraints import Constraint, applicable_constraint_names
from skfair.constraints._constraint import check_whose_tolerance, refuse_tolerances_by_attribute
from skfair.constraints._held_out import bind_constraint
from skfair.exceptions import ConstraintCostWarning
from skfair.model_selection import fit_to_shared_folds, share_folds
from skfair.plotting import ParetoFrontDisplay

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skfair._utils.tables import TableLike


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FairnessFront(PageReport):
    """Accuracy and gap of a classifier at several tolerances: a table, a picture and a page.

    Made by :func:`fairness_front`. It keeps no models: :func:`skfair.model_selection.fit_ladder`
    fits those of several tolerances to all training samples.

    Read more in the :ref:`guide <price_of_fairness>`.

    Parameters
    ----------
    frame : DataFrame
        One row per tolerance, see :meth:`to_frame`.
    constraint : Constraint
        Criterion of the gap.
    description : str
        What was fitted and measured, in one sentence.

    Attributes
    ----------
    findings : list of str
        The description.

    See Also
    --------
    skfair.cluster.ParetoFront : Front of clusterings.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.audit import fairness_front
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=1000)
    >>> X = rng.normal(size=(1000, 2)) + sex[:, np.newaxis]
    >>> y = X.sum(axis=1) + rng.normal(size=1000) > 1
    >>> front = fairness_front(LogisticRegression(), X, y, sensitive_features=sex)
    >>> front.to_frame()[["accuracy", "gap"]].round(2)
       accuracy   gap
    0      0.84  0.53
    """

    frame: pd.DataFrame
    constraint: Constraint
    description: str

    title = "Front of accuracy and gap"
    _settings = ("title", "description", "frame")

    @property
    def findings(self) -> list[str]:
        """What was fitted and measured, in one sentence."""
        return [self.description]

    def to_frame(self) -> pd.DataFrame:
        """The front as a table.

        Returns
        -------
        frame : DataFrame
            One row per tolerance, in the order of the values: ``tolerance`` (nan of an estimator
            without the parameter), ``accuracy``, ``accuracy_low``, ``accuracy_high``, ``gap``,
            ``gap_low``, ``gap_high``, and whether it ``is_beaten``: another row is at least as good
            in accuracy and in gap, and better in one of them. With more than two classes the gap is
            the largest one of a class against the rest. Of a ratio or a minimum rate it is the
            smallest ratio or rate; nan for a ratio of rates that are all 0.
        """
        return self.frame.copy()

    def plot(
        self, *, selected: int | None = None, name: str | None = None, ax: Axes | None = None
    ) -> ParetoFrontDisplay:
        """Draw accuracy against the gap, with intervals and the values of the parameter.

        Parameters
        ----------
        selected : int, default=None
            Position of the row to mark.
        name : str, default=None
            Name of the model in the legend.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on, such as ``display.ax_`` of another model. None makes a new figure.

        Returns
        -------
        display : skfair.plotting.ParetoFrontDisplay
            The drawn display, with ``ax_``, ``figure_`` and ``line_``.
        """
        return ParetoFrontDisplay(self.frame, selected=selected, name=name).plot(ax)

    def _kicker(self) -> str:
        return self.title

    def _headline(self) -> str:
        return self.description.partition(". ")[0]

    def _sections(self) -> Iterator[tuple[str, list]]:
        gap = describe_bound(self.constraint)
        accuracy = describe_quantity("accuracy")
        axis = find_axis(gap, self.frame["gap_high"])
        # The smallest rate is a share; a gap of rates is in percentage points.
        name = "estimate" if gap.unit == "percent" else "gap"
        rows = []
        for row in self.frame.to_dict("records"):
            limited = row | {"estimate": row["gap"], "low": row["gap_low"], "high": row["gap_high"]}
            cells = (
                _name_row(row),
                draw_limited(axis, row, "gap"),
                value_cell(gap, limited, name),
                value_cell(accuracy, row, "accuracy"),
            )
            rows.append((cells, "small" * row["is_beaten"]))
        titles = ("Tolerance", "", f"{gap.form.capitalize()} in {gap.noun}", "Accuracy")
        yield "Findings", [*self.findings, ("Out of fold", _NOTE, titles, rows)]

    def __repr__(self) -> str:
        return f"<FairnessFront of {len(self.frame)} tolerances>"


def _name_row(row: dict[str, Any]) -> str | tuple[str, str]:
    """The tolerance of a row, and whether another row is better."""
    name = "none" if pd.isna(row["tolerance"]) else f"{row['tolerance']}"
    return (name, "beaten by another row") if row["is_beaten"] else name


def _find_beaten(accuracy: pd.Series, gap: pd.Series) -> np.ndarray:
    """Mask of the rows that another one is no worse than in both columns, and better in one.

    Of accuracy more is better, and of gap less.
    """
    better = np.column_stack((accuracy, -gap))
    differences = better[:, np.newaxis] - better
    beats = (differences.min(axis=2) >= 0.0) & (differences.max(axis=2) > 0.0)
    return beats.any(axis=0)


_NOTE = (
    "Every sample is decided by a model that was fitted without its fold, and the decisions of all "
    "folds are pooled. Intervals treat the models of the folds as one, and hold one at a time. The "
    "row that looks best of several looks better than it is: test it on other data, by "
    "Audit.certify."
)


def fairness_front(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    values: list[float] | None = None,
    constraint: str | Constraint = "demographic_parity",
    parameter: str = "tolerance",
    cv: CrossValidation = 5,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_jobs: int | None = None,
) -> FairnessFront:
    """Out-of-fold accuracy and gap of a classifier at several tolerances.

    Each sample is decided by a model that was fitted without its fold, and the decisions of all
    folds are pooled. Intervals of accuracy and gap treat the models of the folds as one: those of
    five folds share most of their training data.

    Read more in the :ref:`guide <price_of_fairness>`.

    Parameters
    ----------
    estimator : estimator
        Classifier, pipeline or search; clones of it are fitted. Its ``fit`` receives the groups if
        it accepts them, so that a model without constraints can be compared.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,)
        Classes, two or more.
    sensitive_features : array-like or sparse matrix
        Group of each sample, as for metrics.
    values : list of float or None, default=None
        Values of the parameter: tolerances, unless `parameter` is another one. None means .01, .02,
        .05, .1, .2 and 1; no gap of rates is above 1, so the last one is the model without
        constraint. An estimator that has no such parameter is fitted once, unchanged.
    constraint : str or Constraint, default="demographic_parity"
        Criterion of the gap, on decisions: a name in :data:`skfair.constraints.CONSTRAINTS`, or an
        instance. It need not be the one that the classifier was trained under.
    parameter : str, default="tolerance"
        Name of the parameter, as in ``"constrainedermclassifier__tolerance"`` of a pipeline.
    cv : int, splitter or iterable, default=5
        Cross-validation splits. Test folds are disjoint, and training rows exclude the test rows.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights, in fits that take them and in rates.
    pos_label : label, default=None
        The class that means success; None as in :func:`skfair.metrics.get_scorer`.
    confidence_level : float, default=0.95
        Probability with which each interval holds.
    n_jobs : int or None, default=None
        Number of parallel fits.

    Returns
    -------
    front : FairnessFront
        A table by :meth:`~FairnessFront.to_frame`, a picture by :meth:`~FairnessFront.plot`, and a
        page by :meth:`~FairnessFront.to_html`. It keeps no models.

    Raises
    ------
    ValueError
        If the constraint does not count decisions, or has no value for any fit, the estimator
        predicts numbers or has no such parameter, test folds overlap, training rows contain test
        rows, or the input is invalid for a fit or metric.

    See Also
    --------
    skfair.model_selection.fit_ladder : Fits models of several tolerances to all samples.
    skfair.cluster.cluster_front : Front of clusterings.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.audit import fairness_front
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=1000)
    >>> X = rng.normal(size=(1000, 2)) + sex[:, np.newaxis]
    >>> y = X.sum(axis=1) + rng.normal(size=1000) > 1
    >>> model = ConstrainedERMClassifier()
    >>> front = fairness_front(model, X, y, sensitive_features=sex, values=[0.02, 0.3])
    >>> front.to_frame()[["accuracy", "gap", "gap_low", "gap_high"]].round(2)
       accuracy   gap  gap_low  gap_high
    0      0.53  0.05     0.00      0.12
    1      0.71  0.34     0.28      0.40
    """
    check_model(estimator)
    specification = resolve_constraint(constraint)
    refuse_tolerances_by_attribute(specification, "a front")
    level = check_level(confidence_level)
    _check_decisions(specification, estimator)
    sensitive_features = to_pandas_table(sensitive_features)
    check_alignment(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
    (X,) = indexable(X)
    y = check_labels("y", y)
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, X)
    folds = _split_folds(cv, X, y)
    per_sample = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
    # An estimator without the parameter is fitted once.
    defaults = _TOLERANCES if parameter in estimator.get_params() else (None,)
    settings: list[float | None] = list_values(defaults if values is None else values)
    models = [_clone_with(estimator, parameter, value) for value in settings]
    # Each job fits the models of one fold: all of them if they share their own folds, else one.
    is_shared = share_folds(estimator, parameter, settings)
    jobs = [models] if is_shared else [[model] for model in models]
    fitted = Parallel(n_jobs=n_jobs)(
        delayed(_fit_and_predict)(
            [clone(model) for model in job], specification, X, y, per_sample, fold, pos_label
        )
        for job in jobs
        for fold in folds
    )
    # Those of each model, fold by fold.
    by_model = [
        [of_fold[k] for of_fold in fitted[first : first + len(folds)]]
        for first, job in zip(range(0, len(fitted), len(folds)), jobs, strict=True)
        for k in range(len(job))
    ]
    test_rows = np.concatenate([test for _, test in folds])
    tested = check_method_params(X, per_sample, indices=test_rows)
    all_samples = Events.disjoint(np.zeros_like(test_rows), 1, tested["sample_weight"])
    rows = []
    for value, decisions in zip(settings, by_model, strict=True):
        # Pool the folds, for each class that is compared against the rest.
        per_class = [
            (np.concatenate([columns for columns, _ in one], axis=1), one[0][1])
            for one in zip(*decisions, strict=True)
        ]
        gap = _largest_gap_with_limits(per_class, specification, tested, level)
        is_right = np.all([truth == decided for (truth, decided), _ in per_class], axis=0)
        estimates = make_estimates(all_samples, is_right)
        accuracy = np.ravel((estimates.values, *estimates.limits((1.0 + level) / 2.0)))
        rows.append((np.nan if value is None else value, *accuracy, *gap))
    limits = ("accuracy", "accuracy_low", "accuracy_high", "gap", "gap_low", "gap_high")
    front = pd.DataFrame(rows, columns=["tolerance", *limits])
    if front["gap"].isna().all():
        raise ValueError(
            f"{specification} must have a value for one fit at least, but every fit has rates that "
            "are unknown, or all 0 in a ratio. Pass other values, or a constraint on "
            "differences."
        )
    form = describe_bound(specification).form
    sign = -1.0 if form in LOWER_BOUNDS else 1.0
    front["is_beaten"] = _find_beaten(front["accuracy"], sign * front["gap"])
    return FairnessFront(
        frame=front,
        constraint=specification,
        description=(
            f"Accuracy is {_describe_range(100.0 * front['accuracy'], '.1f')} %, and the {form} "
            f"{_describe_range(front['gap'], '.3f')}. Each row is {estimator} at one {parameter}, "
            f"fitted to {len(test_rows):,} samples by cv={cv}. The {form} is that of "
            f"{specification}, and intervals have {confidence_text(level)}."
        ),
    )


def _describe_range(values: pd.Series, digits: str) -> str:
    """The smallest and the largest value; one number where both have the same digits."""
    ends = format(values.min(), digits), format(values.max(), digits)
    return " to ".join(dict.fromkeys(ends))


def _largest_gap_with_limits(
    per_class: list[tuple[np.ndarray, dict]],
    constraint: Constraint,
    tested: dict[str, Table | None],
    level: float,
) -> tuple[float, float, float]:
    """The largest gap of all classes and its limits, with the error divided among the classes.

    Of ratios and floors the smallest ratio or rate is stated.
    """
    class_level = 1.0 - (1.0 - level) / len(per_class)
    gaps = []
    for columns, params in per_class:
        bound, scores = bind_constraint(constraint, columns, **tested, **params)
        interval = interval_of_largest_contrast(*bound.estimates(scores), class_level)
        gaps.append(interval._replace(estimate=reported_gap(bound, scores)))
    gap, *limits = bound.gap.state(np.max(gaps, axis=0))
    return gap, *sorted(limits)


def _check_decisions(constraint: Constraint, estimator: BaseEstimator) -> None:
    """Raise for a constraint on anything but decisions, and an estimator without any."""
    if not constraint.counts_decisions:
        raise ValueError(
            f"A front pools decisions of several fits, but {type(constraint).__name__} compares "
            "losses or ranks; pass a constraint on rates of decisions, such as 'equal_opportunity'."
        )
    if is_regressor(estimator) or is_clusterer(estimator):
        raise ValueError(
            f"A front pools decisions of a classifier, but {type(estimator).__name__} predicts "
            "numbers or clusters. For a regressor pass fits at several tolerances "
            f"to skfair.audit.Audit.certify, with one of {applicable_constraint_names('numbers')}."
        )


_TOLERANCES = (0.01, 0.02, 0.05, 0.1, 0.2, 1.0)
"""Default tolerances; the last one requires nothing."""


def _split_folds(
    cv: CrossValidation, X: np.ndarray, y: Table
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows of each fold; no row is in two test sets."""
    rows = np.arange(len(y))
    folds = [
        (rows[train], rows[test]) for train, test in check_cv(cv, y, classifier=True).split(X, y)
    ]
    tested = np.concatenate([test for _, test in folds])
    n_repeated = len(tested) - len(np.unique(tested))
    if n_repeated:
        raise ValueError(
            f"Each sample must be in one test fold, but {n_repeated} are in several of cv={cv!r}. "
            "Pass an int, or a splitter whose test folds are disjoint."
        )
    check_disjoint_folds(folds)
    return folds


def _clone_with(estimator: BaseEstimator, parameter: str, value: float | None) -> BaseEstimator:
    """A clone with the parameter set to a value; unchanged for None."""
    if value is None:
        return clone(estimator)
    params = estimator.get_params()
    if parameter not in params:
        raise ValueError(
            f"{type(estimator).__name__} has no parameter {parameter!r} to set to {value!r}; name "
            "it, as in parameter='constrainedermclassifier__tolerance' of a pipeline, or pass "
            "values=None."
        )
    check_whose_tolerance(params.get(parameter.removesuffix("tolerance") + "constraint"), value)
    return clone(estimator).set_params(**{parameter: value})


def _fit_and_predict(
    models: list[BaseEstimator],
    constraint: Constraint,
    X: np.ndarray,
    y: np.ndarray,
    per_sample: dict[str, TableLike | None],
    fold: tuple[np.ndarray, ...],
    pos_label: int | str | None,
) -> list[list[tuple[tuple, dict]]]:
    """Truth and decisions of a test fold, by the fit of each model on its training rows.

    Several models share the folds of the first one.
    """
    train, test = fold
    first = models[0]
    params = {name: value for name, value in per_sample.items() if value is not None}
    if not get_config()["enable_metadata_routing"]:
        params = {name: one for name, one in params.items() if has_fit_parameter(first, name)}
    params = check_method_params(X, params, indices=train)
    training = safe_indexing(X, train), y[train]
    with mute_warnings(ConstraintCostWarning):  # the front states the cost
        if len(models) == 1:
            first.fit(*training, **params)
        else:
            fit_to_shared_folds(models, *training, **params)
    groups = safe_indexing(per_sample["sensitive_features"], test)
    tested = safe_indexing(X, test), y[test]
    return [predict_for_metric(model, constraint, *tested, groups, pos_label) for model in models]
