"""A check for constraints of one's own."""

import numpy as np
from sklearn.base import clone

from skfair.constraints._cells import check_cells
from skfair.constraints._constraint import Constraint
from skfair.groups import Samples, check_groups
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid
from skfair.utils._types import MatrixLike, RandomState


def check_constraint(
    constraint: Constraint, *, X: MatrixLike | None = None, random_state: RandomState = 0
) -> None:
    """Check a constraint's cells and derivatives on random data.

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
        If a cell is not a boolean mask over the samples, or a slope or curvature differs from
        finite differences; the message says by how much, and where.

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
    if type(constraint).rate is not Constraint.rate:  # criteria on ranks have no rate
        rate = constraint.rate(surrogate, loss)
        _, slope, curvature = rate(scores, target)
        above, below = rate(scores + step, target), rate(scores - step, target)
        _compare(constraint, "slope", slope, (above.value - below.value) / (2 * step))
        _compare(constraint, "curvature", curvature, (above.slope - below.slope) / (2 * step))
    # The bound rows: their derivative along a random move, with all groups compared.
    of_all_groups = clone(constraint).set_params(min_group_size=None)
    bound = of_all_groups.bind(samples, surrogate, loss, tolerance=0.1)
    _check_rows(constraint, bound.linearize_at(scores).rows, scores, rng)


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
