"""Metrics: numbers of a group, each with its interval, that reports and scorers take by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    get_scorer,
    get_scorer_names,
    matthews_corrcoef,
    roc_auc_score,
)
from sklearn.utils import check_array
from sklearn.utils.multiclass import type_of_target, unique_labels

from skfair._groups import Groups
from skfair._groups.samples import check_metric_input, cover_truth
from skfair._statistics.calibration_lines import estimate_coefficients, fit_calibration_lines
from skfair._statistics.estimates import Estimates
from skfair._statistics.group_estimates import (
    GroupFunction,
    estimate_areas,
    estimate_averages,
    estimate_by_bootstrap,
    estimate_means,
)
from skfair._utils.api import GroupName, Label
from skfair._utils.checks import (
    argument_error,
    check_choice,
    check_text,
    join_names,
    spelling_hint,
)
from skfair._utils.sklearn import D2_SCORES, ResponseMethod, read_scorer
from skfair.metrics._calibration import (
    check_probabilities,
    check_unit_range,
    expected_calibration_error,
)
from skfair.metrics._rates import (
    RATES,
    RATES_BY_ANY_NAME,
    Rate,
    find_positive,
    gap,
    ratio,
    refuse_sets_metric,
    warn_of_unknown_rates,
)
from skfair.metrics._top_k import TopRate, select_top

if TYPE_CHECKING:
    from skfair._groups import Samples
    from skfair._utils.tables import Table, TableLike


RESPONSES = {
    "sizes": "y_pred",
    "decisions": "y_pred",
    "scores": "y_score",
    "probabilities": "y_proba",
}
"""What a metric takes of a model -> the argument that holds it."""

RESPONSES_BY_METHOD = {
    "predict": "decisions",
    "decision_function": "scores",
    "predict_proba": "probabilities",
}
"""Response methods of scikit-learn -> keys of `RESPONSES`."""


@dataclass(frozen=True)
class GroupMetric:
    """A number of each group, computed by any function of true and predicted values.

    Reports and scorers take functions too. This class gives a function another name, and says which
    output of a model it takes. The function is called with the samples of one group at a time. Its
    intervals are bias-corrected bootstrap intervals within each group. Those of differences combine
    the intervals of two groups, as for rates.

    The value is nan where the function divides by zero, and where one of scikit-learn needs a class
    that has no samples, as :func:`~sklearn.metrics.average_precision_score` does.
    ``zero_division=nan`` is passed to functions of scikit-learn that have this parameter. Functions
    that call these pass it themselves, or return nan where they are undefined.

    Bootstrap intervals of combinations of rates near 0 or 1, such as Youden's index or the
    geometric mean of two rates, hold less often than stated in groups of some dozens of samples: a
    rate of 1 has no spread in resamples. Registered names, such as "balanced_accuracy", have
    intervals that are made of exact or Wilson's limits of the rates.

    Read more in the :ref:`guide <audit_metrics>`.

    Parameters
    ----------
    metric : callable
        Called as ``metric(y_true, response)``, and with ``sample_weight=`` where samples have
        weights. It returns one number. Of two classes ``y_true`` and decisions are 0 and 1, and 1
        is the positive class. Of more classes they are the labels.
    name : str, default=None
        What reports and messages call it; None takes the name of the function.
    response_method : {"predict", "decision_function", "predict_proba"}, default=None
        What the function takes: predicted classes or values, scores of any unit, or probabilities
        of the positive class. None takes what scikit-learn's scorer of the function takes; of other
        functions scores or probabilities if the second argument is called ``y_score`` or
        ``y_proba``, and otherwise predicted classes or values.

    Raises
    ------
    TypeError
        If the function cannot be called, or has no name and none is passed.
    ValueError
        If there is no such response method.

    See Also
    --------
    Rate : A quotient of two counts of decisions, with intervals from their distribution.

    Examples
    --------
    >>> from sklearn.metrics import fbeta_score
    >>> from functools import partial
    >>> from skfair.metrics import GroupMetric, group_report
    >>> f2_score = GroupMetric(partial(fbeta_score, beta=2), name="f2_score")
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group_report(
    ...     y_true, y_pred, sensitive_features=[*"aaaabbbb"], metrics=[f2_score]
    ... ).round(3)
               n  f2_score
    a        4.0     0.909
    b        4.0     0.556
    overall  8.0     0.750
    """

    metric: Callable
    name: Any = None
    response_method: ResponseMethod | None = None

    def __post_init__(self) -> None:
        if not callable(self.metric):
            raise TypeError(
                "The metric of a GroupMetric must be callable, as metric(y_true, y_pred); got "
                f"{self.metric!r}."
            )
        if self.response_method is None:
            object.__setattr__(self, "response_method", find_response_method(self.metric))
        check_choice("response_method", self.response_method, RESPONSES_BY_METHOD)
        if self.name is not None:
            check_text("name", self.name)
            return
        function = self.metric.func if isinstance(self.metric, partial) else self.metric
        name = getattr(function, "__name__", "<lambda>")
        if name == "<lambda>":
            raise TypeError(
                "A function without a name needs one as a metric, as in GroupMetric(function, "
                "name='my metric')."
            )
        object.__setattr__(self, "name", name)

    @property
    def response(self) -> str:
        """What the metric takes of a model, a key of `RESPONSES`."""
        return RESPONSES_BY_METHOD[self.response_method or "predict"]

    @property
    def needs_target(self) -> bool:
        """Whether the metric compares predictions with outcomes."""
        return True

    def estimate(
        self, columns: Mapping[str, np.ndarray], groups: Groups, weights: np.ndarray
    ) -> tuple[Estimates | None, np.ndarray]:
        """Estimates of the groups.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (n_samples,)
            ``"y_true"`` and the responses. Of two classes, classes are booleans.
        groups : Groups
            Groups of the samples.
        weights : ndarray of shape (n_samples,)
            Positive sample weights.

        Returns
        -------
        estimates : Estimates or None
            Estimates of the groups that have a value; None if no group has one.
        present : ndarray of intp
            Positions of these groups.
        """
        if groups.multiplicity is not None:
            raise ValueError(
                f"{self.name} is a function of single samples, whose bootstrap draws them, but "
                "these are counts of samples. Pass the samples one by one, or leave it out."
            )
        takes_weights = _takes_weights(self.metric)
        if not takes_weights and np.ptp(weights):
            raise ValueError(
                f"Samples have weights, but {self.name} takes none. Pass a function with a "
                "parameter sample_weight, or leave sample_weight out."
            )
        arguments = [_booleans_to_integers(columns[one]) for one in ("y_true", self.response)]
        function = GroupFunction(self._evaluate, arguments, weights, takes_weights=takes_weights)
        return estimate_by_bootstrap(function, groups)

    def _evaluate(self, columns: list[np.ndarray], weights: np.ndarray | None) -> float:
        """Value of the function as a float; nan where it is undefined."""
        if _lacks_class(self.metric, *columns):
            return np.nan
        params: dict[str, Any] = {} if weights is None else {"sample_weight": weights}
        if _warns_of_division(self.metric):
            params["zero_division"] = np.nan
        if self.response == "probabilities" and _takes_all_labels(self.metric):
            params["labels"] = [0, 1]
        errors = []
        with np.errstate(all="call", call=lambda *error: errors.append(error)):
            try:
                value = self.metric(*columns, **params)
            except ZeroDivisionError:
                return np.nan
        if np.ndim(value) or np.asarray(value).dtype.kind not in "biuf":
            raise TypeError(
                f"A metric must return one number of a group, but {self.name} returned "
                f"{value!r}. Functions of scikit-learn with an average return one with "
                f"functools.partial({self.name}, average='macro')."
            )
        # Where Python raises a ZeroDivisionError, numpy gives an infinity.
        return np.nan if np.isinf(value) and errors else float(value)


def _lacks_class(function: Callable, y_true: np.ndarray, response: np.ndarray) -> bool:
    """Whether a function of scikit-learn is undefined, because a class has no samples.

    scikit-learn returns a number, and says in a warning alone that it means nothing.
    """
    function = function.func if isinstance(function, partial) else function
    if function in D2_SCORES:
        return len(np.unique(y_true)) < 2
    if function is average_precision_score:
        return not y_true.any()
    if function is roc_auc_score:
        return len(np.unique(y_true)) < 2
    if function is matthews_corrcoef:
        return min(len(np.unique(y_true)), len(np.unique(response))) < 2
    if function is balanced_accuracy_score:
        classes = np.unique(y_true)
        return len(classes) < 2 or not np.isin(response, classes).all()
    return False


def find_response_method(function: Callable) -> ResponseMethod:
    """What a function takes of a model, by scikit-learn's scorers or its second argument."""
    function = function.func if isinstance(function, partial) else function
    names = [*_list_parameters(function)]
    by_name = _METHODS_BY_ARGUMENT.get(names[1]) if len(names) > 1 else None
    return by_name or _list_methods_of_scorers().get(function, "predict")


