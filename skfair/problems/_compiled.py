"""Passes over blocks of samples by one kernel each, where columns, loss and rates have kernels."""

from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import sparse

from skfair._kernels.codes import STEP
from skfair.losses import kernel_code, kernel_rate


def compile_block(problem):
    """The `CompiledBlock` of a problem; None where its columns or its loss have no kernel."""
    code, columns = kernel_code(problem.loss), getattr(problem.model, "kernel_columns", None)
    if code is None or columns is None:
        return None
    return CompiledBlock(problem, columns, (problem.target, problem.mean_weights, *code))


class CompiledBlock:
    """A block of samples as arguments of kernels; methods return None where a rate has no kernel.

    Kernels sum over cells: the events of each constraint, and one more for samples in none of them.
    """

    def __init__(self, block, columns, losses):
        self.block, self.columns, self.losses = block, columns, losses

    @cached_property
    def _combine(self):
        """Linear map from means to rows, (n_rows, n_cells); samples of no event are in no row."""
        no_event = sparse.csr_array((0, 1))
        combines = [(one.combine, no_event) for one in self.block.constraint]
        return sparse.block_diag([one for pair in combines for one in pair], format="csr")

    @cached_property
    def smooth(self):
        """Arguments for the smooth means that are compared."""
        return _stack(self.block.constraint, "smooth")

    @cached_property
    def _exact(self):
        """Arguments for the exact means that are compared."""
        return self._countable(_stack(self.block.constraint, "exact"))

    @cached_property
    def _report_arguments(self):
        """Arguments for the exact means of each constraint, followed by those of small groups."""
        pairs = ((one, one.uncompared) for one in self.block.constraint)
        return self._countable(_stack([one for pair in pairs for one in pair if one], "exact"))

    def _countable(self, events):
        """Arguments, or None where predictions have other columns than those stored."""
        return events if self.block.model.original is None else None

    def evaluate(self, x, multipliers, is_exact, reduce):
        """Objective, its gradient, rows, their Jacobian, and Hessian of the Lagrangian.

        Without what does not depend on the samples: penalty, and constant terms of rows. The
        samples are those of the blocks, of which ``reduce(function, *arguments)`` takes the sum.
        """
        if self.has_means(multipliers):
            return self._evaluate_means(x, multipliers, reduce)
        rows = self.block.rows
        buckets = rows.buckets_at(x[self.block.n_parameters :]) if _has_buckets(rows) else None
        return buckets and self._evaluate_shares(x, multipliers, is_exact, buckets, reduce)

    def has_means(self, multipliers):
        """Whether the rows of these multipliers, if any, are of means that have kernels."""
        return not len(multipliers) or self.smooth is not None

    def _evaluate_means(self, x, multipliers, reduce):
        p = self.block.n_parameters
        combine = self._combine if len(multipliers) else sparse.csr_array((0, 0))
        sums = reduce(_sum_means, x[:p], combine.T @ multipliers)
        objective, gradient, means, by_parameters, gram = sums
        jacobian, hessian = np.zeros((len(multipliers), len(x))), np.zeros((len(x), len(x)))
        jacobian[:, :p], hessian[:p, :p] = combine @ by_parameters, gram
        return objective, gradient, combine @ means, jacobian, hessian

    def _evaluate_shares(self, x, multipliers, is_exact, buckets, reduce):
        p, rows = self.block.n_parameters, self.block.rows
        weights = rows.bucket_curvatures(buckets, multipliers, is_exact)
        sums = reduce(_sum_shares, x[:p], (buckets.bounds, buckets.has_corner), weights)
        objective, gradient, moments, by_parameters, gram = sums
        buckets.integrate(moments)
        values = rows.evaluate_convex(buckets, x[p:])
        mixed, of_aux = (values.exact() if is_exact else values).aux_curvature(multipliers)
        by_aux = values.aux_jacobian - rows.aux_jacobian
        jacobian = np.column_stack((values.jacobian.combine @ by_parameters, by_aux))
        mixed = mixed @ by_parameters
        hessian = np.block([[gram, mixed.T], [mixed, of_aux]])
        return objective, gradient, values.values - rows.constant_term(x[p:]), jacobian, hessian

    def count(self, parameters):
        """Share in errors, decisions, objective, and the moments of each constraint."""
        if self._report_arguments is None:
            return None
        (objective, error, n_positive), moments = self._count(parameters, self._report_arguments)
        moments, decided = iter(moments), (len(self.block.target) - n_positive, n_positive)
        by_constraint = [
            np.concatenate([next(moments) for each in (one, one.uncompared) if each], axis=1)
            for one in self.block.constraint
        ]
        return error, decided, objective, by_constraint

    def predict_scores(self, parameters):
        """Scores as predictions will have them."""
        from skfair._kernels.linear_pass import score_rows

        if self.block.model.original is not None:
            return None
        return score_rows(self.columns[0], *self.block.model.coefficients(parameters))

    def smooth_sums(self, parameters):
        """Share in the smooth means of each constraint."""
        if self._countable(self.smooth) is None:
            return None
        return tuple(means for means, *_ in self._count(parameters, self.smooth)[1])

    def residuals(self, parameters):
        """Share in the differences between exact and smooth means, by constraint."""
        if self.smooth is None or self._exact is None:
            return None
        exact, smooth = (self._count(parameters, one)[1] for one in (self._exact, self.smooth))
        return tuple(one[0] - other[0] for one, other in zip(exact, smooth, strict=True))

    def count_lines(self, start, directions, min_slope, lengths, n_bins):
        """Share in the errors and means at the ends of the bins of lines, as `count_bins`."""
        from skfair._kernels.linear_pass import count_lines

        if self._exact is None or (self._exact[3] != STEP).any():
            return None
        model = self.block.model
        lines = zip(*map(model.coefficients, directions), strict=True)
        errors, sums, negative = count_lines(
            self.columns[0],
            model.coefficients(start),
            tuple(map(np.array, lines)),
            (min_slope, lengths),
            n_bins,
            self.losses,
            self._exact,
        )
        means = _split(sums, self._exact, axis=1)
        return errors, tuple(means), tuple(_split(negative, self._exact, axis=0))

    def _count(self, parameters, events):
        """Sums that judge a model, and the moments of each constraint."""
        from skfair._kernels.linear_pass import count_block

        coefficients = self.block.model.coefficients(parameters)
        totals, moments = count_block(self.columns[0], coefficients, self.losses, events)
        return totals, _split(moments, events, axis=1)


