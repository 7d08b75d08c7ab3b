"""Certificates: fresh people show that a model keeps a tolerance in their population."""

from functools import partial
from typing import NamedTuple

import numpy as np

from skfair.audit._scored import (
    check_applies,
    check_certifiable,
    check_model,
    metric_kind,
    predictions_of,
    target_and_scores,
)
from skfair.audit._units import RATE, resolve_units
from skfair.groups import check_columns
from skfair.inference import (
    Rates,
    check_level,
    clopper_pearson,
    exact_pair_test,
    required_sample_size,
    upper_limit,
)
from skfair.losses import LogisticLoss
from skfair.metrics import Metric
from skfair.surrogates import Step
from skfair.utils._held_out import refuse_training_data
from skfair.utils._messages import join_names, warn
from skfair.utils._sklearn import safe_indexing


class Certificate(NamedTuple):
    """What fresh people say of a tolerance; made by `certify`.

    Attributes
    ----------
    certified : bool
        Whether the population's gap is at most the tolerance, with the confidence asked for.
    gap : float
        The gap among the fresh people.
    limit : float
        Upper limit of the population's gap at that confidence.
    tolerance, confidence_level : float
        What was asked.
    is_exact : bool
        Whether the answer rests on exact tests alone: then it is wrong in at most one of
        ``1 / (1 - confidence_level)`` samples at any size, and not just for many people.
    required_sample_size : int or None
        Where it is not certified, people of each group that would do in four of five samples, if
        the gap is the one seen; None where no number would.
    unit : str
        What gap, limit and tolerance are measured in. Of "percentage points" they are fractions:
        0.05 are five of them.
    fit_unit : float or None
        What 1 in the units in which the model's fit reads its own tolerance is in this unit; None
        where these units are the same, or the model is of another package.

    Examples
    --------
    >>> from skfair.audit import Certificate
    >>> print(Certificate(True, 0.02, 0.04, 0.05, 0.95, True, None))
    Certified: the gap is at most 0.05 (5 percentage points), with 95 % confidence (0.02 here, \
limit 0.04; exact).
    """

    certified: bool
    gap: float
    limit: float
    tolerance: float
    confidence_level: float
    is_exact: bool
    required_sample_size: int | None
    unit: str = RATE
    fit_unit: float | None = None

    def __str__(self):
        seen = f"{self.gap:.3g} here, limit {self.limit:.3g}"
        if self.is_exact and self.limit <= self.tolerance and not self.certified:
            seen += ", which an exact test does not confirm"
        at = f"{self._bound()}, with {100 * self.confidence_level:g} % confidence"
        if self.certified:
            exactly = "; exact" if self.is_exact else ""
            return f"Certified: the gap is at most {at} ({seen}{exactly})."
        more = "no number of people would show it, if the gap is the one seen"
        if self.gap < self.tolerance:
            more = "more people may show it"
        if self.required_sample_size is not None:
            size = self.required_sample_size
            more = f"{size} people of each group would do, if the gap is the one seen"
        return f"Not certified: these people do not show a gap of at most {at} ({seen}); {more}."

    def _bound(self):
        """The tolerance in all units that are known."""
        if self.unit.startswith(RATE):
            return f"{self.tolerance:g} ({100 * self.tolerance:g} {self.unit})"
        if self.fit_unit is None:
            return f"{self.tolerance:g} {self.unit}"
        own = f"{self.tolerance / self.fit_unit:.3g} in units of the fit"
        return f"{self.tolerance:g} {self.unit} ({own}, where the target has standard deviation 1)"


