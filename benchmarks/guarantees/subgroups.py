"""Searches of subgroups: claims where nothing departs, and planted subgroups that are found."""

from functools import partial
from itertools import product
from time import process_time

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from benchmarks.records import Run, load_or_run
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.audit import Audit

N_NULLS = 500
N_PLANTED = {5: 40, 20: 20}
"""Searches of a cell without departures, and of one with, by the number of columns."""

NULLS = ((0.3, 2, 2), (0.3, 20, 2), (0.3, 10, 3), (0.05, 20, 2))
"""Rate, columns and conditions of searches without departures, of `NULL_SIZE` samples."""
NULL_SIZE, MIN_GROUP_SIZE = 2000, 30

RATE, TARGET = 0.3, 0.5
"""Rate of the rest in searches with a planted subgroup, and Jaccard index of a hit."""
PLANTED = (
    (5, 2000, 0.05, 0.2),
    (5, 2000, 0.1, 0.1),
    (5, 20_000, 0.02, 0.1),
    (5, 20_000, 0.1, 0.05),
    (5, 20_000, 0.05, 0.1),
    (5, 100_000, 0.02, 0.05),
    (20, 2000, 0.05, 0.2),
    (20, 2000, 0.1, 0.2),
    (20, 20_000, 0.02, 0.1),
    (20, 20_000, 0.1, 0.05),
)
"""Columns, samples, and share and departure of the planted subgroup."""
EASY = (5, 20_000, 0.05, 0.1)
"""A cell in which nearly every search shall find it."""

LARGE = (100_000, 20, 3)
"""Samples, columns and conditions of the search that is timed, and the most seconds it takes."""
MOST_SECONDS = 10.0
_SETTINGS = "3"


