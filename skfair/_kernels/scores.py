"""Kernels of scores: passes over samples, losses and rates, sparse products, flipped decisions."""

from math import factorial

import numpy as np

from skfair._kernels import (
    ABSOLUTE,
    LOGISTIC,
    RAMP,
    SCORE,
    SIGMOID,
    SQUARED,
    SQUARED_HINGE,
    STEP,
    fast_sums_helper,
    helper,
    jit,
)

# Losses and rates of a few scores, in loops that use vector registers.
#
# The formulas are those of `skfair.losses` and `skfair.surrogates`.


_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""Two numbers whose sum is log(2); small integers times the first one are exact."""

_MIN_EXPONENT = -708.0
"""Exponent below which an exponential is no normal number."""

_EXP_COEFFICIENTS = np.array([1.0 / factorial(k) for k in range(13, -1, -1)])
"""Coefficients of exp for |r| <= log(2) / 2."""

_ATANH_COEFFICIENTS = np.array([2.0 / (2 * k + 1) for k in range(16, -1, -1)])
"""Coefficients of 2 atanh(s) / s in s**2 for s <= 1/3."""


@helper
def evaluate_pointwise(code, width, scores, target, n, value, slope, curvature):
    """Value, slope and curvature of the first n scores, written into buffers."""
    if code == LOGISTIC:
        for i in range(n):
            value[i] = abs(target[i] * scores[i])
        _negative_exponentials(value, n, slope, curvature)
        for i in range(n):
            margin = target[i] * scores[i]
            decay = curvature[i]
            p_other = (decay if margin > 0.0 else 1.0) / (1.0 + decay)
            value[i] = _log1p(decay) + max(0.0, -margin)
            slope[i], curvature[i] = -target[i] * p_other, p_other * (1.0 - p_other)
    elif code == SIGMOID:
        for i in range(n):
            value[i] = abs(scores[i] / width)
        _negative_exponentials(value, n, slope, curvature)
        for i in range(n):
            decay = curvature[i]
            value[i] = (1.0 if scores[i] > 0.0 else decay) / (1.0 + decay)
            slope[i] = value[i] * (1.0 - value[i]) / width
            curvature[i] = slope[i] * (1.0 - 2.0 * value[i]) / width
    elif code == RAMP:
        for i in range(n):
            height = scores[i] / width + 0.5
            value[i], curvature[i] = min(max(height, 0.0), 1.0), 0.0
            slope[i] = (1.0 if 0.0 < height < 1.0 else 0.0) / width
    elif code == STEP:
        for i in range(n):
            value[i], slope[i], curvature[i] = 1.0 if scores[i] > 0.0 else 0.0, 0.0, 0.0
    elif code == SCORE:
        for i in range(n):
            value[i], slope[i], curvature[i] = scores[i], 1.0, 0.0
    elif code == SQUARED or code == ABSOLUTE:
        _regression_losses(code, width, scores, target, n, value, slope, curvature)
    else:
        _hinge_losses(code, width, scores, target, n, value, slope, curvature)


@helper
def _regression_losses(code, width, scores, target, n, value, slope, curvature):
    # The squared loss is a parabola everywhere, the absolute one within its width.
    is_parabola = code == SQUARED
    end = np.inf if is_parabola else width
    offset, steepest = (0.0, np.inf) if is_parabola else (width / 2.0, 1.0)
    for i in range(n):
        residual = scores[i] - target[i]
        is_inside = abs(residual) < end
        ratio = residual / width
        value[i] = residual * ratio / 2.0 + offset if is_inside else abs(residual)
        slope[i] = min(max(ratio, -steepest), steepest)
        curvature[i] = (1.0 if is_inside else 0.0) / width


@helper
def _hinge_losses(code, width, scores, target, n, value, slope, curvature):
    # The squared hinge is a parabola up to margin 1, the hinge within its width.
    end = np.inf if code == SQUARED_HINGE else width
    for i in range(n):
        shortfall = 1.0 - target[i] * scores[i]
        shortfall = 0.0 if shortfall <= 0.0 else shortfall
        rounded = end if shortfall > end else shortfall
        value[i] = rounded * rounded / (2.0 * width) + (shortfall - rounded)
        slope[i] = -target[i] * rounded / width
        curvature[i] = (1.0 if 0.0 < shortfall < end else 0.0) / width


@helper
def _negative_exponentials(sizes, n, powers, result):
    """exp(-size) of the first n sizes, written into `result`; `powers` is a buffer."""
    bits = powers.view(np.int64)
    for i in range(n):
        # exp(x) = 2**k exp(r), where |r| is at most log(2) / 2; nan stays nan. The factor is
        # 1 / log(2).
        x = _MIN_EXPONENT if sizes[i] > -_MIN_EXPONENT else -sizes[i]
        k = np.floor(x * 1.4426950408889634 + 0.5)
        r = x - k * _LN2_HIGH - k * _LN2_LOW
        total = 0.0
        for coefficient in _EXP_COEFFICIENTS:
            total = total * r + coefficient
        result[i] = total
        bits[i] = np.int64(np.int32(k) + np.int32(1023)) << np.int64(52)
    for i in range(n):
        result[i] *= powers[i]


@helper
def _log1p(x):
    """log(1 + x) for x in [0, 1]: 2 atanh(s) with s = x / (2 + x)."""
    s = x / (2.0 + x)
    squared = s * s
    total = 0.0
    for coefficient in _ATANH_COEFFICIENTS:
        total = total * squared + coefficient
    return total * s


# Decisions that flip along a line of score changes, counted in bins between breakpoints.


def bin_flips(scores, slopes, min_slope, typical_length, n_bins):
    """The bin in which each decision flips, as the length goes from -inf to +inf along a line.

    Scores are ``scores + t * slopes`` at length t; slopes up to ``min_slope`` count as 0.
    Breakpoints are evenly spread in ``t / (typical_length + |t|)``, so half of them are within the
    typical length. Returns bins (int32, n_bins without a flip) and the decisions before any flip,
    -1 or +1 (int8).
    """
    bins = np.empty(len(scores), dtype=np.int32)
    decisions = np.empty(len(scores), dtype=np.int8)
    _bin_flips(scores, slopes, min_slope, typical_length, n_bins, bins, decisions)
    return bins, decisions


@jit
def _bin_flips(scores, slopes, min_slope, typical_length, n_bins, bins, decisions):
    for i in range(len(scores)):
        bins[i], decisions[i] = flip_bin(scores[i], slopes[i], min_slope, typical_length, n_bins)


@helper
def flip_bin(score, slope, min_slope, typical_length, n_bins):
    """Bin in which a decision flips, and the decision before, -1 or +1, as in `bin_flips`."""
    # Position of the flip -score / slope in (-1, 1), and its bin, without branches.
    size = abs(slope)
    falls = slope <= 0.0
    position = (score if falls else -score) / max(typical_length * size + abs(score), 1e-300)
    index = min(max(int((position + 1.0) * 0.5 * n_bins), 0), n_bins - 1)
    # Flat lines never flip.
    is_flat = size <= min_slope
    is_positive = score > 0.0 if is_flat else falls
    return n_bins if is_flat else index, 1 if is_positive else -1


@jit
def add_flips(samples, events, effects, decisions, bins, sums):
    """Add the effects of positive decisions before the first bin, and the changes of every bin.

    Memberships have a sample, an event, and the effect of a positive decision on the event.
    ``decisions`` are those before the first flip, -1 or +1, and ``bins`` the bin of each flip,
    n_bins for none. ``sums`` has shape (n_events, n_bins + 1).
    """
    n_bins = sums.shape[1] - 1
    for m in range(len(samples)):
        i = samples[m]
        e = events[m]
        if decisions[i] > 0:
            sums[e, 0] += effects[m]
        if bins[i] < n_bins:
            sums[e, bins[i] + 1] -= decisions[i] * effects[m]


# Passes over a block of dense samples of a linear model, each of which is one call.
#
# Rows come in chunks whose buffers stay in the first-level cache. Sums over a chunk may be taken in
# any order, in which they use vector registers; chunks are added from the first to the last.


_CHUNK = 128
"""Rows of a chunk."""


def evaluate_block(columns, parameters, losses, events, weights):
    """Sums over a block: loss, gradient, means of rates, their derivatives, and Gram matrix.

    ``columns`` are X, and center and scale of its columns; with one parameter more than columns
    there is an intercept. ``losses`` are target, share, and code and width of the loss. ``events``
    are codes and shares, (n_rates, n_samples); where the cells of each rate begin and their number,
    (n_rates + 1,); code and width of each rate, and whether it is of errors. ``weights``,
    (n_cells,), multiply the second derivatives of the means. The Gram matrix is weighted by the
    second derivative of loss and means.
    """
    n_cells, n_parameters = len(weights), len(parameters)
    total, gradient = np.zeros(1), np.zeros(n_parameters)
    means = np.zeros(n_cells)
    jacobian = np.zeros((n_cells, len(columns[1]) + 1))
    gram = np.zeros((n_parameters, n_parameters))
    sums = total, gradient, means, jacobian, gram
    _evaluate_block(columns, parameters, losses, events, weights, sums)
    return total[0], gradient, means, jacobian[:, :n_parameters], gram


def evaluate_bucket_moments(columns, parameters, losses, events, buckets, weights):
    """Sums over a block: loss, gradient, moments of scores by cell, their derivatives, and Gram.

    A cell is an event and a bucket of scores between ``bounds``. ``events`` are code and share of
    each sample, and ``buckets`` the ascending bounds, and which buckets need sums of shares times
    scores. ``weights``, (n_events, n_buckets), are second derivatives in each cell. Moments,
    (3, n_events, n_buckets), are sums of shares times powers 0, 1 and 2 of the scores. Derivatives
    are those of the sums of powers 0, then 1, cell by cell, (2 * n_cells, n_parameters).
    """
    n_parameters = len(parameters)
    n_events, n_buckets = weights.shape
    n_cells = (n_events + 1) * n_buckets  # those of no event come last
    total, gradient = np.zeros(1), np.zeros(n_parameters)
    moments = np.zeros((3, n_cells))
    jacobian = np.zeros((2, n_cells, len(columns[1]) + 1))
    gram = np.zeros((n_parameters, n_parameters))
    weights = np.append(weights.ravel(), np.zeros(n_buckets))
    sums = total, gradient, moments, *jacobian, gram
    _evaluate_bucket_moments(columns, parameters, losses, events, buckets, weights, sums)
    moments = moments[:, :-n_buckets].reshape(3, n_events, n_buckets)
    jacobian = jacobian[:, :-n_buckets, :n_parameters].reshape(-1, n_parameters)
    return total[0], gradient, moments, jacobian, gram


def score_samples(X, coef, intercept):
    """Score of each row of a block, (n_samples,)."""
    scores = np.empty(len(X))
    _score_samples(X, coef, intercept, scores)
    return scores


@jit
def _score_samples(X, coef, intercept, scores):
    for i in range(len(X)):
        scores[i] = intercept + _score(X, i, coef)


def sum_block_metrics(X, coefficients, losses, events):
    """Sums over a block that judge a model: loss, errors, positive decisions, and moments.

    ``coefficients`` are those of the columns of X, and the intercept; ``losses`` and ``events`` are
    as in `evaluate_block`. Moments, (3, n_cells), are means of rates, of their squares, and sums of
    squared shares.
    """
    totals = np.zeros(3)
    moments = np.zeros((3, events[2][-1]))
    _sum_block_metrics(X, coefficients, losses, events, totals, moments)
    return totals, moments


def sum_line_bins(X, coefficients, directions, lengths, n_bins, losses, events):
    """Errors and sums of decisions in bins along lines, as enforcement's `count_along_lines`.

    ``coefficients`` are as in `sum_block_metrics`, and ``directions``, (n_lines, n_columns) and
    (n_lines,), change them. ``lengths`` are the slope that counts as 0, and the typical lengths of
    `bin_flips`, (n_lines,). Rates are those of decisions. Returns errors, (n_lines, n_bins + 1),
    sums, (n_lines, n_cells, n_bins + 1), and the sums of negative decisions, (n_cells,).
    """
    n_lines = len(directions[1])
    n_cells = events[2][-1]
    # Effects of positive decisions in each bin: of those that flip to positive, and to negative.
    errors = np.zeros((n_lines, 2, n_bins + 1))
    sums = np.zeros((n_lines, n_cells, 2, n_bins + 1))
    constant, negative = np.zeros(1), np.zeros(n_cells)
    target, share, *_ = losses
    codes, shares, cells, _, _, are_errors = events
    lines = (*directions, *lengths)
    events = (codes, shares, cells, are_errors)
    effects = errors, sums, constant, negative
    _sum_line_bins(X, coefficients, lines, (target, share), events, effects)
    errors = _first_and_changes(errors)
    errors[:, 0] += constant
    return errors, _first_and_changes(sums), negative


def _first_and_changes(effects):
    """Return the sum before the first bin, then the change in each bin, (..., 2, n) -> (..., n)."""
    result = np.empty((*effects.shape[:-2], effects.shape[-1]))
    result[..., 0] = effects[..., 1, :].sum(axis=-1)
    np.subtract(effects[..., 0, :-1], effects[..., 1, :-1], out=result[..., 1:])
    return result


@jit
def _evaluate_block(columns, parameters, losses, events, weights, sums):
    """Add a block of samples to value, gradient, means, Jacobian and Gram matrix, in place.

    `weights`, (n_cells,), are those of the curvature of each mean in the Gram matrix, which is
    (n_parameters, n_parameters). The Jacobian is (n_cells, n_columns + 1), with the intercept last.
    """
    X, center, scale = columns
    target, share, loss, loss_width = losses
    codes, shares, cells, rates, widths, are_errors = events
    total, gradient, means, jacobian, gram = sums
    n_columns = X.shape[1]
    n_parameters = len(parameters)
    rows = np.empty((n_columns + 1, _CHUNK))
    scores = np.empty(_CHUNK)
    of_class = np.empty(_CHUNK)
    buffers = np.empty((3, _CHUNK))
    curvatures = np.empty(_CHUNK)
    for start in range(0, len(X), _CHUNK):
        n = min(_CHUNK, len(X) - start)
        _standardize_and_score(X, start, n, center, scale, parameters, rows, scores)
        for i in range(n):
            of_class[i] = target[start + i]
        # Loss and its gradient.
        value = buffers[0]
        slope = buffers[1]
        curvature = buffers[2]
        evaluate_pointwise(loss, loss_width, scores, of_class, n, value, slope, curvature)
        for i in range(n):
            weight = share[start + i]
            value[i] *= weight
            slope[i] *= weight
            curvatures[i] = weight * curvature[i]
        total[0] += _dot(value, rows, n_columns, n)
        _add_dots(slope, rows, n_parameters, n, gradient)
        # Means of rates and their derivatives.
        for k in range(len(rates)):
            evaluate_pointwise(rates[k], widths[k], scores, of_class, n, value, slope, curvature)
            for i in range(n):
                cell = cells[k] + codes[k, start + i]
                weight = shares[k, start + i]
                sign = -of_class[i] if are_errors[k] else 1.0
                means[cell] += weight * (1.0 - value[i] if sign < 0.0 else value[i])
                weight *= sign
                curvatures[i] += weight * weights[cell] * curvature[i]
                weight *= slope[i]
                for j in range(n_columns):
                    jacobian[cell, j] += weight * X[start + i, j]
                jacobian[cell, n_columns] += weight
        _add_gram(curvatures, rows, n_parameters, n, value, gram)
    _standardize_sums(jacobian, center, scale)
    _mirror(gram)


@jit
def _evaluate_bucket_moments(columns, parameters, losses, events, buckets, weights, sums):
    """Add a block of samples to value, gradient, and moments of scores by event and bucket.

    `moments` are (3, n_cells): sums of weights, of scores and of their squares. `masses` and
    `firsts`, (n_cells, n_columns + 1), are sums of columns, and of columns times scores.
    """
    X, center, scale = columns
    target, share, loss, loss_width = losses
    codes, shares = events
    bounds, has_corner = buckets
    total, gradient, moments, masses, firsts, gram = sums
    n_columns = X.shape[1]
    n_parameters = len(parameters)
    n_buckets = len(bounds) + 1
    rows = np.empty((n_columns + 1, _CHUNK))
    scores = np.empty(_CHUNK)
    of_class = np.empty(_CHUNK)
    buffers = np.empty((3, _CHUNK))
    curvatures = np.empty(_CHUNK)
    places = np.empty(_CHUNK, dtype=np.intp)
    for start in range(0, len(X), _CHUNK):
        n = min(_CHUNK, len(X) - start)
        _standardize_and_score(X, start, n, center, scale, parameters, rows, scores)
        for i in range(n):
            of_class[i] = target[start + i]
        value = buffers[0]
        slope = buffers[1]
        curvature = buffers[2]
        evaluate_pointwise(loss, loss_width, scores, of_class, n, value, slope, curvature)
        for i in range(n):
            weight = share[start + i]
            value[i] *= weight
            slope[i] *= weight
            curvatures[i] = weight * curvature[i]
        total[0] += _dot(value, rows, n_columns, n)
        _add_dots(slope, rows, n_parameters, n, gradient)
        # Sums over cells, each an event and a bucket of scores.
        _find_buckets(bounds, scores, n, places)
        for i in range(n):
            score = scores[i]
            term = shares[start + i]
            bucket = places[i]
            cell = codes[start + i] * n_buckets + bucket
            curvatures[i] += term * weights[cell]
            for j in range(n_columns):
                masses[cell, j] += term * X[start + i, j]
            masses[cell, n_columns] += term
            if has_corner[bucket]:
                for j in range(n_columns):
                    firsts[cell, j] += term * score * X[start + i, j]
                firsts[cell, n_columns] += term * score
            for power in range(3):
                moments[power, cell] += term
                term *= score
        _add_gram(curvatures, rows, n_parameters, n, value, gram)
    _standardize_sums(masses, center, scale)
    _standardize_sums(firsts, center, scale)
    _mirror(gram)


@jit
def _sum_block_metrics(X, coefficients, losses, events, totals, moments):
    """Add a block of samples to the totals and the moments of rates, in place.

    `totals` are loss, share of errors and number of positive scores. `moments`, (3, n_cells), are
    sums of weighted rates, of their squares, and of squared weights.
    """
    coef, intercept = coefficients
    target, share, loss, loss_width = losses
    codes, shares, cells, rates, widths, are_errors = events
    scores = np.empty(_CHUNK)
    of_class = np.empty(_CHUNK)
    buffers = np.empty((3, _CHUNK))
    value = buffers[0]
    slope = buffers[1]
    curvature = buffers[2]
    for start in range(0, len(X), _CHUNK):
        n = min(_CHUNK, len(X) - start)
        for i in range(n):
            scores[i], of_class[i] = intercept + _score(X, start + i, coef), target[start + i]
        evaluate_pointwise(loss, loss_width, scores, of_class, n, value, slope, curvature)
        for i in range(n):
            totals[0] += share[start + i] * value[i]
            totals[1] += share[start + i] * ((scores[i] > 0.0) != (of_class[i] > 0.0))
            totals[2] += scores[i] > 0.0
        for k in range(len(rates)):
            evaluate_pointwise(rates[k], widths[k], scores, of_class, n, value, slope, curvature)
            for i in range(n):
                cell = cells[k] + codes[k, start + i]
                weight = shares[k, start + i]
                rate = 1.0 - value[i] if are_errors[k] and of_class[i] > 0.0 else value[i]
                moments[0, cell] += weight * rate
                moments[1, cell] += weight * rate * rate
                moments[2, cell] += weight * weight


@jit
def _sum_line_bins(X, coefficients, lines, samples, events, effects):
    """Add what decisions that flip in each bin change of errors and of sums, in place.

    `errors` are (n_lines, 2, n_bins + 1) and `sums` (n_lines, n_cells, 2, n_bins + 1): first those
    that become positive, then those that become negative.
    """
    coef, intercept = coefficients
    directions, rises, min_slope, lengths = lines
    target, share = samples
    codes, shares, cells, are_errors = events
    errors, sums, constant, negative = effects
    n_bins = errors.shape[2] - 1
    scores = np.empty(_CHUNK)
    slopes = np.empty(_CHUNK)
    bins = np.empty((2, _CHUNK), dtype=np.intp)
    for start in range(0, len(X), _CHUNK):
        n = min(_CHUNK, len(X) - start)
        for i in range(n):
            scores[i] = intercept + _score(X, start + i, coef)
            constant[0] += share[start + i] * (target[start + i] > 0.0)
        for k in range(len(are_errors)):
            if are_errors[k]:
                for i in range(start, start + n):
                    negative[cells[k] + codes[k, i]] += shares[k, i] * (target[i] > 0.0)
        for line in range(len(lengths)):
            direction = directions[line]
            rise = rises[line]
            typical = lengths[line]
            for i in range(n):
                slopes[i] = rise + _score(X, start + i, direction)
            for i in range(n):
                b, decision = flip_bin(scores[i], slopes[i], min_slope, typical, n_bins)
                bins[0, i], bins[1, i] = b, decision > 0
            # A positive decision is an error for the negative class alone.
            for i in range(n):
                effect = -target[start + i] * share[start + i]
                errors[line, bins[1, i], bins[0, i]] += effect
            for k in range(len(are_errors)):
                first = cells[k]
                is_error = are_errors[k]
                for i in range(n):
                    effect = shares[k, start + i] * (-target[start + i] if is_error else 1.0)
                    sums[line, first + codes[k, start + i], bins[1, i], bins[0, i]] += effect


@helper
def _standardize_and_score(X, start, n, center, scale, parameters, rows, scores):
    """Write standardised columns of n rows, the intercept's last, and their scores."""
    n_columns = X.shape[1]
    for i in range(n):
        rows[n_columns, i] = 1.0
        scores[i] = parameters[n_columns] if n_columns < len(parameters) else 0.0
    for j in range(n_columns):
        middle = center[j]
        factor = 1.0 / scale[j]
        parameter = parameters[j]
        for i in range(n):
            entry = (X[start + i, j] - middle) * factor
            rows[j, i] = entry
            scores[i] += parameter * entry


