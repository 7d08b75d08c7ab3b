r"""The events whose probabilities a constrained decision depends on, besides that of success.

The best decisions under constraints on rates of groups threshold P(y = 1 | x) at a value shifted by
a combination of the probabilities of the constraints' events given x: of a group, or of a group
within a class. A linear model of the log-odds and of these probabilities contains them all.
"""

import numpy as np

from skfair.losses import LogisticLoss
from skfair.surrogates import Step
from skfair.utils._messages import join_names

_CERTAIN = 10.0
"""Score far beyond the threshold of a decision."""


class ConstraintEvents:
    """Events of constraints: subsets of the samples by groups, and the features made of these.

    ``subsets`` are masks of samples, such as the positives, and ``codes`` number disjoint groups.
    ``sources`` are pairs of a one-vs-rest problem and of what the probability of a subset follows
    from: "all" (it is 1), "positives" or "negatives" (that of the problem's positive class),
    or "learned". ``table``, of shape (n_problems, n_subsets, n_codes, n_features), has the weight
    of each event in the features of each problem. With ``compares_scores`` constraints compare
    ranks or losses: then each feature also comes multiplied with the log-odds.
    """

    def __init__(self, subsets, sources, codes, table, compares_scores):
        self.subsets = subsets
        self.sources = sources
        self.codes = codes
        self.table = table
        self.compares_scores = compares_scores

    def check_folds(self, folds, groups):
        """Refuse folds whose training rows lack an event."""
        nouns = {"all": "samples", "learned": "samples of the constraint's cell"}
        is_weighed = self.table.any(axis=(0, 3))  # (n_subsets, n_codes)
        columns = zip(self.subsets, self.sources, is_weighed, strict=True)
        for subset, (_, source), weighed in columns:
            # Only groups with a weight in some feature need a model.
            present = np.intersect1d(self.codes[subset], np.flatnonzero(weighed))
            for number, (train, _) in enumerate(folds):
                missing = np.setdiff1d(present, self.codes[train][subset[train]])
                if len(missing):
                    first = np.flatnonzero(self.codes == missing[0])[0]
                    members = groups.matrix[[first]].indices
                    names = join_names(repr(groups.names[code]) for code in members)
                    raise ValueError(
                        f"Fold {number} of {len(folds)} leaves no {nouns.get(source, source)} of "
                        f"group {names} to learn from. Pass fewer folds or another splitter, "
                        "merge small groups, or leave them out (min_group_size)."
                    )


def find_events(problems, constraints):
    """The events that constraints compare in one-vs-rest problems of the same samples."""
    codes = group_codes(problems[0].samples.groups)
    # One sample of each disjoint group shows of which compared groups it is a member.
    first = np.unique(codes, return_index=True)[1]
    subsets, sources, columns = [], [], []
    for number, problem in enumerate(problems):
        columns.append([])
        for constraint in constraints:
            groups, _ = constraint.compared_groups(problem.samples)
            members = groups.matrix[first].toarray().astype(float)  # (n_codes, n_groups)
            for cell in constraint.cells(problem.samples).values():
                for effects in _decision_effects(constraint, cell, problem.samples.target):
                    weights = problem.samples.weights
                    columns[-1] += _contrasts(effects, members, codes, weights, subsets)
        sources += [
            (number, _source(one, problem.samples.target)) for one in subsets[len(sources) :]
        ]
    tables = [_distinct(_tabulate(one, len(subsets), len(first))) for one in columns]
    # Classes with fewer features get columns of zeros.
    n_features = max(table.shape[2] for table in tables)
    tables = [np.pad(t, ((0, 0), (0, 0), (0, n_features - t.shape[2]))) for t in tables]
    compares_scores = not all(constraint.counts_decisions for constraint in constraints)
    return ConstraintEvents(subsets, sources, codes, np.array(tables), compares_scores)


def group_codes(groups):
    """Codes of disjoint groups of which the groups, that may overlap, are unions, (n_samples,)."""
    if groups.is_disjoint:
        return groups.codes
    return np.unique(groups.matrix.toarray(), axis=0, return_inverse=True)[1].ravel()