def draw_columns(n_samples, n_columns, rng):
    """Columns of labels and of numbers by turns, of which each two are correlated.

    Parameters
    ----------
    n_samples, n_columns : int
        Size of the table.
    rng : Generator
        Source of the columns.

    Returns
    -------
    columns : DataFrame
    """
    common = rng.standard_normal((n_samples, 1))
    X = np.sqrt(0.3) * common + np.sqrt(0.7) * rng.standard_normal((n_samples, n_columns))
    columns = {}
    for j in range(n_columns):
        shares = 0.6 ** np.arange(2 + (j // 2) % 5)
        cuts = stats.norm.ppf(np.cumsum(shares / shares.sum())[:-1])
        is_number = j % 2 == 1
        columns[f"x{j}"] = X[:, j] if is_number else np.searchsorted(cuts, X[:, j]).astype(str)
    return pd.DataFrame(columns)


def plant(columns, share, rng):
    """Mask of a conjunction of two conditions that has about this share of the samples.

    Parameters
    ----------
    columns : DataFrame
        As `draw_columns` returns.
    share : float
        Share of the subgroup.
    rng : Generator
        Source of the choice among the conjunctions of the size closest to the share.

    Returns
    -------
    mask : ndarray of bool, shape (n_samples,)
    """
    masks = [(name, mask) for name in columns for mask in _condition_masks(columns[name])]
    pairs = [
        (abs(np.log(np.count_nonzero(first & second) / len(first) / share)), first & second)
        for (name, first), (other, second) in product(masks, masks)
        if name < other and np.count_nonzero(first & second)
    ]
    closest = sorted(range(len(pairs)), key=lambda number: pairs[number][0])[:10]
    return pairs[rng.choice(closest)][1]


def _condition_masks(column):
    """Masks of the conditions of a search on a column: labels, or ranges of quarters."""
    if column.dtype == object or not pd.api.types.is_numeric_dtype(column):
        return [(column == label).to_numpy() for label in sorted(column.unique())]
    quarters = pd.qcut(column, 4, labels=False).to_numpy()
    ranges = [(low, high) for low in range(4) for high in range(low, 4) if high - low < 3]
    return [(low <= quarters) & (quarters <= high) for low, high in ranges]


def search_by_tree(columns, outcomes, max_depth):
    """The leaf of a decision tree that departs most, and whether 1.96 standard errors show it.

    Parameters
    ----------
    columns : DataFrame
        As `draw_columns` returns.
    outcomes : ndarray of bool, shape (n_samples,)
        Values that are compared.
    max_depth : int
        Depth of the tree.

    Returns
    -------
    mask : ndarray of bool, shape (n_samples,)
        The samples of the leaf.
    is_claimed : bool
        Whether the usual interval of its departure from the rest excludes 0.
    """
    X = pd.get_dummies(columns, dtype=float)
    tree = DecisionTreeClassifier(
        max_depth=max_depth, min_samples_leaf=MIN_GROUP_SIZE, random_state=0
    )
    leaves = tree.fit(X, outcomes).apply(X)
    departures = []
    for leaf in np.unique(leaves):
        inside = leaves == leaf
        if inside.all():
            return inside, False
        first, second = outcomes[inside], outcomes[~inside]
        error = np.sqrt(first.var() / len(first) + second.var() / len(second))
        departures.append((abs(first.mean() - second.mean()), error, leaf))
    departure, error, leaf = max(departures)
    return leaves == leaf, bool(departure > 1.96 * error)


def search_null(rate, n_columns, max_conditions, seed):
    """Whether a search of independent outcomes claims a subgroup, and errs in its bound.

    Parameters
    ----------
    rate : float
        Rate of all samples.
    n_columns, max_conditions : int
        Columns, and largest number of conditions.
    seed : int
        Seed of the samples.

    Returns
    -------
    record : dict
    """
    rng = np.random.default_rng(seed)
    columns = draw_columns(NULL_SIZE, n_columns, rng)
    outcomes = rng.random(NULL_SIZE) < rate
    audit = Audit.from_predictions(
        None, outcomes, sensitive_features=columns, min_group_size=MIN_GROUP_SIZE
    )
    report = audit.subgroups(max_conditions=max_conditions)
    mask, is_claimed = search_by_tree(columns, outcomes, max_conditions)
    record = {"claim": len(report.subgroups) > 0, "tree": is_claimed}
    return record | {"n": int(report.searches["n_searched"].item())}


def search_planted(n_columns, n_samples, share, departure, seed):
    """How a search finds a planted subgroup: hit, length of the list, and wrong statements.

    Parameters
    ----------
    n_columns, n_samples : int
        Size of the table.
    share, departure : float
        Share of the planted subgroup, and excess of its rate over that of the rest.
    seed : int
        Seed of the samples.

    Returns
    -------
    record : dict
    """
    rng = np.random.default_rng(seed)
    columns = draw_columns(n_samples, n_columns, rng)
    planted = plant(columns, share, rng)
    outcomes = rng.random(n_samples) < RATE + departure * planted
    report = Audit.from_predictions(None, outcomes, sensitive_features=columns).subgroups()
    record = {"hit": False, "listed": len(report.subgroups), "wrong": False, "limit": np.nan}
    mask, _ = search_by_tree(columns, outcomes, 2)
    record["tree"] = bool(_similarity(mask, planted) >= TARGET)
    record["bound"] = bool(report.searches["largest_possible"].item() >= departure)
    for number, row in report.subgroups.iterrows():
        mask = _select(columns, row["subgroup"])
        true = departure * (planted[mask].mean() - planted[~mask].mean())
        record["wrong"] |= bool(not row["low"] <= true <= row["high"])
        if number == 0:
            record["hit"] = bool(_similarity(mask, planted) >= TARGET)
            record["limit"] = float(row["low"])
    return record


def _similarity(first, second):
    """Jaccard index of two masks."""
    return np.count_nonzero(first & second) / np.count_nonzero(first | second)


def _select(columns, text):
    """Mask of the samples that meet the conditions of a text."""
    mask = np.ones(len(columns), dtype=bool)
    for condition in text.split(" and "):
        words = condition.split()
        if "=" in words:
            mask &= (columns[words[0]] == words[2]).to_numpy()
            continue
        if words[0] in columns:
            column = columns[words[0]]
            ends = {words[1]: float(words[2])}
        else:
            column = columns[words[2]]
            ends = {">": float(words[0]), "<=": float(words[4])}
        mask &= (column > ends.get(">", -np.inf)).to_numpy()
        mask &= (column <= ends.get("<=", np.inf)).to_numpy()
    return mask


def time_search(seed=0):
    """Processor seconds of the search of many samples.

    Parameters
    ----------
    seed : int, default=0
        Seed of the samples.

    Returns
    -------
    record : dict
    """
    n_samples, n_columns, max_conditions = LARGE
    rng = np.random.default_rng(seed)
    columns = draw_columns(n_samples, n_columns, rng)
    outcomes = rng.random(n_samples) < RATE
    start = process_time()
    audit = Audit.from_predictions(None, outcomes, sensitive_features=columns)
    report = audit.subgroups(max_conditions=max_conditions)
    seconds = process_time() - start
    return {"seconds": seconds, "n": int(report.searches["n_searched"].item())}


@smallest(
    N_NULLS=20,
    N_PLANTED={5: 2},
    NULLS=((0.3, 2, 2),),
    PLANTED=((5, 2000, 0.1, 0.1),),
    NULL_SIZE=500,
    LARGE=(2000, 4, 2),
)
def subgroups(budget):
    """Searches of subgroups: claims where nothing departs, planted subgroups that are found."""
    fraction = 1.0 if budget.n_runs > 1 else 0.1
    records = [*_null_records(budget, fraction)]
    checks = [_error_check(record, "claims") for record in records]
    planted = dict(_planted_records(budget, fraction))
    records += planted.values()
    for record in planted.values():
        checks += [_error_check(record, name) for name in ("wrong", "bound wrong")]
    if EASY in planted:
        checks.append(Check("hits in the easy cell", [planted[EASY]["hits"]], ">=", 0.95))
    excess = [np.mean([one["hits"] - one["tree hits"] for one in planted.values()] or [np.nan])]
    checks.append(Check("mean share of hits, less that of a tree", excess, ">=", 0.0))
    run = Run("large", "time", 0, _SETTINGS, time_search)
    timed = load_or_run("subgroups", [run], budget).get(run.key)
    if timed is not None:
        cell = f"{LARGE[0]:,} x {LARGE[1]} columns, {LARGE[2]} conditions"
        records.append({"cell": cell, "subgroups": timed["n"], "seconds": timed["seconds"]})
        checks.append(Check("seconds of the large search", [timed["seconds"]], "<=", MOST_SECONDS))
    title = (
        "Searches of subgroups at .95: share that claim one where nothing departs, share in which "
        f"the first of the list is the planted one (Jaccard index of {TARGET:g} or more), mean "
        "length of the list, and share with a wrong limit or bound. A tree is one of scikit-learn, "
        "whose leaf of the largest departure is claimed if 1.96 standard errors show it"
    )
    return Report(title, records, checks)


def _error_check(record, name):
    """A share of errors that is at most .05, up to two standard errors."""
    error = np.sqrt(0.05 * 0.95 / record["searches"])
    return Check(f"{name}, {record['cell']}", [record[name]], "<=", 0.05 + 2.0 * error)


def _null_records(budget, fraction):
    """Yield the share of searches without departures that claim one."""
    for case in NULLS:
        name = f"null {case}"
        runs = [
            Run(name, "search", seed, _SETTINGS, partial(search_null, *case, seed))
            for seed in range(int(fraction * N_NULLS))
        ]
        done = [*load_or_run("subgroups", runs, budget).values()]
        if done:
            yield {
                "cell": "rate {:g}, {} columns, {} conditions".format(*case),
                "searches": len(done),
                "subgroups": np.mean([one["n"] for one in done]),
                "claims": np.mean([one["claim"] for one in done]),
                "tree claims": np.mean([one["tree"] for one in done]),
            }


def _planted_records(budget, fraction):
    """Yield cells with a planted subgroup, and their shares of hits."""
    for cell in PLANTED:
        name = f"planted {cell}"
        runs = [
            Run(name, "search", seed, _SETTINGS, partial(search_planted, *cell, seed))
            for seed in range(max(2, int(fraction * N_PLANTED[cell[0]])))
        ]
        done = pd.DataFrame(load_or_run("subgroups", runs, budget).values())
        if len(done):
            yield (
                cell,
                {
                    "cell": "{} columns, {:,} samples, {:.0%} depart by {:g}".format(*cell),
                    "searches": len(done),
                    "hits": done["hit"].mean(),
                    "tree hits": done["tree"].mean(),
                    "listed": done["listed"].mean(),
                    "wrong": done["wrong"].mean(),
                    "bound wrong": 1.0 - done["bound"].mean(),
                    "limit": done["limit"].astype(float).mean(),
                },
            )
