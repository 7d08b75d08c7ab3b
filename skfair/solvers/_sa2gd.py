"""Stochastic alternating bi-objective gradient descent (SA2GD) of Liu and Vicente."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state


@dataclass(frozen=True, eq=False)
class BiObjectiveResult:
    """Where a run of `sa2gd` ended.

    Attributes
    ----------
    x : ndarray of shape (n,)
        The last iterate.
    weight : float
        lambda = n_a / (n_a + n_b): x approaches the minimiser of
        ``lambda f_a + (1 - lambda) f_b``.
    n_iter : int
        Number of iterations, of n_a + n_b gradient steps each.

    Examples
    --------
    >>> from skfair.solvers import sa2gd
    >>> def grad_a(x, rng):
    ...     return x
    >>> def grad_b(x, rng):
    ...     return x - 1
    >>> sa2gd(grad_a, grad_b, [5.0], n_a=1, n_b=3, n_iter=9, strong_convexity=1).weight
    0.25
    """

    x: np.ndarray
    weight: float
    n_iter: int


@dataclass(frozen=True, eq=False)
class BiObjectiveFront:
    """The ends of a sweep of `sa2gd_front`.

    Attributes
    ----------
    x : ndarray of shape (n_total + 1, n)
        One end per weight.
    weights : ndarray of shape (n_total + 1,)
        0, 1 / n_total, ..., 1: the weight of the first objective.

    Examples
    --------
    >>> from skfair.solvers import sa2gd_front
    >>> def grad_a(x, rng):
    ...     return x
    >>> def grad_b(x, rng):
    ...     return x - 1
    >>> sa2gd_front(grad_a, grad_b, [5.0], n_total=2, n_iter=9, strong_convexity=1).weights
    array([0. , 0.5, 1. ])
    """

    x: np.ndarray
    weights: np.ndarray


def sa2gd(grad_a, grad_b, x0, *, n_a, n_b, n_iter, strong_convexity, random_state=None):
    r"""Minimise a weighted sum of two objectives by descending each in turn.

    Iteration t takes n_a steps against stochastic gradients of f_a, then n_b against those of f_b,
    all of length

    .. math:: \alpha_t = \frac{2}{c\,(t + 1)\,(n_a + n_b)}, \qquad t = 0, 1, \dots

    The numbers of steps are the weights: the iterates approach the minimiser of
    :math:`S = \lambda f_a + (1 - \lambda) f_b` with :math:`\lambda = n_a / (n_a + n_b)`, and the
    least expected gap of S among the first T iterates is O(1 / T) (Theorem 5.1 of [1]_).

    Parameters
    ----------
    grad_a, grad_b : callable
        ``grad(x, rng)`` returns an unbiased estimate, of shape (n,), of the gradient at x. The
        generator `rng` is for the estimate's own sampling.
    x0 : array-like of shape (n,)
        Starting point.
    n_a, n_b : int
        Steps per iteration on each objective; not both 0.
    n_iter : int
        Number of iterations T.
    strong_convexity : float
        The constant c > 0 with which both objectives are strongly convex. Overstated, it makes the
        steps too short to arrive; understated, the first steps are long.
    random_state : int, RandomState instance or None, default=None
        Where `rng` comes from; an int makes the run reproducible.

    Returns
    -------
    result : BiObjectiveResult

    Raises
    ------
    ValueError
        If a count is negative, there is no step at all, or ``strong_convexity`` is not positive.
    FloatingPointError
        If an iterate is no longer finite.

    See Also
    --------
    sa2gd_front : All splits of a given number of steps.

    References
    ----------
    .. [1] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
       clustering", LION 2022, arXiv:2105.14172, Section 5 and Algorithm 4.

    Examples
    --------
    The minimiser of :math:`\lambda \|x\|^2 / 2 + (1 - \lambda) \|x - 1\|^2 / 2` is
    :math:`1 - \lambda`, here 3/4:

    >>> from skfair.solvers import sa2gd
    >>> def grad_a(x, rng):
    ...     return x + 0.1 * rng.standard_normal(1)
    >>> def grad_b(x, rng):
    ...     return x - 1 + 0.1 * rng.standard_normal(1)
    >>> result = sa2gd(
    ...     grad_a, grad_b, [5.0], n_a=3, n_b=9, n_iter=2000, strong_convexity=1.0, random_state=0
    ... )
    >>> result.x.round(2)
    array([0.75])
    """
    if min(n_a, n_b, n_iter) < 0 or n_a + n_b == 0:
        raise ValueError(
            "n_a, n_b and n_iter must not be negative and n_a + n_b must be positive, got "
            f"n_a={n_a}, n_b={n_b}, n_iter={n_iter}."
        )
    if not strong_convexity > 0:
        raise ValueError(
            f"strong_convexity must be positive, got {strong_convexity}; pass a lower bound on the "
            "curvature of both objectives, for instance the strength of an l2 penalty."
        )
    rng = check_random_state(random_state)
    x = np.array(x0, dtype=np.float64)
    for t in range(n_iter):
        step = 2 / (strong_convexity * (t + 1) * (n_a + n_b))
        for _ in range(n_a):
            x = x - step * grad_a(x, rng)
        for _ in range(n_b):
            x = x - step * grad_b(x, rng)
        if not np.isfinite(x).all():
            raise FloatingPointError(
                f"the iterate is no longer finite after iteration {t} with steps of {step:.3g}; "
                f"strong_convexity={strong_convexity} makes them too long: raise it, or scale "
                "the objectives."
            )
    return BiObjectiveResult(x, n_a / (n_a + n_b), n_iter)


def sa2gd_front(grad_a, grad_b, x0, *, n_total, n_iter, strong_convexity, random_state=None):
    """Sweep the weighted sums of two objectives: one `sa2gd` run per split of the steps.

    Parameters
    ----------
    grad_a, grad_b, x0, n_iter, strong_convexity, random_state
        As in `sa2gd`; every run starts at x0, and all draw from one stream of random numbers.
    n_total : int
        Steps per iteration; the runs have n_a = 0, 1, ..., n_total and n_b = n_total - n_a.

    Returns
    -------
    front : BiObjectiveFront

    Raises
    ------
    ValueError, FloatingPointError
        As in `sa2gd`.

    Examples
    --------
    >>> from skfair.solvers import sa2gd_front
    >>> def grad_a(x, rng):
    ...     return x
    >>> def grad_b(x, rng):
    ...     return x - 1
    >>> front = sa2gd_front(grad_a, grad_b, [5.0], n_total=4, n_iter=2000, strong_convexity=1.0)
    >>> front.x.ravel().round(2)
    array([1.  , 0.75, 0.5 , 0.25, 0.  ])
    """
    rng = check_random_state(random_state)
    shared = {"n_iter": n_iter, "strong_convexity": strong_convexity, "random_state": rng}
    runs = [
        sa2gd(grad_a, grad_b, x0, n_a=n_a, n_b=n_total - n_a, **shared)
        for n_a in range(n_total + 1)
    ]
    return BiObjectiveFront(np.stack([run.x for run in runs]), np.array([r.weight for r in runs]))
