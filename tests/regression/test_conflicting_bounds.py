"""Bounds on means that no model keeps end as "infeasible", at the least violation."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from skfair.constraints import MeanErrorParity, MeanParity
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.regression import ConstrainedERMRegressor, ConstrainedRegressorCV

ESTIMATORS = {
    "linear": ConstrainedERMRegressor,
    "any model": lambda bounds: ConstrainedRegressorCV(LinearRegression(), bounds, cv=3),
}


def draw(seed, n=100):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 3)) + 0.5 * group[:, np.newaxis]
    return X, X.sum(axis=1) + group + rng.normal(size=n), group


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_mean_predictions_and_errors_share_the_violation(name, tolerance):
    X, y, group = draw(1)
    difference = y[group == 1].mean() - y[group == 0].mean()
    bounds = [MeanParity(tolerance=tolerance), MeanErrorParity(tolerance=tolerance)]
    with pytest.warns(InfeasibleConstraintWarning, match="Both MeanParity") as log:
        model = ESTIMATORS[name](bounds).fit(X, y, sensitive_features=group)
    assert model.status_ == "infeasible"
    # The gap of predictions plus that of errors is the difference of targets.
    least = difference / 2.0 - tolerance
    assert least <= model.constraint_violation_ * (1.0 + 1e-9)
    assert model.constraint_violation_ <= 1.01 * least
    assert f"{difference:.4g}" in str(log[0].message)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skfair.exceptions.InfeasibleConstraintWarning")
@pytest.mark.parametrize("seed", range(2))
def test_bounds_by_attribute_and_by_side_end_without_an_error_of_linear_algebra(seed):
    X, y, group = draw(seed)
    other = np.random.default_rng(seed + 100).integers(0, 2, len(y))
    sides = [
        MeanErrorParity(reference={0: reference}, direction="below", tolerance=0.05)
        for reference in (0, 1)
    ]
    model = ConstrainedERMRegressor([*sides, MeanParity(tolerance=0.05)])
    assert model.fit(X, y, sensitive_features=group).status_ == "infeasible"
    each = [
        MeanParity(attributes="each", tolerance={"a": 0.05, "b": 0.05}),
        MeanErrorParity(attributes="each", tolerance={"a": 0.05, "b": 0.3}),
    ]
    groups = pd.DataFrame({"a": group, "b": other})
    model = ConstrainedERMRegressor(each).fit(X, y, sensitive_features=groups)
    assert model.status_ == "infeasible"
