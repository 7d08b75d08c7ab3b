"""A check for constraints of one's own: what the tests of registered ones ask of them."""

import numpy as np
from sklearn.base import clone

from skfair.constraints._cells import check_cells
from skfair.constraints._constraint import Constraint, as_terms
from skfair.groups import Groups, Samples, check_groups
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid
from skfair.utils._sklearn import safe_indexing
from skfair.utils._types import MatrixLike, RandomState


def check_constraint(
    constraint: Constraint, *, X: MatrixLike | None = None, random_state: RandomState = 0
) -> None:
    """Check a constraint's cells, derivatives and counts on random data.

    The rate and the rows are compared with finite differences. The gap of a subset is compared with
    that of the constraint bound to it, and the sums of blocks with those of all samples, on which
    fits of very many samples and of partitioned data rely.

    Parameters
    ----------
    constraint : Constraint
        The constraint, for instance of a class of one's own.
    X : array-like of shape (n_samples, n_features), default=None
        Features that the constraint uses, of at least a few dozen samples; groups and classes are
        drawn for them.
    random_state : int, default=0
        Seed of the data.

    Returns
    -------
    None
        If no check fails.

    Raises
    ------
    ValueError
        If a cell is not a boolean mask over the samples, a slope or curvature differs from finite
        differences, a gap depends on other samples than those it is bound to, or blocks do not add
        up; the message says by how much, and where.

    Examples
    --------
    >>> from skfair.constraints import EqualizedOdds, check_constraint
    >>> check_constraint(EqualizedOdds())
    """
    # Random classes in three groups of equal size; X only serves the cells.
    rng = np.random.default_rng(random_state)
    n_samples = 240 if X is None else len(X)
    target = np.where(rng.random(n_samples) < 0.5, 1.0, -1.0)
    groups = check_groups(np.arange(n_samples) % 3, n_samples)
    samples = Samples(target, groups, np.ones(n_samples), X)
    check_cells(constraint.cells(samples), samples, constraint)
    # The pointwise rate: slope and curvature against central differences.
    scores = rng.normal(size=n_samples)
    surrogate, loss, step = Sigmoid(), LogisticLoss(), 1e-6
    for rate in as_terms(constraint.rate(surrogate, loss)):
        _, slope, curvature = rate(scores, target)
        above, below = rate(scores + step, target), rate(scores - step, target)
        _compare(constraint, "slope", slope, (above.value - below.value) / (2 * step))
        _compare(constraint, "curvature", curvature, (above.slope - below.slope) / (2 * step))
    # The bound rows: their derivative along a random move, with all groups compared.
    of_all_groups = clone(constraint).set_params(min_group_size=None)
    bound = of_all_groups.bind(samples, surrogate, loss, tolerance=0.1)
    _check_rows(constraint, bound.linearize_at(scores).rows, scores, rng)
    if bound.statistic != "ranks":
        _check_second_derivatives(constraint, bound, scores, rng)
        _check_blocks(constraint, bound, scores)
    # The same constraint on three quarters of the samples, and where all are in one group.
    rows = np.flatnonzero(np.arange(n_samples) % 4)
    features = None if X is None else safe_indexing(X, rows)
    subset = samples.take(rows)._replace(X=features)
    of_subset = of_all_groups.bind(subset, surrogate, loss, tolerance=0.1)
    taken, expected = (one.gap(scores[rows]) for one in (bound.take(rows), of_subset))
    if not np.isclose(taken, expected, rtol=1e-9, atol=1e-12, equal_nan=True):
        raise ValueError(
            f"The gap of {constraint} on a subset of samples is {taken:.6g} by its method take, "
            f"but {expected:.6g} if it is bound to these samples alone. cells and rate must depend "
            "on the samples that they are passed, and on nothing else."
        )
    one_group = samples._replace(groups=Groups.single(n_samples))
    alone = of_all_groups.bind(one_group, surrogate, loss, tolerance=0.1).linearize_at(scores)
    alone.rows(scores, alone.rows.initial_aux(scores))


def _check_rows(constraint, rows, scores, rng):
    """Compare the change of all rows along a random move of the scores with their derivative."""
    move, step = rng.normal(size=len(scores)), 1e-6
    aux = rows.initial_aux(scores)
    jacobian = rows(scores, aux).jacobian
    expected = rows(scores + step * move, aux).values - rows(scores - step * move, aux).values
    slopes = jacobian.combine @ (jacobian.cells @ move)
    wrong = np.abs(slopes - expected / (2 * step)) > 1e-4 * (1.0 + np.abs(slopes))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"The derivative of row {row} of {constraint} by the scores is wrong: along a random "
            f"move it gives {slopes[row]:.6g}, finite differences {expected[row] / (2 * step):.6g}."
        )


def _check_second_derivatives(constraint, bound, scores, rng):
    """Compare the change of the rows' gradient along a random move with second derivatives."""
    move, step = rng.normal(size=len(scores)), 1e-6
    aux, v = bound.initial_aux(scores), rng.normal(size=len(bound.lower))
    rows = bound(scores, aux)
    above, below = (
        bound(scores + sign * step * move, aux).jacobian.adjoint(v) for sign in (1.0, -1.0)
    )
    change = rows.curvature(v) * move
    if rows.cell_curvature is not None:
        cells = rows.jacobian.cells
        change = change + cells.T @ (rows.cell_curvature(v) @ (cells @ move))
    wrong = np.abs(change - (above - below) / (2 * step))
    sample = int(np.argmax(wrong))
    if not wrong[sample] <= 1e-5 * (1.0 + np.abs(change).max()):
        raise ValueError(
            f"The second derivative of the rows of {constraint} is wrong by {wrong[sample]:.3g} at "
            f"sample {sample}: check the curvature of the rate."
        )


def _check_blocks(constraint, bound, scores):
    """Compare the sums of two blocks of samples with those of all."""
    half = len(scores) // 2
    halves = [slice(0, half), slice(half, len(scores))]
    for of in ("smooth_sums", "exact_sums"):
        total = getattr(bound, of)(scores)
        blocks = sum(getattr(bound.subset(rows), of)(scores[rows]) for rows in halves)
        wrong = np.abs(total - blocks)
        if not wrong.max(initial=0.0) <= 1e-9 * (1.0 + np.abs(total).max(initial=0.0)):
            raise ValueError(
                f"The sums of {constraint} over two blocks of samples differ from those over all "
                f"by {wrong.max():.3g}: rate must be a function of one score and one target."
            )


def _compare(constraint, what, derivative, expected):
    """Refuse a derivative of the rate that differs from finite differences."""
    derivative = np.asarray(derivative, dtype=np.float64)
    if derivative.shape != expected.shape:
        raise ValueError(
            f"The {what} of {constraint}'s rate must have shape {expected.shape}, one number per "
            f"sample, but it has shape {derivative.shape}."
        )
    wrong = int(np.argmax(np.abs(derivative - expected)))
    # Written such that nan fails as well.
    if not abs(derivative[wrong] - expected[wrong]) <= 1e-5 * (1.0 + abs(expected[wrong])):
        raise ValueError(
            f"The {what} of {constraint}'s rate is wrong: sample {wrong} has "
            f"{derivative[wrong]:.6g}, finite differences give {expected[wrong]:.6g}. Check the "
            "derivative."
        )
