"""The protocol of models, and storage and products of feature columns."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from scipy import sparse

from skfair._partitions.partitions import BLOCK_SIZE, blocks, make_partitions
from skfair._utils.tables import is_sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skfair._utils.api import RandomState
    from skfair._utils.tables import Table, TableLike

ArrayFunction: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""A function of an array that returns another one."""


# The protocol of models, and the base of models that are linear in their parameters.


@runtime_checkable
class Model(Protocol):
    """Scores of the training samples as a function of parameters.

    Only the model has access to X. Losses and constraints return one derivative per sample, which
    the model maps to a gradient by its parameters. So networks and linear models share all solvers.

    A model may have further members: ``predict(parameters)``, the scores by the coefficients that
    users see, where they have fewer digits, and then ``original``, the columns as passed;
    ``batch(rows)``, the model of a training mini-batch, where training differs;
    ``finish(parameters)``, the model of a network that predicts after the training, and its
    parameters; ``astype(dtype)``, the same in another precision; ``kernel_columns``, X with center
    and scale of its columns for kernels; ``rough_gram``, as ``gram`` in single precision, and
    ``reference_gram``, that of equal weights; and ``X`` itself.

    Attributes
    ----------
    n_parameters : int
        Length of a parameter vector.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._problems.linear import LinearModel
    >>> model = LinearModel.from_features(np.array([[0.0], [1.0]]), weights=np.ones(2))
    >>> model.evaluate(model.initial()).scores
    array([0., 0.])
    """

    @property
    def n_parameters(self) -> int:
        """Length of a parameter vector."""
        ...

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
            sample to the gradient (n_parameters,), and ``pull_back_rows(slopes)``, the same for a
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


