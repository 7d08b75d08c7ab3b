"""Reports of rates from their moments, which add up over partitions."""

import numpy as np

REPORT_COLUMNS = (
    "cell",
    "group",
    "rate",
    "n",
    "standard_error",
    "constraint",
    "threshold",
    "gap",
    "tolerance",
)
"""Columns of all reports of constraints; a narrow screen leaves out those in the middle."""


def rate_moments(constraint, scores):
    """Moments of the rates of a `BoundConstraint`, which add up over partitions.

    Three arrays: means over events of the terms and of products of two terms, and sums of squared
    weights. Those of small groups come last.
    """
    means = constraint.events.means
    terms = [one(scores, constraint.target).value for one in constraint.exact]
    products = [one * other for i, one in enumerate(terms) for other in terms[i:]]
    # The sum of squared weights is one over the effective number of samples.
    weights = constraint.events.sum_squared_mean_weights()
    moments = *(np.concatenate([means(one) for one in ones]) for ones in (terms, products)), weights
    if constraint.uncompared is None:
        return moments
    return tuple(map(np.append, moments, rate_moments(constraint.uncompared, scores)))


def _rates_and_errors(constraint, moments):
    """Rates and their standard errors, by the moments of the events of one constraint."""
    sums, products, weights = moments
    rates = constraint.rates(sums)
    # Variance of what a sample adds to a rate; of a quotient to the linearised one, (n - r d) / D.
    if constraint.is_quotient:
        _, sizes = np.split(sums, 2)
        nn, nd, dd = np.split(products, 3)
        variances = (nn - 2 * rates * nd + rates**2 * dd) / sizes**2  # nan where a rate is
    else:
        variances = products - rates**2
    # Standard error of a weighted mean: the variance times the sum of squared weights.
    return rates, np.sqrt(np.maximum(0.0, variances) * weights)  # despite rounding


def rate_report_columns(constraint, scores=None, moments=None):
    """Columns with one entry per rate of a `BoundConstraint`, by scores or `rate_moments`.

    Those of small groups come last.
    """
    moments = rate_moments(constraint, scores) if moments is None else moments
    labels, counts, order = constraint.labels, constraint.counts, constraint.report_order
    n_compared, n_events = len(labels), len(moments[2])
    # Of each moment, the sums over events that are compared, and over others.
    ends = [len(sums) * n_compared // n_events for sums in moments]
    halves = [np.split(sums, [end]) for sums, end in zip(moments, ends, strict=True)]
    compared, others = zip(*halves, strict=True)
    rates, errors = _rates_and_errors(constraint, compared)
    gap = float(constraint.gap(rates))
    if n_events > n_compared:
        uncompared = constraint.uncompared
        both = (rates, errors), _rates_and_errors(uncompared, others)
        rates, errors = map(np.concatenate, zip(*both, strict=True))
        labels, counts = labels + uncompared.labels, np.append(counts, uncompared.counts)
        order = np.append(order, n_compared + uncompared.report_order)
    # Groups are reported in the order of their labels.
    cells, groups = zip(*(labels[event] for event in order), strict=True)
    is_compared = np.arange(len(rates)) < n_compared
    threshold = 0.0 if constraint.metric_input == "decisions" else np.nan
    # Whole columns, in order: with single values, or an order of its own, pandas copies the frame.
    return {
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


def make_share_report(constraint, moments):
    """One row per event and threshold of a `BoundPartialParity`; those of small groups come last.

    `moments` are the gap, the thresholds, and a pair of the shares above them, (n_events,
    n_thresholds), and the sums of the squared weights of samples, (n_events,).
    """
    import pandas as pd

    gap, thresholds, sums = moments
    rates, n_compared = list(zip(*sums, strict=True)), len(constraint.interval_events.labels)
    bounds = gap, constraint.tolerance
    frames = [
        _make_event_report(
            constraint.name, constraint.interval_events, event, thresholds, sums, bounds
        )
        for event, sums in _pair_in_report_order(constraint.interval_events, rates[:n_compared])
    ]
    frames += [
        _make_event_report(
            constraint.name, constraint.uncompared, event, thresholds, sums, (np.nan, np.nan)
        )
        for event, sums in _pair_in_report_order(constraint.uncompared, rates[n_compared:])
    ]
    return pd.concat(frames, ignore_index=True)


def _pair_in_report_order(events, sums):
    """Events and their sums, in the order of reports; none without events."""
    return [(event, sums[event]) for event in events.report_order] if sums else []


def _make_event_report(name, ranked, event, thresholds, sums, bounds):
    """Rows of an event, one per threshold."""
    import pandas as pd

    (above, squares), (gap, tolerance) = sums, bounds
    cell, group = ranked.labels[event]
    interval = ranked.intervals[event]
    # Standard error of a share, by the variance of a binary decision.
    errors = np.sqrt(np.maximum(0.0, above * (1.0 - above)) * squares)
    n_rows = len(thresholds)
    # Whole columns, in order: see `rate_report_columns`.
    columns = {
        "cell": [cell] * n_rows,
        "group": [group] * n_rows,  # it may be a tuple of attributes
        "rate": interval.position_of(above),
        "n": np.full(n_rows, int(ranked.counts[event])),
        "standard_error": errors / interval.width,
        "constraint": [name] * n_rows,
        "threshold": thresholds,
        "gap": np.full(n_rows, gap, dtype=np.float64),
        "tolerance": np.full(n_rows, tolerance, dtype=np.float64),
    }
    return pd.DataFrame(columns)
