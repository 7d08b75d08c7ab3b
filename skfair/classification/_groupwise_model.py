"""One linear model per group, as one model of everybody."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from skfair.models import LinearModel


@dataclass(frozen=True, eq=False)
class GroupwiseModel:
    r"""Linear scores with coefficients of their own for every group.

    With two groups these are the cross terms :math:`(1, x, g, g x)` of a linear model. Parameters
    of the groups follow one another.

    Attributes
    ----------
    parts : list of LinearModel
        Model of each group, on the rows of its members.
    rows : list of ndarray of intp
        Members of each group; every sample is in one.
    """

    parts: list
    rows: list

    @classmethod
    def standardized(cls, X, codes, weights, fit_intercept=True):
        """Make a model whose columns are standardised within each group.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_samples, n_features)
            Features, float64.
        codes : ndarray of intp, shape (n_samples,)
            Group of each sample.
        weights : ndarray of shape (n_samples,)
            Sample weights.
        fit_intercept : bool, default=True
            Whether every group has an intercept.
        """
        rows = [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]
        parts = [LinearModel.standardized(X[own], weights[own], fit_intercept) for own in rows]
        return cls(parts, rows)

    @property
    def n_parameters(self):
        """Length of a parameter vector."""
        return sum(part.n_parameters for part in self.parts)

    def _split(self, parameters):
        return np.split(parameters, np.cumsum([part.n_parameters for part in self.parts])[:-1])

    def _each(self):
        return zip(self.parts, self.rows, strict=True)

    def coefficients(self, parameters):
        """Coefficients (n_groups, n_features) and intercepts (n_groups,) of the columns of X."""
        pairs = zip(self.parts, self._split(parameters), strict=True)
        coef, intercept = zip(*(part.coefficients(own) for part, own in pairs), strict=True)
        return np.array(coef), np.array(intercept)

    def scores(self, parameters):
        """Score of each sample, (n_samples,)."""
        scores = np.empty(sum(map(len, self.rows)))
        for (part, rows), own in zip(self._each(), self._split(parameters), strict=True):
            scores[rows] = part.scores(own)
        return scores

    def pull_back(self, slopes):
        """Gradient by the parameters, from one slope per sample."""
        return np.concatenate([part.pull_back(slopes[rows]) for part, rows in self._each()])

    def pull_back_rows(self, slopes):
        """Gradients of several functions at once, from a csr_array (n_rows, n_samples)."""
        return np.hstack([part.pull_back_rows(slopes[:, rows]) for part, rows in self._each()])

    def gram(self, weights):
        """Sum over the samples of ``weights[i]`` times the outer product of the i-th row."""
        return linalg.block_diag(*(part.gram(weights[rows]) for part, rows in self._each()))

    def ridge(self, alpha):
        """Second derivative of ``alpha / 2 * sum(coef ** 2)`` by each parameter."""
        return np.concatenate([part.ridge(alpha) for part in self.parts])