_METHODS_BY_ARGUMENT: dict[str, ResponseMethod] = {
    "y_score": "decision_function",
    "pred_decision": "decision_function",
    "y_proba": "predict_proba",
    "y_prob": "predict_proba",
}
"""Names of second arguments of functions of scikit-learn that are no predicted classes."""


@cache
def _list_methods_of_scorers() -> dict[Callable, ResponseMethod]:
    """Response method of each function that scikit-learn has a scorer of, or had none of once."""
    scorers = [read_scorer(get_scorer(name)) for name in get_scorer_names()]
    methods = {one.function: one.response_method for one in scorers if one is not None}
    return methods | dict.fromkeys(D2_SCORES, "predict_proba")  # scorers from version 1.8 on


def _list_parameters(function: Callable) -> Mapping[str, inspect.Parameter]:
    """Parameters of a function by name; none of builtin functions without a signature."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _takes_all_labels(function: Callable) -> bool:
    """Whether a function of scikit-learn must be passed both classes, of which a group has one."""
    module = getattr(getattr(function, "func", function), "__module__", None) or ""
    parameter = _list_parameters(function).get("labels")
    return module.startswith("sklearn.") and parameter is not None and parameter.default is None


def _warns_of_division(function: Callable) -> bool:
    """Whether a function of scikit-learn warns where it divides by zero, as it does by default."""
    parameter = _list_parameters(function).get("zero_division")
    return parameter is not None and parameter.default == "warn"


def _takes_weights(function: Callable) -> bool:
    """Whether a function has the parameter sample_weight."""
    parameters = _list_parameters(function).values()
    return any(one.name == "sample_weight" or one.kind is one.VAR_KEYWORD for one in parameters)


def _booleans_to_integers(column: np.ndarray) -> np.ndarray:
    """Booleans as 0 and 1; other columns unchanged."""
    return column.astype(np.int64) if column.dtype == bool else column


@dataclass(frozen=True)
class MeanMetric(GroupMetric):
    """A mean over the samples of a group, of what the function returns for each sample.

    Intervals are those of means. The function is called once, as ``function(y_true, response)``, on
    all samples; ``needs_target=False`` passes None as ``y_true`` where there is no target.
    """

    needs_target: bool = True

    def estimate(  # type: ignore[override]
        self,
        columns: dict[str, np.ndarray],
        groups: Groups,
        weights: np.ndarray,
        clusters: np.ndarray | None = None,
    ) -> tuple[Estimates | None, np.ndarray]:
        """As `GroupMetric.estimate`; samples of equal code in `clusters` depend on one another."""
        values = self.metric(columns.get("y_true"), columns[self.response])
        return estimate_means(values, None, groups, weights, clusters)


class _SetSize(MeanMetric):
    """The mean number of classes of prediction sets, or length of intervals."""

    response = "sizes"


@dataclass(frozen=True)
class _AreaUnderCurve(GroupMetric):
    """The area under the ROC curve, with DeLong's limits."""

    def estimate(
        self, columns: Mapping[str, np.ndarray], groups: Groups, weights: np.ndarray
    ) -> tuple[Estimates | None, np.ndarray]:
        """As `GroupMetric.estimate`."""
        return estimate_areas(columns["y_true"].astype(bool), columns["scores"], groups, weights)


