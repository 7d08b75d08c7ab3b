"""Reports of the rates that are compared, from their moments."""

import numpy as np

from skfair.constraints._protocols import REPORT_COLUMNS


def sum_moments(constraint, scores):
    """Moments of the rates of a `BoundConstraint`, which add up over partitions.

    Three arrays: means over events of the terms and of products of two terms, and sums of squared
    weights. Those of small groups come last, unless rates are quotients.
    """
    means = constraint.events.means
    terms = [one(scores, constraint.target).value for one in constraint.exact]
    products = [one * other for i, one in enumerate(terms) for other in terms[i:]]
    # The sum of squared weights is one over the effective number of samples.
    weights = constraint.events.averaging_matrix.power(2).sum(axis=1)
    moments = *(np.concatenate([means(one) for one in ones]) for ones in (terms, products)), weights
    if constraint.uncompared is None or constraint.is_quotient:
        return moments
    return tuple(map(np.append, moments, sum_moments(constraint.uncompared, scores)))


def _variances(constraint, rates, moments):
    """Variance of what a sample adds to each rate."""
    sums, products, _ = moments
    if constraint.is_quotient:  # that of the linearised rate, (n - r d) / D
        sizes = sums[constraint.n_events :]
        nn, nd, dd = np.split(products, 3)
        return (nn - 2 * rates * nd + rates**2 * dd) / sizes**2
    return products - rates**2


def report_rates(constraint, moments):
    """One row per rate of a `BoundConstraint`, by its moments; those of small groups come last."""
    import pandas as pd

    rates = constraint.rates(moments[0])
    labels, counts, order = constraint.labels, constraint.counts, constraint.order
    n_compared = len(labels)
    gap = float(constraint.aggregate(rates[:n_compared]))
    if len(rates) > n_compared:
        uncompared = constraint.uncompared
        labels, counts = labels + uncompared.labels, np.append(counts, uncompared.counts)
        order = np.append(order, n_compared + uncompared.order)
    # Standard error of a weighted mean: the variance times the sum of squared weights.
    variances = np.maximum(0.0, _variances(constraint, rates, moments))  # despite rounding
    errors = np.sqrt(variances * moments[2])
    # Groups are reported in the order of their labels.
    cells, groups = zip(*(labels[event] for event in order), strict=True)
    is_compared = np.arange(len(rates)) < n_compared
    threshold = 0.0 if constraint.statistic == "decisions" else np.nan
    # Whole columns, in order: with single values, or an order of its own, pandas copies the frame.
    columns = {
        "cell": list(cells),
        "group": list(groups),
        "rate": rates[order],
        "n": counts[order],
        "standard_error": errors[order],
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
