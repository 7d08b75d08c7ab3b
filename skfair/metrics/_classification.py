"""Differences and ratios of rates of a classifier between groups, also within strata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from skfair._groups import check_groups
from skfair._groups.duplicates import merge_duplicate_rows
from skfair._groups.samples import check_metric_input
from skfair._utils.api import Agg, ComparisonMethod, Label, MatrixLike
from skfair._utils.checks import join_names, warn
from skfair._utils.tables import to_pandas_table
from skfair.metrics._docstrings import classification_docs
from skfair.metrics._rates import (
    confusion_matrices,
    find_positive,
    gap,
    rate_difference,
    rate_ratio,
    ratio,
)
from skfair.metrics._registry import register_metric

if TYPE_CHECKING:
    from skfair._groups import Samples
    from skfair._groups.groups import Groups


# Differences of the rates of a binary classifier between groups.


@classification_docs
@register_metric("classification")
def demographic_parity_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    control_features: ArrayLike | None = None,
    method: ComparisonMethod = "between_groups",
    agg: Agg = "worst_case",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest difference of selection rates between groups (statistical parity difference).

    .. math:: \max_g s_g - \min_g s_g, \quad s_g = \Pr(\hat{y} = 1 \mid g)

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    {y_true}
        This metric does not depend on it.
    {y_pred, sensitive_features}
    control_features : array-like of shape (n_samples,), default=None
        Stratum of each sample, such as a degree or an income bracket, within whose values groups
        are compared ([2]_, "conditional statistical parity"). The largest difference of all
        strata counts. A stratum with a single group has nothing to compare.
    {method, agg}
        Of strata; without control features there is nothing to aggregate.
    {sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    See Also
    --------
    demographic_parity_ratio : The smallest rate over the largest.
    group_report : The rates of every group with their standard errors.

    Notes
    -----
    This is independence of prediction and group, next to :func:`separation_gap` and
    :func:`sufficiency_gap`.

    All metrics of decisions share some rules. A rate over no samples, such as the true positive
    rate of a group without positives, is unknown: the group is left out of the comparison with an
    `sklearn.exceptions.UndefinedMetricWarning` that names it, and where fewer than two groups are
    left the metric is nan. With integer weights they equal the metric of repeated samples.

    Large data are counted in blocks of rows, by as many threads as a `joblib.parallel_config`
    sets, with bit-identical results for any number of them.

    References
    ----------
    .. [1] A. Agarwal, A. Beygelzimer, M. Dudík, J. Langford and H. Wallach, "A reductions approach
       to fair classification", ICML 2018, Definition 1.
    .. [2] S. Corbett-Davies, E. Pierson, A. Feller, S. Goel and A. Huq, "Algorithmic decision
       making and the cost of fairness", KDD 2017.

    Examples
    --------
    >>> from skfair.metrics import demographic_parity_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> demographic_parity_difference(y_true, y_pred, sensitive_features=group)  # 3/4 - 1/4
    0.5

    Within strata, high: 2/2 - 1/2, low: 1/2 - 0/2:

    >>> level = ["high", "high", "low", "low"] * 2
    >>> demographic_parity_difference(
    ...     y_true, y_pred, sensitive_features=group, control_features=level
    ... )
    0.5
    """
    if control_features is None:
        matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
        return rate_difference(matrices, "selection_rate", method=method)
    rows = y_true, y_pred, sensitive_features, control_features, sample_weight
    cells = _strata_rates(rows, pos_label, method)
    return gap(cells, method, agg) if cells else 0.0


@classification_docs
@register_metric("classification")
def equal_opportunity_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest difference of true positive rates between groups.

    .. math:: \max_g t_g - \min_g t_g, \quad t_g = \Pr(\hat{y} = 1 \mid y = 1, g)

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    References
    ----------
    {hardt2016}

    Examples
    --------
    >>> from skfair.metrics import equal_opportunity_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> equal_opportunity_difference(y_true, y_pred, sensitive_features=group)  # 2/2 - 1/2
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_difference(matrices, "true_positive_rate", method=method)


