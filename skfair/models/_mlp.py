"""Scores of a multi-layer perceptron."""

from itertools import pairwise

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from skfair.models._chunks import ChunkedPoint, rows_pulled_back
from skfair.models._columns import moments, positive
from skfair.models._linear import LinearModel

_CHUNK = 4096
"""Rows that pass through the layers at a time: their activations stay in the cache."""


def _relu(values):
    return np.maximum(values, 0.0, out=values)


def _tanh(values):
    return np.tanh(values, out=values)


def _relu_slope(activations):
    return np.sign(activations)  # activations are not negative


def _tanh_slope(activations):
    return 1.0 - activations * activations


ACTIVATIONS = {"relu": (_relu, _relu_slope), "tanh": (_tanh, _tanh_slope)}
"""By name: a function that replaces values in place, and its slope from what it returned."""


def _ends(X):
    """Least and largest value of each column."""
    if sparse.issparse(X):
        return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    return X.min(axis=0), X.max(axis=0)


class MLPModel:
    r"""Scores of a multi-layer perceptron with one output.

    With :math:`A_0` the standardised columns of X, the layers are
    :math:`A_l = \phi(A_{l-1} W_l + b_l)`, and scores are :math:`A_L w + b`. Parameters are all
    weights and biases in one vector, layer after layer, of each layer the weights first: those of
    the last layer, in which scores are linear, come last.

    Everything is computed in the type of X: float32 trains about twice as fast, float64 leaves no
    decision to rounding. Rows of a sparse X are made dense as they are taken.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Standardised columns, float32 or float64; where it is sparse, columns as they come.
    hidden_layer_sizes : tuple of int, default=(64, 32)
        Units of each hidden layer; () is a linear model.
    activation : {"relu", "tanh"}, default="relu"
        :math:`\phi`.
    center, scale : ndarray of shape (n_features,) or float
        What standardised columns are shifted and divided by.

    Raises
    ------
    ValueError
        If there is no such activation, or a layer has no units.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.models import MLPModel
    >>> X = np.array([[1.0, 10.0], [3.0, 30.0]])
    >>> model = MLPModel.standardized(X, weights=np.ones(2), hidden_layer_sizes=(4,))
    >>> model.n_parameters
    17
    >>> model.at(model.initial(random_state=0)).scores.shape
    (2,)
    """

    def __init__(self, X, hidden_layer_sizes=(64, 32), activation="relu", center=0.0, scale=1.0):
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"activation must be one of {sorted(ACTIVATIONS)}, but it is {activation!r}."
            )
        if min(hidden_layer_sizes, default=1) < 1:
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
        sizes = [n for fan_in, fan_out in self._shapes for n in (fan_in * fan_out, fan_out)]
        self._ends = np.cumsum([0, *sizes]).tolist()

    @classmethod
    def standardized(
        cls, X, weights, hidden_layer_sizes=(64, 32), activation="relu", dtype=np.float64
    ):
        """Make a model whose columns have weighted mean 0, and variance 1 unless they are dummies.

        Columns of two values are divided by half the distance between these instead: by its small
        spread, a rare category would become a large number, which the network learns by heart.

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
            Type in which everything is computed.

        Returns
        -------
        model : MLPModel
        """
        X = sparse.csr_array(X) if sparse.issparse(X) else X
        center, variance = moments(X, weights / weights.sum())
        rounding = 1e-13 * np.abs(center)  # columns that are constant up to it tell nothing
        low, high = _ends(X)
        # No variance is larger than this product, and only that of two values is as large.
        has_two_values = variance >= (1.0 - 1e-9) * (high - center) * (center - low)
        scale = np.where(has_two_values, (high - low) / 2.0, np.sqrt(variance))
        scale = positive(np.where(np.sqrt(variance) > rounding, scale, 0.0))
        X = X if sparse.issparse(X) else (X - center) / scale
        return cls(X.astype(dtype), hidden_layer_sizes, activation, center, scale)

    @property
    def n_parameters(self):
        """Length of a parameter vector."""
        return self._ends[-1]

    def astype(self, dtype):
        """The same model, computed in another type.

        Parameters
        ----------
        dtype : {float64, float32}
            The type.

        Returns
        -------
        model : MLPModel
        """
        return self._of(self.X.astype(dtype, copy=False))

    def _of(self, X):
        # One of every mini-batch is made: nothing is to be checked again.
        model = object.__new__(type(self))
        vars(model).update(vars(self), X=X)
        return model

    def layers(self, parameters):
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

    def coefficients(self, parameters):
        """Weights and biases of each layer, for the columns of X as they came.

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
        coefs[0] = coefs[0] / np.reshape(self.scale, (-1, 1))
        intercepts[0] = intercepts[0] - np.broadcast_to(self.center, len(coefs[0])) @ coefs[0]
        return coefs, intercepts

    def parameters(self, coefs, intercepts):
        """Parameters of given weights and biases: the inverse of `coefficients`.

        Parameters
        ----------
        coefs : list of array-like of shape (fan_in, fan_out)
            Weights of each layer, for the columns of X as they came.
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
        return np.concatenate([np.ravel(part) for pair in pairs for part in pair])

    def initial(self, random_state=None):
        """Parameters to start from, uniform as scikit-learn and X. Glorot and Y. Bengio draw them.

        Parameters
        ----------
        random_state : int, RandomState instance or None, default=None
            Determines the draw.

        Returns
        -------
        parameters : ndarray of shape (n_parameters,)
        """
        random_state = check_random_state(random_state)
        drawn = []
        for fan_in, fan_out in self._shapes:
            bound = np.sqrt(6.0 / (fan_in + fan_out))
            drawn.append(random_state.uniform(-bound, bound, fan_in * fan_out))
            drawn.append(random_state.uniform(-bound, bound, fan_out))
        return np.concatenate(drawn)

    def take(self, rows):
        """The same model of some of the samples, whose columns are dense.

        Parameters
        ----------
        rows : ndarray of int or bool, or slice
            Samples, in any order, with repetitions or without.

        Returns
        -------
        model : MLPModel
            Its parameters mean the same: columns are scaled as before.
        """
        if sparse.issparse(self.X):
            X = (self.X[rows].toarray() - self.center) / self.scale
            return self._of(X.astype(self.X.dtype))
        return self._of(self.X[rows])

    def at(self, parameters):
        """The model at given parameters.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        point : MLPPoint or ChunkedPoint
            Scores, and derivatives by the parameters; see `Model.at`.
        """
        parameters = parameters.astype(self.X.dtype, copy=False)
        if self.X.shape[0] > _CHUNK or sparse.issparse(self.X):
            return ChunkedPoint(self, parameters, self.X.shape[0], _CHUNK)
        return MLPPoint(self, parameters)

    def ridge(self, alpha):
        """Second derivative of ``alpha / 2 * sum(weights ** 2)`` by each parameter.

        Parameters
        ----------
        alpha : float
            Strength of the penalty on the weights of all layers, those of the first one for
            standardised columns; biases have none.

        Returns
        -------
        ridge : ndarray of shape (n_parameters,)
        """
        sizes = np.diff(self._ends)
        return np.repeat(np.tile([alpha, 0.0], len(self._shapes)), sizes)

    def last_layer(self, parameters):
        """The linear model on the last hidden activations, all before them held fixed.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        model : LinearModel
            Its parameters are the last ones of this model's.
        """
        hidden = self.at(parameters).hidden.astype(np.float64)
        n_units = hidden.shape[1]
        return LinearModel(hidden, np.zeros(n_units), np.ones(n_units), fit_intercept=True)


