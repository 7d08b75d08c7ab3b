"""One linear model per group, as one model of everybody."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from skfair.models._linear import LinearModel
from skfair.models._model import LinearInParameters


@dataclass(frozen=True, eq=False)
class GroupwiseModel(LinearInParameters):
    r"""Linear scores with coefficients of their own for every group.

    With two groups these are the cross terms :math:`(1, x, g, g x)` of a linear model. Parameters
    of the groups follow one another.

    Parameters
    ----------
    parts : list of LinearModel
        Model of each group, on the rows of its members.
    rows : list of ndarray of intp
        Members of each group; every sample is in one.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.models import GroupwiseModel
    >>> X, codes = np.array([[0.0], [2.0], [0.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> model = GroupwiseModel.standardized(X, codes, weights=np.ones(4))
    >>> model.at(model.parameters([[1.0], [-1.0]], [0.0, 10.0])).scores
    array([ 0.,  2., 10.,  6.])
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

        Returns
        -------
        model : GroupwiseModel
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

    def take(self, rows):
        """The same model of some of the samples.

        Parameters
        ----------
        rows : ndarray of int, shape (n_taken,)
            Samples, in any order, with repetitions or without.

        Returns
        -------
        model : GroupwiseModel
        """
        n_samples = sum(map(len, self.rows))
        group, place = np.empty(n_samples, dtype=np.intp), np.empty(n_samples, dtype=np.intp)
        for code, own in enumerate(self.rows):
            group[own], place[own] = code, np.arange(len(own))
        taken = [np.flatnonzero(group[rows] == code) for code in range(len(self.parts))]
        pairs = zip(self.parts, taken, strict=True)
        return GroupwiseModel([part.take(place[rows[own]]) for part, own in pairs], taken)

    def parameters(self, coef, intercept):
        """Parameters of given coefficients.

        Parameters
        ----------
        coef : array-like of shape (n_groups, n_features)
            Coefficients of the columns of X.
        intercept : array-like of shape (n_groups,)
            Intercepts.

        Returns
        -------
        parameters : ndarray of shape (n_parameters,)
        """
        triples = zip(self.parts, coef, intercept, strict=True)
        return np.concatenate([part.parameters(*own) for part, *own in triples])

    def coefficients(self, parameters):
        """Coefficients and intercepts of the columns of X.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        coef : ndarray of shape (n_groups, n_features)
        intercept : ndarray of shape (n_groups,)
        """
        pairs = zip(self.parts, self._split(parameters), strict=True)
        coef, intercept = zip(*(part.coefficients(own) for part, own in pairs), strict=True)
        return np.array(coef), np.array(intercept)

    def intercept_direction(self):
        """Direction in which all scores rise alike.

        Returns
        -------
        direction : ndarray of shape (n_parameters,) or None
            None if there is no intercept.
        """
        directions = [part.intercept_direction() for part in self.parts]
        return None if directions[0] is None else np.concatenate(directions)

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
        return self._joined(LinearModel.scores, parameters)

    def predicted(self, parameters):
        """Score of each sample by `coefficients`, from the columns as they came.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self._joined(LinearModel.predicted, parameters)

    def _joined(self, score, parameters):
        scores = np.empty(sum(map(len, self.rows)))
        for (part, rows), own in zip(self._each(), self._split(parameters), strict=True):
            scores[rows] = score(part, own)
        return scores

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
        return np.concatenate([part.pull_back(slopes[rows]) for part, rows in self._each()])

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
        return np.hstack([part.pull_back_rows(slopes[:, rows]) for part, rows in self._each()])

    def gram(self, weights):
        """Sum over the samples of ``weights[i]`` times the outer product of the i-th row.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            Weight of each sample, of any sign.

        Returns
        -------
        gram : ndarray of shape (n_parameters, n_parameters)
            Groups do not meet: blocks on the diagonal.
        """
        return linalg.block_diag(*(part.gram(weights[rows]) for part, rows in self._each()))

    def ridge(self, alpha):
        """Second derivative of ``alpha / 2 * sum(coef ** 2)`` by each parameter.

        Parameters
        ----------
        alpha : float
            Strength of the penalty; the intercepts have none.

        Returns
        -------
        ridge : ndarray of shape (n_parameters,)
        """
        return np.concatenate([part.ridge(alpha) for part in self.parts])
