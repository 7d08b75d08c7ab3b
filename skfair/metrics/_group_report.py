"""Tables of the metrics of every group, with standard errors and confidence intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import unique_labels

from skfair._groups import Groups, check_groups
from skfair._groups.duplicates import merge_duplicate_rows_with_sizes
from skfair._groups.groups import attribute_names
from skfair._groups.known import warn_of_missing_marks
from skfair._groups.samples import (
    check_alignment,
    check_labels,
    check_lengths,
    check_metric_input,
    to_pandas_index,
)
from skfair._statistics.estimates import Rates, check_level
from skfair._utils.api import Label, MatrixLike
from skfair._utils.checks import argument_error, check_in_memory, join_names
from skfair._utils.sklearn import count_samples
from skfair._utils.tables import is_pandas
from skfair.metrics._docstrings import classification_docs
from skfair.metrics._group_metrics import (
    GroupMetric,
    check_columns_of,
    decide_top_k,
    encode_columns,
    find_group_metrics,
    needs_raw_labels,
    read_sets,
)
from skfair.metrics._rates import Rate, count_confusions, find_positive_multiclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skfair._groups import Samples
    from skfair._utils.tables import TableLike


Metrics = (
    Sequence[str | Rate | GroupMetric | Callable]
    | Mapping[str, str | Rate | GroupMetric | Callable]
)
"""What users pass as metrics."""

_DEFAULT_METRICS = (
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
    y_true: ArrayLike | None,
    y_pred: ArrayLike | None,
    *,
    sensitive_features: MatrixLike,
    metrics: Metrics = _DEFAULT_METRICS,
    y_proba: ArrayLike | None = None,
    y_score: ArrayLike | None = None,
    k: float | None = None,
    control_features: MatrixLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    confidence_level: float | None = None,
) -> pd.DataFrame:
    r"""Rates of a classifier in every group, or any other metrics, with intervals on request.

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

    Other metrics have intervals of means (Student's, or Hall's if wider), of areas under curves
    (DeLong's), of the mean of two rates (balanced accuracy: the margins of both, added like
    standard errors), or of the bootstrap within each group, as :class:`GroupMetric` says. The dict
    ``report.attrs["intervals"]`` names the method of each metric, and
    ``report.attrs["confidence_level"]`` is their level.

    Read more in the :ref:`guide <audit_report>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight}
        A weight of two does not count as two samples: repeat the rows of samples that occurred
        twice.
    metrics : list or dict, default=seven rates
        What the table has: names or synonyms of rates, such as "recall", "precision" and
        "f1_score"; "balanced_accuracy", "matthews_corrcoef", "roc_auc", "average_precision",
        "brier_score", "expected_calibration_error", "calibration_intercept",
        "calibration_slope", "mean_error", "mean_absolute_error" and "mean_squared_error"; a
        :class:`Rate`, a :class:`GroupMetric`, or a function, such as
        those of :mod:`sklearn.metrics`. A dict gives them names. Functions of more than two
        classes take the labels, as in ``functools.partial(f1_score, average="macro")``. "coverage"
        and "set_size" are of prediction sets, which ``y_pred`` then holds (:ref:`prediction_sets`).
    y_proba : array-like of shape (n_samples,), default=None
        Probability of the positive class, for metrics of probabilities or scores.
    y_score : array-like of shape (n_samples,), default=None
        Scores of any unit, for metrics of scores; None takes the probabilities.
    k : int or float, default=None
        Number of places, or their share of all samples. Decisions are then positive for the k
        highest scores, and ``y_pred`` must be None. Samples with the score at the cut share the
        places that are left, and ``report.attrs["ties"]`` says how many they are. Intervals of
        selection, true and false positive rates are exact given k, and hold for the places of these
        samples. With control features the places are those of all strata together.
    control_features : array-like of shape (n_samples,) or (n_samples, n_features), default=None
        Stratum of each sample, such as an occupation: the table is made within each of them.
    {pos_label}
        Of more than two classes it is compared with all others.
    confidence_level : float, default=None
        Probability with which an interval contains the rate of the population. None leaves out
        sizes, standard errors and intervals.

    Returns
    -------
    report : pandas.DataFrame of shape (n_groups + 1, n_metrics + 1)
        One row per group, ascending, and a last row "overall". With control features these rows
        are repeated for each stratum, the first level of the index. ``n`` is the number of samples
        with a positive weight. The rates are by default ::

            base_rate                  Pr(truly positive)
            selection_rate             Pr(predicted positive)
            true_positive_rate         Pr(predicted positive | truly positive)
            false_positive_rate        Pr(predicted positive | truly negative)
            positive_predictive_value  Pr(truly positive | predicted positive)
            false_omission_rate        Pr(truly positive | predicted negative)
            accuracy                   Pr(predicted class = true class)

        A rate over no samples is nan. With a confidence level four columns follow for each
        metric: the size of the sample that it is a share of, effective if weighted (``_n``), its
        standard error (``_standard_error``), and the ends of its interval (``_low``, ``_high``).

    Raises
    ------
    {ValueError}
        Also if the confidence level is not between 0 and 1, a metric is unknown or takes what was
        not passed, samples have weights that a function does not take, or ``k`` is no number of
        places and no share.

    Warns
    -----
    UserWarning
        If weights are so uneven that intervals are too short (a design effect above 4).

    See Also
    --------
    skfair.statistics.gap_interval : The interval of a difference of such rates.
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
    true_positive_rate                 1.00  0.50     0.75
    true_positive_rate_n               2.00  2.00     4.00
    true_positive_rate_standard_error  0.00  0.35     0.22
    true_positive_rate_low             0.16  0.01     0.19
    true_positive_rate_high            1.00  0.99     0.99
    """
    passed = {"y_true": y_true, "y_pred": y_pred, "y_proba": y_proba, "y_score": y_score}
    columns: dict[str, Any] = {name: one for name, one in passed.items() if one is not None}
    check_in_memory(**columns)
    by_name = find_group_metrics(metrics)
    columns = read_sets(columns, by_name.values())
    if confidence_level is not None:
        check_level(confidence_level)
    check_top_k(k, columns)
    if control_features is not None:
        check_lengths(**columns)
        strata = check_strata(control_features, next(iter(columns.values())))
        columns["stratum"] = strata.codes
    # Rows with the same values are merged where counts of them suffice.
    groups: TableLike = sensitive_features
    weights: TableLike | None = sample_weight
    if all(map(_is_count_based, by_name.values())) and set(columns) == {"y_true", "y_pred"}:
        groups, weights, columns = merge_duplicate_rows_with_sizes(groups, weights, **columns)
    samples, arrays = check_metric_input(groups, weights, **columns)
    columns = dict(zip(columns, arrays, strict=True))
    codes = columns.pop("stratum", None)
    columns = encode_columns(columns, _positive_class(by_name, columns, pos_label))
    ties = None
    if k is not None:
        columns, by_name, ties = decide_top_k(columns, by_name, samples, k)
    check_columns_of(by_name, columns)
    if codes is None:
        report = _tabulate_metrics(by_name, samples, columns, groups, confidence_level)
    else:
        reports = {}
        for code in np.unique(codes):
            rows = np.flatnonzero(codes == code)
            within = {key: column[rows] for key, column in columns.items()}
            reports[strata.names[code]] = _tabulate_metrics(
                by_name, samples.take(rows), within, groups, confidence_level
            )
        report = pd.concat(reports, names=attribute_names(control_features))
    report.attrs |= {} if ties is None else {"ties": ties}
    return report


def check_top_k(k: float | None, columns: dict[str, TableLike]) -> None:
    """Raise unless there are decisions, or a number of places and scores instead."""
    if k is None and "y_pred" not in columns:
        raise argument_error("y_pred must hold predictions, one per sample, but None was passed.")
    if k is not None and "y_pred" in columns:
        raise argument_error(
            "k makes decisions of scores, so y_pred must be None. Pass the scores as y_score, or "
            "leave k out."
        )


def check_strata(control_features: TableLike, column: TableLike) -> Groups:
    """Groups of the samples by control features, which are aligned with the samples of a column."""
    check_alignment(control_features=control_features, predictions=column)
    strata = check_groups(control_features, count_samples(column), name="control_features")
    warn_of_missing_marks(strata.labels.ravel(), "control_features")
    return strata


def _is_count_based(metric: Any) -> bool:
    """Whether sums over samples of the same outcome suffice for a metric and its interval."""
    return isinstance(metric, Rate) and metric.is_share


def _positive_class(
    by_name: dict[str, Any], columns: dict[str, np.ndarray], pos_label: Label | None
) -> Label | None:
    """The positive class of two; None if metrics take labels of several classes, or numbers."""
    takes_two = any(
        isinstance(one, Rate) or one.response != "decisions" for one in by_name.values()
    )
    labels = [columns[name] for name in ("y_true", "y_pred") if name in columns]
    if not takes_two and needs_raw_labels(labels, pos_label):
        return None
    return find_positive_multiclass(*labels, pos_label=pos_label)


def _tabulate_metrics(
    by_name: dict[str, Any],
    samples: Samples,
    columns: dict[str, np.ndarray],
    sensitive_features: TableLike,
    confidence_level: float | None,
) -> pd.DataFrame:
    """Table of metrics, from columns of `encode_columns` and sums of merged rows, if there are."""
    groups = samples.groups
    weights = samples.weights / samples.weights.max()
    n_samples = np.append(groups.counts, len(weights)).astype(float)
    described = {}
    shares = {name: one for name, one in by_name.items() if _is_count_based(one)}
    if shares:
        tables = _count_outcomes(samples, columns)
        n_samples = tables[..., 0].sum(axis=(1, 2))
        described = _make_share_columns(shares, tables, confidence_level)
    everyone = Groups.single(len(weights), "overall")
    for name in by_name.keys() - shares.keys():
        of_groups, present = by_name[name].estimate(columns, groups, weights)
        of_all, overall = by_name[name].estimate(columns, everyone, weights)
        pairs = [(of_groups, present), (of_all, overall + len(groups.labels))]
        estimated = [pair for pair in pairs if pair[0] is not None]
        described[name] = _make_report_columns(estimated, len(n_samples), confidence_level)
    # The values come first, then the columns of the interval of each.
    report = {"n": n_samples} | {name: described[name].pop("") for name in by_name}
    intervals = {name: described[name].pop("interval", None) for name in by_name}
    for name in by_name:
        report |= {name + ending: numbers for ending, numbers in described[name].items()}
    # One row per group and a last row of all samples.
    labels = groups.labels
    last = ["overall"] + [""] * (labels.shape[1] - 1)
    index = to_pandas_index(np.vstack((labels, last)), sensitive_features)
    table = pd.DataFrame(report, index=index)
    if confidence_level is not None:
        table.attrs |= {"intervals": intervals, "confidence_level": confidence_level}
    return table


def _count_outcomes(samples: Samples, columns: dict[str, np.ndarray]) -> np.ndarray:
    """Number, weight and squared weight by group, true and predicted class, (n_rows, 2, 2, 3).

    The last row is that of all samples. Rows that were merged have their own numbers and squared
    weights.
    """
    decisions = columns["decisions"]
    is_true = columns.get("y_true", np.zeros(len(decisions), dtype=bool))
    cells = 2 * is_true.astype(np.intp) + decisions
    # Only ratios of weights count, and the squares of ratios do not overflow.
    weights = samples.weights / samples.weights.max()
    summands = (np.ones(len(cells)), weights, weights**2)
    if "n_samples" in columns:
        summands = (columns["n_samples"], samples.weights, columns["squared_weight"])
    tables = []
    for summand in summands:
        matrices = count_confusions(samples._replace(weights=summand), cells)
        tables.append(np.concatenate((matrices.weights, matrices.overall)))
    return np.stack(tables, axis=-1)


def _make_share_columns(
    shares: dict[str, Rate], tables: np.ndarray, confidence_level: float | None
) -> dict[str, dict[str, np.ndarray | str]]:
    """Columns as `_make_report_columns` of all shares by name, from one set of estimates."""
    # Sums of the samples that are and are not counted, of each rate and row.
    sums = [rate.sums(tables) for rate in shares.values()]
    hits, misses = (np.concatenate(one) for one in zip(*sums, strict=True))
    known = np.flatnonzero((hits + misses)[:, 1] > 0)
    estimated = [(Rates.from_sums(hits[known], misses[known]), known)] if len(known) else []
    described = _make_report_columns(estimated, len(hits), confidence_level)
    interval = {"interval": described.pop("interval")} if "interval" in described else {}
    split = {ending: np.split(column, len(shares)) for ending, column in described.items()}
    return {
        name: {ending: columns[number] for ending, columns in split.items()} | interval
        for number, name in enumerate(shares)
    }


def _make_report_columns(estimated: list, n_rows: int, confidence_level: float | None) -> dict:
    """Columns of a metric by the endings of their names: values, and sizes and ends of intervals.

    `estimated` are pairs of estimates and of the rows that they are of. ``"interval"`` is how
    limits are computed.
    """
    columns: dict[str, Any] = {"": np.full(n_rows, np.nan)}
    if confidence_level is not None:
        columns |= {"interval": "none", "_n": np.zeros(n_rows)}
        endings = ("_standard_error", "_low", "_high")
        columns |= {ending: np.full(n_rows, np.nan) for ending in endings}
    for estimates, rows in estimated:
        columns[""][rows] = estimates.values
        if confidence_level is not None:
            columns["interval"] = estimates.interval
            columns["_n"][rows] = estimates.sizes
            columns["_standard_error"][rows] = estimates.standard_errors
            limits = estimates.limits((1.0 + confidence_level) / 2.0)
            columns["_low"][rows], columns["_high"][rows] = limits
    return columns


# Report of more than two classes: each class against the rest.


@classification_docs
def class_report(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    metrics: Metrics = _DEFAULT_METRICS,
    sample_weight: ArrayLike | None = None,
    confidence_level: float | None = None,
) -> pd.DataFrame:
    """Rates of every class against the rest in every group, with intervals on request.

    Metrics of decisions take one class against the rest as ``metric(y_true == label, y_pred ==
    label, sensitive_features=group)``. The largest value over the classes is the gap that
    :class:`skfair.classification.ConstrainedClassifierCV` keeps below its tolerance.

    Read more in the :ref:`guide <audit_report>`.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted class of each sample, of any number of classes.
    {sensitive_features}
    metrics : list or dict, default=seven rates
        Rates, as in :func:`group_report`.
    {sample_weight}
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
        If the inputs differ in length or in their pandas index, or hold missing values, or a
        metric is no rate.

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
    by_name = find_group_metrics(metrics)
    if wrong := [name for name, one in by_name.items() if not isinstance(one, Rate)]:
        raise ValueError(
            f"class_report takes rates, but {join_names(wrong)} are none. Pass functions of "
            "several classes to group_report, as in functools.partial(f1_score, average='macro')."
        )
    groups: TableLike = sensitive_features
    weights: TableLike | None = sample_weight
    columns = {"y_true": y_true, "y_pred": y_pred}
    check_columns_of(by_name, columns | {"decisions": y_pred})
    if all(map(_is_count_based, by_name.values())):
        groups, weights, columns = merge_duplicate_rows_with_sizes(groups, weights, **columns)
    # One report per class, of masks of this class instead of labels.
    class_masks = _iter_class_masks(columns.pop("y_true"), columns.pop("y_pred"))
    reports = {}
    for label, (truth, predicted) in class_masks:
        masks: dict[str, Any] = {"y_true": truth, "y_pred": predicted} | columns
        samples, arrays = check_metric_input(groups, weights, **masks)
        encoded = encode_columns(dict(zip(masks, arrays, strict=True)), True)
        reports[label] = _tabulate_metrics(by_name, samples, encoded, groups, confidence_level)
    return pd.concat(reports, names=["class"])


def _iter_class_masks(
    y_true: TableLike, y_pred: TableLike
) -> Iterator[tuple[str | int, tuple[TableLike, TableLike]]]:
    """Yield every class with masks of the samples that are truly, and predicted, of this class."""
    truth = check_labels("y_true", y_true)
    predicted = check_labels("y_pred", y_pred)
    for label in unique_labels(truth, predicted):
        yield label, (_copy_index(y_true, truth == label), _copy_index(y_pred, predicted == label))


def _copy_index(column: TableLike, values: np.ndarray) -> np.ndarray | pd.Series:
    """Values with the pandas index of the column that they were made of, if it has one."""
    return pd.Series(values, index=column.index) if is_pandas(column) else values