class MLPPoint:
    """A perceptron at some parameters, on few samples: their activations are kept.

    Parameters
    ----------
    model : MLPModel
        The model, its X dense.
    parameters : ndarray of shape (n_parameters,)
        Its parameters, of the type of X.
    """

    def __init__(self, model, parameters):
        self.model = model
        self.parameters = parameters
        self._layers = model.layers(parameters)
        activate, self._slope = ACTIVATIONS[model.activation]
        self._activations = [model.X]
        for weights, biases in self._layers[:-1]:
            values = self._activations[-1] @ weights
            values += biases
            self._activations.append(activate(values))
        weights, bias = self._layers[-1]
        self.scores = (self.hidden @ weights[:, 0] + bias).astype(np.float64)

    @property
    def hidden(self):
        """Activations of the last hidden layer, (n_samples, n_units)."""
        return self._activations[-1]

    def pull_back(self, slopes):
        """Gradient by the parameters from one slope per sample, (n_samples,)."""
        model = self.model
        gradient = np.empty_like(self.parameters)
        delta = slopes.astype(self.parameters.dtype)[:, np.newaxis]
        layers = [*zip(self._layers, model.layers(gradient), self._activations, strict=True)]
        for depth, ((weights, _), (by_weights, by_biases), entering) in enumerate(layers[::-1]):
            np.matmul(entering.T, delta, out=by_weights)
            delta.sum(axis=0, out=by_biases)
            if depth < len(layers) - 1:
                # From the one output backwards a product of a column and a row is left.
                delta = delta * weights[:, 0] if depth == 0 else delta @ weights.T
                delta *= self._slope(entering)
        return gradient.astype(np.float64, copy=False)

    def pull_back_rows(self, cells):
        """Gradients of several functions at once, from a csr_array (n_rows, n_samples)."""
        return rows_pulled_back(self, cells)
