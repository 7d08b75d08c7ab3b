"""Choose among candidates by accuracy, subject to a bound on a fairness metric; fit ladders."""

from __future__ import annotations

import numbers
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit
from sklearn.base import BaseEstimator, clone

from skfair._utils.api import MatrixLike
from skfair._utils.checks import (
    argument_error,
    check_tolerance,
    list_values,
    warn,
)
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.metrics import METRICS

__all__ = ["best_subject_to", "fit_ladder"]


LADDER = (0.995, 0.98, 0.95, 0.9, 0.8, 0.65, 0.5, 0.3, None)
"""Confidence levels of a ladder, from tight to loose."""


def fit_ladder(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    parameter: str = "confidence_level",
    values: Sequence[Any] = LADDER,
    **fit_params: Any,
) -> list[BaseEstimator]:
    """Fit clones of an estimator that differ in one parameter, from tight to loose.

    For :func:`skfair.audit.certify_in_order`, which tests them on held-out data in this order.
    Wrappers (`ConstrainedClassifierCV`, `ConstrainedRegressorCV`) fit their folds and models of
    groups once for all values of ``tolerance`` or ``confidence_level``. `PartialParityClassifier`
    and `PartialParityRegressor` have the model of the next tighter ``tolerance`` as a candidate: no
    looser one ends with a larger training objective. Other estimators, pipelines and searches are
    fitted one by one.

    Parameters
    ----------
    estimator : estimator
        Any estimator that has the parameter; it is not fitted itself.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Training data.
    y : array-like of shape (n_samples,)
        Target.
    parameter : str, default="confidence_level"
        Name of the parameter, such as "tolerance", or "classifier__tolerance" of a pipeline.
    values : sequence, default=(.995, .98, .95, .9, .8, .65, .5, .3, None)
        Its values from tight to loose: confidence levels fall, and tolerances rise.
    **fit_params : dict
        Further arguments of ``fit``, such as ``sensitive_features``.

    Returns
    -------
    estimators : list of estimator
        A fitted estimator for each value.

    Raises
    ------
    ValueError
        If the estimator has no such parameter, there are no values, or a fit raises.

    See Also
    --------
    skfair.audit.certify_in_order : Tests the estimators on held-out data.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.audit import Audit, certify_in_order
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.model_selection import fit_ladder
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["f", "m"], 8000)
    >>> X = np.column_stack([rng.normal(size=8000), rng.normal(size=8000) + (sex == "m")])
    >>> y = (X.sum(axis=1) + rng.logistic(size=8000) > 0.5).astype(int)
    >>> X_train, y_train, X_test, y_test = X[:4000], y[:4000], X[4000:], y[4000:]
    >>> model = ConstrainedERMClassifier("demographic_parity", tolerance=0.1)
    >>> ladder = fit_ladder(model, X_train, y_train, sensitive_features=sex[:4000])
    >>> held_out = {"sensitive_features": sex[4000:]}
    >>> audits = [Audit.from_estimator(one, X_test, y_test, **held_out) for one in ladder]
    >>> position, claim = certify_in_order(audits, "demographic_parity", 0.1)
    >>> position, claim.verdict
    (4, 'shown')
    """
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(
            "estimator must be an object with get_params and fit, such as "
            f"ConstrainedClassifierCV(); got {estimator!r}."
        )
    if not isinstance(parameter, str) or parameter not in estimator.get_params():
        raise argument_error(
            f"parameter must be one of {type(estimator).__name__}.get_params(), but is "
            f"{parameter!r}."
        )
    values = list_values(values)
    candidates = [clone(estimator).set_params(**{parameter: value}) for value in values]
    if share_folds(estimator, parameter, values):
        return fit_to_shared_folds(candidates, X, y, **fit_params)
    return [one.fit(X, y, **fit_params) for one in candidates]


