r"""Offsets of groups that bound the exposure of groups in rankings.

Rankings that sort by score plus an offset of the group maximise the mean of score times attention
(the discounted cumulative gain by the scores) plus multiples of the groups' exposures, by the
rearrangement inequality in each query. So offsets maximise the Lagrangian of bounds on exposures,
and follow from the multipliers of its dual problem. Where the group is not known, an offset is the
mean over its probabilities given x.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.utils import gen_batches

from skfair._bound.bound import ConstraintSystem
from skfair._bound.gap import RangeGap
from skfair._fitting.counting import excess_of
from skfair._fitting.outcome import (
    REPORT_ATTRIBUTE,
    Subtask,
    describe_violation,
    unconstrained_fit_attributes,
    warn_of_one_group,
)
from skfair._postprocessing.constrained_cv import (
    find_checked_events,
    find_group_model,
    fit_score_columns,
    prediction_attributes,
)
from skfair._postprocessing.events import EventFeatures
from skfair._utils.checks import warn
from skfair.exceptions import ConstraintCostWarning, InfeasibleConstraintWarning
from skfair.losses import LogisticLoss, step_function
from skfair.metrics._ranking import document_exposure, relative_merit

if TYPE_CHECKING:
    from skfair._fitting.input import TrainingData
    from skfair._postprocessing.constrained_cv import ConstrainedCV
    from skfair._postprocessing.scored_samples import ScoredSamples


_ROUNDING = 1e-12
"""Excesses below it are rounding."""


_N_PLACES = 25
"""Points of the path of offsets that are tried at a time."""

_N_ZOOMS = 5
"""How often points are tried, each time with smaller distances."""


_N_AT_ONCE = 5
"""Offsets that are tried in one array. None is tried after the first that keep the tolerance."""

_BATCH_SIZE = 1 << 20
"""Documents times offsets that are ranked at a time, at most."""

_LARGEST_KEY = 2.0**62

_LIMITS = {"maxiter": 50, "maxfun": 100}
"""Iterations and evaluations of a dual problem."""


class RankedDocuments(NamedTuple):
    """Documents with out-of-fold scores, and features whose coefficients are offsets of groups."""

    scores: np.ndarray  # (n_documents,)
    features: np.ndarray  # (n_documents, n_offsets)
    query: np.ndarray  # codes
    weights: np.ndarray  # mean weights
    shares: np.ndarray  # weights of the groups that are compared
    bound: Any  # the constraint on attention
    k: int | None  # ranks that get attention

    def predict(self, offsets: np.ndarray) -> np.ndarray:
        """Score plus offset of each document."""
        if not len(offsets):
            return self.scores
        return round_ties(self.scores + self.features @ offsets, self.tie_unit)

    @property
    def tie_unit(self) -> float:
        """Difference up to which scores tie where there are offsets, a power of 2."""
        spread = self.scores.std() or 1.0
        # Scores with offsets have 36 binary digits, relative to the standard deviation.
        return float(np.exp2(np.floor(np.log2(spread)) - 36))

    def attention(self, offsets: np.ndarray) -> np.ndarray:
        """Attention of each document in the ranking by score and offset."""
        return document_exposure(self.predict(offsets), self.query, self.k, "log")

    def violation(self, offsets: np.ndarray) -> float:
        """By how much the gap exceeds the tolerance; infinite if it is unknown."""
        excess = self.bound.value(self.attention(offsets)) - self.bound.tolerance
        if np.isnan(excess):
            return np.inf
        return float(excess) if excess > _ROUNDING else 0.0


class _OffsetRankings(NamedTuple):
    """Rankings by many offsets at once, of documents in the order of their queries.

    With documents sorted by query, the ranks at the positions of a query are the same for all
    offsets, so that the attention of a position is, too.
    """

    scores: np.ndarray  # (n_documents,), sorted by query
    features: np.ndarray  # (n_documents, n_offsets)
    tie_unit: float  # of scores plus offsets
    order: np.ndarray  # (n_documents,) rows of the documents
    total_attention: np.ndarray  # (n_documents + 1,) of the positions before each
    query_number: np.ndarray  # (n_documents,) of each document

    @classmethod
    def make(cls, documents: RankedDocuments) -> _OffsetRankings:
        """Sort documents by query."""
        order = np.argsort(documents.query, kind="stable")
        _, query_number, sizes = np.unique(
            documents.query[order], return_inverse=True, return_counts=True
        )
        starts = np.cumsum(sizes) - sizes
        ranks = np.arange(1, len(order) + 1) - starts[query_number]
        n_ranks = np.inf if documents.k is None else documents.k
        attention = (ranks <= n_ranks) / np.log2(1.0 + ranks)
        return cls(
            scores=documents.scores[order],
            features=documents.features[order],
            tie_unit=documents.tie_unit,
            order=order,
            total_attention=np.append(0.0, np.cumsum(attention)),
            query_number=query_number,
        )

    def sum_attention(self, offsets: np.ndarray, effects: np.ndarray) -> np.ndarray:
        """Return sums of effects times attention, (n_effects, n_rankings).

        ``offsets`` is (n_rankings, n_offsets) and ``effects`` (n_effects, n_documents), in the
        order of the rows.
        """
        keys = self._make_keys(offsets)
        by_score = np.argsort(keys, axis=1)  # (n_rankings, n_documents)
        shared = self._share_attention(np.take_along_axis(keys, by_score, axis=1))
        sorted_effects = effects[:, self.order]
        return np.array([(effect[by_score] * shared).sum(axis=1) for effect in sorted_effects])

    def _share_attention(self, sorted_keys: np.ndarray) -> np.ndarray:
        """Return the attention of each position, (n_rankings or 1, n_documents).

        Documents of equal keys get the mean attention of their positions.
        """
        changes = np.diff(sorted_keys, axis=1) != 0
        if changes.all():
            return np.diff(self.total_attention)[np.newaxis]
        n_rankings, n_positions = sorted_keys.shape
        ends = np.ones((n_rankings, 1), dtype=bool)
        positions = np.arange(n_positions)
        first = np.where(np.hstack((ends, changes)), positions, 0)
        first = np.maximum.accumulate(first, axis=1)
        last = np.where(np.hstack((changes, ends)), positions, n_positions)
        last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
        total = self.total_attention
        return (total[last + 1] - total[first]) / (last + 1 - first)

    def _make_keys(self, offsets: np.ndarray) -> np.ndarray:
        """Return integers that sort documents by query, then by score plus offset, best first.

        They are (n_rankings, n_documents). Equal keys are ties.
        """
        predictions = self.scores + offsets @ self.features.T
        units = np.rint(predictions / -self.tie_unit)
        units -= units.min()
        # Number the scores where the integers of all queries would have more than 63 digits.
        if units.max() * len(self.order) > _LARGEST_KEY:
            units = np.unique(units, return_inverse=True)[1].reshape(units.shape)
        scores_of_query = int(units.max()) + 1
        return self.query_number * scores_of_query + units.astype(np.int64)


def round_ties(scores: np.ndarray, unit: float) -> np.ndarray:
    """Scores as multiples of a unit, a power of 2, so that those that differ by rounding tie."""
    return np.rint(scores / unit) * unit


class OffsetSearch(NamedTuple):
    """Offsets, the number of rounds that led to them, and whether no smaller ones are as good."""

    offsets: np.ndarray
    n_rounds: int
    is_exhaustive: bool


def search_offsets(documents: RankedDocuments) -> OffsetSearch:
    """The smallest offsets that keep the tolerance, or those that exceed it least.

    Of two known groups all offsets are searched. Else these are on a path.
    """
    sides = _split_by_offset(documents)
    pairs = None if sides is None else _pair_documents(*sides)
    if sides is not None and pairs is not None:
        low, high = sides
        return OffsetSearch(_sweep_offsets(documents, low, high, pairs), 1, True)
    # From no offsets to the multipliers of the bound, then to equal exposures and beyond.
    rankings = _OffsetRankings.make(documents)
    tolerances = documents.bound.tolerance, 0.0
    optimal, equal = (_solve_dual(documents, rankings, one) for one in tolerances)
    path = np.array([0.0 * equal, optimal, equal, 2.0 * equal])
    return OffsetSearch(_search_path(documents, rankings, path), _N_ZOOMS, False)


# Of two known groups the ranking changes only where a document of one passes one of the other.


class _Side(NamedTuple):
    """Documents of one offset: those of a query with equal scores are one entry, best first."""

    query: np.ndarray
    scores: np.ndarray
    counts: np.ndarray  # documents of each entry
    before: np.ndarray  # documents of the query and side before it
    effects: np.ndarray  # of the attention of its documents on the sums, (n_sums, n_entries)


class _Pairs(NamedTuple):
    """Pairs of entries of two sides in one query."""

    low: np.ndarray  # entries of the side that no offset moves
    high: np.ndarray  # entries of the side that the offset raises
    offsets: np.ndarray  # at which their scores are equal


def _split_by_offset(documents: RankedDocuments) -> list[_Side] | None:
    """The two `_Side` of documents that one offset moves relative to each other; None if not so."""
    values = np.unique(documents.features)
    if documents.features.shape[1] != 1 or len(values) != 2:
        return None
    is_high = documents.features[:, 0] == values[1]
    effects = documents.bound.sums.events.averaging_matrix.toarray()
    sides = []
    for rows in (np.flatnonzero(~is_high), np.flatnonzero(is_high)):
        rows = rows[np.lexsort((-documents.scores[rows], documents.query[rows]))]
        query = documents.query[rows]
        scores = documents.scores[rows]
        is_new_query = np.diff(query, prepend=-1) != 0
        first = np.flatnonzero(is_new_query | (np.diff(scores, prepend=np.nan) != 0.0))
        query_start = np.maximum.accumulate(np.where(is_new_query, np.arange(len(rows)), 0))
        counts = np.diff(first, append=len(rows))
        # Documents of equal score share their attention.
        shared = np.add.reduceat(effects[:, rows], first, axis=1) / counts
        sides.append(
            _Side(
                query=query[first],
                scores=scores[first],
                counts=counts,
                before=(np.arange(len(rows)) - query_start)[first],
                effects=shared,
            )
        )
    return sides


def _pair_documents(low: _Side, high: _Side) -> _Pairs | None:
    """All `_Pairs` of two sides; None if they are too many."""
    first = np.searchsorted(high.query, low.query, side="left")
    n_others = np.searchsorted(high.query, low.query, side="right") - first
    n_pairs = int(n_others.sum())
    # Search all offsets of up to a million pairs of documents.
    if not 0 < n_pairs <= 1 << 20:
        return None
    of_low = np.repeat(np.arange(len(low.query)), n_others)
    position = np.arange(n_pairs) - np.repeat(np.cumsum(n_others) - n_others, n_others)
    of_high = first[of_low] + position
    return _Pairs(of_low, of_high, low.scores[of_low] - high.scores[of_high])


def _sweep_offsets(
    documents: RankedDocuments, low: _Side, high: _Side, pairs: _Pairs
) -> np.ndarray:
    """The smallest offset that keeps the tolerance, or that exceeds it least, as (1,)."""
    order = np.argsort(pairs.offsets, kind="stable")
    pairs = _Pairs(*(one[order] for one in pairs))
    at_tie, after = _change_sums(documents, low, high, pairs)
    # Offsets that differ by rounding are one: there all their pairs are equal in score.
    starts = np.flatnonzero(np.diff(pairs.offsets, prepend=-np.inf) > 2.0 * documents.tie_unit)
    ties = pairs.offsets[starts]
    at_tie, after = (np.add.reduceat(one, starts, axis=1) for one in (at_tie, after))
    # Sums below the smallest tie, between each two ties, and above the largest.
    scale = np.ptp(documents.features)
    spread = documents.scores.std() or 1.0
    lowest = np.array([(ties[0] - spread) / scale])
    sums = documents.bound.sums.exact_means(documents.attention(lowest))[:, np.newaxis]
    changes = np.zeros((len(sums), len(ties) + 1))
    changes[: len(after), 1:] = np.cumsum(after, axis=1)
    between = sums + changes
    equal = between[:, :-1].copy()
    equal[: len(at_tie)] += at_tie
    # The point of each interval that is nearest to 0, and all ties; the smallest first.
    edges = np.concatenate(([ties[0] - spread], ties, [ties[-1] + spread]))
    # Documents have passed each other at a distance of 1e-5 standard deviations.
    margins = np.minimum(np.diff(edges) / 2.0, 1e-5 * spread)
    inside = np.where(edges[1:] <= 0.0, edges[1:] - margins, edges[:-1] + margins)
    offsets = np.concatenate((inside, ties)) / scale
    excess = excess_of(documents.bound, np.hstack((between, equal)))
    excess = np.where(excess > _ROUNDING, excess, 0.0)
    # Take the 100 offsets of least excess.
    order = np.lexsort((np.abs(offsets), excess))[:100]
    # Recount them: scores of ties may differ by more than rounding.
    recounted = []
    for offset in offsets[order, np.newaxis]:
        recounted.append((documents.violation(offset), offset))
        if not recounted[-1][0]:
            break
    return min(recounted, key=lambda one: one[0])[1]


def _change_sums(
    documents: RankedDocuments, low: _Side, high: _Side, pairs: _Pairs
) -> tuple[np.ndarray, np.ndarray]:
    """Changes of the sums of attention by each pair: at equal scores, and after them.

    Two arrays of shape (n_sums, n_pairs).
    """
    n_ranks = int(np.bincount(documents.query).max())
    ranks = np.arange(1, n_ranks + 1)
    attention = (ranks <= (np.inf if documents.k is None else documents.k)) / np.log2(1.0 + ranks)
    total = np.append(0.0, np.cumsum(attention))  # of the first ranks
    # Before, documents of the low side have the first of the ranks that both entries take.
    n_low = low.counts[pairs.low]
    n_high = high.counts[pairs.high]
    first = low.before[pairs.low] + high.before[pairs.high]
    last = first + n_low + n_high
    of_both = total[last] - total[first]
    low_before = total[first + n_low] - total[first]
    low_after = total[last] - total[first + n_high]
    by_low = low.effects[:, pairs.low]
    by_high = high.effects[:, pairs.high]
    # What one side loses the other one gains.
    difference = by_low - by_high
    at_tie = difference * (of_both * n_low / (n_low + n_high) - low_before)
    return at_tie, difference * (low_after - low_before)


# Else offsets on a path follow from dual problems.


def _search_path(
    documents: RankedDocuments, rankings: _OffsetRankings, path: np.ndarray
) -> np.ndarray:
    """Return the offsets on a path at which the smallest violation is reached first.

    ``path`` is (n_knots, n_offsets), and so are the offsets between two neighbours.
    """
    knots = np.arange(len(path))
    low, high = knots[[0, -1]]
    for _ in range(_N_ZOOMS):
        places = np.linspace(low, high, _N_PLACES)
        candidates = np.column_stack([np.interp(places, knots, column) for column in path.T])
        violations = _find_violations(documents, rankings, candidates)
        best = int(np.argmin(violations))
        # Look between its neighbours, or after the last one that exceeds the tolerance.
        after = best + int(violations[best] > 0.0)
        low = places[max(best - 1, 0)]
        high = places[min(after, _N_PLACES - 1)]
    return candidates[best]


def _find_violations(
    documents: RankedDocuments, rankings: _OffsetRankings, candidates: np.ndarray
) -> np.ndarray:
    """Return the violation by each of the offsets up to the first that keeps the tolerance."""
    bound = documents.bound
    effects = bound.sums.events.averaging_matrix.toarray()
    # The sums of merits, which follow, do not depend on the attention.
    sums = bound.sums.exact_means(np.zeros(len(documents.scores)))[:, np.newaxis]
    n_at_once = min(_N_AT_ONCE, max(1, _BATCH_SIZE // len(documents.scores)))
    violations = []
    for batch in gen_batches(len(candidates), n_at_once):
        of_batch = np.repeat(sums, len(candidates[batch]), axis=1)
        of_batch[: len(effects)] = rankings.sum_attention(candidates[batch], effects)
        excess = excess_of(bound, of_batch)
        violations.append(np.where(excess > _ROUNDING, excess, 0.0))
        if not violations[-1].all():
            break
    return np.concatenate(violations)


def _solve_dual(
    documents: RankedDocuments, rankings: _OffsetRankings, tolerance: float
) -> np.ndarray:
    """Return offsets of the largest gain whose exposures keep a tolerance, (n_offsets,)."""
    sums = documents.bound.sums
    shares = documents.shares
    merits = sums.exact_means(documents.scores)[len(shares) :] if sums.is_quotient else 1.0
    # All rankings have one mean exposure: differences from the first group, which features
    # average, change the exposures of groups by these multiples.
    changes = ((np.eye(len(shares)) - shares) / np.reshape(merits, (-1, 1)))[:, 1:]
    # Rows and upper bounds: scale * largest <= smallest + width.
    width, scale = documents.bound.gap.width_and_scale(tolerance)
    forms = RangeGap(documents.bound.gap.blocks, scale).linear_forms(len(shares))
    rows = forms @ changes
    # What groups get differs from what their probabilities let expect: as by the scores alone.
    attention = documents.attention(np.zeros(len(shares) - 1))
    differences = documents.features.T @ (documents.weights * attention)
    upper = width - forms @ (sums.measure(attention) - changes @ differences)
    return -_find_multipliers(documents, rankings, rows, upper) @ rows


def _find_multipliers(
    documents: RankedDocuments, rankings: _OffsetRankings, rows: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Return multipliers of rows of the differences of exposures that features average.

    ``rows`` is (n_rows, n_offsets), and ``upper`` (n_rows,) has their upper bounds.
    """
    unit = documents.scores.std() or 1.0
    effects = documents.weights * np.vstack((documents.features.T, documents.scores))

    def dual(multipliers: np.ndarray) -> tuple[float, np.ndarray]:
        offsets = -unit * (multipliers @ rows)
        *differences, score = rankings.sum_attention(offsets[np.newaxis], effects)[:, 0]
        gain = (score + offsets @ differences) / unit
        return gain + upper @ multipliers, upper - rows @ differences

    start = np.zeros(len(rows))
    # Multipliers are searched up to 10 standard deviations of the scores.
    bounds = [(0.0, 10.0)] * len(rows)
    return unit * minimize(dual, start, jac=True, bounds=bounds, options=_LIMITS).x


