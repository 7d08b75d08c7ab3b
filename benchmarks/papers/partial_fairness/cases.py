"""Data, splits and printed numbers of the paper on fairness on intervals of percentiles.

Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of percentiles by
difference-of-convex constraints", arXiv:2505.12530.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.data import fetch_a9a, fetch_bank_marketing, fetch_law_school
from skfair.classification import PartialParityClassifier, PartialParityPostprocessor
from skfair.constraints import PartialStatisticalParity
from skfair.metrics import partial_statistical_parity_difference
from skfair.solvers import SQP

NAMES = ("a9a", "bank", "law school")
BANK_WITH_DURATION = "bank with duration"
INTERVALS = {"a9a": (0.05, 0.3), "bank": (0.0, 0.25), "law school": (0.7, 1.0), "ACS": (0.2, 0.4)}
INTERVALS[BANK_WITH_DURATION] = INTERVALS["bank"]
FRACTIONS = {"bank": (0.6, 0.2, 0.2), "law school": (0.5625, 0.1875, 0.25)}  # G.1
FRACTIONS[BANK_WITH_DURATION] = FRACTIONS["bank"]
AS_PRINTED = {"bank, 54 columns": BANK_WITH_DURATION, "law school, 12 columns": "law school"}
"""Data with the number of columns in Table 1, and the tables that they are made of.

The paper does not print its encoding. That without the first category of each column, with a column
of the groups and the duration of the call has these numbers of columns.
"""

for _name, _source in AS_PRINTED.items():
    INTERVALS[_name], FRACTIONS[_name] = INTERVALS[_source], FRACTIONS[_source]
PRINTED_NAMES = ("a9a", *AS_PRINTED)

N_PERCENTILES = 10

UNCONSTRAINED = {"a9a": (0.5970, 0.8499), "bank": (0.4366, 0.9015), "law school": (0.5397, 0.9004)}

TABLE_4 = {  # kappa: fairness and accuracy with ten percentiles, the same with twenty
    "a9a": {
        0.28: (0.7017, 0.8492, 0.6964, 0.8491),
        0.2: (0.7841, 0.8479, 0.7819, 0.8481),
        0.1: (0.8732, 0.8445, 0.8751, 0.8446),
        0.05: (0.9310, 0.8393, 0.9328, 0.8387),
        0.01: (0.9752, 0.8311, 0.9703, 0.8325),
    },
    "bank": {
        0.3: (0.6582, 0.9027, 0.6620, 0.9026),
        0.22: (0.7376, 0.9028, 0.7211, 0.9030),
        0.08: (0.8954, 0.9025, 0.8683, 0.9025),
        0.01: (0.9634, 0.8983, 0.9483, 0.8985),
    },
    "law school": {
        0.2: (0.6038, 0.8996, 0.6360, 0.8980),
        0.15: (0.6956, 0.8937, 0.7165, 0.8929),
        0.1: (0.7825, 0.8913, 0.7841, 0.8922),
        0.08: (0.8479, 0.8927, 0.8683, 0.8932),
        0.005: (0.9563, 0.8909, 0.9625, 0.8910),
    },
}
TABLE_3 = {  # fairness and accuracy on [0, 1]; the paper does not print the kappas
    "a9a": [
        (0.6937, 0.8501),
        (0.7799, 0.8485),
        (0.8873, 0.8440),
        (0.9326, 0.8384),
        (0.9742, 0.8322),
    ],
    "bank": [(0.6451, 0.8957), (0.7999, 0.8954), (0.8456, 0.8959), (0.9356, 0.8941)],
    "law school": [
        (0.5833, 0.8975),
        (0.6976, 0.8903),
        (0.7855, 0.8892),
        (0.8736, 0.8896),
        (0.9615, 0.8881),
    ],
}


class Rows(NamedTuple):
    """Training, validation or test rows of a problem."""

    X: sparse.csr_array  # (n_samples, n_features)
    y: np.ndarray  # (n_samples,) of bool
    groups: np.ndarray  # (n_samples,) 0 or 1

    def take(self, rows):
        """Select rows."""
        return Rows(self.X[rows], self.y[rows], self.groups[rows])

    def add_cross_terms(self, codes=(0.0, 1.0)):
        """Extend X to the columns (x, g, g x) of the paper's linear model, with g by group."""
        g = np.take(codes, self.groups)[:, np.newaxis]
        X = sparse.hstack((self.X, sparse.csr_array(g), self.X.multiply(g)), format="csr")
        return self._replace(X=X)


class Bounds(NamedTuple):
    """Percentiles p of the rows of (15), whose shares are between p and p + tau."""

    levels: np.ndarray  # (n_percentiles,)
    tau: float


def raw_bounds(interval, kappa):
    """Bounds with which the published results agree: tau = kappa, percentiles up to beta."""
    return Bounds(np.linspace(*interval, N_PERCENTILES), kappa)


def printed_bounds(interval, kappa):
    """Bounds as printed in (15): tau = kappa (beta - alpha), percentiles below beta - tau."""
    alpha, beta = interval
    tau = kappa * (beta - alpha)
    return Bounds(np.linspace(alpha, beta - tau, N_PERCENTILES, endpoint=False), tau)


class Case(NamedTuple):
    """A problem with its training, test and validation rows."""

    name: str
    train: Rows
    test: Rows
    validation: Rows | None = None  # for the choice of settings

    @property
    def interval(self):
        """Interval of Figure 1."""
        return INTERVALS[self.name]

    @property
    def printed_codes(self):
        """The gamma of each group in G.1: 1 of "White", whose labels are the last, 2 of others."""
        return (2.0, 1.0) if self.name.startswith("law school") else (1.0, 2.0)


