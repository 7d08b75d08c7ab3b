"""What a model is asked for, and what models that are linear in their parameters share."""

from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class Model(Protocol):
    """Scores of the training samples as a function of parameters.

    A model is the only one who knows X. Losses and constraints give one slope per sample, and the
    model turns them into a gradient by its parameters: a network takes part as a linear model does.

    Attributes
    ----------
    n_parameters : int
        Length of a parameter vector.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.models import LinearModel, Model
    >>> model = LinearModel.standardized(np.array([[0.0], [1.0]]), weights=np.ones(2))
    >>> isinstance(model, Model)
    True
    >>> model.at(model.initial()).scores
    array([0., 0.])
    """

    n_parameters: int

    def initial(self, random_state=None):
        """Parameters to start from.

        Parameters
        ----------
        random_state : int, RandomState instance or None, default=None
            For models that break symmetries by chance.

        Returns
        -------
        parameters : ndarray of shape (n_parameters,)
        """
        ...

    def at(self, parameters):
        """The model at given parameters.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        point : object
            It has ``scores`` (n_samples,), ``pull_back(slopes)``, from one slope per sample to the
            gradient (n_parameters,), and ``pull_back_rows(cells)``, the same for a csr_array
            (n_rows, n_samples). Where it is cheap it also has ``gram(weights)``, the sum of
            ``weights[i]`` times the outer product of the gradient of the i-th score; a model that
            is linear in its parameters also has ``push_forward(direction)``, the scores' change
            along a direction, and ``predicted``, scores as the coefficients that users see give
            them: those of far columns have fewer digits. Solvers that need these say so.
        """
        ...

    def take(self, rows):
        """The same model of some of the samples.

        Parameters
        ----------
        rows : ndarray of int, shape (n_taken,)
            Samples, in any order, with repetitions or without.

        Returns
        -------
        model : Model
            With parameters of the same meaning. Models that behave otherwise in training, by
            dropout say, also have ``batch(rows)``, the model of a mini-batch to train on.
        """
        ...

    def ridge(self, alpha):
        """Second derivative of the l2 penalty by each parameter.

        Parameters
        ----------
        alpha : float
            Strength of the penalty.

        Returns
        -------
        ridge : ndarray of shape (n_parameters,)
            The penalty is ``ridge @ parameters**2 / 2``.
        """
        ...

    def last_layer(self, parameters):
        """The part in which scores are linear, all before it held fixed.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        model : LinearModel or another that is linear in its parameters
            Its parameters are the last ones of this model's; a linear model returns itself.
        """
        ...


class LinearPoint:
    """A model that is linear in its parameters, at some of these.

    Parameters
    ----------
    model : LinearModel or another that is linear in its parameters
        The model, whose derivatives are the same everywhere.
    parameters : ndarray of shape (n_parameters,)
        Its parameters.
    """

    def __init__(self, model, parameters):
        self.model = model
        self.parameters = parameters

    @cached_property
    def scores(self):
        """Score of each sample, (n_samples,)."""
        return self.model.scores(self.parameters)

    @property
    def predicted(self):
        """Score of each sample as predictions will have it, (n_samples,)."""
        return self.model.predicted(self.parameters)

    def push_forward(self, direction):
        """Change of the scores along a direction, (n_parameters,) -> (n_samples,)."""
        return self.model.scores(direction)

    def pull_back(self, slopes):
        """Gradient by the parameters from one slope per sample, (n_samples,)."""
        return self.model.pull_back(slopes)

    def pull_back_rows(self, cells):
        """Gradients of several functions at once, from a csr_array (n_rows, n_samples)."""
        return self.model.pull_back_rows(cells)

    def gram(self, weights):
        """Sum of ``weights[i]`` times the outer product of the i-th score's gradient."""
        return self.model.gram(weights)


class LinearInParameters:
    """What models that are linear in their parameters have in common."""

    def initial(self, random_state=None):
        """Parameters to start from: zeros, whose scores are 0.

        Parameters
        ----------
        random_state : int, RandomState instance or None, default=None
            Not used: there is no symmetry to break.

        Returns
        -------
        parameters : ndarray of shape (n_parameters,)
        """
        return np.zeros(self.n_parameters)

    def at(self, parameters):
        """The model at given parameters.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        point : LinearPoint
            Scores, and derivatives by the parameters; see `Model.at`.
        """
        return LinearPoint(self, parameters)

    def last_layer(self, parameters):
        """The part in which scores are linear: all of it.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        model : LinearInParameters
            The model itself.
        """
        return self

    def constants(self):
        """Parameters that decide alike of everybody.

        Returns
        -------
        parameters : list of ndarray of shape (n_parameters,)
            For the negative and for the positive class; without an intercept all scores are 0.
        """
        up = self.intercept_direction()
        return [np.zeros(self.n_parameters)] if up is None else [-up, up]

    def lines(self, direction):
        """Directions to search one after the other, along each of which a decision flips once.

        Parameters
        ----------
        direction : ndarray of shape (n_parameters,)
            Where to go.

        Returns
        -------
        directions : list of ndarray of shape (n_parameters,)
            Just the one given.
        """
        return [direction]

    def turning(self, scores, slopes):
        """Scores and slopes on a line, such that each decision flips where its score is 0.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Where the line begins.
        slopes : ndarray of shape (n_samples,)
            What `scores` gives for its direction.

        Returns
        -------
        scores, slopes : ndarray of shape (n_samples,)
            Those given.
        """
        return scores, slopes
