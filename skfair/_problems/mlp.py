"""Scores of a multi-layer perceptron."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from skfair._problems.linear import LinearModel
from skfair._problems.model import (
    ArrayFunction,
    ChunkedPoint,
    iter_points,
    moments,
    pull_back_sparse_rows,
    replace_zeros,
)
from skfair._utils.tables import is_sparse

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import DTypeLike

    from skfair._utils.api import RandomState
    from skfair._utils.tables import Table


_CHUNK_SIZE = 4096
"""Rows evaluated at a time, so that their activations stay in the cache."""


def _relu_in_place(values: np.ndarray) -> np.ndarray:
    return np.maximum(values, 0.0, out=values)


def _tanh_in_place(values: np.ndarray) -> np.ndarray:
    return np.tanh(values, out=values)


def _tanh_slope(activations: np.ndarray) -> np.ndarray:
    return 1.0 - activations * activations


# The sign of a rectified value, which is not negative, is its slope.
ACTIVATIONS: dict[str, tuple[ArrayFunction, ArrayFunction]] = {
    "relu": (_relu_in_place, np.sign),
    "tanh": (_tanh_in_place, _tanh_slope),
}
"""Activation functions by name: one that works in place, and the slope from its values."""


def _column_ranges(X: Table) -> tuple[np.ndarray, np.ndarray]:
    """Minimum and maximum of each column."""
    if is_sparse(X):
        return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    return X.min(axis=0), X.max(axis=0)


class MLPModel:
    r"""Scores of a multi-layer perceptron with one output.

    With :math:`A_0` the standardised columns of X, the layers are
    :math:`A_l = \phi(A_{l-1} W_l + b_l)`, and scores are :math:`A_L w + b`. The parameter vector
    has weights and biases layer after layer, and ends with those of the last layer, in which scores
    are linear.

    All computations use the dtype of X: float32 trains about twice as fast, float64 leaves no
    decision to rounding. Rows of a sparse X are converted to dense when they are taken.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Standardised columns, float32 or float64; if sparse, columns as passed.
    hidden_layer_sizes : tuple of int, default=(64, 32)
        Units of each hidden layer; () is a linear model.
    activation : {"relu", "tanh"}, default="relu"
        :math:`\phi`.
    center, scale : ndarray of shape (n_features,) or float
        Shift and divisor of the standardised columns.

    Raises
    ------
    ValueError
        If there is no such activation, or a layer has no units.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._problems.mlp import MLPModel
    >>> X = np.array([[1.0, 10.0], [3.0, 30.0]])
    >>> model = MLPModel.from_features(X, weights=np.ones(2), hidden_layer_sizes=(4,))
    >>> model.n_parameters
    17
    >>> model.evaluate(model.initial(random_state=0)).scores.shape
    (2,)
    """

    def __init__(
        self,
        X: Table,
        hidden_layer_sizes: Sequence[int] = (64, 32),
        activation: Literal["relu", "tanh"] = "relu",
        center: np.ndarray | float = 0.0,
        scale: np.ndarray | float = 1.0,
    ):
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"activation must be one of {sorted(ACTIVATIONS)}, but it is {activation!r}."
            )
        if not all(isinstance(n, Integral) and n > 0 for n in hidden_layer_sizes):
            raise ValueError(
                f"Every hidden layer needs a unit, but hidden_layer_sizes={hidden_layer_sizes}; "
                "leave empty layers out."
            )
        self.X = X
        self.hidden_layer_sizes = tuple(hidden_layer_sizes)
        self.activation = activation
        self.center = center
        self.scale = scale
        self._shapes = [*pairwise((X.shape[1], *self.hidden_layer_sizes, 1))]
        # Positions of weights and biases, layer by layer, in the parameter vector.
        sizes = [n for fan_in, fan_out in self._shapes for n in (fan_in * fan_out, fan_out)]
        self._ends = np.cumsum([0, *sizes]).tolist()

    @classmethod
    def from_features(
        cls,
        X: Table,
        weights: np.ndarray,
        hidden_layer_sizes: Sequence[int] = (64, 32),
        activation: Literal["relu", "tanh"] = "relu",
        dtype: DTypeLike = np.float64,
    ) -> Self:
        """Make a model whose columns have weighted mean 0, and variance 1 unless they are dummies.

        Columns of two values are divided by half the distance between these instead:
        a rare category divided by its small standard deviation would be a large number, which
        networks memorise.

        Parameters
        ----------
        X : ndarray or sparse array of shape (n_samples, n_features)
            Features; they are not changed.
        weights : ndarray of shape (n_samples,)
            Positive sample weights.
        hidden_layer_sizes : tuple of int, default=(64, 32)
            Units of each hidden layer.
        activation : {"relu", "tanh"}, default="relu"
            Activation of the hidden units.
        dtype : {float64, float32}, default=float64
            Type of all computations.

        Returns
        -------
        model : MLPModel
        """
        X = sparse.csr_array(X) if is_sparse(X) else X
        center, variance = moments(X, weights / weights.sum())
        rounding = 1e-13 * np.abs(center)  # below it a column is constant
        low, high = _column_ranges(X)
        # The variance is at most this product, with equality for two values only.
        has_two_values = variance >= (1.0 - 1e-9) * (high - center) * (center - low)
        # Dummies are scaled to half their range, so that rare categories do not get huge columns.
        scale = np.where(has_two_values, (high - low) / 2.0, np.sqrt(variance))
        scale = replace_zeros(np.where(np.sqrt(variance) > rounding, scale, np.abs(center)))
        X = X if is_sparse(X) else (X - center) / scale
        return cls(X.astype(dtype), hidden_layer_sizes, activation, center, scale)

    @property
    def n_parameters(self) -> int:
        """Length of a parameter vector."""
        return self._ends[-1]

    def astype(self, dtype: DTypeLike) -> MLPModel:
        """The same model, computed in another type.

        Parameters
        ----------
        dtype : {float64, float32}
            The type.

        Returns
        -------
        model : MLPModel
        """
        return self._replace_X(self.X.astype(dtype, copy=False))

    def _replace_X(self, X: np.ndarray) -> MLPModel:
        # Made for every mini-batch, so the constructor's checks are skipped.
        model = object.__new__(type(self))
        vars(model).update(vars(self), X=X)
        return model

    def layers(self, parameters: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Weights and biases of each layer, as views.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        layers : list of (ndarray of shape (fan_in, fan_out), ndarray of shape (fan_out,))
        """
        starts, ends = self._ends[:-1:2], self._ends[1::2]
        return [
            (parameters[start:end].reshape(shape), parameters[end : end + shape[1]])
            for start, end, shape in zip(starts, ends, self._shapes, strict=True)
        ]

    def coefficients(self, parameters: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Weights and biases of each layer, for the columns of X as passed.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        coefs : list of ndarray of shape (fan_in, fan_out)
        intercepts : list of ndarray of shape (fan_out,)
        """
        coefs, intercepts = map(list, zip(*self.layers(parameters), strict=True))
        # Only the first layer sees the features: standardisation is folded into its weights and
        # bias.
        coefs[0] = coefs[0] / np.reshape(self.scale, (-1, 1))
        intercepts[0] = intercepts[0] - np.broadcast_to(self.center, len(coefs[0])) @ coefs[0]
        return coefs, intercepts

    def parameters(self, coefs: list[np.ndarray], intercepts: list[np.ndarray]) -> np.ndarray:
        """Parameters from weights and biases: the inverse of `coefficients`.

        Parameters
        ----------
        coefs : list of array-like of shape (fan_in, fan_out)
            Weights of each layer, for the columns of X as passed.
        intercepts : list of array-like of shape (fan_out,)
            Biases of each layer.

        Returns
        -------
        parameters : ndarray of shape (n_parameters,)
        """
        coefs, intercepts = list(coefs), list(intercepts)
        intercepts[0] = intercepts[0] + np.broadcast_to(self.center, len(coefs[0])) @ coefs[0]
        coefs[0] = coefs[0] * np.reshape(self.scale, (-1, 1))
        pairs = zip(coefs, intercepts, strict=True)
        return np.concatenate([np.ravel(array) for pair in pairs for array in pair])

    def finish(self, parameters: np.ndarray) -> tuple[MLPModel, np.ndarray]:
        """The model that predicts after the training, and its parameters: they are the same."""
        return self, parameters

    def initial(self, random_state: RandomState = None) -> np.ndarray:
        """Random initial parameters, uniform as in scikit-learn (X. Glorot and Y. Bengio, 2010).

        Parameters
        ----------
        random_state : int, RandomState instance or None, default=None
            Determines the draw.

        Returns
        -------
        parameters : ndarray of shape (n_parameters,)
        """
        rng = check_random_state(random_state)
        arrays = []
        for fan_in, fan_out in self._shapes:
            bound = np.sqrt(6.0 / (fan_in + fan_out))
            arrays.append(rng.uniform(-bound, bound, fan_in * fan_out))
            arrays.append(rng.uniform(-bound, bound, fan_out))
        return np.concatenate(arrays)

    def take(self, rows: np.ndarray | slice) -> MLPModel:
        """The same model of a subset of the samples, with dense columns.

        Parameters
        ----------
        rows : ndarray of int or bool, or slice
            Samples, in any order, with repetitions or without.

        Returns
        -------
        model : MLPModel
            Its parameters mean the same: columns are scaled as before.
        """
        if is_sparse(self.X):
            X = (self.X[rows].toarray() - self.center) / self.scale
            return self._replace_X(X.astype(self.X.dtype))
        return self._replace_X(self.X[rows])

    def evaluate(self, parameters: np.ndarray) -> MLPPoint | ChunkedPoint:
        """The model at given parameters.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        point : MLPPoint or ChunkedPoint
            Scores, and derivatives by the parameters; see `Model.evaluate`.
        """
        parameters = parameters.astype(self.X.dtype, copy=False)
        if self.X.shape[0] > _CHUNK_SIZE or is_sparse(self.X):
            chunks = partial(iter_points, self, parameters, self.X.shape[0], _CHUNK_SIZE)
            return ChunkedPoint(self, parameters, chunks)
        return MLPPoint(self, parameters)

    def ridge(self, alpha: float) -> np.ndarray:
        """Second derivative of ``alpha / 2 * sum(weights ** 2)`` by each parameter.

        Parameters
        ----------
        alpha : float
            Strength of the penalty on the weights of all layers (of the first one for standardised
            columns); biases have none.

        Returns
        -------
        ridge : ndarray of shape (n_parameters,)
        """
        sizes = np.diff(self._ends)
        return np.repeat(np.tile([alpha, 0.0], len(self._shapes)), sizes)

    def last_layer(self, parameters: np.ndarray) -> LinearModel:
        """The linear model on the last hidden activations, with all earlier layers fixed.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        model : LinearModel
            Its parameters are the last ones of this model's.
        """
        hidden = self.evaluate(parameters).hidden.astype(np.float64)
        n_units = hidden.shape[1]
        return LinearModel(hidden, np.zeros(n_units), np.ones(n_units), fit_intercept=True)


class MLPPoint:
    """A perceptron at a parameter vector, with stored activations of all samples."""

    def __init__(self, model: MLPModel, parameters: np.ndarray) -> None:
        self.model = model
        self.parameters = parameters
        self._layers = model.layers(parameters)
        activate, self._slope = ACTIVATIONS[model.activation]
        self._activations = [model.X]
        # Forward pass with stored activations, which backpropagation needs.
        for weights, biases in self._layers[:-1]:
            values = self._activations[-1] @ weights
            values += biases
            self._activations.append(activate(values))
        weights, bias = self._layers[-1]
        self.scores = (self.hidden @ weights[:, 0] + bias).astype(np.float64)

    @property
    def hidden(self) -> np.ndarray:
        """Activations of the last hidden layer, (n_samples, n_units)."""
        return self._activations[-1]

    def pull_back(self, slopes: np.ndarray) -> np.ndarray:
        """Backpropagation: gradient by the parameters from one derivative per sample."""
        model = self.model
        gradient = np.empty_like(self.parameters)
        delta = slopes.astype(self.parameters.dtype)[:, np.newaxis]
        # From the last layer to the first; delta is the derivative by the output of a layer.
        layers = [*zip(self._layers, model.layers(gradient), self._activations, strict=True)]
        for depth, ((weights, _), (weight_gradient, bias_gradient), inputs) in enumerate(
            layers[::-1]
        ):
            np.matmul(inputs.T, delta, out=weight_gradient)
            delta.sum(axis=0, out=bias_gradient)
            if depth < len(layers) - 1:
                # Behind the single output the product is an outer product.
                delta = delta * weights[:, 0] if depth == 0 else delta @ weights.T
                delta *= self._slope(inputs)
        return gradient.astype(np.float64, copy=False)

    pull_back_rows = pull_back_sparse_rows
