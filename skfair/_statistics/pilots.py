"""Fits to samples that are drawn from a pilot: what a guarantee leaves of the accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import log_expit, logit
from sklearn.base import BaseEstimator, clone

from skfair._groups import check_groups
from skfair._utils.api import MatrixLike
from skfair._utils.checks import check_column, mute_warnings
from skfair._utils.sklearn import safe_indexing

if TYPE_CHECKING:
    from collections.abc import Callable


_N_AT_ONCE = 20
"""Draws of a size."""

_N_ROUNDS = 15
"""Sizes that are drawn, each the one that the draws before it suggest."""


class DrawnFits(NamedTuple):
    """Fits with a guarantee to samples that were drawn from a pilot.

    Attributes
    ----------
    is_guaranteed : ndarray of bool, shape (n_draws,)
        Whether the tolerance is guaranteed.
    accuracy : ndarray of shape (n_draws,)
        Accuracy on the samples of the pilot that were not drawn.
    accuracy_lost : ndarray of shape (n_draws,)
        By how much the accuracy is below that of the same fit without ``confidence_level``.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._statistics.pilots import DrawnFits
    >>> fits = DrawnFits(np.array([True, False]), np.array([0.8, 0.7]), np.array([0.01, 0.1]))
    >>> float((fits.is_guaranteed & (fits.accuracy_lost <= 0.02)).mean())
    0.5
    """

    is_guaranteed: np.ndarray
    accuracy: np.ndarray
    accuracy_lost: np.ndarray


class FitPilot:
    """Data from which samples are drawn to plan how many a guaranteed fit needs.

    Every draw is fitted twice, with the ``confidence_level`` of the classifier and without, and
    evaluated on the rest of the pilot. So the pilot must be at least twice as large as the sample
    to be planned: data of an earlier year or of another region, or simulated data. The plan is for
    populations like the pilot, whose own gap is uncertain if it is small.

    Read more in the :ref:`guide <sample_size>`.

    Parameters
    ----------
    estimator : classifier
        A classifier with ``confidence_level``; copies of it are fitted.
    X : array-like of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,)
        Labels.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
        Groups that are compared.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of fit and accuracy.

    Attributes
    ----------
    smallest_size, largest_size : int
        Between these sizes a sample is planned: 20 samples can be expected of each class of a
        group, and half of the pilot is left for the evaluation.

    Raises
    ------
    ValueError
        If the classifier has no ``confidence_level``.

    See Also
    --------
    required_sample_size : Plans the size.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.statistics import FitPilot, required_sample_size
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=4000)
    >>> X = rng.normal(size=(4000, 4)) + 0.2 * group[:, np.newaxis]
    >>> y = X.sum(axis=1) + rng.logistic(size=4000) > 0.4
    >>> classifier = ConstrainedERMClassifier(tolerance=0.25, confidence_level=0.95)
    >>> pilot = FitPilot(classifier, X, y, sensitive_features=group)
    >>> fits = pilot.redraw(1000, n_draws=5)
    >>> lost = fits.accuracy_lost.mean()
    >>> print(f"{fits.is_guaranteed.mean():.0%} guaranteed, accuracy lost {lost:.2f}")
    100% guaranteed, accuracy lost 0.00

    A plan fits some 300 samples twice each:

    >>> required_sample_size(pilot=pilot, max_accuracy_loss=0.02, purpose="fit")  # doctest: +SKIP
    724
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        sensitive_features: MatrixLike,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        if getattr(estimator, "confidence_level", None) is None:
            raise ValueError(
                "A pilot plans guaranteed fits; pass a classifier with confidence_level, such as "
                "ConstrainedERMClassifier(confidence_level=0.95)."
            )
        self.estimator = estimator
        self.X = X
        check_column("y", y)
        self.y = np.asarray(y)
        self.metadata = {"sensitive_features": sensitive_features}
        if sample_weight is not None:
            self.metadata["sample_weight"] = np.asarray(sample_weight)
        codes = check_groups(sensitive_features, len(self.y)).codes
        classes = np.unique(self.y, return_inverse=True)[1]
        _, counts = np.unique([codes, classes], axis=1, return_counts=True)
        self.largest_size = len(self.y) // 2
        # The smallest sample is expected to have 20 of the smallest class of a group.
        n_expected = int(np.ceil(20.0 * len(self.y) / counts.min()))
        self.smallest_size = min(self.largest_size, n_expected)

    def redraw(self, n_samples: int, n_draws: int = 100, random_state: int = 0) -> DrawnFits:
        """Fit samples of a size with and without a guarantee, and evaluate them on the others.

        Parameters
        ----------
        n_samples : int
            Samples of a draw, at most half of the pilot.
        n_draws : int, default=100
            Number of draws.
        random_state : int, default=0
            Seed of the draws.

        Returns
        -------
        fits : DrawnFits

        Raises
        ------
        ValueError
            If `n_samples` is more than half of the pilot.
        """
        if not 0 < n_samples <= self.largest_size:
            raise ValueError(
                f"n_samples must be from 1 to {self.largest_size}, half of the pilot, as the rest "
                f"evaluates the fit; got {n_samples}. Pass a larger pilot to plan a larger sample."
            )
        rng = np.random.default_rng(random_state)
        orders = (rng.permutation(len(self.y)) for _ in range(n_draws))
        draws = [self._fit_and_evaluate(*np.split(order, [n_samples])) for order in orders]
        guaranteed, accuracy, plain_accuracy = np.reshape(draws, (n_draws, 3)).T
        return DrawnFits(guaranteed > 0.0, accuracy, plain_accuracy - accuracy)

    def _fit_and_evaluate(self, rows: np.ndarray, rest: np.ndarray) -> tuple[bool, float, float]:
        """Whether a fit of some samples is guaranteed; its accuracy, and that of the plain fit."""
        weights = np.asarray(self.metadata.get("sample_weight", np.ones(len(self.y))))
        metadata = {name: safe_indexing(one, rows) for name, one in self.metadata.items()}
        level = self.estimator.confidence_level
        accuracies = []
        for of_fit in (None, level):
            model = clone(self.estimator).set_params(confidence_level=of_fit)
            with mute_warnings():  # draws without a guarantee are counted
                model.fit(safe_indexing(self.X, rows), self.y[rows], **metadata)
            is_right = model.predict(safe_indexing(self.X, rest)) == self.y[rest]
            accuracies.append(np.average(is_right, weights=weights[rest]))
        # None where two groups or more are not left to be compared.
        is_guaranteed = (model.guarantee_probability_ or 0.0) >= level
        return is_guaranteed, accuracies[1], accuracies[0]