@dataclass(frozen=True)
class _BalancedAccuracy(GroupMetric):
    """The mean of the recalls of all classes, with limits made of theirs; nan without a class."""

    def estimate(
        self, columns: Mapping[str, np.ndarray], groups: Groups, weights: np.ndarray
    ) -> tuple[Estimates | None, np.ndarray]:
        """As `GroupMetric.estimate`."""
        truth = columns["y_true"]
        is_right = truth == columns["decisions"]
        classes = (False, True) if truth.dtype == bool else np.unique(truth)
        recalls = [estimate_means(is_right, truth == one, groups, weights) for one in classes]
        return estimate_averages(recalls)


@dataclass(frozen=True)
class _CalibrationCoefficient(GroupMetric):
    """The intercept (0) or the slope (1) of Cox's calibration line of each group."""

    coefficient: int = 0

    def estimate(  # type: ignore[override]
        self,
        columns: dict[str, np.ndarray],
        groups: Groups,
        weights: np.ndarray,
        clusters: np.ndarray | None = None,
    ) -> tuple[Estimates | None, np.ndarray]:
        """As `MeanMetric.estimate`."""
        is_true, probabilities = check_probabilities(columns["y_true"], columns["probabilities"])
        lines = self.metric(groups, weights, is_true == 1.0, probabilities, clusters)
        return estimate_coefficients(lines, self.coefficient)


