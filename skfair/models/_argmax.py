"""One linear model per class, the largest of whose scores decides."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from skfair.models._columns import rows_times, weighted_outer_sum
from skfair.models._linear import LinearModel


@dataclass(frozen=True, eq=False)
class ArgmaxModel:
    r"""Margins by which each class leads, or lags behind, the best of the others.

    With linear scores :math:`s_k` of the classes a sample has one margin per class,
    :math:`m_k = s_k - \max_{l \ne k} s_l`; just the one of the class that is decided for is
    positive. So samples count once per class: first come all margins of the first class. They are
    linear in the parameters as long as no class overtakes another one.

    Parameters
    ----------
    parts : list of LinearModel
        Scores of each class, of the same samples, with intercepts.
    design : csr_array of shape (n_classes * n_samples, n_parameters)
        Derivative of the scores of the classes by the parameters.
    rows : ndarray of int, shape (n_margins,)
        Margins that the model is of, as positions among all.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.models import ArgmaxModel
    >>> columns = [np.array([[0.0], [2.0]]), np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])]
    >>> model = ArgmaxModel.standardized(columns, weights=np.ones(2))
    >>> parameters = model.parameters(np.ones((3, 1)), np.zeros(3))
    >>> model.at(parameters).scores.reshape(3, 2)
    array([[-1.,  1.],
           [ 1., -2.],
           [-1., -1.]])
    """

    parts: list
    design: sparse.csr_array
    rows: np.ndarray

    @classmethod
    def standardized(cls, columns, weights):
        """Make a model whose columns have weighted mean 0 and variance 1.

        Parameters
        ----------
        columns : list of ndarray of shape (n_samples, n_features)
            Columns of each class; classes may have different numbers of them.
        weights : ndarray of shape (n_samples,)
            Positive sample weights.

        Returns
        -------
        model : ArgmaxModel
        """
        parts = [LinearModel.standardized(own, weights) for own in columns]
        blocks = [
            np.column_stack([part.scores(unit) for unit in np.eye(part.n_parameters)])
            for part in parts
        ]
        design = sparse.block_diag([sparse.csr_array(own) for own in blocks], format="csr")
        return cls(parts, design, np.arange(len(design.indptr) - 1))

    @property
    def n_parameters(self):
        """Length of a parameter vector."""
        return self.design.shape[1]

    def _split(self, parameters):
        return np.split(parameters, np.cumsum([part.n_parameters for part in self.parts])[:-1])

    def parameters(self, coef, intercept):
        """Parameters of given coefficients.

        Parameters
        ----------
        coef : list of array-like of shape (n_features,)
            Coefficients of each class's columns.
        intercept : array-like of shape (n_classes,)
            Intercepts.

        Returns
        -------
        parameters : ndarray of shape (n_parameters,)
        """
        triples = zip(self.parts, coef, intercept, strict=True)
        return np.concatenate([part.parameters(*own) for part, *own in triples])

    def coefficients(self, parameters):
        """Coefficients and intercepts of the classes' columns.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        coef : list of ndarray of shape (n_features,)
        intercept : ndarray of shape (n_classes,)
        """
        pairs = zip(self.parts, self._split(parameters), strict=True)
        coef, intercept = zip(*(part.coefficients(own) for part, own in pairs), strict=True)
        return list(coef), np.array(intercept)

    def class_scores(self, parameters):
        """Score of each sample for each class.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)
        """
        return (self.design @ parameters).reshape(len(self.parts), -1).T

    def initial(self, random_state=None):
        """Parameters to start from: every class by its first column.

        Parameters
        ----------
        random_state : int, RandomState instance or None, default=None
            Not used.

        Returns
        -------
        parameters : ndarray of shape (n_parameters,)
        """
        firsts = [np.eye(len(part.scale))[0] for part in self.parts]
        return self.parameters(firsts, np.zeros(len(self.parts)))

    def at(self, parameters):
        """The model at given parameters.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        point : object
            Scores, which are margins, and derivatives by the parameters; see `Model.at`.
        """
        return _Leads(self, parameters)

    def take(self, rows):
        """The same model of some of the margins.

        Parameters
        ----------
        rows : ndarray of int, shape (n_taken,)
            Margins, in any order, with repetitions or without.

        Returns
        -------
        model : ArgmaxModel
        """
        return replace(self, rows=self.rows[rows])

    def last_layer(self, parameters):
        """The part that is searched for decisions: all of it.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        model : ArgmaxModel
            The model itself.
        """
        return self

    def intercept_direction(self):
        """Direction in which the intercepts of all classes rise alike.

        Returns
        -------
        direction : ndarray of shape (n_parameters,)
        """
        return np.concatenate([part.intercept_direction() for part in self.parts])

    def lines(self, direction):
        """The parts of a direction that move the scores of one class each.

        Where only one class moves, every decision flips once: for or against that class.

        Parameters
        ----------
        direction : ndarray of shape (n_parameters,)
            Where to go.

        Returns
        -------
        directions : list of ndarray of shape (n_parameters,)
        """
        blocks = np.repeat(np.arange(len(self.parts)), [part.n_parameters for part in self.parts])
        return [np.where(blocks == k, direction, 0.0) for k in range(len(self.parts))]

    def scores(self, direction):
        """Change of the classes' scores along a direction, class after class.

        Parameters
        ----------
        direction : ndarray of shape (n_parameters,)
            Where to go.

        Returns
        -------
        slopes : ndarray of shape (n_margins,)
        """
        return self.design @ direction

    def turning(self, scores, slopes):
        """Margins and slopes on a line of one class, such that decisions flip where they are 0.

        The class that moves takes people from the best of the others, or loses them to it.

        Parameters
        ----------
        scores : ndarray of shape (n_margins,)
            All margins where the line begins.
        slopes : ndarray of shape (n_margins,)
            What `scores` gives for its direction.

        Returns
        -------
        scores, slopes : ndarray of shape (n_margins,)
            The margin of the best of the others is minus that of the class; no other one moves.
        """
        scores, slopes = (values.reshape(len(self.parts), -1).copy() for values in (scores, slopes))
        moving, numbers = np.abs(slopes).max(axis=1).argmax(), np.arange(scores.shape[1])
        others = scores.copy()
        others[moving] = -np.inf
        rival = others.argmax(axis=0)
        for values in (scores, slopes):
            values[rival, numbers] = -values[moving]
        return scores.ravel(), slopes.ravel()

    def constants(self):
        """Parameters that decide for the same class everywhere, one vector per class.

        Returns
        -------
        parameters : list of ndarray of shape (n_parameters,)
        """
        nothing = [np.zeros(len(part.scale)) for part in self.parts]
        return [self.parameters(nothing, own) for own in np.eye(len(self.parts))]

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


class _Leads:
    """An `ArgmaxModel` at parameters: each margin is that of a class over its rival there."""

    def __init__(self, model, parameters):
        scores = model.class_scores(parameters)
        numbers = np.arange(len(scores))
        first = scores.argmax(axis=1)
        others = scores.copy()
        others[numbers, first] = -np.inf
        rival = np.where(
            np.arange(scores.shape[1]) == first[:, np.newaxis],
            others.argmax(axis=1)[:, np.newaxis],
            first[:, np.newaxis],
        )
        leads = scores - np.take_along_axis(scores, rival, axis=1)
        # Of classes that are equal the first one is decided for.
        leads[numbers, first] = np.maximum(leads[numbers, first], np.finfo(float).tiny)
        self._model = model
        self._rivals = rival * len(scores) + numbers[:, np.newaxis]
        self.scores = leads.T.ravel()[model.rows]

    @cached_property
    def _slopes(self):
        """Derivative of each margin by the parameters, a csr_array."""
        design, rows = self._model.design, self._model.rows
        slopes = sparse.csr_array(design[rows] - design[self._rivals.T.ravel()[rows]])
        slopes.sort_indices()
        return slopes

    def pull_back(self, slopes):
        """Gradient by the parameters from one slope per margin."""
        return self._slopes.T @ slopes

    def pull_back_rows(self, cells):
        """Gradients of several functions at once, from a csr_array (n_rows, n_margins)."""
        return rows_times(cells, self._slopes)

    def gram(self, weights):
        """Sum of ``weights[i]`` times the outer product of the i-th margin's gradient."""
        return weighted_outer_sum(self._slopes, weights)
