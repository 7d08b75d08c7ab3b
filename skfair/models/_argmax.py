"""Linear models of several classes: the class of the largest score is predicted."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from skfair.models._columns import rows_times, weighted_outer_sum
from skfair.models._linear import LinearBlocks, LinearModel


@dataclass(frozen=True, eq=False)
class ArgmaxModel(LinearBlocks):
    r"""Margins of each class over the best of the others.

    With linear scores :math:`s_k` of the classes a sample has one margin per class,
    :math:`m_k = s_k - \max_{l \ne k} s_l`. Only that of the predicted class is positive. A sample
    counts once per class, and all margins of the first class come first. Margins are linear in the
    parameters as long as the order of the classes does not change.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.models import ArgmaxModel
    >>> columns = [np.array([[0.0], [2.0]]), np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])]
    >>> model = ArgmaxModel.from_features(columns, weights=np.ones(2))
    >>> parameters = model.parameters(np.ones((3, 1)), np.zeros(3))
    >>> model.evaluate(parameters).scores.reshape(3, 2)
    array([[-1.,  1.],
           [ 1., -2.],
           [-1., -1.]])
    """

    models: list  # LinearModel of each class, of the same samples, with intercepts
    design: sparse.csr_array  # (n_classes * n_samples, n_parameters) derivatives of the scores
    rows: np.ndarray  # (n_margins,) margins of this model, as indices of all

    @classmethod
    def from_features(cls, columns, weights):
        """Make a model from the columns of each class, standardised to mean 0 and variance 1."""
        models = [LinearModel.from_features(values, weights) for values in columns]
        # Columns of each class model's design matrix: the scores of its unit vectors.
        blocks = [
            np.column_stack([model.scores(unit) for unit in np.eye(model.n_parameters)])
            for model in models
        ]
        design = sparse.block_diag([sparse.csr_array(values) for values in blocks], format="csr")
        return cls(models, design, np.arange(len(design.indptr) - 1))

    @cached_property
    def n_parameters(self):
        """Length of a parameter vector."""
        return self.design.shape[1]

    def class_scores(self, parameters):
        """Score of each sample for each class, (n_samples, n_classes)."""
        return (self.design @ parameters).reshape(len(self.models), -1).T

    def initial(self, random_state=None):
        """Initial parameters: the score of a class is its first column."""
        firsts = [np.eye(len(model.scale))[0] for model in self.models]
        return self.parameters(firsts, np.zeros(len(self.models)))

    def evaluate(self, parameters):
        """Margins and their derivatives at parameters; see `Model.evaluate`."""
        return _ArgmaxPoint(self, parameters)

    def take(self, rows):
        """The same model of a subset of the margins."""
        return replace(self, rows=self.rows[rows])

    def last_layer(self, parameters):
        """The model itself, which is linear in its parameters."""
        return self

    def lines(self, direction):
        """Components of a direction that change the scores of one class each.

        Along each of them every decision flips at most once, for or against the class.
        """
        # The class that each parameter belongs to.
        blocks = np.repeat(
            np.arange(len(self.models)), [model.n_parameters for model in self.models]
        )
        return [np.where(blocks == k, direction, 0.0) for k in range(len(self.models))]

    def scores(self, direction):
        """Change of the scores along a direction, class after class."""
        return self.design @ direction

    def orient_flips(self, scores, slopes):
        """Margins and slopes along a line of one class, zero where a decision flips.

        Samples move between that class and the best of the others, whose margin is minus the
        margin of the class; no other margin changes sign.
        """
        scores, slopes = (
            values.reshape(len(self.models), -1).copy() for values in (scores, slopes)
        )
        # The class whose scores change, and its best rival for each sample, which does not move.
        moving, indices = np.abs(slopes).max(axis=1).argmax(), np.arange(scores.shape[1])
        others = scores.copy()
        others[moving] = -np.inf
        rival = others.argmax(axis=0)
        # A decision flips where the moving class is level with its rival: opposite margins.
        for values in (scores, slopes):
            values[rival, indices] = -values[moving]
        return scores.ravel(), slopes.ravel()

    def constants(self):
        """Parameters that predict the same class for all samples, one vector per class."""
        nothing = [np.zeros(len(model.scale)) for model in self.models]
        return [self.parameters(nothing, values) for values in np.eye(len(self.models))]


class _ArgmaxPoint:
    """An `ArgmaxModel` at parameters, with the margin of each class over its rival there."""

    def __init__(self, model, parameters):
        scores = model.class_scores(parameters)
        indices = np.arange(len(scores))
        first = scores.argmax(axis=1)
        # Rival: the best of the other classes, which for all but the winner is the winner.
        others = scores.copy()
        others[indices, first] = -np.inf
        rival = np.where(
            np.arange(scores.shape[1]) == first[:, np.newaxis],
            others.argmax(axis=1)[:, np.newaxis],
            first[:, np.newaxis],
        )
        leads = scores - np.take_along_axis(scores, rival, axis=1)
        # Ties are broken for the first class.
        leads[indices, first] = np.maximum(leads[indices, first], np.finfo(float).tiny)
        self._model = model
        self._rivals = rival * len(scores) + indices[:, np.newaxis]
        self.scores = leads.T.ravel()[model.rows]

    @cached_property
    def _slopes(self):
        """Derivative of each margin by the parameters, a csr_array."""
        design, rows = self._model.design, self._model.rows
        slopes = sparse.csr_array(design[rows] - design[self._rivals.T.ravel()[rows]])
        slopes.sort_indices()
        return slopes

    def pull_back(self, slopes):
        """Gradient by the parameters from one derivative per margin."""
        return self._slopes.T @ slopes

    def pull_back_rows(self, cells):
        """Gradients of several functions at once, from a csr_array (n_rows, n_margins)."""
        return rows_times(cells, self._slopes)

    def gram(self, weights):
        """Sum of ``weights[i]`` times the outer product of the i-th margin's gradient."""
        return weighted_outer_sum(self._slopes, weights)
