"""Input of a fairness report: checks, groupings, and what does not go together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skfair._statistics.gaps import balance_limit
from skfair._statistics.group_estimates import estimate_means
from skfair._statistics.hidden_groups import MIN_RECORDED
from skfair._utils.checks import (
    argument_error,
    is_int,
    join_names,
    mute_warnings,
    refuse_clusters,
    warn,
)
from skfair.audit._predictions import are_probabilities
from skfair.audit._protection import check_minimum, protect_groups
from skfair.audit._tables import (
    OVERALL,
    Grouping,
    count_missing,
    exclude_missing,
    groupings,
    missing_attribute_mask,
    name_as_text,
    tabulate_report,
)
from skfair.audit._task_metrics import (
    add_scoring_rate,
    hidden_group_estimators,
    metric_estimators,
    top_k_estimators,
)
from skfair.metrics import Rate
from skfair.metrics._group_metrics import MeanMetric, find_group_metrics, to_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from skfair._groups import Samples
    from skfair._groups.groups import Groups
    from skfair._statistics.estimates import Estimates
    from skfair._statistics.gaps import Interval
    from skfair._utils.api import GroupName
    from skfair.metrics._group_report import Metrics


def check_share(min_share: float) -> float:
    """A share in [0, 1)."""
    if not isinstance(min_share, Real) or not 0.0 <= min_share < 1.0:
        raise argument_error(
            f"min_share must be a share in [0, 1), such as 0.02 for 2 %; got {min_share!r}."
        )
    return float(min_share)


def check_group_size(min_group_size: int) -> None:
    """Raise unless it is a positive whole number."""
    if not is_int(min_group_size):
        raise argument_error(
            "min_group_size must be a positive whole number of samples, such as 30; got "
            f"{min_group_size!r}."
        )


def warn_of_counts(samples: Samples, columns: dict[str, np.ndarray]) -> None:
    """Warn of weights that look like numbers of samples, as of a table of counts.

    These are whole numbers, at least 2 on average, of rows of which no two are equal.
    """
    weights, groups = samples.weights, samples.groups
    if (
        groups.multiplicity is not None
        or not groups.is_disjoint
        # Rows up to which weights are compared with numbers of samples.
        or len(weights) > 100_000
        or weights.mean() < 2.0
        or not np.ptp(weights)
        or (weights != np.floor(weights)).any()
    ):
        return
    rows = pd.DataFrame({"group": groups.codes} | columns)
    if len(rows) > 1 and not rows.duplicated().any():
        warn(
            f"The {len(weights)} weights are whole numbers of rows that are all different, so they "
            "look like numbers of samples. As weights they count as "
            f"{len(weights)} samples and make intervals too wide. If they are counts, pass the "
            "table to skfair.audit.Audit.from_counts, or its column by --count."
        )


def make_groupings(samples: Samples, missing: str) -> tuple[dict[str, Groups], dict[str, int]]:
    """Groups by attribute and by all together, and numbers of missing values."""
    by = groupings(samples.groups)
    n_missing = dict.fromkeys(by, 0) if samples.groups.is_disjoint else {}
    if missing != "error" and n_missing:
        n_missing = count_missing(by)
    if missing in ("exclude", "at_random") and samples.groups.is_disjoint:
        by = exclude_missing(by)
    return by, n_missing


def report_estimators(
    audit: Any, samples: Samples, columns: dict[str, np.ndarray], metrics: Metrics
) -> tuple:
    """Columns of a report, estimators of its metrics by name, and how many samples tie, or None."""
    columns = _report_columns(audit, columns)
    ties = None
    known = audit.known
    if known.is_modelled:
        check_can_model_groups(audit, metrics)
        estimators = hidden_group_estimators(columns, audit.pos_label, known)
    elif audit.k is not None:
        estimators, ties = top_k_estimators(columns, audit.pos_label, metrics, samples, audit.k)
    else:
        estimators = metric_estimators(audit.task, columns, audit.pos_label, metrics)
        if audit.has_scoring_rate:
            estimators = add_scoring_rate(estimators, columns)
    known_outcomes = None if known.is_modelled else audit.find_known_outcomes(samples, columns)
    if known_outcomes is not None:
        further = find_group_metrics(metrics) if len(metrics) else {}
        estimators = known_outcomes.select(estimators, further)
        if not estimators:
            raise argument_error(f"y_true tells no rate of all samples. {known_outcomes.sentence}")
    clusters = audit.cluster_codes
    if clusters is not None:
        estimators = _count_clusters(estimators, clusters, metrics)
    if audit.burden is not None:
        estimators.pop("scoring_rate", None)  # of scores, not of decisions
        estimators["selection_rate"] = partial(_mark_burden, estimators["selection_rate"])
    return columns, estimators, ties


def _mark_burden(
    estimator: Callable, groups: Groups, weights: np.ndarray
) -> tuple[Estimates, np.ndarray]:
    """Rates of decisions that are a burden, and the groups that they are of."""
    estimates, present = estimator(groups, weights)
    estimates.is_burden = True
    return estimates, present


def _count_clusters(
    estimators: dict[str, Callable], clusters: np.ndarray, metrics: Metrics
) -> dict[str, Callable]:
    """The estimators whose limits count clusters of samples; raise for other further metrics."""
    further = find_group_metrics(metrics) if len(metrics) else {}
    others = [name for name, one in further.items() if not isinstance(one, Rate | MeanMetric)]
    if others:
        refuse_clusters(clusters, join_names(others))
    estimators.pop("roc_auc", None)
    return {name: partial(one, clusters=clusters) for name, one in estimators.items()}


def _report_columns(audit: Any, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Columns of a report: scores are probabilities, or also what is reported without decisions."""
    columns = dict(columns)
    scores = columns.pop("y_score", None)
    if scores is None:
        return columns
    is_share = audit.k is None and are_probabilities(to_numbers(scores, "y_score"))
    columns["y_proba" if is_share else "y_score"] = scores
    if "y_pred" not in columns and audit.k is None:
        raise ValueError(
            "There are scores, but no decisions to report. Ask Audit.top(k) for decisions about "
            "the k highest scores, pass y_pred, or pass the scores as y_pred for their means."
        )
    return columns


