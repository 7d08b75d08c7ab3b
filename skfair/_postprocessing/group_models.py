"""Small classifiers of groups, on the features of an estimator's final step.

A classifier of the group should not overfit, for what it says of the training data must hold for
new data. Few columns get trees of few leaves or logistic regression. Many dense columns, such as
embeddings, get logistic regression of all columns, and another one of the columns that differ most
between the labels, with steps where these show that it is not linear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import has_fit_parameter

from skfair._groups.groups import attribute_columns
from skfair._postprocessing.logistic import as_floats, fit_logistic, fit_standardized_logistic

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn.base import BaseEstimator

    from skfair._postprocessing.logistic import LogisticModel
    from skfair._utils.tables import Table, TableLike


MAX_NARROW_COLUMNS = 64
"""Dense columns up to which trees of all columns cost little."""

_N_PAIRS = 4
"""Squares, and products of columns, that are taken."""


def default_model_names(features: Table) -> list[str]:
    """Kinds of default classifiers that the features allow; `fit_classifier` takes their names."""
    if sparse.issparse(features):
        return ["linear"]
    try:
        assert_all_finite(as_floats(features))
    except (TypeError, ValueError):  # missing values, categories
        return ["boosted"]
    is_narrow = np.shape(features)[1] <= MAX_NARROW_COLUMNS
    return ["boosted", "linear"] if is_narrow else ["dense", "screened"]


def pilot_rows(rows: np.ndarray, n_columns: int) -> np.ndarray:
    """The rows, or a subsample of them by which the kind of a classifier is chosen."""
    # At least 2,000 samples, of about 1.5 million entries.
    size = max(2000, 1_500_000 // n_columns)
    if len(rows) <= size:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, size, replace=False))


def fit_classifier(
    estimator: Any, features: TableLike, target: np.ndarray, weights: np.ndarray
) -> BaseEstimator | LogisticModel:
    """A fitted clone; a constant classifier where the target is constant.

    Strings are names of default classifiers. The fit of these does not depend on the unit of the
    weights; a classifier of the user gets the weights themselves, of which two are two samples.
    """
    if len(np.unique(target)) == 1:
        return DummyClassifier().fit(features, target)
    if isinstance(estimator, str):
        # Penalties are relative to the sum of weights, of which the mean becomes 1.
        weights = weights / weights.max()
        return _FIT[estimator](features, target, weights / weights.mean())
    return _fit_weighted(clone(estimator), features, target, weights)


def _fit_weighted(
    classifier: BaseEstimator, features: TableLike, target: np.ndarray, weights: np.ndarray
) -> BaseEstimator:
    """The classifier, fitted with weights that differ from 1.

    Unit weights are not passed: quantiles of weighted features take scikit-learn's trees longer
    than all the rest.
    """
    has_weights = (weights != 1.0).any() and has_fit_parameter(classifier, "sample_weight")
    return classifier.fit(features, target, **({"sample_weight": weights} if has_weights else {}))


def _fit_boosting(
    features: TableLike, target: np.ndarray, weights: np.ndarray
) -> EncodedClassifier | BaseEstimator:
    """Trees of all columns, of too little capacity to overfit: few, of few leaves."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # takes long to import

    boosting = HistGradientBoostingClassifier(
        learning_rate=0.4,
        max_iter=15,
        max_leaf_nodes=4,
        min_samples_leaf=50,
        early_stopping=False,
        random_state=0,
    )
    frequent = _find_frequent_values(features)
    if not frequent:
        return _fit_weighted(boosting, features, target, weights)
    encoded = EncodedClassifier(boosting, frequent).transform(features)
    return EncodedClassifier(_fit_weighted(boosting, encoded, target, weights), frequent)


# Columns of text, and of categories that are too many for trees.


_MAX_CATEGORIES = 254
"""Frequent values of a column that trees get as categories; all others are one more."""

_RARE = "(rare)"


