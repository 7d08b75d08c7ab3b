"""The report of rates that are compared, from their moments."""

import numpy as np


def report_of(constraint, moments):
    """One row per rate that is compared.

    Parameters
    ----------
    constraint : BoundConstraint
        Compares the rates.
    moments : tuple of three ndarray, each of shape (n_events,)
        Means of the rate and of its square, and sum of the squared shares of the samples.

    Returns
    -------
    report : DataFrame
        With the columns ``REPORT_COLUMNS``.
    """
    import pandas as pd

    rates, squares, shares = moments
    n_rates, variances = len(rates), np.maximum(0.0, squares - rates**2)
    cells, groups = zip(*constraint.names, strict=True)
    # Whole columns, in order: of single values, or told the order, pandas makes three frames.
    columns = {
        "cell": list(cells),
        "group": list(groups),
        "rate": rates,
        "n": constraint.counts,
        "standard_error": np.sqrt(variances * shares),
        "constraint": [constraint.name] * n_rates,
        "threshold": np.full(n_rates, 0.0 if constraint.counts_decisions else np.nan),
        "gap": np.full(n_rates, float(constraint.aggregate.gap(rates))),
        "tolerance": np.full(n_rates, float(constraint.tolerance)),
    }
    return pd.DataFrame(columns)
