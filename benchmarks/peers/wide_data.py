"""Wide dense data, such as embeddings: cost of a constrained classifier in plain fits.

The cases hide the group from its model in different ways: in the mean of a direction or of one
column, in the spread of a column, in two columns together, in one column among others of any
scale, in sparse indicators. Three are embeddings of people of Adult by usual methods.
"""

import warnings
from functools import partial
from itertools import product
from statistics import median

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from benchmarks.erm_cases import Split, case
from benchmarks.records import Run, load_or_run
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import time_call
from skfair.classification import ConstrainedClassifierCV
from skfair.metrics import demographic_parity_difference

STUDY = "wide-data"
FIRST_SEED = 100
"""Seeds before this one were used to choose the models of groups."""

N_TEST = 10_000
TOLERANCE = 0.03
MAX_PLAIN_FITS = 12.0


def _hide_in_mean(rng, skill, group, X):
    """A direction of all columns has another mean in each group, as in a rotated embedding."""
    directions = np.linalg.qr(np.random.default_rng(1).normal(size=(X.shape[1], 3)))[0]
    return X + np.column_stack((skill, group, 0.5 * skill)) @ directions.T


def _hide_in_column(rng, skill, group, X):
    """One column has another mean in each group."""
    X[:, :3] += np.column_stack((skill, group, 0.5 * skill))
    return X


def _hide_in_spread(rng, skill, group, X):
    """One column varies more in one group."""
    X[:, 0] += skill + 0.6 * group
    X[:, 1] *= np.where(group == 1, 6.0, 1.0)
    return X


def _hide_in_pair(rng, skill, group, X):
    """Two columns have the same sign more often in one group, and one of them is shifted."""
    X[:, 0] += skill + 0.6 * group
    sign = np.where(rng.random(len(X)) < 0.9, 2 * group - 1, 1 - 2 * group)
    X[:, 2] = np.abs(X[:, 2] + 0.3) * sign * np.sign(X[:, 1]) + 0.15 * group
    return X


def _hide_among_scales(rng, skill, group, X):
    """One indicator shows the group, among columns whose scales differ by orders."""
    X[:, 0] += skill
    X[:, 1] = np.where(rng.random(len(X)) < 0.85, group, 1 - group)
    return X * np.exp(2.0 * np.random.default_rng(2).normal(size=X.shape[1]))


def _hide_in_indicators(rng, skill, group, X):
    """A dozen rare indicators are more frequent in one group, another dozen with skill."""
    rates = np.full(X.shape, 0.03)
    rates[:, :12] *= np.where(group == 1, 4.0, 0.5)[:, np.newaxis]
    rates[:, 12:24] *= np.exp(0.8 * skill)[:, np.newaxis]
    return (rng.random(X.shape) < rates).astype(float)


GENERATED = {  # name: (samples, columns, where the group shows)
    "direction": (3000, 768, _hide_in_mean),
    "column": (3000, 768, _hide_in_column),
    "direction, 20,000": (20_000, 384, _hide_in_mean),
    "direction, 4,096": (2000, 4096, _hide_in_mean),
    "spread": (3000, 128, _hide_in_spread),
    "pair": (3000, 128, _hide_in_pair),
    "scales": (3000, 256, _hide_among_scales),
    "indicators": (3000, 512, _hide_in_indicators),
}


def _random_features(train, test):
    """Random Fourier features of the scaled columns."""
    return RBFSampler(gamma=0.02, n_components=256, random_state=0).fit(train), train, test


def _truncated_svd(train, test):
    """Leading singular directions of the columns and of their products."""
    products = PolynomialFeatures(interaction_only=True, include_bias=False)
    train = products.fit_transform(train[:, :60])
    test = products.transform(test[:, :60])
    return TruncatedSVD(100, random_state=0).fit(train), train, test


class _HiddenLayer:
    """The last hidden layer of a trained network."""

    def __init__(self, network):
        self.network = network

    def transform(self, X):
        weights = self.network.coefs_[0]
        offsets = self.network.intercepts_[0]
        return np.maximum(X @ weights + offsets, 0.0)


