"""Rates of the groups, all read off one table: weight by group, true class and predicted class."""

from typing import NamedTuple

import numpy as np

from skfair.groups import check_columns, merge_duplicate_rows, unique_values
from skfair.metrics._gaps import gap, report_unknown
from skfair.utils._classes import positive_class
from skfair.utils._messages import join_names


class Confusions(NamedTuple):
    """Confusion matrices of the groups.

    Attributes
    ----------
    names : list of length n_groups
        What each group is called.
    weights : ndarray of float64, shape (n_groups, 2, 2)
        ``weights[g, t, p]`` is the weight of the samples of group g whose true class is t and
        whose predicted class is p; 1 is the positive class.
    everybody : ndarray of float64, shape (1, 2, 2)
        The same of everybody, whether in a group or not.
    """

    names: list
    weights: np.ndarray
    everybody: np.ndarray


class Rate(NamedTuple):
    """A conditional probability within a group, Pr(event | given).

    Attributes
    ----------
    event, given : ndarray of bool, shape (2, 2)
        Masks over [true class, predicted class].
    condition : str
        The condition in words, as in "nobody {condition}".
    """

    event: np.ndarray
    given: np.ndarray
    condition: str

    def base(self, weights):
        """Weight that the rate is a mean over, (n_groups, 2, 2) -> (n_groups,)."""
        return weights.sum(axis=(1, 2), where=self.given)

    def hits(self, weights):
        """Weight of the event within that, (n_groups, 2, 2) -> (n_groups,)."""
        return weights.sum(axis=(1, 2), where=self.event & self.given)

    def __call__(self, weights):
        """Rate of each group, (n_groups, 2, 2) -> (n_groups,); nan where it is of nobody."""
        base = self.base(weights)
        return np.divide(self.hits(weights), base, out=np.full(len(base), np.nan), where=base > 0)


EVERYBODY = np.ones((2, 2), dtype=bool)
TRUE = np.array([[False, False], [True, True]])
PREDICTED = np.array([[False, True], [False, True]])

RATES = {
    "base_rate": Rate(TRUE, EVERYBODY, "at all"),
    "selection_rate": Rate(PREDICTED, EVERYBODY, "at all"),
    "true_positive_rate": Rate(PREDICTED, TRUE, "of the positive class"),
    "false_positive_rate": Rate(PREDICTED, ~TRUE, "of the negative class"),
    "positive_predictive_value": Rate(TRUE, PREDICTED, "predicted positive"),
    "false_omission_rate": Rate(TRUE, ~PREDICTED, "predicted negative"),
    "accuracy": Rate(TRUE == PREDICTED, EVERYBODY, "at all"),
    "error_rate": Rate(TRUE != PREDICTED, EVERYBODY, "at all"),
}


def check_predictions(y_true, y_pred, sensitive_features, sample_weight, pos_label):
    """Check the input of a classification metric.

    Returns
    -------
    people : Samples
        Groups and weights of the samples that are present.
    outcomes : ndarray of intp, shape (n_samples,)
        Cell of each of them in a flat confusion matrix: 2 (true class) + predicted class.
    """
    groups, weights, columns = merge_duplicate_rows(
        sensitive_features, sample_weight, y_true=y_true, y_pred=y_pred
    )
    people, (y_true, y_pred) = check_columns(groups, weights, **columns)
    return people, confusion_cells(y_true, y_pred, pos_label)


def confusion_cells(y_true, y_pred, pos_label):
    """Cell of each sample in a flat confusion matrix, 2 (true class) + predicted class."""
    positive = find_positive(y_true, y_pred, pos_label=pos_label)
    return 2 * (y_true == positive).astype(np.intp) + (y_pred == positive)


def count_confusions(people, outcomes):
    """Weight of the samples by group and outcome.

    Parameters
    ----------
    people : Samples
        Groups and weights.
    outcomes : ndarray of intp, shape (n_samples,)
        As `check_predictions` returns them.

    Returns
    -------
    confused : Confusions
        Confusion matrix of each group.
    """
    rows, codes = people.groups.memberships
    flat = 4 * codes + outcomes[rows]
    weights = np.bincount(flat, people.weights[rows], minlength=4 * len(people.groups.labels))
    everybody = np.bincount(outcomes, people.weights, minlength=4).reshape(1, 2, 2)
    return Confusions(people.groups.names, weights.reshape(-1, 2, 2), everybody)


def confusions(y_true, y_pred, sensitive_features, sample_weight, pos_label):
    """Check the input of a classification metric and count: `Confusions`."""
    return count_confusions(
        *check_predictions(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    )


def difference(confused, *names, reference="groups", aggregate="max"):
    """Gap between the groups' rates of these names, as in `gap`; 0 for one group."""
    cells = [(_known_rates(confused, name), RATES[name](confused.everybody)[0]) for name in names]
    return gap(cells, reference, aggregate)


def ratio(confused, name):
    """Smallest over largest rate among the groups where it is known; 1 for one group."""
    if len(confused.names) == 1:
        return 1.0
    rates = _known_rates(confused, name)
    rates = rates[~np.isnan(rates)]
    if len(rates) < 2:
        return np.nan
    return float(rates.min() / rates.max()) if rates.max() > 0 else 1.0


def _known_rates(confused, name):
    """Rates of the groups, with a warning that names those where it is unknown."""
    rate = RATES[name]
    rates = rate(confused.weights)
    known = ~np.isnan(rates)
    if len(rates) > 1:
        what = (
            f"The {name} is unknown for {(~known).sum()} of {len(known)} groups, which have nobody "
            f"{rate.condition}"
        )
        report_unknown(known, confused.names, what)
    return rates


def _labels_of(y):
    """Set of the distinct labels of a column."""
    return set((y if y.dtype.kind == "O" else unique_values(y)).tolist())


def find_positive(*columns, pos_label):
    """The label that means success, among the at most two classes of these columns."""
    labels = set().union(*map(_labels_of, columns))
    if None in labels:
        raise ValueError(
            "Classes must not hold missing values; leave these samples out of all inputs."
        )
    if len(labels) > 2:
        raise ValueError(
            "There must be at most two classes in all, in the same words everywhere, but "
            f"{len(labels)} labels came: {join_names(sorted(map(repr, labels)))}. Compare each "
            "class with the others by skfair.metrics.metric_by_class and class_report, or one of "
            "them as in y == label; if y_pred holds scores, pass the predicted classes."
        )
    if pos_label is None and len({isinstance(label, str) for label in labels}) > 1:
        raise TypeError(
            "The labels of y_true and y_pred are of different kinds "
            f"({join_names(sorted(map(repr, labels)))}); write the classes in the same words in "
            "both."
        )
    return positive_class(labels, pos_label)
