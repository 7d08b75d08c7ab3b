"""Which decisions of an audit have outcomes, and what is known of rates then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import stats

from skfair._statistics.rates_by_decision import RatesByDecision
from skfair._utils.checks import argument_error, join_names, number_text
from skfair.metrics import RATES, Rate

if TYPE_CHECKING:
    from skfair._groups import Samples
    from skfair._groups.groups import Groups
    from skfair._utils.api import Label

MissingOutcomes = Literal["by_decision", "at_random"]
"""What a user says of outcomes that are missing, as `missing_outcomes`."""

_LEVEL = 0.001
"""Error of the test that finds shares of known outcomes which differ by decision."""

_LARGEST_FACTOR = 1.1
"""Factor of known shares up to which they count as equal: a rate of .5 is wrong by .024 then."""

_NEEDS_NO_OUTCOME = ("selection_rate", "mean_probability", "scoring_rate", "mean_prediction")


@dataclass(frozen=True, eq=False, kw_only=True)
class KnownOutcomes:
    """Decisions between two classes, and which of them have an outcome.

    ``is_selected`` and ``is_true``, whether the decision and the outcome are positive, and
    ``has_outcome`` have shape (n_rows,). ``labels`` are those of the negative and of the positive
    decision, and ``missing`` is what the user says of missing outcomes.
    """

    groups: Groups
    is_selected: np.ndarray
    is_true: np.ndarray
    has_outcome: np.ndarray
    labels: tuple[str, str]
    missing: MissingOutcomes | None

    @cached_property
    def n(self) -> np.ndarray:
        """Number of samples by group and decision, (n_groups, 2)."""
        return self._count(self.groups, np.ones(len(self.is_selected), dtype=bool))

    @cached_property
    def n_known(self) -> np.ndarray:
        """Number of samples with an outcome by group and decision, (n_groups, 2)."""
        return self._count(self.groups, self.has_outcome)

    @cached_property
    def case(self) -> Literal["complete", "by_chance", "by_decision", "of_one_decision"]:
        """How outcomes are missing, from decisions, groups and masks of outcomes alone."""
        n, n_known = self.n.sum(axis=0), self.n_known.sum(axis=0)
        if (n == n_known).all():
            return "complete"
        if ((n > 0) & (n_known == 0)).any():
            return "of_one_decision"
        return "by_decision" if self._differs_by_decision() else "by_chance"

    @property
    def are_counted_as_they_are(self) -> bool:
        """Whether the samples that have an outcome stand for all."""
        if self.missing == "by_decision":
            return self.case == "complete"
        return self.case in ("complete", "by_chance") or (
            self.case == "by_decision" and self.missing == "at_random"
        )

    @property
    def are_weighted(self) -> bool:
        """Whether samples count by the inverse of the known share of their group and decision."""
        return self.missing == "by_decision" and self.case in ("by_chance", "by_decision")

    def is_known(self, rate: Any) -> bool:
        """Whether the samples that have an outcome tell a rate of all samples, as they are."""
        if self.are_counted_as_they_are or rate is RATES["selection_rate"]:
            return True
        decision = rate.decision if isinstance(rate, Rate) else None
        return decision is not None and bool(self.n_known[:, decision].any())

    def weighs(self, rate: Any) -> bool:
        """Whether a rate counts samples by the inverse of the known share."""
        is_share = isinstance(rate, Rate) and rate.is_share
        return self.are_weighted and is_share and not self.is_known(rate)

    def check(self, rate: Any, name: str) -> None:
        """Raise for a rate that the known outcomes do not tell."""
        if not self.is_known(rate):
            raise argument_error(f"y_true does not tell {name} of all samples. {self.sentence}")

    @property
    def sentence(self) -> str:
        """How outcomes are missing, what is not known then, and what can be asked instead."""
        n, n_known = self.n.sum(axis=0).astype(int), self.n_known.sum(axis=0).astype(int)
        if self.case == "of_one_decision":
            lacking = int(((n > 0) & (n_known == 0)).argmax())
            rate = ("precision", "negative predictive value")[lacking]
            return (
                f"None of the {n[lacking]:,} samples decided {self.labels[lacking]!r} has an "
                "outcome. Rates that need these outcomes are not known, whatever the number of "
                f"samples: ask about selection rates or the {rate}, or learn the outcomes of a "
                "random sample of them."
            )
        known = (
            f"{self.shares_clause} have an outcome, so that the known ones do not stand for all."
        )
        if self.missing == "by_decision":
            return f"{known} Reports and claims on one rate weigh them."
        return (
            f"{known} Pass missing_outcomes='by_decision' if nothing but the group and the "
            "decision says whether an outcome is known. Samples then count by the inverse of the "
            "known share. Pass 'at_random' to count the known ones as they are."
        )

    @property
    def shares_clause(self) -> str:
        """Which share of the samples of each decision has an outcome."""
        n, n_known = self.n.sum(axis=0), self.n_known.sum(axis=0)
        return join_names(
            f"{number_text(100.0 * known / all_, 3)} % of the {all_:,.0f} samples decided {label!r}"
            for known, all_, label in zip(n_known, n, self.labels, strict=True)
        )

    @property
    def assumption(self) -> str:
        """What rates assume of the outcomes that are missing; empty if nothing."""
        if self.are_weighted:
            return "if nothing but the group and the decision says whether an outcome is known"
        return "if outcomes are missing at random" if self.missing == "at_random" else ""

    def estimate(
        self, rate: Rate, groups: Groups, weights: np.ndarray | None
    ) -> tuple[RatesByDecision | None, np.ndarray]:
        """Rates of groups whose strata all have outcomes of both decisions, and these groups.

        The strata are the groups of the audit, of which an attribute has several.
        """
        every = np.ones(len(self.is_selected), dtype=bool)
        strata, group = _cross(groups, self.groups)
        n = self._count(strata, every)
        by_class = [self._count(strata, self.has_outcome & (self.is_true == one)) for one in (0, 1)]
        known = np.stack(by_class, axis=1)
        lacks_one = ((known.sum(axis=1) == 0) & (n > 0)).any(axis=1)
        is_known = np.bincount(group, lacks_one, len(groups.labels)) == 0
        present = np.flatnonzero(is_known & (groups.counts > 0))
        if not len(present):
            return None, present
        inside = np.flatnonzero(np.isin(group, present))
        group = np.searchsorted(present, group[inside])
        known = known[inside]
        counts = np.bincount(group, rate.base(known), len(present))
        return RatesByDecision(rate, n[inside], known, group, counts), present

    def describe_left_out(self) -> str:
        """Sentence on the rates that are left out; empty if samples count as they are."""
        return "" if self.are_counted_as_they_are else f"{self.sentence} Other rates are left out."

    def describe_report(self) -> str:
        """Sentence of a report on what is left out or assumed; empty if neither is."""
        if self.are_weighted:
            known = f"{self.shares_clause} have an outcome"
            return f"{known}: rates are those of all samples {self.assumption}."
        return self.describe_left_out()

    def select(self, estimators: dict[str, Callable]) -> dict[str, Callable]:
        """The estimators by metric that the known outcomes tell, weighted where asked for."""
        if self.are_counted_as_they_are:
            return estimators
        selected = {}
        for name, one in estimators.items():
            rate = RATES.get(name)
            if name in _NEEDS_NO_OUTCOME or self.is_known(rate):
                selected[name] = one
            elif rate is not None and self.weighs(rate):
                selected[name] = partial(self.estimate, rate)
        return selected

    def leave_out(
        self, estimators: dict[str, Callable], *, decides_otherwise: bool
    ) -> dict[str, Callable]:
        """The estimators that the known outcomes tell as they are.

        Of the decisions of another model, which did not say whose outcome is known, these are the
        estimators that need no outcomes.
        """
        if self.are_counted_as_they_are:
            return estimators
        return {
            name: one
            for name, one in estimators.items()
            if name in _NEEDS_NO_OUTCOME
            or (not decides_otherwise and self.is_known(RATES.get(name)))
        }

    def check_candidate(self, name: str, decisions: np.ndarray | None, performance: str) -> None:
        """Raise for a candidate whose performance is not known, since it decides otherwise."""
        if self.are_counted_as_they_are:
            return
        counts = self.groups.row_counts
        differs = True if decisions is None else decisions != self.is_selected
        n = int((counts * differs * ~self.has_outcome).sum())
        if n:
            raise argument_error(
                "candidates must decide as the model in use where no outcome is known, but "
                f"{name!r} decides otherwise about {n:,} such samples, so that its {performance} "
                f"is not known. {self.sentence}"
            )

    def _count(self, groups: Groups, mask: np.ndarray) -> np.ndarray:
        """Number of samples in the mask by group and decision, (n_groups, 2)."""
        rows, group = groups.memberships
        cells = 2 * group + self.is_selected[rows]
        counts = (groups.row_counts * mask)[rows]
        return np.bincount(cells, counts, 2 * len(groups.labels)).reshape(-1, 2)

    def _differs_by_decision(self) -> bool:
        """Whether the known shares of both decisions differ, over all groups or within one."""
        occurring = self.n.any(axis=1)
        n, n_known = self.n[occurring], self.n_known[occurring]
        tests = [(n, n_known, _LEVEL)]
        tests += [(n[[g]], n_known[[g]], _LEVEL / len(n)) for g in range(len(n))]
        return any(_shares_differ(*one) for one in tests)


def _cross(groups: Groups, strata: Groups) -> tuple[Groups, np.ndarray]:
    """The groups within each stratum, and the group of each; overlapping ones are no strata."""
    if not (groups.is_disjoint and strata.is_disjoint):
        return groups, np.arange(len(groups.labels))
    pairs, codes = np.unique(groups.codes * len(strata.labels) + strata.codes, return_inverse=True)
    group = pairs // len(strata.labels)
    return groups.regroup(codes, groups.labels[group]), group


def find_known_outcomes(
    samples: Samples,
    columns: dict[str, np.ndarray],
    pos_label: Label | None,
    missing: MissingOutcomes | None,
) -> KnownOutcomes | None:
    """Which decisions have an outcome; None if all have one, or there are no two classes."""
    if pos_label is None or not {"y_pred", "has_outcome"} <= set(columns):
        return None
    is_selected = columns["y_pred"] == pos_label
    others = np.unique(columns["y_pred"][~is_selected]).tolist()
    return KnownOutcomes(
        groups=samples.groups,
        is_selected=is_selected,
        is_true=columns["y_true"] == pos_label,
        has_outcome=columns["has_outcome"],
        labels=(join_names(map(str, others)), str(pos_label)),
        missing=missing,
    )


def _shares_differ(n: np.ndarray, n_known: np.ndarray, level: float) -> bool:
    """Whether known shares of both decisions differ within strata, by more than a tenth.

    The test is Cochran, Mantel and Haenszel's, and the factor of the shares Mantel and Haenszel's.
    The odds of true and false positive rates of the known samples are wrong by this factor.
    """
    totals, known = n.sum(axis=1), n_known.sum(axis=1)
    lower, upper = np.sort((n_known * n[:, ::-1] / totals[:, np.newaxis]).sum(axis=0))
    excess = abs((n_known[:, 1] - known * n[:, 1] / totals).sum())
    scale = totals**2 * np.maximum(totals - 1, 1)
    variance = (known * (totals - known) * n.prod(axis=1) / scale).sum()
    z = max(excess - 0.5, 0.0) / np.sqrt(max(variance, 1e-300))
    return bool(upper > _LARGEST_FACTOR * lower and 2.0 * stats.norm.sf(z) < level)
