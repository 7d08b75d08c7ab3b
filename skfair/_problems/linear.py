"""Linear scores: shared, with an intercept or a model per group, and of several classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, sparse

from skfair._partitions.partitions import blocks
from skfair._problems.model import (
    LinearPoint,
    check_ranges,
    full_column_mask,
    moments,
    replace_zeros,
    rows_times,
    shift_columns,
    times_vector,
    to_dense_or_csr,
    weighted_outer_sum,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

    from numpy.typing import ArrayLike
    from scipy.sparse import csr_array

    from skfair._utils.api import MatrixLike, RandomState
    from skfair._utils.tables import Table


# Linear scores of standardised columns.


_CONSTANT_DEVIATION = 5e-14
"""Standard deviation, relative to the mean, below which a column is constant up to rounding."""

_MAX_KERNEL_COLUMNS = 64
"""Columns up to which one kernel is faster than products of BLAS."""

_MAX_REFERENCE_SAMPLES = 1 << 13
"""Samples that a reference for curvature is taken from."""


@dataclass(frozen=True, eq=False)
class LinearModel:
    r"""Linear scores, with one parameter for each standardised column.

    Parameters are :math:`(v, b)` with scores :math:`\sum_j v_j (x_{ij} - \mu_j)/\sigma_j + b`:
    first-order methods need columns of one scale. X itself is neither centred nor scaled, so sparse
    columns stay sparse. Without an intercept :math:`\mu = 0` and there is no b.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Features minus their origin, float64; rows in CSR are sorted and without duplicates.
    center : ndarray of shape (n_features,)
        :math:`\mu`, the means of X.
    scale : ndarray of shape (n_features,)
        :math:`\sigma`, positive.
    fit_intercept : bool
        Whether there is an intercept.
    origin : ndarray of shape (n_features,), default=0.0
        Subtracted from the columns: the mean of columns such as time stamps, whose digits would
        otherwise be lost in products; 0 for all others.
    n_unpenalized : int, default=0
        Number of last columns whose coefficients have no penalty.
    original : ndarray or csr_array of shape (n_samples, n_features) or None, default=None
        Features as passed, if an origin was subtracted, for `predict`.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._problems.linear import LinearModel
    >>> X = np.array([[1.0, 10.0], [3.0, 30.0]])
    >>> model = LinearModel.from_features(X, weights=np.ones(2))
    >>> model.scores(model.parameters([1.0, 0.1], 0.0))
    array([2., 6.])
    """

    X: Any
    center: np.ndarray
    scale: np.ndarray
    fit_intercept: bool
    origin: np.ndarray | float = 0.0
    n_unpenalized: int = 0
    original: Any = None

    @cached_property
    def n_parameters(self) -> int:
        """Length of a parameter vector."""
        return len(self.scale) + self.fit_intercept

    def __getstate__(self) -> dict[str, Any]:
        """State for pickles, without what is derived from X."""
        derived = "_X_transposed", "reference_gram"
        return {name: value for name, value in vars(self).items() if name not in derived}

    def __setstate__(self, state: dict[str, np.ndarray | float]) -> None:
        """Restore the state."""
        vars(self).update(
            state, X=_align_memory(state["X"]), original=_align_memory(state["original"])
        )

    @classmethod
    def from_features(
        cls,
        X: MatrixLike,
        weights: np.ndarray,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
    ) -> Self:
        """Make a model whose columns have weighted mean 0 and variance 1.

        Parameters
        ----------
        X : ndarray or sparse array of shape (n_samples, n_features)
            Features; they are not changed.
        weights : ndarray of shape (n_samples,)
            Positive sample weights.
        fit_intercept : bool, default=True
            Whether there is an intercept.
        n_jobs : int or None, default=None
            Threads for the moments of many samples.

        Returns
        -------
        model : LinearModel
        """
        original = X
        X = to_dense_or_csr(X)
        if not sparse.issparse(X) and X.shape[1] <= _MAX_KERNEL_COLUMNS:
            X = np.ascontiguousarray(X)  # kernels are compiled for one layout
        normalized = weights / weights.sum()
        mean, variance = moments(X, normalized, n_jobs, fit_intercept * _CONSTANT_DEVIATION)
        model = cls.from_moments(mean, variance, fit_intercept)
        origin = model.origin
        if np.any(origin):
            origin = np.where(full_column_mask(X), origin, 0.0)
        if not np.any(origin):
            center = mean if fit_intercept else model.center
            return cls(X, center, model.scale, fit_intercept)
        X = shift_columns(X, origin)
        center = X.T @ normalized
        return cls(X, center, model.scale, fit_intercept=True, origin=origin, original=original)

    @classmethod
    def from_moments(
        cls, mean: np.ndarray, variance: np.ndarray, fit_intercept: bool = True
    ) -> Self:
        """Make a model without samples that standardises columns of these moments.

        Parameters
        ----------
        mean, variance : ndarray of shape (n_features,)
            Weighted moments of the columns.
        fit_intercept : bool, default=True
            Whether there is an intercept.

        Returns
        -------
        model : LinearModel
            `replace_features` gives it samples.
        """
        no_samples = np.empty((0, len(mean)))
        second_moment = variance + mean**2
        if not fit_intercept:
            return cls(
                no_samples, np.zeros_like(mean), replace_zeros(np.sqrt(second_moment)), False
            )
        # A column that is constant up to rounding counts as zero, and has the coefficient 0.
        constant = variance <= _CONSTANT_DEVIATION**2 * second_moment
        scale = np.sqrt(np.where(constant, np.inf, variance))
        check_ranges(scale)  # of summed blocks, whose columns are not read again
        # Columns far from 0 are stored without their mean, as products would lose its digits.
        origin = np.where(~constant & (np.abs(mean) > 1e3 * scale), mean, 0.0)
        return cls(no_samples, mean - origin, scale, fit_intercept=True, origin=origin)

    def replace_features(self, X: MatrixLike) -> LinearModel:
        """The same model of other samples.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Features as passed.

        Returns
        -------
        model : LinearModel
        """
        X = _align_memory(X)
        if not np.any(self.origin):
            return replace(self, X=X)
        return replace(self, X=shift_columns(X, self.origin), original=X)

    @property
    def kernel_columns(self) -> tuple[np.ndarray, ...] | None:
        """X, and center and scale of its columns, for kernels; None if it is sparse or wide."""
        X = self.X
        if not isinstance(X, np.ndarray) or X.shape[1] > _MAX_KERNEL_COLUMNS:
            return None
        X = X.view()
        X.flags.writeable = False  # as blocks of files are: kernels are compiled for one type
        return X, self.center, self.scale

    def parameters(self, coef: ArrayLike, intercept: np.ndarray | float) -> np.ndarray:
        """Parameters from coefficients.

        Parameters
        ----------
        coef : array-like of shape (n_features,)
            Coefficients of the columns of X.
        intercept : float
            Intercept of the columns of X.

        Returns
        -------
        parameters : ndarray of shape (n_parameters,)
        """
        coef = np.asarray(coef, dtype=np.float64)
        scaled = coef * np.where(np.isinf(self.scale), 0.0, self.scale)
        if not self.fit_intercept:
            return scaled
        return np.append(scaled, intercept + coef @ (self.origin + self.center))

    def take(self, rows: slice | np.ndarray) -> LinearModel:
        """The same model of a subset of the samples.

        Parameters
        ----------
        rows : ndarray of int, shape (n_taken,)
            Samples, in any order, with repetitions or without.

        Returns
        -------
        model : LinearModel
            Its parameters mean the same: columns are scaled as before.
        """
        X = self.X[rows]
        original = self.original
        original = None if original is None else original[rows]
        if not isinstance(rows, slice) and X.dtype == np.float32:
            X = X.astype(np.float64)  # a copy in any case
        return replace(self, X=X, original=original)

    def coefficients(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray | float]:
        """Coefficients and intercept of the columns of X.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        coef : ndarray of shape (n_features,)
        intercept : float
        """
        coef, intercept = self._stored_coefficients(parameters)
        return coef, float(intercept - coef @ (np.zeros_like(coef) + self.origin))

    def _stored_coefficients(self, parameters: np.ndarray) -> tuple[np.ndarray, float]:
        """Coefficients and intercept of the stored columns, that is minus their origin."""
        coef = parameters[: len(self.scale)] / self.scale
        return coef, parameters[-1] - coef @ self.center if self.fit_intercept else 0.0

    def initial(self, random_state: RandomState = None) -> np.ndarray:
        """Initial parameters: zeros, whose scores are 0.

        Parameters
        ----------
        random_state : int, RandomState instance or None, default=None
            Not used: nothing is drawn.

        Returns
        -------
        parameters : ndarray of shape (n_parameters,)
        """
        return np.zeros(self.n_parameters)

    def evaluate(self, parameters: np.ndarray) -> LinearPoint:
        """The model at parameters; see `Model.evaluate`.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        point : LinearPoint
        """
        return LinearPoint(
            scores=self.scores(parameters),
            push_forward=self.scores,
            pull_back=self.pull_back,
            pull_back_rows=self.pull_back_rows,
            gram=self.gram,
        )

    def last_layer(self, parameters: np.ndarray) -> Self:
        """The model itself, which is linear in its parameters.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        model : LinearModel
        """
        return self

    def constants(self) -> list[np.ndarray]:
        """Parameters of constant decisions.

        Returns
        -------
        parameters : list of ndarray of shape (n_parameters,)
            Of negative and of positive decisions; without an intercept zeros alone.
        """
        up = self.intercept_direction()
        return [np.zeros(self.n_parameters)] if up is None else [-up, up]

    def scores(self, parameters: np.ndarray) -> np.ndarray:
        """Score of each sample.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        coef, intercept = self._stored_coefficients(parameters)
        return times_vector(self.X, coef) + intercept

    def predict(self, parameters: np.ndarray) -> np.ndarray:
        """Score of each sample by `coefficients`, from the columns as passed.

        Columns far from 0 cost digits in products and intercept: at 1e12 standard deviations four
        digits are left. Guarantees on decisions refer to these scores.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        if self.original is None:
            return self.scores(parameters)
        coef, intercept = self.coefficients(parameters)
        return times_vector(self.original, coef) + intercept

    def intercept_direction(self) -> np.ndarray | None:
        """Direction in which all scores rise equally.

        Returns
        -------
        direction : ndarray of shape (n_parameters,) or None
            None if there is no intercept.
        """
        if not self.fit_intercept:
            return None
        return np.append(np.zeros(len(self.scale)), 1.0)

    @cached_property
    def _X_transposed(self) -> np.ndarray | sparse.csc_array:
        return self.X.T  # cached, as its creation costs as much as a sparse product

    @cached_property
    def reference_gram(self) -> np.ndarray:
        """The `rough_gram` of equal weights of some thousand samples, a reference for curvature."""
        rows = np.arange(0, len(self.X), -(-len(self.X) // _MAX_REFERENCE_SAMPLES))
        return self.rough_gram(np.bincount(rows, minlength=len(self.X)) / len(rows))

    def rough_gram(self, weights: np.ndarray) -> np.ndarray:
        """The `gram` of dense columns by products in single precision, for directions of steps.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            Weight of each sample, of any sign.

        Returns
        -------
        gram : ndarray of shape (n_parameters, n_parameters)
        """
        gram = np.zeros((self.n_parameters, self.n_parameters))
        for sign in (1.0, -1.0):
            signed = np.flatnonzero(sign * weights > 0.0)
            for rows in np.array_split(signed, -(-len(signed) // _MAX_REFERENCE_SAMPLES) or 1):
                factors = np.sqrt(np.abs(weights[rows, np.newaxis]))
                columns = np.empty((len(rows), self.n_parameters), dtype=np.float32)
                # Centred before they are rounded, as the mean would take most of the digits: a few
                # rows at a time, in the cache of a processor.
                for block in blocks(len(rows), 256):
                    centered = self.X[rows[block]] - self.center
                    centered /= self.scale
                    columns[block, : len(self.scale)] = centered * factors[block]
                columns[:, len(self.scale) :] = factors
                gram += sign * (columns.T @ columns)
        return gram

    def pull_back(self, slopes: np.ndarray) -> np.ndarray:
        """Gradient by the parameters from one derivative per sample.

        Parameters
        ----------
        slopes : ndarray of shape (n_samples,)
            Derivative by each score.

        Returns
        -------
        gradient : ndarray of shape (n_parameters,)
        """
        total = slopes.sum()
        gradient = (self._X_transposed.dot(slopes) - total * self.center) / self.scale
        return np.append(gradient, total) if self.fit_intercept else gradient

    def pull_back_rows(self, slopes: csr_array) -> np.ndarray:
        """Gradients of several functions at once.

        Parameters
        ----------
        slopes : csr_array of shape (n_rows, n_samples)
            Derivative of each function by each score.

        Returns
        -------
        jacobian : ndarray of shape (n_rows, n_parameters)
        """
        product = rows_times(slopes, self.X)
        totals = slopes.sum(axis=1)
        jacobian = (product - totals[:, np.newaxis] * self.center) / self.scale
        return np.column_stack((jacobian, totals)) if self.fit_intercept else jacobian

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """Sum over the samples of ``weights[i]`` times the outer product of the i-th row.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            Weight of each sample, of any sign.

        Returns
        -------
        gram : ndarray of shape (n_parameters, n_parameters)
            In the standardised columns, the intercept's last.
        """
        X, center = self.X, self.center
        # X is not centred in memory: (X - c)' W (X - c) is expanded.
        raw = weighted_outer_sum(X, weights)
        sums = self._X_transposed.dot(weights)
        total = weights.sum()
        shift = np.outer(center, sums)
        centered = raw - shift - shift.T + total * np.outer(center, center)
        p = len(center)
        gram = np.empty((self.n_parameters, self.n_parameters))
        gram[:p, :p] = centered / np.outer(self.scale, self.scale)
        # The row and the column of an intercept.
        border = (sums - total * center) / self.scale
        gram[p:, :p], gram[:p, p:], gram[p:, p:] = border, border[:, np.newaxis], total
        return gram

    def ridge(self, alpha: float) -> np.ndarray:
        """Second derivative of ``alpha / 2 * sum(coef ** 2)`` by each parameter.

        Parameters
        ----------
        alpha : float
            Strength of the penalty; the intercept and the last `n_unpenalized` columns have none.

        Returns
        -------
        ridge : ndarray of shape (n_parameters,)
        """
        ridge = alpha / self.scale**2
        ridge[len(ridge) - self.n_unpenalized :] = 0.0
        return np.append(ridge, 0.0) if self.fit_intercept else ridge


def has_rough_gram(model: GroupInterceptsModel | GroupwiseModel | LinearModel) -> bool:
    """Whether a model has samples of so many dense columns that a rough Gram matrix pays."""
    if not isinstance(model, LinearModel) or not isinstance(model.X, np.ndarray):
        return False
    # From 200 columns on, Gram matrices take most of the time of a fit.
    return len(model.X) > 0 and model.X.shape[1] >= 200


class LinearBlocks:
    """Base of models whose parameters are those of several `models`, one after the other."""

    models: Sequence[LinearModel]

    def _split(self, parameters: np.ndarray) -> list[np.ndarray]:
        """Parameters of each model."""
        ends = np.cumsum([model.n_parameters for model in self.models])
        return np.split(parameters, ends[:-1])

    def parameters(self, coef: Table, intercept: Table) -> np.ndarray:
        """Parameters from the coefficients and the intercept of each model."""
        triples = zip(self.models, coef, intercept, strict=True)
        return np.concatenate([model.parameters(*values) for model, *values in triples])

    def coefficients(self, parameters: np.ndarray) -> tuple[Any, np.ndarray]:
        """Coefficients of each model, a list, and intercepts, (n_models,)."""
        pairs = zip(self.models, self._split(parameters), strict=True)
        coef, intercept = zip(*(model.coefficients(values) for model, values in pairs), strict=True)
        return list(coef), np.array(intercept)

    def intercept_direction(self) -> np.ndarray | None:
        """Direction in which all scores rise equally, or None without an intercept."""
        directions = [model.intercept_direction() for model in self.models]
        return None if directions[0] is None else np.concatenate(directions)  # type: ignore[arg-type]

    def ridge(self, alpha: float) -> np.ndarray:
        """Second derivative of ``alpha / 2 * sum(coef ** 2)`` by each parameter."""
        return np.concatenate([model.ridge(alpha) for model in self.models])


def _align_memory(X: Table) -> np.ndarray | None:
    """The rows in aligned memory.

    Arrays received over a network may be unaligned, and numpy would sum them in another order.
    """
    return np.require(X, requirements="A") if isinstance(X, np.ndarray) else X


# Linear scores with shared coefficients and one intercept per group.


class GroupInterceptsModel(LinearModel):
    r"""Linear scores with shared coefficients and one intercept per group.

    Scores are :math:`w \cdot x_i + b_{g_i}`: those of a linear model with an indicator column for
    each group but the first, whose coefficient has no penalty. So the choice of the first group
    does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._problems.linear import GroupInterceptsModel
    >>> X, codes = np.array([[0.0], [2.0], [0.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> model = GroupInterceptsModel.from_features(X, codes, weights=np.ones(4))
    >>> model.evaluate(model.parameters([1.0], [0.0, 10.0])).scores
    array([ 0.,  2., 10., 14.])
    """

    @classmethod
    def from_features(  # type: ignore[override]
        cls, X: np.ndarray, codes: np.ndarray, weights: np.ndarray
    ) -> GroupInterceptsModel:
        """Make a model whose columns have weighted mean 0 and variance 1."""
        # Dummy columns for all groups but the first, whose intercept is the common one.
        others = (codes[:, np.newaxis] == np.arange(1, codes.max() + 1)).astype(np.float64)
        stack = sparse.hstack if sparse.issparse(X) else np.hstack
        columns = [X, sparse.csr_array(others) if sparse.issparse(X) else others]
        model = super().from_features(stack(columns), weights)
        original = None if model.original is None else X
        return replace(model, n_unpenalized=others.shape[1], original=original)

    def parameters(self, coef: np.ndarray, intercept: Table) -> np.ndarray:  # type: ignore[override]
        """Parameters from coefficients (n_features,) and intercepts (n_groups,)."""
        first, *others = intercept
        return super().parameters(np.append(coef, np.array(others) - first), first)

    def coefficients(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (n_features,) and intercepts (n_groups,) of the columns of X."""
        coef, first = super().coefficients(parameters)
        coef, others = np.split(coef, [len(coef) - self.n_unpenalized])
        return coef, first + np.append(0.0, others)

    def predict(self, parameters: np.ndarray) -> np.ndarray:
        """Score of each sample by `coefficients`, from the columns as passed."""
        if self.original is None:
            return self.scores(parameters)
        coef, intercepts = self.coefficients(parameters)
        # Codes from the dummies; the first group has none.
        members = self.X[:, len(coef) :]
        codes = (members @ np.arange(1.0, len(intercepts))).astype(np.intp)
        return self.original @ coef + intercepts[codes]


# One linear model per group, combined into one model of all samples.


@dataclass(frozen=True, eq=False)
class GroupwiseModel(LinearBlocks):
    r"""Linear scores with separate coefficients for every group.

    With two groups these are the cross terms :math:`(1, x, g, g x)` of a linear model. Parameters
    of the groups follow one another.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._problems.linear import GroupwiseModel
    >>> X, codes = np.array([[0.0], [2.0], [0.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> model = GroupwiseModel.from_features(X, codes, weights=np.ones(4))
    >>> model.evaluate(model.parameters([[1.0], [-1.0]], [0.0, 10.0])).scores
    array([ 0.,  2., 10.,  6.])
    """

    models: list[LinearModel]  # of each group, on the rows of its members
    rows: list[np.ndarray]  # indices of the members of each group; every sample is in one

    # It is linear in its parameters, as the model of a group is.
    initial, evaluate = LinearModel.initial, LinearModel.evaluate
    last_layer, constants = LinearModel.last_layer, LinearModel.constants

    @classmethod
    def from_features(
        cls, X: np.ndarray, codes: np.ndarray, weights: np.ndarray, fit_intercept: bool = True
    ) -> GroupwiseModel:
        """Make a model whose columns are standardised within each group."""
        rows = [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]
        models = [
            LinearModel.from_features(X[members], weights[members], fit_intercept)
            for members in rows
        ]
        return cls(models, rows)

    @cached_property
    def n_parameters(self) -> int:
        """Length of a parameter vector."""
        return sum(model.n_parameters for model in self.models)

    def _models_and_members(self) -> Iterator[tuple[LinearModel, np.ndarray]]:
        return zip(self.models, self.rows, strict=True)

    def take(self, rows: np.ndarray) -> GroupwiseModel:
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

    def coefficients(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (n_groups, n_features) and intercepts (n_groups,) of the columns of X."""
        coef, intercept = super().coefficients(parameters)
        return np.array(coef), intercept

    def scores(self, parameters: np.ndarray) -> np.ndarray:
        """Score of each sample."""
        return self._score_groups(LinearModel.scores, parameters)

    def predict(self, parameters: np.ndarray) -> np.ndarray:
        """Score of each sample by `coefficients`, from the columns as passed."""
        return self._score_groups(LinearModel.predict, parameters)

    def _score_groups(
        self, score: Callable[[LinearModel, np.ndarray], np.ndarray], parameters: np.ndarray
    ) -> np.ndarray:
        scores = np.empty(sum(map(len, self.rows)))
        for (model, rows), values in zip(
            self._models_and_members(), self._split(parameters), strict=True
        ):
            scores[rows] = score(model, values)
        return scores

    def pull_back(self, slopes: np.ndarray) -> np.ndarray:
        """Gradient by the parameters from one derivative per sample."""
        return np.concatenate(
            [model.pull_back(slopes[rows]) for model, rows in self._models_and_members()]
        )

    def pull_back_rows(self, slopes: sparse.csr_array) -> np.ndarray:
        """Gradients of several functions, from a csr_array (n_rows, n_samples)."""
        return np.hstack(
            [model.pull_back_rows(slopes[:, rows]) for model, rows in self._models_and_members()]
        )

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """Weighted Gram matrix of the rows: one diagonal block per group."""
        return linalg.block_diag(
            *(model.gram(weights[rows]) for model, rows in self._models_and_members())
        )


# Linear models of several classes: the class of the largest score is predicted.


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
    >>> from skfair._problems.linear import ArgmaxModel
    >>> columns = [np.array([[0.0], [2.0]]), np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])]
    >>> model = ArgmaxModel.from_features(columns, weights=np.ones(2))
    >>> parameters = model.parameters(np.ones((3, 1)), np.zeros(3))
    >>> model.evaluate(parameters).scores.reshape(3, 2)
    array([[-1.,  1.],
           [ 1., -2.],
           [-1., -1.]])
    """

    models: list[LinearModel]  # of each class, of the same samples, with intercepts
    design: sparse.csr_array  # (n_classes * n_samples, n_parameters) derivatives of the scores
    rows: np.ndarray  # (n_margins,) margins of this model, as indices of all

    @classmethod
    def from_features(cls, columns: list[np.ndarray], weights: np.ndarray) -> ArgmaxModel:
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
    def n_parameters(self) -> int:
        """Length of a parameter vector."""
        return self.design.shape[1]

    def class_scores(self, parameters: np.ndarray) -> np.ndarray:
        """Score of each sample for each class, (n_samples, n_classes)."""
        return (self.design @ parameters).reshape(len(self.models), -1).T

    def initial(self, random_state: np.random.RandomState | None = None) -> np.ndarray:
        """Initial parameters: the score of a class is its first column."""
        firsts = [np.eye(len(model.scale))[0] for model in self.models]
        return self.parameters(firsts, np.zeros(len(self.models)))

    def evaluate(self, parameters: np.ndarray) -> _ArgmaxPoint:
        """Margins and their derivatives at parameters; see `Model.evaluate`."""
        return _ArgmaxPoint(self, parameters)

    def take(self, rows: np.ndarray) -> ArgmaxModel:
        """The same model of a subset of the margins."""
        return replace(self, rows=self.rows[rows])

    def last_layer(self, parameters: np.ndarray) -> Self:
        """The model itself, which is linear in its parameters."""
        return self

    def lines(self, direction: np.ndarray) -> list[np.ndarray]:
        """Components of a direction that change the scores of one class each.

        Along each of them every decision flips at most once, for or against the class.
        """
        # The class that each parameter belongs to.
        blocks = np.repeat(
            np.arange(len(self.models)), [model.n_parameters for model in self.models]
        )
        return [np.where(blocks == k, direction, 0.0) for k in range(len(self.models))]

    def scores(self, direction: np.ndarray) -> np.ndarray:
        """Change of the scores along a direction, class after class."""
        return self.design @ direction

    def orient_flips(self, scores: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Margins and slopes along a line of one class, zero where a decision flips.

        Samples move between that class and the best of the others, whose margin is minus the
        margin of the class; no other margin changes sign.
        """
        scores, slopes = (
            values.reshape(len(self.models), -1).copy() for values in (scores, slopes)
        )
        # The class whose scores change, and its best rival for each sample, which does not move.
        moving = np.abs(slopes).max(axis=1).argmax()
        indices = np.arange(scores.shape[1])
        others = scores.copy()
        others[moving] = -np.inf
        rival = others.argmax(axis=0)
        # A decision flips where the moving class is level with its rival: opposite margins.
        for values in (scores, slopes):
            values[rival, indices] = -values[moving]
        return scores.ravel(), slopes.ravel()

    def constants(self) -> list[np.ndarray]:
        """Parameters that predict the same class for all samples, one vector per class."""
        nothing = [np.zeros(len(model.scale)) for model in self.models]
        return [self.parameters(nothing, values) for values in np.eye(len(self.models))]


class _ArgmaxPoint:
    """An `ArgmaxModel` at parameters, with the margin of each class over its rival there."""

    def __init__(self, model: ArgmaxModel, parameters: np.ndarray) -> None:
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
    def _slopes(self) -> sparse.csr_array:
        """Derivative of each margin by the parameters, a csr_array."""
        design, rows = self._model.design, self._model.rows
        slopes = sparse.csr_array(design[rows] - design[self._rivals.T.ravel()[rows]])
        slopes.sort_indices()
        return slopes

    def pull_back(self, slopes: np.ndarray) -> np.ndarray:
        """Gradient by the parameters from one derivative per margin."""
        return self._slopes.T @ slopes

    def pull_back_rows(self, slopes: sparse.csr_array) -> np.ndarray:
        """Gradients of several functions at once, from a csr_array (n_rows, n_margins)."""
        return rows_times(slopes, self._slopes)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """Sum of ``weights[i]`` times the outer product of the i-th margin's gradient."""
        return weighted_outer_sum(self._slopes, weights)