class LinearInParameters(Model, Protocol):
    """A model whose scores are linear in its parameters, or piecewise linear.

    Decisions of such a model are searched along directions of its parameters. Where a decision may
    flip more than once along a direction, as with several classes, the model has three members
    more: ``lines(direction)`` are directions to search in turn, along each of which it flips at
    most once, ``orient_flips(scores, slopes)`` scores and slopes along such a line that are zero
    where a decision flips, and ``class_scores(parameters)`` the score of each class.
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
    push_forward: ArrayFunction
    pull_back: ArrayFunction
    pull_back_rows: Callable[[sparse.csr_array], np.ndarray]
    gram: ArrayFunction


# Networks at a point on many samples, evaluated in chunks.


def pull_back_sparse_rows(point: Any, slopes: sparse.csr_array) -> np.ndarray:
    """Gradients (n_rows, n_parameters) of functions of few samples each, from a csr_array."""
    slopes = sparse.csr_array(slopes)
    jacobian = np.zeros((slopes.shape[0], len(point.parameters)))
    for row, (start, end) in enumerate(pairwise(slopes.indptr)):
        samples = slopes.indices[start:end]
        # Backpropagate through the samples of the row alone.
        if len(samples):
            point_at_samples = point.model.take(samples).evaluate(point.parameters)
            jacobian[row] = point_at_samples.pull_back(slopes.data[start:end])
    return jacobian


def iter_points(
    model: Any, parameters: np.ndarray, n_samples: int, n_chunk: int
) -> Iterator[tuple[slice, Any]]:
    """Yield slices of `n_chunk` samples, and the model at them."""
    for rows in blocks(n_samples, n_chunk):
        yield rows, model.take(rows).evaluate(parameters)


class ChunkedPoint:
    """A network at a parameter vector, evaluated on a chunk of the samples at a time.

    `iter_chunks` is a function that yields slices of all samples in turn, and the model at them.
    Activations are recomputed where they are needed instead of stored.
    """

    def __init__(
        self,
        model: Model,
        parameters: np.ndarray,
        iter_chunks: Callable[[], Iterator[tuple[slice, Any]]],
    ) -> None:
        self.model = model
        self.parameters = parameters
        self._iter_chunks = iter_chunks
        self.scores = np.concatenate([chunk.scores for _, chunk in iter_chunks()], dtype=np.float64)

    @property
    def hidden(self) -> np.ndarray:
        """Activations of the last hidden layer, (n_samples, n_units)."""
        return np.concatenate([chunk.hidden for _, chunk in self._iter_chunks()])

    def pull_back(self, slopes: np.ndarray) -> np.ndarray:
        """Gradient by the parameters from one derivative per sample, (n_samples,)."""
        return sum(chunk.pull_back(slopes[rows]) for rows, chunk in self._iter_chunks())

    pull_back_rows = pull_back_sparse_rows


# Storage, moments and products of feature columns, dense or sparse.


_CHUNK_SIZE = 8192
"""Rows of a dense matrix that are centred or weighted at a time."""


def replace_zeros(scale: np.ndarray) -> np.ndarray:
    """The scales, with 1 in place of 0."""
    return np.where(scale > 0, scale, 1.0)


MAX_DOUBLED = 1 << 17
"""Samples up to which dense float32 features are stored as float64, which is faster."""


def to_dense_or_csr(X: TableLike) -> np.ndarray | sparse.csr_array:
    """The features in canonical CSR if they are sparse enough, and as float64.

    Dense float32 features of very many samples stay as they are. All sums are in float64.
    """
    if not is_sparse(X):
        X = np.asarray(X)
        if X.dtype != np.float32 or len(X) <= MAX_DOUBLED:
            X = np.asarray(X, dtype=np.float64)
        # Below a share of .3 dense columns are stored as CSR: one-hot columns are. The first blocks
        # show it of dense columns.
        needed = 0.3 * X.size
        filled = 0
        for rows in blocks(len(X), _CHUNK_SIZE):
            filled += int(np.count_nonzero(X[rows] != 0.0))
            if filled >= needed:
                break
        return X if filled >= needed else _compress(X)
    X = sparse.csr_array(X, dtype=np.float64)
    if not X.has_canonical_format:
        X = X.copy()  # X may share the user's arrays
        X.sum_duplicates()
    return X


def _compress(X: np.ndarray) -> sparse.csr_array:
    from skfair._kernels.scores import compressed_rows

    if X.flags.f_contiguous:  # as data frames are: read in memory order
        return sparse.csr_array(sparse.csc_array(compressed_rows(X.T), shape=X.shape))
    return sparse.csr_array(compressed_rows(X), shape=X.shape)


_NOISE = 4 * np.finfo(np.float64).eps
"""Standard deviation, relative to the mean, up to which numbers differ by rounding alone."""

_MIN_RANGE = 1e-140
"""Range of a column whose variance, and the inverse of it, are numbers that lose no digits."""


def moments(
    X: Table, weights: np.ndarray, n_jobs: int | None = None, min_spread: float = 1e-10
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each column, (n_features,) each, for weights of rows that sum to 1.

    A second pass takes the squares around the mean and corrects its rounding error. One pass would
    lose digits of columns with a large mean. Raises ValueError for a column that varies by less
    than `min_spread` of its mean: decisions of rounded predictions are not those that a fit counts.
    Also for one whose variance is too small for a number, but not 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._problems.model import moments
    >>> moments(np.array([[1.0], [3.0]]), weights=np.array([0.5, 0.5]))
    (array([2.]), array([1.]))
    """
    # Two passes: means, then deviations from them, so that no digits cancel.
    if is_sparse(X):
        mean = X.T @ weights
        residual, squares = _sum_sparse_deviations(X, weights, mean)
    elif len(weights) <= BLOCK_SIZE:
        mean = X.T.dot(weights)
        residual, squares = _sum_deviations((X, weights), mean)
    else:
        parts = make_partitions([(X[rows], weights[rows]) for rows in blocks(len(weights))], n_jobs)
        mean = parts.reduce(_sums)
        residual, squares = parts.reduce(_sum_deviations, mean)
    mean = mean + residual
    variance = np.maximum(0.0, squares - residual**2)
    # Refuse columns that vary, by more than rounding, but so little that products lose it.
    spread = np.sqrt(variance)
    is_lost = (spread > _NOISE * np.abs(mean)) & (spread < min_spread * np.abs(mean))
    for column in np.flatnonzero(is_lost)[:1]:
        raise ValueError(
            f"Columns of X must vary by {min_spread:g} of their mean, or be constant, but column "
            f"{column} has mean {mean[column]:g} and standard deviation {spread[column]:.2g}: "
            "predictions would be rounded to a few values. Subtract its mean from it."
        )
    tiny = np.flatnonzero(variance < _MIN_RANGE**2)  # perhaps 0 by rounding
    if len(tiny):
        ranges = np.zeros_like(variance)
        of_tiny = X[:, tiny].max(axis=0) - X[:, tiny].min(axis=0)
        ranges[tiny] = of_tiny.toarray().ravel() if is_sparse(of_tiny) else of_tiny
        check_ranges(ranges)
    return mean, variance


