"""The rates of every group as a table."""

import numpy as np

from skfair.groups import check_columns, merge_duplicate_rows_with_sizes, to_pandas_index
from skfair.inference import Rates, check_level
from skfair.metrics._rates import RATES, confusion_cells, count_confusions

_COLUMNS = (
    "base_rate",
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "positive_predictive_value",
    "false_omission_rate",
    "accuracy",
)


def group_report(
    y_true,
    y_pred,
    *,
    sensitive_features,
    sample_weight=None,
    pos_label=None,
    confidence_level=0.95,
):
    r"""Rates of a binary classifier in every group, with their standard errors and intervals.

    How far a difference between groups may be trusted: the standard error of a rate r over n
    samples is :math:`\sqrt{r (1 - r) / n}`, and that of the difference of two independent rates
    the root of the sum of their squares. Near 0 and 1, and of few samples, it is too small (0 for 2
    of 2); the intervals are Wilson's ([1]_), or Clopper and Pearson's of up to three successes or
    failures, which hold there too.

    Weights are sampling weights, as of a survey. A rate r of samples with weights w and outcomes x
    then has the effective sample size

    .. math:: n = \min \Bigl( \frac{(\sum_i w_i)^2}{\sum_i w_i^2},
        \frac{r (1 - r) (\sum_i w_i)^2}{\sum_i w_i^2 (x_i - r)^2} \Bigr) ,

    the smaller of Kish's ([2]_) and that of the linearised variance, and the intervals have
    Student's quantiles with n - 1 degrees of freedom. The unit of the weights does not matter.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, sample_weight, pos_label
        As in :func:`demographic_parity_difference`. A weight of two does not count as two samples:
        repeat the rows of samples that occurred twice.
    confidence_level : float, default=0.95
        How often such intervals hold the rate of the population.

    Returns
    -------
    report : pandas.DataFrame of shape (n_groups + 1, 36)
        One row per group, ascending, and at last "overall". ``n`` is the number of samples with a
        positive weight; then come ::

            base_rate                  Pr(truly positive)
            selection_rate             Pr(predicted positive)
            true_positive_rate         Pr(predicted positive | truly positive)
            false_positive_rate        Pr(predicted positive | truly negative)
            positive_predictive_value  Pr(truly positive | predicted positive)
            false_omission_rate        Pr(truly positive | predicted negative)
            accuracy                   Pr(predicted class is the true one)

        Each is followed, under the same name with an ending, by the number of samples that it is a
        share of, which is the effective sample size if they are weighted (``_n``), its standard
        error (``_se``), and the ends of its interval (``_low``, ``_high``). A rate over no samples
        is nan.

    Raises
    ------
    ValueError
        As in :func:`demographic_parity_difference`, and if the confidence level is not between 0
        and 1.

    Warns
    -----
    UserWarning
        If weights are so uneven that intervals promise too much (a design effect above 4).

    See Also
    --------
    skfair.inference.gap_interval : The interval of a difference of such rates.
    demographic_parity_difference : A column of this table as one number.

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
    """The report of `group_report` from what `merge_duplicate_rows_with_sizes` returns."""
    import pandas as pd

    level = (1.0 + check_level(confidence_level)) / 2.0
    people, (y_true, y_pred, *counted) = check_columns(groups, weights, **columns)
    cells = confusion_cells(y_true, y_pred, pos_label)
    n_samples, rates, present = _group_rates(people, cells, counted)
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
    labels = people.groups.labels
    last = ["overall"] + [""] * (labels.shape[1] - 1)
    return pd.DataFrame(report, index=to_pandas_index(np.vstack((labels, last)), groups))


def _group_rates(people, cells, counted):
    """Number of samples of each row, rates that are known, and which these are."""
    # Only ratios of weights count, and squares of these do not overflow.
    weights = people.weights / people.weights.max()
    columns = (counted[0], people.weights, counted[1]) if counted else (None, weights, weights**2)
    tables = []
    for column in columns:
        column = np.ones(len(cells)) if column is None else column
        confused = count_confusions(people._replace(weights=column), cells)
        tables.append(np.concatenate((confused.weights, confused.everybody)))
    rates = [RATES[name] for name in _COLUMNS]
    # Sums of samples, weights and squared weights by rate and row, (n_rates, n_rows, 3).
    bases, hits = (
        np.moveaxis([[total(table) for table in tables] for total in totals], 1, -1)
        for totals in zip(*((rate.base, rate.hits) for rate in rates), strict=True)
    )
    present = bases[..., 0] > 0
    misses = np.maximum(bases - hits, 0.0)
    return tables[0].sum(axis=(1, 2)), Rates.from_sums(hits[present], misses[present]), present


def _fill(present, ending, values):
    """Numbers of the rates that are known as a table of all: others are nan, or over 0 samples."""
    table = np.full(present.shape, 0.0 if ending == "_n" else np.nan)
    table[present] = values
    return table