@helper
def _find_buckets(bounds, scores, n, buckets):
    """Write the number of ascending bounds below each of n scores, by binary searches at a time."""
    for i in range(n):
        buckets[i] = 0
    size = len(bounds)
    while size > 0:
        half = (size + 1) // 2
        for i in range(n):
            buckets[i] += half * (bounds[buckets[i] + half - 1] < scores[i])
        size -= half


@helper
def _add_gram(weights, rows, n_parameters, n, buffer, gram):
    """Add the weighted products of n rows to the lower triangle of a Gram matrix."""
    for j in range(n_parameters):
        for i in range(n):
            buffer[i] = weights[i] * rows[j, i]
        _add_dots(buffer, rows, j + 1, n, gram[j])


@helper
def _mirror(gram):
    """Copy the lower triangle of a symmetric matrix to the upper one."""
    for j in range(len(gram)):
        for k in range(j):
            gram[k, j] = gram[j, k]


@helper
def _standardize_sums(sums, center, scale):
    """Sums of standardised columns from those of columns, whose weights are in the last column."""
    n_columns = len(center)
    for row in range(len(sums)):
        for j in range(n_columns):
            sums[row, j] = (sums[row, j] - sums[row, n_columns] * center[j]) / scale[j]


@fast_sums_helper
def _score(X, i, coef):
    total = 0.0
    for j in range(len(coef)):
        total += X[i, j] * coef[j]
    return total