class EncodedClassifier(NamedTuple):
    """A classifier of columns, of which some become categories: frequent values, and all others.

    ``frequent`` has the frequent values of these columns as text, by the number of the column.
    """

    classifier: Any
    frequent: dict

    @property
    def classes_(self) -> np.ndarray:
        """The labels of the classifier."""
        return self.classifier.classes_

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Probabilities of the labels."""
        return self.classifier.predict_proba(self.transform(X))

    def transform(self, features: pd.DataFrame) -> pd.DataFrame:
        """A table of the columns that the classifier gets; missing values stay missing."""
        table = _make_frame(features)
        for number, values in self.frequent.items():
            text = _to_text(table[number])
            is_unchanged = text.isna() | text.isin(values)
            table[number] = text.where(is_unchanged, _RARE).astype("category")
        return table


def _find_frequent_values(features: TableLike) -> dict[int, list[str]]:
    """Frequent values of the columns that trees cannot read, by the number of the column."""
    if getattr(getattr(features, "dtype", None), "kind", "O") in "biuf":
        return {}
    table = _make_frame(features)
    return {
        number: _frequent_values(column)
        for number, column in table.items()
        if not (pd.api.types.is_numeric_dtype(column.dtype) or _is_narrow_category(column.dtype))
    }


def _is_narrow_category(dtype: object) -> bool:
    return isinstance(dtype, pd.CategoricalDtype) and len(dtype.categories) <= _MAX_CATEGORIES + 1


def _frequent_values(column: pd.Series) -> list[str]:
    """The values of a column that occur most often, as text; ties in the order of the text."""
    counts = _to_text(column).value_counts().sort_index()
    return counts.sort_values(ascending=False, kind="stable").index[:_MAX_CATEGORIES].tolist()


def _to_text(column: pd.Series) -> pd.Series:
    """A column as text, where it is not missing."""
    return column.astype(object).map(str, na_action="ignore")


def _make_frame(features: pd.DataFrame) -> pd.DataFrame:
    """DataFrame of any table or array, by the number of the column."""
    return pd.DataFrame(dict(enumerate(attribute_columns(features)))).infer_objects()


def _fit_scaled_logistic(features: Table, target: np.ndarray, weights: np.ndarray) -> LogisticModel:
    """Logistic regression fitted to features of unit scale, for features as they are."""
    settings: dict[str, Any] = {"penalty": 1.0 / len(target), "max_iter": 1000, "tol": 1e-3}
    if not sparse.issparse(features):
        return fit_standardized_logistic(features, target, weights, **settings)
    scale = np.ravel(abs(features).max(axis=0).todense())
    scale[scale == 0.0] = 1.0
    return fit_logistic(features, target, weights, scale=scale, **settings)


# Many dense columns.


_DENSE_C = 0.1
"""Inverse penalty of logistic regression of many columns of variance 1."""

_LOOSE: dict[str, Any] = {"tol": 1e-2, "max_iter": 50}
"""Settings that end logistic regression early: in directions of little variance nothing is learned,
which regularises it too."""


def _fit_dense_logistic(
    features: TableLike, target: np.ndarray, weights: np.ndarray
) -> LogisticModel:
    """Logistic regression of all columns, in units of their median deviation.

    Larger columns are scaled to it, smaller ones are not: noise would be enlarged.
    """
    features = as_floats(features)
    # A few hundred samples show the scale.
    sampled = _sample(features).astype(float)
    deviation = sampled.std(axis=0)
    center = sampled.mean(axis=0)
    unit = np.median(deviation[deviation > 0]) if deviation.any() else 1.0
    # Scale columns of which one deviates by more than four times the median.
    is_even = (np.maximum(deviation, np.abs(center)) <= 4.0 * unit).all()
    if is_even:  # scaling takes long
        penalty = unit**2 / (_DENSE_C * len(target))
        return fit_logistic(features, target, weights, penalty, **_LOOSE)
    scaling = {"center": center, "scale": np.maximum(deviation, unit)}
    penalty = 1.0 / (_DENSE_C * len(target))
    return fit_logistic(features, target, weights, penalty, **scaling, **_LOOSE)


_QUANTILES = np.arange(1, 6) / 6.0
"""Quantiles of a column at which it has steps."""


class ScreenedClassifier(NamedTuple):
    """Logistic regression of some of many columns, of pairs of columns, and of steps of all these.

    ``pairs`` has shape (2, n_pairs), ``center`` is subtracted from all columns, and ``steps`` has
    the thresholds of all inputs, (n_steps, n_columns + n_pairs).
    """

    classifier: Any
    columns: np.ndarray
    pairs: np.ndarray
    center: np.ndarray
    steps: np.ndarray

    @property
    def classes_(self) -> np.ndarray:
        """The labels of the classifier."""
        return self.classifier.classes_

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of the labels."""
        return self.classifier.predict_proba(self.transform(as_floats(X)))

    def transform(self, features: np.ndarray) -> np.ndarray:
        """The columns that the classifier gets."""
        first, second = (features[:, one] - self.center[one] for one in self.pairs)
        product = first * second
        # Roots of products have no long tails.
        root = np.copysign(np.sqrt(np.abs(product)), product)
        inputs = np.hstack((features[:, self.columns], root))
        return np.hstack((inputs, *(inputs > step for step in self.steps)))


