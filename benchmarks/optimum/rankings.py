"""Rankers of two features, and group thresholds, against all answers."""

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from benchmarks.optimum.comparison import Case, Outcome
from skfair._postprocessing.rank_shift import shifted_scores
from skfair.classification import PartialParityPostprocessor
from skfair.metrics import (
    partial_demographic_parity_difference,
    partial_statistical_parity_difference,
)
from skfair.ranking import ConstrainedRanker

N_QUERIES, N_ITEMS = 25, 8
SIZES = (40, 50)
"""Samples of the two groups whose rates are enumerated."""


def ranker_case(tolerance):
    """Problems of ConstrainedRanker: every direction gives another order of the pairs."""

    def compare(seed):
        rng = np.random.default_rng(seed)
        queries = np.repeat(np.arange(N_QUERIES), N_ITEMS)
        groups = rng.integers(2, size=len(queries))
        X = rng.normal(size=(len(queries), 2)) + np.outer(groups, [1.2, -0.4])
        noise = rng.normal(size=len(queries))
        y = (X @ [1.0, 0.7] - 0.9 * groups * (seed % 3) + noise > 0.4).astype(int)
        is_pair = (queries[:, np.newaxis] == queries) & (y[:, np.newaxis] > y)
        better, worse = np.nonzero(is_pair)
        differences = X[better] - X[worse]
        pairs = 2 * groups[better] + groups[worse]

        def measure(directions):
            """Shares of wrong pairs, and differences of the groups, (n_directions,) each."""
            is_right = differences @ directions > 0
            rates = [is_right[pairs == kind].mean(axis=0) for kind in (1, 2)]
            return 1 - is_right.mean(axis=0), np.abs(rates[0] - rates[1])

        # Orders change at the directions that are orthogonal to a difference.
        angles = np.arctan2(differences[:, 1], differences[:, 0]) + np.pi / 2
        angles = np.sort(np.concatenate([angles % (2 * np.pi), (angles + np.pi) % (2 * np.pi)]))
        middles = np.append((angles[1:] + angles[:-1]) / 2, (angles[0] + angles[-1]) / 2 + np.pi)
        errors, gaps = measure(np.array([np.cos(middles), np.sin(middles)]))
        model = ConstrainedRanker(tolerance=tolerance)
        model.fit(X, y, query_id=queries, sensitive_features=groups)
        cost, gap = (one[0] for one in measure(model.coef_[:, np.newaxis]))
        allowed = errors[gaps <= tolerance + 1e-9]
        # A plain fit that keeps the tolerance is the answer, as its mean loss is minimal.
        plain = ConstrainedRanker(None).fit(X, y, query_id=queries)
        plain_error, plain_gap = measure(plain.coef_[:, np.newaxis])
        allowed = plain_error if plain_gap[0] <= tolerance + 1e-9 else allowed
        # Trivial: half of the pairs in a random order.
        return [
            Outcome(
                cost,
                allowed.min(initial=np.inf) if len(allowed) else np.nan,
                0.5,
                bool(gap <= tolerance + 1e-9),
                model.status_,
                len(allowed) > 0,
            )
        ]

    name = f"pairs of groups within {tolerance}; p=2"
    covers = ("RankingParity",)
    return Case("ConstrainedRanker", name, "all directions", compare, covers, is_share=True)


def partial_case(constraint, metric, interval, tolerance):
    """Problems of PartialParityPostprocessor: all pairs of rates of two groups."""

    def compare(seed):
        rng = np.random.default_rng(seed)
        groups = np.repeat([0, 1], SIZES)
        scores = rng.normal(size=len(groups)) + groups
        noise = rng.normal(size=len(groups))
        y = (scores + noise > 0.3 + 0.3 * (seed % 2)).astype(int)
        X = scores[:, np.newaxis]
        grid = np.linspace(-3, 3, 50)
        plain = LogisticRegression().fit(grid[:, np.newaxis], grid + np.tile([0.5, -0.5], 25) > 0.4)
        model = PartialParityPostprocessor(
            FrozenEstimator(plain), constraint=constraint, interval=interval, tolerance=tolerance
        )
        model.fit(X, y, sensitive_features=groups)
        decisions = model.predict(X, sensitive_features=groups)
        shifted = model.decision_function(X, sensitive_features=groups)
        meets_limits = (
            metric(shifted, sensitive_features=groups, interval=interval) <= tolerance + 1e-9
        )
        # Ranks from the top in each group, and the errors of every number of selected samples.
        ranks = np.empty(len(groups))
        for g, size in enumerate(SIZES):
            order = np.argsort(-scores[groups == g])
            ranks[np.flatnonzero(groups == g)[order]] = np.arange(size) / size
        pairs = np.indices((SIZES[0] + 1, SIZES[1] + 1)).reshape(2, -1).T
        is_selected = ranks < (pairs / SIZES)[:, groups] - 1e-12
        errors = (is_selected != y).mean(axis=1)
        best = np.inf
        for k in np.argsort(errors, kind="stable"):
            # The level of a rate is between two ranks.
            levels = (pairs[k] - 0.5) / SIZES
            candidate = shifted_scores(ranks, levels[groups], levels.mean())
            if metric(candidate, sensitive_features=groups, interval=interval) <= tolerance:
                best = errors[k]
                break
        constant = min(y.mean(), 1 - y.mean())
        cost = float((decisions != y).mean())
        return [Outcome(cost, best, constant, bool(meets_limits), model.status_)]

    name = f"{constraint} on {interval} within {tolerance}"
    covers = ("PartialStatisticalParity",)
    if metric is partial_demographic_parity_difference:
        covers = ("PartialDemographicParity",)
    estimator = "PartialParityPostprocessor"
    return Case(estimator, name, "all pairs of rates", compare, covers, is_share=True)


STATISTICAL = "partial_statistical_parity", partial_statistical_parity_difference
DEMOGRAPHIC = "partial_demographic_parity", partial_demographic_parity_difference
CASES = [
    ranker_case(0.05),
    ranker_case(0.1),
    partial_case(*STATISTICAL, (0.1, 0.7), 0.1),
    partial_case(*DEMOGRAPHIC, (0.1, 0.7), 0.1),
    partial_case(*DEMOGRAPHIC, (0.0, 1.0), 0.05),
]