def certify(
    estimator,
    X,
    y,
    *,
    sensitive_features,
    constraint="demographic_parity",
    tolerance,
    confidence_level=0.95,
    sample_weight=None,
    pos_label=None,
    X_fit=None,
    loss=None,
):
    r"""Ask fresh people whether a model keeps a tolerance in the population they come from.

    The gap is the largest of many differences, and it is certified if every one of them is shown to
    be within the tolerance at the full confidence level: no correction for their number is needed
    ([1]_). For rates of unweighted people in disjoint groups each difference is tested exactly:
    where Clopper and Pearson's limits do not decide, by Berger and Boos's test.
    Else limits are those of
    :func:`skfair.inference.gap_interval`, which hold for many people.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier or regressor, of this package or not. Of more than two classes each is
        certified against the rest, for constraints of decisions.
    X : array-like of shape (n_samples, n_features)
        People whom the model has not seen, in no step of its making: neither for the fit, nor for
        the choice among models.
    y : array-like of shape (n_samples,)
        Their true classes or targets.
    sensitive_features : array-like or sparse matrix
        Group of each of them.
    constraint : str or Constraint, default="demographic_parity"
        Name in :data:`skfair.constraints.CONSTRAINTS`, or an instance with its reference, aggregate
        and so on.
        Of a regressor constraints on its predictions can be certified ("mean_parity",
        "loss_parity", partial parity of ranks), and none on classes or decisions.
    tolerance : float
        Largest gap allowed in the population. For rates and shares a fraction: 0.05 are five
        percentage points. For "mean_parity" in units of the target (of a classifier, of its
        predicted probability, else of its decision function), for losses in units of the loss,
        for "partial_group_auc" in units of the area. Regressors of this package read the
        tolerance of their fit in standard deviations of the target (``target_scale_``, and its
        square for the squared loss): the certificate prints both.
    confidence_level : float, default=0.95
        How often such certificates are right, at least, where the tolerance is not kept.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights, such as inverse probabilities of having been drawn.
    pos_label : label, default=None
        The class that means success; None as in :func:`skfair.metrics.get_scorer`.
    X_fit : array-like of shape (n_fitted, n_features), default=None
        Features of the people of the fit, if they are at hand: X is compared with them.
    loss : str, callable or None, default=None
        Loss that constraints on mean losses compare, if they have none of their own: of a
        classifier a name in :data:`skfair.losses.LOSSES`, of a regressor "squared" (half the
        squared error) or "absolute", or a callable (scores, target) -> Pointwise. None takes the
        loss of an estimator of this package, in units of the target, and the logistic loss of the
        decision function of other classifiers; of other regressors it has to be passed.

    Returns
    -------
    certificate : Certificate
        ``print`` says it in words.

    Raises
    ------
    ValueError
        If the tolerance or the confidence level is out of range, X is the sample of the fit, the
        constraint is not about what the estimator predicts (the error names those that are), the
        loss of a regressor is not known, or for what metrics refuse of predictions, groups and
        weights.
    TypeError
        If the estimator is neither a classifier nor a regressor.

    Warns
    -----
    UserWarning
        If groups are too small for any certificate of rates, or too skewed for their size for one
        of means: they are named; if some rows of X are in `X_fit`; if weights are very uneven.

    References
    ----------
    .. [1] R. L. Berger, "Multiparameter hypothesis testing and acceptance sampling", Technometrics
       24, 1982.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.audit import certify
    >>> rng = np.random.default_rng(0)
    >>> X, group = rng.normal(size=(4000, 1)), rng.choice(["a", "b"], size=4000)
    >>> y = (X[:, 0] + rng.logistic(size=4000) > 0).astype(int)
    >>> model = LogisticRegression().fit(X[:1000], y[:1000])
    >>> fresh = {"sensitive_features": group[1000:], "X_fit": X[:1000]}
    >>> certify(model, X[1000:], y[1000:], tolerance=0.1, **fresh).certified
    True
    """
    check_model(estimator)
    constraint, level = check_certifiable(constraint), check_level(confidence_level)
    if not tolerance > 0:
        raise ValueError(
            f"tolerance must be positive, for no sample can show a gap of 0; got {tolerance!r}."
        )
    check_applies(constraint, estimator)
    constraint, *units = resolve_units(estimator, constraint, loss)
    refuse_training_data(X, X_fit)
    found = predictions_of(estimator, constraint, X, y, sensitive_features, pos_label)
    parts = [
        _answer(
            *bind_to(constraint, predictions, sensitive_features, sample_weight, X=X, **params),
            tolerance=float(tolerance),
            level=level,
        )
        for predictions, params in found
    ]
    unit, fit_unit = units
    return _together(parts)._replace(unit=unit, fit_unit=fit_unit)


