"""The rates of every group as a table."""

import numpy as np

from skfair.inference import check_level, rate_limits
from skfair.metrics._rates import RATES, check_predictions, count_confusions
from skfair.people import group_index

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

    Parameters
    ----------
    y_true, y_pred, sensitive_features, sample_weight, pos_label
        As in :func:`demographic_parity_difference`. Weights count samples: standard errors and
        intervals take a sample of weight two for two samples.
    confidence_level : float, default=0.95
        How often such intervals hold the rate of the population.

    Returns
    -------
    report : pandas.DataFrame of shape (n_groups + 1, 36)
        One row per group, ascending, and at last "overall". ``n`` is the weight of the samples;
        then come ::

            base_rate                  Pr(truly positive)
            selection_rate             Pr(predicted positive)
            true_positive_rate         Pr(predicted positive | truly positive)
            false_positive_rate        Pr(predicted positive | truly negative)
            positive_predictive_value  Pr(truly positive | predicted positive)
            false_omission_rate        Pr(truly positive | predicted negative)
            accuracy                   Pr(predicted class is the true one)

        Each is followed, under the same name with an ending, by the weight of the samples that it
        is a share of (``_n``), its standard error (``_se``), and the ends of its interval
        (``_low``, ``_high``). A rate over nobody is nan.

    Raises
    ------
    ValueError
        As in :func:`demographic_parity_difference`, and if the confidence level is not between 0
        and 1.

    See Also
    --------
    skfair.inference.gap_interval : The interval of a difference of such rates.
    demographic_parity_difference : A column of this table as one number.

    References
    ----------
    .. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
       Journal of the American Statistical Association 22, 1927.

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
    import pandas as pd

    level = (1.0 + check_level(confidence_level)) / 2.0
    people, outcomes = check_predictions(
        y_true, y_pred, sensitive_features, sample_weight, pos_label
    )
    confused = count_confusions(people, outcomes)
    weights = np.concatenate((confused.weights, confused.everybody))
    columns = {"n": weights.sum(axis=(1, 2))}
    for name in _COLUMNS:
        rate = RATES[name]
        columns[name] = rates = rate(weights)
        columns[f"{name}_n"] = base = rate.base(weights)
        columns[f"{name}_se"] = np.sqrt(rates * (1 - rates) / base)
        columns[f"{name}_low"], columns[f"{name}_high"] = rate_limits(rates, base, level)
    labels = people.groups.labels
    last = ["overall"] + [""] * (labels.shape[1] - 1)
    return pd.DataFrame(columns, index=group_index(np.vstack((labels, last)), sensitive_features))
