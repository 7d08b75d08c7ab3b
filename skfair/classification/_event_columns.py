r"""What of a person a fair decision depends on, beside how likely success is.

The best decisions under constraints on rates of groups put the threshold of P(y = 1 | x) where a
combination of the probabilities of the constraints' events says (group, or group and class, given
x). So a linear model of the log-odds and of these probabilities holds all that is to be known.
"""

import numpy as np

from skfair.losses import LogisticLoss
from skfair.surrogates import Step
from skfair.utils._messages import join_names

_FAR = 10.0
"""A score whose decision nobody doubts."""


class ComparedEvents:
    """The events of constraints, as sets of people and the columns that these become.

    Parts are sets of people, such as those of the positive class; codes are groups that do not
    overlap, of which those of the constraints are made.

    Parameters
    ----------
    parts : list of ndarray of bool, shape (n_samples,)
        Who is in each part.
    sources : list of (int, {"everybody", "positives", "negatives", "learned"})
        From what the probability of each part follows: that of a contest's positive class, if any.
    codes : ndarray of intp, shape (n_samples,)
        Code of each person.
    table : ndarray of shape (n_contests, n_parts, n_codes, n_columns)
        Weight of each part and code in each column of a contest's score.
    compares_scores : bool
        Whether ranks or losses are compared, and not decisions alone: then scores of groups must
        also be stretched, and every column comes a second time, times the log-odds.
    """

    def __init__(self, parts, sources, codes, table, compares_scores):
        self.parts = parts
        self.sources = sources
        self.codes = codes
        self.table = table
        self.compares_scores = compares_scores


def events_of(contests, constraints):
    """The events whose rates constraints compare.

    Parameters
    ----------
    contests : list of Training
        Targets, groups and weights of the same people, for each decision about them.
    constraints : list of Constraint
        What must be fair.

    Returns
    -------
    events : ComparedEvents
    """
    groups = contests[0].groups
    codes = group_codes(groups)
    first = np.unique(codes, return_index=True)[1]
    parts, sources, columns = [], [], []
    for number, contest in enumerate(contests):
        columns.append([])
        for constraint in constraints:
            compared, _ = constraint.compared_groups(contest.people)
            members = compared.matrix[first].toarray().astype(float)  # of codes in groups
            for cell in constraint.cells(contest.people).values():
                own = _parts_of(constraint, cell, contest.target)
                columns[-1] += _contrasts(own, members, codes, contest.weights, parts)
        sources += [(number, _source(part, contest.target)) for part in parts[len(sources) :]]
    tables = [_distinct(_table(own, len(parts), len(first))) for own in columns]
    n_columns = max(table.shape[2] for table in tables)
    # Columns of zeros make up for those that a class lacks.
    tables = [np.pad(t, ((0, 0), (0, 0), (0, n_columns - t.shape[2]))) for t in tables]
    compares_scores = not all(constraint.counts_decisions for constraint in constraints)
    return ComparedEvents(parts, sources, codes, np.array(tables), compares_scores)


def _table(columns, n_parts, n_codes):
    """Columns as an array, (n_parts, n_codes, n_columns)."""
    table = np.zeros((n_parts, n_codes, len(columns)))
    for number, column in enumerate(columns):
        for part, weights in column.items():
            table[part, :, number] = weights
    return table


def group_codes(groups):
    """Groups that do not overlap, of which the groups are unions, as codes.

    Parameters
    ----------
    groups : Groups
        Groups that may overlap.

    Returns
    -------
    codes : ndarray of intp, shape (n_samples,)
    """
    if groups.is_disjoint:
        return groups.codes
    return np.unique(groups.matrix.toarray(), axis=0, return_inverse=True)[1].ravel()


def _parts_of(constraint, cell, target):
    """A cell as pairs of a set of people, and what a positive decision adds to their rate."""
    rate = constraint.rate(Step(), LogisticLoss())
    if rate is None:  # it compares ranks
        return [(cell, 1.0)]
    decided = [rate(np.full(2, score), np.array([-1.0, 1.0])).value for score in (-_FAR, _FAR)]
    effects = decided[1] - decided[0]
    effects = effects / (np.abs(effects).max() or 1.0)
    inside = target[cell]
    if effects[0] == effects[1] or len(np.unique(inside)) == 1:
        return [(cell, effects[int(inside[0] > 0)])] if len(inside) else []
    return [(cell & (target < 0), effects[0]), (cell & (target > 0), effects[1])]


