"""Linear classifiers of two features against every linear rule."""

from functools import cache

import numpy as np

from benchmarks.optimum.comparison import Case, Outcome
from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    MaximumRate,
    MinimumRate,
    RateParity,
)

N_SAMPLES = 160
TOLERANCE = 1e-9


def draw(seed, n_groups, has_weights):
    """Rows whose classes no linear rule separates; groups differ in means and in rates."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(n_groups, N_SAMPLES, p=[0.6, 0.4] if n_groups == 2 else [0.4, 0.33, 0.27])
    X = rng.normal(size=(N_SAMPLES, 2)) + np.outer(groups, [0.8, -0.3])
    scores = X @ [1.2, 0.8] + 0.4 * np.sin(2 * X[:, 0]) - 0.5 * groups
    y = (rng.random(N_SAMPLES) < 1 / (1 + np.exp(-1.5 * scores))).astype(int)
    weights = rng.exponential(size=N_SAMPLES) + 0.1 if has_weights else np.ones(N_SAMPLES)
    return X, y, groups, weights


def indicators(y, groups, weights, n_groups):
    """Weight of each sample by group and class, (n_samples, 2 n_groups)."""
    table = np.zeros((len(y), 2 * n_groups))
    table[np.arange(len(y)), 2 * groups + y] = weights
    return table


def selected_by_cuts(scores, table):
    """Selected weights by all cuts of scores, (n_rules, 2 n_groups); scores may be columns."""
    order = np.argsort(-scores, axis=0)
    sums = np.cumsum(table[order], axis=0).reshape(-1, table.shape[1])
    return np.concatenate([np.zeros((1, table.shape[1])), sums])


@cache
def all_rules(seed, n_groups, has_weights):
    """Selected weights of every linear rule, (n_rules, n_groups, 2).

    The order of the samples changes at the directions that are orthogonal to the difference of two.
    """
    X, y, groups, weights = draw(seed, n_groups, has_weights)
    table = indicators(y, groups, weights, n_groups)
    i, j = np.triu_indices(len(y), 1)
    differences = X[i] - X[j]
    angles = np.sort((np.arctan2(differences[:, 1], differences[:, 0]) + np.pi / 2) % np.pi)
    # One direction of each interval: neighbours differ by one pair, so that every second is enough.
    middles = np.append((angles[1:] + angles[:-1]) / 2, (angles[0] + angles[-1] - np.pi) / 2)[::2]
    rules = []
    for chosen in np.array_split(middles, 40):
        scores = X @ np.array([np.cos(chosen), np.sin(chosen)])
        rules.append(selected_by_cuts(scores, table))
    selected = np.concatenate(rules)
    # Both sides of every line; the empty and the full selection are among them.
    return np.concatenate([selected, table.sum(axis=0) - selected]).reshape(-1, n_groups, 2)


def rates(selected, totals):
    """Rates by group."""
    with np.errstate(all="ignore"):
        n_selected = selected.sum(axis=-1)
        return {
            "selection": n_selected / totals.sum(axis=-1),
            "recall": selected[..., 1] / totals[:, 1],
            "false positives": selected[..., 0] / totals[:, 0],
            "precision": selected[..., 1] / n_selected,
            "f1": 2 * selected[..., 1] / (n_selected + totals[:, 1]),
        }


def error_share(selected, totals):
    """Weighted share of errors."""
    n_rejected = totals[:, 1].sum() - selected[..., 1].sum(axis=-1)
    return (n_rejected + selected[..., 0].sum(axis=-1)) / totals.sum()


def keeps_difference(limit, *names):
    """Test that the difference of two groups in every rate is within the limit."""
    return lambda r: np.all([np.ptp(r[n], axis=-1) <= limit + TOLERANCE for n in names], axis=0)


def keeps_ratio(limit, name):
    """Test that the smallest rate is at least a share of the largest."""
    return lambda r: r[name].min(axis=-1) >= limit * r[name].max(axis=-1) - TOLERANCE


def keeps_bounds(name, low=-np.inf, high=np.inf):
    """Test that the rates of all groups are within bounds."""
    return lambda r: ((r[name] >= low - TOLERANCE) & (r[name] <= high + TOLERANCE)).all(axis=-1)


def rule_case(name, constraint, keeps, n_groups=2, has_weights=False):
    """Problems of ConstrainedERMClassifier."""

    def compare(seed):
        X, y, groups, weights = draw(seed, n_groups, has_weights)
        table = indicators(y, groups, weights, n_groups)
        totals = table.sum(axis=0).reshape(n_groups, 2)
        fit = {"sensitive_features": groups, "sample_weight": weights}
        model = ConstrainedERMClassifier(constraint).fit(X, y, **fit)
        plain = ConstrainedERMClassifier(None).fit(X, y, **fit)
        fitted = table[model.predict(X) == 1].sum(axis=0).reshape(n_groups, 2)
        plain_selected = table[plain.predict(X) == 1].sum(axis=0).reshape(n_groups, 2)
        # Trivial: the plain direction with its best cut, which may be a constant.
        cuts = selected_by_cuts(plain.decision_function(X), table).reshape(-1, n_groups, 2)
        rules = all_rules(seed, n_groups, has_weights)
        best, trivial = (
            error_share(chosen, totals)[keeps(rates(chosen, totals))].min(initial=np.inf)
            for chosen in (rules, cuts)
        )
        # A plain fit that keeps the requirement is the answer, as its mean loss is minimal.
        if keeps(rates(plain_selected, totals)):
            best = trivial = error_share(plain_selected, totals)
        return [
            Outcome(
                error_share(fitted, totals),
                best if np.isfinite(best) else np.nan,
                trivial,
                bool(keeps(rates(fitted, totals))),
                model.status_,
                bool(np.isfinite(best)),
            )
        ]

    names = "ConstrainedERMClassifier", f"{name}; p=2"
    covers = (type(constraint).__name__,)
    return Case(*names, "all linear rules", compare, covers, is_share=True)


PARITY = keeps_difference(0.05, "selection")
ODDS = "recall", "false positives"
CASES = [
    rule_case("selection rates within .05", DemographicParity(tolerance=0.05), PARITY),
    rule_case(
        "ratio of selection rates .8", DemographicParity(ratio=0.8), keeps_ratio(0.8, "selection")
    ),
    rule_case("ratio of recall .9", EqualOpportunity(ratio=0.9), keeps_ratio(0.9, "recall")),
    rule_case(
        "precision at least .8", MinimumRate("precision", 0.8), keeps_bounds("precision", low=0.8)
    ),
    rule_case(
        "false positives at most .15",
        MaximumRate("false_positive_rate", 0.15),
        keeps_bounds("false positives", high=0.15),
    ),
    rule_case(
        "precision within .03",
        RateParity("precision", tolerance=0.03),
        keeps_difference(0.03, "precision"),
    ),
    rule_case(
        "F1 within .03", RateParity("f1_score", tolerance=0.03), keeps_difference(0.03, "f1")
    ),
    rule_case(
        "odds within .1, three groups",
        EqualizedOdds(tolerance=0.1),
        keeps_difference(0.1, *ODDS),
        n_groups=3,
    ),
    rule_case(
        "selection rates within .05, weights",
        DemographicParity(tolerance=0.05),
        PARITY,
        has_weights=True,
    ),
    rule_case(
        "odds within .05, weights",
        EqualizedOdds(tolerance=0.05),
        keeps_difference(0.05, *ODDS),
        has_weights=True,
    ),
]
