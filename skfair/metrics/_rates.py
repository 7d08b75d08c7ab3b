"""Rates of the groups, read off their confusion matrices."""

from typing import NamedTuple

import numpy as np

from skfair.groups import check_columns, merge_duplicate_rows, unique_values
from skfair.metrics._gaps import gap, ratio, warn_of_unknown
from skfair.utils._classes import positive_class
from skfair.utils._messages import join_names


class ConfusionMatrices(NamedTuple):
    """Confusion matrices of the groups, and of all samples, whether in a group or not.

    ``weights[g, t, p]`` is the weight of the samples of group g with true class t and predicted
    class p, of shape (n_groups, 2, 2); 1 is the positive class. `overall` has shape (1, 2, 2).
    """

    names: list
    weights: np.ndarray
    overall: np.ndarray


class Rate(NamedTuple):
    """A conditional probability within a group, Pr(event | condition).

    Both are masks over [true class, predicted class], and `phrase` is the condition in words, as in
    "no samples {phrase}".
    """

    event: np.ndarray
    condition: np.ndarray
    phrase: str

    def base(self, weights):
        """Weight of the condition, (n_groups, 2, 2) -> (n_groups,)."""
        return weights.sum(axis=(1, 2), where=self.condition)

    def hits(self, weights):
        """Weight of the event and the condition, (n_groups, 2, 2) -> (n_groups,)."""
        return weights.sum(axis=(1, 2), where=self.event & self.condition)

    def __call__(self, weights):
        """Rate of each group, (n_groups, 2, 2) -> (n_groups,); nan without samples."""
        base = self.base(weights)
        return np.divide(self.hits(weights), base, out=np.full(len(base), np.nan), where=base > 0)


ALL = np.ones((2, 2), dtype=bool)
TRUE = np.array([[False, False], [True, True]])
PREDICTED = np.array([[False, True], [False, True]])

RATES = {
    "base_rate": Rate(TRUE, ALL, "at all"),
    "selection_rate": Rate(PREDICTED, ALL, "at all"),
    "true_positive_rate": Rate(PREDICTED, TRUE, "of the positive class"),
    "false_positive_rate": Rate(PREDICTED, ~TRUE, "of the negative class"),
    "positive_predictive_value": Rate(TRUE, PREDICTED, "predicted positive"),
    "false_omission_rate": Rate(TRUE, ~PREDICTED, "predicted negative"),
    "accuracy": Rate(TRUE == PREDICTED, ALL, "at all"),
    "error_rate": Rate(TRUE != PREDICTED, ALL, "at all"),
}


def check_predictions(y_true, y_pred, sensitive_features, sample_weight, pos_label):
    """Samples with positive weight of a classification metric, and their `confusion_cells`."""
    groups, weights, columns = merge_duplicate_rows(
        sensitive_features, sample_weight, y_true=y_true, y_pred=y_pred
    )
    samples, (y_true, y_pred) = check_columns(groups, weights, **columns)
    return samples, confusion_cells(y_true, y_pred, pos_label)


def confusion_cells(y_true, y_pred, pos_label):
    """Cell of each sample in a flat confusion matrix, 2 (true class) + predicted class."""
    positive = find_positive(y_true, y_pred, pos_label=pos_label)
    return 2 * (y_true == positive).astype(np.intp) + (y_pred == positive)


def count_confusions(samples, cells):
    """Sum the weights of the samples by group and `confusion_cells`: `ConfusionMatrices`."""
    rows, codes = samples.groups.memberships
    # A sample in several groups counts in each of them, and once overall.
    flat = 4 * codes + cells[rows]
    weights = np.bincount(flat, samples.weights[rows], minlength=4 * len(samples.groups.labels))
    overall = np.bincount(cells, samples.weights, minlength=4)
    return ConfusionMatrices(
        samples.groups.names, weights.reshape(-1, 2, 2), overall.reshape(1, 2, 2)
    )


def confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label):
    """Check the input of a classification metric and count: `ConfusionMatrices`."""
    return count_confusions(
        *check_predictions(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    )


def difference(matrices, *names, reference="groups", aggregate="max"):
    """Gap between the groups' rates of these names, as in `gap`; 0 for one group."""
    cells = [(_known_rates(matrices, name), RATES[name](matrices.overall)[0]) for name in names]
    return gap(cells, reference, aggregate)


def smallest_ratio(matrices, *names):
    """Smallest over largest rate of the groups, as in `ratio`; the smallest of several rates."""
    return float(np.min([ratio(_known_rates(matrices, name)) for name in names]))


def _known_rates(matrices, name):
    """Rates of the groups, with a warning that names those where it is unknown."""
    rate = RATES[name]
    rates = rate(matrices.weights)
    known = ~np.isnan(rates)
    if len(rates) > 1:
        message = (
            f"The {name} is unknown for {(~known).sum()} of {len(known)} groups, which have no "
            f"samples {rate.phrase}"
        )
        warn_of_unknown(known, matrices.names, message)
    return rates


def _labels_of(y):
    """Set of the distinct labels of a column."""
    return set((y if y.dtype.kind == "O" else unique_values(y)).tolist())


def find_positive(*columns, pos_label):
    """The positive class among the at most two classes of these columns."""
    labels = set().union(*map(_labels_of, columns))
    # Labels of any type, without missing values, at most two.
    if None in labels:
        raise ValueError(
            "Classes must not hold missing values; leave these samples out of all inputs."
        )
    if len(labels) > 2:
        raise ValueError(
            "y_true and y_pred must have at most two classes in all, with the same labels in both; "
            f"got {len(labels)} labels: {join_names(sorted(map(repr, labels)))}. Compare each "
            "class with the rest by skfair.metrics.class_report, or one of them as in y == label. "
            "If y_pred holds scores, pass the predicted classes."
        )
    if pos_label is None and len({isinstance(label, str) for label in labels}) > 1:
        raise TypeError(
            "The labels of y_true and y_pred must be of one type; got "
            f"{join_names(sorted(map(repr, labels)))}. Use the same labels in both."
        )
    return positive_class(labels, pos_label)
