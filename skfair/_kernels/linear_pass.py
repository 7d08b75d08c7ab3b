"""Passes over a block of dense samples of a linear model, each of which is one call.

Rows come in chunks whose buffers stay in the first-level cache. Sums over a chunk may be taken in
any order, in which they use vector registers; chunks are added from the first to the last.
"""

import numpy as np

from skfair._kernels import deferred_helper, inline_helper, jit, summing_helper
from skfair._kernels.flips import find_bin
from skfair._kernels.pointwise import evaluate_pointwise

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
    means, jacobian = np.zeros(n_cells), np.zeros((n_cells, len(columns[1]) + 1))
    gram = np.zeros((n_parameters, n_parameters))
    sums = total, gradient, means, jacobian, gram
    _evaluate_block(*columns, parameters, *losses, *events, weights, *sums)
    gram += np.tril(gram, -1).T  # the kernel fills the lower triangle
    return total[0], gradient, means, jacobian[:, :n_parameters], gram


def evaluate_shares(columns, parameters, losses, events, buckets, weights):
    """Sums over a block: loss, gradient, moments of scores by cell, their derivatives, and Gram.

    A cell is an event and a bucket of scores between ``bounds``. ``events`` are code and share of
    each sample, and ``buckets`` the ascending bounds, and which buckets need sums of shares times
    scores. ``weights``, (n_events, n_buckets), are second derivatives in each cell. Moments,
    (3, n_events, n_buckets), are sums of shares times powers 0, 1 and 2 of the scores. Derivatives
    are those of the sums of powers 0, then 1, cell by cell, (2 * n_cells, n_parameters).
    """
    n_parameters, (n_events, n_buckets) = len(parameters), weights.shape
    n_cells = (n_events + 1) * n_buckets  # those of no event come last
    total, gradient = np.zeros(1), np.zeros(n_parameters)
    moments, jacobian = np.zeros((3, n_cells)), np.zeros((2, n_cells, len(columns[1]) + 1))
    gram = np.zeros((n_parameters, n_parameters))
    weights = np.append(weights.ravel(), np.zeros(n_buckets))
    sums = total, gradient, moments, *jacobian, gram
    _evaluate_shares(*columns, parameters, *losses, *events, *buckets, weights, *sums)
    gram += np.tril(gram, -1).T
    moments = moments[:, :-n_buckets].reshape(3, n_events, n_buckets)
    jacobian = jacobian[:, :-n_buckets, :n_parameters].reshape(-1, n_parameters)
    return total[0], gradient, moments, jacobian, gram


def score_rows(X, coef, intercept):
    """Score of each row of a block, (n_samples,)."""
    scores = np.empty(len(X))
    _score_rows(X, coef, intercept, scores)
    return scores


@jit
def _score_rows(X, coef, intercept, scores):
    for i in range(len(X)):
        scores[i] = intercept + _score(X, i, coef)


def count_block(X, coefficients, losses, events):
    """Sums over a block that judge a model: loss, errors, positive decisions, and moments.

    ``coefficients`` are those of the columns of X, and the intercept; ``losses`` and ``events`` are
    as in `evaluate_block`. Moments, (3, n_cells), are means of rates, of their squares, and sums of
    squared shares.
    """
    totals, moments = np.zeros(3), np.zeros((3, events[2][-1]))
    _count_block(X, *coefficients, *losses, *events, totals, moments)
    return totals, moments


