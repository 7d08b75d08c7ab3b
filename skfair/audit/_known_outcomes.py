"""Which decisions of an audit have outcomes, and what is known of rates then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from skfair._statistics.group_estimates import estimate_means
from skfair._statistics.known_shares import (
    KnownSamples,
    differ_by_decision,
    lacks_outcomes,
)
from skfair._statistics.rates_by_decision import (
    DecisionCounts,
    DecisionSamples,
    RatesByDecision,
    WeightedCounts,
)
from skfair._utils.checks import argument_error, number_text
from skfair.audit._tables import needs_outcome
from skfair.metrics import RATES, Rate

if TYPE_CHECKING:
    from skfair._groups import Samples
    from skfair._groups.groups import Groups
    from skfair._utils.api import Label
    from skfair.audit._outcomes import MissingOutcomes

Case = Literal["complete", "untested", "by_chance", "by_decision", "of_one_decision"]
"""How outcomes are missing; "untested" if there are no two decisions that could differ."""

_REMEDY = (
    "If nothing but the group and the decision says whether an outcome is known, rates of "
    "decisions can weigh them: pass Outcomes(y, missing='by_decision') as y_true, or "
    "--missing-outcomes by_decision. 'at_random' counts the known ones as they are."
)
"""What to do where known shares differ by decision."""


class _Decisions(NamedTuple):
    """Whether the audited decision and the outcome are positive, (n_rows,) each."""

    is_selected: np.ndarray
    is_true: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class KnownOutcomes:
    """Which samples have an outcome, by the decision that was made.

    Arrays are (n_rows,). ``weights`` are sampling weights, or numbers of samples. ``made`` are
    codes of the decision that was made, and ``labels`` its labels, which are empty where no
    decision is known. ``has_outcome`` is the mask of known outcomes. ``y_pred`` are decisions that
    are audited, or None, ``y_true`` outcomes, and ``pos_label`` is the positive class, None of more
    than two. ``period`` and ``cluster`` are codes. ``missing`` is what the user says of missing
    outcomes.
    """

    groups: Groups
    weights: np.ndarray
    made: np.ndarray
    labels: tuple[str, ...]
    has_outcome: np.ndarray
    y_pred: np.ndarray | None
    y_true: np.ndarray
    pos_label: Label | None
    period: np.ndarray
    cluster: np.ndarray | None
    missing: MissingOutcomes | None

    # How outcomes are missing.

    @cached_property
    def n(self) -> np.ndarray:
        """Number of samples by decision made, (n_labels,)."""
        return self._count(np.ones(len(self.has_outcome), dtype=bool))

    @cached_property
    def n_known(self) -> np.ndarray:
        """Number of samples with an outcome by decision made, (n_labels,)."""
        return self._count(self.has_outcome)

    @cached_property
    def case(self) -> Case:
        """How outcomes are missing, from decisions, groups, months and masks of outcomes alone."""
        if self.has_outcome.all():
            return "complete"
        if len(self.labels) < 2:
            return "untested"
        if self.lacks_outcomes.any():
            return "of_one_decision"
        return "by_decision" if differ_by_decision(self._known_samples) else "by_chance"

    @cached_property
    def lacks_outcomes(self) -> np.ndarray:
        """Mask of the decisions whose samples have no outcome, and not by chance, (n_labels,)."""
        samples = self._known_samples
        none = self.n_known == 0
        for label in np.flatnonzero(none):
            none[label] = lacks_outcomes(samples, samples.decisions == label, len(none))
        return none

    @cached_property
    def _known_samples(self) -> KnownSamples:
        """Which samples have an outcome, with a row for each group that a sample is in."""
        rows, group = self.groups.memberships
        units = self.cluster
        if not self.groups.is_disjoint:
            units = np.arange(len(self.has_outcome)) if units is None else units
        elif units is not None and len(np.unique(units)) == len(units):
            units = None
        return KnownSamples(
            groups=group,
            periods=self.period[rows],
            decisions=self.made[rows],
            has_outcome=self.has_outcome[rows],
            counts=self.groups.row_counts[rows],
            units=None if units is None else units[rows],
        )

    @property
    def are_counted_as_they_are(self) -> bool:
        """Whether the samples that have an outcome stand for all."""
        if self.case == "complete":
            return True
        if self.missing == "by_decision":
            return False
        if self.missing == "at_random":
            return self.case != "of_one_decision"
        return self.case in ("untested", "by_chance")

    @property
    def are_weighted(self) -> bool:
        """Whether samples count by the inverse of the known share of their group and decision."""
        return self.missing == "by_decision" and self.case not in ("complete", "of_one_decision")

    # Which rates are known.

    def is_known(self, rate: Any, label: Label | None = None) -> bool:
        """Return whether the samples that have an outcome tell a rate of all, as they are.

        `label` is the positive class, where it is not the only one. A rate that counts samples of
        one decision made is known, such as the precision of the model in use.
        """
        if self.are_counted_as_they_are:
            return True
        if not isinstance(rate, Rate):
            return False
        if not rate.needs_target:
            return True
        if rate.decision is None or self.y_pred is None:
            return False
        if label is None and self.pos_label is None:  # each class is compared with all others
            return all(self.is_known(rate, one) for one in np.unique(self.y_pred))
        counted = self._compare_with(label).is_selected == rate.decision
        is_of_one = len(np.unique(self.made[counted])) == 1
        return is_of_one and bool(self.has_outcome[counted].any())

    def weighs(self, rate: Any) -> bool:
        """Return whether a rate counts samples by the inverse of the known share.

        Of more than two classes other rates than the accuracy are rates of a class.
        """
        is_share = isinstance(rate, Rate) and rate.is_share
        return self.are_weighted and self.y_pred is not None and is_share

    def check(self, rate: Any, name: str) -> None:
        """Raise for a rate that the known outcomes do not tell."""
        if not self.is_known(rate):
            raise argument_error(f"y_true does not tell {name} of all samples. {self.sentence}")

    # Sentences.

    @property
    def sentence(self) -> str:
        """How outcomes are missing, what is not known then, and what can be asked instead."""
        if self.case == "of_one_decision":
            return self._describe_lacking()
        known = (
            f"{self.shares_clause} have an outcome, so that the known ones do not stand for all."
        )
        if self.missing == "by_decision":
            return (
                f"{known} Rates of decisions and the accuracy weigh them. Metrics of scores, other "
                "performances, searches of subgroups and the k highest of scores that tie do not: "
                "ask a report or a claim about rates of decisions, of groups by several columns."
            )
        return f"{known} {_REMEDY}"

    def _describe_lacking(self) -> str:
        """Sentences on the decisions without any outcome."""
        instead = "selection rates"
        if self._is_audited:
            instead += f" or {self._name_known_rate()}"
        return (
            f"{self._count_lacking(self.lacks_outcomes)} has an outcome. Rates that need these "
            f"outcomes are not known, whatever the number of samples: ask about {instead}, or "
            "learn the outcomes of a random sample of them."
        )

    def _count_lacking(self, is_lacking: np.ndarray) -> str:
        """Begin a sentence on the samples of the decisions in a mask, (n_labels,)."""
        names = " or ".join(repr(self.labels[one]) for one in np.flatnonzero(is_lacking))
        return f"None of the {int(self.n[is_lacking].sum()):,} samples decided {names}"

    @property
    def shares_clause(self) -> str:
        """Which share of the samples of each decision has an outcome."""
        *others, last = (
            f"{number_text(100.0 * known / all_, 3)} % of the {all_:,.0f} samples decided {label!r}"
            for known, all_, label in zip(self.n_known, self.n, self.labels, strict=True)
        )
        return f"{', '.join(others)} and {last}"

    @property
    def assumption(self) -> str:
        """What rates assume of the outcomes that are missing; empty if nothing."""
        if self.are_weighted:
            return "if nothing but the group and the decision says whether an outcome is known"
        if self.case == "complete":
            is_of_one = len(self.labels) == 1
            return "if no samples of another decision are missing from the data" * is_of_one
        if self.case == "untested" and self.missing is None:
            return "if outcomes are missing at random, since no two decisions show whether they are"
        is_assumed = self.missing == "at_random" or self._may_lack_by_chance
        return "if outcomes are missing at random" if is_assumed else ""

    @property
    def _may_lack_by_chance(self) -> bool:
        """Whether a decision has no outcome, of too few samples to tell that this is no chance."""
        return self.case == "by_chance" and not self.n_known.all()

    def describe_left_out(self) -> str:
        """Sentence on the rates that are left out; empty if samples count as they are."""
        return "" if self.are_counted_as_they_are else f"{self.sentence} Other rates are left out."

    @property
    def facts(self) -> dict[str, str]:
        """How outcomes are missing, what the user says of it, and what follows, for a report."""
        facts = {"case": self.case, "missing": self.missing, "sentence": self.describe_report()}
        return {name: one for name, one in facts.items() if one}

    def describe_report(self) -> str:
        """Sentence of a report on what is left out or assumed; empty if neither is."""
        if self.are_weighted and self.y_pred is not None:
            known = f"{self.shares_clause} have an outcome"
            return f"{known}: rates are those of all samples {self.assumption}."
        if self.case == "complete" and len(self.labels) == 1:
            return (
                f"All samples are decided {self.labels[0]!r}: if samples of another decision are "
                "missing from the data, rates that count both decisions are not known."
            )
        if self.case == "untested" and self.missing is None:
            return self._describe_untested()
        if self._may_lack_by_chance:
            none = self._count_lacking(self.n_known == 0)
            return (
                f"{none} has an outcome, perhaps by chance: rates that need these outcomes count "
                "other samples only."
            )
        return self.describe_left_out()

    def _describe_untested(self) -> str:
        """Sentence on outcomes that are missing where no two decisions can be compared."""
        reason = "No decision is known that could say which outcomes are known."
        if self.labels:
            reason = (
                f"All samples are decided {self.labels[0]!r}: no sample of another decision shows "
                "which outcomes are known."
            )
        return (
            f"{reason} If there was one, pass it: Outcomes(y, decided=...) as y_true, or --decided."
        )

    # Estimates of rates of all samples.

    def select(
        self,
        estimators: dict[str, Callable],
        further: Mapping[str, Any] | None = None,
        weigh: Callable | None = None,
    ) -> dict[str, Callable]:
        """Return the estimators by metric that the known outcomes tell, weighted where asked for.

        `further` are metrics of the user by name. Names of rates of a class end in its label.
        `weigh` returns the weighted estimator of a rate and a label, or None if there is none.
        """
        if self.are_counted_as_they_are:
            return estimators
        weigh = self._weigh if weigh is None else weigh
        metrics = RATES | dict(further or {})
        selected = {}
        for name, one in estimators.items():
            metric, label = self._find_metric(name, metrics)
            needs_none = not needs_outcome(name) or (metric is not None and not metric.needs_target)
            if needs_none or self.is_known(metric, label):
                selected[name] = one
            elif self.weighs(metric) and (weighed := weigh(metric, label)) is not None:
                selected[name] = weighed
        return selected

    def _weigh(self, rate: Rate, label: Label | None) -> Callable:
        """Return the estimator of a weighted rate; of many classes it is the share judged rightly.

        This share is the precision of a model that selects all samples, where the outcome is
        whether the decision is right.
        """
        if label is not None:
            return partial(self.estimate, rate, label)
        is_right = self.y_true == self.y_pred
        judged = replace(self, y_pred=np.ones(len(is_right), dtype=bool), y_true=is_right)
        return partial(judged.estimate, RATES["positive_predictive_value"], True)

    def _find_metric(self, name: str, metrics: Mapping[str, Any]) -> tuple[Any, Label | None]:
        """Return the metric of a name, and the class that it is of."""
        if name in metrics:
            return metrics[name], self.pos_label
        base, _, text = name.partition(" of class ")
        if not text:
            return metrics.get(base), self.pos_label
        labels = [] if self.y_pred is None else [*np.unique(self.y_pred), *np.unique(self.y_true)]
        label = next((one for one in labels if str(one) == text), None)
        return metrics.get(base), label

    def leave_out(
        self, estimators: dict[str, Callable], *, decides_otherwise: bool
    ) -> dict[str, Callable]:
        """Return the estimators that the known outcomes tell as they are.

        Of the decisions of another model these are the estimators that need no outcomes.
        """
        if self.are_counted_as_they_are:
            return estimators
        return {
            name: one
            for name, one in estimators.items()
            if not needs_outcome(name)
            or (not decides_otherwise and self.is_known(*self._find_metric(name, RATES)))
        }

    def estimate(
        self,
        rate: Rate,
        label: Label | None,
        groups: Groups,
        weights: np.ndarray | None,
        clusters: np.ndarray | None = None,
    ) -> tuple[RatesByDecision | None, np.ndarray]:
        """Return rates of groups whose strata have outcomes of all decisions, and these groups.

        Samples of equal code in `clusters`, (n_rows,), are not independent.
        """
        return self._estimate_models(rate, label, groups, clusters, ())

    def estimate_models(
        self,
        rate: Rate,
        label: Label | None,
        groups: Groups,
        other: np.ndarray,
        clusters: np.ndarray | None = None,
    ) -> tuple[RatesByDecision | None, np.ndarray]:
        """Return rates of groups by two models, and these groups, as `estimate` does.

        `other` are the decisions of the second model. Its groups are numbered after the groups of
        the first. Strata are those of both decisions, so that rates differ a little from the
        estimates of one model by itself.
        """
        return self._estimate_models(rate, label, groups, clusters, (other,))

    def _estimate_models(
        self,
        rate: Rate,
        label: Label | None,
        groups: Groups,
        clusters: np.ndarray | None,
        others: tuple[np.ndarray, ...],
    ) -> tuple[RatesByDecision | None, np.ndarray]:
        """Return rates of groups by this model and others, and the numbers of these groups."""
        n_groups, n_models = len(groups.labels), 1 + len(others)
        strata = self._divide(groups, label, others)
        lacks = np.bincount(strata.group, strata.counts.lacks_outcomes, n_groups) > 0
        known = np.zeros((n_models, n_groups, 2, 2))
        for number, of_model in enumerate(known):
            one = np.full(len(strata.group), number)
            np.add.at(of_model, strata.group, strata.counts.tabulate_known(one))
        is_counted = (known * (rate.tables[1] > 0)).any(axis=(2, 3))
        present = np.flatnonzero(~lacks & is_counted & (groups.counts > 0))
        if not len(present):
            return None, present
        model, codes = np.divmod(present, n_groups)
        estimands = _Estimands([rate] * len(present), codes, model)
        return self._estimate_strata(estimands, strata, clusters), present

    def estimate_events(
        self,
        rates: list[Rate],
        codes: list[int],
        groups: Groups,
        label: Label | None,
        clusters: np.ndarray | None = None,
        others: tuple[np.ndarray, ...] = (),
    ) -> RatesByDecision:
        """Return the rate of each event, of the group with the code of the event.

        With the decisions of `others` there are as many events of each of these models. Strata
        without outcomes of some decision are left out.
        """
        n_models = 1 + len(others)
        model = np.repeat(np.arange(n_models), len(codes))
        estimands = _Estimands(rates * n_models, np.tile(codes, n_models), model)
        return self._estimate_strata(estimands, self._divide(groups, label, others), clusters)

    def _estimate_strata(
        self, estimands: _Estimands, strata: _Strata, clusters: np.ndarray | None
    ) -> RatesByDecision:
        """Return rates of events from the strata of their groups."""
        is_known = ~strata.counts.lacks_outcomes
        of_events = [np.flatnonzero((strata.group == code) & is_known) for code in estimands.codes]
        selected = np.concatenate(of_events)
        if clusters is None and not self.groups.is_disjoint:
            clusters = np.arange(len(self.has_outcome))
        members = None
        if clusters is not None:
            members = strata.samples.number_units(clusters).take(selected)
        return RatesByDecision(
            np.array([one.tables for one in estimands.rates]),
            strata.counts.take(selected),
            np.repeat(np.arange(len(of_events)), [len(one) for one in of_events]),
            model=estimands.model,
            shared=selected if estimands.model.any() else None,
            members=members,
        )

    def list_counts(self) -> dict[str, Callable]:
        """Return estimators by name whose counts the weighted rates tell: outcomes by decisions.

        Samples count by the decision that was made and the audited one.
        """
        if not self.are_weighted:
            return {}
        decided = np.zeros(len(self.made)) if self.y_pred is None else self.y_pred
        audited = pd.factorize(decided)[0]
        cells = pd.factorize(self.made * (audited.max() + 1) + audited)[0]
        classes = np.unique(self.y_true) if self.pos_label is None else [self.pos_label]
        return {
            f"outcome {label} of cell {cell}": partial(
                estimate_means, self.y_true == label, self.has_outcome & (cells == cell)
            )
            for cell in range(cells.max() + 1)
            for label in classes
        }

    def mask_estimable(self) -> np.ndarray:
        """Return whether the group of each row has outcomes of all decisions made in it."""
        strata = self._divide(self.groups, None, ())
        lacks = np.bincount(strata.group, strata.counts.lacks_outcomes, len(self.groups.labels)) > 0
        rows, codes = self.groups.memberships
        return np.bincount(rows, lacks[codes], len(self.has_outcome)) == 0

    def check_candidate(self, name: str, decisions: np.ndarray | None, performance: str) -> None:
        """Raise for a candidate whose performance is not known, since it decides otherwise.

        `decisions` are the decisions of the candidate, or None if its performance is of scores.
        """
        if self.are_counted_as_they_are:
            return
        differs = True if decisions is None else decisions != self.y_pred
        n = int((self.groups.row_counts * differs * ~self.has_outcome).sum())
        if n:
            raise argument_error(
                "candidates must decide as the model in use where no outcome is known, but "
                f"{name!r} decides otherwise about {n:,} such samples, so that its {performance} "
                f"is not known. {self.sentence}"
            )

    # Counts.

    @property
    def _is_audited(self) -> bool:
        """Whether the decision that was made is the decision that is audited."""
        if self.y_pred is None:
            return False
        codes, audited = pd.factorize(self.y_pred)
        n_pairs = len(np.unique(self.made * len(audited) + codes))
        return n_pairs == len(self.labels) == len(audited)

    def _name_known_rate(self) -> str:
        """Name a rate of the samples of a decision that has outcomes."""
        if len(self.labels) > 2:
            return "the precision of other classes"
        row = int(np.isin(self.made, np.flatnonzero(self.lacks_outcomes)).argmax())
        lacks_positive = self._compare_with(None).is_selected[row]
        return "the negative predictive value" if lacks_positive else "the precision"

    def _compare_with(self, label: Label | None) -> _Decisions:
        """Return decisions and outcomes of one class against all others."""
        positive = self.pos_label if label is None else label
        if self.y_pred is None:
            return _Decisions(np.zeros(len(self.y_true), dtype=bool), self.y_true == positive)
        return _Decisions(self.y_pred == positive, self.y_true == positive)

    def _count(self, mask: np.ndarray) -> np.ndarray:
        """Number of samples in the mask by decision made, (n_labels,)."""
        return np.bincount(self.made, (self.groups.row_counts * mask), len(self.labels))

    def _divide(
        self, groups: Groups, label: Label | None, others: tuple[np.ndarray, ...]
    ) -> _Strata:
        """Return the strata of groups, with their counts by the decisions of all models.

        Strata are the finest groups of the audit within each group: known shares may differ
        among them.
        """
        decisions = self._compare_with(label)
        positive = self.pos_label if label is None else label
        # Columns are the decision made and the audited ones, strata pairs of groups.
        audited = np.stack([decisions.is_selected, *(one == positive for one in others)], axis=1)
        codes = self.made.astype(int)
        for one in audited.T:
            codes = 2 * codes + one
        _, first, column = np.unique(codes, return_index=True, return_inverse=True)
        rows, group = groups.memberships
        finest = self.groups.codes[rows] if self.groups.is_disjoint else group
        n_finest = finest.max(initial=0) + 1
        strata, stratum = np.unique(group * n_finest + finest, return_inverse=True)
        cells = stratum * len(first) + column[rows]
        shape = len(strata), len(first)
        known = self.has_outcome
        numbers = groups.row_counts * np.ones(len(known))
        weights = (self.weights, self.weights**2, numbers)
        if groups.multiplicity is not None:  # weights are numbers of samples
            weights = (numbers, numbers, numbers)
        n, n_known, n_positive = (
            WeightedCounts(
                *(
                    np.bincount(cells, (one * mask)[rows], np.prod(shape)).reshape(shape)
                    for one in weights
                )
            )
            for mask in (np.ones(len(known), dtype=bool), known, known & decisions.is_true)
        )
        samples = DecisionSamples(
            stratum, column[rows], rows, weights[0][rows], known[rows], decisions.is_true[rows]
        )
        counts = DecisionCounts(n, n_known, n_positive, self.made[first], audited[first])
        return _Strata(counts, strata // n_finest, samples)


class _Estimands(NamedTuple):
    """What is estimated: the rate of each event, the code of its group, and its model."""

    rates: list[Rate]
    codes: np.ndarray
    model: np.ndarray


class _Strata(NamedTuple):
    """Counts of strata, the group of each, (n_strata,), and samples, whose units are rows."""

    counts: DecisionCounts
    group: np.ndarray
    samples: DecisionSamples


def _are_equal(values: np.ndarray) -> bool:
    """Return whether all values are equal."""
    return bool((values == values[0]).all())


def find_known_outcomes(
    samples: Samples,
    columns: dict[str, np.ndarray],
    pos_label: Label | None,
    missing: MissingOutcomes | None,
    clusters: np.ndarray | None = None,
) -> KnownOutcomes | None:
    """Return which samples have an outcome; None if all have one, and decisions differ.

    The decision that was made is the column "decided", or the decision that is audited, "y_pred",
    if there is one.
    """
    y_pred = columns.get("y_pred")
    made = columns.get("decided", y_pred)
    has_outcome = columns.get("has_outcome")
    if has_outcome is None:
        is_of_one_decision = pos_label is not None and made is not None and _are_equal(made)
        if not is_of_one_decision or "y_true" not in columns:
            return None
        has_outcome = np.ones(len(samples.weights), dtype=bool)
    n_rows = len(has_outcome)
    labels: tuple[str, ...] = ()
    codes = np.zeros(n_rows, dtype=np.intp)
    if made is not None:
        codes, values = pd.factorize(made, sort=True)
        labels = tuple(map(str, values))
    periods = columns.get("period", np.zeros(n_rows, dtype=np.intp))
    return KnownOutcomes(
        groups=samples.groups,
        weights=samples.weights,
        made=codes,
        labels=labels,
        has_outcome=has_outcome,
        y_pred=y_pred,
        y_true=columns["y_true"],
        pos_label=pos_label,
        period=pd.factorize(periods)[0],
        cluster=clusters,
        missing=missing,
    )