def _answer(bound, scores, tolerance, level):
    """The certificate of one gap."""
    estimates, contrasts = bound.estimates(scores)
    limit = upper_limit(estimates, contrasts, level)
    is_exact = _is_exact(estimates, contrasts)
    certified = limit <= tolerance
    if is_exact:
        _report_small_groups(bound, estimates, tolerance, level)
        certified = tolerance >= 1.0 or _is_shown(estimates, contrasts, tolerance, level)
        limit = min(limit, tolerance) if certified else limit
    else:
        _report_uncertain(bound, estimates)
    gap = bound.gap(scores)
    needed = None if certified else _needed(bound, estimates, tolerance - gap, level)
    return Certificate(bool(certified), gap, limit, tolerance, level, is_exact, needed)


def _together(parts):
    """One certificate of all classes: each is shown at the full level, so that all are."""
    failed = [part for part in parts if not part.certified]
    needed = [part.required_sample_size for part in failed]
    return parts[0]._replace(
        certified=not failed,
        gap=max(part.gap for part in parts),
        limit=max(part.limit for part in parts),
        is_exact=all(part.is_exact for part in parts),
        required_sample_size=None if not needed or None in needed else max(needed),
    )


def limit_metric(constraint, *, confidence_level=0.95):
    """The upper limit of a gap as a metric, so that a scorer can be made of it.

    A search by it prefers models of which the people left out *show* a small gap, and not those
    whose gap is small by luck: with ``best_subject_to`` and a bound of .05 it takes one that keeps
    .05 with that confidence, on each test fold.

    Parameters
    ----------
    constraint : str or Constraint
        Name in :data:`skfair.constraints.CONSTRAINTS`, or an instance. The metric takes the
        predictions that its public metric takes, in the same units: rates as fractions, mean
        losses of the decision function in units of the constraint's loss (logistic, if it has
        none). Predicted numbers are taken by constraints on scores alone, such as "mean_parity".
    confidence_level : float, default=0.95
        How often the limit holds, for a model that does not depend on these people.

    Returns
    -------
    metric : Metric
        To be passed to :func:`skfair.metrics.get_scorer`; less of it is better.

    Raises
    ------
    ValueError
        If there is no such constraint, or the confidence level is not between 0 and 1.

    Examples
    --------
    >>> from skfair.audit import limit_metric
    >>> limit = limit_metric("equal_opportunity")
    >>> y_true, group = [1, 1, 0, 1] * 100, ["a", "b"] * 200
    >>> 0.05 < limit(y_true, y_true, sensitive_features=group) < 0.1
    False
    """
    constraint = check_certifiable(constraint)
    function = partial(_limit, constraint=constraint, level=check_level(confidence_level))
    return Metric(function, metric_kind(constraint), greater_is_better=False, best=0.0)


def _limit(*predictions, sensitive_features, constraint, level, sample_weight=None, **params):
    bound, scores = bind_to(constraint, predictions, sensitive_features, sample_weight, **params)
    return upper_limit(*bound.estimates(scores), level)