def count_lines(X, coefficients, directions, lengths, n_bins, losses, events):
    """Errors and sums of decisions in bins along lines, as `skfair.enforcement._flips.count_bins`.

    ``coefficients`` are as in `count_block`, and ``directions``, (n_lines, n_columns) and
    (n_lines,), change them. ``lengths`` are the slope that counts as 0, and the typical lengths of
    `bin_flips`, (n_lines,). Rates are those of decisions. Returns errors, (n_lines, n_bins + 1),
    sums, (n_lines, n_cells, n_bins + 1), and the sums of negative decisions, (n_cells,).
    """
    n_lines, n_cells = len(directions[1]), events[2][-1]
    # Effects of positive decisions in each bin: of those that flip to positive, and to negative.
    errors, sums = np.zeros((n_lines, 2, n_bins + 1)), np.zeros((n_lines, n_cells, 2, n_bins + 1))
    constant, negative = np.zeros(1), np.zeros(n_cells)
    target, share, *_ = losses
    codes, shares, cells, _, _, are_errors = events
    arguments = target, share, codes, shares, cells, are_errors, errors, sums, constant, negative
    _count_lines(X, *coefficients, *directions, *lengths, *arguments)
    errors = _first_and_changes(errors)
    errors[:, 0] += constant
    return errors, _first_and_changes(sums), negative


def _first_and_changes(effects):
    """Sums before the first bin, and their changes in each, (..., 2, n) -> (..., n)."""
    result = np.empty((*effects.shape[:-2], effects.shape[-1]))
    result[..., 0] = effects[..., 1, :].sum(axis=-1)
    np.subtract(effects[..., 0, :-1], effects[..., 1, :-1], out=result[..., 1:])
    return result


@jit
def _evaluate_block(
    X,
    center,
    scale,
    parameters,
    target,
    share,
    loss,
    loss_width,
    codes,
    shares,
    cells,
    rates,
    widths,
    are_errors,
    weights,
    total,
    gradient,
    means,
    jacobian,
    gram,
):
    n_columns, n_parameters = X.shape[1], len(parameters)
    rows, scores, of_class = np.empty((n_columns + 1, _CHUNK)), np.empty(_CHUNK), np.empty(_CHUNK)
    buffers, curvatures = np.empty((3, _CHUNK)), np.empty(_CHUNK)
    for start in range(0, len(X), _CHUNK):
        n = min(_CHUNK, len(X) - start)
        _standardize(X, start, n, center, scale, parameters, rows, scores)
        for i in range(n):
            of_class[i] = target[start + i]
        # Loss and its gradient.
        value, slope, curvature = buffers[0], buffers[1], buffers[2]
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
                cell, weight = cells[k] + codes[k, start + i], shares[k, start + i]
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


@jit
def _evaluate_shares(
    X,
    center,
    scale,
    parameters,
    target,
    share,
    loss,
    loss_width,
    codes,
    shares,
    bounds,
    has_corner,
    weights,
    total,
    gradient,
    moments,
    masses,
    firsts,
    gram,
):
    n_columns, n_parameters, n_buckets = X.shape[1], len(parameters), len(bounds) + 1
    rows, scores, of_class = np.empty((n_columns + 1, _CHUNK)), np.empty(_CHUNK), np.empty(_CHUNK)
    buffers, curvatures = np.empty((3, _CHUNK)), np.empty(_CHUNK)
    buckets = np.empty(_CHUNK, dtype=np.intp)
    for start in range(0, len(X), _CHUNK):
        n = min(_CHUNK, len(X) - start)
        _standardize(X, start, n, center, scale, parameters, rows, scores)
        for i in range(n):
            of_class[i] = target[start + i]
        value, slope, curvature = buffers[0], buffers[1], buffers[2]
        evaluate_pointwise(loss, loss_width, scores, of_class, n, value, slope, curvature)
        for i in range(n):
            weight = share[start + i]
            value[i] *= weight
            slope[i] *= weight
            curvatures[i] = weight * curvature[i]
        total[0] += _dot(value, rows, n_columns, n)
        _add_dots(slope, rows, n_parameters, n, gradient)
        # Sums over cells, each an event and a bucket of scores.
        _find_buckets(bounds, scores, n, buckets)
        for i in range(n):
            score, term, bucket = scores[i], shares[start + i], buckets[i]
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


