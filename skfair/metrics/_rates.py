"""Rates of the groups, all read off one table: weight by group, true class and predicted class."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics._people import check_people


class Cells(NamedTuple):
    """Confusion matrices of the groups.

    Attributes
    ----------
    names : list of length n_groups
        What each group is called.
    weights : ndarray of float64, shape (n_groups, 2, 2)
        ``weights[g, t, p]`` is the weight of the samples of group g whose true class is t and
        whose predicted class is p; 1 is the positive class.
    """

    names: list
    weights: np.ndarray


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

    def __call__(self, weights):
        """Rate of each group, (n_groups, 2, 2) -> (n_groups,); nan where it is of nobody."""
        base = self.base(weights)
        hits = weights.sum(axis=(1, 2), where=self.event & self.given)
        return np.divide(hits, base, out=np.full(len(base), np.nan), where=base > 0)


EVERYBODY = np.ones((2, 2), dtype=bool)
TRUE = np.array([[False, False], [True, True]])
PREDICTED = np.array([[False, True], [False, True]])

RATES = {
    "selection_rate": Rate(PREDICTED, EVERYBODY, "at all"),
    "true_positive_rate": Rate(PREDICTED, TRUE, "of the positive class"),
    "false_positive_rate": Rate(PREDICTED, ~TRUE, "of the negative class"),
    "positive_predictive_value": Rate(TRUE, PREDICTED, "predicted positive"),
    "false_omission_rate": Rate(TRUE, ~PREDICTED, "predicted negative"),
    "accuracy": Rate(TRUE == PREDICTED, EVERYBODY, "at all"),
}


def check_predictions(y_true, y_pred, sensitive_features, sample_weight, pos_label):
    """Check the input of a classification metric.

    Returns
    -------
    people : People
        Groups and weights of the samples that are present.
    outcomes : ndarray of intp, shape (n_samples,)
        Cell of each of them in a flat confusion matrix: 2 (true class) + predicted class.
    """
    people, (y_true, y_pred) = check_people(
        sensitive_features, sample_weight, y_true=y_true, y_pred=y_pred
    )
    positive = positive_class(labels_of(y_true) | labels_of(y_pred), pos_label)
    return people, 2 * (y_true == positive).astype(np.intp) + (y_pred == positive)


def count_cells(people, outcomes):
    """Weight of the samples by group and outcome.

    Parameters
    ----------
    people : People
        Groups and weights.
    outcomes : ndarray of intp, shape (n_samples,)
        As `check_predictions` returns them.

    Returns
    -------
    cells : Cells
        Confusion matrix of each group.
    """
    flat = 4 * people.codes + outcomes[people.rows]
    weights = np.bincount(flat, people.weights[people.rows], minlength=4 * len(people.labels))
    return Cells(people.names, weights.reshape(-1, 2, 2))


def confusions(y_true, y_pred, sensitive_features, sample_weight, pos_label):
    """Check the input of a classification metric and count: `Cells`."""
    return count_cells(
        *check_predictions(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    )


def difference(cells, name):
    """Largest minus smallest rate among the groups where it is known; 0 for one group."""
    if len(cells.names) == 1:
        return 0.0
    rates = _known_rates(cells, name)
    return float(np.ptp(rates)) if len(rates) > 1 else np.nan


def ratio(cells, name):
    """Smallest over largest rate among the groups where it is known; 1 for one group."""
    if len(cells.names) == 1:
        return 1.0
    rates = _known_rates(cells, name)
    if len(rates) < 2:
        return np.nan
    return float(rates.min() / rates.max()) if rates.max() > 0 else 1.0


def _known_rates(cells, name):
    rate = RATES[name]
    rates = rate(cells.weights)
    known = ~np.isnan(rates)
    if not known.all():
        unknown = [repr(cells.names[group]) for group in np.flatnonzero(~known)]
        shown = ", ".join(unknown[:10]) + (", ..." if len(unknown) > 10 else "")
        rest = "The others are compared." if known.sum() > 1 else "That leaves no two to compare."
        warnings.warn(
            f"The {name} is unknown for {len(unknown)} of {len(known)} groups, which have nobody "
            f"{rate.condition}: {shown}. {rest}",
            UndefinedMetricWarning,
            stacklevel=4,  # the caller of the public function
        )
    return rates[known]


def labels_of(y):
    """Set of the distinct labels of a column."""
    return set((y if y.dtype.kind == "O" else np.unique(y)).tolist())


def positive_class(labels, pos_label):
    """The label that means success, among the at most two labels that occur."""
    listed = ", ".join(sorted(map(repr, labels))[:10]) + (", ..." if len(labels) > 10 else "")
    if None in labels:
        raise ValueError(
            "Classes must not hold missing values; leave these samples out of all inputs."
        )
    if len(labels) > 2:
        raise ValueError(
            "There must be at most two classes in all, in the same words everywhere, but "
            f"{len(labels)} labels came: {listed}. Compare one class with all others, as in "
            "y == label; if y_pred holds scores, pass the predicted classes."
        )
    if pos_label is not None:
        if len(labels) == 2 and pos_label not in labels:
            raise ValueError(f"pos_label must be one of the labels {listed}; got {pos_label!r}.")
        return pos_label
    if labels <= {0, 1} or labels <= {-1, 1}:
        return 1
    if len(labels) == 1:
        raise ValueError(
            f"Only the label {listed} occurs, so it cannot be told whether it is the positive "
            "class; pass pos_label."
        )
    return _larger(labels)


def _larger(labels):
    try:
        return max(labels)
    except TypeError as error:
        raise TypeError(
            f"The labels of y_true and y_pred are of different kinds ({error}); write the classes "
            "in the same words in both."
        ) from error
