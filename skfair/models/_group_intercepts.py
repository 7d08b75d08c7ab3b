"""Linear scores with shared coefficients and one intercept per group."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from skfair.models._linear import LinearModel


class GroupInterceptsModel(LinearModel):
    r"""Linear scores with shared coefficients and one intercept per group.

    Scores are :math:`w \cdot x_i + b_{g_i}`: those of a linear model with an indicator column for
    each group but the first, whose coefficient has no penalty. So the choice of the first group
    does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.models import GroupInterceptsModel
    >>> X, codes = np.array([[0.0], [2.0], [0.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> model = GroupInterceptsModel.from_features(X, codes, weights=np.ones(4))
    >>> model.evaluate(model.parameters([1.0], [0.0, 10.0])).scores
    array([ 0.,  2., 10., 14.])
    """

    @classmethod
    def from_features(cls, X, codes, weights):
        """Make a model whose columns have weighted mean 0 and variance 1."""
        # Dummy columns for all groups but the first, whose intercept is the common one.
        others = (codes[:, np.newaxis] == np.arange(1, codes.max() + 1)).astype(np.float64)
        stack = sparse.hstack if sparse.issparse(X) else np.hstack
        columns = [X, sparse.csr_array(others) if sparse.issparse(X) else others]
        model = super().from_features(stack(columns), weights)
        original = None if model.original is None else X
        return replace(model, n_unpenalized=others.shape[1], original=original)

    def parameters(self, coef, intercept):
        """Parameters from coefficients (n_features,) and intercepts (n_groups,)."""
        first, *others = intercept
        return super().parameters(np.append(coef, np.array(others) - first), first)

    def coefficients(self, parameters):
        """Coefficients (n_features,) and intercepts (n_groups,) of the columns of X."""
        coef, first = super().coefficients(parameters)
        coef, others = np.split(coef, [len(coef) - self.n_unpenalized])
        return coef, first + np.append(0.0, others)

    def predict(self, parameters):
        """Score of each sample by `coefficients`, from the columns as passed."""
        if self.original is None:
            return self.scores(parameters)
        coef, intercepts = self.coefficients(parameters)
        # Codes from the dummies; the first group has none.
        members = self.X[:, len(coef) :]
        codes = (members @ np.arange(1.0, len(intercepts))).astype(np.intp)
        return self.original @ coef + intercepts[codes]