@classification_docs
@register_metric("classification")
def false_positive_rate_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest difference of false positive rates between groups.

    .. math:: \max_g f_g - \min_g f_g, \quad f_g = \Pr(\hat{y} = 1 \mid y = 0, g)

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    See Also
    --------
    equalized_odds_difference : The larger of this and the same of true positive rates.

    Examples
    --------
    >>> from skfair.metrics import false_positive_rate_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> false_positive_rate_difference(y_true, y_pred, sensitive_features=group)  # 1/2 - 0/2
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_difference(matrices, "false_positive_rate", method=method)


@classification_docs
@register_metric("classification")
def equalized_odds_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    agg: Agg = "worst_case",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Larger of the differences of true and of false positive rates between groups.

    .. math:: \max\left(\max_g t_g - \min_g t_g, \; \max_g f_g - \min_g f_g\right)

    with :math:`t_g = \Pr(\hat{y} = 1 \mid y = 1, g)` and
    :math:`f_g = \Pr(\hat{y} = 1 \mid y = 0, g)`.

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, agg, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    See Also
    --------
    separation_gap : The sum of the two differences.

    References
    ----------
    {hardt2016}

    Examples
    --------
    >>> from skfair.metrics import equalized_odds_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> equalized_odds_difference(y_true, y_pred, sensitive_features=group)  # both are 1/2
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_difference(
        matrices, "true_positive_rate", "false_positive_rate", method=method, agg=agg
    )


@classification_docs
@register_metric("classification")
def accuracy_score_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest difference of accuracies between groups, and so of error rates.

    .. math:: \max_g a_g - \min_g a_g, \quad a_g = \Pr(\hat{y} = y \mid g)

    With ``method="above_overall"`` it is the largest excess of a group's *error rate* over that
    of all samples.

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from skfair.metrics import accuracy_score_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> accuracy_score_difference(y_true, y_pred, sensitive_features=group)  # 3/4 - 3/4
    0.0
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_difference(matrices, "error_rate", method=method)


# Selection rates compared within strata.


def _strata_rates(
    rows: tuple, pos_label: float | str | None, method: str
) -> list[tuple[np.ndarray, float]]:
    """Check the input; selection rates of the groups, and of all samples, in each stratum."""
    y_true, y_pred, sensitive_features, control_features, sample_weight = rows
    strata = to_pandas_table(control_features)
    columns = {"y_true": y_true, "y_pred": y_pred, "control_features": strata}
    groups, weights, columns = merge_duplicate_rows(sensitive_features, sample_weight, **columns)
    samples, (truth, predicted, levels) = check_metric_input(groups, weights, **columns)
    selected = predicted == find_positive(truth, predicted, pos_label=pos_label)
    cells = _selection_rates(samples, selected, check_groups(levels, len(levels)))
    # A stratum with a single group has no difference.
    return [one for one in cells if method != "between_groups" or (~np.isnan(one[0])).sum() > 1]


def _selection_rates(
    samples: Samples, selected: np.ndarray, strata: Groups
) -> list[tuple[np.ndarray, float]]:
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
    hits_of_all = np.bincount(strata.codes, samples.weights * selected)
    overall = hits_of_all / np.bincount(strata.codes, samples.weights)
    empty = [(strata.names[s], samples.groups.names[g]) for s, g in np.argwhere(totals == 0)]
    if empty and len(samples.groups.names) > 1:
        named = join_names(f"{group!r} in {stratum!r}" for stratum, group in empty)
        warn(
            f"{len(empty)} of {totals.size} groups within strata are empty: {named}. The others "
            "are compared.",
            UndefinedMetricWarning,
        )
    return list(zip(rates, overall, strict=True))


# Ratios of the rates of a binary classifier between groups: smallest over largest.