def protect_audit(audit, min_published, metrics=(), subgroups=None):
    """The protection of small counts of an audit, the same for all that is published about it."""
    check_minimum(min_published)
    samples, columns, strata = audit.rows(metrics)
    columns, estimators, ties = report_estimators(audit, samples, columns, metrics)
    unprotected = {
        "the balance of groups in clusters": audit.task == "clustering",
        "those that subgroups lists": subgroups is not None,
        f"those that {audit.known.argument} estimates": audit.known.is_modelled,
        "those within strata of control_features": strata is not None,
        "those of clusters, whose samples are in groups": audit.clusters is not None,
        f"places of the k highest scores, fractions where scores tie: {ties}": bool(ties),
    }
    for what in (one for one, is_so in unprotected.items() if is_so):
        raise argument_error(
            f"min_published protects counts of groups, but not {what}. Leave min_published out, "
            "or report without these."
        )
    if "has_outcome" in columns:  # numbers of unknown outcomes are counts, too
        estimators["has_outcome"] = partial(estimate_means, columns["has_outcome"], None)
        estimators |= audit.find_known_outcomes(samples, columns).list_counts()
    # Cuts at the median or the k-th score depend on all samples.
    may_leave_out = audit.k is None and "scoring_rate" not in estimators
    return protect_groups(estimators, groupings(samples.groups), min_published, may_leave_out)


