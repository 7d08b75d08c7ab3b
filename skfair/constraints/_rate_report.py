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


def report_of_shares(constraint, told):
    """One row per event and threshold.

    Parameters
    ----------
    constraint : BoundPartialParity
        Compares the shares.
    told : tuple
        Gap; thresholds, (n_thresholds,); and a pair of shares above them, (n_events, n_thresholds),
        and sums of the squared shares of samples, (n_events,).

    Returns
    -------
    report : DataFrame
        With the columns ``REPORT_COLUMNS``.
    """
    import pandas as pd

    gap, thresholds, moments = told
    frames, counts = [], constraint.events.counted(constraint.people)
    for event, (above, squares) in enumerate(zip(*moments, strict=True)):
        cell, group = constraint.events.names[event]
        position = constraint.positions[event]
        errors = np.sqrt(np.maximum(0.0, above * (1.0 - above)) * squares)
        columns = {
            "constraint": constraint.name,
            "cell": cell,
            "group": [group] * len(thresholds),  # it may be a tuple of attributes
            "n": int(counts[event]),
            "threshold": thresholds,
            "rate": position.of(above),
            "standard_error": errors / position.width,
            "gap": gap,
            "tolerance": constraint.tolerance,
        }
        frames.append(pd.DataFrame(columns, columns=list(REPORT_COLUMNS)))
    return pd.concat(frames, ignore_index=True)
