"""Samples for the rows of a covering array, and changes of these that may not change a fit.

A row is a dictionary of settings. The fits are in `tests.triples`, `tests.regression_triples` and
`tests.front_triples`.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

N_SAMPLES = 240


class Data(NamedTuple):
    """Samples as a user passes them, and the masks of the groups that are compared."""

    X: np.ndarray
    y: np.ndarray
    groups: Any
    weights: np.ndarray | None
    members: list[np.ndarray]
    folds: list[tuple[np.ndarray, np.ndarray]]  # the same in any order of the samples

    @property
    def sizes(self):
        return np.ones(len(self.y)) if self.weights is None else self.weights


def draw_groups(row, rng):
    """Samples of which the features depend on the group, without an outcome."""
    n = N_SAMPLES
    codes = rng.choice(5, n, p=[0.35, 0.25, 0.2, 0.1, 0.1]) if row["groups"] == "five" else None
    codes = rng.choice(2, n, p=[0.6, 0.4]) if codes is None else codes
    X = rng.normal(size=(n, 4))
    X[:, 0] += 0.8 * (codes == 0)
    X[:, 1] -= 0.5 * (codes == 1)
    weights = {
        "none": None,
        "uneven": rng.exponential(size=n) + 0.1,
        "zeros": rng.integers(0, 4, n).astype(float),
    }[row["weights"]]
    second = (rng.random(n) < 0.3 + 0.3 * codes).astype(int)
    kind = row["groups"]
    if kind in ("attributes", "each"):
        X[:, 2] += second
        groups = pd.DataFrame(
            {"sex": np.array(["f", "m"])[codes], "age": np.array(["old", "young"])[second]}
        )
        pairs = [codes == one for one in (0, 1)], [second == one for one in (0, 1)]
        members = [*pairs[0], *pairs[1]]
        if kind == "attributes":
            members = [one & other for one in pairs[0] for other in pairs[1]]
    else:
        labels = [10, 7] if kind == "numbers" else list("fmxyz")
        groups = np.array(labels, dtype=object if kind == "unknown" else None)[codes]
        known = np.ones(n, dtype=bool)
        if kind == "unknown":
            known = rng.random(n) > 0.2
            groups[~known] = None
        members = [(codes == one) & known for one in np.unique(codes)]
    # Groups of fewer than 30 samples that are also less than 1 % are not compared.
    present = np.ones(n, dtype=bool) if weights is None else weights > 0
    counts = [(one & present).sum() for one in members]
    limit = min(30, 0.01 * present.sum())
    members = [one for one, count in zip(members, counts, strict=True) if count >= limit]
    return Data(X, np.empty(0), groups, weights, members, deal_folds(codes))


def deal_folds(strata):
    """Training and test rows of three folds, to which samples of each stratum are dealt in turn."""
    numbers = np.argsort(np.argsort(strata, kind="stable")) % 3
    return [(np.flatnonzero(numbers != one), np.flatnonzero(numbers == one)) for one in range(3)]


def pack(X, container):
    """The features in a container."""
    names = ["first", "second", "third", "fourth"]
    if container == "pandas":
        return pd.DataFrame(X, columns=names)
    if container in ("polars", "pyarrow"):
        library = pytest.importorskip(container)
        columns = dict(zip(names, X.T, strict=True))
        return library.DataFrame(columns) if container == "polars" else library.table(columns)
    X = X.copy()
    X.flags.writeable = container != "read-only"
    return X


def find_reference(row):
    """The group that the others are compared with, by attribute."""
    reference = {"attributes": {"sex": "f", "age": "old"}, "numbers": {0: 7}}
    return reference.get(row["groups"], {0: "f"})


class Change(NamedTuple):
    """What a fit that must equal the first one is passed."""

    data: Data
    container: str
    order: np.ndarray  # position of each sample among those of the first fit
    n_fits: int  # of the same estimator


def change_samples(row, data):
    """The `Change` of a row."""
    change = row["change"]
    order = np.arange(len(data.y))
    if change == "names":
        data = data._replace(groups=rename(data.groups))
    elif change == "scale":
        data = data._replace(weights=7.0 * data.sizes)
    elif change == "order":
        order = np.random.default_rng(5).permutation(len(data.y))
        data = take(data, order)
    container = "numpy" if change == "container" else row["container"]
    return Change(data, container, order, n_fits=2 if change == "again" else 1)


def rename(groups):
    """The same groups with names in another order; that of a reference stays."""
    if isinstance(groups, pd.DataFrame):
        return groups.replace({"m": "a", "young": "a"})
    names = {"m": "a", "x": "zz", 10: 3}
    labels = [names.get(one, one) for one in groups.tolist()]
    return np.array(labels, dtype=object if groups.dtype == object else None)


def take(data, rows):
    groups = data.groups
    groups = groups.iloc[rows].reset_index(drop=True) if hasattr(groups, "iloc") else groups[rows]
    weights = None if data.weights is None else data.weights[rows]
    members = [one[rows] for one in data.members]
    positions = np.argsort(rows)
    folds = [(positions[train], positions[test]) for train, test in data.folds]
    return Data(data.X[rows], data.y[rows], groups, weights, members, folds)


def name_row(row):
    return "-".join(map(str, row.values()))