@fast_sums_helper
def _dot(vector, rows, k, n):
    """Product of a vector with row k, over n entries."""
    total = 0.0
    for i in range(n):
        total += vector[i] * rows[k, i]
    return total


@fast_sums_helper
def _four_dots(vector, rows, k, n):
    """Products with four rows at a time, for which the vector is loaded once."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        a += vector[i] * rows[k, i]
        b += vector[i] * rows[k + 1, i]
        c += vector[i] * rows[k + 2, i]
        d += vector[i] * rows[k + 3, i]
    return a, b, c, d


@helper
def _add_dots(vector, rows, count, n, sums):
    """Add the products of a vector with the first rows, over n entries."""
    fours = count - count % 4
    for k in range(0, fours, 4):
        a, b, c, d = _four_dots(vector, rows, k, n)
        sums[k] += a
        sums[k + 1] += b
        sums[k + 2] += c
        sums[k + 3] += d
    for k in range(fours, count):
        sums[k] += _dot(vector, rows, k, n)


# Products of matrices in compressed sparse rows (CSR), with dense results.


def weighted_gram(data, indices, indptr, weights, n_columns):
    """Sum over rows i of ``weights[i] * outer(row_i, row_i)``, for sorted rows without duplicates.

    Returns a symmetric array of shape (n_columns, n_columns).
    """
    gram = np.zeros((n_columns, n_columns))
    _add_weighted_gram(data, indices, indptr, weights, gram)
    return gram


@jit
def _add_weighted_gram(data, indices, indptr, weights, gram):
    """Add weighted outer products of sparse rows to `gram`, (n_columns, n_columns)."""
    for i in range(len(indptr) - 1):
        weight = weights[i]
        if weight == 0.0:
            continue
        entries = slice(indptr[i], indptr[i + 1])
        values = data[entries]
        columns = indices[entries]
        for a in range(len(values)):
            # Unsigned indices spare the test for negative ones, which takes longer than the sum.
            j = np.uint64(columns[a])
            scaled = weight * values[a]
            # Columns ascend within a row, so only the lower triangle is written.
            for b in range(a + 1):
                gram[j, np.uint64(columns[b])] += scaled * values[b]
    _mirror(gram)


def sum_outer_products(left, right, n_left, n_right):
    """Sum over rows i of ``outer(left_i, right_i)``, for two matrices (data, indices, indptr).

    One pass over both, in the order of their rows. Returns an array of shape (n_left, n_right),
    the numbers of columns.
    """
    total = np.zeros((n_left, n_right))
    _add_outer_products(left, right, total)
    return total


@jit
def _add_outer_products(left, right, total):
    """Add outer products of sparse rows to `total`, (n_left, n_right)."""
    left_data, left_indices, left_indptr = left
    right_data, right_indices, right_indptr = right
    for i in range(len(left_indptr) - 1):
        entries = slice(right_indptr[i], right_indptr[i + 1])
        values = right_data[entries]
        columns = right_indices[entries]
        for a in range(left_indptr[i], left_indptr[i + 1]):
            row = np.uint64(left_indices[a])
            factor = left_data[a]
            for b in range(len(values)):
                total[row, np.uint64(columns[b])] += factor * values[b]


def sum_stored_deviations(data, indices, indptr, share, mean):
    """Deviations of the stored entries from the mean of their column, weighted by the rows' shares.

    Returns, for each column, the number and the share of the rows that store it, and the sums of
    deviations and of their squares.
    """
    counts = np.zeros(len(mean), dtype=np.int64)
    stored, deviations, squares = np.zeros((3, len(mean)))
    _add_stored_deviations(
        (data, indices, indptr), share, mean, counts, stored, deviations, squares
    )
    return counts, stored, deviations, squares


@jit
def _add_stored_deviations(rows, share, mean, counts, stored, deviations, squares):
    data, indices, indptr = rows
    for i in range(len(indptr) - 1):
        for a in range(indptr[i], indptr[i + 1]):
            j = indices[a]
            deviation = data[a] - mean[j]
            counts[j] += 1
            stored[j] += share[i]
            deviations[j] += share[i] * deviation
            squares[j] += share[i] * deviation**2


def compressed_rows(X):
    """A dense matrix as CSR: data, indices, indptr, in the integer types of scipy."""
    indptr = np.zeros(len(X) + 1, dtype=np.int64)
    _cumulate_stored(X, indptr)
    data = np.empty(indptr[-1])
    indices = np.empty(indptr[-1], dtype=np.int32)
    _fill_nonzeros(X, indptr, data, indices)
    return data, indices, indptr.astype(np.int32) if indptr[-1] < 2**31 else indptr


@jit
def _cumulate_stored(X, indptr):
    """Number of non-zero entries in all rows before a row."""
    for i in range(X.shape[0]):
        count = 0
        for j in range(X.shape[1]):
            count += X[i, j] != 0.0
        indptr[i + 1] = indptr[i] + count


@jit
def _fill_nonzeros(X, indptr, data, indices):
    for i in range(X.shape[0]):
        a = indptr[i]
        for j in range(X.shape[1]):
            if X[i, j] != 0.0:
                data[a], indices[a] = X[i, j], j
                a += 1


# Members of events in the intervals between thresholds.


def bin_members(scores, samples, bounds):
    """Number of bounds below the score of each member, for thousands of bounds, which ascend."""
    bins = np.empty(len(samples), dtype=np.intp)
    # Steps of equal length of a lookup table; most contain few bounds.
    _bin_members(scores, samples, bounds, np.zeros((1 << 14) + 1, dtype=np.intp), bins)
    return bins


@jit
def _bin_members(scores, samples, bounds, first_bounds, bins):
    """Write the number of bounds below the score of each member into `bins`, (n_members,).

    `first_bounds`, zeros of (n_steps + 1,), becomes a lookup table of the bounds by equal steps.
    """
    # Lookup table: steps are monotone under rounding, so the bounds of lower steps are lower.
    # the outermost may be far away
    n_outer = len(bounds) // 64
    n_steps = len(first_bounds) - 1
    first, last = bounds[n_outer], bounds[len(bounds) - 1 - n_outer]
    scale = n_steps / max(last - first, 1e-300)
    for b in range(len(bounds)):
        first_bounds[int(min(max((bounds[b] - first) * scale, 0.0), n_steps - 1.0)) + 1] += 1
    for step in range(n_steps):
        first_bounds[step + 1] += first_bounds[step]
    # Binary search within the step of the score.
    for m in range(len(samples)):
        score = scores[samples[m]]
        step = int(min(max((score - first) * scale, 0.0), n_steps - 1.0))
        low, high = first_bounds[step], first_bounds[step + 1]
        while low < high:
            middle = (low + high) // 2
            if bounds[middle] < score:
                low = middle + 1
            else:
                high = middle
        bins[m] = low