def check_ranges(ranges: np.ndarray) -> None:
    """Raise for columns that are not constant, but vary so little that their squares are lost."""
    for column in np.flatnonzero((ranges > 0) & (ranges < _MIN_RANGE))[:1]:
        raise ValueError(
            f"Columns of X must vary by {_MIN_RANGE:g}, or be constant, but column {column} "
            f"varies by {ranges[column]:.2g}, whose square is lost. Multiply it by a constant."
        )


def _sums(block: tuple[np.ndarray, ...]) -> np.ndarray:
    X, weights = block
    return X.T.dot(weights)


def _sum_deviations(
    block: tuple[np.ndarray, ...], mean: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of deviations from the means and of their squares, by column."""
    X, weights = block
    residual, squares = np.zeros_like(mean), np.zeros_like(mean)
    # A few rows at a time, whose deviations stay in the cache.
    for rows in blocks(len(weights), max(1, (1 << 18) // max(32, len(mean)))):
        deviation = X[rows] - mean
        residual += weights[rows].dot(deviation)
        squares += weights[rows].dot(deviation**2)
    return residual, squares


def _sum_sparse_deviations(
    X: sparse.csr_array, weights: np.ndarray, mean: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    from skfair._kernels.scores import sum_stored_deviations

    counts, stored, residual, squares = sum_stored_deviations(
        X.data, X.indices, X.indptr, weights, mean
    )
    # Weight of the absent entries (zeros); exactly 0 for full columns, as weights round.
    absent = np.where(counts == len(weights), 0.0, np.maximum(0.0, 1.0 - stored))
    return residual - absent * mean, squares + absent * mean**2


def full_column_mask(X: Table) -> np.ndarray:
    """Whether all entries of a column are stored."""
    if not is_sparse(X):
        return np.ones(X.shape[1], dtype=bool)
    return np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]


def shift_columns(X: Table, origin: Table) -> np.ndarray | sparse.csr_array:
    """X with its full columns shifted by their origin."""
    if not is_sparse(X):
        return X - origin
    return sparse.csr_array((X.data - origin[X.indices], X.indices, X.indptr), shape=X.shape)


def times_vector(X: Table, coef: np.ndarray) -> np.ndarray:
    """``X @ coef``; float32 features become float64 a few rows at a time."""
    if X.dtype != np.float32 or is_sparse(X):
        return X @ coef
    return np.concatenate([X[rows] @ coef for rows in blocks(len(X), _CHUNK_SIZE)] or [np.empty(0)])


def rows_times(rows: sparse.csr_array, X: Table) -> np.ndarray:
    """Product of a few sparse rows with X, dense."""
    if not is_sparse(X):
        # A sparse product would copy columns that are stored one after the other: few rows are
        # made dense.
        is_small = rows.shape[0] <= 16
        return rows.toarray() @ X if is_small else rows @ X
    from skfair._kernels.scores import sum_outer_products

    # One pass over the samples: a product by rows would read X once per row.
    left, right = ((A.data, A.indices, A.indptr) for A in (sparse.csr_array(rows.T), X))
    return sum_outer_products(left, right, rows.shape[0], X.shape[1])


def weighted_outer_sum(X: Table, weights: np.ndarray) -> np.ndarray:
    """``X.T @ diag(weights) @ X``."""
    if is_sparse(X):
        from skfair._kernels.scores import weighted_gram

        return weighted_gram(X.data, X.indices, X.indptr, weights, X.shape[1])
    # Products of a matrix with itself are symmetric, so that BLAS computes half of them.
    gram = _outer_sum(X, np.sqrt(np.maximum(weights, 0.0)))
    negative = np.flatnonzero(weights < 0)
    if len(negative):
        gram -= _outer_sum(X[negative], np.sqrt(-weights[negative]))
    return gram


def _outer_sum(X: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Product of the transpose of X, its rows times factors, with itself."""
    gram = np.zeros((X.shape[1], X.shape[1]))
    for rows in blocks(len(X), _CHUNK_SIZE):
        scaled = X[rows] * factors[rows, np.newaxis]
        gram += scaled.T.dot(scaled)
    return gram