def bind_to(constraint, predictions, sensitive_features, sample_weight, X=None, **params):
    """The constraint bound to the people, and their scores.

    Parameters
    ----------
    constraint : Constraint
        What is compared.
    predictions : tuple of array-like
        Positional arguments of its metric.
    sensitive_features, sample_weight
        As passed by the user.
    X : array-like or None, default=None
        Features, for constraints that look at them.
    **params : dict
        As `target_and_scores` takes them.

    Returns
    -------
    bound : MetricConstraint
    scores : ndarray of shape (n_present,)
    """
    rows = np.arange(len(predictions[0]))
    columns = {f"prediction {i}": column for i, column in enumerate(predictions)}
    people, (*columns, rows) = check_columns(
        sensitive_features, sample_weight, **columns, rows=rows
    )
    target, scores = target_and_scores(metric_kind(constraint), columns, **params)
    known = X if X is None or len(rows) == len(predictions[0]) else safe_indexing(X, rows)
    people = people._replace(target=target, X=known)
    return constraint.bind(people, Step(), LogisticLoss(), tolerance=1.0), scores


def _is_exact(estimates, contrasts):
    """Whether all linear forms are differences of binomial shares."""
    if not isinstance(estimates, Rates) or estimates.is_weighted:
        return False
    pairs = (abs(contrasts).sum(axis=1) == 2) & (contrasts.sum(axis=1) == 0)
    return estimates.correlation is None and bool(pairs.all())


def _is_shown(estimates, contrasts, tolerance, level):
    """Whether every difference is within the tolerance, exactly."""
    hits, n = estimates.hits, estimates.counts
    low, high = clopper_pearson(hits, n, (1.0 + level) / 2.0)
    first, second = contrasts.argmax(axis=1).ravel(), contrasts.argmin(axis=1).ravel()
    # Both limits hold at once, so that pairs which they decide need no test of their own.
    undecided = np.flatnonzero(high[first] - low[second] > tolerance)
    by_limits = estimates.upper(contrasts, level)
    # What even the limits for many people do not show is not tested: it would fail.
    return all(
        by_limits[pair] <= tolerance
        and _p_value(hits, n, first[pair], second[pair], tolerance) <= 1.0 - level
        for pair in undecided
    )


def _p_value(hits, n, first, second, tolerance):
    return exact_pair_test((hits[first], hits[second]), (n[first], n[second]), tolerance)


def _report_small_groups(bound, estimates, tolerance, level):
    """Name groups of which even no success at all would leave more than the tolerance open."""
    if tolerance >= 1.0:
        return
    needed = int(np.ceil(np.log(1.0 - level) / np.log(1.0 - tolerance)))
    small = np.flatnonzero(estimates.counts < needed)
    if len(small):
        warn(
            f"Nothing can be certified of groups with fewer than {needed} people, at tolerance="
            f"{tolerance:g} and confidence_level={level:g}: {_named(bound, estimates, small)}. "
            "Ask more people, or leave these groups out (min_group_size of the constraint)."
        )


def _report_uncertain(bound, estimates):
    """Name groups of which the mean of a skewed value is hardly known."""
    uncertain = np.flatnonzero(estimates.is_uncertain)
    if len(uncertain):
        warn(
            f"Values of these groups are too skewed for so few samples, or all equal: "
            f"{_named(bound, estimates, uncertain)}. A certificate may be wrong more often than "
            "confidence_level says. Use more held-out samples, or a bounded loss."
        )


def _named(bound, estimates, events):
    """Some of the events with their numbers of samples, as text."""
    return join_names(
        f"{group!r} ({'' if cell == 'all' else cell + ': '}{estimates.counts[event]})"
        for event, (cell, group) in ((event, bound.means.labels[event]) for event in events)
    )


def _needed(bound, estimates, left, level):
    """Samples of each group, and cell, for what the gap seen leaves of the tolerance."""
    if not isinstance(estimates, Rates) or left <= 0.0:
        return None
    # The rate of largest variance, which is the one nearest to a half. Rates of 0 and 1 are moved
    # inwards by half a sample.
    half = 0.5 / (estimates.sizes + 1.0)
    rates = np.clip(estimates.values, half, 1.0 - half)
    rate = float(rates[np.abs(rates - 0.5).argmin()])
    n_groups = max(2, len({group for _, group in bound.means.labels}))
    return required_sample_size(
        min(left, 0.99), n_groups=n_groups, rate=rate, confidence_level=level
    )