@classification_docs
@register_metric("classification", best=1.0)
def demographic_parity_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    control_features: ArrayLike | None = None,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smallest over largest selection rate among groups (disparate impact ratio).

    .. math:: \min_g s_g \, / \, \max_g s_g, \quad s_g = \Pr(\hat{y} = 1 \mid g)

    Also known as the adverse impact ratio. The four-fifths (80 %) rule of employment law requires
    at least 0.8.

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features}
    control_features : array-like of shape (n_samples,), default=None
        Stratum of each sample, as in :func:`demographic_parity_difference`; the smallest ratio
        counts. It is 1 where no stratum has two groups or a positive decision.
    {method, sample_weight, pos_label}

    Returns
    -------
    {ratio}

    Raises
    ------
    {ValueError}

    See Also
    --------
    demographic_parity_difference : The largest rate minus the smallest.

    Examples
    --------
    >>> from skfair.metrics import demographic_parity_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> demographic_parity_ratio(y_true, y_pred, sensitive_features=group)  # (1/4) / (3/4)
    0.3333333333333333
    """
    if control_features is None:
        matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
        return rate_ratio(matrices, "selection_rate", method=method)
    rows = y_true, y_pred, sensitive_features, control_features, sample_weight
    cells = _strata_rates(rows, pos_label, method)
    return ratio(cells, method, names=["selection_rate"]) if cells else 1.0


@classification_docs
@register_metric("classification", best=1.0)
def equal_opportunity_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smallest over largest true positive rate among groups.

    .. math:: \min_g t_g \, / \, \max_g t_g, \quad t_g = \Pr(\hat{y} = 1 \mid y = 1, g)

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, sample_weight, pos_label}

    Returns
    -------
    {ratio}

    Raises
    ------
    {ValueError}

    References
    ----------
    {hardt2016}

    Examples
    --------
    >>> from skfair.metrics import equal_opportunity_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> equal_opportunity_ratio(y_true, y_pred, sensitive_features=group)  # (1/2) / (2/2)
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_ratio(matrices, "true_positive_rate", method=method)


@classification_docs
@register_metric("classification", best=1.0)
def false_positive_rate_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smallest over largest false positive rate among groups.

    .. math:: \min_g f_g \, / \, \max_g f_g, \quad f_g = \Pr(\hat{y} = 1 \mid y = 0, g)

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, sample_weight, pos_label}

    Returns
    -------
    {ratio}

    Raises
    ------
    {ValueError}

    See Also
    --------
    false_positive_rate_difference : The largest rate minus the smallest.

    Examples
    --------
    >>> from skfair.metrics import false_positive_rate_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 1, 1, 0, 1, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> false_positive_rate_ratio(y_true, y_pred, sensitive_features=group)  # (1/2) / (2/2)
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_ratio(matrices, "false_positive_rate", method=method)


@classification_docs
@register_metric("classification", best=1.0)
def equalized_odds_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    agg: Agg = "worst_case",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smaller of the ratios between groups of true and of false positive rates.

    .. math:: \min\left(\frac{\min_g t_g}{\max_g t_g}, \; \frac{\min_g f_g}{\max_g f_g}\right)

    with :math:`t_g = \Pr(\hat{y} = 1 \mid y = 1, g)` and
    :math:`f_g = \Pr(\hat{y} = 1 \mid y = 0, g)`.

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, agg, sample_weight, pos_label}

    Returns
    -------
    {ratio}

    Raises
    ------
    {ValueError}

    References
    ----------
    {hardt2016}

    Examples
    --------
    >>> from skfair.metrics import equalized_odds_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> equalized_odds_ratio(y_true, y_pred, sensitive_features=group)  # that of 0/2 and 1/2
    0.0
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_ratio(matrices, "true_positive_rate", "false_positive_rate", method=method, agg=agg)


@classification_docs
@register_metric("classification", best=1.0)
def error_rate_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smallest over largest error rate among groups.

    .. math:: \min_g e_g \, / \, \max_g e_g, \quad e_g = \Pr(\hat{y} \ne y \mid g)

    Read more in the :ref:`guide <which_constraint>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, sample_weight, pos_label}

    Returns
    -------
    {ratio}

    Raises
    ------
    {ValueError}

    See Also
    --------
    accuracy_score_difference : The largest error rate minus the smallest.

    Examples
    --------
    >>> from skfair.metrics import error_rate_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 1, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> error_rate_ratio(y_true, y_pred, sensitive_features=group)  # (1/4) / (2/4)
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_ratio(matrices, "error_rate", method=method)
