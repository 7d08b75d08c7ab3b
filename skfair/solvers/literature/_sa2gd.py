"""Stochastic alternating bi-objective gradient descent (SA2GD)."""

import numpy as np
from sklearn.utils import check_random_state


def sa2gd(grad_a, grad_b, x0, *, n_a, n_b, n_iter, strong_convexity, random_state=None):
    r"""Minimise a weighted sum of two smooth objectives by alternating gradient steps (SA2GD).

    Iteration t of Algorithm 4 of [1]_ makes :math:`n_a` steps against stochastic gradients of
    :math:`f^a`, then :math:`n_b` against those of :math:`f^b`, all of length

    .. math:: \alpha_t = \frac{2}{c\,(t + 1)\,(n_a + n_b)}, \qquad t = 0, 1, \dots, T - 1.

    If both are strongly convex with the constant c, the iterates approach the minimiser of
    :math:`\lambda f^a + (1 - \lambda) f^b` with :math:`\lambda = n_a / (n_a + n_b)`. The minimum
    expected gap of that sum among the first T iterates is O(1 / T) (Theorem 5.1). A Pareto front is
    one run for each split of :math:`n_a + n_b`.

    Parameters
    ----------
    grad_a, grad_b : callable
        (x, random_state) -> ndarray of the shape of x: unbiased estimates of the gradients.
    x0 : ndarray
        Starting point; it is not changed.
    n_a, n_b : int
        Steps of an iteration for either objective, not both 0.
    n_iter : int
        Number of iterations T.
    strong_convexity : float
        The constant c, positive.
    random_state : int, RandomState instance or None, default=None
        Passed to the gradients as a RandomState.

    Returns
    -------
    x : ndarray
        The last iterate.

    Raises
    ------
    ValueError
        If a number is out of range.
    FloatingPointError
        If the iterates are no longer finite.

    References
    ----------
    .. [1] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
       clustering", LION 2022, arXiv:2105.14172, Algorithm 4 and Theorem 5.1.

    Examples
    --------
    Objectives (x - 1)^2 / 2 and (x + 1)^2 / 2, with three quarters of the steps for the first:

    >>> import numpy as np
    >>> from skfair.solvers import sa2gd
    >>> aims = (lambda x, random_state: x - 1.0), (lambda x, random_state: x + 1.0)
    >>> x = sa2gd(*aims, np.zeros(1), n_a=3, n_b=1, n_iter=1000, strong_convexity=1.0)
    >>> x.round(2)
    array([0.5])
    """
    if min(n_a, n_b, n_iter) < 0 or n_a + n_b == 0:
        raise ValueError(
            "n_a, n_b and n_iter must not be negative, and n_a + n_b must be positive; got "
            f"n_a={n_a}, n_b={n_b}, n_iter={n_iter}."
        )
    if not strong_convexity > 0:
        raise ValueError(f"strong_convexity must be positive, got {strong_convexity}.")
    random_state, x = check_random_state(random_state), np.array(x0, dtype=np.float64)
    for t in range(n_iter):
        step = 2.0 / (strong_convexity * (t + 1) * (n_a + n_b))
        for grad in [grad_a] * n_a + [grad_b] * n_b:
            x = x - step * grad(x, random_state)
        if not np.isfinite(x).all():
            raise FloatingPointError(
                f"The iterates must be finite, but are not after iteration {t}: the steps are too "
                f"long. Raise strong_convexity={strong_convexity}."
            )
    return x