# The fit, from out-of-fold scores to what predictions need.


def fit_exposure_rule(
    estimator: ConstrainedCV, scored: ScoredSamples, query: np.ndarray
) -> dict[str, Any]:
    """Fitted attributes of offsets by which out-of-fold scores keep a bound on exposure."""
    with Subtask(estimator, scored.context, "offsets of groups"):
        columns = fit_score_columns(scored)
        constraint_events = find_checked_events(scored)
        features = EventFeatures.make_empty(constraint_events)
        documents = _rank_documents(scored, columns.values[:, 0], query)
        # Where rankings by the scores alone keep the bound, no group is estimated.
        if scored.constraints and documents.violation(np.empty(0)):
            # Offsets do not depend on the score.
            constraint_events = replace(constraint_events, compares_scores=False)
            features, probabilities = find_group_model(estimator, scored, constraint_events)
            values = features.features(columns.values, probabilities)
            documents = documents._replace(features=values[0, :, 1:])
            search = search_offsets(documents)
        else:
            search = OffsetSearch(np.empty(0), 0, True)
    predictions = documents.predict(search.offsets)
    fitted = prediction_attributes(scored, columns, features) | {
        "rule_coef_": np.append(1.0, search.offsets),
        "rule_intercept_": 0.0,
        "_tie_unit": documents.tie_unit,
        "n_iter_": search.n_rounds,
        "oof_prediction_": scored.per_class[0].unit.from_unit(predictions),
    }
    if not scored.constraints:
        return fitted | unconstrained_fit_attributes({})
    _warn_of_worse_ranks(scored.training.samples.target, documents, search.offsets)
    return fitted | _describe_exposure(scored.training, documents, search)