# Metrics by name.


def _matthews_corrcoef(
    y_true: np.ndarray, y_pred: np.ndarray, *, sample_weight: np.ndarray | None = None
) -> float:
    """Correlation of true and predicted class; nan if one of them is constant."""
    counts = np.bincount(2 * y_true.astype(np.intp) + y_pred, sample_weight, minlength=4)
    # Floats of Python, which raise if divided by 0.
    tn, fp, fn, tp = counts.astype(float).tolist()
    # Roots before products, so that large weights do not overflow.
    scale = np.sqrt(tp + fp) * np.sqrt(tp + fn) * np.sqrt(tn + fp) * np.sqrt(tn + fn)
    return (tp * tn - fp * fn) / scale


def _squared_errors(y_true: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Squared difference of each sample."""
    return (np.asarray(response, dtype=float) - y_true) ** 2


def _errors(y_true: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Prediction minus truth of each sample."""
    return np.asarray(response, dtype=float) - y_true


def _absolute_errors(y_true: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Distance of prediction and truth of each sample."""
    return np.abs(_errors(y_true, response))


def _sizes(y_true: np.ndarray | None, response: np.ndarray) -> np.ndarray:
    """Size of each prediction set."""
    return np.asarray(response, dtype=float)


GROUP_METRICS = {
    metric.name: metric
    for metric in (
        _BalancedAccuracy(estimate_averages, "balanced_accuracy"),
        GroupMetric(_matthews_corrcoef, "matthews_corrcoef"),
        _AreaUnderCurve(estimate_areas, "roc_auc", "decision_function"),
        GroupMetric(average_precision_score, "average_precision", "decision_function"),
        MeanMetric(_squared_errors, "brier_score", "predict_proba"),
        GroupMetric(expected_calibration_error, "expected_calibration_error", "predict_proba"),
        _CalibrationCoefficient(
            fit_calibration_lines, "calibration_intercept", "predict_proba", coefficient=0
        ),
        _CalibrationCoefficient(
            fit_calibration_lines, "calibration_slope", "predict_proba", coefficient=1
        ),
        MeanMetric(_errors, "mean_error"),
        MeanMetric(_absolute_errors, "mean_absolute_error"),
        MeanMetric(_squared_errors, "mean_squared_error"),
        _SetSize(_sizes, "set_size", needs_target=False),
    )
}
"""Metrics that are no rates, by name."""

_SYNONYMS = {
    "balanced_accuracy_score": "balanced_accuracy",
    "mcc": "matthews_corrcoef",
    "roc_auc_score": "roc_auc",
    "auc": "roc_auc",
    "average_precision_score": "average_precision",
    "brier_score_loss": "brier_score",
    "ece": "expected_calibration_error",
}


def get_metric_names() -> list[str]:
    """List the names of metrics of one group, which reports and scorers take.

    Read more in the :ref:`guide <audit_metrics>`.

    Returns
    -------
    names : list of str
        Sorted names, without synonyms such as "recall".

    See Also
    --------
    group_report : The metrics of every group.
    get_scorer_names : Names of metrics that compare groups.

    Examples
    --------
    >>> from skfair.metrics import get_metric_names
    >>> get_metric_names()[:3]
    ['accuracy', 'average_precision', 'balanced_accuracy']
    """
    return sorted({*RATES, *GROUP_METRICS, "coverage"})


def find_group_metric(metric: Rate | GroupMetric | str | Callable) -> Rate | GroupMetric:
    """The metric of a name, a synonym or a function, or the metric passed."""
    known = RATES_BY_ANY_NAME | GROUP_METRICS
    known |= {synonym: GROUP_METRICS[name] for synonym, name in _SYNONYMS.items()}
    if isinstance(metric, Rate | GroupMetric):
        return metric
    if (scorer := read_scorer(metric)) is not None:
        return GroupMetric(scorer.function, response_method=scorer.response_method)
    if callable(metric):
        return GroupMetric(metric)
    if not isinstance(metric, str) or metric not in known:
        raise ValueError(
            f"A metric must be one of {sorted(known)}, a Rate, a function of y_true and y_pred or "
            "a GroupMetric(function, response_method=...) of scores or probabilities; got "
            f"{metric!r}." + spelling_hint(str(metric), known)
        )
    return known[metric]


def _rename(metric: Rate | GroupMetric | str | Callable, name: str) -> Rate | GroupMetric:
    """A metric under another name, also of a function without one."""
    if callable(metric) and not isinstance(metric, Rate | GroupMetric):
        scorer = read_scorer(metric)
        return (
            GroupMetric(metric, name)
            if scorer is None
            else GroupMetric(scorer.function, name, scorer.response_method)
        )
    return replace(find_group_metric(metric), name=name)


def find_group_metrics(metrics: Any) -> dict[str, Any]:
    """Metrics by the names under which they were requested; a mapping gives them names."""
    if isinstance(metrics, Mapping):
        return {str(name): _rename(one, str(name)) for name, one in metrics.items()}
    if isinstance(metrics, str | Rate | GroupMetric) or callable(metrics):
        metrics = [metrics]
    if not isinstance(metrics, Iterable):
        raise argument_error(f"metrics must be a list or a dict of metrics; got {metrics!r}.")
    by_name = {}
    for one in metrics:
        metric = find_group_metric(one)
        name = one if isinstance(one, str) else metric.name
        if name in by_name:
            raise ValueError(
                f"Metrics must have different names, but two are called {name!r}. Pass a dict of "
                "names to metrics."
            )
        by_name[name] = metric
    if not by_name:
        raise ValueError("metrics must hold at least one metric, such as 'selection_rate'.")
    return by_name


def encode_columns(columns: dict[str, np.ndarray], positive: Label | None) -> dict[str, np.ndarray]:
    """Columns as metrics take them: ``"y_true"`` and the responses, from those that users pass.

    Classes become booleans, whether they are the positive class; None leaves them as they are.
    """
    names = {name: response for response, name in RESPONSES.items()}
    encoded = {names.get(name, name): column for name, column in columns.items()}
    if positive is not None:
        is_class = {"y_true", "decisions"} & set(encoded)
        encoded |= {name: encoded[name] == positive for name in is_class}
    if "probabilities" in encoded:
        probabilities = check_unit_range(to_numbers(encoded["probabilities"], "y_proba"))
        encoded = {"scores": probabilities} | encoded | {"probabilities": probabilities}
    if "y_score" in columns:
        encoded["scores"] = to_numbers(columns["y_score"], "y_score")
    return encoded


def read_sets(columns: dict[str, TableLike], metrics: Iterable | list) -> dict[str, TableLike]:
    """The columns of `cover_truth`; raise for labels where a metric takes sets."""
    columns = cover_truth(columns, metrics)
    refuse_labels_as_sets(metrics, columns)
    return columns


def refuse_labels_as_sets(metrics: Iterable, columns: Mapping[str, TableLike]) -> None:
    """Raise for a metric of prediction sets unless these have become decisions, without truth."""
    for metric in metrics:
        if "y_true" in columns or (metric.response == "sizes" and "sizes" not in columns):
            refuse_sets_metric(metric)


def decide_top_k(
    columns: dict[str, np.ndarray],
    metrics: dict[str, GroupMetric | Rate],
    samples: Samples,
    k: float,
) -> tuple:
    """Columns with decisions for the k highest scores, metrics of them, and the ties as text."""
    if "scores" not in columns:
        raise argument_error("k selects the highest scores, so pass them as y_score= or y_proba=.")
    selection = select_top(columns["scores"], samples, k)
    of_decisions = [
        name
        for name, one in metrics.items()
        if not isinstance(one, Rate) and one.response == "decisions"
    ]
    if selection.n_tied and of_decisions:
        raise ValueError(
            f"{selection.describe_ties()}, but {join_names(of_decisions)} takes whole decisions. "
            "Pass rates, another k, or scores without ties."
        )
    decisions = selection.decisions if selection.n_tied else selection.decisions > 0.5
    top = {name: TopRate(one) if isinstance(one, Rate) else one for name, one in metrics.items()}
    return columns | {"decisions": decisions}, top, selection.describe_ties()


def to_numbers(column: np.ndarray, name: str) -> np.ndarray:
    """A column as finite float64 numbers; `name` is what users call it."""
    try:
        return check_array(column, ensure_2d=False, dtype=float, input_name=name)
    except ValueError as error:
        if np.asarray(column).dtype.kind in "biuf":
            raise
        raise ValueError(
            f"{name} must be numbers, as for a regression or a score, but holds "
            f"{np.ravel(column).tolist()[0]!r}; pass numbers, or a classifier and its classes."
        ) from error


def check_columns_of(
    metrics: dict[str, Any], columns: Mapping[str, TableLike], probabilities: str = "y_proba"
) -> None:
    """Raise for a metric that takes a column which was not passed, or sets that are labels.

    `probabilities` is the argument that holds these.
    """
    refuse_labels_as_sets(metrics.values(), columns)
    arguments = RESPONSES | {"probabilities": probabilities}
    for name, metric in metrics.items():
        if metric.response not in columns:
            raise ValueError(
                f"{name} takes {metric.response}, but {arguments[metric.response]} was not "
                f"passed. Pass {arguments[metric.response]}, or leave {name} out."
            )
        if metric.needs_target and "y_true" not in columns:
            raise ValueError(
                f"{name} compares predictions with outcomes, so y_true is needed. Pass y_true, or "
                f"leave {name} out."
            )


# Comparisons of groups as one number, for scorers.


@dataclass(frozen=True)
class GroupComparison:
    """One number of the values of a metric in all groups, called as the metrics are.

    `transform` is a key of `COMPARISONS`, or None for the value of one `group`. Groups without a
    value are named in a warning, and the others are compared.
    """

    metric: Any
    transform: str | None
    group: GroupName | None = None
    k: float | None = None

    def __call__(
        self,
        y_true: Table,
        response: np.ndarray,
        *,
        sensitive_features: Table,
        sample_weight: np.ndarray | None = None,
        pos_label: Label | None = None,
    ) -> float:
        """The number, from outcomes and what the metric takes of a model."""
        name = "y_score" if self.k is not None else RESPONSES[self.metric.response]
        columns: dict[str, Any] = read_sets({"y_true": y_true, name: response}, [self.metric])
        samples, arrays = check_metric_input(sensitive_features, sample_weight, **columns)
        columns = dict(zip(columns, arrays, strict=True))
        columns = encode_columns(columns, self._positive_class(columns, pos_label))
        groups = samples.groups
        by_name = {self.__name__: self.metric}
        if self.k is not None:
            columns, by_name, _ = decide_top_k(columns, by_name, samples, self.k)
        (metric,) = by_name.values()
        estimates, present = metric.estimate(columns, groups, samples.weights)
        values = np.full(len(groups.labels), np.nan)
        if estimates is not None:
            values[present] = estimates.values
        if self.transform is None:
            names = groups.names
            if self.group not in names:
                raise ValueError(
                    f"group must be one of the groups {join_names(map(repr, names))}; got "
                    f"{self.group!r}."
                )
            return values[names.index(self.group)]
        if len(values) > 1:
            message = f"{self.metric.name} is unknown for some groups"
            warn_of_unknown_rates(~np.isnan(values), groups.names, message)
        return COMPARISONS[self.transform](values)

    @property
    def __name__(self) -> str:
        return self.metric.name

    def _positive_class(
        self, columns: dict[str, np.ndarray], pos_label: Label | None
    ) -> Label | None:
        """The positive class of two; None of several classes whose labels a function takes."""
        labels = [columns[name] for name in ("y_true", "y_pred") if name in columns]
        if (
            not isinstance(self.metric, Rate)
            and self.k is None
            and needs_raw_labels(labels, pos_label)
        ):
            return None
        return find_positive(*labels, pos_label=pos_label)


def needs_raw_labels(columns: list[np.ndarray], pos_label: Label | None) -> bool:
    """Whether columns hold numbers or more than two classes, of which none is named as positive."""
    if pos_label is not None:
        return False
    is_real = any(type_of_target(column) == "continuous" for column in columns)
    return is_real or len(unique_labels(*columns)) > 2


def _extreme(choose: Callable, values: np.ndarray) -> float:
    """The smallest or largest known value; nan if there is none."""
    known = values[~np.isnan(values)]
    return float(choose(known)) if len(known) else np.nan


COMPARISONS: dict[str, Callable] = {
    "difference": lambda values: gap([(values, np.nan)]),
    "ratio": lambda values: ratio([(values, np.nan)], names=["value"]),
    "group_min": partial(_extreme, np.min),
    "group_max": partial(_extreme, np.max),
}
"""Functions of the values of the groups, by name."""
