"""The base of linear regressors: training and predictions."""

import numpy as np
from sklearn.base import RegressorMixin, clone

from skfair.partitions import is_partitioned, row_by_row
from skfair.training import (
    ConstrainedLinearModel,
    GroupScoreMixin,
    check_real_training,
    fit_collected,
    standardize_target,
)
from skfair.utils._types import MatrixLike


class LinearRegressor(GroupScoreMixin, RegressorMixin, ConstrainedLinearModel):
    """Base of the linear regressors that are trained under constraints."""

    @row_by_row(lambda self: np.empty(0))
    def predict(self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None) -> np.ndarray:
        """Prediction for each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_interactions``, else not used.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
        """
        return self._scores(X, sensitive_features)

    def _train(self, X, y, metadata, constraints, request):
        """Fit to data in memory or partitioned data; ``request`` is as in `check_training`.

        The target is in units of its standard deviation, and so are the thresholds of constraints.
        """
        # Partitioned data are fitted by sums over partitions, or collected if they are few.
        if is_partitioned(X, y, *metadata.values()):
            return fit_collected(self, X, y, metadata, constraints)
        request = request if constraints else None
        training = check_real_training(self, X, y, metadata, request)
        # Penalty and tolerances must not depend on the unit of y: fit it in standard deviations.
        training = standardize_target(training, self.fit_intercept)
        constraints = [_rescale_threshold(constraint, training.unit) for constraint in constraints]
        return self._fit(X, y, training, constraints)


def _rescale_threshold(constraint, unit):
    """The constraint on a target in other units."""
    # Parities of means and ranks have no threshold in the unit of y.
    if not hasattr(constraint, "threshold"):
        return constraint
    # A copy: the parameter of the estimator keeps the unit of y.
    return clone(constraint).set_params(threshold=unit.to_unit(constraint.threshold))