def _contrasts(own, members, codes, weights, parts):
    """Columns of a cell: each group's event against that of the largest, by part.

    Parts that are new are added to the list of parts.
    """
    mass = sum(np.bincount(codes[part], weights[part], len(members)) for part, _ in own)
    share = mass @ members / weights.sum() if own else np.zeros(members.shape[1])
    occupied = np.flatnonzero(share > 0)
    if len(occupied) < 2:
        return []
    largest = occupied[np.argmax(share[occupied])]
    numbers = [(_number(part, parts), effect) for part, effect in own]
    columns = []
    for group in occupied[occupied != largest]:
        contrast = members[:, group] / share[group] - members[:, largest] / share[largest]
        columns.append({number: effect * contrast for number, effect in numbers})
    return columns


def _number(part, parts):
    for number, known in enumerate(parts):
        if np.array_equal(part, known):
            return number
    parts.append(part)
    return len(parts) - 1


def _source(part, target):
    if part.all():
        return "everybody"
    if np.array_equal(part, target > 0):
        return "positives"
    return "negatives" if np.array_equal(part, target < 0) else "learned"


def _distinct(table):
    """The table without columns that repeat others, as those of several constraints may."""
    if not table.size:
        return table
    columns = table.reshape(-1, table.shape[2])
    columns = columns / np.abs(columns).max(axis=0, initial=1e-300)
    _, kept = np.unique(columns.round(12), axis=1, return_index=True)
    return table[:, :, np.sort(kept)]


def check_decisions(contests, constraints, confidence):
    """Refuse what is not a rate of decisions where there are several classes to decide for.

    Parameters
    ----------
    contests : list of Training
        One, or one of each class against the rest.
    constraints : list of Constraint
        What is asked.
    confidence : float or None
        Probability with which new people are to keep the tolerances.

    Raises
    ------
    ValueError
        If several classes are asked for what needs one score; the message says what.
    """
    if len(contests) > 1 and confidence is not None:
        raise ValueError(
            f"confidence_level needs 2 classes, but there are {len(contests)}; pass None, or make "
            "two classes of them, as in y == label."
        )
    others = [one for one in constraints if not one.counts_decisions]
    if others and len(contests) > 1:
        raise ValueError(
            f"{type(others[0]).__name__} compares ranks or losses of one score, but each of "
            f"{len(contests)} classes has its own. Pass a constraint on rates of decisions, such "
            "as 'demographic_parity', or make two classes of them, as in y == label."
        )


def check_folds_know(events, folds, groups):
    """Refuse folds that leave nobody of an event to learn from.

    Parameters
    ----------
    events : ComparedEvents
        The events.
    folds : list of (train, test)
        Positions.
    groups : Groups
        What the codes are made of.

    Raises
    ------
    ValueError
        If a fold's others lack a code of some part.
    """
    sets = {"everybody": "people", "learned": "people of the constraint's cell"}
    weighed = events.table.any(axis=(0, 3))  # (n_parts, n_codes)
    for part, (_, source), weights in zip(events.parts, events.sources, weighed, strict=True):
        compared = np.flatnonzero(weights)
        present = np.intersect1d(events.codes[part], compared)
        for number, (train, _) in enumerate(folds):
            missing = np.setdiff1d(present, events.codes[train][part[train]])
            if len(missing):
                first = np.flatnonzero(events.codes == missing[0])[0]
                names = join_names(repr(groups.names[g]) for g in groups.matrix[[first]].indices)
                raise ValueError(
                    f"Fold {number} of {len(folds)} leaves no {sets.get(source, source)} of group "
                    f"{names} to learn from. Pass fewer folds or another splitter, "
                    "merge small groups, or leave them out (min_group_size)."
                )
