"""A check for constraints that people write themselves."""

import numpy as np
from sklearn.base import clone

from skfair.constraints._constraint import People, Rates
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid, Step
from skfair.utils._groups import check_groups


def check_constraint(constraint, *, random_state=0):
    """Check a constraint's cells and derivatives on random data.

    Parameters
    ----------
    constraint : Constraint
        The constraint, for instance of a class of one's own.
    random_state : int, default=0
        Seed of the data.

    Returns
    -------
    None
        If all is well.

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
    rng = np.random.default_rng(random_state)
    n_samples = 60
    target = np.where(rng.random(n_samples) < 0.5, 1.0, -1.0)
    for name, inside in constraint.cells(target).items():
        inside = np.asarray(inside)
        if inside.dtype != bool or inside.shape != (n_samples,):
            raise ValueError(
                f"cells must be boolean masks of shape ({n_samples},), but the cell {name!r} of "
                f"{constraint} is of type {inside.dtype} and shape {inside.shape}."
            )
    scores = rng.normal(size=n_samples)
    smooth = Rates(Sigmoid(), LogisticLoss())
    rate, step = constraint.rate(target, smooth), 1e-6
    value, slope, curvature = rate(scores)
    above, below = rate(scores + step), rate(scores - step)
    _compare(constraint, "slope", slope, (above.value - below.value) / (2 * step))
    _compare(constraint, "curvature", curvature, (above.slope - below.slope) / (2 * step))
    groups = check_groups(np.arange(n_samples) % 3, n_samples)
    people = People(target, groups, np.ones(n_samples))
    clone(constraint).set_params(min_group_size=None).bind(
        people, smooth, Rates(Step(), smooth.loss), tolerance=0.1
    )


def _compare(constraint, what, given, expected):
    given = np.asarray(given, dtype=np.float64)
    if given.shape != expected.shape:
        raise ValueError(
            f"The {what} of {constraint}'s rate must have shape {expected.shape}, one number per "
            f"sample, but it has shape {given.shape}."
        )
    wrong = int(np.argmax(np.abs(given - expected)))
    if not abs(given[wrong] - expected[wrong]) <= 1e-5 * (1.0 + abs(expected[wrong])):
        raise ValueError(
            f"The {what} of {constraint}'s rate is wrong: sample {wrong} has {given[wrong]:.6g}, "
            f"finite differences give {expected[wrong]:.6g}. Check the derivative."
        )
