"""Other methods for fair linear classifiers: functions of the training data of a split."""

import logging
import warnings

import numpy as np
from scipy.linalg import qr
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

REDUCED = ("demographic_parity", "equalized_odds")
"""Constraints of the reductions approach with which others are compared."""


def moment(constraint, tolerance):
    """The constraint of fairlearn's reductions."""
    from fairlearn import reductions

    classes = {
        "demographic_parity": reductions.DemographicParity,
        "equalized_odds": reductions.EqualizedOdds,
    }
    return classes[constraint](difference_bound=tolerance)


def logistic_regression(train):
    """Plain fit; columns must be scaled."""
    return LogisticRegression(C=1e4 / len(train.y), max_iter=1000).fit(train.X, train.y)


def exponentiated_gradient(train, constraint, tolerance):
    """Randomised classifier of the reductions approach, over scikit-learn's LogisticRegression."""
    from fairlearn.reductions import ExponentiatedGradient

    model = ExponentiatedGradient(LogisticRegression(max_iter=1000), moment(constraint, tolerance))
    return model.fit(train.X, train.y, sensitive_features=train.groups)


def covariance_classifier(train, threshold):
    """scikit-lego's DemographicParityClassifier: a bound on the covariance of score and group.

    Its solver fails on collinear one-hot columns, so it gets a maximal independent set of them.
    """
    from sklego.linear_model import DemographicParityClassifier

    X = train.X[:, _independent(train.X)]
    first = (train.groups == np.unique(train.groups)[0]).astype(float)
    X = np.column_stack((X, first))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.getLogger().setLevel(logging.ERROR)  # its warnings go to the root logger
        model = DemographicParityClassifier(
            sensitive_cols=[X.shape[1] - 1],
            covariance_threshold=threshold,
            train_sensitive_cols=False,
        )
        return model.fit(X, train.y).predict(X)


def _independent(X):
    """Columns that are linearly independent of one another and of a constant."""
    _, triangle, pivots = qr(np.column_stack((np.ones(len(X)), X)), mode="economic", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    columns = np.sort(pivots[: np.count_nonzero(sizes > 1e-6 * sizes[0])])
    return columns[columns > 0] - 1


def slsqp(problem, tol):
    """Scipy's SLSQP on the problem that our solvers get."""

    def rows(x):
        values = problem.evaluate(x).values
        return np.concatenate((problem.upper - values, values - problem.lower))

    def jacobian(x):
        rows = problem.evaluate(x).jacobian
        return np.vstack((-rows, rows))

    return minimize(
        lambda x: problem.evaluate(x).fun,
        problem.initial_point(),
        jac=lambda x: problem.evaluate(x).grad,
        constraints={"type": "ineq", "fun": rows, "jac": jacobian},
        method="SLSQP",
        options={"maxiter": 500, "ftol": tol},
    )