EMBEDDINGS = {"random features": _random_features, "svd": _truncated_svd, "network": None}
N_EMBEDDED = 4000


def _generate(name, seed):
    n_samples, n_columns, hide = GENERATED[name]
    rng = np.random.default_rng(seed)

    def draw(n):
        group = rng.integers(2, size=n)
        skill = rng.normal(size=n)
        X = 0.3 * rng.standard_normal(size=(n, n_columns), dtype=np.float32)
        y = (skill + 0.6 * group + 0.7 * rng.normal(size=n) > 0.3).astype(int)
        return Split(hide(rng, skill, group, X).astype(np.float32), y, group)

    return draw(n_samples), draw(N_TEST)


def _embed(name, seed):
    _, train, test = case("Adult", seed, blind=True)
    other, train = (
        Split(*(column[rows] for column in train))
        for rows in (slice(N_EMBEDDED, 2 * N_EMBEDDED), slice(N_EMBEDDED))
    )
    scaler = StandardScaler().fit(other.X)
    inputs = [scaler.transform(part.X) for part in (train, test)]
    if name == "network":  # trained on other samples, as published embeddings are
        network = MLPClassifier((128,), max_iter=20, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            transform = _HiddenLayer(network.fit(scaler.transform(other.X), other.y)).transform
    else:
        fitted, *inputs = EMBEDDINGS[name](*inputs)
        transform = fitted.transform
    return tuple(
        part._replace(X=transform(X).astype(np.float32))
        for part, X in zip((train, test), inputs, strict=True)
    )


def samples(name, seed):
    """Training and test samples of a case."""
    return _generate(name, seed) if name in GENERATED else _embed(name, seed)


@smallest(GENERATED={"spread": (300, 70, _hide_in_spread)}, EMBEDDINGS={}, N_TEST=300)
def wide_data(budget):
    """Logistic regression of wide data with and without a constraint; x: time / plain fit.

    Means over draws. Runs are stored in benchmarks/records: a stopped command resumes.
    """
    seeds = range(FIRST_SEED, FIRST_SEED + 2 * budget.n_runs)
    names = [*GENERATED, *EMBEDDINGS]
    _evaluate(names[0], FIRST_SEED - 1)  # compiles
    runs = [
        Run(name, "default", seed, f"{TOLERANCE}", partial(_evaluate, name, seed))
        for name, seed in product(names, seeds)
    ]
    stored = load_or_run(STUDY, runs, budget)
    records = []
    checks = []
    for name in names:
        draws = [record for key, record in stored.items() if key[0] == name]
        if draws:
            row = {key: np.mean([draw[key] for draw in draws]) for key in draws[0]}
            row["x"] = median(draw["x"] for draw in draws)
            records.append({"case": name} | row)
            checks.append(Check(f"time / plain, {name}", [row["x"]], "<=", MAX_PLAIN_FITS))
    title = f"Logistic regression of wide data, tolerance {TOLERANCE}, held-out data"
    return Report(title, records, checks)


def _evaluate(name, seed):
    train, test = samples(name, seed)
    base = LogisticRegression(C=0.1, max_iter=500)
    plain = [time_call(base.fit, train.X, train.y) for _ in range(3)]
    model = ConstrainedClassifierCV(base, tolerance=TOLERANCE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fair = time_call(partial(model.fit, sensitive_features=train.groups), train.X, train.y)
    figures = {}
    for suffix, fitted in {" plain": plain[0].result, "": fair.result}.items():
        decisions = fitted.predict(test.X)
        figures[f"accuracy{suffix}"] = float(np.mean(decisions == test.y))
        gap = demographic_parity_difference(test.y, decisions, sensitive_features=test.groups)
        figures[f"gap{suffix}"] = float(gap)
    return figures | {"x": fair.seconds / median(one.seconds for one in plain)}