def find_size(
    draw: Callable[[int, int, int], np.ndarray], power: float, smallest: int, largest: int
) -> int:
    """Sample size at which draws succeed with a probability.

    ``draw(n_samples, n_draws, seed)`` tells which of some draws succeed. The log odds of success
    are taken to be linear in the logarithm of the size, near the size that is sought. A ValueError
    is raised if the largest size is too small.
    """
    # Aim at .85 of the accepted failures, as the power is estimated from draws.
    aim = 1.0 - 0.85 * (1.0 - power)
    sizes = np.empty(0)
    hits = np.empty(0, dtype=bool)
    n = float(smallest)
    for _ in range(_N_ROUNDS):
        drawn = draw(round(n), _N_AT_ONCE, len(sizes))
        sizes = np.append(sizes, np.full(_N_AT_ONCE, n))
        hits = np.append(hits, drawn)
        estimate = _estimate_size(sizes, hits, n, aim)
        n = float(np.clip(estimate, smallest, largest))
    if estimate > largest:
        raise ValueError(
            f"Of fits to {sizes[-1]:.0f} samples, at most half of the pilot, {drawn.mean():.2f} "
            f"are guaranteed and lose at most max_accuracy_loss: less than power={power}. "
            "Pass a larger pilot, a larger max_accuracy_loss, or a classifier with a larger "
            "tolerance."
        )
    return int(np.ceil(n))


def _estimate_size(sizes: np.ndarray, hits: np.ndarray, near: float, aim: float) -> float:
    """Size at which draws succeed with the probability `aim`, by logistic regression."""
    # Draws count within a ratio of 2.5 to the estimated size: further away the curve is another
    # one.
    is_near = np.abs(np.log(sizes / near)) <= np.log(2.5)
    x = np.log(sizes[is_near] / near)
    hits = hits[is_near]

    def loss(line: np.ndarray) -> float:
        odds = line[0] + line[1] * x
        # The prior of the slope is 3 with an error of 1.5. Where all draws succeed, or none, the
        # log odds are about 10.
        penalty = ((line[1] - 3.0) / 1.5) ** 2 + (line[0] / 10.0) ** 2
        return penalty / 2.0 - log_expit(np.where(hits, odds, -odds)).sum()

    at_near, slope = minimize(loss, (0.0, 3.0), bounds=[(None, None), (0.5, None)]).x
    step = np.exp((logit(aim) - at_near) / slope)
    return near * np.clip(step, 0.5, 2.0)