def fit_to_shared_folds(
    candidates: list[BaseEstimator], X: MatrixLike, y: ArrayLike, **fit_params: Any
) -> list[BaseEstimator]:
    """Fit candidates together, of which `share_folds` is true.

    What wrappers wrap is fitted for the first of them alone. Other estimators are fitted from the
    tightest tolerance to the loosest, each with the model of the one before as a candidate, so that
    no looser tolerance ends with a larger training objective.
    """
    if hasattr(candidates[0], "_score_samples"):
        scored = candidates[0]._score_samples(X, y, **fit_params)
        return [one._fit_to_folds(scored, X, y) for one in candidates]
    tighter = None
    for one in sorted(candidates, key=attrgetter("tolerance")):
        if tighter is None:
            one.fit(X, y, **fit_params)
        else:
            one._fit_from(X, y, tighter, **fit_params)
        tighter = one
    return candidates


def share_folds(estimator: BaseEstimator, parameter: str, values: Sequence[Any]) -> bool:
    """Whether fits at several values of a parameter are made together.

    Wrappers share their folds, and models under a constraint on ranks start at one another.
    """
    is_wrapper = hasattr(estimator, "_fit_rule")
    # Tolerances by attribute compare other groups than one tolerance does.
    is_by_attribute = any(isinstance(value, Mapping) for value in values)
    if is_wrapper:
        return parameter in ("tolerance", "confidence_level") and not is_by_attribute
    is_on_ranks = getattr(estimator, "_compares_ranks_alone", False) and parameter == "tolerance"
    return is_on_ranks and all(isinstance(value, numbers.Real) for value in values)


