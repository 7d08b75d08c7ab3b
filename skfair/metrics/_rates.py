"""Rates of the groups: from confusion matrices to gaps and estimates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import compress, cycle
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from skfair._groups import Groups
from skfair._groups.duplicates import merge_duplicate_rows
from skfair._groups.groups import unique_values
from skfair._groups.samples import check_metric_input
from skfair._statistics.bounded_means import make_estimates
from skfair._statistics.estimates import Estimates
from skfair._statistics.group_estimates import estimate_means, estimate_quotients
from skfair._utils.api import ComparisonMethod
from skfair._utils.checks import (
    argument_error,
    check_choice,
    check_shared_classes,
    join_names,
    positive_class,
    resolve_name,
    warn,
)
from skfair.losses import ERROR_RATE_TABLE, SELECTION_RATE_TABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from skfair._groups import Samples
    from skfair._utils.api import Label
    from skfair._utils.tables import TableLike


# Compare the rates of the groups: one number, their gap or their ratio.


def gap(
    cells: list[tuple[np.ndarray, float]], method: str = "between_groups", agg: str = "worst_case"
) -> float:
    """Difference within cells, each a pair of the groups' rates (nan: unknown) and the overall one.

    It is nan if a cell has fewer than two known rates, or, where groups are compared with the
    overall rate, none. `agg` is "worst_case", the largest of the cells, or "mean".
    """
    differences = [np.max(np.subtract(*_extremes(*cell, method))) for cell in cells]
    return float(find_aggregate(agg, np.max)(differences))


def ratio(
    cells: list[tuple[np.ndarray, float]],
    method: str = "between_groups",
    agg: str = "worst_case",
    names: str | tuple[str, ...] | list[str] = ("rate",),
) -> float:
    """Smaller over larger rate within cells, as `gap`, of the cells in which one is positive.

    It is nan where no cell has a positive rate: 0 / 0 compares nothing. A warning gives the name of
    the rates, one for all cells or one for each.
    """
    aggregate = find_aggregate(agg, np.min)
    pairs = [_extremes(*cell, method) for cell in cells]
    zero = [bool((higher <= 0).any()) for higher, _ in pairs]
    ratios = [
        np.min(pair[1] / pair[0]) for pair, is_zero in zip(pairs, zero, strict=True) if not is_zero
    ]
    if any(zero):
        named = join_names(dict.fromkeys(compress(cycle(names), zero)))
        consequence = "The others are compared." if ratios else "The ratio is nan."
        warn(
            f"The {named} of every group is 0, and 0 / 0 is undefined. {consequence} Use the "
            "difference, or another threshold or model.",
            UndefinedMetricWarning,
        )
    return float(aggregate(ratios)) if ratios else float("nan")


def _extremes(
    rates: np.ndarray, overall: float, method: str
) -> tuple[np.ndarray, np.ndarray | float] | list[np.ndarray]:
    """Higher and lower of the rates that `method` compares, in pairs."""
    check_choice("method", method, METHODS)
    known = rates[~np.isnan(rates)]
    if method == "between_groups":
        if len(rates) == 1:
            warn(
                "There is one group, so that nothing is compared: the difference is 0, and the "
                "ratio 1. Where the samples are a fold, stratify the folds by group.",
                UndefinedMetricWarning,
            )
            return np.ones(1), np.ones(1)
        is_known = len(known) > 1
        return (known.max(keepdims=True), known.min(keepdims=True)) if is_known else [UNKNOWN] * 2
    if not len(known):
        return UNKNOWN, UNKNOWN
    lower = np.minimum(known, overall) if method == "to_overall" else overall
    return np.maximum(known, overall), lower


METHODS = get_args(ComparisonMethod)
"""Values of `method`: fairlearn's, and the one-sided form of the second."""

UNKNOWN = np.array([np.nan])


def find_aggregate(agg: str, worst: Any) -> Callable:
    """Function that makes one number of several, by fairlearn's name."""
    check_choice("agg", agg, ("worst_case", "mean"))
    return worst if agg == "worst_case" else np.mean


