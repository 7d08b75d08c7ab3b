"""The report of rates that are compared, from their moments."""

import numpy as np

from skfair.constraints._protocols import REPORT_COLUMNS


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
    variances = np.maximum(0.0, squares - rates**2)
    cells, groups = zip(*constraint.names, strict=True)
    columns = {
        "constraint": constraint.name,
        "cell": list(cells),
        "group": list(groups),
        "n": constraint.counts,
        # An array, since pandas 2 makes objects of a single nan.
        "threshold": np.full(len(rates), 0.0 if constraint.counts_decisions else np.nan),
        "rate": rates,
        "standard_error": np.sqrt(variances * shares),
        "gap": float(constraint.aggregate.gap(rates)),
        "tolerance": constraint.tolerance,
    }
    return pd.DataFrame(columns, columns=list(REPORT_COLUMNS))