def best_subject_to(
    metric: str,
    bound: float,
    *,
    objective: str | None = None,
    margin: float = 0.0,
    confidence_level: float | None = None,
) -> Callable[[dict[str, Any]], int]:
    r"""Make the `refit` of a search: the best candidate among those that keep a fairness bound.

    For `sklearn.model_selection.GridSearchCV` and its relatives with several scorers. Candidates
    are compared by their mean scores over the test folds. If no candidate keeps the bound, the one
    with the smallest violation is selected, with a warning. Candidates with a score of nan are
    never selected: their scorer or their fit raised an error, of which the search has warned.
    `HalvingGridSearchCV` and `HalvingRandomSearchCV` ignore a `refit` that is a function, without a
    warning: they select by their one score, so that the bound is lost.

    Parameters
    ----------
    metric : str
        Name of the fairness scorer among the search's `scoring`. One that starts with ``"neg_"`` is
        minus a metric of which less is better, as in `skfair.metrics.get_scorer`, and the metric
        must be at most `bound`. So is one of another name, with a warning, if no score is above 0.
        Any other score must be at least `bound`.
    bound : float
        In the unit of the metric itself, without a minus sign: 0.05 for
        "neg_demographic_parity_difference", 0.8 for "demographic_parity_ratio".
    objective : str, default=None
        Name of the scorer to be as large as possible; None takes the first of the others.
    margin : float, default=0.0
        Number of standard errors of the mean over the test folds by which the bound must be kept.
        With 1 a model that keeps it by chance is seldom selected.
    confidence_level : float between 0 and 1, or None, default=None
        Probability with which the selected candidate keeps the bound on held-out data, instead of a
        margin; see Notes.

    Returns
    -------
    refit : callable
        Maps the ``cv_results_`` of a search to the index of its best candidate. It can be pickled.
        The search's own ``score`` is then that of the objective.

    Raises
    ------
    ValueError
        If the bound is not a finite number, or none that the metric of this name can have, such as
        percent for a rate, the margin is negative, the confidence level is not
        between 0 and 1, or both are given. By the search: if it has no scorer of one of the names,
        or no candidate has both scores.

    Warns
    -----
    InfeasibleConstraintWarning
        By the search: if no candidate keeps the bound.

    See Also
    --------
    skfair.metrics.get_scorer : Makes the fairness scorers.

    Notes
    -----
    With ``confidence_level`` a candidate keeps the bound if Student's limit of its mean does,

    .. math:: \bar g_c + t \, s_c \, \sqrt{1 / K + 1 / (K - 1)},

    for K test folds. The root corrects the variance for training folds that share samples ([1]_).
    The quantile t is that of the level :math:`1 - \delta / m` for m candidates (Bonferroni), so
    that the statement holds for the selected one and not only for each. The correction costs
    little, because the m candidates also estimate the variance together: :math:`s_c^2` is the
    larger of the candidate's own variance over the folds and the mean of all, and t has
    :math:`m (K - 1)` degrees of freedom. At .95 and 5 folds, t is 2.13 for one candidate, 2.89 for
    20 and 3.32 for 100. ``python -m benchmarks selection`` draws candidates on the wrong side of
    the bound and prints how often one of them is selected without a warning. The search then refits
    the selected candidate to all samples, while the statement is about the fits to the training
    folds.

    References
    ----------
    .. [1] C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52,
       2003.

    Examples
    --------
    >>> import numpy as np
    >>> import sklearn
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skfair.metrics import get_scorer
    >>> from skfair.model_selection import best_subject_to
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=500)
    >>> X = np.column_stack((rng.normal(size=500), group + rng.normal(size=500)))
    >>> y = X @ [1.0, 1.0] > 0.5
    >>> name = "neg_demographic_parity_difference"
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     search = GridSearchCV(
    ...         LogisticRegression(),
    ...         {"C": [1e-3, 1e-2, 1.0]},
    ...         scoring={"accuracy": "accuracy", name: get_scorer(name)},
    ...         refit=best_subject_to(name, 0.25),
    ...     ).fit(X, y, sensitive_features=group)
    >>> search.cv_results_["mean_test_accuracy"].round(2)
    array([0.85, 0.97, 0.99])
    >>> -search.cv_results_[f"mean_test_{name}"].round(2)
    array([0.22, 0.26, 0.27])
    >>> search.best_params_
    {'C': 0.001}
    """
    if not (isinstance(bound, numbers.Real) and np.isfinite(bound)):
        raise ValueError(f"bound must be a finite number, in the metric's unit; got {bound!r}.")
    for name, value in {"metric": metric, "objective": objective}.items():
        if not isinstance(value, str) and (value is not None or name == "metric"):
            raise argument_error(
                f"{name} must be a name in the scoring of the search; got {value!r}."
            )
    known = METRICS.get(metric.removeprefix("neg_"))
    if known is not None:
        check_tolerance(bound, known.largest, name="bound", of=metric)
    if not (isinstance(margin, numbers.Real) and 0 <= margin < np.inf):
        raise ValueError(f"margin must be a number of standard errors, at least 0; got {margin!r}.")
    if confidence_level is not None:
        if not (isinstance(confidence_level, numbers.Real) and 0 < confidence_level < 1):
            raise ValueError(
                f"confidence_level must be a number between 0 and 1, or None; got "
                f"{confidence_level!r}."
            )
        if margin:
            raise ValueError(
                "margin and confidence_level both set a margin of the bound; pass one of them."
            )
    return BestSubjectTo(metric, bound, objective, margin, confidence_level)


