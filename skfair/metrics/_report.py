"""Report of the rates of every group, with standard errors and confidence intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skfair.groups import check_columns, merge_duplicate_rows_with_sizes, to_pandas_index
from skfair.inference import Rates, check_level
from skfair.metrics._docstrings import classification_docs
from skfair.metrics._rates import RATES, confusion_cells, count_confusions
from skfair.utils._types import Label, MatrixLike

if TYPE_CHECKING:
    import pandas as pd


_COLUMNS = (
    "base_rate",
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "positive_predictive_value",
    "false_omission_rate",
    "accuracy",
)


@classification_docs
def group_report(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    confidence_level: float = 0.95,
) -> pd.DataFrame:
    r"""Rates of a binary classifier in every group, with their standard errors and intervals.

    The standard error of a rate r over n samples is :math:`\sqrt{r (1 - r) / n}`, and that of the
    difference of two independent rates the root of the sum of their squares. Near 0 and 1, and for
    few samples, it is too small (0 for 2 of 2). The intervals hold there too: they are Wilson's
    ([1]_), or Clopper and Pearson's for up to three successes or failures.

    Weights are sampling weights, as in a survey. A rate r of samples with weights w and outcomes x
    then has the effective sample size

    .. math:: n = \min \Bigl( \frac{(\sum_i w_i)^2}{\sum_i w_i^2},
        \frac{r (1 - r) (\sum_i w_i)^2}{\sum_i w_i^2 (x_i - r)^2} \Bigr) ,

    the smaller of Kish's ([2]_) and that of the linearised variance, and the intervals use
    Student's quantiles with n - 1 degrees of freedom. The unit of the weights does not matter.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight}
        A weight of two does not count as two samples: repeat the rows of samples that occurred
        twice.
    {pos_label}
    confidence_level : float, default=0.95
        Probability with which such an interval contains the rate of the population.

    Returns
    -------
    report : pandas.DataFrame of shape (n_groups + 1, 36)
        One row per group, ascending, and a last row "overall". ``n`` is the number of samples with
        a positive weight. The rates are ::

            base_rate                  Pr(truly positive)
            selection_rate             Pr(predicted positive)
            true_positive_rate         Pr(predicted positive | truly positive)
            false_positive_rate        Pr(predicted positive | truly negative)
            positive_predictive_value  Pr(truly positive | predicted positive)
            false_omission_rate        Pr(truly positive | predicted negative)
            accuracy                   Pr(predicted class = true class)

        Each is followed by the size of the sample that it is a share of, effective if weighted
        (``_n``), its standard error (``_se``), and the ends of its interval (``_low``, ``_high``).
        A rate over no samples is nan.

    Raises
    ------
    {ValueError}
        Also if the confidence level is not between 0 and 1.

    Warns
    -----
    UserWarning
        If weights are so uneven that intervals are too short (a design effect above 4).

    See Also
    --------
    skfair.inference.gap_interval : The interval of a difference of such rates.
    demographic_parity_difference : The range of a column of this table.

    References
    ----------
    .. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
       Journal of the American Statistical Association 22, 1927.
    .. [2] L. Kish, "Survey Sampling", Wiley, 1965.

    Examples
    --------
    >>> from skfair.metrics import group_report
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> report = group_report(y_true, y_pred, sensitive_features=group)
    >>> report[["n", "base_rate", "selection_rate", "selection_rate_se"]].round(3)
               n  base_rate  selection_rate  selection_rate_se
    a        4.0        0.5            0.75              0.217
    b        4.0        0.5            0.25              0.217
    overall  8.0        0.5            0.50              0.177
    >>> report.filter(regex="true_positive_rate").round(2).T
                                a     b  overall
    true_positive_rate       1.00  0.50     0.75
    true_positive_rate_n     2.00  2.00     4.00
    true_positive_rate_se    0.00  0.35     0.22
    true_positive_rate_low   0.16  0.01     0.19
    true_positive_rate_high  1.00  0.99     0.99
    """
    check_level(confidence_level)
    groups, weights, columns = merge_duplicate_rows_with_sizes(
        sensitive_features, sample_weight, y_true=y_true, y_pred=y_pred
    )
    return report_counted(groups, weights, columns, pos_label, confidence_level)


def report_counted(groups, weights, columns, pos_label, confidence_level):
    """Report of `group_report`, from the output of `merge_duplicate_rows_with_sizes`."""
    import pandas as pd

    level = (1.0 + check_level(confidence_level)) / 2.0
    samples, (y_true, y_pred, *counts) = check_columns(groups, weights, **columns)
    cells = confusion_cells(y_true, y_pred, pos_label)
    # All known rates at once, then one table per ending of the column names.
    n_samples, rates, present = _group_rates(samples, cells, counts)
    numbers = {
        "": rates.values,
        "_n": rates.sizes,
        "_se": np.sqrt(rates.values * (1.0 - rates.values) / rates.sizes),
    }
    numbers["_low"], numbers["_high"] = rates.limits(level)
    report = {"n": n_samples}
    tables = {ending: _fill(present, ending, values) for ending, values in numbers.items()}
    for row, name in enumerate(_COLUMNS):
        report |= {name + ending: table[row] for ending, table in tables.items()}
    # One row per group and a last row of all samples.
    labels = samples.groups.labels
    last = ["overall"] + [""] * (labels.shape[1] - 1)
    return pd.DataFrame(report, index=to_pandas_index(np.vstack((labels, last)), groups))


def _group_rates(samples, cells, counts):
    """Number of samples of each row, the known rates, and the mask of these.

    `counts` is empty, or the numbers and the squared weights of samples that were counted before.
    """
    # Only ratios of weights count, and the squares of ratios do not overflow.
    weights = samples.weights / samples.weights.max()
    columns = (np.ones(len(cells)), weights, weights**2)
    if counts:
        columns = (counts[0], samples.weights, counts[1])
    # Sums over samples, weights and squared weights, from which effective sizes follow.
    tables = []
    for column in columns:
        matrices = count_confusions(samples._replace(weights=column), cells)
        tables.append(np.concatenate((matrices.weights, matrices.overall)))
    rates = [RATES[name] for name in _COLUMNS]
    # Sums of samples, weights and squared weights by rate and row, (n_rates, n_rows, 3).
    bases, hits = (
        np.moveaxis([[total(table) for table in tables] for total in totals], 1, -1)
        for totals in zip(*((rate.base, rate.hits) for rate in rates), strict=True)
    )
    # A rate is known where its condition has samples; rounding may leave slightly negative misses.
    present = bases[..., 0] > 0
    misses = np.maximum(bases - hits, 0.0)
    return tables[0].sum(axis=(1, 2)), Rates.from_sums(hits[present], misses[present]), present


def _fill(present, ending, values):
    """Table of all rates from the numbers of the known ones: others are nan, or over 0 samples."""
    table = np.full(present.shape, 0.0 if ending == "_n" else np.nan)
    table[present] = values
    return table
