"""Linear scores of standardised columns."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skfair.models._columns import (
    full_columns,
    moments,
    positive,
    rows_times,
    shifted,
    stored,
    weighted_outer_sum,
)
from skfair.models._model import LinearInParameters

_ROUNDING = 1e-13
"""Standard deviation, relative to the mean, below which a column is constant up to rounding."""

_FAR = 1e3
"""Mean, relative to the standard deviation, from which on columns are stored less their mean."""


@dataclass(frozen=True, eq=False)
class LinearModel(LinearInParameters):
    r"""Linear scores, parametrised by standardised columns.

    Parameters are :math:`(v, b)` with scores :math:`\sum_j v_j (x_{ij} - \mu_j)/\sigma_j + b`:
    first-order methods need columns of one scale, and no method is hurt by them. X is stored
    as it comes, neither centred nor scaled, so sparse columns stay sparse. Without an intercept
    :math:`\mu = 0` and there is no b.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Features less their origin, float64; rows in CSR are sorted and without duplicates.
    center : ndarray of shape (n_features,)
        :math:`\mu`, the means of X.
    scale : ndarray of shape (n_features,)
        :math:`\sigma`, positive.
    fit_intercept : bool
        Whether there is an intercept.
    origin : ndarray of shape (n_features,), default=0.0
        What was subtracted from the columns before: the mean of those, such as time stamps, whose
        digits would else be lost in products; 0 for all others.
    n_unpenalized : int, default=0
        How many of the last columns have coefficients without a penalty.
    given : ndarray or csr_array of shape (n_samples, n_features) or None, default=None
        Features as they came, where something was subtracted: predictions know these alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.models import LinearModel
    >>> X = np.array([[1.0, 10.0], [3.0, 30.0]])
    >>> model = LinearModel.standardized(X, weights=np.ones(2))
    >>> model.scores(model.parameters([1.0, 0.1], 0.0))
    array([2., 6.])
    """

    X: object
    center: np.ndarray
    scale: np.ndarray
    fit_intercept: bool
    origin: np.ndarray | float = 0.0
    n_unpenalized: int = 0
    given: object = None

    def __getstate__(self):
        """Return what is stored, or sent to another process: X once."""
        return {name: own for name, own in vars(self).items() if name != "_transposed"}

    def __setstate__(self, state):
        """Restore what was stored."""
        vars(self).update(state, X=_aligned(state["X"]), given=_aligned(state["given"]))

    @classmethod
    def standardized(cls, X, weights, fit_intercept=True, n_jobs=None):
        """Make a model whose columns have weighted mean 0 and variance 1.

        Parameters
        ----------
        X : ndarray or sparse array of shape (n_samples, n_features)
            Features; they are not changed.
        weights : ndarray of shape (n_samples,)
            Positive sample weights.
        fit_intercept : bool, default=True
            Whether there is an intercept.
        n_jobs : int or None, default=None
            Threads that look at the columns of very many samples.

        Returns
        -------
        model : LinearModel
        """
        given = X
        X = stored(X, n_jobs)
        share = weights / weights.sum()
        mean, variance = moments(X, share, n_jobs)
        model = cls.of_moments(mean, variance, fit_intercept)
        origin = model.origin
        if np.any(origin):
            origin = np.where(full_columns(X), origin, 0.0)
        if not np.any(origin):
            center = mean if fit_intercept else model.center
            return cls(X, center, model.scale, fit_intercept)
        X = shifted(X, origin)
        return cls(X, X.T @ share, model.scale, True, origin, given=given)

    @classmethod
    def of_moments(cls, mean, variance, fit_intercept=True):
        """Make a model of nobody, by whose parameters columns of these moments are standardised.

        Parameters
        ----------
        mean, variance : ndarray of shape (n_features,)
            Weighted moments of the columns.
        fit_intercept : bool, default=True
            Whether there is an intercept.

        Returns
        -------
        model : LinearModel
            `on` gives it samples.
        """
        nobody, second_moment = np.empty((0, len(mean))), variance + mean**2
        if not fit_intercept:
            return cls(nobody, np.zeros_like(mean), positive(np.sqrt(second_moment)), False)
        # A column that is constant up to rounding tells nothing once it is centred.
        constant = variance <= _ROUNDING**2 * second_moment
        scale = positive(np.sqrt(np.where(constant, second_moment, variance)))
        origin = np.where(~constant & (np.abs(mean) > _FAR * scale), mean, 0.0)
        return cls(nobody, mean - origin, scale, True, origin)

    def on(self, X):
        """The same model of other samples.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Features as they came.

        Returns
        -------
        model : LinearModel
        """
        X = _aligned(X)
        if not np.any(self.origin):
            return replace(self, X=X)
        return replace(self, X=shifted(X, self.origin), given=X)

    @property
    def n_parameters(self):
        """Length of a parameter vector."""
        return len(self.scale) + self.fit_intercept

    def parameters(self, coef, intercept):
        """Parameters of given coefficients.

        Parameters
        ----------
        coef : array-like of shape (n_features,)
            Coefficients of the columns of X.
        intercept : float
            Intercept of the columns of X.

        Returns
        -------
        parameters : ndarray of shape (n_parameters,)
        """
        coef = np.asarray(coef, dtype=np.float64)
        if not self.fit_intercept:
            return coef * self.scale
        return np.append(coef * self.scale, intercept + coef @ (self.origin + self.center))

    def take(self, rows):
        """The same model of some of the samples.

        Parameters
        ----------
        rows : ndarray of int, shape (n_taken,)
            Samples, in any order, with repetitions or without.

        Returns
        -------
        model : LinearModel
            Its parameters mean the same: columns are scaled as before.
        """
        given = None if self.given is None else self.given[rows]
        return replace(self, X=self.X[rows], given=given)

    def coefficients(self, parameters):
        """Coefficients and intercept of the columns of X.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        coef : ndarray of shape (n_features,)
        intercept : float
        """
        coef, intercept = self._stored_coefficients(parameters)
        return coef, float(intercept - coef @ (np.zeros_like(coef) + self.origin))

    def scores(self, parameters):
        """Score of each sample.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        coef, intercept = self._stored_coefficients(parameters)
        return self.X @ coef + intercept

    def predicted(self, parameters):
        """Score of each sample by `coefficients`, from the columns as they came.

        Far columns cost both sides digits, the products and the intercept: at 1e12 deviations from
        0 four of them are left. Promises about decisions are about these scores.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        if self.given is None:
            return self.scores(parameters)
        coef, intercept = self.coefficients(parameters)
        return self.given @ coef + intercept

    def _stored_coefficients(self, parameters):
        """Coefficients and intercept of the columns as they are stored, less their origin."""
        coef = parameters[: len(self.scale)] / self.scale
        return coef, parameters[-1] - coef @ self.center if self.fit_intercept else 0.0

    def intercept_direction(self):
        """Direction in which all scores rise alike.

        Returns
        -------
        direction : ndarray of shape (n_parameters,) or None
            None if there is no intercept.
        """
        if not self.fit_intercept:
            return None
        return np.append(np.zeros(len(self.scale)), 1.0)

    @cached_property
    def _transposed(self):
        return self.X.T  # of a sparse array an object whose making costs as much as a product

    def pull_back(self, slopes):
        """Gradient by the parameters, from one slope per sample.

        Parameters
        ----------
        slopes : ndarray of shape (n_samples,)
            Derivative by each score.

        Returns
        -------
        gradient : ndarray of shape (n_parameters,)
        """
        total = slopes.sum()
        gradient = (self._transposed.dot(slopes) - total * self.center) / self.scale
        return np.append(gradient, total) if self.fit_intercept else gradient

    def pull_back_rows(self, slopes):
        """Gradients of several functions at once.

        Parameters
        ----------
        slopes : csr_array of shape (n_rows, n_samples)
            Derivative of each function by each score.

        Returns
        -------
        jacobian : ndarray of shape (n_rows, n_parameters)
        """
        product = rows_times(slopes, self.X)
        totals = slopes.sum(axis=1)
        jacobian = (product - totals[:, np.newaxis] * self.center) / self.scale
        return np.column_stack((jacobian, totals)) if self.fit_intercept else jacobian

    def gram(self, weights):
        """Sum over the samples of ``weights[i]`` times the outer product of the i-th row.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            Weight of each sample, of any sign.

        Returns
        -------
        gram : ndarray of shape (n_parameters, n_parameters)
            In the standardised columns, the intercept's last.
        """
        X, center = self.X, self.center
        raw = weighted_outer_sum(X, weights)
        sums, total = self._transposed.dot(weights), weights.sum()
        shift = np.outer(center, sums)
        centered = raw - shift - shift.T + total * np.outer(center, center)
        gram = centered / np.outer(self.scale, self.scale)
        if not self.fit_intercept:
            return gram
        border = (sums - total * center) / self.scale
        return np.block([[gram, border[:, np.newaxis]], [border, np.array([[total]])]])

    def ridge(self, alpha):
        """Second derivative of ``alpha / 2 * sum(coef ** 2)`` by each parameter.

        Parameters
        ----------
        alpha : float
            Strength of the penalty; the intercept and the last `n_unpenalized` columns have none.

        Returns
        -------
        ridge : ndarray of shape (n_parameters,)
        """
        ridge = alpha / self.scale**2
        ridge[len(ridge) - self.n_unpenalized :] = 0.0
        return np.append(ridge, 0.0) if self.fit_intercept else ridge


def _aligned(X):
    """The same rows, where a processor likes them to begin.

    Those that came over a network may begin anywhere; numpy would add them up in another order.
    """
    return np.require(X, requirements="A") if isinstance(X, np.ndarray) else X