def warn_of_unknown_rates(known: np.ndarray, names: list, message: str, advice: str = "") -> None:
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

    Read more in the :ref:`guide <own_rates>`.

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

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise argument_error(f"name must be the text of a rate's name; got {self.name!r}.")
        for side in ("numerator", "denominator"):
            object.__setattr__(self, side, _check_table(getattr(self, side), side, self.name))
        if min(self.denominator) < 0.0 or max(self.denominator) == 0.0:
            raise ValueError(
                f"The denominator of a rate must count no outcome less than 0, and one more; that "
                f"of {self.name!r} is {self.denominator}."
            )

    @property
    def tables(self) -> np.ndarray:
        """Numerator and denominator by true and predicted class, (2, 2, 2)."""
        return np.array([to_confusion_matrix(one) for one in (self.numerator, self.denominator)])

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
        return (weights * self.tables[1]).sum(axis=(1, 2))

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
        return (weights * self.tables[0]).sum(axis=(1, 2))

    def __call__(self, weights: np.ndarray) -> np.ndarray:
        """Rate of each group, (n_groups, 2, 2) -> (n_groups,); nan without samples."""
        base = self.base(weights)
        return np.divide(self.hits(weights), base, out=np.full(len(base), np.nan), where=base > 0)

    @property
    def response(self) -> str:
        """What the rate takes of a model, as `GroupMetric.response`."""
        return "decisions"

    @property
    def needs_target(self) -> bool:
        """Whether the rate depends on outcomes, and not on decisions alone."""
        return bool(np.any(self.tables[:, 0] != self.tables[:, 1]))

    @property
    def decision(self) -> int | None:
        """The decision, 0 or 1, to which the counted samples are limited; None if both count."""
        is_counted = (self.tables != 0.0).any(axis=(0, 1))
        return None if is_counted.all() else int(is_counted.argmax())

    @property
    def outcome_values(self) -> np.ndarray | None:
        """`counted_values` of the outcomes, (2, 2) by true and predicted class, or None."""
        return counted_values(*self.tables)

    @property
    def known_values(self) -> np.ndarray | None:
        """Values that a sample can have, if the rate is a mean of them; None if it is none."""
        return known_values(*map(np.asarray, (self.numerator, self.denominator)))

    @property
    def is_share(self) -> bool:
        """Whether the rate is a weighted share, of which limits are those of rates."""
        return is_share(self.numerator, self.denominator)

    def sums(self, tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums over the samples that a share counts, and over those that it does not.

        Parameters
        ----------
        tables : ndarray of shape (n_groups, 2, 2, 3)
            Number, weight and squared weight of the samples, by true and predicted class.

        Returns
        -------
        hits, misses : ndarray of shape (n_groups, 3)
            For :meth:`Rates.from_sums`.
        """
        share = to_confusion_matrix(self.denominator) / max(self.denominator)
        factors = np.stack((share > 0, share, share**2), axis=-1)
        is_hit = np.asarray(self.outcome_values == 1.0)[..., np.newaxis]
        counted = tables * factors
        return (counted * is_hit).sum(axis=(1, 2)), (counted * ~is_hit).sum(axis=(1, 2))

    def estimate(
        self,
        columns: Mapping[str, np.ndarray],
        groups: Groups,
        weights: np.ndarray,
        clusters: np.ndarray | None = None,
    ) -> tuple[Estimates | None, np.ndarray]:
        """Estimates of the groups: exact limits of shares, else those of means.

        Parameters
        ----------
        columns : mapping of str to ndarray of bool, shape (n_samples,)
            ``"decisions"``, and ``"y_true"`` if the rate needs it.
        groups : Groups
            Groups of the samples.
        weights : ndarray of shape (n_samples,)
            Positive sample weights.
        clusters : ndarray of int, shape (n_samples,), or None
            Samples of equal code are the same one at several times; None if all differ.

        Returns
        -------
        estimates : Estimates or None
            Estimates of the groups that have a rate; None if no group has one.
        present : ndarray of intp
            Positions of these groups.
        """
        decisions = columns["decisions"]
        is_true = columns["y_true"] if self.needs_target else np.zeros(len(decisions), dtype=bool)
        outcomes = 2 * is_true.astype(np.intp) + decisions
        counts = to_confusion_matrix(self.denominator).ravel()[outcomes]
        values = self.outcome_values
        if values is None:
            numerators = to_confusion_matrix(self.numerator).ravel()[outcomes]
            return estimate_quotients(numerators, counts, groups, weights, clusters)
        mask = None if min(self.denominator) > 0 else counts > 0
        weights = weights * (np.where(counts > 0, counts, 1.0) / max(self.denominator))
        kind = partial(make_estimates, known=self.known_values)
        return estimate_means(values.ravel()[outcomes], mask, groups, weights, clusters, kind)

    @property
    def largest(self) -> float:
        """Largest value that the rate can have; infinite if only the numerator counts something."""
        pairs = zip(self.numerator, self.denominator, strict=True)
        return max(n / d if d else (np.inf if n > 0 else -np.inf) for n, d in pairs)

    @property
    def phrase(self) -> str:
        """The samples that the denominator counts, as in "no samples {phrase}"."""
        return _PHRASES.get(self.denominator, f"that count in the denominator of {self.name}")

    def _count_outcomes(
        self, is_true: np.ndarray, is_selected: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """What each sample counts in the numerator, and which are in the denominator."""
        outcomes = 2 * is_true.astype(np.intp) + is_selected
        is_counted = to_confusion_matrix(self.denominator).ravel()[outcomes] > 0
        mask = None if min(self.denominator) > 0 else is_counted
        counts = to_confusion_matrix(self.numerator).ravel()
        if {*self.numerator} <= {0.0, 1.0}:
            counts = counts.astype(bool)
        return counts[outcomes], mask


def _check_table(
    table: Mapping[str, float] | Iterable[float], side: str, name: str
) -> tuple[float, float, float, float]:
    """A table as four floats; a ValueError if it is none."""
    is_named = isinstance(table, Mapping)
    if is_named and not set(table) <= set(_OUTCOMES):
        raise ValueError(
            f"The {side} of a rate has the keys {join_names(map(repr, _OUTCOMES))}; that of "
            f"{name!r} has {join_names(map(repr, table))}."
        )
    values = (
        tuple(table.get(key, 0.0) for key in _OUTCOMES) if isinstance(table, Mapping) else table
    )
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


def counted_values(
    numerator: np.ndarray | tuple[float, ...], denominator: np.ndarray | tuple[float, ...]
) -> np.ndarray | None:
    """Values of which a quotient is the mean, weighted by its denominator; None if it is no mean.

    Both are what outcomes count, or samples. A quotient is no mean where something counts in the
    numerator alone, as in a ratio of false negatives to false positives.
    """
    numerator = np.asarray(numerator)
    denominator = np.asarray(denominator)
    if numerator[denominator == 0].any():
        return None
    return np.divide(numerator, denominator, out=np.zeros(denominator.shape), where=denominator > 0)


def known_values(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray | None:
    """The distinct values of which a quotient is a mean, from what each outcome counts, or None.

    The rate of a sample can take no other value, whether or not all outcomes occur in the data.
    """
    values = counted_values(numerator, denominator)
    return None if values is None else np.unique(values[np.asarray(denominator) > 0])


def is_share(
    numerator: np.ndarray | tuple[float, ...], denominator: np.ndarray | tuple[float, ...]
) -> bool:
    """Whether a quotient is a share: its numerator counts some of what its denominator counts.

    Given the denominator a share is binomial, if all that is counted has the same weight. The
    arguments are those of `counted_values`.
    """
    values = counted_values(numerator, denominator)
    return values is not None and bool(np.isin(values, (0.0, 1.0)).all())


def to_confusion_matrix(table: tuple[float, ...]) -> np.ndarray:
    """A table by true and predicted class, (2, 2); 1 is the positive class."""
    true_positive, false_positive, false_negative, true_negative = table
    return np.array([[true_negative, false_positive], [false_negative, true_positive]])


_ALL = (1.0, 1.0, 1.0, 1.0)
_POSITIVES = (1.0, 0.0, 1.0, 0.0)
_NEGATIVES = (0.0, 1.0, 0.0, 1.0)
_REJECTED = (0.0, 0.0, 1.0, 1.0)

_PHRASES = {
    _ALL: "at all",
    _POSITIVES: "of the positive class",
    _NEGATIVES: "of the negative class",
    SELECTION_RATE_TABLE: "predicted positive",
    _REJECTED: "predicted negative",
}

RATES = {
    rate.name: rate
    for rate in (
        Rate("base_rate", _POSITIVES),
        Rate("selection_rate", SELECTION_RATE_TABLE),
        Rate("true_positive_rate", {"tp": 1}, _POSITIVES),
        Rate("false_positive_rate", {"fp": 1}, _NEGATIVES),
        Rate("true_negative_rate", {"tn": 1}, _NEGATIVES),
        Rate("false_negative_rate", {"fn": 1}, _POSITIVES),
        Rate("positive_predictive_value", {"tp": 1}, SELECTION_RATE_TABLE),
        Rate("false_discovery_rate", {"fp": 1}, SELECTION_RATE_TABLE),
        Rate("negative_predictive_value", {"tn": 1}, _REJECTED),
        Rate("false_omission_rate", {"fn": 1}, _REJECTED),
        Rate("accuracy", {"tp": 1, "tn": 1}),
        Rate("error_rate", ERROR_RATE_TABLE),
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

RATES_BY_ANY_NAME = RATES | {synonym: RATES[name] for synonym, name in RATE_SYNONYMS.items()}
# Decisions are whether prediction sets have the true value.
RATES_BY_ANY_NAME |= {"coverage": Rate("coverage", SELECTION_RATE_TABLE)}


def refuse_sets_metric(metric: Any) -> None:
    """Raise for a metric of prediction sets where there are none."""
    name = getattr(metric, "name", None)
    if name in ("coverage", "set_size"):
        raise ValueError(
            f"{name} is a metric of prediction sets: y_pred of reports and claims must hold "
            "booleans in a column for each class, or two columns, low and high (claims keep no "
            "sizes), and a scored estimator needs predict_set or predict_interval. Of predicted "
            "labels pass 'accuracy', or 'selection_rate'."
        )


def find_rate(rate: Rate | str) -> Rate:
    """The rate of a name or a synonym, or the `Rate` passed."""
    return resolve_name(RATES_BY_ANY_NAME, rate, "rate", Rate)


def check_predictions(
    y_true: TableLike,
    y_pred: TableLike,
    sensitive_features: TableLike,
    sample_weight: TableLike | None,
    pos_label: Label | None,
) -> tuple[Samples, np.ndarray]:
    """Samples with positive weight of a classification metric, and the cell of each.

    Cells are those of a flat confusion matrix, 2 (true class) + predicted class.
    """
    groups, weights, columns = merge_duplicate_rows(
        sensitive_features, sample_weight, y_true=y_true, y_pred=y_pred
    )
    samples, (y_true, y_pred) = check_metric_input(groups, weights, **columns)
    positive = find_positive(y_true, y_pred, pos_label=pos_label)
    return samples, 2 * (y_true == positive).astype(np.intp) + (y_pred == positive)


def count_confusions(samples: Samples, cells: np.ndarray) -> ConfusionMatrices:
    """Sum the weights of the samples by group and cell: `ConfusionMatrices`."""
    rows, codes = samples.groups.memberships
    # A sample in several groups counts in each of them, and once overall.
    flat = 4 * codes + cells[rows]
    weights = np.bincount(flat, samples.weights[rows], minlength=4 * len(samples.groups.labels))
    overall = np.bincount(cells, samples.weights, minlength=4)
    return ConfusionMatrices(
        samples.groups.names, weights.reshape(-1, 2, 2), overall.reshape(1, 2, 2)
    )


def confusion_matrices(
    y_true: TableLike,
    y_pred: TableLike,
    sensitive_features: TableLike,
    sample_weight: TableLike | None,
    pos_label: Label | None,
) -> ConfusionMatrices:
    """Check the input of a classification metric and count: `ConfusionMatrices`."""
    return count_confusions(
        *check_predictions(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    )


def rate_difference(matrices: ConfusionMatrices, *names: str, **how: Any) -> float:
    """Gap between the groups' rates of these names, as in `gap`; 0 for one group."""
    return gap(_cells(matrices, names), **how)


def rate_ratio(matrices: ConfusionMatrices, *names: str, **how: Any) -> float:
    """Ratio of the groups' rates of these names, as in `ratio`; 1 for one group."""
    return ratio(_cells(matrices, names), names=names, **how)


def _cells(matrices: ConfusionMatrices, names: tuple[str, ...]) -> list[tuple[np.ndarray, float]]:
    """The groups' rates of these names, and those of all samples."""
    return [
        (_rates_with_warning(matrices, name), RATES[name](matrices.overall)[0]) for name in names
    ]


def _rates_with_warning(matrices: ConfusionMatrices, name: str) -> np.ndarray:
    """Rates of the groups, with a warning that names those where it is unknown."""
    rate = RATES[name]
    rates = rate(matrices.weights)
    known = ~np.isnan(rates)
    if len(rates) > 1:
        message = (
            f"The {name} is unknown for {(~known).sum()} of {len(known)} groups, which have no "
            f"samples {rate.phrase}"
        )
        warn_of_unknown_rates(known, matrices.names, message)
    return rates


def _labels_of(y: np.ndarray) -> set[float | str]:
    """Set of the distinct labels of a column."""
    return set((y if y.dtype.kind == "O" else unique_values(y)).tolist())


def find_positive(*columns: np.ndarray, pos_label: Label | None) -> Label:
    """The positive class among the at most two classes of these columns."""
    labels = set().union(*map(_labels_of, columns))
    # Labels of any type, without missing values, at most two.
    if None in labels:  # type: ignore[comparison-overlap]
        raise ValueError(
            "Classes must not hold missing values; leave these samples out of all inputs."
        )
    if len(labels) > 2:
        raise ValueError(
            "y_true and y_pred must have at most two classes in all, with the same labels in both; "
            f"got {len(labels)} labels: {join_names(sorted(map(repr, labels)))}. Compare each "
            "class with the rest by skfair.metrics.class_report, or one of them as in y == label; "
            "reports compare each. If y_pred holds scores, pass the predicted classes."
        )
    if pos_label is None and len({isinstance(label, str) for label in labels}) > 1:
        raise TypeError(
            "The labels of y_true and y_pred must be of one type; got "
            f"{join_names(sorted(map(repr, labels)))}. Use the same labels in both."
        )
    return positive_class(labels, pos_label)


def find_positive_multiclass(*columns: np.ndarray, pos_label: Label | None) -> Label:
    """As `find_positive`; with a `pos_label` also among more classes, of which the rest is one."""
    by_column = dict(zip(("y_true", "y_pred"), map(_labels_of, columns), strict=False))
    labels = set().union(*by_column.values())
    if pos_label is None or len(labels) <= 2:
        return find_positive(*columns, pos_label=pos_label)
    check_shared_classes(by_column, len(columns[0]))
    if pos_label not in labels:
        raise argument_error(
            f"pos_label must be one of the classes {join_names(sorted(map(repr, labels)))}; got "
            f"{pos_label!r}."
        )
    return pos_label
