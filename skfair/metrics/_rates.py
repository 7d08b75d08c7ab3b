"""Rates of the groups: from confusion matrices to gaps and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import unique_labels

from skfair.groups import (
    check_columns,
    merge_duplicate_rows,
    merge_duplicate_rows_with_sizes,
    to_pandas_index,
    unique_values,
)
from skfair.inference import Rates, check_level
from skfair.metrics._docstrings import classification_docs
from skfair.utils._api import Label, MatrixLike
from skfair.utils._checks import join_names, positive_class, resolve_name, spelling_hint, warn

if TYPE_CHECKING:
    import pandas as pd


# Aggregate the rates of the groups into one number: the gap between them.


_AGGREGATES = {
    "groups": ("max", "sum"),
    "overall": ("max", "mean", "signed_mean"),
}
"""Aggregates that go with each reference, as in `skfair.constraints.Constraint`."""


def gap(cells, reference="groups", aggregate="max"):
    """Gap within cells, each a pair of the groups' rates (nan: unknown) and the overall rate.

    It is nan if a cell has fewer than two known rates, or with ``reference="overall"`` none.
    """
    if reference not in _AGGREGATES:
        raise ValueError(
            f"reference must be one of {list(_AGGREGATES)}; got {reference!r}."
            + spelling_hint(reference, _AGGREGATES)
        )
    if aggregate not in _AGGREGATES[reference]:
        raise ValueError(
            f"With reference={reference!r}, aggregate must be one of "
            f"{list(_AGGREGATES[reference])}; got {aggregate!r}."
            + spelling_hint(aggregate, _AGGREGATES[reference])
        )
    # Differences within each cell, or excesses over the overall rate in all cells.
    if reference == "groups":
        ranges = [_range(rates) for rates, _ in cells]
        return float(np.sum(ranges) if aggregate == "sum" else np.max(ranges))
    excesses = np.concatenate([rates[~np.isnan(rates)] - overall for rates, overall in cells])
    # No group has a known rate.
    if not len(excesses):
        return float("nan")
    if aggregate == "max":
        return float(excesses.max(initial=0.0))
    return float(np.mean(excesses if aggregate == "signed_mean" else np.maximum(0.0, excesses)))


def _range(rates):
    """Largest minus smallest known rate: 0 for one group, nan if fewer than two are known."""
    known = rates[~np.isnan(rates)]
    if len(rates) == 1:
        return 0.0
    return np.ptp(known) if len(known) > 1 else np.nan


def ratio(rates):
    """Smallest over largest known rate: 1 for one group and where all are 0, else nan for fewer."""
    if len(rates) == 1:
        return 1.0
    known = rates[~np.isnan(rates)]
    if len(known) < 2:
        return np.nan
    return float(known.min() / known.max()) if known.max() > 0 else 1.0


def warn_of_unknown(known, names, message, advice=""):
    """Warn "{message}: {names}" of the groups that are not in the mask of known rates."""
    if known.all():
        return
    unknown = join_names(repr(names[group]) for group in np.flatnonzero(~known))
    consequence = (
        "The others are compared." if known.sum() > 1 else "Fewer than two groups remain: nan."
    )
    warn(f"{message}: {unknown}. {consequence}{advice}", UndefinedMetricWarning)


# Rates of the groups, read off their confusion matrices.


class ConfusionMatrices(NamedTuple):
    """Confusion matrices of the groups, and of all samples, whether in a group or not.

    ``weights[g, t, p]`` is the weight of the samples of group g with true class t and predicted
    class p, of shape (n_groups, 2, 2); 1 is the positive class. `overall` has shape (1, 2, 2).
    """

    names: list
    weights: np.ndarray
    overall: np.ndarray


_OUTCOMES = ("tp", "fp", "fn", "tn")
"""True positives, false positives, false negatives and true negatives: the order of tables."""


@dataclass(frozen=True)
class Rate:
    r"""A quotient of two weighted counts of decisions, of each group.

    .. math:: r_g = \frac{\sum_{i \in g} w_i n(y_i, \hat y_i)}{\sum_{i \in g} w_i d(y_i, \hat y_i)},

    where n and d are tables of four numbers, what a true positive (tp), a false positive (fp), a
    false negative (fn) and a true negative (tn) count. A group whose denominator is 0 has no rate.

    Parameters
    ----------
    name : str
        What reports and messages call it.
    numerator : dict of str to float, or four floats
        By "tp", "fp", "fn" and "tn", of which those left out count 0; or the four in this order.
    denominator : dict of str to float, or four floats, default=(1, 1, 1, 1)
        The same, of non-negative numbers; by default all samples count 1.

    Raises
    ------
    ValueError
        If a table has other keys, not four numbers, infinite ones, or a denominator a negative one.

    Examples
    --------
    >>> from skfair.metrics import Rate
    >>> Rate("cost", {"fp": 1, "fn": 5})
    Rate(name='cost', numerator=(0.0, 1.0, 5.0, 0.0), denominator=(1.0, 1.0, 1.0, 1.0))
    """

    name: str
    numerator: Any
    denominator: Any = (1.0, 1.0, 1.0, 1.0)

    def __post_init__(self):
        for side in ("numerator", "denominator"):
            object.__setattr__(self, side, _check_table(getattr(self, side), side, self.name))
        if min(self.denominator) < 0.0 or max(self.denominator) == 0.0:
            raise ValueError(
                f"The denominator of a rate must count no outcome less than 0, and one more; that "
                f"of {self.name!r} is {self.denominator}."
            )

    def base(self, weights: np.ndarray) -> np.ndarray:
        """Denominator of each group.

        Parameters
        ----------
        weights : ndarray of shape (n_groups, 2, 2)
            Confusion matrices, by true and predicted class.

        Returns
        -------
        base : ndarray of shape (n_groups,)
        """
        return (weights * _as_matrix(self.denominator)).sum(axis=(1, 2))

    def hits(self, weights: np.ndarray) -> np.ndarray:
        """Numerator of each group.

        Parameters
        ----------
        weights : ndarray of shape (n_groups, 2, 2)
            Confusion matrices, by true and predicted class.

        Returns
        -------
        hits : ndarray of shape (n_groups,)
        """
        return (weights * _as_matrix(self.numerator)).sum(axis=(1, 2))

    def __call__(self, weights: np.ndarray) -> np.ndarray:
        """Rate of each group, (n_groups, 2, 2) -> (n_groups,); nan without samples."""
        base = self.base(weights)
        return np.divide(self.hits(weights), base, out=np.full(len(base), np.nan), where=base > 0)

    @property
    def largest(self) -> float:
        """Largest value that the rate can have; infinite if only the numerator counts something."""
        pairs = zip(self.numerator, self.denominator, strict=True)
        return max(n / d if d else (np.inf if n > 0 else -np.inf) for n, d in pairs)

    @property
    def phrase(self) -> str:
        """The samples that the denominator counts, as in "no samples {phrase}"."""
        return _PHRASES.get(self.denominator, f"that count in the denominator of {self.name}")

    def count_outcomes(
        self, is_true: np.ndarray, is_selected: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """What each sample counts in the numerator, and which are in the denominator.

        Parameters
        ----------
        is_true, is_selected : ndarray of bool, shape (n_samples,)
            Members of the positive class, and positive decisions.

        Returns
        -------
        counts : ndarray of shape (n_samples,)
            By the table of the numerator.
        mask : ndarray of bool, shape (n_samples,), or None
            Samples that the denominator counts; None if it counts all.
        """
        outcomes = 2 * is_true.astype(np.intp) + is_selected
        is_counted = _as_matrix(self.denominator).ravel()[outcomes] > 0
        mask = None if min(self.denominator) > 0 else is_counted
        counts = _as_matrix(self.numerator).ravel()
        if {*self.numerator} <= {0.0, 1.0}:
            counts = counts.astype(bool)
        return counts[outcomes], mask


def _check_table(table, side, name):
    """A table as four floats; a ValueError if it is none."""
    is_named = isinstance(table, Mapping)
    if is_named and not set(table) <= set(_OUTCOMES):
        raise ValueError(
            f"The {side} of a rate has the keys {join_names(map(repr, _OUTCOMES))}; that of "
            f"{name!r} has {join_names(map(repr, table))}."
        )
    values = tuple(table.get(key, 0.0) for key in _OUTCOMES) if is_named else table
    try:
        values = tuple(float(value) for value in values)
    except (TypeError, ValueError):
        values = ()
    if len(values) != 4 or not np.isfinite(values).all():
        raise ValueError(
            f"The {side} of a rate must be four finite numbers, for true positives, false "
            f"positives, false negatives and true negatives, or a dict of them; that of {name!r} "
            f"is {table!r}."
        )
    return values


def _as_matrix(table):
    """A table by true and predicted class, (2, 2); 1 is the positive class."""
    true_positive, false_positive, false_negative, true_negative = table
    return np.array([[true_negative, false_positive], [false_negative, true_positive]])


_ALL, _TRUE, _FALSE = (1.0, 1.0, 1.0, 1.0), (1.0, 0.0, 1.0, 0.0), (0.0, 1.0, 0.0, 1.0)
_SELECTED, _REJECTED = (1.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.0)

_PHRASES = {
    _ALL: "at all",
    _TRUE: "of the positive class",
    _FALSE: "of the negative class",
    _SELECTED: "predicted positive",
    _REJECTED: "predicted negative",
}

RATES = {
    rate.name: rate
    for rate in (
        Rate("base_rate", _TRUE),
        Rate("selection_rate", _SELECTED),
        Rate("true_positive_rate", {"tp": 1}, _TRUE),
        Rate("false_positive_rate", {"fp": 1}, _FALSE),
        Rate("true_negative_rate", {"tn": 1}, _FALSE),
        Rate("false_negative_rate", {"fn": 1}, _TRUE),
        Rate("positive_predictive_value", {"tp": 1}, _SELECTED),
        Rate("false_discovery_rate", {"fp": 1}, _SELECTED),
        Rate("negative_predictive_value", {"tn": 1}, _REJECTED),
        Rate("false_omission_rate", {"fn": 1}, _REJECTED),
        Rate("accuracy", {"tp": 1, "tn": 1}),
        Rate("error_rate", {"fp": 1, "fn": 1}),
        Rate("f1_score", {"tp": 2}, {"tp": 2, "fp": 1, "fn": 1}),
        Rate("jaccard_score", {"tp": 1}, {"tp": 1, "fp": 1, "fn": 1}),
        Rate("treatment_equality", {"fn": 1}, {"fp": 1}),
    )
}
"""Rates by name."""

RATE_SYNONYMS = {
    "acceptance_rate": "selection_rate",
    "positive_rate": "selection_rate",
    "recall": "true_positive_rate",
    "recall_score": "true_positive_rate",
    "sensitivity": "true_positive_rate",
    "hit_rate": "true_positive_rate",
    "fall_out": "false_positive_rate",
    "specificity": "true_negative_rate",
    "miss_rate": "false_negative_rate",
    "precision": "positive_predictive_value",
    "precision_score": "positive_predictive_value",
    "accuracy_score": "accuracy",
    "f1": "f1_score",
    "jaccard": "jaccard_score",
    "tpr": "true_positive_rate",
    "fpr": "false_positive_rate",
    "tnr": "true_negative_rate",
    "fnr": "false_negative_rate",
    "ppv": "positive_predictive_value",
    "fdr": "false_discovery_rate",
    "npv": "negative_predictive_value",
}
"""Other names of the rates."""


def find_rate(rate):
    """The rate of a name or a synonym, or the `Rate` passed."""
    known = RATES | {synonym: RATES[name] for synonym, name in RATE_SYNONYMS.items()}
    return resolve_name(known, rate, "rate", Rate)


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


# Report of the rates of every group, with standard errors and confidence intervals.


_COLUMNS = (
    "base_rate",
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "positive_predictive_value",
    "false_omission_rate",
    "accuracy",
)


@classification_docs
def group_report(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    confidence_level: float | None = None,
) -> pd.DataFrame:
    r"""Rates of a binary classifier in every group, with intervals on request.

    With a confidence level the table also has sample sizes, standard errors and intervals. The
    standard error of a rate r over n samples is :math:`\sqrt{r (1 - r) / n}`, and that of the
    difference of two independent rates the root of the sum of their squares. Near 0 and 1, and for
    few samples, it is too small (0 for 2 of 2). The intervals hold there too: they are Wilson's
    ([1]_), or Clopper and Pearson's for up to three successes or failures.

    Weights are sampling weights, as in a survey. A rate r of samples with weights w and outcomes x
    then has the effective sample size

    .. math:: n = \min \Bigl( \frac{(\sum_i w_i)^2}{\sum_i w_i^2},
        \frac{r (1 - r) (\sum_i w_i)^2}{\sum_i w_i^2 (x_i - r)^2} \Bigr) ,

    the smaller of Kish's ([2]_) and that of the linearised variance, and the intervals use
    Student's quantiles with n - 1 degrees of freedom. The unit of the weights does not matter.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight}
        A weight of two does not count as two samples: repeat the rows of samples that occurred
        twice.
    {pos_label}
    confidence_level : float, default=None
        Probability with which an interval contains the rate of the population. None leaves out
        sizes, standard errors and intervals.

    Returns
    -------
    report : pandas.DataFrame of shape (n_groups + 1, 8)
        One row per group, ascending, and a last row "overall". ``n`` is the number of samples with
        a positive weight. The rates are ::

            base_rate                  Pr(truly positive)
            selection_rate             Pr(predicted positive)
            true_positive_rate         Pr(predicted positive | truly positive)
            false_positive_rate        Pr(predicted positive | truly negative)
            positive_predictive_value  Pr(truly positive | predicted positive)
            false_omission_rate        Pr(truly positive | predicted negative)
            accuracy                   Pr(predicted class = true class)

        A rate over no samples is nan. With a confidence level 28 columns follow: for each rate the
        size of the sample that it is a share of, effective if weighted (``_n``), its standard
        error (``_se``), and the ends of its interval (``_low``, ``_high``).

    Raises
    ------
    {ValueError}
        Also if the confidence level is not between 0 and 1.

    Warns
    -----
    UserWarning
        If weights are so uneven that intervals are too short (a design effect above 4).

    See Also
    --------
    skfair.inference.gap_interval : The interval of a difference of such rates.
    demographic_parity_difference : The range of a column of this table.

    References
    ----------
    .. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
       Journal of the American Statistical Association 22, 1927.
    .. [2] L. Kish, "Survey Sampling", Wiley, 1965.

    Examples
    --------
    >>> from skfair.metrics import group_report
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> report = group_report(y_true, y_pred, sensitive_features=group)
    >>> report[["n", "base_rate", "selection_rate", "accuracy"]]
               n  base_rate  selection_rate  accuracy
    a        4.0        0.5            0.75      0.75
    b        4.0        0.5            0.25      0.75
    overall  8.0        0.5            0.50      0.75
    >>> report = group_report(y_true, y_pred, sensitive_features=group, confidence_level=0.95)
    >>> report.filter(regex="true_positive_rate").round(2).T
                                a     b  overall
    true_positive_rate       1.00  0.50     0.75
    true_positive_rate_n     2.00  2.00     4.00
    true_positive_rate_se    0.00  0.35     0.22
    true_positive_rate_low   0.16  0.01     0.19
    true_positive_rate_high  1.00  0.99     0.99
    """
    if confidence_level is not None:
        check_level(confidence_level)
    groups, weights, columns = merge_duplicate_rows_with_sizes(
        sensitive_features, sample_weight, y_true=y_true, y_pred=y_pred
    )
    return report_counted(groups, weights, columns, pos_label, confidence_level)


def report_counted(groups, weights, columns, pos_label, confidence_level):
    """Report of `group_report`, from the output of `merge_duplicate_rows_with_sizes`."""
    import pandas as pd

    samples, (y_true, y_pred, *counts) = check_columns(groups, weights, **columns)
    cells = confusion_cells(y_true, y_pred, pos_label)
    # All known rates at once, then one table per ending of the column names; rates come first.
    n_samples, rates, present = _group_rates(samples, cells, counts)
    report = {"n": n_samples} | dict(zip(_COLUMNS, _fill(present, "", rates.values), strict=True))
    if confidence_level is not None:
        numbers = {
            "_n": rates.sizes,
            "_se": np.sqrt(rates.values * (1.0 - rates.values) / rates.sizes),
        }
        level = (1.0 + check_level(confidence_level)) / 2.0
        numbers["_low"], numbers["_high"] = rates.limits(level)
        tables = {ending: _fill(present, ending, values) for ending, values in numbers.items()}
        for row, name in enumerate(_COLUMNS):
            report |= {name + ending: table[row] for ending, table in tables.items()}
    # One row per group and a last row of all samples.
    labels = samples.groups.labels
    last = ["overall"] + [""] * (labels.shape[1] - 1)
    return pd.DataFrame(report, index=to_pandas_index(np.vstack((labels, last)), groups))


def _group_rates(samples, cells, counts):
    """Number of samples of each row, the known rates, and the mask of these.

    `counts` is empty, or the numbers and the squared weights of samples that were counted before.
    """
    # Only ratios of weights count, and the squares of ratios do not overflow.
    weights = samples.weights / samples.weights.max()
    columns = (np.ones(len(cells)), weights, weights**2)
    if counts:
        columns = (counts[0], samples.weights, counts[1])
    # Sums over samples, weights and squared weights, from which effective sizes follow.
    tables = []
    for column in columns:
        matrices = count_confusions(samples._replace(weights=column), cells)
        tables.append(np.concatenate((matrices.weights, matrices.overall)))
    rates = [RATES[name] for name in _COLUMNS]
    # Sums of samples, weights and squared weights by rate and row, (n_rates, n_rows, 3).
    bases, hits = (
        np.moveaxis([[total(table) for table in tables] for total in totals], 1, -1)
        for totals in zip(*((rate.base, rate.hits) for rate in rates), strict=True)
    )
    # A rate is known where its condition has samples; rounding may leave slightly negative misses.
    present = bases[..., 0] > 0
    misses = np.maximum(bases - hits, 0.0)
    return tables[0].sum(axis=(1, 2)), Rates.from_sums(hits[present], misses[present]), present


def _fill(present, ending, values):
    """Table of all rates from the numbers of the known ones: others are nan, or over 0 samples."""
    table = np.full(present.shape, 0.0 if ending == "_n" else np.nan)
    table[present] = values
    return table


# Report of more than two classes: each class against the rest.


@classification_docs
def class_report(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    confidence_level: float | None = None,
) -> pd.DataFrame:
    """Rates of every class against the rest in every group, with intervals on request.

    Metrics of decisions take one class against the rest as ``metric(y_true == label, y_pred ==
    label, sensitive_features=group)``. The largest value over the classes is the gap that
    :class:`skfair.classification.ConstrainedClassifierCV` keeps below its tolerance.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted class of each sample, of any number of classes.
    {sensitive_features, sample_weight}
    confidence_level : float, default=None
        As in :func:`group_report`.

    Returns
    -------
    report : pandas.DataFrame
        One row per class and group, with the columns of :func:`group_report`: the selection rate is
        the share of the group that is predicted to be of the class.

    Raises
    ------
    ValueError
        If the inputs differ in length or in their pandas index, or hold missing values.

    Examples
    --------
    >>> from skfair.metrics import class_report
    >>> y_true = ["low", "mid", "high", "low", "mid", "high"]
    >>> y_pred = ["low", "mid", "high", "low", "low", "high"]
    >>> group = ["a", "a", "a", "b", "b", "b"]
    >>> report = class_report(y_true, y_pred, sensitive_features=group)
    >>> report.loc["low", ["n", "base_rate", "selection_rate"]].round(2)
               n  base_rate  selection_rate
    a        3.0       0.33            0.33
    b        3.0       0.33            0.67
    overall  6.0       0.33            0.50
    """
    import pandas as pd

    groups, weights, columns = merge_duplicate_rows_with_sizes(
        sensitive_features, sample_weight, y_true=y_true, y_pred=y_pred
    )
    # One report per class, of masks of this class instead of labels.
    labels = columns.pop("y_true"), columns.pop("y_pred")
    reports = {}
    for label, (y_true, y_pred) in _against_rest(*labels):
        counted = {"y_true": y_true, "y_pred": y_pred} | columns
        reports[label] = report_counted(groups, weights, counted, None, confidence_level)
    return pd.concat(reports, names=["class"])


def _against_rest(y_true, y_pred):
    """Yield every class with masks of the samples that are truly, and predicted, of this class."""
    truth, predicted = column_or_1d(np.asarray(y_true)), column_or_1d(np.asarray(y_pred))
    for label in unique_labels(truth, predicted):
        yield label, (_copy_index(y_true, truth == label), _copy_index(y_pred, predicted == label))


def _copy_index(column, values):
    """Values with the pandas index of the column that they were made of, if it has one."""
    import pandas as pd

    return pd.Series(values, index=column.index) if hasattr(column, "iloc") else values
