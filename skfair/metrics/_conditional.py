"""Conditional demographic parity: selection rates compared within strata."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import check_columns, check_groups, merge_duplicate_rows
from skfair.metrics._docstrings import classification_docs
from skfair.metrics._gaps import gap, ratio
from skfair.metrics._rates import find_positive
from skfair.utils._messages import join_names, warn
from skfair.utils._types import Label, MatrixLike


@classification_docs
def conditional_demographic_parity_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    strata: Any,
    reference: Literal["groups", "overall"] = "groups",
    aggregate: str = "max",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest difference of the groups' selection rates within one stratum.

    .. math::

        \max_l \bigl( \max_g s_{g l} - \min_g s_{g l} \bigr), \quad
        s_{g l} = \Pr(\hat{y} = 1 \mid g, l)

    Strata are levels of a variable that may legitimately explain a difference, such as education or
    income bracket: groups are compared within each of them ([1]_, "conditional statistical
    parity").

    Parameters
    ----------
    {y_true, y_pred, sensitive_features}
    strata : array-like of shape (n_samples,)
        Stratum of each sample. A stratum with a single group has nothing to compare.
    {reference, aggregate}
        "sum" also adds the differences of the strata.
    {sample_weight, pos_label}

    Returns
    -------
    difference : float
        In [0, 1], 0 is fair. 0 with a single group, and where no stratum has two groups.

    Raises
    ------
    {ValueError}

    References
    ----------
    .. [1] S. Corbett-Davies, E. Pierson, A. Feller, S. Goel and A. Huq, "Algorithmic decision
       making and the cost of fairness", KDD 2017.

    Examples
    --------
    >>> from skfair.metrics import conditional_demographic_parity_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 1, 0, 0]
    >>> group = ["a", "a", "a", "b", "a", "b", "b", "b"]
    >>> level = ["high", "high", "high", "high", "low", "low", "low", "low"]
    >>> conditional_demographic_parity_difference(
    ...     y_true, y_pred, sensitive_features=group, strata=level
    ... )  # high: 3/3 - 0/1, low: 1/1 - 1/3
    1.0
    """
    cells = _strata_rates(y_true, y_pred, sensitive_features, strata, sample_weight, pos_label)
    # A stratum with a single group has no difference.
    if reference == "groups":
        cells = [cell for cell in cells if (~np.isnan(cell[0])).sum() > 1]
    return gap(cells, reference, aggregate) if cells else 0.0


@classification_docs
def conditional_demographic_parity_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    strata: Any,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smallest ratio of the groups' selection rates within one stratum.

    .. math::

        \min_l \frac{\min_g s_{g l}}{\max_g s_{g l}}, \quad
        s_{g l} = \Pr(\hat{y} = 1 \mid g, l)

    Parameters
    ----------
    {y_true, y_pred, sensitive_features}
    strata : array-like of shape (n_samples,)
        Stratum of each sample, as in :func:`conditional_demographic_parity_difference`.
    {sample_weight, pos_label}

    Returns
    -------
    ratio : float
        In [0, 1], 1 is fair. 1 with a single group, and where no stratum has two groups or a
        positive decision.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from skfair.metrics import conditional_demographic_parity_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 1, 1, 1, 0, 0]
    >>> group = ["a", "a", "a", "b", "a", "b", "b", "b"]
    >>> level = ["high", "high", "high", "high", "low", "low", "low", "low"]
    >>> conditional_demographic_parity_ratio(
    ...     y_true, y_pred, sensitive_features=group, strata=level
    ... )  # high: (1/1) / (3/3), low: (1/3) / (1/1)
    0.3333333333333333
    """
    cells = _strata_rates(y_true, y_pred, sensitive_features, strata, sample_weight, pos_label)
    ratios = [ratio(rates) for rates, _ in cells if (~np.isnan(rates)).sum() > 1]
    return float(np.min(ratios, initial=1.0))


def _strata_rates(y_true, y_pred, sensitive_features, strata, sample_weight, pos_label):
    """Check the input; selection rates of the groups, and of all samples, in each stratum."""
    groups, weights, columns = merge_duplicate_rows(
        sensitive_features, sample_weight, y_true=y_true, y_pred=y_pred, strata=strata
    )
    samples, (truth, predicted, levels) = check_columns(groups, weights, **columns)
    selected = predicted == find_positive(truth, predicted, pos_label=pos_label)
    return _selection_rates(samples, selected, check_groups(levels, len(levels)))


def _selection_rates(samples, selected, strata):
    """Selection rates of the groups, and of all samples, in each stratum."""
    # Weight of every group, and of its selected samples, in every stratum.
    rows, codes = samples.groups.memberships
    shape = len(strata.labels), len(samples.groups.labels)
    cells = strata.codes[rows] * shape[1] + codes
    weights = samples.weights[rows]
    totals = np.bincount(cells, weights, np.prod(shape)).reshape(shape)
    hits = np.bincount(cells, weights * selected[rows], np.prod(shape)).reshape(shape)
    rates = np.divide(hits, totals, out=np.full(shape, np.nan), where=totals > 0)
    # Samples in several groups count once in the overall rate.
    overall = np.bincount(strata.codes, samples.weights * selected)
    overall /= np.bincount(strata.codes, samples.weights)
    empty = [(strata.names[s], samples.groups.names[g]) for s, g in np.argwhere(totals == 0)]
    if empty and len(samples.groups.names) > 1:
        named = join_names(f"{group!r} in {stratum!r}" for stratum, group in empty)
        warn(
            f"{len(empty)} of {totals.size} groups within strata are empty: {named}. The others "
            "are compared.",
            UndefinedMetricWarning,
        )
    return list(zip(rates, overall, strict=True))