@jit
def _count_block(
    X,
    coef,
    intercept,
    target,
    share,
    loss,
    loss_width,
    codes,
    shares,
    cells,
    rates,
    widths,
    are_errors,
    totals,
    moments,
):
    scores, of_class, buffers = np.empty(_CHUNK), np.empty(_CHUNK), np.empty((3, _CHUNK))
    value, slope, curvature = buffers[0], buffers[1], buffers[2]
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
                cell, weight = cells[k] + codes[k, start + i], shares[k, start + i]
                rate = 1.0 - value[i] if are_errors[k] and of_class[i] > 0.0 else value[i]
                moments[0, cell] += weight * rate
                moments[1, cell] += weight * rate * rate
                moments[2, cell] += weight * weight


@jit
def _count_lines(
    X,
    coef,
    intercept,
    directions,
    rises,
    min_slope,
    lengths,
    target,
    share,
    codes,
    shares,
    cells,
    are_errors,
    errors,
    sums,
    constant,
    negative,
):
    n_bins = errors.shape[2] - 1
    scores, slopes, bins = np.empty(_CHUNK), np.empty(_CHUNK), np.empty((2, _CHUNK), dtype=np.intp)
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
            direction, rise, typical = directions[line], rises[line], lengths[line]
            for i in range(n):
                slopes[i] = rise + _score(X, start + i, direction)
            for i in range(n):
                b, decision = find_bin(scores[i], slopes[i], min_slope, typical, n_bins)
                bins[0, i], bins[1, i] = b, decision > 0
            # A positive decision is an error for the negative class alone.
            for i in range(n):
                effect = -target[start + i] * share[start + i]
                errors[line, bins[1, i], bins[0, i]] += effect
            for k in range(len(are_errors)):
                first, is_error = cells[k], are_errors[k]
                for i in range(n):
                    effect = shares[k, start + i] * (-target[start + i] if is_error else 1.0)
                    sums[line, first + codes[k, start + i], bins[1, i], bins[0, i]] += effect


@inline_helper
def _standardize(X, start, n, center, scale, parameters, rows, scores):
    """Write standardised columns of n rows, the intercept's last, and their scores."""
    n_columns = X.shape[1]
    for i in range(n):
        rows[n_columns, i] = 1.0
        scores[i] = parameters[n_columns] if n_columns < len(parameters) else 0.0
    for j in range(n_columns):
        middle, factor, parameter = center[j], 1.0 / scale[j], parameters[j]
        for i in range(n):
            entry = (X[start + i, j] - middle) * factor
            rows[j, i] = entry
            scores[i] += parameter * entry


@inline_helper
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


@inline_helper
def _add_gram(weights, rows, n_parameters, n, buffer, gram):
    """Add the weighted products of n rows to the lower triangle of a Gram matrix."""
    for j in range(n_parameters):
        for i in range(n):
            buffer[i] = weights[i] * rows[j, i]
        _add_dots(buffer, rows, j + 1, n, gram[j])


@deferred_helper
def _standardize_sums(sums, center, scale):
    """Sums of standardised columns from those of columns, whose weights are in the last column."""
    n_columns = len(center)
    for row in range(len(sums)):
        for j in range(n_columns):
            sums[row, j] = (sums[row, j] - sums[row, n_columns] * center[j]) / scale[j]


@summing_helper
def _score(X, i, coef):
    total = 0.0
    for j in range(len(coef)):
        total += X[i, j] * coef[j]
    return total


@summing_helper
def _dot(vector, rows, k, n):
    """Product of a vector with row k, over n entries."""
    total = 0.0
    for i in range(n):
        total += vector[i] * rows[k, i]
    return total


@summing_helper
def _four_dots(vector, rows, k, n):
    """Products with four rows at a time, for which the vector is loaded once."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        a += vector[i] * rows[k, i]
        b += vector[i] * rows[k + 1, i]
        c += vector[i] * rows[k + 2, i]
        d += vector[i] * rows[k + 3, i]
    return a, b, c, d


@deferred_helper
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
