"""How many people a promise needs."""

from numbers import Integral, Real

import numpy as np
from scipy import special, stats

from skfair.inference._limits import check_level


def people_needed(tolerance, *, n_groups=2, rate=0.5, confidence_level=0.95, power=0.8):
    r"""People of each group that show a fair model to be fair.

    A model whose groups have equal rates p is shown to keep a tolerance :math:`\epsilon` by fresh
    people, with the given power, if each group has

    .. math:: n = p (1 - p) \Bigl( \frac{\sqrt 2 \, z_c + q_{k, b}}{\epsilon} \Bigr)^2

    of them, with :math:`z_c` the quantile of the normal distribution at the confidence level and
    :math:`q_{k, b}` that of the range of k normal variables at the power. A model that uses up a
    part of the tolerance needs more: put what is left of it.

    Parameters
    ----------
    tolerance : float in (0, 1)
        Largest gap allowed, less the gap that the model is thought to have.
    n_groups : int, default=2
        Groups that are compared, two at least.
    rate : float in (0, 1), default=0.5
        Rate of the groups; 0.5 needs most people. Of a rate within a class, such as the true
        positive rate, the people are those of this class.
    confidence_level : float, default=0.95
        How sure the promise shall be.
    power : float, default=0.8
        How likely it shall be to get it.

    Returns
    -------
    n : int
        People of each group.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> from skfair.inference import people_needed
    >>> people_needed(0.05, rate=0.2), people_needed(0.05, n_groups=10, rate=0.2)
    (1097, 2348)
    """
    for name, value in {"tolerance": tolerance, "rate": rate, "power": power}.items():
        if not isinstance(value, Real) or not 0.0 < value < 1.0:
            raise ValueError(f"{name} must be strictly between 0 and 1; got {value!r}.")
    if not isinstance(n_groups, Integral) or n_groups < 2:
        raise ValueError(f"n_groups must be a whole number from 2 on; got {n_groups!r}.")
    z = special.ndtri(check_level(confidence_level))
    # The studentised range with many degrees of freedom is the range of normal variables.
    spread = stats.studentized_range.ppf(power, n_groups, np.inf)
    return int(np.ceil(rate * (1.0 - rate) * ((np.sqrt(2.0) * z + spread) / tolerance) ** 2))