@dataclass(eq=False)
class BestSubjectTo:
    """The best candidate of a search under a bound; made by `best_subject_to`.

    A search scores by the scorer that its ``refit`` names: this one equals the name of its
    objective.
    """

    metric: str
    bound: float
    objective: str | None
    margin: float = 0.0
    confidence_level: float | None = None

    def __eq__(self, other):
        if isinstance(other, str):
            return self.objective == other
        return isinstance(other, BestSubjectTo) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.objective)

    def __call__(self, cv_results: dict[str, Any]) -> int:
        """Index of the best candidate in the ``cv_results_`` of a search."""
        fairness, objective = self._resolve_scores(cv_results)
        known = ~(np.isnan(fairness) | np.isnan(objective))
        if not known.any():
            raise ValueError(
                f"A candidate must have scores for both {self.metric!r} and the objective, but one "
                'of them is nan for each. Run the search with error_score="raise" to see why.'
            )
        limits = fairness - self._margins(cv_results, known)
        is_negated = self._is_negated(fairness[known])
        feasible = known & (limits >= (-self.bound if is_negated else self.bound))
        if not feasible.any():
            feasible = known & (limits == limits[known].max())
            self._warn_of_infeasible(fairness[feasible].max(), is_negated)
        return int(np.argmax(np.where(feasible, objective, -np.inf)))

    def _is_negated(self, scores: np.ndarray) -> bool:
        """Whether less of the metric is better, by the name of the scorer or the sign of scores."""
        is_named = self.metric.startswith("neg_")
        if is_named or self.metric in METRICS or scores.max() > 0.0 or self.bound <= 0.0:
            return is_named
        if scores.min() < 0.0:
            warn(
                f"All scores of {self.metric!r} are at most 0, so that it is taken for minus a "
                f"metric that must be at most {self.bound:g}. Name the scorer neg_{self.metric}."
            )
        return bool(scores.min() < 0.0)

    def _resolve_scores(self, cv_results: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Mean test scores of every candidate, by the metric and by the objective."""
        prefix = "mean_test_"
        names = [key.removeprefix(prefix) for key in cv_results if key.startswith(prefix)]
        others = [name for name in names if name != self.metric]
        objective = self.objective or (others[0] if others else "an objective")
        for name in (self.metric, objective):
            if name not in names:
                raise ValueError(
                    f"The search must have the scorers {self.metric!r} and {objective}, but has "
                    f"{names}. Name both in its scoring, as in "
                    f'scoring={{"accuracy": "accuracy", {self.metric!r}: ...}}.'
                )
        # The search's own score is that of the objective, which is known only now.
        self.objective = objective
        return cv_results[prefix + self.metric], cv_results[prefix + objective]

    def _margins(self, cv_results: dict[str, Any], known: np.ndarray) -> np.ndarray:
        """Margin by which the mean of each candidate must keep the bound, (n_candidates,)."""
        if self.margin == 0 and self.confidence_level is None:
            return np.zeros(len(known))
        name = re.compile(rf"split\d+_test_{re.escape(self.metric)}")
        folds = np.array([cv_results[key] for key in cv_results if name.fullmatch(key)])
        n_folds = len(folds)
        if n_folds < 2:
            raise ValueError(
                "A margin or confidence_level requires the variance over at least 2 test folds, "
                f"but the search has {n_folds}. Pass another cv."
            )
        variances: np.ndarray = folds.var(axis=0, ddof=1)
        if self.confidence_level is None:
            return self.margin * np.sqrt(variances / n_folds)
        # Student's limit at a level that holds for all candidates, with the larger of each
        # candidate's variance and the mean variance. Training folds share samples.
        n_candidates = known.sum()
        level = 1.0 - (1.0 - self.confidence_level) / n_candidates
        quantile = float(stdtrit(n_candidates * (n_folds - 1), level))
        variances = np.maximum(variances, variances[known].mean())
        return quantile * np.sqrt(variances * (1.0 / n_folds + 1.0 / (n_folds - 1.0)))

    def _warn_of_infeasible(self, closest: float, is_negated: bool) -> None:
        """Warn that no candidate keeps the bound, and how close the selected one is."""
        sign, relation = (-1, "at most") if is_negated else (1, "at least")
        margin = f", with a margin of {self.margin:g} standard errors," if self.margin else ""
        if self.confidence_level is not None:
            margin = f", with a confidence of {self.confidence_level:g},"
        warn(
            f"No candidate has a mean {self.metric.removeprefix('neg_')} of {relation} "
            f"{self.bound:g}{margin} over the test folds; the closest, with "
            f"{sign * closest:.4g}, is selected. Search fairer candidates, such as smaller "
            "tolerances, or loosen the bound.",
            InfeasibleConstraintWarning,
        )
