"""A check of the derivatives of models, also for those of one's own."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from skfair._problems.model import Model
from skfair._utils.api import RandomState

_STEP = 1e-6
"""Length of the finite differences."""


def check_model(model: Model, *, random_state: RandomState = 0) -> None:
    """Check a model's derivatives, subsets and last layer at random parameters.

    Parameters
    ----------
    model : Model
        The model, for instance of a class of one's own, with at least two samples. Its parameters
        are those of ``initial`` and random moves.
    random_state : int, default=0
        Seed of the moves and of the subsets.

    Returns
    -------
    None
        If no check fails.

    Raises
    ------
    ValueError
        If a shape is wrong, a derivative differs from finite differences or from another one of the
        model, a subset has other scores, or the last layer does not give the model's scores.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._problems.mlp import MLPModel
    >>> from tests.problems.check import check_model
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> check_model(MLPModel.from_features(X, np.ones(20), hidden_layer_sizes=(4,)))
    """
    rng = check_random_state(random_state)
    parameters = np.asarray(model.initial(rng), dtype=np.float64)
    _check_close(model, "shape of initial()", parameters.shape, (model.n_parameters,))
    parameters = parameters + 0.1 * rng.normal(size=parameters.shape)
    point = model.evaluate(parameters)
    scores = np.asarray(point.scores)
    _check_close(model, "number of axes of the scores", (scores.ndim,), (1,))
    # Gradient of a weighted sum of scores, against central differences along a random direction.
    direction = rng.normal(size=parameters.shape)
    slopes = rng.normal(size=scores.shape)
    above, below = (
        model.evaluate(parameters + sign * _STEP * direction).scores for sign in (1.0, -1.0)
    )
    expected = slopes @ (above - below) / (2.0 * _STEP)
    _check_close(model, "pull_back(slopes)", point.pull_back(slopes) @ direction, expected, 1e-4)
    # Several functions at once, and what else the point has.
    several = rng.normal(size=(3, len(scores)))
    rows = point.pull_back_rows(sparse.csr_array(several))
    _check_close(
        model, "pull_back_rows(slopes)", rows, np.array([point.pull_back(one) for one in several])
    )
    jacobian = point.pull_back_rows(sparse.eye_array(len(scores), format="csr"))
    weights = rng.random(len(scores))
    if hasattr(point, "gram"):
        gram = (jacobian.T * weights) @ jacobian
        _check_close(model, "gram(weights)", point.gram(weights), gram)
    if hasattr(point, "push_forward"):
        _check_close(model, "push_forward()", point.push_forward(direction), jacobian @ direction)
    # Subsets, penalty and last layer.
    subset = rng.randint(len(scores), size=max(2, len(scores) // 2))
    taken = model.take(subset).evaluate(parameters).scores
    _check_close(model, "take(rows), whose scores", taken, scores[subset])
    ridge = np.asarray(model.ridge(0.5))
    _check_close(model, "shape of ridge(alpha)", ridge.shape, parameters.shape)
    _check_close(model, "ridge(alpha), which grows with alpha,", model.ridge(1.0), 2.0 * ridge)
    last = model.last_layer(parameters)
    of_last = last.evaluate(parameters[len(parameters) - last.n_parameters :]).scores
    _check_close(model, "last_layer(parameters), whose scores", of_last, scores)


def _check_close(model, what, value, expected, tol=1e-6):
    """Raise if a quantity of the model differs from what it must be."""
    value, expected = np.asarray(value), np.asarray(expected)
    name = type(model).__name__
    if value.shape != expected.shape:
        raise ValueError(
            f"{name}: the {what} must have shape {expected.shape}, but it has {value.shape}."
        )
    # Written such that nan fails as well.
    is_close = np.abs(value - expected) <= tol * (1.0 + np.abs(expected).max(initial=0.0))
    if not is_close.all():
        place = tuple(int(i) for i in np.argwhere(~is_close)[0])
        at = f" at {place}" if place else ""
        raise ValueError(
            f"{name}: {what} is {value[place]:.6g}{at}, but it must be {expected[place]:.6g}. "
            "Check the method, and those that it calls."
        )
