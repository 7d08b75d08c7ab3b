"""One linear model per group, combined into one model of all samples."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from skfair.models._linear import LinearBlocks, LinearModel


@dataclass(frozen=True, eq=False)
class GroupwiseModel(LinearBlocks):
    r"""Linear scores with separate coefficients for every group.

    With two groups these are the cross terms :math:`(1, x, g, g x)` of a linear model. Parameters
    of the groups follow one another.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.models import GroupwiseModel
    >>> X, codes = np.array([[0.0], [2.0], [0.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> model = GroupwiseModel.from_features(X, codes, weights=np.ones(4))
    >>> model.evaluate(model.parameters([[1.0], [-1.0]], [0.0, 10.0])).scores
    array([ 0.,  2., 10.,  6.])
    """

    models: list  # LinearModel of each group, on the rows of its members
    rows: list  # indices of the members of each group; every sample is in one

    # It is linear in its parameters, as the model of a group is.
    initial, evaluate = LinearModel.initial, LinearModel.evaluate
    last_layer, constants = LinearModel.last_layer, LinearModel.constants

    @classmethod
    def from_features(cls, X, codes, weights, fit_intercept=True):
        """Make a model whose columns are standardised within each group."""
        rows = [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]
        models = [
            LinearModel.from_features(X[members], weights[members], fit_intercept)
            for members in rows
        ]
        return cls(models, rows)

    @cached_property
    def n_parameters(self):
        """Length of a parameter vector."""
        return sum(model.n_parameters for model in self.models)

    def _each(self):
        return zip(self.models, self.rows, strict=True)

    def take(self, rows):
        """The same model of a subset of the samples."""
        n_samples = sum(map(len, self.rows))
        # Group of each sample, and its position among the group's rows.
        group, position = np.empty(n_samples, dtype=np.intp), np.empty(n_samples, dtype=np.intp)
        for code, members in enumerate(self.rows):
            group[members], position[members] = code, np.arange(len(members))
        # Positions of the selected rows by group: these are the rows of the group models.
        taken = [np.flatnonzero(group[rows] == code) for code in range(len(self.models))]
        pairs = zip(self.models, taken, strict=True)
        return GroupwiseModel(
            [model.take(position[rows[members]]) for model, members in pairs], taken
        )

    def coefficients(self, parameters):
        """Coefficients (n_groups, n_features) and intercepts (n_groups,) of the columns of X."""
        coef, intercept = super().coefficients(parameters)
        return np.array(coef), intercept

    def scores(self, parameters):
        """Score of each sample."""
        return self._score_groups(LinearModel.scores, parameters)

    def predict(self, parameters):
        """Score of each sample by `coefficients`, from the columns as passed."""
        return self._score_groups(LinearModel.predict, parameters)

    def _score_groups(self, score, parameters):
        scores = np.empty(sum(map(len, self.rows)))
        for (model, rows), values in zip(self._each(), self._split(parameters), strict=True):
            scores[rows] = score(model, values)
        return scores

    def pull_back(self, slopes):
        """Gradient by the parameters from one derivative per sample."""
        return np.concatenate([model.pull_back(slopes[rows]) for model, rows in self._each()])

    def pull_back_rows(self, slopes):
        """Gradients of several functions, from a csr_array (n_rows, n_samples)."""
        return np.hstack([model.pull_back_rows(slopes[:, rows]) for model, rows in self._each()])

    def gram(self, weights):
        """Weighted Gram matrix of the rows: one diagonal block per group."""
        return linalg.block_diag(*(model.gram(weights[rows]) for model, rows in self._each()))