def _decision_effects(constraint, cell, target):
    """Of each term of the rate, the subsets of a cell with what a positive decision adds to it."""
    rate = constraint.rate(Step(), LogisticLoss())
    if rate is None:  # it compares ranks
        return [[(cell, 1.0)]]
    terms = rate if isinstance(rate, tuple) else (rate,)
    return [_term_effects(one, cell, target) for one in terms]


def _term_effects(rate, cell, target):
    """Subsets of a cell, each with what a positive decision about its samples adds to a term."""
    # Compare the rate of certain positive decisions with that of negative ones, in each class.
    negative, positive = (
        rate(np.full(2, score), np.array([-1.0, 1.0])).value for score in (-_CERTAIN, _CERTAIN)
    )
    # What a decision adds per sample, relative to the largest effect; its sign decides the
    # direction.
    effects = positive - negative
    effects = effects / (np.abs(effects).max() or 1.0)
    inside = target[cell]
    # Equal effects in both classes, or one class: the cell is one event. Else one event per class.
    if effects[0] == effects[1] or len(np.unique(inside)) == 1:
        return [(cell, effects[int(inside[0] > 0)])] if len(inside) else []
    return [(cell & (target < 0), effects[0]), (cell & (target > 0), effects[1])]


def _contrasts(effects, members, codes, weights, subsets):
    """Features of a cell: each group's event less that of the largest, as weights by subset.

    Subsets that are new are appended to ``subsets``.
    """
    mass = sum(np.bincount(codes[one], weights[one], len(members)) for one, _ in effects)
    share = mass @ members / weights.sum() if effects else np.zeros(members.shape[1])
    occupied = np.flatnonzero(share > 0)
    if len(occupied) < 2:
        return []
    # Differences of rates: every group against the largest. Those of other pairs are combinations.
    largest = occupied[np.argmax(share[occupied])]
    numbers = [(_number(subset, subsets), effect) for subset, effect in effects]
    columns = []
    for group in occupied[occupied != largest]:
        contrast = members[:, group] / share[group] - members[:, largest] / share[largest]
        columns.append({number: effect * contrast for number, effect in numbers})
    return columns


def _number(subset, subsets):
    """Position of a subset among all, where it is appended if it is new."""
    for number, known in enumerate(subsets):
        if np.array_equal(subset, known):
            return number
    subsets.append(subset)
    return len(subsets) - 1


def _source(subset, target):
    """What the probability of a subset follows from."""
    if subset.all():
        return "all"
    if np.array_equal(subset, target > 0):
        return "positives"
    return "negatives" if np.array_equal(subset, target < 0) else "learned"


def _tabulate(columns, n_subsets, n_codes):
    """Features as an array of weights, (n_subsets, n_codes, n_features)."""
    table = np.zeros((n_subsets, n_codes, len(columns)))
    for number, column in enumerate(columns):
        for subset, weights in column.items():
            table[subset, :, number] = weights
    return table


def _distinct(table):
    """The table without features that are multiples of others, as several constraints share."""
    if not table.size:
        return table
    columns = table.reshape(-1, table.shape[2])
    # Scale to a largest entry of 1, so that multiples are equal up to rounding.
    columns = columns / np.abs(columns).max(axis=0, initial=1e-300)
    _, first = np.unique(columns.round(12), axis=1, return_index=True)
    return table[:, :, np.sort(first)]


def check_several_classes(problems, constraints, confidence):
    """Refuse what needs the one score of two classes where there are several classes."""
    if len(problems) == 1:
        return
    if confidence is not None:
        raise ValueError(
            f"confidence_level needs 2 classes, but there are {len(problems)}; pass None, or make "
            "two classes of them, as in y == label."
        )
    others = [constraint for constraint in constraints if not constraint.counts_decisions]
    if others:
        raise ValueError(
            f"{type(others[0]).__name__} compares ranks or losses of one score, but each of "
            f"{len(problems)} classes has its own. Pass a constraint on rates of decisions, such "
            "as 'demographic_parity', or make two classes of them, as in y == label."
        )
