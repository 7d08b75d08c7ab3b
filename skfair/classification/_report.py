"""What a fit reports of the rates that its constraints compare."""

import numpy as np


def constraint_report(constraint, scores):
    """One row per rate that is compared.

    Parameters
    ----------
    constraint : JointConstraint or Unconstrained
        The constraint.
    scores : ndarray of shape (n_samples,)
        Scores of the training samples.

    Returns
    -------
    report : DataFrame
        Columns constraint, cell, group, n (samples), rate, standard_error (of the rate, as if the
        samples were drawn anew), gap and tolerance (of the whole constraint).
    """
    import pandas as pd

    columns = ["constraint", "cell", "group", "n", "rate", "standard_error", "gap", "tolerance"]
    rows = []
    for part in constraint.parts:
        values = part.decision_rate(scores).value
        rates = part.events.means(values)
        variances = np.maximum(0.0, part.events.means(values**2) - rates**2)
        # The sum of squared shares is one over the effective number of samples.
        errors = np.sqrt(variances * part.events.averaging.power(2).sum(axis=1))
        gap = part.gap(scores)
        for (cell, group), n, rate, error in zip(
            part.table.names, part.table.counts, rates, errors, strict=True
        ):
            rows.append((part.name, cell, group, int(n), rate, error, gap, part.tolerance))
    return pd.DataFrame(rows, columns=columns)
