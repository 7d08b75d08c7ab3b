"""Closed convex sets of model parameters."""

import numpy as np
from sklearn.base import BaseEstimator


class Box(BaseEstimator):
    """Parameters between bounds.

    Parameters
    ----------
    lower, upper : float or ndarray of shape (n_parameters,)
        Bounds, of all parameters or of each; infinite where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.problems import Box
    >>> Box(-1.0, 1.0).project(np.array([-3.0, 0.5]))
    array([-1. ,  0.5])
    """

    def __init__(self, lower: float | np.ndarray, upper: float | np.ndarray):
        self.lower = lower
        self.upper = upper

    def project(self, parameters: np.ndarray) -> np.ndarray:
        """The nearest point of the set.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Model parameters.

        Returns
        -------
        nearest : ndarray of shape (n_parameters,)
        """
        return np.clip(parameters, self.lower, self.upper)


class Ball(BaseEstimator):
    """Parameters of bounded Euclidean norm.

    Parameters
    ----------
    radius : float
        Largest norm.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.problems import Ball
    >>> Ball(1.0).project(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """

    def __init__(self, radius: float):
        self.radius = radius

    def project(self, parameters: np.ndarray) -> np.ndarray:
        """The nearest point of the set.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Model parameters.

        Returns
        -------
        nearest : ndarray of shape (n_parameters,)
        """
        norm = np.sqrt(parameters @ parameters)
        return parameters * (self.radius / norm) if norm > self.radius else parameters