def check_can_model_groups(audit: Any, metrics: Metrics) -> None:
    """Raise unless groups can be modelled: rates of decisions about samples of equal weight."""
    known, samples = audit.known, audit.samples
    setting, positive = known.argument, audit.pos_label
    is_complete = samples.is_equally_weighted and samples.groups.is_disjoint
    if known.labels is None and known.missing == "error":
        raise ValueError(
            "Groups that are known as probabilities alone need an assumption: pass "
            "missing='sufficient' or missing='independent'. Claims need none."
        )
    if positive is None or len(metrics) or not is_complete or audit.k is not None:
        raise ValueError(
            f"{setting} estimates rates of decisions between two classes, for samples of equal "
            "weight and columns of attributes. Leave out metrics, sample_weight and top(k), or "
            'pass missing="exclude".'
        )
    if known.odds_ratio != 1.0:
        raise ValueError(
            f"odds_ratio={known.odds_ratio!r} is for claims; reports assume that groups are "
            "missing at random. Leave it out."
        )
    if audit.min_group_size < MIN_RECORDED:
        raise ValueError(
            f"{setting} needs {MIN_RECORDED} recorded samples of each group, but "
            f"min_group_size={audit.min_group_size} was passed; pass {MIN_RECORDED} or more."
        )


def describe_top_k(k: Any, ties: str) -> str:
    """The decision rule of the k highest scores as text."""
    rule = f"the {k} highest scores" if k >= 1 else f"the highest {100 * k:g} % of scores"
    return f"{rule}; {ties}" if ties else rule


def sums_suffice(task: str, columns: dict[str, np.ndarray], metrics: Metrics) -> bool:
    """Whether every number of a report is the same of rows that count, in every bit."""
    rates = find_group_metrics(metrics).values() if len(metrics) else ()
    has_decisions = "y_pred" in columns and not {"y_proba", "y_score"} & set(columns)
    return (
        task == "classification"
        and has_decisions
        and ("y_true" in columns or columns["y_pred"].dtype.kind != "f")  # no scores
        and all(isinstance(one, Rate) and one.is_share for one in rates)
    )


def make_tables(
    estimators: dict[str, Callable],
    by: dict[Grouping, Groups],
    weights: np.ndarray,
    reference: dict[str, GroupName] | None,
    level: float,
    min_group_size: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows and gaps of all groupings, and rows of all samples."""
    attributes = [one.attribute for one in by if not one.stratum]
    chosen = _check_reference(reference, attributes)
    overall = next(iter(by.values())).merge(OVERALL)
    # Warn of uneven weights once, and not for each metric.
    estimate_means(np.ones(len(weights)), None, overall, weights)
    with mute_warnings(UserWarning):
        groups = {Grouping(OVERALL): overall} | by
        return tabulate_report(estimators, groups, weights, level, min_group_size, chosen)


def estimate_balance(
    task: str, columns: dict[str, np.ndarray], samples: Samples, level: float, missing: str
) -> Interval | None:
    """Limit of the balance of a clustering; None of other predictions and of overlapping groups."""
    if task != "clustering" or not samples.groups.is_disjoint:
        return None
    codes = samples.groups.codes
    labels = columns["y_pred"]
    weights = samples.weights
    if missing == "exclude":
        rows = ~missing_attribute_mask(samples.groups)[codes]
        codes = codes[rows]
        labels = labels[rows]
        weights = weights[rows]
    with mute_warnings(UserWarning):  # of uneven weights, once is enough
        return balance_limit(
            labels,
            sensitive_features=codes.astype(str),
            sample_weight=weights,
            confidence_level=level,
        )


def _check_reference(
    reference: dict[str, GroupName] | None, attributes: list[str]
) -> dict[Grouping, GroupName]:
    """Reference groups by attribute, whatever the stratum."""
    if reference is not None and not isinstance(reference, Mapping):
        raise argument_error(
            f"reference must be a dict of attributes to groups, such as {{{attributes[0]!r}: "
            f"...}}; got {reference!r}."
        )
    chosen = {name_as_text(name): group for name, group in (reference or {}).items()}
    unknown = [name for name in chosen if name not in attributes]
    if unknown:
        raise argument_error(
            f"reference must map attributes to groups, but {unknown} are not attributes; the "
            f"attributes are {attributes}."
        )
    return {Grouping(name): group for name, group in chosen.items()}
