"""Claims on held-out data: whether a model meets a tolerance in the population."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from sklearn.base import clone, is_regressor

from skfair._bound.bound import reported_gap
from skfair._partitions.collections import load_rows
from skfair._statistics.bounded_means import ValueRange
from skfair._statistics.calibration_errors import CalibrationErrors
from skfair._statistics.estimates import (
    ComplementEstimates,
    Estimates,
    LogRates,
    Rates,
    RatesAgainstBound,
    check_level,
)
from skfair._statistics.gaps import find_verdict, gap_lower_limit, gap_upper_limit
from skfair._statistics.planning import calibration_size, required_sample_size
from skfair._utils.checks import (
    argument_error,
    check_tolerance,
    join_names,
    number_text,
    round_up,
    warn,
)
from skfair.audit._claims import Claim, describe_constraint
from skfair.audit._data import mask_unknown
from skfair.audit._formats import collect_facts
from skfair.audit._ledger import count_attempt, digest_with_salt, divide_level
from skfair.audit._population import Population, certify_shares
from skfair.audit._predictions import (
    PROBABILITY_UNIT,
    RATE_UNIT,
    are_probabilities,
    arrange_for_metric,
    bind_hidden_groups,
    check_applies,
    check_can_model,
    check_outcomes,
    final_estimator,
    needs_outcomes,
    predict_for_metric,
    resolve_constraint,
    resolve_loss_and_unit,
)
from skfair.audit._report_input import protect_audit
from skfair.audit._sentences import (
    LOWER_BOUNDS,
    bounds_spared,
    describe_bound,
    describe_miscalibration,
    event_text,
    name_left_out,
)
from skfair.audit._tables import OUTCOME_SHARE, group_text, is_missing_group
from skfair.constraints import check_applies_to_numbers, check_task
from skfair.constraints._constraint import (
    allowed_gap,
    fill_tolerance,
    refuse_tolerances_by_attribute,
    split_by_attribute,
)
from skfair.constraints._held_out import (
    bind_constraint,
    compares_both_decisions,
    metric_kind,
)
from skfair.metrics import RATES, Rate, find_positive
from skfair.metrics._group_metrics import to_numbers
from skfair.metrics._ranking import document_exposure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from scipy import sparse
    from sklearn.base import BaseEstimator

    from skfair._bound.bound import BoundConstraint
    from skfair._groups import Groups, Samples
    from skfair._statistics.rates_by_decision import RatesByDecision
    from skfair._utils.api import Label
    from skfair.audit._data import AuditData
    from skfair.audit._known_outcomes import KnownOutcomes
    from skfair.audit._predictions import HiddenGroupConstraint
    from skfair.constraints import Constraint, ExposureParity


class _Limits(NamedTuple):
    """Limits of a gap in the population, in its own unit, and whether its tolerance is shown.

    `n_smallest` are the counted samples of the smallest group, `sizes` those of all by name.
    """

    is_shown: bool
    gap: float
    limit: float
    lower_limit: float
    is_exact: bool
    sizes: dict
    n_smallest: int
    shown_tolerance: float | None = None
    required_sample_size: int | None = None
    worst_group: str = ""


def certify_audit(
    audit: AuditData,
    constraint: BaseEstimator | str,
    tolerance: float | dict[str, float] | None,
    confidence_level: float,
    ledger: Any = None,
    salt: str | None = None,
    population: Population | None = None,
) -> Claim:
    """The claim of an audit, as :meth:`Audit.certify`."""
    audit.warn_of_integers()
    if population is None:
        resolved = resolve_constraint(constraint, tolerance, takes_all=True)
        certify = partial(_certify_constraint, audit, resolved, tolerance)
    elif constraint == "demographic_parity":
        certify = partial(certify_shares, audit, population, tolerance)
    else:
        raise argument_error(
            "constraint must be left out with population, which compares shares of samples, but is "
            f"{constraint!r}. Make two claims."
        )
    level = check_level(confidence_level)
    attempt = None
    if ledger is not None:
        attempt = count_attempt(ledger, audit.samples, audit.outcomes, salt)
        level = divide_level(level, attempt)
    claim = certify(level)
    digest = digest_with_salt(audit, salt)
    source = collect_facts(audit.source, **claim.source, salted_sha256=digest)
    return replace(claim, attempt=attempt, source=source, reading=audit.reading)


def _certify_constraint(
    audit: AuditData,
    constraint: Constraint,
    tolerance: float | dict[str, float] | None,
    level: float,
) -> Claim:
    """The claim about a constraint on predictions or outcomes, without facts of its source."""
    if constraint.get_params(deep=False).get("min_group_size", 0) is None:
        constraint = clone(constraint).set_params(min_group_size=audit.min_group_size)
    if audit.are_outcomes:
        return _certify_outcomes(audit, constraint, tolerance, level)
    arrange = _arrange_columns if audit.model is None else _arrange_model
    compared = _rank_in_clusters(audit, constraint) if constraint.unit == "attention" else audit
    per_class, (constraint, unit) = arrange(compared, constraint)
    return _certify_predictions(compared, constraint, per_class, unit, tolerance, level)


def _certify_outcomes(
    audit: AuditData,
    constraint: Constraint,
    tolerance: float | dict[str, float] | None,
    level: float,
) -> Claim:
    """The claim about the outcomes of data without a model, which count like decisions."""
    if audit.task != "classification" or constraint.compared_rate is not RATES["selection_rate"]:
        raise argument_error(
            f"constraint must compare shares of outcomes where there are no predictions, but is "
            f"{constraint.name}, of a {audit.task}. Pass 'demographic_parity', or predictions."
        )
    per_class = _arrange_classes(audit, constraint, None, audit.columns["y_true"])
    claim = _certify_predictions(audit, constraint, per_class, RATE_UNIT, tolerance, level)
    name = (
        f"{OUTCOME_SHARE}{audit.pos_label}"
        if len(per_class) == 1
        else "share of rows with each outcome"
    )
    noun = claim.metric.replace(" of each class", "").replace("selection rate", name)
    return replace(claim, metric=noun)


class BoundAudit(NamedTuple):
    """A constraint bound to the predictions of an audit, which are its scores, and its unit."""

    bound: BoundConstraint | BoundByDecision
    scores: np.ndarray
    constraint: Constraint
    unit: str

    @property
    def gap(self) -> float:
        """The gap as reports state it."""
        return float(self.bound.gap.state(reported_gap(self.bound, self.scores)))


def bind_audit(
    audit: AuditData,
    constraint: Constraint,
    classes: np.ndarray | tuple = (),
    *,
    by_decision: bool = False,
) -> list[BoundAudit]:
    """A constraint bound to the predictions of an audit, of more than two `classes` to each.

    Outcomes are weighed `by_decision`, in case some are missing.
    """
    audit = replace(audit, model=None)
    if constraint.get_params(deep=False).get("min_group_size", 0) is None:
        constraint = clone(constraint).set_params(min_group_size=audit.min_group_size)
    per_class, (constraint, unit) = _arrange_columns(audit, constraint, classes)
    n_rows = len(per_class[0][0][0])
    leaves_out = audit.n_without_outcome > 0 and needs_outcomes(constraint, n_rows, None)
    weighs = leaves_out and by_decision
    selected, _ = _select_samples(audit, n_rows, leaves_out, weighs)
    bind: Callable = partial(bind_constraint, **selected)
    if weighs:
        bind = partial(_bind_by_decision, audit, bind)
    elif leaves_out:
        audit.check_known_outcomes(constraint.compared_rate, constraint.name)
    pairs = [bind(constraint, predictions, **params) for predictions, params in per_class]
    return [BoundAudit(bound, scores, constraint, unit) for bound, scores in pairs]


def _rank_in_clusters(audit: AuditData, constraint: ExposureParity) -> AuditData:
    """The audit with attention for scores, of documents ranked in clusters, which are queries."""
    scores = audit.columns.get("y_score")
    query = audit.cluster_codes
    if scores is None or query is None or audit.model is not None or constraint.merit is not None:
        raise argument_error(
            f"constraint {constraint} compares exposure in rankings, without merit, and needs "
            "scores and queries of several documents. Pass Audit.from_predictions(None, None, "
            "y_score=scores, groups=query_id, sensitive_features=...)."
        )
    attention = document_exposure(to_numbers(scores, "y_score"), query, constraint.k, "log")
    return replace(audit, columns=audit.columns | {"y_score": attention})


def protect_claim(claim: Claim, audit: AuditData, min_published: int) -> Claim:
    """The claim about all groups, without numbers that show those which are not published."""
    protection = protect_audit(audit, min_published)
    hidden = protection.hidden.get([*protection.n_groups][-1], {})
    shown = {group_text(name) for name in audit.samples.groups.names} - {*hidden}
    is_complete = not protection.left_out and not any(map(is_missing_group, hidden))
    protected = replace(
        claim,
        sizes={
            event: n
            for event, n in claim.sizes.items()
            if _is_about(event, shown) and not _is_about(event, hidden)
        },
        n_missing=claim.n_missing if is_complete else {},
        left_out=tuple(one for one in claim.left_out if not _is_about(one, hidden)),
        worst_group="",
        min_published=min_published,
        unpublished=protection.clause,
        source={name: one for name, one in claim.source.items() if name != "sha256"},
        reading=audit.reading.protect(protection.restrict(audit).n_samples, protection.hidden),
    )
    compares_all = claim.form not in ("gap", "ratio", "floor", "ceiling")
    if len(protected.sizes) == len(claim.sizes) and not (compares_all and protection.clause):
        return protected
    # A number that involves a group which is not published shows its counts.
    numbers: dict[str, Any] = dict.fromkeys(("estimate", "low", "high"), np.nan)
    numbers |= dict.fromkeys(("required_sample_size", "n_smallest", "shown_threshold"))
    return replace(protected, **numbers)


def _is_about(event: str, groups: set[str] | dict[str, int]) -> bool:
    """Whether an event is that of one of some groups, perhaps within a cell."""
    return any(event == group or event.endswith(f": {group}") for group in groups)


def _arrange_model(
    audit: AuditData, constraint: Constraint
) -> tuple[list[tuple], tuple[Constraint, str]]:
    """Predictions of a fitted model as `predict_for_metric`, and the constraint with its unit."""
    estimator, X, y, sensitive_features = audit.model  # type: ignore[misc]
    check_applies(constraint, estimator)
    kind = metric_kind(constraint)
    columns = audit.columns
    y_true = columns.get("y_true")
    predicted = audit.find_decisions(columns)
    check_outcomes(constraint, columns)
    resolved = resolve_loss_and_unit(
        constraint,
        final_estimator(estimator),
        is_real=is_regressor(estimator),
        has_probabilities=hasattr(estimator, "predict_proba"),
    )
    if kind == "classification" or is_regressor(estimator):
        classes = getattr(estimator, "classes_", ())
        return _arrange_classes(audit, constraint, y_true, predicted, classes), resolved
    if kind == "score":
        return [((columns["y_score"],), {})], resolved
    # Values of the decision function are in no other unit.
    arranged = predict_for_metric(estimator, constraint, X, y, sensitive_features, audit.pos_label)
    return arranged, resolved


def _arrange_columns(
    audit: AuditData, constraint: Constraint, classes: np.ndarray | tuple = ()
) -> tuple[list[tuple], tuple[Constraint, str]]:
    """Predictions that were passed as `predict_for_metric`, and the constraint with its unit."""
    is_real = audit.task == "regression"
    check_task(constraint, is_real)
    if is_real:
        check_applies_to_numbers(constraint, "a model of real targets")
    compares_scores = not constraint.counts_decisions and not is_real
    columns = audit.columns if compares_scores else audit.rows()[1]
    y_true = columns.get("y_true")
    predicted = columns.get("y_score") if compares_scores else audit.find_decisions(columns)
    check_outcomes(constraint, columns)
    if predicted is None:
        raise ValueError(
            f"{constraint.name} compares scores, but there are decisions alone. Pass their scores "
            "too; a command decides by --threshold, above which scores are positive."
        )
    per_class = _arrange_classes(audit, constraint, y_true, predicted, classes)
    has_probabilities = constraint.unit == "score" and are_probabilities(per_class[0][0][-1])
    kinds = {"is_real": is_real, "has_probabilities": has_probabilities}
    constraint, unit = resolve_loss_and_unit(constraint, **kinds)
    if y_true is None:
        unit = unit.replace("units of the target", "units of the prediction")
    return per_class, (constraint, unit)


def _arrange_classes(
    audit: AuditData,
    constraint: Constraint,
    y_true: np.ndarray | None,
    predicted: np.ndarray,
    classes: np.ndarray | tuple = (),
) -> list[tuple[tuple, dict]]:
    """As `arrange_for_metric`; ratios of a burden are of the samples that do not bear it."""
    positive = audit.pos_label
    if bounds_spared(constraint, audit.burden):
        y_true = None if y_true is None else y_true != positive
        predicted = predicted != positive
        positive = True
    return arrange_for_metric(constraint, y_true, predicted, audit.task, positive, classes)


def _certify_predictions(
    audit: AuditData,
    constraint: Constraint,
    per_class: list[tuple[tuple, dict]],
    unit: str,
    tolerance: float | dict[str, float] | None,
    level: float,
) -> Claim:
    """The claim of predictions, which are as `predict_for_metric` returns them."""
    known = audit.known
    n_rows = len(per_class[0][0][0])
    left_out: tuple[str, ...] = ()
    leaves_out = is_weighed = False
    largest = 1.0 if unit == PROBABILITY_UNIT else constraint.largest_gap
    filled = fill_tolerance(constraint, tolerance)
    constraints = split_by_attribute(filled, audit.samples.groups)
    tolerances = [_check_tolerance(one, largest) for one in constraints]
    if len(constraints) > 1:
        constraint = filled
    if known.is_modelled:
        refuse_tolerances_by_attribute(filled, known.argument)
        check_can_model(audit, constraint)
        bind: Callable = partial(bind_hidden_groups, audit=audit)
    else:
        X = None if audit.model is None else audit.model.X
        leaves_out = audit.n_without_outcome > 0 and (
            audit.are_outcomes or needs_outcomes(constraint, n_rows, X)
        )
        is_weighed = leaves_out and weighs_outcomes(audit, constraint)
        selected, left_out = _select_samples(audit, n_rows, leaves_out, is_weighed)
        bind = partial(bind_constraint, X=X, **selected)
        if is_weighed:
            bind = partial(_bind_by_decision, audit, bind)
        elif leaves_out:
            audit.check_known_outcomes(constraint.compared_rate, constraint.name)
    bound_constraints = [
        bind(one, predictions, **params) for one in constraints for predictions, params in per_class
    ]
    is_share = unit == PROBABILITY_UNIT or constraint.unit == "attention"
    if is_share and not known.is_modelled:
        value_range = ValueRange(0.0, 1.0)
        if constraint.unit == "attention":  # of the ranks of a query, in whatever order
            any_scores = np.arange(n_rows)
            attention = document_exposure(any_scores, audit.cluster_codes, constraint.k, "log")  # type: ignore[arg-type]
            value_range = value_range._replace(ranked=attention)
        bound_constraints = [
            (replace(bound, sums=replace(bound.sums, value_range=value_range)), scores)
            for bound, scores in bound_constraints
        ]
    # Each class and attribute holds at the full level. An excess of any of them shares the error.
    excess_level = 1.0 - (1.0 - level) / len(bound_constraints)
    of_bounds = np.repeat(tolerances, len(per_class)).tolist()
    limits = [
        _find_limits(bound, scores, tolerance, (level, excess_level), largest)
        for (bound, scores), tolerance in zip(bound_constraints, of_bounds, strict=True)
    ]
    starts = range(0, len(limits), len(per_class))
    by_attribute = [_combine_classes(limits[start : start + len(per_class)]) for start in starts]
    worst, worst_tolerance = _state_worst(by_attribute, tolerances)
    if known.is_modelled or is_weighed:
        # Required sizes are those of samples that are all recorded.
        worst = worst._replace(required_sample_size=None)
    if known.is_modelled:
        worst = worst._replace(sizes={})
    claim = _make_claim(audit, constraint, worst, unit, worst_tolerance, per_class)
    whose = " whose outcome is known" if leaves_out and "outcome" not in claim.counted else ""
    for cells in (bound.sums.cells for bound, _ in bound_constraints):
        left_out += name_left_out(cells.empty, cells.labels)
    assumed = ["if clusters of samples are independent"] * (audit.clusters is not None)
    if constraint.unit == "attention":  # the range of differences within queries is that of these
        assumed.append("no query has a more uneven share of the groups than those counted")
    if constraint.unit == "probability":
        assumed.append("if no probability of a group is outside the range that its samples show")
    assumed.append(_assume_no_rare_values(largest, worst))
    if leaves_out and audit.known_outcomes is not None:
        assumed.append(audit.known_outcomes.assumption)
        leaves_out = not is_weighed  # then the claim is about all samples
    elif audit.known_outcomes is not None and (
        compares_both_decisions(constraint)
        or (not constraint.counts_decisions and needs_outcomes(constraint, n_rows, None))
    ):
        assumed.append(audit.known_outcomes.assumption)
    attributes = None if known.labels is None else audit.samples.groups.attributes
    n_missing = {"group": audit.n_excluded, "outcome": leaves_out * audit.n_without_outcome}
    return replace(
        claim,
        counted=claim.counted + whose,
        n_missing={name: n for name, n in n_missing.items() if n},
        confidence_level=level,
        attributes=tuple(name for name in attributes or () if isinstance(name, str)),
        assumption=" and ".join(filter(None, [*assumed, known.describe_assumption()])),
        left_out=tuple(dict.fromkeys(left_out)),
    )


def _assume_no_rare_values(largest: float, limits: _Limits) -> str:
    """What is assumed of values without bound that no sample shows; empty for others.

    A value of a share p of n samples is missing with probability (1 - p)^n, .05 at 3 / n.
    """
    if np.isfinite(largest) or not limits.sizes:
        return ""
    percent = number_text(min(100.0, 300.0 / limits.n_smallest), 2)
    return (
        f"if values of less than {percent} % of a group, which its samples may lack, change no mean"
    )


def _make_claim(
    audit: AuditData,
    constraint: Constraint,
    limits: _Limits,
    unit: str,
    tolerance: float,
    per_class: list[tuple[tuple, dict]],
) -> Claim:
    """The claim of limits of a gap: a floor is the largest rate less it, a ratio 1 less it."""
    columns, params = per_class[0]
    positive = _find_positive(constraint, columns, params, per_class)
    if positive is not None and audit.burden is not None:
        positive = audit.burden
    is_real = "is_real" in params
    quantity = describe_bound(constraint, is_real, len(per_class), positive, audit.burden)
    form = quantity.form
    largest = 1.0 if constraint.gap.is_ratio else constraint.largest_gap
    is_mirrored = form in LOWER_BOUNDS

    def mirror(gap: float) -> float:
        return largest - gap if is_mirrored else gap

    verdict = find_verdict(limits.is_shown, limits.lower_limit > tolerance)
    ends = mirror(limits.lower_limit), mirror(limits.limit)
    low, high = reversed(ends) if is_mirrored else ends
    size = limits.required_sample_size if verdict == "open" else None
    shown = limits.shown_tolerance
    return Claim(
        verdict=verdict,
        form=form,
        metric=quantity.noun,
        unit=quantity.unit if unit == RATE_UNIT else unit,
        threshold=mirror(tolerance),
        estimate=mirror(limits.gap),
        low=low,
        high=high,
        confidence_level=np.nan,
        is_exact=limits.is_exact,
        counted=quantity.counted,
        sizes=limits.sizes,
        required_sample_size=size,
        n_smallest=None if size is None else limits.n_smallest,
        shown_threshold=None if shown is None else mirror(shown),
        worst_group=limits.worst_group,
        constraint=describe_constraint(constraint),
        source={} if positive is None else {"positive_label": str(positive)},
        n_missing={},
    )


def _find_positive(
    constraint: Constraint,
    columns: Iterable[np.ndarray],
    params: dict[str, int | str],
    per_class: list[tuple[tuple, dict]],
) -> Label | None:
    """The class that means success; None if there are several, or no classes."""
    if len(per_class) > 1 or metric_kind(constraint) != "classification" or "is_real" in params:
        return None
    columns = (np.asarray(load_rows(one)) for one in columns)
    label = find_positive(*columns, pos_label=params.get("pos_label"))
    return label.item() if isinstance(label, np.generic) else label


def _select_samples(
    audit: AuditData, n_rows: int, needs_outcome: bool, is_weighed: bool = False
) -> tuple:
    """Groups of so many rows, weights of those that count, and groups of which no row counts.

    Rows of an unknown group have no weight, and those without an outcome that a constraint needs.
    Where outcomes are weighed, a group without outcomes of some decision is left out.
    """
    samples, columns = _find_rows(audit, n_rows)
    groups = samples.groups
    weights = samples.weights
    left_out: tuple[str, ...] = ()
    if audit.known.treatment == "exclude" and groups.is_disjoint:
        weights = weights * ~mask_unknown(groups)
    if needs_outcome:
        with_outcome = weights * columns["has_outcome"]
        if is_weighed:
            outcomes = cast("KnownOutcomes", audit.find_known_outcomes(samples, columns))
            with_outcome = with_outcome * outcomes.mask_estimable()
        n, n_known = (groups.subset(np.flatnonzero(one)).counts for one in (weights, with_outcome))
        is_left_out = (n > 0) & (n_known == 0)
        left_out = tuple(group_text(groups.names[one]) for one in np.flatnonzero(is_left_out))
        weights = with_outcome
    if not weights.any():
        raise ValueError(
            f"No sample has a known group{' and a known outcome' if needs_outcome else ''}, so "
            "there is nothing to compare. Pass samples that have them, or other columns of groups."
        )
    selected = {"sensitive_features": groups, "sample_weight": weights}
    return selected | {"clusters": audit.cluster_codes}, left_out


def _check_tolerance(constraint: Constraint, largest: float) -> float:
    """Return the checked tolerance of a claim; 1 minus a ratio."""
    tolerance = allowed_gap(constraint)
    if tolerance is None:
        raise argument_error(
            f"tolerance must be the largest gap allowed, but it is None, and {constraint.name} has "
            "none of its own. Pass a number, such as tolerance=0.05."
        )
    if isinstance(tolerance, Real) and tolerance <= 0:
        raise argument_error(
            "tolerance must be positive, and a ratio less than 1, since no sample can show a gap "
            f"of 0; got tolerance={tolerance!r} for {constraint.name}."
        )
    return check_tolerance(tolerance, largest, closed="right", of=constraint.name)


class BoundByDecision(NamedTuple):
    """A constraint bound to samples whose outcomes are known by decision, and rates of all samples.

    It has what `_find_limits` asks of a `BoundConstraint`. ``outcomes`` have the outcomes and the
    decisions of the audit, of which ``positive`` is the class that is compared.
    """

    bound_constraint: BoundConstraint
    outcomes: KnownOutcomes
    groups: Groups
    constraint: Constraint
    positive: Label
    clusters: np.ndarray | None

    @property
    def name(self) -> str:
        """Name of the constraint."""
        return self.bound_constraint.name

    @property
    def sums(self) -> Any:
        """Sums of the constraint."""
        return self.bound_constraint.sums

    @property
    def gap(self) -> Any:
        """Gap of the constraint."""
        return self.bound_constraint.gap

    def value(self, scores: np.ndarray) -> float:
        """The estimated gap."""
        return float(self.gap(self.estimate().values))

    def estimates(self, scores: np.ndarray) -> tuple[Estimates, sparse.csr_array]:
        """Rates of all samples, and the linear forms whose largest is the gap."""
        rates = self.estimate()
        return self.gap.estimates(rates), self.gap.linear_forms(len(rates.values))

    def estimate(self, *others: np.ndarray) -> RatesByDecision:
        """Return the rates of all events, and of the same events by the decisions of others."""
        codes = {name: code for code, name in enumerate(self.groups.names)}
        labels = self.sums.cells.labels
        rates = _find_compared_rates(self.constraint)
        return self.outcomes.estimate_events(
            [rates[cell] for cell, _ in labels],
            [codes[group] for _, group in labels],
            self.groups,
            self.positive,
            self.clusters,
            others,
        )


def _bind_by_decision(
    audit: AuditData,
    bind: Callable,
    constraint: Constraint,
    predictions: tuple,
    *,
    pos_label: Label | None,
) -> tuple[BoundByDecision, np.ndarray]:
    """Bind a constraint on rates to all samples, by the known outcomes of every decision."""
    bound, scores = bind(constraint, predictions, pos_label=pos_label)
    samples, columns = _find_rows(audit, len(predictions[0]))
    # It is called where outcomes are weighed, of which some are missing.
    outcomes = cast("KnownOutcomes", audit.find_known_outcomes(samples, columns))
    groups, _ = constraint.compared_groups(samples)
    y_true, y_pred = predictions
    by_decision = BoundByDecision(
        bound_constraint=bound,
        outcomes=replace(outcomes, y_true=y_true, y_pred=y_pred),
        groups=groups,
        constraint=constraint,
        positive=find_positive(y_true, y_pred, pos_label=pos_label),
        clusters=audit.cluster_codes,
    )
    return by_decision, scores


def _find_rows(audit: AuditData, n_rows: int) -> tuple[Samples, dict[str, np.ndarray]]:
    """Return samples and columns of so many rows: one by one, or of rows that count."""
    if len(audit.samples.weights) == n_rows:
        return audit.samples, audit.columns
    samples, columns, _ = audit.rows()
    return samples, columns


def _find_compared_rates(constraint: Constraint) -> Mapping[str, Rate]:
    """Return the rate that a constraint compares in each of its cells; empty if it is none."""
    if constraint.rates_by_cell:
        return {cell: RATES[name] for cell, name in constraint.rates_by_cell.items()}
    rate = constraint.compared_rate
    return defaultdict(lambda: rate) if isinstance(rate, Rate) else {}


def weighs_outcomes(audit: AuditData, constraint: Constraint) -> bool:
    """Return whether a claim counts known outcomes by the inverse of their share.

    A rate that the known outcomes tell as they are, such as the precision, does not.
    """
    outcomes = audit.known_outcomes
    if outcomes is None or outcomes.is_known(constraint.compared_rate):
        return False
    rates: list[Any] = [RATES[one] for one in constraint.rates_by_cell.values()]
    rates = rates or [constraint.compared_rate]
    return constraint.counts_decisions and all(map(outcomes.weighs, rates))


def _find_limits(
    bound: HiddenGroupConstraint | BoundConstraint,
    scores: np.ndarray,
    tolerance: float,
    levels: tuple[float, ...],
    largest: float,
) -> _Limits:
    """Limits of one gap, of which `largest` is the largest possible one.

    The levels are those of the upper and of the lower limit.
    """
    estimates, contrasts = bound.estimates(scores)
    level, excess_level = levels
    smallest, smallest_forms = getattr(bound, "smallest_gap_estimates", bound.estimates)(scores)
    if not len(estimates.sizes) or not contrasts.shape[0]:
        raise ValueError(
            f"A claim needs two groups to be compared by {bound.name}, but these samples "
            "have one at most that is large enough. Pass two groups or more, or a smaller size of "
            "groups (min_group_size, --min-size)."
        )
    limit = gap_upper_limit(estimates, contrasts, level)
    is_exact = isinstance(estimates, Rates) and estimates.are_exact(contrasts)
    if is_exact:
        _warn_of_undecidable_groups(bound, estimates, tolerance, level)
    else:
        _warn_of_skewed_values(bound, estimates)
    is_shown = limit <= tolerance
    cells = bound.sums.cells
    counted = zip(cells.labels, getattr(estimates, "counts", ()), strict=False)
    limits = _Limits(
        is_shown=bool(is_shown),
        gap=reported_gap(bound, scores),
        limit=limit,
        lower_limit=gap_lower_limit(smallest, smallest_forms, excess_level),
        is_exact=is_exact,
        sizes={event_text(cell, group, cells.names): int(n) for (cell, group), n in counted},
        n_smallest=int(estimates.sizes.min()),
        worst_group=_describe_worst(bound, estimates, excess_level),
    )
    if is_shown:
        return limits
    # What these data show, and how large the groups would have to be.
    shown = round_up(limit) if np.isfinite(limit) else None
    return limits._replace(
        shown_tolerance=shown if shown is not None and shown < largest else None,
        required_sample_size=_required_size(bound, estimates, limits.gap, tolerance, level),
    )


def _describe_worst(
    bound: HiddenGroupConstraint | BoundConstraint, estimates: Estimates, level: float
) -> str:
    """Sentence on the group that is miscalibrated most, with limits that hold for all groups."""
    if bound.sums.metric_input != "probabilities":
        return ""
    cells = bound.sums.cells
    # Two limits of each group share the error.
    low, high = estimates.limits(1.0 - (1.0 - level) / (2.0 * len(estimates.values)))
    worst = int(np.maximum(low, -high).argmax())
    cell, group = cells.labels[worst]
    name = event_text(cell, group, cells.names)
    return describe_miscalibration(name, low[worst], high[worst])


def _combine_classes(limits: list[_Limits]) -> _Limits:
    """Limits of all classes: each holds at the full level, so all of them hold."""
    failed = [one for one in limits if not one.is_shown]

    def largest(name: str) -> Any:
        """The largest value of an attribute of the failed ones; None if one of them is unknown."""
        values = [getattr(one, name) for one in failed]
        return None if not values or None in values else max(values)

    return limits[0]._replace(
        is_shown=not failed,
        gap=float(np.fmax.reduce([one.gap for one in limits])),
        limit=max(one.limit for one in limits),
        lower_limit=max(one.lower_limit for one in limits),
        is_exact=all(one.is_exact for one in limits),
        required_sample_size=largest("required_sample_size"),
        shown_tolerance=largest("shown_tolerance"),
    )


def _state_worst(limits: list[_Limits], tolerances: list[float]) -> tuple[_Limits, float]:
    """Limits of the attribute that decides the verdict, and its tolerance."""
    excesses = [
        (one.lower_limit > bound, not one.is_shown, one.limit - bound, -number)
        for number, (one, bound) in enumerate(zip(limits, tolerances, strict=True))
    ]
    worst = -max(excesses)[-1]
    if len(limits) == 1:
        return limits[worst], tolerances[worst]
    stated = limits[worst]._replace(
        sizes={event: n for one in limits for event, n in one.sizes.items()},
        n_smallest=min(one.n_smallest for one in limits),
        required_sample_size=_combine_classes(limits).required_sample_size,
        shown_tolerance=None,
    )
    return stated, tolerances[worst]


def _warn_of_undecidable_groups(
    bound: BoundConstraint | HiddenGroupConstraint,
    estimates: Estimates,
    tolerance: float,
    level: float,
) -> None:
    """Warn of groups whose limit exceeds the tolerance even without any success."""
    if tolerance >= 1.0:
        return
    minimum = int(np.ceil(np.log(1.0 - level) / np.log(1.0 - tolerance)))
    small = np.flatnonzero(estimates.counts < minimum)
    if len(small):
        warn(
            f"Nothing can be shown about groups with fewer than {minimum} samples, at "
            f"tolerance={tolerance:g} and confidence_level={level:g}: "
            f"{_name_events(bound, estimates, small)}. Use more held-out data, or leave these "
            "groups out (min_group_size)."
        )


def _warn_of_skewed_values(
    bound: HiddenGroupConstraint | BoundConstraint, estimates: Estimates
) -> None:
    """Warn of groups whose mean is hardly known, because values are skewed."""
    uncertain = np.flatnonzero(estimates.has_unreliable_limits)
    if len(uncertain):
        warn(
            f"Values of these groups are too skewed for so few samples, or all equal: "
            f"{_name_events(bound, estimates, uncertain)}. A claim may be wrong more often "
            "than confidence_level says. Use more held-out samples, or a bounded loss."
        )


def _name_events(
    bound: BoundConstraint | HiddenGroupConstraint,
    estimates: Estimates,
    positions: np.ndarray | list[int],
) -> str:
    """Events with their numbers of samples, as text."""
    return join_names(
        f"{group!r} ({'' if cell == 'all' else cell + ': '}{estimates.counts[event]})"
        for event, (cell, group) in ((event, bound.sums.cells.labels[event]) for event in positions)
    )


_PLANNED_POWER = 0.8
"""Probability with which the samples that suffice would show a claim about calibration."""


def _required_size_of_calibration(
    estimates: CalibrationErrors,
    gap: float,
    tolerance: float,
    level: float,
) -> int | None:
    """As `_required_size`, of a claim about calibration."""
    if not tolerance - gap > 1e-9:
        return None
    rates = estimates.shares_of_positives
    # Shares of positives and of negatives need the same size.
    rarer = np.minimum(rates, 1.0 - rates)
    rate = max(float(rarer.max()), 1e-3)
    if rate + gap >= 1.0:
        return None
    return calibration_size(tolerance, rate, gap, len(rates), level, _PLANNED_POWER)


def _required_size(
    bound: HiddenGroupConstraint | BoundConstraint,
    estimates: Estimates,
    gap: float,
    tolerance: float,
    level: float,
) -> int | None:
    """Samples of each group, and cell, that suffice if the population is as observed, or None."""
    if isinstance(estimates, CalibrationErrors):
        return _required_size_of_calibration(estimates, gap, tolerance, level)
    # A floor is a ceiling of 1 minus the rate.
    estimates = estimates.estimates if isinstance(estimates, ComplementEstimates) else estimates
    if (
        not isinstance(estimates, Rates | LogRates | RatesAgainstBound)
        # Rest of a tolerance that is a rounding error, for which no sample size suffices.
        or not tolerance - gap > 1e-9
    ):
        return None
    n_groups = len({group for _, group in bound.sums.cells.labels})
    plan = partial(required_sample_size, n_groups=max(2, n_groups), confidence_level=level)
    half = 0.5 / (estimates.sizes + 1.0)
    if isinstance(estimates, LogRates):
        # Plan with the smallest rate, whose logarithm has the largest variance.
        rate = np.clip(np.exp(estimates.values), half, 1.0 - half).min()
        ratio = 1.0 - gap
        largest = min(rate / ratio, 1.0 - half.min())
        return plan(ratio=1.0 - tolerance, expected=ratio, rate=float((rate + largest) / 2.0))
    # Plan with the rate of largest variance, the one nearest to 1/2. Rates of 0 and 1 are moved
    # inwards by half a sample.
    rates = np.clip(estimates.values, half, 1.0 - half)
    if isinstance(estimates, RatesAgainstBound):
        # The largest gap is that of a single group.
        rate = max(gap, float(half.min()))
        return required_sample_size(
            maximum=tolerance, expected=rate, n_groups=n_groups, confidence_level=level
        )
    rate = float(rates[np.abs(rates - 0.5).argmin()])
    # A gap of one's own may be negative, or larger than that of two rates about this one.
    expected = float(np.clip(gap, 0.0, 1.99 * min(rate, 1.0 - rate)))
    return plan(tolerance, expected=expected, rate=rate)
