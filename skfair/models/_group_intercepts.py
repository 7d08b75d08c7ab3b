"""Linear scores with coefficients for everybody, and an intercept for each group."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from skfair.models._linear import LinearModel


class GroupInterceptsModel(LinearModel):
    r"""Linear scores with shared coefficients and an intercept of its own for every group.

    Scores are :math:`w \cdot x_i + b_{g_i}`: those of a linear model with one more column for each
    group but the first, 1 for its members and else 0, on whose coefficient there is no penalty. So
    it does not matter which group is the first.

    Parameters
    ----------
    X, center, scale, fit_intercept, origin, n_unpenalized, given
        As in `LinearModel`, with the columns of the groups at the end; use `standardized`.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.models import GroupInterceptsModel
    >>> X, codes = np.array([[0.0], [2.0], [0.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> model = GroupInterceptsModel.standardized(X, codes, weights=np.ones(4))
    >>> model.at(model.parameters([1.0], [0.0, 10.0])).scores
    array([ 0.,  2., 10., 14.])
    """

    @classmethod
    def standardized(cls, X, codes, weights):
        """Make a model whose columns have weighted mean 0 and variance 1.

        Parameters
        ----------
        X : ndarray or sparse array of shape (n_samples, n_features)
            Features, float64; they are not changed.
        codes : ndarray of intp, shape (n_samples,)
            Group of each sample.
        weights : ndarray of shape (n_samples,)
            Positive sample weights.

        Returns
        -------
        model : GroupInterceptsModel
        """
        others = (codes[:, np.newaxis] == np.arange(1, codes.max() + 1)).astype(np.float64)
        stack = sparse.hstack if sparse.issparse(X) else np.hstack
        columns = [X, sparse.csr_array(others) if sparse.issparse(X) else others]
        model = super().standardized(stack(columns), weights)
        given = None if model.given is None else X
        return replace(model, n_unpenalized=others.shape[1], given=given)

    def parameters(self, coef, intercept):
        """Parameters of given coefficients.

        Parameters
        ----------
        coef : array-like of shape (n_features,)
            Coefficients of the columns of X.
        intercept : array-like of shape (n_groups,)
            Intercepts.

        Returns
        -------
        parameters : ndarray of shape (n_parameters,)
        """
        first, *others = intercept
        return super().parameters(np.append(coef, np.array(others) - first), first)

    def coefficients(self, parameters):
        """Coefficients and intercepts of the columns of X.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        coef : ndarray of shape (n_features,)
        intercept : ndarray of shape (n_groups,)
        """
        coef, first = super().coefficients(parameters)
        coef, others = np.split(coef, [len(coef) - self.n_unpenalized])
        return coef, first + np.append(0.0, others)

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
        if self.given is None:
            return self.scores(parameters)
        coef, intercepts = self.coefficients(parameters)
        members = self.X[:, len(coef) :]
        codes = (members @ np.arange(1.0, len(intercepts))).astype(np.intp)
        return self.given @ coef + intercepts[codes]