def _warn_of_worse_ranks(
    relevance: np.ndarray, documents: RankedDocuments, offsets: np.ndarray
) -> None:
    """Warn if rankings gain less than random ones, and those by the scores alone gain more."""
    if not len(offsets):
        return
    # Random ranks: all documents of a query tie.
    same = np.zeros(len(relevance))
    random = document_exposure(same, documents.query, documents.k, "log")
    gains = documents.weights * relevance
    free = documents._replace(features=documents.features[:, :0]).attention(np.empty(0))
    taken, unconstrained, chance = (
        float(gains @ one) for one in (documents.attention(offsets), free, random)
    )
    if taken < chance < unconstrained:
        warn(
            "The rankings are worse than random ranks: their discounted cumulative gain is "
            f"{taken / chance:.3g} times that of random ranks on the training data, that without "
            f"offsets {unconstrained / chance:.3g} times. Loosen the bound, or leave small "
            "groups out (min_group_size).",
            ConstraintCostWarning,
        )


def _rank_documents(
    scored: ScoredSamples, scores: np.ndarray, query: np.ndarray
) -> RankedDocuments:
    """The documents, with no features, and with the constraint bound to their attention."""
    samples = scored.training.samples
    bound = None
    k = None
    shares = None
    weights = samples.weights / samples.weights.sum()
    for constraint in scored.constraints:  # one at most
        merit = np.ones(len(query))
        if constraint.merit is not None:
            merit = relative_merit("y", samples.target, samples)
        bound = constraint.bind(
            samples._replace(target=merit),
            surrogate=step_function,  # not used, as the loss
            loss=LogisticLoss(),
            tolerance=None,  # the constraint carries it
        )
        shares = constraint.compared_groups(samples)[0].matrix.T @ weights
        shares = shares / shares.sum()
        k = constraint.k
    return RankedDocuments(
        scores=scores,
        features=np.empty((len(query), 0)),
        query=query,
        weights=weights,
        shares=shares,  # type: ignore[arg-type]
        bound=bound,
        k=k,
    )


def _describe_exposure(
    training: TrainingData, documents: RankedDocuments, search: OffsetSearch
) -> dict[str, Any]:
    """Fitted attributes of the report, the violation and the status; warn of a violation."""
    system = ConstraintSystem((documents.bound,))
    attention = documents.attention(search.offsets)
    report = system.report_columns(attention)
    violation = documents.violation(search.offsets)
    if len(documents.shares) < 2:
        warn_of_one_group(training, system)
        return unconstrained_fit_attributes(report)
    status = "optimal" if search.is_exhaustive else "feasible"
    if violation:
        gaps = system.gaps(attention)
        outcome = SimpleNamespace(gaps=gaps, violation=violation, scores=np.empty(0))
        warn(describe_violation(system, outcome), InfeasibleConstraintWarning)
        status = "infeasible"
    return {REPORT_ATTRIBUTE: report, "constraint_violation_": violation, "status_": status}