def _has_buckets(rows):
    """Whether rows are of shares of disjoint events."""
    return hasattr(rows, "buckets_at") and rows.events.codes_and_weights is not None


def _sum_means(block, parameters, weights):
    """Sums over a block, by a kernel."""
    from skfair._kernels.linear_pass import evaluate_block

    compiled = block.compiled
    events = compiled.smooth if len(weights) else _stack([], "smooth")
    return evaluate_block(compiled.columns, parameters, compiled.losses, events, weights)


def _sum_shares(block, parameters, buckets, weights):
    """Sums over a block with shares of ranked samples, by a kernel."""
    from skfair._kernels.linear_pass import evaluate_shares

    compiled, (constraint,) = block.compiled, block.constraint
    events = constraint.events.codes_and_weights
    return evaluate_shares(compiled.columns, parameters, compiled.losses, events, buckets, weights)


def _stack(constraints, terms):
    """Arguments of kernels for the terms, "smooth" or "exact", of several `BoundConstraint`.

    Codes and shares, (n_constraints, n_samples); where the cells of each begin, and their number;
    code and width of each rate, and whether it is of errors. None if one has no kernel.
    """
    arguments = [_kernel_arguments(one, terms) for one in constraints]
    if None in arguments:
        return None
    columns = zip(*arguments, strict=True) if arguments else [()] * 5
    events, shares, rates, widths, are_errors = columns
    return (
        _stack_rows(events, np.intp),
        _stack_rows(shares, np.float64),
        np.cumsum([0, *(one.events.n_events + 1 for one in constraints)]),
        np.array(rates, dtype=np.intp),
        np.array(widths, dtype=np.float64),
        np.array(are_errors, dtype=bool),
    )


def _kernel_arguments(constraint, terms):
    """Event and weight of each sample, and what kernels know a rate by; None without a kernel.

    Events are disjoint; samples in none of them have the number of events, and a weight of 0.
    """
    if constraint.statistic == "ranks" or constraint.is_quotient:
        return None
    known = kernel_rate(getattr(constraint, terms)[0])
    members = constraint.events.codes_and_weights
    return None if known is None or members is None else (*members, *known)


def _stack_rows(rows, dtype):
    """Rows one below the other; a single one is not copied."""
    if len(rows) == 1:
        return rows[0][np.newaxis]
    return np.array(rows, dtype=dtype).reshape(len(rows), len(rows[0]) if rows else 0)


def _split(sums, events, axis):
    """Sums over the events of each constraint, without those over samples in no event."""
    cells = pairwise(events[2].tolist())
    return [sums.take(range(first, end - 1), axis) for first, end in cells]
