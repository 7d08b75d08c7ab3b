"""The rates of every group as a table."""

import numpy as np

from skfair.metrics._people import group_index
from skfair.metrics._rates import RATES, check_predictions, count_cells


def group_report(y_true, y_pred, *, sensitive_features, sample_weight=None, pos_label=None):
    r"""Rates of a binary classifier in every group, with their standard errors.

    How far a difference between groups may be trusted: the standard error of a rate r over n
    samples is :math:`\sqrt{r (1 - r) / n}`, and that of the difference of two independent rates
    the root of the sum of their squares.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, sample_weight, pos_label
        As in :func:`demographic_parity_difference`. Weights count samples: standard errors take a
        sample of weight two for two samples.

    Returns
    -------
    report : pandas.DataFrame of shape (n_groups + 1, 13)
        One row per group, ascending, and at last "overall". ``n`` is the weight of the samples;
        then come, each followed by its standard error under the same name with ``_se``, ::

            selection_rate             Pr(predicted positive)
            true_positive_rate         Pr(predicted positive | truly positive)
            false_positive_rate        Pr(predicted positive | truly negative)
            positive_predictive_value  Pr(truly positive | predicted positive)
            false_omission_rate        Pr(truly positive | predicted negative)
            accuracy                   Pr(predicted class is the true one)

        A rate over nobody is nan.

    Raises
    ------
    ValueError
        As in :func:`demographic_parity_difference`.

    See Also
    --------
    demographic_parity_difference : A column of this table as one number.

    Examples
    --------
    >>> from skfair.metrics import group_report
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> report = group_report(y_true, y_pred, sensitive_features=group)
    >>> report[["n", "selection_rate", "selection_rate_se", "true_positive_rate"]].round(3)
               n  selection_rate  selection_rate_se  true_positive_rate
    a        4.0            0.75              0.217                1.00
    b        4.0            0.25              0.217                0.50
    overall  8.0            0.50              0.177                0.75
    """
    import pandas as pd

    people, outcomes = check_predictions(
        y_true, y_pred, sensitive_features, sample_weight, pos_label
    )
    groups, overall = count_cells(people, outcomes), count_cells(people.together(), outcomes)
    weights = np.concatenate((groups.weights, overall.weights))
    columns = {"n": weights.sum(axis=(1, 2))}
    for name, rate in RATES.items():
        columns[name] = rates = rate(weights)
        columns[f"{name}_se"] = np.sqrt(rates * (1 - rates) / rate.base(weights))
    last = ["overall"] + [""] * (people.labels.shape[1] - 1)
    return pd.DataFrame(
        columns, index=group_index(np.vstack((people.labels, last)), sensitive_features)
    )
