"""Reports of the rates that are compared, from their moments."""

import numpy as np

from skfair.constraints._protocols import REPORT_COLUMNS


def report_means(constraint, moments):
    """One row per rate of a `BoundConstraint`; those of small groups come last.

    `moments` are the means of each rate and of its square, and the sum of squared weights of its
    samples, (n_events,) each.
    """
    import pandas as pd

    means, uncompared = constraint.means, constraint.uncompared
    rates, squares, weights = moments
    labels, counts, order, n_compared = means.labels, means.counts, means.order, len(means.labels)
    gap = float(constraint.aggregate(rates[:n_compared]))
    if uncompared is not None:
        labels, counts = labels + uncompared.labels, np.append(counts, uncompared.counts)
        order = np.append(order, n_compared + uncompared.order)
    rates, squares, weights, counts = (one[order] for one in (rates, squares, weights, counts))
    # Standard error of a weighted mean: the variance times the sum of squared weights.
    variances = np.maximum(0.0, squares - rates**2)  # despite rounding
    cells, groups = zip(*(labels[event] for event in order), strict=True)
    is_compared = np.arange(len(rates)) < n_compared
    threshold = 0.0 if constraint.statistic == "decisions" else np.nan
    # Whole columns, in order: with single values, or an order of its own, pandas copies the frame.
    columns = {
        "cell": list(cells),
        "group": list(groups),
        "rate": rates,
        "n": counts,
        "standard_error": np.sqrt(variances * weights),
        "constraint": [constraint.name] * len(rates),
        "threshold": np.full(len(rates), threshold),
        "gap": np.where(is_compared, gap, np.nan),
        "tolerance": np.where(is_compared, float(constraint.tolerance), np.nan),
    }
    return pd.DataFrame(columns)


def report_shares(constraint, moments):
    """One row per event and threshold of a `BoundPartialParity`; those of small groups come last.

    `moments` are the gap, the thresholds, and a pair of the shares above them, (n_events,
    n_thresholds), and the sums of the squared weights of samples, (n_events,).
    """
    import pandas as pd

    gap, thresholds, sums = moments
    rates, n_compared = list(zip(*sums, strict=True)), len(constraint.ranked.labels)
    bounds = gap, constraint.tolerance
    frames = [
        _report_event(constraint.name, constraint.ranked, event, thresholds, sums, bounds)
        for event, sums in _in_order(constraint.ranked, rates[:n_compared])
    ]
    frames += [
        _report_event(
            constraint.name, constraint.uncompared, event, thresholds, sums, (np.nan, np.nan)
        )
        for event, sums in _in_order(constraint.uncompared, rates[n_compared:])
    ]
    return pd.concat(frames, ignore_index=True)


def _in_order(ranked, sums):
    """Events and their sums, in the order of reports; none without events."""
    return [(event, sums[event]) for event in ranked.order] if sums else []


def _report_event(name, ranked, event, thresholds, sums, bounds):
    """Rows of an event, one per threshold."""
    import pandas as pd

    (above, squares), (gap, tolerance) = sums, bounds
    cell, group = ranked.labels[event]
    interval = ranked.intervals[event]
    # Standard error of a share, by the variance of a binary decision.
    errors = np.sqrt(np.maximum(0.0, above * (1.0 - above)) * squares)
    columns = {
        "constraint": name,
        "cell": cell,
        "group": [group] * len(thresholds),  # it may be a tuple of attributes
        "n": int(ranked.counts[event]),
        "threshold": thresholds,
        "rate": interval.position_of(above),
        "standard_error": errors / interval.width,
        # Whole columns: of a single nan pandas makes a column of objects.
        "gap": np.full(len(thresholds), gap, dtype=np.float64),
        "tolerance": np.full(len(thresholds), tolerance, dtype=np.float64),
    }
    return pd.DataFrame(columns, columns=list(REPORT_COLUMNS))
