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
    others, n_compared = constraint.uncompared, len(constraint.names)
    counts = constraint.counts if others is None else np.append(constraint.counts, others.counts)
    cells, groups = zip(*constraint.reported_names, strict=True)
    is_compared = np.arange(n_rates) < n_compared
    gap = float(constraint.aggregate.gap(rates[:n_compared]))
    # Whole columns, in order: of single values, or told the order, pandas makes three frames.
    columns = {
        "cell": list(cells),
        "group": list(groups),
        "rate": rates,
        "n": counts,
        "standard_error": np.sqrt(variances * shares),
        "constraint": [constraint.name] * n_rates,
        "threshold": np.full(n_rates, 0.0 if constraint.counts_decisions else np.nan),
        "gap": np.where(is_compared, gap, np.nan),
        "tolerance": np.where(is_compared, float(constraint.tolerance), np.nan),
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
    frames, others = [], constraint.uncompared
    rates = list(zip(*moments, strict=True))
    bounds = gap, constraint.tolerance
    for event, own in enumerate(rates[: len(constraint.events.names)]):
        frames.append(_shares_of(constraint, event, thresholds, own, bounds))
    for event, own in enumerate(rates[len(constraint.events.names) :]):
        frames.append(_shares_of(others, event, thresholds, own, (np.nan, np.nan)))
    return pd.concat(frames, ignore_index=True)


def _shares_of(constraint, event, thresholds, moments, bounds):
    """Rows of an event, one per threshold."""
    import pandas as pd

    (above, squares), (gap, tolerance) = moments, bounds
    cell, group = constraint.events.names[event]
    position = constraint.positions[event]
    errors = np.sqrt(np.maximum(0.0, above * (1.0 - above)) * squares)
    columns = {
        "constraint": constraint.name,
        "cell": cell,
        "group": [group] * len(thresholds),  # it may be a tuple of attributes
        "n": int(constraint.events.counted(constraint.people)[event]),
        "threshold": thresholds,
        "rate": position.of(above),
        "standard_error": errors / position.width,
        "gap": gap,
        "tolerance": tolerance,
    }
    return pd.DataFrame(columns, columns=list(REPORT_COLUMNS))