def _fit_screened(features, target, weights):
    """A classifier of the columns, squares and products that differ most between the labels."""
    features = as_floats(features)
    codes = np.unique(target, return_inverse=True)[1]
    members = np.eye(codes.max() + 1)[codes] * (weights / weights.sum())[:, np.newaxis]
    shares = members.sum(axis=0)[:, np.newaxis]
    members = members.astype(features.dtype)
    # Means and mean squares of the labels, (n_labels, n_columns), and of all samples.
    sums, squares = (members.T @ power for power in (features, features * features))
    mean = sums.sum(axis=0, dtype=float)
    mean_square = squares.sum(axis=0, dtype=float)
    variance = mean_square - mean**2
    # A variance far below the mean square is rounding.
    variance[variance <= 1e-6 * mean_square] = np.inf
    by_mean = _measure_association(shares, sums - shares * mean, variance)
    columns = _largest(by_mean, 32)
    # Squares, by the spreads of the labels.
    spreads = squares - mean * (2.0 * sums - shares * mean)
    spreads -= shares * spreads.sum(axis=0)
    squared = _largest(_measure_association(shares, spreads, variance**2), _N_PAIRS)
    pairs = [(number, number) for number in squared]
    # Products of the leading columns with all others.
    products = {}
    for leading in _largest(by_mean, 4):
        factor = features[:, leading, np.newaxis] - features.dtype.type(mean[leading])
        sums = (members * factor).T @ features - (members.T @ factor) * mean
        sums -= shares * sums.sum(axis=0)
        scores = _measure_association(shares, sums, variance[leading] * variance)
        scores[leading] = -1.0
        for partner in _largest(scores, _N_PAIRS):
            products[min(leading, partner), max(leading, partner)] = scores[partner]
    pairs = np.transpose(pairs + sorted(products, key=products.get)[-_N_PAIRS:])
    columns = np.union1d(columns, pairs.ravel())
    no_steps = np.empty((0, len(columns) + pairs.shape[1]))
    linear = ScreenedClassifier(None, columns, pairs, mean.astype(features.dtype), no_steps)
    inputs = linear.transform(features)
    linear = linear._replace(classifier=_fit_loosely(inputs, target, weights))
    # Steps at quantiles, of a few hundred samples, where the residuals depend on them.
    sampled = np.sort(_sample(inputs).T, axis=1)
    steps = sampled[:, (_QUANTILES * sampled.shape[1]).astype(int)].T
    shares = linear.classifier.predict_proba(inputs) * (weights / weights.sum())[:, np.newaxis]
    residuals = len(inputs) * (members - shares)
    is_above = (inputs > steps[len(steps) // 2]).astype(inputs.dtype)
    # The mean statistic of steps at the medians is about 2 where logistic regression is right;
    # steps are worth their time from 7 on. These numbers were chosen on draws of the benchmark
    # wide-data that it does not report.
    if _measure_residual_steps(residuals, is_above) < 7.0:
        return linear
    stepped = linear._replace(steps=steps)
    # Steps are many, so that their penalty is large.
    classifier = _fit_loosely(stepped.transform(features), target, weights, 0.03)
    return stepped._replace(classifier=classifier)


def _fit_loosely(
    inputs: np.ndarray, target: np.ndarray, weights: np.ndarray, C: float = 1.0
) -> LogisticModel:
    """Logistic regression of a few columns of unit scale, for columns as they are."""
    return fit_standardized_logistic(inputs, target, weights, 1.0 / (C * len(target)), **_LOOSE)


def _measure_residual_steps(residuals: np.ndarray, steps: np.ndarray) -> float:
    """Mean score statistic of steps, sums over the labels of squared covariances with residuals."""
    mean = steps.mean(axis=0)
    variance = mean * (1.0 - mean)
    # Steps of nearly no variance are not tested.
    variance[variance < 0.01] = np.inf
    deviations = residuals.T @ steps - residuals.sum(axis=0)[:, np.newaxis] * mean
    squares = (residuals**2).sum(axis=0)[:, np.newaxis]
    return _measure_association(squares, deviations, variance).mean()


def _measure_association(
    shares: np.ndarray, deviations: np.ndarray, variance: np.ndarray
) -> np.ndarray:
    """Variance between the labels over the variance, from deviations of sums, (n_columns,)."""
    return (deviations**2 / shares).sum(axis=0) / variance


def _largest(scores: np.ndarray, number: int) -> np.ndarray:
    """Positions of the largest scores, ascending."""
    return np.sort(np.argsort(-scores, kind="stable")[:number])


def _sample(features: np.ndarray) -> np.ndarray:
    """A few hundred samples."""
    return features[:: max(1, len(features) // 256)]


_FIT: dict[str, Callable] = {
    "boosted": _fit_boosting,
    "linear": _fit_scaled_logistic,
    "dense": _fit_dense_logistic,
    "screened": _fit_screened,
}
"""Fits of default classifiers by name, functions of features, target and weights."""
