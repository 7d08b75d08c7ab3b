"""Rates of the k highest scores: a cut with ties, and rates given the number of places."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skfair._statistics.estimates import Rates
from skfair._statistics.group_estimates import FixedTotalRates, estimate_quotients
from skfair._utils.checks import argument_error, is_int
from skfair.metrics._rates import Rate, to_confusion_matrix

if TYPE_CHECKING:
    from skfair._groups import Groups, Samples
    from skfair._statistics.estimates import Estimates


class TopSelection(NamedTuple):
    """Which samples are among the k highest scores.

    Attributes
    ----------
    decisions : ndarray of float64, shape (n_samples,)
        1 above the cut, 0 below it. Samples at the cut share the places that are left, equally.
    n_tied : int
        Samples at the cut that share places; 0 where each sample is selected or not.
    n_shared_places : float
        Places that they share.
    """

    decisions: np.ndarray
    n_tied: int
    n_shared_places: float

    def describe_ties(self) -> str:
        """Sentence on the ties; empty without ties."""
        if not self.n_tied:
            return ""
        return (
            f"{self.n_tied:,} samples tie at the cut and share {self.n_shared_places:,.6g} places"
        )


def check_places(k: float, n_samples: int) -> bool:
    """Whether k is a number of places, and no share of the samples; raise if it is neither."""
    is_number = is_int(k, 1, n_samples)
    is_share = isinstance(k, Real) and not isinstance(k, Integral) and 0.0 < k < 1.0
    if not is_number and not is_share:
        raise argument_error(
            f"k must be a number of places from 1 to {n_samples}, or a share of the samples "
            f"strictly between 0 and 1, such as 0.1; got {k!r}."
        )
    return is_number


def select_top(scores: np.ndarray, samples: Samples, k: float) -> TopSelection:
    """Select the k highest scores: a number of places, or their share of all samples.

    Places are counted in weight, of which samples have 1 on average.
    """
    n_samples = samples.groups.n_samples
    is_number = check_places(k, n_samples)
    weights = samples.weights * (n_samples / samples.weights.sum())
    places = float(k if is_number else k * n_samples)
    # The cut: the highest score at which the places are filled.
    values, codes = np.unique(-scores, return_inverse=True)
    filled = np.cumsum(np.bincount(codes, weights))
    cut = min(int(np.searchsorted(filled, places * (1.0 - 1e-12))), len(values) - 1)
    at_cut = codes == cut
    left = places - (filled[cut - 1] if cut else 0.0)
    share = min(1.0, left / weights[at_cut].sum())
    share = 1.0 if share > 1.0 - 1e-9 else share
    decisions = np.where(codes < cut, 1.0, np.where(at_cut, share, 0.0))
    n_tied = 0 if share == 1.0 else int(samples.groups.row_counts[at_cut].sum())
    return TopSelection(decisions, n_tied, left)


@dataclass(frozen=True)
class TopRate:
    """A rate of decisions about the k highest scores, of which samples at the cut have a share.

    Shares of selected samples in sets that do not depend on decisions, such as true positive rates,
    have exact intervals given k (`FixedTotalRates`). Others have their own, which
    do not condition on k.
    """

    rate: Rate

    response = "decisions"

    @property
    def name(self) -> str:
        """What reports and messages call it."""
        return self.rate.name

    @property
    def needs_target(self) -> bool:
        """Whether the rate depends on outcomes."""
        return self.rate.needs_target

    def estimate(
        self,
        columns: dict[str, np.ndarray],
        groups: Groups,
        weights: np.ndarray,
        clusters: Any = None,
    ) -> tuple[Estimates | None, np.ndarray]:
        """Estimates of the groups, as `Rate.estimate`; decisions are numbers in [0, 1]."""
        selected = columns["decisions"]
        truth = columns["y_true"] if self.needs_target else np.zeros(len(selected), dtype=bool)
        truth = truth.astype(np.intp)
        counted = self._counted_classes()
        if counted is not None and groups.is_disjoint:
            is_set, counts_selected = counted
            hits = selected if counts_selected else 1.0 - selected
            return _estimate_fixed_total(hits, is_set[truth], groups, weights)
        if np.isin(selected, (0.0, 1.0)).all():
            decided = columns | {"decisions": selected > 0.5}
            return self.rate.estimate(decided, groups, weights, clusters)
        if self.rate.is_share and groups.is_disjoint:
            return _estimate_shares(self.rate, truth, selected, groups, weights)
        # What each sample counts: its part that is selected, and its part that is not.
        parts = np.column_stack((1.0 - selected, selected))
        numerators, denominators = (
            (parts * to_confusion_matrix(table)[truth]).sum(axis=1)
            for table in (self.rate.numerator, self.rate.denominator)
        )
        return estimate_quotients(numerators, denominators, groups, weights, clusters)

    def _counted_classes(self) -> tuple[np.ndarray, bool] | None:
        """Which true classes are counted, and whether hits are the selected ones of their samples.

        None of rates that are no shares of selected, or of rejected, samples of true classes.
        """
        unit = max(self.rate.denominator)
        numerator, denominator = (
            to_confusion_matrix(table) / unit
            for table in (self.rate.numerator, self.rate.denominator)
        )
        is_set = denominator[:, 0] > 0
        are_classes = (denominator == is_set[:, np.newaxis]).all()
        for side, counts_selected in (([0.0, 1.0], True), ([1.0, 0.0], False)):
            if are_classes and (numerator == np.outer(is_set, side)).all():
                return is_set, counts_selected
        return None


def _estimate_shares(
    rate: Rate, truth: np.ndarray, selected: np.ndarray, groups: Groups, weights: np.ndarray
) -> tuple:
    """Estimates of a share, where parts of samples are selected."""
    n_groups = len(groups.labels)
    n = groups.row_counts
    tables = np.zeros((n_groups, 2, 2, 3))
    for decision, part in ((0, 1.0 - selected), (1, selected)):
        for power, summand in enumerate((n, weights, weights**2 / n)):
            sums = np.bincount(2 * groups.codes + truth, part * summand, 2 * n_groups)
            tables[:, :, decision, power] = sums.reshape(n_groups, 2)
    hits, misses = rate.sums(tables)
    present = np.flatnonzero((hits + misses)[:, 1] > 0)
    estimates = Rates.from_sums(hits[present], misses[present]) if len(present) else None
    return estimates, present


def _estimate_fixed_total(
    hits: np.ndarray, mask: np.ndarray, groups: Groups, weights: np.ndarray
) -> tuple:
    """Estimates of shares of hits among the samples of a mask, given the hits of all samples."""
    n_groups = len(groups.labels)
    n_samples = groups.n_samples
    n = groups.row_counts
    unit = n_samples / weights.sum()
    columns = (mask * hits * weights * unit, mask * weights * unit, mask * n)
    totals, sizes, counts = (np.bincount(groups.codes, one, n_groups) for one in columns)
    present = np.flatnonzero(sizes > 0)
    if not len(present):
        return None, present
    estimates = FixedTotalRates(
        totals[present],
        sizes[present],
        counts[present],
        n_selected=unit * (weights @ hits),
        n_samples=float(n_samples),
        efficiency=weights.sum() ** 2 / (weights @ (weights / n)) / n_samples,
    )
    return estimates, present
