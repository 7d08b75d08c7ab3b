"""Reports of rates from their moments, which add up over partitions."""

import numpy as np

REPORT_COLUMNS = (
    "event",
    "group",
    "estimate",
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
    moments = _moments_of(constraint.sums, scores)
    if constraint.uncompared is None:
        return moments
    return tuple(map(np.append, moments, _moments_of(constraint.uncompared, scores)))


def _moments_of(sums, scores):
    """Moments of the rates of `Sums`."""
    means = sums.events.means
    terms = [one(scores, sums.target).value for one in sums.exact]
    products = [one * other for i, one in enumerate(terms) for other in terms[i:]]
    # The sum of squared weights is one over the effective number of samples.
    weights = sums.events.sum_squared_mean_weights()
    return *(np.concatenate([means(one) for one in ones]) for ones in (terms, products)), weights


def _rates_and_errors(of, moments):
    """Rates and their standard errors, by the moments of `Sums`."""
    sums, products, weights = moments
    rates = of.rates(sums)
    # Variance of what a sample adds to a rate; of a quotient to the linearised one, (n - r d) / D.
    if of.is_quotient:
        _, sizes = np.split(sums, 2)
        nn, nd, dd = np.split(products, 3)
        variances = (nn - 2 * rates * nd + rates**2 * dd) / sizes**2  # nan where a rate is
    else:
        variances = products - rates**2
    # Standard error of a weighted mean: the variance times the sum of squared weights.
    return rates, np.sqrt(np.maximum(0.0, variances) * weights)  # despite rounding


def rate_report_columns(constraint, scores=None, moments=None):
    """Columns with one entry per rate of a `BoundConstraint`, by scores or `rate_moments`.

    Those of small groups come last. All are in the user's units.
    """
    moments = rate_moments(constraint, scores) if moments is None else moments
    _, counts, labels, order, *_ = constraint.sums.cells
    n_compared, n_events = len(labels), len(moments[2])
    # Of each moment, the sums over events that are compared, and over others.
    ends = [len(sums) * n_compared // n_events for sums in moments]
    halves = [np.split(sums, [end]) for sums, end in zip(moments, ends, strict=True)]
    compared, others = zip(*halves, strict=True)
    rates, errors = _rates_and_errors(constraint.sums, compared)
    gap = float(constraint.gap(rates))
    if n_events > n_compared:
        uncompared = constraint.uncompared.cells
        both = (rates, errors), _rates_and_errors(constraint.uncompared, others)
        rates, errors = map(np.concatenate, zip(*both, strict=True))
        labels, counts = labels + uncompared.labels, np.append(counts, uncompared.counts)
        order = np.append(order, n_compared + uncompared.report_order)
    # Groups are reported in the order of their labels.
    cells, groups = zip(*(labels[event] for event in order), strict=True)
    is_compared = np.arange(len(rates)) < n_compared
    threshold = 0.0 if constraint.sums.metric_input == "decisions" else np.nan
    unit = constraint.sums.unit
    bound = constraint.gap.state(float(constraint.tolerance))
    of_gap = 1.0 if constraint.gap.is_ratio else unit.spread
    # Whole columns, in order: with single values, or an order of its own, pandas copies the frame.
    return {
        "event": list(cells),
        "group": list(groups),
        "estimate": unit.from_unit(rates[order]),
        "n": counts[order],
        "standard_error": unit.spread * errors[order],
        "constraint": [constraint.name] * len(rates),
        "threshold": np.full(len(rates), threshold),
        "gap": np.where(is_compared, of_gap * constraint.gap.state(gap), np.nan),
        "tolerance": np.where(is_compared, of_gap * bound, np.nan),
    }


def make_share_report(constraint, moments):
    """One row per event and threshold of a criterion on ranks; those of small groups come last.

    `moments` are the gap, the thresholds, and a pair of the shares above them, (n_events,
    n_thresholds), and the sums of the squared weights of samples, (n_events,).
    """
    gap, thresholds, sums = moments
    shares, ranked = list(zip(*sums, strict=True)), constraint.sums
    n_compared, bounds = len(ranked.cells.labels), (gap, constraint.tolerance)
    name = constraint.name
    events = [
        _share_columns(name, ranked, event, thresholds, shares[event], bounds)
        for event in ranked.cells.report_order
    ]
    if others := shares[n_compared:]:
        ranked, bounds = constraint.uncompared, (np.nan, np.nan)
        events += [
            _share_columns(name, ranked, event, thresholds, others[event], bounds)
            for event in ranked.cells.report_order
        ]
    return {name: [one for event in events for one in event[name]] for name in REPORT_COLUMNS}


def _share_columns(name, ranked, event, thresholds, sums, bounds):
    """Columns of the report of an event, with one entry per threshold."""
    (above, squares), (gap, tolerance) = sums, bounds
    cell, group = ranked.cells.labels[event]
    interval = ranked.intervals[event]
    # Standard error of a share, by the variance of a binary decision.
    errors = np.sqrt(np.maximum(0.0, above * (1.0 - above)) * squares)
    n_rows = len(thresholds)
    return {
        "event": [cell] * n_rows,
        "group": [group] * n_rows,  # it may be a tuple of attributes
        "estimate": interval.position_of(above),
        "n": [int(ranked.cells.counts[event])] * n_rows,
        "standard_error": errors / interval.width,
        "constraint": [name] * n_rows,
        "threshold": thresholds,
        "gap": [float(gap)] * n_rows,
        "tolerance": [float(tolerance)] * n_rows,
    }
