"""The protocol of models, and the base of models that are linear in their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from skfair.utils._types import RandomState


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

    def evaluate(self, parameters: np.ndarray) -> Any:
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
            scores along a direction. Solvers state which of these they require.
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
            With parameters of the same meaning.
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

    def last_layer(self, parameters: np.ndarray) -> LinearInParameters:
        """The layer in which scores are linear, with all earlier ones fixed.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        model : LinearInParameters
            Its parameters are the last ones of this model's; a linear model returns itself.
        """
        ...


OPTIONAL_MODEL = frozenset({"X", "astype", "batch", "kernel_columns", "original", "predict"})
"""Members that a model may have: ``predict(parameters)``, the scores by the coefficients that users
see, where they have fewer digits, and then ``original``, the columns as passed; ``batch(rows)``,
the model of a training mini-batch, where training differs; ``astype(dtype)``, the same in another
precision; ``kernel_columns``, X with center and scale of its columns for kernels; and X itself."""

OPTIONAL_LINEAR = OPTIONAL_MODEL | {"class_scores", "lines", "orient_flips"}
"""The same of a model that is linear in its parameters. Where a decision may flip more than once
along a direction, as with several classes, ``lines(direction)`` are directions to search in turn,
along each of which it flips at most once, ``orient_flips(scores, slopes)`` scores and slopes along
such a line that are zero where a decision flips, and ``class_scores(parameters)`` the score of each
class."""


class LinearInParameters(Model, Protocol):
    """A model whose scores are linear in its parameters, or piecewise linear.

    Decisions of such a model are searched along directions of its parameters.
    """

    def scores(self, direction: np.ndarray) -> np.ndarray:
        """Change of the scores along a direction of the parameters, (n_samples,)."""
        ...

    def parameters(self, coef: Any, intercept: Any) -> np.ndarray:
        """Parameters from the coefficients and intercepts that users see."""
        ...

    def coefficients(self, parameters: np.ndarray) -> tuple[Any, Any]:
        """Coefficients and intercepts that users see."""
        ...

    def intercept_direction(self) -> np.ndarray | None:
        """Direction in which all scores rise equally; None without an intercept."""
        ...

    def constants(self) -> list[np.ndarray]:
        """Parameters of constant decisions, one vector for each."""
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