def case(name, seed):
    """A problem with the split of a seed, as in G.1.

    Parameters
    ----------
    name : str
        One of `NAMES`, `BANK_WITH_DURATION`, or in `AS_PRINTED`.
    seed : int
        Seed of the split.

    Returns
    -------
    case : Case

    Raises
    ------
    OSError
        If the data are neither on disk nor available from the network.
    """
    if name == "a9a":
        first, last = _a9a()
        rows, rest = train_test_split(np.arange(len(first.y)), test_size=0.1, random_state=seed)
        return Case(name, first.take(rows), last, first.take(rest))
    table, y, groups = _frame(AS_PRINTED.get(name, name))
    n_train, _, n_test = FRACTIONS[name]
    rows, rest = train_test_split(np.arange(len(y)), train_size=n_train, random_state=seed)
    validation, test = train_test_split(rest, test_size=n_test / (1 - n_train), random_state=seed)
    encode = _encode_as_printed if name in AS_PRINTED else _encode
    data = Rows(encode(table, rows, groups), y, groups)
    return Case(name, data.take(rows), data.take(test), data.take(validation))


def _encode(table, rows, groups):
    """A column per category, and the others with unit variance, which first-order methods need."""
    numeric = table.select_dtypes("number").columns
    encode = make_column_transformer(
        (StandardScaler(), numeric),
        (OneHotEncoder(handle_unknown="ignore"), table.columns.difference(numeric)),
        sparse_threshold=1.0,
    ).fit(table.iloc[rows])
    return sparse.csr_array(encode.transform(table))


def _encode_as_printed(table, rows, groups):
    """A column per category but the first, the others with unit variance, and the groups."""
    numeric = table.select_dtypes("number").columns
    scaled = StandardScaler().fit(table.loc[table.index[rows], numeric]).transform(table[numeric])
    categories = pd.get_dummies(table.drop(columns=numeric), drop_first=True, dtype=float)
    return sparse.csr_array(np.column_stack((scaled, categories, groups)))


@cache
def _a9a():
    """Training and test rows of the published files."""
    return tuple(
        Rows(bunch.data, bunch.target == ">50K", _codes(bunch.sensitive_features))
        for bunch in (fetch_a9a(subset="train"), fetch_a9a(subset="test"))
    )


@cache
def _frame(name):
    """Features, target and groups of all rows."""
    if name in ("bank", BANK_WITH_DURATION):
        columns = "default" if name == "bank" else "all"
        bunch = fetch_bank_marketing(sensitive="age", columns=columns)
        y = bunch.target.to_numpy() == "yes"
    else:
        bunch = fetch_law_school()
        y = bunch.target.to_numpy() == 1
    return bunch.data, y, _codes(bunch.sensitive_features)


def _codes(groups):
    return np.unique(np.asarray(groups).astype(str), return_inverse=True)[1]


def fit_as_printed(
    problem, kappa, criterion="statistical_parity", *, interval=None, settings=(), **changes
):
    """Fit the paper's model and problem, (15) or (21), by the default solver.

    Parameters
    ----------
    problem : Case
        The model is fitted to its training rows.
    kappa : float
        Tolerance, in units of whole groups.
    criterion : str, default="statistical_parity"
        "demographic_parity" for (21).
    interval : pair of floats or None, default=None
        Interval; None is that of the problem.
    settings : dict, default=()
        Other settings of the criterion.
    **changes
        Other parameters of the classifier.

    Returns
    -------
    model : PartialParityClassifier
    """
    interval = problem.interval if interval is None else interval
    changes = {"solver": "sqp"} | changes
    model = PartialParityClassifier.from_paper(interval, kappa, f"partial_{criterion}", **changes)
    model.constraint.set_params(**dict(settings))
    return model.fit(problem.train.X, problem.train.y, sensitive_features=problem.train.groups)


RIDGE = 0.03  # C of the logistic regression below a rank shift


def shift_ranks(rows, interval, tolerance):
    """Fit the postprocessor to training rows, above a logistic regression."""
    model = PartialParityPostprocessor(
        LogisticRegression(C=RIDGE, max_iter=1000).fit(rows.X, rows.y),
        constraint=PartialStatisticalParity(interval, scale="raw"),
        tolerance=tolerance,
        cv="prefit",
    )
    return model.fit(rows.X, rows.y, sensitive_features=rows.groups)


class Point(NamedTuple):
    """Fairness and accuracy of a model."""

    fairness: float  # 1 - difference in units of whole groups, with which the paper agrees
    definition: float  # 1 - difference of Definition 4.2
    accuracy: float


def evaluate(scores, rows, interval):
    """Fairness and accuracy of scores."""
    raw, normalized = (
        partial_statistical_parity_difference(
            scores, sensitive_features=rows.groups, interval=interval, scale=scale
        )
        for scale in ("raw", "normalized")
    )
    return Point(1 - raw, 1 - normalized, float(np.mean((scores > 0) == rows.y)))


def accuracy_at(points, fairness):
    """Accuracy of a front at a fairness, interpolated between the means of its points.

    Parameters
    ----------
    points : list of list of Point
        One list per setting, with one point per seed.
    fairness : float
        Fairness as in `Point`.

    Returns
    -------
    accuracy : float
        nan outside the range of the settings.
    """
    means = pd.DataFrame([np.mean(seeds, axis=0) for seeds in points], columns=Point._fields)
    means = means.sort_values("fairness")
    return float(np.interp(fairness, means.fairness, means.accuracy, left=np.nan, right=np.nan))


class CountedSQP(SQP):
    """The default solver with a count of its problems."""

    n_solves = 0

    def solve(self, problem, x0=None, **settings):
        self.n_solves += 1
        return super().solve(problem, x0, **settings)
