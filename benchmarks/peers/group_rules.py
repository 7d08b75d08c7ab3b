"""Rules that see the group against libraries whose thresholds see it, at equal held-out gaps."""

import warnings
from itertools import product

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict

from benchmarks.erm_cases import Case, Split, case
from benchmarks.packages import is_installed
from benchmarks.peers.libraries import ErrorParity, OxonFair, Plain
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import time_call
from skfair.classification import ConstrainedClassifierCV
from skfair.metrics import demographic_parity_difference

TOLERANCE = 0.05
"""Tolerance of the libraries."""

N_FOLDS = 3
"""Folds of the scores of ThresholdOptimizer, as many as ours has of so many samples."""

FIRST_SEED = 60
"""First seed of the splits; none of them was used for any choice."""

N_TREES = 100
N_TRAIN = 12_500
DATA = ("Adult", "ACSIncome", "Bank", "categories")


class ThresholdOptimizer(Plain):
    """Fairlearn's randomised thresholds by group, chosen on scores of all training samples."""

    name, package = "ThresholdOptimizer, training scores", "fairlearn"
    needs_groups = True

    def fit(self, classifier, train):
        """Return the fitted predictor."""
        model = _threshold_optimizer(classifier)
        return model.fit(train.X, train.y, sensitive_features=train.groups)

    def predict(self, model, test):
        """Return decisions about held-out samples from features and groups."""
        return model.predict(test.X, sensitive_features=test.groups, random_state=0)


class OutOfFoldThresholdOptimizer(ThresholdOptimizer):
    """The same, chosen on out-of-fold scores; the classifier of all samples scores new ones."""

    name = "ThresholdOptimizer, out of fold"

    def fit(self, classifier, train):
        """Return the classifier of all training samples, and the predictor from its scores."""
        folds = {"cv": N_FOLDS, "method": "predict_proba"}
        scores = cross_val_predict(classifier, train.X, train.y, **folds)[:, 1:]
        model = _threshold_optimizer(StoredProbabilities())
        model.fit(scores, train.y, sensitive_features=train.groups)
        return clone(classifier).fit(train.X, train.y), model

    def predict(self, model, test):
        """Return decisions about held-out samples from features and groups."""
        classifier, model = model
        test = test._replace(X=classifier.predict_proba(test.X)[:, 1:])
        return super().predict(model, test)


class StoredProbabilities(ClassifierMixin, BaseEstimator):
    """A classifier whose only feature is the probability of the class 1."""

    def fit(self, X, y):
        """Store the classes."""
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        """Return the probabilities of both classes."""
        return np.hstack([1 - X, X])


def _threshold_optimizer(classifier):
    """Fairlearn's predictor around a classifier, with the tolerance of the comparison."""
    from fairlearn.postprocessing import ThresholdOptimizer

    return ThresholdOptimizer(estimator=classifier, predict_method="predict_proba", tol=TOLERANCE)


LIBRARIES = (ThresholdOptimizer(), OutOfFoldThresholdOptimizer(), ErrorParity(), OxonFair())


@smallest(N_TREES=5, DATA=("categories",), N_TRAIN=400)
def group_rules(budget):
    """Held-out accuracy less that of libraries, with their held-out gap as the tolerance.

    Demographic parity, gradient boosting; libraries get a tolerance of .05. If the gap of a library
    is larger, so is our tolerance, so that accuracies can be compared. "overfit" is the
    accuracy of the plain fit on its training data less that on held-out data, "x" the CPU seconds
    of a fit over those of the plain one.
    """
    compared = [library for library in LIBRARIES if is_installed(library.package)]
    records, checks = [], []
    for name, library in product(DATA, compared):
        seeds = range(FIRST_SEED, FIRST_SEED + budget.n_runs)
        runs = [_compare(library, _draw(name, seed)) for seed in seeds]
        gains = np.array([run["our accuracy"] - run["accuracy"] for run in runs])
        error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
        means = {figure: np.mean([run[figure] for run in runs]) for figure in runs[0]}
        means |= {"gain": gains.mean(), "its s.e.": error}
        records.append({"data": name, "library": library.name} | means)
        if len(gains) > 1:
            what = f"gain in s.e., {name}, {library.name}"
            checks.append(Check(what, [gains.mean() / error], ">=", -2.0))
    if records:
        gain = np.mean([record["gain"] for record in records])
        checks.append(Check("mean gain", [gain], ">=", 0.0))
    title = "Rules that see the group, held-out data, our tolerance is the library's gap"
    return Report(title, records, checks)


def _base():
    return HistGradientBoostingClassifier(max_iter=N_TREES, early_stopping=False, random_state=0)


def _compare(library, split):
    """Figures of a library and of ours at its gap."""
    train, test = split.train, split.test
    plain = time_call(_base().fit, train.X, train.y)
    overfit = plain.result.score(train.X, train.y) - plain.result.score(test.X, test.y)
    peer = time_call(library.fit, _base(), train)
    accuracy, gap = _judge(library.predict(peer.result, test), test)
    ours = time_call(_fit, max(gap, 1e-3), train)
    decisions = ours.result.predict(test.X, sensitive_features=test.groups)
    our_accuracy, our_gap = _judge(decisions, test)
    return {
        "overfit": overfit,
        "accuracy": accuracy,
        "gap": gap,
        "x": peer.seconds / plain.seconds,
        "our accuracy": our_accuracy,
        "our gap": our_gap,
        "our x": ours.seconds / plain.seconds,
    }


def _fit(tolerance, train):
    """Our rule of the scores and the groups."""
    model = ConstrainedClassifierCV(
        _base(), tolerance=tolerance, group_estimator="sensitive_features"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(train.X, train.y, sensitive_features=train.groups)


def _judge(decisions, test):
    """Accuracy and gap of decisions."""
    gap = demographic_parity_difference(test.y, decisions, sensitive_features=test.groups)
    return np.mean(decisions == test.y), gap


def _draw(name, seed):
    """A split, of which `N_TRAIN` training samples are used."""
    split = draw_categories(seed) if name == "categories" else case(name, seed, blind=True)
    return split._replace(train=Split(*(column[:N_TRAIN] for column in split.train)))


def draw_categories(seed, n_samples=30_000):
    """Six categories whose effects differ little, and groups with base rates of .36 and .64.

    Accuracy hardly depends on the share that is accepted.
    """
    rng, effects = np.random.default_rng(seed), np.random.default_rng(1)
    groups = rng.integers(2, size=n_samples)
    log_odds = np.zeros(n_samples)
    columns = []
    for n_values in (2, 3, 5, 8, 12, 17):
        shares = effects.dirichlet(np.ones(n_values), size=2)
        drawn = [rng.choice(n_values, n_samples, p=one) for one in shares]
        values = np.where((groups == 1) & (rng.random(n_samples) < 0.4), drawn[1], drawn[0])
        log_odds += 0.6 * effects.normal(size=n_values)[values]
        columns.append(values)
    log_odds += np.where(groups == 1, 0.7, -0.7) - log_odds.mean()
    y = (log_odds + rng.logistic(size=n_samples) > 0).astype(int)
    X = np.column_stack(columns).astype(float)
    labels = np.array(["a", "b"])[groups]
    middle = n_samples // 2
    halves = slice(None, middle), slice(middle, None)
    return Case("categories", *(Split(X[half], y[half], labels[half]) for half in halves))
