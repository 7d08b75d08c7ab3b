"""The protocol of models, and the base of models that are linear in their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from skfair.utils._types import RandomState

if TYPE_CHECKING:
    from skfair.models._linear import LinearModel


@runtime_checkable
class Model(Protocol):
    """Scores of the training samples as a function of parameters.

    Only the model has access to X. Losses and constraints return one derivative per sample, which
    the model maps to a gradient by its parameters. So networks and linear models share all solvers.

    Attributes
    ----------
    n_parameters : int
        Length of a parameter vector.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.models import LinearModel, Model
    >>> model = LinearModel.from_features(np.array([[0.0], [1.0]]), weights=np.ones(2))
    >>> isinstance(model, Model)
    True
    >>> model.evaluate(model.initial()).scores
    array([0., 0.])
    """

    n_parameters: int

    def initial(self, random_state: RandomState = None) -> np.ndarray:
        """Initial parameters.

        Parameters
        ----------
        random_state : int, RandomState instance or None, default=None
            For models with a random initialisation.

        Returns
        -------
        parameters : ndarray of shape (n_parameters,)
        """
        ...

    def evaluate(self, parameters: np.ndarray) -> object:
        """The model at given parameters.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        point : object
            It has ``scores`` (n_samples,), ``pull_back(slopes)``, which maps one derivative per
            sample to the gradient (n_parameters,), and ``pull_back_rows(cells)``, the same for a
            csr_array (n_rows, n_samples). If it is cheap it also has ``gram(weights)``, the sum of
            ``weights[i]`` times the outer product of the gradient of the i-th score. A model that
            is linear in its parameters also has ``push_forward(direction)``, the change of the
            scores along a direction. Solvers state which of these they require. The model itself
            may have ``predict(parameters)``, the scores by the coefficients that users see, which
            have fewer digits for columns far from 0.
        """
        ...

    def take(self, rows: np.ndarray) -> Model:
        """The same model of a subset of the samples.

        Parameters
        ----------
        rows : ndarray of int, shape (n_taken,)
            Samples, in any order, with repetitions or without.

        Returns
        -------
        model : Model
            With parameters of the same meaning. Models that differ in training, for example by
            dropout, also have ``batch(rows)``, the model of a training mini-batch.
        """
        ...

    def ridge(self, alpha: float) -> np.ndarray:
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

    def last_layer(self, parameters: np.ndarray) -> LinearModel:
        """The layer in which scores are linear, with all earlier ones fixed.

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


class LinearPoint(NamedTuple):
    """A model that is linear in its parameters, at a parameter vector; see `Model.evaluate`.

    Scores are linear in the parameters: their derivatives are the same everywhere.
    """

    scores: np.ndarray
    push_forward: Callable
    pull_back: Callable
    pull_back_rows: Callable
    gram: Callable


class LinearInParameters:
    """Base of models that are linear in their parameters."""

    n_parameters: Any
    scores: Any
    pull_back: Any
    pull_back_rows: Any
    gram: Any
    intercept_direction: Any

    def initial(self, random_state: RandomState = None) -> np.ndarray:
        """Initial parameters: zeros, whose scores are 0."""
        return np.zeros(self.n_parameters)

    def evaluate(self, parameters: np.ndarray) -> Any:
        """The `LinearPoint` at parameters."""
        by_scores = self.scores, self.pull_back, self.pull_back_rows, self.gram
        return LinearPoint(self.scores(parameters), *by_scores)

    def last_layer(self, parameters: np.ndarray) -> LinearInParameters:
        """The model itself."""
        return self

    def constants(self) -> list[np.ndarray]:
        """Parameters of constant decisions, negative and positive; [0] without an intercept."""
        up = self.intercept_direction()
        return [np.zeros(self.n_parameters)] if up is None else [-up, up]

    def lines(self, direction: np.ndarray) -> list[np.ndarray]:
        """Directions to search in turn, along each of which a decision flips at most once."""
        return [direction]

    def orient_flips(self, scores: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores and slopes along a line, zero where a decision flips: those passed."""
        return scores, slopes
